//! Uncertain propensities: what they add to every variance is what moving each inverse propensity by hand says. Of errors that are a
//! label's own, the part within rows is in the variance of row terms already.

use crate::common::evaluation::Rows;
use unmissed::evaluate::{Evaluation, EvaluationResult, Groups, IntervalKind};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

const LABELS: usize = 8;
const METRICS: [&str; 8] =
    ["precision", "ndcg", "weighted-precision", "recall", "ndcg-min", "abandonment", "macro-f", "coverage:observed,unbiased"];

fn inverses() -> Vec<f64> {
    (0..LABELS).map(|j| 0.7 + 0.35 * j as f64).collect()
}

fn variances() -> Vec<f64> {
    (0..LABELS).map(|j| 0.01 * (1 + j % 3) as f64).collect()
}

fn errors() -> Vec<Vec<f64>> {
    vec![(0..LABELS).map(|j| 0.05 * j as f64).collect(), vec![0.08; LABELS]]
}

fn evaluate(rows: &Rows, p: Propensities, kind: IntervalKind) -> EvaluationResult {
    let (truth, a, b) = (rows.labels(), rows.scores(), Rows::random(60, LABELS, 0.5, 0.1, 3).scores());
    let of: Vec<Option<u16>> = (0..LABELS).map(|j| Some((j % 2) as u16)).collect();
    let groups = Groups::new(vec!["even".into(), "odd".into()], &of, "by hand").unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().propensity(p).metrics(&METRICS).unwrap();
    let evaluation = evaluation.weights("w", (0..LABELS).map(|j| 0.5 + 0.2 * j as f64).collect()).unwrap().clip(2.0).unwrap();
    evaluation.groups(groups).unwrap().interval(kind).ks(&[1, 3]).unwrap().run().unwrap()
}

#[test]
fn every_interval_has_what_the_propensities_are_uncertain_by() {
    let rows = Rows::random(60, LABELS, 0.5, 0.6, 3);
    let with = |inverses: Vec<f64>| {
        let values = inverses.iter().map(|q| (1.0 / q).min(1.0)).collect();
        Propensities::new("p", values).unwrap().with_score_inverses(inverses).unwrap()
    };
    for kind in [IntervalKind::Population, IntervalKind::Mask] {
        let known = evaluate(&rows, with(inverses()), kind);
        let uncertain =
            |variances| with(inverses()).with_inverse_variances(variances).unwrap().with_common_errors(errors()).unwrap();
        let in_common = evaluate(&rows, uncertain(vec![0.0; LABELS]), kind);
        let found = evaluate(&rows, uncertain(variances()), kind);
        let step = 1e-4;
        let moved: Vec<[EvaluationResult; 2]> = (0..LABELS)
            .map(|label| {
                [step, -step].map(|by| {
                    let mut moved = inverses();
                    moved[label] += by;
                    evaluate(&rows, with(moved), kind)
                })
            })
            .collect();
        let added = |value: &dyn Fn(&EvaluationResult) -> f64| {
            let slopes: Vec<f64> = moved.iter().map(|[up, down]| (value(up) - value(down)) / (2.0 * step)).collect();
            let own: f64 = slopes.iter().zip(variances()).map(|(slope, variance)| slope * slope * variance).sum();
            let common = |error: &Vec<f64>| slopes.iter().zip(error).map(|(slope, error)| slope * error).sum::<f64>().powi(2);
            (own, errors().iter().map(common).sum::<f64>())
        };
        let is_close = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9 + 1e-4 * wanted;
        let check = |row: &dyn std::fmt::Debug, [narrow, middle, wide]: [f64; 3], (own, common): (f64, f64)| {
            assert!(
                is_close(middle * middle - narrow * narrow, common),
                "{kind}: {row:?}: {} {common}",
                middle * middle - narrow * narrow
            );
            let added = wide * wide - middle * middle;
            assert!((-1e-9..=own * (1.0 + 1e-4) + 1e-9).contains(&added), "{kind}: {row:?}: {added} {own}");
        };
        let mut seen = 0;
        for (place, row) in found.rows.iter().enumerate() {
            let (Some(wide), Some(narrow)) = (row.se, known.rows[place].se) else { continue };
            let wanted = added(&|result| result.rows[place].value.unwrap());
            assert_eq!(wanted.0 > 0.0, row.estimator != Estimator::Observed, "{row:?}");
            check(row, [narrow, in_common.rows[place].se.unwrap(), wide], wanted);
            seen += 1;
        }
        for (place, row) in found.comparisons.iter().enumerate() {
            let (Some(wide), Some(narrow)) = (row.se, known.comparisons[place].se) else { continue };
            let wanted = added(&|result| result.comparisons[place].difference.unwrap());
            check(row, [narrow, in_common.comparisons[place].se.unwrap(), wide], wanted);
            seen += 1;
        }
        assert!(seen > 200, "{seen}");
        assert!(known.notes.iter().any(|note| note.ends_with("taken as known")));
        assert!(found.notes.iter().all(|note| !note.contains("taken as known")));
        assert!(found.notes.iter().any(|note| note.ends_with("all intervals include the uncertainty of the propensities")));
    }
}
