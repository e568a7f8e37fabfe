"""A known exposure: the log detection probability that a user gives, as a function or a map, checked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from tmsm.data.exposure_map import ExposureMap
from tmsm.data.rows import Rows
from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray, row_dots, row_norms, safe_divide
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array, count_rows
from tmsm.manifolds import Manifold
from tmsm.manifolds.frames import PLAIN, Frame, check_frames
from tmsm.matching.differences import TangentDifferences, row_extent

__all__ = ["KnownExposure", "LogExposure"]

# From points (n, D) to values (n,) alone, or to values and gradients (n, D).
LogExposure = Callable[[FloatArray], ArrayLike | tuple[ArrayLike, ArrayLike]]

# A known exposure is tried at so many rows, of which no larger share may disagree.
_TRIED_ROWS, _TOLERATED_SHARE = 32, 0.1
# Two derivatives disagree if they differ by this share of the larger, and by this much over the extent of the rows.
_CLEAR_SHARE, _CLEAR_CHANGE = 0.05, 1e-3
_CUT_OUT = "Write region & ~Cap(center, radius), for instance."
# Zeros are looked for at so many points around rows, and as many all over a closed manifold.
_POINTS_INSIDE = 4096
# How much of the way to the border such a point may be away from its row.
_REACH = 0.98


@final
@dataclass(frozen=True)
class KnownExposure:
    """A user's log exposure on a manifold, with the differences that stand for its gradient where it has none.

    Two are equal if their functions are, whatever rows the steps of the differences came from.
    """

    function: LogExposure
    manifold: Manifold
    differences: TangentDifferences | None = field(default=None, compare=False)
    frame: Frame = field(default=PLAIN, compare=False)

    @classmethod
    def of(
        cls, log_exposure: LogExposure | KnownExposure | None, rows: Rows, *, with_gradient: bool = False
    ) -> KnownExposure | None:
        """What a user gave, checked at rows and inside their region; or what was checked before.

        A likelihood asks for values alone, which may jump; score matching asks for the gradient, too.
        """
        if log_exposure is None or isinstance(log_exposure, KnownExposure):
            return log_exposure
        manifold, sample = rows.region.manifold, rows.sample().X
        if len(sample) == 0:
            raise InvalidInputError(rows.describe_absence())
        found = cls(log_exposure, manifold, frame=rows.frame)
        if isinstance(log_exposure, ExposureMap):
            check_frames(log_exposure.frame, rows.frame, "The exposure map")
            others = rows.region.frames - {log_exposure.frame}
            if log_exposure.frame is not None and others:
                raise InvalidInputError(
                    f"The exposure map has the frame {log_exposure.frame!r} and the region {min(others)!r}: give both "
                    "in one frame."
                )
            if not manifold.has_longitudes:
                raise InvalidInputError(
                    f"An exposure map is of the sphere S², and the points lie on {manifold!r}: give a function."
                )
            found._refuse_blank_pixels(log_exposure, rows)
        value, gradient = found._evaluated(sample)
        found._refuse_rows(sample, np.isfinite(value))
        if gradient is None and with_gradient:
            found._require_geodesics(sample[:1])
            differences = TangentDifferences.chosen(found._nearby, manifold, sample)
            found = replace(found, differences=differences)
        elif gradient is not None:
            found._check_gradient(sample)
        found._refuse_zeros_inside(rows)
        return found

    @property
    def description(self) -> str:
        """How it enters the equations, in words."""
        if self.differences is None:
            return self.description_of_values
        return f"values alone; its gradient by differences, error about {self.differences.error:.1g} of its size"

    @property
    def description_of_values(self) -> str:
        """How it enters a likelihood, in words: by its values."""
        return self.function.label if isinstance(self.function, ExposureMap) else "known, taken into account"

    @property
    def with_coarser_differences(self) -> KnownExposure | None:
        """With steps twice as long, to learn the error from; None where there are no differences."""
        return None if self.differences is None else replace(self, differences=self.differences.coarser)

    def values_at(self, X: FloatArray) -> FloatArray:
        """Values (n,) at points inside the region, where it must be known."""
        value = self._values(X)
        bad = ~np.isfinite(value)
        if bad.any():
            raise InvalidInputError(self._zero_inside(X, bad))
        return value

    def row_values(self, X: FloatArray) -> FloatArray:
        """Values (n,) at rows."""
        value = self._values(X)
        self._refuse_rows(X, np.isfinite(value))
        return value

    def gradient(self, X: FloatArray) -> FloatArray:
        """Its tangent gradient at rows, shape (n, D)."""
        if self.differences is not None:
            gradient = self.differences.gradient(self._nearby, np.ascontiguousarray(X))
            bad = ~np.isfinite(gradient).all(axis=1)
            if bad.any():
                self.row_values(X)  # whose error comes first
                raise InvalidInputError(
                    f"log_exposure has no values around {int(bad.sum())} of {bad.size} rows of a block (first: "
                    f"{self._place(X[np.argmax(bad)])}), so that there are no differences to take its gradient from. "
                    "Return (values, gradients), or values that are defined a little beyond the region."
                )
            return gradient
        value, found = self._evaluated(X)
        if found is None:
            raise InvalidInputError("log_exposure returned gradients at first, and values alone later.")
        self._refuse_rows(X, np.isfinite(value) & np.isfinite(found).all(axis=1))
        return self.manifold.tangent_gradient(X, found)

    def _values(self, X: FloatArray) -> FloatArray:
        if isinstance(self.function, ExposureMap):
            return self.function.log_values(X)
        return self._evaluated(X)[0]

    def _nearby(self, X: FloatArray) -> FloatArray:
        """Values next to rows: where they are not numbers, another way is found."""
        try:
            value = np.asarray(_split(self.function(_read_only(X)))[0], dtype=np.float64)
        except Exception as error:  # whatever a user's function may raise
            raise InvalidInputError(
                f"log_exposure returned values alone at the rows, and raised an error next to them: {error} Its "
                "gradient is taken from differences: return NaN where it is not defined, or (values, gradients)."
            ) from error
        if value.shape != (len(X),):
            raise InvalidInputError(f"log_exposure must return values of shape {(len(X),)}; got shape {value.shape}.")
        return np.where(np.isfinite(value), value, np.nan)

    def _evaluated(self, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Values (n,) and gradients (n, D), None where the function returns values alone."""
        try:
            value, gradient = _split(self.function(_read_only(X)))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                "log_exposure must return values of shape (n,), or (values, gradients) of shapes (n,) and (n, D); "
                f"it raised: {error}"
            ) from error
        value = as_float_array(value, "log_exposure value")
        if gradient is None:
            if value.shape != (len(X),):
                raise InvalidInputError(
                    f"log_exposure must return values of shape {(len(X),)}, or (values, gradients) of shapes "
                    f"{(len(X),)} and {X.shape}; got shape {value.shape}."
                )
            return value, None
        gradient = as_float_array(gradient, "log_exposure gradient")
        if value.shape != (len(X),) or gradient.shape != X.shape:
            raise InvalidInputError(
                f"log_exposure must return shapes {(len(X),)} and {X.shape}; got {value.shape} and {gradient.shape}."
            )
        return value, gradient

    def _refuse_rows(self, X: FloatArray, known: BoolArray) -> None:
        if not known.all():
            first = self._place(X[np.argmin(known)])
            what = "The exposure map" if isinstance(self.function, ExposureMap) else "log_exposure"
            why = (
                "The map ends before the points do, or is blank there."
                if isinstance(self.function, ExposureMap)
                else "A row was observed there, so that the exposure cannot be zero."
            )
            raise InvalidInputError(f"{what} must be finite at every row; {count_rows(~known)} (first: {first}). {why}")

    def _place(self, x: FloatArray) -> str:
        if not self.manifold.has_longitudes:
            return str([float(f"{number:.6g}") for number in x.tolist()])
        frame = self.frame
        if frame is PLAIN and isinstance(self.function, ExposureMap):
            frame = self.function.known_frame
        return frame.place(x)

    def _zero_inside(self, X: FloatArray, bad: BoolArray) -> str:
        what = (
            "The exposure map has no value" if isinstance(self.function, ExposureMap) else "log_exposure is −∞ or NaN"
        )
        return (
            f"{what} at {int(bad.sum()):,} of {bad.size:,} points inside the region that were tried (such as "
            f"{self._place(X[np.argmax(bad)])}). A place where nothing can be detected does not belong to the region: "
            f"cut it out. {_CUT_OUT}"
        )

    def _refuse_blank_pixels(self, found: ExposureMap, rows: Rows) -> None:
        """Raise where a pixel without exposure has its centre inside the region."""
        count, first = found.blank_inside(rows.region)
        if first is not None:
            pixels = "1 pixel whose centre lies" if count == 1 else f"{count:,} pixels whose centres lie"
            how = _CUT_OUT
            if found.is_healpix:
                how = "HealpixMask.from_file makes a region of the pixels of a HEALPix map that are not zero."
            raise InvalidInputError(
                f"The exposure map is zero or missing in {pixels} inside the region (such as {self._place(first)}). "
                f"A place where nothing can be detected does not belong to the region: cut it out. {how}"
            )

    def _refuse_zeros_inside(self, rows: Rows) -> None:
        """Raise where it is zero at points inside the region, which need not be near a row."""
        points = _points_inside(rows)
        if len(points) == 0:
            return
        try:
            value = self._values(points)
        except Exception:  # a function of these very rows, which a fit does not ask for more
            return
        bad = np.isnan(value) | (value == -np.inf)
        if bad.any():
            raise InvalidInputError(self._zero_inside(points, bad))

    def _require_geodesics(self, x: FloatArray) -> None:
        try:
            self.manifold.retract(x, np.zeros_like(x))
        except InvalidInputError:
            raise InvalidInputError(
                "log_exposure returns values alone, and their gradient is taken from differences along geodesics, "
                f"but {self.manifold!r} has no exponential map. Return (values, gradients)."
            ) from None

    def _check_gradient(self, sample: FloatArray) -> None:
        """Raise where the gradients of a user's log exposure are clearly not those of its values.

        Differences of values along the manifold are compared with the gradient, in two directions at some rows.  A row
        disagrees only if all differences, ahead and back, with a long and a short step, are on one side of the
        gradient: curvature, kinks and jumps do not do that.  What the function may not like (points beyond the region,
        fewer rows) is no reason to refuse it here.
        """
        manifold, log_exposure = self.manifold, self.function
        X = sample[:: -(-len(sample) // _TRIED_ROWS)]
        try:
            value, gradient = (np.asarray(part, dtype=np.float64) for part in _split(log_exposure(_read_only(X))))
            manifold.retract(X[:1], np.zeros_like(X[:1]))
        except Exception:  # `gradient` says what is wrong with it
            return
        if value.shape != (len(X),) or gradient.shape != X.shape:
            return
        extent = row_extent(manifold, sample)
        single = bool((value == value.astype(np.float32)).all())
        steps, precision = ((1e-2, 1e-3), 1e-7) if single else ((1e-4, 1e-6), 1e-16)
        gradient = manifold.project_tangent(X, gradient)
        rng = np.random.default_rng(0)
        wrong, worst = np.zeros(len(X), dtype=bool), (0.0, "")
        for _ in range(2):
            V = manifold.project_tangent(X, rng.standard_normal(X.shape) * extent)
            seen, said = [], []
            for step in (s * sign for s in steps for sign in (1.0, -1.0)):
                Y = manifold.retract(X, step * V)
                try:
                    there = np.asarray(_split(log_exposure(Y))[0], dtype=np.float64)
                except Exception:  # not defined beyond the region
                    return
                with np.errstate(invalid="ignore"):
                    seen.append((there - value) / step)
                said.append(row_dots(gradient, Y - X) / step)  # Y as it was rounded
            values, slopes = np.array(seen), np.array(said)
            gap = values - slopes
            known = np.isfinite(gap)
            one_sided = known.any(axis=0) & (
                np.all((gap > 0.0) | ~known, axis=0) | np.all((gap < 0.0) | ~known, axis=0)
            )
            least = np.min(np.where(known, np.abs(gap), np.inf), axis=0)
            size = np.max(np.where(known, np.maximum(np.abs(values), np.abs(slopes)), 0.0), axis=0)
            rounding = 16.0 * precision * np.abs(value) / min(steps)
            bad = one_sided & (least > _CLEAR_SHARE * size + _CLEAR_CHANGE + rounding)
            wrong |= bad
            if bad.any():
                k = int(np.argmax(np.where(bad, least, -1.0)))
                if least[k] > worst[0]:
                    j, length = int(np.argmin(np.where(known[:, k], np.abs(gap[:, k]), np.inf))), np.linalg.norm(V[k])
                    direction = np.round(V[k] / length, 3).tolist()
                    worst = (
                        float(least[k]),
                        f"at {np.round(X[k], 6).tolist()} the gradient gives a slope of {slopes[j, k] / length:.4g} "
                        f"along {direction}, the values give {values[j, k] / length:.4g}",
                    )
        if np.count_nonzero(wrong) > _TOLERATED_SHARE * len(X):
            raise InvalidInputError(
                f"log_exposure returns gradients that are not those of its values: at {int(np.count_nonzero(wrong))} "
                f"of {len(X)} rows that were tried they disagree with differences of the values (worst: {worst[1]}). "
                "Return (log e, gradient of log e), both of the logarithm and in the coordinates of X; or the values "
                "alone, and their gradient is taken from differences."
            )


def _read_only(X: FloatArray) -> FloatArray:
    """The same points, which are needed again: a function that changes them in place is an error."""
    points = X.view()
    points.flags.writeable = False
    return points


def _split(result: Any) -> tuple[Any, Any]:
    """What a log exposure returned, as values and gradients; None for the latter where they are values alone."""
    if isinstance(result, tuple | list) and len(result) == 2 and np.ndim(result[1]) > 0:
        return result[0], result[1]
    return result, None


def _points_inside(rows: Rows) -> FloatArray:
    """Points inside the region of some rows, shape (m, D).

    In balls around rows that the border leaves room for, and where the manifold is closed all over the region.
    """
    region, sample = rows.region, rows.sample()
    manifold, rng = region.manifold, np.random.default_rng(0)
    found = []
    if manifold.is_closed:
        scattered = manifold.scattered(_POINTS_INSIDE, rng)
        found.append(scattered[region.contains(scattered)] if region.has_border else scattered)
    if region.has_border:
        # Some rows, or several times all of them.
        chosen = sample.view.where(np.linspace(0, len(sample) - 1, _POINTS_INSIDE).round().astype(np.intp))
        X = np.ascontiguousarray(chosen.X)
        # Far from all rows a density may be zero but for rounding, and so may an exposure.
        radius = np.minimum(chosen.distance()[0] - region.distance_slack, row_extent(manifold, sample.X).max())
        V = manifold.project_tangent(X, rng.standard_normal(X.shape))
        share = _REACH * rng.random(len(X)) ** (1.0 / manifold.dim)
        V = safe_divide(V, row_norms(V)) * (share * np.maximum(radius, 0.0))[:, None]
        with suppress(InvalidInputError):  # without an exponential map the rows themselves must do
            found.append(manifold.exponential(X, V))
    return np.vstack(found) if found else np.empty((0, manifold.embedding_dim))
