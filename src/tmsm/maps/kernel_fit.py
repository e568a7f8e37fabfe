"""From rows to kernels: centres, widths and background, the masses inside the border, and what held-out rows say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.text import in_number
from tmsm.manifolds.frames import check_frames
from tmsm.maps.cut_mass import inside_masses, roughly_inside
from tmsm.maps.folds import Folds
from tmsm.maps.kernel_choice import STATED, Centres, Judged, KernelSettings, WidthChoice, numbered
from tmsm.maps.kernel_density import KernelDensity
from tmsm.maps.kernel_widths import Widths
from tmsm.maps.nodes import even_plan
from tmsm.maps.too_few import check_places
from tmsm.matching.exposure import KnownExposure
from tmsm.measure.nodes import Nodes, has_nodes

__all__ = ["KernelFit", "fit_kernels", "log_seen"]

_DRAWS = 20_000
_FEWEST_GROUPS = 3
# Up to so many rows all is chosen anew without each fold.
_CHOSEN_ANEW = 500
# Kernels that are integrated to see that all is well: so many, so many times as wide as nodes are apart; and what may
# be missing, along a border and by draws.
_INTEGRATED, _WIDE, _MISSING = 256, 3.0, (0.02, 0.1)


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
    check_places(rows, folds)
    if folds.units < _FEWEST_GROUPS:
        raise EstimationError(
            f"{in_number(folds.units, 'group')} too few for kernels, whose widths come from distances between groups: "
            f"give {_FEWEST_GROUPS} at least, or leave the groups out."
        )
    problem = _Problem(rows, folds, exposure, settings)
    return problem.finished(folds, rows)


@final
class _Problem:
    """Rows with weight as centres, and the nodes of their region."""

    def __init__(self, rows: Rows, folds: Folds, exposure: KnownExposure | None, settings: KernelSettings) -> None:
        blocks = list(rows.map(lambda block: (block.X, block.weights(), block.groups)))
        X = np.concatenate([np.asarray(one) for one, _, _ in blocks])
        w = np.concatenate([one for _, one, _ in blocks])
        if not w.sum() > 0.0:
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        counted = w > 0.0
        X, w = np.ascontiguousarray(X[counted]), w[counted]
        self.labels: IntArray = folds.labels[counted]
        self.group_labels: IntArray = folds.group_labels[counted]
        units, place_units = numbered(
            folds.unit_labels[counted], None if folds.is_simple else folds.place_units[counted]
        )
        groups: IntArray | None = None
        if rows.groups is not None:
            codes = np.concatenate([one for _, _, one in blocks if one is not None])[counted]
            groups = np.unique(codes, return_inverse=True)[1]
        # Of rows that were seen with a probability e each stands for 1/e of them.
        whole = w if exposure is None else w * np.exp(-(v := exposure.row_values(X)) + v.min())
        self.region, self.exposure, self.settings = rows.region, exposure, settings
        depth = self.region.clearance(np.asfortranarray(X))[0] if self.region.has_border else None
        manifold, self.nodes, area = self.region.manifold, None, np.inf
        if has_nodes(self.region) and (manifold.is_closed or np.isfinite(self.region.bounds).all()):
            self.nodes = even_plan(self.region, 1).nodes()
            area = float(np.exp(self.nodes.log_weights).sum())
        # Kernels as wide as the region are all but uniform; wider ones only lose digits.
        widest = float(np.linalg.norm(np.ptp(manifold.functions(X if self.nodes is None else self.nodes.X), axis=0)))
        self.centres = Centres(
            self.region, X, units, place_units, groups, w / w.sum(), whole / whole.sum(), depth, area, widest
        )

    def _inside(self, kappa: FloatArray) -> tuple[FloatArray, bool]:
        """How much of each kernel lies inside the border, and whether that is exact."""
        if self.centres.depth is None:
            return np.ones(len(kappa)), True
        return inside_masses(self.region, self.centres.X, kappa, np.random.default_rng(self.settings.seed))

    def _log_factor(self, inside: FloatArray, kappa: FloatArray) -> FloatArray:
        """Logarithms of the masses inside the border over those inside a straight one, shape (n,)."""
        depth = self.centres.depth
        if depth is None:
            return np.zeros(len(kappa))
        return np.log(np.maximum(inside, 1e-300) / np.maximum(roughly_inside(depth, kappa), 1e-300))

    def _held_out(self, found: Judged, log_factor: FloatArray) -> float:
        """The mean log density of the rows of each fold in kernels of those that have no place or group in it.

        Where rows are few, the widths are chosen without the fold, too: the rows that like some widths best are no
        judges of them.
        """
        centres, n = self.centres, len(self.centres.X)
        judged = np.zeros(n, dtype=bool)
        judged[np.random.default_rng(self.settings.seed).permutation(n)[:STATED]] = True
        total = weight = 0.0
        for fold in np.unique(self.labels):
            own = (self.labels == fold) & judged
            others = (self.labels != fold) & (self.group_labels != fold)
            if not own.any() or not others.any():
                continue
            anew = n <= _CHOSEN_ANEW
            part = WidthChoice(centres.where(others), self.settings, None if anew else found.widths.k)
            settled = part.settled(part.chosen(), log_factor[others]) if anew else found
            logs = part.log_density(settled, centres.X[own], log_factor[others])
            total += float(centres.seen[own] @ logs)
            weight += float(centres.seen[own].sum())
        return total / weight if weight > 0.0 else -np.inf

    def finished(self, folds: Folds, rows: Rows) -> KernelFit:
        """The best widths, with the masses inside the border as exactly as they are known."""
        centres = self.centres
        choice = WidthChoice(centres, self.settings)
        found = choice.chosen()
        kappa = found.widths.of(choice.neighbours) ** -2.0
        inside, exact = self._inside(kappa)
        log_factor = self._log_factor(inside, kappa)
        found = choice.settled(found, log_factor)
        density = KernelDensity(
            self.region, rows.frame, centres.X, centres.weight, kappa, np.maximum(inside, 1e-12), found.background,
            centres.groups, centres.area,
        )  # fmt: skip
        if self.nodes is not None:
            _check_integral(density, self.nodes, exact)
        stated = self._held_out(found, log_factor)
        if self.exposure is not None:
            stated += float(centres.seen @ self.exposure.row_values(centres.X)) - log_seen(density, self.exposure)
        notes = []
        if not exact:
            notes.append(
                "The border is not made of edges that could be followed: how much of a kernel lies inside it comes "
                "from 512 draws of each that is near."
            )
        if not np.isfinite(found.held_out):
            notes.append("Some rows lie so far from all others that no kernel reaches them.")
        return KernelFit(
            density, found.widths, stated, len(centres.X), folds.places, exact, self.exposure, tuple(notes),
            rows.n_outside,
        )  # fmt: skip


def _check_integral(density: KernelDensity, nodes: Nodes, exact: bool) -> None:
    """Raise an error where kernels, cut and made whole, do not integrate to one on nodes of the region."""
    manifold = density.region.manifold
    apart = float(np.exp(nodes.log_weights.max() / manifold.dim))
    wide = np.flatnonzero(density.kappa < (_WIDE * apart) ** -2.0)
    if len(wide) == 0:
        return
    # Those of which least is inside, and some of all.
    half = _INTEGRATED // 2
    least = wide[np.argsort(density.inside[wide])[:half]]
    some = wide[np.linspace(0, len(wide) - 1, min(len(wide), half)).astype(int)]
    chosen = np.union1d(least, some)
    Y, centres = manifold.functions(nodes.X), manifold.functions(density.X[chosen])
    found = np.empty(len(chosen))
    height = -manifold.log_bell_mass(density.kappa[chosen]) - np.log(density.inside[chosen])
    for k, centre in enumerate(centres):
        square = ((Y - centre) ** 2).sum(axis=1)
        found[k] = np.exp(nodes.log_weights + height[k] - 0.5 * density.kappa[chosen[k]] * square).sum()
    weight = density.weight[chosen] / density.weight[chosen].sum()
    mass = float(weight @ found)
    if abs(mass - 1.0) > _MISSING[0 if exact else 1]:
        raise EstimationError(
            f"An internal error: kernels that should have the mass one inside {density.region!r} have {mass:.4g} on "
            f"{len(nodes.X):,} nodes, so that no map is given. Nothing is wrong with the rows: please report this "
            "region. DensityMap does not need these masses."
        )


def log_seen(density: KernelDensity, exposure: KnownExposure) -> float:
    """Logarithm of the share of kernels that is seen, by the exposure at draws from them."""
    values = exposure.values_at(density.draw(_DRAWS, np.random.default_rng(0)))
    return float(np.log(np.exp(values - values.max()).mean()) + values.max())
