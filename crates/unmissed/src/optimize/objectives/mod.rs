//! Objectives: what predictions are optimised for.
//!
//! Each is a metric of all rows at once. The search does not see the labels, only their probabilities: it maximises the metric of
//! *expected* counts, `TP_j = sum of p_ij over the rows that are given label j`, `Pred_j` such rows, and `P_j` expected positives. An
//! entry of [`OBJECTIVES`] says which [`Terms`] that is, what it is worth on known labels, and what it needs.
//!
//! Adding an objective is one new file and one line in the list. What does not fit the shapes of [`Terms`] is a change of the search.

pub mod abandonment;
pub mod balanced_accuracy;
pub mod coverage;
pub mod macro_f;
pub mod macro_precision;
pub mod macro_recall;
pub mod precision;
pub mod weighted_precision;

use super::terms::Terms;
use crate::error::{Error, Result, digits};
use crate::request::ObjectiveSpec;
use crate::sealed::Sealed;
use crate::spec::{self, Named, Spec};

/// All objectives.
pub static OBJECTIVES: &[&dyn Objective] = &[
    &precision::Precision,
    &weighted_precision::WeightedPrecision,
    &macro_f::MacroF,
    &macro_precision::MacroPrecision,
    &macro_recall::MacroRecall,
    &balanced_accuracy::BalancedAccuracy,
    &coverage::Coverage,
    &abandonment::Abandonment,
];

/// A metric that predictions can be optimised for. Only this crate implements it.
pub trait Objective: Named + Sealed + Sync {
    /// Whether good predictions have a low value.
    fn lower_is_better(&self) -> bool {
        false
    }
    /// Whether it depends on the number of positives of each label.
    fn needs_positives(&self) -> bool {
        false
    }
    /// Whether labels have gains.
    fn needs_weights(&self) -> bool {
        false
    }
    /// Whether it has the parameter `beta`.
    fn has_beta(&self) -> bool {
        false
    }
    /// Whether it is a [metric](crate::metrics::METRICS) of the same name.
    fn is_metric(&self) -> bool {
        true
    }
    /// Adds `times` the value to what is maximised; `times` is negative where low values are good.
    fn add_to(&self, terms: &mut Terms, times: f64, of: &ObjectiveInputs<'_>);
    /// What a label adds to the value once labels are known.
    fn of_label(&self, _label: usize, _counts: Counted, _of: &ObjectiveInputs<'_>) -> f64 {
        0.0
    }
    /// What a row adds to the mean over rows once labels are known.
    fn of_row(&self, _is_hit: bool) -> f64 {
        0.0
    }
}

/// What values depend on besides predictions and labels.
#[derive(Clone, Copy, Debug)]
pub struct ObjectiveInputs<'a> {
    /// Number of rows.
    pub rows: f64,
    /// Number of labels.
    pub labels: f64,
    /// Labels per row.
    pub k: f64,
    /// Expected positives of each label.
    pub positives: &'a [f64],
    /// Gains of labels; empty where none are needed.
    pub weights: &'a [f64],
    /// The parameter of F.
    pub beta: f64,
}

/// What is known of a label.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Rows that are given the label and have it, perhaps weighted by inverse propensities.
    pub hits: f64,
    /// Rows that are given the label.
    pub predicted: f64,
    /// Rows that have it, weighted in the same way.
    pub positives: f64,
}

/// The objective called `name`, or an error that suggests near names.
pub fn find(name: &str) -> Result<&'static dyn Objective> {
    spec::find(OBJECTIVES, "objective", name)
}

/// Checked objectives with their factors.
pub(super) struct Mixture {
    parts: Vec<Part>,
}

struct Part {
    factor: f64,
    objective: &'static dyn Objective,
    beta: f64,
}

impl Mixture {
    pub(super) fn new(spec: &ObjectiveSpec) -> Result<Mixture> {
        let part = |(factor, spec): &(f64, Spec)| {
            let objective = find(spec.name())?;
            spec.allow(if objective.has_beta() { &["beta"] } else { &[] }, &[])?;
            let beta = spec.number("beta")?.unwrap_or(1.0);
            if !(beta > 0.0 && beta <= 1e6) {
                return Err(Error::value(format!("beta of '{spec}' is out of range"))
                    .expected("a number above 0, at most 1000000")
                    .found(digits(beta)));
            }
            Ok(Part { factor: *factor, objective, beta })
        };
        Ok(Mixture { parts: spec.terms().iter().map(part).collect::<Result<_>>()? })
    }

    /// The one objective, when it is not a mixture.
    pub(super) fn single(&self) -> Option<&'static dyn Objective> {
        match &self.parts[..] {
            [part] if part.factor == 1.0 => Some(part.objective),
            _ => None,
        }
    }

    /// Low values are good only of a single objective; a mixture counts them negatively.
    pub(super) fn lower_is_better(&self) -> bool {
        self.single().is_some_and(Objective::lower_is_better)
    }

    pub(super) fn needs_positives(&self) -> bool {
        self.parts.iter().any(|part| part.objective.needs_positives())
    }

    pub(super) fn needs_weights(&self) -> bool {
        self.parts.iter().any(|part| part.objective.needs_weights())
    }

    fn signed(&self) -> impl Iterator<Item = (f64, &Part)> {
        let of_single = self.lower_is_better();
        self.parts.iter().map(move |part| {
            let negative = part.objective.lower_is_better() && !of_single;
            (if negative { -part.factor } else { part.factor }, part)
        })
    }

    /// What the search maximises: the value, or its negative where low values are good.
    pub(super) fn terms(&self, of: &ObjectiveInputs<'_>) -> Terms {
        let mut terms = Terms::new(of.labels as usize);
        let sign = if self.lower_is_better() { -1.0 } else { 1.0 };
        for (factor, part) in self.signed() {
            part.objective.add_to(&mut terms, sign * factor, &ObjectiveInputs { beta: part.beta, ..*of });
        }
        terms
    }

    /// What a label adds to the value once labels are known.
    pub(super) fn of_label(&self, label: usize, counts: Counted, of: &ObjectiveInputs<'_>) -> f64 {
        let value = |(factor, part): (f64, &Part)| {
            factor * part.objective.of_label(label, counts, &ObjectiveInputs { beta: part.beta, ..*of })
        };
        self.signed().map(value).sum()
    }

    /// What a row adds to the mean over rows once labels are known.
    pub(super) fn of_row(&self, is_hit: bool) -> f64 {
        self.signed().map(|(factor, part)| factor * part.objective.of_row(is_hit)).sum()
    }
}
