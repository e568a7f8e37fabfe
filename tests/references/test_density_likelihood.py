"""The likelihood of densities that are not linear in θ, against exponential families, differences and SciPy."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import tmsm
from tmsm.data.rows import Rows
from tmsm.matching.density_likelihood import TruncatedDensity
from tmsm.models import Field, NonlinearModel, Parameters

REGION = tmsm.Cap([0.0, 0.0, 1.0], 0.8)
MEAN = np.array([np.sin(0.7), 0.0, np.cos(0.7)])


@dataclass(frozen=True, eq=False, repr=False)
class Bent(NonlinearModel):
    """Von Mises–Fisher with θ = κμ written as sinh(φ): the same densities, not linear in φ."""

    home = tmsm.Sphere(2)
    fields = (Field("linear"),)
    size = 3

    @property
    def inner(self):
        return tmsm.VonMisesFisher().on(tmsm.Sphere(2))

    def log_kernel(self, X, theta):
        return self.inner.log_kernel(X, np.sinh(theta))

    def log_gradient(self, X, theta):
        return self.inner.log_gradient(X, np.sinh(theta))

    def log_hessian(self, X, V, theta):
        return self.inner.log_hessian(X, V, np.sinh(theta))

    def log_laplacian(self, X, theta):
        return self.inner.log_laplacian(X, np.sinh(theta))

    def starts(self, X):
        return [np.arcsinh(kappa * X.mean(axis=0)) for kappa in (1.0, 10.0)]

    def parameters(self, theta):
        return Parameters(linear=np.sinh(theta))

    def parameter_jacobian(self, theta):
        return {"linear": np.diag(np.cosh(theta))}


def rows(n=1500, seed=0):
    return tmsm.VonMisesFisher().sample(n, REGION, random_state=seed, mean_direction=MEAN, concentration=12.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_density_written_otherwise_has_the_same_maximum_and_errors(weighted):
    X = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    linear = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), REGION).fit(X, sample_weight=weight)
    bent = tmsm.TruncatedMLE(Bent(), REGION).fit(X, sample_weight=weight)
    np.testing.assert_allclose(bent.params_.linear, linear.natural_params_, rtol=1e-6)
    np.testing.assert_allclose(bent.std_errors_.linear, np.sqrt(np.diag(linear.covariance_)), rtol=1e-5)
    assert bent.log_likelihood_ == pytest.approx(linear.log_likelihood_, abs=1e-9)
    assert bent.score(X) == pytest.approx(linear.score(X), abs=1e-7)
    refined = tmsm.ScoreMatching(Bent(), REGION, refine="mle").fit(X, sample_weight=weight)
    np.testing.assert_allclose(refined.params_.linear, linear.natural_params_, rtol=1e-6)


def test_an_exposure_counts_in_the_integral():
    X = rows()
    exposure = lambda X: 2.0 * X[:, 0]  # noqa: E731
    fits = [tmsm.TruncatedMLE(model, REGION, log_exposure=exposure).fit(X) for model in (Bent(), tmsm.VonMisesFisher())]
    np.testing.assert_allclose(fits[0].params_.linear, fits[1].natural_params_, rtol=1e-6)
    assert fits[0].log_likelihood_ == pytest.approx(fits[1].log_likelihood_, abs=1e-9)
    # A control: the exposure shifts θ by (2, 0, 0), exactly.
    plain = tmsm.TruncatedMLE(Bent(), REGION).fit(X)
    np.testing.assert_allclose(plain.params_.linear - fits[0].params_.linear, [2.0, 0.0, 0.0], atol=1e-4)


def test_gradient_and_hessian_are_those_of_the_value():
    density = TruncatedDensity(Bent().on(tmsm.Sphere(2)), REGION, Rows.of(rows(200), REGION))
    theta = np.array([1.3, 0.2, 2.0])
    f = density.near(theta)
    _, gradient, hessian = f(theta)
    np.testing.assert_allclose(gradient, approx_fprime(theta, lambda at: f(at)[0], 1e-7), atol=1e-5)
    steps = 1e-4 * np.eye(3)
    columns = [(f(theta + h)[1] - f(theta - h)[1]) / 2e-4 for h in steps]
    np.testing.assert_allclose(hessian, np.stack(columns, axis=1), rtol=1e-4, atol=1e-5)


def test_a_saved_fit_and_one_of_many_rows_keep_their_intervals(tmp_path):
    X = rows(400)
    fit = tmsm.TruncatedMLE(tmsm.HeavyTailed(degrees_of_freedom=4.0), REGION).fit(X)
    fit.save(tmp_path / "fit.json")
    again = tmsm.load(tmp_path / "fit.json")
    assert again.summary() == fit.summary()
    many = rows(70_000)
    fit = tmsm.TruncatedMLE(Bent(), REGION).fit(many)
    low, high = fit.confidence_interval(method="profile").linear
    half = 1.96 * fit.std_errors_.linear
    # The fit keeps half of its rows; the interval is that of all of them.
    np.testing.assert_allclose(high - fit.params_.linear, half, rtol=0.1)
    np.testing.assert_allclose(fit.params_.linear - low, half, rtol=0.1)
