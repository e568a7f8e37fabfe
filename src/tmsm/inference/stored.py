"""A fit as plain data, and back: the rows that it keeps, its configuration, and every number that it found.

What was computed from all rows (θ̂, its covariance, the influence matrix, sums) is stored.  What follows from that and
from the kept rows (equations, nodes inside the region, the likelihood) is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tmsm.data.covariates import Covariates, Standard
from tmsm.data.groups import Groups
from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.encoding import decode, decode_array, encode
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import short_repr
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence
from tmsm.inference.regression import Regression
from tmsm.manifolds.frames import FRAMES
from tmsm.matching.covariate_likelihood import CovariateEquations, TruncatedRegression
from tmsm.matching.covariates import WithCovariates, coefficients_of
from tmsm.matching.density_likelihood import DensityEquations, DensityLikelihood, TruncatedDensity
from tmsm.matching.equation_content import (
    FUNCTION,
    encoded_setting,
    polynomials_content,
    restored_choice,
    restored_polynomials,
)
from tmsm.matching.equations import Equations
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.matching.kept_rows import KeptRows
from tmsm.matching.likelihood import LikelihoodEquations, WholeLikelihood, likelihood_near
from tmsm.matching.moments import Features, Moments, StatisticSums
from tmsm.matching.node_likelihood import NodeLikelihood
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.pilot import OnePass
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.robust import Robust
from tmsm.matching.saved_moments import restored_one_pass
from tmsm.matching.stacked import Stacked
from tmsm.matching.turning import Turning, with_covariates
from tmsm.models.base import LinearModel, Model
from tmsm.models.nonlinear import NonlinearModel
from tmsm.regions import Region
from tmsm.weights.policies import Choice

__all__ = ["MEMBERS", "NeedsExposureError", "configuration_of", "restored_fit", "stored_fit"]

_SUMS = ("n", "weight_sum", "weight_squares", "total")
_MOMENTS = ("n", "weight_sum", "weight_squares", "A_sum", "b_sum", "farthest")
_FEATURES = ("reference", "squares")
_STANDARD = ("center", "scale", "low", "high")
# Stored as they are.
_PLAIN = (
    "estimator", "status", "method", "kept_share", "complete", "n_samples", "n_outside", "n_groups", "error_df",
    "objective", "log_likelihood", "facts",
)  # fmt: skip
_ARRAYS = ("theta", "covariance", "slope")
MEMBERS = frozenset(
    (*_PLAIN, *_ARRAYS, "module", "configuration", "model", "region", "weight", "influence", "moments", "sums", "nodes",
     "rows")
)  # fmt: skip


class NeedsExposureError(InvalidInputError):
    """A known exposure is missing, or is one too many."""


def stored_fit(fit: Fit, module: str) -> dict[str, Any]:
    """What a file is to hold of a fit; ``module`` is that of its estimator.

    A region or a model that holds a function is an error.  Of ``log_exposure`` it is only noted that it was a function,
    and a `numpy.random.Generator` becomes None.
    """
    content: dict[str, Any] = {name: encode(getattr(fit, name), name) for name in (*_PLAIN, *_ARRAYS)}
    if fit.regression is not None:  # all coefficients, of which θ at the mean of the covariates follows
        content |= {name: encode(getattr(fit, f"whole_{name}"), name) for name in ("theta", "covariance")}
    moments, sums, nodes = fit.moments, fit.sums, fit.nodes
    features = None if moments is None else moments.features
    return content | {
        "module": module,
        "configuration": {name: encoded_setting(name, value) for name, value in fit.configuration.items()},
        "model": encode(fit.model, "model"),
        # The configuration has it, but for an estimator that knows of none.
        "region": None if "region" in fit.configuration else encode(fit.region, "region"),
        "weight": None if fit.choice is None else encode(fit.choice.weight, "weight"),
        "influence": encode(fit.influence.matrix, "influence"),
        "moments": None
        if moments is None
        else {name: encode(getattr(moments, name), name) for name in _MOMENTS}
        | {name: None if features is None else encode(getattr(features, name), name) for name in _FEATURES},
        "sums": None if sums is None else {name: encode(getattr(sums, name), name) for name in _SUMS},
        "nodes": None if nodes is None else encode(nodes.made_for, "nodes"),
        "rows": _stored_rows(fit),
    }


def _stored_rows(fit: Fit) -> dict[str, Any]:
    X, weight = fit.kept.source.table()
    groups = fit.groups
    return {
        "X": encode(X, "rows"),
        "weight": encode(weight, "weights of the rows"),
        "groups": encode(None if groups is None else groups.codes, "groups"),
        "on_border": encode(fit.kept.on_border, "rows on the border"),
        "frame": fit.frame.name,
        **({} if fit.regression is None else {"covariates": _stored_covariates(fit.kept, fit.regression)}),
        **({} if fit.one_pass is None else {"stream": _stored_stream(fit, fit.one_pass)}),
        **({"power": fit.influence.equations.power} if isinstance(fit.influence.equations, Robust) else {}),
    }


def _stored_stream(fit: Fit, one_pass: OnePass) -> dict[str, Any]:
    """What a stream needs to go on: its rows stand beside it, and its weights in the fit."""
    equations = None if fit.moments is None else fit.moments.equations
    return _encoded(
        {
            **one_pass.content(rows=False),
            "begun": fit.moments is not None,
            "polynomials": polynomials_content(equations.polynomials) if isinstance(equations, Stacked) else None,
        }
    )


def _encoded(content: Mapping[str, Any]) -> dict[str, Any]:
    """Members of members, and values that can be encoded, by name."""
    return {
        name: _encoded(value) if isinstance(value, Mapping) else encode(value, "sums of a stream")
        for name, value in content.items()
    }


def _decoded(content: Any) -> Any:
    """What was encoded."""
    forms = ({"array", "shape", "dtype"}, {"list"}, {"number"})
    if isinstance(content, dict) and set(content) not in forms:
        return {name: _decoded(value) for name, value in content.items()}
    return decode(content, "sums of a stream")


def _stored_covariates(kept: Rows, regression: Regression) -> dict[str, Any]:
    assert kept.covariates is not None, "they were fitted with"
    numbers = {name: encode(getattr(regression.standard, name), name) for name in _STANDARD}
    return {"values": encode(kept.covariates.values, "covariates"), "names": list(regression.names), **numbers}


def configuration_of(content: Mapping[str, Any], log_exposure: LogExposure | None) -> dict[str, Any]:
    """Arguments of the estimator's constructor; ``log_exposure`` takes the place of a function that a file cannot hold.

    Errors are phrases that follow the name of a file.
    """
    settings = content["configuration"]
    if not isinstance(settings, dict):
        raise InvalidInputError("configuration is not what tmsm writes.")
    found = {name: decode(value, name) for name, value in settings.items() if value != FUNCTION}
    if FUNCTION in settings.values():
        if log_exposure is None:
            raise NeedsExposureError(
                "was made with a log_exposure function, and a file holds no code: give the function again, "
                "load(path, log_exposure=...)."
            )
        found["log_exposure"] = log_exposure
    elif log_exposure is not None:
        own = "with a log_exposure that it holds itself" if found.get("log_exposure") is not None else "without one"
        raise NeedsExposureError(f"was made {own}: load it without log_exposure.")
    return found


def restored_fit(content: Mapping[str, Any], configuration: Mapping[str, Any]) -> Fit:
    """The fit of a document; an `InvalidInputError` that says what is wrong with it.

    Parameters
    ----------
    content
        What `stored_fit` returned, from a file.
    configuration
        That of `configuration_of`.
    """
    model, region = decode(content["model"], "model"), configuration.get("region")
    if region is None:
        region = decode(content["region"], "region")
    elif content["region"] is not None:
        raise InvalidInputError("region is not what tmsm writes: the configuration has one.")
    if not isinstance(model, Model) or not isinstance(region, Region):
        raise InvalidInputError("it has no model, or no region.")
    model.check_manifold(region.manifold)
    if not model.is_bound or model.manifold != region.manifold:
        raise InvalidInputError("model and region are not of the same manifold.")
    plain = {name: decode(content[name], name) for name in _PLAIN}
    _check_plain(plain)
    kept = _restored_rows(content["rows"], region)
    exposure = KnownExposure.of(configuration.get("log_exposure"), kept, with_gradient=True)
    p, columns = model.size, kept.covariates
    standard = None if columns is None else columns.standard
    P = p if standard is None else p * (1 + len(standard))
    theta = cast(FloatArray, _array(content["theta"], "theta", (P,)))
    covariance = _array(content["covariance"], "covariance", (P, P), optional=True)
    if covariance is not None and not (np.diag(covariance) >= 0.0).all():
        raise InvalidInputError("covariance has negative variances.")
    slope = _array(content["slope"], "slope", (None, p), optional=True)
    choice = restored_choice(content["weight"], region)
    one_pass, polynomials = _restored_stream(content, region, configuration, kept, choice)
    sums = _restored_sums(content["sums"], P)
    likelihood: NodeLikelihood | WholeLikelihood | None
    nodes: NodeLikelihood | None
    equations: Equations
    regressed = None
    if standard is not None and sums is not None:
        regressed = _restored_regression(content["nodes"], model, kept, standard, sums, exposure)
        likelihood, nodes = None, regressed.likelihood  # that of all coefficients, and not of θ alone
    else:
        likelihood, nodes = _restored_likelihood(
            content["nodes"], model, kept, theta, sums, exposure, configuration.get("random_state", 0)
        )
    if regressed is not None:
        equations = regressed
    elif likelihood is not None:
        assert sums is not None
        if isinstance(likelihood, DensityLikelihood):
            equations = DensityEquations(likelihood.rows.model, likelihood)
        else:
            assert isinstance(model, LinearModel)
            equations = LikelihoodEquations(model, likelihood, sums.mean)
    elif choice is None:
        raise InvalidInputError("it has neither a weight nor sums of a likelihood.")
    elif choice.combined:
        equations = with_covariates(Stacked(model, choice.parts, polynomials, exposure), standard)
    else:
        equations = with_covariates(OneWeight(model, choice.parts[0].weight, exposure), standard)
    if "power" in content["rows"]:
        equations = _restored_robust(content["rows"]["power"], configuration.get("robust"), equations, kept, theta)
    matrix = cast(FloatArray, _array(content["influence"], "influence", (P, equations.n_equations)))
    moments = None
    if content["moments"] is not None:
        assert choice is not None and (one_pass is not None or not choice.combined), "moments are those of one weight"
        summed: Equations = Stacked(model, choice.parts, polynomials, exposure)
        if not choice.combined:
            summed = with_covariates(OneWeight(model, choice.parts[0].weight, exposure), standard)
        assert isinstance(summed, OneWeight | WithCovariates | Stacked)
        moments = replace(_restored_moments(content["moments"], summed), one_pass=one_pass)
    if plain["n_groups"] is not None and kept.groups is None:
        raise InvalidInputError("groups are missing.")
    if plain["n_samples"] < len(kept):
        raise InvalidInputError(f"it holds {len(kept):,} rows of {plain['n_samples']:,}.")
    facts = plain.pop("facts")
    influence, regression = Influence(equations, theta, matrix), None
    if columns is not None and standard is not None:
        radius = equations.radius if isinstance(equations, Turning) else None
        B = coefficients_of(theta, 1 + len(standard))
        regression = Regression(model, columns.names, standard, B, covariance, radius)
        theta, covariance = regression.theta(regression.at_mean), regression.theta_covariance(regression.at_mean)
    return Fit(
        configuration=configuration,
        model=model,
        region=region,
        theta=theta,
        covariance=covariance,
        params=model.parameters(theta),
        influence=influence,
        kept=kept,
        regression=regression,
        slope=slope,
        likelihood=likelihood,
        nodes=nodes,
        sums=sums,
        choice=choice,
        moments=moments,
        one_pass=one_pass,
        exposure=exposure,
        facts=tuple((name, words) for name, words in facts),
        **plain,
    )


def _check_plain(plain: Mapping[str, Any]) -> None:
    """Raise where something that is stored as it is has another type than a fit gives it."""

    def is_count(value: Any) -> bool:
        return type(value) is int and 0 <= value < 2**63

    def is_number(value: Any) -> bool:
        return type(value) in (int, float)

    def is_pair(value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == 2 and all(isinstance(word, str) for word in value)

    rules: dict[str, Callable[[Any], bool]] = {
        **dict.fromkeys(("estimator", "status", "method"), lambda value: isinstance(value, str)),
        "kept_share": lambda value: is_number(value) and 0.0 < value <= 1.0,
        "complete": lambda value: type(value) is bool,
        "n_samples": lambda value: is_count(value) and value > 0,
        "n_outside": is_count,
        "n_groups": lambda value: value is None or is_count(value),
        "error_df": lambda value: value is None or (is_number(value) and value > 0.0),
        "objective": lambda value: value is None or is_number(value),
        "log_likelihood": is_number,
        "facts": lambda value: isinstance(value, tuple) and all(map(is_pair, value)),
    }
    for name, is_right in rules.items():
        if not is_right(plain[name]):
            raise InvalidInputError(f"{name} is not what tmsm writes: {short_repr(plain[name])}.")


def _members(value: Any, names: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise InvalidInputError(f"{what} is not what tmsm writes: {short_repr(value)}.")
    return value


def _array(
    value: Any, name: str, shape: tuple[int | None, ...], *, optional: bool = False, finite: bool = True
) -> FloatArray | None:
    """An array of a shape, None for any size; its numbers must be finite."""
    if value is None and optional:
        return None
    array = np.asarray(decode_array(value, name), dtype=np.float64)
    fits = array.ndim == len(shape) and all(want in (None, has) for want, has in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise InvalidInputError(f"{name} has the shape {array.shape} in place of ({wanted}).")
    if finite and not np.isfinite(array).all():
        raise InvalidInputError(f"{name} holds NaN or an infinity.")
    return array


def _restored_rows(value: Any, region: Region) -> Rows:
    """The kept rows, checked: on the manifold, inside the region, with weights and groups of their number."""
    names = ["X", "weight", "groups", "on_border", "frame"]
    if isinstance(value, dict):
        names += [name for name in ("covariates", "stream", "power") if name in value]
    value = _members(value, tuple(names), "rows")
    D = region.manifold.embedding_dim
    X = np.asfortranarray(cast(FloatArray, _array(value["X"], "rows", (None, D))))
    n = len(X)
    if n == 0:
        raise InvalidInputError("rows are empty.")
    region.manifold.check_points(X, "rows")
    outside = ~region.contains(X) if region.has_border else np.zeros(n, dtype=bool)
    if outside.any():
        raise InvalidInputError(
            f"rows has {int(outside.sum()):,} of {n:,} rows outside the region (first: row {int(np.argmax(outside))})."
        )
    weight = _array(value["weight"], "weights of the rows", (n,), optional=True)
    if weight is not None and not (weight > 0.0).all():
        raise InvalidInputError("weights of the rows must be positive.")
    groups = None
    if value["groups"] is not None:
        codes = decode_array(value["groups"], "groups")
        if codes.shape != (n,) or codes.dtype != np.int64:
            raise InvalidInputError(f"groups must be {n:,} whole numbers.")
        groups = Groups.of(codes, n)
        if not np.array_equal(groups.codes, codes):
            raise InvalidInputError("groups must be numbered from 0 on.")
    on_border = cast(FloatArray, _array(value["on_border"], "rows on the border", (None, D)))
    if len(on_border):
        region.manifold.check_points(on_border, "rows on the border")
    frame = FRAMES.get(value["frame"]) if isinstance(value["frame"], str) else None
    if frame is None:
        raise InvalidInputError(f"frame is not one of {list(FRAMES)}: {short_repr(value['frame'])}.")
    columns = _restored_covariates(value["covariates"], n) if "covariates" in value else None
    return Rows.of_kept(region, X, weight, groups, on_border, frame, columns)


def _restored_stream(
    content: Mapping[str, Any], region: Region, configuration: Mapping[str, Any], kept: Rows, choice: Choice | None
) -> tuple[OnePass | None, LocalPolynomials]:
    """What a stream keeps, None of other fits, and the coordinates of polynomials: of a stream those of its start."""
    polynomials = LocalPolynomials.of(region.manifold, kept.sample().X)
    if "stream" not in content["rows"]:
        return None, polynomials
    stream = _decoded(content["rows"]["stream"])
    if stream["begun"] != (content["moments"] is not None):
        raise InvalidInputError("sums of a stream are missing.")
    if stream["polynomials"] is not None:
        polynomials = restored_polynomials(stream["polynomials"]["center"], stream["polynomials"]["axes"], region)
    X, weight = kept.source.table()
    rows = KeptRows(X, weight, None, kept.on_border, frame=kept.frame)
    return restored_one_pass(stream, region, configuration, rows, choice if stream["begun"] else None), polynomials


def _restored_robust(power: Any, asked: Any, equations: Equations, kept: Rows, theta: FloatArray) -> Robust:
    """Equations of rows that are weighted by a power of the density: the one that was asked for, or by "auto"."""
    known = type(power) is float and 0.0 < power <= 2.0 and asked in (power, "auto")
    if not known or not isinstance(equations, OneWeight):
        raise InvalidInputError(f"power is not what tmsm writes: {short_repr(power)}.")
    return Robust.about(equations, power, kept, theta)


def _restored_covariates(value: Any, n: int) -> Covariates:
    value = _members(value, ("values", "names", *_STANDARD), "covariates")
    names = value["names"]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InvalidInputError("covariates have no names.")
    values = cast(FloatArray, _array(value["values"], "covariates", (n, len(names))))
    numbers = [cast(FloatArray, _array(value[name], "covariates", (len(names),))) for name in _STANDARD]
    standard = Standard(*numbers)
    if not ((standard.scale > 0.0).all() and (standard.high > standard.low).all()):
        raise InvalidInputError("covariates have no spread.")
    return Covariates(values, tuple(names), standard)


def _restored_sums(value: Any, p: int) -> StatisticSums | None:
    if value is None:
        return None
    value = _members(value, _SUMS, "sums")
    n, weight_sum, squares = _totals(value, "sums")
    return StatisticSums(n, weight_sum, squares, cast(FloatArray, _array(value["total"], "sums", (p,))))


def _totals(value: Mapping[str, Any], name: str) -> tuple[int, float, float]:
    n, weight_sum, squares = value["n"], value["weight_sum"], value["weight_squares"]
    if not (
        type(n) is int and 0 < n < 2**63 and all(type(one) is float and one > 0.0 for one in (weight_sum, squares))
    ):
        raise InvalidInputError(f"{name} has no number of rows, or no weight.")
    return n, weight_sum, squares


def _restored_moments(value: Any, equations: OneWeight | WithCovariates | Stacked) -> Moments:
    value = _members(value, (*_MOMENTS, *_FEATURES), "moments")
    m, p = equations.n_equations, equations.n_parameters
    A = cast(FloatArray, _array(value["A_sum"], "moments", (m, p)))
    b = cast(FloatArray, _array(value["b_sum"], "moments", (m,)))
    farthest = decode(value["farthest"], "moments")
    if type(farthest) is not float or not farthest > 0.0:
        raise InvalidInputError("moments have no distance to the border.")
    features = None
    if value["reference"] is not None:
        q = p * (p + 1) // 2 + p
        reference = cast(FloatArray, _array(value["reference"], "moments", (p,)))
        features = Features(reference, cast(FloatArray, _array(value["squares"], "moments", (q, q))))
    return Moments(*_totals(value, "moments"), A, b, farthest, equations, features)


def _restored_likelihood(
    made_for: Any,
    model: Model,
    kept: Rows,
    estimate: FloatArray,
    sums: StatisticSums | None,
    exposure: KnownExposure | None,
    random_state: Any,
) -> tuple[NodeLikelihood | WholeLikelihood | None, NodeLikelihood | None]:
    """The likelihood and its nodes, made again as they were; None where the estimate is none of a likelihood."""
    if sums is None:
        if made_for is not None:
            raise InvalidInputError("it has nodes, but no sums of a likelihood.")
        return None, None
    sample = kept.sample().X
    if made_for is None:
        if not isinstance(model, LinearModel):
            raise InvalidInputError("model has no likelihood on the whole manifold.")
        return WholeLikelihood(model, sums.mean, sample[:1]), None
    theta = cast(FloatArray, _array(made_for, "nodes", (model.size,)))
    if isinstance(model, NonlinearModel):
        density = TruncatedDensity(model, kept.region, kept, exposure, random_state)
        found = density.near(theta, density.rows.with_slope(estimate, sums.mean))
        return found, found
    if not isinstance(model, LinearModel):
        raise InvalidInputError("model has no likelihood.")
    nodes = likelihood_near(model, kept.region, theta, sums, sample, exposure, random_state)
    return nodes, nodes


def _restored_regression(
    made_for: Any,
    model: Model,
    kept: Rows,
    standard: Standard,
    sums: StatisticSums,
    exposure: KnownExposure | None,
) -> CovariateEquations:
    """The equations of a likelihood with covariates, with their nodes made again as they were."""
    if not isinstance(model, LinearModel):
        raise InvalidInputError("model has no likelihood with covariates.")
    theta = cast(FloatArray, _array(made_for, "nodes", sums.total.shape))
    likelihood = TruncatedRegression.of(model, kept, standard, exposure, sums).near(theta)
    return CovariateEquations(model, likelihood, standard)
