//! `scaling`: JPV tends to 1 when the data are copied; power and Richards do not change.
//!
//! Copying every row k times changes nothing about what is missing, yet `p = 1 / (1 + (ln n - 1)(b+1)^a (n_j + b)^(-a))` grows
//! with n at a fixed prior.

use super::biased_data::balls;
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::LabelStats;
use crate::error::Result;
use crate::propensity::checks::copies;
use crate::propensity::{Phi, models};
use crate::report::plot::{Chart, Scale, Series};
use crate::report::{Column, Table};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Scaling;

const COPIES: &[f64] = &[1.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9];
/// Curves without defaults of their own get constants that are as good as any here: only whether they move is asked.
/// The second of each: whether it moves when data are copied.
const CURVES: &[(&str, bool)] = &[
    ("jpv", true),
    ("jpv:wikipedia", true),
    ("jpv:amazon", true),
    ("power", false),
    ("richards:c=0.01,d=0.9,e=1,f=10,g=100,h=1", false),
];

impl crate::sealed::Sealed for Scaling {}

impl Named for Scaling {
    fn name(&self) -> &'static str {
        "scaling"
    }
    fn summary(&self) -> &'static str {
        "the limit of JPV as data are copied, against power and Richards, which do not change"
    }
}

impl Experiment for Scaling {
    fn reproduces(&self) -> &'static str {
        "section 3.2, 'Structural concerns': the limit of JPV for many rows"
    }

    fn data_needed(&self) -> &'static str {
        "nothing: hyper-balls"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "1 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let stats = LabelStats::of(balls(context.size, 6, "0.1,0.8", context.seed)?.train.labels());
        let columns = [Column::new("model"), Column::new("copies").fixed(0)].into_iter();
        let shown =
            ["mean p", "p of the rarest", "p of the most frequent", "largest factor"].map(|name| Column::new(name).fixed(4));
        let mut table = Table::new("scaling", columns.chain(shown)).titled("Propensities of hyper-balls when all rows are copied");
        let mut chart = Chart::new("Propensity of the rarest label when all rows are copied")
            .x("copies", Scale::Log)
            .y("propensity", Scale::Linear)
            .y_covers(0.0, 1.0);
        let mut outcome = Outcome::new();
        for (spec, moves) in CURVES {
            let phi: Phi = match models::parse(spec)?.curve() {
                Some(phi) => phi.clone(),
                None => continue,
            };
            let found = copies(&phi, &stats, COPIES)?;
            for at in &found {
                table.row(cells![*spec, at.k, at.mean, at.rarest, at.most_frequent, at.largest_change]);
            }
            chart = chart.series(Series::line(*spec, found.iter().map(|at| (at.k, at.rarest))));
            let last = found.iter().map(|at| at.largest_change).fold(1.0, f64::max);
            let moved = format!("largest factor {last:.4} up to {:.0e} copies", COPIES[COPIES.len() - 1]);
            if *moves {
                let limit = found.last().map_or(0.0, |at| at.rarest);
                outcome.must(
                    format!("{spec} moves towards 1 when data are copied"),
                    last > 1.5 && limit > 0.9,
                    format!("{moved}; the rarest label then has p = {limit:.4}"),
                );
            } else {
                outcome.must(format!("{spec} does not move"), (last - 1.0).abs() < 1e-9, moved);
            }
        }
        outcome.tables.push(table);
        outcome.charts.push(("scaling".into(), chart));
        Ok(outcome)
    }
}
