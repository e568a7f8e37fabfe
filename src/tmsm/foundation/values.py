"""Immutable value objects: the geometry and the models a fit is built from."""

from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray

__all__ = ["ValueObject", "frozen_array"]

_REPR_ENTRIES = 24


def frozen_array(values: ArrayLike) -> FloatArray:
    """Return a read-only float64 copy, fit to be a field of a value object."""
    array = np.array(values, dtype=np.float64) + 0.0  # no minus zeros, which print oddly
    array.flags.writeable = False
    return array


class ValueObject:
    """Base of all frozen dataclasses here: equality, hash and repr by value, copies are free.

    Subclasses are declared ``@dataclass(frozen=True, eq=False, repr=False)``, so that the methods
    below, which know about arrays, stand.
    """

    def _value(self) -> tuple[Any, ...]:
        """What equality compares: the type and the fields."""
        return type(self), *(_hashable(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueObject):
            return NotImplemented
        return self is other or self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def __repr__(self) -> str:
        named = (f"{f.name}={_readable(getattr(self, f.name))}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(named)})"

    def to_arguments(self) -> dict[str, Any]:
        """What `from_arguments` makes an equal object of: by default the fields, which the constructor takes."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    @classmethod
    def from_arguments(cls, **arguments: Any) -> Self:
        """The object of its `to_arguments`, checked as the constructor checks it.

        Parameters
        ----------
        **arguments
            The arguments by name.
        """
        return cls(**arguments)

    # What is kept in the object but made again where it is needed: it does not travel with it.
    _TRANSIENT: ClassVar[frozenset[str]] = frozenset({"_shelf"})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._TRANSIENT}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Trees and nodes cached on the object are shared, so that cloning an estimator is cheap.
        return self


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, (value + 0.0).tobytes()  # + 0.0: minus zero equals zero
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return value


def _readable(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size > _REPR_ENTRIES:
            return f"<array of shape {value.shape}>"
        return repr(value.tolist())
    return repr(value)
