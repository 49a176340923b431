//! Gradients of all curves against central differences.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use unmissed::propensity::{Curve, Hint, Sample, models::PROPENSITY_MODELS};

/// Data as a fit may see them: where its starts lie, a curve has sensible constants.
const HINT: Hint = Hint {
    sample: Sample { rows: 10_000.0, largest: 6_000.0 },
    priors: [1e-4, 1e-2, 0.6],
    inverse: [12.0, 4.0, 1.5],
    level: 0.4,
    slope: 0.35,
};

/// Constants near a start, each moved by a factor of its own.
fn near_a_start(curve: &dyn Curve, start: usize, factors: &[f64]) -> Vec<f64> {
    let starts = curve.starts(HINT);
    let moved = starts[start % starts.len()].iter().zip(factors).zip(curve.parameters());
    moved.map(|((value, factor), parameter)| (value * factor).clamp(parameter.low + 1e-3, parameter.high - 1e-3)).collect()
}

fn gradient_is_right(curve: &dyn Curve, theta: &[f64], count: f64, alpha: f64) -> Result<(), TestCaseError> {
    let (name, at) = (curve.name(), HINT.sample.at(count, alpha));
    let mut gradient = vec![0.0; theta.len()];
    let value = curve.gradient(theta, at, &mut gradient);
    prop_assume!(value > 1e-4 && value < 0.999);
    prop_assert!((value - curve.value(theta, at)).abs() <= 1e-14 * value.abs());
    for place in 0..theta.len() {
        let step = 1e-6 * theta[place].abs().max(1e-3);
        let moved = |by: f64| {
            let mut theta = theta.to_vec();
            theta[place] += by;
            curve.value(&theta, at)
        };
        let difference = (moved(step) - moved(-step)) / (2.0 * step);
        // Where a curve bends sharply, a wider difference says how far a difference can be off by itself.
        let wider = (moved(2.0 * step) - moved(-2.0 * step)) / (4.0 * step);
        let tolerance = 1e-5 * difference.abs().max(gradient[place].abs()) + 1e-9 + (difference - wider).abs();
        let is_right = (difference - gradient[place]).abs() <= tolerance;
        prop_assert!(is_right, "{name} {theta:?} at {count}: {difference} {gradient:?} [{place}]");
    }
    Ok(())
}

/// A curve whose values are hardly ever inside (0, 1) near its own starts fails too: it has too many rejected cases.
#[test]
fn gradients_match_central_differences() {
    for curve in PROPENSITY_MODELS.iter().flat_map(|model| model.curves()) {
        let config =
            ProptestConfig { cases: 400, max_global_rejects: 20_000, failure_persistence: None, ..ProptestConfig::default() };
        let factors = proptest::collection::vec(0.3..3.0f64, curve.parameters().len());
        let cases = (0..64usize, factors, 1.0..5000.0f64, prop_oneof![Just(0.0), 0.0..3.0f64]);
        let checked = TestRunner::new(config).run(&cases, |(start, factors, count, alpha)| {
            gradient_is_right(*curve, &near_a_start(*curve, start, &factors), count, alpha)
        });
        assert!(checked.is_ok(), "{}: {checked:?}", curve.name());
    }
}
