import copy
import pickle

import numpy as np
import pytest

import tmsm
from tests.registry import MODELS, model_id, random_tangents, tangent_basis, walk
from tmsm.models import Model, Unrestricted

EVERY_MODEL = pytest.mark.parametrize("entry", MODELS, ids=model_id)


def draws(entry, n=40, seed=0):
    model, params = entry
    X = model.sample(n, random_state=seed, **params)
    return X, model.whole_manifold(X.shape[1])


@EVERY_MODEL
def test_gradient_is_tangent_and_agrees_with_finite_differences(entry):
    model, _ = entry
    X, manifold = draws(entry)
    V, h = random_tangents(manifold, X), 1e-5
    slope = (model.statistics(walk(manifold, X, V, h)) - model.statistics(walk(manifold, X, V, -h))) / (2 * h)
    gradient = model.gradient(X)
    np.testing.assert_allclose(np.einsum("npd,nd->np", gradient, V), slope, atol=1e-8)
    for a in range(gradient.shape[1]):
        np.testing.assert_allclose(manifold.project_tangent(X, gradient[:, a]), gradient[:, a], atol=1e-13)


@EVERY_MODEL
def test_hessian_and_laplacian_agree_with_finite_differences(entry):
    model, _ = entry
    X, manifold = draws(entry)
    h = 1e-4

    def second(V):
        t = model.statistics
        return (t(walk(manifold, X, V, h)) - 2 * t(X) + t(walk(manifold, X, V, -h))) / h**2

    V = random_tangents(manifold, X)
    np.testing.assert_allclose(model.hessian(X, V), second(V), atol=3e-6)
    np.testing.assert_allclose(model.hessian(X, 2.0 * V), 4.0 * model.hessian(X, V), rtol=1e-12)
    bases = np.array([tangent_basis(manifold, x) for x in X])
    total = sum(second(bases[:, k]) for k in range(manifold.dim))
    np.testing.assert_allclose(model.laplacian(X), total, atol=1e-5)


@EVERY_MODEL
def test_contractions_agree_with_their_defaults(entry):
    model, params = entry
    X, manifold = draws(entry)
    rng = np.random.default_rng(3)
    V = random_tangents(manifold, X) * rng.uniform(0.1, 3.0, (len(X), 1))
    U = random_tangents(manifold, X, 5)
    w, c = rng.uniform(0, 2, len(X)), rng.standard_normal(len(X))
    theta = model.natural_parameters(**params)
    np.testing.assert_allclose(model.gradient_dot(X, V), Model.gradient_dot(model, X, V), atol=1e-12)
    np.testing.assert_allclose(model.log_gradient(X, theta), Model.log_gradient(model, X, theta), atol=1e-12)
    for weight in (w, 1.0, 2.5):
        np.testing.assert_allclose(model.gradient_gram(X, weight), Model.gradient_gram(model, X, weight), atol=1e-10)
        np.testing.assert_allclose(
            model.weighted_hessian(X, weight, [(U, c)]), Model.weighted_hessian(model, X, weight, [(U, c)]), atol=1e-12
        )


@EVERY_MODEL
def test_parameters_and_natural_parameters_are_inverse(entry):
    model, params = entry
    theta = model.natural_parameters(**params)
    D = draws(entry, 1)[0].shape[1]
    assert theta.shape == (model.n_statistics(D),)
    back = model.parameters(theta, D)
    assert list(back) == [field.name for field in model.fields]
    for name, value in params.items():
        np.testing.assert_allclose(back[name], value, atol=1e-12)
    np.testing.assert_allclose(model.natural_parameters(**back), theta, rtol=1e-12)


@EVERY_MODEL
def test_parameter_jacobian_agrees_with_finite_differences(entry):
    model, params = entry
    D = draws(entry, 1)[0].shape[1]
    theta = model.natural_parameters(**params)
    tangent = model.constraint(D).tangent(theta)
    jacobian = model.parameter_jacobian(theta, D)
    h = 1e-6
    for direction in tangent.T:
        ahead, behind = (model.parameters(theta + s * h * direction, D) for s in (1, -1))
        for name in ahead:
            slope = (np.ravel(ahead[name]) - np.ravel(behind[name])) / (2 * h)
            np.testing.assert_allclose(jacobian[name] @ direction, slope, atol=1e-7)


@EVERY_MODEL
def test_constraint_contains_the_truth_and_its_tangent_is_orthonormal(entry):
    model, params = entry
    theta = model.natural_parameters(**params)
    constraint = model.constraint(draws(entry, 1)[0].shape[1])
    T = constraint.tangent(theta)
    assert T.shape == (theta.size, constraint.n_free)
    np.testing.assert_allclose(T.T @ T, np.eye(constraint.n_free), atol=1e-13)


@EVERY_MODEL
def test_fisher_information_is_the_covariance_of_the_statistics(entry):
    model, params = entry
    n = 200_000
    X, _ = draws(entry, n, seed=11)
    t = model.statistics(X)
    mean, information = model.expectation(model.natural_parameters(**params), X.shape[1])
    assert (np.abs(t.mean(0) - mean) < 5 * t.std(0) / np.sqrt(n) + 1e-12).all()
    products = (t - t.mean(0))[:, :, None] * (t - t.mean(0))[:, None, :]
    error = products.std(axis=0) / np.sqrt(n)
    assert (np.abs(products.mean(0) - information) < 5 * error + 1e-12).all()


@pytest.mark.parametrize(
    "entry", [entry for entry in MODELS if isinstance(entry[0].constraint(2), Unrestricted)], ids=model_id
)
def test_naive_likelihood_inverts_the_mean_of_the_statistics(entry):
    model, _ = entry
    X, _ = draws(entry, 300, seed=2)
    D = X.shape[1]
    mean = model.statistics(X).mean(0)
    theta = model.maximise_likelihood(mean, D)
    # At the maximum the model's mean of t, here that of a large sample from it, is the data's.
    t = model.statistics(model.sample(400_000, random_state=5, **model.parameters(theta, D)))
    assert (np.abs(t.mean(0) - mean) < 5 * t.std(0) / np.sqrt(len(t))).all()


@EVERY_MODEL
def test_models_are_values(entry):
    model, _ = entry
    assert model == pickle.loads(pickle.dumps(model))
    assert hash(model) == hash(pickle.loads(pickle.dumps(model)))
    assert copy.deepcopy(model) is model
    assert eval(repr(model), vars(tmsm) | vars(tmsm.models)) == model


@EVERY_MODEL
def test_sampling_is_reproducible_and_exact_in_number(entry):
    model, params = entry
    X = model.sample(7, random_state=4, **params)
    np.testing.assert_array_equal(X, model.sample(7, random_state=np.random.default_rng(4), **params))
    assert not np.array_equal(X, model.sample(7, random_state=5, **params))
    assert model.sample(0, **params).shape == (0, X.shape[1])
    assert model.whole_manifold(X.shape[1]).contains(X).all()
