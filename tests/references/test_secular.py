import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmsm.foundation.errors import EstimationError
from tmsm.matching.solve import solve
from tmsm.models import AffineSubspace, FixedNorm, Unrestricted
from tmsm.numerics.sphere_quadratics import minimise_on_sphere


def quadratic(A, b, theta):
    return theta @ A @ theta + 2 * b @ theta


@given(seed=st.integers(0, 10**6), p=st.integers(1, 6), log_radius=st.floats(-6, 6), log_scale=st.floats(-6, 6))
def test_global_minimum_on_the_sphere(seed, p, log_radius, log_scale):
    rng = np.random.default_rng(seed)
    radius = 10.0**log_radius
    values = rng.standard_normal(p)
    c = 10.0**log_scale * rng.standard_normal((1, p))
    theta, multiplier, hard = minimise_on_sphere(values, c, radius)
    theta, t = theta[0], multiplier[0]
    assert not hard[0]
    np.testing.assert_allclose(np.linalg.norm(theta), radius, rtol=1e-14)
    # Necessary and sufficient for the global minimum: stationary, and no negative curvature in A + tI.
    np.testing.assert_allclose((values + t) * theta, -c[0], atol=1e-9 * (np.abs(c).max() + radius))
    assert (values + t >= -1e-12).all()


def test_hard_case_gives_one_of_the_two_minima():
    values = np.array([1.0, 2.0, 5.0])
    c = np.array([[0.0, 1.0, -2.0]])
    theta, multiplier, hard = minimise_on_sphere(values, c, 3.0)
    assert hard[0]
    np.testing.assert_allclose(multiplier, -1.0)
    np.testing.assert_allclose(theta[0, 1:], [-1.0, 0.5])
    np.testing.assert_allclose(np.linalg.norm(theta), 3.0)
    # Nothing on a fine grid of the sphere is lower.
    grid = np.random.default_rng(0).standard_normal((200_000, 3))
    grid *= 3.0 / np.linalg.norm(grid, axis=1)[:, None]
    lowest = (grid**2 @ values + 2 * grid @ c[0]).min()
    ours = theta[0] ** 2 @ values + 2 * theta[0] @ c[0]
    assert lowest - 1e-2 < ours <= lowest


@pytest.mark.parametrize("tiny", [0.0, 1e-300, 1e-18, 1e-12, 1e-6])
def test_next_to_the_hard_case_no_digit_is_lost(tiny):
    theta, _, hard = minimise_on_sphere(np.array([1.0, 2.0]), np.array([[tiny, 0.3]]), 2.0)
    assert hard[0] == (tiny == 0.0)
    np.testing.assert_allclose(np.abs(theta[0]), [np.sqrt(4 - 0.09), 0.3], rtol=1e-6)
    assert tiny == 0.0 or theta[0, 0] < 0.0


def test_small_sphere_is_not_the_hard_case():
    # c vanishes on the lowest eigenvector, but the others fill the norm.
    theta, _, hard = minimise_on_sphere(np.array([1.0, 2.0]), np.array([[0.0, 3.0]]), 2.0)
    assert not hard[0]
    np.testing.assert_allclose(theta, [[0.0, -2.0]], atol=1e-14)


def test_equal_eigenvalues():
    theta, _, _ = minimise_on_sphere(np.full(3, 2.0), np.array([[1.0, 2.0, -2.0]]), 6.0)
    np.testing.assert_allclose(theta, [[-2.0, -4.0, 4.0]])
    theta, _, hard = minimise_on_sphere(np.full(3, 2.0), np.zeros((1, 3)), 6.0)
    assert hard[0]
    np.testing.assert_allclose(np.linalg.norm(theta), 6.0)


@given(seed=st.integers(0, 10**6))
def test_solvers_agree_where_their_sets_meet(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((4, 4))
    A, b = root @ root.T + 0.1 * np.eye(4), rng.standard_normal(4)
    free = solve(Unrestricted(4), A, b)
    np.testing.assert_allclose(A @ free.theta, -b, atol=1e-9)
    on_sphere = solve(FixedNorm(float(np.linalg.norm(free.theta)), 4), A, b)
    np.testing.assert_allclose(on_sphere.theta, free.theta, rtol=1e-6, atol=1e-8)
    basis = np.eye(4)[:, :2]
    offset = np.concatenate([np.zeros(2), free.theta[2:]])
    affine = solve(AffineSubspace(offset, basis), A, b)
    np.testing.assert_allclose(affine.theta, free.theta, rtol=1e-8, atol=1e-9)
    for radius in (0.1, 3.0):
        near = solve(FixedNorm(radius, 4), A, b).theta
        trial = rng.standard_normal((2000, 4))
        trial *= radius / np.linalg.norm(trial, axis=1)[:, None]
        assert quadratic(A, b, near) <= min(quadratic(A, b, t) for t in trial) + 1e-12


@pytest.mark.parametrize(
    "A", [np.diag([1.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0]]), np.diag([1.0, -1.0]), np.full((2, 2), np.nan)]
)
def test_singular_matrix_is_reported(A):
    with pytest.raises(EstimationError, match="singular"):
        solve(Unrestricted(2), A, np.ones(2))


def test_scaling_of_the_statistics_is_no_singularity():
    A = np.diag([1.0, 1e-20])
    solution = solve(Unrestricted(2), A, -np.diag(A))
    np.testing.assert_allclose(solution.theta, 1.0)
    assert solution.condition == 1.0


def test_hard_case_says_so():
    solution = solve(FixedNorm(3.0, 2), np.diag([1.0, 2.0]), np.array([0.0, 1.0]))
    assert "Two directions fit equally well" in solution.status
