"""Errors of maps, and what is held out, against sums, refits and repeated samples."""

import re

import numpy as np
import pytest

import tmsm
from tests.references.test_maps import ALONG, AXIS, CAP, MODEL, PEAK, RADIUS, _jittered, frame_of, rows
from tmsm.data.groups import Groups
from tmsm.data.rows import Rows
from tmsm.maps.bases import series_of
from tmsm.maps.folds import Folds
from tmsm.maps.functions import Harmonics
from tmsm.maps.kernel_choice import left_out_weights
from tmsm.maps.kernel_sums import KernelTree
from tmsm.maps.kernel_widths import Neighbours

SIDE = frame_of(AXIS)[0]
SAMPLES = 24
POINTS = np.vstack([AXIS, PEAK, tmsm.lonlat_to_xyz([0.0, 20.0], [50.0, 10.0])])


def _sandwich(density, X):
    """Standard errors of the log density from what each row, or group, does to it."""
    bells = np.exp(density._heights - np.log(density.weight) - 0.5 * density.kappa * _squares(X, density.X))
    mean = bells @ density.weight
    parts = (1.0 - density.background) * density.weight * (bells - mean[:, None])
    if density.groups is not None:
        parts = np.stack([parts[:, density.groups == k].sum(axis=1) for k in np.unique(density.groups)], axis=1)
    return np.sqrt((parts**2).sum(axis=1)) / np.exp(density.log_density(X))


def _squares(X, Y):
    return ((X[:, None, :] - Y[None]) ** 2).sum(axis=2)


def _unequal(X, which):
    """Weights and groups of rows."""
    aside = X @ SIDE > 0.0
    ones = np.ones(len(X))
    return {
        "equal": (ones, None),
        "one side is light": (np.where(aside, 0.05, 1.0), None),
        "one row has most": (np.r_[9.0 * len(X), ones[1:]], None),
        "four groups": (ones, 2 * aside + np.arange(len(X)) % 2),
        "groups of unequal weight": (np.where(aside, 0.1, 1.0), np.random.default_rng(0).integers(0, 9, len(X)) ** 2),
    }[which]


@pytest.mark.parametrize(
    "which", ["equal", "one side is light", "one row has most", "four groups", "groups of unequal weight"]
)
def test_bands_of_kernels_are_what_each_row_or_group_does_to_them(which):
    X = rows(400)
    w, groups = _unequal(X, which)
    kernels = tmsm.AdaptiveKernel(CAP, neighbours=4, width=1.0, background=0.0)
    density = kernels.fit(X, sample_weight=w, groups=groups).density_
    found = density.log_errors(POINTS)
    np.testing.assert_allclose(found, _sandwich(density, POINTS), rtol=1e-6)
    assert found.min() > 0.005


def test_far_from_all_rows_a_band_is_a_number():
    X = tmsm.Sphere(2).exponential(np.repeat(PEAK[None], 60, axis=0), 1e-3 * _tangents(60))
    far = tmsm.lonlat_to_xyz([0.0, 20.0], [50.0, 10.0])
    for groups in (None, np.arange(60) % 5):
        fit = tmsm.AdaptiveKernel(CAP, neighbours=1, width=1.0, background=0.0).fit(X, groups=groups)
        assert fit.logpdf(far).max() < -1000.0
        with np.errstate(all="raise", under="ignore"):
            errors = fit.density_.log_errors(far)
        assert np.isfinite(errors).all()
        assert (errors > 0.1).all()


def _tangents(n):
    centre = np.repeat(PEAK[None], n, axis=0)
    return tmsm.Sphere(2).project_tangent(centre, np.random.default_rng(0).standard_normal((n, 3)))


@pytest.fixture(scope="module")
def repeated():
    """Log densities, their stated errors, and shares with theirs, for samples of one density."""
    part, found = tmsm.Cap(PEAK, 0.25), {"series": [], "kernels": []}
    for seed in range(SAMPLES):
        X = rows(300, 100 + seed)
        for name, one in (
            ("series", tmsm.DensityMap(CAP, degree=3, smoothing=0.1)),
            ("kernels", tmsm.AdaptiveKernel(CAP, neighbours=64, width=0.7, background=0.0)),
        ):
            fit = one.fit(X)
            share = fit.share(part)
            low, high = share.confidence_interval()
            found[name].append(
                [*fit.logpdf(POINTS[:2]), *fit.density_.log_errors(POINTS[:2]), share, share.std_error, low, high]
            )
    return {name: np.array(one) for name, one in found.items()}


@pytest.mark.parametrize("kind", ["series", "kernels"])
def test_stated_errors_are_the_spread_of_repeated_samples(repeated, kind):
    found = repeated[kind]
    spread = found[:, [0, 1, 4]].std(axis=0, ddof=1)
    stated = found[:, [2, 3, 5]].mean(axis=0)
    # The series' error has the bias in it.  That of kernels takes their widths as they are, which the rows chose.
    low, high = {"series": (1.0, 1.2), "kernels": (0.6, 1.1)}[kind]
    # Three times the relative error of a standard deviation.
    room = 3.0 / np.sqrt(2.0 * SAMPLES)
    assert (stated > (low - room * low) * spread).all()
    assert (stated < (high + room * high) * spread).all()


def test_intervals_of_shares_hold_the_truth(repeated):
    drawn = MODEL.sample(200_000, CAP, random_state=7, **ALONG)
    truth = tmsm.Cap(PEAK, 0.25).contains(drawn).mean()
    low, high = repeated["series"][:, 6:].T
    covered = ((low <= truth) & (truth <= high)).mean()
    # Three standard errors.
    assert covered >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / SAMPLES)
    # Not by being wide: a smooth map knows a share better than counting does.
    assert (high - low).mean() < 1.1 * 2.0 * 1.96 * np.sqrt(truth * (1.0 - truth) / 300)


def _rounded(n, seed, step=1.0):
    """Rows that were rounded to some degrees, so that many lie in one place."""
    lon, lat = tmsm.xyz_to_lonlat(rows(n, seed))
    X = tmsm.lonlat_to_xyz(np.round(lon / step) * step, np.round(lat / step) * step)
    return X[CAP.contains(X)]


def test_a_fold_knows_neither_the_groups_nor_the_places_that_it_judges():
    X = _rounded(500, 0, 3.0)
    groups = np.random.default_rng(1).integers(0, 40, len(X))
    folds = Folds.of(Rows.of(X, CAP, None, "raise").with_groups(Groups.of(groups, len(X))), 0)
    places = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    assert not folds.is_simple
    for k in range(folds.count):
        judged = folds.labels == k
        fitted = ~judged & (folds.group_labels != k)
        assert not np.isin(places[fitted], places[judged]).any()
        # Of each place one group at least is held out, and no part of a group is.
        held_out = folds.group_labels == k
        assert set(places[judged & held_out]) == set(places[judged])
        assert not np.isin(groups[fitted], groups[held_out]).any()
        # Groups are not joined to one.
        assert 0.6 < fitted.mean() < 0.95
    alone = Folds.of(Rows.of(X, CAP, None, "raise"), 0)
    assert alone.is_simple
    np.testing.assert_array_equal(alone.labels, alone.group_labels)


def test_copies_in_other_groups_are_left_out_too():
    X, new = _rounded(500, 0), rows(4000, 50)
    groups = np.random.default_rng(0).integers(0, 40, len(X))
    for make in (lambda: tmsm.AdaptiveKernel(CAP), lambda: tmsm.DensityMap(CAP, degree=6)):
        fit = make().fit(X, groups=groups)
        # The mean log density of 500 rows has an error of 0.05.
        assert fit.held_out_ == pytest.approx(fit.score(new), abs=0.15)
        assert fit.held_out_ == pytest.approx(make().fit(X).held_out_, abs=0.05)
    kernels = tmsm.AdaptiveKernel(CAP).fit(X, groups=groups)
    assert kernels.widths_.min() > 0.005
    # Copies that nobody can know to be copies are praised for each other.
    twice, alone = _jittered(X), np.arange(2 * len(X))
    inside = CAP.contains(twice)
    assert tmsm.AdaptiveKernel(CAP).fit(twice[inside], groups=alone[inside]).held_out_ > kernels.held_out_ + 1.0


def test_left_out_sums_lack_the_place_and_the_group():
    rng = np.random.default_rng(0)
    Y = np.round(rng.standard_normal((120, 2)), 0)
    units, weight = rng.integers(0, 15, 120), rng.uniform(0.5, 1.0, 120)
    kernels = np.log(weight), np.full(120, 4.0)
    asked = np.arange(120)
    none = np.zeros((120, 0), dtype=int)
    found = KernelTree.of(Y).left_out_sums(asked, units, np.zeros(120), none, kernels, kernels)
    squares = _squares(Y, Y)
    gone = (units[:, None] == units) | (squares == 0.0)
    direct = np.log(np.where(gone, 0.0, weight * np.exp(-2.0 * squares)).sum(axis=1))
    np.testing.assert_allclose(found, direct, atol=1e-4)
    np.testing.assert_allclose(left_out_weights(Y, units, weight), np.where(gone, weight, 0.0).sum(axis=1))
    # A place counts for one of its groups, and its own rows do not count it.
    owner = units[np.unique(Y, axis=0, return_index=True)[1]][np.unique(Y, axis=0, return_inverse=True)[1].ravel()]
    neighbours = Neighbours.of(Y, units, 5, owner)
    for i in asked:
        apart = (squares[i] > 0.0) & (owner != units[i])
        expected = sorted(np.sqrt(squares[i, apart & (owner == u)].min()) for u in np.unique(owner[apart]))
        np.testing.assert_allclose(neighbours.distances[i], expected[:5])


def test_the_held_out_likelihood_is_that_of_refits_without_each_fold():
    X = _rounded(200, 3)
    groups = np.random.default_rng(2).integers(0, 60, len(X))
    fit = tmsm.DensityMap(CAP, degree=3, smoothing=0.05).fit(X, groups=groups)
    folds = Folds.of(Rows.of(X, CAP, None, "raise").with_groups(Groups.of(groups, len(X))), fit._seed())
    total = 0.0
    for k in range(folds.count):
        judged = folds.labels == k
        fitted = ~judged & (folds.group_labels != k)
        again = tmsm.DensityMap(CAP, degree=3, smoothing=0.05).fit(X[fitted])
        total += again.logpdf(X[judged]).sum()
    assert fit.held_out_ == pytest.approx(total / len(X), abs=2e-3)
    # It is not what the map says of its own rows.
    assert fit.score(X) - fit.held_out_ > 0.01


def test_folds_of_kernels_lack_their_groups_and_their_places():
    # Six places close together are a group; at one of them are seven copies, and one of these is in another group.
    centres = rows(40, 3)
    centres = centres[CAP.clearance(np.asfortranarray(centres))[0] > 0.02]
    X = np.repeat(centres, 12, axis=0)
    X[:, 0] += 1e-3 * np.tile([1.0, 2.0, 3.0, 4.0, 5.0, *np.zeros(7)], len(centres))
    X /= np.linalg.norm(X, axis=1)[:, None]
    groups = np.repeat(np.arange(len(centres)), 12)
    groups[11::12] = np.roll(groups[11::12], 7)
    asked = {"neighbours": 4, "width": 0.1, "background": 0.1}
    fit = tmsm.AdaptiveKernel(CAP, **asked).fit(X, groups=groups)
    folds = Folds.of(Rows.of(X, CAP, None, "raise").with_groups(Groups.of(groups, len(X))), fit._seed())
    assert not folds.is_simple
    without, with_them = 0.0, 0.0
    for k in range(folds.count):
        judged, held_out = folds.labels == k, folds.group_labels == k
        without += _log_likelihood(X, groups, judged, ~judged & ~held_out, asked)
        with_them += _log_likelihood(X, groups, judged, ~judged, asked)
    # The masses inside the border are those of all rows, but for a factor.
    assert fit.held_out_ == pytest.approx(without / len(X), abs=1e-3)
    # Rows of a group would be praised for each other.
    assert with_them > without + 0.2 * len(X)


def _log_likelihood(X, groups, judged, fitted, asked):
    # Rows without weight: the same group stands for each place.
    fit = tmsm.AdaptiveKernel(CAP, **asked).fit(X, groups=groups, sample_weight=fitted.astype(float))
    return fit.logpdf(X[judged]).sum()


def test_the_ridge_of_harmonics_is_that_of_their_degrees():
    z, weights = np.polynomial.legendre.leggauss(16)
    turn = 2.0 * np.pi * np.arange(32) / 32
    Z, T = (one.ravel() for one in np.meshgrid(z, turn))
    X = np.column_stack([np.sqrt(1.0 - Z * Z) * np.cos(T), np.sqrt(1.0 - Z * Z) * np.sin(T), Z])
    w = np.tile(weights, 32) * 2.0 * np.pi / 32
    series = series_of("series", tmsm.Sphere(2), X, w, 7)
    t = series.statistics(X)[:, series.n_free :]
    k = Harmonics(7).degrees[series.n_free :] * (Harmonics(7).degrees[series.n_free :] + 1.0)
    # A function whose ridge is one has this square.
    np.testing.assert_allclose(t.T @ (t * w[:, None]), np.diag(720.0 / (k * (k - 2.0) * (k - 6.0))), atol=1e-10)


def test_the_ridge_of_splines_on_a_line_is_the_third_derivative_squared():
    x = np.linspace(0.0, 3.0, 200)[:, None]
    series = series_of("bumps", tmsm.Euclidean(1), x, np.ones(200), 4)
    h = 2e-3
    y = np.arange(-1.0, 4.0, h)
    t = series.statistics(y[:, None])[:, series.n_free :]
    third = np.diff(t, 3, axis=0) / h**3
    scale = float(series.scale[0])
    squares = third.T @ third * h * scale**5
    np.testing.assert_allclose(squares, 240.0 * np.eye(len(squares)), atol=2.0)


@pytest.mark.parametrize(
    "region", [~tmsm.Cap(AXIS, RADIUS), tmsm.Hemisphere(AXIS), tmsm.Everywhere(tmsm.Sphere(2))], ids=repr
)
def test_kernels_integrate_to_one_over_large_regions(region):
    X = tmsm.VonMisesFisher().sample(400, tmsm.Everywhere(tmsm.Sphere(2)), random_state=0, **ALONG)
    X = np.vstack([X, tmsm.Sphere(2).uniform(200, 1)])
    fit = tmsm.AdaptiveKernel(region, outside="drop", neighbours=8, width=0.7).fit(X)
    n = 100_000
    # Fibonacci's points stand for equal areas.
    z, turn = 1.0 - 2.0 * (np.arange(n) + 0.5) / n, np.pi * (3.0 - np.sqrt(5.0)) * np.arange(n)
    Y = np.column_stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z])
    assert fit.predict(Y).sum() * 4.0 * np.pi / n == pytest.approx(1.0, abs=2e-3)


def test_structure_finer_than_the_degree_is_said():
    rng, box = np.random.default_rng(0), tmsm.Box([0.0, 0.0], [1.0, 1.0])
    sharp = np.repeat([[0.2, 0.3], [0.7, 0.6]], 300, axis=0) + 0.01 * rng.standard_normal((600, 2))
    few = rng.uniform(0.0, 1.0, (100, 2))
    words = r"functions are free of the ridge: there is structure about as fine as degree 4|The smallest smoothing fits"
    assert re.search(words, tmsm.DensityMap(box, degree=4).fit(np.vstack([sharp, few])).status_)
    smooth = tmsm.DensityMap(box, degree=4).fit(rng.beta(2.0, 2.0, (600, 2)))
    assert not re.search(words, smooth.status_)
