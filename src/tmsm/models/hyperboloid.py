"""The hyperboloid family on hyperbolic space: the exponential family of the coordinates of the hyperboloid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_dots, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_number, check_vector
from tmsm.manifolds import Hyperbolic, Manifold
from tmsm.models.base import LinearModel
from tmsm.models.boosted import Boosted
from tmsm.models.constraints import Constraint, HalfLine
from tmsm.models.parameters import Field, Parameters
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["HyperboloidDistribution"]

# From this concentration on moments are those of a gamma distribution, tilted a little; below, ratios of Bessel
# functions lose no digits.
_HIGH = 20.0
_NODES = 40
# Concentrations that rows in double precision can show.
_LOWEST, _HIGHEST = 1e-9, 1e13
# The box of the extent leaves out e^−40 of the mass.
_NEGLIGIBLE = 42.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class HyperboloidDistribution(LinearModel):
    """Hyperboloid family on hyperbolic space, any dimension: p ∝ exp(−κ cosh(distance to the mean)).

    The exponential family of t(x) = (x₀, x), the coordinates of the hyperboloid, with θ = κ(−m₀, m) for the mean m.
    It is to hyperbolic space what the von Mises–Fisher family is to the sphere (Jensen 1981).

    Notes
    -----
    ∇x₀ = x and ∇x_j = e_j + x_j x/(x₀ + 1) in the frame of `Hyperbolic`, Hess t(v, v) = t‖v‖², Δt = dim·t.
    There is a density on the whole space where −θ₀ > |(θ_1, …)|.

    Examples
    --------
    >>> import tmsm
    >>> from tmsm.models import HyperboloidDistribution
    >>> model, region = HyperboloidDistribution(), tmsm.GeodesicBall(tmsm.Hyperbolic(2), [0.0, 0.0], 1.0)
    >>> X = model.sample(2000, region, random_state=0, mean=[0.6, 0.0], concentration=3.0)
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> bool(abs(fit.params_.concentration - 3.0) < 3 * fit.std_errors_.concentration)
    True
    """

    home = Hyperbolic
    fields = (Field("mean", is_centre=True), Field("concentration", lowest=0.0))

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "hyperbolic space", " On a sphere use VonMisesFisher, in flat space MultivariateNormal."

    def usual_manifold(self, n_columns: int) -> Manifold:
        return Hyperbolic(n_columns)

    @property
    def size(self) -> int:
        return self.embedding_dim + 1

    def statistics(self, X: FloatArray) -> FloatArray:
        return np.column_stack([_time(X), X])

    def gradient(self, X: FloatArray) -> FloatArray:
        n, d = X.shape
        out = np.empty((n, d + 1, d))
        out[:, 0] = X
        out[:, 1:] = np.eye(d) + X[:, :, None] * (X / (_time(X) + 1.0)[:, None])[:, None, :]
        return out

    def laplacian(self, X: FloatArray) -> FloatArray:
        return self.statistics(X) * float(X.shape[1])

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.statistics(X) * row_dots(V, V)[:, None]

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        along = row_dots(X, V)
        return np.column_stack([along, V + X * (along / (_time(X) + 1.0))[:, None]])

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        share = theta[0] + X @ theta[1:] / (_time(X) + 1.0)
        psi: FloatArray = theta[1:] + X * share[:, None]
        return psi

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        # ⟨∇t_a, ∇t_b⟩ = t_a t_b + (−1 for a = b = 0, δ_ab else); |∇x₀|² = |x|² keeps its digits next to the origin.
        total = float(weight.sum()) if isinstance(weight, np.ndarray) else weight * len(X)
        gram = weighted_gram(self.statistics(X), weight)
        gram[np.diag_indices(len(gram))] += total
        gram[0, 0] = np.sum(row_dots(X, X) * weight)
        return gram

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        # Both Δt and Hess t(u, u) are multiples of t: t (a dim + Σ c).
        total = np.full(len(X), isotropic * float(X.shape[1]))
        for _, c in directions:
            total += c
        hessian: FloatArray = self.statistics(X) * total[:, None]
        return hessian

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name != "mean":
            return None
        ray = self.natural_parameters(mean=value, concentration=1.0)
        return HalfLine(np.zeros(ray.size), ray / np.linalg.norm(ray))

    def parameters(self, theta: FloatArray) -> Parameters:
        kappa = _concentration(theta)
        if kappa is None:
            square = float(theta[0] ** 2 - theta[1:] @ theta[1:])
            raise EstimationError(
                "The estimated log density θ₀x₀ + θ·x does not fall in every direction, so that it has no mean and no "
                f"concentration: that needs −θ₀ > |θ|, and θ₀ is {'negative' if theta[0] < 0.0 else 'positive'} with "
                f"θ₀² − |θ|² = {square:.4g}. Inside this region the rows do not show that the density falls off. "
                "Use more rows or a larger region."
            )
        return Parameters(mean=theta[1:] / kappa, concentration=kappa)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        params = self.parameters(theta)
        kappa, mean = params.concentration, params.mean
        # κ² = θ₀² − |θ|², m = θ/κ
        slope = np.concatenate([[theta[0]], -theta[1:]]) / kappa
        jacobian = np.zeros((mean.size, theta.size))
        jacobian[:, 1:] = np.eye(mean.size)
        return {"mean": (jacobian - np.outer(mean, slope)) / kappa, "concentration": slope[None, :]}

    def natural_parameters(self, *, mean: ArrayLike, concentration: float) -> FloatArray:  # type: ignore[override]
        m = check_vector(mean, "mean")
        kappa = _checked(concentration)
        return kappa * np.concatenate([-_time(m[None, :]), m])

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        kappa = _concentration(theta)
        if kappa is None:  # inside a bounded region θ may be anything
            return super().log_kernel(X, theta)
        # κ (1 − cosh ρ), which keeps its digits at high concentration.
        mean = np.broadcast_to(theta[1:] / kappa, X.shape)
        return -0.5 * kappa * Hyperbolic(X.shape[1]).square_chord(X, mean)

    def log_normaliser(self, theta: FloatArray) -> float:
        kappa = self.parameters(theta).concentration
        return _log_integral(kappa, theta.size - 1)

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        params = self.parameters(theta)
        center = np.concatenate([_time(params.mean[None, :]), params.mean])
        kappa, dim = params.concentration, params.mean.size
        excess, variance = _excess(kappa, dim)
        across = (1.0 + excess) / kappa
        # t = cosh ρ m + sinh ρ u with tangents u of length one, ⟨uuᵀ⟩ = (mmᵀ + diag(−1, 1, …, 1))/dim,
        # ⟨sinh² ρ⟩ = dim ⟨cosh ρ⟩/κ.
        covariance = (variance + across) * np.outer(center, center) + across * np.diag([-1.0, *dim * [1.0]])
        return (1.0 + excess) * center, covariance

    def centred(self, X: FloatArray) -> LinearModel:
        return Boosted(self, X.mean(axis=0))

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        time, length = float(mean[0]), float(np.linalg.norm(mean[1:]))
        # ⟨cosh ρ⟩ of the rows about their centre: the Lorentz length of the mean.
        cosh = math.sqrt(max((time - length) * (time + length), 0.0))
        if not cosh - 1.0 > 1e-14 * time**2:
            raise EstimationError("All rows are identical, so the concentration is infinite.")
        kappa = _concentration_from_excess(cosh - 1.0, mean.size - 1)
        return kappa / cosh * np.concatenate([[-time], mean[1:]])

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        params = self.parameters(theta)
        kappa, dim = params.concentration, params.mean.size
        # κ (cosh ρ − 1) ≥ 42 + (dim − 1) log of how much the circles have grown.
        reach = 1.0
        for _ in range(60):
            growth = (dim - 1.0) * max(math.log(math.sinh(reach)) + 0.5 * math.log(kappa), 0.0)
            reach = 2.0 * math.asinh(math.sqrt(0.5 * (_NEGLIGIBLE + growth) / kappa))
        return Hyperbolic(dim).grown_box(params.mean, params.mean, reach)

    def draw(  # type: ignore[override]
        self, n: int, rng: np.random.Generator, *, mean: ArrayLike, concentration: float
    ) -> FloatArray:
        m = check_vector(mean, "mean")
        rho = _draw_distances(n, _checked(concentration), m.size, rng)
        V = rng.standard_normal((n, m.size))
        V *= (rho / np.linalg.norm(V, axis=1))[:, None]
        return Hyperbolic(m.size).exponential(np.broadcast_to(m, V.shape), V)

    def _check_size(self, theta: FloatArray) -> None:
        if theta.size != self.size:
            raise InvalidInputError(
                f"mean has {theta.size - 1} coordinates, and points of {self.manifold!r} have {self.embedding_dim}."
            )


def _time(X: FloatArray) -> FloatArray:
    """x₀ = √(1 + |x|²), shape (n,)."""
    time: FloatArray = np.sqrt(1.0 + row_dots(X, X))
    return time


def _checked(concentration: Any) -> float:
    hint = "Rows in double precision do not show a density that is narrower or wider."
    return check_number(concentration, "concentration", at_least=_LOWEST, below=_HIGHEST, hint=hint)


def _concentration(theta: FloatArray) -> float | None:
    """κ = √(θ₀² − |θ|²); None where θ has no density on the whole space."""
    length = float(np.linalg.norm(theta[1:]))
    square = (-theta[0] - length) * (-theta[0] + length)
    return math.sqrt(square) if theta[0] < 0.0 and square > 0.0 else None


def _log_integral(kappa: float, dim: int) -> float:
    """Log ∫ exp(κ (1 − cosh ρ)) = log 2 + ν log(2π/κ) + log(e^κ K_ν(κ)), ν = (dim − 1)/2."""
    v = 0.5 * (dim - 1.0)
    return math.log(2.0) + v * math.log(2.0 * math.pi / kappa) + _log_bessel(v, kappa)


def _log_bessel(v: float, kappa: float) -> float:
    """Log(e^κ K_v(κ))."""
    from scipy.special import kve

    scaled = float(kve(v, kappa))
    if 0.0 < scaled < np.inf:
        return math.log(scaled)
    # Beyond the largest number, in high dimension: Debye's expansion (DLMF 10.41.4) with z = κ/v.
    z = kappa / v
    root = math.sqrt(1.0 + z * z)
    p = 1.0 / root
    terms = (
        (3.0 * p - 5.0 * p**3) / 24.0,
        (81.0 * p**2 - 462.0 * p**4 + 385.0 * p**6) / 1152.0,
        (30375.0 * p**3 - 369603.0 * p**5 + 765765.0 * p**7 - 425425.0 * p**9) / 414720.0,
    )
    series = 1.0 + sum(term * (-1.0 / v) ** k for k, term in enumerate(terms, start=1))
    eta = root + math.log(z / (1.0 + root))
    return 0.5 * math.log(math.pi / (2.0 * v)) - v * eta - 0.25 * math.log1p(z * z) + math.log(series) + kappa


def _excess(kappa: float, dim: int) -> tuple[float, float]:
    """⟨cosh ρ⟩ − 1 = K_{ν+1}(κ)/K_ν(κ) − 1 and the variance of cosh ρ."""
    if dim == 2:  # κ (cosh ρ − 1) is exponential
        return 1.0 / kappa, 1.0 / kappa**2
    a = 0.5 * dim - 1.0
    if kappa > _HIGH * max(a, 1.0):
        # u = κ (cosh ρ − 1) has the density e^−u u^a (1 + u/2κ)^a.
        from scipy.special import roots_genlaguerre

        u, w = roots_genlaguerre(_NODES, a)
        w = w * (1.0 + 0.5 * u / kappa) ** a
        w /= w.sum()
        first = float(w @ u)
        return first / kappa, float(w @ (u - first) ** 2) / kappa**2
    v = 0.5 * (dim - 1.0)
    ratio = math.exp(_log_bessel(v + 1.0, kappa) - _log_bessel(v, kappa))
    return ratio - 1.0, 1.0 + dim * ratio / kappa - ratio**2


def _concentration_from_excess(excess: float, dim: int) -> float:
    """κ at which ⟨cosh ρ⟩ − 1 is this: Newton's method for its logarithm."""
    kappa = 0.5 * dim / excess
    for _ in range(100):
        found, variance = _excess(kappa, dim)
        # d log⟨cosh ρ − 1⟩ / d log κ = −κ Var/⟨cosh ρ − 1⟩, between −½ or −1 and −1
        step = math.log(found / excess) * found / (kappa * variance)
        kappa *= math.exp(min(max(step, -2.0), 2.0))
        if abs(step) < 1e-14:
            break
    if not _LOWEST <= kappa < _HIGHEST:
        raise EstimationError(
            f"The concentration of the rows would be {kappa:.1e}: check for duplicates, and for rows far from others."
        )
    return kappa


def _draw_distances(n: int, kappa: float, dim: int, rng: np.random.Generator) -> FloatArray:
    """Draws of ρ, shape (n,), from the density exp(−κ cosh ρ) sinh(ρ)^(dim − 1)."""
    if dim == 2:
        # κ (cosh ρ − 1) is exponential: exact.
        exact: FloatArray = 2.0 * np.arcsinh(np.sqrt(0.5 * rng.standard_exponential(n) / kappa))
        return exact
    # The logarithm of the density f is concave: f ≤ M min(1, exp(1 − M|ρ − mode|)) with M = f(mode) (Devroye 1984).
    h = 0.5 * (dim - 1.0) / kappa
    mode = 2.0 * math.asinh(math.sqrt(0.5 * (h + h * h / (1.0 + math.hypot(1.0, h)))))
    log_area = math.log(2.0) + 0.5 * dim * math.log(math.pi) - math.lgamma(0.5 * dim)  # of the unit sphere
    log_scale = log_area - _log_integral(kappa, dim)

    def log_density(rho: FloatArray) -> FloatArray:
        growth = (dim - 1.0) * np.log(np.sinh(rho)) if dim > 1 else 0.0
        return log_scale - 2.0 * kappa * np.sinh(0.5 * rho) ** 2 + growth

    log_top = float(log_density(np.array([mode]))[0])
    top = math.exp(log_top)
    out = np.empty(n)
    filled = 0
    while filled < n:
        block = 4 * (n - filled) + 16
        # Half of the bound lies in the flat part of width 2/M, the other half in the two tails.
        flat = rng.random(block) < 0.5
        away = np.where(flat, rng.random(block), 1.0 + rng.standard_exponential(block)) / top
        rho = mode + away * np.where(rng.random(block) < 0.5, -1.0, 1.0)
        log_bound = log_top + np.minimum(0.0, 1.0 - top * away)
        log_uniform = -rng.standard_exponential(block)
        inside = np.flatnonzero((rho > 0.0) & (rho < 700.0))
        accepted = inside[log_uniform[inside] + log_bound[inside] <= log_density(rho[inside])]
        take = min(accepted.size, n - filled)
        out[filled : filled + take] = rho[accepted[:take]]
        filled += take
    return out
