//! Runs of training on trees: what an interrupted one keeps, what it is refused for, and what must not leave a file behind.

use crate::common::trees::{observed, request, words};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use unmissed::data::{Dataset, Dense, Features, Labels};
use unmissed::predict::{PredictOptions, TreeSearch};
use unmissed::progress::Progress;
use unmissed::request::TreeRequest;
use unmissed::train::{SizeEstimate, TreeDestination, TreeTrainer};
use unmissed::tree::given;

fn to(path: &Path, resume: bool) -> TreeDestination {
    TreeDestination { path: path.to_path_buf(), resume, max_size: None }
}

/// Stops a stage at one of its beginnings, after so many steps.
#[derive(Default)]
struct Watch {
    begun: Mutex<Vec<String>>,
    stop_at: Option<(&'static str, usize, u64)>,
    stopping: AtomicBool,
    steps: AtomicU64,
}

impl Watch {
    fn begun(&self, stage: &str) -> usize {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|begun| *begun == stage).count()
    }
}

impl Progress for Watch {
    fn begin(&self, stage: &str, _total: u64) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).push(stage.to_owned());
        let stops = self.stop_at.is_some_and(|(wanted, time, _)| wanted == stage && self.begun(stage) == time);
        self.stopping.store(stops, Ordering::SeqCst);
    }

    fn advance(&self, _amount: u64) -> unmissed::Result<()> {
        let most = self.stop_at.map_or(u64::MAX, |(_, _, steps)| steps);
        let stop = self.stopping.load(Ordering::SeqCst) && self.steps.fetch_add(1, Ordering::SeqCst) >= most;
        if stop { Err(unmissed::Error::interrupted()) } else { Ok(()) }
    }
}

/// The tree that is tried before training is work like any other.
#[test]
fn what_was_tried_is_kept() {
    let data = words(1_200, 80, 120, 9);
    let folder = tempfile::tempdir().unwrap();
    let (whole, again) = (folder.path().join("whole"), folder.path().join("again"));
    let trainer = TreeTrainer::new(request("kmeans:branch=5,leaf=8"));
    let watch = Watch::default();
    trainer.clone().progress(&watch).train_to(&data, &to(&whole, false), &|_| {}).unwrap();
    assert_eq!((watch.begun("making trees"), watch.begun("training")), (2, 2));
    // In the middle of the tree that is tried, and in that of the model: parts that were finished are not trained again.
    for (time, trees_after) in [(1, 2), (2, 1)] {
        let stops = Watch { stop_at: Some(("training", time, 12)), ..Watch::default() };
        let interrupted = trainer.clone().progress(&stops).train_to(&data, &to(&again, false), &|_| {});
        assert_eq!(interrupted.unwrap_err().to_string(), "interrupted");
        let watch = Watch::default();
        trainer.clone().progress(&watch).train_to(&data, &to(&again, true), &|_| {}).unwrap();
        assert_eq!(watch.begun("making trees"), trees_after, "{time}");
        assert!(std::fs::read(&whole).unwrap() == std::fs::read(&again).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn another_tree_under_the_same_name_is_another_run() {
    let data = words(300, 80, 40, 9);
    let folder = tempfile::tempdir().unwrap();
    let (file, model) = (folder.path().join("tree.csv"), folder.path().join("m"));
    let shape = |seed: u64| {
        let made = TreeTrainer::new(TreeRequest { seed, ..request("random:branch=4,leaf=4") }).train(&data).unwrap().0;
        given::write(&made.trees()[0], &file).unwrap();
    };
    let trainer = TreeTrainer::new(request(&format!("given:{}", file.display())));
    shape(1);
    let stops = Watch { stop_at: Some(("training", 1, 3)), ..Watch::default() };
    trainer.clone().progress(&stops).train_to(&data, &to(&model, false), &|_| {}).unwrap_err();
    shape(2);
    let refused = trainer.train_to(&data, &to(&model, true), &|_| {}).unwrap_err().to_string();
    assert!(refused.contains("'given_tree' differs"), "{refused}");
    shape(1);
    trainer.train_to(&data, &to(&model, true), &|_| {}).unwrap();
}

/// A pipe can be read once.
#[cfg(unix)]
#[test]
fn trees_come_through_pipes() {
    let data = words(1_100, 80, 40, 9);
    let folder = tempfile::tempdir().unwrap();
    let (file, pipe) = (folder.path().join("tree.csv"), folder.path().join("pipe"));
    let (made, _) = TreeTrainer::new(request("random:branch=4,leaf=4")).train(&data).unwrap();
    given::write(&made.trees()[0], &file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (text, end) = (std::fs::read(&file).unwrap(), pipe.clone());
    std::thread::spawn(move || std::fs::write(end, text));
    let (send, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let trainer = TreeTrainer::new(request(&format!("given:{}", pipe.display())));
        send.send(trainer.train(&data).map(|(model, _)| model.trees()[0].clone())).unwrap();
    });
    let tree = finished.recv_timeout(std::time::Duration::from_secs(120)).expect("training waits for a second tree");
    assert_eq!(tree.unwrap(), made.trees()[0]);
}

/// Rows with two features, of which the first is so large on some, and says which labels they have.
fn of_size(size: f32) -> Dataset<'static> {
    let rows = (0..60).flat_map(|row: usize| if row.is_multiple_of(3) { [size, 1.0] } else { [0.5, row as f32 / 60.0] });
    let features = Features::Dense(Dense::new(60, 2, rows.collect::<Vec<f32>>()).unwrap());
    Dataset::new(
        Some(features),
        Labels::from_ids(4, (0..60u32).map(|row| [row % 2 + if row.is_multiple_of(3) { 0 } else { 2 }])).unwrap(),
    )
    .unwrap()
}

#[test]
fn what_overflows_is_an_error_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m");
    let train = |request: TreeRequest, size| TreeTrainer::new(request).train_to(&of_size(size), &to(&model, false), &|_| {});
    let refused = train(request("kmeans:leaf=2"), 3e38).unwrap_err().to_string();
    assert!(refused.starts_with("the features of row 0 overflow"), "{refused}");
    let refused = train(TreeRequest { cost: 1e300, ..request("kmeans:leaf=2") }, 1.0).unwrap_err().to_string();
    assert!(refused.starts_with("the cost is out of range"), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    for trees in [1, 2] {
        let (trained, _) =
            TreeTrainer::new(TreeRequest { trees, cost: 1e3, ..request("kmeans:leaf=2") }).train(&of_size(1.0)).unwrap();
        let huge = of_size(f32::MAX);
        let found = trained.predict(huge.features().unwrap(), &PredictOptions::default(), TreeSearch::default());
        assert!(found.unwrap_err().to_string().contains("overflow"), "{trees} trees");
    }
}

#[test]
fn the_size_is_estimated_before_training_and_checked_at_the_end() {
    let data = words(3_000, 400, 900, 4);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let estimates = Mutex::new(Vec::new());
    let told = |size: SizeEstimate| estimates.lock().unwrap().push(size);
    let asked = TreeRequest { trees: 2, ..request("kmeans:branch=30,leaf=30") };
    TreeTrainer::new(asked).train_to(&data, &to(&path("free"), false), &told).unwrap();
    let size = std::fs::metadata(path("free")).unwrap().len();
    let estimates = estimates.into_inner().unwrap();
    assert_eq!(estimates.iter().map(|estimate| estimate.from_parts).collect::<Vec<_>>(), [false, true]);
    let ratio = estimates[0].bytes as f64 / size as f64;
    assert!((0.7..1.4).contains(&ratio), "{} for {size}", estimates[0].bytes);
    // The header of a small file is most of it, and no part of the estimate.
    let little = words(60, 20, 15, 10);
    let bounded = |name: &str, resume, most| {
        let to = TreeDestination { max_size: Some(most), ..to(&path(name), resume) };
        TreeTrainer::new(request("kmeans")).train_to(&little, &to, &|_| {}).map_err(|error| error.to_string())
    };
    let trained = bounded("little", false, 1 << 20).unwrap();
    let size = std::fs::metadata(path("little")).unwrap().len();
    assert!(trained.estimated_size < size, "{} and {size}", trained.estimated_size);
    assert!(bounded("tiny", false, 1).unwrap_err().contains("expected at most 1 B"));
    let refused = bounded("bounded", false, size - 1).unwrap_err();
    assert!(refused.contains("would become too large") && !path("bounded").exists(), "{refused}");
    bounded("bounded", true, size).unwrap();
    assert!(std::fs::read(path("bounded")).unwrap() == std::fs::read(path("little")).unwrap());
}

#[test]
fn later_labels_replace_the_observed_ones() {
    let complete = words(300, 80, 40, 9);
    let early = observed(&complete, |_| 0.5, 4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let trainer = TreeTrainer::new(request("kmeans:branch=4,leaf=8")).later(complete.labels());
    let (model, about) = trainer.train(&early).unwrap();
    assert_eq!(model, TreeTrainer::new(request("kmeans:branch=4,leaf=8")).train(&complete).unwrap().0);
    let outcome = about.later.unwrap();
    let missing = (complete.labels().nnz() - early.labels().nnz()) as u64;
    assert_eq!((outcome.rows, outcome.of, outcome.added, outcome.withdrawn), (300, 300, missing, 0));
    let trained = trainer.train_to(&early, &to(&path, false), &|_| {}).unwrap();
    assert_eq!((trained.model, trained.about), (model, about));
    // Others than those of the rows, none at all, and together with propensities.
    let other = words(299, 80, 40, 9);
    let error = |trainer: TreeTrainer<'_>| trainer.train(&early).unwrap_err().to_string();
    assert!(error(TreeTrainer::new(request("kmeans")).later(other.labels())).contains("not those of the training rows"));
    let asked = TreeRequest { later: Some(Default::default()), ..request("kmeans") };
    assert!(error(TreeTrainer::new(asked.clone())).contains("not passed"));
    let both = TreeRequest { propensity: Some("jpv".parse().unwrap()), ..asked };
    assert!(error(TreeTrainer::new(both).later(complete.labels())).contains("later labels"));
}
