//! `relation`: propensities from 'also bought' and 'also viewed'.
//!
//! Label j (an item) is taken to be relevant to every row (an item too) that was viewed along with an item that was bought
//! with j. `p^_j = #rows(j observed) / #rows(j observed, or related)`.
//!
//! # Assumes
//! That what was viewed with what was bought with an item is what the item is relevant to. It is neither: some of it is not,
//! and some of what is relevant is not among it. So the ratio is no bound of the propensity in either direction, and says so.
//!
//! # Reference
//! McAuley, Targett, Shi and van den Hengel, SIGIR 2015, used by Jain, Prabhu and Varma, KDD 2016 (Amazon). Item 1 was bought
//! with label 0, and rows 1 and 2 were viewed with it; label 0 is observed on rows 0 and 1 only:
//!
//! ```
//! use unmissed::data::Labels;
//! use unmissed::propensity::{estimators::relation::relation, Ratio, models};
//! let labels = Labels::from_ids(2, [vec![0], vec![0], vec![]])?;
//! let estimate = relation(&labels, vec![(0, 1)], vec![(1, 1), (1, 2)], &Ratio::new(models::family("constant")?))?;
//! assert_eq!(estimate.propensities.get(0), 2.0 / 3.0);
//! assert_eq!(estimate.related_labels, 1);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{
    CURVE, Estimate, EstimatorInput, EstimatorOption, LEVEL, PropensityEstimator, PropensityEstimatorSpec, PropensityEvidence, SEED,
};
use crate::data::{LabelStats, Labels};
use crate::error::{Error, Result};
use crate::propensity::fit::Fit;
use crate::propensity::pairs::by_left;
pub use crate::propensity::pairs::{Columns, read_pairs};
use crate::propensity::ratio::{Counts, Ratio, estimate};
use crate::propensity::row_ids::check_row_ids;
use crate::propensity::{Bound, Propensities, Sample};
use crate::spec::Named;
use serde::Serialize;

/// The entry in the list of estimators.
pub(super) struct Entry;

impl crate::sealed::Sealed for Entry {}

impl Named for Entry {
    fn name(&self) -> &'static str {
        "relation"
    }
    fn summary(&self) -> &'static str {
        "from items viewed together with items that were bought with a label (no bound in either direction)"
    }
}

impl PropensityEstimator for Entry {
    fn bound(&self) -> Bound {
        Bound::None
    }
    fn inputs(&self) -> &'static [EstimatorInput] {
        &[EstimatorInput::Relation]
    }
    fn options(&self) -> &'static [EstimatorOption] {
        &[CURVE, LEVEL, SEED]
    }
    fn estimate(&self, evidence: &PropensityEvidence<'_>, spec: &PropensityEstimatorSpec) -> Result<Estimate> {
        let pairs = evidence.relation_of(self.name())?;
        let train = evidence.train();
        let found = relation(train, pairs.bought.to_vec(), pairs.viewed.to_vec(), &spec.ratio()?)?;
        let remark = format!("{} of {} labels are related to a row.", found.related_labels, train.cols());
        Ok(Estimate::new(found.propensities, found.fit)
            .count("related_labels", found.related_labels as u64)
            .count("implied", found.implied)
            .remark(remark))
    }
}

/// Propensities of all labels, and what the relation tells.
#[derive(Clone, Debug, Serialize)]
pub struct Relation {
    /// The estimate.
    pub propensities: Propensities,
    /// The curve for labels without an estimate.
    pub fit: Fit,
    /// Labels that have related rows.
    pub related_labels: usize,
    /// (row, label) pairs that the relation implies.
    pub implied: u64,
}

/// Estimates propensities from pairs `(label, item bought with it)` and `(item, row viewed with it)`. Items are labels; where
/// rows are items too, both files list pairs of items.
pub fn relation(labels: &Labels<'_>, bought: Vec<(u32, u32)>, viewed: Vec<(u32, u32)>, how: &Ratio) -> Result<Relation> {
    let (rows, cols) = (labels.rows(), labels.cols());
    let outside = |pairs: &[(u32, u32)], left: usize, right: usize, what: &str| match pairs
        .iter()
        .find(|(a, b)| *a as usize >= left || *b as usize >= right)
    {
        Some((a, b)) => Err(Error::value(format!("a pair of '{what}' is out of range"))
            .expected(format!("ids below {left} and {right}"))
            .found(format!("{a} and {b}"))),
        None => Ok(()),
    };
    outside(&bought, cols, cols, "bought")?;
    outside(&viewed, cols, rows, "viewed")?;
    check_row_ids(rows)?;
    let stats = LabelStats::of(labels);
    let counts = stats.dense_counts()?;
    let observed = (0..rows).flat_map(|row| labels.row_ids(row).iter().map(move |label| (*label, row as u32))).collect();
    let (bought, viewed, observed) = (by_left(cols, bought), by_left(cols, viewed), by_left(cols, observed));
    let list = |lists: &'_ (Vec<usize>, Vec<u32>), id: usize| lists.0[id]..lists.0[id + 1];
    let mut stamps = vec![u32::MAX; rows];
    let (mut all, mut implied, mut related_labels) = (Vec::with_capacity(cols), 0, 0);
    for (label, &count) in counts.iter().enumerate() {
        for row in &observed.1[list(&observed, label)] {
            stamps[*row as usize] = label as u32;
        }
        let (mut related, mut new) = (0, 0);
        for item in &bought.1[list(&bought, label)] {
            for row in &viewed.1[list(&viewed, *item as usize)] {
                related += 1;
                if stamps[*row as usize] != label as u32 {
                    stamps[*row as usize] = label as u32;
                    new += 1;
                }
            }
        }
        related_labels += usize::from(related > 0);
        implied += new;
        all.push(Counts { count, part: count, whole: count + new, usable: related > 0 });
    }
    let (propensities, fit) =
        estimate(PropensityEstimatorSpec::of_ratio(&Entry, how)?, Bound::None, Sample::of(&stats), &all, how)?;
    Ok(Relation { propensities, fit, related_labels, implied })
}
