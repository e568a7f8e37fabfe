"""Families whose statistics are spherical harmonics of degree one and two: x and xᵀEx, E traceless.

Such a statistic is the restriction of a harmonic polynomial that is homogeneous of degree g, so on
S^(D−1) everything follows from its Euclidean derivatives:

    ∇t = ∇_E t − g t x,   Δt = −g (g + D − 2) t,   Hess t(v, v) = vᵀ(Hess_E t)v − g t ‖v‖².
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray, row_dots, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.models.constraints import Constraint, minimise_over
from tmsm.models.envelope import AngularEnvelope
from tmsm.models.row_form import RowForm
from tmsm.models.spherical import SphereFamily
from tmsm.models.tangents import Coefficient, Directions, Fluxes
from tmsm.numerics.newton import Objective
from tmsm.numerics.sphere_integral import SphereMixture, sphere_mixture

__all__ = [
    "HarmonicFamily",
    "as_quadratic",
    "form_values",
    "maximum_over",
    "monomial_map",
    "on_great_circle",
    "rotation",
    "rotation_generator",
    "traceless_basis",
]


# From so many rows on, sums of products are compiled, which takes seconds once.
_MANY_ROWS = 10_000


class HarmonicFamily(SphereFamily):
    """log p = l·x + xᵀSx on a sphere, S symmetric and traceless; without l for axial families.

    θ is l, if there is one, followed by the coordinates of S in `traceless_basis`.
    """

    has_linear: ClassVar[bool]
    # So many points of the sphere are one point of the manifold: two where the sign has no meaning.
    copies: ClassVar[int] = 1

    @property
    def size(self) -> int:
        D = self.embedding_dim
        return D * self.has_linear + D * (D + 1) // 2 - 1

    @property
    def row_form(self) -> RowForm | None:
        if self.embedding_dim != 3:
            return None
        return RowForm.of(np.eye(3), (1.0, 1.0, 0.0), 3 * self.has_linear, traceless_basis(3))

    def check_spread(self, X: FloatArray) -> None:
        _check_second_moment(X.T @ X / len(X))

    def _degrees(self, D: int) -> FloatArray:
        return np.repeat([1.0, 2.0], [D * self.has_linear, D * (D + 1) // 2 - 1])

    def statistics(self, X: FloatArray) -> FloatArray:
        quadratic = _forms(X, X)
        return np.hstack([X, quadratic]) if self.has_linear else quadratic

    def gradient(self, X: FloatArray) -> FloatArray:
        n, D = X.shape
        euclidean = 2.0 * np.einsum("kij,nj->nki", traceless_basis(D), X)
        if self.has_linear:
            euclidean = np.concatenate([np.broadcast_to(np.eye(D), (n, D, D)), euclidean], axis=1)
        along = self.statistics(X) * self._degrees(D)
        gradient: FloatArray = euclidean - along[:, :, None] * X[:, None, :]
        return gradient

    def laplacian(self, X: FloatArray) -> FloatArray:
        g = self._degrees(X.shape[1])
        laplacian: FloatArray = self.statistics(X) * (-g * (g + X.shape[1] - 2.0))
        return laplacian

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        out: FloatArray = self.statistics(X) * -self._degrees(X.shape[1])
        out *= row_dots(V, V)[:, None]
        out[:, X.shape[1] * self.has_linear :] += 2.0 * _forms(V, V)
        return out

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        quadratic = 2.0 * _forms(X, V)
        return np.hstack([V, quadratic]) if self.has_linear else quadratic

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        linear, quadratic = self.split(theta)
        psi: FloatArray = X @ (2.0 * quadratic)
        if self.has_linear:
            psi += linear
        psi -= X * row_dots(X, psi)[:, None]
        return psi

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        # ⟨∇t_a, ∇t_b⟩ = ⟨∇_E t_a, ∇_E t_b⟩ − g_a g_b t_a t_b, and the first is affine in x and xxᵀ.
        n, D = X.shape
        E = traceless_basis(D)
        second = self._second_moments(X, weight)
        m = D * self.has_linear
        g = self._degrees(D)
        if self._in_kernels(X):
            total = -self._compiled_gram(X, X, weight)
        else:
            total = self._gram(self._monomials(X, None), weight) * -np.outer(g, g)
        total[m:, m:] += 4.0 * (E @ second).reshape(len(E), -1) @ E.reshape(len(E), -1).T
        if self.has_linear:
            first = weight @ X if isinstance(weight, np.ndarray) else weight * X.sum(axis=0)
            cross = 2.0 * np.einsum("kij,j->ik", E, first)
            total[:m, :m] += np.eye(D) * (float(weight.sum()) if isinstance(weight, np.ndarray) else weight * n)
            total[:m, m:] += cross
            total[m:, :m] += cross.T
        return total

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        D = X.shape[1]
        g = self._degrees(D)
        # t times −g (a (g + D − 2) + Σ c), and 2 c uᵀEu.
        coefficient = np.zeros(len(X)) + isotropic
        across = sum((c for _, c in directions), np.zeros(len(X)))
        out: FloatArray = self.statistics(X) * -g
        out *= coefficient[:, None] * (g + D - 2.0) + across[:, None]
        for u, c in directions:
            out[:, D * self.has_linear :] += (2.0 * c)[:, None] * _forms(u, u)
        return out

    def _monomials(self, X: FloatArray, V: FloatArray | None) -> FloatArray:
        """What ⟨∇t, v⟩ is made of: v, if there is a linear part, and x_i v_j + x_j v_i; of None, x and x_i x_j of t."""
        n, D = X.shape
        i, j = _upper(D)
        m = D * self.has_linear
        out = np.empty((n, m + i.size), order="F")
        if m:
            out[:, :D] = X if V is None else V
        for k, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True), start=m):
            column = out[:, k]
            if V is None:
                np.multiply(X[:, a], X[:, b], out=column)
            elif a == b:
                np.multiply(X[:, a], V[:, a], out=column)
                column *= 2.0
            else:
                np.multiply(X[:, a], V[:, b], out=column)
                column += X[:, b] * V[:, a]
        return out

    def _gram(self, monomials: FloatArray, weight: FloatArray | float) -> FloatArray:
        """The sum of weight sᵀs for functions s of monomials: theirs, mapped."""
        L = _feature_map((monomials.shape[1], self.has_linear))
        return L @ weighted_gram(monomials, weight) @ L.T

    def _second_moments(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        if not self._in_kernels(X):
            return weighted_gram(X, weight)
        from tmsm.numerics.product_sums import product_sum

        return product_sum([(X, X, weight)], None)

    def _in_kernels(self, X: FloatArray) -> bool:
        return not self.has_linear and len(X) >= _MANY_ROWS

    def _compiled_gram(self, X: FloatArray, V: FloatArray, weight: FloatArray | float) -> FloatArray:
        from tmsm.numerics.product_sums import product_gram

        L = _monomial_map(X.shape[1])
        return L.T @ product_gram(X, V, weight) @ L

    def direction_gram(self, X: FloatArray, u: FloatArray, weight: FloatArray) -> FloatArray:
        if self._in_kernels(X):
            return self._compiled_gram(X, u, weight)
        return self._gram(self._monomials(X, u), weight)

    def residual_rows(
        self, X: FloatArray, isotropic: Coefficient, directions: Directions, flux: FloatArray
    ) -> FloatArray:
        # As in `weighted_hessian`, for the monomials: −2(aD + Σc) xx + Σ 2c uu + x flux + flux x, mapped once.
        n, D = X.shape
        across = sum((c for _, c in directions), np.zeros(n))
        if self._in_kernels(X):
            from tmsm.numerics.product_sums import contracted_products

            # −2(aD + Σc) xx + x flux + flux x = x y + y x with y = flux − (aD + Σc) x.
            y = flux - X * (D * isotropic + across)[:, None]
            return contracted_products([(X, y), *((u * c[:, None], u) for u, c in directions)], _monomial_map(D))
        bend = -2.0 * (D * isotropic + across)
        i, j = (index.tolist() for index in _upper(D))
        out, scratch = np.empty((n, len(i)), order="F"), np.empty(n)
        doubled = [(u, 2.0 * c) for u, c in directions]
        for k, (a, b) in enumerate(zip(i, j, strict=True)):
            column = out[:, k]
            np.multiply(X[:, a], X[:, b], out=column)
            column *= bend
            for u, c in doubled:
                np.multiply(u[:, a], u[:, b], out=scratch)
                scratch *= c
                column += scratch
            np.multiply(X[:, a], flux[:, b], out=scratch)
            column += scratch
            np.multiply(X[:, b], flux[:, a], out=scratch)
            column += scratch
        quadratic = out @ _monomial_map(D)
        if not self.has_linear:
            return quadratic
        linear = flux - X * ((D - 1.0) * isotropic + across)[:, None]
        return np.hstack([linear, quadratic])

    def divergence_sum(
        self, X: FloatArray, isotropic: Coefficient, directions: Fluxes, w: FloatArray | None
    ) -> FloatArray:
        # Sums of matrices: a statistic xᵀEx has Δ = −2D xᵀEx, Hess(u, u) = 2uᵀEu − 2xᵀEx, ⟨∇, u⟩ = 2xᵀEu.
        n, D = X.shape
        if self._in_kernels(X):
            from tmsm.numerics.product_sums import product_sum

            bend = sum((c for _, c, _ in directions if c is not None), isotropic * float(D))
            matrix = product_sum([(X, X, -2.0 * bend)], w)
            for u, c, delta in directions:
                matrix += product_sum([(X, u, 2.0 * delta)] + ([] if c is None else [(u, u, 2.0 * c)]), w)
            return self.join(np.zeros(0), matrix)
        one = np.ones(n) if w is None else w
        a: FloatArray = one * isotropic
        across = one * sum((c for _, c, _ in directions if c is not None), np.zeros(n))
        matrix = weighted_gram(X, -2.0 * (D * a + across))
        linear = -(((D - 1.0) * a + across) @ X)
        for u, c, delta in directions:
            if c is not None:
                matrix += weighted_gram(u, 2.0 * one * c)
            along = u * (one * delta)[:, None]
            cross = X.T @ along
            matrix += cross + cross.T
            linear += along.sum(axis=0)
        return self.join(linear, matrix)

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """θ as the vector l, shape (D,), and the traceless matrix S, shape (D, D)."""
        D = _n_coordinates(theta.size, self.has_linear)
        m = D * self.has_linear
        return theta[:m] if m else np.zeros(D), np.tensordot(theta[m:], traceless_basis(D), axes=1)

    def join(self, linear: FloatArray, quadratic: FloatArray) -> FloatArray:
        """θ, shape (p,), from l and a symmetric S, of which the traceless part counts."""
        coordinates: FloatArray = traceless_basis(len(quadratic)).reshape(-1, quadratic.size) @ quadratic.ravel()
        return np.concatenate([linear, coordinates]) if self.has_linear else coordinates

    def log_normaliser(self, theta: FloatArray) -> float:
        return self.mixture(theta)[0].log_integral - float(np.log(self.copies))

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._cumulants(theta)[1:]

    def _cumulants(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log of the integral, its gradient (p,) and Hessian (p, p) in θ."""
        mixture, axes = self.mixture(theta)
        mean, second, covariance = mixture.moments()
        # From (x, x_i x_j) along the principal axes to t: x = V x′ and xᵀEx = x′ᵀ(VᵀEV)x′.
        D = len(axes)
        i, j = _upper(D)
        turned = axes.T @ traceless_basis(D) @ axes
        to_forms = turned[:, i, j] * np.where(i == j, 1.0, 2.0)
        L = np.zeros((theta.size, D + i.size))
        m = D * self.has_linear
        L[:m, :D] = axes[:m]
        L[m:, D:] = to_forms
        return mixture.log_integral, L @ np.concatenate([mean, second[i, j]]), L @ covariance @ L.T

    def mixture(self, theta: FloatArray) -> tuple[SphereMixture, FloatArray]:
        """The density as a mixture along the principal axes of S, which are the columns of the second, (D, D)."""
        linear, quadratic = self.split(theta)
        values, axes = np.linalg.eigh(quadratic)
        return sphere_mixture(values, axes.T @ linear), axes

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        """θ of the largest likelihood, by Newton's method on the sphere's exact integral."""
        constraint, no_curvature = self.constraint, np.zeros((mean.size, mean.size))

        def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            if constraint.only_turns:  # up to a constant
                return -float(theta @ mean), -mean, no_curvature
            log_integral, expected, covariance = self._cumulants(theta)
            return log_integral - float(theta @ mean), expected - mean, covariance

        quadratic = self.split(mean)[1]
        _check_second_moment(np.eye(len(quadratic)) / len(quadratic) + quadratic)
        return maximum_over(constraint, objective, self._likelihood_starts(mean))

    def _likelihood_starts(self, mean: FloatArray) -> list[FloatArray]:
        """Some θ near which to search, from the mean of t."""
        return [np.zeros(mean.size)]

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        return self._envelope(params).draw(n, rng)

    def acceptance(self, **params: Any) -> float:
        """Share of the proposals that the sampler keeps with these parameters, exactly."""
        theta = self.natural_parameters(**params)
        envelope = self._envelope(params)
        return float(np.exp(self.mixture(theta)[0].log_integral - envelope.log_integral))

    def _envelope(self, params: dict[str, Any]) -> AngularEnvelope:
        return AngularEnvelope.over(*self.split(self.natural_parameters(**params)))

    @abstractmethod
    def natural_parameters(self, **params: Any) -> FloatArray:
        """θ, shape (p,), from named parameters."""


@lru_cache(maxsize=64)
def _n_coordinates(p: int, has_linear: bool) -> int:
    """D from the number of statistics."""
    D = 2
    while D * has_linear + D * (D + 1) // 2 - 1 < p:
        D += 1
    return D


@lru_cache(maxsize=32)
def traceless_basis(D: int) -> FloatArray:
    """Orthonormal basis of the traceless symmetric matrices, shape (D(D+1)/2 − 1, D, D).

    First the diagonal ones, (1, …, 1, −k, 0, …)/√(k(k+1)), then (e_i e_jᵀ + e_j e_iᵀ)/√2 for i < j.
    """
    basis = []
    for k in range(1, D):
        diagonal = np.zeros(D)
        diagonal[:k], diagonal[k] = 1.0, -k
        basis.append(np.diag(diagonal) / np.sqrt(k * (k + 1.0)))
    for i, j in zip(*np.triu_indices(D, 1), strict=True):
        matrix = np.zeros((D, D))
        matrix[i, j] = matrix[j, i] = np.sqrt(0.5)
        basis.append(matrix)
    stacked = np.array(basis)
    stacked.flags.writeable = False
    return stacked


def maximum_over(constraint: Constraint, objective: Objective, near: Sequence[FloatArray]) -> FloatArray:
    """θ at which minus the log likelihood is lowest, sought near some θ; an error where there is none."""
    best = minimise_over(constraint, objective, near)
    if best is None:
        raise EstimationError(
            "The likelihood has no maximum that could be found: for this family the rows are too few, nearly on "
            "one great circle, or so close together that a mean and an oval cannot be distinguished. "
            "Use more rows or a smaller family."
        )
    return best.minimum.point.theta


@lru_cache(maxsize=32)
def _upper(D: int) -> tuple[IntArray, IntArray]:
    """Indices i ≤ j; NumPy makes them anew each time."""
    return np.triu_indices(D)


@lru_cache(maxsize=32)
def _monomial_map(D: int) -> FloatArray:
    return monomial_map(traceless_basis(D))


def monomial_map(forms: FloatArray) -> FloatArray:
    """Coefficients of (u_i v_j + u_j v_i)/2, i ≤ j, in uᵀEv for symmetric matrices (q, D, D), (D(D+1)/2, q)."""
    i, j = _upper(forms.shape[1])
    return np.ascontiguousarray((forms[:, i, j] * np.where(i == j, 1.0, 2.0)).T)


def _forms(U: FloatArray, V: FloatArray) -> FloatArray:
    """uᵀEv for every E of the basis, shape (n, q)."""
    return form_values(U, V, _monomial_map(U.shape[1]))


@lru_cache(maxsize=64)
def _feature_map(key: tuple[int, bool]) -> FloatArray:
    """From the monomials of `HarmonicFamily` to its statistics, shape (p, m)."""
    m, has_linear = key
    D = 2
    while D * has_linear + D * (D + 1) // 2 < m:
        D += 1
    forms = _monomial_map(D).T
    # uᵀEv = Σ_{i≤j} … (u_i v_j + u_j v_i)/2: monomials are given without the half off the diagonal, and doubled on it.
    out = np.zeros((D * has_linear + len(forms), m))
    out[: D * has_linear, : D * has_linear] = np.eye(D * has_linear)
    out[D * has_linear :, D * has_linear :] = forms
    return out


def form_values(U: FloatArray, V: FloatArray, coefficients: FloatArray) -> FloatArray:
    """uᵀEv for the matrices of a `monomial_map`, shape (n, q)."""
    i, j = _upper(U.shape[1])
    products = U[:, i] * V[:, j]
    if U is not V:
        products += U[:, j] * V[:, i]
        products *= 0.5
    forms: FloatArray = products @ coefficients
    return forms


def rotation(R: FloatArray, *, linear: bool) -> FloatArray:
    """How θ turns when x is turned by the orthogonal R: an orthogonal matrix, shape (p, p)."""
    E = traceless_basis(len(R))
    return _blocks(R, E.reshape(len(E), -1) @ (R @ E @ R.T).reshape(len(E), -1).T, linear)


def rotation_generator(i: int, j: int, D: int, *, linear: bool) -> FloatArray:
    """Derivative of `rotation` at the identity, in the plane from axis i towards axis j, shape (p, p)."""
    turn = np.zeros((D, D))
    turn[j, i], turn[i, j] = 1.0, -1.0
    E = traceless_basis(D)
    return _blocks(turn, np.einsum("kij,lij->kl", E, turn @ E - E @ turn), linear)


def _blocks(first: FloatArray, second: FloatArray, linear: bool) -> FloatArray:
    if not linear:
        return second
    out = np.zeros((len(first) + len(second),) * 2)
    out[: len(first), : len(first)] = first
    out[len(first) :, len(first) :] = second
    return out


def _check_second_moment(second: FloatArray) -> None:
    """Raise where the mean of xxᵀ, shape (D, D), does not have full rank."""
    if np.linalg.eigvalsh(second)[0] < 1e-12:
        raise on_great_circle()


def on_great_circle() -> EstimationError:
    """Of rows without any spread across a great circle."""
    return EstimationError(
        "All rows lie on one great circle (or great subsphere): the spread across it is zero, and this family "
        "has no finite estimate. Model the points on the circle itself, a sphere of one dimension less."
    )


def as_quadratic(values: Any, name: str = "quadratic") -> FloatArray:
    """A symmetric matrix, made traceless: the trace adds a constant to xᵀSx on a sphere."""
    from tmsm.foundation.validation import as_float_array

    matrix = as_float_array(values, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InvalidInputError(f"{name} must be a square matrix; got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise InvalidInputError(f"{name} must be finite; it has NaN or infinite entries.")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * float(np.abs(matrix).max())):
        raise InvalidInputError(f"{name} must be symmetric.")
    if not np.abs(matrix).max() < 1e10:
        raise InvalidInputError(f"{name} must have entries below 1e+10 in size; got {np.abs(matrix).max():.3g}.")
    matrix = 0.5 * (matrix + matrix.T)
    return matrix - np.eye(len(matrix)) * float(np.trace(matrix) / len(matrix))
