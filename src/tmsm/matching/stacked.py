"""Many equations for one estimate: E[⟨V, ψ⟩ + div V] = 0 for every field V that does not cross the border.

Three kinds of fields are stacked, with g = 1 − exp(−d/s) at some scale s, so that V·ν = 0 on any border:

    statistics   V = W ∇s      the equations of a weight W, at two scales
    gradients    V = g ∇h      h a polynomial that the model does not have
    streams      V = J∇(g h)   J a right angle (dimension two): free of divergence, and along the border, where the
                               other two vanish, it keeps its size

Where ψ is linear in θ, all of them together are A θ + b with A of shape (m, p).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from tmsm.data.device_source import DeviceSource
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray, row_dots
from tmsm.matching.card_sums import CardPasses
from tmsm.matching.equations import Equations, Passes, Terms
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.polynomials import LocalPolynomials, PolynomialValues
from tmsm.models.base import Model
from tmsm.models.von_mises_fisher import VonMisesFisher
from tmsm.rowwise.kinds import FIELDS, MAX_DEGREE
from tmsm.rowwise.plans import StackPlan
from tmsm.weights import EquationPart, Weight

__all__ = ["Stacked", "block_diagonal"]

# Tables of fewer rows go by arrays: compiled code would be loaded for nothing.
_FEWEST_ROWS = 8192


@final
@dataclass(frozen=True)
class Stacked(Equations):
    """Model, parts with their resolved weights, coordinates of polynomials and known exposure."""

    model: Model
    parts: tuple[EquationPart, ...]
    polynomials: LocalPolynomials
    exposure: KnownExposure | None = None

    @property
    def is_linear(self) -> bool:
        return self.model.is_linear

    @property
    def is_combined(self) -> bool:
        return True

    @property
    def has_loops(self) -> bool:
        return self._plan is not None

    def passes(self, rows: Rows) -> Passes | None:
        plan, border = self._plan, rows.region.row_border
        on_card = isinstance(rows.source, DeviceSource) and rows.groups is None and len(rows) >= _FEWEST_ROWS
        if not on_card or plan is None or border is None:
            return None
        return CardPasses(self, plan, border, rows)

    @property
    def n_equations(self) -> int:
        return sum(self.size_of(part) for part in self.parts)

    def size_of(self, part: EquationPart) -> int:
        """Number of equations in a part."""
        return part.size(self.model.size, self.polynomials.manifold.dim)

    def part_numbers(self, n_free: int) -> IntArray:
        """Which part each equation belongs to that is left for a family with so many free parameters, shape (m',)."""
        sizes = [part.size(n_free, self.polynomials.manifold.dim) for part in self.parts]
        return np.repeat(np.arange(len(sizes)), sizes)

    def with_parts(self, parts: tuple[EquationPart, ...]) -> Stacked:
        """The same for other parts."""
        return replace(self, parts=parts)

    def reduction(self, tangent: FloatArray) -> FloatArray:
        """The matrix, shape (m', m), that keeps of the statistics' equations those along a tangent (p, k)."""
        return block_diagonal(
            [tangent.T if part.kind == "statistics" else np.eye(self.size_of(part)) for part in self.parts]
        )

    def terms(self, block: Block) -> Terms:
        known: Terms | None = block.known_terms(self)
        if known is not None:
            return known
        if max(block.of_rows, len(block.X)) >= _FEWEST_ROWS and (plan := self._plan) is not None:
            return _LoopedTerms(plan, block)
        degree = max((max(part.degrees) for part in self.parts if part.degrees), default=None)
        polynomials = None if degree is None else self.polynomials.evaluate(block.X, degree)
        gradient = None
        if polynomials is not None and self.exposure is not None:
            gradient = self.exposure.gradient(block.X)
        terms: list[Terms] = []
        fields: dict[tuple[str, Weight], _Field] = {}
        for part in self.parts:
            if part.kind == "statistics":
                terms.append(OneWeight(self.model, part.weight, self.exposure).terms(block))
                continue
            assert polynomials is not None
            key = part.kind, part.weight
            if key not in fields:
                kind = _Streams if part.kind == "streams" else _Gradients
                fields[key] = kind(self.model, part.weight, block, polynomials)
            terms.append(_PolynomialTerms(fields[key], polynomials.of_degrees(part.degrees), gradient))
        return _StackedTerms(terms)

    @cached_property
    def _plan(self) -> StackPlan | None:
        """The equations for compiled loops: on S², of degree two at most, with saturating weights; else None."""
        if self.exposure is not None or not self.polynomials.manifold.has_loops:
            return None
        if len(self.polynomials.axes) != 2:  # those of all coordinates, from which others are made
            return None
        family = None if isinstance(self.model, VonMisesFisher) else self.model.row_form
        if family is None and not isinstance(self.model, VonMisesFisher):
            return None
        scales: list[float] = []
        parts = []
        for part in self.parts:
            form = part.weight.row_form()
            if form is None or form[0] != "saturating" or max(part.degrees, default=0) > MAX_DEGREE:
                return None
            scale = form[1][0]
            if scale not in scales:
                scales.append(scale)
            first, last = _monomials_of(part.degrees)
            parts.append([FIELDS.index(part.kind), scales.index(scale), first, last])
        return StackPlan(
            np.array(parts), np.array(scales), np.ascontiguousarray(self.polynomials.center),
            np.ascontiguousarray(self.polynomials.axes), family,
        )  # fmt: skip


def _monomials_of(degrees: tuple[int, ...]) -> tuple[int, int]:
    """Which monomials of two coordinates have these degrees, which follow each other: first, and one past the last."""
    if not degrees:
        return 0, 0
    low, high = min(degrees), max(degrees)
    return low * (low + 1) // 2, (high + 1) * (high + 2) // 2


def block_diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    """A matrix with these blocks along its diagonal."""
    matrix = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        matrix[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return matrix


@dataclass(frozen=True)
class _StackedTerms(Terms):
    parts: Sequence[Terms]

    def residuals(self, theta: FloatArray) -> FloatArray:
        return np.concatenate([part.residuals(theta) for part in self.parts], axis=1)

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        return np.concatenate([part.A_sum(w) for part in self.parts])

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        return np.concatenate([part.b_sum(w) for part in self.parts])


class _LoopedTerms(Terms):
    """All parts at once, by compiled loops."""

    def __init__(self, plan: StackPlan, block: Block) -> None:
        self.plan, self.X = plan, block.X
        self.d, self.gradient = block.view.distance()
        self._last: tuple[FloatArray | None, tuple[FloatArray, FloatArray]] | None = None

    def residuals(self, theta: FloatArray) -> FloatArray:
        return self.plan.residuals(self.X, self.d, self.gradient, theta)

    def _sums(self, w: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        if self._last is None or self._last[0] is not w:
            self._last = w, self.plan.sums(self.X, self.d, self.gradient, w)
        return self._last[1]

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        return self._sums(w)[0]

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        return self._sums(w)[1]


class _Field(ABC):
    """Fields V of one kind and weight at one block: what the derivatives of polynomials h are multiplied by.

    ⟨V, u⟩ = Σ_j ∂h/∂u_j c_j + h c, for tangent rows u.  Several parts share them, and ask for the same.
    """

    def __init__(self, model: Model, weight: Weight, block: Block, polynomials: PolynomialValues) -> None:
        self.model, self.X, self.polynomials = model, block.X, polynomials
        self.manifold = block.view.region.manifold
        field = weight.field(block.view)
        self.g = np.broadcast_to(np.asarray(field.isotropic), len(self.X))
        self.g_gradient = field.divergence(self.X)
        self._last: tuple[bytes, tuple[list[FloatArray], FloatArray | None]] | None = None

    @abstractmethod
    def coefficients(self, U: FloatArray) -> tuple[list[FloatArray], FloatArray | None]:
        """The c_j, arrays (n,), and c, None where it is zero, for tangent rows U (n, D)."""

    @abstractmethod
    def divergence(self, h: PolynomialValues) -> FloatArray | None:
        """Div V, shape (m, n); None where it is zero."""

    def at(self, theta: FloatArray) -> tuple[list[FloatArray], FloatArray | None]:
        """Those of ψ at θ."""
        key = theta.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self.coefficients(self.model.log_gradient(self.X, theta))
        return self._last[1]

    @cached_property
    def of_units(self) -> tuple[list[FloatArray], FloatArray | None]:
        """Those of ψ at every unit vector of θ, as columns, (n, p) each."""
        found = [self.coefficients(self.model.log_gradient(self.X, unit)) for unit in np.eye(self.model.size)]
        columns = [np.stack(parts, axis=1) for parts in zip(*(slopes for slopes, _ in found), strict=True)]
        values = [value for _, value in found if value is not None]
        return columns, np.stack(values, axis=1) if values else None


@final
class _Gradients(_Field):
    """V = g ∇h."""

    def coefficients(self, U: FloatArray) -> tuple[list[FloatArray], FloatArray | None]:
        return [along * self.g for along in self.polynomials.along(U)], None

    def divergence(self, h: PolynomialValues) -> FloatArray | None:
        total = h.gradient_dot(self.g_gradient)  # g Δh + ⟨∇g, ∇h⟩
        total += h.laplacians * self.g
        return total


@final
class _Streams(_Field):
    """V = J∇(g h): ⟨V, u⟩ = −⟨g ∇h + h ∇g, J u⟩."""

    def coefficients(self, U: FloatArray) -> tuple[list[FloatArray], FloatArray | None]:
        turned = self.manifold.quarter_turn(self.X, U)
        return [along * -self.g for along in self.polynomials.along(turned)], -row_dots(self.g_gradient, turned)

    def divergence(self, h: PolynomialValues) -> FloatArray | None:
        return None


class _PolynomialTerms(Terms):
    """The equations of some polynomials in fields of one kind; arrays have a row for each equation."""

    def __init__(self, field: _Field, h: PolynomialValues, exposure: FloatArray | None) -> None:
        self.field, self.h = field, h
        self.constant = field.divergence(h)
        if exposure is not None:
            known = self._contracted(*field.coefficients(exposure))
            self.constant = known if self.constant is None else self.constant + known

    def _contracted(self, slopes: list[FloatArray], value: FloatArray | None) -> FloatArray:
        total = self.h.combined(slopes)
        if value is not None:
            total += self.h.values * value
        return total

    def residuals(self, theta: FloatArray) -> FloatArray:
        e = self._contracted(*self.field.at(theta))
        if self.constant is not None:
            e += self.constant
        return e.T

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        slopes, value = self.field.of_units
        total: FloatArray = sum(
            (partial @ _weighted(columns, w) for partial, columns in zip(self.h.partials, slopes, strict=True)),
            np.zeros((len(self.h.values), slopes[0].shape[1])),
        )
        if value is not None:
            total += self.h.values @ _weighted(value, w)
        return total

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        if self.constant is None:
            return np.zeros(len(self.h.values))
        total: FloatArray = self.constant.sum(axis=1) if w is None else self.constant @ w
        return total


def _weighted(columns: FloatArray, w: FloatArray | None) -> FloatArray:
    return columns if w is None else columns * w[:, None]
