//! `predict` and `inspect`: what comes out is what the library says, and bad input is explained.

use crate::workdir::Workdir;
use unmissed::data::formats::{ReadOptions, read_dataset, read_scores};
use unmissed::predict::{About, Model, PredictOptions, file};
use unmissed::propensity::table_file;

fn library(dir: &Workdir, options: &PredictOptions<'_>) -> unmissed::data::Csr<'static, f32> {
    let (model, _) = file::read(dir.path("model.safetensors"), true).unwrap();
    let data = read_dataset(dir.path("test.txt"), &ReadOptions::default()).unwrap();
    model.predict(data.features().unwrap(), options).unwrap()
}

#[test]
fn files_hold_what_the_library_predicts_on_any_number_of_threads() {
    let dir = Workdir::with_data();
    for threads in [1, 4] {
        for ending in ["txt", "npz", "txt.gz"] {
            let out = format!("out{threads}.{ending}");
            dir.run(&format!("predict model.safetensors test.txt -k 3 -o {out} --threads {threads}")).ok();
            let scores = read_scores(dir.path(&out), &ReadOptions::default()).unwrap();
            assert_eq!(scores, library(&dir, &PredictOptions { k: 3, ..Default::default() }), "{out}");
            assert_eq!((scores.rows(), scores.cols(), scores.nnz()), (100, 12, 300));
        }
    }
    assert_eq!(dir.read("out1.txt"), dir.read("out4.txt"));
}

#[test]
fn options_are_passed_on() {
    let dir = Workdir::with_data();
    let p = table_file::read(dir.path("known.csv"), Some(12)).unwrap();
    let scores = |arguments: &str| {
        dir.run(&format!("predict model.safetensors test.txt -o out.txt {arguments}")).ok();
        read_scores(dir.path("out.txt"), &ReadOptions::default()).unwrap()
    };
    let plain = PredictOptions::default();
    assert_eq!(scores("--logits"), library(&dir, &PredictOptions { logits: true, ..plain }));
    assert_eq!(scores("--threshold 0.5 -k 12"), library(&dir, &PredictOptions { threshold: Some(0.5), k: 12, ..plain }));
    assert_eq!(scores("--propensity table:known.csv"), library(&dir, &PredictOptions { propensities: Some(&p), ..plain }));
    dir.write(
        "w.csv",
        (0..12).fold("label,weight\n".to_owned(), |text, label| text + &format!("{label},{}\n", label % 4)).as_bytes(),
    );
    let weights: Vec<f64> = (0..12).map(|label| f64::from(label % 4)).collect();
    assert_eq!(scores("--weights w.csv"), library(&dir, &PredictOptions { weights: Some(&weights), ..plain }));
    // The model remembers the training counts: curves need no training file, and one that is given goes first.
    assert_ne!(scores("--propensity jpv"), scores("--propensity jpv --train train.txt"));
    assert_ne!(scores("--weights inverse"), scores(""));
}

#[test]
fn predictions_can_be_evaluated() {
    let dir = Workdir::with_data();
    dir.run("predict model.safetensors test.txt -o out.txt").ok();
    let json = dir.json("evaluate --test test.txt --predictions out.txt --metrics precision --estimators observed");
    assert!(json["rows"][0]["value"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_second_correction_is_mentioned() {
    let dir = Workdir::with_data();
    let (model, mut about) = file::read(dir.path("model.safetensors"), true).unwrap();
    about.propensity = Some("power".into());
    file::write(&model, &about, dir.path("again.safetensors")).unwrap();
    let finished = dir.run("predict again.safetensors test.txt --propensity jpv -o out.txt");
    assert!(finished.stderr.contains("corrects a second time"), "{}", finished.stderr);
    finished.ok();
    let finished = dir.run("predict model.safetensors test.txt --propensity jpv -o out.txt");
    assert!(!finished.stderr.contains("second time"), "{}", finished.stderr);
}

#[test]
fn bad_input_is_explained_and_nothing_is_written() {
    let dir = Workdir::with_data();
    dir.write("wide.txt", b"1 4 12\n0 3:1\n");
    dir.write("labels.txt", b"1 12\n0:1\n");
    let bytes = std::fs::read(dir.path("model.safetensors")).unwrap();
    dir.write("cut.safetensors", &bytes[..bytes.len() - 5]);
    let mut flipped = bytes.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 4;
    dir.write("flipped.safetensors", &flipped);
    let forgetful = Model::new(3, unmissed::predict::Normalize::None, vec![]).unwrap();
    file::write(&forgetful, &About::new("logistic", 0), dir.path("empty.safetensors")).unwrap();
    let before = dir.files();
    for (arguments, part) in [
        (
            "model.safetensors wide.txt",
            "wide.txt: the rows do not have the features of the model: expected at most 3 features, found 4",
        ),
        ("model.safetensors labels.txt", "labels.txt: there are no features"),
        ("test.txt test.txt", "test.txt: not a model file: expected a file that 'unmissed train' wrote"),
        ("missing test.txt", "missing: cannot open"),
        ("cut.safetensors test.txt", "cut.safetensors: the model file is cut off"),
        ("flipped.safetensors test.txt", "flipped.safetensors: the model file is damaged"),
        ("model.safetensors test.txt -k 0", "expected at least 1, found 0"),
        ("model.safetensors test.txt --threshold 2", "the threshold is out of range"),
        ("model.safetensors test.txt --propensity jpw", "did you mean 'jpv'?"),
        ("empty.safetensors test.txt --propensity jpv", "give the training labels"),
        ("empty.safetensors test.txt --weights log", "pass the training labels: --train"),
        ("empty.safetensors test.txt --propensity jpv --train train.txt", "expected 0, found 12"),
    ] {
        let message = dir.run(&format!("predict {arguments} -o out.txt -q")).refused();
        assert!(message.contains(part), "{arguments}: {message}");
    }
    let finished = dir.run("predict model.safetensors test.txt --logits --weights log -o out.txt");
    assert_eq!(finished.code, Some(2));
    assert_eq!(dir.files(), before);
}

#[test]
fn inspect_shows_what_the_file_holds() {
    let dir = Workdir::with_data();
    let text = dir.run("inspect model.safetensors").ok();
    for part in ["logistic", "l2", "Settings that were tried", "loss", "setting epochs", "25.00%"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = dir.json("inspect model.safetensors");
    assert_eq!((json["summary"]["features"].as_u64(), json["summary"]["labels"].as_u64()), (Some(3), Some(12)));
    assert_eq!(json["summary"]["nonzeros"], 27);
    assert_eq!(json["about"]["settings"]["tuning"][1]["decay"], 0.001);
    assert_eq!(json["file_bytes"], std::fs::metadata(dir.path("model.safetensors")).unwrap().len());
    assert!(dir.run("inspect test.txt").refused().contains("not a model file"));
}
