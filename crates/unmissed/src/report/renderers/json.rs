//! JSON, for programs.
//!
//! Writes [`Document::data`], indented. A document without data has its tables written instead: one table as a list of
//! objects with the columns' names as keys, several as an object of such lists under the tables' names. Numbers keep full
//! precision; NaN and infinities, which JSON does not have, are null. Notes are not part of it. Texts are as they were once the JSON
//! is parsed, but what could steer a terminal is escaped ([`printable_json`]).

use super::Renderer;
use crate::data::printable_json;
use crate::report::{Document, Screen, Table};
use crate::spec::Named;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io;

/// See the [module](self).
pub(super) struct Json;

impl crate::sealed::Sealed for Json {}

impl Named for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn summary(&self) -> &'static str {
        "indented JSON in full precision, for programs"
    }
}

impl Renderer for Json {
    fn render(&self, document: &Document, _screen: &Screen, out: &mut dyn io::Write) -> io::Result<()> {
        let json = match &document.tables[..] {
            _ if !document.data.is_null() => serde_json::to_string_pretty(&document.data)?,
            [table] => serde_json::to_string_pretty(&Rows(table))?,
            tables => serde_json::to_string_pretty(&Tables(tables))?,
        };
        writeln!(out, "{}", printable_json(&json))
    }
}

struct Tables<'a>(&'a [Table]);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|table| (table.name(), Rows(table))))
    }
}

struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.rows().map(|cells| Row(self.0, cells)))
    }
}

struct Row<'a>(&'a Table, &'a [crate::report::Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for (column, cell) in self.0.columns().iter().zip(self.1) {
            map.serialize_entry(&column.name, cell)?;
        }
        map.end()
    }
}
