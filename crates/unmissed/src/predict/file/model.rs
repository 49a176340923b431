//! Whole models: written block by block, read block by block.

use super::about::{About, AboutOfVersion1};
use super::block::{Stored, find};
use super::container::{Container, Tensor, contradiction, put_header};
use crate::data::{Output, Source};
use crate::error::{Error, Result};
use crate::predict::builder::Builder;
use crate::predict::panel::Panel;
use crate::predict::{Model, Normalize};
use rayon::prelude::*;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the metadata call the format.
pub(super) const FORMAT: &str = "unmissed-model";

/// The JSON text of a model file.
#[derive(Serialize, Deserialize)]
pub(super) struct Description<A = About> {
    pub(super) features: usize,
    pub(super) labels: usize,
    pub(super) normalize: Normalize,
    #[serde(flatten)]
    pub(super) about: A,
}

impl Description {
    fn of(container: &Container<'_>) -> Result<Description> {
        if container.version > 1 {
            return container.about();
        }
        let Description::<AboutOfVersion1> { features, labels, normalize, about } = container.about()?;
        Ok(Description { features, labels, normalize, about: about.into() })
    }

    pub(super) fn to_json(&self) -> Result<String> {
        let counts = self.about.label_counts.as_ref().map_or(self.labels, Vec::len);
        if counts != self.labels {
            return Err(Error::value("the number of label counts is not that of the model's labels")
                .expected(self.labels.to_string())
                .found(counts.to_string()));
        }
        serde_json::to_string(self).map_err(|cause| Error::value(format!("cannot write about the model ({cause})")))
    }

    /// The counts as the first tensor of the file, when they are known.
    pub(super) fn counts(&self) -> Option<Tensor<'_>> {
        let counts = self.about.label_counts.as_ref()?;
        Some(Tensor::new("counts".into(), Dtype::U64, vec![counts.len()], counts))
    }
}

/// Writes a model; nothing of it is held twice. A name that ends in `.gz` or `.zst` is compressed.
pub fn write(model: &Model, about: &About, path: impl AsRef<Path>) -> Result<()> {
    write_panels(model, about, path.as_ref(), |first, bias, panel| Ok(Stored::of_panel(first, bias, panel)))
}

/// Writes a model whose weights are rounded to half precision.
pub fn write_half(model: &Model, about: &About, path: impl AsRef<Path>) -> Result<()> {
    let features = model.features();
    write_panels(model, about, path.as_ref(), |first, bias, panel| Stored::of_panel_in_half(first, bias, panel, features))
}

fn write_panels<'m>(
    model: &'m Model,
    about: &About,
    path: &Path,
    stored: impl Fn(u32, &'m [f32], &'m Panel) -> Result<Stored<'m>> + Sync,
) -> Result<()> {
    let (features, labels, normalize) = (model.features(), model.labels(), model.normalize());
    let description = Description { features, labels, normalize, about: about.clone() };
    let json = description.to_json()?;
    let stored = |panel: usize| {
        let labels = model.panel_labels(panel);
        stored(labels.start as u32, &model.bias()[labels], &model.panels()[panel])
    };
    let panels = model.panels().len();
    let sealed = (0..panels).into_par_iter().map(|panel| {
        let stored = stored(panel)?;
        Ok(stored.tensors(features).iter().map(Tensor::seal).collect::<Vec<_>>())
    });
    let mut seals: Vec<_> = description.counts().iter().map(Tensor::seal).collect();
    seals.extend(sealed.collect::<Result<Vec<_>>>()?.into_iter().flatten());
    let mut output = Output::create(path)?;
    put_header(&mut output, FORMAT, &json, &seals)?;
    if let Some(counts) = description.counts() {
        output.put(&counts.bytes)?;
    }
    for panel in 0..panels {
        for tensor in stored(panel)?.tensors(features) {
            output.put(&tensor.bytes)?;
        }
    }
    output.finish()
}

/// Reads a model; `mmap` allows a memory map.
pub fn read(path: impl AsRef<Path>, mmap: bool) -> Result<(Model, About)> {
    read_source(Source::open(path, mmap)?)
}

/// Reads a model from an opened source.
pub fn read_source(source: Source) -> Result<(Model, About)> {
    let path = source.path().to_path_buf();
    let bytes = source.into_bytes()?;
    parse(bytes.as_ref()).map_err(|error| error.in_file(path))
}

fn parse(bytes: &[u8]) -> Result<(Model, About)> {
    let container = Container::open(bytes, FORMAT)?;
    let Description { features, labels, normalize, mut about } = Description::of(&container)?;
    if u32::try_from(features).is_err() || u32::try_from(labels).is_err() {
        return Err(contradiction("ids of features and labels have 32 bits"));
    }
    let mut at = 0;
    if let Some(seal) = container.seals.first().filter(|seal| seal.name == "counts") {
        if seal.dtype != Dtype::U64 || seal.shape != [labels] {
            return Err(contradiction("its label counts"));
        }
        about.label_counts = Some(bytemuck::pod_collect_to_vec(container.tensors[0]));
        at = 1;
    }
    let mut builder = Builder::new(features);
    while at < container.seals.len() {
        let (found, tensors) = find(&container, at, builder.labels() as u32, features)?;
        builder.push(&found.bias, |from, column, lines| found.copy(from, column, lines))?;
        at += tensors;
    }
    if builder.labels() != labels {
        return Err(contradiction(&format!("it has {} labels and says {labels}", builder.labels())));
    }
    Ok((builder.finish(normalize), about))
}
