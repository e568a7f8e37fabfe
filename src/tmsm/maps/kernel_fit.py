"""From rows to kernels: widths and background by the likelihood of rows that are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.text import in_number
from tmsm.manifolds.frames import check_frames
from tmsm.maps.cut_mass import inside_masses, roughly_inside
from tmsm.maps.folds import Folds
from tmsm.maps.kernel_density import KernelDensity
from tmsm.maps.kernel_sums import KernelTree
from tmsm.maps.kernel_widths import Neighbours, Widths
from tmsm.maps.nodes import even_plan
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.measure.nodes import has_nodes
from tmsm.regions import Region

__all__ = ["KernelFit", "KernelSettings", "fit_kernels", "log_seen"]

# Neighbours, powers and factors that are tried; factors go on as long as they get better.
_NEIGHBOURS = (1, 2, 4, 8, 16, 32, 64)
_POWERS = (1.0, 0.75, 0.5, 0.0)
_FACTOR, _FINER = 1.5, 1.5**0.5
_MOST_FACTORS = 12
_MANY_ROWS = 200_000
# Rows that are left out to judge by, at first and in the end.
_FIRST_JUDGED, _JUDGED = 2048, 4096
_STATED = 65_536
_DRAWS = 20_000
# Of so many settings the best is chosen in the end.
_CONFIRMED = 4
_FEWEST_PLACES = 3
# The background is not below such a share of a row.
_LEAST = 0.1


@final
@dataclass(frozen=True)
class KernelSettings:
    """What a user asks for: neighbours and widths (None: to be chosen), the background, and a seed."""

    neighbours: int | None
    factor: float | None
    background: float | None
    seed: int
    log_exposure: LogExposure | None


@final
@dataclass(frozen=True, eq=False)
class KernelFit:
    """A density of kernels, how it was chosen, and how it came about."""

    density: KernelDensity
    widths: Widths
    held_out: float
    n_rows: int
    n_places: int
    exact: bool
    exposure: KnownExposure | None
    notes: tuple[str, ...]
    n_outside: int


@dataclass(frozen=True)
class _Judged:
    """Widths with their background and what the rows that were left out say: of all, and of those that were seen."""

    widths: Widths
    background: float
    held_out: float
    of_seen: float


def fit_kernels(rows: Rows, settings: KernelSettings) -> KernelFit:
    """Kernels of rows inside a region."""
    region = rows.region
    if len(rows.sample()) == 0:
        raise InvalidInputError(rows.describe_absence())
    for frame in region.frames:
        check_frames(frame, rows.frame, "The region")
    region.manifold.log_bell_mass(np.ones(1))  # raises where there are no kernels
    exposure = KnownExposure.of(settings.log_exposure, rows)
    folds = Folds.of(rows, settings.seed)
    if folds.places < _FEWEST_PLACES or folds.units < _FEWEST_PLACES:
        what = "group" if rows.groups is not None and folds.units < _FEWEST_PLACES else "different place"
        count = folds.units if what == "group" else folds.places
        raise EstimationError(
            f"{in_number(count, what)} too few for kernels, whose widths come from distances between them: give "
            f"{_FEWEST_PLACES} at least."
        )
    problem = _Problem(rows, region, folds, exposure, settings)
    return problem.finished(problem.chosen(), folds, rows)


class _Problem:
    """Rows with weight, their neighbours, and a tree of them."""

    def __init__(
        self, rows: Rows, region: Region, folds: Folds, exposure: KnownExposure | None, settings: KernelSettings
    ) -> None:
        blocks = list(rows.map(lambda block: (block.X, block.weights(), block.groups)))
        X = np.concatenate([np.asarray(one) for one, _, _ in blocks])
        w = np.concatenate([one for _, one, _ in blocks])
        if not w.sum() > 0.0:
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        counted = w > 0.0
        self.X, w = np.ascontiguousarray(X[counted]), w[counted]
        self.units = np.unique(folds.unit_labels[counted], return_inverse=True)[1]
        self.groups: IntArray | None = None
        if rows.groups is not None:
            codes = np.concatenate([one for _, _, one in blocks if one is not None])[counted]
            self.groups = np.unique(codes, return_inverse=True)[1]
        # Of rows that were seen with a probability e each stands for 1/e of them.
        self.seen = w / w.sum()
        whole = w if exposure is None else w * np.exp(-(v := exposure.row_values(self.X)) + v.min())
        self.weight = whole / whole.sum()
        self.region, self.exposure, self.settings = region, exposure, settings
        Y = region.manifold.functions(self.X)
        ks = self._neighbour_counts
        shared = None
        if not folds.is_simple:
            both = np.concatenate([folds.unit_labels[counted], folds.place_units[counted]])
            self.units, shared = np.split(np.unique(both, return_inverse=True)[1], 2)
        self.neighbours = Neighbours.of(Y, self.units, max(ks) + 1, shared)
        self.tree = KernelTree.of(Y)
        self.left_out = _left_out_weights(Y, self.units, self.weight)
        self.depth = region.clearance(np.asfortranarray(self.X))[0] if region.has_border else None
        self.area = np.inf
        if has_nodes(region) and (region.manifold.is_closed or np.isfinite(region.bounds).all()):
            self.area = float(np.exp(even_plan(region, 1).nodes().log_weights).sum())
        self._shuffled = np.random.default_rng(settings.seed).permutation(len(self.X))
        self.judged = np.sort(self._shuffled[:_FIRST_JUDGED])

    @property
    def _neighbour_counts(self) -> tuple[int, ...]:
        most = max(int(self.units.max()) - 1, 1)
        if self.settings.neighbours is not None:
            return (min(self.settings.neighbours, most),)
        # Distances of very many rows take room.
        most = min(most, _NEIGHBOURS[-1] if len(self.X) <= _MANY_ROWS else _NEIGHBOURS[4])
        return tuple(k for k in _NEIGHBOURS if k <= most) or (1,)

    def chosen(self) -> _Judged:
        """The widths that rows which are left out like best."""
        ks, found = self._neighbour_counts, list[_Judged]()
        for k in with_progress(ks, len(ks), "choosing the widths"):
            found.append(self._best_factor(k, _POWERS[0], _first_factor(found, k)))
        # A factor that is asked for is one of the distances themselves.
        for power in _POWERS[1:] if self.settings.factor is None else ():
            # A pilot that is smoother may do for widths that follow it less.
            best = _best(found).widths.k
            found += [self._best_factor(k, power, _first_factor(found, k)) for k in {best, min(4 * best, ks[-1])}]
        return self._confirmed(sorted(found, key=lambda one: -one.held_out)[:_CONFIRMED])

    def _confirmed(self, found: list[_Judged]) -> _Judged:
        """The best of some widths, or somewhat wider or narrower ones, by more rows."""
        self.judged = np.sort(self._shuffled[:_JUDGED])
        best = _best([self.judge(one.widths) for one in found])
        if self.settings.factor is not None:
            return best
        wider = [replace(best.widths, factor=best.widths.factor * step) for step in (_FINER, 1.0 / _FINER)]
        return _best([best, *map(self.judge, wider)])

    def _best_factor(self, k: int, power: float, start: float) -> _Judged:
        if self.settings.factor is not None:
            return self.judge(Widths(k, power, self.settings.factor))
        best = self.judge(Widths(k, power, start))
        for step in (_FACTOR, 1.0 / _FACTOR):
            better = False
            for _ in range(_MOST_FACTORS):
                found = self.judge(Widths(k, power, best.widths.factor * step))
                if found.held_out <= best.held_out:
                    break
                best, better = found, True
            if better:
                break
        return best

    def judge(self, widths: Widths, *, exact: bool = False) -> _Judged:
        """The mean log density of rows that are left out, with the best background; with an exposure, of all rows."""
        both = []
        for h in (widths.of(self.neighbours), widths.without_one(self.neighbours)):
            kappa = h**-2.0
            log_inside = np.zeros(len(h))
            if self.depth is not None:
                inside = self._inside(kappa)[0] if exact else roughly_inside(self.depth, kappa)
                log_inside = np.log(np.maximum(inside, 1e-300))
            both.append((np.log(self.weight) - self.region.manifold.log_bell_mass(kappa) - log_inside, kappa))
        # A row of another group may be nearer than the one that is left out; a place has one distance.
        near = self.neighbours.nearest[:, : 0 if self.groups is None else widths.k]
        reach = widths.reach(self.neighbours)
        kernels = self.tree.left_out_sums(self.judged, self.units, reach, near, *both)
        # What is left has lost the weight of the unit and the place that were left out.
        own = self.left_out[self.judged]
        kernels -= np.log1p(-np.minimum(own, 1.0 - 1e-12))
        # Rows that stand for more count for more: the map is that of what is there.
        weight = self.weight[self.judged] / self.weight[self.judged].sum()
        asked = self.settings.background
        share = self._background(kernels, weight) if asked is None else asked
        logs = self._mixed(kernels, share)
        seen = self.seen[self.judged] / self.seen[self.judged].sum()
        return _Judged(widths, share, float(weight @ logs), float(seen @ logs))

    def _mixed(self, kernels: FloatArray, share: float) -> FloatArray:
        if share == 0.0:
            return kernels
        return np.asarray(np.logaddexp(np.log1p(-share) + kernels, np.log(share) - np.log(self.area)))

    def _background(self, kernels: FloatArray, weight: FloatArray) -> float:
        """The share of a uniform background that makes the rows likeliest, by expectation and maximisation."""
        if not np.isfinite(self.area):
            return 0.0
        least = _LEAST / len(self.X)
        share = 0.01
        for _ in range(200):
            before = share
            even = np.log(share) - np.log(self.area)
            share = float(weight @ np.exp(even - np.logaddexp(np.log1p(-share) + kernels, even)))
            share = min(max(share, least), 0.5)
            if abs(share - before) < 1e-4 * before:
                break
        return share

    def _inside(self, kappa: FloatArray) -> tuple[FloatArray, bool]:
        return inside_masses(self.region, self.X, kappa, np.random.default_rng(self.settings.seed))

    def finished(self, found: _Judged, folds: Folds, rows: Rows) -> KernelFit:
        """With the masses inside the border as exactly as they are known."""
        h = found.widths.of(self.neighbours)
        inside, exact = np.ones(len(h)), True
        if self.depth is not None:
            inside, exact = self._inside(h**-2.0)
        # Of all rows, as other maps state it.
        self.judged = np.sort(self._shuffled[:_STATED])
        found = self.judge(found.widths, exact=True)
        density = KernelDensity(
            self.region, rows.frame, self.X, self.weight, h**-2.0, np.maximum(inside, 1e-12), found.background,
            self.groups, self.area,
        )  # fmt: skip
        stated = found.of_seen
        if self.exposure is not None:
            stated += float(self.seen @ self.exposure.row_values(self.X)) - log_seen(density, self.exposure)
        notes = []
        if not exact:
            notes.append(
                "The border is not made of edges that could be followed: how much of a kernel lies inside it comes "
                "from 512 draws of each that is near."
            )
        if not np.isfinite(found.held_out):
            notes.append("Some rows lie so far from all others that no kernel reaches them.")
        return KernelFit(
            density, found.widths, stated, len(folds.labels), folds.places, exact, self.exposure, tuple(notes),
            rows.n_outside,
        )  # fmt: skip


def log_seen(density: KernelDensity, exposure: KnownExposure) -> float:
    """Logarithm of the share of kernels that is seen, by the exposure at draws from them."""
    values = exposure.values_at(density.draw(_DRAWS, np.random.default_rng(0)))
    return float(np.log(np.exp(values - values.max()).mean()) + values.max())


def _left_out_weights(Y: FloatArray, units: IntArray, weight: FloatArray) -> FloatArray:
    """Weights of the unit and of the place of each row together, shape (n,)."""
    places = np.unique(Y + 0.0, axis=0, return_inverse=True)[1].ravel()
    pairs = np.unique(np.column_stack([units, places]), axis=0, return_inverse=True)[1].ravel()
    parts = [np.bincount(labels, weight)[labels] for labels in (units, places, pairs)]
    return np.asarray(parts[0] + parts[1] - parts[2])


def _best(found: list[_Judged]) -> _Judged:
    return max(found, key=lambda one: one.held_out)


def _first_factor(found: list[_Judged], k: int) -> float:
    """Where the search for a factor begins: distances to the k-th neighbour grow like √k."""
    if not found:
        return 1.0
    best = _best(found).widths
    return best.factor * float(np.sqrt(best.k / k))
