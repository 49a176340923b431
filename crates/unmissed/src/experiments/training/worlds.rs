//! The worlds that training is tried in: rows with observed labels, a controlled set, and what only a study knows.

use crate::data::csr::checked_cols;
use crate::data::generators::{draw_items, generate};
use crate::data::{Dataset, LabelStats, Labels, Rate, mask, split_rows};
use crate::error::Result;
use crate::experiments::biased_data::true_propensities;
use crate::experiments::{Context, Size};
use crate::propensity::{Propensities, models};

/// A world of a certain seed.
pub(super) struct World {
    /// Rows with observed labels.
    pub(super) train: Dataset<'static>,
    /// Other rows with complete labels.
    pub(super) test: Dataset<'static>,
    /// The true propensities; their means by label where they depend on the row.
    pub(super) truth: Propensities,
    /// Rows on which some labels were shown at random: those of them that are relevant.
    pub(super) controlled: Dataset<'static>,
    /// What was shown.
    pub(super) shown: Labels<'static>,
    pub(super) rate: Rate,
}

/// How a world is made.
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Whether it takes long, so that there are fewer seeds of it.
    pub(super) slow: bool,
    make: Make,
}

enum Make {
    /// A generator with changed parameters: their values at the smallest size, and otherwise.
    Generated(&'static str, &'static [(&'static str, [&'static str; 2])]),
    /// Hyper-balls whose labels go missing.
    Balls(Missing),
    /// A data set of the user's whose labels go missing: its name, and how many of the labels are shown to controlled rows.
    Given(&'static str, Missing, u32),
}

/// How labels go missing.
#[derive(Clone, Copy)]
enum Missing {
    /// By a propensity model of the complete counts.
    Model(&'static str),
    /// By the power law with its values exchanged: the rarer a label, the more of it is observed.
    InversePower,
    /// All with the same propensity.
    Flat(f64),
}

const SURVEY: [(&str, [&str; 2]); 5] = [
    ("users", ["1000", "4000"]),
    ("test-users", ["1000", "2000"]),
    ("controlled-users", ["600", "2500"]),
    ("items", ["60", "200"]),
    ("shown", ["8", "10"]),
];

/// The survey with other parameters on top.
macro_rules! survey {
    ($($change:expr),*) => {
        Make::Generated("survey", &[SURVEY[0], SURVEY[1], SURVEY[2], SURVEY[3], SURVEY[4], $($change),*])
    };
}

pub(super) static WORLDS: &[Plan] = &[
    Plan { name: "survey", about: "users who choose what they rate", slow: false, make: survey!() },
    Plan {
        name: "small survey",
        about: "half of the users, fewer of them controlled",
        slow: false,
        make: Make::Generated(
            "survey",
            &[
                ("users", ["600", "2000"]),
                ("test-users", ["1000", "2000"]),
                ("controlled-users", ["400", "1000"]),
                ("items", ["40", "200"]),
                ("shown", ["8", "10"]),
            ],
        ),
    },
    Plan {
        name: "250 controlled",
        about: "the survey with 250 controlled users",
        slow: false,
        make: survey!(("controlled-users", ["250", "250"])),
    },
    Plan {
        name: "50 controlled",
        about: "the survey with 50 controlled users",
        slow: false,
        make: survey!(("controlled-users", ["50", "50"])),
    },
    Plan {
        name: "weak features",
        about: "the survey with features that are mostly noise",
        slow: false,
        make: survey!(("noise", ["2", "2"])),
    },
    Plan {
        name: "unrelated",
        about: "the survey with propensities that have nothing to do with frequency",
        slow: false,
        make: survey!(("gamma", ["0", "0"]), ("scatter", ["1.5", "1.5"])),
    },
    Plan {
        name: "rising",
        about: "the survey with propensities that rise with relevance",
        slow: false,
        make: survey!(("rise", ["1", "1"])),
    },
    Plan {
        name: "balls, power",
        about: "hyper-balls, labels missing by the power law",
        slow: false,
        make: Make::Balls(Missing::Model("power")),
    },
    Plan {
        name: "balls, inverse",
        about: "hyper-balls, rare labels observed most",
        slow: false,
        make: Make::Balls(Missing::InversePower),
    },
    Plan {
        name: "bibtex, power",
        about: "labels missing by the power law",
        slow: false,
        make: Make::Given("bibtex", Missing::Model("power"), 20),
    },
    Plan {
        name: "bibtex, flat",
        about: "three of ten labels observed",
        slow: false,
        make: Make::Given("bibtex", Missing::Flat(0.3), 20),
    },
    Plan { name: "bibtex, complete", about: "nothing missing", slow: false, make: Make::Given("bibtex", Missing::Flat(1.0), 20) },
    Plan {
        name: "delicious, power",
        about: "labels missing by the power law",
        slow: true,
        make: Make::Given("delicious", Missing::Model("power"), 20),
    },
    Plan {
        name: "ratings",
        about: "users who rate a handful of what they like",
        slow: false,
        make: Make::Generated(
            "ratings",
            &[
                ("users", ["1000", "4000"]),
                ("test-users", ["1000", "2000"]),
                ("controlled-users", ["600", "2500"]),
                ("items", ["100", "300"]),
                ("shown", ["10", "10"]),
            ],
        ),
    },
];

impl Plan {
    /// The world of a seed; `None` when its data are not there.
    pub(super) fn world(&self, context: &Context<'_>, seed: u64) -> Result<Option<World>> {
        match &self.make {
            Make::Generated(generator, changes) => generated(context.size, generator, changes, seed).map(Some),
            Make::Balls(missing) => balls(context.size, *missing, seed).map(Some),
            Make::Given(name, missing, shown) => {
                let Some(folder) = context.data.iter().find(|folder| folder.name == *name) else { return Ok(None) };
                let Some((train, test)) = folder.rows()? else { return Ok(None) };
                let rows: Vec<usize> = (0..context.size.pick(1500, train.rows(), train.rows()).min(train.rows())).collect();
                masked(train.select_rows(&rows), test, *missing, *shown, seed).map(Some)
            }
        }
    }
}

fn generated(size: Size, generator: &str, changes: &[(&'static str, [&'static str; 2])], seed: u64) -> Result<World> {
    let changes: Vec<(&str, &str)> =
        changes.iter().map(|(name, values)| (*name, size.pick(values[0], values[1], values[1]))).collect();
    let data = generate(generator, &changes, seed)?;
    let last = |wanted: &str| changes.iter().rev().find(|(name, _)| *name == wanted).map_or("", |(_, value)| value);
    Ok(World {
        train: data.part("train")?.clone(),
        test: data.part("test_clean")?.clone(),
        truth: true_propensities(&data)?,
        controlled: data.part("controlled")?.clone(),
        shown: data.part("controlled_shown")?.labels().clone(),
        rate: format!("{}/{}", last("shown"), last("items")).parse()?,
    })
}

fn balls(size: Size, missing: Missing, seed: u64) -> Result<World> {
    let (train, test) = size.pick(("1500", "1500"), ("12000", "5000"), ("12000", "5000"));
    let data = generate("balls", &[("train-rows", train), ("test-rows", test)], seed)?;
    masked(data.part("train")?.clone(), data.part("test")?.clone(), missing, 20, seed)
}

/// A seventh of the rows with complete labels become controlled ones, at most 2 000; the others lose labels.
fn masked(complete: Dataset<'static>, test: Dataset<'static>, missing: Missing, shown: u32, seed: u64) -> Result<World> {
    let share = (1.0 / 7.0f64).min(2000.0 / complete.rows() as f64);
    let (rows, others) = split_rows(complete.rows(), share, seed)?;
    let (train, controlled) = (complete.select_rows(&rows), complete.select_rows(&others));
    let truth = missing.propensities(&LabelStats::of(train.labels()))?;
    let observed = mask(train.labels(), truth.values(), seed)?;
    let (train, _) = train.into_parts();
    let train = Dataset::new(train, observed)?;
    let labels = checked_cols(complete.labels().cols() as u64)?;
    let drawn = (0..others.len()).map(|row| draw_items(seed, row as u64, shown, labels));
    let drawn = Labels::from_ids(labels.into(), drawn)?;
    let seen = |row: usize, label: u32, (): ()| drawn.row_ids(row).binary_search(&label).ok().map(|_| label);
    let relevant = controlled.labels().filter_map(labels.into(), seen)?;
    let (features, _) = controlled.into_parts();
    let controlled = Dataset::new(features, relevant)?;
    Ok(World { train, test, truth, controlled, shown: drawn, rate: Rate::Shown { shown, of: labels } })
}

impl Missing {
    /// The propensities of labels with such complete counts.
    fn propensities(self, complete: &LabelStats) -> Result<Propensities> {
        let power = |model: &str| models::parse(model)?.propensities(complete);
        match self {
            Missing::Model(model) => power(model),
            Missing::Flat(p) => Propensities::new("flat", vec![p; complete.labels() as usize]),
            Missing::InversePower => {
                let by_power = power("power")?;
                let mut order: Vec<usize> = (0..by_power.len()).collect();
                order.sort_by(|a, b| by_power.values()[*a].total_cmp(&by_power.values()[*b]).then(a.cmp(b)));
                let mut values = vec![1.0; order.len()];
                order.iter().zip(order.iter().rev()).for_each(|(to, from)| values[*to] = by_power.values()[*from]);
                Propensities::new("inverse power", values)
            }
        }
    }
}
