//! Every format of the registry: content that it says it can hold comes back as it was.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use unmissed::data::formats::{Content, FORMATS, ReadOptions, read, write};
use unmissed::data::{Csr, Dataset, Features, Labels};

const COLUMNS: u32 = 6;

fn matrix(rows: usize) -> impl Strategy<Value = Csr<'static, f32>> {
    let value = prop_oneof![Just(0.0f32), Just(1.0), proptest::num::f32::NORMAL];
    vec(btree_map(0..COLUMNS, value, 0..=COLUMNS as usize), rows).prop_map(|rows| Csr::from_rows(u64::from(COLUMNS), rows).unwrap())
}

fn content() -> impl Strategy<Value = Content> {
    let data = (1usize..6).prop_flat_map(|rows| {
        (matrix(rows), vec(btree_set(0..COLUMNS, 0..4), rows)).prop_map(|(features, labels)| {
            let labels = Labels::from_ids(u64::from(COLUMNS), labels).unwrap();
            Content::Data(Dataset::new(Some(Features::Sparse(features)), labels).unwrap())
        })
    });
    // Full rows of numbers that are not zero are what formats without room for gaps and zeros can hold.
    let full = vec(1u8.., 6..=6).prop_map(|row| {
        let row: Vec<(u32, f32)> = (0..COLUMNS).zip(row.into_iter().map(f32::from)).collect();
        Content::Scores(Csr::from_rows(u64::from(COLUMNS), [row]).unwrap())
    });
    prop_oneof![(1usize..6).prop_flat_map(matrix).prop_map(Content::Scores), full, data]
}

proptest! {
    #[test]
    fn what_is_written_is_read(content in content()) {
        let folder = tempfile::tempdir().unwrap();
        for format in FORMATS.iter().filter(|format| format.drops(&content).is_empty()) {
            let data_as_scores = matches!(content, Content::Data(_)) && matches!(format.name(), "ratings" | "matrix" | "scores");
            prop_assert!(!data_as_scores, "{} says that it holds features", format.name());
            let path = folder.path().join(format!("file.{}", format.extensions()[0]));
            let written = write(&content, path, Some(format.name())).unwrap();
            for file in &written.files {
                let options = ReadOptions { format: Some(format.name().parse().unwrap()), ..Default::default() };
                prop_assert_eq!(&read(file, &options).unwrap(), &content, "{}", format.name());
            }
        }
    }
}
