//! Sizes of memory and files, as users write them.

use crate::error::{Error, Result};

/// A number of bytes such as `500MB`, `4GB` or `1000000`; units are powers of a thousand.
///
/// ```
/// use unmissed::request::byte_size;
/// assert_eq!((byte_size("1.5GB")?, byte_size("200k")?, byte_size("7")?), (1_500_000_000, 200_000, 7));
/// assert!(byte_size("many").is_err() && byte_size("-1GB").is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn byte_size(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => Some(1.0),
        "K" | "KB" => Some(1e3),
        "M" | "MB" => Some(1e6),
        "G" | "GB" => Some(1e9),
        "T" | "TB" => Some(1e12),
        _ => None,
    };
    let number = digits.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    match (number, unit) {
        (Some(number), Some(unit)) => Ok((number * unit) as u64),
        _ => Err(Error::value("cannot read a size in bytes")
            .expected("a number with a unit, as in 500MB or 4GB")
            .found(format!("'{text}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(byte_size("500MB").ok(), Some(500_000_000));
        assert_eq!(byte_size("1.5 gb").ok(), Some(1_500_000_000));
        assert_eq!(byte_size("7").ok(), Some(7));
        for text in ["", "GB", "-1GB", "1 parsec", "nan", "1e400"] {
            assert!(byte_size(text).is_err(), "{text}");
        }
    }
}
