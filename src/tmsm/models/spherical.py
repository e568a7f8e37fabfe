"""What the families on a sphere share: where they live, and how draws are placed round a mean direction."""

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold, Sphere
from tmsm.models.base import LinearModel

__all__ = ["SphereFamily", "placed_round"]


class SphereFamily(LinearModel):
    """A family on the sphere S^(D−1) in D coordinates, any D from two up."""

    home: Manifold | type[Manifold] = Sphere

    def usual_manifold(self, n_columns: int) -> Manifold:
        if n_columns < 2:
            raise InvalidInputError("Points of a sphere have at least two coordinates; X has one column.")
        return Sphere(n_columns - 1)

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "a sphere", " On flat space use MultivariateNormal."


def placed_round(mu: FloatArray, deficit: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Points of the sphere with 1 − μ·x given, shape (n,), and all turns round μ equally likely.

    x = (1 − u) μ + sqrt(u (2 − u)) ξ: u = 1 − μ·x keeps its digits at high concentration.
    """
    X: FloatArray = rng.standard_normal((len(deficit), mu.size))
    X -= (X @ mu)[:, None] * mu
    X *= np.sqrt(np.maximum(deficit * (2.0 - deficit), 0.0) / row_dots(X, X))[:, None]
    X += (1.0 - deficit)[:, None] * mu
    X /= np.sqrt(row_dots(X, X))[:, None]
    return X
