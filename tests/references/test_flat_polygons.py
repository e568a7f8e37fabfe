"""Polygons in the plane: the tree against all edges, one by one, and the work that it saves."""

import numpy as np
import pytest

import tmsm
from tmsm.regions.polygon.edges import EdgeTree


def rough(m, seed, spread=0.1):
    """A rough ring of m vertices, its radius independent from vertex to vertex."""
    turn = np.arange(m) * 2 * np.pi / m
    r = 1.0 + spread * np.random.default_rng(seed).uniform(-1, 1, m)
    return np.column_stack([r * np.cos(turn), r * np.sin(turn)])


def comb(teeth):
    """Thin teeth side by side: rays and distances meet many edges."""
    x = np.repeat(np.arange(teeth), 2) + np.tile([0.0, 0.9], teeth)
    top = np.column_stack([x, np.tile([1.0, 0.01], teeth)])
    return np.vstack([top, [[teeth, 0.0], [0.0, 0.0]]])


def needle(tip):
    """A square with a needle in one side, two units in the last place thick."""
    return [[0, 0], [1, 0], [1, 0.5], [tip, 0.5 + 1e-16], [1, 0.5 + 2e-16], [1, 1], [0, 1]]


def brute_force(vertices, X):
    """Signed distance and gradient from every edge, the first of the nearest; the side by the even–odd rule."""
    a, e = vertices, np.roll(vertices, -1, axis=0) - vertices
    u = X[:, None, :] - a
    along = np.clip((u * e).sum(axis=2) / (e * e).sum(axis=1), 0.0, 1.0)
    offset = u - along[:, :, None] * e
    squared = (offset**2).sum(axis=2)
    edge, rows = np.argmin(squared, axis=1), np.arange(len(X))
    x, y = X.T[:, :, None]
    b = a + e
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = ((a[:, 1] > y) != (b[:, 1] > y)) & (x < a[:, 0] + u[:, :, 1] * (e[:, 0] / e[:, 1]))
    sign = np.where(hit.sum(axis=1) % 2 == 1, 1.0, -1.0)
    d = np.sqrt(squared[rows, edge])
    return sign * d, sign[:, None] * offset[rows, edge] / np.maximum(d, 1e-300)[:, None]


SHAPES = {
    "triangle": np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]),
    "rough": rough(300, 1),
    "spikes": rough(300, 2, 0.9),
    "comb": comb(150),
    "needle out": needle(3.0),
    "needle in": needle(0.2),
    "nearly straight": [[0, 0], [0.25, 1e-17], [0.5, 0], [0.75, -1e-17], [1, 0], [1, 1], [0.5, 1 + 2e-16], [0, 1]],
    "far away": rough(300, 3) + np.array([1e6, -3e6]),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("turn", [1, -1])
def test_the_tree_finds_what_all_edges_give(name, turn):
    vertices = np.asarray(SHAPES[name], dtype=float)[::turn]
    size = np.ptp(vertices, axis=0).max()
    rng = np.random.default_rng(0)
    X = np.vstack(
        [
            rng.uniform(vertices.min(axis=0) - 0.3 * size, vertices.max(axis=0) + 0.3 * size, (1500, 2)),
            vertices + 1e-3 * size * rng.normal(size=vertices.shape),
            0.5 * (vertices + np.roll(vertices, -1, axis=0)) + [0.0, 0.05 * size],
        ]
    )
    region = tmsm.Polygon(vertices)
    d, gradient = region.border_distance(X)
    exact, direction = brute_force(vertices, X)
    near = np.abs(exact) < 1e-9 * size
    tolerance = 1e-12 * max(size, 1e-3 * np.abs(vertices).max())
    np.testing.assert_allclose(np.abs(d), np.abs(exact), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(np.sign(d[~near]), np.sign(exact[~near]))
    # Where two edges are equally near, either direction is a gradient; the first edge's is taken in both.
    if "needle" not in name:  # its edges have opposite normals and are as near as each other
        np.testing.assert_allclose(gradient[~near], direction[~near], rtol=0, atol=1e-6)


def test_on_the_border_the_distance_is_zero_and_the_gradient_a_unit_vector():
    vertices = rough(200, 5)
    for X in (vertices, 0.5 * (vertices + np.roll(vertices, -1, axis=0))):
        d, gradient = tmsm.Polygon(vertices).border_distance(X)
        np.testing.assert_allclose(d, 0.0, atol=1e-15)
        np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1.0, rtol=1e-12)


def test_of_equally_near_edges_the_first_counts():
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    for shift in range(4):
        _, gradient = tmsm.Polygon(np.roll(square, shift, axis=0)).border_distance([[1.0, 1.0]])
        edge = np.roll(square, shift, axis=0)[:2]
        np.testing.assert_array_equal(gradient[0], [-(edge[1] - edge[0])[1] / 2, (edge[1] - edge[0])[0] / 2])


def test_the_first_crossing_is_named():
    """The same pair as by trying all of them in order."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        vertices = rng.uniform(size=(40, 2))
        e = np.roll(vertices, -1, axis=0) - vertices

        def side(i, j, vertices=vertices, e=e):
            w = vertices[j % 40] - vertices[i]
            return np.sign(e[i, 0] * w[1] - e[i, 1] * w[0])

        expected = next(
            (i, j)
            for i in range(40)
            for j in range(i + 2, 40 if i else 39)
            if side(i, j) * side(i, j + 1) <= 0 and side(j, i) * side(j, i + 1) <= 0
        )
        assert EdgeTree.build(vertices).crossing() == expected


def test_a_hundred_times_as_many_edges_cost_little_more():
    """Boxes and edges that a query looks at, counted in the interpreter: no clock is asked."""
    from tmsm.regions.polygon import edges as segments

    looked = []
    for m in (200, 20_000):
        tree = EdgeTree.build(rough(m, 0, 0.01))
        counted = _Counting(tree.edges)
        X = np.random.default_rng(1).uniform(-1.2, 1.2, (20, 2))
        out = np.empty((20, 2)), np.empty(20, dtype=int), np.empty(20, dtype=bool), np.empty(20, dtype=bool)
        segments._query.py_func(tree.boxes, counted, tree.first, tree.order, tree.orientation, X, *out)
        looked.append(counted.reads)
    assert looked[1] < 5 * looked[0]


class _Counting:
    def __init__(self, array):
        self.array, self.reads = array, 0

    def __getitem__(self, key):
        self.reads += 1
        return self.array[key]
