"""Several fits of the same rows, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.text import plain_table, readable_p
from tmsm.inference.extrapolation import Extrapolation, Extrapolator
from tmsm.inference.fit import Fit, Fitted
from tmsm.inference.goodness import REJECTED
from tmsm.regions import Region

__all__ = ["ComparedFit", "Comparison", "compare"]

_DIGITS = 9
_OTHER_ROWS = "The fits are of different rows: only fits of the same rows can be compared."


@dataclass(frozen=True)
class ComparedFit:
    """One row of the table that `compare` makes.

    Attributes
    ----------
    name
        The name that was given, or the estimator and its model.
    method
        The weight that was used, and whether a step towards the likelihood followed.
    n_parameters
        Number of free parameters.
    criterion
        The information criterion: an estimate of J for new rows. Lower is better.
    difference
        How much the criterion lies above the best one; zero where only rounding tells them apart. The fit with fewer
        parameters is then the first.
    std_error
        Standard error of this difference, from the paired differences of the rows or of their groups.
    p_value
        p-value of the goodness of fit; None where there is no test.
    index
        The place of this fit in the list that was given.
    log_likelihood
        Mean log density of the rows inside the region; None if some fit of the table has no likelihood.
    extrapolations
        The number of rows expected in each region for each row seen, by the names that were given.
    """

    name: str
    method: str
    n_parameters: int
    criterion: float
    difference: float
    std_error: float
    p_value: float | None
    index: int
    log_likelihood: float | None = None
    extrapolations: Mapping[str, Extrapolation] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison(Sequence[ComparedFit]):
    """Fits in the order of their criterion, the best first; `compare` makes it. It prints as a table.

    Attributes
    ----------
    fits
        One `ComparedFit` for each fit; an index or a loop gives the same.
    """

    fits: tuple[ComparedFit, ...]

    def __len__(self) -> int:
        return len(self.fits)

    def __getitem__(self, index: Any) -> Any:
        return self.fits[index]

    def __iter__(self) -> Iterator[ComparedFit]:
        return iter(self.fits)

    def __str__(self) -> str:
        first = self.fits[0]
        likely = first.log_likelihood is not None
        heading = ["", "weight", "parameters", "criterion", "above the best", "goodness of fit"]
        rows = [[*heading, *["log-likelihood"] * likely, *first.extrapolations]]
        for fit in self.fits:
            above = "0" if fit.difference == 0.0 else f"{fit.difference:.3g} ± {fit.std_error:.2g}"
            above = "" if fit is first else above
            goodness = "" if fit.p_value is None else readable_p(fit.p_value)
            row = [fit.name, fit.method, str(fit.n_parameters), f"{fit.criterion:.6g}", above, goodness]
            row += [] if fit.log_likelihood is None else [f"{fit.log_likelihood:.6g}"]
            rows.append([*row, *(one.in_words for one in fit.extrapolations.values())])
        table = plain_table(rows)
        said = [*filter(None, [self.rejection]), *([self._spread] if first.extrapolations else [])]
        return "\n".join([table, *said])

    __repr__ = __str__

    @property
    def rejection(self) -> str | None:
        """A sentence where the goodness of fit rejects every model that it can test; None elsewhere."""
        p_values = [one.p_value for one in self.fits if one.p_value is not None]
        if not p_values or max(p_values) >= REJECTED:
            return None
        every = "every model of this table" if len(p_values) == len(self.fits) else "every model that it can test"
        models = "the model" if len(self.fits) == 1 else every
        return f"The goodness of fit rejects {models} (p below {REJECTED:g}): look for a family that fits."

    @property
    def _spread(self) -> str:
        """How far the families differ outside, in a sentence."""
        parts = []
        for name in self.fits[0].extrapolations:
            values = [fit.extrapolations[name].value for fit in self.fits]
            parts.append(f"{min(values):.3g} to {max(values):.3g} ({name})")
        return (
            f"Rows expected outside for each row seen inside: {', '.join(parts)}. Each ± is valid if its family is "
            "true. Families that fit equally well may differ by more than that."
        )


def compare(
    fits: Sequence[Fitted] | Mapping[str, Fitted], *, extrapolate: Mapping[str, Region] | None = None
) -> Comparison:
    """Order fits of the same rows by the score-matching information criterion.

    The criterion is J with the plain geodesic weight, whatever weight the fit used, plus a correction because the model
    was fitted to the same rows. The standard error of a difference is that of J alone. If a wider family brings
    nothing, its difference is mostly the correction, and small.

    Parameters
    ----------
    fits
        Fitted estimators, all of the same rows and region, in a list, or with names of your own for the table:
        ``{"round": one, "oval": other}``. `NaiveMLE` has no region; it is judged by how well its density describes the
        rows inside the region of the others.
    extrapolate
        Regions by name, such as ``{"0–250 km": border.surroundings(0, 250 / 6371)}``. For each fit the table then shows
        the number of rows expected there for each row seen, with its standard error. Families that fit equally well may
        differ by much more than these errors.

    Returns
    -------
    A `Comparison`: one entry for each fit, the best first. It prints as a table.

    Examples
    --------
    >>> import tmsm
    >>> region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = tmsm.VonMisesFisher().sample(
    ...     500, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0
    ... )
    >>> fits = [tmsm.ScoreMatching(model, region).fit(X) for model in (tmsm.VonMisesFisher(), tmsm.Bingham())]
    >>> tmsm.compare(fits)[0].name
    'ScoreMatching: VonMisesFisher(concentration=None)'
    >>> tmsm.compare({"round": fits[0], "axial": fits[1]})[0].name
    'round'
    """
    if isinstance(fits, Fitted):
        raise InvalidTypeError("compare takes a list of fits: compare([one, other]).")
    names = [str(name) for name in fits] if isinstance(fits, Mapping) else []
    fits = list(fits.values()) if isinstance(fits, Mapping) else list(fits)
    if not fits:
        raise InvalidInputError("compare needs at least one fit.")
    for fit in fits:
        if not isinstance(fit, Fitted):
            raise InvalidTypeError(f"compare takes fitted estimators; got {type(fit).__name__}.")
    found = [fit.result_ for fit in fits]
    home = next((one for one in found if one.region.has_border), found[0])
    found = [_inside(one, home) for one in found]
    for one in found:
        if not one.complete:
            raise InvalidInputError("compare needs the rows of a fit; one of these came from partial_fit.")
        if one.region != found[0].region:
            raise InvalidInputError(
                "The fits are of different regions: only fits of the same rows inside the same region can be compared."
            )
        if one.exposure != found[0].exposure:
            raise InvalidInputError("The fits have different exposures, and the criterion's constant depends on it.")
        if not one.same_rows(found[0]):
            raise InvalidInputError(_OTHER_ROWS)
        if (one.groups is None) != (found[0].groups is None) or (
            one.groups is not None and found[0].groups is not None and not one.groups.same_as(found[0].groups)
        ):
            raise InvalidInputError(
                "The fits were made with different groups of rows, and the error of a difference depends on them: "
                "give all of them the same groups."
            )
    rings = _check_regions(extrapolate)
    likelihoods = [one.log_likelihood for one in found]
    likely = all(np.isfinite(value) for value in likelihoods)
    criteria = [one.criterion for one in found]
    # A family within another one may give the same fit, but for rounding: the one with fewer parameters comes first.
    order = sorted(range(len(found)), key=lambda k: (float(f"{criteria[k].value:.{_DIGITS}g}"), found[k].n_free))
    best = criteria[order[0]]
    table = []
    for k in order:
        criterion, one, beyond = criteria[k], found[k], Extrapolator(found[k])
        _, apart = one.kept.mean_and_parts((criterion.row_values - best.row_values)[:, None])
        # The test is of the family, and says nothing about an estimate that took the rows for all there are.
        goodness = None if one.ignores_truncation and one.region.has_border else one.goodness_of_fit
        table.append(
            ComparedFit(
                names[k] if names else one.title,
                one.method,
                one.n_free,
                criterion.value,
                _difference(criterion.value, best.value),
                float(np.sqrt(np.sum(apart**2))),
                None if goodness is None else goodness.p_value,
                k,
                likelihoods[k] if likely else None,
                {name: beyond.rows_in(ring) for name, ring in rings.items()},
            )
        )
    return Comparison(tuple(table))


def _difference(value: float, best: float) -> float:
    """How much a criterion lies above the best one; zero where only rounding tells them apart."""
    return 0.0 if f"{value:.{_DIGITS}g}" == f"{best:.{_DIGITS}g}" else value - best


def _check_regions(regions: Any) -> dict[str, Region]:
    if regions is None:
        return {}
    if not isinstance(regions, Mapping) or not all(isinstance(name, str) for name in regions):
        raise InvalidTypeError('extrapolate must map names to regions: {"outside": ~region}.')
    return dict(regions)


def _inside(one: Fit, home: Fit) -> Fit:
    """A fit that knows of no region, judged inside that of another; any other fit as it is."""
    if not one.ignores_truncation or not home.region.has_border:
        return one
    if not one.same_rows(home):
        raise InvalidInputError(_OTHER_ROWS)
    return one.judged_like(home)
