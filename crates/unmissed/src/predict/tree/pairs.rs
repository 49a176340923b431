//! The probabilities of labels that are named.

use super::TreeModel;
use super::chunk::{Chunk, Wanted, Work, chunks};
use super::known::Known;
use crate::data::{Csr, Features, Labels};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// A way to a label of a row, as far as it was gone.
struct Way {
    row: u32,
    path: Vec<(usize, usize)>,
    at: usize,
    chance: f64,
}

impl TreeModel {
    /// The probabilities of given labels of rows, in the order in which they are given: products along their paths, means over the
    /// trees, divided by propensities where the model corrects, and then at most 1, or recalibrated.
    ///
    /// ```
    /// use unmissed::data::{Dataset, Dense, Features, Labels};
    /// use unmissed::{request::TreeRequest, train::TreeTrainer};
    /// let features = Features::Dense(Dense::new(4, 1, vec![-2.0, -1.0, 1.0, 2.0])?);
    /// let data = Dataset::new(Some(features.clone()), Labels::from_ids(2, [vec![0], vec![0], vec![1], vec![1]])?)?;
    /// let (model, _) = TreeTrainer::new(TreeRequest::default()).train(&data)?;
    /// let candidates = Labels::from_ids(2, [vec![1, 0], vec![], vec![1], vec![]])?;
    /// let scores = model.score(&features, &candidates)?;
    /// assert_eq!(scores.row_ids(0), [1, 0]);
    /// assert!(scores.row(0).1[0] < 0.5 && scores.row(2).1[0] > 0.5);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn score(&self, data: &Features<'_>, candidates: &Labels<'_>) -> Result<Csr<'static, f32>> {
        self.check_rows(data)?;
        if (candidates.rows(), candidates.cols()) != (data.rows(), self.labels()) {
            return Err(Error::value("the candidates are not for these rows and this model")
                .expected(format!("{} rows of {} labels", data.rows(), self.labels()))
                .found(format!("{} rows of {}", candidates.rows(), candidates.cols())));
        }
        let scored = |work: &mut Work, rows: Range<usize>| -> Result<Vec<f32>> {
            let pairs: Vec<(u32, u32)> = (0u32..)
                .zip(rows.clone())
                .flat_map(|(place, row)| candidates.row_ids(row).iter().map(move |&label| (place, label)))
                .collect();
            let chunk = Chunk::new(self, data, rows);
            let mut sums = vec![0.0; pairs.len()];
            for tree in 0..self.trees.len() {
                let mut known = Known::new(chunk.rows());
                let chances = self.chances_of(tree, &chunk, &pairs, &mut known, work)?;
                sums.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance);
            }
            let score = |(sum, &(_, label)): (f64, &(u32, u32))| {
                let inverse = self.inverse.as_ref().map_or(1.0, |inverse| inverse[label as usize]);
                let chance = sum / self.trees.len() as f64;
                let chance = self.recalibration.as_ref().map_or(chance, |recalibration| recalibration.at(chance, label));
                (chance * inverse).min(1.0) as f32
            };
            Ok(sums.into_iter().zip(&pairs).map(score).collect())
        };
        let parts = chunks(data.rows()).into_par_iter().map_init(|| Work::new(self), scored).collect::<Result<Vec<_>>>()?;
        Csr::from_arrays(self.labels() as u64, candidates.offsets().to_vec(), candidates.ids().to_vec(), parts.concat())
    }

    /// The probabilities that one tree gives to (row, label) pairs of a chunk; what is evaluated on the way becomes known.
    pub(super) fn chances_of(
        &self,
        tree: usize,
        chunk: &Chunk,
        pairs: &[(u32, u32)],
        known: &mut Known,
        work: &mut Work,
    ) -> Result<Vec<f64>> {
        let shape = &self.trees[tree];
        let mut ways: Vec<Way> =
            pairs.iter().map(|&(row, label)| Way { row, path: shape.path(label), at: 0, chance: 1.0 }).collect();
        let mut wanted: Vec<Wanted> = Vec::new();
        loop {
            wanted.clear();
            for (place, way) in (0u32..).zip(&mut ways) {
                while let Some(&(node, lane)) = way.path.get(way.at) {
                    let lanes = shape.lanes(node);
                    let Some(chances) = known.of(way.row, node as u32) else {
                        wanted.push(Wanted { node: node as u32, row: way.row, place, chance: way.chance });
                        break;
                    };
                    way.chance *= f64::from(chances[lane - lanes.start]);
                    way.at += 1;
                }
            }
            if wanted.is_empty() {
                return Ok(ways.into_iter().map(|way| way.chance).collect());
            }
            wanted.sort_unstable_by_key(Wanted::order);
            wanted.dedup_by_key(|wanted| (wanted.node, wanted.row));
            self.evaluate(tree, chunk, &mut wanted, work, |wanted, chances| known.put(wanted.row, wanted.node, chances))?;
        }
    }

    /// Rejects rows that the model was not made for.
    pub fn check_rows(&self, data: &Features<'_>) -> Result<()> {
        crate::predict::scores::check_features(self.features, data)
    }
}
