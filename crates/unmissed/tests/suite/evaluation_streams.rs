//! Streams: batches of any size in any order, merged anyhow, are one evaluation of all rows.

use crate::common::evaluation::Rows;
use crate::common::rng::{Purpose, below, stream};
use unmissed::data::{Csr, IgnoredPairs, LabelStats, Labels, Rate};
use unmissed::evaluate::{Batch, Evaluation, EvaluationResult, Evaluator, Groups, IntervalKind, StreamShape, Tally};
use unmissed::propensity::Propensities;
use unmissed::propensity::models;
use unmissed::{Error, Result, progress::Progress};

const LABELS: usize = 11;

struct World {
    truth: Labels<'static>,
    scores: Vec<Csr<'static, f32>>,
    train: LabelStats,
}

fn world(rows: usize, seed: u64) -> World {
    let complete = Rows::random(rows, LABELS, 0.7, 0.5, seed);
    let truth = complete.masked(&[0.6; LABELS], seed + 1).labels();
    let scores = vec![complete.scores(), Rows::random(rows, LABELS, 0.7, 0.2, seed).scores()];
    // The last label does not occur in training.
    let train = Labels::from_ids(LABELS as u64, (0..60u32).map(|row| (0..10).filter(move |label| row % (label + 1) == 0))).unwrap();
    World { truth, scores, train: LabelStats::of(&train) }
}

/// What is asked for, of all rows or of a stream.
type Asked = for<'a> fn(Evaluation<'a>, &'a World) -> Evaluation<'a>;

fn plain<'a>(evaluation: Evaluation<'a>, _: &'a World) -> Evaluation<'a> {
    evaluation
}

fn propensities(world: &World) -> Propensities {
    models::parse("jpv").unwrap().propensities(&world.train).unwrap()
}

fn weighed<'a>(evaluation: Evaluation<'a>, world: &'a World) -> Evaluation<'a> {
    let of: Vec<Option<u16>> = (0..LABELS).map(|j| if j % 5 == 4 { None } else { Some((j % 2) as u16) }).collect();
    let groups = Groups::new(vec!["even".into(), "odd".into()], &of, "by hand").unwrap();
    let weights = (0..LABELS).map(|j| 0.5 + 0.3 * j as f64).collect();
    let p = Propensities::new("p", (0..LABELS).map(|j| 0.9 - 0.05 * j as f64).collect()).unwrap();
    let p = p.with_inverse_variances(vec![0.01; LABELS]).unwrap();
    let evaluation = evaluation.train(&world.train).propensity(propensities(world)).propensity(p);
    evaluation.groups(groups).unwrap().weights("w", weights).unwrap().clip(1.5).unwrap().ks(&[1, 3]).unwrap()
}

fn masked<'a>(evaluation: Evaluation<'a>, world: &'a World) -> Evaluation<'a> {
    weighed(evaluation, world).interval(IntervalKind::Mask)
}

fn sensitive<'a>(evaluation: Evaluation<'a>, world: &'a World) -> Evaluation<'a> {
    evaluation.train(&world.train).propensity(propensities(world)).sensitivity("1.5:pair".parse().unwrap())
}

fn at_rate<'a>(evaluation: Evaluation<'a>, _: &'a World) -> Evaluation<'a> {
    evaluation.rate(Rate::Shown { shown: LABELS as u32, of: LABELS as u32 }).unwrap().ks(&[2, 40]).unwrap()
}

fn whole<'a>(world: &'a World, asked: Asked) -> Evaluation<'a> {
    asked(Evaluation::new(&world.truth, &[("a", &world.scores[0]), ("b", &world.scores[1])]).unwrap(), world)
}

fn evaluator(world: &World, asked: Asked) -> Evaluator {
    let shape = StreamShape::new(LABELS as u64, &["a", "b"]).unwrap();
    asked(Evaluation::of_stream(&shape).unwrap(), world).evaluator().unwrap()
}

/// Feeds rows in this order, in batches of random sizes.
fn feed(evaluator: &mut Evaluator, world: &World, rows: &[usize], numbered: bool, seed: u64) {
    let mut rng = stream(seed, Purpose::Split, 0);
    let mut start = 0;
    while start < rows.len() {
        let end = rows.len().min(start + 1 + below(&mut rng, 60) as usize * (1 + rows.len() / 900));
        let batch = &rows[start..end];
        let truth = world.truth.select_rows(batch);
        let scores: Vec<_> = world.scores.iter().map(|scores| scores.select_rows(batch)).collect();
        let numbers: Vec<u64> = batch.iter().map(|row| *row as u64).collect();
        let given = Batch::new(&truth, &scores.iter().collect::<Vec<_>>()).unwrap();
        evaluator.update(&if numbered { given.numbers(&numbers).unwrap() } else { given }).unwrap();
        start = end;
    }
}

fn shuffled(rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    let mut rng = stream(seed, Purpose::Shown, 0);
    (1..rows).rev().for_each(|place| order.swap(place, below(&mut rng, place as u64 + 1) as usize));
    order
}

/// Whether rows and lists belong together is asked of all rows at once, so not of streams.
#[track_caller]
fn assert_same(found: &EvaluationResult, wanted: &EvaluationResult) {
    let mut wanted = wanted.clone();
    wanted.findings.retain(|finding| !("U016".."U024").contains(&finding.code.as_str()));
    assert_eq!(serde_json::to_string(found).unwrap(), serde_json::to_string(&wanted).unwrap());
}

#[test]
fn streams_give_the_numbers_of_one_evaluation() {
    let world = world(257, 1);
    for (place, asked) in [plain, weighed, masked, sensitive, at_rate as Asked].into_iter().enumerate() {
        let wanted = whole(&world, asked).run().unwrap();
        assert!(place == 0 || place == 4 || wanted.findings.iter().any(|finding| finding.code == "U005"), "unseen labels");
        for seed in 0..3 {
            let mut all = evaluator(&world, asked);
            feed(&mut all, &world, &(0..257).collect::<Vec<_>>(), false, seed);
            assert_same(&all.compute().unwrap(), &wanted);
            // The rest after a result, and everything again after a reset.
            let mut again = evaluator(&world, asked);
            feed(&mut again, &world, &(0..100).collect::<Vec<_>>(), false, seed);
            again.compute().unwrap();
            feed(&mut again, &world, &(100..257).collect::<Vec<_>>(), false, seed);
            assert_same(&again.compute().unwrap(), &wanted);
            again.reset().unwrap();
            assert_eq!(again.rows(), 0);
            feed(&mut again, &world, &shuffled(257, seed), true, seed);
            assert_same(&again.compute().unwrap(), &wanted);
        }
    }
}

#[test]
fn parts_merge_in_any_order_to_the_same_bytes() {
    let world = world(301, 2);
    for asked in [weighed as Asked, masked] {
        let wanted = whole(&world, asked).run().unwrap();
        let order = shuffled(301, 5);
        let parts: Vec<Tally> = [0..40, 40..41, 41..200, 200..301]
            .map(|range| {
                let mut part = evaluator(&world, asked);
                feed(&mut part, &world, &order[range], true, 3);
                part.tally().unwrap()
            })
            .into();
        let bytes = |order: [usize; 4]| {
            let mut all = evaluator(&world, asked);
            order.iter().for_each(|place| all.merge(parts[*place].clone()).unwrap());
            assert_same(&all.compute().unwrap(), &wanted);
            all.tally().unwrap().to_bytes().unwrap()
        };
        let first = bytes([0, 1, 2, 3]);
        assert!(first == bytes([3, 1, 0, 2]) && first == bytes([2, 3, 1, 0]), "other bytes");
        // Through files, without an evaluator, as `merge` on the command line does.
        let read = parts.iter().map(|part| Tally::from_bytes(&part.to_bytes().unwrap()).unwrap());
        assert_same(&Tally::merge(read).unwrap().finish().unwrap(), &wanted);
    }
}

/// Between batches, in any order, and without a trace of a tally that was rejected.
#[test]
fn tallies_are_merged_while_rows_wait() {
    let world = world(150, 6);
    let rows = |range: std::ops::Range<usize>| range.collect::<Vec<_>>();
    for asked in [weighed as Asked, masked, sensitive] {
        let wanted = whole(&world, asked).run().unwrap();
        let tally = |range: std::ops::Range<usize>| {
            let mut part = evaluator(&world, asked);
            feed(&mut part, &world, &rows(range), true, 4);
            part.tally().unwrap()
        };
        let mut all = evaluator(&world, asked);
        feed(&mut all, &world, &rows(20..60), true, 1);
        all.merge(tally(100..150)).unwrap();
        let error = all.merge(tally(90..101)).unwrap_err().to_string();
        assert!(error.contains("two tallies cover the same rows: found row 100 in both"), "{error}");
        let mut other = evaluator(&world, at_rate);
        feed(&mut other, &world, &rows(0..20), true, 1);
        let error = all.merge(other.tally().unwrap()).unwrap_err().to_string();
        assert!(error.contains("not parts of the same evaluation"), "{error}");
        feed(&mut all, &world, &rows(60..100), true, 2);
        all.merge(tally(0..20)).unwrap();
        assert_eq!(all.rows(), 150);
        assert_same(&all.compute().unwrap(), &wanted);
    }
}

#[test]
fn streams_that_number_their_rows_are_put_behind_each_other() {
    let world = world(120, 3);
    let mut first = evaluator(&world, weighed);
    feed(&mut first, &world, &(0..70).collect::<Vec<_>>(), false, 1);
    let mut second = evaluator(&world, weighed);
    feed(&mut second, &world, &(70..120).collect::<Vec<_>>(), false, 2);
    first.merge(second.tally().unwrap()).unwrap();
    assert_eq!(first.rows(), 120);
    assert_same(&first.compute().unwrap(), &whole(&world, weighed).run().unwrap());
}

/// More rows than a sample holds: the same rows are in it, and standard errors are the same.
#[test]
fn samples_of_long_streams_are_those_of_one_evaluation() {
    let rows = 150_000;
    let truth = Labels::from_ids(5, (0..rows).map(|row| [(row * row / 7 % 5) as u32])).unwrap();
    let scores =
        Csr::from_rows(5, (0..rows).map(|row| [((row / 3 % 5) as u32, 1.0f32), (((row / 3 + 2) % 5) as u32, 0.5)])).unwrap();
    let of = |evaluation: Evaluation<'_>| evaluation.metrics(&["macro-f", "coverage"]).unwrap().ks(&[1, 2]).unwrap().evaluator();
    let wanted = Evaluation::new(&truth, &[("a", &scores)]).unwrap().metrics(&["macro-f", "coverage"]).unwrap();
    let wanted = wanted.ks(&[1, 2]).unwrap().run().unwrap();
    let shape = StreamShape::new(5, &["a"]).unwrap();
    let order: Vec<usize> = (0..rows).map(|row| row * 7 % rows).collect();
    let mut parts = Vec::new();
    for part in order.chunks(53_000) {
        let mut evaluator = of(Evaluation::of_stream(&shape).unwrap()).unwrap();
        // Batches that wait, and batches that do not.
        for batch in part.chunks(if parts.is_empty() { 9_000 } else { 4_000 }) {
            let (truth, scores) = (truth.select_rows(batch), scores.select_rows(batch));
            let numbers: Vec<u64> = batch.iter().map(|row| *row as u64).collect();
            evaluator.update(&Batch::new(&truth, &[&scores]).unwrap().numbers(&numbers).unwrap()).unwrap();
        }
        parts.push(evaluator.tally().unwrap());
    }
    parts.reverse();
    let merged = Tally::merge(parts.clone()).unwrap();
    assert_eq!(merged.rows(), rows as u64);
    let found = merged.finish().unwrap();
    assert!(found.rows.iter().all(|row| row.se.is_some()));
    assert_same(&found, &wanted);
    // A part that is given twice is found, although its numbers are too scattered to be kept.
    let error = Tally::merge([parts[0].clone(), parts[1].clone(), parts[0].clone()]).unwrap_err().to_string();
    assert!(error.contains("two tallies cover the same rows"), "{error}");
}

/// Beyond so many ranges numbers are forgotten; rows of the sample are still found again, before anything of their batch is used.
#[test]
fn rows_that_come_twice_change_nothing_although_their_numbers_are_forgotten() {
    let rows = 70_000;
    let truth = Labels::from_ids(5, (0..rows).map(|row| [(row % 5) as u32])).unwrap();
    let scores = Csr::from_rows(5, (0..rows).map(|row| [((row / 3 % 5) as u32, 1.0f32)])).unwrap();
    let shape = StreamShape::new(5, &["a"]).unwrap();
    let of = || Evaluation::of_stream(&shape).unwrap().metrics(&["precision", "macro-f"]).unwrap().ks(&[1]).unwrap().evaluator();
    // Every number is a range of its own.
    let take = |evaluator: &mut Evaluator, rows: &[usize]| {
        let (truth, scores) = (truth.select_rows(rows), scores.select_rows(rows));
        let numbers: Vec<u64> = rows.iter().map(|row| 2 * *row as u64).collect();
        evaluator.update(&Batch::new(&truth, &[&scores]).unwrap().numbers(&numbers).unwrap())
    };
    let mut evaluator = of().unwrap();
    let all: Vec<usize> = (0..rows).collect();
    let (before, waiting) = all.split_at(69_000);
    before.chunks(20_000).for_each(|batch| take(&mut evaluator, batch).unwrap());
    let settled = evaluator.tally().unwrap().to_bytes().unwrap();
    // Few rows, which would only wait, and many.
    for again in [&all[100..140], &all[..10_000]] {
        let error = take(&mut evaluator, again).unwrap_err().to_string();
        assert!(error.contains("a row occurs twice"), "{error}");
        assert!(settled == evaluator.tally().unwrap().to_bytes().unwrap(), "a rejected batch changed something");
    }
    let mut part = of().unwrap();
    take(&mut part, &all[100..140]).unwrap();
    take(&mut evaluator, waiting).unwrap();
    // While rows wait, which are found as well.
    assert!(take(&mut evaluator, &waiting[..40]).is_err());
    let error = evaluator.merge(part.tally().unwrap()).unwrap_err().to_string();
    assert!(error.contains("two tallies cover the same rows"), "{error}");
    let mut wanted = of().unwrap();
    take(&mut wanted, &all).unwrap();
    assert_eq!(evaluator.rows(), rows as u64);
    assert_same(&evaluator.compute().unwrap(), &wanted.compute().unwrap());
}

/// Estimates that cancel are left out by streams too, with the same words.
#[test]
fn meaningless_estimates_are_left_out() {
    let rows = 5000;
    let truth = Labels::from_ids(12, (0..rows).map(|row| (0..if row == 4999 { 12 } else { 2 }).collect::<Vec<u32>>())).unwrap();
    let scores = Csr::from_rows(12, (0..rows).map(|row| [((row % 12) as u32, 1.0f32)])).unwrap();
    let small = || Propensities::new("small", vec![0.05; 12]).unwrap();
    let half = || Propensities::new("half", vec![0.5; 12]).unwrap();
    let shape = StreamShape::new(12, &["a"]).unwrap();
    for last in [4999, 100] {
        let order: Vec<usize> = (0..rows)
            .map(|row| {
                if row == last {
                    4999
                } else if row == 4999 {
                    last
                } else {
                    row
                }
            })
            .collect();
        let (truth, scores) = (truth.select_rows(&order), scores.select_rows(&order));
        let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().propensity(small()).propensity(half());
        let wanted = evaluation.run().unwrap();
        let mut evaluator = Evaluation::of_stream(&shape).unwrap().propensity(small()).propensity(half()).evaluator().unwrap();
        for start in (0..rows).step_by(1000) {
            let batch: Vec<usize> = (start..start + 1000).collect();
            let (truth, scores) = (truth.select_rows(&batch), scores.select_rows(&batch));
            evaluator.update(&Batch::new(&truth, &[&scores]).unwrap()).unwrap();
        }
        assert_same(&evaluator.compute().unwrap(), &wanted);
        let is_left_out = wanted.findings.iter().any(|finding| finding.message.contains("is left out"));
        assert_eq!(is_left_out, last == 100, "row 4999 is not looked at, row 100 is");
    }
}

#[test]
fn ignored_pairs_of_batches_are_those_of_all_rows() {
    let world = world(90, 4);
    let pairs: Vec<(usize, u32)> = (0..90).map(|row| (row, (row * 3 % LABELS) as u32)).collect();
    let ignored = IgnoredPairs::from_pairs(90, LABELS as u64, pairs.clone()).unwrap();
    let wanted = whole(&world, weighed).ignore(ignored).unwrap().run().unwrap();
    let mut evaluator = evaluator(&world, weighed);
    for start in (0..90).step_by(17) {
        let batch: Vec<usize> = (start..90.min(start + 17)).collect();
        let of_batch = pairs.iter().filter(|(row, _)| batch.contains(row)).map(|(row, label)| (row - start, *label));
        let ignored = IgnoredPairs::from_pairs(batch.len(), LABELS as u64, of_batch).unwrap();
        let truth = world.truth.select_rows(&batch);
        let scores: Vec<_> = world.scores.iter().map(|scores| scores.select_rows(&batch)).collect();
        let given = Batch::new(&truth, &scores.iter().collect::<Vec<_>>()).unwrap().ignore(&ignored).unwrap();
        evaluator.update(&given).unwrap();
    }
    assert_same(&evaluator.compute().unwrap(), &wanted);
}

struct Stopped;

impl Progress for Stopped {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) -> Result<()> {
        Err(Error::interrupted())
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let world = world(40, 5);
    let mut evaluator = evaluator(&world, plain);
    assert_eq!(evaluator.compute().unwrap_err().to_string(), "no rows were evaluated: expected at least one batch of rows");
    feed(&mut evaluator, &world, &(0..40).collect::<Vec<_>>(), true, 1);
    let wanted = evaluator.compute().unwrap();
    let (truth, scores) = (world.truth.select_rows(&[0, 1]), world.scores[0].select_rows(&[0, 1]));
    let (narrow, narrow_scores) =
        (Labels::from_ids(3, [vec![0], vec![1]]).unwrap(), Csr::from_rows(3, [[(0, 1f32)], [(1, 1f32)]]).unwrap());
    type Check<'a> = (&'a str, Result<Batch<'a>>);
    let two = [&scores, &scores];
    let checks: [Check<'_>; 7] = [
        ("the labels of the batch have another number of labels than the stream: expected 11, found 3", Batch::new(&narrow, &two)),
        ("the predictions of the batch have another number of labels", Batch::new(&truth, &[&scores, &narrow_scores])),
        ("expected those of a, b, found 1 matrices", Batch::new(&truth, &[&scores])),
        (
            "a row occurs twice: expected every row number once in a stream, found row 39 again",
            Batch::new(&truth, &two).unwrap().numbers(&[41, 39]),
        ),
        ("found row 50 again", Batch::new(&truth, &two).unwrap().numbers(&[50, 50])),
        ("a row number is out of range", Batch::new(&truth, &two).unwrap().numbers(&[1 << 32, 50])),
        ("the row numbers of the batch do not fit", Batch::new(&truth, &two).unwrap().numbers(&[50])),
    ];
    for (message, batch) in checks {
        let error = match batch {
            Ok(batch) => evaluator.update(&batch).unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains(message), "{error}");
    }
    // Large batches are stopped in the pass.
    let many: Vec<usize> = (0..9000).map(|row| row % 40).collect();
    let (truth, scores) = (world.truth.select_rows(&many), world.scores[0].select_rows(&many));
    let large = Batch::new(&truth, &[&scores, &scores]).unwrap();
    assert!(evaluator.update_watched(&large, &Stopped).is_err());
    assert_same(&evaluator.compute().unwrap(), &wanted);
    // Tallies of other requests, and tallies of known rows.
    let other =
        Evaluation::of_stream(&StreamShape::new(LABELS as u64, &["a", "b"]).unwrap()).unwrap().ks(&[2]).unwrap().evaluator();
    let error = evaluator.merge(other.unwrap().tally().unwrap()).unwrap_err().to_string();
    assert!(error.contains("not parts of the same evaluation") && error.contains("different k"), "{error}");
    let error = evaluator.merge(whole(&world, plain).tally().unwrap()).unwrap_err().to_string();
    assert!(error.contains("expected parts of a stream, or parts of data of known size, found one of each"), "{error}");
    assert_same(&evaluator.compute().unwrap(), &wanted);
}

#[test]
fn what_depends_on_all_rows_is_refused_at_the_start() {
    let world = world(40, 6);
    let shape = StreamShape::new(LABELS as u64, &["a"]).unwrap();
    let of = || Evaluation::of_stream(&shape).unwrap();
    let ignored = IgnoredPairs::from_pairs(0, LABELS as u64, []).unwrap();
    for (message, evaluation) in [
        ("a stream cannot have bootstrap replicates", of().bootstrap(5, 0)),
        ("a stream cannot have shards", of().shard(1, 2).unwrap()),
        ("a stream cannot have ignored pairs", of().ignore(ignored).unwrap()),
        ("a stream cannot have shown pairs or label counts", of().label_counts(Vec::new()).unwrap()),
        ("a stream cannot have rows before it starts", whole(&world, plain)),
    ] {
        let error = evaluation.evaluator().err().unwrap().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!(StreamShape::new(1 << 33, &["a"]).is_err());
    assert!(Evaluation::of_stream(&StreamShape::new(3, &[]).unwrap()).is_err());
}
