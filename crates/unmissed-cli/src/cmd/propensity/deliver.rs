//! Propensities as a csv of labels, as a plot, or as the tables that a command made of them.

use super::Output;
use crate::app::{App, Outcome};
use std::path::Path;
use unmissed::Result;
use unmissed::data;
use unmissed::propensity::estimators::Direct;
use unmissed::propensity::{Propensities, table_file};
use unmissed::report::Document;
use unmissed::report::plot::{self, Chart};

/// What can be written as a csv of propensities.
pub(super) enum Values<'a> {
    /// A number for every label.
    Full(&'a Propensities),
    /// Numbers where there is evidence.
    Direct(&'a Direct),
}

impl Values<'_> {
    fn write_to(&self, put: impl FnMut(&str) -> Result<()>) -> Result<()> {
        match self {
            Values::Full(propensities) => table_file::write_to(propensities, put),
            Values::Direct(direct) => direct.write_to(put),
        }
    }
}

/// Whether the output is a picture; asked before long work.
fn is_picture(path: &Path) -> bool {
    plot::check_name(path).is_ok()
}

/// Writes the csv or the picture that was asked for, and prints the tables (or, as csv, the propensities themselves).
pub(super) fn deliver(app: &App, output: &Output, all: &[(String, Values<'_>)], document: &Document, chart: &Chart) -> Outcome<()> {
    if let Some(path) = &output.output {
        if is_picture(path) {
            plot::write(chart, path)?;
        } else {
            let mut file = data::Output::create(path)?;
            write_csv(all, |text| file.put(text.as_bytes()))?;
            file.finish()?;
        }
        app.note(&format!("wrote {}", path.display()));
    }
    if app.format() == "csv" {
        let mut text = Vec::new();
        write_csv(all, |piece| {
            text.extend_from_slice(piece.as_bytes());
            Ok(())
        })?;
        return app.print(&text);
    }
    app.emit(document)
}

/// One model: the csv of propensities. Several: the same with a column in front that names the model.
fn write_csv(all: &[(String, Values<'_>)], mut put: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let [(_, values)] = all else {
        for (place, (name, values)) in all.iter().enumerate() {
            let safe = data::spreadsheet_safe(name);
            let name = data::csv_cell(&safe);
            let mut first = true;
            values.write_to(|piece| {
                let mut text = String::with_capacity(piece.len() * 2);
                for line in piece.lines() {
                    if std::mem::take(&mut first) {
                        if place == 0 {
                            text.extend(["model,", line, "\n"]);
                        }
                    } else {
                        text.extend([&*name, ",", line, "\n"]);
                    }
                }
                put(&text)
            })?;
        }
        return Ok(());
    };
    values.write_to(put)
}
