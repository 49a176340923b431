//! Settings to try: a small registry of grids, and grids of one's own.

use super::trainer::Solver;
use crate::error::{Error, Result, digits};
use crate::spec::{self, Named};
use serde::{Deserialize, Serialize};

/// All grids with a name.
pub static GRIDS: &[&NamedGrid] = &[&DEFAULT, &PAPER];

static DEFAULT: NamedGrid = NamedGrid {
    name: "default",
    summary: "decays 0 (Adam only) and 1e-6 to 3e-3, for Adam at rates .005, .02 and .05",
    rates: &[0.005, 0.02, 0.05],
    decays: &[0.0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3],
    for_newton: true,
};

static PAPER: NamedGrid = NamedGrid {
    name: "paper",
    summary: "the paper's: Adam at rates .005, .01, .05 and .1, decays 0, 1e-8, 1e-7 and 1e-6",
    rates: &[0.005, 0.01, 0.05, 0.1],
    decays: &[0.0, 1e-8, 1e-7, 1e-6],
    for_newton: false,
};

/// A grid that can be asked for by name.
pub struct NamedGrid {
    name: &'static str,
    summary: &'static str,
    rates: &'static [f64],
    decays: &'static [f64],
    for_newton: bool,
}

impl Named for NamedGrid {
    fn name(&self) -> &'static str {
        self.name
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
}

/// One setting to try.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The learning rate, for solvers that have one.
    pub rate: Option<f64>,
    /// The decay.
    pub decay: f64,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(rate) = self.rate {
            write!(f, "rate {}, ", digits(rate))?;
        }
        write!(f, "decay {}", digits(self.decay))
    }
}

/// Rates and decays of which every pair is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Learning rates, for solvers that have one.
    pub rates: Vec<f64>,
    /// Decays. That of 0 is left out where the solver cannot do without.
    pub decays: Vec<f64>,
}

impl Grid {
    /// The grid called `name`, for a solver.
    ///
    /// ```
    /// use unmissed::train::{Adam, Grid, Newton, Solver};
    /// let newton = Solver::Newton(Newton::default());
    /// let grid = Grid::named("default", newton)?;
    /// assert_eq!(grid.settings(newton).len(), 7);
    /// assert!(Grid::named("paper", newton).is_err());
    /// let adam = Solver::Adam(Adam::default());
    /// assert_eq!(Grid::named("paper", adam)?.settings(adam).len(), 16);
    /// # Ok::<(), unmissed::Error>(())
    /// ```
    pub fn named(name: &str, solver: Solver) -> Result<Grid> {
        let grid = spec::find(GRIDS, "grid", name)?;
        if solver.adam().is_none() && !grid.for_newton {
            return Err(Error::value(format!("the grid '{name}' is for Adam")).found("Newton's method").hint("train with Adam"));
        }
        Ok(Grid { rates: grid.rates.to_vec(), decays: grid.decays.to_vec() })
    }

    /// The settings to try, in order.
    pub fn settings(&self, solver: Solver) -> Vec<Setting> {
        match solver {
            Solver::Newton(_) => {
                let decays = self.decays.iter().filter(|decay| **decay > 0.0);
                decays.map(|&decay| Setting { rate: None, decay }).collect()
            }
            Solver::Adam(_) | Solver::Joint(_) => {
                let pairs = self.rates.iter().flat_map(|&rate| self.decays.iter().map(move |&decay| (rate, decay)));
                pairs.map(|(rate, decay)| Setting { rate: Some(rate), decay }).collect()
            }
        }
    }
}
