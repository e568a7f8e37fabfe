"""Borders of many vertices or rings: what is left out to be fast is what does not matter, and is counted."""

import numpy as np
import pytest
import shapely
from scipy.spatial import KDTree

import tmsm
from tmsm.regions import SphericalPolygon
from tmsm.regions.polygon import outlines
from tmsm.regions.polygon.arcs import ArcTree

KITE = np.array([[-3.0, 0.0], [0.0, -1.5], [1.5, 0.0], [0.0, 1.5]])
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def islands(n, seed=0, turned=False):
    """Squares that stand apart from each other, in degrees."""
    rng = np.random.default_rng(seed)
    places = np.array([(x, y) for x in range(-170, 171, 10) for y in range(-60, 61, 10)], dtype=float)
    chosen = places[rng.choice(len(places), n, replace=False)]
    return [
        (place + rng.uniform(0.5, 3.0) * SQUARE)[:: -1 if turned and k % 2 else 1] for k, place in enumerate(chosen)
    ]


def multipolygon(polygons):
    return {"type": "MultiPolygon", "coordinates": [[ring.tolist() for ring in polygon] for polygon in polygons]}


def unit(ring):
    return tmsm.lonlat_to_xyz(*ring.T)


@pytest.mark.parametrize("turned", [False, True])
def test_islands_need_one_tree_or_two_and_keep_their_place(turned, monkeypatch):
    built = []
    original = ArcTree.build
    monkeypatch.setattr(ArcTree, "build", staticmethod(lambda *args: built.append(1) or original(*args)))
    rings = islands(300, turned=turned)
    region = SphericalPolygon([unit(ring) for ring in rings])
    assert len(built) == (2 if turned else 1)
    lonlat = np.random.default_rng(1).uniform([-175, -65], [175, 65], (4000, 2))
    low, high = (np.array([side(ring, axis=0) for ring in rings]) for side in (np.min, np.max))
    # A little off, since great circles bulge from parallels.
    gap = np.abs(lonlat[:, None] - 0.5 * (low + high)) - 0.5 * (high - low)
    clear = ~((gap < 0.1).all(axis=2) & (gap > -0.1).any(axis=2)).any(axis=1)
    expected = (gap < 0.0).all(axis=2).any(axis=1)
    assert (region.contains(unit(lonlat)) == expected)[clear].all()
    assert clear.sum() > 3000


def test_what_stands_apart_is_not_dissolved(monkeypatch):
    given = []
    original = shapely.union_all
    monkeypatch.setattr(shapely, "union_all", lambda shapes, **o: given.append(len(shapes)) or original(shapes, **o))
    apart = [ring + 1e-7 for ring in islands(40)]  # not on the grid on which neighbours are joined
    region = SphericalPolygon.from_geojson(multipolygon([[ring] for ring in apart]), edges="lonlat")
    assert given == []
    corners = np.vstack(region.rings)
    assert KDTree(corners).query(np.vstack([unit(ring) for ring in apart]))[0].max() < 1e-15
    # Neighbours, also across the antimeridian, are.
    joined = [[[10, 0], [20, 0], [20, 5], [10, 5]], [[20, 0], [30, 0], [30, 5], [20, 5]]]
    across = [[[175, -40], [185, -40], [185, -30], [175, -30]], [[-175, -40], [-165, -40], [-165, -30], [-175, -30]]]
    alone = [[[50, 0], [60, 0], [60, 5], [50, 5]]]
    region = SphericalPolygon.from_geojson(multipolygon([[np.array(ring, float)] for ring in joined + across + alone]))
    assert given == [5]  # the one that crosses the antimeridian in two pieces
    assert len(region.rings) == 3
    assert region.contains(tmsm.lonlat_to_xyz([20, -175, 180, 55], [2, -35, -35, 2])).all()


def test_holes_belong_to_the_smallest_ring_around_them():
    """An island in a hole of an island, many times over; a hole may touch the ring around it in its first vertex."""
    polygons = [[np.array([[-80.0, -75.0], [80.0, -75.0], [80.0, 75.0], [-80.0, 75.0]])]]
    for x, y in np.random.default_rng(0).permutation([(x, y) for x in range(-60, 61, 20) for y in range(-60, 61, 20)]):
        polygons[0].append(5.0 * SQUARE + [x, y])
        polygons.append([3.0 * SQUARE + [x, y], 1.0 * KITE + [x, y]])
    region = SphericalPolygon.from_geojson(multipolygon(polygons))
    written = region.to_geojson()
    assert sorted(len(rings) for rings in written["coordinates"]) == [2] * 49 + [50]
    for shell, *holes in written["coordinates"]:
        around = shapely.Polygon(shell).buffer(0.2)
        assert all(around.contains(shapely.Polygon(hole)) for hole in holes)


def test_edges_that_are_not_tried_are_within_the_tolerance():
    """The bound is above the true distance between an edge and its arc, and not by much where the edge is worst."""
    rng = np.random.default_rng(0)
    start = np.column_stack([rng.uniform(-180, 180, 20_000), rng.uniform(-90, 90, 20_000)])
    step = rng.normal(size=start.shape) * 10.0 ** rng.uniform(-4, 0.5, (len(start), 1))
    end = start + step
    end[:, 1] = np.clip(end[:, 1], -90.0, 90.0)
    bound = outlines._largest_gap(start, end)
    a, b = (tmsm.lonlat_to_xyz(*outlines._wrapped(ends)) for ends in (start, end))
    normal = np.cross(a - b, a + b)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    gap = np.zeros(len(start))
    for share in np.linspace(0.1, 0.9, 9):
        x = tmsm.lonlat_to_xyz(*outlines._wrapped(start + share * (end - start)))
        gap = np.maximum(gap, np.abs((x * normal).sum(axis=1)))
    known = np.isfinite(bound) & (bound > 1e-13)
    assert known.sum() > 10_000
    assert (gap[known] <= bound[known]).all()
    assert (gap[known] / bound[known]).max() > 0.8


@pytest.mark.parametrize("direction", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], outlines._SKEW])
def test_vertices_that_coincide_have_one_number(direction):
    """Against all pairs; on circles about axes, and about the direction along which vertices are sorted."""
    rng = np.random.default_rng(0)
    pole = np.array(direction) / np.linalg.norm(direction)
    frame = np.linalg.svd(pole[None])[2][1:]
    turn = rng.uniform(0, 2 * np.pi, 300)
    circle = 0.6 * (np.column_stack([np.cos(turn), np.sin(turn)]) @ frame) + 0.8 * pole
    points = np.vstack([circle, circle[:100], circle[:50] + 3e-13 * rng.normal(size=(50, 3)), circle[50:99] + 3e-12])
    numbers = outlines.vertex_numbers(points)
    close = np.linalg.norm(points[:, None] - points, axis=2) <= 1e-12
    np.testing.assert_array_equal(numbers[:, None] == numbers, np.linalg.matrix_power(close, 4) > 0)


@pytest.mark.parametrize("nside", [1, 8])
def test_each_pixel_edge_has_the_arcs_that_it_needs(nside):
    pytest.importorskip("astropy_healpix")
    from astropy_healpix import HEALPix

    from tmsm.regions.healpix_mask import _along, _split_edges

    tolerance = 1e-5
    grid = HEALPix(nside, order="ring")
    pixel, edge = np.repeat(np.arange(12 * nside**2), 4), np.tile(np.arange(4), 12 * nside**2)
    pieces, _ = _split_edges(grid, pixel, edge, tolerance)
    assert pieces.sum() < 0.7 * pieces.max() * len(pieces)  # what all alike would take
    observed = np.random.default_rng(0).random(12 * nside**2) < 0.5
    mask = tmsm.HealpixMask(nside, observed, tolerance=tolerance)
    # Every point of the outline's edges, not only those half-way, is near to its arcs.
    share = np.random.default_rng(1).random(len(pixel))
    d, _ = mask.border_distance(_along(grid, pixel, edge, share))
    with np.errstate(invalid="ignore"):
        across = np.asarray(grid.neighbours(pixel))[[2, 0, 6, 4]][edge, np.arange(len(pixel))]
    border = observed[pixel] != observed[across]
    assert np.abs(d[border]).max() < 1.1 * tolerance
    assert mask.outline.area == pytest.approx(mask.area, abs=1e-3)
