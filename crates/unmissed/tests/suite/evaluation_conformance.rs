//! What must hold for every metric of the registry.

use crate::common::evaluation::{Rows, by_subsets, label_value, row_value};
use proptest::prelude::*;
use unmissed::data::{Judgement, Judgements, Labels, Rate, Relevance};
use unmissed::evaluate::judged::Judged;
use unmissed::evaluate::{Evaluation, EvaluationResult, Groups, IntervalKind, Row, Tally};
use unmissed::metrics::{Estimator, METRICS, Shape};
use unmissed::propensity::Propensities;
use unmissed::propensity::rows::{MatchedRows, RowEvidence, RowFit};

/// Rows that are summed together.
const CHUNK: usize = 4096;

/// Every metric of the registry with those of its estimators that are among the given ones: a new metric is tested by being listed.
fn specs(estimators: &[Estimator]) -> Vec<String> {
    let spec = |metric: &&'static dyn unmissed::metrics::Metric| {
        let has = |estimator: &&Estimator| metric.offer(**estimator).is_some();
        let words: Vec<&str> = estimators.iter().filter(has).map(|estimator| estimator.name()).collect();
        format!("{}:{}", metric.name(), words.join(","))
    };
    METRICS.iter().map(spec).collect()
}

/// Those that propensities per label allow.
const PER_LABEL: [Estimator; 3] = [Estimator::Observed, Estimator::Unbiased, Estimator::Normalized];

fn metrics<'a>(evaluation: Evaluation<'a>, estimators: &[Estimator]) -> Evaluation<'a> {
    let specs = specs(estimators);
    evaluation.metrics(&specs.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
}

/// How many relevant labels rows have: those observed and a few more.
fn label_counts(rows: &Rows) -> Vec<u32> {
    rows.truth.iter().enumerate().map(|(row, labels)| (labels.len() + row % 3) as u32).collect()
}

fn weights(labels: usize) -> Vec<f64> {
    (0..labels).map(|j| 0.5 + j as f64 * 0.3).collect()
}

fn propensities(labels: usize) -> Vec<f64> {
    (0..labels).map(|j| 1.0 - 0.6 * j as f64 / labels as f64).collect()
}

fn groups(labels: usize) -> Groups {
    let of: Vec<Option<u16>> = (0..labels).map(|j| if j % 5 == 4 { None } else { Some((j % 2) as u16) }).collect();
    Groups::new(vec!["even".into(), "odd".into()], &of, "by hand").unwrap()
}

fn run(rows: &[&Rows], change: impl Fn(Evaluation<'_>) -> Evaluation<'_>) -> EvaluationResult {
    let (truth, scores): (_, Vec<_>) = (rows[0].labels(), rows.iter().map(|r| r.scores()).collect());
    let names: Vec<String> = (0..rows.len()).map(|i| format!("m{i}")).collect();
    let models: Vec<_> = names.iter().zip(&scores).map(|(name, scores)| (name.as_str(), scores)).collect();
    let labels = rows[0].labels;
    let evaluation = metrics(Evaluation::new(&truth, &models).unwrap(), &PER_LABEL).ks(&[1, 2, 5]).unwrap();
    let evaluation = evaluation.weights("test", weights(labels)).unwrap().bootstrap(0, 1);
    let evaluation = evaluation.label_counts(label_counts(rows[0])).unwrap();
    let evaluation = evaluation.propensity(Propensities::new("p", propensities(labels)).unwrap());
    change(evaluation).run().unwrap()
}

#[test]
fn every_metric_has_a_page() {
    for metric in METRICS {
        let file = format!("{}/src/metrics/{}.rs", env!("CARGO_MANIFEST_DIR"), metric.name().replace('-', "_"));
        let text = std::fs::read_to_string(&file).unwrap();
        for part in ["# Assumes", "# Reference", "//! ```", "assert", "Rows without labels|Conventions|0/0|Divided by"] {
            assert!(part.split('|').any(|part| text.contains(part)), "{file} lacks '{part}'");
        }
    }
}

/// Each metric has the estimators that it declares, under the assumption that it declares, and says why it has no others.
#[test]
fn metrics_have_the_estimators_that_they_declare() {
    let rows = Rows::random(80, 8, 0.7, 0.5, 11);
    let (truth, scores) = (rows.labels(), rows.scores());
    let observed = rows.masked(&[0.6; 8], 1).labels();
    let plain = || {
        let evaluation = Evaluation::new(&observed, &[("m", &scores)]).unwrap().weights("w", weights(8)).unwrap();
        evaluation.label_counts(label_counts(&rows)).unwrap().clip(1.5).unwrap().bootstrap(0, 0)
    };
    let fit =
        RowFit::new(&observed, &truth, RowEvidence::Later).unwrap().scores("m", &scores).unwrap().replicates(2, 0).run().unwrap();
    let judgement = |(row, label): (u32, u32)| Judgement {
        round: 1,
        row,
        label,
        probability: 0.5,
        stratum: None,
        relevance: Some(if truth.row_ids(row as usize).contains(&label) { Relevance::Relevant } else { Relevance::Irrelevant }),
        place: (0, 0),
    };
    let every = (0..80).flat_map(|row| (0..8).map(move |label| (row, label))).filter(|(row, label)| (row + label) % 2 == 0);
    let judged = Judged::new(Judgements::new(every.map(judgement).collect(), 80, 8).unwrap());
    // Everything was shown.
    let pairs = Labels::from_ids(8, (0..80).map(|_| (0..8).collect::<Vec<u32>>())).unwrap();
    for metric in METRICS {
        for estimator in Estimator::ALL {
            let evaluation = match estimator {
                Estimator::Ratio => plain().row_propensity("rows", fit.clone()),
                Estimator::Omega => {
                    plain().matched(MatchedRows::new(&observed, &truth).unwrap().predictions("m", &scores).unwrap()).unwrap()
                }
                Estimator::Hajek | Estimator::DoublyRobust => plain().rate(Rate::Common(0.5)).unwrap().shown(&pairs).unwrap(),
                Estimator::Judged => plain().judged(judged.clone()),
                _ => plain().propensity(Propensities::new("p", propensities(8)).unwrap()),
            };
            let result = evaluation.metrics(&[&format!("{}:{estimator}", metric.name())]).unwrap().run();
            let Some(offer) = metric.offer(estimator) else {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(&format!("there is no {estimator} {}", metric.name())), "{error}");
                assert!(error.contains(metric.why_not(estimator)), "{error}");
                continue;
            };
            let result = result.unwrap();
            assert_eq!(result.rows.len(), 3, "{} {estimator}: one row for each k", metric.name());
            for row in &result.rows {
                assert_eq!((row.metric.as_str(), row.estimator), (metric.name(), estimator));
                assert!(row.assumption.starts_with(offer.assumption.sentence()), "{row:?}");
                assert!(row.value.is_some_and(f64::is_finite), "{row:?}");
            }
        }
    }
}

/// Where nothing is missing, estimates are what is observed.
#[test]
fn propensities_of_1_change_nothing() {
    let rows = Rows::random(60, 9, 0.5, 0.5, 12);
    let result = run(&[&rows], |e| e.propensity(Propensities::new("ones", vec![1.0; 9]).unwrap()));
    let mut checked = 0;
    for row in result.rows.iter().filter(|row| row.estimator == Estimator::Unbiased && row.propensity.as_deref() == Some("ones")) {
        let is_it = |other: &&Row| other.metric == row.metric && other.k == row.k && other.estimator == Estimator::Observed;
        let observed = result.rows.iter().find(is_it).unwrap();
        assert!((row.value.unwrap() - observed.value.unwrap()).abs() < 1e-12, "{row:?} {observed:?}");
        checked += 1;
    }
    let unbiased = METRICS.iter().filter(|metric| metric.offer(Estimator::Unbiased).is_some()).count();
    assert_eq!(checked, 3 * unbiased, "every metric that has an unbiased estimate");
}

/// A ranking that puts relevant labels first, those that count most before others, is better than the given one, and that is better
/// than one that puts them last. Which value is better is for the metric to say. Means over labels are not made of rows: of them
/// only the first is compared with the last.
#[test]
fn better_rankings_have_better_values() {
    let rows = Rows::random(80, 10, 0.5, 0.3, 13);
    let ranked = |score: &dyn Fn(usize, u32) -> f32| {
        let row = |row: usize| (0..10).map(|j| (j, score(row, j))).collect::<Vec<(u32, f32)>>();
        Rows { scores: (0..80).map(row).collect(), ..rows.clone() }
    };
    let is_relevant = |row: usize, j: u32| if rows.truth[row].contains(&j) { 1.0 + j as f32 } else { 0.0 };
    let all = [ranked(&|row, j| is_relevant(row, j)), rows.clone(), ranked(&|row, j| -is_relevant(row, j))];
    let result = run(&all.iter().collect::<Vec<_>>(), |e| e);
    for metric in METRICS {
        for k in [1, 2, 5] {
            let value = |model: &str| {
                let is_it = |row: &&Row| {
                    row.metric == metric.name() && row.k == k && row.estimator == Estimator::Observed && row.model == model
                };
                let value = result.rows.iter().find(is_it).unwrap().value.unwrap();
                if metric.lower_is_better() { -value } else { value }
            };
            let (best, given, worst) = (value("m0"), value("m1"), value("m2"));
            let is_by_label = matches!(metric.shape(), Shape::Label(_));
            assert!(is_by_label || (best >= given && given >= worst), "{}@{k}: {best} {given} {worst}", metric.name());
            assert!(best > worst, "{}@{k}: {best} {worst}", metric.name());
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every cell against the definition, in and out of groups.
    #[test]
    fn values_are_those_of_the_definitions(seed in 0u64..1000, rate in 0.1f64..0.9) {
        let rows = Rows::random(12, 9, rate, 0.4, seed);
        let q: Vec<f64> = propensities(9).iter().map(|p| 1.0 / p).collect();
        let w = weights(9);
        let result = run(&[&rows], |e| metrics(e.groups(groups(9)).unwrap().clip(1.5).unwrap(), &[PER_LABEL.as_slice(), &[Estimator::Clipped]].concat()));
        let mut checked = 0;
        for row in &result.rows {
            let is_member = |j: u32| match row.group.as_str() {
                "even" => j % 5 != 4 && j.is_multiple_of(2),
                "odd" => j % 5 != 4 && j % 2 == 1,
                _ => true,
            };
            let truth = |i: usize| -> Vec<u32> { rows.truth[i].iter().copied().filter(|j| is_member(*j)).collect() };
            let ones = vec![1.0; 9];
            let cut: Vec<f64> = q.iter().map(|q| q.min(1.5)).collect();
            let used = match row.estimator { Estimator::Observed => &ones, Estimator::Clipped => &cut, _ => &q };
            let metric = METRICS.iter().find(|m| m.name() == row.metric).unwrap();
            // Precision with another divisor.
            let (name, factors): (&str, Vec<f64>) = match row.metric.as_str() {
                "recall-known" => ("precision", label_counts(&rows).iter().map(|count| row.k as f64 / f64::from((*count).max(1))).collect()),
                name => (name, vec![1.0; 12]),
            };
            let expected = match (metric.shape(), row.estimator) {
                (Shape::Label(_), _) => label_value(&row.metric, &rows, row.k, used, &is_member),
                _ if row.metric == "recall-pooled" => {
                    let sum = |labels: &[u32]| labels.iter().map(|j| used[*j as usize]).sum::<f64>();
                    let hits = |i: usize| -> Vec<u32> { rows.ranked(i).into_iter().take(row.k).filter(|j| truth(i).contains(j)).collect() };
                    (0..12).map(|i| sum(&hits(i))).sum::<f64>() / (0..12).map(|i| sum(&truth(i))).sum::<f64>()
                }
                (_, Estimator::Observed) => mean((0..12).map(|i| factors[i] * row_value(name, &rows.ranked(i), &truth(i), row.k, &w))),
                (_, Estimator::Normalized) => {
                    let gain = |top: &[u32], i: usize| factors[i] * by_subsets(name, top, &truth(i), row.k, &w, used);
                    let best = |i: usize| {
                        let mut top = truth(i);
                        let value = |j: u32| q[j as usize] * if row.metric == "weighted-precision" { w[j as usize] } else { 1.0 };
                        top.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
                        top
                    };
                    mean((0..12).map(|i| gain(&rows.ranked(i), i))) / mean((0..12).map(|i| gain(&best(i), i)))
                }
                _ => mean((0..12).map(|i| factors[i] * by_subsets(name, &rows.ranked(i), &truth(i), row.k, &w, used))),
            };
            match row.value {
                Some(value) => prop_assert!((value - expected).abs() < 1e-9, "{row:?}: {expected}"),
                None => prop_assert!(expected.is_nan(), "{row:?}: {expected}"),
            }
            checked += 1;
        }
        prop_assert!(checked > 150, "{checked}");
    }

    #[test]
    fn observed_values_stay_in_range(seed in 0u64..1000, rate in 0.0f64..1.5) {
        let rows = Rows::random(10, 7, rate, 0.5, seed);
        for row in run(&[&rows], |e| e.estimators(&[Estimator::Observed]).metrics(&METRICS.iter().map(|m| m.name()).collect::<Vec<_>>()).unwrap()).rows {
            let highest = unmissed::metrics::find(&row.metric).unwrap().highest(weights(7)[6]);
            let Some(value) = row.value else {
                // A share of all relevant labels, of which there are none.
                prop_assert!(row.metric == "recall-pooled" && rows.truth.iter().all(Vec::is_empty), "{row:?}");
                continue;
            };
            prop_assert!((0.0..=highest + 1e-12).contains(&value), "{row:?}");
        }
    }
}

fn assert_close(a: &EvaluationResult, b: &EvaluationResult) {
    assert_eq!(a.rows.len(), b.rows.len());
    for (x, y) in a.rows.iter().zip(&b.rows) {
        let (v, w) = (x.value.unwrap(), y.value.unwrap());
        assert!((v - w).abs() <= 1e-12 * v.abs().max(1.0), "{x:?} {y:?}");
        assert_eq!(x.se.is_some(), y.se.is_some());
        assert!((x.se.unwrap_or(0.0) - y.se.unwrap_or(0.0)).abs() < 1e-9, "{x:?} {y:?}");
    }
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let rows = Rows::random(200, 12, 0.4, 0.5, 3);
    let mut turned = rows.clone();
    turned.truth.reverse();
    turned.scores.reverse();
    let counts: Vec<u32> = label_counts(&rows).into_iter().rev().collect();
    let both = [run(&[&rows], |e| e), run(&[&turned], |e| e.label_counts(counts.clone()).unwrap())];
    let [rows, turned] = both.map(|result| serde_json::to_string(&result).unwrap());
    assert_eq!(rows, turned, "not a bit");
}

#[test]
fn the_names_of_labels_do_not_matter() {
    let rows = Rows::random(200, 12, 0.4, 0.5, 4);
    let rename = |j: u32| (j * 5 + 3) % 12;
    let place = |values: Vec<f64>| {
        let mut out = vec![0.0; 12];
        values.into_iter().enumerate().for_each(|(j, v)| out[rename(j as u32) as usize] = v);
        out
    };
    let renamed = Rows {
        labels: 12,
        truth: rows.truth.iter().map(|row| row.iter().map(|j| rename(*j)).collect()).collect(),
        scores: rows.scores.iter().map(|row| row.iter().map(|(j, s)| (rename(*j), *s)).collect()).collect(),
    };
    let (truth, scores) = (renamed.labels(), renamed.scores());
    let evaluation = metrics(Evaluation::new(&truth, &[("m0", &scores)]).unwrap(), &PER_LABEL).ks(&[1, 2, 5]).unwrap();
    let evaluation = evaluation.weights("test", place(weights(12))).unwrap().bootstrap(0, 1);
    let evaluation = evaluation.label_counts(label_counts(&rows)).unwrap();
    let result = evaluation.propensity(Propensities::new("p", place(propensities(12))).unwrap()).run().unwrap();
    assert_close(&run(&[&rows], |e| e), &result);
}

/// Threads, shards, and files in between change no bit.
#[test]
fn threads_shards_and_files_change_nothing() {
    let rows = Rows::random(3 * CHUNK + 100, 15, 0.3, 0.5, 5);
    let other = Rows { scores: Rows::random(3 * CHUNK + 100, 15, 0.3, 0.2, 5).scores, ..rows.clone() };
    let (truth, a, b) = (rows.labels(), rows.scores(), other.scores());
    let folder = tempfile::tempdir().unwrap();
    for kind in [IntervalKind::Population, IntervalKind::Mask] {
        let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().groups(groups(15)).unwrap();
        let evaluation = metrics(evaluation, &[PER_LABEL.as_slice(), &[Estimator::Clipped]].concat());
        let variances = vec![0.01; 15];
        let p = Propensities::new("p", propensities(15)).unwrap().with_inverse_variances(variances).unwrap();
        let evaluation =
            evaluation.weights("test", weights(15)).unwrap().propensity(p).clip(2.0).unwrap().interval(kind).bootstrap(7, 9);
        let evaluation = evaluation.label_counts(label_counts(&rows)).unwrap();
        let evaluation = evaluation.conventions("absent-labels=one,empty-rows=skip".parse().unwrap());
        let text = |result: &EvaluationResult| serde_json::to_string(result).unwrap();
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let one = text(&pool(1).install(|| evaluation.run()).unwrap());
        assert_eq!(one, text(&pool(4).install(|| evaluation.run()).unwrap()));
        for shards in [2, 3, 4, 9] {
            let tally = |i: usize| {
                let path = folder.path().join(format!("{i}.tally.zst"));
                evaluation.clone().shard(i, shards).unwrap().tally().unwrap().write(&path).unwrap();
                Tally::read(&path).unwrap()
            };
            let merged = Tally::merge((1..=shards).rev().map(tally)).unwrap();
            assert_eq!(one, text(&merged.finish().unwrap()), "{shards} shards");
        }
        let in_memory = Tally::merge((1..=2).map(|i| evaluation.clone().shard(i, 2).unwrap().tally().unwrap())).unwrap();
        assert_eq!(one, text(&in_memory.finish().unwrap()));
    }
}

#[test]
fn tallies_that_do_not_belong_together_are_refused() {
    let rows = Rows::random(2 * CHUNK, 5, 0.3, 0.5, 6);
    let (truth, scores) = (rows.labels(), rows.scores());
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().bootstrap(0, 0);
    let shard = |evaluation: &Evaluation<'_>, i| evaluation.clone().shard(i, 2).unwrap().tally().unwrap();
    let message = |result: unmissed::Result<Tally>| result.unwrap_err().to_string();
    assert!(message(Tally::merge([shard(&evaluation, 1), shard(&evaluation, 1)])).contains("same rows"));
    let deeper = evaluation.clone().ks(&[2]).unwrap();
    assert!(message(Tally::merge([shard(&evaluation, 1), shard(&deeper, 2)])).contains("different k"));
    let with = |p: f64| evaluation.clone().propensity(Propensities::new("p", vec![p; 5]).unwrap());
    assert!(message(Tally::merge([shard(&with(0.5), 1), shard(&with(0.6), 2)])).contains("label 0"));
    assert!(message(Tally::merge([])).contains("at least one"));
    assert!(shard(&evaluation, 1).finish().unwrap_err().to_string().contains("shards are missing"));
    let bytes = shard(&evaluation, 1).to_bytes().unwrap();
    for broken in [&bytes[..bytes.len() - 9], &bytes[1..], b"", &[&bytes[..100], b"x", &bytes[101..]].concat()] {
        assert!(Tally::from_bytes(broken).is_err());
    }
}

/// Normalising divides all models by the same number.
#[test]
fn normalising_never_changes_the_order() {
    let models: Vec<Rows> = (0..4)
        .map(|i| Rows { truth: Rows::random(150, 10, 0.4, 0.5, 8).truth, ..Rows::random(150, 10, 0.4, 0.1 * i as f64, 8) })
        .collect();
    let result = run(&models.iter().collect::<Vec<_>>(), |e| e.groups(groups(10)).unwrap());
    let signs = |estimator| -> Vec<f64> {
        let sums = |metric: &str| {
            let metric = unmissed::metrics::find(metric).unwrap();
            matches!(metric.shape(), Shape::Sum(_)) && metric.offers().iter().any(|offer| offer.estimator == Estimator::Normalized)
        };
        let kept = result.comparisons.iter().filter(|c| c.estimator == estimator && sums(&c.metric));
        kept.map(|c| c.difference.unwrap().signum()).collect()
    };
    assert!(signs(Estimator::Unbiased).len() > 100);
    assert_eq!(signs(Estimator::Unbiased), signs(Estimator::Normalized));
}

#[test]
fn groups_of_sums_add_up() {
    let rows = Rows::random(100, 10, 0.4, 0.5, 9);
    let of: Vec<Option<u16>> = (0..10).map(|j| Some((j % 3) as u16)).collect();
    let parts = Groups::new(vec!["a".into(), "b".into(), "c".into()], &of, "").unwrap();
    let result = run(&[&rows], |e| e.groups(parts.clone()).unwrap());
    for row in
        result.rows.iter().filter(|row| row.metric == "precision" && row.group == "all" && row.estimator == Estimator::Unbiased)
    {
        let parts = result
            .rows
            .iter()
            .filter(|r| r.metric == row.metric && r.k == row.k && r.estimator == row.estimator && r.group != "all");
        let total: f64 = parts.map(|r| r.value.unwrap()).sum();
        assert!((total - row.value.unwrap()).abs() < 1e-12);
    }
    assert!((result.groups[1..].iter().map(|g| g.share_of_positives).sum::<f64>() - 1.0).abs() < 1e-12);
}
