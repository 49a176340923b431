//! What all readers and writers promise: exact round trips, located errors, no panics.

use crate::common::{data, read_bytes};
use proptest::prelude::*;
use unmissed::data::formats::{self, Content, FORMATS, ReadOptions};
use unmissed::data::{Dataset, Features};

/// Each broken file with the whole message that it gives.
#[test]
fn bad_text_gives_one_located_error() {
    let cases: &[(&str, &[u8], &str)] = &[
        ("empty", b"", "file: the file is empty; a header 'rows features labels' is the least that is expected"),
        (
            "one number",
            b"3\n0 1:1\n",
            "file: the format of this file is not recognised: expected data whose first two lines are like '2 100 20' and '3,17 0:0.5 42:1'",
        ),
        (
            "words",
            b"hello world\n",
            "file: the format of this file is not recognised: expected data whose first two lines are like '2 100 20' and '3,17 0:0.5 42:1'",
        ),
        (
            "garbage",
            b"\xff\xfe\x00\x80garbage",
            "file: the format of this file is not recognised: expected data whose first two lines are like '2 100 20' and '3,17 0:0.5 42:1'",
        ),
        (
            "rows missing",
            b"3 2 2\n0 1:1\n1 0:1\n",
            "file: the header and the lines disagree about the number of rows: expected 3 rows after the header, found 2; the file may be cut short",
        ),
        (
            "rows too many",
            b"1 2 2\n0 1:1\n1 0:1\n",
            "file:3: the header and the lines disagree about the number of rows: expected 1 rows after the header, found 2",
        ),
        (
            "empty lines at the end",
            b"1 2 2\n0 1:1\n\n\n",
            "file:3: the header and the lines disagree about the number of rows: expected 1 rows after the header, found 3; an empty line at the end counts as a row without labels",
        ),
        (
            "header beyond 64 bits",
            b"1 2 99999999999999999999\n0 1:1\n",
            "file:1: a number in the header is too large: expected 'rows features labels', each at most 18446744073709551615, found \"99999999999999999999\"",
        ),
        (
            "an error after a byte order mark",
            b"\xef\xbb\xbf1 2 2\n0,x 1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"x\"",
        ),
        (
            "label too large",
            b"1 2 2\n2 1:1\n",
            "file:2: label id out of range: expected an id from 0 to 1, found 2; ids are 0-based and must lie below the declared number",
        ),
        (
            "feature too large",
            b"2 2 2\n0 1:1\n1 0:1 2:1\n",
            "file:3: feature id out of range: expected an id from 0 to 1, found 2; ids are 0-based and must lie below the declared number",
        ),
        (
            "negative label",
            b"1 2 2\n-1 1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"-1\"",
        ),
        (
            "negative feature",
            b"1 2 2\n1 -1:1\n",
            "file:2: cannot read a feature id: expected 'feature:value' with an id from 0 to 4294967295, found \"-1:1\"",
        ),
        (
            "label not a number",
            b"1 2 2\n0,x 1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"x\"",
        ),
        (
            "fractional label",
            b"1 2 2\n0.5 1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"0.5\"",
        ),
        (
            "label beyond 32 bits",
            b"1 2 2\n4294967296 1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"4294967296\"",
        ),
        (
            "trailing comma",
            b"1 2 2\n0, 1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"\"",
        ),
        (
            "feature first",
            b"1 2 2\n1:1\n",
            "file:2: cannot read a label: expected comma-separated ids from 0 to 4294967295, found \"1:1\"; a row without labels starts with a space",
        ),
        (
            "duplicate label",
            b"1 2 3\n0,2,0 1:1\n",
            "file:2: duplicate label: expected each label once in a row, found label 0 twice",
        ),
        (
            "duplicate feature",
            b"1 2 2\n0 1:1 0:1 1:2\n",
            "file:2: duplicate feature: expected each feature once in a row, found feature 1 twice",
        ),
        (
            "not a number",
            b"1 2 2\n0 1:NaN\n",
            "file:2: cannot read the value of a feature: expected 'feature:value' with a finite number, found \"1:NaN\"",
        ),
        (
            "infinite",
            b"1 2 2\n0 1:inf\n",
            "file:2: cannot read the value of a feature: expected 'feature:value' with a finite number, found \"1:inf\"",
        ),
        (
            "overflow",
            b"1 2 2\n0 1:1e39\n",
            "file:2: cannot read the value of a feature: expected 'feature:value' with a finite number, found \"1:1e39\"",
        ),
        (
            "no value",
            b"1 2 2\n0 1:\n",
            "file:2: cannot read the value of a feature: expected 'feature:value' with a finite number, found \"1:\"",
        ),
        ("no colon", b"1 2 2\n0 1\n", "file:2: a feature without a colon: expected 'feature:value', found \"1\""),
        (
            "two colons",
            b"1 2 2\n0 1:1:1\n",
            "file:2: cannot read the value of a feature: expected 'feature:value' with a finite number, found \"1:1:1\"",
        ),
        (
            "NUL",
            b"2 2 2\n0 1:1\n0 1:1\0\n",
            "file:3: a NUL byte in a text file: expected plain text, found \"1:1\\x00\"; the file is damaged or not a text file",
        ),
        (
            "header beyond memory",
            b"999999999999999999 2 2\n0 1:1\n",
            "file: the header and the lines disagree about the number of rows: expected 999999999999999999 rows after the header, found 1; the file may be cut short",
        ),
        (
            "columns beyond 32 bits",
            b"1 2 99999999999\n0 1:1\n",
            "file:1: too many columns: ids have 32 bits: expected at most 4294967295, found 99999999999",
        ),
        ("score without colon", b"1 2\n1\n", "file:2: a label without a colon: expected 'label:value', found \"1\""),
        (
            "score of NaN",
            b"1 2\n1:nan\n",
            "file:2: cannot read the value of a label: expected 'label:value' with a finite number, found \"1:nan\"",
        ),
        ("truncated gzip", &gzip(b"1 2 2\n0 1:1\n")[..20], "file: compressed data is broken"),
        ("truncated zstd", &zstd::encode_all(&b"1 2 2\n0 1:1\n"[..], 0).unwrap()[..15], "file: compressed data is broken"),
    ];
    for (name, bytes, expected) in cases {
        let message = read_bytes(bytes, None).expect_err(name);
        assert!(message.starts_with(expected), "{name}:\n  found    {message}\n  expected {expected}");
    }
}

#[test]
fn bad_options_are_errors_too() {
    for (from, bytes, expected) in [
        ("xcm", &b"1 1 1\n"[..], "unknown format 'xcm'; did you mean 'xmc'?"),
        (
            "xmc",
            b"0 1:1\n",
            "file:1: the first line is not a header of whole numbers: expected 'rows features labels', found \"0 1:1\"",
        ),
        (
            "xmc",
            b"1 1\n0 0:1\n",
            "file:1: the header has the wrong number of fields: expected 'rows features labels', found \"1 1\"",
        ),
        ("xmc:base=1", b"1 1 1\n", "file: unknown option of 'xmc' 'base'; it takes none"),
        ("svmlight:base=1", b"0 1:1\n", "file:1: a label id 0 in a file whose ids start at 1; leave base=1 out"),
        ("svmlight:labels=2", b"0,2 1:1\n", "file:1: label id out of range: expected an id from 0 to 1, found 2"),
        ("svmlight:labels=many", b"0,2 1:1\n", "file: labels of 'svmlight:labels=many' is not a count"),
        (
            "svmlight:base=1,features=18446744073709551615",
            b"1 1:1\n",
            "file: too many columns: ids have 32 bits: expected at most 4294967295, found 18446744073709551615",
        ),
        ("svmlight", b"", "file: the file is empty: expected rows 'l1,l2 f:v f:v'"),
    ] {
        let message = read_bytes(bytes, Some(from)).expect_err(from);
        assert!(message.starts_with(expected), "{from}:\n  found    {message}\n  expected {expected}");
    }
}

#[test]
fn harmless_variations_are_accepted() {
    let expected = read_bytes(b"3 4 3\n0,2 1:0.5 3:1\n 0:2\n1\n", None).unwrap();
    for (name, bytes) in [
        ("windows line ends", &b"3 4 3\r\n0,2 1:0.5 3:1\r\n 0:2\r\n1\r\n"[..]),
        ("trailing spaces", b"3 4 3  \n0,2 1:0.5 3:1  \n 0:2 \n1 \n"),
        ("no last newline", b"3 4 3\n0,2 1:0.5 3:1\n 0:2\n1"),
        ("no last newline on windows", b"3 4 3\r\n0,2 1:0.5 3:1\r\n 0:2\r\n1\r"),
        ("several spaces and tabs", b"3 4 3\n0,2  1:0.5\t3:1\n\t0:2\n1\n"),
        ("other spellings of numbers", b"3 4 3\n00,2 01:5e-1 3:1.0\n 0:+2\n1\n"),
        ("gzip", &gzip(b"3 4 3\n0,2 1:0.5 3:1\n 0:2\n1\n")),
        ("two gzip members", &[gzip(b"3 4 3\n0,2 1:0.5"), gzip(b" 3:1\n 0:2\n1\n")].concat()),
        ("a byte order mark", b"\xef\xbb\xbf3 4 3\n0,2 1:0.5 3:1\n 0:2\n1\n"),
        ("a byte order mark in gzip", &gzip(b"\xef\xbb\xbf3 4 3\n0,2 1:0.5 3:1\n 0:2\n1\n")),
        ("zstd", &zstd::encode_all(&b"3 4 3\n0,2 1:0.5 3:1\n 0:2\n1\n"[..], 0).unwrap()),
    ] {
        assert_eq!(read_bytes(bytes, None).as_ref(), Ok(&expected), "{name}");
    }
    let svmlight = read_bytes(b"1,3 2:0.5 4:1\n 1:2\n2\n", Some("svmlight:base=1")).unwrap();
    assert_eq!(svmlight, expected);
}

/// A declared number of labels says nothing about the number of features, and the other way round.
#[test]
fn what_svmlight_declares_leaves_the_rest_to_the_largest_ids() {
    for (from, features, labels) in [
        ("svmlight", 5, 4),
        ("svmlight:labels=10", 5, 10),
        ("svmlight:features=7", 7, 4),
        ("svmlight:labels=10,features=7", 7, 10),
        ("svmlight:base=1", 4, 3),
        ("svmlight:base=1,labels=10", 4, 10),
        ("svmlight:base=1,features=7", 7, 3),
    ] {
        let Content::Data(data) = read_bytes(b"1,3 2:0.5 4:1\n 1:2\n2\n", Some(from)).unwrap() else { panic!("a data set") };
        assert_eq!((data.features().map(Features::cols), data.labels().cols()), (Some(features), labels), "{from}");
        let Some(Features::Sparse(matrix)) = data.features() else { panic!("sparse features") };
        assert_eq!((matrix.nnz(), data.labels().nnz()), (3, 3), "{from}");
    }
}

#[test]
fn rows_may_be_empty_and_unsorted() {
    let Content::Data(data) = read_bytes(b"4 9 9\n5,3 7:1 2:3\n\n \n8\n", None).unwrap() else { panic!("a data set") };
    assert_eq!(data.labels().iter().map(|(ids, _)| ids.to_vec()).collect::<Vec<_>>(), [vec![5, 3], vec![], vec![], vec![8]]);
    assert!(!data.labels().is_sorted());
    assert_eq!(data.labels().clone().into_sorted().row_ids(0), [3, 5]);
    let Content::Scores(scores) = read_bytes(b"2 9\n\n3:0 1:-2.5\n", None).unwrap() else { panic!("scores") };
    assert_eq!((scores.row(0), scores.row(1)), ((&[][..], &[][..]), (&[3, 1][..], &[0.0, -2.5][..])));
}

/// Directories, missing files and files without permission, on reading and on writing.
#[test]
fn the_operating_system_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| format!("{:#}", formats::read(folder.path().join(name), &ReadOptions::default()).unwrap_err());
    assert!(read("").ends_with("is a directory: expected a file"));
    assert!(read("missing").contains("cannot open: No such file"));
    let content = read_bytes(b"1 1 1\n0 0:1\n", None).unwrap();
    let write = |path: &str| formats::write(&content, folder.path().join(path), Some("xmc")).unwrap_err().to_string();
    assert!(write("no/such/folder.txt").contains("cannot create"));
    assert!(write("").contains("is a directory"));
    let unknown = formats::write(&content, folder.path().join("x.docx"), None).unwrap_err().to_string();
    assert!(unknown.contains("no format is known by the ending '.docx'"), "{unknown}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Writes with a format and reads the result back.
fn round_trip(content: &Content, format: &str, ending: &str) -> Content {
    let folder = tempfile::tempdir().unwrap();
    let written = formats::write(content, folder.path().join(format!("file.{ending}")), Some(format)).unwrap();
    // Formats that are never guessed have to be named.
    let guessed = !["ratings", "matrix"].contains(&format);
    let options = ReadOptions { format: (!guessed).then(|| format.parse().unwrap()), ..ReadOptions::default() };
    formats::read(&written.files[0], &options).unwrap()
}

/// The same matrices, whatever the order within rows.
fn sorted(content: Content) -> Content {
    match content {
        Content::Scores(scores) => Content::Scores(scores.into_sorted()),
        Content::Data(data) => {
            let (features, labels) = data.into_parts();
            let features = features.map(|features| match features {
                Features::Sparse(matrix) => Features::Sparse(matrix.into_sorted()),
                dense => dense,
            });
            Content::Data(Dataset::new(features, labels.into_sorted()).unwrap())
        }
    }
}

#[test]
fn real_data_survive_every_format_that_can_hold_them() {
    for (set, name) in [
        ("bibtex", "bibtex_train.txt"),
        ("delicious", "delicious_test.txt"),
        ("go-human", "gohuman_test.txt"),
        ("hpo-timelapse", "train_early.txt"),
    ] {
        let Some(folder) = data(set) else { continue };
        let data = sorted(formats::read(folder.join(name), &ReadOptions::default()).unwrap());
        let mut exact = 0;
        for format in FORMATS {
            for ending in
                format.extensions().iter().flat_map(|ending| [ending.to_string(), format!("{ending}.gz"), format!("{ending}.zst")])
            {
                let text = ["xmc", "svmlight", "scores"].contains(&format.name());
                if !format.drops(&data).is_empty() || (!text && ending.contains('.')) {
                    continue;
                }
                assert!(sorted(round_trip(&data, format.name(), &ending)) == data, "{name} through {} (.{ending})", format.name());
                exact += 1;
            }
        }
        assert!(exact >= 6, "{name}: only {exact} exact formats");
    }
}

proptest! {
    /// Valid files with some bytes changed, removed, repeated or cut give an error or a valid matrix, never a panic.
    #[test]
    fn mutated_text_never_panics(
        which in 0usize..4,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(b':'), Just(b' '), Just(b','), Just(b'\n'), Just(b'9')], 0u8..4), 1..6),
    ) {
        let texts: [&[u8]; 4] = [
            b"3 40 12\n0,2,11 1:0.5 3:1 39:-2e3\n 0:2\n1\n",
            b"2 12\n3:0.5 1:0.25 11:1\n\n",
            b"0,2 1:0.5 3:1\n5 0:2\n",
            b"2 3 4\r\n0,1,2,3 0:1 1:1 2:1\r\n3\r\n",
        ];
        let mut bytes = texts[which].to_vec();
        for (place, byte, edit) in edits {
            let at = place.index(bytes.len().max(1)).min(bytes.len());
            match edit {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => { bytes.remove(at); }
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        for from in [None, Some("xmc"), Some("scores"), Some("svmlight"), Some("svmlight:base=1")] {
            if let Err(message) = read_bytes(&bytes, from) {
                prop_assert!(message.len() < 1000 && !message.contains('\0'), "{message}");
            }
        }
    }
}
