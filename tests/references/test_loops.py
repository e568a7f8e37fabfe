"""Sums by compiled loops against those by arrays, on every border, weight and task that the loops know."""

import pkgutil
import threading
from importlib import import_module

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import tmsm
import tmsm.numerics
import tmsm.rowwise
from tmsm import weights
from tmsm.data.rows import Rows
from tmsm.data.sources import RawBlock
from tmsm.foundation.threads import map_in_order, threads_of
from tmsm.manifolds.lonlat import point_at
from tmsm.matching import row_sums, stacked
from tmsm.matching.moments import accumulate
from tmsm.matching.row_sums import squares_of
from tmsm.rowwise.program import program_of

MODEL = tmsm.VonMisesFisher().on(tmsm.Sphere(2))
CENTER = tmsm.lonlat_to_xyz(20.0, 40.0)
RING = tmsm.lonlat_to_xyz(np.array([0.0, 60.0, 40.0, 20.0, 25.0]), np.array([10.0, 15.0, 60.0, 70.0, 40.0]))
POLYGON = tmsm.SphericalPolygon([RING])
CASES = [
    (tmsm.Cap(CENTER, 0.9), "normal"),
    (tmsm.Cap(CENTER, 0.9), weights.Normal(2.5, 0.6)),
    (tmsm.Cap(CENTER, 2.4), "geodesic"),
    (tmsm.Hemisphere(CENTER), "saturating"),
    (tmsm.Cap(CENTER, 1e-3), "normal"),
    (POLYGON, "geodesic"),
    (POLYGON, weights.Saturating(0.05)),
    (tmsm.Everywhere(tmsm.Sphere(2)), "auto"),
]


@pytest.fixture
def loops(monkeypatch):
    """Compiled loops even for few rows."""
    monkeypatch.setattr(row_sums, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(stacked, "_FEWEST_ROWS", 1)


def rows_in(region, n=700, seed=0):
    away = 1e-3 if getattr(region, "radius", 1.0) < 0.01 else 0.5
    kappa = {"mean_direction": CENTER, "concentration": 1.0 / away**2}
    return tmsm.VonMisesFisher().sample(n, region, random_state=seed, **kappa)


def standard_errors(fit):
    return np.sqrt(np.diag(fit.covariance_))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("region", "weight"), CASES, ids=lambda value: str(value)[:30])
def test_loops_give_the_sums_of_arrays(region, weight, weighted, monkeypatch):
    X = rows_in(region)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(X)) if weighted else None
    by_arrays = tmsm.ScoreMatching(MODEL, region, weight).fit(X, sample_weight=w)
    monkeypatch.setattr(row_sums, "_FEWEST_ROWS", 1)
    equations = by_arrays.result_.influence.equations
    assert program_of(equations.model, equations.weight, region) is not None
    looped = tmsm.ScoreMatching(MODEL, region, weight).fit(X, sample_weight=w)
    away = np.abs(looped.natural_params_ - by_arrays.natural_params_) / standard_errors(by_arrays)
    assert away.max() < 1e-8
    np.testing.assert_allclose(
        looped.covariance_, by_arrays.covariance_, rtol=0.0, atol=1e-8 * by_arrays.covariance_.max()
    )
    one, other = looped.moments_, by_arrays.moments_
    assert (one.n, one.weight_sum) == (other.n, pytest.approx(other.weight_sum, rel=1e-14))
    assert one.weight_squares == pytest.approx(other.weight_squares, rel=1e-14)
    assert one.farthest == pytest.approx(other.farthest, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "region", "weight"),
    [
        (tmsm.Kent(), tmsm.Cap(CENTER, 0.5), "normal"),
        (tmsm.Kent(concentration=8.0), POLYGON, "saturating"),
        (tmsm.FisherBingham(), tmsm.Cap(CENTER, 0.02), "geodesic"),
        (tmsm.FisherBingham(), tmsm.Cap(CENTER, 1.2), weights.Normal(2.5, 0.6)),
        (tmsm.Bingham(), POLYGON, "geodesic"),
        (tmsm.Watson(), tmsm.Everywhere(tmsm.Sphere(2)), "auto"),
    ],
    ids=lambda value: str(value)[:30],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_loops_of_degree_two_give_the_sums_of_arrays(model, region, weight, weighted, monkeypatch):
    X = rows_in(region)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(X)) if weighted else None
    by_arrays = tmsm.ScoreMatching(model, region, weight).fit(X, sample_weight=w)
    equations = by_arrays.result_.influence.equations
    monkeypatch.setattr(row_sums, "_FEWEST_ROWS", 1)
    assert row_sums.loops_for(equations, Rows.of(X, region, w)) is not None
    looped = tmsm.ScoreMatching(model, region, weight).fit(X, sample_weight=w)
    one, other = looped.result_, by_arrays.result_
    assert (np.abs(one.theta - other.theta) < 1e-9 * np.sqrt(np.diag(other.covariance))).all()
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=0.0, atol=1e-9 * other.covariance.max())
    for sums, expected in ((one.moments.A_sum, other.moments.A_sum), (one.moments.b_sum, other.moments.b_sum)):
        np.testing.assert_allclose(sums, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("region", "weight"), CASES, ids=lambda value: str(value)[:30])
def test_features_about_a_reference_are_those_of_arrays(region, weight, monkeypatch):
    X = rows_in(region)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(X))
    fit = tmsm.ScoreMatching(MODEL, region, weight).fit(X)
    rows, equations, theta = Rows.of(X, region, w), fit.result_.influence.equations, fit.natural_params_
    by_arrays = accumulate(equations, rows, reference=theta)
    squares = squares_of(equations, rows, theta)
    monkeypatch.setattr(row_sums, "_FEWEST_ROWS", 1)
    looped = accumulate(equations, Rows.of(X, region, w), reference=theta)
    size = np.abs(by_arrays.features.squares).max()
    np.testing.assert_allclose(looped.features.squares, by_arrays.features.squares, rtol=0.0, atol=1e-9 * size)
    at = 0.8 * theta[[1, 2, 0]]
    of_features = looped.features.residual_squares(at)
    direct = squares_of(equations, Rows.of(X, region, w), at)
    np.testing.assert_allclose(of_features, direct, rtol=0.0, atol=1e-9 * np.abs(direct).max())
    assert not np.allclose(direct, squares, rtol=1e-3)  # another θ has other residuals


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "level"),
    [*((tmsm.VonMisesFisher(), level) for level in (1, 2, 3, 4, 5)), (tmsm.Kent(), 5), (tmsm.Bingham(), 3)],
    ids=lambda value: str(value)[:30],
)
@pytest.mark.parametrize("turned", [False, True])
def test_stacked_loops_give_the_terms_of_arrays(model, level, turned, weighted, monkeypatch):
    # Half a turn about the axis: there the frame of Kent's local coordinates is left-handed.
    half = np.array([-1.0, -1.0, 1.0]) if turned else np.ones(3)
    region, X = tmsm.SphericalPolygon([half * RING]), half * rows_in(POLYGON, 1500)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(X)) if weighted else None
    fit = tmsm.ScoreMatching(model, region, weights.Combined(level)).fit(X, sample_weight=w).result_
    equations, local = fit.influence.equations, fit.influence.theta
    if model == tmsm.Kent():
        assert np.linalg.det(equations.model.row_form.rotation) == pytest.approx(-1.0 if turned else 1.0)
    block = next(Rows.of(X, region).map(lambda block: block))
    by_arrays = equations.terms(block)
    monkeypatch.setattr(stacked, "_FEWEST_ROWS", 1)
    looped = equations.terms(block)
    assert type(looped) is not type(by_arrays)
    for theta in (np.zeros_like(local), local):
        expected = by_arrays.residuals(theta)
        assert looped.residuals(theta).shape == expected.shape
        size = np.abs(expected).max(axis=0)
        assert (np.abs(looped.residuals(theta) - expected).max(axis=0) <= 1e-12 * size).all()
    for one, other in ((looped.A_sum(w), by_arrays.A_sum(w)), (looped.b_sum(w), by_arrays.b_sum(w))):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-11 * np.abs(other).max())
    again = tmsm.ScoreMatching(model, region, weights.Combined(level)).fit(X, sample_weight=w).result_
    assert (np.abs(again.theta - fit.theta) < 1e-7 * np.sqrt(np.diag(fit.covariance))).all()


@pytest.mark.parametrize("weight", ["saturating", "auto"])
def test_threads_do_not_change_a_bit(weight, loops, monkeypatch):
    monkeypatch.setattr("tmsm.rowwise.program._COSTLY_BLOCK", 100)
    monkeypatch.setattr("tmsm.data.rows._BLOCK_NUMBERS", 3 * 1024)
    X = rows_in(POLYGON, 5000)
    fits = [tmsm.ScoreMatching(MODEL, POLYGON, weight, n_jobs=n).fit(X) for n in (1, 2, 5)]
    for fit in fits[1:]:
        assert fit.natural_params_.tobytes() == fits[0].natural_params_.tobytes()
        assert fit.covariance_.tobytes() == fits[0].covariance_.tobytes()


def test_rows_outside_are_dropped_or_refused_as_by_arrays(loops):
    X = rows_in(tmsm.Cap(CENTER, 0.9), 900)
    small = tmsm.Cap(CENTER, 0.5)
    looped = tmsm.ScoreMatching(MODEL, small, outside="drop").fit(X)
    inside = tmsm.ScoreMatching(MODEL, small).fit(X[small.contains(X)])
    assert looped.n_outside_ == np.count_nonzero(~small.contains(X)) > 0
    assert looped.n_samples_ == inside.n_samples_
    np.testing.assert_allclose(looped.natural_params_, inside.natural_params_, rtol=1e-12)
    with pytest.raises(ValueError, match=f"{looped.n_outside_} of 900 rows outside the region"):
        tmsm.ScoreMatching(MODEL, small).fit(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.5])
def test_rows_off_the_sphere_are_named(bad, loops):
    X = rows_in(tmsm.Cap(CENTER, 0.9), 900)
    X[777, 1] = bad
    with pytest.raises(ValueError, match="row 777"):
        tmsm.ScoreMatching(MODEL, tmsm.Cap(CENTER, 0.9)).fit(X)


def test_rows_of_float32_are_moved_onto_the_sphere(loops, monkeypatch):
    X = rows_in(tmsm.Cap(CENTER, 0.9), 900).astype(np.float32)
    looped = tmsm.ScoreMatching(MODEL, tmsm.Cap(CENTER, 0.9)).fit(X)
    monkeypatch.setattr(row_sums, "_FEWEST_ROWS", 10**9)
    by_arrays = tmsm.ScoreMatching(MODEL, tmsm.Cap(CENTER, 0.9)).fit(X)
    np.testing.assert_allclose(looped.natural_params_, by_arrays.natural_params_, rtol=1e-12)


def test_degrees_and_points_give_the_same_sums():
    region = tmsm.Cap(CENTER, 0.9)
    X = rows_in(region)
    lon, lat = tmsm.xyz_to_lonlat(X)
    program = program_of(MODEL, weights.Distance(), region)
    points = program.run(RawBlock(0, X, None, None), "sums")
    degrees = program.run_degrees(lon, lat, None, "sums")
    np.testing.assert_allclose(degrees.values, points.values, rtol=0.0, atol=1e-12 * len(X))
    lat[3] = 95.0
    assert program.run_degrees(lon, lat, None, "sums") is None


@pytest.mark.parametrize(
    ("model", "region", "weight"),
    [
        (tmsm.ExponentialFamily(lambda x: x[:2], tmsm.Sphere(2)), tmsm.Cap(CENTER, 0.9), weights.Distance()),
        (MODEL, tmsm.LonLatBox(0.0, 0.0, 30.0, 30.0), weights.Distance()),
        (MODEL, tmsm.Cap(CENTER, 0.9), weights.Distance("chordal")),
        (MODEL, POLYGON, weights.Normal(3.0, 0.1)),
        (MODEL, tmsm.Cap(CENTER, 0.9) & POLYGON, weights.Distance()),
    ],
)
def test_what_has_no_loops_goes_by_arrays(model, region, weight):
    assert program_of(model.on(tmsm.Sphere(2)), weight, region) is None


def test_many_degrees_become_the_points_that_few_do():
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(-360.0, 360.0, 100_100), rng.uniform(-90.0, 90.0, 100_100)
    lon[:5], lat[:5] = [0.0, 90.0, 180.0, -90.0, 270.0], [0.0, 0.0, 0.0, 90.0, -90.0]
    X = tmsm.lonlat_to_xyz(lon, lat)
    assert np.abs(X - point_at(lon, lat)).max() < 4e-16
    np.testing.assert_array_equal(X[:5], point_at(lon[:5], lat[:5]))
    lat[77] = np.nan
    with pytest.raises(ValueError, match="position 77"):
        tmsm.lonlat_to_xyz(lon, lat)


def test_pieces_come_back_in_order_and_errors_pass():
    with threads_of(3):
        assert [found for _, found in map_in_order(lambda k: k * k, range(50))] == [k * k for k in range(50)]
        with pytest.raises(ZeroDivisionError):
            list(map_in_order(lambda k: 1 / (k - 7), range(50)))


@pytest.mark.parametrize("anywhere", [False, True])
def test_the_callers_thread_is_one_of_those_that_work(anywhere):
    both, seen = threading.Barrier(2), set()

    def meet(k):
        if k < 2:
            both.wait(timeout=60)
        seen.add(threading.get_ident())
        return k

    with threads_of(2):
        assert [k for k, _ in map_in_order(meet, iter(range(40)), anywhere=anywhere)] == list(range(40))
    assert len(seen) == 2
    assert threading.get_ident() in seen


@pytest.mark.parametrize("anywhere", [False, True])
def test_what_fails_in_any_thread_is_raised_in_its_place_and_the_source_is_closed(anywhere):
    closed = []

    def items(n):
        try:
            yield from range(n)
            raise OSError("the disk")
        finally:
            closed.append(n)

    def interrupted(k):
        if k == 20:
            raise KeyboardInterrupt
        return k

    def take(function, n, found):
        with threads_of(3):
            for k, _ in map_in_order(function, items(n), anywhere=anywhere):
                found.append(k)

    for n, function, error, whole in ((9, abs, OSError, 9), (50, interrupted, KeyboardInterrupt, 20)):
        found = []
        with pytest.raises(error):
            take(function, n, found)
        # Who interrupts does not wait for what comes before.
        assert found == list(range(len(found) if error is KeyboardInterrupt else whole))
        assert len(found) <= whole
        assert closed.pop() == n


def test_a_users_program_is_read_by_the_thread_that_called_fit():
    X, readers = rows_in(tmsm.Cap(CENTER, 0.9), 400_000), set()

    def blocks():
        for start in range(0, len(X), 50_000):
            readers.add(threading.get_ident())
            yield X[start : start + 50_000]

    tmsm.ScoreMatching(MODEL, tmsm.Cap(CENTER, 0.9), n_jobs=3).fit(blocks)
    assert readers == {threading.get_ident()}


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_n_jobs_is_a_number_of_threads(n_jobs):
    X = rows_in(tmsm.Cap(CENTER, 0.9), 50)
    with pytest.raises((ValueError, TypeError), match="n_jobs must"):
        tmsm.ScoreMatching(MODEL, tmsm.Cap(CENTER, 0.9), n_jobs=n_jobs).fit(X)
    with pytest.raises((ValueError, TypeError), match="n_jobs must"):
        tmsm.TruncatedMLE(MODEL, tmsm.Cap(CENTER, 0.9), n_jobs=n_jobs).fit(X)


def test_blas_has_its_threads_back_after_fits_in_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    X = rows_in(POLYGON, 4000)
    fit = tmsm.ScoreMatching(MODEL, POLYGON)
    before, alone = threads(), fit.fit(X).natural_params_
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: tmsm.ScoreMatching(MODEL, POLYGON).fit(X).natural_params_, range(9)))
    assert threads() == before
    assert all((one == alone).all() for one in found)


def test_large_tables_go_by_loops_however_few_rows_of_a_block_lie_inside(monkeypatch):
    X = rows_in(POLYGON, 1500)
    equations = tmsm.ScoreMatching(MODEL, POLYGON, weights.Combined(2)).fit(X).result_.influence.equations
    small = tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([10.0, 30.0, 20.0], [20.0, 20.0, 40.0])])
    block = next(Rows.of(X, small, outside="drop").map(lambda block: block))
    by_arrays = equations.terms(block)
    monkeypatch.setattr(stacked, "_FEWEST_ROWS", 1500)
    assert len(block.X) < 1500
    assert type(equations.terms(block)) is not type(by_arrays)


def test_what_may_add_in_any_order_is_part_of_who_calls_it():
    """Else a process that has compiled it would add in another order than one that has read it from the disk."""
    found = []
    for package in (tmsm.numerics, tmsm.rowwise, tmsm.manifolds):
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if "card" in info.name or info.name.endswith("cuda"):  # of graphics cards
                continue
            for one in vars(import_module(info.name)).values():
                if isinstance(one, Dispatcher) and one.py_func.__module__ == info.name:
                    fast = one.targetoptions.get("fastmath", False)
                    found.append((one.py_func.__name__, bool(fast), bool(one.targetoptions.get("forceinline"))))
    assert sum(fast for _, fast, _ in found) > 20
    # Nobody calls this one but Python.
    assert [name for name, fast, inlined in found if fast and not inlined] == ["_convert"]
