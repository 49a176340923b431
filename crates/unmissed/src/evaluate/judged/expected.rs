//! What to expect of a plan: the intervals of metrics and differences, and the budgets that wanted intervals need.
//!
//! With calibrated estimates the variance of a sum with gains g is about `sum_h (N_h / n_h - 1) rate_h (1 - rate_h) sum_{u in h} g_u^2`,
//! where the rate is the share of relevant pairs, assumed or from an earlier round. Rounds are combined with weights w, so variances with
//! w^2. These are intervals about the truth of these rows (`--interval mask`).

use super::allocation::allocate;
use super::guesses::shrunken_rates;
use super::plan::AnnotationPlan;
use super::pool::Pool;
use super::target::Target;
use crate::data::Judgements;
use crate::error::Result;
use crate::propensity::quantiles::normal_half_width;
use serde::Serialize;

/// The interval to expect for one number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedInterval {
    /// The metric.
    pub metric: String,
    /// Length of the top list.
    pub k: usize,
    /// The model.
    pub model: String,
    /// For a difference: the model that is subtracted.
    pub other: Option<String>,
    /// Half the width of the interval at the plan's budget.
    pub half_width: f64,
    /// The budget of this round that the wanted half width takes, when one is wanted.
    pub budget: Option<u64>,
}

/// By round and stratum: pairs left, pairs drawn.
type Sizes = Vec<Vec<(u64, u64)>>;

pub(super) fn expected(plan: &AnnotationPlan, pool: &Pool, judged: Option<&Judgements>) -> Result<Vec<ExpectedInterval>> {
    let rates = match judged {
        Some(judged) if plan.rounds() > 1 => {
            let of = |row: u32, label: u32| plan.find(row, label).map(|place| usize::from(plan.of[place]));
            let known = judged.pairs().iter().filter_map(|pair| {
                let (low, high) = pair.relevance?.bounds();
                Some((of(pair.row, pair.label)?, (low + high) / 2.0))
            });
            shrunken_rates(plan.strata.len(), known)
        }
        _ => vec![plan.request.assumed; plan.strata.len()],
    };
    let sizes: Sizes = plan.rounds.iter().map(|round| round.strata.clone()).collect();
    let left: Vec<Vec<bool>> = (0..plan.rounds()).map(|round| plan.left(round)).collect();
    let z = normal_half_width(plan.request.level.get());
    let targets = plan.targets(pool);
    // By target, round and stratum: the sum of squared gains of the pairs that were left.
    let squares = |target: &Target| -> Vec<Vec<f64>> {
        let of_round = |left: &Vec<bool>| {
            let mut squares = vec![0.0; plan.strata.len()];
            for (place, gain) in target.gains.iter().filter(|(place, _)| left[*place as usize]) {
                squares[usize::from(plan.of[*place as usize])] += gain * gain;
            }
            squares
        };
        left.iter().map(of_round).collect()
    };
    let all: Vec<Vec<Vec<f64>>> = targets.iter().map(|(_, target)| squares(target)).collect();
    let half_width = |squares: &[Vec<f64>], sizes: &Sizes| z * variance(squares, sizes, &rates).sqrt();
    let last = plan.rounds().saturating_sub(1);
    let precision = targets.iter().zip(&all).filter(|((of, _), _)| of.metric == "precision");
    let mut importance = vec![0.0; plan.strata.len()];
    precision.for_each(|(_, squares)| importance.iter_mut().zip(&squares[last]).for_each(|(sum, square)| *sum += square));
    let spreads: Vec<(u64, f64)> = sizes[last]
        .iter()
        .zip(importance.iter().zip(&rates))
        .map(|((size, _), (squares, rate))| (*size, (*size as f64 * squares * rate * (1.0 - rate)).sqrt()))
        .collect();
    let most: u64 = sizes[last].iter().map(|(size, _)| size).sum();
    let needed = |squares: &[Vec<f64>], wanted: f64| {
        let at = |budget: u64| {
            let mut sizes = sizes.clone();
            sizes[last].iter_mut().zip(allocate(&spreads, budget)).for_each(|((_, drawn), count)| *drawn = count);
            half_width(squares, &sizes)
        };
        // The smallest budget that is enough; more is always better.
        let (mut low, mut high) = (1, most);
        if at(high) > wanted {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if at(middle) > wanted { low = middle } else { high = middle }
        }
        Some(high)
    };
    let named = targets.iter().zip(&all).map(|((of, _), squares)| ExpectedInterval {
        half_width: half_width(squares, &sizes),
        budget: plan.request.wanted.and_then(|wanted| needed(squares, wanted)),
        ..of.clone()
    });
    Ok(named.collect())
}

fn variance(squares: &[Vec<f64>], sizes: &Sizes, rates: &[f64]) -> f64 {
    let drawn = |round: &Vec<(u64, u64)>| round.iter().map(|(_, drawn)| *drawn as f64).sum::<f64>();
    let total: f64 = sizes.iter().map(drawn).sum();
    let of_round = |(squares, sizes): (&Vec<f64>, &Vec<(u64, u64)>)| {
        let weight = drawn(sizes) / total;
        let strata = squares.iter().zip(sizes).zip(rates);
        let variance: f64 = strata
            .filter(|((_, (_, drawn)), _)| *drawn > 0)
            .map(|((squares, (size, drawn)), rate)| (*size as f64 / *drawn as f64 - 1.0) * rate * (1.0 - rate) * squares)
            .sum();
        weight * weight * variance
    };
    squares.iter().zip(sizes).map(of_round).sum()
}
