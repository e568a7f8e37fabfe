"""(A, b) becomes an estimate: minimise θᵀAθ + 2bᵀθ over the set that the model allows."""

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.models.constraints import AffineSubspace, Best, Constraint, FixedNorm, Unrestricted, minimise_over
from tmsm.models.local import LocalSet
from tmsm.models.orbits import RotationOrbit, ovals_about
from tmsm.models.product_sets import ProductConstraint, block_diagonal
from tmsm.models.torus_orbits import TorusOrbit
from tmsm.numerics.newton import Objective, minimise
from tmsm.numerics.scaling import condition_number, inverse_scaled, scaled_to_unit
from tmsm.numerics.sphere_quadratics import minimise_on_sphere

__all__ = ["MAX_CONDITION", "Solution", "solve", "solve_near"]

# Beyond it fewer than four digits of θ would be left.
MAX_CONDITION = 1e12
# Of the mean directions that are tried in a small region, so many are followed.
_STARTS = 3


@dataclass(frozen=True)
class Solution:
    """The minimiser and what its error depends on.

    Attributes
    ----------
    theta
        θ̂, shape (p,).
    tangent
        Basis of the directions in which θ may move at θ̂, shape (p, k).
    curvature
        Hessian of J/2 in these coordinates, the bend of a curved set included, shape (k, k).
    condition
        Condition number of A after scaling its diagonal to one.
    status
        One sentence: what was found, and what to be wary of.
    """

    theta: FloatArray
    tangent: FloatArray
    curvature: FloatArray
    condition: float
    status: str


@singledispatch
def solve(constraint: Constraint, A: FloatArray, b: FloatArray) -> Solution:
    """Minimise θᵀAθ + 2bᵀθ over the constraint; a singular A is reported, never inverted."""
    raise NotImplementedError(f"There is no solver for {type(constraint).__name__}.")


@solve.register
def _linear(constraint: Unrestricted, A: FloatArray, b: FloatArray) -> Solution:
    theta, condition = _solve_positive(A, -b)
    return Solution(theta, constraint.tangent(theta), A, condition, "The unique minimum, in closed form.")


@solve.register
def _affine(constraint: AffineSubspace, A: FloatArray, b: FloatArray) -> Solution:
    T, offset = constraint.basis, constraint.offset
    curvature = T.T @ A @ T
    phi, condition = _solve_positive(curvature, -T.T @ (A @ offset + b))
    return Solution(offset + T @ phi, T, curvature, condition, "The unique minimum, in closed form.")


@solve.register
def _on_sphere(constraint: FixedNorm, A: FloatArray, b: FloatArray) -> Solution:
    values, vectors = np.linalg.eigh(A)
    if not values[-1] > 0.0:
        raise EstimationError(_singular(np.inf))
    coefficients = vectors.T @ b
    # What is rounding noise must not choose between the two minima of the hard case.
    noise = 1e-14 * (np.linalg.norm(b) + values[-1] * constraint.radius)
    coefficients[np.abs(coefficients) <= noise] = 0.0
    rows, multiplier, hard = minimise_on_sphere(values, coefficients[None, :], constraint.radius)
    theta = vectors @ rows[0]
    tangent = constraint.tangent(theta)
    curvature = tangent.T @ (A + float(multiplier[0]) * np.eye(b.size)) @ tangent
    values = np.linalg.eigvalsh(curvature)
    condition = float(values[-1] / values[0]) if values[0] > 0.0 else np.inf
    if condition > MAX_CONDITION:
        raise EstimationError(
            _singular(condition) if not hard[0] else "A whole circle of directions fits equally well at the known norm."
        )
    status = "The global minimum at the known norm."
    if hard[0]:
        status = (
            "Two directions fit equally well at the known norm (the hard case); one of them is given. "
            "The data do not distinguish them."
        )
    return Solution(theta, tangent, curvature, condition, status)


@solve.register
def _on_orbit(constraint: RotationOrbit, A: FloatArray, b: FloatArray) -> Solution:
    if not (np.isfinite(A).all() and np.trace(A) > 0.0):
        raise EstimationError(_singular(np.inf))
    best = minimise_over(constraint, _quadratic(A, b), _near(constraint, A, b))
    return _ended(constraint, A, b, best)


@solve.register
def _on_local_set(constraint: LocalSet, A: FloatArray, b: FloatArray) -> Solution:
    if not (np.isfinite(A).all() and np.trace(A) > 0.0):
        raise EstimationError(_singular(np.inf))
    return _ended(constraint, A, b, minimise_over(constraint, _quadratic(A, b), _near_locally(constraint, A, b)))


@solve.register
def _on_torus_orbit(constraint: TorusOrbit, A: FloatArray, b: FloatArray) -> Solution:
    if not (np.isfinite(A).all() and np.trace(A) > 0.0):
        raise EstimationError(_singular(np.inf))
    # The minimum over all θ, that of independent angles, and the best of means all over the torus.
    every = np.eye(b.size)
    near = [_minimum_in(every, A, b), _minimum_in(every[:, : 2 * constraint.dim], A, b)]
    near += constraint.scan(A, b, _STARTS)
    return _ended(constraint, A, b, minimise_over(constraint, _quadratic(A, b), near))


@solve.register
def _on_product(constraint: ProductConstraint, A: FloatArray, b: FloatArray) -> Solution:
    """Part by part where A has no entries between the parts, and from there where it has."""
    blocks = constraint.blocks
    alone = [solve(part, A[own, own], b[own]) for part, own in zip(constraint.parts, blocks, strict=True)]
    theta = np.concatenate([found.theta for found in alone])
    between = A - block_diagonal([A[own, own] for own in blocks])
    if between.any():
        return _ended(constraint, A, b, minimise_over(constraint, _quadratic(A, b), [theta]))
    return Solution(
        theta,
        block_diagonal([found.tangent for found in alone]),
        block_diagonal([found.curvature for found in alone]),
        max(found.condition for found in alone),
        " ".join(dict.fromkeys(found.status for found in alone if found.status)),
    )


def solve_near(constraint: Constraint, A: FloatArray, b: FloatArray, theta: FloatArray) -> Solution:
    """Like `solve`, but on a curved set the minimum next to a given θ of it."""
    if constraint.is_flat:
        return solve(constraint, A, b)
    objective = _quadratic(A, b)
    found = minimise(objective, constraint.point(theta))
    if found is not None and found.reached and constraint.allows(found.point.theta):
        return _ended(constraint, A, b, Best(found, on_border=False))
    return _ended(constraint, A, b, minimise_over(constraint, objective, [theta]))


def _quadratic(A: FloatArray, b: FloatArray) -> Objective:
    def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        slope = A @ theta + b
        return float(theta @ (slope + b)), 2.0 * slope, 2.0 * A

    return objective


def _ended(constraint: Constraint, A: FloatArray, b: FloatArray, best: Best | None) -> Solution:
    """The solution at a minimum that a search found."""
    if best is None:
        raise EstimationError(
            "The search for the best parameters did not end: the rows may be too few for this family."
        )
    theta = best.minimum.point.theta
    point = constraint.point(theta)
    J = point.jacobian
    curvature = J.T @ A @ J
    if not best.on_border:
        curvature += point.bend(A @ theta + b)
    condition = condition_number(curvature)
    if not condition <= MAX_CONDITION:
        axes = (
            "" if isinstance(constraint, TorusOrbit) else " Where the oval is nearly round, its axes are undetermined."
        )
        raise EstimationError(_singular(condition) + axes)
    return Solution(theta, J, curvature, condition, constraint.describe(theta, best.on_border))


def _near(constraint: RotationOrbit, A: FloatArray, b: FloatArray) -> list[FloatArray]:
    """Where to begin: the minimum over all θ, and that with the mean direction of its linear part alone.

    At high concentration the linear and the quadratic part hardly differ on the rows, and the first one's mean
    direction may be far off.  Given a mean direction μ, the shapes across it are a linear space.
    """
    near = [_minimum_in(np.eye(b.size), A, b)]
    if constraint.linear:
        D = constraint.embedding_dim
        alone = _minimum_in(np.eye(b.size, D), A, b)
        near.append(_minimum_in(ovals_about(alone[:D]), A, b))
    return near


def _near_locally(constraint: LocalSet, A: FloatArray, b: FloatArray) -> list[FloatArray]:
    """Where to begin in a small region: the best normal density there, and the best of some mean directions.

    Given a mean direction, the shapes across it are a linear space; a direction and its opposite have the same one.
    """
    local = constraint.local
    normal = _minimum_in(np.eye(b.size)[:, local.normal_statistics], A, b)
    found = [_minimum_in(local.ovals_about(direction), A, b) for direction in local.directions()]
    order = np.argsort([float(theta @ A @ theta + 2.0 * b @ theta) for theta in found])
    ranked = [found[k] for k in order]
    allowed = [theta for theta in ranked if constraint.allows(theta)]
    return [local.normal_from(normal), *allowed[:_STARTS], *ranked[:_STARTS]]


def _minimum_in(basis: FloatArray, A: FloatArray, b: FloatArray) -> FloatArray:
    """The θ in the span of some columns (p, k) with the lowest θᵀAθ + 2bᵀθ."""
    found: FloatArray = -basis @ (inverse_scaled(basis.T @ A @ basis, 1.0 / MAX_CONDITION) @ (basis.T @ b))
    return found


def _solve_positive(A: FloatArray, rhs: FloatArray) -> tuple[FloatArray, float]:
    """Solve A x = rhs for a symmetric positive definite A, scaled to a unit diagonal first."""
    diagonal = np.diag(A)
    if not ((diagonal > 0.0).all() and np.isfinite(A).all()):
        raise EstimationError(_singular(np.inf))
    unit, scale = scaled_to_unit(A)
    values, vectors = np.linalg.eigh(unit)
    condition = float(values[-1] / values[0]) if values[0] > 0.0 else np.inf
    if not condition <= MAX_CONDITION:
        raise EstimationError(_singular(condition))
    return scale * (vectors @ ((vectors.T @ (scale * rhs)) / values)), condition


def _singular(condition: float) -> str:
    size = "singular" if np.isinf(condition) else f"nearly singular (condition number {condition:.1e})"
    return (
        f"The matrix A of the estimate is {size}: the rows do not determine every parameter. "
        "Use more distinct rows, fix a parameter that is known, and in flat space centre and scale the columns."
    )
