"""Families on the torus that are a shape moved to a mean: θ_k = r_k e^{ik·μ}, r linear in the shape parameters η.

θ_k = a_k + i b_k is the coefficient of the wave k.  A shift of all angles by μ turns it by the angle k·μ, and no other
part of θ mixes with it.  The shape parameters correspond one to one to the symmetric matrix M, minus the second
derivative of the log density at the mean; families keep to those with M positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, product
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.models.constraints import Constraint, PinnedPoint
from tmsm.numerics.newton import Point

__all__ = ["TorusFace", "TorusOrbit", "TorusPoint", "TorusSlice"]

# Eigenvalues of M that are so much smaller than its largest are zero.
_ZERO = 1e-9
# With more angles than these not every choice of signs is tried.
_SIGNED_ANGLES = 10


@final
@dataclass(frozen=True)
class TorusOrbit(Constraint):
    """{r(η) e^{ik·μ}}.

    Attributes
    ----------
    modes
        The integer vectors k, shape (m, d); the unit vectors first.
    basis
        From η to r, shape (m, q); the first d shape parameters are the coefficients of the unit vectors.
    curvature
        From η to M, shape (q, d, d).
    signed
        Whether coefficients of the unit vectors may be negative where M is positive semidefinite.
    words
        One sentence about a θ that was found, given whether it lies on the face.
    """

    modes: IntArray
    basis: FloatArray
    curvature: FloatArray
    signed: bool
    words: Callable[[bool], str]

    @property
    def dim(self) -> int:
        """Number d of angles."""
        return int(self.modes.shape[1])

    @property
    def n_free(self) -> int:
        return self.dim + int(self.basis.shape[1])

    @cached_property
    def to_shape(self) -> FloatArray:
        """From M to η, shape (q, d, d), symmetric."""
        q, d = self.basis.shape[1], self.dim
        found = np.linalg.pinv(self.curvature.reshape(q, -1).T).reshape(q, d, d)
        return 0.5 * (found + found.transpose(0, 2, 1))

    @cached_property
    def _inverse_basis(self) -> FloatArray:
        return np.asarray(np.linalg.pinv(self.basis), dtype=np.float64)

    def matrix(self, shape: FloatArray) -> FloatArray:
        """M, shape (d, d)."""
        return np.tensordot(shape, self.curvature, axes=1)

    def is_peak(self, shape: FloatArray) -> bool:
        """Whether M is positive semidefinite, so that the mean is a mode."""
        values = np.linalg.eigvalsh(self.matrix(shape))
        return bool(values[0] >= -_ZERO * np.abs(values).max())

    def point(self, theta: FloatArray) -> TorusPoint:
        z = theta[0::2] + 1j * theta[1::2]
        mean = np.angle(z[: self.dim])
        found = self._at(mean, z)
        if self.signed and not self.is_peak(found.shape):
            for flips in _flips(self.dim):
                other = self._at(mean + np.pi * flips, z)
                if self.is_peak(other.shape):
                    return other
        return found

    def _at(self, mean: FloatArray, z: np.ndarray) -> TorusPoint:
        """The point with this mean whose shape is nearest to that of θ."""
        mean = np.remainder(mean + np.pi, 2.0 * np.pi) - np.pi
        mean[mean == -np.pi] = np.pi
        return TorusPoint(self, mean, self._inverse_basis @ (z * np.exp(-1j * (self.modes @ mean))).real)

    def starts(self, theta: FloatArray) -> list[Point]:
        here = self.point(theta)
        alone = here.shape.copy()
        alone[self.dim :] = 0.0
        return [here, TorusPoint(self, here.mean, alone)]

    def allows(self, theta: FloatArray) -> bool:
        return self.is_peak(self.point(theta).shape)

    def borders(self) -> Sequence[Constraint]:
        return (TorusFace(self),)

    def describe(self, theta: FloatArray, on_border: bool) -> str:
        return self.words(on_border)

    def scan(self, A: FloatArray, b: FloatArray, keep: int) -> list[FloatArray]:
        """The θ with the lowest θᵀAθ + 2bᵀθ among means all over the torus, each with its best shape.

        At most ``keep`` of those whose M is positive semidefinite, and after them the best of all.
        """
        means = _means(self.dim)
        phases = np.exp(1j * (means @ self.modes.T))  # (g, m)
        J = np.empty((len(means), 2 * len(self.modes), self.basis.shape[1]))
        J[:, 0::2] = phases.real[:, :, None] * self.basis
        J[:, 1::2] = phases.imag[:, :, None] * self.basis
        H = J.transpose(0, 2, 1) @ (A @ J)
        slope = b @ J
        diagonal = np.einsum("gii->gi", H)  # a view
        diagonal += 1e-10 * diagonal.max()  # a little more than rounding
        shapes = -np.linalg.solve(H, slope[:, :, None])
        values = np.einsum("gq,gqx->g", slope, shapes)
        thetas = (J @ shapes)[:, :, 0]
        order = np.argsort(values)
        allowed = islice((g for g in order[: 40 * keep] if self.allows(thetas[g])), keep)
        return [thetas[g] for g in (*allowed, order[0])]


@final
@dataclass(frozen=True)
class TorusSlice(Constraint):
    """The points of an orbit of which one coordinate, of μ and then of η, has a value.

    Whether M is positive semidefinite is not asked: next to an estimate at that limit a slice would else be empty, and
    an interval end at the estimate.
    """

    orbit: TorusOrbit
    coordinate: int
    value: float

    @property
    def n_free(self) -> int:
        return self.orbit.n_free - 1

    def point(self, theta: FloatArray) -> Point:
        inner = self.orbit.point(theta)
        both = np.concatenate([inner.mean, inner.shape])
        both[self.coordinate] = self.value
        d = self.orbit.dim
        return PinnedPoint(TorusPoint(self.orbit, both[:d], both[d:]), self.coordinate)


@lru_cache(maxsize=8)
def _means(dim: int) -> FloatArray:
    """Mean angles all over the torus up to half turns, which the signs of the shape make up for, shape (g, d)."""
    per_angle = {2: 16, 3: 9, 4: 6}.get(dim)
    if per_angle is None:
        return np.random.default_rng(0).uniform(0.0, np.pi, (1500, dim))
    grid = np.pi / per_angle * np.arange(per_angle)
    return np.stack(np.meshgrid(*dim * (grid,)), axis=-1).reshape(-1, dim)


@lru_cache(maxsize=16)
def _flips(dim: int) -> FloatArray:
    """Which angles to take on the other side, one choice a row: few first."""
    if dim > _SIGNED_ANGLES:
        return np.eye(dim)
    every = np.array(list(product((0.0, 1.0), repeat=dim)))[1:]
    return every[np.argsort(every.sum(axis=1), kind="stable")]


@dataclass(frozen=True)
class TorusPoint(Point):
    """A mean μ, shape (d,), and a shape η, shape (q,); a step changes both."""

    orbit: TorusOrbit
    mean: FloatArray
    shape: FloatArray

    @cached_property
    def phase(self) -> np.ndarray:
        """e^{ik·μ}, shape (m,)."""
        phase: np.ndarray = np.exp(1j * (self.orbit.modes @ self.mean))
        return phase

    @cached_property
    def own(self) -> FloatArray:
        """The coefficients r, shape (m,)."""
        own: FloatArray = self.orbit.basis @ self.shape
        return own

    @cached_property
    def theta(self) -> FloatArray:  # type: ignore[override]
        """θ, shape (2m,)."""
        return _interleaved((self.own * self.phase)[:, None])[:, 0]

    @cached_property
    def jacobian(self) -> FloatArray:
        turns = (1j * self.own * self.phase)[:, None] * self.orbit.modes
        return _interleaved(np.hstack([turns, self.phase[:, None] * self.orbit.basis]))

    def bend(self, covector: FloatArray) -> FloatArray:
        K, d = self.orbit.modes, self.orbit.dim
        pulled = (covector[0::2] - 1j * covector[1::2]) * self.phase
        out = np.zeros((self.orbit.n_free, self.orbit.n_free))
        out[:d, :d] = -(K.T * (pulled.real * self.own)) @ K
        out[:d, d:] = (K.T * -pulled.imag) @ self.orbit.basis  # Re(pulled · i)
        out[d:, :d] = out[:d, d:].T
        return out

    def moved(self, step: FloatArray) -> TorusPoint:
        d = self.orbit.dim
        return TorusPoint(self.orbit, self.mean + step[:d], self.shape + step[d:])


@final
@dataclass(frozen=True)
class TorusFace(Constraint):
    """The points of an orbit whose M is singular: M = LLᵀ, L lower triangular with a zero as its last entry."""

    orbit: TorusOrbit

    @property
    def n_free(self) -> int:
        return self.orbit.n_free - 1

    @cached_property
    def free(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the free entries of L."""
        rows, columns = np.tril_indices(self.orbit.dim)
        return rows[:-1], columns[:-1]

    def point(self, theta: FloatArray) -> FacePoint:
        near = self.orbit.point(theta)
        values, vectors = np.linalg.eigh(self.orbit.matrix(near.shape))
        values = np.maximum(values, 1e-6 * np.abs(values).max())
        values[0] = 0.0
        root = np.linalg.qr((vectors * np.sqrt(values)).T)[1].T
        root[-1, -1] = 0.0
        return FacePoint(self, near.mean, root)


@dataclass(frozen=True)
class FacePoint(Point):
    """A mean μ, shape (d,), and L, shape (d, d)."""

    face: TorusFace
    mean: FloatArray
    root: FloatArray

    @cached_property
    def _inner(self) -> TorusPoint:
        orbit = self.face.orbit
        return TorusPoint(orbit, self.mean, np.tensordot(orbit.to_shape, self.root @ self.root.T, axes=2))

    @property
    def theta(self) -> FloatArray:  # type: ignore[override]
        """θ, shape (2m,)."""
        return self._inner.theta

    @cached_property
    def _change(self) -> FloatArray:
        """∂(μ, η)/∂(μ, L), shape (d + q, k)."""
        d = self.face.orbit.dim
        # η = ⟨S, LLᵀ⟩, so ∂η/∂L = 2SL.
        shapes = 2.0 * (self.face.orbit.to_shape @ self.root)[:, *self.face.free]
        out = np.zeros((d + len(shapes), self.face.n_free))
        out[:d, :d] = np.eye(d)
        out[d:, d:] = shapes
        return out

    @property
    def jacobian(self) -> FloatArray:
        jacobian: FloatArray = self._inner.jacobian @ self._change
        return jacobian

    def bend(self, covector: FloatArray) -> FloatArray:
        d = self.face.orbit.dim
        out: FloatArray = self._change.T @ self._inner.bend(covector) @ self._change
        slope = covector @ self._inner.jacobian[:, d:]
        weights = 2.0 * np.tensordot(slope, self.face.orbit.to_shape, axes=1)
        rows, columns = self.face.free
        out[d:, d:] += weights[np.ix_(rows, rows)] * (columns[:, None] == columns[None, :])
        return out

    def moved(self, step: FloatArray) -> FacePoint:
        d = self.face.orbit.dim
        root = self.root.copy()
        root[self.face.free] += step[d:]
        return FacePoint(self.face, self.mean + step[:d], root)


def _interleaved(z: np.ndarray) -> FloatArray:
    """Real and imaginary parts of rows in turn, shape (2m, …)."""
    return np.stack([z.real, z.imag], axis=1).reshape(2 * len(z), -1)
