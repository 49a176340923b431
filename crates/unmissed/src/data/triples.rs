//! Matrices from entries in any order: (row, column, value), as coordinates and tables have them.

use super::Csr;
use crate::error::{Error, Result};

/// Rows that a file may claim without an entry in them, however few entries it has.
const FREE_ROWS: u64 = 1 << 24;
/// Rows that a file may claim for each of its entries beyond that.
const ROWS_PER_ENTRY: u64 = 64;

/// A number of rows that only a header or the largest id vouches for: a small file must not make us hold a huge matrix of nothing.
pub(crate) fn checked_rows(rows: u64, stored: usize) -> Result<usize> {
    let most = FREE_ROWS.max(ROWS_PER_ENTRY.saturating_mul(stored as u64));
    usize::try_from(rows).ok().filter(|_| rows <= most).ok_or_else(|| {
        Error::format("many more rows than entries")
            .expected(format!("at most {most} rows for {stored} entries"))
            .found(rows.to_string())
            .hint("is a row id wrong?")
    })
}

/// The matrix of these entries; those of a row stay in their order.
pub(crate) fn from_triples(rows: usize, cols: u64, row_ids: &[u32], ids: &[u32], values: &[f32]) -> Result<Csr<'static, f32>> {
    let mut offsets = vec![0u64; rows + 1];
    for row in row_ids {
        let Some(count) = offsets.get_mut(*row as usize + 1) else {
            let expected = if rows == 0 { "no rows".to_owned() } else { format!("a row from 0 to {}", rows - 1) };
            return Err(Error::format("row id out of range").expected(expected).found(row.to_string()));
        };
        *count += 1;
    }
    (0..rows).for_each(|row| offsets[row + 1] += offsets[row]);
    let mut next: Vec<u64> = offsets[..rows].to_vec();
    let (mut sorted_ids, mut sorted_values) = (vec![0u32; ids.len()], vec![0f32; ids.len()]);
    for (row, (id, value)) in row_ids.iter().zip(ids.iter().zip(values)) {
        let place = &mut next[*row as usize];
        sorted_ids[*place as usize] = *id;
        sorted_values[*place as usize] = *value;
        *place += 1;
    }
    Csr::from_arrays(cols, offsets, sorted_ids, sorted_values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_row_keep_their_order() {
        let matrix = from_triples(3, 4, &[2, 0, 2], &[3, 1, 0], &[0.5, 1.0, 2.0]).unwrap();
        assert_eq!(
            (matrix.row(0), matrix.row_ids(1).len(), matrix.row(2)),
            ((&[1][..], &[1.0][..]), 0, (&[3, 0][..], &[0.5, 2.0][..]))
        );
        assert!(from_triples(2, 4, &[2], &[0], &[1.0]).unwrap_err().to_string().contains("a row from 0 to 1, found 2"));
        assert!(from_triples(1, 4, &[0, 0], &[3, 3], &[1.0, 1.0]).is_err());
    }

    #[test]
    fn claims_of_rows_are_bounded_by_what_is_there() {
        assert_eq!(checked_rows(5, 0).unwrap(), 5);
        assert!(checked_rows(u64::MAX, 3).is_err() && checked_rows(FREE_ROWS + 1, 3).is_err());
        assert!(checked_rows(FREE_ROWS + 64, (FREE_ROWS / 64 + 1) as usize).is_ok());
    }
}
