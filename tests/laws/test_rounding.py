"""Boxes for rounded rows, and the grid that rows were rounded to."""

import pickle

import numpy as np
import pytest

import tmsm
from tests.registry import public_names
from tmsm.regions.rounding import find_grid


def edges(box):
    return tuple(box._edges)


@pytest.mark.parametrize(
    ("box", "rounded", "expected"),
    [
        ((10, -20, 40, 30), 0.5, (10.25, -19.75, 39.75, 29.75)),
        ((10, -20, 40, 30), 0.1, (10.05, -19.95, 39.95, 29.95)),
        ((170, -10, -170, 10), 1.0, (170.5, -9.5, -170.5, 9.5)),  # across the antimeridian
        ((-180, 20, 180, 60), 0.5, (-180, 20.25, 180, 59.75)),  # all the way round
        ((0, 50, 40, 90), 0.5, (0.25, 50.25, 39.75, 90)),  # a pole is no border
        ((10.25, -20.25, 39.75, 30.25), 0.5, (10.25, -20.25, 39.75, 30.25)),  # edges of cells already
        ((10.3, -20.2, 39.9, 30.0), 0.5, (10.75, -19.75, 39.75, 29.75)),  # cuts cells elsewhere
        ((10, -20, 40, 30), (2.5, 2.0), (11.25, -19, 38.75, 29)),
        ((10, -20, 40, 30), (0.0, 2.0), (10, -19, 40, 29)),
    ],
)
def test_a_box_for_rounded_rows_is_made_of_whole_cells(box, rounded, expected):
    region, plain = tmsm.LonLatBox(*box, rounded=rounded), tmsm.LonLatBox(*expected)
    np.testing.assert_allclose(edges(region), expected, atol=1e-12)
    X = tmsm.Sphere(2).uniform(300, 0)
    np.testing.assert_allclose(region.border_distance(X)[0], plain.border_distance(X)[0], atol=1e-14)
    assert (region.axes is None) == (plain.axes is None)
    assert region == eval(repr(region), public_names()) == pickle.loads(pickle.dumps(region))
    assert hash(region) == hash(pickle.loads(pickle.dumps(region)))
    assert region != tmsm.LonLatBox(*box) == region.as_given
    assert "rounded" not in repr(tmsm.LonLatBox(*box))


def test_rounding_sends_no_row_of_a_whole_cell_out_of_its_box():
    # Inside the shrunken box a row and what it is rounded to are inside together: every cell is whole.
    box = tmsm.LonLatBox(-110, 30, -80, 50, rounded=0.5)
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-112, -78, 20000), rng.uniform(28, 52, 20000)
    before = box.contains(tmsm.lonlat_to_xyz(lon, lat))
    after = box.contains(tmsm.lonlat_to_xyz(np.rint(2 * lon) / 2, np.rint(2 * lat) / 2))
    np.testing.assert_array_equal(before, after)


def test_a_flat_box_for_rounded_rows():
    box = tmsm.Box([0.0, -1.0, -np.inf], [3.0, np.inf, 0.15], rounded=[0.1, 0.0, 0.1])
    lower, upper = box.bounds
    np.testing.assert_allclose(lower, [0.05, -1.0, -np.inf])
    np.testing.assert_allclose(upper, [2.95, np.inf, 0.15])
    assert box.border_distance([[1.0, 5.0, -3.0]])[0] == pytest.approx(0.95)
    assert box == pickle.loads(pickle.dumps(box)) != tmsm.Box(box.lower, box.upper)
    both = tmsm.Box([0.0, 0.0], [3.0, 4.0], rounded=0.1)
    assert both == eval(repr(both), public_names())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tmsm.LonLatBox(0, 0, 1, 1, rounded=2.0), "leaves nothing of the box"),
        (lambda: tmsm.LonLatBox(0, 0, 9, 9, rounded=-1.0), "rounded must be positive in degrees"),
        (lambda: tmsm.LonLatBox(0, 0, 9, 9, rounded="0.1°"), "rounded must be the step of the rounding in degrees"),
        (lambda: tmsm.Box([0.0], [1.0], rounded=3.0), "leaves nothing of the box"),
        (lambda: tmsm.Box([0.0], [1.0], rounded=[0.1, 0.1]), "or 1 steps"),
        (lambda: ~tmsm.LonLatBox(0, 0, 9, 9, rounded=1.0), "half a step larger"),
        (lambda: ~(tmsm.LonLatBox(0, 0, 9, 9, rounded=1.0) & tmsm.Cap([1.0, 0.0, 0.0], 0.1)), "half a step larger"),
    ],
)
def test_what_cannot_be_a_box_for_rounded_rows(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("step", [2.5, 0.5, 0.1, 1 / 60, 0.01, 0.001])
@pytest.mark.parametrize("n", [50, 5000])
def test_a_grid_is_found(step, n):
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(-130, -60, n), rng.uniform(20, 50, n)
    X = tmsm.lonlat_to_xyz(np.rint(lon / step) * step, np.rint(lat / step) * step)
    grid = find_grid(tmsm.Sphere(2), X)
    np.testing.assert_allclose(grid.steps, step, rtol=1e-6)
    if step >= 0.5:
        single = X.astype(np.float32).astype(float)
        single /= np.linalg.norm(single, axis=1)[:, None]
        np.testing.assert_allclose(find_grid(tmsm.Sphere(2), single).steps, step, rtol=1e-6)
        far = np.column_stack([4.5e6 + np.rint(lon / step) * step, lat])
        np.testing.assert_allclose(find_grid(tmsm.Euclidean(2), far).steps, [step, 0.0], rtol=1e-6)
    mixed = find_grid(tmsm.Sphere(2), tmsm.lonlat_to_xyz(lon, np.rint(lat / step) * step))
    np.testing.assert_allclose(mixed.steps, [0.0, step], rtol=1e-6)


def test_no_grid_is_found_where_there_is_none():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 300))
        assert find_grid(tmsm.Sphere(2), tmsm.Sphere(2).uniform(n, seed)) is None
        flat = rng.normal(size=(n, 2)) * 10.0 ** rng.uniform(-5, 5) + 10.0 ** rng.uniform(-5, 5)
        assert find_grid(tmsm.Euclidean(2), flat) is None
        assert find_grid(tmsm.Euclidean(2), flat[rng.integers(5, size=n)]) is None  # few places, many copies
    # Centres of cells whose edges are whole degrees: a box with such edges needs no keyword.
    lon, lat = np.floor(rng.uniform(-60, 60, (2, 500))) + 0.5
    assert find_grid(tmsm.Sphere(2), tmsm.lonlat_to_xyz(lon, lat)) is None


def test_halfway_between_two_faces_the_slope_is_the_mean_of_both_sides():
    flat = tmsm.Box([0.0, 0.0], [3.0, 4.0])
    X = np.array([[1.5, 3.9], [0.3, 0.1 * 3], [1.5, 2.0], [1.4, 2.1]])
    np.testing.assert_array_equal(flat.axes.axis_frame(X).signs, [[0, -1], [1, 1], [0, 0], [1, -1]])
    np.testing.assert_allclose(flat.border_distance(X)[1], [[0, -1], [0.5, 0.5], [0, 0], [1, 0]])
    box = tmsm.LonLatBox(-110, 30, -80, 50)
    lon, lat = np.array([-95, -95, -100, -95]), np.array([33, 40, 40, 49])
    X = tmsm.lonlat_to_xyz(lon, lat)
    np.testing.assert_array_equal(box.axes.axis_frame(X).signs, [[0, 1], [0, 0], [1, 0], [0, -1]])
    np.testing.assert_allclose(np.linalg.norm(box.border_distance(X)[1], axis=1), [1, 0, 1, 1], atol=1e-12)
