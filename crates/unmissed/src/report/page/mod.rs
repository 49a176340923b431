//! An audit as one page: a single HTML file that needs no network, reads well without JavaScript, and gains sliders with it.
//!
//! [`render`] fills the templates (escaped by `askama`) with what an [`AuditResult`] says; nothing is computed here but how
//! numbers are written. The content-security policy of the page allows its own style and script, by a nonce that is a checksum of
//! the whole page, and nothing else: no request leaves it, and no name from a file can become code.

mod csv;
mod explorer;
pub mod judge;
mod labels;
mod parts;
mod propensities;
mod rows;
mod scores;
pub mod sections;
mod verdict;

use super::figures::{Figure, figures};
use super::text::harmless_page;
use super::{Column, STATISTICS};
use crate::audit::AuditResult;
use crate::data::Output;
use crate::error::{Error, Result};
use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use explorer::ExplorerView;
use labels::LabelsView;
use parts::{HtmlCell, HtmlTable, Picture, grouped};
use propensities::Propensities;
use rows::RowsView;
use scores::{MetricView, Tail};
use std::path::Path;
use verdict::VerdictView;

const STYLE: &str = concat!(include_str!("page.css"), include_str!("tables.css"));
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("search.js"));

#[derive(Template)]
#[template(path = "audit.html")]
struct Page {
    title: String,
    heading: String,
    data_line: String,
    version: String,
    nonce: String,
    style: &'static str,
    script: &'static str,
    sections: Vec<(&'static str, &'static str)>,
    verdict: VerdictView,
    data: HtmlTable,
    propensities: Option<Propensities>,
    scores: Vec<MetricView>,
    csv: String,
    explorer: Option<ExplorerView>,
    labels: Option<LabelsView>,
    rows: Option<RowsView>,
    tail: Option<Tail>,
    assumptions: HtmlTable,
    notes: Vec<String>,
    command: Option<String>,
    repeat: String,
    files: Option<HtmlTable>,
    figure_scores: Option<Picture>,
    figure_frequencies: Option<Picture>,
    figure_propensities: Option<Picture>,
    figure_order: Option<Picture>,
    figure_tail: Option<Picture>,
}

/// The page.
pub fn render(result: &AuditResult) -> Result<String> {
    let figures = figures(result);
    let picture = |id: &str| figures.iter().find(|figure: &&Figure| figure.id == id).and_then(Picture::new);
    let heading = if result.name.is_empty() { result.models().join(", ") } else { result.name.clone() };
    let scores = scores::metrics(result)?;
    let notes = result.evaluation.notes.iter().chain(&result.left_out).chain(&result.left_out_by_row);
    let page = Page {
        title: format!("Audit: {heading}"),
        data_line: data_line(result),
        version: result.provenance.version.clone(),
        nonce: String::new(),
        style: STYLE,
        script: SCRIPT,
        verdict: VerdictView::new(result),
        data: statistics(result),
        propensities: Propensities::new(result),
        csv: STANDARD.encode(csv::scores(result)),
        explorer: ExplorerView::new(result)?,
        labels: LabelsView::new(result),
        rows: RowsView::new(result),
        tail: Tail::new(result, &scores),
        scores,
        assumptions: assumptions(result),
        notes: notes.map(|note| result.with_names(note)).collect(),
        command: result.provenance.command.clone(),
        repeat: repeat(result),
        files: files(result),
        figure_scores: picture("scores"),
        figure_frequencies: picture("frequencies"),
        figure_propensities: picture("propensities"),
        figure_order: picture("order"),
        figure_tail: picture("tail"),
        sections: Vec::new(),
        heading,
    };
    let mut page = Page { sections: page.present(), ..page };
    with_nonce(|nonce| {
        page.nonce = nonce.to_owned();
        page.render()
    })
}

/// Writes the page to a file, which appears whole or not at all.
pub fn write(result: &AuditResult, path: impl AsRef<Path>) -> Result<()> {
    let page = render(result)?;
    let mut output = Output::create(path)?;
    output.put(page.as_bytes())?;
    output.finish()
}

impl Page {
    /// The sections that have something to show.
    fn present(&self) -> Vec<(&'static str, &'static str)> {
        let mut sections = vec![("verdict", "Verdict"), ("findings", "Findings"), ("data", "Data")];
        if self.propensities.is_some() {
            sections.push(("propensities", "Propensities"));
        }
        sections.push(("scores", "Scores"));
        if self.labels.is_some() {
            sections.push(("labels", "Labels"));
        }
        if self.rows.is_some() {
            sections.push(("rows", "Rows"));
        }
        if self.explorer.is_some() {
            sections.push(("explorer", "Explorer"));
        }
        if self.tail.is_some() || self.figure_tail.is_some() {
            sections.push(("tail", "Tail"));
        }
        sections.extend([("assumptions", "Assumptions"), ("repeat", "Repeat")]);
        sections
    }
}

/// Fills a template twice: the nonce of the second time is a checksum of the first, so that it is the same for the same page, and
/// nothing that stands in the page can know it beforehand.
fn with_nonce(mut page: impl FnMut(&str) -> askama::Result<String>) -> Result<String> {
    let failed = |cause| Error::value(format!("cannot fill the page: {cause}"));
    let draft = page("").map_err(failed)?;
    let nonce = STANDARD.encode(blake3::hash(draft.as_bytes()).as_bytes());
    Ok(harmless_page(page(&nonce).map_err(failed)?))
}

/// The data in a line; the terminal shows it too.
pub fn data_line(result: &AuditResult) -> String {
    let part = |role: &str| result.data.iter().find(|part| part.role == role).map(|part| &part.statistics);
    let mut parts = Vec::new();
    if let Some(train) = part("train") {
        parts.push(format!("{} training rows", grouped(train.rows)));
    }
    if let Some(test) = part("test") {
        parts.push(format!("{} test rows", grouped(test.rows)));
        parts.push(format!("{} labels", grouped(test.labels)));
        if let Some(mean) = test.labels_per_row_mean {
            parts.push(format!("{mean:.2} observed labels per test row"));
        }
    }
    if let Some(truth) = part("truth").and_then(|truth| truth.labels_per_row_mean) {
        parts.push(format!("{truth:.2} on complete labels"));
    }
    if let Some(controlled) = part("controlled") {
        parts.push(format!("a controlled set of {} rows", grouped(controlled.rows)));
    }
    if part("later").is_some() {
        parts.push("a later snapshot".into());
    }
    let models = result.models().len();
    parts.push(if models == 1 { "1 model".into() } else { format!("{models} models") });
    parts.join(", ")
}

fn statistics(result: &AuditResult) -> HtmlTable {
    let mut table = HtmlTable::new(
        "statistics",
        "Statistics of the labels",
        "Medians and shares over all labels include labels that never occur.",
    )
    .words(["statistic"])
    .numbers(result.data.iter().map(|part| part.role));
    let column = Column::new("");
    for (name, value) in STATISTICS {
        let cells: Vec<_> = result.data.iter().map(|part| value(&part.statistics)).collect();
        if cells.iter().any(|cell| *cell != super::Cell::Missing) {
            let shown = cells.iter().map(|cell| match cell {
                super::Cell::Missing => HtmlCell::number(None, |_| String::new()),
                super::Cell::Int(number) => HtmlCell::whole(u64::try_from(*number).ok()),
                cell => HtmlCell::text(cell.shown(&column)).class("n"),
            });
            table.row("", std::iter::once(HtmlCell::text(*name)).chain(shown));
        }
    }
    table
}

fn assumptions(result: &AuditResult) -> HtmlTable {
    let mut table = HtmlTable::new("assumed", "Assumptions by estimator", "").words(["estimator", "metrics", "what must hold"]);
    for assumed in &result.assumptions {
        table.row(
            "",
            [HtmlCell::text(&*assumed.estimator), HtmlCell::text(assumed.metrics.join(", ")), HtmlCell::text(&*assumed.assumption)],
        );
    }
    table
}

fn repeat(result: &AuditResult) -> String {
    let provenance = &result.provenance;
    let replicates = match provenance.request.bootstrap {
        0 => String::new(),
        count => format!(", {count} bootstrap replicates"),
    };
    format!(
        "unmissed {} for {}, seed {}{replicates}. The same files, version and processor features give the same numbers on any number of \
         threads.",
        provenance.version, provenance.target, provenance.request.seed
    )
}

fn files(result: &AuditResult) -> Option<HtmlTable> {
    let files = &result.provenance.files;
    let mut table =
        HtmlTable::new("files", "Files that were read", "").words(["role", "file"]).numbers(["bytes"]).words(["BLAKE3"]);
    for file in files {
        let hash = file.blake3.as_deref().unwrap_or("a pipe: not hashed, because it can be read only once");
        table.row(
            "",
            [
                HtmlCell::text(&*file.role),
                HtmlCell::text(&*file.path),
                HtmlCell::whole(Some(file.bytes)),
                HtmlCell::text(hash).class("hash"),
            ],
        );
    }
    (!files.is_empty()).then_some(table)
}
