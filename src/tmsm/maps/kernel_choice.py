"""Which widths, and how much of a uniform background: by the likelihood of rows that are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray
from tmsm.foundation.progress import with_progress
from tmsm.maps.cut_mass import roughly_inside
from tmsm.maps.kernel_sums import KernelTree
from tmsm.maps.kernel_widths import Neighbours, Widths
from tmsm.matching.exposure import LogExposure
from tmsm.regions import Region

__all__ = ["STATED", "Centres", "Judged", "KernelSettings", "WidthChoice", "left_out_weights", "numbered"]

# Neighbours, powers and factors that are tried; factors go on as long as they get better.
_NEIGHBOURS = (1, 2, 4, 8, 16, 32, 64)
_POWERS = (1.0, 0.75, 0.5, 0.0)
_FACTOR, _FINER = 1.5, 1.5**0.5
_MOST_FACTORS = 12
_MANY_ROWS = 200_000
# Rows that are left out to judge by, at first and in the end.
_FIRST_JUDGED, _JUDGED, STATED = 2048, 4096, 65_536
# Of so many settings the best is chosen in the end.
_CONFIRMED = 4
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
class Centres:
    """Rows that become centres of kernels.

    Attributes
    ----------
    region
        Where they lie.
    X
        Shape (n, D).
    units
        The place of each, or its group: what is left out together, shape (n,).
    place_units
        The unit that the place of each counts for, shape (n,), or None where no place has rows of several groups.
    groups
        Shape (n,), or None.
    seen, weight
        Shares of the rows as they were seen, and as they stand for what is there, shape (n,) each, with sum one.
    depth
        Distances to the border, shape (n,), or None where there is no border.
    area, widest
        Area of the region, infinite where it has no end, and the largest width.
    """

    region: Region
    X: FloatArray
    units: IntArray
    place_units: IntArray | None
    groups: IntArray | None
    seen: FloatArray
    weight: FloatArray
    depth: FloatArray | None
    area: float
    widest: float

    def where(self, chosen: BoolArray) -> Centres:
        """Some of them."""
        seen, weight = self.seen[chosen], self.weight[chosen]
        places = None if self.place_units is None else self.place_units[chosen]
        units, place_units = numbered(self.units[chosen], places)
        return replace(
            self,
            X=np.ascontiguousarray(self.X[chosen]),
            units=units,
            place_units=place_units,
            groups=None if self.groups is None else self.groups[chosen],
            seen=seen / seen.sum(),
            weight=weight / weight.sum(),
            depth=None if self.depth is None else self.depth[chosen],
        )


@final
@dataclass(frozen=True)
class Judged:
    """Widths with their background, and the mean log density of rows that were left out."""

    widths: Widths
    background: float
    held_out: float


@final
class WidthChoice:
    """Centres, their neighbours, a tree of them, and the settings that rows which are left out like best.

    ``k`` is the neighbour that counts, where that is known.
    """

    def __init__(self, centres: Centres, settings: KernelSettings, k: int | None = None) -> None:
        self.centres, self.settings = centres, settings
        Y = centres.region.manifold.functions(centres.X)
        count = max(self._neighbour_counts) if k is None else k
        self.neighbours = Neighbours.of(Y, centres.units, count + 1, centres.place_units)
        self.tree = KernelTree.of(Y)
        self._shuffled = np.random.default_rng(settings.seed).permutation(len(Y))
        self.judged = np.sort(self._shuffled[:_FIRST_JUDGED])

    @cached_property
    def _left_out(self) -> FloatArray:
        """Weights of what is left out with each centre, shape (n,)."""
        centres = self.centres
        if centres.place_units is None:
            return np.asarray(np.bincount(centres.units, centres.weight)[centres.units])
        return left_out_weights(centres.region.manifold.functions(centres.X), centres.units, centres.weight)

    @property
    def _neighbour_counts(self) -> tuple[int, ...]:
        most = max(int(self.centres.units.max()) - 1, 1)
        if self.settings.neighbours is not None:
            return (min(self.settings.neighbours, most),)
        # Distances of very many rows take room.
        most = min(most, _NEIGHBOURS[-1] if len(self.centres.X) <= _MANY_ROWS else _NEIGHBOURS[4])
        return tuple(k for k in _NEIGHBOURS if k <= most) or (1,)

    def chosen(self) -> Judged:
        """The widths that rows which are left out like best."""
        ks, found = self._neighbour_counts, list[Judged]()
        for k in with_progress(ks, len(ks), "choosing the widths"):
            found.append(self._best_factor(k, _POWERS[0], _first_factor(found, k)))
        # A factor that is asked for is one of the distances themselves.
        for power in _POWERS[1:] if self.settings.factor is None else ():
            # A pilot that is smoother may do for widths that follow it less.
            best = _best(found).widths.k
            found += [self._best_factor(k, power, _first_factor(found, k)) for k in {best, min(4 * best, ks[-1])}]
        return self._confirmed(sorted(found, key=lambda one: -one.held_out)[:_CONFIRMED])

    def _confirmed(self, found: list[Judged]) -> Judged:
        """The best of some widths, or somewhat wider or narrower ones, by more rows."""
        self.judged = np.sort(self._shuffled[:_JUDGED])
        best = _best([self.judge(one.widths) for one in found])
        if self.settings.factor is not None:
            return best
        wider = [replace(best.widths, factor=best.widths.factor * step) for step in (_FINER, 1.0 / _FINER)]
        return _best([best, *map(self.judge, wider)])

    def _best_factor(self, k: int, power: float, start: float) -> Judged:
        if self.settings.factor is not None:
            return self.judge(Widths(k, power, self.settings.factor, self.centres.widest))
        best = self.judge(Widths(k, power, start, self.centres.widest))
        for step in (_FACTOR, 1.0 / _FACTOR):
            better = False
            for _ in range(_MOST_FACTORS):
                found = self.judge(replace(best.widths, factor=best.widths.factor * step))
                if found.held_out <= best.held_out:
                    break
                best, better = found, True
            if better:
                break
        return best

    def settled(self, found: Judged, log_factor: FloatArray) -> Judged:
        """The same widths with the background that is best for all rows, and masses inside the border as they are."""
        self.judged = np.sort(self._shuffled[:STATED])
        return self.judge(found.widths, log_factor)

    def judge(self, widths: Widths, log_factor: FloatArray | float = 0.0) -> Judged:
        """The mean log density of rows that are left out, with the best background; with an exposure, of all rows."""
        centres = self.centres
        both = [self._heights(h, log_factor) for h in (widths.of(self.neighbours), widths.without_one(self.neighbours))]
        # A row of another group may be nearer than the one that is left out; a place has one distance.
        near = self.neighbours.nearest[:, : 0 if centres.groups is None else widths.k]
        reach = widths.reach(self.neighbours)
        kernels = self.tree.left_out_sums(self.judged, centres.units, reach, near, *both)
        # What is left has lost the weight of the unit and the place that were left out.
        own = self._left_out[self.judged]
        kernels -= np.log1p(-np.minimum(own, 1.0 - 1e-12))
        # Rows that stand for more count for more: the map is that of what is there.
        weight = centres.weight[self.judged] / centres.weight[self.judged].sum()
        asked = self.settings.background
        share = self._background(kernels, weight) if asked is None else asked
        return Judged(widths, share, float(weight @ self._mixed(kernels, share)))

    def log_density(self, found: Judged, X: FloatArray, log_factor: FloatArray | float) -> FloatArray:
        """Of other points (m, D), shape (m,); the masses inside a straight border times a factor are those inside."""
        a, kappa = self._heights(found.widths.of(self.neighbours), log_factor)
        kernels = self.tree.log_sums(self.centres.region.manifold.functions(X), a, kappa)
        return self._mixed(kernels, found.background)

    def _heights(self, h: FloatArray, log_factor: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """Logarithms of the heights of kernels of widths (n,), and their concentrations."""
        kappa, centres = h**-2.0, self.centres
        a = np.log(centres.weight) - centres.region.manifold.log_bell_mass(kappa)
        if centres.depth is not None:
            rough = np.log(np.maximum(roughly_inside(centres.depth, kappa), 1e-300))
            a -= np.minimum(rough + log_factor, 0.0)
        return a, kappa

    def _mixed(self, kernels: FloatArray, share: float) -> FloatArray:
        if share == 0.0:
            return kernels
        return np.asarray(np.logaddexp(np.log1p(-share) + kernels, np.log(share) - np.log(self.centres.area)))

    def _background(self, kernels: FloatArray, weight: FloatArray) -> float:
        """The share of a uniform background that makes the rows likeliest, by expectation and maximisation."""
        if not np.isfinite(self.centres.area):
            return 0.0
        least = _LEAST / len(self.centres.X)
        share = 0.01
        for _ in range(200):
            before = share
            even = np.log(share) - np.log(self.centres.area)
            share = float(weight @ np.exp(even - np.logaddexp(np.log1p(-share) + kernels, even)))
            share = min(max(share, least), 0.5)
            if abs(share - before) < 1e-4 * before:
                break
        return share


def numbered(units: IntArray, place_units: IntArray | None) -> tuple[IntArray, IntArray | None]:
    """Units of rows and of their places, shape (n,) each, by numbers from 0 on that are the same for both."""
    if place_units is None:
        return np.unique(units, return_inverse=True)[1], None
    both = np.unique(np.concatenate([units, place_units]), return_inverse=True)[1]
    return both[: len(units)], both[len(units) :]


def left_out_weights(Y: FloatArray, units: IntArray, weight: FloatArray) -> FloatArray:
    """Weights of the unit and of the place of each row together, shape (n,)."""
    places = np.unique(Y + 0.0, axis=0, return_inverse=True)[1].ravel()
    pairs = np.unique(np.column_stack([units, places]), axis=0, return_inverse=True)[1].ravel()
    parts = [np.bincount(labels, weight)[labels] for labels in (units, places, pairs)]
    return np.asarray(parts[0] + parts[1] - parts[2])


def _best(found: list[Judged]) -> Judged:
    return max(found, key=lambda one: one.held_out)


def _first_factor(found: list[Judged], k: int) -> float:
    """Where the search for a factor begins: distances to the k-th neighbour grow like √k."""
    if not found:
        return 1.0
    best = _best(found).widths
    return best.factor * float(np.sqrt(best.k / k))
