//! The audit on the command line: verdict, page, figures, gates.

use crate::workdir::Workdir;

const BOTH: &str = "audit --train train.txt --test test.txt --predictions A=p.txt --predictions B=q.txt --bootstrap 20";

#[test]
fn json_has_everything_and_agrees_with_evaluate() {
    let dir = Workdir::with_data();
    let json = dir.json(&format!("{BOTH} --truth test.txt --later train_late.txt --weights inverse --seed 3"));
    for part in
        ["verdict", "findings", "data", "propensities", "evaluation", "truth", "tallies", "flips", "assumptions", "provenance"]
    {
        assert!(!json[part].is_null(), "{part}");
    }
    let rows = json["evaluation"]["rows"].as_array().unwrap();
    let plain = dir.json(
        "evaluate --train train.txt --test test.txt --predictions A=p.txt --predictions B=q.txt --propensity jpv --metrics precision --k 1",
    );
    for row in plain["rows"].as_array().unwrap() {
        let same = |other: &&serde_json::Value| {
            ["metric", "k", "estimator", "propensity", "group", "model"].iter().all(|key| other[key] == row[key])
        };
        let found = rows.iter().find(same).unwrap_or_else(|| panic!("no {row}"));
        assert_eq!((&found["value"], &found["se"]), (&row["value"], &row["se"]));
    }
    assert!(rows.iter().any(|row| row["metric"] == "weighted-precision"));
    let files = json["provenance"]["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    assert!(files.iter().all(|file| file["blake3"].as_str().unwrap().len() == 64));
    assert_eq!(json["provenance"]["request"]["seed"], 3);
    assert!(json["provenance"]["command"].as_str().unwrap().starts_with("unmissed audit --train train.txt"));
    let names: Vec<&str> = json["propensities"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"jpv:a=0.55,b=1.5") && names.contains(&"timelapse-shrunken"), "{names:?}");
}

#[test]
fn the_verdict_is_short_and_the_page_and_figures_are_written() {
    let dir = Workdir::with_data();
    let text = dir.run(&format!("{BOTH} -o report.html")).ok();
    assert!((10..=40).contains(&text.lines().count()), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // The summary is first: what is missing, then the number to report.
    assert!(text.starts_with("These files do not show how many relevant labels are missing"), "{text}");
    assert!(text.contains("Precision@1 of A is at least ") && text.contains("precision@1 (%)"), "{text}");
    let all = dir.run(&format!("{BOTH} --all")).ok();
    assert!(all.lines().count() > text.lines().count() && all.contains("what to do") && !all.contains("--all shows"), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let page = dir.read("report.html");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count());
    assert!(!page.contains("https://"));
    // The same run, the same bytes.
    std::fs::rename(dir.path("report.html"), dir.path("before.html")).unwrap();
    dir.run(&format!("{BOTH} -o report.html")).ok();
    assert_eq!(dir.read("report.html"), dir.read("before.html"));
    dir.run(&format!("{BOTH} --bootstrap 0 --figures figures").replace("--bootstrap 20 ", "")).ok();
    for figure in ["scores", "frequencies", "propensities", "order", "tail"] {
        assert!(dir.read(&format!("figures/{figure}.svg")).starts_with("<svg"), "{figure}");
        assert!(std::fs::read(dir.path(&format!("figures/{figure}.png"))).unwrap().starts_with(b"\x89PNG"), "{figure}");
    }
}

/// Exit code 1 and one line that says which gate; the results are written all the same.
#[test]
fn gates_end_a_pipeline() {
    let dir = Workdir::with_data();
    let failed = dir.run(&format!("{BOTH} --propensity jpv --fail-on u002,U003 -o report.html"));
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.lines().last().unwrap().starts_with("failed: --fail-on u002,U003: finding"), "{}", failed.stderr);
    assert!(failed.stdout.contains("Gate --fail-on u002,U003 failed: finding"), "{}", failed.stdout);
    assert!(dir.read("report.html").contains("--fail-on u002,U003 failed"));
    // What the audit added by itself is not gated.
    assert_eq!(dir.run(&format!("{BOTH} --fail-on U002")).code, Some(0));
    assert_eq!(dir.run(&format!("{BOTH} --fail-on U009")).code, Some(0));
    assert_eq!(dir.run(&format!("{BOTH} --propensity jpv --fail-on warning")).code, Some(1));
    assert!(dir.run(&format!("{BOTH} --fail-on U02")).refused().contains("unknown finding 'U02'"));
    assert_eq!(dir.run(&format!("{BOTH} --fail-below precision@1=0.001")).code, Some(0));
    let low = dir.run(&format!("{BOTH} --fail-below precision@1:observed=0.999 --fail-below precision@3=2"));
    assert_eq!(low.code, Some(1));
    let line = low.stderr.lines().last().unwrap();
    assert!(
        line.starts_with("failed: --fail-below precision@1:observed=0.999: A 0.")
            && line.contains("; --fail-below precision@3=2: "),
        "{line}"
    );
    let json = dir.json(&format!("{BOTH} --fail-below precision@1=0.001 --fail-on error"));
    assert_eq!(json["gates"].as_array().unwrap().len(), 2);
    assert_eq!(json["gates"][1]["failed"], false);
    assert!(dir.run(&format!("{BOTH} --fail-below precision=1")).stderr.contains("METRIC@K"));
    assert!(dir.run("--help").ok().contains("1 a gate of audit"));
}

#[test]
fn an_earlier_audit_is_a_baseline() {
    let dir = Workdir::with_data();
    let common = "audit --train train.txt --test test.txt";
    let first = dir.run(&format!("{common} --predictions A=p.txt --json june.json"));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stderr.contains("wrote june.json") && dir.path("june.json.rows.npz").exists(), "{}", first.stderr);
    let json: serde_json::Value = serde_json::from_str(&dir.read("june.json")).unwrap();
    assert_eq!(json["top_lists"]["models"][0], "A");
    let same = dir.run(&format!("{common} --predictions A=p.txt --baseline june.json --fail-if-worse --all"));
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    assert!(same.stdout.contains("A scores the same on every row as in the earlier audit."), "{}", same.stdout);
    assert!(same.stdout.contains("Gate --fail-if-worse passed"), "{}", same.stdout);
    // A model that is right nowhere is worse.
    let test = dir.read("test.txt");
    let rows = test.lines().count() - 1;
    let wrong = |line: &str| {
        let labels: Vec<u32> = line.split(' ').next().unwrap().split(',').filter_map(|label| label.parse().ok()).collect();
        (0..12).find(|label| !labels.contains(label)).map_or(String::new(), |label| format!("{label}:1"))
    };
    let lines: Vec<String> = test.lines().skip(1).map(wrong).collect();
    dir.write("wrong.txt", format!("{rows} 12\n{}\n", lines.join("\n")).as_bytes());
    let worse = dir.run(&format!("{common} --predictions A=wrong.txt --baseline june.json --fail-if-worse"));
    assert_eq!(worse.code, Some(1), "{}", worse.stdout);
    assert!(worse.stderr.contains("failed: --fail-if-worse: worse than in the earlier audit: A by "), "{}", worse.stderr);
    assert!(dir.run(&format!("{common} --predictions A=p.txt --fail-if-worse")).stderr.contains("--baseline"));
    let refused = dir.run("audit --test controlled.txt --predictions A=p.txt --baseline june.json");
    assert_eq!(refused.code, Some(2));
    assert!(dir.run(&format!("{common} --predictions A=p.txt --json p.txt")).refused().contains("the output is also an input"));
}

#[test]
fn controlled_sets_are_evidence_or_the_test_set() {
    let dir = Workdir::with_data();
    let json = dir.json(&format!("{BOTH} --controlled controlled.txt --rate 4/12"));
    let names: Vec<&str> = json["propensities"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"shrunken") && names.contains(&"power, fitted"), "{names:?}");
    assert!(json["needs"][0]["sentence"].as_str().unwrap().contains("controlled rows"), "{}", json["needs"]);
    let json = dir.json("audit --test controlled.txt --predictions p.txt --rate 4/12 --k 1,3");
    assert_eq!(json["verdict"]["standings"][1]["propensity"], "rate:4/12");
}

/// A row of a controlled set cannot have more positives than were shown.
#[test]
fn a_rate_that_cannot_be_is_an_error() {
    let dir = Workdir::with_data();
    dir.write("c.txt", b"2 3 12\n0,1,2 1:1\n4 1:1\n");
    dir.write("cp.txt", b"2 12\n0:0.9 1:0.8 2:0.7 3:0.6 4:0.5\n4:1\n");
    for rest in ["--rate 2/12", "--rate 2/12 --k 5", "--rate 2/12 --weights w.csv"] {
        let weights: String = (0..12).map(|label| format!("{label},1\n")).collect();
        dir.write("w.csv", format!("label,weight\n{weights}").as_bytes());
        let message = dir.run(&format!("audit --test c.txt --predictions cp.txt {rest}")).refused();
        assert!(message.contains("2") && message.contains("3"), "{rest}: {message}");
    }
}

#[test]
fn bad_requests_are_explained() {
    let dir = Workdir::with_data();
    dir.write("short.txt", b"2 3 12\n0 1:1\n1 1:1\n");
    for (rest, part) in [
        ("--test test.txt --predictions p.txt -o report.pdf", "report.pdf: cannot write a page in this format"),
        ("--test test.txt --predictions p.txt --truth short.txt", "short.txt: the complete labels are not those of the test rows"),
        ("--test test.txt --predictions p.txt --propensity jpv", "depends on training counts"),
        ("--test test.txt --predictions p.txt --predictions p.txt", "two models are called 'p'"),
        ("--test test.txt --predictions p.txt --train train.txt --later short.txt", "the snapshots have different shapes"),
        ("--test test.txt --predictions p.txt --k 0", "k is out of range"),
        ("--test test.txt --predictions none.txt", "none.txt"),
    ] {
        let message = dir.run(&format!("audit {rest}")).refused();
        assert!(message.contains(part), "{rest}: {message}");
    }
    for (rest, part) in [
        ("", "--test"),
        ("--test test.txt --predictions p.txt --later train_late.txt", "--train"),
        ("--demo --test test.txt", "--demo"),
    ] {
        let finished = dir.run(&format!("audit {rest}"));
        assert_eq!(finished.code, Some(2), "{rest}");
        assert!(finished.stderr.contains(part), "{rest}: {}", finished.stderr);
    }
}

/// Files of the repository that say something about the audit.
fn of_repository(name: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

#[test]
fn git_ignores_what_the_demonstration_writes() {
    let help = Workdir::new().run("audit --help").ok();
    let name = help.split(" with --demo]").next().unwrap().split_whitespace().last().unwrap();
    assert!(name.ends_with(".html"), "{name}");
    assert!(of_repository(".gitignore").lines().any(|line| line == format!("/{name}")), "{name}");
}

/// One propensity per label from a later snapshot overestimates precision on real data, and the guide has the numbers.
#[test]
fn the_guide_calls_estimates_from_a_later_snapshot_too_high() {
    let guide = of_repository("docs/guide/choosing-a-propensity-model.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let part = guide.split("Without out-of-fold predictions, `--later` gives one propensity per label.").nth(1).unwrap();
    let part = part.split("The output warns about this (U014)").next().unwrap();
    assert!(part.contains("too *high*") && !part.contains("too low"), "{part}");
    let percent = |before: &str| -> f64 { part.split(before).nth(1).unwrap().trim().split(' ').next().unwrap().parse().unwrap() };
    assert!(percent("was estimated as") > percent("the later labels give"), "{part}");
}
