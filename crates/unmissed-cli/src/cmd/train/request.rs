//! The options of training, and the request that they fill.

use super::Args;
use std::path::PathBuf;
use unmissed::request::{
    Adam, Dual, JointLearning, Newton, NormalizeChoice, SolverChoice, TrainControlled, TrainLater, TrainRequest, Validation,
    byte_size,
};
use unmissed::{Error, Result};

fn default() -> TrainRequest {
    TrainRequest::default()
}

/// How blocks of labels are trained.
#[derive(clap::Args)]
#[command(next_help_heading = "Solver")]
pub(super) struct Solving {
    /// newton: to the optimum, for losses that have one; dual: the same for squared hinges, faster; adam: small steps on batches,
    /// for any loss; auto: dual or newton where possible
    #[arg(long, value_name = "NAME", default_value_t = default().solver)]
    solver: SolverChoice,
    #[arg(long, value_name = "RATE", value_delimiter = ',', allow_negative_numbers = true, help = format!(
        "Learning rate of Adam [default: {}]; with --tune the rates to try, separated by commas", Adam::default().learning_rate))]
    learning_rate: Vec<f64>,
    /// Strength of the L2 penalty [default: follows from the data for newton
    /// and dual, which need one; 0 for Adam]; with --tune the values to try
    #[arg(long, value_name = "DECAY", value_delimiter = ',', allow_negative_numbers = true)]
    decay: Vec<f64>,
    #[arg(long, value_name = "N", help = format!(
        "Epochs of Adam; an upper limit unless --holdout 0 [default: {}]", Adam::default().epochs))]
    epochs: Option<usize>,
    #[arg(long, value_name = "ROWS", help = format!("Rows per batch of Adam [default: {}]", Adam::default().batch_size))]
    batch: Option<usize>,
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help = format!(
        "newton and dual: stop when the gradient's norm falls to this share of its first value [default: {}, {}]",
        Newton::default().tolerance, Dual::default().tolerance))]
    tolerance: Option<f64>,
}

/// What is known about missing labels.
#[derive(clap::Args)]
#[command(next_help_heading = "Evidence about missing labels")]
pub(super) struct Evidence {
    /// A bias-controlled set with features: an uncorrected model and one by joint learning are combined on it if that is an
    /// improvement
    #[arg(long, value_name = "DATA")]
    pub(super) controlled: Option<PathBuf>,
    /// The rate at which the labels of --controlled were shown: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M", allow_negative_numbers = true)]
    pub(super) rate: Option<String>,
    /// The pairs of --controlled that were shown, relevant or not, if they are known
    #[arg(long, value_name = "DATA", requires = "controlled")]
    pub(super) shown: Option<PathBuf>,
    /// Judged pairs of rows that were not trained on ('unmissed annotate plan'), beside their plan, as a controlled set; may be
    /// repeated
    #[arg(long, value_name = "CSV", requires = "judged_rows", conflicts_with_all = ["controlled", "later"])]
    pub(super) judged: Vec<PathBuf>,
    /// The data with features whose rows were judged
    #[arg(long, value_name = "DATA", requires = "judged")]
    pub(super) judged_rows: Option<PathBuf>,
    /// A later snapshot of the training rows, in the same order: its labels replace the observed ones
    #[arg(long, value_name = "DATA")]
    pub(super) later: Option<PathBuf>,
    /// A csv with a column 'row': the rows that have later labels, if not all do
    #[arg(long, value_name = "CSV", requires = "later")]
    pub(super) later_rows: Option<PathBuf>,
    /// Do not raise propensities, even if labels are observed more often than they allow
    #[arg(long)]
    pub(super) keep_propensities: bool,
}

/// How settings are found.
#[derive(clap::Args)]
#[command(next_help_heading = "Tuning")]
pub(super) struct Tuning {
    /// Try several settings and use the best
    #[arg(long)]
    tune: bool,
    /// Settings to try: default, or paper (Adam)
    #[arg(long, value_name = "NAME", default_value_t = default().grid)]
    grid: String,
    /// Criterion for choosing settings: loss, or METRIC@K[:ESTIMATOR] as in precision@1:unbiased [default: loss]
    #[arg(long, value_name = "WHAT")]
    criterion: Option<String>,
    /// Share of the rows that is held out for choosing settings; 0 trains Adam for all epochs
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, default_value_t = default().holdout)]
    holdout: f64,
    /// Calibrate scores to log-odds on held-out rows [default: if train chooses the decay itself, as it does without options or
    /// with --propensity alone, and with --tree]
    #[arg(long)]
    calibrate: bool,
    /// Do not calibrate scores; without other options, train the logistic loss with its default decay
    #[arg(long, conflicts_with = "calibrate")]
    no_calibrate: bool,
    /// Choose settings on these rows instead of held-out ones
    #[arg(long, value_name = "DATA")]
    pub(super) validation: Option<PathBuf>,
    /// The rows of --validation are a controlled set, shown at this rate: 16/300, 0.05, or a csv 'label,rate'
    #[arg(long, value_name = "R/M", requires = "validation")]
    pub(super) validation_rate: Option<String>,
    /// The pairs of --validation that were shown, relevant or not, if they are known
    #[arg(long, value_name = "DATA", requires = "validation_rate")]
    pub(super) validation_shown: Option<PathBuf>,
}

impl Tuning {
    /// Whether scores are to be calibrated, when that was said.
    pub(super) fn calibrated(&self) -> Option<bool> {
        (self.calibrate || self.no_calibrate).then_some(self.calibrate)
    }
}

/// How rows are scaled.
#[derive(clap::Args)]
pub(super) struct Scaling {
    /// How rows are scaled: l2 (divided by their norm), none, or auto: none if at least half of all features are nonzero, else l2
    #[arg(long, value_name = "HOW", default_value_t = default().normalize)]
    pub(super) normalize: NormalizeChoice,
}

/// How propensities are learned.
#[derive(clap::Args)]
pub(super) struct Learning {
    /// Learn propensities from the observed labels, starting from --propensity (without it, from 1/2).
    /// plugin: together with the classifier, by their joint likelihood; alternating: in turns with the classifier, on two halves of
    /// the rows, for reproducing the paper only, since every propensity is a fixed point
    #[arg(long, value_name = "HOW")]
    pub(super) joint: Option<JointLearning>,
    /// --joint plugin: number of starts; the best is kept for each label
    #[arg(long, value_name = "N", default_value_t = default().starts)]
    pub(super) starts: usize,
}

/// The request that the options fill. Rates may lie in a file whose length depends on the data: they are added when these are known.
pub(super) fn request(args: &Args) -> Result<TrainRequest> {
    let Args { solving, tuning, evidence, .. } = args;
    match (&evidence.controlled, &evidence.rate) {
        (None, Some(_)) => {
            return Err(Error::value("--rate needs a controlled set")
                .expected("--controlled as well")
                .hint("the learning rate of Adam is set by --learning-rate"));
        }
        (Some(_), None) => {
            return Err(Error::value("a controlled set needs the rate at which its labels were shown").expected("--rate as well"));
        }
        _ => {}
    }
    Ok(TrainRequest {
        loss: args.loss.clone(),
        propensity: args.propensity.as_deref().map(str::parse).transpose()?,
        clip: args.clip,
        weights: args.weights.as_deref().map(str::parse).transpose()?,
        joint: args.learning.joint,
        starts: args.learning.starts,
        solver: solving.solver,
        decay: solving.decay.clone(),
        tolerance: solving.tolerance,
        learning_rate: solving.learning_rate.clone(),
        batch_size: solving.batch,
        epochs: solving.epochs,
        tune: tuning.tune,
        grid: tuning.grid.clone(),
        criterion: tuning.criterion.as_deref().map(str::parse).transpose()?,
        holdout: tuning.holdout,
        calibrate: tuning.calibrated(),
        validation: tuning.validation.as_ref().map(|file| Validation {
            file: Some(file.clone()),
            shown: tuning.validation_shown.clone(),
            ..Validation::default()
        }),
        controlled: controlled(evidence),
        later: later(evidence),
        raise: !evidence.keep_propensities,
        normalize: args.scaling.normalize,
        memory: args.memory.as_deref().map(byte_size).transpose()?,
        seed: args.seed.seed,
        ..default()
    })
}

/// The later labels that the options name.
pub(super) fn later(evidence: &Evidence) -> Option<TrainLater> {
    evidence.later.as_ref().map(|file| TrainLater { file: Some(file.clone()), rows: evidence.later_rows.clone() })
}

/// The controlled set that the options name; its rate is read with the data.
pub(super) fn controlled(evidence: &Evidence) -> Option<TrainControlled> {
    evidence.controlled.as_ref().or(evidence.judged_rows.as_ref()).map(|file| TrainControlled {
        file: Some(file.clone()),
        shown: evidence.shown.clone(),
        judged: evidence.judged.clone(),
        ..TrainControlled::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed;

    fn of(options: &str) -> TrainRequest {
        request(&parsed(&format!("DATA -o MODEL {options}"))).unwrap()
    }

    #[test]
    fn without_options_the_request_is_the_library_s_default() {
        assert_eq!(of(""), TrainRequest::default());
    }

    #[test]
    fn options_fill_the_request() {
        let filled = of(
            "--loss logistic --decay 1e-3,1e-2 --tune --solver adam --learning-rate 0.1 --joint alternating --seed 7 --no-calibrate",
        );
        let expected = TrainRequest {
            decay: vec![1e-3, 1e-2],
            tune: true,
            solver: SolverChoice::Adam,
            learning_rate: vec![0.1],
            joint: Some(JointLearning::Alternating { rounds: 6 }),
            seed: 7,
            calibrate: Some(false),
            ..TrainRequest::by_loss("logistic")
        };
        assert_eq!(filled, expected);
    }
}
