"""One function for each metric of the registry, under its name. Names, estimators with their assumptions, and keywords come from the
library; definitions and examples, which only people can write, from `_metric_texts`; types from the stub, which
``scripts/python_stubs.py`` writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._evaluate import _lengths, evaluate
from ._metric_texts import TEXTS
from ._registry import names, python_name

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


class Keyword(NamedTuple):
    """A keyword that some metrics have: default, type, and what docstrings say."""

    default: Any
    type: str
    about: str


#: By the names that the library gives what a metric asks for.
KEYWORDS = {
    "weights": Keyword(
        "inverse",
        "Any",
        """str or array-like, default "inverse"
    ``"uniform"``, ``"inverse"``, ``"log"`` or ``"effective"`` (from the counts of `train`), or a weight for each label.""",
    ),
    "label_counts": Keyword(
        None, "Any", "array-like of int, shape (n_rows,)\n    How many relevant labels each row has, observed or not."
    ),
    "beta": Keyword(1.0, "float", "float, default 1.0\n    How much recall counts against precision."),
}


def keywords(metric: str) -> dict[str, Keyword]:
    """Keywords that only this metric has."""
    return {name: KEYWORDS[name] for name in _core.nature(metric)[0]}


def _offers(metric: str) -> list[tuple[str, str]]:
    """Those that a single number can have; pairs that were shown are for `evaluate`."""
    return [(name, sentence) for name, sentence in _core.offers(metric) if name not in ("hajek", "ratio", "doubly-robust")]


def _range(metric: str) -> str:
    asked, lower_is_better = _core.nature(metric)
    highest = "the largest weight" if "weights" in asked else "1"
    text = f"On complete labels between 0 and {highest}, {'lower' if lower_is_better else 'higher'} is better."
    return text + " An unbiased estimate may lie outside." * ("unbiased" in dict(_offers(metric)))


def _documentation(metric: str) -> str:
    # A metric that nobody has written about yet has at least its line in the registry; a test asks for more.
    definition, examples = TEXTS.get(metric) or (dict(_core.registry("metrics"))[metric], "")
    offers = _offers(metric)
    return _DOC.format(
        definition=definition,
        names=", ".join(f'"{name}"' for name, _ in offers),
        estimators="\n".join(f'    - ``"{name}"``: {sentence}.' for name, sentence in offers),
        own="".join(f"{name} : {keyword.about}\n" for name, keyword in keywords(metric).items()),
        range=_range(metric),
        examples=inspect.cleandoc(examples),
    )


def _function(metric: str) -> Callable[..., Any]:
    special = keywords(metric)

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
        unknown = set(own) - set(special)
        if unknown:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{unknown.pop()}'")
        if propensity is not None and estimator == "observed":
            raise ValueError("propensity= is given, but the observed value does not use it; did you mean estimator='unbiased'?")
        ks = _lengths(k)
        given = {**{name: keyword.default for name, keyword in special.items()}, **own}
        beta = given.pop("beta", 1.0)
        report = evaluate(
            y_true,
            y_pred,
            metrics=[metric if beta == 1.0 else f"{metric}:beta={beta}"],
            estimators=[estimator],
            propensity=propensity,
            train=train,
            k=ks,
            clip=clip,
            bootstrap=0,
            n_labels=n_labels,
            threads=threads,
            progress=False,
            **given,
        )
        if len({row.propensity for row in report.rows}) > 1:
            raise ValueError("several propensity models give several values; use um.evaluate")
        by_k = {row.k: np.nan if row.value is None else row.value for row in report.rows}
        return float(by_k[ks[0]]) if np.isscalar(k) else np.array([by_k[one] for one in ks])

    function.__name__ = function.__qualname__ = python_name(metric)
    function.__doc__ = _documentation(metric)
    signature = inspect.signature(function)
    plain = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for name, one in special.items()]
    function.__signature__ = signature.replace(parameters=[*plain[:5], *more, *plain[5:]])  # type: ignore[attr-defined]
    return function


#: The functions by the names of the registry.
FUNCTIONS = {metric: _function(metric) for metric in names("metrics")}

__all__ = ["FUNCTIONS", "KEYWORDS", "keywords"]

globals().update({function.__name__: function for function in FUNCTIONS.values()})
