//! Mean and spread of numbers as they arrive. Sums of squares would cancel where numbers are large and differ little.

/// How many numbers there are, their mean, and the sum of their squared deviations from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    count: f64,
    mean: f64,
    deviations: f64,
}

impl Moments {
    /// A number more (Welford).
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.deviations += before * (value - self.mean);
    }

    /// The numbers of both (Chan, Golub and LeVeque).
    pub(crate) fn merge(&mut self, other: &Moments) {
        let count = self.count + other.count;
        if other.count > 0.0 {
            let apart = other.mean - self.mean;
            self.deviations += other.deviations + apart * apart * self.count * other.count / count;
            self.mean += apart * other.count / count;
            self.count = count;
        }
    }

    /// With zeros, so that there are `count` numbers.
    pub(crate) fn with_zeros(mut self, count: f64) -> Moments {
        self.merge(&Moments { count: (count - self.count).max(0.0), ..Moments::default() });
        self
    }

    /// The mean; 0 of no numbers.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// The sum of squared deviations from the mean.
    pub(crate) fn deviations(&self) -> f64 {
        self.deviations
    }

    /// The squared standard error of the mean; unknown below two numbers.
    pub(crate) fn variance_of_mean(&self) -> Option<f64> {
        (self.count > 1.0).then(|| self.deviations / (self.count * (self.count - 1.0)))
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Moments {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.add(value));
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum of squares of these numbers has no digit of their variance.
    #[test]
    fn large_numbers_that_differ_little_keep_their_variance() {
        let values = (0..1000).map(|i| 1e9 + f64::from(i % 2));
        let all: Moments = values.clone().collect();
        assert!((all.mean() - 1e9 - 0.5).abs() < 1e-6 && (all.deviations() - 250.0).abs() < 1e-6, "{all:?}");
        let naive = values.clone().map(|x| x * x).sum::<f64>() - values.sum::<f64>().powi(2) / 1000.0;
        assert!((naive - 250.0).abs() > 100.0, "{naive}: this test compares nothing");
    }

    #[test]
    fn parts_and_zeros_merge_to_the_whole() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 17) - 3.0).collect();
        let whole: Moments = values.iter().copied().chain([0.0; 7]).collect();
        let mut merged = Moments::default();
        for part in [&values[..1], &[], &values[1..40], &values[40..]] {
            merged.merge(&part.iter().copied().collect());
        }
        let merged = merged.with_zeros(107.0);
        for (a, b) in [(whole.mean, merged.mean), (whole.deviations, merged.deviations), (whole.count, merged.count)] {
            assert!((a - b).abs() < 1e-10 * b.abs(), "{whole:?} {merged:?}");
        }
        assert_eq!(Moments::default().variance_of_mean(), None);
        assert_eq!([1.0, 3.0].into_iter().collect::<Moments>().variance_of_mean(), Some(1.0));
    }
}
