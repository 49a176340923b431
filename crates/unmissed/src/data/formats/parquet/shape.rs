//! How many rows, labels and features a file has: from its metadata if we wrote it, else from what it is read for or from options.

use crate::data::formats::ReadOptions;
use crate::data::formats::svmlight::count;
use crate::error::{Error, Result};
use crate::spec::Spec;
use parquet::file::metadata::KeyValue;

/// See the module's page.
pub(super) struct Shape {
    /// `None`: as many as there are.
    pub(super) rows: Option<u64>,
    pub(super) labels: u64,
    /// Of data with features.
    pub(super) features: Option<u64>,
}

impl Shape {
    pub(super) fn of(
        metadata: Option<&Vec<KeyValue>>,
        has_features: bool,
        spec: &Spec,
        options: &ReadOptions<'_>,
    ) -> Result<Shape> {
        let written = |key: &str| -> Result<Option<u64>> {
            let pair = metadata.and_then(|pairs| pairs.iter().find(|pair| pair.key == key));
            let Some(text) = pair.and_then(|pair| pair.value.as_deref()) else { return Ok(None) };
            text.parse().map(Some).map_err(|_| {
                Error::format(format!("the metadata of the Parquet file have no number of {key}"))
                    .expected(format!("the number of {key} as text"))
                    .found(crate::error::shown(text.as_bytes()))
            })
        };
        let columns = |key: &str, expected: Option<u64>| -> Result<u64> {
            let asked = count(spec, key)?;
            let written = written(key)?;
            if let Some((asked, written)) = asked.zip(written).filter(|(asked, written)| asked != written) {
                return Err(Error::format(format!("the Parquet file has another number of {key}"))
                    .expected(asked.to_string())
                    .found(written.to_string()));
            }
            written.or(asked).or(expected).ok_or_else(|| {
                Error::format(format!("the number of {key} is not known: the metadata of the Parquet file lack '{key}'"))
                    .expected(format!("the number of {key} beside the rows, which need not have all of them"))
                    .hint(format!("give it with the format: --from parquet:{key}=N (one file: NAME=FILE,from=parquet:{key}=N)"))
            })
        };
        Ok(Shape {
            rows: written("rows")?,
            labels: columns("labels", options.expected.map(|expected| expected.labels as u64))?,
            features: has_features.then(|| columns("features", None)).transpose()?,
        })
    }
}
