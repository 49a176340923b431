//! Where an axis begins and ends, and what is written at its ticks.

use super::{Axis, Scale};
use crate::error::{Error, Result};

/// The extent of an axis, in units of `unit` (a power of ten). The drawing library takes spans below 1e-16 and logarithms
/// below -10 for zero, so very small values are drawn in a smaller unit, which the ticks undo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Extent {
    pub(in crate::report) low: f64,
    pub(in crate::report) high: f64,
    unit: f64,
    scale: Scale,
    powers: bool,
}

/// Whether a value has a place on an axis.
pub(in crate::report) fn has_place(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value >= f64::MIN_POSITIVE)
}

impl Extent {
    /// The extent that shows these values (those that have a place) and what the axis has to cover, with some air.
    pub(in crate::report) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Result<Extent> {
        let covered = axis.covers.into_iter().flat_map(|(low, high)| [low, high]);
        let placed = |value: &f64| has_place(axis.scale, *value);
        let (low, high) = values
            .chain(covered)
            .filter(placed)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match axis.scale {
            Scale::Log if low == high => (low / 2.0, high * 2.0),
            Scale::Log => {
                let air = (high / low).powf(0.02);
                (low / air, high * air)
            }
            Scale::Linear => {
                let air = if low == high { low.abs().max(1.0) * 0.1 } else { (high - low) * 0.03 };
                (low - air, high + air)
            }
        };
        let unit = match axis.scale {
            Scale::Log => low,
            Scale::Linear => high.abs().max(low.abs()),
        };
        let unit = if unit < 1e-6 { 10f64.powf(unit.log10().floor()) } else { 1.0 };
        let extent = Extent { low: low / unit, high: high / unit, unit, scale: axis.scale, powers: low < 9e-4 || high >= 1e8 };
        if !(extent.low.is_finite() && extent.high.is_finite() && (extent.high - extent.low).is_finite()) {
            return Err(Error::value(format!("the values on the axis '{}' are too far apart to be drawn", axis.label)));
        }
        Ok(extent)
    }

    /// The power of ten in which the ends are given.
    pub(in crate::report) fn unit(&self) -> f64 {
        self.unit
    }

    /// The value in the units of the drawing, moved to the nearest end if it is beyond one.
    pub(in crate::report) fn drawn(&self, value: f64) -> f64 {
        (value / self.unit).clamp(self.low, self.high)
    }

    /// The place of a drawn value, 0 at the lower end and 1 at the upper.
    pub(in crate::report) fn place(&self, drawn: f64) -> f64 {
        match self.scale {
            Scale::Linear => (drawn - self.low) / (self.high - self.low),
            Scale::Log => (drawn / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// What to write at a tick.
    pub(in crate::report) fn tick(&self, drawn: f64) -> String {
        let value = drawn * self.unit;
        match self.scale {
            Scale::Log if self.powers => power_of_ten(value),
            _ => compact(value),
        }
    }
}

/// `0.25`, `500`, `20k`, `3M`: short enough not to run into its neighbours.
fn compact(value: f64) -> String {
    let size = value.abs();
    let (scaled, suffix) = match size {
        1e15.. => return power_of_ten(value),
        1e9.. => (value / 1e9, "G"),
        1e6.. => (value / 1e6, "M"),
        1e4.. => (value / 1e3, "k"),
        _ if size < 1e-4 && size > 0.0 => return power_of_ten(value),
        _ => (value, ""),
    };
    let digits = format!("{scaled:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{}{suffix}", digits.replace('-', "−"))
}

/// `10⁻⁴`, `2·10⁶`; but `1` and `10`, which everybody knows.
fn power_of_ten(value: f64) -> String {
    let scientific = format!("{value:.3e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if matches!(exponent, "0" | "1") {
        return compact_small(value);
    }
    let raised: String = exponent.chars().map(superscript).collect();
    match digits {
        "1" => format!("10{raised}"),
        digits => format!("{}·10{raised}", digits.replace('-', "−")),
    }
}

fn compact_small(value: f64) -> String {
    let digits = format!("{value:.3}");
    digits.trim_end_matches('0').trim_end_matches('.').replace('-', "−")
}

fn superscript(c: char) -> char {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    c.to_digit(10).and_then(|digit| RAISED.get(digit as usize)).copied().unwrap_or('⁻')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(scale: Scale, values: &[f64]) -> Extent {
        Extent::new(&Axis { scale, ..Axis::default() }, values.iter().copied()).unwrap()
    }

    #[test]
    fn ticks_are_short() {
        let values = [0.0, 0.25, -0.5, 1.0, 2500.0, 20_000.0, 3e6, 1.5e9, 2e-5];
        assert_eq!(values.map(compact), ["0", "0.25", "−0.5", "1", "2500", "20k", "3M", "1.5G", "2·10⁻⁵"]);
        assert_eq!([1e-4, 1.0, 10.0, 2e6, 1e12].map(power_of_ten), ["10⁻⁴", "1", "10", "2·10⁶", "10¹²"]);
    }

    #[test]
    fn extents_hold_their_values_and_never_vanish() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[1.0][..], &[3.0, 3.0], &[1.0, 1e6], &[1e-300, 1e-20], &[5e-17, 6e-17], &[f64::NAN, 2.0]] {
                let extent = extent(scale, values);
                assert!(extent.high > extent.low, "{scale:?} {values:?} {extent:?}");
                for value in values.iter().filter(|value| value.is_finite()) {
                    let place = extent.place(value / extent.unit);
                    assert!((0.0..=1.0).contains(&place), "{scale:?} {values:?} {place}");
                }
            }
        }
        let axis = Axis { label: "x".into(), ..Axis::default() };
        assert!(Extent::new(&axis, [f64::MAX, f64::MIN].into_iter()).is_err());
    }
}
