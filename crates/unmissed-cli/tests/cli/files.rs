//! Files as people have them: predictions in any of their formats give the same numbers, and names stand beside ids.

use crate::workdir::Workdir;
use std::io::Write;
use std::process::Stdio;

/// The rows of `p.txt`.
fn rows(dir: &Workdir) -> Vec<Vec<(u32, f32)>> {
    let entry = |entry: &str| entry.split_once(':').map(|(label, score)| (label.parse().unwrap(), score.parse().unwrap())).unwrap();
    dir.read("p.txt").lines().skip(1).map(|line| line.split_whitespace().map(entry).collect()).collect()
}

fn names() -> Vec<String> {
    (0..12).map(|label| format!("label \"{label}\", Größe")).collect()
}

fn npy(kind: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), elements].concat()
}

#[test]
fn predictions_in_every_form_give_the_same_numbers() {
    let dir = Workdir::with_data();
    let rows = rows(&dir);
    let name = names();
    dir.write("names.txt", (name.join("\n") + "\n").as_bytes());
    dir.write(
        "row_names.csv",
        (0..100).map(|row| format!("doc-{row}\n")).fold("id\n".to_owned(), |all, line| all + &line).as_bytes(),
    );
    let csv = |header: &str, row: &dyn Fn(usize) -> String, label: &dyn Fn(u32) -> String| {
        let lines = rows.iter().enumerate().flat_map(|(at, entries)| entries.iter().map(move |(l, s)| (at, *l, *s)));
        lines.fold(header.to_owned(), |all, (at, l, s)| all + &format!("{},{},{s}\n", row(at), label(l)))
    };
    let id = |row: usize| row.to_string();
    dir.write("ids.csv", csv("row,label,score\n", &id, &|label| label.to_string()).as_bytes());
    dir.write("bare.csv", csv("", &id, &|label| label.to_string()).as_bytes());
    let quoted = |label: u32| format!("\"{}\"", name[label as usize].replace('"', "\"\""));
    dir.write("named.csv", csv("row,label,score\n", &|row| format!("doc-{row}"), &quoted).as_bytes());
    dir.write("other.csv", csv("doc,code,p\n", &id, &|label| label.to_string()).as_bytes());
    let text = dir.read("p.txt");
    dir.write("bare.txt", text.split_once('\n').unwrap().1.as_bytes());
    let top: Vec<u8> = rows.iter().flatten().flat_map(|(label, _)| i64::from(*label).to_le_bytes()).collect();
    dir.write("top.npy", &npy("<i8", "(100, 4)", &top));
    let mut dense = vec![f32::NEG_INFINITY; 100 * 12];
    rows.iter()
        .enumerate()
        .for_each(|(row, entries)| entries.iter().for_each(|(label, score)| dense[row * 12 + *label as usize] = *score));
    dir.write("dense.npy", &npy("<f4", "(100, 12)", &dense.iter().flat_map(|score| score.to_le_bytes()).collect::<Vec<u8>>()));
    dir.run("convert p.txt p.npz").ok();

    let command = |file: &str| format!("evaluate --test test.txt --predictions A={file} --metrics precision,ndcg,macro-f");
    let wanted = dir.json(&command("p.txt"))["rows"].clone();
    for file in
        ["bare.txt", "ids.csv", "bare.csv", "top.npy", "dense.npy", "p.npz", "other.csv,from=csv:row=doc,label=code,score=p"]
    {
        assert_eq!(dir.json(&command(file))["rows"], wanted, "{file}");
    }
    let named = format!("{} --label-names names.txt --row-names row_names.csv:id", command("named.csv"));
    assert_eq!(dir.json(&named)["rows"], wanted);

    let mut child = dir.command();
    child.args(command("-").split_whitespace()).args(["--format", "json"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(dir.read("bare.txt").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["rows"], wanted);
    let twice = dir.run("evaluate --test test.txt --predictions A=- --predictions B=- --metrics precision").refused();
    assert!(twice.contains("standard input was already read") || twice.contains("the file is empty"), "{twice}");
}

/// One option for several kinds of files.
#[test]
fn a_format_does_not_apply_to_files_of_another_kind() {
    let dir = Workdir::with_data();
    for from in ["xmc", "scores", "npz"] {
        let finished = dir.run(&format!("evaluate --test test.txt --predictions p.txt --metrics precision --from {from}"));
        if from == "npz" {
            assert!(finished.refused().contains("test.txt"));
        } else {
            finished.ok();
        }
    }
    let message = dir.run("evaluate --test test.txt --predictions p.txt,from=npz --metrics precision").refused();
    assert!(message.starts_with("p.txt: cannot read the archive"), "{message}");
    let message = dir.run("evaluate --test test.txt --predictions p.txt,from=nonsense --metrics precision").refused();
    assert!(message.contains("unknown format 'nonsense'"), "{message}");
}

#[test]
fn errors_about_shapes_and_formats_name_the_file() {
    let dir = Workdir::with_data();
    dir.write("words.txt", b"hello world\n");
    dir.write("short.txt", b"0:1\n1:1\n");
    dir.write("wide.txt", dir.read("p.txt").replacen("100 12", "100 13", 1).as_bytes());
    let message = |file: &str| dir.run(&format!("evaluate --test test.txt --predictions {file} --metrics precision")).refused();
    let parquet = if cfg!(feature = "parquet") { "parquet, " } else { "" };
    assert_eq!(
        message("words.txt"),
        format!(
            "words.txt: the format of this file is not recognised: expected predictions whose first two lines are like '100 12' and '3:0.9 \
             17:0.25' (rows and labels; a row's label:score), or one of xmc, scores, svmlight, npz, npy, csv, {parquet}ratings, matrix, found \
             the first line \"hello world\"; name the format with NAME=FILE,from=FORMAT if you know it"
        )
    );
    assert_eq!(
        message("short.txt"),
        "short.txt: the predictions do not fit the labels: expected 100 rows, a line for each, found 2 lines"
    );
    assert!(message("wide.txt").starts_with("wide.txt: the predictions do not fit the labels: expected 12 labels, found 13"));
    let metric = dir.run("evaluate --test test.txt --predictions p.txt --metrics p@5").refused();
    assert!(metric.contains("unknown metric 'p@5'; ask for 'precision' and k = 5"), "{metric}");
}

#[test]
fn tables_have_names_and_are_safe_for_spreadsheets_and_terminals() {
    let dir = Workdir::with_data();
    let mut names = names();
    names[0] = "=HYPERLINK(\"x\")".into();
    names[1] = "\u{1b}[31mred".into();
    names[2..].iter_mut().for_each(|name| *name = format!("<script>alert(1)</script> {name}"));
    dir.write("names.txt", (names.join("\n") + "\n").as_bytes());
    dir.write(
        "text.jsonl",
        (0..100).map(|row| format!("{{\"t\":\"=text \\u001b of row {row}\"}}\n")).collect::<String>().as_bytes(),
    );
    let both = "audit --train train.txt --test test.txt --predictions A=p.txt --predictions B=q.txt --later train_late.txt --label-names names.txt \
                --row-text text.jsonl:t --labels-csv labels.csv --rows-csv rows.csv -o page.html";
    dir.run(both).ok();
    let (labels, rows, page) = (dir.read("labels.csv"), dir.read("rows.csv"), dir.read("page.html"));
    assert!(
        labels
            .starts_with("label,name,train_count,positives,model,k,predicted,hits,precision,precision_low,precision_high,recall,")
    );
    assert_eq!(labels.lines().count(), 1 + 2 * 12);
    assert!(labels.contains("\n0,\"'=HYPERLINK(\"\"x\"\")\",") && labels.contains(r"\u{1b}[31mred"));
    assert!(rows.starts_with("kind,model,row,row_name,label,label_name,rank,") && rows.contains(r"'=text \u{1b} of row"));
    for text in [&labels, &rows, &page] {
        assert!(!text.contains('\u{1b}'));
    }
    assert!(!page.contains("<script>alert") && (page.contains("script&#62;alert") || page.contains("script&gt;alert")));
    assert!(page.contains("id=\"labels-table\"") && page.contains("id=\"labels-search\"") && page.contains("Gr\u{f6}\u{df}e"));
    let result = dir.json("audit --test test.txt --predictions p.txt --label-names names.txt");
    assert_eq!(result["labels"][0]["name"].as_str().map(str::is_empty), Some(false));
    assert!(result["rows_to_check"]["errors"][0]["label_name"].is_string());
    let twice = names.iter().map(|_| "same\n").collect::<String>();
    dir.write("names.txt", twice.as_bytes());
    let message = dir.run("audit --test test.txt --predictions p.txt --label-names names.txt").refused();
    assert_eq!(
        message,
        "names.txt:2: labels 0 and 1 are both called 'same': expected a different name for each label; make one of the names more specific"
    );
}

#[test]
fn misaligned_files_are_findings_of_both_commands() {
    let dir = Workdir::with_data();
    let codes = |command: &str| -> Vec<String> {
        let found = dir.json(command);
        found["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    };
    let swapped = "--test test.txt --predictions p.txt --train train_late.txt --later train.txt";
    assert!(codes(&format!("audit {swapped}")).contains(&"U018".to_owned()));
    assert!(codes(&format!("evaluate {swapped} --metrics precision")).contains(&"U018".to_owned()));
    let trained = "--test test.txt --predictions p.txt --train test.txt";
    assert!(codes(&format!("audit {trained}")).contains(&"U019".to_owned()));
    assert!(codes(&format!("evaluate {trained} --metrics precision")).contains(&"U019".to_owned()));
    assert!(codes("evaluate --test test.txt --predictions p.txt --metrics precision").contains(&"U020".to_owned()));
    assert!(!codes("evaluate --test test.txt --predictions p.txt --metrics precision -k 1,3").contains(&"U020".to_owned()));
}

/// Names stand beside the ids, and the file is read by its ids.
#[test]
fn predictions_are_written_with_names() {
    let dir = Workdir::with_data();
    dir.run("predict model.safetensors test.txt -k 2 -o plain.csv").ok();
    dir.run("predict model.safetensors test.txt -k 2 --label-names names.txt -o named.csv").ok();
    let (plain, named) = (dir.read("plain.csv"), dir.read("named.csv"));
    assert_eq!(plain.lines().count(), named.lines().count());
    assert_eq!(named.lines().next(), Some("row,label,score,label_name"));
    for line in named.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[3], format!("label {}", fields[1]));
    }
    let rows =
        |file: &str| dir.json(&format!("evaluate --test test.txt --predictions A={file} --metrics precision"))["rows"].clone();
    assert_eq!(rows("plain.csv"), rows("named.csv"));
    let message = dir.run("predict model.safetensors test.txt --label-names names.txt -o named.npz").refused();
    assert!(message.contains("names can only be written into a table") && message.contains(".csv or .tsv"), "{message}");
    dir.write("few.txt", b"one\n");
    let message = dir.run("predict model.safetensors test.txt --label-names few.txt -o named.csv").refused();
    assert!(message.contains("few.txt") && message.contains("12"), "{message}");
}
