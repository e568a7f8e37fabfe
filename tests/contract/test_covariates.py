"""Covariates as users meet them: tables of any kind, predictions, files, and one sentence for every mistake."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tmsm
from scenarios import regression
from tmsm.foundation.errors import TmsmWarning

MODEL = tmsm.VonMisesFisher()
REGION = regression.region_of("hemisphere")
NOISE = np.random.default_rng(0).standard_normal(300)


@pytest.fixture(scope="module")
def rows():
    return regression.sample("hemisphere", "turning", 0, 300)


@pytest.fixture(scope="module")
def fit(rows):
    X, years = rows
    return tmsm.ScoreMatching(MODEL, REGION).fit(X, covariates=pd.DataFrame({"year": years, "noise": NOISE}))


def estimator():
    return tmsm.ScoreMatching(MODEL, REGION)


TABLES = {
    "array": (lambda y: np.column_stack([y, NOISE]), ("z1", "z2")),
    "list": (lambda y: [[a, b] for a, b in zip(y, NOISE, strict=True)], ("z1", "z2")),
    "pandas": (lambda y: pd.DataFrame({"year": y, "noise": NOISE}), ("year", "noise")),
    "pandas, no names": (lambda y: pd.DataFrame(np.column_stack([y, NOISE])), ("z1", "z2")),
    "polars": (lambda y: pl.DataFrame({"year": y, "noise": NOISE}), ("year", "noise")),
    "mapping": (lambda y: {"year": y, "noise": NOISE}, ("year", "noise")),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind(rows, fit, kind):
    X, years = rows
    make, names = TABLES[kind]
    found = estimator().fit(X, covariates=make(years))
    np.testing.assert_allclose(found.coefficients_, fit.coefficients_, rtol=1e-12)
    assert found.result_.regression.names == names
    assert names[0] in found.summary()


def test_one_column(rows):
    X, years = rows
    plain = estimator().fit(X, covariates=years)
    series = estimator().fit(X, covariates=pd.Series(years, name="year"))
    assert plain.coefficients_.shape == plain.coefficient_errors_.shape == (3, 2)
    assert plain.coefficient_covariance_.shape == (6, 6)
    np.testing.assert_array_equal(plain.coefficients_, series.coefficients_)
    assert series.result_.regression.names == ("year",)
    flags = estimator().fit(X, covariates=years > 2005)
    assert flags.coefficients_.shape == (3, 2)


def test_params_are_those_at_the_mean(rows, fit):
    years = rows[1]
    found = fit.predict_params([[years.mean(), NOISE.mean()]])
    np.testing.assert_allclose(found[0].mean_direction, fit.params_.mean_direction, atol=1e-10)
    np.testing.assert_allclose(found.concentration, [fit.params_.concentration])
    np.testing.assert_allclose(found.std_errors.mean_direction, [fit.std_errors_.mean_direction])
    np.testing.assert_allclose(fit.coefficients_ @ [1.0, years.mean(), NOISE.mean()], fit.natural_params_)
    low, high = fit.confidence_interval(0.9, "wald").concentration
    np.testing.assert_allclose(found.confidence_interval(0.9).concentration, [[low], [high]])


def test_predictions(fit):
    Z = pd.DataFrame({"noise": [0.0, 1.0], "year": [2000, 2010]})  # in any order
    found = fit.predict_params(Z)
    assert len(found) == 2
    assert found.mean_direction.shape == (2, 3)
    np.testing.assert_allclose(found.natural_params, [[1, 2000, 0], [1, 2010, 1]] @ fit.coefficients_.T)
    np.testing.assert_allclose(np.linalg.norm(found.natural_params, axis=1), found.concentration)
    assert [one.concentration for one in found] == found.concentration.tolist()
    assert found.confidence_interval().mean_direction.shape == (2, 2)
    assert list(found.params) == ["mean_direction", "concentration"]
    assert found.status == ""
    frame = found.to_frame()
    assert list(frame.columns[:4]) == ["year", "noise", "parameter", "index"]
    kappa = frame[frame.parameter == "concentration"]
    np.testing.assert_allclose(kappa.estimate, found.concentration)
    np.testing.assert_allclose(kappa.std_error, found.std_errors.concentration)
    assert isinstance(found.to_frame("polars"), pl.DataFrame)
    assert "mean_direction" in repr(found)
    assert pickle.loads(pickle.dumps(found)).concentration.tolist() == found.concentration.tolist()
    with pytest.raises(AttributeError, match="no parameter 'spread'"):
        _ = found.spread
    np.testing.assert_allclose(fit.predict_params([2000.0, 0.0]).concentration, found.concentration[:1])
    np.testing.assert_allclose(fit.predict_params({"year": 2000, "noise": 0}).concentration, found.concentration[:1])


def test_far_predictions_are_said_to_be_far(fit):
    with pytest.warns(TmsmWarning, match=r"1 of 2 rows of Z lie outside .* year = 2100, .* 1990"):
        found = fit.predict_params([[2000.0, 0.0], [2100.0, 0.0]])
    assert "row 1" in found.status


def test_tests_are_found_by_name(fit):
    tests = fit.covariate_tests_
    assert [(test.covariate, test.question) for test in tests] == [
        (name, question) for question in ("density", "centre") for name in ("year", "noise", "all")
    ]
    assert tests.of("year").df == 3
    assert tests.of("year", "centre").df == 2
    assert tests.of("all", "centre").df == 4
    assert tests.of("year").p_value < 1e-6 < 0.05 < tests.of("noise").p_value
    assert tests.of("year", "centre").sentence.startswith("The centre moves with year (score: χ²")
    assert tests.of("noise").sentence.startswith("No dependence of the density on noise is seen (score: χ²")
    assert "The density depends on all covariates together" in repr(tests)
    with pytest.raises(tmsm.errors.InvalidInputError, match="no test of"):
        tests.of("month")


def test_summary_shows_coefficients_and_tests(fit):
    text = fit.summary()
    assert "ScoreMatching: VonMisesFisher(concentration=None) with year, noise" in text
    for words in ("at the mean of the covariates", "θ3: noise", "θ1: constant", "The centre moves with year"):
        assert words in text


@pytest.mark.parametrize("groups", [None, np.arange(300) // 3])
def test_files_and_pickles(rows, tmp_path, groups):
    X, years = rows
    w = 1.0 + np.arange(300) % 3
    made = estimator().fit(X, covariates={"year": years}, sample_weight=w, groups=groups)
    made.save(tmp_path / "fit.json")
    for again in (tmsm.load(tmp_path / "fit.json"), pickle.loads(pickle.dumps(made))):
        assert again.summary() == made.summary()
        np.testing.assert_array_equal(again.coefficients_, made.coefficients_)
        np.testing.assert_array_equal(again.coefficient_covariance_, made.coefficient_covariance_)
        boot = again.bootstrap(X, 5, random_state=0, sample_weight=w, n_jobs=1)
        np.testing.assert_allclose(
            boot.coefficients, made.bootstrap(X, 5, random_state=0, sample_weight=w, n_jobs=1).coefficients
        )


def test_damaged_covariates_of_a_file(fit, tmp_path):
    fit.save(tmp_path / "fit.json")
    text = (tmp_path / "fit.json").read_text()
    (tmp_path / "fit.json").write_text(text.replace('"names": ["year", "noise"]', '"names": ["year"]'))
    with pytest.raises(tmsm.errors.InvalidInputError, match=r"fit\.json is damaged: covariates has the shape"):
        tmsm.load(tmp_path / "fit.json")


def test_rows_outside_are_dropped_with_their_covariates(rows):
    X, years = rows
    wide, more = np.vstack([-X[:50], X]), np.concatenate([np.full(50, 5000.0), years])
    made = tmsm.ScoreMatching(MODEL, REGION, outside="drop").fit(wide, covariates=more)
    assert made.n_outside_ == 50
    np.testing.assert_allclose(made.coefficients_, estimator().fit(X, covariates=years).coefficients_, rtol=1e-9)
    assert made.result_.regression.standard.high[0] < 2021
    assert made.bootstrap(wide, 4, random_state=0, covariates=more, n_jobs=1).n_failed == 0
    assert 0.0 < tmsm.stein_test(made, wide, n_resamples=50).p_value <= 1.0


def test_rows_without_weight_do_not_count(rows):
    X, years = rows
    w = np.concatenate([np.ones(300), np.zeros(50)])
    made = estimator().fit(np.vstack([X, X[:50]]), covariates=np.r_[years, np.full(50, 1e9)], sample_weight=w)
    np.testing.assert_allclose(made.coefficients_, estimator().fit(X, covariates=years).coefficients_, rtol=1e-9)


def test_scores_and_comparisons(rows, fit):
    X, years = rows
    plain = estimator().fit(X)
    Z = {"year": years, "noise": NOISE}
    assert fit.score(X, covariates=Z) > plain.score(X)
    table = tmsm.compare([plain, fit])
    assert table[0].n_parameters == 9
    with pytest.raises(tmsm.errors.InvalidInputError, match=r"made with the covariates \['year', 'noise'\]: give"):
        fit.score(X)
    with pytest.raises(tmsm.errors.InvalidInputError, match="made without covariates: give none"):
        plain.score(X, covariates=years)


def test_a_later_fit_forgets(rows):
    X, years = rows
    made = estimator().fit(X, covariates=years).fit(X)
    with pytest.raises(tmsm.errors.InvalidInputError, match="made without covariates: use fit"):
        _ = made.coefficients_
    with pytest.raises(tmsm.errors.InvalidInputError, match="made without covariates"):
        made.predict_params([2000.0])
    with pytest.raises(tmsm.errors.InvalidInputError, match="made without covariates"):
        _ = made.covariate_tests_


def test_fits_without_errors(rows):
    X, years = rows
    made = tmsm.ScoreMatching(MODEL, REGION, standard_errors=False).fit(X, covariates=years)
    assert made.predict_params([2000.0]).concentration.shape == (1,)
    assert "θ1: constant" in made.summary()
    with pytest.raises(tmsm.errors.NotFittedError, match="no standard errors"):
        _ = made.coefficient_errors_
    with pytest.raises(tmsm.errors.NotFittedError, match="no standard errors"):
        _ = made.predict_params([2000.0]).std_errors


MISTAKES = {
    "NaN": (lambda y: np.where(y > 2019, np.nan, y), r"9 of 300 rows with missing or infinite values \(first: row 7"),
    "infinity": (lambda y: np.where(y > 2019, np.inf, y), "missing or infinite"),
    "missing": (lambda y: pd.DataFrame({"a": pd.array([1, None] * 150, dtype="Int64")}), "150 of 300 rows .* 'a'"),
    "masked": (lambda y: np.ma.array(y, mask=y > 2019), "9 of 300 rows"),
    "constant": (lambda y: {"a": y, "b": np.full(300, 3.0)}, "'b' has the same value, 3, in all 300 rows"),
    "collinear": (lambda y: {"a": y, "b": y**2, "c": 7 + y - y**2}, "'c' is a linear combination .* of 'a', 'b'"),
    "short": (lambda y: y[1:], "one row for each of the 300 rows of X; got 299"),
    "turned": (lambda y: np.stack([y, y**2]), "got 2. Its transpose has"),
    "no columns": (lambda y: np.zeros((300, 0)), "has no columns"),
    "three axes": (lambda y: y[:, None, None], r"shape \(n, q\)"),
    "text": (lambda y: ["a"] * 300, "covariates must hold numbers"),
    "a column of text": (lambda y: pd.DataFrame({"kind": ["a"] * 300, "year": y}), "column 'kind' of covariates must"),
    "dates": (lambda y: pd.DataFrame({"day": pd.date_range("2000-01-01", periods=300)}), "such as years"),
    "lazy": (lambda y: pl.LazyFrame({"year": y}), "covariates is lazy"),
    "twice": (lambda y: pd.DataFrame(np.zeros((300, 2)), columns=["a", "a"]), "same name"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes(rows, kind):
    X, years = rows
    make, words = MISTAKES[kind]
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        estimator().fit(X, covariates=make(years))
    assert isinstance(caught.value, tmsm.errors.TmsmError)


def test_too_many_covariates(rows):
    X, _ = rows
    Z = np.random.default_rng(0).standard_normal((20, 30))
    with pytest.raises(tmsm.errors.EstimationError, match="20 rows cannot determine 30 parameters"):
        estimator().fit(X[:20], covariates=Z[:, :9])
    with pytest.raises(tmsm.errors.EstimationError, match="20 rows cannot determine the effects of 30 covariates"):
        estimator().fit(X[:20], covariates=Z)
    with pytest.raises(tmsm.errors.EstimationError, match="1 row cannot determine the effects of 1 covariate;"):
        estimator().fit(X[:1], covariates=[1.0])


REFUSED = {
    "partial_fit": (lambda X, y: estimator().partial_fit(X, covariates=y), "partial_fit does not take covariates"),
    "naive": (lambda X, y: tmsm.NaiveMLE(MODEL).fit(X, covariates=y), "NaiveMLE does not take covariates"),
    "refine": (
        lambda X, y: tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), REGION, refine="mle").fit(X, covariates=y),
        "use ScoreMatching without refine",
    ),
    "extrapolation": (
        lambda X, y: estimator().fit(X, covariates=y).extrapolate(~REGION),
        "another number of rows is expected at every value",
    ),
    "Kent": (lambda X, y: tmsm.ScoreMatching(tmsm.Kent(), REGION).fit(X, covariates=y), "FisherBingham for Kent"),
    "predictions of NaN": (lambda X, y: estimator().fit(X, covariates=y).predict_params([np.nan]), "1 of 1 rows"),
    "predictions of nothing": (lambda X, y: estimator().fit(X, covariates=y).predict_params([]), "Z has no rows"),
    "two columns": (
        lambda X, y: estimator().fit(X, covariates=y).predict_params([[1.0, 2.0]]),
        r"2 columns, and the fit was made with 1: \['z1'\]",
    ),
    "another name": (
        lambda X, y: estimator().fit(X, covariates={"year": y}).predict_params({"month": [1.0]}),
        "no column 'year'",
    ),
    "other values": (
        lambda X, y: estimator().fit(X, covariates=y).bootstrap(X, 3, covariates=y + 1.0),
        "other values than the fit",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_covariates(rows, kind):
    make, words = REFUSED[kind]
    with pytest.raises(tmsm.errors.InvalidInputError, match=words):
        make(*rows)


def test_a_family_that_ends_says_where(rows):
    rng = np.random.default_rng(0)
    z = rng.uniform(0.0, 1.0, 500)
    X = rng.standard_normal((500, 2)) / np.sqrt(1.0 + z)[:, None]
    made = tmsm.ScoreMatching(tmsm.MultivariateNormal(), tmsm.Ball([0.0, 0.0], 3.0)).fit(X, covariates=z)
    with pytest.raises(tmsm.errors.EstimationError, match=r"no density at row 1 of Z \(z1 = -50\)"):
        made.predict_params([0.5, -50.0])


def test_a_covariate_that_differs_in_one_row_is_named():
    region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = tmsm.VonMisesFisher().sample(60, region, random_state=0, mean_direction=[-1.0, 0.0, 0.0], concentration=5.0)
    rare = np.where(np.arange(60) == 7, 6.0, 5.0)
    with pytest.raises(
        ValueError, match="'rare' differs from 5 in 1 row only, which are too few to estimate its effect"
    ):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(X, covariates={"rare": rare})
