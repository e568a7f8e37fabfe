"""Polygons on the sphere against brute force, S2, closed forms, and every way to write a border down."""

import json
from functools import lru_cache

import numpy as np
import pytest
import shapely
import spherely
from hypothesis import given
from hypothesis import strategies as st

import tmsm
from tests.registry import star
from tmsm.regions import SphericalPolygon

xyz = tmsm.lonlat_to_xyz


@lru_cache(maxsize=1)
def everywhere():
    """Many points all over the sphere."""
    X = tmsm.Sphere(2).uniform(100_000, 1)
    X.flags.writeable = False
    return X


def brute_force(starts, ends, X):
    """Least angle to any arc, by spherical trigonometry: cross-track where it applies, else the ends."""
    best = np.full(len(X), np.inf)
    for a, b in zip(starts, ends, strict=True):
        n = np.cross(a, b)
        n /= np.linalg.norm(n)
        height = X @ n
        # The foot lies between the ends if it is on the right side of both end planes.
        between = (X @ np.cross(n, a) > 0) & (X @ np.cross(b, n) > 0)
        foot = np.linalg.norm(X[between] - np.outer(height[between], n), axis=1)
        best[between] = np.minimum(best[between], np.arctan2(np.abs(height[between]), foot))
        best = np.minimum(best, np.arctan2(np.linalg.norm(np.cross(X, a), axis=1), X @ a))
    return best


@pytest.mark.parametrize("seed", range(10))
def test_distance_agrees_with_brute_force(seed):
    ring = star(120, seed, radius=0.3 + 0.2 * seed, rough=0.1)
    polygon = SphericalPolygon([ring])
    d, gradient = polygon.border_distance(everywhere())
    exact = brute_force(ring, np.roll(ring, -1, axis=0), everywhere())
    np.testing.assert_allclose(np.abs(d), exact, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, rtol=1e-12)


def s2_polygon(ring):
    return spherely.create_polygon(np.column_stack(tmsm.xyz_to_lonlat(ring)).tolist())


@pytest.mark.parametrize("m", [3, 50, 2000])
def test_contains_agrees_with_s2_on_a_million_points(m):
    ring = star(m, 7, radius=0.7)
    polygon = SphericalPolygon([ring])
    X = tmsm.Sphere(2).uniform(1_000_000, 2)
    d, _ = polygon.border_distance(X)
    np.testing.assert_array_equal(polygon.contains(X), d > 0)
    there = spherely.within(spherely.points(*tmsm.xyz_to_lonlat(X)), s2_polygon(ring))
    differs = there != (d > 0)
    assert np.abs(d[differs]).max(initial=0.0) < 1e-9
    near = X[:20_000]
    s2 = spherely.distance(spherely.points(*tmsm.xyz_to_lonlat(near)), spherely.boundary(s2_polygon(ring)), radius=1.0)
    np.testing.assert_allclose(np.abs(d[:20_000]), s2, rtol=0, atol=1e-12)


@given(seed=st.integers(0, 10**6), m=st.integers(3, 40))
def test_either_way_round_closed_or_not(seed, m):
    ring = star(m, seed)
    polygon = SphericalPolygon([ring])
    X = everywhere()[:500]
    d, _ = polygon.border_distance(X)
    for other in (ring[::-1], np.roll(ring, 2, axis=0), np.vstack([ring, ring[:1]])):
        np.testing.assert_allclose(SphericalPolygon([other]).border_distance(X)[0], d, atol=1e-14)
    far = SphericalPolygon([ring], inside=[-1.0, 0.0, 0.0])
    np.testing.assert_allclose(far.border_distance(X)[0], -d, atol=1e-14)
    assert far.area + polygon.area == pytest.approx(4 * np.pi)
    assert polygon.area < 2 * np.pi
    assert polygon.border_distance(X.astype(np.float32))[0].dtype == np.float64


def test_at_on_and_next_to_vertices_edges_and_antipodes():
    ring = star(30, 3)
    polygon = SphericalPolygon([ring])
    middles = ring + np.roll(ring, -1, axis=0)
    middles /= np.linalg.norm(middles, axis=1)[:, None]
    for points in (ring, -ring, middles, -middles):
        for shift in (0.0, 1e-16, 1e-12):
            X = points + shift
            X /= np.linalg.norm(X, axis=1)[:, None]
            d, gradient = polygon.border_distance(X)
            assert np.isfinite(d).all()
            np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, rtol=1e-9)
            np.testing.assert_allclose((gradient * X).sum(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(polygon.border_distance(ring)[0], 0.0, atol=1e-15)
    np.testing.assert_allclose(polygon.border_distance(middles)[0], 0.0, atol=1e-15)


def square(west, south, east, north):
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def polygon(*rings):
    return {"type": "Polygon", "coordinates": list(rings)}


def multipolygon(*polygons):
    return {"type": "MultiPolygon", "coordinates": [list(rings) for rings in polygons]}


def contains(region, *lonlat):
    return region.contains(xyz(*np.array(lonlat, dtype=float).T)).tolist()


def test_areas_and_lengths_in_closed_form():
    octant = SphericalPolygon([np.eye(3)])
    assert octant.area == pytest.approx(np.pi / 2, rel=1e-14)
    assert octant.perimeter == pytest.approx(1.5 * np.pi, rel=1e-14)
    box = SphericalPolygon.from_geojson(polygon(square(-10, 20, 30, 50)), tolerance=0.01)
    exact = np.radians(40) * (np.sin(np.radians(50)) - np.sin(np.radians(20)))
    assert box.area == pytest.approx(exact, rel=1e-8)
    holed = SphericalPolygon.from_geojson(polygon(square(-10, 20, 30, 50), square(0, 30, 10, 40)), tolerance=0.01)
    hole = np.radians(10) * (np.sin(np.radians(40)) - np.sin(np.radians(30)))
    assert holed.area == pytest.approx(exact - hole, rel=1e-8)
    assert "63,758,235 km²" in repr(octant)
    assert "1 ring, 3 vertices" in repr(octant)


def test_edges_straight_in_longitude_and_latitude():
    geojson = polygon([[-125, 49], [-95, 49], [-95, 40], [-125, 40]])
    straight = SphericalPolygon.from_geojson(geojson)
    assert contains(straight, (-110, 48.99), (-110, 49.01), (-110, 49.3)) == [True, False, False]
    geodesic = SphericalPolygon.from_geojson(geojson, edges="geodesic")
    assert contains(geodesic, (-110, 48.99), (-110, 49.3)) == [True, True]
    # The arcs stay within the tolerance of the parallel, which is exact as a LonLatBox.
    box = tmsm.LonLatBox(-125, 40, -95, 49)
    for metres in (1.0, 100.0, 5000.0):
        outline = SphericalPolygon.from_geojson(geojson, tolerance=metres)
        X = everywhere()[:5000]
        gap = np.abs(outline.border_distance(X)[0] - box.border_distance(X)[0]).max()
        assert gap <= metres / 6371008.8


@pytest.mark.parametrize(
    "geojson",
    [
        polygon([[170, -10], [-170, -10], [-170, 10], [170, 10], [170, -10]]),
        polygon([[170, -10], [190, -10], [190, 10], [170, 10], [170, -10]]),
        polygon([[-190, -10], [-170, -10], [-170, 10], [-190, 10], [-190, -10]]),
        multipolygon([square(170, -10, 180, 10)], [square(-180, -10, -170, 10)]),
        multipolygon([square(170, -10, 180, 10)], [square(-180, -10, -170, 3)], [square(-180, 3, -170, 10)]),
        multipolygon([square(165, -10, 180, 10)], [square(-180, -10, -170, 10)]),
    ],
    ids=["short way", "beyond 180", "beyond -180", "cut", "cut unevenly", "cut, wider"],
)
def test_across_the_antimeridian(geojson):
    region = SphericalPolygon.from_geojson(geojson)
    assert len(region.rings) == 1
    assert contains(region, (175, 0), (-175, 5), (180, 0), (160, 0), (-160, 0)) == [True, True, True, False, False]
    # The seam is no border: its middle is ten degrees from the nearest edge.
    d, _ = region.border_distance(xyz([180.0], [0.0]))
    assert np.degrees(d[0]) == pytest.approx(10.0, abs=0.01)


def planar_share(west, south, east, north):
    """Of the whole sphere, in a box of longitude and latitude."""
    return (east - west) / 720.0 * (np.sin(np.radians(north)) - np.sin(np.radians(south)))


@pytest.mark.parametrize(
    ("box", "inside", "outside"),
    [
        ((-180, -20, 180, 50), [(0, 0), (180, 0), (-179, 49)], [(0, 51), (180, -21)]),
        ((0, -20, 360, 50), [(0, 0), (180, 0), (-179, 49)], [(0, 51), (180, -21)]),
        ((-180, -90, 180, 40), [(0, 39), (180, 0), (0, -90)], [(0, 41), (0, 90)]),
        ((-150, -80, 150, 80), [(0, 0), (149, 79)], [(180, 0), (-151, 0), (0, 81)]),
    ],
    ids=str,
)
def test_wide_boxes_are_what_they_are_in_the_plane(box, inside, outside):
    west, south, east, north = box
    ring = square(*box)[:4]
    if east - west < 360:  # said by vertices in between
        ring = [[west, south], [0, south], [east, south], [east, north], [0, north], [west, north]]
    for begin in (0, 1):
        region = SphericalPolygon.from_geojson(polygon([*ring[begin:], *ring[:begin]]))
        assert region.area / (4 * np.pi) == pytest.approx(planar_share(*box), abs=1e-5)
        assert all(contains(region, *inside))
        assert not any(contains(region, *outside))
    other = SphericalPolygon.from_geojson(polygon(ring), inside=xyz(*outside[0]))
    assert contains(other, outside[0], inside[0]) == [True, False]


def test_the_world_with_a_hole():
    region = SphericalPolygon.from_geojson(polygon(square(-180, -90, 180, 90), square(-10, -10, 10, 10)))
    assert contains(region, (0, 0), (0, 20), (180, 0), (0, 90)) == [False, True, True, True]


def test_a_wide_step_has_one_reading_or_is_refused():
    # 200 degrees, or 160 across the antimeridian: both are boxes.
    for west, east in ((-100, 100), (-150, 150), (100, -100)):
        with pytest.raises(ValueError, match=r"Ring 0 has an edge of \d+° of longitude.*it can be read in two ways"):
            SphericalPolygon.from_geojson(polygon(square(west, -10, east, 10)))
    # What the message advises.
    long = [[-100, -10], [0, -10], [100, -10], [100, 10], [0, 10], [-100, 10]]
    short = [[-100, -10], [-260, -10], [-260, 10], [-100, 10]]
    assert contains(SphericalPolygon.from_geojson(polygon(long)), (0, 0), (180, 0)) == [True, False]
    assert contains(SphericalPolygon.from_geojson(polygon(short)), (0, 0), (180, 0)) == [False, True]
    # Great circles know no other way than the short one, and neighbours across the antimeridian are near.
    geodesic = SphericalPolygon.from_geojson(polygon(square(-100, -10, 100, 10)), edges="geodesic")
    assert contains(geodesic, (0, 0), (180, 0)) == [False, True]
    coast = [[179.9, -1], [-179.9, -1], [-179.8, 0], [-179.9, 1], [179.9, 1]]
    assert contains(SphericalPolygon.from_geojson(polygon(coast)), (180, 0), (0, 0)) == [True, False]
    # The same vertex on both sides of the map.
    twice = [[170, 0], [180, 0], [-180, 0], [-170, 0], [-170, 10], [-180, 10], [180, 10], [170, 10]]
    region = SphericalPolygon.from_geojson(polygon(twice))
    assert contains(region, (175, 5), (-175, 5), (0, 5)) == [True, True, False]
    assert region.area / (4 * np.pi) == pytest.approx(planar_share(170, 0, 190, 10), abs=1e-5)


def test_round_a_pole():
    ring = [[0, 60], [90, 65], [180, 60], [-90, 65], [0, 60]]
    cut = [[-180, 60], [-90, 65], [0, 60], [90, 65], [180, 60], [180, 90], [-180, 90], [-180, 60]]
    regions = [SphericalPolygon.from_geojson(polygon(r)) for r in (ring, ring[::-1], cut)]
    for region in regions:
        assert len(region.rings) == 1
        assert contains(region, (0, 90), (0, 61), (0, 59), (180, 80), (10, -90)) == [True, True, False, True, False]
        d, _ = region.border_distance(everywhere()[:2000])
        np.testing.assert_allclose(d, regions[0].border_distance(everywhere()[:2000])[0], atol=5e-5)


def test_parts_that_touch_or_overlap_have_no_border_between_them():
    states = multipolygon([square(0, 0, 10, 10)], [square(10, 0, 20, 10)], [square(0, 10, 20, 20)])
    country = SphericalPolygon.from_geojson(states)
    assert len(country.rings) == 1
    d, _ = country.border_distance(xyz([10.0], [9.0]))
    assert np.degrees(d[0]) > 8.5
    overlapping = SphericalPolygon.from_geojson(multipolygon([square(0, 0, 10, 10)], [square(5, 5, 15, 15)]))
    assert contains(overlapping, (7, 7), (2, 2), (12, 12), (14, 2)) == [True, True, True, False]
    # Rings of unit vectors with a common edge are dissolved too.
    a, b = (xyz(*np.array(square(w, 0, w + 10, 10)[:-1], dtype=float).T) for w in (0, 10))
    assert len(SphericalPolygon([a, b]).rings) == 1


def test_holes_islands_and_parts():
    region = SphericalPolygon.from_geojson(
        multipolygon([square(0, 0, 20, 20), square(5, 5, 15, 15)], [square(8, 8, 12, 12)], [square(40, 0, 50, 10)])
    )
    assert len(region.rings) == 4
    assert contains(region, (2, 2), (6, 6), (10, 10), (45, 5), (30, 5)) == [True, False, True, True, False]


def test_rings_that_touch_in_a_point():
    corner = SphericalPolygon.from_geojson(multipolygon([square(0, 0, 10, 10)], [square(10, 10, 20, 20)]))
    hole = SphericalPolygon.from_geojson(polygon(square(0, 0, 20, 20), [[0, 10], [5, 12], [5, 8], [0, 10]]))
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-10, 30, (2, 20_000))
    in_corner = ((lon > 0) & (lon < 10) & (lat > 0) & (lat < 10)) | ((lon > 10) & (lon < 20) & (lat > 10) & (lat < 20))
    wedge = (lon > 0) & (lon < 5) & (np.abs(lat - 10) < 0.4 * lon)
    in_hole = (lon > 0) & (lon < 20) & (lat > 0) & (lat < 20) & ~wedge
    for region, expected in ((corner, in_corner), (hole, in_hole)):
        d, _ = region.border_distance(xyz(lon, lat))
        differs = (d > 0) != expected
        assert np.abs(d[differs]).max(initial=0.0) < 100 / 6371008.8  # the tolerance of the edges


def plane(xy, size=0.1):
    """Points of the plane on the sphere, gnomonically: straight lines become great circles."""
    xy = size * np.array(xy, dtype=float)
    X = np.column_stack([np.ones(len(xy)), xy])
    return X / np.linalg.norm(X, axis=1)[:, None]


def test_neighbours_with_other_vertices_on_their_common_edge():
    rng = np.random.default_rng(0)
    for size in (10.0, 1.0, 0.1):
        for digits in (15, 6):
            for _ in range(20):
                a, b, share = rng.uniform(0.3, 0.7, 3)
                left, right = np.array([0.0, a]), np.array([1.0, b])
                middle = np.round(size * (left + share * (right - left)), digits)
                left, right = np.round(size * left, digits), np.round(size * right, digits)
                below = [[0, 0], [size, 0], right.tolist(), left.tolist()]
                above = [left.tolist(), middle.tolist(), right.tolist(), [size, size], [0, size]]
                region = SphericalPolygon.from_geojson(multipolygon([below], [above]))
                assert len(region.rings) == 1
                d, _ = region.border_distance(xyz(*middle)[None])
                assert np.degrees(d[0]) > 0.15 * size


@pytest.mark.parametrize(
    "geojson",
    [
        polygon([[-120, 49], [-100, 49], [-80, 49], [-80, 49.0005], [-120, 49.0005]]),
        multipolygon(
            [[[-120, 45], [-105, 45], [-80, 45], [-80, 49], [-120, 49]]],
            [[[-120, 49.0005], [-100, 49.0005], [-80, 49.0005], [-80, 53], [-120, 53]]],
        ),
    ],
)
def test_edges_closer_than_the_tolerance_do_not_cross(geojson):
    region = SphericalPolygon.from_geojson(geojson)
    assert len(region.rings) == len(geojson["coordinates"])


@pytest.mark.parametrize("m", [4, 8, 36, 100])
def test_hemispheres_and_antipodal_vertices(m):
    turn = np.arange(m) * 360.0 / m
    equator = SphericalPolygon([xyz(turn, 0.0)], inside=[0, 0, 1])
    assert equator.area == pytest.approx(2 * np.pi, rel=1e-12)
    assert contains(equator, (10, 5), (10, -5)) == [True, False]
    symmetric = SphericalPolygon([xyz(turn, 10 * np.cos(3 * np.radians(turn)))])
    assert symmetric.area == pytest.approx(2 * np.pi, rel=1e-9)
    assert SphericalPolygon([xyz(turn, 1e-6)]).area < 2 * np.pi


@pytest.mark.parametrize("radius", [1e-3, 1e-7, 1e-9])
def test_the_smaller_side_of_a_tiny_ring(radius):
    rng = np.random.default_rng(3)
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    for seed in range(30):
        corners = np.column_stack([np.cos(turn), np.sin(turn)]) * rng.uniform(0.5, 1.0, (12, 1))
        ring = plane(corners, radius) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        region = SphericalPolygon([ring[:: 1 if seed % 2 else -1]])
        middle = ring.mean(axis=0) / np.linalg.norm(ring.mean(axis=0))
        assert region.contains(np.array([middle, -middle])).tolist() == [True, False]
        assert 0 < region.area < 4 * radius**2


def test_cells_of_a_grid_in_any_orientation():
    rng = np.random.default_rng(0)
    for _ in range(30):
        cells = rng.random((3, 4)) < 0.5
        cells[1, 1] = True
        rings = [
            plane([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)])[:: rng.choice([-1, 1])]
            for y, x in np.argwhere(cells)
        ]
        region = SphericalPolygon(rings)
        points = rng.uniform([0, 0], [4, 3], (300, 2))
        expected = cells[points[:, 1].astype(int), points[:, 0].astype(int)]
        d, _ = region.border_distance(plane(points))
        assert ((d > 0) == expected).all()


SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize(
    ("rings", "inside", "outside"),
    [
        ([SQUARE, [(0.25, 0), (0.75, 0), (0.5, 0.5)]], [(0.1, 0.1), (0.5, 0.8)], [(0.5, 0.2)]),
        ([SQUARE, [(1, 0.2), (1, 0.8), (2, 0.5)]], [(0.5, 0.5), (1.0, 0.5), (1.2, 0.5)], [(1.2, 0.1)]),
        ([SQUARE, [(1, 0.2), (2, 0), (2, 1), (1, 0.8)]], [(0.9, 0.5), (1.0, 0.5), (1.5, 0.5)], [(2.5, 0.5)]),
        ([SQUARE, [(1, -1), (2, -1), (2, 2), (1, 2)]], [(0.5, 0.5), (1.0, 0.5), (1.5, 1.5)], [(0.5, 1.5)]),
    ],
    ids=["hole on an edge", "part on an edge", "part on part of an edge", "longer neighbour"],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_rings_that_share_part_of_an_edge(rings, inside, outside, turn):
    region = SphericalPolygon([plane(rings[0]), plane(rings[1])[::turn]])
    assert region.contains(plane(inside)).all()
    assert not region.contains(plane(outside)).any()


@pytest.mark.parametrize(
    "rings",
    [
        [[(0, 0), (0.5, 0.5), (1, 1), (1, 0), (0.5, 0.5), (0, 1)]],
        [
            [(0, 0), (0.2, 0), (0.8, 0), (1, 0), (1, 1), (0, 1)],
            [(0.2, -0.2), (0.8, -0.2), (0.8, 0), (0.8, 0.5), (0.2, 0.5), (0.2, 0)],
        ],
    ],
    ids=["bow tie", "two rings"],
)
def test_rings_that_cross_in_vertices_are_an_error(rings):
    with pytest.raises(tmsm.errors.CrossingError, match=r"Rings cross in a vertex at longitude .*, latitude"):
        SphericalPolygon([plane(ring) for ring in rings])


def test_a_ring_cut_at_the_pole_with_uneven_vertices():
    ring = [[-180, -90], [-180, -88], [-180, -84.7], [-120, -74], [-60, -75], [0, -70], [60, -67], [120, -66]]
    region = SphericalPolygon.from_geojson(polygon([*ring, [180, -84.7], [180, -90]]))
    d, _ = region.border_distance(xyz([180.0, 179.0, -179.0, 0.0], [-88.0, -87.0, -87.0, -90.0]))
    assert (np.degrees(d) > 1.5).all()


def test_holes_across_the_antimeridian_from_their_shell():
    shell = [[170, 0], [-170, 0], [-170, 20], [170, 20]]
    region = SphericalPolygon.from_geojson(polygon(shell, [[-178, 5], [-172, 5], [-172, 15], [-178, 15]]))
    assert contains(region, (-175, 10), (175, 10), (-171, 10)) == [False, True, True]


@pytest.mark.parametrize("box", [tmsm.LonLatBox(-10, 20, 30, 50), tmsm.LonLatBox(170.3, -10.7, -170.1, 10.9)], ids=repr)
def test_corners_of_a_box_have_a_unit_gradient(box):
    for shift in (0.0, 1e-16, 1e-12):
        X = box._corners + shift
        X /= np.linalg.norm(X, axis=1)[:, None]
        d, gradient = box.border_distance(X)
        np.testing.assert_allclose(d, 0.0, atol=1e-11)
        np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose((gradient * X).sum(axis=1), 0.0, atol=1e-12)


def test_polar_caps_as_boxes_contain_their_pole():
    assert tmsm.LonLatBox(-180, 60, 180, 90).contains([[0, 0, 1.0]]).all()
    assert tmsm.LonLatBox(-180, -90, 180, -60).contains([[0, 0, -1.0]]).all()
    d, _ = tmsm.LonLatBox(-180, 60, 180, 90).border_distance([[0, 0, 1.0], [0, 0, -1.0]])
    np.testing.assert_allclose(d, np.radians([30, -150]))


def test_geojson_in_every_wrapping(tmp_path):
    geometry = polygon(square(0, 0, 20, 20))
    feature = {"type": "Feature", "properties": {}, "geometry": geometry}
    path = tmp_path / "border.geojson"
    path.write_text(json.dumps(feature))
    wrapped = [
        geometry,
        json.dumps(geometry),
        feature,
        {"type": "FeatureCollection", "features": [feature, {"type": "Feature", "geometry": None}]},
        {"type": "GeometryCollection", "geometries": [geometry]},
        path,
        str(path),
    ]
    expected = SphericalPolygon.from_geojson(geometry)
    for source in wrapped:
        assert SphericalPolygon.from_geojson(source) == expected
    assert SphericalPolygon.from_geometry(shapely.box(0, 0, 20, 20)).area == pytest.approx(expected.area)


@pytest.mark.parametrize("inside", [None, [-1.0, 0.0, 0.0]])
def test_geojson_round_trip(inside):
    region = SphericalPolygon([star(60, 1), star(15, 2, 0.3, 0.05), star(7, 3, 0.1, 0.02)], inside=inside)
    written = json.loads(json.dumps(region.to_geojson()))
    assert sum(len(rings) for rings in written["coordinates"]) == 3
    back = SphericalPolygon.from_geojson(written, edges="geodesic")
    np.testing.assert_allclose(
        back.border_distance(everywhere())[0], region.border_distance(everywhere())[0], atol=1e-12
    )


def test_geopandas(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    box = shapely.box(-100, 30, -80, 45)
    frame = geopandas.GeoDataFrame({"name": ["a"]}, geometry=[box], crs="EPSG:4326")
    expected = SphericalPolygon.from_geometry(box)
    assert SphericalPolygon.from_geometry(frame) == expected
    assert SphericalPolygon.from_geometry(frame.geometry) == expected
    X = everywhere()[:3000]
    projected = geopandas.GeoSeries([shapely.segmentize(box, 0.05)], crs="EPSG:4326").to_crs("EPSG:5070")
    back = SphericalPolygon.from_geometry(projected)
    np.testing.assert_allclose(back.border_distance(X)[0], expected.border_distance(X)[0], atol=3e-5)
    polar = shapely.box(-2e6, -2e6, 2e6, 2e6)
    square_at_pole = SphericalPolygon.from_geometry(geopandas.GeoSeries([polar, None], crs="EPSG:3413"))
    assert square_at_pole.area * 6371.0088**2 == pytest.approx(16e6, rel=0.05)  # true scale at 70° N
    with pytest.raises(ValueError, match=r"no coordinate reference system.*set_crs"):
        SphericalPolygon.from_geometry(frame.geometry.set_crs(None, allow_override=True))
    for name in ("border.gpkg", "border.shp", "border.fgb"):
        frame.to_file(tmp_path / name)
        assert SphericalPolygon.from_geometry(geopandas.read_file(tmp_path / name)).area == pytest.approx(expected.area)
    with pytest.raises(ValueError, match=r"are read with SphericalPolygon\.from_file"):
        SphericalPolygon.from_geojson(tmp_path / "border.gpkg")


def test_plot_draws_every_ring():
    pytest.importorskip("matplotlib").use("Agg")
    region = SphericalPolygon([star(60, 1), star(15, 2, 0.3, 0.05)])
    assert len(region.plot().lines) == 2
    assert len(tmsm.LonLatBox(170, -10, -170, 10).plot().lines) == 1
    assert len(tmsm.HealpixMask(1, [0]).plot().lines) == 1


@pytest.mark.parametrize(
    ("box", "area"),
    [
        (tmsm.LonLatBox(-10, 20, 30, 50), np.radians(40) * (np.sin(np.radians(50)) - np.sin(np.radians(20)))),
        (tmsm.LonLatBox(170, -10, -170, 10), np.radians(20) * 2 * np.sin(np.radians(10))),
        (tmsm.LonLatBox(-180, -30, 180, 50), 2 * np.pi * (np.sin(np.radians(50)) + 0.5)),
        (tmsm.LonLatBox(0, 30, 90, 90), 0.25 * np.pi),
        (tmsm.LonLatBox(10, -90, 60, 90), np.radians(100)),
    ],
    ids=repr,
)
def test_lonlat_box_is_exact(box, area):
    outline = box._outline
    assert outline.area == pytest.approx(area, abs=1e-7)
    d, _ = box.border_distance(everywhere())
    np.testing.assert_allclose(d, outline.border_distance(everywhere())[0], atol=1.1e-9)


@pytest.mark.parametrize(("nside", "nest"), [(1, False), (4, True), (8, False)])
def test_sky_mask_agrees_with_its_pixels(nside, nest):
    units = pytest.importorskip("astropy.units")
    from astropy_healpix import HEALPix

    grid = HEALPix(nside, order="nested" if nest else "ring")
    observed = np.random.default_rng(nside).random(12 * nside**2) < 0.6
    mask = tmsm.HealpixMask(nside, observed, nest=nest)
    assert mask == tmsm.HealpixMask(nside, np.flatnonzero(observed), nest=nest)
    lon, lat = tmsm.xyz_to_lonlat(everywhere())
    pixel = grid.lonlat_to_healpix(lon * units.deg, lat * units.deg)
    d, _ = mask.border_distance(everywhere())
    differs = (d > 0) != observed[pixel]
    assert np.abs(d[differs]).max(initial=0.0) < 1e-6  # the stated tolerance
    assert mask.outline.area == pytest.approx(mask.area, abs=1e-4)


INVALID = {
    "crosses itself": (
        polygon([[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]]),
        "Ring 0 crosses or touches itself: edge 0",
    ),
    "second ring": (
        multipolygon([square(0, 0, 5, 5)], [[[20, 0], [30, 10], [30, 0], [20, 10]]]),
        "Ring 1 crosses or touches itself: edge 0 meets edge 2",
    ),
    "two vertices": (
        polygon([[0, 0], [10, 10], [0, 0]]),
        "Ring 0 has 2 distinct vertices; a ring needs at least three",
    ),
    "repeated": (polygon([[0, 0], [10, 0], [10, 0], [0, 10]]), "Ring 0 repeats vertex 1"),
    "no area": (polygon([[0, 0], [10, 0], [20, 0]]), "Ring 0 folds back on itself"),
    "latitude": (polygon([[0, 0], [100, 0], [100, 95]]), "Ring 0, vertex 2 has latitude 95, beyond ±90."),
    "swapped": (polygon([[30, -100], [30, -80], [49, -80]]), "Longitude comes first: the two look swapped"),
    "metres": (polygon([[5e5, 4e6], [6e5, 4e6], [6e5, 5e6]]), "These look like metres"),
    "longitude": (polygon([[700, 0], [710, 0], [710, 10]]), "Ring 0, vertex 1 has longitude 710, beyond ±540"),
    "nan": (polygon([[0, 0], [1, 0], [None, 1]]), "Ring 0, vertex 2 is not finite"),
    "empty": ({"type": "FeatureCollection", "features": []}, "the collection is empty"),
    "point": ({"type": "Point", "coordinates": [0, 0]}, "got 'Point'. Drop points and lines first"),
    "no file": ("nowhere.geojson", "There is no file 'nowhere.geojson'"),
    "not JSON": ("{nonsense", "the GeoJSON text is not JSON"),
    "number": (3, "from_geojson takes a path, text or a mapping; got int"),
    "option": (polygon(square(0, 0, 1, 1)), "edges='straight' is not an option"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_geojson(name):
    source, message = INVALID[name]
    options = {"edges": "straight"} if name == "option" else {}
    with pytest.raises((ValueError, TypeError)) as error:
        SphericalPolygon.from_geojson(source, **options)
    assert message in str(error.value)


CROSSED = star(12, 1)[[0, 5, 1, 6, 2, 7]]


@pytest.mark.parametrize(
    ("construct", "message"),
    [
        (lambda: SphericalPolygon([]), "rings is empty"),
        (lambda: SphericalPolygon(3), "rings must be a list of arrays"),
        (lambda: SphericalPolygon([np.eye(3)[:2]]), "Ring 0 has 2 distinct vertices"),
        (lambda: SphericalPolygon([np.eye(3)[[0, 1, 1, 2]]]), "Ring 0 repeats vertex 1"),
        (lambda: SphericalPolygon([2 * np.eye(3)]), "Ring 0 has 3 of 3 rows off the sphere"),
        (lambda: SphericalPolygon([[[0, 10], [10, 10], [10, 0]]]), "Ring 0 must have shape (m, 3), unit vectors"),
        (lambda: SphericalPolygon([[[1, 0, 0], [-1, 0, 0], [0, 0, 1]]]), "Ring 0 has antipodal neighbours (vertex 0"),
        (lambda: SphericalPolygon([CROSSED]), "Ring 0 crosses itself: the edges after vertices"),
        (lambda: SphericalPolygon([star(20, 1), star(20, 1)[:, [0, 2, 1]]]), "Rings 0 and 1 cross"),
        (lambda: SphericalPolygon([np.eye(3)], inside=[1.0, 0.0, 0.0]), "inside lies on the border"),
        (lambda: SphericalPolygon([np.eye(3), np.eye(3)]), "cancel each other"),
        (lambda: SphericalPolygon.from_geometry("usa"), "takes a shapely geometry"),
        (lambda: tmsm.LonLatBox(0, 10, 20, 5), "south must be below north"),
        (lambda: tmsm.LonLatBox(0, 10, 0, 50), "an empty box"),
        (lambda: tmsm.LonLatBox(0, -95, 20, 5), "south must be within ±90 degrees; got -95"),
        (lambda: tmsm.LonLatBox(-180, -90, 180, 90), "use Everywhere(Sphere(2))"),
        (lambda: tmsm.HealpixMask(2, []), "must be whole numbers"),
        (lambda: tmsm.HealpixMask(3, [1]), "nside must be a power of two; got 3"),
        (lambda: SphericalPolygon([plane([(0, 0), (1, 0), (3, 0), (2, 0)])]), "nothing is left inside"),
        (lambda: tmsm.HealpixMask(2, [48]), "pixels must be between 0 and 47 for nside 2; got 48"),
        (lambda: tmsm.HealpixMask(2, np.ones(47, dtype=bool)), "has 48 entries; got shape (47,)"),
        (lambda: tmsm.HealpixMask(1, np.ones(12, dtype=bool)), "All pixels were observed"),
    ],
)
def test_invalid_regions(construct, message):
    with pytest.raises((ValueError, TypeError)) as error:
        construct()
    assert message in str(error.value)
