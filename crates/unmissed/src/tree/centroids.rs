//! Centroids of labels: the direction of the mean of a label's rows, by its largest features.
//!
//! Missing labels do no harm here: the expected sum of the rows on which a label was observed is its propensity times the sum of all
//! its rows, which is the same direction.

use super::TreeData;
use rayon::prelude::*;

/// Features of a centroid; the others are small and many.
const LARGEST: usize = 128;

/// Labels whose centroids a thread makes in one piece.
const TOGETHER: usize = 1024;

/// A sparse vector of length 1 for each label; none of any length for labels without rows.
pub(super) struct Centroids {
    starts: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f32>,
}

impl Centroids {
    pub(super) fn of(data: &TreeData<'_>) -> Centroids {
        let labels = data.label_rows.labels();
        let pieces: Vec<Centroids> = (0..labels.div_ceil(TOGETHER))
            .into_par_iter()
            .map(|piece| Centroids::piece(data, piece * TOGETHER..labels.min((piece + 1) * TOGETHER)))
            .collect();
        let total = pieces.iter().map(|piece| piece.features.len()).sum();
        let (mut features, mut values) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let mut starts = vec![0];
        for piece in pieces {
            starts.extend(piece.starts[1..].iter().map(|end| features.len() + end));
            features.extend(piece.features);
            values.extend(piece.values);
        }
        Centroids { starts, features, values }
    }

    fn piece(data: &TreeData<'_>, labels: std::ops::Range<usize>) -> Centroids {
        let mut sums = vec![0.0f32; data.features.cols()];
        let mut seen: Vec<u32> = Vec::new();
        let mut made = Centroids { starts: vec![0], features: Vec::new(), values: Vec::new() };
        for label in labels {
            for &row in data.label_rows.of_label(label as u32) {
                let (features, values) = data.features.row(row as usize);
                for (&feature, value) in features.iter().zip(values) {
                    let sum = &mut sums[feature as usize];
                    if *sum == 0.0 {
                        seen.push(feature);
                    }
                    *sum += value;
                }
            }
            // A sum can come back to zero and be seen again.
            seen.sort_unstable();
            seen.dedup();
            let mut entries: Vec<(u32, f32)> = seen.iter().map(|&feature| (feature, sums[feature as usize])).collect();
            seen.iter().for_each(|&feature| sums[feature as usize] = 0.0);
            seen.clear();
            if entries.len() > LARGEST {
                entries.select_nth_unstable_by(LARGEST, |a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
                entries.truncate(LARGEST);
                entries.sort_unstable_by_key(|entry| entry.0);
            }
            let length = entries.iter().map(|entry| f64::from(entry.1).powi(2)).sum::<f64>().sqrt();
            let factor = if length > 0.0 { (1.0 / length) as f32 } else { 0.0 };
            made.features.extend(entries.iter().map(|entry| entry.0));
            made.values.extend(entries.iter().map(|entry| factor * entry.1));
            made.starts.push(made.features.len());
        }
        made
    }

    /// The centroid of a label.
    #[inline]
    pub(super) fn of_label(&self, label: u32) -> (&[u32], &[f32]) {
        let range = self.starts[label as usize]..self.starts[label as usize + 1];
        (&self.features[range.clone()], &self.values[range])
    }
}
