//! The same for a model on trees: its probabilities are recalibrated, as
//! `logit P(y_ij = 1) = b0 + b1 logit e_ij + b3 ln((n_j + 1/2) / n) + u_j`, with `e_ij` the probability that the trees give.
//!
//! The regression and its guard are those of two models, the second of which says nothing. A slope `b1` that is not above 0 would turn the trees'
//! order round, so it is not taken either.

use super::pairs::Logits;
use super::{Evidence, Fitted};
use crate::data::{Features, Labels};
use crate::error::Result;
use crate::predict::file::StackTable;
use crate::predict::{Recalibration, TreeModel};

/// Probabilities are held off 0 and 1 by this much, so that their logits are finite.
const OFF: f64 = 1e-9;

struct TreeLogits<'a>(&'a TreeModel);

impl Logits for TreeLogits<'_> {
    fn of_pairs(&self, features: &Features<'_>, pairs: &[(u32, u32)]) -> Result<Vec<[f64; 2]>> {
        let mut rows: Vec<usize> = pairs.iter().map(|pair| pair.0 as usize).collect();
        rows.dedup();
        let of_row = pairs.chunk_by(|a, b| a.0 == b.0).map(|own| own.iter().map(|pair| pair.1).collect::<Vec<u32>>());
        let candidates = Labels::from_ids(self.0.labels() as u64, of_row)?;
        let scores = self.0.score(&features.select_rows(&rows), &candidates)?;
        // Candidates come back in their own order.
        let logit = |score: &f32| {
            let chance = f64::from(*score).clamp(OFF, 1.0 - OFF);
            [(chance / (1.0 - chance)).ln(), 0.0]
        };
        Ok(scores.values().iter().map(logit).collect())
    }
}

/// What a controlled set says about the probabilities of a model that was not recalibrated; none where the guard keeps it as it is.
pub(in crate::train) fn recalibrate(model: &TreeModel, evidence: &Evidence<'_>) -> Result<(Option<Recalibration>, StackTable)> {
    evidence.check(model.features(), model.labels())?;
    let Fitted { pairs, whole, mut table } = evidence.fit(&TreeLogits(model))?;
    table.lines.retain(|line| line.model != "joint");
    let [constant, slope, _, frequency] = table.coefficients;
    table.taken &= slope > 0.0;
    let offset = |(label, of_label): (usize, &f64)| constant + frequency * of_label + whole.effects[label];
    let offsets = pairs.frequencies.iter().enumerate().map(offset).collect();
    let recalibration = table.taken.then(|| Recalibration::new(slope, offsets)).transpose()?;
    Ok((recalibration, table))
}
