//! Rows that are kept by number.

use crate::error::{Error, Result};

/// Refuses more rows than 32 bits can number (one number stays free); asked before rows are kept as `u32`.
pub(super) fn check_row_ids(rows: usize) -> Result<()> {
    if u32::try_from(rows).is_ok_and(|rows| rows < u32::MAX) {
        return Ok(());
    }
    Err(Error::value("too many rows").expected(format!("fewer than {}", u32::MAX)).found(rows.to_string()))
}

#[cfg(test)]
mod tests {
    use super::check_row_ids;

    #[test]
    fn rows_beyond_32_bits_are_refused() {
        assert!(check_row_ids(u32::MAX as usize - 1).is_ok());
        for rows in [u32::MAX as usize, u32::MAX as usize + 1, usize::MAX] {
            assert!(check_row_ids(rows).unwrap_err().to_string().starts_with("too many rows"));
        }
    }
}
