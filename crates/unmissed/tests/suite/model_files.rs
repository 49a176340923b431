//! Model files: what is written is read, what is broken is rejected with the file's name, and old versions stay readable.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use unmissed::data::Source;
use unmissed::predict::file::{self, Setting, TrainOutcome, Trial};
use unmissed::predict::{About, Block, Model, Normalize};
use unmissed::propensity::Origin;
use unmissed::propensity::checks::EffectiveSampleSize;
use unmissed::request::{Adam, Criterion, Newton, Solver, TrainRequest};

/// Three blocks: a dense one, a sparse one, and a narrow one.
fn model() -> Model {
    let features = 12;
    let block = |first: u32, width: usize, every: usize| {
        let weight = |at: usize| if at.is_multiple_of(every) { (at as f32 - 40.0) / 8.0 } else { 0.0 };
        Block {
            first,
            bias: (0..width).map(|label| label as f32 / 4.0 - 1.0).collect(),
            weights: (0..features * width).map(weight).collect(),
        }
    };
    Model::new(features, Normalize::L2, vec![block(0, 32, 1), block(32, 32, 9), block(64, 3, 1)]).unwrap()
}

fn about() -> About {
    let mut about = About::new("unbiased-logistic", 42);
    about.propensity = Some(Origin::Model("jpv:a=0.55,b=1.5".parse().unwrap()));
    about.rows = Some(300);
    about.request = Some(TrainRequest {
        propensity: Some("jpv".parse().unwrap()),
        decay: vec![0.0, 1e-3],
        learning_rate: vec![0.05],
        tune: true,
        seed: 42,
        ..TrainRequest::by_loss("unbiased-logistic")
    });
    about.outcome = Some(outcome());
    about.label_counts = Some((0..67).collect());
    about
}

fn outcome() -> TrainOutcome {
    let trial = |decay, loss, chosen| {
        let setting = Setting { learning_rate: Some(0.05), decay };
        Trial { setting, epoch: Some(3), loss: Some(loss), metric: None, seconds: None, chosen }
    };
    TrainOutcome {
        solver: Solver::Adam(Adam { learning_rate: 0.05, batch_size: 512, epochs: 3 }),
        decay: 0.001,
        clip: Some(20.0),
        weighted: true,
        criterion: Some(Criterion::Loss),
        decided_on_rows: Some(30),
        tuning: Some(vec![trial(0.001, 0.25, true), trial(0.0, 0.5, false)]),
        choice: None,
        calibration: None,
        effective_sample_size: Some(EffectiveSampleSize { positives: 11.0, effective: 10.5, largest_weight: 1.5 }),
        raised_propensities: 2,
        shrunken_propensities: false,
        stack: None,
        later: None,
    }
}

fn bytes() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    file::write(&model(), &about(), folder.path().join("m")).unwrap();
    std::fs::read(folder.path().join("m")).unwrap()
}

fn read(bytes: Vec<u8>) -> Result<(Model, About), String> {
    let result = file::read_source(Source::of_bytes("m", bytes).map_err(|error| error.to_string())?);
    result.map_err(|error| {
        assert_eq!(error.path(), Some(Path::new("m")), "{error}");
        error.to_string()
    })
}

/// The readers of headers go through tensors in an order that changes from one reading to the next.
#[test]
fn blocks_without_weights_are_read_every_time() {
    let block = |first: u32| Block { first, bias: vec![-1.0; 32], weights: vec![0.0; 12 * 32] };
    let empty = Model::new(12, Normalize::None, vec![block(0), block(32)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    file::write(&empty, &About::new("logistic", 0), folder.path().join("m")).unwrap();
    for _ in 0..40 {
        assert_eq!(file::read(folder.path().join("m"), true).unwrap().0, empty);
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name)
}

/// The fixtures are never to be written again: they are what users have.
#[test]
fn a_file_of_version_1_is_read_for_ever() {
    let (read, about_model) = file::read(fixture("version-1.safetensors"), true).unwrap();
    assert_eq!(read, model());
    // It says nothing that training would say, which version 1 allowed.
    assert_eq!(about_model, About { tool: "0.1.0".into(), request: None, outcome: None, ..about() });
}

#[test]
fn a_file_of_version_1_that_was_trained_says_how() {
    let (read, about) = file::read(fixture("version-1-trained.safetensors"), true).unwrap();
    assert_eq!((read.labels(), about.loss.as_str(), about.rows), (5, "unbiased-logistic", Some(60)));
    let outcome = about.outcome.unwrap();
    assert_eq!((outcome.solver, outcome.decay), (Solver::Newton(Newton::default()), 0.01));
    assert_eq!((outcome.criterion, outcome.decided_on_rows), (Some(Criterion::Loss), Some(6)));
    let trials = outcome.tuning.unwrap();
    assert_eq!((trials.len(), trials[1].setting.decay, trials[1].chosen), (2, 0.01, true));
    assert_eq!(outcome.effective_sample_size.unwrap().positives, 11.0);
    assert!(about.request.is_none());
}

#[test]
fn a_file_of_version_2_is_read_for_ever() {
    let (read, about_model) = file::read(fixture("version-2.safetensors"), true).unwrap();
    assert_eq!((read, about_model), (model(), About { tool: "0.1.0".into(), ..about() }));
}

#[test]
fn a_file_of_version_3_is_read_for_ever() {
    let (read, about_model) = file::read(fixture("version-3.safetensors"), true).unwrap();
    assert_eq!((read, about_model), (model(), About { tool: "0.1.0".into(), ..about() }));
}

#[test]
fn a_file_of_version_4_is_read_for_ever() {
    let (read, about_model) = file::read(fixture("version-4.safetensors"), true).unwrap();
    assert_eq!((read, about_model), (model(), About { tool: "0.1.0".into(), ..about() }));
}

/// Weights of the model are eighths, which half precision holds.
#[test]
fn half_precision_takes_fewer_bytes_and_keeps_what_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half");
    file::write_half(&model(), &about(), &path).unwrap();
    assert_eq!(file::read(&path, true).unwrap(), (model(), about()));
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    file::write(&model(), &about(), folder.path().join("whole")).unwrap();
    assert!(size(&path) < size(&folder.path().join("whole")));
    let third = Block { first: 0, bias: vec![1.0 / 3.0], weights: vec![1.0 / 3.0, -1e-9] };
    let third = Model::new(2, Normalize::None, vec![third]).unwrap();
    file::write_half(&third, &About::new("logistic", 0), &path).unwrap();
    let read = file::read(&path, true).unwrap().0;
    assert!((read.weight(0, 0) - 1.0 / 3.0).abs() < 1.0 / 3.0 / 2048.0 && read.weight(1, 0) == 0.0);
    assert_eq!(read.bias(), [1.0 / 3.0]);
    // Broken bytes are noticed, as everywhere.
    let good = std::fs::read(&path).unwrap();
    for place in good.len() - 20..good.len() {
        let mut flipped = good.clone();
        flipped[place] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert!(file::read(&path, false).is_err());
    }
}

/// Should this fail, then files of this version differ from those that users have: the format needs a new version.
#[test]
fn writing_gives_the_bytes_of_the_fixture() {
    let mut about = about();
    about.tool = "0.1.0".into();
    let folder = tempfile::tempdir().unwrap();
    file::write(&model(), &about, folder.path().join("m")).unwrap();
    assert_eq!(std::fs::read(folder.path().join("m")).unwrap(), std::fs::read(fixture("version-4.safetensors")).unwrap());
}

#[test]
fn files_come_back_mapped_read_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["m.safetensors", "m.gz", "m.zst"] {
        let path = folder.path().join(name);
        file::write(&model(), &about(), &path).unwrap();
        for mmap in [true, false] {
            assert_eq!(file::read(&path, mmap).unwrap(), (model(), about()), "{name}");
        }
    }
}

#[test]
fn models_without_labels_or_features_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let only_bias = Block { first: 0, bias: vec![1.0; 40], weights: vec![] };
    for model in [Model::new(7, Normalize::None, vec![]).unwrap(), Model::new(0, Normalize::None, vec![only_bias]).unwrap()] {
        let about = About::new("logistic", 0);
        file::write(&model, &about, &path).unwrap();
        assert_eq!(file::read(&path, true).unwrap(), (model, about));
    }
}

#[test]
fn counts_for_other_labels_are_refused() {
    let mut about = about();
    about.label_counts = Some(vec![1]);
    let folder = tempfile::tempdir().unwrap();
    let message = file::write(&model(), &about, folder.path().join("m")).unwrap_err().to_string();
    assert!(message.contains("expected 67, found 1"), "{message}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn other_files_are_not_models() {
    for bytes in [
        &b""[..],
        b"x",
        b"3 2 2\n0 1:1\n",
        b"\x7fELF\x02\x01\x01\x00\x00\x00\x00",
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x10\0\0\0\0\0\0\0{\"x\": ",
    ] {
        let message = read(bytes.to_vec()).unwrap_err();
        assert!(message.contains("not a model file") || message.contains("cut off"), "{message}");
    }
    // Tensors of other programs.
    let header = br#"{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}      "#;
    let other = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat();
    let message = read(other).unwrap_err();
    assert_eq!(message, "m: not a model file: expected a file that 'unmissed train' wrote, found tensors of something else");
}

#[test]
fn every_cut_and_every_flipped_byte_is_noticed() {
    let good = bytes();
    for length in 0..good.len() {
        read(good[..length].to_vec()).unwrap_err();
    }
    let message = read(good[..good.len() - 4].to_vec()).unwrap_err();
    assert!(message.starts_with("m: the model file is cut off or has something appended"), "{message}");
    read([&good[..], &[0]].concat()).unwrap_err();
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&good[8..header]).unwrap().trim_end().len() + 8;
    for place in (0..text).chain(header..good.len()) {
        let mut flipped = good.clone();
        flipped[place] ^= 1 << (place % 8);
        if let Ok(same) = read(flipped) {
            panic!("byte {place} may be anything: {:?}", same.1);
        }
    }
}

/// The header of a file as JSON, and a file with another one. Shorter or longer, data follow.
fn header(bytes: &[u8]) -> (Value, &[u8]) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), &bytes[8 + length..])
}

fn with_header(header: &Value, data: &[u8]) -> Vec<u8> {
    let text = header.to_string();
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), data].concat()
}

#[test]
fn a_newer_file_says_so_whatever_else_it_has() {
    let good = bytes();
    let (mut header, data) = header(&good);
    header["__metadata__"]["version"] = json!("5");
    header["__metadata__"]["about"] = json!("in words");
    let message = read(with_header(&header, data)).unwrap_err();
    let expected =
        "m: the model was made by a newer version of unmissed: expected format version 4 or earlier, found 5; update unmissed";
    assert_eq!(message, expected);
    header["__metadata__"]["version"] = json!("new");
    assert!(read(with_header(&header, data)).unwrap_err().contains("does not say its version"));
}

/// Headers that promise what is not there cost nothing and are refused.
#[test]
fn hostile_headers_are_refused() {
    let good = bytes();
    let (good_header, data) = header(&good);
    let huge = u64::MAX;
    let changes: [(&str, &str, Value); 7] = [
        ("0000000000.weights", "shape", json!([huge, huge])),
        ("0000000000.weights", "shape", json!([1u64 << 60, 32])),
        ("0000000000.weights", "data_offsets", json!([0, huge])),
        ("0000000000.weights", "data_offsets", json!([8, 4])),
        ("0000000000.weights", "dtype", json!("F64")),
        ("0000000000.weights", "dtype", json!("Q3")),
        ("counts", "shape", json!([])),
    ];
    for (tensor, key, value) in changes {
        let mut header = good_header.clone();
        header[tensor][key] = value;
        read(with_header(&header, data)).unwrap_err();
    }
    // Offsets that add up to more than there are numbers.
    let mut tensors = serde_json::Map::from_iter([("__metadata__".to_owned(), good_header["__metadata__"].clone())]);
    for at in 0..8u64 {
        let (start, end) = (at << 61, ((at + 1) << 61).wrapping_sub(u64::from(at == 7)));
        tensors.insert(format!("{at}"), json!({"dtype": "U8", "shape": [end.wrapping_sub(start)], "data_offsets": [start, end]}));
    }
    read(with_header(&Value::Object(tensors), data)).unwrap_err();
    for length in [huge, 100_000_001, 1 << 40] {
        let mut long = good.clone();
        long[..8].copy_from_slice(&length.to_le_bytes());
        assert!(read(long).unwrap_err().contains("not a model file"));
    }
    read(with_header(&json!({"__metadata__": {"format": ["unmissed-model"]}}), b"")).unwrap_err();
    read([&(1u64 << 16).to_le_bytes()[..], "{\"a\":".repeat(1 << 14).as_bytes()].concat()).unwrap_err();
}

/// The same tensors and words with a checksum that fits, as somebody could make who wants to do harm.
fn resealed(change: impl FnOnce(&mut Value, &mut Vec<u8>)) -> String {
    let good = bytes();
    let (mut header, data) = header(&good);
    let mut data = data.to_vec();
    change(&mut header, &mut data);
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for key in ["format", "version", "about"] {
        part(header["__metadata__"][key].as_str().unwrap().as_bytes());
    }
    let mut tensors: Vec<(String, Value)> =
        header.as_object().unwrap().clone().into_iter().filter(|(name, _)| name != "__metadata__").collect();
    let offset = |value: &Value, end: usize| value["data_offsets"][end].as_u64().unwrap() as usize;
    tensors.sort_by_key(|(_, value)| (offset(value, 0), offset(value, 1)));
    for (name, value) in &tensors {
        part(name.as_bytes());
        part(value["dtype"].as_str().unwrap().as_bytes());
        let shape = value["shape"].as_array().unwrap().iter().flat_map(|size| size.as_u64().unwrap().to_le_bytes());
        part(&shape.collect::<Vec<u8>>());
        part(blake3::hash(&data[offset(value, 0)..offset(value, 1)]).as_bytes());
    }
    header["__metadata__"]["checksum"] = json!(hasher.finalize().to_hex().to_string());
    read(with_header(&header, &data)).err().unwrap_or_default()
}

fn about_with(header: &mut Value, key: &str, value: Value) {
    let mut about: Value = serde_json::from_str(header["__metadata__"]["about"].as_str().unwrap()).unwrap();
    about[key] = value;
    header["__metadata__"]["about"] = json!(about.to_string());
}

#[test]
fn content_is_checked_even_when_the_checksum_fits() {
    assert_eq!(resealed(|_, _| ()), "", "the reseal itself makes a good file");
    let place = |header: &Value, tensor: &str| header[tensor]["data_offsets"][0].as_u64().unwrap() as usize;
    let contradicts = |message: String| assert!(message.starts_with("m: the model file contradicts itself"), "{message}");
    for key in ["features", "labels"] {
        for value in [json!(0), json!(1u64 << 40), json!(66), json!(-1), json!("many")] {
            contradicts(resealed(|header, _| about_with(header, key, value)));
        }
    }
    contradicts(resealed(|header, _| about_with(header, "normalize", json!("l3"))));
    contradicts(resealed(|header, _| about_with(header, "request", json!({"los": "logistic"}))));
    contradicts(resealed(|header, _| about_with(header, "settings", json!({"solver": "newton"}))));
    for tensor in ["0000000000.weights", "0000000000.bias", "0000000032.data", "0000000064.weights"] {
        contradicts(resealed(|header, data| {
            let at = place(header, tensor);
            data[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        }));
    }
    for (tensor, entry, value) in [
        ("0000000032.indptr", 0, 1u32),
        ("0000000032.indptr", 1, u32::MAX),
        ("0000000032.indptr", 12, 1),
        ("0000000032.indices", 0, 32),
        ("0000000032.indices", 1, 0),
    ] {
        contradicts(resealed(|header, data| {
            let at = place(header, tensor) + 4 * entry;
            data[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }));
    }
    contradicts(resealed(|header, _| {
        let tensor = header.as_object_mut().unwrap().remove("0000000032.bias").unwrap();
        header["0000000033.bias"] = tensor;
    }));
}

fn mutate(bytes: &mut [u8], places: &[(prop::sample::Index, u8)]) {
    for (at, byte) in places {
        let place = at.index(bytes.len());
        bytes[place] = *byte;
    }
}

proptest! {
    /// Damage that the checksum cannot see, because it was made again: never a panic.
    #[test]
    fn mutated_content(places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        resealed(|_, data| mutate(data, &places));
    }

    #[test]
    fn mutated_files(places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5), cut in any::<prop::sample::Index>()) {
        let mut bytes = bytes();
        mutate(&mut bytes, &places);
        let _ = read(bytes.clone());
        bytes.truncate(cut.index(bytes.len()));
        let _ = read(bytes);
    }
}
