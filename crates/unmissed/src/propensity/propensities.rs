//! [`Propensities`]: a checked number in (0, 1] for every label, and where it came from.

use super::Origin;
use crate::data::check_label_limit;
use crate::error::{Error, Result, digits};
use serde::{Serialize, Serializer};

/// In which sense the values bound the true propensities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Meant to be the propensity itself, under the assumptions of the model or estimator.
    Exact,
    /// Never below the true propensity, up to sampling noise: more may be missing than could be seen.
    Upper,
    /// Never above the true propensity, up to sampling noise.
    Lower,
    /// Neither an upper nor a lower bound.
    None,
}

/// Where the value of one label came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueSource {
    /// From data about this label.
    #[default]
    Estimated,
    /// From the counts of this label alone, however few they are.
    Direct,
    /// From a curve in the label's frequency: a model, or the fit that fills what the data do not tell.
    Curve,
    /// Came out above 1 and was set to 1.
    Clipped,
    /// Was below what is observed, and raised to it.
    Raised,
    /// Learned from observed labels that do not tell it.
    NotIdentified,
}

impl ValueSource {
    /// All of them, in the order of the numbers that stand for them in Python's pickles.
    pub const ALL: [ValueSource; 6] = [
        ValueSource::Estimated,
        ValueSource::Curve,
        ValueSource::Clipped,
        ValueSource::Raised,
        ValueSource::NotIdentified,
        ValueSource::Direct,
    ];

    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            ValueSource::Estimated => "estimated",
            ValueSource::Direct => "direct",
            ValueSource::Curve => "curve",
            ValueSource::Clipped => "clipped",
            ValueSource::Raised => "raised",
            ValueSource::NotIdentified => "not-identified",
        }
    }

    /// The source that a file calls `name`.
    pub fn of_name(name: &str) -> Option<ValueSource> {
        ValueSource::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// An interval for one propensity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end, in [0, 1].
    pub low: f64,
    /// Upper end, in [0, 1].
    pub high: f64,
}

/// A propensity in (0, 1] for each of m labels, with its origin and its uncertainty.
///
/// ```
/// use unmissed::propensity::{Bound, Propensities};
/// let p = Propensities::new("mine", vec![0.25, 1.0])?;
/// assert_eq!((p.get(0), p.inverse(), p.bound()), (0.25, vec![4.0, 1.0], Bound::Exact));
/// let error = Propensities::new("mine", vec![0.5, 0.0]).unwrap_err();
/// assert_eq!(error.to_string(), "the propensity of label 1 is out of range: expected a number in (0, 1], found 0");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Propensities {
    #[serde(serialize_with = "as_text")]
    origin: Origin,
    bound: Bound,
    values: Vec<f64>,
    sources: Vec<ValueSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Vec<Option<Interval>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inverse_variances: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_inverses: Option<Vec<f64>>,
    #[serde(skip)]
    common_errors: Vec<Vec<f64>>,
    notes: Vec<String>,
}

impl Propensities {
    /// Checks the values. `origin` says where they came from; a plain text is a name for values of the user's own.
    pub fn new(origin: impl Into<Origin>, values: Vec<f64>) -> Result<Propensities> {
        check_label_limit(values.len() as u64)?;
        if let Some(label) = values.iter().position(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err(Error::value(format!("the propensity of label {label} is out of range"))
                .expected("a number in (0, 1]")
                .found(digits(values[label])));
        }
        let sources = vec![ValueSource::Estimated; values.len()];
        let origin = origin.into();
        Ok(Propensities {
            origin,
            bound: Bound::Exact,
            values,
            sources,
            intervals: None,
            inverse_variances: None,
            score_inverses: None,
            common_errors: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Takes values that may exceed 1, sets those to 1 and marks them; zero, negative and NaN stay errors.
    pub fn clipping(origin: impl Into<Origin>, mut values: Vec<f64>, mut sources: Vec<ValueSource>) -> Result<Propensities> {
        // A power of exactly 1 may come out as 1 + 2e-16: rounding is not clipping.
        const ROUNDING: f64 = 1e-12;
        for (value, source) in values.iter_mut().zip(&mut sources) {
            if *value > 1.0 {
                if *value > 1.0 + ROUNDING {
                    *source = ValueSource::Clipped;
                }
                *value = 1.0;
            }
        }
        Propensities::new(origin, values)?.with_sources(sources)
    }

    /// Raises values that are below what they are at least, by label, and marks them.
    ///
    /// ```
    /// use unmissed::propensity::{Propensities, ValueSource};
    /// let p = Propensities::new("mine", vec![0.1, 0.5])?.raised(&[0.25, 0.25])?;
    /// assert_eq!((p.values(), p.source(0)), (&[0.25, 0.5][..], ValueSource::Raised));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn raised(mut self, least: &[f64]) -> Result<Propensities> {
        self.same_length("least propensities", least.len())?;
        for (label, least) in least.iter().enumerate() {
            if self.values[label] < *least {
                self.values[label] = least.min(1.0);
                self.sources[label] = ValueSource::Raised;
                // What was known about the value does not hold for the one that took its place.
                self.intervals.iter_mut().for_each(|all| all[label] = None);
                self.inverse_variances.iter_mut().for_each(|all| all[label] = f64::NAN);
            }
        }
        Ok(self)
    }

    /// Says in which sense the values bound the truth.
    #[must_use]
    pub fn with_bound(mut self, bound: Bound) -> Self {
        self.bound = bound;
        self
    }

    /// Says where each value came from.
    pub fn with_sources(mut self, sources: Vec<ValueSource>) -> Result<Self> {
        self.same_length("sources", sources.len())?;
        self.sources = sources;
        Ok(self)
    }

    /// Adds an interval for the labels that have one.
    pub fn with_intervals(mut self, intervals: Vec<Option<Interval>>) -> Result<Self> {
        self.same_length("intervals", intervals.len())?;
        let bad = |i: &Interval| !(0.0 <= i.low && i.low <= i.high && i.high <= 1.0);
        if let Some(label) = intervals.iter().position(|i| i.as_ref().is_some_and(bad)) {
            return Err(Error::value(format!("the interval of label {label} is out of order"))
                .expected("0 <= low <= high <= 1")
                .found(format!("{:?}", intervals[label])));
        }
        self.intervals = Some(intervals);
        Ok(self)
    }

    /// Adds the variance of `1/p` of each label; NaN where it is not known.
    pub fn with_inverse_variances(mut self, variances: Vec<f64>) -> Result<Self> {
        self.same_length("variances", variances.len())?;
        self.inverse_variances = Some(variances);
        Ok(self)
    }

    /// Gives the inverse propensities that estimates of metrics use instead of `1/p`. They need not be at least 1: a floor would bias
    /// sums over labels upwards.
    pub fn with_score_inverses(mut self, inverses: Vec<f64>) -> Result<Self> {
        self.same_length("inverse propensities", inverses.len())?;
        if let Some(label) = inverses.iter().position(|q| !(*q >= 0.0 && q.is_finite())) {
            return Err(Error::value(format!("the inverse propensity of label {label} is out of range"))
                .expected("a finite number of at least 0")
                .found(digits(inverses[label])));
        }
        self.score_inverses = Some(inverses);
        Ok(self)
    }

    /// Adds errors that labels have in common, such as those of a curve: each is a number for every label, and the covariance of the
    /// inverse propensities is `diag(variances) + sum_r c_r c_r'`.
    pub fn with_common_errors(mut self, errors: Vec<Vec<f64>>) -> Result<Self> {
        for error in &errors {
            self.same_length("common errors", error.len())?;
            if let Some(label) = error.iter().position(|value| !value.is_finite()) {
                return Err(Error::value(format!("a common error of label {label} is not a number")));
            }
        }
        self.common_errors = errors;
        Ok(self)
    }

    /// Adds something that everybody who uses the values should know.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn same_length(&self, what: &str, found: usize) -> Result<()> {
        if found == self.values.len() {
            return Ok(());
        }
        Err(Error::value(format!("the number of {what} is wrong"))
            .expected(format!("{}, one for each label", self.values.len()))
            .found(found.to_string()))
    }

    /// Where the values came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// In which sense the values bound the truth.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no labels at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The propensity of a label.
    ///
    /// # Panics
    /// When there is no such label: which labels there are is the caller's knowledge, not input.
    pub fn get(&self, label: u32) -> f64 {
        self.values[label as usize]
    }

    /// All propensities, by label.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All inverse propensities `q = 1/p`, by label.
    pub fn inverse(&self) -> Vec<f64> {
        self.values.iter().map(|p| 1.0 / p).collect()
    }

    /// Where the value of a label came from.
    pub fn source(&self, label: u32) -> ValueSource {
        self.sources[label as usize]
    }

    /// The sources, by label.
    pub fn sources(&self) -> &[ValueSource] {
        &self.sources
    }

    /// How many values came from `source`.
    pub fn from_source(&self, source: ValueSource) -> usize {
        self.sources.iter().filter(|s| **s == source).count()
    }

    /// The interval of a label, where there is one.
    pub fn interval(&self, label: u32) -> Option<Interval> {
        self.intervals.as_ref().and_then(|all| all[label as usize])
    }

    /// The variance of `1/p` of a label, where it is known.
    pub fn inverse_variance(&self, label: u32) -> Option<f64> {
        self.inverse_variances.as_ref().map(|all| all[label as usize]).filter(|v| v.is_finite())
    }

    /// The inverse propensity of a label that estimates of metrics use.
    pub fn score_inverse(&self, label: u32) -> f64 {
        self.score_inverses.as_ref().map_or(1.0 / self.values[label as usize], |all| all[label as usize])
    }

    /// Those of all labels, where they are not `1/p`.
    pub fn score_inverses(&self) -> Option<&[f64]> {
        self.score_inverses.as_deref()
    }

    /// Errors that labels have in common.
    pub fn common_errors(&self) -> &[Vec<f64>] {
        &self.common_errors
    }

    /// Whether it is known how uncertain they are.
    pub fn is_uncertain(&self) -> bool {
        let has_variance = |all: &Vec<f64>| all.iter().any(|variance| variance.is_finite() && *variance > 0.0);
        !self.common_errors.is_empty() || self.inverse_variances.as_ref().is_some_and(has_variance)
    }

    /// What users of the values should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Results show an origin as its text.
fn as_text<S: Serializer>(origin: &Origin, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_above_one_are_clipped_and_marked_but_rounding_is_not() {
        let p = Propensities::clipping("x", vec![0.5, 1.5, 1.0 + 1e-15], vec![ValueSource::Estimated; 3]).unwrap();
        assert_eq!(p.values(), [0.5, 1.0, 1.0]);
        assert_eq!(p.sources(), [ValueSource::Estimated, ValueSource::Clipped, ValueSource::Estimated]);
        for bad in [f64::NAN, 0.0, -1.0] {
            assert!(Propensities::clipping("x", vec![bad], vec![ValueSource::Estimated]).is_err());
        }
    }

    #[test]
    fn intervals_are_checked() {
        let p = Propensities::new("x", vec![0.5]).unwrap();
        assert!(p.clone().with_intervals(vec![Some(Interval { low: 0.6, high: 0.4 })]).is_err());
        assert!(p.clone().with_intervals(vec![]).is_err());
        let p = p.with_intervals(vec![Some(Interval { low: 0.4, high: 0.6 })]).unwrap();
        assert_eq!(p.interval(0).unwrap().high, 0.6);
        assert_eq!(p.inverse_variance(0), None);
    }
}
