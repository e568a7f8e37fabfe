"""pygmmis: mixtures of normals in flat space, with a function that says which rows are seen."""

import numpy as np

from tmsm_experiments.peers.method import Method


def fit_normals(X, n_components, is_seen, seed=0):
    """A mixture of normals of which only rows with ``is_seen`` were recorded; None for all of them."""
    import pygmmis

    gmm = pygmmis.GMM(K=n_components, D=X.shape[1])
    # The first clusters are those of SciPy, which draws from NumPy's global state.
    np.random.seed(seed)  # noqa: NPY002
    rng = np.random.RandomState(seed)
    pygmmis.fit(gmm, X, init_method="kmeans", sel_callback=is_seen, tol=1e-4, rng=rng)
    return gmm


def right_of_zero(X):
    """Whether rows are in `scenarios.mixtures.HALF_PLANE`."""
    return X[:, 0] > 0.0


def _all_above(X):
    return (X > -0.5).all(axis=1)


def _mixture(X):
    gmm = fit_normals(X, 2, right_of_zero)
    return {"shares": gmm.amp, "means": gmm.mean}


def _normal(X):
    gmm = fit_normals(X, 1, _all_above)
    return {"centre": gmm.mean[0], "size": np.sqrt(gmm.covar[0, 0, 0])}


MIXTURE = Method("pygmmis", "`fit(…, sel_callback=…, tol=1e-4)`", _mixture)
NORMAL = Method("pygmmis", "`fit(…, sel_callback=…, tol=1e-4)`", _normal)
