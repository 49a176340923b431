//! Predictions for a metric: what is claimed against what comes true, in worlds whose probabilities and propensities are known.

use crate::common::rng::{Purpose, row_key, stream, uniform, uniform_at};
use unmissed::data::{LabelStats, Labels, Scores, mask};
use unmissed::evaluate::Evaluation;
use unmissed::metrics::Estimator;
use unmissed::optimize::{Optimization, Optimized};
use unmissed::propensity::Propensities;
use unmissed::propensity::RowPropensities;
use unmissed::propensity::rows::{Covariate, RowEvidence, RowFit};
use unmissed::request::{OptimizeRequest, Positives};

const LABELS: usize = 60;

/// Rows with probabilities of all labels: some labels are frequent, most are rare, each has rows on which it is likely.
struct World {
    p: Vec<Vec<f64>>,
}

impl World {
    fn new(rows: usize, seed: u64) -> World {
        let mut rng = stream(99, Purpose::GenerateLabels, 0);
        let labels: Vec<(f64, [f64; 3])> = (0..LABELS)
            .map(|label| (-0.5 - 1.3 * (1.0 + label as f64).ln(), [0; 3].map(|_| 5.0 * (uniform(&mut rng) - 0.5))))
            .collect();
        let row = |row: usize| {
            let mut rng = stream(seed, Purpose::GenerateRows, row as u64);
            let x = [0; 3].map(|_| 3.0 * (uniform(&mut rng) - 0.5));
            let logit = |(base, v): &(f64, [f64; 3])| base + x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>();
            labels.iter().map(|label| 1.0 / (1.0 + (-logit(label)).exp())).collect()
        };
        World { p: (0..rows).map(row).collect() }
    }

    fn labels(&self, seed: u64) -> Labels<'static> {
        let row = |(row, p): (usize, &Vec<f64>)| {
            let key = row_key(seed, Purpose::Shown, row as u64);
            (0..LABELS as u32).filter(|label| uniform_at(key, *label) < p[*label as usize]).collect::<Vec<_>>()
        };
        Labels::from_ids(LABELS as u64, self.p.iter().enumerate().map(row)).unwrap()
    }

    /// The highest scores of each row, when labels are observed with these propensities.
    fn scores(&self, stored: usize, propensities: Option<&[f64]>) -> Scores<'static> {
        let row = |p: &Vec<f64>| {
            let mut row: Vec<(u32, f32)> = p
                .iter()
                .enumerate()
                .map(|(label, p)| (label as u32, (p * propensities.map_or(1.0, |q| q[label])) as f32))
                .collect();
            row.sort_by(|a, b| b.1.total_cmp(&a.1));
            row.truncate(stored);
            row
        };
        Scores::from_rows(LABELS as u64, self.p.iter().map(row).collect::<Vec<_>>()).unwrap()
    }
}

/// Rare labels are seldom observed, some more seldom than others.
fn propensities() -> Vec<f64> {
    (0..LABELS).map(|label| (0.9 / (1.0 + label as f64).powf(0.25)) * if label % 3 == 0 { 0.35 } else { 1.0 }).collect()
}

fn asked(metric: &str) -> OptimizeRequest {
    OptimizeRequest { metric: metric.parse().unwrap(), k: 3, ..OptimizeRequest::default() }
}

fn measured(truth: &Labels<'_>, list: &Scores<'_>, metric: &str) -> f64 {
    let evaluation = Evaluation::new(truth, &[("list", list)]).unwrap().metrics(&[metric]).unwrap().ks(&[3]).unwrap();
    evaluation.run().unwrap().find(metric, 3, Estimator::Observed).unwrap().value.unwrap()
}

/// With true probabilities the claimed improvement is the measured one, within the interval that is claimed.
#[test]
fn claims_hold_with_true_probabilities() {
    let world = World::new(1200, 1);
    let scores = world.scores(LABELS, None);
    for metric in ["macro-f", "coverage", "abandonment", "macro-recall", "balanced-accuracy", "0.5*precision+0.5*macro-f"] {
        let (mut inside, mut gaps, runs) = (0, Vec::new(), 24);
        for seed in 0..runs {
            let truth = world.labels(1000 + seed);
            let found = Optimization::new(&scores, asked(metric)).unwrap().test(&truth).unwrap().run().unwrap();
            let (claimed, came) = (&found.report.expected[0], &found.report.measured[0]);
            assert_eq!((claimed.metric.as_str(), came.values.metric.as_str()), (metric, metric));
            inside +=
                usize::from(claimed.low.unwrap() <= came.values.difference && came.values.difference <= claimed.high.unwrap());
            gaps.push(came.optimism_of_gain.unwrap());
        }
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let se = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (runs * (runs - 1)) as f64).sqrt();
        assert!(inside >= 20, "{metric}: {inside} of {runs} measured gains within the claimed interval");
        // The draws have an error, too: theirs is that of 40 draws, in all runs the same.
        assert!(mean.abs() <= 4.0 * (se * se * (1.0 + runs as f64 / 40.0)).sqrt() + 1e-12, "{metric}: {mean} +- {se}");
    }
}

/// Labels are missing and propensities known: dividing by them beats ranking, and beats optimising as if nothing were missing.
#[test]
fn right_propensities_beat_plain_and_uncorrected_lists() {
    let p = propensities();
    let world = World::new(1500, 3);
    let scores = world.scores(25, Some(&p));
    let given = Propensities::new("true", p.clone()).unwrap();
    let mut differences: [Vec<f64>; 3] = Default::default();
    for seed in 0..10 {
        let train = mask(&World::new(3000, 100 + seed).labels(seed), &p, seed).unwrap();
        let (stats, truth) = (LabelStats::of(&train), world.labels(500 + seed));
        let run = |optimization: Optimization<'_>| optimization.train(&stats).run().unwrap();
        let corrected = run(Optimization::new(&scores, asked("macro-f")).unwrap().propensity(given.clone()));
        let uncorrected = run(Optimization::new(&scores, asked("macro-f")).unwrap());
        let of = |found: &Scores<'_>| measured(&truth, found, "macro-f");
        let ours = of(&corrected.predictions);
        let others = [&uncorrected.most_probable, &corrected.most_probable, &uncorrected.predictions].map(of);
        differences.iter_mut().zip(others).for_each(|(all, other)| all.push(ours - other));
    }
    for (name, all) in ["plain ranking", "ranking by corrected scores", "uncorrected optimisation"].iter().zip(&differences) {
        let mean = all.iter().sum::<f64>() / 10.0;
        let se = (all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 90.0).sqrt();
        println!("{name}: {:.2} +- {:.2} points behind", 100.0 * mean, 100.0 * se);
        assert!(mean > 2.5 * se && all.iter().filter(|one| **one > 0.0).count() >= 8, "{name}: {mean} +- {se}: {all:?}");
    }
}

/// Lists of 10 of 60 labels: what is not stored counts among the positives, or the claim is too high, or it is refused.
#[test]
fn what_is_not_stored_is_corrected_or_refused() {
    let world = World::new(2000, 5);
    let truth = world.labels(7);
    let stats = LabelStats::of(&World::new(20_000, 8).labels(9));
    let lists = world.scores(6, None);
    let refused = Optimization::new(&lists, asked("macro-f")).unwrap().run().unwrap_err().to_string();
    assert!(refused.starts_with("'macro-f' needs the expected positives of every label, but up to "), "{refused}");
    assert!(Optimization::new(&lists, asked("coverage")).unwrap().run().is_ok(), "coverage needs no positives");
    let run = |request: OptimizeRequest| {
        Optimization::new(&lists, request).unwrap().train(&stats).test(&truth).unwrap().run().unwrap().report
    };
    let counted = run(asked("macro-f"));
    let stored = run(OptimizeRequest { positives: Positives::Stored, ..asked("macro-f") });
    let [of_counts, of_stored] = [&counted, &stored].map(|report| report.measured[0].optimism.unwrap());
    println!("claimed too much: {of_counts:.4} with counts, {of_stored:.4} of what is stored");
    assert!(of_counts.abs() < 0.02 && of_stored > of_counts.abs() + 0.02, "{of_counts} {of_stored}");
    // The truth about the mass is known here.
    let all: f64 = world.p.iter().flatten().sum();
    let kept: f64 = lists.values().iter().map(|p| f64::from(*p)).sum();
    let not_stored = counted.mass.not_stored.unwrap();
    assert!((not_stored - (1.0 - kept / all)).abs() < 0.02, "{not_stored} instead of {}", 1.0 - kept / all);
    assert!(counted.notes.iter().any(|note| note.contains("are not among the stored scores")), "{:?}", counted.notes);
    assert!(stored.mass.at_most > not_stored && stored.notes.iter().any(|note| note.contains("are then too high")));
}

/// On masked test labels values are estimated with the same propensities, and come out as on complete ones.
#[test]
fn masked_test_labels_give_unbiased_measurements() {
    let p = propensities();
    let world = World::new(4000, 11);
    let (complete, scores) = (world.labels(1), world.scores(25, Some(&p)));
    let masked = mask(&complete, &p, 2).unwrap();
    let stats = LabelStats::of(&mask(&World::new(8000, 12).labels(3), &p, 4).unwrap());
    let given = Propensities::new("true", p).unwrap();
    let run = |test: &Labels<'_>, metric: &str, is_masked: bool| {
        let optimization = Optimization::new(&scores, asked(metric)).unwrap().train(&stats).propensity(given.clone());
        let found: Optimized = optimization.test(test).unwrap().run().unwrap();
        let row = found.report.measured[0].clone();
        assert_eq!(row.estimator == Estimator::Unbiased, is_masked || metric != "coverage");
        (row.values.after, measured(&complete, &found.predictions, "macro-f"))
    };
    let (estimate, truth) = run(&masked, "macro-f", true);
    assert!((estimate - truth).abs() < 0.015, "{estimate} instead of {truth}");
    let mixture = run(&masked, "1*macro-recall+1*macro-precision", true).0;
    assert!((0.2..1.8).contains(&mixture), "{mixture}");
    let found = Optimization::new(&scores, asked("coverage")).unwrap().test(&masked).unwrap().run().unwrap();
    assert_eq!(found.report.measured[0].estimator, Estimator::Observed);
}

/// Scores of a model that was trained with propensities are not divided again, but its priors are those of complete labels.
#[test]
fn corrected_scores_are_not_corrected_again() {
    let p = propensities();
    let world = World::new(1000, 21);
    let scores = world.scores(20, None);
    let complete = World::new(5000, 22).labels(3);
    let stats = [LabelStats::of(&complete), LabelStats::of(&mask(&complete, &p, 4).unwrap())];
    let run = |stats: &LabelStats, corrected: bool| {
        let request = OptimizeRequest { corrected, ..asked("macro-f") };
        let optimization = Optimization::new(&scores, request).unwrap().train(stats);
        let optimization =
            if corrected { optimization.propensity(Propensities::new("true", p.clone()).unwrap()) } else { optimization };
        optimization.run().unwrap().report
    };
    let (right, restored) = (run(&stats[0], false), run(&stats[1], true));
    assert!((right.mass.expected / restored.mass.expected - 1.0).abs() < 0.05 && restored.correction.is_none());
    assert!((right.value - restored.value).abs() < 0.02, "{} {}", right.value, restored.value);
}

/// The error of propensities is part of the intervals, and what capping did is said.
#[test]
fn uncertain_propensities_widen_intervals() {
    let p = propensities();
    let world = World::new(800, 31);
    let scores = world.scores(LABELS, Some(&p));
    let known = Propensities::new("known", p.iter().map(|p| 0.7 * p).collect()).unwrap();
    let variances = known.values().iter().map(|p| (0.3 / p).powi(2)).collect();
    let uncertain = known.clone().with_inverse_variances(variances).unwrap();
    let run = |p: &Propensities| {
        let request = OptimizeRequest { positives: Positives::Stored, ..asked("macro-f") };
        Optimization::new(&scores, request).unwrap().propensity(p.clone()).run().unwrap().report
    };
    let [sure, unsure] = [&known, &uncertain].map(run);
    let width = |report: &unmissed::optimize::OptimizeReport| report.expected[1].high.unwrap() - report.expected[1].low.unwrap();
    assert!(width(&unsure) > 1.2 * width(&sure), "{} {}", width(&unsure), width(&sure));
    assert!(sure.correction.unwrap().capped_pairs > 0, "propensities that are too small make probabilities above 1");
    let says = |report: &unmissed::optimize::OptimizeReport, text: &str| report.notes.iter().any(|note| note.contains(text));
    assert!(says(&sure, "taken as known") && says(&unsure, "include the uncertainty") && says(&sure, "were set to 1"));
}

/// Row-dependent propensities divide pairs where their covariates are known of rows to be predicted, and are refused where they are not.
#[test]
fn row_dependent_propensities_need_known_covariates() {
    let p = propensities();
    let world = World::new(1500, 41);
    let complete = world.labels(1);
    let early = mask(&complete, &p, 2).unwrap();
    let scores = world.scores(20, Some(&p));
    let fit = |covariates: &[Covariate]| {
        let model = RowFit::new(&early, &complete, RowEvidence::Later).unwrap();
        model.covariates(covariates).scores("model", &scores).unwrap().replicates(0, 0).run().unwrap()
    };
    let stats = LabelStats::of(&early);
    let run = |covariates: &[Covariate]| {
        let rows = RowPropensities::new("rows", fit(covariates));
        Optimization::new(&scores, asked("macro-f")).unwrap().train(&stats).propensity(rows).test(&complete).unwrap().run()
    };
    let refused = run(&[Covariate::LogCount, Covariate::OtherLabels]).unwrap_err().to_string();
    assert!(refused.contains("not known for new rows"), "{refused}");
    let report = run(&[Covariate::LogCount, Covariate::Rank]).unwrap().report;
    let plain = Optimization::new(&scores, asked("macro-f")).unwrap().train(&stats).test(&complete).unwrap().run().unwrap().report;
    let [by_rows, uncorrected] = [&report, &plain].map(|report| report.measured[0].values.after);
    assert!(by_rows > uncorrected, "{by_rows} {uncorrected}");
}
