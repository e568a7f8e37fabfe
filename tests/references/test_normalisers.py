"""Normalising constants against tables of mpmath; the recipe of each table stands above it and is run."""

import mpmath as mp
import numpy as np
import pytest

import tmsm
from tests.registry import unit
from tmsm.numerics.sphere_integral import sphere_mixture


def area(D):
    return 2 * mp.pi ** (mp.mpf(D) / 2) / mp.gamma(mp.mpf(D) / 2)


def von_mises_fisher(D, kappa):
    """log of (2π)^(D/2) κ^(−v) I_v(κ), v = D/2 − 1; by its asymptotic series where κ is large."""
    v, k = mp.mpf(D) / 2 - 1, mp.mpf(kappa)
    front = mp.log((2 * mp.pi) ** (mp.mpf(D) / 2) * k**-v)
    if k < 1e6:
        return front + mp.log(mp.besseli(v, k))
    half = mp.mpf(1) / 2
    return front + k - mp.log(2 * mp.pi * k) / 2 + mp.log(mp.hyp2f0(v + half, half - v, 1 / (2 * k)))


def kent(kappa, beta):
    """2π ∫ exp(κz) I_0(β(1 − z²)) dz: the longitude of (γ₁·x)² − (γ₂·x)² = (1 − z²) cos 2φ integrated out."""
    k, b = mp.mpf(kappa), mp.mpf(beta)
    peak = 1 if b <= k / 2 else k / (2 * b)
    top = k if b <= k / 2 else b + k * k / (4 * b)
    near = {peak + s * j / mp.sqrt(k + b) for j in (1, 3, 10) for s in (-1, 1)} | {1 - j / k for j in (1, 5, 20, 60)}
    ends = sorted({mp.mpf(-1), mp.mpf(1), mp.mpf(peak), *(min(max(x, mp.mpf(-1)), mp.mpf(1)) for x in near)})
    return mp.log(2 * mp.pi * mp.quad(lambda z: mp.exp(k * z - top) * mp.besseli(0, b * (1 - z * z)), ends)) + top


def revolution(D, linear, quadratic):
    """∫ exp(l z + a z²) over S^(D−1), z one coordinate: area(S^(D−2)) ∫ … (1 − z²)^((D−3)/2) dz."""
    a, b = mp.mpf(linear), mp.mpf(quadratic)
    power = mp.mpf(D - 3) / 2
    return mp.log(
        area(D - 1) * mp.quad(lambda z: mp.exp(a * z + b * z * z) * (1 - z * z) ** power, mp.linspace(-1, 1, 41))
    )


# mp.nstr(recipe(*arguments), 22) with mp.mp.dps = 40.
VON_MISES_FISHER = {
    (2, 0.5): "1.899426785594826787502",
    (2, 1e4): "9996.313780847841646488",
    (3, 1e-3): "2.531024413635951904089",
    (3, 6.0): "6.046111452950061404499",
    (3, 1e3): "994.9301217874272084315",
    (3, 1e8): "99999983.41719632245698",
    (4, 20.0): "18.24397648178404427745",
    (10, 0.1): "3.239242758627651113961",
    (10, 1e3): "977.1776691123460030843",
    (50, 7.0): "-24.9878442090195019845",
    (400, 10.0): "-628.1695843115442342755",
}
KENT = {
    (1.0, 0.4): "2.711904775722293429932",
    (10.0, 3.0): "9.675531424359011836804",
    (10.0, 5.0): "9.970063526394016552077",
    (10.0, 20.0): "19.80259854717501803135",
    (100.0, 49.0): "98.15292650184500141154",
    (100.0, 300.0): "304.1363044506335432129",
    (1e4, 4.9e3): "9994.175022344015156688",
    (1e6, 2e5): "999988.109542861882363",
    (0.01, 5.0): "4.983657534846729903481",
}
REVOLUTION = {
    (3, 2.0, -3.0): "2.141099792498303152701",
    (3, 0.0, -40.0): "0.5658022822770774188317",
    (4, 5.0, 3.0): "7.230738290705177484322",
    (5, 0.0, -20.0): "2.031787950434893089997",
    (5, 0.0, 20.0): "17.04643833930283665012",
    (6, -3.0, 8.0): "8.364156087614590150209",
    (10, 12.0, -30.0): "3.273249620730753627147",
}


@pytest.mark.parametrize(
    ("recipe", "table"),
    [(von_mises_fisher, VON_MISES_FISHER), (kent, KENT), (revolution, REVOLUTION)],
    ids=["von Mises–Fisher", "Kent", "of revolution"],
)
def test_the_recipes_make_the_tables(recipe, table):
    with mp.workdps(40):
        for arguments in list(table)[::2]:
            assert abs(recipe(*arguments) - mp.mpf(table[arguments])) < 1e-12


@pytest.mark.parametrize(("D", "kappa"), VON_MISES_FISHER)
def test_von_mises_fisher(D, kappa):
    theta = kappa * np.eye(D)[0]
    model = tmsm.VonMisesFisher()
    # The kernel is exp(κ(μ·x − 1)), so that no digits are lost at 10⁸.
    with mp.workdps(40):
        exact = mp.mpf(VON_MISES_FISHER[D, kappa])
        scaled = float(exact - mp.mpf(kappa))
    assert model.log_normaliser(theta) == pytest.approx(scaled, rel=1e-13, abs=1e-13)
    x = np.eye(D)[[0, 1]]
    log_p = model.logpdf(x, mean_direction=np.eye(D)[0], concentration=kappa)
    np.testing.assert_allclose(log_p, [-scaled, -kappa - scaled], rtol=1e-13, atol=1e-10)
    # The contour integral knows nothing of Bessel functions.
    assert sphere_mixture(np.zeros(D), theta).log_integral == pytest.approx(float(exact), rel=1e-14, abs=1e-11)


@pytest.mark.parametrize(("kappa", "beta"), KENT)
def test_kent(kappa, beta):
    mu, major = unit(1, -2, 2), unit(2, 2, 1)
    model = tmsm.Kent()
    theta = model.natural_parameters(mean_direction=mu, major_axis=major, concentration=kappa, ovalness=beta)
    exact = float(mp.mpf(KENT[kappa, beta]))
    assert model.log_normaliser(theta) == pytest.approx(exact, rel=4e-15, abs=1e-10)
    log_p = model.logpdf(mu[None], mean_direction=mu, major_axis=major, concentration=kappa, ovalness=beta)
    assert log_p[0] == pytest.approx(kappa - exact, abs=1e-8)


@pytest.mark.parametrize(("D", "linear", "quadratic"), REVOLUTION)
def test_fisher_bingham_and_watson_in_any_dimension(D, linear, quadratic):
    exact = float(mp.mpf(REVOLUTION[D, linear, quadratic]))
    axis = np.arange(1.0, D + 1) / np.linalg.norm(np.arange(1.0, D + 1))
    x = np.eye(D)[:1]
    density = tmsm.FisherBingham().logpdf(x, linear=linear * axis, quadratic=quadratic * np.outer(axis, axis))
    z = axis[0]
    assert density[0] == pytest.approx(linear * z + quadratic * z * z - exact, abs=1e-11)
    if linear == 0.0:
        watson = tmsm.Watson().logpdf(x, axis=axis, concentration=quadratic)
        bingham = tmsm.Bingham().logpdf(x, quadratic=quadratic * np.outer(axis, axis))
        np.testing.assert_allclose([watson[0], bingham[0]], density[0], atol=1e-11)


def dense_moments(quadratic, linear, n=300):
    """log integral, mean and covariance of (x, x_i x_j) on S² by a product rule."""
    x, w = np.polynomial.legendre.leggauss(n)
    angle = np.arange(2 * n) * np.pi / n
    z, a = np.meshgrid(x, angle, indexing="ij")
    r = np.sqrt(1 - z * z)
    X = np.stack([r * np.cos(a), r * np.sin(a), z], axis=-1).reshape(-1, 3)
    exponent = X @ linear + X**2 @ quadratic
    q = np.repeat(w, 2 * n) * np.pi / n * np.exp(exponent - exponent.max())
    total = q.sum()
    i, j = np.triu_indices(3)
    y = np.hstack([X, X[:, i] * X[:, j]])
    mean = q @ y / total
    return np.log(total) + exponent.max(), mean, (y - mean).T @ ((y - mean) * (q / total)[:, None])


@pytest.mark.parametrize("seed", range(40))
def test_moments_on_the_sphere(seed):
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 2, 2)
    quadratic, linear = scale[0] * rng.standard_normal(3), scale[1] * rng.standard_normal(3) * (rng.random(3) < 0.7)
    mixture = sphere_mixture(quadratic, linear)
    log_integral, mean, covariance = dense_moments(quadratic, linear)
    first, second, found = mixture.moments()
    assert mixture.log_integral == pytest.approx(log_integral, abs=1e-9)
    np.testing.assert_allclose(first, mean[:3], atol=1e-9)
    np.testing.assert_allclose(second[np.triu_indices(3)], mean[3:], atol=1e-9)
    np.testing.assert_allclose(found, covariance, atol=1e-9)
    assert len(mixture.weights) < 1000


def test_the_derivative_of_the_normaliser_is_the_mean_and_its_the_covariance():
    model = tmsm.FisherBingham().on(tmsm.Sphere(5))
    rng = np.random.default_rng(0)
    theta = 5.0 * rng.standard_normal(model.size)
    mean, covariance = model.expectation(theta)
    h = 1e-5
    for direction in rng.standard_normal((5, theta.size)):
        ahead, behind = theta + h * direction, theta - h * direction
        slope = (model.log_normaliser(ahead) - model.log_normaliser(behind)) / (2 * h)
        assert slope == pytest.approx(mean @ direction, abs=1e-8)
        change = (model.expectation(ahead)[0] - model.expectation(behind)[0]) / (2 * h)
        np.testing.assert_allclose(change, covariance @ direction, atol=1e-8)


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_extreme_concentrations_give_no_warnings_and_the_normal_limit(scale):
    # At high concentration x is normal across the mode: variances 1/(κ ∓ 2β).
    mean, covariance = tmsm.Kent().expectation(
        tmsm.Kent().natural_parameters(
            mean_direction=[0, 0, 1.0], major_axis=[1.0, 0, 0], concentration=scale, ovalness=0.3 * scale
        )
    )
    np.testing.assert_allclose(np.diag(covariance)[:2] * scale, [1 / 0.4, 1 / 1.6], rtol=20 / scale + 1e-6)
    assert 1.0 - mean[2] == pytest.approx(0.5 * (1 / 0.4 + 1 / 1.6) / scale, rel=20 / scale + 1e-6)


def test_logpdf_of_the_normal_is_that_of_scipy():
    from scipy import stats

    sigma = np.array([[2.0, 0.7], [0.7, 1.0]])
    X = np.random.default_rng(0).standard_normal((20, 2)) + 1e6
    ours = tmsm.MultivariateNormal().logpdf(X, mean=[1e6, 1e6], covariance=sigma)
    np.testing.assert_allclose(ours, stats.multivariate_normal([1e6, 1e6], sigma).logpdf(X), rtol=1e-8)
