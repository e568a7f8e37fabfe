"""Penalised score matching of a series: closed form at every ridge, with no integral over the region."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.maps.folds import Folds
from tmsm.maps.penalised import PenalisedLikelihood
from tmsm.maps.series import Series
from tmsm.maps.smoothing import FIRST_RIDGE, Candidate, FoldSums
from tmsm.matching.equations import LinearSums
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.weights import Auto, Weight
from tmsm.weights.policies import Setting

__all__ = ["ScoreSmoother", "weight_for"]

# The ridge on the free functions, as a share of what they have without one.
_WEAK = 1e-8


def weight_for(rows: Rows, size: int) -> Weight:
    """The single weight that suits the region, its scale taken from the rows."""
    setting = Setting(rows.sample().view, size, rows.kept().effective_number)
    return Auto(combine=False).choose(setting).parts[0].weight


def _sum(parts: list[LinearSums]) -> LinearSums:
    return reduce(add, parts)


@final
class ScoreSmoother:
    """Candidates of penalised score matching.

    Rows that are held out are judged by their likelihood where the region has nodes, else by J.
    """

    def __init__(
        self,
        series: Series,
        rows: Rows,
        folds: Folds,
        weight: Weight,
        exposure: KnownExposure | None,
        likelihood: PenalisedLikelihood | None,
        sums: FoldSums,
    ) -> None:
        self.series, self.likelihood, self.sums = series, likelihood, sums
        equations = OneWeight(series, weight, exposure)
        # By the fold that judges them and the one that leaves out their group.
        parts: dict[tuple[int, int], LinearSums] = {}
        start = 0

        def sort(block: Block) -> None:
            nonlocal start
            rows = slice(start, start + len(block.X))
            own = np.column_stack([folds.labels[rows], folds.group_labels[rows]])
            for judge, group in np.unique(own, axis=0):
                here = (own == (judge, group)).all(axis=1)
                w = None if block.sample_weight is None else block.sample_weight[here]
                some = replace(block, view=block.view.where(here), sample_weight=w, groups=None, covariates=None)
                found = LinearSums.of(equations.terms(some), some, w)
                before = parts.get((judge, group))
                parts[judge, group] = found if before is None else before + found
            start += len(block.X)

        for _ in rows.map(sort):
            pass
        self.whole = whole = _sum(list(parts.values()))
        judged = [[one for key, one in parts.items() if key[0] == k] for k in range(folds.count)]
        left_out = [[one for key, one in parts.items() if k in key] for k in range(folds.count)]
        self.parts = [(_sum(judged[k]), _sum(left_out[k])) for k in sums.counting]
        free = np.diag(whole.A)[: series.n_free]
        self.weak = _WEAK * float(free.mean()) if free.size else 0.0

    def ridge(self, smoothing: float) -> FloatArray:
        """ρ of each function, shape (p,)."""
        ridge = np.full(self.series.size, smoothing)
        ridge[: self.series.n_free] = self.weak
        return ridge

    def largest(self) -> float:
        """A ridge that leaves nearly nothing of the penalised functions."""
        rest = slice(self.series.n_free, None)
        return FIRST_RIDGE * float(np.linalg.eigvalsh(self.whole.A[rest, rest])[-1])

    def theta(self, A: FloatArray, b: FloatArray, smoothing: float) -> FloatArray:
        """The minimum of θᵀAθ + 2bᵀθ + Σ ρ θ², shape (p,)."""
        return np.asarray(np.linalg.solve(A + np.diag(self.ridge(smoothing)), -b))

    def candidate(self, smoothing: float) -> Candidate:
        """The map at a ridge, and what rows that are held out say."""
        whole = self.whole
        theta = self.theta(whole.A, whole.b, smoothing)
        freedom = np.trace(np.linalg.solve(whole.A + np.diag(self.ridge(smoothing)), whole.A))
        held_out = np.zeros(0)
        if self.parts:
            others = np.stack([self._without(out, smoothing) for _, out in self.parts], axis=1)
            held_out = self._judged([part for part, _ in self.parts], others)
        return Candidate(smoothing, theta, held_out, float(freedom))

    def _without(self, part: LinearSums, smoothing: float) -> FloatArray:
        whole = self.whole
        rest = whole.weight_sum - part.weight_sum
        return self.theta((whole.A_sum - part.A_sum) / rest, (whole.b_sum - part.b_sum) / rest, smoothing)

    def _judged(self, parts: list[LinearSums], theta: FloatArray) -> FloatArray:
        if self.likelihood is not None:
            return self.sums.held_out(theta, self.likelihood.log_integrals(theta))
        weights = np.array([part.weight_sum for part in parts])
        J = np.array([part.objective(one) for part, one in zip(parts, theta.T, strict=True)])
        return np.asarray(-weights * J / weights.sum())
