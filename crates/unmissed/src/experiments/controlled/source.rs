//! Where surveys come from: generated, coat, or the user's Yahoo R3. Users choose what to rate, and some are shown items at random.

use crate::data::formats::{Content, ReadOptions, read};
use crate::data::survey::{SurveyOptions, TrainUsers, survey};
use crate::data::{Csr, Dataset, Ratings};
use crate::error::{Error, Result};
use crate::evaluate::Rate;
use crate::experiments::biased::{generated, part};
use crate::experiments::{Context, Given};
use crate::propensity::Propensities;
use std::path::{Path, PathBuf};

/// Ratings of at least this much are positive.
const POSITIVE: f32 = 4.0;
/// The original names of the files of Yahoo R3: what users chose, and what they were shown.
const YAHOO: [&str; 2] = ["ydata-ymusic-rating-study-v1_0-train.txt", "ydata-ymusic-rating-study-v1_0-test.txt"];

/// A survey.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) train: Dataset<'static>,
    pub(super) controlled: Dataset<'static>,
    /// How many of how many items are shown.
    pub(super) shown: (u32, u32),
    /// Test rows with complete labels and the true propensities, when they are known.
    pub(super) truth: Option<(Dataset<'static>, Propensities)>,
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
    let mut sources = vec![artificial(context)?];
    for given in &context.data {
        if let (Some(train), Some(test)) = (given.file("train.ascii"), given.file("test.ascii")) {
            sources.push(coat(context, given, &train, &test)?);
        }
    }
    if let Some(folder) = &context.yahoo_r3 {
        sources.push(yahoo(context, folder)?);
    }
    Ok(sources)
}

fn artificial(context: &Context<'_>) -> Result<Source> {
    let sizes = context.size.pick(
        ["1000", "600", "1000", "60", "8"],
        ["4000", "1500", "2500", "200", "10"],
        ["10000", "3000", "5000", "1000", "10"],
    );
    let names = ["users", "test-users", "controlled-users", "items", "shown"];
    let changes: Vec<(&str, String)> = names.into_iter().zip(sizes.map(str::to_owned)).collect();
    let data = generated("survey", &changes, context.seed)?;
    let values = data.table("propensities").map(|table| table.rows.iter().map(|row| row[0]).collect()).unwrap_or_default();
    let number = |place: usize| sizes[place].parse::<u32>().unwrap_or(0);
    Ok(Source {
        name: "survey".into(),
        train: part(&data, "train")?.clone(),
        controlled: part(&data, "controlled")?.clone(),
        shown: (number(4), number(3)),
        truth: Some((part(&data, "test_clean")?.clone(), Propensities::new("true", values)?)),
    })
}

fn coat(context: &Context<'_>, given: &Given, train: &Path, test: &Path) -> Result<Source> {
    let options = ReadOptions { format: Some("matrix".parse()?), ..ReadOptions::default() };
    let scores = |path: &Path| -> Result<Csr<'static, f32>> {
        match read(path, &options)? {
            Content::Scores(scores) => Ok(scores),
            _ => Err(Error::format("not a matrix of ratings").in_file(path)),
        }
    };
    made(&given.name, &scores(train)?, &scores(test)?, context.seed, TrainUsers::All)
}

fn yahoo(context: &Context<'_>, folder: &Path) -> Result<Source> {
    let open = |name: &str| -> Result<Ratings> {
        let path: PathBuf = folder.join(name);
        let text = std::fs::read(&path).map_err(|cause| Error::io("cannot read the ratings", &path, cause))?;
        Ratings::from_lines(&text).map_err(|error| error.in_file(&path))
    };
    let (chosen, random) = open(YAHOO[0])?.aligned(&open(YAHOO[1])?)?;
    made("Yahoo R3", &chosen.ratings, &random.ratings, context.seed, TrainUsers::Unique)
}

fn made(name: &str, chosen: &Csr<'_, f32>, random: &Csr<'_, f32>, seed: u64, train: TrainUsers) -> Result<Source> {
    let made = survey(chosen, random, &SurveyOptions { positive: POSITIVE, seed, train })?;
    let shown = (made.rate.shown.round() as u32, made.rate.items as u32);
    Ok(Source { name: name.to_owned(), train: made.train, controlled: made.controlled, shown, truth: None })
}
