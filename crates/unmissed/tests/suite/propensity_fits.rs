//! Fits of planted curves reach what scipy reaches.
//!
//! The reference values are of scipy 1.17.1, `scipy.optimize.least_squares` with method `lm`, `trf` and `dogbox` (tolerances
//! 1e-14, analytic parametrisation by logarithms of beta, f, g, h; e = 1; c, d in [0, 1]; `lm` with the parameters clipped into the
//! bounds) from 16 starts for the power law and 28 for Richards, on the data of `planted` below; the smallest of all
//! mean squared errors is written down.

use crate::common::rng::uniform_at;
use unmissed::data::LabelStats;
use unmissed::propensity::fit::{CurveEvidence, Fit, FitLoss, FitOptions, Stop, fit};
use unmissed::propensity::models::{families, family, parse};
use unmissed::propensity::{Phi, Sample};

const ROWS: f64 = 100_000.0;

/// 1000 labels with log-uniform counts; inverse propensities of the curve times lognormal noise with sigma 0.5. Exposures are
/// such that `q^ = v / E` has the wanted value to nine digits.
fn planted(curve: &Phi) -> CurveEvidence {
    let sample = Sample { rows: ROWS, largest: 30_000.0 };
    let of = |label: u32| {
        let count = (uniform_at(11, label) * 30_000f64.ln()).exp().floor();
        let radius = (-2.0 * (1.0 - uniform_at(12, label)).ln()).sqrt();
        let noise = (0.5 * radius * (2.0 * std::f64::consts::PI * uniform_at(13, label)).cos()).exp();
        let positives = 1_000_000_000u64;
        (count as u64, positives, positives as f64 * curve.at(sample, count) / noise)
    };
    CurveEvidence::from_controlled(sample, (0..1000).map(of))
}

fn curve(spec: &str) -> Phi {
    parse(spec).unwrap().curve().unwrap().clone()
}

/// What the paper minimises.
fn least_squares() -> FitOptions {
    FitOptions { loss: FitLoss::Squared, ..FitOptions::default() }
}

fn fitted(planted_spec: &str, name: &str) -> Fit {
    fit(&family(name).unwrap(), &planted(&curve(planted_spec)), &least_squares()).unwrap()
}

const POWER: &str = "power:beta=8,gamma=0.4";
const RICHARDS: &str = "richards:c=0.05,d=0.95,f=20,g=60,h=0.8";

#[test]
fn fits_reach_the_best_of_scipy() {
    let mut bad = Vec::new();
    for (planted, name, best) in [
        (POWER, "power", 92.49738721337994),
        (POWER, "richards", 101.27305976270344),
        (RICHARDS, "power", 66.82774630305876),
        (RICHARDS, "richards", 52.21679420632564),
    ] {
        let fit = fitted(planted, name);
        println!("{planted} by {name}: {} ({best}), spread {:?}, {:?} {:?}", fit.mse, fit.spread(), fit.stop, fit.degenerate);
        println!("   {} se {:?}", fit.spec, fit.standard_errors);
        println!("   {:?}", fit.starts.iter().map(|s| (s.origin, s.objective, s.stop)).collect::<Vec<_>>());
        if fit.mse > best * (1.0 + 1e-4) {
            bad.push((planted, name, fit.mse, best));
        }
        assert!((fit.objective / fit.mse - 1.0).abs() < 1e-9, "grouping is exact");
    }
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn standard_errors_where_they_exist_and_none_where_the_curve_degenerates() {
    let power = fitted(POWER, "power");
    assert_eq!(power.stop, Stop::Converged);
    assert!(power.degenerate.is_empty(), "{:?}", power.degenerate);
    // Noise makes the planted constants uncertain; the lognormal factor has mean exp(1/8), which beta absorbs.
    let gamma = (power.phi.theta()[1] - 0.4) / power.standard_errors[1].unwrap();
    assert!(gamma.abs() < 4.0, "{gamma}");
    assert!(power.inverse_variance(10.0).unwrap() > 0.0);
    let richards = fitted(POWER, "richards");
    assert!(!richards.degenerate.is_empty());
    assert!(richards.standard_errors.iter().any(Option::is_none));
}

#[test]
fn the_log_loss_recovers_a_curve_under_lognormal_noise() {
    let options = FitOptions { loss: FitLoss::Log, ..FitOptions::default() };
    let fit = fit(&family("power").unwrap(), &planted(&curve(POWER)), &options).unwrap();
    let [beta, gamma] = [fit.phi.theta()[0], fit.phi.theta()[1]];
    assert!((beta / 8.0).ln().abs() < 0.15 && (gamma - 0.4).abs() < 0.02, "{beta} {gamma}");
}

#[test]
fn the_same_seed_gives_the_same_fit_whatever_the_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted(RICHARDS, "jpv").phi.theta().to_vec())
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn impossible_fits_are_refused() {
    let stats = LabelStats::from_counts(10, &[1, 0]).unwrap();
    let p = unmissed::propensity::Propensities::new("x", vec![0.5, 0.5]).unwrap();
    let evidence = CurveEvidence::from_propensities(&p, &stats).unwrap();
    let message = fit(&family("power").unwrap(), &evidence, &FitOptions::default()).unwrap_err().to_string();
    assert!(message.contains("too few labels"), "{message}");
    let options = FitOptions { loss: FitLoss::NegativeBinomial, ..FitOptions::default() };
    let message = fit(&family("constant").unwrap(), &evidence, &options).unwrap_err().to_string();
    assert!(message.contains("controlled set"), "{message}");
    let tiny = CurveEvidence::from_controlled(Sample { rows: 2.0, largest: 2.0 }, [(1, 1, 0.5), (2, 1, 0.5), (2, 2, 0.5)]);
    assert!(fit(&family("jpv").unwrap(), &tiny, &FitOptions::default()).unwrap_err().to_string().contains("jpv needs more rows"));
}

/// Whatever the data are like, a fit ends with a curve in (0, 1] or with an error: it never panics.
#[test]
fn awkward_data_do_no_harm() {
    let sample = Sample { rows: 1000.0, largest: 900.0 };
    let awkward: [Vec<(u64, u64, f64)>; 6] = [
        vec![(1, 0, 0.1), (20, 0, 2.0), (900, 0, 90.0), (3, 0, 0.3), (5, 0, 0.5)],
        vec![(7, 3, 0.7); 9],
        (1..=9).map(|count| (count, 1_000_000, 1e-3)).collect(),
        (1..=9).map(|count| (count, 1, 1e9)).collect(),
        (1..=9).map(|count| (100 * count, count % 2, 1.0)).collect(),
        vec![],
    ];
    for labels in awkward {
        for name in families() {
            for loss in FitLoss::ALL {
                let evidence = CurveEvidence::from_controlled(sample, labels.iter().copied());
                let options = FitOptions { loss, ..FitOptions::default() };
                match fit(&family(name).unwrap(), &evidence, &options) {
                    Ok(fit) => {
                        let p = fit.at(0.5);
                        assert!(p > 0.0 && p <= 1.0, "{name} {loss:?} {labels:?}: {p} {}", fit.spec);
                        assert!(parse(&fit.spec).is_ok(), "{}", fit.spec);
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
}

#[test]
fn a_search_that_is_at_the_optimum_has_converged() {
    let sample = Sample { rows: 1000.0, largest: 300.0 };
    let one_group = CurveEvidence::from_controlled(sample, (0..5).map(|v| (7, v, 1.0)));
    let below_one = CurveEvidence::from_controlled(sample, [(7, 1, 4.0), (9, 2, 7.0), (300, 5, 9.0)]);
    for evidence in [planted(&curve(POWER)), planted(&curve(RICHARDS)), one_group, below_one] {
        for loss in [FitLoss::Squared, FitLoss::NegativeBinomial] {
            let fit = fit(&family("constant").unwrap(), &evidence, &FitOptions { loss, ..FitOptions::default() }).unwrap();
            assert!(matches!(fit.stop, Stop::Converged | Stop::NoProgress), "{loss:?}: {:?} {}", fit.stop, fit.spec);
        }
    }
}

#[test]
fn a_fit_starts_somewhere_and_one_start_has_no_spread() {
    let evidence = planted(&curve(POWER));
    for loss in FitLoss::ALL {
        let with = |starts| fit(&family("power").unwrap(), &evidence, &FitOptions { loss, starts, seed: 0 });
        let message = with(0).unwrap_err().to_string();
        assert!(message.contains("starts of at least 1"), "{message}");
    }
    let with = |starts| fit(&family("power").unwrap(), &evidence, &FitOptions { starts, ..least_squares() }).unwrap();
    assert_eq!((with(1).spread(), with(3).spread().is_some()), (None, true));
}

#[test]
fn the_default_is_the_likelihood_where_there_are_counts() {
    let evidence = planted(&curve(POWER));
    let of = |loss| fit(&family("power").unwrap(), &evidence, &FitOptions { loss, ..FitOptions::default() }).unwrap();
    assert_eq!((of(FitLoss::Auto).loss, of(FitLoss::Auto).spec), ("negative-binomial", of(FitLoss::NegativeBinomial).spec));
    let stats = LabelStats::from_counts(1000, &(1..=200).collect::<Vec<u64>>()).unwrap();
    let known = curve(POWER).propensities(&stats).unwrap();
    let known = CurveEvidence::from_propensities(&known, &stats).unwrap();
    assert_eq!(fit(&family("power").unwrap(), &known, &FitOptions::default()).unwrap().loss, "squared");
}
