//! Where an axis begins and ends, where its ticks are, and what is written there.

use super::{Axis, Scale};
use crate::error::{Error, Result};

/// The extent of an axis: its ends as the axis counts, which on a logarithmic one is in powers of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    low: f64,
    high: f64,
    scale: Scale,
}

/// Whether a value has a place on an axis.
pub(super) fn has_place(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value >= f64::MIN_POSITIVE)
}

impl Extent {
    /// The extent that shows these values (those that have a place) and what the axis has to cover, with some air.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Result<Extent> {
        let covered = axis.covers.into_iter().flat_map(|(low, high)| [low, high]);
        let (low, high) = values
            .chain(covered)
            .filter(|value| has_place(axis.scale, *value))
            .map(|value| axis.scale.counted(value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let air = match axis.scale {
            Scale::Log if low == high => std::f64::consts::LOG10_2,
            Scale::Log => 0.02 * (high - low),
            Scale::Linear if low == high => low.abs().max(1.0) * 0.1,
            Scale::Linear => 0.03 * (high - low),
        };
        let extent = Extent { low: low - air, high: high + air, scale: axis.scale };
        if (extent.high - extent.low).is_finite() {
            Ok(extent)
        } else {
            Err(Error::value(format!("the range of the axis '{}' is too large to be drawn", axis.label)))
        }
    }

    /// The place of a value: 0 at the lower end, 1 at the upper, and at an end if the value is beyond it.
    pub(super) fn place(&self, value: f64) -> f64 {
        let counted = if has_place(self.scale, value) { self.scale.counted(value) } else { self.low };
        ((counted - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Ticks, about this many, each with what is written there.
    pub(super) fn ticks(&self, wanted: f64) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear => ticks(self.low, self.high, wanted),
            Scale::Log => log_ticks(self.low, self.high, wanted),
        };
        let in_powers = self.scale == Scale::Log && (self.low < -3.0 || self.high >= 8.0);
        let mut words: Vec<String> =
            values.iter().map(|tick| if in_powers { power_of_ten(*tick) } else { compact(*tick) }).collect();
        // Ticks that differ only in digits which the short form drops are written in full.
        if words.windows(2).any(|pair| pair[0] == pair[1]) {
            words = values.iter().map(|tick| tick.to_string()).collect();
        }
        values.into_iter().zip(words).collect()
    }

    /// Marks between the ticks of a logarithmic axis, where they can be told apart.
    pub(super) fn minor_ticks(&self) -> Vec<f64> {
        if self.scale == Scale::Linear || self.high - self.low > 8.0 {
            return Vec::new();
        }
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = powers.flat_map(|power| (2..10).map(move |digit| f64::from(digit) * 10f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(&tick.log10())).collect()
    }
}

impl Scale {
    /// The value as the axis counts.
    fn counted(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }
}

/// Round values that divide an axis into about `wanted` parts.
pub(in crate::report) fn ticks(low: f64, high: f64, wanted: f64) -> Vec<f64> {
    let raw = (high - low) / wanted;
    let unit = 10f64.powf(raw.log10().floor());
    let far = |step: f64| (step / raw).ln().abs();
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * unit);
    let step = steps.into_iter().min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(unit);
    if step <= 0.0 || !step.is_finite() {
        return vec![low];
    }
    let first = (low / step - 1e-9).ceil();
    // A tick is the nearest number to its decimal form: 0.3, not 0.30000000000000004.
    let tidy = |tick: f64| format!("{tick:.12e}").parse().unwrap_or(tick);
    (0..50).map(|place| (first + f64::from(place)) * step).take_while(|tick| *tick <= high + 1e-9 * step).map(tidy).collect()
}

/// Powers of ten between the ends (which are such powers); with twos and fives when those would be few, and round values when even
/// these would be.
fn log_ticks(low: f64, high: f64, wanted: f64) -> Vec<f64> {
    let decades = high - low;
    let steps: &[f64] = if decades < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (decades / wanted).ceil().max(1.0) as i32;
    let powers = (low.floor() as i32..=high.ceil() as i32).filter(|power| power.rem_euclid(every) == 0);
    let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    let inside: Vec<f64> = all.filter(|tick| (low - 1e-9..=high + 1e-9).contains(&tick.log10())).collect();
    if inside.len() >= 2 { inside } else { ticks(10f64.powf(low), 10f64.powf(high), wanted) }
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
    format!("{}{suffix}", trimmed(format!("{scaled:.6}")))
}

/// `10⁻⁴`, `2·10⁶`; but `1` and `10`, which everybody knows.
fn power_of_ten(value: f64) -> String {
    let scientific = format!("{value:.3e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    if matches!(exponent, "0" | "1") {
        return trimmed(format!("{value:.3}"));
    }
    let raised: String = exponent.chars().map(superscript).collect();
    match trimmed(digits.to_owned()).as_str() {
        "1" => format!("10{raised}"),
        digits => format!("{digits}·10{raised}"),
    }
}

/// Decimals without trailing zeros, with a minus sign that is one.
fn trimmed(digits: String) -> String {
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

    fn words(scale: Scale, values: &[f64]) -> Vec<String> {
        extent(scale, values).ticks(6.0).into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn ticks_are_short() {
        let values = [0.0, 0.25, -0.5, 1.0, 2500.0, 20_000.0, 3e6, 1.5e9, 2e-5];
        assert_eq!(values.map(compact), ["0", "0.25", "−0.5", "1", "2500", "20k", "3M", "1.5G", "2·10⁻⁵"]);
        assert_eq!([1e-4, 1.0, 10.0, 2e6, 1e12].map(power_of_ten), ["10⁻⁴", "1", "10", "2·10⁶", "10¹²"]);
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 1.03, 2.0), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(-0.1, 0.55, 3.0), [0.0, 0.2, 0.4]);
        assert_eq!(ticks(0.0, 0.4, 4.0), [0.0, 0.1, 0.2, 0.3, 0.4]);
        assert_eq!(ticks(0.0, 10.0, 5.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(words(Scale::Log, &[1.0, 40.0]), ["1", "2", "5", "10", "20"]);
        assert_eq!(words(Scale::Log, &[1.0, 15_000.0]), ["1", "10", "100", "1000", "10k"]);
        assert_eq!(words(Scale::Log, &[1e-5, 1.0]), ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"]);
        // No power of ten lies between these.
        assert_eq!(words(Scale::Log, &[11.0, 19.0]), ["11", "12", "13", "14", "15", "16", "17", "18", "19"]);
        // Shortened, all of these would be one.
        assert_eq!(words(Scale::Linear, &[1e15, 1e15 + 4.0])[0], "1000000000000000");
    }

    #[test]
    fn logarithmic_axes_have_marks_between_their_ticks() {
        let marks = extent(Scale::Log, &[1.0, 100.0]).minor_ticks();
        assert_eq!((marks.first(), marks.last(), marks.len()), (Some(&2.0), Some(&90.0), 16));
        assert!(
            extent(Scale::Log, &[1.0, 1e9]).minor_ticks().is_empty() && extent(Scale::Linear, &[1.0, 9.0]).minor_ticks().is_empty()
        );
    }

    #[test]
    fn extents_hold_their_values_and_never_vanish() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[1.0][..], &[3.0, 3.0], &[1.0, 1e6], &[1e-300, 1e-20], &[5e-17, 6e-17], &[f64::NAN, 2.0]] {
                let extent = extent(scale, values);
                assert!(extent.high > extent.low, "{scale:?} {values:?} {extent:?}");
                for value in values.iter().filter(|value| value.is_finite()) {
                    let place = extent.place(*value);
                    assert!((0.0..=1.0).contains(&place), "{scale:?} {values:?} {place}");
                }
                assert!(!extent.ticks(6.0).is_empty(), "{scale:?} {values:?}");
            }
        }
        let axis = Axis { label: "x".into(), ..Axis::default() };
        assert!(Extent::new(&axis, [f64::MAX, f64::MIN].into_iter()).is_err());
    }
}
