//! The paper's experiments at a reduced size: what must come out does.

#![allow(clippy::unwrap_used)]

use unmissed::experiments::{Claim, Context, EXPERIMENTS, Outcome, Size, Verdict, find, page};
use unmissed::progress::Silent;

fn context(size: Size) -> Context<'static> {
    Context { size, seed: 0, data: Vec::new(), yahoo_r3: None, kept: None, progress: &Silent }
}

fn run(name: &str) -> Outcome {
    find(name).unwrap().run(&context(Size::Tiny)).unwrap()
}

fn must_hold(name: &str) -> Outcome {
    let outcome = run(name);
    let failed: Vec<&Claim> = outcome.failures().collect();
    assert!(failed.is_empty(), "{name}: {failed:#?}");
    assert!(outcome.claims.iter().any(|claim| claim.verdict == Verdict::Holds), "{name} claims nothing");
    outcome
}

#[test]
fn names_are_unique_and_files_are_entries() {
    let mut names: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/experiments");
    assert!(names.iter().all(|name| folder.join(format!("{name}.rs")).exists() || folder.join(name).is_dir()), "{names:?}");
    assert!(find("mismatsh").map(drop).unwrap_err().to_string().contains("did you mean 'mismatch'?"));
}

#[test]
fn copies_move_jpv_only() {
    must_hold("scaling");
}

#[test]
fn correlated_missing_labels_have_no_unbiased_loss() {
    must_hold("counterexample");
}

#[test]
fn generated_data_keep_the_papers_labels_a_row() {
    must_hold("statistics");
}

#[test]
fn imbalance_has_the_papers_lines_beside_ours() {
    let outcome = run("imbalance");
    assert_eq!(outcome.tables[0].rows().len(), 10);
    assert!(outcome.notes.iter().any(|note| note.starts_with("Not run: our side of 8")));
}

#[test]
fn compatible_estimates_agree_with_the_truth_and_others_do_not() {
    let outcome = must_hold("mismatch");
    assert_eq!(outcome.tables[0].rows().len(), 8);
}

#[test]
fn normalising_hides_what_is_impossible() {
    must_hold("implausible");
}

#[test]
fn experiments_without_their_data_say_so() {
    for name in ["timelapse", "hierarchy"] {
        let outcome = run(name);
        assert!(outcome.tables.is_empty() && outcome.notes.iter().any(|note| note.starts_with("Not run: ")), "{name}");
    }
}

#[test]
fn joint_learning_and_tails_have_a_line_for_each_model() {
    assert_eq!(run("joint").tables[0].rows().len(), 8);
    assert_eq!(run("tails").tables[0].rows().len(), 4);
}

#[test]
fn controlled_rows_tell_propensities() {
    let outcome = must_hold("controlled");
    assert_eq!(outcome.tables[0].rows().len(), 9);
}

#[test]
fn the_page_and_files_have_everything() {
    let folder = tempfile::tempdir().unwrap();
    let finished: Vec<_> = ["scaling", "counterexample"].map(|name| (find(name).unwrap(), run(name))).into();
    page::write(&finished, folder.path(), "unmissed reproduce scaling").unwrap();
    let text = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(text.contains("id=\"scaling\"") && text.contains("data:image/svg+xml;base64,") && !text.contains("https://"));
    for file in ["scaling.csv", "scaling.json", "scaling.svg", "scaling.png", "scaling_claims.csv", "counterexample_losses.csv"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}
