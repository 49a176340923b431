//! Given covariates in csv files: `label,NAME,...` or `row,NAME,...`, each label or row once.

use crate::data;
use crate::error::{Error, Result, shown};
use std::path::Path;

/// Reads the columns of a csv whose column `key` (`label` or `row`) numbers the lines from 0: names and values.
///
/// ```
/// use unmissed::propensity::rows::read_columns;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("rows.csv");
/// std::fs::write(&path, "row,age,size\n1,30,2\n0,20,1.5\n")?;
/// let columns = read_columns(&path, "row", 2)?;
/// assert_eq!(columns, [("age".to_owned(), vec![20.0, 30.0]), ("size".to_owned(), vec![1.5, 2.0])]);
/// let error = read_columns(&path, "row", 3).unwrap_err().to_string();
/// assert!(error.contains("row 2 is missing"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_columns(path: impl AsRef<Path>, key: &str, count: usize) -> Result<Vec<(String, Vec<f64>)>> {
    let path = path.as_ref();
    let bytes = data::Source::open(path, true)?.into_bytes()?;
    parse(bytes.as_ref(), key, count).map_err(|error| error.in_file(path))
}

fn parse(bytes: &[u8], key: &str, count: usize) -> Result<Vec<(String, Vec<f64>)>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let broken = |cause: csv::Error| data::not_csv(&cause);
    let header = reader.headers().map_err(broken)?.clone();
    let wanted = || format!("a header '{key},NAME,...'");
    let place = header
        .iter()
        .position(|field| field == key)
        .ok_or_else(|| Error::format(format!("no column '{key}'")).expected(wanted()).at(1))?;
    if header.len() < 2 {
        return Err(Error::format("no covariates").expected(wanted()).at(1));
    }
    let mut values = vec![vec![f64::NAN; count]; header.len()];
    let mut seen = vec![false; count];
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let text = record.get(place).unwrap_or("");
        let id = text.parse::<usize>().ok().filter(|id| *id < count).ok_or_else(|| {
            let expected = format!("a whole number below {count}");
            Error::format(format!("cannot read a {key}")).expected(expected).found(shown(text.as_bytes())).at(line)
        })?;
        if std::mem::replace(&mut seen[id], true) {
            return Err(Error::format(format!("{key} {id} occurs twice")).expected(format!("each {key} once")).at(line));
        }
        for (column, text) in record.iter().enumerate().filter(|(column, _)| *column != place) {
            values[column][id] = text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
                let what = format!("cannot read '{}' of {key} {id}", &header[column]);
                Error::format(what).expected("a finite number").found(shown(text.as_bytes())).at(line)
            })?;
        }
    }
    if let Some(id) = seen.iter().position(|seen| !seen) {
        return Err(Error::format(format!("{key} {id} is missing")).expected(format!("each of {count} once")));
    }
    let named = header.iter().zip(values).enumerate().filter(|(column, _)| *column != place);
    Ok(named.map(|(_, (name, values))| (name.to_owned(), values)).collect())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn broken_files_are_answered_with_their_place() {
        let text = |text: &str| parse(text.as_bytes(), "label", 2).unwrap_err().to_string();
        assert!(text("id,a\n0,1\n").contains("no column 'label'"));
        assert!(text("label\n0\n").contains("no covariates"));
        assert!(text("label,a\n0,1\n0,2\n").contains("label 0 occurs twice"));
        assert!(text("label,a\n0,1\n2,2\n").contains("a whole number below 2"));
        assert!(text("label,a\n0,1\n1,x\n").contains("cannot read 'a' of label 1"));
    }
}
