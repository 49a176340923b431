//! What estimators and intervals claim, checked by drawing: unbiasedness over masks, coverage over masks and over rows.

use crate::common::evaluation::Rows;
use crate::common::rng::{Purpose, row_key, uniform_at};
use unmissed::data::{Csr, Labels};
use unmissed::evaluate::{Evaluation, EvaluationResult, IntervalKind, Rate, Row};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;

const LABELS: usize = 8;

fn propensities() -> Vec<f64> {
    (0..LABELS).map(|j| 0.95 - 0.08 * j as f64).collect()
}

fn weights() -> Vec<f64> {
    (0..LABELS).map(|j| 1.0 + j as f64 * 0.5).collect()
}

/// All estimates, or the clean values when `p` is `None`.
fn run(rows: &Rows, scores: &[&Csr<'static, f32>], p: Option<&[f64]>, kind: IntervalKind) -> EvaluationResult {
    let truth = rows.labels();
    let names = ["a", "b"];
    let models: Vec<_> = names.into_iter().zip(scores.iter().copied()).collect();
    let metrics = [
        "precision",
        "ndcg",
        "ndcg-min",
        "recall",
        "recall-known",
        "weighted-precision",
        "abandonment",
        "macro-f",
        "coverage:observed,unbiased",
    ];
    let clean = metrics.map(|name| name.split(':').next().unwrap());
    let evaluation = Evaluation::new(&truth, &models).unwrap().metrics(if p.is_some() { &metrics } else { &clean }).unwrap();
    let evaluation = evaluation.label_counts(vec![LABELS as u32; rows.truth.len()]).unwrap();
    let evaluation = evaluation.ks(&[1, 3]).unwrap().bootstrap(0, 0).weights("w", weights()).unwrap().interval(kind);
    match p {
        Some(p) => evaluation.propensity(Propensities::new("p", p.to_vec()).unwrap()).run().unwrap(),
        None => evaluation.run().unwrap(),
    }
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

#[test]
fn unbiased_means_unbiased() {
    let clean = Rows::random(60, LABELS, 0.6, 0.6, 21);
    let (scores, p) = (clean.scores(), propensities());
    let wanted = run(&clean, &[&scores], None, IntervalKind::Population);
    let draws: Vec<EvaluationResult> =
        (0..400).map(|seed| run(&clean.masked(&p, 1000 + seed), &[&scores], Some(&p), IntervalKind::Mask)).collect();
    let mut checked = 0;
    for (place, row) in draws[0].rows.iter().enumerate() {
        // macro-f is consistent only, and says so.
        if row.estimator != Estimator::Unbiased || row.metric == "macro-f" {
            continue;
        }
        let values: Vec<f64> = draws.iter().map(|draw| draw.rows[place].value.unwrap()).collect();
        let (mean, se) = moments(&values);
        let truth = wanted.find(&row.metric, row.k, Estimator::Observed).unwrap().value.unwrap();
        assert!((mean - truth).abs() <= 4.0 * se + 1e-12, "{}@{}: {mean} +- {se}, clean {truth}", row.metric, row.k);
        // The estimated mask variance is unbiased for the variance over masks.
        if row.metric != "coverage" {
            let variances: Vec<f64> = draws.iter().map(|draw| draw.rows[place].se.unwrap().powi(2)).collect();
            let ratio = moments(&variances).0 / (se * se * 400.0);
            assert!((0.75..1.33).contains(&ratio), "{}@{}: mask variance off by {ratio}", row.metric, row.k);
        }
        checked += 1;
    }
    assert_eq!(checked, 16);
}

/// Picks a value and its standard error.
type ValueAndSe<'a> = &'a dyn Fn(&EvaluationResult) -> (Option<f64>, Option<f64>);

/// Every other mask variance, of one model and of differences: exact ones on average, the others not too small.
#[test]
fn mask_variances_are_those_of_other_masks() {
    let clean = Rows::random(60, LABELS, 0.6, 0.6, 22);
    let (a, b, p) = (clean.scores(), Rows::random(60, LABELS, 0.6, 0.2, 22).scores(), propensities());
    let draws: Vec<EvaluationResult> =
        (0..400).map(|seed| run(&clean.masked(&p, 3000 + seed), &[&a, &b], Some(&p), IntervalKind::Mask)).collect();
    let check = |name: String, is_exact: bool, of: ValueAndSe<'_>| {
        let (values, variances): (Vec<f64>, Vec<f64>) =
            draws.iter().map(of).map(|(value, se)| (value.unwrap(), se.unwrap().powi(2))).unzip();
        let ratio = moments(&variances).0 / (moments(&values).1.powi(2) * 400.0);
        // Nearly all labels are covered whatever is missing: the bound is farthest from the truth there.
        let highest = if name.starts_with("coverage") { 6.0 } else { 2.5 };
        let band = if is_exact { 0.75..1.33 } else { 0.75..highest };
        assert!(band.contains(&ratio), "{name}: mask variance off by {ratio}");
    };
    let sums = ["precision", "ndcg", "weighted-precision", "recall-known", "abandonment"];
    let mut checked = [0; 2];
    for (place, row) in draws[0].rows.iter().enumerate() {
        let is_exact = sums.contains(&row.metric.as_str()) && row.estimator != Estimator::Normalized;
        // The unbiased coverage is all variance: what masks of 60 rows say about it varies too much to be compared.
        if row.estimator == Estimator::Unbiased && row.metric == "coverage" {
            continue;
        }
        let name = format!("{}@{} {} of {}", row.metric, row.k, row.estimator, row.model);
        check(name, is_exact, &|draw| (draw.rows[place].value, draw.rows[place].se));
        checked[0] += 1;
    }
    for (place, c) in draws[0].comparisons.iter().enumerate() {
        let is_exact = sums.contains(&c.metric.as_str()) && c.estimator != Estimator::Normalized;
        if c.estimator == Estimator::Unbiased && c.metric == "coverage" {
            continue;
        }
        let name = format!("{}@{} {}, difference", c.metric, c.k, c.estimator);
        check(name, is_exact, &|draw| (draw.comparisons[place].difference, draw.comparisons[place].se));
        checked[1] += 1;
    }
    assert_eq!(checked, [84, 42]);
}

/// How often the intervals of each cell hold the target; `draw` gives the rows and targets of a draw.
fn coverage(draws: u64, draw: impl Fn(u64) -> (EvaluationResult, Vec<f64>)) -> Vec<(Row, f64)> {
    let mut inside: Vec<(Row, f64)> = Vec::new();
    for seed in 0..draws {
        let (result, targets) = draw(seed);
        let difference = result.comparisons.iter().map(|c| (c.low, c.high));
        let ends: Vec<_> = result.rows.iter().map(|r| (r.low, r.high)).chain(difference).collect();
        for (place, ((low, high), target)) in ends.iter().zip(&targets).enumerate() {
            if seed == 0 {
                inside.push((result.rows[place.min(result.rows.len() - 1)].clone(), 0.0));
            }
            if let (Some(low), Some(high)) = (low, high) {
                inside[place].1 += f64::from(u8::from((*low..=*high).contains(target))) / draws as f64;
            }
        }
    }
    inside
}

/// Targets in the order of rows and comparisons: the clean values.
fn targets(result: &EvaluationResult, clean: &EvaluationResult) -> Vec<f64> {
    let clean_of = |metric: &str, k: usize, model: &str| {
        let found =
            clean.rows.iter().find(|r| r.metric == metric && r.k == k && r.model == model && r.estimator == Estimator::Observed);
        found.unwrap().value.unwrap()
    };
    let rows = result.rows.iter().map(|r| clean_of(&r.metric, r.k, &r.model));
    let differences = result.comparisons.iter().map(|c| clean_of(&c.metric, c.k, &c.a) - clean_of(&c.metric, c.k, &c.b));
    rows.chain(differences).collect()
}

fn mask_coverage(draws: u64) -> Vec<(Row, f64)> {
    let clean = Rows::random(300, LABELS, 0.6, 0.6, 31);
    let (a, b, p) = (clean.scores(), Rows::random(300, LABELS, 0.6, 0.2, 31).scores(), propensities());
    let wanted = run(&clean, &[&a, &b], None, IntervalKind::Mask);
    coverage(draws, |seed| {
        let result = run(&clean.masked(&p, 5000 + seed), &[&a, &b], Some(&p), IntervalKind::Mask);
        let targets = targets(&result, &wanted);
        (result, targets)
    })
}

fn population_coverage(draws: u64) -> Vec<(Row, f64)> {
    let p = propensities();
    // The truth about all rows, from many of them.
    let world = Rows::random(400_000, LABELS, 0.6, 0.6, 41);
    let weaker = |rows: usize, seed| Rows::random(rows, LABELS, 0.6, 0.2, seed).scores();
    let wanted = run(&world, &[&world.scores(), &weaker(400_000, 41)], None, IntervalKind::Population);
    coverage(draws, |seed| {
        let rows = Rows::random(300, LABELS, 0.6, 0.6, 100_000 + 10 * seed);
        let result = run(
            &rows.masked(&p, 9000 + seed),
            &[&rows.scores(), &weaker(300, 100_000 + 10 * seed)],
            Some(&p),
            IntervalKind::Population,
        );
        let targets = targets(&result, &wanted);
        (result, targets)
    })
}

fn assert_coverage(cells: &[(Row, f64)], band: (f64, f64)) {
    let mut checked = 0;
    for (row, share) in cells {
        let is_label = ["macro-f", "coverage"].contains(&row.metric.as_str());
        if row.estimator == Estimator::Unbiased && !is_label {
            assert!((band.0..=band.1).contains(share), "{}@{} {}: {share}", row.metric, row.k, row.model);
            checked += 1;
        }
    }
    assert!(checked >= 24, "{checked}");
}

/// 400 draws have a standard error of 1.1 points at 95 %.
#[test]
fn mask_intervals_cover_the_clean_value_of_these_rows() {
    assert_coverage(&mask_coverage(400), (0.91, 0.985));
}

#[test]
fn population_intervals_cover_the_value_of_all_rows() {
    assert_coverage(&population_coverage(400), (0.91, 0.985));
}

#[test]
#[ignore = "2 000 draws take minutes"]
fn intervals_cover_at_full_size() {
    assert_coverage(&mask_coverage(2000), (0.93, 0.97));
    assert_coverage(&population_coverage(2000), (0.93, 0.97));
}

/// The bootstrap's standard errors of means over labels are those of redrawn rows.
#[test]
fn the_bootstrap_has_the_spread_of_redrawn_rows() {
    let value = |seed: u64, replicates: usize| {
        let rows = Rows::random(400, LABELS, 0.6, 0.6, seed);
        let (truth, scores) = (rows.labels(), rows.scores());
        let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["macro-f"]).unwrap().ks(&[3]).unwrap();
        let result = evaluation.bootstrap(replicates, 5).run().unwrap();
        (result.rows[0].value.unwrap(), result.rows[0].se)
    };
    let values: Vec<f64> = (0..200).map(|i| value(50_000 + 10 * i, 0).0).collect();
    let spread = moments(&values).1 * 200f64.sqrt();
    let se = value(77, 400).1.unwrap();
    assert!((se / spread - 1.0).abs() < 0.25, "{se} {spread}");
    let se = value(77, 0).1.unwrap();
    assert!((se / spread - 1.0).abs() < 0.25, "jackknife: {se} {spread}");
}

/// Propensities that carry variances widen the intervals by what they add: for each label, by pairs of different rows with a hit.
#[test]
fn uncertain_propensities_widen_intervals() {
    let (rows, other) = (Rows::random(100, LABELS, 0.5, 0.5, 3), Rows::random(100, LABELS, 0.5, 0.1, 3));
    let (truth, a, b) = (rows.labels(), rows.scores(), other.scores());
    let p = Propensities::new("p", propensities()).unwrap();
    let with = p.clone().with_inverse_variances(vec![0.3; LABELS]).unwrap();
    let evaluation = |p| {
        let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().metrics(&["precision:unbiased"]).unwrap();
        evaluation.ks(&[2]).unwrap().propensity(p)
    };
    let (known, wide) = (evaluation(p).run().unwrap(), evaluation(with).run().unwrap());
    let hit = |of: &Rows, i: usize, j: u32| {
        f64::from(u8::from(rows.truth[i].contains(&j) && of.ranked(i).iter().take(2).any(|label| *label == j)))
    };
    let added = |gain: &dyn Fn(usize, u32) -> f64| {
        let of_label = |j: u32| {
            let (sum, squares) = (0..100).map(|i| gain(i, j)).fold((0.0, 0.0), |(sum, squares), g| (sum + g, squares + g * g));
            (sum * sum - squares) * 0.3
        };
        (0..LABELS as u32).map(of_label).sum::<f64>().max(0.0) / (100.0f64 * 2.0).powi(2)
    };
    let wanted = added(&|i, j| hit(&rows, i, j));
    let difference = wide.rows[0].se.unwrap().powi(2) - known.rows[0].se.unwrap().powi(2);
    assert!(wanted > 0.0 && (difference - wanted).abs() < 1e-12, "{difference} {wanted}");
    let wanted = added(&|i, j| hit(&rows, i, j) - hit(&other, i, j));
    let difference = wide.comparisons[0].se.unwrap().powi(2) - known.comparisons[0].se.unwrap().powi(2);
    assert!((difference - wanted).abs() < 1e-12, "{difference} {wanted}");
    assert!(known.notes.iter().any(|note| note.contains("taken as known")));
    assert!(wide.notes.iter().any(|note| note.contains("all intervals include the uncertainty")));
}

/// Clipping loses at most what its bound says.
#[test]
fn clipping_stays_within_its_bound() {
    let clean = Rows::random(80, LABELS, 0.6, 0.6, 11);
    let (scores, p) = (clean.scores(), propensities());
    let wanted = run(&clean, &[&scores], None, IntervalKind::Mask);
    let draw = |seed: u64| {
        let rows = clean.masked(&p, seed);
        let truth = rows.labels();
        let evaluation =
            Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["precision:clipped"]).unwrap().ks(&[3]).unwrap();
        let row =
            evaluation.clip(1.3).unwrap().propensity(Propensities::new("p", p.clone()).unwrap()).run().unwrap().rows.remove(0);
        (row.value.unwrap(), row.bias.unwrap())
    };
    let values: Vec<f64> = (0..400).map(|seed| draw(seed).0).collect();
    let (mean, se) = moments(&values);
    let truth = wanted.find("precision", 3, Estimator::Observed).unwrap().value.unwrap();
    assert!(mean < truth - 4.0 * se && mean > truth - draw(0).1 - 4.0 * se, "{mean} {truth} {}", draw(0).1);
}

/// r of m labels shown without replacement.
fn shown(rows: usize, count: usize, seed: u64) -> Vec<Vec<u32>> {
    let of_row = |row: usize| {
        let key = row_key(seed, Purpose::Shown, row as u64);
        let mut order: Vec<u32> = (0..LABELS as u32).collect();
        order.sort_by(|a, b| uniform_at(key, *a).total_cmp(&uniform_at(key, *b)));
        order.truncate(count);
        order
    };
    (0..rows).map(of_row).collect()
}

/// The standard errors of self-normalised estimates and their differences: over redrawn rows, and over redrawn shown pairs.
#[test]
fn hajek_standard_errors_are_those_of_redrawn_data() {
    let draw = |rows_seed: u64, seed: u64, kind: IntervalKind| {
        let clean = Rows::random(150, LABELS, 0.6, 0.6, rows_seed);
        let (a, b) = (clean.scores(), Rows::random(150, LABELS, 0.6, 0.2, rows_seed).scores());
        let shown = shown(150, 4, seed);
        let seen = |i: usize| clean.truth[i].iter().copied().filter(|j| shown[i].contains(j)).collect::<Vec<_>>();
        let truth = Labels::from_ids(LABELS as u64, (0..150).map(seen)).unwrap();
        let pairs = Labels::from_ids(LABELS as u64, shown.clone()).unwrap();
        let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().metrics(&["precision:hajek"]).unwrap();
        let evaluation = evaluation.ks(&[2]).unwrap().rate(Rate::Shown { shown: 4, of: LABELS as u32 }).unwrap().interval(kind);
        let result = evaluation.shown(&pairs).unwrap().run().unwrap();
        let difference = &result.comparisons[0];
        [(result.rows[0].value, result.rows[0].se), (difference.difference, difference.se)].map(|(v, se)| (v.unwrap(), se.unwrap()))
    };
    for (kind, band) in [(IntervalKind::Population, 0.85..1.15), (IntervalKind::Mask, 0.85..1.5)] {
        let rows_seed = |seed: u64| if kind == IntervalKind::Population { 70_000 + 10 * seed } else { 71 };
        let draws: Vec<[(f64, f64); 2]> = (0..400).map(|seed| draw(rows_seed(seed), seed, kind)).collect();
        for of in 0..2 {
            let (values, variances): (Vec<f64>, Vec<f64>) = draws.iter().map(|draw| (draw[of].0, draw[of].1.powi(2))).unzip();
            let ratio = (moments(&variances).0).sqrt() / (moments(&values).1 * 20.0);
            assert!(band.contains(&ratio), "{kind:?} {of}: {ratio}");
        }
    }
}

#[test]
fn controlled_sets_are_unbiased_and_hajek_varies_less() {
    let clean = Rows::random(120, LABELS, 0.6, 0.6, 61);
    let scores = clean.scores();
    let wanted = run(&clean, &[&scores], None, IntervalKind::Population);
    let metrics = ["precision", "ndcg", "weighted-precision", "abandonment"];
    let draws: Vec<EvaluationResult> = (0..400)
        .map(|seed| {
            let shown = shown(120, 4, seed);
            let seen = |i: usize| clean.truth[i].iter().copied().filter(|j| shown[i].contains(j)).collect::<Vec<_>>();
            let truth = Labels::from_ids(LABELS as u64, (0..120).map(seen)).unwrap();
            let pairs = Labels::from_ids(LABELS as u64, shown.clone()).unwrap();
            let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&metrics).unwrap().ks(&[1, 3]).unwrap();
            let evaluation = evaluation.weights("w", weights()).unwrap().rate(Rate::Shown { shown: 4, of: LABELS as u32 }).unwrap();
            evaluation.shown(&pairs).unwrap().run().unwrap()
        })
        .collect();
    let mut spreads = std::collections::HashMap::new();
    for (place, row) in draws[0].rows.iter().enumerate().filter(|(_, row)| row.estimator != Estimator::Observed) {
        let (mean, se) = moments(&draws.iter().map(|draw| draw.rows[place].value.unwrap()).collect::<Vec<_>>());
        let truth = wanted.find(&row.metric, row.k, Estimator::Observed).unwrap().value.unwrap();
        let slack = if row.estimator == Estimator::Hajek { 0.01 } else { 0.0 };
        assert!((mean - truth).abs() <= 4.0 * se + slack, "{}@{} {}: {mean} +- {se}, {truth}", row.metric, row.k, row.estimator);
        spreads.insert((row.metric.clone(), row.k, row.estimator), se);
    }
    for k in [1, 3] {
        let spread = |estimator| spreads[&("precision".to_owned(), k, estimator)];
        assert!(spread(Estimator::Hajek) < spread(Estimator::Unbiased));
        assert!(spread(Estimator::DoublyRobust) < spread(Estimator::Unbiased));
    }
}
