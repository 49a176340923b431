//! From a request to a model: joint learning, tuning, training, in memory or into a file that survives an interruption.

use super::alternating::alternating;
use super::fit::{Finished, Fitted, WIDTH, blocks, features};
use super::joint;
use super::trainer::{Settled, Solver, Trainer};
use super::tune::{Search, Tuning};
use crate::data::{Dataset, LabelStats, Output};
use crate::error::{Error, Result};
use crate::predict::file::{Manifest, fingerprint};
use crate::predict::{About, BlockStore, Model};
use crate::propensity::checks::EffectiveSampleSize;
use crate::propensity::{Learned, Propensities};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How propensities are learned, when they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// Not at all.
    No,
    /// With the classifier, by the likelihood of both ([`Solver::Joint`]).
    Plugin,
    /// In turns with the classifier, in so many rounds.
    Alternating {
        /// The number of rounds.
        rounds: usize,
    },
}

/// What to train. See the module's page.
#[derive(Clone)]
pub struct Recipe<'a> {
    trainer: Trainer<'a>,
    search: Option<Search<'a>>,
    joint: Joint,
}

/// Where a model goes that is trained block by block.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The file.
    pub path: PathBuf,
    /// Goes on with a run that was interrupted.
    pub resume: bool,
    /// Weights of at most this size are dropped.
    pub prune: Option<f32>,
}

/// What came out besides the model.
#[derive(Clone, Debug)]
pub struct Trained {
    /// How the model came to be, as its file says it.
    pub about: About,
    /// All settings that were tried, when some were.
    pub tuning: Option<Tuning>,
    /// Propensities that were learned.
    pub learned: Option<Propensities>,
    /// How many positives the training rests on, when they have different weights.
    pub effective: Option<EffectiveSampleSize>,
    /// Labels that occur more often than their propensity allows, so that training raised it to their frequency.
    pub raised: usize,
    /// Labels at which Newton's method ran out of steps before the gradient was small.
    pub unfinished: usize,
    /// Propensities that were given and that the loss makes no use of.
    pub unused: Option<String>,
    /// Blocks that an earlier run had finished.
    pub resumed: usize,
}

/// What a run does before the blocks, kept so that resuming does not repeat it.
#[derive(Default, Serialize, Deserialize)]
struct Prepared {
    tuning: Option<Tuning>,
    propensities: Option<Vec<f64>>,
}

const PREPARED: &str = "prepared.json";

impl<'a> Recipe<'a> {
    /// Plain training.
    pub fn new(trainer: Trainer<'a>) -> Recipe<'a> {
        Recipe { trainer, search: None, joint: Joint::No }
    }

    /// Searches for settings first.
    #[must_use]
    pub fn search(mut self, search: Option<Search<'a>>) -> Self {
        self.search = search;
        self
    }

    /// Learns propensities.
    pub fn joint(mut self, joint: Joint) -> Result<Self> {
        if joint == Joint::Plugin {
            let adam = self.trainer.solver.adam().ok_or_else(|| {
                Error::value("propensities are learned along by Adam only").found("Newton's method").hint("leave the solver out")
            })?;
            self.trainer = self.trainer.solver(Solver::Joint(adam))?;
        }
        self.joint = joint;
        Ok(self)
    }

    /// Trains a model in memory.
    ///
    /// ```
    /// use unmissed::data::{Dataset, Dense, Features, Labels};
    /// use unmissed::train::{Recipe, Trainer};
    /// let features = Dense::new(4, 1, vec![-2.0, -1.0, 1.0, 2.0])?;
    /// let labels = Labels::from_ids(2, [vec![0], vec![0], vec![1], vec![1]])?;
    /// let data = Dataset::new(Some(Features::Dense(features)), labels)?;
    /// let (model, trained) = Recipe::new(Trainer::new("logistic")?).train(&data)?;
    /// assert_eq!((model.labels(), trained.about.rows), (2, Some(4)));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn train(&self, data: &Dataset<'_>) -> Result<(Model, Trained)> {
        let prepared = self.prepare(data)?;
        let alternated = prepared.alternated()?;
        let trainer = prepared.trainer(&self.trainer, alternated.as_ref())?.settled(data)?.trainer;
        let Fitted { model, propensities, unfinished } = trainer.fit_whole(data)?;
        let trained = self.trained(data, &trainer, prepared.tuning, propensities.or(alternated.clone()))?;
        Ok((model, Trained { unfinished, ..trained }))
    }

    /// Trains a model into a file. Finished blocks are kept beside it until all are there, so a run that is interrupted, in
    /// whatever way, loses only the blocks in work. Only those are in memory.
    pub fn train_to(&self, data: &Dataset<'_>, to: &Destination) -> Result<Trained> {
        let features = features(data)?;
        let labels = data.labels().cols();
        self.trainer.check(labels, data.rows())?;
        let Settled { trainer, normalize, .. } = self.trainer.settled(data)?;
        let manifest = Manifest {
            rows: data.rows() as u64,
            features: features.cols(),
            labels,
            data: fingerprint(features, data.labels()),
            normalize,
            width: WIDTH,
            prune: to.prune,
            settings: self.request(&trainer),
        };
        let store = match to.resume {
            true => BlockStore::resume(&to.path, manifest)?,
            false => BlockStore::create(&to.path, manifest)?,
        };
        let folder = BlockStore::folder(&to.path);
        let prepared = match Prepared::read(&folder.join(PREPARED)).filter(|_| to.resume) {
            Some(prepared) => prepared,
            None => match self.prepare(data) {
                Ok(prepared) => prepared,
                Err(error) => {
                    drop(store);
                    // Nothing in it is worth keeping; what is wrong is said by the error.
                    let _ = std::fs::remove_dir_all(folder);
                    return Err(error);
                }
            },
        };
        prepared.write(&folder.join(PREPARED))?;
        let alternated = prepared.alternated()?;
        let trainer = prepared.trainer(&trainer, alternated.as_ref())?;
        let missing = store.missing()?;
        let resumed = blocks(labels).len() - missing.len();
        trainer.fit_blocks(data, &missing, &|Finished { block, propensities, unfinished }| {
            store.put(&block, json!({ "propensities": propensities, "unfinished": unfinished }))
        })?;
        let notes = store.notes()?;
        let learned = match self.joint {
            Joint::Plugin => Some(of_notes(&notes)?),
            _ => alternated.clone(),
        };
        let trained = self.trained(data, &trainer, prepared.tuning, learned)?;
        store.finish(&trained.about)?;
        let unfinished = notes.iter().filter_map(|note| note["unfinished"].as_u64()).sum::<u64>() as usize;
        Ok(Trained { unfinished, resumed, ..trained })
    }

    /// Joint learning in turns, and tuning with what it learned.
    fn prepare(&self, data: &Dataset<'_>) -> Result<Prepared> {
        self.trainer.check(data.labels().cols(), data.rows())?;
        features(data)?;
        let mut prepared = Prepared::default();
        if let Joint::Alternating { rounds } = self.joint {
            prepared.propensities = Some(alternating(&self.trainer, data, rounds)?.values().to_vec());
        }
        if let Some(search) = &self.search {
            let alternated = prepared.alternated()?;
            let trainer = prepared.trainer(&self.trainer, alternated.as_ref())?;
            prepared.tuning = Some(search.run(&trainer, data)?);
        }
        Ok(prepared)
    }

    /// All that the weights depend on, besides the data.
    fn request(&self, trainer: &Trainer<'_>) -> Value {
        let search = self.search.as_ref().map(|search| search.request());
        json!({
            "training": described(trainer), "search": search, "joint": format!("{:?}", self.joint),
            "propensities": self.trainer.propensities.map(|p| digest(p.values())), "weights": self.trainer.weights.map(digest),
        })
    }

    fn trained(
        &self,
        data: &Dataset<'_>,
        trainer: &Trainer<'_>,
        tuning: Option<Tuning>,
        learned: Option<Propensities>,
    ) -> Result<Trained> {
        let effective = trainer.effective_sample_size(data.labels())?;
        let mut about = About::new(trainer.loss.name(), trainer.seed);
        let (used, unused) = trainer.propensities.map(|p| p.origin().to_string()).map_or((None, None), |origin| {
            if trainer.loss.nature().corrects { (Some(origin), None) } else { (None, Some(origin)) }
        });
        about.propensity = learned.as_ref().map(|p| p.origin().to_string()).or(used);
        about.rows = Some(data.rows() as u64);
        about.label_counts = Some(LabelStats::of(data.labels()).dense_counts()?);
        about.settings = described(trainer);
        if let Some(tuning) = &tuning {
            about.settings["criterion"] = json!(tuning.criterion);
            about.settings["decided_on_rows"] = json!(tuning.rows);
            about.settings["tuning"] = json!(tuning.trials);
            // How long it took is no part of the model: the same run makes the same bytes.
            for trial in about.settings["tuning"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                trial.remove("seconds");
            }
        }
        about.settings["effective_sample_size"] = json!(effective);
        let raised = trainer.raised(data.labels())?;
        about.settings["raised_propensities"] = json!(raised);
        Ok(Trained { about, tuning, learned, effective, raised, unfinished: 0, unused, resumed: 0 })
    }
}

impl Prepared {
    fn read(path: &Path) -> Option<Prepared> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    fn write(&self, path: &Path) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(self).map_err(|cause| Error::value(format!("cannot keep the settings ({cause})")))?;
        let mut output = Output::create(path)?;
        output.put(&bytes)?;
        output.finish()
    }

    fn alternated(&self) -> Result<Option<Propensities>> {
        self.propensities.as_ref().map(|values| Propensities::new(Learned::Alternating, values.clone())).transpose()
    }

    fn trainer<'t>(&self, trainer: &Trainer<'t>, alternated: Option<&'t Propensities>) -> Result<Trainer<'t>> {
        let trainer = if alternated.is_some() { trainer.propensities(alternated) } else { *trainer };
        match &self.tuning {
            Some(tuning) => tuning.apply(&trainer),
            None => Ok(trainer),
        }
    }
}

fn of_notes(notes: &[Value]) -> Result<Propensities> {
    let numbers = notes.iter().flat_map(|note| note["propensities"].as_array().into_iter().flatten().filter_map(Value::as_f64));
    joint::learned(numbers.collect())
}

/// The settings of a trainer.
fn described(trainer: &Trainer<'_>) -> Value {
    let mut settings = json!({
        "loss": trainer.loss.name(), "solver": trainer.solver.name(), "decay": trainer.decay, "clip": trainer.clip,
        "seed": trainer.seed, "weighted": trainer.weights.is_some(),
    });
    match trainer.solver {
        Solver::Adam(adam) | Solver::Joint(adam) => {
            settings["rate"] = json!(adam.rate);
            settings["batch"] = json!(adam.batch);
            settings["epochs"] = json!(adam.epochs);
        }
        Solver::Newton(newton) => {
            settings["tolerance"] = json!(newton.tolerance);
            settings["steps"] = json!(newton.steps);
        }
    }
    settings
}

/// What tells one list of numbers from another.
fn digest(numbers: &[f64]) -> String {
    let mut hasher = blake3::Hasher::new();
    numbers.iter().for_each(|number| {
        hasher.update(&number.to_le_bytes());
    });
    hasher.finalize().to_hex()[..16].to_owned()
}
