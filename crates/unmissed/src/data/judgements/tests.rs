use super::*;

fn read(files: &[&str]) -> Result<Judgements> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..files.len()).map(|file| folder.path().join(format!("{}.csv", ["anna", "ben"][file]))).collect();
    for (path, text) in paths.iter().zip(files) {
        std::fs::write(path, text).unwrap();
    }
    Judgements::read(&paths, 10, 5)
}

fn message(files: &[&str]) -> String {
    let text = read(files).unwrap_err().to_string();
    // Without the temporary folder.
    text.split(' ').map(|word| word.rsplit('/').next().unwrap_or(word)).collect::<Vec<_>>().join(" ")
}

const HEADER: &str = "round,row,label,probability,stratum,relevant,text\n";

#[test]
fn pairs_are_read_with_what_is_optional_left_out() {
    let all = read(&["\u{feff}label,row,relevant,probability\n4,9,1,0.5\n3,0,unsure,1\n0,0,,0.25\n"]).unwrap();
    let pairs: Vec<_> = all.pairs().iter().map(|pair| (pair.row, pair.label, pair.relevance, pair.round)).collect();
    assert_eq!(pairs, [(9, 4, Some(Relevance::Relevant), 1), (0, 3, Some(Relevance::Unsure), 1), (0, 0, None, 1)]);
    assert_eq!(all.counts(), (2, 1));
}

#[test]
fn bad_lines_are_located() {
    for (line, expected) in [
        ("1,10,0,0.5,a,1,", "anna.csv:2: unknown row: expected a number below 10, found 10"),
        ("1,0,5,0.5,a,1,", "anna.csv:2: unknown label: expected a number below 5, found 5"),
        ("1,x,5,0.5,a,1,", "anna.csv:2: cannot read a row: expected a whole number, found \"x\""),
        ("1,0,0,0,a,1,", "anna.csv:2: the probability of having been drawn is out of range: expected a number in (0, 1], found 0"),
        (
            "1,0,0,1.5,a,1,",
            "anna.csv:2: the probability of having been drawn is out of range: expected a number in (0, 1], found 1.5",
        ),
        ("1,0,0,nan,a,1,", "anna.csv:2: the probability of having been drawn is out of range"),
        ("0,0,0,1,a,1,", "anna.csv:2: cannot read a round: expected a whole number from 1, found \"0\""),
        (
            "1,0,0,1,a,yes,",
            "anna.csv:2: cannot read a judgement: expected 1, 0, unsure, or nothing for a pair that is not judged, found \"yes\"",
        ),
    ] {
        let found = message(&[&format!("{HEADER}{line}\n")]);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn empty_files_and_missing_columns_are_named() {
    assert!(message(&[""]).starts_with("anna.csv: the file is empty: expected a header"));
    assert!(message(&[HEADER]).starts_with("anna.csv: the file has no pairs"));
    assert!(message(&["row,label,relevant\n0,0,1\n"]).starts_with("anna.csv:1: no column 'probability'"));
    assert!(message(&[&format!("{HEADER}1,0,0,1,a,,\n")]).starts_with("anna.csv: no pair is judged"));
}

#[test]
fn a_pair_may_be_in_several_files_but_once_in_each() {
    let (a, b) = (format!("{HEADER}1,0,0,0.5,a,1,\n1,1,1,0.5,a,,\n"), format!("{HEADER}1,0,0,0.5,a,1,\n1,1,1,0.5,a,0,\n"));
    let all = read(&[&a, &b]).unwrap();
    assert_eq!(all.pairs().len(), 2);
    assert_eq!(all.pairs()[1].relevance, Some(Relevance::Irrelevant));
    let twice = message(&[&format!("{HEADER}1,0,0,0.5,a,1,\n1,0,0,0.5,a,1,\n")]);
    assert!(twice.starts_with("anna.csv:3: the pair (row 0, label 0) occurs twice: expected each pair once in a file"), "{twice}");
    let drawn = message(&[&a, &format!("{HEADER}1,0,0,0.25,a,1,\n")]);
    assert!(drawn.starts_with("ben.csv:2: the pair (row 0, label 0) was drawn differently in two files"), "{drawn}");
}

#[test]
fn contradictions_are_listed() {
    let file = |judged: [&str; 2]| format!("{HEADER}1,0,0,0.5,a,{},\n1,1,1,0.5,a,{},\n", judged[0], judged[1]);
    let found = message(&[&file(["1", "0"]), &file(["0", "1"])]);
    assert!(
        found.starts_with("ben.csv:2: 2 pairs were judged differently by different judges: found row 0, label 0 (1 at"),
        "{found}"
    );
    assert!(found.contains("row 1, label 1") && found.ends_with("write 'unsure' in both"), "{found}");
}

#[test]
fn machines_give_labels_or_scores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.csv");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        MachineJudgements::read(&path, 10, 5)
    };
    let all = read("row,label,relevant,score\n0,1,1,0.75\n0,2,1,\n3,3,0,\n4,4,,\n").unwrap();
    assert_eq!([all.get(0, 1), all.get(0, 2), all.get(3, 3), all.get(4, 4)], [Some(0.75), Some(1.0), Some(0.0), None]);
    for (text, part) in [
        ("row,label\n0,0\n", ":1: no column 'relevant' or 'score'"),
        ("row,label,score\n0,0,inf\n", ":2: cannot read a machine's judgement"),
        ("row,label,score\n0,0,1\n0,0,1\n", ":3: the pair (row 0, label 0) occurs twice"),
        ("row,label,score\n0,9,1\n", ":2: unknown label"),
        ("row,label,score\n", "the machine judged no pair"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}
