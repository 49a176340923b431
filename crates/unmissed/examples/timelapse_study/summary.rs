//! Errors and interval coverage of estimates, over splits.

use std::collections::BTreeMap;

/// An estimate and what it should be.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) estimate: f64,
    pub(crate) truth: f64,
    pub(crate) interval: Option<(f64, f64)>,
    /// The error that any such estimate has to expect.
    pub(crate) expected: Option<f64>,
}

/// Sums over cases.
#[derive(Clone, Copy, Default)]
struct Sums {
    cases: f64,
    signed: f64,
    absolute: f64,
    expected: f64,
    covered: f64,
    right: f64,
    pairing: f64,
}

impl Sums {
    fn add(&mut self, case: Case) {
        let error = case.estimate - case.truth;
        self.cases += 1.0;
        self.signed += error;
        self.absolute += error.abs();
        self.expected += case.expected.unwrap_or(0.0);
        self.covered += f64::from(u8::from(case.interval.is_some_and(|(low, high)| low <= case.truth && case.truth <= high)));
        self.right += f64::from(u8::from(case.estimate * case.truth > 0.0));
    }
}

/// Everything that the study finds.
#[derive(Default)]
pub(crate) struct Summary {
    /// By model or metric, then by estimate.
    scores: BTreeMap<(String, &'static str), Sums>,
    differences: BTreeMap<&'static str, Sums>,
}

impl Summary {
    pub(crate) fn score(&mut self, model: &str, metric: &str, kind: &'static str, case: Case) {
        for key in [model, metric, "all cases"] {
            self.scores.entry((key.to_owned(), kind)).or_default().add(case);
        }
    }

    pub(crate) fn difference(&mut self, kind: &'static str, case: Case) {
        self.differences.entry(kind).or_default().add(case);
    }

    /// The standard error of a difference over that of an unpaired one.
    pub(crate) fn pairing(&mut self, kind: &'static str, ratio: f64) {
        self.differences.entry(kind).or_default().pairing += ratio;
    }

    pub(crate) fn print(&self) {
        println!("\nscores, in points:");
        println!(
            "{:<14} {:<14} {:>6} {:>7} {:>9} {:>11} {:>8}",
            "of", "estimate", "cases", "error", "|error|", "expected", "covered"
        );
        for ((of, kind), sums) in &self.scores {
            let mean = |sum: f64| 100.0 * sum / sums.cases;
            println!(
                "{of:<14} {kind:<14} {:>6} {:>+7.3} {:>9.3} {:>11.3} {:>7.1}%",
                sums.cases,
                mean(sums.signed),
                mean(sums.absolute),
                mean(sums.expected),
                mean(sums.covered)
            );
        }
        println!("\ndifferences of models, in points:");
        println!(
            "{:<14} {:>6} {:>7} {:>9} {:>12} {:>8} {:>16}",
            "estimate", "cases", "error", "|error|", "right sign", "covered", "paired/unpaired"
        );
        for (kind, sums) in &self.differences {
            let mean = |sum: f64| 100.0 * sum / sums.cases;
            println!(
                "{kind:<14} {:>6} {:>+7.3} {:>9.3} {:>11.1}% {:>7.1}% {:>16.2}",
                sums.cases,
                mean(sums.signed),
                mean(sums.absolute),
                mean(sums.right),
                mean(sums.covered),
                sums.pairing / sums.cases
            );
        }
    }
}
