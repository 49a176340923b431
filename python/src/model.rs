//! Linear models: trained, used, and kept in files.

use crate::choices::Weights;
use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Arrays, Rows, Sparse, scores_out};
use crate::propensities::Given;
use crate::run::{How, run};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use unmissed::data::{Dataset, Features, LabelStats, Source};
use unmissed::predict::{About, Model, Normalize, PredictOptions, file};
use unmissed::train::{Adam, Newton, Solver, Trainer};
use unmissed::{Error, Result};

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
    tolerance: f64,
    steps: usize,
    learning_rate: f64,
    batch_size: usize,
    epochs: usize,
    decay: f64,
    clip: Option<f64>,
    weights: Option<Weights<'py>>,
    normalize: bool,
    seed: u64,
}

impl Settings<'_> {
    fn solver(&self) -> Result<Solver> {
        // Newton's method is the better one wherever there is an optimum to go to.
        let convex = unmissed::losses::find(&self.loss)?.nature().convex;
        let name = match self.solver.as_str() {
            "auto" if convex && self.decay > 0.0 => "newton",
            "auto" => "adam",
            name => name,
        };
        match name {
            "newton" => Ok(Solver::Newton(Newton { tolerance: self.tolerance, steps: self.steps })),
            "adam" => Ok(Solver::Adam(Adam { rate: self.learning_rate, batch: self.batch_size, epochs: self.epochs })),
            other => Err(unmissed::spec::unknown("solver", other, &["auto", "newton", "adam"])),
        }
    }

    /// What a model's file says about its training.
    fn as_json(&self, solver: Solver) -> serde_json::Value {
        let solver = match solver {
            Solver::Adam(Adam { rate, batch, epochs }) => {
                serde_json::json!({ "name": "adam", "rate": rate, "batch": batch, "epochs": epochs })
            }
            Solver::Newton(Newton { tolerance, steps }) => {
                serde_json::json!({ "name": "newton", "tolerance": tolerance, "steps": steps })
            }
        };
        serde_json::json!({ "solver": solver, "decay": self.decay, "clip": self.clip })
    }
}

/// Trains a model.
#[pyfunction]
pub(crate) fn train(py: Python<'_>, rows: Rows<'_>, labels: Sparse<'_>, settings: Settings<'_>, how: How) -> PyResult<Linear> {
    let (rows, labels) = (rows.slices()?, labels.slices()?);
    let propensities = settings.propensities.as_ref().map(|given| given.propensities()).transpose()?;
    let propensities = propensities.transpose().map_err(exception)?;
    let gains = settings.weights.as_ref().map(Weights::gains).transpose()?;
    let solver = settings.solver().map_err(exception)?;
    let mut about = About::new(settings.loss.clone(), settings.seed);
    about.propensity = propensities.as_ref().map(|p| p.origin().to_owned());
    about.settings = settings.as_json(solver);
    let Settings { loss, decay, clip, normalize, seed, .. } = settings;
    run(py, &how, |watch| {
        let data = Dataset::new(Some(rows.features()?), labels.labels()?)?;
        let stats = LabelStats::of(data.labels());
        let weights = gains.map(|gains| gains.of(Some(&stats))).transpose()?.map(|(_, weights)| weights);
        let trainer = Trainer::new(&loss)?.solver(solver)?.decay(decay)?.clip(clip)?.seed(seed).progress(watch);
        let trainer = trainer.weights(weights.as_deref()).propensities(propensities.as_ref());
        let model = trainer.normalize(if normalize { Normalize::L2 } else { Normalize::None }).fit(&data)?;
        about.rows = Some(stats.rows());
        about.label_counts = Some(stats.dense_counts()?);
        Ok(Linear { model, about })
    })
}

/// Reads a model's file.
#[pyfunction]
pub(crate) fn read_model(py: Python<'_>, path: PathBuf, how: How) -> PyResult<Linear> {
    let (model, about) = run(py, &how, |_| file::read(&path, true))?;
    Ok(Linear { model, about })
}

/// A model from the bytes of its file.
#[pyfunction]
pub(crate) fn model_of_bytes(bytes: Vec<u8>) -> PyResult<Linear> {
    let (model, about) = Source::of_bytes("model", bytes).and_then(file::read_source).map_err(exception)?;
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
    threshold: Option<f64>,
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
        json(&self.about)
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
        let mut all = vec![0.0; features * labels];
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
        let (count, logits) = run(py, &how, |_| {
            let features: Features<'_> = rows.features()?;
            Ok((features.rows(), self.model.logits(&features, 0..features.rows())?))
        })?;
        logits.into_pyarray(py).reshape([count, self.model.labels()])
    }

    /// The best labels of each row.
    fn top<'py>(&self, py: Python<'py>, rows: Rows<'_>, ranking: Ranking<'_>, how: How) -> PyResult<Arrays<'py>> {
        let rows = rows.slices()?;
        let propensity = ranking.propensity.as_ref().map(|given| given.propensities()).transpose()?.transpose();
        let propensity = propensity.map_err(exception)?;
        let weights = ranking.weights.as_ref().map(|array| array.as_slice()).transpose()?;
        let Ranking { k, logits, threshold, .. } = ranking;
        let top = run(py, &how, |watch| {
            let options = PredictOptions { k, logits, propensity: propensity.as_ref(), weights, threshold, progress: watch };
            self.model.predict(&rows.features()?, &options)
        })?;
        Ok(scores_out(py, top))
    }

    /// Writes the model's file.
    fn save(&self, py: Python<'_>, path: PathBuf, how: How) -> PyResult<()> {
        run(py, &how, |_| file::write(&self.model, &self.about, &path))
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| -> Result<Vec<u8>> {
            let failed = |cause| Error::io("cannot write the model for a copy", std::env::temp_dir(), cause);
            let folder = tempfile::tempdir().map_err(failed)?;
            let path = folder.path().join("model");
            file::write(&self.model, &self.about, &path)?;
            std::fs::read(&path).map_err(failed)
        });
        Ok(PyBytes::new(py, &bytes.map_err(exception)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        let make = py.import("unmissed._core")?.getattr("model_of_bytes")?;
        Ok((make, (slf.get().to_bytes(py)?,)))
    }
}
