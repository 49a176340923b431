//! A page to judge pairs with: one file without network, which keeps judgements in the browser and exports them as csv.

use super::explorer::in_script;
use super::with_nonce;
use crate::data::{Output, printable_lines};
use crate::error::{Error, Result, digits};
use crate::evaluate::judged::{AnnotationPlan, PairNames};
use askama::Template;
use serde::Serialize;
use std::path::Path;

#[derive(Template)]
#[template(path = "judge.html")]
struct Page<'a> {
    title: String,
    version: &'static str,
    nonce: String,
    style: String,
    script: &'static str,
    heading: &'a str,
    data: String,
}

/// What the script works with. Columns are those of the csv.
#[derive(Serialize)]
struct Data {
    /// What tells this set of pairs from others in the browser's memory.
    mark: String,
    columns: Vec<&'static str>,
    pairs: Vec<Vec<String>>,
}

/// The page for the pairs of a plan's last round, under a name for the data.
///
/// ```
/// use unmissed::data::{Csr, Labels, Names, NamesOf};
/// use unmissed::evaluate::judged::{AnnotationPlan, PairNames, PlanData};
/// use unmissed::request::AnnotateRequest;
/// let truth = Labels::from_ids(3, [vec![0], vec![]])?;
/// let scores = Csr::from_rows(3, [[(1, 0.9f32), (2, 0.8)], [(0, 0.5), (2, 0.4)]])?;
/// let data = PlanData { truth: &truth, models: &[("model", &scores)], train: None };
/// let plan = AnnotationPlan::new(&data, &AnnotateRequest { budget: 4, ..AnnotateRequest::default() })?;
/// let names = Names::new(NamesOf::Labels, ["cold", "</script><b>flu", "pox"])?;
/// let page = unmissed::report::page::judge::render(&plan, &PairNames { labels: Some(&names), ..PairNames::default() }, "Clinic")?;
/// assert!(page.contains("Clinic") && !page.contains("</script><b>flu"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn render(plan: &AnnotationPlan, names: &PairNames<'_>, heading: &str) -> Result<String> {
    let columns = ["round", "row", "label", "probability", "stratum", "relevant"].into_iter().chain(names.columns());
    let pairs = plan.pairs();
    let cells = pairs.iter().map(|pair| {
        let numbers = [pair.round.to_string(), pair.row.to_string(), pair.label.to_string(), digits(pair.probability)];
        let own = numbers.into_iter().chain([pair.stratum.to_owned(), String::new()]);
        own.chain(names.cells(pair.row, pair.label).into_iter().map(readable)).collect()
    });
    let mut data = Data { mark: String::new(), columns: columns.collect(), pairs: cells.collect() };
    let written =
        |data: &Data| serde_json::to_string(data).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")));
    data.mark = blake3::hash(written(&data)?.as_bytes()).to_hex()[..16].to_owned();
    let mut page = Page {
        title: format!("Judge pairs: {heading}"),
        version: env!("CARGO_PKG_VERSION"),
        nonce: String::new(),
        style: format!("{}\n{}", super::STYLE, include_str!("judge.css")),
        script: include_str!("judge.js"),
        heading,
        data: in_script(&written(&data)?),
    };
    with_nonce(|nonce| {
        page.nonce = nonce.to_owned();
        page.render()
    })
}

/// A text whose lines and tabs are kept, for reading; the rest is printable, since what the browser exports is opened elsewhere.
fn readable(text: &str) -> String {
    text.replace("\r\n", "\n").split('\t').map(printable_lines).collect::<Vec<_>>().join("\t")
}

/// Writes the page to a file, which appears whole or not at all.
pub fn write(plan: &AnnotationPlan, names: &PairNames<'_>, heading: &str, path: impl AsRef<Path>) -> Result<()> {
    let page = render(plan, names, heading)?;
    let mut output = Output::create(path)?;
    output.put(page.as_bytes())?;
    output.finish()
}
