"""Weights: symmetric tangent tensors W(x) whose normal part vanishes on the border.

Every weight is written as W = a P + Σ_k c_k u_k u_kᵀ, with the tangent projector P, a scalar field
a and a few tangent directions u_k.  Scalar, normal-only and componentwise weights differ in these
numbers only, so that nothing after this package knows which one it has.  On a product of manifolds W may have a block
for each factor, written in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tmsm.foundation.arrays import FloatArray, padded, row_dots
from tmsm.foundation.values import ValueObject
from tmsm.manifolds import Manifold
from tmsm.regions import BorderView

__all__ = ["ScalarWeight", "Weight", "WeightField"]


@dataclass(frozen=True)
class WeightField:
    """W = a P + Σ c uuᵀ and its divergence Σ δ u at the n rows of one block.

    Attributes
    ----------
    isotropic
        a, shape (n,), or one number for all rows.
    directions
        Triples (u, c, δ): tangent vectors (n, D), their coefficient in W, shape (n,) or None for
        zero, and their coefficient in div W, shape (n,) or one number.  Where c is not None or
        zero, u has length one.
    blocks
        On a product of manifolds: the fields of its factors, in the coordinates of each, and the columns where these
        are.  W is then block-diagonal, and the other two attributes are not used.
    """

    isotropic: FloatArray | float
    directions: tuple[tuple[FloatArray, FloatArray | None, FloatArray | float], ...] = ()
    blocks: tuple[tuple[slice, WeightField], ...] = ()

    @property
    def tensor_directions(self) -> list[tuple[FloatArray, FloatArray]]:
        """The pairs (u, c) with a part in W."""
        return [(u, c) for u, c, _ in self.directions if c is not None]

    def apply(self, V: FloatArray) -> FloatArray:
        """W v for tangent rows V (n, D), a new array."""
        if self.blocks:
            return np.concatenate([field.apply(V[:, own]) for own, field in self.blocks], axis=1)
        total: FloatArray = V * _column(self.isotropic)
        for u, c in self.tensor_directions:
            total += u * (c * row_dots(u, V))[:, None]
        return total

    def divergence(self, like: FloatArray) -> FloatArray:
        """Div W, a new array of the shape (n, D) of the array ``like``."""
        if self.blocks:
            return np.concatenate([field.divergence(like[:, own]) for own, field in self.blocks], axis=1)
        total: FloatArray | None = None
        for u, _, delta in self.directions:
            part = u * _column(delta)
            total = part if total is None else np.add(total, part, out=total)
        return np.zeros_like(like) if total is None else total

    def flux(self, V: FloatArray) -> FloatArray:
        """W v + div W for tangent rows V (n, D), a new array."""
        if self.blocks:
            return np.concatenate([field.flux(V[:, own]) for own, field in self.blocks], axis=1)
        total: FloatArray = V * _column(self.isotropic)
        for u, c, delta in self.directions:
            coefficient = delta if c is None else c * row_dots(u, V) + delta
            total += u * _column(coefficient)
        return total

    def trace(self, manifold: Manifold) -> FloatArray | float:
        """Trace of W on the tangent spaces of a manifold, shape (n,), or one number for all rows."""
        if self.blocks:
            return sum(field.trace(manifold.within(own)) for own, field in self.blocks)
        return sum((c for _, c in self.tensor_directions), self.isotropic * float(manifold.dim))

    def extrinsic(self, manifold: Manifold, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(W, ω), shapes (n, D, D) and (n, D), in the embedding coordinates of the points X of a manifold.

        For a function u with plain derivatives D in these coordinates, however it continues off the manifold,
        div(W∇u) = ⟨W, D²u⟩ + ω·Du.
        """
        n, D = X.shape
        W, omega = np.zeros((n, D, D)), np.zeros((n, D))
        if self.blocks:
            for own, field in self.blocks:
                W[:, own, own], omega[:, own] = field.extrinsic(manifold.within(own), X[:, own])
            return W, omega
        for j, e in enumerate(np.eye(D)):
            flux = self.apply(manifold.tangent_gradient(X, np.broadcast_to(e, X.shape)))
            W[:, :, j] = manifold.velocity(X, flux)
        omega += manifold.velocity(X, self.divergence(X)) + manifold.coordinate_laplacian(X) * _column(self.isotropic)
        for u, c in self.tensor_directions:
            omega += manifold.acceleration(X, u) * c[:, None]
        return W, omega

    def contract(
        self,
        manifold: Manifold,
        X: FloatArray,
        second: Callable[[FloatArray], FloatArray],
        laplacian: Callable[[], FloatArray],
    ) -> FloatArray:
        """⟨W, Hess u⟩, shape (n,), of a function u at the points X of a manifold.

        ``second`` gives the second derivative of u along tangent rows, ``laplacian`` its Laplacian.
        """
        if self.blocks:
            return self._contract_blocks(manifold, X, second)
        a = self.isotropic
        total = a * laplacian() if isinstance(a, np.ndarray) or a != 0.0 else np.zeros(1)
        for u, c in self.tensor_directions:
            total = total + c * second(u)
        return total

    def _contract_blocks(
        self, manifold: Manifold, X: FloatArray, second: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        total = np.zeros(len(X))
        for own, field in self.blocks:
            factor, D = manifold.within(own), X.shape[1]

            def within(V: FloatArray, own: slice = own, D: int = D) -> FloatArray:
                return second(padded(V, own, D))

            bends = [within(u) for u in factor.tangent_frame(X[:, own])]
            trace = np.sum(bends, axis=0)
            total += field.contract(factor, X[:, own], within, partial(np.asarray, trace))
        return total


class Weight(ValueObject, ABC):
    """A recipe for the tensor W(x). The same object can serve every region that it is valid for.

    The argument ``view`` of its methods is the border as seen from some rows, a `BorderView`.
    """

    def resolve(self, view: BorderView) -> Weight:
        """Fix everything that comes from data (a scale, an axis), and refuse regions it is not valid for.

        The view is that of a sample of checked rows inside the region; the weight that comes back depends on no
        data any more.
        """
        return self

    @abstractmethod
    def field(self, view: BorderView) -> WeightField:
        """W and div W at the rows of a block."""

    def row_form(self) -> tuple[str, tuple[float, ...]] | None:
        """Its kind and numbers as compiled loops over rows take them, resolved; None where there is no such form."""
        return None

    def series(self) -> tuple[Weight, ...] | None:
        """Two weights or three, resolved, which together tell more than this one; None where it has no second scale."""
        return None

    @property
    def label(self) -> str:
        """What to call it in a summary."""
        return repr(self)


class ScalarWeight(Weight):
    """W = g I: a subclass gives g and its tangent gradient.

    g must be Lipschitz, positive inside and zero on the border. The argument ``view`` is the border as seen from some
    rows, a `BorderView`.
    """

    @abstractmethod
    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        """g, shape (n,), and ∇g, tangent, shape (n, D), at ``view.X``."""

    def field(self, view: BorderView) -> WeightField:
        g, gradient = self.value_and_gradient(view)
        return WeightField(isotropic=g, directions=((gradient, None, 1.0),))


def _column(coefficient: FloatArray | float) -> FloatArray | float:
    return coefficient[:, None] if isinstance(coefficient, np.ndarray) else coefficient
