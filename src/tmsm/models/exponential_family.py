"""An exponential family from its statistics alone, on any manifold: derivatives by JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, padded, row_norms, weighted_gram
from tmsm.foundation.autodiff import PointFunction, function_name
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds import Manifold
from tmsm.manifolds.same_points import check_unique
from tmsm.measure.integrals import integrate_kernel, plan_nodes
from tmsm.measure.nodes import has_nodes
from tmsm.models.base import FactorTangent, LinearModel
from tmsm.models.constraints import minimise_over
from tmsm.models.extrinsic import plain_tensor
from tmsm.models.parameters import Field, Parameters
from tmsm.models.tangents import Coefficient, Directions
from tmsm.regions import Everywhere

__all__ = ["ExponentialFamily"]

# At so many rows a statistic is looked at whose slope along the manifold is no more than such a share of its slope.
_TRIED_ROWS, _NO_SLOPE = 256, 1e-12


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExponentialFamily(LinearModel):
    """The densities p(x) ∝ exp(θ·t(x)) on a manifold, for any smooth statistics t that JAX can trace.

    t is a function of the coordinates of one point.  Nothing depends on its values off the manifold.

    Parameters
    ----------
    t
        A function of one point, shape (D,), that returns (p,) statistics, or one number.  Write it with `jax.numpy`,
        and its constants as plain numbers or NumPy arrays.  No statistic, and no sum of some, may be constant.
    manifold
        Where the points live.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, tmsm
    >>> def statistics(x):
    ...     return jnp.stack([x[0], x[1], x[2], x[0] * x[1]])
    >>> model = tmsm.ExponentialFamily(statistics, tmsm.Sphere(2))
    >>> cap = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> X = tmsm.VonMisesFisher().sample(
    ...     2000, cap, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=3.0
    ... )
    >>> fit = tmsm.ScoreMatching(model, cap).fit(X)
    >>> fit.params_.coefficients.shape
    (4,)

    Notes
    -----
    With plain derivatives D in the embedding coordinates, Hess t(v, v) = D²t(v, v) + Dt·II(v, v), where II is the
    second fundamental form, so that ⟨W, Hess t⟩ = ⟨W, D²t⟩ + Dt·⟨W, II⟩.
    """

    function: Callable[..., Any]
    space: Manifold

    fields = (Field("coefficients"),)
    _TRANSIENT = frozenset({"_shelf", "_known_constraint", "_t", "_whole"})

    def __init__(self, t: Callable[..., Any], manifold: Manifold) -> None:
        if not isinstance(manifold, Manifold):
            raise InvalidTypeError(
                f"ExponentialFamily needs a manifold, such as Sphere(2); got {type(manifold).__name__}."
            )
        object.__setattr__(self, "function", t)
        object.__setattr__(self, "space", manifold)
        object.__setattr__(self, "_manifold", manifold)
        self._t.shape(manifold.embedding_dim)
        check_unique(self._t, manifold)

    def __repr__(self) -> str:
        return f"ExponentialFamily(t=<function {getattr(self.function, '__name__', 't')}>, manifold={self.space!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"t": self.function, "manifold": self.space}

    @property
    def home(self) -> Manifold:  # type: ignore[override]
        """The manifold that it was made for."""
        return self.space

    @cached_property
    def _t(self) -> PointFunction:
        return PointFunction(self.function, function_name(self.function, "t"))

    @cached_property
    def _whole(self) -> _Within:
        return _Within(self._t, self.space, slice(0, self.space.embedding_dim))

    @property
    def size(self) -> int:
        return int(np.prod(self._t.shape(self.space.embedding_dim)))

    def check_spread(self, X: FloatArray) -> None:
        self._t.values(X)  # says where they are not finite: derivatives alone may be, as those of a logarithm
        some = X[:: -(-len(X) // _TRIED_ROWS)]
        plain = self._t.jacobian(some)
        for k in range(plain.shape[1]):
            G = np.ascontiguousarray(plain[:, k])
            size = float(row_norms(G).max())
            if float(row_norms(self.space.tangent_gradient(some, G)).max()) <= _NO_SLOPE * size:
                raise InvalidInputError(
                    f"Statistic {k} of {self._t.name} is constant on {self.space!r}: its coefficient changes no "
                    "density. Leave it out."
                )

    def statistics(self, X: FloatArray) -> FloatArray:
        return self._t.values(X)

    def gradient(self, X: FloatArray) -> FloatArray:
        return np.swapaxes(self._t.slopes(X, self.space.tangent_map(X)), 1, 2)

    def laplacian(self, X: FloatArray) -> FloatArray:
        return self._whole.weighted_hessian(X, 1.0, [])

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._t.second(X, self.space.velocity(X, V), self.space.acceleration(X, V))

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._whole.gradient_dot(X, V)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.space.tangent_gradient(X, self._t.pulled(X, theta))

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return self._whole.gradient_gram(X, weight)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self._whole.weighted_hessian(X, isotropic, directions)

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        return _Within(self._t, manifold.factors[k], manifold.columns[k])

    def in_columns(self, manifold: Manifold, columns: slice) -> FactorTangent:
        return _Within(self._t, manifold.within(columns), columns)

    def parameters(self, theta: FloatArray) -> Parameters:
        return Parameters(coefficients=theta)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        return {"coefficients": np.eye(theta.size)}

    def natural_parameters(self, *, coefficients: Any) -> FloatArray:  # type: ignore[override]
        """θ, shape (p,): the coefficients themselves."""
        theta = np.atleast_1d(as_float_array(coefficients, "coefficients"))
        if theta.shape != (self.size,):
            raise InvalidInputError(
                f"coefficients must have one entry for each of the {self.size} statistics of {self._t.name}; got shape "
                f"{theta.shape}."
            )
        if not np.isfinite(theta).all():
            raise InvalidInputError("coefficients must be finite; there are NaN or infinite entries.")
        return theta

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        raise self._missing(
            f"sampler: of {self._t.name} only the statistics are known. ScoreMatching, its errors and its tests need "
            "none. The exact likelihood and densities need one where the region has no nodes to integrate on"
        )

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        D = self.space.embedding_dim
        return np.full(D, -np.inf), np.full(D, np.inf)

    def _check_integrable(self) -> None:
        if not (self.space.is_closed and has_nodes(Everywhere(self.space))):
            raise self._missing(
                f"normalising constant on {self.space!r}: it is found by integration, on closed manifolds up to "
                "dimension three that have charts. Use ScoreMatching, or TruncatedMLE in a region"
            )

    def log_normaliser(self, theta: FloatArray) -> float:
        """By integration over the whole manifold, where it is closed and of dimension three at most."""
        self._check_integrable()
        return integrate_kernel(self.at(theta), Everywhere(self.space)).log_integral

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._cumulants(theta)[1:]

    def _cumulants(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log of the integral, and mean (p,) and covariance (p, p) of t."""
        self._check_integrable()
        nodes = plan_nodes(self.at(theta), Everywhere(self.space)).affordable.nodes()
        t = self.statistics(nodes.X)
        exponents = t @ theta + nodes.log_weights
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        mean: FloatArray = weights @ t / total
        return top + float(np.log(total)), mean, weighted_gram(t - mean, weights / total)

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        """θ of the largest likelihood on the whole manifold, by Newton's method with integrals by quadrature."""

        def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            log_integral, expected, covariance = self._cumulants(theta)
            return log_integral - float(theta @ mean), expected - mean, covariance

        best = minimise_over(self.constraint, objective, [np.zeros(self.size)])
        if best is None:
            raise EstimationError(
                f"The likelihood has no maximum that could be found: the rows are too few for the {self.size} "
                f"statistics of {self._t.name}, or a sum of some of them is constant."
            )
        return best.minimum.point.theta


@final
@dataclass(frozen=True)
class _Within(FactorTangent):
    """Statistics as functions of the coordinates in some columns, which are those of a manifold."""

    t: PointFunction
    manifold: Manifold
    columns: slice

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.t.slope(X, self._wide(self.manifold.velocity(X[:, self.columns], V), X))

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        T = self.manifold.tangent_map(X[:, self.columns])
        rows = np.zeros((len(X), T.shape[1], X.shape[1]))
        rows[:, :, self.columns] = T
        slopes = self.t.slopes(X, rows)
        total = np.zeros((slopes.shape[2], slopes.shape[2]))
        for j in range(slopes.shape[1]):
            total += weighted_gram(slopes[:, j], weight)
        return total

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self.t.contracted(X, *plain_tensor(self.manifold, self.columns, X, isotropic, directions))

    def _wide(self, V: FloatArray, X: FloatArray) -> FloatArray:
        return V if V.shape == X.shape else padded(V, self.columns, X.shape[1])
