//! What an audit knows about every label as csv: a line for each label and model.
//!
//! Names are made safe for spreadsheets and terminals; ids are beside them. Numbers have as many digits as needed to distinguish
//! them.

use crate::audit::{AuditResult, LabelLine, Share};
use crate::data::{CsvWriter, Output, spreadsheet_safe};
use crate::error::{Error, Result};
use std::path::Path;

const HEADER: [&str; 18] = [
    "label",
    "name",
    "train_count",
    "positives",
    "model",
    "k",
    "predicted",
    "hits",
    "precision",
    "precision_low",
    "precision_high",
    "recall",
    "recall_low",
    "recall_high",
    "f",
    "propensity",
    "propensity_source",
    "share_missing",
];

/// Writes the file, which appears whole or not at all.
pub fn write(result: &AuditResult, path: &Path) -> Result<()> {
    let table = &result.all_labels;
    let (k, source) = (table.k.to_string(), table.propensities.as_ref().map_or("", |p| &p.source));
    let mut output = Output::create(path)?;
    let mut writer = CsvWriter::new(&mut output);
    let mut write = || -> std::io::Result<()> {
        writer.record(HEADER)?;
        for label in 0..table.len() {
            let line = table.line(label);
            let name = spreadsheet_safe(line.name.as_deref().unwrap_or(""));
            let front = [line.label.to_string(), name.into_owned(), whole(line.trained), line.positives.to_string()];
            let back = of_label(&line, source);
            for scores in &line.models {
                let [precision, recall] = [scores.precision, scores.recall].map(ends);
                writer.record(
                    front
                        .iter()
                        .map(String::as_str)
                        .chain([spreadsheet_safe(&scores.model).as_ref(), &k])
                        .chain([scores.predicted.to_string(), scores.hits.to_string()].iter().map(String::as_str))
                        .chain(precision.iter().chain(&recall).map(String::as_str))
                        .chain([number(scores.f).as_str()])
                        .chain(back.iter().map(String::as_str)),
                )?;
            }
        }
        Ok(())
    };
    write().map_err(|cause| Error::io("cannot write", path, cause))?;
    output.finish()
}

fn of_label(line: &LabelLine, source: &str) -> [String; 3] {
    [number(line.propensity), spreadsheet_safe(source).into_owned(), number(line.missing)]
}

fn ends(share: Option<Share>) -> [String; 3] {
    [share.map(|share| share.value), share.map(|share| share.low), share.map(|share| share.high)].map(number)
}

pub(super) fn whole(value: Option<u64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Eight places are more than any of these numbers has.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{}", (value * 1e8).round() / 1e8))
}
