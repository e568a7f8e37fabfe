"""Derivative checks for models: what a family says of ∇t, Δt and Hess t against finite differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, row_norms
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_random_state
from tmsm.manifolds import Manifold
from tmsm.models.base import LinearModel, Model
from tmsm.models.nonlinear import NonlinearModel

__all__ = ["ModelCheck", "check_model"]

_STEP, _SECOND_STEP = 1e-5, 1e-3
_TOLERANCE, _SECOND_TOLERANCE = 1e-7, 1e-5


@dataclass(frozen=True)
class ModelCheck:
    """What `check_model` found: the largest deviation of each derivative, relative to its size."""

    model: Model
    manifold: Manifold
    deviations: dict[str, float]

    def __str__(self) -> str:
        lines = [f"{self.model!r} on {self.manifold!r}: all derivatives agree with finite differences."]
        width = max(map(len, self.deviations))
        return "\n".join([*lines, *(f"  {name:<{width}}  {value:.1e}" for name, value in self.deviations.items())])


def check_model(model: Model, manifold: Manifold, n: int = 50, random_state: Any = 0) -> ModelCheck:
    """Compare the derivatives of a model with finite differences. A difference is an error that names the entry.

    Parameters
    ----------
    model
        A model, such as one of your own.
    manifold
        Where it lives, such as `Sphere(2)`.
    n
        Number of points to try.
    random_state
        None, an int or a `numpy.random.Generator`.

    Returns
    -------
    A record of the deviations that were found; it can be printed.

    Examples
    --------
    >>> import tmsm
    >>> print(tmsm.check_model(tmsm.Kent(), tmsm.Sphere(2)))  # doctest: +ELLIPSIS
    Kent(concentration=None, ovalness=None) on Sphere(dim=2): all derivatives agree with finite differences.
      statistics shape ...
    """
    if not isinstance(model, Model):
        raise InvalidTypeError(f"model must be a model such as VonMisesFisher(); got {type(model).__name__}.")
    if not isinstance(manifold, Manifold):
        raise InvalidTypeError(f"manifold must be one, such as Sphere(2); got {type(manifold).__name__}.")
    model = model.on(manifold)
    rng = check_random_state(random_state)
    X = manifold.scattered(check_count(n, "n"), rng)
    checks = _LinearChecks if isinstance(model, LinearModel) else _NonlinearChecks
    return ModelCheck(model, manifold, checks(model, manifold, X, rng).deviations())


class _Checks(ABC):
    """Functions of points against their differences along geodesics."""

    def __init__(self, model: Any, manifold: Manifold, X: FloatArray, rng: np.random.Generator) -> None:
        self.model, self.manifold, self.X, self.rng = model, manifold, X, rng
        self.name = type(model).__name__
        self.found: dict[str, float] = {}

    @abstractmethod
    def deviations(self) -> dict[str, float]:
        """The largest deviation of each derivative; an error where one is too large."""

    def _derivatives(
        self,
        function: Callable[[FloatArray], FloatArray],
        slope: Callable[[FloatArray], FloatArray],
        second: Callable[[FloatArray], FloatArray],
        laplacian: FloatArray,
        prefix: str = "",
    ) -> None:
        """Compare ⟨∇f, v⟩, Hess f(v, v) and Δf of functions (n, p) with differences along an orthonormal basis."""
        bases, h = self._bases(), _SECOND_STEP
        total = np.zeros_like(laplacian)
        for k, V in enumerate(bases):

            def walk(step: float, V: FloatArray = V) -> FloatArray:
                return function(self.manifold.retract(self.X, step * V))

            first = (walk(_STEP) - walk(-_STEP)) / (2.0 * _STEP)
            self._compare(f"{prefix}gradient", slope(V), first, _TOLERANCE, f"direction {k}")
            # Fourth order: (16 near − far − 30 t) / 12h².
            near, far = walk(h) + walk(-h), walk(2.0 * h) + walk(-2.0 * h)
            bend = (16.0 * near - far - 30.0 * function(self.X)) / (12.0 * h * h)
            self._compare(f"{prefix}hessian", second(V), bend, _SECOND_TOLERANCE, f"direction {k}")
            total += bend
        self._compare(f"{prefix}laplacian", laplacian, total, _SECOND_TOLERANCE)

    def _bases(self) -> list[FloatArray]:
        """Orthonormal tangent vectors at every point, one list entry for each dimension."""
        bases: list[FloatArray] = []
        while len(bases) < self.manifold.dim:
            V = self.manifold.project_tangent(self.X, self.rng.standard_normal(self.X.shape))
            for _ in range(2):
                for U in bases:
                    V = V - U * np.einsum("nd,nd->n", U, V)[:, None]
                V = self.manifold.project_tangent(self.X, V)
            bases.append(V / row_norms(V)[:, None])
        return bases

    def _shape(self, name: str, array: Any, wanted: tuple[int, ...]) -> None:
        if np.shape(array) != wanted:
            raise InvalidInputError(f"{self.name}.{name} must have shape {wanted}; it has {np.shape(array)}.")
        if not np.isfinite(array).all():
            raise InvalidInputError(f"{self.name}.{name} has entries that are not finite.")
        self.found.setdefault(f"{name} shape", 0.0)

    def _compare(
        self,
        name: str,
        own: FloatArray,
        reference: FloatArray,
        tolerance: float,
        where: str = "",
        offset: tuple[int, ...] = (),
    ) -> None:
        if np.shape(own) != np.shape(reference):
            raise InvalidInputError(
                f"{self.name}.{name} must have shape {np.shape(reference)}; it has {np.shape(own)}."
            )
        scale = max(1.0, float(np.abs(reference).max()))
        error = np.abs(np.asarray(own) - reference)
        worst = np.unravel_index(int(np.argmax(error)), error.shape)
        deviation = float(error[worst]) / scale
        self.found[name] = max(self.found.get(name, 0.0), deviation)
        if not deviation <= tolerance:
            index = offset[0] if offset else int(worst[1]) if len(worst) > 1 else int(worst[0])
            along = f", {where}" if where else ""
            raise InvalidInputError(
                f"{self.name}.{name.split(' ')[0]} is wrong for statistic {index} (row {int(worst[0])}{along}): "
                f"{float(np.asarray(own)[worst]):.6g} where finite differences give {float(reference[worst]):.6g}."
                if name.removeprefix("log_") in ("gradient", "hessian", "laplacian")
                else f"{self.name}: {name} fails for statistic {index} (row {int(worst[0])}): "
                f"{float(np.asarray(own)[worst]):.6g} instead of {float(reference[worst]):.6g}."
            )


class _LinearChecks(_Checks):
    """The statistics of an exponential family, and the shortcuts that it may give."""

    model: LinearModel

    def deviations(self) -> dict[str, float]:
        model, X = self.model, self.X
        n, D, p = len(X), X.shape[1], model.size
        self._shape("statistics", model.statistics(X), (n, p))
        gradient, laplacian = model.gradient(X), model.laplacian(X)
        self._shape("gradient", gradient, (n, p, D))
        self._shape("laplacian", laplacian, (n, p))
        V = self._bases()[0]
        self._shape("hessian", model.hessian(X, V), (n, p))
        self._derivatives(
            model.statistics,
            lambda V: np.einsum("npd,nd->np", gradient, V),
            lambda V: model.hessian(X, V),
            laplacian,
        )
        for a in range(p):
            tangent = self.manifold.project_tangent(X, gradient[:, a])
            self._compare("gradient is tangent", gradient[:, [a]], tangent[:, None], _TOLERANCE, "", (a,))
        self._contractions(V)
        return self.found

    def _contractions(self, V: FloatArray) -> None:
        """Shortcuts that a model may give against what they are short for."""
        model, X = self.model, self.X
        theta = self.rng.standard_normal(model.size)
        weight = self.rng.uniform(0.5, 1.5, len(X))
        pairs = {
            "gradient_dot": (model.gradient_dot(X, V), LinearModel.gradient_dot(model, X, V)),
            "log_gradient": (model.log_gradient(X, theta), LinearModel.log_gradient(model, X, theta)),
            "gradient_gram": (model.gradient_gram(X, weight), LinearModel.gradient_gram(model, X, weight)),
            "weighted_hessian": (
                model.weighted_hessian(X, weight, [(V, weight)]),
                LinearModel.weighted_hessian(model, X, weight, [(V, weight)]),
            ),
        }
        for name, (own, default) in pairs.items():
            self._compare(name, own, default, _TOLERANCE)


class _NonlinearChecks(_Checks):
    """The log density at the θ that searches begin from, and its derivatives by θ."""

    model: NonlinearModel

    def deviations(self) -> dict[str, float]:
        model, X = self.model, self.X
        for theta in model.starts(X):
            self._shape("start", theta, (model.size,))
            self._shape("log_kernel", model.log_kernel(X, theta), (len(X),))
            gradient = model.log_gradient(X, theta)
            self._shape("log_gradient", gradient, X.shape)
            self._compare(
                "gradient is tangent", gradient, self.manifold.project_tangent(X, gradient), _TOLERANCE, "", (0,)
            )
            self._derivatives(
                lambda Y, theta=theta: model.log_kernel(Y, theta)[:, None],  # type: ignore[misc]
                lambda V, gradient=gradient: row_dots(gradient, V)[:, None],  # type: ignore[misc]
                lambda V, theta=theta: model.log_hessian(X, V, theta)[:, None],  # type: ignore[misc]
                model.log_laplacian(X, theta)[:, None],
                "log_",
            )
            self._by_parameters(theta)
        return self.found

    def _by_parameters(self, theta: FloatArray) -> None:
        """A tangent that a model gives against the differences that stand for it."""
        model, X, V = self.model, self.X, self._bases()[0]
        weight = self.rng.uniform(0.5, 1.5, len(X))
        own, default = model.tangent(theta), NonlinearModel.tangent(model, theta)
        for name, (found, wanted) in {
            "tangent.gradient_dot": (own.gradient_dot(X, V), default.gradient_dot(X, V)),
            "tangent.weighted_hessian": (
                own.weighted_hessian(X, weight, [(V, weight)]),
                default.weighted_hessian(X, weight, [(V, weight)]),
            ),
        }.items():
            self._compare(name, found, wanted, _SECOND_TOLERANCE)
