"""Fits that are saved and loaded: the same estimator again, and one clear sentence for every file that is none."""

import json
import os

import numpy as np
import pytest

import tmsm
from tests.contract.test_own_kinds import own
from tests.registry import _FAMILIES, EVERYWHERE, MODELS, PAIRS, REGIONS, inside_points, resolved, sampled, width
from tmsm import weights
from tmsm.foundation.encoding import MAX_DEPTH, decode, encode
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError

HEMISPHERE = tmsm.Hemisphere([-1.0, 0.0, 0.0])
TRUTH = {"mean_direction": [0.0, -1.0, 0.0], "concentration": 6.0}
VMF = tmsm.VonMisesFisher()


def rows(n=400, seed=0):
    return VMF.sample(n, HEMISPHERE, random_state=seed, **TRUTH)


def saved_and_loaded(fit, folder, **options):
    path = folder / "fit.json"
    fit.save(path)
    return tmsm.load(path, **options)


def check_same(fit, again, folder):
    assert type(again) is type(fit)
    for name, value in fit.get_params().items():
        assert getattr(again, name) == value or callable(value), name
    assert again.summary() == fit.summary()
    assert np.array_equal(again.natural_params_, fit.natural_params_)
    assert again.params_ == fit.params_
    assert again.result_.n_groups == fit.result_.n_groups
    assert again.result_.model == fit.result_.model
    assert again.result_.kept.same_as(fit.result_.kept)
    if fit.result_.covariance is not None:
        assert np.array_equal(again.covariance_, fit.covariance_)
        assert repr(again.confidence_interval(0.5)) == repr(fit.confidence_interval(0.5))
    if fit.result_.complete:
        assert again.information_criterion_ == pytest.approx(fit.information_criterion_, rel=1e-9, abs=1e-12)
    again.save(folder / "again.json")
    first, second = (json.loads((folder / name).read_text())["fit"] for name in ("fit.json", "again.json"))
    assert first == second


# Value objects.


def objects():
    """Regions, models and weights of every kind; those of the last are resolved, too."""
    yield from (case.region for case in (*REGIONS, *EVERYWHERE) if case.name != "equator points")
    yield from (model for model, _ in (*MODELS, *_FAMILIES))
    for case, recipe in PAIRS[::7]:
        yield from (recipe, resolved(case, recipe))
    yield tmsm.LonLatBox(-100, 25, -75, 48, rounded=(0.5, 0.25))
    yield tmsm.Box([0.0, 0.0], [1.0, 1.0], rounded=0.1)
    yield from (weights.Combined(3, weights.Saturating(0.5), 0.25), weights.Combined(), weights.Auto(combine=False))


def test_value_objects_are_rebuilt_exactly():
    for one in objects():
        text = json.dumps(encode(one, "thing"), allow_nan=False)
        again = decode(json.loads(text), "thing")
        assert again == one
        assert type(again) is type(one)
        assert json.dumps(encode(again, "thing")) == text


def test_unit_vectors_stay_as_they_are():
    rng = np.random.default_rng(0)
    for D in (2, 3, 5, 100):
        for v in rng.standard_normal((50, D)):
            cap = tmsm.Cap(v / np.linalg.norm(v), 0.5)
            assert tmsm.Cap(cap.center, 0.5) == cap


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.5, 1e-320, np.inf, -np.inf, "text", (), (1, (2.0, "a")), [1, 2], np.float64(2.5), np.int64(7)],
)
def test_plain_values(value):
    again = decode(json.loads(json.dumps(encode(value, "value"), allow_nan=False)), "value")
    assert again == value
    assert type(again) in (type(value), type(value.item()) if isinstance(value, np.generic) else type(value))


@pytest.mark.parametrize(
    "array", [np.zeros((0, 3)), np.arange(6).reshape(2, 3), np.array([np.inf, np.nan, 1.0]), np.ones((1, 1), bool)]
)
def test_arrays(array):
    again = decode(json.loads(json.dumps(encode(array, "array"), allow_nan=False)), "array")
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


def test_what_cannot_be_encoded():
    with pytest.raises(InvalidInputError, match=r"The region \(BorderPoints, contains\) is a function, which cannot"):
        encode(tmsm.BorderPoints(np.eye(3), contains=lambda X: X[:, 0] > 0), "region")
    with pytest.raises(InvalidInputError, match="The thing is a value of type set, which cannot be kept in a file"):
        encode({1, 2}, "thing")
    deep = ()
    for _ in range(MAX_DEPTH + 2):
        deep = (deep,)
    with pytest.raises(InvalidInputError, match="more than 50 levels"):
        encode(deep, "thing")


# Fits.

WAYS = ("auto", "combined", "saturating", "mle", "truncated", "naive")


def estimator_of(way, model, region):
    if way == "naive":
        return tmsm.NaiveMLE(model)
    if way == "truncated":
        return tmsm.TruncatedMLE(model, region)
    if way == "mle":
        return tmsm.ScoreMatching(model, region, refine="mle")
    return tmsm.ScoreMatching(model, region, way)


def seen(region, n=150):
    """Rows inside a region, in a cluster somewhere in it."""
    sphere = isinstance(region.manifold, tmsm.Sphere)
    middle, rng = inside_points(region, 1)[0], np.random.default_rng(0)
    if not sphere and not region.manifold.is_flat:
        start = np.tile(middle, (60 * n, 1))
        steps = region.manifold.project_tangent(start, 0.5 * rng.standard_normal(start.shape))
        X = region.manifold.retract(start, steps)
        return X[region.contains(X)][:n]
    X = middle + (0.3 if sphere else 0.5) * rng.standard_normal((60 * n, middle.size))
    X = X / np.linalg.norm(X, axis=1)[:, None] if sphere else X
    return X[region.contains(X)][:n]


def lives_on(model, manifold):
    try:
        model.check_manifold(manifold)
    except InvalidInputError:
        return False
    return True


REGION_CASES = [(k, case) for k, case in enumerate(REGIONS) if case.name not in ("equator points", "flat points")]


@pytest.mark.parametrize(
    ("k", "case"), sampled(REGION_CASES, lambda k, case: type(case.region), lambda k, case: k % 4), ids=repr
)
def test_every_region(k, case, tmp_path):
    region = case.region
    model = VMF if isinstance(region.manifold, tmsm.Sphere) else tmsm.MultivariateNormal(isotropic=True)
    if not isinstance(region.manifold, tmsm.Sphere) and not region.manifold.is_flat:
        # The first that lives there, bound or not.
        model = next(model for model, _ in MODELS if lives_on(model, region.manifold))
    way = WAYS[k % (4 if region.manifold.dim <= 2 else 3)]
    X = seen(region)
    options = {"groups": np.arange(len(X)) // 3} if k % 3 == 0 else {}
    if k % 5 == 0:
        options["sample_weight"] = np.random.default_rng(0).uniform(0.0, 2.0, len(X))
    fit = estimator_of(way, model, region).fit(X, **options)
    check_same(fit, saved_and_loaded(fit, tmp_path), tmp_path)


FAMILIES = [(k, model) for k, (model, params) in enumerate(_FAMILIES) if width(params) <= 3]


@pytest.mark.parametrize(
    ("k", "model"), sampled(FAMILIES, lambda k, model: type(model), lambda k, model: k % 6), ids=repr
)
def test_every_family(k, model, tmp_path):
    params = _FAMILIES[k][1]
    D = width(params)
    manifold = MODELS[k][0].manifold
    if isinstance(manifold, tmsm.Sphere):
        region = tmsm.Cap(np.eye(D)[0], 2.4)
    elif manifold.is_flat:
        region = tmsm.Ball(np.full(D, 0.5), 3.0)
    else:
        region = tmsm.GeodesicBall(manifold, MODELS[k][0].sample(1, random_state=0, **params)[0], 2.5)
    X = model.sample(300, region, random_state=0, **params)
    way = WAYS[k % len(WAYS)]
    options = {"groups": np.arange(300) // 2} if k % 2 else {"sample_weight": np.linspace(0.0, 2.0, 300)}
    fit = estimator_of(way, model, region).fit(X, **options)
    check_same(fit, saved_and_loaded(fit, tmp_path), tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_larger_tables_than_a_fit_keeps(way, grouped, tmp_path, monkeypatch):
    monkeypatch.setattr("tmsm.data.rows._SAMPLE_ROWS", 250)
    X = rows(1100)
    options = {"groups": np.arange(1100) // 4, "sample_weight": np.linspace(0.5, 2.0, 1100)} if grouped else {}
    fit = estimator_of(way, VMF, HEMISPHERE).fit(X, **options)
    assert fit.result_.kept_share == 0.2
    again = saved_and_loaded(fit, tmp_path)
    check_same(fit, again, tmp_path)
    assert again.n_samples_ == 1100
    one, other = (f.bootstrap(X, 3, random_state=0, n_jobs=1, **options) for f in (fit, again))
    assert one.params == other.params


def test_a_stream_goes_on(tmp_path):
    X = rows(900)
    fit = tmsm.ScoreMatching(VMF, HEMISPHERE)
    for part in np.array_split(X[:600], 3):
        fit.partial_fit(part)
    again = saved_and_loaded(fit, tmp_path)
    check_same(fit, again, tmp_path)
    assert again.partial_fit(X[600:]).summary() == fit.partial_fit(X[600:]).summary()
    assert again.n_samples_ == 900


def test_dropped_rows_missing_errors_and_zero_weights(tmp_path):
    X = np.vstack([rows(300), -rows(5)])
    fit = tmsm.ScoreMatching(VMF, HEMISPHERE, outside="drop", standard_errors=False).fit(X)
    again = saved_and_loaded(fit, tmp_path)
    check_same(fit, again, tmp_path)
    assert again.n_outside_ == 5
    weight = np.ones(300)
    weight[:40] = 0.0
    fit = tmsm.ScoreMatching(VMF, HEMISPHERE, "combined").fit(X[:300], sample_weight=weight)
    again = saved_and_loaded(fit, tmp_path)
    check_same(fit, again, tmp_path)
    assert (again.n_samples_, len(again.result_.kept)) == (300, 260)


def test_everything_works_on_a_loaded_fit(tmp_path):
    X, labels = rows(), np.arange(400) // 2
    fit = tmsm.ScoreMatching(VMF, HEMISPHERE).fit(X, groups=labels)
    again = saved_and_loaded(fit, tmp_path)
    assert again.status_ == fit.status_
    assert again.std_errors_ == fit.std_errors_
    assert again.goodness_of_fit_ == pytest.approx(fit.goodness_of_fit_)
    assert again.weight_ == fit.weight_
    assert pytest.approx(fit.moments_.A) == again.moments_.A
    assert (fit.moments_ + again.moments_).n == 800
    assert again.score(X) == fit.score(X)
    assert again.covers(TRUTH["mean_direction"]) == fit.covers(TRUTH["mean_direction"])
    np.testing.assert_array_equal(again.confidence_region().rings[0], fit.confidence_region().rings[0])
    one, other = (f.bootstrap(X, 4, random_state=1, n_jobs=1) for f in (fit, again))
    assert one.params == other.params
    wider = tmsm.ScoreMatching(tmsm.Kent(), HEMISPHERE).fit(X, groups=labels)
    assert str(tmsm.compare([again, wider])) == str(tmsm.compare([fit, wider]))
    assert again.plot(density=False).ax_ is not None
    assert again.to_frame().equals(fit.to_frame())
    assert tmsm.stein_test(again, X).p_value == pytest.approx(tmsm.stein_test(fit, X).p_value)
    assert again.fit(X[:200]).n_samples_ == 200


def test_nodes_and_likelihoods_come_back(tmp_path):
    fit = tmsm.TruncatedMLE(VMF, HEMISPHERE).fit(rows())
    again = saved_and_loaded(fit, tmp_path)
    for name in ("log_likelihood_", "n_nodes_", "quadrature_error_"):
        assert getattr(again, name) == getattr(fit, name), name
    cap = tmsm.Cap(np.eye(4)[0], 1.2)
    X = VMF.sample(300, cap, random_state=0, mean_direction=np.eye(4)[1], concentration=5.0)
    fit = tmsm.TruncatedMLE(VMF, cap, random_state=np.random.default_rng(3)).fit(X)
    again = saved_and_loaded(fit, tmp_path)
    assert again.random_state is None
    np.testing.assert_array_equal(again.covariance_, fit.covariance_)


def test_own_models_and_regions(tmp_path):
    kinds = own()
    region = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    X = VMF.sample(300, region, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=8.0)
    fit = tmsm.ScoreMatching(kinds.HeavyTail(), region).fit(X)
    check_same(fit, saved_and_loaded(fit, tmp_path), tmp_path)
    path = tmp_path / "fit.json"
    path.write_text(path.read_text().replace('"HeavyTail"', '"LightTail"'))
    with pytest.raises(
        InvalidInputError,
        match=r"^fit.json was made with the model LightTail, which is not known here: import the module that",
    ):
        tmsm.load(path)


def exposure(X):
    return 0.5 * X[:, 2], np.tile([0.0, 0.0, 0.5], (len(X), 1))


def other_exposure(X):
    return 3.0 * X[:, 0], np.tile([3.0, 0.0, 0.0], (len(X), 1))


def test_a_known_exposure_is_asked_for_again(tmp_path):
    fit = tmsm.ScoreMatching(VMF, HEMISPHERE, log_exposure=exposure).fit(rows())
    again = saved_and_loaded(fit, tmp_path, log_exposure=exposure)
    check_same(fit, again, tmp_path)
    assert again.log_exposure is exposure
    with pytest.raises(
        InvalidInputError, match=r"fit.json was made with a log_exposure function.*give the function again"
    ):
        tmsm.load(tmp_path / "fit.json")
    with pytest.raises(InvalidInputError, match=r"not that of its rows\. Is log_exposure the function"):
        tmsm.load(tmp_path / "fit.json", log_exposure=other_exposure)
    tmsm.NaiveMLE(VMF).fit(rows()).save(tmp_path / "fit.json")
    with pytest.raises(InvalidInputError, match="was made without one: load it without log_exposure"):
        tmsm.load(tmp_path / "fit.json", log_exposure=exposure)


def test_what_cannot_be_saved(tmp_path):
    border = tmsm.BorderPoints(HEMISPHERE.border_curves[0], contains=lambda X: X[:, 0] < 0)
    fit = tmsm.ScoreMatching(VMF, border, "geodesic").fit(rows())
    with pytest.raises(InvalidInputError, match=r"contains\) is a function, which cannot be kept in a file"):
        fit.save(tmp_path / "fit.json")
    with pytest.raises(tmsm.errors.NotFittedError, match="call fit first"):
        tmsm.ScoreMatching(VMF, HEMISPHERE).save(tmp_path / "fit.json")
    with pytest.raises(InvalidInputError, match="is a folder"):
        tmsm.NaiveMLE(VMF).fit(rows()).save(tmp_path)
    with pytest.raises(InvalidTypeError, match="path must be the name of a file; got int"):
        fit.save(3)
    assert list(tmp_path.iterdir()) == []


# Files that are none.


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "fit.json"
    tmsm.ScoreMatching(VMF, HEMISPHERE).fit(rows(120), groups=np.arange(120) // 2).save(path)
    return json.loads(path.read_text())


def refused(document, folder, message, *keys, value):
    """Check what is said of a document with a value put in one place."""
    changed = json.loads(json.dumps(document))
    place = changed
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path = folder / "odd.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(InvalidInputError, match=message) as error:
        tmsm.load(path)
    assert str(error.value).startswith("odd.json ")
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


REGION = ("fit", "configuration", "region")


def thing(name, module="tmsm.regions.cap", **arguments):
    return {"class": name, "module": module, "arguments": arguments}


def array(values, shape, dtype="float64"):
    return {"array": values, "shape": shape, "dtype": dtype}


def nested(depth):
    value = thing("Hemisphere", pole=array([-1.0, 0.0, 0.0], [3]))
    for _ in range(depth):
        value = thing("Intersection", "tmsm.regions.region", parts=[value, value])
    return value


def deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


CAP = {"center": array([0.0, 0.0, 1.0], [3]), "radius": 0.5}
ODD = {
    "older": (("version",), 1, "was saved by tmsm 0.1, which kept the numbers of a fit but not its rows"),
    "oldest": (("version",), 0, "has version 0 of the format, and this tmsm reads 1 and 2.$"),
    "newer": (("version",), 3, "has version 3 of the format, and this tmsm reads 1 and 2. It was saved by a later"),
    "format": (("format",), "other", "is JSON, but not a fit saved by tmsm"),
    "no part": (("fit",), {}, "is damaged: fit is not what tmsm writes"),
    "estimator": (("fit", "estimator"), "system", "was made with the estimator system, which is not known here"),
    "estimator that is none": (("fit", "estimator"), "Cap", "was made with the estimator Cap, which is not known"),
    "abstract estimator": (("fit", "estimator"), "Estimator", "the estimator Estimator, which is not known"),
    "estimator of another kind": (("fit", "estimator"), "NaiveMLE", "is damaged: its numbers make no fit"),
    "function of a module": (REGION, thing("system", "os"), "was made with the region system, which is not"),
    "path of a function": (REGION, thing("os.system", "os"), "the region 'os.system', which is not known"),
    "built-in class": (REGION, thing("object", "builtins"), "the region object, which is not known here"),
    "class that is no value": (REGION, thing("Rows", "tmsm.data.rows"), "the region Rows, which is"),
    "abstract class": (REGION, thing("Region", "tmsm.regions.region"), "the region Region, which is not"),
    "no name": (REGION, thing(None, None), "the region None, which is not known"),
    "other kind": (REGION, thing("VonMisesFisher", "x"), "it has no model, or no region"),
    "unknown argument": (REGION, thing("Cap", **CAP, colour="red"), "region cannot be made: .*colour"),
    "address of a coordinate system": (
        ("fit", "configuration", "log_exposure"),
        thing(
            "ExposureMap",
            grid=thing(
                "ImageGrid",
                n_rows=1,
                n_columns=1,
                projection=thing("CrsProjection", crs="http://127.0.0.1:9/x", affine=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
            ),
            values=array([1.0], [1]),
            frame=None,
        ),
        r"crs must be well-known text \(WKT\); got 'http",
    ),
    "argument missing": (REGION, thing("Cap", radius=0.5), "region cannot be made: .*center"),
    "bad argument": (REGION, thing("Cap", **{**CAP, "radius": -1.0}), "radius must be between 0"),
    "giant argument": (REGION, thing("Cap", **{**CAP, "radius": 10**400}), "is damaged"),
    "text for a number": (REGION, thing("Cap", **{**CAP, "radius": "x"}), "region cannot be made"),
    "giant dimension": (
        REGION, thing("Everywhere", manifold=thing("Sphere", dim=10**12)), "same manifold|lives on"
    ),
    "endless mask": (
        REGION,
        thing("HealpixMask", nside=2, pixels=array([0], [1], "int64"), nest=True, tolerance=1e-300),
        "region cannot be made: tolerance must be finite and at least 1e-12",
    ),
    "deep objects": (REGION, nested(7), "rows has|is damaged"),
    "deep lists": (REGION, deep(60), "region has more than 50 levels"),
    "stray members": (REGION, {"__reduce__": "x"}, "region is not what tmsm writes"),
    "other region": (REGION, thing("Cap", **CAP), "rows has .* outside the region"),
    "configuration": (("fit", "configuration"), [], "configuration is not what tmsm writes"),
    "stray setting": (("fit", "configuration", "colour"), 1, "is damaged: its numbers make no fit"),
    "setting": (("fit", "configuration", "weight"), "heavy", "cannot be fitted: weight='heavy' is not"),
    "flag": (("fit", "complete"), 1, "complete is not what tmsm writes: 1"),
    "share": (("fit", "kept_share"), 2.0, "kept_share is not what tmsm writes"),
    "facts": (("fit", "facts"), [["a"]], "facts is not what tmsm writes"),
    "theta too long": (("fit", "theta"), array([1.0] * 4, [4]), r"theta has the shape \(4,\) in place of \(3\)"),
    "theta not finite": (("fit", "theta"), array([1.0, "nan", 0.0], [3]), "theta holds NaN or an infinity"),
    "theta of text": (("fit", "theta"), array(["a", "b", "c"], [3]), "theta holds something that is no number"),
    "theta with a giant": (("fit", "theta"), array([10**400, 0.0, 0.0], [3]), "a number beyond what type float64"),
    "shape": (("fit", "theta"), array([1.0, 2.0, 3.0], [4]), r"theta has 3 numbers for an array of shape \(4,\)"),
    "giant shape": (("fit", "theta"), array([1.0], [2**31, 2**31]), "theta has 1 numbers for an array of shape"),
    "other theta": (("fit", "theta"), array([1.0, 2.0, 3.0], [3]), "its estimate does not agree with natural_params"),
    "covariance": (("fit", "covariance"), array([0.0] * 9, [3, 3]), "is damaged"),
    "negative variance": (("fit", "covariance"), array([-1.0] * 9, [3, 3]), "covariance has negative variances"),
    "covariance gone": (("fit", "covariance"), None, "is damaged"),
    "influence": (("fit", "influence"), array([1.0] * 3, [3, 1]), r"influence has the shape \(3, 1\) in place of"),
    "weight": (("fit", "weight"), None, "neither a weight nor sums"),
    "weight to be fixed": (
        ("fit", "weight"), thing("Combined", "x", level=None), "weight has scales that are still to be taken from data"
    ),
    "region for a weight": (("fit", "weight"), thing("Cap", **CAP), "weight is none: Cap"),
    "moments": (("fit", "moments"), {"n": 1}, "moments is not what tmsm writes"),
    "number of rows": (("fit", "moments", "n"), -1, "moments has no number of rows"),
    "no rows": (("fit", "rows", "X"), array([], [0, 3]), "rows are empty"),
    "rows": (("fit", "rows"), None, "rows is not what tmsm writes: None"),
    "off the sphere": (("fit", "rows", "X"), array([2.0, 0.0, 0.0], [1, 3]), "rows has 1 of 1 rows off the sphere"),
    "flat rows": (("fit", "rows", "X"), array([2.0, 0.0], [1, 2]), r"the shape \(1, 2\) in place of \(any, 3\)"),
    "weights": (("fit", "rows", "weight"), array([1.0], [1]), "weights of the rows has the shape"),
    "groups": (("fit", "rows", "groups"), None, "groups are missing"),
    "group numbers": (("fit", "rows", "groups"), array(list(range(5, 125)), [120], "int64"), "numbered from 0 on"),
    "frame": (("fit", "rows", "frame"), "mars", "frame is not one of"),
    "shown numbers": (("natural_params",), [1.0, 2.0, 3.0], "its estimate does not agree with natural_params"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_documents(name, document, tmp_path):
    keys, value, message = ODD[name]
    refused(document, tmp_path, message, *keys, value=value)


MEMBERS_OF_ANOTHER_KIND = [-1, 1.5, "x", ["y"], {}, [None], {"number": "nan"}, array([], [0]), 10**400]
# Words, and what a summary alone shows.
MAY_BE = {"status": [str], "method": [str], "module": [int, float, str, list, dict]}


def test_every_member_is_needed_and_checked(document, tmp_path):
    path = tmp_path / "odd.json"
    for name in document["fit"]:
        for value in MEMBERS_OF_ANOTHER_KIND:
            path.write_text(json.dumps({**document, "fit": {**document["fit"], name: value}}))
            if type(value) in MAY_BE.get(name, []) or (name == "log_likelihood" and value == {"number": "nan"}):
                tmsm.load(path)
                continue
            with pytest.raises(InvalidInputError, match=r"^odd\.json "):
                tmsm.load(path)
        rest = {key: value for key, value in document["fit"].items() if key != name}
        path.write_text(json.dumps({**document, "fit": rest}))
        with pytest.raises(InvalidInputError, match=r"odd\.json is damaged: fit is not what tmsm writes"):
            tmsm.load(path)


def test_a_row_that_was_moved_is_noticed(document, tmp_path):
    moved = list(document["fit"]["rows"]["X"]["array"])
    moved[:60] = moved[60:120]
    refused(document, tmp_path, "the estimate in it is not that of its rows", "fit", "rows", "X", "array", value=moved)


def test_printed_numbers_are_no_fit(document, tmp_path):
    path = tmp_path / "printed.json"
    path.write_text(json.dumps({key: value for key, value in document.items() if key != "fit"}))
    with pytest.raises(InvalidInputError, match=r"printed.json holds the numbers of a fit, but not its rows"):
        tmsm.load(path)


def test_truncated_files(document, tmp_path):
    text = json.dumps(document)
    path = tmp_path / "cut.json"
    for share in (0.1, 0.5, 0.99):
        path.write_text(text[: int(share * len(text))])
        with pytest.raises(InvalidInputError, match=r"^cut.json is not a fit saved by tmsm: .*not JSON"):
            tmsm.load(path)


def test_places_without_a_fit(tmp_path):
    (tmp_path / "empty.json").touch()
    with pytest.raises(InvalidInputError, match=r"^empty\.json is empty"):
        tmsm.load(tmp_path / "empty.json")
    with pytest.raises(InvalidInputError, match="is a folder; give the file that holds a saved fit"):
        tmsm.load(tmp_path)
    with pytest.raises(InvalidInputError, match=r"There is no file .*absent\.json"):
        tmsm.load(tmp_path / "absent.json")
    with pytest.raises(InvalidTypeError, match="path must be the name of a file; got int"):
        tmsm.load(3)
    path = tmp_path / "picture.json"
    path.write_bytes(b"\x89PNG\r\n\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="is not a fit saved by tmsm"):
        tmsm.load(path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser reads everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(InvalidInputError, match=r"secret\.json' cannot be read: Permission denied"):
        tmsm.load(path)
