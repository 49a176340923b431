use super::*;
use proptest::prelude::*;

fn lines(text: &str) -> Result<Ratings> {
    Ratings::from_lines(text.as_bytes())
}

#[test]
fn every_separator_header_or_not_and_extra_columns() {
    let expected = lines("1,10,4\n2,9,3.5\n").unwrap();
    assert_eq!(expected.items, ["9", "10"]);
    for text in [
        "user,item,rating\n1,10,4\n2,9,3.5",
        "1\t10\t4\t978300760\r\n2\t9\t3.5\t978300761\r\n",
        "1::10::4::978300760\n2::9::3.5::978300761\n",
        "1;10;4\n2;9;3.5\n\n",
        "1 10 4\n2   9 3.5\n",
        "\u{feff}\"user\";\"item\";\"rating\"\n\"2\";\"9\";\"3.5\"\n\"1\";\"10\";\"4\"\n",
        "2, 9, 3.5, a, b\n1, 10, 4, a, b\n",
    ] {
        assert_eq!(lines(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn ids_are_in_the_order_of_numbers_or_of_letters() {
    let numbers = lines("10,0,1\n9,0,1\n007,0,1\n7,0,1\n99999999999999999999999,0,1\n").unwrap();
    assert_eq!(numbers.users, ["007", "7", "9", "10", "99999999999999999999999"]);
    assert_eq!(lines("10,0,1\n9,0,1\n-1,0,1\n").unwrap().users, ["-1", "10", "9"]);
}

#[test]
fn zeros_are_ratings_in_a_list_and_none_in_a_matrix() {
    assert_eq!(lines("1,1,0\n").unwrap().ratings.nnz(), 1);
    let dense = Ratings::from_matrix(b"0 5 0\n1\t0 -0\n").unwrap();
    assert_eq!(dense.ratings, Csr::from_arrays(3, vec![0, 1, 2], vec![1, 0], vec![5.0f32, 1.0]).unwrap());
    assert_eq!((&*dense.users, &*dense.items), (&["0", "1"].map(String::from)[..], &["0", "1", "2"].map(String::from)[..]));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, message) in [
        ("", "the file is empty"),
        ("user,item,rating\n", "line 1: no ratings after the header"),
        ("1,2,3\n1,2\n", "line 2: a line without a rating: expected 'user,item,rating', found \"1,2\""),
        ("1,2,3\n1,3,x\n", "line 2: cannot read a rating: expected a finite number, found \"x\""),
        ("1,2,3\n\n1,3,nan\n", "line 3: cannot read a rating: expected a finite number, found \"nan\""),
        ("u,i,r\n1,2,3\n1,3,3\n1,2,4\n", "line 4: item \"2\" is rated twice by user \"1\": expected one rating for each user"),
    ] {
        let found = lines(text).unwrap_err().to_string();
        assert!(found.starts_with(message), "{found}");
    }
    assert!(Ratings::from_lines(b"\xff,2,3\n").unwrap_err().to_string().starts_with("line 1: a name is not text"));
    for (text, message) in [
        ("\n \n", "the file is empty"),
        ("1 2\n3\n", "line 2: the lines of the matrix have different lengths: expected 2 numbers, as in the first line, found 1"),
        ("1 2\n\n3 4\n", "line 2: the lines of the matrix have different lengths"),
        ("1 inf\n", "line 1: cannot read a rating"),
    ] {
        let found = Ratings::from_matrix(text.as_bytes()).unwrap_err().to_string();
        assert!(found.starts_with(message), "{found}");
    }
}

#[test]
fn both_formats_and_only_they_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.txt");
    std::fs::write(&path, "0 3\n4 0\n").unwrap();
    let options = |format: &str| ReadOptions { format: Some(format.parse().unwrap()), ..Default::default() };
    assert_eq!(Ratings::read(&path, &options("matrix")).unwrap().ratings.nnz(), 2);
    assert!(Ratings::read(&path, &options("xmc")).unwrap_err().to_string().contains("'xmc' holds no names"));
    let error = Ratings::read(&path, &ReadOptions::default()).unwrap_err();
    assert_eq!((error.path(), error.line()), (Some(&*path), Some(1)));
}

proptest! {
    #[test]
    fn the_order_of_lines_does_not_matter(
        mut entries in proptest::collection::btree_map((0u32..20, 0u32..20), 0u8..6, 1..40)
            .prop_map(|entries| entries.into_iter().collect::<Vec<_>>()),
    ) {
        let text = |entries: &[((u32, u32), u8)]| entries.iter().map(|((u, i), r)| format!("{u},{i},{r}\n")).collect::<String>();
        let sorted = lines(&text(&entries)).unwrap();
        entries.reverse();
        prop_assert_eq!(lines(&text(&entries)).unwrap(), sorted);
    }
}
