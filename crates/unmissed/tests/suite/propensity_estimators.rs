//! Estimators on small data whose answers are known by hand.

use unmissed::data::{LabelStats, Labels, Rate};
use unmissed::propensity::estimators::hierarchy::{self, hierarchy};
use unmissed::propensity::estimators::{
    ControlledSet, EstimatorInput, OptionKind, PROPENSITY_ESTIMATORS, PropensityEstimatorSpec, PropensityEvidence, audited,
    direct::direct, relation::relation, shrunken::shrunken, timelapse::timelapse,
};
use unmissed::propensity::fit::{FitOptions, compare};
use unmissed::propensity::models::{PROPENSITY_MODELS, family, parse};
use unmissed::propensity::{Bound, Ratio, ValueSource, checks, dag::Dag, table_file};

#[test]
fn jpv_without_enough_rows_is_an_error_and_never_a_number() {
    let stats = LabelStats::from_counts(2, &[1, 2]).unwrap();
    let message = parse("jpv").unwrap().propensities(&stats).unwrap_err().to_string();
    assert_eq!(message, "jpv needs more rows: its formula leaves (0, 1]: expected more than e = 2.718... rows, found 2");
    let note = &parse("jpv:amazon").unwrap().propensities(&LabelStats::from_counts(9, &[1]).unwrap()).unwrap().notes()[0].clone();
    assert!(note.contains("neither an upper nor a lower bound"), "{note}");
}

#[test]
fn labels_that_were_never_observed_have_a_value_and_a_mark() {
    let stats = LabelStats::from_counts(100, &[50, 0]).unwrap();
    let half = parse("power").unwrap().propensities(&stats).unwrap();
    assert_eq!((half.get(1), half.source(1)), (0.01, ValueSource::Curve));
    // With smoothing the formula has a value of its own: (0 + 1) / (50 + 1).
    let smoothed = parse("power:alpha=1").unwrap().propensities(&stats).unwrap();
    assert!((smoothed.get(1) - 1.0 / 51.0).abs() < 1e-15);
}

#[test]
fn withdrawn_labels_are_counted_and_not_evidence() {
    let earlier = Labels::from_ids(2, [vec![0, 1], vec![0], vec![1]]).unwrap();
    let later = Labels::from_ids(2, [vec![0], vec![0, 1], vec![0, 1]]).unwrap();
    let estimate = timelapse(&earlier, &later, &Ratio::new(family("constant").unwrap())).unwrap();
    assert_eq!(estimate.withdrawn, 1);
    assert!(estimate.propensities.notes().iter().any(|note| note.contains("1 of 4 earlier positives")));
    assert_eq!((estimate.propensities.get(0), estimate.propensities.get(1)), (2.0 / 3.0, 0.5));
    assert_eq!(estimate.propensities.bound(), Bound::Upper);
    let short = Labels::from_ids(2, [vec![0]]).unwrap();
    assert!(timelapse(&earlier, &short, &Ratio::new(family("constant").unwrap())).unwrap_err().to_string().contains("same rows"));
}

#[test]
fn only_labels_with_enough_descendants_count_in_a_hierarchy() {
    // 0 has five descendants, 1 has four.
    let dag = Dag::new(6, vec![(1, 0), (2, 1), (3, 1), (4, 1), (5, 1)]).unwrap();
    let labels = Labels::from_ids(6, [vec![0, 2], vec![3], vec![0, 1], vec![0]]).unwrap();
    let ratio = Ratio::new(family("constant").unwrap());
    let estimate = hierarchy(&labels, &dag, &hierarchy::HierarchyOptions::default(), &ratio).unwrap();
    assert_eq!((estimate.passing, estimate.without_descendants), (1, 4));
    assert_eq!((estimate.propensities.get(0), estimate.propensities.source(0)), (0.75, ValueSource::Estimated));
    assert!((1..6).all(|label| estimate.propensities.source(label) == ValueSource::Curve));
    // Implied: 0 and 1 by 2, 0 and 1 by 3, 0 by 1; observed of these: 0 in the first and third row.
    assert_eq!((estimate.implied, estimate.implied_and_observed), (5, 2));
    assert!(!estimate.by_convention());
    let nobody = hierarchy::HierarchyOptions { threshold: 9, ..Default::default() };
    assert!(hierarchy(&labels, &dag, &nobody, &ratio).is_err());
}

#[test]
fn a_relation_is_no_bound_and_says_so() {
    let labels = Labels::from_ids(2, [vec![0], vec![], vec![1]]).unwrap();
    let ratio = Ratio::new(family("constant").unwrap());
    let estimate = relation(&labels, vec![(0, 1)], vec![(1, 0), (1, 1)], &ratio).unwrap();
    assert_eq!((estimate.propensities.bound(), estimate.implied), (Bound::None, 1));
    assert!(estimate.propensities.notes()[0].contains("neither"));
    assert!(relation(&labels, vec![(0, 9)], vec![], &ratio).is_err());
}

#[test]
fn without_visible_scatter_shrunken_is_the_curve_and_says_so() {
    // Counts exactly as a constant propensity of 1/2 has them.
    let counts: Vec<u64> = (1..=40).map(|i| 10 * i).collect();
    let mut controlled: Vec<u64> = (1..=40).collect();
    let (mut counts, rows) = (counts, 1000);
    counts.push(0);
    controlled.push(2);
    let train = LabelStats::from_counts(rows, &counts).unwrap();
    let direct = direct(&train, &LabelStats::from_counts(500, &controlled).unwrap(), &Rate::Common(0.1), 0.95).unwrap();
    let estimate = shrunken(&direct, &family("constant").unwrap(), &FitOptions::default(), 0.95).unwrap();
    assert_eq!(estimate.fit.kappa, None);
    assert!(estimate.propensities.notes()[0].contains("no scatter"));
    assert!(estimate.propensities.values().iter().all(|p| (p - 0.5).abs() < 1e-4), "{:?}", estimate.propensities.values());
    assert_eq!(estimate.propensities.source(40), ValueSource::Curve);
    assert!(estimate.propensities.interval(0).unwrap().low < 0.5 && estimate.propensities.is_uncertain());
}

#[test]
fn a_table_is_compared_with_an_estimate_like_a_curve() {
    let train = LabelStats::from_counts(100, &[20, 10, 0]).unwrap();
    let controlled = LabelStats::from_counts(50, &[2, 1, 0]).unwrap();
    let direct = direct(&train, &controlled, &Rate::Common(0.1), 0.95).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    std::fs::write(&path, "label,propensity\n0,0.5\n1,0.25\n2,1\n").unwrap();
    let table = parse(&format!("table:{}", path.display())).unwrap();
    // q^ = 2 and 2; the table says 2 and 4.
    assert_eq!(compare(&[table], &[], &direct.evidence(), &FitOptions::default()).unwrap()[0].mse, 2.0);
    let p = table_file::read(&path, Some(3)).unwrap();
    assert_eq!(checks::distance(&p, &direct, 0.95).unwrap().predicted, 1.0 * 2.0 + 0.5 * 4.0);
}

/// The names of a folder's files, apart from those that hold no entry.
fn pages(folder: &str, apart: &[&str]) -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/propensity").join(folder);
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| !apart.contains(&name.as_str()));
    for name in &names {
        let text = std::fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
        let page: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for part in [&format!("`{name}")[..], "# Assumes", "# Reference", "assert"] {
            assert!(page.contains(part), "the page of '{name}' lacks '{part}'");
        }
    }
    names.sort();
    names
}

#[test]
fn every_entry_is_one_file_with_its_page() {
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    let estimators = sorted(PROPENSITY_ESTIMATORS.iter().map(|entry| entry.name()).collect());
    assert_eq!(pages("estimators", &["mod", "estimate", "evidence", "options", "spec"]), estimators);
    let table = include_str!("../../src/propensity/estimators/mod.rs");
    for name in estimators {
        assert!(table.contains(&format!("//! | [`{name}`] |")), "the table of estimators/mod.rs lacks '{name}'");
    }
    let models = sorted(PROPENSITY_MODELS.iter().map(|entry| entry.name()).collect());
    assert_eq!(pages("models", &["mod", "spec"]), models);
}

#[test]
fn every_estimator_has_good_defaults_and_names_the_evidence_that_it_lacks() {
    let train = Labels::from_ids(2, [vec![0], vec![1]]).unwrap();
    let none = PropensityEvidence::new(&train);
    for entry in PROPENSITY_ESTIMATORS {
        let spec = PropensityEstimatorSpec::new(*entry).unwrap();
        assert_eq!((spec.to_string().as_str(), spec.name().as_str()), (entry.name(), entry.name()));
        let message = spec.estimate(&none).unwrap_err().to_string();
        for field in entry.inputs().iter().flat_map(|input: &EstimatorInput| input.fields()) {
            assert!(message.contains(&format!("'{}'", field.name)), "{message}");
        }
        for option in entry.options() {
            assert!(option.check(option.default).is_ok() && option.check("?").is_err(), "{}", option.name);
            assert!(matches!(option.kind, OptionKind::Switch(_)) == (option.default == "false"), "{}", option.name);
        }
    }
    assert!(audited(&none, 0.9, 1).unwrap().is_empty());
}

/// What the list gives is what the plain functions give, with its settings in the origin.
#[test]
fn an_estimate_by_name_is_that_of_the_function() {
    let train = Labels::from_ids(3, [vec![0], vec![0, 1], vec![0], vec![1], vec![2, 0], vec![]]).unwrap();
    let later = Labels::from_ids(3, [vec![0], vec![0, 1], vec![0, 2], vec![1, 0], vec![2, 0], vec![1]]).unwrap();
    let rate = Rate::Common(0.5);
    let controlled = ControlledSet { labels: &later, rate: &rate, shown: None };
    let evidence = PropensityEvidence::new(&train).later(&later).controlled(controlled);
    let names: Vec<String> = audited(&evidence, 0.9, 1).unwrap().iter().map(PropensityEstimatorSpec::name).collect();
    assert!(["direct", "shrunken", "timelapse", "timelapse-shrunken"].iter().all(|name| names.iter().any(|found| found == name)));
    let others = PROPENSITY_ESTIMATORS.iter().filter(|entry| !evidence.missing(**entry).is_empty()).map(|entry| entry.name());
    assert!(others.clone().count() > 1 && others.clone().all(|name| !names.iter().any(|found| found.starts_with(name))));
    let spec: PropensityEstimatorSpec = "timelapse:shrink,curve=constant".parse().unwrap();
    let by_name = spec.estimate(&evidence).unwrap();
    let how = Ratio::new(family("constant").unwrap()).shrunken();
    let plain = timelapse(&train, &later, &how).unwrap();
    assert_eq!(by_name.propensities(), Some(&plain.propensities));
    let origin = serde_json::to_value(plain.propensities.origin()).unwrap();
    assert_eq!(origin["estimate"]["estimator"]["options"]["shrink"], "true");
    assert_eq!(serde_json::from_value::<unmissed::propensity::Origin>(origin).unwrap(), *plain.propensities.origin());
    let json = serde_json::to_value(&by_name).unwrap();
    assert_eq!((json["later"].as_u64(), json["fit"]["kappa"].is_null()), (Some(later.nnz() as u64), plain.fit.kappa.is_none()));
    let gaps = "direct".parse::<PropensityEstimatorSpec>().unwrap().estimate(&evidence).unwrap();
    assert_eq!(serde_json::to_value(&gaps).unwrap()["labels"].as_array().map(Vec::len), Some(3));
}
