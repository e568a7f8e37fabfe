"""Speed and memory, as ratios against a peer measured in the same run."""

import statistics
import subprocess
import sys
import time

import tmsm
from scenarios import paper
from scenarios.cap import CAP, MODEL, sample
from tmsm_experiments.cells import Store
from tmsm_experiments.paper import accuracy


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fit_ratios(X, model=MODEL, region=CAP, repeats=7):
    """Median time of a fit over that of X.T @ X, without and with standard errors, interleaved."""
    plain = tmsm.ScoreMatching(model, region, standard_errors=False)
    full = tmsm.ScoreMatching(model, region)
    ratios = []
    for _ in range(repeats):
        peer = seconds(lambda: X.T @ X)
        ratios.append((seconds(lambda: plain.fit(X)) / peer, seconds(lambda: full.fit(X)) / peer))
    return [statistics.median(column) for column in zip(*ratios, strict=True)]


def small_fit(n=1000, repeats=300):
    """Median seconds of one fit of n rows, errors included."""
    X = sample(n)
    estimator = tmsm.ScoreMatching(MODEL, CAP)
    estimator.fit(X)
    return statistics.median(seconds(lambda: estimator.fit(X)) for _ in range(repeats))


def bootstrap_seconds(n=10_000, n_resamples=1000):
    """Seconds of a bootstrap in a box, and of one resample over those of the fit itself."""
    box = tmsm.LonLatBox(-125, 25, -65, 50)
    X = MODEL.sample(n, box, random_state=0, mean_direction=tmsm.lonlat_to_xyz(-95, 38), concentration=8.0)
    fit = tmsm.ScoreMatching(MODEL, box).fit(X)
    once = statistics.median(seconds(lambda: tmsm.ScoreMatching(MODEL, box).fit(X)) for _ in range(15))
    spent = seconds(lambda: fit.bootstrap(X, n_resamples, random_state=0))
    return spent, spent / n_resamples / once


def import_seconds(repeats=5):
    """Least seconds of `import tmsm` in a new interpreter, with NumPy's import and without."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"

    def once(module):
        run = subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)
        return float(run.stdout)

    return min(once("tmsm") for _ in range(repeats)), min(once("numpy") for _ in range(repeats))


def whole_study_seconds(jobs=2):
    """The paper's whole study: all experiments, sizes and methods, nothing kept."""
    start = time.perf_counter()
    accuracy.simulate(Store(None), paper.TRIALS, jobs, 0)
    return time.perf_counter() - start
