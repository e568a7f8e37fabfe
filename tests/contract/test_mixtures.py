"""What users meet of mixtures: names, order, spikes, the number of components, and what is refused."""

import pickle

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy.optimize import minimize

import tmsm
from tests.registry import unit
from tmsm.display.record import components_of

CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.6)
CENTRES = np.array([unit(0.1, 0.2, 1.0), unit(-0.5, -0.1, 1.0)])
TRUTH = {"shares": [0.4, 0.6], "mean_direction": CENTRES, "concentration": [60.0, 40.0]}
MODEL = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
ON_BACKGROUND = tmsm.Mixture(tmsm.VonMisesFisher(), 2, background=True)
FAINT = {**TRUTH, "shares": [0.3, 0.4], "background_share": 0.3}


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(1200, CAP, random_state=0, **TRUTH)


@pytest.fixture(scope="module")
def fit(X):
    return tmsm.TruncatedMLE(MODEL, CAP).fit(X)


def test_parameters_are_stacked_in_order_of_share(fit):
    for record in (fit.params_, fit.std_errors_):
        assert list(record) == ["shares", "mean_direction", "concentration"]
        assert record.shares.shape == record.concentration.shape == (2,)
    assert fit.params_.mean_direction.shape == (2, 3)
    assert fit.std_errors_.mean_direction.shape == (2,)
    assert fit.params_.shares[0] > fit.params_.shares[1]
    assert fit.params_.shares.sum() == pytest.approx(1.0)
    interval = fit.confidence_interval()
    assert interval.mean_direction.shape == (2, 2)  # half-axes
    for name in ("shares", "concentration"):
        low, high = interval[name]
        assert ((low < fit.params_[name]) & (fit.params_[name] < high)).all()
    assert ((interval.shares[0] > 0.0) & (interval.shares[1] < 1.0)).all()


def test_normal_components_have_stacked_covariances():
    model, region = tmsm.Mixture(tmsm.MultivariateNormal(), 2), tmsm.HalfSpace([1.0, 0.0], 0.0)
    truth = {"shares": [0.5, 0.5], "mean": [[1.0, 0.0], [5.0, 3.0]], "covariance": [np.eye(2), 0.5 * np.eye(2)]}
    fit = tmsm.TruncatedMLE(model, region).fit(model.sample(600, region, random_state=0, **truth))
    assert fit.params_.mean.shape == (2, 2)
    assert fit.params_.covariance.shape == fit.std_errors_.covariance.shape == (2, 2, 2)


def test_a_fit_gives_posterior_shares_samples_and_densities(fit, X):
    r = fit.posterior_shares(X)
    assert r.shape == (1200, 2)
    np.testing.assert_allclose(r.sum(axis=1), 1.0)
    np.testing.assert_allclose(r, MODEL.posterior_shares(X, **fit.params_), atol=1e-9)
    assert MODEL.sample(7, CAP, random_state=0, **fit.params_).shape == (7, 3)
    assert MODEL.logpdf(X, CAP, **fit.params_).mean() == pytest.approx(fit.log_likelihood_, abs=1e-4)
    assert fit.score(X) == pytest.approx(fit.log_likelihood_, abs=1e-4)
    with pytest.raises(ValueError, match="VonMisesFisher has no components"):
        tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP).fit(X).posterior_shares(X)


def test_fits_are_saved_pickled_and_written(fit, X, tmp_path):
    fit.save(tmp_path / "fit.json")
    again = tmsm.load(tmp_path / "fit.json")
    for other in (again, pickle.loads(pickle.dumps(fit))):
        assert other.params_ == fit.params_
        np.testing.assert_allclose(other.covariance_, fit.covariance_, rtol=1e-6)
    assert "of the rows seen" in fit.summary()
    assert repr(MODEL) == "Mixture(component=VonMisesFisher(concentration=None), n_components=2, background=False)"


def test_resampled_components_keep_their_names(fit, X):
    errors = fit.bootstrap(X, 12, random_state=0, n_jobs=1).std_errors
    assert errors.concentration.shape == (2,)
    # Were two labels exchanged, the spread would be the distance between the components.
    assert (errors.mean_direction < 0.15).all()
    matched = tmsm.ScoreMatching(MODEL, CAP).fit(X)
    values = matched.result_.model.parameters(matched.result_.theta)
    swapped = matched.result_.model.permuted(matched.result_.theta, [1, 0])
    crossed = matched.result_.model.parameters(swapped)
    assert crossed.concentration_1 == pytest.approx(values.concentration_2)
    back = matched.result_.model.aligned(crossed, values)
    for name, value in values.items():
        np.testing.assert_allclose(back[name], value, rtol=1e-9)


def test_score_matching_warns_about_shares(X):
    matching = tmsm.ScoreMatching(MODEL, CAP).fit(X)
    assert "Score matching hardly determines how rows are shared" in matching.status_
    assert "TruncatedMLE" in matching.status_
    refined = tmsm.ScoreMatching(MODEL, CAP, refine="mle").fit(X)
    assert "hardly determines" not in refined.status_
    likely = tmsm.TruncatedMLE(MODEL, CAP).fit(X)
    np.testing.assert_allclose(refined.natural_params_, likely.natural_params_, rtol=1e-3, atol=1e-3)


def test_the_number_of_components_is_chosen(X):
    chosen = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), "bic"), CAP).fit(X)
    assert chosen.params_.shares.shape == (2,)
    facts = dict(chosen.facts())["components"]
    assert facts.startswith("2, by the BIC")
    assert all(number in facts for number in ("1: ", "2: ", "3: "))
    alone = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), 1), CAP).fit(X)
    assert alone.bic_ > chosen.bic_
    assert chosen.bootstrap(X, 2, random_state=0, n_jobs=1).std_errors.shares.shape == (2,)
    with pytest.raises(ValueError, match="still to be chosen"):
        tmsm.ScoreMatching(tmsm.Mixture(tmsm.VonMisesFisher(), "bic"), CAP).fit(X)


def test_rows_left_out_choose_the_number_of_components(X):
    few = X[:500]
    chosen = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), "held-out"), CAP).fit(few)
    assert chosen.params_.shares.shape == (2,)
    assert "rows left out" in dict(chosen.facts())["components"]
    groups = np.arange(500) // 5
    again = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), "held-out"), CAP).fit(few, groups=groups)
    assert again.params_.shares.shape == (2,)


def test_no_component_is_a_spike():
    """Some rows next to each other make no component, however many there may be."""
    rng = np.random.default_rng(0)
    Y = tmsm.VonMisesFisher().sample(800, CAP, random_state=1, mean_direction=[0.0, 0.0, 1.0], concentration=8.0)
    close = unit(0.2, 0.1, 1.0) + 1e-9 * rng.standard_normal((4, 3))
    Y = np.vstack([Y, close / np.linalg.norm(close, axis=1)[:, None]])
    form = tmsm.Mixture(tmsm.VonMisesFisher(), 2).on(tmsm.Sphere(2)).centred(Y)
    spike = form.natural_parameters(
        shares=[0.99, 0.01], mean_direction=[[0.0, 0.0, 1.0], unit(0.2, 0.1, 1.0)], concentration=[8.0, 1e9]
    )
    assert not form.suits(spike, Y)
    for model in (MODEL, tmsm.Mixture(tmsm.VonMisesFisher(), 3)):
        try:
            fit = tmsm.TruncatedMLE(model, CAP).fit(Y)
        except tmsm.errors.EstimationError:
            continue  # no maximum has enough rows in every component
        assert fit.posterior_shares(Y).mean(axis=0).min() >= 0.01
        assert fit.params_.concentration.max() < 1e5


def test_a_map_is_a_background(X):
    def tilted(points):
        return 3.0 * points[:, 0]

    model = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=tilted)
    params = {"shares": [0.6], "background_share": 0.4, "mean_direction": CENTRES[:1], "concentration": [80.0]}
    Y = model.sample(2000, CAP, random_state=0, **params)
    fit = tmsm.TruncatedMLE(model, CAP).fit(Y)
    assert fit.goodness_of_fit_ is None
    assert abs(fit.params_.background_share - 0.4) < 4 * fit.std_errors_.background_share
    assert fit.posterior_shares(Y).shape == (2000, 2)
    with pytest.raises(ValueError, match="no second derivatives, which score matching needs: use TruncatedMLE"):
        tmsm.ScoreMatching(model, CAP).fit(Y)
    grid = np.arange(-89.5, 90.0, 1.0)
    exposure = tmsm.ExposureMap.from_raster(np.exp(np.tile(0.01 * grid[:, None], (1, 360))), np.arange(360.0), grid)
    seen = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=exposure)
    assert seen.sample(50, CAP, random_state=0, **params).shape == (50, 3)
    assert np.isfinite(seen.logpdf(Y, CAP, **params)).all()


def test_what_goes_on_beyond_the_border_has_no_background():
    Y = ON_BACKGROUND.sample(1500, CAP, random_state=0, **FAINT)
    fit = tmsm.TruncatedMLE(ON_BACKGROUND, CAP).fit(Y)
    ring = tmsm.Cap([0.0, 0.0, 1.0], 0.7) & ~CAP
    found = fit.extrapolate(ring)
    plain = {"mean_direction": fit.params_.mean_direction, "concentration": fit.params_.concentration}
    pairs = list(zip(*plain.values(), strict=True))
    parts = [tmsm.VonMisesFisher().log_mass(ring, mean_direction=mu, concentration=k).value for mu, k in pairs]
    inside = [tmsm.VonMisesFisher().log_mass(CAP, mean_direction=mu, concentration=k).value for mu, k in pairs]
    shares = fit.params_.shares
    expected = shares @ np.exp(parts) / (shares @ np.exp(inside) + fit.params_.background_share)
    assert found.value == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tmsm.Mixture(tmsm.VonMisesFisher, 2), "Call the class to make one"),
        (lambda: tmsm.Mixture(tmsm.HeavyTailed(), 2), "must be an exponential family such as VonMisesFisher"),
        (lambda: tmsm.Mixture(MODEL, 2), "must be an exponential family"),
        (lambda: tmsm.Mixture(tmsm.VonMisesFisher(), 0), "n_components must be at least 1; got 0"),
        (lambda: tmsm.Mixture(tmsm.VonMisesFisher(), 2.0), "n_components must be a whole number"),
        (lambda: tmsm.Mixture(tmsm.VonMisesFisher(), "aic"), "Choose one of"),
        (lambda: tmsm.Mixture(tmsm.VonMisesFisher(), 2, background=3.0), "background must be True"),
        (lambda: MODEL.sample(5, CAP, **{**TRUTH, "shares": [0.5, 0.6]}), "must sum to one; they sum to 1.1"),
        (lambda: MODEL.sample(5, CAP, **{**TRUTH, "shares": [1.5, -0.5]}), "Shares must be positive"),
        (lambda: MODEL.sample(5, CAP, **{**TRUTH, "concentration": 5.0}), "one entry for each of 2 components"),
        (lambda: MODEL.sample(5, CAP, **{**TRUTH, "ovalness": 5.0}), "Mixture has no parameter 'ovalness'"),
        (lambda: MODEL.sample(5, CAP, shares=[0.5, 0.5]), "mean_direction must be given by name"),
        (lambda: ON_BACKGROUND.sample(5, **FAINT), "A background is a density over a region"),
        (lambda: ON_BACKGROUND.logpdf(CENTRES, **FAINT), "A background is a density over a region"),
    ],
)
def test_bad_arguments_are_one_sentence(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_what_rows_or_regions_cannot_carry(X):
    with pytest.raises(ValueError, match=r"20 rows cannot carry 5 components.*use at most 3, or more rows"):
        tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), 5), CAP).fit(X[:20])
    whole = tmsm.Everywhere(tmsm.Sphere(2))
    for estimator in (
        tmsm.TruncatedMLE(ON_BACKGROUND, whole),
        tmsm.ScoreMatching(ON_BACKGROUND, whole),
        tmsm.NaiveMLE(ON_BACKGROUND),
    ):
        with pytest.raises(ValueError, match="A background is a density over a region with a border"):
            estimator.fit(X)
    flat = tmsm.Mixture(tmsm.MultivariateNormal(), 1, background=True)
    with pytest.raises(ValueError, match="goes on without end: use a bounded one"):
        tmsm.TruncatedMLE(flat, tmsm.HalfSpace([1.0, 0.0], 0.0)).fit(np.abs(X[:, :2]))


def test_rows_in_single_precision_and_identical_rows(X):
    single = tmsm.TruncatedMLE(MODEL, CAP).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.params_.shares, tmsm.TruncatedMLE(MODEL, CAP).fit(X).params_.shares, atol=1e-4)
    with pytest.raises(ValueError, match=r"identical|spread|maximum"):
        tmsm.TruncatedMLE(MODEL, CAP).fit(np.repeat(X[:1], 50, axis=0))


def test_a_share_of_zero_has_a_one_sided_interval():
    region = tmsm.Cap([0.0, 0.0, 1.0], 0.4)
    mean = [np.sin(0.1), 0.0, np.cos(0.1)]
    X = tmsm.VonMisesFisher().sample(1000, region, random_state=0, mean_direction=mean, concentration=100.0)
    fit = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=True), region).fit(X)
    assert fit.params_.background_share < 1e-4
    low, high = fit.confidence_interval().background_share
    assert low == 0.0
    # By hand: where twice the loss of log-likelihood with the best cluster beside it is the quantile of χ².
    log_b = -np.log(2.0 * np.pi * (1.0 - np.cos(0.4)))

    def loss(share):
        def minus(theta):
            size = np.linalg.norm(theta)
            inside = tmsm.VonMisesFisher().logpdf(X, region, mean_direction=theta / size, concentration=size)
            mass = np.exp(tmsm.VonMisesFisher().log_mass(region, mean_direction=theta / size, concentration=size).value)
            seen = (1.0 - share) * mass / ((1.0 - share) * mass + share)
            return -np.logaddexp(np.log(seen) + inside, np.log(1.0 - seen) + log_b).sum()

        return minimize(minus, fit.params_.concentration[0] * fit.params_.mean_direction[0], method="Nelder-Mead").fun

    assert 2.0 * (loss(high) - loss(1e-9)) == pytest.approx(3.841, abs=0.05)
    shares = fit.confidence_interval().shares
    assert shares[1][0] == pytest.approx(1.0)
    assert shares[0][0] == pytest.approx(1.0 - high, abs=1e-4)


def test_schwarz_counts_rows_that_count():
    region = tmsm.Cap([0.0, 0.0, 1.0], 0.8)
    X = tmsm.VonMisesFisher().sample(200, region, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=9.0)
    estimator = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), 1), region)
    alone = estimator.fit(X).bic_
    weight = np.repeat([1.0, 0.0], 200)
    assert estimator.fit(np.vstack([X, X]), sample_weight=weight).bic_ == pytest.approx(alone, abs=1e-6)
    # Copies in groups of twenty are as good as one row each, and a parameter costs twenty times as much for them.
    copies, groups = np.repeat(X, 20, axis=0), np.repeat(np.arange(200), 20)
    grouped, plain = estimator.fit(copies, groups=groups).bic_, estimator.fit(copies).bic_
    each = (grouped - plain) / (3.0 * np.log(4000.0))
    assert each == pytest.approx(19.0, abs=4.0)


def test_clusters_of_axes_are_found_on_both_ends():
    model, region = tmsm.Mixture(tmsm.Watson(), 2), tmsm.Everywhere(tmsm.Sphere(2))
    axes = np.array([unit(0.3, 0.0, 1.0), unit(0.0, 1.0, 0.4)])
    X = model.sample(1500, region, random_state=0, shares=[0.6, 0.4], axis=axes, concentration=[15.0, 10.0])
    fit = tmsm.TruncatedMLE(model, region).fit(X)
    apart = np.arccos(np.minimum(np.abs((fit.params_.axis * axes).sum(axis=1)), 1.0))
    assert (apart < 4.0 * fit.std_errors_.axis).all()


def test_few_rows_in_hardly_determined_components_have_a_summary():
    region = tmsm.Cap([0.0, 0.0, 1.0], 0.3)
    X = tmsm.VonMisesFisher().sample(40, region, random_state=1, mean_direction=[0.0, 0.0, 1.0], concentration=5.0)
    fit = tmsm.TruncatedMLE(MODEL, region).fit(X)
    assert "component 2" in fit.summary()
    assert "40 rows are few for 7 parameters" in fit.status_
    low, high = fit.confidence_interval().shares
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()


def test_components_whose_density_is_lowest_among_the_rows_have_no_centre(tmp_path):
    rng = np.random.default_rng(0)
    even = tmsm.VonMisesFisher().sample(6000, CAP, random_state=rng, mean_direction=CENTRES[0], concentration=0.0)
    X = even[rng.random(6000) < np.exp(-4.0 * (even[:, 2] - np.cos(0.6)))]  # von Mises–Fisher round the other pole
    alone = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP).fit(X)
    one = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), 1), CAP).fit(X)
    assert one.log_likelihood_ == pytest.approx(alone.log_likelihood_, abs=1e-6)  # the same density
    for fit in (alone, one):
        assert not fit.determined_
        assert fit.status_.startswith("The data do not determine a centre: the density is lowest among the rows")
        assert "undetermined" in fit.summary()
        assert "it is extrapolated" not in fit.status_
        marks = {"known": [0.0, 0.0, 1.0]}
        fit.report(tmp_path / "report.html", marks=marks)
        assert "<strong>The data do not determine a centre.</strong>" in (tmp_path / "report.html").read_text()
        about = fit.to_geojson()["features"][0]["properties"]
        assert about["determined"] is False
        assert about["confidence_region"].startswith(("none: the data do not determine", "everywhere"))
    # One of two: the other one keeps its centre.
    both = np.vstack([X, tmsm.VonMisesFisher().sample(1500, CAP, random_state=1, mean_direction=CENTRES[0],
                                                      concentration=150.0)])  # fmt: skip
    two = tmsm.TruncatedMLE(MODEL, CAP).fit(both)
    lost = int(np.argmin(two.params_.mean_direction[:, 2]))
    assert two.params_.mean_direction[lost, 2] < -0.8
    assert two.determined_
    assert f"The data do not determine the centre of component {lost + 1}" in two.status_
    assert two.summary().count("undetermined") == 1
    assert [one.get("centre") is None for one in components_of(two.result_)] == [k == lost for k in range(2)]
    display = two.plot(by_component=True)
    said = [text.get_text() for text in display.legend_.get_texts()]
    assert not any("background" in text for text in said)
    assert [text.split(" (")[0] for text in said[:2]] == ["rows, component 1", "rows, component 2"]
    colour = dict(zip(said, display.legend_.legend_handles, strict=True))
    rows = next(colour[text] for text in said if text.startswith(f"rows, component {2 - lost}"))
    centre = next(colour[text] for text in said if f": component {2 - lost}" in text)
    np.testing.assert_allclose(to_rgb(rows.get_facecolor()[0][:3]), to_rgb(centre.get_markerfacecolor()), atol=1e-6)
