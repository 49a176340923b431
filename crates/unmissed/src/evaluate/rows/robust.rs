//! Doubly robust estimates of precision@k: they take some pairs whose status is known.
//!
//! From observed labels alone there is none: `eta + (y~ - p eta)/p` is `y~/p` whatever eta is. With known pairs there are two:
//!
//! - [`of_controlled`], (A): pairs shown at a known rate c, `(nk)^-1 sum [mu + (s/c)(y - mu)]`, s = 1 for pairs that were shown.
//!   Unbiased for any mu that was not fitted to the same rows.
//! - [`of_later`], (B): later labels on some rows, `(nk)^-1 sum [m + (V_i/rho_i)(y - m)]` with `m = y~ + (1 - y~) omega`,
//!   `omega = P(y = 1 | y~ = 0, x)` and `rho = P(V = 1 | x, y~)`. Consistent if omega or rho is right.
//!
//! # Assumes
//! (A) The rate is right. (B) V is independent of y given x and y~, rho > 0, omega comes from other rows, and the later labels are the
//! truth (else the target is what they say).
//!
//! # Reference
//! Robins, Rotnitzky and Zhao, "Estimation of regression coefficients when some regressors are not always observed", 1994.

use crate::data::{Csr, Labels};
use crate::error::{Error, Result, digits};
use crate::evaluate::builder::same;
use crate::evaluate::finish::interval::{Measured, of_mean};
use crate::evaluate::pass::select::{NONE, top_k};
use crate::metrics::Assumption;
use crate::rng::{Purpose, below, stream};
use serde::Serialize;

/// An estimate with what must hold for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Robust {
    /// The value.
    pub value: f64,
    /// Its standard error over rows.
    pub se: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What must hold.
    pub assumption: &'static str,
}

/// `P(y = 1 | y~ = 0)` from `eta = P(y = 1)` and the propensity: `eta (1 - p) / (1 - p eta)`.
///
/// ```
/// use unmissed::evaluate::rows::robust::omega;
/// assert!((omega(0.5, 0.5) - 1.0 / 3.0).abs() < 1e-15);
/// assert_eq!(omega(0.5, 1.0), 0.0);
/// ```
pub fn omega(eta: f64, p: f64) -> f64 {
    if eta == 1.0 && p == 1.0 { 0.0 } else { eta * (1.0 - p) / (1.0 - p * eta) }
}

/// (A): `relevant` are the relevant ones among the `shown` pairs, each shown with probability `rate`.
pub fn of_controlled(
    scores: &Csr<'_, f32>,
    shown: &Labels<'_>,
    relevant: &Labels<'_>,
    rate: f64,
    mu: impl Fn(usize, u32, usize) -> f64,
    k: usize,
    level: f64,
) -> Result<Robust> {
    for (what, labels) in [("the shown pairs", shown), ("the relevant pairs", relevant)] {
        same(what, "rows", scores.rows(), labels.rows())?;
        same(what, "labels", scores.cols(), labels.cols())?;
    }
    if !(rate > 0.0 && rate <= 1.0) {
        return Err(Error::value("the rate is out of range").expected("a number in (0, 1]").found(digits(rate)));
    }
    let term = |row: usize, label: u32, rank: usize| {
        let guess = mu(row, label, rank);
        let is_shown = shown.row_ids(row).contains(&label);
        let y = f64::from(u8::from(relevant.row_ids(row).contains(&label)));
        if is_shown { guess + (y - guess) / rate } else { guess }
    };
    let assumption = Assumption::ShownPairs.sentence();
    estimate(scores, k, level, term, assumption)
}

/// (B): `later` labels of the rows with `has_later`; `rho` is the probability of having them.
#[allow(clippy::too_many_arguments)]
pub fn of_later(
    scores: &Csr<'_, f32>,
    observed: &Labels<'_>,
    later: &Labels<'_>,
    has_later: &[bool],
    rho: &[f64],
    omega: impl Fn(usize, u32, usize) -> f64,
    k: usize,
    level: f64,
) -> Result<Robust> {
    for (what, labels) in [("the observed labels", observed), ("the later labels", later)] {
        same(what, "rows", scores.rows(), labels.rows())?;
        same(what, "labels", scores.cols(), labels.cols())?;
    }
    same("the rows with later labels", "rows", scores.rows(), has_later.len())?;
    same("the probabilities of later labels", "rows", scores.rows(), rho.len())?;
    if let Some(row) = rho.iter().position(|rho| !(*rho > 0.0 && *rho <= 1.0)) {
        return Err(Error::value(format!("the probability of later labels of row {row} is out of range"))
            .expected("a number in (0, 1]")
            .found(digits(rho[row]))
            .hint("rows that could never have later labels cannot be spoken for"));
    }
    let term = |row: usize, label: u32, rank: usize| {
        let m = if observed.row_ids(row).contains(&label) { 1.0 } else { omega(row, label, rank) };
        if !has_later[row] {
            return m;
        }
        let y = f64::from(u8::from(later.row_ids(row).contains(&label)));
        m + (y - m) / rho[row]
    };
    let assumption = Assumption::LaterRows.sentence();
    estimate(scores, k, level, term, assumption)
}

/// `omega` by rank, each row's from the other parts of the rows with later labels: what [`of_later`] takes when nothing better is known.
pub fn omega_by_rank(
    scores: &Csr<'_, f32>,
    observed: &Labels<'_>,
    later: &Labels<'_>,
    has_later: &[bool],
    k: usize,
    folds: u64,
    seed: u64,
) -> Result<impl Fn(usize, u32, usize) -> f64 + use<>> {
    same("the rows with later labels", "rows", scores.rows(), has_later.len())?;
    let is_known = |row: usize, label: u32| has_later[row] && !observed.row_ids(row).contains(&label);
    share_by_rank(scores, later, &is_known, k, folds, seed)
}

/// `mu` by rank, each row's from the shown pairs of the other parts of the rows: what [`of_controlled`] takes when nothing better is
/// known.
pub fn mu_by_rank(
    scores: &Csr<'_, f32>,
    shown: &Labels<'_>,
    relevant: &Labels<'_>,
    k: usize,
    folds: u64,
    seed: u64,
) -> Result<impl Fn(usize, u32, usize) -> f64 + use<>> {
    same("the shown pairs", "rows", scores.rows(), shown.rows())?;
    share_by_rank(scores, relevant, &|row, label| shown.row_ids(row).contains(&label), k, folds, seed)
}

/// The share of relevant labels among the known pairs at each rank, without those of the row's own part.
fn share_by_rank(
    scores: &Csr<'_, f32>,
    relevant: &Labels<'_>,
    is_known: &dyn Fn(usize, u32) -> bool,
    k: usize,
    folds: u64,
    seed: u64,
) -> Result<impl Fn(usize, u32, usize) -> f64 + use<>> {
    same("the labels", "rows", scores.rows(), relevant.rows())?;
    if folds < 2 || k == 0 {
        return Err(Error::value("nothing to cross-fit").expected("at least 2 folds and k of at least 1"));
    }
    let fold_of: Vec<usize> =
        (0..scores.rows()).map(|row| below(&mut stream(seed, Purpose::Folds, row as u64), folds) as usize).collect();
    // Relevant and all known pairs, by fold and rank.
    let mut counts = vec![(0.0, 0.0); folds as usize * k];
    for_each_top(scores, k, |row, label, rank| {
        if is_known(row, label) {
            let count = &mut counts[fold_of[row] * k + rank];
            count.0 += f64::from(u8::from(relevant.row_ids(row).contains(&label)));
            count.1 += 1.0;
        }
    });
    let share = move |row: usize, _label: u32, rank: usize| {
        let others = (0..folds as usize).filter(|fold| *fold != fold_of[row]).map(|fold| counts[fold * k + rank]);
        let (relevant, all) = others.fold((0.0, 0.0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        if all > 0.0 { relevant / all } else { 0.0 }
    };
    Ok(share)
}

fn for_each_top(scores: &Csr<'_, f32>, k: usize, mut see: impl FnMut(usize, u32, usize)) {
    let (mut scratch, mut top) = (Vec::new(), vec![NONE; k]);
    for row in 0..scores.rows() {
        let (ids, values) = scores.row(row);
        let count = top_k(ids, values, &mut scratch, &mut top);
        top[..count].iter().enumerate().for_each(|(rank, label)| see(row, *label, rank));
    }
}

fn estimate(
    scores: &Csr<'_, f32>,
    k: usize,
    level: f64,
    term: impl Fn(usize, u32, usize) -> f64,
    assumption: &'static str,
) -> Result<Robust> {
    if k == 0 || scores.rows() == 0 {
        return Err(Error::value("nothing to evaluate").expected("at least one row, and k of at least 1"));
    }
    let mut terms = vec![0.0; scores.rows()];
    for_each_top(scores, k, |row, label, rank| terms[row] += term(row, label, rank) / k as f64);
    let (n, sum) = (terms.len() as f64, terms.iter().sum::<f64>());
    let measured = Measured::new(sum / n, of_mean(n, sum, terms.iter().map(|term| term * term).sum()));
    let (low, high) = measured.ends(level);
    Ok(Robust { value: sum / n, se: measured.se(), low, high, assumption })
}
