"""Exact maximum likelihood under truncation, by quadrature: the yardstick, where the integral is in reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

from tmsm.arrays import ArrayLike, FloatArray
from tmsm.errors import EstimationError, InvalidInputError
from tmsm.estimators.base import Estimator, Fit, check_model, check_region, require_rows
from tmsm.estimators.score_matching import ScoreMatching
from tmsm.inference import inverse_information
from tmsm.influence import LikelihoodInfluence
from tmsm.likelihood import RegionLikelihood, Truncated, WholeLikelihood, likelihood_near
from tmsm.models.base import Model
from tmsm.models.integration import integrate_kernel
from tmsm.moments import LogExposure, StatisticSums, exposure_terms, sum_statistics
from tmsm.quadrature import has_nodes
from tmsm.regions.base import Region
from tmsm.rows import Block, Rows
from tmsm.validation import check_random_state
from tmsm.weights import Auto

__all__ = ["TruncatedMLE"]


class TruncatedMLE(Estimator):
    """Maximum likelihood of a model that was only seen inside a region.

    The normalising constant over the region is computed: by quadrature up to dimension two, with nodes
    that are built once for each region and shared by all fits, and by Monte Carlo nodes above.  It is
    the most accurate estimate there is, where the integral is in reach; elsewhere use `ScoreMatching`,
    from which this one starts.

    Parameters
    ----------
    model
        What to fit, such as `VonMisesFisher()`.
    region
        Where data could be seen, such as `Cap(center, radius)`.
    outside
        What to do with rows outside the region: "raise" or "drop".
    log_exposure
        Known log detection probability, up to a constant: a function of X (n, D) that returns its
        values (n,) and gradients (n, D).
    random_state
        Of the Monte Carlo nodes above dimension two: a whole number makes them repeatable; None or a
        `numpy.random.Generator` as elsewhere.

    Attributes
    ----------
    params_, std_errors_, natural_params_, covariance_
        The estimate and its errors, from the Fisher information; with unequal sample weights from the
        sandwich, which allows for weights that depend on x.
    log_likelihood_ : float
        Mean log density of the rows at the estimate.
    n_nodes_ : int
        Number of nodes.
    quadrature_error_ : float
        What the nodes' error moves the estimate by, in standard errors.
    status_ : str
        How the estimate was found and what to be wary of.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(
    ...     2000, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0
    ... )
    >>> fit = tmsm.TruncatedMLE(model, region).fit(X)
    >>> bool(abs(fit.params_.concentration - 6.0) < 3 * fit.std_errors_.concentration)
    True
    """

    def __init__(
        self,
        model: Model,
        region: Region,
        *,
        outside: Literal["raise", "drop"] = "raise",
        log_exposure: LogExposure | None = None,
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.region = region
        self.outside = outside
        self.log_exposure = log_exposure
        self.random_state = random_state

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
        check_region(check_model(self.model), self.region, self.log_exposure)
        check_random_state(self.random_state)
        rows = Rows(X, self.region, sample_weight, self.outside)
        start, model = self._start(X, rows, sample_weight)
        sums, sample = _sums(model, rows), rows.sample()
        D = self.region.manifold.embedding_dim
        constraint = model.constraint(D)
        require_rows(sums.n, constraint)
        if not self.region.has_border and self.log_exposure is None:
            theta = model.maximise_likelihood(sums.mean, D)
            expected, information = model.expectation(theta, D)
            extra = 0.0
            facts, status = [], "The maximum of the likelihood; nothing was cut off."
            self._likelihood = None
        else:
            rest = (self.log_exposure, self.random_state)
            found = Truncated(model, self.region, sums, sample, *rest).maximum(start)
            theta, likelihood = found.theta, found.likelihood
            _, slope, information = likelihood(theta)
            expected, extra = slope + sums.mean, likelihood.extra_variance
            facts = [("nodes", likelihood.description)]
            status = "The maximum of the likelihood under truncation."
            self._likelihood = likelihood
        if constraint.on_border(theta):
            status = f"{status} {constraint.describe(theta, True)}"
        if rows.n_outside:
            facts.append(("dropped", f"{rows.n_outside:,} rows outside the region were dropped"))
        per_row = inverse_information(information, constraint.tangent(theta), 1.0)
        influence = LikelihoodInfluence(model, expected, per_row)
        self._fit = Fit(
            title=f"TruncatedMLE: {self.model!r}",
            model=model,
            embedding_dim=D,
            params=model.parameters(theta, D),
            theta=theta,
            covariance=influence.covariance(rows, sums) + per_row * extra,
            n_samples=sums.n,
            status=status,
            influence=influence,
            kept=rows.kept(),
            kept_share=1.0 / rows.sample_stride,
            method="likelihood",
            log_exposure=self.log_exposure,
            likelihood=self._likelihood or WholeLikelihood(model, sums.mean, sample[:1]),
            facts=(("region", repr(self.region)), *facts),
        )
        self._log_likelihood = float("nan")
        if has_nodes(self.region) or self.log_exposure is None:
            if self._likelihood is None or not has_nodes(self.region):
                self._log_likelihood = self._mean_log_density(self._fit, rows, sums)
            else:
                self._log_likelihood = -self._likelihood(theta)[0]
            mean = ("log-likelihood", f"{self._log_likelihood:.6g} a row")
            self._fit = replace(self._fit, facts=(*self._fit.facts, mean))
        self._cluster(rows, groups)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log density of the rows under the fitted model, normalised over the region.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,).
        """
        fit, made = self._fitted, self._as_fitted()
        rows = Rows(X, made.region, sample_weight, made.outside)
        sums = _sums(fit.model, rows)
        value = made._mean_log_density(fit, rows, sums)
        if made.log_exposure is None:
            return value

        def exposure(block: Block) -> float:
            values = exposure_terms(made.log_exposure, block.X)[0]  # type: ignore[arg-type]
            return float(values.sum() if block.sample_weight is None else block.sample_weight @ values)

        return value + sum(rows.map(exposure)) / sums.weight_sum

    def _mean_log_density(self, fit: Fit, rows: Rows, sums: StatisticSums) -> float:
        """Of the rows, normalised over the region; a known exposure counts in the integral only."""
        model, theta = fit.model, fit.theta
        if has_nodes(self.region):
            sample = rows.sample()
            return -likelihood_near(model, self.region, theta, sums, sample, self.log_exposure, self.random_state)(
                theta
            )[0]
        if self.log_exposure is not None:
            raise InvalidInputError(
                "Above dimension two the density with a known exposure is not normalised: there is no score."
            )
        # log kernel = θ·t + a constant, found at any row.
        x = rows.sample()[:1]
        constant = float(model.log_kernel(x, theta)[0] - (model.statistics(x) @ theta)[0])
        if not self.region.has_border:
            log_integral = model.log_normaliser(theta, fit.embedding_dim)
        else:
            log_integral = integrate_kernel(model, self.region, theta).log_integral
        return float(sums.mean @ theta) + constant - log_integral

    @property
    def log_likelihood_(self) -> float:
        """Mean log density of the rows at the estimate; without a known exposure's part."""
        self._fitted  # noqa: B018  raises before a fit
        return self._log_likelihood

    @property
    def n_nodes_(self) -> int:
        """Number of nodes that stand for the region."""
        return len(self._nodes.log_weights)

    @property
    def quadrature_error_(self) -> float:
        """What the nodes' error moves the estimate by, in standard errors."""
        return self._nodes.error_share

    @property
    def _nodes(self) -> RegionLikelihood:
        self._fitted  # noqa: B018  raises before a fit
        if self._likelihood is None:
            raise InvalidInputError("Nothing was cut off, so this fit used no nodes.")
        return self._likelihood

    def _start(self, X: Any, rows: Rows, sample_weight: ArrayLike | None) -> tuple[FloatArray | None, Model]:
        """θ of score matching, None where there is none, and the form of the model."""
        matching = ScoreMatching(
            self.model,
            self.region,
            Auto(combine=False),
            outside=self.outside,
            log_exposure=self.log_exposure,
            standard_errors=False,
        )
        try:
            fit = matching.fit(X, sample_weight=sample_weight)._fitted
        except EstimationError:
            return None, self.model.centred(rows.sample())
        return fit.theta, fit.model


def _sums(model: Model, rows: Rows) -> StatisticSums:
    sums = sum_statistics(model, rows)
    if sums is None:
        raise InvalidInputError(rows.describe_absence())
    if not sums.weight_sum > 0.0:
        raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
    return sums
