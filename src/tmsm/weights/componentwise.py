"""A face damps only the coordinate that crosses it: for boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_vector
from tmsm.foundation.values import frozen_array
from tmsm.regions import BorderView
from tmsm.weights.base import Weight, WeightField
from tmsm.weights.constant import Constant
from tmsm.weights.scales import check_scale, positive_median, saturate

__all__ = ["Componentwise"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Componentwise(Weight):
    """For boxes: each face reduces only the coordinate across it.

    W = diag(g_j) with g_j = 1 − exp(−d_j/scale_j), where d_j is the distance to the nearer face along axis j.

    Parameters
    ----------
    scale
        A positive number, one number for each axis, or "median": the medians of the d_j over the rows, taken once, at
        the first fit.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.LonLatBox(0.0, 0.0, 60.0, 45.0)
    >>> truth = {"mean_direction": tmsm.lonlat_to_xyz(50.0, 20.0), "concentration": 10.0}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> tmsm.ScoreMatching(model, region, tmsm.weights.Componentwise(0.3)).fit(X).weight_
    Componentwise(scale=[0.3, 0.3])
    """

    scale: float | str | FloatArray = "median"

    def __post_init__(self) -> None:
        if isinstance(self.scale, str | float | int):
            object.__setattr__(self, "scale", check_scale(self.scale))
            return
        scale = check_vector(self.scale, "scale", finite=False)
        if not (scale > 0.0).all():
            raise InvalidInputError(f"scale must be positive along every axis; got {scale.tolist()}.")
        object.__setattr__(self, "scale", frozen_array(scale))

    def resolve(self, view: BorderView) -> Weight:
        region, X = view.region, view.X
        if not region.has_border:
            return Constant()
        axes = region.axes
        if axes is None:
            raise InvalidInputError(
                f"The componentwise weight needs faces across orthogonal axes, {region.why_no_axes}. "
                "Use 'combined', or 'normal' for a smooth border."
            )
        distances = axes.axis_frame(X if isinstance(self.scale, str) else X[:1]).distances
        if isinstance(self.scale, str):
            return Componentwise(np.array([positive_median(d) for d in distances.T]))
        scale = np.atleast_1d(np.asarray(self.scale, dtype=np.float64))
        if scale.size not in (1, distances.shape[1]):
            raise InvalidInputError(
                f"scale must be one number or one for each of the {distances.shape[1]} axes; got {scale.size}."
            )
        return Componentwise(np.broadcast_to(scale, distances.shape[1:]))

    def field(self, view: BorderView) -> WeightField:
        axes = view.region.axes
        assert axes is not None and not isinstance(self.scale, str), "resolve() comes first"
        frame = axes.axis_frame(view.X)
        g, slope = saturate(frame.distances, np.asarray(self.scale, dtype=np.float64))
        # div W = Σ_j (u_j·∇g_j) u_j + g_j (div(u_j) u_j + ∇_{u_j} u_j)
        delta = slope * frame.signs
        for (i, j), turning in frame.turning.items():
            delta[:, j] += g[:, i] * turning
        directions = tuple((u, g[:, j], delta[:, j]) for j, u in enumerate(frame.directions))
        return WeightField(isotropic=0.0, directions=directions)

    def series(self) -> tuple[Weight, ...] | None:
        assert not isinstance(self.scale, str), "resolve() comes first"
        return Componentwise(2.0 * np.asarray(self.scale)), Componentwise(0.4 * np.asarray(self.scale))
