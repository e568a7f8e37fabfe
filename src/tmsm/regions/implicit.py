"""Regions that a user writes down: the points of any manifold at which a few smooth functions are positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms, safe_divide, safe_inverse
from tmsm.foundation.autodiff import PointFunction, function_name
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, TmsmError
from tmsm.manifolds import Manifold
from tmsm.regions.borders import Constrained, ConstraintFrame
from tmsm.regions.constraint_sets import MAX_CONSTRAINTS
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["Implicit"]

# Points of the manifold that show how large the derivatives of a function usually are.
_POINTS = 512
# The way to the border is looked for so often, each time with so many steps of the secant method.
_ROUNDS, _STEPS = 3, 4
# Up to so many radii from the border the distance to it is refined.
_NEAR = 4.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class Implicit(Constrained, Region):
    """The points of a manifold at which h is positive, or each of several functions.

    The border may have corners where two functions are zero.  On it the derivative of h along the manifold must not be
    zero.

    Parameters
    ----------
    h
        A smooth function of one point, shape (D,), that returns one number and that JAX can trace; or a list of such.
        Write it with `jax.numpy`, and its constants as plain numbers or NumPy arrays.
    manifold
        Where the points live.

    Examples
    --------
    >>> import jax.numpy as jnp, tmsm
    >>> def above_the_wave(x):
    ...     return x[2] - 0.2 * jnp.sin(3.0 * x[0])
    >>> region = tmsm.Implicit(above_the_wave, tmsm.Sphere(2))
    >>> region.contains([[0.0, 0.6, 0.8], [0.0, 0.6, -0.8]])
    array([ True, False])

    Notes
    -----
    The distance to the border is not known.  What `border_distance` gives in its place is min_k c_k h_k, with constants
    c_k for which the scale of a function does not matter.  It is zero on the border, positive inside and no length; a
    weight needs no more.  Next to the border `clearance` knows lengths.
    """

    functions: tuple[Callable[..., Any], ...]
    space: Manifold

    _TRANSIENT = frozenset({"_shelf", "_h"})

    def __init__(self, h: Callable[..., Any] | Sequence[Callable[..., Any]], manifold: Manifold) -> None:
        if not isinstance(manifold, Manifold):
            raise InvalidTypeError(f"Implicit needs a manifold, such as Sphere(2); got {type(manifold).__name__}.")
        functions = tuple(h) if isinstance(h, list | tuple) else (h,)
        if not 1 <= len(functions) <= MAX_CONSTRAINTS:
            raise InvalidInputError(f"h must be between 1 and {MAX_CONSTRAINTS} functions; got {len(functions)}.")
        object.__setattr__(self, "functions", functions)
        object.__setattr__(self, "space", manifold)
        for function in self._h:
            shape = function.shape(manifold.embedding_dim)
            if shape:
                raise InvalidInputError(
                    f"{function.name} must return one number for one point of shape ({manifold.embedding_dim},); it "
                    f"returns shape {shape}. Give several functions as a list."
                )

    def __repr__(self) -> str:
        names = [f"<function {getattr(function, '__name__', 'h')}>" for function in self.functions]
        listed = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
        return f"Implicit(h={listed}, manifold={self.space!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"h": self.functions, "manifold": self.space}

    @property
    def manifold(self) -> Manifold:
        return self.space

    @property
    def measures_distance(self) -> bool:
        return False

    @cached_property
    def _h(self) -> tuple[PointFunction, ...]:
        if len(self.functions) == 1:
            return (PointFunction(self.functions[0], function_name(self.functions[0], "h")),)
        names = [function_name(function, "") for function in self.functions]
        return tuple(
            PointFunction(function, name if name and names.count(name) == 1 else f"h_{k}")
            for k, (function, name) in enumerate(zip(self.functions, names, strict=True), start=1)
        )

    @property
    def n_constraints(self) -> int:
        return len(self.functions)

    def _first(self, k: int, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """h_k and its tangent gradient; values that are rounding noise are zero."""
        values, plain = self._h[k].values(X)[:, 0], self._h[k].jacobian(X)[:, 0]
        zero_on_border(values, row_norms(plain) * row_norms(X))
        return values, self.manifold.tangent_gradient(X, plain)

    def _bend(self, k: int, X: FloatArray, V: FloatArray) -> FloatArray:
        """The Hessian of h_k along the manifold, applied to tangent rows V."""
        manifold = self.manifold
        plain = self._h[k].bent(X, manifold.velocity(X, V))[:, 0]
        return manifold.tangent_gradient(X, plain) + manifold.second_form(X, self._h[k].jacobian(X)[:, 0], V)

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        manifold = self.manifold
        T = manifold.tangent_map(X)
        # In an embedding T is the projector, TᵀT = T.
        cometric = T if manifold.is_embedded else np.swapaxes(T, 1, 2) @ T
        drift = manifold.coordinate_laplacian(X)
        first = [self._first(k, X) for k in range(self.n_constraints)]
        return ConstraintFrame(
            np.column_stack([values for values, _ in first]),
            tuple(gradient for _, gradient in first),
            np.column_stack([h.contracted(X, cometric, drift)[:, 0] for h in self._h]),
            lambda k, V: self._bend(k, X, V),
        )

    @cached_property
    def _usual(self) -> tuple[FloatArray, FloatArray]:
        """1 / |∇h_k| and |Hess h_k|, medians over points all over the manifold, shape (K,) each."""
        points = self.manifold.scattered(_POINTS, np.random.default_rng(0))
        scales, bends = [], []
        for k, h in enumerate(self._h):
            X = points[h.is_smooth_at(points)]
            length = row_norms(self._first(k, X)[1]) if len(X) else np.empty(0)
            changing = length > 1e-14 * length.max(initial=0.0)
            if not changing.any():
                raise InvalidInputError(
                    f"The derivative of {h.name} along {self.manifold!r} is zero or not finite at each of {_POINTS} "
                    "points all over it: it has no border that could be found. A function that jumps, such as one made "
                    "of 'where' and constants, does not do."
                )
            scales.append(1.0 / np.median(length[changing]))
            bends.append(np.median(self._bend_size(k, X)))
        return np.array(scales), np.array(bends)

    def _bend_size(self, k: int, X: FloatArray) -> FloatArray:
        """A bound of |Hess h_k(v, v)| for tangents v of length one, shape (n,)."""
        columns = [self._bend(k, X, np.ascontiguousarray(u)) for u in self.manifold.tangent_frame(X)]
        return np.sqrt(np.sum([row_norms(column) ** 2 for column in columns], axis=0))

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """min_k c_k h_k with constants c_k, and its tangent gradient: no length, but zero on the border."""
        scales, _ = self._usual
        g, gradient = (scales[0] * part for part in self._first(0, X))
        for k in range(1, self.n_constraints):
            other, other_gradient = (scales[k] * part for part in self._first(k, X))
            better = other < g
            g = np.where(better, other, g)
            gradient = np.where(better[:, None], other_gradient, gradient)
        return g, gradient

    def clearance(self, X: FloatArray, radius: float = 0.0) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The distance to the face that is next, along the manifold to where h is zero.

        No border is nearer than r where |h| > |∇h| r + |Hess h| r², which leaves a factor of two for how the second
        derivative changes within r.
        """
        n, K = len(X), self.n_constraints
        farthest = min(1e100, self.manifold.diameter)
        d, clear, slopes = np.empty((n, K)), np.empty((n, K), dtype=bool), []
        for k in range(K):
            h, V = self._first(k, X)
            length = row_norms(V)
            change = length * radius
            if radius > 0.0:
                change = change + np.maximum(self._bend_size(k, X), self._usual[1][k]) * radius**2
            clear[:, k] = np.abs(h) > change
            # Where h hardly changes no border is in sight; a length that can be computed with stands for it.
            d[:, k] = np.clip(h * safe_inverse(length), -farthest, farthest)
            slopes.append((h, safe_divide(V, length)))
        face = np.argmin(d, axis=1)
        free = (clear & (d > 0.0)).all(axis=1) | (clear & (d < 0.0)).any(axis=1)
        out, inward = d[np.arange(n), face], np.zeros_like(X)
        for k in range(K):
            own = face == k
            inward[own] = slopes[k][1][own]
            near = np.flatnonzero(own & (out != 0.0) & (np.abs(out) < (_NEAR * radius if radius > 0.0 else 1e99)))
            if near.size:
                out[near], inward[near] = self._refined(k, X[near], slopes[k][0][near], out[near], inward[near])
        return out, inward, free

    def _refined(
        self, k: int, X: FloatArray, h: FloatArray, d: FloatArray, inward: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The length of the way to h_k = 0 against ``inward``, which becomes normal to the border where it is found."""
        manifold, function = self.manifold, self._h[k]
        s, w, foot = d.copy(), inward.copy(), X
        try:
            for _ in range(_ROUNDS):
                normal = manifold.project_tangent(X, self._first(k, foot)[1])
                w = safe_divide(normal, row_norms(normal))
                before, value = np.zeros_like(s), h
                for _ in range(_STEPS):
                    foot = manifold.retract(X, -s[:, None] * w)
                    there = function.values(foot)[:, 0]
                    step = there * (s - before) * np.sign(value - there) * safe_inverse(np.abs(value - there))
                    before, value = s, there
                    s = s + np.clip(step, -np.abs(s), np.abs(s))
                foot = manifold.retract(X, -s[:, None] * w)
            missed = np.abs(function.values(foot)[:, 0])
        except TmsmError:
            return d, inward
        good = (missed <= 0.02 * np.abs(h)) & (s * d > 0.0) & np.isfinite(s) & (row_norms(w) > 0.5)
        return np.where(good, s, d), np.where(good[:, None], w, inward)
