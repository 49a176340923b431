//! Rows as the bootstrap needs them: listed by label, in one order whatever the parts they came from.

/// See the module's page. Both lists ascend.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct Entries {
    /// By model: (label, row, 2 rank + 1 if it is a hit).
    pub(in crate::evaluate) predicted: Vec<Vec<[u32; 3]>>,
    /// (label, row).
    pub(in crate::evaluate) positives: Vec<[u32; 2]>,
}

impl Entries {
    /// The entries of both.
    pub(super) fn merge(self, other: Entries) -> Entries {
        let predicted = self.predicted.into_iter().zip(other.predicted).map(|(a, b)| merged(a, b));
        Entries { predicted: predicted.collect(), positives: merged(self.positives, other.positives) }
    }

    /// Whether the lists ascend, and rows and labels are below these numbers.
    pub(super) fn is_sound(&self, models: usize, labels: u64, rows: u64) -> bool {
        let is_in = |label: u32, row: u32| u64::from(label) < labels && u64::from(row) < rows;
        self.predicted.len() == models
            && self.predicted.iter().all(|of| of.is_sorted() && of.iter().all(|entry| is_in(entry[0], entry[1])))
            && self.positives.is_sorted()
            && self.positives.iter().all(|entry| is_in(entry[0], entry[1]))
    }
}

fn merged<T: Ord + Send>(mut a: Vec<T>, b: Vec<T>) -> Vec<T> {
    a.extend(b);
    // Two sorted runs: this takes one look at each.
    a.sort();
    a
}
