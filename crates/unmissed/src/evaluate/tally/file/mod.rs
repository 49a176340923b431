//! Tallies in files: what `--shard i/n --tally FILE` writes and `merge` reads.
//!
//! Eight bytes `unmissed`, the version, the settings as JSON with their length, then arrays of little-endian numbers with their
//! lengths, and at the end a BLAKE3 checksum of everything before. Numbers keep every bit, so merged shards give the bytes of one
//! run. Names that end in `.gz` or `.zst` are compressed. Files of version 4, which knew no streams, are read too, those of version 3, which
//! kept neither a sample of rows nor common errors of propensities, and those of version 2 (`v2.rs`).

mod check;
mod reader;
mod v2;

use self::reader::Reader;
use super::exact::{ExactSum, PIECES};
use super::labels::{LabelTally, Positives};
use super::open::{MOST_NUMBERS, Open};
use super::row_sample::RowSample;
use super::sums::{RowCounts, Totals};
use super::{Covered, Entries, Tally};
use crate::data::{Output, Source};
use crate::error::{Error, Result};
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::plan::table::Table;
use std::path::Path;

const MAGIC: &[u8; 8] = b"unmissed";
const VERSION: u32 = 5;
/// The last version without streams.
const WITHOUT_STREAMS: u32 = 4;
/// The last version without a sample of rows.
const WITHOUT_SAMPLE: u32 = 3;

impl Tally {
    /// Writes the tally to a file.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut output = Output::create(path)?;
        output.put(&self.to_bytes()?)?;
        output.finish()
    }

    /// Reads a tally from a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Tally> {
        let path = path.as_ref();
        let bytes = Source::open(path, true)?.into_bytes()?;
        Tally::from_bytes(bytes.as_ref()).map_err(|error| error.in_file(path))
    }

    /// The bytes of a file. Tallies of the same rows have the same, whatever parts they were merged from.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let table = self.table.restricted(&self.weighed());
        let json =
            serde_json::to_vec(&self.settings).map_err(|cause| Error::value(format!("cannot write the settings ({cause})")))?;
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        put(&mut out, &json);
        put_table(&mut out, &table);
        put(&mut out, &self.covered.ends());
        put(&mut out, &self.totals.bounded);
        let pieces = self.totals.exact.iter().map(|sum| sum.pieces);
        put(&mut out, pieces.collect::<Vec<[i64; PIECES]>>().as_flattened());
        put(&mut out, &self.totals.exact.iter().map(|sum| sum.beyond).collect::<Vec<u64>>());
        let RowCounts { unlabelled, silent } = &self.totals.rows;
        put(&mut out, &[*unlabelled]);
        put(&mut out, silent);
        put(&mut out, &self.positives.ids);
        put(&mut out, &self.positives.counts);
        for labels in &self.labels {
            put(&mut out, &labels.ids);
            put(&mut out, &labels.offsets);
            [&labels.ranks, &labels.predicted, &labels.hits].into_iter().for_each(|values| put(&mut out, values));
        }
        put(&mut out, &[u8::from(self.entries.is_some())]);
        if let Some(entries) = &self.entries {
            put(&mut out, entries.positives.as_flattened());
            entries.predicted.iter().for_each(|of_model| put(&mut out, of_model.as_flattened()));
        }
        put(&mut out, &table.errors);
        put(&mut out, &[u8::from(self.sample.is_some())]);
        if let Some(sample) = &self.sample {
            put(&mut out, &sample.rows);
            put(&mut out, &sample.offsets);
            put(&mut out, &sample.positives);
            sample.tops.iter().for_each(|of_model| put(&mut out, of_model));
            // Mostly rows are chosen by their own numbers.
            put(&mut out, if sample.keys == sample.rows { &[] } else { &sample.keys });
        }
        put(&mut out, &[u8::from(self.open.is_some())]);
        if let Some(open) = &self.open {
            let json = serde_json::to_vec(open).map_err(|cause| Error::value(format!("cannot write the stream ({cause})")))?;
            put(&mut out, &json);
            put(&mut out, &open.unseen);
        }
        let sum = blake3::hash(&out);
        out.extend(sum.as_bytes());
        Ok(out)
    }

    /// The tally of a file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Tally> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(Error::format("not a tally").expected("a file that 'evaluate --tally' wrote"));
        };
        let tally = match (Reader { rest }).take::<4>().map(u32::from_le_bytes)? {
            WITHOUT_SAMPLE | WITHOUT_STREAMS | VERSION => read_current(bytes)?,
            v2::VERSION => v2::read(bytes)?,
            version => {
                return Err(Error::format("a tally of another version")
                    .expected(format!("version {} to {VERSION}", v2::VERSION))
                    .found(version.to_string()));
            }
        };
        tally.check()?;
        Ok(tally)
    }
}

fn damaged() -> Error {
    Error::format("the tally is damaged: its checksum does not fit").hint("write or copy it again")
}

fn read_current(bytes: &[u8]) -> Result<Tally> {
    let (body, sum) = bytes.split_last_chunk::<{ blake3::OUT_LEN }>().ok_or_else(damaged)?;
    if blake3::hash(body) != *sum {
        return Err(damaged());
    }
    let mut reader = Reader { rest: &body[MAGIC.len()..] };
    let version = u32::from_le_bytes(reader.take::<4>()?);
    let settings: Settings = reader.json()?;
    settings.check_size()?;
    let mut table = read_table(&mut reader, &settings)?;
    let ends = reader.list::<u64>()?;
    let bounded = reader.list()?;
    let (pieces, beyond) = (reader.list::<i64>()?, reader.list::<u64>()?);
    let (pieces, rest) = pieces.as_chunks::<PIECES>();
    if !rest.is_empty() || pieces.len() != beyond.len() {
        return Err(check::broken("its sums"));
    }
    let exact = pieces.iter().zip(beyond).map(|(pieces, beyond)| ExactSum { pieces: *pieces, beyond }).collect();
    let unlabelled = reader.list::<u64>()?.first().copied().unwrap_or(0);
    let totals = Totals { bounded, exact, rows: RowCounts { unlabelled, silent: reader.list()? } };
    let positives = Positives { ids: reader.list()?, counts: reader.list()? };
    let labels = read_labels(&mut reader, &settings)?;
    let mut entries = None;
    if reader.list::<u8>()? == [1] {
        entries = Some(read_entries(&mut reader, &settings)?);
    }
    let mut sample = None;
    if version != WITHOUT_SAMPLE {
        table.errors = reader.list()?;
        if reader.list::<u8>()? == [1] {
            sample = Some(read_sample(&mut reader, &settings, version)?);
        }
    }
    let mut open = None;
    if version > WITHOUT_STREAMS && reader.list::<u8>()? == [1] {
        open = Some(Open { unseen: Vec::new(), ..reader.json()? });
        open.iter_mut().try_for_each(|open| reader.list().map(|unseen| open.unseen = unseen))?;
    }
    let rows = if open.is_some() { MOST_NUMBERS } else { settings.rows };
    let covered = Covered::from_ends(&ends, rows).ok_or_else(|| check::broken("its rows"))?;
    Ok(Tally { settings, table, covered, totals, labels, positives, entries, sample, open })
}

fn read_table(reader: &mut Reader<'_>, settings: &Settings) -> Result<Table> {
    let mut table = Table { width: settings.width(), ids: Some(reader.list()?), ..Table::default() };
    (table.inverse, table.variance) = (reader.list()?, reader.list()?);
    table.group = reader.list()?;
    table.error_width = settings.error_width();
    table.shared = settings.columns.len() == 1 && !settings.weighted;
    table.weight_column = settings.weighted.then_some(settings.columns.len());
    Ok(table)
}

fn read_labels(reader: &mut Reader<'_>, settings: &Settings) -> Result<Vec<LabelTally>> {
    let mut labels = Vec::new();
    for _ in &settings.models {
        let (ids, offsets) = (reader.list()?, reader.list()?);
        labels.push(LabelTally { ids, offsets, ranks: reader.list()?, predicted: reader.list()?, hits: reader.list()? });
    }
    Ok(labels)
}

fn read_entries(reader: &mut Reader<'_>, settings: &Settings) -> Result<Entries> {
    let mut entries = Entries { positives: reader.rows()?, predicted: Vec::new() };
    for _ in &settings.models {
        entries.predicted.push(reader.rows()?);
    }
    Ok(entries)
}

fn read_sample(reader: &mut Reader<'_>, settings: &Settings, version: u32) -> Result<RowSample> {
    let (rows, offsets, positives) = (reader.list()?, reader.list()?, reader.list()?);
    let mut sample = RowSample { keys: Vec::new(), rows, offsets, positives, tops: Vec::new() };
    for _ in &settings.models {
        sample.tops.push(reader.list()?);
    }
    if version > WITHOUT_STREAMS {
        sample.keys = reader.list()?;
    }
    if sample.keys.is_empty() {
        sample.keys.clone_from(&sample.rows);
    }
    Ok(sample)
}

fn put_table(out: &mut Vec<u8>, table: &Table) {
    put(out, table.ids.as_deref().unwrap_or_default());
    [&table.inverse, &table.variance].into_iter().for_each(|values| put(out, values));
    put(out, &table.group);
}

fn put<T: bytemuck::NoUninit>(out: &mut Vec<u8>, values: &[T]) {
    out.extend((values.len() as u64).to_le_bytes());
    out.extend_from_slice(bytemuck::cast_slice(values));
}
