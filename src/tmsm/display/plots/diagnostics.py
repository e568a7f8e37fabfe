"""Observed against expected: distances to the border and to the centre, whatever the dimension."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from tmsm.display.frames import shown_in
from tmsm.display.plots.estimates import cluster_density
from tmsm.display.plots.style import COLOURS, POINTS, pyplot
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, TooManyNodesError
from tmsm.inference.centres import centres_of
from tmsm.inference.fit import Fit, Fitted
from tmsm.inference.regression import Regression
from tmsm.manifolds.frames import Frame
from tmsm.measure.integrals import Plan, plan_nodes
from tmsm.measure.nodes import Nodes, has_nodes

__all__ = ["DiagnosticsDisplay", "Histogram", "histograms"]

_DRAWS, _FEWEST_DRAWS = 20_000, 500
# Draws of the whole distribution to find them among.
_BUDGET = 5_000_000
_BINS = 30
# Rows of whose covariates there are draws.
_SETTINGS = 200


@dataclass(frozen=True)
class Histogram:
    """Numbers of rows in bins, and what the fitted model expects there.

    ``error`` is twice the Poisson error of the observed number and of the draws together.
    """

    title: str
    edges: FloatArray
    observed: FloatArray
    expected: FloatArray
    error: FloatArray


@final
class DiagnosticsDisplay:
    """Histograms of the rows against draws of the fitted model inside the region.

    Left: distance to the border. It shows a wrong border, or rows that are missing next to it. Right: distance to the
    centre (the angle, on a sphere), or to the nearest of several centres. It shows a wrong family. A bar above the band
    means more rows than the model expects.

    Parameters
    ----------
    fit
        A fitted estimator.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        One or two.
    ax_ : matplotlib.axes.Axes
        The first of them.
    figure_ : matplotlib.figure.Figure
    """

    def __init__(self, fit: Fitted) -> None:
        self.fit = fit

    @classmethod
    def from_estimator(cls, fit: Fitted, **options: Any) -> DiagnosticsDisplay:
        """Draw the histograms of a fit.

        Parameters
        ----------
        fit
            A fitted estimator.
        **options
            Those of `plot`.
        """
        return cls(fit).plot(**options)

    def plot(self, axes: Any = None, *, random_state: int = 0, frame: str | Frame | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes
            As many matplotlib axes as there are panels; new ones by default.
        random_state
            Seed of the draws from the model.
        frame
            What directions on S² stand for, as in `FitDisplay.plot`: distances on the Earth are in kilometres.

        Returns
        -------
        self
        """
        panels = histograms(shown_in(self.fit.result_, frame), random_state)
        if axes is None:
            size = (4.2 * len(panels), 3.4)
            axes = pyplot().subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)[1]
        self.axes_ = list(np.atleast_1d(axes).ravel())
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        for ax, panel in zip(self.axes_, panels, strict=True):
            _draw(ax, panel)
        return self


def histograms(fitted: Fit, random_state: int = 0) -> list[Histogram]:
    """Of the distance to the border, where there is one, and to the centre, where there is one."""
    region, X = fitted.region, fitted.kept.sample().X
    try:
        draws, weight = _expected_rows(fitted, random_state)
    except EstimationError as error:
        raise EstimationError(f"The fitted model cannot be drawn from inside the region: {error}") from None
    panels = []
    manifold = region.manifold
    read_in = fitted.frame.unit if manifold.has_longitudes else manifold.distance_unit
    scale, unit = read_in.scale, read_in.name
    unit = f" ({unit})" if unit else ""
    if region.has_border:
        seen, drawn = (scale * region.clearance(np.asfortranarray(rows))[0] for rows in (X, draws))
        panels.append(_histogram(f"distance to the border{unit}", seen, drawn, weight))
    if centres := centres_of(fitted):
        seen, drawn = (
            scale
            * np.min([manifold.geodesic_distance(rows, np.tile(c.point, (len(rows), 1))) for c in centres], axis=0)
            for rows in (X, draws)
        )
        which = "centre" if len(centres) == 1 else "nearest centre"
        panels.append(_histogram(f"distance to the {which}{unit}", seen, drawn, weight))
    if not panels:
        raise InvalidInputError("This fit has neither a border nor a centre to measure distances from.")
    return panels


def _expected_rows(fitted: Fit, random_state: int) -> tuple[FloatArray, FloatArray]:
    """Points inside the region, shape (n, D), and weights, (n,), with which they stand for rows of the fitted model."""
    limit = fitted.region if fitted.region.has_border else None
    if fitted.regression is not None and fitted.kept.covariates is not None and has_nodes(fitted.region):
        return _nodes_by_covariates(fitted, fitted.regression, fitted.kept.covariates.values, random_state)
    n = _DRAWS
    if limit is not None:
        n = int(np.clip(_BUDGET * _share_inside(fitted, random_state), _FEWEST_DRAWS, _DRAWS))
    draws = fitted.model.sample(n, limit, random_state=random_state, **fitted.params)
    if fitted.exposure is None:
        return draws, np.ones(len(draws))
    # What was seen is the density times the exposure.
    seen = fitted.exposure.values_at(draws)
    return draws, np.exp(seen - seen.max())


def _nodes_by_covariates(
    fitted: Fit, regression: Regression, values: FloatArray, random_state: int
) -> tuple[FloatArray, FloatArray]:
    """Nodes with the mean of the densities at the covariates of some rows: rows come from one density each.

    Draws would be few where the density at some value has nearly all of its mass outside.
    """
    nodes = _many_nodes(plan_nodes(fitted.model.at(fitted.theta), fitted.region).affordable)
    area = nodes.log_weights + (0.0 if fitted.exposure is None else fitted.exposure.values_at(nodes.X))
    some = values[np.random.default_rng(random_state).permutation(len(values))[:_SETTINGS]]
    weight = np.zeros(len(nodes.X))
    for row in regression.standard.design(some):
        exponents = regression.model.log_kernel(nodes.X, regression.theta(row)) + area
        own = np.exp(exponents - exponents.max())
        weight += own / own.sum()
    return nodes.X, weight / len(some)


def _many_nodes(plan: Plan) -> Nodes:
    """As many as there would be draws: those of a good integral are few, and leave bins of a histogram empty."""
    nodes = plan.nodes()
    while len(nodes.X) < _DRAWS:
        grid = plan.grid
        plan = replace(plan, grid=replace(grid, cell=grid.cell + 1, leaf=max(grid.leaf - 1, 1)))
        try:
            finer = plan.nodes()
        except TooManyNodesError:
            break
        if len(finer.X) <= len(nodes.X):
            break
        nodes = finer
    return nodes


def _share_inside(fitted: Fit, random_state: int) -> float:
    """The share of the fitted distribution, without a background, that lies inside the region."""
    density = cluster_density(fitted)
    params = density.model.parameters(density.theta)
    everywhere = density.model.sample(_DRAWS, random_state=random_state, **params)
    return float(fitted.region.contains(everywhere).mean())


def _histogram(title: str, observed: FloatArray, draws: FloatArray, weight: FloatArray) -> Histogram:
    edges = np.linspace(min(observed.min(), draws.min()), max(observed.max(), draws.max()), _BINS + 1)
    share = len(observed) / weight.sum()
    counts = np.histogram(observed, edges)[0]
    expected, squares = (np.histogram(draws, edges, weights=w)[0] for w in (share * weight, (share * weight) ** 2))
    return Histogram(title, edges, counts.astype(np.float64), expected, 2.0 * np.sqrt(expected + squares))


def _draw(ax: Any, panel: Histogram) -> None:
    low, high = np.maximum(panel.expected - panel.error, 0.0), panel.expected + panel.error
    ax.stairs(panel.observed, panel.edges, fill=True, color=POINTS, alpha=0.45, label="rows")
    ax.stairs(panel.expected, panel.edges, color=COLOURS[0], lw=1.6, label="expected")
    ax.stairs(high, panel.edges, baseline=low, fill=True, color=COLOURS[0], alpha=0.2)
    ax.set(xlabel=panel.title, ylabel="rows")
    ax.legend(frameon=False, fontsize=9)
