//! What the options of an evaluation mean.

use crate::app::{App, Outcome};
use crate::args::Reading;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use unmissed::data::formats::Expected;
use unmissed::data::{Csr, LabelStats, read_full_column, read_keyed_csv};
use unmissed::propensity::Propensities;
use unmissed::request::WeightsSpec;
use unmissed::spec::Spec;
use unmissed::{Error, Result};

/// Predictions, what to call them, and their format where it is not to be recognised.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct Model {
    pub(in crate::cmd) name: String,
    pub(in crate::cmd) path: PathBuf,
    pub(in crate::cmd) from: Option<Spec>,
}

impl FromStr for Model {
    type Err = Error;

    /// `[NAME=]FILE[,from=FORMAT]`; without a name it is the stem of the file. What is the name of a file that exists is never taken apart.
    fn from_str(text: &str) -> Result<Model> {
        let exists = |text: &str| Path::new(text).exists();
        let (file, from) = match text.rsplit_once(",from=") {
            Some((file, format)) if !exists(text) => (file, Some(format.parse()?)),
            _ => (text, None),
        };
        let (name, path) = match file.split_once('=') {
            Some((name, path)) if !exists(file) => (name.to_owned(), path),
            _ => (crate::args::stem(Path::new(file)), file),
        };
        if name.is_empty() || path.is_empty() {
            let expected = "FILE, NAME=FILE or NAME=FILE,from=FORMAT";
            return Err(Error::value("cannot read predictions").expected(expected).found(format!("'{text}'")));
        }
        Ok(Model { name, path: path.into(), from })
    }
}

impl Model {
    /// Reads the predictions.
    pub(in crate::cmd) fn read(&self, reading: &Reading, expected: Option<Expected<'_>>, app: &App) -> Outcome<Csr<'static, f32>> {
        reading.scores(&self.path, self.from.as_ref(), expected, app)
    }
}

/// Two models under one name could not be told apart.
pub(in crate::cmd) fn check_names(models: &[Model]) -> Result<()> {
    for (place, model) in models.iter().enumerate() {
        if models[..place].iter().any(|other| other.name == model.name) {
            return Err(Error::value(format!("two models are called '{}'", model.name)).hint("give each its own name: NAME=FILE"));
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

/// Says when weights and propensities both correct for missing labels.
pub(in crate::cmd) fn warn_of_weights(weights: Option<&WeightsSpec>, has_propensities: bool, app: &App) {
    if let Some(warning) = weights.filter(|_| has_propensities).and_then(WeightsSpec::corrects_twice) {
        app.note(&warning);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_taken_apart_at_the_last_from() {
        let parsed = |text: &str| {
            let model: Model = text.parse().unwrap();
            (model.name, model.path.display().to_string(), model.from.map(|from| from.to_string()))
        };
        assert_eq!(parsed("dir/p.txt"), ("p".into(), "dir/p.txt".into(), None));
        assert_eq!(parsed("A=p.txt"), ("A".into(), "p.txt".into(), None));
        assert_eq!(parsed("A=p.txt,from=scores"), ("A".into(), "p.txt".into(), Some("scores".into())));
        assert_eq!(parsed("p.csv,from=csv:row=a,label=b"), ("p".into(), "p.csv".into(), Some("csv:row=a,label=b".into())));
        assert_eq!(parsed("A=b,from=x.txt,from=npz"), ("A".into(), "b,from=x.txt".into(), Some("npz".into())));
        assert_eq!(parsed("-"), ("stdin".into(), "-".into(), None));
        for wrong in ["=p.txt", "A=", "A=,from=npz", "A=p.txt,from="] {
            assert!(wrong.parse::<Model>().is_err(), "{wrong}");
        }
    }
}
