//! Judged pairs as evidence for more than the scores of the judged models.

use super::Judged;
use super::pool::Pool;
use super::sample::{Design, Sample};
use crate::data::{KnownPair, Labels};
use crate::error::{Error, Result};

impl Judged {
    /// The observed and the judged pairs of the pooled lists, each with how many pairs it stands for; what is unsure is left out. Needs the
    /// plan, which knows the lists.
    pub fn known_pairs(&self) -> Result<Vec<KnownPair>> {
        let plan = self.plan.as_ref().ok_or_else(|| {
            Error::value("judged pairs without the plan by which they were drawn")
                .hint("keep the plan.json.zst that 'annotate plan' wrote beside the csv")
        })?;
        // Whatever is observed is not in the pool of the plan.
        let none = Labels::from_ids(plan.labels, (0..plan.rows).map(|_| []))?;
        let sample = Sample::new(&self.judgements, Some(plan), &Pool::default(), &none)?;
        let observed =
            |(row, label): &(u32, u32)| KnownPair { row: *row, label: *label, relevant: true, observed: true, weight: 1.0 };
        let mut pairs: Vec<KnownPair> = plan.observed.iter().map(observed).collect();
        let Design::Strata(rounds) = &sample.design else { return Ok(pairs) };
        for (number, round) in rounds.iter().enumerate() {
            // Later rounds know the pair.
            let later: f64 = rounds[number + 1..].iter().map(|round| round.weight).sum();
            for stratum in &round.strata {
                let weight = round.weight * stratum.size / stratum.pairs.len().max(1) as f64 + later;
                for pair in stratum.pairs.iter().filter(|pair| pair.slack() == 0.0) {
                    let (row, label) = sample.pairs[pair.place as usize];
                    pairs.push(KnownPair { row, label, relevant: pair.y == 1.0, observed: false, weight });
                }
            }
        }
        Ok(pairs)
    }

    /// Of the relevant labels in the pooled lists, the share that is not observed; `None` without the plan, or where nothing is relevant.
    pub fn missing_share(&self) -> Option<f64> {
        let pairs = self.known_pairs().ok()?;
        let weight = |observed: bool| -> f64 {
            pairs.iter().filter(|pair| pair.relevant && pair.observed == observed).map(|pair| pair.weight).sum()
        };
        let (observed, missed) = (weight(true), weight(false));
        (observed + missed > 0.0).then(|| missed / (observed + missed))
    }

    /// The number of rows and labels of the data that the plan is about.
    pub fn shape(files: &[impl AsRef<std::path::Path>]) -> Result<(usize, usize)> {
        for file in files {
            let path = file.as_ref().parent().unwrap_or(std::path::Path::new("")).join(super::PLAN_FILE);
            if path.exists() {
                return Ok(super::AnnotationPlan::read(path)?.shape());
            }
        }
        Err(Error::value("judged pairs without the plan by which they were drawn")
            .expected(format!("{} beside the csv", super::PLAN_FILE)))
    }
}
