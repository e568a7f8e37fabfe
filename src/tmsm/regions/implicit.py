"""Regions that a user writes down: the points of any manifold at which a few smooth functions are positive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms, safe_divide, safe_inverse
from tmsm.foundation.autodiff import PointFunction, function_name, joined_functions
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, TmsmError
from tmsm.manifolds import Manifold
from tmsm.manifolds.same_points import check_unique
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
    """The points of a manifold at which a function h, or each of several functions, is positive.

    The border may have corners where two functions are zero.  On the border the derivative of h along the manifold must
    not be zero.

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
    The distance to the border is not known. `border_distance` gives min_k c_k h_k instead, with constants c_k that make
    the scale of a function irrelevant. It is zero on the border and positive inside, but it is no length. A weight
    needs no more. Next to the border `clearance` gives lengths.
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
        for function, name in zip(functions, self._names, strict=True):
            shape = PointFunction(function, name).shape(manifold.embedding_dim)
            if shape:
                raise InvalidInputError(
                    f"{name} must return one number for one point of shape ({manifold.embedding_dim},); it returns "
                    f"shape {shape}. Give several functions as a list."
                )
        check_unique(self._h, manifold)

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

    @property
    def _names(self) -> tuple[str, ...]:
        if len(self.functions) == 1:
            return (function_name(self.functions[0], "h"),)
        names = [function_name(function, "") for function in self.functions]
        return tuple(name if name and names.count(name) == 1 else f"h_{k}" for k, name in enumerate(names, start=1))

    @cached_property
    def _h(self) -> PointFunction:
        """All functions as one: it is compiled at once."""
        names = self._names
        return PointFunction(joined_functions(self.functions), ", ".join(names), names)

    @property
    def n_constraints(self) -> int:
        return len(self.functions)

    def _first(self, X: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """h_k, shape (n, K), and their tangent gradients; values that are rounding noise are zero."""
        values, plain = self._h.first(X)
        zero_on_border(values, np.sqrt(np.einsum("nkd,nkd->nk", plain, plain)) * row_norms(X)[:, None])
        return values, [self.manifold.tangent_gradient(X, plain[:, k]) for k in range(self.n_constraints)]

    def _bend(self, X: FloatArray, V: FloatArray, chosen: Iterable[int]) -> list[FloatArray]:
        """The Hessians of some h_k along the manifold, applied to tangent rows V."""
        manifold = self.manifold
        plain, bent = self._h.jacobian(X), self._h.bent(X, manifold.velocity(X, V))
        return [manifold.tangent_gradient(X, bent[:, k]) + manifold.second_form(X, plain[:, k], V) for k in chosen]

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        manifold = self.manifold
        T = manifold.tangent_map(X)
        # In an embedding T is the projector, TᵀT = T.
        cometric = T if manifold.is_embedded else np.swapaxes(T, 1, 2) @ T
        values, gradients = self._first(X)
        laplacians = self._h.contracted(X, cometric, manifold.coordinate_laplacian(X))
        return ConstraintFrame(values, tuple(gradients), laplacians, lambda k, V: self._bend(X, V, [k])[0])

    @cached_property
    def _usual(self) -> tuple[FloatArray, FloatArray]:
        """1 / |∇h_k| and |Hess h_k|, medians over points all over the manifold, shape (K,) each."""
        X = self.manifold.scattered(_POINTS, np.random.default_rng(0))
        X = X[self._h.is_smooth_at(X)]
        gradients = self._first(X)[1]
        scales = np.empty(self.n_constraints)
        for k, name in enumerate(self._names):
            length = row_norms(gradients[k])
            changing = length > 1e-14 * length.max(initial=0.0)
            if not changing.any():
                raise InvalidInputError(
                    f"The derivative of {name} along {self.manifold!r} is zero or not finite at each of {_POINTS} "
                    "points all over it: it has no border that could be found. A function that jumps, such as one made "
                    "of 'where' and constants, does not do."
                )
            scales[k] = 1.0 / np.median(length[changing])
        return scales, np.median(self._bend_sizes(X), axis=0)

    def _bend_sizes(self, X: FloatArray) -> FloatArray:
        """Bounds of |Hess h_k(v, v)| for tangents v of length one, shape (n, K)."""
        total = np.zeros((len(X), self.n_constraints))
        for u in self.manifold.tangent_frame(X):
            columns = self._bend(X, np.ascontiguousarray(u), range(self.n_constraints))
            total += np.column_stack([row_norms(column) ** 2 for column in columns])
        return np.sqrt(total)

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """min_k c_k h_k with constants c_k, and its tangent gradient: no length, but zero on the border."""
        scales, _ = self._usual
        values, gradients = self._first(X)
        values *= scales
        if self.n_constraints == 1:
            return values[:, 0], gradients[0] * scales[0]
        least = np.argmin(values, axis=1)
        gradient = np.zeros_like(X)
        for k in range(self.n_constraints):
            gradient[least == k] = gradients[k][least == k] * scales[k]
        return values[np.arange(len(X)), least], gradient

    def clearance(self, X: FloatArray, radius: float = 0.0) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The distance to the face that is next, along the manifold to where h is zero.

        No border is nearer than r where |h| > |∇h| r + |Hess h| r², which leaves a factor of two for how the second
        derivative changes within r.
        """
        h, gradients = self._first(X)
        length = np.column_stack([row_norms(gradient) for gradient in gradients])
        change = length * radius
        if radius > 0.0:
            change += np.maximum(self._bend_sizes(X), self._usual[1]) * radius**2
        clear = np.abs(h) > change
        # Where h hardly changes no border is in sight; a length that can be computed with stands for it.
        farthest = min(1e100, self.manifold.diameter)
        d = np.clip(h * safe_inverse(length), -farthest, farthest)
        free = (clear & (d > 0.0)).all(axis=1) | (clear & (d < 0.0)).any(axis=1)
        face = np.argmin(d, axis=1)
        out, inward = d[np.arange(len(X)), face], np.zeros_like(X)
        near = (out != 0.0) & (np.abs(out) < (_NEAR * radius if radius > 0.0 else 1e99))
        for k in range(self.n_constraints):
            own = face == k
            inward[own] = safe_divide(gradients[k], length[:, k])[own]
            own = np.flatnonzero(own & near)
            if own.size:
                out[own], inward[own] = self._refined(k, X[own], h[own, k], out[own], inward[own])
        return out, inward, np.asarray(free)

    def _refined(
        self, k: int, X: FloatArray, h: FloatArray, d: FloatArray, inward: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The length of the way to h_k = 0 against ``inward``, which becomes normal to the border where it is found."""
        manifold = self.manifold
        s, w, foot, lost = d.copy(), inward.copy(), X, np.zeros(len(X), dtype=bool)

        def at(s: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Where the way ends, and h there; a way that leaves the domain of h is given up."""
            foot = manifold.retract(X, -s[:, None] * w)
            there = self._h.values(foot, checked=False)[:, k]
            lost[~np.isfinite(there)] = True
            return np.where(lost[:, None], X, foot), np.where(lost, h, there)

        try:
            for _ in range(_ROUNDS):
                normal = manifold.project_tangent(X, self._first(foot)[1][k])
                w = safe_divide(normal, row_norms(normal))
                before, value = np.zeros_like(s), h
                for _ in range(_STEPS):
                    there = at(s, w)[1]
                    step = there * (s - before) * np.sign(value - there) * safe_inverse(np.abs(value - there))
                    before, value = s, there
                    s = s + np.clip(step, -np.abs(s), np.abs(s))
                foot, missed = at(s, w)
        except TmsmError:
            return d, inward
        good = ~lost & (np.abs(missed) <= 0.02 * np.abs(h)) & (s * d > 0.0) & (row_norms(w) > 0.5)
        return np.where(good, s, d), np.where(good[:, None], w, inward)
