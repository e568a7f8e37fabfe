"""A known exposure whose gradient is not that of its values is refused; right ones are not."""

from functools import lru_cache

import numpy as np
import pytest

import tmsm

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
