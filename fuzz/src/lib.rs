//! What every target does: read arbitrary bytes as a file of some format, or as a model. Anything but a panic is fine.

use unmissed::data::Source;
use unmissed::data::formats::{ReadOptions, read_source};
use unmissed::predict::file;

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

/// Reads `bytes` as a model, and looks at every weight of what comes out.
pub fn read_model(bytes: &[u8]) {
    if let Ok(source) = Source::of_bytes("input", bytes.to_vec())
        && let Ok((model, _)) = file::read_source(source)
    {
        let _ = model.summary();
    }
}
