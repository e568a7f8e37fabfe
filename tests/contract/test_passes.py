"""Nothing is done twice: distances once for a row, nodes once for a region, and memory that groups hardly need."""

import copy
import gc
import pickle
import tracemalloc
import weakref

import numpy as np
import pytest

import tmsm
from tests.registry import star
from tmsm.data.groups import Groups
from tmsm.foundation.shared import shelf_of
from tmsm.measure.nodes import Grid, build_nodes

MODEL = tmsm.VonMisesFisher()
TRUTH = {"mean_direction": [1.0, 0.0, 0.0], "concentration": 8.0}


@pytest.fixture
def coast():
    return tmsm.SphericalPolygon([star(60, 1)])


@pytest.fixture
def asked(coast, monkeypatch):
    """Numbers of rows that distances to the border are asked for, one entry for each call."""
    calls, original = [], tmsm.SphericalPolygon.signed_distance

    def counting(self, X):
        calls.append(len(X))
        return original(self, X)

    monkeypatch.setattr(tmsm.SphericalPolygon, "signed_distance", counting)
    return calls


def test_a_fit_computes_the_distance_of_a_row_once(coast, asked):
    X = MODEL.sample(20_000, coast, random_state=0, **TRUTH)
    asked.clear()
    fit = tmsm.ScoreMatching(MODEL, coast).fit(X)
    assert "combined, level 5" in fit.summary()
    # All of the rows once, whatever passes over them there were, and not again for what they are judged by: what
    # is left is the distance of the centre, and of draws that show the mass outside.
    assert sum(asked) == len(X) + 1 + 20_000


@pytest.mark.slow
def test_more_rows_than_are_kept_are_asked_once_more_for_the_sample(coast, asked):
    X = MODEL.sample(150_000, coast, random_state=0, **TRUTH)
    asked.clear()
    fit = tmsm.ScoreMatching(MODEL, coast).fit(X)
    kept = len(fit.result_.kept)
    assert 40_000 < kept <= 65_536
    assert sum(asked) == len(X) + kept
    asked.clear()
    assert fit.status_
    assert sum(asked) <= 1


def test_rows_that_are_dropped_are_looked_at_once(coast, asked):
    X = np.vstack(
        [MODEL.sample(9000, coast, random_state=0, **TRUTH), -MODEL.sample(500, coast, random_state=1, **TRUTH)]
    )
    asked.clear()
    fit = tmsm.ScoreMatching(MODEL, coast, "saturating", outside="drop").fit(X)
    assert fit.n_outside_ == 500
    assert sum(asked) <= 2 * len(X)


@pytest.mark.slow
def test_kept_blocks_change_nothing(coast, monkeypatch):
    X = MODEL.sample(70_000, coast, random_state=0, **TRUTH)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    usual = tmsm.ScoreMatching(MODEL, coast).fit(X, sample_weight=w)
    monkeypatch.setattr("tmsm.data.rows._KEPT_NUMBERS", 0)
    forgetful = tmsm.ScoreMatching(MODEL, coast).fit(X, sample_weight=w)
    np.testing.assert_array_equal(usual.natural_params_, forgetful.natural_params_)
    np.testing.assert_array_equal(usual.covariance_, forgetful.covariance_)


def test_groups_take_little_memory(monkeypatch):
    monkeypatch.setattr("tmsm.matching.row_sums._FEWEST_ROWS", np.inf)  # sums over groups go by arrays
    cap, n = tmsm.Cap([1.0, 0.0, 0.0], 0.8), 400_000
    X = MODEL.sample(n, cap, random_state=0, **TRUTH)
    labels = np.repeat(np.arange(n // 500), 500)

    def peak(**options):
        tracemalloc.start()
        tmsm.ScoreMatching(MODEL, cap).fit(X, **options)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak()  # what is compiled and imported once
    # Beyond a fit without them: the numbers of the groups, eight bytes a row, and a copy of them.
    assert peak(groups=labels) <= peak() + 2.5 * 8 * n


@pytest.mark.parametrize(
    "labels",
    [
        np.array([7, 7, 3, 9, 3]),
        np.array([-2, -2, 5, 5, 0], dtype=np.int8),
        np.array([250, 250, 3, 255, 3], dtype=np.uint8),
        np.array([10**15, 10**15, -4, 8, -4]),
        np.array([-128, -128, 127, 0, 127], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 1, 2**64 - 4, 2**64 - 3, 2**64 - 4], dtype=np.uint64),
        np.array([2**64 - 1, 2**64 - 1, 0, 5, 0], dtype=np.uint64),
        np.array(["b", "b", "a", "c", "a"]),
    ],
)
def test_groups_are_numbered_in_the_order_of_their_labels(labels):
    found = Groups.of(labels, 5)
    names, codes = np.unique(labels, return_inverse=True)
    assert found.count == len(names)
    np.testing.assert_array_equal(found.codes, codes)


def test_equal_regions_share_nodes_as_long_as_any_of_them_lives():
    first, second = (tmsm.LonLatBox(-30.25, -20.5, 41.0, 50.0) for _ in range(2))
    nodes = build_nodes(first, Grid(3, 1))
    assert build_nodes(second, Grid(3, 1)) is nodes
    del first
    gc.collect()
    third = tmsm.LonLatBox(-30.25, -20.5, 41.0, 50.0)
    assert build_nodes(third, Grid(3, 1)) is nodes
    assert build_nodes(tmsm.LonLatBox(-30.0, -20.5, 41.0, 50.0), Grid(3, 1)) is not nodes
    # Large as they are, nodes do not travel with a copy to another process, and are found again in this one.
    travelled = pickle.loads(pickle.dumps(second))
    assert "_shelf" not in vars(travelled)
    assert build_nodes(travelled, Grid(3, 1)) is nodes
    assert copy.deepcopy(second) is second


def test_what_is_kept_has_a_bound():
    region = tmsm.LonLatBox(-31.0, -21.0, 43.0, 51.0)
    for leaf in range(1, 4):
        for cell in range(1, 6):
            build_nodes(region, Grid(cell, leaf))
    assert len(shelf_of(region)) == 12
    newest = build_nodes(region, Grid(5, 3))
    assert build_nodes(region, Grid(5, 3)) is newest


def test_nothing_is_kept_of_regions_that_are_gone():
    from tmsm.foundation import shared

    gc.collect()
    before = len(shared._SHELVES)
    for k in range(20):
        build_nodes(tmsm.LonLatBox(-30.0 + k / 7, -20.0, 41.0, 50.0), Grid(2, 1))
    gc.collect()
    shelf_of(tmsm.LonLatBox(1.0, 2.0, 3.0, 4.0))
    assert len(shared._SHELVES) <= before + 1


def test_a_stream_does_not_hold_on_to_its_rows(coast):
    X = MODEL.sample(200_000, coast, random_state=0, **TRUTH)
    first = X[:150_000].copy()
    lives = weakref.ref(first)
    stream = tmsm.ScoreMatching(MODEL, coast).partial_fit(first)
    del first
    gc.collect()
    assert lives() is None
    assert stream.partial_fit(X[150_000:]).n_samples_ == 200_000
