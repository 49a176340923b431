//! Renderers: the ways to write a [`Document`] down, one file each.
//!
//! A renderer is an entry of [`RENDERERS`]; its name is what `--format` takes. Renderers for people (`table`, `markdown`,
//! `latex`) round numbers as their columns say and take control characters, escape sequences and overrides of the writing
//! direction out of every text. Renderers for machines (`csv`, `json`) keep full precision and every character.
//! Adding a renderer is one new file and one line in the list.

pub mod csv;
pub mod json;
pub mod latex;
pub mod markdown;
pub mod table;

use super::{Document, Screen};
use crate::error::Result;
use crate::sealed::Sealed;
use crate::spec::{self, Named};
use std::io;

/// The sign for a missing value, for people.
const MISSING: &str = "–";

/// All renderers; the first is the default.
pub static RENDERERS: &[&dyn Renderer] = &[&table::Table, &json::Json, &csv::Csv, &markdown::Markdown, &latex::Latex];

/// A way to write a document down. Only this crate implements it.
pub trait Renderer: Named + Sealed + Sync {
    /// Writes the document; renderers for machines write all of it, whatever the screen. The only thing that can fail is the writing.
    fn render(&self, document: &Document, screen: &Screen, out: &mut dyn io::Write) -> io::Result<()>;
}

/// The renderer with this name, or an error that suggests a near one.
///
/// ```
/// use unmissed::report::renderers::find;
/// assert_eq!(find("csv")?.name(), "csv");
/// let error = find("tabel").map(|_| ()).unwrap_err();
/// assert_eq!(error.to_string(), "unknown output format 'tabel'; did you mean 'table'?");
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static dyn Renderer> {
    spec::find(RENDERERS, "output format", name)
}

#[cfg(test)]
mod tests;
