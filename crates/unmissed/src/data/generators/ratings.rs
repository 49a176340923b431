//! `ratings`: users who rate a few of the items they like, as on a music service, and users who are also shown items at random.
//!
//! User i has a taste `t_i ~ N(0, I)`, item j a direction `v_j` of length 1 and the liking `x_ij = t_i . v_j`, which is standard
//! normal. Item j is relevant to i with probability `s(b_j + strength x_ij)`, with b_j for a long tail of priors pi_j as in `survey`.
//! A relevant item is rated with probability
//!
//! `r_ij = s(a + gamma ln pi_j + taste x_ij + scatter z_j)`, `z_j ~ N(0, 1)`,
//!
//! which grows with the item's popularity and with how much the user likes it; the constant a is such that a user rates `rated`
//! relevant items on average. Each rated item goes to the features or to the labels by a fair coin, so a label is observed with
//! probability r_ij / 2: by default about 4 of the 85 that are relevant. Features are 1 for each rated item that went there: the
//! rest of the user's own feedback, sparse and biased in the same way.
//!
//! Controlled users rate in the same way; their ratings that went to the features are their features. Each is shown `shown` items,
//! drawn uniformly without replacement, and what is relevant among those are the labels.
//!
//! The table of propensities has the mean of r_ij / 2 over pairs that are relevant: what a per-label estimate can know at best.
//!
//! ```
//! let changes = [("users", "400"), ("test-users", "10"), ("controlled-users", "50"), ("items", "300")];
//! let data = unmissed::data::generators::generate("ratings", &changes, 1)?;
//! let observed = data.part("train")?.labels().nnz() as f64 / 400.0;
//! assert!((observed - 4.0).abs() < 0.5);
//! # Ok::<(), unmissed::Error>(())
//! ```
//!
//! # Assumes
//! Users rate items independently of each other given their taste. Only relevant items are rated at all: a user who rates what they
//! dislike leaves no trace here, as when only high ratings count as positive.
//!
//! # Reference
//! Yahoo R3 in Schultheis et al., KDD 2022: halves of the positive ratings of a user as features and labels, 10 of 1 000 songs shown.
//! Missingness that depends on the rating itself: Marlin, Zemel: *Collaborative prediction and ranking with non-random missing
//! data*, RecSys 2009.

use super::survey::world::{bias, draw, normal_mean, priors, zero};
use super::{Generated, GeneratedTable, Generator, GeneratorParameter, GeneratorSettings, row_number};
use crate::data::csr::checked_cols;
use crate::data::{Csr, Dataset, Features, Labels, check_label_limit};
use crate::error::Result;
use crate::rng::{Purpose, row_key, stream, uniform_at};
use crate::sigmoid::sigmoid;
use crate::spec::Named;
use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

const TRAIN: u64 = 0;
const TEST: u64 = 1;
const CONTROLLED: u64 = 2;
/// Larger constants make no other data, only numbers that break down.
const MOST: f64 = 100.0;

/// See the module's page.
pub(super) struct Ratings;

impl crate::sealed::Sealed for Ratings {}

impl Named for Ratings {
    fn name(&self) -> &'static str {
        "ratings"
    }
    fn summary(&self) -> &'static str {
        "users who rate a handful of the many items they like, half of them as features; items shown at random to others"
    }
}

impl Generator for Ratings {
    fn parameters(&self) -> &'static [GeneratorParameter] {
        &[
            GeneratorParameter { name: "users", default: "10000", help: "users of the training part" },
            GeneratorParameter { name: "test-users", default: "3000", help: "users of the test part" },
            GeneratorParameter { name: "controlled-users", default: "5400", help: "users who are shown items at random" },
            GeneratorParameter { name: "items", default: "1000", help: "number of items (features and labels)" },
            GeneratorParameter { name: "shown", default: "10", help: "items that a controlled user is shown" },
            GeneratorParameter { name: "dim", default: "8", help: "dimensions of taste" },
            GeneratorParameter {
                name: "relevant",
                default: "0.085",
                help: "share of the items that are relevant to a user, on average",
            },
            GeneratorParameter {
                name: "rated",
                default: "8",
                help: "relevant items that a user rates, on average; half of them become labels",
            },
            GeneratorParameter { name: "tail", default: "0.6", help: "how fast relevance falls with an item's rank" },
            GeneratorParameter { name: "strength", default: "2.5", help: "how strongly taste determines relevance" },
            GeneratorParameter { name: "taste", default: "0.5", help: "how much more often users rate what they like more" },
            GeneratorParameter { name: "gamma", default: "0.5", help: "how much more often popular items are rated" },
            GeneratorParameter {
                name: "scatter",
                default: "0.5",
                help: "standard deviation of items around that, on the scale of log odds",
            },
        ]
    }

    fn generate(&self, settings: &GeneratorSettings, seed: u64) -> Result<Generated> {
        let items = settings.whole("items", 1)?;
        for users in ["users", "test-users", "controlled-users"] {
            settings.check_size(settings.whole(users, 1)?, items)?;
        }
        let items = checked_cols(items as u64)?;
        let shown_each = settings.whole("shown", 1)?;
        let Some(shown_each) = u32::try_from(shown_each).ok().filter(|shown| *shown <= items) else {
            return Err(settings.wrong("shown", &format!("at most the number of items, {items}"), &shown_each.to_string()));
        };
        let world = World::new(settings, seed)?;
        let mut parts = Vec::new();
        for (observed, complete, users, part) in
            [("train", "train_clean", "users", TRAIN), ("test", "test_clean", "test-users", TEST)]
        {
            let users = world.users(settings.whole(users, 1)?, part)?;
            parts.push((observed, Dataset::new(Some(users.features.clone()), users.observed)?));
            parts.push((complete, Dataset::new(Some(users.features), users.relevant)?));
        }
        let controlled = world.users(settings.whole("controlled-users", 1)?, CONTROLLED)?;
        let shown = (0..controlled.relevant.rows()).map(|row| draw(seed, row_number(CONTROLLED, row), shown_each, items));
        let shown = Labels::from_ids(items.into(), shown)?;
        let seen = controlled
            .relevant
            .filter_map(items.into(), |row, label, ()| shown.row_ids(row).binary_search(&label).ok().map(|_| label))?;
        parts.push(("controlled", Dataset::new(Some(controlled.features), seen)?));
        parts.push(("controlled_shown", Dataset::new(None, shown)?));
        let column = |get: fn(&Item) -> f64| world.items.iter().map(|item| vec![get(item)]).collect();
        Ok(Generated {
            parts,
            tables: vec![
                GeneratedTable { stem: "propensities", columns: &["propensity"], rows: column(|item| item.propensity) },
                GeneratedTable { stem: "labels", columns: &["prior"], rows: column(|item| item.prior) },
            ],
            notes: vec![
                format!("controlled users were shown {shown_each} of {items} items: --rate {shown_each}/{items}"),
                "propensities.csv has the mean of each item's propensities over the users to whom it is relevant".into(),
            ],
        })
    }
}

struct Item {
    direction: Vec<f64>,
    bias: f64,
    prior: f64,
    /// The log odds that it is rated where it is relevant and the liking is 0.
    rated: f64,
    /// The mean probability to be observed as a label where it is relevant.
    propensity: f64,
}

/// What does not depend on the part.
struct World {
    items: Vec<Item>,
    strength: f64,
    taste: f64,
    dim: usize,
    seed: u64,
}

/// Users with what they like, and which of it became features and labels.
struct Users {
    features: Features<'static>,
    observed: Labels<'static>,
    relevant: Labels<'static>,
}

impl World {
    fn new(settings: &GeneratorSettings, seed: u64) -> Result<World> {
        let up_to = |name| settings.number(name, &format!("a number from 0 to {MOST}"), |x| (0.0..=MOST).contains(&x));
        let (items, dim) = (settings.whole("items", 1)?, settings.whole("dim", 1)?);
        check_label_limit(items as u64)?;
        settings.check_size(items, dim)?;
        let share = settings.number("relevant", "a share above 0 and below 1", |share| share > 0.0 && share < 1.0)?;
        let (tail, strength, taste) = (up_to("tail")?, up_to("strength")?, up_to("taste")?);
        let (gamma, scatter) = (up_to("gamma")?, up_to("scatter")?);
        let relevant = share * items as f64;
        let expected = format!("a number above 0 and below {relevant}, the relevant items of a user");
        let wanted = settings.number("rated", &expected, |rated| rated > 0.0 && rated < relevant)?;
        let mut drawn: Vec<(u64, usize, Vec<f64>, f64)> = (0..items)
            .map(|label| {
                let mut rng = stream(seed, Purpose::GenerateLabels, label as u64);
                let key = rng.next_u64();
                let direction: Vec<f64> = (0..dim).map(|_| StandardNormal.sample(&mut rng)).collect();
                (key, label, direction, StandardNormal.sample(&mut rng))
            })
            .collect();
        // Ranks are shuffled over labels, so that the number of a label says nothing about its frequency.
        drawn.sort_unstable_by_key(|(key, label, ..)| (*key, *label));
        let mut items: Vec<(usize, Item)> = drawn
            .into_par_iter()
            .zip(priors(items, relevant, tail))
            .map(|((_, label, mut direction, deviate), prior)| {
                let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
                direction.iter_mut().for_each(|x| *x /= length);
                let rated = gamma * prior.ln() + scatter * deviate;
                (label, Item { direction, bias: bias(prior, strength), prior, rated, propensity: 1.0 })
            })
            .collect();
        items.sort_unstable_by_key(|(label, _)| *label);
        let mut items: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
        // How often an item is relevant and rated.
        let often = |item: &Item, a: f64| normal_mean(|x| sigmoid(item.bias + strength * x) * sigmoid(a + item.rated + taste * x));
        let reach = 700.0 + MOST * (MOST + 50.0);
        let a =
            zero(-reach, reach, |a| items.par_iter().map(|item| often(item, a)).collect::<Vec<_>>().iter().sum::<f64>() - wanted);
        items.par_iter_mut().for_each(|item| {
            // Rounding could leave nothing of the rarest.
            item.propensity = (0.5 * often(item, a) / item.prior).clamp(f64::MIN_POSITIVE, 1.0);
            item.rated += a;
        });
        Ok(World { items, strength, taste, dim, seed })
    }

    fn users(&self, users: usize, part: u64) -> Result<Users> {
        let one = |row: usize| {
            let row = row_number(part, row);
            let mut rng = stream(self.seed, Purpose::GenerateRows, row);
            let key = rng.next_u64();
            let taste: Vec<f64> = (0..self.dim).map(|_| StandardNormal.sample(&mut rng)).collect();
            let (rates, halves) = (row_key(self.seed, Purpose::Mask, row), row_key(self.seed, Purpose::Halves, row));
            let (mut features, mut observed, mut relevant) = (Vec::new(), Vec::new(), Vec::new());
            for (label, item) in self.items.iter().enumerate() {
                let label = label as u32;
                let liking: f64 = taste.iter().zip(&item.direction).map(|(t, v)| t * v).sum();
                if uniform_at(key, label) >= sigmoid(item.bias + self.strength * liking) {
                    continue;
                }
                relevant.push(label);
                if uniform_at(rates, label) < sigmoid(item.rated + self.taste * liking) {
                    if uniform_at(halves, label) < 0.5 {
                        features.push((label, 1.0f32));
                    } else {
                        observed.push(label);
                    }
                }
            }
            (features, (observed, relevant))
        };
        let (features, labels): (Vec<_>, Vec<_>) = (0..users).into_par_iter().map(one).unzip();
        let (observed, relevant): (Vec<_>, Vec<_>) = labels.into_iter().unzip();
        let items = self.items.len() as u64;
        Ok(Users {
            features: Features::Sparse(Csr::from_rows(items, features)?),
            observed: Labels::from_ids(items, observed)?,
            relevant: Labels::from_ids(items, relevant)?,
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
            &Ratings,
            &[("users", "6000"), ("test-users", "300"), ("controlled-users", "3000"), ("items", "200"), ("relevant", "0.2")],
        )
    }

    /// Each item is relevant and observed as often as the tables say; users have 40 relevant items and 4 in each half.
    #[test]
    fn items_are_relevant_and_observed_as_often_as_the_tables_say() {
        let data = Ratings.generate(&small(), 5).unwrap();
        let counts = |stem: &str| LabelStats::of(data.part(stem).unwrap().labels());
        let (complete, observed) = (counts("train_clean"), counts("train"));
        let (mut chi_square, mut df) = (0.0, 0.0);
        for label in 0..200u32 {
            let p = data.table("propensities").unwrap().rows[label as usize][0];
            let n = complete.count(label) as f64;
            if n * p * (1.0 - p) >= 5.0 {
                chi_square += (observed.count(label) as f64 - n * p).powi(2) / (n * p * (1.0 - p));
                df += 1.0;
            }
        }
        // Propensities of the same item differ between users, which widens nothing given that users are independent.
        assert!(df >= 60.0 && (chi_square - df).abs() < 4.0 * (2.0f64 * df).sqrt(), "{chi_square} on {df} degrees of freedom");
        let mean = |stem: &str| data.part(stem).unwrap().labels().nnz() as f64 / 6000.0;
        assert!((mean("train_clean") - 40.0).abs() < 1.0, "{}", mean("train_clean"));
        assert!((mean("train") - 4.0).abs() < 0.15, "{}", mean("train"));
        let Some(Features::Sparse(features)) = data.part("train").unwrap().features() else { panic!("sparse features") };
        assert!((features.nnz() as f64 / 6000.0 - 4.0).abs() < 0.15);
    }

    /// Halves of a user's ratings are disjoint, and all of them are relevant.
    #[test]
    fn features_and_labels_are_halves_of_the_ratings() {
        let data = Ratings.generate(&small(), 6).unwrap();
        let (train, complete) = (data.part("train").unwrap(), data.part("train_clean").unwrap());
        let Some(Features::Sparse(features)) = train.features() else { panic!("sparse features") };
        for row in 0..train.rows() {
            let (chosen, observed, relevant) = (features.row(row).0, train.labels().row_ids(row), complete.labels().row_ids(row));
            assert!(chosen.iter().all(|item| !observed.contains(item) && relevant.contains(item)));
            assert!(observed.iter().all(|item| relevant.contains(item)));
        }
    }

    /// Users rate more often what they like more: among relevant pairs, likely ones are observed more often.
    #[test]
    fn propensities_follow_taste() {
        let with =
            |taste| settings(&Ratings, &[("users", "4000"), ("items", "60"), ("relevant", "0.3"), ("taste", taste), ("dim", "1")]);
        // With one dimension a user likes half of the items and dislikes the others; the more relevant items, the stronger the taste.
        let gain = |taste| {
            let data = Ratings.generate(&with(taste), 7).unwrap();
            let (observed, complete) = (data.part("train").unwrap().labels(), data.part("train_clean").unwrap().labels());
            let (mut sums, mut n) = ([0.0; 5], 0.0);
            for row in 0..observed.rows() {
                let (x, y) = (complete.row_ids(row).len() as f64, observed.row_ids(row).len() as f64);
                for (sum, value) in sums.iter_mut().zip([x, y, x * x, x * y, y * y]) {
                    *sum += value;
                }
                n += 1.0;
            }
            let [x, y, xx, xy, _] = sums.map(|sum| sum / n);
            (xy - x * y) / (xx - x * x) / (y / x)
        };
        // The elasticity of the number of observed labels in the number of relevant ones is 1 without taste.
        let (none, some) = (gain("0"), gain("1"));
        assert!((none - 1.0).abs() < 0.1 && some > 1.1, "{none} {some}");
    }

    #[test]
    fn threads_do_not_matter() {
        let changes = [("users", "500"), ("test-users", "100"), ("controlled-users", "100"), ("items", "150")];
        same_on_any_number_of_threads(&Ratings, &settings(&Ratings, &changes));
    }

    #[test]
    fn parameters_are_checked() {
        let message = |name, value| Ratings.generate(&settings(&Ratings, &[(name, value)]), 0).unwrap_err().to_string();
        assert!(message("shown", "1001").contains("at most the number of items, 1000"));
        assert!(message("rated", "90").contains("below 85, the relevant items of a user"));
        for name in ["tail", "strength", "taste", "gamma", "scatter"] {
            assert!(message(name, "1e9").contains(&format!("'{name}' of 'ratings' does not fit")));
        }
        let size = [("users", "30"), ("test-users", "5"), ("controlled-users", "5"), ("items", "90"), ("rated", "3")];
        let extremes = [("tail", "100"), ("strength", "100"), ("taste", "100"), ("gamma", "100"), ("scatter", "100")];
        for extreme in extremes {
            Ratings.generate(&settings(&Ratings, &[&size[..], &[extreme]].concat()), 0).unwrap();
        }
    }
}
