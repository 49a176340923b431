//! The only code that depends on the optimiser: bounded Levenberg-Marquardt and bounded quasi-Newton from `basin`.

use basin::{BoundedLevenbergMarquardt, BoxBounds, ConstraintDescription, ConstraintSet, CostFunction, DenseMatrix, Executor};
use basin::{Constraints, FirstOrderState, Gradient, Jacobian, Lbfgsb, PointState, Residual, TerminationCode};
use serde::Serialize;
use std::convert::Infallible;

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The gradient, or the last gains, were as good as zero. There may still be a better point elsewhere.
    Converged,
    /// No step helped any more at the precision of the machine.
    NoProgress,
    /// Out of iterations: a longer search might have found better.
    IterationLimit,
    /// The numbers broke down.
    Failed,
}

impl Stop {
    fn of(code: TerminationCode) -> Stop {
        match code {
            TerminationCode::MaxIter | TerminationCode::MaxCostEvals | TerminationCode::MaxGradientEvals => Stop::IterationLimit,
            TerminationCode::SolverFailed => Stop::Failed,
            TerminationCode::NumericalNoProgress => Stop::NoProgress,
            _ => Stop::Converged,
        }
    }
}

/// Where a search ended.
pub(super) struct Solved {
    pub(super) x: Vec<f64>,
    /// Half the sum of squares, or the value that was minimised.
    pub(super) cost: f64,
    pub(super) stop: Stop,
}

/// A least-squares problem.
pub(super) trait LeastSquares: Sync {
    fn residuals(&self) -> usize;
    /// Fills the residuals at `x` and, row by row, their derivatives.
    fn evaluate(&self, x: &[f64], residuals: &mut [f64], jacobian: Option<&mut [f64]>);
}

/// A smooth function with its gradient.
pub(super) type Smooth<'a> = &'a (dyn Fn(&[f64], &mut [f64]) -> f64 + Sync);

struct Boxed<T> {
    inner: T,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl<T> Constraints for Boxed<T> {
    type Set = ConstraintSet<BoxBounds<Vec<f64>>>;
    fn constraints(&self) -> <Self::Set as ConstraintDescription>::Borrowed<'_> {
        ConstraintSet::new().with_bounds(BoxBounds::new(Some(&self.low), Some(&self.high)))
    }
}

impl Residual for Boxed<&dyn LeastSquares> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;
    type Error = Infallible;
    fn residual(&self, x: &Vec<f64>) -> Result<Vec<f64>, Infallible> {
        let mut residuals = vec![0.0; self.inner.residuals()];
        self.inner.evaluate(x, &mut residuals, None);
        Ok(residuals)
    }
}

impl Jacobian for Boxed<&dyn LeastSquares> {
    type Jacobian = DenseMatrix<f64>;
    fn jacobian(&self, x: &Vec<f64>) -> Result<DenseMatrix<f64>, Infallible> {
        let mut residuals = vec![0.0; self.inner.residuals()];
        let mut cells = vec![0.0; residuals.len() * x.len()];
        self.inner.evaluate(x, &mut residuals, Some(&mut cells));
        Ok(DenseMatrix::from_row_slice(residuals.len(), x.len(), &cells))
    }
}

impl CostFunction for Boxed<Smooth<'_>> {
    type Param = Vec<f64>;
    type Output = f64;
    type Error = Infallible;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Infallible> {
        Ok((self.inner)(x, &mut vec![0.0; x.len()]))
    }
}

impl Gradient for Boxed<Smooth<'_>> {
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Infallible> {
        let mut gradient = vec![0.0; x.len()];
        (self.inner)(x, &mut gradient);
        Ok(gradient)
    }
}

/// Minimises half the sum of squares within the bounds.
pub(super) fn least_squares(problem: &dyn LeastSquares, bounds: (Vec<f64>, Vec<f64>), start: Vec<f64>, iterations: u64) -> Solved {
    let settled = |x: &[f64]| {
        let mut residuals = vec![0.0; problem.residuals()];
        let mut jacobian = vec![0.0; residuals.len() * x.len()];
        problem.evaluate(x, &mut residuals, Some(&mut jacobian));
        let length = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        let size = length(&mut residuals.iter().copied());
        (0..x.len()).all(|place| {
            let column = || jacobian.iter().skip(place).step_by(x.len()).copied();
            let slope: f64 = column().zip(&residuals).map(|(derivative, residual)| derivative * residual).sum();
            // The cosine of residuals and derivative: what is left of the slope whatever the scales are.
            is_flat(slope, size * length(&mut column()), x[place], (bounds.0[place], bounds.1[place]))
        })
    };
    if start.is_empty() {
        let mut residuals = vec![0.0; problem.residuals()];
        problem.evaluate(&start, &mut residuals, None);
        let cost = 0.5 * residuals.iter().map(|residual| residual * residual).sum::<f64>();
        return Solved { x: start, cost, stop: Stop::Converged };
    }
    let problem = Boxed { inner: problem, low: bounds.0.clone(), high: bounds.1.clone() };
    let solver =
        BoundedLevenbergMarquardt::new().with_absolute_scaled_gradient_tolerance(1e-12).with_relative_cost_change_tolerance(1e-11);
    let outcome = Executor::new(problem, solver, PointState::new(start.clone())).max_iter(iterations).run();
    solved(outcome.map(|result| (result.param().clone(), result.cost(), result.report.code())), start, settled)
}

/// Minimises a smooth function within the bounds.
pub(super) fn minimise(problem: Smooth<'_>, bounds: (Vec<f64>, Vec<f64>), start: Vec<f64>, iterations: u64) -> Solved {
    let settled = |x: &[f64]| {
        let mut gradient = vec![0.0; x.len()];
        let value = problem(x, &mut gradient);
        let bound = |place: usize| (bounds.0[place], bounds.1[place]);
        (0..x.len()).all(|place| is_flat(gradient[place], 1.0 + value.abs(), x[place], bound(place)))
    };
    let problem = Boxed { inner: problem, low: bounds.0.clone(), high: bounds.1.clone() };
    let solver = Lbfgsb::new()
        .with_m_capacity(10)
        .with_absolute_projected_gradient_tolerance(1e-9)
        .with_relative_cost_change_tolerance(1e-12);
    let outcome = Executor::new(problem, solver, FirstOrderState::new(start.clone())).max_iter(iterations).run();
    solved(outcome.map(|result| (result.param().clone(), result.cost(), result.report.code())), start, settled)
}

/// Whether a slope is as good as zero, or points out of the bounds at one of them.
fn is_flat(slope: f64, scale: f64, x: f64, (low, high): (f64, f64)) -> bool {
    const FLAT: f64 = 1e-6;
    let near = 1e-9 * (high - low).min(1.0);
    slope.abs() <= FLAT * scale || (x - low <= near && slope > 0.0) || (high - x <= near && slope < 0.0)
}

/// `settled` tells whether the slope is flat at a point: a solver that breaks down there has found what it looked for.
fn solved<E>(outcome: Result<(Vec<f64>, f64, TerminationCode), E>, start: Vec<f64>, settled: impl Fn(&[f64]) -> bool) -> Solved {
    match outcome {
        Ok((x, cost, code)) if cost.is_finite() => {
            let stop = match Stop::of(code) {
                Stop::Failed if settled(&x) => Stop::Converged,
                stop => stop,
            };
            Solved { x, cost, stop }
        }
        _ => Solved { x: start, cost: f64::INFINITY, stop: Stop::Failed },
    }
}
