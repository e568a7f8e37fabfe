"""Where searches for a mixture begin: a fit of score matching in each cluster of rows, and its plain moments."""

from __future__ import annotations

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.matching.equations import Equations, LinearSums
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import solve
from tmsm.models.mixture import Mixture
from tmsm.models.mixture_clusters import cluster_labels, densest, ladder, moment_fit, moment_fits
from tmsm.regions import Region

__all__ = ["mixture_starts"]

# So many rows show the clusters, and so many draws how much of a component lies inside.
_ROWS, _DRAWS = 3000, 400
# On a background the components may be the densest rows, in these shares of all.
_CORES = (0.5, 0.2, 0.05)
# So many ways to divide these rows are tried.
_WAYS = 2


def mixture_starts(model: Mixture, equations: Equations, rows: Rows) -> list[FloatArray]:
    """Some θ, shape (p,) each, the most promising first."""
    some = rows.spread(_ROWS)
    X = np.concatenate(list(some.map(lambda block: block.X)))
    statistics, k = model.component.statistics(X), model.count
    found: list[tuple[FloatArray, IntArray]] = []
    for labels in cluster_labels(model.component, X, statistics, k):
        numbers = np.bincount(labels, minlength=k)
        moments = moment_fits(model.component, statistics, labels, k)
        matched = _matched(model, equations, some, labels)
        for thetas in ([a if b is None else b for a, b in zip(moments, matched, strict=True)], moments):
            if all(theta is not None for theta in thetas):
                found.append((np.array(thetas), numbers))
    if k > 1:
        whole = moment_fit(model.component, statistics.mean(axis=0))
        if whole is not None:
            found.append((ladder(model.component, whole, k), np.ones(k, dtype=np.intp)))
    starts = [model.from_rows(thetas, numbers, _log_masses(model, rows.region, thetas)) for thetas, numbers in found]
    return starts + (_cores(model, rows.region, X, statistics) if model.has_background else [])


def _cores(model: Mixture, region: Region, X: FloatArray, statistics: FloatArray) -> list[FloatArray]:
    """Components made of the densest rows alone, all others being taken for background."""
    found = []
    for share in _CORES:
        dense = densest(X, share)
        if len(dense) < model.count:
            break
        own = statistics[dense]
        for labels in cluster_labels(model.component, X[dense], own, model.count)[:_WAYS]:
            thetas = moment_fits(model.component, own, labels, model.count)
            if all(theta is not None for theta in thetas):
                numbers = np.bincount(labels, minlength=model.count)
                masses = _log_masses(model, region, np.array(thetas))
                found.append(model.from_rows(np.array(thetas), numbers, masses, 1.0 - share))
    return found


def _matched(model: Mixture, equations: Equations, rows: Rows, labels: IntArray) -> list[FloatArray | None]:
    """The fit of score matching to the rows of each cluster, with the weight that the equations have."""
    if not isinstance(equations, OneWeight):
        return [None] * model.count
    own = OneWeight(model.component, equations.weight, equations.exposure)
    sums: list[LinearSums | None] = [None] * model.count
    first = 0

    def block_sums(block: Block) -> None:
        nonlocal first
        terms, mine = own.terms(block), labels[first : first + len(block.X)]
        first += len(block.X)
        for j in range(model.count):
            if (mine == j).any():
                added = LinearSums.of(terms, block, block.weights() * (mine == j))
                before = sums[j]
                sums[j] = added if before is None else before + added

    list(rows.map(block_sums))
    return [None if one is None else _solved(model, one) for one in sums]


def _solved(model: Mixture, sums: LinearSums) -> FloatArray | None:
    try:
        theta = solve(model.component.constraint, sums.A, sums.b).theta
        model.component.parameters(theta)
    except (EstimationError, InvalidInputError):
        return None
    return theta


def _log_masses(model: Mixture, region: Region, thetas: FloatArray) -> FloatArray:
    """Roughly the logarithms of the probabilities of the region, by draws from each component, shape (k,)."""
    found, rng = np.zeros(len(thetas)), np.random.default_rng(0)
    if not region.has_border:
        return found
    for k, theta in enumerate(thetas):
        draws = model.component.draw(_DRAWS, rng, **model.component.parameters(theta))
        inside = np.count_nonzero(region.signed_distance(draws)[0] > 0.0)
        found[k] = np.log((inside + 0.5) / (_DRAWS + 1.0))
    return found
