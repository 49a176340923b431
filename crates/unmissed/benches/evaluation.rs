//! Evaluation speed and memory: `cargo bench --bench evaluation`.
//!
//! `UNMISSED_BENCH_ROWS` (490 000), `UNMISSED_BENCH_LABELS` (670 000) and `UNMISSED_BENCH_STORED` (100 predictions per row) set the size;
//! `UNMISSED_BENCH_TASK` picks tasks by their names, with semicolons between them. `UNMISSED_BENCH_PYTHON` names a Python that has napkinXC or xCOLUMNs: they then
//! run on the same data, in the same run. `UNMISSED_BENCH_FILES=1` also measures from text files (about 0.7 GB in the temporary
//! directory).
//! Data are seeded: Zipf labels, one prediction in each stratum of labels, the true label in its stratum with probability 0.7.
//! Each JSON line has the best and the median of several runs of a task. `floor` is the least that anybody has to do for four
//! metrics with one propensity model, on one thread and without checks: the top 5 by insertion and a scan of the true labels.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod common;

use common::peak_anonymous;
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;
use unmissed::data::formats::{Content, ReadOptions, read_dataset, read_scores, write};
use unmissed::data::{Csr, Dataset, LabelStats, Labels, Scores};
use unmissed::evaluate::Evaluation;
use unmissed::metrics::weights;
use unmissed::propensity::{Propensities, models};

/// Name, threads, and the work.
type Task<'a> = (String, usize, Box<dyn Fn() -> f64 + Sync + 'a>);

const REPETITIONS: usize = 7;
const MODELS: [&str; 10] = [
    "jpv",
    "jpv:wikipedia",
    "jpv:amazon",
    "power:relative,gamma=0.3",
    "constant:p=0.5",
    "jpv:a=0.4,b=1",
    "jpv:a=0.45,b=1",
    "jpv:a=0.65,b=2",
    "jpv:a=0.7,b=2",
    "constant:p=0.8",
];
/// Means over rows; the others are means over labels, whose intervals are a second look at the rows.
const ROW_METRICS: usize = 6;
const METRICS: [&str; 8] =
    ["precision", "ndcg", "weighted-precision", "recall:observed", "ndcg-min:observed", "abandonment", "macro-f", "coverage"];

fn size(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let (rows, labels) = (size("UNMISSED_BENCH_ROWS", 490_000), size("UNMISSED_BENCH_LABELS", 670_000));
    let stored = size("UNMISSED_BENCH_STORED", 100);
    let (truth, scores) = generate(rows, labels, stored);
    let stats = LabelStats::of(&truth);
    let p: Vec<Propensities> = MODELS.iter().map(|spec| models::parse(spec).unwrap().propensities(&stats).unwrap()).collect();
    let w = weights::from_spec("log", &stats, None).unwrap();
    let inverse: Vec<f32> = p[0].inverse().iter().map(|q| *q as f32).collect();
    let other = rescored(&scores);
    let predictions: [(&str, &Csr<'_, f32>); 2] = [("a", &scores), ("b", &other)];
    let evaluate_predictions = |count: usize, models: usize, metrics: &[&str]| {
        let mut evaluation = Evaluation::new(&truth, &predictions[..count]).unwrap().metrics(metrics).unwrap().bootstrap(0, 0);
        evaluation = evaluation.weights("log", w.clone()).unwrap();
        for p in &p[..models] {
            evaluation = evaluation.propensity(p.clone());
        }
        evaluation
    };
    let evaluate = |models: usize, metrics: &[&str]| evaluate_predictions(1, models, metrics);
    let all = [1, 5, 10].map(|count| evaluate(count, &METRICS));
    let few = evaluate(1, &["precision:observed"]);
    let of_rows = [1, 2].map(|count| evaluate_predictions(count, 1, &METRICS[..ROW_METRICS]));
    let two = [1, 5].map(|models| evaluate_predictions(2, models, &METRICS));
    // As from a file: every label has a propensity of its own.
    let table = (0..labels).map(|label| 0.2 + 0.8 * (label as f64 * 0.618_033_988).fract()).collect();
    let own = evaluate(4, &METRICS).propensity(Propensities::new("table", table).unwrap());
    let slow = evaluate(5, &["recall", "ndcg-min"]);
    let boot = evaluate(1, &["macro-f", "coverage"]).bootstrap(100, 0);
    let mut tasks: Vec<Task<'_>> = vec![("floor".into(), 1, {
        let (truth, scores, inverse) = (&truth, &scores, &inverse);
        Box::new(move || floor(truth, scores, inverse))
    })];
    for threads in [1, 2] {
        let scores = &scores;
        tasks.push(("read the predictions once".into(), threads, Box::new(move || touch(scores))));
        for (name, evaluation) in [
            ("1 model", &all[0]),
            ("5 models", &all[1]),
            ("10 models", &all[2]),
            ("5 models, one a table", &own),
            ("precision observed", &few),
            ("1 model, means over rows", &of_rows[0]),
            ("1 model, means over rows, 2 predictions", &of_rows[1]),
            ("1 model, 2 predictions", &two[0]),
            ("5 models, 2 predictions", &two[1]),
        ] {
            tasks.push((name.into(), threads, Box::new(|| evaluation.run().unwrap().rows[0].value.unwrap())));
        }
    }
    let only = std::env::var("UNMISSED_BENCH_TASK").ok();
    tasks.retain(|(name, _, _)| only.as_ref().is_none_or(|only| only.split(';').any(|only| only == name)));
    let mut seconds = vec![Vec::new(); tasks.len()];
    for repetition in 0..REPETITIONS {
        for (task, (_, threads, work)) in tasks.iter().enumerate() {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(*threads).build().unwrap();
            let start = Instant::now();
            let value = pool.install(work);
            seconds[task].push(start.elapsed().as_secs_f64());
            assert!(repetition > 0 || value > 0.0);
        }
    }
    for (seconds, (name, threads, _)) in seconds.iter_mut().zip(&tasks) {
        seconds.sort_by(f64::total_cmp);
        print(name, *threads, seconds);
    }
    if only.is_some() {
        return;
    }
    let input = truth.bytes() + scores.bytes();
    let peak = peak_anonymous(|| drop(all[1].run().unwrap()));
    println!("{{\"task\":\"memory, 5 models\",\"input_mb\":{:.0},\"peak_above_mb\":{:.0}}}", input as f64 / 1e6, peak as f64 / 1e6);
    for (name, evaluation) in
        [("unbiased recall and ndcg-min, 5 models", &slow), ("bootstrap of macro-f and coverage, B = 100", &boot)]
    {
        let start = Instant::now();
        evaluation.run().unwrap();
        print(name, 2, &[start.elapsed().as_secs_f64()]);
    }
    if let Some(python) = std::env::var_os("UNMISSED_BENCH_PYTHON") {
        peers(Path::new(&python), &truth, &scores, &p[..5], &w);
    }
    if std::env::var_os("UNMISSED_BENCH_FILES").is_some() {
        drop(tasks);
        from_files(truth, scores, &p[..5], &w);
    }
}

/// Other libraries, and our Python package, on the same data: hands arrays over in files, which is not timed.
fn peers(python: &Path, truth: &Labels<'_>, scores: &Csr<'_, f32>, p: &[Propensities], weights: &[f64]) {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("shape.json", format!("[{}, {}]", truth.rows(), truth.cols()).as_bytes());
    put("truth.offsets", bytemuck::cast_slice(truth.offsets()));
    put("truth.ids", bytemuck::cast_slice(truth.ids()));
    put("scores.offsets", bytemuck::cast_slice(scores.offsets()));
    put("scores.ids", bytemuck::cast_slice(scores.ids()));
    put("scores.values", bytemuck::cast_slice(scores.values()));
    put("inverse", bytemuck::cast_slice(&p.iter().flat_map(Propensities::inverse).collect::<Vec<f64>>()));
    put("weights", bytemuck::cast_slice(weights));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/bench_evaluation_peers.py");
    let status = std::process::Command::new(python).arg(script).arg(folder.path()).status();
    assert!(status.is_ok_and(|status| status.success()), "the peers failed");
}

/// What `unmissed evaluate` does: reads labels and predictions from text, evaluates; and how long the reading alone takes.
fn from_files(truth: Labels<'static>, scores: Csr<'static, f32>, p: &[Propensities], weights: &[f64]) {
    let folder = tempfile::tempdir().unwrap();
    let (test, predictions) = (folder.path().join("test.txt"), folder.path().join("predictions.txt"));
    write(&Content::Data(Dataset::new(None, truth).unwrap()), &test, Some("xmc")).unwrap();
    write(&Content::Scores(scores), &predictions, Some("scores")).unwrap();
    let megabytes = [&test, &predictions].map(|path| std::fs::metadata(path).unwrap().len()).iter().sum::<u64>() as f64 / 1e6;
    let read = || {
        let options = ReadOptions::default();
        (read_dataset(&test, &options).unwrap(), read_scores(&predictions, &options).unwrap())
    };
    let whole = || {
        let (data, scores) = read();
        let evaluation = Evaluation::new(data.labels(), &[("a", &scores)]).unwrap().metrics(&METRICS).unwrap().bootstrap(0, 0);
        let evaluation = evaluation.weights("log", weights.to_vec()).unwrap();
        p.iter().cloned().fold(evaluation, Evaluation::propensity).run().unwrap();
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (seconds, work) in seconds.iter_mut().zip([&(|| drop(read())) as &(dyn Fn() + Sync), &whole]) {
            let start = Instant::now();
            pool.install(work);
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    for (seconds, name) in seconds.iter_mut().zip(["read text", "read text and evaluate, 5 models"]) {
        seconds.sort_by(f64::total_cmp);
        print(&format!("{name} ({megabytes:.0} MB)"), 2, seconds);
    }
}

fn print(name: &str, threads: usize, seconds: &[f64]) {
    println!(
        "{{\"task\":\"{name}\",\"threads\":{threads},\"best_s\":{:.4},\"median_s\":{:.4}}}",
        seconds[0],
        seconds[seconds.len() / 2]
    );
}

/// The predictions of another model: the same labels, whose scores are partly others.
fn rescored(scores: &Csr<'_, f32>) -> Csr<'static, f32> {
    let noise = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let value = |(at, value): (usize, &f32)| 0.8 * value + 0.2 * noise(at) as f32 / (1 << 24) as f32;
    let values: Vec<f32> = scores.values().iter().enumerate().map(value).collect();
    Scores::new(scores.cols() as u64, scores.offsets().to_vec(), scores.ids().to_vec(), values).unwrap()
}

/// Zipf labels and stored predictions, seeded.
fn generate(rows: usize, labels: usize, stored: usize) -> (Labels<'static>, Csr<'static, f32>) {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut cumulative: Vec<f64> = (1..=labels).map(|rank| (rank as f64).powf(-0.9)).collect();
    for rank in 1..labels {
        cumulative[rank] += cumulative[rank - 1];
    }
    let total = cumulative[labels - 1];
    let mut names: Vec<u32> = (0..labels as u32).collect();
    for place in (1..labels).rev() {
        names.swap(place, (next() * (place + 1) as f64) as usize);
    }
    let stratum = labels / stored;
    let (mut offsets, mut ids) = (vec![0u64], Vec::new());
    let (mut predicted, mut scores) = (Vec::with_capacity(rows * stored), Vec::with_capacity(rows * stored));
    for _ in 0..rows {
        // Poisson with mean 4.4, by multiplying uniforms, plus one.
        let (mut count, mut product) = (1, next());
        while product > (-4.4f64).exp() {
            count += 1;
            product *= next();
        }
        let mut row: Vec<u32> =
            (0..count).map(|_| names[cumulative.partition_point(|c| *c < next() * total).min(labels - 1)]).collect();
        row.sort_unstable();
        row.dedup();
        let start = predicted.len();
        for place in 0..stored {
            predicted.push((place * stratum) as u32 + (next() * stratum as f64) as u32);
            scores.push((next().powi(2) * 0.6) as f32);
        }
        for label in &row {
            let place = (*label as usize / stratum).min(stored - 1);
            if next() < 0.7 {
                predicted[start + place] = *label;
                scores[start + place] = (0.3 + 0.7 * next()) as f32;
            }
        }
        ids.extend(row);
        offsets.push(ids.len() as u64);
    }
    let all: Vec<u64> = (0..=rows as u64).map(|row| row * stored as u64).collect();
    (Labels::new(labels as u64, offsets, ids).unwrap(), Scores::new(labels as u64, all, predicted, scores).unwrap())
}

/// Reads every prediction and does nothing with it: what memory allows.
fn touch(scores: &Csr<'_, f32>) -> f64 {
    let ids = scores.ids().par_chunks(1 << 16).map(|ids| ids.iter().fold(0u32, |a, id| a ^ id)).reduce(|| 0, |a, b| a ^ b);
    let bits = scores.values().par_chunks(1 << 16).map(|values| values.iter().fold(0u32, |a, value| a ^ value.to_bits()));
    1.0 + f64::from(ids ^ bits.reduce(|| 0, |a, b| a ^ b))
}

/// P, nDCG, PSP and PSnDCG at 1 to 5, the shortest way.
fn floor(truth: &Labels<'_>, scores: &Csr<'_, f32>, inverse: &[f32]) -> f64 {
    let discounts: [f64; 5] = std::array::from_fn(|rank| 1.0 / ((rank + 2) as f64).log2());
    let mut sums = [[0.0f64; 5]; 6];
    for row in 0..truth.rows() {
        let (ids, values) = scores.row(row);
        let (mut best, mut top) = ([f32::MIN; 5], [u32::MAX; 5]);
        for (id, value) in ids.iter().zip(values) {
            if *value > best[4] {
                let mut place = 4;
                while place > 0 && best[place - 1] < *value {
                    (best[place], top[place]) = (best[place - 1], top[place - 1]);
                    place -= 1;
                }
                (best[place], top[place]) = (*value, *id);
            }
        }
        let labels = truth.row_ids(row);
        let mut largest = [0.0f32; 5];
        for label in labels {
            let value = inverse[*label as usize];
            if value > largest[4] {
                let mut place = 4;
                while place > 0 && largest[place - 1] < value {
                    largest[place] = largest[place - 1];
                    place -= 1;
                }
                largest[place] = value;
            }
        }
        let mut acc = [0.0f64; 7];
        for rank in 0..5 {
            if rank < labels.len() {
                acc[6] += discounts[rank];
            }
            if labels.contains(&top[rank]) {
                let q = f64::from(inverse[top[rank] as usize]);
                let gains = [1.0, discounts[rank], q, q * discounts[rank]];
                acc.iter_mut().zip(gains).for_each(|(a, g)| *a += g);
            }
            acc[4] += f64::from(largest[rank]);
            acc[5] += f64::from(largest[rank]) * discounts[rank];
            let k = (rank + 1) as f64;
            sums[0][rank] += acc[0] / k;
            sums[2][rank] += acc[2] / k;
            sums[4][rank] += acc[4] / k;
            if acc[6] > 0.0 {
                sums[1][rank] += acc[1] / acc[6];
                sums[3][rank] += acc[3] / acc[6];
                sums[5][rank] += acc[5] / acc[6];
            }
        }
    }
    sums.iter().flatten().sum()
}
