"""Densities exp(θ_b·t_b(y) + (θ_a + Λ t_b(y))·t_a(x)) where y has dimension one.

They are known through the marginal density of y,

    f(y) ∝ exp(θ_b·t_b(y)) Z_a(θ_a + Λ t_b(y)),   Z_a(θ) = ∫ exp(θ·t_a(x)) dx,

and that of x given y, which is one of the family of x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.manifolds import Curve, Manifold
from tmsm.models.base import LinearModel

__all__ = ["Marginal", "has_marginal", "no_marginal"]

# A density is followed until its logarithm is lower by this much than where it is highest.
_DEPTH = 45.0
# Panels of the integral over y, each with a Gauss rule of so many points.
_PANELS, _POINTS = 48, 8
# Cells that draws of y come from; more of them where the density changes too much inside one.
_CELLS, _MAX_CELLS = 512, 2**17
# By how much the logarithm of the density may be higher somewhere in a cell than in its middle.
_RISE = 0.5


def has_marginal(manifold: Manifold) -> bool:
    """Whether a manifold is a curve that can be integrated along."""
    return manifold.dim == 1 and isinstance(_curve(manifold, -1.0, 1.0), Curve)


@dataclass(frozen=True)
class Marginal:
    """The two families and their parameters.

    Attributes
    ----------
    given
        The family of x.
    along
        The family of y, on a manifold of dimension one.
    theta, own, coupling
        θ_a, shape (p_a,), θ_b, shape (p_b,), and Λ, shape (p_a, p_b).
    """

    given: LinearModel
    along: LinearModel
    theta: FloatArray
    own: FloatArray
    coupling: FloatArray

    def conditional(self, Y: FloatArray) -> FloatArray:
        """Natural parameters of x given y, shape (n, p_a)."""
        found: FloatArray = self.theta + self.along.statistics(Y) @ self.coupling.T
        return found

    def log_density(self, Y: FloatArray) -> FloatArray:
        """Log f up to a constant, shape (n,); an error where x has no density given some y."""
        partition = self._partition()
        logs: FloatArray = np.array([partition(theta) for theta in self.conditional(Y)])
        logs += self.along.statistics(Y) @ self.own
        return logs

    def _partition(self) -> Callable[[FloatArray], float]:
        """Log Z_a: what is left out of the family's own kernel is seen at one point."""
        manifold, model = self.given.manifold, self.given
        flat = np.zeros((1, manifold.embedding_dim))
        point = flat if manifold.contains(flat).all() else manifold.scattered(1, np.random.default_rng(0))
        t = model.statistics(point)[0]

        def log_integral(theta: FloatArray) -> float:
            try:
                return model.log_normaliser(theta) + float(t @ theta) - float(model.log_kernel(point, theta)[0])
            except EstimationError as error:
                raise EstimationError(f"The density cannot be normalised over the whole manifold. {error}") from error

        return log_integral

    def curve(self) -> Curve:
        """Where y has its mass, by length."""
        manifold = self.along.manifold
        if manifold.is_closed:
            found = _curve(manifold, -1.0, 1.0)
        else:
            found = _curve(manifold, *_window(lambda s: self.log_density(_points(manifold, s))))
        assert found is not None, "has_marginal() comes first"
        return found

    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """Points y, shape (m, D), and logarithms of f times the length that each stands for, shape (m,)."""
        curve = self.curve()
        x, w = np.polynomial.legendre.leggauss(_POINTS)
        ends = np.linspace(curve.low, curve.high, _PANELS + 1)
        half = 0.5 * np.diff(ends)
        Y = curve.points((0.5 * (ends[1:] + ends[:-1])[:, None] + half[:, None] * x).ravel())
        return Y, self.log_density(Y) + np.log((half[:, None] * w).ravel())

    def log_integral(self) -> float:
        """Logarithm of the integral of the whole density."""
        logs = self._nodes()[1]
        top = float(logs.max())
        return top + float(np.log(np.exp(logs - top).sum()))

    def moments(self) -> tuple[float, FloatArray, FloatArray]:
        """Log of the integral, mean and covariance of (1, t_a) ⊗ (1, t_b) without its first entry.

        In the order (1, t_b), then t_a,1 (1, t_b), and so on.
        """
        Y, logs = self._nodes()
        top = float(logs.max())
        share = np.exp(logs - top)
        total = float(share.sum())
        share /= total
        heavy = share > 1e-17
        q = 1 + self.own.size
        size = (1 + self.theta.size) * q
        mean, second = np.zeros(size), np.zeros((size, size))
        for y, theta, weight in zip(
            self.along.statistics(Y[heavy]), self.conditional(Y[heavy]), share[heavy], strict=True
        ):
            expected, spread = self.given.expectation(theta)
            augmented = np.concatenate([[1.0], y])
            here = np.concatenate([[1.0], expected])
            both = np.outer(here, here)
            both[1:, 1:] += spread
            mean += weight * np.kron(here, augmented)
            second += weight * np.kron(both, np.outer(augmented, augmented))
        covariance = second - np.outer(mean, mean)
        return top + float(np.log(total)), mean[1:], covariance[1:, 1:]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Independent draws of x and y: cells of y by f in their middle, x given that, and a rejection that is exact.

        A proposal has x from its density given the middle y₀ of the cell and y uniform in the cell.  The density
        that is wanted has, up to a constant, (θ_b + Λᵀt_a(x))·(t_b(y) − t_b(y₀)) more in its logarithm.
        """
        curve, cells = self.curve(), _CELLS
        while True:
            found = self._proposals(curve, cells, n, rng)
            if found is not None:
                return found
            cells *= 4
            if cells > _MAX_CELLS:
                raise EstimationError("The density changes too fast along one factor to be drawn from.")

    def _proposals(
        self, curve: Curve, cells: int, n: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray] | None:
        """Exactly n draws; None where cells are too wide for the bound to hold."""
        width = (curve.high - curve.low) / cells
        middles: FloatArray = np.asarray(curve.low + width * (np.arange(cells) + 0.5), dtype=np.float64)
        Y0 = curve.points(middles)
        logs = self.log_density(Y0)
        share = np.exp(logs - logs.max())
        share /= share.sum()
        t0, conditional = self.along.statistics(Y0), self.conditional(Y0)
        kept_x, kept_y, n_kept = [np.empty((0, self.given.embedding_dim))], [np.empty((0, Y0.shape[1]))], 0
        while n_kept < n:
            counts = rng.multinomial(int(1.8 * (n - n_kept)) + 16, share)
            used = np.flatnonzero(counts)
            X = np.concatenate([self._draw_given(int(counts[k]), rng, conditional[k]) for k in used])
            cell = np.repeat(used, counts[used])
            Y = curve.points(middles[cell] + width * (rng.random(len(cell)) - 0.5))
            slope = self.own + self.given.statistics(X) @ self.coupling
            rise = row_dots(slope, self.along.statistics(Y) - t0[cell])
            if rise.max() > _RISE:
                return None
            accepted = np.log(rng.random(len(cell))) <= rise - _RISE
            kept_x.append(X[accepted])
            kept_y.append(Y[accepted])
            n_kept += int(np.count_nonzero(accepted))
        X, Y = np.concatenate(kept_x), np.concatenate(kept_y)
        # The proposals come cell by cell: in another order the first n are like any others.
        chosen = rng.permutation(len(X))[:n]
        return X[chosen], Y[chosen]

    def _draw_given(self, n: int, rng: np.random.Generator, theta: FloatArray) -> FloatArray:
        if not theta.any() and self.given.manifold.is_closed:
            return self.given.manifold.uniform(n, rng)
        return self.given.draw(n, rng, **self.given.parameters(theta))


def _curve(manifold: Manifold, low: float, high: float) -> Curve | None:
    corner = (1.0,) * manifold.embedding_dim
    window = None if manifold.is_closed else (tuple(low * c for c in corner), tuple(high * c for c in corner))
    found = manifold.charts(window)
    return found if isinstance(found, Curve) else None


def _points(manifold: Manifold, s: FloatArray) -> FloatArray:
    """Points of a line by length."""
    curve = _curve(manifold, -1.0, 1.0)
    assert curve is not None
    return curve.points(s)


def _window(log_density: Callable[[FloatArray], FloatArray]) -> tuple[float, float]:
    """Where on a line a density has all of its mass but e^−45 of its height; an error where it does not fall off."""
    sizes = 2.0 ** np.arange(-40, 61)
    s = np.concatenate([-sizes[::-1], [0.0], sizes])
    values = log_density(s)
    best = int(np.argmax(values))
    if best in (0, len(s) - 1) or not np.isfinite(values[best]):
        raise _endless()
    low, high = s[best - 1], s[best + 1]
    for _ in range(60):  # narrow down to the highest place between its neighbours
        inner = np.linspace(low, high, 9)
        k = min(max(int(np.argmax(log_density(inner))), 1), 7)
        low, high = inner[k - 1], inner[k + 1]
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            break
    for _ in range(8):
        mode = 0.5 * (low + high)
        top = float(log_density(np.array([mode]))[0])
        ends = [mode + sign * _fall(log_density, mode, sign, top) for sign in (-1.0, 1.0)]
        grid = np.linspace(ends[0], ends[1], 257)
        values = log_density(grid)
        k = int(np.argmax(values))
        if values[k] <= top + 1.0:
            return ends[0], ends[1]
        low = high = grid[k]  # a higher mode beside this one
    return ends[0], ends[1]


def _fall(log_density: Callable[[FloatArray], FloatArray], mode: float, sign: float, top: float) -> float:
    """How far a density must be followed to one side until it has fallen by e^−45."""
    reach = 2.0 ** np.arange(-60.0, 101.0)
    below = log_density(mode + sign * reach) < top - _DEPTH
    if not below[-1]:
        raise _endless()
    # From the last place where it has not.
    last = int(np.flatnonzero(~below)[-1]) if not below.all() else 0
    inside, outside = reach[last], reach[min(last + 1, len(reach) - 1)]
    for _ in range(6):
        middle = 0.5 * (inside + outside)
        if log_density(np.array([mode + sign * middle]))[0] < top - _DEPTH:
            outside = middle
        else:
            inside = middle
    return float(outside)


def _endless() -> EstimationError:
    return EstimationError(
        "The density cannot be normalised over the whole manifold: it does not fall off along one factor. Inside a "
        "region it may still be a density."
    )


def no_marginal(name: str, what: str) -> InvalidInputError:
    """Of a product without a factor of dimension one."""
    return InvalidInputError(
        f"{name} has {what} only where one of its two factors has dimension one, a circle or a line: the other one is "
        "then integrated over in closed form."
    )
