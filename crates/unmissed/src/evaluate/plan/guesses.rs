//! Guesses by rank for doubly robust estimates, cross-fitted: each row's come from the other parts of the rows.

use super::settings::KnownPairs;
use crate::data::{Csr, Labels};
use crate::evaluate::builder::Evaluation;
use crate::evaluate::robust::{later_term, shown_term};
use crate::rng::{Purpose, below, stream};
use crate::top_k::{NONE, top_k};

/// Parts of the rows.
const FOLDS: u64 = 5;

/// Pairs of known status and guesses for the others, by model.
pub(in crate::evaluate) struct Robust<'a> {
    evaluation: &'a Evaluation<'a>,
    known: Known<'a>,
    /// By model.
    guesses: Vec<Guesses>,
    /// The part of each row.
    folds: Vec<u8>,
}

enum Known<'a> {
    Shown { shown: &'a Labels<'a>, rate: f64 },
    Later { labels: &'a Labels<'a>, has_later: &'a [bool], rho: &'a [f64] },
}

/// The share of relevant labels among the known pairs at each rank, by the part that is left out.
struct Guesses {
    depth: usize,
    shares: Vec<f64>,
}

impl<'a> Robust<'a> {
    /// Guesses from all rows, for top lists of this length; `None` when the data do not have such pairs.
    pub(super) fn new(evaluation: &'a Evaluation<'a>, kind: KnownPairs, depth: usize) -> Option<Robust<'a>> {
        let known = match kind {
            KnownPairs::Shown => Known::Shown { shown: evaluation.shown?, rate: evaluation.request.rate.as_ref()?.common()? },
            KnownPairs::Later => {
                let later = evaluation.later.as_ref()?;
                Known::Later { labels: later.labels, has_later: &later.has_later, rho: &later.rho }
            }
        };
        let seed = evaluation.request.seed;
        let fold = |row: usize| below(&mut stream(seed, Purpose::Folds, row as u64), FOLDS) as u8;
        let folds: Vec<u8> = (0..evaluation.truth.rows()).map(fold).collect();
        let mut robust = Robust { evaluation, known, guesses: Vec::new(), folds };
        robust.guesses = evaluation.models.iter().map(|(_, scores)| robust.shares(scores, depth)).collect();
        Some(robust)
    }

    /// Whether a pair is relevant, where that is known.
    fn status(&self, row: usize, label: u32) -> Option<bool> {
        match &self.known {
            Known::Shown { shown, .. } => {
                shown.row_ids(row).contains(&label).then(|| self.evaluation.truth.row_ids(row).contains(&label))
            }
            Known::Later { labels, has_later, .. } => has_later[row].then(|| labels.row_ids(row).contains(&label)),
        }
    }

    fn shares(&self, scores: &Csr<'_, f32>, depth: usize) -> Guesses {
        // Relevant and all known pairs, by fold and rank. What is observed needs no guess.
        let mut counts = vec![(0.0, 0.0); FOLDS as usize * depth];
        let (mut scratch, mut top) = (Vec::new(), vec![NONE; depth]);
        for row in 0..scores.rows() {
            let (ids, values) = scores.row(row);
            let count = top_k(ids, values, &mut scratch, &mut top);
            for (rank, label) in top[..count].iter().enumerate() {
                let is_certain = matches!(self.known, Known::Later { .. }) && self.evaluation.truth.row_ids(row).contains(label);
                if let Some(is_relevant) = self.status(row, *label).filter(|_| !is_certain) {
                    let count = &mut counts[usize::from(self.folds[row]) * depth + rank];
                    count.0 += f64::from(u8::from(is_relevant));
                    count.1 += 1.0;
                }
            }
        }
        let share = |fold: usize, rank: usize| {
            let others = (0..FOLDS as usize).filter(|other| *other != fold).map(|other| counts[other * depth + rank]);
            let (relevant, all) = others.fold((0.0, 0.0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
            if all > 0.0 { relevant / all } else { 0.0 }
        };
        let shares = (0..FOLDS as usize).flat_map(|fold| (0..depth).map(move |rank| (fold, rank))).map(|(f, r)| share(f, r));
        Guesses { depth, shares: shares.collect() }
    }

    /// The term of the label at a rank of a row.
    pub(in crate::evaluate) fn term(&self, model: usize, row: usize, label: u32, rank: usize) -> f64 {
        let guesses = &self.guesses[model];
        let guess = guesses.shares[usize::from(self.folds[row]) * guesses.depth + rank];
        let status = self.status(row, label);
        match &self.known {
            Known::Shown { rate, .. } => shown_term(guess, status, *rate),
            Known::Later { rho, .. } => later_term(guess, self.evaluation.truth.row_ids(row).contains(&label), status, rho[row]),
        }
    }
}
