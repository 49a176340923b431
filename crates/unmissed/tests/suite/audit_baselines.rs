//! Better than nothing, better than before: the popularity ranker, an earlier audit, and gates.

use crate::common::evaluation::Rows;
use unmissed::audit::{Audit, AuditResult, Baseline, MissingSource, ModelRole};
use unmissed::data::{Csr, Dataset, LabelStats, Labels};
use unmissed::evaluate::Evaluation;
use unmissed::metrics::Estimator;
use unmissed::request::{AuditRequest, Gates, KList};

const LABELS: usize = 25;

struct World {
    train: Dataset<'static>,
    test: Dataset<'static>,
    good: Csr<'static, f32>,
    poor: Csr<'static, f32>,
}

fn world() -> World {
    let data = |labels: Labels<'static>| Dataset::new(None, labels).unwrap();
    let (train, test) = (Rows::random(800, LABELS, 0.8, 0.5, 1), Rows::random(600, LABELS, 0.8, 0.5, 7));
    let poor = Rows { scores: Rows::random(600, LABELS, 0.8, 0.05, 7).scores, ..test.clone() }.scores();
    World { train: data(train.labels()), test: data(test.labels()), good: test.scores(), poor }
}

fn request() -> AuditRequest {
    AuditRequest { k: KList::new(&[1, 3]).unwrap(), ..AuditRequest::default() }
}

/// The baseline is what a ranker by training counts scores, and has no part in who is best.
#[test]
fn the_popularity_ranker_is_in_every_audit_with_training_labels() {
    let w = world();
    let audit = Audit::new(&w.test, &[("good", &w.good), ("poor", &w.poor)]).unwrap().request(request());
    let result = audit.clone().train(&w.train).run().unwrap();
    let stats = LabelStats::of(w.train.labels());
    let mut order: Vec<(u64, u32)> = stats.counts().iter().copied().zip(stats.occurring().iter().copied()).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let top: Vec<(u32, f32)> = order.iter().take(3).enumerate().map(|(rank, (_, label))| (*label, -(rank as f32))).collect();
    let popular = Csr::from_rows(LABELS as u64, (0..600).map(|_| top.clone())).unwrap();
    let alone = Evaluation::new(w.test.labels(), &[("popular", &popular)]).unwrap().ks(&[1, 3]).unwrap().run().unwrap();
    for k in [1, 3] {
        let expected = alone.find("precision", k, Estimator::Observed).unwrap().value;
        let is_it = |row: &&unmissed::evaluate::Row| {
            row.model == "popularity" && row.metric == "precision" && row.k == k && row.estimator == Estimator::Observed
        };
        let found = result.evaluation.rows.iter().find(|row| is_it(row) && row.group == "all").unwrap();
        assert_eq!(found.value, expected);
    }
    assert_eq!(result.models(), ["good", "poor"]);
    assert_eq!(
        result.references.iter().map(|one| (one.name.as_str(), one.role)).collect::<Vec<_>>(),
        [("popularity", ModelRole::Popularity)]
    );
    assert_eq!(result.verdict.popularity.len(), 2);
    assert!(result.tallies.unwrap().models.iter().all(|model| model.name != "popularity"));
    // Without training labels there is nothing to count; a name that is taken is not taken twice.
    assert!(audit.run().unwrap().references.is_empty());
    let named = Audit::new(&w.test, &[("popularity", &w.good)]).unwrap().request(request()).train(&w.train).run().unwrap();
    assert_eq!(named.references[0].name, "popularity baseline");
}

fn audited(w: &World, scores: &Csr<'static, f32>, baseline: Option<&Baseline>, gates: Gates) -> unmissed::Result<AuditResult> {
    let audit = Audit::new(&w.test, &[("mine", scores)])?.request(AuditRequest { gates, ..request() }).train(&w.train);
    match baseline {
        Some(baseline) => audit.baseline(baseline).run(),
        None => audit.run(),
    }
}

#[test]
fn an_earlier_audit_is_compared_row_by_row() {
    let w = world();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("before.json");
    let audit = Audit::new(&w.test, &[("mine", &w.good), ("other", &w.poor)]).unwrap().request(request()).train(&w.train);
    let mut result = audit.run().unwrap();
    let written = audit.write_json(&mut result, &path).unwrap();
    assert_eq!(written, [path.clone(), folder.path().join("before.json.rows.npz")]);
    let baseline = Baseline::read(&path).unwrap();

    // The same predictions score the same; others differ as the two models differ within one audit.
    let same = audited(&w, &w.good, Some(&baseline), Gates::default()).unwrap();
    assert!(
        same.verdict.headline.contains("mine scores the same on every row as in the earlier audit."),
        "{}",
        same.verdict.headline
    );
    let worse = audited(&w, &w.poor, Some(&baseline), Gates::default()).unwrap();
    let lead = &worse.verdict.earlier[0].lead;
    let here = &result.verdict.standings[0].ranking.as_ref().unwrap().leads[0];
    assert_eq!((-lead.difference, lead.low, lead.high), (here.difference, here.high.map(|x| -x), here.low.map(|x| -x)));
    assert!(worse.verdict.headline.contains("mine is worse than in the earlier audit by "), "{}", worse.verdict.headline);

    // Other rows, deeper lists, other files.
    let fewer = Dataset::new(None, w.test.labels().select_rows(&(0..599).collect::<Vec<_>>())).unwrap();
    let scores = w.good.select_rows(&(0..599).collect::<Vec<_>>());
    let error = Audit::new(&fewer, &[("mine", &scores)]).unwrap().request(request()).baseline(&baseline).run().unwrap_err();
    assert!(error.to_string().contains("has other test rows"), "{error}");
    let deeper = AuditRequest { k: KList::new(&[1, 5]).unwrap(), ..request() };
    let error = Audit::new(&w.test, &[("mine", &w.good)]).unwrap().request(deeper).baseline(&baseline).run().unwrap_err();
    assert!(error.to_string().contains("too short for this k"), "{error}");
    let text = std::fs::read_to_string(&path).unwrap();
    for (broken, words) in [
        ("{}".to_owned(), "not an audit to compare with"),
        (text.replace("\"depth\":3", "\"depth\":\"x\""), "not an audit to compare with"),
        (text.replace("\"models\":[\"mine\",\"other\"]", "\"models\":[\"mine\"]"), "not the top lists of the audit"),
    ] {
        std::fs::write(&path, broken).unwrap();
        let error = Baseline::read(&path).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let mut changed: serde_json::Value = serde_json::from_str(&text).unwrap();
    changed["top_lists"]["blake3"] = "0".into();
    std::fs::write(&path, changed.to_string()).unwrap();
    assert!(Baseline::read(&path).unwrap_err().to_string().contains("not the top lists of the audit"));
}

/// Gates look at what was passed or measured; the page and the result say what came of them.
#[test]
fn gates_look_at_what_was_passed_or_measured() {
    let w = world();
    let below = |gate: &str| Gates { fail_below: vec![gate.parse().unwrap()], ..Gates::default() };
    let gate = |gates: Gates, propensities: Option<Vec<&str>>| {
        let models = propensities.map(|texts| texts.iter().map(|text| text.parse().unwrap()).collect());
        let audit = Audit::new(&w.test, &[("mine", &w.good)]).unwrap().train(&w.train);
        let result = audit.request(AuditRequest { gates, propensities: models, ..request() }).run().unwrap();
        let page = unmissed::report::page::render(&result).unwrap();
        assert!(page.contains(if result.gates[0].failed { "failed" } else { "passed" }));
        result.gates.into_iter().next().unwrap()
    };
    let reached = gate(below("precision@1=0.01"), None);
    assert!(!reached.failed && reached.gate == "--fail-below precision@1=0.01", "{reached:?}");
    assert!(gate(below("precision@3:observed=0.999"), None).failed);
    // The curve that the audit added is no way to pass, nor a reason to fail.
    let added = gate(below("precision@1:unbiased=0.01"), None);
    assert_eq!((added.failed, added.found.as_str()), (true, "the audit has no such number (for what was passed or measured)"));
    assert!(!gate(below("precision@1:unbiased=0.01"), Some(vec!["jpv"])).failed);
    let on = |what: &str| Gates { fail_on: vec![what.into()], ..Gates::default() };
    assert!(!gate(on("U002"), None).failed);
    assert_eq!(gate(on("u002"), Some(vec!["jpv"])).found, "finding U002 was raised");
    assert!(gate(on("warning"), Some(vec!["jpv"])).failed);
    for (gates, words) in [
        (on("U02"), "unknown finding 'U02'"),
        (Gates { fail_if_worse: true, ..Gates::default() }, "there is no baseline"),
        (below("precision@9=0.1"), "a k that the audit does not compute"),
    ] {
        let error = audited(&w, &w.good, None, gates).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!("abandonment@1=0.5".parse::<unmissed::request::ScoreGate>().is_err());
}

/// Nothing is missing from a file without evidence but what can be known.
#[test]
fn what_is_missing_is_said_with_its_source() {
    let w = world();
    let audit = Audit::new(&w.test, &[("mine", &w.good)]).unwrap().request(request());
    let missing = |audit: Audit<'_>| audit.run().unwrap().verdict.missing;
    let bare = missing(audit.clone());
    assert_eq!(
        (bare.source, bare.sentence.as_str()),
        (MissingSource::Unknown, "These files do not show how many relevant labels are missing.")
    );
    let assumed = missing(audit.clone().train(&w.train));
    assert_eq!(assumed.source, MissingSource::Assumed);
    assert!(
        assumed.sentence.starts_with("These files do not show how many relevant labels are missing (jpv:a=0.55,b=1.5, the usual")
    );
    let half = AuditRequest { propensities: Some(vec!["constant:p=0.5".parse().unwrap()]), ..request() };
    let given = missing(audit.clone().train(&w.train).request(half));
    assert_eq!(
        given.sentence,
        "If constant:p=0.5 were right, about 50 % of the relevant labels would be missing (assumed: nothing in these files measures it)."
    );
    // Every second label is kept.
    let labels = w.test.labels();
    let rows = (0..labels.rows()).map(|row| labels.row_ids(row).iter().copied().filter(|label| label % 2 == 0).collect::<Vec<_>>());
    let observed = Dataset::new(None, Labels::from_ids(LABELS as u64, rows).unwrap()).unwrap();
    let measured = missing(Audit::new(&observed, &[("mine", &w.good)]).unwrap().request(request()).truth(&w.test).unwrap());
    let share = 1.0 - observed.labels().nnz() as f64 / labels.nnz() as f64;
    assert_eq!((measured.source, measured.share), (MissingSource::Measured, Some(share)));
    let words = format!(
        "About {:.0} % of the relevant labels are missing (measured: the complete labels of the test rows).",
        100.0 * share
    );
    assert_eq!(measured.sentence, words);
    // Propensities of 1 give the observed scores, which are not shown twice.
    let ones = AuditRequest { propensities: Some(vec!["constant:p=1".parse().unwrap()]), ..request() };
    let result = audit.train(&w.train).request(ones).run().unwrap();
    assert_eq!(result.verdict.standings.iter().map(|standing| standing.name.as_str()).collect::<Vec<_>>(), ["observed"]);
    assert!(
        result.left_out.iter().any(|note| note == "constant:p=1: propensities of 1 give the observed scores"),
        "{:?}",
        result.left_out
    );
}
