"""The package itself, on the same jobs."""

import numpy as np

import tmsm
from scenarios import mixtures
from tmsm_experiments.peers.method import Method


def _cluster(params):
    return {"centre": params.mean_direction, "size": params.concentration}


def _normal(params):
    return {"centre": params.mean, "size": np.sqrt(params.covariance[0][0])}


def _components(params):
    return {"shares": params.shares, "means": params.mean}


def fitted(call, estimator, read):
    """A method that fits an estimator and reads its parameters."""
    return Method("tmsm", call, lambda X: read(estimator.fit(X).params_))


def truncated_cluster(region):
    """Score matching, and the exact likelihood, of von Mises–Fisher rows inside a region."""
    model = tmsm.VonMisesFisher()
    return [
        fitted("`ScoreMatching(VonMisesFisher(), region)`", tmsm.ScoreMatching(model, region), _cluster),
        fitted("`TruncatedMLE(VonMisesFisher(), region)`", tmsm.TruncatedMLE(model, region), _cluster),
    ]


def truncated_normal(region):
    """The same for normal rows."""
    model = tmsm.MultivariateNormal()
    return [
        fitted("`ScoreMatching(MultivariateNormal(), region)`", tmsm.ScoreMatching(model, region), _normal),
        fitted("`TruncatedMLE(MultivariateNormal(), region)`", tmsm.TruncatedMLE(model, region), _normal),
    ]


def _bingham(params):
    values, axes = np.linalg.eigh(params.quadratic)
    return {"axis": axes[:, -1], "size": values[-1] - values[0]}


def _draw(setting):
    mu, kappa, n, seed = setting
    return tmsm.VonMisesFisher().sample(n, random_state=seed, mean_direction=mu, concentration=kappa)


def _draw_bingham(setting):
    exponents, n, seed = setting
    return tmsm.Bingham().sample(n, random_state=seed, quadratic=np.diag(exponents))


def _map(kind):
    def estimate(setting):
        region, X, points = setting
        return {"log_density": kind(region).fit(X).density_.log_density(points)}

    return estimate


VON_MISES_FISHER = fitted("`NaiveMLE(VonMisesFisher())`", tmsm.NaiveMLE(tmsm.VonMisesFisher()), _cluster)
BINGHAM = fitted("`NaiveMLE(Bingham())`", tmsm.NaiveMLE(tmsm.Bingham()), _bingham)
MIXTURE = fitted(
    "`TruncatedMLE(Mixture(MultivariateNormal(), 2), region)`",
    tmsm.TruncatedMLE(mixtures.NORMALS, mixtures.HALF_PLANE),
    _components,
)
DRAW = Method("tmsm", "`VonMisesFisher().sample`", _draw)
DRAW_BINGHAM = Method("tmsm", "`Bingham().sample`", _draw_bingham)
SMOOTH_MAP = Method("tmsm", "`DensityMap(region)`", _map(tmsm.DensityMap))
KERNEL_MAP = Method("tmsm", "`AdaptiveKernel(region)`", _map(tmsm.AdaptiveKernel))
