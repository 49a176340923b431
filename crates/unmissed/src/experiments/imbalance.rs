//! `imbalance`: how long the tails are.

use super::biased_data::balls;
use super::paper_numbers::{self, IMBALANCE};
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::generators::generate;
use crate::data::{DataStats, Dataset, LabelStats, rank_frequency};
use crate::error::Result;
use crate::report::plot::{Chart, Scale, Series};
use crate::report::{Column, Table};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Imbalance;

/// Points of a curve of frequencies.
const POINTS: usize = 200;

impl crate::sealed::Sealed for Imbalance {}

impl Named for Imbalance {
    fn name(&self) -> &'static str {
        "imbalance"
    }
    fn summary(&self) -> &'static str {
        "imbalance ratios, Pos-80 % and the obesity index of data sets, beside the paper's Table 1"
    }
}

impl Experiment for Imbalance {
    fn reproduces(&self) -> &'static str {
        "Table 1 and the appendix's figure of label frequencies"
    }

    fn data_needed(&self) -> &'static str {
        "hyper-balls and a survey; any data sets that are given"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "1 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let numbers = ["rows", "min IR", "n / n_max", "ILIR", "Pos-80% (%)", "obesity (%)"];
        let printed = ["paper: rows", "paper: min IR", "paper: ILIR", "paper: Pos-80% (%)", "paper: obesity (%)"];
        let columns = std::iter::once(Column::new("data set")).chain(numbers.into_iter().chain(printed).map(Column::new));
        let mut table = Table::new("imbalance", columns).titled("Imbalance of training labels");
        let mut chart = Chart::new("Label frequencies").x("rank of the label", Scale::Log).y("rows with the label", Scale::Log);
        let mut add = |name: &str, data: &Dataset<'_>| {
            let stats = DataStats::of(data, context.seed);
            let paper = paper_numbers::known_as(name).and_then(|known| IMBALANCE.iter().find(|line| line.name == known));
            let hundred = |value: Option<f64>| value.map(|value| 100.0 * value);
            table.row(cells![
                name.to_owned(),
                stats.rows,
                stats.min_ir,
                stats.rows_to_largest,
                stats.ilir,
                hundred(stats.pos80),
                hundred(stats.obesity.map(|obesity| obesity.index)),
                paper.map(|line| line.rows),
                paper.map(|line| line.min_ir),
                paper.map(|line| line.ilir),
                paper.map(|line| line.pos80),
                paper.map(|line| line.obesity),
            ]);
            let points = rank_frequency(&LabelStats::of(data.labels()), POINTS);
            chart.series.push(Series::line(name, points.iter().map(|point| (point.rank as f64, point.count as f64))));
        };
        add("hyper-balls", &balls(context.size, 6, "0.1,0.8", context.seed)?.train);
        let users = context.size.pick("500", "3000", "10000").to_owned();
        let survey = generate("survey", &[("users", users)], context.seed)?;
        add("survey", survey.part("train")?);
        let mut given = Vec::new();
        for set in &context.data {
            if let Some((train, _)) = set.rows()? {
                add(&set.name, &train);
                given.extend(paper_numbers::known_as(&set.name));
            }
        }
        for line in IMBALANCE.iter().filter(|line| !given.contains(&line.name)) {
            let paper = [line.rows, line.min_ir, line.ilir, line.pos80, line.obesity];
            let ours = std::iter::repeat_n(crate::report::Cell::Missing, numbers.len());
            table.row(cells![line.name].into_iter().chain(ours).chain(paper.map(crate::report::Cell::from)));
        }
        outcome.tables.push(table);
        outcome.charts.push(("imbalance".into(), chart));
        let missing = IMBALANCE.len() - given.len();
        if missing > 0 {
            outcome.not_run(&format!("our side of {missing} of the paper's 8 data sets"), "their files (--data)");
        }
        outcome.notes.push(
            "The paper's text defines min IR as (n - n_max) / n_max; its column has n / n_max (AmazonCat: 1186239 / 355211 = 3.34, printed \
             3.3; Wiki10 prints 1.2 where the definition gives 0.24). Both are shown here, under their own names."
                .into(),
        );
        Ok(outcome)
    }
}
