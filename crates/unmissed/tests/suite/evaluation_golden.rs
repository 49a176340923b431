//! Values of an independent oracle and of other libraries, from the golden cases.

use std::path::Path;
use unmissed::data::formats::{ReadOptions, read_dataset, read_scores};
use unmissed::data::{Csr, Dataset, LabelStats};
use unmissed::evaluate::Evaluation;
use unmissed::evaluate::compat::{Library, evaluate};
use unmissed::metrics::Estimator;
use unmissed::propensity::{Propensities, models};

struct Case {
    test: Dataset<'static>,
    scores: Csr<'static, f32>,
    stats: LabelStats,
    jpv: Propensities,
    folder: std::path::PathBuf,
}

fn cases() -> Vec<Case> {
    ["case1", "case2"].map(|name| read(&crate::common::golden().join(name))).into()
}

fn read(folder: &Path) -> Case {
    let options = ReadOptions::default();
    let train = read_dataset(folder.join("train.txt"), &options).unwrap();
    let stats = LabelStats::of(train.labels());
    Case {
        test: read_dataset(folder.join("test.txt"), &options).unwrap(),
        scores: read_scores(folder.join("predictions.txt"), &options).unwrap(),
        jpv: models::parse("jpv").unwrap().propensities(&stats).unwrap(),
        stats,
        folder: folder.to_path_buf(),
    }
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_oracle_agrees() {
    for case in cases() {
        let evaluation = Evaluation::new(case.test.labels(), &[("a", &case.scores)]).unwrap();
        let result = evaluation.train(&case.stats).propensity(case.jpv.clone()).bootstrap(0, 0).run().unwrap();
        let expected = json(&case.folder.join("expected.json"));
        let values = expected["values"].as_array().unwrap();
        assert!(values.len() > 40);
        for entry in values {
            let estimator = Estimator::of_name(entry["estimator"].as_str().unwrap()).unwrap();
            let (metric, k) = (entry["metric"].as_str().unwrap(), entry["k"].as_u64().unwrap() as usize);
            let row = result.find(metric, k, estimator).unwrap_or_else(|error| panic!("{error}"));
            let (found, wanted) = (row.value.unwrap(), entry["value"].as_f64().unwrap());
            assert!((found - wanted).abs() < 1e-9, "{metric}@{k} {estimator}: {found} instead of {wanted}");
        }
    }
}

#[test]
fn compat_gives_the_numbers_of_other_libraries() {
    for case in cases() {
        let peers = json(&case.folder.join("peers.json"));
        for (key, library) in [("pyxclib", Library::PyXclib), ("napkinxc", Library::NapkinXc)] {
            let ours = evaluate(library, case.test.labels(), &case.scores, Some(&case.jpv.inverse()), 5).unwrap();
            let theirs = peers[key].as_object().unwrap();
            let known = |name: &str| ours.iter().any(|of_metric| of_metric.name == name);
            assert!(theirs.keys().all(|name| known(name)), "{key}");
            // What the file does not have is compared with the library itself, in the tests of the Python package.
            for of_metric in ours.iter().filter(|of_metric| theirs.contains_key(of_metric.name)) {
                for (k, value) in of_metric.values.iter().enumerate() {
                    let wanted = theirs[of_metric.name][k].as_f64().unwrap();
                    // They sum in single precision.
                    assert!(
                        (value - wanted).abs() < 2e-7 * wanted.abs().max(1.0),
                        "{key} {}@{}: {value} {wanted}",
                        of_metric.name,
                        k + 1
                    );
                }
            }
        }
    }
}
