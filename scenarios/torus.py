"""The sine model in boxes of angles: mean inside, on an edge, on a corner, outside, and three angles near a face."""

import numpy as np

import tmsm

MODEL = tmsm.SineVonMises()


def pair(interaction):
    """The matrix of the interaction of two angles."""
    return np.array([[0.0, interaction], [interaction, 0.0]])


def _truth(mean_angles, concentration, interaction):
    return {
        "mean_angles": np.array(mean_angles),
        "concentration": np.array(concentration),
        "interaction": np.array(interaction),
    }


BOX = tmsm.AngleBox([-1.2, -1.5], [1.0, 1.0])
# The parameters, and the box.
SETTINGS = {
    "inside": (_truth([0.4, -0.3], [3.0, 2.0], pair(1.2)), tmsm.AngleBox([-1.0, -1.2], [1.3, 1.0])),
    "edge": (_truth([1.0, 0.2], [3.0, 2.0], pair(1.0)), BOX),
    "corner": (_truth([1.0, 1.0], [3.0, 2.0], pair(-1.0)), BOX),
    "outside": (_truth([1.5, 0.2], [2.0, 2.0], pair(1.5)), BOX),
    "three angles": (
        _truth([0.5, -0.2, 0.9], [2.0, 2.0, 2.5], [[0.0, 0.8, -0.6], [0.8, 0.0, 0.5], [-0.6, 0.5, 0.0]]),
        tmsm.AngleBox([-1.2, -1.5, -1.5], [1.0, 1.2, 1.0]),
    ),
}


def theta(setting):
    """The natural parameters."""
    truth, box = SETTINGS[setting]
    return MODEL.on(box.manifold).natural_parameters(**truth)


def sample(n, setting, seed):
    """So many rows of a setting."""
    truth, box = SETTINGS[setting]
    return MODEL.sample(n, box, random_state=seed, **truth)
