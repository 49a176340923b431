//! `npz`: sparse matrices of scipy, as `scipy.sparse.save_npz` writes them (csr, csc or coo), or one dense array of `numpy.savez`.
//!
//! A data set is the pair `NAME.x.npz` (features) and `NAME.y.npz` (labels); naming either reads both. `NAME.y.npz` alone
//! is labels without features. In labels, stored zeros are not labels. Any other `.npz` is scores: its stored entries, zeros
//! included. Indices may be of any integer type; values may be float32, float64, bool or integers and become 32-bit
//! floating numbers, rounded to the nearest. A dense array is read like an [`npy`](super::npy) file. Writing gives csr, 32-bit
//! indices where they fit, float32 values, deflate.
//!
//! Members are read in an order that lets each one vouch for the next (shape, row offsets, indices, values), so an archive
//! that unpacks to much more than its matrix is refused before it is unpacked; an array that unpacks to more than
//! [`max_size`](crate::data::max_size) is refused whatever vouches for it.

pub(super) mod array;
mod sparse;

use super::{Content, Format, ReadOptions};
use crate::data::output::Output;
use crate::data::source::{Compression, Source};
use crate::data::{Bounded, Csr, Dataset, Features};
use crate::error::{Error, Result};
use crate::spec::{Named, Spec};
use array::{Array, write_array, write_header};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// See the module's page.
pub(super) struct Npz;

impl crate::sealed::Sealed for Npz {}

impl Named for Npz {
    fn name(&self) -> &'static str {
        "npz"
    }
    fn summary(&self) -> &'static str {
        "scipy.sparse.save_npz: NAME.x.npz (features) and NAME.y.npz (labels), or one file of scores; or one dense array"
    }
}

impl Format for Npz {
    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }

    fn recognises(&self, head: &[u8], _options: &ReadOptions<'_>) -> bool {
        head.starts_with(b"PK\x03\x04")
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&[], &[])?;
        let path = source.path().to_path_buf();
        let name = Name::of(&path);
        let sibling = name.sibling().filter(|sibling| sibling.exists());
        let read = |source: Source| -> Result<Csr<'static, f32>> {
            let path = source.path().to_path_buf();
            read_matrix(source, options).and_then(Stored::scores).map_err(|error| error.in_file(&path))
        };
        match (name.part, sibling) {
            (Some(part), Some(sibling)) => {
                let (this, other) = (read(source)?, read(Source::open(&sibling, options.mmap)?)?);
                let (features, labels) = if part == Part::Features { (this, other) } else { (other, this) };
                let both = format!("it and {} make one data set", sibling.display());
                Dataset::new(Some(Features::Sparse(features)), where_not_zero(&labels)?)
                    .map(Content::Data)
                    .map_err(|error| error.hint(both))
            }
            (Some(Part::Labels), None) => match read_matrix(source, options)? {
                Stored::Sparse(labels) => Ok(Content::Data(Dataset::new(None, where_not_zero(&labels)?)?)),
                Stored::Dense(content) => Ok(Content::Data(content.into_dataset(None)?)),
            },
            _ => match read_matrix(source, options)? {
                Stored::Sparse(scores) => Ok(Content::Scores(scores)),
                Stored::Dense(content) => Ok(content),
            },
        }
    }

    fn drops(&self, _content: &Content) -> Vec<String> {
        Vec::new()
    }

    /// Data with features become two files, whatever of `NAME.npz`, `NAME.x.npz` and `NAME.y.npz` was asked for; neither
    /// gets its name before both are complete.
    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        if Compression::of_name(path).0 != Compression::None {
            return Err(Error::value("an npz file is already compressed").in_file(path).hint("leave the .gz or .zst out"));
        }
        let (features, labels) = match content {
            Content::Scores(scores) => {
                write_matrix(path, scores, scores.values().iter().copied())?.finish()?;
                return Ok(vec![path.to_path_buf()]);
            }
            Content::Data(data) => (data.features(), data.labels()),
        };
        let ones = std::iter::repeat_n(1.0, labels.nnz());
        let Some(features) = features else {
            write_matrix(path, labels, ones)?.finish()?;
            return Ok(vec![path.to_path_buf()]);
        };
        let name = Name::of(path);
        let paths = vec![name.with(Part::Features), name.with(Part::Labels)];
        let features = features.to_sparse()?;
        let first = write_matrix(&paths[0], &features, features.values().iter().copied())?;
        let second = write_matrix(&paths[1], labels, ones)?;
        first.finish()?;
        second.finish()?;
        Ok(paths)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Features,
    Labels,
}

/// The name of a file, taken apart: `NAME.x.npz` is `NAME` and the features.
struct Name {
    base: PathBuf,
    part: Option<Part>,
}

impl Name {
    fn of(path: &Path) -> Name {
        let ends = |path: &Path, ending: &str| path.extension().is_some_and(|e| e == ending);
        let base = if ends(path, "npz") { path.with_extension("") } else { path.to_path_buf() };
        let part = match &base {
            base if ends(base, "x") => Some(Part::Features),
            base if ends(base, "y") => Some(Part::Labels),
            _ => None,
        };
        Name { base: if part.is_some() { base.with_extension("") } else { base }, part }
    }

    fn with(&self, part: Part) -> PathBuf {
        let mut name = self.base.clone().into_os_string();
        name.push(if part == Part::Features { ".x.npz" } else { ".y.npz" });
        name.into()
    }

    fn sibling(&self) -> Option<PathBuf> {
        self.part.map(|part| self.with(if part == Part::Features { Part::Labels } else { Part::Features }))
    }
}

/// The file to read instead of a `NAME.npz` that is not there, when both files of the pair are.
pub(super) fn pair_of(path: &Path) -> Option<PathBuf> {
    if path.extension()? != "npz" || path.exists() {
        return None;
    }
    let name = Name::of(path);
    let both = [name.with(Part::Features), name.with(Part::Labels)];
    let [features, _] = (name.part.is_none() && both.iter().all(|file| file.is_file())).then_some(both)?;
    Some(features)
}

fn where_not_zero(matrix: &Csr<'_, f32>) -> Result<Csr<'static, ()>> {
    let kept = matrix.filter_map(matrix.cols() as u64, |_, id, value| (value != 0.0).then_some(id))?;
    Ok(kept.pattern().into_owned())
}

/// What an archive holds.
enum Stored {
    Sparse(Csr<'static, f32>),
    Dense(Content),
}

impl Stored {
    /// Numbers by row, whatever they are kept as.
    fn scores(self) -> Result<Csr<'static, f32>> {
        match self {
            Stored::Sparse(matrix) | Stored::Dense(Content::Scores(matrix)) => Ok(matrix),
            Stored::Dense(Content::Data(data)) => Ok(data.labels().filled_with(1.0).into_owned()),
        }
    }
}

fn read_matrix(source: Source, options: &ReadOptions<'_>) -> Result<Stored> {
    let size = source.size().unwrap_or(0);
    options.progress.begin(&format!("reading {}", source.path().display()), size);
    let bytes = source.into_bytes()?;
    let mut archive = ZipArchive::new(Cursor::new(bytes.as_ref())).map_err(|error| broken(&error))?;
    let stored = match layout(&mut archive)? {
        Layout::Sparse(layout) => Stored::Sparse(sparse::read(&mut archive, layout)?),
        Layout::Dense => {
            let file = archive.by_index(0).map_err(|error| broken(&error))?;
            Stored::Dense(super::npy::content(Array::open("of the archive", Bounded::new(file))?, options)?)
        }
    };
    options.progress.advance(size)?;
    Ok(stored)
}

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// How the matrix is kept.
enum Layout {
    Sparse(sparse::Layout),
    /// One array.
    Dense,
}

/// Says what the archive is when it holds no matrix.
fn layout(archive: &mut Archive<'_>) -> Result<Layout> {
    if archive.index_for_name("format.npy").is_some() {
        let name = member(archive, "format")?.text()?;
        return sparse::Layout::of_name(&name).map(Layout::Sparse).ok_or_else(|| {
            Error::format("unknown layout of the sparse matrix")
                .expected("format csr, csc or coo")
                .found(crate::error::shown(name.as_bytes()))
                .hint("call .tocsr() before save_npz")
        });
    }
    if archive.len() == 1 {
        return Ok(Layout::Dense);
    }
    let names: Vec<String> = archive.file_names_raw().take(5).map(crate::error::shown).collect();
    Err(Error::format("the archive is neither a sparse matrix of scipy nor one dense array")
        .expected("the arrays indices, indptr, format, shape and data, or one array")
        .found(if names.is_empty() { "nothing".into() } else { names.join(", ") })
        .hint("write it with scipy.sparse.save_npz"))
}

fn member<'a>(archive: &'a mut Archive<'_>, name: &'static str) -> Result<Array<impl std::io::Read + 'a>> {
    let file = archive.by_name(&format!("{name}.npy")).map_err(|error| match error {
        ZipError::FileNotFound => {
            Error::format(format!("the array '{name}' is missing in the archive")).hint("write it with scipy.sparse.save_npz")
        }
        error => broken(&error),
    })?;
    Array::open(name, Bounded::new(file))
}

fn broken(error: &ZipError) -> Error {
    Error::format(format!("cannot read the archive ({error})")).hint("the file is truncated or damaged: fetch or write it again")
}

/// Writes a matrix with these values; the file is complete but has yet to get its name.
fn write_matrix<V: crate::data::csr::Value>(
    path: &Path,
    matrix: &Csr<'_, V>,
    values: impl ExactSizeIterator<Item = f32>,
) -> Result<Output> {
    let mut output = Output::create(path)?;
    let mut archive = ZipWriter::new_stream(&mut output);
    let write = || -> std::result::Result<(), ZipError> {
        // Sizes of four gigabytes and more must be announced before they are known.
        let options = SimpleFileOptions::default().large_file(true);
        let (ids, offsets) = (matrix.ids().iter(), matrix.offsets().iter());
        let narrow = matrix.cols().max(matrix.nnz()) <= i32::MAX as usize;
        archive.start_file("indices.npy", options)?;
        if narrow {
            write_array(&mut archive, "<i4", ids.map(|id| (*id as i32).to_le_bytes()))?;
        } else {
            write_array(&mut archive, "<i8", ids.map(|id| i64::from(*id).to_le_bytes()))?;
        }
        archive.start_file("indptr.npy", options)?;
        if narrow {
            write_array(&mut archive, "<i4", offsets.map(|offset| (*offset as i32).to_le_bytes()))?;
        } else {
            write_array(&mut archive, "<i8", offsets.map(|offset| (*offset as i64).to_le_bytes()))?;
        }
        archive.start_file("format.npy", options)?;
        write_header(&mut archive, "|S3", &[])?;
        archive.write_all(b"csr")?;
        archive.start_file("shape.npy", options)?;
        write_array(&mut archive, "<i8", [matrix.rows() as i64, matrix.cols() as i64].into_iter().map(i64::to_le_bytes))?;
        archive.start_file("data.npy", options)?;
        write_array(&mut archive, "<f4", values.map(f32::to_le_bytes))?;
        archive.finish()?;
        Ok(())
    };
    write().map_err(|error| match error {
        ZipError::Io(cause) => Error::io("cannot write", path, cause),
        error => Error::io("cannot write", path, std::io::Error::other(error)),
    })?;
    Ok(output)
}

#[cfg(test)]
mod tests;
