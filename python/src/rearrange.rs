//! Data sets made of others: split again, completed by a hierarchy, or made of ratings.

use crate::files::data_out;
use crate::matrix::{Arrays, Rows, Sparse, labels_out};
use crate::run::{How, run};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use unmissed::data::formats::ReadOptions;
use unmissed::data::survey::{SurveyOptions, survey};
use unmissed::data::{Dataset, Ratings, keep_frequent, merge, split_rows};
use unmissed::propensity::dag::Dag;
use unmissed::propensity::impute::impute;
use unmissed::{Error, Result};

/// Merges data sets, keeps frequent labels and splits the rows: `(rows, features, labels)` of both parts, and the old id of each label.
#[pyfunction]
pub(crate) fn split<'py>(
    py: Python<'py>,
    parts: Vec<(Option<Rows<'py>>, Sparse<'py>)>,
    min_positives: u64,
    test: f64,
    seed: u64,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let parts = parts
        .iter()
        .map(|(rows, labels)| Ok((rows.as_ref().map(Rows::slices).transpose()?, labels.slices()?)))
        .collect::<PyResult<Vec<_>>>()?;
    let (kept, rows, data) = run(py, &how, |_| {
        let parts = parts
            .iter()
            .map(|(rows, labels)| Dataset::new(rows.as_ref().map(|rows| rows.features()).transpose()?, labels.labels()?))
            .collect::<Result<Vec<_>>>()?;
        let kept = keep_frequent(&merge(&parts.iter().collect::<Vec<_>>())?, min_positives)?;
        let (train, test) = split_rows(kept.data.rows(), test, seed)?;
        let data = [kept.data.select_rows(&train), kept.data.select_rows(&test)];
        Ok((kept.labels, [train, test], data))
    })?;
    let found = PyDict::new(py);
    found.set_item("labels", kept.into_pyarray(py))?;
    for ((name, rows), data) in ["train", "test"].into_iter().zip(rows).zip(data) {
        let rows: Vec<i64> = rows.into_iter().map(|row| row as i64).collect();
        let (features, labels) = data_out(py, data)?;
        found.set_item(name, (rows.into_pyarray(py), features, labels))?;
    }
    Ok(found)
}

/// Labels with all that a hierarchy of (child, parent) pairs, or of a file, implies, and how many were added.
#[pyfunction]
#[pyo3(name = "impute")]
pub(crate) fn imputed<'py>(py: Python<'py>, labels: Sparse<'py>, hierarchy: Hierarchy, how: How) -> PyResult<(Arrays<'py>, u64)> {
    let labels = labels.slices()?;
    let (imputed, added) = run(py, &how, move |_| {
        let labels = labels.labels()?;
        let dag = match hierarchy {
            Hierarchy::File(path) => Dag::read(path, labels.cols())?,
            Hierarchy::Pairs(edges) => Dag::new(labels.cols(), edges)?,
        };
        impute(&labels, &dag)
    })?;
    Ok((labels_out(py, imputed), added))
}

/// Which labels imply which.
#[derive(FromPyObject)]
pub(crate) enum Hierarchy {
    Pairs(Vec<(u32, u32)>),
    File(PathBuf),
}

/// Ratings as Python gives them: names of users and items with a number each, or a file and its format.
#[derive(FromPyObject)]
pub(crate) enum RatingsGiven<'py> {
    Entries(Vec<String>, Vec<String>, numpy::PyReadonlyArray1<'py, f32>),
    File(PathBuf, Option<String>),
}

/// The same without the interpreter.
enum OwnedRatings {
    Entries(Vec<String>, Vec<String>, Vec<f32>),
    File(PathBuf, Option<String>),
}

impl RatingsGiven<'_> {
    fn owned(self) -> PyResult<OwnedRatings> {
        Ok(match self {
            RatingsGiven::Entries(users, items, ratings) => OwnedRatings::Entries(users, items, ratings.as_slice()?.to_vec()),
            RatingsGiven::File(path, format) => OwnedRatings::File(path, format),
        })
    }
}

impl OwnedRatings {
    fn ratings(&self) -> Result<Ratings> {
        match self {
            OwnedRatings::File(path, format) => {
                let format = format.as_deref().map(str::parse).transpose()?;
                Ratings::read(path, &ReadOptions { format, ..ReadOptions::default() })
            }
            OwnedRatings::Entries(users, items, ratings) => {
                if users.len() != items.len() || users.len() != ratings.len() {
                    return Err(Error::value("ratings need a user and an item each").found(format!(
                        "{} users, {} items and {} ratings",
                        users.len(),
                        items.len(),
                        ratings.len()
                    )));
                }
                let entries = users.iter().zip(items).zip(ratings).map(|((user, item), rating)| (&**user, &**item, *rating));
                Ratings::from_entries(entries)
            }
        }
    }
}

/// A survey from what users chose to rate and what they were shown at random, with the names of users and items.
#[pyfunction]
pub(crate) fn survey_from_ratings<'py>(
    py: Python<'py>,
    chosen: RatingsGiven<'py>,
    random: RatingsGiven<'py>,
    positive: f32,
    train_users: &str,
    seed: u64,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (chosen, random) = (chosen.owned()?, random.owned()?);
    let train = train_users.parse().map_err(crate::errors::exception)?;
    let (made, users, items) = run(py, &how, |_| {
        let (chosen, random) = chosen.ratings()?.aligned(&random.ratings()?)?;
        let made = survey(&chosen.ratings, &random.ratings, &SurveyOptions { positive, seed, train })?;
        Ok((made, chosen.users, chosen.items))
    })?;
    let names = |rows: &[usize]| rows.iter().map(|row| users[*row].as_str()).collect::<Vec<_>>();
    let found = PyDict::new(py);
    found.set_item("train_users", names(&made.train_users))?;
    found.set_item("controlled_users", names(&made.controlled_users))?;
    found.set_item("items", items)?;
    found.set_item("rate", (made.rate.shown, made.rate.items, made.rate.uniform))?;
    found.set_item("train", data_out(py, made.train)?)?;
    found.set_item("controlled", data_out(py, made.controlled)?)?;
    found.set_item("shown", labels_out(py, made.shown))?;
    Ok(found)
}
