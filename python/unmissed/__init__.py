"""How good is a multi-label model really, when its labels are incomplete and long-tailed?

>>> import unmissed as um
>>> report = um.evaluate([[0, 1], [2]], [[0, 1], [0, 2]], k=1, metrics=["precision", "recall"])
>>> report.value("precision", 1)
0.5

`evaluate` computes every metric under every estimator and propensity model at once; `precision`, `recall` and the others give one
number, `Evaluator` takes rows batch by batch, and `audit` combines everything. `annotation_plan` draws pairs for people to judge.
`propensities`, `fit_propensity` and `estimate_propensity` give the probability that a relevant label is observed. `OneVsRest`
trains models, `LabelTree` those for very many labels, `optimize_predictions` chooses the labels that are best for a metric,
`cross_val_top_k` predicts rows with models that were not trained on them, and `scorer` turns a metric into a scikit-learn scorer.
`read`, `write` and `datasets` provide data, `stats` describes them, `split` divides them, `mask` removes labels, `impute` adds those that a
hierarchy implies, and `survey_from_ratings` makes a controlled set. `reproduce` runs the paper's experiments, `compat` has the functions of
other libraries, and `types` the types of arguments.

Importing the package imports nothing else, not even numpy: the imports of a name are loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import VERSION as __version__
from ._core import FormatError
from ._registry import names, python_name

if TYPE_CHECKING:
    from . import compat as compat
    from . import datasets as datasets
    from . import types as types
    from ._annotate import AnnotationPlan as AnnotationPlan
    from ._annotate import JudgedPairs as JudgedPairs
    from ._annotate import annotation_plan as annotation_plan
    from ._audit import Audit as Audit
    from ._audit import audit as audit
    from ._crossval import cross_val_top_k as cross_val_top_k
    from ._data import Data as Data
    from ._data import read as read
    from ._data import set_max_size as set_max_size
    from ._data import stats as stats
    from ._data import write as write
    from ._dataset import evaluate_dataset as evaluate_dataset
    from ._estimate import estimate_propensity as estimate_propensity
    from ._estimate import fit_propensity as fit_propensity
    from ._evaluate import evaluate as evaluate
    from ._inputs import TopK as TopK
    from ._mask import mask as mask
    from ._metrics import *
    from ._models import OneVsRest as OneVsRest
    from ._optimize import OptimizedPredictions as OptimizedPredictions
    from ._optimize import optimize_predictions as optimize_predictions
    from ._propensity import Propensities as Propensities
    from ._propensity import propensities as propensities
    from ._rearrange import Split as Split
    from ._rearrange import Survey as Survey
    from ._rearrange import impute as impute
    from ._rearrange import split as split
    from ._rearrange import survey_from_ratings as survey_from_ratings
    from ._report import Comparison as Comparison
    from ._report import Finding as Finding
    from ._report import Report as Report
    from ._report import Row as Row
    from ._reproduce import reproduce as reproduce
    from ._row_propensity import RowPropensity as RowPropensity
    from ._row_propensity import fit_row_propensity as fit_row_propensity
    from ._scorer import scorer as scorer
    from ._stream import Evaluator as Evaluator
    from ._tree import LabelTree as LabelTree

#: Where names live.
_HOME = {
    "_annotate": ["AnnotationPlan", "JudgedPairs", "annotation_plan"],
    "_audit": ["Audit", "audit"],
    "_crossval": ["cross_val_top_k"],
    "_data": ["Data", "read", "set_max_size", "stats", "write"],
    "_dataset": ["evaluate_dataset"],
    "_estimate": ["estimate_propensity", "fit_propensity"],
    "_evaluate": ["evaluate"],
    "_inputs": ["TopK"],
    "_mask": ["mask"],
    "_metrics": [python_name(metric) for metric in names("metrics")],
    "_models": ["OneVsRest"],
    "_optimize": ["OptimizedPredictions", "optimize_predictions"],
    "_propensity": ["Propensities", "propensities"],
    "_rearrange": ["Split", "Survey", "impute", "split", "survey_from_ratings"],
    "_report": ["Comparison", "Finding", "Report", "Row"],
    "_reproduce": ["reproduce"],
    "_row_propensity": ["RowPropensity", "fit_row_propensity"],
    "_scorer": ["scorer"],
    "_stream": ["Evaluator"],
    "_tree": ["LabelTree"],
    "compat": [],
    "datasets": [],
    "types": [],
}

__all__ = sorted(["FormatError", "__version__", "compat", "datasets", "types", *(name for names in _HOME.values() for name in names)])


def __getattr__(name: str) -> Any:
    for home, names in _HOME.items():
        if name == home and not name.startswith("_"):
            return importlib.import_module(f"{__name__}.{home}")
        if name in names:
            value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
