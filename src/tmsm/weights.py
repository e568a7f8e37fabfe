"""Weights: symmetric tangent tensors W(x) whose normal part vanishes on the border.

Every weight is written as W = a P + Σ_k c_k u_k u_kᵀ, with the tangent projector P, a scalar field
a and a few tangent directions u_k.  Scalar, normal-only and componentwise weights differ in these
numbers only, so that nothing after this module knows which one it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb
from types import MappingProxyType
from typing import Any, Literal, final

import numpy as np

from tmsm.arrays import FloatArray, row_dots
from tmsm.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold
from tmsm.regions.base import METRICS, BorderView, Region, best_axis
from tmsm.regions.lonlat_box import LonLatBox
from tmsm.validation import check_count, check_number, check_option, check_vector
from tmsm.values import ValueObject, frozen_array

__all__ = [
    "ROWS_PER_SQUARE",
    "Auto",
    "Combined",
    "Componentwise",
    "Constant",
    "Distance",
    "EquationPart",
    "Normal",
    "Projected",
    "Saturating",
    "ScalarWeight",
    "Weight",
    "WeightField",
    "as_weight",
    "plain_weight",
]


@dataclass(frozen=True)
class WeightField:
    """W = a P + Σ c uuᵀ and its divergence Σ δ u at the n rows of one block.

    Attributes
    ----------
    isotropic
        a, shape (n,), or one number for all rows.
    directions
        Triples (u, c, δ): tangent vectors (n, D), their coefficient in W, shape (n,) or None for
        zero, and their coefficient in div W, shape (n,) or one number.  Where c is not None or
        zero, u has length one.
    """

    isotropic: FloatArray | float
    directions: tuple[tuple[FloatArray, FloatArray | None, FloatArray | float], ...] = ()

    @property
    def tensor_directions(self) -> list[tuple[FloatArray, FloatArray]]:
        """The pairs (u, c) with a part in W."""
        return [(u, c) for u, c, _ in self.directions if c is not None]

    def apply(self, V: FloatArray) -> FloatArray:
        """W v for tangent rows V (n, D), a new array."""
        total: FloatArray = V * _column(self.isotropic)
        for u, c in self.tensor_directions:
            total += u * (c * row_dots(u, V))[:, None]
        return total

    def flux(self, V: FloatArray) -> FloatArray:
        """W v + div W for tangent rows V (n, D), a new array."""
        total: FloatArray = V * _column(self.isotropic)
        for u, c, delta in self.directions:
            coefficient = delta if c is None else c * row_dots(u, V) + delta
            total += u * _column(coefficient)
        return total


class Weight(ValueObject, ABC):
    """A recipe for W; the same object serves every region that it is valid for."""

    def resolve(self, region: Region, X: FloatArray) -> "Weight":
        """Fix everything that comes from data (a scale, an axis), and refuse regions it is not valid for.

        X is a sample of checked rows inside the region; the weight that comes back depends on no
        data any more.
        """
        return self

    @abstractmethod
    def field(self, view: BorderView) -> WeightField:
        """W and div W at the rows of a block."""

    def pair(self) -> "tuple[Weight, Weight]":
        """Two of its kind, resolved, which together tell more than one: for `Combined`."""
        raise InvalidInputError(f"{type(self).__name__} has no second scale to be combined with.")

    @property
    def label(self) -> str:
        """What to call it in a summary."""
        return repr(self)


class ScalarWeight(Weight):
    """W = g I: a subclass gives g and its tangent gradient.

    g must be Lipschitz, positive inside and zero on the border.
    """

    @abstractmethod
    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        """g, shape (n,), and ∇g, tangent, shape (n, D), at ``view.X``."""

    def field(self, view: BorderView) -> WeightField:
        g, gradient = self.value_and_gradient(view)
        return WeightField(isotropic=g, directions=((gradient, None, 1.0),))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Constant(Weight):
    """W = I, valid only where there is no border."""

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        if region.has_border:
            raise InvalidInputError(
                f"A constant weight does not vanish on the border of {region!r}. "
                "Use weight='auto', or Everywhere(manifold) if nothing was cut off."
            )
        return self

    def field(self, view: BorderView) -> WeightField:
        return WeightField(isotropic=1.0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Distance(ScalarWeight):
    """The paper's weight: g is the distance to the border itself.

    Parameters
    ----------
    metric
        "geodesic" (the paper's haversine) or "chordal".  For its projected distance see `Projected`.
    """

    metric: str = "geodesic"

    def __post_init__(self) -> None:
        check_option(self.metric, METRICS[:2], "metric")

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        return self if region.has_border else Constant()

    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        return view.distance(self.metric)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Projected(ScalarWeight):
    """The paper's projected Euclidean weight: the distance after one coordinate is dropped.

    Parameters
    ----------
    axis
        The dropped coordinate, counted from 0.  By default the one that flattens the distance
        least on the data, chosen once, at the first fit.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Projected(axis=2)
    Projected(axis=2)
    """

    axis: int | None = None

    def __post_init__(self) -> None:
        if self.axis is not None:
            object.__setattr__(self, "axis", check_count(self.axis, "axis", at_least=0))

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        if not region.has_border:
            return Constant()
        if self.axis is None:
            return Projected(best_axis(region, X))
        region.border_distance(X[:1], "projected", self.axis)
        return self

    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        return view.distance("projected", self.axis)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Saturating(Weight):
    """g = 1 − exp(−d/scale): the distance near the border, constant far from it.

    Parameters
    ----------
    scale
        A positive number in the units of the distance, or "median": the median distance of the
        data to the border, taken once, at the first fit.
    metric
        "geodesic" or "chordal".
    """

    scale: float | str = "median"
    metric: str = "geodesic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check_scale(self.scale))
        check_option(self.metric, METRICS[:2], "metric")

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        if not region.has_border:
            return Constant()
        return replace(self, scale=_resolved_scale(self.scale, region, X, self.metric))

    def field(self, view: BorderView) -> WeightField:
        d, gradient = view.distance(self.metric)
        g, slope = _saturate(d, float(self.scale))
        return WeightField(isotropic=g, directions=((gradient, None, slope),))

    def pair(self) -> tuple[Weight, Weight]:
        return replace(self, scale=1.5 * float(self.scale)), replace(self, scale=0.15 * float(self.scale))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Normal(Weight):
    """W = I − q(d) ννᵀ with q = (1 − d/reach)^power: only motion across the border is damped.

    The best weight where the border is smooth: the information along the border is kept whole.
    It needs a distance without kinks where q > 0, so caps, hemispheres, balls and half-spaces
    have it and regions with corners do not.

    Parameters
    ----------
    power
        At least 2, so that q vanishes smoothly at the centre of a cap.
    reach
        How far the damping goes.  By default as far as the distance is smooth; for a half-space,
        where that is everywhere, four times the median distance of the data to the border.
    """

    power: float = 3.0
    reach: float | None = None

    # For a normal in the plane with its mean 1 σ inside, on and 0.7 σ beyond the border, all unknown: 97, 99 and
    # 96 % of the exact likelihood's efficiency; with three medians 99, 97, 91 %, with five 96, 99, 98 %.
    _MEDIANS = 4.0

    def __post_init__(self) -> None:
        power = check_number(self.power, "power")
        if power < 2.0:
            raise InvalidInputError(f"power must be at least 2; got {power:.6g}.")
        object.__setattr__(self, "power", power)
        if self.reach is not None:
            object.__setattr__(self, "reach", check_number(self.reach, "reach", above=0.0))

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        if not region.has_border:
            return Constant()
        border = region.smooth_border
        if border is None:
            raise InvalidInputError(
                f"The normal-only weight needs a border without corners, and {type(region).__name__} may have "
                "some: there its identity fails and the estimate would be biased. "
                "Use 'combined', or 'componentwise' for a box."
            )
        if self.reach is None:
            reach = border.reach
            if np.isinf(reach):
                reach = self._MEDIANS * _positive_median(region.signed_distance(X)[0])
            return replace(self, reach=reach)
        if self.reach > border.reach:
            raise InvalidInputError(
                f"reach must not exceed {border.reach:.6g}, where the distance to this border has a kink; "
                f"got {self.reach:.6g}."
            )
        return self

    def field(self, view: BorderView) -> WeightField:
        reach = self.reach
        assert reach is not None, "resolve() comes first"
        d, normal = view.distance()
        rest = d * (-1.0 / reach)
        rest += 1.0
        np.maximum(rest, 0.0, out=rest)
        slope = rest * rest if self.power == 3.0 else rest ** (self.power - 1.0)
        minus_q = slope * rest
        np.negative(minus_q, out=minus_q)
        # div W = −(q' + q Δd) ν
        delta = view.laplacian * minus_q
        delta += slope * (self.power / reach)
        return WeightField(isotropic=1.0, directions=((normal, minus_q, delta),))

    def pair(self) -> tuple[Weight, Weight]:
        return replace(self, power=2.0), replace(self, power=6.0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Componentwise(Weight):
    """W = diag(g_j), g_j = 1 − exp(−d_j/scale_j), d_j the distance to the nearer face along axis j.

    The best weight for boxes: a face damps only the coordinate that crosses it.

    Parameters
    ----------
    scale
        A positive number, one for each axis, or "median": the medians of the data's d_j, taken
        once, at the first fit.
    """

    scale: float | str | FloatArray = "median"

    def __post_init__(self) -> None:
        if isinstance(self.scale, str | float | int):
            object.__setattr__(self, "scale", _check_scale(self.scale))
            return
        scale = check_vector(self.scale, "scale", finite=False)
        if not (scale > 0.0).all():
            raise InvalidInputError(f"scale must be positive along every axis; got {scale.tolist()}.")
        object.__setattr__(self, "scale", frozen_array(scale))

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        if not region.has_border:
            return Constant()
        axes = region.axes
        if axes is None:
            why = f"which {type(region).__name__} does not have"
            if isinstance(region, LonLatBox):
                why = "and round the pole inside this box north and east have no direction"
            raise InvalidInputError(
                f"The componentwise weight needs faces across orthogonal axes, {why}. "
                "Use 'combined', or 'normal' for a smooth border."
            )
        distances = axes.axis_frame(X if isinstance(self.scale, str) else X[:1]).distances
        if isinstance(self.scale, str):
            return Componentwise(np.array([_positive_median(d) for d in distances.T]))
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
        g, slope = _saturate(frame.distances, np.asarray(self.scale, dtype=np.float64))
        # div W = Σ_j (u_j·∇g_j) u_j + g_j (div(u_j) u_j + ∇_{u_j} u_j)
        delta = slope * frame.signs
        for (i, j), turning in frame.turning.items():
            delta[:, j] += g[:, i] * turning
        directions = tuple((u, g[:, j], delta[:, j]) for j, u in enumerate(frame.directions))
        return WeightField(isotropic=0.0, directions=directions)

    def pair(self) -> tuple[Weight, Weight]:
        assert not isinstance(self.scale, str), "resolve() comes first"
        return Componentwise(2.0 * np.asarray(self.scale)), Componentwise(0.4 * np.asarray(self.scale))


@dataclass(frozen=True)
class EquationPart:
    """Some of the equations that `Combined` stacks.

    Those of the statistics have one of the base's pair of weights, the others a factor of the scale and the degrees of
    their polynomials.
    """

    kind: Literal["statistics", "gradients", "streams"]
    factor: float = 1.0
    degrees: tuple[int, ...] = ()
    member: int = 0

    def size(self, n_free: int, dim: int) -> int:
        """Number of equations, for so many parameters or statistics and on a manifold of some dimension."""
        if self.kind == "statistics":
            return n_free
        return sum(comb(dim + degree - 1, degree) for degree in self.degrees)


# Below this many rows for each squared equation one weight alone is better than several; see docs/weights.md.
ROWS_PER_SQUARE = 10

# What each level adds to the one below.
_LEVELS: tuple[tuple[EquationPart, ...], ...] = (
    (EquationPart("statistics", member=0), EquationPart("statistics", member=1)),
    (EquationPart("streams", 1.5, (0, 1)),),
    (EquationPart("gradients", 1.5, (2,)), EquationPart("streams", 1.5, (2,))),
    (EquationPart("gradients", 1.5, (3,)), EquationPart("streams", 1.5, (3,))),
    (EquationPart("gradients", 0.15, (2, 3)), EquationPart("streams", 0.15, (0, 1, 2, 3))),
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Combined(Weight):
    """Several weights and fields along the border, combined optimally.

    The equations of a weight at two scales, and at higher levels those of polynomials and of fields that run along the
    border, are stacked and weighted by the inverse of their covariance (generalised method of moments).

    Parameters
    ----------
    level
        1: two scales; 2: and fields along the border (in dimension two, from a scalar base); 3, 4: and
        polynomials of degree two, three; 5: those at two scales.  By default the highest level whose number m
        of equations fits the number n of rows: 10 m² ≤ n, or 40 m² ≤ n if the base is more than a scalar
        weight and the rest brings less.
    base
        The weight of which two scales are taken: `Saturating`, `Componentwise` or `Normal`.  By default
        componentwise where the region has axes, normal-only where its border is smooth, else saturating.
    scale
        Of the polynomials and fields along the border: a positive number in the units of the distance, or "median",
        the median distance of the data to the border, taken once, at the first fit.
    metric
        "geodesic" or "chordal".
    """

    level: int | None = None
    base: Weight | None = None
    scale: float | str = "median"
    metric: str = "geodesic"

    # More equations than this cost more in noise of their covariance than they bring; see docs/weights.md.
    _ROWS_PER_SQUARE_OF_A_TENSOR = 40

    def __post_init__(self) -> None:
        if self.level is not None:
            level = check_count(self.level, "level")
            if level > len(_LEVELS):
                raise InvalidInputError(f"level must be at most {len(_LEVELS)}; got {level}.")
            object.__setattr__(self, "level", level)
        if self.base is not None and not isinstance(self.base, Saturating | Componentwise | Normal):
            raise InvalidTypeError(
                f"base must be a Saturating, Componentwise or Normal weight; got {type(self.base).__name__}."
            )
        object.__setattr__(self, "scale", _check_scale(self.scale))
        check_option(self.metric, METRICS[:2], "metric")

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        if not region.has_border:
            return Constant()
        scale = _resolved_scale(self.scale, region, X, self.metric)
        base = self.base
        if base is None:
            base = _single(region) or Saturating(scale, self.metric)
        return replace(self, base=base.resolve(region, X), scale=scale)

    def weight_of(self, part: EquationPart) -> Weight:
        """The weight of some of its equations."""
        if part.kind == "statistics":
            assert self.base is not None, "resolve() comes first"
            return self.base.pair()[part.member]
        return Saturating(part.factor * float(self.scale), self.metric)

    def field(self, view: BorderView) -> WeightField:
        raise AssertionError("Its equations are those of several fields: see tmsm.equations.")

    def parts(self, manifold: Manifold) -> tuple[EquationPart, ...]:
        """The equations of its level on a manifold; streams need one where tangents can be turned."""
        assert self.level is not None, "with_level() comes first"
        # Tensor weights keep what runs along the border anyway: to them streams alone bring nothing.
        highest = 1 if self.level == 2 and not isinstance(self.base, Saturating) else self.level
        parts = [part for level in _LEVELS[:highest] for part in level]
        return tuple(part for part in parts if part.kind != "streams" or manifold.has_quarter_turn)

    def n_equations(self, manifold: Manifold, n_free: int) -> int:
        """How many equations its level has for a model with so many free parameters."""
        return sum(part.size(n_free, manifold.dim) for part in self.parts(manifold))

    def needs_rows(self, n_equations: int) -> int:
        """How many rows so many equations need."""
        scalar = isinstance(self.base, Saturating)
        return (ROWS_PER_SQUARE if scalar else self._ROWS_PER_SQUARE_OF_A_TENSOR) * n_equations**2

    def with_level(self, manifold: Manifold, n_free: int, n_rows: float) -> "Combined":
        """The highest level whose equations the rows can carry, unless one was asked for."""
        if self.level is not None:
            return self
        levels = [replace(self, level=level) for level in range(1, len(_LEVELS) + 1)]
        fitting = [one for one in levels if one.needs_rows(one.n_equations(manifold, n_free)) <= n_rows]
        return fitting[-1] if fitting else levels[0]

    @property
    def label(self) -> str:
        return f"combined, level {self.level} of {len(_LEVELS)}, from {self.base!r}"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Auto(Weight):
    """The best weight that the region offers; what it chose stands in the summary.

    Parameters
    ----------
    combine
        Whether "combined" is among the choices; a stream, which is read once, cannot have it.
    """

    combine: bool = True

    def choose(self, region: Region, n_free: int, n_rows: float) -> Weight:
        """The weight for so many parameters and rows; its scales are still to be resolved."""
        single = _single(region)
        if isinstance(single, Normal):
            return single
        if self.combine and ROWS_PER_SQUARE * (2 * n_free) ** 2 <= n_rows:
            return Combined()
        return single or Saturating()

    def resolve(self, region: Region, X: FloatArray) -> Weight:
        return replace(self, combine=False).choose(region, 0, 0).resolve(region, X)

    def field(self, view: BorderView) -> WeightField:
        raise AssertionError("resolve() comes first")


def _single(region: Region) -> Weight | None:
    """The best single weight of a region that has better than a scalar one."""
    if region.axes is not None:
        return Componentwise()
    return Normal() if region.smooth_border is not None else None


def plain_weight(region: Region) -> Weight:
    """The weight by which fits are compared, whatever they were made with: the geodesic distance."""
    return Distance("geodesic") if region.has_border else Constant()


def _column(coefficient: FloatArray | float) -> FloatArray | float:
    return coefficient[:, None] if isinstance(coefficient, np.ndarray) else coefficient


def _saturate(d: FloatArray, scale: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    # −expm1 keeps the digits of g next to the border; an open side (d infinite) gives g = 1, slope 0.
    g = -np.expm1(-d / scale)
    return g, (1.0 - g) / scale


def _check_scale(scale: Any) -> float | str:
    if isinstance(scale, str):
        return check_option(scale, ["median"], "scale")
    return check_number(scale, "scale", above=0.0)


def _resolved_scale(scale: float | str, region: Region, X: FloatArray, metric: str) -> float:
    return _positive_median(region.distance_in(X, metric)[0]) if isinstance(scale, str) else scale


def _positive_median(d: FloatArray) -> float:
    if np.isinf(d).all():
        return 1.0  # an axis without faces: every scale gives g = 1
    median = float(np.median(d[np.isfinite(d)]))
    if not median > 0.0:
        raise EstimationError(
            "More than half of the rows lie on the border, so the scale 'median' is zero. "
            "Give the weight a scale as a number."
        )
    return median


_BY_NAME: Mapping[str, Weight] = MappingProxyType(
    {
        "auto": Auto(),
        "geodesic": Distance("geodesic"),
        "projected": Projected(),
        "chordal": Distance("chordal"),
        "saturating": Saturating(),
        "normal": Normal(),
        "componentwise": Componentwise(),
        "combined": Combined(),
    }
)


def as_weight(weight: Any) -> Weight:
    """Look a weight up by name, or pass a `Weight` through."""
    if isinstance(weight, Weight):
        return weight
    if isinstance(weight, str):
        return _BY_NAME[check_option(weight, _BY_NAME, "weight")]
    raise InvalidTypeError(
        f"weight must be one of {list(_BY_NAME)} or a Weight object; got {type(weight).__name__}."
        + (" Call the class to make one." if isinstance(weight, type) else "")
    )
