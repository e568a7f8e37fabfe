"""One reading of the rows for all that an estimate needs: combined weights, groups and a likelihood included.

What cannot be summed is what depends on the estimate row by row: squares e_i(θ) e_i(θ)ᵀ, tilts and leverages.  With the
residuals r_i about a pilot θ_p, and a sample of the rows that is kept,

    Σ w² e(θ) e(θ)ᵀ  ≈  F (Σ w² r rᵀ) Fᵀ,    F (Σ' w² r rᵀ) Fᵀ = Σ' w² e(θ) e(θ)ᵀ,

Σ' over the kept rows.  Where all rows are kept this is exact.  Of N kept among n rows, F differs from the unit matrix
by order |θ − θ_p|, and that is known to a share N^(−1/2) of itself: with θ_p from n₀ rows the error is of order
(n₀ N)^(−1/2), below 10⁻⁴.  (A difference of sums over kept rows in place of the factor would have errors of this order,
too, but a single large e_i that happens to be kept would count n/N times, and could make a covariance negative.)  Tilts
differ from one by order (m/n)^(1/2), leverages from zero by order p/n, and what they change is taken from the kept rows
likewise.  An error δ in the covariance, or in the slope, that equations are weighed by moves the estimate by δ of a
standard error, for any δ: it stays consistent, whatever the pilot.

Of rows in groups the estimate is exact: tilts and leverages are those of groups, over each of which w A_i and w r_i are
summed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast, final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.matching.combination import Readings
from tmsm.matching.equations import (
    Equations,
    LinearSums,
    ResidualSums,
    TiltedSums,
    row_residuals,
    sum_residuals,
    tilt_equations,
    tilted_groups,
)
from tmsm.matching.kept_rows import KeptRows
from tmsm.matching.moments import Features, Moments, accumulate
from tmsm.matching.one_weight import OneWeight, WeightTerms
from tmsm.matching.pilot import OnePass, Pilot, StatisticSquares
from tmsm.matching.stacked import Stacked
from tmsm.models.base import LinearModel
from tmsm.numerics.scaling import scaled_to_unit
from tmsm.weights import Weight

__all__ = ["OneReading", "carried_over", "pilot_at", "sum_once"]

# A smaller share of the largest eigenvalue is rounding.
_RANK = 1e-12
# The sizes of the equations at a pilot are seen on so many rows.
_PILOT_ROWS = 4096


def pilot_at(equations: OneWeight | Stacked, rows: Rows, theta: FloatArray) -> Pilot:
    """A pilot estimate, with the sizes of equations and statistics as some of the first rows show them."""
    some, model = rows.spread(_PILOT_ROWS), equations.model
    single = OneWeight(model, _first_weight(equations), equations.exposure)
    e = row_residuals(single, some, theta)
    sums = some.total(lambda block: LinearSums.of(single.terms(block), block, None))
    assert sums is not None and isinstance(model, LinearModel), "there are rows, and the equations are linear"
    slope = np.diag(sums.A)
    spread = np.sqrt((e**2).mean(axis=0))
    known = (slope > 0.0) & (spread > 0.0)
    steps = np.where(known, spread / np.where(known, slope, 1.0), 1.0)
    return Pilot(theta, steps, model.statistics(some.sample().X).mean(axis=0), len(rows))


def _first_weight(equations: OneWeight | Stacked) -> Weight:
    return equations.weight if isinstance(equations, OneWeight) else equations.parts[0].weight


def sum_once(start: Moments, rows: Rows, before: KeptRows) -> Moments | None:
    """The sums of rows as those of a start are made, which stays as it is; None if no row lies inside.

    Of rows in groups, groups are numbered as in the start, which has room for all of them.  ``before`` is what was kept
    of the rows before these.
    """
    begun = start.one_pass
    assert begun is not None, "a start has a pilot"
    if begun.residuals is None and begun.statistics is None and rows.groups is None:
        return _of_one_weight(start, begun, rows, before)
    equations, features, pilot, frame = start.equations, start.features, begun.pilot, rows.frame
    columns = start.group_columns

    def grouped(block: Block) -> tuple[_Part, FloatArray]:
        terms, w = equations.terms(block), block.sample_weight
        own = residuals = statistics = away = None
        if features is not None:
            assert isinstance(terms, WeightTerms), "a stream has no covariates"
            own = Features.of(terms, w, features.reference)
        if pilot is not None and begun.residuals is not None:
            residuals = ResidualSums.of(terms.residuals(pilot.theta), w)
        if pilot is not None and begun.statistics is not None:
            away = cast(LinearModel, equations.model).statistics(block.X) - pilot.center
            statistics = StatisticSquares.of(away, w)
        values = np.empty((0, 0))
        if block.groups is not None and pilot is not None:
            values = columns.of(pilot, terms, block.weights(), away)
        kept = KeptRows.of_block(block.X, w, block.groups, frame)
        return _Part(LinearSums.of(terms, block, w), own, residuals, statistics, kept), values

    if rows.groups is None or pilot is None:
        found, totals = rows.total(lambda block: grouped(block)[0], threaded=equations.has_loops), None
    else:
        found, totals = rows.grouped_total(grouped, threaded=equations.has_loops)
    if found is None:
        return None
    kept, groups = _with_border(found.kept, rows), begun.groups
    if groups is not None and totals is not None:
        groups = groups.with_totals(totals)
    one_pass = replace(
        begun,
        kept=kept,
        n_outside=rows.n_outside,
        residuals=found.residuals,
        statistics=found.statistics,
        groups=groups,
    )
    s = found.sums
    sums = s.n, s.weight_sum, s.weight_squares, s.A_sum, s.b_sum, s.farthest
    return Moments(*sums, equations, found.features, one_pass)


def _of_one_weight(start: Moments, begun: OnePass, rows: Rows, before: KeptRows) -> Moments | None:
    """Of rows that stand alone, with no more than one weight needs."""
    equations = start.equations
    assert isinstance(equations, OneWeight), "a stream has no covariates"
    reference = None if start.features is None else start.features.reference
    found = accumulate(equations, rows, reference=reference)
    if found is None:
        return None
    kept = _with_border(KeptRows.of_table(rows, found.n, before), rows)
    return replace(found, one_pass=replace(begun, kept=kept, n_outside=rows.n_outside))


def _with_border(kept: KeptRows, rows: Rows) -> KeptRows:
    """The same with the rows that were left out on the border."""
    return kept.with_border(rows.kept().on_border) if rows.n_outside else kept


@dataclass(frozen=True)
class _Part:
    """What one block adds."""

    sums: LinearSums
    features: Features | None
    residuals: ResidualSums | None
    statistics: StatisticSquares | None
    kept: KeptRows

    def __add__(self, other: _Part) -> _Part:
        def total(one: Any, another: Any) -> Any:
            return None if one is None else one + another

        return _Part(
            self.sums + other.sums,
            total(self.features, other.features),
            total(self.residuals, other.residuals),
            total(self.statistics, other.statistics),
            self.kept + other.kept,
        )


@final
@dataclass(frozen=True)
class OneReading(Readings):
    """The sums of one reading of stacked equations, in place of rows that can be read again.

    Attributes
    ----------
    moments
        The sums.
    kept
        The kept rows.
    """

    moments: Moments
    kept: Rows

    @property
    def _one_pass(self) -> OnePass:
        assert self.moments.one_pass is not None, "they are those of a stream"
        return self.moments.one_pass

    @property
    def _pilot(self) -> Pilot:
        assert self._one_pass.pilot is not None, "stacked equations are summed about a pilot"
        return self._one_pass.pilot

    @cached_property
    def _kept_at_pilot(self) -> ResidualSums:
        return sum_residuals(self.moments.equations, self._alone, self._pilot.theta)

    @cached_property
    def _alone(self) -> Rows:
        """The kept rows without their groups."""
        X, weight = self.kept.source.table()
        return Rows.of_kept(self.kept.region, X, weight, None, self.kept.on_border, self.kept.frame)

    def residuals(self, equations: Equations, theta: FloatArray) -> ResidualSums:
        moments, at_pilot = self.moments, self._one_pass.residuals
        assert at_pilot is not None, "the equations are stacked"
        here, there = sum_residuals(equations, self._alone, theta), self._kept_at_pilot
        share = moments.weight_squares / there.weight_squares
        found = ResidualSums(
            moments.weight_sum,
            moments.weight_squares,
            moments.A_sum @ theta + moments.b_sum,
            at_pilot.squares_total + share * (here.squares_total - there.squares_total),
            carried_over(at_pilot.squares, there.squares, here.squares),
        )
        by_group = self._by_group(theta)
        return found if by_group is None else replace(found, by_group=by_group)

    def _by_group(self, theta: FloatArray) -> FloatArray | None:
        """Sums over each group of w e(θ) and of w, shape (G, m + 1)."""
        groups = self._one_pass.groups
        if groups is None:
            return None
        columns = self.moments.group_columns
        return np.column_stack([columns.residuals(groups.totals, self._pilot, theta), groups.totals[:, -2]])

    def tilted(
        self,
        equations: Equations,
        theta: FloatArray,
        mean: FloatArray,
        multiplier: FloatArray,
        metric: FloatArray,
    ) -> TiltedSums:
        residuals, moments = self.residuals(equations, theta), self.moments
        groups = self._one_pass.groups
        if groups is not None:
            tilt, plain, squares = tilted_groups(residuals, multiplier, metric)
            columns = moments.group_columns
            A = np.tensordot(tilt, columns.slopes(groups.totals, self._pilot), axes=1)
            b = tilt @ columns.residuals(groups.totals, self._pilot, np.zeros_like(theta))
            weight_sum = float(tilt @ groups.totals[:, -2])
            return TiltedSums(plain, squares, replace(_linear(moments), weight_sum=weight_sum, A_sum=A, b_sum=b))

        def of_kept(factor: float) -> TiltedSums:
            return tilt_equations(
                equations, self._alone, theta, mean, factor * multiplier, factor * metric, moments.weight_sum
            )

        tilted, still = of_kept(1.0), of_kept(0.0)
        own, other = tilted.equations, still.equations
        share = moments.weight_sum / self._kept_at_pilot.weight_sum
        return TiltedSums(
            carried_over(residuals.covariance * moments.weight_sum**2, still.plain, tilted.plain),
            carried_over(residuals.squares, still.squares, tilted.squares),
            replace(
                _linear(moments),
                weight_sum=moments.weight_sum + share * (own.weight_sum - other.weight_sum),
                A_sum=moments.A_sum + share * (own.A_sum - other.A_sum),
                b_sum=moments.b_sum + share * (own.b_sum - other.b_sum),
            ),
        )

    def spread(self, n: int) -> Rows:
        return self.kept.spread(n)

    def parts(
        self, equations: Equations, theta: FloatArray, combinations: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        by_group = self._by_group(theta)
        if by_group is not None:
            by_group = by_group[by_group[:, -1] > 0.0]
            total = by_group.sum(axis=0)
            mean = combinations @ (total[:-1] / total[-1])
            sums = by_group[:, :-1] @ combinations.T - np.outer(by_group[:, -1], mean)
            return mean, sums / total[-1]
        if not self._one_pass.kept.is_all:
            return None
        return self.kept.mean_and_parts(row_residuals(equations, self.kept, theta, combinations))


def carried_over(whole: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """F S Fᵀ of a matrix S of squares over all rows, where F B Fᵀ = B' of those over some rows, all of shape (m, m).

    In coordinates in which B is the unit matrix F is the root of B', so that F is next to one where B' is next to B.
    Combinations that B knows to be zero stay as they are.
    """
    unit, scale = scaled_to_unit(before)
    size = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    values, vectors = np.linalg.eigh(unit)
    kept = values > _RANK * values[-1]
    white = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    back = size[:, None] * vectors[:, kept] * np.sqrt(values[kept])
    squares, directions = np.linalg.eigh(white.T @ after @ white)
    root = (directions * np.sqrt(np.maximum(squares, 0.0))) @ directions.T
    factor = np.eye(len(whole)) + back @ (root - np.eye(len(root))) @ white.T
    found: FloatArray = factor @ whole @ factor.T
    return 0.5 * (found + found.T)


def _linear(moments: Moments) -> LinearSums:
    """The sums alone."""
    m = moments
    return LinearSums(m.n, m.weight_sum, m.weight_squares, m.A_sum, m.b_sum, m.farthest)
