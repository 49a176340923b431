//! Files and artificial data.

use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::{Arrays, Rows, Sparse, labels_out, scores_out};
use crate::run::{How, run, run_owned};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::path::PathBuf;
use unmissed::Result;
use unmissed::data::formats::{self, Content, ReadOptions};
use unmissed::data::generators::{GENERATORS, GeneratorSettings};
use unmissed::data::{DataStats, Dataset, Features, Output};
use unmissed::request::byte_size;
use unmissed::spec;

/// Features, labels and scores, each where there are any.
type Parts<'py> = (Option<Bound<'py, PyAny>>, Option<Arrays<'py>>, Option<Arrays<'py>>);

/// Reads a file; scores become labels where they are at least `positive`.
#[pyfunction]
pub(crate) fn read<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Option<&str>,
    positive: Option<f32>,
    mmap: bool,
    how: How,
) -> PyResult<Parts<'py>> {
    let format = format.map(str::parse).transpose().map_err(exception)?;
    let content = run(py, &how, |watch| {
        let options = ReadOptions { format, positive, mmap, progress: watch, ..ReadOptions::default() };
        match positive {
            Some(_) => formats::read_dataset(&path, &options).map(Content::Data),
            None => formats::read(&path, &options),
        }
    })?;
    match content {
        Content::Data(data) => {
            let (features, labels) = data_out(py, data)?;
            Ok((features, Some(labels), None))
        }
        Content::Scores(scores) => Ok((None, None, Some(scores_out(py, scores)))),
    }
}

/// Features and labels for Python.
pub(crate) fn data_out<'py>(py: Python<'py>, data: Dataset<'static>) -> PyResult<(Option<Bound<'py, PyAny>>, Arrays<'py>)> {
    let (features, labels) = data.into_parts();
    let features = match features {
        None => None,
        Some(Features::Sparse(matrix)) => Some(scores_out(py, matrix).into_pyobject(py)?.into_any()),
        Some(Features::Dense(matrix)) => {
            let values: Vec<f32> = (0..matrix.rows()).flat_map(|row| matrix.row(row)).copied().collect();
            Some(values.into_pyarray(py).reshape([matrix.rows(), matrix.cols()])?.into_any())
        }
    };
    Ok((features, labels_out(py, labels)))
}

/// Writes features and labels, or scores. Gives the files, and what their format could not hold.
#[pyfunction]
pub(crate) fn write(
    py: Python<'_>,
    path: PathBuf,
    features: Option<Rows<'_>>,
    labels: Option<Sparse<'_>>,
    scores: Option<Sparse<'_>>,
    format: Option<&str>,
    how: How,
) -> PyResult<(Vec<PathBuf>, Vec<String>)> {
    let features = features.as_ref().map(|features| features.slices()).transpose()?;
    let labels = labels.as_ref().map(|labels| labels.slices()).transpose()?;
    let scores = scores.as_ref().map(|scores| scores.slices()).transpose()?;
    let written = run(py, &how, |_| {
        let content = match (labels, scores) {
            (Some(labels), None) => {
                let features = features.map(|features| Ok::<_, unmissed::Error>(features.features()?.into_owned())).transpose()?;
                Content::Data(Dataset::new(features, labels.labels()?.into_owned())?)
            }
            (None, Some(scores)) if features.is_none() => Content::Scores(scores.scores()?.into_owned()),
            _ => {
                return Err(
                    unmissed::Error::value("nothing that a file can hold").expected("labels, with or without features, or scores")
                );
            }
        };
        formats::write(&content, &path, format)
    })?;
    Ok((written.files, written.dropped))
}

/// The statistics of labels, and of features where there are any, as JSON.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>, features: Option<Rows<'_>>, labels: Sparse<'_>, seed: u64, how: How) -> PyResult<String> {
    let features = features.as_ref().map(|features| features.slices()).transpose()?;
    let labels = labels.slices()?;
    let stats = run(py, &how, |_| {
        let features = features.map(|features| features.features()).transpose()?;
        Ok(DataStats::of(&Dataset::new(features, labels.labels()?)?, seed))
    })?;
    json(&stats)
}

/// Bounds what compressed files may expand to, by bytes or a text such as '64GB'; gives the former bound.
#[pyfunction]
pub(crate) fn set_max_size(size: &str) -> PyResult<u64> {
    byte_size(size).and_then(unmissed::data::set_max_size).map_err(exception)
}

/// Writes a text under its name at once, or not at all.
#[pyfunction]
pub(crate) fn write_text(path: PathBuf, text: &str) -> PyResult<()> {
    let write = || -> Result<()> {
        let mut output = Output::create(path)?;
        output.put(text.as_bytes())?;
        output.finish()
    };
    write().map_err(exception)
}

/// Artificial data: `parts` by name, `tables` of columns by name, `notes`.
#[pyfunction]
pub(crate) fn generate<'py>(
    py: Python<'py>,
    generator: &str,
    settings: Vec<(String, String)>,
    seed: u64,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let generator = spec::find(GENERATORS, "generator", generator).map_err(exception)?;
    let mut chosen = GeneratorSettings::of(generator);
    for (name, value) in settings {
        chosen.set(&name, value).map_err(exception)?;
    }
    let generated = run_owned(py, &how, move || generator.generate(&chosen, seed))?;
    let (parts, tables) = (PyDict::new(py), PyDict::new(py));
    for (name, data) in generated.parts {
        parts.set_item(name, data_out(py, data)?)?;
    }
    for table in &generated.tables {
        let columns = PyDict::new(py);
        for (place, column) in table.columns.iter().enumerate() {
            columns.set_item(column, table.rows.iter().map(|row| row[place]).collect::<Vec<f64>>().into_pyarray(py))?;
        }
        tables.set_item(table.stem, columns)?;
    }
    let all = PyDict::new(py);
    all.set_item("parts", parts)?;
    all.set_item("tables", tables)?;
    all.set_item("notes", generated.notes)?;
    Ok(all)
}

/// A text in one line that cannot steer a terminal.
#[pyfunction]
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    unmissed::data::printable(text)
}
