//! How a run can be repeated: the command, the request, the version, and what exactly was read.

use crate::error::{Error, Result};
use crate::request::AuditRequest;
use serde::Serialize;
use std::path::Path;

/// How a run can be repeated. There is no date in it: the same run gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Provenance {
    /// The command, as a shell would take it.
    pub command: Option<String>,
    /// What was asked for.
    pub request: AuditRequest,
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
    /// Its BLAKE3 checksum, in hexadecimal; `None` for pipes, which can be read only once.
    pub blake3: Option<String>,
}

impl InputFile {
    /// Reads a file once more to say what it was.
    pub fn new(role: impl Into<String>, path: impl AsRef<Path>) -> Result<InputFile> {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return Ok(InputFile { role: role.into(), path: "standard input".into(), bytes: 0, blake3: None });
        }
        let failed = |cause| Error::io("cannot read", path, cause);
        let about = std::fs::metadata(path).map_err(failed)?;
        let mut file = InputFile { role: role.into(), path: path.display().to_string(), bytes: about.len(), blake3: None };
        if about.is_file() {
            let reader = std::fs::File::open(path).map_err(failed)?;
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(reader).map_err(failed)?;
            file.blake3 = Some(hasher.finalize().to_hex().to_string());
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
    fn the_checksum_is_that_of_b3sum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let file = InputFile::new("test", &path).unwrap();
        assert_eq!(file.blake3.as_deref(), Some("6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"));
        assert!(InputFile::new("test", folder.path().join("none")).is_err());
    }
}
