"""What score matching has to solve: rows, the form of the model that suits them, and their equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.data.covariates import Standard
from tmsm.data.rows import BORDER_TOLERANCE, Rows
from tmsm.estimators.base import require_rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.manifolds import Manifold
from tmsm.manifolds.frames import check_frames
from tmsm.matching.covariates import lifted
from tmsm.matching.equations import Equations
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.stacked import Stacked
from tmsm.matching.turning import with_covariates
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint, FixedNorm
from tmsm.weights.policies import Choice, Setting

__all__ = ["Problem", "check_covariates"]

_TURNING = "Combined weights with covariates need an unknown concentration: use 'saturating'."
_NOT_LINEAR = "Combined weights need a density that is linear in its parameters: use 'saturating'."


@dataclass(frozen=True)
class Problem:
    """Rows with all that a sample of them fixes: the form of the model, and what a policy may look at.

    ``kept`` is that sample, by which the estimate is judged later, and ``kept_share`` its share of the rows;
    ``standard`` are mean and spread of the covariates, where there are any.
    """

    model: Model
    rows: Rows
    setting: Setting
    exposure: KnownExposure | None
    kept: Rows
    kept_share: float
    standard: Standard | None = None

    @classmethod
    def of(
        cls, model: Model, rows: Rows, log_exposure: LogExposure | KnownExposure | None, why_single: str = ""
    ) -> Problem:
        """Of a user's model and exposure; ``why_single`` says why several weights will not do."""
        sample = rows.sample()
        if len(sample) == 0:
            raise InvalidInputError(rows.describe_absence())
        extent = _extent(rows.region.manifold, sample.X)
        if extent > 0.0 and not 1e-100 < extent < 1e100:
            raise InvalidInputError(
                f"The rows extend over {extent:.3g}, beyond what can be squared: rescale the columns."
            )
        manifold = rows.region.manifold
        model = model.on(manifold).in_region(rows.region)
        model.check_spread(sample.X)
        for frame in rows.region.frames:
            check_frames(frame, rows.frame, "The region")
        exposure = KnownExposure.of(log_exposure, rows, with_gradient=True)
        model = model.centred(sample.X)
        if not model.is_linear:
            why_single = why_single or _NOT_LINEAR
        kept, share = rows.kept(), 1.0 / rows.sample_stride
        n_rows = kept.effective_number / (share if rows.groups is None else rows.share_of_groups)
        standard, n_columns = None, 1
        if rows.covariates is not None:
            check_covariates(model)
            standard = rows.standard()
            n_columns = 1 + len(rows.covariates.names)
            if not model.constraint.is_flat:
                why_single = why_single or _TURNING
        setting = Setting(sample.view, model.constraint.n_free * n_columns, n_rows, why_single, n_columns)
        return cls(model, rows, setting, exposure, kept, share, standard)

    @property
    def constraint(self) -> Constraint:
        """The set in which θ, or the coefficients of covariates, are sought."""
        constraint = self.model.constraint
        return constraint if self.standard is None else lifted(constraint, self.setting.n_columns)

    def equations(self, choice: Choice) -> Equations:
        """The equations of a choice."""
        if not choice.combined:
            return with_covariates(OneWeight(self.model, choice.parts[0].weight, self.exposure), self.standard)
        polynomials = LocalPolynomials.of(self.rows.region.manifold, self.setting.view.X)
        return with_covariates(Stacked(self.model, choice.parts, polynomials, self.exposure), self.standard)

    def check_sums(self, n: int, weight_sum: float, farthest: float) -> None:
        """Raise where the rows cannot carry an estimate."""
        require_rows(n, self.constraint)
        if not weight_sum > 0.0:
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        if farthest <= BORDER_TOLERANCE * _extent(self.rows.region.manifold, self.setting.view.X):
            raise EstimationError(
                f"All {n} rows lie on the border (farthest: {farthest:.3g} from it), where every "
                "weight is zero. Check that the region and the rows are in the same coordinates."
            )


def check_covariates(model: Model) -> None:
    """Raise unless θ may depend on covariates: in a linear family, of which a linear part or the length is known."""
    name = type(model).__name__
    if not model.is_linear:
        raise InvalidInputError(
            f"Covariates need a density that is linear in its parameters, and {name} is not: leave them out, or use an "
            "exponential family."
        )
    constraint = model.constraint
    if constraint.is_flat or isinstance(constraint, FixedNorm):
        return
    raise InvalidInputError(
        f"The θ of {name} lie in a curved set, and θ that is linear in covariates leaves it: use the family of all θ "
        "(FisherBingham for Kent, Bingham for Watson, ExponentialFamily for others)."
    )


def _extent(manifold: Manifold, X: FloatArray) -> float:
    """How far rows extend: in a product of manifolds, each in a unit of its own, in the factor where they do least."""
    return min(float(np.ptp(X[:, own], axis=0).max()) for own in manifold.columns)
