"""Passes of stacked equations over rows on a graphics card: the same sums as block by block, made there at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.data.sources import RawBlock
from tmsm.foundation.arrays import FloatArray
from tmsm.matching.equations import (
    Equations,
    LinearSums,
    Passes,
    ResidualSums,
    TiltedSums,
    Tilting,
)
from tmsm.regions.borders import RowBorder
from tmsm.rowwise.plans import StackPlan, Tilt
from tmsm.rowwise.program import RowSums, symmetric

__all__ = ["CardPasses"]


@final
@dataclass(frozen=True)
class CardPasses(Passes):
    """Equations with their plan, and rows on a card inside a border that loops know.

    Rows that the card refuses are read again by arrays, which say what is wrong with them.
    """

    equations: Equations
    plan: StackPlan
    border: RowBorder
    rows: Rows

    def _summed(
        self, task: str, theta: FloatArray, by_arrays: Callable[[Block], RowSums], tilt: Tilt | None = None
    ) -> RowSums | None:
        from tmsm.rowwise.card_stacked import stack_device_sums

        tilt = tilt or Tilt.none(self.plan.n_equations)

        def on_card(raw: RawBlock) -> RowSums | None:
            return RowSums.of(stack_device_sums(raw.X, raw.weight, self.border, self.plan, task, theta, tilt))

        return self.rows.compiled_total(len(self.rows), on_card, by_arrays)

    def linear(self) -> LinearSums | None:
        def by_arrays(block: Block) -> RowSums:
            return _flat(LinearSums.of(self.equations.terms(block), block, block.sample_weight), block)

        found = self._summed("sums", np.zeros(self.equations.model.size), by_arrays)
        return None if found is None else self._linear_of(found, found.values)

    def residuals(self, theta: FloatArray) -> ResidualSums:
        def by_arrays(block: Block) -> RowSums:
            sums = ResidualSums.of(self.equations.terms(block).residuals(theta), block.sample_weight)
            values = np.concatenate([sums.total, sums.squares_total, _upper(sums.squares)])
            return RowSums(len(block.X), 0, sums.weight_sum, sums.weight_squares, block.farthest, values)

        found, m = self._summed("residuals", theta, by_arrays), self.plan.n_equations
        assert found is not None, "there are rows inside"
        total, squares_total, squares = np.split(found.values, [m, 2 * m])
        return ResidualSums(found.weight_sum, found.weight_squares, total, squares_total, symmetric(squares, m))

    def tilted(self, tilting: Tilting) -> TiltedSums:
        def by_arrays(block: Block) -> RowSums:
            sums = tilting.of_block(self.equations.terms(block), block)
            own = _flat(sums.equations, block)
            return RowSums(
                own.n, 0, own.weight_sum, own.weight_squares, own.farthest,
                np.concatenate([_upper(sums.plain), _upper(sums.squares), own.values]),
            )  # fmt: skip

        m = self.plan.n_equations
        tilt = Tilt(tilting.mean, tilting.multiplier, np.ascontiguousarray(tilting.root), tilting.numbers)
        found = self._summed("tilted", tilting.theta, by_arrays, tilt)
        assert found is not None, "there are rows inside"
        half = m * (m + 1) // 2
        plain, squares, rest = np.split(found.values, [half, 2 * half])
        return TiltedSums(symmetric(plain, m), symmetric(squares, m), self._linear_of(found, rest))

    def _linear_of(self, found: RowSums, values: FloatArray) -> LinearSums:
        columns = values.reshape(-1, self.plan.n_equations)
        return LinearSums(
            found.n, found.weight_sum, found.weight_squares, columns[:-1].T.copy(), columns[-1], found.farthest
        )


def _flat(sums: LinearSums, block: Block) -> RowSums:
    """The same as the card gives them: the columns of A, then b."""
    values = np.append(sums.A_sum.T.ravel(), sums.b_sum)
    return RowSums(sums.n, 0, sums.weight_sum, sums.weight_squares, block.farthest, values)


def _upper(matrix: FloatArray) -> FloatArray:
    """The upper triangle, row by row."""
    return matrix[np.triu_indices(len(matrix))]
