//! `unmissed list`: what the registries hold.

use crate::app::{App, Outcome};
use unmissed::cells;
use unmissed::data::formats::FORMATS;
use unmissed::data::generators::GENERATORS;
use unmissed::evaluate::{CHECKS, CONVENTIONS};
use unmissed::experiments::EXPERIMENTS;
use unmissed::losses::LOSSES;
use unmissed::metrics::{Estimator, METRICS};
use unmissed::optimize::methods::METHODS;
use unmissed::optimize::objectives::OBJECTIVES;
use unmissed::propensity::estimators::PROPENSITY_ESTIMATORS;
use unmissed::propensity::models::PROPENSITY_MODELS;
use unmissed::report::renderers::RENDERERS;
use unmissed::report::{Document, Table};
use unmissed::spec::{self, Named};
use unmissed::train::GRIDS;
use unmissed::tree::TREE_BUILDERS;

/// List what can be named in options: formats, generators, propensity models, ...
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  unmissed list\n  unmissed list formats --format json")]
pub(crate) struct Args {
    /// Only this registry
    registry: Option<String>,
}

struct Registry {
    name: &'static str,
    summary: &'static str,
    entries: Vec<(&'static str, &'static str)>,
}

impl Named for Registry {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
}

fn registry<T: Named + ?Sized>(name: &'static str, summary: &'static str, entries: &[&'static T]) -> Registry {
    Registry { name, summary, entries: entries.iter().map(|entry| (entry.name(), entry.summary())).collect() }
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome<()> {
    let registries = [
        registry("formats", "file formats (--from, --to)", FORMATS),
        registry("generators", "artificial data (unmissed generate)", GENERATORS),
        registry("models", "propensity models (--propensity)", PROPENSITY_MODELS),
        registry(
            "propensity-estimators",
            "propensity estimators, which use evidence (unmissed propensity estimate)",
            PROPENSITY_ESTIMATORS,
        ),
        registry("metrics", "what evaluation measures (--metrics)", METRICS),
        Registry {
            name: "estimators",
            summary: "how metrics are estimated from observed labels (--estimators)",
            entries: Estimator::ALL.iter().map(|estimator| (estimator.name(), estimator.summary())).collect(),
        },
        registry("conventions", "conventions on which libraries differ (--convention)", CONVENTIONS),
        registry("losses", "losses that training minimises (--loss)", LOSSES),
        registry("objectives", "what predictions are optimised for (unmissed optimize --metric)", OBJECTIVES),
        registry("methods", "optimisation methods (unmissed optimize --method)", METHODS),
        registry("trees", "trees over labels (train --tree)", TREE_BUILDERS),
        registry("experiments", "the paper's experiments (unmissed reproduce)", EXPERIMENTS),
        registry("grids", "settings that tuning tries (--grid)", GRIDS),
        Registry {
            name: "checks",
            summary: "findings by code (docs/checks.md)",
            entries: CHECKS.iter().map(|check| (check.code, check.title)).collect(),
        },
        registry("renderers", "ways to print results (--format)", RENDERERS),
    ];
    let registries: Vec<&Registry> = registries.iter().collect();
    let chosen = match &args.registry {
        Some(name) => vec![spec::find(&registries, "registry", name)?],
        None => registries,
    };
    let mut table = Table::new("registries", ["registry", "name", "what it is"]);
    for registry in chosen {
        for (name, summary) in &registry.entries {
            table.row(cells![registry.name, *name, *summary]);
        }
    }
    app.emit(&Document::new().table(table))
}
