"""Whether the border that was given is where the rows stop: rounded rows, and borders known by few points.

A strip next to the border in which rows should lie but do not moves θ̂ by −∫ ψ dm to first order, ψ the influence of a
row and m the mass that is missing.  In standard errors that says whether to speak of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.inference.influence import Influence
from tmsm.regions import BorderView, Region
from tmsm.regions.border_points import BorderPoints
from tmsm.regions.rounding import Grid, find_grid

__all__ = ["misplaced_border"]

# At such a shift, in standard errors, a 95 % interval still covers 92 %.
_NOTICEABLE = 0.5
# The density next to the border comes from rows within so many steps of it, and from so many rows at least.
_STEPS, _ROWS = 2.0, 50


def misplaced_border(influence: Influence, covariance: FloatArray | None, kept: Rows, n_rows: int) -> list[str]:
    """Sentences if rows stop elsewhere than at the region's border and the estimate moves noticeably by it."""
    if not kept.region.has_border:
        return []
    effect = _Effect(influence, covariance, kept, n_rows)
    return [*_rounded(effect), *_wide_gaps(effect)]


@dataclass(frozen=True)
class _Effect:
    """What rows that are there or are missing do to an estimate, in its standard errors."""

    influence: Influence
    covariance: FloatArray | None
    kept: Rows
    n_rows: int

    def of(self, X: FloatArray, mass: FloatArray) -> float:
        """√(δᵀ C⁻¹ δ) for δ = Σ mass ψ(x), over the rows X that lie inside the region."""
        inside = self.kept.region.signed_distance(X)[0] > 0.0
        if not inside.any():
            return 0.0
        rows, columns = Rows.of(X[inside], self.kept.region), self.kept.covariates
        if columns is not None:  # as if the rows in question lay in their middle
            rows = rows.with_covariates(columns.at_mean(len(rows)))
        delta = mass[inside] @ self.influence.of(rows)
        covariance = self.covariance
        if covariance is None:
            psi = self.influence.of(self.kept)
            covariance = psi.T @ psi / (len(psi) * self.n_rows)
        return float(np.sqrt(max(float(delta @ np.linalg.pinv(covariance, hermitian=True) @ delta), 0.0)))

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """The rows by which the estimate is judged, and their shares of the whole."""
        X, weight = self.kept.sample().X, self.kept.sample().weight
        return X, np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()


def _rounded(effect: _Effect) -> list[str]:
    region, on_border = effect.kept.region, effect.kept.on_border
    X, share = effect.rows()
    grid = find_grid(region.manifold, X)
    if grid is None:
        return []
    cells = region.as_given.rounded_to(grid.steps)
    if cells is not None:
        strip, mass = _strip_of_cells(effect.kept.sample().view, cells, grid, share)
    else:
        # The rows on the border are those that should fill the strip up to half a step from it.
        _, inward = region.signed_distance(on_border)
        strip = region.manifold.exponential(on_border, 0.25 * grid.largest_step * inward)
        mass = np.full(len(strip), 1.0 / len(X))
    shift = effect.of(strip, mass)
    if shift < _NOTICEABLE:
        return []
    # Of many rows only some are looked at.
    number = round(len(on_border) * max(1.0, effect.n_rows / len(X)))
    about = "" if effect.n_rows <= len(X) else "About "
    dropped = f" {about}{number:,} row{'s were' if number > 1 else ' was'} dropped because of it." if number else ""
    return [
        f"{grid.describe()}, and the border lies on that grid: rows within half a step of it were rounded onto it, and "
        f"the others stop half a step before it.{dropped} This moves the estimate by about {shift:.2g} standard "
        f"errors. {grid.remedy(region)}"
    ]


def _strip_of_cells(view: BorderView, cells: Region, grid: Grid, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points between the border and that of the whole cells, and the mass that is missing there."""
    d, inward = view.distance()
    X = view.X
    depth = cells.signed_distance(X)[0]
    width, window = d - depth, _window(_STEPS * grid.largest_step, depth)
    # Where the border cuts a cell beyond its middle the rows of that cell are there.
    near = (depth > 0.0) & (depth <= window) & (width > 0.0) & (width < 0.51 * grid.largest_step)
    strip = view.region.manifold.exponential(X[near], inward[near] * (0.5 * width - d)[near, None])
    return strip, (share * width / window)[near]


def _window(least: float, d: FloatArray) -> float:
    """A distance from the border within which enough rows lie."""
    inside = d[d > 0.0]
    return max(least, float(np.partition(inside, _ROWS)[_ROWS])) if inside.size > _ROWS else least


def _wide_gaps(effect: _Effect) -> list[str]:
    """On the border the distance to the nearest of points that lie a gap apart is a quarter of the gap, not zero.

    So the border is in effect a quarter of the gap further out than the rows go.  What is missing there is told by the
    rows within r of a point, r at least half a gap: over these the slope of the distance across the border integrates
    to r − gap/4 for each unit of length along it.  The likelihood needs no distance, and in dimension one points are
    all that there is of a border.
    """
    region = effect.kept.region
    if not isinstance(region, BorderPoints) or region.manifold.dim < 2 or not effect.influence.equations.uses_distance:
        return []
    X, share = effect.rows()
    d, _ = effect.kept.sample().view.distance()
    gap, window = region.spacing, _window(0.5 * region.spacing, d)
    near = d <= window
    shift = effect.of(X[near], 0.25 * gap / (window - 0.25 * gap) * share[near])
    if shift < _NOTICEABLE:
        return []
    read = region.manifold.distance_unit.text
    edges = region.with_edges
    remedy = "Use" if edges is None else f"Use {edges} with the same points in order, or"
    needed = len(region.points) * shift / _NOTICEABLE
    return [
        f"The border is known by {len(region.points):,} points that lie {read(gap)} apart: between them, on the "
        f"border, the distance is {read(0.25 * gap)} on average instead of zero (half of the rows lie within "
        f"{read(float(np.median(d)))}). This moves the estimate by about {shift:.2g} standard errors. {remedy} at "
        f"least {float(f'{needed:.2g}'):,.0f} points."
    ]
