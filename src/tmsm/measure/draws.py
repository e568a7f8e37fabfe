"""Exactly so many draws inside a region, by keeping those of a whole distribution that fall into it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.regions import Region

__all__ = ["draw_inside"]

# Give up if, at the rate so far, more than _MAX_DRAWS would be needed, or after so many without a single row.
_PATIENCE = 2**21
_MAX_DRAWS = 2**28
_DRAW_BLOCK = 2**18


def draw_inside(draw: Callable[[int], FloatArray], n: int, region: Region) -> FloatArray:
    """The first n of a sampler's draws that lie inside the region, shape (n, D); an error where they are too rare."""
    D = region.manifold.embedding_dim
    kept: list[FloatArray] = []
    n_kept = n_drawn = 0
    while n_kept < n:
        rate = max(n_kept, 1) / n_drawn if n_drawn else 1.0
        block = int(min(_DRAW_BLOCK, max(64, 1.1 * (n - n_kept) / rate)))
        X = draw(block)
        if X.shape[1] != D:
            raise InvalidInputError(f"The parameters are for {X.shape[1]} coordinates, the region has {D}.")
        inside = X[region.signed_distance(X)[0] > 0.0]
        kept.append(inside)
        n_kept += len(inside)
        n_drawn += block
        # At most this share can lie inside, but for bad luck of one in a thousand.
        share = (n_kept + 3.0 * np.sqrt(n_kept) + 7.0) / n_drawn
        too_slow = n > _MAX_DRAWS * share or (n_kept == 0 and n_drawn >= _PATIENCE)
        if n_kept < n and too_slow:
            mass = f"about {n_kept / n_drawn:.1e}" if n_kept else f"less than {7.0 / n_drawn:.0e}"
            raise EstimationError(
                f"Only {n_kept} of {n_drawn} draws fell inside the region ({mass} of the distribution's mass "
                f"is there): {n:,} row{'s' * (n != 1)} would take too long. "
                "Check the parameters and the region's side (~region is the other one)."
            )
    return np.concatenate(kept)[:n] if kept else np.empty((0, D))
