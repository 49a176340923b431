//! `counterexample`: per-label propensities do not determine what is missing.
//!
//! Two labels with propensity 1/2 each go missing together (P), or never together (P'). An unbiased loss `v` would have to meet
//! five linear equations in its four values. See [`crate::propensity::noise`].

use super::{Context, Experiment, Outcome, Took};
use crate::cells;
use crate::error::Result;
use crate::propensity::noise::Observation;
use crate::report::{Column, Table};
use crate::spec::Named;

/// See the module's page.
pub(super) struct Counterexample;

impl crate::sealed::Sealed for Counterexample {}

impl Named for Counterexample {
    fn name(&self) -> &'static str {
        "counterexample"
    }
    fn summary(&self) -> &'static str {
        "two labels with the same propensities that go missing together or never together"
    }
}

/// A set of two labels as the paper writes it.
fn set(bits: usize) -> String {
    format!("{}{}", bits & 1, bits >> 1 & 1)
}

impl Experiment for Counterexample {
    fn reproduces(&self) -> &'static str {
        "the appendix's table of different distributions with the same propensities"
    }

    fn data_needed(&self) -> &'static str {
        "nothing"
    }

    fn duration(&self) -> Took {
        Took { quick: "1 s", full: "1 s" }
    }

    fn run(&self, _context: &Context<'_>) -> Result<Outcome> {
        let together = Observation::from_masks(2, &[0.5, 0.0, 0.0, 0.5])?;
        let never = Observation::from_masks(2, &[0.0, 0.5, 0.5, 0.0])?;
        let independent = Observation::independent(&[0.5, 0.5])?;
        let shown = ["P (together)", "P' (never together)", "independent"].map(|name| Column::new(name).fixed(2));
        let columns = ["true labels", "observed labels"].map(Column::new).into_iter().chain(shown);
        let mut table = Table::new("counterexample", columns).titled("Probability of what is observed, given the truth");
        for truth in (0..4).rev() {
            for seen in (0..4).rev().filter(|seen| seen & !truth == 0) {
                let p = [&together, &never, &independent].map(|model| model.get(seen, truth));
                table.row(cells![set(truth), set(seen), p[0], p[1], p[2]]);
            }
        }
        let mut outcome = Outcome::new();
        outcome.tables.push(table);

        let same = (0..2).all(|label| together.propensity(label) == 0.5 && never.propensity(label) == 0.5);
        outcome.must("both have propensity 1/2 for either label", same, "1/2, 1/2 and 1/2, 1/2");

        // The loss 'both are relevant', once for each kind of missingness that has an unbiased loss.
        let wanted = [0.0, 0.0, 0.0, 1.0];
        let mut losses = Table::new(
            "counterexample_losses",
            ["unbiased under", "mean under P", "mean under P'", "mean if independent"].map(|name| Column::new(name).fixed(3)),
        )
        .titled("Mean of the loss [both labels are relevant], whose true value is 1, on a row with both labels");
        for (name, model) in [("P (together)", &together), ("independent", &independent)] {
            let loss = model.inverse()?.unbiased(&wanted);
            let means = [&together, &never, &independent].map(|model| model.expected(&loss, 0b11));
            losses.row(cells![name, means[0], means[1], means[2]]);
            let off = means.iter().any(|mean| (mean - 1.0).abs() > 0.5);
            let found = format!("{:.3} under P, {:.3} under P', {:.3} if independent", means[0], means[1], means[2]);
            outcome.must(format!("what is unbiased under '{name}' is biased elsewhere"), off, found);
        }
        outcome.tables.push(losses);
        let singular = never.inverse().err().map(|error| error.to_string());
        outcome.must(
            "under P' alone there is no unbiased loss: C is singular",
            singular.is_some(),
            singular.unwrap_or_else(|| "it could be inverted".into()),
        );
        Ok(outcome)
    }
}
