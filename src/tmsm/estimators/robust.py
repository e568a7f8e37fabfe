"""Robust score matching: each row weighted by a power of the density, a given one or the smallest that rows allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from tmsm.estimators.problem import Problem
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.text import readable_p
from tmsm.foundation.validation import check_number, short_repr
from tmsm.inference.covariance import moment_influence, sandwich_covariance
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence, small_sample_factor
from tmsm.inference.row_weights import robust_weights
from tmsm.matching.equations import LinearSums, residual_squares, sum_equations
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.robust import Robust, RobustRoot, find_root, half_fit
from tmsm.matching.solve import Solution, solve
from tmsm.models.base import Model
from tmsm.numerics.scaling import inverse_scaled
from tmsm.weights.policies import Choice, WeightPolicy

__all__ = ["POWERS", "RobustFit", "RobustMatching", "check_power", "power_of", "row_weights_of"]

# The powers that "auto" tries, smallest first, after none.
POWERS = (0.05, 0.1, 0.2, 0.3, 0.5)
# Beyond it a cluster of normal rows in the plane has fewer than a third of their efficiency.
_HIGHEST = 2.0
# The ordinary fit is given up if a power moves it with a p-value below the first of these: so it is kept in some 97 %
# of samples without outliers.  A power is given up for a larger one at the second: with outliers, bias costs more.
_GIVEN_UP, _MOVED = 0.01, 0.05
# A row is left out of the errors of differences if the power ½ gives it less than this share of the mean weight; of a
# normal cluster in the plane that is one in ten thousand.
_FAR, _POWER_OF_FAR = 0.02, 0.5


def check_power(robust: Any, model: Model, refine: Any) -> float | Literal["auto"] | None:
    """The power c that was asked for, "auto", or None for an ordinary fit."""
    if robust is None:
        return None
    hint = "Use a power of the density such as 0.3, 'auto', or None."
    if isinstance(robust, str):
        if robust != "auto":
            raise InvalidInputError(f"robust must be a number from 0 to 2, 'auto' or None; got {short_repr(robust)}.")
    elif isinstance(robust, bool | np.bool_):
        raise InvalidTypeError(f"robust must be a number from 0 to 2, 'auto' or None; got {robust!r}. {hint}")
    else:
        robust = check_number(robust, "robust", at_least=0.0, hint=hint)
        if robust > _HIGHEST:
            raise InvalidInputError(f"robust must be at most {_HIGHEST:g}; got {robust:.6g}. {hint}")
    if not model.is_linear:
        raise InvalidInputError(
            f"robust is for exponential families, whose powers are of the same family, and {type(model).__name__} is "
            "none: leave robust out, or use a family with heavier tails."
        )
    if refine is not None:
        raise InvalidInputError(
            "robust and refine='mle' exclude each other: a likelihood follows every row, outliers too. Leave one out."
        )
    return cast("float | Literal['auto']", robust)


def power_of(fit: Fit) -> float | None:
    """The power c of a robust fit; None of any other."""
    equations = fit.influence.equations
    return equations.power if isinstance(equations, Robust) else None


def row_weights_of(fit: Fit) -> FloatArray:
    """The weight of each kept row in a robust fit, with mean one; ones in any other, shape (n,)."""
    weights = robust_weights(fit)
    return np.ones(len(fit.kept)) if weights is None else weights


@dataclass(frozen=True)
class RobustFit:
    """A robust estimate with all that a fit is made of.

    Attributes
    ----------
    choice
        The single weight.
    root
        θ̂ and the equations that it solves.
    influence
        What a row does to it.
    covariance
        Of θ̂, shape (p, p); None where it was not asked for.
    status
        Sentences.
    facts
        Names and words for a summary.
    """

    choice: Choice
    root: RobustRoot
    influence: Influence
    covariance: FloatArray | None
    status: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Candidate:
    """An estimate with some power, its influence, and the root and its rivals where the power is not zero."""

    power: float
    theta: FloatArray
    influence: Influence
    root: RobustRoot | None = None
    others: tuple[RobustRoot, ...] = ()


@dataclass(frozen=True)
class RobustMatching:
    """Robust fits of one problem with a policy for weights."""

    problem: Problem
    policy: WeightPolicy
    standard_errors: bool

    def at(self, power: float) -> RobustFit:
        """The fit with a given power."""
        choice, note = self._choice()
        inner = self._inner(choice)
        root, others = self._root(inner, power, self._starts(inner, self._single(self._sums(inner))))
        return self._fit(choice, root, others, [self._sentence(root), note])

    def smallest(self, plain: Fit | None) -> tuple[RobustFit | None, str]:
        """The fit with the smallest power that the rows allow; None where the ordinary fit will do, and a sentence.

        A power is allowed if no larger one moves the estimate by more than chance does (the method of Lepski).
        Estimates of the same rows differ by the mean of the differences of their influences, so that the error of their
        difference is known.  Outliers do not count in this error: k of them would make the difference √k errors large
        at most, however far they pull.
        """
        choice, note = self._choice()
        inner = self._inner(choice)
        sums = self._sums(inner)
        tried = self._candidates(inner, self._single(sums), plain is not None)
        most = tried[-1].root
        if most is None:
            return None, (
                "robust='auto' took c = 0: the rows in the dense part do not determine a robust fit, so that this is "
                "the ordinary one."
            )
        near = self._near(most)[:, None]
        psi = [one.influence.of(self.problem.kept) * near for one in tried]
        chosen, before = len(tried) - 1, 1.0
        for k, one in enumerate(tried[:-1]):
            moved = min(
                self._moved(one.theta, tried[j].theta, psi[k] - psi[j], sums.A) for j in range(k + 1, len(tried))
            )
            if moved >= (_GIVEN_UP if one.root is None else _MOVED):
                chosen = k
                break
            before = moved
        taken = tried[chosen]
        if taken.root is None:
            return None, (
                f"robust='auto' took c = 0, the ordinary fit: no power up to {tried[-1].power:g} moves the estimate by "
                "more than chance does, as it would with outliers."
            )
        if chosen == 0:
            why = "the smallest power, as there is no ordinary fit"
        elif taken is tried[-1]:
            why = (
                "the largest power tried with success: the estimate still moves with c, so that the rows may be "
                "of another family rather than of this one with outliers"
            )
        else:
            why = (
                "the smallest power from which larger ones do not move the estimate beyond chance; from "
                f"c = {tried[chosen - 1].power:g} they do ({readable_p(before)})"
            )
        words = f"robust='auto' took c = {taken.power:g}, {why}. Errors and p-values take c as given and are a little "
        sentences = [self._sentence(taken.root), f"{words}optimistic.", note]
        return self._fit(choice, taken.root, taken.others, sentences), ""

    def _candidates(self, inner: OneWeight, single: Solution | None, with_ordinary: bool) -> list[_Candidate]:
        """Estimates with no power and with larger and larger ones, as far as there are any."""
        starts = self._starts(inner, single)
        found: list[_Candidate] = []
        if with_ordinary and single is not None:
            # With the same weight, whatever the ordinary fit combines: what differs is the power alone.
            influence = Influence(inner, single.theta, moment_influence(single))
            found.append(_Candidate(0.0, single.theta, influence))
        for power in POWERS:
            try:
                root, others = self._root(inner, power, starts)
            except EstimationError:
                if not found:
                    raise
                break
            found.append(_Candidate(power, root.theta, _influence(root), root, tuple(others)))
        return found

    def _choice(self) -> tuple[Choice, str]:
        """A single weight, and a sentence where several would have been combined."""
        setting = self.problem.setting
        choice = self.policy.choose(setting)
        if not choice.combined:
            return choice, ""
        single = self.policy.fallback(setting) or Choice.of(choice.single)
        return single, "Robust fits use a single weight, where an ordinary one combines several."

    def _inner(self, choice: Choice) -> OneWeight:
        equations = self.problem.equations(choice)
        assert isinstance(equations, OneWeight)
        return equations

    def _sums(self, inner: OneWeight) -> LinearSums:
        """Those of rows as they are, which must carry an estimate."""
        sums = sum_equations(inner, self.problem.rows)
        assert sums is not None, "the sample has rows inside"
        self.problem.check_sums(sums.n, sums.weight_sum, sums.farthest)
        return sums

    def _single(self, sums: LinearSums) -> Solution | None:
        """The ordinary solution with one weight; None where there is none."""
        try:
            return solve(self.problem.constraint, sums.A, sums.b)
        except (EstimationError, np.linalg.LinAlgError):
            return None

    def _starts(self, inner: OneWeight, single: Solution | None) -> list[FloatArray]:
        """Where to begin: the densest half of the rows, then all of them."""
        half = half_fit(inner, self.problem.kept)
        return [theta for theta in (half, None if single is None else single.theta) if theta is not None]

    def _root(
        self, inner: OneWeight, power: float, starts: Sequence[FloatArray]
    ) -> tuple[RobustRoot, list[RobustRoot]]:
        """The root of the densest half, unless it leaves most of the rows out and another does not."""
        first, others = find_root(inner, self.problem.rows, self.problem.kept, power, starts)
        for k, other in enumerate(others):
            if self._left_out(first) > 0.5 >= self._left_out(other):
                return other, [first, *others[:k], *others[k + 1 :]]
        return first, others

    def _left_out(self, root: RobustRoot) -> float:
        """The share of the rows that have nearly no weight."""
        sample = self.problem.kept.sample()
        return float(np.average(root.equations.leaves_out(sample.X, root.theta), weights=sample.weight))

    def _near(self, root: RobustRoot) -> BoolArray:
        """Which of the kept rows are no outliers for the most robust fit, shape (n,)."""
        w = root.equations.row_weights(self.problem.kept.sample().X, root.theta)
        near: BoolArray = w >= _FAR ** (root.equations.power / _POWER_OF_FAR)
        return near

    def _moved(self, less: FloatArray, more: FloatArray, psi: FloatArray, A: FloatArray) -> float:
        """The p-value of the step from one estimate to a more robust one, by Hotelling's T².

        ``psi`` (n, p) is the difference of their influences.  To leave outliers out makes the density steeper: a step
        to a flatter one, θᵀAθ being smaller, is not due to them, if the family has the powers of its densities.
        """
        from scipy.special import fdtrc

        problem = self.problem
        T = problem.constraint.tangent(more)
        has_powers = np.linalg.norm(more - T @ (T.T @ more)) <= 1e-6 * np.linalg.norm(more)
        if has_powers and float(more @ A @ more) < float(less @ A @ less):
            return 1.0
        _, parts = problem.kept.mean_and_parts(psi @ T)
        share = problem.kept_share if problem.kept.groups is None else 1.0
        n, k = problem.setting.n_rows, T.shape[1]
        covariance = small_sample_factor(n, k) * share * (parts.T @ parts)
        step = T.T @ (more - less)
        statistic = float(step @ inverse_scaled(covariance, 1e-10) @ step)
        rest = max(n - k, 1.0)
        return float(fdtrc(k, rest, statistic * rest / (k * max(n - 1.0, 1.0))))

    def _sentence(self, root: RobustRoot) -> str:
        out = root.equations.leaves_out(self.problem.kept.sample().X, root.theta)
        number = round(float(np.count_nonzero(out)) / self.problem.kept_share)
        none = "no row has" if number == 0 else "1 row has" if number == 1 else f"{number:,} rows have"
        about = "about " if self.problem.kept_share < 1.0 and number else ""
        return (
            f"Robust with c = {root.equations.power:g}: weighted by the density to this power, {root.n:,} rows count "
            f"like {root.effective:,.0f}, and {about}{none} nearly no weight (row_weights_ tells which)."
        )

    def _fit(
        self, choice: Choice, root: RobustRoot, others: Sequence[RobustRoot], sentences: Sequence[str]
    ) -> RobustFit:
        problem = self.problem
        covariance = None
        if self.standard_errors:
            squares = residual_squares(root.equations, problem.rows, root.theta)
            factor = small_sample_factor(root.effective, root.solution.tangent.shape[1])
            covariance = factor * sandwich_covariance(root.solution, squares, root.weight_sum)
        several = ""
        if others:
            several = (
                f"{len(others) + 1} solutions were found, and this is the one from the densest half of the rows: they "
                "may be of several clusters, or too few to determine the density."
            )
        status = " ".join(words for words in [*sentences, several, root.solution.status] if words)
        facts = (
            ("robust", f"each row weighted by the density to the power c = {root.equations.power:g}"),
            ("objective", f"{root.objective:.6g} of the weighted rows"),
        )
        return RobustFit(choice, root, _influence(root), covariance, status, facts)


def _influence(root: RobustRoot) -> Influence:
    return Influence(root.equations, root.theta, moment_influence(root.solution))
