//! Where surveys come from: two generators, coat, or the user's Yahoo R3. Users choose what to rate, and some are shown items at
//! random.

use crate::data::Rate;
use crate::data::csr::checked_cols;
use crate::data::formats::{Content, ReadOptions, read};
use crate::data::generators::generate;
use crate::data::survey::{SurveyOptions, TrainUsers, survey};
use crate::data::{Csr, Dataset, Labels, Ratings};
use crate::error::{Error, Result};
use crate::experiments::biased_data::true_propensities;
use crate::experiments::{Context, DataFolder, YahooR3};
use crate::propensity::Propensities;
use std::path::Path;

/// Ratings of at least this much are positive.
const POSITIVE: f32 = 4.0;

/// A survey.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) train: Dataset<'static>,
    pub(super) controlled: Dataset<'static>,
    /// How many of how many items are shown.
    pub(super) shown: (u32, u32),
    /// Which items those were, where it is known.
    pub(super) shown_pairs: Option<Labels<'static>>,
    /// What is known of generated surveys.
    pub(super) truth: Option<Truth>,
}

/// What only generated surveys know.
pub(super) struct Truth {
    /// Test rows with complete labels.
    pub(super) test: Dataset<'static>,
    /// The true propensities.
    pub(super) propensities: Propensities,
}

impl Source {
    pub(super) fn rate(&self) -> Rate {
        Rate::Shown { shown: self.shown.0, of: self.shown.1 }
    }

    /// The rate as a number.
    pub(super) fn share(&self) -> f64 {
        f64::from(self.shown.0) / f64::from(self.shown.1)
    }
}

/// All surveys that there are.
pub(super) fn sources(context: &Context<'_>) -> Result<Vec<Source>> {
    let mut sources = vec![artificial(context, context.seed)?, ratings(context, context.seed)?];
    for given in &context.data {
        if let (Some(train), Some(test)) = (given.file("train.ascii"), given.file("test.ascii")) {
            sources.push(coat(context, given, &train, &test)?);
        }
    }
    if let Some(files) = &context.yahoo_r3 {
        sources.push(yahoo(context, files)?);
    }
    Ok(sources)
}

/// A generated survey of the sizes of Yahoo R3, or smaller: users rate much of what they like, and features are dense.
pub(super) fn artificial(context: &Context<'_>, seed: u64) -> Result<Source> {
    let sizes = context.size.pick([1000, 600, 1000, 60, 8], [4000, 1500, 2500, 200, 10], [10_000, 3000, 5000, 1000, 10]);
    generated("survey", sizes, seed)
}

/// Generated ratings of the same sizes: users rate a handful of what they like, and the rest of their ratings are the features.
fn ratings(context: &Context<'_>, seed: u64) -> Result<Source> {
    let sizes = context.size.pick([1000, 600, 1000, 100, 10], [4000, 1500, 2500, 300, 10], [10_000, 3000, 5400, 1000, 10]);
    generated("ratings", sizes, seed)
}

fn generated(generator: &str, sizes: [u32; 5], seed: u64) -> Result<Source> {
    let names = ["users", "test-users", "controlled-users", "items", "shown"];
    let changes: Vec<(&str, String)> = names.into_iter().zip(sizes.map(|size: u32| size.to_string())).collect();
    let data = generate(generator, &changes, seed)?;
    Ok(Source {
        name: generator.into(),
        train: data.part("train")?.clone(),
        controlled: data.part("controlled")?.clone(),
        shown: (sizes[4], sizes[3]),
        shown_pairs: Some(data.part("controlled_shown")?.labels().clone()),
        truth: Some(Truth { test: data.part("test_clean")?.clone(), propensities: true_propensities(&data)? }),
    })
}

fn coat(context: &Context<'_>, given: &DataFolder, train: &Path, test: &Path) -> Result<Source> {
    let options = ReadOptions { format: Some("matrix".parse()?), ..ReadOptions::default() };
    let scores = |path: &Path| -> Result<Csr<'static, f32>> {
        match read(path, &options)? {
            Content::Scores(scores) => Ok(scores),
            _ => Err(Error::format("not a matrix of ratings").in_file(path)),
        }
    };
    made(&given.name, &scores(train)?, &scores(test)?, context.seed, TrainUsers::All)
}

fn yahoo(context: &Context<'_>, files: &YahooR3) -> Result<Source> {
    let open = |path: &Path| -> Result<Ratings> {
        let text = std::fs::read(path).map_err(|cause| Error::io("cannot read the ratings", path, cause))?;
        Ratings::from_lines(&text).map_err(|error| error.in_file(path))
    };
    let (chosen, random) = open(&files.chosen)?.aligned(&open(&files.random)?)?;
    made("Yahoo R3", &chosen.ratings, &random.ratings, context.seed, TrainUsers::Unique)
}

fn made(name: &str, chosen: &Csr<'_, f32>, random: &Csr<'_, f32>, seed: u64, train: TrainUsers) -> Result<Source> {
    let made = survey(chosen, random, &SurveyOptions { positive: POSITIVE, seed, train })?;
    // At most the number of items, so nothing is cut off.
    let shown = (made.rate.shown.round() as u32, checked_cols(made.rate.items)?);
    let (train, controlled) = (made.train, made.controlled);
    Ok(Source { name: name.to_owned(), train, controlled, shown, shown_pairs: None, truth: None })
}
