//! `implausible`: normalising hides that propensity-scored precision is impossible.
//!
//! The estimate that the literature prints is divided by the best value that any prediction could have had on the same data. The
//! estimate itself may exceed 100 %, which says that the propensities cannot be right. Models and data are those of `mismatch`,
//! where the truth is known; data sets with very many labels are done with trees instead (`trees.rs`).

mod trees;

use super::biased_data::{NOISES, mean_se};
use super::mismatch::{Cell, sets};
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::error::Result;
use crate::report::{Column, Table};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Implausible;

/// The paper's PfastreXML: data set, whether normalised, at 1, 3 and 5.
const PAPER: [(&str, &str, [f64; 3]); 4] = [
    ("PfastreXML on WikiLSHTC-325K (paper)", "normalized", [31.16, 31.80, 33.35]),
    ("PfastreXML on WikiLSHTC-325K (paper)", "unnormalized", [196.96, 118.54, 85.28]),
    ("PfastreXML on Amazon-670K (paper)", "normalized", [29.93, 31.26, 32.80]),
    ("PfastreXML on Amazon-670K (paper)", "unnormalized", [326.47, 282.28, 250.57]),
];

impl crate::sealed::Sealed for Implausible {}

impl Named for Implausible {
    fn name(&self) -> &'static str {
        "implausible"
    }
    fn summary(&self) -> &'static str {
        "normalized and unnormalized propensity-scored precision, compared with the truth"
    }
}

impl Experiment for Implausible {
    fn reproduces(&self) -> &'static str {
        "the table of normalized and unnormalized propensity-scored precision"
    }

    fn data_needed(&self) -> &'static str {
        "the data of mismatch, whose models it shares: after it, nothing is trained; data sets of 10 000 labels or more, with trees"
    }

    fn duration(&self) -> Took {
        Took { quick: "14 s", full: "4 min" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "labels missing by", "trained with", "scored with", "estimate"].map(Column::new).into_iter();
        let columns = words.chain(["@1", "@3", "@5"].map(|name| Column::new(name).fixed(2)));
        let mut table = Table::new("implausible", columns).titled("Propensity-scored precision (%), normalized and not");
        let (mut normalized, mut impossible) = (0.0f64, 0.0f64);
        let (mut many, mut data) = (Vec::new(), Vec::new());
        for given in &context.data {
            match given.rows()? {
                Some(rows) if rows.0.labels().cols() >= trees::MANY => many.push((given, rows)),
                _ => data.push(given.clone()),
            }
        }
        let few = Context { data, yahoo_r3: context.yahoo_r3.clone(), kept: context.kept.clone(), ..*context };
        for set in sets(&few)? {
            for (noise, method) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let cells = set.of(noise, method);
                let mut add = |scored: &'static str, estimate: &'static str, of: &dyn Fn(&Cell) -> [f64; 3]| {
                    let at = |k: usize| mean_se(&cells.iter().map(|cell| 100.0 * of(cell)[k]).collect::<Vec<_>>()).0;
                    table.row(cells![set.name.clone(), NOISES[noise], NOISES[method], scored, estimate, at(0), at(1), at(2)]);
                };
                add("complete labels", "truth", &|cell| cell.precision);
                for (place, scored) in NOISES.into_iter().enumerate() {
                    add(scored, "normalized", &|cell| cell.normalized[place]);
                    add(scored, "unnormalized", &|cell| cell.unbiased[place]);
                    for cell in &cells {
                        normalized = normalized.max(cell.normalized[place][0]);
                        impossible = impossible.max(cell.unbiased[place][0]);
                    }
                }
            }
        }
        for (given, rows) in &many {
            for trees::Scored { ranked_by, estimate, values } in trees::scored(context, given, rows)? {
                let [at_1, at_3, at_5] = values.map(|value| 100.0 * value);
                table.row(cells![
                    given.name.clone(),
                    "not known",
                    format!("trees without propensities, ranked by {ranked_by}"),
                    if estimate == "as observed" { "" } else { "jpv" },
                    estimate.clone(),
                    at_1,
                    at_3,
                    at_5
                ]);
                match estimate.as_str() {
                    "normalized" => normalized = normalized.max(values[0]),
                    "unnormalized" => impossible = impossible.max(values[0]),
                    _ => {}
                }
            }
        }
        for (name, estimate, values) in PAPER {
            table.row(cells![name, "", "", "jpv", estimate, values[0], values[1], values[2]]);
        }
        outcome.tables.push(table);
        outcome.must(
            "normalized values cannot tell: they stay below 100 %",
            normalized <= 1.0 + 1e-9,
            format!("at most {:.2} %, in single repetitions", 100.0 * normalized),
        );
        outcome.reports(
            "unnormalized values exceed 100 % under wrong propensities",
            format!("up to {:.2} %, in single repetitions", 100.0 * impossible),
        );
        Ok(outcome)
    }
}
