//! Ways to estimate propensities from data that tell more than the training labels do.
//!
//! | name | from | bound |
//! |---|---|---|
//! | [`direct`] | a bias-controlled sample, label by label | exact |
//! | [`shrunken`] | the same, pulled towards a fitted curve as far as the data are thin | exact |
//! | [`timelapse`] | a later snapshot of the same rows | upper |
//! | [`hierarchy`] | ancestors that observed labels imply | upper |
//! | [`relation`] | what was viewed with what was bought with a label | none |
//!
//! All but `direct` give a value for every label: where the data say nothing, the fitted curve does, and the value is marked.
//! Never estimate propensities and evaluate on the same controlled rows: split them.

mod dag;
pub mod direct;
pub mod hierarchy;
pub mod impute;
pub mod pairs;
mod ratio;
pub mod relation;
pub mod shrunken;
pub mod timelapse;

pub use direct::{Direct, Rates};
pub use hierarchy::Hierarchy;
pub use ratio::Ratio;
pub use relation::Relation;
pub use shrunken::Shrunken;
pub use timelapse::Timelapse;

use crate::propensity::Bound;
use crate::spec::Named;

/// All estimators.
pub static ESTIMATORS: &[&dyn Estimator] =
    &[&direct::Entry, &shrunken::Entry, &timelapse::Entry, &hierarchy::Entry, &relation::Entry];

/// What lists and help say about an estimator. Their inputs differ too much for one way to call them.
pub trait Estimator: Named + Sync {
    /// In which sense the estimate bounds the propensity.
    fn bound(&self) -> Bound;
}

/// Declares an estimator's entry.
macro_rules! entry {
    ($name:literal, $summary:literal, $bound:ident) => {
        /// The entry in the list of estimators.
        pub(super) struct Entry;
        impl crate::spec::Named for Entry {
            fn name(&self) -> &'static str {
                $name
            }
            fn summary(&self) -> &'static str {
                $summary
            }
        }
        impl super::Estimator for Entry {
            fn bound(&self) -> crate::propensity::Bound {
                crate::propensity::Bound::$bound
            }
        }
    };
}
use entry;
