//! [`PairPropensities`]: the propensities of all pairs of some rows, as training takes them.
//!
//! Training needs the propensity of every (row, label) pair, observed or not. The logit of a row-dependent model is a sum of a part
//! of the label, a part of the row, and for few pairs (those that a model ranks, or that a given covariate has a value for) a part
//! of their own, so pairs cost one addition each.

use super::covariates::{self, Place, score_unit};
use super::newton::{Parameters, propensity};
use super::{Covariate, CovariateLevel, GivenCovariate, RowModel};
use crate::data::{Csr, Labels};
use crate::error::{Error, Result};
use crate::propensity::{Origin, Propensities};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// See the module's page.
#[derive(Clone, Debug)]
pub struct PairPropensities {
    origin: Origin,
    by_label: Vec<f64>,
    by_row: Vec<f64>,
    /// What is added for a pair that was observed: the pair itself is not among the other labels of the row.
    observed: Vec<f64>,
    /// What is added for single pairs, by row and label.
    pairs: Vec<BTreeMap<u32, f64>>,
    /// Rows on which nothing is missing.
    complete: Vec<bool>,
}

impl PairPropensities {
    /// Log odds that are a sum of a part of the label and a part of the row.
    ///
    /// ```
    /// use unmissed::propensity::rows::PairPropensities;
    /// let p = PairPropensities::additive("mine", vec![0.0, 1.0], vec![0.0, -1.0, 2.0]);
    /// assert_eq!((p.rows(), p.labels(), p.get(1, 1, false)), (3, 2, 0.5));
    /// ```
    pub fn additive(origin: impl Into<Origin>, by_label: Vec<f64>, by_row: Vec<f64>) -> PairPropensities {
        let rows = by_row.len();
        PairPropensities {
            origin: origin.into(),
            by_label,
            by_row,
            observed: vec![0.0; rows],
            pairs: Vec::new(),
            complete: vec![false; rows],
        }
    }

    /// The propensity of a pair.
    pub fn get(&self, row: usize, label: u32, is_observed: bool) -> f64 {
        if self.complete[row] {
            return 1.0;
        }
        let own = self.pairs.get(row).and_then(|pairs| pairs.get(&label)).copied().unwrap_or(0.0);
        let observed = if is_observed { self.observed[row] } else { 0.0 };
        propensity(self.by_label[label as usize] + self.by_row[row] + own + observed)
    }

    /// The same under the name of where they came from.
    #[must_use]
    pub fn with_origin(mut self, origin: impl Into<Origin>) -> Self {
        self.origin = origin.into();
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.by_row.len()
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.by_label.len()
    }

    /// The mean over rows of each label's propensities, as if none of its pairs were observed.
    pub fn means(&self) -> Result<Propensities> {
        let rows = self.rows().max(1) as f64;
        let mean = |label: usize| (0..self.rows()).map(|row| self.get(row, label as u32, false)).sum::<f64>() / rows;
        let values: Vec<f64> = (0..self.labels()).into_par_iter().map(mean).collect();
        Ok(Propensities::new(self.origin.clone(), values)?.with_note("the mean over training rows of row-dependent propensities"))
    }

    /// The propensities of the unobserved pairs of a row with neighbouring labels, those from `first` on.
    pub fn fill(&self, row: usize, first: u32, out: &mut [f32]) {
        let labels = first as usize..self.labels().min(first as usize + out.len());
        for (label, out) in labels.zip(out.iter_mut()) {
            *out = self.get(row, label as u32, false) as f32;
        }
    }

    /// The same with nothing missing on some rows: those whose later labels are known.
    #[must_use]
    pub fn with_complete_rows(mut self, complete: Vec<bool>) -> Self {
        debug_assert_eq!(complete.len(), self.rows());
        self.complete = complete;
        self
    }
}

impl RowModel {
    /// The propensities of all pairs of rows with these observed labels. What the model was told about its own rows is needed for
    /// these: predictions of the audited model when ranks or scores are among the covariates, and values of given covariates of rows
    /// and pairs, in the order of [`RowModel::given`].
    ///
    /// ```
    /// use unmissed::data::Labels;
    /// use unmissed::propensity::rows::{RowEvidence, RowFit};
    /// let ids = |keep: fn(u32) -> bool| (0..200u32).map(move |row| (0..3).filter(|label| keep(row + 7 * label)).collect::<Vec<_>>());
    /// let (early, later) = (Labels::from_ids(3, ids(|i| i % 6 == 0))?, Labels::from_ids(3, ids(|i| i % 3 == 0))?);
    /// let model = RowFit::new(&early, &later, RowEvidence::Later)?.replicates(0, 0).run()?;
    /// let propensities = model.pair_propensities(&early, None, &[])?;
    /// assert!((propensities.get(0, 0, true) - 0.5).abs() < 0.1);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn pair_propensities(
        &self,
        observed: &Labels<'_>,
        scores: Option<&Csr<'_, f32>>,
        given: &[GivenCovariate<'_>],
    ) -> Result<PairPropensities> {
        self.check_pairs(observed, scores, given)?;
        let parameters = &self.parameters;
        let unit = |column: usize| parameters.beta[column] / self.scales[column];
        // Columns: the constant, those of covariates, given ones.
        let mut by_label = vec![unit(0); observed.cols()];
        let effects = self.labels.iter().zip(&parameters.effects);
        effects.for_each(|(label, effect)| by_label[*label as usize] += f64::from(*effect));
        let mut by_row = vec![0.0; observed.rows()];
        let mut of_observed = vec![0.0; observed.rows()];
        let mut pairs = vec![BTreeMap::new(); observed.rows()];
        let mut column = 1;
        let mut place_columns = Vec::new();
        for covariate in &self.covariates {
            let width = covariates::names(std::slice::from_ref(covariate), &[]).len() - 1;
            match covariate {
                Covariate::LogCount => {
                    let counts = by_label.iter_mut().zip(&self.counts);
                    counts.for_each(|(sum, count)| *sum += unit(column) * (*count as f64).ln_1p());
                }
                Covariate::OtherLabels => {
                    for row in 0..observed.rows() {
                        let seen = observed.row_ids(row).len() as f64;
                        by_row[row] += unit(column) * seen.ln_1p();
                        of_observed[row] += unit(column) * ((seen - 1.0).max(0.0).ln_1p() - seen.ln_1p());
                    }
                }
                Covariate::Rank | Covariate::ScoreDifference => place_columns.push((*covariate, column..column + width)),
            }
            column += width;
        }
        if let (Some(scores), false) = (scores, place_columns.is_empty()) {
            let per = score_unit(scores);
            for (row, own) in pairs.iter_mut().enumerate() {
                let (ids, values) = scores.row(row);
                for &label in ids {
                    let place = Place::find(ids, values, label, per);
                    *own.entry(label).or_insert(0.0) += placed(parameters, &self.scales, &place_columns, place);
                }
            }
        }
        let mut told = given.iter();
        for (name, column) in self.given.iter().zip(column..) {
            if name.level == CovariateLevel::Label {
                by_label.iter_mut().zip(&name.labels).for_each(|(sum, value)| *sum += unit(column) * value);
                continue;
            }
            match told.next() {
                Some(GivenCovariate::Rows(values)) => {
                    by_row.iter_mut().zip(values).for_each(|(sum, value)| *sum += unit(column) * value)
                }
                Some(GivenCovariate::Pairs(matrix)) => {
                    for (row, own) in pairs.iter_mut().enumerate() {
                        let (ids, values) = matrix.row(row);
                        ids.iter().zip(values).for_each(|(label, value)| {
                            *own.entry(*label).or_insert(0.0) += unit(column) * f64::from(*value);
                        });
                    }
                }
                Some(GivenCovariate::Labels(_)) | None => {}
            }
        }
        let complete = vec![false; observed.rows()];
        let origin = Origin::Given("row-dependent".to_owned());
        Ok(PairPropensities { origin, by_label, by_row, observed: of_observed, pairs, complete })
    }

    fn check_pairs(&self, observed: &Labels<'_>, scores: Option<&Csr<'_, f32>>, given: &[GivenCovariate<'_>]) -> Result<()> {
        if observed.cols() != self.label_count() {
            return Err(Error::value("the row-dependent propensities do not match the labels of the data")
                .expected(observed.cols().to_string())
                .found(self.label_count().to_string()));
        }
        if self.uses_scores() {
            let fits = scores.is_some_and(|scores| (scores.rows(), scores.cols()) == (observed.rows(), observed.cols()));
            if !fits {
                return Err(Error::value("the row-dependent propensities need the model's predictions for all training rows")
                    .hint("fit them without 'rank' and 'score-difference' for training"));
            }
        }
        let wanted: Vec<&super::GivenName> = self.given.iter().filter(|name| name.level != CovariateLevel::Label).collect();
        if wanted.len() != given.len() || wanted.iter().zip(given).any(|(name, given)| name.level != given.level()) {
            let names: Vec<&str> = wanted.iter().map(|name| name.name.as_str()).collect();
            return Err(Error::value("the row-dependent propensities need their covariates for the training rows")
                .expected(if names.is_empty() { "none".to_owned() } else { names.join(", ") })
                .found(given.len().to_string()));
        }
        wanted.iter().zip(given).try_for_each(|(name, given)| given.check(&name.name, observed.rows(), observed.cols()))
    }
}

/// The part of the logit that follows from a label's place among the predictions of its row.
fn placed(parameters: &Parameters, scales: &[f64], columns: &[(Covariate, std::ops::Range<usize>)], place: Option<Place>) -> f64 {
    let mut x = Vec::new();
    let mut sum = 0.0;
    for (covariate, columns) in columns {
        x.clear();
        covariates::describe(std::slice::from_ref(covariate), 0, 0, place, &mut x);
        sum += columns.clone().zip(&x[1..]).map(|(column, x)| parameters.beta[column] * x / scales[column]).sum::<f64>();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::{Pair, RowEvidence, RowFit};
    use super::*;
    use crate::rng::{Purpose, row_key, uniform_at};

    /// Sums of parts are what the model says of each pair.
    #[test]
    fn parts_add_up_to_the_model() {
        let key = |row: u32| row_key(3, Purpose::GenerateRows, row.into());
        let later = (0..300u32).map(|row| (0..6u32).filter(|label| uniform_at(key(row), *label) < 0.5).collect::<Vec<_>>());
        let later = Labels::from_ids(6, later).unwrap();
        let early = later.filter_map(6, |row, label, ()| (uniform_at(key(row as u32), 50 + label) < 0.6).then_some(label)).unwrap();
        let scores =
            (0..300u32).map(|row| (0..4u32).map(|at| ((at + row) % 6, uniform_at(key(row), 90 + at) as f32)).collect::<Vec<_>>());
        let scores = Csr::from_rows(6, scores).unwrap();
        let ages: Vec<f64> = (0..300).map(|row| uniform_at(key(row), 200)).collect();
        let model = RowFit::new(&early, &later, RowEvidence::Later)
            .unwrap()
            .scores("model", &scores)
            .unwrap()
            .given("age", GivenCovariate::Rows(ages.clone()))
            .unwrap()
            .replicates(0, 0)
            .run()
            .unwrap();
        let found = model.pair_propensities(&early, Some(&scores), &[GivenCovariate::Rows(ages.clone())]).unwrap();
        let unit = score_unit(&scores);
        let mut expected = Vec::new();
        for (row, age) in ages.iter().enumerate() {
            let (ids, values) = scores.row(row);
            for label in 0..6u32 {
                let observed = early.row_ids(row).contains(&label);
                let other_labels = early.row_ids(row).len() - usize::from(observed);
                let place = Place::find(ids, values, label, unit);
                model.at(&Pair { label, other_labels, place, given: &[*age] }, &mut expected);
                let got = found.get(row, label, observed);
                assert!((got - expected[0]).abs() < 1e-9, "row {row}, label {label}: {got}, not {}", expected[0]);
            }
        }
        assert!(model.pair_propensities(&early, None, &[GivenCovariate::Rows(ages.clone())]).is_err());
        assert!(model.pair_propensities(&early, Some(&scores), &[]).is_err());
        let known = found.with_complete_rows((0..300).map(|row| row == 7).collect());
        assert_eq!((known.get(7, 0, false), known.get(8, 0, false) < 1.0), (1.0, true));
        let mut line = [0.0; 4];
        known.fill(8, 4, &mut line);
        assert_eq!(line, [known.get(8, 4, false) as f32, known.get(8, 5, false) as f32, 0.0, 0.0]);
    }
}
