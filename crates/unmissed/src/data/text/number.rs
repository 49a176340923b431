//! Numbers in text, eight digits at a time.
//!
//! Ids and values of sparse rows are short, and their lengths vary so much that a loop over digits spends most of its time
//! on mispredicted branches. Here the length of a run of digits comes from arithmetic on a 64-bit word, and what does not
//! fit (signs, exponents, long mantissas) goes to a general, correctly rounding parser.

/// 10^0 to 10^8: exact as integers, and as `f32`.
const POWERS: [u32; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The digits at the front of `bytes`, at most eight: their number, and how many there are.
#[inline(always)]
fn digits(bytes: &[u8]) -> (u32, usize) {
    if let Some(word) = bytes.first_chunk::<8>() {
        // A digit has 3 as its upper four bits and at most 9 as its lower four: anything else sets the top bit of its byte.
        let values = u64::from_le_bytes(*word) ^ 0x3030_3030_3030_3030;
        let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
        let count = (others.trailing_zeros() / 8) as usize;
        if count == 0 {
            return (0, 0);
        }
        // Leading zeros in front, then pairs, then groups of four, then all eight digits.
        let values = values << (8 * (8 - count));
        let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
        let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
        let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
        ((low.wrapping_add(high) >> 32) as u32, count)
    } else {
        let count = bytes.iter().take(7).take_while(|byte| byte.is_ascii_digit()).count();
        (bytes[..count].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')), count)
    }
}

/// The id at the front of `bytes` and its length; `None` without a digit or beyond 32 bits.
#[inline(always)]
pub(crate) fn id(bytes: &[u8]) -> Option<(u32, usize)> {
    let (number, count) = digits(bytes);
    match count {
        0 => None,
        1..=7 => Some((number, count)),
        _ => long_id(bytes),
    }
}

#[cold]
fn long_id(bytes: &[u8]) -> Option<(u32, usize)> {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = bytes[..count].iter().try_fold(0u32, |n, digit| n.checked_mul(10)?.checked_add(u32::from(digit - b'0')));
    Some((number?, count))
}

/// The value at the front of `bytes` and its length, correctly rounded; `None` when it is not a finite number that ends at
/// a space, at the end of the line or at the end of the text.
#[inline(always)]
pub(crate) fn value(bytes: &[u8]) -> Option<(f32, usize)> {
    let (whole, count) = match bytes {
        [digit @ b'0'..=b'9', b'.', ..] => (u32::from(digit - b'0'), 1),
        _ => digits(bytes),
    };
    let (mantissa, decimals, length) = if bytes.get(count) == Some(&b'.') {
        let (fraction, decimals) = digits(&bytes[count + 1..]);
        (u64::from(whole) * u64::from(POWERS[decimals]) + u64::from(fraction), decimals, count + 1 + decimals)
    } else {
        (u64::from(whole), 0, count)
    };
    // Both sides of the division are exact in `f32`, so that its result is the nearest `f32` to the decimal number.
    if count > 0 && mantissa <= 1 << 24 && ends(bytes, length) {
        return Some((mantissa as f32 / POWERS[decimals] as f32, length));
    }
    general_value(bytes)
}

#[cold]
fn general_value(bytes: &[u8]) -> Option<(f32, usize)> {
    let length = bytes.iter().position(|byte| is_end(*byte)).unwrap_or(bytes.len());
    let value: f32 = lexical_core::parse(&bytes[..length]).ok()?;
    value.is_finite().then_some((value, length))
}

#[inline(always)]
fn ends(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| is_end(*byte))
}

#[inline(always)]
fn is_end(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_of_every_length() {
        for id_text in ["0", "7", "42", "999", "1234567", "12345678", "123456789", "4294967295", "007"] {
            for tail in ["", " ", ":0.5 11:2", ",3"] {
                let text = format!("{id_text}{tail}");
                assert_eq!(id(text.as_bytes()), Some((id_text.parse().unwrap(), id_text.len())), "{text}");
            }
        }
        for bad in ["", "-1", "x", " 1", "4294967296", "99999999999999999999", ":"] {
            assert_eq!(id(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn values_that_are_not_finite_numbers() {
        for bad in ["", "x", "nan", "NaN", "inf", "-inf", "1e99", "1.5x", "1:2", ".", "-", "1..2", "0x1", "1,5", "\0"] {
            assert_eq!(value(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn values_are_what_the_standard_library_reads(text in r"-?[0-9]{1,12}(\.[0-9]{0,12})?(e-?[0-9])?", tail in "( |\n| 3:4 5:6|)") {
            let line = format!("{text}{tail}");
            prop_assert_eq!(value(line.as_bytes()), Some((text.parse().unwrap(), text.len())));
        }

        #[test]
        fn any_f32_survives_being_written(number in proptest::num::f32::NORMAL | proptest::num::f32::SUBNORMAL | proptest::num::f32::ZERO) {
            let text = number.to_string();
            prop_assert_eq!(value(text.as_bytes()).map(|(v, _)| v.to_bits()), Some(number.to_bits()));
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let _ = (id(&bytes), value(&bytes));
        }
    }
}
