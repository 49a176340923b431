//! The labels with the highest scores of each row.
//!
//! Panels are scored one after the other, and each row keeps the best k labels so far. A score is first compared with the
//! worst of them, all of a panel's at once; few pass. Work is shared by labels, and what threads found for a row is merged:
//! ranks are a strict order (score, then smaller label), so the outcome does not depend on who did what.

use super::Model;
use super::batch::{Batch, batches};
use super::kernel::WIDTH;
use super::options::{PredictOptions, Ranking};
use super::panel::Line;
use super::scores::jobs;
use crate::data::{Csr, Features};
use crate::error::Result;
use crate::top_k::Key;
use rayon::prelude::*;
use std::collections::BinaryHeap;
use std::ops::Range;

/// What the best labels of the rows of a batch may take in memory before they go into the result.
const KEPT: usize = 64 << 20;

impl Model {
    /// The labels with the highest scores for each row, highest first; [`PredictOptions`] says what scores are.
    ///
    /// Labels rank by their logits, also where probabilities are so close to 1 that they are written with the same digits.
    ///
    /// ```
    /// use unmissed::data::{Features, Scores};
    /// use unmissed::predict::{Block, Model, Normalize, PredictOptions};
    /// use unmissed::propensity::Propensities;
    /// let block = Block { first: 0, bias: vec![0.0, 0.0, -2.0], weights: vec![1.0, -1.0, 0.0] };
    /// let model = Model::new(1, Normalize::None, vec![block])?;
    /// let rows = Features::Sparse(Scores::new(1, vec![0, 1], vec![0], vec![1.0])?);
    /// let top = model.predict(&rows, &PredictOptions { k: 2, logits: true, ..Default::default() })?;
    /// assert_eq!(top.row(0), (&[0, 1][..], &[1.0, -1.0][..]));
    /// // Label 2 is observed one time in ten: sigmoid(-2) / 0.1 = 1.19, more than sigmoid(1) = 0.73.
    /// let p = Propensities::new("known", vec![1.0, 1.0, 0.1])?;
    /// let top = model.predict(&rows, &PredictOptions { k: 2, propensities: Some(&p), ..Default::default() })?;
    /// assert_eq!(top.row_ids(0), [2, 0]);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn predict(&self, data: &Features<'_>, options: &PredictOptions<'_>) -> Result<Csr<'static, f32>> {
        let ranking = Ranking::new(options, self)?;
        self.check_rows(data)?;
        options.progress.begin("predicting", data.rows() as u64);
        let most = KEPT / (size_of::<Key>() * ranking.k * 4 * rayon::current_num_threads());
        let (mut offsets, mut ids, mut scores) = (vec![0], Vec::new(), Vec::new());
        for batch in batches(data, 0..data.rows(), most, self.features(), self.normalize()) {
            for row in self.rank(&batch, &ranking)? {
                ids.extend(row.iter().map(|key| key.label()));
                scores.extend(row.iter().map(|key| ranking.given(key.score(), key.label() as usize)));
                offsets.push(ids.len() as u64);
            }
            options.progress.advance(batch.rows() as u64)?;
        }
        Csr::from_arrays(self.labels() as u64, offsets, ids, scores)
    }

    /// The best labels of each row of a batch, in order.
    fn rank(&self, batch: &Batch, ranking: &Ranking) -> Result<Vec<Vec<Key>>> {
        let found = jobs(batch, self.panels().len()).into_par_iter().map(|(panels, chunks)| {
            let first: usize = batch.chunks[..chunks.start].iter().map(|chunk| chunk.rows()).sum();
            Ok((first, self.rank_part(batch, panels, chunks, ranking)?))
        });
        let mut rows: Vec<Vec<Key>> = vec![Vec::new(); batch.rows()];
        for (first, part) in found.collect::<Result<Vec<_>>>()? {
            for (row, best) in rows[first..].iter_mut().zip(part) {
                row.extend(best.keys);
            }
        }
        rows.par_iter_mut().with_min_len(256).for_each(|row| {
            row.sort_unstable();
            row.truncate(ranking.k);
        });
        Ok(rows)
    }

    fn rank_part(&self, batch: &Batch, panels: Range<usize>, chunks: Range<usize>, ranking: &Ranking) -> Result<Vec<Best>> {
        let chunks = &batch.chunks[chunks];
        let rows = chunks.iter().map(|chunk| chunk.rows()).sum();
        let mut best = vec![Best { bar: ranking.least, keys: BinaryHeap::new() }; rows];
        self.score(panels, chunks, |panel, sums| offer_all(sums, self.panel_labels(panel), ranking, &mut best))?;
        Ok(best)
    }
}

/// The best labels of a row so far.
#[derive(Clone)]
struct Best {
    /// No lower value has a place among them.
    bar: f32,
    /// The worst is on top.
    keys: BinaryHeap<Key>,
}

/// Offers the labels of a panel to the rows of a chunk, one line of logits each.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+bmi2", "x86_64+avx2+bmi2"))]
fn offer_all(logits: &[Line], labels: Range<usize>, ranking: &Ranking, best: &mut [Best]) {
    for (line, best) in logits.iter().zip(best) {
        let values = match ranking.by_logit() {
            true => line.0,
            false => std::array::from_fn(|column| match column < labels.len() {
                true => ranking.value(line.0[column], labels.start + column),
                false => 0.0,
            }),
        };
        // One bit per label, found without branches; then only the few that pass are looked at.
        let passing = (0..WIDTH).fold(0u32, |bits, column| bits | u32::from(values[column] >= best.bar) << column);
        let mut passing = u64::from(passing) & ((1 << labels.len()) - 1);
        while passing != 0 {
            let column = passing.trailing_zeros() as usize;
            let label = labels.start + column;
            if ranking.admits(line.0[column], label) {
                best.offer(Key::new(values[column], label as u32), ranking.k);
            }
            passing &= passing - 1;
        }
    }
}

impl Best {
    fn offer(&mut self, key: Key, k: usize) {
        if self.keys.len() < k {
            self.keys.push(key);
        } else if let Some(mut worst) = self.keys.peek_mut()
            && key < *worst
        {
            *worst = key;
        }
        if let Some(worst) = self.keys.peek()
            && self.keys.len() == k
        {
            self.bar = worst.score();
        }
    }
}
