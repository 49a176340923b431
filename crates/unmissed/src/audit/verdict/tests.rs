//! The exact sentences, in every case that differs.

use super::super::missing::{MissingShare, MissingSource};
use super::super::reference::{ModelRole, Reference};
use super::super::result::{CandidateKind, PropensityReport};
use super::*;
use crate::evaluate::{Comparison, EvaluationResult, Row};
use crate::metrics::Estimator;
use crate::propensity::Bound;
use crate::request::Conventions;

/// Values with half-widths of their intervals, and those of all differences.
struct Cell<'a> {
    estimator: Estimator,
    propensity: Option<&'a str>,
    scores: &'a [(&'a str, f64)],
    width: f64,
    width_of_differences: f64,
}

fn cell<'a>(estimator: Estimator, propensity: Option<&'a str>, scores: &'a [(&'a str, f64)]) -> Cell<'a> {
    Cell { estimator, propensity, scores, width: 0.02, width_of_differences: 0.01 }
}

fn observed<'a>(scores: &'a [(&'a str, f64)]) -> Cell<'a> {
    cell(Estimator::Observed, None, scores)
}

fn evaluation(cells: &[Cell<'_>]) -> EvaluationResult {
    let (mut rows, mut comparisons) = (Vec::new(), Vec::new());
    for of in cells {
        for (place, (model, value)) in of.scores.iter().enumerate() {
            rows.push(Row {
                metric: METRIC.into(),
                k: 1,
                estimator: of.estimator,
                propensity: of.propensity.map(str::to_owned),
                group: "all".into(),
                model: (*model).into(),
                value: Some(*value),
                se: Some(of.width / 1.96),
                low: Some(value - of.width),
                high: Some(value + of.width),
                n: 1000,
                assumption: String::new(),
                bias: None,
                expected_error: None,
                sensitivity: None,
            });
            for (other, second) in &of.scores[place + 1..] {
                let (difference, width) = (value - second, of.width_of_differences);
                comparisons.push(Comparison {
                    metric: METRIC.into(),
                    k: 1,
                    estimator: of.estimator,
                    propensity: of.propensity.map(str::to_owned),
                    group: "all".into(),
                    a: (*model).into(),
                    b: (*other).into(),
                    difference: Some(difference),
                    se: Some(width / 1.96),
                    low: Some(difference - width),
                    high: Some(difference + width),
                    p: Some(if difference == 0.0 {
                        1.0
                    } else {
                        statrs::function::erf::erfc((difference / (width / 1.96)).abs() / 2f64.sqrt())
                    }),
                    significant: false,
                    sensitivity: None,
                });
            }
        }
    }
    let conventions = Conventions::default();
    EvaluationResult { rows, comparisons, groups: Vec::new(), level: 0.95, conventions, findings: Vec::new(), notes: Vec::new() }
}

fn report(origin: &str, kind: CandidateKind, is_added: bool) -> PropensityReport {
    PropensityReport {
        origin: origin.into(),
        name: origin.into(),
        kind,
        is_added,
        bound: Bound::Exact,
        notes: Vec::new(),
        rarest: None,
        most_frequent: None,
        labels_per_row: None,
        impossible: 0,
        worst: None,
        effective_share: None,
        change_by_copies: None,
        bands: Vec::new(),
        curve: Vec::new(),
        estimates: Vec::new(),
        mse: None,
        against: None,
    }
}

fn missing() -> MissingShare {
    MissingShare { share: Some(0.17), source: MissingSource::Measured, from: None, sentence: "M.".into() }
}

struct Case<'a> {
    cells: Vec<Cell<'a>>,
    truth: Option<Vec<Cell<'a>>>,
    propensities: Vec<PropensityReport>,
    references: Vec<Reference>,
}

impl<'a> Case<'a> {
    fn new(cells: Vec<Cell<'a>>) -> Case<'a> {
        Case { cells, truth: None, propensities: Vec::new(), references: Vec::new() }
    }

    fn verdict(self) -> Verdict {
        let (evaluation, truth) = (evaluation(&self.cells), self.truth.as_deref().map(evaluation));
        let scores = Scores {
            evaluation: &evaluation,
            truth: truth.as_ref(),
            propensities: &self.propensities,
            references: &self.references,
            k: 1,
            level: 0.95,
            is_controlled: false,
        };
        Verdict::new(&scores, missing(), &[], None)
    }
}

const JPV: &str = "jpv:a=0.55,b=1.5";

#[test]
fn one_model_and_no_evidence_is_a_floor() {
    let case = Case::new(vec![observed(&[("A", 0.49)]), cell(Estimator::Unbiased, Some(JPV), &[("A", 0.6)])]);
    let verdict = Case { propensities: vec![report(JPV, CandidateKind::Assumed, true)], ..case }.verdict();
    assert_eq!(verdict.headline, "M. Precision@1 is at least 49.0 % (47.0 to 51.0), as observed.");
    assert_eq!(
        verdict.sentences,
        [
            "Observed scores are reported because nothing in these files measures what is missing, and missing labels can only raise them.",
            "Under jpv:a=0.55,b=1.5, which is assumed, precision@1 would be 60.0 % (58.0 to 62.0).",
        ]
    );
    assert_eq!((verdict.severity, verdict.reported.unwrap().basis), (Severity::Warning, Basis::Observed));
}

/// A value that no score can have is not written down as one.
#[test]
fn values_beyond_the_range_are_no_scores() {
    let assumed = Case::new(vec![observed(&[("A", 0.49)]), cell(Estimator::Unbiased, Some(JPV), &[("A", 1.31)])]);
    let verdict = Case { propensities: vec![report(JPV, CandidateKind::Assumed, false)], ..assumed }.verdict();
    assert_eq!(
        verdict.sentences[1],
        "Under jpv:a=0.55,b=1.5, which is assumed, precision@1 would be above 100 %, which is impossible: it does not fit these data."
    );
    assert!(!verdict.headline.contains("131"), "{}", verdict.headline);

    let measured = vec![
        observed(&[("A", 0.49)]),
        cell(Estimator::Omega, None, &[("A", 1.04)]),
        cell(Estimator::Unbiased, Some("direct"), &[("A", 0.99)]),
    ];
    let case = Case { propensities: vec![report("direct", CandidateKind::Estimated, false)], ..Case::new(measured) };
    let verdict = case.verdict();
    assert_eq!(
        verdict.headline,
        "M. Precision@1 is 99.0 % (97.0 to 100.0) if labels that models rank first are missed as often as others, not 49.0 % as \
         observed."
    );
    assert_eq!(
        verdict.sentences,
        [
            "'direct' (the next in the order) is reported: its propensities were estimated label by label from evidence. The order of \
             estimates is fixed in advance.",
            "'missed labels (omega)' is not reported: it puts precision@1 outside its range, so its assumptions do not hold here.",
        ]
    );
}

/// Measured estimates come before assumed ones, in the fixed order.
#[test]
fn the_order_of_estimates_is_fixed() {
    let values: [(&str, f64); 1] = [("A", 0.52)];
    let all = || {
        vec![
            observed(&[("A", 0.49)]),
            cell(Estimator::Unbiased, Some(JPV), &[("A", 0.9)]),
            cell(Estimator::Unbiased, Some("timelapse"), &values),
            cell(Estimator::Unbiased, Some("timelapse-shrunken"), &values),
            cell(Estimator::Ratio, Some(crate::audit::ROWS), &values),
            cell(Estimator::Unbiased, Some(crate::audit::ROWS), &values),
            cell(Estimator::Omega, None, &values),
            cell(Estimator::Hajek, None, &values),
        ]
    };
    let propensities = || {
        vec![
            report(JPV, CandidateKind::Assumed, true),
            report("timelapse", CandidateKind::Estimated, false),
            report("timelapse-shrunken", CandidateKind::Estimated, false),
        ]
    };
    let mut cells = all();
    for expected in
        [Basis::ShownPairs, Basis::Omega, Basis::RowDependent, Basis::Ratio, Basis::PerLabel, Basis::PerLabel, Basis::Observed]
    {
        let case = Case { propensities: propensities(), ..Case::new(cells) };
        let verdict = case.verdict();
        assert_eq!(verdict.reported.as_ref().map(|reported| reported.basis), Some(expected));
        if expected == Basis::Omega {
            assert_eq!(verdict.headline, "M. Precision@1 is 52.0 % (50.0 to 54.0), not 49.0 % as observed.");
            assert_eq!(
                verdict.sentences[0],
                "'missed labels (omega)' is reported: it uses the labels that were missed on rows with two snapshots and assumes \
                 no propensities. The order of estimates is fixed in advance."
            );
            assert_eq!(verdict.severity, Severity::Info);
        }
        // Without the first, the next one.
        let left = verdict
            .standings
            .iter()
            .filter(|standing| !standing.is_headline)
            .map(|standing| (standing.estimator, standing.propensity.clone()));
        let left: Vec<_> = left.collect();
        cells = all().into_iter().filter(|cell| left.contains(&(cell.estimator, cell.propensity.map(str::to_owned)))).collect();
    }
}

/// An estimate that cannot be told from what is observed is not set against it.
#[test]
fn what_is_observed_may_be_right() {
    let verdict = Case::new(vec![observed(&[("A", 0.49)]), cell(Estimator::Omega, None, &[("A", 0.495)])]).verdict();
    assert_eq!(verdict.headline, "M. Precision@1 is 49.5 % (47.5 to 51.5); as observed it is 49.0 %.");
}

#[test]
fn two_models_are_compared_by_their_difference() {
    let omega = |a, b| {
        let (observed_scores, scores) = ([("A", 0.49), ("B", 0.5)], [("A", a), ("B", b)]);
        Case::new(vec![observed(&observed_scores), cell(Estimator::Omega, None, &scores)]).verdict().headline
    };
    assert_eq!(
        omega(0.54, 0.52),
        "M. Precision@1 of A is 54.0 % (52.0 to 56.0), not 49.0 % as observed. A is better than B by 2.0 points (1.0 to 3.0)."
    );
    assert_eq!(
        omega(0.52, 0.525),
        "M. Precision@1 of B is 52.5 % (50.5 to 54.5), not 50.0 % as observed. B and A are not statistically distinguishable (difference \
         0.5 points, -0.5 to 1.5)."
    );
}

#[test]
fn exact_ties_are_ties() {
    let tied = Cell { width_of_differences: 0.0, ..observed(&[("A", 0.49), ("B", 0.49)]) };
    let verdict = Case::new(vec![tied]).verdict();
    assert_eq!(
        verdict.headline,
        "M. Precision@1 of A is at least 49.0 % (47.0 to 51.0), as observed. On observed labels A and B score the same on every row."
    );
    assert_eq!((verdict.order_change, verdict.standings[0].first.as_ref()), (None, None));
    let level = Case::new(vec![observed(&[("A", 0.49), ("B", 0.49)])]).verdict();
    assert!(
        level
            .headline
            .ends_with("On observed labels A and B are not statistically distinguishable (difference 0.0 points, -1.0 to 1.0)."),
        "{}",
        level.headline
    );
}

#[test]
fn without_evidence_the_order_has_a_price() {
    let cells = vec![observed(&[("A", 0.5), ("B", 0.45)]), cell(Estimator::Unbiased, Some(JPV), &[("A", 0.6), ("B", 0.7)])];
    let verdict = Case { propensities: vec![report(JPV, CandidateKind::Assumed, true)], ..Case::new(cells) }.verdict();
    assert_eq!(
        verdict.headline,
        "M. Precision@1 of A is at least 50.0 % (48.0 to 52.0), as observed. On observed labels A is better than B by 5.0 points (4.0 to 6.0)."
    );
    assert_eq!(
        verdict.sentences[1..],
        [
            "Under jpv:a=0.55,b=1.5, which is assumed, precision@1 of A would be 60.0 % (58.0 to 62.0); by it B is better than A by 10.0 \
             points (9.0 to 11.0).",
            "Whatever is missing, B is ahead of A only if the relevant labels that it finds are observed less than 0.90 times as often as \
             those that A finds.",
        ]
    );
    assert_eq!(verdict.order_change.unwrap().ratio, 0.9);
}

#[test]
fn ten_models_have_one_verdict() {
    let names = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];
    let scores: Vec<(&str, f64)> = names.iter().enumerate().map(|(place, name)| (*name, 0.5 - 0.005 * place as f64)).collect();
    let verdict = Case::new(vec![observed(&[]), cell(Estimator::Omega, None, &scores), observed(&scores)]).verdict();
    assert_eq!(
        verdict.summary[2].text,
        "A is first, but not statistically distinguishable from B, C and D (from B: difference 0.5 points, -0.5 to 1.5); it is better than the other 6."
    );
    // Holm's adjustment for 45 pairs: 1.5 points would stand alone.
    assert_eq!(verdict.standings[1].ranking.as_ref().unwrap().pairs, 45);
}

#[test]
fn estimates_that_disagree_name_no_winner() {
    let cells = vec![
        observed(&[("A", 0.5), ("B", 0.5)]),
        cell(Estimator::Unbiased, Some("direct"), &[("A", 0.6), ("B", 0.65)]),
        cell(Estimator::Omega, None, &[("A", 0.55), ("B", 0.52)]),
    ];
    let verdict = Case { propensities: vec![report("direct", CandidateKind::Estimated, false)], ..Case::new(cells) }.verdict();
    assert_eq!(
        verdict.summary[2].text,
        "Estimates from the same evidence do not agree about the order: by missed labels (omega) A is better than B by 3.0 points (2.0 to \
         4.0); by direct B is better than A by 5.0 points (4.0 to 6.0)."
    );
    assert_eq!(
        verdict.sentences[1],
        "Other estimates from the same evidence differ from it: precision@1 of A is 60.0 % (58.0 to 62.0) by 'direct'."
    );
    assert_eq!(verdict.severity, Severity::Warning);
}

#[test]
fn complete_labels_decide() {
    let cells = || vec![observed(&[("A", 0.5), ("B", 0.45)]), cell(Estimator::Unbiased, Some(JPV), &[("A", 0.6), ("B", 1.2)])];
    let truth = || Some(vec![observed(&[("A", 0.58), ("B", 0.5)])]);
    let case = |is_added| {
        let propensities = vec![report(JPV, CandidateKind::Assumed, is_added)];
        Case { truth: truth(), propensities, ..Case::new(cells()) }.verdict()
    };
    let verdict = case(false);
    assert_eq!(
        verdict.headline,
        "M. Precision@1 of A is 58.0 % (56.0 to 60.0) on complete labels, not 50.0 % as observed. On complete labels A is better than B \
         by 8.0 points (7.0 to 9.0)."
    );
    assert_eq!(
        verdict.sentences,
        [
            "'complete labels' is reported: complete labels need no estimate. The order of estimates is fixed in advance.",
            "Difference from complete labels, in points: observed -8.0, jpv:a=0.55,b=1.5 +2.0.",
            "Scored with jpv:a=0.55,b=1.5, B would be called better, which is wrong.",
        ]
    );
    // What the user passed is wrong; what the audit added is nobody's mistake.
    assert_eq!((verdict.severity, case(true).severity), (Severity::Error, Severity::Info));
}

/// Baselines have sentences of their own and no part in who is best.
#[test]
fn baselines_are_compared_with_and_never_win() {
    let reference =
        |name: &str, role, earlier: Option<&str>| Reference { name: name.into(), role, earlier: earlier.map(str::to_owned) };
    let case = |scores: &[(&str, f64)]| {
        let references = vec![
            reference("popularity", ModelRole::Popularity, None),
            reference("A (earlier)", ModelRole::Earlier, Some("A")),
            reference("C (earlier)", ModelRole::Earlier, Some("C")),
        ];
        Case { references, ..Case::new(vec![observed(scores)]) }.verdict()
    };
    let verdict = case(&[("A", 0.5), ("B", 0.45), ("popularity", 0.3), ("A (earlier)", 0.52), ("C (earlier)", 0.45)]);
    assert_eq!(verdict.standings[0].first.as_deref(), Some("A"));
    let texts: Vec<&str> = verdict.summary[3..].iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "A is worse than in the earlier audit by 2.0 points (1.0 to 3.0), as observed.",
            "B is worse than A in the earlier audit by 7.0 points (6.0 to 8.0), as observed.",
        ]
    );
    assert_eq!(
        verdict.sentences.last().unwrap(),
        "Both models are better than the popularity ranker, A by 20.0 points (19.0 to 21.0), as observed."
    );
    let both = case(&[("A", 0.5), ("B", 0.499), ("popularity", 0.502), ("A (earlier)", 0.5), ("C (earlier)", 0.45)]);
    assert_eq!(
        both.summary.last().unwrap().text,
        "A and B are not statistically distinguishable from the popularity ranker (A: difference -0.2 points, -1.2 to 0.8, as observed)."
    );
    let poor = case(&[("A", 0.5), ("popularity", 0.502), ("A (earlier)", 0.5), ("C (earlier)", 0.45)]);
    let texts: Vec<&str> = poor.summary[2..].iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "A is not statistically distinguishable from A in the earlier audit (difference 0.0 points, -1.0 to 1.0, as observed).",
            "A is not statistically distinguishable from the popularity ranker (difference -0.2 points, -1.2 to 0.8, as observed).",
        ]
    );
}
