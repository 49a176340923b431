//! The survey protocol: a data set with a bias-controlled part, from ratings that users chose to give and ratings of items
//! that were drawn for them at random.
//!
//! What a user rates by choice is biased: songs that nobody plays are rated by nobody. A survey shows each of some users r of
//! the m items, drawn uniformly, and asks for all r ratings. A positive item then has propensity r/m, the same for all.
//!
//! - Items are both features and labels; a rating of at least `positive` makes an item positive for a user.
//! - A training user's self-selected positives are split at random into two halves: the first are the features (1 each), the
//!   second the labels. Of an odd number the features get one more, so that a user with a single positive can be predicted for.
//! - The users of the random part are the controlled set. Features: the first half of their self-selected positives, the same
//!   half as in training (none for a user who chose nothing). Labels: the positives of the random part. Shown: everything in the random part, positive or not.
//!
//! # Assumes
//! The random part was drawn uniformly and without replacement, and every item that was shown was rated.
//!
//! # Reference
//! Schultheis, Wydmuch, Babbar and Dembczynski, "On missing labels, long-tails and propensities in extreme multi-label
//! classification", KDD 2022 (section on bias-controlled sets, there with the Yahoo R3 ratings).

use super::{Csr, Dataset, Features, Labels};
use crate::error::{Error, Result};
use crate::rng::{Purpose, stream};
use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

/// Which users are trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainUsers {
    /// Users who rated something by choice and are not in the random part: nobody is trained and tested on.
    Unique,
    /// All users who rated something by choice.
    All,
}

impl std::str::FromStr for TrainUsers {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "unique" => Ok(TrainUsers::Unique),
            "all" => Ok(TrainUsers::All),
            _ => Err(crate::spec::unknown("choice of training users", name, &["unique", "all"])),
        }
    }
}

/// How to make the data sets.
#[derive(Clone, Copy, Debug)]
pub struct SurveyOptions {
    /// Ratings of at least this much are positive.
    pub positive: f32,
    /// Seed of the halves.
    pub seed: u64,
    /// Which users are trained on.
    pub train: TrainUsers,
}

/// What a survey gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// Users to train on: half of what they like by choice as features, half as labels.
    pub train: Dataset<'static>,
    /// Users of the random part: half of what they like by choice as features, what they like of the random items as labels.
    pub controlled: Dataset<'static>,
    /// The items that each row of `controlled` was shown.
    pub shown: Labels<'static>,
    /// The row of the ratings (the user) that each row of `train` is.
    pub train_users: Vec<usize>,
    /// The row of the ratings (the user) that each row of `controlled` is.
    pub controlled_users: Vec<usize>,
    /// How many of the items a user was shown.
    pub rate: ShownRate,
}

/// How many items of all a user was shown: the propensity of the controlled set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownRate {
    /// Items shown to a user, r; the mean when users differ.
    pub shown: f64,
    /// All items, m.
    pub items: u64,
    /// Whether all users were shown equally many. If not, r/m is a mean, and a user's own propensity is another.
    pub uniform: bool,
}

impl ShownRate {
    /// r/m.
    pub fn value(&self) -> f64 {
        self.shown / self.items as f64
    }
}

/// Makes the data sets of a survey. Rows of both matrices are the same users, columns the same items
/// (see [`Ratings::aligned`](super::Ratings::aligned)).
///
/// ```
/// use unmissed::data::Scores;
/// use unmissed::data::survey::{survey, SurveyOptions, TrainUsers};
/// // User 0 rated items 0 to 3 by choice; user 1 rated items 0 and 1, and was shown items 2 and 3.
/// let chosen = Scores::new(4, vec![0, 4, 6], vec![0, 1, 2, 3, 0, 1], vec![5f32, 4., 4., 1., 5., 2.])?;
/// let random = Scores::new(4, vec![0, 0, 2], vec![2, 3], vec![4f32, 1.])?;
/// let made = survey(&chosen, &random, &SurveyOptions { positive: 4.0, seed: 1, train: TrainUsers::Unique })?;
/// assert_eq!((made.train_users, made.controlled_users), (vec![0], vec![1]));
/// assert_eq!(made.train.labels().nnz(), 1, "of three positives, two are features");
/// assert_eq!(made.controlled.labels().row_ids(0), [2]);
/// assert_eq!(made.shown.row_ids(0), [2, 3]);
/// assert_eq!(made.rate.value(), 2.0 / 4.0);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn survey(chosen: &Csr<'_, f32>, random: &Csr<'_, f32>, options: &SurveyOptions) -> Result<Survey> {
    check(chosen, random, options)?;
    let items = chosen.cols() as u64;
    let rated = |ratings: &Csr<'_, f32>, user: usize| !ratings.row_ids(user).is_empty();
    let controlled_users: Vec<usize> = (0..random.rows()).filter(|user| rated(random, *user)).collect();
    let is_trained = |user: &usize| rated(chosen, *user) && (options.train == TrainUsers::All || !rated(random, *user));
    let train_users: Vec<usize> = (0..chosen.rows()).filter(is_trained).collect();
    if controlled_users.is_empty() {
        return Err(Error::value("the random part has no ratings").hint("are the two files in the right order?"));
    }
    if train_users.is_empty() {
        let error = Error::value("no user is left to train on").found("only users of the random part");
        return Err(match options.train {
            TrainUsers::Unique => error.hint("train on all users ('all' instead of 'unique')"),
            TrainUsers::All => Error::value("the self-selected part has no ratings"),
        });
    }

    check_positives("self-selected", chosen, &train_users, options.positive)?;
    check_positives("random", random, &controlled_users, options.positive)?;

    let halves = |users: &[usize]| -> Vec<(Vec<u32>, Vec<u32>)> {
        users.par_iter().map(|user| halve(positives(chosen, *user, options.positive), options.seed, *user as u64)).collect()
    };
    let (features, labels): (Vec<_>, Vec<_>) = halves(&train_users).into_iter().unzip();
    let train = Dataset::new(Some(ones(items, features)?), Labels::from_ids(items, labels)?)?;
    let (features, _): (Vec<_>, Vec<_>) = halves(&controlled_users).into_iter().unzip();
    let labels = controlled_users.iter().map(|user| positives(random, *user, options.positive));
    let controlled = Dataset::new(Some(ones(items, features)?), Labels::from_ids(items, labels)?)?;
    let shown = random.select_rows(&controlled_users).pattern().into_owned().into_sorted();

    let lengths = || controlled_users.iter().map(|user| random.row_ids(*user).len());
    let rate = ShownRate {
        shown: lengths().sum::<usize>() as f64 / controlled_users.len() as f64,
        items,
        uniform: lengths().min() == lengths().max(),
    };
    Ok(Survey { train, controlled, shown, train_users, controlled_users, rate })
}

fn check(chosen: &Csr<'_, f32>, random: &Csr<'_, f32>, options: &SurveyOptions) -> Result<()> {
    let (expected, found) = ((chosen.rows(), chosen.cols()), (random.rows(), random.cols()));
    if expected != found {
        return Err(Error::value("the two parts of the survey have different users or items")
            .expected(format!("{} users and {} items in both", expected.0, expected.1))
            .found(format!("{} and {} in the random part", found.0, found.1))
            .hint("give them the same ids"));
    }
    if options.positive.is_nan() {
        return Err(Error::value("the threshold for positive ratings is not a number"));
    }
    Ok(())
}

/// Nobody likes anything: the threshold is not for these ratings.
fn check_positives(part: &str, ratings: &Csr<'_, f32>, users: &[usize], least: f32) -> Result<()> {
    let largest = users.iter().flat_map(|user| ratings.row(*user).1).copied().fold(f32::NEG_INFINITY, f32::max);
    if largest >= least {
        return Ok(());
    }
    Err(Error::value(format!("no rating of the {part} part is positive"))
        .expected(format!("ratings of at least {least}"))
        .found(format!("{largest} as the largest"))
        .hint("choose a smaller threshold for positive ratings"))
}

/// The items that a user likes, ascending.
fn positives(ratings: &Csr<'_, f32>, user: usize, least: f32) -> Vec<u32> {
    let (ids, values) = ratings.row(user);
    let mut liked: Vec<u32> = ids.iter().zip(values).filter(|(_, value)| **value >= least).map(|(id, _)| *id).collect();
    liked.sort_unstable();
    liked
}

/// Splits items at random; the first half gets the odd one. Both halves ascend.
fn halve(items: Vec<u32>, seed: u64, user: u64) -> (Vec<u32>, Vec<u32>) {
    let mut random = stream(seed, Purpose::Halves, user);
    // Sorting by random keys shuffles without depending on how a library draws bounded numbers.
    let mut keyed: Vec<(u64, u32)> = items.into_iter().map(|item| (random.next_u64(), item)).collect();
    keyed.sort_unstable();
    let (first, second) = keyed.split_at(keyed.len().div_ceil(2));
    let ascending = |half: &[(u64, u32)]| {
        let mut items: Vec<u32> = half.iter().map(|(_, item)| *item).collect();
        items.sort_unstable();
        items
    };
    (ascending(first), ascending(second))
}

fn ones(items: u64, rows: Vec<Vec<u32>>) -> Result<Features<'static>> {
    let rows = rows.into_iter().map(|row| row.into_iter().map(|item| (item, 1.0)));
    Ok(Features::Sparse(Csr::from_rows(items, rows)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(train: TrainUsers) -> SurveyOptions {
        SurveyOptions { positive: 4.0, seed: 3, train }
    }

    /// 40 users rate 30 items by choice; users from 25 on are shown 5 or 6 items.
    fn parts() -> (Csr<'static, f32>, Csr<'static, f32>) {
        let rating = |user: u32, item: u32| (item, ((user * 7 + item * 3) % 5 + 1) as f32);
        let chosen = (0..40).map(|user| (0..30).filter(move |item| (user + item) % 3 > 0).map(move |item| rating(user, item)));
        let count = |user| if user < 25 { 0 } else { 5 + user % 2 };
        let random = (0..40).map(|user| (0..count(user)).map(move |place| rating(user, (place * 7 + user) % 30)));
        (Csr::from_rows(30, chosen).unwrap(), Csr::from_rows(30, random).unwrap())
    }

    #[test]
    fn halves_are_disjoint_complete_and_even() {
        let (chosen, random) = parts();
        let made = survey(&chosen, &random, &options(TrainUsers::All)).unwrap();
        assert_eq!(made.train_users.len(), 40);
        let features = made.train.features().unwrap().to_sparse().unwrap().into_owned();
        let mut differs = false;
        for (row, user) in made.train_users.iter().enumerate() {
            let (first, second) = (features.row_ids(row), made.train.labels().row_ids(row));
            assert!(first.len() == second.len() || first.len() == second.len() + 1);
            let mut both = [first, second].concat();
            differs |= !both.is_sorted();
            both.sort_unstable();
            assert_eq!(both, positives(&chosen, *user, 4.0));
        }
        assert!(differs, "the halves are drawn, not cut");
        let controlled = made.controlled.features().unwrap().to_sparse().unwrap().into_owned();
        for (row, user) in made.controlled_users.iter().enumerate() {
            assert_eq!(controlled.row_ids(row), features.row_ids(*user), "the same half as in training");
        }
    }

    #[test]
    fn controlled_labels_are_among_what_was_shown() {
        let (chosen, random) = parts();
        let made = survey(&chosen, &random, &options(TrainUsers::Unique)).unwrap();
        assert_eq!((made.train_users.len(), made.controlled_users.len()), (25, 15));
        for row in 0..made.controlled.rows() {
            assert!(made.controlled.labels().row_ids(row).iter().all(|item| made.shown.row_ids(row).contains(item)));
        }
        assert_eq!(made.rate, ShownRate { shown: (8.0 * 6.0 + 7.0 * 5.0) / 15.0, items: 30, uniform: false });
    }

    #[test]
    fn the_same_whatever_the_threads_and_another_with_another_seed() {
        let (chosen, random) = parts();
        let with = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| survey(&chosen, &random, &SurveyOptions { seed, ..options(TrainUsers::All) }).unwrap())
        };
        assert_eq!(with(1, 3), with(4, 3));
        assert_ne!(with(1, 3), with(1, 4));
    }

    #[test]
    fn what_cannot_be_is_said() {
        let (chosen, random) = parts();
        let message =
            |chosen: &Csr<'_, f32>, random: &Csr<'_, f32>, train| survey(chosen, random, &options(train)).unwrap_err().to_string();
        let few = random.select_rows(&[0, 1]);
        assert!(message(&chosen, &few, TrainUsers::All).contains("different users or items"));
        let none = chosen.filter_map(30, |_, _, _| None).unwrap();
        assert!(message(&chosen, &none, TrainUsers::All).contains("random part has no ratings"));
        assert!(message(&none, &random, TrainUsers::All).contains("self-selected part has no ratings"));
        assert!(message(&random, &random, TrainUsers::Unique).contains("'all' instead of 'unique'"));
        let high = SurveyOptions { positive: 6.0, ..options(TrainUsers::All) };
        let error = survey(&chosen, &random, &high).unwrap_err().to_string();
        assert!(
            error.contains("self-selected part is positive: expected ratings of at least 6, found 5 as the largest"),
            "{error}"
        );
        let low = random.iter().map(|(ids, _)| ids.iter().map(|id| (*id, 2.0)));
        let low = Csr::from_rows(30, low).unwrap();
        assert!(message(&chosen, &low, TrainUsers::All).contains("random part is positive"));
        assert_eq!("all".parse::<TrainUsers>().unwrap(), TrainUsers::All);
        assert!("al".parse::<TrainUsers>().unwrap_err().to_string().contains("did you mean 'all'?"));
    }
}
