"""Equations as plain data, and back: the model, the weights with their scales, their polynomials and the exposure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.encoding import decode, encode
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import short_repr
from tmsm.foundation.values import ValueObject
from tmsm.matching.differences import TangentDifferences
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.stacked import Stacked
from tmsm.models.base import Model
from tmsm.regions import Region
from tmsm.weights import Combined, Weight
from tmsm.weights.policies import Choice

__all__ = [
    "FUNCTION",
    "encoded_setting",
    "equations_content",
    "polynomials_content",
    "restored_choice",
    "restored_equations",
    "restored_polynomials",
    "same_equations",
]

# The place of a function that is to be given again.
FUNCTION = {"function": "log_exposure"}
# At so many rows a function that is given again must have the values that it had.
_TRIED_ROWS = 16


def encoded_setting(name: str, value: Any) -> Any:
    """An argument of an estimator as JSON data; of an exposure function only that it was one."""
    if name == "log_exposure" and callable(value) and not isinstance(value, ValueObject):
        return FUNCTION
    return encode(None if isinstance(value, np.random.Generator) else value, name)


def same_equations(one: Any, other: Any) -> bool:
    """Whether two sums are of the same equations, polynomials compared by their numbers."""
    if one is other:
        return True
    if not (isinstance(one, Stacked) and isinstance(other, Stacked)):
        return bool(one == other)
    same = (one.model, one.parts, one.exposure) == (other.model, other.parts, other.exposure)
    pair = one.polynomials, other.polynomials
    return same and np.array_equal(pair[0].center, pair[1].center) and np.array_equal(pair[0].axes, pair[1].axes)


def polynomials_content(polynomials: LocalPolynomials) -> dict[str, FloatArray]:
    """The coordinates that polynomials are written in."""
    return {"center": polynomials.center, "axes": polynomials.axes}


def restored_polynomials(center: Any, axes: Any, region: Region) -> LocalPolynomials:
    """The polynomials of such coordinates."""
    manifold, center, axes = region.manifold, np.asarray(center), np.asarray(axes)
    if center.ndim != 1 or axes.shape != (manifold.dim, len(center)) or not np.isfinite(axes).all():
        raise InvalidInputError("polynomials are not what tmsm writes.")
    return LocalPolynomials(manifold, center, axes)


def restored_choice(value: Any, region: Region) -> Choice | None:
    """The weights of what was encoded, None of nothing; all their scales must be fixed."""
    if value is None:
        return None
    weight = decode(value, "weight")
    if isinstance(weight, Combined):
        if weight.level is None or weight.base is None or isinstance(weight.scale, str):
            raise InvalidInputError("weight has scales that are still to be taken from data.")
        return Choice(weight, weight.parts(region.manifold))
    if not isinstance(weight, Weight):
        raise InvalidInputError(f"weight is none: {short_repr(weight)}.")
    return Choice.of(weight)


def equations_content(equations: Any, choice: Choice, sample: FloatArray) -> dict[str, Any]:
    """What a file is to hold of equations; of a known exposure also its values at some rows."""
    if not isinstance(equations, OneWeight | Stacked):
        raise InvalidInputError("Sums of a fit with covariates cannot be kept in a file: save the fit.")
    exposure, known = equations.exposure, None
    if exposure is not None:
        function, differences = exposure.function, exposure.differences
        tried = sample[:_TRIED_ROWS]
        known = {
            "function": encode(function, "log_exposure") if isinstance(function, ValueObject) else FUNCTION,
            "steps": None if differences is None else differences.steps,
            "error": None if differences is None else differences.error,
            "rows": tried,
            "values": exposure.row_values(tried) if len(tried) else np.zeros(0),
        }
    return {
        "model": encode(equations.model, "model"),
        "weight": encode(choice.weight, "weight"),
        "polynomials": polynomials_content(equations.polynomials) if isinstance(equations, Stacked) else None,
        "exposure": known,
    }


def restored_equations(
    content: Mapping[str, Any], region: Region, log_exposure: LogExposure | None
) -> tuple[OneWeight | Stacked, Choice]:
    """Equations and their weights; a function is taken for the exposure that sums were made with."""
    model = decode(content["model"], "model")
    if not isinstance(model, Model):
        raise InvalidInputError("it has no model.")
    model.check_manifold(region.manifold)
    choice = restored_choice(content["weight"], region)
    if choice is None or not model.is_bound or model.manifold != region.manifold or not model.is_linear:
        raise InvalidInputError("model and weight are not those of sums.")
    exposure = _restored_exposure(content["exposure"], region, log_exposure)
    if not choice.combined:
        return OneWeight(model, choice.parts[0].weight, exposure), choice
    coordinates = content["polynomials"]
    polynomials = restored_polynomials(coordinates["center"], coordinates["axes"], region)
    return Stacked(model, choice.parts, polynomials, exposure), choice


def _restored_exposure(known: Any, region: Region, log_exposure: LogExposure | None) -> KnownExposure | None:
    if known is None:
        return None
    function = log_exposure if known["function"] == FUNCTION else decode(known["function"], "log_exposure")
    assert function is not None, "it was asked for"
    differences = None
    if known["steps"] is not None:
        differences = TangentDifferences(region.manifold, np.asarray(known["steps"]), float(known["error"]))
    exposure = KnownExposure(function, region.manifold, differences)
    before, rows = np.asarray(known["values"]), np.asarray(known["rows"])
    if len(rows):
        change = exposure.row_values(rows) - before
        if not np.allclose(change, change[0], rtol=0.0, atol=1e-6 * max(1.0, float(np.ptp(before)))):
            raise InvalidInputError(
                "log_exposure has other values than the function that the sums were made with: give the same function."
            )
    return exposure
