//! How a run can be repeated: the command, the seed, the version, and what exactly was read.

use crate::error::{Error, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

/// How a run can be repeated. There is no date in it: the same run gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Provenance {
    /// The command, as a shell would take it.
    pub command: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// Bootstrap replicates.
    pub bootstrap: usize,
    /// Version of this software.
    pub version: String,
    /// Operating system and processor that it was built for.
    pub target: String,
    /// The files that were read.
    pub files: Vec<InputFile>,
}

/// A file that took part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputFile {
    /// What it was used for.
    pub role: String,
    /// Its name as given.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal; `None` for pipes, which can be read only once.
    pub sha256: Option<String>,
}

impl InputFile {
    /// Reads a file once more to say what it was.
    pub fn new(role: impl Into<String>, path: impl AsRef<Path>) -> Result<InputFile> {
        let path = path.as_ref();
        let failed = |cause| Error::io("cannot read", path, cause);
        let about = std::fs::metadata(path).map_err(failed)?;
        let mut file = InputFile { role: role.into(), path: path.display().to_string(), bytes: about.len(), sha256: None };
        if about.is_file() {
            let mut reader = std::fs::File::open(path).map_err(failed)?;
            let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
            loop {
                match reader.read(&mut buffer).map_err(failed)? {
                    0 => break,
                    length => hasher.update(&buffer[..length]),
                }
            }
            file.sha256 = Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        Ok(file)
    }
}

/// Arguments as a shell would take them.
///
/// ```
/// use unmissed::audit::provenance::shell;
/// assert_eq!(shell(["unmissed", "audit", "--name", "it's"]), r"unmissed audit --name 'it'\''s'");
/// ```
pub fn shell<S: AsRef<str>>(arguments: impl IntoIterator<Item = S>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |argument: S| {
        let text = argument.as_ref();
        if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
    };
    arguments.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let file = InputFile::new("test", &path).unwrap();
        // FIPS 180-2, appendix B.1.
        assert_eq!(file.sha256.as_deref(), Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        assert!(InputFile::new("test", folder.path().join("none")).is_err());
    }
}
