use super::*;

fn read(name: &str, content: &[u8], column: &str, count: usize) -> Result<Names> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let column = if column.is_empty() { String::new() } else { format!(":{column}") };
    Names::read(NamesOf::Labels, &format!("{}{column}", path.display()).parse()?, count)
}

fn message(name: &str, content: &[u8], column: &str, count: usize) -> String {
    let text = read(name, content, column, count).unwrap_err().to_string();
    text.rsplit_once(name).map_or(text.clone(), |(_, rest)| rest.to_owned())
}

#[test]
fn lines_with_any_line_end_a_mark_and_unicode() {
    let names = read("n.txt", "\u{feff}flu\r\n Erkältung \n標籤".as_bytes(), "", 3).unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["flu", "Erkältung", "標籤"]);
    assert_eq!((names.len(), names.id_of("標籤"), names.id_of("Flu")), (3, Some(2), None));
    let long = "x".repeat(100_000);
    assert_eq!(read("n.txt", long.as_bytes(), "", 1).unwrap().get(0), Some(&*long));
    assert!(names.with_id(0) == "0 (flu)" && names.with_id(9) == "9");
}

#[test]
fn columns_of_tables_in_order_or_by_id() {
    let names = |found: Result<Names>| found.unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(read("n.csv", b"code,title\n1,\"a, b\"\n2,c\n", "title", 2)), ["a, b", "c"]);
    assert_eq!(names(read("n.tsv", b"title\tcode\na\t1\nc\t2\n", "title", 2)), ["a", "c"]);
    assert_eq!(names(read("n.csv", b"label,title\n1,b\n0,a\n", "title", 2)), ["a", "b"]);
    assert_eq!(names(read("n.csv", b"label,title\nb,x\na,y\n", "label", 2)), ["b", "a"]);
    assert_eq!(names(read("n.jsonl", b"{\"t\":\"a\",\"u\":1}\n{\"t\":7}\n", "t", 2)), ["a", "7"]);
}

#[test]
fn what_is_wrong_is_located() {
    assert_eq!(
        message("n.txt", b"a\nb\na\n", "", 3),
        ":3: labels 0 and 2 are both called 'a': expected a different name for each label; make one of the names more specific"
    );
    assert_eq!(message("n.txt", b"a\n\nb\n", "", 3), ":2: label 1 has no name: expected a name for each label");
    assert_eq!(message("n.txt", b"a\nb\n", "", 3), ": not a line for each label: expected 3 labels, found 2 lines");
    assert_eq!(
        message("n.csv", b"id,title\n1,a\n2,b\n", "", 2),
        ": not a line for each label: expected 2 labels, found 3 lines; name the column, FILE.csv:COLUMN, one of id, title"
    );
    assert_eq!(message("n.csv", b"id,title\n1,a\n", "name", 1), ":1: no column 'name': found the columns id, title");
    assert_eq!(
        message("n.csv", b"label,t\n0,a\n0,b\n", "t", 2),
        ":3: label 0 occurs twice, in lines 2 and 3: expected each label once"
    );
    assert_eq!(
        message("n.csv", b"label,t\n5,a\n", "t", 1),
        ":2: cannot read a label: expected a whole number below 1, found \"5\""
    );
    assert_eq!(
        message("n.csv", b"label,t\n0,a\n", "t", 2),
        ": label 1 is missing: expected a record for each of 2 labels, found 1 records"
    );
    assert_eq!(
        message("n.jsonl", b"{\"u\":1}\n", "t", 1),
        ":1: no text in the field 't': expected a string or a number, found the fields u"
    );
    assert_eq!(message("n.jsonl", b"oops\n", "t", 1), ":1: not a line of JSON: expected {\"t\": ...}, found \"oops\"");
    assert!(message("n.txt", b"ok\n\xff\xfe\n", "", 2).starts_with(":2: text that is not UTF-8"));
    assert!(message("n.csv", b"t\n\xff\n", "t", 1).contains("not a table of UTF-8 text"));
}

#[test]
fn texts_may_repeat_and_be_empty_and_names_may_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.txt");
    std::fs::write(&path, "a\n\na\n").unwrap();
    let file: TextFile = path.to_str().unwrap().parse().unwrap();
    let texts = Texts::read(NamesOf::Rows, &file, 3).unwrap();
    assert_eq!(texts.iter().collect::<Vec<_>>(), ["a", "", "a"]);
    assert!(Names::read(NamesOf::Rows, &file, 3).is_err());
    let names = Names::new(NamesOf::Rows, ["a", "b"]).unwrap();
    assert!(names.check_len(2).is_ok());
    let message = names.check_len(3).unwrap_err().to_string();
    assert_eq!(message, "the names are not those of the rows: expected 3 names, one for each row, found 2");
}

#[test]
fn colons_split_only_tables() {
    let parsed = |text: &str| {
        let file: TextFile = text.parse().unwrap();
        (file.path().to_string_lossy().into_owned(), file.column().map(str::to_owned))
    };
    assert_eq!(parsed("a.csv:t"), ("a.csv".into(), Some("t".into())));
    assert_eq!(parsed("a.csv.gz:t:u"), ("a.csv.gz".into(), Some("t:u".into())));
    assert_eq!(parsed("C:\\a.jsonl:t"), ("C:\\a.jsonl".into(), Some("t".into())));
    assert_eq!(parsed("C:\\a.txt"), ("C:\\a.txt".into(), None));
    assert_eq!("a.csv:t".parse::<TextFile>().unwrap().to_string(), "a.csv:t");
    assert!("a.csv:".parse::<TextFile>().is_err() && "".parse::<TextFile>().is_err());
}
