//! What every target does: read arbitrary bytes as a file of some kind. Anything but a panic is fine.

pub mod pages;
pub mod requests;
pub mod runs;
pub mod seal;
pub mod tables;

use std::path::{Path, PathBuf};
use unmissed::data::formats::{Expected, ReadOptions, read_source};
use unmissed::data::{Csr, Features, LabelStats, Rate, Source};
use unmissed::evaluate::Tally;
use unmissed::predict::{PredictOptions, TreeSearch, file};
use unmissed::propensity::dag::Dag;
use unmissed::propensity::estimators::PropensityEstimatorSpec;
use unmissed::propensity::models::PropensitySpec;
use unmissed::propensity::rows::{Pair, RowModel, read_columns};
use unmissed::propensity::table_file;

/// How many labels or rows small files are read for.
const KEYS: u64 = 5;

/// Reads `bytes` in the format called `format`, or in the one that is recognised.
pub fn read(format: Option<&str>, bytes: &[u8]) {
    let format: Option<unmissed::spec::Spec> = format.map(|name| name.parse().expect("a valid spec"));
    // As it is, and as predictions for some rows and labels, which formats without a header need.
    let expected = Expected { rows: 3, labels: KEYS as usize, label_names: None, row_names: None };
    for expected in [None, Some(expected)] {
        let options = ReadOptions { format: format.clone(), expected, ..ReadOptions::default() };
        if let Ok(source) = Source::of_bytes("input", bytes.to_vec())
            && let Ok(content) = read_source(source, &options)
        {
            let _ = content.into_dataset(Some(4.0));
        }
    }
}

/// Reads `bytes` as a model, as they are and with a checksum that fits, and looks at every weight of what comes out.
pub fn read_model(bytes: &[u8]) {
    for bytes in [Some(bytes.to_vec()), seal::model(bytes)].into_iter().flatten() {
        if let Ok(source) = Source::of_bytes("input", bytes)
            && let Ok((model, _)) = file::read_source(source)
        {
            let _ = model.summary();
            if let Some(rows) = rows_for(model.features(), model.labels()) {
                let _ = model.predict(&rows, &PredictOptions::default());
            }
        }
    }
}

/// Reads `bytes` as a model on trees, as they are and with checksums that fit, and looks at what comes out.
pub fn read_tree_model(bytes: &[u8]) {
    for bytes in [Some(bytes.to_vec()), seal::model(bytes)].into_iter().flatten() {
        if let Ok(source) = Source::of_bytes("input", bytes)
            && let Ok((model, _)) = file::read_tree_source(source)
        {
            let _ = model.summary();
            let _ = model.verify();
            if let Some(rows) = rows_for(model.features(), model.labels()) {
                let _ = model.predict(&rows, &PredictOptions::default(), TreeSearch::default());
            }
        }
    }
}

/// Two rows to predict for, one of them empty, unless the model is large.
fn rows_for(features: usize, labels: usize) -> Option<Features<'static>> {
    let last = features.checked_sub(1).filter(|last| *last < 1000 && labels < 1000)? as u32;
    let row = [(0, 1.5f32), (last, -0.5)];
    let first_row = if last == 0 { &row[..1] } else { &row };
    Csr::from_rows(features as u64, [first_row.to_vec(), Vec::new()]).ok().map(Features::Sparse)
}

/// Reads `bytes` as a hierarchy of labels.
pub fn read_tree(bytes: &[u8]) {
    let path = file_of(bytes);
    if let Ok(tree) = unmissed::tree::given::read(&path, KEYS as usize) {
        assert!((0..KEYS as u32).all(|label| !tree.path(label).is_empty()));
    }
    let _ = std::fs::remove_file(path);
}

/// Reads `bytes` as a tally, as they are and with a checksum that fits, and finishes what comes out.
pub fn read_tally(bytes: &[u8]) {
    for bytes in [Some(bytes.to_vec()), seal::tally(bytes)].into_iter().flatten() {
        if let Ok(tally) = Tally::from_bytes(&bytes) {
            let _ = tally.finish();
            let again = tally.to_bytes().expect("what was read can be written");
            Tally::from_bytes(&again).expect("what was written can be read");
        }
    }
}

/// A file of this process that holds `bytes`, for readers that take a name.
fn file_of(bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("unmissed-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("the folder for temporary files can be written to");
    path
}

/// Reads `bytes` as a row-dependent propensity model, and asks it for the propensity of some pairs.
pub fn read_row_model(bytes: &[u8]) {
    let Ok(model) = RowModel::read(file_of(bytes)) else { return };
    let mut propensities = Vec::new();
    for label in [0, 1, u32::MAX] {
        let pair = Pair { label, other_labels: 1, place: None, given: &[0.5] };
        model.at(&pair, &mut propensities);
        assert!(propensities.iter().all(|p| (0.0..=1.0).contains(p)), "{propensities:?}");
    }
    let _ = (model.coefficients(), model.unfinished(), model.dependence(0), model.dependence(9), model.calibration().outside());
    let _ = serde_json::to_string(&model).expect("what was read can be written");
}

/// Reads `bytes` as a table of propensities: for data with so many labels, and for any.
pub fn read_propensity_table(bytes: &[u8]) {
    let path = file_of(bytes);
    for labels in [Some(KEYS), None] {
        if let Ok(propensities) = table_file::read(&path, labels) {
            assert!(propensities.values().iter().all(|p| *p > 0.0 && *p <= 1.0));
        }
    }
}

/// Reads `bytes` as a csv `label,rate`.
pub fn read_rates(bytes: &[u8]) {
    if let Ok(rate) = Rate::read(&name(&file_of(bytes)), KEYS) {
        rate.check(KEYS).expect("rates that were read are in range");
    }
}

/// Reads `bytes` as a csv of texts by label or row: groups, weights, numbers of labels, probabilities.
pub fn read_keyed_csv(bytes: &[u8]) {
    let path = file_of(bytes);
    for (key, value) in [("label", "group"), ("label", "weight"), ("row", "count"), ("row", "probability")] {
        if let Ok(cells) = unmissed::data::read_keyed_csv(&path, key, value, KEYS) {
            assert!(cells.iter().all(|cell| u64::from(cell.key) < KEYS));
        }
    }
}

/// Reads `bytes` as a csv of given covariates, of labels and of rows.
pub fn read_covariates(bytes: &[u8]) {
    let path = file_of(bytes);
    for key in ["label", "row"] {
        if let Ok(columns) = read_columns(&path, key, KEYS as usize) {
            assert!(columns.iter().all(|(_, values)| values.iter().all(|value| value.is_finite())));
        }
    }
}

/// Reads `bytes` as a hierarchy of labels.
pub fn read_pairs(bytes: &[u8]) {
    if let Ok(dag) = Dag::read(file_of(bytes), KEYS as usize) {
        assert!((0..KEYS as u32).all(|label| !dag.has_more_descendants(label, u64::MAX)));
    }
}

/// Reads `bytes` as the spec of a propensity model and as that of an estimator; what is read must be written back as it was.
pub fn parse_propensity_spec(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(spec) = text.parse::<PropensitySpec>() {
        assert_eq!(spec.to_string().parse::<PropensitySpec>().expect("a canonical spec"), spec);
        let counts = LabelStats::from_counts(9, &[0, 1, 9]).expect("counts of at most 9");
        // Files are not looked at: any name is fine.
        if spec.curve().is_some() {
            let _ = spec.propensities(&counts);
        }
    }
    if let Ok(spec) = text.parse::<PropensityEstimatorSpec>() {
        let json = serde_json::to_string(&spec).expect("a spec can be written");
        assert_eq!(serde_json::from_str::<PropensityEstimatorSpec>(&json).expect("and read"), spec);
    }
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
