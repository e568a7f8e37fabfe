"""Directions in a cap with an energy above a threshold, the one depending on the other."""

import numpy as np

import tmsm

SPACE = tmsm.Sphere(2) * tmsm.Euclidean(1)
# Statistics x, y, −y²/2 and xy.
MODEL = (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).interacting(second=[0]).on(SPACE)


def _direction(colatitude, longitude):
    return np.array(
        [np.sin(colatitude) * np.cos(longitude), np.sin(colatitude) * np.sin(longitude), np.cos(colatitude)]
    )


_SHARED = {"second": [1.0, 4.0], "interaction": [[1.5], [-1.0], [0.5]]}
# The parameters, and the threshold.
SETTINGS = {
    "mean inside": ({"first": 5.0 * _direction(0.6, 0.5), **_SHARED}, 0.3),
    "mean outside": ({"first": 6.0 * _direction(1.0, 0.5), **_SHARED}, 0.6),
}


def region(threshold, scale=1.0, shift=0.0):
    """Where points are seen; energies in other units are ``scale`` y + ``shift``."""
    return tmsm.Cap([0.0, 0.0, 1.0], 0.7) * tmsm.Box([scale * threshold + shift], [np.inf])


def sample(n, setting, seed):
    """So many rows of a setting."""
    params, threshold = SETTINGS[setting]
    return MODEL.sample(n, region(threshold), random_state=seed, **params)


def from_other_units(scale, shift):
    """The matrix from θ for energies ``scale`` y + ``shift`` to θ for y, shape (8, 8)."""
    matrix = np.zeros((8, 8))
    matrix[:3, :3], matrix[:3, 5:], matrix[5:, 5:] = np.eye(3), shift * np.eye(3), scale * np.eye(3)
    matrix[3, 3], matrix[3, 4], matrix[4, 4] = scale, -scale * shift, scale**2
    return matrix
