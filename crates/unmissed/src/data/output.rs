//! Files that appear complete or not at all, even if the power fails: written under a temporary name beside the target, synced to
//! the disk, then renamed.

use super::source::Compression;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempPath;

/// Temporary files that are being written, for [`remove_unfinished`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of all outputs that are not finished. For signal handlers that end the process.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // Nothing can be done about a file that resists, and the process is about to end.
        let _ = fs::remove_file(path);
    }
}

/// Where a link to nothing points: the file is to appear there, and the link to stay.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    const MOST: usize = 40;
    let mut end = path.to_path_buf();
    for _ in 0..MOST {
        let Ok(next) = fs::read_link(&end) else { return Ok(end) };
        end = end.parent().map_or(next.clone(), |folder| folder.join(&next));
    }
    // A file that took the place of one of the links would change what the others point to.
    Err(io::Error::other("its symbolic links lead in a circle"))
}

/// The cause alone, without the temporary name that `tempfile` adds to its text.
fn bare(cause: io::Error) -> io::Error {
    let text = cause.to_string();
    match text.rsplit_once(" at path ") {
        Some((what, _)) => io::Error::new(cause.kind(), what.to_owned()),
        None => cause,
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a complete file its name so that a crash leaves the old file or the new one: the content reaches the disk before the
/// name does, and the name before this returns.
fn settle(file: &File, temporary: TempPath, target: &Path, sync: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    sync(file)?;
    temporary.persist(target).map_err(|failure| failure.error)?;
    // Not every system opens folders as files, and not every file system syncs them. The file has its name by now, so a failure
    // to sync the folder must not pass for a failure to write.
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = sync(&folder);
    }
    Ok(())
}

fn forget(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != path);
}

/// A file that is being written. A name that ends in `.gz` or `.zst` is compressed. Dropped before [`Output::finish`], it leaves
/// nothing behind, and a file that was there before stays as it was.
///
/// ```
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("out.txt");
/// let mut output = unmissed::data::Output::create(&path)?;
/// output.write_all(b"hello\n")?;
/// assert!(!path.exists());
/// output.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"hello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Output {
    target: PathBuf,
    temporary: Option<TempPath>,
    encoder: Encoder,
}

enum Encoder {
    Finished,
    Plain(BufWriter<File>),
    Gzip(Box<flate2::write::GzEncoder<BufWriter<File>>>),
    Zstd(Box<zstd::Encoder<'static, BufWriter<File>>>),
}

impl Output {
    /// Starts a file that will be at `path` when it is finished.
    pub fn create(path: impl AsRef<Path>) -> Result<Output> {
        let path = path.as_ref();
        let failed = |cause| Error::io("cannot create", path, cause);
        // Devices and pipes are written to, not replaced; a link keeps pointing at the file that it points at.
        let target = fs::canonicalize(path).or_else(|_| end_of_links(path)).map_err(failed)?;
        let existing = fs::metadata(&target).ok();
        if existing.as_ref().is_some_and(|m| m.is_dir()) {
            return Err(Error::value("is a directory").expected("the name of a file to write").in_file(path));
        }
        let (file, temporary) = if existing.as_ref().is_some_and(|m| !m.is_file()) {
            (File::options().write(true).open(&target).map_err(failed)?, None)
        } else {
            let folder = folder_of(&target);
            if !folder.exists() {
                let cause = format!("the folder {} does not exist", folder.display());
                return Err(failed(io::Error::new(io::ErrorKind::NotFound, cause)));
            }
            let mut builder = tempfile::Builder::new();
            builder.prefix(".unmissed-").suffix(".tmp");
            #[cfg(unix)]
            let default = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
            #[cfg(unix)]
            builder.permissions(existing.as_ref().map_or(default, |m| m.permissions()));
            let (file, temporary) = builder.tempfile_in(folder).map_err(|cause| failed(bare(cause)))?.into_parts();
            UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(temporary.to_path_buf());
            (file, Some(temporary))
        };
        let writer = BufWriter::with_capacity(1 << 18, file);
        let encoder = match Compression::of_name(path).0 {
            Compression::None => Encoder::Plain(writer),
            Compression::Gzip => Encoder::Gzip(Box::new(flate2::write::GzEncoder::new(writer, flate2::Compression::default()))),
            Compression::Zstd => Encoder::Zstd(Box::new(zstd::Encoder::new(writer, 0).map_err(failed)?)),
        };
        Ok(Output { target, temporary, encoder })
    }

    /// Writes what is left, and gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        let target = self.target.clone();
        let failed = |cause| Error::io("cannot write", &target, cause);
        let mut writer = match std::mem::replace(&mut self.encoder, Encoder::Finished) {
            Encoder::Finished => return Ok(()),
            Encoder::Plain(writer) => writer,
            Encoder::Gzip(encoder) => encoder.finish().map_err(failed)?,
            Encoder::Zstd(encoder) => encoder.finish().map_err(failed)?,
        };
        writer.flush().map_err(failed)?;
        if let Some(temporary) = self.temporary.take() {
            let name = temporary.to_path_buf();
            let settled = settle(writer.get_ref(), temporary, &target, File::sync_all);
            forget(&name);
            settled.map_err(|cause| failed(bare(cause)))?;
        }
        Ok(())
    }

    /// Writes bytes; an error names the target.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|cause| Error::io("cannot write", &self.target, cause))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Encoder::Finished => Ok(0),
            Encoder::Plain(writer) => writer.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Finished => Ok(()),
            Encoder::Plain(writer) => writer.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            forget(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_named_and_the_temporary_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("x.txt");
        let message = format!("{:#}", Output::create(&path).err().unwrap());
        assert!(message.ends_with(&format!("the folder {} does not exist", folder.path().join("none").display())), "{message}");
        std::fs::write(folder.path().join("file"), "").unwrap();
        let message = format!("{:#}", Output::create(folder.path().join("file").join("x.txt")).err().unwrap());
        assert!(message.contains("cannot create") && !message.contains(".unmissed-"), "{message}");
    }

    /// Content, name, folder, in this order: any other one can leave an empty or lost file after a power failure.
    #[cfg(unix)]
    #[test]
    fn a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.txt");
        let (file, temporary) = tempfile::NamedTempFile::new_in(folder.path()).unwrap().into_parts();
        let synced = std::cell::RefCell::new(Vec::new());
        settle(&file, temporary, &target, |file| {
            synced.borrow_mut().push((file.metadata().unwrap().is_dir(), target.exists()));
            Ok(())
        })
        .unwrap();
        assert_eq!(*synced.borrow(), [(false, false), (true, true)]);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_circle_stay_and_are_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [a, b, own] = ["a", "b", "own"].map(|name| folder.path().join(name));
        symlink("b", &a).unwrap();
        symlink("a", &b).unwrap();
        symlink("own", &own).unwrap();
        for path in [&a, &b, &own] {
            let message = format!("{:#}", Output::create(path).err().unwrap());
            assert!(message.contains("lead in a circle"), "{message}");
            assert!(fs::symlink_metadata(path).unwrap().is_symlink());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_file_that_cannot_be_synced_does_not_appear() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.txt");
        fs::write(&target, "old").unwrap();
        let (file, temporary) = tempfile::NamedTempFile::new_in(folder.path()).unwrap().into_parts();
        assert!(settle(&file, temporary, &target, |_| Err(io::Error::other("the disk is gone"))).is_err());
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link.txt"), folder.path().join("target.txt"));
        std::os::unix::fs::symlink("middle.txt", &link).unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("middle.txt")).unwrap();
        let mut output = Output::create(&link).unwrap();
        output.put(b"x").unwrap();
        output.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"x");
    }
}
