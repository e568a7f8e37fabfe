"""Robust fits through the public surface: messages, files, streams, what is kept."""

import json
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

import tmsm
from scenarios import outliers
from tests.contract.test_own_kinds import own
from tests.contract.test_saved_fits import check_same, saved_and_loaded
from tmsm.data.rows import Rows
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.matching.equations import sum_residuals

MODEL, REGION = outliers.MODEL, outliers.REGION


def fitted(robust, n=300, n_outliers=15, **options):
    return tmsm.ScoreMatching(MODEL, REGION, robust=robust, **options).fit(outliers.sample(n, n_outliers, 0))


@pytest.mark.parametrize(
    ("robust", "kind", "words"),
    [
        (-0.1, InvalidInputError, "robust must be finite and at least 0; got -0.1"),
        (2.1, InvalidInputError, "robust must be at most 2; got 2.1"),
        (np.nan, InvalidInputError, "got nan"),
        (np.inf, InvalidInputError, "got inf"),
        ("yes", InvalidInputError, "robust must be a number from 0 to 2, 'auto' or None; got 'yes'"),
        (True, InvalidTypeError, "robust must be a number from 0 to 2, 'auto' or None; got True"),
        ([0.3], InvalidTypeError, "robust must be a number"),
    ],
)
def test_powers_that_are_none(robust, kind, words):
    with pytest.raises(kind) as error:
        fitted(robust)
    assert words in str(error.value)


def test_what_robust_does_not_go_with():
    X = outliers.sample(300, 15, 0)
    with pytest.raises(InvalidInputError, match="robust and refine='mle' exclude each other"):
        tmsm.ScoreMatching(MODEL, REGION, robust=0.3, refine="mle").fit(X)
    with pytest.raises(InvalidInputError, match="does not work with partial_fit: use fit, or robust=None"):
        tmsm.ScoreMatching(MODEL, REGION, robust=0.3).partial_fit(X)
    with pytest.raises(InvalidInputError, match=r"robust is for exponential families.*HeavyTail is none"):
        tmsm.ScoreMatching(own().HeavyTail(), REGION, robust=0.3).fit(X)
    with pytest.raises(InvalidInputError, match="robust is for fits without covariates"):
        tmsm.ScoreMatching(MODEL, REGION, robust=0.3).fit(X, covariates=np.arange(300.0)[:, None])
    with pytest.raises(InvalidInputError, match="A robust fit has no moments to add"):
        _ = fitted(0.3).moments_


def test_too_few_rows():
    X = outliers.sample(40, 0, 0)
    for robust in (0.3, "auto"):
        estimator = tmsm.ScoreMatching(MODEL, REGION, robust=robust)
        for n in (1, 2):
            with pytest.raises(EstimationError):
                estimator.fit(X[:n])
        with pytest.raises(EstimationError, match="identical"):
            estimator.fit(np.repeat(X[:1], 20, axis=0))
    # So few that the densest ones determine nothing: one sentence, or an estimate.
    assert "few for 3 parameters" in tmsm.ScoreMatching(MODEL, REGION, robust="auto").fit(X[:12]).status_


def test_words():
    fit = fitted(0.3)
    assert fit.status_.startswith("Robust with c = 0.3: weighted by the density to this power, 300 rows count like 27")
    assert "14 rows have nearly no weight" in fit.status_
    assert "c = 0.3" in fit.summary()
    auto = fitted("auto")
    assert "robust='auto' took c = 0." in auto.status_
    assert "a little optimistic" in auto.status_
    none = fitted("auto", n_outliers=0)
    assert "robust='auto' took c = 0, the ordinary fit" in none.status_
    plain = fitted(None, n_outliers=0)
    assert np.array_equal(none.natural_params_, plain.natural_params_)


def test_several_weights_become_one():
    box = tmsm.Box([0.0, 0.0], [6.0, 6.0])
    model = tmsm.MultivariateNormal()
    X = model.sample(1500, box, random_state=0, mean=[1.0, 1.0], covariance=np.eye(2))
    fit = tmsm.ScoreMatching(model, box, "combined", robust=0.3).fit(X)
    assert "Robust fits use a single weight" in fit.status_
    assert isinstance(fit.weight_, tmsm.weights.Weight)
    # Without outliers the ordinary fit combines them.
    auto = tmsm.ScoreMatching(model, box, "combined", robust="auto").fit(X)
    plain = tmsm.ScoreMatching(model, box, "combined").fit(X)
    assert np.array_equal(auto.natural_params_, plain.natural_params_)


@pytest.mark.parametrize("robust", [0.3, "auto", 0.0])
def test_saved_and_loaded(robust, tmp_path):
    fit = fitted(robust)
    again = saved_and_loaded(fit, tmp_path)
    check_same(fit, again, tmp_path)
    np.testing.assert_array_equal(again.row_weights_, fit.row_weights_)
    assert again.goodness_of_fit_ == fit.goodness_of_fit_
    X = outliers.sample(300, 15, 0)
    one, two = (each.bootstrap(X, 5, random_state=0, n_jobs=1).params.concentration for each in (fit, again))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("robust", "power"), [(0.3, 0.5), (0.3, -1.0), (0.3, None), (0.3, "x"), ("auto", 0.123)])
def test_a_file_with_another_power_is_none(robust, power, tmp_path):
    path = tmp_path / "fit.json"
    fitted(robust).save(path)
    content = json.loads(path.read_text())
    content["fit"]["rows"]["power"] = power
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match="is damaged"):
        tmsm.load(path)


def test_pickled_cloned_and_shown():
    fit = fitted("auto")
    again = pickle.loads(pickle.dumps(fit))
    assert again.status_ == fit.status_
    np.testing.assert_array_equal(again.row_weights_, fit.row_weights_)
    assert clone(fit).robust == "auto"
    assert "robust='auto'" in repr(fit)
    assert "robust" not in repr(tmsm.ScoreMatching(MODEL, REGION))


def test_everything_else_that_a_fit_has():
    fit, plain = fitted(0.3), fitted(None)
    X = outliers.sample(300, 15, 0)
    assert fit.score(X) < plain.score(X)  # the rows as they are, outliers too
    assert np.isfinite(fit.information_criterion_)
    assert fit.confidence_region().contains(outliers.MU[None, :])[0]
    low, high = fit.confidence_interval(method="profile").concentration
    assert low < fit.params_.concentration < high
    assert 0.0 <= tmsm.stein_test(fit, X, n_resamples=99, random_state=0).p_value <= 1.0
    names = [name for name, _ in fit.result_.facts]
    assert "robust" in names


def test_rows_outside_are_dropped_and_single_precision_is_read():
    X = outliers.sample(300, 15, 0)
    more = np.vstack([-X[:5], X])
    fit = tmsm.ScoreMatching(MODEL, REGION, robust=0.3, outside="drop").fit(more)
    assert fit.n_outside_ == 5
    np.testing.assert_allclose(fit.natural_params_, fitted(0.3).natural_params_, rtol=1e-10)
    single = tmsm.ScoreMatching(MODEL, REGION, robust=0.3).fit(X.astype(np.float32))
    np.testing.assert_allclose(single.natural_params_, fit.natural_params_, rtol=1e-3, atol=1e-3)


def test_long_tables_are_found_on_some_rows_and_finished_on_all():
    X = outliers.sample(150_000, 5000, 0)
    fit = tmsm.ScoreMatching(MODEL, REGION, robust=0.5).fit(X)
    assert len(fit.row_weights_) == 50_000
    again = tmsm.ScoreMatching(MODEL, REGION, fit.weight_, robust=0.5).fit(fit.result_.kept.sample().X)
    assert np.abs(again.natural_params_ - fit.natural_params_).max() > 1e-4
    # All rows solve the equations of the fit.
    found = fit.result_.influence
    sums = sum_residuals(found.equations, Rows.of(X, REGION), found.theta)
    assert (np.abs(sums.mean) < 1e-6 * np.sqrt(np.diag(sums.covariance))).all()
    # The cluster itself has some hundred rows with as little weight.
    number = int(re.search(r"about ([\d,]+) rows have nearly no weight", fit.status_)[1].replace(",", ""))
    assert 5000 < number < 5300
