//! `rows:FILE`: row-dependent propensities, from the file of a fitted model.
//!
//! `p(i, j) = sigmoid(b'x(i, j) + u_j)`, with covariates x of the pair and an effect u of the label; see
//! [`rows`](crate::propensity::rows) for the model, and `unmissed propensity fit rows` for the command that writes the file.
//!
//! # Assumes
//! What the fit assumed, and that the evaluated rows go missing like the rows that it was fitted to, given the covariates.
//! There is no one number per label, so what asks for one (training, masking, tables) is an error.
//!
//! # Reference
//! See [`rows`](crate::propensity::rows). A spec keeps the name of its file, whatever it contains:
//!
//! ```
//! use unmissed::propensity::models::{self, PropensitySpec};
//! let spec = models::parse("rows:fits/a=1,b.json")?;
//! assert_eq!(spec, PropensitySpec::Rows("fits/a=1,b.json".into()));
//! assert!(spec.is_row_dependent());
//! assert!(spec.per_label(None, 3).unwrap_err().to_string().contains("depends on the row"));
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{PropensityModel, PropensitySpec, read_file};
use crate::error::Result;
use crate::propensity::Phi;
use crate::spec::Named;

/// See the module's page.
pub(super) struct Rows;

impl crate::sealed::Sealed for Rows {}

impl Named for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }
    fn summary(&self) -> &'static str {
        "row-dependent propensities from a file that 'propensity fit rows' wrote; for evaluation"
    }
}

impl PropensityModel for Rows {
    fn syntax(&self) -> &'static str {
        "rows:FILE"
    }

    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec> {
        Ok(PropensitySpec::Rows(read_file(self, arguments)?))
    }

    fn family(&self, _arguments: Option<&str>) -> Result<Option<Phi>> {
        Ok(None)
    }
}
