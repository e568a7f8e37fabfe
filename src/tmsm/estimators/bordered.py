"""What estimators share that know of a border: a report shows beside them what ignoring it does."""

from __future__ import annotations

from collections.abc import Mapping

from tmsm.estimators.base import Estimator
from tmsm.estimators.naive import NaiveMLE
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.inference.fit import Fitted

__all__ = ["BorderedEstimator"]


class BorderedEstimator(Estimator):
    """Base of the estimators of a model that was only seen inside a region."""

    def beside(self) -> Mapping[str, Fitted]:
        """The naive likelihood of the kept rows, where there is a border and the family has a likelihood."""
        fit = self.result_
        if not fit.region.has_border or not fit.model.is_linear:
            return {}
        X, weight = fit.kept.source.table()
        try:
            naive = NaiveMLE(fit.configuration["model"]).fit(X, sample_weight=weight)
        except (EstimationError, InvalidInputError):
            return {}
        ignored = "ignoring the border" if fit.exposure is None else "ignoring border and exposure"
        if fit.regression is not None:
            ignored += ", without covariates"
        return {ignored: naive}
