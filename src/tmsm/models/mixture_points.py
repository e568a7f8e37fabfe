"""A mixture at points that stay the same for many θ: their statistics are kept, and everything is sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.models.mixture_form import MixtureForm
from tmsm.models.nonlinear import OnPoints

__all__ = ["MixtureOnPoints"]


@final
@dataclass(frozen=True)
class MixtureOnPoints(OnPoints):
    """With y = (1, t − c): u = log Σ exp(a_k + θ_k·(t − c)), Σ w s = Σ w r_k y, Σ w (∂²u + ssᵀ) = Σ w r_k yyᵀ.

    Attributes
    ----------
    model
        The mixture, bound to its manifold.
    X
        Points, shape (n, D).
    """

    model: MixtureForm
    X: FloatArray

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.X)  # the statistics are made again

    @cached_property
    def _table(self) -> FloatArray:
        """The y, shape (q + 1, n)."""
        t = self.model.centred_statistics(self.X)
        table = np.empty((t.shape[1] + 1, len(t)))
        table[0] = 1.0
        table[1:] = t.T
        return table

    @cached_property
    def _background(self) -> FloatArray | None:
        background = self.model.known_background
        return None if background is None else background.values(self.X)

    def _at(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logarithm u, shape (n,), and the posterior shares r, shape (m, n); kept, since sums follow values."""
        known = self.__dict__.get("_known")
        if known is None or not np.array_equal(known[0], theta):
            known = theta.copy(), self._made(theta)
            self.__dict__["_known"] = known
        found: tuple[FloatArray, FloatArray] = known[1]
        return found

    def _made(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        levels, thetas = self.model.split(theta)
        count = len(thetas)
        heights = np.empty((levels.size, len(self.X)))
        np.matmul(np.column_stack([levels[:count], thetas]), self._table, out=heights[:count])
        if self._background is not None:
            np.add(self._background, levels[-1], out=heights[-1])
        top = heights.max(axis=0)
        heights -= top
        r = np.exp(heights, out=heights)
        total = r.sum(axis=0)
        r /= total
        return top + np.log(total), r

    def log_kernel(self, theta: FloatArray) -> FloatArray:
        if not self.model.at_theta(theta).valid:
            return np.full(len(self.X), np.nan)
        return self._at(theta)[0]

    def moments(self, theta: FloatArray, weight: FloatArray, squares: bool) -> tuple[FloatArray, FloatArray]:
        r, Y = self._at(theta)[1], self._table
        m, count, q = len(r), self.model.count, len(Y) - 1
        weighted = r * weight
        size = count * (q + 1) + m - count
        second, slope = np.zeros((size, size)), np.empty(size)
        # In the order (a_1, θ_1, a_2, θ_2, …, a_0) first.
        slope[: count * (q + 1)] = (weighted[:count] @ Y.T).ravel()
        slope[count * (q + 1) :] = weighted[count:].sum(axis=1)
        for k in range(count):
            own = slice(k * (q + 1), (k + 1) * (q + 1))
            second[own, own] = (Y * weighted[k]) @ Y.T
        if m > count:
            second[-1, -1] = slope[-1]
        if not squares:
            scores = np.vstack([*(Y * r[k] for k in range(count)), r[count:]])
            second -= (scores * weight) @ scores.T
        order = self._order(m, count, q)
        second = second[np.ix_(order, order)]
        return slope[order], 0.5 * (second + second.T)

    @staticmethod
    def _order(m: int, count: int, q: int) -> list[int]:
        """Where the entries of θ are in that order."""
        levels = [k * (q + 1) for k in range(1, count)] + [count * (q + 1)] * (m - count)
        return levels + [k * (q + 1) + 1 + j for k in range(count) for j in range(q)]
