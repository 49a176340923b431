//! Other libraries' numbers under their names, to compare ours with published numbers.
//!
//! For each k up to a largest one, rows without labels counting 0:
//!
//! | name | pyxclib, napkinXC |
//! |---|---|
//! | precision, recall | as ours, observed |
//! | ndcg | `ndcg-min`, observed |
//! | psprecision | `precision`, normalized |
//! | psndcg | sum over rows of `DCG(q) / I(min(k, abs y))`, divided by that of the best ranking |
//! | psrecall | sum over rows of `sum_{top k} q y / abs y`, divided by that of the best ranking |
//! | dcg, psdcg (napkinXC) | mean DCG; sum over rows of `DCG(q) / k`, divided by that of the best ranking |
//! | psprecision_raw, psrecall_raw, psndcg_raw, psdcg_raw (napkinXC) | the means that the others divide |
//! | abandonment (napkinXC) | the hit rate: 1 - our `abandonment` |
//! | coverage (napkinXC) | labels with a hit, divided by the labels that occur in the test rows |
//!
//! The propensities of curves are those of the libraries too ([`inverse`]): a label that was never seen in training has a count of 0.
//!
//! Both work in single precision in places, so they agree with these numbers to about 1e-6. They may break ties differently.
//!
//! ```
//! use unmissed::{data::{Csr, Labels}, evaluate::compat::{Library, evaluate}};
//! let truth = Labels::from_ids(3, [vec![0], vec![2]])?;
//! let scores = Csr::from_rows(3, [[(0, 0.9f32)], [(1, 0.9)]])?;
//! let values = evaluate(Library::NapkinXc, &truth, &scores, None, 1)?;
//! assert!(values.iter().any(|v| v.name == "abandonment" && v.values == [0.5]), "the hit rate");
//! assert!(values.iter().any(|v| v.name == "coverage" && v.values == [0.5]), "of two labels that occur");
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::builder::same;
use crate::data::{Csr, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::metrics::log_discount;
use crate::propensity::Sample;
use crate::propensity::models::PropensitySpec;
use crate::top_k::{NONE, top_k};
use serde::Serialize;

/// A library whose numbers are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// pyxclib (xclib.evaluation.xc_metrics).
    PyXclib,
    /// napkinXC (napkinxc.metrics).
    NapkinXc,
}

impl Library {
    /// The library that users call `name`.
    pub fn of_name(name: &str) -> Result<Library> {
        match name {
            "pyxclib" => Ok(Library::PyXclib),
            "napkinxc" => Ok(Library::NapkinXc),
            _ => Err(crate::spec::unknown("library", name, &["pyxclib", "napkinxc"])),
        }
    }
}

/// A metric under its name there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompatValues {
    /// The function's name.
    pub name: &'static str,
    /// Values at 1, 2, ..., k.
    pub values: Vec<f64>,
}

/// The inverse propensities that the libraries would use: curves at the plain training counts, where ours have half a positive for
/// a label that was never seen.
pub fn inverse(spec: &PropensitySpec, train: Option<&LabelStats>, labels: u64) -> Result<Vec<f64>> {
    let propensities = spec.per_label(train, labels)?;
    let mut inverse = propensities.inverse();
    if let (Some(phi), Some(stats)) = (spec.curve(), train) {
        let at_zero = 1.0 / phi.at(Sample::of(stats), 0.0);
        for (count, inverse) in stats.dense_counts()?.iter().zip(&mut inverse) {
            // A curve that vanishes at 0 has no number there, and the libraries have no such curve.
            if *count == 0 && at_zero.is_finite() && at_zero > 0.0 {
                *inverse = at_zero;
            }
        }
    }
    Ok(inverse)
}

/// The library's numbers at 1..=k; the propensity-scored ones when there are inverse propensities. Those may be any weights, as
/// there: JPV on few rows gives some below 1.
pub fn evaluate(
    library: Library,
    truth: &Labels<'_>,
    scores: &Csr<'_, f32>,
    inverse: Option<&[f64]>,
    k: usize,
) -> Result<Vec<CompatValues>> {
    same("the predictions", "rows", truth.rows(), scores.rows())?;
    same("the predictions", "labels", truth.cols(), scores.cols())?;
    if k == 0 || k > truth.cols() {
        return Err(Error::value("k is out of range")
            .expected(format!("1 to {}, the number of labels", truth.cols()))
            .found(k.to_string()));
    }
    if let Some(q) = inverse {
        same("the inverse propensities", "labels", truth.cols(), q.len())?;
        if let Some(label) = q.iter().position(|q| !(*q >= 0.0 && q.is_finite())) {
            return Err(Error::value(format!("the inverse propensity of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(q[label].to_string()));
        }
    }
    let mut sums = Sums::new(k);
    let (mut keys, mut top) = (Vec::new(), vec![NONE; k]);
    let mut covered = vec![usize::MAX; truth.cols()];
    for row in 0..truth.rows() {
        let (ids, values) = scores.row(row);
        top_k(ids, values, &mut keys, &mut top);
        sums.add(truth.row_ids(row), &top, inverse, &mut covered);
    }
    let n = truth.rows() as f64;
    let means = |sums: &[f64]| sums.iter().map(|sum| sum / n).collect::<Vec<f64>>();
    let ratios = |above: &[f64], below: &[f64]| above.iter().zip(below).map(|(a, b)| a / b).collect::<Vec<f64>>();
    let mut all = vec![
        CompatValues { name: "precision", values: means(&sums.precision) },
        CompatValues { name: "recall", values: means(&sums.recall) },
        CompatValues { name: "ndcg", values: means(&sums.ndcg) },
    ];
    if library == Library::NapkinXc {
        all.push(CompatValues { name: "dcg", values: means(&sums.dcg) });
    }
    for ((name, raw), (scored, best)) in SCORED.iter().zip(sums.scored.iter().zip(&sums.best)).filter(|_| inverse.is_some()) {
        // DCG that is scored but not normalised by row exists in one of them only.
        if *name != "psdcg" || library == Library::NapkinXc {
            all.push(CompatValues { name, values: ratios(scored, best) });
        }
        if library == Library::NapkinXc {
            all.push(CompatValues { name: raw, values: means(scored) });
        }
    }
    if library == Library::NapkinXc {
        all.push(CompatValues { name: "abandonment", values: means(&sums.hit) });
        let mut seen: Vec<u32> = truth.ids().to_vec();
        seen.sort_unstable();
        seen.dedup();
        let within = |k: usize| covered.iter().filter(|rank| **rank < k).count() as f64 / seen.len() as f64;
        all.push(CompatValues { name: "coverage", values: (1..=k).map(within).collect() });
    }
    Ok(all)
}

/// Names of propensity-scored values: normalised, and not.
const SCORED: [(&str, &str); 4] =
    [("psprecision", "psprecision_raw"), ("psrecall", "psrecall_raw"), ("psndcg", "psndcg_raw"), ("psdcg", "psdcg_raw")];

/// Sums over rows at each k; `scored` and `best` are in the order of [`SCORED`].
struct Sums {
    precision: Vec<f64>,
    recall: Vec<f64>,
    ndcg: Vec<f64>,
    dcg: Vec<f64>,
    hit: Vec<f64>,
    scored: [Vec<f64>; 4],
    best: [Vec<f64>; 4],
}

impl Sums {
    fn new(k: usize) -> Sums {
        let zeros = || vec![0.0; k];
        Sums {
            precision: zeros(),
            recall: zeros(),
            ndcg: zeros(),
            dcg: zeros(),
            hit: zeros(),
            scored: std::array::from_fn(|_| zeros()),
            best: std::array::from_fn(|_| zeros()),
        }
    }

    /// Adds a row; `covered` keeps the best rank at which each label was right.
    fn add(&mut self, truth: &[u32], top: &[u32], inverse: Option<&[f64]>, covered: &mut [usize]) {
        let weight = |label: u32| inverse.map_or(1.0, |q| q[label as usize]);
        let mut best: Vec<f64> = truth.iter().map(|label| weight(*label)).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let size = truth.len() as f64;
        let (mut hits, mut gain, mut ideal) = (0.0, 0.0, 0.0);
        let (mut scored, mut top_scored) = ([0.0; 2], [0.0; 2]);
        for (rank, label) in top.iter().enumerate() {
            let (k, discount) = ((rank + 1) as f64, log_discount(rank));
            if truth.contains(label) {
                hits += 1.0;
                gain += discount;
                scored[0] += weight(*label);
                scored[1] += weight(*label) * discount;
                let at = &mut covered[*label as usize];
                *at = (*at).min(rank);
            }
            if let Some(weight) = best.get(rank) {
                ideal += discount;
                top_scored[0] += weight;
                top_scored[1] += weight * discount;
            }
            if truth.is_empty() {
                continue;
            }
            self.precision[rank] += hits / k;
            self.recall[rank] += hits / size;
            self.ndcg[rank] += gain / ideal;
            self.dcg[rank] += gain;
            self.hit[rank] += f64::from(u8::from(hits > 0.0));
            for (sums, values) in [(&mut self.scored, scored), (&mut self.best, top_scored)] {
                sums[0][rank] += values[0] / k;
                sums[1][rank] += values[0] / size;
                sums[2][rank] += values[1] / ideal;
                sums[3][rank] += values[1] / k;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pyxclib's `compute_inv_propesity` on 50 rows with counts 25 and 0: `1 + (ln 50 - 1) 2.5^0.55 (n_j + 1.5)^-0.55`.
    #[test]
    fn unseen_labels_have_the_propensities_of_the_libraries() {
        let stats = LabelStats::from_counts(50, &[25, 0]).unwrap();
        let found = inverse(&"jpv".parse().unwrap(), Some(&stats), 2).unwrap();
        for (found, count) in found.iter().zip([25.0, 0.0]) {
            let wanted = 1.0 + (50f64.ln() - 1.0) * 2.5f64.powf(0.55) * f64::powf(count + 1.5, -0.55);
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
    }
}
