//! The commands of the tutorials, in the order in which a reader runs them.

use crate::workdir::Workdir;
use std::path::PathBuf;

fn page(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/tutorials", name].iter().collect();
    std::fs::read_to_string(path).unwrap()
}

/// Runs the blocks of a page that are marked as `sh`.
fn run_commands(dir: &Workdir, name: &str) -> usize {
    let text = page(name);
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands: Vec<String> =
        blocks.flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    for command in &commands {
        let arguments =
            command.strip_prefix("unmissed ").unwrap_or_else(|| panic!("{name}: only unmissed is run, found {command}"));
        dir.run(arguments).ok();
    }
    commands.len()
}

#[test]
fn a_later_snapshot() {
    let dir = Workdir::new();
    assert_eq!(run_commands(&dir, "later-snapshot.md"), 7);
    let page = dir.read("audit.html");
    assert!(page.contains("omega"), "the audit reports what the page says");
}

#[test]
fn ratings_and_a_random_sample() {
    let dir = Workdir::with_data();
    // Python makes the files of the page; these are of the same form, and 4 of 12 items were shown.
    std::fs::rename(dir.path("ratings.csv"), dir.path("chosen.csv")).unwrap();
    assert_eq!(run_commands(&dir, "ratings-and-random-sample.md"), 2);
    assert!(dir.read("survey/items.txt").lines().count() == 12);
}

#[test]
fn files_of_another_library() {
    let dir = Workdir::with_data();
    std::fs::rename(dir.path("p.txt"), dir.path("mine.txt")).unwrap();
    assert_eq!(run_commands(&dir, "audit-another-library.md"), 1);
}

#[test]
fn pairs_to_judge() {
    let dir = Workdir::with_data();
    // Python makes the files of the page; these are of the same form.
    for (from, to) in [("p.txt", "plain.txt"), ("q.txt", "popular.txt"), ("names.txt", "labels.txt")] {
        std::fs::rename(dir.path(from), dir.path(to)).unwrap();
    }
    dir.write("rows.jsonl", "{\"text\": \"what is known\"}\n".repeat(100).as_bytes());
    assert_eq!(run_commands(&dir, "five-hundred-judgements.md"), 1);
    assert!(dir.read("judged/pairs.csv").lines().nth(1).unwrap().ends_with("what is known"));
    assert!(dir.read("judged/judge.html").contains("label 3"));
}

#[test]
fn the_others_have_no_commands_that_are_not_run() {
    for name in ["many-labels.md", "pytorch.md"] {
        assert!(!page(name).contains("```sh\n"), "{name}");
    }
}
