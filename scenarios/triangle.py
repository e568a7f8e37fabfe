"""A spherical triangle with the mean in its middle, on a corner, outside: von Mises–Fisher and Fisher–Bingham."""

import numpy as np

import tmsm
from tmsm.measure.nodes import Grid, build_nodes

_CORNERS = tmsm.lonlat_to_xyz([0.0, 60.0, 25.0], [0.0, 5.0, 50.0])
REGION = tmsm.SphericalPolygon([_CORNERS])
_MIDDLE = _CORNERS.sum(axis=0) / np.linalg.norm(_CORNERS.sum(axis=0))
# The mean direction and the concentration.
SETTINGS = {
    "middle": {"mean_direction": _MIDDLE, "concentration": 10.0},
    "corner": {"mean_direction": _CORNERS[1], "concentration": 10.0},
    "outside": {"mean_direction": tmsm.lonlat_to_xyz(30.0, -10.0), "concentration": 15.0},
}
# The Fisher–Bingham family has eight parameters for the same densities.
FAMILIES = {"von Mises–Fisher": tmsm.VonMisesFisher(), "Fisher–Bingham": tmsm.FisherBingham()}


def theta(family, setting):
    """The natural parameters; the quadratic part of a Fisher–Bingham density is zero."""
    truth = SETTINGS[setting]
    linear = truth["concentration"] * truth["mean_direction"]
    if family == "von Mises–Fisher":
        return linear
    return FAMILIES[family].natural_parameters(linear=linear, quadratic=np.zeros((3, 3)))


def sample(n, setting, seed):
    """So many rows of a setting."""
    return tmsm.VonMisesFisher().sample(n, REGION, random_state=seed, **SETTINGS[setting])


def nodes(cell=5):
    """Points of the triangle (m, 3) and the logarithms of their areas (m,), dense where distances have ridges."""
    found = build_nodes(REGION, Grid(cell, 3))
    return found.X, found.log_weights
