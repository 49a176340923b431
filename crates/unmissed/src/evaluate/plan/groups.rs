//! Groups of labels: head, torso and tail by training frequency, deciles, or any other.
//!
//! In a group the truth is restricted to the group's labels and the predictions stay as ranked. So precision, ndcg and
//! weighted-precision of the groups add up to the total; recall and ndcg-min are those of the group's labels; macro-f and
//! coverage are means over the group's labels.
//!
//! `head/torso/tail` goes by the share of training positives: labels from the most frequent on (ties: smaller label first)
//! until they hold 80 % of all positives, then until 95 %, then the rest, which includes labels never seen. Deciles are tenths
//! of the labels in the same order.
//!
//! ```
//! use unmissed::{data::LabelStats, evaluate::Groups};
//! let stats = LabelStats::from_counts(100, &[1, 80, 15, 4, 0])?;
//! let groups = Groups::by_share(&stats, &[0.8, 0.95])?;
//! assert_eq!(groups.names(), ["head", "torso", "tail"]);
//! assert_eq!((0..5).map(|j| groups.of(j).unwrap()).collect::<Vec<_>>(), [2, 0, 1, 2, 2]);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::table::NO_GROUP;
use crate::data::{KeyedCell, LabelStats, read_keyed_csv};
use crate::error::{Error, Result};
use crate::request::GroupsSpec;
use std::path::Path;

/// A partition of the labels, or of some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    names: Vec<String>,
    of: Vec<u16>,
    about: String,
}

impl Groups {
    /// Groups by label: the index of a name, or `None` for labels outside all groups.
    pub fn new(names: Vec<String>, of: &[Option<u16>], about: impl Into<String>) -> Result<Groups> {
        if names.is_empty() || names.len() >= usize::from(NO_GROUP) {
            return Err(Error::value("the number of groups is wrong").expected("1 to 65534").found(names.len().to_string()));
        }
        if let Some(name) = names.iter().enumerate().find(|(i, name)| *name == "all" || names[..*i].contains(name)) {
            return Err(
                Error::value(format!("the group '{}' is given twice", name.1)).hint("'all' is the name of all labels together")
            );
        }
        if let Some(label) = of.iter().position(|group| group.is_some_and(|g| usize::from(g) >= names.len())) {
            return Err(Error::value(format!("the group of label {label} does not exist"))
                .expected(format!("a group below {}", names.len()))
                .found(format!("{:?}", of[label])));
        }
        Ok(Groups { names, of: of.iter().map(|group| group.unwrap_or(NO_GROUP)).collect(), about: about.into() })
    }

    /// Groups by name, one name for each label.
    pub fn from_names<S: AsRef<str>>(of: &[Option<S>]) -> Result<Groups> {
        let mut names: Vec<String> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut groups = Vec::with_capacity(of.len());
        for name in of {
            groups.push(name.as_ref().map(|name| {
                *places.entry(name.as_ref().to_owned()).or_insert_with(|| {
                    names.push(name.as_ref().to_owned());
                    (names.len() - 1).min(usize::from(NO_GROUP) - 1) as u16
                })
            }));
        }
        Groups::new(names, &groups, "given")
    }

    /// Cuts where the most frequent labels hold these shares of the training positives, ascending.
    pub fn by_share(stats: &LabelStats, cuts: &[f64]) -> Result<Groups> {
        if cuts.is_empty() || cuts.windows(2).any(|c| c[0] >= c[1]) || cuts.iter().any(|c| !(*c > 0.0 && *c < 1.0)) {
            return Err(Error::value("the cuts of the groups are wrong")
                .expected("ascending shares in (0, 1)")
                .found(format!("{cuts:?}")));
        }
        let counts = stats.dense_counts()?;
        let total = stats.positives() as f64;
        let mut of = vec![None; counts.len()];
        let (mut before, mut group) = (0u64, 0u16);
        for label in by_frequency(&counts) {
            while usize::from(group) < cuts.len() && (before as f64 >= cuts[usize::from(group)] * total || counts[label] == 0) {
                group += 1;
            }
            of[label] = Some(group);
            before += counts[label];
        }
        let shares: Vec<String> = cuts.iter().map(|cut| format!("{}", cut * 100.0)).collect();
        Groups::new(
            names(cuts.len() + 1),
            &of,
            format!("cut at {} % of training positives, most frequent labels first", shares.join(" and ")),
        )
    }

    /// Cuts at counts of training positives, descending: labels with at least the first count come first.
    pub fn by_counts(stats: &LabelStats, cuts: &[u64]) -> Result<Groups> {
        if cuts.is_empty() || cuts.windows(2).any(|c| c[0] <= c[1]) {
            return Err(Error::value("the cuts of the groups are wrong").expected("descending counts").found(format!("{cuts:?}")));
        }
        let of: Vec<Option<u16>> = stats
            .dense_counts()?
            .iter()
            .map(|count| Some(cuts.iter().position(|cut| count >= cut).unwrap_or(cuts.len()) as u16))
            .collect();
        Groups::new(names(cuts.len() + 1), &of, format!("cut at {cuts:?} training positives"))
    }

    /// Tenths of the labels, most frequent first.
    pub fn deciles(stats: &LabelStats) -> Result<Groups> {
        let counts = stats.dense_counts()?;
        let mut of = vec![None; counts.len()];
        for (place, label) in by_frequency(&counts).into_iter().enumerate() {
            of[label] = Some((place * 10 / counts.len()) as u16);
        }
        Groups::new((1..=10).map(|i| format!("decile {i}")).collect(), &of, "tenths of the labels, most frequent first")
    }

    /// The groups of a request. All but those of a file follow from training counts.
    pub fn from_spec(spec: &GroupsSpec, stats: Option<&LabelStats>, labels: u64) -> Result<Groups> {
        let counted = || {
            stats.ok_or_else(|| {
                Error::value(format!("the groups '{spec}' follow from training counts"))
                    .hint("pass the training labels: --train on the command line, train= in Python")
            })
        };
        match spec {
            GroupsSpec::Share(cuts) => Groups::by_share(counted()?, cuts),
            GroupsSpec::Counts(cuts) => Groups::by_counts(counted()?, cuts),
            GroupsSpec::Deciles => Groups::deciles(counted()?),
            GroupsSpec::File(path) => Groups::read(path, labels),
            GroupsSpec::Given => Err(Error::value("the request uses groups that were not passed")),
        }
    }

    /// Reads a csv `label,group`; labels that are not in it belong to no group.
    pub fn read(path: impl AsRef<Path>, labels: u64) -> Result<Groups> {
        let path = path.as_ref();
        let mut of: Vec<Option<String>> = vec![None; usize::try_from(labels).unwrap_or(usize::MAX)];
        for KeyedCell { line, key, text } in read_keyed_csv(path, "label", "group", labels)? {
            if text.is_empty() {
                return Err(Error::format(format!("label {key} has no group")).at(line).in_file(path));
            }
            of[key as usize] = Some(text);
        }
        Groups::from_names(&of).map_err(|error| error.in_file(path))
    }

    /// The names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How the groups were made.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The group of a label.
    pub fn of(&self, label: u32) -> Option<u16> {
        self.of.get(label as usize).copied().filter(|group| *group != NO_GROUP)
    }

    /// Number of labels, in groups or not.
    pub fn labels(&self) -> usize {
        self.of.len()
    }

    pub(in crate::evaluate) fn codes(&self) -> &[u16] {
        &self.of
    }
}

fn by_frequency(counts: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|label| std::cmp::Reverse(counts[*label]));
    order
}

fn names(count: usize) -> Vec<String> {
    match count {
        2 => ["head", "tail"].map(String::from).to_vec(),
        3 => ["head", "torso", "tail"].map(String::from).to_vec(),
        _ => (1..=count).map(|i| format!("group {i}")).collect(),
    }
}
