//! [`AnnotateRequest`]: which pairs are drawn for judging.

use super::{KList, Level};
use crate::error::{Error, Result, digits};
use serde::{Deserialize, Serialize};

/// Which pairs are drawn for judging. Fields that are not given have the defaults that are defined here.
///
/// ```
/// use unmissed::request::AnnotateRequest;
/// let request: AnnotateRequest = serde_json::from_str(r#"{ "budget": 500 }"#)?;
/// assert_eq!((request.k.largest(), request.assumed), (5, 0.5));
/// assert!(serde_json::from_str::<AnnotateRequest>(r#"{ "pairs": 500 }"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnnotateRequest {
    /// Number of unobserved pairs to judge in this round.
    pub budget: u64,
    /// Lengths of the top lists whose metrics are wanted; the largest is how deep lists are pooled.
    pub k: KList,
    /// Seed of the draw.
    pub seed: u64,
    /// Level of the intervals that are foretold.
    pub level: Level,
    /// Number of observed pairs to draw as well, to check whether observed labels are relevant.
    pub check_observed: u64,
    /// The share of unobserved pairs that is expected to be relevant, where no earlier round says better; 0.5 forecasts the widest
    /// intervals.
    pub assumed: f64,
    /// Half the width of the interval that is wanted: which budget it takes is then part of the plan.
    pub wanted: Option<f64>,
}

impl Default for AnnotateRequest {
    fn default() -> AnnotateRequest {
        AnnotateRequest {
            budget: 500,
            k: KList::default(),
            seed: 0,
            level: Level::default(),
            check_observed: 0,
            assumed: 0.5,
            wanted: None,
        }
    }
}

impl AnnotateRequest {
    /// Checks what no type checks.
    pub(crate) fn check(&self) -> Result<()> {
        if self.budget < 2 {
            return Err(Error::value("the budget is too small")
                .expected("at least 2 pairs")
                .found(self.budget.to_string())
                .hint("with one pair nothing is known about the error of an estimate"));
        }
        if !(self.assumed > 0.0 && self.assumed < 1.0) {
            return Err(Error::value("the assumed share of relevant pairs is out of range")
                .expected("a number between 0 and 1")
                .found(digits(self.assumed)));
        }
        match self.wanted {
            Some(wanted) if !(wanted > 0.0 && wanted < 1.0) => {
                Err(Error::value("the wanted half width of an interval is out of range")
                    .expected("a number between 0 and 1, such as 0.01 for one point to each side")
                    .found(digits(wanted)))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_a_file_and_bad_numbers_do_not() {
        let request = AnnotateRequest {
            budget: 7,
            k: KList::new(&[2]).unwrap(),
            seed: 9,
            check_observed: 3,
            wanted: Some(0.01),
            ..Default::default()
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<AnnotateRequest>(&text).unwrap(), request);
        assert!(request.check().is_ok());
        for bad in [
            AnnotateRequest { budget: 1, ..request.clone() },
            AnnotateRequest { assumed: 1.0, ..request.clone() },
            AnnotateRequest { wanted: Some(f64::NAN), ..request.clone() },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
