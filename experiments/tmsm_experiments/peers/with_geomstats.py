"""geomstats: means and draws on the sphere."""

from tmsm_experiments.peers.method import Method


def _mean(X, **settings):
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.learning.frechet_mean import FrechetMean

    return {"centre": FrechetMean(Hypersphere(X.shape[1] - 1)).set(**settings).fit(X).estimate_}


def _accurate_mean(X):
    return _mean(X, epsilon=1e-20, max_iter=200)


def _draw(setting):
    import geomstats.backend as gs
    from geomstats.geometry.hypersphere import Hypersphere

    mu, kappa, n, seed = setting
    gs.random.seed(seed)
    return Hypersphere(len(mu) - 1).random_von_mises_fisher(mu=mu, kappa=kappa, n_samples=n)


MEAN = Method("geomstats", "`FrechetMean(Hypersphere(…))`", _mean)
ACCURATE_MEAN = Method("geomstats", "`FrechetMean(Hypersphere(…)).set(epsilon=1e-20, max_iter=200)`", _accurate_mean)
DRAW = Method("geomstats", "`Hypersphere(…).random_von_mises_fisher`", _draw)
