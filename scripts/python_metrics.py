"""Writes python/unmissed/_metrics.py: one plain function for each metric of the library's registry, with its types and its documentation.

python scripts/python_metrics.py, with the package installed; a test says when it has to be run again. Names, estimators with their
assumptions, and keywords come from the registry; definitions and examples, which only people can write, stand here.
"""

import inspect
import pathlib
import textwrap
from typing import NamedTuple

from unmissed import _core
from unmissed._registry import names, python_name

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "python" / "unmissed" / "_metrics.py"


class Text(NamedTuple):
    """Definition and examples."""

    definition: str
    examples: str


TEXTS = {
    "precision": Text(
        """Precision at k: the share of the k best-ranked labels that are relevant, averaged over rows.

``mean_i 1/k sum_{r <= k} y_ij``, where j is the label at rank r of row i.""",
        """
        >>> import unmissed as um
        >>> y_true = [[0, 1], [2]]
        >>> y_pred = [[0, 2, 1], [0, 1, 2]]
        >>> um.precision(y_true, y_pred, k=1)
        0.5
        >>> um.precision(y_true, y_pred, k=[1, 2]).tolist()
        [0.5, 0.25]
        >>> um.precision(y_true, y_pred, k=1, estimator="unbiased", propensity=[0.5, 1.0, 0.25])
        1.0

        A row with fewer than k predictions has misses in the open places:

        >>> um.precision([[0]], [[0]], k=2)
        0.5
        """,
    ),
    "ndcg": Text(
        """Discounted gain at k, relative to a list of k relevant labels, averaged over rows.

``mean_i 1/I(k) sum_{r <= k} y_ij / log2(r + 1)`` with ``I(k) = sum_{r <= k} 1 / log2(r + 1)``. A row with fewer than k relevant
labels cannot reach 1; `ndcg_min` divides by the best value that the row's labels allow.""",
        """
        >>> import unmissed as um
        >>> um.ndcg([[0], [2]], [[0, 1], [1, 2]], k=1)
        0.5
        >>> round(um.ndcg([[0, 1]], [[0, 1]], k=2), 6)
        1.0
        >>> round(um.ndcg([[0]], [[0, 1]], k=2), 4)
        0.6131
        """,
    ),
    "ndcg-min": Text(
        """nDCG at k as most libraries define it: relative to the best value that the row's labels allow, averaged over rows.

``mean_i 1/I(min(k, n_i)) sum_{r <= k} y_ij / log2(r + 1)`` with n_i relevant labels in row i; rows without any count 0.""",
        """
        >>> import unmissed as um
        >>> um.ndcg_min([[0]], [[0, 1]], k=2)
        1.0
        >>> round(um.ndcg_min([[1], []], [[0, 1], [0]], k=2), 4)
        0.3155
        """,
    ),
    "recall": Text(
        """Recall at k: the share of the relevant labels that are among the k best-ranked, averaged over rows.

``mean_i 1/n_i sum_{r <= k} y_ij`` with n_i relevant labels in row i; rows without any count 0.""",
        """
        >>> import unmissed as um
        >>> um.recall([[0, 1], [2]], [[0, 2, 1], [2]], k=1)
        0.75

        Rows without a relevant label stay in the mean:

        >>> um.recall([[0], []], [[0], [1]], k=1)
        0.5
        """,
    ),
    "recall-known": Text(
        """Recall at k with a known number of relevant labels per row, averaged over rows.

``mean_i 1/n_i sum_{r <= k} y_ij`` with given n_i. As a sum over labels it is corrected by any per-label propensity.""",
        """
        >>> import unmissed as um
        >>> um.recall_known([[0]], [[0, 1]], k=1, label_counts=[4])
        0.25
        >>> um.recall_known([[0]], [[0, 1]], k=1, estimator="unbiased", propensity=[0.5, 1.0], label_counts=[4])
        0.5
        """,
    ),
    "recall-pooled": Text(
        """Recall at k of all rows together: the share of all relevant labels that are among the k best-ranked of their row.

``sum_i sum_{r <= k} y_ij / sum_i n_i`` with n_i relevant labels in row i. Rows count by their number of relevant labels, where `recall`
counts each row once. A controlled set can estimate this recall.""",
        """
        >>> import unmissed as um
        >>> round(um.recall_pooled([[0, 1], [2]], [[0, 2, 1], [2]], k=1), 4)
        0.6667
        """,
    ),
    "weighted-precision": Text(
        """Precision at k with a weight for each label, averaged over rows.

``mean_i 1/k sum_{r <= k} w_j y_ij``. Weights express what matters, propensities what is missing. Weights from training counts are scaled
so that the mean weight of a training positive is 1.""",
        """
        >>> import unmissed as um
        >>> um.weighted_precision([[0], [1]], [[0], [1]], k=1, weights=[1.0, 3.0])
        2.0
        >>> train = [[0], [0], [0], [1]]
        >>> round(um.weighted_precision([[0], [1]], [[0], [1]], k=1, train=train), 4)
        1.3333
        """,
    ),
    "macro-f": Text(
        """F-measure at k of each label, averaged over labels.

``1/m sum_j (1 + beta^2) TP_j / (P_j + beta^2 T_j)``, where label j is predicted in P_j rows, relevant in T_j, and both in TP_j; a
label that is neither predicted nor relevant counts 0.""",
        """
        >>> import unmissed as um
        >>> um.macro_f([[0], [1]], [[0], [0]], k=1)
        0.3333333333333333

        Recall counts more with a larger beta:

        >>> um.macro_f([[0], [1]], [[0], [0]], k=1, beta=2.0)
        0.4166666666666667
        """,
    ),
    "abandonment": Text(
        """Abandonment at k: the share of rows without a relevant label among the k best-ranked.

``mean_i prod_{r <= k} (1 - y_ij)``. Some libraries return one minus this value under the same name.""",
        """
        >>> import unmissed as um
        >>> um.abandonment([[0], [1], [1], []], [[0], [0], [1], [0]], k=1)
        0.5
        """,
    ),
    "coverage": Text(
        """Coverage at k: the share of all labels that are found for at least one row.

``1/m sum_j [label j is relevant and among the k best-ranked in some row]``.""",
        """
        >>> import unmissed as um
        >>> um.coverage([[0], [1], [0]], [[0], [0], [1]], k=1, n_labels=4)
        0.25
        """,
    ),
}


class Keyword(NamedTuple):
    """A keyword that some metrics have: type, default, and what docstrings say."""

    type: str
    default: str
    about: str


#: By the names that the library gives what a metric asks for.
KEYWORDS = {
    "weights": Keyword(
        "WeightsLike",
        '"inverse"',
        """str or array-like, default "inverse"
    ``"uniform"``, ``"inverse"``, ``"log"`` or ``"effective"`` (from the counts of `train`), or a weight for each label.""",
    ),
    "label_counts": Keyword(
        "NumbersLike | None", "None", "array-like of int, shape (n_rows,)\n    How many relevant labels each row has, observed or not."
    ),
    "beta": Keyword("float", "1.0", "float, default 1.0\n    How much recall counts against precision."),
}

HEAD = '''"""One function for each metric of the library's registry. Written by scripts/python_metrics.py: change that file, and run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._deprecated import renamed
from ._metric_value import metric_value

if TYPE_CHECKING:
    from .types import Array, LabelsLike, NumbersLike, PropensityLike, ScoresLike, WeightsLike

__all__ = [
{exported}
]
'''

#: An int k gives a float, a sequence an array.
FUNCTION = """

@overload
def {name}(
{head},
    k: int = 5,
{rest},
) -> float: ...
@overload
def {name}(
{head},
    k: Sequence[int] | Array,
{rest},
) -> Array: ...
@renamed(threads="n_jobs")
def {name}(
{head},
    k: int | Sequence[int] | Array = 5,
{rest},
) -> float | Array:
{documentation}
    return metric_value(
        {metric}, y_true, y_pred, k, estimator, propensity, {given}
    )
"""

TAIL = """

#: The functions by the names of the registry.
FUNCTIONS: dict[str, Callable[..., Any]] = {{
{functions}
}}
"""

PARAMETERS = ("y_true: LabelsLike", "y_pred: ScoresLike")
MORE = ('estimator: str = "observed"', "propensity: PropensityLike | None = None", "*")
OPTIONS = ("train: LabelsLike | None = None", "clip: float | None = None", "n_labels: int | None = None", "n_jobs: int | None = None")

DOCUMENTATION = '''"""{definition}

Parameters
----------
y_true : labels of shape (n_rows, n_labels)
    Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
y_pred : predictions of shape (n_rows, n_labels)
    Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
k : int or sequence of int, default 5
    Length of the top list, or several. It may exceed the number of labels.
estimator : {{{names}}}, default "observed"
    How the value is estimated from incomplete labels, and what each estimator assumes:

{estimators}
propensity : str, Propensities or array-like, optional
    The propensity model, for estimators other than ``"observed"``.
{own}train : labels, optional
    Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
clip : float, optional
    The largest inverse propensity, for ``"clipped"``.
n_labels : int, optional
    The number of labels, if the inputs do not determine it.
n_jobs : int, optional
    Number of threads (-1: one per core, which is the default); the value does not depend on it.

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
"""'''


#: Estimators that need more than propensities of labels: shown or judged pairs or later labels, which `evaluate` takes.
OF_EVALUATE = {"hajek", "omega", "ratio", "doubly-robust", "judged"}


def offers(metric):
    """The estimators of a metric's function."""
    return [(name, sentence) for name, sentence in _core.offers(metric) if name not in OF_EVALUATE]


def values(metric):
    """The range of a metric in words."""
    asked, lower_is_better = _core.nature(metric)
    highest = "the largest weight" if "weights" in asked else "1"
    text = f"On complete labels between 0 and {highest}, {'lower' if lower_is_better else 'higher'} is better."
    return text + " An unbiased estimate may lie outside." * ("unbiased" in dict(offers(metric)))


def documentation(metric, own):
    # A metric that nobody has written about yet has at least its line in the registry; a test asks for more.
    definition, examples = TEXTS.get(metric) or (dict(_core.registry("metrics"))[metric], "")
    return DOCUMENTATION.format(
        definition=definition,
        names=", ".join(f'"{name}"' for name, _ in offers(metric)),
        estimators="\n".join(f'    - ``"{name}"``: {sentence}.' for name, sentence in offers(metric)),
        own="".join(f"{name} : {KEYWORDS[name].about}\n" for name in own),
        range=values(metric),
        examples=inspect.cleandoc(examples),
    )


def function(metric):
    own = _core.nature(metric)[0]
    keywords = [f"{name}: {KEYWORDS[name].type} = {KEYWORDS[name].default}" for name in own]
    options = [name for name in own if name != "beta"] + [option.split(":")[0] for option in OPTIONS]
    return FUNCTION.format(
        name=python_name(metric),
        head=",\n".join("    " + one for one in PARAMETERS),
        rest=",\n".join("    " + one for one in (*MORE, *keywords, *OPTIONS)),
        documentation=textwrap.indent(documentation(metric, own), "    "),
        # beta is part of the metric's name.
        metric=f'f"{metric}:beta={{beta}}"' if "beta" in own else f'"{metric}"',
        given=", ".join(f"{name}={name}" for name in options),
    )


def source():
    metrics = names("metrics")
    exported = "\n".join(f'    "{name}",' for name in sorted([*map(python_name, metrics), "FUNCTIONS"]))
    functions = "\n".join(f'    "{metric}": {python_name(metric)},' for metric in metrics)
    return HEAD.format(exported=exported) + "".join(map(function, metrics)) + TAIL.format(functions=functions)


if __name__ == "__main__":
    SOURCE.write_text(source())
