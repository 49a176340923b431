//! Which loss and decay plain training took, as a table: for `train`, and again for `inspect`.

use unmissed::cells;
use unmissed::predict::file::{Candidate, Choice};
use unmissed::report::{Column, Table};

/// What was tried, one candidate per row. Model files do not say how long it took.
pub(crate) fn choice_table(choice: &Choice) -> Table {
    let mut columns = vec![Column::new("loss"), Column::new("decay").significant(3), Column::new("ranking loss").significant(5)];
    let ranked = choice.candidates.iter().any(|candidate| candidate.reciprocal_rank.is_some());
    if ranked {
        columns.push(Column::new("reciprocal rank").significant(4));
    }
    let timed = choice.candidates.iter().any(|candidate| candidate.seconds.is_some());
    if timed {
        columns.push(Column::new("seconds").significant(3));
    }
    columns.push(Column::new("chosen"));
    let what = format!("{} held-out rows, {} of their labels, {} positives", choice.rows, choice.labels, choice.positives);
    let title = format!("Which loss ranks best? Calibrated scores on {what}");
    let mut table = Table::new("choice", columns).titled(title);
    for Candidate { loss, decay, ranking_loss, reciprocal_rank, seconds, chosen } in &choice.candidates {
        let mut cells = Vec::from(cells![loss.clone(), *decay, *ranking_loss]);
        if ranked {
            cells.extend(cells![*reciprocal_rank]);
        }
        if timed {
            cells.extend(cells![*seconds]);
        }
        cells.extend(cells![if *chosen { "yes" } else { "" }]);
        table.row(cells);
    }
    table
}
