//! The result of the pass: totals over rows and whole numbers by label. Tallies of parts of the rows merge; the finish reads no
//! data.
//!
//! Nothing in a tally depends on how its rows were cut into parts or in which order those were merged: counts are whole numbers,
//! totals are kept in fixed point ([`fixed`]) or exactly ([`exact`]), and lists are sorted. So threads, shards, batches of a stream and
//! machines give the same bytes. A run in one piece is a tally and its finish.

mod covered;
mod entries;
pub(in crate::evaluate) mod exact;
pub(in crate::evaluate) mod exact_layout;
mod file;
pub(in crate::evaluate) mod fixed;
pub(in crate::evaluate) mod labels;
pub(in crate::evaluate) mod layout;
pub(in crate::evaluate) mod open;
pub(in crate::evaluate) mod precise;
pub(in crate::evaluate) mod row_sample;
pub(in crate::evaluate) mod sums;

pub(in crate::evaluate) use self::covered::Covered;
pub(in crate::evaluate) use self::entries::Entries;

use self::labels::{LabelTally, Positives};
use self::open::{MOST_NUMBERS, Open};
use self::row_sample::RowSample;
use self::sums::Totals;
use crate::error::{Error, Result};
use crate::evaluate::findings::Finding;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::plan::table::Table;

/// The tally of one evaluation, or of a part of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    pub(in crate::evaluate) settings: Settings,
    pub(in crate::evaluate) table: Table,
    pub(in crate::evaluate) covered: Covered,
    pub(in crate::evaluate) totals: Totals,
    /// By model.
    pub(in crate::evaluate) labels: Vec<LabelTally>,
    pub(in crate::evaluate) positives: Positives,
    /// What the bootstrap draws from, when there is one.
    pub(in crate::evaluate) entries: Option<Entries>,
    /// Single rows, when the finish needs them.
    pub(in crate::evaluate) sample: Option<RowSample>,
    /// For a stream: what is settled only after the last row.
    pub(in crate::evaluate) open: Option<Open>,
}

impl Tally {
    /// The number of rows that it covers.
    pub fn rows(&self) -> u64 {
        self.covered.rows() + self.open.as_ref().map_or(0, |open| open.scattered)
    }

    /// Merges the tallies of parts of the rows, in any order. They must come from the same evaluation and must not overlap.
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

    /// Both together. Streams that numbered their rows themselves are put behind each other.
    pub(in crate::evaluate) fn and(mut self, mut other: Tally) -> Result<Tally> {
        if self.open.as_ref().is_some_and(|open| open.automatic) {
            other.put_behind(self.covered.end())?;
        }
        let depth = self.settings.depth.max(other.settings.depth);
        for tally in [&mut self, &mut other].into_iter().filter(|tally| tally.open.is_some()) {
            let from = std::mem::replace(&mut tally.settings.depth, depth);
            tally.sample.iter_mut().for_each(|sample| sample.widen(from, depth));
        }
        // Parts may differ in what was found about them.
        let findings = std::mem::take(&mut self.settings.findings);
        check_parts((&self.settings, self.open.is_some()), &other)?;
        let covered = self.covered.union(&other.covered).map_err(twice)?;
        for tally in [&mut self, &mut other] {
            let weighed = tally.weighed();
            if tally.table.ids.as_ref() != Some(&weighed) {
                tally.table = tally.table.restricted(&weighed);
            }
        }
        let table = std::mem::take(&mut self.table).union(&other.table).map_err(differ_at)?;
        check_bounds(&self.settings, &other.settings)?;
        self.settings.findings = both(findings, std::mem::take(&mut other.settings.findings));
        let (seed, depth) = (self.settings.request.seed, self.settings.depth);
        let sample = match (&self.sample, &other.sample) {
            (Some(a), Some(b)) => Some(RowSample::merge(&[a, b], seed, depth).map_err(|row| twice(u64::from(row)))?),
            _ => None,
        };
        self.totals.merge(&other.totals);
        let entries = self.entries.zip(other.entries).map(|(a, b)| a.merge(b));
        self.labels.iter_mut().zip(&other.labels).for_each(|(a, b)| a.add(b));
        let mut covered = covered;
        let mut open = self.open.take().zip(other.open).map(|(a, b)| a.and(b));
        open.iter_mut().for_each(|open| open.bound(&mut covered));
        Ok(Tally { positives: self.positives.merge(&other.positives), table, entries, sample, covered, open, ..self })
    }

    /// Puts a stream that numbered its rows itself behind so many rows of another one that did, too.
    pub(in crate::evaluate) fn put_behind(&mut self, by: u64) -> Result<()> {
        if !self.open.as_ref().is_some_and(|open| open.automatic) {
            return Ok(());
        }
        self.covered = self.covered.shifted(by);
        if self.covered.end() > MOST_NUMBERS {
            return Err(too_many_rows(self.covered.end()));
        }
        self.sample.iter_mut().for_each(|sample| sample.shift(by as u32));
        Ok(())
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

    /// That no rows are missing.
    pub(in crate::evaluate) fn check_complete(&self) -> Result<()> {
        if self.rows() == self.settings.rows {
            return Ok(());
        }
        Err(Error::value("some shards are missing")
            .expected(format!("{} rows", self.settings.rows))
            .found(self.rows().to_string())
            .hint("merge the tallies of all shards"))
    }
}

/// The findings of either, each once; the same in whatever order tallies are merged.
fn both(mut ours: Vec<Finding>, theirs: Vec<Finding>) -> Vec<Finding> {
    if ours != theirs {
        ours.extend(theirs);
        ours.sort_by(|a, b| (&a.code, &a.message).cmp(&(&b.code, &b.message)));
        ours.dedup();
    }
    ours
}

/// That the settings of a part are those of the others, except for bounds and findings; streams merge with streams.
pub(in crate::evaluate) fn check_parts((settings, is_open): (&Settings, bool), other: &Tally) -> Result<()> {
    let not_parts = || Error::value("these tallies are not parts of the same evaluation");
    if is_open != other.open.is_some() {
        return Err(not_parts().expected("parts of a stream, or parts of data of known size").found("one of each"));
    }
    let theirs = &other.settings;
    let alike = Settings { bounds: theirs.bounds.clone(), findings: theirs.findings.clone(), ..settings.clone() };
    if alike != *theirs {
        let expected = "the same data, models, metrics and settings in every part";
        return Err(not_parts().expected(expected).found(difference(&alike, theirs)));
    }
    Ok(())
}

/// Bounds follow from all labels, also from those that no row has.
pub(in crate::evaluate) fn check_bounds(a: &Settings, b: &Settings) -> Result<()> {
    if a.bounds == b.bounds { Ok(()) } else { Err(differ("labels that these rows do not have")) }
}

/// Parts that know something else about a label.
pub(in crate::evaluate) fn differ_at(label: u32) -> Error {
    differ(&format!("label {label}"))
}

fn differ(which: &str) -> Error {
    Error::value("these tallies are not parts of the same evaluation")
        .expected("the same propensities, weights and groups in every part")
        .found(format!("different ones for {which}"))
}

/// A row that both parts have.
pub(in crate::evaluate) fn twice(row: u64) -> Error {
    Error::value("two tallies cover the same rows").found(format!("row {row} in both")).hint("give each shard once")
}

/// More rows than numbers.
pub(in crate::evaluate) fn too_many_rows(rows: u64) -> Error {
    Error::value("too many rows for one evaluation")
        .expected(format!("at most {MOST_NUMBERS}"))
        .found(rows.to_string())
        .hint("evaluate parts of the rows")
}

/// Which settings differ, for the message: those of the request by their own names.
fn difference(a: &Settings, b: &Settings) -> String {
    let both = [a, b].map(|settings| serde_json::to_value(settings).unwrap_or_default());
    let differing = |a: &serde_json::Value, b: &serde_json::Value| -> Vec<String> {
        let keys = a.as_object().into_iter().flat_map(|object| object.keys());
        keys.filter(|key| a[key.as_str()] != b[key.as_str()]).cloned().collect()
    };
    let mut names = differing(&both[0]["request"], &both[1]["request"]);
    let others = differing(&both[0], &both[1]).into_iter().filter(|name| name != "request");
    // What is computed follows from what was asked for, notes from both, and the sizes of groups from the labels.
    let follows = |name: &String, known: &[String]| match name.as_str() {
        "notes" => !known.is_empty(),
        "groups" => known.iter().any(|known| known == "labels"),
        _ => known.contains(name),
    };
    let mut others: Vec<String> = others.collect();
    others.sort_by_key(|name| (name == "groups", name == "notes"));
    for name in others {
        if !follows(&name, &names) {
            names.push(name);
        }
    }
    format!("different {}", names.join(", "))
}
