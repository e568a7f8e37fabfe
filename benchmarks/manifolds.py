"""Efficiency, coverage and speed on tori, rotations, products, a triangle, level sets, and beyond."""

import statistics
import subprocess
import sys

import numpy as np
from threadpoolctl import threadpool_limits

import tmsm
from benchmarks.speed import fit_ratios
from scenarios import direction_energy, ellipsoid, hyperbolic, rotations, torus, triangle
from scenarios.efficiency import efficiency, nodes_of
from tmsm.weights import Auto, Combined

# Without a second scale, and with as many rows as the simulations have.
SINGLE, ROWS = Auto(combine=False), 3000


def torus_efficiencies(setting):
    """Of the default with a single weight, of the default, and of the paper's weight."""
    _, box = torus.SETTINGS[setting]
    theta = torus.theta(setting)
    nodes = nodes_of(torus.MODEL, box, theta)
    return [efficiency(torus.MODEL, box, theta, w, *nodes, ROWS).share for w in (SINGLE, "auto", "geodesic")]


def rotation_efficiencies(setting):
    """Of the default, and of the paper's weight."""
    region = rotations.REGIONS[setting]
    nodes = nodes_of(rotations.MODEL, region, rotations.THETA)
    shares = [efficiency(rotations.MODEL, region, rotations.THETA, w, *nodes, ROWS) for w in ("auto", "geodesic")]
    return [found.share for found in shares]


def product_efficiencies(setting):
    """Of the default with a single weight, of the default, and of the paper's weight."""
    params, threshold = direction_energy.SETTINGS[setting]
    model, region = direction_energy.MODEL, direction_energy.region(threshold)
    theta = model.natural_parameters(**params)
    nodes = nodes_of(model, region, theta)
    return [efficiency(model, region, theta, w, *nodes, ROWS).share for w in (SINGLE, "auto", "geodesic")]


def unit_change(setting, scale, shift, n=ROWS):
    """How far the estimate from energies in other units is from that in the old ones, in its standard errors."""
    _, threshold = direction_energy.SETTINGS[setting]
    X = direction_energy.sample(n, setting, 0)
    plain = tmsm.ScoreMatching(direction_energy.MODEL, direction_energy.region(threshold)).fit(X)
    other = X.copy()
    other[:, 3] = scale * X[:, 3] + shift
    fit = tmsm.ScoreMatching(direction_energy.MODEL, direction_energy.region(threshold, scale, shift)).fit(other)
    back = direction_energy.from_other_units(scale, shift) @ fit.natural_params_
    return float(np.max(np.abs(back - plain.natural_params_) / np.sqrt(np.diag(plain.covariance_))))


def triangle_efficiencies(family, setting):
    """Of the paper's weight, the saturating one, that of the constraints, and of it combined at levels 1 and 2."""
    model, theta, nodes = triangle.FAMILIES[family], triangle.theta(family, setting), triangle.nodes()
    weights = ("geodesic", "saturating", "constraints", Combined(1), Combined(2))
    return [efficiency(model, triangle.REGION, theta, w, *nodes).share for w in weights]


def ellipsoid_efficiencies(statistics, border):
    """Of the weight of the constraint, of it combined at level 2, and of the paper's weight."""
    model, region, theta = ellipsoid.model(statistics), ellipsoid.region(border), ellipsoid.TRUTH[statistics]
    nodes = ellipsoid.nodes(border)
    return [efficiency(model, region, theta, w, *nodes).share for w in ("constraints", Combined(2), "geodesic")]


def hyperbolic_efficiencies(place):
    """Of the default, and of the paper's weight."""
    X, area = hyperbolic.polar_nodes()
    theta = hyperbolic.theta(place)
    shares = [efficiency(hyperbolic.MODEL, hyperbolic.BALL, theta, w, X, np.log(area)) for w in ("auto", "geodesic")]
    return [found.share for found in shares]


class Simulated:
    """Errors of one estimator and what its 95 % intervals cover, for each parameter."""

    def __init__(self, estimator, method=None):
        self.estimator, self.method = estimator, method
        self.errors, self.covered = {}, {}

    def add(self, X, truth):
        """One more sample."""
        fit = self.estimator.fit(X)
        intervals = fit.confidence_interval(method=self.method)
        for name, value in truth.items():
            low, high = intervals[name]
            free = np.atleast_1d(high > low)  # zeros on the diagonal of an interaction are known
            self.errors.setdefault(name, []).append(np.atleast_1d(fit.params_[name] - value)[free])
            self.covered.setdefault(name, []).append(np.atleast_1d((low <= value) & (value <= high))[free])

    def rmse(self, name):
        """Root mean squared error of each entry of a parameter."""
        return np.sqrt(np.mean(np.square(self.errors[name]), axis=0))

    def coverage(self, name):
        """Share of intervals that hold the truth, in per cent, over all entries of a parameter."""
        return 100 * float(np.mean(self.covered[name]))

    def total_coverage(self):
        """The same over all parameters."""
        return float(np.mean([self.coverage(name) for name in self.covered]))


def simulate(estimators, sample, truth, n_seeds):
    """Every estimator on the same samples."""
    for seed in range(n_seeds):
        X = sample(seed)
        for one in estimators.values():
            one.add(X, truth)
    return estimators


def simulate_torus(setting, n_seeds, n=ROWS):
    """Score matching, one step from it to the likelihood, the likelihood, and that which ignores the border."""
    truth, box = torus.SETTINGS[setting]
    estimators = {
        "ours": Simulated(tmsm.ScoreMatching(torus.MODEL, box)),
        "refined": Simulated(tmsm.ScoreMatching(torus.MODEL, box, refine="mle"), "wald"),
        "exact": Simulated(tmsm.TruncatedMLE(torus.MODEL, box), "wald"),
        "naive": Simulated(tmsm.NaiveMLE(torus.MODEL), "wald"),
    }
    return simulate(estimators, lambda seed: torus.sample(n, setting, seed), truth, n_seeds)


def simulate_rotations(setting, n_seeds, n=1000):
    """Score matching, and the likelihood that ignores the border."""
    region = rotations.REGIONS[setting]
    truth = {
        "parameter": rotations.PARAMETER,
        "mean_rotation": rotations.MODE,
        "concentration": np.array([6.0, 4.0, 2.0]),
    }
    estimators = {
        "ours": Simulated(tmsm.ScoreMatching(rotations.MODEL, region)),
        "naive": Simulated(tmsm.NaiveMLE(rotations.MODEL), "wald"),
    }
    return simulate(estimators, lambda seed: rotations.sample(n, region, seed), truth, n_seeds)


def simulate_ellipsoid(statistics, border, n_seeds, n=ROWS):
    """Score matching, and the same without a border."""
    model = ellipsoid.model(statistics)
    estimators = {
        "ours": Simulated(tmsm.ScoreMatching(model, ellipsoid.region(border))),
        "naive": Simulated(tmsm.ScoreMatching(model, tmsm.Everywhere(ellipsoid.surface()))),
    }
    truth = {"coefficients": ellipsoid.TRUTH[statistics]}
    return simulate(estimators, lambda seed: ellipsoid.sample(n, statistics, border, seed), truth, n_seeds)


def simulate_many_dimensions(n_seeds, n=2000, dim=49, kappa=50.0):
    """Half of S^49 with the mean on its border: per cent of regions of the mean and of intervals of κ that cover."""
    mean, region = np.eye(dim + 1)[1], tmsm.Hemisphere(np.eye(dim + 1)[0])
    model = tmsm.VonMisesFisher()
    hits = {tmsm.ScoreMatching(model, region): [], tmsm.NaiveMLE(model): []}
    for seed in range(n_seeds):
        X = model.sample(n, region, random_state=seed, mean_direction=mean, concentration=kappa)
        for estimator, found in hits.items():
            low, high = estimator.fit(X).confidence_interval(method="wald").concentration
            found.append((estimator.covers(mean), low <= kappa <= high))
    return [100 * np.mean(found, axis=0) for found in hits.values()]


def row_ratios(n=1_000_000):
    """Time of fits of many rows over that of X.T @ X, without and with errors, on one core: T² and rotations."""
    turn = rotations.REGIONS["mode inside"]
    _, box = torus.SETTINGS["inside"]
    with threadpool_limits(1):
        return {
            "T²": fit_ratios(torus.sample(n, "inside", 0), torus.MODEL, box),
            "rotations": fit_ratios(rotations.sample(n, turn, 0), rotations.MODEL, turn),
        }


_AUTODIFF = """
import time
import tmsm
from scenarios import ellipsoid

X = ellipsoid.sample(100_000, ellipsoid.quadratic, ellipsoid.flat, 0)
# A surface, a family and a region that nobody has used before.
surface = tmsm.LevelSet(lambda x: ellipsoid.ellipsoid(x), 3)
family = tmsm.ExponentialFamily(lambda x: ellipsoid.quadratic(x), surface)
region = tmsm.Implicit(lambda x: ellipsoid.flat(x), surface)
fit = tmsm.ScoreMatching(family, region, "constraints", standard_errors=False)
for _ in range(4):
    start = time.perf_counter()
    fit.fit(X)
    print(time.perf_counter() - start)
"""


def autodiff_seconds():
    """Seconds of a fit of 100,000 rows, surface, border and eight statistics by autodiff, and of compiling it."""
    run = subprocess.run([sys.executable, "-c", _AUTODIFF], capture_output=True, text=True, check=True)
    first, *later = map(float, run.stdout.split())
    return statistics.median(later), first - statistics.median(later)
