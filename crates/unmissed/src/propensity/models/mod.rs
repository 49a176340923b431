//! Propensity models: what a spec string can name.
//!
//! A model is an entry of [`PROPENSITY_MODELS`]: a curve in the label's frequency with given constants, a table of values in a
//! file, or a fitted row-dependent model in a file. [`parse`] turns a spec string into a checked [`PropensitySpec`]. Adding a
//! model is one new file and one line in the list. A curve is a [`Curve`]: parameters with bounds, value and gradient, which is
//! all that [`fit`](crate::propensity::fit) needs; with numbers for the parameters it is a [`Phi`], the paper's phi. A label's
//! value depends on its count alone, so each distinct count is evaluated once.

pub mod constant;
pub mod jpv;
pub mod power;
pub mod richards;
pub mod rows;
mod spec;
pub mod table;

pub use spec::PropensitySpec;

use crate::error::{Error, Result};
use crate::propensity::{Curve, Phi};
use crate::sealed::Sealed;
use crate::spec::{Named, Spec, find, split};
use std::path::PathBuf;

/// All models.
pub static PROPENSITY_MODELS: &[&dyn PropensityModel] =
    &[&constant::Constant, &jpv::Jpv, &power::Power, &richards::Richards, &table::Table, &rows::Rows];

/// A way to name propensities in a spec string. Only this crate implements it.
pub trait PropensityModel: Named + Sealed + Sync {
    /// How the spec string is written.
    fn syntax(&self) -> &'static str;
    /// Sets of constants with a name.
    fn presets(&self) -> &'static [Preset] {
        &[]
    }
    /// The curves of the model, one for each way to write its constants; none for models in files.
    fn curves(&self) -> &'static [&'static dyn Curve] {
        &[]
    }
    /// The model that a spec asks for, all constants known. `arguments` is what follows the colon, as written: a file name may
    /// contain anything.
    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec>;
    /// The curve whose constants a fit may choose; `None` for models without any. What the spec gives beyond the name is
    /// checked, and ignored where it is a constant: a fit finds its own.
    fn family(&self, arguments: Option<&str>) -> Result<Option<Phi>>;
}

/// Constants that somebody published under a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The word in the spec string.
    pub name: &'static str,
    /// The constants, in the order of the curve's parameters.
    pub theta: &'static [f64],
    /// Where the numbers come from, and the objections to them.
    pub about: &'static str,
    /// Data sets for which the literature uses these constants: letters and digits of their names, in lower case.
    pub data: &'static [&'static str],
}

/// The preset that a curve has its constants from.
fn preset_of(phi: &Phi) -> Option<&'static Preset> {
    let model = PROPENSITY_MODELS.iter().find(|model| model.name() == phi.curve().name())?;
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
    let model = by_name(model)?;
    let plain: String = data.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let preset = model.presets().iter().find(|preset| preset.data.iter().any(|known| plain.contains(known)));
    Ok(preset.map_or_else(|| model.name().to_owned(), |preset| format!("{}:{}", model.name(), preset.name)))
}

/// The model that a spec string asks for.
///
/// ```
/// use unmissed::propensity::models;
/// assert_eq!(models::parse("jpv")?.to_string(), "jpv:a=0.55,b=1.5");
/// assert_eq!(models::parse("jpv:amazon")?.to_string(), "jpv:a=0.6,b=2.6");
/// assert_eq!(models::parse("table:a,,b=1:2.csv")?.to_string(), "table:a,,b=1:2.csv");
/// let error = models::parse("powr").unwrap_err();
/// assert_eq!(error.to_string(), "unknown propensity model 'powr'; did you mean 'power'?");
/// # Ok::<(), unmissed::Error>(())
/// ```
pub fn parse(text: &str) -> Result<PropensitySpec> {
    let (name, arguments) = split(text);
    by_name(name)?.parse(arguments)
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
    let (name, arguments) = split(text);
    by_name(name)?.family(arguments)?.ok_or_else(|| {
        Error::value(format!("'{text}' has no constants to fit")).expected(format!("a curve: {}", families().join(", ")))
    })
}

/// The names of all curves that can be fitted.
///
/// ```
/// use unmissed::propensity::models;
/// assert!(models::families().iter().all(|name| models::family(name).is_ok()));
/// ```
pub fn families() -> Vec<&'static str> {
    PROPENSITY_MODELS.iter().flat_map(|model| model.curves()).map(|curve| curve.name()).collect()
}

fn by_name(name: &str) -> Result<&'static dyn PropensityModel> {
    if name.is_empty() {
        return Err(
            Error::value("a propensity spec without a name").expected("'name' or 'name:arguments', as in jpv or table:FILE")
        );
    }
    find(PROPENSITY_MODELS, "propensity model", name)
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

/// The file of a model whose only argument is one: everything after the colon is its name.
fn read_file(model: &dyn PropensityModel, arguments: Option<&str>) -> Result<PathBuf> {
    match arguments {
        Some(file) if !file.is_empty() => Ok(file.into()),
        _ => Err(Error::value(format!("'{}' without a file", model.name())).expected(model.syntax())),
    }
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
            "table:p.csv",
            "rows:m.json",
        ] {
            let spec = parse(text).unwrap();
            let canonical = spec.to_string();
            assert_eq!(parse(&canonical).unwrap(), spec, "{text}");
            assert_eq!(parse(&canonical).unwrap().to_string(), canonical, "{text}");
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(json, format!("\"{canonical}\""));
            assert_eq!(serde_json::from_str::<PropensitySpec>(&json).unwrap(), spec, "{text}");
        }
    }

    /// What a fit finds is written into files as a spec.
    #[test]
    fn every_curve_is_read_back_from_its_spec() {
        for name in families() {
            let phi = family(name).unwrap();
            assert_eq!(parse(&phi.spec()).unwrap().curve(), Some(&phi), "{name}");
        }
    }

    #[test]
    fn any_file_name_will_do() {
        for file in ["a,,b.csv", "a=1,a=2.csv", "=.csv", "c:/p:1.csv", "x,", ",", " ", "rows:x", "über.csv"] {
            let table = parse(&format!("table:{file}")).unwrap();
            assert_eq!(table, PropensitySpec::Table(file.into()), "{file}");
            assert_eq!(parse(&table.to_string()).unwrap(), table, "{file}");
            assert_eq!(parse(&format!("rows:{file}")).unwrap(), PropensitySpec::Rows(file.into()), "{file}");
        }
    }

    #[test]
    fn misspelt_and_impossible_constants_are_refused() {
        for text in [
            "",
            ":",
            ":a",
            "jpv:",
            "jpv:c=1",
            "jpv:wiki",
            "jpv:b=-2",
            "power:gamma=-1",
            "richards",
            "richards:c=2,d=0.5,f=1,g=1,h=1",
            "table",
            "table:",
            "rows",
            "rows:",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn presets_are_valid_constants_and_names_are_unique() {
        for (place, model) in PROPENSITY_MODELS.iter().enumerate() {
            assert!(PROPENSITY_MODELS[..place].iter().all(|other| other.name() != model.name()));
            assert!(!model.summary().is_empty() && !model.syntax().is_empty());
            for preset in model.presets() {
                assert!(!preset.about.is_empty());
                parse(&format!("{}:{}", model.name(), preset.name)).unwrap();
            }
        }
    }
}
