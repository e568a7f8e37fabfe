"""Matrix Fisher rotations with a range of motion: an angle about one rotation, or a cap that an axis points into."""

import numpy as np

import tmsm

SPACE = tmsm.Rotations()
MODEL = tmsm.MatrixFisher()


def matrix(vector):
    """The rotation by a vector, (3, 3)."""
    return SPACE.to_matrices(SPACE.from_rotation_vectors(vector))[0]


_LEFT, _RIGHT = matrix([0.3, -0.2, 0.5]), matrix([0.1, 0.4, -0.2])
PARAMETER = _LEFT @ np.diag([6.0, 4.0, 2.0]) @ _RIGHT.T
MODE = _LEFT @ _RIGHT.T
THETA = MODEL.on(SPACE).natural_parameters(parameter=PARAMETER)
# Directions in which the centres are away from the mode.
_ASIDE, _TILT = np.array([2.0, -1.0, 2.0]) / 3.0, np.array([0.6, 0.8, 0.0])


def angle_cap(angle, away):
    """The rotations within an angle of one that is ``away`` from the mode."""
    return tmsm.RotationCap(MODE @ matrix(away * _ASIDE), angle)


def axis_cap(radius, away):
    """The rotations that turn the third axis to within a radius of a point that is ``away`` from the mode's."""
    e3 = np.array([0.0, 0.0, 1.0])
    # _TILT is at right angles to the axis before it is turned by the mode.
    return tmsm.AxisWithin(e3, tmsm.Cap(MODE @ matrix(away * _TILT) @ e3, radius))


REGIONS = {
    "mode inside": angle_cap(1.0, 0.6),
    "mode on the border": angle_cap(1.0, 1.0),
    "mode outside": angle_cap(1.2, 1.5),
    "axis inside": axis_cap(0.8, 0.5),
    "axis on the border": axis_cap(0.8, 0.8),
}


def sample(n, region, seed):
    """So many rows."""
    return MODEL.sample(n, region, random_state=seed, parameter=PARAMETER)
