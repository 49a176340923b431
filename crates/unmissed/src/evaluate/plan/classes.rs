//! Labels that have everything in common share a place in the table.
//!
//! Most propensity models and weights are functions of a label's training count, and there are few distinct counts, however many
//! labels there are: the table then stays in the processor's cache, where a table of all labels would make every look-up wait for memory.

use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What the table knows about labels, by label.
pub(in crate::evaluate) struct Attributes<'a> {
    /// Propensities, by model.
    pub(in crate::evaluate) propensities: Vec<&'a [f64]>,
    /// Weights, when there are any.
    pub(in crate::evaluate) weights: Option<&'a [f64]>,
    /// Groups; empty without groups.
    pub(in crate::evaluate) groups: &'a [u16],
}

/// See the module's page.
pub(in crate::evaluate) struct Classes {
    /// The class of each label; 0 for labels that are not wanted.
    pub(in crate::evaluate) index: Vec<u32>,
    /// For each class a label that belongs to it; small propensities and large weights first.
    pub(in crate::evaluate) examples: Vec<u32>,
}

impl Classes {
    /// Renumbers the classes, so that they descend in the first attribute, in the second if they tie, and so on.
    fn sort(&mut self, descending: impl Fn(u32, u32) -> Ordering, wanted: &[u32]) {
        let mut order: Vec<u32> = (0..self.examples.len() as u32).collect();
        order.sort_by(|a, b| descending(self.examples[*a as usize], self.examples[*b as usize]));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, class)| places[*class as usize] = place as u32);
        self.examples = order.iter().map(|class| self.examples[*class as usize]).collect();
        for label in wanted {
            let class = &mut self.index[*label as usize];
            *class = places[*class as usize];
        }
    }
}

/// Labels whose hashes are computed together.
const CHUNK: usize = 4096;

/// Hashes are hashed enough.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 ^= value;
    }
}

impl Attributes<'_> {
    fn numbers(&self) -> impl Iterator<Item = &[f64]> {
        self.propensities.iter().copied().chain(self.weights)
    }

    /// Small propensities first, then large weights.
    fn descending(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (a as usize, b as usize);
        let by_propensity = self.propensities.iter().map(|p| p[a].total_cmp(&p[b]));
        by_propensity.chain(self.weights.map(|w| w[b].total_cmp(&w[a]))).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn hashes(&self, labels: &[u32]) -> Vec<u64> {
        fn step(hash: &mut u64, value: u64) {
            *hash = (hash.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        let mut hashes = vec![0; labels.len()];
        for attribute in self.numbers() {
            hashes.iter_mut().zip(labels).for_each(|(hash, label)| step(hash, attribute[*label as usize].to_bits()));
        }
        if !self.groups.is_empty() {
            hashes.iter_mut().zip(labels).for_each(|(hash, label)| step(hash, u64::from(self.groups[*label as usize])));
        }
        // The high bits are the well mixed ones.
        hashes.iter_mut().for_each(|hash| *hash ^= *hash >> 32);
        hashes
    }

    fn agree(&self, a: usize, b: usize) -> bool {
        self.numbers().all(|attribute| attribute[a].to_bits() == attribute[b].to_bits())
            && (self.groups.is_empty() || self.groups[a] == self.groups[b])
    }
}

/// The classes of the wanted labels (ascending) among `labels`; `None` when there are too many to be worth it.
pub(in crate::evaluate) fn classes(labels: usize, wanted: &[u32], attributes: &Attributes<'_>) -> Option<Classes> {
    let most = wanted.len() / 4;
    let hashes: Vec<Vec<u64>> = wanted.par_chunks(CHUNK).map(|labels| attributes.hashes(labels)).collect();
    let mut known: HashMap<u64, u32, BuildHasherDefault<Same>> = HashMap::default();
    let (mut index, mut examples) = (vec![0; labels], Vec::new());
    for (label, hash) in wanted.iter().zip(hashes.iter().flatten()) {
        let class = *known.entry(*hash).or_insert_with(|| {
            examples.push(*label);
            examples.len() as u32 - 1
        });
        if examples.len() > most {
            return None;
        }
        index[*label as usize] = class;
    }
    // Two different labels with one hash would be one class: all but impossible, and then there are no classes.
    let sound = |label: &u32| attributes.agree(*label as usize, examples[index[*label as usize] as usize] as usize);
    if !wanted.par_iter().with_min_len(CHUNK).all(sound) {
        return None;
    }
    let mut found = Classes { index, examples };
    found.sort(|a, b| attributes.descending(a, b), wanted);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_equal_columns() {
        let p: Vec<f64> = (0..400).map(|label| f64::from(label % 3)).collect();
        let w: Vec<f64> = (0..400).map(|label| f64::from(label % 2)).collect();
        let groups: Vec<u16> = (0..400).map(|label| u16::from(label >= 200)).collect();
        let wanted: Vec<u32> = (0..400).filter(|label| label % 7 != 0).collect();
        let attributes = Attributes { propensities: vec![&p], weights: Some(&w), groups: &groups };
        let found = classes(400, &wanted, &attributes).unwrap();
        assert_eq!(found.examples.len(), 12);
        for label in &wanted {
            let example = found.examples[found.index[*label as usize] as usize];
            assert!(attributes.agree(*label as usize, example as usize));
        }
        let of_places = found.examples.iter().map(|label| (p[*label as usize], -w[*label as usize]));
        assert!(of_places.is_sorted(), "small propensities first, then large weights");
        let distinct: Vec<f64> = (0..400).map(f64::from).collect();
        assert!(classes(400, &wanted, &Attributes { propensities: vec![&distinct], weights: None, groups: &[] }).is_none());
    }
}
