//! What the tests of files share.

use std::io::Write;
use unmissed::data::formats::{Content, ReadOptions, read};

/// Bytes under a name in a folder that lives as long as the test: written again and again, read as a file of some format.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Reads these bytes as the file `name`, in `format` when one is given.
    pub(crate) fn read(&self, name: &str, bytes: &[u8], format: Option<&str>) -> unmissed::Result<Content> {
        std::fs::write(self.path(name), bytes).unwrap();
        let format = format.map(|format| format.parse().unwrap());
        read(self.path(name), &ReadOptions { format, ..Default::default() })
    }
}

/// An array as numpy writes it.
pub(crate) fn npy(kind: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), elements].concat()
}

/// An array of 32-bit integers.
pub(crate) fn ints(numbers: &[i32]) -> Vec<u8> {
    npy("<i4", &format!("({},)", numbers.len()), &numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
}

/// An array of 32-bit floating numbers.
pub(crate) fn floats(numbers: &[f32]) -> Vec<u8> {
    npy("<f4", &format!("({},)", numbers.len()), &numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
}

/// The members of a good archive: [[0, 1.5, 0, 0], [0, 0, 0, 0], [2, 0, 0, -1]].
pub(crate) fn members() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("indices", ints(&[1, 0, 3])),
        ("indptr", ints(&[0, 1, 1, 3])),
        ("format", npy("|S3", "()", b"csr")),
        ("shape", ints(&[3, 4])),
        ("data", floats(&[1.5, 2.0, -1.0])),
    ]
}

/// An archive with these members.
pub(crate) fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
