"""Models on trees over labels, for very many of them, as scikit-learn estimators."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _inputs
from ._annotate import judged_of
from ._checks import array, file, number, optional, text, whole
from ._data import Data, to_csr
from ._ignored import ignored_pairs
from ._inputs import Array, Matrix
from ._models import _controlled, _of_matrix, _rows_of, _seed, warn_adjusted, warn_assumed
from ._optimize import lines_of
from ._propensity import as_propensities, propensities_of_counts
from ._registry import listed
from ._work import working

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("models need scikit-learn 1.6 or later: pip install 'unmissed[models]'") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._annotate import JudgedPairs
    from ._optimize import OptimizedPredictions
    from .types import FeaturesLike, IgnoreLike, LabelsLike, NumbersLike, Path, PropensityLike, RateLike


@listed("trees")
class LabelTree(BaseEstimator):  # type: ignore[misc]
    """Classifiers on the nodes of trees over labels: minutes for hundreds of thousands of labels.

    Each node says for each of its children how probable relevant labels below it are, given that there are some below the node. The
    probability of a label is the product along its path, and of several trees the mean of theirs.

    Parameters
    ----------
    tree : str, default "kmeans:branch=64,leaf=100"
        How labels are divided. With ``branch`` and ``leaf``: the most children of a node above nodes, and above labels.

        {trees}
    propensity : str, Propensities, array-like or None, default None
        The propensities of labels: a model that depends on training counts, such as ``"jpv"``, or values. None: labels are assumed to be complete.
    trees : int, default 1
        Number of trees.
    correction : {"plugin", "count"}, default "plugin"
        What propensities are for. ``"plugin"``: trees are trained on the observed labels, and probabilities divided by propensities
        (and then at most 1), which is right however labels go missing together. ``"count"``: an observed label counts as much as its
        inverse propensity; right for ranks, but scores are no probabilities.
    clip : float, optional
        Inverse propensities above this count as this.
    cost : float, default 12.0
        What the loss of a row counts against the penalty of a node's weights, as the C of support vector machines.
    passes : int, default 10
        Passes of the solver over the rows of a node.
    tol : float, default 0.01
        A row is left out of a pass when none of its probabilities would change by more than this.
    prune : float, optional
        Weights of at most this size are dropped; by default 0.4, and 0.55 from 20 000 labels on, where models are large.
    calibrate : bool, default True
        Whether logits of children with many rows and with few are made comparable on held-out rows, which takes another tree.
    normalize : bool, optional
        Whether rows are divided by their Euclidean norm; unless given, the library decides by the data.
    random_state : int, RandomState or None, default 0
        Seed of all random choices. The same int gives the same model, on any number of threads.
    n_jobs : int, optional
        Number of threads (-1: one per core). Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The labels: their numbers.
    label_counts_ : numpy.ndarray of shape (n_labels,)
        Training positives of each label.
    n_rows_ : int
        Training rows.
    n_features_in_ : int
        Features.
    summary_ : dict
        Sizes of the trees and of their weights.
    recalibration_ : dict or None
        With a controlled set or judged pairs: what was compared on them, and whether probabilities are recalibrated (``taken``).
    estimated_size_ : int or None
        Trained into a file: the bytes that were estimated for it after the first parts, which `max_size` is compared with.

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.balls(train_rows=500, test_rows=100, labels=10, random_state=1)
    >>> model = um.LabelTree("kmeans:branch=4,leaf=3").fit(data.train)
    >>> model.predict_top_k(data.test.X, k=3).shape
    (100, 10)
    >>> model.score(data.test.X[:2], [[4, 1], [7]]).nnz
    3
    """

    def __init__(
        self,
        tree: str = "kmeans:branch=64,leaf=100",
        propensity: PropensityLike | None = None,
        *,
        trees: int = 1,
        correction: str = "plugin",
        clip: float | None = None,
        cost: float = 12.0,
        passes: int = 10,
        tol: float = 0.01,
        prune: float | None = None,
        calibrate: bool = True,
        normalize: bool | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.tree = tree
        self.propensity = propensity
        self.trees = trees
        self.correction = correction
        self.clip = clip
        self.cost = cost
        self.passes = passes
        self.tol = tol
        self.prune = prune
        self.calibrate = calibrate
        self.normalize = normalize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        X: FeaturesLike,
        y: LabelsLike | None = None,
        *,
        controlled: Data | tuple[FeaturesLike, LabelsLike] | None = None,
        rate: RateLike | None = None,
        shown: LabelsLike | None = None,
        judged: JudgedPairs | Path | Sequence[Path] | None = None,
        judged_rows: Data | tuple[FeaturesLike, LabelsLike] | None = None,
        later: LabelsLike | None = None,
        path: Path | None = None,
        resume: bool = False,
        max_size: str | int | None = None,
        memory: str | int | None = None,
    ) -> LabelTree:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data
            Features; a `Data` includes its labels.
        y : labels
            A matrix of 0 and 1, dense or sparse, or a list of the labels of each row.
        controlled : Data or (features, labels), optional
            A bias-controlled set: its labels are the relevant ones among those that were shown. Probabilities are recalibrated on it if
            that is an improvement; see ``recalibration_``.
        rate : str, float, tuple or array-like, optional
            The rate at which labels of the controlled set were shown: ``"16/300"``, or one number for each label.
        shown : labels, optional
            The pairs of the controlled set that were shown, relevant or not, if they are known.
        judged : JudgedPairs, path or list of paths, optional
            Judged pairs of rows that are not trained on, as a controlled set.
        judged_rows : Data or (features, labels), optional
            Features and observed labels of the rows of `judged`.
        later : labels, optional
            A later snapshot of all training rows, in the same order: its labels replace the observed ones. Later labels of some rows
            are for `OneVsRest`, which corrects the others by row-dependent propensities.
        path : path, optional
            A file to train the model into, as the command line does: finished parts of the trees are kept beside it until all are
            there, and only those in work are in memory.
        resume : bool, default False
            With `path`: continue a run that was interrupted. The model is the same as without an interruption.
        max_size : str or int, optional
            With `path`: do not make a file that is larger than this, ``"2GB"`` or a number of bytes. About how large it becomes is known after the
            first parts, and exactly before it is written; what is finished is kept for `resume`.
        memory : str or int, optional
            The most bytes that nodes in work may take on top of the data: ``"4GB"``, or a number.

        Returns
        -------
        LabelTree
            The model itself.
        """
        if isinstance(X, Data):
            data = X
            X, y = data.X, data.y if y is None else y
        if y is None:
            raise ValueError("LabelTree requires y to be passed, but the target y is None")
        rows: Any = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
        labels = _inputs.labels(y, "y")
        if labels.rows != rows.shape[0]:
            raise ValueError(f"X and y have different numbers of rows: {rows.shape[0]} and {labels.rows}")
        given = None if self.propensity is None else _of_matrix(self.propensity, labels)
        settings = {
            "tree": text(self.tree, "tree"),
            "trees": whole(self.trees, "trees"),
            "propensities": None if given is None else given._arrays(),
            "correction": text(self.correction, "correction"),
            "clip": optional(number, self.clip, "clip"),
            "cost": number(self.cost, "cost"),
            "passes": whole(self.passes, "passes"),
            "tolerance": number(self.tol, "tol"),
            "prune": optional(number, self.prune, "prune"),
            "calibrate": bool(self.calibrate),
            "normalize": None if self.normalize is None else bool(self.normalize),
            "seed": _seed(self.random_state),
            "controlled": _controlled(controlled, rate, shown, labels.columns),
            "judged": _judged(judged, judged_rows, labels.columns),
            "later": None if later is None else _inputs.labels(later, "later", labels.columns),
            "memory": _size(memory, "memory"),
            "output": None if path is None else (file(path), bool(resume), _size(max_size, "max_size")),
        }
        if path is None and (resume or max_size is not None):
            raise ValueError("resume= and max_size= are for a model that is trained into a file: pass it as path=")
        with working(self.n_jobs, self.verbose) as how:
            self._take(_core.train_tree(_inputs.features(rows, "X"), labels, settings, how))
        adjusted = json.loads(self.model_.about).get("adjusted") or {"shrunken": False, "raised": 0}
        warn_assumed(self.model_.curve, stacklevel=3)
        warn_adjusted(adjusted["shrunken"], adjusted["raised"], len(self.classes_), stacklevel=3)
        return self

    def _take(self, model: _core.Trees) -> None:
        self.model_ = model
        self.label_counts_: Any = model.label_counts
        self.n_rows_ = json.loads(model.about)["rows"]
        self.recalibration_ = json.loads(model.about).get("recalibration")
        self.estimated_size_ = model.estimated_size
        self.summary_ = json.loads(model.summary)
        self.classes_ = np.arange(model.labels)

    def _rows(self, X: FeaturesLike) -> Matrix | Array:
        check_is_fitted(self, "model_")
        if isinstance(X, Data):
            X = X.X
        return _inputs.features(validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float32), "X")

    def predict_top_k(
        self,
        X: FeaturesLike,
        k: int = 5,
        *,
        propensity: PropensityLike | None = None,
        weights: NumbersLike | None = None,
        weighting: OptimizedPredictions | tuple[NumbersLike, NumbersLike] | None = None,
        at_most: bool = False,
        threshold: float | None = None,
        ignore: IgnoreLike | None = None,
        beam: int | None = None,
        max_nodes: int | None = None,
    ) -> Any:
        """The best labels of each row: those that scoring every label would give, unless `beam` or `max_nodes` say otherwise.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data
        k : int, default 5
            Maximum number of labels per row.
        propensity : str, Propensities or array-like, optional
            Divides probabilities: the correction for a model that was trained on observed labels and does not divide by itself.
        weights : array-like, optional
            Multiplies scores, one number for each label.
        weighting : OptimizedPredictions or (a, b), optional
            Ranks labels by ``a * p + b`` instead, with the lines that `optimize_predictions` found on other rows; labels are given with their
            probabilities. Exact as well.
        at_most : bool, default False
            With `weighting`: only labels that are worth something, ``a * p + b > 0``.
        threshold : float, optional
            Labels with a lower probability are left out.
        ignore : str, path, array of shape (n_pairs, 2), sparse matrix or list of lists, optional
            Pairs that may not be predicted, as in `evaluate`.
        beam : int, optional
            Only this many nodes of each level are opened: faster, and approximate, as a warning says once. The scores are those of all
            trees, but others of the row's labels may have higher ones.
        max_nodes : int, optional
            The most nodes that are opened per row and tree; a warning says on how many rows that ended the search.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_rows, n_labels)
            Scores; in each row the best label comes first.
        """
        rows = self._rows(X)
        if isinstance(propensity, str):
            propensity = propensities_of_counts(propensity, self.n_rows_, self.label_counts_)
        ranking = {
            "k": whole(k, "k", 1),
            "propensity": None if propensity is None else as_propensities(propensity, None, None)._arrays(),
            "weights": optional(array, weights, "weights"),
            "weighting": lines_of(weighting),
            "at_most": bool(at_most),
            "threshold": optional(number, threshold, "threshold"),
            "ignore": ignored_pairs(ignore, len(rows.indptr) - 1 if isinstance(rows, Matrix) else len(rows), self.model_.labels),
            "beam": optional(whole, beam, "beam"),
            "max_nodes": optional(whole, max_nodes, "max_nodes"),
        }
        with working(self.n_jobs, self.verbose) as how:
            found, capped = self.model_.top(rows, ranking, how)
        if beam is not None:
            warnings.warn("beam= opens only the best nodes of each level: the labels are approximately the best", stacklevel=2)
        if capped:
            warnings.warn(f"the search ended at max_nodes on {capped} rows, which may not have their best labels", stacklevel=2)
        return to_csr(found)

    def predict_proba(self, X: FeaturesLike, k: int = 100) -> Any:
        """The probabilities of the k most probable labels of each row; the others are not stored.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data
        k : int, default 100

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_rows, n_labels)
        """
        found = self.predict_top_k(X, k)
        found.sort_indices()
        return found

    def predict(self, X: FeaturesLike) -> Any:
        """Labels with a probability of at least one half.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_rows, n_labels)
        """
        check_is_fitted(self, "model_")
        found = self.predict_top_k(X, len(self.classes_), threshold=0.5)
        found.data = np.ones(found.nnz, int)
        found.sort_indices()
        return found

    def score(self, X: FeaturesLike, candidates: LabelsLike) -> Any:
        """The probabilities of given labels, such as those that another model retrieved.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data
        candidates : labels
            The labels of each row to score: a matrix whose entries are the pairs, or a list of the labels of each row.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_rows, n_labels)
            A probability for each candidate.
        """
        rows = self._rows(X)
        pairs = _inputs.labels(candidates, "candidates", self.model_.labels)
        with working(self.n_jobs, self.verbose) as how:
            return to_csr(self.model_.score(rows, pairs, how))

    def write_tree(self, path: Path, number: int = 0) -> None:
        """Write one of the trees as a csv with the columns ``node`` and ``parent``, which ``tree="given:FILE"`` takes."""
        check_is_fitted(self, "model_")
        self.model_.write_tree(whole(number, "number"), file(path))

    def save(self, path: Path) -> None:
        """Write the model into a file that the command line reads too."""
        check_is_fitted(self, "model_")
        with working(self.n_jobs, self.verbose) as how:
            self.model_.save(file(path), how)

    @classmethod
    def load(cls, path: Path) -> LabelTree:
        """Read a model from a file, whoever wrote it; its weights stay in the file until they are needed."""
        with working() as how:
            model = _core.read_tree_model(file(path), how)
        about = json.loads(model.about)
        request = about.get("tree") or {}
        names = ("tree", "trees", "correction", "clip", "cost", "passes", "prune", "calibrate")
        loaded = cls(
            propensity=about["propensity"],
            tol=request.get("tolerance", 0.01),
            normalize=model.normalize,
            random_state=about["seed"],
            **{name: request[name] for name in names if name in request},
        )
        loaded._take(model)
        loaded.n_features_in_ = model.features
        return loaded


def _size(size: str | int | None, what: str) -> str | None:
    """Bytes, as a text that the native part reads."""
    return size if size is None or isinstance(size, str) else str(whole(size, what))


def _judged(judged: Any, rows: Any, columns: int) -> tuple[Matrix | Array, Matrix, dict[str, Any]] | None:
    """Features and observed labels of judged rows, and the pairs."""
    if (judged is None) != (rows is None):
        raise ValueError("judged pairs and the rows that they are of belong together: pass judged= and judged_rows=")
    given = judged_of(judged, None, None)
    return None if given is None else (*_rows_of(rows, "judged_rows", columns), given)
