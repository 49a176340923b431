//! Judged pairs: evidence that costs an afternoon.
//!
//! A few hundred pairs of the models' top lists, drawn with known probabilities and judged by people, give metrics on complete
//! labels without assumptions about missing ones. [`AnnotationPlan`] draws the pairs and forecasts the intervals; judges fill the csv
//! (or the page) that it writes; [`Judged`] is what an [`Evaluation`](super::Evaluation) takes, which then has the estimator `judged`.
//!
//! `pool.rs` collects pairs, `strata.rs` divides them, `allocation.rs` decides how many of each are drawn, `plan.rs` draws, `plan_file.rs` and
//! `pairs_csv.rs` write. `sample.rs` puts judgements and plan together, `guesses.rs` guesses what is not judged,
//! `completed.rs` makes numbers of both with which sums are unbiased, `estimate.rs` has variances, [`t_quantile`] and [`wilson`] make
//! intervals, `gains.rs` and `target.rs` say what is estimated, `report.rs` puts it among the results. `known.rs` and
//! `likely.rs` say what judgements tell about pairs themselves.
//!
//! Horvitz and Thompson, "A generalization of sampling without replacement from a finite universe", 1952; for estimates with guesses
//! Saerndal, Swensson and Wretman, "Model assisted survey sampling", 1992; for those of machines Angelopoulos et al., "Prediction-powered
//! inference", Science 2023.

mod allocation;
mod completed;
mod estimate;
mod expected;
mod gains;
mod guesses;
mod interval;
mod known;
mod likely;
mod machine;
mod notes;
mod pairs_csv;
mod plan;
mod plan_file;
mod pool;
pub(super) mod report;
mod sample;
mod strata;
mod target;

use crate::data::{Judgements, MachineJudgements};

pub use expected::ExpectedInterval;
pub use interval::{t_quantile, wilson};
pub(crate) use likely::{Likely, LikelyPairs};
pub use pairs_csv::PairNames;
pub use plan::{AnnotationPlan, OBSERVED, PlanData, PlannedPair};
pub use plan_file::PLAN_FILE;

/// Judged pairs for an evaluation.
#[derive(Clone, Debug)]
pub struct Judged {
    judgements: Judgements,
    plan: Option<AnnotationPlan>,
    machine: Option<MachineJudgements>,
}

impl Judged {
    /// Judgements that were drawn as they say themselves.
    pub fn new(judgements: Judgements) -> Judged {
        Judged { judgements, plan: None, machine: None }
    }

    /// The plan by which the pairs were drawn.
    #[must_use]
    pub fn plan(mut self, plan: AnnotationPlan) -> Judged {
        self.plan = Some(plan);
        self
    }

    /// What a machine said about the same and other pairs.
    #[must_use]
    pub fn machine(mut self, machine: MachineJudgements) -> Judged {
        self.machine = Some(machine);
        self
    }
}
