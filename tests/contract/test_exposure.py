"""A known exposure: wrong gradients are refused, values alone are enough, and zeros inside the region are not."""

import re
from functools import lru_cache

import numpy as np
import pytest

import tmsm
from tests.contract.test_own_kinds import own
from tmsm import weights
from tmsm.manifolds import Manifold
from tmsm.matching.differences import TangentDifferences
from tmsm.matching.exposure import KnownExposure

CAP = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
A = np.array([0.4, -0.3, 0.8])


@lru_cache(maxsize=1)
def rows():
    return tmsm.VonMisesFisher().sample(400, CAP, random_state=0, mean_direction=[0, 0.6, 0.8], concentration=4.0)


def on_cap(log_exposure, estimator=tmsm.ScoreMatching):
    return estimator(tmsm.VonMisesFisher(), CAP, log_exposure=log_exposure).fit(rows())


def linear(X):
    return X @ A, np.tile(A, (len(X), 1))


def steep(X):
    # A detector that switches on across a thousandth of a radian.
    z = (X[:, 0] - 0.1) / 1e-3
    return -np.logaddexp(0.0, -z), np.outer(1e3 / (1.0 + np.exp(np.minimum(z, 700.0))), [1.0, 0.0, 0.0])


def piecewise_linear(X):
    knots, slope = np.linspace(-1.0, 1.0, 9), np.array([1.0, -2.0, 0.5, 3.0, -1.0, 2.0, 0.0, 1.5])
    piece = np.clip(np.searchsorted(knots, X[:, 0], "right") - 1, 0, 7)
    return np.interp(X[:, 0], knots, np.concatenate([[0.0], np.cumsum(slope * 0.25)])), np.outer(
        slope[piece], [1, 0, 0]
    )


def in_steps(X):
    return np.floor(8.0 * X[:, 0]), np.zeros_like(X)


def only_inside(X):
    return np.where(CAP.contains(X), X @ A, np.nan), np.tile(A, (len(X), 1))


def in_single_precision(X):
    return tuple(part.astype(np.float32) for part in linear(X))


def constant(X):
    return np.zeros(len(X)), np.zeros_like(X)


def along_x(X):
    # What points along x is no part of a tangent gradient: any amount of it may be added.
    return X @ A, A + 5.0 * X


# By how much they move θ: an exposure exp(a·x) by −a, one without slopes not at all, and of others nothing is known.
RIGHT = {
    linear: -A,
    along_x: -A,
    only_inside: -A,
    in_single_precision: -A,
    constant: np.zeros(3),
    in_steps: np.zeros(3),
    piecewise_linear: None,
    steep: None,
}


@pytest.mark.parametrize("log_exposure", RIGHT)
def test_right_exposures_are_accepted_and_used(log_exposure):
    found, expected = on_cap(log_exposure).natural_params_ - on_cap(None).natural_params_, RIGHT[log_exposure]
    if expected is None:
        assert np.linalg.norm(found) > 0.5
    else:
        np.testing.assert_allclose(found, expected, atol=1e-6 if log_exposure is in_single_precision else 1e-9)


WRONG = {
    "half": lambda X: (X @ A, np.tile(0.5 * A, (len(X), 1))),
    "sign": lambda X: (X @ A, np.tile(-A, (len(X), 1))),
    "none": lambda X: (X @ A, np.zeros_like(X)),
    "constant values": lambda X: (np.zeros(len(X)), np.tile(A, (len(X), 1))),
    "gradient of e, not of log e": lambda X: (np.log(X @ A + 2.0), np.tile(A, (len(X), 1))),
    "in single precision": lambda X: ((X @ A).astype(np.float32), np.tile(2.0 * A, (len(X), 1)).astype(np.float32)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("estimator", [tmsm.ScoreMatching, tmsm.TruncatedMLE])
def test_values_and_gradients_that_disagree_are_refused(name, estimator):
    message = r"not those of its values: at \d+ of \d+ rows .* \(worst: at \[.*\] the gradient gives a slope of"
    with pytest.raises(tmsm.errors.InvalidInputError, match=message):
        on_cap(WRONG[name], estimator)


def test_a_row_on_a_jump_is_no_reason_to_refuse():
    # One row in twenty has a wrong gradient.
    def mostly_right(X):
        value, gradient = linear(X)
        return value, np.where((X[:, :1] * 1e4) % 1.0 < 0.05, -gradient, gradient)

    # The estimate is off by as much as those rows count.
    away = on_cap(mostly_right).natural_params_ - on_cap(linear).natural_params_
    np.testing.assert_allclose(away, 0.1 * A, rtol=0.5)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("origin", [0.0, 1e6])
def test_flat_coordinates_of_any_size(scale, origin):
    # Metres and degrees in one table, far from the origin.
    units, center = np.array([scale, 1e-3 * scale]), np.array([origin * scale, 0.0])
    rows = np.random.default_rng(1).standard_normal((300, 2))
    X = center + units * rows[rows[:, 0] > -0.5]
    region = tmsm.HalfSpace([1.0, 0.0], center[0] - 0.5 * units[0])

    def exposure(factor):
        def log_exposure(Y):
            z = (Y - center) / units
            return -0.5 * (z**2).sum(axis=1), -factor * z / units

        return log_exposure

    tmsm.ScoreMatching(tmsm.MultivariateNormal(), region, log_exposure=exposure(1.0)).fit(X)
    with pytest.raises(ValueError, match="not those of its values"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), region, log_exposure=exposure(0.8)).fit(X)


def test_a_function_that_changes_the_rows_is_refused():
    """The rows are read again: what it did to them would be another table."""

    def careless(X):
        X[:, 0] = 0.0
        return np.zeros(len(X)), np.zeros_like(X)

    region = tmsm.Cap([0.0, 0.0, 1.0], 0.9)
    X = tmsm.VonMisesFisher().sample(100, region, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=4.0)
    with pytest.raises(ValueError, match=r"it raised: .*read-only"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, log_exposure=careless).fit(X)


# Values alone.


def values_of(log_exposure):
    return lambda X: log_exposure(X)[0]


@pytest.mark.parametrize("log_exposure", [one for one in RIGHT if one is not in_steps])
def test_values_alone_give_the_estimate_of_values_with_gradients(log_exposure):
    known, alone = on_cap(log_exposure), on_cap(values_of(log_exposure))
    # Kinks, and digits of single precision, have no gradient to be found.
    limit = {piecewise_linear: 1e-2, steep: 1e-2, in_single_precision: 1e-5}.get(log_exposure, 1e-10)
    away = np.abs(alone.natural_params_ - known.natural_params_) / np.sqrt(np.diag(known.covariance_))
    assert away.max() < limit
    fact = dict(alone.facts())["exposure"]
    assert fact.startswith("values alone; its gradient by differences, error about ")
    stated = float(fact.removesuffix(" of its size").rsplit(" ", 1)[1])
    assert stated < {piecewise_linear: 0.1, steep: 1e-3, in_single_precision: 1e-4}.get(log_exposure, 1e-10)
    assert "differences" not in alone.status_
    assert dict(known.facts())["exposure"] == "known, taken into account"


def wavy(X):
    rates = np.array([1.3, 0.7, 1.9, 1.1])[: X.shape[1]]
    gradient = rates * np.cos(rates * X)
    gradient[:, 0] += X[:, 1]
    gradient[:, 1] += X[:, 0]
    return np.sin(rates * X).sum(axis=1) + X[:, 0] * X[:, 1], gradient


def cylinder():
    return own().Cylinder()


def points_on(name):
    rng = np.random.default_rng(3)
    if name == "cylinder":
        return cylinder(), cylinder().scattered(200, rng)
    if name == "flat":
        return tmsm.Euclidean(3), 1e5 + rng.standard_normal((200, 3))
    return tmsm.Sphere(name), tmsm.Sphere(name).uniform(200, 3)


@pytest.mark.parametrize("space", [1, 2, 3, "flat", "cylinder"])
def test_differences_are_the_tangent_gradient(space):
    manifold, X = points_on(space)
    origin = np.round(X.mean(axis=0), -4)

    def values(Y):
        return wavy(Y - origin)[0]

    differences = TangentDifferences.chosen(values, manifold, X)
    expected = manifold.project_tangent(X, wavy(X - origin)[1])
    found = differences.gradient(values, X)
    error = np.sqrt(np.mean(np.sum((found - expected) ** 2, axis=1)) / np.mean(np.sum(expected**2, axis=1)))
    assert error < 1e-9
    # What is stated is no less than the error, nor a thousand times as much.
    assert error < differences.error < 1e-8
    np.testing.assert_allclose(manifold.project_tangent(X, found), found, atol=1e-9)
    # On one side of a border that goes through all rows nothing is known.
    X = X[:20]
    for side in (1.0, -1.0):
        halves = [
            TangentDifferences.gradient(
                differences, lambda Y, x=x, side=side: np.where(side * (Y - x)[:, 0] >= 0.0, values(Y), np.nan), x[None]
            )
            for x in X
        ]
        np.testing.assert_allclose(np.vstack(halves), expected[: len(X)], atol=1e-6)


def test_rows_next_to_the_border_of_a_function_that_ends_there():
    def ends(X):
        return np.where(CAP.contains(X), X @ A, -np.inf)

    # Some rows are a millionth from the border, in all directions.
    angles = np.linspace(0.0, 2.0 * np.pi, 50)
    radius = 1.0 - 10.0 ** -np.linspace(1.0, 6.0, 50)
    near = np.column_stack([np.sin(radius) * np.cos(angles), np.sin(radius) * np.sin(angles), np.cos(radius)])
    X = np.vstack([rows(), near])
    fits = [tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, log_exposure=f).fit(X) for f in (ends, linear)]
    np.testing.assert_allclose(fits[0].natural_params_, fits[1].natural_params_, atol=1e-6)


def test_everything_that_uses_an_exposure_takes_values_alone():
    X, model = rows(), tmsm.VonMisesFisher()
    alone = values_of(linear)

    def both(make):
        return [make(log_exposure=one) for one in (linear, alone)]

    fits = [fit.fit(X) for fit in both(lambda **k: tmsm.ScoreMatching(model, CAP, "combined", **k))]
    for read in (
        lambda fit: fit.goodness_of_fit_.statistic,
        lambda fit: fit.information_criterion_,
        lambda fit: tmsm.stein_test(fit, X, n_resamples=19).statistic,
        lambda fit: fit.score(X),
        lambda fit: fit.bootstrap(X, 4, 0).params.concentration,
    ):
        known, found = map(read, fits)
        np.testing.assert_allclose(found, known, rtol=1e-7)
    for make in (
        lambda **k: tmsm.ScoreMatching(model, CAP, refine="mle", **k).fit(X),
        lambda **k: tmsm.TruncatedMLE(model, CAP, **k).fit(X),
        lambda **k: tmsm.ScoreMatching(model, CAP, "geodesic", **k).partial_fit(X[:200]).partial_fit(X[200:]),
        lambda **k: tmsm.ScoreMatching(tmsm.Kent(concentration=4.0), CAP, "geodesic", **k).fit(X),
    ):
        known, found = both(make)
        np.testing.assert_allclose(found.natural_params_, known.natural_params_, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(found.score(X), known.score(X), rtol=1e-8)
    # The same function is the same exposure, whatever rows the steps came from; another one is another.
    pair = [tmsm.ScoreMatching(one, CAP, log_exposure=alone).fit(X) for one in (model, tmsm.Kent())]
    assert len(tmsm.compare(pair)) == 2
    with pytest.raises(ValueError, match="The fits have different exposures"):
        tmsm.compare([pair[0], tmsm.ScoreMatching(model, CAP, log_exposure=values_of(linear)).fit(X)])
    parts = [tmsm.ScoreMatching(model, CAP, weights.Saturating(0.3), log_exposure=alone).fit(Y) for Y in (X[::2], X)]
    assert (parts[0].moments_ + parts[1].moments_).n == 600


def test_two_rows_with_two_values_are_not_taken_for_gradients():
    X = rows()[:2]
    for log_exposure in (lambda Y: list(Y @ A), lambda Y: tuple(Y @ A), lambda Y: Y @ A):
        found = KnownExposure(log_exposure, CAP.manifold)
        np.testing.assert_array_equal(found.values_at(X), X @ A)


def test_an_error_that_matters_is_said():
    # Noise of a tenth, at any distance.
    rough = on_cap(lambda X: X @ A + 0.1 * np.sin(1e9 * X[:, 0]))
    assert "differences of its values, and their error could move the estimate by" in rough.status_
    quiet = on_cap(lambda X: X @ A + 1e-9 * np.sin(1e9 * X[:, 0]))
    assert "differences" not in quiet.status_


@pytest.mark.parametrize("estimator", [tmsm.ScoreMatching, tmsm.TruncatedMLE])
def test_values_in_steps_are_refused(estimator):
    for log_exposure in (values_of(in_steps), lambda X: np.log(2.0 + np.floor(40.0 * X[:, 1]) / 40.0)):
        with pytest.raises(ValueError, match=r"constant except for jumps: at \d+ of 200 rows .* Interpolate"):
            on_cap(log_exposure, estimator)
    # Flat in most places is no step function.
    on_cap(lambda X: np.minimum(0.0, 0.2 - X[:, 1]), estimator)


def test_a_function_that_raises_beyond_the_rows():
    def table(X):
        if not CAP.contains(X).all():
            raise LookupError("beyond the table")
        return X @ A

    X = np.vstack([rows(), [[np.sin(0.99999), 0.0, np.cos(0.99999)]]])
    with pytest.raises(ValueError, match=r"raised an error next to them: beyond the table .* return NaN"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, log_exposure=table).fit(X)


def test_a_manifold_without_geodesics_needs_gradients():
    class Stiff(own().Cylinder):
        def exponential(self, X, V):
            return Manifold.exponential(self, X, V)

    found = KnownExposure(wavy, Stiff())
    with pytest.raises(ValueError, match=r"has no exponential map\. Return \(values, gradients\)"):
        found._require_geodesics(Stiff().scattered(1, np.random.default_rng(0)))


def test_a_manifold_of_ones_own():
    region = own().Above(0.5)
    X = own().CylinderVonMises().sample(1500, region, random_state=1, lean=[1.5, 1.0], precision=1.0)
    fits = [
        tmsm.ScoreMatching(own().CylinderVonMises(), region, log_exposure=one).fit(X) for one in (wavy, values_of(wavy))
    ]
    np.testing.assert_allclose(fits[1].natural_params_, fits[0].natural_params_, atol=1e-8)
    holed = tmsm.ScoreMatching(
        own().CylinderVonMises(),
        region,
        log_exposure=lambda Y: np.where((Y[:, 2] > 1.5) & (Y[:, 0] < -0.5), -np.inf, Y[:, 2]),
    )
    with pytest.raises(ValueError, match=r"inside the region that were tried \(such as \["):
        holed.fit(X[(X[:, 2] < 1.5) | (X[:, 0] > -0.5)])


HOLE = tmsm.Cap([0.5, 0.0, np.sqrt(0.75)], 0.15)


@pytest.mark.parametrize("estimator", [tmsm.ScoreMatching, tmsm.TruncatedMLE])
@pytest.mark.parametrize("alone", [True, False])
def test_a_zero_inside_the_region_is_refused_with_its_place(estimator, alone):
    def log_exposure(X):
        value, gradient = linear(X)
        value = np.where(HOLE.contains(X), -np.inf, value)
        return value if alone else (value, gradient)

    X = rows()[~HOLE.contains(rows())]
    message = r"log_exposure is −∞ or NaN at \d+ of [\d,]+ points inside .*such as lon (−?\d+\.\d)°, lat (\d+\.\d)°"
    with pytest.raises(ValueError, match=message) as caught:
        estimator(tmsm.VonMisesFisher(), CAP, log_exposure=log_exposure).fit(X)
    lon, lat = re.search(message, str(caught.value)).groups()
    assert HOLE.contains(tmsm.lonlat_to_xyz(float(lon.replace("−", "-")), float(lat))[None]).all()
    assert "does not belong to the region: cut it out" in str(caught.value)
    # Cut out, it is right: the same as what a function without the hole finds there.
    region = CAP & ~HOLE
    X = X[region.contains(X)]
    found = [estimator(tmsm.VonMisesFisher(), region, log_exposure=one).fit(X) for one in (log_exposure, linear)]
    np.testing.assert_allclose(found[0].natural_params_, found[1].natural_params_, atol=1e-6)


def test_a_zero_in_flat_space_is_refused_with_coordinates():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 2))
    X = X[np.hypot(X[:, 0] - 0.3, X[:, 1]) > 0.2]
    region = tmsm.Box([-1.0, -1.0], [1.0, 1.0])

    def holed(Y):
        return np.where(np.hypot(Y[:, 0] - 0.3, Y[:, 1]) < 0.2, -np.inf, Y[:, 0])

    with pytest.raises(ValueError, match=r"such as \[0\.\d+, -?0\.\d+\]"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), region, log_exposure=holed).fit(X)
