//! Adding the labels that a hierarchy implies: every ancestor of an observed label.
//!
//! # Assumes
//! That the hierarchy is right. What it does not imply stays missing.
//!
//! # Reference
//! The remark of Schultheis et al., KDD 2022: where a hierarchy tells which labels are missing, put them in.
//!
//! ```
//! use unmissed::data::Labels;
//! use unmissed::propensity::{dag::Dag, impute::impute};
//! let labels = Labels::from_ids(3, [vec![2], vec![0]])?;
//! let (imputed, added) = impute(&labels, &Dag::new(3, vec![(2, 1), (1, 0)])?)?;
//! assert_eq!((imputed.row_ids(0), imputed.row_ids(1), added), (&[0, 1, 2][..], &[0][..], 2));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::dag::Dag;
use super::row_ids::check_row_ids;
use crate::data::Labels;
use crate::error::{Error, Result};

/// The labels with all implied ones, each row ascending, and how many were added.
pub fn impute(labels: &Labels<'_>, dag: &Dag) -> Result<(Labels<'static>, u64)> {
    if labels.cols() != dag.labels() {
        return Err(Error::value("data and hierarchy have different numbers of labels")
            .expected(labels.cols().to_string())
            .found(dag.labels().to_string()));
    }
    check_row_ids(labels.rows())?;
    let (mut stamps, mut stack) = (vec![0u32; dag.labels()], Vec::new());
    let rows = (0..labels.rows()).map(|row| {
        let mut ids = labels.row_ids(row).to_vec();
        dag.ancestors(labels.row_ids(row), &mut stamps, row as u32 + 1, &mut stack, |ancestor| ids.push(ancestor));
        ids.sort_unstable();
        ids.dedup();
        ids
    });
    let imputed = Labels::from_ids(labels.cols() as u64, rows)?;
    let added = (imputed.nnz() - labels.nnz()) as u64;
    Ok((imputed, added))
}
