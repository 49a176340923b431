//! The labels with the highest scores of each row.
//!
//! Panels are scored one after the other, and each row keeps the best k labels so far. A score is first compared with the
//! worst of them, all of a panel's at once; few pass. Work is shared by labels, and what threads found for a row is merged:
//! ranks are a strict order (score, then logit, then smaller label), so the outcome does not depend on who did what.

use super::Model;
use super::batch::{Batch, batches};
use super::kernel::WIDTH;
use super::options::{PredictOptions, Ranking};
use super::panel::Line;
use super::scores::jobs;
use crate::data::{Csr, Features, IgnoredPairs};
use crate::error::Result;
use crate::top_k::FineKey;
use rayon::prelude::*;
use std::collections::BinaryHeap;
use std::ops::Range;

/// What the best labels of the rows of a batch may take in memory before they go into the result.
const KEPT: usize = 64 << 20;

impl Model {
    /// The labels with the highest scores for each row, highest first; [`PredictOptions`] says what scores are.
    ///
    /// Labels rank by their logits, also where probabilities are so close to 1 that single precision does not tell them apart: of
    /// labels with different logits, the lower one then gets the next smaller number, so that whoever ranks by the scores finds
    /// the same order.
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
        if let Some(ignored) = options.ignored {
            ignored.check(data.rows(), self.labels())?;
        }
        options.progress.begin("predicting", data.rows() as u64);
        let longest = (0..data.rows()).map(|row| kept_of(&ranking, options.ignored, row)).max().unwrap_or(ranking.k);
        let most = KEPT / (size_of::<FineKey>() * longest * 4 * rayon::current_num_threads());
        let (mut offsets, mut ids, mut scores) = (vec![0], Vec::new(), Vec::new());
        for batch in batches(data, 0..data.rows(), most, self.features(), self.normalize()) {
            for row in self.rank(&batch, &ranking, options.ignored)? {
                for (label, score) in ranking.given(&row) {
                    ids.push(label);
                    scores.push(score);
                }
                offsets.push(ids.len() as u64);
            }
            options.progress.advance(batch.rows() as u64)?;
        }
        Csr::from_arrays(self.labels() as u64, offsets, ids, scores)
    }

    /// The best labels of each row of a batch, in order.
    fn rank(&self, batch: &Batch, ranking: &Ranking, ignored: Option<&IgnoredPairs>) -> Result<Vec<Vec<FineKey>>> {
        let found = jobs(batch, self.panels().len()).into_par_iter().map(|(panels, chunks)| {
            let first: usize = batch.chunks[..chunks.start].iter().map(|chunk| chunk.rows()).sum();
            Ok((first, self.rank_part(batch, panels, chunks, ranking, ignored)?))
        });
        let mut rows: Vec<Vec<FineKey>> = vec![Vec::new(); batch.rows()];
        for (first, part) in found.collect::<Result<Vec<_>>>()? {
            for (row, best) in rows[first..].iter_mut().zip(part) {
                row.extend(best.keys);
            }
        }
        rows.par_iter_mut().with_min_len(256).enumerate().for_each(|(place, row)| {
            row.sort_unstable();
            if let Some(ignored) = ignored {
                let of_row = ignored.labels().row_ids(batch.first + place);
                row.retain(|key| of_row.binary_search(&key.label()).is_err());
            }
            row.truncate(ranking.k);
        });
        Ok(rows)
    }

    fn rank_part(
        &self,
        batch: &Batch,
        panels: Range<usize>,
        chunks: Range<usize>,
        ranking: &Ranking,
        ignored: Option<&IgnoredPairs>,
    ) -> Result<Vec<Best>> {
        let first: usize = batch.first + batch.chunks[..chunks.start].iter().map(|chunk| chunk.rows()).sum::<usize>();
        let chunks = &batch.chunks[chunks];
        let rows = chunks.iter().map(|chunk| chunk.rows()).sum::<usize>();
        let room = |row: usize| kept_of(ranking, ignored, first + row);
        let mut best: Vec<Best> = (0..rows).map(|row| Best::above(ranking.least, room(row))).collect();
        self.score(panels, chunks, |panel, sums| offer_all(sums, self.panel_labels(panel), ranking, &mut best))?;
        Ok(best)
    }
}

/// How many labels of a row are kept until the ignored ones are taken out: k are left then.
fn kept_of(ranking: &Ranking, ignored: Option<&IgnoredPairs>, row: usize) -> usize {
    ranking.k + ignored.map_or(0, |ignored| ignored.labels().row_ids(row).len())
}

/// The best labels of a row so far.
#[derive(Clone)]
pub(super) struct Best {
    /// No lower value has a place among them.
    pub(super) bar: f64,
    /// The worst is on top.
    pub(super) keys: BinaryHeap<FineKey>,
    /// How many there can be.
    room: usize,
}

/// Offers the labels of a panel to the rows of a chunk, one line of logits each.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+bmi2", "x86_64+avx2+bmi2"))]
fn offer_all(logits: &[Line], labels: Range<usize>, ranking: &Ranking, best: &mut [Best]) {
    for (line, best) in logits.iter().zip(best) {
        // One bit per label, found without branches; then only the few that pass are looked at.
        let passing = if ranking.by_logit() {
            // The bar is a logit, or a little below that of a threshold: single precision will do.
            let bar = best.bar as f32;
            (0..WIDTH).fold(0u32, |bits, column| bits | u32::from(line.0[column] >= bar) << column)
        } else {
            let reaches = |column: usize| ranking.value(line.0[column], labels.start + column) >= best.bar;
            (0..labels.len()).fold(0u32, |bits, column| bits | u32::from(reaches(column)) << column)
        };
        let mut passing = u64::from(passing) & ((1 << labels.len()) - 1);
        while passing != 0 {
            let column = passing.trailing_zeros() as usize;
            let (label, logit) = (labels.start + column, line.0[column]);
            if ranking.admits(logit, label) {
                best.offer(FineKey::new(ranking.value(logit, label), logit, label as u32));
            }
            passing &= passing - 1;
        }
    }
}

impl Best {
    /// None yet, of at most so many, of which lower values need not be offered.
    pub(super) fn above(bar: f64, room: usize) -> Best {
        Best { bar, keys: BinaryHeap::new(), room }
    }

    pub(super) fn offer(&mut self, key: FineKey) {
        if self.keys.len() < self.room {
            self.keys.push(key);
        } else if let Some(mut worst) = self.keys.peek_mut()
            && key < *worst
        {
            *worst = key;
        }
        if let Some(worst) = self.keys.peek()
            && self.keys.len() == self.room
        {
            self.bar = worst.value();
        }
    }
}
