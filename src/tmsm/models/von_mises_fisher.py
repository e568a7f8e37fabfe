"""The von Mises–Fisher family on the sphere S^(D−1): p(x) ∝ exp(κ μ·x)."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_dots, weighted_gram
from tmsm.foundation.errors import EstimationError
from tmsm.foundation.validation import check_concentration, check_unit_vector
from tmsm.models.constraints import AffineSubspace, Constraint, FixedNorm, HalfLine, Unrestricted
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading, length_reading
from tmsm.models.spherical import SphereFamily, placed_round
from tmsm.models.tangents import Coefficient, Directions
from tmsm.numerics.sphere_integral import sphere_mixture

__all__ = ["VonMisesFisher", "concentration_from_resultant", "log_sphere_integral", "mean_resultant"]

# Above so many times D² the length of a mean is a power series in 1/κ.
_SHARP = 1e6


@final
@dataclass(frozen=True, eq=False, repr=False)
class VonMisesFisher(SphereFamily):
    """Von Mises–Fisher family on the sphere, any dimension: log p = κ μ·x + const.

    Its parameters are the mean direction μ and the concentration κ. With t(x) = x and θ = κμ: ∇t = P, Δt = −(D−1) x and
    Hess t(v, v) = −x‖v‖².

    Parameters
    ----------
    concentration
        κ if it is known. None, the default: it is estimated.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> X = tmsm.VonMisesFisher().sample(
    ...     5, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=50.0
    ... )
    >>> X.shape, bool(np.allclose(np.linalg.norm(X, axis=1), 1.0))
    ((5, 3), True)
    """

    concentration: float | None = None

    fields = (Field("mean_direction", "direction", is_centre=True), Field("concentration", lowest=0.0))

    def __post_init__(self) -> None:
        if self.concentration is not None:
            object.__setattr__(self, "concentration", check_concentration(self.concentration))

    @property
    def size(self) -> int:
        return self.embedding_dim

    def statistics(self, X: FloatArray) -> FloatArray:
        return X

    def gradient(self, X: FloatArray) -> FloatArray:
        return np.eye(X.shape[1]) - X[:, :, None] * X[:, None, :]

    def laplacian(self, X: FloatArray) -> FloatArray:
        laplacian: FloatArray = X * (1.0 - X.shape[1])
        return laplacian

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return X * -row_dots(V, V)[:, None]

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return V  # P v = v for tangent v

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        out: FloatArray = X * (X @ theta)[:, None]
        return np.subtract(theta, out, out=out)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        total = float(weight.sum()) if isinstance(weight, np.ndarray) else weight * len(X)
        return total * np.eye(X.shape[1]) - weighted_gram(X, weight)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        # Both Δt and Hess t(u, u) are multiples of x: −x (a (D−1) + Σ c).
        total = np.full(len(X), isotropic * (1.0 - X.shape[1]))
        for _, c in directions:
            total -= c
        hessian: FloatArray = X * total[:, None]
        return hessian

    def make_constraint(self) -> Constraint:
        if self.concentration is None:
            return Unrestricted(self.size)
        return FixedNorm(self.concentration, self.size)

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name == "concentration":
            if self.concentration is not None:
                return None
            if value == 0.0:
                return AffineSubspace(np.zeros(self.size), np.zeros((self.size, 0)))
            return FixedNorm(float(value), self.size)
        if self.concentration is None:
            return HalfLine(np.zeros(self.size), np.asarray(value))
        return AffineSubspace(self.concentration * np.asarray(value), np.zeros((self.size, 0)))

    def parameters(self, theta: FloatArray) -> Parameters:
        kappa = float(np.linalg.norm(theta))
        if kappa == 0.0:
            raise EstimationError(
                "The estimated concentration is zero, so there is no mean direction: "
                "the data look uniform to this model."
            )
        known = self.concentration
        return Parameters(mean_direction=theta / kappa, concentration=kappa if known is None else known)

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        return (length_reading("spread (1σ)", params.concentration, {"concentration": 1.0}),)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        kappa = float(np.linalg.norm(theta))
        mu = theta / kappa
        return {
            "mean_direction": (np.eye(theta.size) - np.outer(mu, mu)) / kappa,
            "concentration": mu[None, :] * (self.concentration is None),
        }

    def natural_parameters(  # type: ignore[override]
        self, *, mean_direction: ArrayLike, concentration: float | None = None
    ) -> FloatArray:
        mu = check_unit_vector(mean_direction, "mean_direction")
        return self._kappa(concentration) * mu

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        resultant = float(np.linalg.norm(mean))
        if resultant < 1e-12:
            raise EstimationError("The mean of the rows is zero, so there is no mean direction.")
        if self.concentration is not None:
            return mean / resultant * self.concentration
        return mean / resultant * concentration_from_resultant(resultant, mean.size)

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        # κ (μ·x − 1) = −κ ‖x − μ‖²/2, which keeps its digits at high concentration.
        kappa = float(np.linalg.norm(theta))
        if kappa == 0.0:
            return np.zeros(len(X))
        away = X - theta / kappa
        return -0.5 * kappa * row_dots(away, away)

    def log_normaliser(self, theta: FloatArray) -> float:
        return log_sphere_integral(float(np.linalg.norm(theta)), theta.size)

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        kappa = float(np.linalg.norm(theta))
        mu = theta / kappa if kappa > 0.0 else np.eye(theta.size)[0]
        ratio, slope = mean_resultant(kappa, theta.size)
        across = ratio / kappa if kappa > 0.0 else slope
        # Var(μ·x) = A'(κ) along the mean, A(κ)/κ across it.
        return ratio * mu, across * np.eye(mu.size) + (slope - across) * np.outer(mu, mu)

    def draw(  # type: ignore[override]
        self,
        n: int,
        rng: np.random.Generator,
        *,
        mean_direction: ArrayLike,
        concentration: float | None = None,
    ) -> FloatArray:
        mu = check_unit_vector(mean_direction, "mean_direction")
        return placed_round(mu, _draw_deficit(n, self._kappa(concentration), mu.size, rng), rng)

    def _kappa(self, concentration: float | None) -> float:
        return check_concentration(self._known_or("concentration", concentration), at_least=0.0)


def mean_resultant(kappa: float, D: int) -> tuple[float, float]:
    """A(κ) = I_{D/2}(κ) / I_{D/2−1}(κ), the length of a von Mises–Fisher mean, and A'(κ).

    By the backward recurrence r_v = 1 / (2(v+1)/κ + r_{v+1}) of the ratios r_v = I_{v+1}/I_v, which
    forgets its start, and by its derivative: no overflow or underflow at any κ > 0 and in any
    dimension.  A to a few units in the last place, A' to eight digits at κ = 1e6.
    """
    if not math.isfinite(kappa):
        raise EstimationError("The concentration is infinite: the rows do not determine it.")
    if kappa < 1e-8:  # A = κ/D to the last digit
        return kappa / D, 1.0 / D
    if kappa > _SHARP * D * D:
        # A = 1 − (D−1)/2κ + (D−1)(D−3)/8κ² + O(κ⁻³), to the last digit.
        first, second = 0.5 * (D - 1) / kappa, 0.125 * (D - 1) * (D - 3) / kappa**2
        return 1.0 - first + second, (first - 2.0 * second) / kappa
    # The product of the contractions r² falls below 1e-11 after 5 sqrt(κ) steps, and the start,
    # one of Amos' bounds, is already within O(1/κ²).
    steps = 20 + int(5.0 * math.sqrt(kappa))
    v = 0.5 * D - 1.0 + steps
    root = math.hypot(v + 1.5, kappa)
    ratio = kappa / (v + 0.5 + root)
    slope = (v + 0.5 + (v + 1.5) ** 2 / root) / (v + 0.5 + root) ** 2
    for _ in range(steps):
        v -= 1.0
        ahead = 2.0 * (v + 1.0) / kappa
        ratio = 1.0 / (ahead + ratio)
        slope = ratio * ratio * (ahead / kappa - slope)
    return ratio, slope


def log_sphere_integral(kappa: float, D: int) -> float:
    """Log ∫ exp(κ (μ·x − 1)) over S^(D−1) = (D/2) log 2π − v log κ + log(e^{−κ} I_v(κ)), v = D/2 − 1."""
    from scipy.special import ive

    v = 0.5 * D - 1.0
    if kappa > 1e8 * max(v, 1.0) ** 2:  # e^{−κ} I_v(κ) = (2πκ)^{−½} (1 − (4v² − 1)/8κ + …)
        scaled = (1.0 - (4.0 * v * v - 1.0) / (8.0 * kappa)) / math.sqrt(2.0 * math.pi * kappa)
    else:
        scaled = float(ive(v, kappa))
    if kappa < 1.0 or scaled < 1e-250:  # cancelling logarithms, or underflow in high dimension
        return sphere_mixture(np.zeros(D), kappa * np.eye(D)[0]).log_integral - kappa
    return 0.5 * D * math.log(2.0 * math.pi) - v * math.log(kappa) + math.log(scaled)


def concentration_from_resultant(resultant: float, D: int) -> float:
    """κ with A(κ) = resultant, to a residual of 1e-12 or rounding, for κ up to about 1e7."""
    if not resultant < 1.0 - 1e-15:
        raise EstimationError("All rows are identical (their mean has length one), so the concentration is infinite.")
    # Banerjee et al. 2005: within a few per cent everywhere.
    kappa = resultant * (D - resultant**2) / (1.0 - resultant**2)
    if kappa > 1e9:
        raise EstimationError(
            f"The rows are so close together that the concentration is beyond {kappa:.1e}: check for duplicates."
        )
    before = math.inf
    for _ in range(50):
        ratio, slope = mean_resultant(kappa, D)
        residual = ratio - resultant
        step = residual / slope
        # A is concave: Newton from the right may overshoot below zero, so at most halve.
        kappa = max(kappa - step, 0.5 * kappa)
        # A has an error of a few units in the last place; steps that no longer shrink are that error.
        if abs(residual) <= 1e-16 or 0.5 * before <= abs(step) <= 1e-8 * kappa:
            break
        before = abs(step)
    return float(kappa)


def _draw_deficit(n: int, kappa: float, D: int, rng: np.random.Generator) -> FloatArray:
    """Draws of 1 − μ·x, shape (n,)."""
    if D == 3 and kappa < 1e-12:
        return 2.0 * rng.random(n)  # uniform
    if D == 3:
        # Uniform on [0, 1 − e^{−2κ}] through the inverse: exact.
        deficit: FloatArray = -np.log1p(rng.random(n) * np.expm1(-2.0 * kappa)) / kappa
        return deficit
    # Wood 1994: w = (1 − (1+b)z) / (1 − (1−b)z) with z ~ Beta, then a rejection.
    m = 0.5 * (D - 1.0)
    b = m / (kappa + np.hypot(kappa, m))
    out = np.empty(n)
    filled = 0
    while filled < n:
        block = int(1.5 * (n - filled)) + 16
        z = rng.beta(m, m, block)
        u = 2.0 * b * z / (1.0 - (1.0 - b) * z)  # 1 − w
        # log acceptance: κ w + 2m log(1 − x0 w) against its maximum at x0 = (1−b)/(1+b).
        x0 = (1.0 - b) / (1.0 + b)
        peak_deficit = 2.0 * b / (1.0 + b)  # 1 − x0
        log_accept = kappa * (peak_deficit - u) + 2.0 * m * (
            np.log(peak_deficit + x0 * u) - np.log(peak_deficit * (1.0 + x0))
        )
        accepted = u[np.log(rng.random(block)) <= log_accept]
        take = min(accepted.size, n - filled)
        out[filled : filled + take] = accepted[:take]
        filled += take
    return out
