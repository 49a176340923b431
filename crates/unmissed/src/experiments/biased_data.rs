//! Data whose complete labels are known, and what is left of them after labels went missing in a known way.

use super::context::{Context, Size};
use super::data_folders::DataFolder;
use crate::data::generators::{Generated, generate};
use crate::data::{Dataset, LabelStats, keep_frequent, mask, mask_shard, merge, split};
use crate::error::Result;
use crate::propensity::{Propensities, models};

/// The models by which labels go missing, and with which models are trained and scored.
pub(super) const NOISES: [&str; 2] = ["jpv", "power"];

/// Labels of real data sets need this many positives, so that noise leaves some.
pub(super) const LEAST_POSITIVES: u64 = 20;

/// The share of rows that are tested on after rows were merged: 30 000 of 100 000 as in the artificial sets.
const TEST_SHARE: f64 = 0.3;

/// Rows with complete labels.
pub(super) struct Complete {
    pub(super) train: Dataset<'static>,
    pub(super) test: Dataset<'static>,
}

/// Rows whose labels went missing, with the propensities of both noises of the complete training counts.
pub(super) struct Biased {
    pub(super) train: Dataset<'static>,
    pub(super) test: Dataset<'static>,
    pub(super) propensities: [Propensities; 2],
}

/// The true propensities of generated data that have a table of them.
pub(super) fn true_propensities(data: &Generated) -> Result<Propensities> {
    Propensities::new("true", data.table("propensities")?.rows.iter().map(|row| row[0]).collect())
}

/// Training and test rows of hyper-balls: those of the paper after it held a tenth of 70 000 out, or fewer.
pub(super) fn ball_rows(size: Size) -> (usize, usize) {
    size.pick((4_000, 3_000), (21_000, 10_000), (70_000, 30_000))
}

/// Hyper-balls.
pub(super) fn balls(size: Size, dim: usize, radius: &str, seed: u64) -> Result<Complete> {
    let (train, test) = ball_rows(size);
    let changes = [
        ("dim", dim.to_string()),
        ("radius", radius.to_owned()),
        ("train-rows", train.to_string()),
        ("test-rows", test.to_string()),
    ];
    let data = generate("balls", &changes, seed)?;
    Ok(Complete { train: data.part("train")?.clone(), test: data.part("test")?.clone() })
}

/// A benchmark as the paper modifies it: merged, frequent labels kept, split again. `None` when the folder is none.
pub(super) fn benchmark(given: &DataFolder, seed: u64) -> Result<Option<Complete>> {
    let Some((train, test)) = given.rows()? else { return Ok(None) };
    let all = merge(&[&train, &test])?;
    let kept = keep_frequent(&all, LEAST_POSITIVES)?;
    let parts = split(&kept.data, TEST_SHARE, seed)?;
    Ok(Some(Complete { train: parts.train, test: parts.test }))
}

impl Complete {
    /// The propensities of a model of the complete training counts.
    fn propensities(&self, model: &str) -> Result<Propensities> {
        models::parse(model)?.propensities(&LabelStats::of(self.train.labels()))
    }

    /// Removes labels by one of the noises.
    pub(super) fn biased(&self, noise: usize, seed: u64) -> Result<Biased> {
        let propensities = [self.propensities(NOISES[0])?, self.propensities(NOISES[1])?];
        let p = propensities[noise].values();
        let with = |data: &Dataset<'static>, labels| Dataset::new(data.features().cloned(), labels);
        let train = with(&self.train, mask(self.train.labels(), p, seed)?)?;
        let test = with(&self.test, mask_shard(self.test.labels(), p, seed, self.train.rows() as u64)?)?;
        Ok(Biased { train, test, propensities })
    }
}

/// Data sets that the user gave and that have training and test rows, by name.
pub(super) fn benchmarks<'c>(context: &'c Context<'_>) -> impl Iterator<Item = &'c DataFolder> {
    context.data.iter()
}

/// Labels a row.
pub(super) fn labels_per_row(data: &Dataset<'_>) -> f64 {
    data.labels().nnz() as f64 / data.rows().max(1) as f64
}

/// Mean and standard error over repetitions; no error from a single one.
pub(super) fn mean_se(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (values.len() > 1).then(|| (square / (n - 1.0) / n).sqrt()))
}
