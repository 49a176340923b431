//! How long work reports itself: the library counts, whoever calls it decides whether and how to show that.

use crate::error::Result;

/// Something that watches long work. The command line draws a bar; bindings look for Ctrl-C.
pub trait Progress: Sync {
    /// A stage starts; `total` is in the units that [`Progress::advance`] counts, 0 when it is not known.
    fn begin(&self, stage: &str, total: u64);
    /// `amount` more units are done. An error stops the work and is what the caller of the work gets.
    fn advance(&self, amount: u64) -> Result<()>;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _amount: u64) -> Result<()> {
        Ok(())
    }
}
