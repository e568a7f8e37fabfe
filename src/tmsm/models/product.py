"""Products of families: independent ones side by side, such as one of directions with one of energies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold
from tmsm.models.base import FactorTangent, LinearModel, Model, multiplied
from tmsm.models.constraints import Constraint
from tmsm.models.interacting import InteractingModel
from tmsm.models.parameters import Field, Parameters
from tmsm.models.product_sets import block_diagonal, product_set
from tmsm.models.readings import Reading
from tmsm.models.side_by_side import SideBySide, box_of_closed, lengths_apart, own_factor
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["ProductModel"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class ProductModel(SideBySide):
    """Independent families: the density of a point is the product of the densities of its parts.

    ``a * b`` is the product of two families. The parameters keep their names. A name that occurs in several factors
    gets the endings _1, _2, … in their order. No parameter is a centre, because the place of highest density follows
    from the parameters of all factors together.

    Parameters
    ----------
    models
        Exponential families, at least two; those of a product count one by one.

    Examples
    --------
    >>> import tmsm
    >>> model = tmsm.VonMisesFisher() * tmsm.MultivariateNormal()
    >>> X = model.sample(
    ...     5, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=4.0, mean=[2.0], covariance=[[0.25]]
    ... )
    >>> X.shape
    (5, 4)
    >>> [field.name for field in model.fields]
    ['mean_direction', 'concentration', 'mean', 'covariance']
    """

    models: tuple[LinearModel, ...]

    def __post_init__(self) -> None:
        flat = [
            single
            for model in self.check_models(self.models)
            for single in (model.models if isinstance(model, ProductModel) else (model,))
        ]
        object.__setattr__(self, "models", tuple(flat))

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.models))

    def interacting(self, first: Sequence[int] | None = None, second: Sequence[int] | None = None) -> InteractingModel:
        """The same two families with an interaction: products of their statistics are statistics, too.

        Parameters
        ----------
        first, second
            Which statistics of the first and of the second family are multiplied with each other, counted from zero;
            None: all.

        Examples
        --------
        >>> import tmsm
        >>> model = (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).interacting(second=[0])
        >>> model.on(tmsm.Sphere(2) * tmsm.Euclidean(1)).size  # x, y, −y²/2 and xy
        8
        """
        if len(self.models) != 2:
            raise InvalidInputError(
                f"An interaction is one between two families, and this product has {len(self.models)}: say which "
                "belong together, such as InteractingModel((a, b * c)) for one of a with both of the others."
            )
        return InteractingModel(self.models, first, second)  # type: ignore[arg-type]

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """Names of the parameters of each factor."""
        counts = Counter(field.name for model in self.models for field in model.fields)
        seen: Counter[str] = Counter()
        found = []
        for model in self.models:
            own = []
            for field in model.fields:
                seen[field.name] += 1
                own.append(field.name if counts[field.name] == 1 else f"{field.name}_{seen[field.name]}")
            found.append(tuple(own))
        return tuple(found)

    @property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """Names and kinds of the parameters."""
        return tuple(
            replace(field, name=name, is_centre=False, is_factor_centre=field.is_centre)
            for model, names in zip(self.models, self.names, strict=True)
            for field, name in zip(model.fields, names, strict=True)
        )

    @property
    def size(self) -> int:
        return sum(model.size for model in self.models)

    def _own_name(self, name: str) -> tuple[int, str]:
        """The factor that a parameter belongs to, and the factor's own name for it."""
        for k, names in enumerate(self.names):
            if name in names:
                return k, self.models[k].fields[names.index(name)].name
        raise InvalidInputError(f"This model has no parameter {name!r}; it has {[f.name for f in self.fields]}.")

    def _own_params(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Parameters of each factor under its own names."""
        found: list[dict[str, Any]] = [{} for _ in self.models]
        for name, value in params.items():
            k, own = self._own_name(name)
            found[k][own] = value
        for names, own_params, model in zip(self.names, found, self.models, strict=True):
            if model.fields[0].name not in own_params:
                raise InvalidInputError(
                    f"{names[0]} must be given by name: the model has {[field.name for field in self.fields]}."
                )
        return found

    def statistics(self, X: FloatArray) -> FloatArray:
        return np.concatenate([model.statistics(own) for model, own in self.pieces(X)], axis=1)

    def gradient(self, X: FloatArray) -> FloatArray:
        out = np.zeros((len(X), self.size, X.shape[1]))
        for (model, own), block, columns in zip(self.pieces(X), self.blocks, self.columns, strict=True):
            out[:, block, columns] = model.gradient(own)
        return out

    def laplacian(self, X: FloatArray) -> FloatArray:
        return np.concatenate([model.laplacian(own) for model, own in self.pieces(X)], axis=1)

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        pieces = zip(self.pieces(X), self.columns, strict=True)
        return np.concatenate([model.hessian(own, V[:, columns]) for (model, own), columns in pieces], axis=1)

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        pieces = zip(self.pieces(X), self.columns, strict=True)
        return np.concatenate([model.gradient_dot(own, V[:, columns]) for (model, own), columns in pieces], axis=1)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        parts = [
            model.log_gradient(own, theta[block])
            for (model, own), block in zip(self.pieces(X), self.blocks, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return block_diagonal([model.gradient_gram(own, weight) for model, own in self.pieces(X)])

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        parts = [
            model.weighted_hessian(own, isotropic, lengths_apart(directions, columns))
            for (model, own), columns in zip(self.pieces(X), self.columns, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        number, own = self.place_of(k)
        return _OwnBlock(own_factor(self.models[number], own), self.columns[number], self.blocks[number], self.size)

    def make_constraint(self) -> Constraint:
        return product_set([model.constraint for model in self.models], [model.size for model in self.models])

    def slice(self, name: str, value: Any) -> Constraint | None:
        k, own = self._own_name(name)
        found = self.models[k].slice(own, value)
        if found is None:
            return None
        parts = [found if i == k else model.constraint for i, model in enumerate(self.models)]
        return product_set(parts, [model.size for model in self.models])

    def entry_slice(self, name: str, index: tuple[int, ...], value: float) -> Constraint | None:
        k, own = self._own_name(name)
        found = self.models[k].entry_slice(own, index, value)
        if found is None:
            return None
        parts = [found if i == k else model.constraint for i, model in enumerate(self.models)]
        return product_set(parts, [model.size for model in self.models])

    def parameters(self, theta: FloatArray) -> Parameters:
        found: dict[str, Any] = {}
        for k, (model, block) in enumerate(zip(self.models, self.blocks, strict=True)):
            with self.naming(k):
                found.update(zip(self.names[k], model.parameters(theta[block]).values(), strict=True))
        return Parameters(**found)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        found: dict[str, FloatArray] = {}
        for k, (model, block) in enumerate(zip(self.models, self.blocks, strict=True)):
            own = model.parameter_jacobian(theta[block])
            for name, field in zip(self.names[k], model.fields, strict=True):
                found[name] = np.zeros((len(own[field.name]), theta.size))
                found[name][:, block] = own[field.name]
        return found

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        found = []
        for model, names, own in zip(self.models, self.names, self._own_params(params), strict=True):
            if model.is_bound and not model.manifold.has_longitudes:
                continue  # lengths on another manifold beside them would be in other units
            new = {field.name: name for field, name in zip(model.fields, names, strict=True)}
            for reading in model.readings(Parameters(**own)):
                slopes = {new[name]: slope for name, slope in reading.slopes.items()}
                found.append(replace(reading, after=new[reading.after], slopes=slopes))
        return tuple(found)

    def natural_parameters(self, **params: Any) -> FloatArray:
        return np.concatenate(
            [model.natural_parameters(**own) for model, own in zip(self.models, self._own_params(params), strict=True)]
        )

    def cautions(self, theta: FloatArray, covariance: FloatArray) -> list[str]:
        return [
            sentence
            for model, block in zip(self.models, self.blocks, strict=True)
            for sentence in model.cautions(theta[block], covariance[block, block])
        ]

    def centred(self, X: FloatArray) -> LinearModel:
        forms = []
        for k, (model, own) in enumerate(self.pieces(X)):
            with self.naming(k):
                form = model.centred(own)
            assert isinstance(form, LinearModel), "another form of an exponential family is one"
            forms.append(form)
        return replace(self, models=tuple(forms))

    def to_original(self) -> FloatArray:
        return block_diagonal([model.to_original() for model in self.models])

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        total = np.zeros(len(X))
        for (model, own), block in zip(self.pieces(X), self.blocks, strict=True):
            total += model.log_kernel(own, theta[block])
        return total

    def log_normaliser(self, theta: FloatArray) -> float:
        return sum(model.log_normaliser(theta[block]) for model, block in zip(self.models, self.blocks, strict=True))

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = [model.expectation(theta[block]) for model, block in zip(self.models, self.blocks, strict=True)]
        return np.concatenate([mean for mean, _ in found]), block_diagonal([spread for _, spread in found])

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        parts = []
        for k, (model, block) in enumerate(zip(self.models, self.blocks, strict=True)):
            with self.naming(k):
                parts.append(model.maximise_likelihood(mean[block]))
        return np.concatenate(parts)

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = [
            box_of_closed(model.manifold) if model.manifold.is_closed else model.extent(theta[block])
            for model, block in zip(self.models, self.blocks, strict=True)
        ]
        return np.concatenate([low for low, _ in found]), np.concatenate([high for _, high in found])

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        parts = [model.draw(n, rng, **own) for model, own in zip(self.models, self._own_params(params), strict=True)]
        return np.concatenate(parts, axis=1)


class _OwnBlock(FactorTangent):
    """The statistics of one family as functions of one factor of the manifold; those of the others do not change."""

    def __init__(self, functions: FactorTangent, columns: slice, block: slice, size: int) -> None:
        self.functions, self.columns, self.block, self.size = functions, columns, block, size

    def _among_all(self, own: FloatArray) -> FloatArray:
        out = np.zeros((len(own), self.size))
        out[:, self.block] = own
        return out

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._among_all(self.functions.gradient_dot(X[:, self.columns], V))

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        out = np.zeros((self.size, self.size))
        out[self.block, self.block] = self.functions.gradient_gram(X[:, self.columns], weight)
        return out

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self._among_all(self.functions.weighted_hessian(X[:, self.columns], isotropic, directions))


@multiplied.register(Model)
def _product(first: Model, second: Model) -> Model:
    return ProductModel((first, second))  # type: ignore[arg-type]
