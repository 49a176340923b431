//! The parallel writer.

use crate::data::output::Output;
use crate::error::Result;
use rayon::prelude::*;

/// Rows that one task formats.
const ROWS: usize = 1 << 12;
/// Tasks whose text is in memory at a time.
const TASKS: usize = 16;

/// Formats rows in parallel, in batches, and writes them in order.
pub(crate) fn write_rows(output: &mut Output, rows: usize, format: impl Fn(usize, &mut Vec<u8>) + Sync) -> Result<()> {
    for batch in (0..rows).step_by(ROWS * TASKS) {
        let pieces: Vec<Vec<u8>> = (0..TASKS)
            .into_par_iter()
            .map(|task| {
                let mut text = Vec::new();
                let first = batch + task * ROWS;
                for row in first.min(rows)..(first + ROWS).min(rows) {
                    format(row, &mut text);
                    text.push(b'\n');
                }
                text
            })
            .collect();
        for piece in pieces {
            output.put(&piece)?;
        }
    }
    Ok(())
}

/// Appends an id.
pub(crate) fn write_id(text: &mut Vec<u8>, id: u32) {
    let mut buffer = [0; <u32 as lexical_core::FormattedSize>::FORMATTED_SIZE];
    text.extend_from_slice(lexical_core::write(id, &mut buffer));
}

/// Appends `id:value`, the value with as few digits as bring it back exactly.
pub(crate) fn write_entry(text: &mut Vec<u8>, id: u32, value: f32) {
    write_id(text, id);
    text.push(b':');
    write_value(text, value);
}

/// Appends a value with as few digits as bring it back exactly.
pub(crate) fn write_value(text: &mut Vec<u8>, value: f32) {
    let mut buffer = [0; <f32 as lexical_core::FormattedSize>::FORMATTED_SIZE];
    let digits = &*lexical_core::write(value, &mut buffer);
    text.extend_from_slice(digits.strip_suffix(b".0").unwrap_or(digits));
}
