"""How many rows a fitted density expects where nothing was seen, for each row that was seen.

    ratio = ∫_R p / ∫_V e p,   ∇_θ log ratio = E_R s − E_V s,   s = ∂ log p/∂θ,

V the region of the fit with its known exposure e, R the region that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError, TooManyNodesError
from tmsm.foundation.text import readable
from tmsm.inference.delta import check_level, critical_square
from tmsm.inference.fit import Fit
from tmsm.matching.exposure import KnownExposure
from tmsm.measure.integrals import Plan, plan_nodes
from tmsm.measure.nodes import has_nodes
from tmsm.models.base import Model
from tmsm.regions import Region

__all__ = ["Extrapolation", "Extrapolator"]

# Nodes are taken in blocks of so many.
_BLOCK = 32_768
# Grids are refined until one step changes the logarithm by less.
_TOLERANCE = 2e-4
# Draws go on until they add less than such a share to the standard error, and up to so many.
_DRAW_SHARE = 0.1
_DRAW_BLOCK, _MAX_DRAWS = 2**17, 2**21


@final
@dataclass(frozen=True)
class Extrapolation:
    """The expected number of rows in a region for each row seen; `extrapolate` of an estimator makes it.

    Its error is valid if the family is right. Families that fit equally well inside may differ by much more: compare
    them.

    Attributes
    ----------
    value
        The number of rows for each row seen.
    log_std_error
        Standard error of its logarithm.
    error_df
        Degrees of freedom of the error; None for the normal distribution.
    """

    value: float
    log_std_error: float
    error_df: float | None = None

    @property
    def std_error(self) -> float:
        """Standard error by the delta method."""
        return self.value * self.log_std_error

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """(low, high), symmetric about the logarithm of the value.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        reach = float(np.sqrt(critical_square(1, check_level(level), self.error_df))) * self.log_std_error
        with np.errstate(over="ignore"):
            return float(self.value * np.exp(-reach)), float(self.value * np.exp(reach))

    @property
    def in_words(self) -> str:
        """The value with its error."""
        return f"{self.value:.3g} ± {self.std_error:.2g}"

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        return f"<{self.in_words} rows for each row seen, 95 % interval {readable(low)} to {readable(high)}>"


@final
@dataclass(frozen=True)
class Extrapolator:
    """A fit, with the integral over its own region made once."""

    fit: Fit

    @cached_property
    def _inside(self) -> _Density:
        return _Density(self.fit.model, self.fit.theta, self.fit.exposure)

    @cached_property
    def _beyond(self) -> _Density:
        model = self.fit.model
        return _Density(model.beyond(), model.beyond_theta(self.fit.theta))

    @cached_property
    def _seen(self) -> _Part:
        return self._inside.by_nodes(self.fit.region)

    def rows_in(self, region: Region) -> Extrapolation:
        """The expected number of rows in a region for each row seen."""
        fit = self.fit
        if not isinstance(region, Region):
            raise InvalidTypeError(
                f"extrapolate needs a region, such as border.surroundings(0, 0.04); got {type(region).__name__}."
            )
        if region.manifold != fit.region.manifold:
            raise InvalidInputError(
                f"The region lies on {region.manifold!r}, and the rows of the fit on {fit.region.manifold!r}."
            )
        if fit.regression is not None:
            raise InvalidInputError(
                "With covariates another number of rows is expected at every value of them: extrapolate a fit without, "
                "or fits of rows with similar values."
            )
        if has_nodes(region) and has_nodes(fit.region):
            try:
                return self._ratio(self._beyond.by_nodes(region), self._seen)
            except TooManyNodesError:
                if region.manifold.dim <= 2:
                    raise
        draws = _Draws(self._beyond, self._inside, region, fit.region)
        while True:
            asked, seen = draws.parts()
            found = self._ratio(asked, seen)
            added = asked.error**2 + seen.error**2
            if added <= _DRAW_SHARE**2 * found.log_std_error**2 or draws.n >= _MAX_DRAWS:
                return found

    def _ratio(self, asked: _Part, seen: _Part) -> Extrapolation:
        model, covariance = self.fit.model, self.fit.known_covariance
        # Derivatives by θ of what goes on beyond the border, as derivatives by all of θ.
        widened = np.stack([model.beyond_theta(unit) for unit in np.eye(len(covariance))])
        slope = widened @ asked.mean - seen.mean
        variance = max(float(slope @ covariance @ slope), 0.0) + asked.error**2 + seen.error**2
        with np.errstate(over="ignore"):
            value = float(np.exp(asked.log_integral - seen.log_integral))
        return Extrapolation(value, float(np.sqrt(variance)), self.fit.error_df)


class _Part(NamedTuple):
    """The logarithm of an integral, the mean of s there (p,), and the error of the logarithm."""

    log_integral: float
    mean: FloatArray
    error: float


@final
@dataclass(frozen=True)
class _Density:
    """A density of a family, and how much of it is seen."""

    model: Model
    theta: FloatArray
    exposure: KnownExposure | None = None

    def log_seen(self, X: FloatArray) -> FloatArray:
        """Log(e p), shape (n,)."""
        values = self.model.log_kernel(X, self.theta)
        return values if self.exposure is None else values + self.exposure.values_at(X)

    def by_nodes(self, region: Region) -> _Part:
        """Over a region: by grids that are refined until one step changes little."""
        plan = plan_nodes(self.model.at(self.theta), region).affordable
        before = self._on_grid(plan.coarser)[0]
        while True:
            after, mean = self._on_grid(plan)
            change, before, finer = abs(after - before), after, plan.finer
            if change <= _TOLERANCE or finer is None:
                return _Part(after, mean, change)
            try:
                finer.nodes()
            except TooManyNodesError:  # the result so far stands, with its error
                return _Part(after, mean, change)
            plan = finer

    def _on_grid(self, plan: Plan) -> tuple[float, FloatArray]:
        nodes = plan.nodes()
        exponents = self.log_seen(nodes.X) + nodes.log_weights
        top = float(exponents.max())
        weight = np.exp(exponents - top)
        total = float(weight.sum())
        return top + float(np.log(total)), self.sum_slopes(nodes.X, weight) / total

    def sum_slopes(self, X: FloatArray, weight: FloatArray) -> FloatArray:
        """The sum of s with weights (n,), shape (p,)."""
        tangent = self.model.tangent(self.theta)
        total = np.zeros(self.theta.size)
        for start in range(0, len(X), _BLOCK):
            total += weight[start : start + _BLOCK] @ tangent.statistics(X[start : start + _BLOCK])
        return total


class _Draws:
    """Draws on the whole manifold from what goes on beyond the border, more with each call.

    Those inside R count for what is asked for.  Those inside V count for what is seen; their weights are the ratio of
    what is seen to what is drawn from.
    """

    def __init__(self, beyond: _Density, inside: _Density, asked: Region, seen: Region) -> None:
        self.beyond, self.inside, self.asked, self.seen = beyond, inside, asked, seen
        self.rng = np.random.default_rng(0)
        self.n = 0
        # Of both: the sums of weights and of their squares, and of weights times s.
        self._totals = np.zeros((2, 2))
        self._slopes = [np.zeros(one.theta.size) for one in (beyond, inside)]

    def parts(self) -> tuple[_Part, _Part]:
        """What is asked for and what is seen, in units of the mass that was drawn from."""
        X = self.beyond.model.at(self.beyond.theta).draw(_DRAW_BLOCK, self.rng)
        self.n += len(X)
        Y = X[self.asked.signed_distance(X)[0] > 0.0]
        self._add(0, self.beyond, Y, np.ones(len(Y)))
        Z = X[self.seen.signed_distance(X)[0] > 0.0]
        log_weight = self.inside.log_seen(Z) - self.beyond.model.log_kernel(Z, self.beyond.theta)
        self._add(1, self.inside, Z, np.exp(log_weight))
        return self._part(0, "that is asked for"), self._part(1, "of the fit")

    def _add(self, k: int, density: _Density, X: FloatArray, weight: FloatArray) -> None:
        self._totals[k] += weight.sum(), weight @ weight
        self._slopes[k] += density.sum_slopes(X, weight)

    def _part(self, k: int, which: str) -> _Part:
        total, squares = self._totals[k].tolist()
        if not total > 0.0:
            raise EstimationError(
                f"None of {self.n:,} draws fell inside the region {which}: the fitted density has almost no mass "
                f"there, and in {self.asked.manifold.dim} dimensions it cannot be integrated."
            )
        # The variance of a mean of weights that are zero elsewhere, over the square of that mean.
        error = float(np.sqrt(max(squares / total**2 - 1.0 / self.n, 0.0)))
        return _Part(float(np.log(total / self.n)), self._slopes[k] / total, error)
