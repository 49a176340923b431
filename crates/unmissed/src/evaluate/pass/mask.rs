//! Estimated mask variances of row terms: the rows are fixed, and only the missing labels are random.
//!
//! Unbiased sums: a label with gain g (weight times discount) adds `g^2 q^2 (1 - p)`, an unbiased estimate of its share
//! `g^2 y (1 - p)/p`; for a clipped column `g^2 min(q, tau)^2 (1 - p)`. Unbiased products and other functions of the label set: the
//! squared estimate minus an unbiased estimate of the square, `f~^2 - (f^2)~`; for products `f^2 = f`, since f is 0 or 1. Two
//! models: the same with `g_a g_b`, and with `f~_a f~_b - (f_a f_b)~`, where the product of two products is the product over the
//! union of the lists.
//!
//! Observed values vary with what is missing too, around their own expected value; with several sets of propensities, by the smallest of
//! each label, which is the widest. Sums have `g^2 y~ (1 - p)`, unbiased for `g^2 y p (1 - p)`; products `f - prod (1 - (2 - p) y~)`, unbiased for `E f - (E f)^2`.
//!
//! What is left, the best row terms of normalized values and observed functions of the label set, goes by the inequality of Efron
//! and Stein: `Var f <= sum_j y_j p_j (1 - p_j) E (f with j - f without j)^2`, of which
//! `sum_{j observed} (1 - p_j) (f(S) - f(S without j))^2` is an unbiased estimate. It is exact for sums, too large otherwise, so that
//! intervals are rather too wide. A normalized value N/D has the variance of `N - R D` divided by D squared (delta method).
//!
//! # Assumes
//! Labels of a row go missing independently of each other.
//!
//! # Reference
//! Efron and Stein, "The jackknife estimate of variance", 1981.

use super::chunk::{Hit, Scratch};
use super::sets::{mask_covariance, observed_covariance};
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;

/// Adds the mask variances of each model and the covariances of each pair.
pub(in crate::evaluate) fn sum_mask(plan: &Plan<'_>, group: usize, s: &mut Scratch, sums: &mut [ExactSum]) {
    if plan.needs_best {
        sum_best(plan, group, s, sums);
    }
    let models = plan.models.len();
    let first = usize::from(plan.propensity_columns.is_empty());
    let mut pair = 0;
    for a in 0..models {
        for b in a..models {
            for term in 0..plan.terms.len() {
                for ki in 0..plan.settings.ks().len() {
                    for column in first..plan.settings.columns.len() {
                        let place = if a == b {
                            plan.exact.mask([group, a, term, ki], slot::MASK, column)
                        } else {
                            plan.exact.mask_pair([group, pair, term, ki], column)
                        };
                        sums[place].add(covariance(plan, s, (term, ki, column), (a, b)));
                    }
                }
            }
            pair += usize::from(a != b);
        }
    }
}

/// The probability that a label was observed, for what is computed on a column.
fn propensity(plan: &Plan<'_>, q: &[f64], column: usize) -> f64 {
    let inverse = match plan.settings.columns[column].clip {
        Some((parent, _)) => q[parent],
        None if column == 0 => plan.propensity_columns.iter().map(|column| q[*column]).fold(1.0, f64::max),
        None => q[column],
    };
    // An estimate for scores may be below 1; nothing is observed more often than always.
    (1.0 / inverse).min(1.0)
}

fn covariance(plan: &Plan<'_>, s: &mut Scratch, cell: (usize, usize, usize), models: (usize, usize)) -> f64 {
    let (term, ki, column) = cell;
    let k = plan.settings.ks()[ki];
    let (a, b) = (top(&s.group_hits[models.0], k), top(&s.group_hits[models.1], k));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let q_of = |hit: &Hit| plan.table.inverse_at(s.places[hit.at as usize]);
    match &plan.terms[term].kind {
        Kind::Sum { discounts, weighted, by_relevant, .. } => {
            let factor = s.factor(*by_relevant);
            let mut total = 0.0;
            for hit in a {
                let Some(other) = b.iter().find(|other| other.at == hit.at) else { continue };
                let weight = if *weighted { plan.table.weight(s.places[hit.at as usize]) } else { 1.0 };
                let q = q_of(hit);
                let gains = discounts[hit.rank as usize] * discounts[other.rank as usize] * weight * weight;
                total += gains * factor * factor * q[column] * q[column] * (1.0 - propensity(plan, q, column));
            }
            total
        }
        Kind::Product if column == 0 => {
            // Both lists have an observed hit, so the product of the values is 0. The product of the expected values has a factor
            // 1 - y~ for each label in one list alone, which is 0 as well.
            let shared = a.iter().filter(|hit| b.iter().any(|other| other.at == hit.at)).count();
            if shared < a.len() || shared < b.len() {
                return 0.0;
            }
            -a.iter().map(|hit| 1.0 - (2.0 - propensity(plan, q_of(hit), column))).product::<f64>()
        }
        Kind::Product => {
            let union = a.iter().chain(b.iter().filter(|hit| a.iter().all(|other| other.at != hit.at)));
            let both = match &plan.abandonment {
                Some(table) => table.get(union.count()).copied().unwrap_or(0.0),
                None => union.map(|hit| 1.0 - q_of(hit)[column]).product(),
            };
            let x = 1.0 - s.waiting.terms()[plan.term_at(models.0, term, ki) + column];
            let y = 1.0 - s.waiting.terms()[plan.term_at(models.1, term, ki) + column];
            x * y - both
        }
        Kind::Set { .. } if column == 0 => {
            let p = |at: u32| propensity(plan, plan.table.inverse_at(s.places[at as usize]), 0);
            observed_covariance(plan, s, (term, ki), models, p)
        }
        Kind::Set { .. } => mask_covariance(plan, s, cell, models),
    }
}

/// Adds what the best row terms lose with each label: the largest inverse propensities first, and those behind a lost one move up.
fn sum_best(plan: &Plan<'_>, group: usize, s: &Scratch, sums: &mut [ExactSum]) {
    let columns = plan.settings.columns.iter().enumerate().filter(|(_, column)| column.origin.is_some() && column.clip.is_none());
    for (column, _) in columns {
        for (term, of) in plan.terms.iter().enumerate() {
            let Kind::Sum { discounts, weighted, by_relevant, .. } = &of.kind else { continue };
            let weight = |at: u32| if *weighted { plan.table.weight(s.places[at as usize]) } else { 1.0 };
            let q = |at: u32| plan.table.inverse_at(s.places[at as usize])[column];
            let mut order: Vec<(f64, u32)> = s.members.iter().map(|at| (q(*at) * weight(*at), *at)).collect();
            order.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
            for (ki, k) in plan.settings.ks().iter().enumerate() {
                let factor = s.factor(*by_relevant);
                let mut lost = 0.0;
                for rank in (0..order.len().min(*k)).rev() {
                    let ((value, at), next) = (order[rank], order.get(rank + 1).map_or(0.0, |next| next.0));
                    lost += discounts[rank] * factor * (value - next);
                    let missing = (1.0 - 1.0 / q(at)).max(0.0);
                    sums[plan.exact.mask_best(group, term, ki, column)].add(missing * lost * lost);
                    for (model, hits) in s.group_hits.iter().enumerate() {
                        if let Some(hit) = top(hits, *k).iter().find(|hit| hit.at == at) {
                            let gain = discounts[hit.rank as usize] * factor * value;
                            let place = plan.exact.mask([group, model, term, ki], slot::MASK_XD, column);
                            sums[place].add(missing * gain * lost);
                        }
                    }
                }
            }
        }
    }
}

/// The hits at ranks below k.
fn top(hits: &[Hit], k: usize) -> &[Hit] {
    &hits[..hits.partition_point(|hit| (hit.rank as usize) < k)]
}
