//! Propensities that depend on the row, where the truth is known by construction.

use crate::common::rng::{Purpose, stream, uniform};
use crate::common::sigmoid::sigmoid;
use unmissed::data::{Csr, KnownPair, Labels};
use unmissed::evaluate::robust::{later_term, omega, shown_term};
use unmissed::evaluate::{Comparison, Evaluation, Groups, IntervalKind, Row};
use unmissed::metrics::Estimator;
use unmissed::propensity::estimators::timelapse::timelapse;
use unmissed::propensity::rows::{Covariate, Pair, Place, RowEvidence, RowFit};
use unmissed::propensity::{Ratio, models};

const LABELS: u32 = 12;

/// Rows with scores, relevant labels and observed labels; what a model ranks first is observed more often.
struct World {
    scores: Csr<'static, f32>,
    truth: Labels<'static>,
    observed: Labels<'static>,
}

fn world(seed: u64, rows: usize) -> World {
    let (mut scores, mut truth, mut observed) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let mut rng = stream(seed, Purpose::GenerateRows, row as u64);
        let list: Vec<(u32, f32)> = (0..LABELS).map(|label| (label, (4.0 * uniform(&mut rng) - 3.0) as f32)).collect();
        let (ids, values): (Vec<u32>, Vec<f32>) = list.iter().copied().unzip();
        let (mut relevant, mut seen) = (Vec::new(), Vec::new());
        for (label, score) in &list {
            let place = Place::find(&ids, &values, *label, 1.0).unwrap();
            let steps = f64::from(u8::from(place.rank < 1)) + 0.7 * f64::from(u8::from(place.rank < 3));
            let p = sigmoid(0.2 + steps - 0.3 * place.difference + 0.1 * f64::from(label % 3));
            let (is_relevant, is_seen) = (uniform(&mut rng) < sigmoid(f64::from(*score)), uniform(&mut rng) < p);
            if is_relevant {
                relevant.push(*label);
                if is_seen {
                    seen.push(*label);
                }
            }
        }
        scores.push(list);
        truth.push(relevant);
        observed.push(seen);
    }
    let labels = |rows: Vec<Vec<u32>>| Labels::from_ids(u64::from(LABELS), rows).unwrap();
    World { scores: Csr::from_rows(u64::from(LABELS), scores).unwrap(), truth: labels(truth), observed: labels(observed) }
}

fn precision(labels: &Labels<'_>, scores: &Csr<'_, f32>, k: usize) -> f64 {
    let result =
        Evaluation::new(labels, &[("m", scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&[k]).unwrap().run().unwrap();
    result.rows[0].value.unwrap()
}

/// Mean and standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

#[test]
fn the_right_model_is_unbiased_and_one_propensity_a_label_is_not() {
    let (mut by_row, mut by_ratio, mut by_label) = (Vec::new(), Vec::new(), Vec::new());
    let (mut covered, mut cases) = (0, 0);
    for repetition in 0..40 {
        let (train, test) = (world(2 * repetition, 800), world(2 * repetition + 1, 600));
        let fit = RowFit::new(&train.observed, &train.truth, RowEvidence::Later).unwrap().scores("m", &train.scores).unwrap();
        let covariates = [Covariate::LogCount, Covariate::Rank, Covariate::ScoreDifference];
        let model = fit.covariates(&covariates).replicates(30, 1).run().unwrap();
        let constant = Ratio::new(models::family("constant").unwrap());
        let label_wise = timelapse(&train.observed, &train.truth, &constant).unwrap().propensities;
        let result = Evaluation::new(&test.observed, &[("m", &test.scores)])
            .unwrap()
            .metrics(&["precision"])
            .unwrap()
            .ks(&[1, 3])
            .unwrap()
            .propensity(label_wise)
            .row_propensity("rows:m", model)
            .interval(IntervalKind::Mask)
            .run()
            .unwrap();
        for k in [1, 3] {
            let truth = precision(&test.truth, &test.scores, k);
            let find = |name: &str, estimator: Estimator| {
                let of = |propensity: &Option<String>| propensity.as_deref().is_some_and(|p| p.starts_with(name));
                result.rows.iter().find(|row| row.k == k && row.estimator == estimator && of(&row.propensity)).unwrap()
            };
            let row = find("rows:m", Estimator::Unbiased);
            cases += 1;
            covered += u32::from(row.low.unwrap() <= truth && truth <= row.high.unwrap());
            if k == 1 {
                by_row.push(row.value.unwrap() - truth);
                by_ratio.push(find("rows:m", Estimator::Ratio).value.unwrap() - truth);
                by_label.push(find("timelapse", Estimator::Unbiased).value.unwrap() - truth);
            }
        }
    }
    let (row, ratio, label) = (mean(&by_row), mean(&by_ratio), mean(&by_label));
    println!("errors of precision@1: rows {row:?}, ratio {ratio:?}, labels {label:?}; covered {covered} of {cases}");
    assert!(row.0.abs() < 4.0 * row.1, "{row:?}");
    assert!(ratio.0.abs() < 4.0 * ratio.1, "{ratio:?}");
    assert!(label.0 > 4.0 * label.1 && label.0 > 0.03, "{label:?}");
    assert!(f64::from(covered) >= 0.85 * f64::from(cases), "{covered} of {cases}");
}

/// A third of the unobserved pairs among the first 4 of each row are judged; each stands for three.
fn judged(world: &World, seed: u64) -> Vec<KnownPair> {
    let mut pairs = Vec::new();
    for row in 0..world.truth.rows() {
        let (ids, values) = world.scores.row(row);
        let mut rng = stream(seed, Purpose::Mask, row as u64);
        for label in ids.iter().copied().filter(|label| Place::find(ids, values, *label, 1.0).unwrap().rank < 4) {
            let (observed, is_drawn) = (world.observed.row_ids(row).contains(&label), uniform(&mut rng) < 1.0 / 3.0);
            if observed || is_drawn {
                let (relevant, weight) = (world.truth.row_ids(row).contains(&label), if observed { 1.0 } else { 3.0 });
                pairs.push(KnownPair { row: row as u32, label, relevant, observed, weight });
            }
        }
    }
    pairs
}

#[test]
fn judged_pairs_serve_other_rows_too() {
    let (mut errors, mut covered, mut cases) = (Vec::new(), 0, 0);
    for repetition in 0..40 {
        let (train, test) = (world(3000 + 2 * repetition, 800), world(3001 + 2 * repetition, 600));
        let fit = RowFit::judged(&train.observed, &judged(&train, repetition)).unwrap().scores("m", &train.scores).unwrap();
        let covariates = [Covariate::LogCount, Covariate::Rank, Covariate::ScoreDifference];
        let model = fit.covariates(&covariates).replicates(30, 1).run().unwrap();
        let evaluation = Evaluation::new(&test.observed, &[("m", &test.scores)]).unwrap().metrics(&["precision"]).unwrap();
        let result = evaluation.ks(&[1, 3]).unwrap().row_propensity("rows", model).interval(IntervalKind::Mask).run().unwrap();
        for row in result.rows.iter().filter(|row| row.estimator == Estimator::Unbiased) {
            let truth = precision(&test.truth, &test.scores, row.k);
            cases += 1;
            covered += u32::from(row.low.unwrap() <= truth && truth <= row.high.unwrap());
            if row.k == 1 {
                errors.push(row.value.unwrap() - truth);
            }
        }
    }
    let (error, se) = mean(&errors);
    println!("error of precision@1: {error} ({se}); covered {covered} of {cases}");
    assert!(error.abs() < 4.0 * se, "{error} {se}");
    assert!(f64::from(covered) >= 0.85 * f64::from(cases), "{covered} of {cases}");
    let data = world(1, 50);
    let beyond = [KnownPair { row: 50, label: 0, relevant: true, observed: false, weight: 1.0 }];
    let text = RowFit::judged(&data.observed, &beyond).err().unwrap().to_string();
    assert!(text.contains("a judged pair is not of these rows") && text.contains("row 50, label 0"), "{text}");
}

/// The mean over rows of a sum over the top k, divided by k.
fn mean_of_tops(scores: &Csr<'_, f32>, k: usize, of_pair: impl Fn(usize, u32, usize) -> f64) -> f64 {
    let of_row = |row: usize| {
        let (ids, values) = scores.row(row);
        let mut ranked: Vec<(f32, u32)> = values.iter().copied().zip(ids.iter().copied()).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.iter().take(k).enumerate().map(|(rank, (_, label))| of_pair(row, *label, rank)).sum::<f64>() / k as f64
    };
    (0..scores.rows()).map(of_row).sum::<f64>() / scores.rows() as f64
}

#[test]
fn estimates_from_known_pairs_stand_when_one_part_is_wrong() {
    let (mut wrong_omega, mut wrong_rho, mut both_wrong, mut shown_wrong) = (vec![], vec![], vec![], vec![]);
    let mut by_rank = vec![];
    let k = 3;
    for repetition in 0..60 {
        let data = world(1000 + repetition, 600);
        let truth = precision(&data.truth, &data.scores, k);
        // Rows with many observed labels are more likely to have been looked at again.
        let rho: Vec<f64> = (0..600).map(|row| if data.observed.row_ids(row).len() > 2 { 0.7 } else { 0.3 }).collect();
        let draw = |row: usize| uniform(&mut stream(9, Purpose::Split, 600 * repetition + row as u64));
        let has_later: Vec<bool> = (0..600).map(|row| draw(row) < rho[row]).collect();
        let robust = |rho: &[f64], omega: &dyn Fn(usize, u32) -> f64| {
            let of_pair = |row: usize, label: u32, _rank: usize| {
                let is_observed = data.observed.row_ids(row).contains(&label);
                let status = has_later[row].then(|| data.truth.row_ids(row).contains(&label));
                later_term(omega(row, label), is_observed, status, rho[row])
            };
            mean_of_tops(&data.scores, k, of_pair) - truth
        };
        // In this world what is missed depends on the score and the place: P(y = 1 | y~ = 0) by Bayes.
        let right = |row: usize, label: u32| {
            let (ids, values) = data.scores.row(row);
            let place = Place::find(ids, values, label, 1.0).unwrap();
            let steps = f64::from(u8::from(place.rank < 1)) + 0.7 * f64::from(u8::from(place.rank < 3));
            let p = sigmoid(0.2 + steps - 0.3 * place.difference + 0.1 * f64::from(label % 3));
            omega(sigmoid(f64::from(values[label as usize])), p)
        };
        wrong_omega.push(robust(&rho, &|_, _| 0.9));
        wrong_rho.push(robust(&[0.25; 600], &right));
        both_wrong.push(robust(&[0.25; 600], &|_, _| 0.9));
        // The evaluation guesses by rank, from other rows.
        let evaluation = Evaluation::new(&data.observed, &[("m", &data.scores)]).unwrap().metrics(&["precision"]).unwrap();
        let evaluation = evaluation.ks(&[k]).unwrap().later(&data.truth, has_later.clone(), rho.clone()).unwrap();
        let row = evaluation.run().unwrap().find("precision", k, Estimator::DoublyRobust).unwrap().clone();
        by_rank.push(row.value.unwrap() - truth);

        let mut rng = stream(11, Purpose::Shown, repetition);
        let shown: Vec<Vec<u32>> = (0..600).map(|_| (0..LABELS).filter(|_| uniform(&mut rng) < 0.4).collect()).collect();
        let relevant = (0..600).map(|row| {
            let is_relevant = |label: &u32| data.truth.row_ids(row).contains(label);
            shown[row].iter().copied().filter(is_relevant).collect::<Vec<u32>>()
        });
        let relevant = Labels::from_ids(u64::from(LABELS), relevant).unwrap();
        let shown = Labels::from_ids(u64::from(LABELS), shown.clone()).unwrap();
        let of_pair = |row: usize, label: u32, rank: usize| {
            let status = shown.row_ids(row).contains(&label).then(|| relevant.row_ids(row).contains(&label));
            shown_term(0.9 - 0.2 * rank as f64, status, 0.4)
        };
        shown_wrong.push(mean_of_tops(&data.scores, k, of_pair) - truth);
    }
    for (name, errors) in
        [("omega wrong", &wrong_omega), ("rho wrong", &wrong_rho), ("(A), any mu", &shown_wrong), ("by rank", &by_rank)]
    {
        let (mean, se) = mean(errors);
        println!("{name}: {mean} +- {se}");
        assert!(mean.abs() < 4.0 * se, "{name}: {mean} +- {se}");
    }
    let (mean, se) = mean(&both_wrong);
    assert!(mean.abs() > 4.0 * se, "both wrong, and nothing to see: {mean} +- {se}");
}

#[test]
fn results_do_not_depend_on_threads_and_files_keep_them() {
    let (train, test) = (world(1, 300), world(2, 300));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let fit = RowFit::new(&train.observed, &train.truth, RowEvidence::Later).unwrap().scores("m", &train.scores).unwrap();
            let model = fit.replicates(8, 3).run().unwrap();
            let evaluation =
                Evaluation::new(&test.observed, &[("m", &test.scores)]).unwrap().row_propensity("rows:m", model.clone());
            (model, evaluation.run().unwrap())
        })
    };
    let (model, result) = run(1);
    assert_eq!((&model, &result), (&run(4).0, &run(4).1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.json");
    model.write(&path).unwrap();
    let read = unmissed::propensity::rows::RowModel::read(&path).unwrap();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for label in 0..LABELS {
        let place = Some(Place { rank: label as usize, difference: 0.3 * f64::from(label) });
        let pair = Pair { label, other_labels: 3, place, given: &[] };
        model.at(&pair, &mut before);
        read.at(&pair, &mut after);
        assert!(
            before.len() == 9 && before.iter().zip(&after).all(|(before, after)| (before - after).abs() < 1e-12),
            "label {label}"
        );
    }
    std::fs::write(&path, b"{}").unwrap();
    let error = unmissed::propensity::rows::RowModel::read(&path).unwrap_err().to_string();
    assert!(error.contains("not a model of row-dependent propensities"), "{error}");
    let curve = model.calibration();
    assert_eq!((curve.folds, curve.bins.len()), (5, 10));
    assert!(curve.bins.iter().all(|bin| bin.low <= bin.observed && bin.observed <= bin.high));
}

#[test]
fn what_cannot_be_known_is_refused() {
    let data = world(5, 200);
    let text = |error: unmissed::Error| error.to_string();
    let same = RowFit::new(&data.truth, &data.truth, RowEvidence::Later).unwrap().run();
    assert!(text(same.unwrap_err()).contains("do not identify propensities"));
    let other = world(6, 10);
    assert!(text(RowFit::new(&data.observed, &other.truth, RowEvidence::Later).err().unwrap()).contains("the same rows twice"));
    let fit = RowFit::new(&data.observed, &data.truth, RowEvidence::Later).unwrap();
    let unscored = fit.clone().covariates(&[Covariate::Rank]).run();
    assert!(text(unscored.unwrap_err()).contains("needs the model's predictions"));
    let model = fit.scores("m", &data.scores).unwrap().replicates(0, 0).run().unwrap();
    for metric in ["recall", "abandonment", "macro-f"] {
        let evaluation = Evaluation::new(&data.observed, &[("m", &data.scores)]).unwrap().row_propensity("rows:m", model.clone());
        let error = text(evaluation.metrics(&[metric]).unwrap().run().unwrap_err());
        assert!(error.contains("no estimate under row-dependent propensities"), "{metric}: {error}");
    }
    let rho = [0.0; 200];
    let later = Evaluation::new(&data.observed, &[("m", &data.scores)]).unwrap().later(&data.truth, vec![true; 200], rho.to_vec());
    assert!(text(later.err().unwrap()).contains("could never have later labels"));
}

/// Values by their definition, in groups, for two models whose fits are about their own predictions; and their paired differences.
#[test]
fn row_dependent_estimates_have_groups_and_comparisons() {
    let (train, test) = (world(41, 900), world(42, 500));
    // Another model: the same scores, half of them upside down.
    let other = |world: &World| {
        let turned = |label: u32, score: f32| if label.is_multiple_of(2) { -score } else { score };
        let row = |row: usize| {
            let (ids, values) = world.scores.row(row);
            ids.iter().zip(values).map(|(id, score)| (*id, turned(*id, *score))).collect::<Vec<_>>()
        };
        Csr::from_rows(u64::from(LABELS), (0..world.scores.rows()).map(row)).unwrap()
    };
    let (of_train, of_test) = (other(&train), other(&test));
    let fit = |name: &str, scores| {
        let fit = RowFit::new(&train.observed, &train.truth, RowEvidence::Later).unwrap().scores(name, scores).unwrap();
        fit.covariates(&[Covariate::Rank, Covariate::LogCount]).replicates(20, 3).run().unwrap()
    };
    let fits = [fit("a", &train.scores), fit("b", &of_train)];
    let of: Vec<Option<u16>> = (0..LABELS).map(|label| Some(u16::from(label >= 5))).collect();
    let groups = Groups::new(vec!["first".into(), "last".into()], &of, "by hand").unwrap();
    let evaluation = Evaluation::new(&test.observed, &[("a", &test.scores), ("b", &of_test)]).unwrap().groups(groups).unwrap();
    let evaluation = evaluation.ks(&[1, 3]).unwrap();
    let evaluation = fits.iter().fold(evaluation, |evaluation, fit| evaluation.row_propensity("rows", fit.clone()));
    let result = evaluation.run().unwrap();
    let value = |metric: &str, k: usize, estimator: Estimator, group: &str, model: &str| {
        let is_it = |row: &&Row| {
            (row.metric.as_str(), row.k, row.estimator, row.group.as_str(), row.model.as_str())
                == (metric, k, estimator, group, model)
        };
        result.rows.iter().find(is_it).unwrap().value.unwrap()
    };
    for (model, fit, scores) in [("a", &fits[0], &test.scores), ("b", &fits[1], &of_test)] {
        let unit = unmissed::propensity::rows::score_unit(scores);
        for k in [1, 3] {
            let (mut sum, mut product) = (0.0, 0.0);
            for row in 0..500 {
                let (ids, values) = scores.row(row);
                let labels = test.observed.row_ids(row);
                let mut missed = 1.0;
                for label in labels {
                    let place = Place::find(ids, values, *label, unit).filter(|place| place.rank < k);
                    if let Some(place) = place {
                        let mut p = Vec::new();
                        fit.at(&Pair { label: *label, other_labels: labels.len() - 1, place: Some(place), given: &[] }, &mut p);
                        sum += 1.0 / p[0] / k as f64;
                        missed *= 1.0 - 1.0 / p[0];
                    }
                }
                product += missed;
            }
            let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{model}@{k}: {found} {wanted}");
            close(value("precision", k, Estimator::Unbiased, "all", model), sum / 500.0);
            close(value("abandonment", k, Estimator::Unbiased, "all", model), product / 500.0);
            let groups = ["first", "last"].map(|group| value("precision", k, Estimator::Unbiased, group, model));
            close(groups[0] + groups[1], sum / 500.0);
        }
    }
    for estimator in [Estimator::Unbiased, Estimator::Ratio] {
        let is_it = |c: &&Comparison| c.metric == "precision" && c.k == 3 && c.estimator == estimator && c.group == "all";
        let found = result.comparisons.iter().find(is_it).unwrap();
        let of = |model: &str| {
            result
                .rows
                .iter()
                .find(|row| {
                    row.metric == "precision"
                        && row.k == 3
                        && row.estimator == estimator
                        && row.group == "all"
                        && row.model == model
                })
                .unwrap()
        };
        let (a, b) = (of("a"), of("b"));
        assert_eq!(found.propensity.as_deref(), Some("rows"));
        assert!((found.difference.unwrap() - (a.value.unwrap() - b.value.unwrap())).abs() < 1e-15);
        let apart = (a.se.unwrap().powi(2) + b.se.unwrap().powi(2)).sqrt();
        assert!(found.se.unwrap() < 1.5 * apart && found.se.unwrap() > 0.2 * apart, "{estimator}: {found:?}, {apart}");
    }
    // A model that is compared with itself has no difference and no spread.
    let same =
        Evaluation::new(&test.observed, &[("a", &test.scores), ("b", &test.scores)]).unwrap().metrics(&["precision"]).unwrap();
    let fits = [fit("a", &train.scores), fit("b", &train.scores)];
    let same = fits.iter().fold(same, |evaluation, fit| evaluation.row_propensity("rows", fit.clone())).run().unwrap();
    let of_rows: Vec<&Comparison> = same.comparisons.iter().filter(|c| c.propensity.is_some()).collect();
    assert!(of_rows.len() >= 6 && of_rows.iter().all(|c| (c.difference, c.se) == (Some(0.0), Some(0.0))), "{of_rows:?}");
    let twice = Evaluation::new(&test.observed, &[("a", &test.scores)]).unwrap();
    let twice = twice.row_propensity("rows", fits[0].clone()).row_propensity("rows", fits[0].clone()).run();
    assert!(twice.unwrap_err().to_string().contains("two row-dependent propensity models"));
}
