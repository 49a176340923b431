//! The native part of the Python package `unmissed`: thin functions over the library, which the Python sources make pleasant.
//!
//! `matrix` borrows what numpy owns, `run` works without the interpreter's lock and listens to Ctrl-C, `errors` maps errors to
//! exceptions; the other modules follow those of the library.

use pyo3::prelude::*;

mod annotate;
mod audit;
mod blocks;
mod choices;
mod curves;
mod errors;
mod estimate;
mod evaluate;
mod files;
mod ignored;
mod mask;
mod matrix;
mod model;
mod optimize;
mod propensities;
mod rearrange;
mod registry;
mod reproduce;
mod requests;
mod rows;
mod run;
mod stream;
mod tree;

/// The native part of `unmissed`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::annotate::{Plan, annotation_plan};
    #[pymodule_export]
    use crate::audit::audit;
    #[pymodule_export]
    use crate::blocks::{Blocks, begin_blocks, finish_blocks, fit_blocks};
    #[pymodule_export]
    use crate::curves::{count_propensities, fit_propensity, model_propensities, table_propensities, write_propensities};
    #[pymodule_export]
    use crate::errors::FormatError;
    #[pymodule_export]
    use crate::estimate::estimate;
    #[pymodule_export]
    use crate::evaluate::{compat_values, evaluate};
    #[pymodule_export]
    use crate::files::{generate, printable, read, set_max_size, stats, write, write_text};
    #[pymodule_export]
    use crate::mask::mask;
    #[pymodule_export]
    use crate::matrix::addresses;
    #[pymodule_export]
    use crate::model::{Linear, model_of_bytes, read_model, train};
    #[pymodule_export]
    use crate::optimize::{apply_lines, corrects_twice, optimize};
    #[pymodule_export]
    use crate::rearrange::{imputed, split, survey_from_ratings};
    #[pymodule_export]
    use crate::registry::{loss_at, nature, offers, parameters, registry, syntaxes};
    #[pymodule_export]
    use crate::reproduce::reproduce;
    #[pymodule_export]
    use crate::requests::{default_requests, other_defaults};
    #[pymodule_export]
    use crate::rows::{Rows, fit_rows, read_rows};
    #[pymodule_export]
    use crate::run::panics;
    #[pymodule_export]
    use crate::stream::{Stream, count_labels, finish_tallies, merge_tallies};
    #[pymodule_export]
    use crate::tree::{Trees, read_tree_model, train_tree, tree_of_bytes};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
