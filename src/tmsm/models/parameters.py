"""Named parameters: an immutable record that models fill and users read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tmsm.manifolds import Euclidean, Manifold, Sphere

__all__ = ["Field", "Parameters"]


@dataclass(frozen=True)
class Field:
    """One named parameter of a model, and what kind of quantity it is.

    Attributes
    ----------
    name
        Its name.
    kind
        "array": an error for each entry. "direction": a unit vector, whose error is an angle.
    lowest
        Intervals do not go below this value.
    is_covariance
        Whether it is a covariance matrix; intervals of its variances do not go below zero.
    is_axis
        Whether the sign of a direction has no meaning.
    is_centre
        Whether the density is highest there.
    is_angle
        Whether entries are angles in radians, so that a full turn more is the same.
    is_symmetric, is_hollow
        Whether a matrix is symmetric, and whether its diagonal is zero.
    is_factor_centre
        Whether it is the centre of one factor of a product.
    scale
        Intervals are symmetric about the estimate on this scale: "log" for sizes, "logit" for shares.
    component
        In a mixture the number of the component, counted from one; the name ends with it.
    """

    name: str
    kind: Literal["array", "direction"] = "array"
    lowest: float = -np.inf
    is_covariance: bool = False
    is_axis: bool = False
    is_centre: bool = False
    is_angle: bool = False
    is_symmetric: bool = True
    is_hollow: bool = False
    is_factor_centre: bool = False
    scale: Literal["log", "logit"] | None = None
    component: int | None = None

    def repeats(self, index: tuple[int, ...]) -> bool:
        """Whether the entry at an index tells nothing new: half of those of a symmetric matrix, and fixed zeros."""
        if len(index) != 2:
            return False
        return (self.is_symmetric and index[0] > index[1]) or (self.is_hollow and index[0] == index[1])

    @property
    def title(self) -> str:
        """The name in words."""
        return self.own_title if self.component is None else f"{self.own_title} of component {self.component}"

    @property
    def own_title(self) -> str:
        """The name in words, without the component that it belongs to."""
        if self.component is None:
            return self.name.replace("_", " ")
        name = self.name.removesuffix(f"_{self.component}")
        return "share" if name == "shares" else name.replace("_", " ")

    def space(self, value: Any) -> Manifold:
        """The manifold that a value of the parameter lives on: a sphere, or flat space."""
        return Sphere(np.size(value) - 1) if self.kind == "direction" else Euclidean(max(np.size(value), 1))


class Parameters(Mapping[str, Any]):
    """Values by name, read as attributes (``params.concentration``) or as a mapping.

    Estimates, standard errors and intervals have the same names. ``**params`` passes the values on, for example to
    `sample` of a model.

    Parameters
    ----------
    **values
        The values: numbers, arrays, or pairs (low, high) of an interval.

    Examples
    --------
    >>> from tmsm.models import Parameters
    >>> params = Parameters(mean_direction=[0.0, 1.0], concentration=2.0)
    >>> params.concentration
    2.0
    >>> list(params)
    ['mean_direction', 'concentration']
    """

    __slots__ = ("_values",)
    _values: dict[str, Any]

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", {name: _frozen(value) for name, value in values.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"There is no parameter {name!r}; there are {list(self._values)}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Parameters are read-only.")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameters):
            return NotImplemented
        return list(self) == list(other) and all(np.array_equal(self[k], other[k]) for k in self)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._values,)

    def __repr__(self) -> str:
        return f"Parameters({', '.join(f'{name}={_readable(value)}' for name, value in self.items())})"


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    return value


def _readable(value: Any) -> str:
    if isinstance(value, tuple):  # an interval: its two ends
        return f"({', '.join(map(_readable, value))})"
    return " ".join(np.array2string(np.asarray(value), separator=", ").split())


def _rebuild(values: dict[str, Any]) -> Parameters:
    return Parameters(**values)
