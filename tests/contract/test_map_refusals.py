"""Rows and settings of which no map can be made, or another one than was asked for: one sentence each."""

import numpy as np
import pytest

import tmsm
from tests.contract.test_maps import ALONG, BESIDE, CAP, INNER


@pytest.fixture(scope="module")
def X():
    return tmsm.VonMisesFisher().sample(300, CAP, random_state=0, **ALONG)


def test_an_exposure_may_jump_where_no_gradient_is_asked_for():
    rng = np.random.default_rng(0)
    lon, z = rng.uniform(-20.0, 20.0, 2000), rng.uniform(-0.3, 0.3, 2000)
    seen = rng.uniform(size=2000) < np.where(lon > 0.0, 1.0, 0.3)
    X = tmsm.lonlat_to_xyz(lon[seen], np.degrees(np.arcsin(z[seen])))
    region, east = tmsm.LonLatBox(-20.0, -17.4576, 20.0, 17.4576), tmsm.LonLatBox(0.0, -17.4576, 20.0, 17.4576)

    def strata(Z):
        return np.log(np.where(tmsm.xyz_to_lonlat(Z)[0] > 0.0, 1.0, 0.3))

    for make, more in ((tmsm.DensityMap, {"degree": 4, "smoothing": 1.0}), (tmsm.AdaptiveKernel, {"width": 0.3})):
        share = make(region, log_exposure=strata, **more).fit(X).share(east)
        assert abs(share - 0.5) < 0.05  # about three standard errors: a row in the west counts as 3.3
        assert make(region, **more).fit(X).share(east) > 0.65
    with pytest.raises(ValueError, match="Jumps have no gradient"):
        tmsm.DensityMap(region, log_exposure=strata, method="score").fit(X)


def test_fewer_rows_than_the_degree_can_carry(X):
    fit = tmsm.DensityMap(CAP, degree=20, smoothing=1.0).fit(X)
    assert fit.degree_ == 11
    assert "The degree is 11, not 20: 300 different places are too few for more." in fit.status_
    assert "The degree is 11, not 12: 300 different" in tmsm.DensityMap(CAP, smoothing=1.0).fit(X).status_
    assert "The degree is" not in tmsm.DensityMap(CAP, degree=5, smoothing=1.0).fit(X).status_
    grouped = tmsm.DensityMap(CAP, degree=20, smoothing=1.0).fit(X, groups=np.arange(300) // 3)
    assert "The degree is 6, not 20: 100 groups are too few for more." in grouped.status_


def test_parts_without_rows_are_said(X):
    rows = X[INNER.contains(X)]
    fit = tmsm.DensityMap(INNER | BESIDE, degree=4).fit(rows)
    assert "1 of the 2 parts of the region that lie apart, 31 % of its area, holds no rows" in fit.status_
    kernels = tmsm.AdaptiveKernel(INNER | BESIDE).fit(rows)
    assert "512 draws" in kernels.status_
    assert kernels.share(BESIDE) < 0.2


def test_a_smoothing_that_does_not_converge(X):
    with pytest.raises(tmsm.errors.EstimationError, match=r"does not converge.*Use a larger smoothing, or a lower"):
        tmsm.DensityMap(CAP, smoothing=1e-20).fit(X)


def test_rows_in_one_spot(X):
    same, rng = np.repeat(X[:1], 50, axis=0), np.random.default_rng(0)
    close = X[:1] + 1e-7 * rng.standard_normal((100, 3))
    close /= np.linalg.norm(close, axis=1)[:, None]
    for estimator in (tmsm.DensityMap, tmsm.AdaptiveKernel):
        with pytest.raises(tmsm.errors.EstimationError, match="All 50 rows are the same point: there is no density"):
            estimator(CAP).fit(same)
        with pytest.raises(tmsm.errors.EstimationError, match="9 different places are too few for a map: it wants 10"):
            estimator(CAP).fit(np.repeat(X[:9], 5, axis=0))
    with pytest.raises(tmsm.errors.EstimationError, match=r"so close together.*use AdaptiveKernel"):
        tmsm.DensityMap(CAP).fit(close)
    fit = tmsm.AdaptiveKernel(CAP).fit(close)
    assert np.isfinite(fit.logpdf(X)).all()
    assert fit.widths_.max() < 1e-6


_T = np.random.default_rng(0).uniform(-1.0, 1.0, 60)
LINES = {
    "a great circle": tmsm.lonlat_to_xyz(20.0 + 0.0 * _T, 75.0 + 5.0 * _T),
    "a circle": tmsm.lonlat_to_xyz(60.0 * _T, 75.0 + 0.0 * _T),
    "a straight line of longitudes and latitudes": tmsm.lonlat_to_xyz(40.0 * _T, 75.0 + 5.0 * _T),
    "a line of constant bearing": tmsm.lonlat_to_xyz(
        60.0 * _T, np.degrees(np.arcsin(np.tanh(np.arctanh(np.sin(np.radians(75.0))) + 0.3 * _T)))
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_rows_on_a_line_have_no_map(line):
    rows, rng = LINES[line], np.random.default_rng(1)
    for estimator in (tmsm.DensityMap, tmsm.AdaptiveKernel):
        with pytest.raises(tmsm.errors.EstimationError, match=f"All rows lie on {line}, .*so that there is no map"):
            estimator(CAP).fit(rows)
    # A road that is not quite straight has one.
    beside = rows + 1e-3 * rng.standard_normal(rows.shape)
    tmsm.AdaptiveKernel(CAP).fit(beside / np.linalg.norm(beside, axis=1)[:, None])


def test_rows_on_a_line_of_the_plane_have_no_map():
    box = tmsm.Box([-2.0, -2.0], [2.0, 2.0])
    for rows in (np.column_stack([_T, 0.5 * _T]), np.column_stack([0.1 + 0.0 * _T, _T])):
        with pytest.raises(tmsm.errors.EstimationError, match="All rows lie on a straight line"):
            tmsm.AdaptiveKernel(box).fit(rows)


PLANE = tmsm.HalfSpace([1.0, 0.0], 0.0)
S4 = tmsm.Cap([1.0, 0.0, 0.0, 0.0, 0.0], 1.2)


def plane_rows():
    return np.abs(np.random.default_rng(0).standard_normal((100, 2)))


def s4_rows():
    rows = tmsm.Sphere(4).uniform(500, 0)
    return rows[S4.contains(rows)]


def with_nan(X):
    bad = X.copy()
    bad[3, 1] = np.nan
    return bad


D, A = tmsm.DensityMap, tmsm.AdaptiveKernel


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda X: D(CAP, degree=0).fit(X), "degree must be at least 1; got 0"),
        (lambda X: D(CAP, degree=41).fit(X), "degree must be 40 at most; got 41"),
        (lambda X: D(CAP, degree=2.5).fit(X), "degree must be a whole number; got float 2.5"),
        (lambda X: D(CAP, smoothing=0.0).fit(X), "smoothing must be finite and greater than 0; got 0"),
        (lambda X: D(CAP, smoothing=-1.0).fit(X), "smoothing must be finite and greater than 0; got -1"),
        (lambda X: D(CAP, smoothing=np.nan).fit(X), "smoothing must be finite and greater than 0; got nan"),
        (lambda X: D(CAP, smoothing="little").fit(X), "smoothing must be a number; got str 'little'"),
        (lambda X: D(CAP, method="best").fit(X), r"method='best' is not an option. Choose one of \['auto'"),
        (lambda X: D(CAP, basis="waves").fit(X), r"basis='waves' is not an option. Choose one of \['auto'"),
        (lambda X: D(CAP, outside="keep").fit(X), r"outside='keep' is not an option. Choose one of \['raise'"),
        (lambda X: D(CAP, log_exposure=3).fit(X), "log_exposure must be a function of X"),
        (lambda X: D(CAP, random_state="a").fit(X), "random_state must be None, a non-negative whole number"),
        (lambda X: A(CAP, neighbours=0).fit(X), "neighbours must be at least 1; got 0"),
        (lambda X: A(CAP, neighbours=1.5).fit(X), "neighbours must be a whole number; got float 1.5"),
        (lambda X: A(CAP, width=0.0).fit(X), "width must be finite and greater than 0; got 0"),
        (lambda X: A(CAP, background=1.0).fit(X), "background must be at least 0 and below 1; got 1"),
        (lambda X: A(CAP, background=-0.1).fit(X), "background must be at least 0 and below 1; got -0.1"),
        (lambda X: D("usa").fit(X), "region must be a region such as Cap"),
        (lambda X: D(tmsm.Sphere(2)).fit(X), r"or Everywhere\(manifold\); got Sphere"),
        (lambda X: D(CAP).fit(with_nan(X)), r"1 of 300 rows with NaN or infinite entries \(first: row 3"),
        (lambda X: A(CAP).fit(with_nan(X)), r"1 of 300 rows with NaN or infinite entries \(first: row 3"),
        (lambda X: D(CAP).fit(X, sample_weight=0.0 * X[:, 0]), "sample_weight is zero for every row"),
        (lambda X: A(CAP).fit(X, sample_weight=0.0 * X[:, 0]), "sample_weight is zero for every row"),
        (lambda X: D(CAP).fit(X, sample_weight=[-1.0] * 300), "must be finite and not negative; 300 of 300"),
        (lambda X: D(CAP).fit(X[:5]), "5 different places are too few for a map: it wants 10 at least"),
        (lambda X: D(CAP).fit(X, groups=np.arange(300) % 4), "4 groups are too few for a map"),
        (lambda X: A(CAP).fit(X[:2]), "2 different places are too few for a map: it wants 10 at least"),
        (lambda X: A(CAP).fit(X, groups=np.arange(300) % 2), "2 groups are too few for kernels"),
        (lambda X: D(PLANE).fit(plane_rows()), "A map needs a region that ends on all sides: intersect it"),
        (lambda X: A(S4).fit(s4_rows()), r"There are no kernels on Sphere\(dim=4\): they are for circles, S²"),
        (lambda X: D(S4, method="likelihood").fit(s4_rows()), "needs nodes to integrate on.*use method='score'"),
        (lambda X: D(S4, basis="series").fit(s4_rows()), "basis='series' is for the sphere S².*use 'bumps'"),
    ],
)
def test_bad_settings_and_rows_are_one_sentence(X, ask, words):
    with pytest.raises((ValueError, TypeError, tmsm.errors.EstimationError), match=words):
        ask(X)
