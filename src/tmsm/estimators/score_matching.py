"""Truncated manifold score matching: data → (A, b) → θ̂."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray, IntArray
from tmsm.combination import combine
from tmsm.equations import EquationSpec, sum_equations
from tmsm.errors import EstimationError, InvalidInputError, TmsmWarning
from tmsm.estimators.base import Estimator, Fit, check_model, check_region, require_rows
from tmsm.estimators.diagnostics import weight_shares
from tmsm.estimators.summary import readable
from tmsm.groups import Groups
from tmsm.inference import inverse_information, moment_influence, sandwich_covariance
from tmsm.influence import (
    EquationInfluence,
    Influence,
    LikelihoodInfluence,
    MomentInfluence,
    error_df,
    small_sample_factor,
)
from tmsm.likelihood import Truncated
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint
from tmsm.moments import (
    MAX_FEATURE_STATISTICS,
    LogExposure,
    Moments,
    MomentSpec,
    accumulate,
    check_exposure,
    residual_squares,
    sum_statistics,
)
from tmsm.polynomials import LocalPolynomials
from tmsm.regions.base import Region
from tmsm.rows import BORDER_TOLERANCE, Rows
from tmsm.solve import Solution, solve
from tmsm.tabulated import ResampledRows, RowTable
from tmsm.validation import check_flag, check_option
from tmsm.weights import ROWS_PER_SQUARE, Auto, Combined, Constant, Weight, as_weight, plain_weight

__all__ = ["ScoreMatching"]

# Below such a p-value several weights do not estimate the same thing.
_CONTRADICTION = 1e-4


class ScoreMatching(Estimator):
    """Fit a model to data that were only seen inside a region, without its normalising constant.

    Parameters
    ----------
    model
        What to fit, such as `VonMisesFisher()`.
    region
        Where data could be seen, such as `Cap(center, radius)`.
    weight
        "auto", "geodesic", "projected", "chordal", "saturating", "normal", "componentwise", "combined"
        or a `tmsm.weights.Weight`.  "auto" takes the best that the region offers: normal-only where the
        border is smooth (caps, hemispheres, balls, half-spaces), componentwise for boxes and bands,
        saturating for everything else, the last two combined from some hundred rows on; constant where
        there is no border.
    outside
        What to do with rows outside the region: "raise" or "drop" (`n_outside_` counts them).
    log_exposure
        Known log detection probability, up to a constant: a function of X (n, D) that returns its
        values (n,) and gradients (n, D), of which the tangent part counts.  The estimate uses the
        gradients; the values must be finite.
    refine
        "mle" takes one Newton step from the estimate towards the maximum of the likelihood under
        truncation, which is as accurate as that maximum to first order, and goes on to the maximum where
        the step does not end within a tenth of a standard error of it; `status_` says which.  It needs
        nodes inside the region, see `TruncatedMLE`.  None, the default, needs no integral.
    standard_errors
        Whether `fit` reads the rows a second time for the covariance.

    Attributes
    ----------
    params_ : Parameters
        The estimate by name; `natural_params_` is the same as θ.
    std_errors_ : Parameters
        Standard errors; `covariance_` is that of θ.
    objective_ : float
        J(θ̂) = θ̂ᵀAθ̂ + 2bᵀθ̂; of combined weights (Aθ̂ + b)ᵀ Ω⁻¹ (Aθ̂ + b).
    goodness_of_fit_ : GoodnessOfFit or None
        Whether the rows could come from the model: statistic, df, p_value.
    information_criterion_ : float
        To compare models by: lower is better.
    weight_ : Weight
        The weight that was used, all its scales fixed.
    moments_ : Moments
        (A, b, n); those of two parts of a data set can be added.
    status_ : str
        How the estimate was found and what to be wary of.
    n_samples_, n_outside_ : int
        Rows that were used, and rows outside the region that were dropped.

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
    # At most 65,536 rows to judge the estimate by; of a stream those of its first block.
    _kept: Rows
    _kept_share: float
    # None where several weights are combined.
    _moments: Moments | None = None
    _weight: Weight
    # What each row contributes, where resamples of them are fitted.
    _table: RowTable | None = None

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

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: Any = None) -> Self:
        """Estimate the parameters; what an earlier call found is forgotten.

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
            storm: errors, intervals and tests then take groups for independent, not rows.  The estimate of a single
            weight is the same; several are combined by what differs between groups, and as many as groups carry.

        Returns
        -------
        self
        """
        self._fit, self._stream, self._n_outside = None, None, 0
        self._why_not_fitted = "the last call to fit failed."
        rows = self._rows(X, sample_weight)
        if groups is not None:
            rows = rows.with_groups(Groups.of(groups, len(rows)))
        sample = rows.grouped_sample()
        spec = self._spec(rows, sample)
        try:
            if isinstance(spec.weight, Combined):
                self._fit_combined(spec, spec.weight, rows, sample[0])
            else:
                self._fit_single(spec, rows)
            if self.refine is not None:
                self._refine(rows, sample[0])
        except EstimationError:
            if len(rows) > 1 and rows.all_identical():
                raise EstimationError(
                    f"All {len(rows)} rows are identical, so the spread cannot be estimated."
                ) from None
            raise
        self._cluster(rows, groups)
        return self

    def _fit_single(self, spec: MomentSpec, rows: Rows) -> None:
        moments = accumulate(spec, rows)
        assert moments is not None, "the sample has rows inside"
        self._n_outside = rows.n_outside
        solution = self._solve(moments)
        squares = residual_squares(spec, rows, solution.theta) if self.standard_errors else None
        self._publish(moments, solution, squares)

    def _fit_combined(self, spec: MomentSpec, weight: Combined, rows: Rows, sample: FloatArray) -> None:
        equations = self._equation_spec(spec, weight, rows, sample)
        sums = sum_equations(equations, rows)
        assert sums is not None, "the sample has rows inside"
        self._n_outside = rows.n_outside
        constraint = self._check_sums(spec.model, sums.n, sums.weight_sum, sums.farthest)
        chosen = isinstance(as_weight(self.weight), Auto)
        try:
            found = combine(equations, rows, constraint, sums, sample)
        except (np.linalg.LinAlgError, EstimationError) as error:
            if chosen:  # many rows, but few distinct ones: a single weight may do
                self._fit_single(replace(spec, weight=Auto().resolve(rows.region, sample)), rows)
                return
            few = (
                ""
                if rows.groups is None
                else f"The number of groups, {rows.groups.count:,}, may be too small to weigh them by. "
            )
            raise EstimationError(
                f"The combined equations do not determine the estimate: {error} {few}Or use a single weight."
            ) from error
        if found.p_value < _CONTRADICTION and chosen:
            self._fit_single(replace(spec, weight=Auto().resolve(rows.region, sample)), rows)
            assert self._fit is not None
            note = "Several weights contradict each other under this model, so that a single one was used."
            self._fit = replace(self._fit, status=f"{self._fit.status} {note}")
            return
        self._moments, self._weight, self._objective = None, weight, found.criterion
        influence = EquationInfluence(equations, found.solution.theta, found.influence)
        facts = [("equations", f"{found.n_equations} for {constraint.n_free} parameters")]
        covariance = found.covariance if self.standard_errors else None
        solution = found.solution
        n, what = self._n_independent(rows), "rows" if rows.groups is None else "groups"
        if ROWS_PER_SQUARE * found.n_equations**2 > n:
            caution = (
                f"{n:,.0f} {what} are few for {found.n_equations} equations: the errors may be understated. "
                "Use a single weight ('auto' does), or the bootstrap."
            )
            solution = replace(solution, status=f"{solution.status} {caution}")
        if found.p_value < _CONTRADICTION:
            caution = (
                "The weights contradict each other under this model, and the errors assume that it holds: "
                "use the bootstrap, or a single weight."
            )
            solution = replace(solution, status=f"{solution.status} {caution}")
        self._show(spec, solution, covariance, sums.n, n, influence, found.slope, facts)

    def _equation_spec(self, spec: MomentSpec, weight: Combined, rows: Rows, sample: FloatArray) -> EquationSpec:
        manifold = rows.region.manifold
        polynomials = LocalPolynomials.of(manifold, sample)
        return EquationSpec(spec.model, weight, weight.parts(manifold), polynomials, spec.log_exposure)

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
        rows = self._as_fitted()._rows(X, sample_weight)
        moments = accumulate(MomentSpec(fit.model, plain_weight(rows.region), fit.log_exposure), rows)
        if moments is None or not moments.weight_sum > 0.0:
            raise InvalidInputError(rows.describe_absence())
        return -moments.objective(fit.theta)

    @property
    def weight_(self) -> Weight:
        """The weight that was used, all its scales fixed."""
        self._fitted  # noqa: B018  raises before a fit
        return self._weight

    @property
    def objective_(self) -> float:
        """J(θ̂) = θ̂ᵀAθ̂ + 2bᵀθ̂; of combined weights (Aθ̂ + b)ᵀ Ω⁻¹ (Aθ̂ + b)."""
        fit = self._fitted
        return self._objective if self._moments is None else self._moments.objective(fit.theta)

    @property
    def moments_(self) -> Moments:
        """(A, b, n), in the form of the model that ``moments_.spec.model`` names."""
        self._fitted  # noqa: B018  raises before a fit
        if self._moments is None:
            raise InvalidInputError(
                "Combined weights have no moments to add: their quadratic form depends on all rows. "
                "Fit with a single weight, such as 'saturating', to add parts of a data set."
            )
        return self._moments

    @property
    def n_outside_(self) -> int:
        """Number of rows outside the region that were dropped."""
        self._fitted  # noqa: B018  raises before a fit
        return self._n_outside

    def _asked(self) -> tuple[Any, ...]:
        return self.model, self.region, self.weight, self.log_exposure

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        check_region(check_model(self.model), self.region, self.log_exposure)
        check_flag(self.standard_errors, "standard_errors")
        if self.refine is not None:
            check_option(self.refine, ["mle"], "refine")
        return X if isinstance(X, ResampledRows) else Rows(X, self.region, sample_weight, self.outside)

    def _for_resampling(self, rows: Rows | None) -> ScoreMatching:
        fit, weight = self._fitted, self.weight_
        # All resamples are fitted in the form that suits the rows of the fit.
        estimator = ScoreMatching(**{**fit.asked, "model": fit.model, "weight": weight, "standard_errors": False})
        if rows is not None and isinstance(weight, Combined):
            spec = MomentSpec(fit.model, weight, fit.log_exposure)
            equations = self._equation_spec(spec, weight, rows, rows.sample())
            estimator._table = RowTable.of(equations, rows, fit.theta)
        return estimator

    def _fit_chosen(self, X: FloatArray, weight: FloatArray | None, chosen: IntArray, groups: IntArray | None) -> Self:
        if self._table is None:
            return super()._fit_chosen(X, weight, chosen, groups)
        return self.fit(ResampledRows(self._table, chosen))

    def _spec(
        self, rows: Rows, weighted: tuple[FloatArray, FloatArray | None, Groups | None], *, streamed: bool = False
    ) -> MomentSpec:
        """Fix what comes from a sample of the rows: scales of the weight, the origin of a flat model."""
        sample = weighted[0]
        if len(sample) == 0:
            raise InvalidInputError(rows.describe_absence())
        self._kept, self._kept_share = rows.kept(weighted), 1.0 / rows.sample_stride
        self._extent = float(np.ptp(sample, axis=0).max())
        if self._extent > 0.0 and not 1e-100 < self._extent < 1e100:
            raise InvalidInputError(
                f"The rows extend over {self._extent:.3g}, beyond what can be squared: rescale the columns."
            )
        self.model.check_spread(sample)
        if self.log_exposure is not None:
            check_exposure(self.log_exposure, rows.region.manifold, sample)
        model = self.model.centred(sample)
        return MomentSpec(model, self._resolved_weight(rows, sample, streamed), self.log_exposure)

    def _resolved_weight(self, rows: Rows, sample: FloatArray, streamed: bool) -> Weight:
        region, weight = rows.region, as_weight(self.weight)
        n_free = self.model.constraint(region.manifold.embedding_dim).n_free
        n_rows = self._n_independent(rows)
        if isinstance(weight, Auto):
            weight = Auto(combine=weight.combine and not streamed).choose(region, n_free, n_rows)
        if streamed and isinstance(weight, Combined):
            raise InvalidInputError(
                "Combined weights need the rows again and do not work with partial_fit: use fit, or 'saturating'."
            )
        resolved = weight.resolve(region, sample)
        if isinstance(resolved, Combined):
            return resolved.with_level(region.manifold, n_free, n_rows)
        return resolved

    def _n_independent(self, rows: Rows) -> float:
        """How many rows, or groups of them, there are to weigh equations by."""
        return self._kept.effective_number / (self._kept_share if rows.groups is None else 1.0)

    def _first_moments(self, rows: Rows) -> Moments | None:
        """The moments that a stream starts with, features about a first estimate included."""
        sample = rows.grouped_sample()
        if len(sample[0]) == 0:
            return None
        spec = self._spec(rows, sample, streamed=True)
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
        constraint = self._check_sums(moments.spec.model, moments.n, moments.weight_sum, moments.farthest)
        return solve(constraint, moments.A, moments.b)

    def _check_sums(self, model: Model, n: int, weight_sum: float, farthest: float) -> Constraint:
        """Raise where the rows cannot carry an estimate; the set in which θ is sought."""
        constraint = model.constraint(self.region.manifold.embedding_dim)
        require_rows(n, constraint)
        if not weight_sum > 0.0:
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        if farthest <= BORDER_TOLERANCE * self._extent:
            raise EstimationError(
                f"All {n} rows lie on the border (farthest: {farthest:.3g} from it), where every "
                "weight is zero. Check that the region and the rows are in the same coordinates."
            )
        return constraint

    def _publish(self, moments: Moments, solution: Solution, squares: FloatArray | None) -> None:
        spec = moments.spec
        covariance = None
        if squares is not None:
            factor = small_sample_factor(moments.effective_n, solution.tangent.shape[1])
            covariance = factor * sandwich_covariance(solution, squares, moments.weight_sum)
        self._moments, self._weight = moments, spec.weight
        influence = MomentInfluence(spec, solution.theta, moment_influence(solution))
        facts = [("objective", f"{moments.objective(solution.theta):.6g}")]
        self._show(spec, solution, covariance, moments.n, moments.effective_n, influence, moments.A, facts)

    def _show(
        self,
        spec: MomentSpec,
        solution: Solution,
        covariance: FloatArray | None,
        n: int,
        effective: float,
        influence: Influence,
        slope: FloatArray,
        facts: list[tuple[str, str]],
    ) -> None:
        D = self.region.manifold.embedding_dim
        params = spec.model.parameters(solution.theta, D)
        facts = [
            ("region", repr(self.region)),
            ("weight", spec.weight.label),
            *facts,
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
            n_samples=n,
            status=solution.status,
            influence=influence,
            slope=slope,
            kept=self._kept,
            method=type(spec.weight).__name__.lower(),
            log_exposure=spec.log_exposure,
            complete=self._stream is None,
            kept_share=self._kept_share,
            error_df=error_df(effective, solution.tangent.shape[1]),
            facts=tuple(facts),
            asked=self.get_params(),
        )

    def _diagnostics(self) -> list[tuple[str, str]]:
        fit, weight = self._fitted, self.weight_
        single = weight.base if isinstance(weight, Combined) else weight
        if single is None or isinstance(single, Constant) or not fit.complete:
            return super()._diagnostics()
        share, effective = weight_shares(MomentSpec(fit.model, single), fit.kept)
        effective /= fit.kept_share
        return [
            ("nearest tenth", f"{readable(100.0 * share)} % of the weight on the 10 % of rows nearest to the border"),
            ("effective rows", f"{effective:,.0f} by that weight"),
            *super()._diagnostics(),
        ]

    def _refine(self, rows: Rows, sample: FloatArray) -> None:
        """One Newton step from the estimate towards the maximum of the likelihood; more where one is not enough."""
        assert self._fit is not None
        fit, model = self._fit, self._fit.model
        sums = sum_statistics(model, rows)
        assert sums is not None, "the sample has rows inside"
        constraint = model.constraint(fit.embedding_dim)
        problem = Truncated(model, self.region, sums, sample, self.log_exposure)
        found = problem.maximum(fit.theta, one_step=True)
        theta, likelihood = found.theta, found.likelihood
        _, slope, information = likelihood(theta)
        per_row = inverse_information(information, constraint.tangent(theta), 1.0)
        influence = LikelihoodInfluence(model, slope + sums.mean, per_row)
        covariance = None
        if self.standard_errors:
            covariance = influence.covariance(rows, sums) + per_row * likelihood.extra_variance
        self._fit = replace(
            fit,
            params=model.parameters(theta, fit.embedding_dim),
            theta=theta,
            covariance=covariance,
            error_df=None,
            influence=influence,
            method=f"{fit.method}, one step" if found.one_step else f"{fit.method}, likelihood",
            status=(
                "Score matching, then one Newton step towards the maximum of the likelihood under truncation."
                if found.one_step
                else "Score matching, then Newton's method to the maximum of the likelihood under truncation: "
                "from this start one step was not enough."
            )
            + (f" {constraint.describe(theta, True)}" if constraint.on_border(theta) else ""),
            facts=(*fit.facts, ("nodes", likelihood.description)),
            likelihood=likelihood,
        )
