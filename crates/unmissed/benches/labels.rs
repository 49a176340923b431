//! Work that is linear in labels or label occurrences, at the size of the largest public data sets:
//! `cargo bench --bench labels`. Prints a JSON line for each task: the best of three runs on two threads.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;
use unmissed::data::{DataStats, Dataset, LabelStats, Labels, mask};
use unmissed::propensity::{bands, checks, models};

const ROWS: u64 = 1_700_000;
const LABELS: u64 = 3_000_000;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let labels = generate();
    let stats = LabelStats::of(&labels);
    let data = Dataset::new(None, labels).unwrap();
    println!("{{\"task\":\"data\",\"rows\":{ROWS},\"labels\":{LABELS},\"positives\":{}}}", data.labels().nnz());
    pool.install(|| {
        time("statistics", || {
            std::hint::black_box(DataStats::of(&data, 0));
        });
        time("five models with their checks", || {
            for spec in ["constant", "jpv", "jpv:wikipedia", "power", "power:gamma=0.5"] {
                let model = models::parse(spec).unwrap();
                let stats = LabelStats::of(data.labels());
                let propensities = model.propensities(&stats).unwrap();
                bands::bands(&propensities, &stats).unwrap();
                checks::implied_priors(&propensities, &stats).unwrap();
                checks::effective_sample_size(&propensities, &stats).unwrap();
                checks::copies(model.curve().unwrap(), &stats, &[1.0, 10.0]).unwrap();
            }
        });
        let propensities = models::parse("power:gamma=0.5").unwrap().propensities(&stats).unwrap();
        time("mask", || drop(mask(data.labels(), propensities.values(), 1).unwrap()));
    });
}

fn time(task: &str, work: impl Fn()) {
    let once = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    let best = (0..3).map(|_| once()).fold(f64::INFINITY, f64::min);
    println!("{{\"task\":\"{task}\",\"seconds\":{best:.3}}}");
}

/// Five draws per row from a power law over the labels.
fn generate() -> Labels<'static> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
        ((LABELS as f64).powf(uniform) as u64).min(LABELS - 1) as u32
    };
    let rows = (0..ROWS).map(|_| {
        let mut row: Vec<u32> = (0..5).map(|_| next()).collect();
        row.sort_unstable();
        row.dedup();
        row
    });
    Labels::from_ids(LABELS, rows).unwrap()
}
