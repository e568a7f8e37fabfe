"""One setting, one number of rows, many seeds: the accuracy of every weight on the same samples."""

from dataclasses import asdict, dataclass

import numpy as np

import tmsm
from tmsm.weights import Auto
from tmsm_experiments.weights.setting import Setting

EXACT = "exact likelihood"
# The single weight of a product: its blocks are chosen part by part.
OBJECTS = {"blocks": Auto(combine=False), "refined": "auto"}


@dataclass(frozen=True)
class Result:
    """How one method did.

    efficiency
        Mean squared error of θ of the exact likelihood, or where its integral is out of reach of an estimate that
        attains the Cramér–Rao bound, over that of the method, on the same samples.
    stated
        The same from the stated covariances of θ̂ instead of its errors: less noise, and equal if these are right.
    bias
        Mean error of the size parameter (of its first entry), in its own standard deviations.
    relative_bias
        The same as a share of the truth.
    coverage
        Of its 95 % interval.
    size_rmse, direction_rmse
        Root mean squared error of the size parameter and of the rest of θ.
    """

    setting: str
    weight: str
    n: int
    seeds: int
    failures: int
    efficiency: float
    efficiency_error: float
    stated: float
    bias: float
    relative_bias: float
    coverage: float
    size_rmse: float
    direction_rmse: float

    def row(self):
        return asdict(self)


def simulate(setting: Setting, n: int, seeds, weights=None, exact=None, default=None):
    """Results of every weight, and of the exact likelihood where it is in reach; "refined" is one step to it.

    ``default`` is the name of the weight that is the default; where profiles take long, it alone has them.
    """
    estimators = {}
    for weight in weights or setting.weights:
        refine = "mle" if weight == "refined" else None
        estimators[weight] = tmsm.ScoreMatching(
            setting.model, setting.region, OBJECTS.get(weight, weight), refine=refine
        )
    if setting.exact if exact is None else exact:
        estimators[EXACT] = tmsm.TruncatedMLE(setting.model, setting.region)
    found = {name: [] for name in estimators}
    best = []
    for seed in seeds:
        X = setting.sample(n, seed)
        if EXACT not in estimators:
            best.append(setting.efficient_error(X))
        for name, estimator in estimators.items():
            try:
                estimator.fit(X)
            except tmsm.errors.EstimationError:
                continue
            size = np.ravel(estimator.params_[setting.size])
            method = None if setting.profiles or name == default else "wald"
            low, high = (np.ravel(end) for end in estimator.confidence_interval(method=method)[setting.size])
            variance = float(np.trace(estimator.covariance_))
            found[name].append((seed, estimator.natural_params_, variance, size, low, high))
    if EXACT in estimators:
        errors = {row[0]: row[1] - setting.theta for row in found[EXACT]}
        least = float(np.mean([row[2] for row in found[EXACT]]))
    else:
        errors = dict(zip(seeds, best, strict=True))
        least = float(np.trace(np.linalg.inv(setting.moments[2]))) / n
    return [_result(setting, name, n, len(seeds), rows, errors, least) for name, rows in found.items()]


def _result(setting, name, n, n_seeds, rows, best, least):
    rows = [row for row in rows if row[0] in best]
    seeds, theta, variance, size, low, high = (np.array(column) for column in zip(*rows, strict=True))
    truth = np.ravel(np.asarray(setting.params[setting.size], dtype=float))
    squares = ((theta - setting.theta) ** 2).sum(axis=1)
    yardstick = np.array([(best[seed] ** 2).sum() for seed in seeds])
    error = size - truth
    spread = error[:, 0].std()
    efficiency = yardstick.mean() / squares.mean()
    along = setting.theta / max(float(np.linalg.norm(setting.theta)), 1e-300)
    across = theta - setting.theta - np.outer((theta - setting.theta) @ along, along)
    return Result(
        setting.name,
        name,
        n,
        n_seeds,
        n_seeds - len(rows),
        efficiency,
        (yardstick - efficiency * squares).std() / squares.mean() / np.sqrt(len(rows)),
        least / variance.mean(),
        error[:, 0].mean() / spread,
        error[:, 0].mean() / truth[0] if truth[0] else float("nan"),
        float(((low <= truth) & (truth <= high)).mean()),
        float(np.sqrt((error**2).mean())),
        float(np.sqrt((across**2).sum(axis=1).mean())),
    )
