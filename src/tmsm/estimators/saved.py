"""A fitted estimator from a file that `save` wrote."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tmsm.display.record import NUMBERS_ONLY, FitRecord, versions
from tmsm.estimators.base import Estimator
from tmsm.estimators.robust import power_of
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.encoding import UnknownClassError, imported_class
from tmsm.foundation.errors import InvalidInputError, TmsmError
from tmsm.foundation.whole_files import as_path
from tmsm.inference.fit import Fit
from tmsm.inference.stored import NeedsExposureError, configuration_of, restored_fit
from tmsm.matching.exposure import LogExposure

__all__ = ["load"]

# An estimate of the same rows agrees with the stored one to this share of a standard error, or of its size.
_AGREES, _RELATIVE = 1e-3, 1e-6
# What is not repeatable, such as random nodes without a seed, agrees to one.
_NOT_REPEATABLE = 1.0
# What numbers that were tampered with may lead to, before a check finds them.
_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, AssertionError)


def load(path: str | os.PathLike[str], log_exposure: LogExposure | None = None) -> Estimator:
    """Load a fitted estimator from a file that its method ``save`` wrote.

    The file is JSON without any code. Loading calls only the constructors of tmsm's own classes and of imported classes
    derived from them. If the file holds all rows of the fit and was written by this version of tmsm, the rows are
    fitted again and must give the numbers in the file. For more than 65,536 rows, or for a stream, the file holds some
    of the rows and all numbers.

    Parameters
    ----------
    path
        The file.
    log_exposure
        The function that the fit was made with, if it was made with one: a file cannot hold it.

    Returns
    -------
    An estimator of the class that was saved, with the same results. Monte Carlo nodes that were drawn without a seed
    are drawn again.

    Examples
    --------
    >>> import tempfile, tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(500, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(f"{folder}/fit.json")
    ...     again = tmsm.load(f"{folder}/fit.json")
    >>> again.summary() == fit.summary()
    True
    """
    place = as_path(path)
    record = FitRecord.load(place)
    content, name = record.fit, place.name
    if record.version == NUMBERS_ONLY:
        raise InvalidInputError(
            f"{name} was saved by tmsm 0.1, which kept the numbers of a fit but not its rows: 'tmsm show' prints them. "
            "For an estimator, fit the points again and save that fit."
        )
    if content is None:
        raise InvalidInputError(
            f"{name} holds the numbers of a fit, but not its rows, as text that was printed does: "
            "an estimator comes from a file that save wrote."
        )
    try:
        kind = imported_class(Estimator, content["estimator"], content["module"], "estimator")
        configuration = configuration_of(content, log_exposure)
        estimator: Estimator = kind(**configuration)
        fit = restored_fit(content, configuration)
        made_by = record.content["made_by"].get("tmsm")
        if made_by == versions()["tmsm"]:
            _check_agreement(estimator, fit, record.content)
        else:  # which may have chosen another weight, or combined them otherwise
            _check_shown(fit, record.content)
        estimator._restore(fit)
    except (UnknownClassError, NeedsExposureError) as error:
        raise InvalidInputError(f"{name} {error}") from None
    except TmsmError as error:
        raise InvalidInputError(f"{name} is damaged: {error}") from None
    except _FAILURES as error:
        raise InvalidInputError(f"{name} is damaged: its numbers make no fit ({error}).") from None
    return estimator


def _check_shown(fit: Fit, content: dict[str, Any]) -> None:
    """Raise where a fit is not what was shown beside it."""
    shown, own = np.asarray(content["natural_params"], dtype=np.float64), fit.natural_params
    if shown.shape != own.shape or not np.allclose(shown, own, rtol=1e-9, atol=1e-9 * np.abs(own).max(initial=0.0)):
        raise InvalidInputError("its estimate does not agree with natural_params.")


def _check_agreement(estimator: Estimator, fit: Fit, content: dict[str, Any]) -> None:
    """Raise where a fit is not what was shown beside it, or not what its rows give."""
    _check_shown(fit, content)
    own = fit.natural_params
    if fit.kept_share < 1.0 or not fit.complete:
        return
    try:
        again = estimator._estimate(fit.kept).clustered(fit.kept)
    except TmsmError as error:
        raise InvalidInputError(f"its rows cannot be fitted: {error}") from None
    random_state = fit.configuration.get("random_state", 0)
    random = fit.nodes is not None and fit.nodes.cell is None and random_state is None
    unit = np.zeros(len(own)) if again.covariance is None else np.sqrt(np.diag(again.natural_covariance))
    tolerance = (_NOT_REPEATABLE if random else _AGREES) * unit + _RELATIVE * np.abs(again.natural_params).max()
    agrees = again.natural_params.shape == own.shape and (np.abs(again.natural_params - own) <= tolerance).all()
    if agrees and again.covariance is not None and fit.covariance is not None:
        other = np.sqrt(np.diag(fit.natural_covariance))
        agrees = bool((np.abs(unit - other) <= 0.1 * (random + 0.01) * unit + 1e-300).all())
    same = (again.covariance is None) == (fit.covariance is None) and all(
        _close(getattr(again, name), getattr(fit, name), 1.0 if random else _AGREES)
        for name in ("error_df", "n_groups", "objective", "log_likelihood")
    )
    if not random and again.model == fit.model:
        pairs = [(again.slope, fit.slope), (again.influence.matrix, fit.influence.matrix)]
        same = same and all(_close_arrays(*pair) for pair in pairs)
    if not agrees or not same or power_of(again) != power_of(fit):
        function = fit.exposure is not None
        hint = " Is log_exposure the function that the fit was made with?" if function else ""
        raise InvalidInputError(f"the estimate in it is not that of its rows.{hint}")


def _close(one: float | None, other: float | None, share: float) -> bool:
    """Whether two numbers are about the same, or both are missing."""
    if one is None or other is None:
        return one is other
    return bool(np.isclose(one, other, rtol=share, atol=_RELATIVE, equal_nan=True))


def _close_arrays(one: FloatArray | None, other: FloatArray | None) -> bool:
    """The same of matrices, entry by entry to a share of the largest."""
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and bool((np.abs(one - other) <= _AGREES * np.abs(one).max()).all())
