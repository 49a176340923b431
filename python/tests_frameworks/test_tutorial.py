"""The tutorial about PyTorch."""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "pytorch.md"


def test_code_of_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {"__name__": "page"}
    exec(compile("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)), "pytorch.md", "exec"), found)
    report, models, um, data, rows, torch = (found[name] for name in ("report", "models", "um", "data", "rows", "torch"))
    for name, model in models.items():
        row = next(row for row in report.rows if (row.k, row.estimator, row.model) == (5, "unbiased", name))
        truth = um.precision(data.test_clean.y, model(rows).detach().numpy(), k=5)
        # As the page says: within the interval, and a little for what propensities per label cannot see.
        assert row.low - 0.03 < truth < row.high + 0.03, (name, truth, row)
