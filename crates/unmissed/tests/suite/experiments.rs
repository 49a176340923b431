//! The paper's experiments at a reduced size: what must come out does.

use unmissed::experiments::{Claim, ClaimVerdict, Context, EXPERIMENTS, Outcome, Size, YahooR3, data_folders, find, page};
use unmissed::progress::Silent;
use unmissed::report::Cell;

fn context(size: Size) -> Context<'static> {
    Context { size, seed: 0, data: Vec::new(), yahoo_r3: None, kept: None, progress: &Silent }
}

fn run(name: &str) -> Outcome {
    find(name).unwrap().run(&context(Size::Tiny)).unwrap()
}

fn must_hold(name: &str) -> Outcome {
    must_hold_in(name, Size::Tiny)
}

fn must_hold_in(name: &str, size: Size) -> Outcome {
    let outcome = find(name).unwrap().run(&context(size)).unwrap();
    let failed: Vec<&Claim> = outcome.failures().collect();
    assert!(failed.is_empty(), "{name}: {failed:#?}");
    assert!(outcome.claims.iter().any(|claim| claim.verdict == ClaimVerdict::Holds), "{name} claims nothing");
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
    assert_eq!(outcome.tables[0].rows().len(), 12, "two sets, two noises, three methods");
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
    let tails = run("tails");
    // Three models by nine choices, and two of them tail-weighted.
    assert_eq!((tails.tables[0].rows().len(), tails.charts.len()), (29, 2));
    assert_eq!(tails.failures().collect::<Vec<_>>(), Vec::<&Claim>::new());
}

#[test]
fn every_estimate_is_tried_with_labels_that_go_missing_in_every_way() {
    let outcome = run("robustness");
    assert_eq!(
        outcome.tables[0].rows().len(),
        5 * 11 + 4 + 1 + 2,
        "five ways with all estimates, and what faulty evidence affects"
    );
    let has_numbers = |row: &[Cell]| !matches!(row[2], Cell::Missing);
    assert!(outcome.tables[0].rows().all(has_numbers), "every line has an error of precision@1");
    // What models rank first is observed more often: one propensity per label says too much, by any count.
    assert!(outcome.claims.iter().any(|claim| claim.what == "precision@1, labels missing by rank: judged pairs is right"));
}

#[test]
fn controlled_rows_tell_propensities() {
    let outcome = run("controlled");
    let rows: Vec<usize> = outcome.tables.iter().map(|table| table.rows().len()).collect();
    assert_eq!(
        rows,
        [20, 20, 18, 5],
        "all methods of two sources, errors of those with propensities, five with few controlled rows"
    );
    let is_asserted = |claim: &&Claim| claim.what.contains("shrunken") && claim.verdict != ClaimVerdict::Reported;
    let shrunken = outcome.claims.iter().filter(is_asserted);
    let verdicts: Vec<ClaimVerdict> = shrunken.map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [ClaimVerdict::Holds; 4], "{:#?}", outcome.claims);
}

/// A small part of the study of training.
#[test]
fn corrections_do_not_lose_to_doing_nothing() {
    let outcome = run("training");
    let must = ["the stack is not below", "nor is it where", "the default correction with the true", "with shrunken"];
    let claims =
        outcome.claims.iter().filter(|claim| must.iter().any(|must| claim.what.starts_with(must)) && claim.what.ends_with("P@1"));
    let verdicts: Vec<ClaimVerdict> = claims.map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [ClaimVerdict::Holds; 8], "against both uncorrected models: {:#?}", outcome.claims);
}

/// With the 60 items of the smallest size, the usual constants of JPV happen to be as good as fitted curves.
#[test]
#[ignore = "half a minute of processor time"]
fn controlled_rows_tell_all_that_they_must() {
    must_hold_in("controlled", Size::Quick);
}

/// Ratings in the format of Yahoo R3 (user, item and rating between tabs, from 1 on): users like what is near them, and popular
/// items are rated more often.
fn made_up_yahoo_r3(folder: &std::path::Path) {
    let likes = |user: u32, item: u32| if (user * 7 + item * 3) % 10 < 5 { 5 } else { 1 };
    let (mut chosen, mut random) = (String::new(), String::new());
    for user in 1..=160u32 {
        for item in 1..=20u32 {
            if (user * 13 + item * 29 + user * item) % 20 > item * 3 / 4 {
                chosen.push_str(&format!("{user}\t{item}\t{}\n", likes(user, item)));
            }
            if user <= 80 && (user + item).is_multiple_of(2) {
                random.push_str(&format!("{user}\t{item}\t{}\n", likes(user, item)));
            }
        }
    }
    std::fs::write(folder.join("ydata-ymusic-rating-study-v1_0-train.txt"), chosen).unwrap();
    std::fs::write(folder.join("ydata-ymusic-rating-study-v1_0-test.txt"), random).unwrap();
}

#[test]
fn yahoo_r3_is_read_from_its_original_files() {
    let folder = tempfile::tempdir().unwrap();
    assert!(YahooR3::at(folder.path()).unwrap_err().to_string().contains("ydata-ymusic-rating-study-v1_0-train.txt"));
    made_up_yahoo_r3(folder.path());
    let context = Context { yahoo_r3: Some(YahooR3::at(folder.path()).unwrap()), ..context(Size::Tiny) };
    let outcome = find("controlled").unwrap().run(&context).unwrap();
    let (actual, clean) = (&outcome.tables[0], &outcome.tables[1]);
    assert_eq!((actual.rows().len(), clean.rows().len()), (20 + 9, 20), "no true propensities and no complete labels");
    assert!(outcome.charts.iter().any(|(name, _)| name == "controlled-Yahoo-R3"));
    assert!(!outcome.notes.iter().any(|note| note.contains("--yahoo-r3")));
}

#[test]
fn coat_is_a_survey() {
    let Some(folder) = crate::common::data("coat") else { return };
    let context = Context { data: data_folders(&[folder]).unwrap(), ..context(Size::Tiny) };
    let outcome = find("controlled").unwrap().run(&context).unwrap();
    assert_eq!(outcome.tables[0].rows().len(), 20 + 9);
}

#[test]
fn the_page_and_files_have_everything() {
    let folder = tempfile::tempdir().unwrap();
    let finished: Vec<_> = ["scaling", "counterexample"].map(|name| (find(name).unwrap(), run(name))).into();
    page::write(&finished, folder.path(), "unmissed reproduce scaling").unwrap();
    let text = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    let chart = text.split_once("id=\"scaling\"").and_then(|(_, section)| section.split_once("<svg"));
    assert!(chart.is_some_and(|(_, svg)| svg.contains("</svg>")), "the chart is part of the page");
    assert!(!text.contains("https://") && !text.contains("src=\"http"), "the page asks for nothing");
    for file in ["scaling.csv", "scaling.json", "scaling.svg", "scaling.png", "scaling_claims.csv", "counterexample_losses.csv"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}
