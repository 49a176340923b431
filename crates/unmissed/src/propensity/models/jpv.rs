//! `jpv`: the model that most of the literature uses.
//!
//! `p_j = 1 / (1 + (ln n - 1) (b + 1)^a (n_j + b)^(-a))`, n rows, n_j positives of label j, natural logarithm. A label with
//! one positive has `p = 1 / ln n` whatever a and b are.
//!
//! # Assumes
//! That constants fitted to one relation on one data set carry over. The paper objects: the curve is not a function of the
//! prior, so copying the data k times changes p (towards 1); and `p < 1/ln n` is impossible for labels that occur. For
//! `n <= e` it leaves (0, 1]: an error here, never a number.
//!
//! # Reference
//! Jain, Prabhu and Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other Missing Label
//! Applications", KDD 2016.
//!
//! ```
//! use unmissed::propensity::{models::parse, Sample};
//! let phi = parse("jpv")?.curve().unwrap().clone();
//! let sample = Sample { rows: 50.0, largest: 25.0 };
//! assert!((phi.at(sample, 1.0) / 0.25562221863533147 - 1.0).abs() < 1e-12);
//! assert!((phi.at(sample, 25.0) / 0.5571545100089221 - 1.0).abs() < 1e-12);
//! # Ok::<(), unmissed::Error>(())
//! ```

use super::{Preset, PropensityModel, PropensitySpec, read_constants};
use crate::error::{Error, Result};
use crate::propensity::{At, Curve, CurveParameter, Hint, ParameterScale, Phi, Sample};
use crate::spec::{Named, Spec};

/// See the module's page.
pub(crate) struct Jpv;

static PRESETS: &[Preset] = &[
    Preset {
        name: "wikipedia",
        theta: &[0.5, 0.4],
        about: "fitted to Wikipedia, where a category's ancestors count as relevant (an upper bound of p, for labels with more \
                than 4 descendants); the paper objects that a hierarchy tells which labels to impute instead",
        data: &["wikilshtc", "wikipedia", "wikiseealso", "wikititles"],
    },
    Preset {
        name: "amazon",
        theta: &[0.6, 2.6],
        about: "fitted to Amazon products, where 'also viewed' of what was 'also bought' counts as relevant; the paper objects \
                that this is neither an upper nor a lower bound",
        data: &[
            "amazon670k",
            "amazontitles670k",
            "amazon3m",
            "amazontitles3m",
            "amazon131k",
            "amazontitles131k",
            "amazontitles13m",
        ],
    },
    Preset {
        name: "default",
        theta: &[0.55, 1.5],
        about: "the mean of the two others, used for all other data sets; the paper objects that it was fitted to nothing, and that \
                the curve changes when the data are copied",
        data: &[],
    },
];

impl crate::sealed::Sealed for Jpv {}

impl Named for Jpv {
    fn name(&self) -> &'static str {
        "jpv"
    }
    fn summary(&self) -> &'static str {
        "Jain, Prabhu and Varma's curve in n and n_j; constants from Wikipedia, Amazon, or their mean"
    }
}

impl PropensityModel for Jpv {
    fn syntax(&self) -> &'static str {
        "jpv[:a=0.55,b=1.5 | :wikipedia | :amazon]"
    }
    fn presets(&self) -> &'static [Preset] {
        PRESETS
    }
    fn curves(&self) -> &'static [&'static dyn Curve] {
        &[&JpvCurve]
    }
    fn parse(&self, arguments: Option<&str>) -> Result<PropensitySpec> {
        let spec = &Spec::new(self.name(), arguments)?;
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        spec.allow(&["a", "b"], &names)?;
        if spec.words().len() > 1 {
            return Err(Error::value(format!("'{spec}' names more than one preset")).expected("at most one"));
        }
        let name = spec.words().first().map_or("default", String::as_str);
        let theta = PRESETS.iter().find(|preset| preset.name == name).map_or(&[0.55, 1.5][..], |preset| preset.theta);
        Ok(PropensitySpec::Curve(read_constants(spec, &JpvCurve, theta.to_vec(), false)?))
    }
    fn family(&self, arguments: Option<&str>) -> Result<Option<Phi>> {
        Ok(self.parse(arguments)?.curve().cloned())
    }
}

#[derive(Debug)]
struct JpvCurve;

impl crate::sealed::Sealed for JpvCurve {}

impl Curve for JpvCurve {
    fn name(&self) -> &'static str {
        "jpv"
    }

    fn parameters(&self) -> &'static [CurveParameter] {
        &[
            CurveParameter { name: "a", low: 0.0, high: 20.0, free: true, scale: ParameterScale::Linear },
            CurveParameter { name: "b", low: 0.0, high: 1e6, free: true, scale: ParameterScale::Log1p },
        ]
    }

    fn check(&self, sample: Sample) -> Result<()> {
        if sample.rows > std::f64::consts::E {
            return Ok(());
        }
        Err(Error::value("jpv needs more rows: its formula leaves (0, 1]")
            .expected("more than e = 2.718... rows")
            .found(sample.rows.to_string()))
    }

    fn value(&self, theta: &[f64], at: At) -> f64 {
        let [a, b] = [theta[0], theta[1]];
        1.0 / (1.0 + (at.sample.rows.ln() - 1.0) * ((b + 1.0) / (at.count + b)).powf(a))
    }

    fn gradient(&self, theta: &[f64], at: At, gradient: &mut [f64]) -> f64 {
        let [a, b] = [theta[0], theta[1]];
        let ratio = (b + 1.0) / (at.count + b);
        let excess = (at.sample.rows.ln() - 1.0) * ratio.powf(a);
        let p = 1.0 / (1.0 + excess);
        gradient[0] = -p * p * excess * ratio.ln();
        gradient[1] = -p * p * excess * a * (1.0 / (b + 1.0) - 1.0 / (at.count + b));
        p
    }

    fn starts(&self, hint: Hint) -> Vec<Vec<f64>> {
        let mut starts: Vec<Vec<f64>> = PRESETS.iter().map(|preset| preset.theta.to_vec()).collect();
        starts.push(vec![hint.slope.clamp(0.05, 5.0), 1.0]);
        starts.push(vec![1.0, 30.0]);
        starts
    }
}
