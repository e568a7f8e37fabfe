"""Families that are a fixed shape turned any way: θ = ρ(R)(offset + basis η), R a rotation.

ρ is how θ turns when x does; η are the free shape parameters (concentration, ovalness).  Kent's and
Watson's families are such orbits, with anything known or unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.models.constraints import Constraint
from tmsm.models.harmonic import rotation, rotation_generator, traceless_basis
from tmsm.numerics.newton import Point

__all__ = ["OrbitPoint", "RotationOrbit", "ovals_about"]


@final
@dataclass(frozen=True)
class RotationOrbit(Constraint):
    """{ρ(R)(offset + basis η)}.

    Attributes
    ----------
    offset, basis
        The shape in its own axes: what is known, shape (p,), and what is free, shape (p, k).
    planes
        Pairs of axes (i, j) in whose planes a turn changes the shape.
    linear
        Whether θ starts with a vector.
    frame
        From a θ of the family to its own frame, orthogonal with determinant one, shape (D, D).
    frames
        From any θ to the frames near which the best one may be.
    wanted
        Whether a θ of the family is wanted.
    faces
        The borders of what is wanted, tried where the best θ is not.
    words
        One sentence about a θ that was found, and whether it lies on a face.
    """

    embedding_dim: int
    offset: FloatArray
    basis: FloatArray
    planes: tuple[tuple[int, int], ...]
    linear: bool
    frame: Callable[[FloatArray], FloatArray]
    frames: Callable[[FloatArray], list[FloatArray]]
    wanted: Callable[[FloatArray], bool]
    words: Callable[[FloatArray, bool], str]
    faces: tuple[Constraint, ...] = ()

    @property
    def n_free(self) -> int:
        return len(self.planes) + int(self.basis.shape[1])

    @property
    def only_turns(self) -> bool:
        return self.n_free == len(self.planes)

    def starts(self, theta: FloatArray) -> list[Point]:
        return [self._at(frame, theta) for frame in self.frames(theta)]

    def allows(self, theta: FloatArray) -> bool:
        return self.wanted(theta)

    def describe(self, theta: FloatArray, on_border: bool) -> str:
        return self.words(theta, on_border)

    def borders(self) -> Sequence[Constraint]:
        return self.faces

    def point(self, theta: FloatArray) -> OrbitPoint:
        return self._at(self.frame(theta), theta)

    def _at(self, frame: FloatArray, theta: FloatArray) -> OrbitPoint:
        """The point with this frame whose shape is nearest to that of θ."""
        own = rotation(frame, linear=self.linear).T @ theta
        shape = np.linalg.pinv(self.basis) @ (own - self.offset)
        generators = _generators(self.planes, self.embedding_dim, self.linear)
        return OrbitPoint(self, generators, frame, shape)


def ovals_about(direction: FloatArray) -> FloatArray:
    """θ of a mean along a direction and of the ovals across it, as orthonormal columns, shape (p, …).

    The ovals are the traceless forms on the space across; on S² there are two.
    """
    D = direction.size
    frame = np.linalg.svd(direction[None, :])[2].T
    across = frame[:, 1:] @ traceless_basis(D - 1) @ frame[:, 1:].T  # (q, D, D)
    forms = np.einsum("kij,lij->kl", traceless_basis(D), across)
    out = np.zeros((D + len(forms), 1 + forms.shape[1]))
    out[:D, 0] = frame[:, 0]
    out[D:, 1:] = forms
    return out


@lru_cache(maxsize=64)
def _generators(planes: tuple[tuple[int, int], ...], D: int, linear: bool) -> FloatArray:
    """Derivatives of θ's turning in each plane, shape (m, p, p)."""
    return np.array([rotation_generator(i, j, D, linear=linear) for i, j in planes])


@lru_cache(maxsize=64)
def _plane_turns(planes: tuple[tuple[int, int], ...], D: int) -> FloatArray:
    """Derivatives of the frame's turning in each plane, shape (m, D, D)."""
    turns = np.zeros((len(planes), D, D))
    for turn, (i, j) in zip(turns, planes, strict=True):
        turn[j, i], turn[i, j] = 1.0, -1.0
    return turns


class OrbitPoint(Point):
    """A frame R, shape (D, D), and a shape η, shape (k,); a step is (turns in the planes, change of η)."""

    def __init__(self, orbit: RotationOrbit, generators: FloatArray, frame: FloatArray, shape: FloatArray) -> None:
        self.orbit, self.generators, self.frame, self.shape = orbit, generators, frame, shape
        self.own = orbit.offset + orbit.basis @ shape
        self.turn = rotation(frame, linear=orbit.linear)
        self.theta = self.turn @ self.own
        self.turns = generators @ self.own  # (m, p): how each turn moves θ, in its own frame

    @cached_property
    def jacobian(self) -> FloatArray:
        jacobian: FloatArray = self.turn @ np.concatenate([self.turns, self.orbit.basis.T]).T
        return jacobian

    def bend(self, covector: FloatArray) -> FloatArray:
        # exp(Ω) = I + Ω + ½Ω² + …, so ∂²θ/∂ω_i∂ω_j = ½ ρ(R)(G_iG_j + G_jG_i) c and ∂²θ/∂ω_i∂η = ρ(R) G_i B.
        own = self.turn.T @ covector
        pulled = own @ self.generators  # (m, p): covectorᵀ G_i
        m = len(self.generators)
        turns = pulled @ self.turns.T
        out = np.zeros((self.orbit.n_free, self.orbit.n_free))
        out[:m, :m] = 0.5 * (turns + turns.T)
        out[:m, m:] = pulled @ self.orbit.basis
        out[m:, :m] = out[:m, m:].T
        return out

    def moved(self, step: FloatArray) -> OrbitPoint:
        m, identity = len(self.generators), np.eye(self.orbit.embedding_dim)
        half = 0.5 * np.tensordot(step[:m], _plane_turns(self.orbit.planes, self.orbit.embedding_dim), axes=1)
        # Cayley's transform: a rotation that agrees with exp(Ω) to second order.
        R = np.linalg.solve(identity - half, identity + half)
        return OrbitPoint(self.orbit, self.generators, self.frame @ R, self.shape + step[m:])

    def frame_jacobian(self, column: int) -> FloatArray:
        """Derivative of one axis of the frame with respect to θ, for θ moving along the family, (D, p)."""
        D = self.orbit.embedding_dim
        moved = np.zeros((D, self.orbit.n_free))
        for k, (i, j) in enumerate(self.orbit.planes):
            if column == i:
                moved[:, k] = self.frame[:, j]
            elif column == j:
                moved[:, k] = -self.frame[:, i]
        return moved @ np.linalg.pinv(self.jacobian)

    def shape_jacobian(self) -> FloatArray:
        """Derivative of η with respect to θ, for θ moving along the family, shape (k, p)."""
        return np.asarray(np.linalg.pinv(self.jacobian)[len(self.generators) :])
