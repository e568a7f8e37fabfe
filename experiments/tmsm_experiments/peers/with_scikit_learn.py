"""scikit-learn: mixtures of normals, and kernels on the sphere."""

import numpy as np

import tmsm
from tmsm_experiments.peers.method import Method

# From some kilometres' width to that of a continent, in radians.
BANDWIDTHS = np.geomspace(0.01, 0.6, 14)


def _mixture(X):
    from sklearn.mixture import GaussianMixture

    fit = GaussianMixture(2, random_state=0).fit(X)
    return {"shares": fit.weights_, "means": fit.means_}


def _places(X):
    lon, lat = tmsm.xyz_to_lonlat(X)
    return np.radians(np.column_stack([lat, lon]))


def _kernels(setting):
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KernelDensity

    _, X, points = setting
    kernels = KernelDensity(metric="haversine", kernel="gaussian")
    found = GridSearchCV(kernels, {"bandwidth": BANDWIDTHS}, cv=10).fit(_places(X))
    return {"log_density": found.best_estimator_.score_samples(_places(points))}


MIXTURE = Method("scikit-learn", "`GaussianMixture(2)`", _mixture)
KERNELS = Method("scikit-learn", '`KernelDensity(metric="haversine")`, width by `GridSearchCV`', _kernels)
