//! The grammar of one row: `l1,l2 f:v f:v` (labels, then features) or `l:s l:s` (scores only).

use super::number;
use crate::data::csr::check_row;
use crate::error::{Error, shown};

/// What the rows of a text look like and which ids they may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar {
    /// Whether rows start with comma-separated labels.
    pub(crate) labels: bool,
    /// What the ids before the colon are called in messages.
    pub(crate) entry: &'static str,
    /// Number of labels; `None` when it follows from the largest id.
    pub(crate) label_cols: Option<u32>,
    /// Number of features (or of labels with scores); `None` when it follows from the largest id.
    pub(crate) entry_cols: Option<u32>,
}

/// Where the rows of one chunk of text go. The slices have room for everything that the chunk can hold.
pub(crate) struct Chunk<'a> {
    pub(crate) text: &'a [u8],
    /// 1-based number of the first line in the file.
    pub(crate) first_line: u64,
    pub(crate) label_lengths: &'a mut [u64],
    pub(crate) label_ids: &'a mut [u32],
    pub(crate) entry_lengths: &'a mut [u64],
    pub(crate) entry_ids: &'a mut [u32],
    pub(crate) values: &'a mut [f32],
}

/// What a chunk turned out to hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filled {
    pub(crate) labels: usize,
    pub(crate) labels_unsorted: bool,
    pub(crate) entries_unsorted: bool,
    /// One more than the largest id; 0 where the number of columns was declared and nobody asks.
    pub(crate) label_bound: u64,
    pub(crate) entry_bound: u64,
}

/// Parses all lines of a chunk.
pub(crate) fn parse_chunk(grammar: &Grammar, chunk: Chunk<'_>) -> Result<Filled, Error> {
    let Chunk { text, first_line, label_lengths, label_ids, entry_lengths, entry_ids, values } = chunk;
    let mut filled = Filled::default();
    let mut scratch = Vec::new();
    let (mut at, mut entries) = (0, 0);
    for row in 0..entry_lengths.len() {
        let fail = |error: Error| error.at(first_line + row as u64);
        let labels_before = filled.labels;
        if grammar.labels {
            at = parse_labels(text, at, label_ids, &mut filled.labels)
                .map_err(|(piece, at)| fail(broken(grammar, piece, text, at)))?;
            label_lengths[row] = (filled.labels - labels_before) as u64;
        }
        let entries_before = entries;
        at = parse_entries(text, at, entry_ids, values, &mut entries)
            .map_err(|(piece, at)| fail(broken(grammar, piece, text, at)))?;
        entry_lengths[row] = (entries - entries_before) as u64;

        let row_labels = &label_ids[labels_before..filled.labels];
        let row_entries = &entry_ids[entries_before..entries];
        let mut check = |ids: &[u32], name, cols: Option<u32>, unsorted: &mut bool, bound: &mut u64| {
            let most = cols.unwrap_or(u32::MAX);
            let sorted = check_row::<()>(ids, &[], most, &mut scratch).map_err(|fault| fail(fault.into_error(name, most)))?;
            *unsorted |= !sorted;
            if cols.is_none() {
                *bound = ids.iter().max().map_or(*bound, |id| (u64::from(*id) + 1).max(*bound));
            }
            Ok::<(), Error>(())
        };
        check(row_labels, "label", grammar.label_cols, &mut filled.labels_unsorted, &mut filled.label_bound)?;
        check(row_entries, grammar.entry, grammar.entry_cols, &mut filled.entries_unsorted, &mut filled.entry_bound)?;
    }
    Ok(filled)
}

/// The piece of a row that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Label,
    Entry,
    Value,
}

/// What is wrong and where in the text.
type Broken = (Piece, usize);

/// `l1,l2,...` up to a space or the end of the line; nothing at all is a row without labels.
#[inline(always)]
fn parse_labels(text: &[u8], mut at: usize, ids: &mut [u32], count: &mut usize) -> Result<usize, Broken> {
    if matches!(text.get(at), None | Some(b' ' | b'\n' | b'\r' | b'\t')) {
        return Ok(at);
    }
    loop {
        let (id, length) = number::id(&text[at..]).ok_or((Piece::Label, at))?;
        *ids.get_mut(*count).ok_or((Piece::Label, at))? = id;
        *count += 1;
        at += length;
        match text.get(at) {
            Some(b',') => at += 1,
            None | Some(b' ' | b'\n' | b'\r' | b'\t') => return Ok(at),
            Some(_) => return Err((Piece::Label, at - length)),
        }
    }
}

/// `f:v f:v ...` up to and including the end of the line.
#[inline(always)]
fn parse_entries(text: &[u8], mut at: usize, ids: &mut [u32], values: &mut [f32], count: &mut usize) -> Result<usize, Broken> {
    loop {
        match text.get(at) {
            Some(b'0'..=b'9') => {}
            Some(b' ' | b'\t') => {
                at += 1;
                continue;
            }
            Some(b'\n') => return Ok(at + 1),
            Some(b'\r') if matches!(text.get(at + 1), None | Some(b'\n')) => return Ok((at + 2).min(text.len())),
            None => return Ok(at),
            Some(_) => return Err((Piece::Entry, at)),
        }
        let start = at;
        let (id, length) = number::id(&text[at..]).ok_or((Piece::Entry, start))?;
        at += length;
        if text.get(at) != Some(&b':') {
            return Err((Piece::Entry, start));
        }
        let (value, length) = number::value(&text[at + 1..]).ok_or((Piece::Value, start))?;
        at += 1 + length;
        let (Some(id_slot), Some(value_slot)) = (ids.get_mut(*count), values.get_mut(*count)) else {
            return Err((Piece::Entry, start));
        };
        (*id_slot, *value_slot) = (id, value);
        *count += 1;
    }
}

/// The message for a broken piece of text.
#[cold]
fn broken(grammar: &Grammar, piece: Piece, text: &[u8], at: usize) -> Error {
    let rest = &text[at.min(text.len())..];
    let token = &rest[..rest.iter().position(|b| b" \n\r\t".contains(b)).unwrap_or(rest.len())];
    let entry = grammar.entry;
    if token.contains(&0) {
        return Error::format("a NUL byte in a text file")
            .expected("plain text")
            .found(shown(token))
            .hint("the file is damaged or not a text file");
    }
    match piece {
        Piece::Label => {
            let piece = token
                .split(|b| *b == b',')
                .find(|piece| !piece.is_empty() && number::id(piece).is_none_or(|(_, l)| l < piece.len()));
            let error = Error::format("cannot read a label")
                .expected(format!("comma-separated ids from 0 to {}", u32::MAX))
                .found(shown(piece.unwrap_or(token)));
            if token.contains(&b':') { error.hint("a row without labels starts with a space") } else { error }
        }
        Piece::Value => Error::format(format!("cannot read the value of a {entry}"))
            .expected(format!("'{entry}:value' with a finite number"))
            .found(shown(token)),
        Piece::Entry if token.contains(&b':') => Error::format(format!("cannot read a {entry} id"))
            .expected(format!("'{entry}:value' with an id from 0 to {}", u32::MAX))
            .found(shown(token)),
        Piece::Entry => {
            Error::format(format!("a {entry} without a colon")).expected(format!("'{entry}:value'")).found(shown(token))
        }
    }
}
