//! Whether a file stayed the same while it was read.

use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Size and time of an open file.
#[derive(Debug)]
pub(super) struct FileStamp {
    /// The same file, even if another one has its name in the meantime.
    file: File,
    size: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    pub(super) fn new(file: &File, metadata: &Metadata) -> io::Result<FileStamp> {
        Ok(FileStamp { file: file.try_clone()?, size: metadata.len(), modified: metadata.modified().ok() })
    }

    /// An error when the file is another one now: half of what was read may be old and half new.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let now = self.file.metadata().map_err(|cause| Error::io("cannot read", path, cause))?;
        if (now.len(), now.modified().ok()) == (self.size, self.modified) {
            return Ok(());
        }
        Err(Error::value("the file changed while it was read")
            .expected(format!("{} bytes throughout", self.size))
            .found(format!("{} bytes, changed in the meantime", now.len()))
            .hint("wait for the program that writes it, or let it write under another name and rename the file at the end")
            .in_file(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_grows_is_noticed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"a").unwrap();
        let open = File::open(file.path()).unwrap();
        let stamp = FileStamp::new(&open, &open.metadata().unwrap()).unwrap();
        stamp.check(file.path()).unwrap();
        file.write_all(b"b").unwrap();
        let error = stamp.check(file.path()).unwrap_err().to_string();
        assert!(error.contains("the file changed while it was read: expected 1 bytes") && error.contains("2 bytes"), "{error}");
    }
}
