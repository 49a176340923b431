//! Pairs that may not be predicted.

use crate::matrix::{Slices, Sparse};
use pyo3::prelude::*;
use std::path::PathBuf;
use unmissed::Result;
use unmissed::data::IgnoredPairs;

/// The name of a file with `row label` per line, or the ignored labels of each row.
#[derive(FromPyObject)]
pub(crate) enum IgnoredGiven<'py> {
    File(PathBuf),
    Pairs(Sparse<'py>),
}

/// The same without the interpreter.
pub(crate) enum Ignored<'a> {
    File(PathBuf),
    Pairs(Slices<'a>),
}

impl IgnoredGiven<'_> {
    pub(crate) fn slices(&self) -> PyResult<Ignored<'_>> {
        Ok(match self {
            IgnoredGiven::File(path) => Ignored::File(path.clone()),
            IgnoredGiven::Pairs(pairs) => Ignored::Pairs(pairs.slices()?),
        })
    }
}

impl Ignored<'_> {
    pub(crate) fn pairs(&self, rows: usize, labels: usize) -> Result<IgnoredPairs> {
        match self {
            Ignored::File(path) => IgnoredPairs::read(path, rows, labels),
            Ignored::Pairs(pairs) => Ok(IgnoredPairs::new(pairs.labels()?.into_owned())),
        }
    }
}
