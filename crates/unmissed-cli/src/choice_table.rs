//! Which loss and decay training took, as a table: for `train`, and again for `inspect`.

use unmissed::predict::file::{Candidate, Choice};
use unmissed::report::{Cell, Column, Table};

/// A number that not all candidates have.
type Optional = (&'static str, u8, fn(&Candidate) -> Option<f64>);

/// What decides between decays, then between losses; and how long it took, which model files do not say.
const OPTIONAL: [Optional; 4] = [
    ("log loss", 5, |candidate| candidate.log_loss),
    ("ranking loss", 5, |candidate| candidate.ranking_loss),
    ("precision@1-5", 4, |candidate| candidate.precision),
    ("seconds", 3, |candidate| candidate.seconds),
];

/// What was tried, one candidate per row.
pub(crate) fn choice_table(choice: &Choice) -> Table {
    let known: Vec<Optional> =
        OPTIONAL.into_iter().filter(|(.., of)| choice.candidates.iter().any(|one| of(one).is_some())).collect();
    let optional = known.iter().map(|(name, digits, _)| Column::new(*name).significant(*digits));
    let fixed = [Column::new("loss"), Column::new("decay").significant(3)];
    let columns: Vec<Column> = fixed.into_iter().chain(optional).chain([Column::new("chosen")]).collect();
    let what = format!("{} held-out rows, {} of their labels, {} positives", choice.rows, choice.labels, choice.positives);
    let again = if choice.rounds > 1 { format!(" (precision: {} times as many)", choice.rounds) } else { String::new() };
    let title = format!("Which loss ranks best? Calibrated scores on {what}{again}");
    let mut table = Table::new("choice", columns).titled(title);
    for candidate in &choice.candidates {
        let mut cells = vec![Cell::from(candidate.loss.clone()), Cell::from(candidate.decay)];
        cells.extend(known.iter().map(|(.., of)| Cell::from(of(candidate))));
        cells.push(Cell::from(if candidate.chosen { "yes" } else { "" }));
        table.row(cells);
    }
    table
}
