"""Exact draws from exp(l·x + xᵀSx) on a sphere: rejection from an angular central Gaussian.

Draws from the envelope are directions of normal vectors, symmetric under x → −x.  So x and −x are
proposed together: the pair is accepted for its joint density and then one of the two is chosen.
With a = ‖l‖ and u = l·x/a, log cosh(a u) is concave in u², which bounds the pair by a Bingham density,

    log cosh(a u) ≤ log cosh(a v) + a tanh(a v)/(2v) (u² − v²)   for every v in (0, 1],

and that one in turn by the angular central Gaussian (Kent, Ganeiban and Mardia 2018).  v is chosen
for the largest acceptance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_dots, row_norms

__all__ = ["AngularEnvelope"]

_BLOCK = 2**17


@dataclass(frozen=True)
class AngularEnvelope:
    """The envelope of one density.

    In the coordinates x′ = axesᵀx the Bingham bound is exp(constant − Σ rates x′²), rates ≥ 0, and the
    envelope of that is (Σ (1 + 2 rates/b) x′²)^(−D/2) times a constant.

    Attributes
    ----------
    linear, quadratic
        The density's l, shape (D,), and S, shape (D, D).
    axes, rates
        Principal axes (D, D) and rates (D,) of the bound.
    b
        The parameter of the angular central Gaussian.
    log_bound
        The largest value of log density of a pair minus log of (…)^(−D/2).
    log_integral
        Logarithm of the envelope's integral for one point: the acceptance is what the density's is
        below it.
    """

    linear: FloatArray
    quadratic: FloatArray
    axes: FloatArray
    rates: FloatArray
    b: float
    log_bound: float
    log_integral: float

    @property
    def embedding_dim(self) -> int:
        """D."""
        return self.linear.size

    @staticmethod
    def over(linear: FloatArray, quadratic: FloatArray) -> AngularEnvelope:
        """The envelope with the largest acceptance over v."""
        return _best_envelope(linear.tobytes(), quadratic.tobytes())

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws from the density, shape (n, D)."""
        out = np.empty((n, self.embedding_dim))
        filled = drawn = 0
        while filled < n:
            share = max(filled, 1) / drawn if drawn else 0.5
            block = int(min(_BLOCK, 1.1 * (n - filled) / share + 64))
            X, accepted = self.propose(block, rng)
            X = X[accepted][: n - filled]
            out[filled : filled + len(X)] = X
            filled += len(X)
            drawn += block
        return out

    def propose(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Proposals, shape (n, D), and which of them are accepted as draws from the density."""
        D = self.embedding_dim
        stretch = 1.0 + 2.0 * self.rates / self.b
        Z = rng.standard_normal((n, D)) / np.sqrt(stretch)
        Z /= row_norms(Z)[:, None]
        X = Z @ self.axes.T
        lean = X @ self.linear
        # log of (f(x) + f(−x))/2, without overflow: log cosh = |·| + log(1 + e^{−2|·|}) − log 2.
        size = np.abs(lean)
        log_pair = row_dots(X @ self.quadratic, X) + size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)
        log_accept = log_pair + 0.5 * D * np.log(row_dots(Z * stretch, Z)) - self.log_bound
        accepted = np.log(rng.random(n)) <= log_accept
        # Of the pair take x with probability f(x)/(f(x) + f(−x)).
        against = rng.random(n) * (1.0 + np.exp(-2.0 * size)) > 1.0
        X[against != (lean < 0.0)] *= -1.0
        return X, accepted


@lru_cache(maxsize=16)  # whoever draws blocks or simulates asks for the same one again and again
def _best_envelope(linear_bytes: bytes, quadratic_bytes: bytes) -> AngularEnvelope:
    linear = np.frombuffer(linear_bytes)
    quadratic = np.frombuffer(quadratic_bytes).reshape(linear.size, linear.size)
    if not linear.any():
        return _envelope(linear, quadratic, 1.0)
    # The acceptance is smooth in v with one maximum or two; a grid and one refinement find it.
    grid = np.linspace(0.05, 1.0, 20)
    for _ in range(2):
        found = [_envelope(linear, quadratic, float(v)) for v in grid]
        best = int(np.argmin([envelope.log_integral for envelope in found]))
        step = grid[1] - grid[0]
        grid = np.clip(np.linspace(grid[best] - step, grid[best] + step, 9), 1e-3, 1.0)
    return found[best]


def _envelope(linear: FloatArray, quadratic: FloatArray, v: float) -> AngularEnvelope:
    D = linear.size
    a = float(np.linalg.norm(linear))
    bound, constant = quadratic, 0.0
    if a > 0.0:
        unit = linear / a
        slope = 0.5 * a * np.tanh(a * v) / v
        bound = quadratic + slope * np.outer(unit, unit)
        constant = a * v + float(np.log1p(np.exp(-2.0 * a * v))) - float(np.log(2.0)) - slope * v * v
    values, axes = np.linalg.eigh(bound)
    rates = values[-1] - values
    constant += float(values[-1])
    b = _solve_b(rates)
    # max over w ≥ 0 of −w + (D/2) log(1 + 2w/b): at w = (D − b)/2.
    log_bound = constant - 0.5 * (D - b) + 0.5 * D * float(np.log(D / b))
    # ∫ (Σ ω x²)^(−D/2) = area of the sphere / sqrt(Π ω).
    log_area = np.log(2.0) + 0.5 * D * np.log(np.pi) - lgamma(0.5 * D)
    log_integral = log_bound + log_area - 0.5 * float(np.log1p(2.0 * rates / b).sum())
    return AngularEnvelope(linear, quadratic, axes, rates, b, log_bound, float(log_integral))


def _solve_b(rates: FloatArray) -> float:
    """B > 0 with Σ 1/(b + 2 rate) = 1, the best one; between 1 and D."""
    b = float(np.count_nonzero(rates == 0.0))
    for _ in range(100):  # decreasing and convex: Newton from the left goes up to the root
        shifted = b + 2.0 * rates
        step = (float((1.0 / shifted).sum()) - 1.0) / float((1.0 / shifted**2).sum())
        b += step
        if abs(step) <= 1e-14 * b:
            break
    return b
