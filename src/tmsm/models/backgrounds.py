"""What clusters may sit on: a density over the region that is known but for its share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds import Manifold
from tmsm.measure.cell_draws import draw_by_cells
from tmsm.measure.draws import draw_inside
from tmsm.measure.integrals import integrate_kernel, plan_nodes
from tmsm.measure.nodes import has_nodes
from tmsm.regions import Region

__all__ = ["Background", "LogMap", "check_bounded"]

# Differences of a background that gives values alone are taken over this share of a unit of length.
_STEP = 1e-5
# Of a map over a wider one: only integrals ask for them, to see how fine nodes must be, and no node sees single pixels.
_STEP_ON_MAP = 0.05
# A region that holds so few of so many uniform draws is too small to be hit by chance.
_FEW, _TRIED = 8, 2**14


@runtime_checkable
class LogMap(Protocol):
    """A map of a positive quantity on a manifold, such as `ExposureMap`."""

    def log_values(self, X: Any) -> FloatArray:
        """Its logarithm at points (n, D), shape (n,)."""


@final
@dataclass(frozen=True)
class Background:
    """A density over a region, up to its normalising constant: a constant, or what a user gives.

    Attributes
    ----------
    given
        True for a constant; else a function of X (n, D) that returns log values (n,), or these and gradients (n, D), or
        a `LogMap`.
    """

    given: Any

    @classmethod
    def of(cls, given: Any) -> Background | None:
        """What a user gave, checked; None for none."""
        if given is None or (isinstance(given, bool | np.bool_) and not given):
            return None
        if isinstance(given, bool | np.bool_):
            return cls(True)
        if isinstance(given, LogMap) or callable(given):
            return cls(given)
        raise InvalidTypeError(
            "background must be True for a uniform one, False for none, a function of X that returns log values, or an "
            f"ExposureMap; got {type(given).__name__}."
        )

    @property
    def is_uniform(self) -> bool:
        """Whether it is a constant."""
        return self.given is True

    def values(self, X: FloatArray) -> FloatArray:
        """Log b at points, shape (n,); −∞ where there is none."""
        if self.is_uniform:
            return np.zeros(len(X))
        if isinstance(self.given, LogMap):
            values = np.asarray(self.given.log_values(X), dtype=np.float64)
            if np.isnan(values).any():
                # Beyond the map, where integrals only look how far the density goes: inside the region it has values.
                known = values[np.isfinite(values)]
                values = np.where(np.isnan(values), known.mean() if known.size else 0.0, values)
        else:
            found = self.given(X)
            values = as_float_array(found[0] if isinstance(found, tuple) else found, "background")
        if values.shape != (len(X),):
            raise InvalidInputError(f"background must return values of shape {(len(X),)}; got shape {values.shape}.")
        bad = np.isnan(values) | (values == np.inf)
        if bad.any():
            raise InvalidInputError(
                f"background must return logarithms that are numbers, or −∞ for zero; {int(bad.sum())} of {len(X)} "
                f"values are NaN or infinite (first: at {np.array2string(X[np.argmax(bad)], precision=4)})."
            )
        return values

    def gradient(self, manifold: Manifold, X: FloatArray) -> FloatArray:
        """Its tangent gradient, by differences along geodesics where it gives values alone, shape (n, D)."""
        if self.is_uniform:
            return np.zeros_like(X)
        gradient = np.zeros_like(X)
        step = _STEP_ON_MAP if isinstance(self.given, LogMap) else _STEP
        for u in manifold.tangent_frame(X):
            ahead, behind = (self.values(manifold.retract(X, sign * step * u)) for sign in (1.0, -1.0))
            with np.errstate(invalid="ignore"):
                slope = (ahead - behind) / (2.0 * step)
            gradient += np.where(np.isfinite(slope), slope, 0.0)[:, None] * u
        return gradient

    def require_second_derivatives(self) -> None:
        """Raise where it has none, for what needs them."""
        if not self.is_uniform:
            raise InvalidInputError(
                "A background that is given by its values has no second derivatives, which score matching needs: use "
                "TruncatedMLE, or a uniform background."
            )

    def log_mass(self, region: Region, log_area: float) -> float:
        """Logarithm of its integral over a region; ``log_area`` is that of the whole manifold, where it has one."""
        if isinstance(self.given, LogMap) and has_nodes(region):
            self._check_covers(region, log_area)
        return integrate_kernel(_OverRegion(self, region, log_area), region).log_integral

    def _check_covers(self, region: Region, log_area: float) -> None:
        """Raise where a map has no values for a part of the region."""
        X = plan_nodes(_OverRegion(Background(True), region, log_area), region).affordable.nodes().X
        bad = np.isnan(np.asarray(self.given.log_values(X), dtype=np.float64))
        if bad.any():
            raise InvalidInputError(
                f"The map of the background has no value at {100.0 * bad.mean():.2g} % of the region (first: at "
                f"{np.array2string(X[np.argmax(bad)], precision=4)}): use one that covers it, or a smaller region."
            )

    def draw(self, n: int, region: Region, rng: np.random.Generator) -> FloatArray:
        """Independent draws from it inside the region, shape (n, D)."""
        uniform = _uniform_draws(region, rng)
        if self.is_uniform:
            return draw_inside(uniform, n, region)
        tried = draw_inside(uniform, 4096, region)
        top = float(self.values(tried).max())
        if not np.isfinite(top):
            raise EstimationError("The background is zero at all of 4,096 points inside the region: it has no mass.")

        def draw(size: int) -> FloatArray:
            X = draw_inside(uniform, size, region)
            return X[np.log(rng.random(size)) <= self.values(X) - top]

        return draw_inside(draw, n, region)


def check_bounded(region: Region) -> None:
    """Raise where a background has no meaning: on a region without a border, or one that goes on without end."""
    if not region.has_border:
        raise InvalidInputError(
            "A background is a density over a region with a border, and here nothing is cut off: give the region in "
            "which rows could be seen to ScoreMatching or TruncatedMLE, or leave the background out."
        )
    if not region.manifold.is_closed and not all(np.isfinite(end).all() for end in region.bounds):
        raise InvalidInputError(
            f"A background over {region!r} has no density, since the region goes on without end: use a bounded one, "
            "such as region & Box(lower, upper)."
        )


@final
@dataclass(frozen=True)
class _OverRegion:
    """A background as the measure package wants a density."""

    background: Background
    region: Region
    log_area: float

    def log_kernel(self, X: FloatArray) -> FloatArray:
        return self.background.values(X)

    def log_gradient(self, X: FloatArray) -> FloatArray:
        return self.background.gradient(self.region.manifold, X)

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        # How fast the gradient turns is not known; its square stands for it.
        along: FloatArray = (self.log_gradient(X) * V).sum(axis=1)
        bend: FloatArray = -(along**2)
        return bend

    def extent(self) -> tuple[FloatArray, FloatArray]:
        return self.region.bounds

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        if not self.background.is_uniform:
            raise InvalidInputError(
                "Above dimension three a background must be uniform: that of a map cannot be integrated."
            )
        return _uniform(self.region, n, rng)

    def log_normaliser(self) -> float:
        if self.region.manifold.is_closed:
            return self.log_area
        low, high = self.region.bounds
        return float(np.log(high - low).sum())

    @property
    def rounding(self) -> float:
        return 1e-15


def _uniform_draws(region: Region, rng: np.random.Generator) -> Callable[[int], FloatArray]:
    """A sampler whose draws are uniform inside the region, and not all of them outside."""
    manifold = region.manifold
    if manifold.is_closed and manifold.dim <= 3 and manifold.charts(None) is not None:
        tried = manifold.uniform(_TRIED, np.random.default_rng(0))
        if np.count_nonzero(region.signed_distance(tried)[0] > 0.0) < _FEW:  # a park on the Earth
            return lambda size: draw_by_cells(_constant, region, None, size, rng)
    return lambda size: _uniform(region, size, rng)


def _constant(X: FloatArray) -> FloatArray:
    return np.zeros(len(X))


def _uniform(region: Region, n: int, rng: np.random.Generator) -> FloatArray:
    """Points with a uniform density on the manifold, or in the box round a bounded region of a flat one."""
    manifold = region.manifold
    if manifold.is_closed:
        return manifold.uniform(n, rng)
    if not manifold.is_flat:
        raise InvalidInputError(f"There are no uniform draws on {manifold!r}, which a background needs.")
    low, high = region.bounds
    points: FloatArray = low + (high - low) * rng.random((n, low.size))
    return points
