//! Files and names from strangers: what expands without end, and texts that mean something to whoever shows them.

use crate::workdir::Workdir;
use unmissed::data::Output;

/// What terminals, spreadsheets, browsers, LaTeX and Markdown would act on.
const EVIL: [&str; 5] = [
    "=HYPERLINK(1)",
    "\u{1b}[31mred\u{202e}",
    "<img src=x onerror=alert(1)>",
    "\\input{secret} $x$ 100% & _",
    "[a](b) | `c` **d**",
];

#[test]
fn bombs_are_refused_and_the_message_says_what_to_do() {
    let dir = Workdir::new();
    let rows = 40_000;
    let text = format!("{rows} 3\n{}", "0:1 1:1\n".repeat(rows));
    dir.write("plain.txt", text.as_bytes());
    for name in ["bomb.txt.gz", "bomb.txt.zst"] {
        let mut output = Output::create(dir.path(name)).unwrap();
        output.put(text.as_bytes()).unwrap();
        output.finish().unwrap();
    }
    dir.run("convert plain.txt bomb.npz").ok();
    for name in ["bomb.txt.gz", "bomb.txt.zst", "bomb.npz"] {
        let size = std::fs::metadata(dir.path(name)).unwrap().len();
        assert!(size < 100_000, "{name} is within the bound while it is compressed, not beyond it with {size} bytes");
        for more in ["", " --no-mmap"] {
            let message = dir.run(&format!("convert {name} out.txt --max-size 100KB{more}")).refused();
            assert!(message.contains(name) && message.contains("larger than allowed"), "{message}");
            assert!(message.contains("at most 100000 bytes") && message.contains("--max-size 200GB"), "{message}");
        }
        dir.run(&format!("convert {name} out.txt")).ok();
        assert_eq!(dir.read("out.txt"), text, "{name}");
    }
    // What is not compressed is as large as it is; tables are bounded as data are.
    dir.run("convert plain.txt out.txt --max-size 100KB").ok();
    let mut names = Output::create(dir.path("names.txt.gz")).unwrap();
    (0..rows).for_each(|_| names.put(b"the same name again\n").unwrap());
    names.finish().unwrap();
    let evaluate = "evaluate --test plain.txt --predictions plain.txt --max-size 100KB";
    let message = dir.run(&format!("{evaluate} --label-names names.txt.gz")).refused();
    assert!(message.contains("names.txt.gz: the content is larger than allowed"), "{message}");
    let wrong = dir.run("convert plain.txt out.txt --max-size none");
    assert!(wrong.code == Some(2) && wrong.stderr.contains("a number with a unit"), "{}", wrong.stderr);
}

/// A device or a pipe that never ends, wherever a file is read as a whole.
#[cfg(unix)]
#[test]
fn endless_files_are_bounded() {
    let dir = Workdir::with_data();
    std::os::unix::fs::symlink("/dev/zero", dir.path("endless")).unwrap();
    let evaluate = "evaluate --train train.txt --test test.txt --predictions p.txt";
    let audit = "audit --train train.txt --test test.txt --predictions p.txt -o page.html";
    for command in [
        "predict endless test.txt -o out.txt".to_owned(),
        "merge endless".to_owned(),
        "train train.txt -o tree --tree given:endless".to_owned(),
        format!("{evaluate} --propensity table:endless"),
        format!("{evaluate} --propensity rows:endless"),
        format!("{evaluate} --label-names endless"),
        format!("{audit} --judged endless"),
        format!("{audit} --baseline endless"),
    ] {
        let message = dir.run(&format!("{command} --max-size 1MB")).refused();
        assert!(
            message.contains("endless: the content is larger than allowed") && message.contains("1000000 bytes"),
            "{command}: {message}"
        );
    }
}

#[test]
fn names_of_strangers_are_harmless_in_every_output() {
    let dir = Workdir::with_data();
    let names: Vec<String> = (0..12).map(|label| format!("{}{label}", EVIL[label % EVIL.len()])).collect();
    dir.write("names.txt", (names.join("\n") + "\n").as_bytes());
    let harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    let audit = "audit --train train.txt --test test.txt --predictions p.txt --label-names names.txt -o page.html \
                 --labels-csv labels.csv --rows-csv rows.csv";
    for format in ["table", "csv", "markdown", "latex"] {
        for command in [format!("{audit} --all --format {format}"), format!("stats train.txt --format {format}")] {
            let out = dir.run(&command).ok();
            assert!(out.chars().all(harmless), "{command}: {out:?}");
            if format == "markdown" {
                assert!(!out.contains("<img") && !out.contains("[a](b)"), "{out}");
            }
            if format == "latex" {
                let typeset = out.lines().filter(|line| !line.starts_with('%'));
                assert!(typeset.clone().all(|line| !line.contains("\\input")), "{out}");
            }
        }
    }
    let page = dir.read("page.html");
    assert!(!page.contains("<img src=x") && page.contains("onerror=alert(1)"), "the name is a text of the page");
    for file in ["labels.csv", "rows.csv"] {
        let text = dir.read(file);
        assert!(text.chars().all(harmless), "{file}");
        let is_formula = |cell: &str| cell.trim_matches('"').starts_with(['=', '@']);
        assert!(!text.lines().flat_map(|line| line.split(',')).any(is_formula), "{file}: {text}");
    }
    assert!(dir.read("labels.csv").contains("'=HYPERLINK(1)0"));
}

/// What no terminal may get: control characters, among them those of C1, and characters that turn the direction of writing.
fn is_harmless(c: char) -> bool {
    c == '\n' || !(c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

#[test]
fn models_named_by_strangers_are_harmless_in_csv_and_json() {
    let dir = Workdir::with_data();
    let evil = "a\u{9b}\u{202e}\u{1b};=1,\"";
    let name = |file: &str| dir.path(&format!("{evil}{file}")).display().to_string();
    std::fs::copy(dir.path("known.csv"), name("p.csv")).unwrap();
    let table = format!("table:{evil}p.csv");
    let show = ["propensity", "show", "power", &table, "--train", "train.txt"];
    let printed = dir.run_args(&[&show[..], &["--format", "csv"]].concat()).ok();
    dir.run_args(&[&show[..], &["-o", "both.csv"]].concat()).ok();
    for text in [printed, dir.read("both.csv")] {
        assert!(text.chars().all(is_harmless), "{text:?}");
        let last = text.lines().last().unwrap();
        assert!(last.starts_with(r#""table:a\u{9b}\u{202e}\u{1b};'=1,""p.csv",11,"#), "{last}");
    }
    let evil = "a\u{9b}\u{202e}\u{1b}";
    let model = format!("{evil}=p.txt");
    let audit = ["audit", "--train", "train.txt", "--test", "test.txt", "--predictions", &model, "-o", "page.html"];
    let printed = dir.run_args(&[&audit[..], &["--json", "audit.json", "--format", "json"]].concat()).ok();
    for (what, text) in [("printed", printed), ("in the file", dir.read("audit.json"))] {
        assert!(text.chars().all(is_harmless), "{what}");
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(parsed.to_string().contains(&serde_json::json!(evil).to_string()), "{what}: the text itself is unchanged");
    }
}

#[test]
fn the_page_for_judges_has_nothing_that_its_csv_may_not_have() {
    let dir = Workdir::with_data();
    let names: Vec<String> = (0..12).map(|label| format!("{}\u{9b}{label}", EVIL[label % EVIL.len()])).collect();
    dir.write("names.txt", (names.join("\n") + "\n").as_bytes());
    let text = serde_json::json!({ "text": "first\r\n\tsecond \u{202e}\u{1b}" });
    dir.write("rows.jsonl", format!("{text}\n").repeat(100).as_bytes());
    dir.run(
        "annotate plan --test test.txt --predictions p.txt --budget 60 --label-names names.txt --row-text rows.jsonl:text -o plan",
    )
    .ok();
    let page = dir.read("plan/judge.html");
    assert!(page.chars().all(|c| c == '\t' || is_harmless(c)));
    let data = page.split_once("id=\"pairs\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let cells: Vec<&str> = data["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|pair| pair.as_array().unwrap())
        .map(|cell| cell.as_str().unwrap())
        .collect();
    assert!(cells.iter().all(|cell| cell.chars().all(|c| c == '\t' || is_harmless(c))), "{cells:?}");
    assert!(cells.contains(&"first\n\tsecond \\u{202e}\\u{1b}"), "lines are kept for reading");
}

#[test]
fn names_in_messages_do_not_steer_the_terminal() {
    let dir = Workdir::new();
    let finished = dir.run("stats evil\u{1b}[31m.txt");
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("evil\\u{1b}[31m.txt") && !finished.stderr.contains('\u{1b}'), "{:?}", finished.stderr);
}

#[test]
fn wrong_arguments_do_not_steer_the_terminal() {
    let dir = Workdir::new();
    let evil = "evil\u{1b}]0;pwned\u{7}\u{202e}\n\u{9b}31m.txt";
    for arguments in [
        vec!["convert", "a.txt", "b.txt", evil],
        vec![evil],
        vec!["stats", "--threads", evil],
        vec!["mask", "a.txt", "--propensity", "power", "-o", "b.txt", "--by", evil],
        vec!["stats", "a.txt", &format!("--{evil}")],
    ] {
        let finished = dir.run_args(&arguments);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        let is_harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(finished.stderr.chars().all(is_harmless), "{arguments:?}: {:?}", finished.stderr);
        assert!(finished.stderr.contains("evil\\u{1b}]0;pwned\\u{7}\\u{202e}\\n\\u{9b}31m.txt"), "{}", finished.stderr);
    }
    for (argument, start) in [("--help", "How good is"), ("--version", "unmissed ")] {
        assert!(dir.run_args(&[argument, evil]).ok().starts_with(start));
    }
}

/// Text that is not UTF-8 is wrong, and its printable form would be right.
#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_are_named_without_steering_the_terminal() {
    use std::os::unix::ffi::OsStrExt;
    let wrong = std::ffi::OsStr::from_bytes(b"power\x1b[31m\xff");
    let output = Workdir::new().command().args(["propensity", "show", "--train", "a.txt"]).arg(wrong).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        output.stderr.starts_with(b"error: ") && !output.stderr.contains(&0x1b),
        "{:?}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn archives_cannot_name_files_to_write() {
    // Members are looked up by the names of scipy's arrays; a path in a name is no path that is ever opened.
    let dir = Workdir::with_data();
    dir.run("convert p.txt p.npz").ok();
    let mut bytes = std::fs::read(dir.path("p.npz")).unwrap();
    let (from, to) = (b"indices.npy", b"../../x.npy");
    for start in 0..bytes.len() - from.len() {
        if bytes[start..].starts_with(from) {
            bytes[start..start + to.len()].copy_from_slice(to);
        }
    }
    dir.write("evil.npz", &bytes);
    let message = dir.run("convert evil.npz out.txt").refused();
    assert!(message.contains("the array 'indices' is missing"), "{message}");
    assert!(!dir.path("../../x.npy").exists());
}
