//! Outcomes as one page, and as files.

use super::{ClaimVerdict, Experiment, Outcome};
use crate::data::Output;
use crate::error::Result;
use crate::report::page::sections::{Section, Sections, render};
use crate::report::{Document, Screen, Table, plot, renderers};
use std::path::Path;

/// An experiment and what it left.
pub type FinishedExperiment = (&'static dyn Experiment, Outcome);

/// All tables of an experiment, its claims at the end.
pub fn tables((experiment, outcome): &FinishedExperiment) -> Vec<Table> {
    outcome.tables.iter().cloned().chain(outcome.claims_table(experiment.name())).collect()
}

/// The page.
pub fn html(finished: &[FinishedExperiment], command: &str) -> Result<String> {
    let section = |one: &'_ FinishedExperiment| Section {
        id: one.0.name().into(),
        title: format!("{}: {}", one.0.name(), one.0.summary()),
        lead: vec![
            format!("In the paper: {}. Data: {}.", one.0.reproduces(), one.0.data_needed()),
            format!("On two cores: {} with --quick, {} in full.", one.0.duration().quick, one.0.duration().full),
        ],
        tables: tables(one),
        charts: Vec::new(),
        notes: one.1.notes.clone(),
    };
    let sections = finished
        .iter()
        .map(|one| Section { charts: one.1.charts.iter().map(|(name, chart)| (name.as_str(), chart)).collect(), ..section(one) });
    let count = |verdict| finished.iter().flat_map(|one| &one.1.claims).filter(|claim| claim.verdict == verdict).count();
    let lead = format!(
        "{} claims hold, {} do not, {} are reported. Made by: {command}",
        count(ClaimVerdict::Holds),
        count(ClaimVerdict::Fails),
        count(ClaimVerdict::Reported)
    );
    render(&Sections {
        kicker: "unmissed reproduce".into(),
        heading: "On Missing Labels, Long-tails and Propensities: our numbers beside the paper's".into(),
        lead,
        sections: sections.collect(),
    })
}

/// Writes the page, and each table (csv, json) and chart (svg, png) as a file.
pub fn write(finished: &[FinishedExperiment], folder: &Path, command: &str) -> Result<()> {
    put(&folder.join("index.html"), html(finished, command)?.as_bytes())?;
    for one in finished {
        for table in tables(one) {
            let name = table.name().to_owned();
            let document = Document::new().table(table);
            for format in ["csv", "json"] {
                let mut bytes = Vec::new();
                let rendered = renderers::find(format)?.render(&document, &Screen::default(), &mut bytes);
                rendered.map_err(|cause| crate::Error::io("cannot write", folder, cause))?;
                put(&folder.join(format!("{name}.{format}")), &bytes)?;
            }
        }
        for (name, chart) in &one.1.charts {
            plot::write(chart, folder.join(format!("{name}.svg")))?;
            plot::write(chart, folder.join(format!("{name}.png")))?;
        }
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(path)?;
    output.put(bytes)?;
    output.finish()
}
