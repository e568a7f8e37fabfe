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
    known = has_distance(manifold)
    distances = known * [manifold.geodesic_distance] + manifold.is_embedded * [manifold.chordal_distance]
    for distance in distances:
        np.testing.assert_allclose(distance(X, Y), distance(Y, X), rtol=1e-14)
        np.testing.assert_allclose(distance(X, X), 0.0, atol=1e-15)
        assert (distance(X, Z) <= distance(X, Y) + distance(Y, Z) + 1e-12).all()
    if not manifold.is_embedded:
        with pytest.raises(ValueError, match="no straight lines"):
            manifold.chordal_distance(X, Y)
        return
    if has_chord(manifold):
        geodesic = manifold.geodesic_distance(X, Y)
        np.testing.assert_allclose(manifold.chord(geodesic)[0], manifold.chordal_distance(X, Y), rtol=1e-12)
    elif known:
        assert (manifold.chordal_distance(X, Y) <= manifold.geodesic_distance(X, Y) + 1e-12).all()


@pytest.mark.parametrize("length", [1e-12, 1e-7, 0.3, 2.9, np.pi - 1e-7])
def test_geodesic_distance_keeps_its_digits(manifold, length):
    if not has_distance(manifold):
        return
    if 0 < manifold.injectivity_radius <= length:  # beyond it another path is shorter
        length = manifold.injectivity_radius - 1e-7
    X = points(manifold, 50)
    Y = walk(manifold, X, random_tangents(manifold, X), length)
    # In hyperbolic space coordinates grow along the way.
    size = np.abs(X if manifold.is_embedded else np.vstack([X, Y])).max()
    np.testing.assert_allclose(manifold.geodesic_distance(X, Y), length, rtol=0, atol=1e-15 + 4e-16 * size)


def test_tangents_and_velocities_belong_together(manifold):
    """Tangents are the velocities of geodesics, and their dot product with a gradient is the slope along them."""
    X, h = points(manifold, 50), 1e-4
    V = random_tangents(manifold, X)
    velocity = manifold.velocity(X, V)
    np.testing.assert_allclose(manifold.tangent_of(X, velocity), V, atol=1e-13)
    ahead, behind = walk(manifold, X, V, h), walk(manifold, X, V, -h)
    size = 1 + np.abs(X).max()
    np.testing.assert_allclose((ahead - behind) / (2 * h), velocity, atol=1e-7 * size)
    np.testing.assert_allclose((ahead - 2 * X + behind) / h**2, manifold.acceleration(X, V), atol=1e-6 * size)
    G = np.random.default_rng(3).standard_normal(X.shape)  # the plain derivatives of some function
    gradient = manifold.tangent_gradient(X, G)
    np.testing.assert_allclose((gradient * V).sum(1), (G * velocity).sum(1), atol=1e-13 * size)
    np.testing.assert_allclose(
        (manifold.plain_gradient(X, gradient) * velocity).sum(1), (G * velocity).sum(1), atol=1e-13 * size
    )
    frame = manifold.tangent_frame(X)
    np.testing.assert_allclose(
        np.einsum("inj,knj->nik", frame, frame),
        np.broadcast_to(np.eye(manifold.dim), (50, manifold.dim, manifold.dim)),
        atol=1e-13,
    )
    total = sum(manifold.acceleration(X, e) for e in frame)
    np.testing.assert_allclose(manifold.coordinate_laplacian(X), total, atol=1e-12 * size)


def test_a_grown_box_holds_what_is_near(manifold):
    X = points(manifold, 30)
    if not has_distance(manifold):
        return
    low, high = manifold.grown_box(X.min(0), X.max(0), 0.8)
    Y = walk(manifold, X, random_tangents(manifold, X), 0.8)
    assert ((low - 1e-12 <= Y) & (high + 1e-12 >= Y)).all()


def test_laplacian_of_half_the_squared_distance(manifold):
    if not has_distance(manifold):
        with pytest.raises(ValueError, match="curvature of its distance balls"):
            manifold.half_square_laplacian(points(manifold, 2), points(manifold, 2))
        return
    X, Y, h = points(manifold, 50), points(manifold, 50, 1), 1e-3
    near = manifold.geodesic_distance(X, Y) < 0.9 * manifold.injectivity_radius
    X, Y = X[near], Y[near]

    def half_square(points):
        return 0.5 * manifold.geodesic_distance(points, Y) ** 2

    total = np.zeros(len(X))
    for e in manifold.tangent_frame(X):
        total += half_square(walk(manifold, X, e, h)) + half_square(walk(manifold, X, e, -h)) - 2 * half_square(X)
    np.testing.assert_allclose(manifold.half_square_laplacian(X, Y), total / h**2, atol=2e-4)


def has_distance(manifold):
    """Whether the length of shortest paths is known; if not, a sentence says so."""
    if not isinstance(manifold, tmsm.LevelSet):
        return True
    X = points(manifold, 2)
    with pytest.raises(ValueError, match="does not know the length of its shortest paths"):
        manifold.geodesic_distance(X, X)
    return False


def has_chord(manifold):
    """Whether the straight line is a function of the path along the manifold."""
    try:
        return manifold.chord(np.zeros(1)) is not None
    except ValueError:
        return False


def test_chord_derivative(manifold):
    if not has_chord(manifold):
        assert len(manifold.factors) > 1 or not (manifold.is_embedded and has_distance(manifold))
        return
    d = np.linspace(-2.0, 2.0, 41)
    slope = (manifold.chord(d + 1e-6)[0] - manifold.chord(d - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(manifold.chord(d)[1], slope, atol=1e-9)


def test_uniform_draws(manifold):
    if not manifold.is_closed:
        with pytest.raises(ValueError, match="no uniform distribution"):
            manifold.uniform(3)
        return
    X = manifold.uniform(20_000, 7)
    assert manifold.contains(X).all()
    # The mean is zero and the second moment I/D in each factor, each within five standard errors.
    D = min(factor.embedding_dim for factor in manifold.factors)
    second = np.diag(np.concatenate([np.full(f.embedding_dim, 1 / f.embedding_dim) for f in manifold.factors]))
    assert np.abs(X.mean(0)).max() < 5 / np.sqrt(D * len(X))
    assert np.abs(X.T @ X / len(X) - second).max() < 5 / np.sqrt(D * len(X))
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
    curved = any(isinstance(factor, tmsm.Sphere | tmsm.Rotations | tmsm.LevelSet) for factor in manifold.factors)
    assert manifold.settle(off) == (True, curved)
    if isinstance(manifold, tmsm.Sphere):
        np.testing.assert_allclose(off, X, atol=1e-15)
        assert manifold.settle(X * (1 + 5e-6)) == (False, False)


def test_geodesics_bend_by_the_acceleration(manifold):
    X, h = points(manifold, 30), 1e-4
    V = random_tangents(manifold, X)
    ahead, behind = walk(manifold, X, V, h), walk(manifold, X, V, -h)
    np.testing.assert_allclose((ahead - behind) / (2 * h), manifold.velocity(X, V), atol=1e-7)
    np.testing.assert_allclose((ahead - 2 * X + behind) / h**2, manifold.acceleration(X, V), atol=1e-6)
    # The Laplacian of the coordinates is the trace of the acceleration.
    total = sum(manifold.acceleration(X, u) for u in manifold.tangent_frame(X))
    np.testing.assert_allclose(manifold.coordinate_laplacian(X), total, atol=1e-10)


def test_frames_are_orthonormal_and_gradients_are_dual_to_velocities(manifold):
    X = points(manifold, 20)
    frame = np.stack(manifold.tangent_frame(X), axis=1)
    np.testing.assert_allclose(
        frame @ np.swapaxes(frame, 1, 2),
        np.broadcast_to(np.eye(manifold.dim), (20, manifold.dim, manifold.dim)),
        atol=1e-12,
    )
    np.testing.assert_allclose(manifold.project_tangent(X, frame[:, 0]), frame[:, 0], atol=1e-12)
    G = np.random.default_rng(0).standard_normal(X.shape)
    V = random_tangents(manifold, X)
    slope = (manifold.tangent_gradient(X, G) * V).sum(1)
    np.testing.assert_allclose(slope, (G * manifold.velocity(X, V)).sum(1), atol=1e-12)


def test_half_square_laplacian(manifold):
    if not has_distance(manifold):
        return
    X, Y, h = points(manifold, 200, 1), points(manifold, 200, 2), 1e-3
    keep = manifold.geodesic_distance(X, Y) < 0.9 * manifold.injectivity_radius
    X, Y = X[keep][:20], Y[keep][:20]
    assert len(X) >= 5

    def half_square(Z):
        return 0.5 * manifold.geodesic_distance(Z, Y) ** 2

    total = np.zeros(len(X))
    for u in manifold.tangent_frame(X):
        near = half_square(walk(manifold, X, u, h)) + half_square(walk(manifold, X, u, -h))
        far = half_square(walk(manifold, X, u, 2 * h)) + half_square(walk(manifold, X, u, -2 * h))
        total += (16 * near - far - 30 * half_square(X)) / (12 * h * h)
    np.testing.assert_allclose(manifold.half_square_laplacian(X, Y), total, rtol=1e-5, atol=1e-5)


def test_logarithm_inverts_the_exponential_map(manifold):
    X = points(manifold, 20)
    if not has_distance(manifold):
        with pytest.raises(ValueError, match="no exponential map"):
            manifold.exponential(X, 0.0 * X)
        return
    V = random_tangents(manifold, X) * 0.5
    np.testing.assert_allclose(manifold.logarithm(X, manifold.exponential(X, V)), V, atol=1e-9)


def test_quarter_turns_keep_lengths_and_right_angles(manifold):
    X = points(manifold, 20)
    V = random_tangents(manifold, X)
    if not manifold.has_quarter_turn:
        with pytest.raises(ValueError, match="right angle in dimension two only"):
            manifold.quarter_turn(X, V)
        return
    turned = manifold.quarter_turn(X, V)
    np.testing.assert_allclose((turned * V).sum(1), 0.0, atol=1e-12)
    np.testing.assert_allclose(manifold.quarter_turn(X, turned), -V, atol=1e-12)


def test_functions_tell_points_apart_and_have_the_derivatives_that_they_say(manifold):
    X, h = points(manifold, 20, 4), 1e-4
    V = random_tangents(manifold, X)
    size = 1 + np.abs(X).max()
    values = manifold.functions(X)
    assert values.shape == (20, manifold.n_functions)
    slope = (manifold.functions(walk(manifold, X, V, h)) - manifold.functions(walk(manifold, X, V, -h))) / (2 * h)
    np.testing.assert_allclose(manifold.function_velocity(X, V), slope, atol=1e-7 * size)
    a = np.random.default_rng(5).standard_normal(manifold.n_functions)
    np.testing.assert_allclose((manifold.function_gradient(X, a) * V).sum(1), slope @ a, atol=1e-6 * size)
    total = 0.0
    for u in manifold.tangent_frame(X):
        total = total + manifold.functions(walk(manifold, X, u, h)) + manifold.functions(walk(manifold, X, u, -h))
    bend = (total - 2 * manifold.dim * values) / h**2
    np.testing.assert_allclose(manifold.function_laplacians(X), bend, atol=2e-6 * size)
    if manifold.is_embedded:
        np.testing.assert_allclose(np.linalg.norm(manifold.function_velocity(X, V), axis=1), 1.0, rtol=1e-12)
    Y = points(manifold, 20, 6)
    assert (np.abs(manifold.functions(Y) - values).max(axis=1) > 1e-3).all()
