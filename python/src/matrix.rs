//! Matrices between numpy and the library.
//!
//! Ids of 32 bits and scores of single precision are borrowed where they are; other types, and row offsets, are copied. The
//! Python side hands over arrays that are contiguous and aligned.

use crate::run::alone;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::borrow::Cow;
use unmissed::data::{Dense, Features, Labels, Scores};
use unmissed::{Error, Result};

/// Whole numbers as scipy has them.
pub(crate) enum Integers<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

impl<'py> FromPyObject<'_, 'py> for Integers<'py> {
    type Error = PyErr;

    /// By hand: what is derived writes a message about the first kind for every array of the second, which takes longer than small
    /// batches take.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyArray1<i32>>() {
            Ok(array) => Ok(Integers::Narrow(array.try_readonly()?)),
            Err(_) => Ok(Integers::Wide(object.extract()?)),
        }
    }
}

/// `(columns, row offsets, ids, values)` of a sparse matrix.
#[derive(FromPyObject)]
pub(crate) struct Sparse<'py>(u64, Integers<'py>, Integers<'py>, Option<PyReadonlyArray1<'py, f32>>);

/// The same as slices, which can leave the interpreter's lock behind.
pub(crate) struct Slices<'a> {
    columns: u64,
    offsets: Numbers<'a>,
    ids: Numbers<'a>,
    values: Option<&'a [f32]>,
}

#[derive(Clone, Copy)]
enum Numbers<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl Numbers<'_> {
    fn get(&self, place: usize) -> i64 {
        match self {
            Numbers::Narrow(numbers) => i64::from(numbers[place]),
            Numbers::Wide(numbers) => numbers[place],
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::Narrow(numbers) => numbers.len(),
            Numbers::Wide(numbers) => numbers.len(),
        }
    }
}

impl Integers<'_> {
    fn numbers(&self) -> PyResult<Numbers<'_>> {
        Ok(match self {
            Integers::Narrow(array) => Numbers::Narrow(array.as_slice()?),
            Integers::Wide(array) => Numbers::Wide(array.as_slice()?),
        })
    }
}

impl Sparse<'_> {
    pub(crate) fn slices(&self) -> PyResult<Slices<'_>> {
        let values = self.3.as_ref().map(|array| array.as_slice()).transpose()?;
        Ok(Slices { columns: self.0, offsets: self.1.numbers()?, ids: self.2.numbers()?, values })
    }

    /// Labels of its own, for work that may be left behind.
    pub(crate) fn owned(&self, py: Python<'_>) -> PyResult<Labels<'static>> {
        let slices = self.slices()?;
        alone(py, || Ok(slices.labels()?.into_owned()))
    }
}

impl<'a> Slices<'a> {
    pub(crate) fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub(crate) fn entries(&self) -> usize {
        self.ids.len()
    }

    /// The matrix of scores or features.
    pub(crate) fn scores(&self) -> Result<Scores<'a>> {
        let values = self.values.ok_or_else(|| Error::value("a matrix without values").expected("a number for each entry"))?;
        let matrix = Scores::new(self.columns, self.offsets()?, self.ids()?, values);
        matrix.map_err(|error| self.explain(error))
    }

    /// The matrix of labels.
    pub(crate) fn labels(&self) -> Result<Labels<'a>> {
        Labels::new(self.columns, self.offsets()?, self.ids()?).map_err(|error| self.explain(error))
    }

    fn offsets(&self) -> Result<Vec<u64>> {
        let negative = |_| Error::value("row offsets must not be negative");
        (0..self.offsets.len()).map(|row| u64::try_from(self.offsets.get(row)).map_err(negative)).collect()
    }

    fn ids(&self) -> Result<Cow<'a, [u32]>> {
        match self.ids {
            // A negative id becomes one beyond all columns, and is refused with those.
            Numbers::Narrow(ids) => Ok(Cow::Borrowed(bytemuck::cast_slice(ids))),
            Numbers::Wide(ids) => {
                let narrow = ids.iter().map(|id| u32::try_from(*id).ok()).collect::<Option<Vec<u32>>>();
                narrow.map(Cow::Owned).ok_or_else(|| self.explain(Error::value("an id does not fit into 32 bits")))
            }
        }
    }

    /// Negative ids are not what the library sees: says where the first one is.
    fn explain(&self, error: Error) -> Error {
        let Some(place) = (0..self.ids.len()).find(|place| self.ids.get(*place) < 0) else { return error };
        let after = (0..self.offsets.len()).find(|row| self.offsets.get(*row) > place as i64);
        let row = after.map_or(0, |after| after.saturating_sub(1));
        Error::value(format!("a negative label in row {row} (counted from 0)"))
            .expected("labels that are counted from 0")
            .found(self.ids.get(place).to_string())
    }
}

/// Features: sparse, or all of them.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Dense(PyReadonlyArray2<'py, f32>),
    Sparse(Sparse<'py>),
}

/// The same without the interpreter.
pub(crate) enum RowSlices<'a> {
    Dense(usize, usize, &'a [f32]),
    Sparse(Slices<'a>),
}

impl Rows<'_> {
    pub(crate) fn slices(&self) -> PyResult<RowSlices<'_>> {
        Ok(match self {
            Rows::Dense(array) => {
                let shape = array.as_array().dim();
                RowSlices::Dense(shape.0, shape.1, array.as_slice()?)
            }
            Rows::Sparse(sparse) => RowSlices::Sparse(sparse.slices()?),
        })
    }
}

impl<'a> RowSlices<'a> {
    pub(crate) fn features(&self) -> Result<Features<'a>> {
        match self {
            RowSlices::Dense(rows, columns, values) => Ok(Features::Dense(Dense::new(*rows, *columns, *values)?)),
            RowSlices::Sparse(slices) => Ok(Features::Sparse(slices.scores()?)),
        }
    }
}

/// What Python makes a matrix of: `(rows, columns, row offsets, ids, values)`.
pub(crate) type Arrays<'py> = (usize, usize, Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

fn whole_numbers<'py>(py: Python<'py>, offsets: &[u64], ids: Vec<u32>, columns: usize) -> (Bound<'py, PyAny>, Bound<'py, PyAny>) {
    // scipy wants both of one type, and copies wide ones down when narrow ones would do.
    if columns <= i32::MAX as usize && ids.len() <= i32::MAX as usize {
        let offsets: Vec<i32> = offsets.iter().map(|offset| *offset as i32).collect();
        (offsets.into_pyarray(py).into_any(), bytemuck::allocation::cast_vec::<u32, i32>(ids).into_pyarray(py).into_any())
    } else {
        let offsets: Vec<i64> = offsets.iter().map(|offset| *offset as i64).collect();
        let ids: Vec<i64> = ids.into_iter().map(i64::from).collect();
        (offsets.into_pyarray(py).into_any(), ids.into_pyarray(py).into_any())
    }
}

/// Scores or features for Python.
pub(crate) fn scores_out<'py>(py: Python<'py>, matrix: Scores<'static>) -> Arrays<'py> {
    let (rows, columns) = (matrix.rows(), matrix.cols());
    let (offsets, ids, values) = matrix.into_arrays();
    let (offsets, ids) = whole_numbers(py, &offsets, ids, columns);
    (rows, columns, offsets, ids, Some(values.into_pyarray(py).into_any()))
}

/// Labels for Python.
pub(crate) fn labels_out<'py>(py: Python<'py>, matrix: Labels<'static>) -> Arrays<'py> {
    let (rows, columns) = (matrix.rows(), matrix.cols());
    let (offsets, ids, _) = matrix.into_arrays();
    let (offsets, ids) = whole_numbers(py, &offsets, ids, columns);
    (rows, columns, offsets, ids, None)
}

/// Where the library reads ids and values of a matrix: the addresses of its own arrays, for a test that nothing is copied.
#[pyfunction]
pub(crate) fn addresses(py: Python<'_>, matrix: Sparse<'_>) -> PyResult<(usize, usize)> {
    let slices = matrix.slices()?;
    alone(py, || {
        if slices.values.is_none() {
            return Ok((slices.labels()?.ids().as_ptr() as usize, 0));
        }
        let scores = slices.scores()?;
        Ok((scores.ids().as_ptr() as usize, scores.values().as_ptr() as usize))
    })
}
