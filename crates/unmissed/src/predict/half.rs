//! Numbers of half precision, as bits: what the weights of trees are stored as.

/// The largest number that can be stored.
pub(crate) const LARGEST: f32 = 65504.0;

/// The nearest number of half precision, ties to even; larger ones become the largest.
pub(crate) fn to_half(number: f32) -> u16 {
    let sign = (number.to_bits() >> 16) as u16 & 0x8000;
    let size = number.abs().min(LARGEST);
    if size < f32::from_bits(0x3880_0000) {
        // Below 2^-14 numbers lie 2^-24 apart.
        return sign | (f64::from(size) * f64::from(1u32 << 24)).round_ties_even() as u16;
    }
    let bits = size.to_bits();
    let rounded = bits + 0x0fff + (bits >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

/// The number behind the bits.
#[inline(always)]
pub(crate) fn from_half(half: u16) -> f32 {
    // The exponents of both differ by 112, which a product makes good, also for the smallest numbers.
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let half = u32::from(half);
    f32::from_bits((half & 0x8000) << 16 | (half & 0x7fff) << 13) * SCALE
}

/// Whether the bits are a number.
pub(crate) fn is_finite(half: u16) -> bool {
    half & 0x7c00 != 0x7c00
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_come_back_and_others_go_to_the_nearest() {
        for half in (0..=u16::MAX).filter(|half| is_finite(*half)) {
            assert_eq!(to_half(from_half(half)), half);
        }
        assert_eq!((from_half(0x3c00), from_half(0xc000), from_half(0x7bff), from_half(1)), (1.0, -2.0, LARGEST, 2f32.powi(-24)));
        assert_eq!((to_half(1e9), to_half(f32::NEG_INFINITY)), (0x7bff, 0xfbff));
        // Between neighbours the nearer, and of two as near the even one.
        for half in 0..0x7bffu16 {
            let (low, high) = (from_half(half), from_half(half + 1));
            let middle = (low + high) / 2.0;
            assert_eq!(to_half(middle), half + half % 2);
            assert_eq!((to_half(middle.next_down()), to_half(middle.next_up())), (half, half + 1));
        }
    }
}
