"""Integrals of a density over a region: where to put nodes, how fine, and the error that is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, row_norms
from tmsm.foundation.errors import EstimationError, InvalidInputError, TooManyNodesError
from tmsm.manifolds import Manifold, SolidChart, Window
from tmsm.measure.cells import Prune
from tmsm.measure.nodes import MAX_NODES, Grid, Nodes, build_nodes, has_nodes
from tmsm.measure.products import parts_of
from tmsm.measure.solids import SOLID_CHANGE, SOLID_FLOOR, SOLID_HEAVY, SOLID_WIDTHS, coarsest_cell
from tmsm.regions import ProductRegion, Region

__all__ = ["Density", "KernelIntegral", "LogMass", "Plan", "Together", "integrate_kernel", "log_sum", "plan_nodes"]

# Cells are at most so many widths of the density across, and its exponent changes in one by at most so much.
_WIDTHS, _CHANGE = 1.5, 4.0
# Grids finer than this are pruned to where the density has its mass, instead of being kept for the region.
_FINEST_SHARED, _FINEST_SHARED_IN_WINDOW = 5, 6
_LEAF = 3
# A Gauss rule along a curve takes more widths at once than cells of a surface; a circle begins with pieces so long.
_WIDTHS_OF_CURVE, _COARSEST_CURVE = 3.0, 0
_PRUNED_LEAF = 1
_MAX_LEAF = 10
# Grids are refined until one step changes the result by less than the first, and the nodes leave less than the
# second in doubt.
_TOLERANCE, _DOUBT_TOLERANCE = 1e-6, 1e-5
# In dimension three a step takes four times as long, and what it changes is ten times the error that it leaves.
_SOLID_TOLERANCE = 1e-5
_FALL, _FALLS, _UNCONFIRMED = 0.1, 0.3, 3.0
# Where nodes in dimension three leave a larger error, draws are tried.
_POOR = 5e-4
# Independent doubts along the border add up to so many times the root of their squares at most.
_SPREADS = 3.0
_DRAWS = 2**18
# Of several densities each has its mass where it is so far below its height at most.
_MASS = 20.0


class Density(Protocol):
    """A density on a manifold, known up to its normalising constant."""

    def log_kernel(self, X: FloatArray) -> FloatArray:
        """Its logarithm up to a constant, shape (n,)."""

    def log_gradient(self, X: FloatArray) -> FloatArray:
        """The tangent gradient of that, shape (n, D)."""

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Its second derivative along tangent rows V (n, D), shape (n,)."""

    def extent(self) -> tuple[FloatArray, FloatArray]:
        """On a manifold without end: corners, shape (D,), of a box with all of the density but e^−40."""

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws on the whole manifold, shape (n, D)."""

    def log_normaliser(self) -> float:
        """Logarithm of the integral of exp(log_kernel) over the whole manifold."""

    @property
    def rounding(self) -> float:
        """What rounding does to its logarithm."""


@dataclass(frozen=True)
class Together:
    """Several densities that one grid is to serve: at every point the highest, and of those with mass the steepest.

    ``heights``, shape (k,), are their largest log kernels at rows, or elsewhere in the region, which makes them
    comparable.
    """

    densities: Sequence[Density]
    heights: FloatArray

    def log_kernel(self, X: FloatArray) -> FloatArray:
        """The highest of their logarithms, shape (n,)."""
        highest: FloatArray = self._values(X).max(axis=0)
        return highest

    def log_gradient(self, X: FloatArray) -> FloatArray:
        """The longest of their gradients, shape (n, D)."""
        return self._largest(X, np.array([density.log_gradient(X) for density in self.densities]))

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """The largest of their second derivatives, shape (n,)."""
        found = np.array([density.log_hessian(X, V)[:, None] for density in self.densities])
        return self._largest(X, found)[:, 0]

    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Corners, shape (D,), of a box that holds all of them."""
        low, high = zip(*(density.extent() for density in self.densities), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Nodes are planned for them, and nothing is drawn."""
        raise NotImplementedError("Several densities are not drawn from.")

    def log_normaliser(self) -> float:
        """Nodes are planned for them, and each is integrated by itself."""
        raise NotImplementedError("Several densities have no integral of their own.")

    @property
    def rounding(self) -> float:
        """That of the worst."""
        return max(density.rounding for density in self.densities)

    def _values(self, X: FloatArray) -> FloatArray:
        pairs = zip(self.densities, self.heights, strict=True)
        return np.array([density.log_kernel(X) - height for density, height in pairs])

    def _largest(self, X: FloatArray, found: FloatArray) -> FloatArray:
        """Of vectors (k, n, D) the longest at each row, of densities that have mass there, shape (n, D)."""
        values = self._values(X)
        counts = values >= np.minimum(-_MASS, values.max(axis=0))
        longest = np.where(counts, (found**2).sum(axis=2), -1.0).argmax(axis=0)
        chosen: FloatArray = np.take_along_axis(found, longest[None, :, None], axis=0)[0]
        return chosen


class LogMass(NamedTuple):
    """Logarithm of a region's probability and its error.

    Up to dimension three the error is a bound in practice; above, by draws, it is a standard error, and so it is for
    densities in dimension three that need too many nodes.
    """

    value: float
    error: float


@dataclass(frozen=True)
class KernelIntegral:
    """Logarithm of the integral of exp(log_kernel) over a region and an estimate of its error."""

    log_integral: float
    error: float


@dataclass(frozen=True)
class Plan:
    """Which nodes serve a density: the grid, and how to prune it if it is too fine to be kept."""

    region: Region
    grid: Grid
    prune: Prune | None
    floor: float = 0.0  # the error that cells inside may have, however fine those on the border are

    def nodes(self) -> Nodes:
        """The nodes; shared by everyone who asks for the same."""
        return build_nodes(self.region, self.grid, self.prune)

    @property
    def finer(self) -> Plan | None:
        """One step finer next to the border; None at the finest."""
        if self.grid.leaf >= _MAX_LEAF:
            return None
        return self._with_leaf(self.grid.leaf + 1)

    @property
    def coarser(self) -> Plan:
        """One step coarser next to the border."""
        return self._with_leaf(self.grid.leaf - 1)

    @property
    def wider(self) -> Plan:
        """With cells twice as wide, for what need not be accurate."""
        return replace(self, grid=replace(self.grid, cell=max(self.grid.cell - 1, 1), cells=self.grid.cells))

    @property
    def affordable(self) -> Plan:
        """The plan itself, or the finest coarser one that has not too many nodes."""
        try:
            self.nodes()
        except TooManyNodesError:
            if self.grid.leaf <= 1:
                raise
            return self.coarser.affordable
        return self

    def _with_leaf(self, leaf: int) -> Plan:
        return replace(self, grid=replace(self.grid, leaf=leaf))


def log_sum(exponents: FloatArray) -> float:
    """Log Σ exp, without overflow."""
    top = float(exponents.max())
    return top + float(np.log(np.exp(exponents - top).sum()))


def plan_nodes(density: Density, region: Region, X: FloatArray | None = None) -> Plan:
    """Choose nodes for densities like this one; rows X, if given, lie where the density has its mass."""
    window = _window(density, region, X)
    parts = parts_of(region)
    if parts is not None:
        return _plan_product(density, region, parts, window, X)
    if not region.manifold.is_embedded:
        density = _in_coordinates(density, region.manifold)
    chart = region.manifold.charts(window)
    if not isinstance(chart, SolidChart):
        first, finest = (2, _FINEST_SHARED) if window is None else (4, _FINEST_SHARED_IN_WINDOW)
        # A rule of the region's own needs no chart; its unit of length is one, and it is not pruned.
        scale = _Scale(first, finest, _LEAF, np.array(1.0 if chart is None else chart.unit), chart is not None)
        return _plan(density, region, window, X, scale)
    if region.has_exact_nodes or region.lifted_from is not None:
        try:
            return _plan(density, region, window, X, _Scale(2, 0, _LEAF, np.array(1.0), prunes=False)).affordable
        except TooManyNodesError:
            if region.lifted_from is not None:
                raise
    first = coarsest_cell(chart)
    solid = _Scale(first, first + 1, 1, chart.scales, True, SOLID_WIDTHS, SOLID_CHANGE, SOLID_HEAVY, SOLID_FLOOR)
    return _plan(density, region, window, X, solid)


@dataclass(frozen=True)
class _Scale:
    """Which grids there are, and how fine for a density.

    Attributes
    ----------
    first, finest
        The coarsest cell, and the finest that is shared.
    leaf
        How much finer cells are on the border.
    unit
        The length that is divided; in dimension three one for each column, shape (D,).
    prunes
        Whether finer cells are pruned.
    widths, change
        Of the density in a cell: how many of its widths, and by how much its exponent changes.
    heavy
        Exponents that are so far below the largest count for that.
    floor
        The error of the rule inside cells of that size.
    """

    first: int
    finest: int
    leaf: int
    unit: FloatArray
    prunes: bool
    widths: float = _WIDTHS
    change: float = _CHANGE
    heavy: float = 20.0
    floor: float = 0.0


def _plan(density: Density, region: Region, window: Window | None, X: FloatArray | None, scale: _Scale) -> Plan:
    grid = Grid(scale.first, 1, window)
    # Fine enough for the region's shape: some cells must lie inside as a whole.
    while True:
        nodes = build_nodes(region, grid)
        if len(nodes.X) and nodes.n_inside >= 16:
            break
        if grid.cell >= 24:
            raise EstimationError("No part of the region was found to integrate over: it has almost no area.")
        grid = Grid(grid.cell + 1, 1, window)
    # Fine enough for the density's curvature, and then for its slope where it has its mass.
    heavy = _heaviest(density, nodes, X)
    curvature = _curvature(density, region, heavy, unit=scale.unit)
    cell = grid.cell
    for bend in (True, False):
        if bend:
            side = scale.widths / np.sqrt(max(curvature, 1e-300))
        else:
            exponents = density.log_kernel(heavy)
            heavy = heavy[exponents >= exponents.max() - scale.heavy]
            slope = float(row_norms(density.log_gradient(heavy) * scale.unit).max())
            side = scale.change / max(slope, 1e-300)
        cell = max(cell, int(np.ceil(-np.log2(min(side, 1.0)))))
        prune = None
        if scale.prunes and cell > max(scale.finest, grid.cell):
            # Of a surface the radius is a length, of a solid it is in units of the chart.
            unit = scale.unit if scale.unit.ndim else np.array(1.0)
            prune = _pruned_to(density, 2.0 * curvature * float(unit.max() / scale.unit.max()) ** 2, unit)
        if bend:
            heavy = _heaviest(density, build_nodes(region, Grid(cell, 1, window), prune), X)
    return Plan(region, Grid(cell, scale.leaf if prune is None else _PRUNED_LEAF, window), prune, scale.floor)


def _plan_product(
    density: Density, region: Region, parts: ProductRegion, window: Window | None, X: FloatArray | None
) -> Plan:
    """The parts of a product have cells of their own, for how the density bends and falls along each."""
    pieces = parts.pieces()
    closed = [part.manifold.is_closed for part, _ in pieces]
    least = [_COARSEST_CURVE if part.manifold.dim == 1 else 2 for part, _ in pieces]
    in_window = 1 if len(pieces) == 3 else 3
    cells = [cell if ends else in_window for cell, ends in zip(least, closed, strict=True)]
    heavy = _heaviest(density, build_nodes(region, Grid(max(cells), 1, window, tuple(cells))), X)
    for k, (part, own) in enumerate(pieces):
        curvature = _curvature(density, region, heavy, own)
        slope = float(row_norms(density.log_gradient(heavy)[:, own]).max())
        width = _WIDTHS_OF_CURVE if part.manifold.dim == 1 else _WIDTHS
        side = min(width / np.sqrt(max(curvature, 1e-300)), width / _WIDTHS * _CHANGE / max(slope, 1e-300))
        chart = part.manifold.charts(None if window is None else (window[0][own], window[1][own]))
        if chart is not None and not isinstance(chart, SolidChart):
            side /= chart.unit
        cells[k] = max(cells[k], int(np.ceil(-np.log2(min(side, 1.0)))))
    return Plan(region, Grid(max(cells), 1 if len(pieces) == 3 else _LEAF, window, tuple(cells)), None)


def _heaviest(density: Density, nodes: Nodes, X: FloatArray | None) -> FloatArray:
    """The nodes that hold the mass of the density, and the rows."""
    exponents = density.log_kernel(nodes.X) + nodes.log_weights
    heavy = nodes.X[exponents >= exponents.max() - 20.0]
    return heavy if X is None else np.vstack([heavy, X])


def integrate_kernel(density: Density, region: Region) -> KernelIntegral:
    """Integrate exp(log_kernel) over the region: by nodes where the region has them, else by draws.

    The error is the larger of what the last refinement changed and what the nodes themselves leave in doubt.
    """
    if not has_nodes(region):
        return _integrate_by_draws(density, region)
    plan: Plan | None
    try:
        plan = plan_nodes(density, region).affordable
    except TooManyNodesError:
        if region.manifold.dim <= 2:
            raise
        return _integrate_by_draws(density, region)
    tolerance, most = (_TOLERANCE, MAX_NODES // 4) if region.manifold.dim <= 2 else (_SOLID_TOLERANCE, MAX_NODES // 2)
    before = _on_nodes(density, plan.coarser).log_integral
    found = None
    # A step may change little by chance.  In dimension three errors fall by 16 at best, so the step before counts too.
    falls, last = True, 0.0
    while plan is not None:
        try:
            after = _on_nodes(density, plan)
        except TooManyNodesError:
            # The result so far stands, with its error; in dimension three no further step confirms that.
            if found is not None and plan.floor:
                found = replace(found, error=_UNCONFIRMED * found.error)
            break
        change = abs(after.log_integral - before)
        error = max(change, after.error, plan.floor)
        if plan.floor:
            falls, error, last = change <= max(_FALLS * last, plan.floor), max(error, _FALL * last), change
        found, before = KernelIntegral(after.log_integral, error), after.log_integral
        enough = falls and change <= tolerance and error <= _DOUBT_TOLERANCE
        if enough or after.n_nodes > most:
            break
        plan = plan.finer
    assert found is not None, "the first plan gives a result or raises"
    if region.manifold.dim > 2 and found.error > _POOR:
        found = _better_by_draws(density, region, found)
    return KernelIntegral(found.log_integral, max(found.error, density.rounding))


def _better_by_draws(density: Density, region: Region, found: KernelIntegral) -> KernelIntegral:
    """The integral by draws where these err less than the nodes."""
    try:
        drawn = _integrate_by_draws(density, region)
    except (EstimationError, InvalidInputError):  # hardly any mass inside, or a family without a sampler
        return found
    return drawn if drawn.error < found.error else found


class _OnNodes(NamedTuple):
    """An integral on one grid and what its nodes leave in doubt."""

    log_integral: float
    error: float
    n_nodes: int


def _on_nodes(density: Density, plan: Plan) -> _OnNodes:
    nodes = plan.nodes()
    log_integral = log_sum(density.log_kernel(nodes.X) + nodes.log_weights)
    doubts = nodes.doubts
    error = 0.0
    if len(doubts.X):
        # Density relative to the integral; far outside the region it may be large, but there nothing is in doubt.
        height = np.exp(np.minimum(density.log_kernel(doubts.X) - log_integral, 700.0))
        bias, blind = float(height @ doubts.bias), float(height @ doubts.blind)
        error = abs(bias) + _SPREADS * float(np.linalg.norm(height * doubts.spread)) + blind
    return _OnNodes(log_integral, error, len(nodes.X))


def _integrate_by_draws(density: Density, region: Region) -> KernelIntegral:
    draws = density.draw(_DRAWS, np.random.default_rng(0))
    n_inside = int(np.count_nonzero(region.signed_distance(draws)[0] > 0.0))
    if n_inside == 0:
        raise EstimationError(
            f"None of {_DRAWS:,} draws fell inside the region: it has less than {3.0 / _DRAWS:.0e} of the mass, "
            f"too little to normalise the density in {region.manifold.dim} dimensions."
        )
    share = n_inside / _DRAWS
    error = float(np.sqrt((1.0 - share) / n_inside))
    return KernelIntegral(density.log_normaliser() + float(np.log(share)), error)


def _window(density: Density, region: Region, X: FloatArray | None) -> Window | None:
    """A box that holds all of the density but e^−40, on rounded numbers so that fits share it; none where it ends."""
    if region.manifold.is_closed:
        return None
    low, high = density.extent()
    # Where the mass outside the region is nearest to it, that inside is beyond the usual extent.
    with np.errstate(invalid="ignore"):  # an extent that is not known is infinite
        middle = 0.5 * (low + high)[None, :]
    if region.manifold.contains(middle).all():
        distance = max(-float(region.clearance(middle)[0][0]), 0.0)
        low, high = region.manifold.grown_box(low, high, distance)
    if X is not None:
        spread = np.ptp(X, axis=0)
        low, high = np.minimum(low, X.min(axis=0) - spread), np.maximum(high, X.max(axis=0) + spread)
    bottom, top = region.bounds
    low, high = np.maximum(low, bottom), np.minimum(high, top)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        raise InvalidInputError(
            f"It is not known where the density has its mass on {region.manifold!r}, a manifold without end, so it can "
            "be integrated over bounded regions only, such as Ball or Box. ScoreMatching needs no integral."
        )
    if not (low < high).all():
        raise EstimationError("No part of the region was found to integrate over: its parts do not meet.")
    unit = 2.0 ** np.ceil(np.log2(high - low) - 4.0)
    rounded_low = np.maximum(np.floor(low / unit) * unit, bottom)
    rounded_high = np.minimum(np.ceil(high / unit) * unit, top)
    return tuple(rounded_low.tolist()), tuple(rounded_high.tolist())


def _curvature(
    density: Density, region: Region, X: FloatArray, columns: slice = slice(None), unit: FloatArray | float = 1.0
) -> float:
    """The largest |Hess log p(v, v)| at some rows, for a few tangents v of a length of one unit in some columns."""
    rng = np.random.default_rng(0)
    X = X[:: -(-len(X) // 256)]
    largest = 0.0
    for _ in range(4):
        some = np.zeros_like(X)
        some[:, columns] = rng.standard_normal(some[:, columns].shape)
        V = region.manifold.project_tangent(X, some)
        V = V / np.maximum(row_norms(V), 1e-300)[:, None] * unit
        largest = max(largest, float(np.abs(density.log_hessian(X, V)).max()))
    return largest


@dataclass(frozen=True)
class _InCoordinates:
    """A density on a manifold that is known by a metric, with slopes and bends by the coordinates that cells lie in."""

    density: Density
    manifold: Manifold

    def log_kernel(self, X: FloatArray) -> FloatArray:
        return self.density.log_kernel(X)

    def log_gradient(self, X: FloatArray) -> FloatArray:
        return self.manifold.plain_gradient(X, self.density.log_gradient(X))

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        U = self.manifold.tangent_of(X, V)
        # D²u(v, v) = Hess u(v, v) − Du·acceleration
        return self.density.log_hessian(X, U) - row_dots(self.log_gradient(X), self.manifold.acceleration(X, U))

    def extent(self) -> tuple[FloatArray, FloatArray]:
        return self.density.extent()

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.density.draw(n, rng)

    def log_normaliser(self) -> float:
        return self.density.log_normaliser()

    @property
    def rounding(self) -> float:
        return self.density.rounding


def _in_coordinates(density: Density, manifold: Manifold) -> Density:
    if isinstance(density, Together):
        return replace(density, densities=[_in_coordinates(one, manifold) for one in density.densities])
    return _InCoordinates(density, manifold)


def _pruned_to(density: Density, curvature: float, unit: FloatArray) -> Prune:
    if isinstance(density, Together):
        parts = [_pruned_to(one, curvature, unit) for one in density.densities]
        heights = density.heights.tolist()

        def prune_all(X: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
            found = [np.array(part(X, radius)) - height for part, height in zip(parts, heights, strict=True)]
            values, bounds = np.max(found, axis=0)
            return values, bounds

        return prune_all

    def prune(X: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
        if len(X) == 0:
            return np.empty(0), np.empty(0)
        values = density.log_kernel(X)
        slope = row_norms(density.log_gradient(X) * unit)
        return values, values + slope * radius + curvature * radius**2

    return prune
