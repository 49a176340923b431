//! Intervals of means over labels: against leaving out every row by hand, and by simulation.

use crate::common::evaluation::Rows;
use unmissed::data::{Csr, Labels};
use unmissed::evaluate::{Evaluation, EvaluationResult, Groups};
use unmissed::propensity::Propensities;

const LABELS: usize = 12;

fn scores(rows: &[Vec<(u32, f32)>]) -> Csr<'static, f32> {
    Csr::from_rows(LABELS as u64, rows.iter().cloned()).unwrap()
}

struct World {
    truth: Vec<Vec<u32>>,
    models: [Vec<Vec<(u32, f32)>>; 2],
}

fn world(rows: usize, seed: u64) -> World {
    let of = |noise: f64| Rows::random(rows, LABELS, 0.3, noise, seed);
    let (a, b) = (of(0.4), of(0.1));
    let ranked = |of: &Rows| -> Vec<Vec<(u32, f32)>> {
        (0..rows)
            .map(|row| of.ranked(row).iter().take(4).enumerate().map(|(rank, label)| (*label, 9.0 - rank as f32)).collect())
            .collect()
    };
    World { models: [ranked(&a), ranked(&b)], truth: a.truth }
}

fn evaluate(world: &World, without: Option<usize>) -> EvaluationResult {
    let keep = |row: &usize| Some(*row) != without;
    let rows: Vec<usize> = (0..world.truth.len()).filter(keep).collect();
    let truth = Labels::from_ids(LABELS as u64, rows.iter().map(|row| world.truth[*row].clone())).unwrap();
    let models = world.models.each_ref().map(|model| scores(&rows.iter().map(|row| model[*row].clone()).collect::<Vec<_>>()));
    let p = Propensities::new("p", (0..LABELS).map(|j| 0.9 - 0.04 * j as f64).collect()).unwrap();
    let of: Vec<Option<u16>> = (0..LABELS).map(|j| (j % 3 != 2).then_some((j % 2) as u16)).collect();
    let groups = Groups::new(vec!["even".into(), "odd".into()], &of, "by hand").unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &models[0]), ("b", &models[1])]).unwrap().propensity(p);
    let evaluation = evaluation.metrics(&["macro-f:beta=2", "coverage:observed,unbiased"]).unwrap().ks(&[1, 3]).unwrap();
    evaluation.groups(groups).unwrap().run().unwrap()
}

/// `(n-1)/n sum (x_i - mean)^2` over values without each row.
fn jackknife(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (n - 1.0) / n * values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
}

#[test]
fn macro_f_is_the_jackknife_of_rows_left_out_one_by_one() {
    let world = world(60, 5);
    let whole = evaluate(&world, None);
    let without: Vec<EvaluationResult> = (0..world.truth.len()).map(|row| evaluate(&world, Some(row))).collect();
    let mut checked = 0;
    for (place, row) in whole.rows.iter().enumerate().filter(|(_, row)| row.metric.starts_with("macro-f")) {
        let values: Vec<f64> = without.iter().map(|result| result.rows[place].value.unwrap()).collect();
        let (found, wanted) = (row.se.unwrap().powi(2), jackknife(&values));
        assert!((found - wanted).abs() < 1e-12 + 1e-9 * wanted, "{row:?}: {found} {wanted}");
        checked += usize::from(wanted > 0.0);
    }
    for (place, row) in whole.comparisons.iter().enumerate().filter(|(_, row)| row.metric.starts_with("macro-f")) {
        let values: Vec<f64> = without.iter().map(|result| result.comparisons[place].difference.unwrap()).collect();
        let (found, wanted) = (row.se.unwrap().powi(2), jackknife(&values));
        assert!((found - wanted).abs() < 1e-12 + 1e-9 * wanted, "{row:?}: {found} {wanted}");
        checked += usize::from(wanted > 0.0);
    }
    assert!(checked > 20, "{checked}");
}

/// Hits of each label: the rows that have it observed and in the top k.
fn hits(world: &World, model: usize, k: usize, label: u32) -> Vec<usize> {
    let is_hit = |row: &usize| {
        world.truth[*row].contains(&label) && world.models[model][*row].iter().take(k).any(|(other, _)| *other == label)
    };
    (0..world.truth.len()).filter(is_hit).collect()
}

#[test]
fn coverage_has_the_singleton_formula() {
    let (n, m, k) = (30.0, LABELS as f64, 1);
    let same_two = |world: &World| {
        let both = |label: u32| [0, 1].map(|model| hits(world, model, k, label));
        (0..LABELS as u32).map(both).filter(|[a, b]| a.len() == 2 && a == b).count() as f64
    };
    // One in which both models hit a label in the same two rows, and nothing else.
    let world = (0..200).map(|seed| world(30, seed)).find(|world| same_two(world) > 0.0).unwrap();
    let result = evaluate(&world, None);
    let hits = [0, 1].map(|model| (0..LABELS as u32).map(|label| hits(&world, model, k, label)).collect::<Vec<_>>());
    let singles = |model: usize, row: usize| hits[model].iter().filter(|rows| **rows == [row]).count() as f64;
    let twos = |model: usize| hits[model].iter().filter(|rows| rows.len() == 2).count() as f64;
    let wanted = |shares: Vec<f64>, second: f64| {
        let jackknife = shares.iter().map(|s| s * s).sum::<f64>() - shares.iter().sum::<f64>().powi(2) / n;
        // At most three quarters are taken off.
        let jackknife = jackknife * (n - 1.0) / n;
        (jackknife - second / 2.0).max(jackknife / 4.0) / (m * m)
    };
    let is_it = |metric: &str, at: usize, group: &str| metric == "coverage" && at == k && group == "all";
    for model in [0, 1] {
        let shares = (0..30).map(|row| singles(model, row)).collect();
        let name = ["a", "b"][model];
        let row =
            result.rows.iter().find(|r| is_it(&r.metric, r.k, &r.group) && r.propensity.is_none() && r.model == name).unwrap();
        let (found, wanted) = (row.se.unwrap().powi(2), wanted(shares, twos(model)));
        assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
    }
    let both = same_two(&world);
    let shares = (0..30).map(|row| singles(0, row) - singles(1, row)).collect();
    let difference = result.comparisons.iter().find(|c| is_it(&c.metric, c.k, &c.group) && c.propensity.is_none()).unwrap();
    let (found, wanted) = (difference.se.unwrap().powi(2), wanted(shares, twos(0) + twos(1) - 2.0 * both));
    assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
}
