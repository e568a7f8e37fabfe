"""What each row contributes to the equations, computed once and summed again for every resample.

A_i and b_i are linear in the fields, and those of polynomials are linear in the polynomials.  So a table for all
monomials of the embedding coordinates serves every resample, whatever coordinates its own rows suggest.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from tmsm.data.rows import Block, Rows, Sample
from tmsm.data.sources import ArraySource
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.threads import single_threaded
from tmsm.matching.equations import Terms, row_residuals
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.stacked import Stacked, block_diagonal
from tmsm.regions import BorderView
from tmsm.weights import EquationPart

__all__ = ["ResampledRows", "RowTable"]

# So many numbers a table may have: 256 MB.
_MAX_NUMBERS = 2**25


@dataclass(frozen=True)
class RowTable:
    """A_i and b_i of every row of a table, for the monomials of all embedding coordinates.

    Attributes
    ----------
    view, weight
        The rows, all inside the region, with their border, and their sample weights (n,).
    equations
        Those of the fit; their polynomials have as many axes as the embedding space.
    columns
        b_i first, then the columns of A_i, shape (p + 1, n, M).
    """

    view: BorderView
    weight: FloatArray | None
    equations: Stacked
    columns: FloatArray

    @staticmethod
    def of(equations: Stacked, rows: Rows, theta: FloatArray) -> RowTable | None:
        """The table of rows that all lie inside the region; None if it is too large.  θ is a likely value."""
        sample = rows.sample()
        p, D = equations.model.size, equations.polynomials.center.size
        parts = tuple(replace(part, degrees=_all_degrees(part)) for part in equations.parts)
        n_columns = sum(p if part.kind == "statistics" else len(_monomials(D, part.degrees)) for part in parts)
        if len(sample) != len(rows) or len(sample) * n_columns * (p + 1) > _MAX_NUMBERS:
            return None
        own = equations.polynomials
        polynomials = LocalPolynomials(own.manifold, own.center, np.eye(D) * np.linalg.norm(own.axes[0]))
        full = replace(equations, parts=parts, polynomials=polynomials)
        b = row_residuals(full, rows, np.zeros(p))
        # A_i θ and b_i are of one size, so that no digits are lost in their difference.
        size = max(float(np.linalg.norm(theta)), 1.0)
        A = ((row_residuals(full, rows, size * e) - b) / size for e in np.eye(p))
        return RowTable(sample.view, sample.weight, replace(full, parts=equations.parts), np.stack([b, *A]))

    def transformed(self, polynomials: LocalPolynomials) -> FloatArray:
        """The columns for the equations with some rows' own polynomials, shape (p + 1, n, m)."""
        change = block_diagonal([self._change(part, polynomials) for part in self.equations.parts])
        k, n, M = self.columns.shape
        return (self.columns.reshape(k * n, M) @ change.T).reshape(k, n, -1)

    def _change(self, part: EquationPart, polynomials: LocalPolynomials) -> FloatArray:
        """A part's equations in terms of the table's, shape (m, M)."""
        if part.kind == "statistics":
            return np.eye(self.equations.model.size)
        own = self.equations.polynomials
        # u_j = axes_j · (x − center) in terms of the table's coordinates v = own.axes (x − own.center).
        slope = np.linalg.solve(own.axes.T, polynomials.axes.T).T
        constant = polynomials.axes @ (own.center - polynomials.center)
        columns = {key: k for k, key in enumerate(_monomials(len(own.axes), _all_degrees(part)))}
        rows = []
        for key in _monomials(len(slope), part.degrees):
            terms: dict[tuple[int, ...], float] = {(): 1.0}
            for j in key:
                product: dict[tuple[int, ...], float] = {}
                for term, value in terms.items():
                    product[term] = product.get(term, 0.0) + value * constant[j]
                    for k, factor in enumerate(slope[j]):
                        longer = tuple(sorted((*term, k)))
                        product[longer] = product.get(longer, 0.0) + value * factor
                terms = product
            row = np.zeros(len(columns))
            row[[columns[term] for term in terms]] = list(terms.values())
            rows.append(row)
        return np.array(rows)


class ResampledRows(Rows):
    """Some rows of a table, any of them any number of times, as one block that knows its equations."""

    comes_in_blocks = False

    def __init__(self, table: RowTable, chosen: IntArray) -> None:
        chosen = np.sort(chosen)  # sums do not depend on the order, and memory is read faster in its own
        weight = None if table.weight is None else table.weight[chosen]
        view = table.view.where(chosen)
        super().__init__(ArraySource(view.X, weight), view.region)
        self._sample = Sample(view, weight, None)
        self.contributions, self._chosen = table, chosen
        self._farthest = float(view.distance()[0].max())
        # For some polynomials, those of all parts and of some.
        self._columns: tuple[LocalPolynomials, dict[tuple[EquationPart, ...], FloatArray]] | None = None

    def spread(self, n: int) -> Rows:
        return _Thinned(self, max(1, len(self) // n))

    def map(self, function: Any) -> Any:
        with single_threaded(len(self) * self.source.n_columns):
            yield function(self.block(1))

    def block(self, stride: int) -> Block:
        """Every so manieth row."""
        sample = self.sample()
        view = sample.view if stride == 1 else sample.view.where(slice(None, None, stride))
        weight = None if sample.weight is None else sample.weight[::stride]
        return _TabulatedBlock(view, weight, self._farthest, rows=self, stride=stride)

    def columns(self, equations: Stacked) -> FloatArray:
        """b_i first, then the columns of A_i of all rows, for the equations of some parts, shape (p + 1, n, m)."""
        parts = self.contributions.equations.parts
        if self._columns is None or self._columns[0] is not equations.polynomials:
            columns = self.contributions.transformed(equations.polynomials).take(self._chosen, axis=1)
            self._columns = equations.polynomials, {parts: columns}
        known = self._columns[1]
        if equations.parts not in known:
            of_part = np.repeat(np.arange(len(parts)), [equations.size_of(part) for part in parts])
            asked = np.flatnonzero(np.isin(of_part, [parts.index(part) for part in equations.parts]))
            known[equations.parts] = known[parts].take(asked, axis=2)
        return known[equations.parts]


class _Thinned(Rows):
    """Some of resampled rows, spread evenly."""

    comes_in_blocks = False

    def __init__(self, rows: ResampledRows, stride: int) -> None:
        super().__init__(ArraySource(rows.sample().X[::stride]), rows.region)
        self._rows, self._stride = rows, stride

    def map(self, function: Any) -> Any:
        with single_threaded(len(self) * self.source.n_columns):
            yield function(replace(self._rows.block(self._stride), sample_weight=None))


@dataclass(frozen=True)
class _TabulatedBlock(Block):
    _: KW_ONLY
    rows: ResampledRows
    stride: int

    def known_terms(self, equations: Any) -> Any:
        same = self.rows.contributions.equations
        if equations.model != same.model or not set(equations.parts) <= set(same.parts):
            return None
        return _TabulatedTerms(self.rows.columns(equations)[:, :: self.stride])


@dataclass
class _TabulatedTerms(Terms):
    """The equations of a block, from a table."""

    columns: FloatArray

    def residuals(self, theta: FloatArray) -> FloatArray:
        k, n, m = self.columns.shape
        e: FloatArray = np.array([1.0, *theta]) @ self.columns.reshape(k, n * m)
        return e.reshape(n, m)

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        total: FloatArray = self._weights(w) @ self.columns[1:]
        return total.T

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        total: FloatArray = self._weights(w) @ self.columns[0]
        return total

    def _weights(self, w: FloatArray | None) -> FloatArray:
        return np.ones(self.columns.shape[1]) if w is None else w


def _all_degrees(part: EquationPart) -> tuple[int, ...]:
    return tuple(range(max(part.degrees) + 1)) if part.degrees else ()


def _monomials(n_variables: int, degrees: tuple[int, ...]) -> list[tuple[int, ...]]:
    """As sorted tuples of variables, in the order of `LocalPolynomials.evaluate`."""
    return [key for degree in sorted(degrees) for key in combinations_with_replacement(range(n_variables), degree)]
