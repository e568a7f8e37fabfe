"""Fisher–Bingham and Kent where the rows cover some degrees of the sphere, or less."""

import numpy as np
import pytest

import tmsm
from tmsm.foundation.errors import EstimationError
from tmsm.matching.solve import solve
from tmsm.models import Local
from tmsm.models.constraints import minimise_over
from tmsm.numerics.sphere_integral import sphere_mixture

CENTRE = tmsm.lonlat_to_xyz([-98.0], [38.5])[0]
EAST = np.cross([0.0, 0.0, 1.0], CENTRE) / np.linalg.norm(np.cross([0.0, 0.0, 1.0], CENTRE))
MAJOR = np.cos(0.4) * EAST + np.sin(0.4) * np.cross(CENTRE, EAST)


def kent(concentration, share):
    return {
        "mean_direction": CENTRE,
        "major_axis": MAJOR,
        "concentration": concentration,
        "ovalness": share * concentration,
    }


def cap(degrees):
    """A cap whose centre is not the mean direction, which lies inside."""
    away = CENTRE + 0.3 * np.radians(degrees) * MAJOR
    return tmsm.Cap(away / np.linalg.norm(away), np.radians(degrees))


def box(degrees):
    return tmsm.LonLatBox(-98.0 - 1.2 * degrees, 38.5 - 0.6 * degrees, -98.0 + 0.6 * degrees, 38.5 + 0.9 * degrees)


def deviations(fit, truth):
    """Errors of concentration and ovalness in standard errors, and of the mean direction as a χ² and in degrees."""
    one = fit.result_
    J = one.model.parameter_jacobian(one.theta)["mean_direction"]
    values, vectors = np.linalg.eigh(J @ one.covariance @ J.T)
    away = vectors.T @ (truth["mean_direction"] - fit.params_.mean_direction)
    scalars = [(fit.params_[name] - truth[name]) / fit.std_errors_[name] for name in ("concentration", "ovalness")]
    return *scalars, float((away[1:] ** 2 / values[1:]).sum()), float(np.degrees(np.linalg.norm(away)))


@pytest.mark.parametrize(
    ("concentration", "share", "region", "n"),
    [
        (5e3, 0.2, cap(2.0), 2000),
        (2e4, 0.3, box(1.0), 1000),
        (5e3, 0.45, box(3.0), 514),
        (1e5, 0.4, cap(1.0), 514),
    ],
)
def test_kent_finds_its_centre(concentration, share, region, n):
    """The rows of seed 1 in the third region ended at the limit of two modes, 1,000 km off."""
    truth, model = kent(concentration, share), tmsm.Kent()
    found = []
    for seed in range(1, 4):
        X = model.sample(n, region, random_state=seed, **truth)
        found += [
            deviations(est.fit(X), truth)
            for est in (tmsm.ScoreMatching(model, region), tmsm.TruncatedMLE(model, region))
        ]
    found = np.array(found)
    assert np.abs(found[:, :2]).max() < 4.0
    assert found[:, 2].max() < 25.0  # χ² with two df
    assert found[:, 3].max() < 1.0  # degrees


def test_kent_lives_next_to_the_naive_fit_where_little_is_cut_off():
    truth, model = kent(1e5, 0.4), tmsm.Kent()
    X = model.sample(500, random_state=3, **truth)
    naive = tmsm.NaiveMLE(model).fit(X)
    assert max(np.abs(deviations(naive, truth)[:2])) < 3.5
    exact = tmsm.TruncatedMLE(model, cap(3.0)).fit(X)
    np.testing.assert_allclose(exact.params_.concentration, naive.params_.concentration, rtol=1e-3)
    np.testing.assert_allclose(exact.params_.mean_direction, naive.params_.mean_direction, atol=1e-5)


@pytest.mark.parametrize("share", [0.1, 0.49])
def test_naive_likelihood_of_a_sharp_kent_needs_few_evaluations(share, monkeypatch):
    """A few Newton steps from the normal density; 400 evaluations were needed, 2 ms each."""
    calls = []
    count = Local._cumulants
    monkeypatch.setattr(Local, "_cumulants", lambda self, theta: calls.append(1) or count(self, theta))
    for concentration in (1e3, 1e6):
        calls.clear()
        X = tmsm.Kent().sample(2000, random_state=5, **kent(concentration, share))
        fit = tmsm.NaiveMLE(tmsm.Kent()).fit(X)
        assert len(calls) < 40
        one = fit.result_
        slope = one.likelihood(one.theta)[1] @ one.model.constraint.tangent(one.theta)
        assert np.abs(slope).max() < 1e-8
        assert np.abs(deviations(fit, kent(concentration, share))[:2]).max() < 3.5


def test_truncated_likelihood_of_a_sharp_kent_needs_few_evaluations(monkeypatch):
    from tmsm.matching.likelihood import RegionLikelihood

    calls = []
    count = RegionLikelihood.__call__
    monkeypatch.setattr(RegionLikelihood, "__call__", lambda self, theta: calls.append(1) or count(self, theta))
    region = cap(2.0)
    X = tmsm.Kent().sample(2000, region, random_state=1, **kent(2e4, 0.45))
    tmsm.TruncatedMLE(tmsm.Kent(), region).fit(X)
    assert len(calls) < 60  # 200 before


def test_fisher_bingham_in_a_state():
    """27,400 rows in some degrees, which gave a matrix with condition number 10¹²: nothing could be estimated."""
    model, region, truth = tmsm.FisherBingham(), box(2.0), kent(2e3, 0.3)
    X = tmsm.Kent().sample(27_400, region, random_state=0, **truth)
    theta = tmsm.Kent().natural_parameters(**truth)
    for estimator in (tmsm.ScoreMatching(model, region, "componentwise"), tmsm.TruncatedMLE(model, region)):
        fit = estimator.fit(X)
        one = fit.result_
        assert isinstance(one.model, Local)
        away = one.theta - one.model.from_original(theta)
        assert away @ np.linalg.solve(one.covariance, away) < 26.1  # χ² with 8 df: one in a thousand
        np.testing.assert_allclose(fit.natural_params_, one.model.to_original() @ one.theta, rtol=1e-12)
        status = fit.status_
        assert "of the 8 parameters; not determined: linear (standard error" in status
        assert "and quadratic" in status
        assert "Kent() or VonMisesFisher()" in status
        assert "mass outside" in fit.summary()
    condition = dict(tmsm.ScoreMatching(model, region, "componentwise").fit(X).facts())["condition of A"]
    assert float(condition) < 1e3


def test_fisher_bingham_names_nothing_where_the_rows_tell_all():
    model = tmsm.FisherBingham()
    X = model.sample(5000, random_state=0, linear=[4.0, 0.0, 1.0], quadratic=np.diag([0.0, 1.5, -1.5]))
    assert "not determined" not in tmsm.NaiveMLE(model).fit(X).status_


def test_fisher_bingham_in_a_town_says_that_nothing_can_be_given():
    region = cap(0.05)
    X = tmsm.VonMisesFisher().sample(300, region, random_state=0, mean_direction=CENTRE, concentration=1e6)
    with pytest.raises(EstimationError, match=r"cannot be estimated: its parameters .* Use Kent\(\)"):
        tmsm.ScoreMatching(tmsm.FisherBingham(), region).fit(X)


def test_local_form_is_the_same_family():
    """Where both forms can be computed, estimates, errors and densities agree."""
    model, region = tmsm.FisherBingham().on(tmsm.Sphere(2)), tmsm.Cap(CENTRE, 0.5)
    truth = {"linear": 12.0 * CENTRE + EAST, "quadratic": np.diag([1.0, 0.5, -1.5])}
    X = model.sample(3000, region, random_state=0, **truth)
    local = model.centred(X)
    assert isinstance(local, Local)
    assert model.centred(model.sample(100, random_state=0, linear=[1.0, 0, 0], quadratic=np.eye(3))) is model
    theta = model.natural_parameters(**truth)
    np.testing.assert_allclose(local.to_original() @ local.from_original(theta), theta, atol=1e-12)
    np.testing.assert_allclose(
        np.ptp(local.log_kernel(X, local.from_original(theta)) - model.log_kernel(X, theta)), 0, atol=1e-10
    )
    # Score matching in the family's own statistics.
    fit = tmsm.ScoreMatching(model, region, "geodesic").fit(X)
    equations = fit.moments_.equations
    there = local.to_original()
    A = np.linalg.solve(there.T, np.linalg.solve(there.T, fit.moments_.A).T)
    own = solve(model.constraint, A, np.linalg.solve(there.T, fit.moments_.b)).theta
    assert equations.model == local
    np.testing.assert_allclose(fit.natural_params_, own, rtol=1e-6)


def test_kent_is_found_wherever_its_centre_is():
    """Of a quadratic in a small region: the minimum over many starts is no lower than the one that is found."""
    model = tmsm.Kent()
    X = model.sample(400, cap(3.0), random_state=0, **kent(500.0, 0.4))
    local = model.centred(X)
    constraint = local.constraint
    rng = np.random.default_rng(1)
    for _ in range(6):
        # Normal densities of any bend, also such as grow outwards, seen through an information of that kind.
        target = rng.standard_normal(8) * [1, 1, 2, 2, 2, 0.1, 0.1, 0.1]
        root = rng.standard_normal((8, 8)) * [1, 1, 1, 1, 1, 0.5, 0.5, 0.5]
        A = root.T @ root / 8 + 0.01 * np.eye(8)
        b = -A @ target

        def objective(theta, A=A, b=b):
            return float(theta @ A @ theta + 2.0 * b @ theta), 2.0 * (A @ theta + b), 2.0 * A

        found = solve(constraint, A, b).theta
        starts = [local.ovals_about(m)[:, 0] * 300.0 for m in tmsm.Sphere(2).uniform(5, rng)]
        best = minimise_over(constraint, objective, starts)
        assert best is not None
        assert objective(found)[0] <= best.minimum.value + 1e-6 * abs(best.minimum.value)


@pytest.mark.parametrize("kappa", [1.0, 1e3, 1e6, 1e9])
def test_integral_about_a_point_keeps_its_digits(kappa):
    """Of exp(κ (μ·x − 1)) it is 2π (1 − e^−2κ)/κ, and κ (1 − μ·x) is exponential: mean and variance one at large κ."""
    mu = np.array([0.6, 0.0, 0.8])
    mixture = sphere_mixture(np.array([0.0, 0.0, 0.0]), kappa * mu)
    exact = np.log(2.0 * np.pi / kappa) + np.log1p(-np.exp(-2.0 * kappa))
    assert mixture.log_integral_about(mu) == pytest.approx(exact, abs=1e-13 * max(1.0, np.sqrt(kappa)))
    if kappa < 1e3:
        assert mixture.log_integral == pytest.approx(exact + kappa, rel=1e-13)
        return
    mean, _, covariance = mixture.moments(mu)
    assert -kappa * (mu @ mean) == pytest.approx(1.0, abs=1e-15 * kappa + 1e-12)
    assert kappa**2 * (mu @ covariance[:3, :3] @ mu) == pytest.approx(1.0, abs=1e-14 * kappa + 1e-12)
