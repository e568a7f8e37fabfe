"""What each row contributes to the equations, computed once and summed again for every resample.

A_i and b_i are linear in the fields, and those of polynomials are linear in the polynomials.  So a table for all
monomials of the embedding coordinates serves every resample, whatever coordinates its own rows suggest.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from tmsm.arrays import FloatArray, IntArray
from tmsm.equations import EquationSpec, equation_residuals
from tmsm.polynomials import LocalPolynomials
from tmsm.regions.base import BorderView, Region
from tmsm.rows import Block, Rows
from tmsm.weights import EquationPart

__all__ = ["ResampledRows", "RowTable"]

# So many numbers a table may have: 256 MB.
_MAX_NUMBERS = 2**25


@dataclass(frozen=True)
class RowTable:
    """A_i and b_i of every row of a table, for the monomials of all embedding coordinates.

    Attributes
    ----------
    region, X, weight, distance
        Where the rows lie, the rows (n, D), their sample weights (n,) and their distances to the border (n,).
    spec
        The equations of the fit; ``spec.polynomials`` has as many axes as the embedding space.
    columns
        b_i first, then the columns of A_i, shape (p + 1, n, M).
    """

    region: Region
    X: FloatArray
    weight: FloatArray | None
    distance: FloatArray
    spec: EquationSpec
    columns: FloatArray

    @staticmethod
    def of(spec: EquationSpec, rows: Rows, theta: FloatArray) -> RowTable | None:
        """The table of rows that all lie inside the region; None if it is too large.  θ is a likely value."""
        X, weight = rows.weighted_sample()[:2]
        p, D = spec.n_statistics, X.shape[1]
        parts = tuple(replace(part, degrees=_all_degrees(part)) for part in spec.parts)
        n_columns = sum(p if part.kind == "statistics" else len(_monomials(D, part.degrees)) for part in parts)
        if len(X) != len(rows) or len(X) * n_columns * (p + 1) > _MAX_NUMBERS:
            return None
        axes = np.eye(D) * np.linalg.norm(spec.polynomials.axes[0])
        polynomials = LocalPolynomials(spec.polynomials.manifold, spec.polynomials.center, axes)
        full = replace(spec, parts=parts, polynomials=polynomials)
        b = equation_residuals(full, rows, np.zeros(p))
        # A_i θ and b_i are of one size, so that no digits are lost in their difference.
        size = max(float(np.linalg.norm(theta)), 1.0)
        A = ((equation_residuals(full, rows, size * e) - b) / size for e in np.eye(p))
        distance = rows.region.signed_distance(X)[0]
        return RowTable(rows.region, X, weight, distance, replace(full, parts=spec.parts), np.stack([b, *A]))

    def transformed(self, polynomials: LocalPolynomials) -> FloatArray:
        """The columns for the equations with some rows' own polynomials, shape (p + 1, n, m)."""
        blocks = [self._change(part, polynomials) for part in self.spec.parts]
        change = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
        row = column = 0
        for block in blocks:
            change[row : row + len(block), column : column + block.shape[1]] = block
            row, column = row + len(block), column + block.shape[1]
        k, n, M = self.columns.shape
        return (self.columns.reshape(k * n, M) @ change.T).reshape(k, n, -1)

    def _change(self, part: EquationPart, polynomials: LocalPolynomials) -> FloatArray:
        """A part's equations in terms of the table's, shape (m, M)."""
        if part.kind == "statistics":
            return np.eye(self.spec.n_statistics)
        own = self.spec.polynomials
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

    def __init__(self, table: RowTable, chosen: IntArray) -> None:
        chosen = np.sort(chosen)  # sums do not depend on the order, and memory is read faster in its own
        weight = None if table.weight is None else table.weight[chosen]
        super().__init__(table.X[chosen], table.region, weight)
        self._settled = True
        self.contributions, self._chosen = table, chosen
        self._farthest = float(table.distance[chosen].max())
        # For some polynomials, those of all parts and of some.
        self._columns: tuple[LocalPolynomials, dict[tuple[EquationPart, ...], FloatArray]] | None = None

    def _sample_distances(self, X: FloatArray) -> FloatArray:
        return self.contributions.distance[self._chosen]  # all rows of a table lie inside and count

    def spread(self, sample: FloatArray, n: int) -> Rows:
        return _Thinned(self, max(1, len(self) // n))

    def map(self, function: Any) -> Any:
        yield function(self.block(1))

    def block(self, stride: int) -> Block:
        """Every so manieth row."""
        weight = None if self._weight is None else self._weight[::stride]
        return _TabulatedBlock(
            BorderView(self.region, self._X[::stride]), weight, self._farthest, rows=self, stride=stride
        )

    def columns(self, spec: EquationSpec) -> FloatArray:
        """b_i first, then the columns of A_i of all rows, for the equations of some parts, shape (p + 1, n, m)."""
        parts = self.contributions.spec.parts
        if self._columns is None or self._columns[0] is not spec.polynomials:
            columns = self.contributions.transformed(spec.polynomials).take(self._chosen, axis=1)
            self._columns = spec.polynomials, {parts: columns}
        known = self._columns[1]
        if spec.parts not in known:
            of_part = np.repeat(np.arange(len(parts)), [spec.size(part) for part in parts])
            asked = np.flatnonzero(np.isin(of_part, [parts.index(part) for part in spec.parts]))
            known[spec.parts] = known[parts].take(asked, axis=2)
        return known[spec.parts]


class _Thinned(Rows):
    """Some of resampled rows, spread evenly."""

    def __init__(self, rows: ResampledRows, stride: int) -> None:
        super().__init__(rows._X[::stride], rows.region)
        self._rows, self._stride = rows, stride

    def map(self, function: Any) -> Any:
        yield function(replace(self._rows.block(self._stride), sample_weight=None))


@dataclass(frozen=True)
class _TabulatedBlock(Block):
    _: KW_ONLY
    rows: ResampledRows
    stride: int

    def known_terms(self, spec: Any) -> Any:
        same = self.rows.contributions.spec
        if (spec.model, spec.weight) != (same.model, same.weight):
            return None
        return [_TabulatedTerms(self.rows.columns(spec)[:, :: self.stride], self.sample_weight)]


@dataclass
class _TabulatedTerms:
    """The equations of a block, from a table."""

    columns: FloatArray
    w: FloatArray | None

    def residuals(self, theta: FloatArray) -> FloatArray:
        k, n, m = self.columns.shape
        e: FloatArray = np.array([1.0, *theta]) @ self.columns.reshape(k, n * m)
        return e.reshape(n, m)

    def A_sum(self) -> FloatArray:
        total: FloatArray = self._weights() @ self.columns[1:]
        return total.T

    def b_sum(self) -> FloatArray:
        total: FloatArray = self._weights() @ self.columns[0]
        return total

    def _weights(self) -> FloatArray:
        return np.ones(self.columns.shape[1]) if self.w is None else self.w


def _all_degrees(part: EquationPart) -> tuple[int, ...]:
    return tuple(range(max(part.degrees) + 1)) if part.degrees else ()


def _monomials(n_variables: int, degrees: tuple[int, ...]) -> list[tuple[int, ...]]:
    """As sorted tuples of variables, in the order of `LocalPolynomials.evaluate`."""
    return [key for degree in sorted(degrees) for key in combinations_with_replacement(range(n_variables), degree)]
