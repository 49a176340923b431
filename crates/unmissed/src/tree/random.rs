//! `random`: labels in an order drawn by the seed, cut into parts of the same size.
//!
//! A node of m labels with d lanes gives lane i the labels at places m i / d to m (i + 1) / d of the order. The value of another tree
//! beyond its shape is its advantage over this one.
//!
//! # Assumes
//! Nothing. If labels have nothing in common, no tree is better.
//!
//! ```
//! use unmissed::data::{Csr, Labels};
//! use unmissed::tree::{LabelRows, TreeData, TreeSpec};
//! let (features, labels) = (Csr::<f32>::from_rows(1, vec![vec![]; 1])?, Labels::from_ids(8, [[0]])?);
//! let data = TreeData { features: &features, label_rows: &LabelRows::of(&labels)?, seed: 1, number: 0 };
//! let tree = "random:branch=2,leaf=2".parse::<TreeSpec>()?.build(&data)?;
//! // 1 + 2 + 4 nodes, the last with 2 labels each.
//! assert_eq!((tree.nodes(), tree.path(5).len()), (7, 3));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::shape::{Grown, Tree};
use super::sizes::Sizes;
use super::{TreeBuilder, TreeData, TreeSpec};
use crate::error::Result;
use crate::rng::{Purpose, below, stream};
use crate::sealed::Sealed;
use crate::spec::Named;

/// `random`. See the module's page.
pub struct Random;

impl Sealed for Random {}

impl Named for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn summary(&self) -> &'static str {
        "labels in a random order, cut into parts of the same size"
    }
}

impl TreeBuilder for Random {
    fn syntax(&self) -> &'static str {
        "random[:branch=N,leaf=N]"
    }

    fn parse(&self, arguments: Option<&str>) -> Result<TreeSpec> {
        Ok(TreeSpec::of_sizes(&Random, Sizes::parse(self.name(), arguments)?))
    }

    fn build(&self, spec: &TreeSpec, data: &TreeData<'_>) -> Result<Tree> {
        let labels = data.label_rows.labels();
        let mut order: Vec<u32> = (0u32..).take(labels).collect();
        let mut rng = stream(data.seed, Purpose::TreeOrder, data.number.into());
        for last in (1..order.len()).rev() {
            order.swap(last, below(&mut rng, last as u64 + 1) as usize);
        }
        Tree::from_grown(grow(&order, spec.sizes()), labels)
    }
}

fn grow(labels: &[u32], sizes: Sizes) -> Grown {
    let label = |&label: &u32| Grown::Label(label);
    let Some(lanes) = sizes.lanes(labels.len()) else { return Grown::Node(labels.iter().map(label).collect()) };
    let place = |lane: usize| labels.len() * lane / lanes;
    let part = |lane: usize| match &labels[place(lane)..place(lane + 1)] {
        [only] => label(only),
        part => grow(part, sizes),
    };
    Grown::Node((0..lanes).map(part).collect())
}
