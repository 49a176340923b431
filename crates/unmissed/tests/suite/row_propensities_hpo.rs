//! Estimates from matched rows against the later truth of real data, where the data are at hand. The example `timelapse_study` is the long
//! version.

use crate::common::rng::{Purpose, below, stream};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;
use unmissed::data::formats::{Content, ReadOptions, read_dataset, read_scores, write};
use unmissed::data::{Csr, Dataset, LabelStats, Labels};
use unmissed::data::{merge, split_rows};
use unmissed::evaluate::{Evaluation, IntervalKind};
use unmissed::metrics::Estimator;
use unmissed::propensity::estimators::timelapse::timelapse;
use unmissed::propensity::rows::{MatchedRows, RowEvidence, RowFit};
use unmissed::propensity::{Ratio, models};

const DEPTH: usize = 50;
const KS: [usize; 3] = [1, 3, 5];

/// k, propensities, estimator, value and interval of a row of the result.
type Found = (usize, Option<String>, Estimator, f64, Option<(f64, f64)>);

/// A model: from training data to scores of other rows.
type Ranker = fn(&Dataset<'_>, &Dataset<'_>) -> Csr<'static, f32>;

fn best(mut scores: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scores.truncate(DEPTH);
    scores
}

fn popularity(train: &Dataset<'_>, test: &Dataset<'_>) -> Csr<'static, f32> {
    let stats = LabelStats::of(train.labels());
    let top = best(stats.occurring().iter().map(|label| (*label, stats.count(*label) as f32)).collect());
    Csr::from_rows(train.labels().cols() as u64, vec![top; test.rows()]).unwrap()
}

/// The sum of the cosines of the 20 nearest rows that have the label.
fn neighbours(train: &Dataset<'_>, test: &Dataset<'_>) -> Csr<'static, f32> {
    let (of_train, of_test) = (train.features().unwrap().to_sparse().unwrap(), test.features().unwrap().to_sparse().unwrap());
    let mut index: Vec<Vec<(u32, f32)>> = vec![Vec::new(); of_train.cols()];
    let length = |values: &[f32]| values.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-9);
    for (row, (ids, values)) in of_train.iter().enumerate() {
        ids.iter().zip(values).for_each(|(id, value)| index[*id as usize].push((row as u32, value / length(values))));
    }
    let mut similar = vec![0f32; train.rows()];
    let rows = of_test.iter().map(|(ids, values)| {
        similar.fill(0.0);
        for (id, value) in ids.iter().zip(values) {
            index[*id as usize].iter().for_each(|(row, other)| similar[*row as usize] += value * other / length(values));
        }
        let mut near: Vec<(usize, f32)> = similar.iter().copied().enumerate().filter(|(_, s)| *s > 0.0).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for (row, similarity) in near.into_iter().take(20) {
            train.labels().row_ids(row).iter().for_each(|label| *scores.entry(*label).or_default() += similarity);
        }
        best(scores.into_iter().collect())
    });
    Csr::from_rows(train.labels().cols() as u64, rows.collect::<Vec<_>>()).unwrap()
}

/// What training gives is kept, so that an interrupted run can be resumed; remove the folder `tmp/hpo-predictions` of the target folder to
/// train anew.
fn kept(name: &str, make: impl FnOnce() -> Csr<'static, f32>) -> Csr<'static, f32> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hpo-predictions");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.npz"));
    if !path.exists() {
        write(&Content::Scores(make()), &path, None).unwrap();
    }
    read_scores(&path, &ReadOptions::default()).unwrap()
}

/// Predictions for each row by a model that was not trained on it.
fn out_of_fold(data: &Dataset<'_>, ranker: Ranker, folds: u64, seed: u64) -> Csr<'static, f32> {
    let fold_of: Vec<u64> = (0..data.rows()).map(|row| below(&mut stream(seed, Purpose::Folds, row as u64), folds)).collect();
    let mut rows: Vec<Vec<(u32, f32)>> = vec![Vec::new(); data.rows()];
    for fold in 0..folds {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..data.rows()).partition(|row| fold_of[*row] == fold);
        let scores = ranker(&data.select_rows(&outside), &data.select_rows(&inside));
        for (place, row) in inside.into_iter().enumerate() {
            let (ids, values) = scores.row(place);
            rows[row] = ids.iter().copied().zip(values.iter().copied()).collect();
        }
    }
    Csr::from_rows(data.labels().cols() as u64, rows).unwrap()
}

/// Absolute errors and coverage, summed over cases.
#[derive(Default)]
struct Errors {
    sum: f64,
    covered: f64,
    cases: f64,
}

fn compare(splits: u64, rankers: &[(&str, Ranker, u64)], refits: usize) -> Option<HashMap<&'static str, Errors>> {
    let folder = crate::common::data("hpo-timelapse")?;
    let read = |name: &str| read_dataset(folder.join(name), &ReadOptions::default()).unwrap();
    let early = merge(&[&read("train_early.txt"), &read("test_early.txt")]).unwrap();
    let late = merge(&[&read("train_late.txt"), &read("test_late.txt")]).unwrap();
    let mut errors: HashMap<&'static str, Errors> = HashMap::new();
    for seed in 0..splits {
        let (train_rows, test_rows) = split_rows(early.rows(), 0.3, seed).unwrap();
        let (train, test) = (early.select_rows(&train_rows), early.select_rows(&test_rows));
        let (train_late, test_late) = (late.labels().select_rows(&train_rows), late.labels().select_rows(&test_rows));
        let how = Ratio::new(models::family("power").unwrap()).shrunken();
        let label_wise = timelapse(train.labels(), &train_late, &how).unwrap().propensities;
        for (name, ranker, folds) in rankers {
            let start = Instant::now();
            let inner = kept(&format!("{name}-{seed}-{folds}-folds"), || out_of_fold(&train, *ranker, *folds, seed));
            let scores = kept(&format!("{name}-{seed}-test"), || ranker(&train, &test));
            let ranked = start.elapsed();
            let fit = RowFit::new(train.labels(), &train_late, RowEvidence::Later).unwrap().scores(name, &inner).unwrap();
            let model = fit.replicates(refits, seed).run().unwrap();
            let evaluation = |truth: &Labels<'_>| -> Vec<Found> {
                let evaluation =
                    Evaluation::new(truth, &[(*name, &scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&KS).unwrap();
                let matched = MatchedRows::new(train.labels(), &train_late).unwrap().predictions(name, &inner).unwrap();
                let evaluation = evaluation.propensity(label_wise.clone()).row_propensity("rows", model.clone());
                let evaluation = evaluation.matched(matched).unwrap();
                let rows = evaluation.interval(IntervalKind::Mask).run().unwrap().rows.into_iter();
                rows.map(|row| (row.k, row.propensity, row.estimator, row.value.unwrap(), row.low.zip(row.high))).collect()
            };
            let (from_early, from_late) = (evaluation(test.labels()), evaluation(&test_late));
            for k in KS {
                let truth = from_late.iter().find(|row| row.0 == k && row.2 == Estimator::Observed).unwrap().3;
                let mut line = format!("{name} split {seed} @{k}: later {:.2}", 100.0 * truth);
                for row in from_early.iter().filter(|row| row.0 == k) {
                    let key = match (&row.1, row.2) {
                        (None, Estimator::Observed) => "observed",
                        (None, Estimator::Omega) => "omega",
                        (Some(p), Estimator::Unbiased) if p == "rows" => "rows",
                        (Some(_), Estimator::Ratio) => "ratio",
                        (Some(_), Estimator::Unbiased) => "labels",
                        _ => continue,
                    };
                    let of = errors.entry(key).or_default();
                    of.sum += (row.3 - truth).abs();
                    of.cases += 1.0;
                    of.covered += row.4.map_or(0.0, |(low, high)| f64::from(u8::from(low <= truth && truth <= high)));
                    line += &format!(", {key} {:.2}", 100.0 * row.3);
                }
                println!("{line}");
            }
            let (calibration, dependence) = (model.calibration().error, KS.map(|k| model.dependence(k)));
            println!(
                "  calibration error {calibration:.4}, dependence {dependence:.2?}, {ranked:.1?} + {:.1?}",
                start.elapsed() - ranked
            );
        }
    }
    for (key, of) in &errors {
        println!(
            "{key}: mean absolute error {:.3} points, covered {:.1} % of {}",
            100.0 * of.sum / of.cases,
            100.0 * of.covered / of.cases,
            of.cases
        );
    }
    Some(errors)
}

fn check(errors: &HashMap<&'static str, Errors>) {
    let error = |key: &str| errors[key].sum / errors[key].cases;
    assert!(error("rows") <= error("labels") / 2.0, "rows {}, labels {}", error("rows"), error("labels"));
    assert!(error("omega") <= error("labels") / 2.0, "omega {}, labels {}", error("omega"), error("labels"));
    assert!(errors["omega"].covered >= 0.8 * errors["omega"].cases, "covered {}", errors["omega"].covered);
    assert!(error("rows") <= 1.25 * error("ratio"), "rows {}, ratio {}", error("rows"), error("ratio"));
    assert!(errors["rows"].covered >= 0.85 * errors["rows"].cases, "covered {}", errors["rows"].covered);
}

/// Two quick models on one split.
#[test]
fn rows_are_nearer_to_the_later_truth_than_labels() {
    let Some(errors) = compare(1, &[("neighbours", neighbours, 2), ("popularity", popularity, 5)], 20) else { return };
    check(&errors);
}
