//! Options of a prediction.

use super::given::{by_probability, told_apart};
use super::{Model, Weighting};
use crate::data::IgnoredPairs;
use crate::error::{Error, Result, digits};
use crate::metrics::weights::check_values;
use crate::progress::{Progress, Silent};
use crate::propensity::Propensities;
use crate::sigmoid::sigmoid;
use crate::top_k::FineKey;

/// How labels are scored and how many are given.
///
/// With the logit `z_j` of label j, its probability is `P_j = sigmoid(z_j)`, or `sigmoid(z_j) / p_j` with propensities; its
/// score is `P_j`, times `w_j` with weights. The k labels with the highest scores are given, of those whose `P_j` reaches
/// the threshold when there is one; equal logits go by the smaller label. `sigmoid(z_j) / p_j` is the correction for a
/// model that was trained on observed labels, whose `sigmoid(z_j)` estimates the probability that the label is observed. It
/// is not clipped: above 1 the model or the propensities are off, and clipping would only mix up the ranks.
///
/// With a [`Weighting`] labels rank by its lines, `a_j min(P_j, 1) + b_j`, and are given with their probabilities, highest first: what
/// [`Weighting::apply`] chooses among the probabilities of all labels.
#[derive(Clone, Copy)]
pub struct PredictOptions<'a> {
    /// Maximum number of labels per row.
    pub k: usize,
    /// Scores are logits instead of probabilities.
    pub logits: bool,
    /// Divides probabilities by these.
    pub propensities: Option<&'a Propensities>,
    /// Multiplies scores by these, one for each label.
    pub weights: Option<&'a [f64]>,
    /// Ranks labels by lines in place of their scores.
    pub weighting: Option<&'a Weighting>,
    /// With a weighting, labels are given only as far as they are worth anything: a value above 0.
    pub at_most: bool,
    /// Labels with a lower probability are left out.
    pub threshold: Option<f64>,
    /// Labels that rows may not be given.
    pub ignored: Option<&'a IgnoredPairs>,
    /// Where progress is shown.
    pub progress: &'a dyn Progress,
}

impl Default for PredictOptions<'_> {
    /// The five most probable labels.
    fn default() -> Self {
        PredictOptions {
            k: 5,
            logits: false,
            propensities: None,
            weights: None,
            weighting: None,
            at_most: false,
            threshold: None,
            ignored: None,
            progress: &Silent,
        }
    }
}

impl PredictOptions<'_> {
    /// No label with a lower value is given.
    pub(super) fn least(&self) -> f64 {
        // The smallest number above 0.
        if self.at_most { f64::from_bits(1) } else { f64::NEG_INFINITY }
    }
}

/// Rejects options that make no sense for a model of so many labels.
pub(super) fn check_options(options: &PredictOptions<'_>, labels: usize) -> Result<()> {
    let for_each = |what: &str, found: usize| {
        if found == labels {
            return Ok(());
        }
        Err(Error::value(format!("the number of {what} does not match the model's labels"))
            .expected(labels.to_string())
            .found(found.to_string()))
    };
    if options.k == 0 {
        return Err(Error::value("the number of labels per row is out of range").expected("at least 1").found("0"));
    }
    if options.logits && (options.propensities.is_some() || options.weights.is_some()) {
        return Err(Error::value("logits cannot be divided by propensities or weighted")
            .hint("leave the logits out: probabilities can be corrected"));
    }
    if let Some(propensity) = options.propensities {
        for_each("propensities", propensity.len())?;
    }
    if let Some(weights) = options.weights {
        for_each("weights", weights.len())?;
        check_values(weights)?;
    }
    if let Some(weighting) = options.weighting {
        for_each("lines", weighting.lines().len())?;
    }
    if options.weighting.is_some() && (options.weights.is_some() || options.logits) {
        return Err(Error::value("lines rank probabilities: they take neither weights nor logits")
            .hint("leave the weights or the logits out"));
    }
    if options.at_most && options.weighting.is_none() {
        return Err(Error::value("only lines say which labels are worth anything").hint("give a weighting, or a threshold"));
    }
    let threshold = options.threshold.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&threshold) {
        return Err(Error::value("the threshold is out of range").expected("a probability").found(digits(threshold)));
    }
    Ok(())
}

/// Checked options for one model.
pub(super) struct Ranking {
    pub(super) k: usize,
    logits: bool,
    /// What probabilities are multiplied with, when anything is asked for.
    inverse: Option<Vec<f64>>,
    /// What scores are multiplied with on top.
    weights: Option<Vec<f64>>,
    lines: Option<Vec<[f64; 2]>>,
    threshold: f64,
    /// No label with a lower value is given.
    pub(super) least: f64,
}

impl Ranking {
    pub(super) fn new(options: &PredictOptions<'_>, model: &Model) -> Result<Ranking> {
        let labels = model.labels();
        check_options(options, labels)?;
        let threshold = options.threshold.unwrap_or(0.0);
        let (inverse, weights) = (options.propensities.map(Propensities::inverse), options.weights.map(<[f64]>::to_vec));
        let k = options.k.min(labels.max(1));
        let (lines, least) = (options.weighting.map(|weighting| weighting.lines().to_vec()), options.least());
        let mut ranking = Ranking { k, logits: options.logits, inverse, weights, lines, threshold, least };
        if ranking.by_logit() {
            // A little below the logit of the threshold, so that the probability itself decides. That of 1 is reached by rounding.
            let logit = (threshold / (1.0 - threshold)).ln().min(30.0);
            ranking.least = logit - 1e-3;
        }
        Ok(ranking)
    }

    /// Whether labels rank as their logits do.
    pub(super) fn by_logit(&self) -> bool {
        self.inverse.is_none() && self.weights.is_none() && self.lines.is_none()
    }

    fn probability(&self, logit: f32, label: usize) -> f64 {
        sigmoid(f64::from(logit)) * self.inverse.as_ref().map_or(1.0, |inverse| inverse[label])
    }

    /// Whether the label's probability reaches the threshold.
    pub(super) fn admits(&self, logit: f32, label: usize) -> bool {
        self.threshold == 0.0 || self.probability(logit, label) >= self.threshold
    }

    /// What a label ranks by: its logit, or its score when that is no function of the logit alone.
    pub(super) fn value(&self, logit: f32, label: usize) -> f64 {
        if self.by_logit() {
            return f64::from(logit);
        }
        if let Some(lines) = &self.lines {
            let [slope, constant] = lines[label];
            return slope * f64::from(self.capped(logit, label)) + constant;
        }
        self.probability(logit, label) * self.weights.as_ref().map_or(1.0, |weights| weights[label])
    }

    /// The probability as lines take it.
    fn capped(&self, logit: f32, label: usize) -> f32 {
        self.probability(logit, label).min(1.0) as f32
    }

    /// The best labels of a row with the scores that are given for them, highest first.
    pub(super) fn given(&self, row: &[FineKey]) -> Vec<(u32, f32)> {
        if self.lines.is_some() {
            return by_probability(row, |key| self.capped(key.logit(), key.label() as usize));
        }
        let score = |key: FineKey| match self.logits || !self.by_logit() {
            true => key.value() as f32,
            false => self.probability(key.logit(), key.label() as usize) as f32,
        };
        row.iter().map(|key| key.label()).zip(told_apart(row, score)).collect()
    }
}
