//! Sparse matrices by row, owned or borrowed.
//!
//! [`Csr`] is the one matrix of the library: [`Scores`] (`Csr<f32>`) are predictions and sparse features, [`Labels`] (`Csr<()>`)
//! hold only where the ones are and spend nothing on values. Ids have 32 bits, offsets 64. Arrays are `Cow`s, so a matrix may
//! borrow what a memory map or numpy owns. Everything is checked once, on construction; after that rows can be trusted:
//! ids are below the number of columns and no id occurs twice in a row. Rows may be unsorted ([`Csr::is_sorted`]).

use crate::error::{Error, Result};
use crate::sealed::Sealed;
use rayon::prelude::*;
use std::borrow::Cow;

/// A value that a matrix can store. Only this crate implements it.
pub trait Value: Sealed + Copy + Send + Sync + PartialEq + std::fmt::Debug + 'static {
    /// Whether the value is allowed in a matrix (numbers must be finite).
    fn is_valid(&self) -> bool;
}

impl Sealed for f32 {}

impl Value for f32 {
    fn is_valid(&self) -> bool {
        self.is_finite()
    }
}

impl Sealed for () {}

/// The value of a pattern: presence is all there is to know.
impl Value for () {
    fn is_valid(&self) -> bool {
        true
    }
}

/// A label matrix: where the ones are. [`Labels::new`] takes the arrays of a sparse matrix, [`Labels::from_ids`] the labels of each
/// row, [`Labels::from_pairs`] (row, label) pairs.
pub type Labels<'a> = Csr<'a, ()>;

/// A matrix of numbers, of which only some are stored: the scores of predicted labels, or the values of features. [`Scores::new`]
/// takes the arrays of a sparse matrix, [`Scores::from_rows`] the entries of each row.
pub type Scores<'a> = Csr<'a, f32>;

/// A checked sparse matrix by row. See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<'a, V: Value> {
    cols: u32,
    sorted: bool,
    offsets: Cow<'a, [u64]>,
    ids: Cow<'a, [u32]>,
    values: Cow<'a, [V]>,
}

impl<'a> Labels<'a> {
    /// Labels from the arrays of a sparse matrix: those of row `i` are `ids[offsets[i]..offsets[i + 1]]`. Vectors are taken over,
    /// slices borrowed.
    ///
    /// ```
    /// use unmissed::data::Labels;
    /// let labels = Labels::new(5, vec![0, 2, 2, 3], vec![0, 3, 4])?;
    /// assert_eq!((labels.rows(), labels.row_ids(0)), (3, &[0, 3][..]));
    /// let offsets = [0, 3];
    /// assert!(Labels::new(5, &offsets[..], &[1, 2, 1][..]).is_err(), "label 1 twice in a row");
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn new(labels: u64, offsets: impl Into<Cow<'a, [u64]>>, ids: impl Into<Cow<'a, [u32]>>) -> Result<Self> {
        let ids = ids.into();
        let values = vec![(); ids.len()];
        Csr::from_arrays(labels, offsets, ids, values)
    }
}

impl<'a> Scores<'a> {
    /// Scores from the arrays of a sparse matrix: row `i` has the labels `ids[offsets[i]..offsets[i + 1]]`, in any order, with
    /// the values at the same places. Vectors are taken over, slices borrowed.
    ///
    /// ```
    /// use unmissed::data::Scores;
    /// let scores = Scores::new(3, vec![0, 2, 2], vec![2, 0], vec![0.5, 0.25])?;
    /// assert_eq!((scores.rows(), scores.cols(), scores.nnz()), (2, 3, 2));
    /// assert_eq!(scores.row(0), (&[2, 0][..], &[0.5, 0.25][..]));
    /// assert!(!scores.is_sorted());
    /// assert!(Scores::new(3, vec![0, 2], vec![1, 1], vec![1.0, 2.0]).is_err(), "a column twice");
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn new(
        cols: u64,
        offsets: impl Into<Cow<'a, [u64]>>,
        ids: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [f32]>>,
    ) -> Result<Self> {
        Csr::from_arrays(cols, offsets, ids, values)
    }
}

impl<'a, V: Value> Csr<'a, V> {
    /// Checks the arrays and makes a matrix of them: row `i` is `ids[offsets[i]..offsets[i + 1]]`.
    pub(crate) fn from_arrays(
        cols: u64,
        offsets: impl Into<Cow<'a, [u64]>>,
        ids: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Cow<'a, [V]>>,
    ) -> Result<Self> {
        let (offsets, ids, values) = (offsets.into(), ids.into(), values.into());
        let cols = checked_cols(cols)?;
        let broken = |what: &str| Err(Error::value(format!("not a sparse matrix: {what}")));
        if offsets.first() != Some(&0) {
            return broken("row offsets must start with 0");
        }
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return broken(&format!("row offsets decrease after row {row}"));
        }
        if offsets.last() != Some(&(ids.len() as u64)) {
            return broken(&format!("row offsets end at {:?}, but there are {} ids", offsets.last(), ids.len()));
        }
        if values.len() != ids.len() {
            return broken(&format!("{} values for {} ids", values.len(), ids.len()));
        }
        const TOGETHER: usize = 1 << 12;
        let check = |scratch: &mut Vec<u32>, row: usize| {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            check_row(&ids[range.clone()], &values[range], cols, scratch)
                .map_err(|fault| fault.into_error("column", cols).in_row(row))
        };
        let rows = offsets.len() - 1;
        let sorted = if rows <= TOGETHER {
            // Too few rows to share: batches of a stream are checked without threads.
            let mut scratch = Vec::new();
            (0..rows).try_fold(true, |sorted, row| Ok(check(&mut scratch, row)? && sorted))?
        } else {
            let parts = (0..rows).into_par_iter().with_min_len(TOGETHER).map_init(Vec::new, check);
            parts.try_reduce(|| true, |a, b| Ok(a && b))?
        };
        Ok(Csr { cols, sorted, offsets, ids, values })
    }

    /// A matrix from arrays that a reader has checked already, row by row, with [`check_row`].
    pub(crate) fn from_checked(cols: u32, sorted: bool, offsets: Vec<u64>, ids: Vec<u32>, values: Vec<V>) -> Self {
        debug_assert_eq!(offsets.last().copied(), Some(ids.len() as u64));
        Csr { cols, sorted, offsets: offsets.into(), ids: ids.into(), values: values.into() }
    }

    /// The same of arrays that stay where they are.
    pub(crate) fn of_checked(cols: u32, sorted: bool, offsets: &'a [u64], ids: &'a [u32], values: &'a [V]) -> Self {
        debug_assert_eq!(offsets.last().copied(), Some(ids.len() as u64));
        Csr { cols, sorted, offsets: offsets.into(), ids: ids.into(), values: values.into() }
    }

    /// A matrix from rows of (id, value) pairs.
    pub fn from_rows<R: IntoIterator<Item = (u32, V)>>(cols: u64, rows: impl IntoIterator<Item = R>) -> Result<Csr<'static, V>> {
        let (mut offsets, mut ids, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            for (id, value) in row {
                ids.push(id);
                values.push(value);
            }
            offsets.push(ids.len() as u64);
        }
        Csr::from_arrays(cols, offsets, ids, values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols as usize
    }

    /// The ids of all columns.
    pub fn col_ids(&self) -> std::ops::Range<u32> {
        0..self.cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.ids.len()
    }

    /// Whether the ids of every row ascend.
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }

    /// Where each row starts, and at the end the number of entries.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The column ids of all rows, one row after the other.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The values of all rows, one row after the other.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The ids and values of one row.
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[V]) {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.ids[range.clone()], &self.values[range])
    }

    /// The ids of one row.
    #[inline]
    pub fn row_ids(&self, row: usize) -> &[u32] {
        &self.ids[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u32], &[V])> {
        (0..self.rows()).map(|row| self.row(row))
    }

    /// The same entries as a pattern.
    pub fn pattern(&self) -> Labels<'_> {
        self.filled_with(())
    }

    /// The same entries, each with this value.
    pub(crate) fn filled_with<W: Value>(&self, value: W) -> Csr<'_, W> {
        Csr {
            cols: self.cols,
            sorted: self.sorted,
            offsets: Cow::Borrowed(&self.offsets),
            ids: Cow::Borrowed(&self.ids),
            values: vec![value; self.nnz()].into(),
        }
    }

    /// The same matrix with the ids of every row ascending.
    pub fn into_sorted(mut self) -> Self {
        if self.sorted {
            return self;
        }
        let (offsets, ids, values) = (&self.offsets, self.ids.to_mut(), self.values.to_mut());
        let mut scratch: Vec<(u32, V)> = Vec::new();
        for pair in offsets.windows(2) {
            let range = pair[0] as usize..pair[1] as usize;
            let (ids, values) = (&mut ids[range.clone()], &mut values[range]);
            if ids.is_sorted() {
                continue;
            }
            scratch.clear();
            scratch.extend(ids.iter().copied().zip(values.iter().copied()));
            scratch.sort_unstable_by_key(|entry| entry.0);
            for (place, (id, value)) in scratch.iter().enumerate() {
                ids[place] = *id;
                values[place] = *value;
            }
        }
        self.sorted = true;
        self
    }

    /// The matrix of the given rows, in the given order.
    ///
    /// # Panics
    /// When a row does not exist: which rows there are is the caller's knowledge, not input.
    pub fn select_rows(&self, rows: &[usize]) -> Csr<'static, V> {
        let total = rows.iter().map(|&row| self.row_ids(row).len()).sum();
        let (mut ids, mut values) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        for &row in rows {
            let (row_ids, row_values) = self.row(row);
            ids.extend_from_slice(row_ids);
            values.extend_from_slice(row_values);
            offsets.push(ids.len() as u64);
        }
        Csr::from_checked(self.cols, self.sorted, offsets, ids, values)
    }

    /// The entries for which `keep(row, id, value)` gives a column, each in that column; in a row columns must stay distinct.
    pub fn filter_map(&self, cols: u64, keep: impl Fn(usize, u32, V) -> Option<u32> + Sync) -> Result<Csr<'static, V>> {
        const ROWS: usize = 1 << 13;
        let pieces: Vec<(Vec<u64>, Vec<u32>, Vec<V>)> = (0..self.rows().div_ceil(ROWS))
            .into_par_iter()
            .map(|chunk| {
                let (mut lengths, mut ids, mut values) = (Vec::new(), Vec::new(), Vec::new());
                for row in chunk * ROWS..self.rows().min((chunk + 1) * ROWS) {
                    let before = ids.len();
                    let (row_ids, row_values) = self.row(row);
                    for (&id, &value) in row_ids.iter().zip(row_values) {
                        if let Some(id) = keep(row, id, value) {
                            ids.push(id);
                            values.push(value);
                        }
                    }
                    lengths.push((ids.len() - before) as u64);
                }
                (lengths, ids, values)
            })
            .collect();
        let (mut offsets, mut ids, mut values) = (vec![0], Vec::new(), Vec::new());
        for (lengths, piece_ids, piece_values) in pieces {
            for length in lengths {
                offsets.push(offsets[offsets.len() - 1] + length);
            }
            ids.extend(piece_ids);
            values.extend(piece_values);
        }
        Csr::from_arrays(cols, offsets, ids, values)
    }

    /// The rows of this matrix followed by those of `other`.
    pub fn stack(&self, other: &Csr<'_, V>) -> Result<Csr<'static, V>> {
        if self.cols != other.cols {
            return Err(Error::value("matrices with different numbers of columns cannot be stacked")
                .expected(format!("{} columns", self.cols))
                .found(other.cols.to_string()));
        }
        let base = self.nnz() as u64;
        let offsets = self.offsets.iter().copied().chain(other.offsets[1..].iter().map(|o| o + base)).collect();
        Ok(Csr::from_checked(
            self.cols,
            self.sorted && other.sorted,
            offsets,
            [&*self.ids, &*other.ids].concat(),
            [&*self.values, &*other.values].concat(),
        ))
    }

    /// The same matrix with nothing borrowed.
    pub fn into_owned(self) -> Csr<'static, V> {
        Csr {
            cols: self.cols,
            sorted: self.sorted,
            offsets: Cow::Owned(self.offsets.into_owned()),
            ids: Cow::Owned(self.ids.into_owned()),
            values: Cow::Owned(self.values.into_owned()),
        }
    }

    /// Offsets, ids and values, for callers that store matrices in another way; owned arrays are not copied.
    pub fn into_arrays(self) -> (Vec<u64>, Vec<u32>, Vec<V>) {
        (self.offsets.into_owned(), self.ids.into_owned(), self.values.into_owned())
    }

    /// Bytes that the arrays take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.offsets) + size_of_val(&*self.ids) + size_of_val(&*self.values)
    }
}

impl Labels<'static> {
    /// A label matrix from (row, label) pairs in any order, as tables of annotations have them.
    ///
    /// ```
    /// use unmissed::data::Labels;
    /// let labels = Labels::from_pairs(2, 5, [(1, 4), (0, 3), (0, 0)])?;
    /// assert_eq!((labels.row_ids(0), labels.row_ids(1)), (&[0, 3][..], &[4][..]));
    /// assert!(Labels::from_pairs(2, 5, [(2, 0)]).unwrap_err().to_string().contains("expected a row from 0 to 1, found 2"));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn from_pairs(rows: usize, labels: u64, pairs: impl IntoIterator<Item = (usize, u32)>) -> Result<Self> {
        let mut pairs: Vec<(usize, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        if let Some((row, _)) = pairs.last().filter(|(row, _)| *row >= rows) {
            let expected = if rows == 0 { "no rows".to_owned() } else { format!("a row from 0 to {}", rows - 1) };
            return Err(Error::value("a pair names a row that does not exist").expected(expected).found(row.to_string()));
        }
        let mut offsets = vec![0u64; rows + 1];
        pairs.iter().for_each(|(row, _)| offsets[row + 1] += 1);
        (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
        Labels::new(labels, offsets, pairs.into_iter().map(|(_, label)| label).collect::<Vec<_>>())
    }

    /// A label matrix from rows of ids.
    ///
    /// ```
    /// let labels = unmissed::data::Labels::from_ids(5, [vec![0, 3], vec![], vec![4]])?;
    /// assert_eq!(labels.row_ids(0), [0, 3]);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn from_ids<R: IntoIterator<Item = u32>>(cols: u64, rows: impl IntoIterator<Item = R>) -> Result<Self> {
        Csr::from_rows(cols, rows.into_iter().map(|row| row.into_iter().map(|id| (id, ()))))
    }
}

/// The number of columns as the matrices hold it.
pub(crate) fn checked_cols(cols: u64) -> Result<u32> {
    u32::try_from(cols).map_err(|_| {
        Error::value("too many columns: ids have 32 bits").expected(format!("at most {}", u32::MAX)).found(cols.to_string())
    })
}

/// What can be wrong with the entries of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowFault {
    /// An id at or beyond the number of columns.
    OutOfRange(u32),
    /// An id that occurs twice.
    Twice(u32),
    /// A value that is not finite, at this id.
    NotFinite(u32),
}

impl RowFault {
    /// The error for this fault; `what` names the kind of id ("label", "feature").
    pub(crate) fn into_error(self, what: &str, cols: u32) -> Error {
        match self {
            RowFault::OutOfRange(id) if cols == 0 => {
                Error::format(format!("{what} id out of range")).expected(format!("no {what}s")).found(id.to_string())
            }
            RowFault::OutOfRange(id) => Error::format(format!("{what} id out of range"))
                .expected(format!("an id from 0 to {}", cols - 1))
                .found(id.to_string())
                .hint("ids are 0-based and must lie below the declared number"),
            RowFault::Twice(id) => Error::format(format!("duplicate {what}"))
                .expected(format!("each {what} once in a row"))
                .found(format!("{what} {id} twice")),
            RowFault::NotFinite(id) => Error::format(format!("the value of {what} {id} is not finite"))
                .expected("a finite number")
                .found("NaN or infinity"),
        }
    }
}

impl Error {
    fn in_row(self, row: usize) -> Self {
        self.hint(format!("in row {row} (counted from 0)"))
    }
}

/// Checks one row; `Ok(true)` when its ids ascend. `scratch` is reused between rows.
pub(crate) fn check_row<V: Value>(
    ids: &[u32],
    values: &[V],
    cols: u32,
    scratch: &mut Vec<u32>,
) -> std::result::Result<bool, RowFault> {
    // Without branches, so that millions of rows are checked at the speed of memory; where it is wrong is asked afterwards.
    if values.iter().fold(0, |wrong, value| wrong | u32::from(!value.is_valid())) != 0
        && let Some(place) = values.iter().position(|value| !value.is_valid())
    {
        return Err(RowFault::NotFinite(ids[place]));
    }
    let following = ids.get(1..).unwrap_or_default();
    let ascending = ids.iter().zip(following).fold(0, |wrong, (id, next)| wrong | u32::from(id >= next)) == 0;
    let largest = if ascending { ids.last() } else { ids.iter().max() };
    if let Some(largest) = largest.filter(|largest| **largest >= cols) {
        return Err(RowFault::OutOfRange(*largest));
    }
    if !ascending {
        scratch.clear();
        scratch.extend_from_slice(ids);
        scratch.sort_unstable();
        if let Some(pair) = scratch.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(RowFault::Twice(pair[0]));
        }
    }
    Ok(ascending)
}
