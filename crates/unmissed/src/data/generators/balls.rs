//! `balls`: each label is a ball, and the labels of a point are the balls that it lies in.
//!
//! Rows are uniform in the unit ball S of `dim` dimensions. Label j is a ball of radius `r_j`, uniform between the ends of
//! `radius`, around a centre that is uniform in the ball of radius `1 - r_j`, so that it lies within S. Radii are drawn one
//! from each of m equal slices of their range, in random order: a few large balls hold most positives, and without that the
//! number of labels per row would differ by half from seed to seed. Nothing is missing and nothing is noise: the prior of
//! label j is exactly
//!
//! `pi_j = vol(ball j) / vol(S) = r_j^dim`
//!
//! and with the defaults a row has `100 (0.8^7 - 0.1^7) / (7 * 0.7) = 4.28` labels on average.
//!
//! ```
//! use unmissed::data::generators::generate;
//! let disc = [("labels", "1"), ("dim", "2"), ("radius", "0.5"), ("train-rows", "10000"), ("test-rows", "1")];
//! let data = generate("balls", &disc, 1)?;
//! // A disc of half the radius has a quarter of the area.
//! assert_eq!(data.tables[0].rows[0], [0.5, 0.25]);
//! let inside = data.parts[0].1.labels().nnz() as f64;
//! assert!((inside - 2_500.0).abs() < 4.0 * (10_000.0 * 0.25 * 0.75f64).sqrt());
//! # Ok::<(), unmissed::Error>(())
//! ```
//!
//! # Assumes
//! Labels are a function of the features, and not a linear one: a linear model cannot be perfect here.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar, Dembczynski: KDD 2022 (m = 100, 4.27 labels per row; 70 000 rows of which 10 % are held out
//! for tuning, 30 000 for testing). Its text leaves dimension and radii open; six dimensions and radii from 0.1 to 0.8 bring
//! its number of labels per row out. The construction goes back to Mldatagen (2014).

use super::{Generated, GeneratedTable, Generator, GeneratorParameter, GeneratorSettings, row_number};
use crate::data::{Dataset, Dense, Features, Labels};
use crate::error::Result;
use crate::rng::{Purpose, row_key, stream, uniform};
use crate::spec::Named;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// See the module's page.
pub(super) struct Balls;

impl crate::sealed::Sealed for Balls {}

impl Named for Balls {
    fn name(&self) -> &'static str {
        "balls"
    }
    fn summary(&self) -> &'static str {
        "points in a ball, labelled by the smaller balls that they lie in (complete labels with known priors)"
    }
}

struct Ball {
    centre: Vec<f64>,
    radius: f64,
}

impl Generator for Balls {
    fn parameters(&self) -> &'static [GeneratorParameter] {
        &[
            GeneratorParameter { name: "labels", default: "100", help: "number of labels" },
            GeneratorParameter { name: "dim", default: "6", help: "number of features" },
            GeneratorParameter { name: "radius", default: "0.1,0.8", help: "smallest and largest radius of a label's ball" },
            GeneratorParameter { name: "train-rows", default: "70000", help: "rows of the training part" },
            GeneratorParameter { name: "test-rows", default: "30000", help: "rows of the test part" },
        ]
    }

    fn generate(&self, settings: &GeneratorSettings, seed: u64) -> Result<Generated> {
        let labels = settings.whole("labels", 1)?;
        let dim = settings.whole("dim", 1)?;
        let (low, high) = settings.range("radius", "'low,high' within 0 and 1", |radius| (0.0..=1.0).contains(&radius))?;
        let rows = [settings.whole("train-rows", 1)?, settings.whole("test-rows", 1)?];
        crate::data::check_label_limit(labels as u64)?;
        settings.check_size(rows[0].max(rows[1]).max(labels), dim)?;
        let slices = shuffled(labels, seed);
        let balls: Vec<Ball> = (0..labels)
            .map(|label| {
                let mut rng = stream(seed, Purpose::GenerateLabels, label as u64);
                let place = (slices[label] as f64 + uniform(&mut rng)) / labels as f64;
                let radius = low + (high - low) * place;
                Ball { centre: point_in_ball(&mut rng, dim, 1.0 - radius), radius }
            })
            .collect();
        let power = i32::try_from(dim).map_err(|_| settings.wrong("dim", &format!("at most {}", i32::MAX), &dim.to_string()))?;
        let prior = |radius: f64| radius.powi(power);
        Ok(Generated {
            parts: vec![("train", points(&balls, dim, rows[0], 0, seed)?), ("test", points(&balls, dim, rows[1], 1, seed)?)],
            tables: vec![GeneratedTable {
                stem: "labels",
                columns: &["radius", "prior"],
                rows: balls.iter().map(|ball| vec![ball.radius, prior(ball.radius)]).collect(),
            }],
            notes: vec![format!(
                "labels are complete; a row has {:.2} in expectation",
                balls.iter().map(|ball| prior(ball.radius)).sum::<f64>()
            )],
        })
    }
}

/// The numbers below `count` in random order.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_cached_key(|number| row_key(seed, Purpose::GenerateLabels, row_number(1, *number)));
    order
}

/// Uniform in the ball of this radius around the origin: a direction from normal numbers, and a distance u^(1/dim).
fn point_in_ball(rng: &mut ChaCha8Rng, dim: usize, radius: f64) -> Vec<f64> {
    let mut point: Vec<f64> = (0..dim).map(|_| StandardNormal.sample(rng)).collect();
    let norm = point.iter().map(|x| x * x).sum::<f64>().sqrt();
    let scale = radius * uniform(rng).powf(1.0 / dim as f64) / norm;
    point.iter_mut().for_each(|x| *x *= scale);
    point
}

fn points(balls: &[Ball], dim: usize, rows: usize, part: u64, seed: u64) -> Result<Dataset<'static>> {
    let (points, labels): (Vec<Vec<f32>>, Vec<Vec<u32>>) = (0..rows)
        .into_par_iter()
        .map(|row| {
            let mut rng = stream(seed, Purpose::GenerateRows, row_number(part, row));
            // Rounded before they are labelled, so that the labels are a function of what is written.
            let point: Vec<f32> = point_in_ball(&mut rng, dim, 1.0).into_iter().map(|x| x as f32).collect();
            let inside = |ball: &Ball| {
                let square: f64 = point.iter().zip(&ball.centre).map(|(x, c)| (f64::from(*x) - c).powi(2)).sum();
                square <= ball.radius * ball.radius
            };
            let labels = (0u32..).zip(balls).filter(|(_, ball)| inside(ball)).map(|(label, _)| label).collect();
            (point, labels)
        })
        .unzip();
    let features = Dense::new(rows, dim, points.concat())?;
    Dataset::new(Some(Features::Dense(features)), Labels::from_ids(balls.len() as u64, labels)?)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{same_on_any_number_of_threads, settings};
    use super::*;
    use crate::data::LabelStats;

    #[test]
    fn priors_are_the_volumes_of_the_balls() {
        let data = Balls.generate(&settings(&Balls, &[("train-rows", "20000"), ("test-rows", "1")]), 1).unwrap();
        let counts = LabelStats::of(data.part("train").unwrap().labels());
        let (mut chi_square, mut df) = (0.0, 0.0);
        for (label, row) in data.table("labels").unwrap().rows.iter().enumerate() {
            let expected = 20_000.0 * row[1];
            assert_eq!(row[1], row[0].powi(6));
            if expected >= 5.0 {
                let deviation = (counts.count(label as u32) as f64 - expected) / (expected * (1.0 - row[1])).sqrt();
                assert!(deviation.abs() < 4.0, "label {label}: {deviation} standard errors from {expected}");
                chi_square += deviation * deviation;
                df += 1.0;
            }
        }
        // Balls overlap, so the deviations are correlated and the bound is wider than for independent ones.
        assert!(df > 50.0 && (chi_square - df).abs() < 8.0 * (2.0f64 * df).sqrt(), "{chi_square} on {df} degrees of freedom");
    }

    /// Slices of radii make each seed's expectation vary with a standard deviation of about 0.02 only.
    #[test]
    fn every_seed_has_the_papers_number_of_labels_a_row() {
        for seed in 0..20 {
            let data = Balls.generate(&settings(&Balls, &[("train-rows", "1"), ("test-rows", "1")]), seed).unwrap();
            let expectation: f64 = data.table("labels").unwrap().rows.iter().map(|row| row[1]).sum();
            assert!((expectation - 4.28).abs() < 0.1, "seed {seed}: {expectation}");
        }
    }

    #[test]
    fn threads_do_not_matter_and_parts_do_not_touch_each_other() {
        let sizes = |train| settings(&Balls, &[("train-rows", train), ("test-rows", "500"), ("labels", "20")]);
        same_on_any_number_of_threads(&Balls, &sizes("3000"));
        let test = |train| Balls.generate(&sizes(train), 3).unwrap().part("test").unwrap().clone();
        assert_eq!(test("3000"), test("10"));
    }

    #[test]
    fn points_are_uniform_in_the_unit_ball() {
        let data = Balls.generate(&settings(&Balls, &[("train-rows", "10000"), ("test-rows", "1"), ("dim", "3")]), 2).unwrap();
        let Some(Features::Dense(points)) = data.part("train").unwrap().features() else { panic!("dense features") };
        let norms: Vec<f32> = (0..10_000).map(|row| points.row(row).iter().map(|x| x * x).sum::<f32>().sqrt()).collect();
        assert!(norms.iter().all(|norm| *norm <= 1.000_001));
        let inner = norms.iter().filter(|norm| **norm < 0.5).count() as f64;
        assert!((inner - 1250.0).abs() < 4.0 * (10_000.0 * 0.125 * 0.875f64).sqrt(), "{inner}");
    }
}
