use super::*;
use crate::data::formats::{Expected, read, read_scores, write};

fn npy(kind: &str, shape: &str, by_column: bool, elements: &[u8]) -> Vec<u8> {
    let order = if by_column { "True" } else { "False" };
    let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), elements].concat()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn ints(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn predictions(bytes: &[u8], rows: usize, labels: usize) -> Result<Csr<'static, f32>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.npy");
    std::fs::write(&path, bytes).unwrap();
    let expected = Some(Expected { rows, labels, label_names: None, row_names: None });
    read_scores(&path, &ReadOptions { expected, ..Default::default() })
}

#[test]
fn floats_are_scores_of_all_labels_in_either_order() {
    let wanted = Csr::from_rows(3, [[(0u32, 0.5f32), (1, 0.0), (2, -1.0)], [(0, 2.0), (1, 3.0), (2, 4.0)]]).unwrap();
    let by_row = npy("<f4", "(2, 3)", false, &floats(&[0.5, 0.0, -1.0, 2.0, 3.0, 4.0]));
    let by_column = npy("<f4", "(2, 3)", true, &floats(&[0.5, 2.0, 0.0, 3.0, -1.0, 4.0]));
    assert_eq!(predictions(&by_row, 2, 3).unwrap(), wanted);
    assert_eq!(predictions(&by_column, 2, 3).unwrap(), wanted);
    let masked = npy("<f4", "(1, 3)", false, &floats(&[f32::NEG_INFINITY, 1.0, 2.0]));
    assert_eq!(predictions(&masked, 1, 3).unwrap().row_ids(0), [1, 2]);
    for wrong in [f32::NAN, f32::INFINITY] {
        assert!(predictions(&npy("<f4", "(1, 1)", false, &floats(&[wrong])), 1, 1).is_err());
    }
}

#[test]
fn whole_numbers_of_another_width_are_labels_best_first() {
    let top = npy("<i8", "(2, 2)", false, &ints(&[4, 0, 3, -1]));
    let found = predictions(&top, 2, 5).unwrap();
    assert_eq!((found.row_ids(0), found.row_ids(1)), (&[4, 0][..], &[3][..]));
    assert!(found.row(0).1[0] > found.row(0).1[1]);
    assert_eq!(predictions(&npy("<i8", "(3,)", false, &ints(&[1, 0, 4])), 3, 5).unwrap().row_ids(2), [4]);
    let message = predictions(&npy("<i8", "(1, 2)", false, &ints(&[5, 0])), 1, 5).unwrap_err().to_string();
    assert!(message.contains("expected a label from 0 to 4, or -1 for none, found 5"), "{message}");
    assert!(predictions(&npy("<i8", "(1, 2)", false, &ints(&[1, 1])), 1, 5).unwrap_err().to_string().contains("twice"));
}

#[test]
fn zeros_and_ones_are_labels_when_no_predictions_are_expected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("y.npy");
    let labels = Labels::from_ids(3, [vec![0, 2], vec![], vec![1]]).unwrap();
    let wanted = Content::Data(Dataset::new(None, labels).unwrap());
    for bytes in
        [npy("|b1", "(3, 3)", false, &[1, 0, 1, 0, 0, 0, 0, 1, 0]), npy("|u1", "(3, 3)", true, &[1, 0, 0, 0, 0, 1, 1, 0, 0])]
    {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap(), wanted);
    }
    write(&wanted, &path, None).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap(), wanted);
}

#[test]
fn lies_about_shapes_are_errors_and_cost_nothing() {
    for (bytes, part) in [
        (npy("<f4", "(2, 3, 4)", false, &[]), "the wrong number of dimensions"),
        (npy("<f4", "(4,)", false, &floats(&[0.0; 4])), "reshape it"),
        (npy("<f4", "(18446744073709551615, 2)", false, &floats(&[0.0; 4])), "ends too early"),
        (npy("<f4", "(18446744073709551615, 0)", false, &[]), "many more rows than entries"),
        (npy("|b1", "(18446744073709551615, 0)", true, &[]), "many more rows than entries"),
        (npy("<f4", "(2, 2)", false, &floats(&[0.0; 3])), "ends too early"),
        (npy("<U3", "(1, 1)", false, &[0; 12]), "numbers or bools"),
        (npy("|O", "(1, 1)", false, &[0; 8]), "numbers or bools"),
        (npy("<f4", "(2, 2)", false, &floats(&[0.0; 4])), "expected 3 labels, found 2"),
        (npy("<f4", "(1, 3)", false, &floats(&[0.0; 3])), "expected 2 rows, found 1"),
    ] {
        let message = predictions(&bytes, 2, 3).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("p.npy"), "{message}");
    }
}
