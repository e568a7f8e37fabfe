"""Rotations against SciPy, against a fit in the nine entries of the matrix, and against integrals by draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import tmsm
from scenarios.rotations import MODE, MODEL, PARAMETER, REGIONS, SPACE, THETA, matrix, sample
from tmsm.measure.nodes import Grid, build_nodes
from tmsm.models.matrix_fisher import proper_svd


@pytest.fixture(scope="module")
def turns():
    return Rotation.from_quat(np.random.default_rng(0).standard_normal((200, 4)))


def test_converters_agree_with_scipy(turns):
    X = SPACE.from_rotation(turns)
    np.testing.assert_allclose(SPACE.to_matrices(X), turns.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(SPACE.to_rotation(X).as_matrix(), turns.as_matrix(), atol=1e-14)
    scalar_first = 3.0 * turns.as_quat()[:, [3, 0, 1, 2]]
    same = [
        SPACE.from_matrices(turns.as_matrix()),
        SPACE.from_matrices(turns.as_matrix().astype(np.float32)),
        SPACE.from_rotation_vectors(turns.as_rotvec()),
        SPACE.from_quaternions(scalar_first, scalar_first=True),
        SPACE.from_euler("ZYX", turns.as_euler("ZYX")),
        SPACE.from_euler("xyz", turns.as_euler("xyz", degrees=True), degrees=True),
    ]
    for k, Y in enumerate(same):
        np.testing.assert_allclose(SPACE.geodesic_distance(X, Y), 0.0, atol=1e-7 if k == 1 else 1e-14)
    half_turns = SPACE.from_matrices([np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])])
    np.testing.assert_allclose(np.abs(half_turns), np.eye(4)[:3], atol=1e-15)


def test_the_distance_is_half_the_angle(turns):
    X = SPACE.from_rotation(turns)
    first = np.broadcast_to(X[0], X.shape)
    angle = (turns[0].inv() * turns).magnitude()
    np.testing.assert_allclose(2 * SPACE.geodesic_distance(first, X), angle, atol=1e-14)
    np.testing.assert_allclose(2 * SPACE.geodesic_distance(first, -X), angle, atol=1e-14)
    assert SPACE.distance_unit.text(0.5 * np.pi) == "180°"
    cap = tmsm.RotationCap(turns[0], 1.5)
    np.testing.assert_allclose(2 * cap.border_distance(X)[0], 1.5 - angle, atol=1e-14)
    assert cap == tmsm.RotationCap(-X[0], 1.5)
    np.testing.assert_allclose(tmsm.RotationCap(turns[0].as_matrix(), 1.5).center, cap.center, atol=1e-15)


def test_the_axis_goes_where_scipy_turns_it(turns):
    X, axis = SPACE.from_rotation(turns), np.array([0.6, 0.0, -0.8])
    region = tmsm.LonLatBox(-100, -20, 30, 70)
    d, gradient = tmsm.AxisWithin(axis, region).border_distance(X)
    below = region.border_distance(turns.apply(axis))[0]
    np.testing.assert_allclose(d, 0.5 * below, atol=1e-14)
    # To turn the axis by an angle takes a rotation by that angle: the nearest is about the normal of the two.
    nearest = tmsm.Rotations().exponential(X, -d[:, None] * gradient)
    reached = region.border_distance(SPACE.to_rotation(nearest).apply(axis))[0]
    smooth = np.abs(np.linalg.norm(gradient, axis=1) - 1) < 1e-9
    assert smooth.sum() > 150
    assert np.abs(reached[smooth]).max() < 1e-9


@pytest.mark.parametrize("name", ["mode inside", "mode on the border", "mode outside"])
def test_equal_to_bingham_on_a_cap_of_quaternions(name):
    region = REGIONS[name]
    X = sample(2000, region, 1)
    fit = tmsm.ScoreMatching(MODEL, region).fit(X)
    near = X * np.sign(X @ region.center)[:, None]
    assert 0.1 < (X @ region.center > 0).mean() < 0.9  # the sampler gives either sign
    other = tmsm.ScoreMatching(tmsm.Bingham(), tmsm.Cap(region.center, region.angle / 2)).fit(near)
    np.testing.assert_allclose(fit.natural_params_, other.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance_, other.covariance_, rtol=1e-8)


def in_nine_entries(R, center, angle):
    """F̂ by score matching in R⁹ with the metric ‖dR‖², W = P − q(d) ννᵀ, q = (1 − d/reach)³: Σ W_i F = −Σ ω_i."""
    generators = np.zeros((3, 3, 3))
    for b, e in enumerate(np.eye(3)):
        generators[b] = np.cross(e, np.eye(3)).T  # v ↦ e × v
    A, rhs = np.zeros((9, 9)), np.zeros(9)
    for one in R:
        tangents = np.array([one @ g / np.sqrt(2.0) for g in generators]).reshape(3, 9)
        W = tangents.T @ tangents
        vector = Rotation.from_matrix(center.T @ one).as_rotvec()
        phi = np.linalg.norm(vector)
        turn = np.tensordot(vector / phi, generators, axes=1)
        nu = (-one @ turn / np.sqrt(2.0)).ravel()  # the gradient of d = √2 (angle − φ)
        rest = phi / angle  # 1 − d/reach, reach = √2 angle
        q, slope = rest**3, -3.0 * rest**2 / (np.sqrt(2.0) * angle)
        laplacian = -1.0 / (np.sqrt(2.0) * np.tan(0.5 * phi))  # of d, on a sphere S³ of radius √8
        W -= q * np.outer(nu, nu)
        # ω = ΔR − (q' + q Δd) ν − q (how the geodesic along ν bends in R⁹)
        omega = -one.ravel() - (slope + q * laplacian) * nu - q * (one @ turn @ turn).ravel() / 2.0
        A += W
        rhs -= omega
    return np.linalg.solve(A, rhs).reshape(3, 3)


@pytest.mark.parametrize("name", ["mode inside", "mode outside"])
def test_equal_to_a_fit_in_the_nine_entries_of_the_matrix(name):
    region = REGIONS[name]
    X = sample(600, region, 2)
    fit = tmsm.ScoreMatching(MODEL, region, "normal").fit(X)
    center = SPACE.to_matrices([region.center])[0]
    np.testing.assert_allclose(
        fit.params_.parameter, in_nine_entries(SPACE.to_matrices(X), center, region.angle), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("weight", ["auto", "combined", "geodesic"])
@pytest.mark.parametrize("name", ["mode on the border", "axis inside"])
def test_the_sign_of_a_quaternion_has_no_meaning(name, weight):
    region = REGIONS[name]
    X = sample(500, region, 3)
    tables = X, np.where(X[:, 3:] < 0, -X, X)
    fits = [tmsm.ScoreMatching(MODEL, region, weight).fit(Y) for Y in tables]
    np.testing.assert_array_equal(fits[0].natural_params_, fits[1].natural_params_)
    np.testing.assert_allclose(fits[0].goodness_of_fit_, fits[1].goodness_of_fit_, rtol=1e-9)
    tests = [tmsm.stein_test(fit, Y, n_resamples=99) for fit, Y in zip(fits, tables, strict=True)]
    np.testing.assert_allclose(tests[0], tests[1], rtol=1e-9)


def test_the_trace_and_the_proper_singular_values():
    X = SPACE.uniform(100, 0)
    expected = np.einsum("ij,nij->n", PARAMETER, SPACE.to_matrices(X))
    np.testing.assert_allclose(MODEL.on(SPACE).log_kernel(X, THETA), expected, atol=1e-13)
    found = MODEL.on(SPACE).parameters(THETA)
    np.testing.assert_allclose(found.concentration, [6.0, 4.0, 2.0], rtol=1e-13)
    np.testing.assert_allclose(found.mean_rotation, MODE, atol=1e-14)
    mirrored = PARAMETER @ np.diag([1.0, 1.0, -1.0])
    U, s, V = proper_svd(mirrored)
    np.testing.assert_allclose(U @ np.diag(s) @ V.T, mirrored, atol=1e-14)
    assert s[2] < 0
    np.testing.assert_allclose([np.linalg.det(U), np.linalg.det(V)], 1.0)


@pytest.mark.parametrize("F", [PARAMETER, np.diag([3.0, 3.0, 3.0]), np.diag([5.0, 2.0, -1.0]) @ MODE, 1e-3 * PARAMETER])
def test_jacobians_are_those_of_finite_differences(F):
    model, h = MODEL.on(SPACE), 1e-6 * np.abs(F).max()
    theta = model.natural_parameters(parameter=F)
    for name, own in model.parameter_jacobian(theta).items():
        if name == "concentration" and np.ptp(model.parameters(theta).concentration) == 0.0:
            continue  # not smooth where all three are equal
        ahead, behind = (
            np.array([np.ravel(model.parameters(theta + sign * h * e)[name]) for e in np.eye(9)]) for sign in (1, -1)
        )
        np.testing.assert_allclose(
            own, (ahead - behind).T / (2 * h), rtol=1e-6, atol=2e-7 * max(1, 1 / np.abs(F).max())
        )


def test_named_parameters_in_either_form():
    model = MODEL.on(SPACE)
    alone = model.natural_parameters(mean_rotation=MODE, concentration=[3.0, 5.0, 2.0])
    np.testing.assert_allclose(model.parameters(alone).parameter, MODE @ np.diag([3.0, 5.0, 2.0]), atol=1e-14)
    np.testing.assert_allclose(model.parameters(alone).mean_rotation, MODE, atol=1e-14)
    np.testing.assert_allclose(model.natural_parameters(**model.parameters(THETA)), THETA, rtol=1e-14)
    assert MODEL.sample(3, random_state=0, mean_rotation=MODE, concentration=5.0).shape == (3, 4)


@pytest.mark.parametrize("s", [0.3, 4.0])
def test_density_and_moments_of_the_isotropic_family(s):
    # The angle φ has the volume 4π sin²(φ/2) dφ/2 on the quaternions modulo sign, and tr R = 1 + 2 cos φ.
    integrals = [
        quad(lambda phi, g=g: g(phi) * np.exp(s * (1 + 2 * np.cos(phi))) * 2 * np.pi * np.sin(phi / 2) ** 2, 0, np.pi)[
            0
        ]
        for g in (lambda phi: 1.0, lambda phi: (1 + 2 * np.cos(phi)) / 3)
    ]
    model, F = MODEL.on(SPACE), s * MODE
    theta = model.natural_parameters(parameter=F)
    assert model.log_normaliser(theta) == pytest.approx(np.log(integrals[0]), rel=1e-9)
    mean = model.parameters(model.expectation(theta)[0]).parameter * 4  # E t is that of R in the same coordinates
    np.testing.assert_allclose(mean, integrals[1] / integrals[0] * MODE, atol=1e-9)
    X = model.sample(20_000, random_state=1, parameter=F)
    R = SPACE.to_matrices(X)
    assert (np.abs(R.mean(0) - mean) < 4.5 * R.std(0) / np.sqrt(len(R))).all()
    assert model.acceptance(parameter=F) == pytest.approx(0.7, abs=0.3)
    naive = tmsm.NaiveMLE(MODEL).fit(X)
    assert (np.abs(naive.natural_params_ - theta) < 4.5 * np.sqrt(np.diag(naive.covariance_))).all()


def test_volumes_are_those_of_rotations_counted_once():
    whole = tmsm.AxisWithin([0.0, 0.6, 0.8], tmsm.Everywhere(tmsm.Sphere(2)))
    assert np.exp(build_nodes(whole, Grid(3, 3)).log_weights).sum() == pytest.approx(np.pi**2, rel=1e-10)
    for angle in (0.01, 1.3, 3.0):
        nodes = build_nodes(tmsm.RotationCap(MODE, angle), Grid(2, 1))
        assert np.exp(nodes.log_weights).sum() == pytest.approx(np.pi * (angle - np.sin(angle)), rel=1e-9)
    octant = tmsm.AxisWithin([0.0, 0.6, 0.8], tmsm.SphericalPolygon([np.eye(3)]))
    nodes = build_nodes(octant, Grid(3, 3))
    assert np.exp(nodes.log_weights).sum() == pytest.approx(np.pi**2 / 8, rel=1e-6)
    assert octant.contains(nodes.X).all()
    cap = tmsm.Cap([0.0, 0.0, 0.0, 1.0], 2.0)  # the same rule on S³ itself
    nodes = build_nodes(cap, Grid(2, 1))
    assert np.exp(nodes.log_weights).sum() == pytest.approx(2 * np.pi * (2.0 - np.sin(2.0) * np.cos(2.0)), rel=1e-9)


@pytest.mark.parametrize("name", REGIONS)
def test_mass_by_nodes_against_draws(name):
    region = REGIONS[name]
    mass = MODEL.log_mass(region, parameter=PARAMETER)
    assert mass.error < 1e-6
    share = region.contains(MODEL.sample(100_000, random_state=5, parameter=PARAMETER)).mean()
    assert abs(mass.value - np.log(share)) < 4.5 * np.sqrt((1 - share) / share / 100_000)


def test_a_density_that_is_too_concentrated_for_a_rule_over_the_cap_is_integrated_where_it_has_its_mass():
    cap = tmsm.RotationCap(MODE, 1.0)
    mass = MODEL.log_mass(cap, mean_rotation=MODE, concentration=3000.0)
    assert abs(mass.value) <= mass.error < 1e-6
    narrow = MODEL.sample(2000, cap, random_state=0, mean_rotation=MODE, concentration=3000.0)
    fit = tmsm.TruncatedMLE(MODEL, cap).fit(narrow)
    assert (np.abs(fit.params_.concentration - 3000.0) < 4.5 * fit.std_errors_.concentration).all()


def test_likelihood_under_truncation_finds_the_truth():
    for name in ("mode on the border", "axis on the border"):
        region = REGIONS[name]
        X = sample(4000, region, 11)
        fit = tmsm.TruncatedMLE(MODEL, region).fit(X)
        assert (np.abs(fit.natural_params_ - THETA) < 4.5 * np.sqrt(np.diag(fit.covariance_))).all()
        refined = tmsm.ScoreMatching(MODEL, region, refine="mle").fit(X)
        errors = np.sqrt(np.diag(fit.covariance_))
        assert (np.abs(refined.natural_params_ - fit.natural_params_) < 0.05 * errors).all()


def test_the_angles_that_are_read_off():
    region = REGIONS["mode inside"]
    fit = tmsm.ScoreMatching(MODEL, region).fit(sample(1000, region, 0))
    s = fit.params_.concentration
    widest = next(one for one in MODEL.readings(fit.params_) if one.name.startswith("widest"))
    assert widest.value == pytest.approx(1 / np.sqrt(s[1] + s[2]))
    # About the first principal axis the log density bends by s₂ + s₃ in the angle.
    U, _, V = proper_svd(fit.params_.parameter)
    turned = [np.trace(fit.params_.parameter.T @ U @ matrix([angle, 0.0, 0.0]) @ V.T) for angle in (-1e-3, 0.0, 1e-3)]
    assert -(turned[0] - 2 * turned[1] + turned[2]) / 1e-6 == pytest.approx(s[1] + s[2], rel=1e-4)
    assert "parameter[1, 0]" in fit.summary()


@pytest.mark.parametrize(("model", "space"), [(MODEL, SPACE), (tmsm.Bingham(), tmsm.Sphere(2))], ids=repr)
def test_many_rows_are_summed_as_few_are(model, space):
    """From some number of rows on, sums are compiled; blocks of fewer are not."""
    model, rng, n = model.on(space), np.random.default_rng(8), 12_345
    X, V, flux = space.uniform(n, 0), *(rng.standard_normal((n, space.embedding_dim)) for _ in range(2))
    V, flux = space.project_tangent(X, V), space.project_tangent(X, flux)
    V /= np.linalg.norm(V, axis=1)[:, None]
    c, w = rng.standard_normal((2, n))

    def sums(rows):
        return {
            "direction": model.direction_gram(X[rows], V[rows], c[rows]),
            "gram": model.gradient_gram(X[rows], c[rows]),
            "even gram": model.gradient_gram(X[rows], 2.0),
            "residuals": model.residual_rows(X[rows], 1.0, [(V[rows], c[rows])], flux[rows]).T @ w[rows],
            "scalar": model.residual_rows(X[rows], c[rows], [], flux[rows]).T @ w[rows],
            "divergence": model.divergence_sum(X[rows], c[rows], [(V[rows], c[rows], w[rows])], w[rows]),
            "plain": model.divergence_sum(X[rows], 0.5, [(V[rows], None, 1.0), (V[rows], c[rows], 0.3)], None),
        }

    whole = sums(slice(None))
    parts = [sums(slice(start, start + 4000)) for start in range(0, n, 4000)]
    for name, total in whole.items():
        np.testing.assert_allclose(total, sum(part[name] for part in parts), atol=1e-13 * n, err_msg=name)
        assert np.abs(total).max() > 1e-6 * n**0.5
