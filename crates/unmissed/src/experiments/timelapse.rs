//! `timelapse`: real missing labels. What an earlier snapshot says about a model, corrected in several ways, beside what a later
//! snapshot says.

use super::data_folders::{DataFolder, read};
use super::linear_models::{marked, top};
use super::measures::{Seen, precision};
use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::{Csr, LabelStats, Labels};
use crate::error::Result;
use crate::metrics::Estimator;
use crate::propensity::estimators::timelapse::timelapse;
use crate::propensity::{Ratio, models};
use crate::report::{Column, Table};
use crate::request::{SolverChoice, TrainRequest};
use crate::spec::Named;
use crate::train::Trainer;
use serde_json::json;

/// See the module's page.
pub(super) struct Timelapse;

/// The two snapshots of training and test rows.
const FILES: [&str; 4] = ["train_early.txt", "train_late.txt", "test_early.txt", "test_late.txt"];
/// Epochs of the model whose scores are estimated; which model it is does not matter here.
const EPOCHS: usize = 5;

impl crate::sealed::Sealed for Timelapse {}

impl Named for Timelapse {
    fn name(&self) -> &'static str {
        "timelapse"
    }
    fn summary(&self) -> &'static str {
        "real missing labels: estimates from an earlier snapshot against a later one"
    }
}

impl Experiment for Timelapse {
    fn reproduces(&self) -> &'static str {
        "nothing: the paper has no real missing labels whose truth is known later"
    }

    fn data_needed(&self) -> &'static str {
        "a folder with train_early.txt, train_late.txt, test_early.txt and test_late.txt (--data)"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "2 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "estimate"].map(Column::new).into_iter();
        let numbers = ["P@1", "P@3", "P@5", "off at 1"].map(|name| Column::new(name).fixed(2));
        let mut table = Table::new("timelapse", words.chain(numbers)).titled(
            "Precision (%) of a model trained on the earlier snapshot: estimates from earlier test labels, and what came later",
        );
        for given in &context.data {
            let Some(found) = scores(context, given)? else { continue };
            let truth = found.last().map_or(0.0, |line| line.1[0]);
            let off = |name: &str| found.iter().find(|line| line.0 == name).map_or(f64::NAN, |line| (line.1[0] - truth).abs());
            for (name, values) in &found {
                let [a, b, c] = values.map(|value| 100.0 * value);
                table.row(cells![given.name.clone(), name.clone(), a, b, c, 100.0 * (values[0] - truth)]);
            }
            outcome.must(
                format!("{}: propensities from two snapshots are nearer the later truth than JPV's defaults", given.name),
                off("timelapse") < off("jpv"),
                format!("off by {:.1} points, JPV by {:.1}", 100.0 * off("timelapse"), 100.0 * off("jpv")),
            );
            outcome.reports(
                format!("{}: even these are too high", given.name),
                "labels that a model ranks first are less likely to be missing than the average of their label: p depends on the row",
            );
        }
        if table.rows().len() == 0 {
            outcome.not_run("this experiment", self.data_needed());
        } else {
            outcome.tables.push(table);
        }
        Ok(outcome)
    }
}

/// Precision at 1, 3 and 5 by the name of the estimate.
type Scores = Vec<(String, [f64; 3])>;

/// The estimates by name, the later truth at the end; `None` when the folder has no snapshots.
fn scores(context: &Context<'_>, given: &DataFolder) -> Result<Option<Scores>> {
    let files: Vec<_> = FILES.iter().filter_map(|name| given.file(name)).collect();
    let [train, train_late, test, test_late] = files.as_slice() else { return Ok(None) };
    let (train, train_late, test, test_late) = (read(train)?, read(train_late)?, read(test)?, read(test_late)?);
    let settings = json!([marked(&train)?, marked(&train_late)?, marked(&test)?, marked(&test_late)?]);
    let found = context.part(&format!("timelapse on {}", given.name), &settings, || {
        let (solver, epochs) = (SolverChoice::Adam, Some(EPOCHS));
        let request = TrainRequest { solver, epochs, seed: context.seed, ..TrainRequest::by_loss("logistic") };
        let model = Trainer::new(request).progress(context.progress).check(&train)?.fit()?.model;
        let ranked = top(context, &model, &test)?;
        let stats = LabelStats::of(train.labels());
        let ratio = Ratio::new(models::family("power")?);
        let values = |labels: &Labels<'_>, ranked: &Csr<'_, f32>, seen: &Seen<'_>| {
            precision(labels, ranked, seen).map(|values| values.map(|(value, _)| value))
        };
        let mut found = vec![("observed".to_owned(), values(test.labels(), &ranked, &Seen::Complete)?)];
        for name in ["jpv", "power"] {
            let p = models::parse(name)?.propensities(&stats)?;
            found.push((name.to_owned(), values(test.labels(), &ranked, &Seen::Missing(&p, Estimator::Unbiased))?));
        }
        for (name, how) in [("timelapse", ratio.clone()), ("timelapse, shrunken", ratio.shrunken())] {
            let p = timelapse(train.labels(), train_late.labels(), &how)?.propensities;
            found.push((name.to_owned(), values(test.labels(), &ranked, &Seen::Missing(&p, Estimator::Unbiased))?));
        }
        found.push(("later truth".to_owned(), values(test_late.labels(), &ranked, &Seen::Complete)?));
        Ok(found)
    })?;
    Ok(Some(found))
}
