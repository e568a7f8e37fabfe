"""Rings outside a border, in which models say how many points they expect."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import parse_number
from tmsm.inference.comparison import ComparedFit
from tmsm.manifolds.frames import Frame
from tmsm.regions import Region

__all__ = ["read_rings", "ring_regions", "spread_of"]

# So many standard errors above the best a model fits inside as well as that.
_EQUAL = 2.0


def read_rings(text: str | None) -> list[float]:
    """The distances at which rings end, from DISTANCES with commas; none where there is no text."""
    if text is None:
        return []
    try:
        distances = [parse_number(part) for part in text.split(",")]
    except ValueError:
        distances = []
    if not distances or not all(a < b < np.inf for a, b in pairwise([0.0, *distances])):
        raise InvalidInputError(
            f"--extrapolate {text!r} must be distances from the border that grow, such as 250,500,1000."
        )
    return distances


def ring_regions(distances: Sequence[float], border: Region, frame: Frame) -> dict[str, Region]:
    """The rings by name; distances are in the unit that lengths are shown in."""
    unit = frame.unit
    return {
        f"{a:g}–{b:g}{unit.symbol}": border.surroundings(a / unit.scale, b / unit.scale)
        for a, b in pairwise([0.0, *distances])
        if distances
    }


def spread_of(compared: Sequence[ComparedFit], names: Sequence[str]) -> str:
    """What the differences between models mean, in sentences; empty without rings."""
    if not compared[0].extrapolations:
        return ""
    if len(compared) == 1:
        return (
            "The error of an expected number is valid if the model is true. Models that fit as well inside may expect "
            "far more or less: compare several."
        )
    equal = [one for one in compared if one.difference <= _EQUAL * one.std_error]
    best = names[compared[0].index]
    all_of_them = "both" if len(compared) == 2 else f"all {len(compared)}"
    told = f"For each point seen {all_of_them} models expect {_ranges(compared)}."
    if len(equal) == 1:
        told += (
            f" None of the others fits inside as well as {best} (within two standard errors), so that the table does "
            "not show how much models that fit equally well differ: compare more models."
        )
    elif len(equal) < len(compared):
        told += f" The {len(equal)} that fit inside as well as the best (within two standard errors) expect "
        told += f"{_ranges(equal)}."
    return (
        f"{told} Each ± is valid if its model is true. A model that fits well inside may be wrong outside: judge the "
        "error of an extrapolation by the range over all models that fit equally well."
    )


def _ranges(compared: Sequence[ComparedFit]) -> str:
    """The least and the largest number in each ring."""
    parts = []
    for name in compared[0].extrapolations:
        values = [one.extrapolations[name].value for one in compared]
        parts.append(f"{min(values):.3g} to {max(values):.3g} ({name})")
    return ", ".join(parts)
