"""Sums of weighted squared normal variables, against closed forms and draws."""

import numpy as np
import pytest
from scipy.stats import chi2

from tmsm.numerics.squared_normals import share_reaching


@pytest.mark.parametrize("share", [1 - 1e-9, 0.999, 0.9, 0.55, 0.5, 0.45, 0.1, 1e-3, 1e-10, 1e-100])
@pytest.mark.parametrize("d", [1, 2, 3, 10, 1000])
def test_equal_weights_are_chi_squared(d, share):
    assert share_reaching(np.full(d, 3.0), 3.0 * chi2.isf(share, d)) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("x", [0.01, 0.5, 3.0, 10.0, 100.0])
def test_weights_in_pairs_are_a_sum_of_exponential_variables(x):
    weights = np.array([2.0, 1.0, 0.3, 0.01])
    shares = [np.prod(one / (one - np.delete(weights, k))) for k, one in enumerate(weights)]
    expected = float(shares @ np.exp(-0.5 * x / weights))
    assert share_reaching(np.repeat(weights, 2), x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("small", [1e-4, 1e-2, 0.3])
def test_one_large_weight_among_many_small_ones(small):
    weights = np.r_[1.0, np.full(200, small)]
    drawn = np.random.default_rng(0).chisquare(1, (20_000, 201)) @ weights
    for quantile in (0.003, 0.1, 0.5, 0.9, 0.997):
        expected, x = 1.0 - quantile, float(np.quantile(drawn, quantile))
        error = np.sqrt(quantile * (1.0 - quantile) / len(drawn))
        assert share_reaching(weights, x) == pytest.approx(expected, abs=4.5 * error)


def test_what_weighs_nothing_and_what_is_never_reached():
    weights = np.array([1.0, 1e-14, 0.0])
    assert share_reaching(weights, 2.0) == pytest.approx(chi2.sf(2.0, 1), rel=1e-9)
    assert share_reaching(weights, 0.0) == share_reaching(np.zeros(3), 0.0) == 1.0
    assert share_reaching(np.zeros(3), 1.0) == share_reaching(weights, 1e5) == 0.0
