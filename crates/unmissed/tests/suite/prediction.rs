//! Prediction against the plainest way to do it, and the promises about threads, forms and order.

use crate::common::sigmoid::sigmoid;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use unmissed::data::{Csr, Dense, Features, Scores};
use unmissed::predict::{Block, Model, Normalize, PredictOptions};
use unmissed::progress::Progress;
use unmissed::propensity::Propensities;
use unmissed::{Error, Result};

/// Seeded numbers in [0, 1).
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut label = 0;
    move || {
        label += 1;
        crate::common::rng::uniform_at(seed, label)
    }
}

/// A model whose blocks have the given widths, and a share of whose weights is zero.
fn model(features: usize, widths: &[usize], normalize: Normalize, zeros: f64, seed: u64) -> Model {
    let (mut next, mut first) = (numbers(seed), 0);
    // Few distinct weights make ties.
    let mut weight = || if next() < zeros { 0.0 } else { ((next() - 0.5) * 16.0).round() as f32 / 4.0 };
    let mut blocks = Vec::new();
    for &width in widths {
        let bias = (0..width).map(|_| weight()).collect();
        blocks.push(Block { first, bias, weights: (0..features * width).map(|_| weight()).collect() });
        first += width as u32;
    }
    Model::new(features, normalize, blocks).unwrap()
}

/// Rows with shuffled ids, some of them empty.
fn rows(count: usize, features: usize, density: f64, seed: u64) -> Csr<'static, f32> {
    let mut next = numbers(seed ^ 99);
    let rows: Vec<Vec<(u32, f32)>> = (0..count)
        .map(|row| {
            let density = if row % 5 == 3 { 0.0 } else { density };
            let mut ids: Vec<u32> = (0..features as u32).filter(|_| next() < density).collect();
            if row % 2 == 1 {
                ids.reverse();
            }
            ids.into_iter().map(|id| (id, (next() * 4.0 - 2.0) as f32)).collect()
        })
        .collect();
    Csr::from_rows(features as u64, rows).unwrap()
}

/// The logit of one row and label: terms added in the order of the features.
fn logit(model: &Model, row: (&[u32], &[f32]), label: u32) -> f32 {
    let mut entries: Vec<(u32, f32)> = row.0.iter().copied().zip(row.1.iter().copied()).collect();
    entries.sort_by_key(|entry| entry.0);
    let values: Vec<f32> = entries.iter().map(|entry| entry.1).collect();
    let factor = model.normalize().factor(&values);
    let start = model.bias()[label as usize];
    entries.iter().fold(start, |sum, (id, value)| sum + value * factor * model.weight(*id as usize, label))
}

/// Every label scored and sorted.
fn naive(model: &Model, data: &Csr<'_, f32>, options: &PredictOptions<'_>) -> Vec<Vec<(u32, f32)>> {
    data.iter()
        .map(|row| {
            let mut ranked: Vec<(f64, f32, u32)> = (0..model.labels() as u32)
                .filter_map(|label| {
                    let z = logit(model, row, label);
                    let probability = sigmoid(f64::from(z)) * options.propensities.map_or(1.0, |p| 1.0 / p.get(label));
                    let score = probability * options.weights.map_or(1.0, |w| w[label as usize]);
                    let adjusted = options.propensities.is_some() || options.weights.is_some();
                    let kept = options.threshold.is_none_or(|least| probability >= least);
                    // Adding zero makes -0 and 0 the same value: they tie.
                    kept.then_some((if adjusted { score } else { f64::from(z) } + 0.0, z + 0.0, label))
                })
                .collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
            let mut scores: Vec<(u32, f32)> = Vec::new();
            for (place, (value, z, label)) in ranked.iter().take(options.k).enumerate() {
                let adjusted = options.propensities.is_some() || options.weights.is_some();
                let mut score = if options.logits || adjusted { *value as f32 } else { sigmoid(f64::from(*z)) as f32 };
                if let Some((_, before)) = scores.last()
                    && score >= *before
                    && (ranked[place - 1].0, ranked[place - 1].1) != (*value, *z)
                {
                    score = before.next_down().max(0.0);
                }
                scores.push((*label, score));
            }
            scores
        })
        .collect()
}

fn given(scores: &Csr<'_, f32>) -> Vec<Vec<(u32, f32)>> {
    scores.iter().map(|(ids, values)| ids.iter().copied().zip(values.iter().copied()).collect()).collect()
}

fn on(threads: usize, work: impl FnOnce() -> Csr<'static, f32> + Send) -> Csr<'static, f32> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_way_to_predict_is_the_plain_one(
        features in 1usize..40,
        widths in proptest::collection::vec(1usize..70, 1..5),
        normalized in any::<bool>(),
        zeros in prop_oneof![Just(0.0), Just(0.95)],
        density in 0.0f64..1.0,
        k in 1usize..12,
        kind in 0usize..6,
        seed in any::<u64>(),
    ) {
        let normalize = if normalized { Normalize::L2 } else { Normalize::None };
        let model = model(features, &widths, normalize, zeros, seed);
        let data = rows(17, features, density, seed);
        let p: Vec<f64> = (0..model.labels()).map(|label| 1.0 / (1.0 + (label % 7) as f64)).collect();
        let p = Propensities::new("test", p).unwrap();
        let weights: Vec<f64> = (0..model.labels()).map(|label| (label % 5) as f64 / 2.0).collect();
        let plain = PredictOptions { k, ..Default::default() };
        let options = match kind {
            0 => plain,
            1 => PredictOptions { logits: true, ..plain },
            2 => PredictOptions { propensities: Some(&p), ..plain },
            3 => PredictOptions { weights: Some(&weights), ..plain },
            4 => PredictOptions { threshold: Some(0.75), k: 1000, ..plain },
            _ => PredictOptions { threshold: Some(0.75), propensities: Some(&p), weights: Some(&weights), ..plain },
        };
        let expected = naive(&model, &data, &options);
        let sparse = Features::Sparse(data.clone());
        prop_assert_eq!(&given(&model.predict(&sparse, &options).unwrap()), &expected);
        let mut values = vec![0.0; data.rows() * features];
        for (row, (ids, of)) in data.iter().enumerate() {
            ids.iter().zip(of).for_each(|(id, value)| values[row * features + *id as usize] = *value);
        }
        let dense = Features::Dense(Dense::new(data.rows(), features, values).unwrap());
        prop_assert_eq!(&given(&model.predict(&dense, &options).unwrap()), &expected);
        let logits = model.logits(&sparse, 3..9).unwrap();
        prop_assert_eq!(logits.len(), 6 * model.labels());
        for (at, score) in logits.iter().enumerate() {
            prop_assert_eq!(*score, logit(&model, data.row(3 + at / model.labels()), (at % model.labels()) as u32));
        }
        let probabilities = model.probabilities(&sparse, 3..9).unwrap();
        prop_assert!(probabilities.iter().zip(&logits).all(|(p, z)| *p == sigmoid(f64::from(*z)) as f32));
    }

    #[test]
    fn dropping_weights_is_a_model_with_zeros(least in 0.0f32..2.0, widths in proptest::collection::vec(1usize..40, 1..4), seed in any::<u64>()) {
        let dense = model(30, &widths, Normalize::L2, 0.0, seed);
        let blocks = dense.blocks().map(|mut block| {
            block.weights.iter_mut().for_each(|weight| if weight.abs() <= least { *weight = 0.0 });
            block
        });
        let expected = Model::new(30, Normalize::L2, blocks.collect()).unwrap();
        let pruned = dense.prune(least).unwrap();
        prop_assert_eq!(&pruned, &expected);
        let count: usize = expected.blocks().map(|block| block.weights.iter().filter(|weight| **weight != 0.0).count()).sum();
        prop_assert_eq!(pruned.nonzeros(), count as u64);
    }
}

/// Thousands of features and rows: several tiles, chunks and batches, with the lookup in sparse weights and without.
#[test]
fn large_batches_and_single_rows_agree_on_any_number_of_threads() {
    let features = 5000;
    for zeros in [0.0, 0.97] {
        let model = model(features, &[32, 32, 32, 16, 16, 5], Normalize::L2, zeros, 5);
        let data = rows(2500, features, 0.004, 11);
        let all = Features::Sparse(data.clone());
        let options = PredictOptions { k: 7, ..Default::default() };
        let one = on(1, || model.predict(&all, &options).unwrap());
        let four = on(4, || model.predict(&all, &options).unwrap());
        assert_eq!(one, four);
        for row in [0, 1, 1023, 1024, 2499] {
            let alone = model.predict(&Features::Sparse(data.select_rows(&[row])), &options).unwrap();
            assert_eq!(alone.row(0), one.row(row), "row {row}, zeros {zeros}");
        }
        let few: Vec<usize> = (0..40).collect();
        let expected = naive(&model, &data.select_rows(&few), &options);
        assert_eq!(given(&one)[..40], expected[..]);
    }
}

#[test]
fn sparse_storage_takes_fewer_bytes() {
    let dense = model(1000, &[32, 32], Normalize::None, 0.0, 1);
    let sparse = model(1000, &[32, 32], Normalize::None, 0.9, 1);
    assert!(dense.bytes() >= 4 * 1000 * 64 && 2 * sparse.bytes() < dense.bytes(), "{} {}", dense.bytes(), sparse.bytes());
}

#[test]
fn norms_are_those_of_the_columns() {
    let model = model(9, &[3, 40], Normalize::None, 0.5, 2);
    for (label, norm) in model.norms().iter().enumerate() {
        let square: f64 = (0..9).map(|feature| f64::from(model.weight(feature, label as u32)).powi(2)).sum();
        assert!((norm - square.sqrt()).abs() < 1e-12);
    }
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let model = model(3, &[2], Normalize::None, 0.0, 1);
    let sparse = |features: u64| Features::Sparse(Scores::new(features, vec![0, 1], vec![0], vec![1.0f32]).unwrap());
    let options = PredictOptions::default();
    assert!(model.predict(&sparse(2), &options).is_ok(), "features that are not there are zero");
    let message = model.predict(&sparse(4), &options).unwrap_err().to_string();
    assert!(
        message.starts_with("the rows do not have the features of the model: expected at most 3 features, found 4"),
        "{message}"
    );
    let dense = Features::Dense(Dense::new(1, 2, vec![1.0, 2.0]).unwrap());
    assert!(model.logits(&dense, 0..1).unwrap_err().to_string().contains("expected 3 features, found 2"));
    assert!(model.logits(&sparse(3), 0..2).unwrap_err().to_string().contains("no such rows"));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let model = model(1, &[2], Normalize::None, 0.0, 1);
    let data = Features::Sparse(Scores::new(1, vec![0, 1], vec![0], vec![1.0f32]).unwrap());
    let p = Propensities::new("test", vec![0.5]).unwrap();
    let plain = PredictOptions::default();
    for (options, part) in [
        (PredictOptions { k: 0, ..plain }, "expected at least 1, found 0"),
        (
            PredictOptions { propensities: Some(&p), ..plain },
            "the number of propensities does not match the model's labels: expected 2, found 1",
        ),
        (PredictOptions { weights: Some(&[1.0]), ..plain }, "the number of weights"),
        (PredictOptions { weights: Some(&[1.0, f64::NAN]), ..plain }, "the weight of label 1"),
        (PredictOptions { weights: Some(&[1.0, -1.0]), ..plain }, "the weight of label 1"),
        (PredictOptions { weights: Some(&[1.0, 1.0]), logits: true, ..plain }, "logits cannot be"),
        (PredictOptions { threshold: Some(1.5), ..plain }, "the threshold is out of range"),
        (PredictOptions { threshold: Some(f64::NAN), ..plain }, "the threshold is out of range"),
    ] {
        let message = model.predict(&data, &options).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    assert!(Model::prune(model, f32::NAN).is_err());
}

#[test]
fn scores_that_overflow_are_an_error_and_not_a_nan() {
    let block = Block { first: 0, bias: vec![0.0], weights: vec![3e38, 3e38] };
    let model = Model::new(2, Normalize::None, vec![block]).unwrap();
    let data = Features::Dense(Dense::new(1, 2, vec![2.0, -2.0]).unwrap());
    let message = model.predict(&data, &PredictOptions::default()).unwrap_err().to_string();
    assert!(message.contains("overflow"), "{message}");
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let block = |first: u32, weights: Vec<f32>| Block { first, bias: vec![0.0, 0.0], weights };
    for (block, part) in [
        (block(1, vec![0.0; 2]), "does not follow label 0"),
        (block(0, vec![0.0; 3]), "has 3 weights for 1 features and 2 labels"),
        (block(0, vec![0.0, f32::INFINITY]), "not finite"),
    ] {
        let message = Model::new(1, Normalize::None, vec![block]).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let empty = Model::new(5, Normalize::L2, vec![]).unwrap();
    let data = Features::Sparse(Scores::new(5, vec![0, 0], vec![], vec![]).unwrap());
    assert_eq!(empty.predict(&data, &PredictOptions::default()).unwrap().nnz(), 0);
}

/// Probabilities near 1 are the same number in single precision, yet labels rank by what they were, also for whoever ranks by scores.
#[test]
fn saturated_probabilities_keep_their_order() {
    let block = Block { first: 0, bias: vec![20.0, 40.0, 30.0], weights: vec![] };
    let model = Model::new(0, Normalize::None, vec![block]).unwrap();
    let data = Features::Sparse(Scores::new(0, vec![0, 0], vec![], vec![]).unwrap());
    let options = PredictOptions { k: 2, threshold: Some(1.0), ..Default::default() };
    let top = model.predict(&data, &options).unwrap();
    assert_eq!(top.row(0), (&[1][..], &[1.0][..]), "only sigmoid(40) is 1 in double precision");
    let top = model.predict(&data, &PredictOptions { k: 3, ..Default::default() }).unwrap();
    let (first, second) = (1.0f32.next_down(), 1.0f32.next_down().next_down());
    assert_eq!(top.row(0), (&[1, 2, 0][..], &[1.0, first, second][..]));
    // Corrected scores saturate as well, at 1/p.
    let p = Propensities::new("test", vec![0.5; 3]).unwrap();
    let top = model.predict(&data, &PredictOptions { k: 3, propensities: Some(&p), ..Default::default() }).unwrap();
    assert_eq!(top.row_ids(0), [1, 2, 0]);
    assert!(top.row(0).1.is_sorted_by(|a, b| a > b), "{:?}", top.row(0));
    // The same logit is a tie.
    let block = Block { first: 0, bias: vec![30.0, 40.0, 40.0, -300.0, -200.0], weights: vec![] };
    let model = Model::new(0, Normalize::None, vec![block]).unwrap();
    let top = model.predict(&data, &PredictOptions::default()).unwrap();
    assert_eq!(top.row(0), (&[1, 2, 0, 4, 3][..], &[1.0, 1.0, first, 0.0, 0.0][..]));
}

#[test]
fn progress_counts_rows_and_can_stop() {
    struct Watch(AtomicU64, u64);
    impl Progress for Watch {
        fn begin(&self, _stage: &str, total: u64) {
            assert_eq!(total, 30);
        }
        fn advance(&self, amount: u64) -> Result<()> {
            let seen = self.0.fetch_add(amount, Ordering::Relaxed) + amount;
            if seen >= self.1 { Err(Error::interrupted()) } else { Ok(()) }
        }
    }
    let model = model(3, &[2], Normalize::None, 0.0, 1);
    let data = Features::Sparse(rows(30, 3, 0.5, 1));
    let (all, stop) = (Watch(AtomicU64::new(0), 31), Watch(AtomicU64::new(0), 1));
    model.predict(&data, &PredictOptions { progress: &all, ..Default::default() }).unwrap();
    assert_eq!(all.0.into_inner(), 30);
    assert!(model.predict(&data, &PredictOptions { progress: &stop, ..Default::default() }).is_err());
}
