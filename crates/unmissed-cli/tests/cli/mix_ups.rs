//! Files in the wrong place: what would be lost, guessed or ignored is refused, or at least said.

use crate::workdir::Workdir;

#[test]
fn no_command_writes_over_its_own_input() {
    let dir = Workdir::with_data();
    let before: Vec<String> = ["train.txt", "test.txt", "hierarchy.tsv"].map(|name| dir.read(name)).to_vec();
    for command in [
        "train train.txt -o train.txt",
        "train train.txt -o ./train.txt --epochs 1 --solver adam",
        "train train.txt -o m.safetensors --joint plugin --epochs 1 --propensities-out train.txt",
        "predict model.safetensors test.txt -o test.txt",
        "predict model.safetensors test.txt -o model.safetensors --to scores",
        "predict model.safetensors test.txt --train train.txt -o train.txt",
        "crossfit --train train.txt -o train.txt --folds 2",
        "convert train.txt train.txt --to scores",
        "impute train.txt --hierarchy hierarchy.tsv -o train.txt",
        "impute train.txt --hierarchy hierarchy.tsv -o hierarchy.tsv --to xmc",
        "mask train.txt --propensity power -o train.txt",
    ] {
        let message = dir.run(command).refused();
        assert!(message.contains("the output is also an input"), "{command}: {message}");
    }
    assert_eq!(["train.txt", "test.txt", "hierarchy.tsv"].map(|name| dir.read(name)).to_vec(), before);
}

/// Predictions in the place of labels would give a perfect score without a word.
#[test]
fn scores_that_are_taken_as_labels_are_announced() {
    let dir = Workdir::with_data();
    let note = "p.txt has scores: every nonzero entry is used as a label (--positive sets a threshold)";
    for command in [
        "evaluate --test p.txt --predictions q.txt --metrics precision",
        "evaluate --test test.txt --predictions q.txt --train p.txt --propensity power --metrics precision",
        "audit --test test.txt --predictions q.txt --truth p.txt --bootstrap 0",
        "stats p.txt",
    ] {
        let finished = dir.run(command);
        assert!(finished.stderr.lines().any(|line| line == note), "{command}: {}", finished.stderr);
        finished.ok();
    }
    assert!(!dir.run("stats p.txt --positive 8").stderr.contains("has scores"));
    assert!(!dir.run("evaluate --test test.txt --predictions p.txt --metrics precision").stderr.contains("has scores"));
}

#[test]
fn rows_with_more_positives_than_were_shown_are_no_evidence() {
    let dir = Workdir::with_data();
    let controlled = "--train train.txt --controlled test.txt --rate 1/12";
    for command in [
        format!("propensity estimate direct {controlled}"),
        format!("propensity estimate shrunken {controlled}"),
        format!("propensity fit power {controlled}"),
        format!("propensity show power {controlled}"),
        "audit --test test.txt --predictions p.txt --train train.txt --controlled controlled.txt --rate 1/12".to_owned(),
    ] {
        let message = dir.run(&command).refused();
        assert!(message.contains("of the controlled set contradicts the rate 1/12"), "{command}: {message}");
    }
}

#[test]
fn an_audit_does_not_judge_estimates_by_the_rows_that_they_were_made_from() {
    let dir = Workdir::with_data();
    let audit = "audit --test controlled.txt --predictions p.txt --train train.txt --bootstrap 0 --rate 4/12";
    let message = dir.run(&format!("{audit} --controlled controlled.txt")).refused();
    assert!(message.starts_with("the controlled set is the test set"), "{message}");
    dir.run(&audit.replace("--train train.txt ", "")).ok();
}

#[test]
fn complete_labels_that_lack_observed_ones_are_reported() {
    let dir = Workdir::with_data();
    let audit = "audit --test test.txt --predictions p.txt --bootstrap 0 --truth";
    assert!(dir.run(&format!("{audit} controlled.txt")).ok().contains("The complete labels lack"));
    assert!(!dir.run(&format!("{audit} test.txt")).ok().contains("The complete labels lack"));
}

#[test]
fn weights_that_are_neither_a_scheme_nor_a_file_are_named_so() {
    let dir = Workdir::with_data();
    for data in ["", "--train train.txt"] {
        let message = dir.run(&format!("evaluate --test test.txt --predictions p.txt {data} --weights mine.csv")).refused();
        assert!(message.contains("unknown weights 'mine.csv'") && message.ends_with("there is no file 'mine.csv'"), "{message}");
    }
}

#[test]
fn the_numbers_of_another_library_take_no_options_that_they_would_ignore() {
    let dir = Workdir::with_data();
    for option in ["--metrics precision", "--estimators observed", "--weights uniform"] {
        let finished = dir.run(&format!("evaluate --test test.txt --predictions p.txt --compat pyxclib {option}"));
        assert!(finished.code == Some(2) && finished.stderr.contains("cannot be used with"), "{}", finished.stderr);
    }
    let two = "evaluate --test test.txt --predictions p.txt --train train.txt --compat pyxclib --propensity jpv --propensity power";
    assert_eq!(dir.run(two).refused(), "--compat takes one propensity model: found 2; run it once for each --propensity");
}
