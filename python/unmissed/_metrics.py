"""One function for each metric of the registry. The texts that only people can write are in `_metric_texts`; estimators and their
assumptions come from the library."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._evaluate import _lengths, evaluate
from ._metric_texts import TEXTS, Text

_DOC = """{definition}

Parameters
----------
y_true : labels of shape (n_rows, n_labels)
    Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
y_pred : predictions of shape (n_rows, n_labels)
    Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
k : int or sequence of int, default 5
    Length of the top list, or several. It may exceed the number of labels.
estimator : {{{names}}}, default "observed"
    How the value is obtained from incomplete labels, and what has to hold for it:

{estimators}
propensity : str, Propensities or array-like, optional
    The propensity model, for estimators other than ``"observed"``.
{own}train : labels, optional
    Training labels, for what is a function of training counts, such as ``propensity="jpv"``.
clip : float, optional
    The largest inverse propensity, for ``"clipped"``.
n_labels : int, optional
    The number of labels, where lists do not tell.
threads : int, optional
    How many threads work; the value does not depend on it.

Returns
-------
float or numpy.ndarray
    {range} An array for several k.

See Also
--------
evaluate : all metrics at once, with intervals.

Examples
--------
{examples}
"""


def _offers(metric: str) -> list[tuple[str, str]]:
    """Those that a single number can have; pairs that were shown are for `evaluate`."""
    return [(name, sentence) for name, sentence in _core.offers(metric) if name != "hajek"]


def _documentation(metric: str, text: Text) -> str:
    offers = _offers(metric)
    return _DOC.format(
        definition=text.definition,
        names=", ".join(f'"{name}"' for name, _ in offers),
        estimators="\n".join(f'    - ``"{name}"``: {sentence}.' for name, sentence in offers),
        own="".join(f"{name} : {about}\n" for name, (_, about) in text.own.items()),
        range=text.range,
        examples=inspect.cleandoc(text.examples),
    )


def _function(metric: str, text: Text) -> Callable[..., Any]:
    def function(
        y_true: Any,
        y_pred: Any,
        k: Any = 5,
        estimator: str = "observed",
        propensity: Any = None,
        *,
        train: Any = None,
        clip: float | None = None,
        n_labels: int | None = None,
        threads: int | None = None,
        **own: Any,
    ) -> Any:
        unknown = set(own) - set(text.own)
        if unknown:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{unknown.pop()}'")
        if propensity is not None and estimator == "observed":
            raise ValueError("propensity= is given, but the observed value does not use it; did you mean estimator='unbiased'?")
        ks = _lengths(k)
        beta = own.get("beta", 1.0)
        report = evaluate(
            y_true,
            y_pred,
            metrics=[metric if beta == 1.0 else f"{metric}:beta={beta}"],
            estimators=[estimator],
            propensity=propensity,
            train=train,
            k=ks,
            weights=own.get("weights", text.own["weights"][0] if "weights" in text.own else None),
            clip=clip,
            label_counts=own.get("label_counts"),
            bootstrap=0,
            n_labels=n_labels,
            threads=threads,
            progress=False,
        )
        if len({row.propensity for row in report.rows}) > 1:
            raise ValueError("several propensity models give several values; use um.evaluate")
        by_k = {row.k: np.nan if row.value is None else row.value for row in report.rows}
        return float(by_k[ks[0]]) if np.isscalar(k) else np.array([by_k[one] for one in ks])

    function.__name__ = function.__qualname__ = metric.replace("-", "_")
    function.__doc__ = _documentation(metric, text)
    signature = inspect.signature(function)
    plain = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, (default, _) in text.own.items()]
    function.__signature__ = signature.replace(parameters=[*plain[:5], *more, *plain[5:]])  # type: ignore[attr-defined]
    return function


#: The functions by the names of the registry.
FUNCTIONS = {
    # A metric that nobody has written about yet has at least its line in the registry; a test asks for more.
    metric: _function(metric, TEXTS.get(metric) or Text(summary, "A number.", ""))
    for metric, summary in _core.registry("metrics")
}

precision = FUNCTIONS["precision"]
ndcg = FUNCTIONS["ndcg"]
ndcg_min = FUNCTIONS["ndcg-min"]
recall = FUNCTIONS["recall"]
recall_known = FUNCTIONS["recall-known"]
weighted_precision = FUNCTIONS["weighted-precision"]
macro_f = FUNCTIONS["macro-f"]
abandonment = FUNCTIONS["abandonment"]
coverage = FUNCTIONS["coverage"]
