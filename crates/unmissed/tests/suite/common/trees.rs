//! Data and requests for models on trees.

use super::rng::{Purpose, row_key, uniform_at};
use unmissed::data::{Csr, Dataset, Features, Labels};
use unmissed::predict::TreeModel;
use unmissed::request::TreeRequest;
use unmissed::train::TreeTrainer;

/// Rows of words of which some go with each label.
pub fn words(rows: usize, features: u32, labels: u32, seed: u64) -> Dataset<'static> {
    let draw = |row: usize, what: u32| uniform_at(row_key(seed, Purpose::GenerateRows, row as u64), what);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in 0..rows {
        // Small numbers are more frequent.
        let label = |which: u32| ((draw(row, which).powi(2) * f64::from(labels)) as u32).min(labels - 1);
        let mut own: Vec<u32> = (0..(draw(row, 9) * 3.5) as u32).map(label).collect();
        own.sort_unstable();
        own.dedup();
        let mut entries: Vec<u32> =
            own.iter().flat_map(|label| (0..3).map(move |word| (label * 7 + word * 13) % features)).collect();
        entries.extend((0..3).map(|word| (draw(row, 20 + word) * f64::from(features)) as u32));
        entries.sort_unstable();
        entries.dedup();
        x.push(entries.into_iter().map(|feature| (feature, 1.0 + draw(row, 100 + feature) as f32)).collect::<Vec<_>>());
        y.push(own);
    }
    let features = Csr::from_rows(features.into(), x).unwrap();
    Dataset::new(Some(Features::Sparse(features)), Labels::from_ids(labels.into(), y).unwrap()).unwrap()
}

pub fn train(request: TreeRequest, data: &Dataset<'_>) -> TreeModel {
    TreeTrainer::new(request).train(data).unwrap().0
}

pub fn request(tree: &str) -> TreeRequest {
    TreeRequest { tree: tree.parse().unwrap(), prune: 0.01, ..TreeRequest::default() }
}
