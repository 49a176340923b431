//! Sums without rounding: whatever the order in which numbers are added, and however sums are split and merged, the total is the
//! same to the last bit.
//!
//! The total is a whole number of units of `2^-256`, in pieces of 32 bits that carry late. A float is 53 bits somewhere in it, the
//! product of two floats 106. What lies below the last unit is cut off, number by number; a number of `2^512` or more is not added
//! but counted, and makes the total unknown.
//!
//! # Reference
//! Kulisch and Miranker, "The arithmetic of the digital computer: a new approach", 1986.

use super::precise::Precise;

/// Bits in a piece.
const BITS: u32 = 32;
/// The power of two of the first bit.
const LOWEST: i32 = -256;
/// Products of two floats end here.
const HIGHEST: i32 = 512;
/// Enough for products, and 64 bits more: for so many of them.
pub(super) const PIECES: usize = ((HIGHEST - LOWEST + 64) as usize).div_ceil(BITS as usize);

/// See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::evaluate) struct ExactSum {
    pub(super) pieces: [i64; PIECES],
    /// Numbers that were too large, or no numbers.
    pub(super) beyond: u64,
}

impl Default for ExactSum {
    fn default() -> ExactSum {
        ExactSum { pieces: [0; PIECES], beyond: 0 }
    }
}

/// `x = mantissa * 2^exponent`.
fn parts(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, (bits & ((1 << 52) - 1)) as i64);
    let (mantissa, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    (if x.is_sign_negative() { -mantissa } else { mantissa }, exponent)
}

impl ExactSum {
    /// Adds a number.
    pub(in crate::evaluate) fn add(&mut self, x: f64) {
        if x == 0.0 {
            return;
        }
        let (mantissa, exponent) = parts(x);
        self.add_scaled(mantissa.into(), exponent, x.is_finite());
    }

    /// Adds a product of two numbers, which is not rounded either.
    pub(in crate::evaluate) fn add_product(&mut self, x: f64, y: f64) {
        if x == 0.0 || y == 0.0 {
            return;
        }
        let ((a, of_a), (b, of_b)) = (parts(x), parts(y));
        self.add_scaled(i128::from(a) * i128::from(b), of_a + of_b, x.is_finite() && y.is_finite());
    }

    fn add_scaled(&mut self, value: i128, exponent: i32, is_finite: bool) {
        let (mut rest, mut shift) = (value.unsigned_abs(), exponent - LOWEST);
        if shift < 0 {
            rest = rest.checked_shr(shift.unsigned_abs()).unwrap_or(0);
            shift = 0;
        }
        if !is_finite || (128 - rest.leading_zeros()) as i32 + shift > HIGHEST - LOWEST {
            self.beyond += 1;
            return;
        }
        let (mut piece, offset) = (shift as usize / BITS as usize, shift as u32 % BITS);
        let mask = (1u128 << BITS) - 1;
        let mut put = |bits: u128| {
            self.pieces[piece] += if value < 0 { -(bits as i64) } else { bits as i64 };
            piece += 1;
        };
        put(rest << offset & mask);
        rest >>= BITS - offset;
        while rest != 0 {
            put(rest & mask);
            rest >>= BITS;
        }
    }

    /// Adds another total.
    pub(in crate::evaluate) fn merge(&mut self, other: &ExactSum) {
        self.pieces.iter_mut().zip(&other.pieces).for_each(|(piece, other)| *piece += other);
        // Both were below 2^63 in every piece; settled ones are below 2^32, so that many can be added in between.
        self.beyond = self.beyond.saturating_add(other.beyond);
        self.settle();
    }

    /// Carries: the same total has the same pieces, whatever it was added from. All but the last are then in 0 to 2^32 - 1.
    pub(in crate::evaluate) fn settle(&mut self) {
        let mut carry = 0;
        let last = PIECES - 1;
        for piece in &mut self.pieces[..last] {
            let total = *piece + carry;
            carry = total >> BITS;
            *piece = total & ((1 << BITS) - 1);
        }
        self.pieces[last] = self.pieces[last].saturating_add(carry);
    }

    /// Whether the pieces are as [`ExactSum::settle`] leaves them, for totals that come from files.
    pub(super) fn is_settled(&self) -> bool {
        let (last, others) = (self.pieces[PIECES - 1], &self.pieces[..PIECES - 1]);
        others.iter().all(|piece| (0..1 << BITS).contains(piece)) && last.unsigned_abs() < 1 << BITS
    }

    /// The total; not a number when something in it was none, or too large.
    pub(in crate::evaluate) fn value(&self) -> Precise {
        if self.beyond > 0 {
            return f64::NAN.into();
        }
        let mut settled = self.clone();
        settled.settle();
        let is_negative = settled.pieces[PIECES - 1] < 0;
        if is_negative {
            settled.pieces.iter_mut().for_each(|piece| *piece = -*piece);
            settled.settle();
        }
        let Some(top) = settled.pieces.iter().rposition(|piece| *piece != 0) else { return Precise::default() };
        let first = top.saturating_sub(3);
        let head = (first..=top).rev().fold(0u128, |head, piece| head << BITS | settled.pieces[piece] as u128);
        let high = head as f64;
        let low = head.wrapping_sub(high as u128) as i128 as f64;
        let value = Precise::new(high, low).scaled(first as i32 * BITS as i32 + LOWEST);
        if is_negative { Precise::default() - value } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value));
        sum.settle();
        sum
    }

    proptest! {
        #[test]
        fn neither_order_nor_parts_change_a_bit(
            values in proptest::collection::vec((any::<i32>(), -90i32..90).prop_map(|(m, e)| f64::from(m) * 2f64.powi(e)), 0..40),
            cut in 0usize..40,
        ) {
            let whole = of(&values);
            let mut turned = values.clone();
            turned.reverse();
            prop_assert_eq!(&whole, &of(&turned));
            let cut = cut.min(values.len());
            let mut parts = of(&values[cut..]);
            parts.merge(&of(&values[..cut]));
            prop_assert_eq!(&whole, &parts);
            prop_assert!(whole.is_settled());
            let mut none = whole.clone();
            values.iter().for_each(|value| none.add(-*value));
            none.settle();
            prop_assert_eq!(none, ExactSum::default());
        }
    }

    #[test]
    fn totals_are_rounded_once() {
        assert_eq!(of(&[1e100, 1.0, -1e100]).value().value(), 1.0);
        assert_eq!(
            of(&[0.1; 10]).value(),
            Precise::new(1.0, 10.0 * (0.1 - 0.1f64) + 5.551115123125783e-17),
            "ten times the float 0.1"
        );
        assert_eq!(of(&[-0.5, -0.25]).value().value(), -0.75);
        assert!(of(&[1.0, f64::NAN]).value().value().is_nan());
        assert!(of(&[2f64.powi(600), -(2f64.powi(600))]).value().value().is_nan(), "too large to be added");
        let mut squares = ExactSum::default();
        squares.add_product(1e8 + 1.0, 1e8 + 1.0);
        squares.add_product(-1e8, 1e8);
        assert_eq!(squares.value().value(), 2e8 + 1.0);
        squares.add_product(f64::INFINITY, 1.0);
        assert!(squares.value().value().is_nan());
    }
}
