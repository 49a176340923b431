//! Propensity models: curves in the label's frequency, with given constants, and values from a file.
//!
//! A model is an entry of [`MODELS`]; [`parse`] turns a spec string into a checked [`Parsed`] model. Adding one is one
//! new file and one line in the list. The curve itself is a [`Curve`]: parameters with bounds, value and gradient, which is
//! all that [`fit`](crate::propensity::fit) needs; with numbers for the parameters it is a [`Phi`], the paper's phi. A
//! label's value depends on its count alone, so each distinct count is evaluated once.

mod constant;
mod jpv;
mod power;
mod richards;
mod table;

use crate::data::LabelStats;
use crate::error::{Error, Result};
use crate::propensity::{Curve, Phi, Propensities, table_file};
use crate::spec::{self, Named, Spec};
use std::path::PathBuf;

/// All models.
pub static MODELS: &[&dyn Model] = &[&constant::Constant, &jpv::Jpv, &power::Power, &richards::Richards, &table::Table];

/// A way to name propensities in a spec string.
pub trait Model: Named + Sync {
    /// How the spec string is written.
    fn syntax(&self) -> &'static str;
    /// Sets of constants with a name.
    fn presets(&self) -> &'static [Preset] {
        &[]
    }
    /// The model that a spec asks for, all constants known.
    fn parse(&self, spec: &Spec) -> Result<Parsed>;
    /// The curve whose constants a fit may choose; `None` for models without any. What the spec gives beyond the name is
    /// checked, and ignored where it is a constant: a fit finds its own.
    fn family(&self, spec: &Spec) -> Result<Option<Phi>>;
}

/// Constants that somebody published under a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The word in the spec string.
    pub name: &'static str,
    /// The constants, in the order of the curve's parameters.
    pub theta: &'static [f64],
    /// Where the numbers come from, and what speaks against them.
    pub about: &'static str,
    /// Data sets for which the literature uses these constants: letters and digits of their names, in lower case.
    pub data: &'static [&'static str],
}

/// A checked model.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// A curve in the label's frequency.
    Curve(Phi),
    /// Values from a file.
    Table(PathBuf),
}

impl Parsed {
    /// The canonical spec string: every constant written out.
    pub fn spec(&self) -> String {
        match self {
            Parsed::Curve(phi) => phi.spec(),
            Parsed::Table(path) => format!("table:{}", path.display()),
        }
    }

    /// The curve, when it is one.
    pub fn curve(&self) -> Option<&Phi> {
        match self {
            Parsed::Curve(phi) => Some(phi),
            Parsed::Table(_) => None,
        }
    }

    /// A propensity for each label of the training data.
    pub fn propensities(&self, stats: &LabelStats) -> Result<Propensities> {
        match self {
            Parsed::Curve(phi) => {
                let propensities = phi.propensities(stats)?;
                Ok(match preset_of(phi) {
                    Some(preset) => propensities.with_note(format!("constants '{}': {}", preset.name, preset.about)),
                    None => propensities,
                })
            }
            Parsed::Table(path) => table_file::read(path, Some(stats.labels())),
        }
    }
}

/// The preset that a curve has its constants from.
fn preset_of(phi: &Phi) -> Option<&'static Preset> {
    let model = MODELS.iter().find(|model| model.name() == phi.curve().name())?;
    model.presets().iter().find(|preset| preset.theta == phi.theta())
}

/// The spec of a model with the constants that the literature uses for a data set, by the data set's name; the model's own name
/// when the data set is not known.
///
/// ```
/// use unmissed::propensity::models::spec_for;
/// assert_eq!(spec_for("jpv", "WikiLSHTC-325K")?, "jpv:wikipedia");
/// assert_eq!(spec_for("jpv", "Amazon-670K/train.txt")?, "jpv:amazon");
/// assert_eq!(spec_for("jpv", "AmazonCat-13K")?, "jpv");
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn spec_for(model: &str, data: &str) -> Result<String> {
    let model = spec::find(MODELS, "propensity model", model)?;
    let plain: String = data.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let preset = model.presets().iter().find(|preset| preset.data.iter().any(|known| plain.contains(known)));
    Ok(preset.map_or_else(|| model.name().to_owned(), |preset| format!("{}:{}", model.name(), preset.name)))
}

/// The model that a spec string asks for.
///
/// ```
/// use unmissed::propensity::models;
/// assert_eq!(models::parse("jpv")?.spec(), "jpv:a=0.55,b=1.5");
/// assert_eq!(models::parse("jpv:amazon")?.spec(), "jpv:a=0.6,b=2.6");
/// let error = models::parse("powr").unwrap_err();
/// assert_eq!(error.to_string(), "unknown propensity model 'powr'; did you mean 'power'?");
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Parsed> {
    let spec: Spec = text.parse()?;
    spec::find(MODELS, "propensity model", spec.name())?.parse(&spec)
}

/// The curve that a spec string names, for fitting: its constants are where the search may start.
///
/// ```
/// use unmissed::propensity::models;
/// assert_eq!(models::family("power:relative")?.curve().parameters().len(), 1);
/// assert!(models::family("table:p.csv").is_err());
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn family(text: &str) -> Result<Phi> {
    let spec: Spec = text.parse()?;
    spec::find(MODELS, "propensity model", spec.name())?.family(&spec)?.ok_or_else(|| {
        Error::value(format!("'{text}' has no constants to fit"))
            .expected("a curve: constant, jpv, power, power:relative, richards")
    })
}

/// Reads the curve's parameters and the smoothing from a spec; what is not given takes `theta`.
fn read_constants(spec: &Spec, curve: &'static dyn Curve, mut theta: Vec<f64>, smooths: bool) -> Result<Phi> {
    for (place, parameter) in curve.parameters().iter().enumerate() {
        if let Some(value) = spec.number(parameter.name)? {
            theta[place] = value;
        }
    }
    let alpha = if smooths { spec.number("alpha")?.unwrap_or(0.0) } else { 0.0 };
    Phi::new(curve, theta, alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_specs_parse_to_themselves() {
        for text in [
            "constant",
            "constant:p=0.5",
            "jpv:wikipedia",
            "power",
            "power:gamma=0.5",
            "power:beta=3,gamma=0.25,alpha=1",
            "richards:c=0.1,d=0.9,f=2,g=30,h=0.5",
        ] {
            let spec = parse(text).unwrap().spec();
            assert_eq!(parse(&spec).unwrap().spec(), spec, "{text}");
        }
    }

    #[test]
    fn misspelt_and_impossible_constants_are_refused() {
        for text in ["jpv:c=1", "jpv:wiki", "jpv:b=-2", "power:gamma=-1", "richards", "richards:c=2,d=0.5,f=1,g=1,h=1", "table"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn presets_are_valid_constants_and_names_are_unique() {
        for (place, model) in MODELS.iter().enumerate() {
            assert!(MODELS[..place].iter().all(|other| other.name() != model.name()));
            assert!(!model.summary().is_empty() && !model.syntax().is_empty());
            for preset in model.presets() {
                assert!(!preset.about.is_empty());
                parse(&format!("{}:{}", model.name(), preset.name)).unwrap();
            }
        }
    }
}
