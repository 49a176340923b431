"""Examples in docstrings of what needs frameworks."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["huggingface", "ray", "torch", "torchmetrics"])
def test_examples_hold(name):
    module = importlib.import_module(f"unmissed.{name}")
    assert doctest.testmod(module).failed == 0
