//! Judged pairs: plans of what to judge, and what was judged.

use crate::errors::exception;
use crate::evaluate::json;
use crate::matrix::Sparse;
use crate::run::{How, run};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unmissed::data::{Csr, Judgement, Judgements, KnownPair, LabelStats, MachineJudgements, Names, NamesOf, Relevance, Texts};
use unmissed::evaluate::judged::{AnnotationPlan, ExpectedInterval, Judged, PLAN_FILE, PairNames, PlanData};
use unmissed::report::page;
use unmissed::request::{AnnotateRequest, KList, Level};
use unmissed::{Error, Result};

/// A plan, with the intervals to expect.
#[pyclass(frozen, module = "unmissed._core")]
pub(crate) struct Plan {
    plan: Arc<AnnotationPlan>,
    expected: Vec<ExpectedInterval>,
    labels: Option<Names>,
    rows: Option<Names>,
    texts: Option<Texts>,
}

#[pymethods]
impl Plan {
    /// What there is to know about it, as JSON.
    fn about(&self) -> PyResult<String> {
        let pairs: Vec<_> =
            self.plan.pairs().iter().map(|p| (p.round, p.row, p.label, p.probability, p.stratum.to_owned())).collect();
        json(&serde_json::json!({
            "round": self.plan.rounds(), "strata": self.plan.strata(), "expected": self.expected, "pairs": pairs,
        }))
    }

    /// Writes csv, page and plan into a folder.
    fn write(&self, folder: PathBuf, heading: &str, machine: bool) -> PyResult<()> {
        let names = PairNames { labels: self.labels.as_ref(), rows: self.rows.as_ref(), texts: self.texts.as_ref() };
        let write = || -> Result<()> {
            let file = |name: &str| folder.join(name);
            if let Some(there) = ["pairs.csv", "judge.html", PLAN_FILE, "machine.csv"].map(file).iter().find(|path| path.exists()) {
                return Err(Error::value("already exists, and may hold judgements").hint("name another folder").in_file(there));
            }
            std::fs::create_dir_all(&folder).map_err(|cause| Error::io("cannot create the folder", &folder, cause))?;
            self.plan.write_pairs(file("pairs.csv"), &names)?;
            page::judge::write(&self.plan, &names, heading, file("judge.html"))?;
            if machine {
                self.plan.write_machine_pairs(file("machine.csv"), &names)?;
            }
            self.plan.write(file(PLAN_FILE))
        };
        write().map_err(exception)
    }
}

/// What to draw.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlanRequest<'py> {
    train: Option<Sparse<'py>>,
    budget: u64,
    ks: Vec<usize>,
    seed: u64,
    level: f64,
    check_observed: u64,
    assumed: f64,
    wanted: Option<f64>,
    earlier: Vec<PathBuf>,
    label_names: Option<Vec<String>>,
    row_names: Option<Vec<String>>,
    row_texts: Option<Vec<String>>,
}

/// Draws pairs.
#[pyfunction]
pub(crate) fn annotation_plan(
    py: Python<'_>,
    truth: Sparse<'_>,
    models: Vec<(String, Sparse<'_>)>,
    request: PlanRequest<'_>,
    how: How,
) -> PyResult<Plan> {
    let truth = truth.slices()?;
    let predictions = models.iter().map(|(name, scores)| Ok((name.as_str(), scores.slices()?))).collect::<PyResult<Vec<_>>>()?;
    let train = request.train.as_ref().map(|train| train.slices()).transpose()?;
    let PlanRequest {
        budget, ks, seed, level, check_observed, assumed, wanted, earlier, label_names, row_names, row_texts, ..
    } = request;
    run(py, &how, |_| {
        let asked =
            AnnotateRequest { budget, k: KList::new(&ks)?, seed, level: Level::new(level)?, check_observed, assumed, wanted };
        let truth = truth.labels()?;
        let stats = train.map(|train| train.labels()).transpose()?.as_ref().map(LabelStats::of);
        let scores = predictions.iter().map(|(name, slices)| Ok((*name, slices.scores()?))).collect::<Result<Vec<_>>>()?;
        let models: Vec<(&str, &Csr<'_, f32>)> = scores.iter().map(|(name, scores)| (*name, scores)).collect();
        let data = PlanData { truth: &truth, models: &models, train: stats.as_ref() };
        let names = |of, given: Option<Vec<String>>, count| {
            let names = given.map(|given| Names::new(of, given)).transpose()?;
            names.as_ref().map_or(Ok(()), |names: &Names| names.check_len(count))?;
            Ok::<_, Error>(names)
        };
        let labels = names(NamesOf::Labels, label_names, truth.cols())?;
        let rows = names(NamesOf::Rows, row_names, truth.rows())?;
        let texts = row_texts.map(Texts::new);
        if let Some(texts) = texts.as_ref().filter(|texts| texts.len() != truth.rows()) {
            return Err(Error::value("the texts are not those of the rows")
                .expected(truth.rows().to_string())
                .found(texts.len().to_string()));
        }
        let (plan, judged) = if earlier.is_empty() {
            (AnnotationPlan::new(&data, &asked)?, None)
        } else {
            let judged = Judgements::read(&earlier, truth.rows(), truth.cols())?;
            (last_plan(&earlier)?.next_round(&data, &judged, &asked)?, Some(judged))
        };
        let expected = plan.expected(&data, judged.as_ref())?;
        Ok(Plan { plan: Arc::new(plan), expected, labels, rows, texts })
    })
}

/// The plan with most rounds beside judged files.
fn last_plan(files: &[PathBuf]) -> Result<AnnotationPlan> {
    let mut last: Option<AnnotationPlan> = None;
    for file in files {
        let plan = AnnotationPlan::read(file.parent().unwrap_or(Path::new("")).join(PLAN_FILE))?;
        if last.as_ref().is_none_or(|last| last.rounds() < plan.rounds()) {
            last = Some(plan);
        }
    }
    last.ok_or_else(|| Error::value("no earlier rounds are given"))
}

/// Judged pairs: files with their plan, or a plan with a judgement of each of its pairs, in their order.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct JudgedGiven {
    files: Vec<PathBuf>,
    plan_file: Option<PathBuf>,
    plan: Option<Py<Plan>>,
    judgements: Vec<Option<String>>,
    machine_file: Option<PathBuf>,
    machine: Option<Vec<(u32, u32, f64)>>,
}

impl JudgedGiven {
    /// Checked against the shape of the test labels.
    pub(crate) fn judged(&self, rows: usize, labels: usize) -> Result<Judged> {
        let judged = match &self.plan {
            None => Judged::read(&self.files, self.plan_file.as_deref(), self.machine_file.as_deref(), (rows, labels))?,
            Some(plan) => {
                let plan = &plan.get().plan;
                let pairs = plan.pairs();
                if pairs.len() != self.judgements.len() {
                    return Err(Error::value("the judgements are not those of the plan")
                        .expected(format!("{}, one for each pair", pairs.len()))
                        .found(self.judgements.len().to_string()));
                }
                let judgement = |(pair, answer): (&unmissed::evaluate::judged::PlannedPair<'_>, &Option<String>)| {
                    Ok(Judgement {
                        round: pair.round,
                        row: pair.row,
                        label: pair.label,
                        probability: pair.probability,
                        stratum: Some(pair.stratum.to_owned()),
                        relevance: answer.as_deref().map(relevance).transpose()?,
                        place: (0, 0),
                    })
                };
                let all = pairs.iter().zip(&self.judgements).map(judgement).collect::<Result<Vec<_>>>()?;
                let judged = Judged::new(Judgements::new(all, rows, labels)?).plan((**plan).clone());
                match &self.machine_file {
                    Some(path) => judged.machine(MachineJudgements::read(path, rows, labels)?),
                    None => judged,
                }
            }
        };
        Ok(match &self.machine {
            Some(values) => {
                let values = values.iter().map(|(row, label, value)| ((*row, *label), *value));
                judged.machine(MachineJudgements::new(values, rows, labels)?)
            }
            None => judged,
        })
    }
}

impl JudgedGiven {
    /// What is known of pairs of the pooled lists.
    pub(crate) fn known_pairs(&self) -> Result<Vec<KnownPair>> {
        let (rows, labels) = match &self.plan {
            Some(plan) => plan.get().plan.shape(),
            None => Judged::shape(&self.files)?,
        };
        self.judged(rows, labels)?.known_pairs()
    }
}

fn relevance(text: &str) -> Result<Relevance> {
    [Relevance::Relevant, Relevance::Irrelevant, Relevance::Unsure]
        .into_iter()
        .find(|relevance| relevance.name() == text)
        .ok_or_else(|| Error::value("cannot read a judgement").expected("1, 0 or 'unsure'").found(format!("'{text}'")))
}
