//! What a file may expand to: runs of equal numbers take almost no bytes, so a small file can hold more than any memory.

use super::broken;
use crate::data::max_size::check_expanded;
use crate::error::Result;
use parquet::file::metadata::ParquetMetaData;

/// Bytes of a number in memory, at most.
const NUMBER: u64 = 8;

/// Rejects files whose columns are declared to be larger than this, before anything of them is read, and columns with a negative place or
/// length, at which the reader would panic.
pub(super) fn check_declared(metadata: &ParquetMetaData, names: &[&str], most: u64) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        if start < 0 || column.compressed_size() < 0 {
            return Err(broken("a column has a negative place or length"));
        }
    }
    let groups = metadata.row_groups().iter().flat_map(|group| group.columns());
    let columns = groups.filter(|column| column.column_path().parts().first().is_some_and(|name| names.contains(&&**name)));
    let (mut bytes, mut numbers) = (0u64, 0u64);
    for column in columns {
        // Negative sizes are those of a damaged file, which is not this check's concern.
        bytes = bytes.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(0));
        numbers = numbers.saturating_add(u64::try_from(column.num_values()).unwrap_or(0));
    }
    check_expanded(bytes.max(numbers.saturating_mul(NUMBER)), most)
}
