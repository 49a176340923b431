//! What `docs/training.md` says about training, in reduced form; the whole of it with `-- --ignored`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;
#[path = "../examples/training_study.rs"]
#[allow(dead_code, unreachable_pub)]
mod study;

use study::{Biased, Ways, benchmark, biased, coat_ways, fitted, generated, mean, part, precision, survey_ways, tuned};

/// The folder of real data, unless it is not there.
fn real(name: &str) -> Option<std::path::PathBuf> {
    common::shared("data").filter(|_| common::shared(&format!("data/{name}")).is_some())
}

fn balls(rows: [&str; 2], seed: u64) -> [Biased; 2] {
    let data = generated("balls", &[("train-rows", rows[0]), ("test-rows", rows[1])], seed).unwrap();
    biased(part(&data, "train").unwrap(), part(&data, "test").unwrap(), seed).unwrap()
}

/// Right minus wrong, clean precision@1, for labels removed by each curve.
fn differences(repetitions: &[[Biased; 2]]) -> [(f64, f64); 2] {
    [0, 1].map(|curve| {
        let all: Vec<f64> = repetitions.iter().map(|r| r[curve].precision[1][0] - r[curve].precision[2][0]).collect();
        mean(&all)
    })
}

#[test]
fn the_right_propensities_train_better_than_the_wrong_ones() {
    let found = differences(&(0..3).map(|seed| balls(["8000", "4000"], seed)).collect::<Vec<_>>());
    println!("{found:?}");
    assert!(found.iter().all(|(difference, error)| *difference > 2.0 * error), "{found:?}");
}

#[test]
#[ignore = "ten data sets of 70 000 rows, six models each"]
fn the_right_propensities_train_better_on_the_papers_balls() {
    let found = differences(&(0..10).map(|seed| balls(["70000", "30000"], seed)).collect::<Vec<_>>());
    println!("{found:?}");
    assert!(found.iter().all(|(difference, error)| *difference > 2.0 * error), "{found:?}");
}

fn way<'w>(ways: &'w Ways, name: &str) -> &'w (&'static str, study::Precision, Option<f64>) {
    ways.iter().find(|way| way.0 == name).unwrap()
}

#[test]
fn true_propensities_beat_plain_training_on_a_survey() {
    let small = [("users", "2500"), ("test-users", "1000"), ("controlled-users", "1500"), ("items", "120"), ("dim", "8")];
    let ways = survey_ways(&small, 1).unwrap();
    println!("{ways:?}");
    let (plain, corrected) = (way(&ways, "nothing (logistic)").1, way(&ways, "true").1);
    assert!((0..3).all(|k| corrected[k] > plain[k]) && corrected[2] > plain[2] + 0.01, "{plain:?} {corrected:?}");
}

#[test]
#[ignore = "default size, several minutes"]
fn true_propensities_beat_plain_training_on_surveys_of_the_default_size() {
    let all: Vec<Ways> = (0..3).map(|seed| survey_ways(&[], seed).unwrap()).collect();
    for k in 0..3 {
        let gains: Vec<f64> = all.iter().map(|ways| way(ways, "true").1[k] - way(ways, "nothing (logistic)").1[k]).collect();
        let (gain, error) = mean(&gains);
        assert!(gain > 0.01 && gain > 2.0 * error, "at {k}: {gains:?}");
    }
    let correlation = mean(&all.iter().map(|ways| way(ways, "joint: plugin").2.unwrap()).collect::<Vec<_>>()).0;
    println!("rank correlation of learned propensities: {correlation}");
    assert!(correlation > 0.0);
}

/// Half a point below scikit-learn's liblinear at its better setting.
const LEAST: [(&str, [f64; 3]); 2] = [("bibtex", [0.629, 0.388, 0.282]), ("delicious", [0.670, 0.605, 0.558])];

#[test]
fn default_settings_reach_liblinear_on_bibtex() {
    if real("bibtex").is_none() {
        return;
    }
    let (train, test) = benchmark("bibtex").unwrap();
    let found = precision(&fitted(&train, None).unwrap(), &test, None).unwrap();
    println!("{found:?}");
    assert!(found.iter().zip(LEAST[0].1).all(|(found, least)| *found >= least), "{found:?}");
}

#[test]
#[ignore = "all decays of the grid on both benchmarks"]
fn tuned_models_reach_liblinear() {
    for (name, least) in LEAST {
        if real(name).is_some() {
            let (found, decay, ..) = tuned(name).unwrap();
            println!("{name}: {found:?} at decay {decay}");
            assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{name}: {found:?}");
        }
    }
}

#[test]
fn coat_can_be_trained_in_every_way() {
    let Some(folder) = real("coat") else { return };
    let ways = coat_ways(&folder.join("coat"), 1).unwrap();
    assert_eq!(ways.len(), 7);
    assert!(ways.iter().all(|way| way.1.iter().all(|value| value.is_finite() && *value >= 0.0)));
}
