//! Sums of bounded numbers in fixed point: exact like [`ExactSum`](super::exact::ExactSum), and as fast as adding floats.
//!
//! When no row term exceeds `2^e`, a term x is cut into a high part, a multiple of `2^(e-25)`, and the rest, which is rounded once to a
//! multiple of `2^(e-76)`. Both are small whole numbers of their units, and whole numbers add up the same in any order. Adding
//! `1.5 * 2^52` units to a float leaves the whole number in its last bits, so a float becomes a whole number by one addition, in all
//! columns of a block at once; the sum of many has that constant many times too often, which is taken off when the words of a chunk
//! of rows go into the totals ([`Scale::total`]).
//!
//! The product of two terms is `xh yh + (xh yl + xl y)`, with xh the high part of x and xl the rest: the first is a whole number of
//! units of `2^(2e-50)`, the second is rounded once to a multiple of `2^(2e-75)`. So `n sum x^2 - (sum x)^2`, in which everything large cancels, is off by `2^(2e-76)`
//! a row: row terms that differ by `1e-11` of the bound still have their variance. Sums of squares of floats would lose it
//! at `1e-8`.

use super::precise::{Precise, power_of_two};

/// Columns are handled in blocks of this size.
pub(in crate::evaluate) const BLOCK: usize = 8;

/// Bits of the high part of a row term.
const HIGH: i32 = 25;
/// Bits of every other word: a chunk of 4096 rows adds twelve to them, and one is the sign.
const WORD: i32 = 50;

/// A chunk may add this many terms to a word.
pub(in crate::evaluate) const MOST_TERMS: usize = 1 << (63 - WORD - 1);

/// Which power of two no number of this size exceeds; for 0 any will do.
pub(in crate::evaluate) fn exponent_of(bound: f64) -> i32 {
    if bound == 0.0 { 0 } else { ((bound.to_bits() >> 52 & 0x7FF) as i32) - 1022 }
}

/// Constants that turn row terms of at most `2^e` into whole numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Scale {
    exponent: i32,
}

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluate) enum Degree {
    /// Row terms.
    Linear,
    /// Products of two row terms.
    Product,
}

impl Scale {
    pub(in crate::evaluate) fn new(exponent: i32) -> Scale {
        Scale { exponent }
    }

    /// Powers of two of the units of the high and of the low word.
    fn units(self, degree: Degree) -> (i32, i32) {
        let e = self.exponent;
        match degree {
            Degree::Linear => (e - HIGH, e - HIGH - 1 - WORD),
            Degree::Product => (2 * (e - HIGH), 2 * e - HIGH - WORD),
        }
    }

    /// What is added to the high and to the low part.
    pub(in crate::evaluate) fn magic(self, degree: Degree) -> (f64, f64) {
        let (high, low) = self.units(degree);
        let magic = |unit: i32| 1.5 * power_of_two(52) * power_of_two(unit);
        (magic(high), magic(low))
    }

    /// The total of the two words of a chunk, to which so many terms were added, in units of the low word.
    pub(in crate::evaluate) fn total(self, degree: Degree, words: (i64, i64), terms: u64) -> i128 {
        let ((high, low), (of_high, of_low)) = (self.units(degree), self.magic(degree));
        let whole = |word: i64, magic: f64| word.wrapping_sub((terms as i64).wrapping_mul(magic.to_bits() as i64));
        (i128::from(whole(words.0, of_high)) << (high - low)) + i128::from(whole(words.1, of_low))
    }

    /// What a total is.
    pub(in crate::evaluate) fn value(self, degree: Degree, total: i128) -> Precise {
        let high = total as f64;
        let low = (total - high as i128) as f64;
        Precise::new(high, low).scaled(self.units(degree).1)
    }
}

/// The constants of a block of columns.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Magic {
    linear: ([f64; BLOCK], [f64; BLOCK]),
    product: ([f64; BLOCK], [f64; BLOCK]),
}

impl Magic {
    /// Those of the scales of the columns.
    pub(in crate::evaluate) fn new(scales: [Scale; BLOCK]) -> Magic {
        let of = |degree: Degree| {
            let both = scales.map(|scale| scale.magic(degree));
            (both.map(|magic| magic.0), both.map(|magic| magic.1))
        };
        Magic { linear: of(Degree::Linear), product: of(Degree::Product) }
    }
}

/// Row terms of the first columns of a block, cut into parts.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct Cut<const N: usize> {
    x: [f64; N],
    high: [f64; N],
    low: [f64; N],
    /// The high part with its constant.
    raised: [f64; N],
}

impl<const N: usize> Cut<N> {
    /// Cuts row terms.
    #[inline(always)]
    pub(in crate::evaluate) fn new(x: [f64; N], magic: &Magic) -> Cut<N> {
        let raised: [f64; N] = std::array::from_fn(|at| x[at] + magic.linear.0[at]);
        let high: [f64; N] = std::array::from_fn(|at| raised[at] - magic.linear.0[at]);
        Cut { x, high, low: std::array::from_fn(|at| x[at] - high[at]), raised }
    }

    /// Adds the terms.
    #[inline(always)]
    pub(in crate::evaluate) fn add(&self, magic: &Magic, words: &mut Words<N>) {
        words.add(self.raised, std::array::from_fn(|at| self.low[at] + magic.linear.1[at]));
    }

    /// Adds the products with other terms.
    #[inline(always)]
    pub(in crate::evaluate) fn add_products(&self, other: &Cut<N>, magic: &Magic, words: &mut Words<N>) {
        let high = std::array::from_fn(|at| self.high[at] * other.high[at] + magic.product.0[at]);
        let rest = |at: usize| self.high[at] * other.low[at] + self.low[at] * other.x[at];
        words.add(high, std::array::from_fn(|at| rest(at) + magic.product.1[at]));
    }
}

/// The words of a block of columns, or of the first of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::evaluate) struct Words<const N: usize = BLOCK> {
    high: [i64; N],
    low: [i64; N],
}

impl<const N: usize> Default for Words<N> {
    fn default() -> Words<N> {
        Words { high: [0; N], low: [0; N] }
    }
}

impl<const N: usize> Words<N> {
    #[inline(always)]
    fn add(&mut self, high: [f64; N], low: [f64; N]) {
        self.high.iter_mut().zip(high).for_each(|(word, x)| *word = word.wrapping_add(x.to_bits() as i64));
        self.low.iter_mut().zip(low).for_each(|(word, x)| *word = word.wrapping_add(x.to_bits() as i64));
    }

    /// Adds words of the first columns.
    #[inline(always)]
    pub(in crate::evaluate) fn merge<const M: usize>(&mut self, other: &Words<M>) {
        self.high.iter_mut().zip(other.high).for_each(|(word, other)| *word = word.wrapping_add(other));
        self.low.iter_mut().zip(other.low).for_each(|(word, other)| *word = word.wrapping_add(other));
    }

    /// Those of one column.
    pub(in crate::evaluate) fn of(&self, column: usize) -> (i64, i64) {
        (self.high[column % BLOCK], self.low[column % BLOCK])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::tally::exact::ExactSum;
    use proptest::prelude::*;

    /// The totals of terms and of their squares.
    fn totals(values: &[f64], scale: Scale) -> (i128, i128) {
        let magic = Magic::new([scale; BLOCK]);
        let (mut linear, mut squares) = (Words::<BLOCK>::default(), Words::<BLOCK>::default());
        for value in values {
            let cut = Cut::new([*value; BLOCK], &magic);
            cut.add(&magic, &mut linear);
            cut.add_products(&cut, &magic, &mut squares);
        }
        let of = |degree, words: &Words| scale.total(degree, words.of(3), values.len() as u64);
        (of(Degree::Linear, &linear), of(Degree::Product, &squares))
    }

    proptest! {
        #[test]
        fn totals_are_those_of_exact_sums(
            values in proptest::collection::vec(-1.0f64..1.0, 1..60), exponent in -40i32..40, cut in 0usize..60,
        ) {
            let values: Vec<f64> = values.iter().map(|value| value * power_of_two(exponent)).collect();
            let scale = Scale::new(exponent);
            let whole = totals(&values, scale);
            let (first, second) = values.split_at(cut.min(values.len()));
            let (a, b) = (totals(first, scale), totals(second, scale));
            prop_assert_eq!(whole, (a.0 + b.0, a.1 + b.1));
            let (mut sum, mut squares) = (ExactSum::default(), ExactSum::default());
            for value in &values {
                sum.add(*value);
                squares.add_product(*value, *value);
            }
            let close = |found: Precise, wanted: Precise, unit: i32| {
                (found - wanted).value().abs() <= values.len() as f64 * power_of_two(unit)
            };
            prop_assert!(close(scale.value(Degree::Linear, whole.0), sum.value(), exponent - 76));
            prop_assert!(close(scale.value(Degree::Product, whole.1), squares.value(), 2 * exponent - 75));
        }
    }

    #[test]
    fn a_full_chunk_fits_into_its_words() {
        for value in [1.0, -1.0, 1.0 - f64::EPSILON] {
            let scale = Scale::new(exponent_of(value.abs()));
            let (sum, squares) = totals(&vec![value; MOST_TERMS], scale);
            assert_eq!(scale.value(Degree::Linear, sum).value(), MOST_TERMS as f64 * value);
            assert_eq!(scale.value(Degree::Product, squares).value(), MOST_TERMS as f64 * value * value);
        }
    }

    #[test]
    fn whole_numbers_stay_whole() {
        let scale = Scale::new(exponent_of(5.0));
        let (sum, squares) = totals(&[0.0, 1.0, 2.0, 5.0], scale);
        assert_eq!(scale.value(Degree::Linear, sum), 8.0.into());
        assert_eq!(scale.value(Degree::Product, squares), 30.0.into());
        assert_eq!([exponent_of(1.0), exponent_of(0.75), exponent_of(0.0), exponent_of(3.0)], [1, 0, 0, 2]);
    }

    #[test]
    fn the_variance_of_nearly_equal_large_terms_is_kept() {
        let values: Vec<f64> = (0..1000).map(|i| 5e8 + f64::from(i % 7)).collect();
        let scale = Scale::new(exponent_of(5e8 + 7.0));
        let (sum, squares) = totals(&values, scale);
        let (sum, squares) = (scale.value(Degree::Linear, sum), scale.value(Degree::Product, squares));
        let found = (squares - sum * sum / Precise::from(1000.0)).value();
        let mean = values.iter().map(|value| value - 5e8).sum::<f64>() / 1000.0;
        let wanted: f64 = values.iter().map(|value| (value - 5e8 - mean).powi(2)).sum();
        assert!((found / wanted - 1.0).abs() < 1e-6, "{found} {wanted}");
    }
}
