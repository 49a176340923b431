//! Rows that wait until there are enough for all threads.

use super::Batch;
use crate::data::csr::checked_cols;
use crate::data::{Csr, Labels};
use crate::error::Result;

/// Batches with so many rows, or entries of matrices, go straight to the pass: copying them takes longer than starting it.
const LARGE_ROWS: usize = 1 << 13;
const LARGE_ENTRIES: usize = 1 << 16;
/// What waits at most: rows, and entries, which then fit into the caches.
const MOST_ROWS: usize = 1 << 16;
const MOST_ENTRIES: usize = 1 << 20;

/// Arrays of a matrix that grows. Their memory is used again.
struct Growing<V> {
    offsets: Vec<u64>,
    ids: Vec<u32>,
    values: Vec<V>,
    sorted: bool,
}

impl<V: crate::data::csr::Value> Growing<V> {
    fn new() -> Growing<V> {
        Growing { offsets: vec![0], ids: Vec::new(), values: Vec::new(), sorted: true }
    }

    fn push(&mut self, matrix: &Csr<'_, V>) {
        let base = self.ids.len() as u64;
        self.offsets.extend(matrix.offsets()[1..].iter().map(|offset| base + offset));
        self.ids.extend_from_slice(matrix.ids());
        self.values.extend_from_slice(matrix.values());
        self.sorted &= matrix.is_sorted();
    }

    fn matrix(&self, columns: u32) -> Csr<'_, V> {
        Csr::of_checked(columns, self.sorted, &self.offsets, &self.ids, &self.values)
    }

    fn clear(&mut self) {
        self.offsets.truncate(1);
        self.ids.clear();
        self.values.clear();
        self.sorted = true;
    }
}

/// See the module's page.
pub(super) struct Pending {
    truth: Growing<()>,
    models: Vec<Growing<f32>>,
    numbers: Vec<u32>,
}

/// What waits, as matrices.
pub(super) struct Waiting<'a> {
    pub(super) truth: Labels<'a>,
    pub(super) models: Vec<Csr<'a, f32>>,
    pub(super) numbers: Vec<u32>,
}

impl Pending {
    pub(super) fn new(models: usize) -> Pending {
        Pending { truth: Growing::new(), models: (0..models).map(|_| Growing::new()).collect(), numbers: Vec::new() }
    }

    /// Whether a batch needs not wait.
    pub(super) fn is_large(batch: &Batch<'_>) -> bool {
        batch.rows() >= LARGE_ROWS || batch.entries() >= LARGE_ENTRIES
    }

    /// Whether there is no room for a batch.
    pub(super) fn is_full_with(&self, batch: &Batch<'_>) -> bool {
        let entries = self.truth.ids.len() + self.models.iter().map(|model| model.ids.len()).sum::<usize>();
        self.rows() > 0 && (self.rows() + batch.rows() > MOST_ROWS || entries + batch.entries() > MOST_ENTRIES)
    }

    pub(super) fn rows(&self) -> usize {
        self.numbers.len()
    }

    /// Copies a batch with its row numbers.
    pub(super) fn push(&mut self, batch: &Batch<'_>, numbers: &[u32]) {
        self.truth.push(batch.truth());
        self.models.iter_mut().zip(batch.models()).for_each(|(model, scores)| model.push(scores));
        self.numbers.extend_from_slice(numbers);
    }

    pub(super) fn matrices(&self, labels: u64) -> Result<Waiting<'_>> {
        let columns = checked_cols(labels)?;
        let models = self.models.iter().map(|model| model.matrix(columns)).collect();
        Ok(Waiting { truth: self.truth.matrix(columns), models, numbers: self.numbers.clone() })
    }

    pub(super) fn clear(&mut self) {
        self.truth.clear();
        self.models.iter_mut().for_each(Growing::clear);
        self.numbers.clear();
    }
}
