"""Rows that come in groups, dependent within and independent between them: fixes of a storm, visits of a patient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.arrays import FloatArray, IntArray
from tmsm.errors import EstimationError, InvalidInputError
from tmsm.influence import Influence
from tmsm.rows import Rows
from tmsm.validation import find_missing

__all__ = ["Groups"]


@final
@dataclass(frozen=True)
class Groups:
    """Which group each row of a table belongs to.

    Attributes
    ----------
    codes
        Numbers from 0 on, shape (n,).
    count
        Number of groups.
    """

    codes: IntArray
    count: int

    @staticmethod
    def of(labels: Any, n: int) -> Groups:
        """From one label a row: numbers, text, dates."""
        missing = find_missing(labels)
        if missing.shape != (n,):
            raise InvalidInputError(
                f"groups must have one label for each of the {n} rows of X; got shape {missing.shape}."
            )
        if missing.any():
            raise InvalidInputError(
                f"groups has {int(missing.sum())} of {n} labels missing (first: row {int(np.argmax(missing))}). "
                "Give every row a label of its own where it stands alone."
            )
        array = np.asarray(labels)
        try:
            names, codes = np.unique(array, return_inverse=True)
        except TypeError:
            names, codes = np.unique(array.astype(str), return_inverse=True)
        return Groups(codes, len(names))

    def covariance(self, influence: Influence, rows: Rows) -> tuple[FloatArray, int]:
        """Cluster-robust Cov(θ̂) = G/(G−1) Σ_g s_g s_gᵀ, and the number G of groups inside the region.

        s_g = Σ w_i ψ_i / Σ w over the rows of a group, ψ_i the influence of a row.
        """
        codes = self.codes[rows.inside()]
        _, codes = np.unique(codes, return_inverse=True)
        count = int(codes.max()) + 1
        if count < 2:
            raise EstimationError(
                "All rows belong to one group, and what differs between groups cannot be seen: "
                "give finer groups, or none."
            )
        weighted = influence.of(rows) * rows.relative_weights()[:, None]
        sums = np.zeros((count, weighted.shape[1]))
        np.add.at(sums, codes, weighted)
        return (sums.T @ sums) * (count / (count - 1)), count

    def resample(self, rng: np.random.Generator) -> IntArray:
        """Rows of as many groups as there are, drawn with replacement."""
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(self.count + 1))
        drawn = rng.integers(self.count, size=self.count)
        return np.concatenate([order[starts[g] : starts[g + 1]] for g in drawn])
