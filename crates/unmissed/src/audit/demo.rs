//! The demonstration: data whose truth is known, two models, and what an audit makes of them.
//!
//! Hyper-balls in ten dimensions lose labels by the power model, `p_j = n_j / max_j n_j` of the complete counts. Two linear models
//! are trained on what is left with the unbiased logistic loss, one corrected with JPV (of the observed counts, as everybody has
//! them), one with the propensities that are right. The audit sees the biased test labels, and the complete ones beside them.
//! Nothing is decided beforehand: another seed may say something else.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar and Dembczynski, KDD 2022, the experiment on artificial data.

use super::{Audit, AuditResult};
use crate::data::generators::{GENERATORS, GeneratorSettings};
use crate::data::{Csr, Dataset, LabelStats, mask, mask_shard};
use crate::error::{Error, Result};
use crate::predict::PredictOptions;
use crate::progress::Progress;
use crate::propensity::{Propensities, models};
use crate::request::{AuditRequest, Gates, NormalizeChoice, TrainRequest};
use crate::spec;
use crate::train::Trainer;

/// How the data are made; the rest are the generator's defaults.
const BALLS: &[(&str, &str)] = &[("dim", "10"), ("radius", "0.2,0.88")];
/// By what labels go missing.
const BIAS: &str = "power";
/// Strength of the L2 penalty in training.
const DECAY: f64 = 1e-4;
/// Labels that a model ranks.
const DEPTH: usize = 5;

/// Rows of the demonstration.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Training rows.
    pub train: usize,
    /// Test rows.
    pub test: usize,
}

impl Default for Sizes {
    /// Those of the paper.
    fn default() -> Self {
        Sizes { train: 70_000, test: 30_000 }
    }
}

/// Makes the data, trains the models, and audits them.
pub fn run(sizes: Sizes, seed: u64, gates: Gates, command: &str, progress: &dyn Progress) -> Result<AuditResult> {
    let balls = spec::find(GENERATORS, "generator", "balls")?;
    let mut settings = GeneratorSettings::of(balls);
    for (name, value) in BALLS {
        settings.set(name, *value)?;
    }
    settings.set("train-rows", sizes.train.to_string())?;
    settings.set("test-rows", sizes.test.to_string())?;
    progress.begin("making data", 0);
    let generated = balls.generate(&settings, seed)?;
    let (train_clean, test_clean) = (generated.part("train")?, generated.part("test")?);

    let right = models::parse(BIAS)?.propensities(&LabelStats::of(train_clean.labels()))?;
    let right = Propensities::new("right: power of complete counts", right.values().to_vec())?;
    let with = |data: &Dataset<'static>, labels| Dataset::new(data.features().cloned(), labels);
    let train = with(train_clean, mask(train_clean.labels(), right.values(), seed)?)?;
    let first = sizes.train as u64;
    let test = with(test_clean, mask_shard(test_clean.labels(), right.values(), seed, first)?)?;

    let jpv = models::parse("jpv")?.propensities(&LabelStats::of(train.labels()))?;
    let by_jpv = predictions(&train, &test, &jpv, seed, progress)?;
    let by_power = predictions(&train, &test, &right, seed, progress)?;
    Audit::new(&test, &[("JPV-corrected", &by_jpv), ("power-corrected", &by_power)])?
        .request(AuditRequest {
            name: "Hyper-balls, biased by a power of the frequency".into(),
            propensities: Some(vec![models::parse("jpv")?]),
            seed,
            gates,
            ..AuditRequest::default()
        })
        .train(&train)
        .truth(test_clean)?
        .propensity(right)
        .source(command, Vec::new())
        .progress(progress)
        .run()
}

/// What a linear model ranks first that was trained with these propensities.
fn predictions(
    train: &Dataset<'_>,
    test: &Dataset<'_>,
    p: &Propensities,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Csr<'static, f32>> {
    let request = TrainRequest { decay: vec![DECAY], normalize: NormalizeChoice::None, seed, ..TrainRequest::default() };
    let model = Trainer::new(request).propensity(p).progress(progress).check(train)?.fit()?.model;
    let Some(features) = test.features() else { return Err(Error::value("the test rows have no features")) };
    model.predict(features, &PredictOptions { k: DEPTH, progress, ..PredictOptions::default() })
}
