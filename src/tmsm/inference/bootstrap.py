"""The bootstrap: fits to resampled rows, side by side, with a progress bar when they take long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tmsm.data.covariates import Covariates, Standard
from tmsm.data.groups import Groups
from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.clusters import over_tasks
from tmsm.foundation.errors import EstimationError
from tmsm.foundation.progress import with_progress
from tmsm.inference.delta import check_level
from tmsm.inference.fit import Fit
from tmsm.matching.tabulated import ResampledRows, RowTable
from tmsm.models.base import Model
from tmsm.models.parameters import Field, Parameters
from tmsm.regions import Region

__all__ = ["Bootstrap", "Refit", "resampled"]

# So many seconds are watched before it is known how long all will take.
_WARM_UP = 0.3
# Starting processes takes some seconds: they pay where more than these are left.
_WORTH = 6.0
# Seconds of work in one task of a process.
_TASK = 0.5


@dataclass(frozen=True)
class Bootstrap:
    """Estimates from resampled rows; `bootstrap` of an estimator makes it.

    Attributes
    ----------
    values
        The parameters by name, each with a first axis of length n_resamples.
    estimate
        The parameters from the rows themselves.
    n_failed
        Number of resamples without an estimate; they are left out.
    coefficients
        Of a fit with covariates: `coefficients_` of every resample, shape (n_resamples, p, 1 + q); else None.
    model
        The family that was fitted.
    """

    values: Parameters
    estimate: Parameters
    n_failed: int
    model: Model
    coefficients: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.values[self.model.fields[0].name])

    @property
    def params(self) -> Parameters:
        """The same fields as `params_`, each with a first axis of length n_resamples; of a tree its leaves."""
        each = [Parameters(**{name: values[k] for name, values in self.values.items()}) for k in range(len(self))]
        shown = [self.model.presented(one) for one in each]
        if not isinstance(shown[0], Parameters):
            return self.values
        return Parameters(**{name: np.array([one[name] for one in shown]) for name in shown[0]})

    def __repr__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"<Bootstrap of {type(self.model).__name__}: {len(self)} resamples{failed}>"

    @property
    def std_errors(self) -> Any:
        """Spread of the resampled estimates; of a direction the root mean square of its angle, in radians."""
        errors: dict[str, Any] = {}
        for field in self.model.fields:
            if field.kind == "direction":
                offsets = self._offsets(field)
                errors[field.name] = float(np.sqrt(np.mean(np.einsum("ij,ij->i", offsets, offsets))))
            else:
                with np.errstate(invalid="ignore"):  # of estimates that are infinite the spread is not known
                    spread = np.std(self._unrolled(field), axis=0, ddof=1)
                errors[field.name] = float(spread) if np.ndim(spread) == 0 else spread
        return self.model.presented(Parameters(**errors))

    def confidence_interval(self, level: float = 0.95) -> Any:
        """Quantiles of the resampled estimates as (low, high); for a direction the half-axes of an ellipse.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        level = check_level(level)
        tail = 0.5 * (1.0 - level)
        intervals: dict[str, Any] = {}
        for field in self.model.fields:
            if field.kind == "direction":
                offsets = self._offsets(field)
                spread = offsets.T @ offsets / len(offsets)
                axes, vectors = np.linalg.eigh(spread)
                axes, vectors = np.maximum(axes[:0:-1], 1e-300), vectors[:, :0:-1]
                # The ellipse of this shape that holds so many of the resampled directions.
                radius = np.quantile(np.einsum("ij,j->i", (offsets @ vectors) ** 2, 1.0 / axes), level)
                intervals[field.name] = np.sqrt(axes * radius)
            else:
                values = self._unrolled(field)
                between: Any = "linear" if np.isfinite(values).all() else "nearest"
                low, high = np.quantile(values, [tail, 1.0 - tail], axis=0, method=between)
                intervals[field.name] = (low, high) if np.ndim(low) else (float(low), float(high))
        return self.model.presented(Parameters(**intervals))

    def _unrolled(self, field: Field) -> FloatArray:
        """The resampled values; angles within half a turn of the estimate, so that they do not jump at ±π."""
        values = np.asarray(self.values[field.name])
        if not field.is_angle:
            return values
        center = np.asarray(self.estimate[field.name])
        away: FloatArray = np.remainder(values - center + np.pi, 2.0 * np.pi) - np.pi
        return center + away

    def _offsets(self, field: Field) -> FloatArray:
        """Tangent vectors from the estimate to the resampled directions, of the length of the angle, (B, D)."""
        center, values = np.asarray(self.estimate[field.name]), np.asarray(self.values[field.name])
        if field.is_axis:
            values = values * np.where(values @ center < 0.0, -1.0, 1.0)[:, None]
        return field.space(center).logarithm(np.broadcast_to(center, values.shape), values)


class Drawn(NamedTuple):
    """What one resample gave: parameters, and coefficients of covariates where there are any."""

    params: Parameters
    coefficients: FloatArray | None


@dataclass(frozen=True)
class Refit:
    """Fits rows that are drawn with replacement from a table: it goes to other processes.

    Attributes
    ----------
    X, weight, groups
        The table.  Groups, where there are any, are drawn whole.
    region, outside
        Of the rows.
    estimate
        From rows to a fit.
    table
        What each row contributes, where that was computed once for all.
    covariates, standard
        Of the rows, and how the fit of all of them has centred and scaled them.
    """

    X: FloatArray
    weight: FloatArray | None
    groups: Groups | None
    region: Region
    outside: str
    estimate: Callable[[Rows], Fit]
    table: RowTable | None = None
    covariates: Covariates | None = None
    standard: Standard | None = None

    @classmethod
    def of(
        cls,
        rows: Rows,
        estimate: Callable[[Rows], Fit],
        table: RowTable | None = None,
        standard: Standard | None = None,
    ) -> Refit:
        """From the rows of a fit."""
        X, weight = rows.source.table()
        # What goes to other processes holds its numbers, and reads no file again.
        groups = None if rows.groups is None else Groups(rows.groups.codes, rows.groups.count)
        columns = rows.covariates
        if columns is not None:
            columns = Covariates(columns.values, columns.names, columns.standard)
        return cls(X, weight, groups, rows.region, rows.outside, estimate, table, columns, standard)

    def __call__(self, seed: int) -> Drawn | None:
        """The estimate from one draw; None if it carries none."""
        rng = np.random.default_rng(int(seed))
        try:
            found = self.estimate(self._drawn(rng))
        except EstimationError:
            return None
        return Drawn(found.params, None if found.regression is None else found.regression.coefficients)

    def _drawn(self, rng: np.random.Generator) -> Rows:
        if self.groups is not None:
            chosen, drawn = self.groups.resample(rng)
            groups = Groups(drawn, self.groups.count)
            return Rows.of(
                self.X[chosen], self.region, self._weight(chosen), self.outside, groups, self._columns(chosen)
            )
        chosen = rng.integers(len(self.X), size=len(self.X))
        if self.table is not None:
            return ResampledRows(self.table, chosen)
        return Rows.of(
            self.X[chosen], self.region, self._weight(chosen), self.outside, covariates=self._columns(chosen)
        )

    def _columns(self, chosen: IntArray) -> Covariates | None:
        if self.covariates is None or self.standard is None:
            return None
        return self.covariates.resampled(chosen, self.standard)

    def _weight(self, chosen: IntArray) -> FloatArray | None:
        return None if self.weight is None else self.weight[chosen]


def resampled(fit: Fit, refit: Refit, seeds: Sequence[int], n_jobs: int | None) -> Bootstrap:
    """A fit for every seed, here while that is quick, else by processes of their own."""
    found = list(with_progress(_map(refit, seeds, n_jobs), len(seeds), "bootstrap"))
    good = [one for one in found if one is not None]
    if len(good) < 2:
        raise EstimationError(f"{len(found) - len(good)} of {len(found)} resamples gave no estimate.")
    params = [fit.model.aligned(one.params, fit.params) for one in good]
    values = {name: np.array([one[name] for one in params]) for name in fit.params}
    coefficients = None if fit.regression is None else np.array([one.coefficients for one in good])
    # Of a mixture the number of components may have been chosen by the fit.
    model = fit.configuration["model"] if fit.model.is_linear else fit.model
    return Bootstrap(Parameters(**values), fit.params, len(found) - len(good), model, coefficients)


def _map(refit: Callable[[Any], Any], seeds: Sequence[int], n_jobs: int | None) -> Iterator[Any]:
    start = time.monotonic()
    done = 0
    for seed in seeds:
        yield refit(seed)
        done += 1
        spent = time.monotonic() - start
        if n_jobs != 1 and spent > _WARM_UP and spent / done * (len(seeds) - done) > _WORTH:
            break
    if done < len(seeds):
        # What a task is handed is large: each has half a second of work.
        size = max(1, int(_TASK * done / max(spent, 1e-9)))
        tasks = [seeds[first : first + size] for first in range(done, len(seeds), size)]
        for some in over_tasks(_several, refit, tasks, n_jobs):
            yield from some


def _several(refit: Callable[[Any], Any], seeds: Sequence[int]) -> list[Any]:
    return [refit(seed) for seed in seeds]
