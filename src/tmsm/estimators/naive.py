"""Maximum likelihood as if nothing had been cut off: the baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tmsm.data.named_tables import framed_points
from tmsm.data.opening import opened
from tmsm.data.rows import Block, Rows
from tmsm.estimators.base import Estimator, check_linear, check_model, require_rows
from tmsm.estimators.densities import DensityFit
from tmsm.foundation.arrays import ArrayLike
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import as_rows
from tmsm.inference.covariance import inverse_information, likelihood_covariance
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence
from tmsm.manifolds import Manifold
from tmsm.matching.likelihood import LikelihoodEquations, WholeLikelihood
from tmsm.matching.moments import sum_statistics
from tmsm.models.base import Model
from tmsm.models.nonlinear import NonlinearModel
from tmsm.regions import Everywhere

__all__ = ["NaiveMLE"]


def _with_whole_likelihood(model: Model) -> Model:
    """Return a model whose likelihood on the whole manifold is known, or say what else to do."""
    return model if isinstance(model, NonlinearModel) and model.is_normalised else check_linear(model)


class NaiveMLE(Estimator):
    """Maximum likelihood on the whole manifold, which ignores the truncation.

    The estimated centre lies among the observed points. Its standard errors are valid only if nothing was cut off. With
    truncated data both the estimate and the errors are wrong.

    Parameters
    ----------
    model
        What to fit, such as `VonMisesFisher()`.

    Examples
    --------
    >>> import tmsm
    >>> model = tmsm.VonMisesFisher()
    >>> X = model.sample(500, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=6.0)
    >>> fit = tmsm.NaiveMLE(model).fit(X)
    >>> bool(abs(fit.params_.concentration - 6.0) < 3 * fit.std_errors_.concentration)
    True
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        model = _with_whole_likelihood(check_model(self.model))
        if model.is_bound:
            return Rows.of(X, Everywhere(model.manifold), sample_weight)
        if isinstance(model.home, Manifold) and not model.home.has_longitudes:
            return Rows.of(X, Everywhere(model.home), sample_weight)
        # Where the file, or the table, has longitudes and latitudes, they are on S², where the model can be.
        home = model.home if isinstance(model.home, Manifold) else None
        source = opened(X, home, sample_weight, on_sphere=model.usual_manifold(3).has_longitudes)
        if source is not None:
            weight = sample_weight if source is X else None
            return Rows.of(source, Everywhere(model.usual_manifold(source.n_columns)), weight)
        # A table with longitudes and latitudes is on S², where the model can be.
        framed = framed_points(X, on_sphere=False) if model.usual_manifold(3).has_longitudes else None
        width = as_rows(X, "X").shape[1] if framed is None else 3
        return Rows.of(X if framed is None else framed, Everywhere(model.usual_manifold(width)), sample_weight)

    def _estimate(self, rows: Rows) -> Fit:
        if isinstance(self.model, NonlinearModel):
            fit = DensityFit(type(self).__name__, self.get_params(), self.model)(rows)
            return replace(fit, status=f"{fit.status.split(';')[0]}: truncation is ignored.")
        sample = rows.sample()
        model = check_linear(check_linear(self.model).on(rows.region.manifold).centred(sample.X))
        constraint = model.constraint
        require_rows(len(rows), constraint)
        sums = sum_statistics(model, rows)
        if sums is None or not sums.weight_sum > 0.0:
            raise EstimationError("sample_weight is zero for every row: there is nothing to fit.")
        theta = model.maximise_likelihood(sums.mean)
        per_row = inverse_information(model.expectation(theta)[1], constraint.tangent(theta), 1.0)
        likelihood = WholeLikelihood(model, sums.mean, sample.X[:1])
        influence = Influence(LikelihoodEquations(model, likelihood, sums.mean), theta, -per_row)
        return Fit(
            estimator=type(self).__name__,
            configuration=self.get_params(),
            model=model,
            region=rows.region,
            theta=theta,
            covariance=likelihood_covariance(influence, rows, sums),
            params=model.parameters(theta),
            influence=influence,
            status="The maximum of the likelihood on the whole manifold: truncation is ignored."
            + (f" {constraint.describe(theta, True)}" if constraint.on_border(theta) else ""),
            kept=rows.kept(),
            kept_share=1.0 / rows.sample_stride,
            n_samples=len(rows),
            likelihood=likelihood,
            sums=sums,
        )

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log density of the rows under the fitted model on the whole manifold: larger is better.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,).
        """
        fit = self.result_
        rows = Rows.of(X, fit.region, sample_weight)
        rows.check_frame(fit.kept.frame)

        def block_sums(block: Block) -> tuple[float, float]:
            values, w = fit.model.log_kernel(block.X, fit.theta), block.sample_weight
            return (float(values.sum()), float(len(values))) if w is None else (float(w @ values), float(w.sum()))

        if sample_weight is not None and not np.any(sample_weight):
            raise InvalidInputError(rows.describe_absence())
        total, weight = (float(sum(parts)) for parts in zip(*rows.map(block_sums), strict=True))
        return total / weight - fit.model.log_normaliser(fit.theta)
