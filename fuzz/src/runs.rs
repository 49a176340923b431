//! What runs left behind for later ones: the audit that a new one is compared with, and the finished work of an interrupted training run.

use crate::{KEYS, file_of, seal};
use std::fs;
use unmissed::audit::{Audit, Baseline};
use unmissed::data::{Csr, Dataset, Labels};
use unmissed::predict::file::{self, InputDigests, Manifest};
use unmissed::predict::{About, BlockStore, Normalize};
use unmissed::request::{Newton, Solver, TrainRequest};

/// Reads `bytes` as an earlier audit: JSON and then the npz of its top lists, as they are and with checksums that fit; and compares with
/// what comes out.
pub fn read_baseline(bytes: &[u8]) {
    let labels = Labels::from_ids(KEYS, [vec![0], vec![], vec![1, 4]]).expect("labels below 5");
    let test = Dataset::new(None, labels).expect("labels alone are a data set");
    let scores = Csr::from_rows(KEYS, [[(1, 0.9f32), (2, 0.8)], [(0, 0.5), (2, 0.4)], [(4, 0.7), (3, 0.1)]]).expect("labels below 5");
    for (json, lists) in [seal::audit(bytes), seal::audit_of(bytes, test.labels())].into_iter().flatten() {
        let path = file_of(&json);
        let mut beside = path.clone().into_os_string();
        beside.push(".rows.npz");
        fs::write(&beside, lists).expect("the folder for temporary files can be written to");
        let Ok(baseline) = Baseline::read(&path) else { continue };
        let audit = Audit::new(&test, &[("model", &scores)]).expect("a model for the rows");
        let _ = audit.baseline(&baseline).run();
    }
}

/// Reads `bytes` as what an interrupted run left: as its manifest, and as its first finished block, as it is and with a checksum that fits.
pub fn resume(bytes: &[u8]) {
    let model = std::env::temp_dir().join(format!("unmissed-fuzz-run-{}", std::process::id()));
    let folder = BlockStore::folder(&model);
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written to");
    let put = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("and so can the folder of the run");
    put("manifest.json", bytes);
    let _ = BlockStore::resume(&model, manifest());
    for bytes in [Some(bytes.to_vec()), seal::model(bytes)].into_iter().flatten() {
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written to");
        // Without a manifest, the run becomes the one that is asked for.
        let _ = fs::remove_file(folder.join("manifest.json"));
        put("0000000000.block", &bytes);
        let store = BlockStore::resume(&model, manifest()).expect("a run without a manifest");
        let Ok(missing) = store.missing() else { continue };
        let notes = store.notes();
        assert_eq!(missing.is_empty(), notes.is_ok(), "{missing:?}");
        let finished = store.finish(&About::new("logistic", 7));
        if missing.is_empty() && finished.is_ok() {
            let _ = file::read(&model, true);
        }
    }
    let _ = fs::remove_dir_all(&folder);
    let _ = fs::remove_file(&model);
}

/// A run that has one block.
fn manifest() -> Manifest {
    Manifest {
        rows: 9,
        features: 2,
        labels: 3,
        data: "0af1".into(),
        normalize: Normalize::None,
        width: 3,
        prune: None,
        half: false,
        request: TrainRequest::default(),
        solver: Solver::Newton(Newton::default()),
        decay: 1e-4,
        inputs: InputDigests::default(),
    }
}
