"""What a mixture is as a density: where it lives, its θ, its parts and their integrals; names are in another file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold
from tmsm.measure.integrals import log_sum
from tmsm.models.another_form import AnotherForm
from tmsm.models.backgrounds import Background, check_bounded
from tmsm.models.base import LinearModel
from tmsm.models.constraints import Constraint, Unrestricted
from tmsm.models.mixture_density import MixtureAt
from tmsm.models.nonlinear import NonlinearModel
from tmsm.models.product_sets import block_diagonal, block_slices, product_set
from tmsm.regions import Region

__all__ = ["MixtureForm"]

# Rows for each parameter of a component, at least.
_LEAST_ROWS = 2.0


class MixtureForm(NonlinearModel):
    """log p = log Σ exp(a_k + θ_k·(t(x) − c)) with a_1 = 0 and θ = (a_2, …, θ_1, θ_2, …).

    A subclass is a frozen dataclass with the fields ``component``, ``n_components`` and ``background``.  A `centred`
    form has c and a row to compute integrals at; one that knows its region has the integral of the background over it.
    """

    component: LinearModel
    n_components: int | str
    background: Any
    _offset: FloatArray | None = None
    _anchor: FloatArray | None = None
    _log_background: float | None = None
    # Where draws from the background lie; all else that depends on the region is in its integral.
    _region: Region | None = None

    @property
    def count(self) -> int:
        """Number k of components, once it is chosen."""
        if isinstance(self.n_components, str):
            raise InvalidInputError(
                f"The number of components is still to be chosen (n_components={self.n_components!r}): TruncatedMLE "
                "does so."
            )
        return self.n_components

    @property
    def is_chosen(self) -> bool:
        """Whether the number of components is known."""
        return not isinstance(self.n_components, str)

    @property
    def n_levels(self) -> int:
        """Number m of components, the background included."""
        return self.count + self.has_background

    @property
    def has_background(self) -> bool:
        """Whether there is a background."""
        return self.background is not False

    @property
    def known_background(self) -> Background | None:
        """What clusters sit on; None where that is nothing."""
        return Background.of(self.background)

    def _changed(self, **changes: Any) -> Self:
        """A copy with other fields, or another form."""
        made = type(self).from_arguments(**{**self.to_arguments(), **changes})
        object.__setattr__(made, "_region", self._region)
        return made

    def _value(self) -> tuple[Any, ...]:
        form = [None if one is None else one.tobytes() for one in (self._offset, self._anchor)]
        return *super()._value(), *form, self._log_background

    def to_arguments(self) -> dict[str, Any]:
        form = {"offset": self._offset, "anchor": self._anchor, "log_background": self._log_background}
        return {**super().to_arguments(), **{name: value for name, value in form.items() if value is not None}}

    @classmethod
    def from_arguments(
        cls,
        *,
        offset: FloatArray | None = None,
        anchor: FloatArray | None = None,
        log_background: float | None = None,
        **arguments: Any,
    ) -> Self:
        made = cls(**arguments)
        for name, value in (("_offset", offset), ("_anchor", anchor)):
            object.__setattr__(made, name, None if value is None else frozen_array(value))
        object.__setattr__(made, "_log_background", log_background)
        return made

    # Where it lives.

    @property
    def is_bound(self) -> bool:
        return self.component.is_bound

    @property
    def manifold(self) -> Manifold:
        return self.component.manifold

    def check_manifold(self, manifold: Manifold) -> None:
        self.component.check_manifold(manifold)

    @property
    def home(self) -> Any:  # type: ignore[override]
        """Where the component lives."""
        return self.component.home

    @property
    def home_in_words(self) -> tuple[str, str]:
        return self.component.home_in_words

    def usual_manifold(self, n_columns: int) -> Manifold:
        return self.component.usual_manifold(n_columns)

    def on(self, manifold: Manifold) -> Self:
        bound = self.component.on(manifold)
        return self if bound is self.component else self._changed(component=bound)

    def in_region(self, region: Region) -> Self:
        background = self.known_background
        if background is None:
            return self
        check_bounded(region)
        model = self.on(region.manifold)
        log_area = 0.0
        if region.manifold.is_closed:
            log_area = model.component.log_normaliser(np.zeros(model.component.size))
        made = model._changed(log_background=background.log_mass(region, log_area))
        object.__setattr__(made, "_region", region)
        return made

    def beyond(self) -> Self:
        """The mixture without its background, which ends at the border; θ without its last level."""
        return self._changed(background=False, log_background=None) if self.has_background else self

    def beyond_theta(self, theta: FloatArray) -> FloatArray:
        """θ of `beyond`."""
        return np.delete(theta, self.n_levels - 2) if self.has_background else theta

    @property
    def has_second_derivatives(self) -> bool:
        background = self.known_background
        return background is None or background.is_uniform

    @property
    def caution_of_matching(self) -> str:
        if self.n_levels == 1:
            return ""
        return (
            "Score matching hardly determines how rows are shared between components that lie apart: the shares, and "
            "what depends on them, may be far off. TruncatedMLE, or refine='mle', determines them."
        )

    def check_spread(self, X: FloatArray) -> None:
        self.component.check_spread(X)
        if self.is_chosen:
            self.require_carried(len(X))

    @property
    def rows_each(self) -> float:
        """The least number of rows of a component."""
        return _LEAST_ROWS * self.component.constraint.n_free

    def require_carried(self, n: int) -> None:
        """Raise where there are more components than so many rows can carry."""
        most = int(n // self.rows_each)
        if self.count > most:
            raise EstimationError(
                f"{n:,} row{'s' * (n != 1)} cannot carry {self.count} components, each of which needs "
                f"{self.rows_each:.0f} rows or more: use at most {max(most, 1)}, or more rows."
            )

    def centred(self, X: FloatArray) -> Self:
        component = self.component.centred(X)
        if not isinstance(component, LinearModel) or self._offset is not None:
            return self
        statistics = component.statistics(X)
        offset = statistics.mean(axis=0)
        spread = np.maximum(statistics.std(axis=0), 1e-300)
        nearest = int(np.argmin((((statistics - offset) / spread) ** 2).sum(axis=1)))
        return self._changed(component=component, offset=offset, anchor=X[nearest])

    def to_original(self) -> FloatArray:
        m, k = self.n_levels, self.count
        matrix = block_diagonal([np.eye(m - 1), *[self.component.to_original()] * k])
        # θ_k·(t − c) of this form is (Mθ_k)·t − d·θ_k of the family as it was written, the first level zero too.
        drop, blocks = self._drop, self._blocks
        for j in range(1, m):
            matrix[j - 1, blocks[1]] += drop
            if j < k:
                matrix[j - 1, blocks[1 + j]] -= drop
        return matrix

    @property
    def _drop(self) -> FloatArray:
        """The d above, shape (q,): c, less the constant by which another form's statistics differ."""
        drop = np.zeros(self.component.size) if self._offset is None else self._offset + 0.0
        if isinstance(self.component, AnotherForm) and self._anchor is not None:
            x = self._anchor[None, :]
            written = self.component.model.statistics(x)[0]
            drop -= self.component.statistics(x)[0] - self.component.to_original().T @ written
        return drop

    @property
    def size(self) -> int:
        return self.n_levels - 1 + self.count * self.component.size

    @property
    def _blocks(self) -> tuple[slice, ...]:
        """Where the levels, and each θ_k, lie in θ."""
        return block_slices([self.n_levels - 1, *[self.component.size] * self.count])

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The levels a, the first of them zero, shape (m,), and the θ_k, shape (k, q)."""
        m = self.n_levels
        return np.concatenate([[0.0], theta[: m - 1]]), theta[m - 1 :].reshape(self.count, -1)

    def join(self, levels: FloatArray, thetas: FloatArray) -> FloatArray:
        """θ, shape (p,), from levels (m,) up to a constant, and the θ_k, shape (k, q)."""
        return np.concatenate([levels[1:] - levels[0], np.ravel(thetas)])

    def centred_statistics(self, X: FloatArray) -> FloatArray:
        """The statistics t − c, shape (n, q)."""
        t = self.component.statistics(X)
        return t if self._offset is None else t - self._offset

    def at_theta(self, theta: FloatArray) -> MixtureAt:
        """The mixture at θ; kept, since every block of a pass asks for the same."""
        known = self.__dict__.get("_known_at")
        if known is None or not np.array_equal(known[0], theta):
            levels, thetas = self.split(np.array(theta))
            offset = np.zeros(self.component.size) if self._offset is None else self._offset
            known = np.array(theta), MixtureAt(self.component, offset, levels, thetas, self.known_background)
            self.__dict__["_known_at"] = known
        made: MixtureAt = known[1]
        return made

    _TRANSIENT = frozenset({"_shelf", "_known_constraint", "_known_at"})

    def make_constraint(self) -> Constraint:
        parts = [Unrestricted(self.n_levels - 1), *[self.component.constraint] * self.count]
        return product_set(parts, [self.n_levels - 1, *[self.component.size] * self.count])

    @property
    def has_profiles(self) -> bool:
        """Whether the θ with a given concentration of one component are easily searched: where θ has no constraint."""
        return self.component.is_bound and isinstance(self.component.constraint, Unrestricted)

    def slice(self, name: str, value: Any) -> Constraint | None:
        base, _, number = name.rpartition("_")
        if base != "concentration" or not number.isdigit() or not self.has_profiles:
            return None
        own = self.component.slice(base, value)
        if own is None:
            return None
        parts: list[Constraint] = [Unrestricted(self.n_levels - 1), *[self.component.constraint] * self.count]
        parts[int(number)] = own
        return product_set(parts, [self.n_levels - 1, *[self.component.size] * self.count])

    def log_masses(self, theta: FloatArray) -> FloatArray:
        """Logarithms of the integrals of exp ℓ_k over the manifold, of a background over the region, shape (m,)."""
        levels, thetas = self.split(theta)
        masses = levels + 0.0
        for k, own in enumerate(thetas):
            masses[k] += self._log_partition(own)
        if self.has_background:
            masses[-1] += self._background_mass
        return masses

    def _log_partition(self, own: FloatArray) -> float:
        """Log ∫ exp(θ·(t − c)) over the manifold."""
        component = self.component
        anchor = self._anchor
        if anchor is None:
            anchor = component.manifold.scattered(1, np.random.default_rng(0))[0]
        x = anchor[None, :]
        # log kernel = θ·t + a constant, found at any point.
        t = component.statistics(x)[0] if self._offset is None else component.statistics(x)[0] - self._offset
        return component.log_normaliser(own) + float(t @ own) - float(component.log_kernel(x, own)[0])

    @property
    def _background_mass(self) -> float:
        if self._log_background is None:
            raise InvalidInputError(
                "A background is a density over a region: give the region, by region= or by in_region(region)."
            )
        return self._log_background

    def shares_at(self, theta: FloatArray) -> FloatArray:
        """Shares of the components, and of a background after them, shape (m,)."""
        masses = self.log_masses(theta)
        shares: FloatArray = np.exp(masses - masses.max())
        shares /= shares.sum()
        return shares

    def _mass_slopes(self, theta: FloatArray) -> FloatArray:
        """Derivatives of the `log_masses`, d log W_k = da_k + (E_k t − c)·dθ_k, shape (m, p)."""
        m, blocks = self.n_levels, self._blocks
        slopes = np.zeros((m, theta.size))
        slopes[1:, : m - 1] = np.eye(m - 1)
        for k, own in enumerate(self.split(theta)[1]):
            mean = self.component.expectation(own)[0]
            slopes[k, blocks[1 + k]] = mean if self._offset is None else mean - self._offset
        return slopes

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        at = self.at_theta(theta)
        return at.log_kernel(X) if at.valid else np.full(len(X), np.nan)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.at_theta(theta).log_gradient(X)

    def log_hessian(self, X: FloatArray, V: FloatArray, theta: FloatArray) -> FloatArray:
        return self.at_theta(theta).log_hessian(X, V)

    def log_laplacian(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.at_theta(theta).log_laplacian(X)

    def tangent(self, theta: FloatArray) -> MixtureAt:
        return self.at_theta(theta)

    def curvature_sum(self, X: FloatArray, weight: FloatArray, theta: FloatArray) -> FloatArray:
        return self.at_theta(theta).curvature_sum(X, weight)

    def log_normaliser(self, theta: FloatArray) -> float:
        return log_sum(self.log_masses(theta))

    @property
    def is_normalised(self) -> bool:
        return True

    def whole_integral(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        # log Σ W_k: its slope is the mean of ∂ log W_k over the shares, and its bend their spread and E_k of their own.
        slopes, shares = self._mass_slopes(theta), self.shares_at(theta)
        mean = shares @ slopes
        hessian = weighted_gram(slopes, shares) - np.outer(mean, mean)
        for share, own, block in zip(shares, self.split(theta)[1], self._blocks[1:], strict=False):
            hessian[block, block] += share * self.component.expectation(own)[1]
        return self.log_normaliser(theta), mean, hessian

    def parameter_sizes(self, theta: FloatArray) -> FloatArray:
        # What changes a log height by about one where the component lies.
        sizes = [np.ones(self.n_levels - 1)]
        for own in self.split(theta)[1]:
            spread = np.sqrt(np.maximum(np.diag(self.component.expectation(own)[1]), 0.0))
            sizes.append(1.0 / np.maximum(spread, 1e-3 * max(float(spread.max()), 1e-300)))
        return np.concatenate(sizes)

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        boxes = [self.component.extent(own) for own in self.split(theta)[1]]
        low, high = (np.array(ends) for ends in zip(*boxes, strict=True))
        return low.min(axis=0), high.max(axis=0)
