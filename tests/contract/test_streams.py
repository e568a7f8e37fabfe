"""Parts are added, blocks do not matter, memory is constant."""

import tracemalloc

import numpy as np
import pytest

import tmsm
from tmsm import weights
from tmsm.moments import MomentSpec, accumulate
from tmsm.rows import Rows

REGION = tmsm.Cap([-1.0, 0.0, 0.0], 1.4)
MODEL = tmsm.VonMisesFisher()
X = MODEL.sample(30_011, REGION, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)


def moments_of(rows, weight=None, features=True):
    chosen = weights.Saturating(0.3) if weight is None else weight
    return accumulate(MomentSpec(MODEL, chosen), Rows(rows, REGION), features=features)


def test_moments_of_parts_add_to_those_of_the_whole():
    whole = moments_of(X)
    parts = moments_of(X[:1]) + moments_of(X[1:12_345]) + moments_of(X[12_345:])
    assert parts.n == whole.n
    np.testing.assert_allclose(parts.A, whole.A, rtol=1e-12)
    np.testing.assert_allclose(parts.b, whole.b, rtol=1e-12)
    np.testing.assert_allclose(parts.feature_squares, whole.feature_squares, rtol=1e-11, atol=1e-9)
    with pytest.raises(TypeError):
        whole + 1
    box = tmsm.Box([0.0], [1.0])
    flat = MomentSpec(tmsm.MultivariateNormal(), weights.Distance())
    other = accumulate(flat, Rows(np.full((5, 1), 0.5), box))
    with pytest.raises(ValueError, match="cannot be added"):
        whole + other


@pytest.mark.parametrize("weight", ["geodesic", "saturating", "normal"])
def test_partial_fit_equals_fit(weight):
    fixed = tmsm.ScoreMatching(MODEL, REGION, weight).fit(X[:3000]).weight_
    whole = tmsm.ScoreMatching(MODEL, REGION, fixed).fit(X)
    stream = tmsm.ScoreMatching(MODEL, REGION, weight)
    for rows in np.split(X, [3000, 3001, 20_000]):
        stream.partial_fit(rows)
    assert stream.weight_ == fixed  # the scale is frozen at the first block
    assert stream.n_samples_ == len(X)
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(stream.objective_, whole.objective_, rtol=1e-10)


def test_partial_fit_with_weights_exposure_and_known_concentration():
    rng = np.random.default_rng(1)
    w = rng.uniform(0, 2, len(X))
    a = np.array([0.0, 0.0, 1.0])

    def exposure(rows):
        return rows @ a, np.tile(a, (len(rows), 1))

    def make():
        return tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), REGION, "geodesic", log_exposure=exposure)

    whole = make().fit(X, sample_weight=w)
    stream = make().partial_fit(X[:100], sample_weight=w[:100]).partial_fit(X[100:], sample_weight=w[100:])
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-7, atol=1e-13)
    assert np.linalg.matrix_rank(whole.covariance_, tol=1e-12) == 2


def test_partial_fit_waits_for_enough_rows():
    stream = tmsm.ScoreMatching(MODEL, REGION).partial_fit(X[:2])
    with pytest.raises(ValueError, match="2 rows cannot determine 3 parameters"):
        _ = stream.params_
    stream.partial_fit(X[2:50])
    assert stream.n_samples_ == 50


def test_fit_forgets_the_stream():
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic").partial_fit(X[:1000])
    stream.fit(X[1000:2000])
    assert stream.n_samples_ == 1000
    stream.partial_fit(X[:500])
    assert stream.n_samples_ == 500


def test_changed_estimator_does_not_continue_the_stream():
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic").partial_fit(X[:1000])
    stream.set_params(weight="normal")
    with pytest.raises(ValueError, match="has changed since the first partial_fit"):
        stream.partial_fit(X[1000:2000])


def test_bad_block_leaves_the_stream_as_it_was():
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic").partial_fit(X[:1000])
    before = stream.natural_params_
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit(np.full((3, 3), np.nan))
    np.testing.assert_array_equal(stream.natural_params_, before)
    stream.partial_fit(X[1000:2000])
    assert stream.n_samples_ == 2000


def test_too_many_statistics_for_one_pass_errors():
    d = 6  # 27 statistics
    box = tmsm.Box(np.full(d, -1.0), np.full(d, 1.0))
    Y = np.random.default_rng(0).uniform(-0.9, 0.9, (500, d))
    stream = tmsm.ScoreMatching(tmsm.MultivariateNormal(4 * np.eye(d)), box)
    with pytest.warns(UserWarning, match="no standard errors for 27 statistics"):
        stream.partial_fit(Y)
    assert stream.params_.mean.shape == (d,)
    with pytest.raises(ValueError, match="no standard errors"):
        _ = stream.std_errors_
    assert tmsm.ScoreMatching(tmsm.MultivariateNormal(4 * np.eye(d)), box).fit(Y).std_errors_.mean.shape == (d,)


def test_layout_and_type_of_the_table_do_not_matter():
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(X)
    for table in (np.asfortranarray(X), X[::1].tolist(), X.astype(">f8")):
        np.testing.assert_array_equal(tmsm.ScoreMatching(MODEL, REGION).fit(table).natural_params_, fit.natural_params_)
    single = tmsm.ScoreMatching(MODEL, REGION, outside="drop").fit(X.astype(np.float32))
    np.testing.assert_allclose(single.natural_params_, fit.natural_params_, rtol=1e-4)


def test_memory_does_not_grow_with_the_table():
    def peak(n):
        rows = np.broadcast_to(X[:1], (n, 3)).copy()
        rows[: len(X)] = X[:n]
        estimator = tmsm.ScoreMatching(MODEL, REGION)
        tracemalloc.start()
        estimator.fit(rows)
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return high

    assert peak(1_000_000) < 1.5 * peak(100_000) < 100e6
