//! Propensities that depend on the row, as users meet them.

use crate::workdir::Workdir;

/// The usual data, and predictions for the training rows that rank labels as they come.
fn with_predictions() -> Workdir {
    let dir = Workdir::with_data();
    let rows = dir.read("train.txt").lines().count() - 1;
    let row = |row: usize| (0..4).map(|i| format!("{}:{}", (row + 5 * i) % 12, 9 - i)).collect::<Vec<_>>().join(" ") + "\n";
    dir.write("oof.txt", format!("{rows} 12\n{}", (0..rows).map(row).collect::<String>()).as_bytes());
    dir
}

/// A csv of numbers for as many rows as a file has.
fn column(dir: &Workdir, of: &str, header: &str, value: impl Fn(usize) -> String) -> String {
    let rows = dir.read(of).lines().count() - 1;
    format!("{header}\n{}", (0..rows).map(|row| format!("{row},{}\n", value(row))).collect::<String>())
}

/// The labels of a row of a data set.
fn labels(dir: &Workdir, of: &str, row: usize) -> Vec<usize> {
    let text = dir.read(of);
    text.lines().nth(row + 1).unwrap().split(' ').next().unwrap().split(',').filter_map(|label| label.parse().ok()).collect()
}

const FIT: &str = "propensity fit rows --train train.txt --later train_late.txt --train-predictions p=oof.txt --refits 20";

#[test]
fn propensities_that_depend_on_the_row_are_fitted_and_used() {
    let dir = with_predictions();
    let fit = "propensity fit rows --train train.txt --later train_late.txt --train-predictions p=oof.txt --refits 20 -o rows.json";
    let json = dir.json(fit);
    assert_eq!(json["covariates"].as_array().unwrap().len(), 4);
    assert_eq!(json["calibration"]["bins"].as_array().unwrap().len(), 10);
    let json = dir.json("evaluate --test test.txt --predictions p.txt --propensity rows:rows.json --metrics precision --k 1");
    let of = |estimator: &str| {
        let is_it = |row: &&serde_json::Value| row["propensity"] == "rows:rows.json" && row["estimator"] == estimator;
        json["rows"].as_array().unwrap().iter().find(is_it).unwrap().clone()
    };
    let (by_row, ratio) = (of("unbiased"), of("ratio"));
    let observed = json["rows"][0]["value"].as_f64().unwrap();
    for row in [by_row, ratio] {
        let value = row["value"].as_f64().unwrap();
        assert!(value > observed && row["low"].as_f64().unwrap() < value && value < row["high"].as_f64().unwrap(), "{row}");
    }
    let refused = dir.run("evaluate --test test.txt --predictions p.txt --propensity rows:rows.json --metrics recall").refused();
    assert!(refused.contains("no estimate under row-dependent propensities"), "{refused}");
    let refused = dir.run("propensity fit rows --train train.txt").refused();
    assert!(refused.contains("nothing identifies") && refused.contains("--later"), "{refused}");
    let refused = dir.run("propensity fit rows --train train.txt --later train_late.txt --covariates observed-labels").refused();
    assert!(refused.contains("cannot be a covariate"), "{refused}");
    let refused = dir.run("propensity fit power --train train.txt --later train_late.txt").refused();
    assert!(refused.contains("row-dependent propensities"), "{refused}");
}

#[test]
fn given_covariates_are_needed_again_by_name() {
    let dir = with_predictions();
    dir.write(
        "labels.csv",
        ("label,depth\n".to_owned() + &(0..12).map(|l| format!("{l},{}\n", l % 5)).collect::<String>()).as_bytes(),
    );
    dir.write("rows.csv", column(&dir, "train.txt", "row,age", |row| (row % 7).to_string()).as_bytes());
    dir.write("test_rows.csv", column(&dir, "test.txt", "row,age", |row| (row % 7).to_string()).as_bytes());
    let given = "--label-covariates labels.csv --row-covariates rows.csv --pair-covariate similar=oof.txt";
    let json = dir.json(&format!("{FIT} {given} -o rows.json"));
    let names: Vec<&str> = json["coefficients"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(["depth", "age", "similar"].iter().all(|name| names.contains(name)), "{names:?}");
    assert_eq!(json["converged"], true);

    let evaluate = "evaluate --test test.txt --predictions p.txt --propensity rows:rows.json --metrics precision --k 1";
    let refused = dir.run(evaluate).refused();
    assert!(refused.contains("needs the covariate 'age' of the test rows") && refused.contains("--row-covariates"), "{refused}");
    let refused = dir.run(&format!("{evaluate} --row-covariates test_rows.csv")).refused();
    assert!(refused.contains("needs the covariate 'similar'") && refused.contains("--pair-covariate"), "{refused}");
    let refused = dir.run(&format!("{evaluate} --row-covariates rows.csv --pair-covariate similar=p.txt")).refused();
    assert!(refused.contains("rows.csv") && refused.contains("a whole number below 100"), "{refused}");
    let json = dir.json(&format!("{evaluate} --row-covariates test_rows.csv --pair-covariate similar=p.txt"));
    assert!(json["rows"].as_array().unwrap().iter().any(|row| row["propensity"] == "rows:rows.json"));
}

#[test]
fn covariates_that_contain_the_answer_are_refused() {
    let dir = with_predictions();
    let count = |row: usize| labels(&dir, "train.txt", row).len().to_string();
    dir.write("counts.csv", column(&dir, "train.txt", "row,count", count).as_bytes());
    let refused = dir.run(&format!("{FIT} --row-covariates counts.csv")).refused();
    assert!(refused.contains("'count' reveals the outcome") && refused.contains("other-labels"), "{refused}");
    let rows = dir.read("train.txt").lines().count() - 1;
    let observed =
        |row: usize| labels(&dir, "train.txt", row).iter().map(|l| format!("{l}:1")).collect::<Vec<_>>().join(" ") + "\n";
    dir.write("observed.txt", format!("{rows} 12\n{}", (0..rows).map(observed).collect::<String>()).as_bytes());
    let refused = dir.run(&format!("{FIT} --pair-covariate seen=observed.txt")).refused();
    assert!(refused.contains("'seen' reveals the outcome"), "{refused}");
}

#[test]
fn groups_have_values_and_what_is_not_there_is_said() {
    let dir = with_predictions();
    dir.run(&format!("{FIT} -o rows.json")).ok();
    let json = dir.json(
        "evaluate --test test.txt --train train.txt --predictions p=p.txt --predictions q=q.txt --propensity rows:rows.json --groups \
         --metrics precision --k 3",
    );
    let rows = json["rows"].as_array().unwrap();
    let value = |group: &str| {
        let row = rows.iter().find(|row| row["propensity"] == "rows:rows.json" && row["group"] == group).unwrap();
        row["value"].as_f64().unwrap()
    };
    let sum: f64 = ["head", "torso", "tail"].map(value).iter().sum();
    assert!((sum - value("all")).abs() < 1e-12, "{sum} {}", value("all"));
    let notes = json["notes"].to_string();
    assert!(notes.contains("differences between models are not computed") && notes.contains("no values by group"), "{notes}");
}

/// Shards of an evaluation with everything that depends on rows, merged, are one run.
#[test]
fn row_dependent_estimates_have_tallies() {
    let dir = with_predictions();
    dir.run(&format!("{FIT} -o rows.json")).ok();
    dir.write(
        "known.csv",
        format!("row,probability\n{}", (0..50).map(|row| format!("{},0.5\n", 2 * row)).collect::<String>()).as_bytes(),
    );
    let common = "evaluate --test test.txt --predictions p=p.txt --predictions q=q.txt --propensity rows:rows.json --test-later test.txt \
                  --test-later-rows known.csv";
    let whole = dir.run(&format!("{common} --format json")).ok();
    for shard in 1..=3 {
        dir.run(&format!("{common} --shard {shard}/3 --tally {shard}.tally.zst")).ok();
    }
    assert_eq!(dir.run("merge 2.tally.zst 1.tally.zst 3.tally.zst --format json").ok(), whole);
    assert!(whole.contains("\"doubly-robust\"") && whole.contains("\"ratio\"") && whole.contains("rows:rows.json"));
    let refused = dir.run("evaluate --test test.txt --predictions p.txt --propensity rows:rows.json --compat napkinxc").refused();
    assert!(refused.contains("depends on the row"), "{refused}");
}

#[test]
fn audits_estimate_by_row_when_they_can() {
    let dir = with_predictions();
    let audit = "audit --train train.txt --test test.txt --predictions p=p.txt --train-predictions p=oof.txt";
    let refused = dir.run(audit).refused();
    assert!(refused.contains("nothing identifies") && refused.contains("later snapshot"), "{refused}");
    let refused = dir.run(&audit.replace("p=oof", "other=oof")).refused();
    assert!(refused.contains("'other'"), "{refused}");
    let refused = dir.run(&format!("{} --later train_late.txt", audit.replace("p=oof", "p=p"))).refused();
    assert!(refused.contains("rows"), "{refused}");
    let json = dir.json(&format!("{audit} --later train_late.txt -o page.html"));
    assert_eq!(json["by_row"][0]["model"], "p");
    let names: Vec<&str> =
        json["verdict"]["standings"].as_array().unwrap().iter().map(|standing| standing["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"by row") && names.contains(&"ratio of later and observed"), "{names:?}");
    assert!(names.contains(&"timelapse, shrunken") || names.iter().any(|name| name.starts_with("timelapse")), "{names:?}");
    assert!(json["verdict"]["sentences"].to_string().contains("'missed labels (omega)' is reported"), "{}", json["verdict"]);
    let headlines = json["verdict"]["standings"].as_array().unwrap().iter().filter(|standing| standing["is_headline"] == true);
    assert_eq!(headlines.map(|standing| standing["estimator"].as_str().unwrap()).collect::<Vec<_>>(), ["omega"]);
    assert!(dir.read("page.html").contains("Reliability of row-dependent propensities"));
}

#[test]
fn doubly_robust_estimates_say_what_they_assume() {
    let dir = with_predictions();
    dir.run("mask test.txt --propensity constant:p=0.7 -o early.txt").ok();
    dir.write(
        "known.csv",
        format!("row,probability\n{}", (0..50).map(|row| format!("{},0.5\n", 2 * row)).collect::<String>()).as_bytes(),
    );
    let evaluate = "evaluate --test early.txt --predictions p.txt --metrics precision --k 1";
    let json = dir.json(&format!("{evaluate} --test-later test.txt --test-later-rows known.csv"));
    let robust = |json: &serde_json::Value| {
        json["rows"].as_array().unwrap().iter().find(|row| row["estimator"] == "doubly-robust").unwrap().clone()
    };
    let of_later = robust(&json);
    assert!(of_later["assumption"].as_str().unwrap().contains("right if either"), "{of_later}");
    assert!(of_later["value"].as_f64() > json["rows"][0]["value"].as_f64(), "{of_later}");
    assert!(of_later["propensity"].is_null(), "{of_later}");
    assert!(json["notes"].to_string().contains("later labels are the truth"), "{}", json["notes"]);
    let refused = dir.run(&format!("{evaluate} --test-later test.txt --test-later-rows hierarchy.tsv")).refused();
    assert!(refused.contains("no column 'row'"), "{refused}");

    // Four of twelve labels were shown to each row.
    let shown = |row: usize| {
        (0..12).filter(|label| (row + label).is_multiple_of(3)).map(|l| format!("{l}:1")).collect::<Vec<_>>().join(" ") + "\n"
    };
    dir.write("shown.txt", format!("100 12\n{}", (0..100).map(shown).collect::<String>()).as_bytes());
    let json =
        dir.json("evaluate --test controlled.txt --shown shown.txt --rate 4/12 --predictions p.txt --metrics precision --k 1");
    let of_shown = robust(&json);
    assert!(of_shown["assumption"].as_str().unwrap().contains("unbiased for any guesses"), "{of_shown}");
    assert!(of_shown["se"].as_f64() > Some(0.0) && of_shown["propensity"] == "rate:4/12", "{of_shown}");
}

/// With a later snapshot of the training rows and out-of-fold predictions no fit is needed beforehand; without predictions the output says
/// what is lost, and what to run.
#[test]
fn evaluations_take_a_later_snapshot_of_the_training_rows() {
    let dir = with_predictions();
    let evaluate =
        "evaluate --test test.txt --predictions p=p.txt --train train.txt --later train_late.txt --metrics precision --k 1,3";
    let json = dir.json(&format!("{evaluate} --train-predictions p=oof.txt"));
    let rows = json["rows"].as_array().unwrap();
    let of = |estimator: &str| rows.iter().filter(|row| row["estimator"] == estimator).collect::<Vec<_>>();
    assert_eq!((of("omega").len(), of("ratio").len(), of("unbiased").len()), (2, 2, 2));
    assert!(of("omega").iter().all(|row| row["expected_error"].as_f64().unwrap() > 0.0 && row["propensity"].is_null()));
    assert!(of("observed").iter().all(|row| row["expected_error"].is_null()));
    let text = dir.run(&format!("{evaluate} --train-predictions p=oof.txt")).ok();
    assert!(text.contains("expected error"), "{text}");

    let only_omega = dir.json(&format!("{evaluate} --train-predictions p=oof.txt --estimators omega"));
    assert_eq!(only_omega["rows"].as_array().unwrap().len(), 2);

    let json = dir.json(evaluate);
    let findings = json["findings"].to_string();
    assert!(findings.contains("U014") && findings.contains("unmissed crossfit") && findings.contains("too high"), "{findings}");
    let propensity = |row: &serde_json::Value| row["propensity"].as_str().is_some_and(|name| name.starts_with("timelapse"));
    assert!(json["rows"].as_array().unwrap().iter().any(propensity), "{json}");

    let refused = dir.run(&format!("{evaluate} --train-predictions other=oof.txt")).refused();
    assert!(refused.contains("'other'") && refused.contains("use the same name"), "{refused}");
    let refused = dir.run(&format!("{evaluate} --train-predictions p=p.txt")).refused();
    assert!(refused.contains("p.txt") && refused.contains("do not fit the labels: expected 300 rows, found 100"), "{refused}");
}
