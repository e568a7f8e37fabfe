"""What a model is: an exponential family log p(x; θ) = θ·t(x) + const on a manifold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tmsm.arrays import FloatArray, row_dots, weighted_gram
from tmsm.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold
from tmsm.models.constraints import Constraint, Unrestricted
from tmsm.models.integration import LogMass, integrate_kernel
from tmsm.models.parameters import Field, Parameters
from tmsm.regions.base import Region
from tmsm.validation import as_rows, check_count, check_random_state
from tmsm.values import ValueObject

__all__ = ["Model"]

# Give up if, at the rate so far, more than _MAX_DRAWS would be needed, or after so many without a single row.
_PATIENCE = 2**21
_MAX_DRAWS = 2**28
_DRAW_BLOCK = 2**18


class Model(ValueObject, ABC):
    """An exponential family.

    A subclass gives the sufficient statistics t with their derivatives along the manifold and the
    way from θ to named parameters; that is enough for score matching.  What is known restricts θ
    through `constraint`; sampling and the likelihood are extras.  Rows have been checked.  The
    contractions of the derivatives have defaults; a family with a simple gradient can write them
    without ever forming the (n, p, D) array.
    """

    fields: tuple[Field, ...]

    @abstractmethod
    def whole_manifold(self, embedding_dim: int) -> Manifold:
        """The manifold of the family among those with this many embedding coordinates."""

    @abstractmethod
    def check_manifold(self, manifold: Manifold) -> None:
        """Raise unless the family lives on this manifold."""

    @abstractmethod
    def n_statistics(self, embedding_dim: int) -> int:
        """Number p of sufficient statistics."""

    @abstractmethod
    def statistics(self, X: FloatArray) -> FloatArray:
        """t(x), shape (n, p)."""

    @abstractmethod
    def gradient(self, X: FloatArray) -> FloatArray:
        """∇t, the tangent gradient of each statistic, shape (n, p, D)."""

    @abstractmethod
    def laplacian(self, X: FloatArray) -> FloatArray:
        """Δt, the Laplace–Beltrami operator of each statistic, shape (n, p)."""

    @abstractmethod
    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Hess t(v, v) along tangent rows V (n, D), shape (n, p)."""

    def constraint(self, embedding_dim: int) -> Constraint:
        """The set in which θ is sought: everywhere, unless something is known."""
        return Unrestricted(self.n_statistics(embedding_dim))

    def slice(self, name: str, value: Any, embedding_dim: int) -> Constraint | None:
        """The allowed θ whose parameter ``name`` has this value; None where the family cannot say."""
        return None

    @abstractmethod
    def parameters(self, theta: FloatArray, embedding_dim: int) -> Parameters:
        """Named parameters at θ."""

    @abstractmethod
    def parameter_jacobian(self, theta: FloatArray, embedding_dim: int) -> dict[str, FloatArray]:
        """Derivative of each named parameter, flattened, with respect to θ: name -> (size, p)."""

    def cautions(self, theta: FloatArray, covariance: FloatArray, embedding_dim: int) -> list[str]:
        """Sentences on what an estimate with this covariance (p, p) does not determine, where the family knows."""
        return []

    def check_spread(self, X: FloatArray) -> None:
        """Raise where rows like these can carry no estimate, however many there are."""

    def centred(self, X: FloatArray) -> Model:
        """The same family in the form that is best computed with for rows like X; itself by default."""
        return self

    def to_original(self, embedding_dim: int) -> FloatArray:
        """The matrix that turns θ of a `centred` form into θ of the family as it was written, (p, p)."""
        return np.eye(self.n_statistics(embedding_dim))

    def translation(self, origin: FloatArray) -> FloatArray:
        """For a flat family: the matrix from θ of t(x − origin) to θ of t(x), shape (p, p)."""
        raise self._missing("translations")

    def translated(self, params: Parameters, by: FloatArray) -> Parameters:
        """For a flat family: the named parameters of x + by."""
        raise self._missing("translations")

    def natural_parameters(self, **params: Any) -> FloatArray:
        """θ, shape (p,), from named parameters; the inverse of `parameters`."""
        raise self._missing("way from named parameters to θ, so it cannot be sampled")

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Log p(x; θ) up to a constant, shape (n,): θ·t(x), or a form of it that keeps more digits."""
        kernel: FloatArray = self.statistics(X) @ theta
        return kernel

    def log_normaliser(self, theta: FloatArray, embedding_dim: int) -> float:
        """Logarithm of the integral of exp(log_kernel) over the whole manifold."""
        raise self._missing("normalising constant on the whole manifold")

    def expectation(self, theta: FloatArray, embedding_dim: int) -> tuple[FloatArray, FloatArray]:
        """Mean (p,) and covariance (p, p) of t under θ on the whole manifold."""
        raise self._missing("moments on the whole manifold")

    def extent(self, theta: FloatArray, embedding_dim: int) -> tuple[FloatArray, FloatArray]:
        """For a flat family: the corners, shape (D,), of a box with all of the density but e^−40."""
        raise self._missing("extent, so it cannot be integrated over a region of flat space")

    def maximise_likelihood(self, mean: FloatArray, embedding_dim: int) -> FloatArray:
        """θ, shape (p,), of the maximum likelihood on the whole manifold, from the mean of t."""
        raise self._missing("likelihood on the whole manifold; use ScoreMatching or TruncatedMLE")

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        """Independent draws on the whole manifold, shape (n, D)."""
        raise self._missing("sampler")

    def _check_params(self, params: dict[str, Any]) -> FloatArray:
        """θ from parameters that are checked, names and values."""
        names = [field.name for field in self.fields]
        unknown = [name for name in params if name not in names]
        if unknown:
            raise InvalidInputError(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {names}.")
        if names[0] not in params:
            raise InvalidInputError(f"{names[0]} must be given by name: {type(self).__name__} has {names}.")
        return self.natural_parameters(**params)

    def _check_region(self, region: Any) -> None:
        if not isinstance(region, Region):
            raise InvalidTypeError(f"region must be a region such as Cap(center, radius); got {type(region).__name__}.")
        self.check_manifold(region.manifold)

    def _known_or(self, name: str, value: Any) -> Any:
        """The value given for a parameter, or else the one that this model knows."""
        known = getattr(self, name)
        if value is None:
            if known is None:
                raise InvalidInputError(f"{name} must be given: this model does not know it.")
            return known
        if known is not None and not np.array_equal(value, known):
            number = isinstance(known, float) and isinstance(value, int | float)
            stated = f" as {known:.6g}; got {value:.6g}." if number else ", and another one was given."
            raise InvalidInputError(f"{name} is known to this model{stated}")
        return value

    def _missing(self, what: str) -> InvalidInputError:
        return InvalidInputError(f"{type(self).__name__} has no {what}.")

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """⟨∇t, v⟩ for tangent rows V (n, D), shape (n, p)."""
        gradient = self.gradient(X)
        return np.stack([row_dots(gradient[:, a], V) for a in range(gradient.shape[1])], axis=1)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """ψ = Σ_a θ_a ∇t_a, the gradient of the log density, shape (n, D)."""
        psi: FloatArray = np.einsum("npd,p->nd", self.gradient(X), theta)
        return psi

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        """Sum over rows of weight ⟨∇t, ∇tᵀ⟩, shape (p, p); one number weights all rows alike."""
        gradient = self.gradient(X)
        total = np.zeros((gradient.shape[1], gradient.shape[1]))
        for j in range(gradient.shape[2]):
            total += weighted_gram(gradient[:, :, j], weight)
        return total

    def weighted_hessian(
        self,
        X: FloatArray,
        isotropic: FloatArray | float,
        directions: Sequence[tuple[FloatArray, FloatArray]],
    ) -> FloatArray:
        """⟨W, Hess t⟩ = a Δt + Σ c Hess t(u, u) for W = a P + Σ c uuᵀ, a new array of shape (n, p).

        Directions are pairs (u, c), u of length one.
        """
        a = isotropic[:, None] if isinstance(isotropic, np.ndarray) else isotropic
        total: FloatArray = self.laplacian(X) * a
        for u, c in directions:
            total += self.hessian(X, u) * c[:, None]
        return total

    def sample(self, n: int, region: Region | None = None, random_state: Any = None, **params: Any) -> FloatArray:
        """Exactly n independent draws, inside the region if one is given.

        Parameters
        ----------
        n
            Number of rows.
        region
            Keep only draws inside; None keeps all.
        random_state
            None, an int or a `numpy.random.Generator`.
        **params
            The model's parameters by name.

        Returns
        -------
        Points, shape (n, D).
        """
        n = check_count(n, "n", at_least=0)
        rng = check_random_state(random_state)
        self._check_params(params)
        if region is None:
            return self.draw(n, rng, **params)
        self._check_region(region)
        kept: list[FloatArray] = []
        n_kept = n_drawn = 0
        while n_kept < n:
            rate = max(n_kept, 1) / n_drawn if n_drawn else 1.0
            block = int(min(_DRAW_BLOCK, max(64, 1.1 * (n - n_kept) / rate)))
            X = self.draw(block, rng, **params)
            if X.shape[1] != region.manifold.embedding_dim:
                raise InvalidInputError(
                    f"The parameters are for {X.shape[1]} coordinates, the region has {region.manifold.embedding_dim}."
                )
            inside = X[region.signed_distance(X)[0] > 0.0]
            kept.append(inside)
            n_kept += len(inside)
            n_drawn += block
            # At most this share can lie inside, but for bad luck of one in a thousand.
            share = (n_kept + 3.0 * np.sqrt(n_kept) + 7.0) / n_drawn
            too_slow = n > _MAX_DRAWS * share or (n_kept == 0 and n_drawn >= _PATIENCE)
            if n_kept < n and too_slow:
                mass = f"about {n_kept / n_drawn:.1e}" if n_kept else f"less than {7.0 / n_drawn:.0e}"
                raise EstimationError(
                    f"Only {n_kept} of {n_drawn} draws fell inside the region ({mass} of the distribution's mass "
                    f"is there): {n:,} row{'s' * (n != 1)} would take too long. "
                    "Check the parameters and the region's side (~region is the other one)."
                )
        return np.concatenate(kept)[:n] if kept else np.empty((0, region.manifold.embedding_dim))

    def logpdf(self, X: Any, region: Region | None = None, **params: Any) -> FloatArray:
        """Logarithm of the density at each row, normalised over the region.

        Parameters
        ----------
        X
            Points, shape (n, D).
        region
            Where the density integrates to one; None: on the whole manifold.  Outside the region the
            density is zero.
        **params
            The model's parameters by name.

        Returns
        -------
        Shape (n,), −∞ outside the region.

        Notes
        -----
        `log_mass` gives the logarithm of the probability of the region that this uses, and its error.
        """
        theta = self._check_params(params)
        if region is None:
            manifold = self.whole_manifold(as_rows(X, "X", empty=True).shape[1])
        else:
            self._check_region(region)
            manifold = region.manifold
        rows = manifold.check_points(X)
        D = manifold.embedding_dim
        self._check_size(theta, D)
        if region is None or not region.has_border:
            return self.log_kernel(rows, theta) - self.log_normaliser(theta, D)
        log_integral = integrate_kernel(self, region, theta).log_integral
        inside = region.signed_distance(rows)[0] > 0.0
        return np.where(inside, self.log_kernel(rows, theta) - log_integral, -np.inf)

    def log_mass(self, region: Region, **params: Any) -> LogMass:
        """Logarithm of the region's probability, and an estimate of its error.

        Parameters
        ----------
        region
            A region of the family's manifold.
        **params
            The model's parameters by name.
        """
        theta = self._check_params(params)
        self._check_region(region)
        D = region.manifold.embedding_dim
        self._check_size(theta, D)
        if not region.has_border:
            return LogMass(0.0, 0.0)
        found = integrate_kernel(self, region, theta)
        return LogMass(min(found.log_integral - self.log_normaliser(theta, D), 0.0), found.error)

    def _check_size(self, theta: FloatArray, embedding_dim: int) -> None:
        if theta.size != self.n_statistics(embedding_dim):
            raise InvalidInputError(
                f"The parameters are not for {embedding_dim} coordinates, which the points or the region have."
            )
