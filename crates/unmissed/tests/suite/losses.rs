//! Every loss of the registry: derivatives meet differences, sweeps meet the definition, what a loss says of itself holds.

use proptest::prelude::*;
use unmissed::losses::{LOSSES, Loss};

/// How the squared hinge's kinks would spoil differences is known: points near them are left out.
fn near_kink(z: f64) -> bool {
    (z.abs() - 1.0).abs() < 1e-3
}

proptest! {
    #[test]
    fn derivatives_meet_finite_differences(z in -8.0..8.0f64, p in 0.02..=1.0f64, observed: bool) {
        prop_assume!(!near_kink(z));
        let h = 1e-5;
        for loss in LOSSES {
            let (low, here, high) = (loss.at(z - h, observed, p), loss.at(z, observed, p), loss.at(z + h, observed, p));
            let scale = 1.0 + here.value.abs() + here.gradient.abs();
            let slope = (high.value - low.value) / (2.0 * h);
            prop_assert!((slope - here.gradient).abs() < 1e-7 * scale, "{}: {} and {}", loss.name(), slope, here.gradient);
            let bend = (high.gradient - low.gradient) / (2.0 * h);
            prop_assert!((bend - here.curvature).abs() < 1e-7 * scale, "{}: {} and {}", loss.name(), bend, here.curvature);
        }
    }

    #[test]
    fn sweeps_meet_the_definition(logits in prop::collection::vec(-30.0..30.0f32, 60), p in prop::collection::vec(0.02..=1.0f32, 20)) {
        for loss in LOSSES {
            let mut in_place = logits.clone();
            loss.gradients(&mut in_place, &p);
            let (mut gradients, mut curvatures, mut values) = (vec![0.0; 60], vec![0.0; 60], vec![0.0; 20]);
            loss.terms(&logits, &p, &mut gradients, &mut curvatures, &mut values);
            let mut values_alone = vec![0.0; 20];
            loss.values(&logits, &p, &mut values_alone);
            prop_assert_eq!(&values_alone, &values, "{}", loss.name());
            let mut sums = [0.0; 20];
            for (place, &z) in logits.iter().enumerate() {
                let point = loss.at(f64::from(z), false, f64::from(p[place % 20]));
                sums[place % 20] += point.value;
                let near = |got: f32, expected: f64| (f64::from(got) - expected).abs() <= 1e-6 + 1e-5 * expected.abs();
                prop_assert!(near(in_place[place], point.gradient), "{}: gradient at {z}", loss.name());
                prop_assert_eq!(in_place[place], gradients[place]);
                if loss.nature().newton {
                    prop_assert!(curvatures[place] >= 0.0, "{}: curvature at {z}", loss.name());
                }
                // Where a loss is not convex, its steps take a larger curvature.
                let larger = !loss.nature().convex && f64::from(curvatures[place]) >= point.curvature - 1e-6;
                prop_assert!(near(curvatures[place], point.curvature) || larger, "{}: curvature at {z}", loss.name());
            }
            for (value, sum) in values.iter().zip(sums) {
                prop_assert!((value - sum).abs() <= 1e-4 * (1e-2 + sum.abs()), "{}: {value} and {sum}", loss.name());
            }
        }
    }

    /// Propensities by pair give what each pair's own would.
    #[test]
    fn sweeps_take_propensities_by_pair(logits in prop::collection::vec(-30.0..30.0f32, 12), p in prop::collection::vec(0.02..=1.0f32, 12)) {
        for loss in LOSSES {
            let (mut in_place, mut gradients, mut curvatures) = (logits.clone(), vec![0.0; 12], vec![0.0; 12]);
            let mut values = vec![0.0; 4];
            loss.gradients(&mut in_place, &p);
            loss.terms(&logits, &p, &mut gradients, &mut curvatures, &mut values);
            let mut sums = [0.0; 4];
            for place in 0..12 {
                let (mut gradient, mut curvature, mut value) = ([0.0], [0.0], [0.0]);
                loss.terms(&logits[place..=place], &p[place..=place], &mut gradient, &mut curvature, &mut value);
                prop_assert_eq!((in_place[place], gradients[place], curvatures[place]), (gradient[0], gradient[0], curvature[0]));
                sums[place % 4] += value[0];
            }
            prop_assert_eq!(&values[..], &sums[..]);
        }
    }

    /// The Fisher information of an unobserved pair: the variance of the score, shared out over both outcomes as
    /// `E[curvature] = P(observed) s (1 - s) + P(unobserved) p s (1 - s)^2 / (1 - p s)` at least `(p s (1 - s))^2 / (p s (1 - p s))`.
    #[test]
    fn steps_of_the_likelihood_are_never_too_long(z in -8.0..8.0f32, p in 0.02..=1.0f32) {
        let loss = unmissed::losses::find("plugin-logistic").unwrap();
        let (mut gradient, mut curvature, mut value) = ([0.0], [0.0], [0.0]);
        loss.terms(&[z], &[p], &mut gradient, &mut curvature, &mut value);
        let (z, p) = (f64::from(z), f64::from(p));
        let s = 1.0 / (1.0 + (-z).exp());
        let by_hand = p * s * (1.0 - s).powi(2) / (1.0 - p * s);
        prop_assert!((f64::from(curvature[0]) - by_hand).abs() < 1e-6 + 1e-5 * by_hand);
        let seen = p * s;
        let expected = seen * loss.at(z, true, p).curvature + (1.0 - seen) * by_hand;
        let information = (p * s * (1.0 - s)).powi(2) / (seen * (1.0 - seen));
        prop_assert!(expected >= information - 1e-12, "{expected} below {information}");
    }

    /// Over what goes missing, the mean of an unbiased loss is the loss on the true label.
    #[test]
    fn unbiased_losses_are_unbiased(z in -8.0..8.0f64, p in 0.02..=1.0f64) {
        let plain_name = |loss: &&'static dyn Loss| Some((*loss, loss.name().strip_prefix("unbiased-")?));
        for (unbiased, plain) in LOSSES.iter().filter_map(plain_name) {
            let plain = unmissed::losses::find(plain).unwrap();
            let mean = p * unbiased.at(z, true, p).value + (1.0 - p) * unbiased.at(z, false, p).value;
            let clean = plain.at(z, true, 1.0).value;
            prop_assert!((mean - clean).abs() < 1e-9 * (1.0 + clean), "{}: {mean} and {clean}", plain.name());
        }
    }

}

#[test]
fn every_loss_has_a_page() {
    for loss in LOSSES {
        let file = format!("{}/src/losses/{}.rs", env!("CARGO_MANIFEST_DIR"), loss.name().replace('-', "_"));
        let text = std::fs::read_to_string(&file).unwrap();
        let page: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for part in [&format!("`{}`", loss.name())[..], "# Good for", "# Assumes", "# Reference", "assert"] {
            assert!(page.contains(part), "{file} lacks '{part}'");
        }
    }
}

#[test]
fn without_missing_labels_a_corrected_loss_is_a_plain_one() {
    let is_same = |loss: &dyn Loss, plain: &dyn Loss| {
        let mut pairs = (-80..=80).flat_map(|step| [true, false].map(|observed| (f64::from(step) / 10.0, observed)));
        pairs.all(|(z, observed)| (loss.at(z, observed, 1.0).value - plain.at(z, observed, 1.0).value).abs() < 1e-12)
    };
    let (corrected, plain): (Vec<&dyn Loss>, Vec<&dyn Loss>) = LOSSES.iter().copied().partition(|loss| loss.nature().corrects);
    for loss in corrected {
        assert_eq!(plain.iter().filter(|plain| is_same(loss, **plain)).count(), 1, "{}", loss.name());
    }
}

#[test]
fn losses_are_what_they_say() {
    let everywhere = |loss: &dyn Loss, holds: &dyn Fn(unmissed::losses::Point) -> bool| {
        let mut points = (-400..=400).flat_map(|step| [true, false].map(|observed| (f64::from(step) / 10.0, observed)));
        points.all(|(z, observed)| [0.05, 0.5, 1.0].iter().all(|&p| holds(loss.at(z, observed, p))))
    };
    for loss in LOSSES {
        assert_eq!(loss.nature().convex, everywhere(*loss, &|point| point.curvature >= 0.0), "{}", loss.name());
        // A part that training keeps from falling below 0 over rows is not what can be without a bound.
        let bounded = everywhere(*loss, &|point| point.value >= 0.0);
        assert_eq!(loss.nature().bounded, bounded || loss.irrelevant(0.0, true, 0.5).is_some(), "{}", loss.name());
        assert!(loss.nature().newton || !loss.nature().convex, "{}", loss.name());
        // Where a label seems far from relevant, an observed pair pulls with its whole weight.
        let pull = loss.at(-20.0, true, 0.25).gradient / loss.at(-20.0, true, 1.0).gradient;
        assert!(loss.weight(1.0) == 1.0 && (loss.weight(0.25) - pull).abs() < 1e-6, "{}: {pull}", loss.name());
        let moved = loss.at(0.3, true, 0.5) != loss.at(0.3, true, 1.0);
        assert_eq!(loss.nature().corrects, moved, "{}", loss.name());
    }
}

/// The part that is kept from falling below 0 has, over what goes missing, the mean of the loss on an irrelevant label where the label
/// is irrelevant and nothing where it is relevant; what is left is not below 0.
#[test]
fn parts_of_irrelevant_pairs_are_unbiased() {
    for loss in LOSSES.iter().filter(|loss| loss.irrelevant(0.0, false, 1.0).is_some()) {
        for z in [-6.0, -0.5, 0.0, 2.0, 7.0] {
            for p in [0.05, 0.5, 1.0] {
                let part = |observed| loss.irrelevant(z, observed, p).unwrap();
                let relevant = p * part(true).value + (1.0 - p) * part(false).value;
                assert!(relevant.abs() < 1e-12 * (1.0 + part(false).value), "{}: {relevant}", loss.name());
                assert!((part(false).value - loss.at(z, false, p).value).abs() < 1e-12);
                assert!([true, false].iter().all(|observed| loss.at(z, *observed, p).value - part(*observed).value >= -1e-12));
                let h = 1e-5;
                let differences = [true, false].map(|observed| {
                    let (low, high) = (loss.irrelevant(z - h, observed, p).unwrap(), loss.irrelevant(z + h, observed, p).unwrap());
                    let slope = (high.value - low.value) / (2.0 * h) - part(observed).gradient;
                    slope.abs().max(((high.gradient - low.gradient) / (2.0 * h) - part(observed).curvature).abs())
                });
                assert!(differences.iter().all(|difference| *difference < 1e-6), "{}: {differences:?}", loss.name());
            }
        }
    }
}
