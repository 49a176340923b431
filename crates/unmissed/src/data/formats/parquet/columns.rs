//! Columns of lists: taken apart into offsets and elements, and made of the rows of a matrix.

use crate::data::csr::Value;
use crate::data::{Csr, Labels};
use crate::error::{Error, Result};
use arrow_array::builder::{Float32Builder, ListBuilder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::ops::Range;
use std::sync::Arc;

/// One column as it is read, batch after batch.
pub(super) struct Lists {
    name: String,
    offsets: Vec<u64>,
    ids: Vec<u32>,
    values: Vec<f32>,
}

impl Lists {
    pub(super) fn new(name: &str) -> Lists {
        Lists { name: name.to_owned(), offsets: vec![0], ids: Vec::new(), values: Vec::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rows(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    /// Bytes of what was read.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&*self.offsets) + size_of_val(&*self.ids) + size_of_val(&*self.values)) as u64
    }

    /// Adds the rows of a batch.
    pub(super) fn append(&mut self, column: &ArrayRef) -> Result<()> {
        let (ends, elements): (Vec<i64>, &ArrayRef) = if let Some(lists) = column.as_list_opt::<i32>() {
            (lists.value_offsets().iter().map(|offset| i64::from(*offset)).collect(), lists.values())
        } else if let Some(lists) = column.as_list_opt::<i64>() {
            (lists.value_offsets().to_vec(), lists.values())
        } else {
            return Err(self.wrong_type(column.data_type()));
        };
        let range = ends.first().zip(ends.last()).map_or(0..0, |(first, last)| *first as usize..*last as usize);
        if range.start > range.end || range.end > elements.len() {
            return Err(super::broken("a list ends outside its column"));
        }
        if column.null_count() > 0 || elements.null_count() > 0 {
            return Err(Error::format(format!("nulls in the column '{}'", self.name)).expected("lists of numbers without nulls"));
        }
        let base = self.offsets[self.offsets.len() - 1];
        self.offsets.extend(ends.iter().skip(1).map(|end| base + (*end as u64 - range.start as u64)));
        self.append_elements(&elements.slice(range.start, range.len()))
    }

    fn append_elements(&mut self, elements: &ArrayRef) -> Result<()> {
        if matches!(self.name.as_str(), "scores" | "values") {
            match elements.data_type() {
                DataType::Float32 => self.values.extend(elements.as_primitive::<Float32Type>().values()),
                DataType::Float64 => self.values.extend(elements.as_primitive::<Float64Type>().values().iter().map(|v| *v as f32)),
                other => return Err(self.wrong_type(other)),
            }
            return Ok(());
        }
        match elements.data_type() {
            DataType::UInt32 => self.ids.extend(elements.as_primitive::<UInt32Type>().values()),
            DataType::Int32 => self.append_ids(elements.as_primitive::<Int32Type>().values())?,
            DataType::Int64 => self.append_ids(elements.as_primitive::<Int64Type>().values())?,
            DataType::UInt64 => self.append_ids(elements.as_primitive::<UInt64Type>().values())?,
            other => return Err(self.wrong_type(other)),
        }
        Ok(())
    }

    fn append_ids<T: Copy + std::fmt::Display>(&mut self, ids: &[T]) -> Result<()>
    where
        u32: TryFrom<T>,
    {
        for id in ids {
            let narrow = u32::try_from(*id).map_err(|_| {
                Error::format(format!("an id in the column '{}' is out of range", self.name))
                    .expected(format!("an id from 0 to {}", u32::MAX))
                    .found(id.to_string())
            })?;
            self.ids.push(narrow);
        }
        Ok(())
    }

    fn wrong_type(&self, found: &DataType) -> Error {
        let element =
            if matches!(self.name.as_str(), "scores" | "values") { "float32 or float64" } else { "integers of 32 or 64 bits" };
        Error::format(format!("the column '{}' has the wrong type", self.name))
            .expected(format!("lists of {element}"))
            .found(found.to_string())
    }

    /// The matrix with these ids and the values of another column.
    pub(super) fn with_values(self, values: Lists, cols: u64) -> Result<Csr<'static, f32>> {
        if let Some(row) = (1..self.offsets.len()).find(|row| self.offsets[*row] != values.offsets[*row]) {
            let length = |lists: &Lists| lists.offsets[row] - lists.offsets[row - 1];
            return Err(Error::format(format!("the lists '{}' and '{}' have different lengths", self.name, values.name))
                .expected(format!("{} values in row {} (counted from 0)", length(&self), row - 1))
                .found(length(&values).to_string()));
        }
        Csr::from_arrays(cols, self.offsets, self.ids, values.values)
    }

    /// The label matrix with these ids.
    pub(super) fn into_labels(self, cols: u64) -> Result<Labels<'static>> {
        Labels::new(cols, self.offsets, self.ids)
    }
}

/// A column with the ids of these rows.
pub(super) fn list_of_ids<V: Value>(matrix: &Csr<'_, V>, rows: Range<usize>) -> ArrayRef {
    let mut lists = ListBuilder::new(UInt32Builder::new());
    for row in rows {
        lists.values().append_slice(matrix.row_ids(row));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// A column with the values of these rows.
pub(super) fn list_of_values(matrix: &Csr<'_, f32>, rows: Range<usize>) -> ArrayRef {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in rows {
        lists.values().append_slice(matrix.row(row).1);
        lists.append(true);
    }
    Arc::new(lists.finish())
}
