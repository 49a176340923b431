//! Blocks of labels that are trained on other machines.

use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Rows, Sparse};
use crate::model::Settings;
use crate::run::{How, Watch, alone, run};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::ops::Range;
use std::path::PathBuf;
use unmissed::Error;
use unmissed::data::Dataset;
use unmissed::predict::Block;
use unmissed::propensity::Propensities;
use unmissed::request::TrainRequest;
use unmissed::train::{BlockRun, Destination, Trainer};

/// A run whose blocks are trained elsewhere.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Blocks {
    run: BlockRun,
}

#[pymethods]
impl Blocks {
    /// What whoever trains a block has to know besides settings and data.
    #[getter]
    fn prepared(&self) -> &str {
        self.run.prepared()
    }

    /// First labels and ends of the blocks that are still to be trained.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<(u32, u32)>> {
        alone(py, || Ok(self.run.missing()?.into_iter().map(|block| (block.start, block.end)).collect()))
    }

    /// Keeps a finished block.
    fn put(&self, py: Python<'_>, block: GivenBlock<'_>) -> PyResult<()> {
        let GivenBlock(first, bias, weights, note) = &block;
        let (bias, weights) = (bias.as_slice()?.to_vec(), weights.as_slice()?.to_vec());
        let note = serde_json::from_str(note);
        let note = note.map_err(|cause| exception(Error::format(format!("cannot read the note of a block ({cause})"))))?;
        alone(py, || self.run.put(&Block { first: *first, bias, weights }, note))
    }
}

/// A block as Python passes it on: first label, bias, weights, and a note as JSON.
#[derive(FromPyObject)]
pub(crate) struct GivenBlock<'py>(u32, PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, f32>, String);

/// The trainer of settings that several machines share.
fn shared_trainer<'a>(
    request: TrainRequest,
    propensities: Option<&'a Propensities>,
    weights: Option<&'a Vec<f64>>,
    watch: &'a Watch,
) -> Trainer<'a> {
    let trainer = Trainer::new(request).progress(watch);
    let trainer = propensities.into_iter().fold(trainer, Trainer::propensity);
    weights.into_iter().fold(trainer, |trainer, weights| trainer.weights(weights))
}

/// Prepares a run into a file, or resumes one.
#[pyfunction]
pub(crate) fn begin_blocks(
    py: Python<'_>,
    rows: Rows<'_>,
    labels: Sparse<'_>,
    settings: Settings<'_>,
    to: (PathBuf, bool),
    how: How,
) -> PyResult<Blocks> {
    let (rows, labels) = (rows.slices()?, labels.slices()?);
    let (request, propensities, weights) = settings.parts()?;
    let to = Destination { path: to.0, resume: to.1, prune: settings.prune, half: settings.half };
    let run = run(py, &how, |watch| {
        let data = Dataset::new(Some(rows.features()?), labels.labels()?)?;
        shared_trainer(request, propensities.as_ref(), weights.as_ref(), watch).begin_blocks(&data, &to)
    })?;
    Ok(Blocks { run })
}

/// First label, bias, weights and note of a block that was trained.
type TrainedBlock<'py> = (u32, Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, String);

/// Trains some blocks of a run.
#[pyfunction]
pub(crate) fn fit_blocks<'py>(
    py: Python<'py>,
    rows: Rows<'_>,
    labels: Sparse<'_>,
    settings: Settings<'_>,
    prepared: &str,
    blocks: Vec<(u32, u32)>,
    how: How,
) -> PyResult<Vec<TrainedBlock<'py>>> {
    let (rows, labels) = (rows.slices()?, labels.slices()?);
    let (request, propensities, weights) = settings.parts()?;
    let blocks: Vec<Range<u32>> = blocks.into_iter().map(|(start, end)| start..end).collect();
    let finished = run(py, &how, |watch| {
        let data = Dataset::new(Some(rows.features()?), labels.labels()?)?;
        shared_trainer(request, propensities.as_ref(), weights.as_ref(), watch).fit_elsewhere(&data, prepared, &blocks)
    })?;
    let out = finished.into_iter().map(|(block, note)| {
        let Block { first, bias, weights } = block;
        Ok((first, bias.into_pyarray(py), weights.into_pyarray(py), json(&note)?))
    });
    out.collect()
}

/// Writes the model of a run whose blocks are all there.
#[pyfunction]
pub(crate) fn finish_blocks(
    py: Python<'_>,
    rows: Rows<'_>,
    labels: Sparse<'_>,
    settings: Settings<'_>,
    path: PathBuf,
    how: How,
) -> PyResult<()> {
    let (rows, labels) = (rows.slices()?, labels.slices()?);
    let (request, propensities, weights) = settings.parts()?;
    let to = Destination { path, resume: true, prune: settings.prune, half: settings.half };
    run(py, &how, |watch| {
        let data = Dataset::new(Some(rows.features()?), labels.labels()?)?;
        shared_trainer(request, propensities.as_ref(), weights.as_ref(), watch).train_to(&data, &to).map(drop)
    })
}
