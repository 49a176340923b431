//! What intervals leave out, as far as the numbers show it.

use super::{Finish, Key, Source};
use crate::evaluate::findings::{Finding, U009};
use crate::metrics::Estimator;
use std::collections::BTreeMap;

/// A value that is farther than this many standard errors from that of many more rows gets a note.
const FAR: f64 = 0.5;

/// Inverse propensities with a larger relative error are noisy.
const NOISY: f64 = 0.1;

/// One term of unbiased coverage that is larger than this is most of the sum.
const EXPLOSIVE: f64 = 100.0;

/// How intervals of means over labels came about, and how far the values are from those of many more rows.
pub(super) fn label_notes(finish: &Finish<'_>) -> Vec<String> {
    let names = finish.label_places.iter().map(|place| finish.settings.metrics[*place].name()).collect::<Vec<_>>().join(" and ");
    if names.is_empty() || finish.settings.request.bootstrap > 0 {
        return Vec::new();
    }
    let Some(sample) = finish.tally.sample.as_ref() else {
        return vec![format!("{names}: no interval, since the tally comes from a version that kept no rows")];
    };
    let of_rows =
        if (sample.len() as u64) < finish.settings.rows { format!(" over {} of the rows", sample.len()) } else { String::new() };
    let mut notes = vec![format!("{names}: intervals by the jackknife{of_rows}, about the expected value at this number of rows")];
    let mut worst: BTreeMap<&str, (f64, String)> = BTreeMap::new();
    for key in finish.keys().into_iter().filter(|key| key.group == 0) {
        for (model, name) in finish.settings.models.iter().enumerate() {
            let (Some(drift), Some(se)) = (finish.label_drift(key, model), finish.measure(key, model).se()) else { continue };
            let is_worst = worst.get(key.estimator.name()).is_none_or(|(size, _)| drift / se > *size);
            if drift > FAR * se && is_worst {
                let (cell, is_ratio) =
                    (&finish.settings.metrics[key.metric], finish.label_term(key).is_some_and(|term| !term.is_of_hits()));
                let mut text = format!(
                    "{} {}@{} of {name} would rise by about {drift:.3} with many more rows (jackknife): labels with few positives",
                    key.estimator,
                    cell.name(),
                    finish.settings.ks()[key.ki]
                );
                if is_ratio && key.estimator == Estimator::Unbiased {
                    text.push_str("; for the same reason it is below the value on complete labels of these rows, which its interval does not cover");
                }
                worst.insert(key.estimator.name(), (drift / se, text));
            }
        }
    }
    notes.extend(worst.into_values().map(|(_, text)| text));
    let is_coverage =
        |key: &Key| key.estimator == Estimator::Unbiased && finish.label_term(*key).is_some_and(|term| term.is_of_hits());
    if finish.keys().iter().any(is_coverage) {
        notes.push("unbiased coverage: its interval is rough, since few labels with large terms dominate".into());
    }
    notes
}

/// Normalized and clipped values and macro-F bend with inverse propensities, so that noise in these does not average out.
pub(super) fn noise_notes(finish: &Finish<'_>) -> Vec<String> {
    let (settings, table, positives) = (finish.settings, &finish.tally.table, &finish.tally.positives);
    let is_asked = |estimator| settings.metrics.iter().any(|chosen| chosen.wants(estimator));
    let asked = [Estimator::Normalized, Estimator::Clipped].into_iter().filter(|estimator| is_asked(*estimator));
    let mut asked: Vec<&str> = asked.map(Estimator::name).collect();
    let is_ratio =
        |key: &Key| key.estimator == Estimator::Unbiased && finish.label_term(*key).is_some_and(|term| !term.is_of_hits());
    asked.extend(finish.keys().iter().any(is_ratio).then_some("unbiased macro-f"));
    if asked.is_empty() {
        return Vec::new();
    }
    let noise = |column: usize| {
        let (mut errors, mut squares) = (0.0, 0.0);
        for (label, count) in positives.ids.iter().zip(&positives.counts) {
            let (place, count) = (table.place(*label), *count as f64);
            errors += count * table.variance(place, column);
            squares += count * table.inverse_at(place)[column].powi(2);
        }
        (errors / squares).sqrt()
    };
    let columns = settings.columns.iter().enumerate().filter(|(_, column)| column.uncertain && column.clip.is_none());
    let noisy = columns
        .map(|(place, column)| (noise(place), column.origin.as_deref().unwrap_or_default()))
        .filter(|(noise, _)| *noise > NOISY);
    let text = |(noise, origin): (f64, &str)| {
        format!(
            "{origin}: the inverse propensities have errors of {:.0} %; these do not average out in {} values, which are rather \
             too low, and the intervals do not account for that (the estimator shrunken has smaller errors)",
            100.0 * noise,
            asked.join(" and ")
        )
    };
    noisy.map(text).collect()
}

/// Unbiased coverage has `(1 - q)^h`, which grows with the hits of a label that is observed less than half of the time.
pub(super) fn explosive_coverage(finish: &Finish<'_>) -> Vec<Finding> {
    let mut cases: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for key in finish.keys().into_iter().filter(|key| key.estimator == Estimator::Unbiased && key.group == 0) {
        let Source::Column(column) = key.source else { continue };
        if !finish.label_term(key).is_some_and(|term| term.is_of_hits()) {
            continue;
        }
        let k = finish.settings.ks()[key.ki];
        for counts in &finish.tally.labels {
            let is_explosive = |place: &usize| {
                let within = counts.entries(*place).take_while(|(rank, _, _)| (*rank as usize) < k);
                let hits = within.map(|(_, _, hits)| hits).sum::<u32>();
                let table = &finish.tally.table;
                // The table need not have labels that gain nothing.
                hits > 0 && (1.0 - table.inverse_at(table.place(counts.ids[*place]))[column]).abs().powi(hits as i32) > EXPLOSIVE
            };
            let labels = (0..counts.ids.len()).filter(is_explosive).count();
            let most = cases.entry((key.metric, column)).or_default();
            *most = labels.max(*most);
        }
    }
    let text = |((metric, column), labels): ((usize, usize), usize)| {
        let propensity = finish.settings.columns[column].origin.as_deref().unwrap_or("");
        let metric = finish.settings.metrics[metric].name();
        let why =
            "labels that are observed less than half of the time and have many hits: neither value nor interval is meaningful";
        let text = format!("with {propensity}, terms of unbiased {metric} exceed {EXPLOSIVE} for {labels} {why}");
        Finding::new(&U009, text).of_propensity(propensity)
    };
    cases.into_iter().filter(|(_, labels)| *labels > 0).map(text).collect()
}
