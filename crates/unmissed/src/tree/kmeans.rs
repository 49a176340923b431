//! `kmeans`: labels whose rows are alike go together.
//!
//! A node's labels are divided in two again and again until there are as many parts as it has lanes. Dividing is balanced spherical
//! 2-means over the labels' centroids: labels are sorted by how much more they are like one centre than like the other and cut where
//! the shares of both parts are due, until that changes little. The centroid of label j is the sum of the features of its rows, divided
//! by its norm; likeness is the inner product.
//!
//! # Assumes
//! Rows that have the same labels have similar features, and labels that occur on similar rows are hard to tell apart.
//!
//! # Reference
//! Prabhu, Kag, Harsola, Agrawal, Varma: Parabel, WWW 2018; Khandagale, Xiao, Babbar: Bonsai, Machine Learning 2020 (wide, shallow trees).

use super::centroids::Centroids;
use super::shape::{Grown, Tree};
use super::sizes::Sizes;
use super::{TreeBuilder, TreeData, TreeSpec};
use crate::error::Result;
use crate::rng::{Purpose, below, stream};
use crate::sealed::Sealed;
use crate::spec::Named;
use rayon::prelude::*;
use std::cell::RefCell;

/// `kmeans`. See the module's page.
///
/// ```
/// use unmissed::data::{Csr, Labels};
/// use unmissed::tree::{LabelRows, TreeData, TreeSpec};
/// // Labels 0 and 2 are on rows with feature 0, labels 1 and 3 on rows with feature 1.
/// let features = Csr::from_rows(2, [[(0, 1.0f32)], [(1, 1.0)], [(0, 1.0)], [(1, 1.0)]])?;
/// let labels = Labels::from_ids(4, [[0], [1], [2], [3]])?;
/// let data = TreeData { features: &features, label_rows: &LabelRows::of(&labels)?, seed: 1, number: 0 };
/// let tree = "kmeans:branch=2,leaf=2".parse::<TreeSpec>()?.build(&data)?;
/// let mut pairs: Vec<Vec<u32>> = tree.labels_below(0).map(<[u32]>::to_vec).collect();
/// pairs.sort();
/// assert_eq!(pairs, [[0, 2], [1, 3]]);
/// # Ok::<(), unmissed::Error>(())
/// ```
pub struct KMeans;

impl Sealed for KMeans {}

impl Named for KMeans {
    fn name(&self) -> &'static str {
        "kmeans"
    }

    fn summary(&self) -> &'static str {
        "labels whose rows are alike go together: balanced 2-means over their centroids"
    }
}

impl TreeBuilder for KMeans {
    fn syntax(&self) -> &'static str {
        "kmeans[:branch=N,leaf=N]"
    }

    fn parse(&self, arguments: Option<&str>) -> Result<TreeSpec> {
        Ok(TreeSpec::of_sizes(&KMeans, Sizes::parse(self.name(), arguments)?))
    }

    fn build(&self, spec: &TreeSpec, data: &TreeData<'_>) -> Result<Tree> {
        let labels = data.label_rows.labels();
        let growth = Growth { centroids: &Centroids::of(data), data, sizes: spec.sizes() };
        let mut order: Vec<u32> = (0u32..).take(labels).collect();
        Tree::from_grown(growth.grow(&mut order, 0), labels)
    }
}

/// Most rounds of 2-means.
const ROUNDS: usize = 8;

/// How many labels are looked at for the second start.
const STARTS: usize = 8;

/// Rounds end when the sum of similarities grows by less than this share.
const ENOUGH: f64 = 1e-4;

struct Growth<'a> {
    centroids: &'a Centroids,
    data: &'a TreeData<'a>,
    sizes: Sizes,
}

/// Vectors over all features that threads use again: only what was touched is cleared.
#[derive(Default)]
struct Scratch {
    touched: Vec<u32>,
    seen: Vec<bool>,
    difference: Vec<f32>,
    centres: [Vec<f32>; 2],
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Growth<'_> {
    /// The node of these labels, whose first has this place.
    fn grow(&self, labels: &mut [u32], first: usize) -> Grown {
        let Some(lanes) = self.sizes.lanes(labels.len()) else {
            return Grown::Node(labels.iter().map(|&label| Grown::Label(label)).collect());
        };
        let ends = self.divide(labels, first, lanes);
        let mut parts = Vec::with_capacity(ends.len());
        let (mut rest, mut from) = (labels, 0);
        for end in ends {
            let (part, others) = rest.split_at_mut(end - from);
            parts.push((part, first + from));
            (rest, from) = (others, end);
        }
        let grown = |(part, first): (&mut [u32], usize)| match *part {
            [label] => Grown::Label(label),
            _ => self.grow(part, first),
        };
        Grown::Node(parts.into_par_iter().with_max_len(1).map(grown).collect())
    }

    /// Puts labels into so many parts; where each ends.
    fn divide(&self, labels: &mut [u32], first: usize, parts: usize) -> Vec<usize> {
        if parts <= 1 {
            return vec![labels.len()];
        }
        let some = parts / 2;
        let cut = labels.len() * some / parts;
        self.bisect(labels, first, cut);
        let (left, right) = labels.split_at_mut(cut);
        let (mut ends, others) = rayon::join(|| self.divide(left, first, some), || self.divide(right, first + cut, parts - some));
        ends.extend(others.into_iter().map(|end| cut + end));
        ends
    }

    /// Sorts labels so that the first `cut` are one part and the others the other.
    fn bisect(&self, labels: &mut [u32], first: usize, cut: usize) {
        if cut == 0 || cut == labels.len() {
            return;
        }
        let mut scratch = SCRATCH.with(RefCell::take);
        scratch.cover(self.centroids, labels, self.data.features.cols());
        let node = (u64::from(self.data.number) << 56) ^ ((first as u64) << 28) ^ (first + labels.len()) as u64;
        let mut rng = stream(self.data.seed, Purpose::TreeSplits, node);
        let one = below(&mut rng, labels.len() as u64) as usize;
        self.add(&mut scratch.difference, labels[one], 1.0);
        // Of some others the one that is least like the first: starts that are alike divide nothing.
        let others = (0..STARTS).map(|_| labels[(one + 1 + below(&mut rng, labels.len() as u64 - 1) as usize) % labels.len()]);
        let other = others.min_by(|a, b| {
            self.likeness(&scratch.difference, *a).total_cmp(&self.likeness(&scratch.difference, *b)).then(a.cmp(b))
        });
        if let Some(other) = other {
            self.add(&mut scratch.difference, other, -1.0);
        }
        let (mut keyed, mut before) = (Vec::new(), f64::NEG_INFINITY);
        for _ in 0..ROUNDS {
            let difference = &scratch.difference;
            let score = |&label: &u32| (self.likeness(difference, label), label);
            keyed = labels.par_iter().with_min_len(1 << 12).map(score).collect::<Vec<(f32, u32)>>();
            keyed.select_nth_unstable_by(cut, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            // Sums of single precision depend on their order, and the order must not depend on how the selection went.
            let (left, right) = keyed.split_at_mut(cut);
            left.sort_unstable_by_key(|key| key.1);
            right.sort_unstable_by_key(|key| key.1);
            let sum = |keys: &[(f32, u32)]| keys.iter().map(|key| f64::from(key.0)).sum::<f64>();
            let similarity = sum(left) - sum(right);
            if similarity <= before + ENOUGH * before.abs() {
                break;
            }
            before = similarity;
            for (centre, part) in scratch.centres.iter_mut().zip([&*left, &*right]) {
                scratch.touched.iter().for_each(|&feature| centre[feature as usize] = 0.0);
                part.iter().for_each(|key| self.add(centre, key.1, 1.0));
            }
            scratch.point_apart();
        }
        labels.iter_mut().zip(keyed).for_each(|(label, key)| *label = key.1);
        scratch.clear();
        SCRATCH.set(scratch);
    }

    /// The product of a label's centroid with a vector.
    fn likeness(&self, vector: &[f32], label: u32) -> f32 {
        let (features, values) = self.centroids.of_label(label);
        features.iter().zip(values).map(|(&feature, value)| value * vector[feature as usize]).sum()
    }

    fn add(&self, sums: &mut [f32], label: u32, factor: f32) {
        let (features, values) = self.centroids.of_label(label);
        features.iter().zip(values).for_each(|(&feature, value)| sums[feature as usize] += factor * value);
    }
}

impl Scratch {
    /// Makes room, and finds the features of some labels.
    fn cover(&mut self, centroids: &Centroids, labels: &[u32], features: usize) {
        self.seen.resize(features, false);
        self.difference.resize(features, 0.0);
        self.centres.iter_mut().for_each(|centre| centre.resize(features, 0.0));
        for &label in labels {
            for &feature in centroids.of_label(label).0 {
                if !std::mem::replace(&mut self.seen[feature as usize], true) {
                    self.touched.push(feature);
                }
            }
        }
        self.touched.sort_unstable();
    }

    /// The difference of the centres, each made of length 1.
    fn point_apart(&mut self) {
        let factors = self.centres.each_ref().map(|centre| {
            let length = self.touched.iter().map(|&feature| f64::from(centre[feature as usize]).powi(2)).sum::<f64>().sqrt();
            if length > 0.0 { (1.0 / length) as f32 } else { 0.0 }
        });
        for &feature in &self.touched {
            let [left, right] = self.centres.each_ref().map(|centre| centre[feature as usize]);
            self.difference[feature as usize] = factors[0] * left - factors[1] * right;
        }
    }

    fn clear(&mut self) {
        for &feature in &self.touched {
            self.seen[feature as usize] = false;
            self.difference[feature as usize] = 0.0;
        }
        self.touched.clear();
    }
}
