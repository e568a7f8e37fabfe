"""Distance to borders on the sphere, against S2 on the same points in the same run, one thread."""

import json
import subprocess
import sys
import tempfile
import time
import tracemalloc

import numpy as np
import spherely

import tmsm
from tmsm.foundation import threads
from tmsm.regions.polygon import arcs

SIZES = (200, 2_000, 20_000)


def fractal_ring(m, seed=0):
    """A rough closed curve of m vertices round the north pole."""
    rng = np.random.default_rng(seed)
    turn = np.linspace(0.0, 2 * np.pi, m, endpoint=False)
    r = 0.5 + 0.1 * sum(rng.normal() / k * np.cos(k * turn + rng.uniform(0, 7)) for k in range(1, min(m // 4, 200)))
    return np.column_stack([np.sin(r) * np.cos(turn), np.sin(r) * np.sin(turn), np.cos(r)])


def fractal_geojson(m):
    """The same curve as a polygon in degrees."""
    return {"type": "Polygon", "coordinates": [(60.0 * fractal_ring(m)[:, :2]).tolist()]}


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
    with threads.threads_of(1):
        return {m: measure(m, X, points) for m in SIZES}


def flat_seconds(m, n_rows=10_000):
    """Seconds for n rows against m edges in the plane, and for trying all edges on a hundredth of the rows."""
    turn = np.linspace(0.0, 2 * np.pi, m, endpoint=False)
    polygon = tmsm.Polygon(np.column_stack([np.cos(turn), np.sin(turn)]) * (1.0 + 0.1 * np.sin(50 * turn))[:, None])
    X = np.random.default_rng(0).uniform(-1.2, 1.2, (n_rows, 2))
    polygon.signed_distance(X[:10])
    a, e = polygon.vertices, np.roll(polygon.vertices, -1, axis=0) - polygon.vertices

    def every_edge():
        for x in X[: n_rows // 100]:
            along = np.clip(((x - a) * e).sum(axis=1) / (e * e).sum(axis=1), 0.0, 1.0)
            ((x - a - along[:, None] * e) ** 2).sum(axis=1).min()

    return min(seconds(lambda: polygon.signed_distance(X)) for _ in range(3)), seconds(every_edge)


def mask_seconds(nside=64):
    """Seconds for the outline of a mask of half of all pixels, its vertices, and the bytes of its peak."""
    observed = np.random.default_rng(0).random(12 * nside**2) < 0.5
    spent = seconds(lambda: tmsm.HealpixMask(nside, observed).outline)
    tracemalloc.start()
    rings = tmsm.HealpixMask(nside, observed).outline.rings
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return spent, sum(map(len, rings)), peak


def geojson_seconds(m=1_000_000):
    """Seconds to read a polygon of m vertices, and to write it, each over those of Python's json alone."""
    text = json.dumps(fractal_geojson(m))
    parse = seconds(lambda: json.loads(text))
    start = time.perf_counter()
    region = tmsm.SphericalPolygon.from_geojson(text)
    read = time.perf_counter() - start
    written = region.to_geojson()
    dump = seconds(lambda: json.dumps(written))
    return read / parse, (seconds(region.to_geojson) + dump) / dump


def island_seconds(n=5000):
    """Seconds to build a border of n squares from GeoJSON, over those for one ring of as many vertices."""
    places = np.array([(x, y) for x in np.linspace(-170, 170, 100) for y in np.linspace(-60, 60, n // 100)])
    squares = places[:, None] + [[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5], [-1.0, 0.5]]
    islands = {"type": "MultiPolygon", "coordinates": [[ring] for ring in squares.tolist()]}
    single = fractal_geojson(4 * n)
    many = min(seconds(lambda: tmsm.SphericalPolygon.from_geojson(islands)) for _ in range(3))
    one = min(seconds(lambda: tmsm.SphericalPolygon.from_geojson(single)) for _ in range(3))
    return many, many / one


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
