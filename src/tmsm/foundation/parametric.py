"""A user's function u(params, x) on many rows, with its derivatives by JAX in x and in the parameters.

The parameters are one vector θ.  Rows, precision and compiling are as for functions of a point alone; θ is an argument
of what is compiled, so that a search compiles nothing anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Literal, NoReturn, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.autodiff import (
    FEWEST_ROWS,
    MOST_ROWS,
    ROOM,
    WRITTEN_OUT,
    double_precision,
    filled,
    load_jax,
    refuse_coordinates_beyond,
    refuse_failure,
)
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.pytrees import Structure

__all__ = ["ParametricFunction"]

# Functions whose compiled forms are kept.
_KEPT = 64
# Up to so many parameters the columns of a Hessian in θ are computed side by side, beyond it one after the other.
_SIDE_BY_SIDE = 8

Kind = Literal[
    "values", "first", "second", "contracted", "by_theta", "slope_by_theta", "second_by_theta", "contracted_by_theta"
]
SumKind = Literal["curvature", "matching", "matching_slope"]
_IN_WORDS: dict[Kind | SumKind, str] = {
    "values": "",
    "first": "the first derivative of ",
    "second": "the second derivative of ",
    "contracted": "the second derivative of ",
    "by_theta": "the derivative by the parameters of ",
    "slope_by_theta": "the derivative by the parameters of the first derivative of ",
    "second_by_theta": "the derivative by the parameters of the second derivative of ",
    "contracted_by_theta": "the derivative by the parameters of the second derivative of ",
    "curvature": "the second derivative by the parameters of ",
    "matching": "the derivative by the parameters of the second derivative of ",
    "matching_slope": "the second derivative by the parameters of the second derivative of ",
}


@final
@dataclass(frozen=True)
class ParametricFunction:
    """A function of parameters and of one point, (D,), to one number, that JAX can trace, on rows of points.

    Rows are (n, D) arrays and so are vectors that belong to them; θ is (p,).  Results are new float64 arrays that begin
    with the axis of the rows.

    Attributes
    ----------
    function
        The function itself, of a pytree and a point.
    name
        What messages call it.
    structure
        How the parameters are nested.
    """

    function: Callable[..., Any]
    name: str
    structure: Structure

    def check(self, D: int, theta: FloatArray) -> None:
        """Raise unless it gives one number for a point of D coordinates and parameters like θ."""
        if not callable(self.function):
            raise InvalidTypeError(
                f"{self.name} must be a function of parameters and one point that JAX can trace; got "
                f"{type(self.function).__name__}."
            )
        jax = load_jax()
        params = self.structure.tree(theta)
        refuse_coordinates_beyond(lambda x: self.function(params, x), self.name, D)
        with double_precision(jax):
            given = self.structure.nested([jax.ShapeDtypeStruct(shape, np.float64) for shape in self.structure.shapes])
            try:
                found = jax.eval_shape(self.function, given, jax.ShapeDtypeStruct((D,), np.float64))
            except Exception as error:
                refuse_failure(self.name, D, error, "")
        _check_number(self.name, D, found)

    def values(self, X: FloatArray, theta: FloatArray, *, checked: bool = True) -> FloatArray:
        """u, shape (n,); where it is the logarithm of zero it may be −∞, and unless it is checked anything."""
        found = self._run("values", theta, X, checked=False)
        if checked and (np.isnan(found).any() or (found == np.inf).any()):
            self._refuse_values("values", X, np.where(found == -np.inf, 0.0, found), theta)
        return found

    def first(self, X: FloatArray, theta: FloatArray, *, checked: bool = True) -> tuple[FloatArray, FloatArray]:
        """Both u and Du, shapes (n,) and (n, D); unless they are checked they may be NaN or infinite."""
        both = self._run("first", theta, X, checked=checked)
        return both[:, 0], both[:, 1:]

    def second(
        self, X: FloatArray, V: FloatArray, w: FloatArray | None, theta: FloatArray, *, checked: bool = True
    ) -> FloatArray:
        """D²u(v, v) + ⟨Du, w⟩, shape (n,)."""
        return self._run("second", theta, X, V, np.zeros_like(X) if w is None else w, checked=checked)

    def contracted(self, X: FloatArray, W: FloatArray, w: FloatArray, theta: FloatArray) -> FloatArray:
        """⟨W, D²u⟩ + ⟨Du, w⟩ for tensors W (n, D, D) and vectors w (n, D), shape (n,)."""
        return self._run("contracted", theta, X, W, w)

    def by_theta(self, X: FloatArray, theta: FloatArray, *, checked: bool = True) -> FloatArray:
        """∂u/∂θ, shape (n, p)."""
        return self._run("by_theta", theta, X, checked=checked)

    def slope_by_theta(self, X: FloatArray, V: FloatArray, theta: FloatArray, *, checked: bool = True) -> FloatArray:
        """∂⟨Du, v⟩/∂θ, shape (n, p)."""
        return self._run("slope_by_theta", theta, X, V, checked=checked)

    def second_by_theta(self, X: FloatArray, V: FloatArray, w: FloatArray, theta: FloatArray) -> FloatArray:
        """∂(D²u(v, v) + ⟨Du, w⟩)/∂θ, shape (n, p)."""
        return self._run("second_by_theta", theta, X, V, w)

    def contracted_by_theta(self, X: FloatArray, W: FloatArray, w: FloatArray, theta: FloatArray) -> FloatArray:
        """∂(⟨W, D²u⟩ + ⟨Du, w⟩)/∂θ, shape (n, p), in one pass backwards."""
        return self._run("contracted_by_theta", theta, X, W, w)

    def curvature(self, X: FloatArray, weight: FloatArray, theta: FloatArray) -> FloatArray:
        """Σ w ∂²u/∂θ² over the rows, shape (p, p)."""
        found: FloatArray = self._total("curvature", theta, weight, X)[0]
        return found

    def matching(
        self, X: FloatArray, W: FloatArray, omega: FloatArray, weight: FloatArray, theta: FloatArray, slope: bool
    ) -> tuple[float, FloatArray, FloatArray | None]:
        """Σ w ρ, half its derivative (p,) and, if asked for, half its Hessian (p, p) in θ; they may not be finite.

        A row's ρ is ⟨Du, W Du⟩ + 2 (⟨W, D²u⟩ + ⟨ω, Du⟩), for tensors W (n, D, D) and vectors ω (n, D).
        """
        value, *others = self._total("matching_slope" if slope else "matching", theta, weight, X, W, omega)
        return float(value), others[0], others[1] if slope else None

    @cached_property
    def _compiled(self) -> _Compiled:
        return _compiled_of(self.function, self.structure)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("What was compiled of a function is made again where it is needed, not sent.")

    def _most(self, arrays: tuple[FloatArray, ...]) -> int:
        """How many rows of some arrays make a block."""
        # Where a row has a tensor, derivatives are taken along all axes.
        largest = max(self.structure.size, *(int(np.prod(array.shape[1:])) for array in arrays))
        most = MOST_ROWS
        while most > FEWEST_ROWS and 4 * most * largest > ROOM:
            most //= 4
        return most

    def _run(self, kind: Kind, theta: FloatArray, X: FloatArray, *rows: FloatArray, checked: bool = True) -> FloatArray:
        n, D = X.shape
        if n == 0:
            p = self.structure.size
            return np.empty((0, *{"values": (), "first": (D + 1,), "second": (), "contracted": ()}.get(kind, (p,))))
        jax, most, blocks = load_jax(), self._most((X, *rows)), []
        with double_precision(jax):
            kernel = self._compiled.kernel(jax, kind, D)
            for start in range(0, n, most):
                given = [filled(array[start : start + most]) for array in (X, *rows)]
                try:
                    blocks.append(np.asarray(kernel(theta, *given))[..., : min(most, n - start)])
                except Exception as error:
                    refuse_failure(self.name, D, error, _IN_WORDS[kind])
        out = np.array(blocks[0]) if len(blocks) == 1 else np.concatenate(blocks, axis=-1)
        if checked and not np.isfinite(out).all():
            self._refuse_values(kind, X, out, theta)
        return np.moveaxis(out, -1, 0)

    def _total(self, kind: SumKind, theta: FloatArray, weight: FloatArray, X: FloatArray, *rows: FloatArray) -> Any:
        """Sums over the rows: a list of arrays."""
        (n, D), total = X.shape, None
        jax, most = load_jax(), self._most((X, *rows))
        with double_precision(jax):
            kernel = self._compiled.kernel(jax, kind, D)
            for start in range(0, max(n, 1), most):
                given = [filled(array[start : start + most]) for array in (X, *rows)]
                # The rows that fill up a block count nothing.
                w = np.zeros(given[0].shape[-1])
                w[: min(most, n - start)] = weight[start : start + most]
                try:
                    found = [np.asarray(part) for part in kernel(theta, w, *given)]
                except Exception as error:
                    refuse_failure(self.name, D, error, _IN_WORDS[kind])
                total = found if total is None else [a + b for a, b in zip(total, found, strict=True)]
        return total

    def _refuse_values(self, kind: Kind, X: FloatArray, out: FloatArray, theta: FloatArray) -> NoReturn:
        """Raise for results (…, n) that are not finite."""
        what: str = _IN_WORDS[kind]
        if kind == "first" and not np.isfinite(out[0]).all():
            what, out = "", out[0]
        bad = ~np.isfinite(out.reshape(-1, len(X))).all(axis=0)
        first = int(np.argmax(bad))
        what = f"{what}{self.name}"
        shown = " ".join(np.array2string(theta[:8], precision=6, separator=", ").split())
        raise EstimationError(
            f"{what[0].upper() + what[1:] if what != self.name else what} is NaN or infinite at "
            f"{int(np.count_nonzero(bad))} of {len(X)} rows (first: row {first}, the point {X[first].tolist()}) for "
            f"the parameters {shown}{' and more' * (theta.size > 8)}. {self.name} must be smooth wherever there are "
            "rows; if the parameters are at fault, write it with others that may be any number, such as a logarithm."
        )


class _Compiled:
    """What was compiled of one function with parameters of one structure."""

    def __init__(self, function: Callable[..., Any], structure: Structure) -> None:
        # The function is held here, so that its id, under which this is kept, is not used again.
        self.function, self.structure = function, structure
        self._kernels: dict[tuple[str, int], Callable[..., Any]] = {}

    def kernel(self, jax: Any, kind: Kind | SumKind, D: int) -> Callable[..., Any]:
        key = kind, D
        if key not in self._kernels:
            u = self._scalar(jax)
            if kind == "curvature" or kind == "matching" or kind == "matching_slope":
                self._kernels[key] = _sum_kernel(jax, u, kind, D)
            else:
                self._kernels[key] = _row_kernel(jax, u, kind, D)
        return self._kernels[key]

    def _scalar(self, jax: Any) -> Callable[..., Any]:
        """The function of θ (p,) and x (D,)."""

        def u(theta: Any, x: Any) -> Any:
            return jax.numpy.asarray(self.function(self.structure.tree(theta), x), dtype=np.float64)

        return u


_known: OrderedDict[Hashable, _Compiled] = OrderedDict()
_lock = Lock()


def _compiled_of(function: Callable[..., Any], structure: Structure) -> _Compiled:
    key = id(function), structure
    with _lock:
        found = _known.get(key)
        if found is None:
            found = _known[key] = _Compiled(function, structure)
        _known.move_to_end(key)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
        return found


def _check_number(name: str, D: int, found: Any) -> None:
    rule = f"{name} must return one number for parameters and one point of shape ({D},)"
    if not hasattr(found, "shape"):
        raise InvalidInputError(f"{rule}; it returns a {type(found).__name__}.")
    if tuple(found.shape) != ():
        raise InvalidInputError(f"{rule}; it returns shape {tuple(found.shape)}.")
    if not np.issubdtype(found.dtype, np.floating):
        raise InvalidInputError(
            f"{name} must return a real number that can be differentiated; it returns {found.dtype}."
        )


def _second(jax: Any, u: Callable[..., Any], theta: Any, x: Any, v: Any, w: Any) -> Any:
    """D²u(v, w), forwards twice."""
    return jax.jvp(lambda y: jax.jvp(lambda z: u(theta, z), (y,), (v,))[1], (x,), (w,))[1]


def _contraction(jax: Any, u: Callable[..., Any], D: int) -> Callable[..., Any]:
    """The function (θ, x, W, w) ↦ ⟨W, D²u⟩ + ⟨Du, w⟩ of one row."""
    jnp = jax.numpy

    def contracted(theta: Any, x: Any, W: Any, w: Any) -> Any:
        # ⟨W, D²u⟩ = Σ_j D²u(W e_j, e_j)
        start, axes = jax.jvp(lambda y: u(theta, y), (x,), (w,))[1], jnp.eye(D)
        if D <= WRITTEN_OUT:
            return sum((_second(jax, u, theta, x, W[j], axes[j]) for j in range(D)), start)
        return jax.lax.scan(lambda total, pair: (total + _second(jax, u, theta, x, *pair), None), start, (W, axes))[0]

    return contracted


def _row_kernel(jax: Any, u: Callable[..., Any], kind: Kind, D: int) -> Callable[..., Any]:
    """The compiled function (θ, x, …) of one kind, rows along the last axis."""
    jnp = jax.numpy
    contracted = _contraction(jax, u, D)

    def first(theta: Any, x: Any) -> Any:
        value, slope = jax.value_and_grad(u, argnums=1)(theta, x)
        return jnp.concatenate([value[None], slope])

    def slope(theta: Any, x: Any, v: Any) -> Any:
        return jax.jvp(lambda y: u(theta, y), (x,), (v,))[1]

    def second(theta: Any, x: Any, v: Any, w: Any) -> Any:
        return _second(jax, u, theta, x, v, v) + slope(theta, x, w)

    kernels: dict[Kind, Callable[..., Any]] = {
        "values": u,
        "first": first,
        "second": second,
        "contracted": contracted,
        "by_theta": jax.grad(u),
        "slope_by_theta": jax.grad(slope),
        "second_by_theta": jax.grad(second),
        "contracted_by_theta": jax.grad(contracted),
    }
    one_row = kernels[kind]

    def rows(theta: Any, *given: Any) -> Any:
        return jax.vmap(lambda *own: one_row(theta, *own), in_axes=-1, out_axes=-1)(*given)

    compiled: Callable[..., Any] = jax.jit(rows)
    return compiled


def _sum_kernel(jax: Any, u: Callable[..., Any], kind: SumKind, D: int) -> Callable[..., Any]:
    """The compiled function (θ, w, x, …) of one kind, rows along the last axis, that sums over them."""
    contracted = _contraction(jax, u, D)

    def rho(theta: Any, x: Any, W: Any, omega: Any) -> Any:
        g = jax.grad(u, argnums=1)(theta, x)
        # Products entry by entry: rows are the last axis, for which matrix products are not made.
        return ((W * g).sum(axis=1) * g).sum() + 2.0 * contracted(theta, x, W, omega)

    one_row = u if kind == "curvature" else rho

    def sums(theta: Any, w: Any, *given: Any) -> Any:
        def total(at: Any) -> Any:
            return w @ jax.vmap(lambda *own: one_row(at, *own), in_axes=-1)(*given)

        if kind == "matching":
            value, slope = jax.value_and_grad(total)(theta)
            return value, 0.5 * slope
        slope, push = jax.linearize(jax.grad(total), theta)
        units = jax.numpy.eye(theta.shape[0])
        hessian = jax.vmap(push)(units) if len(units) <= _SIDE_BY_SIDE else jax.lax.map(push, units)
        hessian = 0.5 * (hessian + hessian.T)
        if kind == "curvature":
            return (hessian,)
        return total(theta), 0.5 * slope, 0.5 * hessian

    compiled: Callable[..., Any] = jax.jit(sums)
    return compiled
