"""The multivariate normal family on R^d."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import as_float_array, check_flag, check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Euclidean, Manifold
from tmsm.models.base import LinearModel
from tmsm.models.constraints import AffineSubspace, Constraint, HalfLine, Unrestricted
from tmsm.models.parameters import Field, Parameters
from tmsm.models.translated import Translated
from tmsm.numerics.scaling import scaled_to_unit

__all__ = ["MultivariateNormal"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class MultivariateNormal(LinearModel):
    """Multivariate normal family on R^d.

    With the precision Λ = Σ⁻¹: θ = (Λμ, Λ_ij for i ≤ j) and t = (x, −½x_i² or −x_i x_j).

    Parameters
    ----------
    covariance
        Σ if it is known, shape (d, d), else None: estimated.
    isotropic
        Whether Σ is σ²I with an unknown σ: the same spread in every direction.

    Examples
    --------
    >>> import tmsm
    >>> X = tmsm.MultivariateNormal().sample(
    ...     4, random_state=0, mean=[0.0, 1.0], covariance=[[1.0, 0.0], [0.0, 2.0]]
    ... )
    >>> X.shape
    (4, 2)
    """

    covariance: FloatArray | None = None
    isotropic: bool = False

    home = Euclidean
    fields = (Field("mean", is_centre=True), Field("covariance", is_covariance=True))

    def __init__(self, covariance: ArrayLike | None = None, *, isotropic: bool = False) -> None:
        known = None if covariance is None else frozen_array(_check_covariance(covariance))
        object.__setattr__(self, "covariance", known)
        object.__setattr__(self, "isotropic", check_flag(isotropic, "isotropic"))
        if isotropic and known is not None:
            raise InvalidInputError("isotropic=True is for a covariance that is to be estimated; this one is known.")

    def __repr__(self) -> str:
        known = None if self.covariance is None else self.covariance.tolist()
        return "MultivariateNormal(isotropic=True)" if self.isotropic else f"MultivariateNormal(covariance={known!r})"

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "flat space", " On a sphere use VonMisesFisher."

    def usual_manifold(self, n_columns: int) -> Manifold:
        return Euclidean(n_columns)

    def check_manifold(self, manifold: Manifold) -> None:
        super().check_manifold(manifold)
        if self.covariance is not None and len(self.covariance) != manifold.dim:
            raise InvalidInputError(
                f"The known covariance is for {len(self.covariance)} coordinates, the region has {manifold.dim}."
            )

    @property
    def size(self) -> int:
        return _n_statistics(self.embedding_dim)

    def statistics(self, X: FloatArray) -> FloatArray:
        i, j = np.triu_indices(X.shape[1])
        return np.hstack([X, -_multiplicity(i, j) * X[:, i] * X[:, j]])

    def gradient(self, X: FloatArray) -> FloatArray:
        n, d = X.shape
        out = np.zeros((n, _n_statistics(d), d), order="F")
        for k in range(d):
            out[:, k, k] = 1.0
        for k, (i, j) in enumerate(zip(*np.triu_indices(d), strict=True), start=d):
            out[:, k, i] = -X[:, j]
            out[:, k, j] = -X[:, i]
        return out

    def laplacian(self, X: FloatArray) -> FloatArray:
        n, d = X.shape
        i, j = np.triu_indices(d)
        constant = np.concatenate([np.zeros(d), np.where(i == j, -1.0, 0.0)])
        return np.broadcast_to(constant, (n, constant.size))

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        i, j = np.triu_indices(X.shape[1])
        return np.hstack([np.zeros_like(X), -2.0 * _multiplicity(i, j) * V[:, i] * V[:, j]])

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        i, j = np.triu_indices(X.shape[1])
        return np.hstack([V, -_multiplicity(i, j) * (X[:, i] * V[:, j] + X[:, j] * V[:, i])])

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        d = X.shape[1]
        psi: FloatArray = theta[:d] - X @ _precision(theta, d)
        return psi

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        # Each ∇t_a is affine in x, B_a (1, x), so the sum only needs that of (1, x)(1, x)ᵀ.
        n, d = X.shape
        B = self.gradient(np.vstack([np.zeros(d), np.eye(d)]))  # at 0 and at the unit vectors
        B[1:] -= B[0]
        second = weighted_gram(np.column_stack([np.ones(n), X]), weight)
        flat = B.transpose(1, 2, 0).reshape(-1, d, d + 1)
        gram: FloatArray = np.einsum("aij,bij->ab", flat @ second, flat, optimize=True)
        return gram

    def make_constraint(self) -> Constraint:
        p, d = self.size, self.embedding_dim
        if self.isotropic:
            return AffineSubspace(np.zeros(p), _isotropic_basis(d))
        if self.covariance is None:
            return Unrestricted(p)
        offset = np.zeros(p)
        offset[d:] = _inverse(self.covariance)[np.triu_indices(d)]
        return AffineSubspace(offset, np.eye(p)[:, :d])

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name != "mean":
            return None
        mean = np.asarray(value, dtype=np.float64)
        if self.covariance is not None:
            return AffineSubspace(self.natural_parameters(mean=mean), np.zeros((_n_statistics(mean.size), 0)))
        # Given μ, θ = (Λμ, Λ) is linear in Λ.
        columns, d = [], mean.size
        for i, j in zip(*np.triu_indices(d), strict=True):
            change = np.zeros((d, d))
            change[i, j] = change[j, i] = 1.0
            columns.append(np.concatenate([change @ mean, change[np.triu_indices(d)]]))
        if self.isotropic or d == 1:
            ray = np.concatenate([mean, np.eye(d)[np.triu_indices(d)]])
            return HalfLine(np.zeros(ray.size), ray / np.linalg.norm(ray))
        # Λ is not kept positive definite: the set is a little too large where the rows show no curvature.
        return AffineSubspace(np.zeros(len(columns[0])), np.linalg.qr(np.array(columns).T)[0])

    def admits(self, theta: FloatArray) -> bool:
        precision = _precision(theta, _n_coordinates(theta.size))
        return bool((np.diag(precision) > 0.0).all()) and _lowest(precision) > 0.0

    def parameters(self, theta: FloatArray) -> Parameters:
        d = _n_coordinates(theta.size)
        precision = _precision(theta, d)
        if not (np.diag(precision) > 0.0).all() or not (lowest := _lowest(precision)) > 0.0:
            lowest = float(np.linalg.eigvalsh(precision)[0])
            raise EstimationError(
                f"The estimated precision matrix is not positive definite (smallest eigenvalue {lowest:.3g}): "
                "inside this region the rows do not show the curvature of a normal density. "
                "Use more rows, a known covariance, or another model."
            )
        covariance = _inverse(precision) if self.covariance is None else np.array(self.covariance)
        return Parameters(mean=covariance @ theta[:d], covariance=covariance)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        params = self.parameters(theta)
        mean, covariance = params.mean, params.covariance
        p, d = theta.size, mean.size
        mean_jacobian = np.zeros((d, p))
        covariance_jacobian = np.zeros((d * d, p))
        mean_jacobian[:, :d] = covariance
        for k, (i, j) in enumerate(zip(*np.triu_indices(d), strict=True), start=d):
            change = np.zeros((d, d))
            change[i, j] = change[j, i] = 1.0
            mean_jacobian[:, k] = -covariance @ change @ mean  # dμ = −Σ dΛ μ
            covariance_jacobian[:, k] = -(covariance @ change @ covariance).ravel()  # dΣ = −Σ dΛ Σ
        return {"mean": mean_jacobian, "covariance": covariance_jacobian}

    def natural_parameters(  # type: ignore[override]
        self, *, mean: ArrayLike, covariance: ArrayLike | None = None
    ) -> FloatArray:
        mu, sigma = self._mean_and_covariance(mean, covariance)
        precision = _inverse(sigma)
        return np.concatenate([precision @ mu, precision[np.triu_indices(mu.size)]])

    def centred(self, X: FloatArray) -> LinearModel:
        extent = np.ptp(X, axis=0)
        if extent.min() > 0.0 and extent.max() > 1e7 * extent.min():
            raise InvalidInputError(
                f"The columns of X extend over {extent.min():.3g} to {extent.max():.3g}: too unequal for squares of "
                "the one to be seen beside the other. Bring them to similar units."
            )
        return Translated(self, X.mean(axis=0))

    def translation(self, origin: FloatArray) -> FloatArray:
        # Λ(μ − c) becomes Λμ by adding Λc; Λ stays.
        d = origin.size
        matrix = np.eye(_n_statistics(d))
        for k, (i, j) in enumerate(zip(*np.triu_indices(d), strict=True), start=d):
            matrix[i, k] = origin[j]
            matrix[j, k] = origin[i]
        return matrix

    def translated(self, params: Parameters, by: FloatArray) -> Parameters:
        return Parameters(**{**params, "mean": np.asarray(params["mean"]) + by})

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        d = _n_coordinates(mean.size)
        i, j = np.triu_indices(d)
        mu = mean[:d]
        if self.covariance is not None:
            return self.natural_parameters(mean=mu)
        second = np.empty((d, d))
        second[i, j] = second[j, i] = -mean[d:] / _multiplicity(i, j)
        sigma = second - np.outer(mu, mu)
        if self.isotropic:
            sigma = np.eye(d) * (float(np.trace(sigma)) / d)
        if not (np.diag(sigma) > 0.0).all() or not _lowest(sigma) > 1e-12:
            raise EstimationError("The sample covariance is singular: all rows are identical or lie in a plane.")
        return self.natural_parameters(mean=mu, covariance=sigma)

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        # −½ ‖L⁻¹(x − μ)‖², Σ = LLᵀ: no digits are lost to coordinates far from 0.
        params = self.parameters(theta)
        scaled = np.linalg.solve(np.linalg.cholesky(params.covariance), (X - params.mean).T)
        kernel: FloatArray = -0.5 * (scaled**2).sum(axis=0)
        return kernel

    def log_normaliser(self, theta: FloatArray) -> float:
        covariance = self.parameters(theta).covariance
        return 0.5 * (len(covariance) * float(np.log(2.0 * np.pi)) + float(np.linalg.slogdet(covariance)[1]))

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        params = self.parameters(theta)
        reach = 9.0 * np.sqrt(np.diag(params.covariance))
        return params.mean - reach, params.mean + reach

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        params = self.parameters(theta)
        mu, sigma = params.mean, params.covariance
        d = mu.size
        i, j = np.triu_indices(d)
        m = _multiplicity(i, j)
        out = np.empty((theta.size, theta.size))
        out[:d, :d] = sigma
        # Isserlis: cov(x_k, x_i x_j) = σ_ki μ_j + σ_kj μ_i
        out[:d, d:] = -m * (sigma[:, i] * mu[j] + sigma[:, j] * mu[i])
        out[d:, :d] = out[:d, d:].T
        quartic = np.zeros((i.size, i.size))
        for a, b in ((i, j), (j, i)):
            cross = sigma[np.ix_(a, i)] * (sigma[np.ix_(b, j)] + np.outer(mu[b], mu[j]))
            quartic += cross + sigma[np.ix_(a, j)] * np.outer(mu[b], mu[i])
        out[d:, d:] = np.outer(m, m) * quartic
        second = sigma + np.outer(mu, mu)
        return np.concatenate([mu, -m * second[i, j]]), out

    def draw(  # type: ignore[override]
        self,
        n: int,
        rng: np.random.Generator,
        *,
        mean: ArrayLike,
        covariance: ArrayLike | None = None,
    ) -> FloatArray:
        mu, sigma = self._mean_and_covariance(mean, covariance)
        return mu + rng.standard_normal((n, mu.size)) @ np.linalg.cholesky(sigma).T

    def _mean_and_covariance(self, mean: ArrayLike, covariance: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        mu = check_vector(mean, "mean")
        given = None if covariance is None else _check_covariance(covariance)
        sigma: FloatArray = self._known_or("covariance", given)
        if len(sigma) != mu.size:
            raise InvalidInputError(f"mean has {mu.size} entries, covariance {len(sigma)} rows.")
        if self.isotropic and not np.allclose(sigma, sigma[0, 0] * np.eye(mu.size), rtol=1e-10, atol=0.0):
            raise InvalidInputError("covariance must be a multiple of the identity: the model has isotropic=True.")
        return mu, sigma


def _n_statistics(d: int) -> int:
    return d + d * (d + 1) // 2


def _n_coordinates(p: int) -> int:
    """The d with `_n_statistics(d)` = p."""
    return int(np.sqrt(2.0 * p + 2.25) - 1.5 + 1e-9)


def _isotropic_basis(d: int) -> FloatArray:
    """Orthonormal basis of the θ with Λ a multiple of the identity, shape (p, d + 1)."""
    i, j = np.triu_indices(d)
    basis = np.zeros((d + i.size, d + 1))
    basis[:d, :d] = np.eye(d)
    basis[d:, d] = (i == j) / np.sqrt(d)
    return basis


def _multiplicity(i: Any, j: Any) -> FloatArray:
    """½ on the diagonal, 1 off it: −½ xᵀΛx = −Σ_{i≤j} m_ij Λ_ij x_i x_j."""
    return np.where(i == j, 0.5, 1.0)


def _precision(theta: FloatArray, d: int) -> FloatArray:
    precision = np.empty((d, d))
    i, j = np.triu_indices(d)
    precision[i, j] = precision[j, i] = theta[d:]
    return precision


def _inverse(matrix: FloatArray) -> FloatArray:
    """Columns in different units lose no digits to each other."""
    unit, scale = scaled_to_unit(matrix)
    inverse: FloatArray = np.linalg.inv(unit) * np.outer(scale, scale)
    return 0.5 * (inverse + inverse.T)


def _lowest(matrix: FloatArray) -> float:
    """Smallest eigenvalue after scaling the diagonal to one."""
    return float(np.linalg.eigvalsh(scaled_to_unit(matrix)[0])[0])


def _check_covariance(values: ArrayLike) -> FloatArray:
    sigma = as_float_array(values, "covariance")
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1]:
        raise InvalidInputError(f"covariance must be a square matrix; got shape {sigma.shape}.")
    if not np.isfinite(sigma).all():
        raise InvalidInputError("covariance must be finite; it has NaN or infinite entries.")
    if not np.allclose(sigma, sigma.T, rtol=1e-10, atol=0.0):
        raise InvalidInputError("covariance must be symmetric.")
    if not (np.diag(sigma) > 0.0).all() or not _lowest(sigma) > 0.0:
        lowest = float(np.linalg.eigvalsh(sigma)[0])
        raise InvalidInputError(f"covariance must be positive definite; its smallest eigenvalue is {lowest:.6g}.")
    return 0.5 * (sigma + sigma.T)
