//! `table:FILE`: propensities from a file, one for each label.
//!
//! The file is a csv of propensities or has one inverse propensity per line; see [`table_file`](crate::propensity::table_file).
//! In experiments in which labels were removed, this is the right model: the table that `mask` wrote, phi of the complete counts.
//!
//! # Assumes
//! That the file's labels are those of the data, in the same order. Only their number can be checked.
//!
//! # Reference
//! The csv is this library's; one inverse propensity per line is what pyxclib's users keep, where label 0 of two labels with
//! `1/p = 4` reads:
//!
//! ```
//! use unmissed::data::LabelStats;
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("inv_prop.txt");
//! std::fs::write(&path, "4.0\n1\n")?;
//! let model = unmissed::propensity::models::parse(&format!("table:{}", path.display()))?;
//! let stats = LabelStats::from_counts(9, &[1, 9])?;
//! assert_eq!(model.propensities(&stats)?.values(), [0.25, 1.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{PropensityModel, PropensitySpec, read_file};
use crate::error::Result;
use crate::propensity::Phi;
use crate::spec::Named;

/// See the module's page.
pub(super) struct Table;

impl crate::sealed::Sealed for Table {}

impl Named for Table {
    fn name(&self) -> &'static str {
        "table"
    }
    fn summary(&self) -> &'static str {
        "propensities from a csv (label,propensity,...), or one inverse propensity per line"
    }
}

impl PropensityModel for Table {
    fn syntax(&self) -> &'static str {
        "table:FILE"
    }

    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec> {
        Ok(PropensitySpec::Table(read_file(self, arguments)?))
    }

    fn family(&self, _arguments: Option<&str>) -> Result<Option<Phi>> {
        Ok(None)
    }
}
