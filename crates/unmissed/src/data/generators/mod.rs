//! Generators: data whose truth is known, one file each.
//!
//! A generator is an entry of [`GENERATORS`]. It lists its [`GeneratorParameter`]s, from which the command line makes its flags;
//! [`GeneratorSettings`] has the requested values, checked by name when they are set and by type when they are read. The result is
//! a [`Generated`]: data sets and tables, each under the stem of its file. Adding a
//! generator is one new file and one line in the list.
//!
//! Every row and every label has a random stream of its own, so the data depend on the seed and the settings only, never on
//! the number of threads.

pub mod balls;
pub mod ratings;
pub mod survey;

#[cfg(feature = "experiments")]
pub(crate) use survey::world::draw as draw_items;

use super::Dataset;
use crate::error::{Error, Result};
use crate::sealed::Sealed;
use crate::spec::{self, Named};
use std::fmt::Write;
use std::str::FromStr;

/// All generators.
pub static GENERATORS: &[&dyn Generator] = &[&balls::Balls, &survey::Survey, &ratings::Ratings];

/// A way to make data. Only this crate implements it.
pub trait Generator: Named + Sealed + Sync {
    /// What can be chosen, with defaults.
    fn parameters(&self) -> &'static [GeneratorParameter];
    /// Makes the data.
    fn generate(&self, settings: &GeneratorSettings, seed: u64) -> Result<Generated>;
}

/// Makes data by the name of a generator, with some of its parameters changed.
///
/// ```
/// use unmissed::data::generators::generate;
/// let data = generate("balls", &[("labels", "20"), ("train-rows", "300")], 1)?;
/// assert_eq!((data.part("train")?.rows(), data.part("train")?.labels().cols()), (300, 20));
/// assert!(data.part("trian").unwrap_err().to_string().ends_with("did you mean 'train'?"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn generate<S: AsRef<str>>(generator: &str, changes: &[(&str, S)], seed: u64) -> Result<Generated> {
    let generator = spec::find(GENERATORS, "generator", generator)?;
    let mut settings = GeneratorSettings::of(generator);
    changes.iter().try_for_each(|(name, value)| settings.set(name, value.as_ref()))?;
    generator.generate(&settings, seed)
}

/// Something about a generator that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorParameter {
    /// The name, in lower case with hyphens, as the command line takes it.
    pub name: &'static str,
    /// The value unless another is set, as it would be typed.
    pub default: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// Values for the parameters of one generator.
///
/// ```
/// use unmissed::data::generators::{GENERATORS, GeneratorSettings};
/// let mut settings = GeneratorSettings::of(GENERATORS[0]);
/// assert_eq!(settings.whole("labels", 1)?, 100);
/// settings.set("labels", "20")?;
/// assert_eq!(settings.whole("labels", 1)?, 20);
/// let error = settings.set("lables", "20").unwrap_err();
/// assert_eq!(error.to_string(), "unknown parameter of 'balls' 'lables'; did you mean 'labels'?");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GeneratorSettings {
    generator: &'static str,
    values: Vec<(&'static str, String)>,
}

impl GeneratorSettings {
    /// The defaults of a generator.
    pub fn of(generator: &dyn Generator) -> GeneratorSettings {
        let values = generator.parameters().iter().map(|parameter| (parameter.name, parameter.default.to_owned())).collect();
        GeneratorSettings { generator: generator.name(), values }
    }

    /// Sets a parameter; its value is checked when it is used.
    pub fn set(&mut self, name: &str, value: impl Into<String>) -> Result<()> {
        match self.values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, current)) => {
                *current = value.into();
                Ok(())
            }
            None => Err(self.unknown(name)),
        }
    }

    /// The value of a parameter, as typed.
    pub fn get(&self, name: &str) -> Result<&str> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| self.unknown(name))
    }

    /// All parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// A whole number of at least `least`.
    pub fn whole(&self, name: &str, least: u32) -> Result<usize> {
        let number: u32 =
            self.parsed(name, self.get(name)?, &format!("a whole number from {least} to {}", u32::MAX), |n| *n >= least)?;
        Ok(number as usize)
    }

    /// A number for which `accepted` holds; `expected` says in words which ones those are.
    pub fn number(&self, name: &str, expected: &str, accepted: impl Fn(f64) -> bool) -> Result<f64> {
        self.parsed(name, self.get(name)?, expected, |number: &f64| number.is_finite() && accepted(*number))
    }

    /// Two numbers `low,high` with low <= high, for which `accepted` holds; a single number is both.
    pub fn range(&self, name: &str, expected: &str, accepted: impl Fn(f64) -> bool) -> Result<(f64, f64)> {
        let text = self.get(name)?;
        let (low, high) = text.split_once(',').unwrap_or((text, text));
        let number = |text| self.parsed(name, text, expected, |number: &f64| number.is_finite() && accepted(*number));
        match (number(low)?, number(high)?) {
            (low, high) if low <= high => Ok((low, high)),
            _ => Err(self.wrong(name, "the smaller number first", text)),
        }
    }

    /// Refuses matrices that no machine holds, before anybody tries.
    fn check_size(&self, rows: usize, columns: usize) -> Result<()> {
        const MOST: usize = 1 << 34;
        if rows.saturating_mul(columns) <= MOST {
            return Ok(());
        }
        Err(Error::value(format!("'{}' with these parameters is too large", self.generator))
            .expected(format!("at most {MOST} numbers in a matrix"))
            .found(format!("{rows} x {columns}")))
    }

    fn parsed<T: FromStr>(&self, name: &str, text: &str, expected: &str, accepted: impl Fn(&T) -> bool) -> Result<T> {
        text.trim().parse().ok().filter(accepted).ok_or_else(|| self.wrong(name, expected, text))
    }

    /// The error for a value that does not fit.
    fn wrong(&self, name: &str, expected: &str, found: &str) -> Error {
        Error::value(format!("the parameter '{name}' of '{}' does not fit", self.generator))
            .expected(expected)
            .found(format!("'{found}'"))
    }

    fn unknown(&self, name: &str) -> Error {
        let names: Vec<&str> = self.values.iter().map(|(name, _)| *name).collect();
        spec::unknown(&format!("parameter of '{}'", self.generator), name, &names)
    }
}

/// Generated data, ready to be written.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Generated {
    /// Data sets, each with the stem of its file: `train`, `test`, ...
    pub parts: Vec<(&'static str, Dataset<'static>)>,
    /// Tables, to be written as csv.
    pub tables: Vec<GeneratedTable>,
    /// What a user should know about these data, a sentence each.
    pub notes: Vec<String>,
}

impl Generated {
    /// The data set for the file with this stem.
    pub fn part(&self, stem: &str) -> Result<&Dataset<'static>> {
        let found = self.parts.iter().find(|(name, _)| *name == stem).map(|(_, data)| data);
        found.ok_or_else(|| Self::lacks("data set", stem, self.parts.iter().map(|(name, _)| *name)))
    }

    /// The table for the file with this stem.
    pub fn table(&self, stem: &str) -> Result<&GeneratedTable> {
        let found = self.tables.iter().find(|table| table.stem == stem);
        found.ok_or_else(|| Self::lacks("table", stem, self.tables.iter().map(|table| table.stem)))
    }

    fn lacks(what: &str, stem: &str, there: impl Iterator<Item = &'static str>) -> Error {
        spec::unknown(&format!("{what} of generated data"), stem, &there.collect::<Vec<_>>())
    }
}

/// Something known about each label of generated data.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedTable {
    /// The stem of its file.
    pub stem: &'static str,
    /// Names of the numeric columns after `label`.
    pub columns: &'static [&'static str],
    /// The numbers of each label, in the order of labels.
    pub rows: Vec<Vec<f64>>,
}

impl GeneratedTable {
    /// The table as csv with a header. Numbers have the digits that bring them back exactly.
    ///
    /// ```
    /// use unmissed::data::generators::GeneratedTable;
    /// let table = GeneratedTable { stem: "t", columns: &["propensity"], rows: vec![vec![0.5], vec![1.0]] };
    /// assert_eq!(table.to_csv(), "label,propensity\n0,0.5\n1,1\n");
    /// ```
    pub fn to_csv(&self) -> String {
        let mut csv = String::from("label");
        self.columns.iter().for_each(|column| csv.extend([",", *column]));
        for (label, numbers) in self.rows.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(csv, "\n{label}");
            numbers.iter().for_each(|number| {
                let _ = write!(csv, ",{number}");
            });
        }
        csv.push('\n');
        csv
    }
}

/// The stream number of a row: parts have ranges of their own, so that the size of one does not change the rows of another.
fn row_number(part: u64, row: usize) -> u64 {
    (part << 40) + row as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GeneratorSettings of a generator with these changes.
    pub(super) fn settings(generator: &dyn Generator, changes: &[(&str, &str)]) -> GeneratorSettings {
        let mut settings = GeneratorSettings::of(generator);
        changes.iter().for_each(|(name, value)| settings.set(name, *value).unwrap());
        settings
    }

    /// The same result on one thread as on four, and another for another seed.
    pub(super) fn same_on_any_number_of_threads(generator: &dyn Generator, settings: &GeneratorSettings) {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generator.generate(settings, 3).unwrap())
        };
        let one = on(1);
        assert!(one == on(4));
        assert!(one != generator.generate(settings, 4).unwrap());
    }

    #[test]
    fn names_are_unique_and_fit_for_flags() {
        let fit = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let mut names: Vec<&str> = GENERATORS.iter().map(|generator| generator.name()).collect();
        names.dedup();
        assert_eq!(names.len(), GENERATORS.len());
        for generator in GENERATORS {
            let mut names: Vec<&str> = generator.parameters().iter().map(|parameter| parameter.name).collect();
            assert!(fit(generator.name()) && names.iter().all(|name| fit(name)));
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
    }

    /// Data that were generated once must come out again, whatever becomes of a dependency.
    #[test]
    fn generated_data_are_pinned() {
        let points = balls::Balls.generate(&settings(&balls::Balls, &[("train-rows", "100"), ("test-rows", "1")]), 42).unwrap();
        let small = [("users", "50"), ("test-users", "1"), ("controlled-users", "1"), ("items", "100")];
        let users = survey::Survey.generate(&settings(&survey::Survey, &small), 42).unwrap();
        let entries = |data: &Generated, stem| data.part(stem).ok().map(|part| part.labels().nnz());
        let found = [entries(&points, "train"), entries(&users, "train_clean"), entries(&users, "train")];
        assert_eq!((points.tables[0].rows[0][0], found), (0.2437855865640357, [Some(462), Some(282), Some(150)]));
    }

    #[test]
    fn values_that_do_not_fit_name_their_parameter() {
        for (name, value) in
            [("labels", "0"), ("labels", "-3"), ("labels", "x"), ("radius", "0.5,0.2"), ("radius", "0,2"), ("radius", "")]
        {
            let message = balls::Balls.generate(&settings(&balls::Balls, &[(name, value)]), 0).unwrap_err().to_string();
            let expected = format!("the parameter '{name}' of 'balls' does not fit: expected ");
            assert!(message.starts_with(&expected), "{message}");
        }
    }
}
