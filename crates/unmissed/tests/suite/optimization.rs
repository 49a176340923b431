//! Predictions for a metric: the search against exhaustive search, the definitions written out, and what is refused.

use crate::common::rng::{Purpose, stream, uniform};
use proptest::prelude::*;
use unmissed::data::{LabelStats, Labels, Scores};
use unmissed::optimize::methods::METHODS;
use unmissed::optimize::objectives::OBJECTIVES;
use unmissed::optimize::{Optimization, Optimized, Weighting};
use unmissed::request::{OptimizeRequest, Positives};

/// Probabilities of all pairs, by row.
type Pairs = Vec<Vec<f32>>;

fn weights(labels: usize) -> Vec<f64> {
    (0..labels).map(|label| 0.5 + label as f64).collect()
}

/// An objective of expected counts, as plainly as can be; `given` has the labels of each row.
fn definition(name: &str, p: &Pairs, given: &[Vec<usize>], k: usize) -> f64 {
    let (n, m) = (p.len() as f64, p[0].len());
    let rows = || given.iter().zip(p);
    let has = |label: usize| rows().filter(move |(given, _)| given.contains(&label)).map(move |(_, p)| f64::from(p[label]));
    let hits = |label: usize| has(label).sum::<f64>();
    let predicted = |label: usize| has(label).count() as f64;
    let positives = |label: usize| p.iter().map(|p| f64::from(p[label])).sum::<f64>();
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let mean = |of: &dyn Fn(usize) -> f64| (0..m).map(of).sum::<f64>() / m as f64;
    match name {
        "precision" => (0..m).map(hits).sum::<f64>() / (n * k as f64),
        "weighted-precision" => (0..m).map(|label| weights(m)[label] * hits(label)).sum::<f64>() / (n * k as f64),
        "macro-f" => mean(&|label| ratio(2.0 * hits(label), positives(label) + predicted(label))),
        "macro-f:beta=2" => mean(&|label| ratio(5.0 * hits(label), 4.0 * positives(label) + predicted(label))),
        "macro-precision" => mean(&|label| ratio(hits(label), predicted(label))),
        "macro-recall" => mean(&|label| ratio(hits(label), positives(label))),
        "balanced-accuracy" => mean(&|label| {
            let negatives = n - positives(label);
            (ratio(hits(label), positives(label)) + ratio(negatives - predicted(label) + hits(label), negatives)) / 2.0
        }),
        "coverage" => mean(&|label| 1.0 - has(label).map(|p| 1.0 - p).product::<f64>()),
        "abandonment" => {
            rows().map(|(given, p)| given.iter().map(|label| 1.0 - f64::from(p[*label])).product::<f64>()).sum::<f64>() / n
        }
        _ => {
            let parts = name.split('+').map(|part| part.split_once('*').unwrap());
            let sign = |name: &str| if name == "abandonment" { -1.0 } else { 1.0 };
            parts.map(|(factor, name)| factor.parse::<f64>().unwrap() * sign(name) * definition(name, p, given, k)).sum()
        }
    }
}

const MIXTURES: [&str; 4] =
    ["macro-f:beta=2", "0.5*precision+0.5*macro-f", "0.3*coverage+0.2*macro-precision+0.5*macro-f", "0.5*macro-f+0.5*abandonment"];
/// Linear in the predictions, so that what is best for each row is best for all.
const LINEAR: [&str; 5] = ["precision", "weighted-precision", "macro-recall", "balanced-accuracy", "abandonment"];

fn names() -> impl Iterator<Item = &'static str> {
    OBJECTIVES.iter().map(|objective| objective.name()).chain(MIXTURES)
}

fn scores(p: &Pairs) -> Scores<'static> {
    Scores::from_rows(p[0].len() as u64, p.iter().map(|row| row.iter().copied().enumerate().map(|(label, p)| (label as u32, p))))
        .unwrap()
}

fn asked(metric: &str, k: usize) -> OptimizeRequest {
    OptimizeRequest { metric: metric.parse().unwrap(), k, draws: 0, ..OptimizeRequest::default() }
}

fn optimized(p: &Pairs, request: OptimizeRequest) -> Optimized {
    let scores = scores(p);
    Optimization::new(&scores, request).unwrap().weights("test", weights(p[0].len())).unwrap().run().unwrap()
}

fn given(found: &Optimized) -> Vec<Vec<usize>> {
    (0..found.predictions.rows()).map(|row| found.predictions.row_ids(row).iter().map(|id| *id as usize).collect()).collect()
}

/// All sets of k labels, or of at most k.
fn sets(m: usize, k: usize, at_most: bool) -> Vec<Vec<usize>> {
    let of = |bits: u32| (0..m).filter(|label| bits >> label & 1 == 1).collect::<Vec<_>>();
    (0..1u32 << m).map(of).filter(|set| set.len() == k || (at_most && set.len() < k)).collect()
}

/// Numbers that are often 0, 1 or equal to others.
fn probabilities(rows: std::ops::RangeInclusive<usize>, labels: usize) -> impl Strategy<Value = Pairs> {
    let p = prop_oneof![1 => Just(0.0f32), 1 => Just(1.0), 2 => (0u8..5).prop_map(|i| f32::from(i) / 4.0), 6 => 0.0f32..=1.0];
    proptest::collection::vec(proptest::collection::vec(p, labels), rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whatever is asked for: the reported value is that of the definition, no sweep lowers it, and no other choice for any single row
    /// raises it. What is linear, or of one row, is the best of all choices.
    #[test]
    fn no_row_can_be_changed_for_the_better(p in probabilities(1..=4, 4), k in 1usize..=3, at_most: bool, seed in 0u64..3) {
        for name in names() {
            let request = OptimizeRequest { at_most, seed, tolerance: 0.0, ..asked(name, k) };
            let found = optimized(&p, request);
            let (report, given) = (&found.report, given(&found));
            let sign = if name == "abandonment" { -1.0 } else { 1.0 };
            prop_assert!((report.value - definition(name, &p, &given, k)).abs() < 1e-9, "{}", name);
            let values: Vec<f64> = std::iter::once(report.value_before).chain(report.values.iter().copied()).map(|v| sign * v).collect();
            // With at most k labels the start may have more than are good, which is no fall.
            prop_assert!(values.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12), "{name}: {values:?}");
            prop_assert!(given.iter().all(|row| row.len() == k || (at_most && row.len() < k)));
            prop_assert!(report.converged);
            // Labels of a row that abandonment ties together are exchanged one at a time.
            let tied = name.contains("+0.5*abandonment");
            for row in 0..p.len() {
                for set in sets(4, k, at_most) {
                    if tied && set.iter().filter(|label| !given[row].contains(label)).count() > 1 {
                        continue;
                    }
                    let mut other = given.clone();
                    other[row] = set;
                    let gain = sign * (definition(name, &p, &other, k) - report.value);
                    prop_assert!(gain < 1e-9 || (tied && other[row].len() != given[row].len()), "{name}: row {row} {other:?} gains {gain}");
                }
            }
        }
    }

    /// The best of all choices, by looking at all of them.
    #[test]
    fn linear_objectives_reach_the_global_optimum(p in probabilities(1..=3, 3), k in 1usize..=2, at_most: bool) {
        for name in LINEAR {
            let found = optimized(&p, OptimizeRequest { at_most, ..asked(name, k) });
            let sign = if name == "abandonment" { -1.0 } else { 1.0 };
            prop_assert!(sign * (exhaustive(name, &p, k, at_most, sign) - found.report.value) < 1e-9, "{}", name);
        }
    }
}

fn exhaustive(name: &str, p: &Pairs, k: usize, at_most: bool, sign: f64) -> f64 {
    let sets = sets(p[0].len(), k, at_most);
    let all = (0..sets.len().pow(p.len() as u32)).map(|code| {
        let choice: Vec<Vec<usize>> =
            (0..p.len()).map(|row| sets[code / sets.len().pow(row as u32) % sets.len()].clone()).collect();
        definition(name, p, &choice, k)
    });
    all.max_by(|a, b| (sign * a).total_cmp(&(sign * b))).unwrap()
}

fn random(rows: usize, labels: usize, seed: u64) -> Pairs {
    let mut rng = stream(seed, Purpose::GenerateRows, 0);
    // Labels of different frequency, rows of different certainty.
    (0..rows).map(|_| (0..labels).map(|label| (uniform(&mut rng).powi(2 + label as i32 / 2)) as f32).collect()).collect()
}

/// Coordinate ascent may end in a local optimum; on small problems it mostly ends in the global one, and never far from it.
#[test]
fn the_global_optimum_is_mostly_found_on_tiny_problems() {
    let mut outcomes = Vec::new();
    for (name, least) in [("macro-f", 80), ("coverage", 80), ("0.5*precision+0.5*macro-f", 80), ("macro-precision", 50)] {
        let (mut reached, mut worst) = (0, 1.0f64);
        for seed in 0..100 {
            let p = random(4, 4, seed);
            let found = optimized(&p, asked(name, 1)).report.value;
            let best = exhaustive(name, &p, 1, false, 1.0);
            reached += u32::from(found > best - 1e-9);
            worst = worst.min(found / best);
        }
        println!("{name}: {reached} of 100, at worst {worst:.3} of the optimum");
        outcomes.push((name, reached >= least && worst > 0.7));
    }
    assert!(outcomes.iter().all(|(_, is_good)| *is_good), "{outcomes:?}");
}

/// Block coordinate ascent as published: random labels first, rows in a random order, everything computed from its definition.
fn reference(name: &str, p: &Pairs, k: usize, seed: u64) -> f64 {
    let mut rng = stream(seed, Purpose::GenerateLabels, 0);
    let mut below = |bound: usize| (uniform(&mut rng) * bound as f64) as usize;
    let (n, m) = (p.len(), p[0].len());
    let shuffled = |count: usize, below: &mut dyn FnMut(usize) -> usize| {
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| order.swap(last, below(last + 1)));
        order
    };
    let mut given: Vec<Vec<usize>> = (0..n).map(|_| shuffled(m, &mut below)[..k].to_vec()).collect();
    let mut before = definition(name, p, &given, k);
    loop {
        for row in shuffled(n, &mut below) {
            given[row].clear();
            let without = definition(name, p, &given, k);
            let mut gains: Vec<(f64, usize)> = Vec::new();
            for label in 0..m {
                given[row] = vec![label];
                gains.push((definition(name, p, &given, k) - without, label));
            }
            gains.sort_by(|a, b| b.0.total_cmp(&a.0));
            given[row] = gains[..k].iter().map(|(_, label)| *label).collect();
        }
        let after = definition(name, p, &given, k);
        if after - before < 1e-6 {
            return after;
        }
        before = after;
    }
}

#[test]
fn it_is_as_good_as_published_coordinate_ascent() {
    for name in ["macro-f", "coverage", "macro-precision", "0.5*precision+0.5*macro-f"] {
        let (mut ours, mut theirs) = (0.0, 0.0);
        for seed in 0..6 {
            let p = random(60, 12, seed);
            ours += optimized(&p, OptimizeRequest { seed, ..asked(name, 2) }).report.value;
            theirs += reference(name, &p, 2, seed);
        }
        assert!(ours >= theirs * 0.9995, "{name}: {} and {}", ours / 6.0, theirs / 6.0);
    }
}

#[test]
fn results_do_not_depend_on_threads_and_repeat() {
    let p = random(3000, 40, 5);
    for method in METHODS {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                optimized(&p, OptimizeRequest { method: method.name().parse().unwrap(), draws: 8, ..asked("macro-f", 3) })
            })
        };
        let (one, four) = (run(1), run(4));
        assert_eq!(
            (&one.predictions, &one.report, &one.weighting),
            (&four.predictions, &four.report, &four.weighting),
            "{}",
            method.name()
        );
        assert!(one.report.value > one.report.value_before, "{}", method.name());
    }
}

/// The lines of Frank-Wolfe are a rule: applied to the same rows they give the same labels, and on new rows they gain, too.
#[test]
fn lines_work_for_new_rows() {
    let old = random(2000, 30, 1);
    let new = random(2000, 30, 2);
    let found = optimized(&old, OptimizeRequest { method: "frank-wolfe".parse().unwrap(), ..asked("macro-f", 2) });
    assert_eq!(found.weighting.apply(&scores(&old), 2, false).unwrap(), found.predictions);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.csv");
    found.weighting.write(&path).unwrap();
    let lines = Weighting::read(&path, 30).unwrap();
    assert_eq!(lines, found.weighting);
    let labels = |scores: &Scores<'_>| -> Vec<Vec<usize>> {
        (0..scores.rows()).map(|row| scores.row_ids(row).iter().map(|id| *id as usize).collect()).collect()
    };
    let applied = lines.apply(&scores(&new), 2, false).unwrap();
    let top = optimized(&new, asked("precision", 2)).predictions;
    let [ours, plain] = [applied, top].map(|list| definition("macro-f", &new, &labels(&list), 2));
    let bca = optimized(&new, asked("macro-f", 2)).report.value;
    assert!(ours > plain + 0.8 * (bca - plain), "{ours} of {plain} to {bca}");
    assert!(Weighting::read(&path, 31).is_err());
}

#[test]
fn bad_input_is_named() {
    let good = scores(&random(5, 6, 1));
    let message = |scores: &Scores<'_>, request: OptimizeRequest| match Optimization::new(scores, request) {
        Ok(optimization) => optimization.run().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    let wrong = |value: f32| Scores::from_rows(3, [vec![(0, 0.5), (2, 0.1)], vec![(1, value), (0, 0.2)]]).unwrap();
    for value in [1.5, -0.25] {
        let text = message(&wrong(value), asked("macro-f", 1));
        let start = "the score of row 1, label 1 is not a probability (both counted from 0): expected a number in [0, 1], found";
        assert!(text.starts_with(start) && text.contains("logits"), "{text}");
    }
    assert!(message(&good, asked("macro-f", 7)).starts_with("k is larger than the number of labels: expected at most 6, found 7"));
    assert_eq!(message(&good, asked("macro-g", 1)), "unknown objective 'macro-g'; did you mean 'macro-f'?");
    assert!(message(&good, asked("precision:beta=1", 1)).contains("unknown option"));
    assert!(message(&good, asked("macro-f:beta=0", 1)).contains("out of range"));
    assert!(message(&good, asked("weighted-precision", 1)).contains("needs weights"));
    let of_counts = OptimizeRequest { weights: Some("inverse".parse().unwrap()), ..asked("weighted-precision", 1) };
    assert!(message(&good, of_counts).contains("training counts"));
    let of_propensities = OptimizeRequest { propensity: Some("jpv".parse().unwrap()), ..asked("macro-f", 1) };
    assert!(message(&good, of_propensities).contains("depends on training counts"));
    assert!(
        message(&good, OptimizeRequest { positives: Positives::Train, ..asked("precision", 1) }).contains("need training labels")
    );
    let method = |name: &str| OptimizeRequest { method: name.parse().unwrap(), ..asked("0.5*abandonment+macro-f", 1) };
    assert!(message(&good, method("frank-wolf")).contains("did you mean 'frank-wolfe'?"));
    assert!(message(&good, method("frank-wolfe")).contains("cannot optimise abandonment"));
    assert!(message(&good, method("bca:start=middle")).contains("expected top or greedy"));
    // Rows without enough scores.
    let short = Scores::from_rows(3, [vec![(0, 0.5), (2, 0.1)], vec![]]).unwrap();
    let text = message(&short, asked("coverage", 2));
    assert!(
        text.starts_with(
            "row 1 (counted from 0) has too few scores: expected at least 2, for exactly 2 labels per row, found none"
        )
    );
    let found = Optimization::new(&short, OptimizeRequest { at_most: true, ..asked("coverage", 2) }).unwrap().run().unwrap();
    assert_eq!(found.predictions.row_ids(1), [0u32; 0]);
    let empty = Scores::from_rows(3, Vec::<Vec<(u32, f32)>>::new()).unwrap();
    assert!(message(&empty, asked("coverage", 2)).contains("no rows"));
    // Labels that are not those of the scores.
    let stats = LabelStats::from_counts(10, &[1, 2]).unwrap();
    let text = Optimization::new(&good, asked("macro-f", 1)).unwrap().train(&stats).run().unwrap_err().to_string();
    assert!(text.contains("do not fit the scores"), "{text}");
    let labels = Labels::from_ids(6, [vec![0]]).unwrap();
    assert!(Optimization::new(&good, asked("macro-f", 1)).unwrap().test(&labels).is_err());
}

/// Every objective and method has a page with what it assumes and where it comes from.
#[test]
fn entries_have_their_pages() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/optimize");
    let page =
        |folder: &str, name: &str| std::fs::read_to_string(source.join(folder).join(name.replace('-', "_") + ".rs")).unwrap();
    for objective in OBJECTIVES {
        let page = page("objectives", objective.name());
        assert!(["# Assumes", "# Reference", "assert"].iter().all(|part| page.contains(part)), "{}", objective.name());
    }
    for method in METHODS {
        let page = page("methods", method.name());
        assert!(["# Assumes", "# Reference", "assert"].iter().all(|part| page.contains(part)), "{}", method.name());
    }
}
