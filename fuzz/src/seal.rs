//! Checksums that fit. A file that was changed anywhere has a wrong one and is refused before the rest of it is looked at, so such files are
//! read twice: as they are, and as somebody would make them who wants to do harm.

use serde_json::{Map, Value};
use std::ops::Range;
use unmissed::data::formats::{Content, ReadOptions, read_source};
use unmissed::data::{Labels, Source};

/// The most bytes of data that a header may claim: those that are not there are zeros.
const MOST_DATA: usize = 1 << 16;
const METADATA: &str = "__metadata__";

/// A tensor of a header, and where its bytes are in the data.
struct Tensor<'a> {
    name: &'a str,
    value: &'a Value,
    place: Range<usize>,
}

/// A model file with the checksum, the digests of blocks and the length of the header redone, and with as many bytes of data as the header
/// says. None where no header can be read.
pub fn model(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (mut header, end) = first_object(rest)?;
    // Up to its length a header is filled with spaces; if its length was changed, data follow it at once.
    let filled = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| (end..=rest.len()).contains(length));
    let mut data = rest[filled.unwrap_or(end)..].to_vec();
    let metadata = header.remove(METADATA)?;
    let mut tensors = Vec::new();
    for (name, value) in &header {
        let [start, end] = [0, 1].map(|end| value["data_offsets"][end].as_u64().filter(|end| *end <= MOST_DATA as u64));
        tensors.push(Tensor { name, value, place: start? as usize..end? as usize });
    }
    tensors.retain(|tensor| tensor.place.start <= tensor.place.end);
    tensors.sort_by(|a, b| (a.place.start, a.place.end).cmp(&(b.place.start, b.place.end)).then_with(|| b.name.cmp(a.name)));
    data.resize(tensors.iter().map(|tensor| tensor.place.end).max().unwrap_or(0), 0);
    redo_digests(&tensors, &mut data);
    let checksum = checksum(&metadata, &tensors, &data)?;
    let mut metadata = metadata;
    metadata.as_object_mut()?.insert("checksum".into(), checksum.into());
    header.insert(METADATA.into(), metadata);
    let mut text = serde_json::to_vec(&header).ok()?;
    // Data start at a multiple of 64 bytes.
    text.resize((text.len() + length.len()).next_multiple_of(64) - length.len(), b' ');
    Some([&(text.len() as u64).to_le_bytes()[..], &text, &data].concat())
}

/// The digests of the blocks of a model on trees, where it has such tensors.
fn redo_digests(tensors: &[Tensor<'_>], data: &mut [u8]) {
    let place = |name: &str| tensors.iter().find(|tensor| tensor.name == name).map(|tensor| tensor.place.clone());
    let (Some(starts), Some(digests), Some(blocks)) = (place("blocks.starts"), place("blocks.digests"), place("blocks.bytes"))
    else {
        return;
    };
    let starts: Vec<usize> = data[starts].as_chunks::<8>().0.iter().map(|start| u64::from_le_bytes(*start) as usize).collect();
    for (block, ends) in starts.windows(2).enumerate() {
        let Some(digest) = data[blocks.clone()].get(ends[0]..ends[1]).map(blake3::hash) else { return };
        let Some(place) = data[digests.clone()].as_chunks_mut::<16>().0.get_mut(block) else { return };
        place.copy_from_slice(&digest.as_bytes()[..16]);
    }
}

/// The checksum of a model file, by its version.
fn checksum(metadata: &Value, tensors: &[Tensor<'_>], data: &[u8]) -> Option<String> {
    let text = |key: &str| metadata[key].as_str();
    let version: u32 = text("version")?.parse().ok()?;
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    if version > 1 {
        part(text("format")?.as_bytes());
        part(version.to_string().as_bytes());
    }
    part(text("about").unwrap_or_default().as_bytes());
    for tensor in tensors {
        let dtype = tensor.value["dtype"].as_str()?;
        let shape = tensor.value["shape"].as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()?;
        part(tensor.name.as_bytes());
        if version > 1 {
            part(dtype.as_bytes());
            part(&shape.iter().flat_map(|size| size.to_le_bytes()).collect::<Vec<u8>>());
        } else {
            let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
            part(format!("{dtype}[{}]", sizes.join(", ")).as_bytes());
        }
        if version > 3 && tensor.name == "blocks.bytes" {
            part(&[]);
        } else {
            part(blake3::hash(&data[tensor.place.clone()]).as_bytes());
        }
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// A tally with the length of its settings and its checksum redone. None where no settings can be read.
pub fn tally(bytes: &[u8]) -> Option<Vec<u8>> {
    let (head, rest) = bytes.split_first_chunk::<12>()?;
    let rest = rest.get(8..)?;
    let (_, end) = first_object(rest)?;
    let is_old = head[8..] == 2u32.to_le_bytes();
    let sum = if is_old { 8 } else { blake3::OUT_LEN };
    let body = [head, &(end as u64).to_le_bytes()[..], &rest[..end.max(rest.len().saturating_sub(sum))]].concat();
    let sum = if is_old { sum_of_version_2(&body).to_le_bytes().to_vec() } else { blake3::hash(&body).as_bytes().to_vec() };
    Some([body, sum].concat())
}

/// An audit and its top lists: JSON, and what is behind it.
pub fn audit(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (_, end) = first_object(bytes)?;
    Some((bytes[..end].to_vec(), bytes[end..].to_vec()))
}

/// The same as of these test rows, with the number of models and the checksums redone. None where there are no lists that fit.
pub fn audit_of(bytes: &[u8], test: &Labels<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mut json, end) = first_object(bytes)?;
    let lists = bytes[end..].to_vec();
    let options = ReadOptions { format: Some("npz".parse().ok()?), ..ReadOptions::default() };
    let Content::Scores(matrix) = read_source(Source::of_bytes("input", lists.clone()).ok()?, &options).ok()? else { return None };
    let kept = json.get_mut("top_lists")?.as_object_mut()?;
    kept.insert("models".into(), (0..matrix.rows() / test.rows()).map(|model| model.to_string()).collect());
    kept.insert("blake3".into(), checksum_of_labels(&matrix.pattern()).into());
    let rows = serde_json::json!({ "rows": test.rows(), "labels": test.cols(), "blake3": checksum_of_labels(test) });
    json.insert("test_rows".into(), rows);
    Some((serde_json::to_vec(&json).ok()?, lists))
}

/// The checksum of labels, those of a row in their order.
fn checksum_of_labels(labels: &Labels<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(labels.cols() as u64).to_le_bytes());
    for row in 0..labels.rows() {
        let mut sorted = labels.row_ids(row).to_vec();
        sorted.sort_unstable();
        hasher.update(&(sorted.len() as u64).to_le_bytes());
        for label in &sorted {
            hasher.update(&label.to_le_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// FNV-1a over words of eight bytes.
fn sum_of_version_2(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(17);
    let hash = words.iter().fold(0xCBF2_9CE4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| step(hash, u64::from(*byte)))
}

/// The object at the start of some bytes, and where it ends.
fn first_object(bytes: &[u8]) -> Option<(Map<String, Value>, usize)> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Map<String, Value>>();
    let object = values.next()?.ok()?;
    Some((object, values.byte_offset()))
}
