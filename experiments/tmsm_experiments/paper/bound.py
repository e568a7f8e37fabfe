"""The Cramér–Rao bound on the paper's hemisphere: what no unbiased estimate can beat."""

from collections.abc import Callable

import numpy as np

import tmsm
from tmsm_experiments.paper.settings import TRUE_ANGLES, Experiment

_STEP = 1e-5


def hemisphere_nodes(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Points (m, 3) and weights (m,) for integrals over x₁ < 0: Gauss–Legendre along x₁, equal steps round it."""
    x, w = np.polynomial.legendre.leggauss(n)
    angle = np.arange(2 * n) * np.pi / n
    first, turn = np.meshgrid(0.5 * (x - 1.0), angle, indexing="ij")
    across = np.sqrt(1.0 - first**2)
    nodes = np.stack([first, across * np.cos(turn), across * np.sin(turn)], axis=-1).reshape(-1, 3)
    return nodes, np.repeat(0.5 * w * np.pi / n, 2 * n)


def information(experiment: Experiment) -> np.ndarray:
    """Fisher information of one row about (φ, θ) and whatever else is unknown: the covariance of ∂ log p̄."""
    nodes, weights = hemisphere_nodes()
    t = experiment.family.statistics(nodes)
    theta, start = _natural(experiment)
    slopes = []
    for k in range(start.size):
        step = _STEP * np.eye(start.size)[k]
        slopes.append((theta(start + step) - theta(start - step)) / (2.0 * _STEP))
    q = weights * np.exp(t @ theta(start))
    q /= q.sum()
    gradient = t @ np.column_stack(slopes)
    centred = gradient - q @ gradient
    return (centred * q[:, None]).T @ centred


def _natural(experiment: Experiment) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """θ as a function of the unknown parameters, (φ, θ) first, and their true values."""
    family, truth = experiment.family, experiment.truth
    if "ovalness" in truth:
        # The turn of the oval is unknown, too: at π/2 its major axis lies along the border.
        def natural(beta):
            colat, lon = beta[:2]
            mean = tmsm.colatlon_to_xyz(colat, lon)
            down = np.array([-np.sin(colat), np.cos(colat) * np.cos(lon), np.cos(colat) * np.sin(lon)])
            major = np.cos(beta[2]) * down + np.sin(beta[2]) * np.cross(mean, down)
            return family.natural_parameters(**{**truth, "mean_direction": mean, "major_axis": major})

        return natural, np.array([*TRUE_ANGLES, np.pi / 2])

    def natural(beta):
        kappa = truth["concentration"] if experiment.known else beta[2]
        return family.natural_parameters(mean_direction=tmsm.colatlon_to_xyz(beta[0], beta[1]), concentration=kappa)

    return natural, TRUE_ANGLES if experiment.known else np.array([*TRUE_ANGLES, truth["concentration"]])


def bound(experiment: Experiment) -> dict[str, float]:
    """Mean error of an efficient estimate times √n: ‖(φ̂, θ̂) − (φ, θ)‖/2, and |κ̂ − κ| where κ is unknown."""
    covariance = np.linalg.inv(information(experiment))
    found = {"direction": _mean_length(covariance[:2, :2]) / 2.0}
    if not experiment.known:
        found["concentration"] = float(np.sqrt(2.0 * covariance[2, 2] / np.pi))
    return found


def direction_alone(experiment: Experiment) -> float:
    """The bound of the direction where all else is known, also how an oval lies."""
    return _mean_length(np.linalg.inv(information(experiment)[:2, :2])) / 2.0


def _mean_length(covariance: np.ndarray) -> float:
    """Of a normal vector in the plane: √(2l/π) E(1 − s/l) with variances l ≥ s."""
    from scipy.special import ellipe

    s, l = np.linalg.eigvalsh(covariance)  # noqa: E741
    return float(np.sqrt(2.0 * l / np.pi) * ellipe(1.0 - s / l))
