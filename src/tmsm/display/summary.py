"""The table of a summary: estimates with their errors and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.foundation.text import facts_text, plain_table, shortened
from tmsm.inference.centre_moves import centre_moves
from tmsm.inference.centres import row_shares
from tmsm.inference.delta import critical_square, is_no_share
from tmsm.inference.fit import Fit
from tmsm.inference.regression import Regression
from tmsm.inference.status import diagnostics_of, status_of
from tmsm.manifolds.frames import Frame
from tmsm.models.parameters import Field
from tmsm.models.readings import Reading

__all__ = ["TableRow", "coefficient_rows", "estimate_rows", "facts_of", "further_tables", "move_rows", "summary_of"]

# A summary shows no more of them.
_MOST_COEFFICIENTS = 30

# Name, estimate, standard error and interval, as text.
TableRow = tuple[str, str, str, str]


def summary_of(fit: Fit) -> str:
    """Estimates with their errors, then the facts of the fit."""
    table = plain_table(estimate_rows(fit))
    rule = "─" * max(len(line) for line in table.splitlines())
    parts = [fit.heading, rule, table, rule]
    for title, rows in further_tables(fit):
        parts += [title, plain_table(rows), rule]
    return "\n".join([*parts, facts_text(facts_of(fit))])


def further_tables(fit: Fit) -> list[tuple[str, list[TableRow]]]:
    """What stands below the estimates of a fit with covariates: sentences, each with a table that it explains."""
    if fit.regression is None:
        return []
    what = "θ(z) = B (1, z)" if fit.regression.radius is None else "the direction of θ(z), that of B (1, z)"
    title = f"The parameters above are those at the mean of the covariates. Coefficients of {what}:"
    tables = [(title, coefficient_rows(fit.regression, fit.error_df))]
    if moves := move_rows(fit):
        tables.append(("How far the centre moves with one unit of a covariate, at the mean of all:", moves))
    return tables


def coefficient_rows(regression: Regression, error_df: float | None) -> list[TableRow]:
    """A heading, then every coefficient with its standard error and interval."""
    B, known = regression.coefficients, regression.covariance is not None
    errors = regression.coefficient_errors if known else np.zeros_like(B)
    margin = errors * np.sqrt(critical_square(1, 0.95, error_df))
    rows = [("", "estimate", "std. error", "95 % interval")]
    for k, a in np.ndindex(B.shape):
        name = f"θ{k + 1}: {('constant', *regression.names)[a]}"
        spread, bounds = "known" if known else "", ""
        if errors[k, a] > 0.0:
            spread = _number(errors[k, a])
            bounds = f"{_number(B[k, a] - margin[k, a])} to {_number(B[k, a] + margin[k, a])}"
        rows.append((name, _number(B[k, a]), spread, bounds))
        if len(rows) > _MOST_COEFFICIENTS:
            rows.append(("…", f"{B.size - len(rows) + 1} more", "", ""))
            break
    return rows


def move_rows(fit: Fit) -> list[TableRow]:
    """How far the centre moves with one unit of each covariate, with errors and intervals; empty where it cannot."""
    moves = centre_moves(fit)
    if not moves:
        return []
    manifold = fit.region.manifold
    unit = fit.frame.unit if manifold.has_longitudes else manifold.distance_unit
    quantile = np.sqrt(critical_square(1, 0.95, fit.error_df))
    rows = [("", "estimate", "std. error", "95 % interval")]
    for move in moves:
        for k, axis in enumerate(move.axes):
            value = unit.scale * move.velocity[k]
            spread = bounds = ""
            if move.std_errors is not None:
                error = unit.scale * move.std_errors[k]
                spread = f"{_number(error)}{unit.symbol}"
                bounds = f"{_number(value - quantile * error)} to {_number(value + quantile * error)}{unit.symbol}"
            rows.append((f"{move.covariate}: {axis}", f"{_number(value)}{unit.symbol}", spread, bounds))
    return rows


def facts_of(fit: Fit) -> list[tuple[str, str]]:
    """How an estimate came about and what to judge it by: pairs of a name and words."""
    facts = [("rows", f"{fit.n_samples:,}"), *fit.facts, *diagnostics_of(fit), ("status", status_of(fit))]
    if fit.regression is not None and fit.covariance is not None:
        facts[-1:-1] = [("effect", test.sentence) for test in fit.covariate_tests]
    if fit.covariance is None:
        facts.append(("std. errors", "not computed"))
    return [(name, shortened(text)) for name, text in facts]


def estimate_rows(fit: Fit) -> list[TableRow]:
    """A heading, then name, estimate, standard error and interval of every number, and of what people read off them.

    Of a mixture those of one component after the other, each under a line with its number.
    """
    rows = [("", "estimate", "std. error", "95 % interval")]
    fields = fit.model.fields
    components = sorted({field.component for field in fields if field.component is not None})
    seen = row_shares(fit) if components else None
    for component in components:
        rows.append((f"component {component}", "", "", ""))
        own = [row for field in fields if field.component == component for row in _field_rows(fit, field)]
        if seen is not None:
            own.insert(1, ("  of the rows seen", _share(seen[component - 1]), "", ""))
        rows.extend((f"  {row[0]}", *row[1:]) for row in own)
    for field in fields:
        if field.component is None:
            rows.extend(_field_rows(fit, field))
    if seen is not None and len(seen) > len(components):
        rows.append(("  of the rows seen", _share(seen[-1]), "", ""))
    return rows


def _field_rows(fit: Fit, field: Field) -> list[TableRow]:
    """Those of one parameter."""
    params, error, interval = fit.params, None, None
    if fit.covariance is not None:
        error, interval = fit.std_errors[field.name], fit.intervals(0.95, None)[field.name]
    if field.kind == "direction":
        if error is not None and fit.is_lowest(field):
            interval = np.full(len(params[field.name]) - 1, np.pi)  # its numbers have no meaning
        rows = _direction_rows(field.own_title, params[field.name], error, interval)
        if field.space(params[field.name]).has_longitudes and (field.is_centre or field.is_factor_centre):
            single = field.is_centre and fit.centre_point is not None
            rows.append(_place_row(fit.centre_point if single else params[field.name], error, interval, fit.frame))
    else:
        rows = _array_rows(field, params[field.name], error, interval)
    rows.extend(_reading_row(fit, one, interval) for one in fit.model.readings(params) if one.after == field.name)
    return rows


def _direction_rows(name: str, value: Any, error: Any, half_axes: Any) -> list[TableRow]:
    vector = np.asarray(value)
    spread = "" if error is None else f"{_number(error)} rad"
    if _undetermined(half_axes) and error is not None:
        spread = "undetermined" if half_axes[0] >= np.pi else "hardly determined"
    interval = ""
    if half_axes is not None and not _undetermined(half_axes):
        interval = "± " + " × ".join(_number(a) for a in half_axes[:3]) + " rad"
        if len(half_axes) > 3:
            interval = f"± up to {_number(half_axes[0])} rad"
    shown = ", ".join(f"{x:.4f}" for x in vector[:4]) + (", …" if vector.size > 4 else "")
    return [(name, f"({shown})", spread, interval)]


def _undetermined(half_axes: Any) -> bool:
    return half_axes is not None and bool(half_axes[0] > 0.5 * np.pi)


def _place_row(vector: Any, error: Any, half_axes: Any, frame: Frame) -> TableRow:
    """The direction on S² as the frame writes it, with its errors in the frame's unit."""
    # As many digits as the error leaves, and three at least.
    digits = 3 if not error else int(np.clip(1 - np.floor(np.log10(np.degrees(error))), 3, 9))
    lon, lat = (round(float(angle), digits) + 0.0 for angle in frame.lonlat(np.asarray(vector)))
    lon = 180.0 if lon == -180.0 else 0.0 if lon == 360.0 else lon
    told = error is not None and not _undetermined(half_axes)
    return (
        f"  {frame.short[0]}, {frame.short[1]}",
        f"({lon:.{digits}f}°, {lat:.{digits}f}°)",
        frame.length(error) if told else "",
        f"± {frame.lengths(half_axes)}" if told and half_axes is not None else "",
    )


def _reading_row(fit: Fit, reading: Reading, interval: Any) -> TableRow:
    """A length or an azimuth that follows from the parameters."""
    error = None if fit.covariance is None else fit.reading_error(reading)
    if reading.kind == "azimuth":
        if error is not None and error > 0.25 * np.pi:
            return f"  {reading.name}", "", "undetermined", ""
        degrees = f"{np.degrees(reading.value):.1f}°"
        return f"  {reading.name}", degrees, "" if error is None else f"{_number(np.degrees(error))}°", ""
    if not reading.value < 0.5 * np.pi:
        return f"  {reading.name}", f"> {fit.frame.length(0.5 * np.pi)}", "", ""
    bounds, spread = "", "" if error is None else "known" if error == 0.0 else fit.frame.length(error)
    if interval is not None and reading.of_parameter is not None and error:
        low, high = sorted(reading.of_parameter(float(end)) for end in interval)
        beyond = fit.frame.length(high) if high < 0.5 * np.pi else f"more than {fit.frame.length(0.5 * np.pi)}"
        bounds = f"{fit.frame.length(low)} to {beyond}"
    return f"  {reading.name}", fit.frame.length(reading.value), spread, bounds


def _array_rows(field: Field, value: Any, error: Any, interval: Any) -> list[TableRow]:
    name, array = field.own_title, np.asarray(value)
    if error is not None and is_no_share(field, value):
        return [(name, "0", "at its limit", "")]
    rows = []
    for index in np.ndindex(array.shape):
        if field.repeats(index):
            continue
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


def _share(value: float) -> str:
    return _number(value) if value >= 1e-6 else "0"


def _number(value: Any) -> str:
    return "" if np.isnan(value) else f"{float(value):.4g}"
