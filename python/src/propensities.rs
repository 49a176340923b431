//! Propensities between Python, which keeps them as arrays, and the library.

use crate::evaluate::json;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unmissed::propensity::estimators::Direct;
use unmissed::propensity::fit::Fit;
use unmissed::propensity::{Bound as Bounding, Interval, Origin, Propensities, ValueSource};
use unmissed::{Error, Result};

/// The arrays of one object.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given<'py> {
    origin: String,
    /// The structured origin of what the native part made, as JSON.
    provenance: Option<String>,
    values: PyReadonlyArray1<'py, f64>,
    bound: String,
    sources: Option<PyReadonlyArray1<'py, u8>>,
    low: Option<PyReadonlyArray1<'py, f64>>,
    high: Option<PyReadonlyArray1<'py, f64>>,
    inverse_variances: Option<PyReadonlyArray1<'py, f64>>,
    score_inverses: Option<PyReadonlyArray1<'py, f64>>,
    /// A row for each error that labels have in common.
    common_errors: Option<PyReadonlyArray2<'py, f64>>,
    notes: Vec<String>,
}

const SOURCES: [ValueSource; 6] = ValueSource::ALL;
const BOUNDS: [(&str, Bounding); 4] =
    [("exact", Bounding::Exact), ("upper", Bounding::Upper), ("lower", Bounding::Lower), ("none", Bounding::None)];

impl Given<'_> {
    /// The checked object.
    pub(crate) fn propensities(&self) -> PyResult<Result<Propensities>> {
        let mut values = self.values.as_slice()?.to_vec();
        let sources = self.sources.as_ref().map(|array| array.as_slice()).transpose()?;
        let low = self.low.as_ref().map(|array| array.as_slice()).transpose()?;
        let high = self.high.as_ref().map(|array| array.as_slice()).transpose()?;
        let variances = self.inverse_variances.as_ref().map(|array| array.as_slice()).transpose()?;
        let inverses = self.score_inverses.as_ref().map(|array| array.as_slice()).transpose()?;
        if let Some(inverses) = inverses.filter(|inverses| inverses.len() == values.len()) {
            // A direct estimate has no propensity where nothing was seen in one of the sets: scores go by its inverses.
            let gaps = values.iter_mut().zip(inverses).filter(|(value, inverse)| value.is_nan() && inverse.is_finite());
            gaps.for_each(|(value, _)| *value = 1.0);
        }
        let errors: Vec<Vec<f64>> = match &self.common_errors {
            Some(errors) => errors.as_array().outer_iter().map(|row| row.to_vec()).collect(),
            None => Vec::new(),
        };
        Ok(self.checked(values, sources, low.zip(high), variances).and_then(|made| {
            let made = made.with_common_errors(errors)?;
            match inverses {
                Some(inverses) => made.with_score_inverses(inverses.to_vec()),
                None => Ok(made),
            }
        }))
    }

    /// What the native part said about its own values, unless the user gave them another name since.
    fn origin(&self) -> Result<Origin> {
        let Some(json) = &self.provenance else { return Ok(self.origin.as_str().into()) };
        let origin: Origin = serde_json::from_str(json)
            .map_err(|cause| Error::value(format!("cannot read where the propensities came from ({cause})")))?;
        Ok(if origin.to_string() == self.origin { origin } else { self.origin.as_str().into() })
    }

    fn checked(
        &self,
        values: Vec<f64>,
        sources: Option<&[u8]>,
        ends: Option<(&[f64], &[f64])>,
        variances: Option<&[f64]>,
    ) -> Result<Propensities> {
        let bound = BOUNDS.iter().find(|(name, _)| *name == self.bound);
        let bound = bound.ok_or_else(|| unmissed::spec::unknown("bound", &self.bound, &BOUNDS.map(|(name, _)| name)))?.1;
        let mut made = Propensities::new(self.origin()?, values)?.with_bound(bound);
        if let Some(codes) = sources {
            let named = |code: &u8| SOURCES.get(usize::from(*code)).copied();
            let sources = codes.iter().map(named).collect::<Option<Vec<ValueSource>>>();
            made =
                made.with_sources(sources.ok_or_else(|| Error::value("unknown source of a propensity").expected("0, 1 or 2"))?)?;
        }
        if let Some((low, high)) = ends {
            let interval = |(low, high): (&f64, &f64)| (!low.is_nan()).then_some(Interval { low: *low, high: *high });
            let intervals: Vec<Option<Interval>> = low.iter().zip(high).map(interval).collect();
            let source = |known: &Option<Interval>| if known.is_some() { ValueSource::Direct } else { ValueSource::Estimated };
            let unnamed = intervals.iter().map(source).collect();
            made = made.with_intervals(intervals)?;
            if sources.is_none() {
                // As in tables: what has an interval and no source was most likely counted label by label.
                made = made.with_sources(unnamed)?;
            }
        }
        if let Some(variances) = variances {
            made = made.with_inverse_variances(variances.to_vec())?;
        }
        Ok(self.notes.iter().fold(made, Propensities::with_note))
    }
}

/// The arrays that Python makes its object of.
pub(crate) fn arrays<'py>(py: Python<'py>, made: &Propensities) -> PyResult<Bound<'py, PyDict>> {
    let labels = 0..made.len() as u32;
    let code = |source: &ValueSource| SOURCES.iter().position(|known| known == source).unwrap_or_default() as u8;
    let interval = |label| made.interval(label);
    let dict = PyDict::new(py);
    dict.set_item("origin", made.origin().to_string())?;
    dict.set_item("provenance", json(made.origin())?)?;
    dict.set_item("bound", BOUNDS.iter().find(|(_, bound)| *bound == made.bound()).map(|(name, _)| *name))?;
    dict.set_item("values", made.values().to_vec().into_pyarray(py))?;
    dict.set_item("sources", made.sources().iter().map(code).collect::<Vec<u8>>().into_pyarray(py))?;
    if labels.clone().any(|label| interval(label).is_some()) {
        let end =
            |pick: fn(Interval) -> f64| labels.clone().map(|label| interval(label).map_or(f64::NAN, pick)).collect::<Vec<f64>>();
        dict.set_item("low", end(|interval| interval.low).into_pyarray(py))?;
        dict.set_item("high", end(|interval| interval.high).into_pyarray(py))?;
    }
    if labels.clone().any(|label| made.inverse_variance(label).is_some()) {
        let variances: Vec<f64> = labels.map(|label| made.inverse_variance(label).unwrap_or(f64::NAN)).collect();
        dict.set_item("inverse_variances", variances.into_pyarray(py))?;
    }
    scores(py, made, &dict)?;
    dict.set_item("notes", made.notes())?;
    Ok(dict)
}

/// What estimates of metrics use, where that is more than propensities.
fn scores<'py>(py: Python<'py>, made: &Propensities, dict: &Bound<'py, PyDict>) -> PyResult<()> {
    if let Some(inverses) = made.score_inverses() {
        dict.set_item("score_inverses", inverses.to_vec().into_pyarray(py))?;
    }
    if !made.common_errors().is_empty() {
        dict.set_item("common_errors", PyArray2::from_vec2(py, made.common_errors())?)?;
    }
    Ok(())
}

/// Propensities of a direct estimate: NaN where it has none.
fn direct_arrays<'py>(py: Python<'py>, direct: &Direct) -> PyResult<Bound<'py, PyDict>> {
    let labels = 0..direct.len();
    let end = |pick: fn(Interval) -> f64| -> Vec<f64> {
        labels.clone().map(|label| direct.interval(label).map_or(f64::NAN, pick)).collect()
    };
    let values: Vec<f64> = labels.clone().map(|label| direct.propensity(label).unwrap_or(f64::NAN)).collect();
    let dict = PyDict::new(py);
    dict.set_item("origin", "direct")?;
    dict.set_item("bound", "exact")?;
    dict.set_item("values", values.into_pyarray(py))?;
    dict.set_item("low", end(|interval| interval.low).into_pyarray(py))?;
    dict.set_item("high", end(|interval| interval.high).into_pyarray(py))?;
    if let Ok(made) = direct.propensities() {
        let variances: Vec<f64> = (0..made.len() as u32).map(|label| made.inverse_variance(label).unwrap_or(f64::NAN)).collect();
        dict.set_item("inverse_variances", variances.into_pyarray(py))?;
        scores(py, &made, &dict)?;
    }
    let (alone, never) = (direct.without_controlled_positive(), direct.never_observed());
    let note = format!("{alone} observed labels have no controlled positive and {never} were never observed: their values are NaN");
    dict.set_item("notes", if alone + never > 0 { vec![note] } else { vec![] })?;
    Ok(dict)
}

/// What an estimate is like.
pub(crate) enum Made<'a> {
    /// A value for every label.
    Whole(&'a Propensities),
    /// Gaps where there is no evidence.
    Direct(&'a Direct),
}

/// The object's arrays, the training counts for plots, and what the fit was worth.
pub(crate) fn found<'py>(py: Python<'py>, made: Made<'_>, counts: Vec<u64>, fit: Option<&Fit>) -> PyResult<Bound<'py, PyDict>> {
    let dict = match made {
        Made::Whole(propensities) => arrays(py, propensities)?,
        Made::Direct(direct) => direct_arrays(py, direct)?,
    };
    dict.set_item("counts", counts.into_pyarray(py))?;
    dict.set_item("fit", fit.map(json).transpose()?)?;
    Ok(dict)
}
