//! Runs that are interrupted: nothing finished is lost, nothing broken is left, and nothing foreign is mixed in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unmissed::predict::file::{self, BlockNote, InputDigests, Manifest};
use unmissed::predict::{About, Block, BlockStore, Model, Normalize};
use unmissed::request::{Adam, Newton, Solver, TrainRequest};

const FEATURES: usize = 2000;
const LABELS: usize = 80;
const WIDTH: usize = 16;

fn manifest() -> Manifest {
    Manifest {
        rows: 10,
        features: FEATURES,
        labels: LABELS,
        data: "abc".into(),
        normalize: Normalize::L2,
        width: WIDTH,
        prune: None,
        half: false,
        request: TrainRequest { learning_rate: vec![0.01], ..TrainRequest::default() },
        solver: Solver::Adam(Adam { learning_rate: 0.01, ..Adam::default() }),
        decay: 0.0,
        inputs: InputDigests::default(),
    }
}

/// A note that belongs to no other block.
fn note(first: usize) -> BlockNote {
    BlockNote { propensities: Some(vec![0.5; WIDTH]), unconverged: first, iterations: 1 }
}

/// Every other block is mostly zero.
fn block(first: usize) -> Block {
    let every = if first.is_multiple_of(2 * WIDTH) { 1 } else { 20 };
    let weight = |at: usize| if at.is_multiple_of(every) { (at + first) as f32 / 1000.0 } else { 0.0 };
    Block { first: first as u32, bias: vec![first as f32; WIDTH], weights: (0..FEATURES * WIDTH).map(weight).collect() }
}

fn whole() -> Model {
    Model::new(FEATURES, Normalize::L2, (0..LABELS).step_by(WIDTH).map(block).collect()).unwrap()
}

fn about() -> About {
    let mut about = About::new("logistic", 1);
    about.label_counts = Some(vec![3; LABELS]);
    about
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_in_two_parts_gives_the_bytes_of_one_in_one_part() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let store = BlockStore::create(&one, manifest()).unwrap();
    (0..LABELS).step_by(WIDTH).for_each(|first| store.put(&block(first), note(first)).unwrap());
    store.finish(&about()).unwrap();
    let store = BlockStore::create(&two, manifest()).unwrap();
    store.put(&block(48), note(48)).unwrap();
    store.put(&block(0), note(0)).unwrap();
    drop(store);
    let store = BlockStore::resume(&two, manifest()).unwrap();
    assert_eq!(store.missing().unwrap(), [16..32, 32..48, 64..80]);
    for labels in store.missing().unwrap() {
        store.put(&block(labels.start as usize), note(labels.start as usize)).unwrap();
    }
    assert_eq!(store.notes().unwrap(), [0, 16, 32, 48, 64].map(note));
    store.finish(&about()).unwrap();
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    assert_eq!(file::read(&one, true).unwrap(), (whole(), about()));
    assert_eq!(names(folder.path()), ["one", "two"]);
}

#[test]
fn dropped_weights_are_dropped_in_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let store = BlockStore::create(&path, Manifest { prune: Some(8.0), ..manifest() }).unwrap();
    (0..LABELS).step_by(WIDTH).for_each(|first| store.put(&block(first), BlockNote::default()).unwrap());
    store.finish(&about()).unwrap();
    assert_eq!(file::read(&path, true).unwrap().0, whole().prune(8.0).unwrap());
}

#[test]
fn another_run_cannot_be_continued_and_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let store = BlockStore::create(&path, manifest()).unwrap();
    store.put(&block(0), BlockNote::default()).unwrap();
    let busy = BlockStore::resume(&path, manifest()).err().unwrap().to_string();
    assert!(busy.contains("another run is at work"), "{busy}");
    drop(store);
    let other = |change: fn(&mut Manifest)| {
        let mut manifest = manifest();
        change(&mut manifest);
        BlockStore::resume(&path, manifest).err().unwrap().to_string()
    };
    for (message, part) in [
        (other(|m| m.request.seed = 3), "'request.seed' differs: expected 0, found 3"),
        (other(|m| m.decay = 0.5), "'decay' differs: expected 0.0, found 0.5"),
        (other(|m| m.inputs.weights = Some("7f".into())), "'inputs.weights' differs: expected null, found \"7f\""),
        (other(|m| m.data = "abd".into()), "'data' differs: expected \"abc\", found \"abd\""),
        (other(|m| m.width = 32), "'width' differs: expected 16, found 32"),
        (other(|m| m.prune = Some(0.5)), "'prune' differs: expected null, found 0.5"),
        (other(|m| m.solver = Solver::Newton(Newton::default())), "'solver.batch' differs: expected 512, found null"),
    ] {
        assert!(message.contains(part) && message.contains("remove the folder"), "{message}");
    }
    let message = BlockStore::create(&path, manifest()).err().unwrap().to_string();
    assert!(message.contains("an unfinished run left blocks here") && message.contains("--resume"), "{message}");
    assert_eq!(BlockStore::resume(&path, manifest()).unwrap().missing().unwrap().len(), 4);
}

#[test]
fn broken_blocks_are_trained_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let store = BlockStore::create(&path, manifest()).unwrap();
    (0..LABELS).step_by(WIDTH).for_each(|first| store.put(&block(first), BlockNote::default()).unwrap());
    let part = |first: usize| BlockStore::folder(&path).join(format!("{first:010}.block"));
    let bytes = std::fs::read(part(0)).unwrap();
    std::fs::write(part(0), &bytes[..bytes.len() / 2]).unwrap();
    let mut bytes = std::fs::read(part(64)).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(part(64), bytes).unwrap();
    std::fs::copy(part(16), part(32)).unwrap();
    assert_eq!(store.missing().unwrap(), [0..16, 32..48, 64..80]);
    let message = store.finish(&about()).unwrap_err().to_string();
    assert!(message.contains("0000000000.block"), "{message}");
    assert!(!path.exists() && part(16).exists());
}

#[test]
fn blocks_of_another_shape_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlockStore::create(folder.path().join("m"), manifest()).unwrap();
    let wrong = [
        Block { first: 1, ..block(0) },
        Block { first: u32::MAX, ..block(0) },
        Block { weights: vec![0.0; 3], ..block(0) },
        Block { bias: vec![f32::NAN; WIDTH], ..block(0) },
    ];
    for block in wrong {
        store.put(&block, BlockNote::default()).unwrap_err();
    }
    assert_eq!(store.missing().unwrap().len(), 5);
}

/// A child process trains and is killed, again and again, at times of no special meaning; then it is allowed to finish. The old model
/// is there until the new one is.
#[test]
fn killing_the_process_loses_at_most_the_current_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let old = Model::new(1, Normalize::None, vec![]).unwrap();
    file::write(&old, &About::new("logistic", 0), &path).unwrap();
    let start = Instant::now();
    for round in 0..30 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "block_store::the_child_that_trains", "--ignored"]).env("UNMISSED_TEST_MODEL", &path);
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(5 + 7 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let (model, _) = file::read(&path, true).unwrap();
        if model == whole() && !BlockStore::folder(&path).exists() {
            break;
        }
        assert!(model == whole() || model == old);
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "block_store::the_child_that_trains", "--ignored"])
        .env("UNMISSED_TEST_MODEL", &path)
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    assert_eq!(file::read(&path, true).unwrap(), (whole(), about()));
    assert!(!BlockStore::folder(&path).exists());
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn the_child_that_trains() {
    let Some(path) = std::env::var_os("UNMISSED_TEST_MODEL").map(PathBuf::from) else { return };
    let store = BlockStore::resume(&path, manifest()).unwrap();
    for labels in store.missing().unwrap() {
        std::thread::sleep(Duration::from_millis(20));
        store.put(&block(labels.start as usize), BlockNote::default()).unwrap();
    }
    store.finish(&about()).unwrap();
}
