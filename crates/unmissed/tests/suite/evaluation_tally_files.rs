//! Tallies in files: old versions are read, damaged and made-up ones are refused before anything is allocated for them.

use crate::common::evaluation::Rows;
use crate::common::rng::{Purpose, below, stream};
use serde_json::{Value, json};
use std::path::PathBuf;
use unmissed::evaluate::{Evaluation, EvaluationResult, Tally};
use unmissed::propensity::Propensities;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tallies").join(name)
}

fn is_close(found: &Value, wanted: &Value) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-9,
        _ => found == wanted,
    }
}

/// Files that version 2 wrote, and what it made of them.
#[test]
fn tallies_of_version_2_are_read() {
    for name in ["v2", "v2-mask", "v2-shown"] {
        let tally = Tally::read(fixture(&format!("{name}.tally.zst"))).unwrap();
        let wanted: Value = serde_json::from_slice(&std::fs::read(fixture(&format!("{name}.json"))).unwrap()).unwrap();
        let check = |result: &EvaluationResult| {
            let found = serde_json::to_value(result).unwrap();
            for list in ["rows", "comparisons"] {
                let mut checked = 0;
                for wanted in wanted[list].as_array().unwrap() {
                    let names = ["metric", "k", "estimator", "propensity", "group", "model", "a", "b"];
                    let is_it = |row: &&Value| names.iter().all(|name| row[name] == wanted[name]);
                    let found = found[list].as_array().unwrap().iter().find(is_it).unwrap();
                    for number in ["value", "difference", "se"] {
                        // Version 2 took an estimated variance below 0 for 0; there is none now.
                        let was_cut = number == "se" && found[number].is_null() && wanted[number] == 0.0;
                        assert!(was_cut || is_close(&found[number], &wanted[number]), "{name}: {found} {wanted}");
                    }
                    checked += 1;
                }
                assert!(checked > 3, "{name}: {checked} {list}");
            }
        };
        check(&tally.finish().unwrap());
        // Written again it is the current version.
        check(&Tally::from_bytes(&tally.to_bytes().unwrap()).unwrap().finish().unwrap());
    }
}

fn tally() -> Tally {
    let rows = Rows::random(40, 5, 0.8, 0.4, 1);
    let (truth, a, b) = (rows.labels(), rows.scores(), Rows::random(40, 5, 0.8, 0.1, 1).scores());
    let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().ks(&[1, 2]).unwrap().bootstrap(4, 0);
    evaluation.propensity(Propensities::new("p", vec![0.5; 5]).unwrap()).clip(1.5).unwrap().tally().unwrap()
}

/// The bytes of a tally with other settings and a checksum that fits.
fn forged(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let bytes = tally().to_bytes().unwrap();
    let length = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize;
    let mut settings: Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    change(&mut settings);
    let json = serde_json::to_vec(&settings).unwrap();
    let rest = &bytes[20 + length..bytes.len() - 32];
    signed([&bytes[..12], &(json.len() as u64).to_le_bytes(), &json, rest].concat())
}

fn signed(mut body: Vec<u8>) -> Vec<u8> {
    body.extend(blake3::hash(&body).as_bytes());
    body
}

/// Version 3 had no sample of rows, and nothing else was different.
#[test]
fn tallies_of_version_3_are_read() {
    let tally = tally();
    let mut bytes = tally.to_bytes().unwrap();
    // Without the checksum, the number of common errors, which is 0, and the length and the byte that say that there is no sample.
    bytes.truncate(bytes.len() - 32 - 9 - 8 - 9);
    bytes[8] = 3;
    let read = Tally::from_bytes(&signed(bytes)).unwrap();
    assert_eq!(read.to_bytes().unwrap(), tally.to_bytes().unwrap());
    assert!(read.finish().unwrap().rows.iter().any(|row| row.metric == "macro-f" && row.se.is_some()));
}

/// Version 4 knew no streams: its samples chose rows by their own numbers.
#[test]
fn tallies_of_version_4_are_read() {
    let rows = Rows::random(40, 5, 0.8, 0.4, 1);
    let (truth, scores) = (rows.labels(), rows.scores());
    let tally = Evaluation::new(&truth, &[("a", &scores)]).unwrap().tally().unwrap();
    let mut bytes = tally.to_bytes().unwrap();
    // Without the checksum, the byte that says that there is no stream, and the empty list of other numbers.
    bytes.truncate(bytes.len() - 32 - 9 - 8);
    bytes[8] = 4;
    let read = Tally::from_bytes(&signed(bytes)).unwrap();
    assert_eq!(read.to_bytes().unwrap(), tally.to_bytes().unwrap());
    assert_eq!(read.finish().unwrap(), tally.finish().unwrap());
}

/// A tally with a sample of rows.
#[test]
fn changed_samples_never_panic() {
    let rows = Rows::random(40, 5, 0.8, 0.4, 1);
    let (truth, a, b) = (rows.labels(), rows.scores(), Rows::random(40, 5, 0.8, 0.1, 1).scores());
    let evaluation = Evaluation::new(&truth, &[("a", &a), ("b", &b)]).unwrap().metrics(&["macro-f", "coverage"]).unwrap();
    let bytes = evaluation.propensity(Propensities::new("p", vec![0.5; 5]).unwrap()).tally().unwrap().to_bytes().unwrap();
    let body = &bytes[..bytes.len() - 32];
    let mut rng = stream(4, Purpose::Split, 0);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..600 {
        let mut changed = body.to_vec();
        let at = changed.len() - 1 - below(&mut rng, 2000) as usize;
        changed[at] = below(&mut rng, 12) as u8;
        match Tally::from_bytes(&signed(changed)) {
            Ok(tally) => {
                read += 1;
                let _ = tally.finish();
            }
            Err(error) => refused += usize::from(error.to_string().contains("sample of rows")),
        }
    }
    assert!(read > 20 && refused > 20, "{read} {refused}");
}

#[test]
fn forged_settings_are_refused() {
    assert!(Tally::from_bytes(&forged(|_| ())).is_ok(), "the forgery itself is right");
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 16] = [
        ("too many replicates", |s| s["request"]["bootstrap"] = json!(1_000_000_000_000u64)),
        ("too many replicates", |s| s["request"]["bootstrap"] = json!(u64::MAX)),
        ("more cells", |s| s["models"] = json!(vec!["a"; 100_000])),
        ("more cells", |s| s["groups"] = json!(vec![("all", 5u64); 20_000_000 / 10])),
        ("contradicts itself", |s| s["rows"] = json!(1u64 << 60)),
        ("contradicts itself", |s| s["labels"] = json!(u64::MAX)),
        ("contradicts itself", |s| s["depth"] = json!(1_000_000_000_000u64)),
        ("contradicts itself", |s| s["columns"] = json!([])),
        ("contradicts itself", |s| s["columns"][2]["clip"] = json!([7, 1.5])),
        ("contradicts itself", |s| s["bounds"] = json!([[5000]])),
        ("contradicts itself", |s| s["metrics"][0]["beta"] = json!(2.0)),
        ("contradicts itself", |s| s["metrics"][1] = s["metrics"][0].clone()),
        ("contradicts itself", |s| s["row_dependent"] = json!([{ "origin": "r", "metrics": [], "fits": [] }])),
        ("contradicts itself", |s| s["robust"] = json!(["later"])),
        ("cannot read the settings", |s| s["request"]["k"] = json!([0])),
        ("cannot read the settings", |s| s["request"]["level"] = json!(7)),
    ];
    for (place, (message, change)) in changes.into_iter().enumerate() {
        let error = match Tally::from_bytes(&forged(change)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("forgery {place} was read"),
        };
        assert!(error.contains(message), "forgery {place}: {error}");
    }
    // Refits that nobody has.
    let refits = |s: &mut Value| {
        let count = s["metrics"].as_array().unwrap().len();
        let fit = json!({ "refits": 1u64 << 50, "dependence": [1.0, 1.0], "ratios": vec![vec![[0.0; 0]; 2]; count] });
        s["row_dependent"] = json!([{ "origin": "r", "metrics": vec![true; count], "fits": [fit, fit] }]);
    };
    assert!(Tally::from_bytes(&forged(refits)).unwrap_err().to_string().contains("its sums"));
}

#[test]
fn damage_is_found() {
    let bytes = tally().to_bytes().unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    assert!(Tally::from_bytes(&damaged).unwrap_err().to_string().contains("checksum does not fit"));
    assert!(Tally::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    assert!(Tally::from_bytes(b"unmissed").unwrap_err().to_string().contains("ends too early"));
    assert!(Tally::from_bytes(b"something else").unwrap_err().to_string().contains("not a tally"));
    let mut other = bytes;
    other[8] = 9;
    assert!(Tally::from_bytes(&other).unwrap_err().to_string().contains("version 2 to 5, found 9"));
}

/// Bytes that were changed anywhere, with a checksum that fits: an error or some numbers, never a panic.
#[test]
fn changed_bytes_never_panic() {
    let bytes = tally().to_bytes().unwrap();
    let body = &bytes[..bytes.len() - 32];
    let mut rng = stream(3, Purpose::Split, 0);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..600 {
        let mut changed = body.to_vec();
        for _ in 0..1 + below(&mut rng, 3) {
            let at = below(&mut rng, changed.len() as u64) as usize;
            changed[at] = below(&mut rng, 256) as u8;
        }
        match Tally::from_bytes(&signed(changed)) {
            Ok(tally) => {
                read += 1;
                let _ = tally.finish();
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 20 && refused > 20, "{read} {refused}");
}
