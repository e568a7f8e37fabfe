"""Newton's method in a trust region: valleys, saddles and curved sets."""

import numpy as np
import pytest

from tmsm.models.constraints import FixedNorm, Unrestricted
from tmsm.numerics.newton import minimise
from tmsm.numerics.trust_region import minimise_in_trust


def valley(theta):
    """Rosenbrock's function, with its minimum 0 at (1, 1)."""
    x, y = theta
    value = (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2
    gradient = np.array([-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)])
    hessian = np.array([[2.0 - 400.0 * (y - 3.0 * x * x), -400.0 * x], [-400.0 * x, 200.0]])
    return float(value), gradient, hessian


def saddle(theta):
    """x⁴/4 − x²/2 + y²/2: a saddle at zero, minima −1/4 at x = ±1."""
    x, y = theta
    value = 0.25 * x**4 - 0.5 * x * x + 0.5 * y * y
    return float(value), np.array([x**3 - x, y]), np.diag([3.0 * x * x - 1.0, 1.0])


@pytest.mark.parametrize("start", [(-1.2, 1.0), (5.0, -30.0), (0.0, 0.0)])
def test_the_end_of_a_curved_valley(start):
    found = minimise_in_trust(valley, Unrestricted(2).point(np.array(start)))
    assert found.reached
    np.testing.assert_allclose(found.point.theta, [1.0, 1.0], atol=1e-7)


def test_a_saddle_is_left():
    found = minimise_in_trust(saddle, Unrestricted(2).point(np.array([1e-3, 2.0])))
    assert found.reached
    assert found.value == pytest.approx(-0.25)


def test_where_there_is_no_value_no_step_goes():
    def beside_a_wall(theta):
        if theta[0] <= 0.0:
            return np.inf, np.zeros(1), np.eye(1)
        return float(theta[0] - np.log(theta[0])), 1.0 - 1.0 / theta, np.diag(theta**-2.0)

    found = minimise_in_trust(beside_a_wall, Unrestricted(1).point(np.array([8.0])))
    assert found.reached
    assert found.point.theta[0] == pytest.approx(1.0)


def test_on_a_curved_set_it_finds_what_the_other_finds():
    A, b = np.diag([1.0, 3.0, 9.0]), np.array([0.3, -0.2, 0.5])

    def objective(theta):
        return float(theta @ A @ theta + 2.0 * b @ theta), 2.0 * (A @ theta + b), 2.0 * A

    start = FixedNorm(2.0, 3).point(np.array([1.0, 1.0, 1.0]))
    ours, theirs = minimise_in_trust(objective, start), minimise(objective, start)
    np.testing.assert_allclose(ours.point.theta, theirs.point.theta, atol=1e-7)
    assert minimise_in_trust(objective, start, [theirs.point.theta]) is None
