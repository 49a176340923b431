//! Propensities estimated from data that tell more than the training labels do: the library's list of estimators.

use crate::annotate::JudgedGiven;
use crate::choices::Controlled;
use crate::errors::exception;
use crate::matrix::{Rows, Sparse};
use crate::propensities::{Made, found};
use crate::run::{How, run, run_owned};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unmissed::data::{Dataset, KnownPair, Labels, Rate};
use unmissed::propensity::dag::Dag;
use unmissed::propensity::estimators::{
    ControlledSet, Estimate, EstimatedValues, EstimatorInput, PropensityEstimatorSpec, PropensityEvidence, RelationPairs,
};
use unmissed::request::TrainRequest;
use unmissed::train::sure_rows;
use unmissed::{Error, Result};

/// Pairs of labels, items or rows.
type Pairs = Vec<(u32, u32)>;

/// What there is beside the training labels, and the options of the estimator that were given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request<'py> {
    controlled: Option<Controlled<'py>>,
    later: Option<Sparse<'py>>,
    hierarchy: Option<Pairs>,
    bought: Option<Pairs>,
    viewed: Option<Pairs>,
    judged: Option<JudgedGiven>,
    /// The features of the training rows.
    rows: Option<Rows<'py>>,
    options: Vec<(String, String)>,
}

/// The evidence without the interpreter.
struct Owned {
    train: Labels<'static>,
    controlled: Option<(Labels<'static>, Rate)>,
    later: Option<Labels<'static>>,
    /// (child, parent)
    hierarchy: Option<Pairs>,
    /// (label, item) and (item, row)
    relation: Option<(Pairs, Pairs)>,
    judged: Option<Vec<KnownPair>>,
}

impl Owned {
    fn estimate(mut self, spec: &PropensityEstimatorSpec) -> Result<(Estimate, Vec<u64>)> {
        let dag = self.hierarchy.take().map(|edges| Dag::new(self.train.cols(), edges)).transpose()?;
        let mut evidence = PropensityEvidence::new(&self.train);
        if let Some((labels, rate)) = &self.controlled {
            evidence = evidence.controlled(ControlledSet { labels, rate, shown: None });
        }
        if let Some(later) = &self.later {
            evidence = evidence.later(later);
        }
        if let Some(dag) = &dag {
            evidence = evidence.hierarchy(dag);
        }
        if let Some((bought, viewed)) = &self.relation {
            evidence = evidence.relation(RelationPairs { bought, viewed });
        }
        if let Some(pairs) = &self.judged {
            evidence = evidence.judged(pairs);
        }
        let missing: Vec<String> = evidence.missing(spec.estimator()).iter().map(|name| format!("{name}=")).collect();
        if !missing.is_empty() {
            return Err(Error::value(format!("'{}' needs evidence that is missing", spec.estimator().name()))
                .hint(format!("pass {}", missing.join(" and "))));
        }
        Ok((spec.estimate(&evidence)?, evidence.stats().dense_counts()?))
    }
}

/// Propensities by the estimator of that name; those of `direct` are NaN for labels without a controlled positive.
#[pyfunction]
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    method: &str,
    train: Sparse<'_>,
    request: Request<'_>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let mut spec = PropensityEstimatorSpec::of_name(method).map_err(exception)?;
    for (option, value) in &request.options {
        spec.set(option, value).map_err(exception)?;
    }
    let owned = Owned {
        train: train.owned(py)?,
        controlled: request.controlled.as_ref().map(|controlled| controlled.owned(py)).transpose()?,
        later: request.later.as_ref().map(|later| later.owned(py)).transpose()?,
        hierarchy: request.hierarchy,
        relation: request.bought.zip(request.viewed),
        judged: request.judged.as_ref().map(|judged| judged.known_pairs()).transpose().map_err(exception)?,
    };
    let (estimate, counts) = if spec.estimator().inputs().contains(&EstimatorInput::SureRows) {
        let rows = request
            .rows
            .ok_or_else(|| exception(Error::value(format!("'{method}' needs evidence that is missing")).hint("pass X=")))?;
        let rows = rows.slices()?;
        run(py, &how, |watch| {
            let data = Dataset::new(Some(rows.features()?), owned.train)?;
            let sure = sure_rows(&data, &TrainRequest::default(), watch)?;
            let evidence = PropensityEvidence::new(data.labels()).sure_rows(&sure);
            Ok((spec.estimate(&evidence)?, evidence.stats().dense_counts()?))
        })?
    } else {
        run_owned(py, &how, move || owned.estimate(&spec))?
    };
    let made = match &estimate.values {
        EstimatedValues::All(propensities) => Made::Whole(propensities),
        EstimatedValues::WithGaps(direct) => Made::Direct(direct),
    };
    found(py, made, counts, estimate.fit.as_ref())
}
