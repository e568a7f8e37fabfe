"""A quadrature rule for the caps of the sphere S³, in shells round the centre."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import TooManyNodesError

__all__ = ["cap_nodes_3d"]

# Nodes for each radian on a grid of cell zero: along the radius and from pole to pole by Gauss's rule, round by equal
# steps, which need fewer.
_GAUSS, _STEPS = 2.4, 1.6
_MOST = 1_500_000


def cap_nodes_3d(center: FloatArray, radius: float, cell: int, leaf: int) -> tuple[FloatArray, FloatArray]:
    """Points (m, 4) and volumes (m,) of a rule for the cap of S³ round a unit vector (4,).

    Gauss–Legendre along the radius ρ, with the volume sin²ρ dρ of a shell, and on each shell, a sphere S² of radius
    sin ρ, Gauss–Legendre in the height times equal steps round the axis: exact for polynomials of a degree that grows
    with the shell.
    """
    fine = 2.0**cell * (1.0 + 0.1 * leaf)
    n_radii = int(np.ceil(_GAUSS * fine * radius)) + 8
    x, w = _gauss(min(n_radii, 4096))
    rho, step = 0.5 * radius * (1.0 + x), 0.5 * radius * w
    size = np.sin(rho)
    n_heights = np.ceil(_GAUSS * fine * np.pi * size).astype(int) + 8
    n_turns = np.ceil(_STEPS * fine * 2.0 * np.pi * size).astype(int) + 12
    if n_radii > 4096 or int((n_heights * n_turns).sum()) > _MOST:
        raise TooManyNodesError(
            f"More than {_MOST:,} nodes would be needed: the density is too concentrated for quadrature in three "
            "dimensions. ScoreMatching needs none."
        )
    across = np.linalg.svd(center[None, :])[2][1:]
    points, volumes = [], []
    for angle, s, dr, n_z, n_phi in zip(rho, size, step, n_heights, n_turns, strict=True):
        z, dz = _gauss(int(n_z))
        turn = 2.0 * np.pi * (np.arange(n_phi) + 0.5) / n_phi
        rim = np.sqrt(1.0 - z * z)[:, None]
        sphere = np.stack([rim * np.cos(turn), rim * np.sin(turn), np.broadcast_to(z[:, None], (n_z, n_phi))], axis=2)
        points.append(np.cos(angle) * center + s * (sphere.reshape(-1, 3) @ across))
        volumes.append(np.repeat(dz * (s * s * dr * 2.0 * np.pi / n_phi), n_phi))
    return np.concatenate(points), np.concatenate(volumes)


def _gauss(n: int) -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(n)
