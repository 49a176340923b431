use super::*;
use crate::data::formats::{Expected, read_scores, write};
use crate::data::{Csr, Names, NamesOf};

fn read(text: &str, format: Option<&str>, expected: Option<Expected<'_>>) -> Result<Csr<'static, f32>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    std::fs::write(&path, text).unwrap();
    let options = ReadOptions { format: format.map(|format| format.parse().unwrap()), expected, ..Default::default() };
    read_scores(&path, &options)
}

fn shape(rows: usize, labels: usize) -> Option<Expected<'static>> {
    Some(Expected { rows, labels, label_names: None, row_names: None })
}

fn message(text: &str, format: Option<&str>, expected: Option<Expected<'_>>) -> String {
    let message = read(text, format, expected).unwrap_err().to_string();
    message.rsplit_once("p.csv").map_or(message.clone(), |(_, rest)| rest.to_owned())
}

#[test]
fn with_and_without_a_header_in_any_order_and_with_any_separator() {
    let expected = Csr::from_rows(4, [vec![(3u32, 0.5f32), (1, 0.25)], vec![], vec![(0, -1.0)]]).unwrap();
    for text in [
        "row,label,score\n0,3,0.5\n2,0,-1\n0,1,0.25\n",
        "0,3,0.5\r\n0,1,0.25\r\n2,0,-1\r\n",
        "0;3;0.5\n0;1;0.25\n2;0;-1\n",
        "score\tlabel\tx\trow\n0.5\t3\ta\t0\n0.25\t1\tb\t0\n-1\t0\tc\t2\n",
        "\u{feff}row, label, score\n0, 3, 5e-1\n0, 1, .25\n2, 0, -1\n",
    ] {
        assert_eq!(read(text, None, shape(3, 4)).unwrap(), expected, "{text}");
    }
    assert_eq!(
        read("doc,p,code\n0,0.5,3\n0,0.25,1\n2,-1,0\n", Some("csv:row=doc,label=code,score=p"), shape(3, 4)).unwrap(),
        expected
    );
}

#[test]
fn without_scores_lines_are_ranks() {
    let found = read("row,label\n0,3\n1,2\n0,1\n", None, shape(2, 4)).unwrap();
    assert_eq!((found.row(0), found.row(1)), ((&[3, 1][..], &[0.0, -1.0][..]), (&[2][..], &[0.0][..])));
}

#[test]
fn names_stand_for_ids_where_they_are_known() {
    let labels = Names::new(NamesOf::Labels, ["cold", "flu", "a, b"]).unwrap();
    let rows = Names::new(NamesOf::Rows, ["x", "y"]).unwrap();
    let expected = Some(Expected { rows: 2, labels: 3, label_names: Some(&labels), row_names: Some(&rows) });
    let wanted = Csr::from_rows(3, [vec![(1u32, 1.0f32)], vec![(2, 2.0)]]).unwrap();
    assert_eq!(read("x,flu,1\ny,\"a, b\",2\n", None, expected).unwrap(), wanted);
    assert_eq!(read("row,label,score\n0,1,1\n1,2,2\n", None, expected).unwrap(), wanted);
    assert!(message("row,label,score\n0,flu,1\ny,2,2\n", None, expected).contains("in every line"));
    // Names that are ids of other labels.
    let turned = Names::new(NamesOf::Labels, ["2", "1", "0"]).unwrap();
    let expected = Some(Expected { rows: 1, labels: 3, label_names: Some(&turned), row_names: None });
    assert!(message("0,2,1\n", Some("csv"), expected).contains("may be ids or names"));
    assert_eq!(read("0,2,1\n", Some("csv:label-names"), expected).unwrap().row_ids(0), [0]);
    assert_eq!(read("0,2,1\n", Some("csv:label-ids"), expected).unwrap().row_ids(0), [2]);
    assert_eq!(read("0,1,1\n", None, expected).unwrap().row_ids(0), [1]);
}

#[test]
fn what_is_wrong_is_located() {
    let three = shape(2, 3);
    assert_eq!(
        message("0,1,1\n0,3,1\n", None, three),
        ":2: not a label of the data: expected an id from 0 to 2, found \"3\"; ids are counted from 0; do these start at 1?"
    );
    assert_eq!(
        message("0,1,1\n2,1,1\n", None, three),
        ":2: not a row of the data: expected an id from 0 to 1, found \"2\"; ids are counted from 0; do these start at 1?"
    );
    assert_eq!(
        message("row,label,score\n0,flu,1\n", None, three),
        ":2: not a label of the data: expected an id from 0 to 2, found \"flu\"; for names of labels pass --label-names"
    );
    assert_eq!(message("0,1,1\n0,1,nan\n", None, three), ":2: cannot read a score: expected a finite number, found \"nan\"");
    assert_eq!(message("0,1,1\n0,1\n", None, three), ":2: a line without a score: expected row,label,score");
    assert_eq!(
        message("row,label,score\n0,1,1\n1,1,1\n0,1,2\n", None, three),
        ": row 0 has label 1 twice: expected each label once in a row, found it in the records 2 and 4"
    );
    assert!(message("doc,code,p\n0,1,1\n", Some("csv"), three).contains(":1: no columns 'row' and 'label'"));
    assert!(message("", Some("csv"), three).contains("the file is empty"));
    assert!(message("0,1,1\n4294967295,1,1\n", Some("csv"), None).contains("many more rows than entries"));
}

#[test]
fn what_is_written_is_read_without_being_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let scores = Csr::from_rows(3, [vec![(2u32, 0.5f32), (0, 0.1)], vec![], vec![(1, -3.0)]]).unwrap();
    for name in ["p.csv", "p.tsv", "p.csv.gz"] {
        let path = folder.path().join(name);
        assert_eq!(write(&Content::Scores(scores.clone()), &path, None).unwrap().format, "csv");
        let options = ReadOptions { expected: shape(3, 3), ..Default::default() };
        assert_eq!(read_scores(&path, &options).unwrap(), scores, "{name}");
    }
}
