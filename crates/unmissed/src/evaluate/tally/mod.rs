//! What the pass leaves: sums by chunk of rows and whole numbers by label. Tallies of shards merge; the finish reads no data.
//!
//! A run is a tally and its finish, so a run in one piece and merged shards give the same bytes.

mod file;
pub(in crate::evaluate) mod labels;
pub(in crate::evaluate) mod layout;

use self::labels::{LabelTally, Positives};
use crate::error::{Error, Result};
use crate::evaluate::pass::chunk::CHUNK;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::plan::table::Table;
use std::collections::BTreeMap;

/// The tally of one evaluation, or of a shard of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    pub(in crate::evaluate) settings: Settings,
    pub(in crate::evaluate) table: Table,
    /// Sums by chunk of rows, by the chunk's number.
    pub(in crate::evaluate) chunks: BTreeMap<u64, Vec<f64>>,
    /// By model.
    pub(in crate::evaluate) labels: Vec<LabelTally>,
    pub(in crate::evaluate) positives: Positives,
    /// What the bootstrap draws from, when there is one.
    pub(in crate::evaluate) entries: Option<Entries>,
}

/// Rows as the bootstrap needs them, listed by label.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct Entries {
    /// By model: (label, row, 2 rank + 1 if it is a hit).
    pub(in crate::evaluate) predicted: Vec<Vec<[u32; 3]>>,
    /// (label, row).
    pub(in crate::evaluate) positives: Vec<[u32; 2]>,
}

impl Tally {
    /// The number of rows that it covers.
    pub fn rows(&self) -> u64 {
        let chunk = CHUNK as u64;
        self.chunks.keys().map(|number| ((number + 1) * chunk).min(self.settings.rows) - number * chunk).sum()
    }

    /// Merges the tallies of shards, in any order. They must come from the same evaluation and must not overlap.
    pub fn merge(tallies: impl IntoIterator<Item = Tally>) -> Result<Tally> {
        let mut tallies = tallies.into_iter();
        let Some(mut all) = tallies.next() else {
            return Err(Error::value("nothing to merge").expected("at least one tally"));
        };
        for other in tallies {
            all = all.and(other)?;
        }
        Ok(all)
    }

    fn and(mut self, mut other: Tally) -> Result<Tally> {
        if self.settings != other.settings {
            return Err(Error::value("these tallies are not shards of the same evaluation")
                .expected("the same data, models, metrics and settings in every shard")
                .found(difference(&self.settings, &other.settings)));
        }
        if let Some(chunk) = other.chunks.keys().find(|chunk| self.chunks.contains_key(chunk)) {
            return Err(Error::value("two tallies cover the same rows")
                .found(format!("row {} in both", chunk * CHUNK as u64))
                .hint("give each shard once"));
        }
        for tally in [&mut self, &mut other] {
            tally.table = tally.table.restricted(&tally.weighed());
        }
        let table = self.table.union(&other.table).map_err(|label| {
            Error::value("these tallies are not shards of the same evaluation")
                .expected("the same propensities, weights and groups in every shard")
                .found(format!("different ones for label {label}"))
        })?;
        self.chunks.append(&mut other.chunks);
        let entries = match (self.entries, other.entries) {
            (Some(mut a), Some(b)) => {
                a.predicted.iter_mut().zip(b.predicted).for_each(|(a, b)| a.extend(b));
                a.positives.extend(b.positives);
                Some(a)
            }
            _ => None,
        };
        let labels = self.labels.iter().zip(&other.labels).map(|(a, b)| a.merge(b)).collect();
        Ok(Tally { positives: self.positives.merge(&other.positives), table, labels, entries, ..self })
    }

    /// Labels that the finish looks up, ascending: the positive ones, and if need be the predicted ones.
    pub(in crate::evaluate) fn weighed(&self) -> Vec<u32> {
        let mut labels = self.positives.ids.clone();
        if self.settings.weighs_predicted() {
            self.labels.iter().for_each(|tally| labels.extend(&tally.ids));
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The sums of all rows, chunk by chunk in order; an error when chunks are missing.
    pub(in crate::evaluate) fn totals(&self, len: usize) -> Result<Vec<f64>> {
        let chunks = self.settings.rows.div_ceil(CHUNK as u64);
        if self.chunks.len() as u64 != chunks {
            return Err(Error::value("some shards are missing")
                .expected(format!("{} rows", self.settings.rows))
                .found(format!("{}", self.rows()))
                .hint("merge the tallies of all shards"));
        }
        let mut totals = vec![0.0; len];
        for sums in self.chunks.values() {
            totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        Ok(totals)
    }
}

/// Which setting differs, for the message.
fn difference(a: &Settings, b: &Settings) -> String {
    let both = [a, b].map(|s| serde_json::to_value(s).unwrap_or_default());
    let keys = both[0].as_object().map(|object| object.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let differing: Vec<String> = keys.into_iter().filter(|key| both[0][key] != both[1][key]).collect();
    format!("different {}", differing.join(", "))
}
