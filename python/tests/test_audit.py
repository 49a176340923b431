"""Audits: the verdict, the page, and agreement with the command line."""

import json
import pickle
import subprocess

import numpy as np
import pytest
from test_evaluate import CLI

import unmissed as um


@pytest.fixture(scope="module")
def survey():
    return um.datasets.survey(users=800, test_users=300, controlled_users=400, items=60, random_state=5)


@pytest.fixture(scope="module")
def predictions(survey):
    rng = np.random.default_rng(0)
    clean = survey.test_clean.y.toarray()
    return {"good": clean + rng.random(clean.shape), "bad": 0.2 * clean + rng.random(clean.shape)}


def test_the_verdict_and_its_page(survey, predictions, tmp_path):
    found = um.audit(
        survey.test, predictions, train=survey.train, controlled=survey.controlled, rate="10/60", truth=survey.test_clean, bootstrap=20
    )
    assert found.headline and found.sentences and found.severity in ("info", "warning", "error")
    names = [standing["name"] for standing in found.standings]
    assert names[0] == "observed" and "complete labels" in names
    assert {row.model for row in found.report.rows} == {"good", "bad", "popularity"}
    assert found.missing["source"] == "measured" and 0 < found.missing["share"] < 1
    assert found.reported["standing"] == "complete labels" and found.reported["model"] == "good"
    assert [one["model"] for one in found.popularity] == ["good", "bad"] and found.earlier == []
    assert {score["role"] for score in found.standings[0]["scores"]} == {"audited", "popularity"}
    page = found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page and page.lstrip().lower().startswith("<!doctype html>")
    assert found.headline in repr(found) and "<table" in found._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert again.headline == found.headline and again.to_html() == page
    assert found.to_dict()["verdict"]["headline"] == found.headline


def test_propensities_of_all_kinds(survey, predictions):
    own = um.Propensities(survey.propensities.values, origin="true")
    found = um.audit(survey.test, predictions["good"], train=survey.train, propensity=["jpv:wikipedia", own], bootstrap=0)
    origins = {row.propensity for row in found.report.rows}
    assert {"jpv:a=0.5,b=0.4", "true"} <= origins
    later = um.audit(survey.test, predictions["good"], train=survey.train, later=survey.train_clean, bootstrap=0, k=1)
    assert any(str(origin).startswith("timelapse") for origin in (row.propensity for row in later.report.rows))


def test_an_earlier_audit_is_a_baseline(survey, predictions, tmp_path):
    before = tmp_path / "before.json"
    first = um.audit(survey.test, {"model": predictions["good"]}, train=survey.train, k=1, json=before)
    assert (tmp_path / "before.json.rows.npz").exists()
    assert json.loads(before.read_text())["verdict"] == first.to_dict()["verdict"]
    again = um.audit(survey.test, {"model": predictions["good"]}, train=survey.train, k=1, baseline=before)
    assert "model scores the same on every row as in the earlier audit." in again.headline
    worse = um.audit(survey.test, {"model": predictions["bad"]}, train=survey.train, k=1, baseline=str(before))
    assert worse.earlier[0]["lead"]["difference"] < 0 and worse.earlier[0]["lead"]["stands"]
    with pytest.raises(ValueError, match="other test rows"):
        um.audit(survey.test_clean, {"model": predictions["good"]}, train=survey.train, k=1, baseline=before)
    with pytest.raises(ValueError, match="too short for this k"):
        um.audit(survey.test, {"model": predictions["good"]}, train=survey.train, k=3, baseline=before)


def test_what_does_not_fit_is_refused(survey, predictions):
    for options, words in [
        ({"propensity": "jvp"}, "did you mean 'jpv'"),
        ({"truth": survey.train_clean}, "rows|shape|labels"),
        ({"k": 0}, "k"),
        ({"groups": "halves"}, "halves"),
    ]:
        with pytest.raises(ValueError, match=words):
            um.audit(survey.test, predictions, train=survey.train, bootstrap=0, **options)


def test_the_command_line_finds_the_same(survey, predictions, tmp_path):
    if not CLI.exists() or subprocess.run([CLI, "audit", "--help"], capture_output=True).returncode != 0:
        pytest.skip(f"{CLI} with audit is not built")
    um.write(tmp_path / "train.txt", survey.train)
    um.write(tmp_path / "test.txt", survey.test)
    um.write(tmp_path / "p.txt", scores=predictions["good"])
    command = [CLI, "audit", "--train", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "--predictions", tmp_path / "p.txt"]
    ran = subprocess.run([*command, "--name", "x", "--format", "json"], check=True, capture_output=True)
    theirs = json.loads(ran.stdout)
    ours = um.audit(survey.test, {"p": um.read(tmp_path / "p.txt")}, train=survey.train, name="x").to_dict()
    assert ours["evaluation"] == theirs["evaluation"] and ours["verdict"] == theirs["verdict"]
