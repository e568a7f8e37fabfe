"""Level sets: the points at which functions that a user gives are zero, such as an ellipsoid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms, safe_inverse
from tmsm.foundation.autodiff import PointFunction, function_name
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_count
from tmsm.manifolds.base import Manifold

__all__ = ["LevelSet"]

# Of the size of the coordinates: rows may be off by rounding in float32 or by six printed digits, not more.
_TOLERANCE = 1e-6
_ROUNDING = 1e-14
# Newton's method doubles the digits in each step.
_STEPS = 50
# The rows of a Jacobian whose smallest singular value is such a share of the largest are parallel.
_SINGULAR = 1e-10


@final
@dataclass(frozen=True, eq=False, repr=False)
class LevelSet(Manifold):
    """The set of points of R^D at which f is zero, for any smooth f that JAX can trace.

    Lengths and angles are those of R^D.  Score matching needs no more than f; there are no geodesics, no charts and no
    uniform draws.

    Parameters
    ----------
    f
        A function of one point, shape (D,), that returns one number, or (c,) for c constraints at once: the dimension
        of the manifold is D − c.  Write it with `jax.numpy`, and its constants as plain numbers or NumPy arrays.
    ambient_dim
        Number D of coordinates.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> def ellipsoid(x):
    ...     return (x[0] / 2.0) ** 2 + x[1] ** 2 + x[2] ** 2 - 1.0
    >>> surface = tmsm.LevelSet(ellipsoid, 3)
    >>> surface.dim, surface
    (2, LevelSet(f=<function ellipsoid>, ambient_dim=3))
    >>> surface.contains(np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    array([ True, False])

    Notes
    -----
    With the Jacobian J of f and J⁺ = Jᵀ(JJᵀ)⁻¹ the tangent projector is P = I − J⁺J, and the second fundamental form
    is II(u, v) = −J⁺ D²f(u, v).
    """

    f: Callable[..., Any]
    ambient_dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ambient_dim", check_count(self.ambient_dim, "ambient_dim", at_least=2))
        shape = self._function.shape(self.ambient_dim)
        if self.n_constraints >= self.ambient_dim:
            raise InvalidInputError(
                f"{self._function.name} must have fewer entries than a point has coordinates, {self.ambient_dim}; it "
                f"returns shape {shape}, and a set of single points is left."
            )

    def __repr__(self) -> str:
        return f"LevelSet(f=<function {getattr(self.f, '__name__', 'f')}>, ambient_dim={self.ambient_dim})"

    @cached_property
    def _function(self) -> PointFunction:
        return PointFunction(self.f, function_name(self.f, "f"))

    _TRANSIENT = frozenset({"_shelf", "_function", "_last"})

    @property
    def n_constraints(self) -> int:
        """Number c of functions that are zero."""
        return int(np.prod(self._function.shape(self.ambient_dim)))

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Dimension D − c."""
        return self.ambient_dim - self.n_constraints

    @property
    def embedding_dim(self) -> int:
        return self.ambient_dim

    def _inverse(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """J and J⁺, shapes (n, c, D) and (n, D, c); an error where J is singular."""
        # The rows of a block are asked for again and again; to compare them takes a tenth of the time.
        last: tuple[FloatArray, FloatArray, FloatArray] | None = self.__dict__.get("_last")
        if last is not None and np.array_equal(last[0], X):
            return last[1:]
        J = self._function.jacobian(X)
        inverse, singular = _pseudo_inverse(J)
        if singular.any():
            first = int(np.argmax(singular))
            raise InvalidInputError(
                f"The level set of {self._function.name} is singular at {int(np.count_nonzero(singular))} of {len(X)} "
                f"rows (first: row {first}, the point {X[first].tolist()}): the derivatives of its functions "
                f"({self.n_constraints}) are zero or parallel there, so it has no tangent space."
            )
        self.__dict__["_last"] = X.copy(order="K"), J, inverse
        return J, inverse

    def _off(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The Newton step J⁺f, shape (n, D), and how far off rows are over the size of their coordinates, (n,)."""
        values, J = self._function.first(X)
        inverse, singular = _pseudo_inverse(J)
        step = _times(inverse, values)
        off = row_norms(step) / np.maximum(row_norms(X), 1e-300)
        off[singular] = np.inf
        return step, off

    def contains(self, X: FloatArray) -> BoolArray:
        on: BoolArray = np.asarray(np.isfinite(X).all(axis=1))
        if on.any():
            at_zero = np.zeros(len(X), dtype=bool)
            rows = X[on]
            # At a singular point of the set f is zero, and the step is not known.
            _, off = self._off(rows)
            singular = np.isinf(off)
            at_zero[on] = np.where(singular, np.abs(self._function.values(rows)).max(axis=1) == 0.0, off <= _TOLERANCE)
            on &= at_zero
        return on

    def settle(self, X: FloatArray) -> tuple[bool, bool]:
        if not np.isfinite(X).all():
            return False, False
        step, off = self._off(X)
        if not (off <= _TOLERANCE).all():
            return bool(self.contains(X).all()), False
        moved = off.max(initial=0.0) > _ROUNDING
        if moved:
            X -= step
            X -= self._off(X)[0]
        return True, bool(moved)

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        off = np.where(bad, row_norms(self._off(X)[0]), -1.0)
        worst = int(np.argmax(off))
        value = np.abs(self._function.values(X[worst][None, :])).max()
        return (
            f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows off the level set of {self._function.name} "
            f"(worst: row {worst}, about {off[worst]:.3g} from it; its value there is {value:.3g} in size). "
            f"Check the units and the order of the columns, or move rows onto it with "
            f"LevelSet({self._function.name}, {self.ambient_dim}).nearest(rows)."
        )

    def nearest(self, X: FloatArray) -> FloatArray:
        """Points of the set next to rows of R^D, by Newton steps x − J⁺f; an error where they do not arrive.

        Parameters
        ----------
        X
            Rows, shape (n, D).
        """
        Y, arrived = self._arrived(np.array(X, dtype=np.float64))
        if not arrived.all():
            first = int(np.argmin(arrived))
            raise EstimationError(
                f"Newton steps from {int(np.count_nonzero(~arrived))} of {len(X)} rows do not arrive at the level set "
                f"of {self._function.name} (first: row {first}, the point {np.asarray(X)[first].tolist()})."
            )
        return Y

    def _arrived(self, Y: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Where Newton steps from rows end, and which of them are on the set."""
        for _ in range(_STEPS):
            step, off = self._off(Y)
            going = np.isfinite(off) & (off > 4.0 * np.finfo(float).eps)
            if not going.any():
                break
            # A step that is longer than the coordinates are large says little of where the set is.
            Y[going] -= step[going] / np.maximum(1.0, off[going])[:, None]
            if off[going].max() < 1e-9:
                break
        return Y, np.asarray(self._off(Y)[1] <= 16.0 * _ROUNDING)

    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        J, inverse = self._inverse(X)
        return V - _times(inverse, _times(J, V))

    def tangent_map(self, X: FloatArray) -> FloatArray:
        J, inverse = self._inverse(X)
        P: FloatArray = np.eye(self.ambient_dim) - np.einsum("ndc,nce->nde", inverse, J)
        return P

    def tangent_frame(self, X: FloatArray) -> list[FloatArray]:
        # The last columns of Q in Jᵀ = QR are orthogonal to the rows of J.
        J, _ = self._inverse(X)
        Q = np.linalg.qr(J.transpose(0, 2, 1), mode="complete")[0]
        return list(np.moveaxis(Q[:, :, self.n_constraints :], 2, 0))

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        _, inverse = self._inverse(X)
        return -_times(inverse, self._function.second(X, V))

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        _, inverse = self._inverse(X)
        return -_times(inverse, self._function.contracted(X, self.tangent_map(X)))

    def second_form(self, X: FloatArray, G: FloatArray, V: FloatArray) -> FloatArray:
        J, inverse = self._inverse(X)
        along = np.einsum("nd,ndc->nc", G, inverse)
        bent: FloatArray = -np.einsum("nc,ncd->nd", along, self._function.bent(X, V))
        return bent - _times(inverse, _times(J, bent))

    def retract(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """X + V moved onto the set along the normals, which agrees with geodesics to second order."""
        return self.nearest(X + V)

    @property
    def has_quarter_turn(self) -> bool:
        return self.ambient_dim == 3 and self.n_constraints == 1

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        if not self.has_quarter_turn:
            return super().quarter_turn(X, V)
        normal = self._inverse(X)[0][:, 0]
        return np.cross(normal * safe_inverse(row_norms(normal))[:, None], V)

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        raise InvalidInputError(f"{self!r} does not know the length of its shortest paths.")

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        raise InvalidInputError(f"There is no uniform distribution on {self!r} to draw from: its area is not known.")

    def scattered(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Normal draws moved onto the set by Newton steps; those that do not arrive are left out."""
        found = np.empty((0, self.ambient_dim))
        for scale in (1.0, 1.0, 3.0, 0.3, 10.0, 1.0):
            draws = scale * rng.standard_normal((2 * n + 16, self.ambient_dim))
            with np.errstate(all="ignore"):
                points, arrived = self._arrived(draws)
            found = np.vstack([found, points[arrived]])[:n]
            if len(found) == n:
                return found
        raise EstimationError(
            f"Newton steps from normal draws do not arrive at the level set of {self._function.name}: it may be empty, "
            "or far from the origin. Shift and scale the coordinates."
        )


def _times(matrices: FloatArray, rows: FloatArray) -> FloatArray:
    """Matrices (n, a, b) times rows (n, b), shape (n, a)."""
    product: FloatArray = np.einsum("nab,nb->na", matrices, rows)
    return product


def _pseudo_inverse(J: FloatArray) -> tuple[FloatArray, BoolArray]:
    """J⁺ = Jᵀ(JJᵀ)⁻¹, shape (n, D, c), and in which rows it does not exist."""
    squared = np.einsum("ncd,ncd->nc", J, J)
    unit = safe_inverse(np.sqrt(squared))
    singular = np.asarray((squared <= 0.0).any(axis=1))
    if J.shape[1] == 1:
        return (J * (unit**2 * ~singular[:, None])[:, :, None]).transpose(0, 2, 1), singular
    # In units of the rows: functions of other scales are as good.
    rows = J * (unit * ~singular[:, None])[:, :, None]
    gram = rows @ rows.transpose(0, 2, 1)
    singular |= np.linalg.eigvalsh(gram)[:, 0] <= _SINGULAR**2 + 1e-15
    gram[singular] = np.eye(J.shape[1])
    inverse = np.linalg.solve(gram, rows).transpose(0, 2, 1) * unit[:, None, :]
    inverse[singular] = 0.0
    return inverse, singular
