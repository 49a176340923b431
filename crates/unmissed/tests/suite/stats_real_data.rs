//! Statistics of real data sets against a computation that shares nothing with the library's: text split at spaces, counts
//! in hash maps, medians by sorting, and the obesity index by enumeration or by draws of its own.

use std::collections::HashMap;
use std::path::Path;
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::{DataStats, Obesity};

/// The header, counts of labels, numbers of labels of rows, and the number of features that are not zero.
struct Naive {
    header: Vec<f64>,
    counts: HashMap<String, usize>,
    lengths: Vec<usize>,
    features: usize,
}

impl Naive {
    fn of(text: &str) -> Naive {
        let mut lines = text.lines();
        let header = lines.next().unwrap().split(' ').map(|number| number.parse().unwrap()).collect();
        let mut naive = Naive { header, counts: HashMap::new(), lengths: Vec::new(), features: 0 };
        for line in lines {
            let mut words = line.split(' ');
            let labels: Vec<&str> = words.next().unwrap_or("").split(',').filter(|word| !word.is_empty()).collect();
            naive.lengths.push(labels.len());
            labels.iter().for_each(|label| *naive.counts.entry((*label).to_owned()).or_default() += 1);
            naive.features += words.filter(|word| word.split(':').nth(1).unwrap().parse::<f64>().unwrap() != 0.0).count();
        }
        naive
    }
}

fn mean(numbers: &[usize]) -> f64 {
    numbers.iter().sum::<usize>() as f64 / numbers.len() as f64
}

fn median(numbers: &[usize]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort();
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) as f64 / 2.0
}

fn check(set: &str, names: &[&str]) {
    let Some(folder) = crate::common::data(set) else { return };
    names.iter().for_each(|name| check_file(name, &folder.join(name)));
}

fn check_file(name: &str, path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let stats = DataStats::of(&read_dataset(path, &ReadOptions::default()).unwrap(), 1);
    let naive = Naive::of(&text);
    let [n, d, m] = naive.header[..] else { panic!("header of {name}") };
    let mut counts: Vec<usize> = naive.counts.values().copied().collect();
    counts.sort_by(|a, b| b.cmp(a));
    let all_labels: Vec<usize> = counts.iter().copied().chain(std::iter::repeat(0)).take(m as usize).collect();
    let (largest, smallest) = (counts[0] as f64, counts[counts.len() - 1] as f64);
    let positives: usize = counts.iter().sum();
    let holding = (1..=counts.len()).find(|k| counts[..*k].iter().sum::<usize>() * 10 >= positives * 8).unwrap();
    let few = |counts: &[usize]| counts.iter().filter(|count| **count <= 5).count() as f64 / counts.len() as f64;

    assert_eq!((stats.rows, stats.labels, stats.features), (n as u64, m as u64, Some(d as u64)), "{name}");
    assert_eq!((stats.labels_occurring, stats.positives), (counts.len() as u64, positives as u64), "{name}");
    assert_eq!(stats.labels_per_row_max, naive.lengths.iter().max().map(|length| *length as u64), "{name}");
    assert_eq!(stats.rows_without_labels, Some(naive.lengths.iter().filter(|length| **length == 0).count() as u64), "{name}");
    let extremes = (stats.rows_per_label_max, stats.rows_per_occurring_label_min);
    assert_eq!(extremes, (Some(largest as u64), Some(smallest as u64)), "{name}");
    for (what, found, expected) in [
        ("features per row", stats.features_per_row_mean, naive.features as f64 / n),
        ("feature density", stats.feature_density, naive.features as f64 / n / d),
        ("labels per row", stats.labels_per_row_mean, mean(&naive.lengths)),
        ("median labels per row", stats.labels_per_row_median, median(&naive.lengths)),
        ("rows per label", stats.rows_per_label_mean, mean(&all_labels)),
        ("median rows per label", stats.rows_per_label_median, median(&all_labels)),
        ("rows an occurring label", stats.rows_per_occurring_label_mean, mean(&counts)),
        ("median rows an occurring label", stats.rows_per_occurring_label_median, median(&counts)),
        ("few", stats.few_positives_share, few(&all_labels)),
        ("few of occurring", stats.few_positives_share_of_occurring, few(&counts)),
        ("min IR", stats.min_ir, (n - largest) / largest),
        ("n / n_max", stats.rows_to_largest, n / largest),
        ("ILIR", stats.ilir, largest / smallest),
        ("Pos-80%", stats.pos80, holding as f64 / m),
    ] {
        let found = found.unwrap_or(f64::NAN);
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name}: {what}: {found}, not {expected}");
    }
    check_obesity(name, &counts, stats.obesity.unwrap());
}

fn check_obesity(name: &str, counts: &[usize], found: Obesity) {
    let mut shares: HashMap<usize, f64> = HashMap::new();
    counts.iter().for_each(|count| *shares.entry(*count).or_default() += 1.0 / counts.len() as f64);
    let mut shares: Vec<(usize, f64)> = shares.into_iter().collect();
    shares.sort_by_key(|(count, _)| *count);
    let (index, ties, tolerance) = if shares.len() <= 100 { enumerated(&shares) } else { drawn(counts) };
    assert!(found.exact, "{name}");
    assert!((found.index - index).abs() <= tolerance, "{name}: {found:?}, not {index}");
    assert!((found.ties - ties).abs() <= tolerance, "{name}: {found:?}, not {ties} ties");
}

/// All sorted draws of four, weighted by how many orders each has.
fn enumerated(values: &[(usize, f64)]) -> (f64, f64, f64) {
    let (mut above, mut equal) = (0.0, 0.0);
    for a in 0..values.len() {
        for b in a..values.len() {
            for c in b..values.len() {
                for d in c..values.len() {
                    // 24 orders, divided by those of runs of equal values.
                    let (mut orders, mut run) = (24.0, 1.0);
                    for (before, after) in [(a, b), (b, c), (c, d)] {
                        run = if before == after { run + 1.0 } else { 1.0 };
                        orders /= run;
                    }
                    let share = orders * values[a].1 * values[b].1 * values[c].1 * values[d].1;
                    let (outer, inner) = (values[a].0 + values[d].0, values[b].0 + values[c].0);
                    above += if outer > inner { share } else { 0.0 };
                    equal += if outer == inner { share } else { 0.0 };
                }
            }
        }
    }
    (above, equal, 1e-9)
}

/// Draws from a congruential generator; the tolerance is four times the largest standard error that a share can have.
fn drawn(counts: &[usize]) -> (f64, f64, f64) {
    const DRAWS: usize = 1_000_000;
    let mut state = 12345u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        counts[(state >> 33) as usize % counts.len()]
    };
    let (mut above, mut equal) = (0, 0);
    for _ in 0..DRAWS {
        let mut x = [draw(), draw(), draw(), draw()];
        x.sort();
        above += usize::from(x[0] + x[3] > x[1] + x[2]);
        equal += usize::from(x[0] + x[3] == x[1] + x[2]);
    }
    (above as f64 / DRAWS as f64, equal as f64 / DRAWS as f64, 4.0 * 0.5 / (DRAWS as f64).sqrt())
}

#[test]
fn bibtex() {
    check("bibtex", &["bibtex_train.txt", "bibtex_test.txt"]);
}

#[test]
fn delicious() {
    check("delicious", &["delicious_train.txt", "delicious_test.txt"]);
}

#[test]
fn go_human() {
    check("go-human", &["gohuman_train.txt", "gohuman_test.txt"]);
}

#[test]
fn hpo_timelapse() {
    check("hpo-timelapse", &["train_early.txt", "train_late.txt", "test_early.txt", "test_late.txt"]);
}
