//! Propensities on the command line: models, fits, estimates, masks.

use crate::workdir::Workdir;

/// Values from the formulas by hand: n = 50, label counts 1 and 25.
#[test]
fn models_show_the_values_of_their_formulas() {
    let dir = Workdir::new();
    let rows: String = (0..50)
        .map(|row| {
            if row == 0 {
                "0,1\n"
            } else if row < 25 {
                "1\n"
            } else {
                "\n"
            }
        })
        .collect();
    dir.write("d.txt", format!("50 0 2\n{rows}").as_bytes());
    let json = dir.json("propensity show jpv power power:gamma=0.5 --train d.txt");
    let value = |model: usize, label: usize| json[model]["propensities"]["values"][label].as_f64().unwrap();
    let expected = [0.25562221863533147, 0.5571545100089221, 1.0 / 25.0, 1.0, 0.2, 1.0];
    for (place, expected) in expected.into_iter().enumerate() {
        let found = value(place / 2, place % 2);
        assert!((found / expected - 1.0).abs() < 1e-12, "{place}: {found}");
    }
    assert_eq!(json[0]["model"], "jpv:a=0.55,b=1.5");
}

#[test]
fn csv_has_one_line_a_label_and_a_model_column_for_several() {
    let dir = Workdir::with_data();
    let one = dir.run("propensity show power --train train.txt --format csv").ok();
    assert!(one.starts_with("label,propensity,low,high,source\n0,"), "{one}");
    assert_eq!(one.lines().count(), 13);
    dir.run("propensity show jpv power --train train.txt -o p.csv").ok();
    let several = dir.read("p.csv");
    assert!(several.starts_with("model,label,propensity,low,high,source\n\"jpv:a=0.55,b=1.5\",0,"), "{several}");
    assert_eq!(several.lines().count(), 25);
}

#[test]
fn masking_is_repeatable_and_writes_the_propensities_that_it_used() {
    let dir = Workdir::with_data();
    for (name, threads) in [("a.txt", 1), ("b.txt", 2)] {
        dir.run(&format!("mask train_late.txt --propensity power --seed 5 -o {name} --threads {threads}")).ok();
    }
    assert_eq!(dir.read("a.txt"), dir.read("b.txt"));
    dir.run("mask train_late.txt --propensity power --seed 6 -o c.txt").ok();
    assert_ne!(dir.read("a.txt"), dir.read("c.txt"));
    // The table is that of the clean counts.
    let shown = dir.run("propensity show power --train train_late.txt --format csv").ok();
    assert_eq!(dir.read("a.txt.propensities.csv"), shown);
    // A table that is given is used as it is.
    dir.run("mask test.txt --propensity table:a.txt.propensities.csv -o t.txt").ok();
    let column = |name: &str| -> Vec<String> { dir.read(name).lines().map(|l| l.split(',').nth(1).unwrap().to_owned()).collect() };
    assert_eq!(column("t.txt.propensities.csv"), column("a.txt.propensities.csv"));
}

/// The propensities that `mask` wrote come back from the two snapshots within their noise.
#[test]
fn options_that_a_mask_would_ignore_are_refused() {
    let dir = Workdir::with_data();
    let before = dir.files();
    let mask = "mask test.txt --propensity power:gamma=0.5 -o out.txt --by";
    for (options, expected) in [
        ("row --predictions p.txt", "--predictions would be ignored: expected --by rank, found --by row"),
        ("group --predictions p.txt", "--predictions would be ignored: expected --by rank, found --by group"),
        ("row --groups 5", "--groups would be ignored: expected --by group, found --by row"),
        ("rank --predictions p.txt --groups 5", "--groups would be ignored: expected --by group, found --by rank"),
    ] {
        assert_eq!(dir.run(&format!("{mask} {options}")).refused(), expected);
    }
    assert_eq!(dir.files(), before);
    dir.run(&format!("{mask} rank --predictions p.txt")).ok();
    dir.run(&format!("{mask} group --groups 5")).ok();
}

#[test]
fn estimates_find_what_masking_did() {
    let dir = Workdir::new();
    dir.run("generate balls -o . --labels 20 --dim 2 --radius 0.2,0.8 --train-rows 20000 --test-rows 1 --seed 2").ok();
    dir.run("mask train.txt --propensity power:gamma=0.7 -o early.txt").ok();
    dir.run("propensity estimate timelapse --earlier early.txt --later train.txt -o found.csv").ok();
    let values = |name: &str| -> Vec<f64> {
        dir.read(name).lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
    };
    for (label, (found, truth)) in values("found.csv").into_iter().zip(values("early.txt.propensities.csv")).enumerate() {
        assert!((found - truth).abs() < 0.1, "label {label}: {found} against {truth}");
    }
    let fits = dir.json("propensity fit power:relative --train early.txt --propensities found.csv");
    assert!(fits["models"][1]["mse"].as_f64().unwrap() <= fits["models"][0]["mse"].as_f64().unwrap());
}

#[test]
fn estimates_say_what_they_are_worth() {
    let dir = Workdir::with_data();
    let text = dir.run("propensity estimate timelapse --earlier train.txt --later train_late.txt").ok();
    assert!(text.contains("an upper bound"), "{text}");
    let text = dir.run("propensity estimate relation --train train.txt --bought bought.tsv --viewed viewed.tsv").ok();
    assert!(text.contains("neither an upper nor a lower bound"), "{text}");
    let direct = dir.json("propensity estimate direct --train train.txt --controlled controlled.txt --rate 4/12");
    assert_eq!(direct["labels"].as_array().unwrap().len(), 12);
    let shrunken =
        dir.run("propensity estimate shrunken --train train.txt --controlled controlled.txt --rate 4/12 --format csv").ok();
    assert_eq!(shrunken.lines().count(), 13);
}

#[test]
fn imputing_adds_ancestors() {
    let dir = Workdir::new();
    dir.write("d.txt", b"2 0 4\n3\n0,1\n");
    dir.write("h.tsv", b"3\t2\n2\t0\n");
    dir.run("impute d.txt --hierarchy h.tsv -o out.txt").ok();
    assert_eq!(dir.read("out.txt"), "2 0 4\n0,2,3\n0,1\n");
    dir.write("h.tsv", b"3\t2\n2\t0\n0\t3\n");
    let message = dir.run("impute d.txt --hierarchy h.tsv -o no.txt").refused();
    assert!(message.contains("cycle"), "{message}");
    assert!(!dir.path("no.txt").exists());
}

#[test]
fn bad_tables_rates_and_models_are_refused() {
    let dir = Workdir::with_data();
    dir.write("holes.csv", b"label,propensity\n0,\n");
    dir.write("zero.csv", b"label,propensity\n0,0\n");
    dir.write("few.csv", b"label,propensity\n0,0.5\n");
    dir.write("tiny.txt", b"2 0 1\n0\n0\n");
    for (command, part) in [
        ("propensity show table:holes.csv --train train.txt", "holes.csv:2: label 0 has no propensity"),
        ("propensity show table:zero.csv --train train.txt", "zero.csv:2: the propensity of label 0 is out of range"),
        ("propensity show table:few.csv --train train.txt", "few.csv: the number of labels is wrong: expected 12, found 1"),
        ("propensity show table:none.csv --train train.txt", "none.csv: cannot open"),
        ("propensity show jvp --train train.txt", "did you mean 'jpv'?"),
        ("propensity show jpv:c=1 --train train.txt", "unknown option of 'jpv' 'c'"),
        ("propensity show jpv --train tiny.txt", "jpv"),
        ("propensity estimate direct --train train.txt --controlled controlled.txt --rate 0/12", "(0, 1]"),
        ("propensity estimate direct --train train.txt --controlled controlled.txt --rate x", "(0, 1]"),
        ("propensity fit power --train train.txt", "--controlled and --rate, or --propensities"),
        ("propensity show power --train train.txt -o p.txt", ".csv, .svg or .png"),
        ("mask train.txt --propensity power -o train.txt", "the output is also an input"),
        ("stats train.txt --positive 4", "--positive is for ratings"),
        ("propensity estimate timelapse --earlier train.txt --later test.txt", "different shapes"),
        ("mask train.txt --propensity table:few.csv -o out.txt", "number of labels is wrong"),
    ] {
        let message = dir.run(command).refused();
        assert!(message.contains(part), "{command}: {message}");
    }
    assert!(!dir.path("out.txt").exists() && !dir.path("out.txt.propensities.csv").exists());
}

/// The mask's own propensities predict what a controlled set shows; a model that says that nothing is missing does not.
#[test]
fn a_controlled_set_contradicts_wrong_models() {
    let dir = Workdir::new();
    dir.run("generate survey -o . --users 3000 --test-users 1 --controlled-users 2000 --items 50 --shown 10 --seed 3").ok();
    let common = "--train train.txt --controlled controlled.txt --rate 10/50";
    let text = dir.run(&format!("propensity show table:propensities.csv constant {common}")).ok();
    let table: Vec<&str> = text.split("Against the controlled set").nth(1).unwrap().lines().skip(3).take(2).collect();
    let ratio = |line: &str| line.split_whitespace().nth(3).unwrap().parse::<f64>().unwrap();
    assert!((ratio(table[0]) - 1.0).abs() < 0.1, "{text}");
    assert!(ratio(table[1]) > 1.3, "{text}");
}
