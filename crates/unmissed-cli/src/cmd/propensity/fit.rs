//! `unmissed propensity fit`: curves fitted to what is known about propensities.

use super::deliver::{Values, deliver};
use super::{MaybeControlled, Output, rows};
use crate::app::{App, Outcome};
use crate::args::{Reading, Seed};
use serde_json::json;
use std::path::PathBuf;
use unmissed::cells;
use unmissed::data::LabelStats;
use unmissed::propensity::fit::{CurveEvidence, FitComparison, FitLoss, FitOptions, compare};
use unmissed::propensity::{Phi, Propensities, models, table_file};
use unmissed::report::{Column, Document, Table, charts};
use unmissed::request::Level;

/// Fit curves to a controlled set or to known propensities, and compare them with their default constants
#[derive(clap::Args)]
#[command(
    after_help = "Without --loss, a controlled set is fitted by its likelihood, other evidence by the paper's least squares on \
inverse propensities. Every family is fitted from several starts; the table shows how well they agree and whether a fit is \
degenerate.

MODEL 'rows' fits row-dependent propensities to pairs that a later snapshot (or a controlled set of the same \
rows, or judged pairs) shows to be relevant. With -o FILE.json they can be used in 'evaluate --propensity rows:FILE.json'.

Examples:
  unmissed propensity fit power richards --train train.txt --controlled controlled.txt --rate 4/12
  unmissed propensity fit jpv --train train.txt --propensities known.csv --loss log -o fit.svg
  unmissed propensity fit rows --train train.txt --later train_late.txt -o rows.json
  unmissed evaluate --test test.txt --predictions p.txt --propensity rows:rows.json --metrics ndcg"
)]
pub(super) struct Args {
    #[arg(required = true, value_name = "MODEL", help = format!("Curves to fit: {}; or rows", models::families().join(", ")))]
    models: Vec<String>,
    /// The data from whose label counts the curves are computed
    #[arg(long, value_name = "DATA")]
    pub(super) train: PathBuf,
    #[command(flatten)]
    pub(super) controlled: MaybeControlled,
    /// Known propensities to fit to, as csv
    #[arg(long, value_name = "CSV", conflicts_with = "controlled")]
    propensities: Option<PathBuf>,
    /// What to minimise: squared (as in the paper), log, negative-binomial (the likelihood of a controlled set) or auto: the
    /// likelihood with a controlled set, otherwise squared
    #[arg(long, default_value = FitLoss::default().name())]
    loss: FitLoss,
    /// Number of starting points of the search
    #[arg(long, default_value_t = FitOptions::default().starts, value_name = "N")]
    starts: usize,
    /// Level of intervals
    #[arg(long, default_value_t = Level::default(), allow_negative_numbers = true)]
    level: Level,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) seed: Seed,
    #[command(flatten)]
    pub(super) rows: rows::RowArgs,
    #[command(flatten)]
    pub(super) reading: Reading,
}

pub(super) fn run(args: &Args, app: &App) -> Outcome<()> {
    if args.models == [rows::NAME] {
        return rows::run(args, app);
    }
    args.rows.check_unused()?;
    let inputs = [&args.controlled.controlled, &args.propensities].into_iter().flatten().chain([&args.train]);
    args.output.check(&inputs.map(PathBuf::as_path).collect::<Vec<_>>())?;
    let families = args.models.iter().map(|text| models::family(text)).collect::<unmissed::Result<Vec<Phi>>>()?;
    let mut defaults = args.models.iter().filter_map(|text| models::parse(text).ok()).collect::<Vec<_>>();
    defaults.dedup();
    let train = args.reading.dataset(&args.train, app)?;
    let stats = LabelStats::of(train.labels());
    let mut chart = charts::propensity_chart("Fitted propensities");
    let evidence = match (args.controlled.given(), &args.propensities) {
        (Some(controlled), _) => {
            let direct = controlled.direct(&stats, args.level.get(), &args.reading, app)?;
            chart = chart.series(charts::direct("controlled set", &direct, &stats));
            direct.evidence()
        }
        (None, Some(path)) => {
            let known = table_file::read(path, Some(stats.labels()))?;
            chart = chart.series(charts::labels("known", &known, &stats));
            CurveEvidence::from_propensities(&known, &stats)?
        }
        (None, None) => {
            return Err(unmissed::Error::value("nothing to fit to").hint("pass --controlled and --rate, or --propensities").into());
        }
    };
    app.progress().begin("fitting", 0);
    let options = FitOptions { loss: args.loss, starts: args.starts, seed: args.seed.seed };
    let comparisons = compare(&defaults, &families, &evidence, &options)?;
    for phi in defaults.iter().filter_map(|model| model.curve()) {
        chart = chart.series(charts::curve(&format!("{} (not fitted)", phi.short()), phi, &stats));
    }
    let mut fitted: Vec<Propensities> = Vec::new();
    for fit in comparisons.iter().filter_map(|comparison| comparison.fit.as_ref()) {
        chart = chart.series(charts::curve(&fit.phi.short(), &fit.phi, &stats));
        fitted.push(fit.propensities(&stats)?);
    }
    let document = document(&comparisons, &evidence)?;
    let values: Vec<_> = fitted.iter().map(|p| (p.origin().to_string(), Values::Full(p))).collect();
    deliver(app, &args.output, &values, &document, &chart)
}

fn document(comparisons: &[FitComparison], evidence: &CurveEvidence) -> Outcome<Document> {
    let columns = [
        Column::new("model"),
        Column::new("fitted"),
        Column::new("MSE of 1/p").significant(5),
        Column::new("starts agree to").significant(3),
        Column::new("stopped"),
        Column::new("remarks"),
    ];
    let mut table = Table::new("fits", columns);
    for FitComparison { spec, mse, fit } in comparisons {
        let fit = fit.as_ref();
        let stop = fit.map(|fit| format!("{:?}", fit.stop).to_lowercase());
        let remarks = fit.map(|fit| fit.degenerate.join("; ")).unwrap_or_default();
        let name = fit.map_or_else(|| spec.clone(), |fit| fit.phi.short());
        table.row(cells![name, if fit.is_some() { "yes" } else { "no" }, *mse, fit.and_then(|fit| fit.spread()), stop, remarks]);
    }
    let (labels, zeros, out) = (evidence.len(), evidence.zeros(), evidence.left_out());
    let document = Document::new().table(table).data(json!({
        "labels": labels, "labels_without_controlled_positive": zeros, "labels_left_out": out, "models": comparisons,
    }))?;
    Ok(document.note(format!(
        "{labels} labels were used, {zeros} of them without a controlled positive (kept, as q = 0); {out} were never observed. \
         'starts agree to' is the worst objective divided by the best: 1 means that the start did not matter."
    )))
}
