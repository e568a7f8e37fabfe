"""A manifold, a region, a weight, a model, a density and a source of one's own, through the whole public surface.

They are the skeletons of CONTRIBUTING.md, which live outside the package: nothing in it knows them.
"""

import re
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import tmsm
from tmsm.manifolds import Manifold
from tmsm.regions import Region

mpl.use("Agg")

TRUTH = {"lean": [2.0 * np.cos(0.5), 2.0 * np.sin(0.5)], "precision": 1.0}
THETA = np.array([*TRUTH["lean"], 1.0])


@lru_cache(maxsize=1)
def own():
    """The classes of the contributor's guide."""
    page = Path(__file__).parents[2] / "CONTRIBUTING.md"
    namespace = {"__name__": "guide"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), namespace)
    return SimpleNamespace(**namespace)


@lru_cache(maxsize=8)
def rows(n=2000, height=0.5, seed=1):
    return own().CylinderVonMises().sample(n, own().Above(height), random_state=seed, **TRUTH)


def within(fit, theta=THETA, errors=4.0):
    return np.all(np.abs(fit.natural_params_ - theta) < errors * np.sqrt(np.diag(fit.covariance_)))


WEIGHTS = ["auto", "geodesic", "saturating", "normal", "combined"]


@pytest.mark.parametrize("weight", WEIGHTS)
def test_every_weight_that_applies(weight):
    model, region = own().CylinderVonMises(), own().Above(0.5)
    fit = tmsm.ScoreMatching(model, region, weight).fit(rows())
    assert within(fit)
    assert fit.goodness_of_fit_.p_value > 0.001
    low, high = fit.confidence_interval().precision
    assert low < 1.0 < high
    assert "precision" in fit.summary()
    # New rows prefer this fit to that of rows from the other side of the cylinder.
    other = tmsm.ScoreMatching(model, region, weight).fit(rows() * [-1.0, -1.0, 1.0])
    assert fit.score(rows(500, seed=2)) > other.score(rows(500, seed=2))
    # On the rows of the fit a score is too good by the optimism, which the criterion takes off.
    assert fit.information_criterion_ > -fit.score(rows())


def test_functions_of_a_user_on_a_manifold_of_a_user():
    """The region and the family by functions alone: their derivatives need `acceleration`."""
    import jax.numpy as jnp

    def above(x):
        return x[2] - 0.5

    def statistics(x):
        return jnp.stack([x[0], x[1], x[2] - 0.5 * x[2] ** 2])

    cylinder = own().Cylinder()
    family = tmsm.ExponentialFamily(statistics, cylinder)
    X = rows(500)
    V = cylinder.project_tangent(X, np.random.default_rng(0).standard_normal(X.shape))
    np.testing.assert_allclose(family.hessian(X, V), own().CylinderVonMises().hessian(X, V), atol=1e-12)
    by_functions = tmsm.ScoreMatching(family, tmsm.Implicit(above, cylinder)).fit(rows())
    assert within(by_functions)
    # The same border with the same weight is the same estimate.
    same = tmsm.ScoreMatching(family, own().Above(0.5), "saturating").fit(rows())
    by_hand = tmsm.ScoreMatching(own().CylinderVonMises(), own().Above(0.5), "saturating").fit(rows())
    np.testing.assert_allclose(same.natural_params_, by_hand.natural_params_, rtol=1e-9)


def test_a_wrong_border_is_noticed():
    """Negative control: rows that stop at another height than the region says."""
    fit = tmsm.ScoreMatching(own().CylinderVonMises(), own().Above(-0.5), "saturating").fit(rows())
    assert fit.goodness_of_fit_.p_value < 1e-6
    assert not within(fit, errors=3.0)


REFUSED = {
    "projected": "The projected distance is not defined for Above",
    "chordal": "the straight-line distance is not a function of the geodesic one",
    "componentwise": "needs faces across orthogonal axes, which Above does not have",
}


@pytest.mark.parametrize("weight", REFUSED)
def test_a_weight_that_does_not_apply_says_why(weight):
    with pytest.raises(ValueError, match=REFUSED[weight]):
        tmsm.ScoreMatching(own().CylinderVonMises(), own().Above(0.5), weight).fit(rows())


def exact_loss(X, theta, height):
    """Minus the mean log density: von Mises round the cylinder, a normal one of mean one that is cut off along it."""
    from scipy.special import ive, log_ndtr

    lean, z = X[:, :2].mean(axis=0), X[:, 2]
    kappa, root = np.hypot(*theta[:2]), np.sqrt(theta[2])
    round_it = np.log(2 * np.pi * ive(0, kappa)) + kappa - theta[:2] @ lean
    along = 0.5 * root**2 * np.mean((z - 1.0) ** 2) - np.log(root / np.sqrt(2 * np.pi))
    return round_it + along + log_ndtr(-(height - 1.0) * root)


def exact_likelihood(X, height):
    """θ at the maximum, by SciPy."""
    from scipy.optimize import minimize

    def natural(x):
        return np.array([*x[:2], np.exp(x[2])])

    found = minimize(
        lambda x: exact_loss(X, natural(x), height), [1.0, 1.0, 0.0], method="BFGS", options={"gtol": 1e-9}
    )
    return natural(found.x)


def test_exact_likelihood_through_the_charts_of_the_manifold():
    model, region = own().CylinderVonMises(), own().Above(0.5)
    fit = tmsm.TruncatedMLE(model, region).fit(rows())
    np.testing.assert_allclose(fit.natural_params_, exact_likelihood(rows(), 0.5), rtol=2e-4, atol=2e-4)
    assert within(fit)
    assert fit.quadrature_error_ < 0.05
    new = rows(500, seed=2)
    assert fit.score(new) == pytest.approx(-exact_loss(new, fit.natural_params_, 0.5), abs=1e-4)
    refined = tmsm.ScoreMatching(model, region, refine="mle").fit(rows())
    np.testing.assert_allclose(refined.natural_params_, fit.natural_params_, atol=0.02)


def test_tests_resamples_groups_and_comparison():
    model, region, X = own().CylinderVonMises(), own().Above(0.5), rows(600)
    fit = tmsm.ScoreMatching(model, region).fit(X)
    assert tmsm.stein_test(fit, X, n_resamples=99).p_value > 0.01
    spread = fit.bootstrap(X, 40, random_state=0, n_jobs=1).std_errors
    np.testing.assert_allclose(spread.precision, fit.std_errors_.precision, rtol=0.5)
    grouped = tmsm.ScoreMatching(model, region).fit(np.repeat(X, 3, axis=0), groups=np.repeat(np.arange(600), 3))
    np.testing.assert_allclose(grouped.std_errors_.precision, fit.std_errors_.precision, rtol=0.2)
    table = tmsm.compare([fit, tmsm.ScoreMatching(model, region, own().Capped()).fit(X)])
    assert len(table) == 2
    assert "ScoreMatching" in str(table)
    stream = tmsm.ScoreMatching(model, region, own().Capped()).partial_fit(X[:300]).partial_fit(X[300:])
    whole = tmsm.ScoreMatching(model, region, own().Capped()).fit(X)
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-6)


def test_pictures(tmp_path):
    fit = tmsm.ScoreMatching(own().CylinderVonMises(), own().Above(0.5)).fit(rows())
    display = fit.plot()
    assert display.ax_.get_xlabel() == "angle"
    assert display.ax_.get_ylabel() == "z"
    drawn = display.view_.forward(rows()[:5])
    np.testing.assert_allclose(np.cos(drawn[:, 0]), rows()[:5, 0], atol=1e-12)
    assert display.legend_.get_texts()[0].get_text() == "rows (2,000)"
    panels = fit.plot_diagnostics().axes_
    assert [panel.get_xlabel() for panel in panels] == ["distance to the border"]
    with pytest.raises(ValueError, match="for the sphere S²"):
        fit.plot(view="globe")
    with pytest.raises(ValueError, match="A report has a globe"):
        tmsm.report.html_report({"fit": fit}, title="x")


def test_bare_points_of_a_border_by_the_distance_along_the_manifold():
    """The nearest point through the embedding space is another one than along the cylinder."""
    cylinder = own().Cylinder()
    points = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 2.3]])
    region = tmsm.BorderPoints(points, manifold=cylinder)
    X = np.array([[1.0, 0.0, 0.0]])
    d, gradient = region.border_distance(X)
    np.testing.assert_allclose(d, 2.3)  # not π, though the chord of length two is shorter
    np.testing.assert_allclose(gradient, [[0.0, 0.0, -1.0]], atol=1e-12)
    dense = np.column_stack([*_circle(400), np.full(400, 0.5)])
    border = tmsm.BorderPoints(dense, contains=lambda X: X[:, 2] > 0.5, manifold=cylinder)
    fit = tmsm.ScoreMatching(own().CylinderVonMises(), border, "saturating").fit(rows())
    assert within(fit)


def _circle(m):
    turn = np.linspace(0.0, 2.0 * np.pi, m, endpoint=False)
    return np.cos(turn), np.sin(turn)


def test_combinations_of_regions_of_ones_own():
    band = own().Above(0.5) & ~own().Above(2.0)
    X = own().CylinderVonMises().sample(1500, band, random_state=3, **TRUTH)
    assert within(tmsm.ScoreMatching(own().CylinderVonMises(), band).fit(X))


def test_what_is_not_offered_gives_a_sentence():
    class Bare(Manifold):
        """A circle times a line that offers nothing beyond what it must."""

        dim = 2
        embedding_dim = 3
        contains = own().Cylinder.contains
        complaint = own().Cylinder.complaint
        project_tangent = own().Cylinder.project_tangent
        coordinate_laplacian = own().Cylinder.coordinate_laplacian
        geodesic_distance = own().Cylinder.geodesic_distance

        def _value(self):
            return (Bare,)

        def __repr__(self):
            return "Bare()"

    class Upper(Region):
        """Above the height of a half, on it."""

        manifold = Bare()

        def signed_distance(self, X):
            gradient = np.zeros_like(X)
            gradient[:, 2] = 1.0
            return X[:, 2] - 0.5, gradient

        def _value(self):
            return (Upper,)

        def __repr__(self):
            return "Upper()"

    class Family(own().CylinderVonMises):
        home = Manifold

    fit = tmsm.ScoreMatching(Family(), Upper()).fit(rows())
    assert within(fit)
    assert "Saturating" in fit.summary()
    with pytest.raises(ValueError, match=r"no picture of a fit on Bare\(\): it has no chart"):
        fit.plot()
    with pytest.raises(ValueError, match="has no exponential map"):
        Upper.manifold.exponential(rows()[:1], rows()[:1])
    with pytest.raises(ValueError, match="no uniform distribution on all of Bare"):
        tmsm.check_model(Family(), Bare())
    with pytest.raises(ValueError, match="has no logarithm"):
        tmsm.BorderPoints(rows()[:5], manifold=Bare()).border_distance(rows()[5:6])
    # Without charts the likelihood has nodes that are drawn.
    drawn = tmsm.TruncatedMLE(Family(), Upper()).fit(rows())
    np.testing.assert_allclose(drawn.natural_params_, exact_likelihood(rows(), 0.5), atol=0.05)
    with pytest.raises(ValueError, match="Family may live on several manifolds: say which by"):
        tmsm.NaiveMLE(Family()).fit(rows())
    with pytest.raises(ValueError, match="has no likelihood on the whole manifold"):
        tmsm.NaiveMLE(Family().on(Bare())).fit(rows())


def heavy_rows(n, seed, region):
    """Draws by rejection from the uniform distribution."""
    rng = np.random.default_rng(seed)
    theta, model, kept = 20.0 * HEAVY_MEAN, own().HeavyTail(), []
    while sum(map(len, kept)) < n:
        X = tmsm.Sphere(2).uniform(200_000, rng)
        X = X[region.contains(X)]
        highest = model.log_kernel(HEAVY_MEAN[None, :], theta)[0]
        kept.append(X[np.log(rng.random(len(X))) < model.log_kernel(X, theta) - highest])
    return np.concatenate(kept)[:n]


HEAVY_MEAN = np.array([0.6, 0.0, 0.8])


@pytest.mark.parametrize(
    "region",
    [tmsm.Cap([0.0, 0.0, 1.0], 0.8), pytest.param(tmsm.LonLatBox(-40, 20, 60, 80), marks=pytest.mark.slow)],
    ids=repr,
)
def test_a_density_that_is_not_linear_in_its_parameters(region):
    X = heavy_rows(3000, 5, region)
    fit = tmsm.ScoreMatching(own().HeavyTail(), region).fit(X)
    assert within(fit, 20.0 * HEAVY_MEAN)
    assert fit.goodness_of_fit_.p_value > 0.001
    # A von Mises–Fisher density does not have such tails: rejected, and wrong.
    wrong = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(X)
    assert wrong.goodness_of_fit_.p_value < 1e-3
    table = tmsm.compare([wrong, fit])
    assert table[0].name.startswith("ScoreMatching: HeavyTail")
    assert tmsm.stein_test(fit, X[:3000], n_resamples=99).p_value > 0.01
    assert "Newton's method from 3 starts, all of which lead to it" in fit.status_
    assert fit.score(X) > wrong.score(X)
    for likelihood in (
        tmsm.TruncatedMLE(own().HeavyTail(), region).fit(X),
        tmsm.ScoreMatching(own().HeavyTail(), region, refine="mle").fit(X),
    ):
        assert within(likelihood, 20.0 * HEAVY_MEAN)
        assert likelihood.std_errors_.concentration < fit.std_errors_.concentration


def test_what_a_density_that_is_not_linear_cannot_have():
    region = tmsm.Cap([0.0, 0.0, 1.0], 0.8)
    X = heavy_rows(300, 6, region)
    heavy = own().HeavyTail()
    with pytest.raises(ValueError, match="Combined weights need a density that is linear"):
        tmsm.ScoreMatching(heavy, region, "combined").fit(X)
    with pytest.raises(ValueError, match="HeavyTail is not linear in its parameters: its rows are needed again"):
        tmsm.ScoreMatching(heavy, region).partial_fit(X)
    with pytest.raises(TypeError, match="its integral over the whole manifold is not known: use ScoreMatching"):
        tmsm.NaiveMLE(heavy).fit(X)
    spread = tmsm.ScoreMatching(heavy, region).fit(X).bootstrap(X, 3, random_state=0, n_jobs=1).std_errors
    assert spread.concentration > 0.0


@pytest.mark.slow
@pytest.mark.statistical
def test_coverage_of_a_density_that_is_not_linear():
    region, covered = tmsm.Cap([0.0, 0.0, 1.0], 0.8), []
    for seed in range(40):
        fit = tmsm.ScoreMatching(own().HeavyTail(), region).fit(heavy_rows(400, 100 + seed, region))
        low, high = fit.confidence_interval().concentration
        covered.append(low <= 20.0 <= high)
    # 95 % of 40, to three standard errors.
    assert np.mean(covered) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


def test_a_source_of_ones_own_is_read_like_an_array():
    model, region, X = own().CylinderVonMises(), own().Above(0.5), rows()
    source = own().Parts(X[:300], X[300:301], X[301:])
    for weight in ("auto", "saturating", "combined"):
        one = tmsm.ScoreMatching(model, region, weight).fit(source)
        other = tmsm.ScoreMatching(model, region, weight).fit(X)
        np.testing.assert_allclose(one.natural_params_, other.natural_params_, rtol=1e-8)
        np.testing.assert_allclose(one.covariance_, other.covariance_, rtol=1e-6)
        assert one.status_ == other.status_
    fit = tmsm.TruncatedMLE(model, region).fit(source)
    np.testing.assert_allclose(fit.natural_params_, tmsm.TruncatedMLE(model, region).fit(X).natural_params_, rtol=1e-8)
    with pytest.raises(ValueError, match="brings its own weights and groups"):
        tmsm.ScoreMatching(model, region).fit(source, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="does not take groups"):
        tmsm.ScoreMatching(model, region).fit(source, groups=np.arange(len(X)))
    with pytest.raises(ValueError, match="2,000 rows of 3 columns; points on"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), tmsm.Box([0.0], [1.0])).fit(source)
