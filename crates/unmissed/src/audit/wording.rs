//! How numbers and lists are written in the sentences of an audit.

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A share in percent.
pub(super) fn percent(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

/// A difference of shares in points.
pub(super) fn points(value: f64) -> String {
    format!("{:+.1}", 100.0 * value)
}
