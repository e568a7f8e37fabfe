"""Derivative checks for models: what a family says of ∇t, Δt and Hess t against finite differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_norms
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_random_state
from tmsm.manifolds import Manifold
from tmsm.models.base import LinearModel, Model

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
    """Compare a model's derivatives with finite differences; a difference is an error that names its entry.

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
    A record to print, with the deviations found.

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
    n = check_count(n, "n")
    rng = check_random_state(random_state)
    X = manifold.scattered(n, rng)
    return ModelCheck(model, manifold, _Checks(model, manifold, X, rng).deviations())


class _Checks:
    def __init__(self, model: Model, manifold: Manifold, X: FloatArray, rng: np.random.Generator) -> None:
        self.model, self.manifold, self.X, self.rng = model, manifold, X, rng
        self.name = type(model).__name__
        self.p = model.size
        self.found: dict[str, float] = {}

    def deviations(self) -> dict[str, float]:
        model, X = self.model, self.X
        n, D, p = len(X), X.shape[1], self.p
        self._shape("statistics", model.statistics(X), (n, p))
        gradient = model.gradient(X)
        self._shape("gradient", gradient, (n, p, D))
        self._shape("laplacian", model.laplacian(X), (n, p))
        bases = self._bases()
        self._shape("hessian", model.hessian(X, bases[0]), (n, p))

        for k, V in enumerate(bases):
            slope = (self._walk(V, _STEP) - self._walk(V, -_STEP)) / (2.0 * _STEP)
            self._compare("gradient", np.einsum("npd,nd->np", gradient, V), slope, _TOLERANCE, f"direction {k}")
        for a in range(p):
            tangent = self.manifold.project_tangent(X, gradient[:, a])
            self._compare("gradient is tangent", gradient[:, [a]], tangent[:, None], _TOLERANCE, "", (a,))
        second = [self._second(V) for V in bases]
        for k, V in enumerate(bases):
            self._compare("hessian", model.hessian(X, V), second[k], _SECOND_TOLERANCE, f"direction {k}")
        self._compare("laplacian", model.laplacian(X), np.sum(second, axis=0), _SECOND_TOLERANCE)
        self._contractions(bases[0])
        return self.found

    def _contractions(self, V: FloatArray) -> None:
        """Shortcuts that a model may give against what they are short for."""
        model, X = self.model, self.X
        theta = self.rng.standard_normal(self.p)
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

    def _walk(self, V: FloatArray, step: float) -> FloatArray:
        return self.model.statistics(self.manifold.exponential(self.X, step * V))

    def _second(self, V: FloatArray) -> FloatArray:
        h = _SECOND_STEP
        near = self._walk(V, h) + self._walk(V, -h)
        far = self._walk(V, 2.0 * h) + self._walk(V, -2.0 * h)
        # Fourth order: (16 near − far − 30 t) / 12h².
        return (16.0 * near - far - 30.0 * self.model.statistics(self.X)) / (12.0 * h * h)

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
                if name in ("gradient", "hessian", "laplacian")
                else f"{self.name}: {name} fails for statistic {index} (row {int(worst[0])}): "
                f"{float(np.asarray(own)[worst]):.6g} instead of {float(reference[worst]):.6g}."
            )
