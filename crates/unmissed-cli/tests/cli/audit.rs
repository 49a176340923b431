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
    assert!((10..=30).contains(&text.lines().count()), "{text}");
    assert!(text.contains("Verdict: ") && text.contains("The page: report.html") && text.contains("precision@1 (%)"), "{text}");
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

#[test]
fn findings_gate_a_pipeline() {
    let dir = Workdir::with_data();
    let failed = dir.run(&format!("{BOTH} --fail-on u002,U003 -o report.html"));
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("failed: findings U002") && failed.stdout.contains("Verdict: "), "{}", failed.stderr);
    assert!(dir.path("report.html").exists());
    assert_eq!(dir.run(&format!("{BOTH} --fail-on U009")).code, Some(0));
    assert!(dir.run(&format!("{BOTH} --fail-on U02")).refused().contains("unknown finding 'U02'"));
    assert!(dir.run("--help").ok().contains("1 a finding that --fail-on names"));
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

#[test]
fn bad_requests_are_explained() {
    let dir = Workdir::with_data();
    dir.write("short.txt", b"2 3 12\n0 1:1\n1 1:1\n");
    for (rest, part) in [
        ("--test test.txt --predictions p.txt -o report.pdf", "report.pdf: cannot write a page in this format"),
        ("--test test.txt --predictions p.txt --truth short.txt", "short.txt: the complete labels are not those of the test rows"),
        ("--test test.txt --predictions p.txt --propensity jpv", "is a function of training counts"),
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
