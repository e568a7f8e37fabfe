"""Points beside a fit that it did not see: a truth that is known, or rows that were kept back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.data.named_tables import framed_points
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_float_array, short_repr
from tmsm.manifolds import Manifold

__all__ = ["MARK_COLOURS", "MARK_SHAPES", "RING_COLOURS", "Mark", "checked_marks"]

# Of single marks, which are filled, and of the rings round several.
MARK_COLOURS = ("#F0E442", "#FFFFFF", "#CC79A7", "#999999")
# Another shape where the colours begin again.
MARK_SHAPES = ("*", "P", "^", "v", "h", "d")
RING_COLOURS = ("#5B5B5B", "#A0522D", "#7B3294")


@dataclass(frozen=True)
class Mark:
    """One point or several, shape (n, D), and what to call them."""

    label: str
    X: FloatArray

    @property
    def is_single(self) -> bool:
        """Whether it is one point."""
        return len(self.X) == 1


def checked_marks(marks: Any, manifold: Manifold) -> list[Mark]:
    """Marks as they are passed, label -> point (D,) or points (n, D), checked."""
    if marks is None:
        return []
    if not isinstance(marks, Mapping):
        raise InvalidTypeError(
            f"marks must be a dictionary from labels to points, such as {{'truth': xyz}}; got {type(marks).__name__}."
        )
    return [_checked(label, points, manifold) for label, points in marks.items()]


def _checked(label: Any, points: Any, manifold: Manifold) -> Mark:
    if not isinstance(label, str):
        raise InvalidTypeError(f"The label of a mark must be text; got {short_repr(label)}.")
    name, width = f"The mark {short_repr(label)}", manifold.embedding_dim
    framed = framed_points(points) if manifold.has_longitudes else None
    X = as_float_array(points if framed is None else framed.X, name)
    if X.size == 0:
        raise InvalidInputError(f"{name} has no points. Leave it out, or give one.")
    if X.ndim not in (1, 2) or X.shape[-1] != width:
        hint = " Use lonlat_to_xyz for degrees." if manifold.has_longitudes and X.shape[-1:] == (2,) else ""
        raise InvalidInputError(
            f"{name} must be one point of shape ({width},) or several of shape (n, {width}); got shape {X.shape}.{hint}"
        )
    rows = np.atleast_2d(X)
    if not manifold.contains(rows).all():
        raise InvalidInputError(_complaint(name, rows, X.ndim == 1, manifold))
    return Mark(label, rows)


def _complaint(name: str, rows: FloatArray, single: bool, manifold: Manifold) -> str:
    if single and not np.isfinite(rows).all():
        return f"{name} has NaN or infinite entries: {rows[0].tolist()}."
    if single and manifold.has_longitudes:
        norm = float(np.linalg.norm(rows[0]))
        return (
            f"{name} is not on the sphere: its norm is {norm:.4g}. Divide it by its norm, or use lonlat_to_xyz if "
            "these are degrees."
        )
    return str(manifold.reason(rows, name))
