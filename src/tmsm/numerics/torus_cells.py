"""Exact draws from a density ∝ exp f on the torus, f a trigonometric polynomial, by rejection from cells.

In a cell with centre c and half-width r, and with δ = φ − c,

    f(φ) ≤ f(c) + ∇f(c)·δ + B,   B = d r² max(λ, 0)/2 + (d r²)^{3/2} T/6,

λ the largest eigenvalue of the second derivative at c and T = Σ |θ_k| |k|³ a bound of the third one.  The right-hand
side is a product of exponentials, which is drawn from by its inverse distribution function.  Cells are halved where
they lose most, so that their number hardly depends on the concentration; it grows like 10^d with the dimension d.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError

__all__ = ["TorusCells", "torus_cells"]

# Mean of what a proposal loses, in logarithms, below which cells are fine enough.
_LOSS = 0.5
_MAX_CELLS = 400_000
# Cells with a smaller share are not halved.
_SHARE = 1e-12
_BLOCK = 2**17


@dataclass(frozen=True)
class TorusCells:
    """Cells that cover the torus: centres (c, d), half-widths (c,), and f, ∇f and B of each.

    Attributes
    ----------
    modes, theta
        Of f, shapes (m, d) and (2m,).
    shares
        Of the proposals that each cell gets, shape (c,).
    """

    modes: IntArray
    theta: FloatArray
    centres: FloatArray
    half: FloatArray
    value: FloatArray
    slope: FloatArray
    excess: FloatArray
    shares: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """N independent draws, angles within a few units of rounding of [−π, π], shape (n, d)."""
        d = self.centres.shape[1]
        out = np.empty((n, d))
        ends = np.cumsum(self.shares)
        filled, rate = 0, np.exp(-_LOSS)
        while filled < n:
            size = min(_BLOCK, int(1.1 * (n - filled) / rate) + 16)
            cell = np.minimum(np.searchsorted(ends, ends[-1] * rng.random(size), side="right"), len(ends) - 1)
            half = self.half[cell]
            slope = self.slope[cell]
            delta = half[:, None] * _tilted(slope * half[:, None], 1.0 - rng.random((size, d)))
            phi = self.centres[cell] + delta
            bound = self.value[cell] + np.einsum("ij,ij->i", slope, delta) + self.excess[cell]
            kept = phi[np.log1p(-rng.random(size)) <= _values(self.modes, self.theta, phi) - bound]
            rate = max(len(kept) / size, 0.01)
            kept = kept[: n - filled]
            out[filled : filled + len(kept)] = kept
            filled += len(kept)
        return out


def torus_cells(modes: IntArray, theta: FloatArray) -> TorusCells:
    """Cells for f = Σ_k a_k cos(k·φ) + b_k sin(k·φ): modes k (m, d), theta a_k and b_k in turn (2m,)."""
    d = modes.shape[1]
    corners = np.array(list(product((-0.5, 0.5), repeat=d)))
    centres, half = np.zeros((1, d)), np.full(1, np.pi)
    parts = _bounds(modes, theta, centres, half)
    while True:
        log_mass = parts["value"] + parts["excess"] + _log_box(parts["slope"], half)
        shares = np.exp(log_mass - log_mass.max())
        shares /= shares.sum()
        loss = shares * np.minimum(parts["loss"], 2.0)
        if loss.sum() <= _LOSS:
            return TorusCells(modes, theta, centres, half, parts["value"], parts["slope"], parts["excess"], shares)
        split = (loss > 0.2 * _LOSS / len(loss)) & (shares > _SHARE)
        if not len(half) + np.count_nonzero(split) * (len(corners) - 1) <= _MAX_CELLS:
            raise InvalidInputError(
                f"There is no sampler for this density on the torus of {d} angles: rejection would need more than "
                f"{_MAX_CELLS:,} cells. It is for up to about four angles, and for five where they hardly depend on "
                "each other."
            )
        finer = (centres[split][:, None, :] + half[split][:, None, None] * corners).reshape(-1, d)
        finer_half = np.repeat(0.5 * half[split], len(corners))
        fresh = _bounds(modes, theta, finer, finer_half)
        keep = ~split
        parts = {name: np.concatenate([part[keep], fresh[name]]) for name, part in parts.items()}
        centres, half = np.concatenate([centres[keep], finer]), np.concatenate([half[keep], finer_half])


def _bounds(modes: IntArray, theta: FloatArray, centres: FloatArray, half: FloatArray) -> dict[str, FloatArray]:
    """F, its gradient, B, and the mean loss in each cell."""
    d = modes.shape[1]
    pairs = theta.reshape(-1, 2)
    size, length = np.hypot(pairs[:, 0], pairs[:, 1]), np.sqrt((modes**2).sum(axis=1))
    phase = centres @ modes.T
    cos, sin = np.cos(phase), np.sin(phase)
    waves = cos * pairs[:, 0] + sin * pairs[:, 1]
    slope = (cos * pairs[:, 1] - sin * pairs[:, 0]) @ modes
    second = -np.einsum("ck,ki,kj->cij", waves, modes, modes)
    reach = d * half**2  # the largest |δ|²
    largest = np.linalg.eigvalsh(second)[:, -1]
    third = 0.5 * reach * np.maximum(largest, 0.0) + reach**1.5 * float(size @ length**3) / 6.0
    excess = np.minimum(third, 0.5 * reach * float(size @ length**2))
    # δ has the variance r²/3 along each axis, about.
    loss = np.maximum(excess - np.trace(second, axis1=1, axis2=2) * half**2 / 6.0, 0.0)
    return {"value": waves.sum(axis=1), "slope": slope, "excess": excess, "loss": loss}


def _values(modes: IntArray, theta: FloatArray, phi: FloatArray) -> FloatArray:
    phase = phi @ modes.T
    values: FloatArray = np.cos(phase) @ theta[0::2] + np.sin(phase) @ theta[1::2]
    return values


def _log_box(slope: FloatArray, half: FloatArray) -> FloatArray:
    """Log ∫ exp(slope·δ) over each cell: Π 2r sinh(a)/a with a = slope r."""
    a = np.abs(slope * half[:, None])
    small = a < 1e-4
    safe = np.where(small, 1.0, a)
    log_sinhc = np.where(small, a * a / 6.0, safe + np.log(-np.expm1(-2.0 * safe) / (2.0 * safe)))
    logs: FloatArray = (log_sinhc + np.log(2.0 * half)[:, None]).sum(axis=1)
    return logs


def _tilted(a: FloatArray, u: FloatArray) -> FloatArray:
    """Draws with density ∝ exp(a t) on [−1, 1] from u, uniform in (0, 1]."""
    size = np.abs(a)
    small = size < 1e-6
    safe, flat = np.where(small, 1.0, size), 2.0 * u - 1.0
    steep = 1.0 + np.log(u + (1.0 - u) * np.exp(-2.0 * safe)) / safe
    up = np.where(small, flat + 0.5 * size * (1.0 - flat * flat), steep)
    return np.where(a < 0.0, -up, up)
