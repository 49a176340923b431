//! [`ObjectiveSpec`]: a metric to maximise, or a mixture of several.

use crate::error::{Error, Result, digits};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What predictions are optimised for: `macro-f`, `macro-f:beta=2`, or a mixture such as `0.5*precision+0.5*macro-f`. The names are
/// those of [`OBJECTIVES`](crate::optimize::objectives::OBJECTIVES).
///
/// ```
/// use unmissed::request::ObjectiveSpec;
/// let (mixture, k) = ObjectiveSpec::parse_at("0.5*precision+0.5*macro-f@5")?;
/// assert_eq!((mixture.to_string().as_str(), k), ("0.5*precision+0.5*macro-f", Some(5)));
/// assert!("precision+-1*macro-f".parse::<ObjectiveSpec>().is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectiveSpec {
    terms: Vec<(f64, Spec)>,
}

impl Default for ObjectiveSpec {
    fn default() -> ObjectiveSpec {
        ObjectiveSpec { terms: vec![(1.0, Spec::named("macro-f"))] }
    }
}

impl ObjectiveSpec {
    /// The objectives with their factors.
    pub fn terms(&self) -> &[(f64, Spec)] {
        &self.terms
    }

    /// The objective, when it is not a mixture.
    pub fn single(&self) -> Option<&Spec> {
        match &self.terms[..] {
            [(1.0, spec)] => Some(spec),
            _ => None,
        }
    }

    /// The same with the number of labels per row behind it, if one is: `macro-f@5`. In a mixture, it may follow each objective.
    pub fn parse_at(text: &str) -> Result<(ObjectiveSpec, Option<usize>)> {
        let broken = |found: &str| {
            Error::value(format!("cannot read the objective '{text}'"))
                .expected("NAME[@K], or a mixture such as 0.5*precision+0.5*macro-f@5")
                .found(found)
        };
        let (mut terms, mut length): (Vec<(f64, Spec)>, Option<usize>) = (Vec::new(), None);
        for part in text.split('+').map(str::trim) {
            let (part, at) = part.split_once('@').map_or((part, None), |(part, k)| (part, Some(k)));
            if let Some(k) = at {
                let k = k.parse::<usize>().ok().filter(|k| *k > 0).ok_or_else(|| broken(&format!("'@{k}'")))?;
                if length.is_some_and(|length| length != k) {
                    return Err(broken("two different numbers of labels per row"));
                }
                length = Some(k);
            }
            let (factor, name) = match part.split_once('*') {
                Some((factor, name)) => {
                    let factor = factor.trim().parse::<f64>().map_err(|_| broken(&format!("the factor '{factor}'")))?;
                    (factor, name.trim())
                }
                None => (1.0, part),
            };
            if !(factor > 0.0 && factor.is_finite()) {
                return Err(broken(&format!("the factor {}", digits(factor))).hint("factors are positive numbers"));
            }
            if name.is_empty() {
                return Err(broken("no name"));
            }
            terms.push((factor, name.parse()?));
        }
        Ok((ObjectiveSpec { terms }, length))
    }
}

impl fmt::Display for ObjectiveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (factor, spec)) in self.terms.iter().enumerate() {
            if place > 0 {
                f.write_str("+")?;
            }
            if *factor != 1.0 {
                write!(f, "{}*", digits(*factor))?;
            }
            spec.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for ObjectiveSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<ObjectiveSpec> {
        match ObjectiveSpec::parse_at(text)? {
            (spec, None) => Ok(spec),
            (_, Some(k)) => Err(Error::value(format!("'{text}' has a number of labels per row"))
                .expected("the objective alone")
                .hint(format!("set k separately here: {k}"))),
        }
    }
}

impl TryFrom<String> for ObjectiveSpec {
    type Error = Error;

    fn try_from(text: String) -> Result<ObjectiveSpec> {
        text.parse()
    }
}

impl From<ObjectiveSpec> for String {
    fn from(spec: ObjectiveSpec) -> String {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixtures_are_read_and_written() {
        for text in ["macro-f", "macro-f:beta=2", "0.5*precision+0.5*macro-f:beta=2", "precision+2*coverage"] {
            assert_eq!(text.parse::<ObjectiveSpec>().unwrap().to_string(), text);
        }
        let at = |text: &str| ObjectiveSpec::parse_at(text).map(|(_, k)| k);
        assert_eq!(at("0.5 * precision@3 + 0.5 * macro-f@3").unwrap(), Some(3));
        assert_eq!(at("macro-f").unwrap(), None);
        for wrong in
            ["", "macro-f@", "macro-f@0", "0*macro-f", "x*macro-f", "precision@1+macro-f@2", "precision+", "-1*coverage", "2*"]
        {
            assert!(at(wrong).is_err(), "{wrong}");
        }
        assert!("macro-f@5".parse::<ObjectiveSpec>().unwrap_err().to_string().contains("set k separately"));
    }
}
