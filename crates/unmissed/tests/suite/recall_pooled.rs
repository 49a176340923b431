//! Recall of all rows together.

use crate::common::rng::{Purpose, stream, uniform};
use unmissed::data::{Csr, Labels, Rate};
use unmissed::evaluate::{Evaluation, IntervalKind, Tally};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

const LABELS: u32 = 20;

/// Relevant labels and scores of two models.
fn world(seed: u64, rows: usize) -> (Labels<'static>, [Csr<'static, f32>; 2]) {
    let (mut truth, mut scores) = (Vec::new(), [Vec::new(), Vec::new()]);
    for row in 0..rows {
        let mut rng = stream(seed, Purpose::GenerateRows, row as u64);
        let many = 0.05 + 0.3 * uniform(&mut rng);
        let relevant: Vec<u32> = (0..LABELS).filter(|_| uniform(&mut rng) < many).collect();
        for (model, skill) in [0.5, 0.2].into_iter().enumerate() {
            let score = |label: u32, noise: f64| (noise + if relevant.contains(&label) { skill } else { 0.0 }) as f32;
            scores[model].push((0..LABELS).map(|label| (label, score(label, uniform(&mut rng)))).collect::<Vec<_>>());
        }
        truth.push(relevant);
    }
    let csr = |rows| Csr::from_rows(u64::from(LABELS), rows).unwrap();
    (Labels::from_ids(u64::from(LABELS), truth).unwrap(), scores.map(csr))
}

fn evaluation<'a>(labels: &'a Labels<'a>, scores: &'a [Csr<'a, f32>; 2]) -> Evaluation<'a> {
    let evaluation = Evaluation::new(labels, &[("a", &scores[0]), ("b", &scores[1])]).unwrap();
    evaluation.metrics(&["recall-pooled"]).unwrap().ks(&[3]).unwrap().bootstrap(0, 0)
}

/// On controlled sets and under known propensities the estimate is near the truth, and intervals cover it, also those of differences.
#[test]
fn intervals_cover_on_controlled_sets_and_under_propensities() {
    let (population, scores) = world(1_000_000, 40_000);
    let truth = evaluation(&population, &scores).run().unwrap();
    let (mut covered, mut differences, mut cases) = (0, 0, 0);
    for repetition in 0..150 {
        let (complete, scores) = world(repetition, 400);
        let draw = |row: usize| stream(77 + repetition, Purpose::Mask, row as u64);
        let controlled = repetition % 2 == 0;
        // Ten of twenty labels are shown to a row, or each label is observed with its own propensity.
        let p: Vec<f64> = (0..LABELS).map(|label| if label % 2 == 0 { 0.8 } else { 0.4 }).collect();
        let rows = (0..400).map(|row| {
            let mut rng = draw(row);
            let mut order: Vec<(f64, u32)> = (0..LABELS).map(|label| (uniform(&mut rng), label)).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            let shown: Vec<u32> = order[..10].iter().map(|(_, label)| *label).collect();
            let is_seen = |label: u32, u: f64| if controlled { shown.contains(&label) } else { u < p[label as usize] };
            complete.row_ids(row).iter().copied().filter(|label| is_seen(*label, uniform(&mut rng))).collect::<Vec<u32>>()
        });
        let observed = Labels::from_ids(u64::from(LABELS), rows.collect::<Vec<_>>()).unwrap();
        let evaluation = evaluation(&observed, &scores);
        let evaluation = if controlled {
            evaluation.rate(Rate::Shown { shown: 10, of: LABELS }).unwrap()
        } else {
            evaluation.propensity(Propensities::new("p", p.clone()).unwrap())
        };
        let result = evaluation.run().unwrap();
        let rows = result.rows.iter().filter(|row| row.estimator == Estimator::Unbiased);
        for (row, truth) in rows.zip(&truth.rows) {
            let truth = truth.value.unwrap();
            covered += u32::from(row.low.unwrap() <= truth && truth <= row.high.unwrap());
            cases += 1;
            assert!((row.value.unwrap() - truth).abs() < 0.2, "{row:?}");
            assert_eq!(row.assumption.starts_with("pairs shown"), controlled, "{row:?}");
        }
        let c = result.comparisons.iter().find(|c| c.estimator == Estimator::Unbiased).unwrap();
        let difference = truth.comparisons[0].difference.unwrap();
        differences += u32::from(c.low.unwrap() <= difference && difference <= c.high.unwrap());
    }
    println!("recall-pooled: covered {covered} of {cases}, differences {differences} of 150");
    assert!((276..=297).contains(&covered) && (136..=149).contains(&differences), "{covered} {differences}");
}

/// Mask intervals are about the value of the same rows with their complete labels; differences of models are paired.
#[test]
fn mask_intervals_cover_the_value_of_the_same_rows() {
    let (complete, scores) = world(9, 400);
    let truth = evaluation(&complete, &scores).run().unwrap();
    let p: Vec<f64> = (0..LABELS).map(|label| if label % 2 == 0 { 0.8 } else { 0.4 }).collect();
    let (mut covered, mut differences) = (0, 0);
    for repetition in 0..200 {
        let rows = (0..400).map(|row| {
            let mut rng = stream(900 + repetition, Purpose::Mask, row as u64);
            complete.row_ids(row).iter().copied().filter(|label| uniform(&mut rng) < p[*label as usize]).collect::<Vec<u32>>()
        });
        let observed = Labels::from_ids(u64::from(LABELS), rows.collect::<Vec<_>>()).unwrap();
        let evaluation = evaluation(&observed, &scores).propensity(Propensities::new("p", p.clone()).unwrap());
        let result = evaluation.interval(IntervalKind::Mask).run().unwrap();
        let row = result.rows.iter().find(|row| row.estimator == Estimator::Unbiased).unwrap();
        let value = truth.rows[0].value.unwrap();
        covered += u32::from(row.low.unwrap() <= value && value <= row.high.unwrap());
        let c = result.comparisons.iter().find(|c| c.estimator == Estimator::Unbiased).unwrap();
        let difference = truth.comparisons[0].difference.unwrap();
        differences += u32::from(c.low.unwrap() <= difference && difference <= c.high.unwrap());
        let observed = result.rows.iter().find(|row| row.estimator == Estimator::Observed).unwrap();
        assert_eq!(observed.low, None, "{observed:?}");
    }
    println!("recall-pooled, masks: covered {covered} of 200, differences {differences} of 200");
    assert!((180..=198).contains(&covered) && (180..=198).contains(&differences), "{covered} {differences}");
}

#[test]
fn parts_add_up_and_it_is_left_to_controlled_sets() {
    let (truth, scores) = world(5, 90);
    let p = Propensities::new("p", vec![0.5; LABELS as usize]).unwrap();
    let evaluation = evaluation(&truth, &scores).propensity(p);
    let whole = evaluation.tally().unwrap();
    let parts = [0..41, 41..90].map(|rows| evaluation.tally_rows(rows).unwrap());
    assert_eq!(Tally::merge(parts).unwrap().to_bytes().unwrap(), whole.to_bytes().unwrap());
    // One propensity for all cancels.
    let result = whole.finish().unwrap();
    let values: Vec<f64> = result.rows.iter().map(|row| row.value.unwrap()).collect();
    assert!((values[0] - values[2]).abs() < 1e-12, "{values:?}");
    let is_pooled = |evaluation: &Evaluation<'_>| evaluation.run().unwrap().rows.iter().any(|row| row.metric == "recall-pooled");
    let plain = Evaluation::new(&truth, &[("a", &scores[0])]).unwrap().ks(&[3]).unwrap().bootstrap(0, 0);
    assert!(!is_pooled(&plain));
    assert!(is_pooled(&plain.rate(Rate::Common(0.5)).unwrap()));
}
