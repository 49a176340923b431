//! Memory maps, with the `unsafe` line that a map needs.
//!
//! Reading a text file through a map instead of a buffer saves a copy of the whole file: parsing is as fast as reading, and
//! the text never counts as memory of the process (docs/benchmarks.md has both measurements).

use std::fs::File;
use std::io;

/// Bytes of a file, mapped read-only.
#[derive(Debug)]
pub(crate) struct MemoryMap(memmap2::Mmap);

impl MemoryMap {
    /// Maps a whole regular file.
    pub(crate) fn of(file: &File) -> io::Result<MemoryMap> {
        // SAFETY: the map is private to this process and only ever read. What remains is that another process may change or
        // truncate the file meanwhile: a change can at worst make the parser see other bytes (they are plain `u8`s, checked as
        // they are read), a truncation raises SIGBUS. Callers who expect that turn mapping off (`ReadOptions::mmap`).
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(file)? };
        #[cfg(unix)]
        map.advise(memmap2::Advice::Sequential)?;
        Ok(MemoryMap(map))
    }
}

impl AsRef<[u8]> for MemoryMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
