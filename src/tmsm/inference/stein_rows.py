"""What the Stein operator of a fitted model needs at each row, for fields V = g k(·, y) P e_j with any kernel k."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.inference.fit import Fit
from tmsm.weights import saturating_at

__all__ = ["SteinRows", "stein_rows"]


@dataclass(frozen=True)
class SteinRows:
    """At n rows: points (n, E), g, u (n, E), the projectors P (n, E, E) and the slopes ∂u/∂θ = g ∇t (n, E, p)."""

    X: FloatArray
    g: FloatArray
    u: FloatArray
    P: FloatArray
    slope: FloatArray

    def __getitem__(self, piece: slice) -> SteinRows:
        return SteinRows(self.X[piece], self.g[piece], self.u[piece], self.P[piece], self.slope[piece])


def stein_rows(found: Fit, rows: Rows) -> Callable[[Block], SteinRows]:
    """A function for the blocks of these rows, whose median distance to the border is the scale of g."""
    region = rows.region
    manifold, E, tangent = region.manifold, region.manifold.n_functions, found.model.tangent(found.theta)
    weight = saturating_at(rows.sample().view, 1.0)

    def of_block(block: Block) -> SteinRows:
        Y = np.ascontiguousarray(block.X)
        field = weight.field(block.view)
        g = np.broadcast_to(np.asarray(field.isotropic), len(Y)).astype(np.float64)
        psi, slopes = found.log_gradient(block)
        if found.exposure is not None:
            psi = psi + found.exposure.gradient(Y)
        u = g[:, None] * manifold.function_laplacians(Y)
        u += manifold.function_velocity(Y, g[:, None] * psi + field.divergence(Y))
        axes = [manifold.function_gradient(Y, e) for e in np.eye(E)]
        P = np.stack([manifold.function_velocity(Y, axis) for axis in axes], axis=2)
        # ∂ψ/∂θ, column by column of the embedding space.
        slope = np.stack([tangent.gradient_dot(Y, axis) for axis in axes], axis=1) * g[:, None, None]
        slope = slope if slopes is None else slope @ slopes
        return SteinRows(manifold.functions(Y), g, u, P, slope)

    return of_block
