//! From what was asked for to a tally: the pass, and counts by label of what it selected.

use super::chunk::{CHUNK, ChunkResult, run_chunk};
use crate::error::{Error, Result};
use crate::evaluate::builder::Evaluation;
use crate::evaluate::plan::Plan;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::plan::table::Table;
use crate::evaluate::tally::labels::{LabelTally, Positives};
use crate::evaluate::tally::{Entries, Tally};
use crate::metrics::Shape;
use crate::request::IntervalKind;
use rayon::prelude::*;
use std::ops::Range;

impl Evaluation<'_> {
    /// The pass alone. Propensities that depend on the row are refused: tallies hold sums by label-wise propensities.
    pub fn tally(&self) -> Result<Tally> {
        match self.row_models.first() {
            Some((origin, _)) => Err(Error::value(format!("'{origin}' depends on the row, so there is no tally for it"))
                .hint("run the whole evaluation at once")),
            None => self.label_wise_tally(),
        }
    }

    /// The pass for everything but propensities that depend on the row.
    pub(in crate::evaluate) fn label_wise_tally(&self) -> Result<Tally> {
        let positives = Positives::count(self.truth.cols(), self.truth.ids());
        let (settings, table) = self.choose(&positives)?;
        let plan = Plan::new(self, &settings, &table)?;
        let chunks = self.truth.rows().div_ceil(CHUNK);
        let (index, of) = self.shard;
        let range = chunks * index / of..chunks * (index + 1) / of;
        self.progress.begin("evaluate", ((range.end - range.start) * CHUNK) as u64);
        let results: Vec<ChunkResult> = range
            .clone()
            .into_par_iter()
            .map(|chunk| {
                let result = run_chunk(&plan, chunk);
                self.progress.advance(CHUNK as u64).map(|()| result)
            })
            .collect::<Result<_>>()?;
        let rows = range.start * CHUNK..(range.end * CHUNK).min(self.truth.rows());
        self.collect(settings, table, positives, rows, results)
    }

    /// Counts by label what the pass selected; `all` are the positives of all rows.
    fn collect(
        &self,
        settings: Settings,
        table: Table,
        all: Positives,
        rows: Range<usize>,
        results: Vec<ChunkResult>,
    ) -> Result<Tally> {
        let labels = self.truth.cols();
        let by_label = settings.by_label()?;
        let count = |model: usize| {
            if !by_label {
                return LabelTally::count(0, 1, &[], &[]);
            }
            let tops: Vec<&[u32]> = results.iter().map(|result| &*result.tops[model]).collect();
            let hits: Vec<&[u64]> = results.iter().map(|result| &*result.hits[model]).collect();
            LabelTally::count(labels, settings.depth, &tops, &hits)
        };
        let tallies: Vec<LabelTally> = (0..settings.models.len()).map(count).collect();
        let positives = if rows.len() == self.truth.rows() {
            all
        } else {
            let offsets = self.truth.offsets();
            Positives::count(labels, &self.truth.ids()[offsets[rows.start] as usize..offsets[rows.end] as usize])
        };
        let has_label_metrics =
            settings.metrics.iter().any(|chosen| matches!(chosen.metric().map(|m| m.shape()), Ok(Shape::Label(_))));
        let entries = (settings.bootstrap > 0 && has_label_metrics && settings.interval == IntervalKind::Population)
            .then(|| self.entries(&settings, rows.clone(), &results));
        let first = (rows.start / CHUNK) as u64;
        let chunks = results.into_iter().enumerate().map(|(place, result)| (first + place as u64, result.sums)).collect();
        Ok(Tally { settings, table, chunks, labels: tallies, positives, entries })
    }

    /// What the bootstrap draws from.
    fn entries(&self, settings: &Settings, rows: Range<usize>, results: &[ChunkResult]) -> Entries {
        let (depth, words) = (settings.depth, settings.depth.div_ceil(64));
        let of_model = |model: usize| {
            let mut entries = Vec::new();
            for (chunk, result) in results.iter().enumerate() {
                for (local, top) in result.tops[model].chunks_exact(depth).enumerate() {
                    let row = (rows.start + chunk * CHUNK + local) as u32;
                    for (rank, label) in top.iter().enumerate().filter(|(_, label)| **label != super::select::NONE) {
                        let hit = result.hits[model][local * words + rank / 64] >> (rank % 64) & 1;
                        entries.push([*label, row, 2 * rank as u32 + hit as u32]);
                    }
                }
            }
            entries
        };
        let positives = rows.clone().flat_map(|row| self.truth.row_ids(row).iter().map(move |label| [*label, row as u32]));
        Entries { predicted: (0..settings.models.len()).map(of_model).collect(), positives: positives.collect() }
    }
}
