"""Names of the parameters of a mixture: flat ones inside the package (``mean_direction_2``), stacked ones for users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array, check_number
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading

__all__ = [
    "BACKGROUND_SHARE",
    "SHARES",
    "component_fields",
    "numbered",
    "own_reading",
    "shares_from",
    "stacked",
    "unstacked",
]

SHARES, BACKGROUND_SHARE = "shares", "background_share"
# What shares may sum to beside one.
_ROUNDING = 1e-6


def numbered(name: str, k: int) -> str:
    """The flat name of a parameter of component k, which is counted from zero."""
    return f"{name}_{k + 1}"


def component_fields(fields: Sequence[Field], k: int) -> list[Field]:
    """The fields of component k, whose centre is one of several.

    Intervals of a concentration are on the log scale: its profile covers as well, but the likelihood of a mixture may
    have other maxima on the way, and takes long.
    """
    return [
        replace(
            field,
            name=numbered(field.name, k),
            is_centre=False,
            is_factor_centre=field.is_centre,
            scale="log" if field.name == "concentration" else field.scale,
            component=k + 1,
        )
        for field in fields
    ]


def own_reading(reading: Reading, k: int) -> Reading:
    """A reading of component k."""
    slopes = {numbered(name, k): slope for name, slope in reading.slopes.items()}
    return replace(reading, after=numbered(reading.after, k), slopes=slopes)


def stacked(values: Mapping[str, Any], names: Sequence[str], count: int) -> Parameters:
    """Flat values, or intervals, with those of all components in one array (k, …), in the order of the names."""
    found: dict[str, Any] = {}
    for name in (SHARES, *names):
        own = [values[numbered(name, k)] for k in range(count)]
        if isinstance(own[0], tuple):
            found[name] = tuple(np.array([one[end] for one in own]) for end in (0, 1))
        else:
            found[name] = np.array(own)
        if name == SHARES and BACKGROUND_SHARE in values:
            found[BACKGROUND_SHARE] = values[BACKGROUND_SHARE]
    return Parameters(**found)


def unstacked(params: Mapping[str, Any], names: Sequence[str], count: int) -> list[dict[str, Any]]:
    """What users gave, flat or stacked, as one dictionary for each component."""
    own: list[dict[str, Any]] = [{} for _ in range(count)]
    for name in names:
        if params.get(name) is not None:
            values = np.asarray(params[name])
            if values.ndim == 0 or len(values) != count:
                raise InvalidInputError(
                    f"{name} must have one entry for each of {count} components; got shape {values.shape}."
                )
            for k in range(count):
                own[k][name] = values[k] if values.ndim > 1 else float(values[k])
        for k in range(count):
            flat = numbered(name, k)
            if params.get(flat) is not None:
                own[k][name] = params[flat]
    return own


def shares_from(params: Mapping[str, Any], count: int, background: bool) -> FloatArray:
    """The shares of the components, and that of a background after them, checked, shape (m,)."""
    if params.get(SHARES) is not None:
        shares = as_float_array(params[SHARES], SHARES)
    else:
        flat = [params.get(numbered(SHARES, k)) for k in range(count)]
        if any(share is None for share in flat):
            if count > 1 or background:
                raise InvalidInputError(f"shares must be given by name: one for each of {count} components.")
            flat = [1.0]
        shares = np.array(flat, dtype=np.float64)
    if shares.shape != (count,):
        raise InvalidInputError(f"shares must have one entry for each of {count} components; got {shares.shape}.")
    if background:
        rest = params.get(BACKGROUND_SHARE)
        rest = 1.0 - float(shares.sum()) if rest is None else check_number(rest, BACKGROUND_SHARE)
        shares = np.append(shares, rest)
    if not (np.isfinite(shares).all() and (shares > 0.0).all()):
        raise InvalidInputError(f"Shares must be positive; got {shares.tolist()}.")
    if not abs(float(shares.sum()) - 1.0) <= _ROUNDING:
        what = "shares and background_share together" if background else "shares"
        raise InvalidInputError(f"{what.capitalize()} must sum to one; they sum to {float(shares.sum()):.6g}.")
    normalised: FloatArray = shares / shares.sum()
    return normalised
