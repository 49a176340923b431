//! Reading speed and peak memory: `UNMISSED_BENCH_FILE=data.txt cargo bench --bench reading`.
//!
//! Prints a JSON line for each number of threads: the best and the median of several reads of the file into matrices, and
//! the peak of anonymous memory over what the matrices themselves take. Without the variable a file is generated.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod common;

use common::peak_anonymous;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::{Dataset, Features};

const REPETITIONS: usize = 7;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("UNMISSED_BENCH_FILE").map_or_else(|| generate(folder.path().join("data.txt")), PathBuf::from);
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    for (threads, mmap) in [(1, true), (2, true), (2, false), (1, true), (2, true)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = ReadOptions { mmap, ..ReadOptions::default() };
        let mut seconds = Vec::new();
        let mut matrices = 0;
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            let data = pool.install(|| read_dataset(&path, &options)).unwrap();
            seconds.push(start.elapsed().as_secs_f64());
            matrices = bytes(&data);
        }
        let peak = peak_anonymous(|| drop(pool.install(|| read_dataset(&path, &options)).unwrap()));
        seconds.sort_by(f64::total_cmp);
        println!(
            "{{\"task\":\"read\",\"threads\":{threads},\"mmap\":{mmap},\"megabytes\":{megabytes:.1},\"best_mb_per_s\":{:.0},\"median_mb_per_s\":{:.0},\"peak_over_matrices\":{:.3}}}",
            megabytes / seconds[0],
            megabytes / seconds[REPETITIONS / 2],
            peak as f64 / matrices as f64
        );
    }
}

fn bytes(data: &Dataset<'_>) -> u64 {
    let features = match data.features() {
        Some(Features::Sparse(matrix)) => matrix.bytes(),
        _ => 0,
    };
    (features + data.labels().bytes()) as u64
}

/// About 60 MB of rows with values of six decimals.
fn generate(path: PathBuf) -> PathBuf {
    let (rows, features, labels) = (6000u64, 100_000u64, 3000u64);
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "{rows} {features} {labels}").unwrap();
    let mut state = 1u64;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    for _ in 0..rows {
        let row: std::collections::BTreeSet<u64> = (0..13).map(|_| next(labels)).collect();
        write!(file, "{}", row.iter().map(u64::to_string).collect::<Vec<_>>().join(",")).unwrap();
        let row: std::collections::BTreeSet<u64> = (0..700).map(|_| next(features)).collect();
        for feature in row {
            write!(file, " {feature}:0.{:06}", next(1_000_000)).unwrap();
        }
        writeln!(file).unwrap();
    }
    file.into_inner().unwrap();
    path
}
