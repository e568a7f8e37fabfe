"""A density given by its logarithm: von Mises–Fisher by autodiff against its closed form."""

import time

import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

import tmsm

ROWS = 100_000


def log_kernel(params, x):
    """Of von Mises–Fisher, params = κμ."""
    return jnp.dot(params, x)


def log_density_rows():
    """Lines of the table: name, value, unit, and the limits that it should be within."""
    region = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    mean = np.array([0.6, 0.0, 0.8])
    X = tmsm.VonMisesFisher().sample(ROWS, region, random_state=0, mean_direction=mean, concentration=8.0)
    with threadpool_limits(1):
        closed = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(X)
        model = tmsm.LogDensity(log_kernel, np.zeros(3), tmsm.Sphere(2))
        estimator = tmsm.ScoreMatching(model, region, closed.weight_)
        spent = []
        for _ in range(4):
            start = time.perf_counter()
            fit = estimator.fit(X)
            spent.append(time.perf_counter() - start)
    apart = np.abs(np.asarray(fit.params_) - closed.natural_params_).max() / np.abs(closed.natural_params_).max()
    later = float(np.median(spent[1:]))
    return [
        ("von Mises–Fisher by autodiff, against the closed form", apart, "", (0, 1e-10)),
        (f"… {ROWS:,} rows with errors, one core", later, "s", (0, 1)),
        ("… compiling", spent[0] - later, "s", (0, 5)),
    ]
