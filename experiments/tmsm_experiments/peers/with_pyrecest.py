"""PyRecEst: von Mises–Fisher and Bingham from moments of the rows, and draws from Bingham."""

import numpy as np

from tmsm_experiments.peers.method import Method


def _von_mises_fisher(X):
    from pyrecest.distributions import VonMisesFisherDistribution

    fit = VonMisesFisherDistribution.from_mean_resultant_vector(X.mean(axis=0))
    return {"centre": fit.mu, "size": float(fit.kappa)}


def _bingham(X):
    from pyrecest.distributions.hypersphere_subset import bingham_distribution

    # What was computed for the same rows is kept: without this the time would be that of a look-up.
    bingham_distribution._calculate_F_and_dF_cached.cache_clear()
    fit = bingham_distribution.BinghamDistribution.fit_to_moment(X.T @ X / len(X))
    return {"axis": fit.mode(), "size": float(fit.Z[-1] - fit.Z[0])}


def _draw(setting):
    from pyrecest.distributions import VonMisesFisherDistribution

    mu, kappa, n, seed = setting
    np.random.seed(seed)  # noqa: NPY002
    return VonMisesFisherDistribution(mu, kappa).sample(n)


def _draw_bingham(setting):
    from pyrecest.backend import random
    from pyrecest.distributions import BinghamDistribution

    exponents, n, seed = setting
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    return BinghamDistribution(np.asarray(exponents), np.eye(len(exponents))).sample(n)


VON_MISES_FISHER = Method("PyRecEst", "`VonMisesFisherDistribution.from_mean_resultant_vector`", _von_mises_fisher)
BINGHAM = Method("PyRecEst", "`BinghamDistribution.fit_to_moment`", _bingham)
DRAW = Method("PyRecEst", "`VonMisesFisherDistribution(mu, kappa).sample` (calls SciPy)", _draw)
DRAW_BINGHAM = Method("PyRecEst", "`BinghamDistribution(Z, M).sample` (Metropolis–Hastings)", _draw_bingham)
