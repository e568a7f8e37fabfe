"""Truncated manifold score matching: data → (A, b) → θ̂."""

from __future__ import annotations

import warnings
from typing import Any, Self

from tmsm.arrays import ArrayLike, FloatArray
from tmsm.errors import EstimationError, InvalidInputError, InvalidTypeError, TmsmWarning
from tmsm.estimators.base import Estimator, Fit, check_model
from tmsm.inference import sandwich_covariance
from tmsm.moments import (
    MAX_FEATURE_STATISTICS,
    LogExposure,
    Moments,
    MomentSpec,
    accumulate,
    residual_moments,
)
from tmsm.regions.base import Region
from tmsm.rows import Rows
from tmsm.solve import solve
from tmsm.weights import Distance, Weight, as_weight

__all__ = ["ScoreMatching"]


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
        `tmsm.weights.Weight`.  "auto" takes the best that the region offers.
    outside
        What to do with rows outside the region: "raise" or "drop" (`n_outside_` counts them).
    log_exposure
        Known log detection probability, up to a constant: a function of X (n, D) that returns its
        values (n,) and gradients (n, D).
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

    # What was asked for, what it was resolved to, and the sums so far; None outside a stream.
    _stream: tuple[tuple[Any, ...], MomentSpec, Moments] | None = None

    def __init__(
        self,
        model: Any,
        region: Any,
        weight: Any = "auto",
        *,
        outside: str = "raise",
        log_exposure: LogExposure | None = None,
        standard_errors: bool = True,
    ) -> None:
        self.model = model
        self.region = region
        self.weight = weight
        self.outside = outside
        self.log_exposure = log_exposure
        self.standard_errors = standard_errors

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
        self._fit, self._stream = None, None
        rows = self._rows(X, sample_weight)
        spec = self._spec(rows)
        try:
            moments = accumulate(spec, rows)
            self.n_outside_ = rows.n_outside
            fit = self._estimate(spec, moments, rows)
        except EstimationError as error:
            raise EstimationError(_explain(error, rows)) from None
        self._publish(spec, moments, fit)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows to the estimate; they are not needed again afterwards.

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
        rows = self._rows(X, sample_weight)
        p = self.model.n_statistics(rows.region.manifold.embedding_dim)
        features = bool(self.standard_errors) and p <= MAX_FEATURE_STATISTICS
        if self._stream is None:
            self.n_outside_ = 0
            self._fit = None
            if self.standard_errors and not features:
                warnings.warn(
                    f"partial_fit gives no standard errors for {p} statistics (at most {MAX_FEATURE_STATISTICS}); "
                    "use fit on data that can be read twice.",
                    TmsmWarning,
                    stacklevel=2,
                )
            spec = self._spec(rows)
            moments = accumulate(spec, rows, features=features)
        else:
            asked, spec, before = self._stream
            if asked != self._asked():
                raise InvalidInputError(
                    "The model, region, weight or exposure has changed since the first partial_fit: "
                    "start over with fit, or with a new estimator."
                )
            moments = before + accumulate(spec, rows, features=features)
        self._stream = self._asked(), spec, moments
        self.n_outside_ += rows.n_outside
        self._fit = None
        try:
            self._publish(spec, moments, self._estimate(spec, moments, None))
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
        weight = Distance("geodesic").resolve(rows.region, rows.sample())
        moments = accumulate(MomentSpec(fit.model, weight, self.log_exposure), rows)
        return -moments.objective(fit.theta)

    @property
    def goodness_of_fit_(self) -> None:
        """None: the single weights give as many equations as parameters."""
        self._fitted  # noqa: B018  raises before a fit
        return None

    def _asked(self) -> tuple[Any, ...]:
        return self.model, self.region, self.weight, self.log_exposure

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        model, region = check_model(self.model), self.region
        if not isinstance(region, Region):
            raise InvalidTypeError(
                f"region must be a region such as Cap(center, radius), or Everywhere(manifold); "
                f"got {type(region).__name__}."
            )
        model.check_manifold(region.manifold)
        if self.log_exposure is not None and not callable(self.log_exposure):
            raise InvalidTypeError("log_exposure must be a function of X that returns (value, gradient).")
        return Rows(X, region, sample_weight, self.outside)

    def _spec(self, rows: Rows) -> MomentSpec:
        weight: Weight = as_weight(self.weight).resolve(rows.region, rows.sample())
        return MomentSpec(self.model, weight, self.log_exposure)

    def _estimate(self, spec: MomentSpec, moments: Moments, rows: Rows | None) -> Fit:
        D = self.region.manifold.embedding_dim
        constraint = spec.model.constraint(D)
        if moments.n < constraint.n_free:
            raise EstimationError(
                f"{moments.n} rows cannot determine {constraint.n_free} parameters; "
                "use more rows, or fix what is known."
            )
        if not moments.weight_sum > 0.0:
            raise EstimationError("The rows inside the region all have sample_weight zero.")
        solution = solve(constraint, moments.A, moments.b)
        squares: FloatArray | None = None
        if self.standard_errors:
            squares = (
                residual_moments(spec, rows, solution.theta)
                if rows is not None
                else moments.residual_squares(solution.theta)
            )
        covariance = None
        if squares is not None:
            covariance = sandwich_covariance(solution, squares, moments.weight_sum)
        facts = [
            ("region", repr(self.region)),
            ("weight", spec.weight.label),
            ("objective", f"{moments.objective(solution.theta):.6g}"),
            ("condition of A", f"{solution.condition:.3g}"),
        ]
        if self.n_outside_:
            facts.append(("dropped", f"{self.n_outside_:,} rows outside the region were dropped"))
        return Fit(
            model=spec.model,
            embedding_dim=D,
            params=spec.model.parameters(solution.theta, D),
            theta=solution.theta,
            covariance=covariance,
            n_samples=moments.n,
            status=solution.status,
            facts=tuple(facts),
        )

    def _publish(self, spec: MomentSpec, moments: Moments, fit: Fit) -> None:
        self._fit = fit
        self.weight_ = spec.weight
        self.objective_ = moments.objective(fit.theta)
        self.moments_ = moments


def _explain(error: EstimationError, rows: Rows) -> str:
    """Name the cause of a failed fit where it can be seen in the rows."""
    if len(rows) > 1 and rows.all_identical():
        return f"All {len(rows)} rows are identical, so the spread cannot be estimated."
    return str(error)
