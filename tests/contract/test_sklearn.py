import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted

import tmsm
from tests.registry import public_names
from tmsm import weights

REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
MODEL = tmsm.VonMisesFisher()


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(600, REGION, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)


@pytest.mark.parametrize(
    "estimator",
    [
        tmsm.ScoreMatching(MODEL, REGION, "geodesic"),
        tmsm.ScoreMatching(MODEL, REGION, refine="mle"),
        tmsm.TruncatedMLE(MODEL, REGION),
        tmsm.NaiveMLE(MODEL),
    ],
    ids=repr,
)
def test_clone_and_parameters(estimator, X):
    estimator.fit(X)
    copy = clone(estimator)
    assert copy is not estimator
    assert copy.get_params() == estimator.get_params()
    with pytest.raises(ValueError, match="call fit first"):
        _ = copy.params_
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(copy)
    check_is_fitted(estimator)
    assert repr(eval(repr(estimator), public_names())) == repr(estimator)
    assert estimator.set_params(model=tmsm.VonMisesFisher(6.0)) is estimator
    with pytest.raises(ValueError, match="has no parameter 'wieght'"):
        estimator.set_params(wieght=1)


@pytest.mark.parametrize(
    "estimator",
    [
        tmsm.ScoreMatching(MODEL, REGION, outside="drop"),
        tmsm.ScoreMatching(MODEL, REGION, refine="mle", outside="drop"),
        tmsm.TruncatedMLE(MODEL, REGION, outside="drop"),
        tmsm.NaiveMLE(MODEL),
    ],
    ids=repr,
)
def test_parameters_that_are_set_later_say_nothing_about_the_fit(estimator):
    truth = {"mean_direction": [0, -1.0, 0], "major_axis": [0, 0, 1.0], "concentration": 10, "ovalness": 4.9}
    rows = tmsm.Kent().sample(3000, REGION, random_state=0, **truth)  # the status names the model that does not fit
    if not isinstance(estimator, tmsm.NaiveMLE):
        rows = np.vstack([rows, -rows[:50]])

    def said(fit):
        bootstrap = fit.bootstrap(rows, 3, random_state=0, n_jobs=1)
        return fit.summary(), fit.status_, fit.score(rows), repr(bootstrap), bootstrap.params.concentration.tolist()

    fit = clone(estimator).fit(rows)
    before = said(fit)
    assert "do not look like VonMisesFisher" in fit.status_
    later = {
        "model": tmsm.Bingham(),
        "region": tmsm.Cap([0.0, 1.0, 0.0], 0.3),
        "weight": "geodesic",
        "outside": "raise",
        "log_exposure": lambda Y: (Y[:, 0], np.tile([1.0, 0.0, 0.0], (len(Y), 1))),
        "refine": None if getattr(estimator, "refine", None) else "mle",
        "random_state": 5,
    }
    fit.set_params(**{name: value for name, value in later.items() if name in fit.get_params()})
    assert said(fit) == before
    assert clone(fit).get_params()["model"] == tmsm.Bingham()
    if not isinstance(fit, tmsm.NaiveMLE):
        fit.set_params(region=REGION, outside="drop")
        assert list(fit.fit(rows).params_) != list(estimator.fit(rows).params_)


def test_constructor_only_stores():
    nonsense = tmsm.ScoreMatching(1, 2, 3, outside=4)
    assert nonsense.get_params() == {
        "model": 1,
        "region": 2,
        "weight": 3,
        "outside": 4,
        "log_exposure": None,
        "refine": None,
        "robust": None,
        "standard_errors": True,
        "n_jobs": None,
    }


def test_fit_returns_self_and_does_not_change_its_arguments(X):
    estimator = tmsm.ScoreMatching(MODEL, REGION, weights.Saturating())
    before = X.copy()
    assert estimator.fit(X) is estimator
    assert estimator.partial_fit(X) is estimator
    np.testing.assert_array_equal(X, before)
    assert estimator.weight == weights.Saturating()  # its scale is fixed in weight_ only
    assert isinstance(estimator.weight_.scale, float)


def by_hand(estimator, X, folds):
    """Scores of rows that were not fitted, fold by fold."""
    return np.array([clone(estimator).fit(X[train]).score(X[test]) for train, test in folds.split(X)])


def test_cross_validation_and_grid_search(X):
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(tmsm.ScoreMatching(MODEL, REGION), X, cv=folds)
    np.testing.assert_array_equal(scores, by_hand(tmsm.ScoreMatching(MODEL, REGION), X, folds))
    search = GridSearchCV(
        tmsm.ScoreMatching(MODEL, REGION),
        {"model": [tmsm.VonMisesFisher(1.0), tmsm.VonMisesFisher(6.0), tmsm.VonMisesFisher(30.0)]},
        cv=3,
    ).fit(X)
    assert search.best_params_["model"] == tmsm.VonMisesFisher(6.0)
    names = ["geodesic", "normal"]
    search = GridSearchCV(tmsm.ScoreMatching(MODEL, REGION), {"weight": names}, cv=3).fit(X)
    means = [by_hand(tmsm.ScoreMatching(MODEL, REGION, name), X, KFold(3)).mean() for name in names]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
    assert search.best_score_ == pytest.approx(max(means), rel=1e-12)
    assert search.best_params_["weight"] == names[int(np.argmax(means))]


def test_likelihoods_are_scored_by_their_mean_log_density(X):
    exact, naive = tmsm.TruncatedMLE(MODEL, REGION).fit(X), tmsm.NaiveMLE(MODEL).fit(X)
    assert exact.score(X) == pytest.approx(MODEL.logpdf(X, REGION, **exact.params_).mean(), abs=1e-9)
    assert exact.score(X) == pytest.approx(exact.log_likelihood_, abs=1e-9)
    assert naive.score(X) == pytest.approx(MODEL.logpdf(X, **naive.params_).mean(), abs=1e-9)
    w = np.random.default_rng(0).uniform(size=len(X))
    assert naive.score(X, sample_weight=w) == pytest.approx(w @ MODEL.logpdf(X, **naive.params_) / w.sum(), abs=1e-9)
    assert exact.score(X, sample_weight=w) == pytest.approx(
        w @ MODEL.logpdf(X, REGION, **exact.params_) / w.sum(), abs=1e-9
    )
    search = GridSearchCV(
        tmsm.TruncatedMLE(MODEL, REGION), {"model": [MODEL, tmsm.VonMisesFisher(1.0), tmsm.VonMisesFisher(30.0)]}, cv=3
    )
    assert search.fit(X).best_params_["model"] == MODEL
    scores = cross_val_score(tmsm.NaiveMLE(MODEL), X, cv=3)
    np.testing.assert_array_equal(scores, by_hand(tmsm.NaiveMLE(MODEL), X, KFold(3)))


def test_likelihoods_are_scored_above_dimension_two():
    region = tmsm.Cap([1.0, 0, 0, 0], 1.0)
    params = {"mean_direction": [0.8, 0.6, 0, 0], "concentration": 8.0}
    Y = MODEL.sample(500, region, random_state=0, **params)
    fit = tmsm.TruncatedMLE(MODEL, region).fit(Y)
    for rows in (Y, MODEL.sample(300, region, random_state=1, **params)):
        assert fit.score(rows) == pytest.approx(MODEL.logpdf(rows, region, **fit.params_).mean(), abs=1e-9)
    assert fit.log_likelihood_ == pytest.approx(fit.score(Y), abs=1e-9)
    assert tmsm.TruncatedMLE(tmsm.VonMisesFisher(100.0), region).fit(Y).score(Y) < fit.score(Y) - 1


@pytest.mark.parametrize(
    "estimator",
    [tmsm.ScoreMatching(MODEL, REGION), tmsm.TruncatedMLE(MODEL, REGION), tmsm.NaiveMLE(MODEL)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scores_of_rows_without_weight(estimator, X):
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        estimator.fit(X).score(X, sample_weight=np.zeros(len(X)))


def test_score_uses_one_weight_whatever_was_fitted(X):
    fits = [tmsm.ScoreMatching(MODEL, REGION, w).fit(X) for w in ("geodesic", "normal", "saturating")]
    geodesic = fits[0]
    assert geodesic.score(X) >= max(fit.score(X) for fit in fits[1:])  # it minimises that very objective on X
    moments = geodesic.moments_
    for fit in fits:
        np.testing.assert_allclose(fit.score(X), -moments.objective(fit.natural_params_), rtol=1e-12)
    assert geodesic.score(X, sample_weight=np.ones(len(X))) == pytest.approx(geodesic.score(X), rel=1e-12)


def test_score_compares_known_parameters_of_flat_models():
    box = tmsm.Box([0.0, 0.0], [2.0, 2.0])
    true = tmsm.MultivariateNormal(np.eye(2))
    Y = true.sample(3000, box, random_state=0, mean=[0.5, 0.5])
    scores = [tmsm.ScoreMatching(tmsm.MultivariateNormal(s * np.eye(2)), box).fit(Y).score(Y) for s in (0.3, 1.0, 5.0)]
    assert np.argmax(scores) == 1


def test_summary_and_repr_are_readable(X):
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), REGION).fit(X)
    lines = fit.summary().splitlines()
    assert lines[0] == "ScoreMatching: VonMisesFisher(concentration=6.0)"
    assert len({len(line) for line in lines if line.startswith("─")}) == 1
    (concentration,) = [line for line in lines if line.startswith("concentration")]
    assert concentration.split() == ["concentration", "6", "known"]
    assert "Normal(power=3.0" in fit.summary()
    interval = tmsm.ScoreMatching(MODEL, REGION).fit(X).confidence_interval(0.9)
    low, high = interval.concentration
    assert low < 6 < high
    assert f"concentration=({low:.8f}"[:24] in repr(interval)
