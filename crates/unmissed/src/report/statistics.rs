//! The statistics of a data set as people read them.

use super::{Cell, Shown};
use crate::data::DataStats;

/// A statistic for people: its name, and its cell.
pub type Statistic = (&'static str, fn(&DataStats) -> Cell);

/// The statistics of a data set in the order of tables.
pub static STATISTICS: &[Statistic] = &[
    ("rows", |s| whole(Some(s.rows))),
    ("features", |s| whole(s.features)),
    ("features per row, mean", |s| real(s.features_per_row_mean)),
    ("labels", |s| whole(Some(s.labels))),
    ("labels that occur", |s| whole(Some(s.labels_occurring))),
    ("positives", |s| whole(Some(s.positives))),
    ("labels per row, mean", |s| real(s.labels_per_row_mean)),
    ("labels per row, median", |s| real(s.labels_per_row_median)),
    ("labels per row, max", |s| whole(s.labels_per_row_max)),
    ("rows without labels", |s| whole(s.rows_without_labels)),
    ("rows per label, mean", |s| real(s.rows_per_label_mean)),
    ("rows per label, median", |s| real(s.rows_per_label_median)),
    ("rows per label, max", |s| whole(s.rows_per_label_max)),
    ("rows per label that occurs, mean", |s| real(s.rows_per_occurring_label_mean)),
    ("rows per label that occurs, median", |s| real(s.rows_per_occurring_label_median)),
    ("rows per label that occurs, min", |s| whole(s.rows_per_occurring_label_min)),
    ("labels with at most 5 rows", |s| percent(s.few_positives_share)),
    ("occurring labels with at most 5 rows", |s| percent(s.few_positives_share_of_occurring)),
    ("min IR, (n - max)/max as defined", |s| real(s.min_ir)),
    ("min IR, n/max as printed in the paper", |s| real(s.rows_to_largest)),
    ("ILIR, max/min", |s| real(s.ilir)),
    ("Pos-80%, share of labels", |s| percent(s.pos80)),
    ("obesity index", |s| real(s.obesity.as_ref().map(|o| o.index))),
    ("obesity index, standard error (0 = exact)", |s| real(s.obesity.as_ref().map(|o| o.se))),
    ("obesity index, share of ties", |s| real(s.obesity.as_ref().map(|o| o.ties))),
];

fn whole(value: Option<u64>) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::Int(value as i64))
}

fn real(value: Option<f64>) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::float(value, Shown::Significant(4)))
}

fn percent(value: Option<f64>) -> Cell {
    value.map_or(Cell::Missing, |value| Cell::float(value, Shown::Percent(2)))
}
