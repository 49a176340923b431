//! `hierarchy`: propensities from a hierarchy of labels, and how the constants of JPV depend on preprocessing.

use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::data::LabelStats;
use crate::error::Result;
use crate::propensity::dag::Dag;
use crate::propensity::estimators::hierarchy::{HierarchyOptions, Variant, hierarchy};
use crate::propensity::fit::{CurveEvidence, fit};
use crate::propensity::{Ratio, models};
use crate::report::charts::{curve, propensity_chart};
use crate::report::plot::Series;
use crate::report::{Column, Table};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Hierarchy;

/// Labels need more descendants than this; 4 is the one of Jain et al.
const THRESHOLDS: &[u64] = &[0, 1, 2, 4, 8, 16, 32];
const PAPERS: u64 = 4;

impl crate::sealed::Sealed for Hierarchy {}

impl Named for Hierarchy {
    fn name(&self) -> &'static str {
        "hierarchy"
    }
    fn summary(&self) -> &'static str {
        "propensities from a label hierarchy, and how fitted a and b move with the descendant threshold"
    }
}

impl Experiment for Hierarchy {
    fn reproduces(&self) -> &'static str {
        "the figure of estimates for Wikipedia-500K, and the objection that a and b depend on preprocessing"
    }

    fn data_needed(&self) -> &'static str {
        "a folder with hierarchy.tsv (child, parent) beside its training rows (--data)"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "3 s" }
    }

    fn run(&self, context: &Context<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::new();
        let words = ["data set", "ratio", "more descendants than", "labels that pass", "with an estimate"].map(Column::new);
        let numbers = ["a", "b", "MSE of 1/p"].map(|name| Column::new(name).significant(4));
        let mut table = Table::new("hierarchy", words.into_iter().chain(numbers)).titled("JPV's constants, fitted to a hierarchy");
        for given in &context.data {
            let (Some(file), Some((train, _))) = (given.file("hierarchy.tsv"), given.rows()?) else { continue };
            let labels = train.labels();
            let (dag, stats) = (Dag::read(&file, labels.cols())?, LabelStats::of(labels));
            let family = models::family("jpv")?;
            let mut constants: Vec<(f64, f64)> = Vec::new();
            for (variant, name) in
                [(Variant::Union, "observed of observed or implied"), (Variant::Conditional, "observed of implied")]
            {
                for &threshold in THRESHOLDS {
                    let how = Ratio::new(family.clone());
                    let found = hierarchy(labels, &dag, &HierarchyOptions { threshold, variant }, &how)?;
                    let evidence = CurveEvidence::from_propensities(&found.propensities, &stats)?;
                    let fitted = fit(&family, &evidence, &Default::default())?;
                    let theta = fitted.phi.theta();
                    let (a, b) = (theta[0], theta[1]);
                    table.row(cells![given.name.clone(), name, threshold, found.passing, found.estimated, a, b, fitted.mse]);
                    constants.push((a, b));
                    if threshold == PAPERS && variant == Variant::Union {
                        let points = labels.col_ids().filter(|label| found.propensities.interval(*label).is_some());
                        let points = points.map(|label| (stats.count(label) as f64, found.propensities.get(label)));
                        let chart = propensity_chart(&format!("Propensities from the hierarchy of {}", given.name))
                            .caption(format!("Labels with more than {PAPERS} descendants: observed, of observed or implied."))
                            .series(Series::points("estimates", points))
                            .series(curve("jpv, fitted", &fitted.phi, &stats));
                        outcome.charts.push((format!("hierarchy-{}", given.name), chart));
                        outcome.notes.push(format!(
                            "{}: {} labels have no descendant and can never be found missing this way, {} of {} have more than {PAPERS}; {:.1} % \
                             of the implied ancestors are observed{}.",
                            given.name,
                            found.without_descendants,
                            found.passing,
                            labels.cols(),
                            100.0 * found.observed_share(),
                            if found.by_convention() { ", so annotators seem to leave them out by convention" } else { "" }
                        ));
                    }
                }
            }
            let spread = |of: &dyn Fn(&(f64, f64)) -> f64| {
                let all = constants.iter().map(of);
                (all.clone().fold(f64::INFINITY, f64::min), all.fold(f64::NEG_INFINITY, f64::max))
            };
            let (a, b) = (spread(&|pair| pair.0), spread(&|pair| pair.1));
            outcome.reports(
                format!("{}: fitted constants depend on the threshold and on the ratio", given.name),
                format!("a from {:.3} to {:.3}, b from {:.3} to {:.3}; the literature's 0.5 and 0.4", a.0, a.1, b.0, b.1),
            );
        }
        if table.rows().len() == 0 {
            outcome.not_run("this experiment", self.data_needed());
        } else {
            outcome.tables.push(table);
            outcome.notes.push(
                "A fit that ends at the bounds of its constants (a = 0, a = 20, b = 1e6) shows that the curve does not describe these estimates."
                    .into(),
            );
        }
        outcome.notes.push(
            "The paper finds that about 40 000 of 500 000 labels of Wikipedia pass the threshold and about 300 000 have no descendant.".into(),
        );
        Ok(outcome)
    }
}
