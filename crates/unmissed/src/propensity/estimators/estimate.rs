//! [`Estimate`]: what an estimator found, and what is worth showing about it.

use super::Direct;
use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::propensity::Propensities;
use crate::propensity::fit::{CurveEvidence, Fit};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// What an estimator found.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Values for all labels, or for those with evidence.
    pub values: EstimatedValues,
    /// The fitted curve behind the estimate.
    pub fit: Option<Fit>,
    /// What a controlled set says label by label, where there is one: beside the estimate that was made of it.
    pub direct: Option<Direct>,
    /// Numbers about the evidence, by name.
    pub diagnostics: Vec<(&'static str, Diagnostic)>,
    /// What they mean, in sentences.
    pub remarks: Vec<String>,
}

/// The values of an estimate.
#[derive(Clone, Debug)]
pub enum EstimatedValues {
    /// One for each label.
    All(Propensities),
    /// Only labels with evidence have one.
    WithGaps(Direct),
}

/// A number or a word about the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Diagnostic {
    /// How many.
    Count(u64),
    /// Which variant.
    Word(&'static str),
}

impl Estimate {
    /// Of values for all labels, with the curve behind them.
    pub(super) fn new(propensities: Propensities, fit: Fit) -> Estimate {
        let values = EstimatedValues::All(propensities);
        Estimate { values, fit: Some(fit), direct: None, diagnostics: Vec::new(), remarks: Vec::new() }
    }

    /// Of values for all labels that no curve is behind.
    pub(super) fn without_curve(propensities: Propensities) -> Estimate {
        let values = EstimatedValues::All(propensities);
        Estimate { values, fit: None, direct: None, diagnostics: Vec::new(), remarks: Vec::new() }
    }

    /// Of labels with evidence only.
    pub(super) fn with_gaps(direct: Direct) -> Estimate {
        let values = EstimatedValues::WithGaps(direct);
        Estimate { values, fit: None, direct: None, diagnostics: Vec::new(), remarks: Vec::new() }
    }

    #[must_use]
    pub(super) fn count(mut self, name: &'static str, count: u64) -> Self {
        self.diagnostics.push((name, Diagnostic::Count(count)));
        self
    }

    #[must_use]
    pub(super) fn word(mut self, name: &'static str, word: &'static str) -> Self {
        self.diagnostics.push((name, Diagnostic::Word(word)));
        self
    }

    #[must_use]
    pub(super) fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remarks.push(remark.into());
        self
    }

    /// The propensities, when every label has one.
    pub fn propensities(&self) -> Option<&Propensities> {
        match &self.values {
            EstimatedValues::All(propensities) => Some(propensities),
            EstimatedValues::WithGaps(_) => None,
        }
    }

    /// The propensities of all labels; where a direct estimate has gaps they are 1, and scores go by its inverses without a floor.
    pub fn into_propensities(self) -> Result<Propensities> {
        match self.values {
            EstimatedValues::All(propensities) => Ok(propensities),
            EstimatedValues::WithGaps(direct) if direct.estimated() == 0 => {
                Err(Error::value("no label has a controlled positive and an observed one")
                    .hint("does the controlled set use the label ids of the training data?"))
            }
            EstimatedValues::WithGaps(direct) => direct.propensities(),
        }
    }

    /// What curves can be fitted to; `train` are the counts of the training labels.
    pub fn curve_evidence(&self, train: &LabelStats) -> Result<CurveEvidence> {
        match (&self.values, &self.direct) {
            (EstimatedValues::WithGaps(direct), _) | (_, Some(direct)) => Ok(direct.evidence()),
            (EstimatedValues::All(propensities), None) => CurveEvidence::from_propensities(propensities, train),
        }
    }
}

/// The values, the fit and the diagnostics, side by side.
impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.values {
            EstimatedValues::All(propensities) => map.serialize_entry("propensities", propensities)?,
            EstimatedValues::WithGaps(direct) => map.serialize_entry("labels", &direct.rows())?,
        }
        if let Some(fit) = &self.fit {
            map.serialize_entry("fit", fit)?;
        }
        for (name, diagnostic) in &self.diagnostics {
            map.serialize_entry(name, diagnostic)?;
        }
        map.end()
    }
}
