"""Natural parameters that depend on covariates: coefficients with errors, and the parameters at given values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tmsm.data.covariates import Standard, read_columns
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, NotFittedError
from tmsm.foundation.frames import native_frame
from tmsm.inference.delta import confidence_interval, standard_errors
from tmsm.matching.covariates import row_thetas
from tmsm.models.base import Model
from tmsm.models.parameters import Parameters

__all__ = ["PredictedParameters", "Regression"]

# Beyond so large a share of the range of the fit, a prediction is an extrapolation that is to be said.
_FAR = 0.1


@final
@dataclass(frozen=True)
class Regression:
    """θ(z) = B (1, z) of a fit with covariates.

    Attributes
    ----------
    model
        The family in the form that was computed with.
    names
        Of the covariates.
    standard
        Their mean and spread over the rows of the fit, and their range.
    B
        Coefficients of that form on centred and scaled covariates, shape (p, 1 + q).
    covariance
        Of the entries of B, row after row, shape (p (1 + q), p (1 + q)); None where it was not computed.
    radius
        The length of θ where it is known; then θ(z) is B (1, z), made so long.
    """

    model: Model
    names: tuple[str, ...]
    standard: Standard
    B: FloatArray
    covariance: FloatArray | None
    radius: float | None = None

    @property
    def n_columns(self) -> int:
        """1 + q."""
        return int(self.B.shape[1])

    @property
    def description(self) -> str:
        """Names with means and ranges, for a summary."""
        one = self.standard
        return "; ".join(
            f"{name} from {low:.6g} to {high:.6g}, mean {mean:.6g}"
            for name, low, high, mean in zip(self.names, one.low, one.high, one.center, strict=True)
        )

    @property
    def at_mean(self) -> FloatArray:
        """(1, z) at the mean of z, centred and scaled, shape (1 + q,)."""
        first: FloatArray = np.eye(self.n_columns)[0]
        return first

    @property
    def known_covariance(self) -> FloatArray:
        """The covariance, or an error that says why there is none."""
        if self.covariance is None:
            raise NotFittedError("This fit has no standard errors: use fit with standard_errors=True.")
        return self.covariance

    @property
    def coefficients(self) -> FloatArray:
        """Those of the family as it was written, on the covariates as they were given, shape (p, 1 + q)."""
        found: FloatArray = self.model.to_original() @ self.B @ self.standard.to_units
        return found

    @property
    def coefficient_covariance(self) -> FloatArray:
        """Covariance of their entries, row after row, shape (p (1 + q), p (1 + q))."""
        change = np.asarray(np.kron(self.model.to_original(), self.standard.to_units.T), dtype=np.float64)
        found = change @ self.known_covariance @ change.T
        return 0.5 * (found + found.T)

    @property
    def coefficient_errors(self) -> FloatArray:
        """Standard errors of the coefficients, shape (p, 1 + q)."""
        errors: FloatArray = np.sqrt(np.maximum(np.diag(self.coefficient_covariance), 0.0))
        return errors.reshape(self.B.shape)

    def theta(self, design: FloatArray) -> FloatArray:
        """θ at (1, z), z centred and scaled, shape (p,)."""
        found: FloatArray = row_thetas(self.B, design[None, :], self.radius)[0]
        return found

    def theta_covariance(self, design: FloatArray) -> FloatArray | None:
        """Its covariance, shape (p, p)."""
        if self.covariance is None:
            return None
        along: FloatArray = self.slopes(design[None, :])[0]
        return along @ self.covariance @ along.T

    def slopes(self, design: FloatArray) -> FloatArray:
        """∂θ/∂B at rows of (1, z), z centred and scaled, shape (n, p, p (1 + q))."""
        n, p = len(design), len(self.B)
        out: FloatArray = (np.eye(p)[None, :, :, None] * design[:, None, None, :]).reshape(n, p, -1)
        if self.radius is None:
            return out
        # ∂θ/∂v = (κ/|v|)(I − vvᵀ/|v|²) for v = B (1, z).
        v = design @ self.B.T
        length = np.linalg.norm(v, axis=1)[:, None, None]
        unit = v[:, :, None] / length
        return np.asarray(self.radius / length * (out - unit * (unit.transpose(0, 2, 1) @ out)))

    def with_covariance(self, covariance: FloatArray) -> Regression:
        """The same with another covariance."""
        return replace(self, covariance=covariance)

    def predict(self, Z: Any, error_df: float | None) -> PredictedParameters:
        """The named parameters at rows of covariates."""
        values, _ = read_columns(Z, "Z", self.names)
        bad = ~np.isfinite(values).all(axis=1)
        if bad.any():
            raise InvalidInputError(
                f"Z has {int(bad.sum()):,} of {len(values):,} rows with missing or infinite values (first: row "
                f"{int(np.argmax(bad))}): drop them."
            )
        if len(values) == 0:
            raise InvalidInputError("Z has no rows.")
        design = self.standard.design(values)
        found = []
        for k, row in enumerate(design):
            try:
                found.append(self.model.parameters(self.theta(row)))
            except EstimationError as error:
                z = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.names, values[k], strict=True))
                raise EstimationError(f"The family has no density at row {k} of Z ({z}): {error}") from None
        return PredictedParameters(self, values, design, tuple(found), error_df)


@final
@dataclass(frozen=True, repr=False)
class PredictedParameters:
    """The parameters of a fit at given values of its covariates; `predict_params` of an estimator makes it.

    The names of `params_` are attributes. Each has one more axis in front, with an entry for each value of the
    covariates. An index gives the parameters at one value.

    Attributes
    ----------
    regression
        The coefficients of the fit.
    values
        The covariates, shape (m, q).
    design
        The covariates in the units of the regression, after a column of ones, shape (m, 1 + q).
    rows
        The parameters at each value.
    error_df
        Degrees of freedom of the errors; None for the normal distribution.
    """

    regression: Regression
    values: FloatArray
    design: FloatArray
    rows: tuple[Parameters, ...]
    error_df: float | None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Parameters:
        return self.rows[index]

    def __iter__(self) -> Iterator[Parameters]:
        return iter(self.rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "rows":
            raise AttributeError(name)
        if hasattr(type(self), name):  # an error that there are none is an AttributeError, too
            _ = self.regression.known_covariance
        if name not in self.rows[0]:
            raise AttributeError(f"There is no parameter {name!r}; there are {list(self.rows[0])}.")
        return np.array([row[name] for row in self.rows])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.rows[0]]

    def __repr__(self) -> str:
        names = ", ".join(self.rows[0])
        return f"<Parameters at {len(self)} value{'s' * (len(self) != 1)} of the covariates: {names}>"

    @property
    def params(self) -> Parameters:
        """All of them stacked, by name."""
        return Parameters(**{name: getattr(self, name) for name in self.rows[0]})

    @property
    def natural_params(self) -> FloatArray:
        """θ(z) of the family as it was written, shape (m, p)."""
        thetas = row_thetas(self.regression.B, self.design, self.regression.radius)
        found: FloatArray = thetas @ self.regression.model.to_original().T
        return found

    @property
    def std_errors(self) -> Parameters:
        """Standard errors, stacked in the same fields; of a direction in radians."""
        found = [standard_errors(self.regression.model, *self._at(row)) for row in self.design]
        return Parameters(**{name: np.array([one[name] for one in found]) for name in found[0]})

    def confidence_interval(self, level: float = 0.95) -> Parameters:
        """(low, high) for each parameter, both stacked; for a direction the half-axes of its ellipse, shape (m, D − 1).

        They come from the delta method, for each value separately. A band for all values together would be
        wider.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        model = self.regression.model
        found = [confidence_interval(model, *self._at(row), level, self.error_df) for row in self.design]
        stacked: dict[str, Any] = {}
        for field in model.fields:
            values = [one[field.name] for one in found]
            if field.kind == "direction":
                stacked[field.name] = np.array(values)
            else:
                stacked[field.name] = tuple(np.array([value[k] for value in values]) for k in range(2))
        return Parameters(**stacked)

    @property
    def status(self) -> str:
        """A sentence where values lie outside the range of the fit; else empty."""
        standard, names = self.regression.standard, self.regression.names
        far = standard.beyond(self.values)
        count = int(np.count_nonzero(far > _FAR))
        if count == 0:
            return ""
        worst = int(np.argmax(far))
        away = np.maximum(self.values[worst] - standard.high, standard.low - self.values[worst])
        k = int(np.argmax(away / (standard.high - standard.low)))
        return (
            f"{count:,} of {len(self):,} rows of Z lie outside the range of the fit (farthest: row {worst}, "
            f"{names[k]} = {self.values[worst, k]:.6g}, and the fit has seen {standard.low[k]:.6g} to "
            f"{standard.high[k]:.6g}). There the predictions assume that θ is linear in {names[k]}, and their errors "
            "do not say whether it is."
        )

    def to_frame(self, backend: str = "pandas", *, level: float = 0.95) -> Any:
        """As a data frame with a row for each value and number.

        Its columns are the covariates, then parameter, index, estimate, std_error, low and high.  A direction has rows
        for its coordinates and one with the index "angle": how far it may be off, in degrees.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow".
        level
            Confidence level of the intervals.
        """
        names = (*self.regression.names, "parameter", "index", "estimate", "std_error", "low", "high")
        return native_frame(names, self._lines(level), backend, words=("parameter", "index"))

    def _at(self, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        covariance = self.regression.theta_covariance(row)
        if covariance is None:
            covariance = self.regression.known_covariance  # which says why there is none
        return self.regression.theta(row), covariance

    def _lines(self, level: float) -> list[tuple[Any, ...]]:
        model, known = self.regression.model, self.regression.covariance is not None
        lines: list[tuple[Any, ...]] = []
        for z, row, params in zip(self.values.tolist(), self.design, self.rows, strict=True):
            errors = standard_errors(model, *self._at(row)) if known else None
            intervals = confidence_interval(model, *self._at(row), level, self.error_df) if known else None
            for field in model.fields:
                value = np.asarray(params[field.name], dtype=np.float64)
                error = None if errors is None else errors[field.name]
                interval = None if intervals is None else intervals[field.name]
                if field.kind == "direction":
                    labels = "xyz" if value.size <= 3 else map(str, range(value.size))
                    for label, number in zip(labels, value.tolist(), strict=False):
                        lines.append((*z, field.name, label, number, None, None, None))
                    spread = None if error is None else float(np.degrees(error))
                    reach = None if interval is None else float(np.degrees(interval[0]))
                    low = None if reach is None else 0.0
                    lines.append((*z, field.name, "angle", 0.0, spread, low, reach))
                    continue
                for index in np.ndindex(value.shape):
                    if field.repeats(index):
                        continue
                    numbers = (
                        None if part is None else float(np.asarray(part)[index])
                        for part in (error, *(interval or (None, None)))
                    )
                    lines.append((*z, field.name, ",".join(map(str, index)), float(value[index]), *numbers))
        return lines
