"""The integral of exp(γ·x + Σ q_i x_i²) over a sphere of any dimension, and the moments under it.

With λ_i = max q − q_i, Laplace's transform in ‖x‖² turns the integral over S^(D−1) into one along a
contour in the complex plane,

    e^{max q} / (πi) ∫ exp(t) Π_i sqrt(π / (λ_i + t)) exp(γ_i² / (4 (λ_i + t))) dt,

and given t the coordinates are independent normal variables with variance s_i = 1/(2(λ_i + t)) and
mean γ_i s_i.  So every moment of x is a (complex) mixture of normal moments.  The contour goes
through the saddle point and follows the steepest descent to third order, a parabola that opens to
the left; it straightens before it comes near a singularity −λ_i further left, where the integrand
would grow again.  On it the trapezoidal rule converges exponentially, at any concentration.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tmsm.foundation.arrays import FloatArray, IntArray

__all__ = ["SphereMixture", "sphere_mixture"]

ComplexArray = NDArray[np.complex128]

# Step of the trapezoidal rule in widths of the saddle: the error is below exp(−40).
_STEP = 0.1
# What is this many logarithms below the saddle does not count.
_NEGLIGIBLE = 42.0
_BLOCK = 128


@dataclass(frozen=True)
class SphereMixture:
    """log of the integral, and the normal mixture that stands for the density.

    Attributes
    ----------
    log_integral
        Logarithm of the integral with respect to the area of the sphere.
    weights
        Complex, shape (K,): those of the upper half of the contour, whose lower half is its mirror
        image.  An expectation is the real part of a weighted sum; that of the weights is one.
    means, variances
        Of the coordinates given the node, complex, shape (K, D).
    rates, linear, log_factor
        λ_i + t and γ_i at the saddle point, shape (D,), and the logarithm of the integral's factor there.
    """

    log_integral: float
    weights: ComplexArray
    means: ComplexArray
    variances: ComplexArray
    rates: FloatArray
    linear: FloatArray
    log_factor: float

    def log_integral_about(self, center: FloatArray) -> float:
        """`log_integral` less the exponent at a point of the sphere, shape (D,): exact where both are large.

        With t at the saddle point and m_i = γ_i / (2(λ_i + t)) the difference is Σ (λ_i + t)(c_i − m_i)².
        """
        return float(self.rates @ (center - 0.5 * self.linear / self.rates) ** 2) + self.log_factor

    def moments(self, center: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (D,) of y = x − center, second moments (D, D), and the covariance of (y, y_i y_j for i ≤ j)."""
        w, m, s = self.weights, self.means - center, self.variances
        D = m.shape[1]
        i, j = _upper(D)
        weighted = s * w[:, None]
        products = m[:, i] * m[:, j]
        pairs = products + s[:, i] * (i == j)
        # Cov(y, yy) = E Cov(· | t) + Cov E(· | t).
        both = np.hstack([m, pairs])
        mean = _real(w @ both)
        both -= mean
        total = _real((both * w[:, None]).T @ both)
        # Given t the coordinates are independent: Cov(y_a, y_i y_j) = δ_ai s_a m_j + δ_aj s_a m_i, and
        # Cov(y_i y_j, y_k y_l) = the four δ_ik s_i (½ δ_jl s_j + m_j m_l): Isserlis' formulae.
        sm = _real(weighted.T @ m)
        ss = _real(weighted.T @ s)
        smm = np.empty((D, D, D))
        smm[:, i, j] = smm[:, j, i] = _real(weighted.T @ products)
        total[:D, :D] += np.diag(_real(weighted.sum(axis=0)))
        cross = np.zeros((D, i.size))
        pair = np.arange(i.size)
        np.add.at(cross, (i, pair), sm[i, j])
        np.add.at(cross, (j, pair), sm[j, i])
        total[:D, D:] += cross
        total[D:, :D] += cross.T
        for a, b in ((i, j), (j, i)):
            for c, d in ((i, j), (j, i)):
                rest = smm[a[:, None], b[:, None], d] + 0.5 * ss[a, b][:, None] * (b[:, None] == d)
                total[D:, D:] += rest * (a[:, None] == c)
        second = np.empty((D, D))
        second[i, j] = second[j, i] = mean[D:]
        return mean[:D], second, total


def sphere_mixture(quadratic: FloatArray, linear: FloatArray) -> SphereMixture:
    """Integrate exp(Σ linear_i x_i + Σ quadratic_i x_i²) over the unit sphere; both have shape (D,)."""
    top = float(quadratic.max())
    rates = top - quadratic
    squares = 0.25 * linear**2
    saddle = _saddle(rates, squares)
    shifted = rates + saddle
    second = float((0.5 / shifted**2 + 2.0 * squares / shifted**3).sum())
    third = float((1.0 / shifted**3 + 6.0 * squares / shifted**4).sum())
    bend = third / (6.0 * second)  # t = saddle + iy − bend y² + …
    h = _STEP / np.sqrt(second)
    # With ρ = γ²/(4(λ+t)²) ≤ 1, a parabola passes a singularity without growth if its
    # bend (λ+t) ρ² ≤ 1; beside the others there is none up to (λ+t)(1 − √ρ) left of the saddle.
    # So go that far with the one, and on with as much of a bend as all of them bear.
    share = squares / shifted**2
    bearable = 1.0 / np.maximum(shifted * share**2, 1e-300)
    far = bearable < bend
    limit = float((shifted * (1.0 - np.sqrt(share)))[far].min()) if far.any() else np.inf
    beyond = 0.5 * float(bearable.min()) if far.any() else 0.0

    # What the saddle's equation leaves over is rounding, and counts at high concentration.
    left = 1.0 - float((0.5 / shifted + squares / shifted**2).sum())
    drift = float((0.5 / shifted).sum()) + left
    pieces: list[ComplexArray] = []
    starts: list[ComplexArray] = []
    for block in range(1000):
        y = h * np.arange(block * _BLOCK, (block + 1) * _BLOCK)
        saturation = 1.0 + bend * y**2 / limit
        away = 1j * y - (bend / saturation + beyond) * y**2  # t − saddle
        z = shifted + away[:, None]
        # The exponent less that of the saddle, t − ½ Σ log z + Σ γ²/(4z), without its large terms that cancel.
        curved = (squares / (shifted**2 * z)).sum(axis=1)
        exponent = drift * away + curved * away**2 - 0.5 * np.log1p(away[:, None] / shifted).sum(axis=1)
        pieces.append(np.exp(exponent) * (1.0 + 2j * (bend / saturation**2 + beyond) * y))
        starts.append(z)
        if exponent[-1].real < -_NEGLIGIBLE:
            break
    weights, z = np.concatenate(pieces), np.vstack(starts)
    keep = np.abs(weights) > 1e-18 * np.abs(weights).max()
    weights, z = weights[keep], z[keep]
    weights[0] *= 0.5  # the two halves of the contour are mirror images
    total = float(weights.sum().real)
    dim = quadratic.size
    log_factor = 0.5 * (dim * np.log(np.pi) - float(np.log(shifted).sum())) + float(np.log(2.0 * h * total / np.pi))
    log_integral = top + saddle + float((squares / shifted).sum()) + log_factor
    variances = 0.5 / z
    return SphereMixture(log_integral, weights / total, linear * variances, variances, shifted, linear, log_factor)


def _saddle(rates: FloatArray, squares: FloatArray) -> float:
    """T > 0 with Σ 1/(2(λ+t)) + γ²/(4(λ+t)²) = 1.

    With g the left side, 1/√g is increasing and concave, so Newton for 1/√g = 1 from the left of the root goes up to
    it; at high concentration it is nearly linear, and a few steps do.
    """
    lowest = rates == 0.0
    t = 0.25 * float(lowest.sum() + np.sqrt(lowest.sum() ** 2 + 16.0 * squares[lowest].sum()))
    for _ in range(200):
        shifted = rates + t
        g = float((0.5 / shifted + squares / shifted**2).sum())
        slope = float((0.5 / shifted**2 + 2.0 * squares / shifted**3).sum())
        step = 2.0 * g * (np.sqrt(g) - 1.0) / slope
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t


@lru_cache(maxsize=32)
def _upper(D: int) -> tuple[IntArray, IntArray]:
    """Indices i ≤ j; NumPy makes them anew each time."""
    return np.triu_indices(D)


def _real(array: ComplexArray) -> FloatArray:
    return np.ascontiguousarray(array.real)
