//! The parallel reader.

use super::rows::{Chunk, Filled, Grammar, parse_chunk};
use crate::data::csr::Csr;
use crate::data::source::Source;
use crate::error::{Error, Result, shown};
use crate::progress::Progress;
use rayon::prelude::*;

/// Text that one task parses: large enough to amortise a task, small enough to share the work evenly.
const CHUNK: usize = 1 << 20;

/// A header: its numbers and the length of its line in bytes.
pub(crate) struct Header {
    pub(crate) numbers: Vec<u64>,
    /// A number that 64 bits do not hold.
    too_large: Option<String>,
    length: usize,
}

/// Reads the header line: `None` when the first line is not made of whole numbers only.
pub(crate) fn header(head: &[u8]) -> Option<Header> {
    let end = memchr::memchr(b'\n', head);
    let line = &head[..end.unwrap_or(head.len())];
    let text = std::str::from_utf8(line).ok()?;
    let mut too_large = None;
    let number = |word: &str| {
        let number = word.parse().ok();
        if number.is_none() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            too_large.get_or_insert_with(|| word.to_owned());
            return Some(u64::MAX);
        }
        number
    };
    let numbers: Option<Vec<u64>> = text.split_ascii_whitespace().map(number).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    Some(Header { numbers, too_large, length: end.map_or(head.len(), |end| end + 1) })
}

impl Header {
    /// The numbers, when there are exactly `N` of them.
    pub(crate) fn exactly<const N: usize>(head: &[u8], expected: &str) -> Result<(Header, [u64; N])> {
        let found = || shown(head.split(|b| *b == b'\n').next().unwrap_or(head));
        let error = |what: &str| Err(Error::format(what).expected(format!("'{expected}'")).found(found()).at(1));
        match header(head) {
            None if head.is_empty() => Err(Error::format("the file is empty").expected(format!("a header '{expected}'"))),
            None => error("the first line is not a header of whole numbers"),
            Some(Header { too_large: Some(word), .. }) => Err(Error::format("a number in the header is too large")
                .expected(format!("'{expected}', each at most {}", u64::MAX))
                .found(shown(word.as_bytes()))
                .at(1)),
            Some(header) => match <[u64; N]>::try_from(header.numbers.as_slice()) {
                Ok(numbers) => Ok((header, numbers)),
                Err(_) => error("the header has the wrong number of fields"),
            },
        }
    }
}

/// Rows as they come out of the text.
#[derive(Default)]
pub(crate) struct Parsed {
    label_offsets: Vec<u64>,
    label_ids: Vec<u32>,
    entry_offsets: Vec<u64>,
    entry_ids: Vec<u32>,
    values: Vec<f32>,
    all: Filled,
}

impl Parsed {
    pub(crate) fn rows(&self) -> usize {
        self.entry_offsets.len().max(1) - 1
    }

    /// Whether all rows from this one on have neither labels nor entries.
    pub(crate) fn is_empty_from(&self, row: usize) -> bool {
        let ends = |offsets: &[u64]| offsets.get(row) == offsets.last();
        ends(&self.entry_offsets) && (self.label_offsets.is_empty() || ends(&self.label_offsets))
    }

    /// One more than the largest label, and than the largest entry.
    pub(crate) fn bounds(&self) -> (u64, u64) {
        (self.all.label_bound, self.all.entry_bound)
    }

    /// The matrices of labels and of entries, with these numbers of columns.
    pub(crate) fn into_matrices(self, label_cols: u32, entry_cols: u32) -> (Csr<'static, ()>, Csr<'static, f32>) {
        let sorted = (!self.all.labels_unsorted, !self.all.entries_unsorted);
        let ones = vec![(); self.label_ids.len()];
        (
            Csr::from_checked(label_cols, sorted.0, or_empty(self.label_offsets), self.label_ids, ones),
            Csr::from_checked(entry_cols, sorted.1, or_empty(self.entry_offsets), self.entry_ids, self.values),
        )
    }
}

fn or_empty(offsets: Vec<u64>) -> Vec<u64> {
    if offsets.is_empty() { vec![0] } else { offsets }
}

/// Reads all rows after the header (if there is one), in parallel on the current thread pool.
pub(crate) fn read_rows(source: Source, header: Option<&Header>, grammar: &Grammar, progress: &dyn Progress) -> Result<Parsed> {
    let path = source.path().to_path_buf();
    progress.begin(&format!("reading {}", path.display()), source.size().unwrap_or(0));
    let mut parsed = Parsed::default();
    let mut skip = header.map_or(0, |header| header.length);
    let mut line = 1 + u64::from(header.is_some());
    source
        .for_each_block(|block| {
            let text = &block[skip.min(block.len())..];
            skip = 0;
            let before = parsed.rows();
            read_block(text, line, grammar, progress, &mut parsed)?;
            line += (parsed.rows() - before) as u64;
            Ok(())
        })
        .map_err(|error| error.in_file(&path))?;
    Ok(parsed)
}

/// Counts of what a chunk can hold at most.
#[derive(Clone, Copy, Default)]
struct Counts {
    rows: usize,
    labels: usize,
    entries: usize,
}

fn count(text: &[u8], grammar: &Grammar) -> Counts {
    // Three counts over a piece that stays in the first-level cache cost less than one loop that tells bytes apart.
    let (mut newlines, mut colons, mut commas) = (0, 0, 0);
    for piece in text.chunks(16 << 10) {
        newlines += memchr::memchr_iter(b'\n', piece).count();
        colons += memchr::memchr_iter(b':', piece).count();
        if grammar.labels {
            commas += memchr::memchr_iter(b',', piece).count();
        }
    }
    let rows = newlines + usize::from(text.last().is_some_and(|byte| *byte != b'\n'));
    Counts { rows, labels: if grammar.labels { commas + rows } else { 0 }, entries: colons }
}

fn read_block(text: &[u8], first_line: u64, grammar: &Grammar, progress: &dyn Progress, parsed: &mut Parsed) -> Result<()> {
    let chunks = split_lines(text);
    let counts: Vec<Counts> = chunks.par_iter().map(|chunk| count(chunk, grammar)).collect();
    let total = counts.iter().fold(Counts::default(), |sum, c| Counts {
        rows: sum.rows + c.rows,
        labels: sum.labels + c.labels,
        entries: sum.entries + c.entries,
    });

    let old = (parsed.rows(), parsed.label_ids.len(), parsed.entry_ids.len());
    grow(&mut parsed.entry_offsets, old.0 + 1 + total.rows);
    grow(&mut parsed.label_offsets, if grammar.labels { old.0 + 1 + total.rows } else { 0 });
    grow(&mut parsed.label_ids, old.1 + total.labels);
    grow(&mut parsed.entry_ids, old.2 + total.entries);
    grow(&mut parsed.values, old.2 + total.entries);

    // Each chunk gets its own part of the arrays; lengths of rows stand where their offsets will.
    let mut line = first_line;
    let mut entry_lengths = &mut parsed.entry_offsets[old.0 + 1..];
    let mut label_lengths = parsed.label_offsets.get_mut(old.0 + 1..).unwrap_or_default();
    let mut label_ids = &mut parsed.label_ids[old.1..];
    let mut entry_ids = &mut parsed.entry_ids[old.2..];
    let mut values = &mut parsed.values[old.2..];
    let jobs: Vec<Chunk<'_>> = chunks
        .iter()
        .zip(&counts)
        .map(|(text, counts)| {
            let chunk = Chunk {
                text,
                first_line: line,
                label_lengths: take(&mut label_lengths, if grammar.labels { counts.rows } else { 0 }),
                label_ids: take(&mut label_ids, counts.labels),
                entry_lengths: take(&mut entry_lengths, counts.rows),
                entry_ids: take(&mut entry_ids, counts.entries),
                values: take(&mut values, counts.entries),
            };
            line += counts.rows as u64;
            chunk
        })
        .collect();
    let filled: Vec<Result<Filled>> = jobs
        .into_par_iter()
        .map(|chunk| {
            let bytes = chunk.text.len() as u64;
            let filled = parse_chunk(grammar, chunk)?;
            progress.advance(bytes)?;
            Ok(filled)
        })
        .collect();

    // The first error of the file is the one to report, whatever thread met one first.
    let (mut from, mut to) = (old.1, old.1);
    for (filled, counts) in filled.into_iter().zip(&counts) {
        let filled = filled?;
        parsed.label_ids.copy_within(from..from + filled.labels, to);
        from += counts.labels;
        to += filled.labels;
        parsed.all.labels_unsorted |= filled.labels_unsorted;
        parsed.all.entries_unsorted |= filled.entries_unsorted;
        parsed.all.label_bound = parsed.all.label_bound.max(filled.label_bound);
        parsed.all.entry_bound = parsed.all.entry_bound.max(filled.entry_bound);
    }
    parsed.label_ids.truncate(to);
    add_up(&mut parsed.entry_offsets, old.0);
    add_up(&mut parsed.label_offsets, old.0);
    Ok(())
}

/// Makes an array `length` long. The first time it takes fresh zero pages from the system instead of writing zeros.
fn grow<T: Copy + Default>(array: &mut Vec<T>, length: usize)
where
    Vec<T>: Clone,
{
    if array.is_empty() {
        *array = vec![T::default(); length];
    } else {
        array.resize(length, T::default());
    }
}

fn take<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (front, back) = std::mem::take(rest).split_at_mut(count);
    *rest = back;
    front
}

/// Turns the lengths after place `from` into offsets.
fn add_up(offsets: &mut [u64], from: usize) {
    for place in from + 1..offsets.len() {
        offsets[place] += offsets[place - 1];
    }
}

/// Cuts text into chunks of about [`CHUNK`] bytes at line ends.
fn split_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::with_capacity(text.len() / CHUNK + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let end = if rest.len() <= CHUNK {
            rest.len()
        } else {
            memchr::memchr(b'\n', &rest[CHUNK..]).map_or(rest.len(), |end| CHUNK + end + 1)
        };
        let (chunk, after) = rest.split_at(end);
        chunks.push(chunk);
        rest = after;
    }
    chunks
}
