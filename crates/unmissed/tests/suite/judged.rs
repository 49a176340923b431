//! Judged pairs: drawing, files, estimates, findings.

use unmissed::data::{Csr, Judgement, Judgements, LabelStats, Labels, Relevance};
use unmissed::evaluate::judged::{AnnotationPlan, Judged, OBSERVED, PLAN_FILE, PairNames, PlanData, PlannedPair};
use unmissed::evaluate::{Evaluation, EvaluationResult, IntervalKind};
use unmissed::metrics::Estimator;
use unmissed::request::{AnnotateRequest, EvaluateRequest, JudgedMethod, KList};

const ROWS: usize = 60;
const LABELS: u32 = 12;

/// Rows with complete and observed labels, and two models.
struct World {
    complete: Labels<'static>,
    observed: Labels<'static>,
    a: Csr<'static, f32>,
    b: Csr<'static, f32>,
    train: LabelStats,
}

fn mix(a: u32, b: u32) -> u32 {
    (a.wrapping_mul(2_654_435_761) ^ b.wrapping_mul(40_503)).wrapping_mul(2_246_822_519) >> 7
}

impl World {
    fn new() -> World {
        let of = |share: fn(u32, u32) -> bool| {
            Labels::from_ids(
                u64::from(LABELS),
                (0..ROWS as u32).map(|row| (0..LABELS).filter(move |label| share(row, *label)).collect::<Vec<_>>()),
            )
            .unwrap()
        };
        let scores = |seed: u32| {
            let row = |row: u32| {
                (0..LABELS).map(move |label| {
                    let bonus = if mix(row, label) % 10 < 4 { 40 } else { 0 };
                    (label, (mix(row + seed, label * 7 + seed) % 100 + bonus) as f32)
                })
            };
            Csr::from_rows(u64::from(LABELS), (0..ROWS as u32).map(row)).unwrap()
        };
        World {
            complete: of(|row, label| mix(row, label) % 10 < 4),
            observed: of(|row, label| mix(row, label) % 10 < 2),
            a: scores(1),
            b: scores(500),
            train: LabelStats::from_counts(1000, &(0..u64::from(LABELS)).map(|label| 5 + label * label).collect::<Vec<_>>())
                .unwrap(),
        }
    }

    fn models(&self) -> [(&str, &Csr<'static, f32>); 2] {
        [("a", &self.a), ("b", &self.b)]
    }

    fn plan(&self, request: &AnnotateRequest) -> AnnotationPlan {
        AnnotationPlan::new(&PlanData { truth: &self.observed, models: &self.models(), train: Some(&self.train) }, request).unwrap()
    }

    fn judge(&self, pair: &PlannedPair<'_>) -> Judgement {
        let is_relevant = self.complete.row_ids(pair.row as usize).contains(&pair.label);
        Judgement {
            round: pair.round,
            row: pair.row,
            label: pair.label,
            probability: pair.probability,
            stratum: Some(pair.stratum.to_owned()),
            relevance: Some(if is_relevant { Relevance::Relevant } else { Relevance::Irrelevant }),
            place: (0, 0),
        }
    }

    fn judged(&self, plan: &AnnotationPlan, change: impl Fn(usize, &mut Judgement)) -> Judgements {
        let mut all: Vec<Judgement> = plan.pairs().iter().map(|pair| self.judge(pair)).collect();
        all.iter_mut().enumerate().for_each(|(at, judgement)| change(at, judgement));
        Judgements::new(all, ROWS, LABELS as usize).unwrap()
    }

    fn evaluate(&self, judged: Judged, request: EvaluateRequest) -> unmissed::Result<EvaluationResult> {
        let request = EvaluateRequest { interval: IntervalKind::Mask, estimators: Some(vec![Estimator::Judged]), ..request };
        Evaluation::new(&self.observed, &self.models())?.train(&self.train).request(request)?.judged(judged).run()
    }
}

fn request(budget: u64) -> AnnotateRequest {
    AnnotateRequest { budget, seed: 4, ..AnnotateRequest::default() }
}

/// With all pairs judged, every estimate is the value on complete labels.
#[test]
fn when_all_pairs_are_judged_nothing_is_estimated() {
    let world = World::new();
    let plan = world.plan(&request(100_000));
    let weights: Vec<f64> = (0..LABELS).map(|label| 1.0 + f64::from(label) / 10.0).collect();
    let metrics = ["precision", "ndcg", "weighted-precision"];
    for method in JudgedMethod::ALL {
        let judged = Judged::new(world.judged(&plan, |_, _| ())).plan(plan.clone());
        let request = EvaluateRequest { judged_method: method, interval: IntervalKind::Mask, ..EvaluateRequest::default() };
        let evaluation = |truth| {
            let evaluation = Evaluation::new(truth, &world.models()).unwrap().train(&world.train).request(request.clone()).unwrap();
            evaluation.metrics(&metrics).unwrap().weights("mine", weights.clone()).unwrap()
        };
        let found = evaluation(&world.observed).estimators(&[Estimator::Judged]).judged(judged).run().unwrap();
        let truth = evaluation(&world.complete).estimators(&[Estimator::Observed]).run().unwrap();
        assert_eq!((found.rows.len(), found.comparisons.len()), (18, 9));
        for (row, truth) in found.rows.iter().zip(&truth.rows) {
            assert!((row.value.unwrap() - truth.value.unwrap()).abs() < 1e-12, "{row:?}");
            assert_eq!((row.estimator, row.se), (Estimator::Judged, Some(0.0)));
            assert!((row.high.unwrap() - row.low.unwrap()).abs() < 1e-12, "{row:?}");
        }
        assert!(found.findings.iter().all(|finding| finding.code.as_str() < "U024"), "{:?}", found.findings);
    }
}

#[test]
fn recall_is_a_ratio_of_totals_and_an_upper_bound() {
    let world = World::new();
    let plan = world.plan(&AnnotateRequest { k: KList::new(&[3]).unwrap(), ..request(100_000) });
    let judged = Judged::new(world.judged(&plan, |_, _| ())).plan(plan);
    let asked = EvaluateRequest {
        metrics: Some(vec!["recall-pooled".parse().unwrap()]),
        k: KList::new(&[3]).unwrap(),
        ..EvaluateRequest::default()
    };
    let found = world.evaluate(judged, asked).unwrap();
    // By hand: hits of a, and relevant labels that are observed or in a list.
    let top = |scores: &Csr<'_, f32>, row: usize| {
        let (ids, values) = scores.row(row);
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by(|x, y| values[*y].total_cmp(&values[*x]).then(ids[*x].cmp(&ids[*y])));
        order.into_iter().take(3).map(|at| ids[at]).collect::<Vec<_>>()
    };
    let (mut hits, mut all, mut complete) = (0, 0, 0);
    for row in 0..ROWS {
        let (of_a, of_b) = (top(&world.a, row), top(&world.b, row));
        let relevant = world.complete.row_ids(row);
        hits += of_a.iter().filter(|label| relevant.contains(label)).count();
        complete += relevant.len();
        let counts = |label: &&u32| world.observed.row_ids(row).contains(label) || of_a.contains(label) || of_b.contains(label);
        all += relevant.iter().filter(counts).count();
    }
    let value = found.rows[0].value.unwrap();
    assert!((value - hits as f64 / all as f64).abs() < 1e-12);
    assert!(value > hits as f64 / complete as f64 && found.rows[0].assumption.contains("an upper bound of recall"));
}

#[test]
fn the_same_seed_draws_the_same_pairs_on_any_number_of_threads() {
    let world = World::new();
    let plan = world.plan(&request(50));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(plan, pool.install(|| world.plan(&request(50))));
    assert_ne!(plan, world.plan(&AnnotateRequest { seed: 5, ..request(50) }));
    assert_eq!(plan.pairs().len(), 50);
    assert!(plan.strata().iter().all(|(_, size, drawn)| *drawn >= 2.min(*size) && drawn <= size), "{:?}", plan.strata());
    // Probabilities are what they say: over many seeds each pair is drawn as often as its stratum's share.
    let mut counts = std::collections::HashMap::new();
    for seed in 0..400 {
        for pair in world.plan(&AnnotateRequest { seed, ..request(50) }).pairs() {
            *counts.entry((pair.row, pair.label)).or_insert((0.0, pair.probability)) = {
                let (count, probability) = counts.get(&(pair.row, pair.label)).copied().unwrap_or((0.0, pair.probability));
                assert_eq!(probability, pair.probability);
                (count + 1.0, probability)
            };
        }
    }
    for ((row, label), (count, probability)) in counts {
        let expected = 400.0 * probability;
        assert!(
            (count - expected).abs() < 5.0 * (expected * (1.0 - probability)).sqrt() + 1.0,
            "{row} {label}: {count} of {expected}"
        );
    }
}

#[test]
fn plans_and_pairs_survive_files() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let plan = world.plan(&AnnotateRequest { check_observed: 5, ..request(40) });
    plan.write(folder.path().join(PLAN_FILE)).unwrap();
    assert_eq!(AnnotationPlan::read(folder.path().join(PLAN_FILE)).unwrap(), plan);
    let csv = folder.path().join("pairs.csv");
    plan.write_pairs(&csv, &PairNames::default()).unwrap();
    let text = std::fs::read_to_string(&csv).unwrap();
    assert!(text.starts_with("round,row,label,probability,stratum,relevant\n1,") && text.lines().count() == 46, "{text}");
    assert_eq!(text.lines().filter(|line| line.contains(OBSERVED)).count(), 5);
    let answered: String = std::iter::once("round,row,label,probability,stratum,relevant".to_owned())
        .chain(text.lines().skip(1).map(|line| {
            let cells: Vec<u32> = line.split(',').take(3).map(|cell| cell.parse().unwrap()).collect();
            format!("{line}{}", u8::from(world.complete.row_ids(cells[1] as usize).contains(&cells[2])))
        }))
        .collect::<Vec<_>>()
        .join("\n");
    std::fs::write(&csv, answered).unwrap();
    let read = Judged::read(&[&csv], None, None, (ROWS, LABELS as usize)).unwrap();
    let from_memory = Judged::new(world.judged(&plan, |_, _| ())).plan(plan);
    let values = |judged| world.evaluate(judged, EvaluateRequest::default()).unwrap().rows;
    assert_eq!(values(read), values(from_memory));
}

#[test]
fn damaged_plans_are_refused() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json");
    world.plan(&request(40)).write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, part) in [
        ("\"version\":1", "\"version\":9", "another version"),
        ("\"pair_rows\":[0", "\"pair_rows\":[50", "out of order"),
        ("\"drawn\":[", "\"drawn\":[0,0,", "is drawn twice"),
        ("\"order\":[", "\"order\":[0,", "does not add up"),
        ("{\"version\"", "{\"verson\"", "not an annotation plan"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let message = AnnotationPlan::read(&path).unwrap_err().to_string();
        assert!(message.contains("plan.json") && message.contains(part), "{message}");
    }
}

#[test]
fn unsure_pairs_widen_intervals_by_what_they_may_be() {
    let world = World::new();
    let plan = world.plan(&request(100_000));
    let judged = |relevance: Option<Relevance>| {
        let change = |at: usize, judgement: &mut Judgement| {
            if at.is_multiple_of(10) {
                judgement.relevance = relevance.or(judgement.relevance);
            }
        };
        let judged = Judged::new(world.judged(&plan, change)).plan(plan.clone());
        world
            .evaluate(judged, EvaluateRequest { metrics: Some(vec!["precision".parse().unwrap()]), ..EvaluateRequest::default() })
            .unwrap()
    };
    let (unsure, none, all) =
        (judged(Some(Relevance::Unsure)), judged(Some(Relevance::Irrelevant)), judged(Some(Relevance::Relevant)));
    for ((unsure, none), all) in unsure.rows.iter().zip(&none.rows).zip(&all.rows) {
        assert!(
            (unsure.low.unwrap() - none.value.unwrap()).abs() < 1e-12 && (unsure.high.unwrap() - all.value.unwrap()).abs() < 1e-12
        );
        assert!((unsure.value.unwrap() - (none.value.unwrap() + all.value.unwrap()) / 2.0).abs() < 1e-12);
    }
    assert!(unsure.notes.iter().any(|note| note.contains("are unsure")), "{:?}", unsure.notes);
}

#[test]
fn judges_may_stop_early_but_not_leave_out() {
    let world = World::new();
    let plan = world.plan(&request(80));
    let stop = |at: usize, judgement: &mut Judgement| {
        if at >= 60 {
            judgement.relevance = None;
        }
    };
    let result = world.evaluate(Judged::new(world.judged(&plan, stop)).plan(plan.clone()), EvaluateRequest::default()).unwrap();
    assert!(result.notes.iter().any(|note| note.starts_with("judged: 20 drawn pairs are not judged yet")), "{:?}", result.notes);
    let skip = |at: usize, judgement: &mut Judgement| {
        if at == 7 {
            judgement.relevance = None;
        }
    };
    let error = world.evaluate(Judged::new(world.judged(&plan, skip)).plan(plan.clone()), EvaluateRequest::default()).unwrap_err();
    assert!(error.to_string().contains("is not judged, but later ones of its file are"), "{error}");
    let other = |_: usize, judgement: &mut Judgement| judgement.probability *= 0.5;
    let error = world.evaluate(Judged::new(world.judged(&plan, other)).plan(plan), EvaluateRequest::default()).unwrap_err();
    assert!(error.to_string().contains("is not from this plan: expected round 1 with probability"), "{error}");
}

#[test]
fn later_rounds_need_the_earlier_ones() {
    let world = World::new();
    let first = world.plan(&request(40));
    let data = PlanData { truth: &world.observed, models: &world.models(), train: Some(&world.train) };
    let judged = world.judged(&first, |_, _| ());
    let second = first.next_round(&data, &judged, &request(60)).unwrap();
    assert_eq!((second.rounds(), second.pairs().len()), (2, 60));
    let drawn: std::collections::HashSet<_> = first.pairs().iter().map(|pair| (pair.row, pair.label)).collect();
    assert!(second.pairs().iter().all(|pair| !drawn.contains(&(pair.row, pair.label)) && pair.round == 2));
    let later = world.judged(&second, |_, _| ());
    let error = world.evaluate(Judged::new(later.clone()).plan(second.clone()), EvaluateRequest::default()).unwrap_err();
    assert!(error.to_string().starts_with("round 1 is not judged, but a later one is"), "{error}");
    let both = judged.pairs().iter().chain(later.pairs()).cloned().collect();
    let both = Judgements::new(both, ROWS, LABELS as usize).unwrap();
    assert!(world.evaluate(Judged::new(both).plan(second.clone()), EvaluateRequest::default()).is_ok());
    // The first round alone is fine too.
    assert!(world.evaluate(Judged::new(judged.clone()).plan(second), EvaluateRequest::default()).is_ok());
    let other = PlanData { truth: &world.complete, ..data };
    let error = first.next_round(&other, &judged, &request(60)).unwrap_err();
    assert!(error.to_string().starts_with("these are not the data that the earlier rounds used"), "{error}");
}

#[test]
fn lists_that_were_not_pooled_are_found() {
    let world = World::new();
    let data = PlanData { truth: &world.observed, models: &world.models()[..1], train: Some(&world.train) };
    let plan = AnnotationPlan::new(&data, &request(60)).unwrap();
    let judged = Judged::new(world.judged(&plan, |_, _| ())).plan(plan);
    let result = world.evaluate(judged.clone(), EvaluateRequest::default()).unwrap();
    let found: Vec<&str> = result.findings.iter().map(|finding| finding.code.as_str()).filter(|code| *code >= "U024").collect();
    assert_eq!(found, ["U024"], "{:?}", result.findings);
    let width = |model: &str| {
        let row = result.rows.iter().find(|row| row.metric == "precision" && row.k == 5 && row.model == model).unwrap();
        row.high.unwrap() - row.low.unwrap()
    };
    assert!(width("b") > 1.5 * width("a"), "{} {}", width("b"), width("a"));
    // Other labels than those of the plan.
    let request = EvaluateRequest { estimators: Some(vec![Estimator::Judged]), ..EvaluateRequest::default() };
    let changed =
        Evaluation::new(&world.complete, &world.models()[..1]).unwrap().request(request).unwrap().judged(judged).run().unwrap();
    assert!(
        changed.findings.iter().any(|finding| finding.code == "U025" && finding.message.ends_with("the test labels")),
        "{:?}",
        changed.findings
    );
}

#[test]
fn observed_labels_that_judges_reject_are_found() {
    let world = World::new();
    let plan = world.plan(&AnnotateRequest { check_observed: 20, ..request(40) });
    let change = |_: usize, judgement: &mut Judgement| {
        if judgement.stratum.as_deref() == Some(OBSERVED) && judgement.row.is_multiple_of(2) {
            judgement.relevance = Some(Relevance::Irrelevant);
        }
    };
    let result = world.evaluate(Judged::new(world.judged(&plan, change)).plan(plan), EvaluateRequest::default()).unwrap();
    let finding = result.findings.iter().find(|finding| finding.code == "U026").unwrap();
    assert!(finding.message.contains("of 20 judged observed pairs"), "{}", finding.message);
}

#[test]
fn without_a_plan_the_file_says_how_pairs_were_drawn() {
    let world = World::new();
    let plan = world.plan(&request(60));
    let strata = Judged::new(world.judged(&plan, |_, _| ()));
    let planned = EvaluateRequest { judged_method: JudgedMethod::HorvitzThompson, ..EvaluateRequest::default() };
    let values = |result: &EvaluationResult| {
        result.rows.iter().filter(|row| row.metric == "precision").map(|row| row.value.unwrap()).collect::<Vec<_>>()
    };
    let with = world.evaluate(strata.clone().plan(plan.clone()), planned.clone()).unwrap();
    let without = world.evaluate(strata, planned.clone()).unwrap();
    assert!(values(&with).iter().zip(values(&without)).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!(without.notes.iter().any(|note| note.contains("without the plan")), "{:?}", without.notes);
    let poisson = Judged::new(world.judged(&plan, |_, judgement| judgement.stratum = None));
    let independent = world.evaluate(poisson, planned).unwrap();
    assert!(values(&with).iter().zip(values(&independent)).all(|(a, b)| (a - b).abs() < 1e-12));
    let se = |result: &EvaluationResult| result.rows[0].se.unwrap();
    assert!(se(&independent) > se(&without));
}

#[test]
fn tallies_cannot_hold_judged_pairs() {
    let world = World::new();
    let plan = world.plan(&request(60));
    let evaluation = Evaluation::new(&world.observed, &world.models()).unwrap().judged(Judged::new(world.judged(&plan, |_, _| ())));
    assert!(evaluation.tally().err().unwrap().to_string().starts_with("a tally cannot hold judged pairs"));
    let error = Evaluation::new(&world.observed, &world.models()).unwrap().estimators(&[Estimator::Judged]).run().unwrap_err();
    assert!(error.to_string().contains("no judged pairs"), "{error}");
}

#[test]
fn a_plan_foretells_intervals_and_the_budget_for_wanted_ones() {
    let world = World::new();
    let data = PlanData { truth: &world.observed, models: &world.models(), train: Some(&world.train) };
    let plan = world.plan(&AnnotateRequest { wanted: Some(0.03), ..request(60) });
    let expected = plan.expected(&data, None).unwrap();
    assert_eq!(expected.len(), 18, "two metrics, three k, two models and their difference");
    for of in &expected {
        let budget = of.budget.unwrap();
        let at = |budget| {
            let plan = world.plan(&AnnotateRequest { budget, ..request(60) });
            let all = plan.expected(&data, None).unwrap();
            all.into_iter()
                .find(|other| (&other.metric, other.k, &other.model, &other.other) == (&of.metric, of.k, &of.model, &of.other))
                .unwrap()
                .half_width
        };
        // Strata may be finer at other budgets, so nearly.
        assert!(at(budget) < 0.033 && (budget <= 2 || at(budget / 2) > 0.03), "{of:?} {} {}", at(budget), at(budget / 2));
    }
}
