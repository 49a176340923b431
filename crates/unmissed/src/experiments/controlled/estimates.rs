//! The propensities that are compared: assumed, fitted to controlled rows, direct, shrunken, true.

use super::source::Source;
use crate::data::{LabelStats, Rate};
use crate::error::Result;
use crate::propensity::estimators::direct::{Direct, direct};
use crate::propensity::estimators::shrunken::shrunken;
use crate::propensity::fit::{FitLoss, FitOptions, fit};
use crate::propensity::{Propensities, models};

/// Level of intervals, which are not used here.
const LEVEL: f64 = 0.95;

/// Nothing is taken to be missing.
pub(super) const VANILLA: &str = "constant (vanilla)";

/// No propensities: an uncorrected model and one by joint learning are put together on the controlled rows.
pub(super) const STACK: &str = "stack";

/// Propensities under the name of their method; `None` takes nothing to be missing.
pub(super) type Estimate = (&'static str, Option<Propensities>);

/// What controlled rows say, label by label.
pub(super) fn directly(source: &Source, rows: &[usize]) -> Result<Direct> {
    let (train, half) = (LabelStats::of(source.train.labels()), source.controlled.select_rows(rows));
    direct(&train, &LabelStats::of(half.labels()), &Rate::Common(source.share()), LEVEL)
}

/// Those that need no controlled rows.
pub(super) fn assumed(source: &Source) -> Result<Vec<Estimate>> {
    let stats = LabelStats::of(source.train.labels());
    let mut found = vec![(VANILLA, None), ("jpv", Some(models::parse("jpv")?.propensities(&stats)?))];
    found.extend(source.truth.as_ref().map(|truth| ("true", Some(truth.propensities.clone()))));
    Ok(found)
}

/// Those that are estimated from controlled rows.
pub(super) fn estimated(source: &Source, rows: &[usize], seed: u64) -> Result<Vec<Estimate>> {
    let stats = LabelStats::of(source.train.labels());
    let found = directly(source, rows)?;
    let options = FitOptions { loss: FitLoss::Squared, seed, ..FitOptions::default() };
    let mut all = Vec::new();
    for (name, family) in [("jpv, fitted", "jpv"), ("power, fitted", "power"), ("richards, fitted", "richards")] {
        let fitted = fit(&models::family(family)?, &found.evidence(), &options)?;
        all.push((name, Some(fitted.phi.propensities(&stats)?)));
    }
    // A label without a controlled positive, or with an estimate above 1, is taken as complete.
    let values = (0..found.len()).map(|label| found.propensity(label).filter(|p| p.is_finite()).unwrap_or(1.0).min(1.0));
    all.push(("direct", Some(Propensities::new("direct", values.collect())?)));
    all.push(("shrunken", Some(shrunken(&found, &models::family("power")?, &options, LEVEL)?.propensities)));
    Ok(all)
}
