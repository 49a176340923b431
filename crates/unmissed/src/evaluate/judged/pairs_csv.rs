//! Pairs to judge as csv.

use super::plan::AnnotationPlan;
use crate::data::{CsvWriter, Names, Output, Texts, spreadsheet_safe};
use crate::error::{Error, Result, digits};
use std::path::Path;

/// What rows and labels are called, as far as that is known.
#[derive(Clone, Copy, Default)]
pub struct PairNames<'a> {
    /// Names of labels.
    pub labels: Option<&'a Names>,
    /// Names of rows.
    pub rows: Option<&'a Names>,
    /// Texts of rows.
    pub texts: Option<&'a Texts>,
}

impl PairNames<'_> {
    /// The columns that there is something for.
    pub fn columns(&self) -> Vec<&'static str> {
        let all = [("label_name", self.labels.is_some()), ("row_name", self.rows.is_some()), ("text", self.texts.is_some())];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// What stands in these columns for a pair.
    pub fn cells(&self, row: u32, label: u32) -> Vec<&str> {
        let label = self.labels.map(|names| names.get(label as usize).unwrap_or(""));
        let name = self.rows.map(|names| names.get(row as usize).unwrap_or(""));
        let text = self.texts.map(|texts| texts.get(row as usize).unwrap_or(""));
        [label, name, text].into_iter().flatten().collect()
    }
}

impl AnnotationPlan {
    /// Writes the pairs of the last round, in the order in which they are judged: `round,row,label,probability,stratum,relevant`, of
    /// which the last is empty, and names and texts.
    pub fn write_pairs(&self, path: impl AsRef<Path>, names: &PairNames<'_>) -> Result<()> {
        let header = ["round", "row", "label", "probability", "stratum", "relevant"];
        let pairs = self.pairs();
        let records = pairs.iter().map(|pair| {
            let numbers = [pair.round.to_string(), pair.row.to_string(), pair.label.to_string(), digits(pair.probability)];
            let own = numbers.into_iter().chain([pair.stratum.to_owned(), String::new()]);
            own.chain(safe(names, pair.row, pair.label)).collect()
        });
        write(path.as_ref(), header.into_iter().chain(names.columns()), records)
    }

    /// Writes all unobserved pairs of the pool for a machine to judge: `row,label,relevant,score`, of which the last two are empty, and
    /// names and texts.
    pub fn write_machine_pairs(&self, path: impl AsRef<Path>, names: &PairNames<'_>) -> Result<()> {
        let records = self.pool().map(|(row, label)| {
            let own = [row.to_string(), label.to_string(), String::new(), String::new()];
            own.into_iter().chain(safe(names, row, label)).collect()
        });
        write(path.as_ref(), ["row", "label", "relevant", "score"].into_iter().chain(names.columns()), records)
    }
}

fn safe(names: &PairNames<'_>, row: u32, label: u32) -> Vec<String> {
    names.cells(row, label).into_iter().map(|text| spreadsheet_safe(text).into_owned()).collect()
}

fn write<'h>(path: &Path, header: impl Iterator<Item = &'h str>, records: impl Iterator<Item = Vec<String>>) -> Result<()> {
    let mut output = Output::create(path)?;
    let mut writer = CsvWriter::new(&mut output);
    let failed = |cause| Error::io("cannot write", path, cause);
    writer.record(header).map_err(failed)?;
    for record in records {
        writer.record(record).map_err(failed)?;
    }
    output.finish()
}
