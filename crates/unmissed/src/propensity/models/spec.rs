//! [`PropensitySpec`]: the requested propensities, checked before any data are read.

use super::{parse, preset_of};
use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::propensity::rows::RowModel;
use crate::propensity::{Phi, Propensities, Propensity, RowPropensities, table_file};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A checked propensity model. Its text is the canonical spec string, every constant written out; serialised it is that
/// string.
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::models::PropensitySpec;
/// let spec: PropensitySpec = "power:gamma=0.5".parse()?;
/// assert_eq!(spec.to_string(), "power:relative,gamma=0.5");
/// let stats = LabelStats::from_counts(1000, &[25, 100])?;
/// assert_eq!(spec.propensities(&stats)?.values(), [0.5, 1.0]);
/// let error = spec.read(None, 2).unwrap_err().to_string();
/// assert!(error.contains("depends on training counts"), "{error}");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PropensitySpec {
    /// A curve in the label's frequency.
    Curve(Phi),
    /// Values by label, from a file.
    Table(PathBuf),
    /// Row-dependent propensities, from the file of a fitted model.
    Rows(PathBuf),
}

impl PropensitySpec {
    /// The curve, when it is one.
    pub fn curve(&self) -> Option<&Phi> {
        match self {
            PropensitySpec::Curve(phi) => Some(phi),
            PropensitySpec::Table(_) | PropensitySpec::Rows(_) => None,
        }
    }

    /// Whether the propensities depend on the row.
    pub fn is_row_dependent(&self) -> bool {
        matches!(self, PropensitySpec::Rows(_))
    }

    /// A propensity for each label of the training data.
    pub fn propensities(&self, train: &LabelStats) -> Result<Propensities> {
        self.per_label(Some(train), train.labels())
    }

    /// A propensity for each of `labels` labels: a curve needs the training labels, a table does not. An error says what is
    /// missing, or that there is no such number because the propensities depend on the row.
    pub fn per_label(&self, train: Option<&LabelStats>, labels: u64) -> Result<Propensities> {
        match self {
            PropensitySpec::Curve(phi) => {
                let train = train.ok_or_else(|| {
                    Error::value(format!("'{self}' depends on training counts"))
                        .hint("give the training labels (--train, in Python train=), or propensities of your own (table:FILE)")
                })?;
                let propensities = phi.propensities(train)?;
                Ok(match preset_of(phi) {
                    Some(preset) => propensities.with_note(format!("constants '{}': {}", preset.name, preset.about)),
                    None => propensities,
                })
            }
            PropensitySpec::Table(path) => table_file::read(path, Some(labels)),
            PropensitySpec::Rows(_) => Err(Error::value(format!("'{self}' depends on the row"))
                .expected("one propensity per label: a curve or a table")
                .hint("row-dependent propensities are for evaluation")),
        }
    }

    /// The propensities themselves, per label or row-dependent, for data with `labels` labels.
    pub fn read(&self, train: Option<&LabelStats>, labels: u64) -> Result<Propensity> {
        match self {
            PropensitySpec::Rows(path) => Ok(RowPropensities::new(self.clone(), RowModel::read(path)?).into()),
            PropensitySpec::Curve(_) | PropensitySpec::Table(_) => Ok(self.per_label(train, labels)?.into()),
        }
    }
}

impl fmt::Display for PropensitySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PropensitySpec::Curve(phi) => f.write_str(&phi.spec()),
            PropensitySpec::Table(path) => write!(f, "table:{}", path.display()),
            PropensitySpec::Rows(path) => write!(f, "rows:{}", path.display()),
        }
    }
}

impl std::str::FromStr for PropensitySpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text)
    }
}

impl TryFrom<String> for PropensitySpec {
    type Error = Error;

    /// What was written is read back as it was: also a fitted curve that leaves (0, 1] where the data have no label, which
    /// [`parse`] refuses from users.
    fn try_from(text: String) -> Result<Self> {
        text.parse().map(PropensitySpec::Curve).or_else(|_| parse(&text))
    }
}

impl From<PropensitySpec> for String {
    fn from(spec: PropensitySpec) -> String {
        spec.to_string()
    }
}
