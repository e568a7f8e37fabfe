import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tmsm
from tests.registry import MANIFOLDS, points, random_tangents, walk

pytestmark = pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)


@given(seed=st.integers(0, 10**6))
def test_projection_is_idempotent_symmetric_and_tangent(manifold, seed):
    X = points(manifold, 20, seed)
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal(X.shape), rng.standard_normal(X.shape)
    PU, PV = manifold.project_tangent(X, U), manifold.project_tangent(X, V)
    np.testing.assert_allclose(manifold.project_tangent(X, PU), PU, atol=1e-14)
    np.testing.assert_allclose((PU * V).sum(1), (U * PV).sum(1), atol=1e-13)
    # A tangent vector is the velocity of a curve on the manifold.
    assert manifold.contains(walk(manifold, X, random_tangents(manifold, X), 1e-3)).all()


@given(seed=st.integers(0, 10**6))
def test_distances_are_metrics(manifold, seed):
    X, Y, Z = (points(manifold, 20, seed + k) for k in range(3))
    for distance in (manifold.geodesic_distance, manifold.chordal_distance):
        np.testing.assert_allclose(distance(X, Y), distance(Y, X), rtol=1e-14)
        np.testing.assert_allclose(distance(X, X), 0.0, atol=1e-15)
        assert (distance(X, Z) <= distance(X, Y) + distance(Y, Z) + 1e-12).all()
    geodesic = manifold.geodesic_distance(X, Y)
    np.testing.assert_allclose(manifold.chord(geodesic)[0], manifold.chordal_distance(X, Y), rtol=1e-12)


@pytest.mark.parametrize("length", [1e-12, 1e-7, 0.3, 2.9, np.pi - 1e-7])
def test_geodesic_distance_keeps_its_digits(manifold, length):
    X = points(manifold, 50)
    Y = walk(manifold, X, random_tangents(manifold, X), length)
    np.testing.assert_allclose(manifold.geodesic_distance(X, Y), length, rtol=0, atol=1e-15 + 4e-16 * np.abs(X).max())


def test_chord_derivative(manifold):
    d = np.linspace(-2.0, 2.0, 41)
    slope = (manifold.chord(d + 1e-6)[0] - manifold.chord(d - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(manifold.chord(d)[1], slope, atol=1e-9)


def test_uniform_draws(manifold):
    if isinstance(manifold, tmsm.Euclidean):
        with pytest.raises(ValueError, match="no uniform distribution"):
            manifold.uniform(3)
        return
    X = manifold.uniform(20_000, 7)
    assert manifold.contains(X).all()
    # The mean is zero and the second moment I/D, each within five standard errors.
    D = manifold.embedding_dim
    assert np.abs(X.mean(0)).max() < 5 / np.sqrt(D * len(X))
    assert np.abs(X.T @ X / len(X) - np.eye(D) / D).max() < 5 / np.sqrt(D * len(X))
    np.testing.assert_array_equal(manifold.uniform(5, 3), manifold.uniform(5, np.random.default_rng(3)))


def test_membership_has_a_reason(manifold):
    X = points(manifold, 10)
    assert manifold.reason(X) is None
    X[3, 0] = np.nan
    assert "row 3" in manifold.reason(X)
    assert not manifold.contains(X)[3]
    assert manifold.settle(X) == (False, False)


def test_rows_off_by_rounding_are_put_onto_the_manifold(manifold):
    X = points(manifold, 10)
    off = X * (1 + 5e-7)
    assert manifold.settle(X) == (True, False)
    assert manifold.settle(off) == (True, isinstance(manifold, tmsm.Sphere))
    if isinstance(manifold, tmsm.Sphere):
        np.testing.assert_allclose(off, X, atol=1e-15)
        assert manifold.settle(X * (1 + 5e-6)) == (False, False)
