//! What 290 users allow to say about propensities that depend on the row: ratings that users chose to give, and a random sample of
//! the same users, where the data are at hand.

use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::{Csr, LabelStats, Labels, split_rows};
use unmissed::evaluate::{Evaluation, Rate, Row};
use unmissed::metrics::Estimator;
use unmissed::propensity::rows::{RowEvidence, RowFit};

const ITEMS: u32 = 300;
const K: usize = 5;

fn popularity(labels: &Labels<'_>) -> Vec<(u32, f32)> {
    let stats = LabelStats::of(labels);
    (0..ITEMS).map(|item| (item, stats.count(item) as f32)).collect()
}

/// Each row's from the other fifths of the rows.
fn out_of_fold(labels: &Labels<'_>) -> Csr<'static, f32> {
    let rows = labels.rows();
    let of_fold = |fold: usize| popularity(&labels.select_rows(&(0..rows).filter(|row| row % 5 != fold).collect::<Vec<_>>()));
    let folds: Vec<Vec<(u32, f32)>> = (0..5).map(of_fold).collect();
    Csr::from_rows(u64::from(ITEMS), (0..rows).map(|row| folds[row % 5].clone())).unwrap()
}

#[test]
fn what_290_users_allow() {
    let Some(folder) = crate::common::data("coat") else { return };
    let read = |name: &str, positive: f32| {
        let options = ReadOptions { format: Some("matrix".parse().unwrap()), positive: Some(positive), ..ReadOptions::default() };
        read_dataset(folder.join(name), &options).unwrap()
    };
    let (chosen, random, shown) = (read("train.ascii", 4.0), read("test.ascii", 4.0), read("test.ascii", 1.0));
    let (mut rows_off, mut observed_off, mut within, mut halves) = (0.0, 0.0, 0, 0);
    let (mut rows_se, mut known_se) = (0.0, 0.0);
    for seed in 0..10 {
        let (fit_on, look_at) = split_rows(290, 0.5, seed).unwrap();
        let (early, known) = (chosen.labels().select_rows(&fit_on), random.labels().select_rows(&fit_on));
        let scores = out_of_fold(&early);
        let fit = RowFit::new(&early, &known, RowEvidence::Controlled).unwrap().scores("popularity", &scores).unwrap();
        let model = fit.replicates(50, seed).run().unwrap();
        let (_, pairs, observed) = model.sizes();
        model.unfinished().iter().for_each(|what| println!("half {seed}: {what}"));

        let top = popularity(&early);
        let scores = Csr::from_rows(u64::from(ITEMS), vec![top; look_at.len()]).unwrap();
        let labels = chosen.labels().select_rows(&look_at);
        let models = [("popularity", &scores)];
        let evaluation = |labels| Evaluation::new(labels, &models).unwrap().metrics(&["precision"]).unwrap().ks(&[K]).unwrap();
        let by_row = evaluation(&labels).row_propensity("rows", model).run().unwrap();
        let (controlled, shown) = (random.labels().select_rows(&look_at), shown.labels().select_rows(&look_at));
        let rated =
            evaluation(&controlled).rate(Rate::Shown { shown: 16, of: ITEMS }).unwrap().shown(&shown).unwrap().run().unwrap();
        let find = |rows: &[Row], estimator, lane: Option<&str>| {
            let is = |row: &&Row| row.estimator == estimator && (lane.is_none() || row.propensity.as_deref() == lane);
            let row = rows.iter().find(is).unwrap();
            (row.value.unwrap(), row.se.unwrap())
        };
        let rows = find(&by_row.rows, Estimator::Unbiased, Some("rows"));
        let seen = find(&by_row.rows, Estimator::Observed, None);
        let truth = find(&rated.rows, Estimator::Hajek, None);
        println!(
            "half {seed}: {pairs} random positives, {observed} of them chosen; precision@{K} observed {:.3}, by row {:.3} (se {:.3}), \
             random sample {:.3} (se {:.3})",
            seen.0, rows.0, rows.1, truth.0, truth.1
        );
        rows_off += (rows.0 - truth.0).abs();
        observed_off += (seen.0 - truth.0).abs();
        rows_se += rows.1;
        known_se += truth.1;
        within += u32::from((rows.0 - truth.0).abs() <= 1.96 * rows.1.hypot(truth.1));
        halves += 1;
    }
    let mean = |sum: f64| sum / f64::from(halves);
    println!(
        "mean distance to the random sample: observed {:.3}, by row {:.3}; standard errors: by row {:.3}, random sample {:.3}; {within} of \
         {halves} within both errors",
        mean(observed_off),
        mean(rows_off),
        mean(rows_se),
        mean(known_se)
    );
    // So few users show nothing about single rows: the estimate is farther off than what is observed. What must hold is that its
    // interval says so.
    assert!(within >= 8, "{within}");
    assert!(rows_se > 5.0 * known_se, "{rows_se} {known_se}");
}
