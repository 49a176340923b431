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
//!
//! The metadata have `format` (`unmissed-model`), `version` (1), `about` ([`About`] and the shape, as JSON) and `checksum`: BLAKE3,
//! in hexadecimal, of `about` and of the name, type, shape and BLAKE3 of each tensor in the order of the data. Every version that
//! was ever written stays readable; a newer one is refused with a message that says so.
//!
//! [`BlockStore`] keeps the finished blocks of a training run, so that an interrupted one can go on.
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

mod block;
mod container;
mod fingerprint;
mod model;
mod store;

pub use fingerprint::fingerprint;
pub use model::{read, read_source, write};
pub use store::{BlockStore, Manifest};

use serde::{Deserialize, Serialize};

/// How a model came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The loss, as its spec string.
    pub loss: String,
    /// Where the propensities came from that it was trained with.
    pub propensity: Option<String>,
    /// The seed of the training.
    pub seed: u64,
    /// Number of rows that it was trained on.
    pub rows: Option<u64>,
    /// The version of this library that wrote the file.
    pub tool: String,
    /// Whatever else the training wants to keep; by convention `tuning` is the table of tried settings.
    #[serde(default)]
    pub settings: serde_json::Value,
    /// Training positives of each label: propensities of curves follow from them.
    #[serde(skip)]
    pub label_counts: Option<Vec<u64>>,
}

impl About {
    /// What every training knows; the other fields are public.
    pub fn new(loss: impl Into<String>, seed: u64) -> About {
        About {
            loss: loss.into(),
            propensity: None,
            seed,
            rows: None,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            settings: serde_json::Value::Null,
            label_counts: None,
        }
    }
}
