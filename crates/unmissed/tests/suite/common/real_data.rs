//! Where real data are: in the folder that `UNMISSED_DATA` names, or in `../shared/data` beside the checkout.
//! `scripts/data/README.md` says how to get them.

use std::path::{Path, PathBuf};

/// The folder of a data set, such as `bibtex`; without it a line says that the test is skipped, and why.
pub fn data(name: &str) -> Option<PathBuf> {
    let given = given_folder();
    let path = given.clone().unwrap_or_else(|| beside_the_checkout("data")).join(name);
    if path.is_dir() {
        return Some(path);
    }
    let place =
        if given.is_some() { "in the folder of UNMISSED_DATA" } else { "beside the checkout, and UNMISSED_DATA is not set" };
    println!("skipped: no data set '{name}' {place} (see scripts/data/README.md)");
    None
}

/// The folder with the values of independent implementations.
pub fn golden() -> Option<PathBuf> {
    let given = given_folder().map(|folder| folder.join("golden")).filter(|folder| folder.is_dir());
    let path = given.unwrap_or_else(|| beside_the_checkout("golden"));
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no folder 'golden' beside the checkout or in the folder of UNMISSED_DATA");
    None
}

/// What `UNMISSED_DATA` says, relative to the root of the checkout.
fn given_folder() -> Option<PathBuf> {
    std::env::var_os("UNMISSED_DATA").filter(|folder| !folder.is_empty()).map(|folder| root().join(folder))
}

fn beside_the_checkout(name: &str) -> PathBuf {
    root().join("../shared").join(name)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
