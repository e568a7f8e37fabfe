"""What a fit with covariates shows: coefficients with errors, tests, and the parameters at given values."""

from __future__ import annotations

import warnings
from typing import Any

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import TmsmWarning
from tmsm.inference.covariate_tests import CovariateTests
from tmsm.inference.fit import Fitted
from tmsm.inference.regression import PredictedParameters

__all__ = ["Coefficients"]


class Coefficients(Fitted):
    """Base of the estimators, with what follows from covariates; without them an error says so."""

    @property
    def coefficients_(self) -> FloatArray:
        """B of a fit with covariates, θ(z) = B (1, z), in the units of z, shape (p, 1 + q)."""
        return self.result_.with_coefficients.coefficients

    @property
    def coefficient_errors_(self) -> FloatArray:
        """Standard errors of `coefficients_`, shape (p, 1 + q)."""
        return self.result_.with_coefficients.coefficient_errors

    @property
    def coefficient_covariance_(self) -> FloatArray:
        """Covariance of the entries of `coefficients_`, row after row, shape (p (1 + q), p (1 + q))."""
        return self.result_.with_coefficients.coefficient_covariance

    @property
    def covariate_tests_(self) -> CovariateTests:
        """Whether the density depends on each covariate, and on all together, and whether its centre moves with it.

        A Wald test and a score test of each question, with a sentence; print it to read them.
        """
        return self.result_.covariate_tests

    def predict_params(self, Z: Any) -> PredictedParameters:
        """The parameters at given values of the covariates, with their errors.

        A warning says where values lie outside those of the fit, and so does ``status`` of what is returned.

        Parameters
        ----------
        Z
            Covariates, shape (m, q), or a data frame with columns of the names that the fit was made with.

        Returns
        -------
        An object with the fields of `params_`, each with a first axis of length m, ``std_errors``,
        ``confidence_interval(level)`` and ``to_frame()``; ``[k]`` are the parameters at row k.

        Notes
        -----
        θ(z) = `coefficients_` @ (1, z).  Where the concentration is known, θ(z) has the direction of that vector and
        the known length; the mean of the covariates is in the middle of the turn.

        Examples
        --------
        >>> import numpy as np, tmsm
        >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
        >>> draw = {"region": region, "mean_direction": [-0.6, -0.8, 0.0]}
        >>> X = np.vstack(
        ...     [model.sample(800, random_state=k, concentration=5.0 + 5.0 * k, **draw) for k in range(2)]
        ... )
        >>> fit = tmsm.ScoreMatching(model, region).fit(X, covariates={"late": np.repeat([0, 1], 800)})
        >>> found = fit.predict_params({"late": [0, 1]})
        >>> bool((np.abs(found.concentration - [5.0, 10.0]) < 3 * found.std_errors.concentration).all())
        True
        >>> bool(fit.covariate_tests_.of("late").p_value < 0.001)
        True
        """
        fit = self.result_
        found = fit.with_coefficients.predict(Z, fit.error_df)
        if found.status:
            warnings.warn(found.status, TmsmWarning, stacklevel=2)
        return found
