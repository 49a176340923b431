//! Data: how rows, features and labels are stored, read, written, generated, split and masked.
//!
//! [`Csr`] is the matrix, [`Dataset`] the rows with their labels. [`formats`] reads and writes them, [`generators`] generate them.
//! [`DataStats`] describes a data set; [`merge`], [`keep_frequent`] and [`split()`] rearrange one; [`mask()`] removes
//! labels from it the way that observation would. [`Ratings`] are what users gave items; [`survey`] makes a data set with
//! a controlled part of them. [`Names`] and [`Texts`] are what labels and rows are called.

pub mod csr;
mod csv_writer;
mod dataset;
mod file_stamp;
mod folder;
mod folds;
pub mod formats;
pub mod generators;
mod ignore;
mod judgements;
mod keyed_csv;
mod label_limit;
mod label_stats;
mod mask;
mod mask_shape;
mod max_size;
mod memory_map;
mod names;
mod obesity;
mod output;
mod rank_frequency;
mod rate;
mod ratings;
mod safe_text;
mod source;
mod split;
mod stats;
pub mod survey;
mod text;
mod triples;

pub use csr::{Csr, Labels, Scores};
pub(crate) use csv_writer::CsvWriter;
pub use csv_writer::csv_cell;
pub use dataset::{Dataset, Dense, Features};
pub use folds::Folds;
pub use ignore::{IgnoredDigest, IgnoredPairs};
pub use judgements::{Judgement, Judgements, KnownPair, MachineJudgements, Relevance};
pub use keyed_csv::{KeyedCell, read_full_column, read_keyed_csv, read_row_set};
pub(crate) use keyed_csv::{SAVE_AS_UTF8, not_csv};
pub(crate) use label_limit::check_label_limit;
pub use label_stats::LabelStats;
pub use mask::{mask, mask_shard};
pub use mask_shape::{MaskBy, MaskShape, Masked};
pub(crate) use max_size::{Bounded, too_large};
pub use max_size::{DEFAULT_MAX_SIZE, max_size, set_max_size};
pub use names::{Names, NamesOf, TextFile, Texts};
pub use obesity::Obesity;
pub use output::{Output, remove_unfinished};
pub use rank_frequency::{RankCount, rank_frequency};
pub use rate::Rate;
pub use ratings::Ratings;
pub use safe_text::{brief, printable, printable_json, printable_lines, spreadsheet_safe};
pub(crate) use source::Bytes;
pub use source::Source;
pub(crate) use split::split_rows_for;
pub use split::{DEFAULT_MIN_POSITIVES, DEFAULT_TEST_SHARE, Kept, Split, keep_frequent, merge, split, split_rows};
pub use stats::{DataStats, FEW};
