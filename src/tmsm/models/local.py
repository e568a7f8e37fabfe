"""A family of degree one and two on a sphere, written about a centre and in units of a spread: for small regions.

With μ the centre, e_i an orthonormal frame across it and s the spread, the local coordinates of x are

    v_i = e_i·x / s,   h = (1 − μ·x) / s² = ‖x − μ‖² / (2s²),

of order one where the rows are, and h is nearly ‖v‖²/2.  The functions l·x + xᵀSx are, up to a constant, those of

    v_i,  h,  the traceless quadratic forms of v,  v_i h,  h²

(‖v‖² = 2h − s²h²).  So the densities are the same and θ is another.  Near the centre x and xᵀSx hardly differ from
each other: as statistics they lose all digits in a region of some degrees, and these do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray, row_dots
from tmsm.foundation.errors import EstimationError
from tmsm.foundation.values import frozen_array
from tmsm.models.another_form import AnotherForm
from tmsm.models.base import LinearModel
from tmsm.models.constraints import AffineSubspace, Constraint, Unrestricted
from tmsm.models.harmonic import (
    HarmonicFamily,
    form_values,
    maximum_over,
    monomial_map,
    on_great_circle,
    traceless_basis,
)
from tmsm.models.orbits import ovals_about
from tmsm.models.parameters import Parameters
from tmsm.models.row_form import RowForm
from tmsm.numerics.newton import Point

__all__ = ["Local", "LocalSet", "local_form"]

# Rows whose coordinates spread by less than this, in radians, are few enough of a sphere to need local coordinates.
_SMALL = 0.25
# Below this there is nothing but rounding.
_SMALLEST = 1e-9
# A direction in which the log density would fall off by less than this share of its steepest is taken to fall off so.
_FLATTEST = 0.02
# Larger parameters than these cannot be given to a model.
_LARGEST = 1e10
# Distances from the centre at which a mean direction is looked for.
_RINGS = 6
# Where a start may lie at most, in radians from the centre.
_FARTHEST = 1.0


def local_form(model: HarmonicFamily, X: FloatArray) -> LinearModel:
    """The family in the coordinates of rows like X (n, D), where these cover little of the sphere; else itself."""
    total = X.sum(axis=0)
    length = float(np.linalg.norm(total))
    if not length > 0.5 * len(X):
        return model
    centre = total / length
    spread = float(np.sqrt(((X - centre) ** 2).sum() / (len(X) * (X.shape[1] - 1))))
    if not _SMALLEST < spread < _SMALL:
        return model
    # On rounded numbers, so that rows which differ little have the same form, and moments in it can be added.
    unit = 2.0 ** np.round(np.log2(spread))
    centre = np.round(4.0 * centre / unit) * unit / 4.0
    return Local(model, centre / np.linalg.norm(centre), float(unit))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Local(AnotherForm):
    """A family with a linear and a quadratic part, written about a centre, for rows on a small part of the sphere.

    Attributes
    ----------
    model
        The family.
    centre
        The centre μ, shape (D,), of length one.
    spread
        The unit of length, in radians.

    Notes
    -----
    In the methods ``theta`` is θ of this form, or of the family as it was written, and ``direction`` a mean direction.
    """

    model: HarmonicFamily
    centre: FloatArray
    spread: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", frozen_array(self.centre))

    @cached_property
    def _across(self) -> FloatArray:
        """The frame e_i as columns, shape (D, D−1)."""
        return np.ascontiguousarray(np.linalg.svd(self.centre[None, :])[2][1:].T)

    @cached_property
    def _to_local(self) -> FloatArray:
        """The way from x − μ to L = (v, h), shape (D, D)."""
        return np.vstack([self._across.T / self.spread, -self.centre / self.spread**2])

    @cached_property
    def _from_local(self) -> FloatArray:
        """The way back from L to x − μ, shape (D, D)."""
        return np.column_stack([self._across * self.spread, -self.centre * self.spread**2])

    def _coordinates(self, X: FloatArray) -> FloatArray:
        """L = (v, h), shape (n, D)."""
        away = X - self.centre
        L = away @ self._to_local.T
        # From the length, which does not feel how far off the sphere a row is rounded.
        L[:, -1] = row_dots(away, away) / (2.0 * self.spread**2)
        return L

    def _turning(self, L: FloatArray) -> FloatArray:
        """K with ∇L = to_local + K xᵀ and Hess L(v, v) = K ‖v‖², shape (n, D)."""
        K = -L
        K[:, -1] += 1.0 / self.spread**2
        return K

    @property
    def row_form(self) -> RowForm | None:
        if self.centre.size != 3:
            return None
        bend = 1.0 / self.spread**2
        frame = np.column_stack([self._across, self.centre]).T
        return RowForm.of(frame, (1.0 / self.spread, -bend, 0.5 * bend), 3, _local_forms(3))

    def to_original(self) -> FloatArray:
        return self._matrices[0]

    @cached_property
    def _matrices(self) -> tuple[FloatArray, FloatArray]:
        """From θ of this form to that of the family as it was written, and back, shape (p, p) each."""
        D, s = self.centre.size, self.spread
        A, N, F = self._to_local, self._from_local, _local_forms(D)
        offset = np.zeros(D)
        offset[-1] = 1.0 / s**2  # L = offset + A x
        p = D + len(F)
        there, back = np.empty((p, p)), np.empty((p, p))
        for k, unit in enumerate(np.eye(p)):
            form = np.tensordot(unit[D:], F, axes=1)
            there[:, k] = self.model.join(A.T @ (unit[:D] + 2.0 * form @ offset), A.T @ form @ A)
            # l·x + xᵀSx = const + (l + 2Sμ)·N L + LᵀNᵀSN L, and ‖v‖² = 2h − s²h².
            linear, quadratic = self.model.split(unit)
            slope, bend = N.T @ (linear + 2.0 * quadratic @ self.centre), N.T @ quadratic @ N
            mean = float(np.trace(bend[:-1, :-1])) / (D - 1)
            bend[np.arange(D - 1), np.arange(D - 1)] -= mean
            slope[-1] += 2.0 * mean
            bend[-1, -1] -= s**2 * mean
            back[:, k] = np.concatenate([slope, _form_coordinates(bend)])
        return there, back

    def from_original(self, theta: FloatArray) -> FloatArray:
        """θ of this form from that of the family as it was written, shape (p,)."""
        local: FloatArray = self._matrices[1] @ theta
        return local

    def statistics(self, X: FloatArray) -> FloatArray:
        L = self._coordinates(X)
        return np.hstack([L, _forms(L, L)])

    def gradient(self, X: FloatArray) -> FloatArray:
        L = self._coordinates(X)
        slopes = self._to_local + self._turning(L)[:, :, None] * X[:, None, :]  # ∇L, (n, D, D)
        forms = 2.0 * np.einsum("kij,nj->nki", _local_forms(X.shape[1]), L) @ slopes
        return np.concatenate([slopes, forms], axis=1)

    def laplacian(self, X: FloatArray) -> FloatArray:
        L = self._coordinates(X)
        K = self._turning(L)
        D = X.shape[1]
        dim = D - 1
        # ⟨∇L_i, ∇L_j⟩ = (to_local to_localᵀ)_ij − K_i K_j; of h with itself h (2/s² − h).
        i, j = _upper(D)
        products = -K[:, i] * K[:, j]
        across = (i == j) & (i < dim)
        products[:, across] += 1.0 / self.spread**2
        products[:, -1] = L[:, -1] * (2.0 / self.spread**2 - L[:, -1])
        return np.hstack([dim * K, 2.0 * dim * _forms(L, K) + 2.0 * products @ _coefficients(D)])

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        L = self._coordinates(X)
        K = self._turning(L)
        along = V @ self._to_local.T
        out = np.hstack([K, 2.0 * _forms(L, K)]) * row_dots(V, V)[:, None]
        out[:, X.shape[1] :] += 2.0 * _forms(along, along)
        return out

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        along = V @ self._to_local.T
        return np.hstack([along, 2.0 * _forms(self._coordinates(X), along)])

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        D = X.shape[1]
        L = self._coordinates(X)
        slope = theta[:D] + 2.0 * (L @ np.tensordot(theta[D:], _local_forms(D), axes=1))
        psi: FloatArray = slope @ self._to_local
        psi += X * row_dots(slope, self._turning(L))[:, None]
        return psi

    def make_constraint(self) -> Constraint:
        return self._seen_locally(self.model.constraint)

    def cautions(self, theta: FloatArray, covariance: FloatArray) -> list[str]:
        """Which parameters of a family without a constraint a small region leaves open.

        There a density is its slope, its bend and little else: terms of third and fourth order stand for most of θ.
        A direction of θ counts as determined if its error is below the concentration that rows with this spread have.
        """
        if not isinstance(self.model.constraint, Unrestricted):
            return []
        there = self._matrices[0]
        original = there @ covariance @ there.T
        scale = 1.0 / self.spread**2
        # The determined directions, counted from the local form, whose numbers differ less in size.
        sizes = np.linalg.svd(there @ _root(covariance), compute_uv=False) / scale
        determined = int(np.count_nonzero(sizes <= 1.0))
        if determined == theta.size:
            return []
        jacobian = self.model.parameter_jacobian(there @ theta)
        errors = {name: float(np.sqrt(np.diag(J @ original @ J.T).max())) for name, J in jacobian.items()}
        open_ = [f"{name} (standard error up to {error:.2g})" for name, error in errors.items() if error > scale]
        return [
            f"The rows extend over so little of the sphere (about {np.degrees(self.spread):.2g} degrees) that they "
            f"determine only {determined} of the {theta.size} parameters; not determined: {' and '.join(open_)}. "
            "What they do determine is the density inside the region. "
            f"For parameters with a meaning use {self._smaller}."
        ]

    @property
    def _smaller(self) -> str:
        """Families with fewer parameters, in words."""
        flat = isinstance(self.model.constraint, Unrestricted)
        return "Kent() or VonMisesFisher()" if flat and self.centre.size == 3 else "VonMisesFisher()"

    def parameters(self, theta: FloatArray) -> Parameters:
        original = self._matrices[0] @ theta
        largest = float(np.abs(original).max())
        if not largest < _LARGEST:
            raise EstimationError(
                f"The rows extend over so little of the sphere (about {np.degrees(self.spread):.2g} degrees) that "
                f"{type(self.model).__name__} cannot be estimated: its parameters would be as large as {largest:.1e} "
                f"and cancel each other. Use {self._smaller}, or project the rows to a plane and use "
                "MultivariateNormal()."
            )
        return self.model.parameters(original)

    def slice(self, name: str, value: Any) -> Constraint | None:
        constraint = self.model.slice(name, value)
        return None if constraint is None else self._seen_locally(constraint)

    def _seen_locally(self, constraint: Constraint) -> Constraint:
        """A set of the family's own θ, in θ of this form."""
        back = self._matrices[1]
        if isinstance(constraint, AffineSubspace):
            return AffineSubspace(back @ constraint.offset, np.linalg.qr(back @ constraint.basis)[0])
        return constraint if isinstance(constraint, Unrestricted) else LocalSet(self, constraint)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        there = self._matrices[0]
        inner = self.model.parameter_jacobian(there @ theta)
        constraint = self.model.constraint
        if isinstance(constraint, Unrestricted):
            return {name: jacobian @ there for name, jacobian in inner.items()}
        # Along the set, in its own coordinates: what leads away from it must not be multiplied by powers of 1/s.
        along = constraint.point(there @ theta).jacobian
        steps = self._matrices[1] @ along
        size = np.linalg.norm(steps, axis=0)
        inverse = np.linalg.pinv(steps / size) / size[:, None]
        return {name: jacobian @ along @ inverse for name, jacobian in inner.items()}

    def natural_parameters(self, **params: Any) -> FloatArray:
        return self.from_original(self.model.natural_parameters(**params))

    def log_normaliser(self, theta: FloatArray) -> float:
        mixture, axes = self.model.mixture(self._matrices[0] @ theta)
        return mixture.log_integral_about(axes.T @ self.centre)

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._cumulants(theta)[1:]

    def _cumulants(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log of the integral, its gradient (p,) and Hessian (p, p) in θ."""
        mixture, axes = self.model.mixture(self._matrices[0] @ theta)
        # Moments of y = x − μ along the principal axes, and L = (to_local axes) y.
        centre = axes.T @ self.centre
        mean, second, covariance = mixture.moments(centre)
        D = self.centre.size
        i, j = _upper(D)
        turned = self._to_local @ axes
        forms = turned.T @ _local_forms(D) @ turned
        to_statistics = np.zeros((theta.size, D + i.size))
        to_statistics[:D, :D] = turned
        to_statistics[D:, D:] = forms[:, i, j] * np.where(i == j, 1.0, 2.0)
        expected = to_statistics @ np.concatenate([mean, second[i, j]])
        return mixture.log_integral_about(centre), expected, to_statistics @ covariance @ to_statistics.T

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        """θ of the largest likelihood, by Newton's method from the normal density with these moments."""
        constraint = self.constraint
        D = self.centre.size

        def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            log_integral, expected, covariance = self._cumulants(theta)
            return log_integral - float(theta @ mean), expected - mean, covariance

        form = np.tensordot(mean[D:], _dual_forms(D), axes=1)
        # ‖v‖² = 2h − s²h².
        second = form[:-1, :-1] + np.eye(D - 1) * (2.0 * mean[D - 1] - self.spread**2 * mean[-1]) / (D - 1)
        covariance = second - np.outer(mean[: D - 1], mean[: D - 1])
        values = np.linalg.eigvalsh(covariance)
        if not values[0] > 1e-12 * values[-1]:
            raise on_great_circle()
        start = self.normal_near(mean[: D - 1], np.linalg.inv(covariance))
        return maximum_over(constraint, objective, [start])

    def normal_near(self, mode: FloatArray, precision: FloatArray) -> FloatArray:
        """θ of the density nearest to a normal one of v, with its mode (D−1,) and precision (D−1, D−1).

        log p = κ m·x + xᵀSx, S across m and traceless there, falls off from m with precision κ − 2S.  A direction
        in which the precision is not positive is given a small one.
        """
        values, vectors = np.linalg.eigh(precision)
        values = np.maximum(values, _FLATTEST * max(float(np.abs(values).max()), 1e-300)) / self.spread**2
        kappa = float(values.mean())
        away = self.spread * (self._across @ mode)
        length = float(np.linalg.norm(away))
        away *= min(1.0, _FARTHEST / max(length, 1e-300))
        m = self.centre + away
        m /= np.linalg.norm(m)
        # The axes, moved along the geodesic from the centre to m.
        axes = self._across @ vectors
        total = self.centre + m
        axes -= np.outer(total, m @ axes) / (1.0 + float(self.centre @ m))
        quadratic = axes @ np.diag(0.5 * (kappa - values)) @ axes.T
        return self.from_original(self.model.join(kappa * m, quadratic))

    @property
    def normal_statistics(self) -> IntArray:
        """Which statistics a normal density of v has: v, its quadratic forms, and h for ‖v‖²/2."""
        D = self.centre.size
        return np.arange(D + D * (D - 1) // 2 - 1)

    def normal_from(self, theta: FloatArray) -> FloatArray:
        """θ of the family near a normal density, given by coefficients of `normal_statistics` in θ."""
        D = self.centre.size
        form = np.tensordot(theta[D:], _local_forms(D), axes=1)[:-1, :-1]
        precision = -2.0 * form - theta[D - 1] * np.eye(D - 1)
        values, vectors = np.linalg.eigh(precision)
        largest = max(float(np.abs(values).max()), 1e-300)
        values = np.maximum(values, _FLATTEST * largest)
        mode = vectors @ ((vectors.T @ theta[: D - 1]) / values)
        return self.normal_near(mode, vectors @ np.diag(values) @ vectors.T)

    def directions(self) -> FloatArray:
        """Directions to look for a mean in, shape (m, D): the centre, and others up to a right angle from it."""
        D = self.centre.size
        axes = np.eye(D - 1)
        i, j = np.triu_indices(D - 1, 1)
        turns = np.vstack([axes, np.sqrt(0.5) * (axes[i] + axes[j]), np.sqrt(0.5) * (axes[i] - axes[j])])
        away = np.vstack([turns, -turns]) @ self._across.T
        angles = np.geomspace(self.spread, 0.5 * np.pi, _RINGS)
        rings = [np.cos(angle) * self.centre + np.sin(angle) * away for angle in angles]
        return np.vstack([self.centre, *rings])

    def ovals_about(self, direction: FloatArray) -> FloatArray:
        """`orbits.ovals_about` in θ of this form, shape (p, …)."""
        columns: FloatArray = self._matrices[1] @ ovals_about(direction)
        return columns


@final
@dataclass(frozen=True)
class LocalSet(Constraint):
    """A set of natural parameters, written in those of a `Local` form."""

    local: Local
    original: Constraint

    @property
    def n_free(self) -> int:
        return self.original.n_free

    @property
    def only_turns(self) -> bool:
        return self.original.only_turns

    def _original(self, theta: FloatArray) -> FloatArray:
        return self.local.to_original() @ theta

    def point(self, theta: FloatArray) -> Point:
        return _LocalPoint(self.local, self.original.point(self._original(theta)))

    def allows(self, theta: FloatArray) -> bool:
        return self.original.allows(self._original(theta))

    def borders(self) -> Sequence[Constraint]:
        return [self.local._seen_locally(border) for border in self.original.borders()]

    def describe(self, theta: FloatArray, on_border: bool) -> str:
        return self.original.describe(self._original(theta), on_border)

    def tangent(self, theta: FloatArray) -> FloatArray:
        jacobian = self.point(theta).jacobian
        basis: FloatArray = np.linalg.qr(jacobian / np.linalg.norm(jacobian, axis=0))[0]
        return basis


class _LocalPoint(Point):
    """A point of the set as it was written; θ is that of the local form."""

    def __init__(self, local: Local, original: Point) -> None:
        self.local, self.original = local, original
        self.theta = local.from_original(original.theta)

    @property
    def jacobian(self) -> FloatArray:
        return self.local._matrices[1] @ self.original.jacobian

    def bend(self, covector: FloatArray) -> FloatArray:
        return self.original.bend(covector @ self.local._matrices[1])

    def moved(self, step: FloatArray) -> Point:
        return _LocalPoint(self.local, self.original.moved(step))


def _root(covariance: FloatArray) -> FloatArray:
    """A matrix R with R Rᵀ = covariance, shape (p, p)."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    root: FloatArray = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return root


@lru_cache(maxsize=32)
def _upper(D: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(D)


@lru_cache(maxsize=32)
def _local_forms(D: int) -> FloatArray:
    """The quadratic statistics as matrices on L = (v, h), shape (q, D, D): traceless ones of v, v_i h, h²."""
    across = traceless_basis(D - 1) if D > 2 else np.zeros((0, 1, 1))
    forms = np.zeros((len(across) + D, D, D))
    forms[: len(across), :-1, :-1] = across
    for k in range(D - 1):
        forms[len(across) + k, k, -1] = forms[len(across) + k, -1, k] = 0.5
    forms[-1, -1, -1] = 1.0
    forms.flags.writeable = False
    return forms


@lru_cache(maxsize=32)
def _dual_forms(D: int) -> FloatArray:
    """Matrices G_k, shape (q, D, D), with tr(F_k G_l) = δ_kl: from values of the forms back to products of L."""
    F = _local_forms(D)
    duals: FloatArray = F / np.einsum("kij,kij->k", F, F)[:, None, None]
    return duals


def _form_coordinates(matrix: FloatArray) -> FloatArray:
    """Coefficients of a symmetric matrix, traceless across, in the local forms, shape (q,)."""
    coordinates: FloatArray = np.einsum("kij,ij->k", _dual_forms(len(matrix)), matrix)
    return coordinates


@lru_cache(maxsize=32)
def _coefficients(D: int) -> FloatArray:
    return monomial_map(_local_forms(D))


def _forms(U: FloatArray, V: FloatArray) -> FloatArray:
    """uᵀFv for every local form, shape (n, q)."""
    return form_values(U, V, _coefficients(U.shape[1]))
