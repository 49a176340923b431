//! What labels and rows are called: [`Names`] (each its own) and [`Texts`] (any), from memory or from a file.
//!
//! A [`TextFile`] is a text file with a line for each label (or row), or one column of a table: `FILE.csv:COLUMN`, `FILE.tsv:COLUMN`,
//! `FILE.jsonl:FIELD`, compressed or not. A table has a record for each label in the order of their ids; one with a column `label`
//! (for rows: `row`) of whole numbers identifies its records, in any order.
//!
//! Names are stored unchanged. Code that shows them makes them safe for the place: [`printable`](super::printable),
//! [`brief`](super::brief), [`spreadsheet_safe`](super::spreadsheet_safe).

mod text_file;

use super::printable;
use crate::error::{Error, Result};
use rayon::prelude::*;
use text_file::Loaded;
pub use text_file::TextFile;

/// What names and texts belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamesOf {
    /// Labels, by id.
    Labels,
    /// Rows, in the order of the data.
    Rows,
}

impl NamesOf {
    /// One of them in words, also the column of ids in tables.
    pub fn word(self) -> &'static str {
        match self {
            NamesOf::Labels => "label",
            NamesOf::Rows => "row",
        }
    }
}

/// A text for each label or row, in little more memory than the texts take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    all: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Texts {
    /// Texts in the order of ids.
    pub fn new<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Texts {
        let mut all = Texts::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }

    /// Reads a text for each of `count` labels or rows.
    pub fn read(of: NamesOf, file: &TextFile, count: usize) -> Result<Texts> {
        Ok(file.load(of, count)?.texts)
    }

    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of this label or row.
    pub fn get(&self, id: usize) -> Option<&str> {
        let end = *self.ends.get(id)?;
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.all.get(start..end)
    }

    /// All texts in the order of ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|id| self.get(id).unwrap_or_default())
    }
}

/// A name for each label or row, each given once.
///
/// ```
/// use unmissed::data::{Names, NamesOf};
/// let names = Names::new(NamesOf::Labels, ["cold", "flu"])?;
/// assert_eq!((names.get(1), names.id_of("flu"), names.id_of("pox")), (Some("flu"), Some(1), None));
/// assert_eq!(names.with_id(1), "1 (flu)");
/// let twice = Names::new(NamesOf::Labels, ["flu", "cold", "flu"]).unwrap_err();
/// assert!(twice.to_string().contains("labels 0 and 2 are both called 'flu'"));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    of: NamesOf,
    texts: Texts,
    /// Ids in the order of their names, for looking names up.
    by_name: Vec<u32>,
}

impl Names {
    /// Names in the order of ids. Each must be given once; white space around a name is not part of it.
    pub fn new<S: AsRef<str>>(of: NamesOf, names: impl IntoIterator<Item = S>) -> Result<Names> {
        let mut texts = Texts::default();
        names.into_iter().for_each(|name| texts.push(name.as_ref().trim()));
        Names::checked(of, Loaded { texts, lines: None })
    }

    /// Reads a name for each of `count` labels or rows.
    pub fn read(of: NamesOf, file: &TextFile, count: usize) -> Result<Names> {
        Names::checked(of, file.load(of, count)?).map_err(|error| error.in_file(file.path()))
    }

    fn checked(of: NamesOf, loaded: Loaded) -> Result<Names> {
        let word = of.word();
        let count = u32::try_from(loaded.texts.len())
            .map_err(|_| Error::value(format!("too many names of {word}s")).expected(format!("at most {}", u32::MAX)))?;
        let texts = &loaded.texts;
        let name = |id: u32| texts.get(id as usize).unwrap_or_default();
        let located = |error: Error, id: u32| match loaded.lines.as_ref().and_then(|lines| lines.get(id as usize)) {
            Some(line) => error.at(*line),
            None => error,
        };
        if let Some(id) = (0..count).find(|id| name(*id).is_empty()) {
            return Err(located(Error::format(format!("{word} {id} has no name")).expected(format!("a name for each {word}")), id));
        }
        let mut by_name: Vec<u32> = (0..count).collect();
        // Equal names stay in the order of ids, so the message about them names the first two.
        by_name.par_sort_by(|a, b| name(*a).cmp(name(*b)));
        let twice = by_name.windows(2).filter(|pair| name(pair[0]) == name(pair[1])).min_by_key(|pair| pair[1]);
        if let Some(&[first, second]) = twice {
            let what = format!("{word}s {first} and {second} are both called '{}'", printable(name(first)));
            let error = Error::format(what).expected(format!("a different name for each {word}"));
            return Err(located(error, second).hint("make one of the names more specific"));
        }
        Ok(Names { of, texts: loaded.texts, by_name })
    }

    /// What the names belong to.
    pub fn of(&self) -> NamesOf {
        self.of
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The name of this label or row, as it was given.
    pub fn get(&self, id: usize) -> Option<&str> {
        self.texts.get(id)
    }

    /// The label or row of this name.
    pub fn id_of(&self, name: &str) -> Option<u32> {
        let place = self.by_name.binary_search_by(|id| self.get(*id as usize).unwrap_or_default().cmp(name)).ok()?;
        self.by_name.get(place).copied()
    }

    /// All names in the order of ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter()
    }

    /// Checks that there is a name for each of `count` labels or rows.
    pub fn check_len(&self, count: usize) -> Result<()> {
        if self.len() == count {
            return Ok(());
        }
        let word = self.of.word();
        Err(Error::value(format!("the names are not those of the {word}s"))
            .expected(format!("{count} names, one for each {word}"))
            .found(self.len().to_string()))
    }

    /// Id and name for a sentence, as in `17 (flu)`; a long name is cut.
    pub fn with_id(&self, id: usize) -> String {
        /// Characters of a name in a sentence.
        const MOST: usize = 60;
        self.get(id).map_or_else(|| id.to_string(), |name| format!("{id} ({})", super::brief(name, MOST)))
    }
}

#[cfg(test)]
mod tests;
