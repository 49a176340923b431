//! Requests with random options, carried out on small random data: a result or an error, never a panic.

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use unmissed::audit::Audit;
use unmissed::data::{Dataset, Dense, LabelStats, Labels, Scores};
use unmissed::evaluate::judged::{AnnotationPlan, PlanData};
use unmissed::evaluate::{Evaluation, Tally};
use unmissed::optimize::Optimization;
use unmissed::propensity::rows::MatchedRows;
use unmissed::request::{AnnotateRequest, AuditRequest, EvaluateRequest, OptimizeRequest, TrainRequest};
use unmissed::train::Trainer;

/// What fields may hold: specs of every registry, lists, and numbers inside and outside of what makes sense. Whole numbers are small,
/// since some of them are numbers of repetitions.
fn piece(input: &mut Unstructured<'_>) -> Result<Value> {
    const WORDS: &[&str] = &[
        "", "auto", "given", "none", "all", "default", "paper", "constant", "constant:p=0.5", "jpv", "jpv:a=0.5,b=0.4", "jpv:a=-1,b=0.4",
        "power", "power:gamma=0.5", "power:gamma=1e300", "richards", "table:", "table:nowhere", "rows:nowhere", "uniform", "inverse",
        "inverse-complete", "log", "effective:beta=0.5", "share", "share:0.5,0.9", "deciles", "counts:3,1", "2/3", "3/2", "0.5", "1e-300",
        "logistic", "unbiased-logistic", "bounded-squared-hinge", "plugin-logistic", "squared-hinge", "newton", "adam", "plugin",
        "alternating", "alternating:rounds=2", "l2", "precision", "precision@1:unbiased", "ndcg", "recall:observed", "macro-f:beta=2",
        "weighted-precision", "coverage", "abandonment", "observed", "unbiased", "normalized", "clipped", "hajek", "ratio",
        "doubly-robust", "population", "mask", "loss", "1/1", "2/2", "empty-rows=skip", "absent-labels=one", "1.5",
        "1.5:pair", "omega", "rows", "recall-known", "recall", "ndcg-min", "coverage:unbiased", "coverage-of=present",
        "bca", "greedy", "frank-wolfe", "macro-precision", "macro-recall", "balanced-accuracy", "0.5*precision+0.5*macro-f", "stored", "train",
    ];
    const NUMBERS: &[f64] = &[0.0, -0.0, 1.0, -1.0, 0.5, 0.95, 1e-300, 1e300, 1e-3, 2.5, f64::MAX];
    Ok(match input.int_in_range(0..=9)? {
        0 => Value::Null,
        1 => json!(input.int_in_range(0u64..=5)?),
        2 => json!(*input.choose(NUMBERS)?),
        3 => json!(input.arbitrary::<bool>()?),
        4 => json!((0..input.int_in_range(0..=3)?).map(|_| Ok(*input.choose(NUMBERS)?)).collect::<Result<Vec<_>>>()?),
        5 => json!((0..input.int_in_range(0..=3)?).map(|_| input.int_in_range(0..=6)).collect::<Result<Vec<u64>>>()?),
        6 => json!((0..input.int_in_range(0..=2)?).map(|_| Ok(*input.choose(WORDS)?)).collect::<Result<Vec<_>>>()?),
        7 => json!({ *input.choose(WORDS)?: *input.choose(WORDS)? }),
        _ => json!(*input.choose(WORDS)?),
    })
}

/// The default request with some of its fields replaced; `None` when what came out is not a request.
fn request<R: Default + Serialize + DeserializeOwned>(input: &mut Unstructured<'_>) -> Result<Option<R>> {
    let mut request = serde_json::to_value(R::default()).expect("a request can be written");
    let fields = request.as_object_mut().expect("a request is an object");
    let names: Vec<String> = fields.keys().cloned().collect();
    for _ in 0..input.int_in_range(0..=5)? {
        let name = input.choose(&names)?.clone();
        fields.insert(name, piece(input)?);
    }
    // What was accepted once must be accepted again after it was written.
    let Ok(request) = serde_json::from_value::<R>(request) else { return Ok(None) };
    let written = serde_json::to_string(&request).expect("a request can be written");
    assert!(serde_json::from_str::<R>(&written).is_ok(), "{written}");
    Ok(Some(request))
}

fn labels(input: &mut Unstructured<'_>, rows: usize, cols: u32) -> Result<Labels<'static>> {
    let row = |input: &mut Unstructured<'_>| -> Result<Vec<u32>> {
        let chosen: u8 = input.arbitrary()?;
        Ok((0..cols).filter(|label| chosen >> label & 1 == 1).collect())
    };
    let rows = (0..rows).map(|_| row(input)).collect::<Result<Vec<_>>>()?;
    Ok(Labels::from_ids(cols.into(), rows).expect("labels below the number of labels"))
}

/// Scores of some labels of each row, often tied.
fn scores(input: &mut Unstructured<'_>, rows: usize, cols: u32) -> Result<Scores<'static>> {
    let labels = labels(input, rows, cols)?;
    let values = (0..labels.nnz()).map(|_| Ok(f32::from(input.int_in_range(-2i8..=2)?))).collect::<Result<Vec<_>>>()?;
    Ok(Scores::new(cols.into(), labels.offsets().to_vec(), labels.ids().to_vec(), values).expect("a value for each label"))
}

/// Rows with two features.
fn dataset(input: &mut Unstructured<'_>, rows: usize, cols: u32) -> Result<Dataset<'static>> {
    let values = (0..2 * rows).map(|_| Ok(f32::from(input.int_in_range(-4i8..=4)?))).collect::<Result<Vec<_>>>()?;
    let features = Dense::new(rows, 2, values).expect("two values for each row");
    Ok(Dataset::new(Some(features.into()), labels(input, rows, cols)?).expect("as many features as labels"))
}

/// Trains as a random request says.
pub fn train(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let _ = train_with(&mut input);
}

fn train_with(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(request) = request::<TrainRequest>(input)? else { return Ok(()) };
    let (rows, cols) = (input.int_in_range(0..=6)?, input.int_in_range(1..=6)?);
    let (data, validation) = (dataset(input, rows, cols)?, dataset(input, rows, cols)?);
    let mut trainer = Trainer::new(request);
    if input.arbitrary()? {
        trainer = trainer.validation(&validation);
    }
    let _ = trainer.train(&data);
    Ok(())
}

/// Audits as a random request says, with some of the evidence that an audit takes.
pub fn audit(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let _ = audit_with(&mut input);
}

fn audit_with(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(mut request) = request::<AuditRequest>(input)? else { return Ok(()) };
    request.bootstrap = request.bootstrap.min(5);
    let (rows, train_rows, cols) = (input.int_in_range(0..=6)?, input.int_in_range(0..=6)?, input.int_in_range(1..=6)?);
    let (test, train) = (dataset(input, rows, cols)?, dataset(input, train_rows, cols)?);
    let (a, b) = (scores(input, rows, cols)?, scores(input, rows, cols)?);
    let (later, controlled, truth) = (dataset(input, train_rows, cols)?, dataset(input, rows, cols)?, dataset(input, rows, cols)?);
    let of_train = scores(input, train_rows, cols)?;
    let Ok(mut audit) = Audit::new(&test, &[("a", &a), ("b;c", &b)]) else { return Ok(()) };
    audit = audit.request(request);
    let [with_train, with_later, with_controlled, with_truth, with_train_predictions] = input.arbitrary::<[bool; 5]>()?;
    if with_train {
        audit = audit.train(&train);
    }
    if with_later {
        audit = audit.later(&later);
    }
    if with_controlled {
        audit = audit.controlled(&controlled);
    }
    if with_train_predictions {
        audit = audit.train_predictions("a", &of_train);
    }
    if with_truth {
        let Ok(with_truth) = audit.truth(&truth) else { return Ok(()) };
        audit = with_truth;
    }
    let _ = audit.run();
    Ok(())
}

/// Evaluates as a random request says, with some of the evidence that an evaluation takes.
pub fn evaluate(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let _ = evaluate_with(&mut input);
}

fn evaluate_with(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(mut request) = request::<EvaluateRequest>(input)? else { return Ok(()) };
    request.bootstrap = request.bootstrap.min(5);
    let (rows, train_rows, cols) = (input.int_in_range(0..=6)?, input.int_in_range(1..=6)?, input.int_in_range(1..=6)?);
    let (test, train) = (labels(input, rows, cols)?, labels(input, train_rows, cols)?);
    let (a, b) = (scores(input, rows, cols)?, scores(input, rows, cols)?);
    let (shown, later) = (labels(input, rows, cols)?, labels(input, rows, cols)?);
    let (later_of_train, of_train) = (labels(input, train_rows, cols)?, scores(input, train_rows, cols)?);
    let stats = LabelStats::of(&train);
    let [with_train, with_shown, with_later, with_matched, with_counts] = input.arbitrary::<[bool; 5]>()?;
    let (has_later, rho) = (input.arbitrary::<[bool; 6]>()?, *input.choose(&[0.0, 1e-300, 0.5, 1.0])?);
    let counts = (0..rows).map(|_| input.int_in_range(0..=9)).collect::<Result<Vec<u32>>>()?;
    let cut = input.int_in_range(0..=rows)?;
    let build = || -> unmissed::Result<Evaluation<'_>> {
        let mut evaluation = Evaluation::new(&test, &[("a", &a), ("b;c", &b)])?;
        if with_train {
            evaluation = evaluation.train(&stats);
        }
        if with_shown {
            evaluation = evaluation.shown(&shown)?;
        }
        if with_later {
            evaluation = evaluation.later(&later, has_later[..rows].to_vec(), vec![rho; rows])?;
        }
        if with_matched {
            let matched = MatchedRows::new(&train, &later_of_train)?.predictions("a", &of_train)?.predictions("b;c", &of_train)?;
            evaluation = evaluation.matched(matched)?;
        }
        if with_counts {
            evaluation = evaluation.label_counts(counts.clone())?;
        }
        evaluation.request(request)
    };
    let Ok(evaluation) = build() else { return Ok(()) };
    let _ = evaluation.run();
    // Parts must come to the same as the whole, and survive a file.
    let Ok(whole) = evaluation.tally_rows(0..rows) else { return Ok(()) };
    let parts = [cut..rows, 0..cut].map(|part| evaluation.tally_rows(part).expect("a part of what could be tallied"));
    let merged = Tally::merge(parts).expect("parts of one evaluation");
    let whole = whole.to_bytes().expect("a tally can be written");
    assert_eq!(merged.to_bytes().expect("and a merged one"), whole);
    Tally::from_bytes(&whole).expect("and read again");
    Ok(())
}

/// Optimises predictions as a random request says.
pub fn optimize(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let _ = optimize_with(&mut input);
}

fn optimize_with(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(request) = request::<OptimizeRequest>(input)? else { return Ok(()) };
    let (rows, train_rows, cols) = (input.int_in_range(0..=6)?, input.int_in_range(1..=6)?, input.int_in_range(1..=6)?);
    let (test, train) = (labels(input, rows, cols)?, labels(input, train_rows, cols)?);
    let stored = labels(input, rows, cols)?;
    let values = (0..stored.nnz()).map(|_| Ok(f32::from(input.int_in_range(0u8..=8)?) / 8.0)).collect::<Result<Vec<_>>>()?;
    let probabilities =
        Scores::new(cols.into(), stored.offsets().to_vec(), stored.ids().to_vec(), values).expect("a value for each label");
    let stats = LabelStats::of(&train);
    let k = request.k;
    let Ok(mut optimization) = Optimization::new(&probabilities, request) else { return Ok(()) };
    if input.arbitrary()? {
        optimization = optimization.train(&stats);
    }
    if input.arbitrary()? {
        let Ok(with_test) = optimization.test(&test) else { return Ok(()) };
        optimization = with_test;
    }
    if let Ok(optimized) = optimization.run() {
        assert!((0..rows).all(|row| optimized.predictions.row(row).0.len() <= k));
    }
    Ok(())
}

/// Plans pairs to judge as a random request says.
pub fn annotate(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let _ = annotate_with(&mut input);
}

fn annotate_with(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(request) = request::<AnnotateRequest>(input)? else { return Ok(()) };
    let (rows, train_rows, cols) = (input.int_in_range(0..=6)?, input.int_in_range(1..=6)?, input.int_in_range(1..=6)?);
    let (truth, train) = (labels(input, rows, cols)?, labels(input, train_rows, cols)?);
    let (a, b) = (scores(input, rows, cols)?, scores(input, rows, cols)?);
    let stats = LabelStats::of(&train);
    let models = [("a", &a), ("b;c", &b)];
    let models = &models[..input.int_in_range(0..=2)?];
    let data = PlanData { truth: &truth, models, train: input.arbitrary::<bool>()?.then_some(&stats) };
    let (budget, observed) = (request.budget, request.check_observed);
    if let Ok(plan) = AnnotationPlan::new(&data, &request) {
        let pairs = plan.pairs();
        assert!(pairs.len() as u64 <= budget.saturating_add(observed), "{} pairs of {budget} and {observed}", pairs.len());
        assert!(pairs.iter().all(|pair| pair.probability > 0.0 && pair.probability <= 1.0));
    }
    Ok(())
}
