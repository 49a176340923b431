//! Valid files with bytes flipped, removed and inserted: an error or a valid matrix, never a panic.

use crate::archives::{Folder, archive, members};
use proptest::prelude::*;
use unmissed::data::Csr;
use unmissed::data::formats::Content;

#[derive(Clone, Debug)]
enum Mutation {
    Flip(usize, u8),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Mutation::Flip(place, mask) if !bytes.is_empty() => {
                let place = place % bytes.len();
                bytes[place] ^= mask;
            }
            Mutation::Flip(..) => {}
            Mutation::Remove(place, count) => {
                let place = place % (bytes.len() + 1);
                bytes.drain(place..bytes.len().min(place + count));
            }
            Mutation::Insert(place, new) => {
                let place = place % (bytes.len() + 1);
                bytes.splice(place..place, new.iter().copied());
            }
        }
    }
}

/// What goes in is often something that the formats give a meaning to.
fn inserted() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] =
        &["\n", ",", "::", "\t", " ", "-1", "nan", "1e39", "99999999999999999999", "\"", "\r\n", "PK\x03\x04", "(((("];
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..8),
        proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
    ]
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let mutation = prop_oneof![
        (any::<usize>(), 1u8..).prop_map(|(place, mask)| Mutation::Flip(place, mask)),
        (any::<usize>(), 1usize..9).prop_map(|(place, count)| Mutation::Remove(place, count)),
        (any::<usize>(), inserted()).prop_map(|(place, bytes)| Mutation::Insert(place, bytes)),
    ];
    proptest::collection::vec(mutation, 1..5)
}

/// What every matrix that is read promises.
fn check(content: &Content) {
    let scores = match content {
        Content::Scores(scores) => scores.clone(),
        // A damaged type of numbers may make labels of them.
        Content::Data(data) => {
            Csr::from_rows(data.labels().cols() as u64, data.labels().iter().map(|(ids, _)| ids.iter().map(|id| (*id, 1.0))))
                .unwrap()
        }
    };
    assert_eq!(scores.offsets().last(), Some(&(scores.nnz() as u64)));
    for (ids, values) in scores.iter() {
        assert!(ids.iter().all(|id| (*id as usize) < scores.cols()) && values.iter().all(|value| value.is_finite()));
        let mut distinct = ids.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), ids.len());
    }
}

fn try_mutated(name: &str, mut bytes: Vec<u8>, mutations: &[Mutation], format: &str) {
    mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
    let folder = Folder::new();
    match folder.read(name, &bytes, Some(format)) {
        Ok(content) => check(&content),
        Err(error) => assert_eq!(error.path(), Some(&*folder.path(name)), "{error}"),
    }
}

#[cfg(feature = "parquet")]
proptest! {
    #[test]
    fn parquet(mutations in mutations()) {
        let folder = Folder::new();
        let content = folder.read("p.npz", &archive(&members()), None).unwrap();
        unmissed::data::formats::write(&content, folder.path("p.parquet"), None).unwrap();
        try_mutated("p.parquet", std::fs::read(folder.path("p.parquet")).unwrap(), &mutations, "parquet");
    }
}

proptest! {
    #[test]
    fn npz(mutations in mutations()) {
        try_mutated("p.npz", archive(&members()), &mutations, "npz");
    }

    /// Damage inside an array, which the checksums of the archive would otherwise find first.
    #[test]
    fn arrays_in_npz(which in 0usize..5, mutations in mutations()) {
        let mut members = members();
        mutations.iter().for_each(|mutation| mutation.apply(&mut members[which].1));
        try_mutated("p.npz", archive(&members), &[], "npz");
    }

    #[test]
    fn ratings(mutations in mutations()) {
        let text = b"user,item,rating,time\n1,10,4,5\n2,9,3.5,5\n10,10,0,5\n1,2,-1e-3,5\n".to_vec();
        try_mutated("r.csv", text, &mutations, "ratings");
    }

    #[test]
    fn csv(mutations in mutations()) {
        let text = b"row,label,score\n0,3,0.5\n2,0,-1\n0,1,\"0.25\"\n".to_vec();
        try_mutated("p.csv", text, &mutations, "csv");
    }

    #[test]
    fn npy(mutations in mutations()) {
        let numbers = [0.5f32, -1.0, 0.0, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        try_mutated("p.npy", crate::archives::npy("<f4", "(2, 3)", &numbers), &mutations, "npy");
    }

    #[test]
    fn scores_without_a_header(mutations in mutations()) {
        try_mutated("p.txt", b"3:0.5 1:2\n\n0:-1e-3\n".to_vec(), &mutations, "scores");
    }

    #[test]
    fn matrix(mutations in mutations()) {
        try_mutated("r.ascii", b"0 1 0 5\n0 0 0 0\n4 0 0.25 -1\n".to_vec(), &mutations, "matrix");
    }
}
