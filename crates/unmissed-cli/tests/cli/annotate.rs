//! `unmissed annotate`, and what becomes of judged pairs.

use crate::workdir::Workdir;

const TEST: &str = "--test observed.txt --predictions A=p.txt --predictions B=q.txt";

/// Test labels of which some are observed only, so that there is something to judge.
fn world() -> Workdir {
    let dir = Workdir::with_data();
    dir.run("mask test.txt --propensity power:gamma=0.7 -o observed.txt").ok();
    dir
}

/// Fills the column `relevant` of a csv from complete labels.
fn judge(dir: &Workdir, pairs: &str, out: &str) {
    let complete = dir.read("test.txt");
    let labels: Vec<Vec<&str>> =
        complete.lines().skip(1).map(|line| line.split(' ').next().unwrap_or("").split(',').collect()).collect();
    let text = dir.read(pairs);
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let mut judged = format!("{}\n", header.join(","));
    for line in lines {
        let mut cells: Vec<&str> = line.split(',').collect();
        let is_relevant = labels[cells[at("row")].parse::<usize>().unwrap()].contains(&cells[at("label")]);
        cells[at("relevant")] = if is_relevant { "1" } else { "0" };
        judged.push_str(&format!("{}\n", cells.join(",")));
    }
    dir.write(out, judged.as_bytes());
}

#[test]
fn pairs_are_drawn_judged_and_evaluated() {
    let dir = world();
    let printed = dir.run(&format!("annotate plan {TEST} --train train.txt --budget 80 --wanted 0.05 --machine -o plan")).ok();
    assert!(printed.contains("Unobserved pairs of the top lists") && printed.contains("pairs for +- 5.00"), "{printed}");
    for file in ["plan/pairs.csv", "plan/judge.html", "plan/plan.json.zst", "plan/machine.csv"] {
        assert!(dir.path(file).exists(), "{file}");
    }
    assert!(dir.read("plan/pairs.csv").starts_with("round,row,label,probability,stratum,relevant\n1,"));
    // Nothing is written over what may be judged.
    let refused = dir.run(&format!("annotate plan {TEST} --budget 80 -o plan")).refused();
    assert!(refused.starts_with("plan/pairs.csv: already exists, and may hold judgements"), "{refused}");
    let error = dir.run(&format!("evaluate {TEST} --judged plan/pairs.csv")).refused();
    assert!(error.starts_with("plan/pairs.csv: no pair is judged"), "{error}");

    judge(&dir, "plan/pairs.csv", "plan/judged.csv");
    judge(&dir, "plan/machine.csv", "machine.csv");
    let json = dir.run(&format!("evaluate {TEST} --judged plan/judged.csv --metrics precision --interval mask --format json")).ok();
    let result: serde_json::Value = serde_json::from_str(&json).unwrap();
    let complete =
        dir.run("evaluate --test test.txt --predictions A=p.txt --predictions B=q.txt --metrics precision --format json").ok();
    let complete: serde_json::Value = serde_json::from_str(&complete).unwrap();
    let rows = |result: &serde_json::Value, estimator: &str| -> Vec<serde_json::Value> {
        result["rows"].as_array().unwrap().iter().filter(|row| row["estimator"] == estimator).cloned().collect()
    };
    let (judged, truth) = (rows(&result, "judged"), rows(&complete, "observed"));
    assert_eq!((judged.len(), truth.len()), (6, 6));
    for (row, truth) in judged.iter().zip(&truth) {
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let value = number(&truth["value"]);
        assert!(number(&row["low"]) - 0.1 < value && value < number(&row["high"]) + 0.1, "{row} {truth}");
    }
    assert!(result["comparisons"].as_array().unwrap().iter().any(|c| c["estimator"] == "judged"));
    let with_machine = dir
        .run(&format!("evaluate {TEST} --judged plan/judged.csv --machine-judged machine.csv --metrics precision --format json"))
        .ok();
    assert!(with_machine.contains("it is right about 100 % of the relevant"), "{with_machine}");
    let audit = dir.run(&format!("audit {TEST} --train train.txt --judged plan/judged.csv --format csv")).ok();
    assert!(audit.contains(",judged,"), "{audit}");
    // Nothing is assumed where judged pairs say it: how much is missing, and which rows are worth a look.
    let audit = dir.json(&format!("audit {TEST} --train train.txt --judged plan/judged.csv"));
    let missing = audit["verdict"]["missing"]["sentence"].as_str().unwrap();
    assert!(missing.contains("of the relevant labels in the judged lists are missing (measured: judged pairs)"), "{missing}");
    let errors = audit["rows_to_check"]["errors"].as_array().unwrap();
    assert!(!errors.is_empty() && errors.iter().all(|row| row["missing_from"] == "judged"), "{errors:?}");
}

#[test]
fn rounds_and_judges_have_files_of_their_own() {
    let dir = world();
    dir.run(&format!("annotate plan {TEST} --budget 40 -o one")).ok();
    judge(&dir, "one/pairs.csv", "one/judged.csv");
    let printed = dir.run(&format!("annotate plan {TEST} --budget 30 --earlier one/judged.csv -o two")).ok();
    assert!(printed.contains("30 pairs to judge in round 2"), "{printed}");
    judge(&dir, "two/pairs.csv", "two/judged.csv");
    let both = format!("evaluate {TEST} --metrics precision --judged one/judged.csv --judged two/judged.csv");
    assert!(dir.run(&both).ok().contains("judged: 70 pairs"));
    let late = dir.run(&format!("evaluate {TEST} --metrics precision --judged two/judged.csv")).refused();
    assert!(late.starts_with("round 1 is not judged, but a later one is"), "{late}");
    // A second judge who contradicts the first.
    let second = dir.read("one/judged.csv").replacen(",1\n", ",0\n", 1);
    dir.write("one/second.csv", second.as_bytes());
    let contradiction = dir.run(&format!("evaluate {TEST} --judged one/judged.csv --judged one/second.csv")).refused();
    assert!(contradiction.contains("1 pairs were judged differently by different judges"), "{contradiction}");
    let tally = dir.run(&format!("evaluate {TEST} --judged one/judged.csv --tally t.tally"));
    assert_eq!(tally.code, Some(2));
}

#[test]
fn bad_requests_are_refused() {
    let dir = world();
    for (options, expected) in [
        ("--budget 1", "the budget is too small: expected at least 2 pairs, found 1"),
        ("--assumed 2", "the assumed share of relevant pairs is out of range: expected a number between 0 and 1, found 2"),
        ("--wanted 0", "the wanted half width of an interval is out of range"),
        ("--earlier none/judged.csv", "none/plan.json.zst: cannot open"),
    ] {
        let refused = dir.run(&format!("annotate plan {TEST} {options} -o plan")).refused();
        assert!(refused.contains(expected), "{refused}");
        assert!(!dir.path("plan").exists());
    }
}
