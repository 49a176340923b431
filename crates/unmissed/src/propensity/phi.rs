//! [`Phi`]: a curve with numbers for its parameters, the phi of the paper.

use super::curve::{Curve, Sample};
use super::models::{PROPENSITY_MODELS, PropensitySpec};
use super::{Propensities, ValueSource};
use crate::data::{LabelStats, check_label_limit};
use crate::error::{Error, Result, digits};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};

/// Counts below this are remembered with their value.
const MEMORY: usize = 1 << 22;

/// A propensity curve with known constants.
///
/// ```
/// use unmissed::data::LabelStats;
/// use unmissed::propensity::models;
/// let stats = LabelStats::from_counts(50, &[1, 25, 0])?;
/// let p = models::parse("jpv")?.propensities(&stats)?;
/// assert!((p.get(0) / 0.25562221863533147 - 1.0).abs() < 1e-12);
/// assert!((p.get(1) / 0.5571545100089221 - 1.0).abs() < 1e-12);
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Phi {
    curve: &'static dyn Curve,
    theta: Vec<f64>,
    alpha: f64,
}

impl Phi {
    /// Checks the constants against the curve's bounds.
    pub fn new(curve: &'static dyn Curve, theta: Vec<f64>, alpha: f64) -> Result<Phi> {
        let phi = Phi { curve, theta, alpha };
        for (parameter, value) in curve.parameters().iter().zip(&phi.theta) {
            if !(parameter.low..=parameter.high).contains(value) {
                return Err(Error::value(format!("'{}': {} is out of range", phi.spec(), parameter.name))
                    .expected(format!("a number from {} to {}", digits(parameter.low), digits(parameter.high)))
                    .found(digits(*value)));
            }
        }
        if !(alpha >= 0.0 && alpha.is_finite()) {
            return Err(Error::value(format!("'{}': alpha is out of range", phi.spec()))
                .expected("a number of at least 0")
                .found(digits(alpha)));
        }
        Ok(phi)
    }

    /// The curve.
    pub fn curve(&self) -> &'static dyn Curve {
        self.curve
    }

    /// The constants, in the order of the curve's parameters.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The smoothing of the prior.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The same curve with other constants.
    pub(crate) fn with_theta(&self, theta: Vec<f64>) -> Phi {
        Phi { theta, ..self.clone() }
    }

    /// The canonical spec string: every constant written out, with the digits that bring it back.
    pub fn spec(&self) -> String {
        self.written(digits)
    }

    /// The spec string for people: constants with four significant digits.
    ///
    /// ```
    /// use unmissed::propensity::models;
    /// let model = models::parse("power:beta=1.3339351098466912,gamma=0.03412654615367992")?;
    /// assert_eq!(model.curve().map(|phi| phi.short()), Some("power:beta=1.334,gamma=0.03413".to_owned()));
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn short(&self) -> String {
        // Four digits in scientific notation, read back and written as briefly as possible.
        self.written(|value| format!("{value:.3e}").parse::<f64>().map_or_else(|_| digits(value), digits))
    }

    fn written(&self, write: impl Fn(f64) -> String) -> String {
        let mut text = self.curve.name().to_owned();
        let mut separator = if text.contains(':') { ',' } else { ':' };
        let mut put = |key: &str, value: f64| {
            text.extend([separator.to_string().as_str(), key, "=", &write(value)]);
            separator = ',';
        };
        for (parameter, value) in self.curve.parameters().iter().zip(&self.theta) {
            put(parameter.name, *value);
        }
        if self.alpha > 0.0 {
            put("alpha", self.alpha);
        }
        text
    }

    /// The propensity of a label with `count` positives, at most 1. The plain formula: a count of 0 is used as 0.
    pub fn at(&self, sample: Sample, count: f64) -> f64 {
        self.curve.value(&self.theta, sample.at(count, self.alpha)).min(1.0)
    }

    /// The count at which a label is evaluated: half a positive instead of none, unless the prior is smoothed anyway.
    pub fn seen(&self, count: u64) -> f64 {
        if self.alpha > 0.0 { count as f64 } else { (count as f64).max(0.5) }
    }

    /// A propensity for each label. A label that was never seen counts as half a positive, so that curves that vanish at 0
    /// have a value there too.
    pub fn propensities(&self, stats: &LabelStats) -> Result<Propensities> {
        let sample = Sample::of(stats);
        self.curve.check(sample)?;
        check_label_limit(stats.labels())?;
        let at = |count: u64| self.curve.value(&self.theta, sample.at(self.seen(count), self.alpha));
        // Each distinct count once; the few labels that are beyond the memory cost little.
        let mut known = vec![f64::NAN; (stats.largest() as usize + 1).min(MEMORY)];
        let mut value = |count: u64| match known.get_mut(count as usize) {
            Some(value) if value.is_nan() => {
                *value = at(count);
                *value
            }
            Some(value) => *value,
            None => at(count),
        };
        let labels = stats.labels() as usize;
        let unseen = labels - stats.occurring().len();
        let mut values = vec![if unseen > 0 { value(0) } else { 1.0 }; labels];
        for (label, count) in stats.occurring().iter().zip(stats.counts()) {
            values[*label as usize] = value(*count);
        }
        let sources = vec![ValueSource::Curve; labels];
        let propensities = Propensities::clipping(PropensitySpec::Curve(self.clone()), values, sources)?;
        Ok(match unseen {
            0 => propensities,
            _ => propensities.with_note(format!(
                "{unseen} labels were never observed: they get the value of the curve at {} positives",
                self.seen(0)
            )),
        })
    }
}

/// The same curve with the same constants.
impl PartialEq for Phi {
    fn eq(&self, other: &Phi) -> bool {
        self.curve.name() == other.curve.name() && self.theta == other.theta && self.alpha == other.alpha
    }
}

impl std::str::FromStr for Phi {
    type Err = Error;

    /// The inverse of [`Phi::spec`]: every constant is there. Users' specs, with defaults and presets, are read by
    /// [`models::parse`](super::models::parse).
    fn from_str(text: &str) -> Result<Phi> {
        let spec: Spec = text.parse()?;
        let words = spec.words().iter().fold(spec.name().to_owned(), |name, word| format!("{name}:{word}"));
        let mut curves = PROPENSITY_MODELS.iter().flat_map(|model| model.curves());
        let not_one = |found: &str| {
            Error::value("not a curve with its constants")
                .expected("as in 'jpv:a=0.55,b=1.5'")
                .found(format!("{found} in '{text}'"))
        };
        let curve = *curves.find(|curve| curve.name() == words).ok_or_else(|| not_one("an unknown curve"))?;
        let names: Vec<&str> = curve.parameters().iter().map(|parameter| parameter.name).collect();
        let theta = names.iter().map(|name| spec.number(name)?.ok_or_else(|| not_one(&format!("no '{name}'"))));
        Phi::new(curve, theta.collect::<Result<_>>()?, spec.number("alpha")?.unwrap_or(0.0))
    }
}

impl TryFrom<String> for Phi {
    type Error = Error;

    fn try_from(text: String) -> Result<Phi> {
        text.parse()
    }
}

impl From<Phi> for String {
    fn from(phi: Phi) -> String {
        phi.spec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propensity::models;

    #[test]
    fn canonical_texts_are_read_back_and_others_refused() {
        for text in ["jpv:a=0.55,b=1.5", "power:relative,gamma=0.5,alpha=2", "power:beta=0.1,gamma=1", "constant:p=0.25"] {
            let phi: Phi = text.parse().unwrap();
            assert_eq!((phi.spec(), models::parse(text).unwrap().curve()), (text.to_owned(), Some(&phi)));
        }
        // Fits may end at a curve that vanishes where there is no label; what they wrote must be read.
        let vanishing = "richards:c=0,d=1,e=1,f=1000000000,g=1,h=0.0000001";
        assert!(models::parse(vanishing).is_err());
        let spec = PropensitySpec::Curve(vanishing.parse().unwrap());
        assert_eq!(serde_json::from_str::<PropensitySpec>(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
        for text in ["jpv", "jpv:a=1", "jpv:wikipedia", "table:x", "power:relative", "jpv:a=-1,b=1"] {
            assert!(text.parse::<Phi>().is_err(), "{text}");
        }
    }

    #[test]
    fn large_numbers_stay_short_in_messages() {
        for spec in ["jpv:a=1e300", "jpv:a=-1e300", "power:gamma=1e300"] {
            let message = models::parse(spec).unwrap_err().to_string();
            assert!(message.contains("1e300") && message.len() < 200, "{message}");
        }
    }

    #[test]
    fn a_huge_declared_number_of_labels_is_refused() {
        let labels = crate::data::Labels::from_ids(u64::from(u32::MAX), [vec![7]]).unwrap();
        let error = models::parse("power").unwrap().propensities(&LabelStats::of(&labels)).unwrap_err();
        assert!(error.to_string().starts_with("too many labels"), "{error}");
    }
}
