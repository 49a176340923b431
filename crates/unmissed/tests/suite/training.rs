//! Solvers against the plainest way to do it, and training that does not depend on threads, memory or the order of blocks.

use crate::common::rng::{Purpose, below, row_key, stream, uniform_at};
use std::sync::Mutex;
use unmissed::data::{Csr, Dataset, Dense, Features, LabelStats, Labels};
use unmissed::losses;
use unmissed::predict::Model;
use unmissed::propensity::rows::PairPropensities;
use unmissed::propensity::{Propensities, ValueSource, models};
use unmissed::request::{JointLearning, NormalizeChoice, SolverChoice, TrainRequest};
use unmissed::train::{Trainer, blocks};

/// The problem of `scripts/optimum.py`.
fn small() -> (Vec<[f64; 5]>, Dataset<'static>) {
    let feature = |i: usize, f: usize| ((0.7 * (i + 1) as f64 * (f + 1) as f64).sin() + 0.2 * f as f64) as f32;
    let values: Vec<f32> = (0..60).flat_map(|i| (0..5).map(move |f| feature(i, f))).collect();
    let rows: Vec<[f64; 5]> = values.chunks(5).map(|row| std::array::from_fn(|f| f64::from(row[f]))).collect();
    let relevant = |i: usize, j: usize| (1.3 * i as f64 + 2.1 * j as f64).sin() + 0.5 * rows[i][j] > 0.9;
    let ids = (0..60).map(|i| (0..3u32).filter(|j| relevant(i, *j as usize)).collect::<Vec<_>>());
    let labels = Labels::from_ids(3, ids.collect::<Vec<_>>()).unwrap();
    (rows, Dataset::new(Some(Features::Dense(Dense::new(60, 5, values).unwrap())), labels).unwrap())
}

const P: [f64; 3] = [0.3, 0.6, 1.0];

/// The bias and the weights of one label.
fn parameters(model: &Model, label: u32) -> [f64; 6] {
    std::array::from_fn(|at| match at {
        0 => f64::from(model.bias()[label as usize]),
        _ => f64::from(model.weight(at - 1, label)),
    })
}

/// The objective of one label at a bias and weights, and its gradient, in double precision.
fn objective(loss: &str, rows: &[[f64; 5]], labels: &Labels<'_>, label: u32, at: [f64; 6], decay: f64) -> (f64, [f64; 6]) {
    objective_at(loss, rows, labels, label, at, decay, |_| P[label as usize])
}

/// The same with a propensity for each row.
fn objective_at(
    loss: &str,
    rows: &[[f64; 5]],
    labels: &Labels<'_>,
    label: u32,
    at: [f64; 6],
    decay: f64,
    p: impl Fn(usize) -> f64,
) -> (f64, [f64; 6]) {
    let loss = losses::find(loss).unwrap();
    let mut value = decay / 2.0 * at[1..].iter().map(|w| w * w).sum::<f64>();
    let mut gradient = [0.0; 6];
    (1..6).for_each(|f| gradient[f] = decay * at[f]);
    for (i, row) in rows.iter().enumerate() {
        let z = at[0] + (0..5).map(|f| at[f + 1] * row[f]).sum::<f64>();
        let point = loss.at(z, labels.row_ids(i).contains(&label), p(i));
        value += point.value / rows.len() as f64;
        gradient[0] += point.gradient / rows.len() as f64;
        (0..5).for_each(|f| gradient[f + 1] += point.gradient * row[f] / rows.len() as f64);
    }
    (value, gradient)
}

/// Training with propensities on rows as they are.
fn trainer(p: &Propensities, change: impl FnOnce(&mut TrainRequest)) -> Trainer<'_> {
    let mut request = TrainRequest { normalize: NormalizeChoice::None, ..TrainRequest::by_loss("unbiased-logistic") };
    change(&mut request);
    Trainer::new(request).propensity(p)
}

fn fitted(trainer: &Trainer<'_>, data: &Dataset<'_>) -> Model {
    trainer.check(data).unwrap().fit().unwrap().model
}

/// The values are the minima that `python scripts/optimum.py` (scipy 1.17, L-BFGS-B) finds, with the same decay for all labels: a
/// factor of the loss takes back what the decay of a label is multiplied by.
#[test]
fn newton_reaches_the_optimum_that_scipy_finds() {
    let (rows, data) = small();
    let p = Propensities::new("given", P.to_vec()).unwrap();
    let factors = P.map(|p| 1.0 / p);
    let precise = trainer(&p, |request| (request.decay, request.tolerance) = (vec![1e-2], Some(1e-4)));
    let model = fitted(&precise.weights(&factors), &data);
    for (label, optimum) in [-0.6082118574542392, 0.36865220497941076, 0.45060003722508524].into_iter().enumerate() {
        let found = parameters(&model, label as u32);
        let (value, gradient) = objective("unbiased-logistic", &rows, data.labels(), label as u32, found, 1e-2);
        assert!((value - optimum).abs() < 1e-4 * optimum.abs(), "label {label}: {value}, not {optimum}");
        assert!(gradient.iter().all(|g| g.abs() < 1e-3), "label {label}: {gradient:?}");
    }
}

/// Gradient descent in double precision until the gradient vanishes, from a bias and weights of 0; steps that do not descend are
/// halved.
fn descend(objective: impl Fn([f64; 6]) -> (f64, [f64; 6])) -> (f64, [f64; 6]) {
    let (mut at, mut step) = ([0.0; 6], 1.0);
    let (mut value, mut gradient) = objective(at);
    for _ in 0..100_000 {
        let next: [f64; 6] = std::array::from_fn(|i| at[i] - step * gradient[i]);
        let (found, slope) = objective(next);
        if found <= value {
            (at, value, gradient, step) = (next, found, slope, step * 1.2);
        } else {
            step /= 2.0;
        }
        if gradient.iter().all(|g| g.abs() < 1e-6) {
            break;
        }
    }
    assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
    (value, at)
}

/// Losses that Newton's method takes, convex or not: the optimum is that of gradient descent, where the decay of a label is that of
/// the training times the weight of the loss.
#[test]
fn newton_reaches_the_optimum_that_gradient_descent_finds() {
    let (rows, data) = small();
    let p = Propensities::new("given", P.to_vec()).unwrap();
    for loss in losses::LOSSES.iter().filter(|loss| loss.nature().newton && loss.irrelevant(0.0, false, 1.0).is_none()) {
        let precise = trainer(&p, |request| {
            (request.loss, request.solver) = (loss.name().into(), SolverChoice::Newton);
            (request.decay, request.tolerance) = (vec![1e-2], Some(1e-4));
        });
        let model = fitted(&precise, &data);
        for label in 0..3 {
            let at = |at| objective(loss.name(), &rows, data.labels(), label, at, 1e-2 * loss.weight(P[label as usize]));
            let (optimum, best) = descend(at);
            let found = parameters(&model, label);
            let value = at(found).0;
            let place = format!("{}, label {label}: {value} at {found:?}, not {optimum} at {best:?}", loss.name());
            assert!((value - optimum).abs() < 1e-5 * (1.0 + optimum.abs()), "{place}");
            assert!(found.iter().zip(best).all(|(found, best)| (found - best).abs() < 1e-2), "{place}");
        }
    }
}

/// The likelihood with a propensity for each pair: the optimum is that of gradient descent.
#[test]
fn row_dependent_propensities_are_those_of_each_pair() {
    let (rows, data) = small();
    let by_row: Vec<f64> = (0..60).map(|i| (1.7 * f64::from(i)).sin()).collect();
    let pairs = PairPropensities::additive("given", vec![-0.5, 0.4, 2.0], by_row);
    for loss in ["plugin-logistic", "unbiased-logistic"] {
        let request = TrainRequest {
            normalize: NormalizeChoice::None,
            decay: vec![1e-2],
            tolerance: Some(1e-4),
            ..TrainRequest::by_loss(loss)
        };
        let model = fitted(&Trainer::new(request.clone()).row_propensity(pairs.clone()), &data);
        for label in 0..3 {
            // The decay follows the mean propensity of the label.
            let mean = (0..60).map(|i| pairs.get(i, label, false)).sum::<f64>() / 60.0;
            let decay = 1e-2 * losses::find(loss).unwrap().weight(mean);
            let at = |at| objective_at(loss, &rows, data.labels(), label, at, decay, |i| pairs.get(i, label, false));
            let ((optimum, best), found) = (descend(at), parameters(&model, label));
            let place = format!("{loss}, label {label}: {found:?}, not {best:?}");
            assert!((at(found).0 - optimum).abs() < 1e-5 * (1.0 + optimum.abs()), "{place}");
            assert!(found.iter().zip(best).all(|(found, best)| (found - best).abs() < 1e-2), "{place}");
        }
        let adam = TrainRequest { solver: SolverChoice::Adam, tolerance: None, ..request };
        let refused = Trainer::new(adam).row_propensity(pairs.clone()).check(&data).err().unwrap().to_string();
        assert!(refused.contains("row-dependent propensities are for Newton's method"), "{refused}");
    }
    let others = PairPropensities::additive("given", vec![0.0; 3], vec![0.0; 59]);
    assert!(Trainer::by_loss("plugin-logistic").row_propensity(others).check(&data).err().unwrap().to_string().contains("60 rows"));
}

/// Where p is far too small, the part of irrelevant pairs would fall below 0: the optimum lies on the floor, and it is the one that
/// gradient descent finds for `A + tau ln(1 + e^(B / tau))`. On a floor the slopes jump, so descent is slow: it is asked for less.
#[test]
fn newton_reaches_the_optimum_above_the_floor() {
    let (rows, data) = small();
    let loss = losses::find("nonnegative-logistic").unwrap();
    let small_p = [0.1, 0.15, 1.0];
    let p = Propensities::new("too small", small_p.to_vec()).unwrap();
    let precise = trainer(&p, |request| {
        request.loss = "nonnegative-logistic".into();
        (request.decay, request.tolerance) = (vec![1e-2], Some(1e-4));
    });
    let model = fitted(&precise, &data);
    let mut on_floor = 0;
    for label in 0..3u32 {
        let p = small_p[label as usize];
        let has = |i: usize| data.labels().row_ids(i).contains(&label);
        let count = (0..60).filter(|i| has(*i)).count() as f64;
        let prior = ((count / p + 0.5) / 61.0).clamp(1e-7, 0.5);
        let tau = 0.05 * prior;
        let decay = 1e-2 / p;
        let parts = |at: [f64; 6]| {
            let (mut whole, mut irrelevant) = ((0.0, [0.0; 6]), (0.0, [0.0; 6]));
            for (i, row) in rows.iter().enumerate() {
                let z = at[0] + (0..5).map(|f| at[f + 1] * row[f]).sum::<f64>();
                for (part, point) in
                    [(&mut whole, loss.at(z, has(i), p)), (&mut irrelevant, loss.irrelevant(z, has(i), p).unwrap())]
                {
                    part.0 += point.value / 60.0;
                    part.1[0] += point.gradient / 60.0;
                    (0..5).for_each(|f| part.1[f + 1] += point.gradient * row[f] / 60.0);
                }
            }
            (whole, irrelevant)
        };
        let at = |at: [f64; 6]| {
            let (whole, b) = parts(at);
            let (scaled, kept) = (b.0 / tau, 1.0 / (1.0 + (-b.0 / tau).exp()));
            let floor = tau * (scaled.max(0.0) + (-scaled.abs()).exp().ln_1p());
            let penalty = decay / 2.0 * at[1..].iter().map(|w| w * w).sum::<f64>();
            let slope = |i: usize| whole.1[i] + (kept - 1.0) * b.1[i] + if i > 0 { decay * at[i] } else { 0.0 };
            (whole.0 - b.0 + floor + penalty, std::array::from_fn(slope))
        };
        let found = parameters(&model, label);
        let (optimum, best) = descend(at);
        let value = at(found).0;
        assert!(value <= optimum + 1e-4 * (1.0 + optimum.abs()), "label {label}: {value} at {found:?}, not {optimum} at {best:?}");
        assert!(value >= 0.0);
        on_floor += usize::from(parts(found).1.0 < 3.0 * tau);
    }
    assert!(on_floor >= 2, "the floor was not reached on {on_floor} labels");
}

/// Adam in double precision, one label and one weight at a time, with the library's random numbers.
#[test]
fn adam_meets_a_plain_implementation() {
    let (rows, data) = small();
    let p = Propensities::new("given", P.to_vec()).unwrap();
    let (rate, decay, batch, epochs, seed) = (0.05, 0.1, 16, 3, 9);
    let by_adam = trainer(&p, |request| {
        (request.solver, request.decay, request.seed) = (SolverChoice::Adam, vec![decay], seed);
        (request.learning_rate, request.batch_size, request.epochs) = (vec![rate], Some(batch), Some(epochs));
    });
    let model = fitted(&by_adam, &data);
    let loss = losses::find("unbiased-logistic").unwrap();
    let shuffle = |rng: &mut _, list: &mut [usize]| {
        for last in (1..list.len()).rev() {
            list.swap(last, below(rng, last as u64 + 1) as usize);
        }
    };
    let mut order: Vec<usize> = (0..60).collect();
    shuffle(&mut stream(seed, Purpose::Batches, u64::MAX), &mut order);
    let batches: Vec<&[usize]> = order.chunks(batch).collect();
    for label in 0..3u32 {
        let key = row_key(seed, Purpose::Weights, label.into());
        let count = (0..60).filter(|i| data.labels().row_ids(*i).contains(&label)).count() as f64;
        let prior = ((count / P[label as usize] + 0.5) / 61.0).clamp(1e-7, 0.5);
        let mut weights = vec![(prior / (1.0 - prior)).ln()];
        weights.extend((0..5).map(|f| (2.0 * uniform_at(key, f) - 1.0) / 5f64.sqrt()));
        let (mut first, mut second) = ([0.0; 6], [0.0; 6]);
        let mut step = 0;
        for epoch in 0..epochs {
            let mut places: Vec<usize> = (0..batches.len()).collect();
            shuffle(&mut stream(seed, Purpose::Batches, epoch as u64), &mut places);
            for place in places {
                step += 1;
                let mut gradient = [0.0; 6];
                for &i in batches[place] {
                    let z = weights[0] + (0..5).map(|f| weights[f + 1] * rows[i][f]).sum::<f64>();
                    let slope = loss.at(z, data.labels().row_ids(i).contains(&label), P[label as usize]).gradient;
                    let share = slope / batches[place].len() as f64;
                    gradient[0] += share;
                    (0..5).for_each(|f| gradient[f + 1] += share * rows[i][f]);
                }
                for w in 0..6 {
                    first[w] = 0.9 * first[w] + 0.1 * gradient[w];
                    second[w] = 0.999 * second[w] + 0.001 * gradient[w] * gradient[w];
                    let scaled = first[w] / (1.0 - 0.9f64.powi(step)) / ((second[w] / (1.0 - 0.999f64.powi(step))).sqrt() + 1e-8);
                    let keep = if w == 0 { 1.0 } else { 1.0 - rate * decay };
                    weights[w] = keep * weights[w] - rate * scaled;
                }
            }
        }
        assert!((f64::from(model.bias()[label as usize]) - weights[0]).abs() < 1e-4);
        for f in 0..5 {
            let got = f64::from(model.weight(f, label));
            assert!((got - weights[f + 1]).abs() < 1e-4, "label {label}, feature {f}: {got}, not {}", weights[f + 1]);
        }
    }
}

/// Sparse rows, forty labels: three blocks, the last one not full.
fn sparse() -> Dataset<'static> {
    let keys: Vec<u64> = (0..300).map(|row| row_key(4, Purpose::GenerateRows, row)).collect();
    let features = keys.iter().map(|&key| {
        let value = move |f: u32| uniform_at(key, f);
        (0..30u32).filter(move |f| value(*f) < 0.3).map(move |f| (f, (value(f) + 0.1) as f32)).collect::<Vec<_>>()
    });
    let features = Csr::from_rows(30, features.collect::<Vec<_>>()).unwrap();
    let labels = keys
        .iter()
        .map(|&key| (0..40u32).filter(|j| uniform_at(key, j % 30) < 0.3 && uniform_at(key, 100 + j) < 0.6).collect::<Vec<_>>());
    Dataset::new(Some(Features::Sparse(features)), Labels::from_ids(40, labels.collect::<Vec<_>>()).unwrap()).unwrap()
}

/// Every solver, each with a loss that it trains.
fn requests() -> [TrainRequest; 4] {
    let newton = TrainRequest { decay: vec![1e-3], ..TrainRequest::by_loss("unbiased-logistic") };
    let adam = TrainRequest { solver: SolverChoice::Adam, epochs: Some(3), batch_size: Some(64), ..newton.clone() };
    let joint = TrainRequest { joint: Some(JointLearning::Plugin), loss: "plugin-logistic".into(), ..adam.clone() };
    let dual = TrainRequest { decay: vec![1e-3], ..TrainRequest::by_loss("bounded-squared-hinge") };
    [adam, newton, dual, joint]
}

#[test]
fn labels_on_which_newton_does_not_converge_are_counted() {
    let data = sparse();
    let fitted = |tolerance, max_steps| {
        let request = TrainRequest { decay: vec![1e-3], tolerance, max_steps, ..TrainRequest::default() };
        Trainer::new(request).check(&data).unwrap().fit().unwrap()
    };
    let enough = fitted(None, None);
    assert_eq!(enough.unconverged, 0);
    assert!((2..50).contains(&enough.iterations), "{}", enough.iterations);
    let hurried = fitted(Some(1e-6), Some(1));
    assert!(hurried.unconverged > 20, "one step finished all but {} of 40 labels", hurried.unconverged);
    assert_eq!(hurried.iterations, 1);
}

#[test]
fn models_do_not_depend_on_threads_memory_or_what_else_is_trained() {
    let data = sparse();
    let p = Propensities::new("given", (0..40).map(|j| 0.2 + 0.02 * f64::from(j)).collect()).unwrap();
    for request in requests() {
        let on = |threads, memory| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let trainer = Trainer::new(TrainRequest { memory, ..request.clone() }).propensity(&p);
            pool.install(|| trainer.check(&data)?.fit())
        };
        let one = on(1, None).unwrap();
        assert!(one == on(4, None).unwrap(), "{request:?}");
        assert!(one == on(4, Some(300_000)).unwrap(), "{request:?}");
        assert_eq!(one.propensities.is_some(), request.joint.is_some());
        let message = on(2, Some(1000)).unwrap_err().to_string();
        assert!(message.starts_with("the memory limit is too small for one block of labels: expected at least"), "{message}");

        let all = blocks(40).unwrap();
        assert_eq!(all, [0..32, 32..40]);
        let found = Mutex::new(Vec::new());
        let trainer = Trainer::new(request.clone()).propensity(&p);
        let keep = |finished| {
            found.lock().unwrap().push(finished);
            Ok(())
        };
        trainer.check(&data).unwrap().fit_blocks(&all[1..2], &keep).unwrap();
        let found = found.into_inner().unwrap();
        assert_eq!((found.len(), found[0].block.first, found[0].block.width()), (1, 32, 8));
        for label in 0..8 {
            assert_eq!(found[0].block.weights[7 * 8 + label], one.model.weight(7, 32 + label as u32), "{request:?}");
        }
    }
}

#[test]
fn what_cannot_be_trained_says_why() {
    let (_, data) = small();
    let message = |change: fn(&mut TrainRequest)| {
        let mut request = TrainRequest::by_loss("logistic");
        change(&mut request);
        Trainer::new(request).check(&data).err().unwrap().to_string()
    };
    assert_eq!(
        message(|request| (request.loss, request.solver) = ("unbiased-squared-hinge".into(), SolverChoice::Newton)),
        "Newton's method cannot train by 'unbiased-squared-hinge', which has no optimum; use Adam"
    );
    assert!(message(|request| request.decay = vec![0.0]).starts_with("Newton's method needs an L2 penalty"));
    assert!(message(|request| request.decay = vec![f64::NAN]).contains("the decay is out of range"));
    assert!(message(|request| request.clip = Some(0.5)).contains("the clip is out of range"));
    assert!(message(|request| request.joint = Some(JointLearning::Plugin)).contains("expected 'plugin-logistic'"));
    assert!(message(|request| request.joint = "alternating".parse().ok()).contains("expected 'unbiased-logistic'"));
    let epochs = |request: &mut TrainRequest| (request.solver, request.epochs) = (SolverChoice::Adam, Some(0));
    assert!(message(epochs).contains("number of epochs is out of range"));
    assert!(message(|request| request.propensity = "given".parse().ok()).contains("not passed"));
    assert!(message(|request| request.weights = Some(unmissed::request::WeightsSpec::Given)).contains("not passed"));

    let plain = || Trainer::by_loss("logistic");
    let refused = |trainer: Trainer<'_>, data: &Dataset<'_>| trainer.check(data).err().unwrap().to_string();
    assert!(refused(plain().weights(&[1.0, -1.0, 1.0]), &data).contains("the weight of label 1 is out of range"));
    assert!(refused(plain().weights(&[1.0]), &data).contains("expected 3, found 1"));
    let other = Propensities::new("other", vec![0.5; 4]).unwrap();
    assert!(refused(plain().propensity(&other), &data).contains("expected 3, found 4"));
    let without = Dataset::new(None, data.labels().clone()).unwrap();
    assert!(refused(plain(), &without).contains("no features"));
    let empty =
        Dataset::new(Some(Features::Dense(Dense::new(0, 5, vec![]).unwrap())), Labels::from_ids(3, [[0u32; 0]; 0]).unwrap());
    assert!(refused(plain(), &empty.unwrap()).contains("nothing to train on"));
}

/// The request may name what is otherwise passed along.
#[test]
fn propensities_and_weights_are_found_by_their_names() {
    let (_, data) = small();
    let stats = LabelStats::of(data.labels());
    let p = models::parse("power").unwrap().propensities(&stats).unwrap();
    let weights = unmissed::metrics::weights::from_spec("inverse", &stats, None).unwrap();
    let named = TrainRequest { propensity: "power".parse().ok(), weights: "inverse".parse().ok(), ..TrainRequest::default() };
    let (named, given) = (Trainer::new(named), Trainer::new(TrainRequest::default()).propensity(&p).weights(&weights));
    assert_eq!(named.check(&data).unwrap().loss().name(), "plugin-logistic");
    assert!(fitted(&named, &data) == fitted(&given, &data));
    assert!(fitted(&named, &data) != fitted(&Trainer::new(TrainRequest::default()), &data));
}

#[test]
fn effective_positives_follow_the_clipped_weights() {
    let (_, data) = small();
    let p = Propensities::new("given", P.to_vec()).unwrap();
    let size = |clip| {
        let training = trainer(&p, |request| request.clip = clip);
        let size = training.check(&data).unwrap().effective_sample_size().unwrap().unwrap();
        (size.positives, size.effective)
    };
    // Labels occur 11, 11 and 13 times.
    let by_hand = |q: [f64; 3]| {
        let sum = 11.0 * q[0] + 11.0 * q[1] + 13.0 * q[2];
        sum * sum / (11.0 * q[0] * q[0] + 11.0 * q[1] * q[1] + 13.0 * q[2] * q[2])
    };
    let (positives, effective) = size(None);
    assert!(positives == 35.0 && (effective - by_hand([1.0 / 0.3, 1.0 / 0.6, 1.0])).abs() < 1e-9);
    assert!((size(Some(1.0)).1 - 35.0).abs() < 1e-9);
    let plain = Trainer::by_loss("logistic").propensity(&p);
    assert!(plain.check(&data).unwrap().effective_sample_size().unwrap().is_none());
}

/// A label on 11 of 60 rows with a propensity of 0.01 would have to be relevant to more than all rows.
#[test]
fn impossible_propensities_are_raised_to_the_frequency() {
    let (_, data) = small();
    let p = Propensities::new("impossible", vec![0.01, 0.6, 1.0]).unwrap();
    let raised = Propensities::new("possible", vec![11.0 / 60.0, 0.6, 1.0]).unwrap();
    let many = |trainer: Trainer<'_>| trainer.check(&data).unwrap().raised().unwrap();
    assert_eq!(many(trainer(&p, |_| ())), 1);
    let fit = |p: &Propensities| fitted(&trainer(p, |request| request.decay = vec![1e-2]), &data);
    assert!(fit(&p) == fit(&raised));
    assert_eq!(many(trainer(&p, |request| request.loss = "bounded-logistic".into())), 0);
}

/// A label that is sure on some rows, and observed on half of those, cannot have a propensity of 0.05: training raises it to what is
/// observed there and says so; propensities that the data do not contradict stay as they are.
#[test]
fn propensities_are_raised_to_what_the_data_allow() {
    let keys: Vec<u64> = (0..6000).map(|row| row_key(8, Purpose::GenerateRows, row)).collect();
    let x = |row: usize| 6.0 * uniform_at(keys[row], 0) - 3.0;
    let ids = (0..6000).map(|row| {
        let eta = |side: f64| 1.0 / (1.0 + (-5.0 * (side * x(row) - 2.0)).exp());
        let is = [uniform_at(keys[row], 1) < 0.5 * eta(1.0), uniform_at(keys[row], 2) < 0.5 * eta(-1.0)];
        (0..2u32).filter(|label| is[*label as usize]).collect::<Vec<_>>()
    });
    let labels = Labels::from_ids(2, ids.collect::<Vec<_>>()).unwrap();
    let features = Features::Dense(Dense::new(6000, 1, (0..6000).map(|row| x(row) as f32).collect::<Vec<_>>()).unwrap());
    let data = Dataset::new(Some(features), labels).unwrap();
    let p = Propensities::new("one too small", vec![0.05, 0.5]).unwrap();
    // A decay of its own: no calibration that the labels would have in common.
    let request = TrainRequest { decay: vec![1e-3], ..TrainRequest::default() };
    let (raised, trained) = Trainer::new(request.clone()).propensity(&p).train(&data).unwrap();
    let used = trained.used.unwrap();
    assert_eq!((trained.outcome.raised_propensities, used.source(0)), (1, ValueSource::Raised));
    // The lower limit of a rate on few rows: well above what was given, and below the truth.
    assert!(used.get(0) > 0.25 && used.get(0) < 0.5 && used.get(1) == 0.5, "{:?}", used.values());
    let as_given = TrainRequest { raise: false, ..request };
    let (kept, trained) = Trainer::new(as_given).propensity(&p).train(&data).unwrap();
    assert_eq!((trained.outcome.raised_propensities, trained.used.unwrap().get(0)), (0, 0.05));
    assert!(raised.bias()[0] != kept.bias()[0] && raised.bias()[1] == kept.bias()[1]);
}
