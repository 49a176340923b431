//! One value of a table, and how a number is shown.

use crate::numbers::{significant_fraction, without_minus_zero};
use std::borrow::Cow;

/// How a number is shown to people. Files for machines (csv, json) always have it in full precision.
///
/// ```
/// use unmissed::report::Shown;
/// assert_eq!(Shown::Significant(3).text(0.123456), "0.123");
/// assert_eq!(Shown::Significant(3).text(123456.0), "123456");
/// assert_eq!(Shown::Significant(3).text(0.0000123456), "1.23e-5");
/// assert_eq!(Shown::Fixed(2).text(-0.001), "0.00");
/// assert_eq!(Shown::Percent(1).text(0.1234), "12.3%");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// This many significant digits; digits before the decimal point are never lost.
    Significant(u8),
    /// This many digits after the decimal point.
    Fixed(u8),
    /// A share of one as a percentage, with this many digits after the decimal point.
    Percent(u8),
}

impl Shown {
    /// The number as text.
    pub fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return value.to_string();
        }
        let text = match self {
            Shown::Significant(digits) => significant_fraction(value, usize::from(digits.max(1))),
            Shown::Fixed(decimals) => format!("{value:.*}", usize::from(decimals)),
            Shown::Percent(decimals) => format!("{:.*}%", usize::from(decimals), value * 100.0),
        };
        without_minus_zero(text)
    }
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words. May hold anything: renderers make it harmless.
    Text(Cow<'static, str>),
    /// A whole number, shown in full.
    Int(i64),
    /// A real number, shown as its column says unless it says so itself.
    Float(f64, Option<Shown>),
    /// Nothing: not computed, or not defined.
    Missing,
}

impl Cell {
    /// A real number that is shown in its own way, whatever its column says.
    ///
    /// ```
    /// use unmissed::report::{Cell, Column, Shown};
    /// let cell = Cell::float(0.25, Shown::Percent(0));
    /// assert_eq!(cell.shown(&Column::new("value").fixed(3)), "25%");
    /// ```
    pub fn float(value: f64, shown: Shown) -> Cell {
        Cell::Float(value, Some(shown))
    }

    /// The value as people see it in this column; empty when missing.
    pub fn shown(&self, column: &super::Column) -> Cow<'_, str> {
        match self {
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Int(number) => Cow::Owned(number.to_string()),
            Cell::Float(number, own) => Cow::Owned(own.unwrap_or(column.shown).text(*number)),
            Cell::Missing => Cow::Borrowed(""),
        }
    }

    /// Whether the cell holds a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Cell::Int(_) | Cell::Float(..))
    }
}

impl serde::Serialize for Cell {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Int(number) => serializer.serialize_i64(*number),
            Cell::Float(number, _) => serializer.serialize_f64(*number),
            Cell::Missing => serializer.serialize_none(),
        }
    }
}

impl From<&'static str> for Cell {
    fn from(text: &'static str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Cell::Float(number, None)
    }
}

impl From<bool> for Cell {
    fn from(yes: bool) -> Self {
        Cell::from(if yes { "yes" } else { "no" })
    }
}

/// A whole number that does not fit (a seed of 64 bits may not) is kept as its digits.
macro_rules! from_whole {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Cell {
            fn from(number: $kind) -> Self {
                i64::try_from(number).map_or_else(|_| Cell::from(number.to_string()), Cell::Int)
            }
        }
    )*};
}
from_whole!(i32, i64, u32, u64, usize);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_lose_their_noise() {
        let four = |value| Shown::Significant(4).text(value);
        assert_eq!(four(0.0), "0");
        assert_eq!(four(1.0), "1.000");
        assert_eq!(four(0.99996), "1.000");
        assert_eq!(four(-1234567.8), "-1234568");
        assert_eq!(four(0.00012345), "0.0001234");
        assert_eq!(four(1e-9), "1.000e-9");
        assert_eq!(four(1e300), "1.000e300");
        assert_eq!(four(f64::NAN), "NaN");
        assert_eq!(Shown::Fixed(3).text(f64::INFINITY), "inf");
        assert_eq!(Shown::Percent(0).text(-0.0), "0%");
    }

    #[test]
    fn whole_numbers_that_do_not_fit_keep_their_digits() {
        assert_eq!(Cell::from(7_usize), Cell::Int(7));
        assert_eq!(Cell::from(u64::MAX), Cell::from("18446744073709551615"));
        assert_eq!(Cell::from(None::<f64>), Cell::Missing);
    }
}
