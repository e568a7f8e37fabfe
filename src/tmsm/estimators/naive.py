"""Maximum likelihood as if nothing had been cut off: the baseline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tmsm.arrays import ArrayLike
from tmsm.errors import EstimationError, InvalidInputError
from tmsm.estimators.base import Estimator, Fit, check_model, require_rows
from tmsm.inference import inverse_information
from tmsm.influence import LikelihoodInfluence
from tmsm.likelihood import WholeLikelihood
from tmsm.models.base import Model
from tmsm.moments import sum_statistics
from tmsm.regions.combinations import Everywhere
from tmsm.rows import Block, Rows
from tmsm.validation import as_rows

__all__ = ["NaiveMLE"]


class NaiveMLE(Estimator):
    """Maximum likelihood on the whole manifold, which ignores the truncation.

    It puts the centre into the middle of what was seen.  Its standard errors are those of a model
    that was never cut off: with truncated data they are as wrong as the estimate.

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

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: Any = None) -> Self:
        """Estimate the parameters.

        Parameters
        ----------
        X
            Points, shape (n, D), in embedding coordinates.
        y
            Ignored; scikit-learn passes it.
        sample_weight
            Relative weights of the rows, shape (n,).
        groups
            Labels, shape (n,), of groups within which rows may depend on each other, such as the fixes of one
            storm: the standard errors are then cluster-robust.  The estimate is the same.

        Returns
        -------
        self
        """
        self._fit, self._why_not_fitted = None, "the last call to fit failed."
        model = check_model(self.model)
        D = as_rows(X, "X").shape[1]
        rows = Rows(X, Everywhere(model.whole_manifold(D)), sample_weight)
        sample = rows.sample()
        model = model.centred(sample)
        constraint = model.constraint(D)
        require_rows(len(rows), constraint)
        sums = sum_statistics(model, rows)
        if sums is None or not sums.weight_sum > 0.0:
            raise EstimationError("sample_weight is zero for every row: there is nothing to fit.")
        theta = model.maximise_likelihood(sums.mean, D)
        expected, information = model.expectation(theta, D)
        influence = LikelihoodInfluence(
            model, expected, inverse_information(information, constraint.tangent(theta), 1.0)
        )
        self._fit = Fit(
            title=f"NaiveMLE: {self.model!r}",
            model=model,
            embedding_dim=D,
            params=model.parameters(theta, D),
            theta=theta,
            covariance=influence.covariance(rows, sums),
            n_samples=len(rows),
            influence=influence,
            kept=rows.kept(),
            kept_share=1.0 / rows.sample_stride,
            likelihood=WholeLikelihood(model, sums.mean, sample[:1]),
            status="The maximum of the likelihood on the whole manifold: truncation is ignored."
            + (f" {constraint.describe(theta, True)}" if constraint.on_border(theta) else ""),
        )
        self._cluster(rows, groups)
        return self

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
        fit = self._fitted
        rows = Rows(X, Everywhere(fit.model.whole_manifold(fit.embedding_dim)), sample_weight)

        def block_sums(block: Block) -> tuple[float, float]:
            values, w = fit.model.log_kernel(block.X, fit.theta), block.sample_weight
            return (float(values.sum()), float(len(values))) if w is None else (float(w @ values), float(w.sum()))

        if sample_weight is not None and not np.any(sample_weight):
            raise InvalidInputError(rows.describe_absence())
        total, weight = (float(sum(parts)) for parts in zip(*rows.map(block_sums), strict=True))
        return total / weight - fit.model.log_normaliser(fit.theta, fit.embedding_dim)
