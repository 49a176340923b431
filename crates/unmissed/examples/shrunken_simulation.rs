//! How good `shrunken` is beside `direct` and a fitted curve, when the truth is known.
//!
//! The survey generator: 300 items whose true propensities scatter around a power of their prior, 9 000 training users, and
//! controlled sets of three sizes, in which each user is shown 16 of the 300 items. The table has the mean over 20 seeds of
//! the mean squared error of ln q over items that were observed; `direct` takes q = 1 for items without a controlled positive.
//!
//! `cargo run --release -p unmissed --example shrunken_simulation`

#![allow(clippy::print_stdout)]

use unmissed::data::generators::generate;
use unmissed::data::{LabelStats, Rate};
use unmissed::propensity::estimators::{direct::direct, shrunken::shrunken};
use unmissed::propensity::fit::{FitLoss, FitOptions, fit};
use unmissed::propensity::models::family;

const LABELS: u64 = 300;
const TRAIN: u64 = 9_000;
const SHOWN: u64 = 16;

/// Rows of the controlled sets.
pub const SIZES: [u64; 3] = [125, 1_250, 12_500];
/// Repetitions.
pub const SEEDS: u64 = 20;

/// Errors of one repetition.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// The direct estimate.
    pub direct: f64,
    /// The curve fitted by least squares on 1/p, as the paper does.
    pub curve: f64,
    /// The curve fitted by maximum likelihood.
    pub likelihood: f64,
    /// The shrunken estimate.
    pub shrunken: f64,
    /// Observed labels without a controlled positive.
    pub without: usize,
}

/// Generates a survey, estimates, and compares with the truth.
pub fn repetition(seed: u64, controlled_rows: u64) -> unmissed::Result<Errors> {
    let sizes = [("users", TRAIN), ("test-users", 1), ("items", LABELS), ("shown", SHOWN), ("controlled-users", controlled_rows)];
    let survey = generate("survey", &sizes.map(|(name, size)| (name, size.to_string())), seed)?;
    let stats = |stem| survey.part(stem).map(|part| LabelStats::of(part.labels()));
    let (train, controlled) = (stats("train")?, stats("controlled")?);
    let inverse: Vec<f64> = survey.table("propensities")?.rows.iter().map(|row| 1.0 / row[0]).collect();
    let counts = train.dense_counts()?;
    let direct = direct(&train, &controlled, &Rate::Common(SHOWN as f64 / LABELS as f64), 0.95)?;
    let power = family("power")?;
    let curve = fit(&power, &direct.evidence(), &FitOptions { loss: FitLoss::Squared, ..FitOptions::default() })?;
    let likelihood = fit(&power, &direct.evidence(), &FitOptions { loss: FitLoss::NegativeBinomial, ..FitOptions::default() })?;
    let shrunken = shrunken(&direct, &power, &FitOptions::default(), 0.95)?;
    let error = |p: &dyn Fn(usize) -> f64| {
        let observed: Vec<usize> = (0..counts.len()).filter(|label| counts[*label] > 0).collect();
        observed.iter().map(|label| (-p(*label).ln() - inverse[*label].ln()).powi(2)).sum::<f64>() / observed.len() as f64
    };
    Ok(Errors {
        direct: error(&|label| direct.propensity(label).unwrap_or(1.0)),
        curve: error(&|label| curve.at(counts[label] as f64)),
        likelihood: error(&|label| likelihood.at(counts[label] as f64)),
        shrunken: error(&|label| shrunken.propensities.get(label as u32)),
        without: direct.without_controlled_positive(),
    })
}

/// Mean, and standard error of the mean.
pub fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

fn main() -> unmissed::Result<()> {
    println!(
        "| controlled rows | direct | curve (least squares) | curve (likelihood) | shrunken | t against the better | labels without a controlled positive |"
    );
    println!("|---|---|---|---|---|---|---|");
    for rows in SIZES {
        let errors: Vec<Errors> = (0..SEEDS).map(|seed| repetition(seed, rows)).collect::<Result<_, _>>()?;
        let of = |part: fn(&Errors) -> f64| mean(errors.iter().map(part)).0;
        let better: fn(&Errors) -> f64 = if of(|e| e.direct) < of(|e| e.curve) { |e| e.direct } else { |e| e.curve };
        let (gain, error) = mean(errors.iter().map(|e| better(e) - e.shrunken));
        println!(
            "| {rows} | {:.4} | {:.4} | {:.4} | {:.4} | {:.1} | {:.1} of {LABELS} |",
            of(|e| e.direct),
            of(|e| e.curve),
            of(|e| e.likelihood),
            of(|e| e.shrunken),
            gain / error,
            of(|e| e.without as f64)
        );
    }
    Ok(())
}
