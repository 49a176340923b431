//! What every target does: read arbitrary bytes as a file of some format. Anything but a panic is fine.

use unmissed::data::Source;
use unmissed::data::formats::{ReadOptions, read_source};

/// Reads `bytes` in the format called `format`, or in the one that is recognised.
pub fn read(format: Option<&str>, bytes: &[u8]) {
    let format = format.map(|name| name.parse().expect("a valid spec"));
    let options = ReadOptions { format, ..ReadOptions::default() };
    if let Ok(source) = Source::of_bytes("input", bytes.to_vec())
        && let Ok(content) = read_source(source, &options)
    {
        let _ = content.into_dataset(Some(4.0));
    }
}
