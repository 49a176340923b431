//! The sparse layouts of scipy.
//!
//! Members are read in an order that lets each one vouch for the next (shape, offsets, indices, values), so an archive
//! that unpacks to much more than its matrix is rejected before it is unpacked.

use super::{Archive, member};
use crate::data::Csr;
use crate::data::triples::{checked_rows, from_triples};
use crate::error::{Error, Result};

/// In which order the entries are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    ByRow,
    ByColumn,
    Coordinates,
}

impl Layout {
    /// The layout that scipy calls by this name.
    pub(super) fn of_name(name: &str) -> Option<Layout> {
        match name {
            "csr" => Some(Layout::ByRow),
            "csc" => Some(Layout::ByColumn),
            "coo" => Some(Layout::Coordinates),
            _ => None,
        }
    }
}

pub(super) fn read(archive: &mut Archive<'_>, layout: Layout) -> Result<Csr<'static, f32>> {
    let shape: Vec<u64> = member(archive, "shape")?.integers()?;
    let [rows, cols] = shape[..] else {
        return Err(Error::format("the matrix has the wrong number of dimensions").expected("2").found(shape.len().to_string()));
    };
    match layout {
        Layout::ByRow => {
            let (offsets, ids, values) = compressed(archive, rows, "rows")?;
            Csr::from_arrays(cols, offsets, ids, values)
        }
        Layout::ByColumn => {
            let (offsets, row_ids, values) = compressed(archive, cols, "columns")?;
            let columns = Csr::from_arrays(rows, offsets, row_ids, values)?;
            let ids: Vec<u32> =
                (0u32..).zip(0..columns.rows()).flat_map(|(id, column)| columns.row_ids(column).iter().map(move |_| id)).collect();
            from_triples(checked_rows(rows, columns.nnz())?, cols, columns.ids(), &ids, columns.values())
        }
        Layout::Coordinates => {
            let row_ids: Vec<u32> = member(archive, "row")?.integers()?;
            let ids = member(archive, "col")?;
            agreeing("col", ids.len()?, row_ids.len() as u64, "row")?;
            let ids: Vec<u32> = ids.integers()?;
            let values = member(archive, "data")?;
            agreeing("data", values.len()?, row_ids.len() as u64, "row")?;
            let values = values.floats()?;
            from_triples(checked_rows(rows, ids.len())?, cols, &row_ids, &ids, &values)
                .map_err(|error| error.hint("call .sum_duplicates() or .tocsr() before save_npz"))
        }
    }
}

/// Offsets, ids and values of `lines` rows or columns.
fn compressed(archive: &mut Archive<'_>, lines: u64, what: &str) -> Result<(Vec<u64>, Vec<u32>, Vec<f32>)> {
    let offsets = member(archive, "indptr")?;
    let declared = offsets.len()?;
    if lines.checked_add(1) != Some(declared) {
        return Err(Error::format("the arrays of the matrix disagree")
            .expected(format!("one more element in 'indptr' than there are {what} ({lines})"))
            .found(declared.to_string()));
    }
    let offsets: Vec<u64> = offsets.integers()?;
    let stored = offsets.last().copied().unwrap_or(0);
    let ids = member(archive, "indices")?;
    agreeing("indices", ids.len()?, stored, "indptr")?;
    let ids: Vec<u32> = ids.integers()?;
    let values = member(archive, "data")?;
    agreeing("data", values.len()?, stored, "indptr")?;
    Ok((offsets, ids, values.floats()?))
}

fn agreeing(name: &str, length: u64, stored: u64, by: &str) -> Result<()> {
    if length == stored {
        return Ok(());
    }
    Err(Error::format("the arrays of the matrix disagree")
        .expected(format!("{stored} elements in '{name}', as '{by}' says"))
        .found(length.to_string()))
}
