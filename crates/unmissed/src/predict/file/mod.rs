//! Models in files.
//!
//! A model is a [safetensors](https://github.com/huggingface/safetensors) file: other programs can read the weights, and this
//! one maps the file. Labels are in blocks of neighbours; the names of a block's tensors start with its first label in ten
//! digits:
//!
//! | tensor | type and shape | |
//! |---|---|---|
//! | `counts` | u64, labels | training positives of each label, when they are known |
//! | `N.bias` | f32, width | what is added to each label's score |
//! | `N.weights` | f32, features x width | the weights of a dense block |
//! | `N.indptr`, `N.indices`, `N.data` | u32, u32, f32 | those of a sparse one, as scipy's csr_matrix (features x width) holds them |
//! | `N.packed` | u8 | those of one in half precision, as `predict/packed.rs` says (since version 4) |
//!
//! The metadata have `format` (`unmissed-model`), `version` (4), `about` ([`About`] and the shape, as JSON) and `checksum`: BLAKE3,
//! in hexadecimal, of these parts, each after its length as a little-endian u64: `format`, `version`, `about`, and for each tensor in
//! the order of the data its name, its type as the header has it, its shape as little-endian u64, and the BLAKE3 of its bytes (of
//! `blocks.bytes` in models on trees nothing: its parts have digests of their own). Version
//! 1 had no request in `about` and hashed a text of types and shapes. Every version that was ever written stays readable; a newer
//! one is rejected with a message that says so.
//!
//! Models on trees are in the same container and have tensors of their own: [`write_tree`], [`read_tree`]. [`read_any`] reads either kind.
//!
//! [`BlockStore`] keeps the finished blocks of a training run, so that an interrupted one can be resumed.
//!
//! ```
//! use unmissed::predict::{About, Block, Model, Normalize, file};
//! let block = Block { first: 0, bias: vec![0.5], weights: vec![1.0, -1.0] };
//! let model = Model::new(2, Normalize::L2, vec![block])?;
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("model.safetensors");
//! file::write(&model, &About::new("logistic", 7), &path)?;
//! let (same, about) = file::read(&path, true)?;
//! assert_eq!((same, about.loss.as_str(), about.seed), (model, "logistic", 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod block;
mod calibration;
mod choice;
mod container;
mod fingerprint;
mod model;
mod run_folder;
mod stack_table;
mod store;
mod tree;
mod tree_of_version_3;
mod tree_store;
mod tuning;

pub use about::{About, AdjustedPropensities, TrainOutcome};
pub use calibration::Calibration;
pub(crate) use calibration::place;
pub use choice::{Candidate, Choice};
pub use fingerprint::fingerprint;
pub use model::{read, read_source, write, write_half};
pub use stack_table::{LaterOutcome, StackLine, StackTable};
pub use store::{BlockNote, BlockStore, InputDigests, Manifest};
pub use tree::{AnyModel, read_any, read_tree, read_tree_source, write_tree};
pub(crate) use tree::{too_large, write_tree_within};
pub(crate) use tree_store::{TreeManifest, TreeStore, Tried};
pub use tuning::{Setting, Trial, Tuning};
