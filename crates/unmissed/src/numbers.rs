//! How numbers are written for people: at most four significant digits, and no meaningless ones.

/// The number with this many significant digits; digits before the decimal point are rounded, too.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    shortened(value, digits, |scientific| scientific.parse().unwrap_or(value))
}

/// The number with this many significant digits, and all of those before the decimal point.
#[cfg(feature = "report")]
pub(crate) fn significant_fraction(value: f64, digits: usize) -> String {
    shortened(value, digits, |_| value)
}

/// `plain` is what is written of a number without an exponent, given its scientific form.
fn shortened(value: f64, digits: usize, plain: impl FnOnce(&str) -> f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    // The exponent after rounding: 0.9996 with three digits is 1.00.
    let scientific = format!("{value:.*e}", digits - 1);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    match exponent {
        -4..=14 => {
            let decimals = (digits as i32 - 1 - exponent).max(0);
            format!("{:.*}", decimals as usize, plain(&scientific))
        }
        _ => scientific,
    }
}

/// The number with at most four significant digits, of which at most `decimals` are after the point.
pub(crate) fn four_digits(value: f64, decimals: usize) -> String {
    let fixed = format!("{value:.decimals$}");
    let digits = fixed.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    without_minus_zero(if digits <= 4 { fixed } else { significant(value, 4) })
}

/// A tiny negative number rounds to "-0.00", which reads like a mistake.
pub(crate) fn without_minus_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if !rest.bytes().any(|byte| byte.is_ascii_digit() && byte != b'0') => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_four_digits() {
        for (value, text) in [
            (0.0, "0.00"),
            (53.741, "53.74"),
            (100.0, "100.0"),
            (99.999, "100.0"),
            (-0.001, "0.00"),
            (0.0449, "0.04"),
            (1234.56, "1235"),
            (-492_613.0, "-492600"),
            (1e20, "1.000e20"),
        ] {
            assert_eq!(four_digits(value, 2), text, "{value}");
        }
        assert_eq!([significant(0.123_456, 4), significant(f64::INFINITY, 4)], ["0.1235", "inf"]);
    }
}
