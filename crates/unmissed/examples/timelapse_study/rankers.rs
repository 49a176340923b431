//! Five models of different kinds and quality, quick enough to be trained a hundred times.

use std::borrow::Cow;
use std::collections::HashMap;
use unmissed::data::{Csr, Dataset, LabelStats};
use unmissed::predict::PredictOptions;
use unmissed::request::TrainRequest;
use unmissed::train::Trainer;
use unmissed::{Error, Result};

/// Labels that a row keeps.
const DEPTH: usize = 50;
/// The one-vs-all model has the labels with at least this many training rows.
const LEAST_ROWS: u64 = 30;

/// A model: from training data to scores of other rows.
pub(crate) type Ranker = fn(&Dataset<'_>, &Dataset<'_>) -> Result<Csr<'static, f32>>;

/// The models by name; the first three are those of the table of scores.
pub(crate) const RANKERS: [(&str, Ranker); 5] = [
    ("one-vs-all", one_vs_all),
    ("neighbours", |train, test| neighbours(train, test, 20)),
    ("popularity", popularity),
    ("neighbours-5", |train, test| neighbours(train, test, 5)),
    ("naive-bayes", naive_bayes),
];

fn best(mut scores: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scores.truncate(DEPTH);
    scores
}

fn features<'a>(data: &'a Dataset<'_>) -> Result<Cow<'a, Csr<'a, f32>>> {
    data.features().ok_or_else(|| Error::value("no features"))?.to_sparse()
}

fn popularity(train: &Dataset<'_>, test: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let stats = LabelStats::of(train.labels());
    let top = best(stats.occurring().iter().map(|label| (*label, stats.count(*label) as f32)).collect());
    Csr::from_rows(train.labels().cols() as u64, vec![top; test.rows()])
}

/// The sum of the cosines of the nearest rows that have the label.
fn neighbours(train: &Dataset<'_>, test: &Dataset<'_>, count: usize) -> Result<Csr<'static, f32>> {
    let (of_train, of_test) = (features(train)?, features(test)?);
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
        for (row, similarity) in near.into_iter().take(count) {
            train.labels().row_ids(row).iter().for_each(|label| *scores.entry(*label).or_default() += similarity);
        }
        best(scores.into_iter().collect())
    });
    Csr::from_rows(train.labels().cols() as u64, rows.collect::<Vec<_>>())
}

/// `log P(label) + sum over features of the row of log (P(feature | label) / P(feature))`, smoothed, labels that share a feature.
fn naive_bayes(train: &Dataset<'_>, test: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let (of_train, of_test) = (features(train)?, features(test)?);
    let stats = LabelStats::of(train.labels());
    let rows_of = train.rows() as f32;
    let mut together: Vec<HashMap<u32, f32>> = vec![HashMap::new(); of_train.cols()];
    let mut counts = vec![0f32; of_train.cols()];
    for (row, (ids, _)) in of_train.iter().enumerate() {
        for id in ids {
            counts[*id as usize] += 1.0;
            for label in train.labels().row_ids(row) {
                *together[*id as usize].entry(*label).or_default() += 1.0;
            }
        }
    }
    let prior = |label: u32| (stats.count(label) as f32 / rows_of).max(1e-9);
    let rows = of_test.iter().map(|(ids, _)| {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for id in ids.iter().map(|id| *id as usize).filter(|id| counts[*id] > 0.0) {
            for (label, both) in &together[id] {
                let given = (both + 2.0 * prior(*label)) / (counts[id] + 2.0);
                *scores.entry(*label).or_default() += (given / prior(*label)).ln().max(0.0);
            }
        }
        best(scores.into_iter().map(|(label, score)| (label, score + prior(label).ln())).collect())
    });
    Csr::from_rows(train.labels().cols() as u64, rows.collect::<Vec<_>>())
}

fn one_vs_all(train: &Dataset<'_>, test: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let all = train.labels();
    let stats = LabelStats::of(all);
    let kept: Vec<u32> = stats.occurring().iter().copied().filter(|label| stats.count(*label) >= LEAST_ROWS).collect();
    let place = |label: u32| kept.binary_search(&label).ok().map(|place| place as u32);
    let labels = all.filter_map(kept.len() as u64, |_, label, ()| place(label))?;
    let data = Dataset::new(train.features().cloned(), labels)?;
    let (model, _) = Trainer::new(TrainRequest::default()).train(&data)?;
    let features = test.features().ok_or_else(|| Error::value("no features"))?;
    let scores = model.predict(features, &PredictOptions { k: DEPTH, logits: true, ..PredictOptions::default() })?;
    scores.filter_map(all.cols() as u64, |_, place, _| kept.get(place as usize).copied())
}
