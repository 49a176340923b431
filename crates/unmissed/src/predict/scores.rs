//! All scores of rows, and code that all kinds of scoring share.

use super::Model;
use super::batch::{Batch, Chunk, batches};
use super::kernel::{TOGETHER, WIDTH, add_scores};
use super::panel::Line;
use crate::data::Features;
use crate::error::{Error, Result};
use crate::sigmoid::sigmoid;
use rayon::prelude::*;
use std::ops::Range;

impl Model {
    /// The logits of some rows, row by row: `z_j = b_j + sum_f W[f, j] x_f`, with the row scaled as the model says.
    ///
    /// ```
    /// use unmissed::data::{Dense, Features};
    /// use unmissed::predict::{Block, Model, Normalize};
    /// let block = Block { first: 0, bias: vec![0.5, 0.0], weights: vec![1.0, 2.0, -1.0, 0.0] };
    /// let model = Model::new(2, Normalize::L2, vec![block])?;
    /// let rows = Features::Dense(Dense::new(2, 2, vec![3.0, 4.0, 0.0, 0.0])?);
    /// assert_eq!(model.logits(&rows, 0..2)?, [0.5 + 0.6 - 0.8, 1.2, 0.5, 0.0]);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn logits(&self, data: &Features<'_>, rows: Range<usize>) -> Result<Vec<f32>> {
        self.check_rows(data)?;
        if rows.start > rows.end || rows.end > data.rows() {
            return Err(Error::value("there are no such rows")
                .expected(format!("rows of 0..{}", data.rows()))
                .found(format!("{}..{}", rows.start, rows.end)));
        }
        let labels = self.labels();
        let mut logits = vec![0.0; rows.len() * labels];
        if labels == 0 {
            return Ok(logits);
        }
        for batch in batches(data, rows.clone(), usize::MAX, self.features(), self.normalize()) {
            let from = batch.first - rows.start;
            let mut parts = Vec::new();
            let mut rest = &mut logits[from * labels..(from + batch.rows()) * labels];
            for chunk in &batch.chunks {
                let (part, others) = rest.split_at_mut(chunk.rows() * labels);
                parts.push((chunk, part));
                rest = others;
            }
            parts.into_par_iter().try_for_each(|(chunk, part)| self.fill(chunk, part))?;
        }
        Ok(logits)
    }

    /// The probabilities `sigmoid(z_j)` of all labels for some rows, row by row.
    pub fn probabilities(&self, data: &Features<'_>, rows: Range<usize>) -> Result<Vec<f32>> {
        let mut scores = self.logits(data, rows)?;
        scores.par_iter_mut().with_min_len(1 << 12).for_each(|score| *score = sigmoid(f64::from(*score)) as f32);
        Ok(scores)
    }

    /// All logits of a chunk.
    fn fill(&self, chunk: &Chunk, logits: &mut [f32]) -> Result<()> {
        self.score(0..self.panels().len(), std::slice::from_ref(chunk), |panel, sums| {
            let labels = self.panel_labels(panel);
            for (row, sum) in logits.chunks_exact_mut(self.labels()).zip(sums) {
                row[labels.clone()].copy_from_slice(&sum.0[..labels.len()]);
            }
        })
    }

    /// Shows the logits of the rows of some chunks on some panels: panel by panel, one line per row.
    pub(super) fn score(&self, panels: Range<usize>, chunks: &[Chunk], mut show: impl FnMut(usize, &[Line])) -> Result<()> {
        let rows = chunks.iter().map(Chunk::rows).sum::<usize>();
        let (mut sums, mut scratch) = (Vec::new(), Vec::new());
        for first in panels.clone().step_by(TOGETHER) {
            let group = first..panels.end.min(first + TOGETHER);
            sums.clear();
            for panel in group.clone() {
                let labels = self.panel_labels(panel);
                let mut start = Line([0.0; WIDTH]);
                start.0[..labels.len()].copy_from_slice(&self.bias()[labels]);
                sums.resize(sums.len() + rows, start);
            }
            add_scores(&self.panels()[group.clone()], self.features(), chunks, &mut sums, &mut scratch);
            for (panel, sums) in group.zip(sums.chunks(rows.max(1))) {
                // Zero times a number that is not finite is not zero: one sum tells of all.
                if sums.iter().any(|line| line.0.iter().map(|score| score * 0.0).sum::<f32>() != 0.0) {
                    let labels = self.panel_labels(panel);
                    return Err(Error::value(format!("scores of labels {} to {} overflow", labels.start, labels.end - 1))
                        .expected("features and weights of moderate size")
                        .hint("scale the features"));
                }
                show(panel, sums);
            }
        }
        Ok(())
    }

    /// Rejects rows that the model was not made for.
    pub fn check_rows(&self, data: &Features<'_>) -> Result<()> {
        check_features(self.features(), data)
    }
}

/// Rejects rows that a model with so many features was not made for.
pub(super) fn check_features(expected: usize, data: &Features<'_>) -> Result<()> {
    let found = data.cols();
    // Sparse rows may end early: the features that are not there are zero.
    let fits = match data {
        Features::Sparse(_) => found <= expected,
        Features::Dense(_) => found == expected,
    };
    if fits {
        return Ok(());
    }
    Err(Error::value("the rows do not have the features of the model")
        .expected(format!("{}{expected} features", if found > expected { "at most " } else { "" }))
        .found(found.to_string())
        .hint("features must be numbered as in the data that the model was trained on"))
}

/// Work that threads share: some panels for some chunks of a batch. Rows are independent and so are labels, so any plan gives
/// the same scores.
pub(super) fn jobs(batch: &Batch, panels: usize) -> Vec<(Range<usize>, Range<usize>)> {
    // A few for each thread even out what they take.
    let wanted = 4 * rayon::current_num_threads();
    let chunks = batch.chunks.len();
    if panels >= wanted {
        // By labels: a thread reads its weights once from memory, and all share the rows.
        let part = panels.div_ceil(wanted).next_multiple_of(TOGETHER);
        return (0..panels).step_by(part).map(|first| (first..panels.min(first + part), 0..chunks)).collect();
    }
    // Few labels: their weights are small, and rows are what there is to share.
    (0..chunks).map(|chunk| (0..panels, chunk..chunk + 1)).collect()
}
