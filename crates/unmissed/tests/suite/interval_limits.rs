//! The output says what intervals leave out.

use crate::common::evaluation::Rows;
use unmissed::evaluate::{Evaluation, EvaluationResult};
use unmissed::propensity::Propensities;

const LABELS: usize = 40;

/// An evaluation with inverse propensities q, each with this relative error.
fn evaluate(q: f64, error: f64, metrics: &[&str]) -> EvaluationResult {
    let rows = Rows::random(300, LABELS, 0.5, 0.5, 3);
    let (truth, scores) = (rows.labels(), rows.scores());
    let p = Propensities::new("p", vec![1.0 / q; LABELS]).unwrap();
    let p = if error > 0.0 { p.with_inverse_variances(vec![(error * q).powi(2); LABELS]).unwrap() } else { p };
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().propensity(p);
    evaluation.metrics(metrics).unwrap().ks(&[3]).unwrap().run().unwrap()
}

fn has_note(result: &EvaluationResult, text: &str) -> bool {
    result.notes.iter().any(|note| note.contains(text))
}

#[test]
fn noisy_inverse_propensities_get_a_note_where_they_bend_values() {
    for (error, metrics, wanted) in [
        (0.3, "precision:unbiased,normalized", Some("errors of 30 %; these do not average out in normalized values")),
        (0.3, "macro-f", Some("unbiased macro-f values")),
        (0.3, "precision:unbiased", None),
        (0.05, "precision:unbiased,normalized", None),
        (0.0, "precision:unbiased,normalized", None),
    ] {
        let result = evaluate(2.0, error, &[metrics]);
        match wanted {
            Some(text) => assert!(has_note(&result, text), "{metrics}: {:?}", result.notes),
            None => assert!(!has_note(&result, "average out"), "{metrics}: {:?}", result.notes),
        }
    }
}

#[test]
fn unbiased_macro_f_of_few_positives_is_said_to_be_too_low() {
    let rows = Rows::random(40, LABELS, 0.5, 0.3, 3);
    let (truth, scores) = (rows.labels(), rows.scores());
    let p = Propensities::new("p", vec![0.5; LABELS]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().propensity(p);
    let result = evaluation.metrics(&["macro-f"]).unwrap().ks(&[3]).unwrap().run().unwrap();
    assert!(has_note(&result, "below the value on complete labels"), "{:?}", result.notes);
}

#[test]
fn unbiased_coverage_is_meaningless_for_labels_with_many_hits_that_are_seldom_observed() {
    let found = |q: f64, metric: &str| evaluate(q, 0.0, &[metric]).findings.iter().any(|finding| finding.code == "U009");
    assert!(found(2.5, "coverage:unbiased"));
    assert!(!found(1.8, "coverage:unbiased"));
    assert!(!found(2.5, "coverage:observed"));
}
