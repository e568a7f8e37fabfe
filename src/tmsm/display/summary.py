"""The table of a summary: estimates with their errors and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.foundation.text import facts_text, plain_table, shortened
from tmsm.inference.fit import Fit
from tmsm.inference.status import diagnostics_of, status_of
from tmsm.manifolds import Manifold
from tmsm.manifolds.coordinates import xyz_to_lonlat

__all__ = ["estimate_rows", "facts_of", "summary_of"]


def summary_of(fit: Fit) -> str:
    """Estimates with their errors, then the facts of the fit."""
    table = plain_table(estimate_rows(fit))
    rule = "─" * max(len(line) for line in table.splitlines())
    return "\n".join([fit.heading, rule, table, rule, facts_text(facts_of(fit))])


def facts_of(fit: Fit) -> list[tuple[str, str]]:
    """How an estimate came about and what to judge it by: pairs of a name and words."""
    facts = [("rows", f"{fit.n_samples:,}"), *fit.facts, *diagnostics_of(fit), ("status", status_of(fit))]
    if fit.covariance is None:
        facts.append(("std. errors", "not computed"))
    return [(name, shortened(text)) for name, text in facts]


def estimate_rows(fit: Fit) -> list[tuple[str, str, str, str]]:
    """A heading, then name, estimate, standard error and interval of every number."""
    params, errors, intervals = fit.params, None, None
    if fit.covariance is not None:
        errors, intervals = fit.std_errors, fit.intervals(0.95, None)
    rows = [("", "estimate", "std. error", "95 % interval")]
    for field in fit.model.fields:
        name = field.title
        error = None if errors is None else errors[field.name]
        interval = None if intervals is None else intervals[field.name]
        if field.kind == "direction":
            rows.extend(_direction_rows(name, params[field.name], error, interval, field.space(params[field.name])))
        else:
            rows.extend(_array_rows(name, params[field.name], error, interval))
    return rows


def _direction_rows(
    name: str, value: Any, error: Any, half_axes: Any, space: Manifold
) -> list[tuple[str, str, str, str]]:
    vector = np.asarray(value)
    undetermined = half_axes is not None and half_axes[0] > 0.5 * np.pi
    spread = "" if error is None else f"{_number(error)} rad"
    if undetermined and error is not None:
        spread = "undetermined" if half_axes[0] >= np.pi else "hardly determined"
    interval = ""
    if half_axes is not None and not undetermined:
        interval = "± " + " × ".join(_number(a) for a in half_axes[:3]) + " rad"
        if len(half_axes) > 3:
            interval = f"± up to {_number(half_axes[0])} rad"
    shown = ", ".join(f"{x:.4f}" for x in vector[:4]) + (", …" if vector.size > 4 else "")
    rows = [(name, f"({shown})", spread, interval)]
    if space.has_longitudes:
        lon, lat = (round(float(angle), 3) + 0.0 for angle in xyz_to_lonlat(vector))
        lon = 180.0 if lon == -180.0 else lon
        rows.append(
            (
                "  lon, lat",
                f"({lon:.3f}°, {lat:.3f}°)",
                "" if error is None or undetermined else f"{np.degrees(error):.3f}°",
                "",
            )
        )
    return rows


def _array_rows(name: str, value: Any, error: Any, interval: Any) -> list[tuple[str, str, str, str]]:
    array = np.asarray(value)
    rows = []
    for index in np.ndindex(array.shape):
        if len(index) == 2 and index[0] > index[1]:
            continue  # symmetric
        label = name + (f"[{', '.join(map(str, index))}]" if index else "")
        spread = "" if error is None else _number(np.asarray(error)[index])
        bounds = ""
        if error is not None and np.asarray(error)[index] == 0.0:
            spread = "known"
        elif interval is not None:
            low, high = (np.asarray(end)[index] for end in interval)
            bounds = f"{_number(low)} to {_number(high)}"
        rows.append((label, _number(array[index]), spread, bounds))
    return rows


def _number(value: Any) -> str:
    return f"{float(value):.4g}"
