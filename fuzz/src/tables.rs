//! Tables and files that users write by hand or that programs exchange: judgements, names, ignored pairs, plans, lines of labels.

use crate::{KEYS, file_of};
use unmissed::data::{IgnoredPairs, Judgements, MachineJudgements, Names, NamesOf, TextFile, Texts};
use unmissed::evaluate::judged::AnnotationPlan;
use unmissed::optimize::Weighting;

/// Reads `bytes` as a csv of judged pairs, by a person and by a machine.
pub fn read_judgements(bytes: &[u8]) {
    let path = file_of(bytes);
    let keys = KEYS as usize;
    if let Ok(judgements) = Judgements::read(&[&path], keys, keys) {
        let pairs = judgements.pairs();
        assert!(pairs.iter().all(|pair| u64::from(pair.row) < KEYS && u64::from(pair.label) < KEYS));
        assert!(pairs.iter().all(|pair| pair.probability > 0.0 && pair.probability <= 1.0));
    }
    if let Ok(machine) = MachineJudgements::read(&path, keys, keys) {
        assert!(machine.len() <= keys * keys);
    }
}

/// Reads `bytes` as names of labels and as texts: lines, a column of a csv, a field of json lines.
pub fn read_names(bytes: &[u8]) {
    let path = file_of(bytes);
    for ending in ["", ".csv", ".jsonl"] {
        let Some((first, rest)) = bytes.split_first() else { return };
        let named = path.with_extension(ending.trim_start_matches('.'));
        std::fs::write(&named, rest).expect("the folder for temporary files can be written to");
        let column = if ending.is_empty() { String::new() } else { format!(":{}", char::from(b'a' + first % 4)) };
        if let Ok(file) = format!("{}{column}", named.display()).parse::<TextFile>() {
            if let Ok(names) = Names::read(NamesOf::Labels, &file, KEYS as usize) {
                assert!(names.iter().enumerate().all(|(id, name)| names.id_of(name) == Some(id as u32)));
            }
            let _ = Texts::read(NamesOf::Rows, &file, KEYS as usize);
        }
    }
}

/// Reads `bytes` as pairs that may not be predicted.
pub fn read_ignored(bytes: &[u8]) {
    if let Ok(ignored) = IgnoredPairs::read(file_of(bytes), KEYS as usize, KEYS as usize) {
        ignored.check(KEYS as usize, KEYS as usize).expect("what was read fits what it was read for");
    }
}

/// Reads `bytes` as the lines by label that an optimisation leaves.
pub fn read_weighting(bytes: &[u8]) {
    if let Ok(weighting) = Weighting::read(file_of(bytes), KEYS as usize) {
        assert!(weighting.lines().iter().flatten().all(|value| value.is_finite()));
    }
}

/// Reads `bytes` as a plan of pairs to judge: as they are, and as what is inside the compressed file.
pub fn read_plan(bytes: &[u8]) {
    let packed = zstd::encode_all(bytes, 1).expect("bytes in memory can be compressed");
    for bytes in [bytes, &packed] {
        if let Ok(plan) = AnnotationPlan::read(file_of(bytes)) {
            assert!(plan.pairs().iter().all(|pair| pair.probability > 0.0 && pair.probability <= 1.0));
        }
    }
}
