"""Combined weights in one reading: estimates next to those of several readings, and intervals that hold."""

import numpy as np
import pytest

import tmsm
from tmsm import weights

CAP, MODEL = tmsm.Cap([-1.0, 0.0, 0.0], 1.2), tmsm.VonMisesFisher()
TRUTH = {"mean_direction": tmsm.colatlon_to_xyz(np.pi / 2 + 0.4, 1.2 * np.pi), "concentration": 6.0}
N, KEPT, SEEDS = 4000, 1024, 60


def compared(monkeypatch, in_order):
    """Differences to several readings in standard errors (seeds, 3), and which intervals of κ hold."""
    monkeypatch.setattr("tmsm.matching.kept_rows.MOST_KEPT", KEPT)
    monkeypatch.setattr("tmsm.estimators.streaming.MOST_KEPT", KEPT)
    away, holds = [], []
    for seed in range(SEEDS):
        X = MODEL.sample(N, CAP, random_state=seed, **TRUTH)
        if in_order:  # as a table that is sorted by a coordinate: the first rows are unlike the others
            X = X[np.argsort(X[:, 1])]
        stream = tmsm.ScoreMatching(MODEL, CAP, weights.Combined(2, base=weights.Saturating()))
        for part in np.array_split(X, 4):
            stream.partial_fit(part)
        whole = tmsm.ScoreMatching(MODEL, CAP, stream.weight_).fit(X)
        away.append((stream.natural_params_ - whole.natural_params_) / np.sqrt(np.diag(whole.covariance_)))
        low, high = stream.confidence_interval(method="wald").concentration
        holds.append(low <= 6.0 <= high)
    return np.array(away), np.mean(holds)


# Of the differences 0.02 and 0.19 are expected: a pilot from the first of sorted rows is far off.
@pytest.mark.parametrize(("in_order", "most"), [(False, 0.05), (True, 0.4)], ids=["shuffled", "sorted"])
def test_one_reading_is_as_good_as_several(in_order, most, monkeypatch):
    away, coverage = compared(monkeypatch, in_order)
    assert np.sqrt((away**2).mean()) < most
    assert coverage >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / SEEDS)


def test_covariances_at_the_pilot_are_not_enough(monkeypatch):
    """Negative control: of sorted rows, weighed as they are at a pilot from the first of them."""
    monkeypatch.setattr("tmsm.matching.one_pass.carried_over", lambda whole, before, after: whole)
    away, _ = compared(monkeypatch, in_order=True)
    assert np.sqrt((away**2).mean()) > 1.5
