"""The hyperboloid family in a geodesic ball of the hyperbolic plane: mean in its middle, on its border, beyond it."""

import numpy as np

import tmsm
from tmsm.models import HyperboloidDistribution

PLANE = tmsm.Hyperbolic(2)
MODEL = HyperboloidDistribution()
CENTRE = np.array([0.3, -0.2])
BALL = tmsm.GeodesicBall(PLANE, CENTRE, 1.2)
CONCENTRATION = 3.0
# Distance of the mean from the centre of the ball.
PLACES = {"middle": 0.0, "inside": 0.6, "border": 1.2, "outside": 1.6}


def truth(place):
    """Named parameters of the density with its mean at a place."""
    V = PLACES[place] * np.array([[np.cos(0.7), np.sin(0.7)]])
    return {"mean": PLANE.exponential(CENTRE[None, :], V)[0], "concentration": CONCENTRATION}


def theta(place):
    """Its natural parameters; θ₀ = −3 where the mean is at the origin."""
    return MODEL.natural_parameters(**truth(place))


def sample(place, n, seed):
    """So many rows inside the ball."""
    return MODEL.sample(n, BALL, random_state=seed, **truth(place))


def polar_nodes(n_radii=80, n_angles=160):
    """Points (m, 2) of the ball and their areas (m,): Gauss–Legendre in the distance from its centre, equal angles."""
    x, w = np.polynomial.legendre.leggauss(n_radii)
    rho, turn = 0.5 * BALL.radius * (1.0 + x), 2.0 * np.pi * np.arange(n_angles) / n_angles
    area = 0.5 * BALL.radius * w * np.sinh(rho) * 2.0 * np.pi / n_angles
    V = (rho[:, None, None] * np.column_stack([np.cos(turn), np.sin(turn)])).reshape(-1, 2)
    return PLANE.exponential(np.broadcast_to(CENTRE, V.shape), V), np.repeat(area, n_angles)


def density_on(place, X, area):
    """Share of the mass at each node, shape (m,)."""
    log_p = MODEL.log_kernel(X, theta(place))
    mass = np.exp(log_p - log_p.max()) * area
    return mass / mass.sum()


def flat_family(X):
    """The statistics (x₀, x) as functions on flat R²: what a fit sees that forgets the metric.

    Their values, gradients and Laplacians by the coordinates.
    """
    time = np.sqrt(1.0 + (X**2).sum(axis=1))
    gradient = np.zeros((len(X), 3, 2))
    gradient[:, 0] = X / time[:, None]
    gradient[:, 1:] = np.eye(2)
    laplacian = np.zeros((len(X), 3))
    laplacian[:, 0] = (2.0 - (X**2).sum(axis=1) / time**2) / time
    return np.column_stack([time, X]), gradient, laplacian
