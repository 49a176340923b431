//! Bad files: one located error, exit code 2, nothing written.

use crate::workdir::Workdir;

#[test]
fn broken_files_are_refused_by_every_reader_of_files() {
    let dir = Workdir::new();
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff";
    let cases: &[(&str, &[u8])] = &[
        ("empty", b""),
        ("headless", b"nonsense\n"),
        ("short", b"3 2 2\n0 1:1\n"),
        ("long", b"1 2 2\n0 1:1\n0 1:1\n"),
        ("label", b"1 2 2\n7 1:1\n"),
        ("nan", b"1 2 2\n0 1:nan\n"),
        ("nul", b"1 2 2\n0 1:1\0\n"),
        ("huge", b"99999999999999 99999999 99999999\n0 1:1\n"),
        ("wide", b"1 2 99999999999999\n0 1:1\n"),
        ("garbage", b"\x7fELF\x02\x01\x01\x00\x00"),
        ("cut.gz", gzip),
        ("cut.zst", b"\x28\xb5\x2f\xfd\x04"),
        ("cut.npz", b"PK\x03\x04\x14\x00"),
        ("cut.parquet", b"PAR1\x15\x04"),
    ];
    for (name, bytes) in cases {
        dir.write(name, bytes);
    }
    std::fs::create_dir(dir.path("folder")).unwrap();
    let before = dir.files();
    for name in cases.iter().map(|case| case.0).chain(["folder", "missing"]) {
        for command in [format!("stats {name} -o plot.svg"), format!("convert {name} out.txt"), format!("split {name} -o out")] {
            let message = dir.run(&command).refused();
            assert!(message.starts_with(name), "{command}: {message}");
        }
    }
    assert_eq!(dir.files(), before);
}

/// Files other than data: each reader names the file and what it expected, in words of the program.
#[test]
fn broken_tables_models_and_tallies_are_refused_by_their_readers() {
    let dir = Workdir::with_data();
    dir.write("empty", b"");
    dir.write("latin1", b"label,propensity,row,node,parent\n\xe9t\xe9,0.5,0,1,2\n");
    dir.write("garbage", b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe");
    dir.write("number", b"17\n");
    dir.write("json", b"{\"test_rows\": 3}\n");
    std::fs::create_dir(dir.path("folder")).unwrap();
    let before = dir.files();
    let evaluate = "evaluate --train train.txt --test test.txt --predictions p.txt";
    let audit = "audit --train train.txt --test test.txt --predictions p.txt -o page.html";
    for name in ["empty", "latin1", "garbage", "number", "json", "folder", "missing"] {
        for command in [
            format!("predict {name} test.txt -o out.txt"),
            format!("merge {name}"),
            format!("train train.txt -o tree --tree given:{name}"),
            format!("{evaluate} --propensity table:{name}"),
            format!("{evaluate} --propensity rows:{name}"),
            format!("{evaluate} --label-names {name}"),
            format!("{audit} --judged {name}"),
            format!("{audit} --baseline {name}"),
        ] {
            let message = dir.run(&command).refused();
            assert!(message.starts_with(name), "{command}: {message}");
            assert!(!message.contains("struct "), "{command} names a type of the program: {message}");
        }
    }
    assert_eq!(dir.files(), before);
}

#[test]
#[cfg(unix)]
fn a_file_without_permission_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Workdir::with_data();
    std::fs::set_permissions(dir.path("train.txt"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(dir.path("train.txt")).is_ok() {
        println!("skipped: this user may read everything, so no file is without permission");
        return;
    }
    assert!(dir.run("stats train.txt").refused().contains("cannot open: Permission denied"));
}

#[test]
fn wrong_usage_is_explained() {
    let dir = Workdir::with_data();
    for (command, part) in [
        ("stast train.txt", "'stats'"),
        ("stats", "DATA"),
        ("stats train.txt --threads 0", "1..=1024"),
        ("stats train.txt --from xcm", "did you mean 'xmc'?"),
        ("convert train.txt out.unknown", "no format is known by the ending '.unknown'"),
        ("convert train.txt out.txt --to nzp", "'npz'"),
        ("split train.txt --test 2 -o out", "test"),
        ("split train.txt --min-positives 100000 -o out", "100000"),
        ("split train.txt", "--output"),
    ] {
        let finished = dir.run(command);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{command}");
        assert!(finished.stderr.contains(part), "{command}: {}", finished.stderr);
    }
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let dir = Workdir::with_data();
    let before = (dir.read("test.txt"), dir.read("p.txt"), dir.read("train.txt"));
    let test = "--test test.txt --predictions p.txt";
    for command in [
        format!("audit {test} --labels-csv test.txt"),
        format!("audit {test} --rows-csv p.txt"),
        format!("audit {test} --train train.txt --json train.txt"),
        format!("evaluate {test} --tally p.txt"),
        "mask train.txt --propensity power -o train.txt".to_owned(),
        "train train.txt -o train.txt --tree".to_owned(),
        "train train.txt -o m --tree --tree-out ./train.txt".to_owned(),
        "train train.txt -o test.txt --tree --controlled test.txt --rate 1/2".to_owned(),
        "train train.txt -o m --tree --tree-out test.txt --judged p.txt --judged-rows test.txt".to_owned(),
        "train train.txt -o p.txt --tree given:p.txt".to_owned(),
        "train train.txt -o p.txt --controlled test.txt --shown p.txt --rate 1/2".to_owned(),
        "train train.txt -o test.txt --later test.txt".to_owned(),
        "train train.txt -o test.txt --validation p.txt --validation-rate 1/2 --validation-shown test.txt --tune".to_owned(),
        "train train.txt -o m --propensity table:p.txt --propensities-out p.txt".to_owned(),
    ] {
        let error = dir.run(&command).refused();
        assert!(error.contains("the output is also an input, which would be lost"), "{command}: {error}");
    }
    assert_eq!((dir.read("test.txt"), dir.read("p.txt"), dir.read("train.txt")), before);
    let error = dir.run(&format!("audit {test} --labels-csv same.csv --rows-csv same.csv")).refused();
    assert!(error.contains("two outputs have this name"), "{error}");
    for command in [
        "train train.txt -o new --tree --tree-out ./new",
        "train train.txt -o new --propensity jpv --propensities-out new",
        "optimize scores.txt --metric macro-f@2 -o new --save-weighting new",
    ] {
        let error = dir.run(command).refused();
        assert!(error.contains("two outputs have this name") && !dir.path("new").exists(), "{command}: {error}");
    }
    let error = dir.run("crossfit --train train.txt -o none/oof.txt").refused();
    assert!(error.contains("the folder none does not exist"), "{error}");
}
