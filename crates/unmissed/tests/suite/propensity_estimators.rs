//! Estimators on small data whose answers are known by hand.

use unmissed::data::{LabelStats, Labels};
use unmissed::propensity::estimators::hierarchy::{self, hierarchy};
use unmissed::propensity::estimators::{
    ESTIMATORS, Rates, direct::direct, relation::relation, shrunken::shrunken, timelapse::timelapse,
};
use unmissed::propensity::fit::{Options, compare};
use unmissed::propensity::models::{family, parse};
use unmissed::propensity::{Bound, Ratio, Source, checks, dag::Dag, table_file};

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
    assert_eq!((half.get(1), half.source(1)), (0.01, Source::Curve));
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
    let estimate = hierarchy(&labels, &dag, &hierarchy::Options::default(), &ratio).unwrap();
    assert_eq!((estimate.passing, estimate.without_descendants), (1, 4));
    assert_eq!((estimate.propensities.get(0), estimate.propensities.source(0)), (0.75, Source::Estimated));
    assert!((1..6).all(|label| estimate.propensities.source(label) == Source::Curve));
    // Implied: 0 and 1 by 2, 0 and 1 by 3, 0 by 1; observed of these: 0 in the first and third row.
    assert_eq!((estimate.implied, estimate.implied_and_observed), (5, 2));
    assert!(!estimate.by_convention());
    let nobody = hierarchy::Options { threshold: 9, ..Default::default() };
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
    let direct = direct(&train, &LabelStats::from_counts(500, &controlled).unwrap(), &Rates::Common(0.1), 0.95).unwrap();
    let estimate = shrunken(&direct, &family("constant").unwrap(), &Options::default(), 0.95).unwrap();
    assert_eq!(estimate.fit.kappa, None);
    assert!(estimate.propensities.notes()[0].contains("no scatter"));
    assert!(estimate.propensities.values().iter().all(|p| (p - 0.5).abs() < 1e-4), "{:?}", estimate.propensities.values());
    assert_eq!(estimate.propensities.source(40), Source::Curve);
    assert!(estimate.propensities.interval(0).unwrap().low < 0.5 && estimate.propensities.inverse_variance(0).unwrap() > 0.0);
}

#[test]
fn a_table_is_compared_with_an_estimate_like_a_curve() {
    let train = LabelStats::from_counts(100, &[20, 10, 0]).unwrap();
    let controlled = LabelStats::from_counts(50, &[2, 1, 0]).unwrap();
    let direct = direct(&train, &controlled, &Rates::Common(0.1), 0.95).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    std::fs::write(&path, "label,propensity\n0,0.5\n1,0.25\n2,1\n").unwrap();
    let table = parse(&format!("table:{}", path.display())).unwrap();
    // q^ = 2 and 2; the table says 2 and 4.
    assert_eq!(compare(&[table], &[], &direct.evidence(), &Options::default()).unwrap()[0].mse, 2.0);
    let p = table_file::read(&path, Some(3)).unwrap();
    assert_eq!(checks::distance(&p, &direct, 0.95).unwrap().predicted, 1.0 * 2.0 + 0.5 * 4.0);
}

#[test]
fn estimators_are_listed_once_each() {
    let names: Vec<&str> = ESTIMATORS.iter().map(|entry| entry.name()).collect();
    assert_eq!(names, ["direct", "shrunken", "timelapse", "hierarchy", "relation"]);
}
