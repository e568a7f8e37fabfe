"""What a model is: a family of densities on a manifold, with a natural parameter θ and names for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Self, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_rows, check_count, check_random_state
from tmsm.foundation.values import ValueObject
from tmsm.manifolds import Manifold
from tmsm.measure.draws import draw_inside
from tmsm.measure.integrals import LogMass, integrate_kernel
from tmsm.models.constraints import Constraint, Unrestricted
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading
from tmsm.models.row_form import RowForm
from tmsm.models.tangents import Coefficient, Directions, FactorTangent, Tangent
from tmsm.regions import Region

__all__ = ["DensityAt", "FactorTangent", "LinearModel", "Model", "Tangent", "multiplied"]


class Model(ValueObject, ABC):
    """A family of densities.

    `LinearModel` is a family whose log density is linear in θ, `NonlinearModel` any other. `on` binds a model to a
    manifold, once. What depends on the manifold, such as the size of θ, is asked of a bound model. Sampling and the
    likelihood are optional.

    In the methods X are points, shape (n, D), that have been checked; ``theta`` is θ, shape (p,); ``params`` and
    ``values`` are numbers and arrays by the names of the parameters; ``index`` is the place of an entry in an array;
    ``rng`` gives random numbers. ``on`` and ``arguments`` of `from_arguments` are the manifold and the arguments of the
    constructor.
    """

    fields: tuple[Field, ...]
    # A manifold, or a kind of them.
    home: Manifold | type[Manifold]
    _manifold: Manifold | None = None
    _TRANSIENT = frozenset({"_shelf", "_known_constraint"})

    def _value(self) -> tuple[Any, ...]:
        return *super()._value(), self._manifold

    def to_arguments(self) -> dict[str, Any]:
        bound = {} if self._manifold is None else {"on": self._manifold}
        return {**super().to_arguments(), **bound}

    @classmethod
    def from_arguments(cls, *, on: Manifold | None = None, **arguments: Any) -> Self:
        made = super().from_arguments(**arguments)
        return made if on is None else made.on(on)

    def check_manifold(self, manifold: Manifold) -> None:
        """Raise unless the family lives on this manifold: its home, or one of the kind that is its home."""
        home = self.home
        if not (manifold == home if isinstance(home, Manifold) else isinstance(manifold, home)):
            place, hint = self.home_in_words
            raise InvalidInputError(f"{type(self).__name__} lives on {place}, and the region on {manifold!r}.{hint}")

    @property
    def home_in_words(self) -> tuple[str, str]:
        """Where the family lives, and what to use elsewhere, for an error message."""
        return (repr(self.home) if isinstance(self.home, Manifold) else self.home.__name__), ""

    def usual_manifold(self, n_columns: int) -> Manifold:
        """The manifold of points in ``n_columns`` coordinates, if the user gives none."""
        if isinstance(self.home, Manifold):
            return self.home
        raise InvalidInputError(
            f"{type(self).__name__} may live on several manifolds: say which by {type(self).__name__}(…).on(manifold)."
        )

    def on(self, manifold: Manifold) -> Self:
        """The model bound to a manifold.

        Parameters
        ----------
        manifold
            Where the points live; one that the family does not live on is an error.
        """
        if self._manifold == manifold:
            return self
        self.check_manifold(manifold)
        bound = object.__new__(type(self))
        bound.__dict__.update(self.__getstate__())
        object.__setattr__(bound, "_manifold", manifold)
        return bound

    @property
    def manifold(self) -> Manifold:
        """Where the points live; an error for a model that is not bound."""
        if self._manifold is None:
            raise InvalidInputError(f"{self!r} is not bound to a manifold: use its method on(manifold) first.")
        return self._manifold

    @property
    def is_bound(self) -> bool:
        """Whether the model knows its manifold."""
        return self._manifold is not None

    @property
    def embedding_dim(self) -> int:
        """Number D of coordinates of a point."""
        return self.manifold.embedding_dim

    @property
    @abstractmethod
    def size(self) -> int:
        """Number p of entries of θ."""

    @property
    @abstractmethod
    def is_linear(self) -> bool:
        """Whether log p is linear in θ, so that equations for it are solved in closed form."""

    @property
    def centre_field(self) -> Field | None:
        """The parameter that says where the density is highest, where the family has one."""
        return next((field for field in self.fields if field.is_centre), None)

    def centre_of(self, params: Parameters) -> FloatArray | None:
        """Where the density is highest, shape (D,), of a family that says it in other words, such as angles."""
        return None

    @property
    def constraint(self) -> Constraint:
        """The set in which θ is sought; kept, since a search asks for it again and again."""
        known: Constraint | None = self.__dict__.get("_known_constraint")
        if known is None:
            known = self.__dict__["_known_constraint"] = self.make_constraint()
        return known

    def make_constraint(self) -> Constraint:
        """The set in which θ is sought: everywhere, unless something is known."""
        return Unrestricted(self.size)

    def slice(self, name: str, value: Any) -> Constraint | None:
        """The allowed θ whose parameter ``name`` has this value; None where the family cannot say."""
        return None

    def entry_slice(self, name: str, index: tuple[int, ...], value: float) -> Constraint | None:
        """The allowed θ whose parameter ``name`` has this value in one entry; None where the family cannot say."""
        return None

    @abstractmethod
    def parameters(self, theta: FloatArray) -> Parameters:
        """Named parameters at θ."""

    @abstractmethod
    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Derivative of each named parameter, flattened, with respect to θ: name -> (size, p)."""

    def presented(self, values: Parameters) -> Any:
        """Values by the names of the `fields` (estimates, errors or intervals) in the form that users see."""
        return values

    def in_region(self, region: Region) -> Model:
        """The bound model, where it matters in which region its points can be seen; itself by default."""
        return self

    def posterior_at(self, X: FloatArray, theta: FloatArray) -> FloatArray | None:
        """The probability of each row to belong to each component, (n, m); None of a density that has no components."""
        return None

    def aligned(self, values: Parameters, estimate: Parameters) -> Parameters:
        """Values by the names of the `fields`, with components in the order of an estimate's; unchanged by default."""
        return values

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        """Lengths and angles that people read off the parameters, beside them; none by default."""
        return ()

    @abstractmethod
    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Log p(x; θ) up to a constant, shape (n,)."""

    @abstractmethod
    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """ψ, the tangent gradient of the log density, shape (n, D)."""

    @abstractmethod
    def log_hessian(self, X: FloatArray, V: FloatArray, theta: FloatArray) -> FloatArray:
        """Hess log p(v, v) along tangent rows V (n, D), shape (n,)."""

    @abstractmethod
    def log_laplacian(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Δ log p, shape (n,)."""

    @abstractmethod
    def tangent(self, theta: FloatArray) -> Tangent:
        """How the log density changes with θ at this one."""

    def at(self, theta: FloatArray) -> DensityAt:
        """One density of the family.

        Parameters
        ----------
        theta
            Natural parameters, shape (p,).
        """
        return DensityAt(self, theta)

    def cautions(self, theta: FloatArray, covariance: FloatArray) -> list[str]:
        """Sentences on what an estimate with this covariance (p, p) does not determine, where the family knows."""
        return []

    @property
    def has_second_derivatives(self) -> bool:
        """Whether log p has second derivatives in x, without which there is no score matching and no test by it."""
        return True

    def check_spread(self, X: FloatArray) -> None:
        """Raise where rows like these can carry no estimate, however many there are."""

    @property
    def row_form(self) -> RowForm | None:
        """The statistics as compiled loops over rows on S² take them; None where there is no such form."""
        return None

    def centred(self, X: FloatArray) -> Model:
        """The same family in the form that is best computed with for rows like X; itself by default."""
        return self

    def to_original(self) -> FloatArray:
        """The matrix that turns θ of a `centred` form into θ of the family as it was written, (p, p)."""
        return np.eye(self.size)

    def beyond(self) -> Model:
        """The family as it goes on outside the region that it was seen in: without what ends at the border."""
        return self

    def beyond_theta(self, theta: FloatArray) -> FloatArray:
        """The θ of `beyond` with the same log_kernel but for what ends at the border; linear in θ."""
        return theta

    def natural_parameters(self, **params: Any) -> FloatArray:
        """θ, shape (p,), from named parameters; the inverse of `parameters`."""
        raise self._missing("way from named parameters to θ, so it cannot be sampled")

    def log_normaliser(self, theta: FloatArray) -> float:
        """Logarithm of the integral of exp(log_kernel) over the whole manifold."""
        raise self._missing("normalising constant on the whole manifold")

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """On a manifold without end: the corners, shape (D,), of a box with all of the density but e^−40."""
        raise self._missing("extent, so it cannot be integrated over a manifold without end")

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

    def __mul__(self, other: Model) -> Model:
        if not isinstance(other, Model):
            return NotImplemented
        return multiplied(self, other)

    def _missing(self, what: str) -> InvalidInputError:
        return InvalidInputError(f"{type(self).__name__} has no {what}.")

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
        return draw_inside(lambda size: self.draw(size, rng, **params), n, region)

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
            n_columns = as_rows(X, "X", empty=True).shape[1]
            model = self if self.is_bound else self.on(self.usual_manifold(n_columns))
        else:
            self._check_region(region)
            model = self.on(region.manifold)
        rows = model.manifold.check_points(X)
        model._check_size(theta)
        if region is None or not region.has_border:
            return model.log_kernel(rows, theta) - model.log_normaliser(theta)
        log_integral = integrate_kernel(model.at(theta), region).log_integral
        inside = region.signed_distance(rows)[0] > 0.0
        return np.where(inside, model.log_kernel(rows, theta) - log_integral, -np.inf)

    def log_mass(self, region: Region, **params: Any) -> LogMass:
        """Logarithm of the region's probability, and an estimate of its error.

        Parameters
        ----------
        region
            A region of the manifold of the family.
        **params
            The model's parameters by name.
        """
        theta = self._check_params(params)
        self._check_region(region)
        model = self.on(region.manifold)
        model._check_size(theta)
        if not region.has_border:
            return LogMass(0.0, 0.0)
        found = integrate_kernel(model.at(theta), region)
        return LogMass(min(found.log_integral - model.log_normaliser(theta), 0.0), found.error)

    def _check_size(self, theta: FloatArray) -> None:
        if theta.size != self.size:
            raise InvalidInputError(
                f"The parameters are not for {self.embedding_dim} coordinates, which the points or the region have."
            )


@singledispatch
def multiplied(first: Model, second: Model) -> Model:
    """``first * second``; the module of products registers it."""
    raise NotImplementedError


@final
@dataclass(frozen=True)
class DensityAt:
    """One density of a model, at θ: what integrals need of it."""

    model: Model
    theta: FloatArray

    def log_kernel(self, X: FloatArray) -> FloatArray:
        """Log p up to a constant, shape (n,)."""
        return self.model.log_kernel(X, self.theta)

    def log_gradient(self, X: FloatArray) -> FloatArray:
        """Its tangent gradient, shape (n, D)."""
        return self.model.log_gradient(X, self.theta)

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Its second derivative along tangent rows V (n, D), shape (n,)."""
        return self.model.log_hessian(X, V, self.theta)

    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Corners, shape (D,), of a box with all of the density but e^−40."""
        return self.model.extent(self.theta)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws on the whole manifold, shape (n, D)."""
        return self.model.draw(n, rng, **self.model.parameters(self.theta))

    def log_normaliser(self) -> float:
        """Logarithm of the integral of exp(log_kernel) over the whole manifold."""
        return self.model.log_normaliser(self.theta)

    @property
    def rounding(self) -> float:
        """What rounding does to its logarithm."""
        return 1e-15 * float(np.abs(self.theta).sum())


class LinearModel(Model, Tangent):
    """An exponential family, log p(x; θ) = θ·t(x) + const.

    A subclass gives the sufficient statistics t with their derivatives along the manifold, and the named parameters at
    θ. That is enough for score matching. What is known restricts θ by `constraint`. The contractions of the derivatives
    have defaults; a family with a simple gradient can override them and never form the array (n, p, D).
    """

    @property
    def is_linear(self) -> bool:
        return True

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

    def tangent(self, theta: FloatArray) -> Tangent:
        return self

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """θ·t(x), or a form of it that keeps more digits."""
        kernel: FloatArray = self.statistics(X) @ theta
        return kernel

    def log_hessian(self, X: FloatArray, V: FloatArray, theta: FloatArray) -> FloatArray:
        bend: FloatArray = self.hessian(X, V) @ theta
        return bend

    def log_laplacian(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        bend: FloatArray = self.laplacian(X) @ theta
        return bend

    def admits(self, theta: FloatArray) -> bool:
        """Whether θ is that of a density: a matrix may be no precision, for instance."""
        try:
            self.parameters(theta)
        except EstimationError:
            return False
        return True

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (p,) and covariance (p, p) of t under θ on the whole manifold."""
        raise self._missing("moments on the whole manifold")

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        """θ, shape (p,), of the maximum likelihood on the whole manifold, from the mean of t."""
        raise self._missing("likelihood on the whole manifold; use ScoreMatching or TruncatedMLE")

    def translation(self, origin: FloatArray) -> FloatArray:
        """For a flat family: the matrix from θ of t(x − origin) to θ of t(x), shape (p, p)."""
        raise self._missing("translations")

    def translated(self, params: Parameters, by: FloatArray) -> Parameters:
        """For a flat family: the named parameters of x + by."""
        raise self._missing("translations")

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        gradient = self.gradient(X)
        return np.stack([row_dots(gradient[:, a], V) for a in range(gradient.shape[1])], axis=1)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        psi: FloatArray = np.einsum("npd,p->nd", self.gradient(X), theta)
        return psi

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        """Sum over rows of weight ⟨∇t, ∇tᵀ⟩, shape (p, p); one number weights all rows alike."""
        gradient = self.gradient(X)
        total = np.zeros((gradient.shape[1], gradient.shape[1]))
        for j in range(gradient.shape[2]):
            total += weighted_gram(gradient[:, :, j], weight)
        return total

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        a = isotropic[:, None] if isinstance(isotropic, np.ndarray) else isotropic
        total: FloatArray = self.laplacian(X) * a
        for u, c in directions:
            total += self.hessian(X, u) * c[:, None]
        return total
