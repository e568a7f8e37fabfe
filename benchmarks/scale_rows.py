"""Rows in memory: a cap and a detailed border against limits and peers of the same run; threads; small tables."""

import numpy as np

import tmsm
from benchmarks import borders
from benchmarks.measuring import medians, processor_seconds, seconds
from scenarios.cap import CAP, MODEL, MU, sample
from tmsm.foundation.threads import thread_count, threads_of

ANY = (0, np.inf)


def fitted(X, region, weight="auto", **options):
    """What fits X."""
    estimator = tmsm.ScoreMatching(MODEL, region, weight, **options)
    return lambda: estimator.fit(X)


def cap_lines(setting):
    """A cap on one thread, against the product of its rows."""
    X = setting.X
    estimate, full, peer, read = medians(
        [
            fitted(X, CAP, standard_errors=False, n_jobs=1),
            fitted(X, CAP, n_jobs=1),
            lambda: X.T @ X,
            lambda: X.sum(),
        ],
        setting.repeats(7),
    )
    yield (
        f"cap, {len(X):,} rows, one thread, over X.T @ X",
        estimate / peer,
        "times",
        (0, 1.0),
        "arithmetic of the sums",
    )
    yield "… with standard errors", full / peer, "times", (0, 2.0), "a second reading, for the errors"
    yield "… estimate over one read of the array", estimate / read, "times", ANY, "arithmetic of the sums"
    yield "… rows a second, with errors", len(X) / full / 1e6, "million", ANY, "a second reading, for the errors"


def coast_lines(setting):
    """The border of the United States on one thread, against one pass of distances."""
    Y, coast = setting.Y, setting.coast

    def distances():
        with threads_of(1):
            coast.signed_distance(Y)

    default, single, distance = medians(
        [fitted(Y, coast, n_jobs=1), fitted(Y, coast, "saturating", n_jobs=1), distances], setting.repeats(3)
    )
    n = len(Y) / 1e6
    sums = "products of 40 equations"
    yield "US border, default weight, rows a second and core", n / default, "million", (0.8, np.inf), sums
    yield "… over one pass of distances", default / distance, "times", (0, 6), sums
    yield "US border, a single weight, rows a second and core", n / single, "million", (2, np.inf), "walks of the tree"
    yield "… over one pass of distances", single / distance, "times", (0, 2), "walks of the tree"


def vertex_lines(setting):
    """Distances to borders of few and of many vertices, one thread, against those of spherely."""
    import spherely

    X = tmsm.Sphere(2).uniform(setting.size(200_000, 2_000), 1)
    points = spherely.points(*tmsm.xyz_to_lonlat(X[: setting.size(4_000, 100)]))
    with threads_of(1):
        found = {m: borders.measure(m, X, points) for m in borders.SIZES}
    few, *_, many = borders.SIZES
    for m, (spent, ratio, _, _) in found.items():
        yield f"distance to {m:,} vertices, a row", 1e9 * spent / len(X), "ns", ANY, "walks of the tree"
        yield "… time of spherely over it", ratio, "times", (25, np.inf), "walks of the tree"
    growth = found[many][0] / found[few][0]
    yield f"… {many:,} vertices over {few} ({many // few} would be linear)", growth, "times", (0, 4), "caches"


def row_lines(setting):
    """Time for ten times as many rows, divided by ten."""
    sizes = [setting.size(10**k, 10**k // 1000) for k in (4, 5, 6, 7)]
    tables = [setting.X[:n] for n in sizes]
    spent = medians([fitted(X, CAP, n_jobs=1) for X in tables], setting.repeats(7))
    for n, more, before, after in zip(sizes, sizes[1:], spent, spent[1:], strict=False):
        ratio = after / before / (more / n)
        yield f"cap, {more:,} rows over {n:,}, a row", ratio, "times", (0, 1.1), "the same sums for every row"
    Y = setting.Y
    few, many = medians(
        [fitted(table, setting.coast, n_jobs=1) for table in (Y[: len(Y) // 10], Y)], setting.repeats(3)
    )
    title = f"US border, {len(Y):,} rows over {len(Y) // 10:,}, a row"
    yield title, many / few / 10, "times", (0, 1.1), "the same sums for every row"


def small_lines(setting):
    """A table that is small: all of fit, against SciPy's fit of the whole sphere to the same rows."""
    from scipy.stats import vonmises_fisher

    X = sample(1000)
    ours, theirs = medians([fitted(X, CAP), lambda: vonmises_fisher.fit(X)], setting.repeats(400))
    yield (
        "cap, 1,000 rows, with errors, over SciPy's fit without",
        ours / theirs,
        "times",
        (0, 2.8),
        "calls of functions",
    )
    yield "… a fit", 1e3 * ours, "ms", ANY, "calls of functions"


def peer_lines(setting):
    """SciPy's likelihood fit of the whole sphere, on the same rows."""
    from scipy.stats import vonmises_fisher

    n = setting.size(1_000_000, 60_000)
    X = MODEL.sample(n, random_state=0, mean_direction=MU, concentration=3.0)
    ours, theirs = medians(
        [fitted(X, tmsm.Everywhere(tmsm.Sphere(2))), lambda: vonmises_fisher.fit(X)], setting.repeats(3)
    )
    title = f"whole sphere, {n:,} rows, with errors, over SciPy's fit without"
    yield title, ours / theirs, "times", (0, 1), "a second reading, for the errors"


def conversion_lines(setting):
    """Degrees to points, on one thread."""
    n = setting.size(4_000_000, 10_000)
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-180, 180, n), rng.uniform(-90, 90, n)
    with threads_of(1):
        tmsm.lonlat_to_xyz(lon, lat)
        spent = medians([lambda: tmsm.lonlat_to_xyz(lon, lat)], setting.repeats(7))[0]
    yield "lonlat_to_xyz, a row", 1e9 * spent / n, "ns", (0, 15), "writing the points"


def cap_thread_lines(setting):
    """Several threads on a cap."""
    return _thread_lines(setting, "cap", setting.X, CAP)


def coast_thread_lines(setting):
    """Several threads on the border of the United States."""
    return _thread_lines(setting, "US border, default weight", setting.Y, setting.coast)


def _thread_lines(setting, name, rows, region):
    """Several threads against one; the estimates must have the same bits."""
    counts = [n for n in (2, 8) if n <= thread_count()]
    fits = [fitted(rows, region, n_jobs=n) for n in (1, *counts)]
    one, *others = medians(fits, setting.repeats(9))
    work, *works = medians(fits, setting.repeats(5), processor_seconds)
    for n, spent, worked in zip(counts, others, works, strict=True):
        least = {2: 1.8, 8: 6.0}[n]
        yield (
            f"{name}: {n} threads over one",
            one / spent,
            "times",
            (least, np.inf),
            "what one thread does before the passes",
        )
        # Neighbours hardly disturb it: with as much work as on one thread, n threads are n times as fast.
        yield f"… work of {n} threads over that of one", worked / work, "times", (0, n / least), "handing blocks out"
    bits = {tmsm.ScoreMatching(MODEL, region, n_jobs=n).fit(rows).covariance_.tobytes() for n in (1, 2, 3)}
    yield f"{name}: different bits for 1, 2, 3 threads", len(bits) - 1, "", (0, 0), ""


def device_lines(setting):
    """Rows on a graphics card, where there is one."""
    from numba import cuda

    if not cuda.is_available():
        return
    import cupy

    n = setting.size(400_000_000, 2_000_000)
    X = cupy.tile(cupy.asarray(sample(2_000_000)), (n // 2_000_000, 1))
    Y = cupy.tile(cupy.asarray(setting.Y), (setting.size(60, 1), 1))
    for name, rows, region, weight, limit in (
        ("cap", X, CAP, "auto", 5e10),
        ("US border, a single weight", Y, setting.coast, "saturating", 8e8),
        ("US border, default weight", Y, setting.coast, "auto", 0.0),
    ):
        fit = fitted(rows, region, weight)
        fit()
        best = min(seconds(fit) for _ in range(5))
        yield f"graphics card, {name}, rows a second", len(rows) / best, "", (limit, np.inf), "double precision"
    read = min(seconds(lambda: float(X.sum())) for _ in range(5))
    yield "… one read of the rows, rows a second", len(X) / read, "", ANY, "memory of the card"
