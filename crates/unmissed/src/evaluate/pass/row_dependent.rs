//! Row terms under row-dependent propensities: the same sums and products, with an inverse propensity for each hit of a row instead
//! of one for each label.
//!
//! A model of propensities has a fit and refits under a bootstrap of the rows that it was fitted to. Row terms are summed for each
//! of them; the variance of the refits' means is what the fit adds to that of the rows. Squares, products of two models and
//! estimated mask variances are those of the fit.
//!
//! Mask variances: a label with gain g adds `g^2 q (q - 1)`; what is observed has `g^2 (1 - p)`. Two models: `g_a g_b`, and where their
//! fits disagree about the propensity of a pair, the mean of both. Products as under propensities per label.

use super::chunk::{Hit, Scratch};
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::row_dependent::RowFitPlan;
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::slot;
use crate::propensity::rows::{Pair, Place};

/// Buffers that are reused from row to row.
#[derive(Default)]
pub(in crate::evaluate) struct FitScratch {
    /// For each (name, model): the places of the hits among the row's labels, and their inverse propensities under the fit and every
    /// refit.
    hits: Vec<(Vec<u32>, Vec<f64>)>,
    p: Vec<f64>,
    given: Vec<f64>,
    /// Row terms under the fit and every refit.
    terms: Vec<f64>,
}

impl FitScratch {
    /// The inverse propensities of a hit.
    fn inverse(&self, cell: usize, hit: &Hit) -> &[f64] {
        let (places, inverse) = &self.hits[cell];
        let fits = inverse.len() / places.len().max(1);
        let at = places.iter().position(|place| *place == hit.at).unwrap_or(0);
        &inverse[at * fits..(at + 1) * fits]
    }
}

/// Adds the row terms of a group. The groups of a row come one after the other, all labels first.
pub(super) fn sum_row(plan: &Plan<'_>, row: usize, group: usize, s: &mut Scratch, sums: &mut [ExactSum]) {
    if plan.row_dependent.is_empty() {
        return;
    }
    if group == 0 {
        weigh(plan, row, s);
    }
    let models = plan.models.len();
    for (of, fits) in plan.row_dependent.iter().enumerate() {
        let has = &plan.settings.row_dependent[of].metrics;
        for (place, term) in plan.terms.iter().enumerate() {
            let unbiased = has[term.metric];
            for (model, _) in fits.iter().enumerate().filter(|(_, fit)| fit.is_some()) {
                if !s.group_hits[model].is_empty() && (unbiased || plan.mask) {
                    sum_model(plan, [of, group, model, place], unbiased, s, sums);
                }
            }
            for (pair, (a, b)) in plan.pairs.iter().copied().enumerate() {
                let both = fits[a].is_some() && fits[b].is_some();
                if both && !s.group_hits[a].is_empty() && !s.group_hits[b].is_empty() {
                    let cells = (of * models + a, of * models + b);
                    for ki in 0..plan.settings.ks().len() {
                        let products = pair_products(plan, s, (place, ki), cells, (a, b));
                        let at = |slot: usize| plan.exact.row_pair(of, [group, pair, place, ki], slot);
                        if unbiased && !plan.mask {
                            sums[at(slot::ROW_CROSS)].add_product(products.terms.0, products.terms.1);
                        }
                        if plan.mask {
                            sums[at(slot::ROW_MASK_CROSS)].add(products.mask);
                            sums[at(slot::OBSERVED_MASK_CROSS)].add(products.observed_mask);
                        }
                    }
                }
            }
        }
    }
}

/// Computes the inverse propensities of all hits of a row.
fn weigh(plan: &Plan<'_>, row: usize, s: &mut Scratch) {
    let models = plan.models.len();
    s.fits.hits.resize(plan.row_dependent.len() * models, (Vec::new(), Vec::new()));
    for (cell, fit) in plan.row_dependent.iter().flatten().enumerate() {
        let (places, inverse) = &mut s.fits.hits[cell];
        places.clear();
        inverse.clear();
        let Some(RowFitPlan { model, given, unit }) = fit else { continue };
        let (ids, scores) = plan.models[cell % models].row(row);
        for hit in &s.group_hits[cell % models] {
            let label = s.batch[s.start + hit.at as usize];
            s.fits.given.clear();
            s.fits.given.extend(given.iter().map(|given| given.value(row, label)));
            let place = Place::find(ids, scores, label, *unit);
            model.at(&Pair { label, other_labels: s.places.len() - 1, place, given: &s.fits.given }, &mut s.fits.p);
            places.push(hit.at);
            inverse.extend(s.fits.p.iter().map(|p| 1.0 / p));
        }
    }
}

/// What a hit at a rank is worth, without its inverse propensity.
fn gain(plan: &Plan<'_>, s: &Scratch, term: usize, hit: &Hit) -> f64 {
    let Kind::Sum { discounts, weighted, by_relevant, .. } = &plan.terms[term].kind else { return 1.0 };
    let weight = if *weighted { plan.table.weight(s.places[hit.at as usize]) } else { 1.0 };
    discounts[hit.rank as usize] * weight * s.factor(*by_relevant)
}

/// Adds the row terms of one model.
fn sum_model(plan: &Plan<'_>, [of, group, model, place]: [usize; 4], unbiased: bool, s: &mut Scratch, sums: &mut [ExactSum]) {
    let cell = of * plan.models.len() + model;
    let is_product = matches!(plan.terms[place].kind, Kind::Product);
    let fits = s.fits.inverse(cell, &s.group_hits[model][0]).len();
    let mut terms = std::mem::take(&mut s.fits.terms);
    terms.clear();
    terms.resize(fits, if is_product { 1.0 } else { 0.0 });
    let (mut mask, mut observed_mask) = (0.0, 0.0);
    let mut next = 0;
    for (ki, k) in plan.settings.ks().iter().enumerate() {
        let hits = &s.group_hits[model];
        while next < hits.len() && (hits[next].rank as usize) < *k {
            let (gain, q) = (gain(plan, s, place, &hits[next]), s.fits.inverse(cell, &hits[next]));
            if is_product {
                terms.iter_mut().zip(q).for_each(|(term, q)| *term *= 1.0 - q);
            } else {
                terms.iter_mut().zip(q).for_each(|(term, q)| *term += gain * q);
            }
            mask += gain * gain * q[0] * (q[0] - 1.0);
            observed_mask += gain * gain * (1.0 - 1.0 / q[0]);
            next += 1;
        }
        let at = |slot: usize| plan.exact.row(of, [group, model, place, ki], slot);
        let value = |term: f64| if is_product { 1.0 - term } else { term };
        if unbiased {
            for (fit, term) in terms.iter().enumerate() {
                sums[at(slot::FITS + fit)].add(value(*term));
            }
            sums[at(slot::ROW_XX)].add_product(value(terms[0]), value(terms[0]));
        }
        if plan.mask {
            // The true value of a product is 0 or 1, its own square: f~^2 - (f^2)~.
            sums[at(slot::ROW_MASK)].add(if is_product { terms[0] * terms[0] - terms[0] } else { mask });
            sums[at(slot::OBSERVED_MASK)].add(observed_mask);
        }
    }
    s.fits.terms = terms;
}

/// What two models have in common in one cell.
#[derive(Default)]
struct Products {
    /// Row terms under the fit.
    terms: (f64, f64),
    mask: f64,
    observed_mask: f64,
}

fn pair_products(
    plan: &Plan<'_>,
    s: &Scratch,
    (term, ki): (usize, usize),
    cells: (usize, usize),
    models: (usize, usize),
) -> Products {
    let k = plan.settings.ks()[ki];
    let within = |model: usize| s.group_hits[model].iter().filter(|hit| (hit.rank as usize) < k).collect::<Vec<&Hit>>();
    let (a, b) = (within(models.0), within(models.1));
    let q = |cell: usize, hit: &Hit| s.fits.inverse(cell, hit)[0];
    let mut products = Products::default();
    if matches!(plan.terms[term].kind, Kind::Product) {
        let of = |cell: usize, hits: &[&Hit]| hits.iter().map(|hit| 1.0 - q(cell, hit)).product::<f64>();
        let (x, y) = (of(cells.0, &a), of(cells.1, &b));
        let only_b = b.iter().filter(|hit| a.iter().all(|other| other.at != hit.at));
        let union = x * only_b.map(|hit| 1.0 - q(cells.1, hit)).product::<f64>();
        products.terms = (1.0 - x, 1.0 - y);
        products.mask = if a.is_empty() || b.is_empty() { 0.0 } else { x * y - union };
        return products;
    }
    for hit in &a {
        products.terms.0 += gain(plan, s, term, hit) * q(cells.0, hit);
    }
    for hit in &b {
        products.terms.1 += gain(plan, s, term, hit) * q(cells.1, hit);
    }
    for hit in &a {
        let Some(other) = b.iter().find(|other| other.at == hit.at) else { continue };
        let gains = gain(plan, s, term, hit) * gain(plan, s, term, other);
        let (q, r) = (q(cells.0, hit), q(cells.1, other));
        let missing = 1.0 - 0.5 * (1.0 / q + 1.0 / r);
        products.mask += gains * q * r * missing;
        products.observed_mask += gains * missing;
    }
    products
}
