//! Row models in files: JSON, with a version.

use super::RowModel;
use crate::data::{Output, Source, printable_json};
use crate::error::{Error, Result};
use std::path::Path;

/// The version of the file.
pub(super) const VERSION: u32 = 2;

impl RowModel {
    /// Writes the model.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let json = serde_json::to_string(self).map_err(|cause| Error::value(format!("cannot write the row model ({cause})")))?;
        let mut output = Output::create(path)?;
        output.put(printable_json(&json).as_bytes())?;
        output.finish()
    }

    /// Reads a model.
    pub fn read(path: impl AsRef<Path>) -> Result<RowModel> {
        let path = path.as_ref();
        let bytes = Source::open(path, true)?.into_bytes()?;
        let model: RowModel = serde_json::from_slice(bytes.as_ref()).map_err(|cause| {
            Error::format(format!("not a model of row-dependent propensities ({cause})"))
                .hint("such files are written by 'unmissed propensity fit rows'")
                .in_file(path)
        })?;
        model.check().map_err(|error| error.in_file(path))?;
        Ok(model)
    }

    /// What later code relies on.
    fn check(&self) -> Result<()> {
        if self.version != VERSION {
            return Err(Error::format("unknown version of the row model")
                .expected(VERSION.to_string())
                .found(self.version.to_string())
                .hint("fit it again with 'unmissed propensity fit rows'"));
        }
        let width = super::covariates::names(&self.covariates, &self.given).len();
        let mut all = std::iter::once(&self.parameters).chain(&self.replicates);
        let fits = all.all(|parameters| {
            parameters.beta.len() == width
                && parameters.effects.len() == self.labels.len()
                && parameters.beta.iter().all(|beta| beta.is_finite())
                && parameters.effects.iter().all(|effect| effect.is_finite())
        });
        let ascending = self.labels.windows(2).all(|pair| pair[0] < pair[1]);
        let positive = self.scales.len() == width && self.scales.iter().all(|scale| scale.is_finite() && *scale > 0.0);
        let is_full = |given: &super::GivenName| match given.level {
            super::CovariateLevel::Label => {
                given.labels.len() == self.counts.len() && given.labels.iter().all(|value| value.is_finite())
            }
            _ => given.labels.is_empty(),
        };
        let counted = self.hits.as_ref().is_none_or(super::RankHits::is_sound);
        if fits && ascending && positive && counted && self.given.iter().all(is_full) {
            return Ok(());
        }
        Err(Error::format("the row model contradicts itself")
            .expected("finite coefficients for every covariate, effects for ascending labels, positive scales, hits at every rank"))
    }
}
