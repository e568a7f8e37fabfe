"""How many components a mixture has: by Schwarz's criterion, or by the likelihood of rows that were left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.data.groups import Groups
from tmsm.data.rows import Rows
from tmsm.foundation.arrays import BoolArray
from tmsm.foundation.errors import EstimationError
from tmsm.inference.fit import Fit
from tmsm.models.mixture import Mixture

__all__ = ["ComponentCount"]

# Numbers of components are tried until the criterion was worse than its best so often.
_WORSE = 2
# Parts of the rows, each of which is left out once.
_FOLDS = 5


@final
@dataclass(frozen=True)
class ComponentCount:
    """The search for the number of components.

    Attributes
    ----------
    model
        The mixture, whose number of components is to be chosen.
    fitted
        From a mixture with a number of components, and rows, to a fit.
    refitted
        From a fit and other rows like its own to the fit next to it.
    log_density
        The mean log density of rows under a fit.
    """

    model: Mixture
    fitted: Callable[[Mixture, Rows], Fit]
    refitted: Callable[[Fit, Rows], Fit]
    log_density: Callable[[Fit, Rows], float]

    def best(self, rows: Rows) -> Fit:
        """The fit with the best number of components; its facts list what was tried."""
        by_rows_left_out = self.model.n_components == "held-out"
        tried: list[tuple[int, float]] = []
        fits: list[Fit] = []
        why = ""
        while len(tried) - (_best(tried) + 1) < _WORSE:
            count = len(tried) + 1
            model = self.model.with_count(count)
            try:
                fit = self.fitted(model, rows)
                value = self._left_out(fit, rows) if by_rows_left_out else fit.clustered(rows).schwarz
            except EstimationError:
                if not tried:
                    raise
                why = f", {count}: no maximum with enough rows in every component"
                break
            tried.append((count, value))
            fits.append(fit)
        count, fit = tried[_best(tried)][0], fits[_best(tried)]
        name = "mean log density of rows left out" if by_rows_left_out else "BIC, which is lower for better ones"
        digits = 5 if by_rows_left_out else 1
        table = ", ".join(f"{k}: {-value if by_rows_left_out else value:.{digits}f}" for k, value in tried)
        return replace(fit, facts=(*fit.facts, ("components", f"{count}, by the {name} ({table}{why})")))

    def _left_out(self, whole: Fit, rows: Rows) -> float:
        """Minus the mean log density of rows that a fit to the others did not see."""
        X, weight = rows.source.table()
        groups = rows.groups
        unit = np.arange(len(X)) if groups is None else np.asarray(groups.codes)
        fold = np.random.default_rng(0).permutation(int(unit.max()) + 1)[unit] % _FOLDS
        total = weights = 0.0

        def part(chosen: BoolArray) -> Rows:
            own = None if weight is None else weight[chosen]
            known = None if groups is None else Groups(groups.codes[chosen], groups.count)
            return Rows.of(X[chosen], rows.region, own, rows.outside, known)

        for k in range(_FOLDS):
            size = float(np.count_nonzero(fold == k) if weight is None else weight[fold == k].sum())
            if size > 0.0:
                total -= size * self.log_density(self.refitted(whole, part(fold != k)), part(fold == k))
                weights += size
        return total / weights


def _best(tried: list[tuple[int, float]]) -> int:
    return min(range(len(tried)), key=lambda k: tried[k][1], default=-1)
