//! Which rows a tally covers: ranges of row numbers, so that parts that overlap are found and parts that are missing too.

use std::ops::Range;

/// Ranges of rows that neither touch nor overlap, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::evaluate) struct Covered(Vec<Range<u64>>);

impl Covered {
    /// One range.
    pub(in crate::evaluate) fn new(range: Range<u64>) -> Covered {
        Covered(if range.is_empty() { Vec::new() } else { vec![range] })
    }

    /// The number of rows.
    pub(in crate::evaluate) fn rows(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// The rows with these numbers; `Err` has one that occurs twice.
    pub(in crate::evaluate) fn of_numbers(numbers: &[u32]) -> Result<Covered, u64> {
        let mut sorted: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
        sorted.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for number in sorted {
            match ranges.last_mut() {
                Some(last) if number < last.end => return Err(number),
                Some(last) if number == last.end => last.end += 1,
                _ => ranges.push(number..number + 1),
            }
        }
        Ok(Covered(ranges))
    }

    /// The number after the last.
    pub(in crate::evaluate) fn end(&self) -> u64 {
        self.0.last().map_or(0, |range| range.end)
    }

    /// How many ranges it takes.
    pub(in crate::evaluate) fn ranges(&self) -> usize {
        self.0.len()
    }

    /// The same rows behind so many others.
    pub(in crate::evaluate) fn shifted(&self, by: u64) -> Covered {
        Covered(self.0.iter().map(|range| range.start.saturating_add(by)..range.end.saturating_add(by)).collect())
    }

    /// The rows of both; `Err` has a row that both cover.
    pub(in crate::evaluate) fn union(&self, other: &Covered) -> Result<Covered, u64> {
        let mut all: Vec<Range<u64>> = self.0.iter().chain(&other.0).cloned().collect();
        all.sort_unstable_by_key(|range| (range.start, range.end));
        let mut union: Vec<Range<u64>> = Vec::with_capacity(all.len());
        for range in all {
            match union.last_mut() {
                Some(last) if range.start < last.end => return Err(range.start),
                Some(last) if range.start == last.end => last.end = range.end,
                _ => union.push(range),
            }
        }
        Ok(Covered(union))
    }

    /// Starts and ends, one after the other, as files hold them.
    pub(super) fn ends(&self) -> Vec<u64> {
        self.0.iter().flat_map(|range| [range.start, range.end]).collect()
    }

    /// What [`Covered::ends`] gave; `None` when the ranges are not in order or go beyond so many rows.
    pub(super) fn from_ends(ends: &[u64], rows: u64) -> Option<Covered> {
        let (pairs, rest) = ends.as_chunks::<2>();
        let in_order =
            rest.is_empty() && ends.windows(2).all(|pair| pair[0] < pair[1]) && ends.last().is_none_or(|end| *end <= rows);
        in_order.then(|| Covered(pairs.iter().map(|[start, end]| *start..*end).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_and_overlaps_are_found() {
        let part = |range: Range<u64>| Covered::new(range);
        let ends = part(0..3).union(&part(7..9)).unwrap();
        assert_eq!(ends.rows(), 5);
        assert_eq!(part(3..7).union(&ends), Ok(part(0..9)));
        assert_eq!(ends.union(&part(8..12)), Err(8));
        assert_eq!(Covered::of_numbers(&[8, 1, 7, 0, 2]), Ok(ends.clone()));
        assert_eq!(Covered::of_numbers(&[3, 1, 3]), Err(3));
        assert_eq!((ends.shifted(4), ends.end()), (part(4..7).union(&part(11..13)).unwrap(), 9));
        assert_eq!(part(2..2).union(&part(0..9)), Ok(part(0..9)));
        assert_eq!(Covered::from_ends(&ends.ends(), 9), Some(ends.clone()));
        assert_eq!(Covered::from_ends(&ends.ends(), 8), None);
        for broken in [&[3u64, 2][..], &[0, 3, 3, 5], &[1]] {
            assert_eq!(Covered::from_ends(broken, 9), None, "{broken:?}");
        }
    }
}
