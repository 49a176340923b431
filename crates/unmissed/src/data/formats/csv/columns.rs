//! The columns of a table of predictions: which they are, and what their fields mean.

use crate::data::Names;
use crate::error::{Error, Result, shown};
use crate::spec::Spec;

/// Where the columns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) label: usize,
    pub(super) score: Option<usize>,
}

/// What separates fields: the first of comma, tab and semicolon that the first line has.
pub(super) fn separator(head: &[u8]) -> u8 {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    [b',', b'\t', b';'].into_iter().find(|separator| line.contains(separator)).unwrap_or(b',')
}

/// Whether the first line is a header, and where the columns are.
pub(super) fn places(first: &[String], spec: &Spec) -> Result<(bool, Place)> {
    let name = |key: &'static str| spec.get(key).unwrap_or(key);
    let find = |key| first.iter().position(|field| field == name(key));
    if let (Some(row), Some(label)) = (find("row"), find("label")) {
        let score = find("score");
        if let (None, Some(score)) = (score, spec.get("score")) {
            return Err(no_columns(first, &[score]));
        }
        return Ok((true, Place { row, label, score }));
    }
    let renamed = ["row", "label", "score"].iter().any(|key| spec.get(key).is_some());
    match first {
        [_, _, score] if !renamed && score.parse::<f32>().is_ok() => Ok((false, Place { row: 0, label: 1, score: Some(2) })),
        _ => Err(no_columns(first, &[name("row"), name("label")])),
    }
}

fn no_columns(first: &[String], wanted: &[&str]) -> Error {
    Error::format(format!("no columns {}", wanted.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" and ")))
        .expected("a header 'row,label,score', or three columns with a number in the third")
        .found(shown(first.join(",").as_bytes()))
        .at(1)
        .hint("say what the columns are called: csv:row=NAME,label=NAME,score=NAME")
}

/// What a column is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Row,
    Label,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Row => "row",
            Kind::Label => "label",
        }
    }
}

/// The fields of a column as ids, read both ways as long as both are possible.
pub(super) struct Column<'a> {
    kind: Kind,
    below: Option<usize>,
    names: Option<&'a Names>,
    as_ids: Option<Vec<u32>>,
    as_names: Option<Vec<u32>>,
    largest: Option<u32>,
}

impl<'a> Column<'a> {
    pub(super) fn new(kind: Kind, spec: &Spec, below: Option<usize>, names: Option<&'a Names>) -> Result<Column<'a>> {
        let word = kind.word();
        let asked = |what: &str| spec.words().iter().any(|asked| *asked == format!("{word}-{what}"));
        if asked("names") && names.is_none() {
            return Err(
                Error::value(format!("names of {word}s are requested, but none are known")).hint(format!("pass --{word}-names"))
            );
        }
        Ok(Column {
            kind,
            below,
            names,
            as_ids: (!asked("names")).then(Vec::new),
            as_names: (names.is_some() && !asked("ids")).then(Vec::new),
            largest: None,
        })
    }

    /// Adds a field.
    pub(super) fn push(&mut self, text: &str, line: u64) -> Result<()> {
        let id = text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let in_range = id.filter(|id| self.below.is_none_or(|below| (*id as usize) < below));
        let named = self.names.and_then(|names| names.id_of(text));
        let could_be_names = self.as_names.is_some();
        keep(&mut self.as_ids, in_range);
        keep(&mut self.as_names, named);
        if self.as_ids.is_some() {
            self.largest = self.largest.max(in_range);
        }
        if self.as_ids.is_some() || self.as_names.is_some() {
            return Ok(());
        }
        let word = self.kind.word();
        let expected = match (self.below, could_be_names || self.names.is_some()) {
            (Some(below), false) => format!("an id from 0 to {}", below.saturating_sub(1)),
            (Some(below), true) => {
                format!("the name of a {word} in every line, or an id from 0 to {} in every line", below.saturating_sub(1))
            }
            (None, _) => "an id".into(),
        };
        let error = Error::format(format!("not a {word} of the data")).expected(expected).found(shown(text.as_bytes())).at(line);
        Err(match (self.below, id) {
            (Some(below), Some(id)) if id as usize == below => error.hint("ids are counted from 0; do these start at 1?"),
            (_, None) if self.names.is_none() => error.hint(format!("for names of {word}s pass --{word}-names")),
            _ => error,
        })
    }

    /// The ids, and how many there are.
    pub(super) fn settle(self) -> Result<(Vec<u32>, u64)> {
        let count = self.below.map_or_else(|| self.largest.map_or(0, |largest| u64::from(largest) + 1), |below| below as u64);
        let ids = match (self.as_ids, self.as_names) {
            (Some(ids), Some(names)) if ids != names => {
                let word = self.kind.word();
                return Err(Error::format(format!("the {word}s may be ids or names"))
                    .expected("one of the two")
                    .hint(format!("say which: csv:{word}-ids or csv:{word}-names")));
            }
            (Some(ids), _) => ids,
            (None, names) => names.unwrap_or_default(),
        };
        Ok((ids, count))
    }
}

/// Adds an id, or gives up on reading the column this way.
fn keep(ids: &mut Option<Vec<u32>>, id: Option<u32>) {
    match (ids.as_mut(), id) {
        (Some(ids), Some(id)) => ids.push(id),
        (Some(_), None) => *ids = None,
        (None, _) => {}
    }
}
