"""Products of families against their factors, other units, and integrals by brute force."""

import pickle

import numpy as np
import pytest

import tmsm
from scenarios import direction_energy
from scenarios.direction_energy import MODEL, SETTINGS, from_other_units, region, sample
from tests.registry import unit
from tmsm.models import InteractingModel, ProductModel
from tmsm.models.base import Tangent
from tmsm.weights import Blocks, Componentwise, Normal

SPHERE, LINE, CIRCLE = tmsm.Sphere(2), tmsm.Euclidean(1), tmsm.Sphere(1)
VMF, NORMAL = tmsm.VonMisesFisher(), tmsm.MultivariateNormal()
KENT = {"mean_direction": unit(0.3, 0.2, 1), "major_axis": unit(1, 0, -0.3), "minor_axis": unit(0, 1, 0)}
CAP, ABOVE = tmsm.Cap([0.0, 0.0, 1.0], 0.8), tmsm.Box([0.0], [np.inf])


def rows(n=1500):
    """Kent directions beside normal numbers, seen in a cap and above zero."""
    rng = np.random.default_rng(4)
    frame, _ = np.linalg.qr(np.column_stack([KENT["mean_direction"], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    frame[:, 0] *= np.sign(frame[2, 0])
    axes = {"mean_direction": frame[:, 0], "major_axis": frame[:, 1], "minor_axis": np.cross(*frame[:, :2].T)}
    directions = tmsm.Kent().sample(n, CAP, random_state=rng, concentration=12.0, ovalness=3.0, **axes)
    numbers = NORMAL.sample(n, ABOVE, random_state=rng, mean=[0.7], covariance=[[0.8]])
    return np.hstack([directions, numbers])


@pytest.mark.parametrize("first", [VMF, tmsm.Kent(), tmsm.VonMisesFisher(8.0), tmsm.FisherBingham()], ids=repr)
def test_a_fit_of_independent_factors_is_that_of_each(first):
    X = rows()
    both = tmsm.ScoreMatching(first * NORMAL, CAP * ABOVE, Blocks((Normal(), Componentwise()))).fit(X)
    left = tmsm.ScoreMatching(first, CAP, Normal()).fit(X[:, :3])
    right = tmsm.ScoreMatching(NORMAL, ABOVE, Componentwise()).fit(X[:, 3:])
    p = left.natural_params_.size
    # Errors allow for the number of parameters that were estimated.
    free = [fit.result_.model.constraint.n_free for fit in (both, left, right)]
    first_ratio, second_ratio = ((len(X) - free[0]) / (len(X) - k) for k in free[1:])
    for found, wanted in (
        (both.natural_params_[:p], left.natural_params_),
        (both.natural_params_[p:], right.natural_params_),
        (both.covariance_[:p, :p] * first_ratio, left.covariance_),
        (both.covariance_[p:, p:] * second_ratio, right.covariance_),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * np.abs(wanted).max())
    assert abs(both.covariance_[:p, p:]).max() > 0.0  # the same rows
    for name in left.params_:
        np.testing.assert_allclose(both.params_[name], left.params_[name], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(
            both.std_errors_[name] * np.sqrt(first_ratio), left.std_errors_[name], rtol=1e-8, atol=1e-12
        )


def test_a_profile_of_one_factor_is_the_factors_own():
    X = rows()
    both = tmsm.ScoreMatching(VMF * NORMAL, CAP * ABOVE, Blocks((Normal(), Componentwise()))).fit(X)
    alone = tmsm.ScoreMatching(VMF, CAP, Normal()).fit(X[:, :3])
    np.testing.assert_allclose(
        both.confidence_interval().concentration, alone.confidence_interval().concentration, rtol=1e-3
    )


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 0.0), (1e-3, 0.0), (2.5, -3.0)])
@pytest.mark.parametrize("weight", ["auto", Blocks((Normal(), Componentwise()))], ids=["auto", "blocks"])
def test_other_units_of_the_energy_change_nothing(weight, scale, shift):
    X, threshold = sample(3000, "mean inside", 0), SETTINGS["mean inside"][1]
    other = np.column_stack([X[:, :3], scale * X[:, 3] + shift])
    one = tmsm.ScoreMatching(MODEL, region(threshold), weight).fit(X)
    same = tmsm.ScoreMatching(MODEL, region(threshold, scale, shift), weight).fit(other)
    back = from_other_units(scale, shift)
    np.testing.assert_allclose(back @ same.natural_params_, one.natural_params_, rtol=1e-9, atol=1e-9)
    covariance = back @ same.covariance_ @ back.T
    np.testing.assert_allclose(covariance, one.covariance_, rtol=1e-9, atol=1e-9 * np.abs(one.covariance_).max())


@pytest.mark.parametrize("model", [(VMF * NORMAL).on(SPHERE * LINE), MODEL, (VMF * NORMAL).interacting()], ids=repr)
def test_functions_of_one_factor_agree_with_those_of_all(model):
    manifold, rng = SPHERE * LINE, np.random.default_rng(0)
    model = model.on(manifold)
    X, w = manifold.scattered(40, rng), rng.uniform(0.5, 1.5, 40)
    for k, (factor, own) in enumerate(zip(manifold.factors, manifold.columns, strict=True)):
        V = factor.project_tangent(X[:, own], rng.standard_normal((40, factor.embedding_dim)))
        V /= np.linalg.norm(V, axis=1)[:, None]
        fast, slow = model.in_factor(manifold, k), Tangent.in_factor(model, manifold, k)
        np.testing.assert_allclose(fast.gradient_dot(X, V), slow.gradient_dot(X, V), atol=1e-12)
        np.testing.assert_allclose(fast.gradient_gram(X, w), slow.gradient_gram(X, w), atol=1e-10)
        np.testing.assert_allclose(
            fast.weighted_hessian(X, w, [(V, -w)]), slow.weighted_hessian(X, w, [(V, -w)]), atol=1e-11
        )


def test_the_integral_over_a_circle_and_a_line_is_that_of_a_grid():
    """Also where the interaction makes the line's variance depend on the angle."""
    model = (VMF * NORMAL).interacting().on(CIRCLE * LINE)
    theta = model.natural_parameters(first=[1.0, 0.5], second=[1.0, 4.0], interaction=[[1.0, 0.5], [-0.5, 1.0]])
    angle, y = np.linspace(0, 2 * np.pi, 400, endpoint=False), np.linspace(-12, 12, 2001)
    grid = np.array(np.meshgrid(angle, y)).reshape(2, -1)
    X = np.column_stack([np.cos(grid[0]), np.sin(grid[0]), grid[1]])
    t = model.statistics(X)
    density = np.exp(t @ theta) * (2 * np.pi / 400) * (24 / 2000)
    assert model.log_normaliser(theta) == pytest.approx(np.log(density.sum()), abs=1e-10)
    share = density / density.sum()
    mean, covariance = model.expectation(theta)
    np.testing.assert_allclose(mean, share @ t, atol=1e-9)
    np.testing.assert_allclose(covariance, (t - mean).T @ ((t - mean) * share[:, None]), atol=1e-9)
    np.testing.assert_allclose(model.maximise_likelihood(mean), theta, atol=1e-8)
    low, high = model.extent(theta)
    assert share[(low > X).any(axis=1) | (high < X).any(axis=1)].sum() < 1e-15


def test_without_an_interaction_it_is_the_product():
    plain, joined = (VMF * NORMAL).on(SPHERE * LINE), (VMF * NORMAL).interacting().on(SPHERE * LINE)
    theta = plain.natural_parameters(mean_direction=unit(1, 2, 2), concentration=4.0, mean=[30.0], covariance=[[0.01]])
    params = {"first": theta[:3], "second": theta[3:], "interaction": np.zeros((3, 2))}
    X = plain.sample(20, random_state=0, **plain.parameters(theta))
    np.testing.assert_allclose(
        joined.logpdf(X, **params), plain.logpdf(X, **plain.parameters(theta)), rtol=0, atol=1e-6
    )


def test_factors_of_the_manifold_go_to_the_models_in_order():
    model = (tmsm.SineVonMises() * VMF * NORMAL).on(tmsm.Torus(3) * SPHERE * LINE)
    assert [factor.manifold for factor in model.models] == [tmsm.Torus(3), SPHERE, LINE]
    # Two circles for the sine model, one for the other.
    assert [f.manifold for f in (tmsm.SineVonMises() * VMF).on(tmsm.Torus(3)).models] == [tmsm.Torus(2), CIRCLE]
    assert (VMF * VMF * NORMAL) == (VMF * (VMF * NORMAL)) == ProductModel((VMF, VMF, NORMAL))
    assert [field.name for field in (VMF * VMF).fields] == [
        "mean_direction_1", "concentration_1", "mean_direction_2", "concentration_2",
    ]  # fmt: skip
    assert pickle.loads(pickle.dumps(model)) == model


def test_a_product_on_a_flat_space_of_many_columns():
    nested = InteractingModel((VMF, VMF * NORMAL), second=[0, 1]).on(CIRCLE * CIRCLE * LINE)
    assert nested.size == 2 + 4 + 4
    tmsm.check_model(nested, nested.manifold)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: (VMF * NORMAL).on(SPHERE), "A product of 2 models lives on a product of as many manifolds"),
        (lambda: (VMF * NORMAL).on(LINE * SPHERE), "Factor 1 of 2 of the model, VonMisesFisher"),
        (lambda: (VMF * NORMAL).on(SPHERE * CIRCLE), "Factor 2 of 2 of the model, MultivariateNormal"),
        (lambda: (VMF * VMF * NORMAL).interacting(), "this product has 3"),
        (lambda: (tmsm.Kent() * NORMAL).interacting().on(SPHERE * LINE), "Factor 1 of 2, Kent.*restricts"),
        (lambda: (VMF * NORMAL).interacting(second=[2]).on(SPHERE * LINE), "second names statistic 2"),
        (lambda: (VMF * NORMAL).interacting(second=[0, 0]), "twice"),
        (lambda: (VMF * NORMAL).interacting(second=[]), "at least one"),
        (lambda: (VMF * NORMAL).interacting(second=0), "indices"),
        (lambda: (VMF * NORMAL).sample(3, mean_direction=[0, 0, 1.0], concentration=2.0), "mean must be given by name"),
        (lambda: (VMF * NORMAL).usual_manifold(4), "say which by its method on"),
        (lambda: ProductModel((VMF,)), "at least two"),
        (lambda: ProductModel((VMF, "normal")), "factor 2 of 2 is 'normal'"),
        (
            lambda: MODEL.sample(2, first=[0, 0, 1.0], second=[0.0, -1.0], interaction=np.zeros((3, 1))),
            "cannot be normalised",
        ),
        (lambda: MODEL.natural_parameters(first=[1.0], second=[0, 1.0], interaction=[[1.0]]), r"the shape \(3,\)"),
        (
            lambda: (VMF * VMF).interacting().on(SPHERE * SPHERE).sample(
                2, first=[0, 0, 1.0], second=[0, 0, 1.0], interaction=np.eye(3)
            ),
            "only where one of its two factors has dimension one",
        ),
    ],
)  # fmt: skip
def test_messages(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_bad_rows_name_the_factor():
    X = np.tile([0.0, 0.0, 1.0, 2.0], (30, 1))
    X[:, :3] = VMF.sample(30, CAP, random_state=0, mean_direction=[0, 0, 1.0], concentration=5.0)
    with pytest.raises(tmsm.errors.EstimationError):
        tmsm.NaiveMLE((VMF * NORMAL).on(SPHERE * LINE)).fit(X)


def test_the_setting_has_the_statistics_of_the_mathematics():
    X = direction_energy.sample(5, "mean inside", 0)
    x, y = X[:, :3], X[:, 3:]
    np.testing.assert_allclose(MODEL.statistics(X), np.hstack([x, y, -0.5 * y**2, x * y]))


def test_without_a_border_units_do_not_matter_either():
    model, space = (
        (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).interacting(second=[0]),
        tmsm.Sphere(2) * tmsm.Euclidean(1),
    )
    truth = {"first": [2.0, 0.0, 3.0], "second": [1.0, 4.0], "interaction": [[1.5], [-1.0], [0.5]]}
    X = model.on(space).sample(1000, random_state=0, **truth)
    plain, scaled = (tmsm.ScoreMatching(model, tmsm.Everywhere(space)).fit(X * [1, 1, 1, unit]) for unit in (1.0, 1e4))
    np.testing.assert_allclose(scaled.params_.interaction * 1e4, plain.params_.interaction, rtol=1e-9)
    np.testing.assert_allclose(scaled.params_.first, plain.params_.first, rtol=1e-9)
