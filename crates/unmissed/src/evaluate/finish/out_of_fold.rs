//! Whether out-of-fold predictions are as good as those of the audited model.

use super::omega::two_samples;
use super::totals::Of;
use super::{Finish, Key, Source};
use crate::evaluate::findings::{Finding, U012};
use crate::evaluate::plan::settings::Kind;
use crate::evaluate::tally::precise::Precise;
use crate::metrics::Estimator;

/// Differences below this many standard errors may be chance.
const CLEAR: f64 = 3.0;
/// Differences of observed scores below this are negligible.
const POINTS: f64 = 0.01;

/// One finding for each model whose observed score on the test rows is clearly another than out of fold on the matched rows.
pub(super) fn findings(finish: &Finish<'_>) -> Vec<Finding> {
    let settings = finish.settings;
    let Some(omega) = &settings.omega else { return Vec::new() };
    let plain = |kind: &Kind| matches!(kind, Kind::Sum { weighted: false, by_relevant: false, pooled: false, .. });
    let Some((place, term)) = finish.terms.iter().enumerate().find(|(_, term)| plain(&term.kind)) else { return Vec::new() };
    let key = Key { metric: term.metric, ki: 0, estimator: Estimator::Observed, source: Source::Column(0), group: 0 };
    let of_model = |model: usize| {
        let (x, xx) = (finish.total(key, model, Of::X), finish.total(key, model, Of::XX));
        let [sum, squares] = omega.observed(settings, finish.terms.len(), [0, model, place, 0]).map(Precise::from);
        let scale = term.scale(0);
        let (test, matched, z) = two_samples((finish.n(), x, xx), (omega.rows as f64, sum, squares))?;
        let (test, matched) = (test / scale, matched / scale);
        if !(z.abs() > CLEAR && (test - matched).abs() > POINTS) {
            return None;
        }
        let what = if test > matched {
            "fold models were trained on fewer rows, or the rows differ; this biases the ratio, and omega less"
        } else {
            "if these predictions were made by a model that was trained on the rows, estimates from them are worthless"
        };
        let name = &settings.metrics[term.metric].name();
        let text = format!(
            "{}: {name}@{} as observed is {:.1} % on the test rows and {:.1} % out of fold on the training rows (z = {z:.1}): {what}",
            settings.models[model],
            settings.ks()[0],
            100.0 * test,
            100.0 * matched
        );
        Some(Finding::new(&U012, text).of_model(&*settings.models[model]))
    };
    (0..settings.models.len()).filter(|model| omega.models[*model]).filter_map(of_model).collect()
}
