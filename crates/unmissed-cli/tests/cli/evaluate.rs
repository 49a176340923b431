//! Evaluation on the command line.

use crate::workdir::Workdir;
use serde_json::Value;

/// Two rows by hand: precision@1 is 1/2, and under p = 1/2 for label 0 it is 1.
fn by_hand() -> Workdir {
    let dir = Workdir::new();
    dir.write("test.txt", b"2 0 3\n0,1\n2\n");
    dir.write("p.txt", b"2 3\n0:0.9 1:0.2\n0:0.6 2:0.5\n");
    dir.write("half.csv", b"label,propensity\n0,0.5\n1,1\n2,1\n");
    dir
}

fn row<'a>(json: &'a Value, metric: &str, k: u64, estimator: &str) -> &'a Value {
    let rows = json["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["metric"] == metric && row["k"] == k && row["estimator"] == estimator && row["group"] == "all")
        .unwrap()
}

#[test]
fn json_has_the_documented_shape_and_values() {
    let dir = by_hand();
    let json = dir.json("evaluate --test test.txt --predictions p.txt --propensity table:half.csv --k 1");
    let observed = row(&json, "precision", 1, "observed");
    assert_eq!((observed["value"].as_f64(), &observed["propensity"], observed["n"].as_u64()), (Some(0.5), &Value::Null, Some(2)));
    let unbiased = row(&json, "precision", 1, "unbiased");
    assert_eq!((unbiased["value"].as_f64(), unbiased["propensity"].as_str()), (Some(1.0), Some("table:half.csv")));
    for field in ["metric", "k", "estimator", "propensity", "group", "model", "value", "se", "low", "high", "n", "assumption"] {
        assert!(unbiased.get(field).is_some(), "{field}");
    }
    assert_eq!(unbiased["model"], "p");
    assert!(json["findings"].as_array().is_some());
}

#[test]
fn a_screen_holds_the_summary_and_eighty_columns() {
    let dir = Workdir::with_data();
    let common =
        "evaluate --test test.txt --predictions A=p.txt --predictions B=q.txt --train train.txt --propensity jpv --bootstrap 20";
    let text = dir.run(common).ok();
    assert!(text.starts_with("Observed precision@1: A ") && text.lines().count() <= 40, "{text}");
    assert!(text.lines().last().unwrap().starts_with("… and ") && text.contains("--all shows them"), "{text}");
    let all = dir.run(&format!("{common} --all")).ok();
    assert!(all.contains("precision@5") && all.contains("normalized") && all.contains("what to do"), "{all}");
    for line in text.lines().chain(all.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // No colours in a pipe.
    assert!(!all.contains('\u{1b}'));
}

#[test]
fn shards_merge_to_the_same_bytes() {
    let dir = Workdir::new();
    dir.run("generate balls -o . --labels 12 --dim 3 --radius 0.3,0.7 --train-rows 100 --test-rows 9000 --seed 1").ok();
    let rows = (0..9000).map(|row| format!("{}:2 {}:1\n", row * 7 % 12, (row * 7 + 1) % 12));
    dir.write("p.txt", format!("9000 12\n{}", rows.collect::<String>()).as_bytes());
    let common = "evaluate --test test.txt --predictions p.txt --train train.txt --propensity jpv --bootstrap 10";
    for shard in 1..=3 {
        dir.run(&format!("{common} --shard {shard}/3 --tally {shard}.tally")).ok();
    }
    let whole = dir.run(&format!("{common} --format json --threads 1")).ok();
    assert_eq!(dir.run("merge 3.tally 1.tally 2.tally --format json").ok(), whole);
    assert!(dir.run("merge 1.tally 2.tally").refused().contains("rows"));
    let mut bytes = std::fs::read(dir.path("1.tally")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    dir.write("broken.tally", &bytes);
    assert!(dir.run("merge broken.tally").refused().starts_with("broken.tally"));
    dir.write("short.tally", &bytes[..middle]);
    assert!(dir.run("merge short.tally").refused().starts_with("short.tally"));
}

#[test]
fn models_are_compared_in_pairs() {
    let dir = Workdir::with_data();
    let json = dir.json("evaluate --test test.txt --predictions A=p.txt --predictions B=q.txt --metrics precision --k 1");
    let comparison = &json["comparisons"][0];
    assert_eq!((comparison["a"].as_str(), comparison["b"].as_str()), (Some("A"), Some("B")));
    let value = |model: &str| {
        let rows = json["rows"].as_array().unwrap();
        rows.iter().find(|row| row["model"] == model && row["estimator"] == "observed").unwrap()["value"].as_f64().unwrap()
    };
    assert!((comparison["difference"].as_f64().unwrap() - (value("A") - value("B"))).abs() < 1e-12);
}

#[test]
fn groups_and_weights_come_from_options_and_files() {
    let dir = Workdir::with_data();
    let common = "evaluate --test test.txt --predictions p.txt --train train.txt --metrics precision,weighted-precision --k 1";
    let json = dir.json(&format!("{common} --groups share --weights inverse"));
    let names: Vec<&str> = json["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["all", "head", "torso", "tail"]);
    let lines: String = (0..12).map(|label| format!("{label},{}\n", if label < 6 { "low" } else { "high" })).collect();
    dir.write("groups.csv", format!("label,group\n{lines}").as_bytes());
    let json = dir.json(&format!("{common} --groups groups.csv --weights uniform"));
    let rows: Vec<&Value> = json["rows"].as_array().unwrap().iter().filter(|r| r["metric"] == "precision").collect();
    let of = |group: &str| rows.iter().find(|row| row["group"] == group).unwrap()["value"].as_f64().unwrap();
    assert!((of("low") + of("high") - of("all")).abs() < 1e-12, "groups add up");
    dir.write("w.csv", b"label,weight\n0,1\n1,-1\n");
    assert!(dir.run(&format!("{common} --weights w.csv")).refused().starts_with("w.csv:3: the weight of label 1"));
}

/// Labels 0, 1, 2 have 1, 2, 1 training positives and p = (1/2, 1, 1), so 2, 2, 1 relevant rows: w = 5/3 (1/2, 1/2, 1). The one hit at
/// rank 1 is label 0.
#[test]
fn weights_by_complete_frequencies_take_one_propensity_model() {
    let dir = by_hand();
    dir.write("train.txt", b"3 0 3\n0,1\n1\n2\n");
    let common = "evaluate --test test.txt --predictions p.txt --train train.txt --metrics weighted-precision --k 1 --weights inverse-complete";
    let json = dir.json(&format!("{common} --propensity table:half.csv"));
    let observed = row(&json, "weighted-precision", 1, "observed")["value"].as_f64().unwrap();
    assert!((observed - 5.0 / 12.0).abs() < 1e-12, "{observed}");
    for propensities in ["", "--propensity jpv --propensity table:half.csv"] {
        let message = dir.run(&format!("{common} {propensities}")).refused();
        assert!(message.starts_with("the weights 'inverse-complete' need propensities"), "{message}");
    }
}

#[test]
fn controlled_sets_are_corrected_by_their_rate() {
    let dir = Workdir::with_data();
    let json = dir.json("evaluate --test controlled.txt --predictions p.txt --rate 4/12 --metrics precision,abandonment --k 1");
    let (observed, unbiased) = (row(&json, "precision", 1, "observed"), row(&json, "precision", 1, "unbiased"));
    assert!((unbiased["value"].as_f64().unwrap() - 3.0 * observed["value"].as_f64().unwrap()).abs() < 1e-12);
    let message =
        dir.run("evaluate --test controlled.txt --predictions p.txt --rate 4/12 --metrics recall --estimators unbiased").refused();
    assert!(message.contains("recall"), "{message}");
    let message = dir.run("evaluate --test controlled.txt --predictions p.txt --rate 4/13").refused();
    assert!(message.contains("m = 12"), "{message}");
}

#[test]
fn conventions_and_label_counts_are_options() {
    let dir = by_hand();
    dir.write("counts.csv", b"row,count\n1,2\n0,4\n");
    let common = "evaluate --test test.txt --predictions p.txt --propensity table:half.csv --k 1";
    let json = dir.json(&format!("{common} --label-counts counts.csv --convention coverage-of=present"));
    // One hit with p = 1/2 among 4 relevant labels, none among 2.
    assert_eq!(row(&json, "recall-known", 1, "observed")["value"].as_f64(), Some(0.125));
    assert_eq!(row(&json, "recall-known", 1, "unbiased")["value"].as_f64(), Some(0.25));
    assert_eq!(json["conventions"]["coverage-of"], "present");
    assert!(dir.run(&format!("{common} --convention empty-rows=drop")).refused().contains("expected one of count, skip"));
    for (text, part) in [
        ("row,count\n0,4\n", "counts.csv: row 1 has no count"),
        ("row,count\n0,x\n1,1\n", "counts.csv:2: the count of row 0 is out of range"),
        ("row,count\n0,1\n1,1\n", "counts.csv: the label count of row 0 is too small: expected at least its 2 observed labels"),
        ("row,count\n0,4\n2,1\n", "counts.csv:3: cannot read a row"),
        ("label,count\n0,4\n", "counts.csv:1: no column 'row'"),
    ] {
        dir.write("counts.csv", text.as_bytes());
        let message = dir.run(&format!("{common} --label-counts counts.csv")).refused();
        assert!(message.starts_with(part), "{message}");
    }
    assert!(dir.run("list conventions").ok().contains("empty-rows"));
}

#[test]
fn other_libraries_names_and_numbers() {
    let dir = by_hand();
    let json = dir.json("evaluate --test test.txt --predictions p.txt --compat napkinxc --k 2");
    let values = json[0]["values"].as_array().unwrap();
    let of = |name: &str| values.iter().find(|value| value["name"] == name).unwrap()["values"].clone();
    assert_eq!(of("precision"), serde_json::json!([0.5, 0.75]));
    // Its abandonment is the hit rate.
    assert_eq!(of("abandonment"), serde_json::json!([0.5, 1.0]));
}

#[test]
fn bad_requests_are_located_or_explained() {
    let dir = Workdir::with_data();
    dir.write("short.txt", b"2 12\n0:1\n1:1\n");
    dir.write("wide.txt", dir.read("p.txt").replacen("100 12", "100 13", 1).as_bytes());
    dir.write("beyond.txt", dir.read("p.txt").replacen("\n", "\n12:99 ", 1).as_bytes());
    dir.write("nan.txt", dir.read("p.txt").replacen(":10", ":nan", 1).as_bytes());
    dir.write("none.txt", format!("100 12\n{}", "\n".repeat(100)).as_bytes());
    dir.write("empty.txt", b"");
    for (rest, part) in [
        ("--predictions short.txt", "expected 100 rows, found 2"),
        ("--predictions wide.txt", "expected 12 labels, found 13"),
        ("--predictions beyond.txt", "beyond.txt:2: label id out of range"),
        ("--predictions nan.txt", "nan.txt:2: cannot read the value of a label"),
        ("--predictions none.txt", "there are no predictions of"),
        ("--predictions empty.txt", "empty.txt: the file is empty"),
        ("--predictions train.txt", "train.txt: labels without scores"),
        ("--predictions p.txt --k 0", "k is out of range"),
        ("--predictions p.txt --metrics precison", "did you mean 'precision'?"),
        ("--predictions p.txt --estimators unbaised", "did you mean 'unbiased'?"),
        ("--predictions p.txt --estimators unbiased", "propensit"),
        ("--predictions p.txt --propensity jpv", "--train"),
        ("--predictions p.txt --groups", "--train"),
        ("--predictions p.txt --interval masks", "did you mean 'mask'?"),
        ("--predictions p.txt --level 1", "level"),
        ("--predictions p.txt --clip 0.5 --train train.txt --propensity jpv", "clip"),
        ("--predictions p.txt --predictions p.txt", "two models are called 'p'"),
        ("--predictions =p.txt", "NAME=FILE"),
        ("--predictions p.txt --shard 3/2 --tally t", "shard"),
    ] {
        let finished = dir.run(&format!("evaluate --test test.txt {rest}"));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{rest}: {}", finished.stderr);
        assert!(finished.stderr.contains(part), "{rest}: {}", finished.stderr);
    }
    assert!(!dir.path("t").exists());
}

/// A row with more positives than were shown contradicts the rate; it used to end in a panic.
#[test]
fn more_positives_than_were_shown_are_refused() {
    let dir = Workdir::new();
    dir.write("test.txt", b"2 0 6\n0\n0,1,2\n");
    dir.write("p.txt", b"2 6\n0:9 1:8 2:7 3:6 4:5\n0:9 1:8 2:7 3:6 4:5\n");
    dir.write("train.txt", b"2 0 6\n0,1\n2\n");
    for command in [
        "evaluate --test test.txt --predictions p.txt --rate 2/6 -k 5",
        "audit --train train.txt --test test.txt --predictions p.txt --rate 2/6",
    ] {
        let refused = dir.run(command).refused();
        assert!(
            refused.contains("row 1 of the controlled set contradicts the rate 2/6") && refused.contains("found 3"),
            "{refused}"
        );
    }
}

#[test]
fn estimators_are_listed_by_their_names() {
    let dir = Workdir::new();
    let listed = |registry: &str| -> Vec<String> {
        let csv = dir.run(&format!("list {registry} --format csv")).ok();
        csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect()
    };
    let all = ["observed", "unbiased", "normalized", "clipped", "hajek", "omega", "ratio", "doubly-robust", "judged"];
    assert_eq!(listed("estimators"), all);
    assert!(listed("propensity-estimators").contains(&"timelapse".to_owned()));
}

#[test]
fn ignored_pairs_are_not_predicted() {
    let dir = by_hand();
    dir.write("filter_labels_test.txt", b"1 0\n");
    let json = dir.json("evaluate --test test.txt --predictions p.txt --ignore filter_labels_test.txt --k 1 --metrics precision");
    assert_eq!(row(&json, "precision", 1, "observed")["value"].as_f64(), Some(1.0));
    dir.write("wrong.txt", b"1 0\n1 3\n");
    let message = dir.run("evaluate --test test.txt --predictions p.txt --ignore wrong.txt").refused();
    assert!(
        message.contains("wrong.txt:2: the label of an ignored pair is out of range: expected a label from 0 to 2, found \"3\""),
        "{message}"
    );
    let message = dir.run("audit --test test.txt --predictions p.txt --ignore wrong.txt").refused();
    assert!(message.contains("wrong.txt:2: the label"), "{message}");
    // The labels that a model gives are others than those that were seen.
    let dir = Workdir::with_data();
    dir.run("predict model.safetensors test.txt -k 12 --ignore seen.txt -o unseen.txt").ok();
    for (row, line) in dir.read("unseen.txt").lines().skip(1).enumerate() {
        let labels: Vec<&str> = line.split(' ').filter_map(|entry| entry.split(':').next()).collect();
        assert!(labels.len() == 11 && !labels.contains(&(row * 7 % 12).to_string().as_str()), "{line}");
    }
}
