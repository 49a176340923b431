//! The paper's experiments.

use crate::errors::exception;
use crate::run::{How, run};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use unmissed::experiments::{Context, Size, YahooR3, choose, data_folders, page};
use unmissed::progress::Progress;
use unmissed::report::{Document, Screen, Table, renderers};
use unmissed::{Error, Result};

/// What to run, and on what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReproduceRequest {
    experiments: Vec<String>,
    output: PathBuf,
    quick: bool,
    data: Vec<PathBuf>,
    yahoo_r3: Option<PathBuf>,
    seed: u64,
    /// What the page names as its origin.
    command: String,
}

/// Runs experiments and writes their page; gives claims, tables and notes of each as JSON.
#[pyfunction]
pub(crate) fn reproduce(py: Python<'_>, request: ReproduceRequest, how: How) -> PyResult<String> {
    let experiments = choose(&request.experiments).map_err(exception)?;
    let folder = request.output;
    std::fs::create_dir_all(&folder).map_err(|cause| exception(Error::io("cannot make the folder", &folder, cause)))?;
    let found = run(py, &how, |watch| {
        let context = Context {
            size: if request.quick { Size::Quick } else { Size::Full },
            seed: request.seed,
            data: data_folders(&request.data)?,
            yahoo_r3: request.yahoo_r3.as_deref().map(YahooR3::at).transpose()?,
            kept: Some(folder.join("parts")),
            progress: watch,
        };
        let mut finished = Vec::new();
        for experiment in experiments {
            watch.begin(experiment.name(), 0);
            finished.push((experiment, experiment.run(&context)?));
            // The page is there from the first experiment on, and grows.
            page::write(&finished, &folder, &request.command)?;
        }
        let of_one = |(experiment, outcome): &page::FinishedExperiment| {
            let claims = outcome.claims.iter();
            let claims = claims.map(|claim| json!({"claim": claim.what, "verdict": claim.verdict.name(), "result": claim.found}));
            let tables = outcome.tables.iter().map(|table| Ok((table.name().to_owned(), records(table)?)));
            Ok(json!({
                "experiment": experiment.name(),
                "reproduces": experiment.reproduces(),
                "claims": claims.collect::<Vec<_>>(),
                "tables": tables.collect::<Result<serde_json::Map<_, _>>>()?,
                "notes": outcome.notes,
            }))
        };
        finished.iter().map(of_one).collect::<Result<Vec<_>>>()
    })?;
    crate::evaluate::json(&found)
}

/// The rows of a table, as the json format has them.
fn records(table: &Table) -> Result<Value> {
    let broken = |cause: String| Error::value(format!("cannot write the table '{}' as json ({cause})", table.name()));
    let mut bytes = Vec::new();
    let document = Document::new().table(table.clone());
    renderers::find("json")?.render(&document, &Screen::default(), &mut bytes).map_err(|cause| broken(cause.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|cause| broken(cause.to_string()))
}
