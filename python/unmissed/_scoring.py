"""What a trained model does: scores, probabilities, the best labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _inputs
from ._checks import array, file, number, optional, whole
from ._data import Data, to_csr
from ._inputs import Array, Matrix
from ._ignored import ignored_pairs
from ._optimize import lines_of
from ._propensity import as_propensities, propensities_of_counts
from ._work import working

if TYPE_CHECKING:
    from ._optimize import OptimizedPredictions
    from .types import FeaturesLike, IgnoreLike, NumbersLike, Path, PropensityLike


class Scoring:
    """Methods of a fitted model; what is needed of it is declared here."""

    model_: _core.Linear
    kind_: str
    classes_: Array
    half: bool
    n_rows_: int
    label_counts_: Any
    n_jobs: int | None
    verbose: int

    def _rows(self, X: FeaturesLike) -> Matrix | Array:
        check_is_fitted(self, "model_")
        if isinstance(X, Data):
            X = X.X
        return _inputs.features(validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float32), "X")

    def _logits(self, X: FeaturesLike) -> Array:
        rows = self._rows(X)
        with working(self.n_jobs, self.verbose) as how:
            return self.model_.logits(rows, how)

    def decision_function(self, X: FeaturesLike) -> Array:
        """Scores of all labels; of two classes, how much that of the second exceeds that of the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_labels), or (n_rows,) for two classes
        """
        logits = self._logits(X)
        if self.kind_ == "classes" and len(self.classes_) == 2:
            return np.asarray(logits[:, 1] - logits[:, 0])
        return logits

    def predict_proba(self, X: FeaturesLike) -> Array:
        """Probabilities of all labels: ``1 / (1 + exp(-z_j))``, or, for classes, of which a row has one, ``exp(z_j) / sum exp(z_i)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_labels)
        """
        logits = self._logits(X).astype(np.float64)
        if self.kind_ == "classes":
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            return np.asarray(odds / odds.sum(axis=1, keepdims=True))
        # Large negative logits are met by infinity, whose inverse is right.
        with np.errstate(over="ignore"):
            probabilities = 1.0 / (1.0 + np.exp(-logits))
        # Nothing is certain: rounding must not say so.
        return np.clip(probabilities, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))

    def predict(self, X: FeaturesLike) -> Any:
        """Labels with a probability of at least one half, or the best class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data

        Returns
        -------
        numpy.ndarray, or a sparse matrix for a model that was trained with one
        """
        check_is_fitted(self, "model_")
        if self.kind_ == "classes":
            return self.classes_[np.argmax(self._logits(X), axis=1)]
        if self.kind_ == "labels":
            return (self._logits(X) >= 0).astype(int)
        found = self.predict_top_k(X, k=len(self.classes_), threshold=0.5)
        found.data = np.ones(found.nnz, int)
        found.sort_indices()
        return found

    def predict_top_k(
        self,
        X: FeaturesLike,
        k: int = 5,
        *,
        logits: bool = False,
        propensity: PropensityLike | None = None,
        weights: NumbersLike | None = None,
        weighting: OptimizedPredictions | tuple[NumbersLike, NumbersLike] | None = None,
        at_most: bool = False,
        threshold: float | None = None,
        ignore: IgnoreLike | None = None,
    ) -> Any:
        """The best labels of each row, without scores of all labels in memory.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features), or Data
        k : int, default 5
            Maximum number of labels per row.
        logits : bool, default False
            Scores are logits instead of probabilities.
        propensity : str, Propensities or array-like, optional
            Divides probabilities: the correction for a model that was trained on observed labels.
        weights : array-like, optional
            Multiplies scores, one number for each label.
        weighting : OptimizedPredictions or (a, b), optional
            Ranks labels by ``a * p + b`` instead, with the lines that `optimize_predictions` found on other rows; labels are given with their
            probabilities.
        at_most : bool, default False
            With `weighting`: only labels that are worth something, ``a * p + b > 0``.
        threshold : float, optional
            Labels with a lower probability are left out.
        ignore : str, path, array of shape (n_pairs, 2), list of tuples, sparse matrix or list of lists, optional
            Pairs that may not be predicted, as in `evaluate`.

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
            "logits": bool(logits),
            "propensity": None if propensity is None else as_propensities(propensity, None, None)._arrays(),
            "weights": optional(array, weights, "weights"),
            "weighting": lines_of(weighting),
            "at_most": bool(at_most),
            "threshold": optional(number, threshold, "threshold"),
            "ignore": ignored_pairs(ignore, len(rows.indptr) - 1 if isinstance(rows, Matrix) else len(rows), self.model_.labels),
        }
        with working(self.n_jobs, self.verbose) as how:
            return to_csr(self.model_.top(rows, ranking, how))

    @property
    def coef_(self) -> Array:
        check_is_fitted(self, "model_")
        return self.model_.weights()

    @property
    def intercept_(self) -> Array:
        check_is_fitted(self, "model_")
        return self.model_.bias

    def save(self, path: Path) -> None:
        """Write the model into a file that the command line reads too."""
        check_is_fitted(self, "model_")
        with working(self.n_jobs, self.verbose) as how:
            self.model_.save(file(path), bool(self.half), how)
