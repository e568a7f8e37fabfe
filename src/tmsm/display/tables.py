"""Estimates as a data frame: one row a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.frames import native_frame
from tmsm.inference.delta import check_level
from tmsm.inference.fit import Fit
from tmsm.models.parameters import Field
from tmsm.models.readings import Reading

__all__ = ["estimates_frame", "estimates_table"]

_COLUMNS = ("parameter", "index", "estimate", "std_error", "low", "high", "unit")
_AXES = "xyz"

Line = tuple[str, str, float | None, float | None, float | None, float | None, str]


def estimates_table(fit: Fit, level: float) -> list[Line]:
    """Parameter, index, estimate, standard error, ends of the interval and unit of every number; None where unknown."""
    level = check_level(level)
    known = fit.covariance is not None
    errors, intervals = (fit.std_errors, fit.intervals(level, None)) if known else (None, None)
    lines: list[Line] = []
    for one in fit.model.fields:
        value = np.asarray(fit.params[one.name], dtype=np.float64)
        error = None if errors is None else errors[one.name]
        interval = None if intervals is None else intervals[one.name]
        if one.kind == "direction":
            lines += _direction_lines(fit, one, value, error, interval)
        else:
            lines += _array_lines(one, value, error, interval)
        lines += [
            _reading_line(fit, reading, interval)
            for reading in fit.model.readings(fit.params)
            if reading.after == one.name
        ]
    return lines


def estimates_frame(fit: Fit, backend: Any, level: float) -> Any:
    """The same as a data frame of pandas, polars or pyarrow."""
    return native_frame(_COLUMNS, estimates_table(fit, level), backend, words=("parameter", "index", "unit"))


def _direction_lines(fit: Fit, one: Field, value: FloatArray, error: Any, half_axes: Any) -> list[Line]:
    """Coordinates, then longitude and latitude where there are any, then how far it may be off as an angle."""
    covariance = None
    if fit.covariance is not None:
        jacobian = fit.model.parameter_jacobian(fit.theta)[one.name]
        covariance = jacobian @ fit.covariance @ jacobian.T
    # An undetermined direction has numbers, but no errors that mean anything.
    undetermined = half_axes is not None and bool(half_axes[0] > 0.5 * np.pi or fit.is_lowest(one))
    names = list(_AXES[: value.size]) if value.size <= 3 else [str(k) for k in range(value.size)]
    lines: list[Line] = []

    def add(index: str, number: float, slope: FloatArray | None, unit: str = "") -> None:
        spread = None
        if covariance is not None and slope is not None and not undetermined:
            spread = float(np.sqrt(max(float(slope @ covariance @ slope), 0.0)))
        lines.append((one.name, index, number, spread, None, None, unit))

    for index, number, slope in zip(names, value.tolist(), np.eye(value.size), strict=True):
        add(index, number, slope)
    if one.space(value).has_longitudes:
        x, y, z = value.tolist()
        across = float(np.hypot(x, y))
        lon, lat = (float(angle) for angle in fit.frame.lonlat(value))
        # At a pole the longitude has no error that is a number.
        east = np.degrees([-y, x, 0.0]) / across**2 if across > 1e-9 else None
        north = np.degrees([-z * x, -z * y, across**2]) / across if across > 1e-9 else np.degrees([1.0, 0.0, 0.0])
        add(fit.frame.coordinates[0], lon, east, "degrees")
        add(fit.frame.coordinates[1], lat, north, "degrees")
    spread = None if error is None or undetermined else float(np.degrees(error))
    reach = None if half_axes is None else float(np.degrees(half_axes[0]))
    lines.append((one.name, "angle", 0.0, spread, None if reach is None else 0.0, reach, "degrees"))
    return lines


def _reading_line(fit: Fit, reading: Reading, interval: Any) -> Line:
    """A length in the unit of the frame, or an azimuth in degrees."""
    scale, unit = (
        (180.0 / np.pi, "degrees") if reading.kind == "azimuth" else (fit.frame.unit.scale, fit.frame.unit.name)
    )
    error = None if fit.covariance is None else scale * fit.reading_error(reading)
    low = high = None
    if interval is not None and reading.of_parameter is not None:
        low, high = sorted(scale * reading.of_parameter(float(end)) for end in interval)
    return (reading.after, reading.name, scale * reading.value, error, low, high, unit)


def _array_lines(one: Field, value: FloatArray, error: Any, interval: Any) -> list[Line]:
    lines: list[Line] = []
    for index in np.ndindex(value.shape):
        if one.repeats(index):
            continue
        spread, low, high = (
            None if part is None else float(np.asarray(part)[index]) for part in (error, *(interval or (None, None)))
        )
        lines.append((one.name, ",".join(map(str, index)), float(value[index]), spread, low, high, ""))
    return lines
