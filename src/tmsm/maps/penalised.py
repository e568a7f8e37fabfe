"""The penalised likelihood of a series inside a region, on nodes that stand for it.

    mean of θ·t over the rows − log ∫ e exp(θ·t) − ½ Σ ρ θ²

is concave in θ, so that Newton's method finds its only maximum from any start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError

__all__ = ["Maximum", "PenalisedLikelihood", "divergence"]

_MAX_STEPS, _MAX_GRADIENTS, _MAX_HALVINGS = 60, 20, 30
# A density on fewer nodes than this is not resolved.
_FEWEST_NODES = 16
# Steps that are found by conjugate gradients are right to this share of their squared length.
_ROUGHLY = 1e-2


class Maximum(NamedTuple):
    """θ (p,), the log of the integral and the mean of t (p,) there, minus the Hessian without and with the ridge."""

    theta: FloatArray
    log_integral: float
    mean: FloatArray
    information: FloatArray
    curvature: FloatArray


@final
@dataclass(frozen=True)
class PenalisedLikelihood:
    """Statistics at nodes, shape (m, p), and the logarithms of the nodes' areas, times a known exposure, (m,)."""

    t: FloatArray
    log_weights: FloatArray

    def log_integrals(self, theta: FloatArray) -> FloatArray:
        """Logarithms of ∫ e exp(θ·t) for k parameters (p, k), shape (k,)."""
        return self._shares(theta)[1]

    def _shares(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the nodes (m, k) and logarithms of the integrals (k,)."""
        q = self.t @ theta
        q += self.log_weights[:, None]
        top = q.max(axis=0)
        q -= top
        np.exp(q, out=q)
        total = q.sum(axis=0)
        q /= total
        return q, top + np.log(total)

    def at(self, theta: FloatArray, ridge: FloatArray) -> Maximum:
        """What belongs to a θ, whether it is the maximum or not."""
        q, log_integral = self._shares(theta[:, None])
        mean = q[:, 0] @ self.t
        root = self.t * np.sqrt(q)
        information = root.T @ root - np.outer(mean, mean)
        return Maximum(theta, float(log_integral[0]), mean, information, information + np.diag(ridge))

    def maximum(self, mean: FloatArray, ridge: FloatArray, start: FloatArray, tolerance: float) -> Maximum:
        """The maximum for rows with this mean of t (p,), a ridge ρ (p,), from a start (p,).

        It is found when the objective can grow by less than the tolerance.
        """
        theta, value = start, self._value(start, mean, ridge)
        for _ in range(_MAX_STEPS):
            here = self.at(theta, ridge)
            slope = mean - here.mean - ridge * theta
            step = _back(_factor(here.curvature), slope)
            gain = float(slope @ step)
            if gain <= 2.0 * tolerance:
                return self._resolved(here)
            size = 1.0
            for _ in range(_MAX_HALVINGS):
                further = theta + size * step
                reached = self._value(further, mean, ridge)
                if reached >= value + 0.1 * size * gain:
                    break
                size *= 0.5
            else:
                # Rounding hides what is left to be gained.
                return self._resolved(here)
            theta, value = further, reached
        raise divergence()

    def effective_nodes(self, theta: FloatArray) -> float:
        """On how many nodes the mass lies: one over the sum of their squared probabilities."""
        return 1.0 / float((self._shares(theta[:, None])[0] ** 2).sum())

    def _resolved(self, found: Maximum) -> Maximum:
        """A maximum whose mass lies on more than a few nodes; an error for another."""
        if self.effective_nodes(found.theta) < _FEWEST_NODES:
            raise EstimationError(
                "The rows lie so close together, or along a line, that nodes of the region do not resolve their "
                "density: use AdaptiveKernel, or a smaller region."
            )
        return found

    def maxima(
        self, means: FloatArray, ridge: FloatArray, near: Maximum, start: FloatArray, tolerance: float
    ) -> FloatArray:
        """The maxima for k means (p, k) that differ little from that of a maximum, from starts (p, k): shape (p, k).

        All of them take Newton steps at once.  The steps are found by conjugate gradients, for which the curvature of
        that maximum makes a good beginning: no other matrix is computed.
        """
        theta, factor = start, _factor(near.curvature)
        value = self._values(theta, means, ridge)
        for _ in range(_MAX_STEPS):
            q, _ = self._shares(theta)
            expected = self.t.T @ q
            slope = means - expected - ridge[:, None] * theta
            step = self._steps(q, expected, ridge, slope, factor)
            gain = (slope * step).sum(axis=0)
            todo = gain > 2.0 * tolerance
            if not todo.any():
                return theta
            size = np.where(todo, 1.0, 0.0)
            for _ in range(_MAX_HALVINGS):
                further = theta + size * step
                reached = self._values(further, means, ridge)
                short = todo & ~(reached >= value + 0.1 * size * gain)
                if not short.any():
                    break
                size[short] *= 0.5
            size[short] = 0.0  # rounding hides what is left to be gained
            theta, value = theta + size * step, np.where(size > 0.0, reached, value)
            if not (size > 0.0).any():
                return theta
        raise divergence()

    def _steps(
        self, q: FloatArray, expected: FloatArray, ridge: FloatArray, slope: FloatArray, factor: FloatArray
    ) -> FloatArray:
        """Newton steps (p, k) to a share of their length, by conjugate gradients."""
        step, rest = np.zeros_like(slope), slope.copy()
        near = _back(factor, rest)
        towards, size = near, (rest * near).sum(axis=0)
        first = size.copy()
        for _ in range(_MAX_GRADIENTS):
            along = self.t @ towards
            along *= q
            bent = self.t.T @ along - expected * (expected * towards).sum(axis=0) + ridge[:, None] * towards
            length = size / np.maximum((towards * bent).sum(axis=0), 1e-300)
            step, rest = step + length * towards, rest - length * bent
            near = _back(factor, rest)
            size, before = (rest * near).sum(axis=0), size
            if (size <= _ROUGHLY * first).all():
                break
            towards = near + size / np.maximum(before, 1e-300) * towards
        return step

    def _values(self, theta: FloatArray, means: FloatArray, ridge: FloatArray) -> FloatArray:
        """The objectives of k parameters (p, k) for k means (p, k), shape (k,)."""
        penalty = 0.5 * (ridge[:, None] * theta**2).sum(axis=0)
        return np.asarray((means * theta).sum(axis=0) - self.log_integrals(theta) - penalty)

    def _value(self, theta: FloatArray, mean: FloatArray, ridge: FloatArray) -> float:
        return float(self._values(theta[:, None], mean[:, None], ridge)[0])


def divergence() -> EstimationError:
    """What to say where a ridge is too small."""
    return EstimationError(
        "The smoothing does not converge: the rows determine no density of the series at this ridge. "
        "Use a larger smoothing, or a lower degree."
    )


def _factor(curvature: FloatArray) -> FloatArray:
    """A Cholesky factor; a ridge at the level of rounding keeps the matrix positive definite."""
    noise = 1e-13 * float(np.trace(curvature)) / len(curvature)
    for _ in range(12):
        try:
            return np.asarray(np.linalg.cholesky(curvature + noise * np.eye(len(curvature))), dtype=np.float64)
        except np.linalg.LinAlgError:
            noise *= 10.0
    raise divergence()


def _back(factor: FloatArray, slope: FloatArray) -> FloatArray:
    """The solution for one right side (p,) or several (p, k)."""
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), slope))
