"""Distance to borders on the sphere, against S2 on the same points in the same run, one thread."""

import subprocess
import sys
import tempfile
import time
import tracemalloc

import numpy as np
import spherely

import tmsm
from tmsm.regions import arcs, trees

SIZES = (200, 2_000, 20_000)


def fractal_ring(m, seed=0):
    """A rough closed curve of m vertices round the north pole."""
    rng = np.random.default_rng(seed)
    turn = np.linspace(0.0, 2 * np.pi, m, endpoint=False)
    r = 0.5 + 0.1 * sum(rng.normal() / k * np.cos(k * turn + rng.uniform(0, 7)) for k in range(1, min(m // 4, 200)))
    return np.column_stack([np.sin(r) * np.cos(turn), np.sin(r) * np.sin(turn), np.cos(r)])


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(m, X, points):
    """Seconds for all of X, the ratio to S2 for each point, seconds to build the tree, extra bytes."""
    ring = fractal_ring(m)
    region = tmsm.SphericalPolygon([ring])
    region.border_distance(X[:10])
    ours = min(seconds(lambda: region.signed_distance(X)) for _ in range(3))
    border = spherely.boundary(spherely.create_polygon(np.column_stack(tmsm.xyz_to_lonlat(ring)).tolist()))
    theirs = min(seconds(lambda: spherely.distance(points, border, radius=1.0)) for _ in range(2))
    index = np.arange(m)
    before, after = np.roll(index, 1), np.roll(index, -1)
    build = min(seconds(lambda: arcs.ArcTree.build(ring, before, after).settle(after)) for _ in range(3))
    tracemalloc.start()
    region.signed_distance(X)
    extra = tracemalloc.get_traced_memory()[1] - 4 * 8 * len(X)  # beyond the output
    tracemalloc.stop()
    return ours, (theirs / len(points)) / (ours / len(X)), build, extra


def ratios(n_rows=1_000_000, s2_rows=20_000):
    """What `measure` says for each size, on one thread."""
    X = tmsm.Sphere(2).uniform(n_rows, 1)
    points = spherely.points(*tmsm.xyz_to_lonlat(X[:s2_rows]))
    trees._THREADS = 1
    try:
        return {m: measure(m, X, points) for m in SIZES}
    finally:
        trees._THREADS = None


def compile_seconds():
    """The first query in a new interpreter: without compiled code on disk, and with it."""
    code = (
        "import time, numpy, tmsm; start = time.perf_counter();"
        "tmsm.SphericalPolygon([numpy.eye(3)]).contains(numpy.eye(3)); print(time.perf_counter() - start)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": folder, "PATH": ""}
        return [
            float(
                subprocess.run(
                    [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(2)
        ]
