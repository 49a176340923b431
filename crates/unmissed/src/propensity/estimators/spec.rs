//! [`PropensityEstimatorSpec`]: an estimator with values for its options.

use super::options::OptionValue;
use super::{
    CURVE, Estimate, EstimatorOption, LEVEL, OptionKind, PROPENSITY_ESTIMATORS, PropensityEstimator, PropensityEvidence, SEED,
    SHRINK,
};
use crate::error::{Error, Result};
use crate::propensity::fit::FitOptions;
use crate::propensity::{Phi, Ratio};
use crate::spec::{Spec, find, unknown};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A propensity estimator with values for its options: `shrunken`, `timelapse:shrink`, `hierarchy:conditional,threshold=0`.
///
/// ```
/// use unmissed::propensity::estimators::PropensityEstimatorSpec;
/// let spec: PropensityEstimatorSpec = "timelapse:shrink,curve=power,level=0.9".parse()?;
/// assert_eq!(spec.to_string(), "timelapse:shrink,level=0.9"); // defaults are left out
/// assert_eq!(spec.name(), "timelapse-shrunken");
/// let error = "timelapse:threshold=3".parse::<PropensityEstimatorSpec>().unwrap_err().to_string();
/// assert!(error.starts_with("unknown option of 'timelapse' 'threshold'"), "{error}");
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone)]
pub struct PropensityEstimatorSpec {
    estimator: &'static dyn PropensityEstimator,
    /// In the order of the estimator's options.
    values: Vec<OptionValue>,
}

impl PropensityEstimatorSpec {
    /// An estimator with the defaults of its options.
    pub fn new(estimator: &'static dyn PropensityEstimator) -> Result<PropensityEstimatorSpec> {
        let values = estimator.options().iter().map(|option| option.parse(option.default)).collect::<Result<_>>()?;
        Ok(PropensityEstimatorSpec { estimator, values })
    }

    /// The estimator of that name, with the defaults of its options.
    pub fn of_name(name: &str) -> Result<PropensityEstimatorSpec> {
        PropensityEstimatorSpec::new(find(PROPENSITY_ESTIMATORS, "propensity estimator", name)?)
    }

    /// The estimator.
    pub fn estimator(&self) -> &'static dyn PropensityEstimator {
        self.estimator
    }

    /// Gives an option a value, as it would be typed.
    pub fn set(&mut self, option: &str, text: &str) -> Result<()> {
        let place = self.place(option)?;
        self.values[place] = self.estimator.options()[place].parse(text)?;
        Ok(())
    }

    /// The name of the estimate in tables: the estimator's, and the words of its switches.
    pub fn name(&self) -> String {
        let words = self.estimator.options().iter().zip(&self.values).filter_map(|(option, value)| match (option.kind, value) {
            (OptionKind::Switch(word), OptionValue::Switch(true)) => Some(word),
            _ => None,
        });
        words.fold(self.estimator.name().to_owned(), |name, word| format!("{name}-{word}"))
    }

    /// Estimates propensities; an error names the evidence that is missing.
    pub fn estimate(&self, evidence: &PropensityEvidence<'_>) -> Result<Estimate> {
        self.estimator.estimate(evidence, self)
    }

    fn place(&self, option: &str) -> Result<usize> {
        let options = self.estimator.options();
        options.iter().position(|known| known.name == option).ok_or_else(|| {
            let names: Vec<&str> = options.iter().map(|known| known.name).collect();
            unknown(&format!("option of '{}'", self.estimator.name()), option, &names)
        })
    }

    /// Whether a switch is on.
    pub fn is_on(&self, option: &EstimatorOption) -> Result<bool> {
        self.value(option, |value| if let OptionValue::Switch(on) = value { Some(*on) } else { None })
    }

    /// The value of an option that takes whole numbers.
    pub fn whole(&self, option: &EstimatorOption) -> Result<u64> {
        self.value(option, |value| if let OptionValue::Whole(number) = value { Some(*number) } else { None })
    }

    /// The level of intervals.
    pub fn level(&self) -> Result<f64> {
        self.value(&LEVEL, |value| if let OptionValue::Level(level) = value { Some(*level) } else { None })
    }

    /// The family of the curve.
    pub fn family(&self) -> Result<Phi> {
        self.value(&CURVE, |value| if let OptionValue::Curve(family) = value { Some(family.clone()) } else { None })
    }

    /// How to fit the curve.
    pub fn fit_options(&self) -> Result<FitOptions> {
        Ok(FitOptions { seed: self.whole(&SEED)?, ..FitOptions::default() })
    }

    /// How to turn ratios into propensities; those without the option do not shrink.
    pub(super) fn ratio(&self) -> Result<Ratio> {
        let shrink = self.estimator.options().contains(&SHRINK) && self.is_on(&SHRINK)?;
        Ok(Ratio { family: self.family()?, shrink, level: self.level()?, options: self.fit_options()? })
    }

    /// The spec under which an estimator is asked for ratios in this way.
    pub(super) fn of_ratio(estimator: &'static dyn PropensityEstimator, how: &Ratio) -> Result<PropensityEstimatorSpec> {
        let mut spec = PropensityEstimatorSpec::of_fit(estimator, &how.family, how.level, how.options.seed)?;
        spec.put(&SHRINK, OptionValue::Switch(how.shrink));
        Ok(spec)
    }

    /// The spec under which an estimator is asked for a fit of a curve.
    pub(super) fn of_fit(
        estimator: &'static dyn PropensityEstimator,
        family: &Phi,
        level: f64,
        seed: u64,
    ) -> Result<PropensityEstimatorSpec> {
        let mut spec = PropensityEstimatorSpec::new(estimator)?.with_level_and_seed(level, seed);
        spec.put(&CURVE, OptionValue::Curve(family.clone()));
        Ok(spec)
    }

    /// At another level and seed, where the estimator has them.
    #[must_use]
    pub(super) fn with_level_and_seed(mut self, level: f64, seed: u64) -> Self {
        self.put(&LEVEL, OptionValue::Level(level));
        self.put(&SEED, OptionValue::Whole(seed));
        self
    }

    /// Gives an option a value, if the estimator has it.
    fn put(&mut self, option: &EstimatorOption, value: OptionValue) {
        if let Ok(place) = self.place(option.name) {
            self.values[place] = value;
        }
    }

    fn value<T>(&self, option: &EstimatorOption, pick: impl Fn(&OptionValue) -> Option<T>) -> Result<T> {
        let place = self.place(option.name)?;
        pick(&self.values[place]).ok_or_else(|| Error::value(format!("'{}' is an option of another kind", option.name)))
    }
}

impl PartialEq for PropensityEstimatorSpec {
    fn eq(&self, other: &PropensityEstimatorSpec) -> bool {
        self.estimator.name() == other.estimator.name() && self.values == other.values
    }
}

impl fmt::Debug for PropensityEstimatorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PropensityEstimatorSpec({self})")
    }
}

/// The estimator and the options that differ from their defaults.
impl fmt::Display for PropensityEstimatorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.estimator.name())?;
        let mut separator = ':';
        for (option, value) in self.estimator.options().iter().zip(&self.values) {
            let text = value.to_string();
            if text == option.default {
                continue;
            }
            write!(f, "{separator}{}", option.name)?;
            if !matches!(option.kind, OptionKind::Switch(_)) {
                write!(f, "={text}")?;
            }
            separator = ',';
        }
        Ok(())
    }
}

impl std::str::FromStr for PropensityEstimatorSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<PropensityEstimatorSpec> {
        let given: Spec = text.parse()?;
        let mut spec = PropensityEstimatorSpec::of_name(given.name())?;
        let names: Vec<&str> = spec.estimator.options().iter().map(|option| option.name).collect();
        let is_switch = |option: &&EstimatorOption| matches!(option.kind, OptionKind::Switch(_));
        let switches: Vec<&str> = spec.estimator.options().iter().filter(is_switch).map(|option| option.name).collect();
        given.allow(&names, &switches)?;
        for name in names {
            match given.get(name) {
                Some(value) => spec.set(name, value)?,
                None if given.words().iter().any(|word| word == name) => spec.set(name, "true")?,
                None => {}
            }
        }
        Ok(spec)
    }
}

/// How it is kept in files: the name, and every option with its value.
#[derive(Serialize, Deserialize)]
struct Kept {
    name: String,
    options: BTreeMap<String, String>,
}

impl Serialize for PropensityEstimatorSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let options = self.estimator.options().iter().zip(&self.values);
        let options = options.map(|(option, value)| (option.name.to_owned(), value.to_string())).collect();
        Kept { name: self.estimator.name().to_owned(), options }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PropensityEstimatorSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let kept = Kept::deserialize(deserializer)?;
        let mut spec = PropensityEstimatorSpec::of_name(&kept.name).map_err(D::Error::custom)?;
        for (option, value) in &kept.options {
            spec.set(option, value).map_err(D::Error::custom)?;
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read_back_from_their_text_and_from_files() {
        for text in ["direct", "shrunken:curve=richards,level=0.9", "timelapse:shrink", "hierarchy:threshold=0,conditional,seed=3"]
        {
            let spec: PropensityEstimatorSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<PropensityEstimatorSpec>(&json).unwrap(), spec, "{json}");
        }
        assert_eq!("timelapse:shrink=false".parse::<PropensityEstimatorSpec>().unwrap().to_string(), "timelapse");
        let smoothed = PropensityEstimatorSpec::of_name("shrunken").and_then(|mut spec| {
            spec.set("curve", "power:beta=2,gamma=1,alpha=3")?;
            Ok(spec)
        });
        let smoothed = smoothed.unwrap();
        let json = serde_json::to_string(&smoothed).unwrap();
        assert_eq!(serde_json::from_str::<PropensityEstimatorSpec>(&json).unwrap(), smoothed, "{json}");
    }

    #[test]
    fn what_an_option_does_not_take_is_refused() {
        for (text, part) in [
            ("direkt", "did you mean 'direct'?"),
            ("direct:curve=power", "unknown option of 'direct' 'curve'"),
            ("shrunken:curve", "unknown option of 'shrunken' 'curve'"),
            ("shrunken:curve=table", "table"),
            ("shrunken:level=1", "a number between 0 and 1"),
            ("hierarchy:threshold=-1", "a whole number"),
            ("timelapse:shrink=maybe", "true or false"),
        ] {
            let message = text.parse::<PropensityEstimatorSpec>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
