//! The weights of [`WIDTH`] neighbouring labels, dense or sparse, as prediction reads them.
//!
//! Dense panels have a line of [`WIDTH`] weights for each feature, which starts at the start of a cache line. Sparse panels
//! have lists of weights for each feature; they are spread out into lines, a tile at a time, before many rows use them, so
//! that both forms run through the same code and give the same sums.

use super::kernel::WIDTH;
use std::borrow::Cow;
use std::ops::Range;

/// Weights or scores of the labels of a panel.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [f32; WIDTH]);

/// Lines of zeros.
pub(crate) fn zeros(count: usize) -> Vec<Line> {
    bytemuck::allocation::zeroed_vec(count)
}

/// The weights of a panel. See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Panel {
    /// A line for each feature.
    Dense(Vec<Line>),
    /// The nonzero weights.
    Sparse(Sparse),
}

/// For each feature the places in its line that are not zero, and the weights there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sparse {
    pub(crate) starts: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

/// Bytes of `nonzeros` sparse weights, a start for each feature included.
pub(crate) fn sparse_bytes(features: usize, nonzeros: usize) -> usize {
    size_of::<u32>() * (features + 1) + (size_of::<u32>() + size_of::<f32>()) * nonzeros
}

impl Panel {
    /// The form that takes fewer bytes for `width` labels.
    pub(crate) fn from_lines(lines: Vec<Line>, width: usize) -> Panel {
        let nonzeros = lines.iter().map(|line| count(&line.0)).sum();
        let dense = size_of::<f32>() * lines.len() * width;
        if u32::try_from(nonzeros).is_err() || sparse_bytes(lines.len(), nonzeros) >= dense {
            return Panel::Dense(lines);
        }
        let mut sparse = Sparse {
            starts: Vec::with_capacity(lines.len() + 1),
            columns: Vec::with_capacity(nonzeros),
            values: Vec::with_capacity(nonzeros),
        };
        sparse.starts.push(0);
        for line in &lines {
            for (column, value) in line.0.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                sparse.columns.push(column as u32);
                sparse.values.push(*value);
            }
            sparse.starts.push(sparse.values.len() as u32);
        }
        Panel::Sparse(sparse)
    }

    /// A copy of the lines of some features.
    pub(crate) fn copy<'a>(&self, features: Range<usize>, into: &'a mut Vec<Line>) -> &'a [Line] {
        into.clear();
        match self {
            Panel::Dense(lines) => into.extend_from_slice(&lines[features]),
            Panel::Sparse(sparse) => {
                into.resize(features.len(), Line([0.0; WIDTH]));
                for (line, feature) in into.iter_mut().zip(features) {
                    sparse.for_each(feature, |column, value| line.0[column] = value);
                }
            }
        }
        into
    }

    /// All lines.
    pub(crate) fn all_lines(&self, features: usize) -> Cow<'_, [Line]> {
        match self {
            Panel::Dense(lines) => Cow::Borrowed(lines),
            Panel::Sparse(_) => {
                let mut lines = Vec::new();
                self.copy(0..features, &mut lines);
                Cow::Owned(lines)
            }
        }
    }

    /// Number of nonzero weights.
    pub(crate) fn nonzeros(&self) -> usize {
        match self {
            Panel::Dense(lines) => lines.iter().map(|line| count(&line.0)).sum(),
            Panel::Sparse(sparse) => count(&sparse.values),
        }
    }

    /// The same weights without those of at most `least` in absolute value.
    pub(crate) fn pruned(&self, features: usize, width: usize, least: f32) -> Panel {
        let mut lines = self.all_lines(features).into_owned();
        for weight in bytemuck::cast_slice_mut::<Line, f32>(&mut lines) {
            if weight.abs() <= least {
                *weight = 0.0;
            }
        }
        Panel::from_lines(lines, width)
    }

    /// Bytes that the weights take in memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Panel::Dense(lines) => size_of_val(lines.as_slice()),
            Panel::Sparse(sparse) => sparse_bytes(sparse.starts.len() - 1, sparse.values.len()),
        }
    }
}

impl Sparse {
    /// Shows the weights of a feature, by column.
    #[inline(always)]
    pub(crate) fn for_each(&self, feature: usize, mut show: impl FnMut(usize, f32)) {
        let entries = self.starts[feature] as usize..self.starts[feature + 1] as usize;
        for (column, value) in self.columns[entries.clone()].iter().zip(&self.values[entries]) {
            show(*column as usize, *value);
        }
    }
}

fn count(weights: &[f32]) -> usize {
    weights.iter().filter(|weight| **weight != 0.0).count()
}
