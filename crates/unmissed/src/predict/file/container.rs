//! The container of model files and of parts of them: tensors, a JSON text about them, and a checksum over both.

use crate::data::Output;
use crate::error::{Error, Result, shown};
use rayon::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde_json::json;
use std::borrow::Cow;

/// The version of the format that is written, and the newest that is read.
const VERSION: u32 = 4;
/// Data start at a multiple of this many bytes, so that mapped tensors lie as in memory.
const ALIGNMENT: usize = 64;
/// Longer headers are not read by anybody, this library included.
const LONGEST_HEADER: usize = 100_000_000;

/// The one tensor that the checksum says nothing about, from version 4 on: its parts have digests in another tensor, and are checked when
/// they are used for the first time. So a large file is opened without reading it.
pub(super) const PARTS: &str = "blocks.bytes";

/// A tensor that is to be written.
pub(super) struct Tensor<'a> {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Cow<'a, [u8]>,
}

impl<'a> Tensor<'a> {
    pub(super) fn new<T: bytemuck::NoUninit>(name: String, dtype: Dtype, shape: Vec<usize>, values: &'a [T]) -> Tensor<'a> {
        Tensor { name, dtype, shape, bytes: Cow::Borrowed(bytemuck::cast_slice(values)) }
    }

    pub(super) fn seal(&self) -> Seal {
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Seal { name, dtype: self.dtype, shape, bytes: self.bytes.len(), digest: Some(blake3::hash(&self.bytes)) }
    }
}

/// What a header says about a tensor, and what the checksum needs of it.
#[derive(Clone, Debug)]
pub(super) struct Seal {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: usize,
    /// None where the parts of the tensor have digests of their own.
    pub(super) digest: Option<blake3::Hash>,
}

impl Seal {
    /// The seal of so many bytes in [`PARTS`].
    pub(super) fn of_parts(bytes: usize) -> Seal {
        Seal { name: PARTS.into(), dtype: Dtype::U8, shape: vec![bytes], bytes, digest: None }
    }
}

/// The types of tensors that models have, as headers name them.
fn type_name(dtype: Dtype) -> Result<&'static str> {
    match dtype {
        Dtype::U8 => Ok("U8"),
        Dtype::F16 => Ok("F16"),
        Dtype::F32 => Ok("F32"),
        Dtype::F64 => Ok("F64"),
        Dtype::U32 => Ok("U32"),
        Dtype::U64 => Ok("U64"),
        _ => Err(contradiction("a tensor of a type that models do not have")),
    }
}

/// The checksum of a version; the folder's page says what it is made of.
fn checksum(version: u32, format: &str, about: &str, seals: &[Seal]) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    if version > 1 {
        part(format.as_bytes());
        part(version.to_string().as_bytes());
    }
    part(about.as_bytes());
    for seal in seals {
        part(seal.name.as_bytes());
        let name = type_name(seal.dtype)?;
        if version > 1 {
            part(name.as_bytes());
            part(&seal.shape.iter().flat_map(|size| (*size as u64).to_le_bytes()).collect::<Vec<u8>>());
        } else {
            let sizes: Vec<String> = seal.shape.iter().map(usize::to_string).collect();
            part(format!("{name}[{}]", sizes.join(", ")).as_bytes());
        }
        part(seal.digest.as_ref().map_or(&[][..], |digest| digest.as_bytes()));
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Starts a file: the header, after which the bytes of the tensors must follow in the order of their seals. Gives its length.
pub(super) fn put_header(output: &mut Output, format: &str, about: &str, seals: &[Seal]) -> Result<usize> {
    let metadata = json!({
        "format": format, "version": VERSION.to_string(), "about": about,
        "checksum": checksum(VERSION, format, about, seals)?,
    });
    let mut header = serde_json::Map::from_iter([("__metadata__".to_owned(), metadata)]);
    let mut end = 0;
    for seal in seals {
        let start = end;
        end += seal.bytes;
        header.insert(seal.name.clone(), json!({"dtype": seal.dtype, "shape": seal.shape, "data_offsets": [start, end]}));
    }
    let mut bytes = serde_json::to_vec(&header).map_err(|cause| Error::value(format!("cannot write the header ({cause})")))?;
    bytes.resize((bytes.len() + size_of::<u64>()).next_multiple_of(ALIGNMENT) - size_of::<u64>(), b' ');
    if bytes.len() > LONGEST_HEADER {
        return Err(Error::value("the model has too many blocks for a file").hint("make blocks of more labels"));
    }
    output.put(&(bytes.len() as u64).to_le_bytes())?;
    output.put(&bytes)?;
    Ok(size_of::<u64>() + bytes.len())
}

/// A file whose checksum fits; what is in [`PARTS`] is left to be checked.
pub(super) struct Container<'a> {
    pub(super) version: u32,
    about: String,
    pub(super) seals: Vec<Seal>,
    /// The bytes of the tensors, by the order of the seals.
    pub(super) tensors: Vec<&'a [u8]>,
}

impl<'a> Container<'a> {
    /// Takes the bytes of a file apart and checks them.
    pub(super) fn open(bytes: &'a [u8], format: &str) -> Result<Container<'a>> {
        let (metadata, data) = split(bytes)?;
        let text = |key: &str| metadata.metadata().as_ref().and_then(|texts| texts.get(key)).map(String::as_str);
        if text("format") != Some(format) {
            let found = text("format").map_or("tensors of something else".into(), |format| shown(format.as_bytes()));
            return Err(not_a_model().found(found));
        }
        let version = match text("version").and_then(|version| version.parse::<u32>().ok()) {
            Some(version @ 1..=VERSION) => version,
            Some(newer) if newer > VERSION => {
                return Err(Error::format("the model was made by a newer version of unmissed")
                    .expected(format!("format version {VERSION} or earlier"))
                    .found(newer.to_string())
                    .hint("update unmissed"));
            }
            _ => return Err(Error::format("the model file does not say its version").hint("write or copy it again")),
        };
        if metadata.data_len() != data.len() {
            return Err(Error::format("the model file is cut off or has something appended")
                .expected(format!("{} bytes of weights", metadata.data_len()))
                .found(data.len().to_string())
                .hint("write or copy it again"));
        }
        let mut infos: Vec<(String, &TensorInfo)> =
            metadata.offset_keys().into_iter().filter_map(|name| metadata.info(&name).map(|info| (name, info))).collect();
        // Empty tensors of a block lie at one place; they are written as 'indices', 'data'.
        infos.sort_by(|(a, left), (b, right)| left.data_offsets.cmp(&right.data_offsets).then_with(|| b.cmp(a)));
        let tensors: Vec<&[u8]> = infos.iter().map(|(_, info)| &data[info.data_offsets.0..info.data_offsets.1]).collect();
        let seals: Vec<Seal> = infos
            .par_iter()
            .zip(&tensors)
            .map(|((name, info), bytes)| Seal {
                name: name.clone(),
                dtype: info.dtype,
                shape: info.shape.clone(),
                bytes: bytes.len(),
                digest: (version < 4 || name != PARTS).then(|| blake3::hash(bytes)),
            })
            .collect();
        let about = text("about").unwrap_or_default().to_owned();
        if text("checksum") != Some(checksum(version, format, &about, &seals)?.as_str()) {
            return Err(Error::format("the model file is damaged: its checksum does not fit").hint("write or copy it again"));
        }
        Ok(Container { version, about, seals, tensors })
    }

    /// What the JSON text says.
    pub(super) fn about<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.about).map_err(|cause| contradiction(&format!("its description ({cause})")))
    }
}

/// The header and the data.
fn split(bytes: &[u8]) -> Result<(Metadata, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(not_a_model)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| *length <= LONGEST_HEADER);
    let length = length.filter(|_| rest.first() == Some(&b'{')).ok_or_else(not_a_model)?;
    let Some((header, data)) = rest.split_at_checked(length) else {
        return Err(Error::format("the model file is cut off inside its header").hint("write or copy it again"));
    };
    let metadata = serde_json::from_slice(header).map_err(|cause| not_a_model().found(format!("a broken header ({cause})")))?;
    Ok((metadata, data))
}

/// What a file says that it is.
pub(super) fn format_of(bytes: &[u8]) -> Result<String> {
    let (metadata, _) = split(bytes)?;
    metadata.metadata().as_ref().and_then(|texts| texts.get("format").cloned()).ok_or_else(not_a_model)
}

fn not_a_model() -> Error {
    Error::format("not a model file").expected("a file that 'unmissed train' wrote")
}

/// A file whose checksum fits and whose content makes no sense all the same.
pub(super) fn contradiction(what: &str) -> Error {
    Error::format(format!("the model file contradicts itself: {what}"))
}
