//! `unmissed train`: what it prints, refuses, and keeps when it is killed.

use crate::workdir::Workdir;
use std::time::{Duration, Instant};

#[test]
fn training_says_what_it_did_and_the_model_remembers() {
    let dir = Workdir::with_data();
    let loss = "--loss unbiased-logistic --propensity table:known.csv";
    let found = dir.json(&format!("train train.txt -o m --tune --decay 1e-4,1e-2 {loss} --clip 20"));
    assert_eq!((&found["rows"], &found["labels"]), (&300.into(), &12.into()));
    let settings = &found["settings"];
    assert_eq!(settings["criterion"], "loss");
    assert_eq!(settings["decided_on_rows"], 30);
    let trials = settings["tuning"].as_array().unwrap();
    assert_eq!(trials.len(), 2);
    let chosen: Vec<_> = trials.iter().filter(|trial| trial["chosen"] == true).collect();
    assert_eq!((chosen.len(), &chosen[0]["decay"]), (1, &settings["decay"]));
    let size = &settings["effective_sample_size"];
    assert!(size["effective"].as_f64().unwrap() < size["positives"].as_f64().unwrap());
    assert!(size["largest_weight"].as_f64().unwrap() <= 20.0);
    let shown = dir.json("inspect m");
    assert_eq!(&shown["about"]["settings"]["tuning"], &settings["tuning"]);
    assert!(settings["tuning"][0]["seconds"].is_null() && found["tuning"]["trials"][0]["seconds"].is_number());
    let table = dir.run(&format!("train train.txt -o m --tune --decay 1e-4,1e-2 {loss}")).ok();
    for word in ["effective positives", "held-out loss", "chosen", "unbiased-logistic", "newton"] {
        assert!(table.contains(word), "{table}");
    }
    dir.run("predict m test.txt -o out.txt").ok();
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let dir = Workdir::with_data();
    for options in
        ["", "--tune --decay 1e-4,1e-3", "--solver adam --epochs 3", "--joint plugin --epochs 3 --propensities-out p.csv"]
    {
        let bytes = |threads: u32| {
            dir.run(&format!("train train.txt -o m {options} --threads {threads} --memory 1GB")).ok();
            std::fs::read(dir.path("m")).unwrap()
        };
        assert!(bytes(1) == bytes(4), "{options}");
    }
    assert_eq!(dir.read("p.csv").lines().count(), 13);
}

#[test]
fn what_cannot_be_trained_is_refused_before_anything_is_written() {
    let dir = Workdir::with_data();
    let before = dir.files();
    for (options, message) in [
        ("--loss logistik", "unknown loss 'logistik'; did you mean 'logistic'?"),
        ("--loss unbiased-squared-hinge --solver newton --decay 1", "which has no optimum; use Adam"),
        ("--decay 0", "Newton's method needs an L2 penalty"),
        ("--decay nan", "the decay is out of range"),
        ("--decay 1e-3,1e-4", "there are several values of the decay"),
        ("--learning-rate 0.1", "the learning rate is for Adam"),
        ("--rate 0.1", "the learning rate of Adam is set by --learning-rate"),
        ("--solver adam --tolerance 0.1", "the tolerance is for solvers that reach the optimum"),
        ("--solver adam --learning-rate -1", "the solver's learning rate is out of range: expected a number above 0, found -1"),
        ("--grid paper", "a grid of settings is for tuning"),
        ("--solver adam --epochs 0", "the solver's number of epochs is out of range: expected 1 to 100000, found 0"),
        ("--solver adam --epochs 18446744073709551615", "the solver's number of epochs is out of range"),
        ("--clip 0.5", "the clip is out of range"),
        ("--propensity powr", "unknown propensity model 'powr'; did you mean 'power'?"),
        ("--memory many", "cannot read a size in bytes"),
        ("--tune --grid defalt", "unknown grid 'defalt'; did you mean 'default'?"),
        ("--tune --grid paper --solver newton", "the grid 'paper' is for Adam"),
        ("--tune --criterion precison@1", "unknown metric 'precison'; did you mean 'precision'?"),
        ("--tune --holdout 0", "settings cannot be chosen without held-out rows"),
        ("--tune --holdout 1.5", "the share of rows to hold out is out of range"),
        ("--loss logistic --holdout 0.2", "there is nothing to choose"),
        ("--joint plugin --solver newton", "needs Adam"),
        ("--controlled controlled.txt", "expected --rate as well"),
        ("--controlled controlled.txt --rate 4/13", "expected r/m with m = 12 labels"),
        ("--controlled controlled.txt --rate 4/12 --propensity jpv", "a controlled set and other corrections"),
        ("--controlled controlled.txt --rate 4/12 --later train.txt", "use one of them"),
        ("--later train.txt --joint plugin", "later labels and other corrections"),
        ("--later test.txt", "the later labels are not those of the training rows"),
        ("--later train.txt --later-rows known.csv", "known.csv:1: no column 'row'"),
        ("--tune --validation controlled.txt --validation-rate 5/7", "the rate does not match the labels"),
        ("--prune -1", "out of range"),
    ] {
        let refused = dir.run(&format!("train train.txt -o refused {options}")).refused();
        assert!(refused.contains(message), "{options}: {refused}");
    }
    dir.write("few.csv", b"label,propensity\n0,0.5\n");
    assert!(dir.run("train train.txt -o refused --propensity table:few.csv").refused().contains("few.csv"));
    std::fs::remove_file(dir.path("few.csv")).unwrap();
    let refused = dir.run("train p.txt -o refused -q").refused();
    assert!(refused.contains("no features"), "{refused}");
    assert_eq!(dir.files(), before);
}

/// A folder with the model `whole`, and what a run left behind that was killed once it had `least` files with `part` in their names.
fn killed(arguments: &str, part: &str, least: usize) -> Workdir {
    let dir = Workdir::new();
    dir.run("generate balls -o . --labels 200 --dim 6 --radius 0.3,0.7 --train-rows 3000 --test-rows 100").ok();
    dir.run(&format!("{arguments} whole")).ok();
    let mut child = dir.command().args(format!("{arguments} killed -q").split(' ')).spawn().unwrap();
    let start = Instant::now();
    let finished = || dir.files().iter().filter(|name| name.contains(part)).count();
    while finished() < least && start.elapsed() < Duration::from_secs(300) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!dir.path("killed").exists(), "it was killed too late to show anything");
    assert!(finished() >= least);
    dir
}

/// The run is resumed with the same settings only, uses what was finished (`counted` of the report), and gives the same bytes.
fn resumed(dir: &Workdir, arguments: &str, other: (&str, &str), counted: &str) {
    let refused = dir.run(&format!("{arguments} killed")).refused();
    assert!(refused.contains("--resume"), "{refused}");
    let refused = dir.run(&format!("{arguments} killed --resume {}", other.0)).refused();
    assert!(refused.contains(other.1), "{refused}");
    let found = dir.json(&format!("{arguments} killed --resume --memory 1GB"));
    assert!(found[counted].as_u64().unwrap() >= 2, "{found}");
    assert!(bytes(dir, "whole") == bytes(dir, "killed"));
}

fn bytes(dir: &Workdir, name: &str) -> Vec<u8> {
    std::fs::read(dir.path(name)).unwrap()
}

/// A run that is killed leaves finished blocks and no model.
#[test]
fn a_killed_run_is_resumed() {
    let arguments = "train train.txt --solver adam --epochs 150 --holdout 0 --threads 1 -o";
    let dir = killed(arguments, ".block", 2);
    resumed(&dir, arguments, ("--decay 0.5", "'decay' differs"), "resumed_blocks");
}

/// The same on trees, whose parts are finished one by one.
#[test]
fn a_killed_run_on_trees_is_resumed() {
    let arguments = "train train.txt --tree kmeans:branch=4,leaf=4 --trees 8 --passes 60 --threads 1 -o";
    // Not the parts of the tree that is tried first, which has a folder inside.
    let dir = killed(arguments, "killed.partial/part-", 3);
    resumed(&dir, arguments, ("--cost 3", "'tree.cost' differs"), "resumed");
    let refused = dir.run(&format!("{arguments} large -q --max-model-size 1KB")).refused();
    assert!(refused.contains("would become too large"), "{refused}");
    dir.run("inspect whole --verify").ok();
    // A byte of the last block is found when all of the file is checked.
    let mut damaged = bytes(&dir, "whole");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    std::fs::write(dir.path("damaged"), damaged).unwrap();
    dir.run("inspect damaged").ok();
    let refused = dir.run("inspect damaged --verify").refused();
    assert!(refused.contains("damaged: the model file is damaged: block"), "{refused}");
}

#[test]
fn training_is_plain_unless_something_is_known_to_be_missing() {
    let dir = Workdir::with_data();
    let loss = |options: &str| dir.json(&format!("train train.txt -o m {options}"))["loss"].as_str().unwrap().to_owned();
    assert!(["squared-hinge", "logistic"].contains(&loss("").as_str()));
    assert_eq!(loss("--no-calibrate"), "logistic");
    // With propensities, two ways to correct are compared, unless a loss is named.
    let corrected = dir.json("train train.txt -o m --propensity jpv");
    assert!(["squared-hinge", "plugin-logistic"].contains(&corrected["loss"].as_str().unwrap()));
    assert!(corrected["propensity"].as_str().unwrap().starts_with("jpv"), "{corrected}");
    assert_eq!(loss("--propensity jpv --loss plugin-logistic"), "plugin-logistic");
    let assumed = dir.run("train train.txt -o m --propensity jpv").ok();
    assert!(assumed.contains("nothing about missing labels was measured"), "{assumed}");
    let known = dir.run("train train.txt -o m --propensity table:known.csv").ok();
    assert!(!known.contains("was measured"), "{known}");
    assert_eq!(loss("--joint plugin --epochs 2"), "plugin-logistic");
    let ignored = dir.run("train train.txt -o m --loss logistic --propensity jpv").ok();
    assert!(ignored.contains("does not use the propensities"), "{ignored}");
    let request = &dir.json("inspect m")["about"]["request"];
    assert_eq!((&request["loss"], &request["propensity"]), (&"logistic".into(), &"jpv:a=0.55,b=1.5".into()));
}

#[test]
fn without_options_the_loss_is_chosen_and_the_table_printed() {
    let dir = Workdir::new();
    dir.run("generate balls -o . --labels 30 --dim 4 --radius 0.3,0.7 --train-rows 900 --test-rows 20").ok();
    let found = dir.json("train train.txt -o m");
    let candidates = found["choice"]["candidates"].as_array().unwrap();
    let chosen: Vec<_> = candidates.iter().filter(|candidate| candidate["chosen"] == true).collect();
    assert_eq!((chosen.len(), &chosen[0]["loss"], &chosen[0]["decay"]), (1, &found["loss"], &found["settings"]["decay"]));
    assert!(chosen[0]["seconds"].is_number() && found["settings"]["calibration"]["scales"].is_array());
    let losses = ["squared-hinge", "logistic"].map(|loss| candidates.iter().filter(|candidate| candidate["loss"] == loss).count());
    assert!(losses.iter().all(|count| *count >= 2), "{losses:?}");
    let shown = dir.json("inspect m");
    assert_eq!(shown["about"]["settings"]["choice"]["candidates"].as_array().unwrap().len(), candidates.len());
    for table in [dir.run("train train.txt -o n").ok(), dir.run("inspect n").ok()] {
        assert!(table.contains("precision@1-5") && table.contains("squared-hinge"), "{table}");
    }
    let plain = dir.json("train train.txt -o p --no-calibrate");
    assert!(plain["choice"].is_null() && plain["loss"] == "logistic");
    let hinge = dir.json("train train.txt -o h --loss squared-hinge --calibrate");
    assert_eq!(hinge["choice"]["candidates"].as_array().unwrap().len(), 1);
    let error = dir.run("train train.txt -o h --propensity jpv --calibrate").refused();
    assert!(error.contains("scores are calibrated only for plain losses"), "{error}");
}

#[test]
fn losses_and_grids_are_listed() {
    let dir = Workdir::new();
    let list = dir.run("list losses --format csv").ok();
    for loss in unmissed::losses::LOSSES {
        assert!(list.contains(&format!("losses,{},", loss.name())), "{list}");
    }
    assert!(dir.run("list grids").ok().contains("paper"));
}

/// One command for people with a controlled set: what was compared is shown, and the model is one that predicts.
#[test]
fn a_controlled_set_decides_what_the_model_is() {
    let dir = Workdir::new();
    dir.run("generate survey -o . --users 1500 --test-users 300 --controlled-users 800 --items 40 --shown 8 --dim 5").ok();
    let found = dir.json("train train.txt -o s --controlled controlled.txt --rate 8/40 --shown controlled_shown.txt");
    let stack = &found["settings"]["stack"];
    assert_eq!((&stack["rows"], &stack["pairs"], &stack["shown"]), (&800.into(), &6400.into(), &true.into()));
    let names: Vec<&str> = stack["lines"].as_array().unwrap().iter().map(|line| line["model"].as_str().unwrap()).collect();
    assert_eq!(names, ["uncorrected", "joint", "recalibrated", "stack"]);
    let (gain, se) = (stack["gain"].as_f64().unwrap(), stack["gain_se"].as_f64().unwrap());
    assert!(stack["taken"] != true || gain > se, "{stack}");
    let text = dir.run("train train.txt -o s --controlled controlled.txt --rate 8/40").ok();
    assert!(text.contains("Log loss per controlled row") && text.contains("recalibrated"), "{text}");
    assert_eq!(
        dir.json("inspect s")["about"]["request"]["controlled"]["rate"],
        serde_json::json!({"shown": {"shown": 8, "of": 40}})
    );
    dir.run("predict s test.txt -o out.txt").ok();
}

/// Later labels take the place of observed ones: with those of all rows the model is the one that they train.
#[test]
fn later_labels_are_trained_on() {
    let dir = Workdir::new();
    dir.run("generate survey -o . --users 900 --test-users 100 --controlled-users 50 --items 30 --shown 8 --dim 5").ok();
    let found = dir.json("train train.txt -o later --later train_clean.txt");
    assert_eq!((&found["settings"]["later"]["rows"], &found["settings"]["later"]["withdrawn"]), (&900.into(), &0.into()));
    dir.run("train train_clean.txt -o complete").ok();
    for model in ["later", "complete"] {
        dir.run(&format!("predict {model} test.txt -o {model}.txt")).ok();
    }
    assert_eq!(dir.read("later.txt"), dir.read("complete.txt"));
    let some: String = std::iter::once("row\n".to_owned()).chain((0..450).map(|row| format!("{}\n", 2 * row))).collect();
    dir.write("rows.csv", some.as_bytes());
    let half = dir.json("train train.txt -o half --later train_clean.txt --later-rows rows.csv");
    assert_eq!((&half["loss"], &half["settings"]["later"]["rows"]), (&"plugin-logistic".into(), &450.into()));
    let text = dir.run("train train.txt -o half --later train_clean.txt --later-rows rows.csv").ok();
    assert!(text.contains("later labels of 450 of 900 rows") && text.contains("row-dependent"), "{text}");
}

/// A direct estimate from few controlled rows is mostly noise. Training notices it also when the estimate comes from a file.
#[test]
fn noisy_direct_estimates_from_a_file_are_shrunken() {
    let dir = Workdir::new();
    dir.run("generate survey -o . --users 900 --test-users 100 --controlled-users 50 --items 30 --shown 8 --dim 5").ok();
    for (estimator, shrunken) in [("direct", true), ("shrunken", false)] {
        let evidence = "--train train.txt --controlled controlled.txt --rate 8/30";
        dir.run(&format!("propensity estimate {estimator} {evidence} -o {estimator}.csv")).ok();
        let train = format!("train train.txt -o m --propensity table:{estimator}.csv");
        assert_eq!(dir.json(&train)["settings"]["shrunken_propensities"], shrunken, "{estimator}");
        assert_eq!(dir.run(&train).ok().contains("mostly noise"), shrunken, "{estimator}");
    }
}
