//! Out-of-fold predictions.

use crate::workdir::Workdir;

#[test]
fn an_external_trainer_predicts_rows_that_it_did_not_see() {
    let dir = Workdir::new();
    let rows: String = (0..20).map(|row| format!("{} 0:{row}\n", row % 3)).collect();
    dir.write("d.txt", format!("20 1 3\n{rows}").as_bytes());
    // The trainer scores label 0 by the row's feature, so the order of rows shows, and fails when it sees a row twice.
    dir.write(
        "trainer.sh",
        b"set -e\ntail -n +2 $1 > t1; tail -n +2 $2 > t2\nif grep -qxFf t1 t2; then echo seen >&2; exit 7; fi\n\
          echo \"$(wc -l < t2) 3\" > $3; sed 's/.* 0:/0:/' t2 >> $3\n",
    );
    dir.run("crossfit --train d.txt --folds 4 -o oof.txt -- sh trainer.sh {train} {test} {out}").ok();
    let expected: String = (0..20).map(|row| format!("0:{row}\n")).collect();
    assert_eq!(dir.read("oof.txt"), format!("20 3\n{expected}"));
}

#[test]
fn commands_that_fail_leave_no_predictions() {
    let dir = Workdir::with_data();
    for (command, message) in [
        ("sh -c true {train} {out}", "the command does not use {test}"),
        ("false {train} {test} {out}", "'false' failed"),
        ("true {train} {test} {out}", "wrote no predictions"),
        ("cp {train} {out} {test}", "failed"),
        ("no-such-program {train} {test} {out}", "no-such-program: cannot run"),
    ] {
        let run = dir.run(&format!("crossfit --train train.txt --folds 2 -o oof.txt -- {command}"));
        assert_eq!(run.code, Some(2), "{command}");
        assert!(run.stderr.contains(message), "{command}: {}", run.stderr);
        assert!(!dir.path("oof.txt").exists());
    }
    let run = dir.run("crossfit --train train.txt --folds 1 -o oof.txt");
    assert!(run.code == Some(2) && run.stderr.contains("2 to 300, the number of rows"), "{}", run.stderr);
}
