"""Labels that are removed on purpose."""

from __future__ import annotations

import numpy as np
import pytest

import unmissed as um

COMPLETE = np.ones((4000, 3), int)


def test_labels_are_kept_as_often_as_their_propensities_say():
    kept, p = um.mask(COMPLETE, [0.2, 0.5, 1.0], random_state=3)
    shares = np.asarray(kept.mean(axis=0))[0]
    assert np.abs(shares - [0.2, 0.5, 1.0]).max() < 4 * np.sqrt(0.25 / 4000)
    assert p.values.tolist() == [0.2, 0.5, 1.0]
    again, _ = um.mask(COMPLETE, [0.2, 0.5, 1.0], random_state=3, n_jobs=1)
    assert (kept != again).nnz == 0


@pytest.mark.parametrize("by", ["row", "group", "rank"])
def test_propensities_that_depend_on_more_are_known_on_average(by):
    scores = np.tile([3.0, 2.0, 1.0], (4000, 1))
    kept, p = um.mask(COMPLETE, [0.4, 0.4, 0.4], by=by, predictions=scores if by == "rank" else None)
    shares = np.asarray(kept.mean(axis=0))[0]
    assert np.abs(shares - p.values).max() < 0.04
    assert p.origin.endswith(f", by {by}")
    if by == "rank":
        assert p.values[0] > 0.5 > p.values[2]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="from 0 to 1"):
        um.mask(COMPLETE, [0.5] * 3, correlation=2.0)
    with pytest.raises(ValueError, match="dependence 'rows'"):
        um.mask(COMPLETE, [0.5] * 3, by="rows")
    with pytest.raises(ValueError, match="nothing ranks the labels"):
        um.mask(COMPLETE, [0.5] * 3, by="rank")
    with pytest.raises(ValueError, match="number of propensities"):
        um.mask(COMPLETE, [0.5] * 2)
