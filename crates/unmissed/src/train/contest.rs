//! Which of several candidates is best, and whether that is clear.

use super::trials::Trials;
use crate::error::Result;
use crate::losses::Loss;
use crate::predict::file::{Calibration, Candidate, Choice};
use std::time::Instant;

/// How often rows are held out at most. One tenth of the rows of a small data set cannot tell losses apart whose precision differs by
/// two points.
const ROUNDS: u64 = 3;

/// A difference is clear from this many standard errors on.
const CLEAR: f64 = 2.0;

/// What was tried so far, and the finalists.
pub(super) struct Contest {
    choice: Choice,
    finalists: Vec<Finalist>,
}

/// The best decay of a loss.
struct Finalist {
    place: usize,
    calibration: Calibration,
    /// The precision of every held-out row.
    precision: Vec<f64>,
}

impl Finalist {
    fn mean(&self) -> f64 {
        self.precision.iter().sum::<f64>() / self.precision.len().max(1) as f64
    }

    /// Whether it is clear which of the two is better: the difference, over its standard error over rows.
    fn is_clear_of(&self, other: &Finalist) -> bool {
        let differences: Vec<f64> = self.precision.iter().zip(&other.precision).map(|(a, b)| a - b).collect();
        let n = differences.len().max(1) as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        mean.abs() > CLEAR * (variance / n).sqrt()
    }
}

impl Contest {
    pub(super) fn new(trials: &Trials) -> Contest {
        let (rows, labels) = (trials.held_out.rows() as u64, trials.counts.len() as u64);
        let choice = Choice { rows, labels, positives: trials.positives(), rounds: 1, candidates: Vec::new() };
        Contest { choice, finalists: Vec::new() }
    }

    /// Adds a candidate; its place.
    pub(super) fn push(&mut self, candidate: Candidate) -> usize {
        self.choice.candidates.push(candidate);
        self.choice.candidates.len() - 1
    }

    pub(super) fn candidate(&self, place: usize) -> &Candidate {
        &self.choice.candidates[place]
    }

    /// A candidate is a finalist, with the precision of every held-out row; it took that long to know it.
    pub(super) fn enter(&mut self, place: usize, precision: Vec<f64>, calibration: Calibration, since: Instant) {
        self.finalists.push(Finalist { place, calibration, precision });
        self.took(place, since);
    }

    fn took(&mut self, place: usize, since: Instant) {
        let seconds = &mut self.choice.candidates[place].seconds;
        *seconds = seconds.map(|seconds| seconds + since.elapsed().as_secs_f64());
    }

    /// Everything that was tried, with the best marked, and its calibration. As long as it is not clear which is best, `again` tries the
    /// finalists on other held-out rows; it gives the precision of these, or `None` where there is nothing to tell.
    pub(super) fn won(
        mut self,
        again: impl Fn(&Candidate, u64) -> Result<Option<Vec<f64>>>,
    ) -> Result<Option<(Choice, Calibration)>> {
        for round in 1..ROUNDS {
            match &self.finalists[..] {
                [one, other] if !one.is_clear_of(other) => {}
                _ => break,
            }
            let mut found = Vec::new();
            for place in self.finalists.iter().map(|finalist| finalist.place).collect::<Vec<_>>() {
                let start = Instant::now();
                found.extend(again(self.candidate(place), round)?);
                self.took(place, start);
            }
            if found.len() < self.finalists.len() {
                break;
            }
            self.finalists.iter_mut().zip(found).for_each(|(finalist, precision)| finalist.precision.extend(precision));
            self.choice.rounds += 1;
        }
        for finalist in &self.finalists {
            self.choice.candidates[finalist.place].precision = Some(finalist.mean());
        }
        let best = self.finalists.into_iter().reduce(|best, one| if one.mean() > best.mean() { one } else { best });
        Ok(best.map(|best| {
            self.choice.candidates[best.place].chosen = true;
            (self.choice, best.calibration)
        }))
    }
}

/// A candidate of which only the settings are known.
pub(super) fn candidate(loss: &dyn Loss, decay: f64, start: Instant) -> Candidate {
    let (loss, seconds) = (loss.name().to_owned(), Some(start.elapsed().as_secs_f64()));
    Candidate { loss, decay, ranking_loss: None, log_loss: None, precision: None, seconds, chosen: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(precisions: [Vec<f64>; 2]) -> Contest {
        let empty = Candidate {
            loss: String::new(),
            decay: 1.0,
            ranking_loss: None,
            log_loss: None,
            precision: None,
            seconds: None,
            chosen: false,
        };
        let candidates = ["one", "other"].map(|loss| Candidate { loss: loss.into(), ..empty.clone() }).to_vec();
        let choice = Choice { rows: 4, labels: 1, positives: 4, rounds: 1, candidates };
        let calibration = Calibration { first: 0, scales: vec![1.0], shifts: vec![0.0], divides: false };
        let finalist = |(place, precision)| Finalist { place, calibration: calibration.clone(), precision };
        Contest { choice, finalists: precisions.into_iter().enumerate().map(finalist).collect() }
    }

    #[test]
    fn what_is_clear_is_not_tried_again() {
        let clear = contest([vec![1.0, 1.0, 1.0, 0.9], vec![0.0, 0.1, 0.0, 0.0]]);
        let (choice, _) = clear.won(|_, _| panic!("it is clear")).unwrap().unwrap();
        assert_eq!((choice.best().unwrap().loss.as_str(), choice.rounds), ("one", 1));
    }

    #[test]
    fn what_is_not_clear_is_tried_on_other_rows() {
        let close = contest([vec![1.0, 0.0, 1.0, 0.0], vec![0.0, 1.0, 0.0, 0.9]]);
        let again = |candidate: &Candidate, _| Ok(Some(vec![if candidate.loss == "one" { 0.4 } else { 0.5 }; 4]));
        let (choice, _) = close.won(again).unwrap().unwrap();
        let best = choice.best().unwrap();
        assert_eq!((best.loss.as_str(), choice.rounds), ("other", 3));
        assert!((best.precision.unwrap() - (1.9 + 8.0 * 0.5) / 12.0).abs() < 1e-12);
        // Rows that tell nothing leave it as it is.
        let close = contest([vec![1.0, 0.0], vec![0.0, 0.9]]);
        let (choice, _) = close.won(|_, _| Ok(None)).unwrap().unwrap();
        assert_eq!((choice.best().unwrap().loss.as_str(), choice.rounds), ("one", 1));
    }
}
