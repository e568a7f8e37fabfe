"""Plain-text tables."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tmsm.coordinates import xyz_to_lonlat
from tmsm.models.parameters import Field, Parameters

__all__ = ["estimate_rows", "facts_text", "plain_table", "readable", "readable_p", "shortened", "summary_table"]


# Columns of the facts below the table.
_WIDTH = 110


def summary_table(
    title: str,
    fields: Sequence[Field],
    params: Parameters,
    errors: Parameters | None,
    intervals: Parameters | None,
    facts: Sequence[tuple[str, str]],
) -> str:
    """Lay out estimates with their errors, then the facts of the fit."""
    table = plain_table(estimate_rows(fields, params, errors, intervals))
    rule = "─" * max(len(line) for line in table.splitlines())
    return "\n".join([title, rule, table, rule, facts_text(facts)])


def facts_text(facts: Sequence[Sequence[str]]) -> str:
    """Names to the left, words to the right, wrapped."""
    label_width = max(len(label) for label, _ in facts)
    indent = " " * (label_width + 2)
    lines = [
        textwrap.fill(
            text, _WIDTH, initial_indent=f"{label.ljust(label_width)}  ", subsequent_indent=indent,
            break_long_words=False, break_on_hyphens=False,
        )
        for label, text in facts
    ]  # fmt: skip
    return "\n".join(lines)


def estimate_rows(
    fields: Sequence[Field], params: Parameters, errors: Parameters | None, intervals: Parameters | None
) -> list[tuple[str, str, str, str]]:
    """A heading, then name, estimate, standard error and interval of every number."""
    rows = [("", "estimate", "std. error", "95 % interval")]
    for field in fields:
        name = field.name.replace("_", " ")
        error = None if errors is None else errors[field.name]
        interval = None if intervals is None else intervals[field.name]
        if field.kind == "direction":
            rows.extend(_direction_rows(name, params[field.name], error, interval))
        else:
            rows.extend(_array_rows(name, params[field.name], error, interval))
    return rows


def readable(value: float) -> str:
    """Two digits, and no exponent for a large number."""
    return f"{float(f'{value:.2g}'):g}"


def readable_p(value: float) -> str:
    """A p-value as a reader wants it."""
    return f"p = {value:.2g}" if value >= 1e-300 else "p < 1e-300"


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    """A heading, a rule and lines; the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "  ".join(cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    rule = "─" * max(len(line) for line in lines)
    return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:]])


def _direction_rows(name: str, value: Any, error: Any, half_axes: Any) -> list[tuple[str, str, str, str]]:
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
    if vector.size == 3:
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


def shortened(text: str) -> str:
    """Six digits are enough to read."""
    return re.sub(r"\d+\.\d{6,}", lambda match: f"{float(match.group()):.6g}", text)


def _number(value: Any) -> str:
    return f"{float(value):.4g}"
