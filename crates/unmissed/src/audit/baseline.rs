//! An earlier audit to compare with: which rows it was about, and the top lists of its models.
//!
//! `FILE` has the result as JSON, `FILE.rows.npz` beside it the lists: a sparse matrix of scipy, the rows of all models below each other,
//! with k for the label at the first rank, k - 1 at the second, and so on. Both hold a checksum, so that lists of another audit and test
//! rows that have changed are noticed.

use super::builder::Audit;
use super::result::AuditResult;
use crate::data::formats::{self, Content, ReadOptions};
use crate::data::{Csr, Labels, Output, Source, printable_json};
use crate::error::{Error, Result};
use crate::top_k::top_k;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The test rows of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "the test rows of an audit")]
pub struct TestRows {
    /// How many rows.
    pub rows: u64,
    /// How many labels.
    pub labels: u64,
    /// BLAKE3 checksum of their observed labels.
    pub blake3: String,
}

impl TestRows {
    pub(super) fn of(labels: &Labels<'_>) -> TestRows {
        TestRows { rows: labels.rows() as u64, labels: labels.cols() as u64, blake3: checksum(labels) }
    }
}

/// The top lists that an audit keeps in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "the models of the top lists")]
pub struct KeptLists {
    /// The models, in the order of the file.
    pub models: Vec<String>,
    /// Labels per row.
    pub depth: usize,
    /// BLAKE3 checksum of the lists.
    pub blake3: String,
}

/// What of an audit's JSON a comparison needs.
#[derive(Deserialize)]
#[serde(expecting = "an audit")]
struct Kept {
    test_rows: TestRows,
    top_lists: Option<KeptLists>,
}

/// An earlier audit.
#[derive(Clone, Debug)]
pub struct Baseline {
    test: TestRows,
    depth: usize,
    models: Vec<(String, Csr<'static, f32>)>,
}

impl Baseline {
    /// Reads what [`Audit::write_json`] wrote.
    pub fn read(path: impl AsRef<Path>) -> Result<Baseline> {
        let path = path.as_ref();
        let bytes = Source::open(path, true)?.into_bytes()?;
        let kept: Kept = serde_json::from_slice(bytes.as_ref()).map_err(|cause| {
            Error::format(format!("this file is not an audit to compare with ({cause})"))
                .expected("a file that 'unmissed audit --json' wrote")
                .in_file(path)
        })?;
        let no_lists = || {
            Error::value("this audit has no top lists, but a paired comparison needs them")
                .hint("write it with 'unmissed audit --json FILE', which puts FILE.rows.npz beside it")
                .in_file(path)
        };
        let lists = kept.top_lists.ok_or_else(no_lists)?;
        let beside = lists_path(path);
        let matrix = formats::read_scores(&beside, &ReadOptions::default())?;
        let other = |expected: String, found: String| {
            Error::value("these are not the top lists of the audit").expected(expected).found(found).in_file(&beside)
        };
        let rows = kept.test_rows.rows as usize;
        if rows.checked_mul(lists.models.len()) != Some(matrix.rows()) || matrix.cols() as u64 != kept.test_rows.labels {
            let expected = format!("{} models with {rows} rows each, {} labels", lists.models.len(), kept.test_rows.labels);
            return Err(other(expected, format!("{} rows, {} labels", matrix.rows(), matrix.cols())));
        }
        let found = checksum(&matrix.pattern());
        if found != lists.blake3 {
            return Err(other(format!("the checksum {}", lists.blake3), found));
        }
        let of_model = |place: usize| matrix.select_rows(&(place * rows..(place + 1) * rows).collect::<Vec<_>>());
        let models = lists.models.iter().enumerate().map(|(place, name)| (name.clone(), of_model(place))).collect();
        Ok(Baseline { test: kept.test_rows, depth: lists.depth, models })
    }

    /// The models with their lists.
    pub(super) fn models(&self) -> &[(String, Csr<'static, f32>)] {
        &self.models
    }

    /// Differences are paired by rows, so these have to be the same.
    pub(super) fn check(&self, test: &Labels<'_>, depth: usize) -> Result<()> {
        let words = |of: &TestRows| format!("{} rows, {} labels, checksum {}", of.rows, of.labels, of.blake3);
        let here = TestRows::of(test);
        if here != self.test {
            return Err(Error::value("the earlier audit has other test rows, or their labels have changed")
                .expected(words(&self.test))
                .found(words(&here))
                .hint("audit the earlier predictions again with these test labels, and write that with --json"));
        }
        if depth > self.depth {
            return Err(Error::value("the top lists of the earlier audit are too short for this k")
                .expected(format!("k up to {}", self.depth))
                .found(format!("k = {depth}"))
                .hint("ask for a smaller k, or audit the earlier predictions again with this one"));
        }
        Ok(())
    }
}

impl Audit<'_> {
    /// Writes a result of this audit as JSON into a file, and beside it the top lists that a later audit needs to be compared with it.
    pub fn write_json(&self, result: &mut AuditResult, path: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        let path = path.as_ref();
        let depth = self.request.k.largest();
        let lists = self.top_lists(depth)?;
        let models = self.models.iter().map(|(name, _)| name.clone()).collect();
        result.top_lists = Some(KeptLists { models, depth, blake3: checksum(&lists.pattern()) });
        let beside = lists_path(path);
        let json = serde_json::to_string(&*result).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")))?;
        formats::write(&Content::Scores(lists), &beside, Some("npz"))?;
        let mut output = Output::create(path)?;
        output.put(printable_json(&json).as_bytes())?;
        output.finish()?;
        Ok(vec![path.to_path_buf(), beside])
    }

    /// The labels that each model puts first, models below each other.
    fn top_lists(&self, depth: usize) -> Result<Csr<'static, f32>> {
        let rows: Vec<Vec<(u32, f32)>> = self
            .models
            .iter()
            .flat_map(|(_, scores)| {
                let list = |(scratch, top): &mut (Vec<u64>, Vec<u32>), row: usize| {
                    let (ids, values) = scores.row(row);
                    top.resize(depth, 0);
                    let count = top_k(ids, values, scratch, top);
                    top[..count].iter().enumerate().map(|(rank, label)| (*label, (depth - rank) as f32)).collect()
                };
                (0..scores.rows()).into_par_iter().map_init(Default::default, list).collect::<Vec<_>>()
            })
            .collect();
        Csr::from_rows(self.test.labels().cols() as u64, rows)
    }
}

/// Where the top lists of an audit in a file are.
fn lists_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".rows.npz");
    name.into()
}

/// A checksum of which labels which rows have.
fn checksum(labels: &Labels<'_>) -> String {
    // Labels of a row have no order.
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(labels.cols() as u64).to_le_bytes());
    let mut sorted = Vec::new();
    for row in 0..labels.rows() {
        sorted.clear();
        sorted.extend_from_slice(labels.row_ids(row));
        sorted.sort_unstable();
        hasher.update(&(sorted.len() as u64).to_le_bytes());
        hasher.update(bytemuck::cast_slice(&sorted));
    }
    hasher.finalize().to_hex().to_string()
}
