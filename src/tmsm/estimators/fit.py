"""What a fit found, in one immutable record, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.errors import InvalidInputError, NotFittedError
from tmsm.estimators.summary import readable
from tmsm.groups import Groups
from tmsm.inference import (
    ConfidenceRegion,
    Discrepancy,
    LikelihoodDiscrepancy,
    QuadraticDiscrepancy,
    check_level,
    confidence_interval,
    critical_square,
    profile_interval,
    tangent_projection,
)
from tmsm.influence import Influence, MomentInfluence
from tmsm.models.base import Model
from tmsm.models.parameters import Field, Parameters
from tmsm.moments import LogExposure
from tmsm.newton import Objective
from tmsm.rows import Rows

__all__ = ["Fit", "Method"]

Method = Literal["profile", "wald"]

# Where the delta method's reach differs by more than this factor from the profile's, its ellipse is not local.
_LOCAL = 1.25


@dataclass(frozen=True)
class Fit:
    """Everything a fit found; the estimator shows it under names that end in an underscore.

    ``theta`` and ``covariance`` belong to ``model``, which may be a `centred` form of the user's.  ``kept`` are at most
    65,536 of the rows, by which the estimate can be judged later, with the groups that they come in, and ``kept_share``
    is their share of all.  ``error_df`` are the degrees of freedom of the covariance; None stands for normal quantiles.
    ``slope`` is the derivative of the equations that the estimate solves, (p, p) or (k, p).  ``likelihood`` is the
    mean of −log p over the rows as a function of θ, up to a constant, where the estimate is its minimum.
    ``asked`` are the arguments of the constructor at the time of the fit.
    """

    title: str
    model: Model
    embedding_dim: int
    params: Parameters
    theta: FloatArray
    covariance: FloatArray | None
    n_samples: int
    status: str
    influence: Influence
    kept: Rows
    method: str = ""
    log_exposure: LogExposure | None = None
    complete: bool = True
    kept_share: float = 1.0
    n_groups: int | None = None
    error_df: float | None = None
    facts: tuple[tuple[str, str], ...] = ()
    slope: FloatArray | None = None
    likelihood: Objective | None = None
    asked: Mapping[str, Any] = dataclass_field(default_factory=dict)

    @property
    def groups(self) -> Groups | None:
        """Which group each of the kept rows belongs to; None where they stand alone."""
        return self.kept.groups

    @property
    def known_covariance(self) -> FloatArray:
        """The covariance, or an error that says why there is none."""
        if self.covariance is None:
            raise NotFittedError(
                "This fit has no standard errors: it was asked not to compute them, or it came from "
                "partial_fit with more statistics than their one-pass moments allow. "
                "Use fit with standard_errors=True."
            )
        return self.covariance

    @property
    def centre(self) -> Field | None:
        """The parameter that says where the density is highest, where the family has one."""
        return next((field for field in self.model.fields if field.is_centre), None)

    @cached_property
    def discrepancy(self) -> Discrepancy:
        """How badly another θ fits, in squared standard errors."""
        covariance, constraint = self.known_covariance, self.model.constraint(self.embedding_dim)
        tangent = constraint.tangent(self.theta)
        if self.likelihood is not None:
            return LikelihoodDiscrepancy.of(self.theta, covariance, tangent, self.likelihood)
        projection = None
        if self.slope is not None and tangent.shape[1] < len(tangent):
            inverse = None
            if isinstance(self.influence, MomentInfluence):
                inverse = -tangent.T @ self.influence.matrix @ tangent
            projection = tangent_projection(self.slope, tangent, inverse)
        return QuadraticDiscrepancy.of(self.theta, covariance, tangent, projection)

    def region(self, name: str, level: float) -> ConfidenceRegion:
        """The confidence region of a centre; kept for the next time."""
        level = check_level(level)
        if (name, level) not in self._regions:
            field = next((field for field in self.model.fields if field.name == name), None)
            if field is None:
                names = [field.name for field in self.model.fields]
                raise InvalidInputError(f"This model has no parameter {name!r}; its parameters are {names}.")
            if not field.is_centre:
                raise InvalidInputError(
                    f"There is a confidence region of the centre only, not of the {name.replace('_', ' ')}: "
                    "confidence_interval() gives its interval."
                )
            self._regions[name, level] = ConfidenceRegion.of(
                self.discrepancy, self.model, field, self.kept.region.manifold, level, self.error_df
            )
        return self._regions[name, level]

    def intervals(self, level: float, method: Method | None) -> Parameters:
        """(low, high) of each field, of a direction how far its region reaches; kept for the next time."""
        level = check_level(level)
        if (level, method) not in self._intervals:
            wald = confidence_interval(
                self.model, self.theta, self.known_covariance, self.embedding_dim, level, self.error_df
            )
            self._intervals[level, method] = wald
            if method != "wald":
                profiled = {field.name: self._profiled(field, level, wald, method) for field in self.model.fields}
                self._intervals[level, method] = Parameters(**profiled)
        return self._intervals[level, method]

    def _profiled(self, field: Field, level: float, wald: Parameters, method: Method | None) -> Any:
        """An interval by profiling; the delta method's where the family has no profile of the field."""
        if field.kind == "direction":
            if not field.is_centre or (method is None and self.ellipse_is_local(field.name, level)):
                return wald[field.name]
            return self.region(field.name, level).half_axes

        def critical(k: int) -> float:
            return critical_square(k, level, self.error_df)

        found = profile_interval(self.discrepancy, self.model, field, self.embedding_dim, critical)
        if found is None:
            return wald[field.name]
        return tuple(float(end) if np.ndim(end) == 0 else end for end in found)

    @cached_property
    def _regions(self) -> dict[tuple[str, float], ConfidenceRegion]:
        return {}

    @cached_property
    def _intervals(self) -> dict[tuple[float, Method | None], Parameters]:
        return {}

    def ellipse_is_local(self, name: str, level: float) -> bool:
        """Whether the delta method's ellipse of a direction reaches about as far as its confidence region."""
        wald = np.asarray(self.intervals(level, "wald")[name])
        ratio = self.region(name, level).half_axes / np.maximum(wald, 1e-300)
        return bool((ratio < _LOCAL).all() and (ratio > 1.0 / _LOCAL).all())

    @property
    def heading(self) -> str:
        """The title, and after it what is to be known before any number is read."""
        return self.title if self.undetermined is None else f"{self.title}. No centre is in reach: see the status."

    def skewed(self, level: float = 0.95) -> str | None:
        """A sentence where the region of a direction is far from an ellipse round its estimate, else None."""
        field = self.centre
        if field is None or field.kind != "direction" or self.covariance is None or self.undetermined is not None:
            return None
        if self.ellipse_is_local(field.name, level):
            return None
        reach = np.degrees(self.region(field.name, level).half_axes[0])
        return (
            f"The error of the {field.name.replace('_', ' ')} is larger to one side: its {100 * level:g} % confidence "
            f"region reaches up to {readable(reach)}° from the estimate."
        )

    @cached_property
    def undetermined(self) -> str | None:
        """A sentence where no centre is in reach of the rows; None where there is one, or the family has none."""
        field = self.centre
        if field is None:
            return None
        name = field.name.replace("_", " ")
        if self.covariance is not None and self._may_be_flat(field):
            known = getattr(self.asked["model"], "concentration", None) is not None
            flat = "" if known else "inside this region the density may as well be flat, and "
            remedies = ["a larger region"] if self.kept.region.has_border else []
            remedies.append("more rows" if self.n_groups is None else "more groups")
            if field.kind == "direction" and not known:
                remedies.append("a known concentration")
            return (
                f"No centre is in reach: {flat}the rows reject no {name} at 95 %. Do not use the estimated {name}. "
                f"What helps: {', '.join(remedies)}."
            )
        if field.kind == "direction" and not field.is_axis and self._is_lowest(field):
            return (
                "No centre is in reach: the density is lowest among the rows and rises away from them. The estimated "
                f"{name} is more than a right angle away from every row."
            )
        return None

    def _may_be_flat(self, field: Field) -> bool:
        if field.kind == "direction":
            return self.region(field.name, 0.95).everywhere
        return not self.region(field.name, 0.95).bounded

    def _is_lowest(self, field: Field) -> bool:
        region = self.kept.region
        return bool(region.has_border and (self.kept.sample() @ np.asarray(self.params[field.name])).max() < 0.0)
