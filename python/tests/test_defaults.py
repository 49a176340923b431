"""Python's defaults are those of the library's requests: every field has its keyword, every keyword its field, and both say the same."""

import inspect
import json

import pytest

import unmissed as um
from unmissed import _core

#: Fields under another name in Python.
RENAMED = {
    "propensities": "propensity",
    "seed": "random_state",
    "tolerance": "tol",
    "sweeps": "max_iter",
    "max_steps": "max_iter",
    "raise": "raise_propensities",
}

#: Fields that Python leaves as they are: shards, files and memory belong to the command line, evidence goes to `fit`.
NOT_IN_PYTHON = {"annotate": set(), "evaluate": {"shard"}, "audit": {"gates"}, "optimize": set(), "train": {"validation", "memory", "controlled", "later"}, "tree": set()}

#: Fields that requests leave out at their default, so that files from before there was a choice stay as they are.
LEFT_OUT = {"tree": {"calibrate": True}}

#: Keywords that say how work is done, in which form data come, or what the data are: no choices about the result.
OF_PYTHON = {
    "annotate": {"y_true", "y_pred", "train", "earlier", "label_names", "row_names", "row_texts", "n_labels"},
    "evaluate": {"y_true", "y_pred", "train", "later", "train_predictions", "shown", "label_counts", "row_covariates", "pair_covariates", "n_labels",
                 "judged", "judged_plan", "machine_judged", "label_names"},
    "audit": {"y_true", "y_pred", "train", "controlled", "later", "train_predictions", "truth", "n_labels", "judged", "judged_plan", "machine_judged",
              "baseline", "json", "label_names", "row_names", "row_text", "labels_csv", "rows_csv"},
    "optimize": {"scores", "train", "test", "n_labels"},
    "train": {"prune", "half"},
    "tree": set(),
}


def as_python(field, value):
    """A default of a request as Python writes it."""
    if field in ("propensities", "decay", "learning_rate") and value == []:
        return None
    if (field, value) == ("normalize", "auto"):
        return None
    if field == "conventions":
        # None asks for none of the conventions that differ from ours.
        return None
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize("verb", ["annotate", "evaluate", "audit", "optimize", "train", "tree"])
def test_defaults_are_those_of_the_library(verb):
    if verb in ("train", "tree"):
        pytest.importorskip("sklearn")
    function = {"annotate": "annotation_plan", "evaluate": "evaluate", "audit": "audit", "optimize": "optimize_predictions", "train": "OneVsRest", "tree": "LabelTree"}[verb]
    request = json.loads(_core.default_requests())[verb]
    keywords = {name: one.default for name, one in inspect.signature(getattr(um, function)).parameters.items()}
    ours = {name: default for name, default in keywords.items() if name not in OF_PYTHON[verb] | {"n_jobs", "verbose"}}
    theirs = {RENAMED.get(name, name): as_python(name, value) for name, value in request.items() if name not in NOT_IN_PYTHON[verb]} | LEFT_OUT.get(verb, {})
    assert ours == theirs
    assert NOT_IN_PYTHON[verb] <= set(request) and OF_PYTHON[verb] <= set(keywords)


@pytest.mark.parametrize("function", list(json.loads(_core.other_defaults())))
def test_defaults_of_other_functions_are_those_of_the_library(function):
    parameters = inspect.signature(getattr(um, function)).parameters
    theirs = json.loads(_core.other_defaults())[function]
    assert {name: parameters[name].default for name in theirs} == theirs


def test_every_verb_is_compared():
    assert set(json.loads(_core.default_requests())) == set(OF_PYTHON)

