"""A(κ) = I_{D/2}(κ) / I_{D/2−1}(κ) against mpmath.

Recipe of the table, at 50 digits:
    mp.besseli(D/2, k) / mp.besseli(D/2 - 1, k) and mp.diff of the same.
"""

import mpmath as mp
import numpy as np
import pytest

import tmsm
from tmsm.models import von_mises_fisher
from tmsm.models.von_mises_fisher import concentration_from_resultant, mean_resultant

DIMENSIONS = [2, 3, 4, 10, 101, 1000]
CONCENTRATIONS = [1e-200, 1e-9, 1e-6, 1e-2, 0.7, 3.0, 25.0, 400.0, 1e4, 1e6]


def exact(D, kappa):
    with mp.workdps(50):
        order = mp.mpf(D) / 2 - 1
        ratio = mp.besseli(order + 1, kappa) / mp.besseli(order, kappa)
        # A' = 1 − A² − (D−1) A/κ
        return ratio, 1 - ratio**2 - (D - 1) * ratio / mp.mpf(kappa)


@pytest.mark.parametrize("D", DIMENSIONS)
@pytest.mark.parametrize("kappa", CONCENTRATIONS)
def test_ratio_slope_and_inverse(D, kappa):
    ratio, slope = exact(D, kappa)
    ours, our_slope = mean_resultant(kappa, D)
    assert abs(ours - ratio) / ratio < 4e-15
    # A' ~ (D−1)/2κ² is the small sum of many rounded steps; it only steers Newton and the naive errors.
    assert abs(our_slope - slope) / slope < 1e-8
    # The inverse: a residual of 1e-12 in the mean resultant length, any dimension, κ up to 1e6.
    estimate = concentration_from_resultant(float(ratio), D)
    assert abs(exact(D, estimate)[0] - mp.mpf(float(ratio))) < 1e-12
    # A(κ) is known to a few units in the last place, so κ to 4e-15 / A'(κ) and no better.
    np.testing.assert_allclose(estimate, kappa, rtol=1e-12 + 4e-15 / (float(slope) * kappa))


@pytest.mark.parametrize("D", DIMENSIONS)
@pytest.mark.parametrize("kappa", CONCENTRATIONS)
def test_the_search_ends_when_it_is_there(D, kappa, monkeypatch):
    calls = []

    def counted(value, dimension):
        calls.append(value)
        return mean_resultant(value, dimension)

    monkeypatch.setattr(von_mises_fisher, "mean_resultant", counted)
    concentration_from_resultant(mean_resultant(kappa, D)[0], D)
    assert len(calls) <= 10


@pytest.mark.parametrize("D", [60, 70, 100, 1000])
@pytest.mark.parametrize("share", [0.1, 1.0, 10.0])
def test_the_fit_is_right_in_many_dimensions(D, share):
    # Bessel functions of so high an order underflow at small κ: a search that begins there returns where it began.
    kappa = share * D
    mu = np.ones(D) / np.sqrt(D)
    X = tmsm.VonMisesFisher().sample(2000, random_state=D, mean_direction=mu, concentration=kappa)
    fit = tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(X)
    resultant = float(np.linalg.norm(X.mean(axis=0)))
    assert mean_resultant(fit.params_.concentration, D)[0] == pytest.approx(resultant, rel=1e-10)
    # E‖mean‖² = A² + (1 − A²)/n: in many dimensions the mean of the rows is longer than their expectation.
    squared = mean_resultant(kappa, D)[0] ** 2
    expected = concentration_from_resultant(float(np.sqrt(squared + (1.0 - squared) / len(X))), D)
    assert abs(fit.params_.concentration - expected) < 3.5 * fit.std_errors_.concentration
