"""A cluster with heavy tails on the sphere S^(D−1): p(x) ∝ (1 + 2κ(1 − μ·x)/ν)^−(ν/2 + 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_dots
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_concentration, check_number, check_unit_vector
from tmsm.manifolds import Manifold, Sphere
from tmsm.models.constraints import AffineSubspace, Constraint, FixedNorm, HalfLine
from tmsm.models.nonlinear import NonlinearModel, parameter_sizes
from tmsm.models.orthants import Orthant
from tmsm.models.parameters import Field, Parameters
from tmsm.models.product_sets import ProductConstraint
from tmsm.models.readings import Reading, length_reading
from tmsm.models.spherical import placed_round
from tmsm.models.tangents import Coefficient, Directions, Tangent

__all__ = ["HeavyTailed"]

# 1/ν below it is that of a von Mises–Fisher density: no number of rows would show the difference.
_NO_TAIL = 1e-7
# Fewer degrees of freedom hardly differ from each other: far out the density falls like a power ν + 2 of the distance.
_FEWEST = 0.1
# Searches begin with such multiples of the concentration that the rows' spread suggests, and these degrees of freedom.
_START_FACTORS, _START_DEGREES = (0.3, 2.0), (3.0, 20.0)
# Below it log(1 + z) is better known by its series.
_SMALL = 0.05
_TERMS = 14
# What integrals along the radius leave out at either end: e^−40 of the mass.
_LEFT_OUT = 40.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class HeavyTailed(NonlinearModel):
    """A cluster with heavy tails on the sphere, any dimension: the analogue of Student's t distribution.

    p(x) ∝ (1 + 2κ(1 − μ·x)/ν)^−(ν/2 + 1). Near its centre it is like a von Mises–Fisher density. Far from it the
    density falls like a power of the distance. For ν → ∞ it is von Mises–Fisher.

    Parameters
    ----------
    degrees_of_freedom
        ν if it is known; infinity gives von Mises–Fisher. None, the default: it is estimated.

    Notes
    -----
    θ = (κμ, 1/ν). At 1/ν = 0 the family is von Mises–Fisher, which is the estimate if the rows have no heavier tail.
    The log density is not linear in θ, so that the estimate needs a search.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.HeavyTailed(), tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> truth = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 20.0, "degrees_of_freedom": 3.0}
    >>> X = model.sample(2000, region, random_state=0, **truth)
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> fit.covers(truth["mean_direction"])
    True
    """

    degrees_of_freedom: float | None = None

    home = Sphere
    fields = (
        Field("mean_direction", "direction", is_centre=True),
        Field("concentration", lowest=0.0),
        Field("degrees_of_freedom", lowest=0.0),
    )

    def __post_init__(self) -> None:
        if self.degrees_of_freedom is not None:
            known = _check_degrees(self.degrees_of_freedom)
            object.__setattr__(self, "degrees_of_freedom", known)

    @property
    def size(self) -> int:
        return self.embedding_dim + 1

    def usual_manifold(self, n_columns: int) -> Manifold:
        if n_columns < 2:
            raise InvalidInputError("Points of a sphere have at least two coordinates; X has one column.")
        return Sphere(n_columns - 1)

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "a sphere", ""

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return _Radial.of(X, theta).value

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        at = _Radial.of(X, theta)
        return at.fall[:, None] * at.across(X)

    def log_hessian(self, X: FloatArray, V: FloatArray, theta: FloatArray) -> FloatArray:
        at = _Radial.of(X, theta)
        bend: FloatArray = at.bend * (V @ at.xi) ** 2 - at.fall * at.along * row_dots(V, V)
        return bend

    def log_laplacian(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        at = _Radial.of(X, theta)
        across = at.across(X)
        laplacian: FloatArray = at.bend * row_dots(across, across) - at.fall * at.along * (X.shape[1] - 1.0)
        return laplacian

    def tangent(self, theta: FloatArray) -> Tangent:
        return _HeavyTangent(theta)

    def curvature_sum(self, X: FloatArray, weight: FloatArray, theta: FloatArray) -> FloatArray:
        at = _Radial.of(X, theta)
        D = X.shape[1]
        away = at.mean_direction - X
        out = np.empty((D + 1, D + 1))
        out[:D, :D] = away.T @ ((weight * at.bend)[:, None] * away)
        if at.kappa > 0.0:
            # ∂²δ/∂ξ² = (I − μμᵀ)/κ
            turn = np.eye(D) - np.outer(at.mean_direction, at.mean_direction)
            out[:D, :D] -= float(weight @ at.fall) / at.kappa * turn
        out[:D, D] = out[D, :D] = (weight * at.mixed) @ away
        out[D, D] = float(weight @ at.tail_bend)
        return out

    def parameter_sizes(self, theta: FloatArray) -> FloatArray:
        """1/ν has a size of its own, whatever κ is."""
        xi = theta[:-1]
        return np.append(parameter_sizes(xi), max(abs(float(theta[-1])), 0.01))

    def make_constraint(self) -> Constraint:
        D = self.embedding_dim
        return self._with_tail(np.zeros(D), np.eye(D), ())

    def _with_tail(self, offset: FloatArray, basis: FloatArray, bounded: tuple[int, ...]) -> Constraint:
        """All θ = (offset + basis φ, 1/ν), 1/ν what is known or not negative, and some φ not negative."""
        D, k = basis.shape
        widened = np.zeros((D + 1, k + 1))
        widened[:D, :k], widened[D, k] = basis, 1.0
        known = self._known_tail
        if known is not None:
            fixed = np.append(offset, known)
            return Orthant(fixed, widened[:, :k], bounded) if bounded else AffineSubspace(fixed, widened[:, :k])
        return Orthant(np.append(offset, 0.0), widened, (*bounded, k))

    @property
    def _known_tail(self) -> float | None:
        return None if self.degrees_of_freedom is None else 1.0 / self.degrees_of_freedom

    def slice(self, name: str, value: Any) -> Constraint | None:
        D = self.embedding_dim
        if name == "mean_direction":
            return self._with_tail(np.zeros(D), np.asarray(value, dtype=np.float64)[:, None], (0,))
        if name == "concentration":
            if value <= 0.0:
                return self._with_tail(np.zeros(D), np.zeros((D, 0)), ())
            tail: Constraint = HalfLine(np.zeros(1), np.ones(1))
            if self._known_tail is not None:
                tail = AffineSubspace(np.array([self._known_tail]), np.zeros((1, 0)))
            return ProductConstraint((FixedNorm(float(value), D), tail), (D, 1))
        if self.degrees_of_freedom is not None:
            return None
        return _of_tail(1.0 / max(float(value), _FEWEST), D) if value > 0.0 else None

    def starts(self, X: FloatArray) -> list[FloatArray]:
        mean = X.mean(axis=0)
        length = float(np.linalg.norm(mean))
        direction = mean / length if length > 1e-12 else np.eye(mean.size)[0]
        # 1 − |mean| is the mean of 1 − μ·x, about (D − 1)/2κ: the rows of a part of the cluster are closer together.
        kappa = min(0.5 * (mean.size - 1.0) / max(1.0 - length, 1e-9), 1e9)
        return self.starts_near(np.array(_START_FACTORS)[:, None] * kappa * direction)

    def starts_near(self, natural: FloatArray) -> list[FloatArray]:
        """Where to begin if von Mises–Fisher densities with these κμ, shape (k, D), are near."""
        known = self._known_tail
        tails = [1.0 / nu for nu in _START_DEGREES] if known is None else [known]
        return [np.append(xi, tail) for xi in natural for tail in tails]

    def suits(self, theta: FloatArray, X: FloatArray) -> bool:
        """Not a tail so heavy that it is no cluster, and not sharper than rows in double precision can show."""
        return bool(theta[-1] <= 1.0 / _FEWEST * (1.0 + 1e-9) and np.linalg.norm(theta[:-1]) < 1e10)

    def parameters(self, theta: FloatArray) -> Parameters:
        kappa, tail = float(np.linalg.norm(theta[:-1])), float(theta[-1])
        if kappa == 0.0:
            raise EstimationError(
                "The estimated concentration is zero, so there is no mean direction: "
                "the data look uniform to this model."
            )
        nu = self.degrees_of_freedom
        if nu is None:
            nu = np.inf if tail < _NO_TAIL else 1.0 / tail
        return Parameters(mean_direction=theta[:-1] / kappa, concentration=kappa, degrees_of_freedom=nu)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        D = theta.size - 1
        kappa, tail = float(np.linalg.norm(theta[:-1])), float(theta[-1])
        mu = theta[:-1] / kappa
        turn, grow, nu = np.zeros((D, D + 1)), np.zeros((1, D + 1)), np.zeros((1, D + 1))
        turn[:, :D] = (np.eye(D) - np.outer(mu, mu)) / kappa
        grow[0, :D] = mu
        if self.degrees_of_freedom is None:
            nu[0, D] = -1.0 / tail**2 if tail >= _NO_TAIL else np.nan  # of an infinite number no error is known
        return {"mean_direction": turn, "concentration": grow, "degrees_of_freedom": nu}

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        # Next to the centre log p falls like κ (1 + 2/ν) s²/2.
        kappa, nu = params.concentration, params.degrees_of_freedom
        slopes = {"concentration": 1.0 + 2.0 / nu}
        if np.isfinite(nu):
            slopes["degrees_of_freedom"] = -2.0 * kappa / nu**2
        return (length_reading("spread (1σ)", kappa * (1.0 + 2.0 / nu), slopes),)

    def cautions(self, theta: FloatArray, covariance: FloatArray) -> list[str]:
        if self.degrees_of_freedom is not None:
            return []
        tail, error = float(theta[-1]), math.sqrt(max(float(covariance[-1, -1]), 0.0))
        if tail < _NO_TAIL:
            return [
                "The rows show no heavier tail than a von Mises–Fisher density has: the degrees of freedom are "
                "infinite, and the other estimates are those of VonMisesFisher."
            ]
        if tail <= min(1.96 * error, 1.0):
            return [
                f"The rows hardly distinguish {1.0 / tail:.3g} degrees of freedom from infinitely many, a von "
                "Mises–Fisher density."
            ]
        return []

    def natural_parameters(  # type: ignore[override]
        self, *, mean_direction: ArrayLike, concentration: float | None = None, degrees_of_freedom: float | None = None
    ) -> FloatArray:
        mu, kappa, nu = self._checked(mean_direction, concentration, degrees_of_freedom)
        return np.append(kappa * mu, 1.0 / nu)

    def _checked(
        self, mean_direction: ArrayLike, concentration: float | None, degrees_of_freedom: float | None
    ) -> tuple[FloatArray, float, float]:
        mu = check_unit_vector(mean_direction, "mean_direction")
        if concentration is None:
            raise InvalidInputError("concentration must be given: this model does not know it.")
        kappa = check_concentration(concentration, at_least=0.0)
        nu = self._known_or("degrees_of_freedom", degrees_of_freedom)
        return mu, kappa, _check_degrees(nu)

    def log_normaliser(self, theta: FloatArray) -> float:
        kappa, tail = float(np.linalg.norm(theta[:-1])), float(theta[-1])
        D = theta.size - 1
        if D == 3:
            if kappa < 1e-8:  # ∫ p = 4π (1 − (1 + 2/ν) κ + …)
                return math.log(4.0 * math.pi) - (1.0 + 2.0 * tail) * kappa
            # (2π/κ) (1 − (1 + 4κ/ν)^(−ν/2))
            fallen = _half_log(2.0 * kappa, tail)
            return math.log(2.0 * math.pi / kappa) + math.log(-math.expm1(-fallen))
        s, exponents = _along_radius(kappa, tail, D)
        top = float(exponents.max())
        log_area = math.log(2.0) + 0.5 * (D - 1.0) * math.log(math.pi) - math.lgamma(0.5 * (D - 1.0))
        return log_area + top + math.log(float(np.exp(exponents - top).sum()) * (s[1] - s[0]))

    def draw(  # type: ignore[override]
        self,
        n: int,
        rng: np.random.Generator,
        *,
        mean_direction: ArrayLike,
        concentration: float | None = None,
        degrees_of_freedom: float | None = None,
    ) -> FloatArray:
        mu, kappa, nu = self._checked(mean_direction, concentration, degrees_of_freedom)
        return placed_round(mu, _draw_deficit(n, kappa, 1.0 / nu, mu.size, rng), rng)


def _check_degrees(value: Any) -> float:
    """Degrees of freedom that make a cluster; infinity is von Mises–Fisher."""
    if isinstance(value, float) and value == np.inf:
        return value
    hint = "Use VonMisesFisher, or infinity, for no tail."
    return check_number(value, "degrees_of_freedom", at_least=_FEWEST, hint=hint)


def _of_tail(tail: float, D: int) -> Constraint:
    """All θ with a given 1/ν."""
    offset = np.zeros(D + 1)
    offset[D] = tail
    return AffineSubspace(offset, np.eye(D + 1)[:, :D])


@final
@dataclass(frozen=True)
class _Radial:
    """The log density as a function of δ = κ(1 − μ·x) and η = 1/ν, with its derivatives, all of shape (n,).

    u = −(1/2η + 1) log(1 + 2ηδ).  Where a search looks beyond η = 0 it goes on as the parabola in η that has the same
    value and derivatives there, −δ + η(δ² − 2δ) + η²(2δ² − 4δ³/3).

    Attributes
    ----------
    xi, kappa, mean_direction
        κμ, κ and μ; μ is zero where κ is.
    along
        κμ·x.
    value, tail_slope, tail_bend
        u, ∂u/∂η, ∂²u/∂η².
    fall, bend, third
        −∂u/∂δ, ∂²u/∂δ², ∂³u/∂δ³.
    mixed, mixed_bend
        ∂²u/∂δ∂η, ∂³u/∂δ²∂η.
    """

    xi: FloatArray
    kappa: float
    mean_direction: FloatArray
    along: FloatArray
    delta: FloatArray
    eta: float

    @classmethod
    def of(cls, X: FloatArray, theta: FloatArray) -> _Radial:
        """At rows X (n, D)."""
        xi = theta[:-1]
        kappa = float(np.linalg.norm(xi))
        mu = xi / kappa if kappa > 0.0 else np.zeros_like(xi)
        # κ (1 − μ·x) = κ ‖x − μ‖²/2 keeps its digits at high concentration.
        away = X - mu
        delta = 0.5 * kappa * row_dots(away, away)
        return cls(xi, kappa, mu, X @ xi, delta, float(theta[-1]))

    def across(self, X: FloatArray) -> FloatArray:
        """The tangent part of κμ, shape (n, D)."""
        across: FloatArray = self.xi - X * self.along[:, None]
        return across

    @property
    def _z(self) -> FloatArray:
        return 2.0 * self.eta * self.delta

    @property
    def value(self) -> FloatArray:
        d, eta = self.delta, self.eta
        if eta < 0.0:
            return np.asarray(-d + eta * (d * d - 2.0 * d) + eta**2 * d * d * (2.0 - d / 0.75))
        z = self._z
        return np.asarray(-d * _log_share(z, 0) - np.log1p(z))

    @property
    def fall(self) -> FloatArray:
        d, eta = self.delta, self.eta
        if eta < 0.0:
            return np.asarray(1.0 - 2.0 * eta * (d - 1.0) + 4.0 * eta**2 * d * (d - 1.0))
        return np.asarray((1.0 + 2.0 * eta) / (1.0 + self._z))

    @property
    def bend(self) -> FloatArray:
        eta = self.eta
        if eta < 0.0:
            return np.asarray(2.0 * eta + eta**2 * (4.0 - 8.0 * self.delta))
        return np.asarray(2.0 * eta * (1.0 + 2.0 * eta) / (1.0 + self._z) ** 2)

    @property
    def third(self) -> FloatArray:
        eta = self.eta
        if eta < 0.0:
            return np.full(self.delta.shape, -8.0 * eta**2)
        return np.asarray(-8.0 * eta**2 * (1.0 + 2.0 * eta) / (1.0 + self._z) ** 3)

    @property
    def tail_slope(self) -> FloatArray:
        d = self.delta
        if self.eta < 0.0:
            return np.asarray(d * d - 2.0 * d + 2.0 * self.eta * d * d * (2.0 - d / 0.75))
        z = self._z
        return np.asarray(-2.0 * d * d * _log_share(z, 1) - 2.0 * d / (1.0 + z))

    @property
    def tail_bend(self) -> FloatArray:
        d = self.delta
        if self.eta < 0.0:
            return np.asarray(2.0 * d * d * (2.0 - d / 0.75))
        z = self._z
        return np.asarray(-4.0 * d**3 * _log_share(z, 2) + 4.0 * d * d / (1.0 + z) ** 2)

    @property
    def mixed(self) -> FloatArray:
        d = self.delta
        if self.eta < 0.0:
            return np.asarray(2.0 * (d - 1.0) * (1.0 - 4.0 * self.eta * d))
        return np.asarray(2.0 * (d - 1.0) / (1.0 + self._z) ** 2)

    @property
    def mixed_bend(self) -> FloatArray:
        d, eta = self.delta, self.eta
        if eta < 0.0:
            return np.asarray(2.0 + eta * (8.0 - 16.0 * d))
        return np.asarray((2.0 - 4.0 * eta * d + 8.0 * eta) / (1.0 + self._z) ** 3)


@final
@dataclass(frozen=True)
class _HeavyTangent(Tangent):
    """s = (∂u/∂κμ, ∂u/∂η) with ∂u/∂κμ = fall (x − μ), and their derivatives along the sphere."""

    theta: FloatArray

    def statistics(self, X: FloatArray) -> FloatArray:
        at = _Radial.of(X, self.theta)
        return np.column_stack([at.fall[:, None] * (X - at.mean_direction), at.tail_slope])

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        at = _Radial.of(X, self.theta)
        # ∇δ = −(κμ)_T and ∇fall = bend (κμ)_T
        up = V @ at.xi
        own = at.fall[:, None] * V + (at.bend * up)[:, None] * (X - at.mean_direction)
        return np.column_stack([own, -at.mixed * up])

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        at = _Radial.of(X, self.theta)
        across = at.across(X)
        # Of W = a P + Σ c uuᵀ: its trace, ⟨κμ, W κμ⟩ and W κμ.
        trace = isotropic * (X.shape[1] - 1.0) + np.zeros(len(X))
        square = isotropic * row_dots(across, across)
        moved = np.asarray(isotropic)[..., None] * across
        for u, c in directions:
            up = u @ at.xi
            trace = trace + c * row_dots(u, u)
            square = square + c * up**2
            moved = moved + (c * up)[:, None] * u
        # Hess x = −x g, Hess δ = κμ·x g, Hess fall = −bend Hess δ − third ∇δ∇δᵀ
        own = -(at.bend * at.along * trace + at.third * square)[:, None] * (X - at.mean_direction)
        own += 2.0 * at.bend[:, None] * moved
        own -= (at.fall * trace)[:, None] * X
        return np.column_stack([own, at.mixed * at.along * trace + at.mixed_bend * square])


def _log_share(z: FloatArray, order: int) -> FloatArray:
    """φ(z) = log(1 + z)/z for z ≥ 0, or its first or second derivative, to rounding."""
    small = z < _SMALL
    # φ = Σ (−z)^k / (k + 1)
    k = np.arange(_TERMS, dtype=np.float64)
    coefficients: FloatArray = np.where(k % 2.0 == 0.0, 1.0, -1.0) / (k + 1.0)
    for _ in range(order):
        coefficients = coefficients[1:] * k[1 : len(coefficients)]
    near = np.asarray(np.polynomial.polynomial.polyval(np.where(small, z, 0.0), coefficients), dtype=np.float64)
    large = np.where(small, 1.0, z)
    share: FloatArray = np.log1p(large) / large
    if order >= 1:
        share = (1.0 / (1.0 + large) - share) / large
    if order >= 2:
        share = -(1.0 / (1.0 + large) ** 2 + 2.0 * share) / large
    return np.where(small, near, share)


def _half_log(delta: float, tail: float) -> float:
    """Log(1 + 2ηδ)/2η, which is δ for η = 0."""
    return delta * float(_log_share(np.array([2.0 * tail * delta]), 0)[0])


def _along_radius(kappa: float, tail: float, D: int) -> tuple[FloatArray, FloatArray]:
    """Places s along the radius, evenly spaced, and the logarithm of the density of s there but for a constant.

    s = log tan(angle/2), so that w = 1 − μ·x = 1 + tanh s and the area of a ring is sech(s)^(D−1) ds: the trapezoid
    rule is exact to rounding, however sharp the density is.
    """
    # sech(s)^(D−1) is e^−40 at the reach, and the density of s is largest where κw is (D − 1)/2 or farther out.
    reach = math.acosh(math.exp(_LEFT_OUT / (D - 1.0)))
    step = min(0.05, 0.3 / math.sqrt(D))
    low = -0.5 * math.log1p(kappa) - 1.5 - reach
    s = low + step * np.arange(math.ceil((reach - low) / step) + 1, dtype=np.float64)
    return s, _fallen(s, kappa, tail) + _ring(s, D)


def _deficit(s: FloatArray) -> FloatArray:
    """1 + tanh s, to all digits where it is small."""
    return np.asarray(2.0 / (1.0 + np.exp(np.minimum(-2.0 * s, 700.0))))


def _fallen(s: FloatArray, kappa: float, tail: float) -> FloatArray:
    """The log density at s, which falls with s."""
    delta = kappa * _deficit(s)
    z = 2.0 * tail * delta
    return np.asarray(-delta * _log_share(z, 0) - np.log1p(z))


def _ring(s: FloatArray, D: int) -> FloatArray:
    """(D − 1) log sech s, which is largest at zero."""
    size = np.abs(s)
    return np.asarray((D - 1.0) * (math.log(2.0) - size - np.log1p(np.exp(-2.0 * size))))


def _draw_deficit(n: int, kappa: float, tail: float, D: int, rng: np.random.Generator) -> FloatArray:
    """Draws of 1 − μ·x, shape (n,)."""
    if D == 3 and kappa < 1e-12:
        return 2.0 * rng.random(n)  # uniform
    if D == 3:
        # (1 + 2ηκw)^(−1/2η) is uniform between its value at w = 2 and one: exact.
        fallen = -np.log1p(rng.random(n) * math.expm1(-_half_log(2.0 * kappa, tail)))
        return np.asarray(fallen / kappa if tail == 0.0 else np.expm1(2.0 * tail * fallen) / (2.0 * tail * kappa))
    # A staircase above the density of s: on each step one factor is largest at its left end, the other next to zero.
    s, _ = _along_radius(kappa, tail, D)
    width = (s[1] - s[0]) / 4.0
    left = s[0] + width * np.arange(4 * (len(s) - 1))
    nearest = np.clip(0.0, left, left + width)
    bound = _fallen(left, kappa, tail) + _ring(nearest, D)
    share = np.exp(bound - bound.max())
    share /= share.sum()
    out = np.empty(n)
    filled = 0
    while filled < n:
        block = int(1.3 * (n - filled)) + 16
        step = rng.choice(len(left), block, p=share)
        place = left[step] + width * rng.random(block)
        log_accept = _fallen(place, kappa, tail) + _ring(place, D) - bound[step]
        accepted = place[np.log1p(-rng.random(block)) <= log_accept]
        take = min(accepted.size, n - filled)
        out[filled : filled + take] = _deficit(accepted[:take])
        filled += take
    return out
