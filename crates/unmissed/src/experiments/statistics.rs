//! `statistics`: what is left of data sets after labels went missing.

use super::biased_data::{NOISES, balls, benchmark, benchmarks, labels_per_row, mean_se};
use super::paper_numbers::{self, MADE};
use super::{Context, Experiment, Outcome, Size, Took};
use crate::cells;
use crate::data::generators::generate;
use crate::error::Result;
use crate::report::{Column, Table};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Statistics;

/// How far labels per row may be from the paper's on hyper-balls, whose radii the paper does not print.
const NEAR: f64 = 0.25;

impl crate::sealed::Sealed for Statistics {}

impl Named for Statistics {
    fn name(&self) -> &'static str {
        "statistics"
    }
    fn summary(&self) -> &'static str {
        "labels per row of the generated data sets, before and after labels went missing"
    }
}

impl Experiment for Statistics {
    fn reproduces(&self) -> &'static str {
        "the appendix's table of the characteristics of data sets"
    }

    fn data_needed(&self) -> &'static str {
        "hyper-balls and a survey; any data sets that are given"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "2 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "noise"].map(Column::new).into_iter();
        let whole = ["train rows", "test rows", "labels"].map(Column::new);
        let real = ["observed labels per row", "SE", "true labels per row", "paper: observed", "paper: true"];
        let columns = words.chain(whole).chain(real.map(|name| Column::new(name).fixed(2)));
        let mut table = Table::new("statistics", columns).titled("Labels per row before and after labels went missing");
        // Always of the paper's size: JPV depends on the number of rows, which is what `scaling` is about.
        let repetitions = context.size.pick(2, 3, 10);
        let near = |name: &str, noise: &str| {
            let known = paper_numbers::known_as(name).unwrap_or("hyper-balls");
            let asked = name == "hyper-balls" || paper_numbers::known_as(name).is_some();
            MADE.iter().find(|line| asked && line.name == known && line.noise == noise)
        };

        let sets: Vec<_> =
            (0..repetitions).map(|repetition| balls(Size::Full, 6, "0.1,0.8", context.seed + repetition)).collect::<Result<_>>()?;
        for (place, noise) in NOISES.into_iter().enumerate() {
            let one = |(repetition, set): (usize, &super::biased_data::Complete)| {
                Ok(labels_per_row(&set.biased(place, context.seed + repetition as u64)?.train))
            };
            let observed: Vec<f64> = sets.iter().enumerate().map(one).collect::<Result<_>>()?;
            let (truth, _) = mean_se(&sets.iter().map(|set| labels_per_row(&set.test)).collect::<Vec<_>>());
            let (mean, se) = mean_se(&observed);
            let paper = near("hyper-balls", noise);
            let (rows, test) = (sets[0].train.rows(), sets[0].test.rows());
            table.row(cells![
                "hyper-balls",
                noise,
                rows,
                test,
                sets[0].train.labels().cols(),
                mean,
                se,
                truth,
                paper.map(|line| line.observed),
                paper.map(|line| line.truth),
            ]);
            if let Some(line) = paper {
                outcome.must(
                    format!("hyper-balls keep about as many labels per row under {noise} as in the paper"),
                    (mean - line.observed).abs() < NEAR && (truth - line.truth).abs() < NEAR,
                    format!("{mean:.2} of {truth:.2}; paper {:.2} of {:.2}", line.observed, line.truth),
                );
            }
        }
        for set in benchmarks(context) {
            let Some(complete) = benchmark(set, context.seed)? else { continue };
            for (place, noise) in NOISES.into_iter().enumerate() {
                let biased = complete.biased(place, context.seed)?;
                let paper = near(&set.name, noise);
                let (train, test, labels) = (complete.train.rows(), complete.test.rows(), complete.train.labels().cols());
                table.row(cells![
                    set.name.clone(),
                    noise,
                    train,
                    test,
                    labels,
                    labels_per_row(&biased.train),
                    None::<f64>,
                    labels_per_row(&complete.test),
                    paper.map(|line| line.observed),
                    paper.map(|line| line.truth),
                ]);
            }
        }
        let users = context.size.pick("500", "3000", "10000").to_owned();
        let survey = generate("survey", &[("users", users)], context.seed)?;
        let (train, complete) = (survey.part("train")?, survey.part("test_clean")?);
        let yahoo = MADE.iter().find(|line| line.noise == "survey");
        table.row(cells![
            "survey (for Yahoo R3)",
            "survey",
            train.rows(),
            complete.rows(),
            train.labels().cols(),
            labels_per_row(train),
            None::<f64>,
            labels_per_row(complete),
            yahoo.map(|line| line.observed),
            yahoo.map(|line| line.truth),
        ]);
        outcome.tables.push(table);
        outcome.tables.push(printed());
        outcome.notes.push(
            "Ours are before a tenth of the training rows is held out for tuning, the paper's after it. The paper prints 1531 and 1331 labels \
             for AmazonCat, and 1.55 of 4.46 labels for EUR-Lex under JPV, where p at the mean count is already above that share: \
             neither is explained by its text."
                .into(),
        );
        Ok(outcome)
    }
}

/// The paper's own table.
fn printed() -> Table {
    let words = ["data set", "noise", "train rows", "test rows", "labels"].map(Column::new).into_iter();
    let columns = words.chain(["observed labels per row", "true labels per row"].map(|name| Column::new(name).fixed(2)));
    let mut table = Table::new("statistics_paper", columns).titled("The same in the paper");
    for line in MADE {
        table.row(cells![line.name, line.noise, line.train, line.test, line.labels, line.observed, line.truth]);
    }
    table
}
