"""Mixtures of exponential families, with or without a background: p(x) = Σ π_k f(x; θ_k) + π_0 b(x)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_option, check_random_state
from tmsm.measure.draws import draw_inside
from tmsm.measure.integrals import LogMass
from tmsm.models.backgrounds import Background
from tmsm.models.base import LinearModel, Model
from tmsm.models.constraints import Constraint
from tmsm.models.mixture_clusters import cluster_labels, moment_fits
from tmsm.models.mixture_form import MixtureForm
from tmsm.models.mixture_names import (
    BACKGROUND_SHARE,
    SHARES,
    component_fields,
    numbered,
    own_reading,
    shares_from,
    stacked,
    unstacked,
)
from tmsm.models.mixture_points import MixtureOnPoints
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading
from tmsm.models.share_set import ShareSet
from tmsm.regions import Region

__all__ = ["CHOICES", "Mixture"]

# How the number of components may be chosen.
CHOICES = ("bic", "held-out")
# Every component has at least such a share of the rows.
_LEAST_SHARE = 0.01
# What a background has of the rows where a search begins.
_BACKGROUND_ROWS = 0.2
# A component is no narrower than this share of the spread of all rows.
_NARROWEST = 1e-3
# The least share that a profile looks at, and the one that a search next to a share of zero begins with.
_LEAST_PROFILED, _LIFTED = 1e-12, 0.01
# A component with less of the whole mixture has no meaning beyond the rows seen.
_LEAST_WHOLE = 1e-8


@final
@dataclass(frozen=True, eq=False, repr=False)
class Mixture(MixtureForm):
    """Mixture of components of one exponential family, with or without a background.

    p(x) = Σ π_k f(x; θ_k) + π_0 b(x). The shares π_k are those of the whole mixture on the whole manifold: a component
    whose centre lies outside the region counts with its unseen part. A background b is a density over the region only.
    Components are ordered by share, the largest first.

    Parameters
    ----------
    component
        The family of all components, such as `VonMisesFisher()`, `Kent()` or `MultivariateNormal()`. A parameter that
        is known in it is known for every component.
    n_components
        The number of components, or the way to choose it: "bic" for the Bayesian information criterion, "held-out" for
        the held-out likelihood.
    background
        True for a uniform background inside the region; or its log density up to a constant, as a function of X (n, D)
        that returns values (n,), or an `ExposureMap`.

    Notes
    -----
    Fit it by `TruncatedMLE`, or by `ScoreMatching` with ``refine="mle"``. Score matching alone hardly determines the
    shares of components that do not overlap. The likelihood of a mixture has no upper bound, because a component may
    shrink to a few rows. An estimate therefore has at least 1 % of the rows in every component.

    With the statistics t of the component, θ = (a_2, …, θ_1, θ_2, …) and log p = log Σ exp(a_k + θ_k·t(x)), a_1 = 0; a
    background is the last of the a_k.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
    >>> region = tmsm.Cap([0.0, 0.0, 1.0], 0.6)
    >>> centres = tmsm.lonlat_to_xyz([0.0, 120.0], [70.0, 60.0])
    >>> truth = {"shares": [0.6, 0.4], "mean_direction": centres, "concentration": [60.0, 40.0]}
    >>> X = model.sample(2000, region, random_state=0, **truth)
    >>> fit = tmsm.TruncatedMLE(model, region).fit(X)
    >>> fit.params_.mean_direction.shape, bool(np.abs(fit.params_.shares - truth["shares"]).max() < 0.1)
    ((2, 3), True)
    """

    component: LinearModel
    n_components: int | str
    background: Any = False

    def __post_init__(self) -> None:
        if not isinstance(self.component, LinearModel):
            given = self.component.__name__ if isinstance(self.component, type) else type(self.component).__name__
            hint = " Call the class to make one." if isinstance(self.component, type) else ""
            raise InvalidTypeError(
                f"component must be an exponential family such as VonMisesFisher(); got {given}.{hint}"
            )
        kind = type(self.component)
        if kind.log_normaliser is Model.log_normaliser or kind.expectation is LinearModel.expectation:
            raise InvalidInputError(
                f"{kind.__name__} has no normalising constant on the whole manifold, which shares need: components may "
                "be VonMisesFisher(), Kent() or MultivariateNormal(), for instance."
            )
        if isinstance(self.n_components, str):
            check_option(self.n_components, CHOICES, "n_components")
        else:
            object.__setattr__(self, "n_components", check_count(self.n_components, "n_components"))
        known = Background.of(self.background)
        object.__setattr__(self, "background", False if known is None else known.given)

    def with_count(self, count: int) -> Mixture:
        """The same with another number of components."""
        return self._changed(n_components=count)

    @property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """Names and kinds of the parameters, those of each component with its number."""
        found = [Field(numbered(SHARES, k), lowest=0.0, scale="logit", component=k + 1) for k in range(self.count)]
        found += [Field(BACKGROUND_SHARE, lowest=0.0, scale="logit")] * self.has_background
        for k in range(self.count):
            found += component_fields(self.component.fields, k)
        return tuple(found)

    @property
    def _names(self) -> list[str]:
        return [field.name for field in self.component.fields]

    def slice(self, name: str, value: Any) -> Constraint | None:
        share = {BACKGROUND_SHARE: float(value)} if self.has_background and np.ndim(value) == 0 else {}
        if self.count == 1 and share:
            share[numbered(SHARES, 0)] = 1.0 - float(value)
        if name not in share:
            return super().slice(name, value)
        if not self.has_profiles:
            return None
        kept = min(max(share[name], _LEAST_PROFILED), 1.0 - _LEAST_PROFILED)
        log_odds = float(np.log(kept) - np.log1p(-kept))
        clusters = self.beyond().whole_integral
        return ShareSet(self.size, self.n_levels - 2, log_odds, self._background_mass, clusters)

    def lifted(self, theta: FloatArray) -> FloatArray:
        if not self.has_background or self.shares_at(theta)[-1] >= _LIFTED:
            return theta
        found = self.slice(BACKGROUND_SHARE, _LIFTED)
        return theta if found is None else found.point(theta).theta

    def presented(self, values: Parameters) -> Parameters:
        return stacked(values, self._names, self.count)

    def parameters(self, theta: FloatArray) -> Parameters:
        shares, thetas = self.shares_at(theta), self.split(theta)[1]
        values: dict[str, Any] = {numbered(SHARES, k): float(shares[k]) for k in range(self.count)}
        if self.has_background:
            values[BACKGROUND_SHARE] = float(shares[-1])
        for k, own in enumerate(thetas):
            values |= {numbered(name, k): value for name, value in self.component.parameters(own).items()}
        return Parameters(**values)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        shares, thetas = self.shares_at(theta), self.split(theta)[1]
        slopes, p, blocks = self._mass_slopes(theta), theta.size, self._blocks
        # dπ = π (d log W − Σ π d log W)
        of_shares = shares[:, None] * (slopes - shares @ slopes)
        found = {numbered(SHARES, k): of_shares[k : k + 1] for k in range(self.count)}
        if self.has_background:
            found[BACKGROUND_SHARE] = of_shares[-1:]
        for k, own in enumerate(thetas):
            for name, jacobian in self.component.parameter_jacobian(own).items():
                wide = np.zeros((len(jacobian), p))
                wide[:, blocks[1 + k]] = jacobian
                found[numbered(name, k)] = wide
        return found

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        found: list[Reading] = []
        for k in range(self.count):
            own = Parameters(**{name: params[numbered(name, k)] for name in self._names})
            found += [own_reading(reading, k) for reading in self.component.readings(own)]
        return tuple(found)

    def natural_parameters(self, **params: Any) -> FloatArray:
        model = self._bound_for(params)
        shares = shares_from(params, self.count, self.has_background)
        own = [model.component.natural_parameters(**one) for one in unstacked(params, self._names, self.count)]
        if len({theta.size for theta in own}) > 1:
            raise InvalidInputError("The components have parameters for different numbers of coordinates.")
        thetas = np.array(own)
        levels = np.log(shares)
        levels[: self.count] -= [model._log_partition(theta) for theta in thetas]
        if self.has_background:
            levels[-1] -= model._background_mass
        return self.join(levels, thetas)

    def _bound_for(self, params: Mapping[str, Any]) -> Mixture:
        """The model on the manifold that the parameters are of, where it is not bound."""
        if self.is_bound:
            return self
        first = self._names[0]
        given = params.get(first, params.get(numbered(first, 0)))
        return self.on(self.usual_manifold(np.shape(given)[-1] if np.ndim(given) else 1))

    def _check_params(self, params: dict[str, Any]) -> FloatArray:
        allowed = {SHARES, *self._names, *(field.name for field in self.fields)}
        unknown = [name for name in params if name not in allowed]
        first = self._names[0]
        names = [SHARES, *([BACKGROUND_SHARE] if self.has_background else []), *self._names]
        if unknown:
            raise InvalidInputError(f"Mixture has no parameter {unknown[0]!r}; it has {names}.")
        if first not in params and numbered(first, 0) not in params:
            raise InvalidInputError(f"{first} must be given by name: Mixture has {names}.")
        return self.natural_parameters(**params)

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        if self.has_background and self._region is None:
            raise InvalidInputError("A background lies inside a region: give region= to draw with it.")
        return self._draw(n, rng, params, self._region)

    def _draw(self, n: int, rng: np.random.Generator, params: Mapping[str, Any], region: Region | None) -> FloatArray:
        shares = shares_from(params, self.count, self.has_background)
        numbers = rng.multinomial(n, shares)
        parts = [
            self.component.draw(int(number), rng, **own)
            for number, own in zip(numbers, unstacked(params, self._names, self.count), strict=False)
        ]
        background = self.known_background
        if background is not None and region is not None:
            parts.append(background.draw(int(numbers[-1]), region, rng))
        drawn: FloatArray = np.concatenate(parts)[rng.permutation(n)]
        return drawn

    def sample(self, n: int, region: Region | None = None, random_state: Any = None, **params: Any) -> FloatArray:
        if not self.has_background or region is None:
            return super().sample(n, region, random_state, **params)
        n, rng = check_count(n, "n", at_least=0), check_random_state(random_state)
        self._check_region(region)
        model = self.in_region(region)
        model._check_params(params)
        return draw_inside(lambda size: model._draw(size, rng, params, region), n, region)

    def logpdf(self, X: Any, region: Region | None = None, **params: Any) -> FloatArray:
        return Model.logpdf(self._seen_in(region), X, region, **params)

    def log_mass(self, region: Region, **params: Any) -> LogMass:
        return Model.log_mass(self._seen_in(region), region, **params)

    def _seen_in(self, region: Region | None) -> Mixture:
        if not self.has_background:
            return self
        if region is None:
            raise InvalidInputError("A background is a density over a region: give region=.")
        self._check_region(region)
        return self.in_region(region)

    def posterior_shares(self, X: Any, region: Region | None = None, **params: Any) -> FloatArray:
        """The probability of each row to belong to each component.

        Parameters
        ----------
        X
            Points, shape (n, D).
        region
            Where the rows could be seen; needed where there is a background.
        **params
            The model's parameters by name.

        Returns
        -------
        Shape (n, k), and (n, k + 1) with a background, which is the last; rows sum to one.
        """
        model = self if region is None or self._log_background is not None else self._seen_in(region)
        theta = model._check_params(params)
        model = model._bound_for(params)
        return model.posterior_at(model.manifold.check_points(X), theta)

    def posterior_at(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.at_theta(theta).posterior(X)

    def on_points(self, X: FloatArray) -> MixtureOnPoints:
        return MixtureOnPoints(self, X)

    # Which optima are wanted.

    def ordered(self, theta: FloatArray) -> FloatArray:
        shares = self.shares_at(theta)[: self.count]
        return self.permuted(theta, np.argsort(-shares, kind="stable"))

    def permuted(self, theta: FloatArray, order: Any) -> FloatArray:
        """θ with the components in another order."""
        levels, thetas = self.split(theta)
        return self.join(np.concatenate([levels[order], levels[self.count :]]), thetas[order])

    def aligned(self, values: Parameters, estimate: Parameters) -> Parameters:
        """The order in which components differ least from those of the estimate, in their symmetric divergence."""
        from scipy.optimize import linear_sum_assignment

        ours, theirs = (self.split(self.natural_parameters(**one))[1] for one in (values, estimate))
        means = [[self.component.expectation(own)[0] for own in thetas] for thetas in (ours, theirs)]
        apart = [
            [float((a - b) @ (s - t)) for a, s in zip(ours, means[0], strict=True)]
            for b, t in zip(theirs, means[1], strict=True)
        ]
        order = linear_sum_assignment(np.array(apart))[1]
        names = [SHARES, *self._names]
        moved = {numbered(name, k): values[numbered(name, int(j))] for k, j in enumerate(order) for name in names}
        return Parameters(**{name: moved.get(name, value) for name, value in values.items()})

    @property
    def unsuited(self) -> str:
        return (
            f"Every search ended with a component that shrank to less than {100 * _LEAST_SHARE:g} % of the rows, or to "
            f"a spike: these rows do not show {self.count} components. Use fewer."
        )

    def suits(self, theta: FloatArray, X: FloatArray) -> bool:
        at = self.at_theta(theta)
        if not at.valid:
            return False
        if self.shares_at(theta)[: self.count].min() < _LEAST_WHOLE:
            return False
        r = at.posterior(X)
        rows = r.sum(axis=0)
        if (rows[: self.count] < max(_LEAST_SHARE * len(X), self.rows_each)).any():
            return False
        # How much log f bends over the spread of the rows, a mean over the rows of the component.
        manifold = self.manifold
        spread = X.std(axis=0)
        for u in manifold.tangent_frame(X):
            V = u * (spread if manifold.is_flat else float(np.sqrt((spread**2).sum() / manifold.dim)))
            bends = -(self.component.hessian(X, V) @ at.thetas.T)
            mean = (r[:, : self.count] * bends).sum(axis=0) / rows[: self.count]
            if (mean > _NARROWEST**-2).any():
                return False
        return True

    def starts(self, X: FloatArray) -> list[FloatArray]:
        statistics = self.component.statistics(X)
        found = []
        for labels in cluster_labels(self.component, X, statistics, self.count):
            thetas = moment_fits(self.component, statistics, labels, self.count)
            if all(theta is not None for theta in thetas):
                found.append(self.from_rows(np.array(thetas), np.bincount(labels, minlength=self.count)))
        return found

    def from_rows(
        self,
        thetas: FloatArray,
        numbers: FloatArray | IntArray,
        log_masses: FloatArray | None = None,
        background_rows: float = _BACKGROUND_ROWS,
    ) -> FloatArray:
        """θ, shape (p,), of components (k, q) that so many rows belong to, (k,), and of a share in the background.

        The masses are the probabilities of the region under each of them; by default one.
        """
        log_integrals = np.array([self._log_partition(own) for own in thetas])
        if log_masses is not None:
            log_integrals += log_masses
        levels = np.log(np.maximum(numbers, 0.5) / np.sum(numbers)) - log_integrals
        if self.has_background:
            levels = np.append(levels + np.log1p(-background_rows), np.log(background_rows) - self._background_mass)
        return self.join(levels, thetas)
