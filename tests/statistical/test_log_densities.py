"""A density that is given by its logarithm: errors hold in a cap, with two modes and several parameters."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np

import tmsm

SPHERE = tmsm.Sphere(2)
CAP = tmsm.Cap([0.0, 0.0, 1.0], 1.2)
TRUTH = {"turn": 0.6, "log_kappa": np.log(12.0), "odds": 0.5}
SEEDS = 30


def two_modes(params, x):
    along, across = jnp.cos(params["turn"]) * x[2], jnp.sin(params["turn"]) * x[0]
    kappa = jnp.exp(params["log_kappa"])
    return jnp.logaddexp(kappa * (along + across), kappa * (along - across) + params["odds"])


MODEL = tmsm.LogDensity(two_modes, {"turn": 0.4, "log_kappa": 1.5, "odds": 0.0}, SPHERE)


@lru_cache(maxsize=1)
def pool():
    """Exact draws, by rejection from a uniform distribution: many, of which each seed takes its own."""
    theta = MODEL.natural_parameters(params=TRUTH)
    Y = SPHERE.uniform(900_000, 0)
    Y = Y[CAP.contains(Y)]
    values = MODEL.log_kernel(Y, theta)
    # No density of the family is above log(1 + e^odds) + κ.
    bound = np.log1p(np.exp(TRUTH["odds"])) + np.exp(TRUTH["log_kappa"])
    kept = Y[np.log(np.random.default_rng(1).random(len(Y))) < values - bound]
    assert len(kept) >= 800 * SEEDS
    return kept[: 800 * SEEDS].reshape(SEEDS, 800, 3)


def covered(region, seeds):
    theta = MODEL.natural_parameters(params=TRUTH)
    inside = []
    for X in pool()[:seeds]:
        fit = tmsm.ScoreMatching(MODEL, region).fit(X)
        inside.append(np.abs(fit.natural_params_ - theta) < 1.96 * np.sqrt(np.diag(fit.covariance_)))
    return np.mean(inside, axis=0)


def test_intervals_cover_the_truth():
    found = covered(CAP, SEEDS)
    # Three parameters of thirty fits: 95 ± 2.3 %.
    assert 0.88 < found.mean() <= 0.995
    assert found.min() > 0.8


def test_without_the_border_they_do_not():
    found = covered(tmsm.Everywhere(SPHERE), 15)
    assert found.min() < 0.75
