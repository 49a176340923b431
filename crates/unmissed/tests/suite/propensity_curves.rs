//! Gradients of all curves against central differences.

use proptest::prelude::*;
use unmissed::propensity::{Curve, Sample, models::PROPENSITY_MODELS};

fn curves() -> Vec<&'static dyn Curve> {
    PROPENSITY_MODELS.iter().flat_map(|model| model.curves()).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn gradients_match_central_differences(
        curve in 0..curves().len(),
        unit in proptest::collection::vec(0.02..0.98f64, 6),
        count in 1.0..5000.0f64,
        alpha in prop_oneof![Just(0.0), 0.0..3.0f64],
    ) {
        let curve = curves()[curve];
        let name = curve.name();
        // Constants of a sensible size for each parameter, from numbers in (0, 1).
        let theta: Vec<f64> = curve.parameters().iter().zip(&unit).map(|(parameter, u)| match parameter.name {
            "p" | "c" | "d" => *u,
            "beta" => 1.5 * u,
            "g" => 100.0 * u,
            "e" => 1.0 + u,
            "f" | "h" => 0.1 + 3.0 * u,
            _ => 2.0 * u,
        }).collect();
        let at = Sample { rows: 10_000.0, largest: 6_000.0 }.at(count, alpha);
        let mut gradient = vec![0.0; theta.len()];
        let value = curve.gradient(&theta, at, &mut gradient);
        prop_assume!(value > 1e-4 && value < 0.999);
        prop_assert!((value - curve.value(&theta, at)).abs() <= 1e-14 * value.abs());
        for place in 0..theta.len() {
            let step = 1e-6 * theta[place].abs().max(1e-3);
            let moved = |by: f64| {
                let mut theta = theta.clone();
                theta[place] += by;
                curve.value(&theta, at)
            };
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            // Where a curve bends sharply, a wider difference says how far a difference can be off by itself.
            let wider = (moved(2.0 * step) - moved(-2.0 * step)) / (4.0 * step);
            let tolerance = 1e-5 * difference.abs().max(gradient[place].abs()) + 1e-9 + (difference - wider).abs();
            prop_assert!((difference - gradient[place]).abs() <= tolerance, "{name} {theta:?} at {count}: {difference} {gradient:?} [{place}]");
        }
    }
}
