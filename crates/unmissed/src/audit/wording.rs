//! How numbers are written in the sentences of an audit.

use crate::numbers::four_digits;

/// A share in percent.
pub(super) fn percent(value: f64) -> String {
    format!("{} %", four_digits(100.0 * value, 1))
}

/// A share in whole percent, as of something that is not known better.
pub(super) fn about(share: f64) -> String {
    match 100.0 * share {
        small if small < 0.5 => "Less than 1 %".into(),
        percent => format!("About {percent:.0} %"),
    }
}

/// A value with its interval, of which no end is beyond what a share can be: `52.1 % (50.2 to 54.0)`.
pub(super) fn within(value: f64, low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => {
            let [low, high] = [low, high].map(|end| four_digits(100.0 * end.clamp(0.0, 1.0), 1));
            format!("{} ({low} to {high})", percent(value))
        }
        _ => percent(value),
    }
}

/// A difference of shares in points.
pub(super) fn points(value: f64) -> String {
    format!("{:+.1}", 100.0 * value)
}

/// The first letter as at the start of a sentence.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
