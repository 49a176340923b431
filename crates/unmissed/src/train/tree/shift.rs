//! What is added to the logits of lanes with many rows, and with few.
//!
//! The penalty shrinks the weights of a lane with few rows more than those of one with many, and the likelihood of a node is not what ranks labels
//! across nodes. So rare labels are ranked too low on some data, too high on others. One tree is trained on a part of the rows; then
//! `b (log2(n + 1) - m)` is added to its logits, for some b, where `n` is how often labels below the lane were observed and m the mean of `log2(n + 1)`
//! over these, and the b with the best precision at 1, 3 and 5 on rows that were left out is taken for all trees, if it is better than 0 by more than a standard error.

use super::{TreeDestination, TreeTrainer};
use crate::data::{Dataset, Features, split_rows_for};
use crate::error::{Error, Result};
use crate::predict::file::{TreeStore, Tried};
use crate::predict::{PredictOptions, TreeModel, TreeSearch};
use crate::request::{TreeCorrection, TreeRequest};
use crate::rng::Purpose;
use crate::tree::{LabelRows, Tree};

/// What is tried, besides 0.
const TRIED: [f64; 6] = [-0.2, -0.15, -0.1, -0.05, 0.05, 0.1];

/// With fewer rows nothing is decided.
const FEWEST_ROWS: usize = 1000;

/// The share of the rows that is left out, and how many of them are looked at at most.
const LEFT_OUT: f64 = 0.2;
const MOST_LOOKED_AT: usize = 8192;

/// The most rows that the tree is trained on.
const MOST_TRAINED_ON: usize = 100_000;

/// The search needs no more than a hint at the best labels.
const BEAM: usize = 10;

impl TreeTrainer<'_> {
    /// Tries a tree: none when there is nothing to decide, or to decide it on. A run into a file keeps what was found, and the work on it, in
    /// its store.
    pub(super) fn tried(&self, data: &Dataset<'_>, given: Option<&Tree>, store: Option<&TreeStore>) -> Result<Option<Tried>> {
        let request = &self.request;
        // Shares of rows are not decided by precision.
        if !request.calibrate || request.correction == TreeCorrection::Count || data.rows() < FEWEST_ROWS {
            return Ok(None);
        }
        if let Some(tried) = store.and_then(TreeStore::tried) {
            return Ok(Some(tried));
        }
        let (trained, looked_at) = split_rows_for(Purpose::TreeHoldout, data.rows(), LEFT_OUT, request.seed)?;
        let (trained, looked_at) = (spread(&trained, MOST_TRAINED_ON), spread(&looked_at, MOST_LOOKED_AT));
        let plain = TreeRequest {
            trees: 1,
            propensity: None,
            clip: None,
            controlled: None,
            later: None,
            calibrate: false,
            ..request.clone()
        };
        let trainer = TreeTrainer { memory: self.memory, progress: self.progress, ..TreeTrainer::new(plain) };
        let (part, others) = (data.select_rows(&trained), data.select_rows(&looked_at));
        // It is smaller than what comes next, except that a node may have a few more rows: no memory is too little for it.
        let model = match store {
            Some(store) => {
                let to = TreeDestination { path: store.tried_model(), resume: true, max_size: None };
                trainer.train_parts(&part, &to, None, given.cloned(), &|_| {})?.model
            }
            None => trainer.train_in(None, &part, given.cloned())?.0,
        };
        let counted = LabelRows::of(part.labels())?;
        let before = hits(&model, &others)?;
        let (mut best, mut most) = (0.0, 0.0);
        for by_count in TRIED {
            let shifts = lane_shifts(&model.trees()[0], &counted, by_count);
            let after = hits(&model.clone().shifted(&shifts), &others)?;
            let gains: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
            let rows = gains.len() as f64;
            let mean = gains.iter().sum::<f64>() / rows;
            let variance = gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / rows;
            if mean > most && mean > (variance / rows).sqrt() {
                (best, most) = (by_count, mean);
            }
        }
        let bytes = model.summary().bytes as f64 * evidence(data) / evidence(&part);
        let tried = Tried { by_count: best, bytes };
        // Where it lies in a file, that can be removed.
        drop(model);
        store.map_or(Ok(()), |store| store.put_tried(tried))?;
        Ok(Some(tried))
    }
}

/// What the number of weights grows with: the nonzero features of rows, for each of their labels.
fn evidence(data: &Dataset<'_>) -> f64 {
    let nonzeros = |row: usize| match data.features() {
        Some(Features::Sparse(matrix)) => matrix.row_ids(row).len(),
        Some(Features::Dense(matrix)) => matrix.cols(),
        None => 0,
    };
    let sum: usize = (0..data.rows()).map(|row| nonzeros(row) * data.labels().row_ids(row).len()).sum();
    sum.max(1) as f64
}

/// At most so many of some rows, spread over them.
fn spread(rows: &[usize], most: usize) -> Vec<usize> {
    let taken = rows.len().min(most);
    (0..taken).map(|place| rows[place * rows.len() / taken]).collect()
}

/// The sum of the precision at 1, 3 and 5 of each row.
fn hits(model: &TreeModel, data: &Dataset<'_>) -> Result<Vec<f64>> {
    let features = data.features().ok_or_else(|| Error::value("there is nothing to predict from"))?;
    let options = PredictOptions { k: 5, ..PredictOptions::default() };
    let found = model.predict(features, &options, TreeSearch { beam: Some(BEAM), max_nodes: None })?.scores;
    let of_row = |row: usize| {
        let own = data.labels().row_ids(row);
        let at = |k: usize| found.row_ids(row).iter().take(k).filter(|label| own.contains(label)).count() as f64 / k as f64;
        at(1) + at(3) + at(5)
    };
    Ok((0..data.rows()).map(of_row).collect())
}

/// What is added to the logit of each lane of a tree. Lanes without rows stay as improbable as they are.
pub(super) fn lane_shifts(tree: &Tree, label_rows: &LabelRows, by_count: f64) -> Vec<f32> {
    let mut shifts = vec![0.0; tree.ends().len()];
    if by_count == 0.0 {
        return shifts;
    }
    // Of lanes that are labels, and of those above other nodes: the sum of counts, and of what they are multiplied with.
    let mut sums = [(0.0, 0.0); 2];
    let mut of_lane = Vec::with_capacity(shifts.len());
    for node in 0..tree.nodes() {
        for (lane, labels) in tree.lanes(node).zip(tree.labels_below(node)) {
            let count = labels.iter().map(|&label| label_rows.of_label(label).len()).sum::<usize>() as f64;
            let (size, kind) = ((count + 1.0).log2(), usize::from(tree.child(lane).is_some()));
            sums[kind] = (sums[kind].0 + count, sums[kind].1 + count * size);
            of_lane.push((lane, kind, count, size));
        }
    }
    let means = sums.map(|(count, sizes): (f64, f64)| if count > 0.0 { sizes / count } else { 0.0 });
    for (lane, kind, count, size) in of_lane {
        if count > 0.0 {
            shifts[lane] = (by_count * (size - means[kind])) as f32;
        }
    }
    shifts
}
