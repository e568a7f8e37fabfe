"""Columns beside the place: a time of year or an angle as a circle, a temperature as a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, Literal

import numpy as np

from tmsm.data.point_rows import PointFile
from tmsm.estimators.base import Estimator
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.filters import Filter
from tmsm.foundation.text import readable
from tmsm.foundation.validation import parse_number
from tmsm.manifolds import Euclidean, Sphere
from tmsm.models import InteractingModel, MultivariateNormal, ProductModel, VonMisesFisher
from tmsm.models.base import LinearModel, Model
from tmsm.regions import Box, Everywhere, Region
from tmsm.regions.angle_box import arc

__all__ = ["Factor", "factor_notes", "naming_columns", "product_model", "product_region", "read_factors", "rows_within"]

_KINDS = ("circle", "line")
_EXAMPLE = "such as month:circle:12 or warmth:line"


@dataclass(frozen=True)
class Factor:
    """A column of numbers and what kind of quantity it is.

    Attributes
    ----------
    column
        Its name.
    kind
        A "circle", whose values are the same after a period, or a "line".
    period
        Of a circle, in the unit of the column.
    low, high
        Between which values it was seen; of a circle from the first upwards to the second.
    """

    column: str
    kind: Literal["circle", "line"]
    period: float = np.inf
    low: float = -np.inf
    high: float = np.inf

    def points(self, values: FloatArray) -> FloatArray:
        """The values as points, shape (n, 2) of a circle and (n, 1) of a line."""
        if self.kind == "line":
            return values[:, None]
        angle = 2.0 * np.pi * (values / self.period)
        return np.column_stack([np.cos(angle), np.sin(angle)])

    def region(self) -> Region:
        """Where it was seen."""
        if np.isinf([self.low, self.high]).all():
            return Everywhere(Euclidean(1) if self.kind == "line" else Sphere(1))
        if self.kind == "line":
            return Box([self.low], [self.high])
        turn = 2.0 * np.pi / self.period
        span = self.high - self.low
        if span < self.period:
            span = float(np.remainder(span, self.period))
        return arc(turn * self.low, turn * (self.low + span))

    def model(self) -> LinearModel:
        """Its family: normal, and von Mises on a circle."""
        return MultivariateNormal() if self.kind == "line" else VonMisesFisher()

    @property
    def described(self) -> str:
        """Its bounds, as a filter says them."""
        ends = [f"{self.column} > {self.low:g}"] if np.isfinite(self.low) else []
        return " and ".join([*ends, *([f"{self.column} < {self.high:g}"] if np.isfinite(self.high) else [])])


def read_factors(also: Sequence[str], within: Sequence[str]) -> tuple[Factor, ...]:
    """The columns that --also names, with the bounds of --within."""
    bounds: dict[str, tuple[float, float]] = {}
    for text in within:
        for column, ends in Filter.parse(text).bounds().items():
            if column.casefold() in bounds:
                raise InvalidInputError(f"--within has bounds of {column!r} twice: give both ends in one.")
            bounds[column.casefold()] = ends
    found: list[Factor] = []
    for text in also:
        factor = _factor(text)
        if any(factor.column.casefold() == other.column.casefold() for other in found):
            raise InvalidInputError(f"--also has the column {factor.column!r} twice.")
        found.append(_bounded(factor, bounds.pop(factor.column.casefold(), None)))
    if bounds:
        column = next(iter(bounds))
        raise InvalidInputError(
            f"--within is about {column!r}, which --also does not name: add --also {column}:line, or choose points "
            "with --points-where where the column is no part of the model."
        )
    return tuple(found)


def _factor(text: str) -> Factor:
    parts = [part.strip() for part in text.split(":")]
    period = parts.pop() if len(parts) > 2 and parts[-2] in _KINDS else None
    column, kind = ":".join(parts[:-1]), parts[-1]
    if not column or kind not in _KINDS:
        raise InvalidInputError(f"--also {text!r} must be COLUMN:circle:PERIOD or COLUMN:line, {_EXAMPLE}.")
    if kind == "line":
        if period is not None:
            raise InvalidInputError(f"--also {text!r} has a period, which a line has not: write {column}:line.")
        return Factor(column, "line")
    if period is None:
        raise InvalidInputError(
            f"--also {text!r} needs the period of the circle in the unit of the column: {column}:circle:12 for months, "
            ":24 for hours, :360 for degrees."
        )
    try:
        length = parse_number(period)
    except ValueError:
        length = np.nan
    if not 0.0 < length < np.inf:
        raise InvalidInputError(f"--also {text!r} has the period {period!r}, which must be a positive number.")
    return Factor(column, "circle", length)


def _bounded(factor: Factor, ends: tuple[float, float] | None) -> Factor:
    if ends is None:
        return factor
    low, high = ends
    if factor.kind == "circle" and not np.isfinite(ends).all():
        raise InvalidInputError(
            f"--within must have both ends of {factor.column!r}, which is a circle: an arc goes from the lower end "
            f"upwards to the upper one, such as '{factor.column} > 10.5 and {factor.column} < 3.5'."
        )
    if low == high or (factor.kind == "line" and not low < high):
        raise InvalidInputError(f"--within leaves nothing of {factor.column!r}: it goes from {low:g} to {high:g}.")
    return Factor(factor.column, factor.kind, factor.period, low, high)


def product_region(border: Region, factors: Sequence[Factor]) -> Region:
    """Where points could be seen: the border for the place, and the bounds of every column."""
    return reduce(mul, (factor.region() for factor in factors), border)


def product_model(place: Model, factors: Sequence[Factor], interaction: bool) -> LinearModel:
    """The family of the place with those of the columns, independent or with the place's interactions."""
    assert isinstance(place, LinearModel), "all families of places are"
    others = [factor.model() for factor in factors]
    if not interaction:
        return ProductModel((place, *others))
    return InteractingModel((place, others[0] if len(others) == 1 else ProductModel(tuple(others))))


def rows_within(table: PointFile, factors: Sequence[Factor], outside: str) -> BoolArray:
    """Which points lie within the bounds; an error where none does, or where some do not and must."""
    inside = np.ones(len(table), dtype=bool)
    for factor, values in zip(factors, table.also, strict=True):
        distance = factor.region().signed_distance(factor.points(values))[0]
        within, n = distance > 0.0, len(table)
        kept = int(within.sum())
        if kept == 0:
            raise InvalidInputError(
                f"None of the {n:,} points of {table.path.name} has {factor.described}: {factor.column!r} goes from "
                f"{values.min():g} to {values.max():g}."
            )
        if kept < n and outside == "raise":
            exactly = int(np.count_nonzero(distance == 0.0))
            ends = (
                f" {exactly:,} of them lie exactly on an end: where the column is rounded, put the end between two of "
                "its values."
                if exactly
                else ""
            )
            raise InvalidInputError(
                f"{n - kept:,} of the {n:,} points of {table.path.name} do not have {factor.described}.{ends} Leave "
                "them out with --outside drop."
            )
        inside &= within
    return inside


@contextmanager
def naming_columns(factors: Sequence[Factor]) -> Iterator[None]:
    """Errors inside name the column in place of the number of its factor."""
    try:
        yield
    except (EstimationError, InvalidInputError) as error:
        found = re.match(r"In factor (\d+) of (\d+), \w+: (.*)", str(error), flags=re.DOTALL)
        if found is None or int(found[2]) != len(factors) + 1:
            raise
        k = int(found[1]) - 2
        what = "The place" if k < 0 else f"The column {factors[k].column}"
        raise type(error)(f"{what}: {found[3]}") from error


def factor_notes(estimator: Estimator, factors: Sequence[Factor]) -> list[str]:
    """Which parameters belong to which column, and the mean of a circle in the unit of its column."""
    model, params = estimator.result_.model, estimator.params_
    if not isinstance(model, ProductModel):
        listed = ", ".join(["the place", *(factor.column for factor in factors)])
        return [
            f"With an interaction the parameters are coefficients: 'first' of the place and 'second' of "
            f"{' and '.join(factor.column for factor in factors)}, 'interaction' of their products. The columns of a "
            f"row are {listed}."
        ]
    notes = []
    errors: Mapping[str, Any] = {} if estimator.result_.covariance is None else estimator.std_errors_
    for factor, names in zip(factors, model.names[1:], strict=True):
        note = f"{' and '.join(name.replace('_', ' ') for name in names)} are those of {factor.column}"
        if factor.kind == "circle":
            direction = params[names[0]]
            turn = factor.period / (2.0 * np.pi)
            mean = float(np.remainder(turn * np.arctan2(direction[1], direction[0]), factor.period))
            error = f" ± {readable(turn * float(errors[names[0]]))}" if errors else ""
            note += f", whose mean is {mean:.4g}{error}, of a period of {factor.period:g}"
        notes.append(f"{note[0].upper()}{note[1:]}.")
    return notes
