//! Joint learning: the classifier and the propensities of its labels, from observed labels alone.
//!
//! Adam on the mean of `-y ln(p s(z)) - (1 - y) ln(1 - p s(z))`, with `p = s(p')` and one parameter p' per label, learned along with
//! the weights and at the same rate. Gradients: in z, `-(1 - s)` when observed and else `p s (1 - s) / (1 - p s)`; in p',
//! `-(1 - p)` when observed and else `p (1 - p) s / (1 - p s)`. Steps, decay and the start of the weights are those of
//! [Adam](super::adam); p' does not decay. It starts at the propensities that are given, or at p = 1/2. Further starts draw p'
//! uniformly from [-e, e], as the paper does, and other weights; for each label the one with the smallest loss stays.
//!
//! # Where it fails
//! A label that is never nearly sure could as well be rarer and less often missing. So what was learned is held against how often
//! the label is observed on its surest rows (`sure_rows.rs`), and propensities that do not agree with that are marked as not
//! identified. The others have an interval that is open upwards: that rate bounds a propensity from below, and no observed label tells
//! how sure the label really is there. (With the upper limit of the rate, the intervals of agreeing labels covered the truth in 72 % of
//! 151 cases on generated surveys, and in 13 % of 38 with noisy features; all misses were above it.)
//!
//! # Assumes
//! What the data cannot say: that a label that is rare on some rows and never sure on any is so because it went missing.
//! Weights that cannot reach sure answers (few features, strong decay) leave p too large, and the reverse.
//!
//! # Reference
//! Teisseyre, Mielniczuk, Lazecka: *Different strategies of fitting logistic regression for positive and unlabelled data*,
//! ICCS 2020; the paper calls it PEJL.

use super::adam::descend;
use super::batches::Batch;
use super::checked::CheckedTraining;
use super::fit::Finished;
use super::lines::{Line, Lines, add_products};
use super::moments::Cell;
use super::problem::{Part, Problem};
use super::sure_rows::LEVEL;
use crate::error::Result;
use crate::losses::joint_gradients;
use crate::predict::Block;
use crate::propensity::estimators::anchors::SureRows;
use crate::propensity::quantiles::clopper_pearson;
use crate::propensity::{Bound, Interval, Learned, Propensities, ValueSource};
use crate::request::Adam;
use crate::rng::{Purpose, row_key, stream, uniform_at};
use crate::sigmoid::sigmoid;
use rand_chacha::rand_core::Rng;

/// Where p starts when nothing is given.
const START: f64 = 0.5;

/// A start at 1 would never move.
const HIGHEST_START: f64 = 0.95;

/// A label is nearly sure where it is observed at a rate whose interval reaches this share of its learned propensity, and does not
/// go below half of it.
const SURE: f64 = 0.9;
const HALF: f64 = 0.5;

/// Where the propensities start.
pub(super) fn starts(training: &CheckedTraining<'_>) -> Vec<f64> {
    match training.propensities {
        Some(_) => training.clipped().iter().map(|p| p.min(HIGHEST_START)).collect(),
        None => vec![START; training.labels()],
    }
}

/// What was learned, as propensities.
pub(super) fn learned(values: Vec<f64>) -> Result<Propensities> {
    let least = f64::from(f32::MIN_POSITIVE);
    let values = values.into_iter().map(|p| p.clamp(least, 1.0)).collect();
    Ok(Propensities::new(Learned::Plugin, values)?
        .with_bound(Bound::None)
        .with_note("learned together with the classifier from observed labels alone"))
}

/// Trains the labels from `first` on, from so many starts, and keeps for each label what fits its rows best. On held-out rows
/// only the first start is looked at.
pub(super) fn train<const W: usize>(problem: &Problem<'_>, first: u32, adam: &Adam, decay: f64, starts: usize) -> Result<Finished> {
    let (mut best, mut least) = from_one_start::<W>(problem, first, adam, decay, None)?;
    let more = if problem.held_out.is_some() { 1 } else { starts.max(1) };
    for start in 1..more as u64 {
        let (next, losses) = from_one_start::<W>(problem, first, adam, decay, Some(start))?;
        let width = best.block.width();
        for column in 0..width {
            if losses[column] >= least[column] {
                continue;
            }
            least[column] = losses[column];
            best.block.bias[column] = next.block.bias[column];
            let lines = best.block.weights.chunks_exact_mut(width).zip(next.block.weights.chunks_exact(width));
            lines.for_each(|(to, from)| to[column] = from[column]);
            if let (Some(to), Some(from)) = (&mut best.propensities, &next.propensities) {
                to[column] = from[column];
            }
        }
    }
    Ok(best)
}

/// Trains from the usual start, or from a random one, and gives the mean loss of each label at the end.
fn from_one_start<const W: usize>(
    problem: &Problem<'_>,
    first: u32,
    adam: &Adam,
    decay: f64,
    random: Option<u64>,
) -> Result<(Finished, [f64; W])> {
    let mut problem = *problem;
    let mut part = problem.part::<W>(first);
    if let Some(start) = random {
        problem.seed = stream(problem.seed, Purpose::JointStarts, start).next_u64();
        let p = |column: usize| {
            let key = row_key(problem.seed, Purpose::JointStarts, u64::from(first) + column as u64);
            sigmoid((2.0 * uniform_at(key, 0) - 1.0) * std::f64::consts::E)
        };
        part.set_propensities(std::array::from_fn(p));
    }
    let logit = |p: f64| (p / (1.0 - p).max(1e-9)).ln() as f32;
    let mut parameters: Cell<W> = [part.exact_propensities().map(logit), [0.0; W], [0.0; W]];
    let problem = &problem;
    let block = descend(problem, &mut part, adam, decay, |part, batch, logits, step| {
        let of_parameters = gradients(part, batch, logits);
        step.update(&mut parameters, &of_parameters);
        part.set_propensities(parameters[0].map(|p| sigmoid(f64::from(p))));
    })?;
    let propensities = part.exact_propensities()[..part.width].to_vec();
    let losses = losses(problem, &part, &block);
    Ok((Finished { block, propensities: Some(propensities), unconverged: 0, iterations: adam.epochs }, losses))
}

/// The mean loss of each label over all rows.
fn losses<const W: usize>(problem: &Problem<'_>, part: &Part<'_, W>, block: &Block) -> [f64; W] {
    let mut weights = Lines::<W>::zeros(problem.batches.features());
    for (line, from) in weights.get_mut().iter_mut().zip(block.weights.chunks_exact(block.width())) {
        line[..from.len()].copy_from_slice(from);
    }
    let mut bias = [0.0; W];
    bias[..block.width()].copy_from_slice(&block.bias);
    let mut sums = [0.0; W];
    let mut logits = Lines::<W>::zeros(problem.batches.largest());
    for batch in problem.batches.iter() {
        let lines = &mut logits.get_mut()[..batch.rows()];
        lines.fill(bias);
        add_products(batch, weights.get(), lines);
        problem.loss.values(lines.as_flattened(), &part.propensities, &mut sums);
        for (place, column) in part.positives(batch) {
            let (logit, p) = (f64::from(lines[place][column]), part.exact_propensities()[column]);
            sums[column] += problem.loss.at(logit, true, p).value - problem.loss.at(logit, false, p).value;
        }
    }
    sums.map(|sum| sum / problem.batches.rows().max(1) as f64)
}

/// What was learned, compared with how often labels are observed on their surest rows. A label whose learned propensity agrees
/// with that may be nearly sure there, as it must be for its propensity to be identified: it has an interval from the lower limit of that
/// rate up to 1. Others are marked as not identified.
pub(super) fn identified(learned: Propensities, sure: &SureRows) -> Result<Propensities> {
    let (mut sources, mut intervals) = (Vec::new(), Vec::new());
    for (p, observed) in learned.values().iter().zip(&sure.observed) {
        let rate = clopper_pearson(*observed, sure.rows, LEVEL);
        let agrees = rate.low >= HALF * p && rate.low <= *p && rate.high >= SURE * p;
        sources.push(if agrees { ValueSource::Estimated } else { ValueSource::NotIdentified });
        intervals.push(agrees.then_some(Interval { low: rate.low, high: 1.0 }));
    }
    let found = sources.iter().filter(|source| **source == ValueSource::Estimated).count();
    let note = format!(
        "{found} of {} propensities agree with how often their label is observed on the rows with its highest scores, which is what they \
         are if the label is certain there; each could be larger, up to 1. The others could have any value that the data do not contradict",
        learned.len()
    );
    Ok(learned.with_sources(sources)?.with_intervals(intervals)?.with_note(note))
}

/// Turns the logits of a batch into gradients of its mean loss; gives those of p'.
fn gradients<const W: usize>(part: &Part<'_, W>, batch: &Batch, logits: &mut [Line<W>]) -> Line<W> {
    let observed: Vec<(usize, usize, f32)> =
        part.positives(batch).map(|(place, column)| (place, column, logits[place][column])).collect();
    let mut of_parameters = [0.0; W];
    joint_gradients(logits, &part.propensities, &mut of_parameters);
    for (place, column, logit) in observed {
        // The sweep took the pair for an unobserved one.
        let (s, p) = (sigmoid(f64::from(logit)), part.exact_propensities()[column]);
        of_parameters[column] -= (p * (1.0 - p) * s / (1.0 - p * s).max(1e-12) + (1.0 - p)) as f32;
        logits[place][column] = part.observed(column, logit).gradient as f32;
    }
    let share = part.share(batch);
    for line in logits {
        (0..W).for_each(|column| line[column] *= share[column]);
    }
    (0..W).for_each(|column| of_parameters[column] *= share[column]);
    of_parameters
}
