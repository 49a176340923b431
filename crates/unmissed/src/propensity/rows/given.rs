//! Covariates from users: by label, by row, or by pair, under a name that the evaluation needs again.

use super::Covariate;
use crate::data::{Csr, LabelStats, Labels};
use crate::error::{Error, Result};
use crate::ranks::rank_correlation;
use serde::{Deserialize, Serialize};

/// What a given covariate has a value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CovariateLevel {
    /// Each label.
    Label,
    /// Each row.
    Row,
    /// Each pair of a row and a label.
    Pair,
}

/// The values of a given covariate for some rows.
#[derive(Clone, Debug)]
pub enum GivenCovariate<'a> {
    /// One for each label.
    Labels(Vec<f64>),
    /// One for each row.
    Rows(Vec<f64>),
    /// One for each pair; 0 where the matrix has no entry.
    Pairs(&'a Csr<'a, f32>),
}

impl GivenCovariate<'_> {
    /// What it has values for.
    pub fn level(&self) -> CovariateLevel {
        match self {
            GivenCovariate::Labels(_) => CovariateLevel::Label,
            GivenCovariate::Rows(_) => CovariateLevel::Row,
            GivenCovariate::Pairs(_) => CovariateLevel::Pair,
        }
    }

    /// The value of a pair.
    pub fn value(&self, row: usize, label: u32) -> f64 {
        match self {
            GivenCovariate::Labels(values) => values[label as usize],
            GivenCovariate::Rows(values) => values[row],
            GivenCovariate::Pairs(matrix) => {
                let (ids, values) = matrix.row(row);
                let found =
                    if matrix.is_sorted() { ids.binary_search(&label).ok() } else { ids.iter().position(|id| *id == label) };
                found.map_or(0.0, |at| f64::from(values[at]))
            }
        }
    }

    /// Sizes and values must be those of `rows` rows and `labels` labels.
    pub fn check(&self, name: &str, rows: usize, labels: usize) -> Result<()> {
        let of_size = |expected: usize, found: usize, unit: &str| {
            if expected == found {
                return Ok(());
            }
            Err(Error::value(format!("the covariate '{name}' does not fit the labels"))
                .expected(format!("{expected} {unit}"))
                .found(found.to_string()))
        };
        let finite = |values: &[f64], unit: &str| match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => {
                Err(Error::value(format!("the covariate '{name}' has no number for {unit} {at}")).expected("finite numbers"))
            }
        };
        match self {
            GivenCovariate::Labels(values) => of_size(labels, values.len(), "labels").and_then(|()| finite(values, "label")),
            GivenCovariate::Rows(values) => of_size(rows, values.len(), "rows").and_then(|()| finite(values, "row")),
            GivenCovariate::Pairs(matrix) => {
                of_size(rows, matrix.rows(), "rows").and_then(|()| of_size(labels, matrix.cols(), "labels"))
            }
        }
    }
}

/// What a model keeps of a given covariate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GivenName {
    /// Its name.
    pub name: String,
    /// What it has values for.
    pub level: CovariateLevel,
    /// The values of labels; empty for others, which an evaluation must give for its own rows.
    pub(super) labels: Vec<f64>,
}

impl GivenName {
    pub(super) fn of(name: &str, given: &GivenCovariate<'_>) -> GivenName {
        let labels = if let GivenCovariate::Labels(values) = given { values.clone() } else { Vec::new() };
        GivenName { name: name.to_owned(), level: given.level(), labels }
    }
}

/// Names must differ from each other and from our own.
pub(super) fn check_name(name: &str, others: &[(String, GivenCovariate<'_>)]) -> Result<()> {
    if Covariate::ALL.iter().any(|own| own.name() == name) || name == "constant" {
        return Err(Error::value(format!("a covariate of your own cannot be called '{name}'"))
            .hint("this name is reserved: choose another one"));
    }
    if others.iter().any(|(other, _)| other == name) {
        return Err(Error::value(format!("two covariates are called '{name}'")).hint("give each its own name"));
    }
    Ok(())
}

/// Refuses covariates that contain the answer: whether the pair itself was observed.
pub(super) fn check_leaks(name: &str, given: &GivenCovariate<'_>, early: &Labels<'_>, later: &Labels<'_>) -> Result<()> {
    let leaks = match given {
        GivenCovariate::Labels(values) => {
            let counts: Vec<f64> = LabelStats::of(early).dense_counts()?.iter().map(|count| *count as f64).collect();
            follows_from(values, &counts).then_some("it follows from the observed counts of labels, of which the pair is a part")
        }
        GivenCovariate::Rows(values) => {
            let counts: Vec<f64> = (0..early.rows()).map(|row| early.row_ids(row).len() as f64).collect();
            follows_from(values, &counts).then_some(
                "it follows from the number of observed labels of the row, of which the pair is a part: use other-labels",
            )
        }
        GivenCovariate::Pairs(_) => {
            separates(given, early, later).then_some("it separates observed pairs from missing ones perfectly")
        }
    };
    match leaks {
        None => Ok(()),
        Some(why) => Err(Error::value(format!("the covariate '{name}' reveals the outcome"))
            .expected("information that does not depend on whether the pair was observed")
            .hint(why)),
    }
}

/// Whether the values put labels or rows into the order of their counts, or nearly so: any rising or falling function of counts does.
fn follows_from(values: &[f64], counts: &[f64]) -> bool {
    rank_correlation(values, counts).is_some_and(|r| r.abs() > 0.99)
}

/// Whether all observed pairs lie on one side of all missing ones.
fn separates(given: &GivenCovariate<'_>, early: &Labels<'_>, later: &Labels<'_>) -> bool {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut observed, mut missing) = (none, none);
    for row in 0..later.rows() {
        for label in later.row_ids(row) {
            let value = given.value(row, *label);
            let range = if early.row_ids(row).contains(label) { &mut observed } else { &mut missing };
            *range = (range.0.min(value), range.1.max(value));
        }
    }
    observed.0 > missing.1 || missing.0 > observed.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contains_the_answer_is_refused() {
        let later = Labels::from_ids(3, vec![vec![0, 1], vec![1, 2], vec![0, 1, 2]]).unwrap();
        let early = Labels::from_ids(3, vec![vec![0], vec![1, 2], vec![1]]).unwrap();
        let text = |given: GivenCovariate<'_>| check_leaks("c", &given, &early, &later).err().map(|error| error.to_string());
        // Observed counts are 1, 2, 1 by label and 1, 2, 1 by row.
        assert!(text(GivenCovariate::Labels(vec![3.0, 5.0, 3.0])).unwrap().contains("observed counts of labels"));
        assert!(text(GivenCovariate::Rows(vec![2f64.ln(), 3f64.ln(), 2f64.ln()])).unwrap().contains("use other-labels"));
        assert!(text(GivenCovariate::Rows(vec![0.5, 1.0 / 3.0, 0.5])).is_some());
        assert_eq!(text(GivenCovariate::Rows(vec![1.0, 2.0, 1.1])), None);
        let pairs = |rows: Vec<Vec<(u32, f32)>>| Csr::from_rows(3, rows).unwrap();
        let observed = pairs(vec![vec![(0, 1.0)], vec![(1, 1.0), (2, 3.0)], vec![(1, 1.0)]]);
        assert!(text(GivenCovariate::Pairs(&observed)).unwrap().contains("perfectly"));
        let other = pairs(vec![vec![(1, 1.0)], vec![(1, 1.0), (2, 3.0)], vec![(1, 1.0)]]);
        assert_eq!(text(GivenCovariate::Pairs(&other)), None);
        assert_eq!(GivenCovariate::Pairs(&other).value(1, 2), 3.0);
        assert_eq!(GivenCovariate::Pairs(&other).value(1, 0), 0.0);
    }

    #[test]
    fn sizes_and_names_are_checked() {
        let text = |result: Result<()>| result.unwrap_err().to_string();
        assert!(text(GivenCovariate::Rows(vec![0.0]).check("age", 2, 3)).contains("the covariate 'age' does not fit"));
        assert!(text(GivenCovariate::Labels(vec![0.0, f64::NAN]).check("depth", 2, 2)).contains("label 1"));
        assert!(text(check_name("rank", &[])).contains("is reserved"));
        assert!(text(check_name("age", &[("age".to_owned(), GivenCovariate::Rows(vec![]))])).contains("two covariates"));
    }
}
