//! Tallies in files: what `--shard i/n --tally FILE` writes and `merge` reads.
//!
//! Eight bytes `unmissed`, the version, the settings as JSON with their length, then arrays of little-endian numbers with their
//! lengths, and at the end a checksum of everything before. Numbers keep every bit, so merged shards give the bytes of one run.
//! Names that end in `.gz` or `.zst` are compressed.

use super::labels::{LabelTally, Positives};
use super::layout::Layout;
use super::{Entries, Tally};
use crate::data::{Output, Source};
use crate::error::{Error, Result};
use crate::evaluate::pass::chunk::CHUNK;
use crate::evaluate::plan::settings::Settings;
use crate::evaluate::plan::table::Table;
use std::path::Path;

const MAGIC: &[u8; 8] = b"unmissed";
const VERSION: u32 = 2;

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

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let table = self.table.restricted(&self.weighed());
        let json =
            serde_json::to_vec(&self.settings).map_err(|cause| Error::value(format!("cannot write the settings ({cause})")))?;
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        put(&mut out, &json);
        put(&mut out, &table.ids.clone().unwrap_or_default());
        [&table.inverse, &table.variance].into_iter().for_each(|values| put(&mut out, values));
        put(&mut out, &table.group);
        put(&mut out, &self.chunks.keys().copied().collect::<Vec<u64>>());
        self.chunks.values().for_each(|sums| put(&mut out, sums));
        put(&mut out, &self.positives.ids);
        put(&mut out, &self.positives.counts);
        for labels in &self.labels {
            put(&mut out, &labels.ids);
            put(&mut out, &labels.offsets);
            [&labels.ranks, &labels.predicted, &labels.hits].into_iter().for_each(|values| put(&mut out, values));
        }
        let entries = self.entries.clone().unwrap_or_default();
        put(&mut out, &[u8::from(self.entries.is_some())]);
        put(&mut out, entries.positives.as_flattened());
        entries.predicted.iter().for_each(|of_model| put(&mut out, of_model.as_flattened()));
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        Ok(out)
    }

    /// The tally of a file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Tally> {
        let Some((body, sum)) = bytes.split_last_chunk::<8>().filter(|(body, _)| body.starts_with(MAGIC) && body.len() >= 12)
        else {
            return Err(Error::format("not a tally").expected("a file that 'evaluate --tally' wrote"));
        };
        let mut reader = Reader { rest: &body[8..] };
        let version = u32::from_le_bytes(reader.take::<4>()?);
        if version != VERSION {
            return Err(Error::format("a tally of another version")
                .expected(format!("version {VERSION}"))
                .found(version.to_string()));
        }
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(Error::format("the tally is damaged: its checksum does not fit").hint("write or copy it again"));
        }
        let settings: Settings = serde_json::from_slice(&reader.list::<u8>()?)
            .map_err(|cause| Error::format(format!("cannot read the settings of the tally ({cause})")))?;
        let mut table = Table { width: settings.width(), ids: Some(reader.list()?), ..Table::default() };
        (table.inverse, table.variance) = (reader.list()?, reader.list()?);
        table.group = reader.list()?;
        table.shared = settings.columns.len() == 1 && !settings.weighted;
        table.weight_column = settings.weighted.then_some(settings.columns.len());
        let numbers: Vec<u64> = reader.list()?;
        let chunks = numbers.iter().map(|number| Ok((*number, reader.list()?))).collect::<Result<_>>()?;
        let positives = Positives { ids: reader.list()?, counts: reader.list()? };
        let mut labels = Vec::new();
        for _ in &settings.models {
            let (ids, offsets) = (reader.list()?, reader.list()?);
            labels.push(LabelTally { ids, offsets, ranks: reader.list()?, predicted: reader.list()?, hits: reader.list()? });
        }
        let has_entries = reader.list::<u8>()? == [1];
        let mut entries = Entries { positives: triples(reader.list()?)?, predicted: Vec::new() };
        if has_entries {
            for _ in &settings.models {
                entries.predicted.push(triples(reader.list()?)?);
            }
        }
        let tally = Tally { settings, table, chunks, labels, positives, entries: has_entries.then_some(entries) };
        tally.check()?;
        Ok(tally)
    }

    /// That lengths fit each other: the finish relies on it.
    fn check(&self) -> Result<()> {
        let broken = |what: &str| Err(Error::format(format!("the tally contradicts itself: {what}")));
        let ids = self.table.ids.as_deref().unwrap_or_default();
        let wide = |values: &[f64]| values.is_empty() || values.len() == ids.len() * self.table.width;
        let inverse = if self.table.shared { self.table.inverse.len() == self.table.width } else { wide(&self.table.inverse) };
        let narrow = |len: usize| len == 0 || len == ids.len();
        if !inverse || !wide(&self.table.variance) || !narrow(self.table.group.len()) {
            return broken("its table of labels");
        }
        if ids != self.weighed() {
            return broken("its labels");
        }
        if self.settings.ks.is_empty() || self.settings.models.is_empty() || self.settings.groups.is_empty() {
            return broken("its settings");
        }
        let len = Layout::new(&self.settings, self.settings.terms()?.len()).len();
        if self.chunks.values().any(|sums| sums.len() != len) {
            return broken("its sums");
        }
        let chunks = self.settings.rows.div_ceil(CHUNK as u64);
        if self.chunks.keys().any(|chunk| *chunk >= chunks) {
            return broken("its rows");
        }
        for labels in &self.labels {
            let count = labels.ranks.len();
            let ascending = labels.offsets.first() == Some(&0) && labels.offsets.is_sorted();
            if !ascending
                || labels.offsets.len() != labels.ids.len() + 1
                || labels.offsets.last() != Some(&(count as u64))
                || [labels.predicted.len(), labels.hits.len()] != [count; 2]
                || labels.ranks.iter().any(|rank| *rank as usize >= self.settings.kmax())
            {
                return broken("its counts");
            }
        }
        let rows = self.settings.rows;
        let beyond = |entries: &Entries| {
            let predicted = entries.predicted.iter().flatten().any(|entry| u64::from(entry[1]) >= rows);
            predicted || entries.positives.iter().any(|entry| u64::from(entry[1]) >= rows)
        };
        if self.positives.counts.len() != self.positives.ids.len() || self.entries.as_ref().is_some_and(beyond) {
            return broken("its positives");
        }
        Ok(())
    }
}

fn put<T: bytemuck::NoUninit>(out: &mut Vec<u8>, values: &[T]) {
    out.extend((values.len() as u64).to_le_bytes());
    out.extend_from_slice(bytemuck::cast_slice(values));
}

fn triples<const N: usize>(flat: Vec<u32>) -> Result<Vec<[u32; N]>> {
    let (entries, rest) = flat.as_chunks::<N>();
    if !rest.is_empty() {
        return Err(Error::format("the tally contradicts itself: its rows"));
    }
    Ok(entries.to_vec())
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn cut() -> Error {
        Error::format("the tally ends too early")
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(Self::cut)?;
        self.rest = rest;
        Ok(*head)
    }

    fn list<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(&mut self) -> Result<Vec<T>> {
        let count = u64::from_le_bytes(self.take::<8>()?);
        let bytes =
            count.checked_mul(size_of::<T>() as u64).filter(|bytes| *bytes <= self.rest.len() as u64).ok_or_else(Self::cut)?;
        let (head, rest) = self.rest.split_at(bytes as usize);
        self.rest = rest;
        Ok(bytemuck::pod_collect_to_vec(head))
    }
}

/// FNV-1a over words of eight bytes: it is there against damage, not against intent.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(17);
    let hash = words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| step(hash, u64::from(*byte)))
}
