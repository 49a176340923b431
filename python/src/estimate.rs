//! Propensities: from a model, fitted, or estimated.

use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::Sparse;
use crate::propensities::{Given, arrays};
use crate::run::{How, run_owned};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use unmissed::data::{LabelStats, Labels};
use unmissed::propensity::dag::Dag;
use unmissed::propensity::estimators::hierarchy::{self, Variant};
use unmissed::propensity::estimators::{Direct, Rates, direct, relation, shrunken, timelapse};
use unmissed::propensity::fit::{Evidence, Fit, Options, fit};
use unmissed::propensity::{Propensities, Ratio, models, table_file};
use unmissed::{Error, Result};

/// Labels that the work owns.
fn owned(matrix: &Sparse<'_>) -> PyResult<Labels<'static>> {
    Ok(matrix.slices()?.labels().map_err(exception)?.into_owned())
}

/// How labels of a controlled set were shown.
#[derive(FromPyObject)]
pub(crate) enum RatesGiven<'py> {
    Common(f64),
    PerLabel(PyReadonlyArray1<'py, f64>),
}

impl RatesGiven<'_> {
    fn rates(&self) -> PyResult<Rates> {
        Ok(match self {
            RatesGiven::Common(rate) => Rates::Common(*rate),
            RatesGiven::PerLabel(array) => Rates::PerLabel(array.as_slice()?.to_vec()),
        })
    }
}

/// The object's arrays, the training counts for plots, and what the fit was worth.
fn found<'py>(py: Python<'py>, made: &Propensities, counts: Vec<u64>, fit: Option<&Fit>) -> PyResult<Bound<'py, PyDict>> {
    let dict = arrays(py, made)?;
    dict.set_item("counts", counts.into_pyarray(py))?;
    dict.set_item("fit", fit.map(json).transpose()?)?;
    Ok(dict)
}

/// Propensities of a model, such as `jpv:a=0.5,b=0.4`.
#[pyfunction]
pub(crate) fn model_propensities<'py>(py: Python<'py>, spec: &str, train: Sparse<'_>, how: How) -> PyResult<Bound<'py, PyDict>> {
    let parsed = models::parse(spec).map_err(exception)?;
    let train = owned(&train)?;
    let (made, counts) = run_owned(py, &how, move || {
        let stats = LabelStats::of(&train);
        Ok((parsed.propensities(&stats)?, stats.dense_counts()?))
    })?;
    found(py, &made, counts, None)
}

/// The same from the number of rows and the training positives of each label.
#[pyfunction]
pub(crate) fn count_propensities<'py>(
    py: Python<'py>,
    spec: &str,
    rows: u64,
    counts: PyReadonlyArray1<'_, u64>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let parsed = models::parse(spec).map_err(exception)?;
    let counts = counts.as_slice()?.to_vec();
    let (made, counts) = run_owned(py, &how, move || {
        let made = parsed.propensities(&LabelStats::from_counts(rows, &counts)?)?;
        Ok((made, counts))
    })?;
    found(py, &made, counts, None)
}

/// Propensities of a table, which needs no training labels.
#[pyfunction]
pub(crate) fn table_propensities<'py>(py: Python<'py>, path: PathBuf, labels: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
    arrays(py, &table_file::read(path, labels).map_err(exception)?)
}

/// Writes propensities into a csv.
#[pyfunction]
pub(crate) fn write_propensities(given: Given<'_>, path: PathBuf) -> PyResult<()> {
    let made = given.propensities()?.map_err(exception)?;
    table_file::write(&made, path).map_err(exception)
}

/// A controlled set and its rates.
type Controlled<'py> = (Sparse<'py>, RatesGiven<'py>);

fn direct_estimate(train: &LabelStats, controlled: &Labels<'_>, rates: &Rates, level: f64) -> Result<Direct> {
    direct::direct(train, &LabelStats::of(controlled), rates, level)
}

/// What a fit goes by, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FitRequest<'py> {
    controlled: Option<Controlled<'py>>,
    known: Option<Given<'py>>,
    loss: String,
    starts: usize,
    seed: u64,
}

/// A curve fitted to a controlled set, or to propensities that are known.
#[pyfunction]
pub(crate) fn fit_propensity<'py>(
    py: Python<'py>,
    model: &str,
    train: Sparse<'_>,
    request: FitRequest<'_>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let family = models::family(model).map_err(exception)?;
    let options = Options { loss: request.loss.parse().map_err(exception)?, starts: request.starts, seed: request.seed };
    let train = owned(&train)?;
    let controlled = request.controlled.as_ref().map(|(set, rates)| Ok::<_, PyErr>((owned(set)?, rates.rates()?))).transpose()?;
    let known = request.known.as_ref().map(|given| given.propensities()).transpose()?.transpose().map_err(exception)?;
    let (made, counts, fit) = run_owned(py, &how, move || {
        let stats = LabelStats::of(&train);
        let evidence = match (controlled, known) {
            // The level is that of intervals, which a fit does not look at.
            (Some((controlled, rates)), None) => direct_estimate(&stats, &controlled, &rates, 0.95)?.evidence(),
            (None, Some(known)) => Evidence::from_propensities(&known, &stats)?,
            _ => {
                return Err(
                    Error::value("a fit needs evidence of one kind").expected("either controlled= with rate=, or propensities=")
                );
            }
        };
        let fit = fit(&family, &evidence, &options)?;
        Ok((fit.phi.propensities(&stats)?, stats.dense_counts()?, fit))
    })?;
    found(py, &made, counts, Some(&fit))
}

/// What the estimators that fit a curve share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CurveRequest {
    curve: String,
    shrink: bool,
    level: f64,
    seed: u64,
}

impl CurveRequest {
    fn options(&self) -> Options {
        Options { seed: self.seed, ..Options::default() }
    }

    fn ratio(&self) -> PyResult<Ratio> {
        let family = models::family(&self.curve).map_err(exception)?;
        Ok(Ratio { family, shrink: self.shrink, level: self.level, options: self.options() })
    }
}

/// `direct`: values are NaN for labels without a controlled positive.
#[pyfunction]
pub(crate) fn estimate_direct<'py>(
    py: Python<'py>,
    train: Sparse<'_>,
    controlled: Controlled<'_>,
    level: f64,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (train, set, rates) = (owned(&train)?, owned(&controlled.0)?, controlled.1.rates()?);
    let (direct, counts) = run_owned(py, &how, move || {
        let stats = LabelStats::of(&train);
        Ok((direct_estimate(&stats, &set, &rates, level)?, stats.dense_counts()?))
    })?;
    let labels = 0..direct.len();
    let value = |label| direct.propensity(label).unwrap_or(f64::NAN);
    let end = |pick: fn(unmissed::propensity::Interval) -> f64| -> Vec<f64> {
        let of = |label| direct.interval(label).map_or(f64::NAN, pick);
        labels.clone().map(of).collect()
    };
    let dict = PyDict::new(py);
    dict.set_item("origin", "direct")?;
    dict.set_item("bound", "exact")?;
    dict.set_item("values", labels.clone().map(value).collect::<Vec<f64>>().into_pyarray(py))?;
    dict.set_item("low", end(|interval| interval.low).into_pyarray(py))?;
    dict.set_item("high", end(|interval| interval.high).into_pyarray(py))?;
    dict.set_item("counts", counts.into_pyarray(py))?;
    let (alone, never) = (direct.without_controlled_positive(), direct.never_observed());
    let note = format!("{alone} observed labels have no controlled positive and {never} were never observed: their values are NaN");
    dict.set_item("notes", if alone + never > 0 { vec![note] } else { vec![] })?;
    Ok(dict)
}

/// `shrunken`.
#[pyfunction]
pub(crate) fn estimate_shrunken<'py>(
    py: Python<'py>,
    train: Sparse<'_>,
    controlled: Controlled<'_>,
    request: CurveRequest,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (train, set, rates) = (owned(&train)?, owned(&controlled.0)?, controlled.1.rates()?);
    let family = models::family(&request.curve).map_err(exception)?;
    let (shrunken, counts) = run_owned(py, &how, move || {
        let stats = LabelStats::of(&train);
        let direct = direct_estimate(&stats, &set, &rates, request.level)?;
        let shrunken = shrunken::shrunken(&direct, &family, &request.options(), request.level)?;
        Ok((shrunken, stats.dense_counts()?))
    })?;
    found(py, &shrunken.propensities, counts, Some(&shrunken.fit))
}

/// `timelapse`.
#[pyfunction]
pub(crate) fn estimate_timelapse<'py>(
    py: Python<'py>,
    earlier: Sparse<'_>,
    later: Sparse<'_>,
    request: CurveRequest,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (earlier, later, ratio) = (owned(&earlier)?, owned(&later)?, request.ratio()?);
    let (estimate, counts) = run_owned(py, &how, move || {
        let estimate = timelapse::timelapse(&earlier, &later, &ratio)?;
        Ok((estimate, LabelStats::of(&earlier).dense_counts()?))
    })?;
    found(py, &estimate.propensities, counts, Some(&estimate.fit))
}

/// `hierarchy`: edges are (child, parent).
#[pyfunction]
pub(crate) fn estimate_hierarchy<'py>(
    py: Python<'py>,
    train: Sparse<'_>,
    edges: Vec<(u32, u32)>,
    threshold: usize,
    conditional: bool,
    request: CurveRequest,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (train, ratio) = (owned(&train)?, request.ratio()?);
    let variant = if conditional { Variant::Conditional } else { Variant::Union };
    let (estimate, counts) = run_owned(py, &how, move || {
        let dag = Dag::new(train.cols(), edges)?;
        let estimate = hierarchy::hierarchy(&train, &dag, &hierarchy::Options { threshold, variant }, &ratio)?;
        Ok((estimate, LabelStats::of(&train).dense_counts()?))
    })?;
    found(py, &estimate.propensities, counts, Some(&estimate.fit))
}

/// `relation`: pairs are (label, item) and (item, row).
#[pyfunction]
pub(crate) fn estimate_relation<'py>(
    py: Python<'py>,
    train: Sparse<'_>,
    bought: Vec<(u32, u32)>,
    viewed: Vec<(u32, u32)>,
    request: CurveRequest,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (train, ratio) = (owned(&train)?, request.ratio()?);
    let (estimate, counts) = run_owned(py, &how, move || {
        let estimate = relation::relation(&train, bought, viewed, &ratio)?;
        Ok((estimate, LabelStats::of(&train).dense_counts()?))
    })?;
    found(py, &estimate.propensities, counts, Some(&estimate.fit))
}
