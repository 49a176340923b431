//! The dual solver against Newton's method: the same optimum, on every kind of label.

use crate::common::rng::{Purpose, row_key, uniform_at};
use unmissed::data::{Csr, Dataset, Features, Labels};
use unmissed::losses;
use unmissed::predict::Model;
use unmissed::propensity::Propensities;
use unmissed::request::{NormalizeChoice, SolverChoice, TrainRequest};
use unmissed::train::Trainer;

const ROWS: usize = 400;
const LABELS: u32 = 40;

/// Sparse rows of different sizes. Label 0 is never observed, 1 always, 2 on nearly all rows, 3 once; the others follow features.
fn data() -> Dataset<'static> {
    let keys: Vec<u64> = (0..ROWS as u64).map(|row| row_key(11, Purpose::GenerateRows, row)).collect();
    let features = keys.iter().enumerate().map(|(row, &key)| {
        // A row without any feature is one as well.
        let density = if row == 7 { 0.0 } else { 0.25 };
        (0..60u32)
            .filter(|f| uniform_at(key, *f) < density)
            .map(|f| (f, (8.0 * uniform_at(key, f) + 0.2) as f32))
            .collect::<Vec<_>>()
    });
    let features = Csr::from_rows(60, features.collect::<Vec<_>>()).unwrap();
    let labels = keys.iter().enumerate().map(|(row, &key)| {
        let observed = |label: u32| match label {
            0 => false,
            1 => true,
            2 => uniform_at(key, 500) < 0.95,
            3 => row == 123,
            label => uniform_at(key, label) < 0.25 && uniform_at(key, 100 + label) < 0.3 + 0.6 * f64::from(label % 2),
        };
        (0..LABELS).filter(|label| observed(*label)).collect::<Vec<_>>()
    });
    Dataset::new(Some(Features::Sparse(features)), Labels::from_ids(LABELS.into(), labels.collect::<Vec<_>>()).unwrap()).unwrap()
}

fn train(data: &Dataset<'_>, p: &Propensities, change: impl FnOnce(&mut TrainRequest)) -> Model {
    let mut request = TrainRequest { normalize: NormalizeChoice::L2, ..TrainRequest::by_loss("bounded-squared-hinge") };
    change(&mut request);
    let fitted = Trainer::new(request).propensity(p).check(data).unwrap().fit().unwrap();
    assert_eq!(fitted.unconverged, 0);
    fitted.model
}

/// The objective of a label, in double precision.
fn objective(data: &Dataset<'_>, model: &Model, label: u32, p: f64, decay: f64) -> f64 {
    let loss = losses::find("bounded-squared-hinge").unwrap();
    let logits = model.logits(data.features().unwrap(), 0..ROWS).unwrap();
    let of_row = |row: usize| {
        let z = f64::from(logits[row * LABELS as usize + label as usize]);
        loss.at(z, data.labels().row_ids(row).contains(&label), p).value
    };
    let decay = decay * loss.weight(p);
    let norm: f64 = (0..60).map(|f| f64::from(model.weight(f, label)).powi(2)).sum();
    (0..ROWS).map(of_row).sum::<f64>() / ROWS as f64 + 0.5 * decay * norm
}

#[test]
fn the_optimum_is_that_of_newton() {
    let data = data();
    for (decay, p) in [(1e-2, 1.0), (1e-3, 1.0), (1e-3, 0.4)] {
        let p = Propensities::new("given", vec![p; LABELS as usize]).unwrap();
        let by = |solver, tolerance| {
            train(&data, &p, |request| {
                (request.solver, request.decay, request.tolerance) = (solver, vec![decay], Some(tolerance));
            })
        };
        let (newton, dual) = (by(SolverChoice::Newton, 1e-5), by(SolverChoice::Dual, 2e-3));
        let usual = train(&data, &p, |request| request.decay = vec![decay]);
        for label in 0..LABELS {
            let [best, close, usual] =
                [&newton, &dual, &usual].map(|model| objective(&data, model, label, p.values()[label as usize], decay));
            // Where one class is all there is, the optimum is 0.
            assert!(close <= best * (1.0 + 1e-5) + 1e-9, "label {label} at {decay}: {close}, not {best}");
            assert!(usual <= best * (1.0 + 1e-3) + 1e-9, "label {label} at {decay}: {usual}, not {best}");
        }
    }
}

/// Features as they are, some of them large: the penalty and the bias follow their size.
#[test]
fn rows_of_any_size_have_an_optimum() {
    let data = data();
    let p = Propensities::new("given", vec![1.0; LABELS as usize]).unwrap();
    let by = |solver, tolerance| {
        train(&data, &p, |request| {
            (request.solver, request.decay, request.normalize) = (solver, vec![0.05], NormalizeChoice::None);
            request.tolerance = Some(tolerance);
        })
    };
    let (newton, dual) = (by(SolverChoice::Newton, 1e-5), by(SolverChoice::Dual, 1e-2));
    for label in 4..LABELS {
        let [best, found] = [&newton, &dual].map(|model| objective(&data, model, label, 1.0, 0.05));
        assert!(found <= best * (1.0 + 1e-3), "label {label}: {found}, not {best}");
    }
}

#[test]
fn labels_that_were_never_observed_have_low_scores_and_no_weights() {
    let data = data();
    let p = Propensities::new("given", vec![1.0; LABELS as usize]).unwrap();
    let model = train(&data, &p, |request| request.decay = vec![1e-2]);
    assert!((0..60).all(|feature| model.weight(feature, 0) == 0.0));
    // The log-odds of half an observation.
    assert!((model.bias()[0] - (0.5f32 / 400.5).ln()).abs() < 1e-3, "{}", model.bias()[0]);
}

#[test]
fn a_solution_does_not_depend_on_threads_and_follows_the_seed() {
    let data = data();
    let p = Propensities::new("given", vec![1.0; LABELS as usize]).unwrap();
    let on = |threads: usize, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            train(&data, &p, |request| (request.seed, request.tolerance, request.decay) = (seed, Some(0.1), vec![1e-2]))
        })
    };
    assert_eq!(on(1, 3), on(4, 3));
    assert_ne!(on(1, 3), on(1, 4));
}

#[test]
fn only_squared_hinges_have_this_dual() {
    let wrong = |change: fn(&mut TrainRequest)| {
        let mut request = TrainRequest { solver: SolverChoice::Dual, ..TrainRequest::by_loss("squared-hinge") };
        change(&mut request);
        request.check().unwrap_err().to_string()
    };
    assert!(wrong(|request| request.loss = "logistic".into()).contains("cannot train by 'logistic'"));
    assert!(wrong(|request| request.loss = "unbiased-squared-hinge".into()).contains("cannot train by"));
    assert!(wrong(|request| request.decay = vec![0.0]).contains("needs an L2 penalty"));
    assert!(wrong(|request| request.epochs = Some(3)).contains("the number of epochs is for Adam"));
}
