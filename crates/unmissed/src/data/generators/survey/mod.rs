//! `survey`: users rate what they choose to rate, and some users are shown items at random.
//!
//! User i has a taste `t_i ~ N(0, I)`, item j a direction `v_j` of length 1, and j is relevant to i with probability
//!
//! `eta_ij = s(b_j + strength t_i . v_j)`, `s(z) = 1 / (1 + e^-z)`,
//!
//! where `b_j` is such that the prior of item j is `pi_j = c w_j / (1 + c w_j)`: a long tail `w = rank^-tail` that saturates
//! below 1, with c for the wanted mean number of relevant items. Features are the taste with normal noise added. A relevant
//! item is observed with a probability of its own,
//!
//! `p_j = (pi_j / max pi)^gamma exp(scatter z_j)`, `z_j ~ N(0, 1)`, clipped to [0.001, 1],
//!
//! which is a power curve with scatter around it: what no curve can recover, a controlled sample can. Controlled users are
//! others than those of the training part; each is shown `shown` of the m items, drawn uniformly without replacement, and
//! what is relevant among those is known. So the controlled propensity is `shown / m` for every item.
//!
//! ```
//! use unmissed::data::generators::generate;
//! let sizes = [("users", "100"), ("test-users", "10"), ("controlled-users", "50"), ("items", "200"), ("shown", "8")];
//! let data = generate("survey", &sizes, 1)?;
//! assert_eq!(data.part("controlled_shown")?.labels().nnz(), 50 * 8);
//! let priors: f64 = data.tables[1].rows.iter().map(|row| row[0]).sum();
//! assert!((priors - 12.0).abs() < 1e-9, "6 % of 200 items are relevant to a user, on average");
//! # Ok::<(), unmissed::Error>(())
//! ```
//!
//! Real users also choose by how much they like an item. With `rise` above 0 the log odds of a pair's propensity are those of p_j
//! plus `rise (t_i . v_j - mean)`, where the mean is over pairs in which the item is relevant; the table then has the mean
//! propensity of each item over these pairs.
//!
//! # Assumes
//! Observation is independent between items and users; without `rise` it depends on the item only.
//!
//! # Reference
//! The design follows the Yahoo R3 survey (1 000 songs, 10 random ones for each controlled user) at a similar size:
//! Marlin, Zemel: *Collaborative prediction and ranking with non-random missing data*, RecSys 2009.

pub(super) mod world;

use super::{Generated, GeneratedTable, Generator, GeneratorParameter, GeneratorSettings, row_number};
use crate::data::csr::checked_cols;
use crate::data::{Dataset, Labels};
use crate::error::Result;
use crate::spec::Named;
use world::{Item, World, draw};

const TRAIN: u64 = 0;
const TEST: u64 = 1;
const CONTROLLED: u64 = 2;

/// See the module's page.
pub(super) struct Survey;

impl crate::sealed::Sealed for Survey {}

impl Named for Survey {
    fn name(&self) -> &'static str {
        "survey"
    }
    fn summary(&self) -> &'static str {
        "users who choose what they rate, and users who are shown items at random (known relevance and propensities)"
    }
}

impl Generator for Survey {
    fn parameters(&self) -> &'static [GeneratorParameter] {
        &[
            GeneratorParameter { name: "users", default: "10000", help: "users of the training part" },
            GeneratorParameter { name: "test-users", default: "3000", help: "users of the test part" },
            GeneratorParameter { name: "controlled-users", default: "5000", help: "users who are shown items at random" },
            GeneratorParameter { name: "items", default: "1000", help: "number of items (labels)" },
            GeneratorParameter { name: "shown", default: "10", help: "items that a controlled user is shown" },
            GeneratorParameter { name: "dim", default: "20", help: "dimensions of taste, and number of features" },
            GeneratorParameter {
                name: "relevant",
                default: "0.06",
                help: "share of the items that are relevant to a user, on average",
            },
            GeneratorParameter { name: "tail", default: "0.8", help: "how fast relevance falls with an item's rank" },
            GeneratorParameter { name: "strength", default: "2.5", help: "how strongly taste determines relevance" },
            GeneratorParameter { name: "noise", default: "0.3", help: "standard deviation of the noise on features" },
            GeneratorParameter { name: "gamma", default: "0.5", help: "exponent of the propensity curve" },
            GeneratorParameter { name: "scatter", default: "0.5", help: "standard deviation of log propensities around the curve" },
            GeneratorParameter { name: "rise", default: "0", help: "how much more often users rate what they like more" },
        ]
    }

    fn generate(&self, settings: &GeneratorSettings, seed: u64) -> Result<Generated> {
        for users in ["users", "test-users", "controlled-users"] {
            settings.check_size(settings.whole(users, 1)?, settings.whole("items", 1)?.max(settings.whole("dim", 1)?))?;
        }
        let world = World::new(settings, seed)?;
        let items = checked_cols(world.items.len() as u64)?;
        let shown_each = settings.whole("shown", 1)?;
        let Some(shown_each) = u32::try_from(shown_each).ok().filter(|shown| *shown <= items) else {
            return Err(settings.wrong("shown", &format!("at most the number of items, {items}"), &shown_each.to_string()));
        };
        let all = |_: u64| 0..items;
        let mut parts = Vec::new();
        for (observed, complete, users, part) in
            [("train", "train_clean", "users", TRAIN), ("test", "test_clean", "test-users", TEST)]
        {
            let made = world.users(settings.whole(users, 1)?, part, all)?;
            parts.push((observed, Dataset::new(made.relevant.features().cloned(), made.observed)?));
            parts.push((complete, made.relevant));
        }
        let controlled_users = settings.whole("controlled-users", 1)?;
        let shown = |row| draw(seed, row, shown_each, items);
        let pattern = (0..controlled_users).map(|row| shown(row_number(CONTROLLED, row)));
        parts.push(("controlled", world.users(controlled_users, CONTROLLED, shown)?.relevant));
        parts.push(("controlled_shown", Dataset::new(None, Labels::from_ids(items.into(), pattern)?)?));
        let column = |get: fn(&Item) -> Vec<f64>| world.items.iter().map(get).collect();
        Ok(Generated {
            parts,
            tables: vec![
                GeneratedTable { stem: "propensities", columns: &["propensity"], rows: column(|item| vec![item.propensity]) },
                GeneratedTable { stem: "labels", columns: &["prior"], rows: column(|item| vec![item.prior]) },
            ],
            notes: vec![
                format!("controlled users were shown {shown_each} of {} items: --rate {shown_each}/{0}", world.items.len()),
                "propensities.csv has the true propensities of the training and test parts".into(),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{same_on_any_number_of_threads, settings};
    use super::*;
    use crate::data::LabelStats;

    fn small() -> GeneratorSettings {
        settings(
            &Survey,
            &[
                ("users", "4000"),
                ("test-users", "300"),
                ("controlled-users", "3000"),
                ("items", "120"),
                ("shown", "12"),
                ("relevant", "0.16666666666666666"),
            ],
        )
    }

    fn within(chi_square: f64, df: f64) -> bool {
        df >= 60.0 && (chi_square - df).abs() < 4.0 * (2.0 * df).sqrt()
    }

    #[test]
    fn items_are_relevant_and_observed_as_often_as_the_tables_say() {
        let data = Survey.generate(&small(), 5).unwrap();
        let counts = |stem: &str| LabelStats::of(data.part(stem).unwrap().labels());
        let (complete, observed) = (counts("train_clean"), counts("train"));
        let (mut relevance, mut observation, mut df) = (0.0, 0.0, (0.0, 0.0));
        for label in 0..120u32 {
            let prior = data.table("labels").unwrap().rows[label as usize][0];
            let p = data.table("propensities").unwrap().rows[label as usize][0];
            let (n, kept) = (complete.count(label) as f64, observed.count(label) as f64);
            let chi = |found: f64, trials: f64, p: f64| (found - trials * p).powi(2) / (trials * p * (1.0 - p));
            relevance += chi(n, 4000.0, prior);
            df.0 += 1.0;
            if n * p * (1.0 - p) >= 5.0 {
                observation += chi(kept, n, p);
                df.1 += 1.0;
            }
        }
        assert!(within(observation, df.1), "{observation} on {} degrees of freedom", df.1);
        // Tastes make items go together, which widens the distribution.
        assert!((relevance - df.0).abs() < 12.0 * (2.0f64 * df.0).sqrt(), "{relevance} on {} degrees of freedom", df.0);
    }

    /// With N users who are each shown r of m items, item j is shown about N r/m times and is then relevant as often as ever.
    #[test]
    fn controlled_users_are_shown_items_uniformly() {
        let data = Survey.generate(&small(), 6).unwrap();
        let (shown, relevant) = (data.part("controlled_shown").unwrap().labels(), data.part("controlled").unwrap().labels());
        assert!((0..shown.rows()).all(|row| shown.row_ids(row).len() == 12));
        assert!((0..shown.rows()).all(|row| relevant.row_ids(row).iter().all(|id| shown.row_ids(row).contains(id))));
        let counts = LabelStats::of(shown);
        let variance = 3000.0 * 0.1 * 0.9;
        let chi_square: f64 = (0..120).map(|label| (counts.count(label) as f64 - 300.0).powi(2) / variance).sum();
        assert!(within(chi_square, 119.0), "{chi_square}");
        let relevant_share = relevant.nnz() as f64 / shown.nnz() as f64;
        let prior = 20.0 / 120.0;
        // Relevant items of a user come together; their number within 12 has a variance of at most a few times binomial.
        assert!((relevant_share - prior).abs() < 8.0 * (prior * (1.0 - prior) / 36_000f64).sqrt(), "{relevant_share}");
    }

    /// The masks are those of `mask`, and with `rise` an item is observed as often as the table says.
    #[test]
    fn observation_follows_the_table_whether_it_depends_on_the_user_or_not() {
        let data = Survey.generate(&small(), 5).unwrap();
        let p: Vec<f64> = data.table("propensities").unwrap().rows.iter().map(|row| row[0]).collect();
        let masked = crate::data::mask(data.part("train_clean").unwrap().labels(), &p, 5).unwrap();
        assert!(*data.part("train").unwrap().labels() == masked);
        let mut rising = small();
        rising.set("rise", "1.5").unwrap();
        let data = Survey.generate(&rising, 5).unwrap();
        let counts = |stem: &str| LabelStats::of(data.part(stem).unwrap().labels());
        let (complete, observed) = (counts("train_clean"), counts("train"));
        let (mut chi_square, mut df) = (0.0, 0.0);
        for (label, row) in data.table("propensities").unwrap().rows.iter().enumerate() {
            let (n, p) = (complete.count(label as u32) as f64, row[0]);
            if n * p * (1.0 - p) >= 5.0 {
                chi_square += (observed.count(label as u32) as f64 - n * p).powi(2) / (n * p * (1.0 - p));
                df += 1.0;
            }
        }
        // Given the number of relevant pairs, their likings vary, too: somewhat wider than binomial.
        assert!(df >= 60.0 && chi_square < 1.5 * df + 4.0 * (2.0f64 * df).sqrt(), "{chi_square} on {df} degrees of freedom");
    }

    #[test]
    fn threads_do_not_matter() {
        let changes = [("users", "500"), ("test-users", "100"), ("controlled-users", "100"), ("items", "90")];
        same_on_any_number_of_threads(&Survey, &settings(&Survey, &changes));
    }

    #[test]
    fn files_and_columns_are_the_promised_ones() {
        let data = Survey.generate(&small(), 0).unwrap();
        let stems: Vec<&str> = data.parts.iter().map(|(stem, _)| *stem).collect();
        assert_eq!(stems, ["train", "train_clean", "test", "test_clean", "controlled", "controlled_shown"]);
        assert!(data.part("controlled_shown").unwrap().features().is_none());
        assert!(data.table("propensities").unwrap().to_csv().starts_with("label,propensity\n0,0."));
        let observed = data.part("train").unwrap().clone();
        observed.with_complete(data.part("train_clean").unwrap().labels().clone()).unwrap();
        let message = |name, value| Survey.generate(&settings(&Survey, &[(name, value)]), 0).unwrap_err().to_string();
        assert!(message("shown", "1001").contains("at most the number of items, 1000, found '1001'"));
        assert!(message("relevant", "1").contains("above 0 and below 1"));
        assert!(message("gamma", "-1").contains("'gamma' of 'survey'"));
        for name in ["tail", "strength", "noise", "gamma", "scatter"] {
            let message = message(name, "1e308");
            assert!(message.contains(&format!("'{name}' of 'survey' does not fit: expected a number from 0 to")), "{message}");
        }
    }

    #[test]
    fn the_largest_constants_still_make_data() {
        let size = [("users", "50"), ("test-users", "5"), ("controlled-users", "5"), ("items", "90"), ("shown", "8")];
        let extremes = [("tail", "1000"), ("strength", "1000"), ("noise", "1000"), ("gamma", "1000"), ("scatter", "100")];
        for extreme in extremes {
            Survey.generate(&settings(&Survey, &[&size[..], &[extreme]].concat()), 0).unwrap();
        }
        Survey.generate(&settings(&Survey, &[size, extremes].concat()), 0).unwrap();
    }
}
