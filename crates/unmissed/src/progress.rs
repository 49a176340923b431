//! Progress of long work: the library counts, and the caller decides whether and how to show it.

use crate::error::Result;

/// An observer of long work. The command line draws a bar; bindings check for Ctrl-C.
pub trait Progress: Sync {
    /// A stage starts; `total` is in the units that [`Progress::advance`] counts, 0 when it is not known.
    fn begin(&self, stage: &str, total: u64);
    /// `amount` more units are done. An error stops the work and is returned to its caller.
    fn advance(&self, amount: u64) -> Result<()>;
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _amount: u64) -> Result<()> {
        Ok(())
    }
}
