//! Inputs that do not belong together are noticed, and inputs that do are not suspected.

use unmissed::data::{Csr, Dataset, Features, Labels, Rate};
use unmissed::evaluate::{Evaluation, Finding};

const LABELS: u32 = 60;

/// A number that looks random, by row and place.
fn noise(row: u32, place: u32) -> u32 {
    let mut z =
        u64::from(row).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(place).wrapping_mul(0xD1B5_4A32_D192_ED03));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 33) as u32
}

/// Labels of a row: some, frequent ones more often.
fn labels_of(row: u32) -> Vec<u32> {
    let mut labels: Vec<u32> =
        (0..3).map(|place| noise(row, place) % LABELS * (noise(row, place + 10) % LABELS) / LABELS).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn truth(rows: u32) -> Labels<'static> {
    Labels::from_ids(LABELS.into(), (0..rows).map(labels_of)).unwrap()
}

/// Five labels of a row: two thirds of its own, the rest frequent ones; scores fall.
fn list_of(row: u32) -> Vec<u32> {
    let own = labels_of(row).into_iter().filter(|label| !noise(row, 100 + label).is_multiple_of(3));
    let mut list: Vec<u32> = own.collect();
    for place in 0.. {
        let label = noise(row, 200 + place) % LABELS * (noise(row, 300 + place) % LABELS) / LABELS;
        if !list.contains(&label) {
            list.push(label);
        }
        if list.len() >= 5 {
            list.truncate(5);
            return list;
        }
    }
    list
}

fn scored(list: Vec<u32>) -> Vec<(u32, f32)> {
    (0u8..).zip(list).map(|(rank, label)| (label, 1.0 - 0.1 * f32::from(rank))).collect()
}

fn predictions(rows: impl Iterator<Item = u32>) -> Csr<'static, f32> {
    Csr::from_rows(LABELS.into(), rows.map(|row| scored(list_of(row)))).unwrap()
}

fn findings(truth: &Labels<'_>, scores: &Csr<'_, f32>) -> Vec<Finding> {
    let evaluation = Evaluation::new(truth, &[("mine", scores)]).unwrap().metrics(&["precision"]).unwrap();
    let about_data = |finding: &Finding| finding.code.as_str() >= "U016";
    evaluation.run().unwrap().findings.into_iter().filter(about_data).collect()
}

fn only(truth: &Labels<'_>, scores: &Csr<'_, f32>) -> (String, String) {
    match &findings(truth, scores)[..] {
        [finding] => (finding.code.clone(), finding.message.clone()),
        other => panic!("one finding expected, found {other:?}"),
    }
}

#[test]
fn aligned_files_raise_nothing_whatever_the_model() {
    for rows in [3, 20, 60, 200, 1000, 9000] {
        let truth = truth(rows);
        assert!(findings(&truth, &predictions(0..rows)).is_empty(), "a good model of {rows} rows");
        let constant = Csr::from_rows(LABELS.into(), (0..rows).map(|_| scored(vec![0, 1, 2, 3, 4]))).unwrap();
        assert!(findings(&truth, &constant).is_empty(), "the frequent labels for {rows} rows");
        let wrong = Csr::from_rows(LABELS.into(), (0..rows).map(|_| scored(vec![59, 58, 57, 56, 55]))).unwrap();
        assert!(findings(&truth, &wrong).is_empty(), "rare labels for {rows} rows");
        let random = (0..rows).map(|row| (0..LABELS).map(move |label| (label, noise(row, 900 + label) as f32)).collect::<Vec<_>>());
        let random = Csr::from_rows(LABELS.into(), random).unwrap();
        assert!(findings(&truth, &random).is_empty(), "random scores for {rows} rows");
    }
}

#[test]
fn ids_that_are_off_by_one() {
    let rows = 500;
    let (truth, own) = (truth(rows), predictions(0..rows));
    let moved = |by: u32| {
        let row =
            |row| own.row(row as usize).0.iter().zip(own.row(row as usize).1).map(move |(id, score)| ((id + by) % LABELS, *score));
        Csr::from_rows(LABELS.into(), (0..rows).map(row)).unwrap()
    };
    let (code, message) = only(&truth, &moved(1));
    assert_eq!(code, "U016");
    assert!(
        message.starts_with("if every label of mine were one smaller, ")
            && message.ends_with("its ids are probably counted from 1"),
        "{message}"
    );
    let (code, message) = only(&truth, &moved(LABELS - 1));
    assert!(code == "U016" && message.contains("one larger"), "{message}");
}

#[test]
fn rows_in_another_order() {
    let rows = 500;
    let truth = truth(rows);
    let (code, message) = only(&truth, &predictions((0..rows).map(|row| row * 7 % rows)));
    assert!(code == "U017" && message.contains("although the lists differ from row to row"), "{message}");
    let (code, message) = only(&truth, &predictions((0..rows).map(|row| (row + 1) % rows)));
    assert!(code == "U017" && message.contains("are labels of the row after it"), "{message}");
    let (code, message) = only(&truth, &predictions((0..rows).map(|row| (row + rows - 1) % rows)));
    assert!(code == "U017" && message.contains("are labels of the row before it"), "{message}");
}

#[test]
fn scores_that_are_the_wrong_way_up() {
    let rows = 500;
    let (truth, own) = (truth(rows), predictions(0..rows));
    let turned: Vec<f32> = own.values().iter().map(|score| 1.0 - score).collect();
    let turned = unmissed::data::Scores::new(LABELS.into(), own.offsets().to_vec(), own.ids().to_vec(), turned).unwrap();
    let (code, message) = only(&truth, &turned);
    assert!(code == "U023" && message.starts_with("the label with the lowest score of mine is observed in "), "{message}");
    // Scores for all labels, as probabilities of the complement.
    let dense = (0..rows).map(|row| {
        let own = labels_of(row);
        (0..LABELS)
            .map(move |label| (label, if own.contains(&label) { 0.1 } else { 0.9 + 0.0001 * label as f32 }))
            .collect::<Vec<_>>()
    });
    let (code, _) = only(&truth, &Csr::from_rows(LABELS.into(), dense).unwrap());
    assert_eq!(code, "U023");
}

#[test]
fn k_beyond_what_is_stored() {
    let rows = 100;
    let short = Csr::from_rows(LABELS.into(), (0..rows).map(|row| scored(list_of(row).into_iter().take(3).collect()))).unwrap();
    let (code, message) = only(&truth(rows), &short);
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("U020", "mine has at most 3 predictions per row, and k goes up to 5: empty places count as misses")
    );
}

#[test]
fn labels_in_the_place_of_predictions() {
    let rows = 100;
    let lists = Labels::from_ids(LABELS.into(), (0..rows).map(list_of)).unwrap();
    let labels = Csr::from_rows(
        LABELS.into(),
        (0..rows).map(|row| labels_of(row).into_iter().map(|label| (label, 1.0)).collect::<Vec<_>>()),
    );
    let found = findings(&lists, &labels.unwrap());
    assert!(
        found.iter().any(|finding| finding.code == "U021" && finding.message.contains("every row has exactly 5 labels")),
        "{found:?}"
    );
}

#[test]
fn snapshots_that_are_swapped() {
    use unmissed::propensity::rows::MatchedRows;
    let rows = 300;
    let later = truth(rows);
    let early = Labels::from_ids(
        LABELS.into(),
        (0..rows)
            .map(|row| labels_of(row).into_iter().filter(|label| !noise(row, 50 + label).is_multiple_of(4)).collect::<Vec<_>>()),
    )
    .unwrap();
    let (test, scores) = (truth(rows), predictions(0..rows));
    let codes = |train, later| {
        let matched = MatchedRows::new(train, later).unwrap();
        let evaluation =
            Evaluation::new(&test, &[("mine", &scores)]).unwrap().metrics(&["precision"]).unwrap().matched(matched).unwrap();
        evaluation.run().unwrap().findings.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert!(!codes(&early, &later).contains(&"U018".to_owned()));
    assert!(codes(&later, &early).contains(&"U018".to_owned()));
}

#[test]
fn a_rate_that_cannot_be() {
    let rows = 400;
    let (truth, scores) = (truth(rows), predictions(0..rows));
    let codes = |rate: f64| {
        let evaluation = Evaluation::new(&truth, &[("mine", &scores)]).unwrap().metrics(&["precision"]).unwrap();
        let found = evaluation.rate(Rate::Common(rate)).unwrap().run().unwrap().findings;
        found.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert!(!codes(0.5).contains(&"U022".to_owned()));
    assert!(codes(0.01).contains(&"U022".to_owned()));
}

#[test]
fn test_rows_that_were_trained_on() {
    use unmissed::evaluate::misalignment::test_in_training;
    let data = |rows: &[u32]| {
        let features = Csr::from_rows(1000, rows.iter().map(|row| [(row % 1000, 1.0f32 + (row / 1000) as f32)])).unwrap();
        let labels = Labels::from_ids(LABELS.into(), rows.iter().map(|row| labels_of(*row))).unwrap();
        Dataset::new(Some(Features::Sparse(features)), labels).unwrap()
    };
    let train = data(&(0..300).collect::<Vec<_>>());
    assert!(test_in_training(&train, &data(&(300..400).collect::<Vec<_>>())).is_none());
    let mixed = test_in_training(&train, &data(&(200..350).map(|row| (row * 7) % 250 + 100).collect::<Vec<_>>())).unwrap();
    assert!(
        mixed.code == "U019" && mixed.message.contains("are training rows, with the same features and labels"),
        "{}",
        mixed.message
    );
    let end = test_in_training(&train, &data(&(200..300).collect::<Vec<_>>())).unwrap();
    assert_eq!(end.message, "all 100 test rows have the labels of the training rows 200 to 299, in the same order");
}

/// Findings are about the whole data, so shards have the same, and merging keeps them once.
#[test]
fn shards_find_what_the_whole_finds() {
    let rows = 500;
    let (truth, shuffled) = (truth(rows), predictions((0..rows).map(|row| row * 7 % rows)));
    let evaluation = |shard| Evaluation::new(&truth, &[("mine", &shuffled)]).unwrap().shard(shard, 2).unwrap();
    let merged = unmissed::evaluate::Tally::merge([evaluation(2).tally().unwrap(), evaluation(1).tally().unwrap()]).unwrap();
    let whole = Evaluation::new(&truth, &[("mine", &shuffled)]).unwrap().run().unwrap();
    assert_eq!(merged.finish().unwrap(), whole);
}
