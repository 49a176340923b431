//! Prediction speed: `cargo bench --bench prediction`.
//!
//! `UNMISSED_BENCH_FILE` is a data set; without it rows are drawn with the sizes of Wiki10-31K's features and 2 951 labels:
//! `UNMISSED_BENCH_ROWS` (6 229) rows of about `UNMISSED_BENCH_STORED` (670) features, `UNMISSED_BENCH_FEATURES` (101 938) and
//! `UNMISSED_BENCH_LABELS` (2 951). Weights are random, dense or mostly zero. Each JSON line has the best and the median of
//! several runs in microseconds per row, and the weights that it met, in bytes per second; `bandwidth` is the speed at which the same
//! threads read a buffer in the second-level cache in order, which is where prediction reads most weights from.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::{Csr, Features};
use unmissed::predict::{Block, Model, Normalize, PredictOptions};
use unmissed::propensity::Propensities;

const REPETITIONS: usize = 5;

fn size(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Uniform numbers in [0, 1), seeded.
fn uniform() -> impl FnMut() -> f64 {
    let mut state = 7u64;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn rows() -> Features<'static> {
    if let Ok(path) = std::env::var("UNMISSED_BENCH_FILE") {
        return read_dataset(path, &ReadOptions::default()).unwrap().into_parts().0.unwrap();
    }
    let (features, stored) = (size("UNMISSED_BENCH_FEATURES", 101_938), size("UNMISSED_BENCH_STORED", 670));
    let mut next = uniform();
    let rows = (0..size("UNMISSED_BENCH_ROWS", 6229)).map(|_| {
        // Log-uniform ranks are Zipf's law; features are numbered without regard to it.
        let draw = |u: f64| ((features as f64).powf(u) as usize).wrapping_mul(48_271) % features;
        let mut ids: Vec<u32> = (0..stored * 7 / 4).map(|_| draw(next()) as u32).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(|id| (id, 1.0f32)).collect::<Vec<_>>()
    });
    Features::Sparse(Csr::from_rows(features as u64, rows.collect::<Vec<_>>()).unwrap())
}

fn model(features: usize, labels: usize, zeros: f64) -> Model {
    let mut next = uniform();
    let blocks = (0..labels).step_by(32).map(|first| {
        let width = 32.min(labels - first);
        let weights = (0..features * width).map(|_| if zeros > 0.0 && next() < zeros { 0.0 } else { next() as f32 - 0.5 });
        Block { first: first as u32, bias: vec![0.0; width], weights: weights.collect() }
    });
    Model::new(features, Normalize::L2, blocks.collect()).unwrap()
}

/// Bytes a second that are read from a buffer that fits a second-level cache but not the first, on each of `threads`.
fn bandwidth(threads: usize) -> f64 {
    const BYTES: usize = 256 << 10;
    let work = || {
        let buffer = vec![1.0f32; BYTES / 4];
        let start = Instant::now();
        let rounds = 4000;
        for _ in 0..rounds {
            let sums = black_box(&buffer).chunks_exact(32).fold([0.0f32; 32], |mut sums, line| {
                sums.iter_mut().zip(line).for_each(|(sum, value)| *sum += value);
                sums
            });
            black_box(sums);
        }
        (rounds * BYTES) as f64 / start.elapsed().as_secs_f64()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

fn main() {
    let data = rows();
    let (labels, features) = (size("UNMISSED_BENCH_LABELS", 2951), data.cols());
    let (rows, stored) = (data.rows(), data.to_sparse().unwrap().nnz());
    let p = Propensities::new("bench", (0..labels).map(|label| 0.1 + 0.9 * label as f64 / labels as f64).collect()).unwrap();
    let plain = PredictOptions::default();
    let corrected = PredictOptions { propensities: Some(&p), ..plain };
    println!(
        "{{\"task\":\"data\",\"rows\":{rows},\"features\":{features},\"stored_a_row\":{:.0},\"labels\":{labels}}}",
        stored as f64 / rows as f64
    );
    for (form, zeros) in [("dense", 0.0), ("5 % of the weights", 0.95)] {
        let model = model(features, labels, zeros);
        for (name, options, threads) in
            [("top 5", &plain, 1), ("top 5", &plain, 2), ("top 5, divided by propensities", &corrected, 2)]
        {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut seconds: Vec<f64> = (0..REPETITIONS)
                .map(|_| {
                    let start = Instant::now();
                    black_box(pool.install(|| model.predict(&data, options).unwrap()));
                    start.elapsed().as_secs_f64()
                })
                .collect();
            seconds.sort_by(f64::total_cmp);
            let micros = |seconds: f64| 1e6 * seconds / rows as f64;
            let read = stored as f64 * labels as f64 * 4.0 / seconds[0];
            println!(
                "{{\"task\":\"{name}\",\"weights\":\"{form}\",\"model_mb\":{:.0},\"threads\":{threads},\"best_us_a_row\":{:.1},\
                 \"median_us_a_row\":{:.1},\"weights_gb_per_s\":{:.1},\"bandwidth_gb_per_s\":{:.1}}}",
                model.bytes() as f64 / 1e6,
                micros(seconds[0]),
                micros(seconds[REPETITIONS / 2]),
                read / 1e9,
                bandwidth(threads) / 1e9
            );
        }
    }
}
