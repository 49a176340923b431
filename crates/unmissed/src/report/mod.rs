//! Reports: results as data, and the ways to show them.
//!
//! A command puts what it found into a [`Document`]: tables of cells, notes in words, and the same results as JSON.
//! A renderer of [`renderers::RENDERERS`] draws the document for its reader (a terminal, a spreadsheet, a paper); none of
//! them computes anything. Curves go into a [`plot::Chart`], which becomes an SVG or a PNG file.

mod cell;
pub mod charts;
mod document;
pub mod figures;
pub mod label_csv;
pub mod page;
pub mod plot;
pub mod renderers;
pub mod row_csv;
mod screen;
mod statistics;
mod text;

// What the command line fills tables with; no part of what the library promises.
#[doc(hidden)]
pub use cell::{Cell, Shown};
pub use document::{Align, Column, Document, Paragraph, Table};
pub use screen::{Limit, Screen};
pub use statistics::{STATISTICS, Statistic};
