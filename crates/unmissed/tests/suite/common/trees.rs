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
    TreeRequest { tree: tree.parse().unwrap(), prune: Some(0.01), ..TreeRequest::default() }
}

fn draw(seed: u64, row: usize, what: u32) -> f64 {
    uniform_at(row_key(seed, Purpose::GenerateRows, row as u64), what)
}

/// The rows without the labels that were missed: each is observed with its propensity.
pub fn observed(complete: &Dataset<'static>, propensity: impl Fn(u32) -> f64, seed: u64) -> Dataset<'static> {
    let labels = complete.labels();
    let kept = |row: usize| {
        let labels = labels.row_ids(row).iter().copied();
        labels.filter(|label| draw(seed, row, *label) < propensity(*label)).collect::<Vec<u32>>()
    };
    let kept = Labels::from_ids(labels.cols() as u64, (0..complete.rows()).map(kept)).unwrap();
    Dataset::new(complete.features().cloned(), kept).unwrap()
}

/// The rows as a controlled set, in which so many labels were shown on each: what is relevant of them, and what was shown.
pub fn controlled(complete: &Dataset<'static>, shown: u32, seed: u64) -> (Dataset<'static>, Labels<'static>) {
    let count = complete.labels().cols();
    let shown = |row: usize| {
        let mut order: Vec<u32> = (0u32..).take(count).collect();
        order.sort_by(|a, b| draw(seed, row, 1000 + a).total_cmp(&draw(seed, row, 1000 + b)));
        order.truncate(shown as usize);
        order.sort_unstable();
        order
    };
    let relevant = |row: usize| {
        let all = complete.labels().row_ids(row);
        shown(row).into_iter().filter(|label| all.contains(label)).collect::<Vec<u32>>()
    };
    let positives = Labels::from_ids(count as u64, (0..complete.rows()).map(relevant)).unwrap();
    let shown = Labels::from_ids(count as u64, (0..complete.rows()).map(shown)).unwrap();
    (Dataset::new(complete.features().cloned(), positives).unwrap(), shown)
}
