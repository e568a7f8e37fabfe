"""Where searches for a mixture begin: a fit of score matching in each cluster of rows, and its plain moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.matching.equations import Equations, LinearSums
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import solve
from tmsm.measure.integrals import log_sum, plan_nodes
from tmsm.measure.nodes import has_nodes
from tmsm.models.mixture import Mixture
from tmsm.models.mixture_clusters import cluster_labels, ladder, moment_fit, moment_fits

__all__ = ["mixture_starts"]

# So many rows show the clusters.
_ROWS = 3000


def mixture_starts(model: Mixture, equations: Equations, rows: Rows) -> list[FloatArray]:
    """Some θ, shape (p,) each, the most promising first."""
    some = rows.spread(_ROWS)
    X = np.concatenate(list(some.map(lambda block: block.X)))
    statistics, k = model.component.statistics(X), model.count
    found: list[tuple[FloatArray, IntArray]] = []
    for labels in cluster_labels(X, k, model.manifold.is_flat):
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
    masses = _log_integrals(model, rows, X, found)
    return [model.from_rows(*one, own) for one, own in zip(found, masses, strict=True)]


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


def _log_integrals(
    model: Mixture, rows: Rows, X: FloatArray, found: Sequence[tuple[FloatArray, IntArray]]
) -> list[FloatArray | None]:
    """Integrals of the components of each start over the region, shape (k,); None where they are not to be had."""
    nowhere: list[FloatArray | None] = [None] * len(found)
    if not found or not (rows.region.has_border and has_nodes(rows.region)):
        return nowhere
    try:
        nodes = plan_nodes(model.at(model.from_rows(*found[0])), rows.region, X).nodes()
    except (EstimationError, InvalidInputError):
        return nowhere
    centred = model.centred_statistics(nodes.X)
    return [np.array([log_sum(centred @ own + nodes.log_weights) for own in thetas]) for thetas, _ in found]
