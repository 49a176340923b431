//! Tables, notes and JSON: the result of a command, before it is rendered.

use super::{Cell, Shown};
use crate::error::{Error, Result};
use crate::evaluate::Severity;
use serde::Serialize;

/// The outcome of a command.
///
/// ```
/// use unmissed::report::{Column, Document, Table};
/// let columns = [Column::new("metric"), Column::new("value").fixed(3), Column::new("se").fixed(3)];
/// let mut table = Table::new("evaluation", columns);
/// table.row(unmissed::cells!["precision@1", 0.81249, 0.00412]);
/// table.row(unmissed::cells!["recall@1", 0.5, None::<f64>]);
/// let document = Document::new().table(table).note("Labels are taken as complete.");
/// let mut out = Vec::new();
/// unmissed::report::renderers::find("csv")?.render(&document, &Default::default(), &mut out)?;
/// assert_eq!(String::from_utf8(out)?, "metric,value,se\nprecision@1,0.81249,0.00412\nrecall@1,0.5,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The tables, in the order in which they are shown.
    pub tables: Vec<Table>,
    /// What comes first, a paragraph each. Not part of csv and json.
    pub lead: Vec<Paragraph>,
    /// What else there is to say, a paragraph each. Not part of csv and json.
    pub notes: Vec<String>,
    /// The whole result for machines. When it is null, json has the tables instead.
    pub data: serde_json::Value,
    /// What csv has instead of the tables, when those are arranged for people.
    pub long: Option<Table>,
}

impl Document {
    /// An empty document.
    pub fn new() -> Document {
        Document::default()
    }

    /// Adds a paragraph before the tables.
    #[must_use]
    pub fn lead(mut self, text: impl Into<String>, severity: Option<Severity>) -> Document {
        self.lead.push(Paragraph { text: text.into(), severity });
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Document {
        self.tables.push(table);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Document {
        self.notes.push(note.into());
        self
    }

    /// Sets the table that csv has instead of the others.
    #[must_use]
    pub fn csv(mut self, table: Table) -> Document {
        self.long = Some(table);
        self
    }

    /// Sets the result for machines.
    pub fn data(mut self, data: impl Serialize) -> Result<Document> {
        self.data = serde_json::to_value(data).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")))?;
        Ok(self)
    }
}

/// A paragraph before the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paragraph {
    /// The text.
    pub text: String,
    /// How bad what it says is, when it is good or bad.
    pub severity: Option<Severity>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, which is the header in csv and the key in json: distinct within a table.
    pub name: String,
    /// What its numbers count, shown to people behind the name.
    pub unit: Option<String>,
    /// How its real numbers are shown.
    pub shown: Shown,
}

impl Column {
    /// A column whose numbers show four significant digits.
    pub fn new(name: impl Into<String>) -> Column {
        Column { name: name.into(), unit: None, shown: Shown::Significant(4) }
    }

    /// Sets the unit.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Column {
        self.unit = Some(unit.into());
        self
    }

    /// Shows numbers with this many significant digits.
    #[must_use]
    pub fn significant(mut self, digits: u8) -> Column {
        self.shown = Shown::Significant(digits);
        self
    }

    /// Shows numbers with this many digits after the decimal point.
    #[must_use]
    pub fn fixed(mut self, decimals: u8) -> Column {
        self.shown = Shown::Fixed(decimals);
        self
    }

    /// Shows shares as percentages.
    #[must_use]
    pub fn percent(mut self, decimals: u8) -> Column {
        self.shown = Shown::Percent(decimals);
        self
    }

    /// The header that people see: `time (s)`.
    pub fn heading(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.name),
            None => self.name.clone(),
        }
    }
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Column::new(name)
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Column::new(name)
    }
}

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under named columns. The cells lie in one block of memory, so that a million rows are no burden.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    name: String,
    title: Option<String>,
    columns: Vec<Column>,
    cells: Vec<Cell>,
}

impl Table {
    /// A table without rows. The name is its key in json.
    pub fn new(name: impl Into<String>, columns: impl IntoIterator<Item = impl Into<Column>>) -> Table {
        let columns = columns.into_iter().map(Into::into).collect();
        Table { name: name.into(), title: None, columns, cells: Vec::new() }
    }

    /// Sets the line above the table.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Table {
        self.title = Some(title.into());
        self
    }

    /// Adds a row; [`cells!`](crate::cells) makes one out of mixed values. A short row is filled with missing cells, and
    /// what is beyond the columns is left out.
    ///
    /// ```
    /// use unmissed::report::{Align, Cell, Table};
    /// let mut table = Table::new("labels", ["label", "count"]);
    /// table.row(unmissed::cells!["music", 12_usize]).row(unmissed::cells!["tax"]);
    /// assert_eq!(table.rows().nth(1), Some(&[Cell::from("tax"), Cell::Missing][..]));
    /// assert_eq!((table.align(0), table.align(1)), (Align::Left, Align::Right));
    /// ```
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Table {
        let filled = cells.into_iter().chain(std::iter::repeat(Cell::Missing));
        self.cells.extend(filled.take(self.columns.len()));
        self
    }

    /// Makes room for this many more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.cells.reserve(rows.saturating_mul(self.columns.len()));
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line above the table.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows, each as long as there are columns.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, Cell> {
        self.cells.chunks_exact(self.columns.len().max(1))
    }

    /// The alignment of a column: right if all of its cells are numbers.
    pub fn align(&self, column: usize) -> Align {
        let mut cells = self.rows().filter_map(|row| row.get(column)).filter(|cell| **cell != Cell::Missing).peekable();
        if cells.peek().is_some() && cells.all(Cell::is_number) { Align::Right } else { Align::Left }
    }
}

/// A row of cells from values of different types: texts, whole and real numbers, options of them.
///
/// ```
/// use unmissed::report::Cell;
/// let row = unmissed::cells!["jpv", 12_usize, 0.5, None::<f64>];
/// assert_eq!(row, [Cell::from("jpv"), Cell::Int(12), Cell::Float(0.5, None), Cell::Missing]);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! cells {
    ($($value:expr),* $(,)?) => { [$($crate::report::Cell::from($value)),*] };
}
