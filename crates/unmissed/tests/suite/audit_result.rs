//! What an audit finds: the same numbers as the evaluation, whatever is missing, on any number of threads.

use crate::common::evaluation::Rows;
use unmissed::audit::{Audit, AuditResult, demo};
use unmissed::data::{Csr, Dataset, Labels, Rate, mask};
use unmissed::metrics::Estimator;
use unmissed::propensity::Propensities;
use unmissed::report::page;
use unmissed::request::{AuditRequest, Gates};

const LABELS: usize = 30;

/// Train, test and truth with labels missing at random, rare ones more often.
struct World {
    train: Dataset<'static>,
    train_clean: Dataset<'static>,
    test: Dataset<'static>,
    truth: Dataset<'static>,
    good: Csr<'static, f32>,
    poor: Csr<'static, f32>,
    p: Vec<f64>,
}

/// Without bootstrap.
fn quick() -> AuditRequest {
    AuditRequest { bootstrap: 0, ..AuditRequest::default() }
}

/// With the curves that the literature has.
fn with_curves() -> AuditRequest {
    AuditRequest { propensities: Some(vec!["jpv".parse().unwrap(), "power".parse().unwrap()]), ..quick() }
}

fn world() -> World {
    let p: Vec<f64> = (0..LABELS).map(|j| 0.95 / (1.0 + j as f64).powf(0.4)).collect();
    let (train, test) = (Rows::random(3000, LABELS, 0.8, 0.5, 1), Rows::random(2000, LABELS, 0.8, 0.5, 7));
    let data = |labels: Labels<'static>| Dataset::new(None, labels).unwrap();
    World {
        train: data(train.masked(&p, 3).labels()),
        train_clean: data(train.labels()),
        test: data(test.masked(&p, 5).labels()),
        truth: data(test.labels()),
        good: test.scores(),
        poor: Rows { scores: Rows::random(2000, LABELS, 0.8, 0.05, 7).scores, ..test }.scores(),
        p,
    }
}

fn value(result: &AuditResult, lane: &str, model: &str, k: usize) -> f64 {
    let rows = result.evaluation.rows.iter();
    let here = |row: &&unmissed::evaluate::Row| {
        row.metric == "precision" && row.k == k && row.group == "all" && row.estimator == Estimator::Unbiased && row.model == model
    };
    rows.filter(here).find(|row| row.propensity.as_deref().unwrap().starts_with(lane)).unwrap().value.unwrap()
}

#[test]
fn tallies_give_the_scores_of_the_evaluation_under_any_curve() {
    let w = world();
    let result =
        Audit::new(&w.test, &[("good", &w.good), ("poor", &w.poor)]).unwrap().request(with_curves()).train(&w.train).run().unwrap();
    let (hits, sample) = (result.tallies.as_ref().unwrap(), result.sample.unwrap());
    let jpv = |count: u64| 1.0 + (sample.rows.ln() - 1.0) * (2.5 / (count as f64 + 1.5)).powf(0.55);
    let power = |count: u64| sample.largest / count as f64;
    for (place, model) in ["good", "poor"].into_iter().enumerate() {
        for k in [1, 3, 5] {
            for (lane, found) in [("jpv", hits.unbiased(place, k, jpv)), ("power", hits.unbiased(place, k, power))] {
                let expected = value(&result, lane, model, k);
                assert!((found / expected - 1.0).abs() < 1e-12, "{lane} {model}@{k}: {found} {expected}");
            }
        }
    }
    // The map at a cell: a = 0.5 and b = 2.5 are on its grid.
    let map = result.order_map.as_ref().unwrap();
    let [column, row] =
        [map.a.iter().position(|a| (a - 0.5).abs() < 1e-12), map.b.iter().position(|b| *b == 2.5)].map(Option::unwrap);
    let at = |count: u64| 1.0 + (sample.rows.ln() - 1.0) * (3.5 / (count as f64 + 2.5)).powf(0.5);
    let expected = hits.unbiased(0, 1, at) - hits.unbiased(1, 1, at);
    assert_eq!((map.first.as_str(), map.k), ("good", 1));
    assert!((map.difference[row * map.a.len() + column] - expected).abs() < 1e-12);
}

#[test]
fn evidence_contradicts_the_wrong_models_and_spares_the_right_one() {
    let w = world();
    let right = Propensities::new("right", w.p.clone()).unwrap();
    let rated = AuditRequest { rate: Some(Rate::Common(0.4)), ..with_curves() };
    let controlled =
        Dataset::new(None, mask(&Rows::random(1500, LABELS, 0.8, 0.5, 11).labels(), &[0.4; LABELS], 2).unwrap()).unwrap();
    let base = Audit::new(&w.test, &[("good", &w.good)]).unwrap().train(&w.train).truth(&w.truth).unwrap().propensity(right);
    let by_controlled = base.clone().request(rated.clone()).controlled(&controlled).run().unwrap();
    for (result, estimate) in [
        (base.clone().request(with_curves()).later(&w.train_clean).run().unwrap(), "timelapse-shrunken"),
        (by_controlled.clone(), "direct"),
        (by_controlled, "shrunken"),
    ] {
        let contradicted: Vec<&str> =
            result.findings.iter().filter(|f| f.code == "U008").map(|f| f.message.split(' ').next().unwrap()).collect();
        assert_eq!(contradicted, ["jpv:a=0.55,b=1.5", "power:relative,gamma=1"], "{:#?}", result.findings);
        let message = &result.findings.iter().find(|f| f.code == "U008").unwrap().message;
        assert!(message.contains("z = ") && message.contains("of the relevant labels are observed"), "{message}");
        // The estimate from the evidence, and the right propensities, bring the complete labels' score back.
        let truth = result.verdict.standings.last().unwrap().scores[0].value.unwrap();
        for lane in ["right", estimate] {
            assert!((value(&result, lane, "good", 1) - truth).abs() < 0.06, "{lane}: {} {truth}", value(&result, lane, "good", 1));
        }
        assert!(value(&result, "power", "good", 1) - truth > 0.2);
    }
    assert!(base.clone().request(rated).later(&w.train_clean).controlled(&controlled).run().is_err());
    let error = base.request(quick()).controlled(&controlled).run().unwrap_err();
    assert!(error.to_string().contains("without the rate"), "{error}");
}

#[test]
fn threads_do_not_matter() {
    let w = world();
    let request = AuditRequest { bootstrap: 20, seed: 3, ..AuditRequest::default() };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let audit = Audit::new(&w.test, &[("good", &w.good), ("poor", &w.poor)]).unwrap().train(&w.train).later(&w.train_clean);
        pool.install(|| page::render(&audit.truth(&w.truth).unwrap().request(request.clone()).run().unwrap()).unwrap())
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn what_is_missing_makes_a_shorter_page() {
    let w = world();
    let ids = |page: &str| {
        let sections = ["verdict", "data", "propensities", "scores", "explorer", "tail", "assumptions", "repeat"];
        sections.into_iter().filter(|id| page.contains(&format!("<section id=\"{id}\""))).collect::<Vec<_>>()
    };
    let bare = Audit::new(&w.test, &[("good", &w.good)]).unwrap().request(quick());
    let page = page::render(&bare.run().unwrap()).unwrap();
    assert_eq!(ids(&page), ["verdict", "data", "scores", "assumptions", "repeat"]);
    assert!(page.contains("These files do not show"));
    let trained = page::render(&bare.clone().train(&w.train).run().unwrap()).unwrap();
    assert_eq!(ids(&trained).len(), 8);
    assert!(trained.len() > page.len() && !trained.contains("figure-order"), "one model has no order");
    let none = bare.clone().train(&w.train).request(AuditRequest { propensities: Some(Vec::new()), ..quick() }).run().unwrap();
    assert!(!page::render(&none).unwrap().contains("<section id=\"propensities\""));
    // A controlled test set has its own rate; propensity models do not apply.
    let shown = Rate::Shown { shown: 20, of: LABELS as u32 };
    let rated = bare.clone().train(&w.train).request(AuditRequest { rate: Some(shown), ..quick() }).run().unwrap();
    assert!(page::render(&rated).unwrap().contains("rate:20/30"));
    assert!(bare.later(&w.train_clean).run().unwrap_err().to_string().contains("training labels"));
    // Nothing observed in training.
    let empty = Dataset::new(None, Labels::from_ids(LABELS as u64, vec![Vec::<u32>::new(); 10]).unwrap()).unwrap();
    let result = Audit::new(&w.test, &[("good", &w.good)]).unwrap().train(&empty).request(quick()).run();
    assert!(result.is_ok() || result.unwrap_err().to_string().contains("label"));
}

#[test]
fn hostile_names_stay_names() {
    let w = world();
    let evil = "<script>alert(1)</script>";
    let tricky = "\"quoted\" & 'single' \u{202e}gnp.exe 漢字 </style>";
    let result = Audit::new(&w.test, &[(evil, &w.good), (tricky, &w.poor)])
        .unwrap()
        .request(AuditRequest { name: "=cmd()<img src=x onerror=alert(2)>".into(), ..quick() })
        .train(&w.train)
        .source("unmissed audit --name '<b>'", Vec::new())
        .run()
        .unwrap();
    let page = page::render(&result).unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the page's own data and script");
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(!page.contains("<img") && !page.contains("<b>'") && !page.contains('\u{202e}'));
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62;") || page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("漢字"));
    for figure in unmissed::report::figures::figures(&result) {
        let svg = figure.svg().unwrap();
        assert!(!svg.contains("<script>"), "{}", figure.id);
    }
}

/// How bad a verdict is follows from the scores, whatever models are called.
#[test]
fn names_do_not_change_the_severity() {
    let w = world();
    let long = "n".repeat(5000);
    let severity = |names: [&str; 2]| {
        let audit = Audit::new(&w.test, &[(names[0], &w.good), (names[1], &w.poor)]).unwrap();
        let request = AuditRequest { propensities: Some(Vec::new()), ..quick() };
        let verdict = audit.request(request).train(&w.train).truth(&w.truth).unwrap().run().unwrap().verdict;
        let better = format!("On complete labels {} is better than {} by ", names[0], names[1]);
        assert!(verdict.headline.contains(&better), "{}", verdict.headline);
        verdict.severity
    };
    let plain = severity(["good", "poor"]);
    // The poor one is not better than the popularity ranker.
    assert_eq!(plain, unmissed::evaluate::Severity::Warning);
    for names in [["a;b", "a: b"], ["<x>", "a;b"], ["; but", "(;)"], [&long, ";"]] {
        assert_eq!(severity(names), plain, "{names:?}");
    }
}

/// The request is part of the result, so that a run can be repeated from it.
#[test]
fn the_provenance_holds_the_request() {
    let w = world();
    let request = AuditRequest {
        propensities: Some(vec!["power".parse().unwrap()]),
        groups: Some("counts:100,10".parse().unwrap()),
        weights: Some("inverse-complete".parse().unwrap()),
        ..quick()
    };
    let audit = Audit::new(&w.test, &[("good", &w.good)]).unwrap().train(&w.train);
    let result = audit.clone().request(request.clone()).run().unwrap();
    assert_eq!(result.provenance.request, request);
    assert!(result.grouping.unwrap().contains("[100, 10]"));
    let json = serde_json::to_value(&result.provenance).unwrap();
    let again: AuditRequest = serde_json::from_value(json["request"].clone()).unwrap();
    assert_eq!(audit.clone().request(again).run().unwrap().verdict, result.verdict);
    // What no request can describe is at least named.
    let given = audit.request(quick()).weights("mine", vec![1.0; LABELS]).unwrap().run().unwrap().provenance.request;
    assert_eq!(given.weights, Some(unmissed::request::WeightsSpec::Given));
}

/// A small demonstration: with the right propensities the estimate is the truth, within its error; the verdict follows the scores.
#[test]
fn the_demonstration_is_computed() {
    let sizes = demo::Sizes { train: 8_000, test: 4_000 };
    let result = demo::run(sizes, 1, Gates::default(), "unmissed audit --demo", &unmissed::progress::Silent).unwrap();
    let standing = |name: &str| result.verdict.standings.iter().find(|s| s.name.starts_with(name)).unwrap();
    for score in &standing("right").scores {
        let se = (score.high.unwrap() - score.low.unwrap()) / 3.92;
        assert!(score.error.unwrap().abs() < 4.0 * se, "{score:?}");
    }
    let truth = standing("complete labels");
    let best = truth.scores.iter().max_by(|a, b| a.value.partial_cmp(&b.value).unwrap()).unwrap();
    assert_eq!(truth.first.as_deref(), Some(best.model.as_str()));
    for standing in result.verdict.standings.iter().filter(|s| !s.is_truth) {
        assert_eq!(standing.agrees_with_truth, Some(standing.first == truth.first), "{}", standing.name);
    }
    // Complete labels are reported, estimates are held against them, and a wrong winner is called wrong.
    let verdict = &result.verdict;
    assert!(truth.is_headline && verdict.headline.contains(" on complete labels, not "), "{}", verdict.headline);
    let wrong = |s: &&unmissed::audit::Standing| s.lead_stands == Some(true) && s.first != truth.first;
    let is_called_wrong = verdict.sentences.iter().any(|sentence| sentence.ends_with("would be called better, which is wrong."));
    let is_clear = truth.lead_stands == Some(true);
    assert_eq!(is_called_wrong, is_clear && verdict.standings.iter().any(|s| wrong(&s)), "{:#?}", verdict.sentences);
}

/// Labels as in large benchmarks: a million, most of them rare.
#[test]
fn a_million_labels_fit_on_a_page() {
    const MANY: u64 = 1_000_000;
    let rows = |rows: u64, seed: u64| {
        // Ranks with density 1/rank: the label is m^u.
        let label = move |i: u64| {
            let u = crate::common::rng::uniform_at(seed, i as u32);
            ((MANY as f64).powf(u) as u32).min(MANY as u32 - 1)
        };
        let row = move |row: u64| {
            let mut labels: Vec<u32> = (0..5).map(|slot| label(row * 5 + slot)).collect();
            labels.sort_unstable();
            labels.dedup();
            labels
        };
        (0..rows).map(row)
    };
    let data = |n, seed| Dataset::new(None, Labels::from_ids(MANY, rows(n, seed)).unwrap()).unwrap();
    let (train, test) = (data(30_000, 1), data(6_000, 2));
    let scores = |keep: usize| {
        Csr::from_rows(
            MANY,
            rows(6_000, 2).map(move |row| {
                row.into_iter().enumerate().filter(move |(i, _)| i % keep == 0).map(|(i, l)| (l, 1.0 / (i + 1) as f32))
            }),
        )
        .unwrap()
    };
    let (a, b) = (scores(1), scores(2));
    let result = Audit::new(&test, &[("a", &a), ("b", &b)])
        .unwrap()
        .train(&train)
        .request(AuditRequest { bootstrap: 20, ..AuditRequest::default() })
        .run()
        .unwrap();
    let page = page::render(&result).unwrap();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}
