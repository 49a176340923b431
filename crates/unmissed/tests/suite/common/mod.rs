//! Helpers for integration tests.

pub mod evaluation;
mod real_data;
/// What the library draws its numbers from. It is no part of its public surface, so the tests have a copy of their own.
#[allow(dead_code)]
#[path = "../../../src/rng.rs"]
pub mod rng;
#[path = "../../../src/sigmoid.rs"]
pub mod sigmoid;
pub mod trees;

pub use real_data::{data, golden};
use unmissed::data::formats::{Content, ReadOptions, read};
use unmissed::spec::Spec;

/// Writes bytes to a file and reads them back with the library.
pub fn read_bytes(bytes: &[u8], from: Option<&str>) -> Result<Content, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let format = from.map(|name| name.parse::<Spec>().unwrap());
    let mapped = read(&path, &ReadOptions { format: format.clone(), ..ReadOptions::default() });
    let streamed = read(&path, &ReadOptions { format, mmap: false, ..ReadOptions::default() });
    let shorten = |error: unmissed::Error| error.to_string().replace(&path.display().to_string(), "file");
    let (mapped, streamed) = (mapped.map_err(shorten), streamed.map_err(shorten));
    assert_eq!(mapped, streamed, "mapped and streamed reading must agree");
    mapped
}
