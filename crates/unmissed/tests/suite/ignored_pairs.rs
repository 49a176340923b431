//! Pairs that may not be predicted: as if predictions had never had them, in every command.

use crate::common::evaluation::Rows;
use unmissed::audit::Audit;
use unmissed::data::{Csr, Dataset, Features, IgnoredPairs, Scores};
use unmissed::evaluate::{Evaluation, Tally};
use unmissed::predict::{Block, Model, Normalize, PredictOptions};
use unmissed::request::{AuditRequest, EvaluateRequest};

const LABELS: usize = 9;

fn ignored(rows: usize) -> IgnoredPairs {
    let pairs = (0..rows).flat_map(|row| [(row, (row * 5 % LABELS) as u32), (row, (row % 4) as u32)]);
    IgnoredPairs::from_pairs(rows, LABELS as u64, pairs).unwrap()
}

/// Scores without the ignored pairs, row by row.
fn by_hand(scores: &Csr<'_, f32>, ignored: &IgnoredPairs) -> Csr<'static, f32> {
    let rows = (0..scores.rows()).map(|row| {
        let (ids, values) = scores.row(row);
        let pairs = ids.iter().copied().zip(values.iter().copied());
        pairs.filter(|(label, _)| !ignored.labels().row_ids(row).contains(label)).collect::<Vec<_>>()
    });
    Scores::from_rows(LABELS as u64, rows).unwrap()
}

#[test]
fn evaluations_see_predictions_without_them() {
    let rows = Rows::random(60, LABELS, 0.7, 0.4, 1);
    let (truth, scores, ignored) = (rows.labels(), rows.scores(), ignored(60));
    let without = by_hand(&scores, &ignored);
    let plain = Evaluation::new(&truth, &[("a", &without)]).unwrap().run().unwrap();
    let evaluation = Evaluation::new(&truth, &[("a", &scores)]).unwrap().ignore(ignored.clone()).unwrap();
    let result = evaluation.run().unwrap();
    assert_eq!(result.rows, plain.rows);
    let shared = (0..60).flat_map(|row| truth.row_ids(row).iter().filter(move |_| true).map(move |label| (row, label)));
    let shared = shared.filter(|(row, label)| ignored.labels().row_ids(*row).contains(label)).count();
    let note = result.notes.iter().find(|note| note.starts_with("ignored")).unwrap();
    assert!(note.contains(&format!("; {shared} of them are observed labels of their rows")), "{note}");
    // From a file, and in shards.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter_labels_test.txt");
    let lines = (0..60).flat_map(|row| ignored.labels().row_ids(row).iter().map(move |label| format!("{row} {label}\n")));
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    let request = EvaluateRequest { ignore: Some(path), ..EvaluateRequest::default() };
    let of_file = Evaluation::new(&truth, &[("a", &scores)]).unwrap().request(request).unwrap();
    let parts = [of_file.tally_rows(0..17).unwrap(), evaluation.tally_rows(17..60).unwrap()];
    assert_eq!(Tally::merge(parts.clone()).unwrap().finish().unwrap(), result);
    // Tallies of other ignored pairs are of another evaluation.
    let other = Evaluation::new(&truth, &[("a", &scores)]).unwrap().tally_rows(17..60).unwrap();
    let error = Tally::merge([parts[0].clone(), other]).unwrap_err().to_string();
    assert!(error.contains("different ignored"), "{error}");
}

#[test]
fn predictions_fill_up_with_what_is_allowed() {
    let weights: Vec<f32> = (0..3 * LABELS).map(|at| ((at * 7 % 11) as f32 - 5.0) / 3.0).collect();
    let bias = (0..LABELS).map(|label| label as f32 / 9.0).collect();
    let model = Model::new(3, Normalize::None, vec![Block { first: 0, bias, weights }]).unwrap();
    let features = Scores::from_rows(3, (0..600u32).map(|row| [(row % 3, 1.0 + row as f32 / 50.0), ((row + 1) % 3, 0.5)])).unwrap();
    let (features, ignored) = (Features::Sparse(features), ignored(600));
    let all = model.predict(&features, &PredictOptions { k: LABELS, ..Default::default() }).unwrap();
    for k in [1, 4, LABELS] {
        let top = model.predict(&features, &PredictOptions { k, ignored: Some(&ignored), ..Default::default() }).unwrap();
        for row in 0..600 {
            let allowed: Vec<u32> =
                all.row_ids(row).iter().copied().filter(|label| !ignored.labels().row_ids(row).contains(label)).take(k).collect();
            assert_eq!(top.row_ids(row), allowed, "row {row}");
        }
    }
    let few = IgnoredPairs::from_pairs(3, LABELS as u64, [(0, 0)]).unwrap();
    let error = model.predict(&features, &PredictOptions { ignored: Some(&few), ..Default::default() }).unwrap_err().to_string();
    assert!(error.contains("expected pairs of 600 rows and 9 labels, found 3 rows"), "{error}");
}

#[test]
fn audits_judge_what_is_left() {
    let rows = Rows::random(80, LABELS, 0.7, 0.4, 1);
    let (test, scores, ignored) = (Dataset::new(None, rows.labels()).unwrap(), rows.scores(), ignored(80));
    let without = by_hand(&scores, &ignored);
    let plain = Audit::new(&test, &[("a", &without)]).unwrap().run().unwrap();
    let result = Audit::new(&test, &[("a", &scores)]).unwrap().ignore(ignored).unwrap().run().unwrap();
    assert_eq!(result.evaluation.rows, plain.evaluation.rows);
    let missing = AuditRequest { ignore: Some("nowhere.txt".into()), ..AuditRequest::default() };
    let error = Audit::new(&test, &[("a", &scores)]).unwrap().request(missing).run().unwrap_err().to_string();
    assert!(error.contains("nowhere.txt"), "{error}");
}
