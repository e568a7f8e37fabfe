"""Maximum likelihood as if nothing had been cut off: the baseline."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray
from tmsm.errors import EstimationError
from tmsm.estimators.base import Estimator, Fit, check_model
from tmsm.inference import inverse_information
from tmsm.models.base import Model
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

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the parameters.

        Parameters
        ----------
        X
            Points, shape (n, D), in embedding coordinates.
        y
            Ignored; scikit-learn passes it.
        sample_weight
            Relative weights of the rows, shape (n,).

        Returns
        -------
        self
        """
        self._fit, self._why_not_fitted = None, "the last call to fit failed."
        model = check_model(self.model)
        D = as_rows(X, "X").shape[1]
        rows = Rows(X, Everywhere(model.whole_manifold(D)), sample_weight)
        model = model.centred(rows.sample())
        constraint = model.constraint(D)
        if len(rows) < constraint.n_free:
            raise EstimationError(
                f"{len(rows)} rows cannot determine {constraint.n_free} parameters; "
                "use more rows, or fix what is known."
            )

        def block_sums(block: Block) -> FloatArray:
            """Σ w, Σ w² and Σ w t."""
            t, w = model.statistics(block.X), block.sample_weight
            if w is None:
                return np.concatenate([[len(t), len(t)], t.sum(axis=0)])
            return np.concatenate([[w.sum(), w @ w], w @ t])

        weight_sum, weight_squares, *total = reduce(add, rows.map(block_sums))
        if not weight_sum > 0.0:
            raise EstimationError("sample_weight is zero for every row: there is nothing to fit.")
        theta = model.maximise_likelihood(np.array(total) / weight_sum, D)
        effective_n = weight_sum**2 / weight_squares
        self._fit = Fit(
            title=f"NaiveMLE: {self.model!r}",
            model=model,
            embedding_dim=D,
            params=model.parameters(theta, D),
            theta=theta,
            covariance=inverse_information(model.fisher_information(theta, D), constraint.tangent(theta), effective_n),
            n_samples=len(rows),
            status="The maximum of the likelihood on the whole manifold: truncation is ignored.",
        )
        return self
