"""Maps against differences, integrals, sums and optima that are computed another way."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import chi2

import tmsm
from tests.registry import star
from tmsm.maps.bases import series_of
from tmsm.maps.cut_mass import inside_masses
from tmsm.maps.functions import Harmonics
from tmsm.maps.kernel_sums import KernelTree
from tmsm.maps.kernel_widths import Neighbours, Widths

AXIS = tmsm.lonlat_to_xyz(20.0, 40.0)
RADIUS = 0.6
CAP = tmsm.Cap(AXIS, RADIUS)
PEAK = tmsm.lonlat_to_xyz(35.0, 30.0)
ALONG = {"mean_direction": PEAK, "concentration": 12.0}
MODEL = tmsm.VonMisesFisher()
KINDS = {
    "series": lambda: tmsm.DensityMap(CAP, degree=6, smoothing=1e-2),
    "kernels": lambda: tmsm.AdaptiveKernel(CAP, neighbours=16, width=0.8),
}


def rows(n, seed=0):
    return MODEL.sample(n, CAP, random_state=seed, **ALONG)


def frame_of(x):
    """Two unit tangents at a point of S²."""
    return np.linalg.svd(x[None, :])[2][1:]


def cap_nodes(n=400):
    """Midpoints of a grid over the cap, even in height and turn, and the area of each."""
    z = 1.0 - (1.0 - np.cos(RADIUS)) * (np.arange(n) + 0.5) / n
    turn = 2.0 * np.pi * (np.arange(n) + 0.5) / n
    z, turn = (one.ravel() for one in np.meshgrid(z, turn))
    round_it = np.column_stack([np.cos(turn), np.sin(turn)]) @ frame_of(AXIS)
    return z[:, None] * AXIS + np.sqrt(1.0 - z * z)[:, None] * round_it, 2.0 * np.pi * (1.0 - np.cos(RADIUS)) / n**2


def even_pairs(n):
    """Pairs in the unit square that leave no gaps (Roberts' sequence)."""
    g = 1.32471795724474602596
    return (0.5 + np.outer(np.arange(n), [1.0 / g, 1.0 / g**2])) % 1.0


def bell_points(x, kappa, n=60_000):
    """Points that stand for equal parts of a kernel on S² or in the plane."""
    u, turn = even_pairs(n).T
    towards = np.column_stack([np.cos(2.0 * np.pi * turn), np.sin(2.0 * np.pi * turn)])
    if len(x) == 2:
        return x + np.sqrt(-2.0 * np.log1p(-u) / kappa)[:, None] * towards
    deficit = -np.log1p(u * np.expm1(-2.0 * kappa)) / kappa
    return (1.0 - deficit)[:, None] * x + np.sqrt(deficit * (2.0 - deficit))[:, None] * (towards @ frame_of(x))


@pytest.fixture(scope="module")
def fits():
    return {name: make().fit(rows(800)) for name, make in KINDS.items()}


@pytest.fixture(params=KINDS)
def fit(request, fits):
    return fits[request.param]


def _series(kind, manifold, degree):
    X = manifold.scattered(600, np.random.default_rng(1))
    return series_of(kind, manifold, X, np.random.default_rng(2).uniform(0.5, 1.0, len(X)), degree)


SERIES = {
    "harmonics": lambda: _series("series", tmsm.Sphere(2), 6),
    "bumps on S2": lambda: _series("bumps", tmsm.Sphere(2), 4),
    "lines on S2": lambda: _series("bumps", tmsm.Sphere(2), 1),
    "bumps in the plane": lambda: _series("bumps", tmsm.Euclidean(2), 4),
    "cosines in the plane": lambda: _series("series", tmsm.Euclidean(2), 4),
    "cosines in space": lambda: _series("series", tmsm.Euclidean(3), 2),
    "cosines on a line": lambda: _series("series", tmsm.Euclidean(1), 5),
    "bumps on a circle": lambda: _series("bumps", tmsm.Sphere(1), 5),
    "bumps on a torus": lambda: _series("bumps", tmsm.Torus(2), 4),
    "bumps on rotations": lambda: _series("bumps", tmsm.Rotations(), 2),
    "bumps in a product": lambda: _series("bumps", tmsm.Sphere(2) * tmsm.Euclidean(1), 2),
}


@pytest.mark.parametrize("name", SERIES)
def test_derivatives_agree_with_differences_along_geodesics(name):
    series = SERIES[name]()
    manifold = series.space
    X = manifold.scattered(40, np.random.default_rng(5))
    h = 1e-4

    def along(V, k):
        return series.statistics(manifold.exponential(X, k * h * V))

    size = np.abs(series.statistics(X)).max()
    total = np.zeros((len(X), series.size))
    gradients = series.gradient(X)
    for u in manifold.tangent_frame(X):
        slope = (along(u, 1) - along(u, -1)) / (2.0 * h)
        bend = (along(u, 1) - 2.0 * along(u, 0) + along(u, -1)) / h**2
        np.testing.assert_allclose(series.gradient_dot(X, u), slope, atol=1e-5 * max(np.abs(slope).max(), size))
        np.testing.assert_allclose((gradients * u[:, None, :]).sum(axis=2), slope, atol=1e-5 * np.abs(slope).max())
        # Rounding of the values over h², and what differences leave out.
        noise = 1e-4 * np.abs(bend).max() + 1e-7 * size
        np.testing.assert_allclose(series.hessian(X, u), bend, atol=noise)
        total += bend
    np.testing.assert_allclose(series.laplacian(X), total, atol=2e-4 * np.abs(total).max() + 1e-6 * size)


def test_harmonics_are_orthonormal_and_eigenfunctions():
    functions = Harmonics(12)
    z, weights = np.polynomial.legendre.leggauss(20)
    turn = 2.0 * np.pi * np.arange(40) / 40
    Z, T = (one.ravel() for one in np.meshgrid(z, turn))
    X = np.column_stack([np.sqrt(1.0 - Z * Z) * np.cos(T), np.sqrt(1.0 - Z * Z) * np.sin(T), Z])
    w = np.tile(weights, 40) * 2.0 * np.pi / 40
    t = functions.values(X)
    np.testing.assert_allclose(t.T @ (t * w[:, None]), np.eye(functions.size), atol=1e-12)
    series = series_of("series", tmsm.Sphere(2), X, w, 12)
    eigenvalues = functions.degrees * (functions.degrees + 1.0)
    own = series.laplacian(X)[:, series.n_free :]
    expected = -eigenvalues[series.n_free :] * series.statistics(X)[:, series.n_free :]
    np.testing.assert_allclose(own, expected, atol=1e-9 * np.abs(expected).max())


def inside_of(region, X, kappa):
    found, exact = inside_masses(region, X, kappa, np.random.default_rng(0))
    assert exact
    return found


@pytest.mark.parametrize("kappa", [0.1, 3.0, 100.0, 1e4])
def test_a_kernel_cut_by_a_cap_has_its_integral(kappa):
    d = RADIUS - np.array([0.5, 0.3, 0.1, 0.03, 1e-3, -0.02])
    X = np.cos(d)[:, None] * AXIS + np.sin(d)[:, None] * frame_of(AXIS)[0]
    u = (np.arange(200_000) + 0.5) / 200_000
    cos_r = 1.0 + np.log1p(u * np.expm1(-2.0 * kappa)) / kappa
    sin_r = np.sqrt(np.maximum(1.0 - cos_r**2, 1e-300))
    # At a distance r this share of the circle is nearer to the axis than the radius.
    cosine = (np.cos(RADIUS) - cos_r * np.cos(d)[:, None]) / (sin_r * np.sin(d)[:, None])
    expected = np.arccos(np.clip(cosine, -1.0, 1.0)).mean(axis=1) / np.pi
    np.testing.assert_allclose(inside_of(CAP, X, np.full(6, kappa)), expected, atol=2e-5)


@pytest.mark.parametrize("kappa", [0.2, 10.0, 1e3, 1e7])
def test_a_kernel_cut_by_a_box_is_a_product_of_normal_integrals(kappa):
    low, high = np.array([-1.0, 0.0]), np.array([1.0, 3.0])
    X = np.array([[0.0, 1.5], [0.9, 0.1], [-0.999, 2.999], [0.5, 1e-4], [0.99, 1.0], [0.3, 2.7], [1.05, 1.0]])
    root = np.sqrt(kappa)
    expected = (ndtr((high - X) * root) - ndtr((low - X) * root)).prod(axis=1)
    np.testing.assert_allclose(inside_of(tmsm.Box(low, high), X, np.full(7, kappa)), expected, atol=1e-5)


def _near_the_border(region, n, seed):
    """Points of a region, half of them close to its border."""
    rng = np.random.default_rng(seed)
    X = region.manifold.scattered(20_000, rng)
    X = X[region.contains(X)]
    d = region.signed_distance(np.asfortranarray(X))[0]
    return np.vstack([X[np.argsort(d)[: n // 2]], X[: n // 2]])


BORDERS = {
    "box of degrees": lambda: tmsm.LonLatBox(-10.0, 40.0, 60.0, 70.0),
    "box at a pole": lambda: tmsm.LonLatBox(-60.0, 50.0, 80.0, 90.0),
    "band": lambda: tmsm.LonLatBox(-180.0, -30.0, 180.0, 50.0),
    "triangle": lambda: tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0, 60, 25], [0, 5, 50])]),
    "polygon with a hole": lambda: tmsm.SphericalPolygon([star(60, 1), star(15, 2, 0.3, 0.05)]),
    "polygon with hole and island": lambda: tmsm.SphericalPolygon(
        [star(60, 1), star(15, 2, 0.3, 0.05), star(7, 3, 0.1, 0.02)]
    ),
    "outside of a polygon": lambda: ~tmsm.SphericalPolygon([star(40, 4)]),
    "ball": lambda: tmsm.Ball([0.5, 0.0], 1.0),
    "outside of a ball": lambda: ~tmsm.Ball([0.5, 0.0], 1.0),
    "flat star": lambda: tmsm.Polygon([[0, 0], [3, 0.4], [1.2, 1.1], [2.5, 3], [0.8, 2], [-1, 2.6], [-0.4, 1]]),
}


@pytest.mark.parametrize("name", BORDERS)
def test_kernels_cut_by_any_border_agree_with_even_points(name):
    region = BORDERS[name]()
    X = _near_the_border(region, 8, 3)
    kappa = np.tile([4.0, 60.0, 900.0, 2e4], 2)
    found = inside_of(region, X, kappa)
    for x, k, one in zip(X, kappa, found, strict=True):
        points = bell_points(x, k, 30_000)
        assert one == pytest.approx(region.contains(points).mean(), abs=1e-3)
    assert found.min() < 0.9


def test_borders_without_edges_are_followed_by_draws():
    region = tmsm.HalfSpace([1.0, 0.0], 0.0)
    X = np.column_stack([np.linspace(0.01, 3.0, 20), np.zeros(20)])
    found, exact = inside_masses(region, X, np.ones(20), np.random.default_rng(0))
    assert not exact
    expected = ndtr(X[:, 0])
    errors = np.sqrt(expected * (1.0 - expected) / 512.0) + 1.0 / 512.0
    assert (np.abs(found - expected) < 4.0 * errors).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_sums_of_kernels_agree_with_the_direct_sum(dim):
    rng = np.random.default_rng(dim)
    centres, Y = rng.standard_normal((700, dim)), 1.5 * rng.standard_normal((150, dim))
    Y[:20] = centres[:20]
    a = rng.uniform(-30.0, 5.0, 700)
    squares = ((Y[:, None, :] - centres[None]) ** 2).sum(axis=2)
    for kappa in (np.full(700, 0.1), np.full(700, 1e8), 10.0 ** rng.uniform(-1.0, 8.0, 700)):
        exponents = a - 0.5 * kappa * squares
        direct = np.logaddexp.reduce(exponents, axis=1)
        np.testing.assert_allclose(KernelTree.of(centres).log_sums(Y, a, kappa), direct, rtol=1e-10, atol=1e-9)


def test_squares_of_kernels_agree_with_the_direct_sum():
    rng = np.random.default_rng(0)
    centres, Y, groups = rng.standard_normal((300, 2)), rng.standard_normal((50, 2)), rng.integers(0, 40, 300)
    a, kappa = rng.uniform(-3.0, 1.0, 300), 10.0 ** rng.uniform(-1.0, 3.0, 300)
    values = np.exp(a - 0.5 * kappa * ((Y[:, None, :] - centres[None]) ** 2).sum(axis=2))
    tree = KernelTree.of(centres)
    unit = rng.uniform(-3.0, 3.0, 50)
    plain = (values**2).sum(axis=1) * np.exp(-2.0 * unit)
    np.testing.assert_allclose(tree.squares(Y, a, kappa, None, unit), plain, rtol=1e-9)
    together = np.stack([values[:, groups == k].sum(axis=1) for k in range(40)], axis=1)
    grouped = (together**2).sum(axis=1) * np.exp(-2.0 * unit)
    np.testing.assert_allclose(tree.squares(Y, a, kappa, groups, unit), grouped, rtol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("widths", [Widths(1, 1.0, 0.5), Widths(4, 1.0, 0.7), Widths(8, 0.5, 0.4)], ids=repr)
def test_left_out_sums_have_the_widths_of_the_other_rows(grouped, widths):
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((90, 2))
    Y[80:] = Y[:10]  # copies
    units = rng.integers(0, 30, 90) if grouped else np.unique(Y, axis=0, return_inverse=True)[1].ravel()
    if grouped:
        units[80:] = units[:10]
    neighbours = Neighbours.of(Y, units, widths.k + 1)

    def heights(h):
        return -np.log(2.0 * np.pi * h**2), h**-2.0

    both = heights(widths.of(neighbours)), heights(widths.without_one(neighbours))
    near = neighbours.nearest[:, : widths.k if grouped else 0]
    asked = np.arange(90)
    found = KernelTree.of(Y).left_out_sums(asked, units, widths.reach(neighbours), near, *both)

    distances = np.sqrt(((Y[:, None, :] - Y[None]) ** 2).sum(axis=2))

    def kth(j, left):
        others = {u: distances[j, units == u].min() for u in set(units) - {units[j], left}}
        return sorted(others.values())[widths.k - 1]

    # The common scale is that of all rows.
    mean = np.exp(np.mean([np.log(kth(j, None)) for j in range(90)]))
    for i in asked:
        kept = np.flatnonzero(units != units[i])
        d = np.array([kth(j, units[i]) for j in kept])
        h = widths.factor * d**widths.power * mean ** (1.0 - widths.power)
        direct = np.logaddexp.reduce(-np.log(2.0 * np.pi * h**2) - 0.5 * distances[i, kept] ** 2 / h**2)
        assert found[i] == pytest.approx(direct, abs=1e-4)


def test_the_penalised_likelihood_has_the_maximum_that_scipy_finds():
    X = rows(500)
    fit = tmsm.DensityMap(CAP, degree=4, smoothing=0.02).fit(X)
    density = fit.density_
    nodes, series = density.nodes, density.series
    t, mean = series.statistics(nodes.X), series.statistics(X).mean(axis=0)
    ridge = np.where(np.arange(series.size) < series.n_free, 1e-3 / 500, 0.02)

    def loss(theta):
        q = t @ theta + nodes.log_weights
        top = q.max()
        total = top + np.log(np.exp(q - top).sum())
        slope = np.exp(q - total) @ t - mean + ridge * theta
        return total - mean @ theta + 0.5 * ridge @ theta**2, slope

    found = minimize(loss, np.zeros(series.size), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 3000})
    # 1e-5 of a row may be left to be gained.
    assert loss(density.theta)[0] - found.fun < 2e-5 / 500
    best = series.statistics(X) @ found.x - loss(found.x)[0] - mean @ found.x + 0.5 * ridge @ found.x**2
    np.testing.assert_allclose(fit.logpdf(X), best, atol=0.02 * density.log_errors(X).min())
    assert fit.freedom_ < series.size


def test_the_density_integrates_to_one_and_its_shares_are_integrals(fit):
    X, area = cap_nodes()
    p = fit.predict(X)
    assert p.sum() * area == pytest.approx(1.0, abs=1e-3)
    drawn = fit.sample(20_000, 0)
    parts = {
        "cap": tmsm.Cap(PEAK, 0.2),
        "cap across the border": tmsm.Cap(PEAK, 0.5),
        "box": tmsm.LonLatBox(20.0, 20.0, 40.0, 45.0),
        "half": tmsm.Hemisphere(frame_of(AXIS)[0]),
        "complement": ~tmsm.Cap(PEAK, 0.4),
    }
    for name, part in parts.items():
        share = fit.share(part)
        assert share == pytest.approx(p[part.contains(X)].sum() * area, abs=2e-3), name
        error = np.sqrt(share * (1.0 - share) / 20_000)
        assert abs(part.contains(drawn).mean() - share) < 3.0 * error + 1e-3, name
        assert 0.0 < share.std_error < 2.5 * np.sqrt(share * (1.0 - share) / 800), name


def test_draws_follow_the_density_in_cells(fit):
    X, area = cap_nodes()
    n, across = 20_000, frame_of(AXIS)

    def cells(points):
        ring = np.minimum((4.0 * (1.0 - points @ AXIS) / (1.0 - np.cos(RADIUS))).astype(int), 3)
        turn = np.arctan2(points @ across[1], points @ across[0])
        return 8 * ring + np.minimum(((turn + np.pi) / (2.0 * np.pi) * 8.0).astype(int), 7)

    drawn = np.bincount(cells(fit.sample(n, 3)), minlength=32)
    expected = n * area * np.bincount(cells(X), fit.predict(X), minlength=32)
    assert expected.min() > 5.0
    assert ((drawn - expected) ** 2 / expected).sum() < chi2.ppf(0.999, 31)
    # Even draws do not.
    even = np.bincount(cells(X), minlength=32) * n / len(X)
    assert ((even - expected) ** 2 / expected).sum() > 100.0 * chi2.ppf(0.999, 31)


def test_the_region_of_highest_density_has_its_mass_area_and_rings(fit):
    import shapely

    X, area = cap_nodes()
    log_p = fit.logpdf(X)
    found = fit.highest_density_region(0.5)
    above = log_p >= found.log_density
    np.testing.assert_array_equal(found.contains(X), above)
    # Levels of kernels come from 40,000 draws.
    assert np.exp(log_p[above]).sum() * area == pytest.approx(0.5, abs=4.0 * 0.5 / np.sqrt(40_000))
    assert found.area == pytest.approx(above.sum() * area, rel=0.02)
    # No other region of this mass is smaller: the densest cells first.
    densest = np.cumsum(np.sort(np.exp(log_p))[::-1]) * area
    assert found.area == pytest.approx(np.searchsorted(densest, 0.5) * area, rel=0.03)
    lon, lat = tmsm.xyz_to_lonlat(X)
    shape = shapely.MultiPolygon([(one[0], one[1:]) for one in found.polygons])
    agree = shapely.contains_xy(shape, lon, lat) == above
    assert agree.mean() > 0.995
    # Where they disagree, the density is at the level or the point at the border.
    off = np.abs(log_p[~agree] - found.log_density) > 0.05
    depth = CAP.signed_distance(np.asfortranarray(X[~agree]))[0]
    assert (depth[off] < 0.01).all()
    assert all(np.allclose(np.linalg.norm(ring, axis=1), 1.0) for ring in found.rings)
    larger = fit.highest_density_region(0.9)
    assert larger.area > found.area
    assert larger.log_density < found.log_density


def _jittered(X, seed=0):
    """Rows and copies that differ from them in the eighth digit."""
    moved = X + 1e-8 * np.random.default_rng(seed).standard_normal(X.shape)
    return np.vstack([X, moved / np.linalg.norm(moved, axis=1)[:, None]])


def test_copies_are_left_out_together():
    X = rows(300)
    groups = np.tile(np.arange(300), 2)
    plain = tmsm.AdaptiveKernel(CAP).fit(X)
    width = np.median(plain.widths_)
    for fit in (
        tmsm.AdaptiveKernel(CAP).fit(np.vstack([X, X])),
        tmsm.AdaptiveKernel(CAP).fit(_jittered(X), groups=groups),
    ):
        assert 0.6 < np.median(fit.widths_) / width < 1.7
        assert fit.held_out_ == pytest.approx(plain.held_out_, abs=0.05)
    # What nobody says to be copies looks like structure.
    alone = tmsm.AdaptiveKernel(CAP).fit(_jittered(X))
    assert alone.widths_.min() < 1e-6
    assert alone.held_out_ > plain.held_out_ + 1.0


def test_smoothing_does_not_follow_copies():
    X = rows(250)
    plain = tmsm.DensityMap(CAP, degree=8).fit(X)
    # Copies in the same fold; a fold of its own for each copy.
    twice = tmsm.DensityMap(CAP, degree=8).fit(np.repeat(X, 4, axis=0))
    grouped = tmsm.DensityMap(CAP, degree=8).fit(
        np.vstack([_jittered(X, 1), _jittered(X, 2)]), groups=np.tile(np.arange(250), 4)
    )
    free = tmsm.DensityMap(CAP, degree=8).fit(np.vstack([_jittered(X, 1), _jittered(X, 2)]))
    for fit in (twice, grouped):
        assert fit.freedom_ < plain.freedom_ + 6.0
        assert fit.held_out_ == pytest.approx(plain.held_out_, abs=0.05)
    assert free.freedom_ > plain.freedom_ + 15.0
    assert "1,000, at 250 different places" in dict(twice.facts())["rows"]
    assert "in 250 different groups" in dict(grouped.facts())["rows"]
    # What the band takes for independent is said.
    assert "assuming that rows are independent, copies of a point too" in dict(twice.facts())["band"]
    assert "assuming that groups are independent" in dict(grouped.facts())["band"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tmsm.DensityMap(CAP, degree=6, smoothing=1e-2),
        lambda: tmsm.DensityMap(CAP, degree=6, smoothing=1e-2, method="score"),
        lambda: tmsm.AdaptiveKernel(CAP, neighbours=8, width=0.7, background=0.02),
    ],
    ids=["likelihood", "score", "kernels"],
)
def test_whole_weights_are_repeated_rows(make):
    X = rows(300)
    w = np.random.default_rng(0).integers(1, 4, 300)
    weighted, repeated = make().fit(X, sample_weight=w), make().fit(np.repeat(X, w, axis=0))
    some = rows(200, seed=1)
    np.testing.assert_allclose(weighted.logpdf(some), repeated.logpdf(some), atol=2e-3)
    assert np.abs(weighted.logpdf(some) - make().fit(X).logpdf(some)).max() > 0.02


def thinning(X):
    """Logarithm of the probability to be seen: less and less away from one side."""
    return 2.5 * (X @ frame_of(AXIS)[0] - np.sin(RADIUS))


@pytest.mark.parametrize("estimator", [tmsm.DensityMap, tmsm.AdaptiveKernel])
def test_a_known_exposure_gives_back_what_was_not_seen(estimator):
    X = rows(12_000, seed=2)
    seen = X[np.random.default_rng(0).uniform(size=len(X)) < np.exp(thinning(X))]
    settings = {"degree": 6} if estimator is tmsm.DensityMap else {"neighbours": 32}
    fit = estimator(CAP, log_exposure=thinning, **settings).fit(seen)
    naive = estimator(CAP, **settings).fit(seen)
    some = rows(2000, seed=3)
    log_p = MODEL.logpdf(some, CAP, **ALONG)
    divergence = [float((log_p - one.logpdf(some)).mean()) for one in (fit, naive)]
    # A mean of 2000 log ratios is known to some thousandths.
    assert divergence[1] > 0.08
    assert divergence[0] < 0.2 * divergence[1]
    # The score is that of rows as they are seen, in which both agree.
    again = rows(12_000, seed=4)
    again = again[np.random.default_rng(1).uniform(size=len(again)) < np.exp(thinning(again))]
    assert fit.score(again) == pytest.approx(naive.score(again), abs=0.05)


@pytest.mark.parametrize("seed", [12, 22])
def test_kernels_of_thinned_rows_are_as_good_as_of_as_many_that_are_not(seed):
    X = rows(12_000, seed=seed)
    seen = X[np.random.default_rng(0).uniform(size=len(X)) < np.exp(thinning(X))]
    stands_for = np.exp(-thinning(seen))
    as_many = int(stands_for.sum() ** 2 / (stands_for @ stands_for))
    thinned = tmsm.AdaptiveKernel(CAP, log_exposure=thinning).fit(seen)
    series = tmsm.DensityMap(CAP, degree=6, log_exposure=thinning).fit(seen)
    plain = tmsm.AdaptiveKernel(CAP).fit(X[:as_many])
    some = rows(4000, seed=3)
    log_p = MODEL.logpdf(some, CAP, **ALONG)
    divergence = [float((log_p - one.logpdf(some)).mean()) for one in (thinned, plain)]
    assert divergence[0] < 2.0 * divergence[1]
    # What is held out means the same for both maps: the log density of rows as they are seen.
    assert thinned.held_out_ == pytest.approx(series.held_out_, abs=0.02)
    for fit in (thinned, series):
        assert fit.held_out_ == pytest.approx(fit.score(seen), abs=0.03)


def test_areas_on_a_uniform_background_grow_with_the_share():
    rng, sphere = np.random.default_rng(0), tmsm.Sphere(2)
    centre = np.repeat(CAP.center[None, :], 300, axis=0)
    aside = sphere.project_tangent(centre, rng.standard_normal((300, 3)))
    close = sphere.exponential(centre, 1e-3 * aside)
    fit = tmsm.AdaptiveKernel(CAP, neighbours=2, background=0.4).fit(close)
    # Kernels hold 60 % of the mass next to nowhere, so that 80 % need half of what is even.
    area = fit.density_.area
    assert fit.highest_density_region(0.8).area == pytest.approx(0.5 * area, rel=0.05)
    assert fit.highest_density_region(0.9).area == pytest.approx(0.75 * area, rel=0.05)
    # The band is widest where no row tells, and not of no width.
    far = sphere.exponential(centre[:1], 0.3 * aside[:1] / np.linalg.norm(aside[0]))
    low, high = fit.interval(far)
    assert 0.05 < float((high - low)[0]) < 1.0


def test_of_an_even_density_a_part_is_the_region_of_highest_density():
    turn = np.linspace(-2.5, 2.5, 402)[1:-1]
    arc = tmsm.Cap([1.0, 0.0], 2.5)
    X = np.column_stack([np.cos(turn), np.sin(turn)])
    fit = tmsm.AdaptiveKernel(arc, width=1e3, background=0.5).fit(X)
    flat = tmsm.DensityMap(arc, degree=1, smoothing=1e6).fit(X)
    for one in (fit, flat):
        for share in (0.25, 0.5, 0.9):
            found = one.highest_density_region(share)
            assert found.area == pytest.approx(5.0 * share, rel=0.1)
            assert found.contains(X).mean() == pytest.approx(share, abs=0.05)


def test_a_map_turns_with_its_rows():
    """The map of turned rows is the turned map."""
    X = rows(300)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    for make in (
        lambda region: tmsm.DensityMap(region, degree=5, smoothing=1e-2),
        lambda region: tmsm.AdaptiveKernel(region, neighbours=8, width=1.0),
    ):
        one, other = make(CAP).fit(X), make(tmsm.Cap(turn @ AXIS, RADIUS)).fit(X @ turn.T)
        # Nodes and knots are others.
        gap = one.logpdf(X) - other.logpdf(X @ turn.T)
        assert np.abs(gap).max() < 0.1
