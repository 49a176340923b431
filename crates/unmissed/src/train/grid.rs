//! Settings to try: a small registry of grids.

use crate::error::{Error, Result};
use crate::predict::file::Setting;
use crate::request::Solver;
use crate::spec::{self, Named};

/// All grids.
pub static GRIDS: &[&NamedGrid] = &[&DEFAULT, &PAPER];

static DEFAULT: NamedGrid = NamedGrid {
    name: "default",
    summary: "decays around the usual one, further where the best is at an end; for Adam 0 and 1e-6 to 3e-3 at learning rates .005, .02 and .05",
    learning_rates: &[0.005, 0.02, 0.05],
    decays: &[0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3],
    // Few: a grid is extended where its end is best, and the smallest decays take most of the time.
    newton_decays: &[1e-5, 3e-5, 1e-4, 3e-4],
    dual_decays: &[1e-4, 3e-4, 1e-3, 3e-3],
};

static PAPER: NamedGrid = NamedGrid {
    name: "paper",
    summary: "the paper's: Adam at learning rates .005, .01, .05 and .1, decays 0, 1e-8, 1e-7 and 1e-6",
    learning_rates: &[0.005, 0.01, 0.05, 0.1],
    decays: &[0.0, 1e-8, 1e-7, 1e-6],
    newton_decays: &[],
    dual_decays: &[],
};

/// A grid that can be asked for by name.
pub struct NamedGrid {
    name: &'static str,
    summary: &'static str,
    learning_rates: &'static [f64],
    /// For Adam.
    decays: &'static [f64],
    /// For Newton's method; none if the grid makes no sense for it.
    newton_decays: &'static [f64],
    /// For squared hinges, whose best decays are larger.
    dual_decays: &'static [f64],
}

impl Named for NamedGrid {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
}

/// Learning rates and decays of which every pair is tried.
pub(super) struct Grid {
    /// Learning rates, for solvers that have one.
    pub(super) learning_rates: Vec<f64>,
    /// Decays. That of 0 is left out where the solver cannot do without a penalty.
    pub(super) decays: Vec<f64>,
}

impl Grid {
    /// Whether the grid called `name` makes no sense for Newton's method.
    pub(super) fn is_for_adam(name: &str) -> Result<bool> {
        Ok(spec::find(GRIDS, "grid", name)?.newton_decays.is_empty())
    }

    /// The grid called `name`, for a solver.
    pub(super) fn named(name: &str, solver: Solver) -> Result<Grid> {
        let grid = spec::find(GRIDS, "grid", name)?;
        let decays = match solver {
            Solver::Newton(_) => grid.newton_decays,
            Solver::Dual(_) => grid.dual_decays,
            Solver::Adam(_) | Solver::Joint(_) => grid.decays,
        };
        if decays.is_empty() {
            return Err(Error::value(format!("the grid '{name}' is for Adam")).found("Newton's method").hint("train with Adam"));
        }
        Ok(Grid { learning_rates: grid.learning_rates.to_vec(), decays: decays.to_vec() })
    }

    /// The settings to try, in order.
    pub(super) fn settings(&self, solver: Solver) -> Vec<Setting> {
        match solver {
            Solver::Newton(_) | Solver::Dual(_) => {
                let decays = self.decays.iter().filter(|decay| **decay > 0.0);
                decays.map(|&decay| Setting { learning_rate: None, decay }).collect()
            }
            Solver::Adam(_) | Solver::Joint(_) => {
                let pairs = self.learning_rates.iter().flat_map(|&rate| self.decays.iter().map(move |&decay| (rate, decay)));
                pairs.map(|(rate, decay)| Setting { learning_rate: Some(rate), decay }).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Adam, Newton};

    #[test]
    fn grids_fit_their_solvers() {
        let newton = Solver::Newton(Newton::default());
        assert_eq!(Grid::named("default", newton).unwrap().settings(newton).len(), 4);
        assert!(Grid::named("paper", newton).is_err());
        let adam = Solver::Adam(Adam::default());
        assert_eq!(Grid::named("paper", adam).unwrap().settings(adam).len(), 16);
        assert_eq!(Grid::named("default", adam).unwrap().settings(adam).len(), 24);
    }
}
