//! Differences of models: paired, with intervals, and flags that allow for the number of comparisons.
//!
//! Two models are evaluated on the same rows, so the variance of their difference comes from the differences of row terms. Holm's
//! adjustment: p values ascending, the i-th of M is compared with `(1 - level) / (M - i + 1)`, and the first that fails ends it.
//!
//! # Reference
//! Holm, "A simple sequentially rejective multiple test procedure", 1979. By hand: at level 0.95, of p = 0.01, 0.04, 0.03 only
//! the first is below 0.05/3, and 0.03 is not below 0.05/2.
//!
//! ```
//! use unmissed::evaluate::compare::holm;
//! assert_eq!(holm(&[Some(0.01), Some(0.04), None, Some(0.03)], 0.95), [true, false, false, false]);
//! assert_eq!(holm(&[Some(0.01), Some(0.04), None, Some(0.02)], 0.95), [true, true, false, true]);
//! ```

use super::Finish;
use crate::error::Result;
use crate::evaluate::report::Comparison;
use crate::normal::two_sided;

/// Which of the p values are significant after Holm's adjustment; unknown ones never are.
pub fn holm(p: &[Option<f64>], level: f64) -> Vec<bool> {
    let mut order: Vec<(f64, usize)> = p.iter().enumerate().filter_map(|(place, p)| Some(((*p)?, place))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut stands = vec![false; p.len()];
    for (i, (p, place)) in order.iter().enumerate() {
        if *p > (1.0 - level) / (order.len() - i) as f64 {
            break;
        }
        stands[*place] = true;
    }
    stands
}

/// Every pair of models in every cell.
pub(super) fn comparisons(finish: &Finish<'_>) -> Result<Vec<Comparison>> {
    let settings = finish.settings;
    let mut all = Vec::new();
    for key in finish.keys() {
        let is_of_both = |(_, (a, b)): &(usize, (usize, usize))| finish.applies(key, *a) && finish.applies(key, *b);
        for (pair, (a, b)) in settings.pairs().into_iter().enumerate().filter(is_of_both) {
            let difference = finish.difference(key, pair, a, b);
            let (low, high) = difference.ends(settings.level());
            let p = match (difference.value, difference.se()) {
                (Some(0.0), Some(_)) => Some(1.0),
                (Some(value), Some(se)) => Some(two_sided(value / se)),
                _ => None,
            };
            all.push(Comparison {
                metric: settings.metrics[key.metric].name(),
                k: settings.ks()[key.ki],
                estimator: key.estimator,
                propensity: finish.origin(key),
                group: settings.groups[key.group].0.clone(),
                a: settings.models[a].clone(),
                b: settings.models[b].clone(),
                difference: difference.value,
                se: difference.se(),
                low,
                high,
                p,
                significant: false,
                sensitivity: None,
            });
        }
    }
    let p: Vec<Option<f64>> = all.iter().map(|c| c.p).collect();
    for (comparison, stands) in all.iter_mut().zip(holm(&p, settings.level())) {
        comparison.significant = stands;
    }
    Ok(all)
}
