//! `optimize` and `predict --optimize`: files hold what the library chooses, the report says what it is worth, bad input is explained.

use crate::workdir::Workdir;
use unmissed::data::LabelStats;
use unmissed::data::formats::{ReadOptions, read_dataset, read_scores};
use unmissed::optimize::Optimization;
use unmissed::request::OptimizeRequest;

const MACRO_F: &str = "optimize scores.txt --metric macro-f@3 --train train.txt -o out.txt";

#[test]
fn files_hold_what_the_library_chooses_on_any_number_of_threads() {
    let dir = Workdir::with_data();
    let scores = read_scores(dir.path("scores.txt"), &ReadOptions::default()).unwrap();
    let stats = LabelStats::of(read_dataset(dir.path("train.txt"), &ReadOptions::default()).unwrap().labels());
    let request = OptimizeRequest { metric: "macro-f".parse().unwrap(), k: 3, ..OptimizeRequest::default() };
    let expected = Optimization::new(&scores, request).unwrap().train(&stats).run().unwrap();
    let mut printed = Vec::new();
    for threads in [1, 4] {
        printed.push(dir.json(&format!("{MACRO_F} --test test.txt --threads {threads}")));
        let found = read_scores(dir.path("out.txt"), &ReadOptions::default()).unwrap();
        assert_eq!(found.ids(), expected.predictions.ids());
    }
    assert_eq!(printed[0], printed[1]);
    assert_eq!(printed[0]["value"].as_f64(), Some(expected.report.value));
    let [of_expected, of_measured] = ["expected", "measured"].map(|how| printed[0][how].as_array().unwrap().clone());
    assert_eq!((of_expected.len(), of_measured.len()), (2, 2));
    assert_eq!((&of_measured[0]["metric"], &of_measured[1]["metric"]), (&"macro-f".into(), &"precision".into()));
    assert!(of_measured[0]["optimism"].is_f64() && of_expected[0]["low"].as_f64() < of_expected[0]["high"].as_f64());
    // What is measured is what `evaluate` finds in the file.
    let json = dir.json("evaluate --test test.txt --predictions out.txt --metrics macro-f --estimators observed --k 3");
    let [measured, evaluated] = [&of_measured[0]["after"], &json["rows"][0]["value"]].map(|value| value.as_f64().unwrap());
    assert!((measured - evaluated).abs() < 1e-12, "{measured} {evaluated}");
    let text = dir.run(&format!("{MACRO_F} --test test.txt")).ok();
    assert!(["most probable", "optimised", "optimism", "of expected counts"].iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn lines_are_written_and_applied() {
    let dir = Workdir::with_data();
    dir.run("optimize scores.txt --metric coverage@2 --method frank-wolfe --save-weighting lines.csv -o a.txt").ok();
    dir.run("optimize scores.txt --weighting lines.csv -k 2 -o b.txt").ok();
    assert_eq!(dir.read("a.txt"), dir.read("b.txt"));
    assert!(dir.read("lines.csv").starts_with("label,a,b\n0,"));
    dir.write("lines.csv", b"label,a,b\n0,1,x\n");
    assert!(dir.run("optimize scores.txt --weighting lines.csv -k 2 -o b.txt").refused().starts_with("lines.csv: "));
}

#[test]
fn a_model_chooses_labels_for_a_metric() {
    let dir = Workdir::with_data();
    let json = dir.json("predict model.safetensors test.txt --optimize macro-f@3 -o out.txt");
    assert!(json["value"].as_f64() >= json["value_before"].as_f64());
    // The model remembers the training counts.
    assert_eq!(json["mass"]["source"], "train");
    assert_eq!(read_scores(dir.path("out.txt"), &ReadOptions::default()).unwrap().nnz(), 300);
    let refused = |options: &str| dir.run(&format!("predict model.safetensors test.txt -o out.txt {options}")).refused();
    assert!(refused("--optimize macro-f@3 -k 2").contains("two different numbers of labels per row"));
    assert!(refused("--optimize macro-f@13").contains("k is larger than the number of labels"));
}

#[test]
fn bad_input_is_explained() {
    let dir = Workdir::with_data();
    dir.write("logits.txt", b"2 3\n0:-1.5 1:0.5\n0:0.5 2:0.1\n");
    dir.write("short.txt", b"2 3\n0:0.5 1:0.5\n\n");
    dir.write("lists.txt", b"3 50\n0:0.9 1:0.8\n2:0.7 3:0.7\n0:0.9 4:0.7\n");
    let refused = |arguments: &str| dir.run(&format!("optimize {arguments} -o out.txt")).refused();
    let text = refused("logits.txt --metric macro-f@1");
    assert!(text.starts_with("logits.txt: the score of row 0, label 0 is not a probability"), "{text}");
    assert!(refused("short.txt --metric coverage@1").starts_with("short.txt: row 1 (counted from 0) has too few scores"));
    assert!(refused("lists.txt --metric macro-f@1").contains("may not be stored"));
    assert!(refused("scores.txt --metric macrof@1").contains("did you mean 'macro-f'?"));
    assert!(refused("scores.txt --metric macro-f@1 --method bcd").contains("unknown method"));
    assert!(refused("scores.txt --metric weighted-precision@1").contains("needs weights"));
    assert!(!dir.path("out.txt").exists());
}

#[test]
fn weights_that_correct_twice_are_pointed_out() {
    let dir = Workdir::with_data();
    let warns = |arguments: &str| dir.run(arguments).stderr.contains("observed labels twice");
    let predict = "predict model.safetensors test.txt -o out.txt --propensity jpv";
    assert!(warns(&format!("{predict} --weights inverse")) && warns(&format!("{predict} --weights log")));
    assert!(!warns(&format!("{predict} --weights inverse-complete")) && !warns(&format!("{predict} --weights uniform")));
    assert!(warns("train train.txt -o m.safetensors --propensity jpv --weights effective"));
    assert!(!warns("train train.txt -o m.safetensors --weights effective"));
    let evaluate =
        "evaluate --test test.txt --predictions p.txt --train train.txt --propensity jpv --metrics weighted-precision --weights";
    assert!(dir.run(&format!("{evaluate} inverse --format json")).ok().contains("observed labels twice"));
    assert!(!dir.run(&format!("{evaluate} inverse-complete --format json")).ok().contains("observed labels twice"));
}
