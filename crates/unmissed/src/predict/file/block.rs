//! A block of labels as tensors.

use super::container::{Container, Seal, Tensor, contradiction};
use crate::error::Result;
use crate::predict::kernel::WIDTH;
use crate::predict::model::Block;
use crate::predict::packed::{Packed, Unpacked};
use crate::predict::panel::{Line, Panel, Sparse, sparse_bytes};
use safetensors::Dtype;
use std::borrow::Cow;
use std::ops::Range;

/// The weights of a block as a file holds them.
pub(super) enum Weights<'a> {
    /// Feature by feature.
    Dense(Cow<'a, [f32]>),
    /// As scipy's csr_matrix holds them.
    Sparse(Cow<'a, [u32]>, Cow<'a, [u32]>, Cow<'a, [f32]>),
    /// In half precision, as `predict/packed.rs` says.
    Packed(Vec<u8>),
}

/// A block that is to be written.
pub(super) struct Stored<'a> {
    pub(super) first: u32,
    pub(super) bias: Cow<'a, [f32]>,
    pub(super) weights: Weights<'a>,
}

impl<'a> Stored<'a> {
    /// A panel of a model.
    pub(super) fn of_panel(first: u32, bias: &'a [f32], panel: &'a Panel) -> Stored<'a> {
        let weights = match panel {
            Panel::Dense(lines) if bias.len() == WIDTH => Weights::Dense(bytemuck::cast_slice(lines).into()),
            Panel::Dense(lines) => Weights::Dense(lines.iter().flat_map(|line| &line.0[..bias.len()]).copied().collect()),
            Panel::Sparse(Sparse { starts, columns, values }) => {
                Weights::Sparse(starts.as_slice().into(), columns.as_slice().into(), values.as_slice().into())
            }
        };
        Stored { first, bias: bias.into(), weights }
    }

    /// A panel of a model in half precision.
    pub(super) fn of_panel_in_half(first: u32, bias: &'a [f32], panel: &Panel, features: usize) -> Result<Stored<'a>> {
        let lines = panel.all_lines(features);
        in_half(first, bias, lines.iter().map(|line| &line.0[..bias.len()]), 0.0)
    }

    /// A block of the training in half precision, without weights of at most `least` in absolute value.
    pub(super) fn of_block_in_half(block: &'a Block, least: Option<f32>) -> Result<Stored<'a>> {
        in_half(block.first, &block.bias, block.weights.chunks_exact(block.width()), least.unwrap_or(0.0))
    }

    /// A block of the training without weights of at most `least` in absolute value, in the form that takes fewer bytes.
    pub(super) fn of_block(block: &'a Block, features: usize, least: Option<f32>) -> Stored<'a> {
        let keeps = |weight: f32| weight != 0.0 && least.is_none_or(|least| weight.abs() > least);
        let nonzeros = block.weights.iter().filter(|weight| keeps(**weight)).count();
        let pays = u32::try_from(nonzeros).is_ok() && sparse_bytes(features, nonzeros) < size_of_val(block.weights.as_slice());
        let weights = if pays {
            let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for line in block.weights.chunks_exact(block.width()) {
                for (column, weight) in line.iter().enumerate().filter(|(_, weight)| keeps(**weight)) {
                    columns.push(column as u32);
                    values.push(*weight);
                }
                starts.push(values.len() as u32);
            }
            Weights::Sparse(starts.into(), columns.into(), values.into())
        } else if nonzeros < block.weights.len() && least.is_some() {
            Weights::Dense(block.weights.iter().map(|weight| if keeps(*weight) { *weight } else { 0.0 }).collect())
        } else {
            Weights::Dense(block.weights.as_slice().into())
        };
        Stored { first: block.first, bias: block.bias.as_slice().into(), weights }
    }

    /// The tensors, in the order of a file.
    pub(super) fn tensors(&self, features: usize) -> Vec<Tensor<'_>> {
        let (width, name) = (self.bias.len(), |kind: &str| format!("{:010}.{kind}", self.first));
        let mut tensors = vec![Tensor::new(name("bias"), Dtype::F32, vec![width], &self.bias)];
        match &self.weights {
            Weights::Dense(weights) => {
                tensors.push(Tensor::new(name("weights"), Dtype::F32, vec![features, width], weights));
            }
            Weights::Sparse(starts, columns, values) => {
                tensors.push(Tensor::new(name("indptr"), Dtype::U32, vec![features + 1], starts));
                tensors.push(Tensor::new(name("indices"), Dtype::U32, vec![columns.len()], columns));
                tensors.push(Tensor::new(name("data"), Dtype::F32, vec![values.len()], values));
            }
            Weights::Packed(bytes) => tensors.push(Tensor::new(name("packed"), Dtype::U8, vec![bytes.len()], bytes)),
        }
        tensors
    }
}

fn in_half<'a, 'l>(first: u32, bias: &'a [f32], lines: impl Iterator<Item = &'l [f32]>, least: f32) -> Result<Stored<'a>> {
    let mut unpacked = Unpacked::default();
    (0u32..).zip(lines).for_each(|(feature, line)| unpacked.push(feature, line, least));
    Ok(Stored { first, bias: bias.into(), weights: Weights::Packed(unpacked.pack()?) })
}

/// The block whose tensors start at `at` in a container, with the place after them; everything about it is checked.
pub(super) struct Found<'a> {
    pub(super) bias: Vec<f32>,
    weights: FoundWeights<'a>,
}

enum FoundWeights<'a> {
    Dense(&'a [u8]),
    Sparse(Sparse),
    Packed(Packed<'a>),
}

/// The tensors of the block that starts at `first`, and how many they are.
pub(super) fn find<'a>(container: &Container<'a>, at: usize, first: u32, features: usize) -> Result<(Found<'a>, usize)> {
    let tensor = |place: usize, kind: &str| -> Option<(&Seal, &'a [u8])> {
        let seal = container.seals.get(at + place)?;
        (seal.name == format!("{first:010}.{kind}")).then(|| (seal, container.tensors[at + place]))
    };
    let broken = || contradiction(&format!("the block of labels from {first} on"));
    let of = |found: Option<(&Seal, &'a [u8])>, dtype: Dtype, shape: &[usize]| {
        found.filter(|(seal, _)| seal.dtype == dtype && seal.shape == shape).map(|(_, bytes)| bytes).ok_or_else(broken)
    };
    let length = |place: usize| container.seals.get(at + place).and_then(|seal| seal.shape.first().copied()).ok_or_else(broken);
    let width = length(0)?;
    let bias: Vec<f32> = bytemuck::pod_collect_to_vec(of(tensor(0, "bias"), Dtype::F32, &[width])?);
    if width == 0 || !finite(bytemuck::cast_slice(&bias)) {
        return Err(broken());
    }
    if let Some(found) = tensor(1, "weights") {
        let bytes = of(Some(found), Dtype::F32, &[features, width])?;
        return if finite(bytes) { Ok((Found { bias, weights: FoundWeights::Dense(bytes) }, 2)) } else { Err(broken()) };
    }
    if let Some(found) = tensor(1, "packed") {
        let bytes = of(Some(found), Dtype::U8, &[length(1)?])?;
        let packed = Packed::of(bytes).filter(|packed| packed.check(features, width)).ok_or_else(broken)?;
        return Ok((Found { bias, weights: FoundWeights::Packed(packed) }, 2));
    }
    let nonzeros = length(2)?;
    let starts = features.checked_add(1).ok_or_else(broken)?;
    let sparse = Sparse {
        starts: bytemuck::pod_collect_to_vec(of(tensor(1, "indptr"), Dtype::U32, &[starts])?),
        columns: bytemuck::pod_collect_to_vec(of(tensor(2, "indices"), Dtype::U32, &[nonzeros])?),
        values: bytemuck::pod_collect_to_vec(of(tensor(3, "data"), Dtype::F32, &[nonzeros])?),
    };
    let ordered = sparse.starts.first() == Some(&0) && sparse.starts.is_sorted();
    if !ordered || sparse.starts.last().map(|last| *last as usize) != Some(nonzeros) {
        return Err(broken());
    }
    let line = |pair: &[u32]| &sparse.columns[pair[0] as usize..pair[1] as usize];
    let sane =
        |columns: &[u32]| columns.is_sorted_by(|a, b| a < b) && columns.last().is_none_or(|column| (*column as usize) < width);
    if !sparse.starts.windows(2).all(|pair| sane(line(pair))) || !finite(bytemuck::cast_slice(&sparse.values)) {
        return Err(broken());
    }
    Ok((Found { bias, weights: FoundWeights::Sparse(sparse) }, 4))
}

impl Found<'_> {
    /// Writes the weights of labels `from` of the block into lines from `column` on.
    pub(super) fn copy(&self, from: Range<usize>, column: usize, lines: &mut [Line]) {
        match &self.weights {
            FoundWeights::Dense(bytes) => {
                let (size, width) = (size_of::<f32>(), self.bias.len());
                for (line, weights) in lines.iter_mut().zip(bytes.chunks_exact(width * size)) {
                    let into: &mut [u8] = bytemuck::cast_slice_mut(&mut line.0[column..column + from.len()]);
                    into.copy_from_slice(&weights[from.start * size..from.end * size]);
                }
            }
            FoundWeights::Sparse(sparse) => {
                for (feature, line) in lines.iter_mut().enumerate() {
                    sparse.for_each(feature, |place, weight| {
                        if from.contains(&place) {
                            line.0[column + place - from.start] = weight;
                        }
                    });
                }
            }
            FoundWeights::Packed(packed) => packed.for_each(|feature, place, weight| {
                if from.contains(&place) {
                    lines[feature as usize].0[column + place - from.start] = weight;
                }
            }),
        }
    }
}

fn finite(bytes: &[u8]) -> bool {
    bytes.as_chunks::<4>().0.iter().all(|number| f32::from_le_bytes(*number).is_finite())
}
