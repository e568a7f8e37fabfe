"""An ellipsoid cut by a flat and by a wavy border: a manifold, a region and a family that are all given by formulas."""

from functools import cache

import jax.numpy as jnp
import numpy as np

import tmsm

HALF_AXES = np.array([2.0, 1.3, 0.8])


def ellipsoid(x):
    """Zero on the surface."""
    return jnp.sum((x / HALF_AXES) ** 2) - 1.0


def flat(x):
    """Positive above a plane."""
    return x[2] - 0.15


def wavy(x):
    """Positive above a wave."""
    return x[2] - 0.25 * jnp.sin(2.0 * x[0]) - 0.1 + 0.15 * x[1]


def linear(x):
    """The coordinates themselves."""
    return x


def quadratic(x):
    """The coordinates and what five products of them add: eight statistics."""
    return jnp.stack([*x, x[0] ** 2 - x[1] ** 2, x[0] * x[1], x[0] * x[2], x[1] * x[2], x[2] ** 2])


TRUTH = {
    linear: np.array([1.5, -1.0, 1.0]),
    quadratic: np.array([1.5, -1.0, 2.0, 0.4, 0.5, -0.3, 0.2, -1.0]),
}


@cache
def surface():
    """The ellipsoid as a level set."""
    return tmsm.LevelSet(ellipsoid, 3)


@cache
def region(border):
    """The part of it above a border."""
    return tmsm.Implicit(border, surface())


@cache
def model(statistics):
    """The family of some statistics on it."""
    return tmsm.ExponentialFamily(statistics, surface())


def uniform(n, rng):
    """Uniform draws on the ellipsoid, shape (n, 3).

    The map x = a u of the sphere stretches areas by a₁a₂a₃ |u / a|, which is largest on the shortest half-axis.
    """
    kept = np.empty((0, 3))
    while len(kept) < n:
        u = rng.standard_normal((2 * n + 16, 3))
        u /= np.linalg.norm(u, axis=1)[:, None]
        stretch = np.linalg.norm(u / HALF_AXES, axis=1) * HALF_AXES.min()
        kept = np.vstack([kept, (u * HALF_AXES)[rng.random(len(u)) < stretch]])
    return kept[:n]


def sample(n, statistics, border, seed):
    """Exactly n rows with the true density inside the border, shape (n, 3), by rejection."""
    rng, theta = np.random.default_rng(seed), TRUTH[statistics]
    inside = region(border)
    kept = np.empty((0, 3))
    top = highest(theta)
    while len(kept) < n:
        X = uniform(40 * n, rng)
        log_p = model(statistics).log_kernel(X, theta)
        assert log_p.max() <= top
        X = X[np.log(rng.random(len(X))) < log_p - top]
        kept = np.vstack([kept, X[inside.signed_distance(X)[0] > 0.0]])
    return kept[:n]


def nodes(border, n_nodes=200_000):
    """Points inside a border (m, 3) and the logarithms of their areas (m,): a spiral lattice on the sphere, mapped."""
    k = np.arange(n_nodes) + 0.5
    height, turn = 1.0 - 2.0 * k / n_nodes, np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - height**2)
    u = np.column_stack([across * np.cos(turn), across * np.sin(turn), height])
    log_area = np.log(4.0 * np.pi / n_nodes * HALF_AXES.prod() * np.linalg.norm(u / HALF_AXES, axis=1))
    X = u * HALF_AXES
    inside = region(border).signed_distance(X)[0] > 0.0
    return X[inside], log_area[inside]


def highest(theta):
    """A bound of θ·t on the surface: l·x + xᵀQx with x = a u, |u| = 1, is at most |a l| + λ_max(a Q a)."""
    top = float(np.linalg.norm(HALF_AXES * theta[:3]))
    if len(theta) == 3:
        return top
    q = theta[3:]
    Q = np.array([[q[0], q[1] / 2, q[2] / 2], [q[1] / 2, -q[0], q[3] / 2], [q[2] / 2, q[3] / 2, q[4]]])
    return top + max(float(np.linalg.eigvalsh(HALF_AXES[:, None] * Q * HALF_AXES)[-1]), 0.0)
