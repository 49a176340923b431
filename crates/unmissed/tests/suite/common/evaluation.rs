//! Small random data and the definitions written out, for the tests of evaluation.

use crate::common::rng::{Purpose, row_key, uniform_at};
use unmissed::data::{Csr, Labels};

/// A set of rows: relevant labels, and scores of some labels.
#[derive(Clone, Debug)]
pub struct Rows {
    pub labels: usize,
    pub truth: Vec<Vec<u32>>,
    pub scores: Vec<Vec<(u32, f32)>>,
}

impl Rows {
    /// Seeded rows: label j is relevant with probability `rate / (j + 1)^0.5`, and relevant labels have higher scores.
    pub fn random(rows: usize, labels: usize, rate: f64, skill: f64, seed: u64) -> Rows {
        let mut all = Rows { labels, truth: Vec::new(), scores: Vec::new() };
        for row in 0..rows as u64 {
            let key = row_key(seed, Purpose::GenerateRows, row);
            let truth: Vec<u32> = (0..labels as u32).filter(|j| uniform_at(key, *j) < rate / f64::from(j + 1).sqrt()).collect();
            let key = row_key(seed + 1, Purpose::GenerateRows, row);
            let scored = (0..labels as u32).filter(|j| uniform_at(key, labels as u32 + j) < 0.8);
            let score = |j: u32| (uniform_at(key, j) + if truth.contains(&j) { skill } else { 0.0 }) as f32;
            all.scores.push(scored.map(|j| (j, score(j))).collect());
            all.truth.push(truth);
        }
        all
    }

    pub fn labels(&self) -> Labels<'static> {
        Labels::from_ids(self.labels as u64, self.truth.iter().cloned()).unwrap()
    }

    pub fn scores(&self) -> Csr<'static, f32> {
        Csr::from_rows(self.labels as u64, self.scores.iter().cloned()).unwrap()
    }

    /// The labels that are left when each goes missing independently.
    pub fn masked(&self, p: &[f64], seed: u64) -> Rows {
        let keep = |row: usize, j: u32| uniform_at(row_key(seed, Purpose::Mask, row as u64), j) < p[j as usize];
        let truth = self.truth.iter().enumerate().map(|(row, labels)| labels.iter().copied().filter(|j| keep(row, *j)).collect());
        Rows { truth: truth.collect(), ..self.clone() }
    }

    /// The labels of a row in the order of ranks.
    pub fn ranked(&self, row: usize) -> Vec<u32> {
        let mut entries = self.scores[row].clone();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        entries.into_iter().map(|entry| entry.0).collect()
    }
}

/// `1 / log2(rank + 1)`, ranks from 1.
pub fn discount(rank: usize) -> f64 {
    1.0 / ((rank + 1) as f64).log2()
}

/// A metric of one row, given its relevant labels.
pub fn row_value(metric: &str, top: &[u32], relevant: &[u32], k: usize, weights: &[f64]) -> f64 {
    let top = &top[..top.len().min(k)];
    let hits = || top.iter().enumerate().filter(|(_, j)| relevant.contains(j));
    let dcg: f64 = hits().map(|(r, _)| discount(r + 1)).sum();
    let ideal = |count: usize| (1..=count).map(discount).sum::<f64>();
    match metric {
        "precision" => hits().count() as f64 / k as f64,
        "weighted-precision" => hits().map(|(_, j)| weights[*j as usize]).sum::<f64>() / k as f64,
        "ndcg" => dcg / ideal(k),
        "ndcg-min" if relevant.is_empty() => 0.0,
        "ndcg-min" => dcg / ideal(k.min(relevant.len())),
        "recall" if relevant.is_empty() => 0.0,
        "recall" => hits().count() as f64 / relevant.len() as f64,
        "abandonment" => f64::from(u8::from(hits().count() == 0)),
        other => panic!("no row metric {other}"),
    }
}

/// The general unbiased estimate: over all subsets of the observed labels.
pub fn by_subsets(metric: &str, top: &[u32], observed: &[u32], k: usize, weights: &[f64], q: &[f64]) -> f64 {
    let mut total = 0.0;
    for set in 0u32..1 << observed.len() {
        let members: Vec<u32> = (0..observed.len()).filter(|i| set >> i & 1 == 1).map(|i| observed[i]).collect();
        let factor = |i: usize| if set >> i & 1 == 1 { q[observed[i] as usize] } else { 1.0 - q[observed[i] as usize] };
        let weight: f64 = (0..observed.len()).map(factor).product();
        total += weight * row_value(metric, top, &members, k, weights);
    }
    total
}

/// A metric that is a mean over labels.
pub fn label_value(metric: &str, rows: &Rows, k: usize, q: &[f64], group: &dyn Fn(u32) -> bool) -> f64 {
    let (mut total, mut size) = (0.0, 0.0);
    for j in (0..rows.labels as u32).filter(|j| group(*j)) {
        size += 1.0;
        let (mut hits, mut predicted, mut positives) = (0.0, 0.0, 0.0);
        for row in 0..rows.truth.len() {
            let is_predicted = rows.ranked(row).iter().take(k).any(|l| *l == j);
            let is_positive = rows.truth[row].contains(&j);
            predicted += f64::from(u8::from(is_predicted));
            positives += f64::from(u8::from(is_positive));
            hits += f64::from(u8::from(is_predicted && is_positive));
        }
        let q = q[j as usize];
        total += match metric {
            "macro-f" if predicted + positives == 0.0 => 0.0,
            "macro-f" => 2.0 * q * hits / (q * positives + predicted),
            "coverage" => 1.0 - (1.0 - q).powf(hits),
            other => panic!("no label metric {other}"),
        };
    }
    total / size
}
