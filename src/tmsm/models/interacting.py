"""Two families with an interaction: products of their statistics are statistics, too.

With t_a of the first family and t_b of the second, θ = (θ_a, θ_b, Λ) and

    log p(x, y) = θ_a·t_a(x) + θ_b·t_b(y) + t_a(x)ᵀ Λ t_b(y) + const.

Derivatives of a product t_i(x) t_j(y):

    ∇ = (t_j ∇t_i, t_i ∇t_j),   Δ = t_j Δt_i + t_i Δt_j,
    Hess(v, v) = t_j Hess t_i(v_a, v_a) + t_i Hess t_j(v_b, v_b) + 2 ⟨∇t_i, v_a⟩ ⟨∇t_j, v_b⟩.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_float_array, check_count
from tmsm.manifolds import Manifold
from tmsm.models.another_form import AnotherForm
from tmsm.models.base import FactorTangent, LinearModel
from tmsm.models.constraints import Constraint, Unrestricted
from tmsm.models.harmonic import maximum_over
from tmsm.models.marginal import Marginal, has_marginal, no_marginal
from tmsm.models.parameters import Field, Parameters
from tmsm.models.side_by_side import SideBySide, box_of_closed, lengths_apart, own_factor
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["CentredInteraction", "InteractingModel"]

# Points of the other factor by which the extent of a density is judged.
_SCATTERED = 64


@final
@dataclass(frozen=True, eq=False, repr=False)
class InteractingModel(SideBySide):
    """Two families whose statistics are multiplied with each other, such as directions that depend on an energy.

    ``(a * b).interacting()`` makes one. Given one part of a point, the other part has a density of its own family, with
    natural parameters that depend on the first part. So names such as mean or concentration have no meaning for the
    whole. The parameters are the natural coefficients: ``first`` (p_a,) of the statistics of the first family,
    ``second`` (p_b,) of those of the second, and ``interaction`` (q_a, q_b) of the products. None of them is
    restricted, so that families with a known or curved parameter cannot interact.

    Parameters
    ----------
    models
        Two exponential families; each may be a product itself.
    first, second
        Which of their statistics are multiplied, counted from zero; None: all.

    Examples
    --------
    >>> import tmsm
    >>> model = (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).interacting(second=[0])
    >>> X = model.on(tmsm.Sphere(2) * tmsm.Euclidean(1)).sample(
    ...     5, random_state=0, first=[0.0, 0.0, 5.0], second=[1.0, 4.0], interaction=[[1.5], [-1.0], [0.5]]
    ... )
    >>> X.shape
    (5, 4)
    """

    models: tuple[LinearModel, ...]
    first: tuple[int, ...] | None = None
    second: tuple[int, ...] | None = None

    fields = (Field("first"), Field("second"), Field("interaction", is_symmetric=False))

    def __post_init__(self) -> None:
        models = self.check_models(self.models)
        if len(models) != 2:
            raise InvalidInputError(
                f"An interaction is one between two families; got {len(models)}. Put those together that belong "
                "together, such as InteractingModel((a, b * c))."
            )
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "first", _check_indices(self.first, "first"))
        object.__setattr__(self, "second", _check_indices(self.second, "second"))

    def __repr__(self) -> str:
        if any(isinstance(model, SideBySide) for model in self.models):
            return super().__repr__()
        chosen = [f"{name}={value!r}" for name, value in (("first", self.first), ("second", self.second)) if value]
        return f"({self.models[0]!r} * {self.models[1]!r}).interacting({', '.join(chosen)})"

    def check_manifold(self, manifold: Manifold) -> None:
        self._check_bound(self._bound(manifold))

    def on(self, manifold: Manifold) -> Self:
        if self.is_bound and self.manifold == manifold:
            return self
        bound = self._bound(manifold)
        self._check_bound(bound)
        return bound

    def _bound(self, manifold: Manifold) -> Self:
        return super().on(manifold)

    def _check_bound(self, bound: InteractingModel) -> None:
        """Raise where a family has a restricted θ, or a statistic that is chosen does not exist."""
        for k, (model, name) in enumerate(zip(bound.models, ("first", "second"), strict=True)):
            if not isinstance(model.constraint, Unrestricted):
                raise InvalidInputError(
                    f"Factor {k + 1} of 2, {model!r}, restricts its parameters, which has no meaning where they change "
                    "with the other factor: an interaction is for families whose parameters are all free, such as "
                    "VonMisesFisher()."
                )
            chosen = getattr(bound, name)
            if chosen is not None and max(chosen, default=-1) >= model.size:
                raise InvalidInputError(
                    f"{name} names statistic {max(chosen)}, and {type(model).__name__} has {model.size} here, counted "
                    "from zero."
                )

    @cached_property
    def chosen(self) -> tuple[IntArray, IntArray]:
        """Indices of the statistics that are multiplied."""
        return tuple(
            np.arange(model.size) if chosen is None else np.array(chosen, dtype=np.intp)
            for model, chosen in zip(self.models, (self.first, self.second), strict=True)
        )  # type: ignore[return-value]

    @property
    def size(self) -> int:
        a, b = self.chosen
        return sum(model.size for model in self.models) + a.size * b.size

    def _joined(self, first: FloatArray, second: FloatArray, products: FloatArray) -> FloatArray:
        """Rows (n, p) from the parts of each family and of the products, (n, q_a, q_b)."""
        return np.concatenate([first, second, products.reshape(len(products), -1)], axis=1)

    def _sides(self, X: FloatArray) -> tuple[LinearModel, FloatArray, LinearModel, FloatArray]:
        (a, Xa), (b, Xb) = self.pieces(X)
        return a, Xa, b, Xb

    def _multiplied(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Products of the chosen entries, (n, q_a, q_b)."""
        i, j = self.chosen
        return first[:, i, None] * second[:, None, j]

    def statistics(self, X: FloatArray) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        s, t = a.statistics(Xa), b.statistics(Xb)
        return self._joined(s, t, self._multiplied(s, t))

    def gradient(self, X: FloatArray) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        i, j = self.chosen
        s, t, grad_s, grad_t = a.statistics(Xa), b.statistics(Xb), a.gradient(Xa), b.gradient(Xb)
        left, right = self.columns
        out = np.zeros((len(X), self.size, X.shape[1]))
        first, second = self.blocks
        out[:, first, left], out[:, second, right] = grad_s, grad_t
        products = out[:, second.stop :]
        products[:, :, left] = (grad_s[:, i, None, :] * t[:, None, j, None]).reshape(len(X), i.size * j.size, -1)
        products[:, :, right] = (s[:, i, None, None] * grad_t[:, None, j, :]).reshape(len(X), i.size * j.size, -1)
        return out

    def laplacian(self, X: FloatArray) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        s, t, bend_s, bend_t = a.statistics(Xa), b.statistics(Xb), a.laplacian(Xa), b.laplacian(Xb)
        return self._joined(bend_s, bend_t, self._multiplied(bend_s, t) + self._multiplied(s, bend_t))

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        left, right = self.columns
        s, t = a.statistics(Xa), b.statistics(Xb)
        bend_s, bend_t = a.hessian(Xa, V[:, left]), b.hessian(Xb, V[:, right])
        cross = self._multiplied(a.gradient_dot(Xa, V[:, left]), b.gradient_dot(Xb, V[:, right]))
        products = self._multiplied(bend_s, t) + self._multiplied(s, bend_t) + 2.0 * cross
        return self._joined(bend_s, bend_t, products)

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        left, right = self.columns
        s, t = a.statistics(Xa), b.statistics(Xb)
        slope_s, slope_t = a.gradient_dot(Xa, V[:, left]), b.gradient_dot(Xb, V[:, right])
        return self._joined(slope_s, slope_t, self._multiplied(slope_s, t) + self._multiplied(s, slope_t))

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        i, j = self.chosen
        of_a, of_b, coupling = self.split(theta)
        # Given the one part, the other has these natural parameters.
        at_a = np.repeat(of_a[None, :], len(X), axis=0)
        at_a[:, i] += b.statistics(Xb)[:, j] @ coupling.T
        at_b = np.repeat(of_b[None, :], len(X), axis=0)
        at_b[:, j] += a.statistics(Xa)[:, i] @ coupling
        slopes = [np.einsum("npd,np->nd", a.gradient(Xa), at_a), np.einsum("npd,np->nd", b.gradient(Xb), at_b)]
        return np.concatenate(slopes, axis=1)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        total = np.zeros((self.size, self.size))
        for k in range(2):
            total += self._one_side(k).gram(X, weight, self.models[k].gradient_gram)
        return total

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        a, Xa, b, Xb = self._sides(X)
        left, right = self.columns
        bend_s = a.weighted_hessian(Xa, isotropic, lengths_apart(directions, left))
        bend_t = b.weighted_hessian(Xb, isotropic, lengths_apart(directions, right))
        products = self._multiplied(bend_s, b.statistics(Xb)) + self._multiplied(a.statistics(Xa), bend_t)
        for u, c in directions:
            slopes = self._multiplied(a.gradient_dot(Xa, u[:, left]), b.gradient_dot(Xb, u[:, right]))
            products += (2.0 * c)[:, None, None] * slopes
        return self._joined(bend_s, bend_t, products)

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        number, own = self.place_of(k)
        return _InFactor(self._one_side(number), own_factor(self.models[number], own))

    def _one_side(self, number: int) -> _OneSide:
        return _OneSide(self, number)

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """θ as the coefficients of both families and of the products, (p_a,), (p_b,) and (q_a, q_b)."""
        first, second = self.blocks
        i, j = self.chosen
        return theta[first], theta[second], theta[second.stop :].reshape(i.size, j.size)

    def parameters(self, theta: FloatArray) -> Parameters:
        first, second, interaction = self.split(theta)
        return Parameters(first=first, second=second, interaction=interaction)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        unit = np.eye(self.size)
        first, second = self.blocks
        return {"first": unit[first], "second": unit[second], "interaction": unit[second.stop :]}

    def natural_parameters(  # type: ignore[override]
        self, *, first: ArrayLike, second: ArrayLike, interaction: ArrayLike
    ) -> FloatArray:
        given = {"first": first, "second": second, "interaction": interaction}
        arrays = {name: as_float_array(value, name) for name, value in given.items()}
        if self.is_bound:
            i, j = self.chosen
            shapes = {"first": (self.models[0].size,), "second": (self.models[1].size,)}
            for name, shape in {**shapes, "interaction": (i.size, j.size)}.items():
                if arrays[name].shape != shape:
                    raise InvalidInputError(
                        f"{name} must have the shape {shape}: one entry for each statistic"
                        f"{' of both' * (name == 'interaction')}; got {arrays[name].shape}."
                    )
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise InvalidInputError(f"{name} must be finite; it has NaN or infinite entries.")
        return np.concatenate([array.ravel() for array in arrays.values()])

    def centred(self, X: FloatArray) -> LinearModel:
        forms: list[LinearModel] = []
        for k, (model, own) in enumerate(self.pieces(X)):
            with self.naming(k):
                form = model.centred(own)
            assert isinstance(form, LinearModel), "another form of an exponential family is one"
            # The products must stay those of the chosen statistics, which they do not if these mix with others.
            chosen, mixing = self.chosen[k], form.to_original().T
            others = np.setdiff1d(np.arange(model.size), chosen)
            forms.append(model if np.any(mixing[np.ix_(chosen, others)]) else form)
        if all(form is model for form, model in zip(forms, self.models, strict=True)):
            return self
        return CentredInteraction(self, InteractingModel(tuple(forms), self.first, self.second))

    def _marginal(self, theta: FloatArray, what: str) -> tuple[Marginal, bool]:
        """The density by its factor of dimension one, and whether that is the first; a circle before a line."""
        able = [k for k, model in enumerate(self.models) if has_marginal(model.manifold)]
        if not able:
            raise no_marginal(type(self).__name__, what)
        k = min(able, key=lambda k: (not self.models[k].manifold.is_closed, -k))
        i, j = self.chosen
        first, second, interaction = self.split(theta)
        coupling = np.zeros((first.size, second.size))
        coupling[np.ix_(i, j)] = interaction
        if k == 1:
            return Marginal(self.models[0], self.models[1], first, second, coupling), False
        return Marginal(self.models[1], self.models[0], second, first, coupling.T), True

    def log_normaliser(self, theta: FloatArray) -> float:
        return self._marginal(theta, "a normalising constant")[0].log_integral()

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._cumulants(theta)[1:]

    def _cumulants(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log of the integral, its gradient (p,) and Hessian (p, p) in θ."""
        marginal, swapped = self._marginal(theta, "moments")
        log_integral, mean, covariance = marginal.moments()
        n_given, n_along = marginal.theta.size, marginal.own.size
        # Where (i, j) of (1, t_a) ⊗ (1, t_b) is, of which the first entry is left out.
        order = np.arange((1 + n_given) * (1 + n_along)).reshape(1 + n_given, 1 + n_along) - 1
        if swapped:
            order = order.T
        i, j = self.chosen
        wanted = np.concatenate([order[1:, 0], order[0, 1:], order[np.ix_(1 + i, 1 + j)].ravel()])
        return log_integral, mean[wanted], covariance[np.ix_(wanted, wanted)]

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        """θ of the largest likelihood, by Newton's method from the two families without an interaction."""
        first, second = self.blocks

        def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            try:
                log_integral, expected, covariance = self._cumulants(theta)
            except EstimationError:  # no density
                return np.inf, np.zeros(theta.size), np.eye(theta.size)
            return log_integral - float(theta @ mean), expected - mean, covariance

        start = np.zeros(mean.size)
        start[first] = self.models[0].maximise_likelihood(mean[first])
        start[second] = self.models[1].maximise_likelihood(mean[second])
        return maximum_over(self.constraint, objective, [start])

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """By what the density of each factor is at points all over the other one."""
        boxes: list[tuple[FloatArray, FloatArray] | None] = [
            box_of_closed(model.manifold) if model.manifold.is_closed else None for model in self.models
        ]
        try:
            marginal, swapped = self._marginal(theta, "extent")
        except InvalidInputError:
            marginal, swapped = None, False
        around: list[FloatArray] = [
            model.manifold.scattered(_SCATTERED, np.random.default_rng(0)) for model in self.models
        ]
        if marginal is not None:
            curve = marginal.curve()
            k = 0 if swapped else 1
            around[k] = curve.points(np.linspace(curve.low, curve.high, _SCATTERED))
            if boxes[k] is None:
                boxes[k] = around[k].min(axis=0), around[k].max(axis=0)
        elif not any(model.manifold.is_closed for model in self.models):
            raise self._missing("extent where neither factor has dimension one or is closed")
        i, j = self.chosen
        first, second, coupling = self.split(theta)
        for k, box in enumerate(boxes):
            if box is None:
                t = self.models[1 - k].statistics(around[1 - k])
                own = np.repeat((first, second)[k][None, :], len(t), axis=0)
                own[:, (i, j)[k]] += t[:, (j, i)[k]] @ (coupling.T if k == 0 else coupling)
                found = [self.models[k].extent(one) for one in own]
                boxes[k] = (
                    np.min([low for low, _ in found], axis=0),
                    np.max([high for _, high in found], axis=0),
                )
        corners = [box for box in boxes if box is not None]
        return np.concatenate([low for low, _ in corners]), np.concatenate([high for _, high in corners])

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        if not self.is_bound:
            raise InvalidInputError(
                "An interacting model draws on a manifold that it knows: use its method on(manifold) first, or give a "
                "region."
            )
        marginal, swapped = self._marginal(self.natural_parameters(**params), "a sampler")
        given, along = marginal.draw(n, rng)
        return np.concatenate([along, given] if swapped else [given, along], axis=1)


class _OneSide:
    """The statistics of an interacting model as functions of one of its two parts, the other one held fixed."""

    def __init__(self, model: InteractingModel, number: int) -> None:
        self.model, self.number = model, number
        self.own, self.other = model.columns[number], model.columns[1 - number]
        self.chosen, self.factors = model.chosen[number], model.chosen[1 - number]

    def held(self, X: FloatArray) -> FloatArray:
        """The chosen statistics of the other part, shape (n, q)."""
        return self.model.models[1 - self.number].statistics(X[:, self.other])[:, self.factors]

    def spread(self, X: FloatArray, linear: FloatArray) -> FloatArray:
        """What is linear in the own statistics, (n, p_own), for all statistics of the model, (n, p)."""
        products = linear[:, self.chosen, None] * self.held(X)[:, None, :]
        if self.number == 1:
            products = products.transpose(0, 2, 1)
        zeros = np.zeros((len(X), self.model.models[1 - self.number].size))
        first, second = (linear, zeros) if self.number == 0 else (zeros, linear)
        return np.concatenate([first, second, products.reshape(len(X), -1)], axis=1)

    def gram(self, X: FloatArray, weight: FloatArray | float, own_gram: Any) -> FloatArray:
        """Sum of weight ⟨∇t, ∇tᵀ⟩ over this part: the own family's, its rows weighted with products of the others."""
        held = np.column_stack([np.ones(len(X)), self.held(X)])
        rows = X[:, self.own]
        size = self.model.size
        # Where statistic a of the own family times entry l of (1, held) stands in θ; −1 for none.
        order = np.full((self.model.models[self.number].size, held.shape[1]), -1)
        order[:, 0] = np.arange(size)[self.model.blocks[self.number]]
        products = np.arange(self.model.blocks[-1].stop, size)
        shape = (self.chosen.size, self.factors.size)
        order[self.chosen, 1:] = products.reshape(shape) if self.number == 0 else products.reshape(shape[::-1]).T
        total = np.zeros((size, size))
        for left in range(held.shape[1]):
            for right in range(left + 1):
                found = own_gram(rows, weight * held[:, left] * held[:, right])
                i, j = order[:, left], order[:, right]
                inside = found[np.ix_(i >= 0, j >= 0)]
                i, j = i[i >= 0], j[j >= 0]
                total[np.ix_(i, j)] = inside
                total[np.ix_(j, i)] = inside.T
        return total


class _InFactor(FactorTangent):
    """The statistics of an interacting model as functions of one factor of the manifold."""

    def __init__(self, side: _OneSide, functions: FactorTangent) -> None:
        self.side, self.functions = side, functions

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.side.spread(X, self.functions.gradient_dot(X[:, self.side.own], V))

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return self.side.gram(X, weight, self.functions.gradient_gram)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self.side.spread(X, self.functions.weighted_hessian(X[:, self.side.own], isotropic, directions))


@final
@dataclass(frozen=True, eq=False, repr=False)
class CentredInteraction(AnotherForm):
    """An interacting model with its families in other forms, such as about another origin.

    The statistics of each family become t′ = B t + k. Their products become those of (1, t) ⊗ (1, t) with the Kronecker
    product of the matrices (1, 0; k, B). The parameters are those of the model as it was written.

    Parameters
    ----------
    model
        The model as it was written.
    form
        The same with its families in other forms.
    """

    model: InteractingModel
    form: InteractingModel

    @cached_property
    def _back(self) -> FloatArray:
        augmented = []
        for form, model in zip(self.form.models, self.model.models, strict=True):
            B = form.to_original().T
            flat = np.zeros((1, model.embedding_dim))
            point = (
                flat if model.manifold.contains(flat).all() else model.manifold.scattered(1, np.random.default_rng(0))
            )
            M = np.eye(1 + model.size)
            M[1:, 1:] = B
            M[1:, 0] = (form.statistics(point) - model.statistics(point) @ B.T)[0]
            augmented.append(M)
        i, j = self.model.chosen
        sizes = [len(M) for M in augmented]
        order = np.arange(sizes[0] * sizes[1]).reshape(sizes)
        kept = np.concatenate([order[1:, 0], order[0, 1:], order[np.ix_(1 + i, 1 + j)].ravel()])
        back: FloatArray = np.kron(*augmented).T[np.ix_(kept, kept)]
        return back

    def on(self, manifold: Manifold) -> Self:
        if self.is_bound and self.form.is_bound and self.manifold == manifold:
            return self
        return replace(self, model=self.model.on(manifold), form=self.form.on(manifold))

    def to_original(self) -> FloatArray:
        return self._back

    def make_constraint(self) -> Constraint:
        return self.model.constraint

    def statistics(self, X: FloatArray) -> FloatArray:
        return self.form.statistics(X)

    def gradient(self, X: FloatArray) -> FloatArray:
        return self.form.gradient(X)

    def laplacian(self, X: FloatArray) -> FloatArray:
        return self.form.laplacian(X)

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.form.hessian(X, V)

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.form.gradient_dot(X, V)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.form.log_gradient(X, theta)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return self.form.gradient_gram(X, weight)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self.form.weighted_hessian(X, isotropic, directions)

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        return self.form.in_factor(manifold, k)

    def parameters(self, theta: FloatArray) -> Parameters:
        return self.model.parameters(self._back @ theta)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        first, second = self.model.blocks
        return {"first": self._back[first], "second": self._back[second], "interaction": self._back[second.stop :]}

    def natural_parameters(self, **params: Any) -> FloatArray:
        return np.asarray(np.linalg.solve(self._back, self.model.natural_parameters(**params)), dtype=np.float64)

    def log_normaliser(self, theta: FloatArray) -> float:
        return self.form.log_normaliser(theta)

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.form.expectation(theta)

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        return self.form.maximise_likelihood(mean)

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.form.extent(theta)


def _check_indices(values: Any, name: str) -> tuple[int, ...] | None:
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidTypeError(f"{name} must be indices of statistics, such as [0, 2], or None; got {values!r}.")
    found = tuple(check_count(value, f"an entry of {name}", at_least=0) for value in values)
    if not found:
        raise InvalidInputError(f"{name} must name at least one statistic, or be None for all.")
    if len(set(found)) != len(found):
        raise InvalidInputError(f"{name} names a statistic twice: {list(found)}.")
    return found
