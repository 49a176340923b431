"""Judged pairs: which pairs to judge, and the judgements."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, _inputs
from ._checks import file, number, optional, text, whole
from ._choices import lengths, named_models, number_of_labels
from ._work import working

if TYPE_CHECKING:
    from .types import LabelsLike, Path, PredictionsLike

#: What a judgement may be.
_JUDGEMENTS = {1: "1", 0: "0", True: "1", False: "0", "1": "1", "0": "0", "unsure": "unsure"}


class AnnotationPlan:
    """The result of `annotation_plan`.

    Attributes
    ----------
    round : int
        The number of rounds, this one included.
    pairs : list of dict
        Pairs to judge, in random order, which must be kept: ``round``, ``row``, ``label``, ``probability``, ``stratum``.
    strata : list of dict
        ``stratum``, the number of ``pairs`` in it, and how many were ``drawn``.
    expected : list of dict
        The intervals to expect: ``metric``, ``k``, ``model``, ``other`` (for differences), ``half_width``, and the ``budget`` that
        the wanted half width needs.

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.survey(users=300, test_users=100, controlled_users=50, items=40)
    >>> plan = um.annotation_plan(data.test.y, data.test_clean.y.toarray() + 0.5, budget=60)
    >>> plan.round, sorted(plan.pairs[0])[:3]
    (1, ['label', 'probability', 'round'])
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        about = json.loads(native.about())
        self.round: int = about["round"]
        self.pairs = [dict(zip(("round", "row", "label", "probability", "stratum"), pair, strict=True)) for pair in about["pairs"]]
        self.strata = [dict(zip(("stratum", "pairs", "drawn"), one, strict=True)) for one in about["strata"]]
        self.expected: list[dict[str, Any]] = about["expected"]

    def write(self, folder: Path, *, name: str = "pairs", machine: bool = False) -> None:
        """Write ``pairs.csv``, the page ``judge.html`` and ``plan.json.zst`` into a folder, as ``unmissed annotate plan`` does.

        Existing files, which may hold judgements, are never overwritten. With `machine`, also ``machine.csv``: all
        pairs that could be drawn, for a language model to judge.
        """
        self._native.write(os.fspath(folder), text(name, "name"), bool(machine))

    def judge(self, judgements: Iterable[object]) -> JudgedPairs:
        """Add judgements of the pairs, in their order: 1, 0, ``"unsure"``, or None for pairs at the end that nobody has judged."""
        return JudgedPairs(self, judgements)

    def __repr__(self) -> str:
        return f"AnnotationPlan(round {self.round}, {len(self.pairs)} pairs)"


class JudgedPairs:
    """A plan with judgements: what `AnnotationPlan.judge` gives, for ``judged=``.

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.survey(users=300, test_users=100, controlled_users=50, items=40)
    >>> plan = um.annotation_plan(data.test.y, data.test_clean.y.toarray() + 0.5, budget=60)
    >>> judged = um.JudgedPairs(plan, ["unsure"] * len(plan.pairs))
    >>> len(judged.judgements) == len(plan.pairs)
    True
    """

    def __init__(self, plan: AnnotationPlan, judgements: Iterable[object]) -> None:
        self.plan = plan
        self.judgements: list[str | None] = []
        for place, value in enumerate(judgements):
            try:
                known = value is None or value in _JUDGEMENTS
            except TypeError:
                known = False
            if not known:
                raise ValueError(f"judgement {place} cannot be read: expected 1, 0, 'unsure' or None, found {value!r}")
            self.judgements.append(None if value is None else _JUDGEMENTS[value])


def judged_of(
    judged: JudgedPairs | Path | Sequence[Path] | None, judged_plan: Path | None, machine: object
) -> dict[str, Any] | None:
    """What ``judged=``, ``judged_plan=`` and ``machine_judged=`` give the native part."""
    if judged is None:
        if judged_plan is not None or machine is not None:
            raise ValueError("judged_plan= and machine_judged= need judged pairs: pass judged=")
        return None
    given: dict[str, Any] = {"files": [], "plan_file": None, "plan": None, "judgements": [], "machine_file": None, "machine": None}
    if isinstance(judged, JudgedPairs):
        if judged_plan is not None:
            raise ValueError("judged_plan= is for judged files: these pairs already have their plan")
        given.update(plan=judged.plan._native, judgements=judged.judgements)
    else:
        files = [judged] if isinstance(judged, str | os.PathLike) else list(judged)
        given.update(files=[file(one) for one in files], plan_file=None if judged_plan is None else file(judged_plan))
        if not files:
            raise ValueError("judged= names no file")
    if isinstance(machine, str | os.PathLike):
        given["machine_file"] = file(machine)
    elif isinstance(machine, Mapping):
        given["machine"] = [(int(row), int(label), number(value, "machine_judged")) for (row, label), value in machine.items()]
    elif machine is not None:
        raise ValueError(f"machine_judged= is neither a file nor a dict {{(row, label): value}}: found {machine!r}")
    return given


def annotation_plan(
    y_true: LabelsLike,
    y_pred: PredictionsLike,
    *,
    budget: int = 500,
    k: int | Sequence[int] = (1, 3, 5),
    train: LabelsLike | None = None,
    earlier: Path | Sequence[Path] | None = None,
    check_observed: int = 0,
    assumed: float = 0.5,
    wanted: float | None = None,
    level: float = 0.95,
    random_state: int = 0,
    label_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    row_texts: Sequence[str] | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
    verbose: int = False,
) -> AnnotationPlan:
    """Draw pairs of the models' top lists for judging, with known probabilities, and forecast the intervals.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels of the test rows, in any form that `evaluate` takes. They count as relevant.
    y_pred : predictions of shape (n_rows, n_labels), or dict of them by name
        Predictions of one or several models, whose top lists are pooled.
    budget : int, default 500
        Number of unobserved pairs to judge.
    k : int or sequence of int, default (1, 3, 5)
        Lengths of the top lists whose metrics are wanted.
    train : labels, optional
        Training labels: pairs are also stratified by how often their label occurs.
    earlier : path or list of paths, optional
        Judged csv files of earlier rounds, each beside its plan: draws another round.
    check_observed : int, default 0
        Number of observed pairs to draw as well, to check whether observed labels are relevant.
    assumed : float, default 0.5
        Expected share of relevant pairs among the unobserved ones, to forecast intervals.
    wanted : float, optional
        Wanted half width of the interval: `AnnotationPlan.expected` then has the budgets that it needs.
    level : float, default 0.95
        Level of intervals.
    random_state : int, default 0
        Seed of the draw.
    label_names, row_names, row_texts : sequence of str, optional
        Names of labels, names and texts of rows, for the page and the csv.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

    Returns
    -------
    AnnotationPlan

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.survey(users=300, test_users=100, controlled_users=50, items=40)
    >>> scores = data.test_clean.y.toarray() + 0.5
    >>> plan = um.annotation_plan(data.test.y, scores, budget=60)
    >>> truth = data.test_clean.y.toarray()
    >>> judged = plan.judge([int(truth[pair["row"], pair["label"]]) for pair in plan.pairs])
    >>> report = um.evaluate(data.test.y, scores, judged=judged, metrics="precision", interval="mask")
    >>> row = next(row for row in report.rows if row.estimator == "judged" and row.k == 5)
    >>> bool(row.low <= um.precision(truth, scores, k=5) <= row.high)
    True
    """
    named = named_models(y_pred)
    columns = number_of_labels(n_labels, [y_true, train], [one for _, one in named])
    truth = _inputs.labels(y_true, "y_true", columns)
    models = [(name, _inputs.scores(one, "y_pred" if len(named) == 1 else f"y_pred[{name!r}]", columns)) for name, one in named]
    files = [] if earlier is None else [earlier] if isinstance(earlier, str | os.PathLike) else list(earlier)

    def names(given: Sequence[str] | None, what: str) -> list[str] | None:
        return None if given is None else [text(one, what) for one in given]

    request = {
        "train": None if train is None else _inputs.labels(train, "train", columns),
        "budget": whole(budget, "budget"),
        "ks": lengths(k),
        "seed": whole(random_state, "random_state"),
        "level": number(level, "level"),
        "check_observed": whole(check_observed, "check_observed"),
        "assumed": number(assumed, "assumed"),
        "wanted": optional(number, wanted, "wanted"),
        "earlier": [file(one) for one in files],
        "label_names": names(label_names, "label_names"),
        "row_names": names(row_names, "row_names"),
        "row_texts": names(row_texts, "row_texts"),
    }
    with working(n_jobs, verbose) as how:
        return AnnotationPlan(_core.annotation_plan(truth, models, request, how))
