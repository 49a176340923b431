//! What propensities may depend on. No covariate reveals the outcome: labels of the row leave the pair itself out, and counts are
//! of relevant pairs.

use super::GivenName;
use crate::data::Csr;
use crate::top_k::rank_of;
use serde::{Deserialize, Serialize};

/// A covariate of a (row, label) pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariate {
    /// `log(1 + c)`, c the number of relevant pairs of the label in the evidence, whether observed or not.
    LogCount,
    /// `log(1 + l)`, l the other observed labels of the row.
    OtherLabels,
    /// The rank of the label among the audited model's predictions, as steps: at most 1, 2, 3, 4, 5, 10, 20, 50.
    Rank,
    /// How far the label's score is below the best of the row, in units of [`score_unit`]; 0 when the label is not predicted. Never the score itself, since
    /// models of different folds have different scales.
    ScoreDifference,
}

/// Where the steps of [`Covariate::Rank`] are.
const STEPS: [usize; 8] = [1, 2, 3, 4, 5, 10, 20, 50];

/// Where the audited model has a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Rank, from 0.
    pub rank: usize,
    /// Best score of the row minus the label's, in units of [`score_unit`].
    pub difference: f64,
}

/// A pair whose propensity is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'v> {
    /// The label.
    pub label: u32,
    /// How many other observed labels the row has.
    pub other_labels: usize,
    /// Where the audited model has the label.
    pub place: Option<Place>,
    /// Values of given covariates of rows and pairs, in the order of the model's.
    pub given: &'v [f64],
}

impl Place {
    /// Looks a label up among the predictions of a row; equal scores go to the smaller label. `unit` is the [`score_unit`] of all.
    pub fn find(ids: &[u32], scores: &[f32], label: u32, unit: f64) -> Option<Place> {
        let (rank, score) = rank_of(ids, scores, label)?;
        let best = scores.iter().fold(score, |best, other| best.max(*other));
        Some(Place { rank, difference: (f64::from(best) - f64::from(score)) / unit })
    }
}

impl Covariate {
    /// All of them.
    pub const ALL: [Covariate; 4] = [Covariate::LogCount, Covariate::OtherLabels, Covariate::Rank, Covariate::ScoreDifference];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Covariate::LogCount => "log-count",
            Covariate::OtherLabels => "other-labels",
            Covariate::Rank => "rank",
            Covariate::ScoreDifference => "score-difference",
        }
    }

    /// The covariate called `name`. Names of covariates that would reveal the outcome are rejected with the reason.
    pub fn of_name(name: &str) -> crate::Result<Covariate> {
        if matches!(name, "labels" | "observed-labels" | "observed" | "score") {
            let why = if name == "score" {
                "scores of models of different folds have different scales: use rank or score-difference"
            } else {
                "the pair's own observation would be part of it: use other-labels, which leaves it out"
            };
            return Err(crate::Error::value(format!("'{name}' cannot be a covariate of propensities")).hint(why));
        }
        Self::ALL.into_iter().find(|covariate| covariate.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|covariate| covariate.name()).collect();
            crate::spec::unknown("covariate", name, &names)
        })
    }

    /// Whether it follows from predictions.
    pub fn needs_scores(self) -> bool {
        matches!(self, Covariate::Rank | Covariate::ScoreDifference)
    }
}

/// The names of the columns, of which the first is constant.
pub(super) fn names(covariates: &[Covariate], given: &[GivenName]) -> Vec<String> {
    let mut names = vec!["constant".to_owned()];
    for covariate in covariates {
        match covariate {
            Covariate::Rank => names.extend(STEPS.iter().map(|step| format!("rank<={step}"))),
            other => names.push(other.name().to_owned()),
        }
    }
    names.extend(given.iter().map(|given| given.name.clone()));
    names
}

/// Where the steps of the rank stand among the columns, when it is a covariate.
pub(super) fn rank_columns(covariates: &[Covariate]) -> Option<std::ops::Range<usize>> {
    let place = covariates.iter().position(|covariate| *covariate == Covariate::Rank)?;
    // The constant comes first, and other covariates have one column each.
    Some(place + 1..place + 1 + STEPS.len())
}

/// The unit of score differences: the mean difference of the best and the fifth score of a row (the last, where there are fewer).
/// Models of different folds, or trained on more rows, have scores of different size.
pub fn score_unit(scores: &Csr<'_, f32>) -> f64 {
    let (mut sum, mut rows) = (0.0, 0.0);
    let mut sorted = Vec::new();
    for (_, values) in scores.iter().filter(|(ids, _)| ids.len() > 1) {
        sorted.clear();
        sorted.extend_from_slice(values);
        let fifth = sorted.len().min(5) - 1;
        let (better, fifth, _) = sorted.select_nth_unstable_by(fifth, |a, b| b.total_cmp(a));
        let best = better.iter().fold(*fifth, |best, other| best.max(*other));
        sum += f64::from(best) - f64::from(*fifth);
        rows += 1.0;
    }
    if sum > 0.0 { sum / rows } else { 1.0 }
}

/// Appends the columns of a pair but for given ones. `other_labels` leaves the pair's own label out.
pub(super) fn describe(covariates: &[Covariate], count: u64, other_labels: usize, place: Option<Place>, out: &mut Vec<f64>) {
    out.push(1.0);
    for covariate in covariates {
        match covariate {
            Covariate::LogCount => out.push((count as f64).ln_1p()),
            Covariate::OtherLabels => out.push((other_labels as f64).ln_1p()),
            Covariate::Rank => out.extend(STEPS.iter().map(|step| match place {
                Some(place) if place.rank < *step => 1.0,
                _ => 0.0,
            })),
            Covariate::ScoreDifference => out.push(place.map_or(0.0, |place| place.difference)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_differences_are_those_within_the_row() {
        let (ids, scores) = ([4, 1, 7], [0.5f32, 2.0, 0.5]);
        assert_eq!(Place::find(&ids, &scores, 7, 0.5), Some(Place { rank: 2, difference: 3.0 }));
        assert_eq!(Place::find(&ids, &scores, 1, 0.5), Some(Place { rank: 0, difference: 0.0 }));
        assert_eq!(Place::find(&ids, &scores, 2, 0.5), None);
        let two =
            Csr::from_rows(8, [vec![(4, 0.5f32), (1, 2.0), (7, 0.5)], vec![(0, 1.0)], (0..7).map(|id| (id, id as f32)).collect()]);
        // 2 - 0.5 of the first row, nothing of the second, 6 - 2 of the third.
        assert_eq!(score_unit(&two.unwrap()), 2.75);
    }

    #[test]
    fn covariates_that_contain_the_answer_are_refused() {
        let error = Covariate::of_name("observed-labels").unwrap_err().to_string();
        assert!(error.contains("own observation would be part of it"), "{error}");
        assert!(Covariate::of_name("score").unwrap_err().to_string().contains("different scales"));
        assert!(Covariate::of_name("rnak").unwrap_err().to_string().contains("did you mean 'rank'?"));
    }
}
