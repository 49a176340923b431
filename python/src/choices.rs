//! Groups, weights and rates, as Python gives them.

use crate::matrix::Sparse;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use unmissed::data::{LabelStats, Labels};
use unmissed::evaluate::{Groups, Rate};
use unmissed::metrics::weights;
use unmissed::propensity::Propensities;
use unmissed::{Error, Result};

fn needs_train<'a>(what: &str, stats: Option<&'a LabelStats>) -> Result<&'a LabelStats> {
    stats.ok_or_else(|| Error::value(format!("{what} follow from training counts")).hint("pass the training labels as train="))
}

fn count(cut: f64) -> Result<u64> {
    let is_count = cut >= 0.0 && cut.fract() == 0.0 && cut < 2f64.powi(53);
    let off = || Error::value("the cuts of the groups are off").expected("descending counts").found(cut.to_string());
    is_count.then_some(cut as u64).ok_or_else(off)
}

/// Groups by frequency, with cuts, or one name for each label.
#[derive(FromPyObject)]
pub(crate) enum Grouping {
    Frequency(String, Vec<f64>),
    Names(Vec<Option<String>>),
}

impl Grouping {
    pub(crate) fn groups(&self, stats: Option<&LabelStats>) -> Result<Groups> {
        let (how, cuts) = match self {
            Grouping::Names(names) => return Groups::from_names(names),
            Grouping::Frequency(how, cuts) => (how.as_str(), cuts),
        };
        let stats = needs_train("groups by frequency", stats)?;
        match how {
            "share" if cuts.is_empty() => Groups::by_share(stats, &[0.8, 0.95]),
            "share" => Groups::by_share(stats, cuts),
            "counts" => Groups::by_counts(stats, &cuts.iter().map(|cut| count(*cut)).collect::<Result<Vec<_>>>()?),
            "deciles" if cuts.is_empty() => Groups::deciles(stats),
            _ => Err(Error::value("unknown kind of groups")
                .expected("'share', 'share:0.8,0.95', 'counts:100,10', 'deciles', or a name for each label")
                .found(format!("'{how}'"))),
        }
    }
}

/// Gains by a scheme, or one number for each label.
#[derive(FromPyObject)]
pub(crate) enum Weights<'py> {
    Scheme(String),
    Values(PyReadonlyArray1<'py, f64>),
}

/// The same without the interpreter.
pub(crate) enum Gains {
    Scheme(String),
    Values(Vec<f64>),
}

impl Weights<'_> {
    pub(crate) fn gains(&self) -> PyResult<Gains> {
        Ok(match self {
            Weights::Scheme(scheme) => Gains::Scheme(scheme.clone()),
            Weights::Values(array) => Gains::Values(array.as_slice()?.to_vec()),
        })
    }
}

impl Gains {
    /// The name and the gains; `propensities` are those of the one model that was given.
    pub(crate) fn of(self, stats: Option<&LabelStats>, propensities: Option<&Propensities>) -> Result<(String, Vec<f64>)> {
        match self {
            Gains::Values(values) => Ok(("given".to_owned(), values)),
            Gains::Scheme(scheme) => {
                let gains = weights::from_spec(&scheme, needs_train("weights", stats)?, propensities)?;
                Ok((scheme, gains))
            }
        }
    }
}

/// How the labels of a controlled set were shown: r of m, or at a rate for each label.
#[derive(FromPyObject)]
pub(crate) enum Shown<'py> {
    Fraction(u32, u32),
    PerLabel(PyReadonlyArray1<'py, f64>),
}

impl Shown<'_> {
    pub(crate) fn rate(&self) -> PyResult<Rate> {
        Ok(match self {
            Shown::Fraction(shown, of) => Rate::Shown { shown: *shown, of: *of },
            Shown::PerLabel(array) => Rate::PerLabel(array.as_slice()?.to_vec()),
        })
    }
}

/// At which rates labels were shown to the rows of a controlled set.
#[derive(FromPyObject)]
pub(crate) enum RatesGiven<'py> {
    Common(f64),
    PerLabel(PyReadonlyArray1<'py, f64>),
}

/// A controlled set and its rates.
#[derive(FromPyObject)]
pub(crate) struct Controlled<'py>(Sparse<'py>, RatesGiven<'py>);

impl Controlled<'_> {
    /// The same without the interpreter.
    pub(crate) fn owned(&self, py: Python<'_>) -> PyResult<(Labels<'static>, unmissed::data::Rate)> {
        let rates = match &self.1 {
            RatesGiven::Common(rate) => unmissed::data::Rate::Common(*rate),
            RatesGiven::PerLabel(array) => unmissed::data::Rate::PerLabel(array.as_slice()?.to_vec()),
        };
        Ok((self.0.owned(py)?, rates))
    }
}
