use super::*;
use crate::data::{Dense, Features};
use crate::predict::Normalize;
use crate::rng::{Purpose, row_key, uniform_at};
use crate::sigmoid::sigmoid;

const LABELS: usize = 40;
const SHOWN: u32 = 8;

/// The weights and the bias of the true logits.
fn truth(label: usize) -> ([f64; 2], f64) {
    let angle = label as f64 * 0.7;
    ([1.5 * angle.cos(), 1.5 * angle.sin()], -1.0 - (label % 5) as f64 * 0.5)
}

fn propensity(label: usize) -> f64 {
    [0.9, 0.5, 0.1, 0.05][label % 4]
}

/// A model with the true weights and the bias moved by `shift`, or with weights that say nothing.
fn model(weights: bool, shift: impl Fn(usize) -> f64) -> Model {
    let of = |label: usize| if weights { truth(label) } else { ([0.3 * (label % 3) as f64, -0.2], -2.0) };
    let bias = (0..LABELS).map(|label| (of(label).1 + shift(label)) as f32).collect();
    let weights = (0..2).flat_map(|f| (0..LABELS).map(move |label| of(label).0[f] as f32)).collect();
    Model::new(2, Normalize::None, vec![Block { first: 0, bias, weights }]).unwrap()
}

/// Controlled rows: features, what is relevant among what was shown, and what was shown.
fn controlled(rows: usize) -> (Dataset<'static>, Labels<'static>) {
    let key = |row: usize| row_key(11, Purpose::GenerateRows, row as u64);
    let x = |row: usize, f: u32| 4.0 * uniform_at(key(row), f) - 2.0;
    let features: Vec<f32> = (0..rows).flat_map(|row| [x(row, 0) as f32, x(row, 1) as f32]).collect();
    let mut shown = Vec::new();
    let mut relevant = Vec::new();
    for row in 0..rows {
        let mut order: Vec<u32> = (0..LABELS as u32).collect();
        order.sort_by(|a, b| uniform_at(key(row), 100 + a).total_cmp(&uniform_at(key(row), 100 + b)));
        let mut some = order[..SHOWN as usize].to_vec();
        some.sort_unstable();
        let eta = |label: u32| {
            let (w, b) = truth(label as usize);
            sigmoid(b + w[0] * x(row, 0) + w[1] * x(row, 1))
        };
        relevant.push(some.iter().copied().filter(|label| uniform_at(key(row), 200 + label) < eta(*label)).collect::<Vec<_>>());
        shown.push(some);
    }
    let features = Features::Dense(Dense::new(rows, 2, features).unwrap());
    let relevant = Labels::from_ids(LABELS as u64, relevant).unwrap();
    (Dataset::new(Some(features), relevant).unwrap(), Labels::from_ids(LABELS as u64, shown).unwrap())
}

/// The stack of two models on so many controlled rows.
fn stacked(uncorrected: &Model, joint: &Model, rows: usize, with_shown: bool) -> Stacked {
    let (controlled, shown) = controlled(rows);
    let counts = vec![100; LABELS];
    let rate = Rate::Shown { shown: SHOWN, of: LABELS as u32 };
    let stack = Stack {
        uncorrected,
        joint,
        counts: &counts,
        rows: 1000,
        controlled: &controlled,
        rate: &rate,
        shown: with_shown.then_some(&shown),
        weights: None,
        seed: 1,
    };
    stack.fit().unwrap()
}

/// The logit of an observed label is about that of a relevant one plus ln p: label effects have to take that back.
#[test]
fn missing_labels_are_made_up_for() {
    let observed = model(true, |label| propensity(label).ln());
    for with_shown in [true, false] {
        let Stacked { model: found, table } = stacked(&observed, &model(false, |_| 0.0), 3000, with_shown);
        assert!(table.taken && table.gain > 3.0 * table.gain_se, "{table:?}");
        assert_eq!((table.rows, table.shown), (3000, with_shown));
        assert_eq!(table.pairs, if with_shown { 3000 * 8 } else { 3000 * 40 });
        let [_, slope, joint, _] = table.coefficients;
        assert!((slope - 1.0).abs() < 0.15 && joint.abs() < 0.3, "{table:?}");
        let losses: Vec<f64> = table.lines.iter().map(|line| line.loss).collect();
        assert!(losses[3] < losses[2] && losses[2] < losses[0], "{losses:?}");
        // Biases come back to the truth, up to what 600 pairs (or 120 positives) of a label can say.
        let errors: Vec<f64> = (0..LABELS).map(|label| f64::from(found.bias()[label]) - truth(label).1).collect();
        let rms = (errors.iter().map(|e| e * e).sum::<f64>() / LABELS as f64).sqrt();
        assert!(rms < if with_shown { 0.25 } else { 0.5 }, "{rms}: {errors:?}");
    }
}

#[test]
fn a_good_second_model_takes_over() {
    let noise = model(false, |label| (label % 7) as f64);
    let Stacked { model: found, table } = stacked(&noise, &model(true, |_| 0.0), 2000, true);
    let [_, plain, joint, _] = table.coefficients;
    assert!(table.taken && plain.abs() < 0.1 && (joint - 1.0).abs() < 0.15, "{table:?}");
    assert!((f64::from(found.weight(0, 3)) - truth(3).0[0]).abs() < 0.3);
}

/// If nothing is missing, and if a few rows can prove nothing, the model is not changed.
#[test]
fn the_guard_keeps_what_cannot_be_shown_to_be_worse() {
    let right = model(true, |_| 0.0);
    let noise = model(false, |_| 0.0);
    let kept = stacked(&right, &noise, 1500, true);
    assert!(!kept.table.taken && kept.model == right, "{:?}", kept.table);
    let observed = model(true, |label| propensity(label).ln() / 4.0);
    let few = stacked(&observed, &noise, 12, true);
    assert!(!few.table.taken && few.model == observed, "{:?}", few.table);
}

#[test]
fn results_do_not_depend_on_threads() {
    let observed = model(true, |label| propensity(label).ln());
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| stacked(&observed, &model(false, |_| 0.0), 300, false))
    };
    assert!(on(1) == on(4));
}

#[test]
fn what_does_not_fit_is_refused() {
    let (right, counts) = (model(true, |_| 0.0), vec![1; LABELS]);
    let (controlled, shown) = controlled(30);
    let message = |rate: &str, counts: &[u64], shown: Option<&Labels<'_>>, controlled: &Dataset<'_>| {
        let rate = rate.parse().unwrap();
        let (uncorrected, joint) = (&right, &right);
        Stack { uncorrected, joint, counts, rows: 10, controlled, rate: &rate, shown, weights: None, seed: 0 }
            .fit()
            .unwrap_err()
            .to_string()
    };
    assert!(message("8/50", &counts, None, &controlled).contains("expected r/m with m = 40 labels"));
    assert!(message("8/40", &counts[1..], None, &controlled).contains("the number of label counts"));
    let others = shown.select_rows(&(1..30).chain([0]).collect::<Vec<_>>());
    assert!(message("8/40", &counts, Some(&others), &controlled).contains("is positive, but was not shown"));
    let features = controlled.features().cloned();
    let nothing = Dataset::new(features, Labels::from_ids(LABELS as u64, vec![Vec::<u32>::new(); 30]).unwrap()).unwrap();
    assert!(message("8/40", &counts, None, &nothing).contains("has too little data"));
}
