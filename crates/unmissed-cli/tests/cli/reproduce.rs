//! `reproduce`: the folder that it leaves, how it resumes after an interruption, and what it refuses.

use crate::workdir::Workdir;

/// A folder `snapshots` with an earlier and a later state of the same rows: labels missing from the earlier one.
fn snapshots() -> Workdir {
    let dir = Workdir::with_data();
    std::fs::create_dir(dir.path("snapshots")).unwrap();
    dir.run("mask test.txt --propensity table:known.csv --seed 2 -o test_masked.txt").ok();
    for (from, to) in [
        ("train.txt", "train_early.txt"),
        ("train_late.txt", "train_late.txt"),
        ("test_masked.txt", "test_early.txt"),
        ("test.txt", "test_late.txt"),
    ] {
        std::fs::copy(dir.path(from), dir.path("snapshots").join(to)).unwrap();
    }
    dir
}

#[test]
fn the_folder_has_a_page_tables_and_figures() {
    let dir = Workdir::new();
    let shown = dir.run("reproduce counterexample scaling --quick -o out").ok();
    assert!(shown.contains("jpv moves towards 1 when data are copied") && shown.contains("holds"), "{shown}");
    let expected = [
        "counterexample.csv",
        "counterexample.json",
        "counterexample_claims.csv",
        "counterexample_claims.json",
        "counterexample_losses.csv",
        "counterexample_losses.json",
        "index.html",
        "scaling.csv",
        "scaling.json",
        "scaling.png",
        "scaling.svg",
        "scaling_claims.csv",
        "scaling_claims.json",
    ];
    assert_eq!(dir.files(), expected.map(|name| format!("out/{name}")));
    let page = dir.read("out/index.html");
    // The order is that of the list, whatever was asked for first.
    assert!(page.find("id=\"scaling\"").unwrap() < page.find("id=\"counterexample\"").unwrap());
    assert!(page.contains("unmissed reproduce counterexample scaling --quick -o out"));
    assert!(dir.read("out/scaling.csv").starts_with("model,copies,mean p,"));
}

#[test]
fn finished_parts_are_not_made_again() {
    let dir = snapshots();
    let run = |options: &str| dir.run(&format!("reproduce timelapse --quick --data snapshots -o out {options}"));
    let first = run("").ok();
    let parts = |dir: &Workdir| dir.files().into_iter().filter(|file| file.starts_with("out/parts/")).collect::<Vec<_>>();
    let [part] = parts(&dir).try_into().unwrap();
    assert!(part.starts_with("out/parts/timelapse-on-snapshots-"), "{part}");
    assert_eq!(run("").ok(), first);
    // A part that says otherwise is believed; one that was cut off is made again; another seed has parts of its own.
    let whole = dir.read(&part);
    let mut values: serde_json::Value = serde_json::from_str(&whole).unwrap();
    values[0][1][0] = 0.125.into();
    dir.write(&part, values.to_string().as_bytes());
    run("").ok();
    assert!(dir.read("out/timelapse.csv").contains("snapshots,observed,12.5"), "{}", dir.read("out/timelapse.csv"));
    dir.write(&part, &whole.as_bytes()[..20]);
    assert_eq!(run("").ok(), first);
    assert_eq!(dir.read(&part), whole);
    run("--seed 5").ok();
    assert_eq!(parts(&dir).len(), 2);
}

#[test]
fn what_is_not_there_is_refused_before_anything_runs() {
    let dir = Workdir::new();
    let refused = |arguments: &str| dir.run(&format!("reproduce {arguments} --quick -o out")).refused();
    assert_eq!(refused("mismatsh"), "unknown experiment 'mismatsh'; did you mean 'mismatch'?");
    assert!(refused("all --data nowhere").contains("nowhere: cannot open the folder"), "{}", refused("all --data nowhere"));
    std::fs::create_dir(dir.path("empty")).unwrap();
    let message = refused("all --data empty");
    assert!(message.starts_with("empty: no data set was found: expected a folder with *train.txt and *test.txt"), "{message}");
    let message = refused("all --yahoo-r3 empty");
    assert_eq!(
        message,
        "empty: the folder has no copy of Yahoo R3: expected a file ydata-ymusic-rating-study-v1_0-train.txt; the files keep their \
         original names"
    );
    assert!(dir.run("reproduce --quick").code == Some(2));
}

#[test]
fn the_list_says_what_each_takes() {
    let dir = Workdir::new();
    let list = dir.run("reproduce --list --format csv").ok();
    assert!(list.starts_with("experiment,in the paper,data,time with --quick,time in full\n"), "{list}");
    let names = dir.run("list experiments --format csv").ok();
    assert_eq!(list.lines().count(), names.lines().count());
    assert!(list.lines().skip(1).all(|line| line.ends_with(" s") || line.ends_with("min")), "{list}");
}
