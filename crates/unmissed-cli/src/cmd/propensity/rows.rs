//! `unmissed propensity fit rows`: propensities that depend on the row.

use super::fit::Args;
use crate::app::{App, Outcome};
use crate::cmd::evaluate::inputs::Model;
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::{Dataset, KnownPair};
use unmissed::evaluate::judged::Judged;
use unmissed::propensity::rows::{
    Covariate, CovariateLevel, DEFAULT_REFITS, GivenCovariate, RowEvidence, RowFit, RowModel, read_columns,
};
use unmissed::report::{Column, Document, Table};

/// The name of the model on the command line.
pub(super) const NAME: &str = "rows";

/// What only row-dependent propensities need.
#[derive(clap::Args)]
#[command(next_help_heading = "Row-dependent propensities (MODEL 'rows')")]
pub(super) struct RowArgs {
    /// A later snapshot of the training rows, to see which of its labels were observed before
    #[arg(long, value_name = "DATA", conflicts_with_all = ["controlled", "propensities"])]
    pub(super) later: Option<PathBuf>,
    /// Judged pairs, to see which relevant ones were observed; --train is then the data that was judged, --train-predictions are
    /// for its rows
    #[arg(long, value_name = "CSV", conflicts_with_all = ["later", "controlled", "propensities"])]
    pub(super) judged: Vec<PathBuf>,
    /// The audited model's out-of-fold predictions for the training rows; without them ranks and scores are left out
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(super) train_predictions: Option<Model>,
    /// What propensities depend on: log-count, other-labels, rank, score-difference [default: all that the data allow]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) covariates: Vec<String>,
    /// Covariates of labels: a csv 'label,NAME,...'
    #[arg(long, value_name = "CSV")]
    pub(super) label_covariates: Option<PathBuf>,
    /// Covariates of the training rows: a csv 'row,NAME,...'; an evaluation needs them for its own rows
    #[arg(long, value_name = "CSV")]
    pub(super) row_covariates: Option<PathBuf>,
    /// A covariate of pairs: a matrix of scores for the training rows; an evaluation needs it for its own rows; may be repeated
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(super) pair_covariate: Vec<Model>,
    /// Number of bootstrap refits over rows for the intervals
    #[arg(long, default_value_t = DEFAULT_REFITS, value_name = "B")]
    pub(super) refits: usize,
}

impl RowArgs {
    /// Options that would be ignored by the fit of a curve.
    pub(super) fn check_unused(&self) -> unmissed::Result<()> {
        let files = [&self.later, &self.label_covariates, &self.row_covariates];
        if files.iter().all(|file| file.is_none())
            && self.judged.is_empty()
            && self.train_predictions.is_none()
            && self.covariates.is_empty()
            && self.pair_covariate.is_empty()
        {
            return Ok(());
        }
        Err(unmissed::Error::value(
            "--later, --judged, --train-predictions and covariates are for row-dependent propensities",
        )
        .hint(
            "'unmissed propensity fit rows' uses them; for one propensity per label see 'unmissed propensity estimate timelapse'",
        ))
    }
}

pub(super) fn run(args: &Args, app: &App) -> Outcome<()> {
    if let Some(path) = args.output.output.as_ref().filter(|path| path.extension().is_some_and(|ending| ending != "json")) {
        return Err(unmissed::Error::value("row-dependent propensities are written as a json file")
            .expected("a name that ends in .json")
            .found(path.display().to_string())
            .into());
    }
    let names: Vec<&str> = args.rows.covariates.iter().map(String::as_str).collect();
    let covariates = names.iter().map(|name| Covariate::of_name(name)).collect::<unmissed::Result<Vec<_>>>()?;
    let train = args.reading.dataset(&args.train, app)?;
    let evidence = evidence(args, &train, app)?;
    let predictions = args.rows.train_predictions.as_ref();
    let scores = predictions.map(|model| model.read(&args.reading, None, app)).transpose()?;
    let fit = match &evidence {
        Evidence::Known(path, known, kind) => {
            RowFit::new(train.labels(), known.labels(), *kind).map_err(|error| error.in_file(path))?
        }
        Evidence::Judged(pairs) => RowFit::judged(train.labels(), pairs)?,
    };
    let mut fit = fit.replicates(args.rows.refits, args.seed.seed);
    if let Some((model, scores)) = predictions.zip(scores.as_ref()) {
        fit = fit.scores(&model.name, scores).map_err(|error| error.in_file(&model.path))?;
    }
    if !covariates.is_empty() {
        fit = fit.covariates(&covariates);
    }
    let labels = train.labels();
    if let Some(path) = &args.rows.label_covariates {
        for (name, values) in read_columns(path, "label", labels.cols())? {
            fit = fit.given(&name, GivenCovariate::Labels(values)).map_err(|error| error.in_file(path))?;
        }
    }
    if let Some(path) = &args.rows.row_covariates {
        for (name, values) in read_columns(path, "row", labels.rows())? {
            fit = fit.given(&name, GivenCovariate::Rows(values)).map_err(|error| error.in_file(path))?;
        }
    }
    let pairs = args.rows.pair_covariate.iter().map(|given| given.read(&args.reading, None, app)).collect::<Outcome<Vec<_>>>()?;
    for (given, matrix) in args.rows.pair_covariate.iter().zip(&pairs) {
        fit = fit.given(&given.name, GivenCovariate::Pairs(matrix)).map_err(|error| error.in_file(&given.path))?;
    }
    app.progress().begin("fitting", 0);
    let model = fit.run()?;
    if let Some(path) = &args.output.output {
        model.write(path)?;
        app.note(&format!("wrote {}; use it with --propensity rows:{}", path.display(), path.display()));
    }
    app.emit(&document(&model)?)
}

/// What identifies propensities.
enum Evidence {
    Known(PathBuf, Box<Dataset<'static>>, RowEvidence),
    Judged(Vec<KnownPair>),
}

fn evidence(args: &Args, train: &Dataset<'_>, app: &App) -> Outcome<Evidence> {
    if !args.rows.judged.is_empty() {
        let shape = (train.rows(), train.labels().cols());
        return Ok(Evidence::Judged(Judged::read(&args.rows.judged, None, None, shape)?.known_pairs()?));
    }
    let (path, kind) = match (&args.rows.later, args.controlled.given()) {
        (Some(path), _) => (path.clone(), RowEvidence::Later),
        (None, Some(controlled)) => (controlled.controlled, RowEvidence::Controlled),
        (None, None) => {
            return Err(unmissed::Error::value("nothing identifies row-dependent propensities")
                .expected("pairs that are known to be relevant, whether they were observed or not")
                .hint(
                    "pass --later (a later snapshot of the training rows), --controlled and --rate for the same rows, or --judged pairs",
                )
                .into());
        }
    };
    let known = args.reading.dataset(&path, app)?;
    Ok(Evidence::Known(path, Box::new(known), kind))
}

fn document(model: &RowModel) -> Outcome<Document> {
    let mut coefficients = Table::new("coefficients", [Column::new("covariate"), Column::new("log odds").significant(4)]);
    for (name, value) in model.coefficients() {
        coefficients.row(cells![name, value]);
    }
    let columns = ["predicted", "observed", "low", "high"].map(|name| Column::new(name).percent(2));
    let mut curve = Table::new("reliability", columns.into_iter().chain([Column::new("pairs")]));
    curve = curve.titled("Reliability: cross-fitted propensities and how often such pairs were observed");
    for bin in &model.calibration().bins {
        curve.row(cells![bin.predicted, bin.observed, bin.low, bin.high, bin.pairs]);
    }
    let (rows, pairs, observed) = model.sizes();
    let coefficients_json: Vec<_> =
        model.coefficients().into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let data = json!({
        "evidence": model.evidence(), "covariates": model.covariates(), "converged": model.unfinished().is_none(),
        "rows": rows, "pairs": pairs, "observed": observed,
        "coefficients": coefficients_json, "effect_variance": model.effect_variance(), "calibration": model.calibration(),
    });
    let mut document = Document::new().table(coefficients).table(curve).data(data)?.note(format!(
        "{pairs} relevant pairs of {rows} rows, {observed} of them observed; label effects with variance {:.4}. In {} of {} bins \
         the prediction is outside the interval.",
        model.effect_variance(),
        model.calibration().outside(),
        model.calibration().bins.len(),
    ));
    if !model.uses_scores() {
        document = document.note("without --train-predictions, propensities cannot depend on the rank in the audited model");
    }
    for given in model.given().iter().filter(|given| given.level != CovariateLevel::Label) {
        let option = if given.level == CovariateLevel::Row { "--row-covariates" } else { "--pair-covariate" };
        document = document.note(format!("an evaluation needs '{}' of its own rows: {option}", given.name));
    }
    if let Some(what) = model.unfinished() {
        document = document.note(what);
    }
    if model.uses_observed_labels() {
        document = document.note(
            "other-labels is computed from observed labels: sums over labels stay unbiased, products and recall are rejected",
        );
    }
    Ok(document)
}
