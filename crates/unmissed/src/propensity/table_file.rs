//! Propensities in files.
//!
//! Written is a csv `label,propensity,low,high,source`, in the order of labels; cells that are not known stay empty. Read is
//! that csv (only the first two columns are required, in any order of columns and rows) or, as other libraries write them,
//! one inverse propensity a line. Every label must be there once and with a number in (0, 1]: an incomplete file is rejected
//! with the place and the label, since a guess here would pass for knowledge later.

use super::models::PropensitySpec;
use super::{Interval, Propensities, ValueSource};
use crate::data::{self, Output};
use crate::error::{Error, Result, shown};
use std::fmt::Write;
use std::path::Path;

/// Reads propensities; `labels` is how many the data have, when that is known.
///
/// ```
/// use unmissed::propensity::table_file;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("p.csv");
/// std::fs::write(&path, "label,propensity\n1,0.5\n0,0.25\n")?;
/// assert_eq!(table_file::read(&path, Some(2))?.values(), [0.25, 0.5]);
/// let error = table_file::read(&path, Some(3)).unwrap_err();
/// assert!(error.to_string().contains("expected 3, found 2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>, labels: Option<u64>) -> Result<Propensities> {
    let path = path.as_ref();
    let located = |error: Error| error.in_file(path);
    let bytes = data::Source::open(path, true)?.into_bytes()?;
    let text = std::str::from_utf8(bytes.as_ref())
        .map_err(|cause| located(Error::format(format!("not a text file ({cause})")).expected("a csv of propensities")))?;
    let first = text.lines().next().unwrap_or("").trim();
    let rows = if first.parse::<f64>().is_ok() { inverse_lines(text) } else { csv_rows(text, "propensity") }.map_err(located)?;
    collect(path, rows, labels).map_err(located)
}

/// Reads a csv `label,NAME` of other numbers in (0, 1] that labels have, such as the rates of a controlled set.
pub fn read_column(path: impl AsRef<Path>, name: &str, labels: Option<u64>) -> Result<Vec<f64>> {
    let path = path.as_ref();
    let located = |error: Error| error.in_file(path);
    let bytes = data::Source::open(path, true)?.into_bytes()?;
    let text = std::str::from_utf8(bytes.as_ref())
        .map_err(|cause| located(Error::format(format!("not a text file ({cause})")).expected(format!("a csv 'label,{name}'"))))?;
    let rows = csv_rows(text, name).map_err(located)?;
    Ok(collect(path, rows, labels).map_err(located)?.values().to_vec())
}

/// Reads a csv `label,NAME` of texts: line, label and text of each. Labels lie below `labels` and stand once.
pub fn read_cells(path: impl AsRef<Path>, name: &str, labels: u64) -> Result<Vec<(u64, u32, String)>> {
    read_cells_by(path, "label", name, labels)
}

/// Reads a csv `KEY,NAME` of texts: line, key (such as a row) and text of each. Keys are whole numbers below `below` and stand once.
pub fn read_cells_by(path: impl AsRef<Path>, key: &str, name: &str, below: u64) -> Result<Vec<(u64, u32, String)>> {
    let path = path.as_ref();
    let bytes = data::Source::open(path, true)?.into_bytes()?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(bytes.as_ref());
    let broken = |cause: csv::Error| Error::format(format!("not a csv file ({cause})")).in_file(path);
    let header = reader.headers().map_err(broken)?.clone();
    let column = |wanted: &str| {
        header.iter().position(|field| field == wanted).ok_or_else(|| {
            Error::format(format!("no column '{wanted}'")).expected(format!("a header '{key},{name}'")).at(1).in_file(path)
        })
    };
    let (place, value) = (column(key)?, column(name)?);
    let mut seen = std::collections::HashSet::new();
    let mut cells = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let text = record.get(place).unwrap_or("");
        let id = text.parse::<u32>().ok().filter(|id| u64::from(*id) < below).ok_or_else(|| {
            let expected = format!("a whole number below {below}");
            Error::format(format!("cannot read a {key}")).expected(expected).found(shown(text.as_bytes())).at(line).in_file(path)
        })?;
        if !seen.insert(id) {
            return Err(Error::format(format!("{key} {id} occurs twice"))
                .expected(format!("each {key} once"))
                .at(line)
                .in_file(path));
        }
        cells.push((line, id, record.get(value).unwrap_or("").to_owned()));
    }
    Ok(cells)
}

/// One line of a file.
struct Row {
    line: u64,
    label: u64,
    propensity: f64,
    interval: Option<Interval>,
    source: ValueSource,
}

fn inverse_lines(text: &str) -> Result<Vec<Row>> {
    let text = text.trim_end();
    let mut rows = Vec::new();
    for (place, cell) in text.lines().enumerate() {
        let line = place as u64 + 1;
        let broken = || {
            Error::format(format!("the inverse propensity of label {place} is out of range"))
                .expected("a number of at least 1")
                .found(shown(cell.as_bytes()))
                .at(line)
        };
        let inverse: f64 = cell.trim().parse().map_err(|_| broken())?;
        if !(inverse >= 1.0 && inverse.is_finite()) {
            return Err(broken());
        }
        rows.push(Row { line, label: place as u64, propensity: 1.0 / inverse, interval: None, source: ValueSource::Estimated });
    }
    Ok(rows)
}

fn csv_rows(text: &str, value: &str) -> Result<Vec<Row>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let broken = |cause: csv::Error| Error::format(format!("not a csv file ({cause})"));
    let header = reader.headers().map_err(broken)?.clone();
    let column = |name: &str| header.iter().position(|field| field == name);
    let required = |name: &str| {
        column(name).ok_or_else(|| {
            Error::format(format!("no column '{name}'"))
                .expected(match value {
                    "propensity" => {
                        "a header 'label,propensity' (low, high and source may follow), or one inverse propensity a line".to_owned()
                    }
                    _ => format!("a header 'label,{value}'"),
                })
                .found(shown(text.lines().next().unwrap_or("").as_bytes()))
                .at(1)
        })
    };
    let (label, propensity) = (required("label")?, required(value)?);
    let (low, high, source) = (column("low"), column("high"), column("source"));
    let model = column("model");
    let mut first_model: Option<String> = None;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        if let Some(name) = model.and_then(|place| record.get(place)) {
            let first = first_model.get_or_insert_with(|| name.to_owned());
            if first != name {
                return Err(Error::format("the file holds several models")
                    .expected("one propensity for each label")
                    .found(format!("{} and {}", shown(first.as_bytes()), shown(name.as_bytes())))
                    .hint("write each model into a file of its own")
                    .at(line));
            }
        }
        let cell = |place: Option<usize>| place.and_then(|place| record.get(place)).unwrap_or("");
        let row = read_row(value, cell(Some(label)), cell(Some(propensity)), cell(low), cell(high), cell(source));
        rows.push(Row { line, ..row.map_err(|error| error.at(line))? });
    }
    Ok(rows)
}

fn read_row(value: &str, label: &str, propensity: &str, low: &str, high: &str, source: &str) -> Result<Row> {
    let number = |what: &str, cell: &str, zero: bool| match cell.parse::<f64>() {
        Ok(number) if number <= 1.0 && (number > 0.0 || (zero && number == 0.0)) => Ok(number),
        _ => Err(Error::format(format!("{what} of label {label} is out of range"))
            .expected(if zero { "a number in [0, 1]" } else { "a number in (0, 1]" })
            .found(shown(cell.as_bytes()))),
    };
    let id = label.parse().map_err(|_| {
        Error::format("cannot read a label").expected("a whole number, counted from 0").found(shown(label.as_bytes()))
    })?;
    if propensity.is_empty() {
        return Err(Error::format(format!("label {label} has no {value}"))
            .expected("a number in (0, 1] for every label")
            .hint("'direct' leaves labels empty that have no controlled positive: estimate 'shrunken', which fills them"));
    }
    let interval = match (low, high) {
        ("", "") => None,
        _ => Some(Interval { low: number("the lower end", low, true)?, high: number("the upper end", high, true)? }),
    };
    if let Some(Interval { low, high }) = interval
        && low > high
    {
        return Err(Error::format(format!("the interval of label {label} is out of order"))
            .expected("low <= high")
            .found(format!("{low} and {high}")));
    }
    let known = ValueSource::of_name(source);
    if known.is_none() && !source.is_empty() {
        return Err(crate::spec::unknown("source", source, &["estimated", "curve", "clipped"]));
    }
    Ok(Row {
        line: 0,
        label: id,
        propensity: number(&format!("the {value}"), propensity, false)?,
        interval,
        source: known.unwrap_or_default(),
    })
}

/// Puts the rows into the order of labels; every label once.
fn collect(path: &Path, rows: Vec<Row>, labels: Option<u64>) -> Result<Propensities> {
    let count = labels.unwrap_or(rows.len() as u64);
    let wrong_number = || {
        Error::format("the number of labels is off")
            .expected(count.to_string())
            .found(rows.len().to_string())
            .hint("a table has a value for each label of the data it is used with")
    };
    let mut places: Vec<Option<u64>> = vec![None; rows.len().min(usize::try_from(count).unwrap_or(usize::MAX))];
    for row in &rows {
        if row.label >= count {
            return Err(Error::format("label id out of range")
                .expected(format!("{count} labels, counted from 0"))
                .found(row.label.to_string())
                .at(row.line));
        }
        // A label beyond the number of rows means that another one is missing: said below, once all are known.
        let Some(place) = usize::try_from(row.label).ok().and_then(|label| places.get_mut(label)) else { continue };
        if let Some(line) = place.replace(row.line) {
            return Err(Error::format(format!("label {} occurs twice", row.label))
                .expected("each label once")
                .found(format!("the other in line {line}"))
                .at(row.line));
        }
    }
    if rows.len() as u64 != count {
        return Err(wrong_number());
    }
    let mut values = vec![0.0; rows.len()];
    let mut intervals = vec![None; rows.len()];
    let mut sources = vec![ValueSource::Estimated; rows.len()];
    for row in &rows {
        let place = row.label as usize;
        (values[place], intervals[place], sources[place]) = (row.propensity, row.interval, row.source);
    }
    let propensities = Propensities::new(PropensitySpec::Table(path.to_path_buf()), values)?.with_sources(sources)?;
    if intervals.iter().any(Option::is_some) { propensities.with_intervals(intervals) } else { Ok(propensities) }
}

/// Writes propensities as csv.
pub fn write(propensities: &Propensities, path: impl AsRef<Path>) -> Result<()> {
    let mut output = Output::create(path)?;
    write_to(propensities, |text| output.put(text.as_bytes()))?;
    output.finish()
}

/// The csv text of propensities, handed over in pieces.
pub fn write_to(propensities: &Propensities, put: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let cells = (0..propensities.len() as u32).map(|label| Cells {
        propensity: Some(propensities.get(label)),
        interval: propensities.interval(label),
        source: Some(propensities.source(label)),
    });
    write_cells(cells, put)
}

/// What one line of a table says; nothing where nothing is known.
pub(crate) struct Cells {
    pub(crate) propensity: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) source: Option<ValueSource>,
}

/// Writes a table line by line, the labels counted from 0.
pub(crate) fn write_cells(cells: impl Iterator<Item = Cells>, mut put: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let mut text = String::from("label,propensity,low,high,source\n");
    for (label, cells) in cells.enumerate() {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let (low, high) = (number(cells.interval.map(|i| i.low)), number(cells.interval.map(|i| i.high)));
        let source = cells.source.map_or("", ValueSource::name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label},{},{low},{high},{source}", number(cells.propensity));
        if text.len() > 1 << 16 {
            put(&text)?;
            text.clear();
        }
    }
    put(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, labels: Option<u64>) -> Result<Propensities> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        std::fs::write(&path, text).unwrap();
        read(&path, labels)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        let p = Propensities::new("x", vec![0.1, 1.0, 1.0 / 3.0])
            .unwrap()
            .with_sources(vec![ValueSource::Estimated, ValueSource::Clipped, ValueSource::Curve])
            .unwrap()
            .with_intervals(vec![Some(Interval { low: 0.0, high: 0.3 }), None, None])
            .unwrap();
        write(&p, &path).unwrap();
        let back = read(&path, Some(3)).unwrap();
        assert_eq!((back.values(), back.sources(), back.interval(0)), (p.values(), p.sources(), p.interval(0)));
    }

    #[test]
    fn broken_tables_say_where_and_why() {
        for (text, labels, line, part) in [
            ("label,propensity\n0,\n", None, Some(2), "label 0 has no propensity"),
            ("label,propensity\n0,\n", None, Some(2), "shrunken"),
            ("label,propensity\n0,0\n", None, Some(2), "(0, 1]"),
            ("label,propensity\n0,-1\n", None, Some(2), "(0, 1]"),
            ("label,propensity\n0,NaN\n", None, Some(2), "(0, 1]"),
            ("label,propensity\n0,1.5\n", None, Some(2), "(0, 1]"),
            ("label,propensity\n0,.5\n0,.5\n", None, Some(3), "twice"),
            ("label,propensity\n0,.5\n7,.5\n", None, Some(3), "out of range"),
            ("label,propensity\n0,.5\n", Some(2), None, "expected 2, found 1"),
            ("label,propensity\nx,.5\n", None, Some(2), "cannot read a label"),
            ("label,p\n0,.5\n", None, Some(1), "no column 'propensity'"),
            ("label,propensity,source\n0,.5,guess\n", None, Some(2), "unknown source"),
            ("label,propensity,low,high\n0,.5,.6,.4\n", None, Some(2), "out of order"),
            ("model,label,propensity\njpv,0,.5\npower,0,.5\n", None, Some(3), "several models"),
            ("2\n0.5\n", None, Some(2), "at least 1"),
            ("2\n\n3\n", None, Some(2), "at least 1"),
            ("2\nnan\n", None, Some(2), "at least 1"),
            ("", None, Some(1), "no column 'label'"),
        ] {
            let error = read_text(text, labels).unwrap_err();
            assert!(error.to_string().contains(part), "{text:?}: {error}");
            assert_eq!(error.line(), line, "{text:?}: {error}");
            assert!(error.path().is_some());
        }
    }

    #[test]
    fn inverse_propensities_are_read() {
        assert_eq!(read_text("\u{feff}model,label,propensity\njpv,0,.5\n", None).unwrap().values(), [0.5]);
        assert_eq!(read_text("4\n1.0\n8e0\n\n", Some(3)).unwrap().values(), [0.25, 1.0, 0.125]);
    }
}
