import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tmsm
from tests.registry import (
    EVERYWHERE,
    IMPLICIT,
    REGIONS,
    inside_points,
    points,
    public_names,
    random_tangents,
    sampled,
    tangent_basis,
    walk,
)

METRICS = ("geodesic", "chordal", "projected")
CASES = pytest.mark.parametrize("case", REGIONS, ids=repr)
# What holds for a function that is zero on the border as well as for a distance.
FUNCTIONS = pytest.mark.parametrize("case", REGIONS + IMPLICIT, ids=repr)
# Of every kind of region one always, the others in the full run: for what is tried on many samples.
KINDS = pytest.mark.parametrize(
    "case", sampled([(case,) for case in REGIONS], lambda case: type(case.region)), ids=repr
)


def metrics_of(case):
    axes = range(case.region.manifold.embedding_dim) if case.projected else ()
    chordal = [("chordal", None)] if case.chordal else []
    return [("geodesic", None), *chordal, *(("projected", axis) for axis in axes)]


@KINDS
@given(seed=st.integers(0, 10**6))
def test_contains_is_the_sign_of_every_distance(case, seed):
    X = points(case.region.manifold, 200, seed)
    inside = case.region.contains(X)
    assert inside.dtype == bool
    for metric, axis in metrics_of(case):
        d, gradient = case.region.border_distance(X, metric, axis)
        assert d.shape == (200,)
        assert gradient.shape == X.shape
        np.testing.assert_array_equal(d > 0, inside)


@KINDS
@given(seed=st.integers(0, 10**6))
def test_distance_is_lipschitz_with_a_tangent_unit_gradient(case, seed):
    manifold = case.region.manifold
    X, Y = points(manifold, 100, seed), points(manifold, 100, seed + 1)
    d, gradient = case.region.border_distance(X)
    other, _ = case.region.border_distance(Y)
    if case.signed:
        assert (np.abs(d - other) <= manifold.geodesic_distance(X, Y) + 1e-12).all()
    np.testing.assert_allclose(manifold.project_tangent(X, gradient), gradient, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, atol=1e-12)


@FUNCTIONS
def test_gradients_agree_with_finite_differences(case):
    manifold, h = case.region.manifold, 1e-7
    X = points(manifold, 300, 5)
    V = random_tangents(manifold, X)
    for metric, axis in metrics_of(case):
        d, gradient = case.region.border_distance(X, metric, axis)
        ahead, _ = case.region.border_distance(walk(manifold, X, V, h), metric, axis)
        behind, _ = case.region.border_distance(walk(manifold, X, V, -h), metric, axis)
        # A kink within h shows as a second difference, and moves the slope by no more than it over 2h.
        kink = np.abs(ahead - 2 * d + behind) / (2 * h)
        assert (kink < 1e-3).mean() > 0.97
        smooth = kink < 1e-3
        error = np.abs((ahead - behind) / (2 * h) - (gradient * V).sum(1))
        assert (error <= 1e-6 + 1.01 * kink)[smooth].all()


@CASES
def test_walking_the_distance_down_the_gradient_ends_on_the_border(case):
    manifold = case.region.manifold
    X = inside_points(case.region, 100)
    d, gradient = case.region.border_distance(X)
    end, _ = case.region.border_distance(walk(manifold, X, -gradient, d))
    if case.exact:
        np.testing.assert_allclose(end, 0.0, atol=1e-12)
    else:
        assert (end >= -1e-12).all()  # a lower bound stops short of the border
        assert (end > 0.01).any()


@pytest.mark.parametrize("case", [case for case in REGIONS if case.signed], ids=repr)
def test_no_step_shorter_than_the_distance_leaves_the_region(case):
    # Between bare points there is no border to meet.
    manifold = case.region.manifold
    X = inside_points(case.region, 200)
    d, _ = case.region.border_distance(X)
    for seed in range(20):
        assert case.region.contains(walk(manifold, X, random_tangents(manifold, X, seed), 0.999 * d)).all()


@CASES
def test_next_to_and_on_the_border_nothing_is_nan(case):
    manifold = case.region.manifold
    X = inside_points(case.region, 50)
    d, gradient = case.region.border_distance(X)
    for gap in (1e-3, 1e-8, 1e-12, 1e-15, 0.0, -1e-15, -1e-8):
        near = walk(manifold, X, -gradient, d - gap)
        for metric, axis in metrics_of(case):
            distance, slope = case.region.border_distance(near, metric, axis)
            assert np.isfinite(distance).all()
            assert np.isfinite(slope).all()
            if metric == "geodesic" and case.exact and gap >= 0.0:
                np.testing.assert_allclose(np.abs(distance), gap, atol=1e-13)
                if case.signed and gap > 0.0:
                    assert (distance > -1e-13).all()
            if metric == "projected" and case.exact:
                assert np.abs(distance).max() <= abs(gap) + 2e-8  # the root of rounding, where the ellipse is flat


def on_neither_side(region, B):
    assert not region.contains(B).any()
    assert not (~region).contains(B).any()
    for part in (region, ~region):
        np.testing.assert_array_equal(part.border_distance(B)[0], 0.0)


@pytest.mark.parametrize("case", [case for case in REGIONS if case.exact and case.signed], ids=repr)
def test_a_point_on_the_border_is_on_neither_side(case):
    manifold, B = case.region.manifold, inside_points(case.region, 100)
    for _ in range(3):  # the first walk is long, and its end is off by what its direction is
        d, gradient = case.region.border_distance(B)
        B = walk(manifold, B, -gradient, d)
        manifold.settle(B)
    on_neither_side(case.region, B)


def test_points_written_down_on_a_border_are_on_neither_side():
    rng = np.random.default_rng(0)
    share = rng.uniform(0.0, 1.0, 40)
    for k in range(20):
        (w, e), (s, n) = (np.sort(rng.choice(np.arange(-limit, limit), 2, replace=False)) for limit in (180, 89))
        lon, lat = w + share * (e - w), s + share * (n - s)
        meridians = [tmsm.lonlat_to_xyz(edge, lat) for edge in (w, e)]
        parallels = [tmsm.lonlat_to_xyz(lon, edge) for edge in (s, n)]
        on_neither_side(tmsm.LonLatBox(w, s, e, n), np.vstack(meridians + parallels))
        far = 10.0 ** rng.uniform(-2, 7)
        vertices = rng.normal(size=(3, 2)) + far * rng.normal(size=2)
        edge = vertices[k % 3] + share[:, None] * (vertices[(k + 1) % 3] - vertices[k % 3])
        on_neither_side(tmsm.Polygon(vertices), edge)
        multiples = np.rint(10 * far * rng.normal(size=(40, 2)))
        on_neither_side(
            tmsm.HalfSpace([1.0, 0.0], 0.1 * multiples[0, 0]), 0.1 * multiples * [0, 1] + [0.1 * multiples[0, 0], 0]
        )
        steps = 0.1 * np.arange(3, 8)  # 0.1 * 3 is not 0.3
        on_neither_side(tmsm.Box([0.3, 0.3], [0.7, 0.7]), np.column_stack([np.full(5, 0.1 * 3), steps]))
    on_neither_side(tmsm.Cap([0.0, 0.0, 1.0], np.pi / 3), tmsm.lonlat_to_xyz(lon, 30.0))
    quadrilateral = tmsm.lonlat_to_xyz([10, 40, 40, 10], [20, 25, 50, 47])  # two edges along meridians
    lat = np.array([25.0, 26.5, 33.3, 47.0])
    on_neither_side(tmsm.SphericalPolygon([quadrilateral]), tmsm.lonlat_to_xyz([[10], [40]], lat).reshape(-1, 3))


def test_the_seam_of_two_boxes_that_touch_is_on_neither_side():
    # Sets without their borders leave it out; it must not depend on the last digit.
    lat = np.linspace(11.0, 49.0, 39)
    for seam in (-110, -37, 3, 77):
        both = tmsm.LonLatBox(seam - 10, 10, seam, 50) | tmsm.LonLatBox(seam, 10, seam + 10, 50)
        on_neither_side(both, tmsm.lonlat_to_xyz(seam, lat))
        assert (both | tmsm.LonLatBox(seam - 1, 10, seam + 1, 50)).contains(tmsm.lonlat_to_xyz(seam, lat)).all()


@FUNCTIONS
def test_complement_flips_the_sign(case):
    X = points(case.region.manifold, 100)
    d, gradient = case.region.border_distance(X)
    flipped, flipped_gradient = (~case.region).border_distance(X)
    np.testing.assert_allclose(flipped, -d, atol=1e-14)
    np.testing.assert_allclose(flipped_gradient, -gradient, atol=1e-14)
    np.testing.assert_allclose((~~case.region).border_distance(X)[0], d, atol=1e-14)


@pytest.mark.parametrize("case", REGIONS + IMPLICIT + EVERYWHERE, ids=repr)
def test_regions_are_values(case):
    region = case.region
    assert region == pickle.loads(pickle.dumps(region))
    assert hash(region) == hash(pickle.loads(pickle.dumps(region)))
    assert copy.deepcopy(region) is region
    assert region != tmsm.Cap([0.0, 1.0], 0.123)
    if "<" not in repr(region) and "inf" not in repr(region):  # long ones are abbreviated
        assert eval(repr(region), public_names() | vars(tmsm.regions)) == region
    with pytest.raises(AttributeError):
        region.radius = 3.0


def test_gradient_at_the_centre_of_a_cap_is_zero():
    for seed in range(50):
        center = tmsm.Sphere(2).uniform(1, seed)
        for point in (center, -center):
            d, gradient = tmsm.Cap(center[0], 0.9).border_distance(point)
            assert np.isfinite(d).all()
            np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gradient_next_to_an_edge_is_its_normal(offset):
    triangle = tmsm.Polygon(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]) + offset)
    inward = np.array([-3.0, -4.0]) / 5
    for gap in (0.0, 1e-15, 1e-12, -1e-12, 1e-3):
        _, gradient = triangle.border_distance(np.array([[2.0, 1.5]]) + offset + gap * inward)
        np.testing.assert_allclose(gradient[0], inward, atol=1e-12)


def test_the_whole_manifold_in_combinations():
    cap, everywhere = tmsm.Cap([0.0, 0.0, 1.0], 0.5), tmsm.Everywhere(tmsm.Sphere(2))
    assert cap & everywhere == everywhere & cap == cap
    assert cap | everywhere == everywhere | cap == everywhere
    assert tmsm.Hemisphere([0.0, 0.0, 1.0]) == tmsm.Cap([0.0, 0.0, 1.0], np.pi / 2)
    with pytest.raises(ValueError, match="one manifold"):
        cap & tmsm.Everywhere(tmsm.Euclidean(3))


@pytest.mark.parametrize("case", EVERYWHERE, ids=repr)
def test_everywhere_has_no_border(case):
    X = points(case.region.manifold, 10)
    d, gradient = case.region.border_distance(X)
    assert np.isposinf(d).all()
    assert not gradient.any()
    assert not case.region.has_border
    with pytest.raises(ValueError, match="empty"):
        _ = ~case.region


@pytest.mark.parametrize("case", [c for c in REGIONS if c.region.smooth_border is not None], ids=repr)
def test_laplacian_of_a_smooth_distance(case):
    manifold, h = case.region.manifold, 1e-4
    X = inside_points(case.region, 20)
    d, _, laplacian = case.region.smooth_border.smooth_distance(X)
    total = np.zeros(len(X))
    for i, x in enumerate(X):
        for e in tangent_basis(manifold, x):
            steps = walk(manifold, np.array([x, x]), np.array([e, e]), np.array([h, -h]))
            total[i] += (case.region.border_distance(steps)[0] - d[i]).sum() / h**2
    far = d < 0.7 * min(case.region.smooth_border.reach, 10)  # the fourth derivative explodes at the centre
    np.testing.assert_allclose(laplacian[far], total[far], atol=1e-5)
