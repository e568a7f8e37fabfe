"""How smooth: ridges from large to small, judged by the likelihood of rows that are held out in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError
from tmsm.foundation.progress import with_progress
from tmsm.maps.folds import Folds
from tmsm.maps.penalised import Maximum, PenalisedLikelihood, divergence
from tmsm.maps.series import Series

__all__ = ["FIRST_RIDGE", "Candidate", "FoldSums", "LikelihoodSmoother", "Path", "held_out_with_choice", "path_of"]

# From one ridge of a path to the next, and how many there are at most.
_FACTOR, _MOST = 10.0**-0.5, 24
# The first ridge leaves nearly nothing of the penalised functions; the search ends after so many that are worse.
FIRST_RIDGE, _WORSE = 10.0, 3
# It ends, too, where nearly all functions are free.
_ALL_FREE = 0.95
# What is left to be gained at a maximum, for each row.
_TOLERANCE = 1e-5
# Where fewer nodes than this hold the mass, for each effective parameter, finer ones are looked at: their integral may
# differ in its logarithm by so much.
_MANY_NODES, _HIDDEN = 20.0, 0.01
# … and so many times as much where rows are held out, which only tells ridges apart.
_HELD_OUT = 100.0
# A fold that leaves less than this share of the weight to be fitted does not count.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Candidate:
    """A map at one ridge.

    Attributes
    ----------
    smoothing
        The ridge λ.
    theta
        Coefficients, shape (p,).
    parts
        What the rows of each fold add to ``held_out``, shape (k,); none where nothing could be held out.
    freedom
        Effective number of parameters.
    """

    smoothing: float
    theta: FloatArray
    parts: FloatArray
    freedom: float

    @property
    def held_out(self) -> float:
        """Mean log density of rows that were held out; of score matching above dimension three minus J of these."""
        return float(self.parts.sum()) if len(self.parts) else -np.inf


def held_out_with_choice(candidates: Sequence[Candidate]) -> float:
    """The mean log density of the rows of each fold at the candidate that all other folds like best.

    That of the best candidate for all of them is too large: it was chosen by the same rows.
    """
    parts = np.stack([one.parts for one in candidates])
    if parts.shape[1] < 2:
        return max(one.held_out for one in candidates)
    best = np.argmax(parts.sum(axis=1)[:, None] - parts, axis=0)
    return float(parts[best, np.arange(parts.shape[1])].sum())


@final
@dataclass(frozen=True)
class Path:
    """Maps from smooth to rough, and which of them the rows that were held out like best."""

    candidates: tuple[Candidate, ...]
    best: int
    note: str = ""

    @property
    def chosen(self) -> Candidate:
        """The best."""
        return self.candidates[self.best]

    @property
    def at_rough_end(self) -> bool:
        """Whether a smaller ridge, or more functions, might be better still."""
        return len(self.candidates) > 1 and self.best == len(self.candidates) - 1

    def shifted(self, by: float) -> Path:
        """The path with a constant added to what is held out."""
        return replace(
            self,
            candidates=tuple(replace(one, parts=one.parts + by / max(len(one.parts), 1)) for one in self.candidates),
        )


def path_of(candidate: Callable[[float], Candidate], largest: float, size: int) -> Path:
    """Candidates for ridges from the largest on, as far as they get better, and closer steps round the best."""
    found: list[Candidate] = []
    note = ""
    for k in with_progress(range(_MOST), _MOST, "choosing the smoothing"):
        try:
            found.append(candidate(largest * _FACTOR**k))
        except EstimationError:
            if not found:
                raise
            note = "For smaller ridges the smoothing did not converge."
            break
        scores = [one.held_out for one in found]
        if len(found) - 1 - int(np.argmax(scores)) >= _WORSE or found[-1].freedom > _ALL_FREE * size:
            break
    best = int(np.argmax([one.held_out for one in found]))
    if 0 < best < len(found) - 1:
        for between in (_FACTOR**0.5, _FACTOR**-0.5):
            try:
                found.append(candidate(found[best].smoothing * between))
            except EstimationError:
                continue
    found.sort(key=lambda one: -one.smoothing)
    return Path(tuple(found), int(np.argmax([one.held_out for one in found])), note)


@final
@dataclass(frozen=True)
class FoldSums:
    """Sums over the rows that each fold judges: of weights (k,), of weighted statistics (k, p).

    ``besides`` are the same sums, (k, 1 + p), over rows that it leaves out and does not judge; there are Σw² and the
    number of rows with weight, of all.
    """

    weights: FloatArray
    totals: FloatArray
    besides: FloatArray
    weight_squares: float
    n_rows: int

    @classmethod
    def of(cls, series: Series, rows: Rows, folds: Folds) -> FoldSums:
        """One reading of the rows."""
        start, counted = 0, 0
        weights, totals, squares = np.zeros(folds.count), np.zeros((folds.count, series.size)), 0.0
        besides = np.zeros((folds.count, 1 + series.size))

        def add(block: Block) -> None:
            nonlocal start, counted, weights, totals, besides, squares
            w = block.weights()
            values = np.column_stack([w, series.statistics(block.X) * w[:, None]])
            sums = folds.totals(start, values)
            if not folds.is_simple:
                besides += folds.left_out_besides(start, values)
            weights, totals, squares = weights + sums[:, 0], totals + sums[:, 1:], squares + float(w @ w)
            start += len(w)
            counted += int(np.count_nonzero(w))

        for _ in rows.map(add):
            pass
        return cls(weights, totals, besides, squares, counted)

    @property
    def mean(self) -> FloatArray:
        """Of all rows, shape (p,)."""
        return np.asarray(self.totals.sum(axis=0) / self.weights.sum())

    @property
    def effective_n(self) -> float:
        """(Σw)²/Σw²."""
        return float(self.weights.sum() ** 2 / self.weight_squares)

    @property
    def counting(self) -> IntArray:
        """Numbers of the folds that have weight and leave some to the others, shape (j,)."""
        return np.flatnonzero((self.weights > 0.0) & (self._rest > _NOTHING * self.weights.sum()))

    @property
    def _rest(self) -> FloatArray:
        """Weights without each fold, shape (k,)."""
        return np.asarray(self.weights.sum() - self.weights - self.besides[:, 0])

    @property
    def others(self) -> FloatArray:
        """Means without each of these folds, shape (p, j)."""
        k = self.counting
        rest = self.totals.sum(axis=0) - self.totals[k] - self.besides[k, 1:]
        return np.asarray((rest / self._rest[k][:, None]).T)

    def held_out(self, theta: FloatArray, log_integrals: FloatArray) -> FloatArray:
        """Parts of the mean of θ·t − log ∫ that come from the rows of each fold, at its own θ (p, j), shape (j,)."""
        k = self.counting
        parts = (self.totals[k] * theta.T).sum(axis=1) - self.weights[k] * log_integrals
        return np.asarray(parts / self.weights[k].sum())


class NodeLevel(Protocol):
    """Nodes of a region for a series, and finer ones."""

    def likelihood(self) -> PenalisedLikelihood:
        """The likelihood on them."""

    def log_integral(self, theta: FloatArray) -> float:
        """Logarithm of ∫ e exp(θ·t) by them."""

    @property
    def finer(self) -> NodeLevel | None:
        """Cells half as wide; None where these are too many to look at."""

    @property
    def affordable(self) -> bool:
        """Whether a path of smoothings can be computed on them."""


@final
class LikelihoodSmoother:
    """Candidates of the penalised likelihood; each starts from the one before.

    ``weak`` is the ridge on the free functions: what the rows leave open must not become infinite.
    """

    def __init__(self, series: Series, nodes: NodeLevel, sums: FoldSums, weak: float) -> None:
        self.series, self.nodes, self.sums, self.weak = series, nodes, sums, weak
        self.likelihood = nodes.likelihood()
        self._near = np.zeros(series.size)
        # How far the maps without each fold are from that of all rows.
        self._away = np.zeros((series.size, len(sums.counting)))

    @property
    def tolerance(self) -> float:
        """What may be left to be gained in the mean log density."""
        return _TOLERANCE / self.sums.effective_n

    def ridge(self, smoothing: float) -> FloatArray:
        """ρ of each function, shape (p,)."""
        ridge = np.full(self.series.size, smoothing)
        ridge[: self.series.n_free] = self.weak
        return ridge

    def fitted(self, smoothing: float, start: FloatArray | None = None) -> Maximum:
        """The map of all rows."""
        start = self._near if start is None else start
        found = self.likelihood.maximum(self.sums.mean, self.ridge(smoothing), start, self.tolerance)
        self._near = found.theta
        return found

    def _resolved(self, smoothing: float) -> Maximum:
        """The map of all rows, on nodes between which nothing hides; an error where there are none so fine."""
        found = self.fitted(smoothing)
        while True:
            if self.likelihood.effective_nodes(found.theta) > _MANY_NODES * _freedom(found):
                return found
            finer = self.nodes.finer
            if finer is None or abs(finer.log_integral(found.theta) - found.log_integral) <= _HIDDEN:
                return found
            if not finer.affordable:
                raise divergence()
            self.nodes, self.likelihood = finer, finer.likelihood()
            try:
                found = self.fitted(smoothing)
            except EstimationError as error:  # mass that was hidden between nodes
                raise divergence() from error

    def largest(self) -> float:
        """A ridge that leaves nearly nothing of the penalised functions."""
        free = slice(0, self.series.n_free)
        part = PenalisedLikelihood(self.likelihood.t[:, free], self.likelihood.log_weights)
        weak = np.full(self.series.n_free, self.weak)
        found = part.maximum(self.sums.mean[free], weak, np.zeros(self.series.n_free), self.tolerance)
        self._near[free] = found.theta
        information = self.likelihood.at(self._near, self.ridge(0.0)).information
        return FIRST_RIDGE * float(np.linalg.eigvalsh(information[self.series.n_free :, self.series.n_free :])[-1])

    def candidate(self, smoothing: float) -> Candidate:
        """The map at a ridge, and what rows that are held out say."""
        found, ridge = self._resolved(smoothing), self.ridge(smoothing)
        held_out = np.zeros(0)
        if len(self.sums.counting):
            start = found.theta[:, None] + self._away
            theta = self.likelihood.maxima(self.sums.others, ridge, found, start, _HELD_OUT * self.tolerance)
            self._away = theta - found.theta[:, None]
            held_out = self.sums.held_out(theta, self.likelihood.log_integrals(theta))
        return Candidate(smoothing, found.theta, held_out, _freedom(found))


def _freedom(found: Maximum) -> float:
    """Effective number of parameters."""
    return float(np.trace(np.linalg.solve(found.curvature, found.information)))
