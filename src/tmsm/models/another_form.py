"""A family written in other statistics: the same densities, with another θ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds import Manifold
from tmsm.models.base import LinearModel
from tmsm.models.parameters import Parameters
from tmsm.models.readings import Reading

__all__ = ["AnotherForm"]


class AnotherForm(LinearModel):
    """What a wrapped family keeps whatever its statistics are: names, home, draws.

    A subclass is a frozen dataclass with a field ``model``, and gives the statistics and `to_original`.
    """

    model: LinearModel

    @property
    def fields(self) -> Any:  # type: ignore[override]
        """Names and kinds of the parameters."""
        return self.model.fields

    @property
    def is_bound(self) -> bool:
        return self.model.is_bound

    @property
    def manifold(self) -> Manifold:
        return self.model.manifold

    def check_manifold(self, manifold: Manifold) -> None:
        self.model.check_manifold(manifold)

    def on(self, manifold: Manifold) -> Self:
        bound = self.model.on(manifold)
        return self if bound is self.model else replace(self, model=bound)  # type: ignore[type-var]

    @property
    def size(self) -> int:
        return self.model.size

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        return self.model.readings(params)

    def check_spread(self, X: FloatArray) -> None:
        self.model.check_spread(X)

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        return self.model.draw(n, rng, **params)
