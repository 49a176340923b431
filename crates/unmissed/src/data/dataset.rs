//! What a model is trained or tested on: the features of rows and their observed labels.

use super::csr::{Csr, Labels, checked_cols};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Features stored for every (row, column).
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<'a> {
    cols: usize,
    rows: usize,
    values: Cow<'a, [f32]>,
}

impl<'a> Dense<'a> {
    /// Checks that there are `rows * cols` finite values, row by row.
    pub fn new(rows: usize, cols: usize, values: impl Into<Cow<'a, [f32]>>) -> Result<Self> {
        let values = values.into();
        if rows.checked_mul(cols) != Some(values.len()) {
            return Err(Error::value("the size of a dense matrix is wrong")
                .expected(format!("{rows} x {cols} values"))
                .found(values.len().to_string()));
        }
        if let Some(place) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::value(format!("the feature in row {}, column {} is not finite", place / cols, place % cols)));
        }
        Ok(Dense { cols, rows, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// The entries that are not zero, as a sparse matrix.
    pub fn to_sparse(&self) -> Result<Csr<'static, f32>> {
        let columns = checked_cols(self.cols as u64)?;
        let rows = (0..self.rows).map(|row| (0..columns).zip(self.row(row).iter().copied()).filter(|(_, value)| *value != 0.0));
        Csr::from_rows(columns.into(), rows)
    }
}

impl<'a> From<Csr<'a, f32>> for Features<'a> {
    fn from(matrix: Csr<'a, f32>) -> Features<'a> {
        Features::Sparse(matrix)
    }
}

impl<'a> From<Dense<'a>> for Features<'a> {
    fn from(matrix: Dense<'a>) -> Features<'a> {
        Features::Dense(matrix)
    }
}

/// Features of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Features<'a> {
    /// Most entries are zero and not stored.
    Sparse(Csr<'a, f32>),
    /// Every entry is stored.
    Dense(Dense<'a>),
}

impl Features<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Features::Sparse(matrix) => matrix.rows(),
            Features::Dense(matrix) => matrix.rows(),
        }
    }

    /// Number of features.
    pub fn cols(&self) -> usize {
        match self {
            Features::Sparse(matrix) => matrix.cols(),
            Features::Dense(matrix) => matrix.cols(),
        }
    }

    /// The features as a sparse matrix; zeros of dense ones are left out.
    pub fn to_sparse(&self) -> Result<Cow<'_, Csr<'_, f32>>> {
        match self {
            Features::Sparse(matrix) => Ok(Cow::Borrowed(matrix)),
            Features::Dense(matrix) => Ok(Cow::Owned(matrix.to_sparse()?)),
        }
    }

    /// The same features with nothing borrowed.
    pub fn into_owned(self) -> Features<'static> {
        match self {
            Features::Sparse(matrix) => Features::Sparse(matrix.into_owned()),
            Features::Dense(Dense { cols, rows, values }) => {
                Features::Dense(Dense { cols, rows, values: Cow::Owned(values.into_owned()) })
            }
        }
    }

    /// The given rows in the given order.
    pub fn select_rows(&self, rows: &[usize]) -> Features<'static> {
        match self {
            Features::Sparse(matrix) => Features::Sparse(matrix.select_rows(rows)),
            Features::Dense(matrix) => {
                let values: Vec<f32> = rows.iter().flat_map(|&row| matrix.row(row)).copied().collect();
                Features::Dense(Dense { cols: matrix.cols, rows: rows.len(), values: values.into() })
            }
        }
    }
}

/// Rows with their observed labels; features, the true labels and a controlled set only where they are known.
///
/// ```
/// use unmissed::data::{Dataset, Labels};
/// let observed = Labels::from_ids(3, [vec![0], vec![2]])?;
/// let complete = Labels::from_ids(3, [vec![0, 1], vec![2]])?;
/// let data = Dataset::new(None, observed)?.with_complete(complete)?;
/// assert_eq!(data.rows(), 2);
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset<'a> {
    features: Option<Features<'a>>,
    labels: Labels<'a>,
    complete: Option<Labels<'a>>,
}

impl<'a> Dataset<'a> {
    /// Puts features and labels of the same rows together.
    pub fn new(features: Option<Features<'a>>, labels: Labels<'a>) -> Result<Self> {
        if let Some(features) = &features
            && features.rows() != labels.rows()
        {
            return Err(Error::value("features and labels have different numbers of rows")
                .expected(format!("{} rows of labels, as of features", features.rows()))
                .found(labels.rows().to_string()));
        }
        Ok(Dataset { features, labels, complete: None })
    }

    /// Adds the true labels of the same rows. Nothing may be observed that is not true: labels only go missing.
    pub fn with_complete(mut self, complete: Labels<'a>) -> Result<Self> {
        if (complete.rows(), complete.cols()) != (self.labels.rows(), self.labels.cols()) {
            return Err(Error::value("complete and observed labels have different shapes")
                .expected(format!("{} x {}", self.labels.rows(), self.labels.cols()))
                .found(format!("{} x {}", complete.rows(), complete.cols())));
        }
        let complete = complete.into_sorted();
        for row in 0..complete.rows() {
            if let Some(label) = self.labels.row_ids(row).iter().find(|label| complete.row_ids(row).binary_search(label).is_err()) {
                return Err(Error::value(format!("label {label} of row {row} is observed but not among the complete labels"))
                    .hint("the complete labels must contain the observed ones"));
            }
        }
        self.complete = Some(complete);
        Ok(self)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.rows()
    }

    /// The features, when there are any.
    pub fn features(&self) -> Option<&Features<'a>> {
        self.features.as_ref()
    }

    /// The features, or an error that says that there are none.
    pub fn require_features(&self) -> Result<&Features<'a>> {
        self.features().ok_or_else(|| Error::value("the rows have no features").expected("features for each row"))
    }

    /// The observed labels.
    pub fn labels(&self) -> &Labels<'a> {
        &self.labels
    }

    /// The true labels, when they are known.
    pub fn complete(&self) -> Option<&Labels<'a>> {
        self.complete.as_ref()
    }

    /// Features and observed labels, taken apart.
    pub fn into_parts(self) -> (Option<Features<'a>>, Labels<'a>) {
        (self.features, self.labels)
    }

    /// The given rows in the given order.
    pub fn select_rows(&self, rows: &[usize]) -> Dataset<'static> {
        Dataset {
            features: self.features.as_ref().map(|features| features.select_rows(rows)),
            labels: self.labels.select_rows(rows),
            complete: self.complete.as_ref().map(|complete| complete.select_rows(rows)),
        }
    }
}
