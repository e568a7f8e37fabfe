"""A(κ) = I_{D/2}(κ) / I_{D/2−1}(κ) against mpmath.

Recipe of the table, at 50 digits:
    mp.besseli(D/2, k) / mp.besseli(D/2 - 1, k) and mp.diff of the same.
"""

import mpmath as mp
import numpy as np
import pytest

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
