"""Plain answers about a fit: what lies outside the region, and which rows have the weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.inference.centres import Centre
from tmsm.inference.influence import Influence
from tmsm.manifolds.frames import Frame
from tmsm.models.base import Model
from tmsm.models.parameters import Parameters
from tmsm.regions import BorderView, Region
from tmsm.weights import Weight

__all__ = ["extrapolation", "few_carriers", "mass_outside", "thin_region", "unequal_columns", "weight_shares"]

# Beyond such a ratio of the columns' spreads distances to a border are those along one column alone.
_MAX_RATIO = 10.0
# So few rows, and so small a share of all, are few to carry an estimate: its spread is that of rare large values.
_FEW_CARRIERS, _FEW_SHARE = 40.0, 0.1
# Of combined weights, whose covariance is estimated from the same rows.
_SMALL_SHARE = 0.25
# Rows nearer to the border than this share of their extent lie in a strip.
_THIN = 0.01
_DRAWS = 20_000
_NEAREST = 0.1


def mass_outside(model: Model, params: Parameters, region: Region) -> float | None:
    """Share of the fitted distribution that lies outside the region, by 20,000 draws; None without a sampler."""
    if not region.has_border:
        return None
    try:
        X = model.draw(_DRAWS, np.random.default_rng(0), **params)
    except (EstimationError, InvalidInputError):
        return None
    return float(np.mean(region.signed_distance(X)[0] <= 0.0))


def extrapolation(centres: Sequence[Centre], region: Region, frame: Frame) -> list[str]:
    """A sentence for each centre of the fitted distribution that lies where nothing could be seen."""
    found = []
    for centre in centres:
        if centre.field is None or centre.is_axis or not region.has_border:
            continue
        depth = -float(region.clearance(centre.point[None, :])[0][0])
        if not depth > 0.0:
            continue
        read = frame.length(depth) if region.manifold.distance_unit.symbol else f"{depth:.3g}"
        if centre.component is not None:
            found.append(
                f"The {centre.title} lies outside the region, {read} beyond its border: it is extrapolated and depends "
                "on the shape of the components."
            )
            continue
        found.append(
            f"The {centre.field.title} lies outside the region, {read} beyond its border: it is extrapolated and "
            "depends on the shape of the model. Look at the goodness of fit, and compare with a wider family."
        )
    return found


def few_carriers(influence: Influence, rows: Rows) -> list[str]:
    """A sentence if the estimate depends mostly on a few rows, such as those next to the short sides of a thin strip.

    Their number is (Σ h)² / Σ h², h_i the share of row i in the variance of the estimate, over all directions.
    """
    if rows.groups is not None:
        return []
    _, parts = rows.mean_and_parts(influence.of(rows))
    scale = np.sqrt((parts**2).sum(axis=0))
    parts = parts[:, scale > 0.0] / scale[scale > 0.0]
    share = np.einsum("ij,ij->i", parts @ np.linalg.pinv(parts.T @ parts, hermitian=True), parts)
    number = float(share.sum()) ** 2 / max(float(share @ share), 1e-300)
    if influence.equations.is_combined and number < _SMALL_SHARE * rows.effective_number:
        return [
            f"This estimate, for which several weights were combined, depends mostly on some "
            f"{100.0 * number / rows.effective_number:.0f} % of the rows: its errors may be too small. Compare with "
            "the weight 'saturating'."
        ]
    if number >= min(_FEW_CARRIERS, _FEW_SHARE * rows.effective_number):
        return []
    return [
        f"This estimate depends mostly on some {number:.0f} rows. Others like them may be missing by chance, so that "
        "errors and intervals may be too small. Compare with other weights, and with the exact likelihood."
    ]


def thin_region(rows: Rows) -> list[str]:
    """A sentence if the region may be a strip, in which a test of fit alone is not reliable.

    Small islands far apart look alike to this, so that the sentence leaves it open.
    """
    view = rows.sample().view
    if not view.region.has_border or len(view.X) == 0:
        return []
    if np.median(view.distance()[0]) >= _THIN * np.ptp(view.X, axis=0).max():
        return []
    return [
        "All rows lie close to the border, compared with how far they extend. If the region is a thin strip, rows next "
        "to its short sides are rare, and goodness of fit may reject a correct model in one sample of seven."
    ]


def unequal_columns(rows: Rows) -> list[str]:
    """A sentence if distances in flat space mix columns of very different spread."""
    region = rows.region
    if not (region.manifold.is_flat and region.has_border) or region.axes is not None:
        return []
    spread = rows.sample().X.std(axis=0)
    ratio = float(spread.max() / max(float(spread.min()), 1e-300))
    if ratio <= _MAX_RATIO:
        return []
    return [
        f"The columns differ in spread by a factor of {ratio:.3g}, so that distances to the border are those along one "
        "of them: bring them to similar units, rows and region alike."
    ]


def weight_shares(weight: Weight, rows: Rows) -> tuple[float, float]:
    """Share of the weight tr W held by the tenth of the rows nearest to the border, and the effective number of rows.

    The latter is (Σ tr W)² / Σ (tr W)².
    """
    sizes, distances = [], []
    for trace, d in rows.map(lambda block: _block_sizes(weight, block.view, block.weights())):
        sizes.append(trace)
        distances.append(d)
    size, d = np.concatenate(sizes), np.concatenate(distances)
    nearest = np.argsort(d)[: max(1, round(_NEAREST * len(d)))]
    total = float(size.sum())
    if not total > 0.0:
        return 0.0, 0.0
    return float(size[nearest].sum()) / total, total**2 / float(size @ size)


def _block_sizes(weight: Weight, view: BorderView, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    field = weight.field(view)
    return w * field.trace(view.region.manifold), view.distance()[0]
