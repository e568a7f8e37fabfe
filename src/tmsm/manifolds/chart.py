"""Any manifold with global coordinates, known by the function that gives its metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.foundation.autodiff import PointFunction, function_name
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds.charted import Charted

__all__ = ["Chart"]

# A metric is symmetric to such a share of its largest entry.
_SYMMETRIC = 1e-8
# Points to try functions on lie about so far from the origin.
_SPREAD = 0.5


@final
@dataclass(frozen=True, eq=False, repr=False)
class Chart(Charted):
    """A manifold with global coordinates x in R^dim, known by its metric G(x).

    Derivatives of the metric are by JAX (``pip install tmsm[jax]``).  `Hyperbolic` is one with formulas.

    Parameters
    ----------
    metric
        From one point, shape (dim,), to the symmetric positive definite matrix G, shape (dim, dim), made of functions
        of ``jax.numpy``: a curve has the speed √(ẋᵀGẋ).
    dim
        Dimension.
    origin
        A point of it, shape (dim,), around which functions are tried by `check_model`; by default zero.

    Notes
    -----
    Score matching needs only the first derivatives of G.  There is no formula for the distance of two points, so that
    regions are made by `Implicit`; and no quadrature, so that there is no exact likelihood.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> from tmsm.manifolds import Chart
    >>> def half_plane(x):
    ...     return jnp.eye(2) / x[1] ** 2
    >>> plane = Chart(half_plane, 2, origin=[0.0, 1.0])
    >>> plane.acceleration(np.array([[0.0, 2.0]]), np.array([[0.0, 1.0]])).round(6).tolist()
    [[0.0, 2.0]]
    """

    metric: Callable[..., Any]
    dim: int
    origin: FloatArray

    def __init__(self, metric: Callable[..., Any], dim: int, origin: ArrayLike | None = None) -> None:
        object.__setattr__(self, "metric", metric)
        if not callable(metric):
            raise InvalidTypeError(
                f"metric must be a function of one point that JAX can trace; got {type(metric).__name__}."
            )
        object.__setattr__(self, "dim", check_count(dim, "dim"))
        middle = check_vector(np.zeros(dim) if origin is None else origin, "origin")
        if middle.size != self.dim:
            raise InvalidInputError(f"origin must have {self.dim} coordinates; got {middle.size}.")
        object.__setattr__(self, "origin", frozen_array(middle))

    def __repr__(self) -> str:
        about = f", origin={self.origin.tolist()}" if self.origin.any() else ""
        return f"Chart({function_name(self.metric, 'metric')}, dim={self.dim}{about})"

    @property
    def _function(self) -> PointFunction:
        return _entries(self.metric, self.dim)

    def metric_at(self, X: FloatArray) -> FloatArray:
        """G at rows of points, shape (n, dim, dim)."""
        return self._function.values(X).reshape(len(X), self.dim, self.dim)

    def contains(self, X: FloatArray) -> BoolArray:
        fine = np.asarray(np.isfinite(X).all(axis=1))
        fine[fine] = self._is_metric(self.metric_at(np.ascontiguousarray(X[fine])))
        return fine

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        G = self.metric_at(X)
        lowest = np.linalg.eigvalsh(0.5 * (G + np.swapaxes(G, 1, 2)))[:, 0]
        worst = int(np.argmin(np.where(bad, lowest, np.inf)))
        return (
            f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows at which {self._function.name} is no metric: "
            f"it must be symmetric and positive definite (worst: row {worst}, the point {X[worst].tolist()}, smallest "
            f"eigenvalue {lowest[worst]:.6g}). Leave these rows out, or correct the function."
        )

    def _is_metric(self, G: FloatArray) -> BoolArray:
        size = np.abs(G).max(axis=(1, 2), initial=0.0)
        even = np.abs(G - np.swapaxes(G, 1, 2)).max(axis=(1, 2), initial=0.0) <= _SYMMETRIC * size
        return np.asarray(even & (np.linalg.eigvalsh(0.5 * (G + np.swapaxes(G, 1, 2)))[:, 0] > 0.0))

    def _triangle(self, X: FloatArray) -> FloatArray:
        """L with G = LLᵀ, shape (n, dim, dim); the frame is E = L⁻ᵀ."""
        G = self.metric_at(X)
        try:
            return np.asarray(np.linalg.cholesky(0.5 * (G + np.swapaxes(G, 1, 2))), dtype=np.float64)
        except np.linalg.LinAlgError:
            self._refuse(X, G)

    def _refuse(self, X: FloatArray, G: FloatArray) -> NoReturn:
        raise InvalidInputError(self.complaint(X, "X", ~self._is_metric(G))) from None

    def velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return _solved(np.swapaxes(self._triangle(X), 1, 2), V)

    def tangent_of(self, X: FloatArray, U: FloatArray) -> FloatArray:
        return _applied(np.swapaxes(self._triangle(X), 1, 2), U)

    def tangent_gradient(self, X: FloatArray, G: FloatArray) -> FloatArray:
        return _solved(self._triangle(X), G)

    def plain_gradient(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return _applied(self._triangle(X), V)

    def log_volume(self, X: FloatArray) -> FloatArray:
        volume: FloatArray = np.log(np.diagonal(self._triangle(X), axis1=1, axis2=2)).sum(axis=1)
        return volume

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        U = self.velocity(X, V)
        return self._bend(X, U[:, :, None] * U[:, None, :])

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        triangle = self._triangle(X)
        inverse = np.linalg.inv(triangle)
        return self._bend(X, np.einsum("nki,nkj->nij", inverse, inverse))  # G⁻¹ = L⁻ᵀL⁻¹

    def _bend(self, X: FloatArray, S: FloatArray) -> FloatArray:
        """−Γ(S) for symmetric tensors S (n, dim, dim), shape (n, dim).

        Γ_l(S) = Σ_ij (∂_i G_lj − ½ ∂_l G_ij) S_ij, and then G⁻¹.
        """
        n, d = X.shape
        slopes = self._function.jacobian(X).reshape(n, d, d, d)  # ∂_k G_ij at [:, i, j, k]
        first = np.einsum("nljk,nkj->nl", slopes, S)
        second = np.einsum("nijl,nij->nl", slopes, S)
        return _solved(self.metric_at(X), 0.5 * second - first)

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        raise InvalidInputError(
            f"{self!r} is known by its metric alone, so that there is no formula for the distance of two points. "
            "Score matching needs none: make the region with Implicit(h, manifold)."
        )

    def grown_box(self, low: FloatArray, high: FloatArray, distance: float) -> tuple[FloatArray, FloatArray]:
        return np.full(self.dim, -np.inf), np.full(self.dim, np.inf)

    def scattered(self, n: int, rng: np.random.Generator) -> FloatArray:
        origin = np.broadcast_to(self.origin, (n, self.dim))
        return origin + _SPREAD * self.velocity(np.array(origin), rng.standard_normal((n, self.dim)))


@dataclass(frozen=True)
class _Entries:
    """The entries of a matrix function in one row, for JAX."""

    function: Callable[..., Any]
    dim: int
    name: str

    def __call__(self, x: Any) -> Any:
        found = self.function(x)
        shape = getattr(found, "shape", None)
        if shape != (self.dim, self.dim):
            given = type(found).__name__ if shape is None else f"shape {tuple(shape)}"
            raise InvalidInputError(
                f"{self.name} must return the metric at one point, a matrix of shape ({self.dim}, {self.dim}); it "
                f"returns {given}."
            )
        return found.reshape(-1)


@lru_cache(maxsize=64)
def _entries(metric: Callable[..., Any], dim: int) -> PointFunction:
    name = function_name(metric, "metric")
    return PointFunction(_Entries(metric, dim, name), name)


def _applied(M: FloatArray, V: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum("nij,nj->ni", M, V)
    return product


def _solved(M: FloatArray, V: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(M, V[:, :, None])[:, :, 0], dtype=np.float64)
