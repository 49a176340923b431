//! What the options of an evaluation mean.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use unmissed::data::{LabelStats, read_full_column, read_keyed_csv};
use unmissed::propensity::Propensities;
use unmissed::request::WeightsSpec;
use unmissed::{Error, Result};

/// Predictions and what to call them.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct Model {
    pub(in crate::cmd) name: String,
    pub(in crate::cmd) path: PathBuf,
}

impl FromStr for Model {
    type Err = Error;

    /// `NAME=FILE`, or `FILE` with its stem for a name. A file that exists is never taken apart.
    fn from_str(text: &str) -> Result<Model> {
        match text.split_once('=') {
            Some((name, path)) if !Path::new(text).exists() => {
                if name.is_empty() || path.is_empty() {
                    return Err(Error::value("cannot read predictions").expected("FILE or NAME=FILE").found(format!("'{text}'")));
                }
                Ok(Model { name: name.to_owned(), path: path.into() })
            }
            _ => Ok(Model { name: crate::args::stem(Path::new(text)), path: text.into() }),
        }
    }
}

/// Two models under one name could not be told apart.
pub(in crate::cmd) fn check_names(models: &[Model]) -> Result<()> {
    for (place, model) in models.iter().enumerate() {
        if models[..place].iter().any(|other| other.name == model.name) {
            return Err(
                Error::value(format!("two models are called '{}'", model.name)).hint("give each a name of its own: NAME=FILE")
            );
        }
    }
    Ok(())
}

/// Gains of labels; `propensities` are those of the one model that was named.
pub(in crate::cmd) fn weights(
    how: &str,
    stats: Option<&LabelStats>,
    propensities: Option<&Propensities>,
    labels: usize,
) -> Result<Vec<f64>> {
    how.parse::<WeightsSpec>()?.of_labels(stats, propensities, labels as u64)
}

/// How many relevant labels each row has.
pub(super) fn label_counts(path: &Path, rows: usize) -> Result<Vec<u32>> {
    read_full_column(path, "row", "count", rows as u64, "a whole number", |cell| cell.parse().ok())
}

/// Which rows have later labels, and with which probability a row like it has them.
pub(super) fn later_rows(path: &Path, rows: usize) -> Result<(Vec<bool>, Vec<f64>)> {
    let mut has_later = vec![false; rows];
    // Rows without later labels have a probability too, but nothing depends on it.
    let mut rho = vec![1.0; rows];
    for cell in read_keyed_csv(path, "row", "probability", rows as u64)? {
        let value = cell.text.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= 1.0);
        rho[cell.key as usize] = value.ok_or_else(|| {
            Error::format(format!("the probability of later labels of row {} is out of range", cell.key))
                .expected("a number in (0, 1]")
                .found(format!("'{}'", cell.text))
                .at(cell.line)
                .in_file(path)
        })?;
        has_later[cell.key as usize] = true;
    }
    Ok((has_later, rho))
}
