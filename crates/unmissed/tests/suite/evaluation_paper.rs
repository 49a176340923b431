//! The paper's claims about evaluation, on data whose truth is known.

use crate::common::data;
use crate::common::rng::{Purpose, row_key, uniform_at};
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::generators::{GENERATORS, GeneratorSettings};
use unmissed::data::{Csr, Dataset, LabelStats, Labels, mask};
use unmissed::evaluate::Evaluation;
use unmissed::metrics::Estimator;
use unmissed::propensity::estimators::timelapse::timelapse;
use unmissed::propensity::{Propensities, Ratio, models};

/// Precision@k of one model under one estimator.
fn precision(truth: &Labels<'_>, scores: &Csr<'_, f32>, propensities: Option<&Propensities>, k: usize) -> f64 {
    let mut evaluation = Evaluation::new(truth, &[("a", scores)]).unwrap().metrics(&["precision"]).unwrap().ks(&[k]).unwrap();
    if let Some(propensities) = propensities {
        evaluation = evaluation.propensity(propensities.clone());
    }
    let estimator = if propensities.is_some() { Estimator::Unbiased } else { Estimator::Observed };
    evaluation.run().unwrap().find("precision", k, estimator).unwrap().value.unwrap()
}

/// The unbiased estimate from masked labels meets the clean value within 4 exact standard errors of the mask when it uses the
/// propensities that the mask used, and does not when it uses another model's.
#[test]
fn the_right_propensities_give_the_clean_value_and_wrong_ones_do_not() {
    let balls = unmissed::spec::find(GENERATORS, "generator", "balls").unwrap();
    let mut settings = GeneratorSettings::of(balls);
    settings.set("train-rows", "20000").unwrap();
    settings.set("test-rows", "8000").unwrap();
    let data = balls.generate(&settings, 3).unwrap();
    let (train, test) = (data.part("train").unwrap().labels(), data.part("test").unwrap().labels());
    let stats = LabelStats::of(train);
    // A model that knows something: relevant labels get half a point more.
    let rows = (0..test.rows()).map(|row| {
        let key = row_key(9, Purpose::GenerateRows, row as u64);
        let score = |label: u32| uniform_at(key, label) + if test.row_ids(row).contains(&label) { 0.5 } else { 0.0 };
        (0..test.cols() as u32).map(|label| (label, score(label) as f32)).collect::<Vec<_>>()
    });
    let scores = Csr::from_rows(test.cols() as u64, rows).unwrap();
    let clean = precision(test, &scores, None, 1);
    let models = ["jpv", "power"].map(|spec| models::parse(spec).unwrap().propensities(&stats).unwrap());
    for (right, wrong) in [(0, 1), (1, 0)] {
        let p = &models[right];
        let biased = mask(test, p.values(), 17).unwrap();
        let hits = (0..test.rows()).filter_map(|row| {
            let (ids, values) = scores.row(row);
            let best = (0..ids.len()).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
            test.row_ids(row).contains(&ids[best]).then(|| 1.0 / p.get(ids[best]) - 1.0)
        });
        let se = hits.sum::<f64>().sqrt() / test.rows() as f64;
        let (good, bad) = (precision(&biased, &scores, Some(p), 1), precision(&biased, &scores, Some(&models[wrong]), 1));
        println!("{}: clean {clean:.4}, right {good:.4}, wrong {bad:.4}, mask se {se:.4}", p.origin());
        assert!((good - clean).abs() < 4.0 * se, "{}: {good} against {clean}", p.origin());
        assert!((bad - clean).abs() > 4.0 * se, "{} scored as {}: {bad} against {clean}", p.origin(), models[wrong].origin());
    }
}

/// A ranker in the manner of naive Bayes: how often a label goes with each feature of the row.
fn rank(train: &Dataset<'_>, test: &Dataset<'_>) -> Csr<'static, f32> {
    let (features, labels) = (train.features().unwrap().to_sparse().unwrap(), train.labels());
    let mut with_feature: Vec<Vec<u32>> = vec![Vec::new(); features.cols()];
    for row in 0..features.rows() {
        features.row(row).0.iter().for_each(|feature| with_feature[*feature as usize].push(row as u32));
    }
    let counts = LabelStats::of(labels).dense_counts().unwrap();
    let test_features = test.features().unwrap().to_sparse().unwrap();
    let mut scores = vec![0.0f64; labels.cols()];
    let rows: Vec<Vec<(u32, f32)>> = (0..test.rows())
        .map(|row| {
            for (score, count) in scores.iter_mut().zip(&counts) {
                *score = *count as f64 / train.rows() as f64;
            }
            for feature in test_features.row(row).0 {
                let rows = &with_feature[*feature as usize];
                for other in rows {
                    for label in labels.row_ids(*other as usize) {
                        scores[*label as usize] += 1.0 / (rows.len() as f64 + 2.0);
                    }
                }
            }
            let mut order: Vec<u32> = (0..scores.len() as u32).collect();
            order.select_nth_unstable_by(20, |a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
            order.truncate(20);
            order.into_iter().map(|label| (label, scores[label as usize] as f32)).collect()
        })
        .collect();
    Csr::from_rows(labels.cols() as u64, rows).unwrap()
}

/// Two releases of an annotation: what the later one says is the truth that estimates from the earlier one should meet.
#[test]
fn real_missing_labels_contradict_the_default_curve() {
    let Some(folder) = data("hpo-timelapse") else { return };
    let read = |name: &str| read_dataset(folder.join(name), &ReadOptions::default()).unwrap();
    let (train, train_late) = (read("train_early.txt"), read("train_late.txt"));
    let (test, test_late) = (read("test_early.txt"), read("test_late.txt"));
    let scores = rank(&train, &test);
    let jpv = models::parse("jpv").unwrap().propensities(&LabelStats::of(train.labels())).unwrap();
    let power = models::family("power").unwrap();
    let snapshots = timelapse(train.labels(), train_late.labels(), &Ratio::new(power).shrunken()).unwrap();
    for k in [1, 3, 5] {
        let observed = precision(test.labels(), &scores, None, k);
        let later = precision(test_late.labels(), &scores, None, k);
        let (assumed, estimated) =
            (precision(test.labels(), &scores, Some(&jpv), k), precision(test.labels(), &scores, Some(&snapshots.propensities), k));
        println!("@{k}: observed {observed:.3}, later truth {later:.3}, jpv {assumed:.3}, time-lapse {estimated:.3}");
        assert!(observed > 0.25 && observed < later, "{observed} {later}");
        assert!(assumed > later + 0.2, "the default curve is far off: {assumed} against {later}");
        assert!((estimated - later).abs() < 0.06, "the snapshots are close: {estimated} against {later}");
    }
}
