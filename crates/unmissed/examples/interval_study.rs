//! How often 95 % intervals hold what they are about, when the truth is known; see `docs/intervals.md`.
//!
//! Two worlds: 40 labels of similar frequency (`light`), and 400 labels whose frequencies fall like 1/rank (`Zipf`), most of which have no
//! or one hit in small samples. Rows have about four relevant labels; label j is observed with a propensity between 0.4 and 0.95 that
//! grows with its frequency. Two models find part of the relevant labels, the second fewer. In each repetition test rows, masks and
//! the evidence for propensities are drawn anew: 6 000 training rows, a controlled set of 500 or 2 500 rows in which each pair is shown
//! with probability 0.3, or a later snapshot with all labels of 2 000 of the training rows. An interval is about the mean, over all
//! repetitions, of the metric on the complete labels of as many rows; observed, normalized and clipped values, which estimate something
//! else, are about their own mean with the right propensities.
//!
//! `cargo run --release -p unmissed --example interval_study -- [REPETITIONS] [ROWS,...]`; a fifth of the repetitions from 10 000 rows on,
//! which take longest. Cells have the share of values and that of differences, in percent.

#![allow(clippy::print_stdout)]

use rayon::prelude::*;
use std::collections::BTreeMap;
use unmissed::data::{Csr, LabelStats, Labels, Rate};
use unmissed::evaluate::Evaluation;
use unmissed::metrics::Estimator;
use unmissed::propensity::estimators::direct::direct;
use unmissed::propensity::estimators::shrunken::shrunken;
use unmissed::propensity::estimators::timelapse::timelapse;
use unmissed::propensity::fit::FitOptions;
use unmissed::propensity::models::family;
use unmissed::propensity::{Propensities, Ratio};
use unmissed::{Error, Result};

const TRAIN: usize = 6_000;
const LATER: usize = 2_000;
const SHOWN: f64 = 0.3;
const K: usize = 3;
const MANY_ROWS: u64 = 10_000;
const METRICS: [&str; 7] = ["precision", "ndcg", "recall", "ndcg-min", "abandonment", "macro-f", "coverage"];
/// Those that are left out by default, too.
const ALL: [&str; 7] = [
    "precision",
    "ndcg",
    "recall:observed,unbiased",
    "ndcg-min:observed,unbiased",
    "abandonment",
    "macro-f",
    "coverage:observed,unbiased",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Labels with their frequencies and propensities.
struct World {
    name: &'static str,
    cumulative: Vec<f64>,
    propensities: Vec<f64>,
}

impl World {
    fn new(name: &'static str, weights: Vec<f64>) -> World {
        let (total, largest) = (weights.iter().sum::<f64>(), weights.iter().copied().fold(0.0, f64::max));
        let propensities = weights.iter().map(|weight| 0.4 + 0.55 * (weight / largest).sqrt()).collect();
        let mut sum = 0.0;
        let cumulative = weights.iter().map(|weight| {
            sum += weight / total;
            sum
        });
        World { name, cumulative: cumulative.collect(), propensities }
    }

    fn labels(&self) -> u64 {
        self.cumulative.len() as u64
    }

    fn draw(&self, random: &mut Random) -> u32 {
        let u = random.uniform();
        self.cumulative.partition_point(|c| *c <= u).min(self.cumulative.len() - 1) as u32
    }

    /// Complete labels of a row: two to six draws.
    fn row(&self, random: &mut Random) -> Vec<u32> {
        let count = 2 + (5.0 * random.uniform()) as usize;
        let mut labels: Vec<u32> = (0..count).map(|_| self.draw(random)).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    fn rows(&self, count: usize, random: &mut Random) -> Vec<Vec<u32>> {
        (0..count).map(|_| self.row(random)).collect()
    }

    /// What is observed of labels.
    fn masked(&self, rows: &[Vec<u32>], random: &mut Random) -> Vec<Vec<u32>> {
        let mut keep = |label: &u32| random.uniform() < self.propensities[*label as usize];
        rows.iter().map(|labels| labels.iter().copied().filter(|label| keep(label)).collect()).collect()
    }

    fn matrix(&self, rows: &[Vec<u32>]) -> Result<Labels<'static>> {
        Labels::from_ids(self.labels(), rows.to_vec())
    }

    /// Scores of a model that finds each relevant label with this probability, among four other labels.
    fn scores(&self, rows: &[Vec<u32>], skill: f64, random: &mut Random) -> Result<Csr<'static, f32>> {
        let mut of_row = |labels: &Vec<u32>| {
            let mut scored: Vec<(u32, f32)> = Vec::new();
            for label in labels {
                if random.uniform() < skill {
                    scored.push((*label, 0.3 + random.uniform() as f32));
                }
            }
            for _ in 0..4 {
                let label = self.draw(random);
                scored.push((label, random.uniform() as f32));
            }
            scored.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            scored.dedup_by_key(|entry| entry.0);
            scored
        };
        let scored: Vec<Vec<(u32, f32)>> = rows.iter().map(&mut of_row).collect();
        Csr::from_rows(self.labels(), scored)
    }

    /// Propensities by how they are known.
    fn known(&self, random: &mut Random) -> Result<Vec<(&'static str, Propensities)>> {
        let complete = self.rows(TRAIN, random);
        let observed = self.masked(&complete, random);
        let train = LabelStats::of(&self.matrix(&observed)?);
        let mut all = vec![("known", Propensities::new("known", self.propensities.clone())?)];
        for (count, names) in [(500, ["direct 500", "shrunken 500"]), (2_500, ["direct 2500", "shrunken 2500"])] {
            let mut shown = self.rows(count, random);
            shown.iter_mut().for_each(|labels| labels.retain(|_| random.uniform() < SHOWN));
            let found = direct(&train, &LabelStats::of(&self.matrix(&shown)?), &Rate::Common(SHOWN), 0.95)?;
            all.push((names[0], found.propensities()?));
            all.push((names[1], shrunken(&found, &family("power")?, &FitOptions::default(), 0.95)?.propensities));
        }
        let (earlier, later) = (self.matrix(&observed[..LATER])?, self.matrix(&complete[..LATER])?);
        all.push(("time-lapse", timelapse(&earlier, &later, &Ratio::new(family("power")?))?.propensities));
        Ok(all)
    }
}

/// What an interval is of: metric, estimator, propensities, and a model or both.
type Cell = (String, Estimator, &'static str, &'static str);

/// Value and interval.
#[derive(Clone, Copy)]
struct Found {
    value: f64,
    ends: Option<(f64, f64)>,
}

struct Repetition {
    found: BTreeMap<Cell, Found>,
    /// On complete labels.
    truth: BTreeMap<(String, &'static str), f64>,
}

fn repetition(world: &World, rows: usize, seed: u64) -> Result<Repetition> {
    let mut random = Random(seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ 0x5851_F42D_4C95_7F2D);
    let complete = world.rows(rows, &mut random);
    let observed = world.matrix(&world.masked(&complete, &mut random))?;
    let models = [world.scores(&complete, 0.6, &mut random)?, world.scores(&complete, 0.45, &mut random)?];
    let complete = world.matrix(&complete)?;
    let evaluation = |truth| Evaluation::new(truth, &[("a", &models[0]), ("b", &models[1])])?.ks(&[K]);
    let model = |name: &str| if name == "a" { "a" } else { "b" };
    let mut truth = BTreeMap::new();
    let result = evaluation(&complete)?.metrics(&METRICS)?.run()?;
    for row in result.rows.iter().filter(|row| row.estimator == Estimator::Observed) {
        truth.insert((row.metric.clone(), model(&row.model)), row.value.unwrap_or(f64::NAN));
    }
    for row in result.comparisons.iter().filter(|row| row.estimator == Estimator::Observed) {
        truth.insert((row.metric.clone(), "a - b"), row.difference.unwrap_or(f64::NAN));
    }
    let mut found = BTreeMap::new();
    for (name, p) in world.known(&mut random)? {
        let result = evaluation(&observed)?.metrics(&ALL)?.clip(2.0)?.propensity(p).run()?;
        for row in &result.rows {
            let cell = (row.metric.clone(), row.estimator, name, model(&row.model));
            found.insert(cell, Found { value: row.value.unwrap_or(f64::NAN), ends: row.low.zip(row.high) });
        }
        for row in &result.comparisons {
            let cell = (row.metric.clone(), row.estimator, name, "a - b");
            found.insert(cell, Found { value: row.difference.unwrap_or(f64::NAN), ends: row.low.zip(row.high) });
        }
    }
    Ok(Repetition { found, truth })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.filter(|value| value.is_finite()).fold((0.0, 0.0), |(s, c), value| (s + value, c + 1.0));
    sum / count
}

/// Shares of intervals that hold what they are about, by cell.
fn shares(world: &World, rows: usize, repetitions: u64) -> Result<BTreeMap<Cell, f64>> {
    let all: Vec<Repetition> = (0..repetitions).into_par_iter().map(|seed| repetition(world, rows, seed)).collect::<Result<_>>()?;
    let first = all.first().ok_or_else(|| Error::value("no repetitions"))?;
    let mut shares = BTreeMap::new();
    for cell in first.found.keys() {
        let (metric, estimator, _, of) = cell;
        let target = match estimator {
            Estimator::Unbiased => mean(all.iter().filter_map(|one| one.truth.get(&(metric.clone(), *of)).copied())),
            _ => {
                let known = (metric.clone(), *estimator, "known", *of);
                mean(all.iter().filter_map(|one| one.found.get(&known).map(|found| found.value)))
            }
        };
        let holds = |found: &Found| found.ends.is_some_and(|(low, high)| low <= target && target <= high);
        let held = all.iter().filter(|one| one.found.get(cell).is_some_and(holds)).count();
        shares.insert(cell.clone(), 100.0 * held as f64 / repetitions as f64);
    }
    Ok(shares)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let number = |text: &str| text.parse().map_err(|_| Error::value("not a number").found(text.to_owned()));
    let repetitions: u64 = number(&arguments.next().unwrap_or_else(|| "400".into()))?;
    let sizes = arguments.next().unwrap_or_else(|| "200,2000,20000".into());
    let sizes: Vec<u64> = sizes.split(',').map(number).collect::<Result<_>>()?;
    let worlds = [
        World::new("light", (0..40).map(|j| 1.0 + f64::from(j % 4)).collect()),
        World::new("Zipf", (1..=400).map(|rank| 1.0 / f64::from(rank)).collect()),
    ];
    let mut columns = Vec::new();
    for world in &worlds {
        for rows in &sizes {
            let repetitions = if *rows >= MANY_ROWS { repetitions.div_ceil(5) } else { repetitions };
            columns.push((format!("{} {rows}", world.name), shares(world, *rows as usize, repetitions)?));
            let error = 100.0 * (0.05 * 0.95 / repetitions as f64).sqrt();
            println!("{} {rows}: {repetitions} repetitions, a share has a standard error of {error:.1} points", world.name);
        }
    }
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    println!("\n| metric | estimator | propensities | {} |", names.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(columns.len()));
    // What is observed is the same whatever the propensities.
    let is_row = |cell: &&Cell| cell.3 == "a" && (cell.1 != Estimator::Observed || cell.2 == "known");
    for cell in columns[0].1.keys().filter(is_row) {
        let share = |shares: &BTreeMap<Cell, f64>, of: &'static str| {
            let share = shares.get(&(cell.0.clone(), cell.1, cell.2, of));
            share.map_or(String::new(), |share| format!("{share:.1}"))
        };
        let shares: Vec<String> =
            columns.iter().map(|(_, shares)| format!("{} {}", share(shares, "a"), share(shares, "a - b"))).collect();
        let propensities = if cell.1 == Estimator::Observed { "" } else { cell.2 };
        println!("| {} | {} | {propensities} | {} |", cell.0, cell.1, shares.join(" | "));
    }
    Ok(())
}
