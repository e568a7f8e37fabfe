"""A density that is not linear in θ: the lowest J by Newton's method, on some of the rows first, then on all.

With many parameters the searches are by L-BFGS, and Newton's method only adds the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast, final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.matching.equations import Expansion, linearise
from tmsm.matching.one_weight import OneWeight, WeightTerms
from tmsm.matching.solve import MAX_CONDITION, Solution
from tmsm.matching.starts import starts_of
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint, minimise_over
from tmsm.models.nonlinear import NonlinearModel, parameter_sizes
from tmsm.numerics.newton import Minimum, Point, minimise
from tmsm.numerics.scaling import condition_number, scaled_to_unit, whitening

__all__ = ["mean_objective", "search"]

# So many rows show which of the starts lead to the lowest J, and at most so many minima are followed on all rows: those
# that are not so many standard errors above the lowest.
_FIRST_ROWS, _FOLLOWED, _ERRORS_ABOVE = 2000, 3, 4.0
# With more parameters Hessians take longer than the steps that they save, and so many starts have to do.
_NEWTON_PARAMETERS = 100
_FEW_STARTS = 3
# Up to so many parameters one Hessian tells L-BFGS how long its steps are; scaled eigenvalues below this count as it.
_WHITENED_PARAMETERS, _LEAST_BEND = 1000, 1e-4
# Minima whose J differ by less, as a share of J, are one.
_SAME = 1e-6
# What rows contribute is kept between passes up to so many numbers.
_HELD_NUMBERS = 2**25
# Steps of L-BFGS, of Newton's method, and of the latter where it only adds the last digits.
_DESCENTS, _MAX_STEPS, _LAST_STEPS = 1000, 200, 12
# Stands for no density at all, and can be compared.
_NOWHERE = 1e200


def mean_objective(equations: OneWeight, rows: Rows, theta: FloatArray) -> float:
    """J(θ): the mean of the rows' parts."""
    return _Passes(equations, rows, held=False).value(theta)


def search(equations: OneWeight, rows: Rows) -> Solution:
    """The lowest J over the θ of the model, with the tangent and the curvature there."""
    model = cast(NonlinearModel, equations.model)
    constraint = model.constraint
    some = rows.spread(_FIRST_ROWS)
    by_steps = constraint.is_flat and constraint.n_free > _NEWTON_PARAMETERS
    near = starts_of(model, equations, some)[: _FEW_STARTS if by_steps else None]
    lowest = _by_steps if by_steps else _by_newton
    candidates, words = _from_starts(model, _Passes(equations, some), near, lowest, some.sample().X)
    passes = _Passes(equations, rows)

    def lowest_of_all(candidates: Sequence[FloatArray]) -> Minimum | None:
        ends = []
        for theta in candidates:
            start = lowest(constraint, passes, theta) if by_steps else None
            at_most = _LAST_STEPS if by_steps else _MAX_STEPS
            found = _next_to(constraint, passes, theta if start is None else start.theta, at_most)
            if found is not None and model.suits(found.point.theta, some.sample().X):
                ends.append(found)
        return min(ends, key=lambda minimum: (not _has_ended(minimum), minimum.value), default=None)

    best = lowest_of_all(candidates)
    if best is None or not _has_ended(best):
        # Some of the rows may show a minimum that all of them do not have.
        best = lowest_of_all(near)
    condition = np.inf if best is None else condition_number(best.curvature)
    singular = best is not None and best.reached and not condition <= MAX_CONDITION
    if best is None or not (_has_ended(best) or singular):
        raise EstimationError("The search for the lowest objective did not end: the rows do not determine the density.")
    if singular:
        raise EstimationError(
            f"The curvature at the estimate is nearly singular (condition number {condition:.1e}): the rows do not "
            f"determine every parameter of this density.{_least_determined(model, best)}"
        )
    theta, curvature, tangent = best.point.theta, best.curvature, best.point.jacobian
    ordered = model.ordered(theta)
    if not np.array_equal(ordered, theta):
        again = _next_to(constraint, passes, ordered)
        if again is not None and _has_ended(again):
            theta, curvature, tangent = again.point.theta, again.curvature, again.point.jacobian
    method = "L-BFGS" if by_steps else "Newton's method"
    status = f"The lowest minimum found by {method} from {words}. {model.caution_of_matching}".rstrip()
    return Solution(theta, tangent, 0.5 * curvature, condition, status)


@final
@dataclass(frozen=True)
class _Low:
    """Where a search on some of the rows ended."""

    value: float
    theta: FloatArray
    start: int = 0


_Lowest = Callable[[Constraint, "_Passes", FloatArray], _Low | None]


def _from_starts(
    model: NonlinearModel, passes: _Passes, near: Sequence[FloatArray], lowest: _Lowest, X: FloatArray
) -> tuple[list[FloatArray], str]:
    """Minima worth to be followed, the lowest first, and in words how the starts agreed."""
    found = []
    for k, start in enumerate(near):
        end = lowest(model.constraint, passes, start)
        if end is not None and model.suits(end.theta, X):
            found.append(replace(end, start=k))
    found.sort(key=lambda one: one.value)
    n = len(near)
    if not found:
        raise EstimationError(
            f"No minimum was found from {n} start{'s' * (n != 1)}: the rows may not determine every "
            "parameter of this density. Use more rows, or better starts."
        )
    groups = [[found[0]]]
    for one in found[1:]:
        if one.value - groups[-1][0].value > _SAME * max(abs(one.value), 1e-300):
            groups.append([])
        groups[-1].append(one)
    # Of several θ for one density, such as mirror images, the one that the first of the starts leads to.
    different = [min(group, key=lambda one: one.start) for group in groups]
    same = len(groups[0])
    if n == 1:
        words = "one start"
    elif same == n:
        words = f"{n} starts, all of which lead to it"
    else:
        words = f"{n} starts, of which {same} lead{'s' * (same == 1)} to it"
    followed = [different[0].theta]
    for one in different[1:]:
        apart = passes.parts(one.theta) - passes.parts(followed[0])
        if len(followed) < _FOLLOWED and apart.mean() <= _ERRORS_ABOVE * apart.std() / np.sqrt(len(apart)):
            followed.append(one.theta)
    return followed, words


def _by_newton(constraint: Constraint, passes: _Passes, start: FloatArray) -> _Low | None:
    best = minimise_over(constraint, passes.objective, [start])
    return None if best is None else _Low(best.minimum.value, best.minimum.point.theta)


def _by_steps(constraint: Constraint, passes: _Passes, start: FloatArray) -> _Low | None:
    """L-BFGS in coordinates of a linear space in which the curvature at the start is about one."""
    from scipy.optimize import minimize

    point = constraint.point(start)
    units = _units(point, passes)

    def at(s: FloatArray) -> FloatArray:
        return point.moved(units @ s).theta

    def objective(s: FloatArray) -> tuple[float, FloatArray]:
        value, slope = passes.descent(at(s))
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return _NOWHERE, np.zeros_like(s)
        return value, units.T @ (point.jacobian.T @ slope)

    found = minimize(
        objective,
        np.zeros(len(units)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _DESCENTS, "maxfun": 2 * _DESCENTS, "maxcor": 30, "ftol": 1e-12, "gtol": 0.0},
    )
    return _Low(float(found.fun), at(found.x)) if found.fun < _NOWHERE else None


def _units(point: Point, passes: _Passes) -> FloatArray:
    """Steps of a search in the coordinates of a point, as columns (k, k)."""
    J = point.jacobian
    if J.shape[1] <= _WHITENED_PARAMETERS:
        value, _, hessian = passes.objective(point.theta)
        unit, scale = scaled_to_unit(J.T @ hessian @ J)
        if np.isfinite(value) and scale.all():
            values, vectors = np.linalg.eigh(unit)
            # Along directions that bend down or hardly at all the steps are shorter than Newton's.
            whitened: FloatArray = scale[:, None] * vectors / np.sqrt(np.maximum(np.abs(values), _LEAST_BEND))
            return whitened
    sizes = parameter_sizes(point.theta) if point.theta.any() else np.ones(point.theta.size)
    return np.diag(np.sqrt((J.T**2) @ sizes**2))


def _next_to(constraint: Constraint, passes: _Passes, theta: FloatArray, at_most: int = _MAX_STEPS) -> Minimum | None:
    """Where Newton's method ends next to θ, on a border of what is allowed if that is lowest."""
    found = minimise(passes.objective, constraint.point(theta), at_most=at_most)
    if found is not None and not constraint.allows(found.point.theta):
        best = minimise_over(constraint, passes.objective, [theta])
        found = None if best is None else best.minimum
    return found if found is not None and np.isfinite(found.value) else None


def _has_ended(found: Minimum) -> bool:
    return found.decrement <= 1e-6 * max(abs(found.value), 1e-300)


def _least_determined(model: Model, found: Minimum) -> str:
    """A sentence on the parameters that can change together without a change of J."""
    white, _ = whitening(found.curvature)
    theta = found.point.theta
    direction = found.point.jacobian @ white[:, 0]
    moved = {name: np.abs(jacobian @ direction) for name, jacobian in model.parameter_jacobian(theta).items()}
    largest = max(float(change.max(initial=0.0)) for change in moved.values())
    names = [name for name, change in moved.items() if float(change.max(initial=0.0)) > 0.1 * largest]
    if not 1 <= len(names) <= 4:
        return ""
    together = "entries of it can change together" if len(names) == 1 else "these can change together"
    return f" Least determined: {', '.join(names)}; {together} with hardly a change of the density."


class _Passes:
    """J, its slope 2ē and its Hessian as functions of θ, by passes over rows.

    What the rows contribute whatever θ is, their weights above all, is kept between passes unless that takes too much
    memory.
    """

    def __init__(self, equations: OneWeight, rows: Rows, *, held: bool = True) -> None:
        self._equations, self._rows = equations, rows
        D = rows.region.manifold.embedding_dim
        self._held: list[tuple[WeightTerms, FloatArray | None]] | None = None
        if held and len(rows) * D * (D + 4) <= _HELD_NUMBERS:
            self._held = list(rows.map(lambda block: (equations.terms(block), block.sample_weight)))

    def _map(self, function: Callable[[WeightTerms, FloatArray | None], object]) -> list[object]:
        if self._held is not None:
            return [function(terms, w) for terms, w in self._held]

        def of_block(block: Block) -> object:
            return function(self._equations.terms(block), block.sample_weight)

        return list(self._rows.map(of_block))

    def parts(self, theta: FloatArray) -> FloatArray:
        """Each row's part of J, shape (n,)."""
        return np.concatenate(cast("list[FloatArray]", self._map(lambda terms, _: terms.objective(theta))))

    def value(self, theta: FloatArray) -> float:
        """J(θ)."""

        def sums(terms: WeightTerms, w: FloatArray | None) -> FloatArray:
            values = terms.objective(theta)
            if w is None:
                return np.array([values.sum(), float(len(values))])
            return np.array([w @ values, w.sum()])

        total = np.sum(cast("list[FloatArray]", self._map(sums)), axis=0)
        return float(total[0] / total[1])

    def _expansion(self, theta: FloatArray, slope: bool) -> Expansion:
        parts = cast("list[Expansion]", self._map(lambda terms, w: terms.expansion(theta, w, slope)))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """J, its slope (p,) and its Hessian (p, p), exact where the equations know it, else by differences of ē."""
        nowhere = np.inf, np.zeros(theta.size), np.eye(theta.size)
        if self._equations.has_expansion(theta):
            found = self._expansion(theta, slope=True)
            value, slope, curvature = found.mean_objective, 2.0 * found.mean, 2.0 * found.mean_slope
        else:
            try:
                value = self.value(theta)
                near = linearise(self._equations, self._rows, theta) if np.isfinite(value) else None
            except EstimationError:  # no density at this θ, or at one next to it
                return nowhere
            if near is None:
                return nowhere
            slope, curvature = 2.0 * (near[0] @ theta + near[1]), near[0] + near[0].T
        if not (np.isfinite(value) and np.isfinite(slope).all() and np.isfinite(curvature).all()):
            return nowhere
        return value, slope, curvature

    def descent(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """J and its slope (p,) alone; infinite where there is no density."""
        if self._equations.has_expansion(theta):
            found = self._expansion(theta, slope=False)
            return found.mean_objective, 2.0 * found.mean

        def sums(terms: WeightTerms, w: FloatArray | None) -> FloatArray:
            e = terms.residuals(theta)
            return np.append(e.sum(axis=0), len(e)) if w is None else np.append(w @ e, w.sum())

        try:
            value = self.value(theta)
            total = np.sum(cast("list[FloatArray]", self._map(sums)), axis=0)
        except EstimationError:
            return np.inf, np.zeros(theta.size)
        return value, 2.0 * total[:-1] / total[-1]
