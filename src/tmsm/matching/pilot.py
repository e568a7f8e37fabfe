"""What one reading of the rows keeps beside A and b: about a pilot, an estimate from the first rows.

The residual of a row at another θ is e_i(θ) = r_i + A_i (θ − θ_p), r_i = e_i(θ_p).  Where θ_p is close to the estimate
sums of r_i and of its squares are nearly those at the estimate, and no digits cancel in what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.frames import PLAIN
from tmsm.matching.equations import ResidualSums, Terms
from tmsm.matching.group_totals import GroupTotals
from tmsm.matching.kept_rows import KeptRows
from tmsm.regions import Region
from tmsm.weights.policies import Choice

__all__ = ["GroupColumns", "OnePass", "Pilot", "StatisticSquares"]

_OTHER_PILOT = (
    "Sums about different references cannot be added: their pilot estimates come from different rows. Sum all parts "
    "with the equations of one start, moments.cleared()."
)


@final
@dataclass(frozen=True)
class Pilot:
    """What was fixed by the first rows of a stream.

    Attributes
    ----------
    theta
        θ_p, shape (p,).
    steps
        Changes of each entry of θ that change the equations by about their spread, shape (p,).
    center
        About the mean of the statistics, shape (p,).
    n_rows
        Number of rows that they come from.
    """

    theta: FloatArray
    steps: FloatArray
    center: FloatArray
    n_rows: int

    def require_same(self, other: Pilot) -> None:
        """Raise where sums about the two cannot be added."""
        pairs = ((self.theta, other.theta), (self.steps, other.steps), (self.center, other.center))
        if not all(np.array_equal(one, two) for one, two in pairs):
            raise InvalidInputError(_OTHER_PILOT)

    def content(self) -> dict[str, Any]:
        """What a file is to hold of it."""
        return {"theta": self.theta, "steps": self.steps, "center": self.center, "n_rows": self.n_rows}


@final
@dataclass(frozen=True)
class StatisticSquares:
    """Sums over rows of w (t − c), w² (t − c) and w² (t − c)(t − c)ᵀ, and the smallest and the largest weight."""

    total: FloatArray
    squares_total: FloatArray
    squares: FloatArray
    lowest: float = np.inf
    highest: float = 0.0

    @classmethod
    def of(cls, away: FloatArray, w: FloatArray | None) -> StatisticSquares:
        """Of one block, t − c of shape (n, p)."""
        if w is None:
            total = away.sum(axis=0)
            return cls(total, total, weighted_gram(away, None), 1.0, 1.0)
        counted = w[w > 0.0]
        lowest, highest = float(counted.min(initial=np.inf)), float(counted.max(initial=0.0))
        return cls(w @ away, w**2 @ away, weighted_gram(away, w**2), lowest, highest)

    @classmethod
    def none(cls, p: int) -> StatisticSquares:
        """Of no rows."""
        return cls(np.zeros(p), np.zeros(p), np.zeros((p, p)))

    def __add__(self, other: StatisticSquares) -> StatisticSquares:
        return StatisticSquares(
            self.total + other.total,
            self.squares_total + other.squares_total,
            self.squares + other.squares,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    @property
    def equally_weighted(self) -> bool:
        """Whether all rows that count at all count alike."""
        return self.highest == 0.0 or self.lowest == self.highest

    def residual_squares(self, away: FloatArray, weight_squares: float) -> FloatArray:
        """Σ w² (d − (t − c))(d − (t − c))ᵀ for a d of shape (p,)."""
        cross = np.outer(away, self.squares_total)
        found: FloatArray = self.squares - cross - cross.T + weight_squares * np.outer(away, away)
        return found

    def content(self) -> dict[str, Any]:
        """What a file is to hold of them."""
        return {name: getattr(self, name) for name in ("total", "squares_total", "squares", "lowest", "highest")}


@final
@dataclass(frozen=True)
class GroupColumns:
    """What is summed over each group, in this order: w A_i times the steps, entry by entry; w r_i; w (t − c); w; w².

    ``m`` is the number of equations, p that of parameters and q that of statistics; 0 where they are not asked for.
    """

    m: int
    p: int
    q: int

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.m * (self.p + 1) + self.q + 2

    def of(self, pilot: Pilot, terms: Terms, w: FloatArray, away: FloatArray | None) -> FloatArray:
        """The values of the rows of a block, shape (n, size), from their t − c, shape (n, p)."""
        parts: list[FloatArray] = []
        if self.m:
            r = terms.residuals(pilot.theta)
            ahead = np.diag(pilot.steps)
            parts = [(terms.residuals(pilot.theta + step) - r) * w[:, None] for step in ahead]
            parts.append(r * w[:, None])
        if away is not None:
            parts.append(away * w[:, None])
        return np.column_stack([*parts, w, w**2])

    def slopes(self, totals: FloatArray, pilot: Pilot) -> FloatArray:
        """Σ w A_i over each group, shape (G, m, p)."""
        found: FloatArray = totals[:, : self.m * self.p].reshape(len(totals), self.p, self.m).transpose(0, 2, 1)
        return found / pilot.steps

    def residuals(self, totals: FloatArray, pilot: Pilot, theta: FloatArray) -> FloatArray:
        """Σ w e_i(θ) over each group, shape (G, m)."""
        change = np.append((theta - pilot.theta) / pilot.steps, 1.0)
        blocks = totals[:, : self.m * (self.p + 1)].reshape(len(totals), self.p + 1, self.m)
        found: FloatArray = np.einsum("gkm,k->gm", blocks, change)
        return found

    def statistics(self, totals: FloatArray) -> FloatArray:
        """Σ w (t − c) over each group, shape (G, q)."""
        return totals[:, -2 - self.q : -2]


@final
@dataclass(frozen=True)
class OnePass:
    """What a stream keeps beside the sums of A_i and b_i.

    Attributes
    ----------
    region
        Where the rows lie.
    configuration
        Arguments of the estimator that made it.
    kept
        A sample of the rows, spread evenly.
    n_outside
        Number of rows outside the region that were dropped.
    choice
        The weights, and the parts of the equations; None while the first rows are only collected.
    pilot
        None where nothing is summed for errors.
    residuals
        Of stacked equations: sums of r_i and of its squares.
    statistics
        Of a likelihood that is to follow: sums of the statistics and of their squares.
    groups
        Sums over groups; None where rows stand alone.
    """

    region: Region
    configuration: Mapping[str, Any]
    kept: KeptRows
    n_outside: int = 0
    choice: Choice | None = None
    pilot: Pilot | None = None
    residuals: ResidualSums | None = None
    statistics: StatisticSquares | None = None
    groups: GroupTotals | None = None

    def __add__(self, other: OnePass) -> OnePass:
        if self.region != other.region:
            raise InvalidInputError("Sums of rows in different regions cannot be added.")
        frames = self.kept.frame, other.kept.frame
        if PLAIN not in frames and frames[0] != frames[1]:
            names = " and ".join(repr(frame.name) for frame in frames)
            raise InvalidInputError(f"Sums of rows in the frames {names} cannot be added: bring the rows into one.")
        if (self.groups is None) != (other.groups is None):
            raise InvalidInputError("Sums of rows in groups and of rows that stand alone cannot be added.")
        if (self.statistics is None) != (other.statistics is None):
            raise InvalidInputError(
                "Sums with and without those of a likelihood cannot be added: make all of them with the same refine."
            )
        if (self.pilot is None) != (other.pilot is None):
            raise InvalidInputError(
                "Sums that were made by fit and sums of a stream cannot be added: make all of them by partial_fit."
            )
        if self.pilot is not None and other.pilot is not None:
            self.pilot.require_same(other.pilot)
        groups, more = None, other.kept
        if self.groups is not None and other.groups is not None:
            groups, numbers = self.groups.merged(other.groups)
            more = more.renumbered(numbers)
        return replace(
            self,
            kept=self.kept + more,
            n_outside=self.n_outside + other.n_outside,
            residuals=_total(self.residuals, other.residuals),
            statistics=_total(self.statistics, other.statistics),
            groups=groups,
        )

    def cleared(self) -> OnePass:
        """The same without any rows."""
        groups, statistics, residuals = self.groups, self.statistics, self.residuals
        if residuals is not None:
            m = len(residuals.total)
            residuals = ResidualSums(0.0, 0.0, np.zeros(m), np.zeros(m), np.zeros((m, m)))
        return replace(
            self,
            kept=self.kept.cleared(),
            n_outside=0,
            residuals=residuals,
            statistics=None if statistics is None else StatisticSquares.none(len(statistics.total)),
            groups=None if groups is None else GroupTotals.none(groups.totals.shape[1]),
        )

    def content(self, *, rows: bool = True) -> dict[str, Any]:
        """What a file is to hold of it beside region, configuration and weights; ``rows`` as for `KeptRows`."""
        residuals = self.residuals
        names = ("weight_sum", "weight_squares", "total", "squares_total", "squares")
        return {
            "kept": self.kept.content(rows=rows),
            "n_outside": self.n_outside,
            "pilot": None if self.pilot is None else self.pilot.content(),
            "residuals": None if residuals is None else {name: getattr(residuals, name) for name in names},
            "statistics": None if self.statistics is None else self.statistics.content(),
            "groups": None if self.groups is None else self.groups.content(),
        }


def _total(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one + other
