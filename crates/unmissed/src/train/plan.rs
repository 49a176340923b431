//! From a request to a plan: names are looked up, and options that exclude each other are rejected, before any data are read.

use super::grid::Grid;
use crate::error::{Error, Result, digits};
use crate::losses::{self, Loss};
use crate::predict::Normalize;
use crate::predict::file::Setting;
use crate::request::{
    Adam, Criterion, Dual, JointLearning, LossChoice, Newton, NormalizeChoice, Solver, SolverChoice, TrainRequest,
};

/// The loss whose likelihood has the propensities in it.
pub(super) const PLUGIN: &str = "plugin-logistic";

/// The loss that alternating learning trains by.
pub(super) const ALTERNATING: &str = "unbiased-logistic";

/// A request that makes sense by itself; what follows from data is open.
pub(super) struct Plan {
    pub(super) loss: &'static dyn Loss,
    pub(super) solver: Solver,
    /// `None`: follows from the data.
    pub(super) decay: Option<f64>,
    /// `None`: follows from the data.
    pub(super) normalize: Option<Normalize>,
    pub(super) joint: Option<JointLearning>,
    /// From how many starts joint learning begins.
    pub(super) starts: usize,
    pub(super) search: Option<SearchPlan>,
    pub(super) scores: ScoresPlan,
}

/// What becomes of the scores that a loss leaves, and whether it is left open which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScoresPlan {
    /// They are the model's.
    AsTheyAre,
    /// They are calibrated on this share of the rows, held out.
    Calibrated(f64),
    /// The loss and the decay are chosen by calibrated scores on this share of the rows, held out.
    Chosen(f64),
    /// The decay of a correction is chosen in the same way, on this share of the rows, by the likelihood of what is observed; and the
    /// loss, if it is left open.
    Corrected(f64, bool),
}

/// Which settings are tried, and what decides.
#[derive(Clone)]
pub(super) struct SearchPlan {
    /// The settings; `None`: the one that training has anyway, of which only the number of epochs is searched.
    pub(super) settings: Option<Vec<Setting>>,
    pub(super) criterion: Option<Criterion>,
    /// Whether the grid is extended if the best is at its end: not if the request names the decays.
    pub(super) extends: bool,
    /// The share of rows that are held out; `None`: a validation set decides.
    pub(super) holdout: Option<f64>,
}

impl TrainRequest {
    /// Checks everything that can be checked without data: names, ranges, and which options go together.
    ///
    /// ```
    /// use unmissed::request::TrainRequest;
    /// assert!(TrainRequest::default().check().is_ok());
    /// let without_penalty = TrainRequest { decay: vec![0.0], ..TrainRequest::default() };
    /// let message = without_penalty.check().unwrap_err().to_string();
    /// assert!(message.starts_with("Newton's method needs an L2 penalty"));
    /// ```
    pub fn check(&self) -> Result<()> {
        Plan::new(self).map(drop)
    }
}

impl Plan {
    pub(super) fn new(request: &TrainRequest) -> Result<Plan> {
        let loss = losses::find(&loss_name(request))?;
        let solver = solver(request, loss)?;
        let decay = one("decay", &request.decay, request.tune)?;
        request.decay.iter().try_for_each(|decay| check_decay(*decay))?;
        if let Some(most) = request.clip
            && !(most.is_finite() && most >= 1.0)
        {
            return Err(Error::value("the clip is out of range").expected("a number of at least 1").found(digits(most)));
        }
        check_goes_with(loss, solver, decay, request.joint)?;
        check_evidence(request, loss)?;
        let scores = scores(request, loss, solver)?;
        let search = search(request, solver, scores)?;
        let normalize = match request.normalize {
            NormalizeChoice::Auto => None,
            NormalizeChoice::L2 => Some(Normalize::L2),
            NormalizeChoice::None => Some(Normalize::None),
        };
        if request.starts != 1 && (request.joint != Some(JointLearning::Plugin) || request.starts == 0) {
            return Err(Error::value("several starts are for joint learning by the likelihood")
                .expected("'plugin', and at least one")
                .found(request.starts.to_string()));
        }
        Ok(Plan { loss, solver, decay, normalize, joint: request.joint, starts: request.starts, search, scores })
    }
}

/// The loss that is named, or the one that corrects for what is known to be missing.
fn loss_name(request: &TrainRequest) -> String {
    let usual = match (&request.loss, request.joint) {
        (LossChoice::Named(name), _) => return name.clone(),
        (LossChoice::Auto, Some(JointLearning::Plugin)) => PLUGIN,
        (LossChoice::Auto, Some(JointLearning::Alternating { .. })) => ALTERNATING,
        (LossChoice::Auto, None) if request.propensity.is_some() => PLUGIN,
        (LossChoice::Auto, None) => "logistic",
    };
    usual.to_owned()
}

/// The solver that is named, or one that goes to the optimum wherever there is one; settings of another one are rejected.
fn solver(request: &TrainRequest, loss: &dyn Loss) -> Result<Solver> {
    let for_adam = request.joint == Some(JointLearning::Plugin) || (request.tune && Grid::is_for_adam(&request.grid)?);
    let adam = match request.solver {
        SolverChoice::Adam => true,
        SolverChoice::Newton | SolverChoice::Dual => false,
        SolverChoice::Auto => for_adam || !loss.nature().newton,
    };
    let dual = match request.solver {
        SolverChoice::Auto => !adam && loss.squared_hinge(1.0).is_some(),
        choice => choice == SolverChoice::Dual,
    };
    let unused = [
        (adam, request.tolerance.is_some(), "the tolerance is for solvers that reach the optimum"),
        (adam, request.max_steps.is_some(), "the number of steps is for solvers that reach the optimum"),
        (!adam, !request.learning_rate.is_empty(), "the learning rate is for Adam"),
        (!adam, request.batch_size.is_some(), "the batch size is for Adam"),
        (!adam, request.epochs.is_some(), "the number of epochs is for Adam"),
    ];
    if let Some((_, _, what)) = unused.iter().find(|(other, given, _)| *other && *given) {
        let chosen = if adam {
            "Adam"
        } else if dual {
            "the dual solver"
        } else {
            "Newton's method"
        };
        return Err(Error::value(*what).found(format!("training by {chosen}")).hint("name the solver: adam, newton or dual"));
    }
    let solver = if adam {
        let usual = Adam::default();
        let learning_rate = one("learning rate", &request.learning_rate, request.tune)?.unwrap_or(usual.learning_rate);
        let batch_size = request.batch_size.unwrap_or(usual.batch_size);
        let adam = Adam { learning_rate, batch_size, epochs: request.epochs.unwrap_or(usual.epochs) };
        if request.joint == Some(JointLearning::Plugin) { Solver::Joint(adam) } else { Solver::Adam(adam) }
    } else if dual {
        let usual = Dual::default();
        Solver::Dual(Dual {
            tolerance: request.tolerance.unwrap_or(usual.tolerance),
            max_passes: request.max_steps.unwrap_or(usual.max_passes),
        })
    } else {
        let usual = Newton::default();
        Solver::Newton(Newton {
            tolerance: request.tolerance.unwrap_or(usual.tolerance),
            max_steps: request.max_steps.unwrap_or(usual.max_steps),
        })
    };
    if request.joint == Some(JointLearning::Plugin) && !adam {
        return Err(Error::value("joint learning of propensities needs Adam")
            .found(format!("'{}'", request.solver))
            .hint("do not name a solver"));
    }
    solver.check()?;
    Ok(solver)
}

/// The value of something that may have several when settings are tried: then they belong to the search.
fn one(what: &str, values: &[f64], tune: bool) -> Result<Option<f64>> {
    match values {
        _ if tune => Ok(None),
        [_, _, ..] => Err(Error::value(format!("there are several values of the {what}"))
            .expected("one")
            .found(values.len().to_string())
            .hint("tuning tries them all")),
        _ => Ok(values.first().copied()),
    }
}

/// The solver that goes to the optimum of a convex loss, with default settings.
pub(super) fn to_optimum(loss: &dyn Loss) -> Solver {
    match loss.squared_hinge(1.0) {
        Some(_) => Solver::Dual(Dual::default()),
        None => Solver::Newton(Newton::default()),
    }
}

pub(super) fn check_decay(decay: f64) -> Result<()> {
    if decay.is_finite() && decay >= 0.0 {
        return Ok(());
    }
    Err(Error::value("the decay is out of range").expected("a number of at least 0").found(digits(decay)))
}

/// Evidence says what is missing: it takes no propensities beside it, and a controlled set a model without a correction.
fn check_evidence(request: &TrainRequest, loss: &dyn Loss) -> Result<()> {
    let of = |what: &str| Error::value(format!("{what} and other corrections cannot be combined"));
    let corrected = request.propensity.is_some() || request.joint.is_some();
    match (&request.controlled, &request.later) {
        (Some(_), Some(_)) => Err(of("a controlled set").found("later labels").hint("use one of them")),
        (Some(_), None) if corrected => Err(of("a controlled set").found("propensities or joint learning")),
        (Some(_), None) if loss.nature().corrects => Err(of("a controlled set").found(format!("the loss '{}'", loss.name()))),
        (None, Some(_)) if corrected => Err(of("later labels").found("propensities or joint learning")),
        _ => Ok(()),
    }
}

fn check_goes_with(loss: &dyn Loss, solver: Solver, decay: Option<f64>, joint: Option<JointLearning>) -> Result<()> {
    if matches!(joint, Some(JointLearning::Alternating { .. })) && loss.name() != ALTERNATING {
        return Err(Error::value("alternating learning works with one loss only")
            .expected(format!("'{ALTERNATING}'"))
            .found(format!("'{}'", loss.name())));
    }
    if matches!(solver, Solver::Joint(_)) && loss.name() != PLUGIN {
        return Err(Error::value("joint learning of propensities works with one loss only")
            .expected(format!("'{PLUGIN}'"))
            .found(format!("'{}'", loss.name())));
    }
    if matches!(solver, Solver::Newton(_)) && !loss.nature().newton {
        return Err(
            Error::value(format!("Newton's method cannot train by '{}', which has no optimum", loss.name())).hint("use Adam")
        );
    }
    if matches!(solver, Solver::Dual(_)) && loss.squared_hinge(1.0).is_none() {
        return Err(Error::value(format!("the dual solver cannot train by '{}'", loss.name()))
            .expected("a squared hinge that is convex")
            .hint("do not name a solver"));
    }
    if matches!(solver, Solver::Newton(_) | Solver::Dual(_)) && decay == Some(0.0) {
        let solver = if matches!(solver, Solver::Dual(_)) { "the dual solver" } else { "Newton's method" };
        return Err(Error::value(format!("{solver} needs an L2 penalty: without it there may be no optimum"))
            .expected("a decay above 0")
            .found("0")
            .hint("give a decay above 0, or train with Adam, which stops early instead"));
    }
    Ok(())
}

/// Whether scores are calibrated, and the loss chosen: unless anything is asked for that makes training another than plain one.
fn scores(request: &TrainRequest, loss: &dyn Loss, solver: Solver) -> Result<ScoresPlan> {
    let TrainRequest { calibrate, holdout, normalize, memory, seed, .. } = *request;
    let open = TrainRequest { calibrate, holdout, normalize, memory, seed, ..TrainRequest::default() };
    if *request == open && calibrate != Some(false) && holdout > 0.0 {
        return Ok(ScoresPlan::Chosen(holdout));
    }
    if chooses_decay(request, loss, solver) {
        let open = request.loss == LossChoice::Auto && request.solver == SolverChoice::Auto;
        let open = open && request.tolerance.is_none() && request.max_steps.is_none();
        return Ok(ScoresPlan::Corrected(holdout, open));
    }
    if request.calibrate != Some(true) {
        return Ok(ScoresPlan::AsTheyAre);
    }
    let wrong = [
        (request.holdout == 0.0, "a holdout of 0"),
        (request.tune || request.validation.is_some() || request.criterion.is_some(), "a search for settings"),
        (request.weights.is_some(), "weights of labels, which calibration would undo"),
        (loss.nature().corrects || request.joint.is_some(), "a loss that corrects for missing labels"),
        (solver.adam().is_some(), "Adam"),
    ];
    match wrong.iter().find(|(is, _)| *is) {
        None => Ok(ScoresPlan::Calibrated(request.holdout)),
        Some((_, what)) => Err(Error::value("scores are calibrated only for plain losses, to observed labels of held-out rows")
            .found(*what)
            .hint("leave the calibration out")),
    }
}

/// What is searched: the settings of a grid, or the best epoch of Adam.
fn search(request: &TrainRequest, solver: Solver, scores: ScoresPlan) -> Result<Option<SearchPlan>> {
    let default = TrainRequest::default();
    let asks = request.tune || request.validation.is_some() || request.criterion.is_some();
    if !request.tune && request.grid != default.grid {
        return Err(Error::value("a grid of settings is for tuning").found(format!("'{}'", request.grid)).hint("tune as well"));
    }
    if request.holdout == 0.0 && request.validation.is_none() {
        return match asks {
            true => Err(Error::value("settings cannot be chosen without held-out rows")
                .found("a holdout of 0")
                .hint("hold out some rows, or pass a validation set")),
            false => Ok(None),
        };
    }
    if !(request.holdout >= 0.0 && request.holdout < 1.0) {
        return Err(Error::value("the share of rows to hold out is out of range")
            .expected("a number of at least 0 and below 1")
            .found(digits(request.holdout)));
    }
    if !request.tune && solver.adam().is_none() {
        let held_out = scores == ScoresPlan::AsTheyAre && request.holdout != default.holdout;
        return match asks || held_out {
            true => Err(Error::value("with one setting and a solver that reaches the optimum, there is nothing to choose")
                .hint("tuning tries several")),
            false => Ok(None),
        };
    }
    let settings = request.tune.then(|| settings(request, solver)).transpose()?;
    let holdout = request.validation.is_none().then_some(request.holdout);
    Ok(Some(SearchPlan { settings, criterion: request.criterion.clone(), extends: request.decay.is_empty(), holdout }))
}

/// Whether the decay of a correction by the likelihood is chosen on held-out rows, as that of plain training is: unless anything is
/// asked for that decides it, or that the scores would not go with.
fn chooses_decay(request: &TrainRequest, loss: &dyn Loss, solver: Solver) -> bool {
    let searches = request.tune || request.validation.is_some() || request.criterion.is_some();
    let open = request.decay.is_empty() && request.weights.is_none() && request.calibrate.is_none() && request.holdout > 0.0;
    loss.name() == PLUGIN && request.propensity.is_some() && solver.adam().is_none() && open && !searches
}

/// The settings of the grid, with the values of the request where it has some.
fn settings(request: &TrainRequest, solver: Solver) -> Result<Vec<Setting>> {
    let mut grid = Grid::named(&request.grid, solver)?;
    if !request.learning_rate.is_empty() {
        grid.learning_rates.clone_from(&request.learning_rate);
    }
    if !request.decay.is_empty() {
        grid.decays.clone_from(&request.decay);
    }
    let settings = grid.settings(solver);
    if settings.is_empty() {
        return Err(Error::value("there are no settings to try").expected("learning rates and decays that the solver takes"));
    }
    for setting in &settings {
        setting.solver(solver).check()?;
        check_decay(setting.decay)?;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::TrainPropensity;

    fn plan(change: impl FnOnce(&mut TrainRequest)) -> Result<Plan> {
        let mut request = TrainRequest::default();
        change(&mut request);
        Plan::new(&request)
    }

    #[test]
    fn without_propensities_and_evidence_training_is_plain() {
        let loss = |change: fn(&mut TrainRequest)| plan(change).unwrap().loss.name();
        assert_eq!(loss(|_| ()), "logistic");
        assert_eq!(loss(|request| request.propensity = Some(TrainPropensity::Given)), "plugin-logistic");
        assert_eq!(loss(|request| request.joint = "plugin".parse().ok()), "plugin-logistic");
        assert_eq!(loss(|request| request.joint = "alternating".parse().ok()), "unbiased-logistic");
        let named = |request: &mut TrainRequest| {
            request.loss = "logistic".into();
            request.propensity = Some(TrainPropensity::Given);
        };
        assert_eq!(plan(named).unwrap().loss.name(), "logistic");
    }

    #[test]
    fn the_solver_follows_the_loss_unless_it_is_named() {
        let solver = |change: fn(&mut TrainRequest)| plan(change).unwrap().solver;
        assert_eq!(solver(|request| request.loss = "squared-hinge".into()), Solver::Dual(Dual::default()));
        let named = |request: &mut TrainRequest| (request.loss, request.solver) = ("squared-hinge".into(), SolverChoice::Newton);
        assert_eq!(solver(named), Solver::Newton(Newton::default()));
        assert!(plan(|request| request.solver = SolverChoice::Dual).is_err());
        assert_eq!(solver(|_| ()), Solver::Newton(Newton::default()));
        assert_eq!(solver(|request| request.loss = "plugin-logistic".into()), Solver::Newton(Newton::default()));
        assert_eq!(solver(|request| request.loss = "unbiased-squared-hinge".into()), Solver::Adam(Adam::default()));
        assert_eq!(solver(|request| request.joint = "plugin".parse().ok()), Solver::Joint(Adam::default()));
        let paper = |request: &mut TrainRequest| (request.tune, request.grid) = (true, "paper".into());
        assert_eq!(solver(paper), Solver::Adam(Adam::default()));
    }

    #[test]
    fn a_decay_of_zero_is_for_adam() {
        assert!(plan(|request| request.decay = vec![0.0]).is_err());
        let by_adam = plan(|request| (request.decay, request.solver) = (vec![0.0], SolverChoice::Adam));
        assert_eq!(by_adam.unwrap().decay, Some(0.0));
        // A grid may hold it; Newton's method then leaves it out.
        let tuned = plan(|request| (request.decay, request.tune) = (vec![0.0, 1e-3], true)).unwrap();
        assert_eq!(tuned.search.unwrap().settings.unwrap(), [Setting { learning_rate: None, decay: 1e-3 }]);
    }

    #[test]
    fn only_adam_searches_for_its_epochs_by_default() {
        assert!(plan(|_| ()).unwrap().search.is_none());
        let adam = plan(|request| request.solver = SolverChoice::Adam).unwrap().search.unwrap();
        assert!(adam.settings.is_none() && adam.holdout == Some(0.1));
        let all_epochs = plan(|request| (request.solver, request.holdout) = (SolverChoice::Adam, 0.0)).unwrap();
        assert!(all_epochs.search.is_none());
    }
}
