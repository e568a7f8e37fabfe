"""Families on the torus whose statistics are waves, cos(k·φ) and sin(k·φ) for some integer vectors k.

Along the angle j both derivatives of a wave are waves again,

    ∂_j cos(k·φ) = −k_j sin(k·φ),   ∂_j sin(k·φ) = k_j cos(k·φ),   ∂_i ∂_j t = −k_i k_j t,

so that everything follows from the statistics themselves.  Points are the cosine and the sine of each angle in turn.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray, weighted_gram, weighted_sum
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds import Manifold, Torus
from tmsm.manifolds.torus_angles import angles_to_torus
from tmsm.models.base import FactorTangent, LinearModel
from tmsm.models.constraints import minimise_over
from tmsm.models.tangents import Coefficient, Directions, Fluxes
from tmsm.numerics.torus_cells import TorusCells, torus_cells
from tmsm.numerics.torus_integral import torus_integral

__all__ = ["WaveFamily", "checked_array", "interactions", "waves"]


class WaveFamily(LinearModel):
    """Log p = Σ_k a_k cos(k·φ) + b_k sin(k·φ) with θ = (a_k, b_k) in turn for each k."""

    home: Manifold | type[Manifold] = Torus

    @abstractmethod
    def modes_of(self, dim: int) -> IntArray:
        """The integer vectors k on a torus of so many angles, shape (m, dim): none is zero or minus another.

        The unit vectors come first.
        """

    @property
    def modes(self) -> IntArray:
        """The integer vectors k, shape (m, dim)."""
        return self.modes_of(self.manifold.dim)

    @property
    def size(self) -> int:
        return 2 * len(self.modes)

    def usual_manifold(self, n_columns: int) -> Manifold:
        # Of an odd number of columns the next torus, whose rows are then found to have one more.
        return Torus(max(2, (n_columns + 1) // 2))

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "a torus", " Angles become points of Torus(dim) with angles_to_torus; on a sphere use VonMisesFisher."

    def _modes_at(self, X: FloatArray) -> IntArray:
        return self.modes_of(X.shape[1] // 2)

    def statistics(self, X: FloatArray) -> FloatArray:
        return waves(X, self._modes_at(X))

    def gradient(self, X: FloatArray) -> FloatArray:
        K, n = self._modes_at(X), len(X)
        turned = _turned(self.statistics(X))  # (n, p)
        out = np.empty((n, turned.shape[1], X.shape[1]))
        for j, k in enumerate(np.repeat(K, 2, axis=0).T):
            out[:, :, 2 * j] = turned * k * -X[:, [2 * j + 1]]
            out[:, :, 2 * j + 1] = turned * k * X[:, [2 * j]]
        return out

    def laplacian(self, X: FloatArray) -> FloatArray:
        laplacian: FloatArray = self.statistics(X) * -np.repeat((self._modes_at(X) ** 2).sum(axis=1), 2)
        return laplacian

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        hessian: FloatArray = self.statistics(X) * -np.repeat(self._along(X, V) ** 2, 2, axis=1)
        return hessian

    def _along(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """How fast each phase k·φ changes along tangent rows V, shape (n, m)."""
        return _angular(X, V) @ self._modes_at(X).T

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        out = _turned(self.statistics(X))
        out *= np.repeat(self._along(X, V), 2, axis=1)
        return out

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        K, T = self._modes_at(X), self.statistics(X)
        slope = T @ self._slope_matrix(theta, K)  # ∂ log p/∂φ_j, shape (n, d)
        psi = np.empty_like(X)
        for j in range(slope.shape[1]):
            np.multiply(X[:, 2 * j + 1], -slope[:, j], out=psi[:, 2 * j])
            np.multiply(X[:, 2 * j], slope[:, j], out=psi[:, 2 * j + 1])
        return psi

    @staticmethod
    def _slope_matrix(theta: FloatArray, K: IntArray) -> FloatArray:
        """From the statistics to ∂ log p/∂φ_j, shape (p, d)."""
        cosine, sine = theta[0::2, None] * K, theta[1::2, None] * K
        return np.stack([sine, -cosine], axis=1).reshape(theta.size, -1)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        K = np.repeat(self._modes_at(X), 2, axis=0)
        return _turned_gram(weighted_gram(self.statistics(X), weight)) * (K @ K.T)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        K = self._modes_at(X)
        a = isotropic[:, None] if isinstance(isotropic, np.ndarray) else isotropic
        coefficient = np.broadcast_to(a * -(K**2).sum(axis=1).astype(np.float64), (len(X), len(K)))
        for u, c in directions:
            coefficient = coefficient - c[:, None] * self._along(X, u) ** 2
        out = self.statistics(X)
        out *= np.repeat(coefficient, 2, axis=1)
        return out

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        return _OneAngle(self.modes_of(manifold.dim), k)

    def log_normaliser(self, theta: FloatArray) -> float:
        return torus_integral(self.modes, theta).log_integral

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return torus_integral(self.modes, theta).moments()

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        """θ of the largest likelihood, by Newton's method on integrals over a periodic grid."""
        modes = self.modes

        def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            integral = torus_integral(modes, theta)
            expected, covariance = integral.moments()
            return integral.log_integral - float(theta @ mean), expected - mean, covariance

        best = minimise_over(self.constraint, objective, self._likelihood_starts(mean))
        if best is None:
            raise EstimationError(
                "The likelihood on the torus has no maximum that could be found: for this family the rows are too "
                "few or too close together. Use more rows or a smaller family."
            )
        return best.minimum.point.theta

    def _likelihood_starts(self, mean: FloatArray) -> list[FloatArray]:
        """Some θ near which to search, from the mean of t."""
        return [np.zeros(mean.size)]

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        return angles_to_torus(self._angles(n, rng, self.natural_parameters(**params)))

    def _angles(self, n: int, rng: np.random.Generator, theta: FloatArray) -> FloatArray:
        """Draws as angles, shape (n, dim)."""
        return _cells(self.modes_of(self._dim_of(theta)).tobytes(), theta.tobytes(), theta.size // 2).draw(n, rng)

    def _dim_of(self, theta: FloatArray) -> int:
        """Number of angles from the size of θ, which an unbound model may be given."""
        if self.is_bound:
            return self.manifold.dim
        dim = 1
        while 2 * len(self.modes_of(dim)) < theta.size:
            dim += 1
        return dim


@lru_cache(maxsize=8)  # draws inside a region ask for the same cells in every round
def _cells(modes: bytes, theta: bytes, m: int) -> TorusCells:
    return torus_cells(np.frombuffer(modes, dtype=np.intp).reshape(m, -1), np.frombuffer(theta))


@final
class _OneAngle(FactorTangent):
    """The waves as functions of one angle: a piece of one block, whose waves are computed once."""

    def __init__(self, modes: IntArray, j: int) -> None:
        self.j, self.p = j, 2 * len(modes)
        # Waves that do not depend on the angle have no derivative along it.
        used = np.flatnonzero(modes[:, j])
        self.modes, self.k = modes[used], np.repeat(modes[used, j], 2).astype(np.float64)
        self.columns = (2 * used[:, None] + np.arange(2)).ravel()
        self._rows: FloatArray | None = None
        self._waves = np.empty((0, 0))

    def _statistics(self, X: FloatArray) -> FloatArray:
        if self._rows is not X:
            self._rows, self._waves = X, waves(X, self.modes)
        return self._waves

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        c, s = X[:, 2 * self.j], X[:, 2 * self.j + 1]
        along = c * V[:, 1] - s * V[:, 0]
        T = self._statistics(X)
        out = np.zeros((len(X), self.p), order="F")
        for i, (column, k) in enumerate(zip(self.columns, self.k, strict=True)):
            # The derivative of a cosine is the sine before it, and so on.
            np.multiply(T[:, i + 1 - 2 * (i % 2)], along, out=out[:, column])
            factor = k if i % 2 else -k
            if factor != 1.0:
                out[:, column] *= factor
        return out

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        gram = _turned_gram(weighted_gram(self._statistics(X), weight)) * np.outer(self.k, self.k)
        total = np.zeros((self.p, self.p))
        total[np.ix_(self.columns, self.columns)] = gram
        return total

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        # A circle has one direction: W = a + Σ c, for directions u of length one.
        weight = sum((c for _, c in directions), isotropic)
        weight = -np.asarray(weight, dtype=np.float64)
        T = self._statistics(X)
        out = np.zeros((len(X), self.p), order="F")
        for i, (column, k) in enumerate(zip(self.columns, self.k, strict=True)):
            np.multiply(T[:, i], weight, out=out[:, column])
            if abs(k) != 1.0:
                out[:, column] *= k * k
        return out

    def add_residuals(
        self, out: FloatArray, X: FloatArray, isotropic: Coefficient, directions: Directions, flux: FloatArray
    ) -> None:
        slope = X[:, 2 * self.j] * flux[:, 1] - X[:, 2 * self.j + 1] * flux[:, 0]
        bend = sum((c for _, c in directions), isotropic)
        T, scratch = self._statistics(X), np.empty(len(X))
        for i, (column, k) in enumerate(zip(self.columns, self.k, strict=True)):
            # W t″ + ⟨flux, t′⟩ with t″ = −k² t, and t′ = −k sin of a cosine, k cos of a sine.
            np.multiply(T[:, i + 1 - 2 * (i % 2)], slope if i % 2 else -slope, out=scratch)
            if k != 1.0:
                scratch *= k
            out[:, column] += scratch
            np.multiply(T[:, i], bend, out=scratch)
            if abs(k) != 1.0:
                scratch *= k * k
            out[:, column] -= scratch

    def divergence_sum(
        self, X: FloatArray, isotropic: Coefficient, directions: Fluxes, w: FloatArray | None
    ) -> FloatArray:
        c, s = X[:, 2 * self.j], X[:, 2 * self.j + 1]
        bend: FloatArray | float = isotropic
        slope: FloatArray | float = 0.0
        for u, coefficient, delta in directions:
            bend = bend if coefficient is None else bend + coefficient
            slope = slope + (c * u[:, 1] - s * u[:, 0]) * delta
        T = self._statistics(X)
        # Σ w (δ t′ + W t″): of a cosine t′ = −k sin, of a sine t′ = k cos, of both t″ = −k² t.
        along, across = (weighted_sum(T, one, w) for one in (slope, bend))
        turned = np.stack([-along[1::2], along[0::2]], axis=1).ravel()
        total = np.zeros(self.p)
        total[self.columns] = self.k * turned - self.k**2 * across
        return total


def waves(X: FloatArray, modes: IntArray) -> FloatArray:
    """cos(k·φ), sin(k·φ) in turn for each k, shape (n, 2m), column by column in memory."""
    out = np.empty((len(X), 2 * len(modes)), order="F")
    scratch = np.empty(len(X))
    for i, (base, factors) in enumerate(_recipe(modes.tobytes(), modes.shape[1])):
        C, S = out[:, 2 * i], out[:, 2 * i + 1]
        if base >= 0:
            c, s = out[:, 2 * base], out[:, 2 * base + 1]
        else:
            (j, sign), factors = factors[0], factors[1:]
            c, s = X[:, 2 * j], X[:, 2 * j + 1]
            if sign < 0:
                s = -s
        if not factors:
            C[:], S[:] = c, s
        for j, sign in factors:
            x, y = X[:, 2 * j], X[:, 2 * j + 1]
            # (c + is)(x ± iy)
            new_c, new_s = (C, S) if c is not C else (np.empty(len(X)), np.empty(len(X)))
            np.multiply(c, x, out=new_c)
            np.multiply(s, y, out=scratch)
            (np.subtract if sign > 0 else np.add)(new_c, scratch, out=new_c)
            np.multiply(s, x, out=new_s)
            np.multiply(c, y, out=scratch)
            (np.add if sign > 0 else np.subtract)(new_s, scratch, out=new_s)
            c, s = new_c, new_s
        if factors and c is not C:
            C[:], S[:] = c, s
    return out


@lru_cache(maxsize=64)
def _recipe(modes: bytes, dim: int) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
    """How each wave is a product: of an earlier wave, or none (−1), and of single angles (j, sign)."""
    K = np.frombuffer(modes, dtype=np.intp).reshape(-1, dim)
    found = []
    for i, k in enumerate(K):
        rests = [(int(np.abs(k - K[b]).sum()), b) for b in range(i)]
        length, base = min(rests, default=(np.inf, -1))
        if not length < np.abs(k).sum():
            base = -1
        rest = k - (K[base] if base >= 0 else 0)
        single = tuple((j, int(np.sign(r))) for j, r in enumerate(rest.tolist()) for _ in range(abs(r)))
        found.append((base, single))
    return tuple(found)


def _turned(T: FloatArray) -> FloatArray:
    """The derivative of each wave by its phase: −sin, cos in turn, a new array."""
    out = np.empty_like(T)
    np.negative(T[:, 1::2], out=out[:, 0::2])
    out[:, 1::2] = T[:, 0::2]
    return out


def _turned_gram(gram: FloatArray) -> FloatArray:
    """The same sums (p, p) for the derivatives of the waves by their phases."""
    signs = np.tile([-1.0, 1.0], len(gram) // 2)
    order = np.arange(len(gram)) ^ 1
    turned: FloatArray = gram[np.ix_(order, order)] * np.outer(signs, signs)
    return turned


def _angular(X: FloatArray, V: FloatArray) -> FloatArray:
    """Tangent rows as changes of the angles, shape (n, d)."""
    angular: FloatArray = X[:, 0::2] * V[:, 1::2] - X[:, 1::2] * V[:, 0::2]
    return angular


@lru_cache(maxsize=32)
def interactions(dim: int) -> tuple[IntArray, IntArray]:
    """Indices j < k of pairs of angles."""
    j, k = np.triu_indices(dim, 1)
    return j, k


def checked_array(values: Any, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Finite numbers of this shape, below 1e10 in size."""
    array = as_float_array(values, name)
    if array.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}; got {array.shape}.")
    if not (np.isfinite(array).all() and np.abs(array).max(initial=0.0) < 1e10):
        raise InvalidInputError(f"{name} must be finite and below 1e+10 in size; got {array.tolist()}.")
    return array
