//! Where bytes come from: a file, mapped or read, plain or compressed, a pipe, or standard input (`-`).

use super::file_stamp::FileStamp;
use super::max_size::{Bounded, too_large};
use super::memory_map::MemoryMap;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody has read standard input.
static STANDARD_INPUT_READ: AtomicBool = AtomicBool::new(false);

/// How much of a source is looked at to recognise its format.
const HEAD: usize = 64 << 10;
/// How much text a stream hands over at a time.
const BLOCK: usize = 16 << 20;
/// No line of a sane file is longer; this bounds what a hostile one can make us hold.
const LONGEST_LINE: usize = 1 << 30;
/// What some editors put in front of UTF-8 text. It is no content.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// An opened input. Gzip and zstd are undone on the way, and a byte order mark in front of text is left out.
pub struct Source {
    path: PathBuf,
    head: Vec<u8>,
    body: Body,
    /// Of regular files.
    stamp: Option<FileStamp>,
}

enum Body {
    Whole(Bytes),
    Stream(Box<dyn Read + Send>),
}

impl Source {
    /// Opens the file at `path`, or standard input for `-`. `mmap` allows a memory map; pipes and compressed files are streams anyway.
    pub fn open(path: impl AsRef<Path>, mmap: bool) -> Result<Source> {
        let path = path.as_ref().to_path_buf();
        if path.as_os_str() == "-" {
            return Source::standard_input();
        }
        let failed = |cause| Error::io("cannot open", &path, cause);
        let file = File::open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::value("is a directory").expected("a file").in_file(&path));
        }
        let stamp = if metadata.is_file() { Some(FileStamp::new(&file, &metadata).map_err(failed)?) } else { None };
        let body = if metadata.is_file() && metadata.len() > 0 && mmap {
            let map = MemoryMap::of(&file).map_err(|cause| Error::io("cannot map", &path, cause))?;
            match Compression::of(map.as_ref()) {
                Compression::None => Body::Whole(Bytes::new(Held::Mapped(map))),
                compression => Body::Stream(compression.decoder(Box::new(Cursor::new(map))).map_err(failed)?),
            }
        } else {
            let (magic, rest) = peek(Box::new(file), 4).map_err(failed)?;
            Body::Stream(Compression::of(&magic).decoder(rest).map_err(failed)?)
        };
        Source { head: Vec::new(), path, body, stamp }.with_head()
    }

    fn standard_input() -> Result<Source> {
        let path = PathBuf::from("-");
        // The second reader would find nothing, and take that for an empty file.
        if STANDARD_INPUT_READ.swap(true, Ordering::Relaxed) {
            return Err(Error::value("standard input was already read").expected("'-' for one input").in_file(&path));
        }
        let failed = |cause| Error::io("cannot read", &path, cause);
        let (magic, rest) = peek(Box::new(io::stdin()), 4).map_err(failed)?;
        let body = Body::Stream(Compression::of(&magic).decoder(rest).map_err(failed)?);
        Source { head: Vec::new(), path, body, stamp: None }.with_head()
    }

    /// Bytes in memory, as if they were the content of a file of this name.
    pub fn of_bytes(name: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Source> {
        let path = name.as_ref().to_path_buf();
        let body = match Compression::of(&bytes) {
            Compression::None => Body::Whole(Bytes::new(Held::Owned(bytes))),
            compression => {
                let decoder = compression.decoder(Box::new(Cursor::new(bytes)));
                Body::Stream(decoder.map_err(|cause| unreadable(&path, cause))?)
            }
        };
        Source { head: Vec::new(), path, body, stamp: None }.with_head()
    }

    /// Bytes that another source gave, under its name.
    pub(crate) fn of_held(path: PathBuf, bytes: Bytes) -> Source {
        let head = bytes.as_ref()[..bytes.as_ref().len().min(HEAD)].to_vec();
        Source { path, head, body: Body::Whole(bytes), stamp: None }
    }

    fn with_head(mut self) -> Result<Source> {
        match self.body {
            Body::Whole(ref mut bytes) => {
                bytes.skip_mark();
                self.head = bytes.as_ref()[..bytes.as_ref().len().min(HEAD)].to_vec();
            }
            Body::Stream(stream) => {
                let stream = without_mark(stream).map_err(|cause| unreadable(&self.path, cause))?;
                let (head, stream) = peek(stream, HEAD).map_err(|cause| unreadable(&self.path, cause))?;
                self.head = head;
                self.body = Body::Stream(stream);
            }
        }
        Ok(self)
    }

    /// What tells afterwards whether the file stayed the same.
    pub(super) fn take_stamp(&mut self) -> Option<FileStamp> {
        self.stamp.take()
    }

    /// The file that this is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes, decompressed.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The number of bytes to come, when it is known.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.body {
            Body::Whole(bytes) => Some(bytes.as_ref().len() as u64),
            Body::Stream(_) => None,
        }
    }

    /// Everything at once. Pipes and devices may never end, so they have a bound as compressed files do.
    pub(crate) fn into_bytes(self) -> Result<Bytes> {
        match self.body {
            Body::Whole(bytes) => Ok(bytes),
            Body::Stream(mut stream) => {
                let mut bytes = Vec::new();
                let read = if self.stamp.is_some() {
                    stream.read_to_end(&mut bytes)
                } else {
                    Bounded::new(stream).read_to_end(&mut bytes)
                };
                read.map_err(|cause| unreadable(&self.path, cause))?;
                Ok(Bytes::new(Held::Owned(bytes)))
            }
        }
    }

    /// Hands the text over in blocks of whole lines: a mapped file in one block, a stream in blocks of some megabytes, so
    /// that compressed text is never in memory as a whole.
    pub(crate) fn for_each_block(self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut stream = match self.body {
            Body::Whole(bytes) => return take(bytes.as_ref()),
            Body::Stream(stream) => stream,
        };
        let mut block = Vec::with_capacity(BLOCK);
        loop {
            let before = block.len();
            let read = stream.by_ref().take(BLOCK as u64).read_to_end(&mut block).map_err(|cause| unreadable(&self.path, cause))?;
            if read == 0 {
                return if block.is_empty() { Ok(()) } else { take(&block) };
            }
            match memchr::memrchr(b'\n', &block[before..]) {
                Some(end) => {
                    let end = before + end + 1;
                    take(&block[..end])?;
                    block.drain(..end);
                }
                None if block.len() > LONGEST_LINE => {
                    return Err(Error::format("a line is too long")
                        .expected(format!("at most {LONGEST_LINE} bytes"))
                        .in_file(&self.path)
                        .hint("is this a text file?"));
                }
                None => {}
            }
        }
    }
}

/// The whole content of a source.
pub(crate) struct Bytes {
    held: Held,
    /// Bytes in front that are no content.
    skip: usize,
}

enum Held {
    Mapped(MemoryMap),
    Owned(Vec<u8>),
}

impl Bytes {
    fn new(held: Held) -> Bytes {
        Bytes { held, skip: 0 }
    }

    fn skip_mark(&mut self) {
        self.skip = if self.as_ref().starts_with(MARK) { MARK.len() } else { 0 };
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        let all = match &self.held {
            Held::Mapped(map) => map.as_ref(),
            Held::Owned(bytes) => bytes,
        };
        &all[self.skip..]
    }
}

/// How a file is compressed, by its first bytes on reading and by its name on writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn of(magic: &[u8]) -> Compression {
        match magic {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The compression that a name asks for, and the name without that ending.
    pub(crate) fn of_name(path: &Path) -> (Compression, PathBuf) {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => (Compression::Gzip, path.with_extension("")),
            Some("zst") => (Compression::Zstd, path.with_extension("")),
            _ => (Compression::None, path.to_path_buf()),
        }
    }

    fn decoder(self, stream: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::None => stream,
            Compression::Gzip => Box::new(Bounded::new(flate2::read::MultiGzDecoder::new(stream))),
            Compression::Zstd => Box::new(Bounded::new(zstd::Decoder::new(stream)?)),
        })
    }
}

/// Up to `count` bytes from the front of a stream, and the stream with them put back.
fn peek(mut stream: Box<dyn Read + Send>, count: usize) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = Vec::new();
    stream.by_ref().take(count as u64).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(stream);
    Ok((head, Box::new(whole)))
}

/// The stream without a byte order mark in front.
fn without_mark(mut stream: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut front = Vec::new();
    stream.by_ref().take(MARK.len() as u64).read_to_end(&mut front)?;
    Ok(if front == MARK { stream } else { Box::new(Cursor::new(front).chain(stream)) })
}

fn unreadable(path: &Path, cause: io::Error) -> Error {
    if let Some(error) = too_large(&cause) {
        return error.in_file(path);
    }
    match cause.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
            Error::format(format!("compressed data is broken ({cause})"))
                .in_file(path)
                .hint("the file is truncated or damaged: fetch or write it again")
        }
        _ => Error::io("cannot read", path, cause),
    }
}
