//! Settings are found on rows that were not trained on, and a run that is interrupted can be resumed.

use std::sync::atomic::{AtomicU64, Ordering};
use unmissed::data::Dataset;
use unmissed::data::generators::{GENERATORS, Generated, GeneratorSettings, generate};
use unmissed::predict::{BlockStore, file};
use unmissed::progress::Progress;
use unmissed::propensity::{Learned, Propensities, ValueSource};
use unmissed::request::{Adam, Criterion, JointLearning, NormalizeChoice, Solver, SolverChoice, TrainRequest, Validation};
use unmissed::train::{Destination, Trainer, Tuning};

fn survey(users: &str, items: &str, seed: u64) -> Generated {
    let generator = unmissed::spec::find(GENERATORS, "generator", "survey").unwrap();
    let mut settings = GeneratorSettings::of(generator);
    let changes =
        [("users", users), ("test-users", "500"), ("controlled-users", "600"), ("items", items), ("shown", "10"), ("dim", "6")];
    changes.iter().for_each(|(name, value)| settings.set(name, *value).unwrap());
    generator.generate(&settings, seed).unwrap()
}

fn truth(data: &Generated) -> Propensities {
    let values = data.table("propensities").unwrap().rows.iter().map(|row| row[0]).collect();
    Propensities::new("true", values).unwrap()
}

fn adam(epochs: usize) -> TrainRequest {
    let (learning_rate, batch_size) = (vec![0.1], Some(128));
    TrainRequest { solver: SolverChoice::Adam, learning_rate, batch_size, epochs: Some(epochs), ..TrainRequest::default() }
}

#[test]
fn the_best_epoch_is_found_and_refitted() {
    let data = survey("600", "40", 1);
    let train = data.part("train").unwrap();
    let request = TrainRequest { normalize: NormalizeChoice::None, ..adam(12) };
    let tuning = Trainer::new(request.clone()).tune(train).unwrap().unwrap();
    assert_eq!((tuning.trials.len(), tuning.rows, &tuning.criterion), (12, 60, &Criterion::Loss));
    let best = tuning.best().unwrap();
    let losses: Vec<f64> = tuning.trials.iter().map(|trial| trial.loss.unwrap()).collect();
    assert!(losses.iter().all(|loss| *loss >= best.loss.unwrap()));
    assert!(losses[0] > best.loss.unwrap(), "{losses:?}");
    let (model, trained) = Trainer::new(request.clone()).train(train).unwrap();
    let expected = Adam { learning_rate: 0.1, batch_size: 128, epochs: best.epoch.unwrap() };
    assert_eq!(trained.outcome.solver, Solver::Adam(expected));
    assert_eq!(trained.outcome.tuning.as_ref().unwrap().len(), 12);
    assert_eq!(trained.about.request, Some(request.clone()));
    let by = |request: TrainRequest| Trainer::new(request).train(train).unwrap().0;
    assert!(model == by(tuning.apply(&request)));
    assert!(model == by(TrainRequest { epochs: best.epoch, holdout: 0.0, ..request }));
}

#[test]
fn grids_are_tried_whole_and_metrics_decide_when_asked() {
    let data = survey("600", "40", 2);
    let (train, p) = (data.part("train").unwrap(), truth(&data));
    let request = TrainRequest {
        tune: true,
        decay: vec![0.0, 1e-4, 1e-2, 1.0],
        normalize: NormalizeChoice::None,
        ..TrainRequest::by_loss("unbiased-logistic")
    };
    let tune = |request: TrainRequest| -> Tuning { Trainer::new(request).propensity(&p).tune(train).unwrap().unwrap() };
    let by_loss = tune(request.clone());
    assert_eq!(by_loss.trials.iter().map(|trial| trial.setting.decay).collect::<Vec<_>>(), [1e-4, 1e-2, 1.0]);
    let by = |criterion: &str| tune(TrainRequest { criterion: Some(criterion.parse().unwrap()), ..request.clone() });
    let by_metric = by("precision@3:unbiased");
    let best = by_metric.best().unwrap().metric.unwrap();
    assert!(by_metric.trials.iter().all(|trial| trial.metric.unwrap() <= best));
    assert_eq!(by_loss.trials[0].loss, by_metric.trials[0].loss);
    let worst = by("abandonment@3:observed");
    assert!(worst.trials.iter().all(|trial| trial.metric >= worst.best().unwrap().metric), "fewer is better");

    let controlled = data.part("controlled").unwrap();
    let on = |rate: &str, criterion: Option<Criterion>| {
        let validation = Some(Validation { rate: Some(rate.parse().unwrap()), ..Validation::default() });
        let request = TrainRequest { validation, criterion, ..request.clone() };
        Trainer::new(request).propensity(&p).validation(controlled).tune(train)
    };
    let on_controlled = on("10/40", None).unwrap().unwrap();
    assert_eq!((on_controlled.rows, on_controlled.criterion.clone()), (600, Criterion::Loss));
    assert!(on_controlled.trials.iter().all(|trial| trial.loss.is_some() && trial.metric.is_none()));
    let by_metric = on("10/40", "precision@1".parse().ok()).unwrap().unwrap();
    assert!(by_metric.trials.iter().all(|trial| trial.metric.is_some()));
    assert!(on("10/39", None).unwrap_err().to_string().contains("the rate does not match the labels"));
    let nothing = TrainRequest { validation: Some(Validation::default()), ..request.clone() };
    assert!(Trainer::new(nothing).propensity(&p).tune(train).unwrap_err().to_string().contains("not passed"));
    assert!(TrainRequest { holdout: 1.0, ..request }.check().is_err());
}

/// Stops the work after so many calls.
struct Stops(AtomicU64);

impl Progress for Stops {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _amount: u64) -> unmissed::Result<()> {
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(unmissed::Error::interrupted()),
        }
    }
}

#[test]
fn an_interrupted_run_is_resumed_to_the_same_file() {
    let data = survey("400", "40", 3);
    let train = data.part("train").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let request = TrainRequest { joint: Some(JointLearning::Plugin), ..adam(3) };
    let trainer = Trainer::new(request.clone());
    let to = |name: &str, resume| Destination { path: folder.path().join(name), resume, prune: None, half: false };
    let whole = trainer.train_to(train, &to("whole", false)).unwrap();
    assert_eq!(whole.learned.as_ref().unwrap().len(), 40);

    // Three parts of 16 labels in two blocks are tuned on for three epochs each, then trained: the run ends inside the second block.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let epochs = whole.outcome.solver.adam().unwrap().epochs as u64;
    let stops = Stops(AtomicU64::new(9 + 3 * epochs - 1));
    let interrupted = pool.install(|| trainer.clone().progress(&stops).train_to(train, &to("again", false)));
    assert_eq!(interrupted.unwrap_err().to_string(), "interrupted");
    assert!(!folder.path().join("again").exists() && BlockStore::folder(folder.path().join("again")).is_dir());
    let refused = trainer.train_to(train, &to("again", false)).unwrap_err().to_string();
    assert!(refused.contains("an unfinished run left blocks here"), "{refused}");
    let other = Trainer::new(TrainRequest { seed: 5, ..request.clone() });
    let refused = other.train_to(train, &to("again", true)).unwrap_err().to_string();
    assert!(refused.contains("'request.seed' differs"), "{refused}");
    // How much memory it may take is no part of what is trained.
    let trainer = Trainer::new(TrainRequest { memory: Some(1 << 30), ..request });
    let resumed = trainer.train_to(train, &to("again", true)).unwrap();
    assert_eq!(resumed.resumed, 1);
    assert_eq!(resumed.learned, whole.learned);
    assert!(!BlockStore::folder(folder.path().join("again")).exists());
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("again") == bytes("whole"));
    let (model, trained) = trainer.train(train).unwrap();
    assert!(model == file::read(folder.path().join("whole"), true).unwrap().0);
    assert_eq!(trained.learned, whole.learned);
}

/// The rank correlation of two lists.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut ranks = vec![0.0; values.len()];
        order.iter().enumerate().for_each(|(rank, place)| ranks[*place] = rank as f64);
        ranks
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() - 1) as f64 / 2.0;
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// Labels that are sure on some rows, as joint learning needs them, with propensities that have nothing to do with frequency.
fn sure() -> (Dataset<'static>, Propensities) {
    use crate::common::rng::{Purpose, row_key, uniform_at};
    use unmissed::data::{Csr, Features, Labels, mask};
    let p: Vec<f64> = (0..40).map(|j| 0.15 + 0.8 * f64::from(j * 7 % 40) / 40.0).collect();
    let keys: Vec<u64> = (0..4000).map(|row| row_key(8, Purpose::GenerateRows, row)).collect();
    // Each label has a feature of its own; with it the label is relevant, without it is not.
    let has = |key: u64, j: u32| uniform_at(key, j) < 0.25;
    let rows = keys.iter().map(|&key| (0..40u32).filter(|j| has(key, *j)).collect::<Vec<_>>()).collect::<Vec<_>>();
    let features = Csr::from_rows(40, rows.iter().map(|row| row.iter().map(|f| (*f, 1.0f32)).collect::<Vec<_>>())).unwrap();
    let labels = mask(&Labels::from_ids(40, rows.clone()).unwrap(), &p, 3).unwrap();
    (Dataset::new(Some(Features::Sparse(features)), labels).unwrap(), Propensities::new("true", p).unwrap())
}

#[test]
fn joint_learning_finds_propensities_where_labels_are_sure() {
    let (data, p) = sure();
    let request = TrainRequest {
        joint: Some(JointLearning::Plugin),
        learning_rate: vec![0.05],
        normalize: NormalizeChoice::None,
        holdout: 0.0,
        ..adam(60)
    };
    let (_, trained) = Trainer::new(request).train(&data).unwrap();
    let learned = trained.learned.unwrap();
    let errors: Vec<f64> = learned.values().iter().zip(p.values()).map(|(a, b)| (a - b).abs()).collect();
    let mean = errors.iter().sum::<f64>() / 40.0;
    assert!(spearman(learned.values(), p.values()) > 0.95 && mean < 0.1, "{mean}: {:?}", learned.values());
    assert_eq!(trained.about.propensity, Some(Learned::Plugin.into()));
}

/// Observed labels alone do not tell how sure a label is on the rows with its highest scores: the interval of what was learned bounds the
/// propensity from below only.
#[test]
fn intervals_of_learned_propensities_hold_also_where_labels_are_never_sure() {
    let (mut held, mut known, mut unknown) = (0, 0, 0);
    for seed in 0..3 {
        let parameters = [("users", "1500"), ("test-users", "10"), ("controlled-users", "10"), ("items", "40"), ("noise", "1")];
        let survey = generate("survey", &parameters, seed).unwrap();
        let request = TrainRequest { joint: Some(JointLearning::Plugin), seed, ..adam(20) };
        let (_, trained) = Trainer::new(request).train(survey.part("train").unwrap()).unwrap();
        let learned = trained.learned.unwrap();
        for (label, truth) in (0..).zip(&survey.table("propensities").unwrap().rows) {
            let Some(interval) = learned.interval(label) else {
                assert_eq!(learned.source(label), ValueSource::NotIdentified);
                unknown += 1;
                continue;
            };
            known += 1;
            held += u32::from(interval.low <= truth[0] && truth[0] <= interval.high);
        }
    }
    assert!(known >= 5 && unknown >= 50, "{known} and {unknown}");
    assert!(f64::from(held) >= 0.93 * f64::from(known), "{held} of {known}");
}

#[test]
fn alternating_learning_is_repeatable_and_stays_in_range() {
    let (data, _) = sure();
    let request =
        TrainRequest { decay: vec![1e-3], normalize: NormalizeChoice::None, ..TrainRequest::by_loss("unbiased-logistic") };
    let trainer = Trainer::new(request);
    let learned = trainer.check(&data).unwrap().alternating(6).unwrap();
    let again = trainer.check(&data).unwrap().alternating(6).unwrap();
    assert_eq!(learned, again);
    // What the module's page says of rows on which a label is never relevant: p falls towards the frequency, not below.
    let frequency = |label: usize| {
        let rows = (0..data.rows()).filter(|&row| data.labels().row_ids(row).contains(&(label as u32)));
        rows.count() as f64 / data.rows() as f64
    };
    for (label, &p) in learned.values().iter().enumerate() {
        assert!((0.8 * frequency(label)..=1.0).contains(&p), "label {label}: {p}, frequency {}", frequency(label));
    }
    let refused = Trainer::by_loss("logistic").check(&data).unwrap().alternating(6).unwrap_err().to_string();
    assert!(refused.contains("expected 'unbiased-logistic'"), "{refused}");
}

/// The default decay follows from the propensities in use: those that were learned, in memory and in a file alike.
#[test]
fn alternating_learning_gives_the_same_model_in_memory_and_in_a_file() {
    let (data, _) = sure();
    let request = TrainRequest { joint: Some("alternating:rounds=2".parse().unwrap()), ..TrainRequest::default() };
    let (model, trained) = Trainer::new(request.clone()).train(&data).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = Destination { path: folder.path().join("m"), resume: false, prune: None, half: false };
    let filed = Trainer::new(request).train_to(&data, &to).unwrap();
    assert_eq!(filed.outcome, trained.outcome);
    assert!(file::read(&to.path, true).unwrap() == (model, trained.about));
}

/// The log loss on a controlled set is that of the pairs that were shown, or of `c s` over all pairs when only positives are known.
#[test]
fn controlled_log_losses_are_those_by_hand() {
    let data = survey("500", "20", 6);
    let (train, controlled) = (data.part("train").unwrap(), data.part("controlled").unwrap());
    let (shown, p) = (data.part("controlled_shown").unwrap().labels(), truth(&data));
    let request = TrainRequest {
        tune: true,
        decay: vec![1e-2],
        tolerance: Some(1e-3),
        normalize: NormalizeChoice::None,
        validation: Some(Validation { rate: "10/20".parse().ok(), ..Validation::default() }),
        ..TrainRequest::by_loss("plugin-logistic")
    };
    let trainer = Trainer::new(request.clone()).propensity(&p).validation(controlled);
    let loss = |trainer: &Trainer<'_>| trainer.tune(train).unwrap().unwrap().trials[0].loss.unwrap();
    let (positives, pairs) = (loss(&trainer), loss(&trainer.clone().validation_shown(shown)));
    let same = TrainRequest { tune: false, validation: None, ..request };
    let model = Trainer::new(same).propensity(&p).check(train).unwrap().fit().unwrap().model;
    let logits = model.logits(controlled.features().unwrap(), 0..600).unwrap();
    let (mut by_hand, mut of_shown) = (0.0, 0.0);
    for row in 0..600 {
        for label in 0..20u32 {
            let s = 1.0 / (1.0 + (-f64::from(logits[row * 20 + label as usize])).exp());
            let positive = controlled.labels().row_ids(row).contains(&label);
            by_hand -= if positive { (0.5 * s).ln() } else { (1.0 - 0.5 * s).ln() } / 600.0;
            if shown.row_ids(row).contains(&label) {
                of_shown -= if positive { s.ln() } else { (1.0 - s).ln() } / 600.0;
            }
        }
    }
    assert!((positives - by_hand).abs() < 1e-4 * by_hand && (pairs - of_shown).abs() < 1e-4 * of_shown, "{positives} {pairs}");
    let others = shown.select_rows(&(1..600).chain([0]).collect::<Vec<_>>());
    let refused = trainer.validation_shown(&others).tune(train).unwrap_err().to_string();
    assert!(refused.contains("is positive, but was not shown"), "{refused}");
}

/// Where the best decay is the last of the grid, the grid goes on; and what is found along a path is what training from scratch finds.
#[test]
fn grids_go_on_at_their_ends() {
    let data = survey("400", "10", 7);
    let train = data.part("train").unwrap();
    let request = TrainRequest { tune: true, normalize: NormalizeChoice::None, ..TrainRequest::by_loss("logistic") };
    let tuning = Trainer::new(request.clone()).tune(train).unwrap().unwrap();
    let decays: Vec<f64> = tuning.trials.iter().map(|trial| trial.setting.decay).collect();
    assert!(decays.windows(2).all(|pair| pair[0] < pair[1]), "{decays:?}");
    let best = tuning.best().unwrap();
    assert!(best.setting.decay > decays[0] && best.setting.decay < decays[decays.len() - 1], "{decays:?}");
    // Noise in place of features asks for a larger decay than any of the grid.
    let noise: Vec<f32> = (0..4000u64).map(|i| ((i * i * 7919) % 1000) as f32 / 500.0 - 1.0).collect();
    let features = unmissed::data::Features::Dense(unmissed::data::Dense::new(400, 10, noise).unwrap());
    let noisy = Dataset::new(Some(features), train.labels().clone()).unwrap();
    let tuning = Trainer::new(request.clone()).tune(&noisy).unwrap().unwrap();
    assert!(tuning.best().unwrap().setting.decay > 3e-3 && tuning.trials.len() > 7, "{:?}", tuning.trials);
    // Decays that are asked for are not exceeded.
    let named = TrainRequest { decay: vec![1e-6, 1e-5], ..request.clone() };
    assert_eq!(Trainer::new(named).tune(&noisy).unwrap().unwrap().trials.len(), 2);

    let precise = TrainRequest { decay: vec![1e-3, 1e-2, 1e-1], tolerance: Some(1e-3), ..request };
    let path = Trainer::new(precise.clone()).tune(train).unwrap().unwrap();
    for trial in &path.trials {
        let alone = TrainRequest { decay: vec![trial.setting.decay], ..precise.clone() };
        let alone = Trainer::new(alone).tune(train).unwrap().unwrap().trials[0].loss.unwrap();
        assert!((alone - trial.loss.unwrap()).abs() < 1e-3 * alone, "{alone} and {:?}", trial.loss);
    }
}
