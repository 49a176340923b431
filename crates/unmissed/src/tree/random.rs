//! `random`: labels in an order drawn by the seed, cut into parts of the same size.
//!
//! What a tree is worth beyond its shape shows against this one; where labels have nothing in common it is as good as any.

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
