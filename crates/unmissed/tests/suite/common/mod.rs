//! Helpers for integration tests.

pub mod evaluation;
/// What the library draws its numbers from. It is no part of its public surface, so the tests have a copy of their own.
#[allow(dead_code)]
#[path = "../../../src/rng.rs"]
pub mod rng;
#[path = "../../../src/sigmoid.rs"]
pub mod sigmoid;

use std::path::{Path, PathBuf};
use unmissed::data::formats::{Content, ReadOptions, read};
use unmissed::spec::Spec;

/// A folder of the shared data beside the checkout, or a line that says that the test is skipped.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if !path.exists() {
        println!("skipped: no shared/{name} beside the checkout");
        return None;
    }
    Some(path)
}

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
