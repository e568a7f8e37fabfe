"""What all estimators share: the scikit-learn contract and the fitted attributes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Self

from tmsm.arrays import FloatArray
from tmsm.errors import EstimationError, InvalidInputError, InvalidTypeError, NotFittedError
from tmsm.estimators.summary import summary_table
from tmsm.inference import cautions, confidence_interval, direction_ellipse, standard_errors
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint
from tmsm.models.parameters import Parameters
from tmsm.regions.base import Region

__all__ = ["Estimator", "Fit", "check_model", "check_region", "require_rows"]


@dataclass(frozen=True)
class Fit:
    """Everything a fit found; the estimator shows it under names that end in an underscore.

    ``theta`` and ``covariance`` belong to ``model``, which may be a `centred` form of the user's.
    """

    title: str
    model: Model
    embedding_dim: int
    params: Parameters
    theta: FloatArray
    covariance: FloatArray | None
    n_samples: int
    status: str
    facts: tuple[tuple[str, str], ...] = ()


class Estimator:
    """Base of the estimators: the constructor stores, `fit` validates and returns self."""

    model: Any
    _fit: Fit | None = None
    _why_not_fitted: str = "call fit first."

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, as scikit-learn expects them."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments by name; an unknown name is an error."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InvalidInputError(f"{type(self).__name__} has no parameter {name!r}; it has {list(known)}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(),
            requires_fit=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._fit is not None

    def __repr__(self) -> str:
        signature = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if signature[name].default is inspect.Parameter.empty or value is not signature[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def _fitted(self) -> Fit:
        if self._fit is None:
            raise NotFittedError(f"This {type(self).__name__} has no estimate yet: {self._why_not_fitted}")
        return self._fit

    @property
    def params_(self) -> Parameters:
        """The estimate, by name."""
        return self._fitted.params

    @property
    def natural_params_(self) -> FloatArray:
        """θ̂ of the linear form, shape (p,)."""
        fit = self._fitted
        return fit.model.to_original(fit.embedding_dim) @ fit.theta

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of `natural_params_`, shape (p, p)."""
        fit = self._fitted
        back = fit.model.to_original(fit.embedding_dim)
        return back @ self._covariance @ back.T

    @property
    def _covariance(self) -> FloatArray:
        """Covariance of θ in the form that was computed with."""
        covariance = self._fitted.covariance
        if covariance is None:
            raise NotFittedError(
                "This fit has no standard errors: it was asked not to compute them, or it came from "
                "partial_fit with more statistics than their one-pass moments allow. "
                "Use fit with standard_errors=True."
            )
        return covariance

    @property
    def n_samples_(self) -> int:
        """Number of rows that the estimate used."""
        return self._fitted.n_samples

    @property
    def status_(self) -> str:
        """How the estimate was found and what to be wary of."""
        fit = self._fitted
        if fit.covariance is None:
            return fit.status
        return " ".join([fit.status, *cautions(fit.model, fit.theta, fit.covariance, fit.embedding_dim)])

    @property
    def std_errors_(self) -> Parameters:
        """Standard errors, in the same fields as `params_`; of a direction in radians."""
        fit = self._fitted
        return standard_errors(fit.model, fit.theta, self._covariance, fit.embedding_dim)

    def confidence_interval(self, level: float = 0.95) -> Parameters:
        """(low, high) for each field of `params_`; for a direction the half-axes of its ellipse.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        fit = self._fitted
        return confidence_interval(fit.model, fit.theta, self._covariance, fit.embedding_dim, level)

    def mean_direction_ellipse(self, level: float = 0.95) -> FloatArray:
        """Border of the confidence region of the mean direction on S², in order, shape (m, 3).

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        fit = self._fitted
        if "mean_direction" not in fit.params:
            raise InvalidInputError(f"This model has no mean direction; its parameters are {list(fit.params)}.")
        return direction_ellipse(fit.model, fit.theta, self._covariance, fit.embedding_dim, "mean_direction", level)

    def summary(self) -> str:
        """A table to print: estimates, standard errors, intervals, and how they came about."""
        fit = self._fitted
        errors = intervals = None
        if fit.covariance is not None:
            errors, intervals = self.std_errors_, self.confidence_interval()
        facts = [("rows", f"{fit.n_samples:,}"), *fit.facts, ("status", self.status_)]
        if fit.covariance is None:
            facts.append(("std. errors", "not computed"))
        return summary_table(fit.title, fit.model.fields, fit.params, errors, intervals, facts)


def check_model(model: Any) -> Model:
    """Return the model or say what is wanted."""
    if not isinstance(model, Model):
        raise InvalidTypeError(
            f"model must be a model such as VonMisesFisher(); got {type(model).__name__}"
            + (". Call the class to make one." if isinstance(model, type) else ".")
        )
    return model


def check_region(model: Model, region: Any, log_exposure: Any) -> None:
    """Raise unless the region is one, of the model's manifold, and the exposure a function."""
    if not isinstance(region, Region):
        raise InvalidTypeError(
            f"region must be a region such as Cap(center, radius), or Everywhere(manifold); "
            f"got {type(region).__name__}."
        )
    model.check_manifold(region.manifold)
    if log_exposure is not None and not callable(log_exposure):
        raise InvalidTypeError("log_exposure must be a function of X that returns (value, gradient).")


def require_rows(n: int, constraint: Constraint) -> None:
    """Raise where there are fewer rows than parameters."""
    if n < constraint.n_free:
        raise EstimationError(
            f"{n} row{'s' * (n != 1)} cannot determine {constraint.n_free} parameters; "
            "use more rows, or fix what is known."
        )
