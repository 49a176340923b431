//! What labels and rows are called, where that is known.

use crate::data::{Dataset, Names, Texts};
use crate::error::{Error, Result};

/// Names of labels and test rows, and texts of test rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naming<'a> {
    /// Names of labels.
    pub labels: Option<&'a Names>,
    /// Names of test rows.
    pub rows: Option<&'a Names>,
    /// Texts of test rows, for people who look at them.
    pub texts: Option<&'a Texts>,
}

impl Naming<'_> {
    /// That there is one for each.
    pub(super) fn check(&self, test: &Dataset<'_>) -> Result<()> {
        self.labels.map_or(Ok(()), |names| names.check_len(test.labels().cols()))?;
        self.rows.map_or(Ok(()), |names| names.check_len(test.rows()))?;
        match self.texts {
            Some(texts) if texts.len() != test.rows() => Err(Error::value("the texts are not those of the test rows")
                .expected(format!("{} texts, one for each row", test.rows()))
                .found(texts.len().to_string())),
            _ => Ok(()),
        }
    }

    /// The name of a label.
    pub(super) fn label(&self, label: u32) -> Option<String> {
        self.labels.and_then(|names| names.get(label as usize)).map(str::to_owned)
    }
}
