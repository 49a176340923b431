//! Puts blocks of any width into panels.

use super::kernel::WIDTH;
use super::model::{Model, Normalize};
use super::panel::{Line, Panel, zeros};
use crate::error::{Error, Result};
use std::ops::Range;

/// Builds a model from one block of labels after the other.
pub(super) struct Builder {
    features: usize,
    bias: Vec<f32>,
    panels: Vec<Panel>,
    /// The panel that is not full yet.
    open: Vec<Line>,
}

impl Builder {
    pub(super) fn new(features: usize) -> Builder {
        Builder { features, bias: Vec::new(), panels: Vec::new(), open: Vec::new() }
    }

    /// Number of labels so far.
    pub(super) fn labels(&self) -> usize {
        self.bias.len()
    }

    /// Takes the next labels. `copy` writes the weights of some of them into the lines of all features, from a column on.
    pub(super) fn push(&mut self, bias: &[f32], copy: impl Fn(Range<usize>, usize, &mut [Line])) -> Result<()> {
        if u32::try_from(self.bias.len() + bias.len()).is_err() {
            return Err(Error::value("too many labels: ids have 32 bits"));
        }
        let mut from = 0;
        while from < bias.len() {
            let column = self.bias.len() % WIDTH;
            let to = bias.len().min(from + WIDTH - column);
            if column == 0 {
                self.close();
                self.open = zeros(self.features);
            }
            copy(from..to, column, &mut self.open);
            self.bias.extend_from_slice(&bias[from..to]);
            from = to;
        }
        Ok(())
    }

    fn close(&mut self) {
        let width = self.bias.len() - self.panels.len() * WIDTH;
        if width > 0 {
            self.panels.push(Panel::from_lines(std::mem::take(&mut self.open), width));
        }
    }

    pub(super) fn finish(mut self, normalize: Normalize) -> Model {
        self.close();
        Model::from_panels(self.features, normalize, self.bias, self.panels)
    }
}
