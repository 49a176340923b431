//! [`LabelRows`]: the rows of each label.

use crate::data::Labels;
use crate::error::{Error, Result};

/// A label matrix the other way round: for each label the rows on which it was observed, ascending.
///
/// ```
/// use unmissed::{data::Labels, tree::LabelRows};
/// let rows = LabelRows::of(&Labels::from_ids(3, [vec![2, 0], vec![2]])?)?;
/// assert_eq!((rows.of_label(0), rows.of_label(1), rows.of_label(2)), (&[0][..], &[][..], &[0, 1][..]));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LabelRows {
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl LabelRows {
    /// The rows of each label of a matrix.
    pub fn of(labels: &Labels<'_>) -> Result<LabelRows> {
        let count = u32::try_from(labels.rows()).map_err(|_| {
            Error::value("there are too many rows").expected(format!("at most {}", u32::MAX)).found(labels.rows().to_string())
        })?;
        let mut starts = vec![0usize; labels.cols() + 1];
        labels.ids().iter().for_each(|&label| starts[label as usize + 1] += 1);
        for label in 0..labels.cols() {
            starts[label + 1] += starts[label];
        }
        let (mut next, mut rows) = (starts.clone(), vec![0; labels.nnz()]);
        for row in 0..count {
            for &label in labels.row_ids(row as usize) {
                rows[next[label as usize]] = row;
                next[label as usize] += 1;
            }
        }
        Ok(LabelRows { starts, rows })
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a label.
    #[inline]
    pub fn of_label(&self, label: u32) -> &[u32] {
        &self.rows[self.starts[label as usize]..self.starts[label as usize + 1]]
    }
}
