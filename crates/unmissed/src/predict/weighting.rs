//! [`Weighting`]: a line for each label, by which rows are given labels one at a time.

use crate::data::{Output, Scores, read_full_column};
use crate::error::{Error, Result, digits};
use crate::top_k::Key;
use serde::Serialize;
use std::path::Path;

/// A line `a_j p + b_j` for each label: the worth of giving label j to one more row where its probability is p, with all other rows as
/// they are. Rows that come later are given the labels that are worth most.
///
/// ```
/// use unmissed::{data::Scores, optimize::Weighting};
/// let weighting = Weighting::new(vec![[1.0, 0.0], [4.0, -0.1]])?;
/// let rows = Scores::from_rows(2, [[(0, 0.5f32), (1, 0.2)], [(0, 0.5), (1, 0.1)]])?;
/// // 4 x 0.2 - 0.1 is more than 0.5, 4 x 0.1 - 0.1 is less.
/// let labels = weighting.apply(&rows, 1, false)?;
/// assert_eq!((labels.row_ids(0), labels.row_ids(1)), (&[1][..], &[0][..]));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Weighting {
    lines: Vec<[f64; 2]>,
}

impl Weighting {
    /// Lines `[a, b]`, by label.
    pub fn new(lines: Vec<[f64; 2]>) -> Result<Weighting> {
        match lines.iter().position(|[a, b]| !(a.is_finite() && b.is_finite())) {
            Some(label) => Err(Error::value(format!("the line of label {label} is out of range"))
                .expected("two finite numbers")
                .found(format!("{} and {}", digits(lines[label][0]), digits(lines[label][1])))),
            None => Ok(Weighting { lines }),
        }
    }

    /// Reads a csv `label,a,b` with a line for each of so many labels.
    pub fn read(path: impl AsRef<Path>, labels: usize) -> Result<Weighting> {
        let path = path.as_ref();
        let number = |cell: &str| cell.parse::<f64>().ok().filter(|value| value.is_finite());
        let column = |name| read_full_column(path, "label", name, labels as u64, "a finite number", number);
        Weighting::new(column("a")?.into_iter().zip(column("b")?).map(|(a, b)| [a, b]).collect())
    }

    /// The lines, by label.
    pub fn lines(&self) -> &[[f64; 2]] {
        &self.lines
    }

    /// The k labels of each row that are worth most, or at most k that are worth anything. Their scores are their probabilities.
    pub fn apply(&self, rows: &Scores<'_>, k: usize, at_most: bool) -> Result<Scores<'static>> {
        if rows.cols() != self.lines.len() {
            return Err(Error::value("the lines do not match the labels")
                .expected(rows.cols().to_string())
                .found(self.lines.len().to_string()));
        }
        if k == 0 {
            return Err(Error::value("k is out of range").expected("at least 1").found("0"));
        }
        let mut best = Vec::new();
        let labels = (0..rows.rows()).map(|row| {
            let (ids, p) = rows.row(row);
            best_places(ids, p, &self.lines, k, at_most, &mut best);
            let mut row: Vec<(u32, f32)> = best.iter().map(|(_, place)| (ids[*place as usize], p[*place as usize])).collect();
            row.sort_unstable_by_key(|(id, p)| Key::new(*p, *id));
            row
        });
        Scores::from_rows(rows.cols() as u64, labels.collect::<Vec<_>>())
    }

    /// Writes a csv `label,a,b`.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut out = Output::create(path)?;
        out.put(b"label,a,b\n")?;
        for (label, [a, b]) in self.lines.iter().enumerate() {
            out.put(format!("{label},{},{}\n", digits(*a), digits(*b)).as_bytes())?;
        }
        out.finish()
    }
}

/// The places of the k highest values by their lines, the highest first, ties to the smaller label; with `at_most`, of those above 0.
pub(crate) fn best_places(ids: &[u32], p: &[f32], lines: &[[f64; 2]], k: usize, at_most: bool, best: &mut Vec<(f64, u32)>) {
    best.clear();
    let mut bar = if at_most { 0.0 } else { f64::NEG_INFINITY };
    for ((id, p), place) in ids.iter().zip(p).zip(0u32..) {
        let [a, b] = lines[*id as usize];
        let value = a * f64::from(*p) + b;
        let is_full = best.len() == k;
        let ties = is_full && value == bar && *id < ids[best[k - 1].1 as usize];
        if value > bar || ties {
            if is_full {
                best.pop();
            }
            let stays = |other: &(f64, u32)| other.0 > value || (other.0 == value && ids[other.1 as usize] < *id);
            let at = best.iter().rposition(stays).map_or(0, |at| at + 1);
            best.insert(at, (value, place));
            if best.len() == k {
                bar = best[k - 1].0;
            }
        }
    }
}
