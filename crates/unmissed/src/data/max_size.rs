//! How much compressed input may expand to, and how much of a pipe is held in memory. A gigabyte of zeros fits into a file of a megabyte, so without a bound a small file can
//! fill the memory of whoever opens it.
//!
//! The bound is one number for the process, as resource limits are: it must also hold for tables, names and models that are opened
//! deep inside of other work.

use crate::error::{Error, Result};
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// Unless another bound is set: several times as much as the largest public data sets have as text.
pub const DEFAULT_MAX_SIZE: u64 = 64_000_000_000;

static MAX_SIZE: AtomicU64 = AtomicU64::new(DEFAULT_MAX_SIZE);

/// Sets how many bytes a compressed file (or one array of an archive, or a Parquet file) may expand to, and how many a pipe may deliver that has to be read
/// as a whole, for all files that this process reads from now on, and gives the former bound. Other files have no bound: they are as
/// large as they are.
///
/// ```
/// use unmissed::data::{DEFAULT_MAX_SIZE, max_size, set_max_size};
/// assert_eq!(set_max_size(1 << 40)?, DEFAULT_MAX_SIZE);
/// assert_eq!(max_size(), 1 << 40);
/// assert!(set_max_size(0).is_err());
/// # set_max_size(DEFAULT_MAX_SIZE)?;
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn set_max_size(bytes: u64) -> Result<u64> {
    if bytes == 0 {
        return Err(Error::value("compressed files cannot be bounded by nothing").expected("at least 1 byte").found("0"));
    }
    Ok(MAX_SIZE.swap(bytes, Ordering::Relaxed))
}

/// How many bytes a compressed file may expand to.
pub fn max_size() -> u64 {
    MAX_SIZE.load(Ordering::Relaxed)
}

/// A decompressed stream that ends in an error of kind [`io::ErrorKind::FileTooLarge`] where it goes on beyond the bound.
pub(crate) struct Bounded<R> {
    stream: R,
    left: u64,
}

impl<R: Read> Bounded<R> {
    /// With the bound of the process.
    pub(crate) fn new(stream: R) -> Bounded<R> {
        Bounded { stream, left: max_size() }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        // One byte beyond the bound tells a stream that is too long from one that is just long enough.
        let most = usize::try_from(self.left.saturating_add(1)).map_or(buffer.len(), |left| buffer.len().min(left));
        let read = self.stream.read(&mut buffer[..most])?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::ErrorKind::FileTooLarge.into()),
        }
        Ok(read)
    }
}

/// The error for a stream that went on beyond the bound, if this is what the cause says.
pub(crate) fn too_large(cause: &io::Error) -> Option<Error> {
    (cause.kind() == io::ErrorKind::FileTooLarge).then(|| {
        Error::format("the content is larger than allowed, after decompression if it is compressed")
            .expected(format!("at most {} bytes", max_size()))
            .hint("if you trust the file, allow more (--max-size 200GB; in Python um.set_max_size), or decompress it first")
    })
}

/// Rejects content of so many bytes, or of more, if the bound is below.
#[cfg(feature = "parquet")]
pub(crate) fn check_expanded(bytes: u64, most: u64) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(Error::format("the content is larger than allowed after decompression")
        .expected(format!("at most {most} bytes"))
        .found(bytes.to_string())
        .hint("if you trust the file, allow more (--max-size 200GB; in Python um.set_max_size)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(length: usize, left: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Bounded { stream: &vec![7; length][..], left }.read_to_end(&mut bytes).map(|_| bytes)
    }

    #[test]
    fn what_is_just_long_enough_passes_and_one_byte_more_does_not() {
        for length in [0, 1, 5, 100_000] {
            assert_eq!(read(length, length as u64).unwrap(), vec![7; length]);
            assert_eq!(read(length, u64::MAX).unwrap().len(), length);
            let cause = read(length + 1, length as u64).unwrap_err();
            assert!(too_large(&cause).unwrap().to_string().contains("larger than allowed"));
        }
        assert!(too_large(&io::ErrorKind::InvalidData.into()).is_none());
    }
}
