"""What families on the factors of a product of manifolds share: which columns, and which entries of θ, are whose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, reduce
from operator import mul
from typing import Any, ClassVar, Self

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_norms, safe_divide
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold
from tmsm.models.base import FactorTangent, LinearModel
from tmsm.models.product_sets import block_slices
from tmsm.models.tangents import Coefficient, Directions
from tmsm.regions import Region

__all__ = ["SideBySide", "box_of_closed", "lengths_apart", "own_factor"]


class SideBySide(LinearModel):
    """Families on manifolds whose product the points live on: rows are the columns of the first, then of the next.

    A subclass is a frozen dataclass with a field ``models``.  It is bound to a manifold by binding each of them.
    """

    models: tuple[LinearModel, ...]
    home = Manifold  # which one the factors say
    # Made again where they are needed: the last two are those of subclasses.
    _TRANSIENT: ClassVar[frozenset[str]] = frozenset(
        {"_shelf", "_known_constraint", "manifold", "_columns", "_blocks", "names", "chosen"}
    )

    def check_models(self, models: Any) -> tuple[LinearModel, ...]:
        """The families as a tuple, or an error that says what is wrong with them."""
        if isinstance(models, LinearModel) or not isinstance(models, Sequence):
            raise InvalidTypeError(f"models must be several models, such as (a, b); got {type(models).__name__}.")
        for number, model in enumerate(models, start=1):
            if not isinstance(model, LinearModel):
                raise InvalidTypeError(
                    f"A product is one of exponential families, such as VonMisesFisher(); factor {number} of "
                    f"{len(models)} is {model!r}."
                )
        if len(models) < 2:
            raise InvalidInputError(f"A product has at least two models; got {len(models)}.")
        return tuple(models)

    @property
    def is_bound(self) -> bool:
        return all(model.is_bound for model in self.models)

    @cached_property
    def manifold(self) -> Manifold:
        """Where the points live; an error for a model that is not bound."""
        return reduce(mul, (model.manifold for model in self.models))

    def on(self, manifold: Manifold) -> Self:
        """The model bound to a manifold: each factor to its own factors of it, in order.

        Parameters
        ----------
        manifold
            A product of manifolds, such as ``Sphere(2) * Euclidean(1)``.
        """
        if self.is_bound and self.manifold == manifold:
            return self
        runs = self._runs(manifold)
        made: Self = replace(self, models=tuple(m.on(run) for m, run in zip(self.models, runs, strict=True)))  # type: ignore[type-var]
        return made

    def check_manifold(self, manifold: Manifold) -> None:
        self._runs(manifold)

    def _runs(self, manifold: Manifold) -> list[Manifold]:
        """The part of a manifold that each model lives on: the shortest runs of factors that all of them accept."""
        factors = manifold.factors
        if len(factors) < len(self.models):
            raise InvalidInputError(
                f"A product of {len(self.models)} models lives on a product of as many manifolds or more, such as "
                f"Sphere(2) * Euclidean(1), and the region on {manifold!r}."
            )
        found = _split(self.models, factors)
        if found is not None:
            return found
        # What goes wrong where each model takes the shortest run that it accepts.
        for number, model in enumerate(self.models, start=1):
            is_last = number == len(self.models)
            lengths = [len(factors)] if is_last else range(1, len(factors) - len(self.models) + number + 1)
            run = next((k for k in lengths if k and _refusal(model, reduce(mul, factors[:k])) is None), None)
            if run is None:
                rest = reduce(mul, factors) if factors else None
                why = "" if rest is None else f" {_refusal(model, rest if is_last else factors[0])}"
                raise InvalidInputError(
                    f"Factor {number} of {len(self.models)} of the model, {model!r}, does not live on what is left "
                    f"for it of {manifold!r}: the factors of the manifold go to those of the model in order.{why}"
                )
            factors = factors[run:]
        raise AssertionError("one of the models was refused")

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "a product of manifolds", ""

    def usual_manifold(self, n_columns: int) -> Manifold:
        if self.is_bound:
            return self.manifold
        raise InvalidInputError(
            f"{type(self).__name__} may live on several manifolds: say which by its method on, such as "
            "(a * b).on(Sphere(2) * Euclidean(1))."
        )

    @cached_property
    def _columns(self) -> tuple[slice, ...]:
        return block_slices([model.embedding_dim for model in self.models])

    @cached_property
    def _blocks(self) -> tuple[slice, ...]:
        return block_slices([model.size for model in self.models])

    @property
    def columns(self) -> tuple[slice, ...]:
        """Which columns of a point belong to each model."""
        return self._columns

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Which entries of θ, from its beginning, are those of each model's own statistics."""
        return self._blocks

    def pieces(self, X: FloatArray) -> list[tuple[LinearModel, FloatArray]]:
        """Each model with its own columns of rows X (n, D)."""
        return [(model, X[:, own]) for model, own in zip(self.models, self.columns, strict=True)]

    @contextmanager
    def naming(self, k: int) -> Iterator[None]:
        """Errors inside say which factor they are of."""
        try:
            yield
        except (EstimationError, InvalidInputError) as error:
            name = type(self.models[k]).__name__
            raise type(error)(f"In factor {k + 1} of {len(self.models)}, {name}: {error}") from error

    def check_spread(self, X: FloatArray) -> None:
        for k, (model, own) in enumerate(self.pieces(X)):
            with self.naming(k):
                model.check_spread(own)

    def place_of(self, k: int) -> tuple[int, int]:
        """Which model the factor k of the manifold belongs to, and which of that model's factors it is."""
        for number, model in enumerate(self.models):
            count = len(model.manifold.factors)
            if k < count:
                return number, k
            k -= count
        raise IndexError(k)

    def sample(self, n: int, region: Region | None = None, random_state: Any = None, **params: Any) -> FloatArray:
        if region is not None and not self.is_bound:
            self._check_region(region)
            return self.on(region.manifold).sample(n, region, random_state, **params)
        return super().sample(n, region, random_state, **params)


def own_factor(model: LinearModel, k: int) -> FactorTangent:
    """A family's functions as functions of one factor of its own manifold, rows and tangents of which it takes."""
    return _Whole(model) if len(model.manifold.factors) == 1 else model.in_factor(model.manifold, k)


class _Whole(FactorTangent):
    """A family on a manifold that is no product."""

    def __init__(self, model: LinearModel) -> None:
        self.model = model

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.model.gradient_dot(X, V)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return self.model.gradient_gram(X, weight)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self.model.weighted_hessian(X, isotropic, directions)


def lengths_apart(
    directions: Sequence[tuple[FloatArray, FloatArray]], own: slice
) -> list[tuple[FloatArray, FloatArray]]:
    """Directions (u, c) in some columns alone: again of length one, the squared length in the coefficient."""
    out = []
    for u, c in directions:
        length = row_norms(u[:, own])
        out.append((safe_divide(u[:, own], length), c * length**2))
    return out


def box_of_closed(manifold: Manifold) -> tuple[FloatArray, FloatArray]:
    """Corners of a box round a manifold without end or border: no point is farther from another than the diameter."""
    point = manifold.scattered(1, np.random.default_rng(0))[0]
    return point - manifold.diameter, point + manifold.diameter


def _split(models: Sequence[LinearModel], factors: tuple[Manifold, ...]) -> list[Manifold] | None:
    """Runs of factors, in order and all of them, that the models accept, the first ones as short as possible."""
    model, *others = models
    for length in [len(factors)] if not others else range(1, len(factors) - len(others) + 1):
        run = reduce(mul, factors[:length])
        if _refusal(model, run) is None:
            rest = _split(others, factors[length:]) if others else []
            if rest is not None:
                return [run, *rest]
    return None


def _refusal(model: LinearModel, manifold: Manifold) -> str | None:
    """Why a model does not live on a manifold; None where it does."""
    if model.is_bound and model.manifold != manifold:
        return f"It is bound to {model.manifold!r}."
    try:
        model.check_manifold(manifold)
    except InvalidInputError as error:
        return str(error)
    return None
