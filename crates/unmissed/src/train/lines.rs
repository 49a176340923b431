//! A block of labels side by side: the loops in which training spends its time.
//!
//! A [`Line`] has one number for each label of a block; the place of a label in its block is its *column*. Products of a batch with
//! the weights of a block are sums of lines; nothing here branches on a label.

use super::batches::Batch;
use crate::error::{Error, Result, byte_count};
use crate::prefetch::prefetch;

/// How many features ahead of the present one memory is asked for.
pub(super) const AHEAD: usize = 8;

/// One number for each of a block's labels.
pub(super) type Line<const W: usize> = [f32; W];

/// Adds `factor` times a line to another.
#[inline(always)]
pub(super) fn add<const W: usize>(sum: &mut Line<W>, factor: f32, line: &Line<W>) {
    for column in 0..W {
        sum[column] += factor * line[column];
    }
}

/// Lines in memory, the first at the beginning of a cache line: loads of vectors that straddle two would take twice as long.
pub(super) struct Lines<const W: usize> {
    numbers: Vec<f32>,
    start: usize,
    length: usize,
}

impl<const W: usize> Lines<W> {
    const BYTES: usize = 64;

    /// `lines` lines of zeros.
    pub(super) fn zeros(lines: usize) -> Lines<W> {
        let numbers = vec![0.0; lines * W + Self::BYTES / size_of::<f32>()];
        let start = numbers.as_ptr().align_offset(Self::BYTES).min(Self::BYTES / size_of::<f32>());
        Lines { numbers, start, length: lines * W }
    }

    /// All of them.
    pub(super) fn get(&self) -> &[Line<W>] {
        self.numbers[self.start..self.start + self.length].as_chunks().0
    }

    /// All of them, to change.
    pub(super) fn get_mut(&mut self) -> &mut [Line<W>] {
        self.numbers[self.start..self.start + self.length].as_chunks_mut().0
    }
}

/// Rejects numbers of features that the memory has no lines for: a header may claim any, and an allocation that fails ends the process.
pub(super) fn check_room(features: usize, columns: usize) -> Result<()> {
    let bytes = features.saturating_mul(columns.max(1).next_multiple_of(16)).saturating_mul(size_of::<f32>());
    let mut room: Vec<u8> = Vec::new();
    let found = room.try_reserve_exact(bytes);
    // Otherwise an allocation that nobody uses is left out.
    std::hint::black_box(&mut room);
    found.map_err(|_| {
        Error::value(format!("the memory cannot hold the weights of {features} features"))
            .expected(format!("room for {}", byte_count(bytes as u64)))
            .hint("correct the number of features in the header, or number the features that occur without gaps")
    })
}

/// Weights by feature, wherever they lie.
pub(super) trait Weights<const W: usize> {
    /// The weights of a feature.
    fn line(&self, feature: u32) -> &Line<W>;
}

impl<const W: usize> Weights<W> for [Line<W>] {
    #[inline(always)]
    fn line(&self, feature: u32) -> &Line<W> {
        &self[feature as usize]
    }
}

/// Adds the products of the batch's rows with the weights to their logits.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn add_products<const W: usize>(batch: &Batch, weights: &(impl Weights<W> + ?Sized), logits: &mut [Line<W>]) {
    let features = batch.features();
    for (index, (feature, places, values)) in batch.by_feature().enumerate() {
        if let Some(&next) = features.get(index + AHEAD) {
            prefetch(weights.line(next));
        }
        let weights = *weights.line(feature);
        for (&place, &value) in places.iter().zip(values) {
            add(&mut logits[place as usize], value, &weights);
        }
    }
}

/// Adds to each feature's line the sum of its rows' gradients, each times the feature's value there.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn add_gradients<const W: usize>(batch: &Batch, gradients: &[Line<W>], lines: &mut [Line<W>]) {
    let features = batch.features();
    for (index, (feature, places, values)) in batch.by_feature().enumerate() {
        if let Some(&next) = features.get(index + AHEAD) {
            prefetch(&lines[next as usize]);
        }
        let mut sum = lines[feature as usize];
        for (&place, &value) in places.iter().zip(values) {
            add(&mut sum, value, &gradients[place as usize]);
        }
        lines[feature as usize] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_features_than_memory_are_refused() {
        assert!(check_room(1000, 40).is_ok());
        for features in [usize::MAX, usize::MAX / 64 / 2] {
            let error = check_room(features, 1).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the memory cannot hold the weights of {features} features")), "{error}");
        }
    }
}
