//! Speed of optimised predictions: `cargo bench --bench optimization`.
//!
//! `UNMISSED_BENCH_ROWS` (20 000) rows with `UNMISSED_BENCH_STORED` (100) scores of `UNMISSED_BENCH_LABELS` (4 000) labels, whose
//! popularity is Zipf's. Each JSON line has the best and the median time of `UNMISSED_BENCH_REPETITIONS` (5) searches from scores to chosen
//! labels (drawing labels for the report is a line of its own), the objective of expected counts, the passes over the rows, and the most that the
//! process's memory grew meanwhile. `UNMISSED_BENCH_PYTHON` names a Python with xCOLUMNs, which then gets the same scores (`scripts/bench_optimization_peers.py`).

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod common;

use std::process::Command;
use std::time::Instant;
use unmissed::data::Scores;
use unmissed::data::formats::{self, Content};
use unmissed::optimize::Optimization;
use unmissed::request::{OptimizeRequest, Positives};

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

fn scores(rows: usize, labels: usize, stored: usize) -> Scores<'static> {
    let mut next = uniform();
    let (mut offsets, mut ids, mut values) = (vec![0u64], Vec::with_capacity(rows * stored), Vec::with_capacity(rows * stored));
    let mut seen = vec![usize::MAX; labels];
    for row in 0..rows {
        let mut count = 0;
        while count < stored {
            // Log-uniform ranks are Zipf's law; labels are numbered without regard to it.
            let label = ((labels as f64).powf(next()) as usize).wrapping_mul(48_271) % labels;
            if seen[label] != row {
                seen[label] = row;
                ids.push(label as u32);
                // A few labels of each row are likely, most are not.
                values.push(next().powi(6) as f32);
                count += 1;
            }
        }
        offsets.push(ids.len() as u64);
    }
    Scores::new(labels as u64, offsets, ids, values).unwrap()
}

fn main() {
    let [rows, labels, stored] = [("ROWS", 20_000), ("LABELS", 4_000), ("STORED", 100)]
        .map(|(name, default)| size(&format!("UNMISSED_BENCH_{name}"), default));
    let repetitions = size("UNMISSED_BENCH_REPETITIONS", 5);
    let scores = scores(rows, labels, stored).into_sorted();
    println!(r#"{{"rows": {rows}, "labels": {labels}, "stored": {stored}, "input_mb": {}}}"#, (scores.nnz() * 8) >> 20);
    let tasks = [
        ("macro-f", "bca", 0),
        ("macro-f", "bca:start=greedy", 0),
        ("macro-f", "greedy", 0),
        ("macro-f", "frank-wolfe", 0),
        ("0.5*precision+0.5*macro-f", "bca", 0),
        ("coverage", "bca", 0),
        ("macro-f", "bca", 40),
    ];
    let only = std::env::var("UNMISSED_BENCH_TASKS").ok().and_then(|text| text.parse().ok()).unwrap_or(tasks.len());
    // One thread: the search is sequential, and what is around it is not to look faster than it.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (metric, method, draws) in tasks.into_iter().take(only) {
        let request = OptimizeRequest {
            metric: metric.parse().unwrap(),
            method: method.parse().unwrap(),
            positives: Positives::Stored,
            draws,
            ..OptimizeRequest::default()
        };
        let mut seconds = Vec::new();
        let run = || pool.install(|| Optimization::new(&scores, request.clone()).unwrap().run().unwrap()).report;
        let grown = common::peak_anonymous(|| drop(run()));
        let mut last = None;
        for _ in 0..repetitions {
            let start = Instant::now();
            last = Some(run());
            seconds.push(start.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        let report = last.unwrap();
        println!(
            r#"{{"task": "{metric}@5", "method": "{method}", "draws": {}, "best_s": {:.4}, "median_s": {:.4}, "before": {:.6}, "value": {:.6}, "passes": {}, "grown_mb": {}}}"#,
            report.draws,
            seconds[0],
            seconds[seconds.len() / 2],
            report.value_before,
            report.value,
            report.values.len(),
            grown >> 20,
        );
    }
    if let Ok(python) = std::env::var("UNMISSED_BENCH_PYTHON") {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scores.npz");
        formats::write(&Content::Scores(scores), &file, None).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/bench_optimization_peers.py");
        assert!(Command::new(python).arg(script).arg(&file).status().unwrap().success());
    }
}
