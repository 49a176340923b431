//! Requests: what users ask for, as plain data.
//!
//! Each verb has one request with its defaults: [`EvaluateRequest`], [`TrainRequest`], [`TreeRequest`], [`OptimizeRequest`],
//! [`AuditRequest`] and [`AnnotateRequest`]. The command line and Python only fill requests, files whose results must be repeatable
//! store them, and each is checked once against the data, by the stage that carries it out. User input (names of files and of
//! registry entries, lists, levels) is parsed here and nowhere else; a request never contains data.

mod annotate;
mod audit;
mod byte_size;
mod conventions;
mod criterion;
mod evaluate;
mod gates;
mod groups;
mod interval_kind;
mod judged_method;
mod k_list;
mod level;
mod objective;
mod optimize;
mod sensitivity;
mod shard;
mod solver;
mod train;
mod train_choices;
mod tree;
mod weights;

pub use annotate::AnnotateRequest;
pub use audit::AuditRequest;
pub use byte_size::byte_size;
pub(crate) use conventions::{ABSENT_LABELS, COVERAGE_OF, EMPTY_ROWS};
pub use conventions::{CONVENTIONS, Convention, Conventions};
pub use criterion::Criterion;
pub use evaluate::EvaluateRequest;
pub use gates::{Gates, ScoreGate};
pub use groups::GroupsSpec;
pub use interval_kind::IntervalKind;
pub use judged_method::JudgedMethod;
pub use k_list::KList;
pub use level::Level;
pub use objective::ObjectiveSpec;
pub use optimize::{OptimizeRequest, Positives};
pub use sensitivity::Sensitivity;
pub use shard::Shard;
pub(crate) use solver::LARGEST_BATCH;
pub use solver::{Adam, Dual, Newton, Solver};
pub use train::{TrainControlled, TrainLater, TrainRequest, Validation};
pub use train_choices::{JointLearning, LossChoice, NormalizeChoice, SolverChoice, TrainPropensity};
pub use tree::{TreeCorrection, TreeRequest};
pub use weights::WeightsSpec;
