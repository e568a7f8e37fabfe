"""Densities that users write as functions: what comes back, in which form, and what is said of those that fail."""

import pickle
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tmsm
from tmsm.foundation.pytrees import flattened

SPHERE = tmsm.Sphere(2)
CAP = tmsm.Cap([0.0, 0.0, 1.0], 1.0)


class Pair(NamedTuple):
    pull: Any
    ridge: Any


def linear(params, x):
    return params @ x


def nested(params, x):
    return params["pull"] @ x + params["shape"]["ridge"] * x[0] * x[1]


def of_pair(params, x):
    return params.pull @ x + params.ridge[0] * x[0] * x[1]


def alone(params, x):
    return params * (0.6 * x[0] + 0.8 * x[2])


INIT = {"pull": np.zeros(3), "shape": {"ridge": 0}}


def model():
    return tmsm.LogDensity(nested, INIT, SPHERE)


@pytest.fixture(scope="module")
def rows():
    truth = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 5.0}
    return tmsm.VonMisesFisher().sample(256, CAP, random_state=0, **truth)


@pytest.fixture(scope="module")
def fit(rows):
    return tmsm.ScoreMatching(model(), CAP, "normal").fit(rows)


def test_everything_has_the_form_of_init(fit, rows):
    theta, errors = fit.natural_params_, np.sqrt(np.diag(fit.covariance_))
    assert list(fit.params_) == ["pull", "shape"]
    np.testing.assert_array_equal(fit.params_["pull"], theta[:3])
    assert fit.params_["shape"] == {"ridge": theta[3]}
    assert type(fit.params_["shape"]["ridge"]) is float
    np.testing.assert_allclose(fit.std_errors_["pull"], errors[:3])
    np.testing.assert_allclose(fit.std_errors_["shape"]["ridge"], errors[3])
    low, high = fit.confidence_interval(0.95, "wald")["shape"]["ridge"]
    np.testing.assert_allclose([low, high], theta[3] + np.array([-1.0, 1.0]) * 1.96 * errors[3], rtol=1e-2)
    low, high = fit.confidence_interval()["pull"]
    assert ((low < theta[:3]) & (theta[:3] < high)).all()
    text = fit.summary()
    assert all(name in text for name in ("pull[0]", "pull[2]", "shape.ridge", "Newton's method from 5 starts"))
    assert 0.0 <= fit.goodness_of_fit_.p_value <= 1.0
    assert 0.0 < tmsm.stein_test(fit, rows, n_resamples=99).p_value <= 1.0
    other = tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, "normal").fit(rows)
    assert {one.n_parameters for one in tmsm.compare([fit, other])} == {3, 4}
    replicates = fit.bootstrap(rows, n_resamples=19, random_state=0)
    spread = flattened(replicates.std_errors, "errors")[1]
    assert (0.4 * errors < spread).all()
    assert (spread < 2.5 * errors).all()


@pytest.mark.parametrize(
    ("function", "init", "names", "shown"),
    [
        (
            of_pair,
            Pair([0.0, 0, 1], [1]),
            ["pull.0", "pull.1", "pull.2", "ridge.0"],
            "Pair(pull=[0.0, 0.0, 1.0], ridge=[1.0])",
        ),
        (linear, jnp.zeros(3), ["params"], "[0.0, 0.0, 0.0]"),
        (alone, 2, ["params"], "2.0"),
        (lambda p, x: p[0] * x[0] + p[1][0] * x[2], (1, [np.float32(2.0)]), ["0", "1.0"], "(1.0, [2.0])"),
        (lambda p, x: p["a.b"] * x[0] + p["a"]["b"] * x[2], {"a.b": 1, "a": {"b": 2}}, ["['a']['b']", "['a.b']"], None),
        (lambda p, x: p["a"] * x[0], {"a": 1.0, "none": None}, ["a"], None),
    ],
)
def test_any_nesting(function, init, names, shown, rows):
    if function is of_pair:
        function = lambda p, x: jnp.stack(p.pull) @ x + p.ridge[0] * x[0] * x[1]  # noqa: E731
    one = tmsm.LogDensity(function, init, SPHERE)
    assert [field.name for field in one.fields] == names
    assert shown is None or f"init={shown}, " in repr(one)
    found = tmsm.ScoreMatching(one, CAP, "normal").fit(rows)
    for values in (found.params_, found.std_errors_):
        assert jax.tree.structure(values) == jax.tree.structure(init)
    np.testing.assert_allclose(one.natural_parameters(params=found.params_), found.natural_params_)
    np.testing.assert_allclose(flattened(found.params_, "params")[1], found.natural_params_)


def test_parameters_are_given_as_a_tree_or_by_name():
    own = model()
    wanted = [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(own.natural_parameters(params={"pull": [1, 2, 3], "shape": {"ridge": 4}}), wanted)
    np.testing.assert_array_equal(own.natural_parameters(**{"pull": [1, 2, 3], "shape.ridge": 4.0}), wanted)
    bad = [
        (
            {"params": {"pull": [1, 2], "shape": {"ridge": 0}}},
            r"params: pull must have the shape \(3,\) as in init; it has",
        ),
        ({"params": 3.0}, "params must be nested like init, with the leaves pull, shape.ridge; got 3.0"),
        ({"pull": [1, 2, 3]}, "by name; 'shape.ridge' is missing"),
        ({"push": 1.0}, "by name; got 'push'"),
        ({"params": {"pull": [1, 2, np.nan], "shape": {"ridge": 0}}}, "pull must be finite; 1 of its 3 numbers"),
    ]
    for given, message in bad:
        with pytest.raises(ValueError, match=message):
            own.logpdf(np.eye(3), CAP, **given)
    bare = tmsm.LogDensity(linear, np.zeros(3), SPHERE)
    np.testing.assert_array_equal(bare.natural_parameters(params=[1, 2, 3]), [1.0, 2.0, 3.0])


def test_densities_are_values(fit, tmp_path):
    one = model()
    other = pickle.loads(pickle.dumps(one))
    assert one == other
    assert hash(one) == hash(other)
    assert one != tmsm.LogDensity(nested, {"pull": np.ones(3), "shape": {"ridge": 0.0}}, SPHERE)
    assert one != tmsm.LogDensity(linear, np.zeros(3), SPHERE)
    assert one == tmsm.LogDensity.from_arguments(**one.to_arguments())
    assert "jax" not in pickle.dumps(one).decode("latin1")
    init = "{'pull': [0.0, 0.0, 0.0], 'shape': {'ridge': 0.0}}"
    assert repr(one) == f"LogDensity(fn=<function nested>, init={init}, manifold=Sphere(dim=2))"
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.params_["pull"], fit.params_["pull"])
    assert again.goodness_of_fit_ == fit.goodness_of_fit_
    with pytest.raises(ValueError, match="cannot be kept in a file: a file holds no code"):
        fit.save(tmp_path / "fit.json")
    with pytest.raises(ValueError, match="LogDensity has no sampler: of nested only the values are known"):
        one.sample(3, CAP, params=fit.params_)
    plane = tmsm.LogDensity(linear, np.zeros(2), tmsm.Euclidean(2))
    with pytest.raises(ValueError, match="no normalising constant on Euclidean"):
        plane.logpdf(np.zeros((1, 2)), params=[1.0, 2.0])
    with pytest.raises(ValueError, match="lives on Sphere"):
        tmsm.ScoreMatching(one, tmsm.Ball([0.0, 0.0], 1.0)).fit(np.zeros((3, 2)))


def wrong(function, init):
    return lambda: tmsm.LogDensity(function, init, SPHERE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            wrong(lambda p, x: p * x, 1.0),
            r"must return one number for parameters and one point of shape \(3,\); .* \(3,\)",
        ),
        (wrong(lambda p, x: (p * x[0])[None], 1.0), r"must return one number .* it returns shape \(1,\)"),
        (wrong(lambda p, x: [p], 1.0), "it returns a list"),
        (wrong(lambda p, x: 3, 1.0), "must return a real number that can be differentiated; it returns int"),
        (wrong(lambda p, x: p * x[3], 1.0), "reads a coordinate that points do not have: they have 3"),
        (wrong(lambda p, x: p * np.sin(x[0]), 1.0), "cannot be traced by JAX .* jax.numpy"),
        (wrong(lambda p, x: p if x[0] > 0 else -p, 1.0), "cannot be traced by JAX .* jnp.where"),
        (wrong(lambda x: x[0], 1.0), r"fails at a point of 3 coordinates \(TypeError"),
        (wrong(lambda p, x: p["b"] * x[0], {"a": 1.0}), r"fails at a point of 3 coordinates \(KeyError"),
        (wrong(3.5, 1.0), "fn must be a function of parameters and one point that JAX can trace; got float"),
        (wrong(alone, "one"), "init must be a number or an array of numbers; got 'one'"),
        (wrong(alone, {"a": [1.0, "b"]}), r"init: a\.1 must be a number or an array of numbers; got 'b'"),
        (wrong(alone, {"a": True}), "init: a must be a number or an array of numbers; got True"),
        (wrong(alone, np.nan), "init must be finite; 1 of its 1 numbers is NaN or infinite"),
        (wrong(alone, {"a": np.array([1.0, np.inf, 2.0])}), "init: a must be finite; 1 of its 3 numbers are NaN"),
        (wrong(alone, {}), "init holds no number: a density needs at least one parameter to fit"),
        (wrong(alone, None), "init holds no number"),
        (wrong(alone, np.zeros((0, 2))), "init is an empty array: leave it out"),
        (
            wrong(alone, {1: 2.0, "a": 3.0}),
            "init is no tree of parameters: .* keys of a dictionary must be of one kind",
        ),
        (lambda: tmsm.LogDensity(alone, 1.0, None), r"LogDensity needs a manifold, such as Sphere\(2\); got NoneType"),
        (lambda: tmsm.LogDensity(alone, 1.0, 2), r"LogDensity needs a manifold, such as Sphere\(2\); got int"),
        (
            lambda: tmsm.LogDensity(lambda p, x: p * x[0], 1.0, tmsm.Rotations()),
            r"is no function on .* are the same point",
        ),
    ],
)
def test_what_cannot_be_a_density(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def logarithm(params, x):
    return params * jnp.log(x[0] + 0.2)


def root(params, x):
    return params * x[1] + jnp.sqrt(params) * x[0]


@pytest.mark.parametrize(
    ("function", "init", "message"),
    [
        (logarithm, 1.0, r"logarithm is NaN or infinite at \d+ of 256 rows \(first: row \d+, the point \["),
        (root, -1.0, r"root is NaN or infinite at 256 of 256 rows .* for the parameters \[-1\.\]\. .* a logarithm"),
        (lambda p, x: p * x[1] + jnp.where(x[0] > 0.3, 0.5, 0.0), 1.0, r"fn jumps on \d+ of \d+ paths .* by 0\.5 near"),
        (lambda p, x: p * jnp.floor(5.0 * x[0]), 1.0, r"fn jumps on \d+ of \d+ paths between rows"),
        (lambda p, x: p * jnp.abs(x[0] - 0.3), 1.0, r"The derivative of fn jumps .* needs a continuous derivative"),
        (lambda p, x: p * (x @ x), 1.0, r"fn does not change along Sphere\(dim=2\) at the rows"),
        (lambda p, x: p[0] * x[0] + p[1], [1.0, 2.0], "The parameter 1 of fn changes no density"),
        (
            lambda p, x: p["a"] @ x[:2],
            {"a": np.ones(2), "b": np.ones((2, 2))},
            r"The parameter b\[0, 0\] of fn changes no",
        ),
        (lambda p, x: p["a"] * p["b"] * x[0], {"a": 1.0, "b": 2.0}, r"nearly singular .* Least determined: a, b;"),
        (lambda p, x: p["a"] * x[0] + p["b"] @ x, {"a": 1.0, "b": np.ones(3)}, r"nearly singular .* determined: a, b;"),
    ],
)
def test_densities_that_rows_show_to_be_wrong(function, init, message, rows):
    with pytest.raises(ValueError, match=message):
        tmsm.ScoreMatching(tmsm.LogDensity(function, init, SPHERE), CAP, "normal").fit(rows)


def test_smooth_densities_that_are_steep_or_flat_are_not_refused(rows):
    steep = tmsm.LogDensity(lambda p, x: p * x[1] + jax.nn.sigmoid(200.0 * (x[0] - 0.3)), 1.0, SPHERE)
    flat = tmsm.LogDensity(lambda p, x: p @ x - 1.5 * jnp.log(x @ x), np.zeros(3), SPHERE)
    positive = tmsm.LogDensity(lambda p, x: jnp.sqrt(p - 0.4) * x[0] + 4.0 * x[2], 0.41, SPHERE)
    for one in (steep, flat, positive):
        one.check_spread(rows)
    # Of the starts round init, those where there is no density are left out.
    assert len(positive.starts(rows)) < len(flat.starts(rows)) == 5
    assert np.isfinite(tmsm.ScoreMatching(positive, CAP, "normal").fit(rows).natural_params_).all()


def test_few_rows_and_single_precision(rows):
    with pytest.raises(ValueError, match="2 rows cannot determine 3 parameters"):
        tmsm.ScoreMatching(tmsm.LogDensity(linear, np.zeros(3), SPHERE), CAP, "normal").fit(rows[:2])
    with pytest.raises(ValueError, match="All 50 rows are identical"):
        tmsm.ScoreMatching(tmsm.LogDensity(linear, np.zeros(3), SPHERE), CAP, "normal").fit(np.repeat(rows[:1], 50, 0))
    fits = [tmsm.ScoreMatching(model(), CAP, "normal").fit(X).natural_params_ for X in (rows, rows.astype(np.float32))]
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-4, atol=1e-5)


def test_without_jax_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(ImportError, match=r"needs jax: pip install 'tmsm\[jax\]'"):
        tmsm.LogDensity(alone, 1.0, SPHERE)
