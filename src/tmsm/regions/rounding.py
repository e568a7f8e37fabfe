"""What rounding does to a border: the grid that rows were rounded to, and the cells of it that are whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold
from tmsm.regions.region import Region

__all__ = ["Grid", "check_steps", "find_grid", "is_rounding", "slope_of_nearer", "whole_cells", "zero_on_border"]

# Distances are computed to a few units in the last place of the coordinates: within so many a point is on the border.
_ROUNDING = 8.0 * np.finfo(np.float64).eps
# An edge that misses the edge of a cell by such a share of the step is meant to lie on it.
_SAME = 1e-9
# What coordinates are known to, over their size: doubles, then float32.
_PRECISIONS = (1e-13, 1e-7)
# A step is a step if it is so many times as large as what a coordinate is known to.
_LEAST_STEP = 1e3
# A multiple misses a whole number by no more than this.
_ON_GRID = 0.02
# So many rows show a grid; of more than that some are looked at.
_FEWEST, _ENOUGH = 20, 4096


def is_rounding(d: FloatArray, scale: FloatArray | float = 1.0) -> BoolArray:
    """Which differences of numbers of the size ``scale`` are rounding noise."""
    return np.abs(d) <= _ROUNDING * scale


def zero_on_border(d: FloatArray, scale: FloatArray | float = 1.0) -> FloatArray:
    """Signed distances with those that are rounding noise set to zero, in place: such points lie on the border.

    ``scale`` is the size of the coordinates that the distance was computed from; one on a sphere.
    """
    near = is_rounding(d, scale)
    if near.any():
        d[near] = 0.0
    return d


def slope_of_nearer(from_lower: FloatArray, from_upper: FloatArray, scale: FloatArray | float = 1.0) -> FloatArray:
    """Derivative of min(from_lower, from_upper) along the axis: ±1, and zero halfway between the two faces.

    Halfway, where rounded rows may lie by the hundred, it is the mean of both sides.
    """
    with np.errstate(invalid="ignore"):  # two faces at infinity
        slope = np.sign(zero_on_border(from_upper - from_lower, scale))
    slope[np.isnan(slope)] = 1.0
    return slope


def whole_cells(lower: FloatArray, upper: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The part of [lower, upper] that is made of whole cells: values that are rounded to one multiple of the step.

    A cell goes from (k − ½) step to (k + ½) step.  Where the step is zero nothing changes.
    """
    size = np.where(step > 0.0, step, 1.0)
    inner_lower = size * (np.ceil(lower / size - 0.5 - _SAME) + 0.5)
    inner_upper = size * (np.floor(upper / size - 0.5 + _SAME) + 0.5)
    # What is the edge of a cell already stays as it was written; an infinite side does too.
    with np.errstate(invalid="ignore"):
        moves_lower = (step > 0.0) & (inner_lower - lower > 2.0 * _SAME * size)
        moves_upper = (step > 0.0) & (upper - inner_upper > 2.0 * _SAME * size)
    return np.where(moves_lower, inner_lower, lower), np.where(moves_upper, inner_upper, upper)


@dataclass(frozen=True)
class Grid:
    """The steps of which the written coordinates of rows are multiples; zero where a coordinate was not rounded."""

    steps: FloatArray
    names: tuple[str, ...]
    unit: str
    length: float

    @property
    def largest_step(self) -> float:
        """In the units of the geodesic distance."""
        return float(self.length * self.steps.max())

    def describe(self) -> str:
        """Say which coordinates are multiples of what."""
        found = [
            (name, f"{step:.6g}{self.unit}") for name, step in zip(self.names, self.steps, strict=True) if step > 0.0
        ]
        if len(found) == self.steps.size and len({step for _, step in found}) == 1:
            return f"The coordinates are multiples of {found[0][1]}"
        return f"The rows are rounded ({', '.join(f'{name}: multiples of {step}' for name, step in found)})"

    def remedy(self, region: Region) -> str:
        """Say what to do about a border on which rows were rounded."""
        rounded = region.rounded_to(self.steps)
        if rounded is None:
            half = f"{0.5 * self.steps.max():.6g}{self.unit}"
            return f"Take the border half a step ({half}) further in, and leave rows beyond it out with outside='drop'."
        if rounded.shows_steps:
            return f"Use {rounded!r}."
        steps = self.steps.tolist()
        return f"Give the boxes in it rounded={steps[0] if len(set(steps)) == 1 else steps!r}."


def find_grid(manifold: Manifold, X: FloatArray) -> Grid | None:
    """The grid to which rows (n, D) were rounded in the coordinates that they are written in, or None."""
    some = X[:: -(-len(X) // _ENOUGH)] if len(X) else X
    if len(some) < _FEWEST:
        return None
    written = manifold.written_coordinates(some)
    if written is None:
        return None
    steps = np.array([_step(column) for column in written.columns])
    return Grid(steps, written.names, written.unit, written.length) if steps.any() else None


def _step(values: FloatArray) -> float:
    """The step of which all values are multiples, to rounding; zero if there is none worth the name."""
    size = float(np.abs(values).max(initial=0.0))
    for precision in _PRECISIONS if values.size >= _FEWEST else ():
        noise = precision * size
        ordered = np.sort(values)
        gaps = np.diff(ordered)
        gaps = gaps[gaps > 2.0 * noise]
        step = _common_divisor(gaps, noise) if gaps.size > 1 else 0.0
        if step == 0.0:
            continue
        step = float(np.ptp(ordered) / np.rint(gaps / step).sum())
        # A grid that does not go through zero is none of ours: (k + ½) step has its cells' edges at multiples.
        for digits, miss in ((3, 0.05 * _ON_GRID), (6, 0.05 * _ON_GRID), (10, _ON_GRID)):
            candidate = float(f"{step:.{digits}g}")
            if (np.abs(values / candidate - np.rint(values / candidate)) <= miss).all():
                return candidate
    return 0.0


def _common_divisor(gaps: FloatArray, noise: float) -> float:
    """Euclid's algorithm on the gaps between neighbouring values, each value known to ``noise``; zero if it fails."""
    step = float(gaps.min())
    while step > _LEAST_STEP * noise:
        multiple = np.rint(gaps / step)
        rest = np.abs(gaps - multiple * step)
        # The step itself is known to the noise of its two ends.
        slack = 2.0 * noise * (1.0 + multiple)
        left = rest > slack
        if not left.any():
            return step if float(slack.max()) < _ON_GRID * step else 0.0
        step = float(rest[left].min())
    return 0.0


def check_steps(rounded: object, size: int, unit: str) -> FloatArray:
    """Steps of rounding, shape (size,), from one number or one for each coordinate; zero means not rounded."""
    try:
        given = np.asarray(rounded, dtype=np.float64)
        steps = np.broadcast_to(given, (size,)).copy()
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"rounded must be the step of the rounding{unit}, or {size} steps, one for each coordinate; "
            f"got {rounded!r}."
        ) from None
    if not (np.isfinite(steps).all() and (steps >= 0.0).all() and steps.any()):
        raise InvalidInputError(
            f"rounded must be positive{unit}, such as 0.1 (zero only for a coordinate that is not rounded); "
            f"got {rounded!r}."
        )
    return steps
