//! What `docs/training.md` says about training on real data, in reduced form; the whole of it with `-- --ignored`.

#[path = "../../examples/training_study.rs"]
#[allow(dead_code, unreachable_pub)]
mod study;

use study::{benchmark, fitted, precision, tuned};

/// Half a point below scikit-learn's liblinear at its better setting.
const LEAST: [(&str, [f64; 3]); 2] = [("bibtex", [0.629, 0.388, 0.282]), ("delicious", [0.670, 0.605, 0.558])];

#[test]
fn default_settings_reach_liblinear_on_bibtex() {
    if crate::common::data("bibtex").is_none() {
        return;
    }
    let (train, test) = benchmark("bibtex").unwrap();
    let found = precision(&fitted(&train).unwrap(), &test).unwrap();
    println!("{found:?}");
    assert!(found.iter().zip(LEAST[0].1).all(|(found, least)| *found >= least), "{found:?}");
}

#[test]
#[ignore = "all decays of the grid on both benchmarks"]
fn tuned_models_reach_liblinear() {
    for (name, least) in LEAST {
        if crate::common::data(name).is_some() {
            let (found, decay, ..) = tuned(name).unwrap();
            println!("{name}: {found:?} at decay {decay}");
            assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{name}: {found:?}");
        }
    }
}
