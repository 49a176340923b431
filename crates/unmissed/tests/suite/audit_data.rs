//! Audits of real data: two releases of an ontology, and a survey with a random part.

use crate::common::data;
use std::path::Path;
use unmissed::audit::{Audit, CandidateKind};
use unmissed::data::formats::{ReadOptions, read};
use unmissed::data::{Csr, Dataset, Features, LabelStats, Rate};
use unmissed::report::page;
use unmissed::request::AuditRequest;

fn dataset(path: &Path, format: Option<&str>, positive: Option<f32>) -> Dataset<'static> {
    let options = ReadOptions { format: format.map(|name| name.parse().unwrap()), positive, ..ReadOptions::default() };
    read(path, &options).unwrap().into_dataset(positive).unwrap()
}

/// Labels by how often they came with the features of a row, each feature weighed by how rare it is.
fn by_features(train: &Dataset<'_>, test: &Dataset<'_>) -> Csr<'static, f32> {
    let sparse = |data: &Dataset<'_>| match data.features() {
        Some(Features::Sparse(matrix)) => matrix.clone().into_owned(),
        _ => panic!("sparse features"),
    };
    let (known, asked) = (sparse(train), sparse(test));
    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); known.cols()];
    for row in 0..known.rows() {
        known.row_ids(row).iter().for_each(|feature| rows_of[*feature as usize].push(row));
    }
    let labels = train.labels().cols();
    let mut scores = vec![0f32; labels];
    let rank = |row: usize| {
        let mut touched: Vec<u32> = Vec::new();
        for feature in asked.row_ids(row) {
            let rows = &rows_of[*feature as usize];
            let weight = (1.0 + known.rows() as f32 / (1.0 + rows.len() as f32)).ln() / (1.0 + rows.len() as f32);
            for label in rows.iter().flat_map(|row| train.labels().row_ids(*row)) {
                if scores[*label as usize] == 0.0 {
                    touched.push(*label);
                }
                scores[*label as usize] += weight;
            }
        }
        let mut entries: Vec<(u32, f32)> = touched.iter().map(|label| (*label, scores[*label as usize])).collect();
        touched.iter().for_each(|label| scores[*label as usize] = 0.0);
        entries.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        entries.truncate(5);
        entries
    };
    Csr::from_rows(labels as u64, (0..asked.rows()).map(rank).collect::<Vec<_>>()).unwrap()
}

/// The most frequent labels for everybody.
fn popular(train: &Dataset<'_>, rows: usize) -> Csr<'static, f32> {
    let stats = LabelStats::of(train.labels());
    let mut order: Vec<(u64, u32)> = stats.counts().iter().copied().zip(stats.occurring().iter().copied()).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let top: Vec<(u32, f32)> = order.iter().take(5).map(|(count, label)| (*label, *count as f32)).collect();
    Csr::from_rows(stats.labels(), (0..rows).map(|_| top.clone())).unwrap()
}

/// Propensities of the literature are off by more than forty points on labels that were really missing, and the audit says so.
#[test]
fn two_releases_of_an_ontology_contradict_jpv() {
    let Some(folder) = data("hpo-timelapse") else { return };
    let file = |name: &str| dataset(&folder.join(name), None, None);
    let (train, test, later, truth) =
        (file("train_early.txt"), file("test_early.txt"), file("train_late.txt"), file("test_late.txt"));
    let (by_features, popular) = (by_features(&train, &test), popular(&train, test.rows()));
    let result = Audit::new(&test, &[("by features", &by_features), ("popular", &popular)])
        .unwrap()
        .request(AuditRequest { name: "hpo-timelapse".into(), bootstrap: 0, ..AuditRequest::default() })
        .train(&train)
        .later(&later)
        .truth(&truth)
        .unwrap()
        .run()
        .unwrap();
    let finding = result.findings.iter().find(|f| f.code == "U008" && f.message.starts_with("jpv:a=0.55,b=1.5")).unwrap();
    assert!(finding.message.contains("the later snapshot") && finding.message.contains("z = "), "{}", finding.message);
    let jpv = result.propensities.iter().find(|p| p.name == "jpv:a=0.55,b=1.5").unwrap();
    let against = jpv.against.as_ref().unwrap();
    // 125 624 of 150 639 later labels of the training rows were there before.
    assert!((against.all.observed_share - 125_624.0 / 150_639.0).abs() < 1e-12, "{against:?}");
    assert!(against.all.claimed_share() < 0.4 && against.all.z.unwrap() > 20.0, "{against:?}");
    let standing = |name: &str| result.verdict.standings.iter().find(|s| s.name == name).unwrap();
    let error = |name: &str| standing(name).scores[0].error.unwrap();
    assert!(error("jpv:a=0.55,b=1.5") > 0.3, "{}", error("jpv:a=0.55,b=1.5"));
    assert!(error("timelapse-shrunken").abs() < 0.08, "{}", error("timelapse-shrunken"));
    assert!(standing("complete labels").scores[0].value.unwrap() > standing("observed").scores[0].value.unwrap());
    let page = page::render(&result).unwrap();
    assert!(page.contains("complete labels") && page.contains("Against the later snapshot") && page.len() < 2_000_000);
}

/// With out-of-fold predictions the headline is within a point of what later labels say, without having seen them.
#[test]
fn the_headline_is_near_the_later_truth() {
    let Some(folder) = data("hpo-timelapse") else { return };
    let file = |name: &str| dataset(&folder.join(name), None, None);
    let (train, test, later, truth) =
        (file("train_early.txt"), file("test_early.txt"), file("train_late.txt"), file("test_late.txt"));
    const FOLDS: usize = 10;
    let rows_of = |data: &Dataset<'_>, rows: &[usize]| {
        let Some(Features::Sparse(features)) = data.features() else { panic!("sparse features") };
        Dataset::new(Some(Features::Sparse(features.select_rows(rows))), data.labels().select_rows(rows)).unwrap()
    };
    let mut of_row: Vec<Vec<(u32, f32)>> = vec![Vec::new(); train.rows()];
    for fold in 0..FOLDS {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..train.rows()).partition(|row| row % FOLDS == fold);
        let lists = by_features(&rows_of(&train, &outside), &rows_of(&train, &inside));
        for (place, row) in inside.iter().enumerate() {
            let (ids, scores) = lists.row(place);
            of_row[*row] = ids.iter().copied().zip(scores.iter().copied()).collect();
        }
    }
    let out_of_fold = Csr::from_rows(train.labels().cols() as u64, of_row).unwrap();
    let (mine, popular) = (by_features(&train, &test), popular(&train, test.rows()));
    let popular_of_train = self::popular(&train, train.rows());
    let models = [("by features", &mine), ("popular", &popular)];
    let request = AuditRequest { name: "hpo-timelapse".into(), ..AuditRequest::default() };
    let audit = Audit::new(&test, &models).unwrap().request(request).train(&train).later(&later);
    let result =
        audit.clone().train_predictions("by features", &out_of_fold).train_predictions("popular", &popular_of_train).run().unwrap();
    let known = audit.truth(&truth).unwrap().run().unwrap();
    let complete = known.verdict.standings.last().unwrap().scores[0].value.unwrap();
    let reported = result.verdict.reported.as_ref().unwrap();
    println!("{}\n{}", result.verdict.headline, known.verdict.headline);
    assert_eq!((reported.model.as_str(), reported.basis), ("by features", unmissed::audit::Basis::Omega));
    assert!((reported.value - complete).abs() < 0.01, "{} {complete}", reported.value);
    assert!(result.verdict.headline.starts_with("About 17 % of the relevant labels are missing (measured: the later snapshot"));
    assert!(result.verdict.headline.contains("by features is better than popular by "), "{}", result.verdict.headline);
}

/// With 290 users intervals are wide, and the page says how many more it takes.
#[test]
fn a_small_survey_needs_more_rows() {
    let Some(folder) = data("coat") else { return };
    let file = |name: &str| dataset(&folder.join(name), Some("matrix"), Some(4.0));
    let (chosen, controlled) = (file("train.ascii"), file("test.ascii"));
    // Users stand in the file in an order of their own, so every third is for testing.
    let rows = |is_test: bool| {
        let chosen_rows: Vec<usize> = (0..chosen.rows()).filter(|row| (row % 3 == 0) == is_test).collect();
        Dataset::new(None, chosen.labels().select_rows(&chosen_rows)).unwrap()
    };
    let (train, test) = (rows(false), rows(true));
    let popular = popular(&train, test.rows());
    let rates: Rate = "16/300".parse().unwrap();
    let result = Audit::new(&test, &[("popular", &popular)])
        .unwrap()
        .request(AuditRequest { name: "coat".into(), rate: Some(rates), ..AuditRequest::default() })
        .train(&train)
        .controlled(&controlled)
        .run()
        .unwrap();
    let is_shrunken = |name: &str| name.starts_with("shrunken");
    let estimated = result.propensities.iter().filter(|p| p.kind == CandidateKind::Estimated);
    let shrunken = estimated.clone().find(|p| is_shrunken(&p.name)).unwrap();
    assert!(estimated.clone().any(|p| p.name == "direct"));
    let headline = result.verdict.standings.iter().find(|s| s.is_headline).unwrap();
    assert!(headline.name.starts_with("direct"), "{}", headline.name);
    let score = &result.verdict.standings.iter().find(|s| s.propensity.as_deref() == Some(&shrunken.origin)).unwrap().scores[0];
    assert!(score.high.unwrap() - score.low.unwrap() > 0.1, "{score:?}");
    let direct = result.direct.as_ref().unwrap();
    assert!(direct.without_controlled_positive > 0 && direct.estimated > 100, "{direct:?}");
    let need = result.rows_needed.iter().find(|need| need.rows_of == "controlled").unwrap();
    assert!(need.have == 290 && need.needed.unwrap() > 1000 && need.sentence.contains("more"), "{need:?}");
    assert!(result.rows_needed.iter().any(|need| need.rows_of == "test"), "{:?}", result.rows_needed);
    let page = page::render(&result).unwrap();
    assert!(page.contains("How many rows would settle it") && page.contains("290 controlled rows"));
}
