"""Linear one-vs-rest models as scikit-learn estimators."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _inputs
from ._checks import array, file, number, optional, text, whole
from ._choices import rate_of
from ._data import Data
from ._deprecated import renamed
from ._inputs import Array, Matrix
from ._propensity import Propensities, as_propensities, of_arrays, propensities_of_counts
from ._registry import listed
from ._work import working

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_random_state, column_or_1d, validate_data

    from ._scoring import Scoring
except ImportError as error:
    raise ImportError("models need scikit-learn 1.6 or later: pip install 'unmissed[models]'") from error

if TYPE_CHECKING:
    from .types import FeaturesLike, LabelsLike, NumbersLike, Path, PropensityLike, RateLike, TargetsLike, WeightsLike


def warn_assumed(curve: str | None, stacklevel: int = 4) -> None:
    """Says that nobody measured propensities that come from a curve."""
    if curve:
        measured = "unless its constants were fitted to a controlled set, nothing about missing labels was measured on these data"
        warnings.warn(f"the propensities come from a curve ({curve}): {measured}", stacklevel=stacklevel)


def warn_adjusted(shrunken: bool, raised: int, model_labels: int, stacklevel: int = 4) -> None:
    """Says how the propensities that training used differ from those that were given."""
    if raised:
        how = "are observed more often than their propensity allows, and it was raised"
        warnings.warn(f"{raised} of {model_labels} labels {how}", stacklevel=stacklevel)
    if shrunken:
        how = "were shrunken towards their trend in label frequency: estimate_propensity('shrunken', ...) and fit(..., controlled=) avoid it"
        warnings.warn(f"the propensities are mostly noise, judged by their own intervals, and {how}", stacklevel=stacklevel)


@listed("losses")
class OneVsRest(Scoring, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One linear scorer for each label: plain, or corrected for missing labels with propensities.

    The score of label j is ``z_j = b_j + w_j x``, its probability ``1 / (1 + exp(-z_j))``. With propensities, or evidence about
    missing labels, it is the probability of relevance, observed or not.

    Parameters
    ----------
    loss : str, default "auto"
        The loss to minimise. ``"auto"`` is ``"plugin-logistic"`` with propensities, the likelihood of the observed labels, or
        ``"squared-hinge"`` with scores that are divided by the propensities. Without propensities and other options that change
        training, it is ``"squared-hinge"`` or ``"logistic"``. What does better on held-out rows is taken (see ``choice_``). With
        options that leave no choice, it is ``"plugin-logistic"`` or ``"logistic"``.

        {losses}
    propensity : str, Propensities, array-like or None, default None
        The propensities of labels: a model that depends on training counts, such as ``"jpv"``, or values. Constants that were fitted to other
        data are rarely right; see `estimate_propensity`. None: labels are assumed to be complete.
    tune : bool, default False
        Whether to try several settings on held-out rows and train on all rows with the best.
    joint : {None, "plugin", "alternating"}, default None
        How propensities are learned from the observed labels: not at all, together with the weights by their joint likelihood (the
        loss is then ``"plugin-logistic"``), or in turns with them on two halves of the rows, which is for reproducing the paper only: every
        propensity is a fixed point. They start from `propensity`.
    starts : int, default 1
        With ``joint="plugin"``: number of starts; the best is kept for each label.
    raise_propensities : bool, default True
        Whether propensities are raised to the lower bound that the data imply: the rate at which a label is observed, over all rows
        and on the rows with its highest scores.
    solver : {"auto", "newton", "dual", "adam"}, default "auto"
        Newton's method reaches the optimum of a loss that has one, the dual solver does so faster for squared hinges; Adam takes
        small steps on any loss. ``"auto"`` is the fastest solver that reaches the optimum, if there is one.
    decay : float, optional
        Strength of the L2 penalty; unless given, it follows from the size of rows for Newton's method, and is 0 for Adam.
    clip : float, optional
        Inverse propensities are clipped at this value: less variance, some bias.
    weights : str or array-like, optional
        A factor of the loss for each label, or ``"uniform"``, ``"inverse"``, ``"inverse-complete"`` (with propensities), ``"log"``,
        ``"effective"`` from training counts.
    normalize : bool, optional
        Whether rows are divided by their Euclidean norm; unless given, the library decides by the data.
    tol : float, optional
        Newton's method: the share of its first value to which the gradient must shrink.
    max_iter : int, optional
        Newton's method: maximum number of steps.
    learning_rate : float, optional
        Adam: the learning rate.
    batch_size : int, optional
        Adam: rows per batch.
    epochs : int, optional
        Adam: maximum number of epochs.
    grid : str, default "default"
        The settings to try: ``"default"``, or ``"paper"`` for Adam. A given decay or learning rate is kept.
    criterion : str, optional
        Criterion on held-out rows: ``"loss"`` unless given, or a metric as in ``"precision@1:unbiased"``.
    holdout : float, default 0.1
        The share of rows that is held out to choose settings and, for Adam, the best number of epochs. 0: Adam runs all epochs.
    calibrate : bool, optional
        Whether scores are calibrated to log-odds on held-out rows, by a scale and a shift that depend on how often a label was
        observed. By default, if training chooses the decay itself. False: ``loss="auto"`` is ``"logistic"``.
    prune : float, optional
        Weights of at most this size are dropped after training.
    half : bool, default False
        Whether files of the model (`save`) have weights of half precision: smaller files, and scores barely change.
    random_state : int, RandomState or None, default 0
        Seed of all random choices. The same int gives the same model, on any number of threads.
    n_jobs : int, optional
        Number of threads (-1: one per core). Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The labels: their numbers for label matrices, the values of `y` otherwise.
    coef_ : numpy.ndarray of shape (n_labels, n_features)
        Weights; computed on access.
    intercept_ : numpy.ndarray of shape (n_labels,)
        The bias of each label.
    propensities_ : Propensities
        The propensities that the model was corrected with (raised ones are marked) or that it learned; the attribute does not exist
        if training did not use any.
    stack_ : dict or None
        With a controlled set: the models that were compared on it, and whether the stack was used.
    tuning_ : list of dict or None
        All settings that were tried, with their losses and metrics.
    choice_ : dict or None
        If the loss was chosen automatically: the losses and decays that were tried, the numbers of held-out rows, labels and
        positives, the ranking loss of each, and the precision of the best of each loss.
    label_counts_ : numpy.ndarray of shape (n_labels,)
        Training positives of each label.
    n_rows_ : int
        Training rows.
    n_iter_ : int
        The largest number of Newton steps of any label, or the epochs of Adam.
    n_features_in_ : int
        Features.

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.balls(train_rows=500, test_rows=100, labels=10, random_state=1)
    >>> model = um.OneVsRest().fit(data.train.X, data.train.y)
    >>> model.predict_top_k(data.test.X, k=3).shape
    (100, 10)
    >>> um.ndcg_min(data.test.y, model.decision_function(data.test.X), k=3) > 0.25
    True
    """

    @renamed(tolerance="tol", max_steps="max_iter", threads="n_jobs", progress="verbose")
    def __init__(
        self,
        loss: str = "auto",
        propensity: PropensityLike | None = None,
        *,
        tune: bool = False,
        joint: str | None = None,
        starts: int = 1,
        raise_propensities: bool = True,
        solver: str = "auto",
        decay: float | None = None,
        clip: float | None = None,
        weights: WeightsLike | None = None,
        normalize: bool | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        grid: str = "default",
        criterion: str | None = None,
        holdout: float = 0.1,
        calibrate: bool | None = None,
        prune: float | None = None,
        half: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.loss = loss
        self.propensity = propensity
        self.tune = tune
        self.joint = joint
        self.starts = starts
        self.raise_propensities = raise_propensities
        self.solver = solver
        self.decay = decay
        self.clip = clip
        self.weights = weights
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.grid = grid
        self.criterion = criterion
        self.holdout = holdout
        self.calibrate = calibrate
        self.prune = prune
        self.half = half
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: FeaturesLike,
        y: TargetsLike | None = None,
        *,
        controlled: Data | tuple[FeaturesLike, LabelsLike] | None = None,
        rate: RateLike | None = None,
        shown: LabelsLike | None = None,
        later: LabelsLike | None = None,
        later_rows: NumbersLike | None = None,
        validation: Data | tuple[FeaturesLike, LabelsLike] | None = None,
        validation_rate: RateLike | None = None,
        validation_shown: LabelsLike | None = None,
    ) -> OneVsRest:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data
            Features; a `Data` includes its labels.
        y : array-like or sparse matrix of shape (n_rows, n_labels), or array-like of shape (n_rows,)
            Labels as 0 and 1, or one class for each row.
        controlled : Data or (features, labels), optional
            A bias-controlled set: its labels are the relevant ones among those that were shown. An uncorrected model and one by
            joint learning are combined on it if that is an improvement; see ``stack_``.
        rate : str, float, tuple or array-like, optional
            The rate at which labels of the controlled set were shown: ``"16/300"``, or one number for each label.
        shown : labels, optional
            The pairs of the controlled set that were shown, relevant or not, if they are known.
        later : labels, optional
            A later snapshot of the training rows, in the same order: its labels replace the observed ones.
        later_rows : array-like of int, optional
            The rows that have later labels, when not all do. The others are corrected by row-dependent propensities.
        validation : Data or (features, labels), optional
            With ``tune=True``: the rows that decide between settings, instead of rows that are held out of the training data. Their labels
            are complete, or those of a controlled set.
        validation_rate : str, float, tuple or array-like, optional
            The rate at which labels of `validation` were shown, when it is a controlled set.
        validation_shown : labels, optional
            The pairs of `validation` that were shown, relevant or not, when it is a controlled set and they are known.

        Returns
        -------
        OneVsRest
            The model itself.

        Notes
        -----
        There is no ``sample_weight``: the choice of a loss and a decay on held-out rows, and calibration, assume that rows count
        equally, as do all intervals, so weights of rows would have to enter each of them. Repeating rows is not the same, since copies of
        a row can end up on both sides of such a choice. Labels are weighted by `weights`.
        """
        if isinstance(X, Data):
            data = X
            X, y = data.X, data.y if y is None else y
        rows, labels = self._training_data(X, y)
        given = None if self.propensity is None else _of_matrix(self.propensity, labels)
        if given is not None and isinstance(self.weights, str) and (warning := _core.corrects_twice(self.weights)):
            warnings.warn(warning, UserWarning, stacklevel=2)
        settings = self._settings(given) | {
            "controlled": _controlled(controlled, rate, shown, labels.columns),
            "validation": _validation(validation, validation_rate, validation_shown, labels.columns),
            "later": None if later is None else _inputs.labels(later, "later", labels.columns),
            "later_rows": None if later_rows is None else _row_set(later_rows, labels.rows),
        }
        with working(self.n_jobs, self.verbose) as how:
            model, found = _core.train(rows, labels, settings, how)
        self._take(model)
        self.n_iter_ = found["iterations"]
        used = None if found["propensities"] is None else of_arrays(found["propensities"])
        self._keep(given if given is not None and used is not None and np.array_equal(given.values, used.values) else used)
        self._warn(found)
        return self

    def _settings(self, given: Propensities | None) -> dict[str, Any]:
        """What the native part is asked for."""
        return {
            # That is what learning along with the weights is.
            "loss": "plugin-logistic" if self.joint == "plugin" else text(self.loss, "loss"),
            "propensities": None if given is None else given._arrays(),
            "solver": text(self.solver, "solver"),
            "tolerance": optional(number, self.tol, "tol"),
            "steps": optional(whole, self.max_iter, "max_iter"),
            "learning_rate": optional(number, self.learning_rate, "learning_rate"),
            "batch_size": optional(whole, self.batch_size, "batch_size"),
            "epochs": optional(whole, self.epochs, "epochs"),
            "decay": optional(number, self.decay, "decay"),
            "clip": optional(number, self.clip, "clip"),
            "weights": self.weights if isinstance(self.weights, str) else optional(array, self.weights, "weights"),
            "normalize": None if self.normalize is None else bool(self.normalize),
            "tune": bool(self.tune),
            "grid": text(self.grid, "grid"),
            "criterion": optional(text, self.criterion, "criterion"),
            "holdout": number(self.holdout, "holdout"),
            "calibrate": None if self.calibrate is None else bool(self.calibrate),
            "joint": optional(text, self.joint, "joint"),
            "starts": whole(self.starts, "starts"),
            "raise_propensities": bool(self.raise_propensities),
            "controlled": None,
            "validation": None,
            "later": None,
            "later_rows": None,
            "prune": optional(number, self.prune, "prune"),
            "half": bool(self.half),
            "seed": _seed(self.random_state),
        }

    def _warn(self, found: dict[str, Any]) -> None:
        """What a user of the model should know about its training."""
        if found["uncorrected"]:
            missing = "had no propensities to correct with, so nothing was taken to be missing: pass propensity="
            warnings.warn(f"'{self.loss}' {missing}", stacklevel=3)
        if found["unused"]:
            unused = "does not use propensities: loss='auto' does, or divide by them in predict_top_k"
            warnings.warn(f"'{self.loss}' {unused}", stacklevel=3)
        warn_assumed(found["curve"])
        warn_adjusted(found["shrunken"], found["raised"], len(self.classes_))
        if found["unconverged"]:
            where = f"{found['unconverged']} of {len(self.classes_)} labels"
            advice = "increase max_iter, tol or decay"
            warnings.warn(f"Newton's method did not converge on {where}: {advice}", ConvergenceWarning, stacklevel=3)

    def _keep(self, used: Propensities | None) -> None:
        """Propensities, when training used any; those of an earlier fit go."""
        if used is not None:
            self.propensities_ = used
        elif hasattr(self, "propensities_"):
            del self.propensities_

    def _take(self, model: _core.Linear) -> str:
        """Keeps a model; gives the loss that it was trained by."""
        self.model_ = model
        self.label_counts_ = model.label_counts
        about = json.loads(model.about)
        self.n_rows_ = about["rows"]
        outcome = about["settings"] or {}
        self.tuning_, self.stack_, self.choice_ = outcome.get("tuning"), outcome.get("stack"), outcome.get("choice")
        return str(about["loss"])

    def _training_data(self, X: Any, y: Any) -> tuple[Matrix | Array, Matrix]:
        """Features and labels; remembers what kind of target it was."""
        if y is None:
            raise ValueError("OneVsRest requires y to be passed, but the target y is None")
        if _inputs.is_sparse(y):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
            self.kind_, self.classes_ = "sparse", np.arange(y.shape[1])
            labels = _inputs.labels(y, "y")
        else:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=True)
            check_classification_targets(y)
            if type_of_target(y) == "multilabel-indicator":
                self.kind_, self.classes_ = "labels", np.arange(y.shape[1])
                labels = _inputs.labels(np.asarray(y), "y")
            else:
                if np.ndim(y) == 2 and y.shape[1] > 1:
                    raise ValueError("y has several classes in a column: expected labels as 0 and 1")
                y = column_or_1d(y, warn=True)
                self.classes_, places = np.unique(y, return_inverse=True)
                if len(self.classes_) < 2:
                    raise ValueError(f"y has only one class: expected at least two, found {self.classes_[0]!r}")
                self.kind_ = "classes"
                labels = Matrix(len(self.classes_), np.arange(len(y) + 1), _inputs._integers(places), None)
        if labels.rows != X.shape[0]:
            raise ValueError(f"X and y have different numbers of rows: {X.shape[0]} and {labels.rows}")
        return _inputs.features(X, "X"), labels

    @classmethod
    def load(cls, path: Path) -> OneVsRest:
        """Read a model from a file, written by Python or by the command line. Its labels are numbers."""
        with working() as how:
            model = _core.read_model(file(path), how)
        about = json.loads(model.about)
        loaded = cls(about["loss"], about["propensity"], normalize=model.normalize, random_state=about["seed"])
        loaded._take(model)
        loaded.kind_, loaded.classes_, loaded.n_features_in_ = "labels", np.arange(model.labels), model.features
        if about["propensity"] is not None and loaded.label_counts_ is not None and loaded.n_rows_ is not None:
            try:
                loaded.propensities_ = propensities_of_counts(about["propensity"], loaded.n_rows_, loaded.label_counts_)
            except ValueError:
                # Estimated from evidence that the file does not hold.
                pass
        return loaded


def _of_matrix(propensity: PropensityLike, labels: Matrix) -> Propensities:
    if not isinstance(propensity, str):
        return as_propensities(propensity, None, None)
    counts = np.bincount(labels.indices, minlength=labels.columns)
    return propensities_of_counts(propensity, labels.rows, counts)


def _controlled(controlled: Any, rate: Any, shown: Any, columns: int) -> tuple[Matrix | Array, Matrix, Matrix | None, float | Array] | None:
    """Features, labels, shown pairs and rate of a controlled set."""
    if controlled is None:
        if rate is not None or shown is not None:
            raise ValueError("rate= and shown= belong to a controlled set: pass it as controlled=")
        return None
    if rate is None:
        raise ValueError("a controlled set needs the rate at which its labels were shown: pass rate=")
    pairs = None if shown is None else _inputs.labels(shown, "shown", columns)
    return *_rows_of(controlled, "controlled", columns), pairs, rate_of(rate)


def _validation(validation: Any, rate: Any, shown: Any, columns: int) -> tuple[Matrix | Array, Matrix, Matrix | None, float | Array | None] | None:
    """Features and labels of the rows that decide; of a controlled set also the shown pairs and the rate."""
    if validation is None:
        if rate is not None or shown is not None:
            raise ValueError("validation_rate= and validation_shown= belong to rows that decide: pass them as validation=")
        return None
    if shown is not None and rate is None:
        raise ValueError("validation_shown= belongs to a controlled set: pass its rate as validation_rate=")
    pairs = None if shown is None else _inputs.labels(shown, "validation_shown", columns)
    return *_rows_of(validation, "validation", columns), pairs, rate_of(rate)


def _rows_of(given: Any, what: str, columns: int) -> tuple[Matrix | Array, Matrix]:
    """Features and labels of rows that come beside the training data."""
    if isinstance(given, Data):
        X, y = given.X, given.y
    elif isinstance(given, tuple) and len(given) == 2:
        X, y = given
    else:
        raise ValueError(f"{what} has no features: expected Data or (features, labels), found {type(given).__name__}")
    return _inputs.features(X, what), _inputs.labels(y, what, columns)


def _row_set(rows: Any, count: int) -> list[bool]:
    """Whether each row is among those that are named."""
    named = [False] * count
    for row in np.ravel(np.asarray(rows)).tolist():
        named[whole(row, "later_rows", most=count - 1)] = True
    return named


def _seed(random_state: int | np.random.RandomState | None) -> int:
    if isinstance(random_state, (int, np.integer)):
        return whole(random_state, "random_state")
    return int(check_random_state(random_state).randint(2**31 - 1))
