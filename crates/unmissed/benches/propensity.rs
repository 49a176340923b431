//! How long propensity fits take.

#![allow(missing_docs, clippy::expect_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use unmissed::propensity::fit::{CurveEvidence, FitLoss, FitOptions, fit};
use unmissed::propensity::{Sample, models::family};

/// The library's own, which is no part of its public surface.
#[allow(dead_code, unused_imports)]
#[path = "../src/rng.rs"]
mod rng;
use rng::uniform_at;

/// Labels with counts that are log-uniform, and inverse propensities that scatter around a power of the prior.
fn evidence(labels: u32, rows: f64) -> CurveEvidence {
    let of = |label: u32| {
        let count = (uniform_at(11, label) * (0.3 * rows).ln()).exp().floor();
        let exposure = 0.05 * count;
        let noise = (0.5 * (-2.0 * (1.0 - uniform_at(12, label)).ln()).sqrt()).exp();
        (count as u64, (exposure * noise * (rows / count).powf(0.3)).round() as u64, exposure)
    };
    CurveEvidence::from_controlled(Sample { rows, largest: 0.3 * rows }, (0..labels).map(of))
}

fn fits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fit, 16 starts, 100 000 labels");
    group.sample_size(10);
    let options = FitOptions { loss: FitLoss::Squared, ..FitOptions::default() };
    for (name, rows) in [("2 M rows", 2e6), ("2 G rows (nearly all counts distinct)", 2e9)] {
        let evidence = evidence(100_000, rows);
        for model in ["richards", "jpv", "power"] {
            let family = family(model).expect("a known curve");
            group.bench_function(format!("{model}, {name}"), |bencher| {
                bencher.iter(|| fit(black_box(&family), &evidence, &options).expect("a fit").mse)
            });
        }
    }
}

criterion_group!(benches, fits);
criterion_main!(benches);
