"""Bad input: each kind has its own message, matched by its text; nothing is clipped in silence."""

import re
from functools import lru_cache

import numpy as np
import pytest

import tmsm
from tmsm import weights
from tmsm.data.groups import Groups
from tmsm.foundation.errors import EstimationError, TmsmWarning

REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
MODEL = tmsm.VonMisesFisher()
KENT = tmsm.Kent()
AXES = {"mean_direction": [0.0, 0.0, 1.0], "major_axis": [1.0, 0.0, 0.0]}


@lru_cache(maxsize=1)
def good_rows():
    X = MODEL.sample(100, REGION, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    X.flags.writeable = False
    return X


@pytest.fixture(scope="module")
def X():
    return good_rows()


def changed(X, row, value):
    out = X.copy()
    out[row] = value
    return out


def score_matching(**options):
    return tmsm.ScoreMatching(MODEL, REGION, **options)


TABLES = {
    "nan": (lambda X: changed(X, 17, np.nan), "1 of 100 rows with NaN or infinite entries (first: row 17"),
    "infinity": (lambda X: changed(X, 3, np.inf), "1 of 100 rows with NaN or infinite entries (first: row 3"),
    "off the sphere": (
        lambda X: changed(X, 17, 1.2 * X[17]),
        "X has 1 of 100 rows off the sphere (worst: row 17, norm 1.2). "
        "Normalise them, or use lonlat_to_xyz if these are degrees.",
    ),
    "degrees": (lambda X: np.degrees(X), "100 of 100 rows off the sphere"),
    "two columns": (
        lambda X: X[:, :2],
        "X has 2 columns where points have 3 coordinates. Longitude and latitude in degrees",
    ),
    "four columns": (lambda X: np.ones((7, 4)), "X has 4 columns where points have 3 coordinates."),
    "transposed": (lambda X: X.T, "Its transpose has: pass X.T"),
    "one row": (
        lambda X: X[0],
        "X must be a table of shape (n, D), one row a point; got shape (3,). For a single point",
    ),
    "no rows": (lambda X: X[:0], "X has no rows"),
    "text": (lambda X: [["a", "b", "c"]], "X must hold real numbers"),
    "numbers as text": (lambda X: X.astype(str), "X must hold real numbers"),
    "dates": (lambda X: X.astype("datetime64[D]"), "X must hold real numbers"),
    "ragged": (lambda X: [[1.0, 2.0, 3.0], [1.0, 2.0]], "X must hold real numbers"),
    "nothing": (lambda X: None, "X must be a table of shape (n, D), one row a point; got shape ()"),
    "masked": (lambda X: np.ma.masked_less(X, -0.9), "masked entries. Drop those rows first"),
    "masked rows": (lambda X: [*np.ma.array(X, mask=X < -0.99)], "masked entries. Drop those rows first"),
    "complex": (lambda X: X.astype(complex), "X must hold real numbers"),
    "three axes": (lambda X: X[None], "got shape (1, 100, 3)"),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("estimator", [score_matching(), score_matching(weight="geodesic")], ids=["auto", "geodesic"])
def test_bad_tables(estimator, name, X):
    table, message = TABLES[name][0](X), TABLES[name][1]
    for method in (estimator.fit, estimator.partial_fit) if name != "no rows" else (estimator.fit,):
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            method(table)


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("two columns", "four columns", "transposed")])
def test_bad_tables_for_the_baseline(name, X):
    table, message = TABLES[name][0](X), TABLES[name][1]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        tmsm.NaiveMLE(MODEL).fit(table)


def test_rows_outside(X):
    mixed = changed(X, 5, [0.6, 0.8, 0.0])
    mixed[9] = [0.8, 0.6, 0.0]
    message = "X has 2 of 100 rows outside the region (worst: row 9, 0.927 beyond the border)."
    with pytest.raises(ValueError, match=re.escape(message)):
        score_matching().fit(mixed)
    fit = score_matching(outside="drop").fit(mixed)
    assert fit.n_outside_ == 2
    assert fit.n_samples_ == 98
    kept = np.delete(mixed, [5, 9], axis=0)
    np.testing.assert_allclose(fit.natural_params_, score_matching().fit(kept).natural_params_, rtol=1e-12)
    assert "2 rows outside the region were dropped" in fit.summary()


def test_all_rows_outside_or_on_the_border(X):
    for outside in ("raise", "drop"):
        with pytest.raises(ValueError, match=r"100 of 100 rows outside the region .*None is left to fit"):
            score_matching(outside=outside).fit(-X)
        angle = np.linspace(0, 6, 50)
        border = np.column_stack([0 * angle, np.cos(angle), np.sin(angle)])
        with pytest.raises(ValueError, match="All 50 rows of X lie on the border"):
            score_matching(outside=outside).fit(border)
        near = border - [1e-11, 0, 0]
        with pytest.raises(EstimationError, match="All 50 rows lie on the border"):
            score_matching(outside=outside, weight="geodesic").fit(near)


@pytest.mark.parametrize("weight", ["geodesic", "normal", "saturating"])
def test_too_few_or_identical_rows(weight, X):
    with pytest.raises(EstimationError, match="2 rows cannot determine 3 parameters"):
        score_matching(weight=weight).fit(X[:2])
    with pytest.raises(EstimationError, match="All 20 rows are identical"):
        score_matching(weight=weight).fit(np.tile(X[0], (20, 1)))


def test_too_few_or_identical_rows_for_the_baseline(X):
    with pytest.raises(EstimationError, match="2 rows cannot determine 3 parameters"):
        tmsm.NaiveMLE(MODEL).fit(X[:2])
    with pytest.raises(EstimationError, match="All rows are identical"):
        tmsm.NaiveMLE(MODEL).fit(np.tile([0.0, 0.0, 1.0], (20, 1)))
    with pytest.raises(EstimationError, match="no mean direction"):
        tmsm.NaiveMLE(MODEL).fit(np.vstack([np.eye(3), -np.eye(3)]))
    with pytest.raises(EstimationError, match="sample covariance is singular"):
        tmsm.NaiveMLE(tmsm.MultivariateNormal()).fit(np.ones((30, 2)))


def test_rows_that_do_not_determine_the_parameters():
    box = tmsm.Box([-2.0, -2.0], [2.0, 2.0])
    line = np.linspace(-1, 1, 50)
    with pytest.raises(EstimationError, match="singular"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), box).fit(np.column_stack([line, line]))
    middle = np.random.default_rng(0).uniform(-2, 2, (4000, 2)) ** 3 / 4
    bowl = np.sign(middle) * (2 - np.abs(middle))  # denser towards the faces than in the middle
    with pytest.raises(EstimationError, match="not positive definite"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), box).fit(bowl)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-np.ones(100), "sample_weight must be finite and not negative; 100 of 100 rows are not (first: row 0, -1)"),
        (np.r_[np.ones(99), np.nan], "1 of 100 rows is not (first: row 99, nan)"),
        (np.r_[np.ones(99), np.inf], "(first: row 99, inf)"),
        (np.zeros(100), "sample_weight is zero for every row"),
        (np.full(100, 1e170), "sample_weight has its largest entry at 1e+170, beyond what can be squared"),
        (np.ones(99), "one entry for each of the 100 rows of X; got shape (99,)"),
        (["a"] * 100, "sample_weight must hold real numbers"),
        (["1_0", None] * 50, "sample_weight must hold real numbers"),
        (
            np.ma.masked_equal(np.r_[np.ones(97), 0.5, 0.5, 1.0], 0.5),
            "sample_weight has 2 of 100 rows (first: row 97) with masked entries. Drop those rows first.",
        ),
        ([*np.ones(99), np.ma.masked], "sample_weight has 1 of 100 rows (first: row 99) with masked entries"),
    ],
)
@pytest.mark.parametrize("estimator", [score_matching(), tmsm.NaiveMLE(MODEL)], ids=["score matching", "naive"])
def test_bad_sample_weight(estimator, value, message, X):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        estimator.fit(X, sample_weight=value)


def test_missing_labels_of_groups(X):
    pandas = pytest.importorskip("pandas")
    missing = [
        ["a", None],
        ["a", float("nan")],
        ["a", " "],
        ["a", np.ma.masked],
        [1, None],
        [1, pandas.NA],
        [1, pandas.NaT],
        np.array([1.0, np.nan]),
        np.array(["a", ""]),
        np.array(["2020", "NaT"], dtype="M8[ns]"),
        np.array(["2020", "NaT"], dtype="M8[s]"),
        np.ma.array([1, 2], mask=[False, True]),
        np.ma.array(["a", "b"], mask=[False, True]),
        pandas.Series(["a", pandas.NA]),
        pandas.Series(["a", None], dtype="string"),
        pandas.Series([1, None], dtype="Int64"),
        pandas.Series(pandas.to_datetime(["2020", None], utc=True)),
        pandas.Categorical(["a", None]),
    ]
    for labels in missing:
        with pytest.raises(ValueError, match=re.escape("groups has 1 of 2 labels missing (first: row 1). Give every")):
            Groups.of(labels, 2)
    with pytest.raises(ValueError, match=re.escape("groups has 50 of 100 labels missing (first: row 1)")):
        score_matching().fit(X, groups=["a", pandas.NA] * 50)
    for labels in (["a", 1], [True, False], np.ma.array([1, 2]), pandas.Series([1, 2], dtype="Int64"), [b"a", b"b"]):
        assert Groups.of(labels, 2).count == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "geodesc"}, "weight='geodesc' is not an option. Choose one of ['auto', 'geodesic'"),
        ({"weight": "geodesc"}, "Did you mean 'geodesic'?"),
        ({"refine": "ml"}, "refine='ml' is not an option. Choose one of ['mle']"),
        ({"weight": 3}, "or a Weight object; got int"),
        ({"weight": tmsm.Projected}, "Call the class to make one"),
        ({"standard_errors": "no"}, "standard_errors must be True or False; got str 'no'"),
        ({"outside": "ignore"}, "outside='ignore' is not an option. Choose one of ['raise', 'drop']"),
        ({"weight": "componentwise"}, "needs faces across orthogonal axes, which Hemisphere does not have"),
        ({"weight": tmsm.Projected(axis=3)}, "axis must be below 3"),
        ({"weight": weights.Constant()}, "A constant weight does not vanish on the border"),
        ({"weight": weights.Normal(reach=2.0)}, "reach must not exceed 1.5708"),
        ({"log_exposure": 1.0}, "log_exposure must be a function of X"),
        (
            {"log_exposure": lambda X: X[:, :2]},
            "log_exposure must return values of shape (100,), or (values, gradients)",
        ),
        ({"log_exposure": lambda X: (X, X)}, "log_exposure must return shapes (100,) and (100, 3)"),
        ({"log_exposure": lambda X: (np.log(0 * X[:, 0] + 0.5), X * np.nan)}, "log_exposure must be finite"),
    ],
)
def test_bad_options(options, message, X):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        score_matching(**options).fit(X)


@pytest.mark.parametrize("name", TABLES)
def test_bad_tables_for_the_likelihood(name, X):
    table, message = TABLES[name][0](X), TABLES[name][1]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        tmsm.TruncatedMLE(MODEL, REGION).fit(table)


def test_the_likelihood_needs_rows_inside(X):
    with pytest.raises(ValueError, match="100 of 100 rows outside the region"):
        tmsm.TruncatedMLE(MODEL, REGION).fit(-X)
    with pytest.raises(ValueError, match="100 of 100 rows outside the region"):
        tmsm.TruncatedMLE(MODEL, REGION, outside="drop").fit(-X)
    with pytest.raises(EstimationError, match="2 rows cannot determine 3 parameters"):
        tmsm.TruncatedMLE(MODEL, REGION).fit(X[:2])
    with pytest.raises(TypeError, match="random_state must be None"):
        tmsm.TruncatedMLE(MODEL, REGION, random_state="x").fit(X)
    fit = tmsm.TruncatedMLE(MODEL, tmsm.Everywhere(tmsm.Sphere(2))).fit(X)
    np.testing.assert_allclose(fit.natural_params_, tmsm.NaiveMLE(MODEL).fit(X).natural_params_)
    with pytest.raises(ValueError, match="this fit used no nodes"):
        fit.n_nodes_  # noqa: B018


@pytest.mark.parametrize("manifold", [tmsm.Sphere(1), tmsm.Sphere(3)], ids=repr)
def test_kent_lives_on_the_ordinary_sphere(manifold):
    rows = manifold.uniform(50, 0)
    for estimator in (
        tmsm.ScoreMatching(KENT, tmsm.Everywhere(manifold)),
        tmsm.TruncatedMLE(KENT, tmsm.Everywhere(manifold)),
        tmsm.NaiveMLE(KENT),
    ):
        with pytest.raises(ValueError, match=r"Kent lives on the sphere S².*FisherBingham\(\) is its generalisation"):
            estimator.fit(rows)


def test_model_and_region_must_go_together(X):
    with pytest.raises(TypeError, match=r"model must be a model such as VonMisesFisher.*Call the class to make one"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher, REGION).fit(X)
    with pytest.raises(TypeError, match="region must be a region such as Cap"):
        tmsm.ScoreMatching(MODEL, "usa").fit(X)
    with pytest.raises(ValueError, match="VonMisesFisher lives on a sphere"):
        tmsm.ScoreMatching(MODEL, tmsm.Box([0.0], [1.0])).fit([[0.5]])
    with pytest.raises(ValueError, match="MultivariateNormal lives on flat space"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), REGION).fit(X)
    with pytest.raises(ValueError, match="known covariance is for 3 coordinates, the region has 1"):
        tmsm.ScoreMatching(tmsm.MultivariateNormal(np.eye(3)), tmsm.Box([0.0], [1.0])).fit([[0.5]])
    with pytest.raises(ValueError, match="needs a border without corners, and Intersection may have some"):
        tmsm.ScoreMatching(MODEL, REGION & tmsm.Cap([0.0, -1.0, 0.0], 1.0), "normal", outside="drop").fit(X)


CONSTRUCTIONS = [
    (lambda: tmsm.Cap([0.0, 0.0, 1.0], 30.0), "radius must be between 0 and 3.14159; got 30. Degrees become radians"),
    (lambda: tmsm.Cap([0.0, 0.0, 1.0], 0.0), "radius must be between 0 and"),
    (lambda: tmsm.Cap([0.0, 0.0, 1.0], "1"), "radius must be a number; got str '1'"),
    (lambda: tmsm.Cap([0.0, 0.0, 2.0], 1.0), "center must be a unit vector; its norm is 2"),
    (lambda: tmsm.Cap([-97.0, 39.0], 1.0), "use lonlat_to_xyz if these are degrees"),
    (lambda: tmsm.Hemisphere([np.nan, 0.0, 1.0]), "pole must be finite"),
    (lambda: tmsm.Sphere(0), "dim must be at least 1; got 0"),
    (lambda: tmsm.Euclidean(2.0), "dim must be a whole number; got float 2.0"),
    (lambda: tmsm.Everywhere("sphere"), "Everywhere needs a manifold"),
    (
        lambda: tmsm.Box([0.0, 1.0], [1.0, 1.0]),
        "lower must be below upper in every coordinate; coordinate 1 has 1 and 1",
    ),
    (lambda: tmsm.Box([0.0], [1.0, 2.0]), "lower and upper must have the same length"),
    (lambda: tmsm.Box([-np.inf], [np.inf]), "at least one finite side"),
    (lambda: tmsm.Ball([0.0], -1.0), "radius must be finite and greater than 0; got -1"),
    (lambda: tmsm.HalfSpace([0.0, 0.0], 1.0), "normal must not be the zero vector"),
    (lambda: tmsm.Polygon([[0, 0], [1, 0]]), "The polygon has 2 distinct vertices; a ring needs at least three"),
    (lambda: tmsm.Polygon([[0, 0], [1, 1], [1, 0], [0, 1]]), "crosses or touches itself: edge 0 meets edge 2"),
    (lambda: tmsm.Polygon([[0, 0], [1, 0], [1, 0], [0, 1]]), "The polygon repeats vertex 1; drop one of the two"),
    (lambda: tmsm.Polygon([[0, 0], [2, 0], [1, 0]]), "folds back on itself at vertex 0"),
    (lambda: tmsm.Polygon([[0, 0], [2, 0], [2, 2], [2, 1], [0, 2]]), "folds back on itself at vertex 2"),
    (lambda: tmsm.BorderPoints([[0.0, 1.0]], contains=3), "contains must be a function of X"),
    (
        lambda: tmsm.BorderPoints([[0, 1.0]], contains=lambda X: X).contains([[1.0, 0]]),
        "contains must return 1 booleans",
    ),
    (lambda: REGION & tmsm.Ball([0.0], 1.0), "Regions must lie on one manifold"),
    (lambda: REGION | 3, "Regions combine with regions; got int"),
    (lambda: REGION.border_distance(good_rows(), "euclidean"), "metric='euclidean' is not an option"),
    (lambda: REGION.border_distance(good_rows(), "projected", 7), "axis must be below 3"),
    (lambda: tmsm.Ball([0.0], 1.0).border_distance([[0.1]], "projected", 0), "not defined for Ball"),
    (lambda: REGION.contains([[1.0, 1.0, 0.0]]), "off the sphere"),
    (lambda: tmsm.Projected(axis=-1), "axis must be at least 0"),
    (lambda: weights.Saturating(0.0), "scale must be finite and greater than 0"),
    (lambda: weights.Saturating("mean"), "scale='mean' is not an option"),
    (lambda: weights.Distance("projected"), "metric='projected' is not an option"),
    (lambda: weights.Normal(1.0), "power must be at least 2"),
    (lambda: weights.Componentwise([1.0, -1.0]), "scale must be positive along every axis"),
    (lambda: tmsm.VonMisesFisher(-1.0), "concentration must be at least 1e-09 and below 1e+10; got -1"),
    (lambda: tmsm.VonMisesFisher(0.0), "concentration must be at least 1e-09 and below 1e+10; got 0"),
    (lambda: tmsm.VonMisesFisher(np.nan), "concentration must be at least 1e-09 and below 1e+10; got nan"),
    (lambda: tmsm.Kent(-1.0), "concentration must be at least 1e-09 and below 1e+10; got -1"),
    (lambda: tmsm.Kent(10.0, 0.0), "ovalness must be finite and greater than 0; got 0. With none the family is"),
    (
        lambda: tmsm.Kent(10.0, 6.0),
        "An ovalness of 6 is beyond half the concentration of 10: the density would have two",
    ),
    (lambda: tmsm.Kent("10"), "concentration must be a number; got str '10'"),
    (lambda: tmsm.Kent(10.0, [3.0, -3.0]), "ovalness must be a number; got list"),
    (lambda: tmsm.Kent(10.0, 3.0, balanced=False), "must be a pair (α₁, α₂) with α₁ > α₂"),
    (lambda: tmsm.Kent(10.0, [1.0, 2.0], balanced=False), "must be a pair (α₁, α₂) with α₁ > α₂"),
    (lambda: tmsm.Kent(unimodal="yes"), "unimodal must be True or False"),
    (lambda: tmsm.Watson(0.0), "concentration must not be zero: the density would have no axis"),
    (lambda: tmsm.Watson(np.inf), "concentration must be between -1e+10 and 1e+10; got inf"),
    (lambda: KENT.sample(5, mean_direction=[0, 0, 1.0], concentration=1.0, ovalness=0.1), "major_axis (or minor_axis)"),
    (lambda: KENT.sample(5, **AXES, concentration=1.0), "ovalness must be given: this model does not know it"),
    (lambda: KENT.sample(5, **AXES, concentration=1.0, ovalness=-0.1), "ovalness must be at least 0 and below 1e+10"),
    (
        lambda: KENT.sample(5, mean_direction=[0, 0, 1.0], major_axis=[0, 0.6, 0.8], concentration=1.0, ovalness=0.1),
        "major_axis must be perpendicular to mean_direction; their product is 0.8",
    ),
    (
        lambda: KENT.sample(5, mean_direction=[0, 1.0], major_axis=[1.0, 0], concentration=1.0, ovalness=0.1),
        "Kent lives on S²: mean_direction must have 3 entries; it has 2",
    ),
    (lambda: tmsm.FisherBingham().sample(5, linear=[1.0, 0.0]), "quadratic must be given"),
    (
        lambda: tmsm.FisherBingham().sample(5, linear=[1.0, 0.0], quadratic=np.eye(3)),
        "linear has 2 entries, quadratic 3",
    ),
    (lambda: tmsm.Bingham().sample(5, quadratic=[[0.0, 1.0], [0.0, 0.0]]), "quadratic must be symmetric"),
    (lambda: tmsm.Bingham().sample(5, quadratic=[1.0, 2.0]), "quadratic must be a square matrix; got shape (2,)"),
    (lambda: tmsm.Bingham().sample(5, quadratic=np.full((3, 3), np.nan)), "quadratic must be finite"),
    (lambda: tmsm.Watson().sample(5, axis=[0, 0, 2.0], concentration=1.0), "axis must be a unit vector; its norm is 2"),
    (
        lambda: tmsm.Watson(3.0).sample(5, axis=[0, 0, 1.0], concentration=2.0),
        "concentration is known to this model as 3; got 2",
    ),
    (
        lambda: MODEL.logpdf(good_rows(), mean_direction=[0, 1.0], concentration=1.0),
        "The parameters are not for 3 coordinates",
    ),
    (
        lambda: MODEL.logpdf(2 * good_rows(), mean_direction=[0, 0, 1.0], concentration=1.0),
        "100 of 100 rows off the sphere",
    ),
    (
        lambda: MODEL.logpdf(good_rows(), "R", mean_direction=[0, 0, 1.0], concentration=1.0),
        "region must be a region such as Cap",
    ),
    (
        lambda: MODEL.logpdf(good_rows(), tmsm.Ball([0.0], 1.0), mean_direction=[0, 0, 1.0], concentration=1.0),
        "VonMisesFisher lives on a sphere",
    ),
    (lambda: tmsm.MultivariateNormal([[1.0, 2.0], [2.0, 1.0]]), "covariance must be positive definite"),
    (lambda: tmsm.MultivariateNormal([[1.0, 2.0], [0.0, 1.0]]), "covariance must be symmetric"),
    (lambda: tmsm.MultivariateNormal(np.eye(2), isotropic=True), "isotropic=True is for a covariance that is to be"),
    (
        lambda: tmsm.MultivariateNormal(isotropic=True).sample(5, mean=[0.0, 0.0], covariance=[[1.0, 0.5], [0.5, 1.0]]),
        "covariance must be a multiple of the identity",
    ),
    (lambda: tmsm.MultivariateNormal([1.0, 2.0]), "covariance must be a square matrix; got shape (2,)"),
    (lambda: MODEL.sample(5, mean_direction=[0.0, 0.0, 1.0]), "concentration must be given"),
    (lambda: MODEL.sample(5), "mean_direction must be given by name: VonMisesFisher has ['mean_direction', 'concent"),
    (lambda: MODEL.sample(5, mean=[0, 1.0]), "VonMisesFisher has no parameter 'mean'; it has ['mean_direction'"),
    (lambda: MODEL.sample(5, "R", mean_direction=[0, 1.0], concentration=1.0), "region must be a region such as Cap"),
    (
        lambda: tmsm.VonMisesFisher(3.0).sample(5, mean_direction=[0, 1.0], concentration=5.0),
        "concentration is known to this model as 3; got 5",
    ),
    (
        lambda: tmsm.MultivariateNormal([[1.0]]).sample(5, mean=[0.0], covariance=[[2.0]]),
        "covariance is known to this model",
    ),
    (lambda: tmsm.BorderPoints([[0.0, 1.0]], manifold="sphere"), "manifold must be one, such as Sphere(2); got str"),
    (
        lambda: tmsm.Ball([0.0, 0.0, 0.0], 1.0).contains([[0.0, 0.0]]),
        "X has 2 columns where points have 3 coordinates.",
    ),
    (lambda: tmsm.Box([0.0], [1.0]).contains([0.2, 0.3]), "For one coordinate use X.reshape(-1, 1)"),
    (lambda: tmsm.MultivariateNormal([[np.nan]]), "covariance must be finite"),
    (lambda: MODEL.sample(-1, mean_direction=[0.0, 0.0, 1.0], concentration=1.0), "n must be at least 0"),
    (
        lambda: MODEL.sample(5, random_state="x", mean_direction=[0, 1.0], concentration=1.0),
        "random_state must be None",
    ),
    (
        lambda: MODEL.sample(5, REGION, mean_direction=[0, 1.0], concentration=1.0),
        "for 2 coordinates, the region has 3",
    ),
    (lambda: tmsm.lonlat_to_xyz(0.0, 100.0), "lat must be within ±90 degrees; 1 of 1 values break this"),
    (lambda: tmsm.lonlat_to_xyz([39.0], [-97.0]), "Longitude comes first: are the two swapped?"),
    (lambda: tmsm.lonlat_to_xyz([5e5], [10.0]), "lon must be within ±360 degrees"),
    (lambda: tmsm.lonlat_to_xyz([1.0, 2.0], [1.0, 2.0, 3.0]), "lon and lat must have the same shape"),
    (lambda: tmsm.lonlat_to_xyz([np.nan], [0.0]), "lon has 1 of 1 values that are NaN or infinite (first: position 0)"),
    (lambda: tmsm.colatlon_to_xyz(90.0, 180.0), "colat must be within [0, π] radians; 1 of 1 values break this"),
    (lambda: tmsm.colatlon_to_xyz(1.0, 180.0), "Degrees become radians with numpy.radians"),
    (lambda: tmsm.xyz_to_lonlat([[1.0, 1.0, 1.0]]), "off the sphere"),
    (lambda: tmsm.xyz_to_colatlon([[1.0, 0.0]]), "X has 2 columns"),
]


@pytest.mark.parametrize(("construct", "message"), CONSTRUCTIONS, ids=[message for _, message in CONSTRUCTIONS])
def test_bad_arguments(construct, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        construct()


def test_before_a_fit(X):
    for name in (
        "objective_",
        "weight_",
        "moments_",
        "n_outside_",
        "params_",
        "natural_params_",
        "covariance_",
        "std_errors_",
        "n_samples_",
        "status_",
        "goodness_of_fit_",
    ):
        with pytest.raises(ValueError, match="no estimate yet: call fit first"):
            getattr(score_matching(), name)
    for method in ("confidence_interval", "mean_direction_ellipse", "summary"):
        with pytest.raises(ValueError, match="call fit first"):
            getattr(score_matching(), method)()
    with pytest.raises(ValueError, match="call fit first"):
        score_matching().score(X)


def test_after_a_fit(X):
    fit = score_matching().fit(X)
    for level in (0.0, 1.0, 95, -0.5):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            fit.confidence_interval(level)
    plain = score_matching(standard_errors=False).fit(X)
    with pytest.raises(ValueError, match="Use fit with standard_errors=True"):
        _ = plain.std_errors_
    assert "std. error" in plain.summary()
    box = tmsm.Box([-1.0], [1.0])
    rows = np.random.default_rng(0).normal(0, 0.4, (200, 1))
    flat = tmsm.ScoreMatching(tmsm.MultivariateNormal(), box, outside="drop").fit(rows)
    with pytest.raises(ValueError, match="no mean direction"):
        flat.mean_direction_ellipse()
    rows = MODEL.sample(50, random_state=0, mean_direction=np.eye(4)[0], concentration=3.0)
    high = tmsm.ScoreMatching(MODEL, tmsm.Everywhere(tmsm.Sphere(3))).fit(rows)
    with pytest.raises(ValueError, match=r"a curve on S² only; this one lies on S\^3"):
        high.mean_direction_ellipse()


def test_directions_that_the_data_do_not_tell_apart():
    everywhere = tmsm.Everywhere(tmsm.Sphere(2))
    with pytest.raises(EstimationError, match="A whole circle of directions fits equally well"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(2.0), everywhere).fit(np.vstack([np.eye(3), -np.eye(3)]))
    axial = tmsm.VonMisesFisher().sample(300, random_state=0, mean_direction=[0.48, 0.6, 0.64], concentration=5.0)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(2.0), everywhere).fit(np.vstack([axial, -axial]))
    assert "Two directions fit equally well" in fit.status_
    assert "Two directions" in fit.summary()


def test_failed_fit_leaves_no_stale_estimate(X):
    fit = score_matching().fit(X)
    with pytest.raises(ValueError, match="off the sphere"):
        fit.fit(2 * X)
    with pytest.raises(ValueError, match="no estimate yet: the last call to fit failed"):
        _ = fit.params_


def test_weakly_determined_directions_are_flagged(X):
    rows = MODEL.sample(200, REGION, random_state=3, mean_direction=[0.0, -1.0, 0.0], concentration=0.05)
    fit = score_matching().fit(rows)
    assert not fit.determined_
    assert fit.status_.startswith("The data do not determine a centre: inside this region the density may be flat")
    assert "The data do not determine a centre" in fit.summary().splitlines()[0]
    assert "undetermined" in fit.summary()
    assert fit.confidence_region().everywhere
    assert fit.confidence_region().rings == []
    assert fit.confidence_interval().concentration[0] == 0.0
    with (
        pytest.warns(TmsmWarning, match="too uncertain for an ellipse"),
        pytest.raises(EstimationError, match="hardly determine this direction"),
    ):
        fit.mean_direction_ellipse()
    assert score_matching().fit(X).determined_
    assert "hardly" not in score_matching().fit(X).status_
    with pytest.raises(EstimationError, match="no mean direction"):
        tmsm.NaiveMLE(tmsm.VonMisesFisher(4.0)).fit(np.vstack([X, -X]))


def test_results_cannot_be_changed_by_accident(X):
    fit = score_matching().fit(X)
    with pytest.raises(ValueError, match="read-only"):
        fit.params_.mean_direction[0] = 3.0
    with pytest.raises(AttributeError, match="read-only"):
        fit.params_.concentration = 3.0
    before = fit.summary()
    assert fit.set_params(model=tmsm.VonMisesFisher(2.0)).summary() == before


def test_regions_are_neither_true_nor_false():
    with pytest.raises(TypeError, match="combine regions with &"):
        _ = tmsm.Hemisphere([1.0, 0, 0]) and tmsm.Cap([1.0, 0, 0], 0.5)
