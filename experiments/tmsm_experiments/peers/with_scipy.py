"""SciPy: von Mises–Fisher on the whole sphere, normals, and a truncated likelihood written by hand."""

import numpy as np

import tmsm
from tmsm_experiments.peers.method import Method


def _von_mises_fisher(X):
    from scipy.stats import vonmises_fisher

    mu, kappa = vonmises_fisher.fit(X)
    return {"centre": mu, "size": kappa}


def _draw(setting):
    from scipy.stats import vonmises_fisher

    mu, kappa, n, seed = setting
    return vonmises_fisher(mu, kappa).rvs(n, random_state=seed)


def _normal(X):
    from scipy.stats import multivariate_normal

    mean, covariance = multivariate_normal.fit(X)
    return {"centre": mean, "size": np.sqrt(covariance[0, 0])}


def _line(X):
    from scipy.stats import norm

    mean, sigma = norm.fit(X[:, 0])
    return {"centre": [mean], "size": sigma}


def _truncated_line(X):
    from scipy.stats import truncnorm

    _, _, mean, sigma = truncnorm.fit(X[:, 0])
    return {"centre": [mean], "size": sigma}


def _by_hand(X):
    from scipy.optimize import minimize
    from scipy.stats import truncnorm

    x = X[:, 0]

    def minus_log_likelihood(theta):
        mean, sigma = theta[0], np.exp(theta[1])
        return -truncnorm.logpdf(x, -mean / sigma, np.inf, mean, sigma).sum()

    found = minimize(minus_log_likelihood, [x.mean(), np.log(x.std())], method="BFGS")
    return {"centre": [found.x[0]], "size": np.exp(found.x[1])}


def first_wrong_fit(most=120, kappa=50.0):
    """The least number of coordinates, up to so many, from which on the fitted κ is nearly zero; None where none is."""
    wrong = None
    for D in range(most, 2, -1):
        mu = np.ones(D) / np.sqrt(D)
        X = tmsm.VonMisesFisher().sample(1000, random_state=0, mean_direction=mu, concentration=kappa)
        if VON_MISES_FISHER(X)["size"] > 1e-6:
            return wrong
        wrong = D
    return wrong


VON_MISES_FISHER = Method("SciPy", "`stats.vonmises_fisher.fit`", _von_mises_fisher)
DRAW = Method("SciPy", "`stats.vonmises_fisher(mu, kappa).rvs`", _draw)
NORMAL = Method("SciPy", "`stats.multivariate_normal.fit`", _normal)
LINE = Method("SciPy", "`stats.norm.fit`", _line)
TRUNCATED_LINE = Method("SciPy", "`stats.truncnorm.fit`", _truncated_line)
BY_HAND = Method("SciPy", "`stats.truncnorm.logpdf`, maximised by own code", _by_hand)
