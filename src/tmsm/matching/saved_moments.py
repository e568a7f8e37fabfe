"""Sums from a file that `Moments.save` wrote."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tmsm.foundation.archives import read_archive
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.encoding import UnknownClassError, decode
from tmsm.foundation.errors import InvalidInputError, TmsmError
from tmsm.foundation.whole_files import as_path
from tmsm.manifolds.frames import FRAMES
from tmsm.matching.equation_content import FUNCTION, restored_equations
from tmsm.matching.equations import ResidualSums
from tmsm.matching.exposure import LogExposure
from tmsm.matching.group_totals import GroupTotals
from tmsm.matching.kept_rows import KeptRows
from tmsm.matching.moments import FORMAT, VERSION, Features, Moments
from tmsm.matching.pilot import OnePass, Pilot, StatisticSquares
from tmsm.regions import Region
from tmsm.weights.policies import Choice

__all__ = ["load_moments", "restored_one_pass"]

_WHAT = "sums saved by tmsm"
# What numbers that were tampered with may lead to.
_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, AssertionError)


def load_moments(path: str | os.PathLike[str], log_exposure: LogExposure | None = None) -> Moments:
    """Load sums from a file that `Moments.save` wrote, to add them to others or to estimate from them.

    Loading calls only the constructors of tmsm's own classes and of imported classes derived from them.

    Parameters
    ----------
    path
        The file.
    log_exposure
        The function that the sums were made with, if they were made with one: a file cannot hold it.

    Returns
    -------
    The sums; ``ScoreMatching.from_moments(sums)`` is the estimate from them.

    Examples
    --------
    >>> import tempfile, tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(500, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    >>> fit = tmsm.ScoreMatching(model, region).partial_fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.moments_.save(f"{folder}/sums.npz")
    ...     sums = tmsm.load_moments(f"{folder}/sums.npz")
    >>> tmsm.ScoreMatching.from_moments(sums).summary() == fit.summary()
    True
    """
    place = as_path(path)
    content, name = read_archive(place, FORMAT, VERSION, _WHAT), place.name
    try:
        by_function = FUNCTION in content["configuration"].values()
        if by_function and log_exposure is None:
            raise InvalidInputError(
                f"{name} was made with a log_exposure function, and a file holds no code: give the function again, "
                "load_moments(path, log_exposure=...)."
            )
        if log_exposure is not None and not by_function:
            raise InvalidInputError(f"{name} was made without a log_exposure function: load it without log_exposure.")
    except _FAILURES as error:
        if isinstance(error, TmsmError):
            raise
        raise InvalidInputError(f"{name} is damaged: it has no configuration.") from None
    try:
        return _restored(content, log_exposure)
    except UnknownClassError as error:
        raise InvalidInputError(f"{name} {error}") from None
    except TmsmError as error:
        raise InvalidInputError(f"{name} cannot be used: {error}") from None
    except _FAILURES as error:
        raise InvalidInputError(f"{name} is damaged: its numbers make no sums ({error}).") from None


def _restored(content: Mapping[str, Any], log_exposure: LogExposure | None) -> Moments:
    region = decode(content["region"], "region")
    if not isinstance(region, Region):
        raise InvalidInputError("it has no region.")
    configuration = {
        name: log_exposure if value == FUNCTION else decode(value, name)
        for name, value in content["configuration"].items()
    }
    equations, choice = restored_equations(content["equations"], region, log_exposure)
    kept = content["one_pass"]["kept"]
    X, weight = np.asarray(kept["X"], dtype=np.float64), kept["weight"]
    if X.ndim != 2 or X.shape[1] != region.manifold.embedding_dim or kept["frame"] not in FRAMES:
        raise InvalidInputError("its rows are not what tmsm writes.")
    rows = KeptRows(X, weight, None, np.asarray(kept["on_border"]), frame=FRAMES[kept["frame"]])
    one_pass = restored_one_pass(content["one_pass"], region, configuration, rows, choice)
    features, p, m = None, equations.model.size, equations.n_equations
    if content["features"] is not None:
        size = p * (p + 1) // 2 + p
        found = content["features"]
        features = Features(_floats(found["reference"], (p,)), _floats(found["squares"], (size, size)))
    return Moments(
        content["n"],
        content["weight_sum"],
        content["weight_squares"],
        _floats(content["A_sum"], (m, p)),
        _floats(content["b_sum"], (m,)),
        content["farthest"],
        equations,
        features,
        one_pass,
    )


def restored_one_pass(
    content: Mapping[str, Any],
    region: Region,
    configuration: Mapping[str, Any],
    kept: KeptRows,
    choice: Choice | None,
) -> OnePass:
    """What a stream keeps; the kept rows themselves, and the weights, are given."""
    own, groups = content["kept"], content["groups"]
    codes, totals = own["codes"], None
    if groups is not None:
        totals = GroupTotals(tuple(groups["labels"]), _floats(groups["totals"], (len(groups["labels"]), None)))
    if (codes is None) != (totals is None):
        raise InvalidInputError("groups of its rows are not what tmsm writes.")
    if codes is not None and totals is not None:
        codes = np.asarray(codes, dtype=np.intp)
        if codes.shape != (len(kept),) or codes.min(initial=0) < 0 or codes.max(initial=-1) >= len(totals):
            raise InvalidInputError("groups of its rows are not what tmsm writes.")
    stride, seen = int(own["stride"]), int(own["seen"])
    if stride < 1 or seen < len(kept):
        raise InvalidInputError("numbers of its rows are not what tmsm writes.")
    return OnePass(
        region,
        configuration,
        replace(kept, codes=codes, stride=stride, seen=seen),
        int(content["n_outside"]),
        choice,
        _restored_pilot(content["pilot"]),
        _restored_residuals(content["residuals"]),
        _restored_statistics(content["statistics"]),
        totals,
    )


def _restored_pilot(value: Any) -> Pilot | None:
    if value is None:
        return None
    theta = _floats(value["theta"], (None,))
    steps, center = (_floats(value[name], theta.shape) for name in ("steps", "center"))
    return Pilot(theta, steps, center, int(value["n_rows"]))


def _restored_residuals(value: Any) -> ResidualSums | None:
    if value is None:
        return None
    total = _floats(value["total"], (None,))
    squares_total, squares = _floats(value["squares_total"], total.shape), _floats(value["squares"], 2 * total.shape)
    return ResidualSums(float(value["weight_sum"]), float(value["weight_squares"]), total, squares_total, squares)


def _restored_statistics(value: Any) -> StatisticSquares | None:
    if value is None:
        return None
    total = _floats(value["total"], (None,))
    squares_total, squares = _floats(value["squares_total"], total.shape), _floats(value["squares"], 2 * total.shape)
    return StatisticSquares(total, squares_total, squares, float(value["lowest"]), float(value["highest"]))


def _floats(value: Any, shape: tuple[int | None, ...]) -> FloatArray:
    """Finite numbers of a shape, None for any size."""
    array = np.asarray(value, dtype=np.float64)
    fits = array.ndim == len(shape) and all(want in (None, has) for want, has in zip(shape, array.shape, strict=True))
    if not fits or not np.isfinite(array).all():
        raise InvalidInputError(f"numbers of the shape {array.shape} are not what tmsm writes.")
    return array
