"""What an evaluation found: rows, comparisons, findings; as data, as a table, as a page."""

from __future__ import annotations

import dataclasses
import html
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import file

if TYPE_CHECKING:
    from .types import Path


@dataclasses.dataclass(frozen=True)
class Row:
    """One number. `value`, `se`, `low` and `high` are None if they are not meaningful."""

    metric: str
    k: int
    estimator: str
    propensity: str | None
    group: str
    model: str
    value: float | None
    se: float | None
    low: float | None
    high: float | None
    n: int
    assumption: str
    bias: float | None = None
    expected_error: float | None = None
    sensitivity: dict[str, float] | None = None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The difference of two models in one cell; `significant` allows for the number of comparisons."""

    metric: str
    k: int
    estimator: str
    propensity: str | None
    group: str
    a: str
    b: str
    difference: float | None
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    significant: bool
    sensitivity: dict[str, float] | None = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something to know before believing a number."""

    code: str
    severity: str
    message: str
    advice: str
    anchor: str
    propensity: str | None = None
    model: str | None = None
    added: bool = False


class Report:
    """The result of `evaluate`.

    Attributes
    ----------
    rows : list of Row
        A number each, with its interval and the assumption that it rests on.
    comparisons : list of Comparison
        Differences between models, if there are several.
    findings : list of Finding
        What to know before believing the numbers, by code.
    groups : list of dict
        The groups of labels and their shares, if there are several.
    notes : list of str
        How to read the numbers.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result
        self.rows = [Row(**row) for row in result["rows"]]
        self.comparisons = [Comparison(**one) for one in result.get("comparisons", [])]
        self.findings = [Finding(**finding) for finding in result["findings"]]
        self.groups: list[dict[str, Any]] = result.get("groups", [])
        self.notes: list[str] = result["notes"]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Report, (self._result,))

    def to_dict(self) -> dict[str, Any]:
        """The same data as the command line's JSON."""
        return self._result

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a line for each row."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("data frames need pandas: pip install pandas") from error
        names = [field.name for field in dataclasses.fields(Row)]
        frame = pandas.DataFrame([dataclasses.astuple(row) for row in self.rows], columns=names)
        numbers = ["value", "se", "low", "high", "bias", "expected_error"]
        return frame.astype({name: float for name in numbers})

    def to_flat_dict(self, prefix: str = "", *, intervals: bool = False) -> dict[str, float]:
        """Values by name, for loggers: MLflow, Weights & Biases and the like.

        Names are made of letters, digits, ``_``, ``-``, ``.`` and ``/`` only: metric and k, estimator, propensity model, and where
        there are several, group and model. Values that are not meaningful are left out.

        Parameters
        ----------
        prefix : str, optional
            What names start with, as in ``"test/"``.
        intervals : bool, default False
            Whether to include standard errors and the ends of intervals, under the name with ``/se``, ``/low`` and ``/high``.

        Examples
        --------
        >>> import unmissed as um
        >>> um.evaluate([[0], [2]], [[0, 1], [1, 2]], metrics=["precision"], k=1).to_flat_dict("test/")
        {'test/precision_at_1/observed': 0.5}
        """
        several_models = len(_distinct(row.model for row in self.rows)) > 1
        flat: dict[str, float] = {}
        for row in self.rows:
            parts = [f"{row.metric}_at_{row.k}", row.estimator]
            parts += [row.propensity] if row.propensity is not None else []
            parts += [row.group] if row.group != "all" else []
            parts += [row.model] if several_models else []
            name = prefix + "/".join(_UNSAFE.sub("_", part) for part in parts)
            while name in flat:
                # Names that differ only in what was replaced.
                name += "_"
            numbers = {"": row.value}
            if intervals:
                numbers |= {"/se": row.se, "/low": row.low, "/high": row.high}
            flat.update({name + end: number for end, number in numbers.items() if number is not None})
        return flat

    def value(
        self,
        metric: str,
        k: int,
        estimator: str = "observed",
        *,
        propensity: str | None = None,
        group: str = "all",
        model: str | None = None,
    ) -> float:
        """The value of one cell; NaN if it is not meaningful.

        Raises
        ------
        KeyError
            If there is no such cell, or if there are several (name the propensity or the model then).
        """
        found = [
            row
            for row in self.rows
            if (row.metric, row.k, row.estimator, row.group) == (metric, k, estimator, group)
            and propensity in (None, row.propensity)
            and model in (None, row.model)
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} rows have the {estimator} {metric}@{k} of group '{group}'")
        value = found[0].value
        return math.nan if value is None else value

    def _tables(self) -> Iterator[tuple[str | None, list[str], list[list[str]]]]:
        """For each propensity model a table: metrics down, estimators across."""
        propensities = _distinct(row.propensity for row in self.rows if row.propensity is not None) or [None]
        several_models = len(_distinct(row.model for row in self.rows)) > 1
        several_groups = len(_distinct(row.group for row in self.rows)) > 1
        for propensity in propensities:
            rows = [row for row in self.rows if row.propensity in (None, propensity)]
            estimators = _distinct(row.estimator for row in rows)
            head = ["metric"] + ["group"] * several_groups + ["model"] * several_models + estimators
            body = []
            for metric, k, group, model in _distinct((row.metric, row.k, row.group, row.model) for row in rows):
                cells = {row.estimator: row for row in rows if (row.metric, row.k, row.group, row.model) == (metric, k, group, model)}
                shown = [_cell(cells.get(estimator)) for estimator in estimators]
                body.append([f"{metric}@{k}"] + [group] * several_groups + [model] * several_models + shown)
            yield propensity, head, body

    def __repr__(self) -> str:
        parts = []
        for propensity, head, body in self._tables():
            if propensity is not None:
                parts.append(_core.printable(f"Propensities: {propensity}"))
            table = [list(map(_core.printable, line)) for line in [head, *body]]
            widths = [max(map(len, column)) for column in zip(*table)]
            parts += ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table]
            parts.append("")
        parts += [_core.printable(f"{finding.code} {finding.severity}: {finding.message}") for finding in self.findings]
        return "\n".join(parts).rstrip()

    def _repr_html_(self) -> str:
        parts = []
        for propensity, head, body in self._tables():
            caption = "" if propensity is None else f"<caption>Propensities: {html.escape(propensity)}</caption>"
            columns = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
            lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
            parts.append(f'<table class="unmissed">{caption}<thead><tr>{columns}</tr></thead><tbody>{lines}</tbody></table>')
        if self.findings:
            items = (
                f"<li><b>{html.escape(f.code)}</b> ({html.escape(f.severity)}): {html.escape(f.message)}; {html.escape(f.advice)}</li>"
                for f in self.findings
            )
            parts.append(f"<p>Findings</p><ul>{''.join(items)}</ul>")
        if self.notes:
            parts.append("".join(f"<p><small>{html.escape(note)}</small></p>" for note in self.notes))
        return "\n".join(parts)

    def to_html(self, path: Path | None = None, *, title: str = "Evaluation") -> str:
        """A self-contained page; written to `path` if given.

        Returns
        -------
        str
            The page.
        """
        page = _PAGE.format(title=html.escape(title), body=self._repr_html_())
        if path is not None:
            _core.write_text(file(path), page)
        return page


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin-bottom: 1.5rem; }}
caption {{ text-align: left; font-weight: 600; padding-bottom: .3rem; }}
th, td {{ text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


#: What loggers do not allow in names.
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]+")


def _distinct(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))


def _cell(row: Row | None) -> str:
    """Percentages, as is usual in the field."""
    if row is None or row.value is None:
        return "-"
    text = f"{100 * row.value:.2f}"
    if row.low is not None and row.high is not None:
        text += f" [{100 * row.low:.2f}, {100 * row.high:.2f}]"
    return text
