//! `huffman`: frequent labels near the root.
//!
//! The rarest labels are joined to a node, which counts as much as they do together, and so on until one node is left. The mean
//! number of nodes above an observed label, `sum_j n_j depth_j / sum_j n_j` with n_j training positives of label j, is then as small as
//! it can be.
//!
//! # Assumes
//! New rows have labels as often as training rows. Labels that are joined need have nothing in common, so it is the fastest tree and
//! not the most precise.
//!
//! # Reference
//! Busa-Fekete, Szörényi, Weiller, Dembczyński: On the computational complexity of probabilistic label trees, NeurIPS 2019.

use super::shape::{Grown, Tree};
use super::sizes::{Sizes, whole};
use super::{TreeBuilder, TreeData, TreeSpec};
use crate::error::Result;
use crate::sealed::Sealed;
use crate::spec::{Named, Spec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// `huffman`. See the module's page.
///
/// ```
/// use unmissed::data::{Csr, Labels};
/// use unmissed::tree::{LabelRows, TreeData, TreeSpec};
/// let features = Csr::<f32>::from_rows(1, vec![vec![]; 4])?;
/// let labels = Labels::from_ids(3, [vec![1], vec![1], vec![0, 1], vec![2]])?;
/// let data = TreeData { features: &features, label_rows: &LabelRows::of(&labels)?, seed: 1, number: 0 };
/// let tree = "huffman".parse::<TreeSpec>()?.build(&data)?;
/// assert_eq!([0, 1, 2].map(|label| tree.path(label).len()), [2, 1, 2]);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub struct Huffman;

impl Sealed for Huffman {}

impl Named for Huffman {
    fn name(&self) -> &'static str {
        "huffman"
    }

    fn summary(&self) -> &'static str {
        "frequent labels near the root, whatever their rows are like"
    }
}

impl TreeBuilder for Huffman {
    fn syntax(&self) -> &'static str {
        "huffman[:branch=N]"
    }

    fn parse(&self, arguments: Option<&str>) -> Result<TreeSpec> {
        let spec = Spec::new(self.name(), arguments)?;
        spec.allow(&["branch"], &[])?;
        Ok(TreeSpec::of_sizes(&Huffman, Sizes { branch: whole(&spec, "branch", 2, 2)?, leaf: 1 }))
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn arguments(&self, spec: &TreeSpec) -> String {
        format!("branch={}", spec.sizes().branch)
    }

    fn build(&self, spec: &TreeSpec, data: &TreeData<'_>) -> Result<Tree> {
        let branch = spec.sizes().branch;
        let labels = data.label_rows.labels();
        // Ties go by the number of a part: labels first, then nodes in the order of their making.
        let mut parts: Vec<Option<Grown>> = (0u32..).take(labels).map(|label| Some(Grown::Label(label))).collect();
        // Labels that were never observed count a little, so that they do not form a chain.
        let count = |label: u32| 2 * data.label_rows.of_label(label).len() as u64 + 1;
        let mut waiting: BinaryHeap<Reverse<(u64, usize)>> =
            (0u32..).take(labels).map(|label| Reverse((count(label), label as usize))).collect();
        // The first node takes what is too few for full nodes everywhere else.
        let mut take = match labels.saturating_sub(1) % (branch - 1) {
            0 => branch,
            rest => rest + 1,
        };
        while waiting.len() > 1 {
            let mut children = Vec::with_capacity(take);
            let mut together = 0;
            for _ in 0..take {
                let Some(Reverse((count, part))) = waiting.pop() else { break };
                together += count;
                children.extend(parts[part].take());
            }
            waiting.push(Reverse((together, parts.len())));
            parts.push(Some(Grown::Node(children)));
            take = branch;
        }
        let root = parts.pop().flatten().unwrap_or(Grown::Node(Vec::new()));
        Tree::from_grown(root, labels)
    }
}
