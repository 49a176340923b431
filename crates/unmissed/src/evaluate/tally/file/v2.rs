//! Tallies of version 2, which held a sum for each chunk of 4096 rows: they are read, and written as version 3.
//!
//! Their sums were those of row terms divided by k or by a sum of discounts, as floats; the division is undone, and the chunks are
//! added up exactly. Tallies of version 2 merge with each other, not with those of version 3, whose terms are rounded otherwise.

use super::reader::Reader;
use super::{MAGIC, check, damaged, read_entries, read_labels, read_table};
use crate::error::Result;
use crate::evaluate::findings::Finding;
use crate::evaluate::plan::settings::{ChosenMetric, Column, Settings, Term};
use crate::evaluate::tally::exact::ExactSum;
use crate::evaluate::tally::exact_layout::{ExactLayout, slot};
use crate::evaluate::tally::labels::Positives;
use crate::evaluate::tally::layout::Layout;
use crate::evaluate::tally::sums::Totals;
use crate::evaluate::tally::{Covered, Tally};
use crate::request::{Conventions, EvaluateRequest, IntervalKind, KList, Level};
use serde::Deserialize;

pub(super) const VERSION: u32 = 2;
/// Rows in a chunk.
const CHUNK: u64 = 4096;

/// Sums that a part without rows may have.
const MOST_WITHOUT_ROWS: usize = 1 << 18;

/// The settings of version 2.
#[derive(Deserialize)]
struct OldSettings {
    rows: u64,
    labels: u64,
    depth: usize,
    ks: KList,
    asked: Vec<ChosenMetric>,
    models: Vec<String>,
    lanes: Vec<Column>,
    groups: Vec<(String, u64)>,
    level: Level,
    interval: IntervalKind,
    bootstrap: usize,
    seed: u64,
    weighted: bool,
    largest_weight: f64,
    controlled: Option<(u32, u32)>,
    is_controlled: bool,
    hajek: bool,
    relevant: Option<u64>,
    conventions: Conventions,
    findings: Vec<Finding>,
    notes: Vec<String>,
}

impl From<OldSettings> for Settings {
    fn from(old: OldSettings) -> Settings {
        Settings {
            request: EvaluateRequest {
                k: old.ks,
                level: old.level,
                interval: old.interval,
                bootstrap: old.bootstrap,
                seed: old.seed,
                conventions: old.conventions,
                ..EvaluateRequest::default()
            },
            rows: old.rows,
            labels: old.labels,
            depth: old.depth,
            metrics: old.asked,
            models: old.models,
            columns: old.lanes,
            row_dependent: Vec::new(),
            robust: Vec::new(),
            omega: None,
            groups: old.groups,
            weighted: old.weighted,
            largest_weight: old.largest_weight,
            controlled: old.controlled,
            is_controlled: old.is_controlled,
            hajek: old.hajek,
            relevant: old.relevant,
            ignored: None,
            bounds: Vec::new(),
            findings: old.findings,
            notes: old.notes,
        }
    }
}

/// FNV-1a over words of eight bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(17);
    let hash = words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| step(hash, u64::from(*byte)))
}

pub(super) fn read(bytes: &[u8]) -> Result<Tally> {
    let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return Err(damaged());
    }
    let mut reader = Reader { rest: &body[MAGIC.len()..] };
    reader.take::<4>()?;
    let settings: Settings = reader.json::<OldSettings>()?.into();
    settings.check_size()?;
    let table = read_table(&mut reader, &settings)?;
    let numbers: Vec<u64> = reader.list()?;
    let terms = settings.terms()?;
    let old = OldLayout::new(&settings, terms.len());
    let sums_broken = || check::broken("its sums");
    let layout = Layout::new(&settings, terms.len());
    let exact = ExactLayout::new(&settings, &terms).ok_or_else(sums_broken)?;
    let length = old.len().filter(|len| layout.checked_len().is_some() && exact.len() <= *len).ok_or_else(sums_broken)?;
    let mut totals: Option<Totals> = None;
    let mut covered = Covered::default();
    for number in numbers {
        let sums: Vec<f64> = reader.list()?;
        let start = number.checked_mul(CHUNK).filter(|start| *start < settings.rows).ok_or_else(|| check::broken("its rows"))?;
        if sums.len() != length {
            return Err(sums_broken());
        }
        let of_chunk = Covered::new(start..(start + CHUNK).min(settings.rows));
        covered = covered.union(&of_chunk).map_err(|_| check::broken("its rows"))?;
        let into = totals.get_or_insert_with(|| Totals::new(&layout, &exact, settings.models.len()));
        old.add(&settings, &terms, &exact, &sums, into);
    }
    // A part without rows has nothing to hold against what the settings claim.
    if totals.is_none() && exact.len() > MOST_WITHOUT_ROWS {
        return Err(sums_broken());
    }
    let mut totals = totals.unwrap_or_else(|| Totals::new(&layout, &exact, settings.models.len()));
    totals.exact.iter_mut().for_each(ExactSum::settle);
    let positives = Positives { ids: reader.list()?, counts: reader.list()? };
    let labels = read_labels(&mut reader, &settings)?;
    let has_entries = reader.list::<u8>()? == [1];
    let mut entries = None;
    if has_entries {
        let mut found = read_entries(&mut reader, &settings)?;
        found.positives.sort_unstable();
        found.predicted.iter_mut().for_each(|of_model| of_model.sort_unstable());
        entries = Some(found);
    }
    Ok(Tally { settings, table, covered, totals, labels, positives, entries, sample: None, open: None })
}

/// Where version 2 had its sums: slots of best row terms, of models and of pairs, each `width` columns long, then counters.
struct OldLayout {
    width: usize,
    groups: usize,
    models: usize,
    pairs: usize,
    terms: usize,
    ks: usize,
    slots: usize,
    pair_slots: usize,
}

const BEST_SLOTS: usize = 3;

impl OldLayout {
    fn new(settings: &Settings, terms: usize) -> OldLayout {
        OldLayout {
            width: settings.width(),
            groups: settings.groups.len(),
            models: settings.models.len(),
            pairs: settings.pair_count(),
            terms,
            ks: settings.ks().len(),
            slots: if settings.hajek { 11 } else { 6 },
            pair_slots: if settings.hajek { 4 } else { 1 },
        }
    }

    fn cells(&self) -> Option<usize> {
        self.terms.checked_mul(self.ks)?.checked_mul(self.width)
    }

    fn counters(&self) -> Option<usize> {
        let of_models = self.models.checked_mul(self.slots)?;
        let slots = of_models.checked_add(self.pairs.checked_mul(self.pair_slots)?)?.checked_add(BEST_SLOTS)?;
        self.groups.checked_mul(slots)?.checked_mul(self.cells()?)
    }

    fn len(&self) -> Option<usize> {
        self.counters()?.checked_add(2 + self.models)
    }

    /// Adds the sums of one chunk.
    fn add(&self, settings: &Settings, terms: &[Term], exact: &ExactLayout, sums: &[f64], totals: &mut Totals) {
        let columns = settings.columns.len();
        let (cells, is_mask) = (self.terms * self.ks * self.width, settings.is_mask());
        for group in 0..self.groups {
            for (place, term) in terms.iter().enumerate() {
                for ki in 0..self.ks {
                    let scale = term.scale(ki);
                    let mut put = |at: usize, from: usize, power: i32| totals.exact[at].add(sums[from] * scale.powi(power));
                    for column in 0..columns {
                        let best = ((group * self.terms + place) * self.ks + ki) * BEST_SLOTS * self.width + column;
                        put(exact.best(group, place, ki, slot::D, column), best, 1);
                        put(exact.best(group, place, ki, slot::DD, column), best + self.width, 2);
                        if is_mask {
                            put(exact.mask_best(group, place, ki, column), best + 2 * self.width, 2);
                        }
                    }
                    for model in 0..self.models {
                        let start = self.groups * BEST_SLOTS * cells
                            + (((group * self.models + model) * self.terms + place) * self.ks + ki) * self.slots * self.width;
                        let at = [group, model, place, ki];
                        for column in 0..columns {
                            let of = |slot: usize| start + slot * self.width + column;
                            put(exact.model(at, slot::X, column), of(0), 1);
                            put(exact.model(at, slot::XX, column), of(1), 2);
                            put(exact.model(at, slot::XD, column), of(2), 2);
                            put(exact.model(at, slot::VOID, column), of(4), 0);
                            if is_mask {
                                put(exact.mask(at, slot::MASK, column), of(3), 2);
                                put(exact.mask(at, slot::MASK_XD, column), of(5), 2);
                            }
                        }
                        if settings.hajek {
                            let of = |slot: usize| start + slot * self.width + 1;
                            put(exact.shown(at, slot::H), of(6), 1);
                            put(exact.shown(at, slot::HH), of(7), 2);
                            put(exact.shown(at, slot::XH), of(8), 2);
                            put(exact.shown(at, slot::SLOTS), of(9), 1);
                            put(exact.shown(at, slot::MASK_H), of(10), 2);
                        }
                    }
                    for pair in 0..self.pairs {
                        let of = |slot: usize| {
                            self.groups * (BEST_SLOTS + self.models * self.slots) * cells
                                + ((((group * self.pair_slots + slot) * self.pairs + pair) * self.terms + place) * self.ks + ki)
                                    * self.width
                        };
                        let at = [group, pair, place, ki];
                        for column in 0..columns {
                            let into = if is_mask { exact.mask_pair(at, column) } else { exact.pair(at, column) };
                            put(into, of(0) + column, 2);
                        }
                        if settings.hajek {
                            put(exact.shown_pair(at, slot::CROSS_XH), of(1) + 1, 2);
                            put(exact.shown_pair(at, slot::CROSS_HX), of(2) + 1, 2);
                            put(exact.shown_pair(at, slot::CROSS_HH), of(3) + 1, 2);
                        }
                    }
                }
            }
        }
        // Rows, rows without a label, rows without predictions.
        let counters = self.groups * (BEST_SLOTS + self.models * self.slots + self.pairs * self.pair_slots) * cells;
        totals.rows.unlabelled += sums[counters + 1] as u64;
        for (model, silent) in totals.rows.silent.iter_mut().enumerate() {
            *silent += sums[counters + 2 + model] as u64;
        }
    }
}
