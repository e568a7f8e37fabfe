"""A user's function of one point on many rows, with its derivatives by JAX.

JAX is loaded when the first function is used.  Everything runs in float64 on the CPU, whatever the global settings of
JAX are, and those stay as they were.  A function is compiled once for each kind of derivative and for a few numbers of
rows: rows come in blocks whose length is a power of four, the last one filled up with copies of a row.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Literal, NoReturn, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, TmsmError
from tmsm.foundation.optional import load_package

__all__ = [
    "FEWEST_ROWS",
    "MOST_ROWS",
    "ROOM",
    "WRITTEN_OUT",
    "PointFunction",
    "double_precision",
    "filled",
    "function_name",
    "joined_functions",
    "load_jax",
    "refuse_coordinates_beyond",
    "refuse_failure",
]

# Rows of a block that is compiled: at least, at most.  Their powers of four give four shapes.
FEWEST_ROWS, MOST_ROWS = 256, 16_384
# Numbers that the largest intermediate result of a block may have.
ROOM = 2**24
# Up to so many coordinates sums over them are written out, which runs faster and compiles slower than a loop.
WRITTEN_OUT = 6
# Functions whose compiled forms are kept.
_KEPT = 64

Kind = Literal["values", "first", "slopes", "pulled", "contracted", "second", "bent"]
_IN_WORDS: dict[Kind, str] = {
    "values": "",
    "first": "the first derivative of ",
    "slopes": "the first derivative of ",
    "pulled": "the first derivative of ",
    "contracted": "the second derivative of ",
    "second": "the second derivative of ",
    "bent": "the second derivative of ",
}


def function_name(function: Any, otherwise: str) -> str:
    """The name that a function was defined with, or another one where it has none."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else otherwise


@final
@dataclass(frozen=True)
class PointFunction:
    """A function of one point, (D,) to one number or to (p,), that JAX can trace, on rows of points.

    Rows are (n, D) arrays and so are vectors that belong to them.  Results are new float64 arrays that begin with the
    axis of the rows.  A function that returns one number counts as one with p = 1.

    Attributes
    ----------
    function
        The function itself.
    name
        What messages call it.
    entries
        What they call each of its p entries, where these are functions of their own.
    """

    function: Callable[..., Any]
    name: str
    entries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidTypeError(
                f"{self.name} must be a function of one point that JAX can trace; got {type(self.function).__name__}."
            )

    def shape(self, D: int) -> tuple[int, ...]:
        """Shape of what it returns for a point of D coordinates: () or (p,); an error where it is another."""
        return self._compiled.shape(self, D)

    def values(self, X: FloatArray, *, checked: bool = True) -> FloatArray:
        """t(x), shape (n, p); unless they are checked they may be NaN or infinite."""
        return self._compiled.run(self, "values", X, checked=checked)

    def first(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both t and Dt, shapes (n, p) and (n, p, D)."""
        both = self._compiled.run(self, "first", X)
        return both[:, :, 0], both[:, :, 1:]

    def jacobian(self, X: FloatArray) -> FloatArray:
        """Dt, shape (n, p, D)."""
        return self.first(X)[1]

    def slopes(self, X: FloatArray, T: FloatArray) -> FloatArray:
        """Dt along the k rows of each matrix of T (n, k, D), shape (n, k, p)."""
        return self._compiled.run(self, "slopes", X, T)

    def slope(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """⟨Dt, v⟩, shape (n, p)."""
        return self.slopes(X, V[:, None, :])[:, 0]

    def pulled(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """D(θ·t) for one θ, shape (p,): shape (n, D)."""
        return self._compiled.run(self, "pulled", X, shared=np.asarray(theta, dtype=np.float64))

    def second(self, X: FloatArray, V: FloatArray, W: FloatArray | None = None) -> FloatArray:
        """D²t(v, v) + ⟨Dt, w⟩, shape (n, p); without W the second derivative alone."""
        return self._compiled.run(self, "second", X, V, np.zeros_like(X) if W is None else W)

    def contracted(self, X: FloatArray, W: FloatArray, w: FloatArray | None = None) -> FloatArray:
        """⟨W, D²t⟩ + ⟨Dt, w⟩ for tensors W (n, D, D) and vectors w (n, D), shape (n, p)."""
        return self._compiled.run(self, "contracted", X, W, np.zeros_like(X) if w is None else w)

    def bent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """D²t applied to v, shape (n, p, D)."""
        return self._compiled.run(self, "bent", X, V)

    def is_smooth_at(self, X: FloatArray) -> BoolArray:
        """At which rows t, Dt and D²t are finite, shape (n,); the other methods raise where they are not."""
        run = self._compiled.run
        found = [run(self, "first", X, checked=False), run(self, "bent", X, np.ones_like(X), checked=False)]
        return np.asarray(np.all([np.isfinite(one.reshape(len(X), -1)).all(axis=1) for one in found], axis=0))

    @cached_property
    def _compiled(self) -> _Compiled:
        return _compiled_of(self.function)

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "name": self.name, "entries": self.entries}


class _Compiled:
    """What was compiled of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        # The function is held here, so that its id, under which this is kept, is not used again.
        self.function = function
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._kernels: dict[tuple[Kind, int], Callable[..., Any]] = {}

    def shape(self, called: PointFunction, D: int) -> tuple[int, ...]:
        if D not in self._shapes:
            jax = load_jax()
            refuse_coordinates_beyond(self.function, called.name, D)
            with double_precision(jax):
                try:
                    found = jax.eval_shape(self.function, jax.ShapeDtypeStruct((D,), np.float64))
                except Exception as error:
                    refuse_failure(called.name, D, error, "")
            self._shapes[D] = _checked_shape(called.name, D, found)
        return self._shapes[D]

    def run(
        self,
        called: PointFunction,
        kind: Kind,
        X: FloatArray,
        *rows: FloatArray,
        shared: Any = None,
        checked: bool = True,
    ) -> FloatArray:
        n, D = X.shape
        size = int(np.prod(self.shape(called, D)))
        if n == 0:
            return np.empty((0, *_result_shape(kind, size, D, rows)))
        jax = load_jax()
        most = MOST_ROWS
        while most > FEWEST_ROWS and most * D * max(D, size) > ROOM:
            most //= 4
        blocks = []
        with double_precision(jax):
            key = kind, D
            if key not in self._kernels:
                self._kernels[key] = _kernel(jax, self.function, kind, size, D)
            kernel = self._kernels[key]
            for start in range(0, n, most):
                given = [filled(array[start : start + most]) for array in (X, *rows)]
                try:
                    found = kernel(shared, *given)
                    blocks.append(np.asarray(found)[..., : min(most, n - start)])
                except Exception as error:
                    refuse_failure(called.name, D, error, _IN_WORDS[kind])
        out = np.array(blocks[0]) if len(blocks) == 1 else np.concatenate(blocks, axis=-1)
        if checked and not np.isfinite(out).all():
            _refuse_values(called, kind, X, out)
        return np.moveaxis(out, -1, 0)


_known: OrderedDict[int, _Compiled] = OrderedDict()
_lock = Lock()


def _compiled_of(function: Callable[..., Any]) -> _Compiled:
    with _lock:
        found = _known.get(id(function))
        if found is None:
            found = _known[id(function)] = _Compiled(function)
        _known.move_to_end(id(function))
        while len(_known) > _KEPT:
            _known.popitem(last=False)
        return found


def load_jax() -> Any:
    """The package JAX, or a sentence that says how to install it."""
    return load_package("jax", "A function that is given by its formula", "jax")


@contextmanager
def double_precision(jax: Any) -> Iterator[None]:
    """Float64 on the CPU, for this thread and for as long as it lasts."""
    # The context manager has moved between versions of JAX.
    in_double = jax.enable_x64 if hasattr(jax, "enable_x64") else load_package("jax.experimental", "", "jax").enable_x64
    with in_double(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


def filled(rows: FloatArray) -> FloatArray:
    """Rows as the last axis, filled up with the last one to a power of two."""
    n = len(rows)
    length = FEWEST_ROWS
    while length < n:
        length *= 4
    out = np.empty((*rows.shape[1:], length))
    out[..., :n] = np.moveaxis(rows, 0, -1)
    out[..., n:] = out[..., n - 1 : n]
    return out


def _result_shape(kind: Kind, p: int, D: int, rows: tuple[FloatArray, ...]) -> tuple[int, ...]:
    if kind == "slopes":
        return rows[0].shape[1], p
    return {"first": (p, D + 1), "bent": (p, D), "pulled": (D,)}.get(kind, (p,))


def _kernel(jax: Any, function: Callable[..., Any], kind: Kind, p: int, D: int) -> Callable[..., Any]:
    """The compiled function (θ, x, …) of one kind, rows along the last axis."""
    jnp, jvp = jax.numpy, jax.jvp

    def t(x: Any) -> Any:
        return jnp.asarray(function(x), dtype=np.float64).reshape(p)

    def slope(x: Any, v: Any) -> Any:
        return jvp(t, (x,), (v,))[1]

    def second(x: Any, u: Any, v: Any) -> Any:
        return jvp(lambda y: slope(y, u), (x,), (v,))[1]

    def contracted(_: Any, x: Any, W: Any, w: Any) -> Any:
        # ⟨W, D²t⟩ = Σ_j D²t(W e_j, e_j): no array of the size D² p.
        axes, start = jnp.eye(D), slope(x, w)
        if D <= WRITTEN_OUT:
            return sum((second(x, W[j], axes[j]) for j in range(D)), start)
        return jax.lax.scan(lambda total, pair: (total + second(x, *pair), None), start, (W, axes))[0]

    def derivative(of: Any) -> Any:
        return (jax.jacrev if 2 * p < D and D > WRITTEN_OUT else jax.jacfwd)(of)

    kernels: dict[Kind, Callable[..., Any]] = {
        "values": lambda _, x: t(x),
        "first": lambda _, x: jnp.concatenate([t(x)[:, None], derivative(t)(x)], axis=1),
        "slopes": lambda _, x, T: jax.vmap(lambda v: slope(x, v))(T),
        "pulled": lambda theta, x: jax.vjp(t, x)[1](theta)[0],
        "contracted": contracted,
        "second": lambda _, x, v, w: second(x, v, v) + slope(x, w),
        "bent": lambda _, x, v: derivative(lambda y: slope(y, v))(x),
    }
    one_row = kernels[kind]

    def rows(shared: Any, *given: Any) -> Any:
        return jax.vmap(lambda *own: one_row(shared, *own), in_axes=-1, out_axes=-1)(*given)

    compiled: Callable[..., Any] = jax.jit(rows)
    return compiled


def _checked_shape(name: str, D: int, found: Any) -> tuple[int, ...]:
    rule = f"{name} must return one number, or a vector of shape (p,), for one point of shape ({D},)"
    if isinstance(found, list | tuple | dict) or not hasattr(found, "shape"):
        joined = " Join its entries with jnp.stack." if isinstance(found, list | tuple) else ""
        raise InvalidInputError(f"{rule}; it returns a {type(found).__name__}.{joined}")
    shape = tuple(found.shape)
    if len(shape) > 1 or 0 in shape:
        raise InvalidInputError(f"{rule}; it returns shape {shape}.")
    if not np.issubdtype(found.dtype, np.floating):
        raise InvalidInputError(
            f"{name} must return real numbers that can be differentiated; it returns {found.dtype}."
        )
    return shape


def refuse_failure(name: str, D: int, error: Exception, derivative: str) -> NoReturn:
    """Raise a sentence in place of what JAX, or the function itself, raised."""
    if isinstance(error, TmsmError):
        raise error
    first = (str(error).strip().splitlines() or [""])[0][:160]
    kind = type(error).__name__
    if "Tracer" in kind or "Concret" in kind or "NonConcrete" in kind:
        raise InvalidInputError(
            f"{name} cannot be traced by JAX ({kind}). It must be made of functions of jax.numpy: not those of numpy, "
            "no float(…) and no 'if' on values, for which there is jnp.where."
        ) from error
    if derivative:
        raise InvalidInputError(f"JAX cannot compute {derivative}{name} ({kind}: {first}).") from error
    raise InvalidInputError(f"{name} fails at a point of {D} coordinates ({kind}: {first}).") from error


def _refuse_values(called: PointFunction, kind: Kind, X: FloatArray, out: FloatArray) -> NoReturn:
    """Raise for results (…, n) that are not finite."""
    values = out[:, 0] if kind == "first" else out
    if kind == "first" and not np.isfinite(values).all():
        kind, out = "values", values
    wrong = ~np.isfinite(out)
    name = called.name
    if called.entries and kind not in ("pulled", "slopes"):
        # The first axis is that of the entries.
        entry = int(np.argmax(wrong.reshape(len(out), -1).any(axis=1)))
        name, wrong = called.entries[entry], wrong[entry]
    bad = wrong.reshape(-1, len(X)).any(axis=0)
    first = int(np.argmax(bad))
    what = f"{_IN_WORDS[kind]}{name}"
    raise InvalidInputError(
        f"{what[0].upper() if kind != 'values' else what[0]}{what[1:]} is NaN or infinite at "
        f"{int(np.count_nonzero(bad))} of {len(X)} rows (first: row {first}, the point {X[first].tolist()}). "
        f"{name} must be smooth wherever there are rows."
    )


_joined: OrderedDict[tuple[int, ...], Callable[..., Any]] = OrderedDict()


def joined_functions(functions: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """Functions that return one number each as one that returns all; the same one whenever it is asked for."""
    key = tuple(map(id, functions))
    with _lock:
        if key not in _joined:

            def joined(x: Any) -> Any:
                jnp = load_jax().numpy
                return jnp.stack([jnp.asarray(function(x), dtype=np.float64) for function in functions])

            _joined[key] = joined
        _joined.move_to_end(key)
        while len(_joined) > _KEPT:
            _joined.popitem(last=False)
        return _joined[key]


def refuse_coordinates_beyond(function: Callable[..., Any], name: str, D: int) -> None:
    """Raise where a function reads a coordinate that a point does not have: JAX takes the last one in silence.

    NumPy does not.  What else the function may not like about an array of NumPy is no reason to refuse it.
    """
    try:
        with double_precision(load_jax()):
            function(np.full(D, 0.5))
    except IndexError as error:
        raise InvalidInputError(
            f"{name} reads a coordinate that points do not have: they have {D}, numbered 0 to {D - 1} ({error})."
        ) from None
    except Exception:
        return
