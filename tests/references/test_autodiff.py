"""Derivatives by JAX on rows against formulas."""

import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tmsm.foundation.autodiff import PointFunction, function_name


def pair(x):
    return jnp.stack([x[0] * x[1] ** 2, jnp.sin(x[2]) * x[0]])


def by_hand(X):
    """Values, Jacobian and second derivatives of the pair."""
    x, y, z = X.T
    J, H = np.zeros((len(X), 2, 3)), np.zeros((len(X), 2, 3, 3))
    J[:, 0] = np.column_stack([y**2, 2 * x * y, 0 * x])
    J[:, 1] = np.column_stack([np.sin(z), 0 * x, x * np.cos(z)])
    H[:, 0, 0, 1] = H[:, 0, 1, 0] = 2 * y
    H[:, 0, 1, 1] = 2 * x
    H[:, 1, 0, 2] = H[:, 1, 2, 0] = np.cos(z)
    H[:, 1, 2, 2] = -x * np.sin(z)
    return np.column_stack([x * y**2, np.sin(z) * x]), J, H


@pytest.mark.parametrize("n", [0, 1, 5, 257, 20_000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_derivative_agrees_with_its_formula(n, order):
    rng = np.random.default_rng(n)
    X, V, w = (np.asarray(rng.standard_normal((n, 3)), order=order) for _ in range(3))
    W, theta = rng.standard_normal((n, 3, 3)), np.array([0.7, -2.0])
    t, (values, J, H) = PointFunction(pair, "pair"), by_hand(X)
    dot = np.einsum("npd,nd->np", J, w)
    for found, wanted in (
        (t.values(X), values),
        (t.jacobian(X), J),
        (t.slope(X, w), dot),
        (t.slopes(X, W), np.einsum("npd,nkd->nkp", J, W)),
        (t.pulled(X, theta), np.einsum("npd,p->nd", J, theta)),
        (t.second(X, V, w), np.einsum("npde,nd,ne->np", H, V, V) + dot),
        (t.contracted(X, W, w), np.einsum("npde,nde->np", H, W) + dot),
        (t.bent(X, V), np.einsum("npde,ne->npd", H, V)),
    ):
        assert found.shape == wanted.shape
        assert found.dtype == np.float64
        assert found.flags.writeable
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_many_coordinates_and_one_number():
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((40, 30)), rng.standard_normal((40, 30, 30))
    t = PointFunction(lambda x: jnp.sum(x**3), "cubes")
    assert t.shape(30) == ()
    np.testing.assert_allclose(t.values(X)[:, 0], (X**3).sum(1), rtol=1e-12)
    np.testing.assert_allclose(t.jacobian(X)[:, 0], 3 * X**2, rtol=1e-12)
    np.testing.assert_allclose(t.contracted(X, W)[:, 0], 6 * np.einsum("ni,nii->n", X, W), rtol=1e-10)


def test_the_users_settings_and_precision_stay_as_they_are():
    before = jax.config.jax_enable_x64
    assert PointFunction(lambda x: 0.1 * x[0], "tenth").values(np.array([[3.0]]))[0, 0] == 0.1 * 3.0
    assert jax.config.jax_enable_x64 == before
    assert jnp.ones(1).dtype == (jnp.float64 if before else jnp.float32)


def test_odd_numbers_of_rows_are_not_compiled_again():
    calls = []

    def counted(x):
        calls.append(x.shape)
        return x[0] ** 2

    t = PointFunction(counted, "counted")
    for n in (3, 17, 100, 256, 255, 1):
        t.values(np.ones((n, 2)))
    assert len(calls) == 3  # once with an array of NumPy, once for the shape, once to compile
    assert set(calls) == {(2,)}


def test_functions_travel_without_what_was_compiled():
    t = PointFunction(pair, "pair")
    t.values(np.ones((3, 3)))
    data = pickle.dumps(t)
    assert len(data) < 500
    np.testing.assert_array_equal(pickle.loads(data).values(np.ones((1, 3))), t.values(np.ones((1, 3))))


def test_names_of_functions():
    assert function_name(pair, "t") == "pair"
    assert function_name(lambda x: x, "h_2") == "h_2"
    assert function_name(3, "f") == "f"


def test_importing_the_package_does_not_import_jax():
    code = "import sys, tmsm; assert 'jax' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
