//! Help: every command has some, and its examples work.

use crate::workdir::Workdir;
use unmissed::propensity::estimators::{OptionKind, PROPENSITY_ESTIMATORS};

/// All subcommands, and theirs, as the help lists them. Those of `generate` and `estimate` share the examples of their parent.
fn commands(dir: &Workdir) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![String::new()];
    while let Some(parent) = todo.pop() {
        let help = dir.run(&format!("{parent} --help")).ok();
        let Some(list) = help.split("Commands:\n").nth(1) else { continue };
        for line in list.split("\n\n").next().unwrap().lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            let name = line.split_whitespace().next().unwrap();
            let command = format!("{parent} {name}").trim().to_owned();
            if name != "help" {
                todo.push(command.clone());
                found.push(command);
            }
        }
    }
    found
}

#[test]
fn the_examples_of_every_command_work() {
    let dir = Workdir::with_data();
    let commands = commands(&dir);
    assert!(commands.len() >= 9 && commands.contains(&"propensity fit".to_owned()), "{commands:?}");
    for command in commands {
        let help = dir.run(&format!("{command} --help")).ok();
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default().lines();
        let examples: Vec<&str> = examples.filter(|line| line.starts_with("  unmissed ")).collect();
        assert!(!examples.is_empty(), "'{command} --help' has no examples");
        for example in examples {
            let finished = dir.run(example.trim().strip_prefix("unmissed ").unwrap());
            assert_eq!(finished.code, Some(0), "{example}\n{}", finished.stderr);
        }
    }
}

/// The options of a help page under each heading.
fn options(help: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in help.split("\nExamples:\n").next().unwrap().lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            found.push((heading.to_owned(), Vec::new()));
        } else if let (Some((_, options)), Some(start)) = (found.last_mut(), line.find("--")) {
            // What is indented further is a description.
            if start == 6 {
                options.push(line[8..].split([' ', '[']).next().unwrap().to_owned());
            }
        }
    }
    found
}

#[test]
fn options_are_under_the_headings_that_they_belong_to() {
    let dir = Workdir::new();
    let belong: [(&str, &[&str]); 8] = [
        ("Everywhere", &["format", "threads", "max-size", "quiet"]),
        ("Reading", &["from", "positive", "no-mmap"]),
        ("Names", &["label-names", "row-names"]),
        ("Trees over labels", &["tree", "trees", "correction", "cost", "passes", "max-model-size", "tree-out"]),
        (
            "Evidence about missing labels",
            &["controlled", "rate", "shown", "judged", "judged-rows", "later", "later-rows", "keep-propensities"],
        ),
        ("Solver", &["solver", "learning-rate", "decay", "epochs", "batch", "tolerance"]),
        (
            "Tuning",
            &[
                "tune",
                "grid",
                "criterion",
                "holdout",
                "calibrate",
                "no-calibrate",
                "validation",
                "validation-rate",
                "validation-shown",
            ],
        ),
        (
            "Row-dependent propensities (MODEL 'rows')",
            &[
                "later",
                "judged",
                "train-predictions",
                "covariates",
                "label-covariates",
                "row-covariates",
                "pair-covariate",
                "refits",
            ],
        ),
    ];
    let estimators = PROPENSITY_ESTIMATORS.iter().map(|entry| format!("propensity estimate {}", entry.name()));
    for command in commands(&dir).into_iter().chain(estimators) {
        let all = options(&dir.run(&format!("{command} --help")).ok());
        assert!(all.iter().any(|(_, options)| options.contains(&"threads".to_owned())), "{command}: {all:?}");
        for (heading, options) in all.iter().filter(|(heading, _)| heading != "Options") {
            let expected = belong.iter().find(|(name, _)| name == heading).map_or(&[][..], |(_, options)| options);
            assert_eq!(options, expected, "{command}: {heading}");
        }
    }
}

#[test]
fn help_fits_a_terminal_and_tells_exit_codes() {
    let dir = Workdir::new();
    let help = dir.run("--help").ok();
    assert!(help.contains("Exit codes: 0 success"), "{help}");
    for command in commands(&dir) {
        for line in dir.run(&format!("{command} --help")).ok().lines() {
            assert!(line.chars().count() <= 120, "{command}: {line}");
        }
    }
}

#[test]
fn completions_know_the_commands() {
    let dir = Workdir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = dir.run(&format!("completions {shell}")).ok();
        assert!(script.contains("generate") && script.contains("min-positives"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = Workdir::new();
    dir.run("man -o man1").ok();
    for command in commands(&dir).iter().map(|command| format!("unmissed {command}")).chain(["unmissed".to_owned()]) {
        let page = dir.read(&format!("man1/{}.1", command.replace(' ', "-")));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    assert!(dir.read("man1/unmissed-split.1").contains("min\\-positives"));
}

#[test]
fn lists_name_what_the_options_take() {
    let dir = Workdir::new();
    let formats = dir.run("list formats --format csv").ok();
    for name in ["xmc", "svmlight", "scores", "npz", "ratings", "matrix"] {
        assert!(formats.contains(&format!("formats,{name},")), "{formats}");
    }
    assert_eq!(dir.run("list fromats").refused(), "unknown registry 'fromats'; did you mean 'formats'?");
}

#[test]
fn every_curve_is_in_the_help_of_fit() {
    let help = Workdir::new().run("propensity fit --help").ok();
    for name in unmissed::propensity::models::families() {
        assert!(help.contains(name), "{name}: {help}");
    }
}

/// Help without its line breaks.
fn in_words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_propensity_estimator_is_in_help_and_lists() {
    let dir = Workdir::new();
    let list = dir.run("list propensity-estimators --format csv").ok();
    let help = dir.run("propensity estimate --help").ok();
    for entry in PROPENSITY_ESTIMATORS {
        assert!(list.contains(&format!("propensity-estimators,{},", entry.name())), "{list}");
        assert!(help.contains(&format!("\n  {} ", entry.name())), "{help}");
        let own = dir.run(&format!("propensity estimate {} --help", entry.name())).ok();
        assert!(in_words(&own).starts_with(&in_words(entry.summary())), "{own}");
        assert!(in_words(&help).contains(&format!(" {} {}", entry.name(), in_words(entry.summary()))), "{help}");
        for field in entry.inputs().iter().flat_map(|input| input.fields()) {
            assert!(own.contains(&format!("--{} <{}>", field.name, field.value)), "{own}");
        }
        for option in entry.options() {
            assert!(own.contains(&format!("--{}", option.name)), "{own}");
            let default = format!("[default: {}]", option.default);
            assert!(matches!(option.kind, OptionKind::Switch(_)) || own.contains(&default), "{}: {own}", option.name);
        }
    }
}
