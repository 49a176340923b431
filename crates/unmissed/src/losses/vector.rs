//! The exponential family of losses over many logits at once: plain loops without branches or calls, which compile to vector
//! instructions, the widest that the processor has.
//!
//! Only additions, multiplications and divisions in a fixed order: the result is the same on every processor.

use std::f32::consts::{LN_2, LOG2_E};

/// `exp(x)` with a relative error below 2e-7 for x in [-87, 88]; constant outside.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
    const SHIFT: f32 = 12_582_912.0;
    // The first part of ln 2 has trailing zeros, so that its product with a whole number is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    debug_assert!((LN_2_HIGH + LN_2_LOW - LN_2).abs() < 1e-6);
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * LOG2_E + SHIFT;
    let whole = shifted - SHIFT;
    let rest = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    let mut sum = 1.987_569_2e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        sum = sum * rest + coefficient;
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_add(127) << 23);
    (sum * rest * rest + rest + 1.0) * power
}

/// `2 artanh(x)` for |x| up to 1/3.
#[inline(always)]
fn twice_artanh(x: f32) -> f32 {
    let square = x * x;
    let mut sum = 1.0 / 13.0;
    for odd in [11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / odd;
    }
    2.0 * x * sum
}

/// `(s, t)`: the sigmoids of z and -z, by one exponential and one quotient.
#[inline(always)]
pub(crate) fn sigmoids(z: f32) -> (f32, f32) {
    let small = exp(-z.abs());
    let larger = 1.0 / (1.0 + small);
    let smaller = small * larger;
    if z > 0.0 { (larger, smaller) } else { (smaller, larger) }
}

/// `(ln(1 + exp(z)), s, t)`, with s and t as in [`sigmoids`], by one exponential.
#[inline(always)]
pub(super) fn softplus_and_sigmoids(z: f32) -> (f32, f32, f32) {
    let small = exp(-z.abs());
    let larger = 1.0 / (1.0 + small);
    let smaller = small * larger;
    // ln(1 + t) = 2 artanh(t / (2 + t)), whose argument is at most 1/3.
    let softplus = z.max(0.0) + twice_artanh(small / (2.0 + small));
    if z > 0.0 { (softplus, larger, smaller) } else { (softplus, smaller, larger) }
}

/// `-ln(rest)` for a rest in (0, 1], given `1 - rest` as well: neither follows from the other without a loss of digits.
#[inline(always)]
pub(super) fn minus_ln(rest: f32, one_minus_rest: f32) -> f32 {
    // rest = m 2^e with m in [2/3, 4/3).
    const TWO_THIRDS: u32 = 0x3f2a_aaab;
    let exponent = (rest.to_bits().wrapping_sub(TWO_THIRDS) as i32) >> 23;
    let m = f32::from_bits(rest.to_bits().wrapping_sub((exponent as u32) << 23));
    let below_one = if exponent == 0 { one_minus_rest } else { 1.0 - m };
    twice_artanh(below_one / (1.0 + m)) - exponent as f32 * LN_2
}

/// `f(z, p)` in place of each logit.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn replace(logits: &mut [f32], p: &[f32], f: impl Fn(f32, f32) -> f32 + Copy) {
    for row in logits.chunks_exact_mut(p.len()) {
        for (z, &p) in row.iter_mut().zip(p) {
            *z = f(*z, p);
        }
    }
}

/// Logits that are worked on together. Loops over arrays of a known length become vectors without a rest, and values are collected
/// before they are added up: sums in double precision among them would halve the width of the vectors.
const CHUNK: usize = 16;

/// `f(z, p)` = the value of each logit, added to that of its label: the same sums as [`collect`] makes.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn sum(logits: &[f32], p: &[f32], values: &mut [f64], f: impl Fn(f32, f32) -> f32 + Copy) {
    let width = values.len();
    let by_label = p.len() == width;
    for (row, logits) in logits.chunks_exact(width).enumerate() {
        let p = if by_label { p } else { &p[row * width..(row + 1) * width] };
        let (z, z_rest) = logits.as_chunks::<CHUNK>();
        let (chances, p_rest) = p.as_chunks::<CHUNK>();
        let (sums, sums_rest) = values.as_chunks_mut::<CHUNK>();
        for ((z, p), sums) in z.iter().zip(chances).zip(sums) {
            let found: [f32; CHUNK] = std::array::from_fn(|place| f(z[place], p[place]));
            (0..CHUNK).for_each(|place| sums[place] += f64::from(found[place]));
        }
        for ((&z, &p), sum) in z_rest.iter().zip(p_rest).zip(sums_rest) {
            *sum += f64::from(f(z, p));
        }
    }
}

/// `f(z, p)` = (value, gradient, curvature) of each logit, put where [`super::Loss::terms`] says. `p` belongs to the labels when
/// it has as many numbers as `values`, else to the pairs.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn collect(
    logits: &[f32],
    p: &[f32],
    gradients: &mut [f32],
    curvatures: &mut [f32],
    values: &mut [f64],
    f: impl Fn(f32, f32) -> (f32, f32, f32) + Copy,
) {
    let width = values.len();
    let rows = logits.chunks_exact(width).zip(gradients.chunks_exact_mut(width)).zip(curvatures.chunks_exact_mut(width));
    let by_label = p.len() == width;
    for (row, ((logits, gradients), curvatures)) in rows.enumerate() {
        let p = if by_label { p } else { &p[row * width..(row + 1) * width] };
        let (z, z_rest) = logits.as_chunks::<CHUNK>();
        let (chances, p_rest) = p.as_chunks::<CHUNK>();
        let (first, first_rest) = gradients.as_chunks_mut::<CHUNK>();
        let (second, second_rest) = curvatures.as_chunks_mut::<CHUNK>();
        let (sums, sums_rest) = values.as_chunks_mut::<CHUNK>();
        for ((((z, p), first), second), sums) in z.iter().zip(chances).zip(first).zip(second).zip(sums) {
            let mut found = [0.0; CHUNK];
            for place in 0..CHUNK {
                (found[place], first[place], second[place]) = f(z[place], p[place]);
            }
            (0..CHUNK).for_each(|place| sums[place] += f64::from(found[place]));
        }
        let rest = z_rest.iter().zip(p_rest).zip(first_rest).zip(second_rest).zip(sums_rest);
        for ((((&z, &p), first), second), sum) in rest {
            let (value, gradient, curvature) = f(z, p);
            (*first, *second) = (gradient, curvature);
            *sum += f64::from(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximations_meet_double_precision() {
        for step in -8_600..=8_600 {
            let z = step as f32 / 100.0;
            let wide = f64::from(z);
            let meets = |got: f32, expected: f64, what: &str| {
                assert!((f64::from(got) - expected).abs() <= 4e-7 * expected.abs(), "{what}({z}) = {got}, not {expected}");
            };
            meets(exp(z), wide.exp(), "exp");
            let (softplus, s, t) = softplus_and_sigmoids(z);
            assert_eq!((s, t), sigmoids(z));
            meets(s, 1.0 / (1.0 + (-wide).exp()), "sigmoid");
            meets(t, 1.0 / (1.0 + wide.exp()), "sigmoid of the negative");
            meets(softplus, wide.max(0.0) + (-wide.abs()).exp().ln_1p(), "softplus");
        }
        let ends = |z| softplus_and_sigmoids(z);
        assert_eq!((ends(1e30).0, ends(1e30).1), (1e30, 1.0));
        assert!(ends(-1e30).0 < 1e-37 && ends(-1e30).1 < 1e-37 && ends(1e30).2 < 1e-37);
    }

    #[test]
    fn logarithms_meet_double_precision() {
        for step in 1..=8_600 {
            // From both ends of (0, 1): what is left, and what is gone.
            let small = (-f64::from(step) / 100.0).exp() as f32;
            for (rest, gone) in [(small, 1.0 - small), (1.0 - small, small)] {
                let expected = if rest < gone { -f64::from(rest).ln() } else { -(-f64::from(gone)).ln_1p() };
                let got = f64::from(minus_ln(rest, gone));
                assert!((got - expected).abs() <= 4e-7 * expected.abs(), "-ln({rest}) = {got}, not {expected}");
            }
        }
        assert_eq!(minus_ln(1.0, 0.0), 0.0);
    }
}
