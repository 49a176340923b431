//! Help: every command has some, and its examples work.

use crate::workdir::Workdir;

/// The subcommands as the help lists them.
fn commands(dir: &Workdir) -> Vec<String> {
    let help = dir.run("--help").ok();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    list.lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_examples_of_every_command_work() {
    let dir = Workdir::with_data();
    let commands = commands(&dir);
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let help = dir.run(&format!("{command} --help")).ok();
        let examples: Vec<&str> =
            help.split("Examples:\n").nth(1).unwrap_or_default().lines().filter(|l| l.starts_with("  unmissed ")).collect();
        assert!(!examples.is_empty(), "'{command} --help' has no examples");
        for example in examples {
            let finished = dir.run(example.trim().strip_prefix("unmissed ").unwrap());
            assert_eq!(finished.code, Some(0), "{example}\n{}", finished.stderr);
        }
    }
}

#[test]
fn help_fits_a_terminal_and_tells_exit_codes() {
    let dir = Workdir::new();
    let help = dir.run("--help").ok();
    assert!(help.contains("Exit codes: 0 fine"), "{help}");
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
fn lists_name_what_the_options_take() {
    let dir = Workdir::new();
    let formats = dir.run("list formats --format csv").ok();
    for name in ["xmc", "svmlight", "scores", "npz", "ratings", "matrix"] {
        assert!(formats.contains(&format!("formats,{name},")), "{formats}");
    }
    assert_eq!(dir.run("list fromats").refused(), "unknown registry 'fromats'; did you mean 'formats'?");
}
