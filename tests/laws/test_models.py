import copy
import pickle

import numpy as np
import pytest

import tmsm
from tests.registry import DENSITIES, MODELS, model_id, public_names, random_tangents, sampled
from tmsm.models import LinearModel, Unrestricted
from tmsm.models.tangents import FactorTangent, Tangent

EVERY_MODEL = pytest.mark.parametrize("entry", MODELS, ids=model_id)


def each_of(entries):
    """Of every kind of model one always, the others in the full run: for what takes large samples."""
    kinds = sampled([(entry,) for entry in entries], lambda entry: type(entry[0]))
    return pytest.mark.parametrize("entry", kinds, ids=model_id)


def draws(entry, n=40, seed=0):
    model, params = entry
    X = model.sample(n, random_state=seed, **params)
    return X, model.manifold


@EVERY_MODEL
def test_derivatives_agree_with_finite_differences(entry):
    """The law is `check_model` itself; tests/contract/test_model_check.py shows that it finds what is wrong."""
    model, _ = entry
    report = tmsm.check_model(model, model.manifold, n=40)
    assert "all derivatives agree" in str(report)
    assert set(report.deviations) >= {"gradient", "hessian", "laplacian", "gradient is tangent", "weighted_hessian"}
    assert max(report.deviations.values()) < 1e-5


@EVERY_MODEL
def test_hessian_is_quadratic_in_the_direction(entry):
    model, _ = entry
    X, manifold = draws(entry)
    V = random_tangents(manifold, X)
    np.testing.assert_allclose(model.hessian(X, 2.0 * V), 4.0 * model.hessian(X, V), rtol=1e-12, atol=1e-13)


@EVERY_MODEL
def test_contractions_agree_with_their_defaults(entry):
    model, params = entry
    X, manifold = draws(entry)
    rng = np.random.default_rng(3)
    V = random_tangents(manifold, X) * rng.uniform(0.1, 3.0, (len(X), 1))
    U = random_tangents(manifold, X, 5)
    w, c = rng.uniform(0, 2, len(X)), rng.standard_normal(len(X))
    theta = model.natural_parameters(**params)
    np.testing.assert_allclose(model.gradient_dot(X, V), LinearModel.gradient_dot(model, X, V), atol=1e-12)
    np.testing.assert_allclose(model.log_gradient(X, theta), LinearModel.log_gradient(model, X, theta), atol=1e-12)
    for weight in (w, 1.0, 2.5):
        np.testing.assert_allclose(
            model.gradient_gram(X, weight), LinearModel.gradient_gram(model, X, weight), atol=1e-10
        )
        np.testing.assert_allclose(
            model.weighted_hessian(X, weight, [(U, c)]),
            LinearModel.weighted_hessian(model, X, weight, [(U, c)]),
            atol=1e-12,
        )


@EVERY_MODEL
def test_shortcuts_of_whole_equations_agree_with_their_defaults(entry):
    model, _ = entry
    X, manifold = draws(entry)
    rng = np.random.default_rng(4)
    U, V = random_tangents(manifold, X, 5), random_tangents(manifold, X) * 2.0
    a, c, w = rng.uniform(0, 2, len(X)), rng.standard_normal(len(X)), rng.uniform(0, 1, len(X))
    compare_contractions(model, Tangent, X, a, U, V, c, w)
    for k, own in enumerate(manifold.columns if len(manifold.factors) > 1 else ()):
        factor = manifold.factors[k]
        u, v = random_tangents(factor, X[:, own], 6), random_tangents(factor, X[:, own], 7)
        piece, plain = model.in_factor(manifold, k), Tangent.in_factor(model, manifold, k)
        compare_contractions(piece, FactorTangent, X, a, u, v, c, w)
        np.testing.assert_allclose(piece.gradient_dot(X, v), plain.gradient_dot(X, v), atol=1e-11)
        np.testing.assert_allclose(piece.gradient_gram(X, a), plain.gradient_gram(X, a), atol=1e-10)
        np.testing.assert_allclose(
            piece.weighted_hessian(X, a, [(u, c)]), plain.weighted_hessian(X, a, [(u, c)]), atol=1e-10
        )
        out = np.ones((len(X), model.size))
        piece.add_residuals(out, X, a, [(u, c)], v)
        np.testing.assert_allclose(out, 1.0 + plain.residual_rows(X, a, [(u, c)], v), atol=1e-10)


def compare_contractions(model, kind, X, a, u, v, c, w):
    np.testing.assert_allclose(model.direction_gram(X, u, c), kind.direction_gram(model, X, u, c), atol=1e-10)
    for isotropic in (a, 1.5):
        np.testing.assert_allclose(
            model.residual_rows(X, isotropic, [(u, c)], v),
            kind.residual_rows(model, X, isotropic, [(u, c)], v),
            atol=1e-10,
        )
        triples = [(u, c, w), (v, None, 1.0)]
        for weight in (w, None):
            np.testing.assert_allclose(
                model.divergence_sum(X, isotropic, triples, weight),
                kind.divergence_sum(model, X, isotropic, triples, weight),
                atol=1e-10,
            )


@EVERY_MODEL
def test_parameters_and_natural_parameters_are_inverse(entry):
    model, params = entry
    theta = model.natural_parameters(**params)
    assert theta.shape == (model.size,)
    back = model.parameters(theta)
    assert list(back) == [field.name for field in model.fields]
    for name, value in params.items():
        np.testing.assert_allclose(back[name], value, atol=1e-12)
    np.testing.assert_allclose(model.natural_parameters(**back), theta, rtol=1e-12)


@EVERY_MODEL
def test_parameter_jacobian_agrees_with_finite_differences(entry):
    model, params = entry
    theta = model.natural_parameters(**params)
    tangent = model.constraint.tangent(theta)
    jacobian = model.parameter_jacobian(theta)
    h = 1e-6
    for direction in tangent.T:
        ahead, behind = (model.parameters(theta + s * h * direction) for s in (1, -1))
        for name in ahead:
            slope = (np.ravel(ahead[name]) - np.ravel(behind[name])) / (2 * h)
            np.testing.assert_allclose(jacobian[name] @ direction, slope, atol=1e-7)


@EVERY_MODEL
def test_constraint_contains_the_truth_and_its_tangent_is_orthonormal(entry):
    model, params = entry
    theta = model.natural_parameters(**params)
    constraint = model.constraint
    T = constraint.tangent(theta)
    assert T.shape == (theta.size, constraint.n_free)
    np.testing.assert_allclose(T.T @ T, np.eye(constraint.n_free), atol=1e-13)


@each_of(MODELS)
def test_fisher_information_is_the_covariance_of_the_statistics(entry):
    model, params = entry
    n = 200_000
    X, _ = draws(entry, n, seed=11)
    t = model.statistics(X)
    mean, information = model.expectation(model.natural_parameters(**params))
    assert (np.abs(t.mean(0) - mean) < 5 * t.std(0) / np.sqrt(n) + 1e-12).all()
    # Mean and standard deviation of the products (t_i − t̄_i)(t_j − t̄_j) over the rows.
    away = t - t.mean(0)
    product, square = away.T @ away / n, (away**2).T @ away**2 / n
    error = np.sqrt(np.maximum(square - product**2, 0.0) / n)
    assert (np.abs(product - information) < 5 * error + 1e-12).all()


@each_of([entry for entry in MODELS if isinstance(entry[0].constraint, Unrestricted)])
def test_naive_likelihood_inverts_the_mean_of_the_statistics(entry):
    model, _ = entry
    X, _ = draws(entry, 300, seed=2)
    mean = model.statistics(X).mean(0)
    theta = model.maximise_likelihood(mean)
    # At the maximum the model's mean of t, here that of a large sample from it, is the data's.
    t = model.statistics(model.sample(400_000, random_state=5, **model.parameters(theta)))
    assert (np.abs(t.mean(0) - mean) < 5 * t.std(0) / np.sqrt(len(t))).all()


@EVERY_MODEL
def test_models_are_values(entry):
    model, _ = entry
    assert model == pickle.loads(pickle.dumps(model))
    assert hash(model) == hash(pickle.loads(pickle.dumps(model)))
    assert copy.deepcopy(model) is model
    # What a repr does not say, the manifold, is what the model is bound to.
    rebuilt = eval(repr(model), public_names() | vars(tmsm.models))
    assert rebuilt.on(model.manifold) == model


@EVERY_MODEL
def test_sampling_is_reproducible_and_exact_in_number(entry):
    model, params = entry
    X = model.sample(7, random_state=4, **params)
    np.testing.assert_array_equal(X, model.sample(7, random_state=np.random.default_rng(4), **params))
    assert not np.array_equal(X, model.sample(7, random_state=5, **params))
    assert model.sample(0, **params).shape == (0, X.shape[1])
    assert model.manifold.contains(X).all()


@pytest.mark.parametrize("name", DENSITIES)
def test_derivatives_of_any_density_agree_with_finite_differences(name):
    model = DENSITIES[name]()
    report = tmsm.check_model(model, model.manifold if model.is_bound else model.home, n=40)
    assert set(report.deviations) >= {"log_gradient", "log_hessian", "log_laplacian", "tangent.gradient_dot"}
    assert max(report.deviations.values()) < 1e-5
