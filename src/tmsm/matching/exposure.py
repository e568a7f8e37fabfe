"""A known exposure: the log detection probability that a user gives, checked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_dots
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array, count_rows
from tmsm.manifolds import Manifold

__all__ = ["LogExposure", "check_exposure", "exposure_terms", "exposure_values"]

# From points (n, D) to values (n,) and gradients (n, D).
LogExposure = Callable[[FloatArray], tuple[ArrayLike, ArrayLike]]

# A known exposure is tried at so many rows, of which no larger share may disagree.
_TRIED_ROWS, _TOLERATED_SHARE = 32, 0.1
# Two derivatives disagree if they differ by this share of the larger, and by this much over the extent of the rows.
_CLEAR_SHARE, _CLEAR_CHANGE = 0.05, 1e-3


def exposure_values(log_exposure: LogExposure, X: FloatArray) -> FloatArray:
    """Values (n,) of a user's log exposure at nodes, where it may be −∞: nothing is detected there."""
    value = as_float_array(log_exposure(_read_only(X))[0], "log_exposure value")
    if value.shape != (len(X),) or np.isnan(value).any() or (value == np.inf).any():
        raise InvalidInputError(
            f"log_exposure must return values of shape {(len(X),)} that are numbers or −∞ all over the region."
        )
    return value


def _read_only(X: FloatArray) -> FloatArray:
    """The same points, which are needed again: a function that changes them in place is an error."""
    points = X.view()
    points.flags.writeable = False
    return points


def exposure_terms(log_exposure: LogExposure, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Value (n,) and gradient (n, D) of a user's log exposure, checked."""
    try:
        value, gradient = log_exposure(_read_only(X))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"log_exposure must return (value, gradient), of shapes (n,) and (n, D); it raised: {error}"
        ) from error
    value, gradient = (
        as_float_array(value, "log_exposure value"),
        as_float_array(gradient, "log_exposure gradient"),
    )
    if value.shape != (len(X),) or gradient.shape != X.shape:
        raise InvalidInputError(
            f"log_exposure must return shapes {(len(X),)} and {X.shape}; got {value.shape} and {gradient.shape}."
        )
    bad = ~(np.isfinite(value) & np.isfinite(gradient).all(axis=1))
    if bad.any():
        raise InvalidInputError(
            f"log_exposure must be finite at every row; {count_rows(bad)} of a block "
            f"(first: {X[np.argmax(bad)].tolist()}). What could not be detected cannot be in the data."
        )
    return value, gradient


def check_exposure(log_exposure: LogExposure, manifold: Manifold, sample: FloatArray) -> None:
    """Raise where the gradients of a user's log exposure are clearly not those of its values.

    Differences of values along the manifold are compared with the gradient, in two directions at some rows.  A row
    disagrees only if all differences, ahead and back, with a long and a short step, are on one side of the gradient:
    curvature, kinks and jumps do not do that.  What the function may not like (points beyond the region,
    fewer rows) is no reason to refuse it here.
    """
    X = sample[:: -(-len(sample) // _TRIED_ROWS)]
    try:
        value, gradient = (np.asarray(part, dtype=np.float64) for part in log_exposure(X))
    except Exception:  # `exposure_terms` says what is wrong with it
        return
    if value.shape != (len(X),) or gradient.shape != X.shape:
        return
    extent = np.ptp(sample, axis=0)
    if not manifold.is_flat:
        extent = np.full_like(extent, min(float(extent.max()), 1.0))
    single = bool((value == value.astype(np.float32)).all())
    steps, precision = ((1e-2, 1e-3), 1e-7) if single else ((1e-4, 1e-6), 1e-16)
    gradient = manifold.project_tangent(X, gradient)
    rng = np.random.default_rng(0)
    wrong, worst = np.zeros(len(X), dtype=bool), (0.0, "")
    for _ in range(2):
        V = manifold.project_tangent(X, rng.standard_normal(X.shape) * extent)
        seen, said = [], []
        for step in (s * sign for s in steps for sign in (1.0, -1.0)):
            Y = manifold.exponential(X, step * V)
            try:
                there = np.asarray(log_exposure(Y)[0], dtype=np.float64)
            except Exception:  # not defined beyond the region
                return
            with np.errstate(invalid="ignore"):
                seen.append((there - value) / step)
            said.append(row_dots(gradient, Y - X) / step)  # Y as it was rounded
        values, slopes = np.array(seen), np.array(said)
        gap = values - slopes
        known = np.isfinite(gap)
        one_sided = known.any(axis=0) & (np.all((gap > 0.0) | ~known, axis=0) | np.all((gap < 0.0) | ~known, axis=0))
        least = np.min(np.where(known, np.abs(gap), np.inf), axis=0)
        size = np.max(np.where(known, np.maximum(np.abs(values), np.abs(slopes)), 0.0), axis=0)
        rounding = 16.0 * precision * np.abs(value) / min(steps)
        bad = one_sided & (least > _CLEAR_SHARE * size + _CLEAR_CHANGE + rounding)
        wrong |= bad
        if bad.any():
            k = int(np.argmax(np.where(bad, least, -1.0)))
            if least[k] > worst[0]:
                j, length = int(np.argmin(np.where(known[:, k], np.abs(gap[:, k]), np.inf))), np.linalg.norm(V[k])
                direction = np.round(V[k] / length, 3).tolist()
                worst = (
                    float(least[k]),
                    f"at {np.round(X[k], 6).tolist()} the gradient gives a slope of {slopes[j, k] / length:.4g} "
                    f"along {direction}, the values give {values[j, k] / length:.4g}",
                )
    if np.count_nonzero(wrong) > _TOLERATED_SHARE * len(X):
        raise InvalidInputError(
            f"log_exposure returns gradients that are not those of its values: at {int(np.count_nonzero(wrong))} of "
            f"{len(X)} rows that were tried they disagree with differences of the values (worst: {worst[1]}). "
            "Return (log e, gradient of log e), both of the logarithm and in the coordinates of X."
        )
