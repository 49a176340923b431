//! Where real data are: in the folder that `UNMISSED_DATA` names, or in `../shared/data` beside the checkout.
//! `scripts/data/README.md` says how to get them.

use std::path::{Path, PathBuf};

/// The folder of a data set, such as `bibtex`; without it a line says that the test is skipped, and why.
pub fn data(name: &str) -> Option<PathBuf> {
    let given = given_folder();
    let path = given.clone().unwrap_or_else(|| root().join("../shared/data")).join(name);
    if path.is_dir() {
        return Some(path);
    }
    let place =
        if given.is_some() { "in the folder of UNMISSED_DATA" } else { "beside the checkout, and UNMISSED_DATA is not set" };
    println!("skipped: no data set '{name}' {place} (see scripts/data/README.md)");
    None
}

/// The folder with small data and the values that independent implementations have for them.
pub fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden")
}

/// What `UNMISSED_DATA` says, relative to the root of the checkout.
fn given_folder() -> Option<PathBuf> {
    std::env::var_os("UNMISSED_DATA").filter(|folder| !folder.is_empty()).map(|folder| root().join(folder))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
