//! What the options of training mean.

use super::Args;
use std::path::PathBuf;
use unmissed::data::Dataset;
use unmissed::evaluate::Rate;
use unmissed::predict::Normalize;
use unmissed::train::{Adam, Criterion, Grid, HOLDOUT, Joint, Newton, ROUNDS, Search, Solver, Trainer};
use unmissed::{Error, Result};

/// How blocks of labels are trained.
#[derive(clap::Args)]
#[command(next_help_heading = "Solver")]
pub(super) struct Solving {
    /// newton: to the optimum, for convex losses; adam: small steps on batches, for any [default: newton where it can]
    #[arg(long, value_name = "NAME")]
    solver: Option<Name>,
    /// Learning rate of Adam [default: 0.02]; with --tune the rates to try, separated by commas
    #[arg(long, value_name = "RATE", value_delimiter = ',', allow_negative_numbers = true)]
    rate: Vec<f64>,
    /// How strongly weights are drawn to zero [default: follows from the data for
    /// Newton's method, 0 for Adam]; with --tune the decays to try
    #[arg(long, value_name = "DECAY", value_delimiter = ',', allow_negative_numbers = true)]
    decay: Vec<f64>,
    /// Epochs of Adam; the most of them unless --holdout 0 [default: 20]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Rows of a batch of Adam [default: 512]
    #[arg(long, value_name = "ROWS")]
    batch: Option<usize>,
    /// How far Newton's method has to shrink the gradient [default: 0.01]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    tolerance: Option<f64>,
}

/// How settings are found.
#[derive(clap::Args)]
#[command(next_help_heading = "Tuning")]
pub(super) struct Tuning {
    /// Try several settings and take the best
    #[arg(long)]
    tune: bool,
    /// Settings to try: default, or paper (Adam) [default: default]
    #[arg(long, value_name = "NAME", requires = "tune")]
    grid: Option<String>,
    /// What decides: loss, or METRIC@K[:ESTIMATOR] as in precision@1:unbiased [default: loss; precision@1 on --validation]
    #[arg(long, value_name = "WHAT")]
    pub(super) criterion: Option<String>,
    /// Share of the rows that are held out to decide on; 0 trains Adam for all epochs [default: 0.1]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    holdout: Option<f64>,
    /// Decide on these rows instead of held-out ones
    #[arg(long, value_name = "DATA")]
    pub(super) validation: Option<PathBuf>,
    /// The rows of --validation are a controlled set, shown at this rate: 16/300, or a csv 'label,rate'
    #[arg(long, value_name = "R/M", requires = "validation")]
    pub(super) validation_rate: Option<String>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum Name {
    Adam,
    Newton,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum How {
    /// With the classifier, by the likelihood of both
    Plugin,
    /// In turns with the classifier, on two halves of the rows
    Alternating,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Scaling {
    /// Each row is divided by its Euclidean norm
    L2,
    /// Rows are taken as they are
    None,
}

/// The trainer as far as options decide it.
pub(super) fn trainer(args: &Args) -> Result<Trainer<'static>> {
    let solving = &args.solving;
    let loss = args.loss.as_deref().unwrap_or(match args.joint {
        Some(How::Plugin) => "plugin-logistic",
        Some(How::Alternating) => "unbiased-logistic",
        None => "logistic",
    });
    let trainer = Trainer::new(loss)?;
    let wants_adam = args.joint == Some(How::Plugin) || args.tuning.grid.as_deref() == Some("paper");
    let solver = match (solving.solver, Solver::usual(trainer.loss().nature())) {
        (Some(Name::Newton), _) => Solver::Newton(Newton::default()),
        (Some(Name::Adam), _) => Solver::Adam(Adam::default()),
        (None, _) if wants_adam => Solver::Adam(Adam::default()),
        (None, usual) => usual,
    };
    let mut unused = Vec::new();
    let solver = match solver {
        Solver::Adam(mut adam) | Solver::Joint(mut adam) => {
            unused.extend(solving.tolerance.map(|_| "--tolerance is for Newton's method"));
            adam.rate = first(&solving.rate, "--rate", args.tuning.tune)?.unwrap_or(adam.rate);
            adam.epochs = solving.epochs.unwrap_or(adam.epochs);
            adam.batch = solving.batch.unwrap_or(adam.batch);
            Solver::Adam(adam)
        }
        Solver::Newton(mut newton) => {
            unused.extend((!solving.rate.is_empty()).then_some("--rate is for Adam"));
            unused.extend(solving.epochs.map(|_| "--epochs is for Adam"));
            unused.extend(solving.batch.map(|_| "--batch is for Adam"));
            newton.tolerance = solving.tolerance.unwrap_or(newton.tolerance);
            Solver::Newton(newton)
        }
    };
    if let Some(option) = unused.first() {
        return Err(Error::value(*option).hint("choose with --solver adam or --solver newton"));
    }
    let decay = first(&solving.decay, "--decay", args.tuning.tune)?;
    let mut trainer = trainer.solver(solver)?.clip(args.clip)?.seed(args.seed.seed);
    if let Some(decay) = decay {
        trainer = trainer.decay(decay)?;
    }
    Ok(match args.normalize {
        Some(Scaling::L2) => trainer.normalize(Normalize::L2),
        Some(Scaling::None) => trainer.normalize(Normalize::None),
        None => trainer,
    })
}

/// The value of an option that takes several when settings are tried: then they are the grid's.
fn first(values: &[f64], option: &str, tune: bool) -> Result<Option<f64>> {
    match values {
        _ if tune => Ok(None),
        [_, _, ..] => Err(Error::value(format!("{option} has several values"))
            .expected("one")
            .found(values.len().to_string())
            .hint("--tune tries them all")),
        _ => Ok(values.first().copied()),
    }
}

/// The search that options ask for: a grid, or the best epoch of Adam.
pub(super) fn search<'a>(
    args: &Args,
    trainer: &Trainer<'_>,
    criterion: Option<Criterion>,
    validation: Option<&'a Dataset<'a>>,
    rate: Option<Rate>,
) -> Result<Option<Search<'a>>> {
    let (tuning, solving) = (&args.tuning, &args.solving);
    let share = tuning.holdout.unwrap_or(HOLDOUT);
    let asks = tuning.tune || validation.is_some() || criterion.is_some();
    if share == 0.0 && validation.is_none() {
        return match asks {
            true => Err(Error::value("without held-out rows nothing can be decided")
                .found("--holdout 0")
                .hint("hold some out, or pass --validation")),
            false => Ok(None),
        };
    }
    let solver = trainer.chosen_solver();
    if !tuning.tune && solver.adam().is_none() {
        return match asks || tuning.holdout.is_some() {
            true => Err(Error::value("Newton's method with one setting leaves nothing to decide").hint("--tune tries several")),
            false => Ok(None),
        };
    }
    let mut search = Search::default();
    if tuning.tune {
        let mut grid = Grid::named(tuning.grid.as_deref().unwrap_or("default"), solver)?;
        if !solving.rate.is_empty() {
            grid.rates.clone_from(&solving.rate);
        }
        if !solving.decay.is_empty() {
            grid.decays.clone_from(&solving.decay);
        }
        search = Search::new(grid);
    }
    if let Some(criterion) = criterion {
        search = search.criterion(criterion);
    }
    Ok(Some(match validation {
        Some(data) => search.validation(data, rate),
        None => search.holdout(share)?,
    }))
}

pub(super) fn joint(args: &Args) -> Joint {
    match args.joint {
        Some(How::Plugin) => Joint::Plugin,
        Some(How::Alternating) => Joint::Alternating { rounds: ROUNDS },
        None => Joint::No,
    }
}

/// A size such as 500MB, 4GB or 1000000.
pub(super) fn size(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => Some(1.0),
        "K" | "KB" => Some(1e3),
        "M" | "MB" => Some(1e6),
        "G" | "GB" => Some(1e9),
        "T" | "TB" => Some(1e12),
        _ => None,
    };
    let number = digits.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    match (number, unit) {
        (Some(number), Some(unit)) => Ok((number * unit) as u64),
        _ => Err(Error::value("cannot read the size of the memory")
            .expected("a number with a unit, as in 500MB or 4GB")
            .found(format!("'{text}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500MB").ok(), Some(500_000_000));
        assert_eq!(size("1.5 gb").ok(), Some(1_500_000_000));
        assert_eq!(size("7").ok(), Some(7));
        for text in ["", "GB", "-1GB", "1 parsec", "nan", "1e400"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
