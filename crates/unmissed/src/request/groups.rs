//! [`GroupsSpec`]: how labels are grouped.

use crate::error::{Error, Result, digits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How labels are grouped.
///
/// ```
/// use unmissed::request::GroupsSpec;
/// assert_eq!("share".parse::<GroupsSpec>()?, GroupsSpec::default());
/// assert_eq!("share".parse::<GroupsSpec>()?.to_string(), "share:0.8,0.95");
/// assert_eq!("counts:100,10".parse::<GroupsSpec>()?, GroupsSpec::Counts(vec![100, 10]));
/// assert!("thirds".parse::<GroupsSpec>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsSpec {
    /// Cut where the most frequent labels hold these shares of the training positives, ascending.
    Share(Vec<f64>),
    /// Cut at these counts of training positives, descending.
    Counts(Vec<u64>),
    /// Tenths of the labels, most frequent first.
    Deciles,
    /// A csv `label,group`.
    File(PathBuf),
    /// Groups that the caller passes along with the data.
    Given,
}

impl Default for GroupsSpec {
    /// Head, torso and tail.
    fn default() -> GroupsSpec {
        GroupsSpec::Share(vec![0.8, 0.95])
    }
}

impl fmt::Display for GroupsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| items.join(",");
        match self {
            GroupsSpec::Share(cuts) => write!(f, "share:{}", list(cuts.iter().map(|cut| digits(*cut)).collect())),
            GroupsSpec::Counts(cuts) => write!(f, "counts:{}", list(cuts.iter().map(u64::to_string).collect())),
            GroupsSpec::Deciles => f.write_str("deciles"),
            GroupsSpec::File(path) => write!(f, "{}", path.display()),
            GroupsSpec::Given => f.write_str("given"),
        }
    }
}

impl FromStr for GroupsSpec {
    type Err = Error;

    /// `share`, `share:0.8,0.95`, `counts:100,10`, `deciles`, or the name of a csv that exists.
    fn from_str(text: &str) -> Result<GroupsSpec> {
        fn cuts<T: FromStr>(text: &str) -> Result<Vec<T>> {
            let parsed = text.split(',').map(|cut| cut.trim().parse().ok()).collect::<Option<Vec<T>>>();
            parsed.ok_or_else(|| {
                Error::value("cannot read the cuts of the groups")
                    .expected("numbers separated by commas")
                    .found(format!("'{text}'"))
            })
        }
        let (name, arguments) = text.split_once(':').map_or((text, None), |(name, cuts)| (name, Some(cuts)));
        match (name, arguments) {
            ("share", None) => Ok(GroupsSpec::default()),
            ("share", Some(text)) => cuts(text).map(GroupsSpec::Share),
            ("counts", Some(text)) => cuts(text).map(GroupsSpec::Counts),
            ("deciles", None) => Ok(GroupsSpec::Deciles),
            _ if Path::new(text).is_file() => Ok(GroupsSpec::File(text.into())),
            _ => Err(Error::value("unknown kind of groups")
                .expected("share, share:0.8,0.95, counts:100,10, deciles, or a csv 'label,group' that exists")
                .found(format!("'{text}'"))),
        }
    }
}
