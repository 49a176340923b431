//! Plans in files: JSON, compressed, with everything that an estimate needs to know about how pairs were drawn.

use super::Judged;
use super::plan::{AnnotationPlan, Round, VERSION};
use super::strata::NO_STRATUM;
use crate::data::{Judgements, MachineJudgements, Output, Source};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The name of a plan beside its csv.
pub const PLAN_FILE: &str = "plan.json.zst";

impl AnnotationPlan {
    /// Writes the plan.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|cause| Error::value(format!("cannot be written as json: {cause}")))?;
        let mut output = Output::create(path)?;
        output.put(&text)?;
        output.finish()
    }

    /// Reads a plan, and checks that it is one.
    pub fn read(path: impl AsRef<Path>) -> Result<AnnotationPlan> {
        let path = path.as_ref();
        let bytes = Source::open(path, true)?.into_bytes()?;
        let broken = |cause: serde_json::Error| Error::format(format!("not an annotation plan ({cause})")).in_file(path);
        let plan: AnnotationPlan = serde_json::from_slice(bytes.as_ref()).map_err(broken)?;
        plan.check().map_err(|error| error.in_file(path))?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        if self.version != VERSION {
            return Err(Error::format("the plan is of another version")
                .expected(VERSION.to_string())
                .found(self.version.to_string()));
        }
        let broken =
            |what: &str| Error::format(format!("the plan is damaged: {what}")).hint("use the file as 'annotate plan' wrote it");
        let pairs = self.pair_rows.len();
        if self.pair_labels.len() != pairs || self.of.len() != pairs {
            return Err(broken("pairs and strata differ in number"));
        }
        let ascending = self.pool().zip(self.pool().skip(1)).all(|(a, b)| a < b);
        let is_known = |(row, label): (u32, u32)| u64::from(row) < self.rows && u64::from(label) < self.labels;
        if !ascending || !self.pool().all(is_known) || !self.observed.iter().copied().all(is_known) {
            return Err(broken("pairs are out of order or out of range"));
        }
        if self.strata.len() >= usize::from(NO_STRATUM) || self.of.iter().any(|stratum| usize::from(*stratum) >= self.strata.len())
        {
            return Err(broken("a stratum is missing"));
        }
        let mut left = vec![true; pairs];
        for round in &self.rounds {
            self.check_round(round, &mut left).map_err(broken)?;
        }
        Ok(())
    }

    /// That a round drew what it says from what earlier ones left.
    fn check_round(&self, round: &Round, left: &mut [bool]) -> std::result::Result<(), &'static str> {
        let mut counts = vec![(0u64, 0u64); self.strata.len()];
        for (stratum, _) in self.of.iter().zip(left.iter()).filter(|(_, left)| **left) {
            counts[usize::from(*stratum)].0 += 1;
        }
        for place in &round.drawn {
            let place = *place as usize;
            if !left.get(place).copied().unwrap_or(false) {
                return Err("a pair is drawn twice");
            }
            left[place] = false;
            counts[usize::from(self.of[place])].1 += 1;
        }
        let all = round.drawn.len() + round.checks.len();
        let mut order: Vec<u32> = round.order.clone();
        order.sort_unstable();
        if counts != round.strata || order.len() != all || order.iter().zip(0u32..).any(|(number, at)| *number != at) {
            return Err("a round does not add up");
        }
        if round.checked_of < round.checks.len() as u64 {
            return Err("more observed pairs are drawn than there are");
        }
        Ok(())
    }
}

impl Judged {
    /// Reads judged files about data with so many rows and labels. Without `plan`, the plan that lies beside one of them is taken, of
    /// several the one with most rounds; without any, the files themselves say how pairs were drawn.
    pub fn read<P: AsRef<Path>>(
        files: &[P],
        plan: Option<&Path>,
        machine: Option<&Path>,
        (rows, labels): (usize, usize),
    ) -> Result<Judged> {
        let mut judged = Judged::new(Judgements::read(files, rows, labels)?);
        let plans: Vec<PathBuf> = match plan {
            Some(path) => vec![path.to_path_buf()],
            None => {
                let beside = |file: &P| file.as_ref().parent().map(|folder| folder.join(PLAN_FILE));
                let mut plans: Vec<PathBuf> = files.iter().filter_map(beside).filter(|path| path.exists()).collect();
                plans.dedup();
                plans
            }
        };
        for path in plans {
            let plan = AnnotationPlan::read(&path)?;
            if (plan.rows, plan.labels) != (rows as u64, labels as u64) {
                return Err(Error::value("the plan was made for other data")
                    .expected(format!("{rows} rows and {labels} labels"))
                    .found(format!("{} and {}", plan.rows, plan.labels))
                    .in_file(path));
            }
            if judged.plan.as_ref().is_none_or(|other| other.rounds() < plan.rounds()) {
                judged.plan = Some(plan);
            }
        }
        judged.machine = machine.map(|path| MachineJudgements::read(path, rows, labels)).transpose()?;
        Ok(judged)
    }
}
