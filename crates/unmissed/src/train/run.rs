//! From a request to a model: joint learning, tuning, training, in memory or into a file that survives an interruption.

use super::checked::CheckedTraining;
use super::fit::{Finished, Fitted, WIDTH, blocks};
use super::joint;
use super::plan::{Plan, ScoresPlan};
use super::trainer::Trainer;
use super::tune::Search;
use crate::data::{Dataset, LabelStats, Output};
use crate::error::{Error, Result};
use crate::losses;
use crate::predict::file::{
    BlockNote, Calibration, Choice, InputDigests, Manifest, Setting, StackTable, TrainOutcome, Trial, Tuning, fingerprint,
};
use crate::predict::{About, BlockStore, Model};
use crate::propensity::{Learned, Origin, Propensities};
use crate::request::JointLearning;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where a model goes that is trained block by block.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The file.
    pub path: PathBuf,
    /// Whether to resume a run that was interrupted.
    pub resume: bool,
    /// Weights of at most this size are dropped.
    pub prune: Option<f32>,
    /// Whether weights are stored in half precision.
    pub half: bool,
}

/// What came out besides the model.
#[derive(Clone, Debug)]
pub struct Trained {
    /// How the model came to be, as its file says it.
    pub about: About,
    /// The settings that it was trained with, and what was found on the way: as in `about`.
    pub outcome: TrainOutcome,
    /// All settings that were tried, when some were.
    pub tuning: Option<Tuning>,
    /// Which losses and decays were tried, when the loss was left open.
    pub choice: Option<Choice>,
    /// Propensities that were learned.
    pub learned: Option<Propensities>,
    /// Propensities that were given, as they were used: those that were raised are marked.
    pub used: Option<Propensities>,
    /// What was compared on a controlled set.
    pub stack: Option<StackTable>,
    /// Labels on which Newton's method did not converge within its steps.
    pub unconverged: usize,
    /// The largest number of Newton steps of any label, or the epochs of Adam.
    pub iterations: usize,
    /// Where the propensities came from that were given and that the loss makes no use of.
    pub unused: Option<Origin>,
    /// Whether the loss corrects for missing labels and had no propensities to do so.
    pub uncorrected: bool,
    /// Blocks that an earlier run had finished.
    pub resumed: usize,
}

/// What a run does before the blocks, kept so that resuming does not repeat it.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Prepared {
    tuning: Option<Tuning>,
    propensities: Option<Vec<f64>>,
    /// What propensities are at least.
    #[serde(default)]
    least: Option<Vec<f64>>,
    #[serde(default)]
    choice: Option<Choice>,
    #[serde(default)]
    calibration: Option<Calibration>,
}

const PREPARED: &str = "prepared.json";

impl Trainer<'_> {
    /// Trains a model in memory.
    ///
    /// ```
    /// use unmissed::data::{Dataset, Dense, Features, Labels};
    /// use unmissed::{request::TrainRequest, train::Trainer};
    /// let features = Dense::new(4, 1, vec![-2.0, -1.0, 1.0, 2.0])?;
    /// let labels = Labels::from_ids(2, [vec![0], vec![0], vec![1], vec![1]])?;
    /// let data = Dataset::new(Some(Features::Dense(features)), labels)?;
    /// let (model, trained) = Trainer::new(TrainRequest::default()).train(&data)?;
    /// assert_eq!((model.labels(), trained.about.rows), (2, Some(4)));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn train(&self, data: &Dataset<'_>) -> Result<(Model, Trained)> {
        let plan = Plan::new(&self.request)?;
        if self.request.later.is_some() {
            return self.with_later(data, |trainer, data| trainer.train(data));
        }
        if self.request.controlled.is_some() {
            return self.train_stack(data);
        }
        let training = self.checked(&plan, data)?;
        let prepared = self.prepare(&plan, &training)?;
        let training = prepared.apply(&training)?;
        let Fitted { model, propensities, unconverged, iterations } = training.fit()?;
        let learned = match propensities {
            Some(learned) => Some(training.identified(learned)?),
            None => prepared.alternated()?,
        };
        let trained = self.trained(&training, prepared, learned)?;
        Ok((model, Trained { unconverged, iterations, ..trained }))
    }

    /// Trains a model into a file. Finished blocks are kept beside it until all are done, so a run that is interrupted, in
    /// whatever way, loses only the blocks in work. Only those are in memory.
    pub fn train_to(&self, data: &Dataset<'_>, to: &Destination) -> Result<Trained> {
        let plan = Plan::new(&self.request)?;
        if self.request.later.is_some() {
            return self.with_later(data, |trainer, data| trainer.train_to(data, to));
        }
        if self.request.controlled.is_some() {
            return self.train_stack_to(data, to);
        }
        let training = self.checked(&plan, data)?;
        let (store, prepared) = self.open(&plan, &training, to)?;
        let training = prepared.apply(&training)?;
        let missing = store.missing()?;
        let resumed = blocks(training.labels())?.len() - missing.len();
        training.fit_blocks(&missing, &|Finished { block, propensities, unconverged, iterations }| {
            store.put(&block, BlockNote { propensities, unconverged, iterations })
        })?;
        let notes = store.notes()?;
        let unconverged = notes.iter().map(|note| note.unconverged).sum();
        let iterations = notes.iter().map(|note| note.iterations).max().unwrap_or_default();
        let learned = match plan.joint {
            Some(JointLearning::Plugin) => {
                let learned = joint::learned(notes.into_iter().filter_map(|note| note.propensities).flatten().collect())?;
                Some(training.identified(learned)?)
            }
            _ => prepared.alternated()?,
        };
        let trained = self.trained(&training, prepared, learned)?;
        store.finish(&trained.about)?;
        Ok(Trained { unconverged, iterations, resumed, ..trained })
    }

    /// The store of a run, and what comes before its blocks.
    pub(super) fn open(&self, plan: &Plan, training: &CheckedTraining<'_>, to: &Destination) -> Result<(BlockStore, Prepared)> {
        let manifest = self.manifest(training, to)?;
        let store = match to.resume {
            true => BlockStore::resume(&to.path, manifest)?,
            false => BlockStore::create(&to.path, manifest)?,
        };
        let folder = BlockStore::folder(&to.path);
        let prepared = match Prepared::read(&folder.join(PREPARED)).filter(|_| to.resume) {
            Some(prepared) => prepared,
            None => match self.prepare(plan, training) {
                Ok(prepared) => prepared,
                Err(error) => {
                    drop(store);
                    // Nothing in it is worth keeping, and the error says what is wrong.
                    let _ = std::fs::remove_dir_all(folder);
                    return Err(error);
                }
            },
        };
        prepared.write(&folder.join(PREPARED))?;
        Ok((store, prepared))
    }

    /// Only the search for settings that the request asks for; `None` when it asks for none.
    pub fn tune(&self, data: &Dataset<'_>) -> Result<Option<Tuning>> {
        let plan = Plan::new(&self.request)?;
        Ok(self.prepare(&plan, &self.checked(&plan, data)?)?.tuning)
    }

    /// Alternating learning, what propensities are at least, and tuning with them.
    fn prepare(&self, plan: &Plan, training: &CheckedTraining<'_>) -> Result<Prepared> {
        let mut prepared = Prepared::default();
        if let Some(JointLearning::Alternating { rounds }) = plan.joint {
            prepared.propensities = Some(training.alternating(rounds)?.values().to_vec());
        }
        if self.request.raise && plan.joint.is_none() {
            prepared.least = training.least_propensities()?;
        }
        if let Some(search) = &plan.search {
            prepared.tuning = Some(Search::new(search, self)?.run(&prepared.apply(training)?)?);
        }
        match plan.scores {
            ScoresPlan::AsTheyAre => {}
            ScoresPlan::Calibrated(holdout) => prepared.take(Some(training.calibrate_on(holdout)?)),
            ScoresPlan::Chosen(holdout) => prepared.take(training.choose(holdout)?),
            ScoresPlan::Corrected(holdout, open) => {
                let chosen = prepared.apply(training)?.choose_corrected(holdout, open)?;
                prepared.take(chosen);
            }
        }
        Ok(prepared)
    }

    /// Everything that the weights depend on.
    fn manifest(&self, training: &CheckedTraining<'_>, to: &Destination) -> Result<Manifest> {
        let mark = |data: &Dataset<'_>| data.features().map(|features| fingerprint(features, data.labels()));
        let inputs = InputDigests {
            propensities: training.propensities.as_ref().map(|p| digest(p.values())),
            weights: training.weights.as_deref().map(digest),
            validation: self.validation.and_then(mark),
        };
        Ok(Manifest {
            rows: training.data.rows() as u64,
            features: training.features.cols(),
            labels: training.labels(),
            data: fingerprint(training.features, training.data.labels()),
            normalize: training.normalize,
            width: WIDTH,
            prune: to.prune,
            half: to.half,
            request: self.asked.as_deref().unwrap_or(&self.request).recorded(),
            solver: training.solver,
            decay: training.decay,
            inputs,
        })
    }

    fn trained(&self, training: &CheckedTraining<'_>, prepared: Prepared, learned: Option<Propensities>) -> Result<Trained> {
        let Prepared { tuning, choice, calibration, .. } = prepared;
        let given = training.propensities.as_ref().map(|p| p.origin().clone());
        let (used, unused) = if training.corrects() { (given, None) } else { (None, given) };
        // How long trials took is no part of the model: the same run makes the same bytes.
        let untimed = |tuning: &Tuning| tuning.trials.iter().map(|trial| Trial { seconds: None, ..trial.clone() }).collect();
        let outcome = TrainOutcome {
            solver: training.solver,
            decay: training.decay,
            clip: training.clip,
            weighted: training.weights.is_some(),
            criterion: tuning.as_ref().map(|tuning| tuning.criterion.clone()),
            decided_on_rows: tuning.as_ref().map(|tuning| tuning.rows),
            tuning: tuning.as_ref().map(untimed),
            choice: choice.clone().map(untimed_choice),
            calibration,
            effective_sample_size: training.effective_sample_size()?,
            raised_propensities: training.raised()?,
            shrunken_propensities: training.shrunken && training.corrects(),
            stack: None,
            later: self.later_outcome,
        };
        let mut about = About::new(training.loss.name(), training.seed);
        about.propensity = learned.as_ref().map(|p| p.origin().clone()).or(used);
        about.rows = Some(training.data.rows() as u64);
        about.label_counts = Some(LabelStats::of(training.data.labels()).dense_counts()?);
        about.request = Some(self.asked.as_deref().unwrap_or(&self.request).recorded());
        about.outcome = Some(outcome.clone());
        let uncorrected = training.corrects() && about.propensity.is_none();
        let used = training.used()?;
        Ok(Trained {
            about,
            outcome,
            tuning,
            choice,
            learned,
            used,
            stack: None,
            unconverged: 0,
            iterations: 0,
            unused,
            uncorrected,
            resumed: 0,
        })
    }
}

impl Prepared {
    /// Takes what was chosen, if anything was.
    fn take(&mut self, chosen: Option<(Choice, Calibration)>) {
        (self.choice, self.calibration) = chosen.unzip();
    }

    fn read(path: &Path) -> Option<Prepared> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// What [`Prepared::text`] gave.
    pub(super) fn parse(text: &str) -> Result<Prepared> {
        serde_json::from_str(text).map_err(|cause| Error::format(format!("cannot read what the run prepared ({cause})")))
    }

    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|cause| Error::value(format!("cannot store the settings ({cause})")))
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut output = Output::create(path)?;
        output.put(self.text()?.as_bytes())?;
        output.finish()
    }

    fn alternated(&self) -> Result<Option<Propensities>> {
        self.propensities.as_ref().map(|values| Propensities::new(Learned::Alternating, values.clone())).transpose()
    }

    /// The training with what was learned and found.
    pub(super) fn apply<'t>(&self, training: &CheckedTraining<'t>) -> Result<CheckedTraining<'t>> {
        let training = match self.alternated()? {
            Some(propensities) => training.with_propensities(propensities)?,
            None => training.clone(),
        };
        let training = self.least.as_ref().map_or(training.clone(), |least| training.with_least(least));
        let training = match self.tuning.as_ref().and_then(Tuning::best) {
            Some(best) => training.with_setting(&best.setting, best.epoch)?,
            None => training,
        };
        let training = match self.choice.as_ref().and_then(Choice::best) {
            Some(best) if best.loss != training.loss.name() => training.with_loss(losses::find(&best.loss)?, best.decay),
            Some(best) => training.with_setting(&Setting { learning_rate: None, decay: best.decay }, None)?,
            None => training,
        };
        Ok(match &self.calibration {
            Some(calibration) => training.with_calibration(calibration),
            None => training,
        })
    }
}

/// How long candidates took is no part of the model: the same run makes the same bytes.
fn untimed_choice(mut choice: Choice) -> Choice {
    choice.candidates.iter_mut().for_each(|candidate| candidate.seconds = None);
    choice
}

/// What tells one list of numbers from another.
fn digest(numbers: &[f64]) -> String {
    let mut hasher = blake3::Hasher::new();
    numbers.iter().for_each(|number| {
        hasher.update(&number.to_le_bytes());
    });
    hasher.finalize().to_hex()[..16].to_owned()
}
