"""Sums in files: saved on one machine and added on another, refused where they do not fit, and never half-written."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest

import tmsm
from tmsm import weights
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, NotFittedError

MODEL, CAP = tmsm.VonMisesFisher(), tmsm.Cap([-1.0, 0.0, 0.0], 1.4)
TRUTH = {"mean_direction": [0.0, -1.0, 0.0], "concentration": 6.0}
WEIGHT = weights.Saturating(0.3)
COMBINED = weights.Combined(1, base=weights.Saturating(0.3), scale=0.3)


def exposure(X):
    return 0.3 * X[:, 2], np.tile([0.0, 0.0, 0.3], (len(X), 1))


def values_alone(X):
    return 0.3 * X[:, 2]


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(3000, CAP, random_state=0, **TRUTH)


def estimator(**options):
    return tmsm.ScoreMatching(MODEL, CAP, **{"weight": WEIGHT, **options})


def part_of(start, X, **options):
    """The sums of other rows, as a machine makes them that has a file of the start only."""
    return tmsm.ScoreMatching.from_moments(start.cleared()).partial_fit(X, **options).moments_


WAYS = {
    "one weight": {},
    "combined": {"weight": COMBINED},
    "likelihood": {"refine": "mle"},
    "combined, then likelihood": {"weight": COMBINED, "refine": "mle"},
    "exposure": {"log_exposure": exposure},
    "exposure of values": {"log_exposure": values_alone},
}


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("way", WAYS)
def test_parts_from_files_make_the_stream_of_all_rows(way, grouped, X, tmp_path):
    given = {"sample_weight": np.linspace(0.5, 2.0, 3000)}
    if grouped:
        given["groups"] = np.char.add("storm ", (np.arange(3000) // 7 % 200).astype(str))
    cut = lambda piece: {name: values[piece] for name, values in given.items()}  # noqa: E731
    pieces = [slice(0, 1000), slice(1000, 1800), slice(1800, 3000)]
    stream = estimator(**WAYS[way])
    start = stream.partial_fit(X[pieces[0]], **cut(pieces[0])).moments_
    start.save(tmp_path / "0.npz")
    known = {"log_exposure": WAYS[way]["log_exposure"]} if "log_exposure" in WAYS[way] else {}
    for k, piece in enumerate(pieces[1:], 1):
        begun = tmsm.load_moments(tmp_path / "0.npz", **known)
        part_of(begun, X[piece], **cut(piece)).save(tmp_path / f"{k}.npz")
        stream.partial_fit(X[piece], **cut(piece))
    first, *others = (tmsm.load_moments(tmp_path / f"{k}.npz", **known) for k in range(3))
    total = first
    for one in others:
        total += one
    again = tmsm.ScoreMatching.from_moments(total)
    assert again.n_samples_ == 3000
    assert again.summary() == stream.summary()
    np.testing.assert_allclose(again.natural_params_, stream.natural_params_, rtol=1e-9)
    np.testing.assert_allclose(again.covariance_, stream.covariance_, rtol=1e-7)
    assert (again.result_.n_groups is None) != grouped
    np.testing.assert_array_equal(again.result_.kept.source.table()[0], X)
    # Both go on in the same way, also after the whole fit was saved.
    stream.save(tmp_path / "fit.json")
    loaded = tmsm.load(tmp_path / "fit.json", **known)
    more = cut(slice(0, 500))
    results = [one.partial_fit(X[:500], **more).summary() for one in (stream, again, loaded)]
    assert results[0] == results[1] == results[2]


def test_sums_of_fit_have_an_estimate_and_no_errors(X, tmp_path):
    fits = [estimator().fit(rows) for rows in (X[:1000], X[1000:])]
    fits[0].moments_.save(tmp_path / "sums.npz")
    both = tmsm.ScoreMatching.from_moments(tmsm.load_moments(tmp_path / "sums.npz") + fits[1].moments_)
    np.testing.assert_allclose(both.natural_params_, estimator().fit(X).natural_params_, rtol=1e-11)
    assert len(both.result_.kept) == 3000
    assert both.status_
    with pytest.raises(NotFittedError, match="or from sums that fit made"):
        _ = both.std_errors_
    refined = estimator(refine="mle").fit(X[:500])
    with pytest.raises(InvalidInputError, match="made by fit and hold none of a likelihood"):
        tmsm.ScoreMatching.from_moments(refined.moments_)
    Z = np.arange(1000.0)[:, None]
    with pytest.raises(InvalidInputError, match="have no configuration: save those of an estimator's moments_"):
        estimator().fit(X[:1000], covariates=Z).moments_.save(tmp_path / "no.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["sums.npz"]


def test_sums_without_rows_wait_for_them(X):
    start = estimator().partial_fit(X[:500]).moments_
    empty = tmsm.ScoreMatching.from_moments(start.cleared())
    with pytest.raises(NotFittedError, match="its sums have no rows yet"):
        _ = empty.params_
    assert empty.partial_fit(X[500:900]).n_samples_ == 400
    assert empty.weight_ == WEIGHT
    assert (start + start.cleared()).n == 500


OTHERS = {
    "model": (lambda X: tmsm.ScoreMatching(tmsm.FisherBingham(), CAP, WEIGHT).partial_fit(X), "different models"),
    "weight": (lambda X: estimator(weight=weights.Saturating(0.4)).partial_fit(X), "different models, weights"),
    "exposure": (lambda X: estimator(log_exposure=exposure).partial_fit(X), "different models, weights or exposures"),
    "combined": (lambda X: estimator(weight=COMBINED).partial_fit(X), "different models, weights or exposures"),
    "region": (
        lambda X: tmsm.ScoreMatching(MODEL, tmsm.Cap([-1.0, 0.0, 0.0], 1.41), WEIGHT).partial_fit(X),
        "Sums of rows in different regions cannot be added",
    ),
    "pilot": (lambda X: estimator().partial_fit(X[7:]), "different references cannot be added: their pilot estimates"),
    "groups": (
        lambda X: estimator().partial_fit(X, groups=np.arange(len(X))),
        "in groups and of rows that stand alone",
    ),
    "likelihood": (lambda X: estimator(refine="mle").partial_fit(X), "with and without those of a likelihood"),
    "errors": (lambda X: estimator(standard_errors=False).partial_fit(X), "with and without those for standard errors"),
    "fit": (lambda X: estimator().fit(X), "made by fit and sums of a stream cannot be added"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_sums_of_something_else_are_refused(what, X):
    make, message = OTHERS[what]
    with pytest.raises(InvalidInputError, match=message):
        _ = estimator().partial_fit(X[:800]).moments_ + make(X[:800]).moments_


def test_combined_sums_about_other_coordinates_are_refused(X):
    level = weights.Combined(2, base=WEIGHT, scale=0.3)
    one, other = (estimator(weight=level).partial_fit(rows).moments_ for rows in (X[:1500], X[1500:]))
    with pytest.raises(InvalidInputError, match="different models, weights or exposures"):
        _ = one + other
    assert (one + part_of(one, X[1500:])).n == 3000


def test_what_estimates_cannot_be_made_from(X):
    with pytest.raises(InvalidTypeError, match=r"from_moments takes sums, such as fit.moments_.*got int"):
        tmsm.ScoreMatching.from_moments(3)
    begun = tmsm.ScoreMatching(MODEL, CAP, "combined").partial_fit(X[:300])
    assert begun.n_samples_ == 300
    with pytest.raises(InvalidInputError, match="no moments to add yet: 300 rows are too few"):
        _ = begun.moments_


def test_a_function_is_asked_for_again_and_must_be_the_same(X, tmp_path):
    path = tmp_path / "sums.npz"
    estimator(log_exposure=exposure).partial_fit(X[:500]).moments_.save(path)
    with pytest.raises(InvalidInputError, match=r"sums.npz was made with a log_exposure function.*give the function"):
        tmsm.load_moments(path)
    with pytest.raises(InvalidInputError, match="has other values than the function that the sums were made with"):
        tmsm.load_moments(path, log_exposure=lambda rows: (3.0 * rows[:, 0], np.tile([3.0, 0.0, 0.0], (len(rows), 1))))
    # A constant does not matter.
    tmsm.load_moments(path, log_exposure=lambda rows: (exposure(rows)[0] + 7.0, exposure(rows)[1]))
    estimator().partial_fit(X[:500]).moments_.save(path)
    with pytest.raises(InvalidInputError, match="made without a log_exposure function: load it without"):
        tmsm.load_moments(path, log_exposure=exposure)


# Files that are none.


@pytest.fixture(scope="module")
def saved(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("sums") / "sums.npz"
    estimator().partial_fit(X[:400], groups=np.arange(400) // 2).moments_.save(path)
    return path


def entries_of(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def rewritten(saved, path, **changed):
    """The file with other entries, as somebody would write them who does not know of the checksum."""
    np.savez(path, **{**entries_of(saved), **changed})


def with_words(saved, **changed):
    words = json.loads(entries_of(saved)["words"].tobytes()) | changed
    return np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)


def flipped(saved, path):
    data = bytearray(saved.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(bytes(data))


def with_pickle(saved, path):
    np.savez(path, **{**entries_of(saved), "A_sum": np.array([{"a": 1}, None], dtype=object)})


def one_array(saved, path):
    with path.open("wb") as file:
        np.save(file, np.eye(3))


FAULTS = {
    "no file": (lambda saved, path: None, "There is no file"),
    "empty": (lambda saved, path: path.touch(), "is empty"),
    "folder": (lambda saved, path: path.mkdir(), "is a folder; give the file that holds sums saved by tmsm"),
    "text": (
        lambda saved, path: path.write_text("A b n"),
        "does not hold sums saved by tmsm: it is no file of NumPy's",
    ),
    "one array": (one_array, "it was not written by tmsm"),
    "other arrays": (lambda saved, path: np.savez(path, a=np.eye(3)), "it was not written by tmsm"),
    "half": (
        lambda saved, path: path.write_bytes(saved.read_bytes()[: saved.stat().st_size // 2]),
        "is damaged: a part of it is missing",
    ),
    "a byte": (flipped, "is damaged"),
    "objects": (with_pickle, "is damaged, or does not hold sums saved by tmsm: Object arrays cannot be loaded"),
    "another number": (lambda saved, path: rewritten(saved, path, b_sum=np.ones(3)), "its checksum is not that of"),
    "no checksum": (lambda saved, path: rewritten(saved, path, sha256=np.zeros(0)), "its checksum is not that of"),
    "version": (
        lambda saved, path: rewritten(saved, path, words=with_words(saved, version=2)),
        "has version 2 of the format, and this tmsm reads 1: read it with the tmsm that wrote it",
    ),
    "format": (lambda saved, path: rewritten(saved, path, words=with_words(saved, format="x")), "not written by tmsm"),
    "no words": (
        lambda saved, path: rewritten(saved, path, words=np.frombuffer(b"{", dtype=np.uint8)),
        "odd.npz is not JSON",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_files_that_are_no_sums(fault, saved, tmp_path):
    make, message = FAULTS[fault]
    path = tmp_path / "odd.npz"
    make(saved, path)
    with pytest.raises(InvalidInputError, match=message):
        tmsm.load_moments(path)


def test_a_damaged_content_with_the_right_checksum_is_refused(saved, tmp_path):
    """As of a program that writes such files by itself."""
    from tmsm.foundation.archives import read_archive, write_archive

    changes = {
        "A_sum": (np.eye(2), "numbers of the shape"),
        "region": ({"class": "Nowhere", "module": "x", "arguments": {}}, "region Nowhere, which is not known here"),
        "equations": (None, "is damaged: its numbers make no sums"),
        "features": ({"reference": np.zeros(3), "squares": np.full((9, 9), np.nan)}, "not what tmsm writes"),
        "one_pass": ({}, "is damaged: its numbers make no sums"),
        "configuration": (3, "is damaged: it has no configuration"),
    }
    path = tmp_path / "odd.npz"
    for name, (value, message) in changes.items():
        content = read_archive(saved, "tmsm moments", 1, "sums")
        write_archive(path, "tmsm moments", 1, content | {name: value})
        with pytest.raises(InvalidInputError, match=message):
            tmsm.load_moments(path)


def test_a_disk_that_fills_leaves_the_old_file(saved, X, tmp_path, monkeypatch):
    path = tmp_path / "sums.npz"
    moments = estimator().partial_fit(X[:400]).moments_
    moments.save(path)
    before, whole = path.read_bytes(), np.savez

    def full(file, **arrays):
        whole(file, **dict(list(arrays.items())[:2]))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(InvalidInputError, match=r"sums.npz' cannot be written: No space left on device"):
        (moments + moments).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    with pytest.raises(InvalidInputError, match="is a folder"):
        moments.save(tmp_path)
    with pytest.raises(InvalidTypeError, match="path must be the name of a file; got int"):
        moments.save(3)
    assert tmsm.load_moments(Path(path)).n == 400


def test_a_region_with_code_cannot_be_saved(X, tmp_path):
    inside = tmsm.BorderPoints(CAP.border_curves[0], contains=lambda rows: rows[:, 0] < 0)
    rows = X[X[:, 0] < 0][:300]
    stream = tmsm.ScoreMatching(MODEL, inside, "geodesic", outside="drop").partial_fit(rows)
    with pytest.raises(InvalidInputError, match="is a function, which cannot be kept in a file"):
        stream.moments_.save(tmp_path / "sums.npz")
    assert list(tmp_path.iterdir()) == []


# What was summed can be resumed.


def test_an_interrupted_call_adds_nothing(X, monkeypatch, tmp_path):
    from tmsm.matching import one_pass

    monkeypatch.setattr("tmsm.data.rows._BLOCK_NUMBERS", 0)  # 1,024 rows
    stream, undisturbed = estimator(weight=COMBINED), estimator(weight=COMBINED)
    labels = np.arange(3000) // 3
    for one in (stream, undisturbed):
        one.partial_fit(X[:1000], groups=labels[:1000])
    original, blocks = one_pass.LinearSums.of, []

    def interrupted(terms, block, w):
        blocks.append(block)
        if len(blocks) == 2:
            raise KeyboardInterrupt
        return original(terms, block, w)

    with monkeypatch.context() as patched:
        patched.setattr(one_pass.LinearSums, "of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stream.partial_fit(X[1000:], groups=labels[1000:])
    assert len(blocks) == 2
    assert stream.summary() == undisturbed.summary()
    stream.moments_.save(tmp_path / "sums.npz")
    resumed = tmsm.ScoreMatching.from_moments(tmsm.load_moments(tmp_path / "sums.npz"))
    for one in (stream, undisturbed, resumed):
        one.partial_fit(X[1000:], groups=labels[1000:])
    assert stream.summary() == undisturbed.summary() == resumed.summary()


def test_a_stream_of_an_earlier_version_goes_on(X, tmp_path):
    path = tmp_path / "fit.json"
    stream = estimator().partial_fit(X[:1000])
    stream.save(path)
    document = json.loads(path.read_text())
    del document["fit"]["rows"]["stream"]
    path.write_text(json.dumps(document))
    again = tmsm.load(path)
    for one in (stream, again):
        one.partial_fit(X[1000:])
    np.testing.assert_allclose(again.covariance_, stream.covariance_, rtol=1e-12)
    assert again.n_samples_ == len(again.result_.kept) == 3000


@pytest.mark.parametrize("value", [-1, None, [], {}, {"begun": True}, {"begun": False}], ids=str)
def test_a_damaged_stream_is_refused(value, X, tmp_path):
    path = tmp_path / "fit.json"
    estimator(weight=COMBINED).partial_fit(X[:1000]).save(path)
    document = json.loads(path.read_text())
    document["fit"]["rows"]["stream"] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match="is damaged"):
        tmsm.load(path)


def test_collected_rows_are_saved_and_go_on(X, tmp_path):
    stream = tmsm.ScoreMatching(MODEL, CAP, "combined", refine="mle").partial_fit(X[:200], groups=np.arange(200))
    assert "rows, which are held until there are enough" in stream.status_
    assert stream.n_samples_ == 200
    stream.save(tmp_path / "fit.json")
    again = tmsm.load(tmp_path / "fit.json")
    labels = 150 + np.arange(2800) // 5  # some of them were there before
    for one in (stream, again):
        one.partial_fit(X[200:], groups=labels)
    assert again.summary() == stream.summary()
    assert again.result_.n_groups == 710
