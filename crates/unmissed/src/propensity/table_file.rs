//! Propensities in files.
//!
//! The output is a csv `label,propensity,low,high,source`, in the order of labels; unknown cells are empty. Estimates have more
//! columns, `inverse,variance,c1,...,cr`: the inverse propensity that estimates of metrics use (it may be below 1), and its covariance
//! `diag(variance) + sum_r c_r c_r'`, with errors c_r that labels have in common. Read is
//! that csv (only the first two columns are required, in any order of columns and rows) or, as other libraries write them,
//! one inverse propensity per line. Every label must be there once and with a number in (0, 1]: an incomplete file is rejected
//! with the place and the label, since a guess here would pass for knowledge later. A label without a propensity but with an inverse
//! (below 1, or of a label that was never observed in training) has the propensity 1, and scores go by the inverse. A value with an
//! interval but without a source counts as a direct estimate.

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
        .map_err(|_| located(Error::format("text that is not UTF-8").expected("a csv of propensities").hint(data::SAVE_AS_UTF8)))?;
    let first = text.lines().next().unwrap_or("").trim();
    let rows = if first.parse::<f64>().is_ok() { inverse_lines(text) } else { csv_rows(text, "propensity") }.map_err(located)?;
    collect(path, rows, labels).map_err(located)
}

/// One line of a file.
struct Row {
    line: u64,
    label: u64,
    propensity: f64,
    interval: Option<Interval>,
    source: ValueSource,
    score: Option<ScoreCells>,
}

/// What the columns for scores say of one label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScoreCells {
    pub(crate) inverse: f64,
    pub(crate) variance: Option<f64>,
    pub(crate) errors: Vec<f64>,
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
        let (label, source) = (place as u64, ValueSource::Estimated);
        rows.push(Row { line, label, propensity: 1.0 / inverse, interval: None, source, score: None });
    }
    Ok(rows)
}

fn csv_rows(text: &str, value: &str) -> Result<Vec<Row>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let broken = |cause: csv::Error| data::not_csv(&cause);
    let header = reader.headers().map_err(broken)?.clone();
    let column = |name: &str| header.iter().position(|field| field == name);
    let required = |name: &str| {
        column(name).ok_or_else(|| {
            Error::format(format!("no column '{name}'"))
                .expected(match value {
                    "propensity" => {
                        "a header 'label,propensity' (low, high and source may follow), or one inverse propensity per line"
                            .to_owned()
                    }
                    _ => format!("a header 'label,{value}'"),
                })
                .found(shown(text.lines().next().unwrap_or("").as_bytes()))
                .at(1)
        })
    };
    let (label, propensity) = (required("label")?, required(value)?);
    let (low, high, source) = (column("low"), column("high"), column("source"));
    let (inverse, variance) = (column("inverse"), column("variance"));
    let errors: Vec<usize> = (1..).map_while(|place| column(&format!("c{place}"))).collect();
    let model = column("model");
    let mut first_model: Option<String> = None;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        if let Some(name) = model.and_then(|place| record.get(place)) {
            let first = first_model.get_or_insert_with(|| name.to_owned());
            if first != name {
                return Err(Error::format("the file has several models")
                    .expected("one propensity for each label")
                    .found(format!("{} and {}", shown(first.as_bytes()), shown(name.as_bytes())))
                    .hint("write each model into its own file")
                    .at(line));
            }
        }
        let cell = |place: Option<usize>| place.and_then(|place| record.get(place)).unwrap_or("");
        let score =
            inverse.map(|place| read_score(cell(Some(label)), cell(Some(place)), cell(variance), &errors, |c| cell(Some(c))));
        let score = score.transpose().map_err(|error| error.at(line))?;
        let clipped = score.is_some() && cell(Some(propensity)).is_empty();
        let (of_propensity, of_source) = if clipped { ("1", "clipped") } else { (cell(Some(propensity)), cell(source)) };
        let row = read_row(value, cell(Some(label)), of_propensity, cell(low), cell(high), of_source);
        rows.push(Row { line, score, ..row.map_err(|error| error.at(line))? });
    }
    Ok(rows)
}

fn read_score<'a>(
    label: &str,
    inverse: &str,
    variance: &str,
    errors: &[usize],
    cell: impl Fn(usize) -> &'a str,
) -> Result<ScoreCells> {
    let number = |what: &str, cell: &str, least: f64| match cell.parse::<f64>() {
        Ok(number) if number >= least && number.is_finite() => Ok(number),
        _ => Err(Error::format(format!("{what} of label {label} is out of range"))
            .expected(if least == 0.0 { "a finite number of at least 0" } else { "a finite number" })
            .found(shown(cell.as_bytes()))),
    };
    Ok(ScoreCells {
        inverse: number("the inverse propensity", inverse, 0.0)?,
        variance: if variance.is_empty() { None } else { Some(number("the variance", variance, 0.0)?) },
        errors: errors.iter().map(|place| number("a common error", cell(*place), f64::MIN)).collect::<Result<_>>()?,
    })
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
            .hint("'direct' has no value for labels without a controlled positive: estimate 'shrunken', which has one for all"));
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
        return Err(crate::spec::unknown("source", source, &ValueSource::ALL.map(ValueSource::name)));
    }
    // Who writes intervals and no source has most likely counted label by label: training asks how much of such values is noise.
    let unnamed = if interval.is_some() { ValueSource::Direct } else { ValueSource::default() };
    Ok(Row {
        line: 0,
        label: id,
        propensity: number(&format!("the {value}"), propensity, false)?,
        interval,
        source: known.unwrap_or(unnamed),
        score: None,
    })
}

/// Puts the rows into the order of labels; every label once.
fn collect(path: &Path, rows: Vec<Row>, labels: Option<u64>) -> Result<Propensities> {
    let count = labels.unwrap_or(rows.len() as u64);
    let wrong_number = || {
        Error::format("the number of labels is wrong")
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
    let mut propensities = Propensities::new(PropensitySpec::Table(path.to_path_buf()), values)?.with_sources(sources)?;
    if intervals.iter().any(Option::is_some) {
        propensities = propensities.with_intervals(intervals)?;
    }
    with_scores(propensities, &rows)
}

/// The columns for scores, when the file has them: then it has them for every label.
fn with_scores(propensities: Propensities, rows: &[Row]) -> Result<Propensities> {
    let Some(first) = rows.first().and_then(|row| row.score.as_ref()) else { return Ok(propensities) };
    let (mut inverses, mut variances) = (vec![0.0; rows.len()], vec![f64::NAN; rows.len()]);
    let mut errors = vec![vec![0.0; rows.len()]; first.errors.len()];
    for row in rows {
        let (Some(score), place) = (&row.score, row.label as usize) else { continue };
        inverses[place] = score.inverse;
        variances[place] = score.variance.unwrap_or(f64::NAN);
        errors.iter_mut().zip(&score.errors).for_each(|(all, error)| all[place] = *error);
    }
    let made = propensities.with_score_inverses(inverses)?.with_common_errors(errors)?;
    if variances.iter().any(|variance| variance.is_finite()) { made.with_inverse_variances(variances) } else { Ok(made) }
}

/// Writes propensities as csv.
pub fn write(propensities: &Propensities, path: impl AsRef<Path>) -> Result<()> {
    let mut output = Output::create(path)?;
    write_to(propensities, |text| output.put(text.as_bytes()))?;
    output.finish()
}

/// The csv text of propensities, handed over in pieces.
pub fn write_to(propensities: &Propensities, put: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let errors = propensities.common_errors();
    let has_scores = propensities.is_uncertain() || propensities.score_inverses().is_some();
    let score = |label: u32| ScoreCells {
        inverse: propensities.score_inverse(label),
        variance: propensities.inverse_variance(label),
        errors: errors.iter().map(|error| error[label as usize]).collect(),
    };
    let cells = (0..propensities.len() as u32).map(|label| Cells {
        propensity: Some(propensities.get(label)),
        interval: propensities.interval(label),
        source: Some(propensities.source(label)),
        score: has_scores.then(|| score(label)),
    });
    write_cells(cells, has_scores.then_some(errors.len()), put)
}

/// What one line of a table says; nothing where nothing is known.
pub(crate) struct Cells {
    pub(crate) propensity: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) source: Option<ValueSource>,
    pub(crate) score: Option<ScoreCells>,
}

/// Writes a table line by line, the labels counted from 0; `errors` is how many common errors there are, when there are columns for
/// scores.
pub(crate) fn write_cells(
    cells: impl Iterator<Item = Cells>,
    errors: Option<usize>,
    mut put: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let mut text = String::from("label,propensity,low,high,source");
    if let Some(errors) = errors {
        text.push_str(",inverse,variance");
        (1..=errors).for_each(|place| text.push_str(&format!(",c{place}")));
    }
    text.push('\n');
    for (label, cells) in cells.enumerate() {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let (low, high) = (number(cells.interval.map(|i| i.low)), number(cells.interval.map(|i| i.high)));
        let source = cells.source.map_or("", ValueSource::name);
        // Writing to a string cannot fail.
        let _ = write!(text, "{label},{},{low},{high},{source}", number(cells.propensity));
        if let Some(score) = cells.score {
            let _ = write!(text, ",{},{}", score.inverse, number(score.variance));
            score.errors.iter().for_each(|error| text.push_str(&format!(",{error}")));
        }
        text.push('\n');
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
    fn values_with_intervals_and_without_a_source_count_as_direct() {
        let read = read_text("label,propensity,low,high\n0,0.5,0.2,0.9\n1,0.5,,\n", None).unwrap();
        assert_eq!(read.sources(), [ValueSource::Direct, ValueSource::Estimated]);
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
        let never_observed = read_text("label,propensity,inverse,variance\n0,,75,11250\n1,0.5,2,1\n", None).unwrap();
        assert_eq!((never_observed.get(0), never_observed.score_inverse(0)), (1.0, 75.0));
        assert!(!back.is_uncertain() && back.score_inverses().is_none());
        let p = p.with_score_inverses(vec![9.5, 0.0, 0.75]).unwrap().with_inverse_variances(vec![0.5, 0.0, f64::NAN]).unwrap();
        let p = p.with_common_errors(vec![vec![0.1, -0.2, 0.0], vec![1e-9, 2.0, 3.0]]).unwrap();
        write(&p, &path).unwrap();
        let back = read(&path, Some(3)).unwrap();
        assert_eq!((back.score_inverses(), back.common_errors()), (p.score_inverses(), p.common_errors()));
        assert_eq!((back.inverse_variance(0), back.inverse_variance(2), back.get(1)), (Some(0.5), None, 1.0));
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
            ("label,propensity,inverse\n0,.5,x\n", None, Some(2), "the inverse propensity of label 0"),
            ("label,propensity,inverse,variance,c1\n0,.5,2,-1,0\n", None, Some(2), "the variance of label 0"),
            ("label,propensity,inverse,variance,c1\n0,.5,2,1,inf\n", None, Some(2), "a common error of label 0"),
            ("label,propensity,inverse\n0,,\n", None, Some(2), "the inverse propensity of label 0"),
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
