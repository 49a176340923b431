//! What most programs need, in one line: `use unmissed::prelude::*;`.

pub use crate::data::formats::{ReadOptions, read_dataset, read_scores};
pub use crate::data::generators::generate;
pub use crate::data::{Dataset, Features, LabelStats, Labels, Scores, mask, split};
pub use crate::evaluate::{Evaluation, EvaluationResult};
pub use crate::metrics::Estimator;
pub use crate::predict::{Model, PredictOptions};
pub use crate::propensity::Propensities;
pub use crate::propensity::models::PropensitySpec;
pub use crate::request::TrainRequest;
pub use crate::train::Trainer;
