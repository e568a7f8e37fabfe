"""The caution about rows unlike the family: silent under the model, loud where the shape is another."""

import numpy as np
import pytest
from tmsm.misfit import misfit_p_value

import tmsm
from benchmarks import families
from tmsm.rows import Rows

REGION = families.REGION


def p_values(model, fitted, params, region, n, seeds, weight="auto"):
    estimator = tmsm.ScoreMatching(fitted, region, weight)
    out = []
    for seed in seeds:
        X = model.sample(n, region, random_state=seed, **params)
        fit = estimator.fit(X)
        out.append(misfit_p_value(fit.moments_.spec, Rows(X, region), fit.natural_params_))
    return np.array(out)


MISES = {"mean_direction": [0, -1.0, 0], "concentration": 6.0}


@pytest.mark.parametrize("weight", ["auto", "geodesic"])
@pytest.mark.parametrize(
    ("model", "params"),
    [
        (tmsm.VonMisesFisher(), MISES),
        (tmsm.VonMisesFisher(6.0), MISES),
        (tmsm.Kent(), families.TRUTH),
        (tmsm.Watson(), {"axis": [0, -1.0, 0], "concentration": 4.0}),
    ],
    ids=["von Mises–Fisher", "κ known", "Kent", "Watson"],
)
def test_silent_under_the_model(model, params, weight):
    found = p_values(model, model, params, REGION, 1000, range(200), weight)
    assert found.min() > 1e-5
    assert np.mean(found < 0.05) < 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / 200) + 0.03
    assert 0.3 < found.mean() < 0.6


def test_loud_under_another_shape():
    truth = {**families.TRUTH, "ovalness": 4.5}
    found = p_values(tmsm.Kent(), tmsm.VonMisesFisher(), truth, REGION, 1000, range(20))
    assert np.median(found) < 1e-6


def test_absent_where_it_has_nothing_to_say():
    X = tmsm.VonMisesFisher().sample(50, REGION, random_state=0, **MISES)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    assert "look like" not in fit.status_
    fit.fit(np.vstack([X, X, X]), sample_weight=np.ones(150))
    assert "look like" not in fit.status_
    plane = tmsm.ScoreMatching(tmsm.MultivariateNormal(), tmsm.Everywhere(tmsm.Euclidean(2)))
    assert "look like" not in plane.fit(np.random.default_rng(0).uniform(size=(500, 2))).status_
