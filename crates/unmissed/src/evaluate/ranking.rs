//! How models compare: from paired differences with intervals, never from the order of two values.
//!
//! A model is called better than another only if the interval of their difference excludes 0 and the difference is significant
//! after Holm's adjustment for all pairs that are compared.

use super::compare::holm;
use super::report::{Comparison, EvaluationResult};
use crate::metrics::{self, Estimator};
use serde::Serialize;

/// The numbers that are compared: one for each model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedScore<'a> {
    /// The metric.
    pub metric: &'a str,
    /// Length of the top list.
    pub k: usize,
    /// How the values were obtained.
    pub estimator: Estimator,
    /// Where the propensities came from.
    pub propensity: Option<&'a str>,
}

/// Models by their values, and what the first has over the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// The models, the best first; equal values in the order in which models were given.
    pub order: Vec<String>,
    /// The first against each of the others, in their order.
    pub leads: Vec<Lead>,
    /// How many pairs of models were compared.
    pub pairs: usize,
}

/// What one model has over another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lead {
    /// The other model.
    pub over: String,
    /// By how much the first is better.
    pub difference: f64,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Whether the difference is significant after Holm's adjustment for all pairs compared.
    pub stands: bool,
}

impl ComparedScore<'_> {
    /// Whether a comparison is about these numbers of all labels.
    fn has(&self, c: &Comparison) -> bool {
        (c.metric.as_str(), c.k, c.estimator, c.propensity.as_deref()) == (self.metric, self.k, self.estimator, self.propensity)
            && c.group == "all"
    }

    fn value(&self, result: &EvaluationResult, model: &str) -> Option<f64> {
        let is_it = |row: &&super::report::Row| {
            (row.metric.as_str(), row.k, row.estimator, row.propensity.as_deref())
                == (self.metric, self.k, self.estimator, self.propensity)
                && row.group == "all"
                && row.model == model
        };
        result.rows.iter().find(is_it)?.value
    }

    /// Whether a low value is good.
    fn is_reversed(&self) -> bool {
        metrics::of_spec(self.metric).is_ok_and(|metric| metric.lower_is_better())
    }

    /// What `a` has over `b`: positive where `a` is better.
    pub fn lead(&self, result: &EvaluationResult, a: &str, b: &str) -> Option<Lead> {
        let c = result.comparisons.iter().find(|c| self.has(c) && ((c.a == a && c.b == b) || (c.a == b && c.b == a)))?;
        let is_turned = (c.a == b) != self.is_reversed();
        let (low, high) = if is_turned { (c.high.map(|x| -x), c.low.map(|x| -x)) } else { (c.low, c.high) };
        let difference = if is_turned { -c.difference? } else { c.difference? };
        // No negative zero in a text.
        Some(Lead {
            over: b.to_owned(),
            difference: difference + 0.0,
            low: low.map(|x| x + 0.0),
            high: high.map(|x| x + 0.0),
            stands: false,
        })
    }

    fn p(&self, result: &EvaluationResult, a: &str, b: &str) -> Option<f64> {
        let is_pair = |c: &&Comparison| self.has(c) && ((c.a == a && c.b == b) || (c.a == b && c.b == a));
        result.comparisons.iter().find(is_pair)?.p
    }

    /// What each of some models has over one other, adjusted for their number.
    pub fn leads_over(
        &self,
        result: &EvaluationResult,
        models: &[&str],
        other: impl Fn(&str) -> Option<String>,
        level: f64,
    ) -> Vec<(String, Lead)> {
        let pairs = models.iter().filter_map(|model| Some((*model, self.lead(result, model, &other(model)?)?)));
        let mut leads: Vec<(String, Lead)> = pairs.map(|(model, lead)| (model.to_owned(), lead)).collect();
        let p: Vec<Option<f64>> = leads.iter().map(|(model, lead)| self.p(result, model, &lead.over)).collect();
        for ((_, lead), stands) in leads.iter_mut().zip(holm(&p, level)) {
            lead.stands = stands && lead.excludes_zero();
        }
        leads
    }
}

impl Ranking {
    /// The ranking of models that all have a value; `None` for fewer than two.
    pub fn new(result: &EvaluationResult, cell: &ComparedScore<'_>, models: &[&str], level: f64) -> Option<Ranking> {
        let mut order = models.iter().map(|model| Some((cell.value(result, model)?, *model))).collect::<Option<Vec<_>>>()?;
        let sign = if cell.is_reversed() { -1.0 } else { 1.0 };
        order.sort_by(|a, b| (sign * b.0).total_cmp(&(sign * a.0)));
        let (first, others) = order.split_first().filter(|(_, others)| !others.is_empty())?;
        let pairs: Vec<(&str, &str)> =
            (0..order.len()).flat_map(|a| (0..a).map(move |b| (b, a))).map(|(b, a)| (order[b].1, order[a].1)).collect();
        let p: Vec<Option<f64>> = pairs.iter().map(|(a, b)| cell.p(result, a, b)).collect();
        let stands = holm(&p, level);
        let lead = |(_, model): &(f64, &str)| {
            let mut lead = cell.lead(result, first.1, model)?;
            let place = pairs.iter().position(|pair| *pair == (first.1, *model))?;
            lead.stands = stands[place] && lead.excludes_zero();
            Some(lead)
        };
        Some(Ranking {
            leads: others.iter().map(lead).collect::<Option<_>>()?,
            order: order.iter().map(|(_, model)| (*model).to_owned()).collect(),
            pairs: pairs.len(),
        })
    }

    /// The model that is better than all others.
    pub fn winner(&self) -> Option<&str> {
        self.leads.iter().all(|lead| lead.stands).then(|| self.order[0].as_str())
    }

    /// The models that the first is not better than, as far as can be told.
    pub fn undecided(&self) -> Vec<&str> {
        self.leads.iter().filter(|lead| !lead.stands).map(|lead| lead.over.as_str()).collect()
    }

    /// The comparison as a sentence without its stop.
    pub fn sentence(&self) -> String {
        let first = &self.order[0];
        let worse = self.leads.iter().filter(|lead| lead.stands).count();
        let Some(open) = self.leads.iter().find(|lead| !lead.stands) else {
            let lead = &self.leads[0];
            return match &self.leads[..] {
                [_] => format!("{first} is better than {} by {}", lead.over, lead.by()),
                leads => {
                    format!(
                        "{first} is better than the other {} models, than the second, {}, by {}",
                        leads.len(),
                        lead.over,
                        lead.by()
                    )
                }
            };
        };
        if let [lead] = &self.leads[..] {
            return if lead.is_tie() {
                format!("{first} and {} score the same on every row", lead.over)
            } else {
                format!("{first} and {} are not statistically distinguishable ({})", lead.over, lead.doubt(self.pairs))
            };
        }
        let names = self.undecided();
        let shown = match &names[..] {
            [] | [_] | [_, _] | [_, _, _] => listed(&names),
            [a, b, rest @ ..] => format!("{a}, {b} and {} more", rest.len()),
        };
        let how = if open.is_tie() {
            format!("it and {} score the same on every row", open.over)
        } else {
            format!("from {}: {}", open.over, open.doubt(self.pairs))
        };
        let rest = match worse {
            0 => String::new(),
            1 => "; it is better than the other one".to_owned(),
            worse => format!("; it is better than the other {worse}"),
        };
        format!("{first} is first, but not statistically distinguishable from {shown} ({how}){rest}")
    }
}

impl Lead {
    fn excludes_zero(&self) -> bool {
        self.low.is_some_and(|low| low > 0.0) || self.high.is_some_and(|high| high < 0.0)
    }

    /// The same from the other side; the name of the other stays.
    pub fn turned(&self) -> Lead {
        let turn = |end: Option<f64>| end.map(|end| 0.0 - end);
        Lead {
            over: self.over.clone(),
            difference: 0.0 - self.difference,
            low: turn(self.high),
            high: turn(self.low),
            stands: self.stands,
        }
    }

    /// Whether no row tells the two apart.
    pub fn is_tie(&self) -> bool {
        (self.difference, self.low, self.high) == (0.0, Some(0.0), Some(0.0))
    }

    /// The difference with its interval: `3.1 points (1.0 to 5.2)`.
    pub fn by(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => {
                let [difference, low, high] = points([self.difference, low, high]);
                format!("{difference} points ({low} to {high})")
            }
            _ => format!("{} points", points([self.difference])[0]),
        }
    }

    /// Why nothing is claimed: `difference 0.4 points, -1.0 to 1.8`.
    pub fn doubt(&self, pairs: usize) -> String {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return format!("difference {} points, which has no interval", points([self.difference])[0]);
        };
        let [difference, low, high] = points([self.difference, low, high]);
        let chance = if self.excludes_zero() {
            format!(", no more than expected by chance among {pairs} comparisons")
        } else {
            String::new()
        };
        format!("difference {difference} points, {low} to {high}{chance}")
    }
}

/// Differences of shares in points, with as many digits as it takes to see that those that are not 0 are not.
fn points<const N: usize>(values: [f64; N]) -> [String; N] {
    let smallest = values.iter().map(|value| 100.0 * value.abs()).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let decimals = (1..=3).find(|decimals| smallest >= 0.5 * 10f64.powi(-*decimals)).unwrap_or(1) as usize;
    values.map(|value| crate::numbers::four_digits(100.0 * value, decimals))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(leads: &[(&str, f64, f64, f64, bool)]) -> Ranking {
        let lead = |(over, difference, low, high, stands): &(&str, f64, f64, f64, bool)| Lead {
            over: (*over).into(),
            difference: *difference,
            low: Some(*low),
            high: Some(*high),
            stands: *stands,
        };
        let order = std::iter::once("A").chain(leads.iter().map(|lead| lead.0)).map(str::to_owned).collect::<Vec<_>>();
        Ranking { pairs: order.len() * (order.len() - 1) / 2, order, leads: leads.iter().map(lead).collect() }
    }

    #[test]
    fn sentences_claim_no_more_than_intervals() {
        let two = |lead| ranking(&[lead]).sentence();
        assert_eq!(two(("B", 0.031, 0.01, 0.052, true)), "A is better than B by 3.1 points (1.0 to 5.2)");
        // Ends that round to 0 show that they are not 0.
        assert_eq!(two(("B", 0.021, 0.0003, 0.042, true)), "A is better than B by 2.10 points (0.03 to 4.20)");
        assert_eq!(
            two(("B", 0.004, -0.01, 0.018, false)),
            "A and B are not statistically distinguishable (difference 0.4 points, -1.0 to 1.8)"
        );
        assert_eq!(two(("B", 0.0, 0.0, 0.0, false)), "A and B score the same on every row");
        assert_eq!(
            two(("B", 0.0, -0.01, 0.01, false)),
            "A and B are not statistically distinguishable (difference 0.0 points, -1.0 to 1.0)"
        );
    }

    #[test]
    fn ten_models_have_one_sentence() {
        let names = ["B", "C", "D", "E", "F", "G", "H", "I", "J"];
        let all = |stands: &dyn Fn(usize) -> bool| {
            let lead = |(place, name): (usize, &&'static str)| {
                let x = 0.01 * (place + 1) as f64;
                if stands(place) { (*name, x, 0.002, 2.0 * x, true) } else { (*name, x, -0.01, 2.0 * x, false) }
            };
            ranking(&names.iter().enumerate().map(lead).collect::<Vec<_>>()).sentence()
        };
        assert_eq!(all(&|_| true), "A is better than the other 9 models, than the second, B, by 1.0 points (0.2 to 2.0)");
        assert_eq!(
            all(&|place| place > 1),
            "A is first, but not statistically distinguishable from B and C (from B: difference 1.0 points, -1.0 to 2.0); it is better \
             than the other 7"
        );
        assert_eq!(
            all(&|_| false),
            "A is first, but not statistically distinguishable from B, C and 7 more (from B: difference 1.0 points, -1.0 to 2.0)"
        );
        // The interval of one comparison of 45 says little.
        let doubtful = ranking(&[("B", 0.02, 0.001, 0.039, false), ("C", 0.3, 0.2, 0.4, true)]);
        assert_eq!(
            doubtful.sentence(),
            "A is first, but not statistically distinguishable from B (from B: difference 2.0 points, 0.1 to 3.9, no more than expected by \
             chance among 3 comparisons); it is better than the other one"
        );
        assert_eq!((doubtful.winner(), doubtful.undecided()), (None, vec!["B"]));
    }
}
