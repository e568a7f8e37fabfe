"""What is known about each row beside its point, such as a year: columns of numbers with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.filters import named_list
from tmsm.foundation.validation import as_float_array, find_missing
from tmsm.foundation.values import ValueObject, frozen_array

__all__ = ["ColumnSums", "Covariates", "CovariatesInBlocks", "Standard", "read_columns"]

# A column whose part that the others do not explain is a smaller share of its spread is taken for one of them.
_COLLINEAR = 1e-7
# A spread below this share of the column's size is rounding.
_CONSTANT = 1e-12
# An effect is told from at least so many rows that differ from the others.
_FEWEST = 3


@final
@dataclass(frozen=True, eq=False, repr=False)
class Standard(ValueObject):
    """Where covariates lie and how far they spread, for equations that are well conditioned.

    Attributes
    ----------
    center, scale
        Mean and standard deviation of each column over the rows of a fit, shape (q,).
    low, high
        The smallest and the largest value, shape (q,).
    """

    center: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        for name in ("center", "scale", "low", "high"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @classmethod
    def of(cls, values: FloatArray, weight: FloatArray | None, names: Sequence[str]) -> Standard:
        """From the rows (n, q) that a fit uses; columns that tell nothing, or nothing new, are an error."""
        if weight is not None:
            values, weight = values[weight > 0.0], weight[weight > 0.0]
        _check_number(len(values), names)
        center = np.average(values, axis=0, weights=weight)
        away = values - center
        scale = np.sqrt(np.average(away**2, axis=0, weights=weight))
        size = np.abs(values).max(axis=0)
        for k, name in enumerate(names):
            usual = float(np.median(values[:, k]))
            others = int(np.count_nonzero(values[:, k] != usual))
            constant = not scale[k] > _CONSTANT * size[k]
            _check_spread(name, values[0, k] if constant else usual, others, len(values), constant=constant)
        unit = away / scale * (1.0 if weight is None else np.sqrt(weight / weight.mean())[:, None])
        known = np.ones((len(values), 0))
        for k in range(len(names)):
            column = unit[:, k]
            left = column - known @ (known.T @ column)
            left = left - known @ (known.T @ left)
            length = float(np.linalg.norm(left))
            if not length > _COLLINEAR * np.sqrt(len(values)):
                raise _collinear(names, k)
            known = np.column_stack([known, left / length])
        return cls(center, scale, values.min(axis=0), values.max(axis=0))

    def __len__(self) -> int:
        return len(self.center)

    def design(self, values: FloatArray) -> FloatArray:
        """(1, (z − center)/scale) of every row of values (n, q), shape (n, 1 + q)."""
        return np.column_stack([np.ones(len(values)), (values - self.center) / self.scale])

    @property
    def to_units(self) -> FloatArray:
        """The matrix S, shape (1 + q, 1 + q), with B (1, (z − c)/s) = B S (1, z)."""
        S = np.diag([1.0, *(1.0 / self.scale)])
        S[1:, 0] = -self.center / self.scale
        return S

    def beyond(self, values: FloatArray) -> FloatArray:
        """How far rows (m, q) lie outside the range of the fit, as a share of that range; the largest column, (m,)."""
        width = self.high - self.low
        away = np.maximum(np.maximum(values - self.high, self.low - values), 0.0) / width
        largest: FloatArray = away.max(axis=1)
        return largest


def _check_number(n: int, names: Sequence[str]) -> None:
    if n < len(names) + 2:
        raise EstimationError(
            f"{n} row{'s' * (n != 1)} cannot determine the effects of {len(names)} "
            f"covariate{'s' * (len(names) != 1)}; use more rows, or fewer covariates."
        )


def _check_spread(name: str, usual: float, others: int, n: int, *, constant: bool) -> None:
    """Raise where a column is constant, or differs from its usual value in too few rows."""
    if constant:
        raise EstimationError(
            f"The covariate {name!r} has the same value, {usual:.6g}, in all {n:,} rows that the fit uses, and its "
            "effect cannot be separated from the constant: leave it out."
        )
    if others < _FEWEST:
        raise EstimationError(
            f"The covariate {name!r} differs from {usual:.6g} in {others} row{'s' * (others != 1)} only, which "
            "are too few to estimate its effect: leave it out."
        )


def _collinear(names: Sequence[str], k: int) -> EstimationError:
    return EstimationError(
        f"The covariate {names[k]!r} is a linear combination of the constant and of {named_list(list(names[:k]))} in "
        "the rows that the fit uses, and their effects cannot be separated: leave one of them out."
    )


@final
@dataclass(frozen=True)
class ColumnSums:
    """What `Standard` needs of covariates that are read in blocks; the sums of two blocks are added.

    Attributes
    ----------
    pilot, usual
        Values near the mean, about which sums lose no digits, and the usual ones, shape (q,) each.
    n, weight
        Number of rows that count, and the sum of their weights.
    first, second
        Weighted sums of the columns, less the pilot (q,), and of their products (q, q).
    low, high
        The smallest and the largest values, shape (q,).
    others
        How many differ from the usual value, shape (q,).
    """

    pilot: FloatArray
    usual: FloatArray
    n: int
    weight: float
    first: FloatArray
    second: FloatArray
    low: FloatArray
    high: FloatArray
    others: IntArray

    @classmethod
    def of(cls, values: FloatArray, weight: FloatArray | None, like: FloatArray) -> ColumnSums:
        """Of values (n, q) with weights (n,); ``like`` are some rows (m, q) that show what is usual."""
        pilot, usual = like.mean(axis=0), np.median(like, axis=0)
        if weight is not None:
            values, weight = values[weight > 0.0], weight[weight > 0.0]
        w = np.ones(len(values)) if weight is None else weight
        away = values - pilot
        low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
        others = np.count_nonzero(values != usual, axis=0)
        return cls(pilot, usual, len(values), float(w.sum()), w @ away, (away.T * w) @ away, low, high, others)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(
            self.pilot,
            self.usual,
            self.n + other.n,
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.others + other.others,
        )

    def standard(self, names: Sequence[str]) -> Standard:
        """Center and scale; columns that tell nothing, or nothing new, are an error."""
        _check_number(self.n, names)
        shift = self.first / self.weight
        products = self.second / self.weight - np.outer(shift, shift)
        scale = np.sqrt(np.maximum(np.diag(products), 0.0))
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        for k, name in enumerate(names):
            constant = not scale[k] > _CONSTANT * size[k]
            _check_spread(name, self.usual[k], int(self.others[k]), self.n, constant=constant)
        left = products / np.outer(scale, scale)
        for k in range(len(names)):
            # What is left of each column when those before it are taken out: squared lengths, in units of its spread.
            if not left[k, k] > _COLLINEAR**2:
                raise _collinear(names, k)
            left = left - np.outer(left[:, k], left[k]) / left[k, k]
        return Standard(self.pilot + shift, scale, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Covariates:
    """Columns of numbers, one row for each point of a table.

    Attributes
    ----------
    values
        Shape (n, q).
    names
        Of the columns.
    standard
        Center and scale, where they are to be those of another fit.
    """

    values: FloatArray
    names: tuple[str, ...]
    standard: Standard | None = None

    def __len__(self) -> int:
        return len(self.values)

    @staticmethod
    def of(Z: Any, n: int) -> Covariates:
        """From a table with a row for each of n points: an array (n, q) or (n,), or a data frame."""
        values, names = read_columns(Z, "covariates")
        if len(values) != n:
            hint = " Its transpose has: pass the transpose." if values.shape[1] == n else ""
            raise InvalidInputError(
                f"covariates must have one row for each of the {n:,} rows of X; got {len(values):,}.{hint}"
            )
        if values.shape[1] == 0:
            raise InvalidInputError("covariates has no columns: leave it out.")
        bad = ~np.isfinite(values)
        if bad.any():
            rows = bad.any(axis=1)
            worst = int(np.argmax(rows))
            column = names[int(np.argmax(bad[worst]))]
            raise InvalidInputError(
                f"covariates has {int(rows.sum()):,} of {n:,} rows with missing or infinite values (first: row "
                f"{worst}, {column!r}). Drop these rows, from X too, or fill in the values."
            )
        return Covariates(values, names)

    def take(self, chosen: Any) -> Covariates:
        """Those of some rows."""
        return replace(self, values=self.values[chosen])

    def at_mean(self, n: int) -> Covariates:
        """The same columns for n rows that all have the mean of these."""
        return replace(self, values=np.tile(self.values.mean(axis=0), (n, 1)))

    def same_as(self, other: Covariates) -> bool:
        """Whether both have the same numbers."""
        return np.array_equal(self.values, other.values)

    def resampled(self, chosen: IntArray, standard: Standard) -> Covariates:
        """Rows drawn from these, centred and scaled as the fit of all of them was."""
        return Covariates(self.values[chosen], self.names, standard)


@final
class CovariatesInBlocks(Covariates):
    """Those of rows that are read in blocks, which bring their numbers: those of all rows are read when asked for.

    Parameters
    ----------
    names
        Of the columns.
    read
        What gives the values of all rows, shape (n, q).
    """

    def __init__(self, names: tuple[str, ...], read: Callable[[], FloatArray]) -> None:
        for name, value in (("names", names), ("standard", None), ("_read", read)):
            object.__setattr__(self, name, value)

    @cached_property
    def values(self) -> FloatArray:
        """Shape (n, q)."""
        found: FloatArray = self._read()  # type: ignore[attr-defined]
        return found


def read_columns(Z: Any, what: str, names: Sequence[str] | None = None) -> tuple[FloatArray, tuple[str, ...]]:
    """Numbers (n, q) and the names of their columns; a missing one is NaN.

    Of a table with named columns those in ``names``, in this order.  Other tables have the names given, or z1, z2 and
    so on; a row of numbers is one column, or where there are several names one row.
    """
    named = _named_columns(Z, what)
    if named is not None:
        found = named
        if names is not None:
            missing = [name for name in names if name not in named]
            if missing:
                raise InvalidInputError(f"{what} has no column {missing[0]!r}; the fit was made with {list(names)}.")
            found = {name: named[name] for name in names}
        columns = [_numbers(column, f"The column {name!r} of {what}") for name, column in found.items()]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            raise InvalidInputError(f"{what} has columns of different lengths: {sorted(lengths)}.")
        values = np.column_stack(columns) if columns else np.empty((0, 0))
        return values, tuple(found)
    values = _numbers(Z, what)
    if values.ndim < 2:
        single = names is None or len(names) == 1
        values = values.reshape(-1, 1) if single else values.reshape(1, -1)
    if values.ndim != 2:
        raise InvalidInputError(f"{what} must be a table of shape (n, q), one row for a point; got {values.shape}.")
    if names is not None and values.shape[1] != len(names):
        raise InvalidInputError(
            f"{what} has {values.shape[1]} columns, and the fit was made with {len(names)}: {list(names)}."
        )
    series = getattr(Z, "name", None)
    if names is None and isinstance(series, str) and values.shape[1] == 1:
        names = [series]
    if names is None:
        names = [f"z{k + 1}" for k in range(values.shape[1])]
    return values, tuple(names)


def _named_columns(Z: Any, what: str) -> dict[str, Any] | None:
    """The columns of a mapping, a data frame or an array with named fields; None for anything else."""
    if isinstance(Z, Mapping):
        return {str(name): np.atleast_1d(np.asarray(column)) for name, column in Z.items()}
    if isinstance(Z, np.ndarray):
        return None if Z.dtype.names is None else {name: Z[name] for name in Z.dtype.names}
    if isinstance(Z, list | tuple | int | float | str):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(Z, pass_through=True)
        header = [] if isinstance(frame, nw.LazyFrame) else list(getattr(frame, "columns", ()))
    except nw.exceptions.DuplicateError:
        raise InvalidInputError(f"{what} has several columns of the same name; rename all but one.") from None
    if isinstance(frame, nw.LazyFrame):
        raise InvalidTypeError(f"{what} is lazy, and its rows are not there yet: pass {what}.collect().")
    if not isinstance(frame, nw.DataFrame):
        return None
    # Names of a bare frame, 0, 1 and so on, say nothing.
    plain = all(isinstance(name, int) for name in header)
    titles = [f"z{k + 1}" if plain else str(name) for k, name in enumerate(header)]
    return {title: frame[:, k].to_numpy() for k, title in enumerate(titles)}


def _numbers(values: Any, what: str) -> FloatArray:
    """Real numbers, missing ones as NaN; text, dates and anything else is an error."""
    if np.ma.isMaskedArray(values):
        values = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
    array = np.asarray(values)
    if array.dtype.kind == "O":
        missing = find_missing(array)
        blank = np.array([isinstance(entry, str | bytes) for entry in array.ravel()], dtype=bool).reshape(array.shape)
        array = np.where(missing & ~blank, np.nan, array)
    try:
        return as_float_array(array, what)
    except InvalidTypeError:
        raise InvalidTypeError(
            f"{what} must hold numbers. Turn dates into numbers such as years, and each category but one into a column "
            "of zeros and ones."
        ) from None
