"""Parts are added, blocks do not matter, memory is constant."""

import numpy as np
import pytest

import tmsm
from scenarios import cap
from tmsm import weights
from tmsm.data.rows import Rows
from tmsm.matching.moments import accumulate
from tmsm.matching.one_weight import OneWeight

REGION = tmsm.Cap([-1.0, 0.0, 0.0], 1.4)
MODEL = tmsm.VonMisesFisher()
SPEC = OneWeight(MODEL.on(REGION.manifold), weights.Saturating(0.3))


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(30_011, REGION, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)


def moments_of(rows):
    return accumulate(SPEC, Rows.of(rows, REGION), reference=np.array([0.0, -5.0, 0.1]))


def test_moments_of_parts_add_to_those_of_the_whole(X):
    whole = moments_of(X)
    parts = moments_of(X[:1]) + moments_of(X[1:12_345]) + moments_of(X[12_345:])
    assert parts.n == whole.n
    assert parts.farthest == whole.farthest
    np.testing.assert_allclose(parts.A, whole.A, rtol=1e-12)
    np.testing.assert_allclose(parts.b, whole.b, rtol=1e-12)
    np.testing.assert_allclose(parts.features.squares, whole.features.squares, rtol=1e-11, atol=1e-9)
    with pytest.raises(TypeError):
        whole + 1
    other = accumulate(OneWeight(MODEL.on(REGION.manifold), weights.Saturating(0.4)), Rows.of(X, REGION))
    with pytest.raises(ValueError, match="different models, weights or exposures cannot be added"):
        whole + other
    other = accumulate(SPEC, Rows.of(X, REGION), reference=np.zeros(3))
    with pytest.raises(ValueError, match="different references"):
        whole + other


def test_moments_of_two_fits_with_one_weight_add(X):
    fits = [tmsm.ScoreMatching(MODEL, REGION, weights.Saturating(0.3)).fit(part) for part in (X[:1000], X[1000:])]
    total = fits[0].moments_ + fits[1].moments_
    whole = tmsm.ScoreMatching(MODEL, REGION, weights.Saturating(0.3)).fit(X)
    np.testing.assert_allclose(np.linalg.solve(total.A, -total.b), whole.natural_params_, rtol=1e-11)


@pytest.mark.parametrize("weight", ["geodesic", "saturating", "normal"])
def test_partial_fit_equals_fit(weight, X):
    fixed = tmsm.ScoreMatching(MODEL, REGION, weight).fit(X[:3000]).weight_
    whole = tmsm.ScoreMatching(MODEL, REGION, fixed).fit(X)
    stream = tmsm.ScoreMatching(MODEL, REGION, weight)
    for rows in np.split(X, [3000, 3001, 20_000]):
        stream.partial_fit(rows)
    assert stream.weight_ == fixed  # the scale is frozen at the first block
    assert stream.n_samples_ == len(X)
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(stream.objective_, whole.objective_, rtol=1e-10)


def test_partial_fit_with_weights_exposure_and_known_concentration(X):
    rng = np.random.default_rng(1)
    w = rng.uniform(0, 2, len(X))
    a = np.array([0.0, 0.0, 1.0])

    def exposure(rows):
        return rows @ a, np.tile(a, (len(rows), 1))

    def make():
        return tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), REGION, "geodesic", log_exposure=exposure)

    whole = make().fit(X, sample_weight=w)
    stream = make().partial_fit(X[:100], sample_weight=w[:100]).partial_fit(X[100:], sample_weight=w[100:])
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-7, atol=1e-13)
    assert np.linalg.matrix_rank(whole.covariance_, tol=1e-12) == 2


def test_partial_fit_waits_for_enough_rows(X):
    stream = tmsm.ScoreMatching(MODEL, REGION).partial_fit(X[:2])
    with pytest.raises(ValueError, match="2 rows cannot determine 3 parameters"):
        _ = stream.params_
    stream.partial_fit(X[2:50])
    assert stream.n_samples_ == 50


def test_fit_forgets_the_stream(X):
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic").partial_fit(X[:1000])
    stream.fit(X[1000:2000])
    assert stream.n_samples_ == 1000
    stream.partial_fit(X[:500])
    assert stream.n_samples_ == 500


def test_changed_estimator_does_not_continue_the_stream(X):
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic").partial_fit(X[:1000])
    stream.set_params(weight="normal")
    with pytest.raises(ValueError, match="has changed since the first partial_fit"):
        stream.partial_fit(X[1000:2000])


def test_bad_block_leaves_the_stream_as_it_was(X):
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic").partial_fit(X[:1000])
    before = stream.natural_params_
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit(np.full((3, 3), np.nan))
    np.testing.assert_array_equal(stream.natural_params_, before)
    stream.partial_fit(X[1000:2000])
    assert stream.n_samples_ == 2000


def test_too_many_statistics_for_one_pass_errors():
    d = 6  # 27 statistics
    box = tmsm.Box(np.full(d, -1.0), np.full(d, 1.0))
    Y = np.random.default_rng(0).uniform(-0.9, 0.9, (500, d))
    stream = tmsm.ScoreMatching(tmsm.MultivariateNormal(4 * np.eye(d)), box)
    with pytest.warns(UserWarning, match="no standard errors for 27 statistics"):
        stream.partial_fit(Y)
    assert stream.params_.mean.shape == (d,)
    with pytest.raises(ValueError, match="no standard errors"):
        _ = stream.std_errors_
    assert tmsm.ScoreMatching(tmsm.MultivariateNormal(4 * np.eye(d)), box).fit(Y).std_errors_.mean.shape == (d,)


def test_blocks_without_a_row_inside_add_nothing(X):
    stream = tmsm.ScoreMatching(MODEL, REGION, "geodesic", outside="drop")
    stream.partial_fit(-X[:7])
    with pytest.raises(ValueError, match="7 of 7 rows outside the region"):
        _ = stream.params_
    stream.partial_fit(X[:1000]).partial_fit(-X[:5]).partial_fit(X[1000:1100], sample_weight=np.zeros(100))
    assert stream.n_outside_ == 12
    whole = tmsm.ScoreMatching(MODEL, REGION, "geodesic").fit(X[:1000])
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-12)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e7])
def test_flat_data_far_from_the_origin_keep_their_digits(shift):
    model, box = tmsm.MultivariateNormal(), tmsm.Box([-1.0, -2.0], [1.0, 1.0])
    Y = np.round(model.sample(4000, box, random_state=0, mean=[0.0, 0.0], covariance=np.eye(2)), 6)
    moved = tmsm.Box([shift - 1.0, shift - 2.0], [shift + 1.0, shift + 1.0])
    near = tmsm.ScoreMatching(model, box, "componentwise").fit(Y)
    far = tmsm.ScoreMatching(model, moved, "componentwise").fit(Y + shift)
    stream = tmsm.ScoreMatching(model, moved, far.weight_).partial_fit(Y[:500] + shift).partial_fit(Y[500:] + shift)
    naive, far_naive = tmsm.NaiveMLE(model).fit(Y), tmsm.NaiveMLE(model).fit(Y + shift)
    combined, far_combined = tmsm.ScoreMatching(model, box).fit(Y), tmsm.ScoreMatching(model, moved).fit(Y + shift)
    for here, there in ((near, far), (near, stream), (combined, far_combined), (naive, far_naive)):
        np.testing.assert_allclose(there.params_.mean - shift, here.params_.mean, atol=1e-6)
        np.testing.assert_allclose(there.params_.covariance, here.params_.covariance, rtol=1e-6, atol=1e-7)
        for field in ("mean", "covariance"):
            np.testing.assert_allclose(there.std_errors_[field], here.std_errors_[field], rtol=1e-5)
    np.testing.assert_allclose(far.natural_params_, model.natural_parameters(**far.params_), rtol=1e-9)


@pytest.mark.parametrize("kappa", [1e5, 1e8])
def test_streams_of_concentrated_data_keep_their_digits(kappa):
    cap = tmsm.Cap([0.0, 0.0, 1.0], 2 / np.sqrt(kappa))
    mu = tmsm.lonlat_to_xyz(30.0, 90.0 - np.degrees(1 / np.sqrt(kappa)))
    rows = MODEL.sample(5000, cap, random_state=0, mean_direction=mu, concentration=kappa)
    fit = tmsm.ScoreMatching(MODEL, cap).fit(rows)
    stream = tmsm.ScoreMatching(MODEL, cap).partial_fit(rows[:1000]).partial_fit(rows[1000:])
    assert stream.params_.concentration == pytest.approx(fit.params_.concentration, rel=1e-5)
    assert stream.std_errors_.concentration == pytest.approx(fit.std_errors_.concentration, rel=1e-3)
    assert abs(fit.params_.concentration - kappa) < 4 * fit.std_errors_.concentration


def test_norms_off_by_printed_digits_do_no_harm():
    kappa = 1e5
    rows = MODEL.sample(3000, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=kappa)
    everywhere = tmsm.Everywhere(tmsm.Sphere(2))
    for estimator in (tmsm.ScoreMatching(MODEL, everywhere), tmsm.NaiveMLE(MODEL)):
        exact = estimator.fit(rows).params_.concentration
        assert estimator.fit(rows * (1 + 9e-7)).params_.concentration == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e-3, 1e6, 1e20])
def test_units_do_not_matter(scale):
    model, box = tmsm.MultivariateNormal(), tmsm.Box([-1.0], [2.0])
    Y = model.sample(1000, box, random_state=0, mean=[0.0], covariance=[[1.0]])
    fit = tmsm.ScoreMatching(model, box).fit(Y)
    other = tmsm.ScoreMatching(model, tmsm.Box([-scale], [2 * scale])).fit(scale * Y)
    np.testing.assert_allclose(other.params_.mean, scale * fit.params_.mean, rtol=1e-9)
    np.testing.assert_allclose(other.std_errors_.mean, scale * fit.std_errors_.mean, rtol=1e-9)
    np.testing.assert_allclose(other.std_errors_.covariance, scale**2 * fit.std_errors_.covariance, rtol=1e-9)


def test_columns_in_different_units():
    model, units = tmsm.MultivariateNormal(), np.array([1e-3, 1e3])
    Y = np.random.default_rng(0).normal(size=(300, 2))
    everywhere = tmsm.Everywhere(tmsm.Euclidean(2))
    fit, other = (tmsm.ScoreMatching(model, everywhere).fit(rows) for rows in (Y, Y * units))
    np.testing.assert_allclose(other.params_.mean, units * fit.params_.mean, rtol=1e-6)
    np.testing.assert_allclose(other.std_errors_.mean, units * fit.std_errors_.mean, rtol=1e-6)
    with pytest.raises(ValueError, match="Bring them to similar units"):
        tmsm.ScoreMatching(model, everywhere).fit(Y * [1e-8, 1e8])
    for size in (1e-160, 1e160):
        with pytest.raises(ValueError, match="rescale the columns"):
            tmsm.ScoreMatching(model, everywhere).fit(Y * size)


@pytest.mark.parametrize("weight", ["saturating", "normal", "projected"])
def test_rows_without_weight_do_not_count(weight, X):
    w = (np.arange(len(X)) % 3 == 0).astype(float)
    fit = tmsm.ScoreMatching(MODEL, REGION, weight).fit(X, sample_weight=w)
    kept = tmsm.ScoreMatching(MODEL, REGION, weight).fit(X[w > 0])
    assert fit.weight_ == kept.weight_
    np.testing.assert_allclose(fit.natural_params_, kept.natural_params_, rtol=1e-11)
    np.testing.assert_allclose(fit.covariance_, kept.covariance_, rtol=1e-9, atol=1e-15)


def test_a_few_rows_inside_a_large_table_are_found(X):
    rows = np.tile([1.0, 0.0, 0.0], (200_001, 1))
    rows[1:200_001:500] = X[:400]  # never in step with an even sample
    fit = tmsm.ScoreMatching(MODEL, REGION, "saturating", outside="drop").fit(rows)
    assert fit.n_samples_ == 400
    assert fit.n_outside_ == len(rows) - 400


def test_empty_blocks_and_tables(X):
    stream = tmsm.ScoreMatching(MODEL, REGION).partial_fit(X[:0]).partial_fit(X[:100]).partial_fit(X[:0])
    assert stream.n_samples_ == 100
    assert REGION.contains(X[:0]).shape == (0,)
    assert tmsm.lonlat_to_xyz([], []).shape == (0, 3)


def test_layout_and_type_of_the_table_do_not_matter(X):
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(X)
    for table in (np.asfortranarray(X), X[::1].tolist(), X.astype(">f8")):
        np.testing.assert_array_equal(tmsm.ScoreMatching(MODEL, REGION).fit(table).natural_params_, fit.natural_params_)
    single = tmsm.ScoreMatching(MODEL, REGION, outside="drop").fit(X.astype(np.float32))
    np.testing.assert_allclose(single.natural_params_, fit.natural_params_, rtol=1e-4)


def test_memory_does_not_grow_with_the_table():
    rows = cap.sample(1_000_000)
    assert cap.peak_memory(rows) < 1.5 * cap.peak_memory(rows[:100_000]) < 100e6
