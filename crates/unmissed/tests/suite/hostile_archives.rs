//! Archives that lie, end too soon or were damaged on the way: each is answered with an error that says what is wrong and in
//! which file, and costs no more memory than its content.

use crate::archives::{Folder, archive, floats, ints, members, npy};
use unmissed::data::Scores;
use unmissed::data::formats::Content;

fn expected() -> Content {
    Content::Scores(Scores::new(4, vec![0, 1, 1, 3], vec![1, 0, 3], vec![1.5f32, 2.0, -1.0]).unwrap())
}

fn message(bytes: &[u8]) -> String {
    let folder = Folder::new();
    let error = folder.read("p.npz", bytes, None).unwrap_err();
    assert_eq!(error.path(), Some(&*folder.path("p.npz")), "{error}");
    error.to_string()
}

/// A good archive with one member in place of another.
fn with(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    let mut members = members();
    members.iter_mut().filter(|member| member.0 == name).for_each(|member| member.1 = bytes.clone());
    archive(&members)
}

#[test]
fn a_good_archive_is_read() {
    assert_eq!(Folder::new().read("p.npz", &archive(&members()), None).unwrap(), expected());
}

#[test]
fn what_scipy_writes_is_read() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/scipy"));
    let read = |name: &str| unmissed::data::formats::read(folder.join(name), &Default::default());
    for name in ["float64.npz", "float32_stored.npz", "int64_indices.npz"] {
        assert_eq!(read(name).unwrap(), expected(), "{name}");
    }
    for (name, values) in [("int8.npz", [1.0, 2.0, -1.0]), ("bool_array.npz", [1.0, 1.0, 1.0])] {
        let Content::Scores(scores) = read(name).unwrap() else { panic!("{name} holds scores") };
        assert_eq!(scores.values(), values, "{name}");
    }
    for name in ["csc.npz", "coo.npz"] {
        let Content::Scores(scores) = read(name).unwrap() else { panic!("{name} holds scores") };
        assert_eq!(Content::Scores(scores.into_sorted()), expected(), "{name}");
    }
    let Content::Scores(dense) = read("dense.npz").unwrap() else { panic!("one array is scores") };
    assert_eq!(dense.nnz(), dense.rows() * dense.cols());
}

#[test]
fn arrays_that_do_not_fit_together() {
    for (name, bytes, part) in [
        ("shape", ints(&[3]), "the wrong number of dimensions: expected 2, found 1"),
        ("shape", ints(&[3, -4]), "a number in the array 'shape' is out of range"),
        ("shape", ints(&[4, 4]), "one more element in 'indptr' than there are rows (4), found 4"),
        ("shape", ints(&[3, 3]), "column id out of range: expected an id from 0 to 2, found 3"),
        ("shape", npy("<u8", "(2,)", &[255; 16]), "one more element in 'indptr'"),
        ("shape", npy("<i8", "(2,)", &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]), "too many columns"),
        ("indptr", ints(&[1, 1, 1, 3]), "row offsets must start with 0"),
        ("indptr", ints(&[0, 2, 1, 3]), "row offsets decrease after row 1"),
        ("indptr", ints(&[0, 1, -1, 3]), "a number in the array 'indptr' is out of range"),
        ("indptr", ints(&[0, 1, 1, 4]), "4 elements in 'indices', as 'indptr' says, found 3"),
        ("indptr", floats(&[0.0, 1.0, 1.0, 3.0]), "'indptr' holds the wrong kind of elements: expected whole numbers"),
        ("indices", ints(&[1, 0]), "3 elements in 'indices', as 'indptr' says, found 2"),
        ("indices", ints(&[1, -1, 3]), "a number in the array 'indices' is out of range"),
        ("indices", ints(&[1, 3, 3]), "duplicate column"),
        ("indices", npy("<i4", "(3, 1)", &[0; 12]), "'indices' has the wrong number of dimensions: expected 1, found 2"),
        ("data", floats(&[1.0]), "3 elements in 'data', as 'indptr' says, found 1"),
        ("data", floats(&[1.0, f32::NAN, 1.0]), "the value of column 0 is not finite"),
        ("data", floats(&[1.0, 1.0, f32::INFINITY]), "the value of column 3 is not finite"),
        ("data", npy("<c8", "(3,)", &[0; 24]), "'data' holds the wrong kind of elements"),
        ("data", npy("|O", "(3,)", &[0; 24]), "'data' holds the wrong kind of elements"),
        ("data", npy("<f4", "(3,)", &[0; 11]), "cannot read the array 'data' (it ends too early)"),
        ("data", npy("<f4", "(3,)", &[0; 13]), "'data' is longer than stated in its header"),
        ("data", b"hello, world".to_vec(), "'data' is not an array of numpy"),
        (
            "format",
            npy("|S3", "()", b"csc"),
            "arrays of the matrix disagree: expected one more element in 'indptr' than there are columns (4), found 4",
        ),
        ("format", npy("|S3", "()", b"coo"), "the array 'row' is missing in the archive"),
        ("format", npy("|S3", "()", b"bsr"), "expected format csr, csc or coo, found \"bsr\"; call .tocsr()"),
        ("format", ints(&[7]), "'format' holds the wrong kind of elements: expected one string"),
    ] {
        let message = message(&with(name, bytes));
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn every_array_is_needed() {
    for missing in ["indices", "indptr", "format", "shape", "data"] {
        let members: Vec<_> = members().into_iter().filter(|member| member.0 != missing).collect();
        let message = message(&archive(&members));
        let is_said = match missing {
            "format" => message.contains("the arrays indices, indptr, format, shape and data, or one array"),
            _ => message.contains(&format!("the array '{missing}' is missing")),
        };
        assert!(is_said, "{message}");
    }
    assert!(message(&archive(&[("arr_0", ints(&[1]))])).contains("the array has the wrong number of dimensions"));
    assert!(message(&archive(&[("a", ints(&[1])), ("b", ints(&[1]))])).contains("found \"a.npy\", \"b.npy\""));
}

/// Lengths are believed when the elements are there, not before: these would be terabytes.
#[test]
fn claims_cost_nothing() {
    let huge = 1i64 << 40;
    let mut members = members();
    members[1].1 = npy("<i8", &format!("({},)", huge + 1), &[0; 64]);
    members[3].1 = npy("<i8", "(2,)", &[huge.to_le_bytes(), huge.to_le_bytes()].concat());
    assert!(message(&archive(&members)).contains("cannot read the array 'indptr' (it ends too early)"));
    let header = [b"\x93NUMPY\x02\x00", &u32::MAX.to_le_bytes()[..]].concat();
    assert!(message(&with("data", header)).contains("the header of the array 'data' is too long"));
    let nested = npy("[[[[[[[[", &"(".repeat(4000), &[]);
    assert!(message(&with("data", nested)).contains("cannot read the header of the array 'data'"));
}

/// 16 MB of zeros in 16 kB: refused by what the row offsets say, without being unpacked.
#[test]
fn a_bomb_is_not_unpacked() {
    let bomb = npy("<i4", &format!("({},)", 4 << 20), &vec![0; 16 << 20]);
    assert!(message(&with("indices", bomb)).contains("3 elements in 'indices', as 'indptr' says"));
}

#[test]
fn cut_short_anywhere() {
    let (folder, bytes) = (Folder::new(), archive(&members()));
    for length in 0..bytes.len() {
        assert!(folder.read("p.npz", &bytes[..length], Some("npz")).is_err(), "{length} of {} bytes", bytes.len());
    }
}

/// Contents have checksums, so what is read from an altered archive is the right matrix or nothing.
#[test]
fn any_byte_altered() {
    let (folder, bytes) = (Folder::new(), archive(&members()));
    for place in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut altered = bytes.clone();
            altered[place] ^= mask;
            if let Ok(content) = folder.read("p.npz", &altered, Some("npz")) {
                assert_eq!(content, expected(), "byte {place} with mask {mask}");
            }
        }
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::*;
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::metadata::KeyValue;
    use arrow_array::types::{Float32Type, Int64Type};
    use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch};
    use std::sync::Arc;
    use unmissed::data::formats::{self, Expected, ReadOptions};

    fn file(columns: Vec<(&str, ArrayRef)>, shape: &[(&str, &str)]) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        for (key, value) in shape {
            writer.append_key_value_metadata(KeyValue::new(key.to_string(), value.to_string()));
        }
        writer.into_inner().unwrap()
    }

    fn ids(rows: &[&[i64]]) -> ArrayRef {
        let rows = rows.iter().map(|row| Some(row.iter().map(|id| Some(*id)).collect::<Vec<_>>()));
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows))
    }

    fn values(rows: &[&[f32]]) -> ArrayRef {
        let rows = rows.iter().map(|row| Some(row.iter().map(|id| Some(*id)).collect::<Vec<_>>()));
        Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows))
    }

    const SHAPE: &[(&str, &str)] = &[("rows", "3"), ("labels", "4")];

    fn good() -> Vec<u8> {
        file(vec![("labels", ids(&[&[1], &[], &[0, 3]])), ("scores", values(&[&[1.5], &[], &[2.0, -1.0]]))], SHAPE)
    }

    #[test]
    fn a_good_file_is_read() {
        assert_eq!(Folder::new().read("p.parquet", &good(), None).unwrap(), expected());
    }

    #[test]
    fn columns_that_do_not_fit_together() {
        let labels = || ("labels", ids(&[&[1], &[], &[0, 3]]));
        let scores = |rows: &[&[f32]]| ("scores", values(rows));
        let plain: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let nulls = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
        for (columns, shape, part) in [
            (vec![scores(&[&[1.0]])], SHAPE, "expected labels, indices, values; or labels, scores"),
            (vec![labels(), ("values", values(&[&[], &[], &[]]))], SHAPE, "found labels, values"),
            (vec![labels()], &[("rows", "3")][..], "the metadata of the Parquet file lack 'labels'"),
            (vec![labels()], &[("rows", "x"), ("labels", "4")], "expected the number of rows as text, found \"x\""),
            (vec![labels()], &[("labels", "-4")], "expected the number of labels as text, found \"-4\""),
            (vec![labels()], &[("rows", "4"), ("labels", "4")], "expected 4 rows, found 3"),
            (vec![labels()], &[("rows", "3"), ("labels", "3")], "column id out of range: expected an id from 0 to 2, found 3"),
            (vec![labels()], &[("rows", "3"), ("labels", "4294967296")], "too many columns"),
            (vec![labels(), scores(&[&[1.5], &[1.0], &[2.0]])], SHAPE, "expected 0 values in row 1 (counted from 0), found 1"),
            (vec![labels(), scores(&[&[1.5], &[], &[2.0, f32::NAN]])], SHAPE, "the value of column 3 is not finite"),
            (vec![("labels", ids(&[&[-1], &[], &[]]))], SHAPE, "an id in the column 'labels' is out of range"),
            (vec![("labels", ids(&[&[2, 2], &[], &[]]))], SHAPE, "duplicate column"),
            (vec![("labels", plain)], SHAPE, "expected lists of integers of 32 or 64 bits, found Int64"),
            (vec![("labels", values(&[&[1.0], &[], &[]]))], SHAPE, "the column 'labels' has the wrong type"),
            (vec![("labels", Arc::new(nulls))], SHAPE, "nulls in the column 'labels'"),
        ] {
            let message = Folder::new().read("p.parquet", &file(columns, shape), None).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    /// As other programs write them: a folder of parts whose metadata say nothing about the shape.
    #[test]
    fn parts_without_metadata() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, columns| std::fs::write(folder.path().join(name), file(columns, &[])).unwrap();
        put("part-0.parquet", vec![("labels", ids(&[&[1], &[]])), ("scores", values(&[&[1.5], &[]]))]);
        put("part-1.parquet", vec![("labels", ids(&[&[0, 3]])), ("scores", values(&[&[2.0, -1.0]]))]);
        let read = |from: Option<&str>, labels: Option<usize>| {
            let expected = labels.map(|labels| Expected { rows: 3, labels, label_names: None, row_names: None });
            formats::read(
                folder.path(),
                &ReadOptions { format: from.map(|from| from.parse().unwrap()), expected, ..Default::default() },
            )
        };
        let message = |from, labels| read(from, labels).unwrap_err().to_string();
        // What the predictions are for, or an option, says how many labels there are.
        assert_eq!(read(None, Some(4)).unwrap(), expected());
        assert_eq!(read(Some("parquet:labels=4"), None).unwrap(), expected());
        let unknown = message(None, None);
        assert!(unknown.contains("part-0.parquet: the number of labels is not known"), "{unknown}");
        assert!(unknown.contains("--from parquet:labels=N"), "{unknown}");
        assert!(message(None, Some(3)).contains("part-1.parquet: "), "label 3 of 3");
        assert!(message(Some("parquet:labels=x"), None).contains("labels of 'parquet:labels=x' is not a count"));
        // Ours say how many there are, which an option cannot change.
        std::fs::write(folder.path().join("part-0.parquet"), good()).unwrap();
        assert!(message(Some("parquet:labels=5"), None).contains("another number of labels: expected 5, found 4"));
        // Features too have to be known.
        let columns = || vec![("labels", ids(&[&[1]])), ("indices", ids(&[&[2]])), ("values", values(&[&[0.5]]))];
        put("part-0.parquet", columns());
        put("part-1.parquet", columns());
        assert!(message(Some("parquet:labels=4"), None).contains("--from parquet:features=N"));
        let Content::Data(data) = read(Some("parquet:labels=4,features=6"), None).unwrap() else { panic!("data") };
        assert_eq!((data.rows(), data.features().unwrap().cols(), data.labels().cols()), (2, 6, 4));
        // A part with another schema.
        put("part-1.parquet", vec![("labels", ids(&[&[1]]))]);
        let other = message(Some("parquet:labels=4,features=6"), None);
        assert!(other.contains("part-1.parquet: the parts of a folder do not match"), "{other}");
    }

    #[test]
    fn cut_short_anywhere() {
        let (folder, bytes) = (Folder::new(), good());
        for length in 0..bytes.len() {
            assert!(folder.read("p.parquet", &bytes[..length], Some("parquet")).is_err(), "{length} bytes");
        }
    }

    /// Parquet files have no checksums by default: an altered value may pass, but nothing that is not a matrix does.
    #[test]
    fn any_byte_altered() {
        let (folder, bytes) = (Folder::new(), good());
        for place in 0..bytes.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut altered = bytes.clone();
                altered[place] ^= mask;
                let _ = folder.read("p.parquet", &altered, Some("parquet"));
            }
        }
    }
}
