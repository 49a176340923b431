//! `svmlight`: multi-label svmlight text without a header, `l1,l2 f:v f:v`.
//!
//! The numbers of labels and features are one more than the largest ids, or what `svmlight:labels=M,features=D` says.
//! Ids are 0-based; `svmlight:base=1` is for files whose ids start at 1 (nothing is guessed).

use super::{Content, Format, Holds, ReadOptions};
use crate::data::csr::checked_cols;
use crate::data::output::Output;
use crate::data::source::Source;
use crate::data::text::{self, Grammar};
use crate::data::{Csr, Dataset, Features};
use crate::error::{Error, Result};
use crate::spec::{Named, Spec};
use std::path::{Path, PathBuf};

/// See the module's page.
pub(super) struct Svmlight;

impl crate::sealed::Sealed for Svmlight {}

impl Named for Svmlight {
    fn name(&self) -> &'static str {
        "svmlight"
    }
    fn summary(&self) -> &'static str {
        "text without a header: 'l1,l2 f:v f:v' (options base, features, labels)"
    }
}

impl Format for Svmlight {
    fn holds(&self) -> Holds {
        Holds::Data
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["svm", "svmlight", "libsvm"]
    }

    /// The first line has a `feature:value`; everything before it is labels.
    fn recognises(&self, head: &[u8], _options: &ReadOptions<'_>) -> bool {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
        let is_entry = |word: &[u8]| word.first().is_some_and(u8::is_ascii_digit) && word.contains(&b':');
        let mut words = line.split(|byte| byte.is_ascii_whitespace());
        let labels = words.next().unwrap_or(line);
        labels.iter().all(|byte| byte.is_ascii_digit() || *byte == b',')
            && words.find(|word| !word.is_empty()).is_some_and(is_entry)
    }

    fn read(&self, source: Source, spec: &Spec, options: &ReadOptions<'_>) -> Result<Content> {
        spec.allow(&["base", "features", "labels"], &[])?;
        let base = count(spec, "base")?.unwrap_or(0);
        if base > 1 {
            return Err(Error::value("the base of ids is 0 or 1").found(base.to_string()));
        }
        if source.head().is_empty() {
            return Err(Error::format("the file is empty").expected("rows 'l1,l2 f:v f:v'"));
        }
        let declared = |key| -> Result<Option<u32>> {
            let columns = |count: u64| checked_cols(count.saturating_add(base));
            count(spec, key)?.map(columns).transpose().map_err(|error| error.hint(format!("{key} of '{spec}'")))
        };
        let grammar =
            Grammar { labels: true, entry: "feature", label_cols: declared("labels")?, entry_cols: declared("features")? };
        let parsed = text::read_rows(source, None, &grammar, options.progress)?;
        let (labels_seen, features_seen) = parsed.bounds();
        let label_cols = grammar.label_cols.map_or_else(|| checked_cols(labels_seen), Ok)?;
        let entry_cols = grammar.entry_cols.map_or_else(|| checked_cols(features_seen), Ok)?;
        let (labels, features) = parsed.into_matrices(label_cols, entry_cols);
        let (labels, features) = (rebase(labels, base, "label")?, rebase(features, base, "feature")?);
        let features = (features.cols() > 0).then_some(Features::Sparse(features));
        Ok(Content::Data(Dataset::new(features, labels)?))
    }

    fn drops(&self, content: &Content) -> Vec<String> {
        let mut dropped = vec!["the numbers of rows, features and labels (they follow from the largest ids)".to_owned()];
        if matches!(content, Content::Scores(_)) {
            dropped.push("scores (nonzero entries are kept, as labels)".into());
        }
        dropped
    }

    fn write(&self, content: &Content, path: &Path) -> Result<Vec<PathBuf>> {
        let data = content.to_dataset()?;
        let mut output = Output::create(path)?;
        super::xmc::write_data(&mut output, &data)?;
        output.finish()?;
        Ok(vec![path.to_path_buf()])
    }
}

pub(super) fn count(spec: &Spec, key: &str) -> Result<Option<u64>> {
    spec.get(key)
        .map(|text| {
            text.parse()
                .map_err(|_| Error::value(format!("{key} of '{spec}' is not a count")).expected("a whole number").found(text))
        })
        .transpose()
}

/// Shifts ids that start at 1 down to 0.
fn rebase<V: crate::data::csr::Value>(matrix: Csr<'static, V>, base: u64, what: &str) -> Result<Csr<'static, V>> {
    if base == 0 {
        return Ok(matrix);
    }
    if let Some(row) = (0..matrix.rows()).find(|row| matrix.row_ids(*row).contains(&0)) {
        return Err(Error::format(format!("a {what} id 0 in a file whose ids start at 1"))
            .at(row as u64 + 1)
            .hint("leave base=1 out"));
    }
    matrix.filter_map((matrix.cols() as u64).saturating_sub(1), |_, id, _| Some(id - 1))
}
