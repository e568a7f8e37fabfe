"""What families on the torus say about wrong input, and that everything that a fit offers works on them."""

import numpy as np
import pytest

import tmsm
from tmsm.models import CosineVonMises, TrigonometricFamily

TORUS = tmsm.Torus(2)
SINE = tmsm.SineVonMises()
GOOD = {"mean_angles": [0.5, 0.2], "concentration": [3.0, 2.0], "interaction": [[0.0, 1.0], [1.0, 0.0]]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"interaction": [[0, 3], [3, 0]]}, "mean_angles are no mode.*smallest eigenvalue is -0.541"),
        ({"interaction": [[0, 1], [2, 0]]}, "interaction must be a symmetric matrix with zeros on its diagonal"),
        ({"interaction": [[1, 0], [0, 1]]}, "interaction must be a symmetric matrix with zeros on its diagonal"),
        ({"interaction": [[0, np.nan], [np.nan, 0]]}, "interaction must be finite"),
        ({"concentration": [1.0, 2.0, 3.0]}, r"concentration must have shape \(2,\); got \(3,\)"),
        ({"concentration": [1.0, -2.0]}, "mean_angles are no mode"),
        ({"mean_angles": [0.0, 200.0]}, "mean_angles must be in radians"),
        ({"mean_angles": [0.0]}, "at least two entries; for one angle use VonMisesFisher"),
    ],
)
def test_wrong_parameters(change, words):
    with pytest.raises(ValueError, match=words):
        SINE.sample(3, **{**GOOD, **change})


def test_wrong_coefficients_and_orders():
    with pytest.raises(ValueError, match=r"angles TrigonometricFamily\(order=2\) has 12, and 5 were given"):
        TrigonometricFamily(2).sample(3, coefficients=np.ones(5))
    with pytest.raises(ValueError, match="order must be at least 1"):
        TrigonometricFamily(0)
    with pytest.raises(TypeError, match="order must be a whole number"):
        TrigonometricFamily(1.5)


def test_wrong_places_and_rows():
    with pytest.raises(ValueError, match="SineVonMises lives on a torus, and the region on Sphere"):
        tmsm.ScoreMatching(SINE, tmsm.Hemisphere([0, 0, 1])).fit(np.eye(3))
    with pytest.raises(ValueError, match="Angles in radians become points with angles_to_torus"):
        tmsm.NaiveMLE(SINE).fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="3 columns where points have 4 coordinates"):
        tmsm.NaiveMLE(SINE).fit(np.zeros((5, 3)))
    same = np.tile([1.0, 0.0, 1.0, 0.0], (30, 1))
    for estimator in (tmsm.NaiveMLE(SINE), tmsm.ScoreMatching(SINE, tmsm.Everywhere(TORUS))):
        with pytest.raises(tmsm.errors.EstimationError):
            estimator.fit(same)


def test_many_angles_without_a_sampler_are_a_sentence():
    many = {"mean_angles": np.zeros(7), "concentration": np.full(7, 2.0)}
    assert SINE.sample(10, random_state=0, **many).shape == (10, 14)
    with pytest.raises(ValueError, match="no sampler for this density on the torus of 7 angles"):
        CosineVonMises().sample(10, random_state=0, **many)


@pytest.mark.parametrize("family", [SINE, CosineVonMises(), TrigonometricFamily(1)], ids=repr)
def test_everything_that_a_fit_offers(family, tmp_path):
    box = tmsm.AngleBox([-1.2, -1.5], [1.0, 1.0])
    X = SINE.sample(600, box, random_state=0, **GOOD)
    fit = tmsm.ScoreMatching(family, box).fit(X)
    low, high = fit.confidence_interval()[family.fields[0].name]
    assert (low < high).all()
    assert type(family).__name__ in fit.summary()
    assert fit.status_
    assert fit.goodness_of_fit_ is not None
    assert len(fit.bootstrap(X, 4, random_state=0, n_jobs=1)) == 4
    fit.save(tmp_path / "fit.json")
    assert tmsm.load(tmp_path / "fit.json").params_ == fit.params_
    assert "CosineVonMises" in str(tmsm.compare([fit, tmsm.ScoreMatching(CosineVonMises(), box).fit(X)]))
    likelihood = tmsm.TruncatedMLE(family, box).fit(X)
    refined = tmsm.ScoreMatching(family, box, refine="mle").fit(X)
    np.testing.assert_allclose(refined.natural_params_, likelihood.natural_params_, atol=0.02)
    single = tmsm.ScoreMatching(family, box).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.natural_params_, fit.natural_params_, atol=1e-4)


def test_fixed_zeros_are_no_rows_of_a_summary():
    X = SINE.sample(300, random_state=0, **GOOD)
    lines = tmsm.NaiveMLE(SINE).fit(X).summary()
    assert "interaction[0, 1]" in lines
    assert "interaction[0, 0]" not in lines


def test_a_single_angle_is_fitted_on_the_circle():
    circle = TrigonometricFamily(1)
    X = tmsm.VonMisesFisher().sample(400, random_state=0, mean_direction=[0.6, 0.8], concentration=2.0)
    region = tmsm.Cap([1.0, 0.0], 2.5)
    X = X[region.contains(X)]
    ours, known = (tmsm.ScoreMatching(m, region, "normal").fit(X) for m in (circle, tmsm.VonMisesFisher()))
    np.testing.assert_allclose(ours.natural_params_, known.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(ours.covariance_, known.covariance_, rtol=1e-9)
