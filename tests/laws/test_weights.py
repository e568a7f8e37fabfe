import copy
import pickle

import numpy as np
import pytest

import tmsm
from tests.registry import (
    IMPLICIT_PAIRS,
    PAIRS,
    chosen,
    inside_points,
    random_tangents,
    resolved,
    sampled,
    tangent_basis,
    walk,
)
from tmsm import weights
from tmsm.regions import BorderView

EVERY_PAIR = pytest.mark.parametrize(("case", "recipe"), sampled(PAIRS + IMPLICIT_PAIRS), ids=repr)


def tensor(region, weight, X):
    """W as explicit matrices (n, D, D)."""
    return explicit(region.manifold, weight.field(BorderView(region, X)), X)


def explicit(manifold, field, X):
    W = np.zeros((len(X), X.shape[1], X.shape[1]))
    if field.blocks:
        for own, block in field.blocks:
            W[:, own, own] = explicit(manifold.within(own), block, X[:, own])
        return W
    a = np.broadcast_to(field.isotropic, len(X))
    W += a[:, None, None] * sum(u[:, :, None] * u[:, None, :] for u in manifold.tangent_frame(X))
    for u, c in field.tensor_directions:
        W += c[:, None, None] * u[:, :, None] * u[:, None, :]
    return W


def divergence(region, weight, X):
    return weight.field(BorderView(region, X)).divergence(X)


@EVERY_PAIR
def test_tensor_is_positive_inside_and_tangent(case, recipe):
    weight = resolved(case, recipe)
    X = inside_points(case.region, 100)
    W = tensor(case.region, weight, X)
    np.testing.assert_allclose(W, np.swapaxes(W, 1, 2), atol=1e-14)
    values = np.linalg.eigvalsh(W)
    assert (values >= -1e-12).all()
    # Positive on the whole tangent space: all eigenvalues but the normal directions'.
    assert (values[:, X.shape[1] - case.region.manifold.dim] > 0).all()
    for x, matrix in zip(X[:10], W, strict=False):
        basis = tangent_basis(case.region.manifold, x)
        np.testing.assert_allclose(matrix, basis.T @ (basis @ matrix @ basis.T) @ basis, atol=1e-13)


@pytest.mark.parametrize(("case", "recipe"), sampled([pair for pair in PAIRS if pair[0].exact]), ids=repr)
def test_normal_component_vanishes_on_the_border(case, recipe):
    weight = resolved(case, recipe)
    X = inside_points(case.region, 60)
    d, gradient = case.region.border_distance(X)
    near = walk(case.region.manifold, X, -gradient, d - 1e-9)
    _, normal = case.region.border_distance(near)
    flux = weight.field(BorderView(case.region, near)).apply(normal)
    assert np.abs(flux).max() < 1e-7


@pytest.mark.parametrize(("case", "recipe"), IMPLICIT_PAIRS, ids=repr)
def test_normal_component_vanishes_where_the_functions_do(case, recipe):
    weight, manifold = resolved(case, recipe), case.region.manifold
    X = inside_points(case.region, 60)
    for _ in range(4):  # next to the border the way to it is known
        d, inward, _ = case.region.clearance(X)
        X = walk(manifold, X, -inward, np.minimum(d, 0.5) - 1e-9)
    d, normal, _ = case.region.clearance(X)
    near = np.abs(d - 1e-9) < 1e-10
    assert near.mean() > 0.5
    flux = weight.field(BorderView(case.region, X)).apply(normal)
    assert np.abs(flux[near]).max() < 1e-7


@EVERY_PAIR
def test_divergence_agrees_with_finite_differences(case, recipe):
    weight = resolved(case, recipe)
    region, manifold, h = case.region, case.region.manifold, 1e-7
    X = inside_points(region, 40, seed=3)
    if not manifold.is_embedded:
        divergence_in_coordinates(region, weight, X)
        return
    # div W = P Σ_k (∂_{e_k} W) e_k over an orthonormal tangent basis.
    bases = np.array([tangent_basis(manifold, x) for x in X])
    total = np.zeros_like(X)
    kink = np.zeros(len(X))
    middle = tensor(region, weight, X)
    for k in range(manifold.dim):
        e = bases[:, k]
        ahead = tensor(region, weight, walk(manifold, X, e, h))
        behind = tensor(region, weight, walk(manifold, X, e, -h))
        # A kink within h moves the slope by no more than the second difference over 2h.
        kink += np.linalg.norm(ahead - 2 * middle + behind, axis=(1, 2)) / (2 * h)
        total += np.einsum("nij,nj->ni", (ahead - behind) / (2 * h), e)
    total = manifold.project_tangent(X, total)
    smooth = kink < 1e-3
    assert smooth.mean() > 0.8
    found = divergence(region, weight, X)
    error = np.linalg.norm(found - total, axis=1)[smooth]
    bound = 3e-6 * (1 + np.linalg.norm(found, axis=1))[smooth]
    assert (error <= bound + 1.01 * kink[smooth]).all()
    assert (error <= bound).mean() > 0.9  # few rows have a kink that near


def divergence_in_coordinates(region, weight, X, h=1e-6):
    """Where frames turn from point to point: ω^i = (1/√det G) Σ_j ∂_j (√det G W^ij) in the coordinates."""
    manifold = region.manifold

    def scaled(points):
        W, _ = weight.field(BorderView(region, points)).extrinsic(manifold, points)
        return W * np.exp(manifold.log_volume(points))[:, None, None]

    total, kink, middle = np.zeros_like(X), np.zeros(len(X)), scaled(X)
    for j, e in enumerate(np.eye(X.shape[1])):
        ahead, behind = scaled(X + h * e), scaled(X - h * e)
        kink += np.linalg.norm(ahead - 2 * middle + behind, axis=(1, 2)) / (2 * h)
        total += ((ahead - behind) / (2 * h))[:, :, j]
    total /= np.exp(manifold.log_volume(X))[:, None]
    _, omega = weight.field(BorderView(region, X)).extrinsic(manifold, X)
    smooth = kink < 1e-3
    assert smooth.mean() > 0.8
    assert (np.linalg.norm(omega - total, axis=1) <= 1e-5 * (1 + np.linalg.norm(omega, axis=1)))[smooth].all()


@EVERY_PAIR
def test_apply_and_flux_contract_the_tensor(case, recipe):
    weight = resolved(case, recipe)
    X = inside_points(case.region, 30)
    V = random_tangents(case.region.manifold, X)
    field = weight.field(BorderView(case.region, X))
    expected = np.einsum("nij,nj->ni", tensor(case.region, weight, X), V)
    np.testing.assert_allclose(field.apply(V), expected, atol=1e-13)
    np.testing.assert_allclose(field.flux(V), expected + divergence(case.region, weight, X), atol=1e-12)


@EVERY_PAIR
def test_weights_are_values(case, recipe):
    weight = resolved(case, recipe)
    assert weight == pickle.loads(pickle.dumps(weight))
    assert hash(weight) == hash(pickle.loads(pickle.dumps(weight)))
    assert copy.deepcopy(weight) is weight
    assert eval(repr(weight), vars(weights)) == weight
    assert weight.resolve(BorderView(case.region, inside_points(case.region, 50, seed=9))) == weight


def test_auto_takes_the_best_that_the_region_offers():
    def choice(region):
        return type(chosen(weights.Auto(), region, inside_points(region, 50)))

    assert choice(tmsm.Cap([0.0, 0.0, 1.0], 0.5)) is weights.Normal
    assert choice(tmsm.Ball([0.0, 0.0], 1.0)) is weights.Normal
    assert choice(tmsm.Box([0.0, 0.0], [1.0, 1.0])) is weights.Componentwise
    assert choice(tmsm.Polygon([[0, 0], [1, 0], [0, 1]])) is weights.Constraints
    assert choice(tmsm.Polygon([[0, 0], [2, 0], [0.4, 0.4], [0, 2]])) is weights.Saturating
    assert choice(tmsm.AngleBox([0.0, 0.0], [1.0, 1.0])) is weights.Blocks
    assert choice(tmsm.Everywhere(tmsm.Sphere(2))) is weights.Constant


def test_automatic_axis_avoids_the_flat_projection():
    # Dropping the hemisphere's own axis turns the distance into 1 − sqrt(1 − x²) ~ d²/2.
    hemisphere = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    resolved = weights.Projected().resolve(BorderView(hemisphere, inside_points(hemisphere, 200)))
    assert resolved.axis in (1, 2)
    d, _ = hemisphere.border_distance([[-0.6, 0.8, 0.0]], "projected", 1)
    np.testing.assert_allclose(d, 0.6)


def test_a_users_scalar_weight_is_one_small_class():
    from dataclasses import dataclass

    @dataclass(frozen=True, eq=False, repr=False)
    class Height(weights.ScalarWeight):
        """g = −x₁ on the hemisphere x₁ < 0: the projected distance, written by hand."""

        def value_and_gradient(self, view):
            X = view.X
            gradient = -np.eye(X.shape[1])[0] + X * X[:, :1]
            return -X[:, 0], gradient

    hemisphere = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    model = tmsm.VonMisesFisher()
    X = model.sample(500, hemisphere, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    ours = tmsm.ScoreMatching(model, hemisphere, Height()).fit(X)
    theirs = tmsm.ScoreMatching(model, hemisphere, tmsm.Projected(axis=2)).fit(X)
    np.testing.assert_allclose(ours.natural_params_, theirs.natural_params_, rtol=1e-10)
