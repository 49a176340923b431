//! Judged pairs: judgements of (row, label) pairs by people (or a language model), from csv files.
//!
//! A judged csv has a header with at least `row,label,probability,relevant`: ids count from 0, `probability` is the probability of
//! having been drawn
//! (in (0, 1]), and `relevant` is `1`, `0`, `unsure`, or empty for a pair that nobody has judged yet. `round` and `stratum` are those of an
//! annotation plan; other columns (names, texts) are ignored. Several judges have a file each: a pair may be in several files, with the
//! same judgement.

use super::{Source, not_csv};
use crate::error::{Error, Result, digits, shown};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What was said about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relevance {
    /// The label belongs to the row.
    Relevant,
    /// It does not.
    Irrelevant,
    /// The judge could not tell.
    Unsure,
}

impl Relevance {
    /// As it is written in files.
    pub fn name(self) -> &'static str {
        match self {
            Relevance::Relevant => "1",
            Relevance::Irrelevant => "0",
            Relevance::Unsure => "unsure",
        }
    }

    /// The smallest and the largest number of relevant labels that it can stand for.
    pub fn bounds(self) -> (f64, f64) {
        match self {
            Relevance::Relevant => (1.0, 1.0),
            Relevance::Irrelevant => (0.0, 0.0),
            Relevance::Unsure => (0.0, 1.0),
        }
    }
}

/// A pair that was drawn, and what was said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// In which round it was drawn, from 1.
    pub round: u32,
    /// The row.
    pub row: u32,
    /// The label.
    pub label: u32,
    /// The probability of having been drawn, given the earlier rounds.
    pub probability: f64,
    /// The stratum that it was drawn from.
    pub stratum: Option<String>,
    /// `None` while nobody has judged it.
    pub relevance: Option<Relevance>,
    /// Which of the files it is from, and the line there; both 0 for what is not from a file.
    pub place: (usize, u64),
}

/// Judged pairs of all files, each once, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgements {
    pairs: Vec<Judgement>,
    files: Vec<PathBuf>,
}

/// How many contradictions an error lists.
const LISTED: usize = 5;

impl Judgements {
    /// Judgements that are in memory, checked like those of files.
    pub fn new(pairs: Vec<Judgement>, rows: usize, labels: usize) -> Result<Judgements> {
        let mut all = Collected::default();
        for judgement in pairs {
            check_ids(judgement.row, judgement.label, rows, labels)?;
            check_probability(judgement.probability)?;
            all.add(judgement, &[])?;
        }
        all.finish(Vec::new())
    }

    /// Reads files about data with so many rows and labels.
    pub fn read<P: AsRef<Path>>(paths: &[P], rows: usize, labels: usize) -> Result<Judgements> {
        let files: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
        let mut all = Collected::default();
        for (file, path) in files.iter().enumerate() {
            let before = all.pairs.len();
            read_file(path, file, rows, labels, |judgement| all.add(judgement, &files))?;
            if all.pairs.len() == before && all.lines_of(file) == 0 {
                return Err(Error::format("the file has no pairs").expected("a line for each judged pair").in_file(path));
            }
        }
        all.finish(files)
    }

    /// All pairs.
    pub fn pairs(&self) -> &[Judgement] {
        &self.pairs
    }

    /// The files that they are from.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Adds file and line of a judgement to an error about it.
    pub fn located(&self, error: Error, judgement: &Judgement) -> Error {
        match self.files.get(judgement.place.0) {
            Some(file) => error.at(judgement.place.1).in_file(file),
            None => error,
        }
    }

    /// How many were judged, and how many of these as unsure.
    pub fn counts(&self) -> (usize, usize) {
        let judged = self.pairs.iter().filter_map(|pair| pair.relevance);
        let unsure = judged.clone().filter(|relevance| *relevance == Relevance::Unsure).count();
        (judged.count(), unsure)
    }
}

/// What files have in common while they are read.
#[derive(Default)]
struct Collected {
    pairs: Vec<Judgement>,
    at: HashMap<(u32, u32), usize>,
    contradictions: Vec<String>,
    first: Option<(usize, u64)>,
    lines: HashMap<usize, usize>,
}

impl Collected {
    fn lines_of(&self, file: usize) -> usize {
        self.lines.get(&file).copied().unwrap_or(0)
    }

    fn add(&mut self, new: Judgement, files: &[PathBuf]) -> Result<()> {
        *self.lines.entry(new.place.0).or_default() += 1;
        let pair = (new.row, new.label);
        let Some(at) = self.at.get(&pair).copied() else {
            self.at.insert(pair, self.pairs.len());
            self.pairs.push(new);
            return Ok(());
        };
        let old = &mut self.pairs[at];
        let name = |place: (usize, u64)| match files.get(place.0) {
            Some(file) => format!("{}:{}", file.display(), place.1),
            None => "elsewhere".into(),
        };
        let what = format!("row {}, label {}", new.row, new.label);
        if old.place.0 == new.place.0 {
            return Err(Error::format(format!("the pair ({what}) occurs twice"))
                .expected("each pair once in a file")
                .found(format!("the same pair at {}", name(old.place)))
                .hint("judgements of several people go into a file each"));
        }
        if (old.round, &old.stratum) != (new.round, &new.stratum) || old.probability != new.probability {
            return Err(Error::format(format!("the pair ({what}) was drawn differently in two files"))
                .expected(format!("round {} with probability {}, as at {}", old.round, digits(old.probability), name(old.place)))
                .found(format!("round {} with probability {}", new.round, digits(new.probability)))
                .hint("files of several judges come from one and the same plan"));
        }
        match (old.relevance, new.relevance) {
            (None, found) => (old.relevance, old.place) = (found, new.place),
            (Some(a), Some(b)) if a != b => {
                self.first.get_or_insert(new.place);
                self.contradictions.push(format!(
                    "{what} ({} at {}, {} at {})",
                    a.name(),
                    name(old.place),
                    b.name(),
                    name(new.place)
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, files: Vec<PathBuf>) -> Result<Judgements> {
        if let Some((file, line)) = self.first {
            let more = self.contradictions.len().saturating_sub(LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let listed = self.contradictions.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
            let error = Error::format(format!("{} pairs were judged differently by different judges", self.contradictions.len()))
                .found(format!("{listed}{more}"))
                .hint("resolve them in one of the files, or write 'unsure' in both");
            return Err(match files.get(file) {
                Some(path) => error.at(line).in_file(path),
                None => error,
            });
        }
        let judgements = Judgements { pairs: self.pairs, files };
        if judgements.counts().0 == 0 {
            let error = Error::format("no pair is judged").expected("1, 0 or unsure in the column 'relevant'");
            return Err(match judgements.files.first() {
                Some(path) => error.in_file(path),
                None => error,
            });
        }
        Ok(judgements)
    }
}

fn check_ids(row: u32, label: u32, rows: usize, labels: usize) -> Result<()> {
    for (what, id, bound) in [("row", row, rows), ("label", label, labels)] {
        if id as usize >= bound {
            return Err(Error::format(format!("unknown {what}"))
                .expected(format!("a number below {bound}"))
                .found(id.to_string())
                .hint("rows and labels are those of the test labels, counted from 0"));
        }
    }
    Ok(())
}

fn check_probability(probability: f64) -> Result<()> {
    if probability > 0.0 && probability <= 1.0 {
        return Ok(());
    }
    Err(Error::format("the probability of having been drawn is out of range")
        .expected("a number in (0, 1]")
        .found(digits(probability))
        .hint("a pair that could not be drawn cannot be in the file; do not change the column that 'annotate plan' wrote"))
}

/// Reads one file.
fn read_file(path: &Path, file: usize, rows: usize, labels: usize, mut add: impl FnMut(Judgement) -> Result<()>) -> Result<()> {
    let table = Table::open(path, &["row", "label", "probability", "relevant"])?;
    let [row, label, probability, relevant] = [0, 1, 2, 3].map(|place| table.columns[place]);
    let (round, stratum) = (table.column("round"), table.column("stratum"));
    for record in &table.records {
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |column: usize| record.get(column).unwrap_or("");
        let read = || -> Result<Judgement> {
            let id = |column: usize, what: &str| {
                cell(column).parse::<u32>().map_err(|_| {
                    Error::format(format!("cannot read a {what}")).expected("a whole number").found(shown(cell(column).as_bytes()))
                })
            };
            let judgement = Judgement {
                round: match round.map(cell) {
                    None | Some("") => 1,
                    Some(text) => text.parse().ok().filter(|round| *round > 0).ok_or_else(|| {
                        Error::format("cannot read a round").expected("a whole number from 1").found(shown(text.as_bytes()))
                    })?,
                },
                row: id(row, "row")?,
                label: id(label, "label")?,
                probability: cell(probability).parse().map_err(|_| {
                    Error::format("cannot read a probability")
                        .expected("a number in (0, 1]")
                        .found(shown(cell(probability).as_bytes()))
                })?,
                stratum: stratum.map(cell).filter(|name| !name.is_empty()).map(str::to_owned),
                relevance: parse_relevance(cell(relevant))?,
                place: (file, line),
            };
            check_ids(judgement.row, judgement.label, rows, labels)?;
            check_probability(judgement.probability)?;
            Ok(judgement)
        };
        read().and_then(&mut add).map_err(|error| error.at(line).in_file(path))?;
    }
    Ok(())
}

fn parse_relevance(text: &str) -> Result<Option<Relevance>> {
    match text {
        "" => Ok(None),
        "1" => Ok(Some(Relevance::Relevant)),
        "0" => Ok(Some(Relevance::Irrelevant)),
        _ if text.eq_ignore_ascii_case("unsure") => Ok(Some(Relevance::Unsure)),
        _ => Err(Error::format("cannot read a judgement")
            .expected("1, 0, unsure, or nothing for a pair that is not judged")
            .found(shown(text.as_bytes()))),
    }
}

/// A pair whose relevance is known, by being observed or by being judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPair {
    /// The row.
    pub row: u32,
    /// The label.
    pub label: u32,
    /// Whether the label belongs to the row.
    pub relevant: bool,
    /// Whether it is an observed label; judged otherwise.
    pub observed: bool,
    /// How many pairs it stands for: 1 for observed ones, the inverse probability of having been drawn for judged ones.
    pub weight: f64,
}

/// What a machine said about pairs: a number for each, the larger the more relevant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineJudgements {
    values: HashMap<(u32, u32), f64>,
}

impl MachineJudgements {
    /// From memory; each pair once.
    pub fn new(values: impl IntoIterator<Item = ((u32, u32), f64)>, rows: usize, labels: usize) -> Result<MachineJudgements> {
        let mut all = MachineJudgements::default();
        values.into_iter().try_for_each(|(pair, value)| all.add(pair, value, rows, labels))?;
        Ok(all)
    }

    /// Reads a csv with the columns `row,label` and `relevant` (1 or 0), `score` (any number), or both, of which the score is taken.
    pub fn read(path: impl AsRef<Path>, rows: usize, labels: usize) -> Result<MachineJudgements> {
        let path = path.as_ref();
        let table = Table::open(path, &["row", "label"])?;
        let (score, relevant) = (table.column("score"), table.column("relevant"));
        if score.is_none() && relevant.is_none() {
            return Err(Error::format("no column 'relevant' or 'score'")
                .expected("a header 'row,label,relevant', 'row,label,score', or both")
                .at(1)
                .in_file(path));
        }
        let mut all = MachineJudgements::default();
        for record in &table.records {
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or("");
            let read = || -> Result<((u32, u32), Option<f64>)> {
                let id = |place: usize, what: &str| {
                    let text = cell(Some(table.columns[place]));
                    text.parse::<u32>().map_err(|_| {
                        Error::format(format!("cannot read a {what}")).expected("a whole number").found(shown(text.as_bytes()))
                    })
                };
                let text = if cell(score).is_empty() { cell(relevant) } else { cell(score) };
                let value = match text {
                    "" => None,
                    _ if text.eq_ignore_ascii_case("unsure") => Some(0.5),
                    _ => Some(text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
                        Error::format("cannot read a machine's judgement").expected("a number").found(shown(text.as_bytes()))
                    })?),
                };
                Ok(((id(0, "row")?, id(1, "label")?), value))
            };
            let add = |(pair, value): ((u32, u32), Option<f64>)| match value {
                Some(value) => all.add(pair, value, rows, labels),
                None => Ok(()),
            };
            read().and_then(add).map_err(|error| error.at(line).in_file(path))?;
        }
        if all.values.is_empty() {
            return Err(Error::format("the machine judged no pair").expected("a line for each judged pair").in_file(path));
        }
        Ok(all)
    }

    fn add(&mut self, pair: (u32, u32), value: f64, rows: usize, labels: usize) -> Result<()> {
        check_ids(pair.0, pair.1, rows, labels)?;
        if self.values.insert(pair, value).is_some() {
            return Err(
                Error::format(format!("the pair (row {}, label {}) occurs twice", pair.0, pair.1)).expected("each pair once")
            );
        }
        Ok(())
    }

    /// What was said about a pair.
    pub fn get(&self, row: u32, label: u32) -> Option<f64> {
        self.values.get(&(row, label)).copied()
    }

    /// How many pairs were judged.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// A csv with the columns that it must have.
struct Table {
    header: csv::StringRecord,
    columns: Vec<usize>,
    records: Vec<csv::StringRecord>,
}

impl Table {
    fn open(path: &Path, required: &[&str]) -> Result<Table> {
        let bytes = Source::open(path, true)?.into_bytes()?;
        // Spreadsheets put a byte-order mark in front.
        let bytes = bytes.as_ref().strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes.as_ref());
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(bytes);
        let broken = |cause: csv::Error| not_csv(&cause).in_file(path);
        let header = reader.headers().map_err(broken)?.clone();
        if header.is_empty() {
            return Err(Error::format("the file is empty")
                .expected(format!("a header with at least '{}'", required.join(",")))
                .in_file(path));
        }
        let column = |wanted: &&str| {
            header.iter().position(|field| field == *wanted).ok_or_else(|| {
                Error::format(format!("no column '{wanted}'"))
                    .expected(format!("a header with at least '{}'", required.join(",")))
                    .at(1)
                    .in_file(path)
            })
        };
        let columns = required.iter().map(column).collect::<Result<_>>()?;
        let records = reader.records().collect::<std::result::Result<_, _>>().map_err(broken)?;
        Ok(Table { header, columns, records })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|field| field == name)
    }
}

#[cfg(test)]
mod tests;
