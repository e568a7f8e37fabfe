"""Any density from its logarithm alone, on any manifold: derivatives by JAX, parameters in a pytree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, padded, row_norms, weighted_gram
from tmsm.foundation.autodiff import PointFunction, function_name
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.parametric import ParametricFunction
from tmsm.foundation.pytrees import Structure, flattened
from tmsm.foundation.validation import short_repr
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold
from tmsm.manifolds.same_points import check_unique
from tmsm.measure.integrals import integrate_kernel
from tmsm.measure.nodes import has_nodes
from tmsm.models.base import FactorTangent, Tangent
from tmsm.models.constraints import AffineSubspace, Constraint
from tmsm.models.extrinsic import plain_tensor
from tmsm.models.nonlinear import NonlinearModel
from tmsm.models.parameters import Field, Parameters
from tmsm.models.rough_functions import check_smooth
from tmsm.models.tangents import Coefficient, Directions
from tmsm.regions import Everywhere

__all__ = ["LogDensity"]

# Up to this dimension a Laplacian is exact; beyond it, it is by one random direction for each row.
_EXACT_DIM = 100
# Starts beside ``init``: how far each is from it, in sizes of the parameters.
_SPREADS = (0.3, 0.3, 1.0, 1.0)
# Rows of a block of tensors (D, D): so many numbers at most.
_TENSOR_NUMBERS = 2**22
# At so many rows a density is looked at whose slope is no more than such a share of what it could be.
_TRIED_ROWS, _NO_SLOPE = 256, 1e-12
# Rows that reach beyond others by no more than such a share of their extent are at the same place.
_SAME_PLACE = 0.2
_REPR_ENTRIES = 12


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogDensity(NonlinearModel):
    """Any density p(x) ∝ exp(fn(params, x)) on a manifold, for a smooth function that JAX can trace.

    The normalising constant is not needed, and nothing depends on the values of fn off the manifold.  The estimate and
    its errors have the form of ``init``: ``fit.params_`` is a dictionary where ``init`` is one.

    Parameters
    ----------
    fn
        The logarithm of the density up to a constant: a function of the parameters and of one point, shape (D,), that
        returns one number.  Write it with `jax.numpy`, and its constants as plain numbers or NumPy arrays.
    init
        Parameters from which the search begins, as fn takes them: a number, an array, or a dictionary, list, tuple or
        named tuple of such.  Each may become any real number, so that a positive one is best given by its logarithm.
    manifold
        Where the points live.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, tmsm
    >>> def log_density(params, x):
    ...     return params["pull"] @ x + params["ridge"] * x[0] * x[1]
    >>> model = tmsm.LogDensity(log_density, {"pull": np.zeros(3), "ridge": 0.0}, tmsm.Sphere(2))
    >>> cap = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> X = tmsm.VonMisesFisher().sample(
    ...     2000, cap, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=3.0
    ... )
    >>> fit = tmsm.ScoreMatching(model, cap).fit(X)
    >>> bool(abs(fit.params_["ridge"]) < 3 * fit.std_errors_["ridge"])
    True

    Notes
    -----
    With plain derivatives D in the embedding coordinates, Hess u(v, v) = D²u(v, v) + Du·II(v, v), where II is the
    second fundamental form.  Everything runs in float64 on the CPU, and is compiled once for each number of coordinates
    and a few numbers of rows.

    Searches begin at ``init`` and at four points round it, and are by Newton's method with exact Hessians, with more
    than 100 parameters by L-BFGS; `status_` says from how many starts the minimum was found.  Score matching does not
    see the mass of separate modes: where a density has several, `TruncatedMLE` or ``refine="mle"`` should finish.

    Above dimension 100 the Laplacian of fn is Hutchinson's estimate, with one direction of random signs for each row
    that is always the same.  It adds about half of the rows' own noise, and `status_` says so.
    """

    function: Callable[..., Any]
    init: Any
    space: Manifold

    _TRANSIENT = frozenset({"_shelf", "_known_constraint", "_u", "_structure", "fields", "_tried"})

    def __init__(self, fn: Callable[..., Any], init: Any, manifold: Manifold) -> None:
        if not isinstance(manifold, Manifold):
            raise InvalidTypeError(f"LogDensity needs a manifold, such as Sphere(2); got {type(manifold).__name__}.")
        if not callable(fn):
            raise InvalidTypeError(
                f"fn must be a function of parameters and one point that JAX can trace; got {type(fn).__name__}."
            )
        structure, theta = flattened(init, "init")
        leaves = [float(leaf) if np.ndim(leaf) == 0 else frozen_array(leaf) for leaf in structure.leaves(theta)]
        object.__setattr__(self, "function", fn)
        object.__setattr__(self, "init", structure.nested(leaves))
        object.__setattr__(self, "space", manifold)
        object.__setattr__(self, "_manifold", manifold)
        self._u.check(manifold.embedding_dim, theta)
        if manifold.same_points(np.empty((0, manifold.embedding_dim))):
            away = structure.tree(self._starts[1])
            check_unique(PointFunction(lambda x: fn(away, x), self._u.name), manifold)

    def _value(self) -> tuple[Any, ...]:
        return type(self), self.function, self._structure, self._init_theta.tobytes(), self.space

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", "fn")
        init = self._structure.nested([_short(leaf) for leaf in self._structure.leaves(self._init_theta)])
        return f"LogDensity(fn=<function {name}>, init={init!r}, manifold={self.space!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"fn": self.function, "init": self.init, "manifold": self.space}

    @property
    def home(self) -> Manifold:  # type: ignore[override]
        """The manifold that it was made for."""
        return self.space

    @cached_property
    def _structure(self) -> Structure:
        return flattened(self.init, "init")[0]

    @property
    def _init_theta(self) -> FloatArray:
        return flattened(self.init, "init")[1]

    @cached_property
    def _u(self) -> ParametricFunction:
        return ParametricFunction(self.function, function_name(self.function, "fn"), self._structure)

    @cached_property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """One for each leaf of ``init``, by the path to it."""
        return tuple(Field(name, is_symmetric=False) for name in self._structure.names)

    @property
    def size(self) -> int:
        return self._structure.size

    @property
    def _starts(self) -> list[FloatArray]:
        theta = self._init_theta
        size = np.abs(theta)
        largest = float(size.max())
        size = np.maximum(size, 0.1 * largest) if largest > 0.0 else np.ones_like(theta)
        rng = np.random.default_rng(0)
        return [theta, *(theta + spread * size * rng.standard_normal(theta.size) for spread in _SPREADS)]

    def starts(self, X: FloatArray) -> list[FloatArray]:
        """``init`` and some points round it, the same ones every time, at which fn is finite at the rows."""
        some = X[:: -(-len(X) // _TRIED_ROWS)]
        init, *others = self._starts
        kept = [theta for theta in others if np.isfinite(self._u.values(some, theta, checked=False)).all()]
        return [init, *kept]

    def check_spread(self, X: FloatArray) -> None:
        """Raise where fn is not smooth at rows like these, or where a parameter changes nothing there."""
        theta, name = self._init_theta, self._u.name
        try:
            self._u.first(X, theta)
        except EstimationError as error:
            raise InvalidInputError(str(error)) from None
        # Fits of resampled rows look at the same part of the manifold.
        low, high = X.min(axis=0), X.max(axis=0)
        tried: tuple[FloatArray, FloatArray] | None = self.__dict__.get("_tried")
        room = _SAME_PLACE * (high - low)
        if tried is not None and (tried[0] - room <= low).all() and (high <= tried[1] + room).all():
            return
        some = np.ascontiguousarray(X[:: -(-len(X) // _TRIED_ROWS)])
        starts = self.starts(some)
        for start in starts[:2]:
            check_smooth(self._u, self.space, some, start)
        self._check_change(some, starts, name)
        self.__dict__["_tried"] = low, high

    def _check_change(self, X: FloatArray, starts: list[FloatArray], name: str) -> None:
        """Raise where the density, or its dependence on a parameter, is constant along the manifold at every start."""
        changes, by_parameter = False, np.zeros(self.size, dtype=bool)
        for theta in starts:
            _, plain = self._u.first(X, theta, checked=False)
            slope = self.space.tangent_gradient(X, plain)
            changes |= bool((row_norms(slope) > _NO_SLOPE * row_norms(plain)).any())
            frame = self.space.tangent_frame(X)
            along = [self._u.slope_by_theta(X, self.space.velocity(X, v), theta, checked=False) for v in frame]
            sizes = np.abs(self._u.by_theta(X, theta, checked=False)).max(axis=0)
            by_parameter |= np.abs(along).max(axis=(0, 1)) > _NO_SLOPE * sizes
        if not (changes or by_parameter.any()):
            raise InvalidInputError(
                f"{name} does not change along {self.space!r} at the rows, whatever its parameters are: its derivative "
                "is zero there. Steps, as those of jnp.floor and jnp.sign, have none."
            )
        if not by_parameter.all():
            entry = self._structure.entry(int(np.argmin(by_parameter)))
            raise InvalidInputError(
                f"The parameter {entry} of {name} changes no density: the derivative of {name} along {self.space!r} "
                "does not depend on it at any row. Leave it out; a normalising constant is not needed."
            )

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self._u.values(X, theta)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.space.tangent_gradient(X, self._u.first(X, theta)[1])

    def log_hessian(self, X: FloatArray, V: FloatArray, theta: FloatArray) -> FloatArray:
        return self._u.second(X, self.space.velocity(X, V), self.space.acceleration(X, V), theta)

    def log_laplacian(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return _contracted(self._u, self._everything, X, 1.0, [], None, theta, by_theta=False)

    def tangent(self, theta: FloatArray) -> Tangent:
        return _ByParameters(self._u, self._everything, theta)

    @property
    def _everything(self) -> _Part:
        return _Part(self.space, slice(0, self.space.embedding_dim), exact=self.space.dim <= _EXACT_DIM)

    def curvature_sum(self, X: FloatArray, weight: FloatArray, theta: FloatArray) -> FloatArray:
        """Σ w ∂² log p/∂θ² over rows with weights (n,) of any sign, shape (p, p)."""
        return self._u.curvature(X, weight, theta)

    def cautions(self, theta: FloatArray, covariance: FloatArray) -> list[str]:
        if self._everything.exact:
            return []
        return [
            f"In dimension {self.space.dim} the Laplacian of {self._u.name} is Hutchinson's estimate, with one fixed "
            "random direction for each row: it adds about half of the rows' own noise, which the errors allow for."
        ]

    def parameters(self, theta: FloatArray) -> Parameters:
        leaves = self._structure.leaves(theta)
        values = {
            name: float(leaf) if np.ndim(leaf) == 0 else leaf
            for name, leaf in zip(self._structure.names, leaves, strict=True)
        }
        return Parameters(**values)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        units = np.eye(theta.size)
        return {name: units[own] for name, own in zip(self._structure.names, self._structure.slices, strict=True)}

    def entry_slice(self, name: str, index: tuple[int, ...], value: float) -> Constraint | None:
        own = self._structure.slices[self._structure.names.index(name)]
        shape = np.shape(self._structure.leaves(self._init_theta)[self._structure.names.index(name)])
        k = own.start + int(np.ravel_multi_index(index, shape) if index else 0)
        units = np.eye(self.size)
        return AffineSubspace(value * units[k], np.delete(units, k, axis=1))

    def presented(self, values: Parameters) -> Any:
        """Estimates, errors or intervals in the form of ``init``; an interval stands as (low, high)."""
        return self._structure.nested([values[name] for name in self._structure.names])

    def natural_parameters(self, **params: Any) -> FloatArray:
        """θ, shape (p,), of parameters in the form of ``init``, as ``params=``; or of each leaf by its name."""
        names = self._structure.names
        if set(params) == {"params"}:
            leaves = self._structure.parts(params["params"])
            if leaves is not None:
                return self._structure.vector(leaves, "params")
            if names != ("params",):
                raise InvalidInputError(
                    f"params must be nested like init, with the leaves {', '.join(names)}; got "
                    f"{short_repr(params['params'])}."
                )
        unknown = [name for name in params if name not in names]
        missing = [name for name in names if name not in params]
        if unknown or missing:
            wrong = f"got {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"
            raise InvalidInputError(
                f"{type(self).__name__} takes its parameters as params=…, in the form of init, or each of "
                f"{', '.join(names)} by name; {wrong}."
            )
        return self._structure.vector([params[name] for name in names], "params")

    def _check_params(self, params: dict[str, Any]) -> FloatArray:
        return self.natural_parameters(**params)

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        raise self._missing(
            f"sampler: of {self._u.name} only the values are known. ScoreMatching, its errors and its tests need none. "
            "The exact likelihood and densities need one where the region has no nodes to integrate on"
        )

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        D = self.space.embedding_dim
        return np.full(D, -np.inf), np.full(D, np.inf)

    def log_normaliser(self, theta: FloatArray) -> float:
        """By integration over the whole manifold, where it is closed and of dimension three at most."""
        if not (self.space.is_closed and has_nodes(Everywhere(self.space))):
            raise self._missing(
                f"normalising constant on {self.space!r}: it is found by integration, on closed manifolds up to "
                "dimension three that have charts. Use ScoreMatching, or TruncatedMLE in a region"
            )
        return integrate_kernel(self.at(theta), Everywhere(self.space)).log_integral


@final
@dataclass(frozen=True)
class _Part:
    """A manifold whose coordinates are in some columns of the points, and whether its Laplacians are exact."""

    manifold: Manifold
    columns: slice
    exact: bool = True

    def wide(self, V: FloatArray, X: FloatArray) -> FloatArray:
        """Vectors of the columns as vectors of all."""
        return V if V.shape == X.shape else padded(V, self.columns, X.shape[1])

    def velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Tangents of the manifold as velocities of the points, (n, D)."""
        return self.wide(self.manifold.velocity(X[:, self.columns], V), X)


def _contracted(
    u: ParametricFunction,
    part: _Part,
    X: FloatArray,
    isotropic: Coefficient,
    directions: Directions,
    flux: FloatArray | None,
    theta: FloatArray,
    *,
    by_theta: bool,
) -> FloatArray:
    """⟨aP + Σ c uuᵀ, Hess log p⟩ + ⟨∇ log p, flux⟩, shape (n,), or its derivative by θ, (n, p)."""
    if not part.exact:
        return _estimated(u, part, X, isotropic, directions, flux, theta, by_theta=by_theta)
    evaluate = u.contracted_by_theta if by_theta else u.contracted
    size = max(1, _TENSOR_NUMBERS // X.shape[1] ** 2)
    found = []
    for start in range(0, max(len(X), 1), size):
        piece = slice(start, start + size)
        a = isotropic[piece] if isinstance(isotropic, np.ndarray) else isotropic
        own = X[piece]
        W, w = plain_tensor(part.manifold, part.columns, own, a, [(v[piece], c[piece]) for v, c in directions])
        if flux is not None:
            w = w + part.velocity(own, flux[piece])
        found.append(evaluate(own, W, w, theta))
    return found[0] if len(found) == 1 else np.concatenate(found)


def _estimated(
    u: ParametricFunction,
    part: _Part,
    X: FloatArray,
    isotropic: Coefficient,
    directions: Directions,
    flux: FloatArray | None,
    theta: FloatArray,
    *,
    by_theta: bool,
) -> FloatArray:
    """The same with ⟨P, D²u⟩ by Hutchinson's estimate D²u(Pz, Pz), z of random signs that belong to the row."""
    evaluate = u.second_by_theta if by_theta else u.second
    manifold = part.manifold
    a = np.broadcast_to(np.asarray(isotropic, dtype=np.float64), len(X))
    w = np.zeros_like(X) if flux is None else manifold.velocity(X, flux)
    for v, c in directions:
        w = w + manifold.acceleration(X, v) * c[:, None]
    total: FloatArray | float = 0.0
    if a.any():
        w = w + manifold.coordinate_laplacian(X) * a[:, None]
        probe = manifold.velocity(X, manifold.project_tangent(X, _row_signs(X)))
        # a D²u(v, v) is D²u along v √|a|, with the sign of a.
        sign = np.where(a < 0.0, -1.0, 1.0)
        bend = evaluate(X, probe * np.sqrt(np.abs(a))[:, None], w * sign[:, None], theta)
        total = (bend.T * sign).T
    else:
        total = evaluate(X, np.zeros_like(X), w, theta)
    for v, c in directions:
        bend = evaluate(X, manifold.velocity(X, v), np.zeros_like(X), theta)
        total = total + (bend.T * c).T
    return np.asarray(total)


def _row_signs(X: FloatArray) -> FloatArray:
    """Random signs (n, D) that depend on the row alone, so that they are the same in every pass and every resample."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    seed = _mixed((_mixed(bits) * odd).sum(axis=1, dtype=np.uint64))
    signs: FloatArray = 1.0 - 2.0 * (_mixed(seed[:, None] + odd) >> np.uint64(63)).astype(np.float64)
    return signs


def _mixed(z: Any) -> Any:
    """The last step of the generator SplitMix64 (Steele, Lea and Flood 2014): every bit depends on all."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@final
@dataclass(frozen=True)
class _ByParameters(Tangent):
    """s = ∂ log p/∂θ at one θ."""

    u: ParametricFunction
    part: _Part
    theta: FloatArray

    def statistics(self, X: FloatArray) -> FloatArray:
        return self.u.by_theta(X, self.theta)

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.u.slope_by_theta(X, self.part.velocity(X, V), self.theta)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return _contracted(self.u, self.part, X, isotropic, directions, None, self.theta, by_theta=True)

    def residual_rows(
        self, X: FloatArray, isotropic: Coefficient, directions: Directions, flux: FloatArray
    ) -> FloatArray:
        return _contracted(self.u, self.part, X, isotropic, directions, flux, self.theta, by_theta=True)

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        return _InColumns(self.u, _Part(manifold.factors[k], manifold.columns[k]), self.theta)

    def in_columns(self, manifold: Manifold, columns: slice) -> FactorTangent:
        return _InColumns(self.u, _Part(manifold.within(columns), columns), self.theta)

    @property
    def has_matching_sums(self) -> bool:
        return self.part.exact

    def matching_sums(
        self, X: FloatArray, W: FloatArray, omega: FloatArray, weight: FloatArray, slope: bool
    ) -> tuple[float, FloatArray, FloatArray | None]:
        return self.u.matching(X, W, omega, weight, self.theta, slope)


@final
@dataclass(frozen=True)
class _InColumns(FactorTangent):
    """The same functions, as functions of one factor of a product."""

    u: ParametricFunction
    part: _Part
    theta: FloatArray

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.u.slope_by_theta(X, self.part.velocity(X, V), self.theta)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        frame = self.part.manifold.tangent_frame(X[:, self.part.columns])
        return np.asarray(sum(weighted_gram(self.gradient_dot(X, v), weight) for v in frame))

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return _contracted(self.u, self.part, X, isotropic, directions, None, self.theta, by_theta=True)

    def residual_rows(
        self, X: FloatArray, isotropic: Coefficient, directions: Directions, flux: FloatArray
    ) -> FloatArray:
        return _contracted(self.u, self.part, X, isotropic, directions, flux, self.theta, by_theta=True)


class _Text(str):
    """A text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _short(leaf: Any) -> _Text:
    """A leaf of the parameters in a line."""
    return _Text(repr(np.asarray(leaf).tolist()) if np.size(leaf) <= _REPR_ENTRIES else f"<array {np.shape(leaf)}>")
