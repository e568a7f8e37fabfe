"""Kent's family, maximum likelihood under truncation and refinement: errors, coverage, and the bound."""

import numpy as np
import pytest

import tmsm
from scenarios import hemisphere, ovals
from tests.registry import unit


def test_kent_with_everything_known_or_nothing():
    known = ovals.simulate(tmsm.Kent(10.0, 3.0), 150)
    free = ovals.simulate(tmsm.Kent(), 150)
    # ‖μ̂ − μ‖: 0.031 and 0.047; a root mean square over 150 seeds is known to 6 %.
    assert np.sqrt(np.mean(known["error"] ** 2)) == pytest.approx(0.031, abs=0.005)
    assert np.sqrt(np.mean(free["error"] ** 2)) == pytest.approx(0.047, abs=0.008)
    for name, truth in (("concentration", 10.0), ("ovalness", 3.0)):
        values = free[name]
        assert abs(values.mean() - truth) < 3.5 * values.std() / np.sqrt(150) + 0.05 * truth
        assert values.std() < 0.1 * truth + 0.3
    # Four standard errors of a share at 95 %, five quantities.
    assert (np.abs(free["standardised"]) < 1.96).mean(axis=0).min() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 150)
    naive = tmsm.NaiveMLE(tmsm.Kent()).fit(ovals.draw(0))
    assert np.linalg.norm(naive.params_.mean_direction - ovals.MU) > 0.15  # the control


def test_truncated_likelihood_is_the_maximum_and_its_errors_are_right():
    model = tmsm.VonMisesFisher()
    fit = tmsm.TruncatedMLE(model, hemisphere.REGION)
    yardstick = hemisphere.HemisphereLikelihood()
    truth = 6.0 * hemisphere.MU
    z, kappas, errors = [], [], []
    for seed in range(200):
        X = model.sample(3000, hemisphere.REGION, random_state=seed, **hemisphere.TRUTH)
        fit.fit(X)
        if seed < 20:
            np.testing.assert_allclose(fit.natural_params_, yardstick.fit(X.mean(0), truth), rtol=1e-7, atol=1e-7)
        difference = fit.natural_params_ - truth
        z.append(difference @ np.linalg.solve(fit.covariance_, difference))
        kappas.append(fit.params_.concentration)
        errors.append(np.linalg.norm(fit.params_.mean_direction - hemisphere.MU))
    # E of χ²₃ is 3, with variance 6.
    assert np.mean(z) == pytest.approx(3.0, abs=4 * np.sqrt(6 / 200))
    assert np.sqrt(np.mean((np.array(kappas) - 6) ** 2)) == pytest.approx(0.138, abs=4 * 0.138 / np.sqrt(400))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(0.0197, abs=4 * 0.0197 / np.sqrt(400))
    assert fit.quadrature_error_ < 0.05


SETTINGS = {
    "Kent": (
        tmsm.Kent(),
        tmsm.Cap([-1.0, 0, 0], 1.4),
        {"mean_direction": [0, -1.0, 0], "major_axis": [0, 0, 1.0], "concentration": 8.0, "ovalness": 2.0},
    ),
    "Kent, all known": (
        tmsm.Kent(8.0, 2.0),
        tmsm.Cap([-1.0, 0, 0], 1.4),
        {"mean_direction": [0, -1.0, 0], "major_axis": [0, 0, 1.0]},
    ),
    "Watson": (tmsm.Watson(), tmsm.Cap([0, 0, 1.0], 1.0), {"axis": unit(1, 0, 2), "concentration": 5.0}),
    "girdle": (tmsm.Watson(), tmsm.LonLatBox(-60, -40, 80, 50), {"axis": unit(0, 1, 2), "concentration": -6.0}),
    "Bingham": (tmsm.Bingham(), tmsm.Cap([0, 0, 1.0], 1.2), {"quadratic": np.diag([1.0, -3.0, 2.0])}),
    "Fisher–Bingham": (
        tmsm.FisherBingham(),
        tmsm.Cap([0, 0, 1.0], 1.8),
        {"linear": [2.0, 0, 2.0], "quadratic": np.diag([1.0, -1.0, 0])},
    ),
    "known concentration": (
        tmsm.VonMisesFisher(6.0),
        tmsm.LonLatBox(-60, -40, 80, 50),
        {"mean_direction": unit(1, -1, 1)},
    ),
    "normal": (
        tmsm.MultivariateNormal(),
        tmsm.Ball([0.5, 0.0], 1.5),
        {"mean": [0.0, 0.3], "covariance": [[0.6, 0.2], [0.2, 0.4]]},
    ),
    "S4": (
        tmsm.VonMisesFisher(),
        tmsm.Hemisphere(np.eye(5)[0]),
        {"mean_direction": np.eye(5)[1], "concentration": 10.0},
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("method", ["likelihood", "refined", "score matching"])
def test_every_family_is_recovered_with_honest_errors(name, method):
    model, region, params = SETTINGS[name]
    repeats, n = (20, 1000) if name == "S4" else (60, 3000)
    truth = model.natural_parameters(**params)
    T = model.on(region.manifold).constraint.tangent(truth)
    estimator = {
        "likelihood": tmsm.TruncatedMLE(model, region),
        "refined": tmsm.ScoreMatching(model, region, refine="mle"),
        "score matching": tmsm.ScoreMatching(model, region),
    }[method]
    rows = model.sample(n * repeats, region, random_state=8, **params).reshape(repeats, n, -1)
    z = []
    for X in rows:
        fit = estimator.fit(X)
        difference = T.T @ (fit.natural_params_ - truth)
        z.append(difference @ np.linalg.solve(T.T @ fit.covariance_ @ T, difference))
    k = T.shape[1]
    # χ²_k: mean k, variance 2k; score matching's sandwich is itself estimated.
    slack = 1.0 + 0.25 * (method == "score matching")
    assert k - 4.5 * np.sqrt(2 * k / repeats) < np.mean(z) < (k + 4.5 * np.sqrt(2 * k / repeats)) * slack


def test_one_step_is_as_accurate_as_the_likelihood():
    model, region = tmsm.VonMisesFisher(), hemisphere.REGION
    exact, refined, plain = (
        tmsm.TruncatedMLE(model, region),
        tmsm.ScoreMatching(model, region, "geodesic", refine="mle"),
        tmsm.ScoreMatching(model, region, "geodesic"),
    )
    kappas = []
    for seed in range(200):
        X = model.sample(1000, region, random_state=seed, **hemisphere.TRUTH)
        kappas.append([fit.fit(X).params_.concentration for fit in (exact, refined, plain)])
    error = np.sqrt(np.mean((np.array(kappas) - 6.0) ** 2, axis=0))
    assert 0.95 < error[1] / error[0] < 1.05
    assert error[2] / error[0] > 1.1  # the control: without the step


def test_score_matching_in_ten_dimensions_is_near_the_bound():
    """S⁹, κ = 20, half-space through the mean, n = 2,000: within 1.3 times the Cramér–Rao bound."""
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere(np.eye(10)[0])
    params = {"mean_direction": np.eye(10)[1], "concentration": 20.0}
    truth = model.natural_parameters(**params)
    information = np.cov(model.sample(400_000, region, random_state=1, **params).T)
    bound = np.sqrt(np.trace(np.linalg.inv(information)) / 2000)
    fit = tmsm.ScoreMatching(model, region, "geodesic", standard_errors=False)
    rng = np.random.default_rng(2)
    errors = [
        fit.fit(model.sample(2000, region, random_state=rng, **params)).natural_params_ - truth for _ in range(150)
    ]
    assert 1.0 < np.sqrt(np.mean(np.sum(np.square(errors), axis=1))) / bound < 1.3


def test_exposure_enters_the_likelihood():
    model, region = tmsm.VonMisesFisher(), tmsm.Cap([-1.0, 0, 0], 1.3)
    toward = np.array([0.0, 0.0, 2.0])

    def log_exposure(X):
        return X @ toward, np.tile(toward, (len(X), 1))

    rng = np.random.default_rng(0)
    X = model.sample(12_000, region, random_state=rng, mean_direction=[0, -1.0, 0], concentration=6.0)
    X = X[rng.random(len(X)) < np.exp(X @ toward - 2.0)]
    for estimator in (tmsm.TruncatedMLE, lambda *a, **k: tmsm.ScoreMatching(*a, **k, refine="mle")):
        aware = estimator(model, region, log_exposure=log_exposure).fit(X)
        assert abs(aware.params_.concentration - 6.0) < 3.5 * aware.std_errors_.concentration
        assert abs(aware.params_.mean_direction[2]) < 3.5 * aware.std_errors_.mean_direction

    # Where nothing is detected is no part of the region: said so, it is refused; cut out, it is right.
    def half_blind(X):
        return np.where(X[:, 2] > 0.0, X @ toward, -np.inf), np.tile(toward, (len(X), 1))

    upper = X[X[:, 2] > 0.0]
    with pytest.raises(ValueError, match=r"log_exposure is −∞ or NaN at [\d,]+ of [\d,]+ points inside the region"):
        tmsm.TruncatedMLE(model, region, log_exposure=half_blind).fit(upper)
    cut = tmsm.TruncatedMLE(model, region & tmsm.Hemisphere([0, 0, 1.0]), log_exposure=half_blind).fit(upper)
    assert abs(cut.params_.concentration - 6.0) < 3.5 * cut.std_errors_.concentration
    blind = tmsm.TruncatedMLE(model, region).fit(X)
    assert abs(blind.params_.mean_direction[2]) > 5 * blind.std_errors_.mean_direction  # the control
    assert aware.n_samples_ == len(X)
    scored = tmsm.TruncatedMLE(model, region, log_exposure=log_exposure).fit(X)
    # This exposure has the form of the family: without it another member of the family is the same density.
    assert scored.score(X) == pytest.approx(blind.score(X), rel=1e-9)
