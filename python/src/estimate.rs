//! Propensities estimated from data that tell more than the training labels do.
//!
//! An estimator is a line of [`METHODS`]: its name in the library's list, and what it makes of the evidence. Python's keywords are
//! the fields of [`Evidence`].

use crate::choices::Controlled;
use crate::errors::exception;
use crate::matrix::Sparse;
use crate::propensities::{Made, found};
use crate::run::{How, run_owned};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unmissed::data::{LabelStats, Labels};
use unmissed::propensity::dag::Dag;
use unmissed::propensity::estimators::hierarchy::{self, Variant};
use unmissed::propensity::estimators::{Direct, ESTIMATORS, Rates, direct, relation, shrunken, timelapse};
use unmissed::propensity::fit::{Fit, Options};
use unmissed::propensity::{Phi, Propensities, Ratio, models};
use unmissed::{Error, Result, spec};

/// Pairs of labels, items or rows.
type Pairs = Vec<(u32, u32)>;

/// What there is beside the training labels, and how to use it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request<'py> {
    controlled: Option<Controlled<'py>>,
    later: Option<Sparse<'py>>,
    hierarchy: Option<Pairs>,
    bought: Option<Pairs>,
    viewed: Option<Pairs>,
    threshold: usize,
    conditional: bool,
    curve: String,
    shrink: bool,
    level: f64,
    seed: u64,
}

/// The same without the interpreter.
struct Evidence {
    /// Of the estimator that asks for it.
    name: &'static str,
    train: Labels<'static>,
    controlled: Option<(Labels<'static>, Rates)>,
    later: Option<Labels<'static>>,
    /// (child, parent)
    hierarchy: Option<Pairs>,
    /// (label, item)
    bought: Option<Pairs>,
    /// (item, row)
    viewed: Option<Pairs>,
    threshold: usize,
    conditional: bool,
    family: Phi,
    shrink: bool,
    level: f64,
    seed: u64,
}

impl Evidence {
    fn of(py: Python<'_>, name: &'static str, train: &Sparse<'_>, request: Request<'_>) -> PyResult<Evidence> {
        Ok(Evidence {
            name,
            train: train.owned(py)?,
            controlled: request.controlled.as_ref().map(|controlled| controlled.owned(py)).transpose()?,
            later: request.later.as_ref().map(|later| later.owned(py)).transpose()?,
            hierarchy: request.hierarchy,
            bought: request.bought,
            viewed: request.viewed,
            threshold: request.threshold,
            conditional: request.conditional,
            family: models::family(&request.curve).map_err(exception)?,
            shrink: request.shrink,
            level: request.level,
            seed: request.seed,
        })
    }

    fn options(&self) -> Options {
        Options { seed: self.seed, ..Options::default() }
    }

    fn ratio(&self) -> Ratio {
        Ratio { family: self.family.clone(), shrink: self.shrink, level: self.level, options: self.options() }
    }

    fn lacks(&self, keywords: &str) -> Error {
        Error::value(format!("'{}' lacks its evidence", self.name)).hint(format!("pass {keywords}"))
    }

    fn direct(&self) -> Result<Direct> {
        let (set, rates) = self.controlled.as_ref().ok_or_else(|| self.lacks("controlled= and rate="))?;
        direct::direct(&LabelStats::of(&self.train), &LabelStats::of(set), rates, self.level)
    }
}

/// What came out.
enum Estimate {
    /// Label by label, with gaps.
    Direct(Direct),
    /// A value for every label.
    Whole(Propensities, Box<Fit>),
}

type Method = fn(&mut Evidence) -> Result<Estimate>;

/// The estimators by the names of the library's list.
const METHODS: [(&str, Method); 5] = [
    ("direct", |evidence| evidence.direct().map(Estimate::Direct)),
    ("shrunken", |evidence| {
        let found = shrunken::shrunken(&evidence.direct()?, &evidence.family, &evidence.options(), evidence.level)?;
        Ok(Estimate::Whole(found.propensities, Box::new(found.fit)))
    }),
    ("timelapse", |evidence| {
        let later = evidence.later.as_ref().ok_or_else(|| evidence.lacks("later="))?;
        let found = timelapse::timelapse(&evidence.train, later, &evidence.ratio())?;
        Ok(Estimate::Whole(found.propensities, Box::new(found.fit)))
    }),
    ("hierarchy", |evidence| {
        let edges = evidence.hierarchy.take().ok_or_else(|| evidence.lacks("hierarchy="))?;
        let dag = Dag::new(evidence.train.cols(), edges)?;
        let variant = if evidence.conditional { Variant::Conditional } else { Variant::Union };
        let options = hierarchy::Options { threshold: evidence.threshold, variant };
        let found = hierarchy::hierarchy(&evidence.train, &dag, &options, &evidence.ratio())?;
        Ok(Estimate::Whole(found.propensities, Box::new(found.fit)))
    }),
    ("relation", |evidence| {
        let pairs = evidence.bought.take().zip(evidence.viewed.take());
        let (bought, viewed) = pairs.ok_or_else(|| evidence.lacks("bought= and viewed="))?;
        let found = relation::relation(&evidence.train, bought, viewed, &evidence.ratio())?;
        Ok(Estimate::Whole(found.propensities, Box::new(found.fit)))
    }),
];

/// Propensities by the estimator of that name; those of `direct` are NaN for labels without a controlled positive.
#[pyfunction]
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    method: &str,
    train: Sparse<'_>,
    request: Request<'_>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let name = spec::find(ESTIMATORS, "estimator", method).map_err(exception)?.name();
    let known = METHODS.iter().find(|(known, _)| *known == name).map(|(_, method)| *method);
    let method = known.ok_or_else(|| exception(Error::value(format!("'{name}' is not there in Python"))))?;
    let mut evidence = Evidence::of(py, name, &train, request)?;
    let (estimate, counts) = run_owned(py, &how, move || {
        let estimate = method(&mut evidence)?;
        Ok((estimate, LabelStats::of(&evidence.train).dense_counts()?))
    })?;
    match &estimate {
        Estimate::Direct(direct) => found(py, Made::Direct(direct), counts, None),
        Estimate::Whole(propensities, fit) => found(py, Made::Whole(propensities), counts, Some(fit)),
    }
}
