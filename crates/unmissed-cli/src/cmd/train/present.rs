//! What training did, as tables.

use crate::app::Outcome;
use crate::choice_table::choice_table;
use serde_json::json;
use std::time::Duration;
use unmissed::cells;
use unmissed::predict::About;
use unmissed::predict::file::LaterOutcome;
use unmissed::report::{Cell, Column, Document, Shown, Table};
use unmissed::train::{Solver, StackTable, Trained, Tuning};

/// The size of the training data.
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) features: usize,
    pub(super) labels: usize,
}

/// Rows of the table of trials that people are shown; programs and the model have all.
const SHOWN: usize = 30;

/// What to know about propensities that were changed before training.
pub(super) const SHRUNKEN: &str = "The propensities are mostly noise, judged by their own intervals: they were shrunken towards their trend in label \
     frequency before training. 'unmissed propensity estimate shrunken' does this from the controlled set itself, and \
     'train --controlled' needs no propensities.";

pub(super) fn document(trained: &Trained, shape: Shape, time: Duration) -> Outcome<Document> {
    let mut document = Document::new().table(summary(trained, &shape, time));
    if let Some(choice) = &trained.choice {
        document = document.table(choice_table(choice));
    }
    if let Some(tuning) = &trained.tuning {
        document = document.table(trials(tuning));
        let hidden = tuning.trials.len().saturating_sub(SHOWN);
        if hidden > 0 {
            document = document.note(format!("{hidden} more trials are in the model: 'unmissed inspect' and json have them all."));
        }
    }
    if trained.outcome.raised_propensities > 0 {
        document = document.note(format!(
            "{} labels are observed more often than their propensity allows: the propensity was raised to the observed rate, over \
             all rows or on the rows with the label's highest scores (--propensities-out marks them).",
            trained.outcome.raised_propensities
        ));
    }
    if trained.outcome.shrunken_propensities {
        document = document.note(SHRUNKEN);
    }
    if let Some(stack) = &trained.stack {
        document = document.table(compared(stack)).note(verdict(stack));
    }
    if let Some(later) = trained.outcome.later {
        document = document.note(replaced(&later));
    }
    if let Some(note) = assumed(&trained.about) {
        document = document.note(note);
    }
    if trained.uncorrected {
        document = document
            .note("The loss corrects for missing labels, but no --propensity was given: labels were assumed to be complete.");
    }
    if let Some(unused) = &trained.unused {
        document = document.note(format!(
            "The loss '{}' does not use the propensities ({unused}): use 'unbiased-{}', or divide by them in 'predict --propensity'.",
            trained.about.loss, trained.about.loss
        ));
    }
    if trained.unconverged > 0 {
        document = document.note(format!(
            "The solver did not converge on {} labels: use a larger --decay, a larger --tolerance, or --solver adam.",
            trained.unconverged
        ));
    }
    if let Some(effective) = trained.outcome.effective_sample_size
        && effective.effective < 0.1 * effective.positives
    {
        document = document.note(format!(
            "The inverse propensities vary so much that {:.0} positives have the effective size of {:.0}: expect a high variance, \
             and consider --clip or a larger --decay.",
            effective.positives, effective.effective
        ));
    }
    let about = &trained.about;
    let data = json!({
        "rows": shape.rows, "features": shape.features, "labels": shape.labels, "loss": about.loss, "propensity": about.propensity.as_ref().map(ToString::to_string),
        "seed": about.seed, "settings": trained.outcome, "request": about.request, "tuning": trained.tuning, "choice": trained.choice,
        "resumed_blocks": trained.resumed, "unfinished_labels": trained.unconverged,
        "seconds": time.as_secs_f64(),
    });
    Ok(document.data(data)?)
}

fn summary(trained: &Trained, shape: &Shape, time: Duration) -> Table {
    let about = &trained.about;
    let mut table = Table::new("training", ["what", "value"]);
    table.row(cells!["rows", shape.rows]);
    table.row(cells!["features", shape.features]);
    table.row(cells!["labels", shape.labels]);
    table.row(cells!["loss", about.loss.clone()]);
    table.row(cells!["propensities", about.propensity.as_ref().map(ToString::to_string)]);
    let outcome = &trained.outcome;
    let number = |number: f64| Cell::float(number, Shown::Significant(4));
    table.row(cells!["solver", outcome.solver.name()]);
    table.row(cells!["calibrated", if outcome.calibration.is_some() { "yes" } else { "no" }]);
    match outcome.solver {
        Solver::Adam(adam) | Solver::Joint(adam) => {
            table.row([Cell::from("learning rate"), number(adam.learning_rate)]);
            table.row([Cell::from("decay"), number(outcome.decay)]);
            table.row(cells!["epochs", adam.epochs]);
            table.row(cells!["batch", adam.batch_size]);
        }
        Solver::Newton(newton) => {
            table.row([Cell::from("decay"), number(outcome.decay)]);
            table.row([Cell::from("tolerance"), number(newton.tolerance)]);
        }
        Solver::Dual(dual) => {
            table.row([Cell::from("decay"), number(outcome.decay)]);
            table.row([Cell::from("tolerance"), number(dual.tolerance)]);
        }
    }
    if let Some(clip) = outcome.clip {
        table.row([Cell::from("clip"), number(clip)]);
    }
    if let Some(best) = trained.tuning.as_ref().and_then(Tuning::best) {
        table.row(cells!["held-out loss", best.loss]);
        if let (Some(tuning), Some(metric)) = (&trained.tuning, best.metric) {
            table.row(cells![tuning.criterion.to_string(), metric]);
        }
    }
    if let Some(effective) = outcome.effective_sample_size {
        table.row(cells!["observed positives", effective.positives]);
        table.row(cells!["effective positives", effective.effective]);
        table.row(cells!["largest inverse propensity", effective.largest_weight]);
    }
    if trained.resumed > 0 {
        table.row(cells!["blocks of the earlier run", trained.resumed]);
    }
    table.row(cells!["seconds", time.as_secs_f64()]);
    table
}

/// The models that were compared on a controlled set.
pub(super) fn compared(stack: &StackTable) -> Table {
    let columns =
        [Column::new("model"), Column::new("log loss").significant(5), Column::new("SE").significant(2), Column::new("chosen")];
    let mut table = Table::new("controlled", columns)
        .titled(format!("Log loss per controlled row ({} rows, {} positives), cross-validated", stack.rows, stack.positives));
    for line in &stack.lines {
        let chosen = line.model == if stack.taken { "stack" } else { "uncorrected" };
        table.row(cells![line.model.clone(), line.loss, line.se, if chosen { "yes" } else { "" }]);
    }
    table
}

pub(super) fn verdict(stack: &StackTable) -> String {
    let gain = format!("by {:.4} per row (SE {:.4})", stack.gain.abs(), stack.gain_se);
    match stack.taken {
        true => format!("The stack is better than the recalibrated model {gain}: the stack is used."),
        false if stack.rows < StackTable::FEWEST_ROWS => format!(
            "Fewer than {} controlled rows cannot show that the stack is better: the uncorrected model is kept.",
            StackTable::FEWEST_ROWS
        ),
        false if stack.gain > stack.gain_se => {
            "The stack is not better than the uncorrected model by more than one standard error: the uncorrected model is kept."
                .to_owned()
        }
        false if stack.gain > 0.0 => {
            format!("The stack is better {gain}, which is not more than one standard error: the uncorrected model is kept.")
        }
        false => format!("The stack is worse than the recalibrated model {gain}: the uncorrected model is kept."),
    }
}

/// What became of later labels.
pub(super) fn replaced(later: &LaterOutcome) -> String {
    match later.rows == later.of {
        true => format!("Trained on the later labels: {} were added, {} withdrawn.", later.added, later.withdrawn),
        false => format!(
            "Trained on the later labels of {} of {} rows ({} added, {} withdrawn); the others are corrected by row-dependent \
             propensities fitted to these.",
            later.rows, later.of, later.added, later.withdrawn
        ),
    }
}

/// What to know about propensities that follow from constants which nobody measured on these data.
pub(super) fn assumed(about: &About) -> Option<String> {
    let origin = about.propensity.as_ref()?;
    let curve = origin.curve()?;
    Some(format!(
        "The propensities ({}) come from a curve: unless its constants were fitted to a controlled set, they are assumed, and nothing about missing \
         labels was measured on these data. A controlled set (--controlled) or later labels (--later) would measure it.",
        curve.short()
    ))
}

fn trials(tuning: &Tuning) -> Table {
    let columns = [
        Column::new("learning rate"),
        Column::new("decay"),
        Column::new("epoch"),
        Column::new("loss").significant(6),
        Column::new(tuning.criterion.to_string()).significant(5),
        Column::new("seconds").significant(3),
        Column::new("chosen"),
    ];
    let by_metric = tuning.trials.iter().any(|trial| trial.metric.is_some());
    let columns = columns.into_iter().enumerate().filter(|(place, _)| *place != 4 || by_metric).map(|(_, column)| column);
    let mut table = Table::new("tuning", columns).titled(format!("Settings that were tried, decided on {} rows", tuning.rows));
    // With many epochs, those around the best of each setting are what people want to see.
    let many = tuning.trials.len() > SHOWN;
    let trials = tuning.trials.iter().enumerate().filter(|(place, trial)| !many || trial.chosen || last_of_setting(tuning, *place));
    for (_, trial) in trials.take(SHOWN) {
        let mut cells = Vec::from(cells![trial.setting.learning_rate, trial.setting.decay, trial.epoch, trial.loss]);
        if by_metric {
            cells.push(Cell::from(trial.metric));
        }
        cells.extend(cells![trial.seconds, if trial.chosen { "yes" } else { "" }]);
        table.row(cells);
    }
    table
}

fn last_of_setting(tuning: &Tuning, place: usize) -> bool {
    tuning.trials.get(place + 1).is_none_or(|next| next.setting != tuning.trials[place].setting)
}
