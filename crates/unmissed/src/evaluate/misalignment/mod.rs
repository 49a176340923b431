//! Whether files belong together: rows and ids in the same order, snapshots not swapped, scores not inverted.
//!
//! A misaligned file gives numbers that look like those of a bad model, so each check compares the files as given with another
//! alignment, on a sample of the rows. A difference counts only if it is large, several standard errors beyond chance, and larger
//! than what the same lists find on other rows; constant lists and models that are merely bad raise nothing. `docs/checks.md` has
//! the measured rates of false alarms.

mod lists;
mod reversed;
mod rows;
mod shift;
mod training;

use super::builder::Evaluation;
use super::findings::{Finding, U018, U020, U021, U022};
use crate::data::{Csr, Labels, Rate};
use lists::Lists;
pub use training::test_in_training;

impl Evaluation<'_> {
    /// Findings about inputs that do not belong together.
    pub(super) fn misalignments(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        // The rows of a stream come later.
        let models = if self.truth.rows() == 0 { &[][..] } else { &self.models[..] };
        for (name, scores) in models.iter().filter(|(name, _)| !self.only_compared.contains(name)) {
            let lists = Lists::of(self.truth, scores);
            // One misalignment looks like others too: the most specific is reported.
            let order = shift::finding(name, &lists).or_else(|| reversed::finding(name, self.truth, scores, &lists));
            let of_model = [
                order.or_else(|| rows::finding(name, &lists)),
                short_lists(name, scores, self.request.k.largest()),
                swapped(name, self.truth, scores),
            ];
            findings.extend(of_model.into_iter().flatten().map(|finding| finding.of_model(name)));
        }
        findings.extend(self.request.rate.as_ref().and_then(|rate| contradicted_rate(self.truth, rate)));
        findings.extend(self.matched.as_ref().and_then(|matched| swapped_snapshots(matched.early(), matched.later())));
        findings
    }
}

/// Fewer stored labels than places in the top list, in every row.
fn short_lists(name: &str, scores: &Csr<'_, f32>, k: usize) -> Option<Finding> {
    let most = scores.offsets().windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
    (most < k.min(scores.cols())).then(|| {
        let text = format!("{name} has at most {most} predictions per row, and k goes up to {k}: empty places count as misses");
        Finding::new(&U020, text)
    })
}

/// Labels that look like top lists, beside predictions that look like labels.
fn swapped(name: &str, truth: &Labels<'_>, scores: &Csr<'_, f32>) -> Option<Finding> {
    /// Fewer rows may have the same number of labels by chance.
    const LEAST_ROWS: usize = 20;
    let lengths = |offsets: &[u64]| -> (u64, u64) {
        let lengths = || offsets.windows(2).map(|pair| pair[1] - pair[0]);
        (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
    };
    let ((least, most), (shortest, longest)) = (lengths(truth.offsets()), lengths(scores.offsets()));
    if truth.rows() < LEAST_ROWS || least != most || least < 2 || shortest == longest || truth.cols() as u64 == least {
        return None;
    }
    // Labels have no scores: all are alike, or count down in the order in which they stand.
    let is_plain =
        |values: &[f32]| values.windows(2).all(|pair| pair[0] == pair[1]) || values.windows(2).all(|pair| pair[0] - pair[1] == 1.0);
    (0..scores.rows()).all(|row| is_plain(scores.row(row).1)).then(|| {
        let text = format!(
            "every row has exactly {least} labels, as is typical of top lists, while {name} predicts between {shortest} and \
             {longest} labels without scores of their own, as is typical of labels"
        );
        Finding::new(&U021, text)
    })
}

/// More positives of a label than pairs with it can have been shown.
///
/// ```
/// use unmissed::data::{Labels, Rate};
/// use unmissed::evaluate::misalignment::contradicted_rate;
/// let controlled = Labels::from_ids(2, (0..400).map(|row| if row % 4 == 0 { vec![1] } else { vec![] }))?;
/// assert!(contradicted_rate(&controlled, &Rate::Common(0.5)).is_none());
/// assert!(contradicted_rate(&controlled, &Rate::Common(0.05)).unwrap().message.contains("label 1 has 100 positives"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn contradicted_rate(controlled: &Labels<'_>, rate: &Rate) -> Option<Finding> {
    /// Standard errors; labels are many.
    const CLEAR: f64 = 6.0;
    let stats = crate::data::LabelStats::of(controlled);
    let rows = controlled.rows() as f64;
    let excess = |label: u32, count: u64| {
        let rate = rate.of(label as usize);
        let (mean, sd) = (rows * rate, (rows * rate * (1.0 - rate)).sqrt());
        let excess = count as f64 - mean - CLEAR * sd - CLEAR;
        (excess > 0.0).then_some((count as f64 / mean, label, count, mean))
    };
    let found: Vec<_> = stats.occurring().iter().zip(stats.counts()).filter_map(|(label, count)| excess(*label, *count)).collect();
    let (_, label, count, mean) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = format!(
        "at the rate {rate} about {mean:.0} of {rows} rows were shown label {label}, but label {label} has {count} positives (and {} more \
         labels like it)",
        found.len() - 1
    );
    Some(Finding::new(&U022, text))
}

/// A later snapshot that has fewer labels than the earlier one: the two are swapped.
///
/// ```
/// use unmissed::data::Labels;
/// use unmissed::evaluate::misalignment::swapped_snapshots;
/// let early = Labels::from_ids(3, (0..20).map(|_| vec![0]))?;
/// let later = Labels::from_ids(3, (0..20).map(|_| vec![2, 0]))?;
/// assert!(swapped_snapshots(&early, &later).is_none());
/// assert!(swapped_snapshots(&later, &early).unwrap().message.contains("loses 20 of 40 labels and gains 0"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn swapped_snapshots(train: &Labels<'_>, later: &Labels<'_>) -> Option<Finding> {
    /// Snapshots that lose less than this many times what they gain may be clean-ups.
    const MANIFOLD: u64 = 3;
    /// Labels that a snapshot may lose for any reason.
    const FEW: u64 = 10;
    if (train.rows(), train.cols()) != (later.rows(), later.cols()) {
        return None;
    }
    let (mut lost, mut gained, mut sorted) = (0u64, 0u64, [Vec::new(), Vec::new()]);
    for row in 0..train.rows() {
        for (sorted, labels) in sorted.iter_mut().zip([train, later]) {
            sorted.clear();
            sorted.extend_from_slice(labels.row_ids(row));
            sorted.sort_unstable();
        }
        let [early, late] = &sorted;
        let both = early.iter().filter(|label| late.binary_search(label).is_ok()).count();
        lost += (early.len() - both) as u64;
        gained += (late.len() - both) as u64;
    }
    (lost >= FEW && lost >= MANIFOLD * gained).then(|| {
        let text = format!("the later snapshot loses {lost} of {} labels and gains {gained}", train.nnz());
        Finding::new(&U018, text)
    })
}
