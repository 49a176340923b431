//! Sensitivity: how wrong would propensities have to be?
//!
//! A sum under inverse propensities q is `sum d (1 + (q - 1))`: what is observed, and what is added for what is missing, the odds
//! `q - 1` of being missed. If these are off by at most a factor Gamma, `1/p* = 1 + (q - 1) Gamma^(+-1)`, a sum with gains
//! `d >= 0` lies between those with all factors 1/Gamma and all Gamma. A difference of two models has gains of both signs, and is lowest with
//! 1/Gamma where the first model gains and Gamma where the second does. With `F = sum d`, `P = sum (q - 1) d` over `d > 0` and
//! `N = sum (q - 1) |d|` over `d < 0`, the difference `F + P - N` can be anything from `F + P/Gamma - N Gamma` to `F + P Gamma - N/Gamma`; the
//! winner flips at the root of the first.
//!
//! Factors go by label (d is what a label adds to the difference on all rows) or, on request, by pair of a row and a label, which is
//! wider. Labels with p = 1 have no slack: nothing multiplied by 0 odds makes them missed, so bounds say nothing about them.
//!
//! # Assumes
//! The given propensities are right up to the factor; bounds are those of the estimate, without its sampling error.
//!
//! # Reference
//! Rosenbaum, "Observational Studies", 2002, chapter 4, for the model of odds that differ by at most Gamma. By hand: gains 1 and -1 with
//! q = 3 and 2 give `0 + 2 - 1 = 1`; at Gamma 2 the difference lies between 1 - 2 and 4 - 0.5, and the winner flips where `2/G = G`.
//!
//! ```
//! use unmissed::evaluate::sensitivity::Slack;
//! let slack = Slack::of([(1.0, 3.0), (-1.0, 2.0)]);
//! assert_eq!((slack.value(), slack.bounds(2.0)), (1.0, (-1.0, 3.5)));
//! assert!((slack.flips_at().unwrap() - 2f64.sqrt()).abs() < 1e-12);
//! ```

use serde::Serialize;

/// What a sum, or a difference of two, is made of: see the module's page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slack {
    /// What does not depend on the odds.
    pub fixed: f64,
    /// What the odds add.
    pub up: f64,
    /// What they take away.
    pub down: f64,
}

/// The bounds of a value when propensities are off by at most Gamma.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SensitivityBounds {
    /// The factor by which the odds of being missed may be off.
    pub gamma: f64,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
    /// Of a difference: the factor from which on the other model may be better; `None` when no factor is enough, and for values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flips_at: Option<f64>,
}

impl Slack {
    /// From gains with their inverse propensities, of which those up to 1 have no slack.
    pub fn of(gains: impl IntoIterator<Item = (f64, f64)>) -> Slack {
        let mut slack = Slack::default();
        for (gain, inverse) in gains {
            let odds = (inverse - 1.0).max(0.0);
            slack.fixed += gain * (inverse - odds);
            if gain > 0.0 {
                slack.up += gain * odds;
            } else {
                slack.down -= gain * odds;
            }
        }
        slack
    }

    /// The same, divided.
    pub fn scaled(self, by: f64) -> Slack {
        Slack { fixed: self.fixed / by, up: self.up / by, down: self.down / by }
    }

    /// The value under the given propensities.
    pub fn value(self) -> f64 {
        self.fixed + self.up - self.down
    }

    /// The lowest and the highest value when the odds of being missed are off by at most `gamma`.
    pub fn bounds(self, gamma: f64) -> (f64, f64) {
        (self.fixed + self.up / gamma - self.down * gamma, self.fixed + self.up * gamma - self.down / gamma)
    }

    /// The smallest factor at which the value can be 0; `None` when there is none.
    pub fn flips_at(self) -> Option<f64> {
        let Slack { fixed, up, down } =
            if self.value() < 0.0 { Slack { fixed: -self.fixed, up: self.down, down: self.up } } else { self };
        if down > 0.0 {
            // down G^2 - fixed G - up = 0; the two ways of writing its positive root, each without cancellation.
            let root = (fixed * fixed + 4.0 * down * up).sqrt();
            return Some(if fixed >= 0.0 { (fixed + root) / (2.0 * down) } else { 2.0 * up / (root - fixed) });
        }
        if fixed > 0.0 || (fixed == 0.0 && up > 0.0) {
            return None;
        }
        Some(if fixed == 0.0 { 1.0 } else { up / -fixed })
    }

    /// The bounds of a value.
    pub(super) fn of_value(self, gamma: f64) -> SensitivityBounds {
        let (low, high) = self.bounds(gamma);
        SensitivityBounds { gamma, low, high, flips_at: None }
    }

    /// The bounds of a difference.
    pub(super) fn of_difference(self, gamma: f64) -> SensitivityBounds {
        SensitivityBounds { flips_at: self.flips_at(), ..self.of_value(gamma) }
    }
}
