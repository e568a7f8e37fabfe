"""Parameters in nested lists, tuples and dictionaries, as one vector and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.autodiff import load_jax
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import short_repr

__all__ = ["Structure", "flattened"]

# What the only leaf is called that is no part of anything.
_ALONE = "params"


@final
@dataclass(frozen=True)
class Structure:
    """How a pytree of numbers and arrays is nested: a dictionary, list, tuple, named tuple, or one array.

    Attributes
    ----------
    definition
        What JAX calls the tree without its leaves.
    names
        The path to each leaf, such as "a.b" or "0".
    shapes
        Their shapes, () for a number.
    """

    definition: Any
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> list[int]:
        """How many numbers each leaf has."""
        return [int(np.prod(shape)) for shape in self.shapes]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(self.sizes)

    @property
    def slices(self) -> list[slice]:
        """Where each leaf stands in the vector of all numbers."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def leaves(self, vector: Any) -> list[Any]:
        """The leaves of a vector (p,), of NumPy or of JAX, each in its shape."""
        return [vector[own].reshape(shape) for own, shape in zip(self.slices, self.shapes, strict=True)]

    def nested(self, leaves: Sequence[Any]) -> Any:
        """The tree with these leaves, which may be anything."""
        return load_jax().tree_util.tree_unflatten(self.definition, list(leaves))

    def tree(self, vector: Any) -> Any:
        """The tree of a vector (p,)."""
        return self.nested(self.leaves(vector))

    def entry(self, k: int) -> str:
        """What to call entry k of the vector: its leaf, and its place in it."""
        for name, own, shape in zip(self.names, self.slices, self.shapes, strict=True):
            if k < own.stop:
                where = [int(i) for i in np.unravel_index(k - own.start, shape)] if shape else []
                return f"{name}{where}" if where else name
        raise IndexError(k)

    def parts(self, tree: Any) -> list[Any] | None:
        """What stands in a tree where this one has leaves, such as a list for an array; None for another structure."""
        try:
            found: list[Any] = self.definition.flatten_up_to(tree)
        except (TypeError, ValueError):
            return None
        return found

    def vector(self, leaves: Sequence[Any], name: str) -> FloatArray:
        """The numbers of leaves in their order, shape (p,)."""
        found = []
        for path, value, wanted in zip(self.names, leaves, self.shapes, strict=True):
            what = name if self.names == (_ALONE,) else f"{name}: {path}"
            own = _leaf(value, what)
            if own.shape != wanted:
                raise InvalidInputError(f"{what} must have the shape {wanted} as in init; it has {own.shape}.")
            found.append(own.ravel())
        return np.concatenate(found)


def flattened(tree: Any, name: str) -> tuple[Structure, FloatArray]:
    """The structure of a pytree of real numbers, and all of them as one vector; whole numbers become floats."""
    util = load_jax().tree_util
    try:
        pairs, definition = util.tree_flatten_with_path(tree)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} is no tree of parameters: {str(error).splitlines()[0][:160]} The keys of a dictionary must be of "
            "one kind, such as texts."
        ) from None
    names = [".".join(map(_key, path)) or _ALONE for path, _ in pairs]
    if len(set(names)) < len(names):
        names = [util.keystr(path) for path, _ in pairs]
    leaves = [
        _leaf(value, f"{name}: {path}" if pairs[0][0] else name) for path, (_, value) in zip(names, pairs, strict=True)
    ]
    if not leaves:
        raise InvalidInputError(f"{name} holds no number: a density needs at least one parameter to fit.")
    structure = Structure(definition, tuple(names), tuple(leaf.shape for leaf in leaves))
    return structure, np.concatenate([leaf.ravel() for leaf in leaves])


def _key(key: Any) -> str:
    """One step of a path: the key of a dictionary, the number in a list, the name of an attribute."""
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _leaf(value: Any, name: str) -> FloatArray:
    try:
        array = np.asarray(value)
    except Exception:
        array = np.array(None)
    if array.dtype.kind not in "fiu":
        raise InvalidTypeError(f"{name} must be a number or an array of numbers; got {short_repr(value)}.")
    if array.size == 0:
        raise InvalidInputError(f"{name} is an empty array: leave it out.")
    found = array.astype(np.float64)
    if not np.isfinite(found).all():
        raise InvalidInputError(
            f"{name} must be finite; {int(np.count_nonzero(~np.isfinite(found)))} of its {found.size} numbers "
            f"{'is' if found.size == 1 else 'are'} NaN or infinite."
        )
    return found
