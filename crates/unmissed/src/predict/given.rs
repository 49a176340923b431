//! The scores that are given for the best labels of a row.

use crate::top_k::{FineKey, Key};

/// The scores of a row's labels, best first, lower ones where ranks are.
pub(super) fn told_apart(row: &[FineKey], given: impl Fn(FineKey) -> f32) -> impl Iterator<Item = f32> {
    let mut before: Option<(FineKey, f32)> = None;
    row.iter().map(move |&key| {
        let score = given(key);
        let score = match before {
            // Below 0 is no probability.
            Some((better, least)) if score >= least && !better.ties(key) => least.next_down().max(score.min(0.0)),
            _ => score,
        };
        before = Some((key, score));
        score
    })
}

/// The labels of a row that something else than their probabilities ranks, with these, highest first.
pub(super) fn by_probability(row: &[FineKey], probability: impl Fn(FineKey) -> f32) -> Vec<(u32, f32)> {
    let mut given: Vec<(u32, f32)> = row.iter().map(|key| (key.label(), probability(*key))).collect();
    given.sort_unstable_by_key(|(label, probability)| Key::new(*probability, *label));
    given
}
