//! Where other libraries disagree, our documented choice; and what bad requests are answered.

use unmissed::data::{Csr, LabelStats, Labels};
use unmissed::evaluate::compat::{self, Library};
use unmissed::evaluate::{Evaluation, Groups, Rate, Severity};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

fn truth() -> Labels<'static> {
    Labels::from_ids(4, [vec![0, 1], vec![], vec![2]]).unwrap()
}

fn scores() -> Csr<'static, f32> {
    Csr::from_rows(4, [vec![(0, 0.9f32), (2, 0.8), (1, 0.7)], vec![(3, 0.5)], vec![(1, 0.4), (2, 0.3)]]).unwrap()
}

fn value(metric: &str, k: usize) -> f64 {
    let (truth, scores) = (truth(), scores());
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&[metric]).unwrap().ks(&[k]).unwrap();
    evaluation.bootstrap(0, 0).run().unwrap().rows[0].value.unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn abandonment_is_not_the_hit_rate() {
    assert!(close(value("abandonment", 1), 2.0 / 3.0));
    let theirs = compat::evaluate(Library::NapkinXc, &truth(), &scores(), None, 1).unwrap();
    assert!(close(theirs.iter().find(|v| v.name == "abandonment").unwrap().values[0], 1.0 / 3.0));
}

#[test]
fn ndcg_has_two_denominators_with_two_names() {
    let d = |rank: f64| 1.0 / (rank + 1.0).log2();
    let full = d(1.0) + d(2.0) + d(3.0);
    assert!(close(value("ndcg", 3), ((d(1.0) + d(3.0)) / full + d(2.0) / full) / 3.0));
    assert!(close(value("ndcg-min", 3), ((d(1.0) + d(3.0)) / (d(1.0) + d(2.0)) + d(2.0)) / 3.0));
}

#[test]
fn psndcg_of_others_is_only_under_their_name() {
    let p = Propensities::new("p", vec![0.5, 0.25, 0.8, 1.0]).unwrap();
    let (truth, scores) = (truth(), scores());
    let ours = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["ndcg:normalized"]).unwrap().ks(&[3]).unwrap();
    let ours = ours.propensity(p.clone()).run().unwrap().rows[0].value.unwrap();
    let theirs = compat::evaluate(Library::PyXclib, &truth, &scores, Some(&p.inverse()), 3).unwrap();
    let theirs = theirs.iter().find(|v| v.name == "psndcg").unwrap().values[2];
    let d = |rank: f64| 1.0 / (rank + 1.0).log2();
    assert!(close(ours, (2.0 + 4.0 * d(3.0) + 1.25 * d(2.0)) / (4.0 + 2.0 * d(2.0) + 1.25)));
    let ideal = 1.0 + d(2.0);
    assert!(close(theirs, ((2.0 + 4.0 * d(3.0)) / ideal + 1.25 * d(2.0)) / ((4.0 + 2.0 * d(2.0)) / ideal + 1.25)));
}

#[test]
fn coverage_is_of_all_labels() {
    assert!(close(value("coverage", 3), 3.0 / 4.0));
    let theirs = compat::evaluate(Library::NapkinXc, &truth(), &scores(), None, 3).unwrap();
    assert!(close(theirs.iter().find(|v| v.name == "coverage").unwrap().values[2], 1.0));
}

#[test]
fn macro_f_counts_nothing_for_absent_labels_heeds_k_and_has_beta_the_right_way() {
    // By hand, on the top 1: labels 0 (tp 1, p 1, pred 1), 1 (0, 1, 1), 2 (0, 1, 0), 3 (0, 0, 1).
    assert!(close(value("macro-f", 1), 1.0 / 4.0));
    // Top 3: 0 (1,1,1), 1 (1,1,2), 2 (1,1,2), 3 (0,0,1): F1 1, 2/3, 2/3, 0; F2 weighs recall: 1, 5/6, 5/6, 0.
    assert!(close(value("macro-f", 3), (1.0 + 2.0 / 3.0 + 2.0 / 3.0) / 4.0));
    assert!(close(value("macro-f:beta=2", 3), (1.0 + 5.0 / 6.0 + 5.0 / 6.0) / 4.0));
    // A label that is neither present nor predicted counts 0.
    let (truth, scores) = (Labels::from_ids(2, [vec![0]]).unwrap(), Csr::from_rows(2, [[(0, 1.0f32)]]).unwrap());
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["macro-f"]).unwrap();
    assert_eq!(evaluation.run().unwrap().rows[0].value, Some(0.5));
}

#[test]
fn asking_twice_gives_the_same() {
    let (truth, scores) = (truth(), scores());
    let p = Propensities::new("p", vec![0.5; 4]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().propensity(p);
    assert_eq!(evaluation.run().unwrap(), evaluation.run().unwrap());
}

#[test]
fn rows_without_labels_stay_in_the_mean() {
    assert!(close(value("recall", 1), (0.5 + 0.0 + 0.0) / 3.0));
}

#[test]
fn ties_go_to_the_smaller_label_and_k_may_exceed_the_labels() {
    let truth = Labels::from_ids(3, [vec![1]]).unwrap();
    let scores = Csr::from_rows(3, [[(2, 0.5f32), (1, 0.5), (0, 0.1)]]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&[1, 10]).unwrap();
    let values: Vec<_> = evaluation.run().unwrap().rows.iter().map(|row| row.value.unwrap()).collect();
    assert_eq!(values, [1.0, 0.1]);
}

#[test]
fn few_predictions_keep_their_hits() {
    let truth = Labels::from_ids(3, [vec![1]]).unwrap();
    let scores = Csr::from_rows(3, [[(1, 0.5f32)]]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&[2]).unwrap();
    assert_eq!(evaluation.run().unwrap().rows[0].value, Some(0.5));
}

#[test]
fn stored_zeros_are_predictions() {
    let truth = Labels::from_ids(3, [vec![1]]).unwrap();
    let scores = Csr::from_rows(3, [[(1, 0.0f32), (0, -1.0)]]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&[1]).unwrap();
    assert_eq!(evaluation.run().unwrap().rows[0].value, Some(1.0));
}

/// The message of whatever fails first.
fn message(work: impl Fn(Evaluation<'_>) -> unmissed::Result<Evaluation<'_>>) -> String {
    let (truth, scores) = (truth(), scores());
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap();
    work(evaluation).and_then(|evaluation| evaluation.run()).unwrap_err().to_string()
}

#[test]
fn impossible_requests_explain_themselves() {
    let p = || Propensities::new("p", vec![0.5; 4]).unwrap();
    let rate = |shown| Rate::Shown { shown, of: 4 };
    for (text, part) in [
        (message(|e| e.ks(&[0])), "k is out of range: expected 1 to 1000000, found 0"),
        (message(|e| e.ks(&[])), "no k is given"),
        (message(|e| e.metrics(&["precison"])), "did you mean 'precision'?"),
        (message(|e| e.metrics(&["precision:beta=2"])), "unknown option of 'precision' 'beta'"),
        (message(|e| e.metrics(&["precision:best"])), "unknown option of 'precision' 'best'"),
        (message(|e| e.metrics(&["precision", "precision"])), "requested twice"),
        (message(|e| e.metrics(&["recall:normalized"])), "there is no normalized recall; recall divides each row"),
        (message(|e| Ok(e.metrics(&["recall"])?.estimators(&[Estimator::Clipped]))), "there is no clipped recall"),
        (message(|e| Ok(e.estimators(&[Estimator::Unbiased]))), "no propensities"),
        (message(|e| Ok(e.propensity(p()).estimators(&[Estimator::Clipped]))), "no largest inverse propensity"),
        (message(|e| e.metrics(&["weighted-precision"])), "needs weights"),
        (message(|e| e.metrics(&["macro-f:beta=0"])), "beta is out of range"),
        (message(|e| e.level(1.0)), "level is out of range"),
        (message(|e| e.clip(0.5)), "at least 1"),
        (message(|e| e.weights("w", vec![1.0; 3])), "expected 4 labels, found 3"),
        (message(|e| e.weights("w", vec![-1.0; 4])), "weight of label 0"),
        (message(|e| Ok(e.propensity(Propensities::new("p", vec![0.5; 5]).unwrap()))), "expected 4 labels, found 5"),
        (message(|e| e.rate(Rate::Shown { shown: 5, of: 4 })), "out of range"),
        (message(|e| e.rate(Rate::Shown { shown: 2, of: 5 })), "r/m with m = 4 labels"),
        (message(|e| e.rate(rate(1))), "row 0 of the controlled set contradicts the rate 1/4: expected at most 1 positives"),
        (message(|e| Ok(e.rate(rate(2))?.propensity(p()))), "known rate"),
        (message(|e| e.rate(rate(2))?.metrics(&["recall:unbiased"])), "controlled set"),
        (message(|e| e.rate(rate(2))?.metrics(&["abandonment:unbiased"])), "k at most the number of labels shown"),
        (message(|e| e.rate(Rate::PerLabel(vec![0.5, 0.0, 1.0, 1.0]))), "label 1 is out of range"),
        (message(|e| e.metrics(&["precision:hajek"])), "no shown pairs"),
        (message(|e| e.shard(3, 2)), "1 <= i <= n"),
        (message(|e| e.shard(1, 2)), "only a part of an evaluation"),
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let truth = truth();
    let error = |scores: &Csr<'_, f32>| Evaluation::new(&truth, &[("a", scores)]).err().unwrap().to_string();
    let rows = |count: usize, labels: u64| Csr::from_rows(labels, vec![vec![(0, 1.0f32)]; count]).unwrap();
    assert!(error(&rows(2, 4)).contains("'a' do not fit the test labels: expected 3 rows, found 2"));
    assert!(error(&rows(4, 4)).contains("expected 3 rows, found 4"));
    assert!(error(&rows(3, 5)).contains("expected 4 labels, found 5"));
    assert!(error(&Csr::from_rows(4, vec![Vec::<(u32, f32)>::new(); 3]).unwrap()).contains("there are no predictions of"));
    assert!(Evaluation::new(&truth, &[]).is_err());
    let scores = scores();
    assert!(
        Evaluation::new(&truth, &[("a", &scores), ("a", &scores)]).err().unwrap().to_string().contains("two models are called 'a'")
    );
    assert!(Groups::from_names(&[Some("all"), None]).is_err());
}

#[test]
fn defaults_leave_out_what_cannot_be_and_say_so() {
    let (truth, scores) = (truth(), scores());
    let result = Evaluation::new(&truth, &[("a", &scores)]).unwrap().run().unwrap();
    assert!(result.rows.iter().all(|row| row.estimator == Estimator::Observed && row.propensity.is_none()));
    assert!(result.notes.iter().any(|note| note.contains("weighted-precision needs weights")));
    let controlled =
        Evaluation::new(&truth, &[("a", &scores)]).unwrap().rate(Rate::Shown { shown: 2, of: 4 }).unwrap().run().unwrap();
    assert!(controlled.notes.iter().any(|note| note.contains("unbiased recall")));
    assert!(controlled.find("precision", 1, Estimator::Unbiased).unwrap().value == Some(2.0 / 3.0));
}

#[test]
fn findings_tell_what_is_wrong() {
    // 200 rows, one label in each, found by a; half as good by b. Propensities of 0.4 promise more than there can be.
    let truth = Labels::from_ids(3, (0..200).map(|row| if row == 7 { vec![] } else { vec![row % 2] })).unwrap();
    let a = Csr::from_rows(3, (0..200u32).map(|row| [(row % 2, 1.0f32)])).unwrap();
    let b = Csr::from_rows(3, (0..200u32).map(|row| [(if row < 120 { row % 2 } else { 2 }, 1.0f32)])).unwrap();
    let stats = LabelStats::from_counts(200, &[150, 0, 3]).unwrap();
    let p = Propensities::new("small", vec![0.4; 3]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().train(&stats).propensity(p).ks(&[1]).unwrap();
    let result = evaluation.run().unwrap();
    let codes: Vec<&str> = result.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(["U001", "U004", "U005", "U007"].iter().all(|code| codes.contains(code)), "{:?}", result.findings);
    assert_eq!(result.findings[0].severity, Severity::Error);
    assert!(result.findings[0].message.contains("outside 0 to 1"), "{}", result.findings[0].message);
    assert!(result.comparisons[0].significant && result.comparisons[0].difference > Some(0.3));
    // JPV depends on the amount of data.
    let jpv = unmissed::propensity::models::parse("jpv").unwrap().propensities(&stats).unwrap();
    let result = Evaluation::new(&truth, &[("a", &a)]).unwrap().train(&stats).propensity(jpv).run().unwrap();
    assert!(result.findings.iter().any(|finding| finding.code == "U002"));
}

/// U003: one row with an inverse propensity of 1000 among 199 with 1.
#[test]
fn few_effective_rows_are_found() {
    let truth = Labels::from_ids(2, (0..200).map(|row| vec![u32::from(row == 3)])).unwrap();
    let scores = Csr::from_rows(2, (0..200).map(|row| [(u32::from(row == 3), 1.0f32)])).unwrap();
    let result = |p: f64| {
        let p = Propensities::new("p", vec![1.0, p]).unwrap();
        Evaluation::new(&truth, &[("a", &scores)]).unwrap().ks(&[1]).unwrap().propensity(p).run().unwrap()
    };
    let findings = result(0.001).findings;
    let finding = findings.iter().find(|finding| finding.code == "U003").unwrap();
    // (199 + 1000)^2 / (199 + 1000^2) = 1.437...
    assert!(finding.message.contains("@1 of a rests on 1.4 effective rows of 200"), "{}", finding.message);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(result(0.5).findings.iter().all(|finding| finding.code != "U003"));
}

#[test]
fn the_order_of_models_may_depend_on_the_propensities() {
    let truth = Labels::from_ids(2, (0..10).map(|_| vec![0, 1])).unwrap();
    let a = Csr::from_rows(2, (0..10).map(|_| [(0, 1.0f32)])).unwrap();
    let b = Csr::from_rows(2, (0..10).map(|_| [(1, 1.0f32)])).unwrap();
    let p = |name: &str, values: [f64; 2]| Propensities::new(name, values.to_vec()).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().ks(&[1]).unwrap();
    let result = evaluation.propensity(p("x", [0.5, 0.9])).propensity(p("y", [0.9, 0.5])).run().unwrap();
    let finding = result.findings.iter().find(|finding| finding.code == "U006").unwrap();
    assert!(finding.message.contains("a is ahead of b under x and behind under y"), "{}", finding.message);
}

#[test]
fn meaningless_numbers_are_null_with_a_finding() {
    let labels: Vec<u32> = (0..40).collect();
    let truth = Labels::from_ids(40, [labels.clone(), labels]).unwrap();
    let scores = Csr::from_rows(40, [[(0, 1.0f32)], [(1, 1.0)]]).unwrap();
    let p = Propensities::new("tiny", vec![0.05; 40]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["recall", "ndcg-min", "precision"]).unwrap();
    let result = evaluation.propensity(p).run().unwrap();
    for row in &result.rows {
        let is_void = row.estimator == Estimator::Unbiased && row.metric != "precision";
        assert_eq!(row.value.is_none(), is_void, "{row:?}");
    }
    assert_eq!(result.findings.iter().filter(|finding| finding.code == "U009").count(), 2);
}

/// JSON rows are those of the documented contract.
#[test]
fn rows_serialise_as_documented() {
    let (truth, scores) = (truth(), scores());
    let result =
        Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&[1]).unwrap().run().unwrap();
    let json = serde_json::to_value(&result).unwrap();
    let row = json["rows"][0].as_object().unwrap();
    let keys: Vec<&str> = row.keys().map(String::as_str).collect();
    let mut wanted = ["metric", "k", "estimator", "propensity", "group", "model", "value", "se", "low", "high", "n", "assumption"];
    wanted.sort_unstable();
    let mut keys = keys;
    keys.sort_unstable();
    assert_eq!(keys, wanted);
    assert!(row["propensity"].is_null() && row["group"] == "all" && row["estimator"] == "observed");
}

/// Computed once with scikit-learn 1.9.1 on the binary matrices of this case (two predictions per row):
/// `f1_score(average="macro", zero_division=0)`, `fbeta_score(beta=2, ...)`, `precision_score(average="samples")`.
#[test]
fn scikit_learn_agrees_where_the_definitions_do() {
    let truth = Labels::from_ids(5, [vec![0, 2], vec![1], vec![0, 1, 3], vec![], vec![2], vec![0]]).unwrap();
    let top = [[0, 2], [1, 0], [3, 0], [2, 1], [0, 4], [0, 1]];
    let scores = Csr::from_rows(5, top.map(|[first, second]| [(first, 2.0f32), (second, 1.0)])).unwrap();
    for (metric, expected) in [("macro-f", 0.53), ("macro-f:beta=2", 0.567379679144385), ("precision", 0.5)] {
        let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&[metric]).unwrap().ks(&[2]).unwrap();
        let found = evaluation.bootstrap(0, 0).run().unwrap().rows[0].value.unwrap();
        assert!(close(found, expected), "{metric}: {found}");
    }
}

/// One of two propensity models makes the estimate meaningless: it is left out for that one, unless the metric is named.
#[test]
fn estimates_that_would_be_meaningless_are_left_out_by_default() {
    let labels: Vec<u32> = (0..40).collect();
    let truth = Labels::from_ids(40, [labels.clone(), labels]).unwrap();
    let scores = Csr::from_rows(40, [[(0, 1.0f32)], [(1, 1.0)]]).unwrap();
    let tiny = Propensities::new("tiny", vec![0.05; 40]).unwrap();
    let fine = Propensities::new("fine", vec![0.95; 40]).unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().propensity(tiny).propensity(fine);
    let result = evaluation.run().unwrap();
    let found = |metric: &str, propensity: &str| {
        let is_it = |row: &&unmissed::evaluate::Row| row.metric == metric && row.propensity.as_deref() == Some(propensity);
        result.rows.iter().filter(is_it).filter(|row| row.estimator == Estimator::Unbiased && row.value.is_some()).count()
    };
    for metric in ["recall", "ndcg-min"] {
        assert_eq!(
            (found(metric, "tiny"), found(metric, "fine")),
            (0, result.rows.iter().filter(|r| r.metric == "precision" && r.estimator == Estimator::Observed).count())
        );
    }
    assert!(found("precision", "tiny") > 0);
    let findings: Vec<_> = result.findings.iter().filter(|finding| finding.code == "U009").collect();
    assert_eq!(findings.len(), 2);
    assert!(findings.iter().all(|f| f.message.starts_with("with tiny, unbiased ") && f.message.contains("2 of 2 sampled rows")));
}
