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
                prop_assert!(near(curvatures[place], point.curvature), "{}: curvature at {z}", loss.name());
            }
            for (value, sum) in values.iter().zip(sums) {
                prop_assert!((value - sum).abs() <= 1e-4 * (1e-2 + sum.abs()), "{}: {value} and {sum}", loss.name());
            }
        }
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
        assert_eq!(loss.nature().bounded, everywhere(*loss, &|point| point.value >= 0.0), "{}", loss.name());
        let moved = loss.at(0.3, true, 0.5) != loss.at(0.3, true, 1.0);
        assert_eq!(loss.nature().corrects, moved, "{}", loss.name());
    }
}
