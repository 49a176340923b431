//! Pairs that may not be predicted: they are removed from predictions before the top k is selected.
//!
//! Two kinds are common. The `LF-*` data sets of the extreme classification repository come with `filter_labels_train.txt` and
//! `filter_labels_test.txt`, pairs of a row and a label that are the same thing; and users should not be recommended items that
//! they have already seen. Files have a pair `row label` per line, both counted from 0.

use super::{Csr, Labels, Source};
use crate::error::{Error, Result, shown};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// See the module's page.
///
/// ```
/// use unmissed::data::{IgnoredPairs, Scores};
/// let ignored = IgnoredPairs::from_pairs(2, 5, [(1, 4), (0, 3), (1, 4)])?;
/// let scores = Scores::new(5, vec![0, 2, 3], vec![3, 0, 4], vec![0.9, 0.8, 0.7])?;
/// assert_eq!(ignored.remove_from(&scores)?.offsets(), [0, 1, 1]);
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IgnoredPairs {
    /// By row, ascending.
    labels: Labels<'static>,
}

/// What tells two sets of ignored pairs apart: it does not depend on their order, and those of parts add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoredDigest {
    /// How many pairs.
    pub pairs: u64,
    /// The sum of their hashes.
    pub hash: [u64; 2],
}

impl IgnoredDigest {
    /// Adds the pair of a row and a label.
    pub(crate) fn add(&mut self, row: u64, label: u32) {
        let pair = row << 32 | u64::from(label);
        self.pairs += 1;
        for (hash, key) in self.hash.iter_mut().zip([0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03u64]) {
            *hash = hash.wrapping_add(mixed(pair.wrapping_mul(key).wrapping_add(key)));
        }
    }

    /// That of both parts.
    pub(crate) fn and(self, other: IgnoredDigest) -> IgnoredDigest {
        let hash = [0, 1].map(|place| self.hash[place].wrapping_add(other.hash[place]));
        IgnoredDigest { pairs: self.pairs.saturating_add(other.pairs), hash }
    }
}

/// The output function of SplitMix64.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl IgnoredPairs {
    /// The entries of a matrix.
    pub fn new(labels: Labels<'static>) -> IgnoredPairs {
        IgnoredPairs { labels: labels.into_sorted() }
    }

    /// Pairs in any order; the same pair may occur several times.
    pub fn from_pairs(rows: usize, labels: u64, pairs: impl IntoIterator<Item = (usize, u32)>) -> Result<IgnoredPairs> {
        let mut pairs: Vec<(usize, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        pairs.dedup();
        Ok(IgnoredPairs { labels: Labels::from_pairs(rows, labels, pairs)? })
    }

    /// Reads a file with `row label` per line, for so many rows and labels.
    pub fn read(path: impl AsRef<Path>, rows: usize, labels: usize) -> Result<IgnoredPairs> {
        let path = path.as_ref();
        let bytes = Source::open(path, true)?.into_bytes()?;
        let mut pairs = Vec::new();
        for (line, text) in (1..).zip(bytes.as_ref().split(|byte| *byte == b'\n')) {
            let mut fields = text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
            let (row, label) = match (fields.next(), fields.next(), fields.next()) {
                // An empty line at the end, or between parts that were put together.
                (None, ..) => continue,
                (Some(row), Some(label), None) => (row, label),
                _ => {
                    return Err(Error::format("cannot read an ignored pair")
                        .expected("two whole numbers 'row label'")
                        .found(shown(text))
                        .at(line)
                        .in_file(path));
                }
            };
            let below = |what: &str, field: &[u8], below: usize| {
                let number = std::str::from_utf8(field).ok().and_then(|field| field.parse::<u64>().ok());
                number.filter(|number| *number < below as u64).ok_or_else(|| {
                    let expected = if below == 0 { format!("no {what}") } else { format!("a {what} from 0 to {}", below - 1) };
                    Error::format(format!("the {what} of an ignored pair is out of range"))
                        .expected(expected)
                        .found(shown(field))
                        .hint("rows are those of the predictions; both are counted from 0")
                        .at(line)
                        .in_file(path)
                })
            };
            pairs.push((below("row", row, rows)? as usize, below("label", label, labels)? as u32));
        }
        IgnoredPairs::from_pairs(rows, labels as u64, pairs)
    }

    /// The ignored labels of each row, ascending.
    pub fn labels(&self) -> &Labels<'static> {
        &self.labels
    }

    /// What tells it from other sets of pairs.
    pub fn digest(&self) -> IgnoredDigest {
        let mut digest = IgnoredDigest::default();
        for row in 0..self.labels.rows() {
            self.labels.row_ids(row).iter().for_each(|label| digest.add(row as u64, *label));
        }
        digest
    }

    /// Rejects pairs that are not about so many rows and labels.
    pub fn check(&self, rows: usize, labels: usize) -> Result<()> {
        let found = (self.labels.rows(), self.labels.cols());
        if found == (rows, labels) {
            return Ok(());
        }
        Err(Error::value("the ignored pairs do not fit the predictions")
            .expected(format!("pairs of {rows} rows and {labels} labels"))
            .found(format!("{} rows and {} labels", found.0, found.1))
            .hint("row i of one must be row i of the other"))
    }

    /// Scores without those of ignored pairs.
    pub fn remove_from(&self, scores: &Csr<'_, f32>) -> Result<Csr<'static, f32>> {
        self.check(scores.rows(), scores.cols())?;
        let keep = |row: usize, label: u32, _| self.labels.row_ids(row).binary_search(&label).is_err().then_some(label);
        scores.filter_map(scores.cols() as u64, keep)
    }

    /// How many of the pairs are entries of another matrix of the same size.
    pub(crate) fn shared_with(&self, other: &Labels<'_>) -> u64 {
        let shared = |row: usize| {
            let ignored = self.labels.row_ids(row);
            if ignored.is_empty() { 0 } else { other.row_ids(row).iter().filter(|id| ignored.binary_search(id).is_ok()).count() }
        };
        (0..other.rows()).map(shared).sum::<usize>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IgnoredPairs> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("filter_labels_test.txt");
        std::fs::write(&path, text).unwrap();
        IgnoredPairs::read(&path, 3, 10)
    }

    #[test]
    fn filter_files_are_read_in_any_order() {
        let pairs = read("2 9\n0\t1\r\n2 0\n2 9\n\n").unwrap();
        assert_eq!(pairs, IgnoredPairs::from_pairs(3, 10, [(0, 1), (2, 0), (2, 9)]).unwrap());
        assert_eq!(pairs.digest().pairs, 3);
        assert_eq!(read("").unwrap().digest(), IgnoredDigest::default());
    }

    #[test]
    fn broken_lines_are_located() {
        for (text, expected) in [
            ("0 1\n3 1\n", ":2: the row of an ignored pair is out of range: expected a row from 0 to 2, found \"3\""),
            ("0 10\n", ":1: the label of an ignored pair is out of range: expected a label from 0 to 9, found \"10\""),
            ("0 -1\n", ":1: the label of an ignored pair is out of range"),
            ("0 1\n\n1\n", ":3: cannot read an ignored pair: expected two whole numbers 'row label', found \"1\""),
            ("0 1 2\n", ":1: cannot read an ignored pair"),
            ("0,1\n", ":1: cannot read an ignored pair"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn digests_of_parts_add_up_in_any_order() {
        let all = read("0 1\n1 2\n2 3\n").unwrap().digest();
        let [a, b] = ["2 3\n0 1\n", "1 2\n"].map(|text| read(text).unwrap().digest());
        assert_eq!((a.and(b), b.and(a)), (all, all));
        assert_ne!(read("0 1\n1 2\n2 4\n").unwrap().digest(), all);
        assert_ne!(read("1 0\n").unwrap().digest(), read("0 1\n").unwrap().digest());
    }
}
