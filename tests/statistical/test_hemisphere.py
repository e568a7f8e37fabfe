"""The paper's benchmark at n = 1,000: figures stated in advance, and a baseline that must fail."""

import numpy as np
import pytest

from scenarios.hemisphere import KAPPA, simulate


@pytest.fixture(scope="module")
def errors():
    return simulate(1000, 500)


def mean_error(rows):
    return np.abs(rows["kappa"] - KAPPA).mean()


def test_geodesic_weight(errors):
    assert errors["geodesic"]["angle"].mean() == pytest.approx(0.0163, abs=0.0012)
    assert mean_error(errors["geodesic"]) == pytest.approx(0.237, abs=0.025)


def test_projected_weight_is_nearly_the_same(errors):
    assert errors["projected"]["angle"].mean() == pytest.approx(errors["geodesic"]["angle"].mean(), rel=0.05)


def test_known_concentration(errors):
    assert errors["known"]["angle"].mean() == pytest.approx(0.0136, abs=0.001)
    np.testing.assert_array_equal(errors["known"]["kappa"], KAPPA)


def test_normal_weight_is_within_three_per_cent_of_the_exact_likelihood(errors):
    assert mean_error(errors["normal"]) == pytest.approx(0.186, abs=0.02)
    assert mean_error(errors["normal"]) / mean_error(errors["exact"]) < 1.03


def test_naive_likelihood_fails_whatever_the_sample_size(errors):
    large = simulate(10_000, 20, only=("naive",))["naive"]
    for rows in (errors["naive"], large):
        assert rows["angle"].mean() == pytest.approx(0.175, abs=0.002)
        assert rows["kappa"].mean() == pytest.approx(8.85, abs=0.05)
    for rows in (simulate(1000, 50, only=("naive",))["naive"], large):
        assert not rows["covered"].any()


def test_intervals_cover_at_300():
    for rows in simulate(300, 1000, seed=10**6, only=("geodesic", "normal")).values():
        assert 0.93 <= rows["covered"].mean() <= 0.97
