"""What is done with many rows beside fitting them: sums that are saved and added, and tests of the model."""

from functools import partial

import numpy as np

import tmsm
from benchmarks import checks
from benchmarks.measuring import medians
from benchmarks.scale_rows import fitted
from scenarios.cap import CAP, MODEL


def saved_lines(setting):
    """Sums on disk: how large, and how long it takes to read and to add them, over a fit of their rows."""
    n = setting.size(1_000_000, 10_000)
    for name, X, region in (("cap", setting.X[:n], CAP), ("US border, default weight", setting.Y[:n], setting.coast)):
        path, half = setting.folder / "sums.npz", len(X) // 2
        start = tmsm.ScoreMatching(MODEL, region).partial_fit(X[:half]).moments_
        tmsm.ScoreMatching.from_moments(start.cleared()).partial_fit(X[half:]).moments_.save(path)
        add, fit = medians([partial(_added, start, path), fitted(X, region)], setting.repeats(7))
        yield f"saved sums, {name}", path.stat().st_size / 1e3, "kB", (0, 2000), "rows kept for later checks"
        yield f"… read and added, over a fit of {len(X):,} rows", add / fit, "times", (0, 1), "reading the file"


def _added(start, path):
    return start + tmsm.load_moments(path)


def stein_lines(setting):
    """Stein tests over the default fit of as many rows, over tests of fewer rows, and over one by all pairs of rows."""
    sizes = [setting.size(10**k, 10**k // 50) for k in (4, 5, 6)]
    for n in sizes:
        coast, half = checks.stein_ratios(n, setting.repeats(5 if n < 10**6 else 3))
        name = f"Stein test, US border, {n:,} rows, over the default fit"
        # Of few rows much of it is the distribution of the statistic.
        limit = (0, 6 if n == sizes[0] else 3)
        yield name, coast, "times", limit, "features of 100 points for each row"
        yield "… hemisphere, over that fit", half, "times", limit, "features of 100 points for each row"
    few, *more = sizes
    for n in more:
        growth, pairs = checks.stein_growth(few, n, setting.repeats(3))
        name = f"Stein test, hemisphere, {n:,} rows over {few:,}, a row"
        yield name, growth / (n / few), "times", (0, 1.1), "the same for every row"
    yield f"… {few:,} rows by all pairs, over it", pairs, "times", (42, np.inf), "pairs of rows"
