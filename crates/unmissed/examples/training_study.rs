//! What training with propensities brings, where the truth is known and where a controlled set tells.
//!
//! `cargo run --release -p unmissed --example training_study -- PART [REPETITIONS]` prints a table of `docs/training.md`. PART:
//! `real` (bibtex and delicious, tuned), `balls` and `delicious` (labels removed by one curve, trained with it and with another),
//! `survey` (generated), `decay` (the same at several decays), `coat`. Real data are looked for in `UNMISSED_SHARED`, or in `shared` beside the
//! checkout.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::time::Instant;
use unmissed::data::formats::{ReadOptions, read_dataset};
use unmissed::data::generators::{GENERATORS, Generated, Settings};
use unmissed::data::survey::{SurveyOptions, TrainUsers, survey};
use unmissed::data::{Csr, Dataset, LabelStats, Labels, Ratings, mask, split_rows};
use unmissed::evaluate::{Evaluation, Rate};
use unmissed::metrics::Estimator;
use unmissed::predict::{Model, PredictOptions};
use unmissed::propensity::Propensities;
use unmissed::propensity::estimators::{Rates, direct::direct, shrunken::shrunken};
use unmissed::propensity::fit::{Options, fit};
use unmissed::propensity::models::{self, family};
use unmissed::spec::Spec;
use unmissed::train::{Grid, Joint, ROUNDS, Recipe, Search, Trainer, alternating};
use unmissed::{Error, Result};

/// Precision at 1, 3 and 5.
pub type Precision = [f64; 3];

/// The best labels of the rows of `data`.
pub fn top(model: &Model, data: &Dataset<'_>) -> Result<Csr<'static, f32>> {
    let features = data.features().ok_or_else(|| Error::value("no features"))?;
    model.predict(features, &PredictOptions { logits: true, ..PredictOptions::default() })
}

/// Precision on complete labels, or on a controlled set with its rate.
pub fn precision(model: &Model, data: &Dataset<'_>, rate: Option<Rate>) -> Result<Precision> {
    let top = top(model, data)?;
    let estimator = if rate.is_some() { Estimator::Unbiased } else { Estimator::Observed };
    let mut evaluation = Evaluation::new(data.labels(), &[("model", &top)])?.metrics(&["precision"])?.estimators(&[estimator]);
    if let Some(rate) = rate {
        evaluation = evaluation.rate(rate)?;
    }
    let result = evaluation.run()?;
    let value = |k| result.find("precision", k, estimator).and_then(|row| row.value).unwrap_or(f64::NAN);
    Ok([1, 3, 5].map(value))
}

/// Trains with the defaults: plainly without propensities, else by the unbiased loss.
pub fn fitted(train: &Dataset<'_>, p: Option<&Propensities>) -> Result<Model> {
    let loss = if p.is_some() { "unbiased-logistic" } else { "logistic" };
    Trainer::new(loss)?.propensities(p).fit(train)
}

/// Mean, and standard error of the mean.
pub fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}

/// The rank correlation of two lists.
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut ranks = vec![0.0; values.len()];
        order.iter().enumerate().for_each(|(rank, place)| ranks[*place] = rank as f64);
        ranks
    };
    let (a, b) = (ranks(a), ranks(b));
    let middle = (a.len() as f64 - 1.0) / 2.0;
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// Generated data, some parameters changed.
pub fn generated(name: &str, changes: &[(&str, &str)], seed: u64) -> Result<Generated> {
    let generator = unmissed::spec::find(GENERATORS, "generator", name)?;
    let mut settings = Settings::of(generator);
    for (name, value) in changes {
        settings.set(name, *value)?;
    }
    generator.generate(&settings, seed)
}

/// A part of generated data.
pub fn part<'g>(data: &'g Generated, stem: &str) -> Result<&'g Dataset<'static>> {
    data.part(stem).ok_or_else(|| Error::value(format!("no part '{stem}'")))
}

/// What training on labels that one curve removed brings on clean labels: plain, with the right curve, with the other one.
pub struct Biased {
    /// The curve that labels were removed by.
    pub curve: &'static str,
    /// Plain training, the right propensities, the wrong ones.
    pub precision: [Precision; 3],
}

/// Both curves remove labels of the training rows in turn.
pub fn biased(train: &Dataset<'_>, test: &Dataset<'_>, seed: u64) -> Result<[Biased; 2]> {
    let stats = LabelStats::of(train.labels());
    let curves = ["jpv", "power"];
    let propensities = curves.map(|curve| models::parse(curve).and_then(|model| model.propensities(&stats)));
    let [jpv, power] = propensities;
    let (jpv, power) = (jpv?, power?);
    let one = |curve: &'static str, right: &Propensities, wrong: &Propensities| {
        let masked = Dataset::new(train.features().cloned(), mask(train.labels(), right.values(), seed)?)?;
        let on = |p: Option<&Propensities>| precision(&fitted(&masked, p)?, test, None);
        Ok::<_, Error>(Biased { curve, precision: [on(None)?, on(Some(right))?, on(Some(wrong))?] })
    };
    Ok([one(curves[0], &jpv, &power)?, one(curves[1], &power, &jpv)?])
}

/// A table of repetitions of [`biased`].
fn biased_table(repetitions: &[[Biased; 2]]) {
    println!("| labels removed by | trained with | P@1 | P@3 | P@5 | right - wrong at 1 (standard error) |");
    println!("|---|---|---|---|---|---|");
    for curve in 0..2 {
        let differences: Vec<f64> =
            repetitions.iter().map(|r| 100.0 * (r[curve].precision[1][0] - r[curve].precision[2][0])).collect();
        let (difference, error) = mean(&differences);
        for (place, name) in ["nothing (logistic)", "the right curve", "the other curve"].into_iter().enumerate() {
            let at = |k: usize| mean(&repetitions.iter().map(|r| 100.0 * r[curve].precision[place][k]).collect::<Vec<_>>()).0;
            let last = if place == 1 { format!("{difference:+.2} ({error:.2})") } else { String::new() };
            println!("| {} | {name} | {:.2} | {:.2} | {:.2} | {last} |", repetitions[0][curve].curve, at(0), at(1), at(2));
        }
    }
}

/// Ways to come by propensities, by name, and what training with them brings.
pub type Ways = Vec<(&'static str, Precision, Option<f64>)>;

/// Every way on one training set with a controlled set to estimate from; `truth` is for the correlation.
pub fn ways(
    train: &Dataset<'_>,
    controlled: &Labels<'_>,
    shown: f64,
    truth: Option<&Propensities>,
    judge: &dyn Fn(&Model) -> Result<Precision>,
) -> Result<Ways> {
    let stats = LabelStats::of(train.labels());
    let estimate = direct(&stats, &LabelStats::of(controlled), &Rates::Common(shown / train.labels().cols() as f64), 0.95)?;
    let power = family("power")?;
    let curve = fit(&power, &estimate.evidence(), &Options::default())?;
    let labels = train.labels().cols();
    let counts = stats.dense_counts()?;
    let fitted_curve = Propensities::new("fitted", (0..labels).map(|label| curve.at((counts[label] as f64).max(0.5))).collect())?;
    let direct =
        Propensities::new("direct", (0..labels).map(|label| estimate.propensity(label).unwrap_or(1.0).min(1.0)).collect())?;
    let shrunken = shrunken(&estimate, &power, &Options::default(), 0.95)?.propensities;
    let jpv = models::parse("jpv")?.propensities(&stats)?;
    let mut found: Ways = Vec::new();
    let correlation = |p: &Propensities| truth.map(|truth| spearman(p.values(), truth.values()));
    found.push(("nothing (logistic)", judge(&fitted(train, None)?)?, None));
    let given = [
        ("true", truth),
        ("jpv", Some(&jpv)),
        ("fitted power", Some(&fitted_curve)),
        ("direct", Some(&direct)),
        ("shrunken", Some(&shrunken)),
    ];
    for (name, p) in given {
        if let Some(p) = p {
            found.push((name, judge(&fitted(train, Some(p))?)?, correlation(p)));
        }
    }
    let plugin = Recipe::new(Trainer::new("plugin-logistic")?).search(Some(Search::default())).joint(Joint::Plugin)?;
    let (model, trained) = plugin.train(train)?;
    found.push(("joint: plugin", judge(&model)?, trained.learned.as_ref().and_then(correlation)));
    let learned = alternating(&Trainer::new("unbiased-logistic")?, train, ROUNDS)?;
    found.push(("joint: alternating", judge(&fitted(train, Some(&learned))?)?, correlation(&learned)));
    Ok(found)
}

fn ways_table(repetitions: &[Ways]) {
    println!("| propensities | P@1 | P@3 | P@5 | against nothing at 1 (standard error) | rank correlation with the truth |");
    println!("|---|---|---|---|---|---|");
    for (place, way) in repetitions[0].iter().enumerate() {
        let all = |get: &dyn Fn(&Ways) -> f64| mean(&repetitions.iter().map(get).collect::<Vec<_>>());
        let cell = |k: usize| {
            let (value, error) = all(&|ways| 100.0 * ways[place].1[k]);
            format!("{value:.2} ± {:.2}", 1.96 * error)
        };
        let (gain, error) = all(&|ways| 100.0 * (ways[place].1[0] - ways[0].1[0]));
        let gain = if place == 0 { String::new() } else { format!("{gain:+.2} ({error:.2})") };
        let correlation = way.2.map_or(String::new(), |_| format!("{:.3}", all(&|ways| ways[place].2.unwrap_or(f64::NAN)).0));
        println!("| {} | {} | {} | {} | {gain} | {correlation} |", way.0, cell(0), cell(1), cell(2));
    }
}

/// One survey with the generator's defaults.
pub fn survey_ways(changes: &[(&str, &str)], seed: u64) -> Result<Ways> {
    let data = generated("survey", changes, seed)?;
    let truth = data.table("propensities").map(|table| table.rows.iter().map(|row| row[0]).collect()).unwrap_or_default();
    let truth = Propensities::new("true", truth)?;
    let test = part(&data, "test_clean")?;
    let shown = part(&data, "controlled_shown")?.labels();
    let shown = shown.nnz() as f64 / shown.rows() as f64;
    ways(part(&data, "train")?, part(&data, "controlled")?.labels(), shown, Some(&truth), &|model| precision(model, test, None))
}

/// One split of coat: propensities are estimated on half of the controlled users and judged on the other half.
pub fn coat_ways(folder: &Path, seed: u64) -> Result<Ways> {
    let options = ReadOptions { format: Some("matrix".parse::<Spec>()?), ..ReadOptions::default() };
    let read = |name: &str| Ratings::read(folder.join(name), &options);
    let (chosen, random) = read("train.ascii")?.aligned(&read("test.ascii")?)?;
    let data = survey(&chosen.ratings, &random.ratings, &SurveyOptions { positive: 4.0, seed, train: TrainUsers::All })?;
    let (estimate, judge) = split_rows(data.controlled.rows(), 0.5, seed)?;
    let controlled = data.controlled.labels().select_rows(&estimate);
    let test = data.controlled.select_rows(&judge);
    let rate = || Some(Rate::Shown { shown: data.rate.shown as u32, of: data.rate.items as u32 });
    ways(&data.train, &controlled, data.rate.shown, None, &|model| precision(model, &test, rate()))
}

/// One survey, trained on nine tenths of the rows at several decays: plain and with the true propensities, each with its loss on
/// the tenth that was held out.
fn decays() -> Result<()> {
    let data = generated("survey", &[], 0)?;
    let (train, test) = (part(&data, "train")?, part(&data, "test_clean")?);
    let truth = data.table("propensities").map(|table| table.rows.iter().map(|row| row[0]).collect()).unwrap_or_default();
    let truth = Propensities::new("true", truth)?;
    let (rows, held_out) = split_rows(train.rows(), 0.1, 5)?;
    println!("| decay | loss | P@1 | P@3 | P@5 | held-out loss |\n|---|---|---|---|---|---|");
    for decay in [1e-6, 1e-4, 1e-3, 3e-3, 1e-2] {
        for (loss, p) in [("logistic", None), ("unbiased-logistic", Some(&truth))] {
            let trainer = Trainer::new(loss)?.decay(decay)?.propensities(p);
            let (model, seen) = trainer.fit_watching(train, &rows, (train, &held_out), 1)?;
            let [a, b, c] = precision(&model, test, None)?.map(|value| 100.0 * value);
            println!("| {decay:e} | {loss} | {a:.2} | {b:.2} | {c:.2} | {:.1} |", seen[0].loss);
        }
    }
    Ok(())
}

/// Where the real data are.
pub fn shared() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("UNMISSED_SHARED").map_or(beside, PathBuf::from).join("data")
}

/// A benchmark's training and test part.
pub fn benchmark(name: &str) -> Result<(Dataset<'static>, Dataset<'static>)> {
    let read = |part: &str| read_dataset(shared().join(name).join(format!("{name}_{part}.txt")), &ReadOptions::default());
    Ok((read("train")?, read("test")?))
}

/// Logistic loss, tuned on held-out training rows: precision on the test rows, the decay, seconds of tuning and of one setting.
pub fn tuned(name: &str) -> Result<(Precision, f64, f64, f64)> {
    let (train, test) = benchmark(name)?;
    let trainer = Trainer::new("logistic")?;
    let start = Instant::now();
    let tuning = Search::new(Grid::named("default", trainer.chosen_solver())?).run(&trainer, &train)?;
    let searched = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let model = tuning.apply(&trainer)?.fit(&train)?;
    let seconds = start.elapsed().as_secs_f64();
    let decay = tuning.best().map_or(f64::NAN, |best| best.setting.decay);
    Ok((precision(&model, &test, None)?, decay, searched, seconds))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = |default: u64| arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(default);
    match arguments.first().map(String::as_str) {
        Some("real") => {
            println!("| data | P@1 | P@3 | P@5 | decay | tuning, seconds | one setting, seconds |\n|---|---|---|---|---|---|---|");
            for name in ["bibtex", "delicious"] {
                let ([a, b, c], decay, searched, seconds) = tuned(name)?;
                let [a, b, c] = [a, b, c].map(|value| 100.0 * value);
                println!("| {name} | {a:.2} | {b:.2} | {c:.2} | {decay:e} | {searched:.2} | {seconds:.2} |");
            }
        }
        Some("balls") => {
            let one = |seed| {
                let data = generated("balls", &[], seed)?;
                biased(part(&data, "train")?, part(&data, "test")?, seed)
            };
            biased_table(&(0..count(10)).map(one).collect::<Result<Vec<_>>>()?);
        }
        Some("delicious") => {
            let (train, test) = benchmark("delicious")?;
            biased_table(&(0..count(10)).map(|seed| biased(&train, &test, seed)).collect::<Result<Vec<_>>>()?);
        }
        Some("decay") => decays()?,
        Some("survey") => ways_table(&(0..count(5)).map(|seed| survey_ways(&[], seed)).collect::<Result<Vec<_>>>()?),
        Some("coat") => {
            let folder = shared().join("coat");
            ways_table(&(0..count(25)).map(|seed| coat_ways(&folder, seed)).collect::<Result<Vec<_>>>()?);
        }
        _ => println!("which part? real, balls, delicious, survey, decay or coat"),
    }
    Ok(())
}
