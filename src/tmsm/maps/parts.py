"""Parts of regions: what two have in common, and those that lie apart and hold no rows."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.measure.nodes import Nodes
from tmsm.regions import Region

__all__ = ["common_part", "empty_parts"]

# Nodes that are farther apart than so many times the largest distance between neighbours belong to different parts.
_APART = 4.0
# How closely edges follow a curved border, in the unit of distances.
_FINE = 1e-6


def common_part(region: Region, part: Region) -> Region:
    """What two regions have in common; one of them where it surely lies inside the other as a whole."""
    if not region.has_border or part == region:
        return part
    if not part.has_border:
        return region
    around, inner = region.border_edges(_FINE), part.border_edges(_FINE)
    if around is not None and inner is not None:
        if _lies_in(inner, region) and not part.contains(np.vstack(around)).any():
            return part
        if _lies_in(around, part) and not region.contains(np.vstack(inner)).any():
            return region
    return region & part


def _lies_in(chains: list[FloatArray], region: Region) -> bool:
    """Whether a border surely lies inside a region: its vertices are farther inside than its edges are long."""
    longest = max(float(np.linalg.norm(one - np.roll(one, -1, axis=0), axis=1).max()) for one in chains)
    return bool((region.clearance(np.asfortranarray(np.vstack(chains)))[0] > longest).all())


def empty_parts(region: Region, nodes: Nodes, X: FloatArray) -> list[str]:
    """A sentence on parts of a region that hold none of the rows X (n, D), if there are any."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    manifold = region.manifold
    Y = manifold.functions(nodes.X)
    step = _APART * float(np.exp(nodes.log_weights.max() / manifold.dim))
    tree = cKDTree(Y)
    pairs = tree.query_pairs(step, output_type="ndarray")
    ones = np.ones(len(pairs), dtype=bool)
    count, part = connected_components(coo_array((ones, pairs.T), shape=(len(Y), len(Y))), directed=False)
    if count == 1:
        return []
    held = np.bincount(part[tree.query(manifold.functions(X))[1]], minlength=count)
    empty = int(np.count_nonzero(held == 0))
    if empty == 0:
        return []
    share = float(np.exp(nodes.log_weights)[held[part] == 0].sum() / np.exp(nodes.log_weights).sum())
    verb = "holds" if empty == 1 else "hold"
    return [
        f"{empty} of the {count} parts of the region that lie apart, {100.0 * share:.2g} % of its area, {verb} no "
        "rows: what the map shows there follows from the others."
    ]
