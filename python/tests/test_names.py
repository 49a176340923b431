"""Names, data frames that are brought into one order, and inputs that do not belong together."""

import csv

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

import unmissed as um

ROWS, LABELS = 120, 8


@pytest.fixture
def y():
    return (np.random.default_rng(0).random((ROWS, LABELS)) < 0.3).astype(int)


@pytest.fixture
def scores(y):
    return y + np.random.default_rng(1).random(y.shape)


@pytest.fixture
def frames(y, scores):
    columns, index = [f"label {one}" for one in "abcdefgh"], [f"row {one}" for one in range(ROWS)]
    return pd.DataFrame(y, index=index, columns=columns), pd.DataFrame(scores, index=index, columns=columns)


def test_frames_are_aligned_by_index_and_columns(y, scores, frames):
    wanted = um.precision(y, scores, k=1)
    assert um.precision(*frames, k=1) == wanted
    turned = frames[1].iloc[::-1, ::-1]
    assert um.precision(frames[0], turned, k=1) == wanted
    assert um.evaluate(frames[0], {"a": turned}).value("precision", 1) == wanted
    assert um.evaluate(frames[0], {"a": turned}, train=frames[0].iloc[:, ::-1]).value("precision", 1) == wanted
    assert um.audit(frames[0], {"a": turned}).report.value("precision", 1) == wanted


def test_frames_about_other_rows_or_labels_are_errors(frames):
    with pytest.raises(ValueError, match=r"y_pred has other columns than y_true: found 'label a' only in y_true"):
        um.precision(frames[0], frames[1].rename(columns={"label a": "x"}), k=1)
    with pytest.raises(ValueError, match=r"y_pred has other rows \(index\) than y_true: found 'row 0' only in y_true; build it with"):
        um.precision(frames[0], frames[1].reset_index(drop=True), k=1)
    with pytest.raises(ValueError, match=r"y_pred\['b'\] has other columns"):
        um.evaluate(frames[0], {"a": frames[1], "b": frames[1].iloc[:, 1:]})
    twice = frames[1].set_axis(["same"] * ROWS, axis="index")
    with pytest.raises(ValueError, match="some occur twice"):
        um.precision(frames[0], twice, k=1)


def test_names_come_from_frames_and_binarizers(y, scores, frames, tmp_path):
    found = um.audit(frames[0], frames[1], labels_csv=tmp_path / "labels.csv", rows_csv=tmp_path / "rows.csv", row_text=["=text"] * ROWS)
    assert {line["name"] for line in found.labels} <= set(frames[0].columns)
    assert found.rows_to_check["errors"][0]["row_name"].startswith("row ")
    lines = list(csv.DictReader((tmp_path / "labels.csv").open()))
    assert [line["name"] for line in lines] == list(frames[0].columns)
    assert [int(line["positives"]) for line in lines] == y.sum(axis=0).tolist()
    assert all(line["text"] == "'=text" for line in csv.DictReader((tmp_path / "rows.csv").open()))
    binarizer = MultiLabelBinarizer().fit([list("abcdefgh")])
    assert {line["name"] for line in um.audit(y, scores, label_names=binarizer).labels} <= set("abcdefgh")
    assert um.audit(y, scores).labels[0]["name"] is None
    with pytest.raises(ValueError, match="label_names does not fit: expected 8, found 2"):
        um.audit(y, scores, label_names=["a", "b"])
    with pytest.raises(ValueError, match="labels 0 and 7 are both called 'a'"):
        um.audit(y, scores, label_names=list("abcdefga"))


def test_what_is_shown_of_hostile_names_steers_no_terminal(y, scores):
    evil = "evil\x1b]0;pwned\x07\x9b31m\u202e"
    shown = "evil\\u{1b}]0;pwned\\u{7}\\u{9b}31m\\u{202e}"
    two = {evil: scores, "b": -scores}
    report = um.evaluate(y, two, train=y, propensity=um.Propensities(np.full(LABELS, 0.5), evil))
    found = um.audit(y, two)
    for text in (repr(report), repr(found), repr(found.report)):
        assert shown in text
        assert all(one == "\n" or one.isprintable() for one in text)
    assert any(row.model == evil for row in report.rows), "the text itself is unchanged"
    for refused in (lambda: um.evaluate(y, scores, metrics=[evil]), lambda: um.read(f"{evil}.txt")):
        with pytest.raises((ValueError, OSError)) as error:
            refused()
        assert all(one == "\n" or one.isprintable() for one in str(error.value))
        assert str(error.value).count("pwned") == 1


def test_label_matrices_hold_zeros_and_ones(y, scores):
    import scipy.sparse as sp

    with pytest.raises(ValueError, match=r"y_true, row 0: a label must be 1 or 0, found .*are y_true and y_pred swapped"):
        um.precision(scores, y, k=1)
    with pytest.raises(ValueError, match=r"y_true, row 0: a label must be 1 or 0, found 2"):
        um.precision(2 * sp.csr_matrix(np.ones((3, 3))), np.ones((3, 3)), k=1)
    with pytest.raises(ValueError, match=r"train, row 1: a label must be 1 or 0"):
        um.evaluate(y, scores, train=np.vstack([y[:1], 3 * np.ones((1, LABELS))]))


def test_inputs_that_do_not_belong_together_are_said(y, scores):
    lists = [np.flatnonzero(row).tolist() for row in y]
    top = np.argsort(-scores, axis=1)[:, :3].tolist()
    with pytest.warns(UserWarning, match="U021"):
        um.precision(top, lists, k=1, n_labels=LABELS)
    with pytest.warns(UserWarning, match="U023"):
        um.precision(y, -scores, k=1)
    codes = [finding.code for finding in um.evaluate(y, 1 - scores).findings]
    assert "U023" in codes


@pytest.mark.parametrize("name", ["psp", "p@5", "f1", "map"])
def test_well_known_names_say_what_to_ask_for(y, scores, name):
    with pytest.raises(ValueError, match=f"unknown metric '{name}'; .*'"):
        um.evaluate(y, scores, metrics=[name])
