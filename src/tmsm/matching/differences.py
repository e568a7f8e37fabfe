"""Gradients of a function that gives values alone, by differences along geodesics.

Component j of the tangent gradient at x is the derivative along P(x) e_j.  With φ(t) = f(exp_x(t h_j P e_j)),

    h_j (∇f)_j = φ'(0) ≈ [4 D(1) − D(2)] / 3,   D(t) = [φ(t) − φ(−t)] / (2t),

one step of Richardson's, with an error of order h⁴.  Where f is not defined on one side, as beyond a border, the
derivative at 0 of the polynomial through φ(0), …, φ(4) on the other side has an error of that order, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold

__all__ = ["TangentDifferences", "row_extent"]

Values = Callable[[FloatArray], FloatArray]

# Steps as shares of the extent of the rows.  The first is best for a smooth function; of all, that with the least error
# is taken.  They are powers of two, so that a step from a point far from the origin is not rounded.
_SHARES = tuple(2.0**-k for k in (10, 4, 6, 8, 12, 14, 16))
_TRIED_ROWS = 256
# Such a share of the gradient's size is no reason to look for a better step.
_GOOD = 1e-8
_DOUBLE, _SINGLE = 2.0**-53, 2.0**-24
# From φ(0) to φ(4).
_ONE_SIDED = np.array([-25.0, 48.0, -36.0, 16.0, -3.0]) / 12.0
# Where neither side has four steps inside, shorter ones may fit.
_SHORTER, _MAX_SHORTER = 1.0 / 8.0, 3
# A function is taken for one of steps if no less than this share of rows has a gradient that is exactly zero.
_CONSTANT_SHARE = 0.97
# For such short steps, as shares of the extent, in double and in single precision; values must differ by such a share
# of their size, so that it is no rounding.
_JUMPS = {False: (2.0**-20, 1e-6), True: (2.0**-13, 1e-2)}


@dataclass(frozen=True)
class TangentDifferences:
    """How to take differences: the manifold and a step along each axis of the embedding space.

    Attributes
    ----------
    manifold
        Which the points lie on; it must have an exponential map, or a retraction in its place.
    steps
        h, shape (D,).
    error
        How much the gradient changes when the steps are doubled, as a share of its size: a root mean square over
        some rows.
    """

    manifold: Manifold
    steps: FloatArray
    error: float = float("nan")

    @property
    def coarser(self) -> TangentDifferences:
        """With steps twice as long."""
        return replace(self, steps=2.0 * self.steps)

    @classmethod
    def chosen(cls, values: Values, manifold: Manifold, sample: FloatArray) -> TangentDifferences:
        """With steps that suit a function at some rows (n, D)."""
        extent = row_extent(manifold, sample)
        X = np.ascontiguousarray(sample[:: -(-len(sample) // _TRIED_ROWS)])
        here = values(X)
        precision = _SINGLE if bool((here == here.astype(np.float32)).all()) else _DOUBLE
        size = float(np.median(np.abs(here)))
        _refuse_jumps(values, manifold, X, here, extent)
        best: tuple[float, TangentDifferences] | None = None
        for share in _SHARES:
            differences = cls(manifold, np.exp2(np.round(np.log2(share * extent))))
            # In units of the rows' extent.
            gradient, coarse = (one.gradient(values, X) * extent for one in (differences, differences.coarser))
            rounding = precision * size / share
            change = np.linalg.norm(gradient - coarse, axis=1)
            known = np.isfinite(change)
            if not known.any():
                continue
            change, length = change[known], float(np.sqrt(np.mean(np.sum(gradient[known] ** 2, axis=1))))
            error = float(np.sqrt(np.mean(change**2))) + rounding
            typical = float(np.median(change)) + rounding
            found = replace(differences, error=error / length if length > 0.0 else 0.0)
            if best is None or typical < best[0]:
                best = typical, found
            if error <= _GOOD * length or (length == 0.0 and np.ptp(here) == 0.0):
                break
        if best is None:
            return cls(manifold, np.exp2(np.round(np.log2(_SHARES[0] * extent))))
        return best[1]

    def gradient(self, values: Values, X: FloatArray) -> FloatArray:
        """The tangent gradient at points (n, D), shape (n, D); NaN where there are too few values around."""
        columns = []
        for axis, step in zip(np.eye(X.shape[1]), self.steps, strict=True):
            V = step * self.manifold.project_tangent(X, np.broadcast_to(axis, X.shape))
            columns.append(self._slope(values, X, V) / step)
        return np.column_stack(columns)

    def _slope(self, values: Values, X: FloatArray, V: FloatArray, shorter: int = 0) -> FloatArray:
        """φ'(0) with φ(t) = f(exp(t V)), shape (n,)."""
        ahead, back, far_ahead, far_back = self._along(values, X, V, (1.0, -1.0, 2.0, -2.0))
        with np.errstate(invalid="ignore"):
            slope: FloatArray = (8.0 * (ahead - back) - (far_ahead - far_back)) / 12.0
        todo = np.flatnonzero(~np.isfinite(slope))
        if todo.size:
            sign = np.where(np.isfinite(ahead + far_ahead), 1.0, -1.0)[todo]
            Y, U = X[todo], sign[:, None] * V[todo]
            with np.errstate(invalid="ignore"):
                slope[todo] = sign * (_ONE_SIDED @ self._along(values, Y, U, range(5)))
            todo = todo[~np.isfinite(slope[todo])]
            if todo.size and shorter < _MAX_SHORTER:
                slope[todo] = self._slope(values, X[todo], _SHORTER * V[todo], shorter + 1) / _SHORTER
        return slope

    def _along(self, values: Values, X: FloatArray, V: FloatArray, times: range | tuple[float, ...]) -> FloatArray:
        """φ at some t, shape (k, n)."""
        points = np.vstack([self.manifold.retract(X, t * V) if t else X for t in times])
        return values(points).reshape(len(times), len(X))


def row_extent(manifold: Manifold, sample: FloatArray) -> FloatArray:
    """How far rows extend, shape (D,): along each axis where it has a unit of its own, else the same for all."""
    extent = np.ptp(sample, axis=0)
    largest = float(extent.max())
    if not largest > 0.0:  # one row, or copies of it
        largest = max(float(np.abs(sample).max()), 1e-3) * 1e-3
    if manifold.is_flat:
        return np.where(extent > 0.0, extent, largest)
    return np.full_like(extent, min(largest, 1.0))


def _refuse_jumps(values: Values, manifold: Manifold, X: FloatArray, here: FloatArray, extent: FloatArray) -> None:
    """Raise where a function is constant except for jumps: then no gradient tells what it does."""
    share, clear = _JUMPS[bool((here == here.astype(np.float32)).all())]
    if np.ptp(here) <= clear * float(np.abs(here).max()):
        return
    gradient = TangentDifferences(manifold, np.exp2(np.round(np.log2(share * extent)))).gradient(values, X)
    flat = (gradient == 0.0).all(axis=1)
    levels = np.unique(here[flat]).size
    if flat.mean() >= _CONSTANT_SHARE and levels > 1:
        raise InvalidInputError(
            f"log_exposure is constant except for jumps: at {int(flat.sum())} of {len(flat)} rows that were tried its "
            f"values do not change nearby, and they take {levels} different values. Jumps have no gradient. "
            "Interpolate between the values (ExposureMap does so for maps), or return (values, gradients)."
        )
