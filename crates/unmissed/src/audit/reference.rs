//! What audited models are compared with: a ranker that knows nothing but how often labels occur, and the models of an earlier audit.

use super::baseline::Baseline;
use super::builder::Audit;
use crate::data::{Csr, LabelStats};
use crate::error::Result;
use serde::Serialize;

/// What a model is in an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelRole {
    /// It is audited.
    Audited,
    /// The same labels for every row: the most frequent ones in training.
    Popularity,
    /// A model of an earlier audit.
    Earlier,
}

/// A model that audited ones are compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// Its name in this audit.
    pub name: String,
    /// What it is.
    pub role: ModelRole,
    /// Its name in the earlier audit.
    pub earlier: Option<String>,
}

/// The role of the model with this name.
pub(super) fn role_of(references: &[Reference], name: &str) -> ModelRole {
    references.iter().find(|reference| reference.name == name).map_or(ModelRole::Audited, |reference| reference.role)
}

/// References with their predictions; those of an earlier audit are borrowed from it.
pub(super) struct References<'a> {
    pub(super) list: Vec<Reference>,
    popularity: Option<Csr<'static, f32>>,
    earlier: Option<&'a Baseline>,
}

impl<'a> References<'a> {
    /// The predictions by name.
    pub(super) fn models(&self) -> impl Iterator<Item = (&str, &Csr<'static, f32>)> {
        let earlier = self.earlier.map_or(&[][..], Baseline::models);
        let predictions = self.popularity.iter().chain(earlier.iter().map(|(_, lists)| lists));
        self.list.iter().map(|reference| reference.name.as_str()).zip(predictions)
    }
}

impl<'a> Audit<'a> {
    /// The references of an audit with top lists of this length.
    pub(super) fn references(&self, stats: Option<&LabelStats>, depth: usize) -> Result<References<'a>> {
        let mut list: Vec<Reference> = Vec::new();
        let mut add = |name: &str, role, earlier| {
            let mut name = name.to_owned();
            while self.models.iter().any(|(other, _)| *other == name) || list.iter().any(|other| other.name == name) {
                name.push_str(if role == ModelRole::Popularity { " baseline" } else { " (earlier)" });
            }
            list.push(Reference { name, role, earlier });
        };
        let popularity = stats.map(|stats| popular(stats, self.test.labels().rows(), depth)).transpose()?.flatten();
        if popularity.is_some() {
            add("popularity", ModelRole::Popularity, None);
        }
        if let Some(baseline) = self.baseline {
            baseline.check(self.test.labels(), depth)?;
            for (name, _) in baseline.models() {
                add(name, ModelRole::Earlier, Some(name.clone()));
            }
        }
        Ok(References { list, popularity, earlier: self.baseline })
    }
}

/// The most frequent labels for every row, no more than are looked at; `None` when training has no labels.
fn popular(stats: &LabelStats, rows: usize, depth: usize) -> Result<Option<Csr<'static, f32>>> {
    let mut order: Vec<(u64, u32)> = stats.counts().iter().copied().zip(stats.occurring().iter().copied()).collect();
    let by_count = |a: &(u64, u32), b: &(u64, u32)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
    if order.len() > depth && depth > 0 {
        order.select_nth_unstable_by(depth - 1, by_count);
        order.truncate(depth);
    }
    order.sort_by(by_count);
    if order.is_empty() {
        return Ok(None);
    }
    // Scores of their own, so that equal counts do not depend on rounding.
    let top: Vec<(u32, f32)> = order.iter().enumerate().map(|(rank, (_, label))| (*label, (order.len() - rank) as f32)).collect();
    Csr::from_rows(stats.labels(), (0..rows).map(|_| top.iter().copied())).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_labels_are_first_for_everybody() {
        let stats = LabelStats::from_counts(10, &[3, 0, 7, 3, 1]).unwrap();
        let lists = popular(&stats, 2, 3).unwrap().unwrap();
        assert_eq!((lists.rows(), lists.cols(), lists.nnz()), (2, 5, 6));
        assert_eq!(lists.row(1), (&[2, 0, 3][..], &[3.0, 2.0, 1.0][..]));
        assert!(popular(&LabelStats::from_counts(10, &[0, 0]).unwrap(), 2, 3).unwrap().is_none());
    }
}
