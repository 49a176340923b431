"""Audits: what scores are worth when labels are missing, with a verdict and a page."""

from __future__ import annotations

import html
import json as _json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, _frames, _inputs
from ._annotate import JudgedPairs, judged_of
from ._checks import array, file, number, optional, text, whole
from ._choices import groups_of, lengths, named_models, number_of_labels, rate_of, several
from ._deprecated import working_keywords
from ._ignored import ignored_pairs
from ._propensity import Propensities
from ._report import Finding, Report
from ._work import working

if TYPE_CHECKING:
    from .types import (
        GroupsLike,
        IgnoreLike,
        LabelsLike,
        NamesLike,
        Path,
        PredictionsLike,
        PropensitiesLike,
        RateLike,
        WeightsLike,
    )


class Audit:
    """The result of `audit`.

    Attributes
    ----------
    headline : str
        The verdict in a few sentences: what is missing, the number to report, how the models compare, what to look at.
    sentences : list of str
        What it rests on.
    severity : {"info", "warning", "error"}
        How bad it is.
    missing : dict
        The share of the relevant labels that is missing (``share``) and how that is known (``source``: ``"measured"``, ``"by-design"``,
        ``"assumed"`` or ``"unknown"``).
    reported : dict or None
        The one number to report (``value``, ``low``, ``high``), its ``model``, its estimate (``standing``), and ``why`` this estimate was chosen.
    popularity : list of dict
        Each model against the popularity ranker: ``model`` and ``lead``, a paired difference with its interval.
    earlier : list of dict
        The same against the models of `baseline`.
    standings : list of dict
        The models' scores as observed, under each propensity model, and on complete labels; the ``role`` of baselines is not
        ``"audited"``.
    findings : list of Finding
        What to know before believing the numbers, by code.
    labels : list of dict
        The labels that matter most: counts, precision, recall, F, propensity and the share that is probably missing.
    rows_to_check : dict
        Rows worth a look: labels that may be missing (``"possibly_missing"``) and ``"errors"``.
    report : Report
        All scores with their intervals.
    """

    def __init__(self, result: dict[str, Any], page: str) -> None:
        self._result, self._page = result, page
        verdict = result["verdict"]
        self.headline: str = verdict["headline"]
        self.sentences: list[str] = verdict["sentences"]
        self.severity: str = verdict["severity"]
        self.missing: dict[str, Any] = verdict["missing"]
        self.reported: dict[str, Any] | None = verdict["reported"]
        self.popularity: list[dict[str, Any]] = verdict["popularity"]
        self.earlier: list[dict[str, Any]] = verdict["earlier"]
        self.standings: list[dict[str, Any]] = verdict["standings"]
        self.findings = [Finding(**finding) for finding in result["findings"]]
        self.labels: list[dict[str, Any]] = result["labels"]
        self.rows_to_check: dict[str, Any] = result["rows_to_check"]
        self.report = Report(result["evaluation"])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Audit, (self._result, self._page))

    def to_dict(self) -> dict[str, Any]:
        """The same data as the command line's JSON."""
        return self._result

    def to_html(self, path: Path | None = None) -> str:
        """The page, a self-contained file; written to `path` if given."""
        if path is not None:
            _core.write_text(file(path), self._page)
        return self._page

    def __repr__(self) -> str:
        lines = [self.headline, *self.sentences, *(f"{one.code} {one.severity}: {one.message}" for one in self.findings)]
        return "\n".join(map(_core.printable, lines))

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        return f"<h3>{html.escape(self.headline)}</h3>{sentences}{self.report._repr_html_()}"


def _file(path: Any, _what: str) -> str:
    return file(path)


@working_keywords
def audit(
    y_true: LabelsLike,
    y_pred: PredictionsLike,
    *,
    train: LabelsLike | None = None,
    propensity: PropensitiesLike | None = None,
    controlled: LabelsLike | None = None,
    rate: RateLike | None = None,
    later: LabelsLike | None = None,
    train_predictions: PredictionsLike | None = None,
    judged: JudgedPairs | Path | Sequence[Path] | None = None,
    judged_plan: Path | None = None,
    machine_judged: Mapping[tuple[int, int], float] | Path | None = None,
    truth: LabelsLike | None = None,
    baseline: Path | None = None,
    json: Path | None = None,
    k: int | Sequence[int] = (1, 3, 5),
    groups: GroupsLike | None = None,
    weights: WeightsLike | None = None,
    ignore: IgnoreLike | None = None,
    level: float = 0.95,
    bootstrap: int = 0,
    random_state: int = 0,
    name: str = "",
    n_labels: int | None = None,
    label_names: NamesLike | None = None,
    row_names: NamesLike | None = None,
    row_text: NamesLike | None = None,
    labels_csv: Path | None = None,
    rows_csv: Path | None = None,
    n_jobs: int | None = None,
    verbose: int = False,
) -> Audit:
    """Audit predictions: what the scores are worth when labels are missing, with a verdict and a page.

    Combines statistics, propensities, evaluation and evidence. Without evidence, observed scores are a lower bound, and the usual
    curve (``"jpv"``) is shown beside them unless others are named; a controlled set or a later snapshot replaces assumptions by
    estimates. With training labels, the models are also compared with the popularity ranker.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels of the test rows, in any form that `evaluate` takes.
    y_pred : predictions of shape (n_rows, n_labels), or dict of them by name
        Predictions of one or several models.
    train : labels, optional
        Training labels, which propensity models, groups and evidence refer to.
    propensity : str, Propensities, array-like, or list of these, optional
        Propensity models instead of the usual one.
    controlled : labels, optional
        A bias-controlled set, from which propensities are estimated.
    rate : str, (r, m), float or array-like, optional
        The rate at which labels of the controlled set (without one: of the test rows) were shown, as in ``"16/300"``.
    later : labels, optional
        A later snapshot of the training rows, in the same order.
    train_predictions : predictions of shape (n_training_rows, n_labels), or dict of them by name, optional
        The models' out-of-fold predictions for the training rows, under the same names as `y_pred`: with a later snapshot (or a
        controlled set) of the same rows, scores are estimated with row-dependent propensities.
    judged : JudgedPairs, path or list of paths, optional
        Judged pairs of the models' lists: what `AnnotationPlan.judge` gives, or csv files of several rounds or judges. They give the
        estimate ``"judged"``.
    judged_plan : path, optional
        The plan by which the pairs of files were drawn; by default the ``plan.json.zst`` beside the csv.
    machine_judged : dict or path, optional
        A machine's judgements of many pairs: ``{(row, label): value}``, or a csv ``row,label,relevant`` or ``row,label,score``.
    truth : labels, optional
        Complete labels of the test rows, shown beside the estimates.
    baseline : path, optional
        An earlier audit of the same test rows, as `json` or the command line's ``--json`` wrote it: its models are compared with these,
        row by row.
    json : path, optional
        Write the result into this file, and the models' top lists into ``FILE.rows.npz`` beside it.
    k : int or sequence of int, default (1, 3, 5)
        Lengths of the top list; the verdict is about the first.
    groups : bool, str or sequence of str, optional
        Groups of labels, as in `evaluate`; head, torso and tail by default.
    weights : str or array-like, optional
        Gains for ``"weighted-precision"``, as in `evaluate`.
    ignore : str, path, array of shape (n_pairs, 2), list of tuples, sparse matrix or list of lists, optional
        Pairs that may not be predicted, removed before the top k is selected: a file with ``row label`` per line (the filter files of the
        extreme classification repository), an array of such pairs, or the ignored labels of each row.
    level : float, default 0.95
        Level of intervals.
    bootstrap : int, default 0
        Bootstrap replicates for macro-f and coverage; 0 uses the jackknife.
    random_state : int, default 0
        Seed of everything random.
    name : str, optional
        Name of the data set; known names select the constants of ``"jpv"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    label_names, row_names : sequence of str, optional
        Names of labels and test rows; `label_names` also takes a fitted ``MultiLabelBinarizer``. By default the columns and the
        index of a data frame, by which data frames are brought into the order of `y_true`.
    row_text : sequence of str, optional
        Texts of the test rows, shown beside rows worth a look.
    labels_csv, rows_csv : path, optional
        Write what is known about every label, and the rows worth a look, into these csv files.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.survey(users=300, test_users=100, controlled_users=50, items=40)
    >>> scores = data.test_clean.y.toarray() + 0.5
    >>> found = um.audit(data.test.y, scores, train=data.train.y, truth=data.test_clean.y)
    >>> [standing["name"] for standing in found.standings][0]
    'observed'
    >>> page = found.to_html()
    """
    named = [(one, _frames.aligned(value, y_true, f"y_pred[{one!r}]", "y_true")) for one, value in named_models(y_pred)]
    train = _frames.aligned(train, y_true, "train", "y_true", rows=False)
    later, truth = _frames.aligned(later, train, "later", "train"), _frames.aligned(truth, y_true, "truth", "y_true")
    columns = number_of_labels(n_labels, [y_true, train], [one for _, one in named])
    test = _inputs.labels(y_true, "y_true", columns)
    models = [(one, _inputs.scores(value, f"y_pred[{one!r}]", columns)) for one, value in named]

    def part(value: Any, what: str) -> _inputs.Matrix | None:
        return None if value is None else _inputs.labels(value, what, columns)

    asked = several(propensity)
    specs = [one for one in asked if isinstance(one, str)]
    known = [one if isinstance(one, Propensities) else Propensities(one) for one in asked if not isinstance(one, str)]
    request = {
        "name": text(name, "name"),
        "train": part(train, "train"),
        "models": specs if propensity is not None else None,
        "known": [one._arrays() for one in known],
        "controlled": part(controlled, "controlled"),
        "later": part(later, "later"),
        "train_predictions": [
            (one, _inputs.scores(value, f"train_predictions[{one!r}]", columns))
            for one, value in ([] if train_predictions is None else named_models(train_predictions))
        ],
        "truth": part(truth, "truth"),
        "baseline": None if baseline is None else file(baseline),
        "json": None if json is None else file(json),
        "judged": judged_of(judged, judged_plan, machine_judged),
        "rate": rate_of(rate),
        "groups": groups_of(groups),
        "weights": weights if isinstance(weights, str) else optional(array, weights, "weights"),
        "ignore": ignored_pairs(ignore, test.rows, test.columns),
        "ks": lengths(k),
        "level": number(level, "level"),
        "bootstrap": whole(bootstrap, "bootstrap"),
        "seed": whole(random_state, "random_state"),
        "label_names": _frames.label_names(label_names, y_true, columns),
        "row_names": _frames.row_names(row_names, y_true, test.rows),
        "row_texts": _frames.names(row_text, "row_text", test.rows),
        "labels_csv": optional(_file, labels_csv, "labels_csv"),
        "rows_csv": optional(_file, rows_csv, "rows_csv"),
    }
    with working(n_jobs, verbose) as how:
        result, page = _core.audit(test, models, request, how)
    return Audit(_json.loads(result), page)
