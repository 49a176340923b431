//! `unmissed train`: linear scorers or trees over labels, corrected for missing labels on request.

mod present;
mod request;
mod tree;

pub(super) use tree::summary_rows;

use crate::app::{App, Outcome};
use crate::args::{Reading, Seed, check_outputs};
use crate::cmd::evaluate::inputs::warn_of_weights;
use std::path::{Path, PathBuf};
use std::time::Instant;
use unmissed::Error;
use unmissed::data::{Dataset, KnownPair, Labels, Rate, read_row_set};
use unmissed::evaluate::judged::Judged;
use unmissed::propensity::table_file;
use unmissed::request::{LossChoice, TrainRequest, TreeRequest};
use unmissed::train::{Destination, Trainer};

/// Train a model: linear scorers or trees, corrected for missing labels on request
#[derive(clap::Args)]
#[command(
    after_help = "Without --propensity, --joint and evidence, labels are assumed to be complete: the loss (squared-hinge or \
logistic) and the decay are chosen on a held-out tenth of the rows, and scores are calibrated there to log-odds. With \
--propensity, the likelihood of the observed labels is maximised (plugin-logistic), or a squared hinge is trained and its scores \
are divided by the propensities, whichever does better there; propensities that the labels contradict are raised. With --controlled C --rate r/m, two models are combined on the controlled rows if that is an improvement. With --later L, \
the model is trained on the later labels.

Losses that have an optimum are minimised by Newton's method, squared hinges in the dual; others by Adam, which finds the best \
epoch on held-out rows and then trains on all rows for that many epochs. --tune tries several settings \
on held-out rows, or on a controlled set (--validation). 'unmissed list losses' and 'unmissed list grids' explain the names; \
'unmissed inspect MODEL' shows the settings that were tried.

For very many labels, --tree trains classifiers on the nodes of a tree over them: minutes for hundreds of thousands of labels.

Finished blocks of labels, or parts of trees, are kept in MODEL.partial until all are there: --resume continues a run that was interrupted.

Examples:
  unmissed train train.txt -o plain.safetensors
  unmissed train train.txt -o c.safetensors --propensity jpv --tune
  unmissed train train.txt -o k.safetensors --loss bounded-logistic --propensity table:known.csv
  unmissed train train.txt -o adam.safetensors --solver adam --learning-rate 0.02 --epochs 5 --holdout 0
  unmissed train train.txt -o v.model --tune --validation controlled.txt --validation-rate 4/12
  unmissed train train.txt -o s.model --controlled controlled.txt --rate 4/12
  unmissed train train.txt -o j.model --judged answers/judged.csv --judged-rows test.txt
  unmissed train train.txt -o l.model --later train_late.txt
  unmissed train train.txt -o t.safetensors --tree --trees 3
  unmissed train train.txt -o h.safetensors --tree kmeans:leaf=50 --propensity jpv
  unmissed train train.txt -o j.safetensors --joint plugin --epochs 4 --propensities-out p.csv"
)]
pub(crate) struct Args {
    /// Data to train on
    data: PathBuf,
    /// The model to write
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,
    /// The loss to minimise ('unmissed list losses'); auto: squared-hinge or logistic (plugin-logistic with --propensity), whichever
    /// does better on held-out rows; with --joint the loss of that method
    #[arg(long, value_name = "LOSS", default_value_t = TrainRequest::default().loss)]
    loss: LossChoice,
    /// Propensities of labels (jpv, power, table:FILE, ...), as a function of the label counts of DATA
    #[arg(long, value_name = "SPEC")]
    propensity: Option<String>,
    /// Clip inverse propensities at this value: less variance, some bias
    #[arg(long, value_name = "MOST", allow_negative_numbers = true)]
    clip: Option<f64>,
    /// A factor of the loss for each label: uniform, inverse, inverse-complete (needs propensities), log,
    /// effective, effective:beta=0.999, or a csv 'label,weight'
    #[arg(long, value_name = "HOW")]
    weights: Option<String>,
    #[command(flatten)]
    learning: request::Learning,
    /// Write the learned or used propensities into this csv (raised ones are marked)
    #[arg(long, value_name = "CSV")]
    propensities_out: Option<PathBuf>,
    #[command(flatten)]
    scaling: request::Scaling,
    /// Most memory that blocks of labels (with --tree, nodes) in work may take on top of the data: 500MB, 4GB [default: one for each
    /// thread]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    #[arg(long, value_name = "EPS", allow_negative_numbers = true, help = format!(
        "Drop weights of at most this size [default: none; with --tree {}, from {} labels on {}]",
        TreeRequest::usual_prune(0), TreeRequest::MANY_LABELS, TreeRequest::usual_prune(TreeRequest::MANY_LABELS)))]
    prune: Option<f32>,
    /// Store weights in half precision: files become smaller, scores barely change; models on trees always do
    #[arg(long)]
    half: bool,
    /// Resume a run that was interrupted
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    trees: tree::Trees,
    #[command(flatten)]
    evidence: request::Evidence,
    #[command(flatten)]
    solving: request::Solving,
    #[command(flatten)]
    tuning: request::Tuning,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    if let Some(spec) = &args.trees.tree {
        return tree::run(args, spec, app);
    }
    let start = Instant::now();
    let mut request = request::request(args)?;
    // Names that do not exist and options that do not go together are reported before data are read.
    request.check()?;
    warn_of_weights(request.weights.as_ref(), request.propensity.is_some(), app);
    check_outputs(std::iter::once(&args.output).chain(&args.propensities_out), &inputs(args))?;

    let data = args.reading.dataset(&args.data, app)?;
    if data.features().is_none() {
        return Err(Error::value("the data have no features to train on").in_file(&args.data).into());
    }
    let validation = args.tuning.validation.as_ref().map(|path| args.reading.dataset(path, app)).transpose()?;
    let labels = data.labels().cols() as u64;
    if let (Some(text), Some(validation)) = (&args.tuning.validation_rate, &mut request.validation) {
        validation.rate = Some(Rate::read(text, labels)?);
    }
    if let (Some(text), Some(controlled)) = (&args.evidence.rate, &mut request.controlled) {
        controlled.rate = Some(Rate::read(text, labels)?);
    }
    let read = |path: &Option<PathBuf>| path.as_ref().map(|path| args.reading.dataset(path, app)).transpose();
    let evidence = ControlledData::read(args, app)?;
    let (later, validation_shown) = (read(&args.evidence.later)?, read(&args.tuning.validation_shown)?);
    let later_rows = args.evidence.later_rows.as_ref().map(|path| read_row_set(path, data.rows())).transpose()?;
    let mut trainer = Trainer::new(request).progress(app.progress());
    trainer = validation.iter().fold(trainer, Trainer::validation);
    trainer = validation_shown.iter().fold(trainer, |trainer, shown| trainer.validation_shown(shown.labels()));
    trainer = evidence.controlled.iter().fold(trainer, |trainer, set| trainer.controlled(set, evidence.shown()));
    trainer = evidence.judged_rows.iter().fold(trainer, |trainer, rows| trainer.judged(rows, &evidence.known));
    trainer = later.iter().fold(trainer, |trainer, later| trainer.later(later.labels(), later_rows.as_deref()));
    let destination = Destination { path: args.output.clone(), resume: args.resume, prune: args.prune, half: args.half };
    let trained = trainer.train_to(&data, &destination)?;
    if let Some(path) = &args.propensities_out {
        let found = trained.learned.as_ref().or(trained.used.as_ref());
        let found = found.ok_or_else(|| Error::value("training used no propensities, so there are none to write").in_file(path))?;
        table_file::write(found, path)?;
        app.note(&format!("wrote {}", path.display()));
    }
    app.note(&format!("wrote {}", args.output.display()));
    app.emit(&present::document(&trained, shape(&data), start.elapsed())?)
}

/// All files that training may read. Numbers and names among the options are not files, so that no output can be one of them.
fn inputs(args: &Args) -> Vec<&Path> {
    let (evidence, tuning) = (&args.evidence, &args.tuning);
    let data = [&evidence.controlled, &evidence.shown, &evidence.judged_rows, &evidence.later, &evidence.later_rows];
    let held_out = [&tuning.validation, &tuning.validation_shown];
    let tables = [&evidence.rate, &tuning.validation_rate, &args.weights].into_iter().flatten().map(String::as_str);
    let specs = [&args.propensity, &args.trees.tree].into_iter().flatten().filter_map(|spec| spec.split_once(':'));
    let paths = std::iter::once(&args.data).chain(data.into_iter().chain(held_out).flatten()).chain(&evidence.judged);
    paths.map(PathBuf::as_path).chain(tables.chain(specs.map(|(_, file)| file)).map(Path::new)).collect()
}

/// A controlled set, or judged rows with their pairs.
struct ControlledData {
    controlled: Option<Dataset<'static>>,
    shown: Option<Dataset<'static>>,
    judged_rows: Option<Dataset<'static>>,
    known: Vec<KnownPair>,
}

impl ControlledData {
    fn read(args: &Args, app: &App) -> Outcome<ControlledData> {
        let read = |path: &Option<PathBuf>| path.as_ref().map(|path| args.reading.dataset(path, app)).transpose();
        let (controlled, shown) = (read(&args.evidence.controlled)?, read(&args.evidence.shown)?);
        let judged_rows = read(&args.evidence.judged_rows)?;
        let known = match &judged_rows {
            Some(rows) => {
                let shape = (rows.labels().rows(), rows.labels().cols());
                Judged::read(&args.evidence.judged, None, None, shape)?.known_pairs()?
            }
            None => Vec::new(),
        };
        Ok(ControlledData { controlled, shown, judged_rows, known })
    }

    fn shown(&self) -> Option<&Labels<'static>> {
        self.shown.as_ref().map(Dataset::labels)
    }
}

fn shape(data: &Dataset<'_>) -> present::Shape {
    let features = data.features().map_or(0, unmissed::data::Features::cols);
    present::Shape { rows: data.rows(), features, labels: data.labels().cols() }
}
