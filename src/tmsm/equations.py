"""Many equations for one estimate: E[⟨V, ψ⟩ + div V] = 0 for every field V that does not cross the border.

Three kinds of fields are stacked, with g = 1 − exp(−d/s) at some scale s, so that V·ν = 0 on any border:

    statistics   V = W ∇t      the equations of a weight W, at two scales
    gradients    V = g ∇h      h a polynomial that the model does not have
    streams      V = J∇(g h)   J a right angle (dimension two): free of divergence, and along the border, where the
                               other two vanish, it keeps its size

ψ is linear in θ, so all of them together are A θ + b with A of shape (m, p).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tmsm.arrays import FloatArray, IntArray, weighted_gram
from tmsm.groups import GroupSums, require_groups
from tmsm.models.base import Model
from tmsm.moments import BlockTerms, LinearSums, LogExposure, MomentSpec, exposure_terms
from tmsm.polynomials import LocalPolynomials, PolynomialValues
from tmsm.rows import Block, Rows
from tmsm.weights import Combined, Constant, EquationPart, Weight

__all__ = [
    "EquationSpec",
    "EquationSums",
    "ResidualSums",
    "TiltedSums",
    "equation_residuals",
    "sum_equations",
    "sum_residuals",
    "tilt_equations",
]

# Tilting factors stay between e^−2 and e^2.
_MAX_TILT = 2.0
# What is left of a row that determines the estimate nearly alone.
_LEAST_REST = 0.5


@dataclass(frozen=True)
class EquationSpec:
    """What turns a row into its m equations: model, resolved weights, coordinates and known exposure."""

    model: Model
    weight: Combined
    parts: tuple[EquationPart, ...]
    polynomials: LocalPolynomials
    log_exposure: LogExposure | None = None
    has_border: bool = True

    @property
    def n_statistics(self) -> int:
        """Number p of statistics, and of equations in a part of that kind."""
        return self.model.n_statistics(self.polynomials.manifold.embedding_dim)

    def size(self, part: EquationPart) -> int:
        """Number of equations in a part."""
        return part.size(self.n_statistics, self.polynomials.manifold.dim)

    @property
    def size_of_all(self) -> int:
        """Number m of equations in all parts."""
        return sum(self.size(part) for part in self.parts)

    def n_equations(self, n_free: int) -> int:
        """How many are left for a family with so many free parameters."""
        return len(self.part_numbers(n_free))

    def part_numbers(self, n_free: int) -> IntArray:
        """Which part each of those equations belongs to, shape (m',)."""
        sizes = [part.size(n_free, self.polynomials.manifold.dim) for part in self.parts]
        return np.repeat(np.arange(len(sizes)), sizes)

    def reduction(self, tangent: FloatArray) -> FloatArray:
        """The matrix, shape (m', m), that keeps of the statistics' equations those along a tangent (p, k)."""
        blocks = [tangent.T if part.kind == "statistics" else np.eye(self.size(part)) for part in self.parts]
        matrix = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
        row = column = 0
        for block in blocks:
            matrix[row : row + len(block), column : column + block.shape[1]] = block
            row, column = row + len(block), column + block.shape[1]
        return matrix

    def weight_of(self, part: EquationPart) -> Weight:
        """The weight of a part."""
        return self.weight.weight_of(part) if self.has_border else Constant()


@dataclass(frozen=True)
class EquationSums(LinearSums):
    """Additive sums over rows of w, w A_i (m, p) and w b_i (m,)."""

    n: int
    weight_sum: float
    A_sum: FloatArray
    b_sum: FloatArray
    farthest: float

    def __add__(self, other: EquationSums) -> EquationSums:
        return EquationSums(
            self.n + other.n,
            self.weight_sum + other.weight_sum,
            self.A_sum + other.A_sum,
            self.b_sum + other.b_sum,
            max(self.farthest, other.farthest),
        )


@dataclass(frozen=True)
class ResidualSums:
    """Sums over rows of w, w², w e, w² e and w² e eᵀ, e_i = A_i θ + b_i.

    Of rows in groups also those of w e and w over each group, shape (G, m + 1).
    """

    weight_sum: float
    weight_squares: float
    total: FloatArray
    squares_total: FloatArray
    squares: FloatArray
    by_group: FloatArray | None = None

    @classmethod
    def of(cls, e: FloatArray, w: FloatArray | None) -> ResidualSums:
        """The sums of some rows, e of shape (n, m)."""
        if w is None:
            total = e.sum(axis=0)
            return cls(float(len(e)), float(len(e)), total, total, weighted_gram(e, None))
        return cls(float(w.sum()), float(w @ w), w @ e, w**2 @ e, weighted_gram(e, w**2))

    def __add__(self, other: ResidualSums) -> ResidualSums:
        return ResidualSums(
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            self.total + other.total,
            self.squares_total + other.squares_total,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of e, shape (m,)."""
        return self.total / self.weight_sum

    @property
    def covariance(self) -> FloatArray:
        """Covariance of that mean, Σ w² (e − ē)(e − ē)ᵀ / (Σw)², shape (m, m); of groups with their sums for e."""
        mean = self.mean
        if self.by_group is not None:
            count = int(np.count_nonzero(self.by_group[:, -1]))
            require_groups(count)
            return weighted_gram(self.group_parts, None) * (count / (count - 1.0)) / self.weight_sum**2
        cross = np.outer(mean, self.squares_total)
        spread: FloatArray = self.squares - cross - cross.T + self.weight_squares * np.outer(mean, mean)
        return spread / self.weight_sum**2

    @property
    def group_parts(self) -> FloatArray:
        """Σ w (e − ē) over the rows of each group, shape (G, m)."""
        assert self.by_group is not None, "the rows come in groups"
        parts: FloatArray = self.by_group[:, :-1] - np.outer(self.by_group[:, -1], self.mean)
        return parts

    @property
    def effective_number(self) -> float:
        """(Σw)²/Σw², of groups with their sums for w."""
        squares = self.weight_squares if self.by_group is None else float(self.by_group[:, -1] @ self.by_group[:, -1])
        return self.weight_sum**2 / squares


@dataclass(frozen=True)
class TiltedSums:
    """Sums over rows with and without a tilt π that makes the equations hold.

    ``plain`` is Σ w² (e − ē)(e − ē)ᵀ / (1 − h)², with each row's leverage h taken out; ``squares`` is Σ w²π e eᵀ, and
    ``equations`` are those with weights wπ.
    """

    plain: FloatArray
    squares: FloatArray
    equations: EquationSums

    def __add__(self, other: TiltedSums) -> TiltedSums:
        return TiltedSums(self.plain + other.plain, self.squares + other.squares, self.equations + other.equations)


def sum_equations(spec: EquationSpec, rows: Rows) -> EquationSums | None:
    """One pass: the means of A_i and b_i; None if no row lies inside."""
    return rows.total(lambda block: _block_sums(_terms(spec, block), block))


def sum_residuals(spec: EquationSpec, rows: Rows, theta: FloatArray) -> ResidualSums:
    """One pass: the mean of e_i = A_i θ + b_i and its covariance."""
    by_group = None if rows.groups is None else GroupSums(rows.groups.count, spec.size_of_all + 1)

    def block_sums(block: Block) -> ResidualSums:
        e = _residuals(_terms(spec, block), theta)
        if by_group is not None and block.groups is not None:
            w = block.weights()
            by_group.add(block.groups, np.column_stack([e * w[:, None], w]))
        return ResidualSums.of(e, block.sample_weight)

    sums = rows.total(block_sums)
    assert sums is not None, "there are rows inside"
    return sums if by_group is None else replace(sums, by_group=by_group.totals)


def tilt_equations(
    spec: EquationSpec,
    rows: Rows,
    theta: FloatArray,
    mean: FloatArray,
    multiplier: FloatArray,
    metric: FloatArray,
    weight_sum: float,
) -> TiltedSums:
    """One pass with each row's weight multiplied by exp(−λ·(e_i − ē) w_i / Σw), which pulls the mean of e to zero.

    Sums with such weights are, to the order that matters, not correlated with the mean of e: an estimate that
    uses them has no bias from its number of equations (Newey and Smith 2004).  A row's leverage on the estimate is
    (e_i − ē)ᵀ M (e_i − ē) w_i² / (Σw)², with a metric M of shape (m, m).  Rows in groups are tilted group by group,
    with sums over the group for w_i e_i.
    """
    if rows.groups is not None:
        return _tilt_groups(spec, rows, theta, multiplier, metric)

    def block_sums(block: Block) -> TiltedSums:
        terms = _terms(spec, block)
        e = _residuals(terms, theta)
        w = block.weights()
        away = e - mean
        share = w / weight_sum
        tilt = np.exp(np.clip(-share * (away @ multiplier), -_MAX_TILT, _MAX_TILT))
        leverage = share**2 * np.einsum("ij,ij->i", away @ metric, away)
        return TiltedSums(
            weighted_gram(away, (w / np.maximum(1.0 - leverage, _LEAST_REST)) ** 2),
            weighted_gram(e, w**2 * tilt),
            _block_sums(terms, replace(block, sample_weight=w * tilt)),
        )

    sums = rows.total(block_sums)
    assert sums is not None, "there are rows inside"
    return sums


def _tilt_groups(
    spec: EquationSpec, rows: Rows, theta: FloatArray, multiplier: FloatArray, metric: FloatArray
) -> TiltedSums:
    residuals = sum_residuals(spec, rows, theta)
    assert residuals.by_group is not None
    parts, W = residuals.group_parts, residuals.weight_sum
    tilt = np.exp(np.clip(-(parts @ multiplier) / W, -_MAX_TILT, _MAX_TILT))
    leverage = np.einsum("ij,ij->i", parts @ metric, parts) / W**2

    def block_sums(block: Block) -> EquationSums:
        return _block_sums(_terms(spec, block), replace(block, sample_weight=block.weights() * tilt[block.groups]))

    equations = rows.total(block_sums)
    assert equations is not None
    return TiltedSums(
        weighted_gram(parts, np.maximum(1.0 - leverage, _LEAST_REST) ** -2.0),
        weighted_gram(residuals.by_group[:, :-1], tilt),
        equations,
    )


def equation_residuals(
    spec: EquationSpec, rows: Rows, theta: FloatArray, combinations: FloatArray | None = None
) -> FloatArray:
    """e_i = A_i θ + b_i of every row inside the region, shape (n, m), or combinations (q, m) of them, shape (n, q).

    For tables that are short.
    """

    def block_residuals(block: Block) -> FloatArray:
        e = _residuals(_terms(spec, block), theta)
        return e if combinations is None else e @ combinations.T

    return np.concatenate(list(rows.map(block_residuals)))


def _terms(spec: EquationSpec, block: Block) -> Terms:
    known: Terms | None = block.known_terms(spec)
    if known is not None:
        return known
    terms: list[BlockTerms | _PolynomialTerms] = []
    degree = max((max(part.degrees) for part in spec.parts if part.degrees), default=None)
    polynomials = None if degree is None else spec.polynomials.evaluate(block.X, degree)
    for part in spec.parts:
        if part.kind == "statistics":
            terms.append(BlockTerms(MomentSpec(spec.model, spec.weight_of(part), spec.log_exposure), block))
        else:
            assert polynomials is not None
            terms.append(_PolynomialTerms(spec, part, block, polynomials.of_degrees(part.degrees)))
    return terms


def _block_sums(terms: Terms, block: Block) -> EquationSums:
    """Sums of terms that were made for the rows of a block, with the block's weights."""
    n, w = len(block.X), block.sample_weight
    for term in terms:
        term.w = w
    return EquationSums(
        n,
        float(n) if w is None else float(w.sum()),
        np.concatenate([term.A_sum() for term in terms]),
        np.concatenate([term.b_sum() for term in terms]),
        block.farthest,
    )


def _residuals(terms: Terms, theta: FloatArray) -> FloatArray:
    return np.concatenate([term.residuals(theta) for term in terms], axis=1)


class _PolynomialTerms:
    """The equations of gradients or streams at one block."""

    def __init__(self, spec: EquationSpec, part: EquationPart, block: Block, h: PolynomialValues) -> None:
        self.model = spec.model
        self.X, self.w = block.X, block.sample_weight
        self.streams = part.kind == "streams"
        self.manifold = block.view.region.manifold
        field = spec.weight_of(part).field(block.view)
        self.g = np.broadcast_to(np.asarray(field.isotropic), len(self.X))
        self.g_gradient = field.flux(np.zeros_like(self.X))
        self.h = h
        constant = np.zeros_like(self.h.values)
        if not self.streams:  # div V = g Δh + ⟨∇g, ∇h⟩
            constant = self.h.laplacians * self.g[:, None] + self.h.gradient_dot(self.g_gradient)
        if spec.log_exposure is not None:
            _, gradient = exposure_terms(spec.log_exposure, self.X)
            constant += self._along(self.manifold.project_tangent(self.X, gradient))
        self.constant = constant

    def _along(self, U: FloatArray) -> FloatArray:
        """⟨V, u⟩ for tangent rows U (n, D), shape (n, m)."""
        if not self.streams:
            along: FloatArray = self.h.gradient_dot(U) * self.g[:, None]
            return along
        # ⟨J∇(g h), u⟩ = −⟨g ∇h + h ∇g, J u⟩
        turned = self.manifold.quarter_turn(self.X, U)
        across = np.einsum("ij,ij->i", self.g_gradient, turned)
        streams: FloatArray = self.h.gradient_dot(turned) * self.g[:, None] + self.h.values * across[:, None]
        return -streams

    def residuals(self, theta: FloatArray) -> FloatArray:
        return self._along(self.model.log_gradient(self.X, theta)) + self.constant

    def A_sum(self) -> FloatArray:
        p = self.model.n_statistics(self.X.shape[1])
        columns = [self._sum(self._along(self.model.log_gradient(self.X, e))) for e in np.eye(p)]
        return np.stack(columns, axis=1)

    def b_sum(self) -> FloatArray:
        return self._sum(self.constant)

    def _sum(self, rows: FloatArray) -> FloatArray:
        total: FloatArray = rows.sum(axis=0) if self.w is None else self.w @ rows
        return total


Terms = Sequence[BlockTerms | _PolynomialTerms]
