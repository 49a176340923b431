//! `unmissed train`: a linear scorer for each label, by losses that know that labels are missing.

mod present;
mod request;

use super::evaluate::inputs;
use crate::app::{App, Outcome};
use crate::args::{Reading, Seed};
use std::path::PathBuf;
use std::time::Instant;
use unmissed::Error;
use unmissed::data::{Dataset, LabelStats};
use unmissed::propensity::{models, table_file};
use unmissed::train::{Criterion, Destination, Recipe};

/// Train a model: a linear scorer for each label, corrected for labels that are missing
#[derive(clap::Args)]
#[command(after_help = "Convex losses are trained to their optimum by Newton's method, at a fixed decay; others by Adam, which \
stops at the epoch that does best on held-out rows and then trains on all rows that long. --tune tries several settings \
on held-out rows, or on a controlled set (--validation). 'unmissed list losses' and 'unmissed list grids' explain the names; \
'unmissed inspect MODEL' prints what was tried.

Finished blocks of labels are kept in MODEL.partial until all are there: a run that was interrupted goes on with --resume.

Examples:
  unmissed train train.txt -o plain.safetensors
  unmissed train train.txt -o c.safetensors --loss unbiased-logistic --propensity jpv --tune
  unmissed train train.txt -o k.safetensors --loss unbiased-logistic --propensity table:known.csv
  unmissed train train.txt -o adam.safetensors --solver adam --rate 0.02 --epochs 5 --holdout 0
  unmissed train train.txt -o v.model --tune --validation controlled.txt --validation-rate 4/12
  unmissed train train.txt -o j.safetensors --joint plugin --epochs 4 --propensities-out p.csv")]
pub(crate) struct Args {
    /// Data to train on
    data: PathBuf,
    /// The model to write
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,
    /// What is made small, as 'unmissed list losses' names it [default: logistic; by --joint what it needs]
    #[arg(long, value_name = "LOSS")]
    loss: Option<String>,
    /// Propensities of labels (jpv, power, table:FILE, ...), as a function of the label counts of DATA
    #[arg(long, value_name = "SPEC")]
    propensity: Option<String>,
    /// Inverse propensities above this count as this much: less variance, some bias
    #[arg(long, value_name = "MOST", allow_negative_numbers = true)]
    clip: Option<f64>,
    /// A factor of the loss for each label: uniform, inverse, inverse-complete (needs propensities), log,
    /// effective, effective:beta=0.999, or a csv 'label,weight'
    #[arg(long, value_name = "HOW")]
    weights: Option<String>,
    /// Learn propensities from the observed labels; --propensity is where they start (at 1/2 without)
    #[arg(long, value_name = "HOW")]
    joint: Option<request::How>,
    /// Write learned propensities into this csv
    #[arg(long, value_name = "CSV", requires = "joint")]
    propensities_out: Option<PathBuf>,
    #[command(flatten)]
    solving: request::Solving,
    #[command(flatten)]
    tuning: request::Tuning,
    /// How rows are scaled [default: l2, and none where at least half of all features are there]
    #[arg(long, value_name = "HOW")]
    normalize: Option<request::Scaling>,
    /// Most memory that blocks in work may take on top of the data: 500MB, 4GB [default: a block for each thread]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Drop weights of at most this size
    #[arg(long, value_name = "EPS", allow_negative_numbers = true)]
    prune: Option<f32>,
    /// Go on with a run that was interrupted
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    seed: Seed,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let start = Instant::now();
    let memory = args.memory.as_deref().map(request::size).transpose()?;
    let model = args.propensity.as_deref().map(models::parse).transpose()?;
    let criterion = args.tuning.criterion.as_deref().map(str::parse::<Criterion>).transpose()?;
    // Asked before data are read: names that do not exist, settings that make no sense.
    let trainer = request::trainer(args)?;

    let data = args.reading.dataset(&args.data, app)?;
    let stats = LabelStats::of(data.labels());
    let located = |error: Error| error.in_file(&args.data);
    if data.features().is_none() {
        return Err(located(Error::value("the data have no features to train on")).into());
    }
    let propensities = model.map(|model| model.propensities(&stats)).transpose()?;
    let pointless = propensities.is_none() && args.joint.is_none() && trainer.loss().nature().corrects;
    let labels = data.labels().cols();
    let weights =
        args.weights.as_deref().map(|how| inputs::weights(how, Some(&stats), propensities.as_ref(), labels)).transpose()?;
    let validation = args.tuning.validation.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let rate = args.tuning.validation_rate.as_deref().map(|text| inputs::rate(text, labels)).transpose()?;
    let trainer = trainer.propensities(propensities.as_ref()).weights(weights.as_deref())?.memory(memory).progress(app.progress());
    let search = request::search(args, &trainer, criterion, validation.as_ref(), rate)?;
    let recipe = Recipe::new(trainer).search(search).joint(request::joint(args))?;
    let destination = Destination { path: args.output.clone(), resume: args.resume, prune: args.prune };
    let trained = recipe.train_to(&data, &destination)?;
    if let (Some(path), Some(learned)) = (&args.propensities_out, &trained.learned) {
        table_file::write(learned, path)?;
        app.note(&format!("wrote {}", path.display()));
    }
    app.note(&format!("wrote {}", args.output.display()));
    let mut document = present::document(&trained, shape(&data), start.elapsed())?;
    if pointless {
        document = document.note("No --propensity was given: nothing was taken to be missing.");
    }
    app.emit(&document)
}

fn shape(data: &Dataset<'_>) -> present::Shape {
    let features = data.features().map_or(0, unmissed::data::Features::cols);
    present::Shape { rows: data.rows(), features, labels: data.labels().cols() }
}
