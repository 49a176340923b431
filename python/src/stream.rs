//! Streams: rows that come batch by batch.

use crate::choices::{Gains, Grouping, RateGiven, Weights};
use crate::errors::exception;
use crate::evaluate::{Request, json};
use crate::ignored::IgnoredGiven;
use crate::matrix::{Slices, Sparse};
use crate::propensities::Given;
use crate::run::{How, KeptPool, alone, run};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unmissed::Result;
use unmissed::data::{Csr, LabelStats};
use unmissed::evaluate::{Batch, Evaluation, Evaluator, Groups, StreamShape, Tally};
use unmissed::progress::{Progress, Silent};

/// Batches of at most so many rows, and entries of matrices, are checked without threads.
const FEW_ROWS: usize = 1 << 12;
const FEW_ENTRIES: usize = 1 << 15;

/// How often labels occur in training: rows and counts.
#[derive(FromPyObject)]
pub(crate) struct TrainCounts<'py>(u64, PyReadonlyArray1<'py, u64>);

/// An evaluator.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Stream {
    evaluator: Mutex<Evaluator>,
    pool: KeptPool,
}

/// A batch as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GivenBatch<'py> {
    truth: Sparse<'py>,
    models: Vec<Sparse<'py>>,
    rows: Option<PyReadonlyArray1<'py, u64>>,
    ignore: Option<IgnoredGiven<'py>>,
}

/// The same without the interpreter.
struct Slice<'a> {
    truth: Slices<'a>,
    models: Vec<Slices<'a>>,
    rows: Option<&'a [u64]>,
}

impl Slice<'_> {
    /// Lets the evaluator take the batch; `Ok(false)` when it would work on it at once, and may not.
    fn feed(
        &self,
        evaluator: &mut Evaluator,
        ignored: Option<&crate::ignored::Ignored<'_>>,
        only_wait: bool,
        progress: &dyn Progress,
    ) -> Result<bool> {
        let truth = self.truth.labels()?;
        let models = self.models.iter().map(Slices::scores).collect::<Result<Vec<_>>>()?;
        let models: Vec<&Csr<'_, f32>> = models.iter().collect();
        let ignored = ignored.map(|ignored| ignored.pairs(truth.rows(), truth.cols())).transpose()?;
        let mut batch = Batch::new(&truth, &models)?;
        if let Some(rows) = self.rows {
            batch = batch.numbers(rows)?;
        }
        if let Some(ignored) = &ignored {
            batch = batch.ignore(ignored)?;
        }
        if only_wait && !evaluator.waits(&batch) {
            return Ok(false);
        }
        evaluator.update_watched(&batch, progress)?;
        Ok(true)
    }
}

#[pymethods]
impl Stream {
    #[new]
    fn new(
        py: Python<'_>,
        labels: u64,
        models: Vec<String>,
        train: Option<TrainCounts<'_>>,
        request: Request<'_>,
        how: How,
    ) -> PyResult<Stream> {
        let train = train.as_ref().map(|TrainCounts(rows, counts)| Ok::<_, PyErr>((*rows, counts.as_slice()?))).transpose()?;
        let propensities = request
            .propensities
            .iter()
            .map(|given: &Given<'_>| given.propensities()?.map_err(exception))
            .collect::<PyResult<Vec<_>>>()?;
        let gains = request.weights.as_ref().map(Weights::gains).transpose()?;
        let rate = request.rate.as_ref().map(RateGiven::rate).transpose()?;
        let wanted = request.request(rate, gains.as_ref()).map_err(exception)?;
        let groups = &request.groups;
        let evaluator = run(py, &how, |_| {
            let names: Vec<&str> = models.iter().map(String::as_str).collect();
            let shape = StreamShape::new(labels, &names)?;
            let stats = train.map(|(rows, counts)| LabelStats::from_counts(rows, counts)).transpose()?;
            let mut evaluation = Evaluation::of_stream(&shape)?;
            if let Some(stats) = &stats {
                evaluation = evaluation.train(stats);
            }
            evaluation = propensities.into_iter().fold(evaluation, Evaluation::propensity).request(wanted)?;
            if let Some(Grouping::Names(names)) = groups {
                evaluation = evaluation.groups(Groups::from_names(names)?)?;
            }
            if let Some(Gains::Values(weights)) = gains {
                evaluation = evaluation.weights("given", weights)?;
            }
            evaluation.evaluator()
        })?;
        Ok(Stream { evaluator: Mutex::new(evaluator), pool: KeptPool::default() })
    }

    /// Rows so far.
    #[getter]
    fn rows(&self) -> u64 {
        self.lock().rows()
    }

    /// Takes a batch.
    fn update(&self, py: Python<'_>, batch: GivenBatch<'_>, how: How) -> PyResult<()> {
        let truth = batch.truth.slices()?;
        let models = batch.models.iter().map(Sparse::slices).collect::<PyResult<Vec<_>>>()?;
        let rows = batch.rows.as_ref().map(|rows| rows.as_slice()).transpose()?;
        let ignored = batch.ignore.as_ref().map(IgnoredGiven::slices).transpose()?;
        let matrices = || models.iter().chain([&truth]);
        let has_few_rows = matrices().all(|matrix| matrix.rows() <= FEW_ROWS);
        let is_small = has_few_rows && matrices().map(Slices::entries).sum::<usize>() <= FEW_ENTRIES && ignored.is_none();
        let slice = Slice { truth, models, rows };
        if is_small && py.detach(|| slice.feed(&mut self.lock(), None, true, &Silent)).map_err(exception)? {
            return Ok(());
        }
        self.pool.run(py, &how, |watch| slice.feed(&mut self.lock(), ignored.as_ref(), false, watch)).map(drop)
    }

    /// Adds the rows of a tally.
    fn merge(&self, py: Python<'_>, tally: &[u8], how: How) -> PyResult<()> {
        self.pool.run(py, &how, |_| self.lock().merge(Tally::from_bytes(tally)?))
    }

    /// The bytes of the tally.
    fn tally<'py>(&self, py: Python<'py>, how: How) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.pool.run(py, &how, |_| self.lock().tally()?.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The result as JSON.
    fn compute(&self, py: Python<'_>, how: How) -> PyResult<String> {
        json(&self.pool.run(py, &how, |watch| self.lock().compute_watched(watch))?)
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        alone(py, || self.lock().reset())
    }
}

impl Stream {
    fn lock(&self) -> MutexGuard<'_, Evaluator> {
        self.evaluator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often each label occurs.
#[pyfunction]
pub(crate) fn count_labels<'py>(py: Python<'py>, labels: Sparse<'_>, how: How) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let slices = labels.slices()?;
    let counts = run(py, &how, |_| LabelStats::of(&slices.labels()?).dense_counts())?;
    Ok(counts.into_pyarray(py))
}

/// The tally of several, whose bytes arrays hold.
#[pyfunction]
pub(crate) fn merge_tallies<'py>(
    py: Python<'py>,
    tallies: Vec<PyReadonlyArray1<'py, u8>>,
    how: How,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let tallies = slices(&tallies)?;
    Ok(run(py, &how, |_| merged(&tallies)?.to_bytes())?.into_pyarray(py))
}

/// The result of several tallies together, as JSON.
#[pyfunction]
pub(crate) fn finish_tallies(py: Python<'_>, tallies: Vec<PyReadonlyArray1<'_, u8>>, how: How) -> PyResult<String> {
    let tallies = slices(&tallies)?;
    json(&run(py, &how, |watch| merged(&tallies)?.finish_watched(watch))?)
}

fn slices<'a>(tallies: &'a [PyReadonlyArray1<'_, u8>]) -> PyResult<Vec<&'a [u8]>> {
    tallies.iter().map(|tally| Ok(tally.as_slice()?)).collect()
}

fn merged(tallies: &[&[u8]]) -> Result<Tally> {
    Tally::merge(tallies.par_iter().map(|bytes| Tally::from_bytes(bytes)).collect::<Result<Vec<_>>>()?)
}
