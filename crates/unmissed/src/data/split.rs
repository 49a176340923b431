//! Rearranging data sets: merging them, keeping frequent labels, splitting rows into training and test.
//!
//! Together they make a new benchmark out of an old one: merge its parts, keep the labels with at least s positives, and
//! split again, so that every label is frequent enough to be masked and still be learned.

use super::csr::{Csr, Labels, checked_cols};
use super::dataset::{Dataset, Dense, Features};
use super::label_stats::LabelStats;
use crate::error::{Error, Result};
use crate::rng::{Purpose, row_key};
use rayon::prelude::*;

/// Labels with fewer rows are dropped unless told otherwise: none.
pub const DEFAULT_MIN_POSITIVES: u64 = 1;
/// Share of the rows that are test rows unless told otherwise.
pub const DEFAULT_TEST_SHARE: f64 = 0.3;

/// The rows of all parts, one part after the other. Dense and sparse features together become sparse.
///
/// ```
/// use unmissed::data::{Dataset, Labels, merge};
/// let train = Dataset::new(None, Labels::from_ids(3, [vec![0], vec![1, 2]])?)?;
/// let test = Dataset::new(None, Labels::from_ids(3, [vec![2]])?)?;
/// let all = merge(&[&train, &test])?;
/// assert_eq!((all.rows(), all.labels().row_ids(2)), (3, &[2][..]));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn merge(parts: &[&Dataset<'_>]) -> Result<Dataset<'static>> {
    let labels = stack(parts.iter().map(|part| part.labels()), "labels")?;
    let features = all_or_none(parts, "features", Dataset::features)?;
    let features = features.map(|features| stack_features(&features)).transpose()?;
    let merged = Dataset::new(features, labels)?;
    match all_or_none(parts, "complete labels", Dataset::complete)? {
        Some(complete) => merged.with_complete(stack(complete.into_iter(), "complete labels")?),
        None => Ok(merged),
    }
}

fn all_or_none<'p, 'a, T>(
    parts: &[&'p Dataset<'a>],
    what: &str,
    get: impl Fn(&'p Dataset<'a>) -> Option<&'p T>,
) -> Result<Option<Vec<&'p T>>> {
    let found: Vec<&T> = parts.iter().filter_map(|part| get(part)).collect();
    match found.len() {
        0 => Ok(None),
        some if some == parts.len() => Ok(Some(found)),
        some => Err(Error::value(format!("only some of the data sets to merge have {what}"))
            .expected(format!("{what} in all {} or in none", parts.len()))
            .found(format!("{what} in {some}"))),
    }
}

pub(super) fn stack<'m, 'a: 'm, V: super::csr::Value>(
    matrices: impl Iterator<Item = &'m Csr<'a, V>>,
    what: &str,
) -> Result<Csr<'static, V>> {
    let matrices: Vec<&Csr<'_, V>> = matrices.collect();
    let Some(first) = matrices.first() else {
        return Err(Error::value("there is nothing to merge").expected("at least one data set").found("none"));
    };
    if let Some(other) = matrices.iter().find(|matrix| matrix.cols() != first.cols()) {
        return Err(Error::value(format!("data sets with different numbers of {what} cannot be merged"))
            .expected(format!("{} {what}, as in the first", first.cols()))
            .found(other.cols().to_string()));
    }
    let (mut offsets, mut ids, mut values) = (vec![0], Vec::new(), Vec::new());
    for matrix in &matrices {
        let base = ids.len() as u64;
        offsets.extend(matrix.offsets()[1..].iter().map(|offset| base + offset));
        ids.extend_from_slice(matrix.ids());
        values.extend_from_slice(matrix.values());
    }
    let sorted = matrices.iter().all(|matrix| matrix.is_sorted());
    Ok(Csr::from_checked(checked_cols(first.cols() as u64)?, sorted, offsets, ids, values))
}

fn stack_features(parts: &[&Features<'_>]) -> Result<Features<'static>> {
    let dense: Vec<&Dense<'_>> =
        parts.iter().filter_map(|part| if let Features::Dense(matrix) = part { Some(matrix) } else { None }).collect();
    let cols = parts.first().map_or(0, |part| part.cols());
    if dense.len() == parts.len() && dense.iter().all(|part| part.cols() == cols) {
        let rows = dense.iter().map(|part| part.rows()).sum();
        let values: Vec<f32> = dense.iter().flat_map(|part| (0..part.rows()).flat_map(|row| part.row(row))).copied().collect();
        return Ok(Features::Dense(Dense::new(rows, cols, values)?));
    }
    let sparse = parts.iter().map(|part| part.to_sparse()).collect::<Result<Vec<_>>>()?;
    Ok(Features::Sparse(stack(sparse.iter().map(|part| &**part), "features")?))
}

/// A data set with fewer labels, and which ones they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// All rows, their labels renumbered from 0. Rows that lost all labels are still there.
    pub data: Dataset<'static>,
    /// The old id of each new label, ascending.
    pub labels: Vec<u32>,
}

/// Keeps the labels that are observed on at least `positives` rows. Clean labels, where there are any, lose the same labels.
///
/// ```
/// use unmissed::data::{Dataset, Labels, keep_frequent};
/// let data = Dataset::new(None, Labels::from_ids(9, [vec![3, 7], vec![7], vec![3, 5]])?)?;
/// let kept = keep_frequent(&data, 2)?;
/// assert_eq!(kept.labels, [3, 7]);
/// assert_eq!((kept.data.labels().cols(), kept.data.labels().row_ids(1)), (2, &[1][..]));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn keep_frequent(data: &Dataset<'_>, positives: u64) -> Result<Kept> {
    if positives == 0 {
        return Err(Error::value("the least number of positives is out of range").expected("at least 1").found("0"));
    }
    let stats = LabelStats::of(data.labels());
    let frequent = stats.occurring().iter().zip(stats.counts()).filter(|(_, count)| **count >= positives);
    let labels: Vec<u32> = frequent.map(|(label, _)| *label).collect();
    if labels.is_empty() {
        return Err(Error::value(format!("no label has {positives} positives"))
            .expected("at least one that does")
            .found(format!("{} positives of the most frequent label", stats.largest())));
    }
    let new_id = new_ids(&labels, data.labels().nnz());
    let renumber = |matrix: &Labels<'_>| matrix.filter_map(labels.len() as u64, |_, id, ()| new_id(id));
    let features = data.features().map(|features| match features {
        Features::Sparse(matrix) => Features::Sparse(matrix.clone().into_owned()),
        Features::Dense(_) => features.select_rows(&(0..data.rows()).collect::<Vec<_>>()),
    });
    let mut kept = Dataset::new(features, renumber(data.labels())?)?;
    if let Some(complete) = data.complete() {
        kept = kept.with_complete(renumber(complete)?)?;
    }
    drop(new_id);
    Ok(Kept { data: kept, labels })
}

/// From old ids to new ones: a table, or a search when a table would be much larger than the data.
fn new_ids(kept: &[u32], entries: usize) -> Box<dyn Fn(u32) -> Option<u32> + Sync + '_> {
    let size = kept.last().map_or(0, |id| *id as usize + 1);
    if size > 8 * entries + (1 << 20) {
        return Box::new(|id| kept.binary_search(&id).ok().and_then(|place| u32::try_from(place).ok()));
    }
    let mut table = vec![None; size];
    (0u32..).zip(kept).for_each(|(place, id)| table[*id as usize] = Some(place));
    Box::new(move |id| table.get(id as usize).copied().flatten())
}

/// A data set in two parts; within each, rows keep their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The rows to train on.
    pub train: Dataset<'static>,
    /// The rows to test on.
    pub test: Dataset<'static>,
}

/// Puts a random `test` share of the rows (to the nearest whole number of rows) aside. See [`split_rows`].
///
/// ```
/// use unmissed::data::{Dataset, Labels, split};
/// let data = Dataset::new(None, Labels::from_ids(10, (0..10).map(|row| [row]))?)?;
/// let parts = split(&data, 0.3, 42)?;
/// assert_eq!((parts.train.rows(), parts.test.rows()), (7, 3));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn split(data: &Dataset<'_>, test: f64, seed: u64) -> Result<Split> {
    let (train, test) = split_rows(data.rows(), test, seed)?;
    Ok(Split { train: data.select_rows(&train), test: data.select_rows(&test) })
}

/// Which of `rows` rows are for training and which for testing, both ascending. The test rows are the first
/// `round(test * rows)` of a permutation that the seed alone decides, so a larger share contains a smaller one.
pub fn split_rows(rows: usize, test: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    split_rows_for(Purpose::Split, rows, test, seed)
}

/// The same by a permutation of its own for another purpose.
pub(crate) fn split_rows_for(purpose: Purpose, rows: usize, test: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    if !(test > 0.0 && test < 1.0) {
        return Err(Error::value("the share of test rows is out of range")
            .expected("a number above 0 and below 1")
            .found(test.to_string()));
    }
    let wanted = (test * rows as f64).round() as usize;
    if wanted == 0 || wanted == rows {
        let part = if wanted == 0 { "test" } else { "training" };
        return Err(Error::value(format!("a test share of {test} leaves no row for the {part} part"))
            .expected("at least one row in each part")
            .found(format!("{rows} rows in all")));
    }
    // Sorting rows by keys of their own is a permutation that threads can share; a tie of keys goes to the earlier row.
    let mut keyed: Vec<(u64, usize)> = (0..rows).into_par_iter().map(|row| (row_key(seed, purpose, row as u64), row)).collect();
    keyed.select_nth_unstable(wanted);
    let part = |rows: &[(u64, usize)]| {
        let mut part: Vec<usize> = rows.iter().map(|(_, row)| *row).collect();
        part.par_sort_unstable();
        part
    };
    Ok((part(&keyed[wanted..]), part(&keyed[..wanted])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(rows: u32) -> Dataset<'static> {
        let features = Dense::new(rows as usize, 1, (0..rows).map(|row| row as f32).collect::<Vec<_>>()).unwrap();
        Dataset::new(Some(Features::Dense(features)), Labels::from_ids(rows.into(), (0..rows).map(|row| [row])).unwrap()).unwrap()
    }

    #[test]
    fn a_split_is_a_partition_that_keeps_features_with_labels() {
        let parts = split(&numbered(1000), 0.25, 3).unwrap();
        assert_eq!((parts.train.rows(), parts.test.rows()), (750, 250));
        for part in [&parts.train, &parts.test] {
            let Some(Features::Dense(features)) = part.features() else { panic!("dense features stay dense") };
            assert!(part.labels().ids().is_sorted(), "rows keep their order");
            assert!((0..part.rows()).all(|row| features.row(row)[0] == part.labels().row_ids(row)[0] as f32));
        }
        let mut all: Vec<u32> = parts.train.labels().ids().iter().chain(parts.test.labels().ids()).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn every_row_is_as_likely_to_be_tested() {
        let mut times = [0u32; 20];
        (0..4000).for_each(|seed| split_rows(20, 0.3, seed).unwrap().1.iter().for_each(|row| times[*row] += 1));
        let se = (4000.0 * 0.3 * 0.7f64).sqrt();
        assert!(times.iter().all(|t| (f64::from(*t) - 1200.0).abs() < 4.0 * se), "{times:?}");
        let (small, large) = (split_rows(100, 0.2, 9).unwrap().1, split_rows(100, 0.5, 9).unwrap().1);
        assert!(small.iter().all(|row| large.contains(row)));
    }

    #[test]
    fn what_cannot_be_split_or_kept_says_why() {
        for share in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(split_rows(10, share, 0).unwrap_err().to_string().contains("above 0 and below 1"));
        }
        let message = |result: Result<_>| result.err().map(|error: Error| error.to_string()).unwrap_or_default();
        assert!(message(split_rows(3, 0.1, 0)).contains("no row for the test part"));
        assert!(message(split_rows(3, 0.9, 0)).contains("no row for the training part"));
        assert_eq!(
            message(keep_frequent(&numbered(3), 2).map(|_| (vec![], vec![]))),
            "no label has 2 positives: expected at least one that does, found 1 positives of the most frequent label"
        );
        assert!(keep_frequent(&numbered(3), 0).is_err());
    }

    #[test]
    fn merging_splits_gives_the_rows_back() {
        let data = numbered(50);
        let parts = split(&data, 0.4, 1).unwrap();
        let merged = merge(&[&parts.train, &parts.test]).unwrap();
        let mut order = split_rows(50, 0.4, 1).unwrap();
        order.0.extend(&order.1);
        assert_eq!(merged, data.select_rows(&order.0));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let plain = Dataset::new(None, Labels::from_ids(50, [vec![1]]).unwrap()).unwrap();
        let message = |parts: &[&Dataset<'_>]| merge(parts).unwrap_err().to_string();
        assert!(message(&[]).contains("nothing to merge"));
        assert!(message(&[&numbered(50), &plain]).contains("features in all 2 or in none, found features in 1"));
        assert!(message(&[&numbered(50), &numbered(4)]).contains("different numbers of labels"));
        let sparse = Csr::from_rows(1, [vec![(0, 2.5f32)]]).unwrap();
        let sparse = Dataset::new(Some(Features::Sparse(sparse)), Labels::from_ids(50, [vec![1]]).unwrap()).unwrap();
        let mixed = merge(&[&numbered(50), &sparse]).unwrap();
        assert!(matches!(mixed.features(), Some(Features::Sparse(matrix)) if matrix.rows() == 51 && matrix.row(50).1 == [2.5]));
    }

    #[test]
    fn both_ways_of_renumbering_agree() {
        let kept = [3, 7, 8, 2_000_000];
        let (table, search) = (new_ids(&kept, 1_000_000), new_ids(&kept, 1));
        for id in [0, 3, 7, 8, 9, 2_000_000, 2_000_001, u32::MAX] {
            assert_eq!(table(id), search(id), "{id}");
        }
        assert_eq!((search(8), search(9)), (Some(2), None));
    }

    #[test]
    fn complete_labels_go_along() {
        let complete = Labels::from_ids(3, [vec![0, 2], vec![1, 2]]).unwrap();
        let data =
            Dataset::new(None, Labels::from_ids(3, [vec![2], vec![1, 2]]).unwrap()).unwrap().with_complete(complete).unwrap();
        let kept = keep_frequent(&data, 2).unwrap();
        assert_eq!(kept.data.complete(), Some(&Labels::from_ids(1, [[0], [0]]).unwrap()));
        assert_eq!(merge(&[&data, &data]).unwrap().complete().map(|complete| complete.rows()), Some(4));
    }
}
