//! Models on trees: searches against scoring everything, training against one-vs-all, and what must not depend on threads.

use crate::common::rng::{Purpose, row_key, uniform_at};
use crate::common::trees::{request, train, words};
use proptest::prelude::*;
use unmissed::data::{Csr, Dataset, Dense, Features, IgnoredPairs, Labels};
use unmissed::predict::{PredictOptions, TreeModel, TreeSearch, file};
use unmissed::propensity::Propensities;
use unmissed::request::{NormalizeChoice, TrainRequest, TreeCorrection, TreeRequest};
use unmissed::train::{Trainer, TreeTrainer};
use unmissed::tree::{TREE_BUILDERS, given};

/// Every label of every row.
fn everything(rows: usize, labels: usize) -> Labels<'static> {
    Labels::from_ids(labels as u64, vec![(0..labels as u32).collect::<Vec<_>>(); rows]).unwrap()
}

/// The best labels by scoring all of them.
fn brute_force(
    model: &TreeModel,
    data: &Features<'_>,
    k: usize,
    factor: impl Fn(usize, u32) -> Option<f64>,
) -> Vec<Vec<(u32, f64)>> {
    let all = model.score(data, &everything(data.rows(), model.labels())).unwrap();
    (0..data.rows())
        .map(|row| {
            let scores = all.row(row).1;
            let mut ranked: Vec<(u32, f64)> =
                (0u32..).zip(scores).filter_map(|(label, score)| Some((label, f64::from(*score) * factor(row, label)?))).collect();
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            ranked.truncate(k);
            ranked
        })
        .collect()
}

/// The same labels, but for those that rounding to single precision swaps.
fn assert_same(found: &Csr<'_, f32>, expected: &[Vec<(u32, f64)>]) {
    for (row, expected) in expected.iter().enumerate() {
        let (ids, scores) = found.row(row);
        assert_eq!(ids.len(), expected.len(), "row {row}");
        for (place, (label, value)) in expected.iter().enumerate() {
            let near = |a: f64, b: f64| (a - b).abs() <= 2e-6 * a.abs().max(b.abs()) + 1e-12;
            assert!(near(f64::from(scores[place]), *value), "row {row}, place {place}: {} not {value}", scores[place]);
            let tied = expected.iter().any(|other| other.0 != *label && near(other.1, *value)) || place + 1 == expected.len();
            assert!(ids[place] == *label || tied, "row {row}, place {place}: label {} not {label}", ids[place]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn searches_find_what_scoring_everything_finds(
        labels in 1u32..60,
        branch in 2usize..6,
        leaf in 1usize..12,
        trees in 1usize..4,
        k in 1usize..8,
        seed in 0u64..1000,
        kind in 0usize..3,
        weighted in any::<bool>(),
    ) {
        let data = words(60, 40, labels, seed);
        let tree = match kind {
            0 => format!("kmeans:branch={branch},leaf={leaf}"),
            1 => format!("random:branch={branch},leaf={leaf}"),
            _ => format!("huffman:branch={branch}"),
        };
        let trees = if kind == 2 { 1 } else { trees };
        let model = train(TreeRequest { trees, seed, passes: 3, ..request(&tree) }, &data);
        let features = data.features().unwrap();
        // From a thousandth to a thousand: bounds by the mean would fail.
        let weight = |label: u32| if weighted { 10f64.powf(6.0 * uniform_at(seed, label) - 3.0) } else { 1.0 };
        let weights: Vec<f64> = (0..labels).map(weight).collect();
        let options = PredictOptions { k, weights: weighted.then_some(&weights), ..PredictOptions::default() };
        let found = model.predict(features, &options, TreeSearch::default()).unwrap();
        assert_same(&found.scores, &brute_force(&model, features, k, |_, label| Some(weight(label))));
        // A cap that no row reaches changes nothing.
        let free = model.predict(features, &options, TreeSearch { beam: None, max_nodes: Some(1 << 40) }).unwrap();
        prop_assert_eq!((free.scores, free.capped_rows), (found.scores.clone(), 0));
        prop_assert_eq!(found.capped_rows, 0);
        // Single rows are looked up in another way than many.
        for row in 0..3 {
            let alone = model.predict(&features.select_rows(&[row]), &options, TreeSearch::default()).unwrap();
            prop_assert_eq!(alone.scores.row(0), found.scores.row(row));
        }
    }
}

#[test]
fn ignored_labels_thresholds_and_propensities_are_kept_to() {
    let data = words(200, 60, 50, 5);
    let features = data.features().unwrap();
    let p: Vec<f64> = (0..50).map(|label| 0.1 + 0.9 * uniform_at(3, label)).collect();
    let p = Propensities::new("known", p).unwrap();
    let pairs = (0..200)
        .flat_map(|row| (0..50).filter(move |label| (row + *label as usize).is_multiple_of(3)).map(move |label| (row, label)));
    let ignored = IgnoredPairs::from_pairs(200, 50, pairs).unwrap();
    for trees in [1, 3] {
        let model = train(TreeRequest { trees, ..request("kmeans:branch=4,leaf=6") }, &data);
        let options = PredictOptions { k: 4, ignored: Some(&ignored), threshold: Some(0.05), ..PredictOptions::default() };
        let found = model.predict(features, &options, TreeSearch::default()).unwrap().scores;
        let all = model.score(features, &everything(200, 50)).unwrap();
        let allowed = |row: usize, label: u32| {
            (!(row + label as usize).is_multiple_of(3) && all.row(row).1[label as usize] >= 0.05).then_some(1.0)
        };
        assert_same(&found, &brute_force(&model, features, 4, allowed));
        // Dividing by propensities is exact, and probabilities end at 1.
        let options = PredictOptions { k: 4, propensities: Some(&p), ..PredictOptions::default() };
        let found = model.predict(features, &options, TreeSearch::default()).unwrap().scores;
        let mut expected = brute_force(&model, features, 4, |_, label| Some(1.0 / p.values()[label as usize]));
        expected.iter_mut().flatten().for_each(|entry| entry.1 = entry.1.min(1.0));
        assert_same(&found, &expected);
    }
}

#[test]
fn beams_and_caps_end_searches_early_and_say_so() {
    let data = words(300, 60, 80, 6);
    let features = data.features().unwrap();
    let model = train(request("kmeans:branch=3,leaf=4"), &data);
    let options = PredictOptions::default();
    let exact = model.predict(features, &options, TreeSearch::default()).unwrap();
    let wide = model.predict(features, &options, TreeSearch { beam: Some(1000), max_nodes: None }).unwrap();
    assert_eq!(wide.scores, exact.scores);
    let narrow = model.predict(features, &options, TreeSearch { beam: Some(1), max_nodes: None }).unwrap();
    assert!(narrow.nodes < exact.nodes && narrow.scores != exact.scores);
    let capped = model.predict(features, &options, TreeSearch { beam: None, max_nodes: Some(3) }).unwrap();
    assert!(capped.nodes <= 900 && capped.capped_rows > 200, "{} {}", capped.nodes, capped.capped_rows);
    let several = train(TreeRequest { trees: 3, ..request("random:branch=3,leaf=4") }, &data);
    let capped = several.predict(features, &options, TreeSearch { beam: None, max_nodes: Some(3) }).unwrap();
    assert!(capped.capped_rows > 200, "{}", capped.capped_rows);
    // Whichever labels a beam finds, they have the mean of all trees, also where a tree did not find them.
    let found = several.predict(features, &options, TreeSearch { beam: Some(1), max_nodes: None }).unwrap().scores;
    let named = Labels::from_ids(80, (0..300).map(|row| found.row_ids(row).to_vec())).unwrap();
    let means = several.score(features, &named).unwrap();
    assert_ne!(found, several.predict(features, &options, TreeSearch::default()).unwrap().scores);
    for row in 0..300 {
        for (label, score) in found.row_ids(row).iter().zip(found.row(row).1) {
            let place = means.row_ids(row).iter().position(|other| other == label).unwrap();
            assert!((means.row(row).1[place] - score).abs() < 1e-6, "row {row}, label {label}");
        }
    }
    for broken in [TreeSearch { beam: Some(0), max_nodes: None }, TreeSearch { beam: None, max_nodes: Some(0) }] {
        assert!(model.predict(features, &options, broken).is_err());
    }
    assert!(model.predict(features, &PredictOptions { logits: true, ..options }, TreeSearch::default()).is_err());
    assert!(model.predict(features, &PredictOptions { k: 0, ..options }, TreeSearch::default()).is_err());
}

#[test]
fn a_tree_of_one_node_is_one_vs_all() {
    let data = words(400, 50, 12, 7);
    let decay = 1e-3;
    for normalize in [NormalizeChoice::L2, NormalizeChoice::None] {
        let square: f64 = match (normalize, data.features().unwrap()) {
            (NormalizeChoice::None, Features::Sparse(x)) => {
                x.values().iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / x.rows() as f64
            }
            _ => 1.0,
        };
        let all = TrainRequest {
            decay: vec![decay],
            tolerance: Some(1e-6),
            max_steps: Some(500),
            normalize,
            ..TrainRequest::by_loss("logistic")
        };
        let (flat, _) = Trainer::new(all).train(&data).unwrap();
        let cost = square / (decay * 400.0);
        let settings =
            TreeRequest { cost, passes: 3000, tolerance: 1e-6, prune: Some(0.0), normalize, ..request("kmeans:leaf=100") };
        let one = TreeRequest { calibrate: false, ..settings };
        let model = train(one, &data);
        assert_eq!(model.trees()[0].nodes(), 1);
        let expected = flat.probabilities(data.features().unwrap(), 0..400).unwrap();
        let found = model.score(data.features().unwrap(), &everything(400, 12)).unwrap();
        // Weights have half precision, and both solvers end a little before the optimum, which shows where rows are long.
        let off: Vec<f32> = found.values().iter().zip(&expected).map(|(found, expected)| (found - expected).abs()).collect();
        let (largest, mean) = (off.iter().copied().fold(0.0, f32::max), off.iter().sum::<f32>() / off.len() as f32);
        let most = if normalize == NormalizeChoice::L2 { 0.01 } else { 0.05 };
        assert!(largest < most && mean < 1e-3, "{normalize}: {largest}, {mean}");
    }
}

/// What is added to logits folds into the biases, so that only they tell models apart; few rows decide nothing.
#[test]
fn logits_are_shifted_by_the_number_of_rows() {
    let data = words(3_000, 200, 300, 3);
    let trained =
        |calibrate: bool| TreeTrainer::new(TreeRequest { calibrate, ..request("kmeans:branch=8,leaf=20") }).train(&data).unwrap();
    let ((shifted, about), (plain, about_plain)) = (trained(true), trained(false));
    assert_eq!(about_plain.logits_by_count, 0.0);
    assert_eq!(about.logits_by_count != 0.0, shifted != plain);
    assert_eq!(shifted.summary().nonzeros, plain.summary().nonzeros);
    let (_, about) = TreeTrainer::new(request("kmeans:branch=8,leaf=20")).train(&words(100, 200, 300, 3)).unwrap();
    assert_eq!(about.logits_by_count, 0.0);
}

#[test]
fn an_ensemble_is_the_mean_of_its_trees() {
    let data = words(300, 50, 30, 8);
    let features = data.features().unwrap();
    let settled =
        |tree: &str, trees| TreeRequest { trees, cost: 2.0, passes: 1000, tolerance: 1e-5, prune: Some(0.0), ..request(tree) };
    let ensemble = train(settled("kmeans:branch=3,leaf=5", 3), &data);
    assert!(ensemble.trees()[0] != ensemble.trees()[1] && ensemble.trees()[1] != ensemble.trees()[2]);
    let folder = tempfile::tempdir().unwrap();
    let candidates = everything(300, 30);
    let mut means = vec![0.0; 300 * 30];
    for (number, tree) in ensemble.trees().iter().enumerate() {
        let path = folder.path().join(format!("{number}.csv"));
        given::write(tree, &path).unwrap();
        let alone = train(settled(&format!("given:{}", path.display()), 1), &data);
        assert_eq!(&alone.trees()[0], tree);
        let scores = alone.score(features, &candidates).unwrap();
        means.iter_mut().zip(scores.values()).for_each(|(mean, score)| *mean += score / 3.0);
    }
    let found = ensemble.score(features, &candidates).unwrap();
    for (found, mean) in found.values().iter().zip(means) {
        assert!((found - mean).abs() < 3e-3, "{found} not {mean}");
    }
}

#[test]
fn models_do_not_depend_on_threads_and_survive_files() {
    // As many rows as it takes for a tree to be tried before, and a penalty so strong that it says something.
    let data = words(1_200, 80, 120, 9);
    let p = Propensities::new("known", (0..120).map(|label| 0.2 + 0.8 * uniform_at(1, label)).collect()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trained = |threads: usize, propensities: Option<&Propensities>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let path = folder.path().join(format!("{threads}.safetensors"));
        let model = pool.install(|| {
            let trainer = TreeTrainer::new(TreeRequest { trees: 2, cost: 0.5, ..request("kmeans:branch=5,leaf=8") });
            let (model, about) = propensities.into_iter().fold(trainer, TreeTrainer::propensity).train(&data).unwrap();
            file::write_tree(&model, &about, &path).unwrap();
            model
        });
        (model, std::fs::read(path).unwrap())
    };
    for propensities in [None, Some(&p)] {
        let ((one, bytes), (four, others)) = (trained(1, propensities), trained(4, propensities));
        assert_eq!(one, four);
        assert_eq!(bytes, others);
        for mmap in [true, false] {
            let (read, about) = file::read_tree(folder.path().join("4.safetensors"), mmap).unwrap();
            assert_eq!(read, one);
            assert_eq!(
                (about.rows, about.tree.unwrap().trees, about.propensity.is_some()),
                (Some(1_200), 2, propensities.is_some())
            );
            assert_ne!(about.logits_by_count, 0.0);
        }
    }
    let top = |model: &TreeModel, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| model.predict(data.features().unwrap(), &PredictOptions::default(), TreeSearch::default()).unwrap().scores)
    };
    let (model, _) = trained(4, None);
    assert_eq!(top(&model, 1), top(&model, 4));
}

#[test]
fn awkward_data_train() {
    let of = |rows: Vec<Vec<(u32, f32)>>, labels: Vec<Vec<u32>>, count| {
        let features = Csr::from_rows(4, rows).unwrap();
        Dataset::new(Some(Features::Sparse(features)), Labels::from_ids(count, labels).unwrap()).unwrap()
    };
    let same = vec![vec![(0, 1.0), (2, 2.0)]; 6];
    for data in [
        // One label, one row.
        of(vec![vec![(0, 1.0)]], vec![vec![0]], 1),
        of(vec![vec![(0, 1.0)]], vec![vec![]], 3),
        // Rows that are alike, some with labels and some without.
        of(same.clone(), vec![vec![0], vec![1], vec![0, 1], vec![], vec![5], vec![5]], 6),
        // Rows without features, labels that no row has, and labels that all have.
        of(vec![vec![]; 6], vec![vec![0, 3]; 6], 40),
        of(vec![vec![(3, 1e30)], vec![(0, 1e-30)], vec![(1, -1.0)]], vec![vec![7], vec![0], vec![7]], 9),
    ] {
        let labels = data.labels().cols();
        for tree in ["kmeans:branch=2,leaf=2", "random:branch=3,leaf=1", "huffman:branch=3", "kmeans"] {
            let model = train(request(tree), &data);
            let found = model.predict(data.features().unwrap(), &PredictOptions::default(), TreeSearch::default()).unwrap().scores;
            assert_eq!(found.nnz(), data.rows() * labels.min(5), "{tree}");
            assert!(found.values().iter().all(|score| (0.0..=1.0).contains(score)), "{tree}");
        }
    }
    // Labels that were never observed come last.
    let data = of(vec![vec![(0, 1.0)], vec![(1, 1.0)]], vec![vec![0], vec![1]], 30);
    let found = train(request("kmeans:branch=4,leaf=4"), &data)
        .predict(data.features().unwrap(), &PredictOptions { k: 2, ..PredictOptions::default() }, TreeSearch::default())
        .unwrap();
    assert!(found.scores.row_ids(0).contains(&0) && found.scores.row_ids(1).contains(&1));
    let no_features = Dataset::new(None, Labels::from_ids(1, [[0]]).unwrap()).unwrap();
    assert!(TreeTrainer::new(request("kmeans")).train(&no_features).is_err());
    let other = Features::Dense(Dense::new(1, 2, vec![0.0, 1.0]).unwrap());
    assert!(train(request("kmeans"), &data).predict(&other, &PredictOptions::default(), TreeSearch::default()).is_err());
}

/// Labels that go missing together: a node above them then goes missing less often than if they did so independently, and a correction
/// of nodes by a product of propensities would be off. The plug-in asks nothing about that.
#[test]
fn the_plug_in_is_right_when_labels_go_missing_together() {
    let rows = 6_000;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let draw = |what: u32| uniform_at(row_key(11, Purpose::GenerateRows, row), what);
        let group = (draw(0) * 2.0) as u32;
        // Labels 0 and 1 are relevant on most rows of the first group, labels 2 and 3 on those of the second; both of a pair
        // are observed on half of the rows, the same rows.
        let observed = draw(1) < 0.5;
        let labels = [2 * group, 2 * group + 1].into_iter().zip([0.9, 0.6]);
        let own =
            labels.filter(|(label, chance)| observed && draw(10 + label) < *chance).map(|(label, _)| label).collect::<Vec<_>>();
        x.push(vec![(group, 1.0f32)]);
        y.push(own);
    }
    let data = Dataset::new(Some(Features::Sparse(Csr::from_rows(2, x).unwrap())), Labels::from_ids(4, y).unwrap()).unwrap();
    let p = Propensities::new("known", vec![0.5; 4]).unwrap();
    let settled = TreeRequest { cost: 1.0, passes: 200, tolerance: 1e-5, ..request("kmeans:branch=2,leaf=2") };
    let model = TreeTrainer::new(settled.clone()).propensity(&p).train(&data).unwrap().0;
    let probe = Features::Sparse(Csr::from_rows(2, [[(0, 1.0f32)], [(1, 1.0)]]).unwrap());
    let found = model.score(&probe, &everything(2, 4)).unwrap();
    for (found, truth) in found.row(0).1.iter().chain(found.row(1).1).zip([0.9, 0.6, 0.0, 0.0, 0.0, 0.0, 0.9, 0.6]) {
        assert!((found - truth).abs() < 0.05, "{found} not {truth}");
    }
    // Of the node above labels 0 and 1, which is relevant to 96 % of the rows of its group, a product of propensities would find less than half.
    let (mut product, mut of_group) = (0.0, 0.0);
    for row in 0..data.rows() {
        let Features::Sparse(x) = data.features().unwrap() else { unreachable!("made above") };
        if x.row_ids(row) == [0] {
            product += 1.0 - data.labels().row_ids(row).iter().map(|label| 1.0 - 1.0 / p.get(*label)).product::<f64>();
            of_group += 1.0;
        }
    }
    assert!(product / of_group < 0.5, "{}", product / of_group);
    // Counts rank alike, though their scores are shares.
    let counted = TreeRequest { correction: TreeCorrection::Count, ..settled };
    let counted = TreeTrainer::new(counted).propensity(&p).train(&data).unwrap().0;
    let top = counted.predict(&probe, &PredictOptions { k: 2, ..PredictOptions::default() }, TreeSearch::default()).unwrap().scores;
    assert_eq!((top.row_ids(0), top.row_ids(1)), (&[0, 1][..], &[2, 3][..]));
    assert!((top.row(0).1[0] / top.row(0).1[1] - 1.5).abs() < 0.1, "{:?}", top.row(0));
}

#[test]
fn corrections_need_propensities_for_every_label() {
    let data = words(50, 20, 10, 12);
    let short = Propensities::new("known", vec![0.5; 9]).unwrap();
    assert!(TreeTrainer::new(request("kmeans")).propensity(&short).train(&data).is_err());
    let named = TreeRequest { propensity: Some("jpv".parse().unwrap()), clip: Some(2.0), ..request("kmeans") };
    let (model, about) = TreeTrainer::new(named).train(&data).unwrap();
    assert!(model.inverse_propensities().unwrap().iter().all(|inverse| (1.0..=2.0).contains(inverse)));
    assert_eq!(about.propensity.unwrap().to_string(), "jpv:a=0.55,b=1.5");
}

#[test]
fn builders_have_their_pages() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tree");
    for builder in TREE_BUILDERS {
        let page = std::fs::read_to_string(folder.join(format!("{}.rs", builder.name()))).unwrap();
        assert!(["# Assumes", "```", "assert"].iter().all(|part| page.contains(part)), "{}", builder.name());
    }
}

#[test]
fn builders_have_names_of_their_own() {
    for builder in TREE_BUILDERS {
        assert!(builder.syntax().starts_with(builder.name()) && !builder.summary().is_empty());
        let spec = builder.parse(Some("x.csv").filter(|_| builder.syntax().ends_with("FILE"))).unwrap();
        assert_eq!(spec.to_string().parse::<unmissed::tree::TreeSpec>().unwrap(), spec);
        let fixed = TreeRequest { tree: spec, trees: 2, ..TreeRequest::default() }.check().is_err();
        assert_eq!(fixed, builder.is_fixed(), "{}", builder.name());
    }
    let wide = "kmeans:branch=1e18".parse::<unmissed::tree::TreeSpec>().unwrap_err().to_string();
    assert!(wide.contains("expected a whole number from 2 to 4294967295"), "{wide}");
    for broken in
        ["oak", "kmeans:leaf=0", "kmeans:branch=1", "kmeans:leaf=1.5", "kmeans:depth=3", "huffman:leaf=3", "given", "given:"]
    {
        assert!(broken.parse::<unmissed::tree::TreeSpec>().is_err(), "{broken}");
    }
}
