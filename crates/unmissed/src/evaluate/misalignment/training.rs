//! Test rows that were trained on.

use crate::data::{Dataset, Features};
use crate::evaluate::findings::{Finding, U019};
use std::collections::HashSet;

/// Fewer rows may agree by chance.
const LEAST_ROWS: usize = 20;
/// Share of the test rows that must be among the training rows; some data have repeated rows.
const SHARE: f64 = 0.5;

/// Whether the test rows are among the training rows: the same labels in the same order, or, where there are features, mostly the same
/// rows in whatever order.
///
/// ```
/// use unmissed::data::{Dataset, Labels};
/// use unmissed::evaluate::misalignment::test_in_training;
/// let labels = |from: u32| Labels::from_ids(50, (from..from + 30).map(|row| vec![row % 50, (row * 7 + 1) % 50]));
/// let (train, test) = (Dataset::new(None, labels(0)?)?, Dataset::new(None, labels(40)?)?);
/// assert!(test_in_training(&train, &test).is_none());
/// assert!(test_in_training(&train, &train).unwrap().message.contains("all 30 test rows"));
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn test_in_training(train: &Dataset<'_>, test: &Dataset<'_>) -> Option<Finding> {
    if test.rows() < LEAST_ROWS || train.labels().cols() != test.labels().cols() {
        return None;
    }
    let of_test = test.rows();
    if let Some(first) = block(train, test) {
        let text = format!(
            "all {of_test} test rows have the labels of the training rows {first} to {}, in the same order",
            first + of_test - 1
        );
        return Some(Finding::new(&U019, text));
    }
    let (Some(of_train), Some(features)) = (train.features(), test.features()) else { return None };
    let seen: HashSet<[u8; 16]> = (0..train.rows()).filter_map(|row| fingerprint(train, of_train, row)).collect();
    let known = (0..of_test).filter_map(|row| fingerprint(test, features, row)).filter(|row| seen.contains(row)).count();
    (known as f64 >= SHARE * of_test as f64).then(|| {
        let share = 100.0 * known as f64 / of_test as f64;
        let text = format!("{known} of {of_test} test rows ({share:.0} %) are training rows, with the same features and labels");
        Finding::new(&U019, text)
    })
}

/// The first of the training rows whose labels are those of the test rows, when these are at the start or at the end.
fn block(train: &Dataset<'_>, test: &Dataset<'_>) -> Option<usize> {
    let (train, test) = (train.labels(), test.labels());
    let last = train.rows().checked_sub(test.rows())?;
    // Rows that are all alike agree with anything.
    let distinct: HashSet<&[u32]> = (0..test.rows()).map(|row| test.row_ids(row)).take(10 * LEAST_ROWS).collect();
    if distinct.len() < LEAST_ROWS / 2 {
        return None;
    }
    [0, last].into_iter().find(|first| (0..test.rows()).all(|row| train.row_ids(first + row) == test.row_ids(row)))
}

/// What a row has, as a hash; `None` for a row without features, of which there may be many.
fn fingerprint(data: &Dataset<'_>, features: &Features<'_>, row: usize) -> Option<[u8; 16]> {
    let mut hasher = blake3::Hasher::new();
    let mut labels = data.labels().row_ids(row).to_vec();
    labels.sort_unstable();
    hasher.update(&(labels.len() as u64).to_le_bytes());
    labels.iter().for_each(|label| {
        hasher.update(&label.to_le_bytes());
    });
    match features {
        Features::Sparse(matrix) => {
            let (ids, values) = matrix.row(row);
            let mut entries: Vec<(u32, f32)> =
                ids.iter().copied().zip(values.iter().copied()).filter(|(_, value)| *value != 0.0).collect();
            entries.sort_unstable_by_key(|entry| entry.0);
            entries.first()?;
            for (id, value) in entries {
                hasher.update(&id.to_le_bytes());
                hasher.update(&value.to_le_bytes());
            }
        }
        Features::Dense(matrix) => matrix.row(row).iter().for_each(|value| {
            hasher.update(&value.to_le_bytes());
        }),
    }
    let mut print = [0; 16];
    print.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Some(print)
}
