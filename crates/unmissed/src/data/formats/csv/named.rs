//! Predictions with names beside the ids, for people: `row,label,score,row_name,label_name`. Readers go by the ids.

use crate::data::Scores;
use crate::data::csv_writer::CsvWriter;
use crate::data::names::Names;
use crate::data::output::Output;
use crate::data::safe_text::spreadsheet_safe;
use crate::data::source::Compression;
use crate::error::{Error, Result};
use crate::top_k::Key;
use std::path::Path;

/// Writes predictions, best first, with the names of labels and rows where they are given. The file appears whole or not at all.
///
/// ```
/// use unmissed::data::formats::{read_scores, write_named};
/// use unmissed::data::{Csr, Names, NamesOf};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("p.csv");
/// let scores = Csr::from_rows(2, [vec![(0, 0.25f32), (1, 0.5)], vec![]])?;
/// let labels = Names::new(NamesOf::Labels, ["flu", "=cold"])?;
/// write_named(&scores, Some(&labels), None, &path)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "row,label,score,label_name\n0,1,0.5,'=cold\n0,0,0.25,flu\n");
/// assert_eq!(read_scores(&path, &Default::default())?.nnz(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_named(scores: &Scores<'_>, labels: Option<&Names>, rows: Option<&Names>, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let (_, plain) = Compression::of_name(path);
    let separator = match plain.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => ',',
        Some("tsv") => '\t',
        _ => {
            return Err(Error::value("names can only be written into a table")
                .expected("a file that ends in .csv or .tsv")
                .hint("write names into a csv, or leave --label-names and --row-names out")
                .in_file(path));
        }
    };
    labels.map_or(Ok(()), |names| names.check_len(scores.cols()))?;
    rows.map_or(Ok(()), |names| names.check_len(scores.rows()))?;
    let mut output = Output::create(path)?;
    let mut writer = CsvWriter::separated_by(separator, &mut output);
    let mut write = || -> std::io::Result<()> {
        let named = [rows.map(|_| "row_name"), labels.map(|_| "label_name")];
        writer.record(["row", "label", "score"].into_iter().chain(named.into_iter().flatten()))?;
        for row in 0..scores.rows() {
            let row_name = rows.and_then(|names| names.get(row)).map(spreadsheet_safe);
            for (label, score) in best_first(scores, row) {
                let label_name = labels.and_then(|names| names.get(label as usize)).map(spreadsheet_safe);
                let numbers = [row.to_string(), label.to_string(), score.to_string()];
                let names = [row_name.as_deref(), label_name.as_deref()];
                writer.record(numbers.iter().map(String::as_str).chain(names.into_iter().flatten()))?;
            }
        }
        Ok(())
    };
    write().map_err(|cause| Error::io("cannot write", path, cause))?;
    output.finish()
}

fn best_first(scores: &Scores<'_>, row: usize) -> Vec<(u32, f32)> {
    let (ids, values) = scores.row(row);
    let mut pairs: Vec<(u32, f32)> = ids.iter().copied().zip(values.iter().copied()).collect();
    pairs.sort_unstable_by_key(|(label, score)| Key::new(*score, *label));
    pairs
}
