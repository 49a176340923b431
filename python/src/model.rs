//! Linear models: trained, used, and kept in files.

use crate::choices::{Gains, Lines, RateGiven, Weights};
use crate::errors::exception;
use crate::evaluate::json;
use crate::ignored::IgnoredGiven;
use crate::matrix::{Arrays, RowSlices, Rows, Slices, Sparse, scores_out};
use crate::propensities::{Given, arrays};
use crate::run::{How, alone, run};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use unmissed::data::{Dataset, Features, Labels, Source};
use unmissed::predict::{About, Model, Normalize, PredictOptions, file};
use unmissed::progress::Progress;
use unmissed::propensity::Propensities;
use unmissed::request::{NormalizeChoice, TrainControlled, TrainRequest, Validation};
use unmissed::train::Trainer;
use unmissed::{Error, Result};

/// Rows that are scored between two looks for Ctrl-C.
const ROWS_AT_ONCE: usize = 4096;

/// Memory for a dense matrix, or an error when there is not that much.
fn room(rows: usize, columns: usize, hint: &str) -> Result<Vec<f32>> {
    let mut numbers = Vec::new();
    let size = rows.checked_mul(columns);
    let reserved = size.is_some_and(|size| numbers.try_reserve_exact(size).is_ok());
    if reserved { Ok(numbers) } else { Err(Error::value(format!("no memory for {rows} x {columns} numbers")).hint(hint)) }
}

/// One linear scorer for each label, and how it came to be.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Linear {
    model: Model,
    about: About,
}

/// How to train.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings<'py> {
    loss: String,
    propensities: Option<Given<'py>>,
    solver: String,
    tolerance: Option<f64>,
    steps: Option<usize>,
    learning_rate: Option<f64>,
    batch_size: Option<usize>,
    epochs: Option<usize>,
    decay: Option<f64>,
    clip: Option<f64>,
    weights: Option<Weights<'py>>,
    normalize: Option<bool>,
    tune: bool,
    grid: String,
    criterion: Option<String>,
    holdout: f64,
    calibrate: Option<bool>,
    joint: Option<String>,
    starts: usize,
    raise_propensities: bool,
    controlled: Option<ControlledRows<'py>>,
    validation: Option<ValidationRows<'py>>,
    later: Option<Sparse<'py>>,
    /// Which rows have later labels, when not all do.
    later_rows: Option<Vec<bool>>,
    /// Weights of at most this size are dropped.
    pub(crate) prune: Option<f32>,
    /// Whether files of the model have weights of half precision.
    pub(crate) half: bool,
    seed: u64,
}

/// A controlled set to train with: features, labels, the pairs that were shown, and the rate.
#[derive(FromPyObject)]
pub(crate) struct ControlledRows<'py>(Rows<'py>, Sparse<'py>, Option<Sparse<'py>>, RateGiven<'py>);

impl ControlledRows<'_> {
    /// The rate, as a request has it, and the rest without the interpreter.
    pub(crate) fn parts(&self) -> PyResult<(TrainControlled, ShownSlices<'_>)> {
        let ControlledRows(rows, labels, shown, rate) = self;
        let controlled = TrainControlled { rate: Some(rate.rate()?), ..TrainControlled::default() };
        Ok((controlled, (rows.slices()?, labels.slices()?, shown.as_ref().map(Sparse::slices).transpose()?)))
    }
}

/// Rows on which settings are decided: features, labels, and of a controlled set the pairs that were shown and the rate.
#[derive(FromPyObject)]
pub(crate) struct ValidationRows<'py>(Rows<'py>, Sparse<'py>, Option<Sparse<'py>>, Option<RateGiven<'py>>);

impl Settings<'_> {
    /// The request that the parameters fill, but for what lies in memory.
    fn request(&self) -> Result<TrainRequest> {
        Ok(TrainRequest {
            loss: self.loss.as_str().into(),
            clip: self.clip,
            joint: self.joint.as_deref().map(str::parse).transpose()?,
            starts: self.starts,
            raise: self.raise_propensities,
            solver: self.solver.parse()?,
            decay: self.decay.into_iter().collect(),
            tolerance: self.tolerance,
            max_steps: self.steps,
            learning_rate: self.learning_rate.into_iter().collect(),
            batch_size: self.batch_size,
            epochs: self.epochs,
            tune: self.tune,
            grid: self.grid.clone(),
            criterion: self.criterion.as_deref().map(str::parse).transpose()?,
            holdout: self.holdout,
            calibrate: self.calibrate,
            normalize: match self.normalize {
                None => NormalizeChoice::Auto,
                Some(true) => NormalizeChoice::L2,
                Some(false) => NormalizeChoice::None,
            },
            seed: self.seed,
            ..TrainRequest::default()
        })
    }

    /// The request, propensities and weights.
    pub(crate) fn parts(&self) -> PyResult<(TrainRequest, Option<Propensities>, Option<Vec<f64>>)> {
        let propensities = self.propensities.as_ref().map(|given| given.propensities()).transpose()?;
        let mut request = self.request().map_err(exception)?;
        let weights = match self.weights.as_ref().map(Weights::gains).transpose()? {
            Some(Gains::Scheme(scheme)) => {
                request.weights = Some(scheme.parse().map_err(exception)?);
                None
            }
            Some(Gains::Values(values)) => Some(values),
            None => None,
        };
        Ok((request, propensities.transpose().map_err(exception)?, weights))
    }
}

/// Features, labels and the pairs that were shown, where they are known, without the interpreter.
pub(crate) type ShownSlices<'a> = (RowSlices<'a>, Slices<'a>, Option<Slices<'a>>);

/// The same as a data set and labels.
pub(crate) fn with_shown<'a>(given: Option<&ShownSlices<'a>>) -> Result<Option<(Dataset<'a>, Option<Labels<'a>>)>> {
    let Some((rows, labels, shown)) = given else { return Ok(None) };
    let shown = shown.as_ref().map(|shown| shown.labels()).transpose()?;
    Ok(Some((Dataset::new(Some(rows.features()?), labels.labels()?)?, shown)))
}

/// Trains a model; also gives what was found on the way: propensities that were learned or used (those that were raised are marked),
/// and what to warn of.
#[pyfunction]
pub(crate) fn train<'py>(
    py: Python<'py>,
    rows: Rows<'_>,
    labels: Sparse<'_>,
    settings: Settings<'_>,
    how: How,
) -> PyResult<(Linear, Bound<'py, PyDict>)> {
    let (rows, labels) = (rows.slices()?, labels.slices()?);
    let (mut request, propensities, weights) = settings.parts()?;
    let later = settings.later.as_ref().map(Sparse::slices).transpose()?;
    let controlled = match &settings.controlled {
        None => None,
        Some(given) => {
            let (asked, slices) = given.parts()?;
            request.controlled = Some(asked);
            Some(slices)
        }
    };
    let validation = match &settings.validation {
        None => None,
        Some(ValidationRows(rows, labels, shown, rates)) => {
            let rate = rates.as_ref().map(RateGiven::rate).transpose()?;
            request.validation = Some(Validation { rate, ..Validation::default() });
            Some((rows.slices()?, labels.slices()?, shown.as_ref().map(Sparse::slices).transpose()?))
        }
    };
    let (later_rows, prune) = (settings.later_rows.clone(), settings.prune);
    let (model, trained) = run(py, &how, |watch| {
        let data = Dataset::new(Some(rows.features()?), labels.labels()?)?;
        let later = later.map(|later| later.labels()).transpose()?;
        let (controlled, validation) = (with_shown(controlled.as_ref())?, with_shown(validation.as_ref())?);
        let mut trainer = Trainer::new(request).progress(watch);
        trainer = propensities.iter().fold(trainer, Trainer::propensity);
        trainer = weights.iter().fold(trainer, |trainer, weights| trainer.weights(weights));
        trainer = controlled.iter().fold(trainer, |trainer, (data, shown)| trainer.controlled(data, shown.as_ref()));
        trainer = validation.iter().fold(trainer, |trainer, (data, _)| trainer.validation(data));
        let validation_shown = validation.iter().filter_map(|(_, shown)| shown.as_ref());
        trainer = validation_shown.fold(trainer, Trainer::validation_shown);
        trainer = later.iter().fold(trainer, |trainer, later| trainer.later(later, later_rows.as_deref()));
        let (model, trained) = trainer.train(&data)?;
        let model = match prune {
            Some(least) => model.prune(least)?,
            None => model,
        };
        Ok((model, trained))
    })?;
    let found = PyDict::new(py);
    let propensities = trained.learned.as_ref().or(trained.used.as_ref());
    found.set_item("propensities", propensities.map(|propensities| arrays(py, propensities)).transpose()?)?;
    found.set_item("iterations", trained.iterations)?;
    found.set_item("unconverged", trained.unconverged)?;
    found.set_item("unused", trained.unused.is_some())?;
    found.set_item("uncorrected", trained.uncorrected)?;
    found.set_item("raised", trained.outcome.raised_propensities)?;
    found.set_item("shrunken", trained.outcome.shrunken_propensities)?;
    let curve = trained.about.propensity.as_ref().and_then(|origin| origin.curve());
    found.set_item("curve", curve.map(|curve| curve.short()))?;
    Ok((Linear { model, about: trained.about }, found))
}

/// Reads a model's file.
#[pyfunction]
pub(crate) fn read_model(py: Python<'_>, path: PathBuf, how: How) -> PyResult<Linear> {
    let (model, about) = run(py, &how, |_| file::read(&path, true))?;
    Ok(Linear { model, about })
}

/// A model from the bytes of its file.
#[pyfunction]
pub(crate) fn model_of_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Linear> {
    let (model, about) = alone(py, || Source::of_bytes("model", bytes).and_then(file::read_source))?;
    Ok(Linear { model, about })
}

/// What to score, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Ranking<'py> {
    k: usize,
    logits: bool,
    propensity: Option<Given<'py>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    weighting: Option<Lines<'py>>,
    at_most: bool,
    threshold: Option<f64>,
    ignore: Option<IgnoredGiven<'py>>,
}

#[pymethods]
impl Linear {
    #[getter]
    fn features(&self) -> usize {
        self.model.features()
    }

    #[getter]
    fn labels(&self) -> usize {
        self.model.labels()
    }

    #[getter]
    fn label_counts<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u64>>> {
        self.about.label_counts.clone().map(|counts| counts.into_pyarray(py))
    }

    /// Loss, propensity, seed and settings as JSON.
    #[getter]
    fn about(&self) -> PyResult<String> {
        json(&self.about.to_json().map_err(exception)?)
    }

    #[getter]
    fn normalize(&self) -> bool {
        self.model.normalize() == Normalize::L2
    }

    /// What is added to each label's score.
    #[getter]
    fn bias<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.model.bias().to_vec().into_pyarray(py)
    }

    /// All weights, labels by features.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (features, labels) = (self.model.features(), self.model.labels());
        let mut all = room(labels, features, "save() writes the model as it is").map_err(exception)?;
        all.resize(features * labels, 0.0);
        for block in self.model.blocks() {
            for (place, weight) in block.weights.iter().enumerate() {
                let (feature, label) = (place / block.width(), block.first as usize + place % block.width());
                all[label * features + feature] = *weight;
            }
        }
        all.into_pyarray(py).reshape([labels, features])
    }

    /// The scores of all labels.
    fn logits<'py>(&self, py: Python<'py>, rows: Rows<'_>, how: How) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows = rows.slices()?;
        let (count, logits) = run(py, &how, |watch| {
            let features: Features<'_> = rows.features()?;
            watch.begin("score", features.rows() as u64);
            let mut logits = room(features.rows(), self.model.labels(), "predict_top_k keeps only the best labels")?;
            for start in (0..features.rows()).step_by(ROWS_AT_ONCE) {
                let end = features.rows().min(start + ROWS_AT_ONCE);
                logits.extend(self.model.logits(&features, start..end)?);
                watch.advance((end - start) as u64)?;
            }
            Ok((features.rows(), logits))
        })?;
        logits.into_pyarray(py).reshape([count, self.model.labels()])
    }

    /// The best labels of each row.
    fn top<'py>(&self, py: Python<'py>, rows: Rows<'_>, ranking: Ranking<'_>, how: How) -> PyResult<Arrays<'py>> {
        let rows = rows.slices()?;
        let propensity = ranking.propensity.as_ref().map(|given| given.propensities()).transpose()?.transpose();
        let propensity = propensity.map_err(exception)?;
        let weights = ranking.weights.as_ref().map(|array| array.as_slice()).transpose()?;
        let weighting = ranking.weighting.as_ref().map(Lines::weighting).transpose()?;
        let ignored = ranking.ignore.as_ref().map(IgnoredGiven::slices).transpose()?;
        let Ranking { k, logits, threshold, at_most, .. } = ranking;
        let top = run(py, &how, |watch| {
            let features = rows.features()?;
            let ignored = ignored.map(|ignored| ignored.pairs(features.rows(), self.model.labels())).transpose()?;
            let options = PredictOptions {
                k,
                logits,
                propensities: propensity.as_ref(),
                weights,
                weighting: weighting.as_ref(),
                at_most,
                threshold,
                ignored: ignored.as_ref(),
                progress: watch,
            };
            self.model.predict(&features, &options)
        })?;
        Ok(scores_out(py, top))
    }

    /// Writes the model's file, with weights of half precision if that is asked for.
    fn save(&self, py: Python<'_>, path: PathBuf, half: bool, how: How) -> PyResult<()> {
        let write = if half { file::write_half } else { file::write };
        run(py, &how, |_| write(&self.model, &self.about, &path))
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = alone(py, || {
            let failed = |cause| Error::io("cannot write the model for a copy", std::env::temp_dir(), cause);
            let folder = tempfile::tempdir().map_err(failed)?;
            let path = folder.path().join("model");
            file::write(&self.model, &self.about, &path)?;
            std::fs::read(&path).map_err(failed)
        });
        Ok(PyBytes::new(py, &bytes?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        let make = py.import("unmissed._core")?.getattr("model_of_bytes")?;
        Ok((make, (slf.get().to_bytes(py)?,)))
    }
}
