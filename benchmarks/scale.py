"""Many rows: compiled loops against limits and peers of the same run; the table goes to docs/performance.md."""

import json
import os
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import tmsm
from scenarios.cap import CAP, MODEL, MU, sample
from tmsm.foundation.threads import thread_count

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
HISTORY = Path(__file__).with_name("history.jsonl")
ROWS, COAST_ROWS = 10_000_000, 1_000_000
COAST = {"mean_direction": tmsm.lonlat_to_xyz(-97, 39), "concentration": 30.0}


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def medians(functions, repeats=7):
    """Median seconds of each function, one after the other so that all meet the same neighbours."""
    spent = [[seconds(function) for function in functions] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*spent, strict=True)]


def fitted(X, region, weight="auto", **options):
    """What fits X."""
    estimator = tmsm.ScoreMatching(MODEL, region, weight, **options)
    return lambda: estimator.fit(X)


def cap_lines(X):
    """A cap on one thread, against the product of its rows."""
    estimate, full, peer, read = medians(
        [
            fitted(X, CAP, standard_errors=False, n_jobs=1),
            fitted(X, CAP, n_jobs=1),
            lambda: X.T @ X,
            lambda: X.sum(),
        ]
    )
    yield "cap, one thread, over X.T @ X", estimate / peer, "times", (0, 1.0), "arithmetic of the distance"
    yield "… with standard errors", full / peer, "times", (0, 2.0), "the second reading"
    yield "… estimate over one read of the array", estimate / read, "times", (0, np.inf), "arithmetic of the distance"
    yield "… rows a second", len(X) / full / 1e6, "million", (0, np.inf), "the second reading"


def coast_lines(X, coast):
    """The border of the United States on one thread, against one pass of distances."""
    default, single, distances = medians(
        [
            fitted(X, coast, n_jobs=1),
            fitted(X, coast, "saturating", n_jobs=1),
            lambda: one_thread_of_distances(X, coast),
        ],
        3,
    )
    n = len(X) / 1e6
    yield "US border, default weight, rows a second and core", n / default, "million", (0.8, np.inf), "40 × 40 products"
    yield "… over one pass of distances", default / distances, "times", (0, 6), "40 × 40 products"
    yield "… a single weight, rows a second and core", n / single, "million", (2.0, np.inf), "the walk of the tree"
    yield "… over one pass of distances", single / distances, "times", (0, 2), "the walk of the tree"


def one_thread_of_distances(X, coast):
    from tmsm.foundation.threads import threads_of

    with threads_of(1):
        coast.signed_distance(X)


def thread_lines(X, Y, coast):
    """Two threads, and all, against one; the estimates must have the same bits."""
    counts = [n for n in (2, 8) if n <= thread_count()]
    for name, rows, region, weight in (("cap", X, CAP, "auto"), ("US border, default weight", Y, coast, "auto")):
        spent = medians([fitted(rows, region, weight, n_jobs=n) for n in (1, *counts)], 5)
        for n, other in zip(counts, spent[1:], strict=True):
            limit = {2: 1.8, 8: 6.0}[n]
            yield f"{name}: {n} threads over one", spent[0] / other, "times", (limit, np.inf), "memory and neighbours"
        bits = {tmsm.ScoreMatching(MODEL, region, weight, n_jobs=n).fit(rows).covariance_.tobytes() for n in (1, 2, 3)}
        yield f"{name}: different bits for 1, 2, 3 threads", len(bits) - 1, "", (0, 0), ""


def conversion_lines(n=4_000_000):
    """Degrees to points, on one thread."""
    from tmsm.foundation.threads import threads_of

    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-180, 180, n), rng.uniform(-90, 90, n)
    with threads_of(1):
        tmsm.lonlat_to_xyz(lon, lat)
        spent = medians([lambda: tmsm.lonlat_to_xyz(lon, lat)])[0]
    yield "lonlat_to_xyz, a row", 1e9 * spent / n, "ns", (0, 15), "writing the points"


def peer_lines(n=1_000_000):
    """SciPy's likelihood fit of the whole sphere, on the same rows."""
    from scipy.stats import vonmises_fisher

    X = MODEL.sample(n, random_state=0, mean_direction=MU, concentration=3.0)
    ours, theirs = medians([fitted(X, tmsm.Everywhere(tmsm.Sphere(2))), lambda: vonmises_fisher.fit(X)], 3)
    yield "whole sphere, with errors, over SciPy's fit without", ours / theirs, "times", (0, 1), "the second reading"


def device_lines(n=400_000_000):
    """Rows on a graphics card, where there is one."""
    from numba import cuda

    if not cuda.is_available():
        return
    import cupy

    X = cupy.tile(cupy.asarray(sample(2_000_000)), (n // 2_000_000, 1))
    coast = tmsm.datasets.load_border("usa")
    Y = cupy.tile(cupy.asarray(MODEL.sample(COAST_ROWS, coast, random_state=0, **COAST)), (60, 1))
    for name, rows, region, weight, limit in (
        ("cap", X, CAP, "auto", 5e10),
        ("US border, a single weight", Y, coast, "saturating", 8e8),
        ("US border, default weight", Y, coast, "auto", 0.0),
    ):
        fit = fitted(rows, region, weight)
        fit()
        best = min(seconds(fit) for _ in range(5))
        yield f"graphics card, {name}, rows a second", len(rows) / best, "", (limit, np.inf), "double precision"
    read = min(seconds(lambda: float(X.sum())) for _ in range(5))
    yield "… one read of the rows, rows a second", len(X) / read, "", (0, np.inf), "memory of the card"


def scale_rows():
    """Lines of the table: name, value, unit, limits; the page and the history are written too."""
    X = sample(ROWS)
    coast = tmsm.datasets.load_border("usa")
    Y = MODEL.sample(COAST_ROWS, coast, random_state=0, **COAST)
    for region, rows in ((CAP, X), (coast, Y)):  # compiles
        tmsm.ScoreMatching(MODEL, region).fit(rows[:200_000])
        tmsm.ScoreMatching(MODEL, region, "saturating").fit(rows[:200_000])
    lines = [
        *cap_lines(X), *coast_lines(Y, coast), *thread_lines(X, Y, coast), *conversion_lines(), *peer_lines(),
        *device_lines(),
    ]  # fmt: skip
    _record(lines)
    _write(lines)
    return [line[:4] for line in lines]


def _record(lines):
    """One line more of the history: what was measured, when, by which version, on how many processors."""
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="minutes"),
        "version": tmsm.__version__,
        "processors": os.cpu_count(),
        "numpy": np.__version__,
        "figures": {name: round(float(value), 4) for name, value, *_ in lines if not name.startswith("…")},
    }
    with HISTORY.open("a") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write(lines):
    begin, end = "<!-- measured: scale -->", "<!-- end of scale -->"
    table = ["| figure | measured | limit | what takes the time |", "| --- | --- | --- | --- |"]
    for name, value, unit, (low, high), bottleneck in lines:
        limit = f"≤ {high:g}" if np.isfinite(high) else f"≥ {low:g}" if low else ""
        table.append(f"| {name} | {value:.3g} {unit} | {limit} | {bottleneck} |")
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}\n\n" + "\n".join(table) + f"\n\n{end}{rest.split(end)[1]}")
