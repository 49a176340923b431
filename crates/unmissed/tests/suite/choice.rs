//! Plain training chooses its loss and decay and makes log-odds of its scores, on rows that were held out.

use crate::common::rng::{Purpose, row_key, uniform_at};
use crate::common::sigmoid::sigmoid;
use std::sync::atomic::{AtomicU64, Ordering};
use unmissed::data::generators::{Generated, generate};
use unmissed::data::{Csr, Dataset, Features, Labels};
use unmissed::predict::{BlockStore, Model};
use unmissed::progress::Progress;
use unmissed::propensity::Propensities;
use unmissed::request::TrainRequest;
use unmissed::train::{Candidate, Destination, Trained, Trainer};

fn balls() -> Generated {
    let settings = [("labels", "40"), ("dim", "5"), ("radius", "0.3,0.7"), ("train-rows", "2000"), ("test-rows", "2000")];
    generate("balls", &settings, 3).unwrap()
}

fn train(data: &Dataset<'_>, change: impl FnOnce(&mut TrainRequest)) -> (Model, Trained) {
    let mut request = TrainRequest::default();
    change(&mut request);
    Trainer::new(request).train(data).unwrap()
}

#[test]
fn ranking_losses_choose_decays_and_precisions_losses() {
    let data = balls();
    let (_, trained) = train(data.part("train").unwrap(), |_| ());
    let choice = trained.choice.unwrap();
    assert_eq!((choice.rows, choice.labels), (200, 32));
    let best = choice.best().unwrap();
    assert!(choice.candidates.iter().all(|candidate| candidate.chosen == (candidate == best)));
    assert_eq!((&trained.about.loss, trained.outcome.decay), (&best.loss, best.decay));
    for loss in ["squared-hinge", "logistic"] {
        // The search ends where the ranking loss rises again, or at the last decay that it may try; the least one is compared with that
        // of the other loss.
        let of_loss: Vec<_> = choice.candidates.iter().filter(|candidate| candidate.loss == loss).collect();
        assert!(of_loss.len() >= 2, "{of_loss:?}");
        let least = of_loss.iter().filter_map(|candidate| candidate.ranking_loss).fold(f64::INFINITY, f64::min);
        let compared: Vec<_> = of_loss.iter().filter(|candidate| candidate.precision.is_some()).collect();
        assert!(compared.len() == 1 && compared[0].ranking_loss == Some(least), "{of_loss:?}");
        assert!(best.precision >= compared[0].precision, "{choice:?}");
    }
}

#[test]
fn whatever_is_named_is_not_chosen() {
    let data = balls();
    let data = data.part("train").unwrap();
    let plain: [fn(&mut TrainRequest); 3] = [
        |request| request.loss = "logistic".into(),
        |request| request.decay = vec![1e-3],
        |request| request.calibrate = Some(false),
    ];
    for change in plain {
        let (_, trained) = train(data, change);
        assert!(trained.choice.is_none() && trained.outcome.calibration.is_none());
        assert_eq!(trained.about.loss, "logistic");
    }
    let (_, trained) = train(data, |request| (request.loss, request.calibrate) = ("squared-hinge".into(), Some(true)));
    assert_eq!(trained.choice.unwrap().candidates.len(), 1);
    let refused = TrainRequest { calibrate: Some(true), ..TrainRequest::by_loss("unbiased-logistic") }.check();
    assert!(refused.unwrap_err().to_string().contains("calibrated only for plain losses"));
}

/// How far probabilities are from how often labels are observed: the mean over ten equally large bins of pairs, from the least
/// probable to the most, of the difference, as a share of the mean rate.
fn calibration_error(model: &Model, test: &Dataset<'_>) -> f64 {
    let logits = model.logits(test.features().unwrap(), 0..test.rows()).unwrap();
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for row in 0..test.rows() {
        for label in 0..model.labels() {
            let observed = test.labels().row_ids(row).contains(&(label as u32));
            pairs.push((sigmoid(f64::from(logits[row * model.labels() + label])), f64::from(u8::from(observed))));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rate = pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len() as f64;
    let bins = pairs.chunks(pairs.len().div_ceil(10));
    let off = |bin: &[(f64, f64)]| bin.iter().map(|pair| pair.0 - pair.1).sum::<f64>().abs() / bin.len() as f64;
    bins.clone().map(off).sum::<f64>() / bins.len() as f64 / rate
}

#[test]
fn probabilities_of_a_squared_hinge_are_right_on_other_rows() {
    let data = balls();
    let (observed, test) = (data.part("train").unwrap(), data.part("test").unwrap());
    let by_hinge = |calibrate| {
        let change = |request: &mut TrainRequest| (request.loss, request.calibrate) = ("squared-hinge".into(), Some(calibrate));
        calibration_error(&train(observed, change).0, test)
    };
    let (raw, calibrated, chosen) = (by_hinge(false), by_hinge(true), calibration_error(&train(observed, |_| ()).0, test));
    assert!(calibrated < 0.25 && chosen < 0.25, "{calibrated}, {chosen}");
    assert!(raw > 2.0 * calibrated, "{raw}, {calibrated}");
}

/// Rare labels whose weights the penalty holds back, beside frequent ones: each label has a feature that nearly settles it. Rankings
/// that compare labels need the calibration.
#[test]
fn rare_labels_get_their_place() {
    let labels = 120u32;
    let part = |seed: u64, rows: u64| {
        let keys: Vec<u64> = (0..rows).map(|row| row_key(seed, Purpose::GenerateRows, row)).collect();
        // Label j has a frequency that falls as 1 / (j + 2); one of its two features may be there without it.
        let observed = |key: u64| (0..labels).filter(move |label| uniform_at(key, *label) < 1.0 / (f64::from(*label) + 2.0));
        let features = keys.iter().map(|&key| {
            let mut row: Vec<(u32, f32)> = observed(key).map(|label| (label, 1.0)).collect();
            let noise = (0..labels).filter(|label| uniform_at(key, 1_000 + label) < 0.01).map(|label| (label, 1.0));
            row.extend(noise);
            row.extend((labels..labels + 30).filter(|f| uniform_at(key, *f) < 0.3).map(|feature| (feature, 1.0)));
            row.sort_by_key(|entry| entry.0);
            row.dedup_by_key(|entry| entry.0);
            row
        });
        let features = Csr::from_rows(u64::from(labels) + 30, features.collect::<Vec<_>>()).unwrap();
        let ids = keys.iter().map(|&key| observed(key).collect::<Vec<_>>()).collect::<Vec<_>>();
        Dataset::new(Some(Features::Sparse(features)), Labels::from_ids(labels.into(), ids).unwrap()).unwrap()
    };
    let (observed, test) = (part(1, 3_000), part(2, 1_000));
    let brier = |model: &Model| {
        let logits = model.logits(test.features().unwrap(), 0..test.rows()).unwrap();
        let of_pair = |row: usize, label: usize| {
            let relevant = test.labels().row_ids(row).contains(&(label as u32));
            (sigmoid(f64::from(logits[row * model.labels() + label])) - f64::from(u8::from(relevant))).powi(2)
        };
        (0..test.rows())
            .flat_map(|row| (60..120).map(move |label| (row, label)))
            .map(|(row, label)| of_pair(row, label))
            .sum::<f64>()
    };
    let decay = vec![1e-3];
    let raw = brier(&train(&observed, |request| (request.loss, request.decay) = ("logistic".into(), decay.clone())).0);
    let calibrated = brier(
        &train(&observed, |request| {
            (request.loss, request.decay, request.calibrate) = ("logistic".into(), decay.clone(), Some(true));
        })
        .0,
    );
    assert!(calibrated < 0.8 * raw, "{calibrated}, {raw}");
}

/// Labels that features say nothing about: there is nothing to choose by, and training must not fail for it.
#[test]
fn labels_without_any_signal_are_trained_all_the_same() {
    let key = |row: u64| row_key(9, Purpose::GenerateRows, row);
    let features = (0..800).map(|row| vec![((row % 7) as u32, 1.0f32)]);
    let ids = (0..800).map(|row| (0..8u32).filter(|label| uniform_at(key(row), *label) < 0.2).collect::<Vec<_>>());
    let features = Csr::from_rows(7, features.collect::<Vec<_>>()).unwrap();
    let labels = Labels::from_ids(8, ids.collect::<Vec<_>>()).unwrap();
    let data = Dataset::new(Some(Features::Sparse(features)), labels).unwrap();
    let (model, _) = train(&data, |_| ());
    assert_eq!(model.labels(), 8);
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

/// Counts calls.
struct Counts(AtomicU64);

impl Progress for Counts {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, _amount: u64) -> unmissed::Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn a_choice_is_the_same_on_all_threads_and_survives_an_interruption() {
    let data = balls();
    let data = data.part("train").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str, resume| Destination { path: folder.path().join(name), resume, prune: None, half: false };
    let on = |threads: usize, progress: &dyn Progress, name: &str, resume| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let trainer = Trainer::new(TrainRequest::default());
        pool.install(|| trainer.progress(progress).train_to(data, &to(name, resume)))
    };
    let calls = Counts(AtomicU64::new(0));
    on(1, &calls, "whole", false).unwrap();
    // Stopped within the last of two blocks: the first is there, and what was chosen with it.
    let stops = Stops(AtomicU64::new(calls.0.into_inner() - 1));
    assert_eq!(on(1, &stops, "again", false).unwrap_err().to_string(), "interrupted");
    assert!(BlockStore::folder(folder.path().join("again")).is_dir());
    let resumed = on(4, &unmissed::progress::Silent, "again", true).unwrap();
    assert_eq!(resumed.resumed, 1);
    on(4, &unmissed::progress::Silent, "threads", false).unwrap();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("again") == bytes("whole") && bytes("threads") == bytes("whole"));
}

/// With propensities, the likelihood of what is observed and a plain loss divided by them are compared; a loss that is named stays.
#[test]
fn corrections_compare_two_ways() {
    let data = balls();
    let data = data.part("train").unwrap();
    let p = Propensities::new("half", vec![0.5; 40]).unwrap();
    let of = |request: TrainRequest| Trainer::new(request).propensity(&p).train(data).unwrap();
    let (_, trained) = of(TrainRequest::default());
    let choice = trained.choice.unwrap();
    let best = choice.best().unwrap();
    assert_eq!((&trained.about.loss, trained.outcome.decay), (&best.loss, best.decay));
    for loss in ["plugin-logistic", "squared-hinge"] {
        let of_loss: Vec<_> = choice.candidates.iter().filter(|candidate| candidate.loss == loss).collect();
        assert!(of_loss.len() >= 2, "{of_loss:?}");
        let decides = |candidate: &Candidate| candidate.log_loss.or(candidate.ranking_loss).unwrap();
        let least = of_loss.iter().map(|candidate| decides(candidate)).fold(f64::INFINITY, f64::min);
        let compared: Vec<_> = of_loss.iter().filter(|candidate| candidate.precision.is_some()).collect();
        assert!(compared.len() == 1 && decides(compared[0]) == least, "{of_loss:?}");
        assert!(best.precision >= compared[0].precision, "{choice:?}");
    }
    // Either way propensities were used, and files say so.
    assert!(trained.about.propensity.is_some() && trained.used.is_some() && trained.unused.is_none());
    let (_, named) = of(TrainRequest::by_loss("plugin-logistic"));
    assert!(named.choice.unwrap().candidates.iter().all(|candidate| candidate.loss == "plugin-logistic"));
}

/// Where nothing is missing, a correction that takes the plain loss makes the plain model, to rounding.
#[test]
fn a_correction_of_nothing_is_plain_training() {
    let data = generate("balls", &[("labels", "12"), ("dim", "3"), ("train-rows", "1500"), ("test-rows", "10")], 1).unwrap();
    let data = data.part("train").unwrap();
    let one = Propensities::new("complete", vec![1.0; 12]).unwrap();
    let (plain, _) = train(data, |_| ());
    let (corrected, trained) = Trainer::new(TrainRequest::default()).propensity(&one).train(data).unwrap();
    let features = data.features().unwrap();
    let logits = |model: &Model| model.logits(features, 0..data.rows()).unwrap();
    let best = |model: &Model| -> Vec<usize> {
        let logits = logits(model);
        logits.chunks(12).map(|row| (0..12).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap()).collect()
    };
    let same = best(&plain).iter().zip(best(&corrected)).filter(|(a, b)| **a == *b).count();
    assert!(same as f64 > 0.97 * data.rows() as f64, "{same} of {}, {:?}", data.rows(), trained.choice);
}
