"""Rings round regions, against caps and balls, whose rings have closed forms."""

import pickle

import numpy as np
import pytest

import tmsm
from tests.registry import star
from tmsm.regions import Surroundings

POLE = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("radius", "inner", "outer"), [(0.5, 0.0, 0.04), (0.5, 0.1, 0.3), (1.2, 0.01, 0.02), (3.0, 0.0, 1.0)]
)
@pytest.mark.parametrize("kappa", [1e-6, 30.0])
def test_mass_of_a_ring_round_a_cap(radius, inner, outer, kappa):
    ring = tmsm.Cap(POLE, radius).surroundings(inner, outer)
    found = tmsm.VonMisesFisher().log_mass(ring, mean_direction=POLE, concentration=kappa)
    a, b = (np.cos(min(radius + t, np.pi)) - 1.0 for t in (inner, outer))
    # ∫ e^{κ(cos s − 1)} sin s ds between the angles, over that of the sphere.
    expected = np.log((np.exp(kappa * b) * np.expm1(kappa * (a - b))) / -np.expm1(-2.0 * kappa))
    assert found.error < 2e-5
    assert found.value == pytest.approx(expected, abs=max(5.0 * found.error, 1e-6))


def test_area_of_a_ring_round_a_ball_in_space():
    """All of a density that is flat there, as a share of that in a larger ball."""
    ring = tmsm.Ball([0.0, 0.0, 0.0], 1.0).surroundings(0.2, 1.0)
    params = {"mean": [0.0, 0.0, 0.0], "covariance": 1e4 * np.eye(3)}
    whole, part = (tmsm.MultivariateNormal().log_mass(r, **params) for r in (tmsm.Ball([0.0, 0.0, 0.0], 2.0), ring))
    assert np.exp(part.value - whole.value) == pytest.approx((8.0 - 1.2**3) / 8.0, rel=2e-3)


def test_rings_lie_next_to_each_other_and_count_every_row_once():
    polygon = tmsm.SphericalPolygon([star(60, 1), star(15, 2, 0.3, 0.05)])
    X = tmsm.Sphere(2).uniform(20_000, 0)
    rings = [polygon.surroundings(a, b) for a, b in ((0.0, 0.1), (0.1, 0.5), (0.5, 4.0))]
    count = sum(part.contains(X).astype(int) for part in (polygon, *rings))
    assert (count == 1).all()
    d = polygon.signed_distance(X)[0]
    np.testing.assert_array_equal(rings[1].contains(X), (-d > 0.1) & (-d < 0.5))


def test_a_ring_is_a_value():
    ring = tmsm.Cap(POLE, 0.5).surroundings(0.1, 0.3)
    assert ring == Surroundings(tmsm.Cap(POLE, 0.5), 0.1, 0.3) != tmsm.Cap(POLE, 0.5).surroundings(0.1, 0.4)
    assert pickle.loads(pickle.dumps(ring)) == ring
    assert eval(repr(ring), {"Cap": tmsm.Cap, "Surroundings": Surroundings}) == ring


def test_rows_in_a_ring_can_be_fitted():
    truth = {"mean_direction": POLE, "concentration": 5.0}
    ring = tmsm.Cap(POLE, 0.3).surroundings(0.0, 0.6)
    X = tmsm.VonMisesFisher().sample(3000, ring, random_state=0, **truth)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), ring).fit(X)
    assert abs(fit.params_.concentration - 5.0) < 4.5 * fit.std_errors_.concentration


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tmsm.Cap(POLE, 0.5).surroundings(0.3, 0.1), "inner must be below outer"),
        (lambda: tmsm.Cap(POLE, 0.5).surroundings(-0.1, 0.1), "inner must be finite and at least 0"),
        (lambda: tmsm.Cap(POLE, 0.5).surroundings(0.0, np.nan), "outer must be finite and greater than 0"),
        (lambda: tmsm.Cap(POLE, 0.5).surroundings(250.0, 500.0), "divide kilometres by 6371"),
        (lambda: tmsm.Everywhere(tmsm.Sphere(2)).surroundings(0.0, 0.1), "has no surroundings"),
        (
            lambda: (tmsm.Cap(POLE, 0.5) & tmsm.Hemisphere([1.0, 0.0, 0.0])).surroundings(0.0, 0.1),
            "does not know how far",
        ),
        (lambda: tmsm.Cap(POLE, 0.5).surroundings(0.0, 0.1).surroundings(0.0, 0.1), "does not know how far"),
        (lambda: Surroundings("cap", 0.0, 0.1), "are those of a region"),
    ],
)
def test_bad_input_is_said_in_a_sentence(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()
