"""The exponential family of all trigonometric polynomials up to an order, on the circle and the torus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_count, check_vector
from tmsm.manifolds import Manifold, Sphere
from tmsm.models.parameters import Field, Parameters
from tmsm.models.torus import WaveFamily

__all__ = ["TrigonometricFamily"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class TrigonometricFamily(WaveFamily):
    """All densities on the circle or the torus whose logarithm is a trigonometric polynomial of an order.

    log p = Σ_k a_k cos(k·φ) + b_k sin(k·φ) + const, over the integer vectors k with 1 ≤ |k₁| + … + |k_dim| ≤ order, one
    of each k and −k.  Its parameter is ``coefficients``, shape (p,): a_k and b_k in turn, for each k of `modes` (of the
    model bound to its manifold).  Score matching has a closed form.

    Parameters
    ----------
    order
        The largest |k₁| + … + |k_dim|, at least one.  With two it contains the sine and the cosine model.

    Notes
    -----
    Draws are exact: rejection from cells, for up to about four angles.  On the whole torus the density is normalised on
    a grid, for up to three angles and moderate coefficients.

    Examples
    --------
    >>> import tmsm
    >>> family = tmsm.models.TrigonometricFamily(1)
    >>> X = family.sample(2000, random_state=0, coefficients=[1.0, 0.5, -0.5, 2.0])
    >>> fit = tmsm.ScoreMatching(family, tmsm.Everywhere(tmsm.Torus(2))).fit(X)
    >>> bool((abs(fit.params_.coefficients - [1.0, 0.5, -0.5, 2.0]) < 4 * fit.std_errors_.coefficients).all())
    True
    """

    order: int

    fields = (Field("coefficients"),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_count(self.order, "order"))

    def usual_manifold(self, n_columns: int) -> Manifold:
        return Sphere(1) if n_columns == 2 else super().usual_manifold(n_columns)

    def check_manifold(self, manifold: Manifold) -> None:
        if manifold != self.usual_manifold(manifold.embedding_dim):
            super().check_manifold(manifold)

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "the circle or a torus", " Angles become points of Torus(dim) with angles_to_torus."

    def modes_of(self, dim: int) -> IntArray:
        return _modes(dim, self.order)

    def parameters(self, theta: FloatArray) -> Parameters:
        return Parameters(coefficients=theta)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        return {"coefficients": np.eye(theta.size)}

    def natural_parameters(self, *, coefficients: ArrayLike) -> FloatArray:  # type: ignore[override]
        theta = check_vector(coefficients, "coefficients")
        size = 2 * len(self.modes_of(self._dim_of(theta)))
        if theta.size != size:
            raise InvalidInputError(
                f"coefficients must have two entries for each integer vector; on a torus of {self._dim_of(theta)} "
                f"angles {self!r} has {size}, and {theta.size} were given."
            )
        if not np.abs(theta).max() < 1e10:
            raise InvalidInputError(f"coefficients must be below 1e+10 in size; got {np.abs(theta).max():.3g}.")
        return theta


@lru_cache(maxsize=32)
def _modes(dim: int, order: int) -> IntArray:
    """Of k and −k the one whose first entry that is not zero is positive; short ones first."""
    every = (k for k in product(range(-order, order + 1), repeat=dim) if 1 <= sum(map(abs, k)) <= order)
    half = [k for k in every if next(entry for entry in k if entry) > 0]
    half.sort(key=lambda k: (sum(map(abs, k)), tuple(-entry for entry in k)))
    modes = np.array(half, dtype=np.intp)
    modes.flags.writeable = False
    return modes
