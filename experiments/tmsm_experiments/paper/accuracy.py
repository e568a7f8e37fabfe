"""The paper's benchmark: error against the number of rows, for every method on the same samples."""

from dataclasses import dataclass

import numpy as np

import tmsm
from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.paper.bound import bound
from tmsm_experiments.paper.methods import NAIVE, methods
from tmsm_experiments.paper.settings import EXPERIMENTS, SIZES, TRUE_ANGLES, Experiment

BATCH = 32
COLUMNS = ("trial", "method", "colatitude", "longitude", "concentration")


@dataclass(frozen=True)
class Cell:
    """Some trials of one experiment at one size: computed at once, kept in a file."""

    experiment: str
    n: int
    first: int
    last: int
    seed: int

    @property
    def name(self) -> str:
        return f"accuracy/{self.experiment}-n{self.n}-seed{self.seed}-trials{self.first}-{self.last}"

    def compute(self) -> list[dict[str, str]]:
        experiment = next(e for e in EXPERIMENTS if e.name == self.experiment)
        estimators, rows = methods(experiment), []
        for trial in range(self.first, self.last):
            X = experiment.sample(self.n, self.seed, trial)
            for method, estimate in estimators.items():
                try:
                    found = estimate(X)
                except tmsm.errors.EstimationError:
                    found = (np.nan, np.nan, np.nan)
                rows.append(dict(zip(COLUMNS, (str(trial), method, *map(repr, map(float, found))), strict=True)))
        return rows


@dataclass(frozen=True)
class Accuracy:
    """Errors of one experiment and quantity: method -> array (sizes, trials); ``bound`` is that of √n times them.

    ``offsets`` are the errors with their signs, of φ̂ or of κ̂.
    """

    experiment: Experiment
    quantity: str
    sizes: tuple[int, ...]
    errors: dict[str, np.ndarray]
    offsets: dict[str, np.ndarray]
    bound: float

    def mean(self, method: str) -> np.ndarray:
        return np.nanmean(self.errors[method], axis=1)

    def spread(self, method: str) -> np.ndarray:
        return np.nanstd(self.errors[method], axis=1, ddof=1)

    def mean_error(self, method: str) -> np.ndarray:
        """Monte Carlo standard error of the mean."""
        return _error_of_mean(self.errors[method])

    def bias(self, method: str) -> np.ndarray:
        """Mean of φ̂ − φ or of κ̂ − κ."""
        return np.nanmean(self.offsets[method], axis=1)

    def bias_error(self, method: str) -> np.ndarray:
        return _error_of_mean(self.offsets[method])

    def closer_than_naive(self, method: str) -> np.ndarray:
        """Share of the trials in which a method is closer to the truth than the naive likelihood."""
        return np.mean(self.errors[method] < self.errors[NAIVE], axis=1)

    def rows(self) -> list[dict[str, object]]:
        return [
            {
                "experiment": self.experiment.name,
                "quantity": self.quantity,
                "n": n,
                "method": method,
                "mean": self.mean(method)[k],
                "standard_deviation": self.spread(method)[k],
                "error_of_mean": self.mean_error(method)[k],
                "trials": self.errors[method].shape[1],
                "failures": int(np.isnan(self.errors[method][k]).sum()),
                "closer_than_mle": self.closer_than_naive(method)[k],
                "bias": self.bias(method)[k],
                "error_of_bias": self.bias_error(method)[k],
                "bound": self.bound / np.sqrt(n),
            }
            for k, n in enumerate(self.sizes)
            for method in self.errors
        ]


def _error_of_mean(values: np.ndarray) -> np.ndarray:
    """Monte Carlo standard error of the mean of each row."""
    return np.nanstd(values, axis=1, ddof=1) / np.sqrt(np.sum(np.isfinite(values), axis=1))


def slope(n: np.ndarray, mean: np.ndarray, mean_error: np.ndarray) -> tuple[float, float]:
    """Of log mean error against log n, with its standard error; consistent estimates have −½."""
    share = mean_error / mean
    design = np.column_stack([np.ones(len(n)), np.log(n)]) / share[:, None]
    covariance = np.linalg.inv(design.T @ design)
    return float((covariance @ design.T @ (np.log(mean) / share))[1]), float(np.sqrt(covariance[1, 1]))


def simulate(
    store: Store, trials: int, jobs: int, seed: int, sizes: tuple[int, ...] = SIZES, experiments=EXPERIMENTS
) -> list[Accuracy]:
    """Run what is not in the store yet, and gather all of it."""
    cells = [
        Cell(experiment.name, n, first, min(first + BATCH, trials), seed)
        for experiment in reversed(experiments)  # the slowest first, so that the last one to finish is short
        for n in reversed(sizes)
        for first in range(0, trials, BATCH)
    ]
    found = run_cells(cells, store, jobs, "Accuracy")
    results = []
    for experiment in experiments:
        limits = bound(experiment)
        shape = (len(sizes), trials)
        errors, offsets = (
            {quantity: {m: np.full(shape, np.nan) for m in methods(experiment)} for quantity in limits}
            for _ in range(2)
        )
        for cell in cells:
            if cell.experiment != experiment.name:
                continue
            k = sizes.index(cell.n)
            for row in found[cell.name]:
                angles = np.array([float(row["colatitude"]), float(row["longitude"])])
                # The paper's RMSE of d angles is their distance over d.
                trial, method = int(row["trial"]), row["method"]
                errors["direction"][method][k, trial] = float(np.linalg.norm(angles - TRUE_ANGLES)) / 2
                offsets["direction"][method][k, trial] = angles[0] - TRUE_ANGLES[0]
                if "concentration" in errors:
                    off = float(row["concentration"]) - experiment.truth["concentration"]
                    errors["concentration"][method][k, trial] = abs(off)
                    offsets["concentration"][method][k, trial] = off
        results += [Accuracy(experiment, q, sizes, errors[q], offsets[q], limits[q]) for q in limits]
    return results
