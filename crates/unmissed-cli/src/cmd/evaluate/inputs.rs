//! What the options of an evaluation mean.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use unmissed::data::LabelStats;
use unmissed::evaluate::{Groups, Rate};
use unmissed::metrics::weights as schemes;
use unmissed::propensity::models::PropensitySpec;
use unmissed::propensity::{Propensities, table_file};
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

/// A shard as `i/n`.
pub(in crate::cmd) fn shard(text: &str) -> Result<(usize, usize)> {
    let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    parts.ok_or_else(|| Error::value("cannot read the shard").expected("i/n, as in 1/4").found(format!("'{text}'")))
}

/// What row-dependent propensities cannot be combined with.
pub(super) fn check_row_dependent(specs: &[PropensitySpec], tally: bool, compat: bool) -> Result<()> {
    match specs.iter().find(|spec| spec.is_row_dependent()) {
        Some(spec) if tally || compat => Err(Error::value(format!("'{spec}' depends on the row"))
            .expected("per-label propensities with --tally and --compat")
            .hint("evaluate all rows at once, without them")),
        _ => Ok(()),
    }
}

fn needs_train<'a>(what: &str, stats: Option<&'a LabelStats>) -> Result<&'a LabelStats> {
    stats.ok_or_else(|| Error::value(format!("{what} follow from training counts")).hint("pass the training labels with --train"))
}

/// Groups of labels.
pub(in crate::cmd) fn groups(how: &str, stats: Option<&LabelStats>, labels: usize) -> Result<Groups> {
    let (name, cuts) = how.split_once(':').map_or((how, None), |(name, cuts)| (name, Some(cuts)));
    fn numbers<T: FromStr>(cuts: &str) -> Result<Vec<T>> {
        let parsed = cuts.split(',').map(|cut| cut.trim().parse().ok()).collect::<Option<Vec<T>>>();
        parsed.ok_or_else(|| Error::value("cannot read the cuts of the groups").expected("numbers separated by commas").found(cuts))
    }
    match (name, cuts) {
        ("share", None) => Groups::by_share(needs_train("groups", stats)?, &[0.8, 0.95]),
        ("share", Some(cuts)) => Groups::by_share(needs_train("groups", stats)?, &numbers(cuts)?),
        ("counts", Some(cuts)) => Groups::by_counts(needs_train("groups", stats)?, &numbers(cuts)?),
        ("deciles", None) => Groups::deciles(needs_train("groups", stats)?),
        _ if Path::new(how).exists() => read_groups(Path::new(how), labels),
        _ => Err(Error::value("unknown kind of groups")
            .expected("share, share:0.8,0.95, counts:100,10, deciles, or a csv 'label,group' that exists")
            .found(format!("'{how}'"))),
    }
}

fn read_groups(path: &Path, labels: usize) -> Result<Groups> {
    let mut of: Vec<Option<String>> = vec![None; labels];
    for (line, label, cell) in table_file::read_cells(path, "group", labels as u64)? {
        if cell.is_empty() {
            return Err(Error::format(format!("label {label} has no group")).at(line).in_file(path));
        }
        of[label as usize] = Some(cell);
    }
    Groups::from_names(&of).map_err(|error| error.in_file(path))
}

/// Gains of labels; `propensities` are those of the one model that was named.
pub(in crate::cmd) fn weights(
    how: &str,
    stats: Option<&LabelStats>,
    propensities: Option<&Propensities>,
    labels: usize,
) -> Result<Vec<f64>> {
    if !Path::new(how).exists() {
        return schemes::from_spec(how, needs_train("weights", stats)?, propensities);
    }
    let path = Path::new(how);
    let mut weights = vec![None; labels];
    for (line, label, cell) in table_file::read_cells(path, "weight", labels as u64)? {
        let weight = cell.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
        weights[label as usize] = Some(weight.ok_or_else(|| {
            Error::format(format!("the weight of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(format!("'{cell}'"))
                .at(line)
                .in_file(path)
        })?);
    }
    match weights.iter().position(Option::is_none) {
        Some(label) => {
            Err(Error::format(format!("label {label} has no weight")).expected("a weight for every label").in_file(path))
        }
        None => Ok(weights.into_iter().flatten().collect()),
    }
}

/// The rate of a controlled set.
pub(in crate::cmd) fn rate(text: &str, labels: usize) -> Result<Rate> {
    if Path::new(text).exists() {
        return Ok(Rate::PerLabel(table_file::read_column(text, "rate", Some(labels as u64))?));
    }
    let parts = text.split_once('/').and_then(|(shown, of)| Some((shown.trim().parse().ok()?, of.trim().parse().ok()?)));
    match (parts, text.parse::<f64>()) {
        (Some((shown, of)), _) => Ok(Rate::Shown { shown, of }),
        (None, Ok(rate)) if rate > 0.0 && rate <= 1.0 => Ok(Rate::PerLabel(vec![rate; labels])),
        _ => Err(Error::value("cannot read the rate")
            .expected("r/m as in 16/300, a number in (0, 1], or a csv 'label,rate'")
            .found(format!("'{text}'"))),
    }
}

/// How many relevant labels each row has.
pub(super) fn label_counts(path: &Path, rows: usize) -> Result<Vec<u32>> {
    let mut counts = vec![None; rows];
    for (line, row, cell) in table_file::read_cells_by(path, "row", "count", rows as u64)? {
        counts[row as usize] = Some(cell.parse::<u32>().map_err(|_| {
            Error::format(format!("cannot read the label count of row {row}"))
                .expected("a whole number")
                .found(format!("'{cell}'"))
                .at(line)
                .in_file(path)
        })?);
    }
    match counts.iter().position(Option::is_none) {
        Some(row) => Err(Error::format(format!("row {row} has no label count")).expected("a count for every row").in_file(path)),
        None => Ok(counts.into_iter().flatten().collect()),
    }
}

/// Which rows have later labels, and with which probability a row like it has them.
pub(super) fn later_rows(path: &Path, rows: usize) -> Result<(Vec<bool>, Vec<f64>)> {
    let mut has_later = vec![false; rows];
    // Rows without later labels have a probability too, but nothing depends on it.
    let mut rho = vec![1.0; rows];
    for (line, row, cell) in table_file::read_cells_by(path, "row", "probability", rows as u64)? {
        let value = cell.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= 1.0);
        rho[row as usize] = value.ok_or_else(|| {
            Error::format(format!("the probability of later labels of row {row} is out of range"))
                .expected("a number in (0, 1]")
                .found(format!("'{cell}'"))
                .at(line)
                .in_file(path)
        })?;
        has_later[row as usize] = true;
    }
    Ok((has_later, rho))
}
