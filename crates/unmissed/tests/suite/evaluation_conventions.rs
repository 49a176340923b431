//! Switches where libraries differ, and recall with a given number of relevant labels.

use unmissed::data::{Csr, Labels};
use unmissed::evaluate::{CONVENTIONS, Conventions, Evaluation, EvaluationResult, Groups, Rate};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

fn truth() -> Labels<'static> {
    Labels::from_ids(5, [vec![0, 1], vec![], vec![2]]).unwrap()
}

fn scores() -> Csr<'static, f32> {
    Csr::from_rows(5, [vec![(0, 0.9f32), (2, 0.8)], vec![(3, 0.5)], vec![(1, 0.4), (2, 0.3)]]).unwrap()
}

fn run(conventions: &str, change: impl Fn(Evaluation<'_>) -> Evaluation<'_>) -> EvaluationResult {
    let (truth, scores) = (truth(), scores());
    let p = Propensities::new("p", vec![0.5; 5]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().ks(&[1, 2]).unwrap().propensity(p);
    change(evaluation.conventions(conventions.parse().unwrap())).run().unwrap()
}

fn value(result: &EvaluationResult, metric: &str, k: usize) -> f64 {
    result.find(metric, k, Estimator::Observed).unwrap().value.unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn rows_without_labels_count_or_are_left_out() {
    let (ours, skipped) = (run("empty-rows=count", |e| e), run("empty-rows=skip", |e| e));
    for metric in ["precision", "ndcg", "ndcg-min", "recall"] {
        for estimator in [Estimator::Observed, Estimator::Unbiased] {
            let of = |result: &EvaluationResult| result.find(metric, 2, estimator).unwrap().clone();
            assert!(close(of(&skipped).value.unwrap(), 1.5 * of(&ours).value.unwrap()), "{metric}");
            assert_eq!((of(&ours).n, of(&skipped).n), (3, 2));
        }
    }
    // Two rows have labels, and the first of them a hit at rank 1.
    assert!(close(value(&ours, "abandonment", 1), 2.0 / 3.0) && close(value(&skipped, "abandonment", 1), 0.5));
    // pyxclib's recall and its recall_at_k: 0 for such rows, or without them.
    assert!(close(value(&ours, "recall", 2), (0.5 + 0.0 + 1.0) / 3.0) && close(value(&skipped, "recall", 2), (0.5 + 1.0) / 2.0));
    // The standard error is that of the two rows.
    let se = skipped.find("recall", 2, Estimator::Observed).unwrap().se.unwrap();
    assert!(close(se, 0.25), "{se}");
    assert!(skipped.findings.iter().any(|f| f.message.contains("1 of 3 rows have no label and are left out")));
}

#[test]
fn absent_labels_are_zero_or_one() {
    // Top 1: labels 0, 3 and 1 are predicted, 0, 1 and 2 are present; only 4 is neither.
    let (ours, one) = (run("absent-labels=zero", |e| e), run("absent-labels=one", |e| e));
    assert!(close(value(&ours, "macro-f", 1), 1.0 / 5.0) && close(value(&one, "macro-f", 1), 2.0 / 5.0));
    assert_eq!(one.find("macro-f", 1, Estimator::Observed).unwrap().se, None);
    assert!(one.notes.iter().any(|note| note.starts_with("macro-f has no interval")), "{:?}", one.notes);
    // In a group, the absent labels of the group.
    let of: Vec<Option<u16>> = [0, 0, 1, 1, 1].map(Some).to_vec();
    let groups = Groups::new(vec!["low".into(), "high".into()], &of, "by hand").unwrap();
    let grouped = run("absent-labels=one", |e| e.groups(groups.clone()).unwrap());
    let of =
        |group: &str| grouped.rows.iter().find(|r| r.metric == "macro-f" && r.k == 1 && r.group == group).unwrap().value.unwrap();
    assert!(close(of("low"), 1.0 / 2.0) && close(of("high"), 1.0 / 3.0) && close(of("all"), 2.0 / 5.0));
}

#[test]
fn coverage_is_of_all_labels_or_of_those_present() {
    let (ours, present) = (run("coverage-of=all", |e| e), run("coverage-of=present", |e| e));
    assert!(close(value(&ours, "coverage", 2), 2.0 / 5.0) && close(value(&present, "coverage", 2), 2.0 / 3.0));
    assert_eq!(present.find("coverage", 2, Estimator::Observed).unwrap().se, None);
}

#[test]
fn results_carry_the_conventions() {
    let result = run("coverage-of=present", |e| e);
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["conventions"], serde_json::json!({"absent-labels": "zero", "coverage-of": "present", "empty-rows": "count"}));
    assert!(result.notes.contains(&"conventions: coverage-of=present".to_owned()));
    assert!(Conventions::default().get("empty-rows") == "count" && CONVENTIONS.iter().all(|c| c.choices().len() == 2));
}

#[test]
fn bad_conventions_explain_themselves() {
    let message = |text: &str| text.parse::<Conventions>().unwrap_err().to_string();
    assert!(message("empty-row=skip").contains("did you mean 'empty-rows'?"));
    assert!(message("empty-rows").contains("expected name=choice"));
    assert!(message("empty-rows=skip,empty-rows=count").contains("occurs twice"));
    let (truth, scores) = (truth(), scores());
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().rate(Rate::Shown { shown: 3, of: 5 }).unwrap();
    let error = evaluation.conventions("empty-rows=skip".parse().unwrap()).run().unwrap_err();
    assert!(error.to_string().contains("rows without a positive stay"), "{error}");
}

/// By hand: rows with 1 hit of 4, none, 1 hit of 2; label propensities 1/2.
#[test]
fn recall_with_given_counts() {
    let result = run("empty-rows=count", |e| e.label_counts(vec![4, 3, 2]).unwrap());
    let of = |estimator| result.find("recall-known", 2, estimator).unwrap();
    assert!(close(of(Estimator::Observed).value.unwrap(), (0.25 + 0.0 + 0.5) / 3.0));
    assert!(close(of(Estimator::Unbiased).value.unwrap(), (0.5 + 0.0 + 1.0) / 3.0));
    // The best lists have both labels of the first row and the one of the last.
    assert!(close(of(Estimator::Normalized).value.unwrap(), 1.5 / (4.0 / 4.0 + 2.0 / 2.0)));
    assert!(of(Estimator::Unbiased).assumption.contains("given numbers of relevant labels"));
    assert!(of(Estimator::Observed).assumption.contains("lower bound"));
    let without = run("empty-rows=count", |e| e);
    assert!(without.find("recall-known", 2, Estimator::Observed).is_err());
}

#[test]
fn bad_label_counts_explain_themselves() {
    let (truth, scores) = (truth(), scores());
    let with = |counts: Vec<u32>| {
        let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap();
        evaluation.label_counts(counts).err().unwrap().to_string()
    };
    assert!(with(vec![2, 0]).contains("expected 3 rows, found 2"));
    assert!(with(vec![1, 0, 1]).contains("row 0 is too small: expected at least its 2 observed labels, found 1"));
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["recall-known"]).unwrap();
    assert!(evaluation.run().unwrap_err().to_string().contains("needs the number of relevant labels"));
}
