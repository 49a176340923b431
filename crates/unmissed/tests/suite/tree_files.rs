//! Models on trees in files: opened without reading everything, refused when broken, resumed when a run was interrupted.

use crate::common::trees::{request, words};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use unmissed::data::{Dataset, Source};
use unmissed::predict::{BlockStore, PredictOptions, TreeModel, TreeSearch, file};
use unmissed::progress::Progress;
use unmissed::propensity::Propensities;
use unmissed::request::{TreeCorrection, TreeRequest};
use unmissed::train::{TreeDestination, TreeTrainer};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// Rows of as many features and labels as the fixtures have.
fn fixture_data() -> Dataset<'static> {
    words(60, 20, 15, 10)
}

fn top(model: &TreeModel, data: &Dataset<'_>) -> unmissed::Result<unmissed::data::Scores<'static>> {
    Ok(model.predict(data.features().unwrap(), &PredictOptions::default(), TreeSearch::default())?.scores)
}

/// The fixtures are never to be written again: they are what users have.
#[test]
fn files_of_version_3_are_read_for_ever() {
    let (read, about) = file::read_tree(fixture("version-3-tree.safetensors"), true).unwrap();
    assert_eq!((read.labels(), read.features(), read.trees().len(), about.rows), (15, 20, 2, Some(60)));
    assert!(read.inverse_propensities().is_some() && about.label_counts.is_some());
    let (now, _) = file::read_tree(fixture("version-4-tree.safetensors"), true).unwrap();
    assert_eq!(read, now);
    assert_eq!(top(&read, &fixture_data()).unwrap(), top(&now, &fixture_data()).unwrap());
}

/// Should this fail, then files of this version differ from those that users have: the format needs a new version.
#[test]
fn writing_gives_the_bytes_of_the_fixture() {
    let path = fixture("version-4-tree.safetensors");
    let (model, about) = file::read_tree(&path, true).unwrap();
    model.verify().unwrap();
    let folder = tempfile::tempdir().unwrap();
    file::write_tree(&model, &about, folder.path().join("m")).unwrap();
    assert!(std::fs::read(folder.path().join("m")).unwrap() == std::fs::read(&path).unwrap());
    assert_eq!(about.tree.map(|request| (request.tree.to_string(), request.trees)), Some(("kmeans:branch=3,leaf=4".into(), 2)));
}

#[test]
fn damaged_files_are_refused_at_the_latest_when_they_are_used() {
    let data = fixture_data();
    let (model, about) = TreeTrainer::new(request("kmeans:branch=3,leaf=4")).train(&data).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    file::write_tree(&model, &about, &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(matches!(file::read_any(&path, true).unwrap().0, file::AnyModel::Tree(_)));
    // Where a model with a scorer for each label is expected, it says what it found.
    assert!(file::read(&path, true).unwrap_err().to_string().contains("unmissed-tree"));
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut lazily = 0;
    for place in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x11;
        std::fs::write(&path, &damaged).unwrap();
        let error = match file::read_tree(&path, true) {
            Err(error) => error,
            // Spaces at the end of the header are not a part of it.
            Ok(_) if place < header && bytes[place] == b' ' => continue,
            Ok((read, _)) => {
                // Opening it did not look at the weights. All of them are needed for all rows.
                lazily += 1;
                assert!(top(&read, &data).is_err(), "byte {place}");
                read.verify().unwrap_err()
            }
        };
        assert_eq!(error.path(), Some(path.as_path()), "{error}");
    }
    assert!(lazily > 20, "{lazily}");
    for length in [0, 1, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(file::read_tree(&path, false).is_err(), "{length}");
    }
}

/// Somebody who wants to do harm can make digests and checksums that fit.
#[test]
fn hostile_weights_with_digests_that_fit_are_errors() {
    let data = fixture_data();
    let (model, about) = TreeTrainer::new(request("random:branch=20,leaf=20")).train(&data).unwrap();
    let folder = tempfile::tempdir().unwrap();
    file::write_tree(&model, &about, folder.path().join("m")).unwrap();
    let bytes = std::fs::read(folder.path().join("m")).unwrap();
    let header_end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..header_end]).unwrap();
    let offsets = |header: &serde_json::Value, name: &str| {
        let of = |end: usize| header_end + header[name]["data_offsets"][end].as_u64().unwrap() as usize;
        of(0)..of(1)
    };
    let (blocks, digests) = (offsets(&header, "blocks.bytes"), offsets(&header, "blocks.digests"));
    let mut refused = 0;
    for place in blocks.clone() {
        let mut hostile = bytes.clone();
        hostile[place] = hostile[place].wrapping_add(0x7f);
        let digest = blake3::hash(&hostile[blocks.clone()]);
        hostile[digests.clone()].copy_from_slice(&digest.as_bytes()[..16]);
        header["__metadata__"]["checksum"] = checksum(&header, &hostile, header_end).into();
        let text = header.to_string();
        let text = format!("{text:<width$}", width = header_end - 8);
        hostile[8..header_end].copy_from_slice(text.as_bytes());
        let (read, _) = file::read_tree_source(Source::of_bytes("m", hostile).unwrap()).unwrap();
        refused += usize::from(read.verify().is_err());
        assert_eq!(top(&read, &data).is_err(), read.verify().is_err());
    }
    // Other weights are weights.
    assert!(refused > 20 && refused < blocks.len(), "{refused} of {}", blocks.len());
}

/// The checksum of the container, written out.
fn checksum(header: &serde_json::Value, bytes: &[u8], data: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for key in ["format", "version", "about"] {
        part(header["__metadata__"][key].as_str().unwrap().as_bytes());
    }
    let offset = |value: &serde_json::Value, end: usize| value["data_offsets"][end].as_u64().unwrap() as usize;
    let mut tensors: Vec<_> = header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__").collect();
    tensors.sort_by_key(|(_, value)| (offset(value, 0), offset(value, 1)));
    for (name, value) in tensors {
        part(name.as_bytes());
        part(value["dtype"].as_str().unwrap().as_bytes());
        part(&value["shape"].as_array().unwrap().iter().flat_map(|size| size.as_u64().unwrap().to_le_bytes()).collect::<Vec<u8>>());
        let own = &bytes[data + offset(value, 0)..data + offset(value, 1)];
        if name == "blocks.bytes" { part(&[]) } else { part(blake3::hash(own).as_bytes()) }
    }
    hasher.finalize().to_hex().to_string()
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
    let data = words(500, 80, 120, 9);
    let p = Propensities::new("known", (0..120).map(|label| 0.2 + 0.006 * f64::from(label)).collect()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let to = |name: &str, resume| TreeDestination { path: path(name), resume, max_size: None };
    let asked = TreeRequest { trees: 2, correction: TreeCorrection::Count, ..request("kmeans:branch=5,leaf=8") };
    let trainer = TreeTrainer::new(asked.clone()).propensity(&p);
    let whole = trainer.train_to(&data, &to("whole", false), &|_| {}).unwrap();
    assert_eq!(whole.resumed, 0);
    assert!(whole.parts >= 6, "{}", whole.parts);
    // It is what training in memory gives.
    let (model, about) = trainer.train(&data).unwrap();
    assert_eq!(model, whole.model);
    file::write_tree(&model, &about, path("memory")).unwrap();
    let bytes = |name: &str| std::fs::read(path(name)).unwrap();
    assert!(bytes("memory") == bytes("whole"));
    for calls in [1, 3, 9, 14, 40] {
        let stops = Stops(AtomicU64::new(calls));
        let interrupted = trainer.clone().progress(&stops).train_to(&data, &to("again", false), &|_| {});
        assert_eq!(interrupted.unwrap_err().to_string(), "interrupted");
        assert!(!path("again").exists() && BlockStore::folder(path("again")).is_dir());
        let refused = trainer.train_to(&data, &to("again", false), &|_| {}).unwrap_err().to_string();
        assert!(refused.contains("an unfinished run left blocks here"), "{refused}");
        let other = TreeTrainer::new(TreeRequest { seed: 5, ..asked.clone() }).propensity(&p);
        let refused = other.train_to(&data, &to("again", true), &|_| {}).unwrap_err().to_string();
        assert!(refused.contains("'tree.seed' differs"), "{refused}");
        // A file that is broken counts as not there.
        let broken = BlockStore::folder(path("again")).join("part-000000.block");
        if broken.exists() {
            std::fs::write(broken, b"broken").unwrap();
        }
        let resumed = trainer.clone().memory(1 << 30).train_to(&data, &to("again", true), &|_| {}).unwrap();
        assert!(resumed.resumed < resumed.parts && (calls < 40 || resumed.resumed > 0), "{calls}: {}", resumed.resumed);
        assert!(bytes("again") == bytes("whole"));
        assert!(!BlockStore::folder(path("again")).exists());
        std::fs::remove_file(path("again")).unwrap();
    }
}

#[test]
fn memory_and_size_are_bounded() {
    let data = words(3000, 400, 900, 4);
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str, max_size| TreeDestination { path: folder.path().join(name), resume: false, max_size };
    let trainer = TreeTrainer::new(request("kmeans:branch=30,leaf=30"));
    let told = AtomicU64::new(0);
    let trained = trainer.train_to(&data, &to("free", None), &|size| told.store(size.bytes, Ordering::SeqCst)).unwrap();
    let size = std::fs::metadata(folder.path().join("free")).unwrap().len();
    assert_eq!(told.into_inner(), trained.estimated_size);
    let ratio = trained.estimated_size as f64 / size as f64;
    assert!((0.75..1.33).contains(&ratio), "{} for {size}", trained.estimated_size);
    let refused = trainer.train_to(&data, &to("large", Some(size / 3)), &|_| {}).unwrap_err().to_string();
    assert!(refused.contains("would become too large") && !folder.path().join("large").exists(), "{refused}");
    let refused = trainer.clone().memory(10_000).train_to(&data, &to("little", None), &|_| {}).unwrap_err().to_string();
    assert!(refused.contains("the memory does not hold one node: expected at least"), "{refused}");
    // As much as the root needs, and the model is the same.
    let least: f64 = refused.split("at least ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    trainer.memory(((least + 0.1) * 1e6) as u64).train_to(&data, &to("enough", None), &|_| {}).unwrap();
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("free") == bytes("enough"));
}
