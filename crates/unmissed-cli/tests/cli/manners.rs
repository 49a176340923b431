//! Manners: pipes, signals, quiet, threads, formats, and files that are whole or not there.

use crate::workdir::Workdir;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_closed_pipe_is_silent() {
    let dir = Workdir::with_data();
    let mut child = dir.command().args(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn nothing_but_results_in_a_pipe() {
    let dir = Workdir::with_data();
    let finished = dir.run("stats train.txt --quiet");
    assert_eq!(finished.stderr, "");
    assert!(!finished.stdout.contains('\u{1b}'), "no colours or bars in a pipe");
    let finished = dir.run("convert train.txt copy.txt --quiet");
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("", ""));
}

#[test]
fn every_format_prints_and_json_parses() {
    let dir = Workdir::with_data();
    for format in ["table", "csv", "markdown", "latex", "json"] {
        let text = dir.run(&format!("stats train.txt --format {format}")).ok();
        assert!(text.contains("300"), "{format}: {text}");
    }
    assert_eq!(dir.json("stats train.txt")[0]["statistics"]["rows"], 300);
    let finished = dir.run("stats train.txt --format jsn");
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("a similar value exists: 'json'"), "{}", finished.stderr);
}

#[test]
fn results_do_not_depend_on_threads() {
    let dir = Workdir::new();
    for threads in ["1", "2", "5"] {
        let out = format!("out{threads}");
        dir.run(&format!(
            "generate survey -o {out} --users 300 --test-users 50 --controlled-users 60 --items 40 --threads {threads}"
        ))
        .ok();
        dir.run(&format!("split {out}/train.txt {out}/test.txt --min-positives 3 --seed 4 -o {out}/s --threads {threads}")).ok();
    }
    for file in ["train.txt", "test.txt", "controlled.txt", "propensities.csv", "s/train.txt", "s/test.txt"] {
        assert_eq!(dir.read(&format!("out1/{file}")), dir.read(&format!("out2/{file}")), "{file}");
        assert_eq!(dir.read(&format!("out1/{file}")), dir.read(&format!("out5/{file}")), "{file}");
    }
}

/// An interrupted run exits with 130 and leaves neither the target nor a temporary file.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_no_half_written_file() {
    let dir = Workdir::new();
    // A pipe that never ends: the command is reading when the signal comes, with its output not yet begun or half done.
    let mut child = dir
        .command()
        .args(["convert", "/dev/stdin", "out.txt.gz", "--from", "svmlight"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    std::thread::sleep(Duration::from_millis(500));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
    assert_eq!(dir.files(), Vec::<String>::new());
}

#[test]
fn a_failed_run_leaves_the_old_file_alone() {
    let dir = Workdir::with_data();
    dir.write("out.txt", b"precious");
    dir.write("bad.txt", b"2 2 2\n0 1:1\n1 5:1\n");
    dir.run("convert bad.txt out.txt").refused();
    assert_eq!(dir.read("out.txt"), "precious");
    assert!(!dir.files().iter().any(|file| file.contains("tmp")), "{:?}", dir.files());
}

#[test]
#[cfg(unix)]
fn devices_and_links_are_written_to_not_replaced() {
    let dir = Workdir::with_data();
    dir.run("convert train.txt /dev/null --to xmc").ok();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    dir.write("real.txt", b"");
    std::os::unix::fs::symlink(dir.path("real.txt"), dir.path("link.txt")).unwrap();
    dir.run("convert train.txt link.txt").ok();
    assert!(std::fs::symlink_metadata(dir.path("link.txt")).unwrap().is_symlink());
    assert_eq!(dir.read("real.txt"), dir.read("train.txt"));
}
