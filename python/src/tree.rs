//! Models on trees over labels: trained, searched, and kept in files.

use crate::annotate::JudgedGiven;
use crate::choices::Lines;
use crate::errors::exception;
use crate::evaluate::json;
use crate::ignored::IgnoredGiven;
use crate::matrix::{Arrays, Rows, Sparse, scores_out};
use crate::model::{ControlledRows, with_shown};
use crate::propensities::Given;
use crate::run::{How, alone, run};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use unmissed::data::{Dataset, Source};
use unmissed::predict::{About, Normalize, PredictOptions, TreeModel, TreeSearch, file};
use unmissed::request::{NormalizeChoice, TreeRequest, byte_size};
use unmissed::train::{TreeDestination, TreeTrainer};
use unmissed::tree::given;
use unmissed::{Error, Result};

/// Classifiers on the nodes of trees, and how they came to be.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Trees {
    model: TreeModel,
    about: About,
    /// Bytes of the file as they were estimated after the first parts, for a model that was trained into one.
    #[pyo3(get)]
    estimated_size: Option<u64>,
}

/// How to train.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TreeSettings<'py> {
    tree: String,
    trees: usize,
    propensities: Option<Given<'py>>,
    correction: String,
    clip: Option<f64>,
    cost: f64,
    passes: usize,
    tolerance: f64,
    prune: Option<f64>,
    calibrate: bool,
    normalize: Option<bool>,
    controlled: Option<ControlledRows<'py>>,
    judged: Option<JudgedSet<'py>>,
    later: Option<Sparse<'py>>,
    memory: Option<String>,
    /// A file that the model is trained into, whether a run that was interrupted is resumed there, and the most bytes that it may have.
    output: Option<(PathBuf, bool, Option<String>)>,
    seed: u64,
}

/// Rows with judged pairs, to recalibrate on: features, observed labels, and the pairs.
#[derive(FromPyObject)]
pub(crate) struct JudgedSet<'py>(Rows<'py>, Sparse<'py>, JudgedGiven);

impl TreeSettings<'_> {
    fn request(&self) -> Result<TreeRequest> {
        Ok(TreeRequest {
            tree: self.tree.parse()?,
            trees: self.trees,
            propensity: None,
            correction: self.correction.parse()?,
            clip: self.clip,
            controlled: None,
            later: None,
            cost: self.cost,
            passes: self.passes,
            tolerance: self.tolerance,
            prune: self.prune,
            calibrate: self.calibrate,
            normalize: match self.normalize {
                None => NormalizeChoice::Auto,
                Some(true) => NormalizeChoice::L2,
                Some(false) => NormalizeChoice::None,
            },
            seed: self.seed,
        })
    }
}

/// Trains a model on trees.
#[pyfunction]
pub(crate) fn train_tree(
    py: Python<'_>,
    rows: Rows<'_>,
    labels: Sparse<'_>,
    settings: TreeSettings<'_>,
    how: How,
) -> PyResult<Trees> {
    let (rows, labels) = (rows.slices()?, labels.slices()?);
    let mut request = settings.request().map_err(exception)?;
    let propensities = settings.propensities.as_ref().map(|given| given.propensities()).transpose()?.transpose();
    let propensities = propensities.map_err(exception)?;
    let controlled = match settings.controlled.as_ref().map(ControlledRows::parts).transpose()? {
        Some((asked, slices)) => {
            request.controlled = Some(asked);
            Some(slices)
        }
        None => None,
    };
    let judged = match &settings.judged {
        Some(JudgedSet(rows, labels, given)) => Some((rows.slices()?, labels.slices()?, given)),
        None => None,
    };
    let later = settings.later.as_ref().map(Sparse::slices).transpose()?;
    let memory = settings.memory.as_deref().map(byte_size).transpose().map_err(exception)?;
    let output = match &settings.output {
        Some((path, resume, most)) => {
            let max_size = most.as_deref().map(byte_size).transpose().map_err(exception)?;
            Some(TreeDestination { path: path.clone(), resume: *resume, max_size })
        }
        None => None,
    };
    let (model, about, estimated_size) = run(py, &how, |watch| {
        let data = Dataset::new(Some(rows.features()?), labels.labels()?)?;
        let controlled = with_shown(controlled.as_ref())?;
        let judged = judged.map(|(rows, labels, given)| {
            let rows = Dataset::new(Some(rows.features()?), labels.labels()?)?;
            let known = given.judged(rows.rows(), rows.labels().cols())?.known_pairs()?;
            Ok::<_, Error>((rows, known))
        });
        let judged = judged.transpose()?;
        let mut trainer = memory.into_iter().fold(TreeTrainer::new(request).progress(watch), TreeTrainer::memory);
        trainer = propensities.iter().fold(trainer, TreeTrainer::propensity);
        trainer = controlled.iter().fold(trainer, |trainer, (data, shown)| trainer.controlled(data, shown.as_ref()));
        trainer = judged.iter().fold(trainer, |trainer, (rows, known)| trainer.judged(rows, known));
        let later = later.map(|later| later.labels()).transpose()?;
        trainer = later.iter().fold(trainer, TreeTrainer::later);
        match output {
            None => trainer.train(&data).map(|(model, about)| (model, about, None)),
            Some(to) => {
                trainer.train_to(&data, &to, &|_| {}).map(|trained| (trained.model, trained.about, Some(trained.estimated_size)))
            }
        }
    })?;
    Ok(Trees { model, about, estimated_size })
}

/// Reads the file of a model on trees.
#[pyfunction]
pub(crate) fn read_tree_model(py: Python<'_>, path: PathBuf, how: How) -> PyResult<Trees> {
    let (model, about) = run(py, &how, |_| file::read_tree(&path, true))?;
    Ok(Trees { model, about, estimated_size: None })
}

/// A model on trees from the bytes of its file.
#[pyfunction]
pub(crate) fn tree_of_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Trees> {
    let (model, about) = alone(py, || Source::of_bytes("model", bytes).and_then(file::read_tree_source))?;
    Ok(Trees { model, about, estimated_size: None })
}

/// What to search for, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TreeRanking<'py> {
    k: usize,
    propensity: Option<Given<'py>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    weighting: Option<Lines<'py>>,
    at_most: bool,
    threshold: Option<f64>,
    ignore: Option<IgnoredGiven<'py>>,
    beam: Option<usize>,
    max_nodes: Option<usize>,
}

#[pymethods]
impl Trees {
    #[getter]
    fn features(&self) -> usize {
        self.model.features()
    }

    #[getter]
    fn labels(&self) -> usize {
        self.model.labels()
    }

    #[getter]
    fn normalize(&self) -> bool {
        self.model.normalize() == Normalize::L2
    }

    #[getter]
    fn label_counts<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u64>>> {
        self.about.label_counts.clone().map(|counts| counts.into_pyarray(py))
    }

    /// What probabilities are multiplied with for labels that are missing, when they are.
    #[getter]
    fn inverse_propensities<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.model.inverse_propensities().map(|inverse| inverse.to_vec().into_pyarray(py))
    }

    /// The curve behind the propensities, when they come from one.
    #[getter]
    fn curve(&self) -> Option<String> {
        self.about.propensity.as_ref().and_then(|origin| origin.curve()).map(|curve| curve.short())
    }

    /// Request, propensity and seed as JSON.
    #[getter]
    fn about(&self) -> PyResult<String> {
        json(&self.about.to_json().map_err(exception)?)
    }

    /// Sizes as JSON.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        json(&self.model.summary())
    }

    /// The best labels of each row, and on how many rows the search ended early.
    fn top<'py>(&self, py: Python<'py>, rows: Rows<'_>, ranking: TreeRanking<'_>, how: How) -> PyResult<(Arrays<'py>, u64)> {
        let rows = rows.slices()?;
        let propensity = ranking.propensity.as_ref().map(|given| given.propensities()).transpose()?.transpose();
        let propensity = propensity.map_err(exception)?;
        let weights = ranking.weights.as_ref().map(|array| array.as_slice()).transpose()?;
        let weighting = ranking.weighting.as_ref().map(Lines::weighting).transpose()?;
        let ignored = ranking.ignore.as_ref().map(IgnoredGiven::slices).transpose()?;
        let TreeRanking { k, threshold, at_most, beam, max_nodes, .. } = ranking;
        let found = run(py, &how, |watch| {
            let features = rows.features()?;
            let ignored = ignored.map(|ignored| ignored.pairs(features.rows(), self.model.labels())).transpose()?;
            let options = PredictOptions {
                k,
                logits: false,
                propensities: propensity.as_ref(),
                weights,
                weighting: weighting.as_ref(),
                at_most,
                threshold,
                ignored: ignored.as_ref(),
                progress: watch,
            };
            self.model.predict(&features, &options, TreeSearch { beam, max_nodes })
        })?;
        Ok((scores_out(py, found.scores), found.capped_rows))
    }

    /// The probabilities of labels that are named.
    fn score<'py>(&self, py: Python<'py>, rows: Rows<'_>, candidates: Sparse<'_>, how: How) -> PyResult<Arrays<'py>> {
        let (rows, candidates) = (rows.slices()?, candidates.slices()?);
        let scores = run(py, &how, |_| self.model.score(&rows.features()?, &candidates.labels()?))?;
        Ok(scores_out(py, scores))
    }

    /// Writes one of the trees as a csv that can be given again.
    fn write_tree(&self, py: Python<'_>, tree: usize, path: PathBuf) -> PyResult<()> {
        alone(py, || {
            let count = self.model.trees().len();
            let missing =
                || Error::value("there is no such tree").expected(format!("a number below {count}")).found(tree.to_string());
            given::write(self.model.trees().get(tree).ok_or_else(missing)?, &path)
        })
    }

    /// Writes the model's file.
    fn save(&self, py: Python<'_>, path: PathBuf, how: How) -> PyResult<()> {
        run(py, &how, |_| file::write_tree(&self.model, &self.about, &path))
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = alone(py, || {
            let failed = |cause| Error::io("cannot write the model for a copy", std::env::temp_dir(), cause);
            let folder = tempfile::tempdir().map_err(failed)?;
            let path = folder.path().join("model");
            file::write_tree(&self.model, &self.about, &path)?;
            std::fs::read(&path).map_err(failed)
        });
        Ok(PyBytes::new(py, &bytes?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        let make = py.import("unmissed._core")?.getattr("tree_of_bytes")?;
        Ok((make, (slf.get().to_bytes(py)?,)))
    }
}
