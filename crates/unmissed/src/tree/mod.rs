//! Trees over labels: how a model for very many labels is divided.
//!
//! A classifier for each label is linear in the number of labels. A tree asks at each node below which of its children relevant
//! labels are, and so needs to look at few nodes of few labels; a node is only trained on rows that have labels below it. [`Tree`] is
//! the shape alone; [`train`](mod@crate::train) puts classifiers on its nodes, [`predict`](mod@crate::predict) searches them.
//!
//! A builder is an entry of [`TREE_BUILDERS`], one file each; [`TreeSpec`] names one with its options. Building a tree needs no
//! correction for missing labels: see the page of [`kmeans`].
//!
//! Adding a builder is one new file and one line in the list.

mod centroids;
pub mod given;
pub mod huffman;
pub mod kmeans;
mod label_rows;
pub mod random;
mod shape;
mod sizes;

pub use label_rows::LabelRows;
pub use shape::Tree;

use crate::data::Csr;
use crate::error::{Error, Result};
use crate::sealed::Sealed;
use crate::spec::{Named, find, split};
use serde::{Deserialize, Serialize};
use sizes::Sizes;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// All builders.
pub static TREE_BUILDERS: &[&dyn TreeBuilder] = &[&kmeans::KMeans, &random::Random, &huffman::Huffman, &given::Given];

/// A way to make trees. Only this crate implements it.
pub trait TreeBuilder: Named + Sealed + Sync {
    /// How the spec string is written.
    fn syntax(&self) -> &'static str;
    /// The spec with these arguments: what follows the colon, as written, since a file name may contain anything.
    fn parse(&self, arguments: Option<&str>) -> Result<TreeSpec>;
    /// Whether every tree of a spec is the same, so that an ensemble of them makes no sense.
    fn is_fixed(&self) -> bool {
        false
    }
    /// The arguments of a spec, from which [`TreeBuilder::parse`] makes it again.
    fn arguments(&self, spec: &TreeSpec) -> String {
        format!("branch={},leaf={}", spec.sizes.branch, spec.sizes.leaf)
    }
    /// Makes a tree.
    fn build(&self, spec: &TreeSpec, data: &TreeData<'_>) -> Result<Tree>;
}

/// What a tree is made of.
#[derive(Clone, Copy)]
pub struct TreeData<'a> {
    /// The features of rows, scaled as training scales them.
    pub features: &'a Csr<'a, f32>,
    /// The rows of each label.
    pub label_rows: &'a LabelRows,
    /// Seed of whatever is random.
    pub seed: u64,
    /// Which tree of an ensemble this is: each is another.
    pub number: u8,
}

/// A builder with its options.
///
/// ```
/// use unmissed::tree::TreeSpec;
/// let spec: TreeSpec = "kmeans:leaf=50".parse()?;
/// assert_eq!(spec.to_string(), "kmeans:branch=64,leaf=50");
/// assert_eq!(TreeSpec::default().to_string(), "kmeans:branch=64,leaf=100");
/// assert!("kmean".parse::<TreeSpec>().unwrap_err().to_string().contains("did you mean 'kmeans'?"));
/// # Ok::<(), unmissed::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeSpec {
    builder: &'static dyn TreeBuilder,
    sizes: Sizes,
    file: Option<PathBuf>,
}

impl TreeSpec {
    fn of_sizes(builder: &'static dyn TreeBuilder, sizes: Sizes) -> TreeSpec {
        TreeSpec { builder, sizes, file: None }
    }

    fn of_file(builder: &'static dyn TreeBuilder, file: PathBuf) -> TreeSpec {
        TreeSpec { builder, sizes: Sizes::default(), file: Some(file) }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The file that the tree is in, for those that are.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether every tree by this spec is the same, so that an ensemble of them makes no sense.
    pub fn is_fixed(&self) -> bool {
        self.builder.is_fixed()
    }

    /// Makes a tree.
    pub fn build(&self, data: &TreeData<'_>) -> Result<Tree> {
        if data.label_rows.labels() == 0 {
            return Err(Error::value("there are no labels to make a tree of"));
        }
        self.builder.build(self, data)
    }
}

impl Default for TreeSpec {
    fn default() -> TreeSpec {
        TreeSpec::of_sizes(&kmeans::KMeans, Sizes::default())
    }
}

impl fmt::Debug for TreeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeSpec({self})")
    }
}

impl PartialEq for TreeSpec {
    fn eq(&self, other: &TreeSpec) -> bool {
        (self.builder.name(), self.sizes, &self.file) == (other.builder.name(), other.sizes, &other.file)
    }
}

impl fmt::Display for TreeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.builder.name(), self.builder.arguments(self))
    }
}

impl FromStr for TreeSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<TreeSpec> {
        let (name, arguments) = split(text);
        find(TREE_BUILDERS, "tree", name)?.parse(arguments)
    }
}

impl TryFrom<String> for TreeSpec {
    type Error = Error;

    fn try_from(text: String) -> Result<TreeSpec> {
        text.parse()
    }
}

impl From<TreeSpec> for String {
    fn from(spec: TreeSpec) -> String {
        spec.to_string()
    }
}
