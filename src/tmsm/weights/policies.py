"""What chooses weights: one, several combined, or the best that a region offers.

A policy looks at the border as a sample of rows sees it, at the number of parameters and of rows, and returns the parts
of the equations that an estimate is made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import comb
from types import MappingProxyType
from typing import Any, Literal, final

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_option
from tmsm.foundation.values import ValueObject
from tmsm.manifolds import Manifold
from tmsm.regions import BorderView, Region
from tmsm.regions.region import METRICS
from tmsm.weights.base import Weight
from tmsm.weights.blocks import Blocks
from tmsm.weights.componentwise import Componentwise
from tmsm.weights.constant import Constant
from tmsm.weights.constraints import Constraints
from tmsm.weights.distance import Distance, Projected
from tmsm.weights.normal import Normal
from tmsm.weights.saturating import Saturating
from tmsm.weights.scales import check_scale, resolved_scale

__all__ = [
    "ROWS_PER_SQUARE",
    "Auto",
    "Choice",
    "Combined",
    "EquationPart",
    "Setting",
    "Single",
    "WeightPolicy",
    "as_policy",
]

# Below this many rows for each squared equation one weight alone is better than several; see docs/weights.md.
ROWS_PER_SQUARE = 10
# Beyond so many rows blocks of normal-only weights, which are good alone, are not combined: one reading is enough.
_MANY_ROWS = 100_000


@dataclass(frozen=True)
class EquationPart:
    """One set of the equations that an estimate is made of.

    Attributes
    ----------
    kind
        "statistics": V = W∇t for the statistics t of the model. "gradients": V = g∇h for polynomials h. "streams":
        the divergence-free fields V = J∇(g h) along the border.
    weight
        The weight W, or the scalar weight g.
    degrees
        The degrees of the polynomials.
    """

    kind: Literal["statistics", "gradients", "streams"]
    weight: Weight
    degrees: tuple[int, ...] = ()

    def size(self, n_statistics: int, dim: int) -> int:
        """Number of equations, for ``n_statistics`` parameters or statistics on a manifold of dimension ``dim``."""
        if self.kind == "statistics":
            return n_statistics
        return sum(comb(dim + degree - 1, degree) for degree in self.degrees)


@dataclass(frozen=True)
class Setting:
    """What a policy may look at.

    Attributes
    ----------
    view
        The border as a sample of the rows sees it.
    n_free
        Number of parameters to estimate.
    n_rows
        Number of rows, or of groups, that are independent.
    why_single
        A sentence that says why only a single weight will do, as in a stream, which is read once; else empty.
    n_columns
        How many times each equation is taken: once, and once more for every covariate.
    """

    view: BorderView
    n_free: int
    n_rows: float
    why_single: str = ""
    n_columns: int = 1

    @property
    def region(self) -> Region:
        """Where the rows lie."""
        return self.view.region


@dataclass(frozen=True)
class Choice:
    """The parts of the equations, and the weight or policy that stands for them, all its scales fixed."""

    weight: Weight | Combined
    parts: tuple[EquationPart, ...]

    @property
    def combined(self) -> bool:
        """Whether several weights are stacked."""
        return len(self.parts) > 1

    @property
    def single(self) -> Weight:
        """The weight by which to say who holds the weight: the only one, or that of which scales were combined."""
        if isinstance(self.weight, Combined):
            assert self.weight.base is not None, "a choice is resolved"
            return self.weight.base
        return self.weight

    @classmethod
    def of(cls, weight: Weight) -> Choice:
        """A single resolved weight."""
        return cls(weight, (EquationPart("statistics", weight),))


class WeightPolicy(ValueObject, ABC):
    """A way to choose the equations of an estimate: one weight, or several.

    The argument ``setting`` of its methods holds the border as seen from a sample of the rows, and the numbers of rows
    and of parameters.
    """

    @abstractmethod
    def choose(self, setting: Setting) -> Choice:
        """The equations for a setting, nothing in them left to the data."""

    def fallback(self, setting: Setting) -> Choice | None:
        """What to use where the first choice fails; None where the user insisted on it."""
        return None

    @property
    def label(self) -> str:
        """What to call it in a summary."""
        return repr(self)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Single(WeightPolicy):
    """One weight."""

    weight: Weight

    def choose(self, setting: Setting) -> Choice:
        return Choice.of(self.weight.resolve(setting.view))


# What each level adds to the one below: kind, factor of the scale or number in the pair of the base, degrees.
_Recipe = tuple[Literal["statistics", "gradients", "streams"], float, tuple[int, ...]]
_LEVELS: tuple[tuple[_Recipe, ...], ...] = (
    (("statistics", 0, ()), ("statistics", 1, ())),
    (("streams", 1.5, (0, 1)),),
    (("gradients", 1.5, (2,)), ("streams", 1.5, (2,))),
    (("gradients", 1.5, (3,)), ("streams", 1.5, (3,))),
    (("gradients", 0.15, (2, 3)), ("streams", 0.15, (0, 1, 2, 3))),
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Combined(WeightPolicy):
    """Several weights and fields along the border, combined by the generalised method of moments.

    The equations of one weight at two scales are put together. Higher levels add the equations of polynomials and of
    divergence-free fields that are parallel to the border. All of them are weighted by the inverse of their covariance.

    Parameters
    ----------
    level
        1: two scales. 2: also fields along the border (in dimension two, if the base is `Saturating`), or the plain
        distance (if the base is `Constraints`). 3 and 4: also polynomials of degree two and three. 5: these at two
        scales. By default the highest level whose number m of equations fits the number n of rows: 10 m² ≤ n, or 40 m²
        ≤ n if the base is `Componentwise` or `Normal`, for which further equations bring less. A product of regions has
        only level 1.
    base
        The weight that is taken at two scales: `Saturating`, `Componentwise`, `Normal`, `Constraints` or `Blocks`. By
        default `Blocks` for a product of regions, `Componentwise` if the region has axes, `Normal` if its border is
        smooth, `Constraints` if it is given by a few smooth functions, else `Saturating`.
    scale
        Of the polynomials and the fields along the border: a positive number in the unit of the distance, or "median",
        the median distance of the rows to the border, taken once, at the first fit.
    metric
        "geodesic" or "chordal".

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> truth = {"mean_direction": [0.0, 0.0, 1.0], "concentration": 5.0}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> fit = tmsm.ScoreMatching(model, region, tmsm.weights.Combined(level=1)).fit(X)
    >>> fit.weight_.base
    Normal(power=3.0, reach=1.0)
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
        bases = Saturating | Componentwise | Normal | Constraints | Blocks
        if self.base is not None and not isinstance(self.base, bases):
            raise InvalidTypeError(
                "base must be a Saturating, Componentwise, Normal, Constraints or Blocks weight; "
                f"got {type(self.base).__name__}."
            )
        object.__setattr__(self, "scale", check_scale(self.scale))
        check_option(self.metric, METRICS[:2], "metric")

    def choose(self, setting: Setting) -> Choice:
        region = setting.region
        if not region.has_border:
            return Choice.of(Constant().resolve(setting.view))
        if setting.why_single:
            raise InvalidInputError(setting.why_single)
        resolved = self.resolved(setting.view)
        if resolved.level is None:
            # Polynomials and fields along the border have one scale for all coordinates, which a product has not.
            highest = 1 if isinstance(resolved.base, Blocks) else len(_LEVELS)
            levels = [replace(resolved, level=level) for level in range(1, highest + 1)]
            fitting = [one for one in levels if one._fits(region.manifold, setting)]
            resolved = fitting[-1] if fitting else levels[0]
        return Choice(resolved, resolved.parts(region.manifold))

    def resolved(self, view: BorderView) -> Combined:
        """The same with its base and scales fixed by the rows of a view."""
        scale = resolved_scale(self.scale, view, self.metric)
        base = self.base
        if base is None:
            base = _single(view.region) or Saturating(scale, self.metric)
        return replace(self, base=base.resolve(view), scale=scale)

    def parts(self, manifold: Manifold) -> tuple[EquationPart, ...]:
        """The equations of its level on a manifold; streams need one where tangents can be turned."""
        assert self.level is not None and self.base is not None, "choose() comes first"
        series = self.base.series()
        assert series is not None, "only weights with a second scale can be a base"
        # Tensor weights keep what runs along the border anyway: to them streams alone bring nothing.
        highest = 1 if self.level == 2 and not isinstance(self.base, Saturating) else self.level
        parts = [
            EquationPart(kind, series[int(factor)] if kind == "statistics" else self.along(factor), degrees)
            for level in _LEVELS[:highest]
            for kind, factor, degrees in level
            if kind != "streams" or manifold.has_quarter_turn
        ]
        if self.level > 1:
            parts[2:2] = [EquationPart("statistics", weight) for weight in series[2:]]
        return tuple(parts)

    def along(self, factor: float) -> Weight:
        """The weight of polynomials and of fields along the border at a factor of the scale."""
        return Saturating(factor * float(self.scale), self.metric)

    def _fits(self, manifold: Manifold, setting: Setting) -> bool:
        """Whether the rows can carry the equations of the level."""
        m = setting.n_columns * sum(
            part.size(setting.n_free // setting.n_columns, manifold.dim) for part in self.parts(manifold)
        )
        far_from_best = isinstance(self.base, Saturating | Constraints)
        return (ROWS_PER_SQUARE if far_from_best else self._ROWS_PER_SQUARE_OF_A_TENSOR) * m**2 <= setting.n_rows

    @property
    def label(self) -> str:
        return f"combined, level {self.level} of {len(_LEVELS)}, from {self.base!r}"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Auto(WeightPolicy):
    """The best weight that the region offers; `weight_` and `summary` of the fit say which one was chosen.

    Parameters
    ----------
    combine
        Whether several weights may be combined.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> truth = {"mean_direction": [0.0, 0.0, 1.0], "concentration": 5.0}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> tmsm.ScoreMatching(model, region, tmsm.weights.Auto()).fit(X).weight_
    Normal(power=3.0, reach=1.0)
    """

    combine: bool = True

    def choose(self, setting: Setting) -> Choice:
        if not setting.region.has_border:
            return Choice.of(Constant().resolve(setting.view))
        single = _single(setting.region)
        enough = ROWS_PER_SQUARE * (2 * setting.n_free) ** 2 <= setting.n_rows
        if self.combine and not setting.why_single and not _good_alone(single, setting.n_rows) and enough:
            return Combined().choose(setting)
        return Choice.of((single or Saturating()).resolve(setting.view))

    def fallback(self, setting: Setting) -> Choice | None:
        return Auto(combine=False).choose(setting)


def _single(region: Region) -> Weight | None:
    """The best single weight of a region that has better than a scalar one."""
    if region.product_parts:
        return Blocks(tuple(_of_part(part) for part in region.product_parts))
    if region.axes is not None:
        return Componentwise()
    if region.smooth_border is not None:
        return Normal()
    return Constraints() if region.constraints is not None else None


def _good_alone(weight: Weight | None, n_rows: float) -> bool:
    """Whether a second scale beside a weight brings nothing worth its noise, or worth reading so many rows again."""
    if isinstance(weight, Blocks):
        return n_rows > _MANY_ROWS and all(isinstance(block, Normal | Constant) for block in weight.weights)
    return isinstance(weight, Normal | Constant)


def _of_part(region: Region) -> Weight:
    """The best single weight of a part of a product."""
    if not region.has_border:
        return Constant()
    return _single(region) or Saturating()


_BY_NAME: Mapping[str, Callable[[], Weight | WeightPolicy]] = MappingProxyType(
    {
        "auto": Auto,
        "geodesic": lambda: Distance("geodesic"),
        "projected": Projected,
        "chordal": lambda: Distance("chordal"),
        "saturating": Saturating,
        "normal": Normal,
        "componentwise": Componentwise,
        "constraints": Constraints,
        "combined": Combined,
    }
)


def as_policy(weight: Any) -> WeightPolicy:
    """Look a weight or a policy up by name, or take an object of either kind."""
    if isinstance(weight, str):
        weight = _BY_NAME[check_option(weight, _BY_NAME, "weight")]()
    if isinstance(weight, WeightPolicy):
        return weight
    if isinstance(weight, Weight):
        return Single(weight)
    raise InvalidTypeError(
        f"weight must be one of {list(_BY_NAME)} or a Weight object; got {type(weight).__name__}."
        + (" Call the class to make one." if isinstance(weight, type) else "")
    )
