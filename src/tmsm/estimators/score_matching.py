"""Truncated manifold score matching: data → (A, b) → θ̂."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray
from tmsm.errors import EstimationError, InvalidInputError, TmsmWarning
from tmsm.estimators.base import Estimator, Fit, check_model, check_region, require_rows
from tmsm.inference import inverse_information, sandwich_covariance
from tmsm.likelihood import likelihood_near
from tmsm.misfit import misfit_caution
from tmsm.models.base import Model
from tmsm.moments import (
    MAX_FEATURE_STATISTICS,
    LogExposure,
    Moments,
    MomentSpec,
    StatisticSums,
    accumulate,
    residual_squares,
    sum_statistics,
)
from tmsm.newton import newton_step
from tmsm.regions.base import Region
from tmsm.rows import BORDER_TOLERANCE, Rows
from tmsm.solve import Solution, solve
from tmsm.validation import check_flag, check_option
from tmsm.weights import Constant, Distance, Weight, as_weight

__all__ = ["ScoreMatching"]


# So many rows are kept to see whether they look like the model.
_LOOK_ROWS = 4096


class ScoreMatching(Estimator):
    """Fit a model to data that were only seen inside a region, without its normalising constant.

    Parameters
    ----------
    model
        What to fit, such as `VonMisesFisher()`.
    region
        Where data could be seen, such as `Cap(center, radius)`.
    weight
        "auto", "geodesic", "projected", "chordal", "saturating", "normal", "componentwise" or a
        `tmsm.weights.Weight`.  "auto" takes the best that the region offers: normal-only for caps,
        hemispheres, balls and half-spaces, componentwise for boxes, saturating for everything else,
        constant where there is no border.
    outside
        What to do with rows outside the region: "raise" or "drop" (`n_outside_` counts them).
    log_exposure
        Known log detection probability, up to a constant: a function of X (n, D) that returns its
        values (n,) and gradients (n, D), of which the tangent part counts.  The estimate uses the
        gradients; the values must be finite.
    refine
        "mle" takes one Newton step from the estimate towards the maximum of the likelihood under
        truncation, which is as accurate as that maximum to first order; it needs nodes inside the
        region, see `TruncatedMLE`.  None, the default, needs no integral.
    standard_errors
        Whether `fit` reads the rows a second time for the covariance.

    Attributes
    ----------
    params_ : Parameters
        The estimate by name; `natural_params_` is the same as θ.
    std_errors_ : Parameters
        Standard errors; `covariance_` is that of θ.
    objective_ : float
        J(θ̂) = θ̂ᵀAθ̂ + 2bᵀθ̂.
    weight_ : Weight
        The weight that was used, all its scales fixed.
    moments_ : Moments
        (A, b, n); those of two parts of a data set can be added.
    status_ : str
        How the estimate was found and what to be wary of.
    n_samples_, n_outside_ : int
        Rows that were used, and rows outside the region that were dropped.
    goodness_of_fit_ : None
        The single weights leave no equation over to test the model with.

    Notes
    -----
    J(θ) = E[⟨ψ, Wψ⟩ + 2⟨W, Hess log p⟩ + 2⟨div W, ψ⟩], ψ = ∇ log p, which for W = g I is the
    objective of Williams & Liu (2022).  For an exponential family it is a quadratic in θ.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(
    ...     2000, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0
    ... )
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> bool(abs(fit.params_.concentration - 6.0) < 3 * fit.std_errors_.concentration)
    True
    """

    # What was asked for and the sums so far; None outside a stream.
    _stream: tuple[tuple[Any, ...], Moments] | None = None
    _n_outside: int = 0
    # A few rows to see whether they look like the model; not of weighted tables.
    _sample: FloatArray | None = None

    def __init__(
        self,
        model: Model,
        region: Region,
        weight: Weight | str = "auto",
        *,
        outside: Literal["raise", "drop"] = "raise",
        log_exposure: LogExposure | None = None,
        refine: Literal["mle"] | None = None,
        standard_errors: bool = True,
    ) -> None:
        self.model = model
        self.region = region
        self.weight = weight
        self.outside = outside
        self.log_exposure = log_exposure
        self.refine = refine
        self.standard_errors = standard_errors

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the parameters; what an earlier call found is forgotten.

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
        self._fit, self._stream, self._n_outside, self._sample = None, None, 0, None
        self._why_not_fitted = "the last call to fit failed."
        rows = self._rows(X, sample_weight)
        sample = rows.sample()
        spec = self._spec(rows, sample)
        if sample_weight is None:
            self._sample = sample[:: -(-len(sample) // _LOOK_ROWS)].copy()
        moments = accumulate(spec, rows)
        assert moments is not None, "the sample has rows inside"
        self._n_outside = rows.n_outside
        try:
            solution = self._solve(moments)
            squares = residual_squares(spec, rows, solution.theta) if self.standard_errors else None
            self._publish(moments, solution, squares)
            if self.refine is not None:
                self._refine(sum_statistics(spec.model, rows), sample)
        except EstimationError:
            if len(rows) > 1 and rows.all_identical():
                raise EstimationError(
                    f"All {len(rows)} rows are identical, so the spread cannot be estimated."
                ) from None
            raise
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows to the estimate of earlier calls; they are not needed again afterwards.

        A call after `fit` starts over: a stream keeps other sums than `fit` does.
        Scales that come from data, such as a median distance, are fixed by the first call.  The
        errors come from second moments of (A_i, b_i) instead of a second reading; with more than
        20 statistics these are too many, and there are none.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,), on one scale over all calls.

        Returns
        -------
        self
        """
        if getattr(X, "shape", ())[:1] == (0,):
            return self  # readers of files in chunks end with such a block
        rows = self._rows(X, sample_weight)
        if self.refine is not None:
            raise InvalidInputError(
                "refine='mle' needs the rows again and does not work with partial_fit: use fit, or refine=None."
            )
        if self._stream is None:
            if self._fit is not None:  # of a call to fit, which this stream does not continue
                self._n_outside, self._fit = 0, None
            moments = self._first_moments(rows)
        else:
            asked, before = self._stream
            if asked != self._asked():
                raise InvalidInputError(
                    "The model, region, weight or exposure has changed since the first partial_fit: "
                    "start over with fit, or with a new estimator."
                )
            reference = None if before.features is None else before.features.reference
            more = accumulate(before.spec, rows, reference=reference)
            moments = before if more is None else before + more
        self._n_outside += rows.n_outside
        if moments is None:
            self._why_not_fitted = rows.describe_absence()
            return self
        self._stream, self._fit = (self._asked(), moments), None
        try:
            solution = self._solve(moments)
            features = moments.features
            self._publish(moments, solution, None if features is None else features.residual_squares(solution.theta))
        except EstimationError as error:
            # More rows may come: say why when somebody asks for the estimate.
            self._why_not_fitted = str(error)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus J on X with the plain geodesic weight: larger is better.

        The weight is the same whatever the fit used, so that weights and models can be compared.

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
        rows = self._rows(X, sample_weight)
        weight = Distance("geodesic") if rows.region.has_border else Constant()
        moments = accumulate(MomentSpec(fit.model, weight, self.log_exposure), rows)
        if moments is None or not moments.weight_sum > 0.0:
            raise InvalidInputError(rows.describe_absence())
        return -moments.objective(fit.theta)

    @property
    def status_(self) -> str:
        """How the estimate was found and what to be wary of."""
        caution = self.misfit_caution(self._fitted.theta)
        return super().status_ if caution is None else f"{super().status_} {caution}"

    def misfit_caution(self, theta: FloatArray) -> str | None:
        """A sentence if the rows could hardly come from the model at θ, in the form it was computed with."""
        if self._sample is None:
            return None
        return misfit_caution(self._fitted_moments.spec, Rows(self._sample, self.region), theta)

    @property
    def weight_(self) -> Weight:
        """The weight that was used, all its scales fixed."""
        return self._fitted_moments.spec.weight

    @property
    def objective_(self) -> float:
        """J(θ̂) = θ̂ᵀAθ̂ + 2bᵀθ̂."""
        return self._fitted_moments.objective(self._fitted.theta)

    @property
    def moments_(self) -> Moments:
        """(A, b, n), in the form of the model that ``moments_.spec.model`` names."""
        return self._fitted_moments

    @property
    def n_outside_(self) -> int:
        """Number of rows outside the region that were dropped."""
        self._fitted  # noqa: B018  raises before a fit
        return self._n_outside

    @property
    def _fitted_moments(self) -> Moments:
        self._fitted  # noqa: B018  raises before a fit
        return self._moments

    @property
    def goodness_of_fit_(self) -> None:
        """None: the single weights give as many equations as parameters."""
        self._fitted  # noqa: B018  raises before a fit
        return None

    def _asked(self) -> tuple[Any, ...]:
        return self.model, self.region, self.weight, self.log_exposure

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        check_region(check_model(self.model), self.region, self.log_exposure)
        check_flag(self.standard_errors, "standard_errors")
        if self.refine is not None:
            check_option(self.refine, ["mle"], "refine")
        return Rows(X, self.region, sample_weight, self.outside)

    def _spec(self, rows: Rows, sample: FloatArray) -> MomentSpec:
        """Fix what comes from a sample of the rows: scales of the weight, the origin of a flat model."""
        if len(sample) == 0:
            raise InvalidInputError(rows.describe_absence())
        self._extent = float(np.ptp(sample, axis=0).max())
        if self._extent > 0.0 and not 1e-100 < self._extent < 1e100:
            raise InvalidInputError(
                f"The rows extend over {self._extent:.3g}, beyond what can be squared: rescale the columns."
            )
        self.model.check_spread(sample)
        weight: Weight = as_weight(self.weight).resolve(rows.region, sample)
        return MomentSpec(self.model.centred(sample), weight, self.log_exposure)

    def _first_moments(self, rows: Rows) -> Moments | None:
        """The moments that a stream starts with, features about a first estimate included."""
        sample = rows.sample()
        if len(sample) == 0:
            return None
        spec = self._spec(rows, sample)
        p = spec.model.n_statistics(rows.region.manifold.embedding_dim)
        moments = accumulate(spec, rows)
        if moments is None or not self.standard_errors:
            return moments
        if p > MAX_FEATURE_STATISTICS:
            warnings.warn(
                f"partial_fit gives no standard errors for {p} statistics (at most {MAX_FEATURE_STATISTICS}); "
                "use fit on data that can be read twice.",
                TmsmWarning,
                stacklevel=3,
            )
            return moments
        try:
            reference = self._solve(moments).theta
        except EstimationError:
            reference = np.zeros(p)
        return accumulate(spec, rows, reference=reference)

    def _solve(self, moments: Moments) -> Solution:
        constraint = moments.spec.model.constraint(self.region.manifold.embedding_dim)
        require_rows(moments.n, constraint)
        if not moments.weight_sum > 0.0:
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        if moments.farthest <= BORDER_TOLERANCE * self._extent:
            raise EstimationError(
                f"All {moments.n} rows lie on the border (farthest: {moments.farthest:.3g} from it), where every "
                "weight is zero. Check that the region and the rows are in the same coordinates."
            )
        return solve(constraint, moments.A, moments.b)

    def _publish(self, moments: Moments, solution: Solution, squares: FloatArray | None) -> None:
        spec, D = moments.spec, self.region.manifold.embedding_dim
        covariance = None if squares is None else sandwich_covariance(solution, squares, moments.weight_sum)
        params = spec.model.parameters(solution.theta, D)
        objective = moments.objective(solution.theta)
        facts = [
            ("region", repr(self.region)),
            ("weight", spec.weight.label),
            ("objective", f"{objective:.6g}"),
            ("condition of A", f"{solution.condition:.3g}"),
        ]
        if spec.log_exposure is not None:
            facts.append(("exposure", "known, taken into account"))
        if self._n_outside:
            facts.append(("dropped", f"{self._n_outside:,} rows outside the region were dropped"))
        self._fit = Fit(
            title=f"ScoreMatching: {self.model!r}",
            model=spec.model,
            embedding_dim=D,
            params=params,
            theta=solution.theta,
            covariance=covariance,
            n_samples=moments.n,
            status=solution.status,
            facts=tuple(facts),
        )
        self._moments = moments

    def _refine(self, sums: StatisticSums | None, sample: FloatArray) -> None:
        """One Newton step from the estimate towards the maximum of the likelihood."""
        assert self._fit is not None
        assert sums is not None
        fit, model = self._fit, self._fit.model
        constraint = model.constraint(fit.embedding_dim)
        likelihood = likelihood_near(model, self.region, fit.theta, sums, sample, self.log_exposure)
        found = newton_step(likelihood, constraint.point(fit.theta), constraint.allows)
        theta = found.point.theta
        covariance = None
        if self.standard_errors:
            variance = 1.0 / sums.effective_n + likelihood.extra_variance
            covariance = inverse_information(likelihood(theta)[2], constraint.tangent(theta), 1.0 / variance)
        self._fit = replace(
            fit,
            params=model.parameters(theta, fit.embedding_dim),
            theta=theta,
            covariance=covariance,
            status="Score matching, then one Newton step towards the maximum of the likelihood under truncation."
            + (f" {constraint.describe(theta, True)}" if constraint.on_border(theta) else ""),
            facts=(*fit.facts, ("nodes", likelihood.description)),
        )
