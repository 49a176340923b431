//! What standings come to. Severity and headline both follow from a [`Conclusion`]; neither is read out of the other, so no name in a
//! text can change what an audit means.

use super::standings::Standing;
use super::wording::{listed, percent};
use crate::evaluate::Severity;

/// A score that is farther than this from complete labels is far off.
const FAR: f64 = 0.05;
/// Corrected scores whose largest is more than this many times the smallest do not agree.
const DISAGREEMENT: f64 = 1.5;

/// What standings come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Conclusion<'a> {
    /// One model, whose score on complete labels is known.
    KnownScore { observed: Option<f64>, complete: f64 },
    /// One model, and nothing to correct its score with.
    ObservedScore { observed: Option<f64> },
    /// One model, with the smallest and the largest corrected score.
    CorrectedScore { observed: Option<f64>, low: f64, high: f64, candidates: usize },
    /// Some propensity models put another model first than complete labels do.
    WrongWinner { best: Option<&'a str>, under: Vec<&'a str>, lead_is_clear: bool },
    /// All agree with complete labels about who is first.
    RightWinner { best: Option<&'a str>, farthest: Option<FarScore<'a>> },
    /// Who is first depends on the propensity model.
    NoWinner,
    /// All agree about who is first, some (`doubtful`) without a clear lead.
    OneWinner { best: Option<&'a str>, doubtful: usize, standings: usize },
}

/// A score that is far from that on complete labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FarScore<'a> {
    standing: &'a str,
    model: &'a str,
    value: f64,
    error: f64,
}

impl<'a> Conclusion<'a> {
    pub(super) fn new(standings: &'a [Standing]) -> Conclusion<'a> {
        if standings.first().is_some_and(|standing| standing.scores.len() > 1) {
            Conclusion::of_order(standings)
        } else {
            Conclusion::of_value(standings)
        }
    }

    fn of_value(standings: &'a [Standing]) -> Conclusion<'a> {
        let value = |standing: &Standing| standing.scores.first().and_then(|score| score.value);
        let observed = standings.first().and_then(value);
        if let Some(complete) = standings.iter().find(|standing| standing.is_truth).and_then(value) {
            return Conclusion::KnownScore { observed, complete };
        }
        let corrected: Vec<f64> = standings.iter().filter(|s| s.is_corrected()).filter_map(value).collect();
        let ends = corrected.iter().fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((*value, *value), |(low, high)| (low.min(*value), high.max(*value))))
        });
        match ends {
            None => Conclusion::ObservedScore { observed },
            Some((low, high)) => Conclusion::CorrectedScore { observed, low, high, candidates: corrected.len() },
        }
    }

    fn of_order(standings: &'a [Standing]) -> Conclusion<'a> {
        let views = || standings.iter().filter(|standing| !standing.is_truth);
        if let Some(truth) = standings.iter().find(|standing| standing.is_truth) {
            let best = truth.first.as_deref();
            let under: Vec<&str> = views().filter(|s| s.agrees_with_truth == Some(false)).map(|s| s.name.as_str()).collect();
            return if under.is_empty() {
                Conclusion::RightWinner { best, farthest: FarScore::find(standings) }
            } else {
                Conclusion::WrongWinner { best, under, lead_is_clear: truth.lead_stands != Some(false) }
            };
        }
        let winners = winners(standings);
        match winners[..] {
            [_, _, ..] => Conclusion::NoWinner,
            _ => Conclusion::OneWinner {
                best: winners.first().copied(),
                doubtful: views().filter(|standing| standing.lead_stands == Some(false)).count(),
                standings: views().count(),
            },
        }
    }

    pub(super) fn severity(&self) -> Severity {
        match self {
            Conclusion::WrongWinner { lead_is_clear: true, .. } => Severity::Error,
            Conclusion::WrongWinner { lead_is_clear: false, .. }
            | Conclusion::ObservedScore { .. }
            | Conclusion::RightWinner { farthest: Some(_), .. }
            | Conclusion::NoWinner => Severity::Warning,
            Conclusion::CorrectedScore { low, high, .. } if *high > DISAGREEMENT * low => Severity::Warning,
            Conclusion::CorrectedScore { .. }
            | Conclusion::KnownScore { .. }
            | Conclusion::RightWinner { farthest: None, .. }
            | Conclusion::OneWinner { .. } => Severity::Info,
        }
    }

    /// The conclusion in a line; `at` is the metric with its k.
    pub(super) fn headline(&self, at: &str) -> String {
        let or_unknown = |value: &Option<f64>| value.map_or("unknown".into(), percent);
        let or_none = |best: &Option<&'a str>| best.unwrap_or("no model");
        match self {
            Conclusion::KnownScore { observed, complete } => {
                format!("On complete labels {at} is {}; as observed it is {}.", percent(*complete), or_unknown(observed))
            }
            Conclusion::ObservedScore { observed } => {
                format!("{at} is {} as observed; what is missing cannot be told from these files.", or_unknown(observed))
            }
            Conclusion::CorrectedScore { observed, low, candidates: 1, .. } => {
                format!("{at} is {} as observed and {} corrected for missing labels.", or_unknown(observed), percent(*low))
            }
            Conclusion::CorrectedScore { observed, low, high, .. } => format!(
                "{at} is {} as observed and {} to {} corrected: the propensity model decides.",
                or_unknown(observed),
                percent(*low),
                percent(*high)
            ),
            Conclusion::WrongWinner { best, under, .. } => {
                format!("Scored with {}, the wrong model wins: complete labels put {} first.", listed(under), or_none(best))
            }
            Conclusion::RightWinner { best, farthest } => {
                let start = format!("{} is first as observed, under every propensity model and on complete labels", or_none(best));
                match farthest {
                    Some(far) => format!("{start}; but {}.", far.sentence()),
                    None => format!("{start}."),
                }
            }
            Conclusion::NoWinner => format!("The order of the models depends on the propensity model: no winner in {at}."),
            Conclusion::OneWinner { best, doubtful, standings } => {
                let start = format!("{} is first in {at} as observed and under every propensity model", or_none(best));
                match doubtful {
                    0 => format!("{start}."),
                    _ => {
                        format!("{start}; in {doubtful} of these {standings} the lead is not statistically distinguishable from 0.")
                    }
                }
            }
        }
    }
}

/// The models that are first somewhere, complete labels apart.
pub(super) fn winners(standings: &[Standing]) -> Vec<&str> {
    let mut winners: Vec<&str> = Vec::new();
    for first in standings.iter().filter(|standing| !standing.is_truth).filter_map(|standing| standing.first.as_deref()) {
        if !winners.contains(&first) {
            winners.push(first);
        }
    }
    winners
}

impl<'a> FarScore<'a> {
    /// The corrected score that is farthest from complete labels, when it is far.
    fn find(standings: &'a [Standing]) -> Option<FarScore<'a>> {
        let corrected = standings.iter().filter(|standing| standing.is_corrected());
        let scores = corrected.flat_map(|standing| standing.scores.iter().map(|score| (standing.name.as_str(), score)));
        scores
            .filter_map(|(standing, score)| {
                Some(FarScore { standing, model: &score.model, value: score.value?, error: score.error? })
            })
            .max_by(|a, b| a.error.abs().total_cmp(&b.error.abs()))
            .filter(|worst| worst.error.abs() > FAR)
    }

    fn sentence(&self) -> String {
        let direction = if self.error > 0.0 { "high" } else { "low" };
        let FarScore { standing, model, value, error } = self;
        format!("with {standing} {model} would score {}, {:.1} points too {direction}", percent(*value), 100.0 * error.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::super::standings::ModelScore;
    use super::*;
    use crate::metrics::Estimator;

    /// A standing of two models.
    fn standing(name: &str, is_truth: bool, scores: [(&str, f64, f64); 2]) -> Standing {
        let score = |(model, value, error): (&str, f64, f64)| ModelScore {
            model: model.to_owned(),
            value: Some(value),
            low: None,
            high: None,
            normalized: None,
            error: Some(error),
        };
        let first = if scores[0].1 > scores[1].1 { scores[0].0 } else { scores[1].0 };
        Standing {
            name: name.into(),
            propensity: (!is_truth && name != "observed").then(|| name.into()),
            estimator: if is_truth || name == "observed" { Estimator::Observed } else { Estimator::Unbiased },
            is_truth,
            scores: scores.map(score).to_vec(),
            first: Some(first.into()),
            lead_stands: Some(true),
            flips_at: None,
            agrees_with_truth: (!is_truth).then_some(true),
            contradicted: false,
            is_headline: false,
        }
    }

    #[test]
    fn names_do_not_decide_how_bad_it_is() {
        let long = "x".repeat(10_000);
        for name in ["a", "a;b", "a: b", "<x>", "; but", "a, b and c", &long] {
            let near = [
                standing("observed", false, [(name, 0.5, 0.0), ("other", 0.4, 0.0)]),
                standing("jpv", false, [(name, 0.51, 0.01), ("other", 0.4, 0.0)]),
                standing("complete labels", true, [(name, 0.5, 0.0), ("other", 0.4, 0.0)]),
            ];
            let conclusion = Conclusion::new(&near);
            assert_eq!(conclusion.severity(), Severity::Info, "{name}");
            assert!(conclusion.headline("precision@1").starts_with(&format!("{name} is first as observed")), "{name}");
            let mut far = near.clone();
            far[1].scores[0].error = Some(0.3);
            let conclusion = Conclusion::new(&far);
            assert_eq!(conclusion.severity(), Severity::Warning, "{name}");
            assert!(conclusion.headline("precision@1").ends_with("30.0 points too high."), "{name}");
            let mut wrong = near.clone();
            wrong[1].agrees_with_truth = Some(false);
            assert_eq!(Conclusion::new(&wrong).severity(), Severity::Error, "{name}");
            wrong[2].lead_stands = Some(false);
            assert_eq!(Conclusion::new(&wrong).severity(), Severity::Warning, "{name}");
            assert_eq!(Conclusion::new(&near[..2]).severity(), Severity::Info, "{name}");
        }
    }
}
