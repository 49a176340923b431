//! Estimates from rows with two snapshots, where the truth is known by construction.

use crate::common::rng::{Purpose, stream, uniform};
use crate::common::sigmoid::sigmoid;
use unmissed::data::{Csr, Labels};
use unmissed::evaluate::{Evaluation, EvaluationResult, Groups, IntervalKind, Row, Tally};
use unmissed::metrics::Estimator;
use unmissed::propensity::rows::MatchedRows;

const LABELS: u32 = 10;

/// Rows with the scores of two models, relevant labels and observed labels. Labels of a row go missing together, and what the first
/// model ranks high is observed more often: no propensity per label describes that.
struct World {
    scores: [Csr<'static, f32>; 2],
    truth: Labels<'static>,
    observed: Labels<'static>,
}

fn world(seed: u64, rows: usize) -> World {
    let (mut scores, mut truth, mut observed) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    for row in 0..rows {
        let mut rng = stream(seed, Purpose::GenerateRows, row as u64);
        let care = 2.0 * uniform(&mut rng) - 0.5;
        let (mut relevant, mut seen, mut lists) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        for label in 0..LABELS {
            let z = 5.0 * uniform(&mut rng) - 3.0;
            lists[0].push((label, z as f32));
            lists[1].push((label, (z + 2.0 * uniform(&mut rng)) as f32));
            if uniform(&mut rng) < sigmoid(z) {
                relevant.push(label);
                if uniform(&mut rng) < sigmoid(care + 0.5 * z) {
                    seen.push(label);
                }
            }
        }
        scores.iter_mut().zip(lists).for_each(|(scores, list)| scores.push(list));
        truth.push(relevant);
        observed.push(seen);
    }
    let labels = |rows: Vec<Vec<u32>>| Labels::from_ids(u64::from(LABELS), rows).unwrap();
    let scores = scores.map(|rows| Csr::from_rows(u64::from(LABELS), rows).unwrap());
    World { scores, truth: labels(truth), observed: labels(observed) }
}

impl World {
    fn matched(&self) -> MatchedRows<'_> {
        let rows = MatchedRows::new(&self.observed, &self.truth).unwrap();
        rows.predictions("a", &self.scores[0]).unwrap().predictions("b", &self.scores[1]).unwrap()
    }

    fn evaluation<'a>(&'a self, labels: &'a Labels<'a>) -> Evaluation<'a> {
        let models = [("a", &self.scores[0]), ("b", &self.scores[1])];
        let weights = (0..LABELS).map(|label| 1.0 + f64::from(label % 4)).collect();
        let evaluation = Evaluation::new(labels, &models).unwrap().weights("w", weights).unwrap().ks(&[1, 3]).unwrap();
        evaluation.metrics(&["precision", "ndcg", "weighted-precision"]).unwrap().bootstrap(0, 0)
    }
}

fn groups() -> Groups {
    let of: Vec<Option<u16>> = (0..LABELS).map(|label| Some((label % 2) as u16)).collect();
    Groups::new(vec!["even".into(), "odd".into()], &of, "by parity").unwrap()
}

fn rows(result: &EvaluationResult, estimator: Estimator) -> impl Iterator<Item = &Row> {
    result.rows.iter().filter(move |row| row.estimator == estimator)
}

/// How often something held.
#[derive(Default)]
struct Share(f64, f64);

impl Share {
    fn add(&mut self, held: bool) {
        self.0 += f64::from(u8::from(held));
        self.1 += 1.0;
    }

    fn get(&self) -> f64 {
        self.0 / self.1
    }
}

fn within(value: f64, low: Option<f64>, high: Option<f64>) -> bool {
    low.unwrap() <= value && value <= high.unwrap()
}

#[test]
fn omega_is_unbiased_and_its_intervals_cover() {
    let population = {
        let large = world(1_000_000, 40_000);
        large.evaluation(&large.truth).estimators(&[Estimator::Observed]).run().unwrap()
    };
    let mut errors = Vec::new();
    let (mut of_rows, mut of_population, mut differences, mut of_floor) =
        (Share::default(), Share::default(), Share::default(), (0.0, 0.0));
    for repetition in 0..60 {
        let (train, test) = (world(2 * repetition, 500), world(2 * repetition + 1, 300));
        let truth = test.evaluation(&test.truth).estimators(&[Estimator::Observed]).run().unwrap();
        for kind in [IntervalKind::Mask, IntervalKind::Population] {
            let evaluation = test.evaluation(&test.observed).matched(train.matched()).unwrap().interval(kind);
            let result = evaluation.estimators(&[Estimator::Observed, Estimator::Omega]).run().unwrap();
            let target = if kind == IntervalKind::Mask { &truth } else { &population };
            for (row, target) in rows(&result, Estimator::Omega).zip(&target.rows) {
                assert_eq!((&row.metric, row.k, &row.model), (&target.metric, target.k, &target.model));
                let target = target.value.unwrap();
                let share = if kind == IntervalKind::Mask { &mut of_rows } else { &mut of_population };
                share.add(within(target, row.low, row.high));
                if kind == IntervalKind::Mask {
                    of_floor.0 += (row.value.unwrap() - target).abs();
                    of_floor.1 += row.expected_error.unwrap();
                    if row.metric == "precision" && row.k == 3 && row.model == "a" {
                        errors.push(row.value.unwrap() - target);
                    }
                }
            }
            let found = result.comparisons.iter().filter(|c| c.estimator == Estimator::Omega);
            for (found, target) in found.zip(&target.comparisons) {
                assert_eq!((&found.metric, found.k), (&target.metric, target.k));
                differences.add(within(target.difference.unwrap(), found.low, found.high));
            }
        }
    }
    let n = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let se = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    println!(
        "omega of precision@3: mean error {mean:.5} (se {se:.5}); covered: these rows {:.3}, population {:.3}, differences {:.3}; \
         error over expected error {:.3}",
        of_rows.get(),
        of_population.get(),
        differences.get(),
        of_floor.0 / of_floor.1
    );
    assert!(mean.abs() < 4.0 * se, "{mean} {se}");
    // The repetitions are 60, and the metrics of one are correlated.
    for share in [of_rows, of_population, differences] {
        assert!((0.9..=0.99).contains(&share.get()), "{}", share.get());
    }
    assert!((0.8..1.2).contains(&(of_floor.0 / of_floor.1)));
}

/// The standard error of a difference has the covariance of both models, on the test rows and on the matched rows.
#[test]
fn paired_differences_are_narrower_than_unpaired_ones() {
    let (train, test) = (world(7, 500), world(8, 400));
    for kind in [IntervalKind::Mask, IntervalKind::Population] {
        let result = test.evaluation(&test.observed).matched(train.matched()).unwrap().interval(kind).run().unwrap();
        for c in result.comparisons.iter().filter(|c| c.estimator == Estimator::Omega) {
            let se = |model: &str| {
                let of = |row: &&Row| (row.metric.as_str(), row.k, row.model.as_str()) == (c.metric.as_str(), c.k, model);
                rows(&result, Estimator::Omega).find(of).unwrap().se.unwrap()
            };
            let unpaired = se("a").hypot(se("b"));
            assert!(c.se.unwrap() < 0.95 * unpaired, "{c:?} {unpaired}");
        }
    }
}

/// Too little is missed for a regression: what is left is the mean number of missed hits of the matched rows.
#[test]
fn without_a_regression_the_matched_rows_add_what_they_missed() {
    let (observed, later) = (vec![vec![0], vec![1], vec![], vec![0]], vec![vec![0, 1], vec![1], vec![1], vec![0]]);
    let labels = |rows: Vec<Vec<u32>>| Labels::from_ids(2, rows).unwrap();
    let (early, late) = (labels(observed), labels(later));
    let scores = Csr::from_rows(2, (0..4).map(|_| [(1, 2.0f32), (0, 1.0)])).unwrap();
    let test = labels(vec![vec![1], vec![]]);
    let test_scores = Csr::from_rows(2, (0..2).map(|_| [(1, 2.0f32), (0, 1.0)])).unwrap();
    let matched = MatchedRows::new(&early, &late).unwrap().predictions("m", &scores).unwrap();
    let evaluation = Evaluation::new(&test, &[("m", &test_scores)]).unwrap().matched(matched).unwrap();
    let result = evaluation.metrics(&["precision"]).unwrap().ks(&[1, 2]).unwrap().run().unwrap();
    // Observed: 1/2 at 1, 1/4 at 2. Missed: label 1 of two of four matched rows.
    let row = |k| result.find("precision", k, Estimator::Omega).unwrap();
    assert_eq!((row(1).value, row(2).value), (Some(1.0), Some(0.5)));
    // Residuals 1, 0, 1, 0 with variance 1/3; row terms 1, 0 with variance 1/2.
    let se = (0.5 / 2.0 + 1.0 / 3.0 / 4.0f64).sqrt();
    assert!((row(1).se.unwrap() - se).abs() < 1e-12, "{:?}", row(1));
    let expected = (std::f64::consts::FRAC_2_PI * (1.0 / 3.0) * (1.0 / 2.0 + 1.0 / 4.0)).sqrt();
    assert!((row(1).expected_error.unwrap() - expected).abs() < 1e-12);
}

#[test]
fn groups_add_up_and_parts_give_the_bytes_of_the_whole() {
    let (train, test) = (world(17, 300), world(18, 200));
    let evaluation = test.evaluation(&test.observed).matched(train.matched()).unwrap().groups(groups()).unwrap();
    let whole = evaluation.tally().unwrap();
    let result = whole.finish().unwrap();
    for row in rows(&result, Estimator::Omega).filter(|row| row.group == "all") {
        let is_part =
            |other: &&Row| (&other.metric, other.k, &other.model) == (&row.metric, row.k, &row.model) && other.group != "all";
        let sum: f64 = rows(&result, Estimator::Omega).filter(is_part).map(|row| row.value.unwrap()).sum();
        assert!((sum - row.value.unwrap()).abs() < 1e-12, "{row:?} {sum}");
    }
    let parts = [0..77, 77..200].map(|range| evaluation.tally_rows(range).unwrap());
    let merged = Tally::merge(parts).unwrap();
    assert_eq!(merged.to_bytes().unwrap(), whole.to_bytes().unwrap());
    let read = Tally::from_bytes(&whole.to_bytes().unwrap()).unwrap();
    assert_eq!(read.finish().unwrap(), result);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (train, test) = (world(27, 60), world(28, 40));
    let matched = MatchedRows::new(&train.observed, &train.truth).unwrap();
    let others = matched.clone().predictions("other", &train.scores[0]).unwrap();
    let error = test.evaluation(&test.observed).matched(others).unwrap().estimators(&[Estimator::Omega]).run().unwrap_err();
    assert!(format!("{error}").contains("use the same name for both"), "{error}");
    let short = Csr::from_rows(u64::from(LABELS), (0..60).map(|_| [(0, 1.0f32), (1, 0.5)])).unwrap();
    let matched = matched.predictions("a", &short).unwrap();
    let error = test.evaluation(&test.observed).matched(matched).unwrap().run().unwrap_err();
    assert!(format!("{error}").contains("too short"), "{error}");
    assert!(MatchedRows::new(&train.observed, &test.truth).is_err());
    assert!(train.matched().predictions("a", &train.scores[0]).is_err());
}

fn codes(result: &EvaluationResult) -> Vec<&str> {
    result.findings.iter().map(|finding| finding.code.as_str()).filter(|code| *code >= "U010").collect()
}

/// What contradicts the assumptions of matched rows is found, and what does not is not.
#[test]
fn matched_rows_that_differ_are_found() {
    let (train, test) = (world(37, 2000), world(38, 1500));
    let result = test.evaluation(&test.observed).matched(train.matched()).unwrap().run().unwrap();
    assert_eq!(codes(&result), [""; 0], "{:?}", result.findings);

    // The later snapshot lacks a label that was observed.
    let cut = train.truth.filter_map(u64::from(LABELS), |row, label, ()| (row > 400 || label > 0).then_some(label)).unwrap();
    let matched = MatchedRows::new(&train.observed, &cut).unwrap().predictions("a", &train.scores[0]).unwrap();
    let (retracted, all) = matched.retracted();
    assert!(retracted > 0 && all == train.observed.nnz() as u64);
    let result = test.evaluation(&test.observed).matched(matched).unwrap().run().unwrap();
    assert_eq!(codes(&result), ["U010", "U014"], "{:?}", result.findings);
    assert!(result.findings.iter().any(|finding| finding.message.contains(&format!("{retracted} of {all}"))));

    // Younger test rows have fewer labels; so has what is observed of their hits.
    let young = test
        .observed
        .filter_map(u64::from(LABELS), |row, label, ()| (!(row as u32 + label).is_multiple_of(3)).then_some(label))
        .unwrap();
    let result = test.evaluation(&young).matched(train.matched()).unwrap().run().unwrap();
    assert!(codes(&result).contains(&"U011"), "{:?}", result.findings);

    // Predictions of a model that has seen the rows.
    let row = |row: usize| train.observed.row_ids(row).iter().map(|label| (*label, 9.0f32)).chain([(LABELS - 1, 1.0)]).take(3);
    let seen: Vec<Vec<(u32, f32)>> = (0..2000)
        .map(|r| {
            let mut list: Vec<(u32, f32)> = row(r).collect();
            list.sort_by_key(|(label, _)| *label);
            list.dedup_by_key(|(label, _)| *label);
            list.extend((0..LABELS).filter(|l| list.iter().all(|(label, _)| label != l)).map(|l| (l, -1.0)).collect::<Vec<_>>());
            list
        })
        .collect();
    let seen = Csr::from_rows(u64::from(LABELS), seen).unwrap();
    let matched = MatchedRows::new(&train.observed, &train.truth).unwrap();
    let matched = matched.predictions("a", &seen).unwrap().predictions("b", &train.scores[1]).unwrap();
    let result = test.evaluation(&test.observed).matched(matched).unwrap().run().unwrap();
    assert_eq!(codes(&result), ["U012"], "{:?}", result.findings);
    assert!(result.findings.iter().any(|finding| finding.message.contains("was trained on the rows")));
}

/// In this world the labels of a row go missing together, which matters where independence is assumed.
#[test]
fn labels_that_go_missing_together_are_found_where_it_matters() {
    let (train, test) = (world(47, 1500), world(48, 300));
    let p = || unmissed::propensity::Propensities::new("p", vec![0.6; LABELS as usize]).unwrap();
    let sums = test.evaluation(&test.observed).propensity(p()).matched(train.matched()).unwrap();
    assert_eq!(codes(&sums.run().unwrap()), [""; 0]);
    let products = sums.metrics(&["recall", "abandonment"]).unwrap();
    assert_eq!(codes(&products.run().unwrap()), ["U013"]);
    assert_eq!(codes(&products.estimators(&[Estimator::Observed]).run().unwrap()), [""; 0]);
}
