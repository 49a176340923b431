//! Sparse rows as text: the parallel reader and writer behind the text formats.
//!
//! Reading makes two passes over the (mapped) text, both parallel over chunks of lines. The first counts lines, colons and
//! commas, which bounds what each chunk can hold; the second parses each chunk straight into its own part of the final
//! arrays. Nothing is allocated by what a header claims, nothing is copied afterwards but the few labels that close gaps.

mod number;
mod read;
mod rows;
mod write;

pub(crate) use read::{Header, Parsed, header, read_rows};
pub(crate) use rows::Grammar;
pub(crate) use write::{write_entry, write_id, write_rows, write_value};
