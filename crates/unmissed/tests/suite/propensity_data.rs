//! Propensities of real data, where the data are at hand.

use crate::common::data;
use std::path::PathBuf;
use std::time::Instant;
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::{LabelStats, Labels};
use unmissed::propensity::estimators::{Direct, direct::direct, hierarchy, shrunken::shrunken, timelapse::timelapse};
use unmissed::propensity::fit::{CurveEvidence, FitOptions, compare};
use unmissed::propensity::models::{family, parse};
use unmissed::propensity::{Bound, Propensities, Ratio, ValueSource, checks, dag::Dag, impute::impute};

fn labels(path: PathBuf) -> Labels<'static> {
    read_dataset(path, &ReadOptions::default()).unwrap().into_parts().1
}

/// Labels by their count in the earlier snapshot, and e / l over each band: of all rows as the data page has it, and of the
/// training rows alone (numpy, from the files). The page's first value is 0.01 lower than what all rows give.
const BANDS: [(u64, u64, f64, f64); 9] = [
    (1, 1, 0.69, 0.737),
    (2, 4, 0.77, 0.773),
    (5, 9, 0.78, 0.800),
    (10, 24, 0.80, 0.818),
    (25, 49, 0.81, 0.834),
    (50, 99, 0.84, 0.856),
    (100, 249, 0.86, 0.870),
    (250, 999, 0.87, 0.879),
    (1000, u64::MAX, 0.89, 0.906),
];

/// e / l over bands of the earlier counts: the mean of p weighted by l.
fn bands(p: &Propensities, early: &Labels<'_>, late: &Labels<'_>) -> Vec<f64> {
    let (early, late) = (LabelStats::of(early), LabelStats::of(late));
    let band = |(low, high, _, _): (u64, u64, f64, f64)| {
        let labels = early.occurring().iter().filter(|label| (low..=high).contains(&early.count(**label)));
        let (sum, whole) = labels.fold((0.0, 0.0), |(sum, whole), label| {
            let weight = late.count(*label) as f64;
            (sum + weight * p.get(*label), whole + weight)
        });
        sum / whole
    };
    BANDS.into_iter().map(band).collect()
}

#[test]
fn hpo_bands_are_those_of_the_data_page() {
    let Some(folder) = data("hpo-timelapse") else { return };
    let [early, late, test_early, test_late] =
        ["train_early.txt", "train_late.txt", "test_early.txt", "test_late.txt"].map(|name| labels(folder.join(name)));
    let plain = |early: &Labels<'_>, late: &Labels<'_>| timelapse(early, late, &Ratio::new(family("power").unwrap())).unwrap();
    let (all_early, all_late) = (early.stack(&test_early).unwrap(), late.stack(&test_late).unwrap());
    let all = bands(&plain(&all_early, &all_late).propensities, &all_early, &all_late);
    let train = plain(&early, &late);
    assert_eq!((train.withdrawn, train.propensities.bound(), train.propensities.len()), (0, Bound::Upper, 10_666));
    let shrunken = timelapse(&early, &late, &Ratio::new(family("power").unwrap()).shrunken()).unwrap();
    println!("{} kappa {:?}; {:?}", shrunken.fit.spec, shrunken.fit.kappa, shrunken.propensities.notes());
    let alone = bands(&train.propensities, &early, &late);
    let shrunken = bands(&shrunken.propensities, &early, &late);
    for (place, (low, _, page, numpy)) in BANDS.into_iter().enumerate() {
        println!("{low}..: all {:.4} ({page}), train {:.4} ({numpy}), shrunken {:.4}", all[place], alone[place], shrunken[place]);
        assert!((all[place] - page).abs() <= 0.0101, "{low}..");
        assert!((alone[place] - numpy).abs() <= 0.0005001, "{low}..");
        assert!((shrunken[place] - numpy).abs() < 0.05, "{low}..");
    }
}

#[test]
fn hpo_curves_and_unseen_labels() {
    let Some(folder) = data("hpo-timelapse") else { return };
    let (early, late) = (labels(folder.join("train_early.txt")), labels(folder.join("train_late.txt")));
    let estimate = timelapse(&early, &late, &Ratio::new(family("power").unwrap())).unwrap();
    let stats = LabelStats::of(&early);
    assert_eq!(stats.labels() as usize - stats.occurring().len(), 2362);
    let evidence = CurveEvidence::from_propensities(&estimate.propensities, &stats).unwrap();
    let families = ["jpv", "power", "richards"].map(|name| family(name).unwrap());
    let given = ["constant", "jpv"].map(|name| parse(name).unwrap());
    let table = compare(&given, &families, &evidence, &FitOptions::default()).unwrap();
    for line in &table {
        println!("{}: {:.4} {:?}", line.spec, line.mse, line.fit.as_ref().map(|fit| &fit.degenerate));
    }
    assert!(table[1].mse > table[0].mse, "the default of jpv is worse than assuming that nothing is missing");
    assert!(table[2..].iter().all(|line| line.mse < table[1].mse));
    let test = LabelStats::of(&labels(folder.join("test_late.txt")));
    let unseen = test.occurring().iter().filter(|label| stats.count(**label) == 0).count();
    let share = checks::extrapolated(&estimate.propensities, &stats, &test, None).unwrap();
    println!("{unseen} labels of test_late are not in train_early; extrapolated: {share:?}");
    assert!(share.labels <= unseen && share.share > 0.0 && share.share < 0.1);
}

/// A dense matrix of ratings as labels: 4 and 5 are positive.
fn ratings(path: PathBuf) -> Labels<'static> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| {
        let ratings = line.split_whitespace().enumerate();
        ratings.filter(|(_, rating)| rating.parse::<f64>().unwrap() >= 4.0).map(|(item, _)| item as u32).collect::<Vec<_>>()
    });
    Labels::from_ids(300, rows).unwrap()
}

fn coat() -> Option<(LabelStats, Direct)> {
    let folder = data("coat")?;
    let (train, test) = (ratings(folder.join("train.ascii")), ratings(folder.join("test.ascii")));
    assert_eq!((train.nnz(), test.nnz()), (1905, 860));
    let stats = LabelStats::of(&train);
    let direct = direct(&stats, &LabelStats::of(&test), &"16/300".parse().unwrap(), 0.95).unwrap();
    Some((stats, direct))
}

#[test]
fn coat_has_labels_without_a_controlled_positive() {
    let Some((stats, direct)) = coat() else { return };
    println!(
        "without {}, never observed {}, clipped {}",
        direct.without_controlled_positive(),
        direct.never_observed(),
        direct.clipped()
    );
    // Counted with numpy from the two matrices (rating >= 4, by column).
    assert_eq!((direct.without_controlled_positive(), direct.never_observed()), COAT);
    let shrunken = shrunken(&direct, &family("power").unwrap(), &FitOptions::default(), 0.95).unwrap();
    println!("{} kappa {:?} {:?}", shrunken.fit.spec, shrunken.fit.kappa, shrunken.propensities.notes());
    assert_eq!(shrunken.propensities.from_source(ValueSource::Curve), direct.never_observed());
    let distance = checks::distance(&shrunken.propensities, &direct, 0.95).unwrap();
    println!("{distance:?}");
    assert!(distance.interval.low < 1.0 && distance.interval.high > 1.0);
    let jpv = parse("jpv").unwrap().propensities(&stats).unwrap();
    println!("jpv: {:?}", checks::distance(&jpv, &direct, 0.95).unwrap());
    assert!(direct.evidence().zeros() == direct.without_controlled_positive());
}
const COAT: (usize, usize) = (31, 16);

#[test]
fn go_human_leaves_ancestors_out_by_convention() {
    let Some(folder) = data("go-human") else { return };
    let train = labels(folder.join("gohuman_train.txt"));
    let start = Instant::now();
    let dag = Dag::read(folder.join("hierarchy.tsv"), train.cols()).unwrap();
    let ratio = Ratio::new(family("power").unwrap());
    for variant in [hierarchy::Variant::Union, hierarchy::Variant::Conditional] {
        let options = hierarchy::HierarchyOptions { variant, ..Default::default() };
        let estimate = hierarchy::hierarchy(&train, &dag, &options, &ratio).unwrap();
        println!(
            "{variant:?}: {} without descendants, {} pass, share {:.4}, {:?}",
            estimate.without_descendants,
            estimate.passing,
            estimate.observed_share(),
            estimate.propensities.notes()
        );
        assert!(estimate.by_convention());
        assert!(estimate.propensities.notes().iter().any(|note| note.contains("by convention")));
        assert_eq!(estimate.propensities.len(), 18_674);
    }
    let (imputed, added) = impute(&train, &dag).unwrap();
    assert_eq!(imputed.nnz() as u64, train.nnz() as u64 + added);
    println!("imputed {added} labels; all in {:?}", start.elapsed());
    // Unoptimised code on a busy machine may take longer.
    assert!(cfg!(debug_assertions) || start.elapsed().as_secs() < 10);
}
