"""One reading of the rows against several: the same sums, the same errors, the same estimates."""

from functools import lru_cache

import numpy as np
import pytest

import tmsm
from tmsm import weights
from tmsm.data.sources import ArraySource, RawBlock, Source
from tmsm.foundation.errors import InvalidInputError
from tmsm.matching.combination import combine
from tmsm.matching.equations import sum_residuals
from tmsm.matching.kept_rows import KeptRows
from tmsm.matching.one_pass import OneReading, carried_over

CAP, MISES = tmsm.Cap([-1.0, 0.0, 0.0], 1.4), tmsm.VonMisesFisher()
TRUTH = {"mean_direction": [0.0, -1.0, 0.0], "concentration": 6.0}
BOX = tmsm.Box([-1.0, -2.0], [1.0, 1.0])
SCALAR = weights.Saturating(0.3)


def exposure(X):
    return 0.3 * X[:, 2], np.tile([0.0, 0.0, 0.3], (len(X), 1))


CASES = {
    "von Mises": (MISES, CAP, TRUTH, SCALAR, {}),
    "known concentration": (tmsm.VonMisesFisher(6.0), CAP, TRUTH, SCALAR, {}),
    "exposure": (MISES, CAP, TRUTH, SCALAR, {"log_exposure": exposure}),
    "Kent": (
        tmsm.Kent(),
        CAP,
        {"mean_direction": [-1.0, 0, 0], "major_axis": [0, 1.0, 0], "concentration": 8.0, "ovalness": 2.0},
        SCALAR,
        {},
    ),
    "normal": (
        tmsm.MultivariateNormal(),
        BOX,
        {"mean": [0.2, 0.0], "covariance": np.eye(2)},
        weights.Componentwise(0.5),
        {},
    ),
}
N = 4000


GIVEN = ["", "weights", "groups", "weights and groups"]
SETTINGS = [("von Mises", given) for given in GIVEN] + [(case, GIVEN[-1]) for case in CASES if case != "von Mises"]


@lru_cache
def rows_of(case):
    model, region, truth, *_ = CASES[case]
    known = {"concentration"} if case == "known concentration" else set()
    drawn = {name: value for name, value in truth.items() if name not in known}
    X = model.sample(N, region, random_state=0, **drawn)
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("refine", [None, "mle"])
@pytest.mark.parametrize("combined", [False, True], ids=["single", "combined"])
@pytest.mark.parametrize(("case", "given"), SETTINGS)
def test_a_stream_is_the_fit(case, given, combined, refine):
    model, region, _, base, options = CASES[case]
    X = rows_of(case)
    weight = weights.Combined(1, base=base, scale=0.3) if combined else base
    rng, kw = np.random.default_rng(0), {}
    if "weights" in given:
        kw["sample_weight"] = rng.uniform(0.2, 2.0, N) * (np.arange(N) % 11 > 0)
    if "groups" in given:
        kw["groups"] = rng.permutation(N) % 400
    stream = tmsm.ScoreMatching(model, region, weight, refine=refine, **options)
    for piece in np.split(np.arange(N), [1500, 1501, 3000]):
        stream.partial_fit(X[piece], **{name: values[piece] for name, values in kw.items()})
    whole = tmsm.ScoreMatching(model, region, stream.weight_, refine=refine, **options).fit(X, **kw)
    size = np.sqrt(np.diag(whole.covariance_))
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, atol=1e-5 * size.min())
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, atol=1e-5 * np.outer(size, size).max())
    fits = stream.result_, whole.result_
    if "groups" in given:
        assert fits[0].error_df == pytest.approx(fits[1].error_df, rel=1e-6)
    assert (fits[0].n_groups, fits[0].n_samples) == (fits[1].n_groups, fits[1].n_samples)
    assert fits[0].kept.same_as(fits[1].kept)
    judged = [fit.goodness_of_fit for fit in fits]
    if case == "Kent" and "groups" in given:  # too few groups
        assert judged == [None, None]
    else:
        assert judged[0] == pytest.approx(judged[1], rel=1e-4, abs=1e-4)
    assert "Read once" in stream.status_


@pytest.fixture
def few_kept(monkeypatch):
    monkeypatch.setattr("tmsm.matching.kept_rows.MOST_KEPT", 600)


@pytest.mark.parametrize("refine", [None, "mle"])
def test_with_groups_few_kept_rows_do(few_kept, refine):
    """Tilts, leverages and the covariance are those of groups, whose sums are all there."""
    X, labels = rows_of("von Mises"), np.arange(N) % 400
    w = np.random.default_rng(0).uniform(0.2, 2.0, N)
    weight = weights.Combined(1, base=SCALAR, scale=0.3)
    stream = tmsm.ScoreMatching(MISES, CAP, weight, refine=refine)
    for piece in np.array_split(np.arange(N), 5):
        stream.partial_fit(X[piece], sample_weight=w[piece], groups=labels[piece])
    whole = tmsm.ScoreMatching(MISES, CAP, stream.weight_, refine=refine).fit(X, sample_weight=w, groups=labels)
    assert len(stream.result_.kept) == 500
    np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-8)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-5, atol=1e-9)


def test_squares_are_carried_to_another_estimate():
    """Exact where all rows are kept, whatever the pilot; of some rows near it; never negative."""
    rng = np.random.default_rng(0)
    e, move = rng.standard_normal((5000, 6)), rng.standard_normal((5000, 6)) * 0.05
    e[:, 5] = 0.0  # an equation that is zero
    move[:, 5] = 0.0
    e[:, 4] = e[:, 3]  # two that are the same
    move[:, 4] = move[:, 3]
    gram = lambda rows: rows.T @ rows  # noqa: E731
    np.testing.assert_allclose(carried_over(gram(e), gram(e), gram(e + move)), gram(e + move), atol=1e-8)
    np.testing.assert_allclose(carried_over(gram(e), gram(e), gram(e)), gram(e), atol=1e-9)
    some = slice(None, None, 8)
    found, exact = carried_over(gram(e), gram(e[some]), gram((e + move)[some])), gram(e + move)
    size = np.sqrt(np.diag(exact)[:5])
    assert np.abs(found[:5, :5] / np.outer(size, size) - exact[:5, :5] / np.outer(size, size)).max() < 0.01
    # One large residual that is kept, and moved: a difference of sums over the kept rows has it many times.
    e[0, 0], move[0, 0] = 500.0, -250.0
    carried = carried_over(gram(e), gram(e[some]), gram((e + move)[some]))
    difference = gram(e) + 8.0 * (gram((e + move)[some]) - gram(e[some]))
    assert np.linalg.eigvalsh(carried)[0] > -1e-8
    assert difference[0, 0] < 0.0


def test_the_sums_about_a_pilot_are_those_at_any_estimate():
    X = rows_of("von Mises")
    stream = tmsm.ScoreMatching(MISES, CAP, weights.Combined(3, base=SCALAR, scale=0.3))
    stream.partial_fit(X[:3500]).partial_fit(X[3500:])
    moments, rows = stream.moments_, stream.result_.kept
    reading = OneReading(moments, rows)
    for theta in (stream.natural_params_, np.array([3.0, -2.0, 1.0])):
        one, two = reading.residuals(moments.equations, theta), sum_residuals(moments.equations, rows, theta)
        size = np.sqrt(np.diag(two.covariance))
        np.testing.assert_allclose(one.mean, two.mean, atol=1e-9 * size.max())
        np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-7 * np.outer(size, size).max())
    once, again = combine(moments.equations, reading, moments), combine(moments.equations, rows, moments)
    np.testing.assert_allclose(once.solution.theta, again.solution.theta, rtol=1e-9)
    np.testing.assert_allclose(once.covariance, again.covariance, rtol=1e-6, atol=1e-9)
    assert once.p_value == pytest.approx(again.p_value, rel=1e-5)


# The rows that are kept.


def streamed(X, cuts, **options):
    stream = tmsm.ScoreMatching(MISES, CAP, SCALAR)
    for piece in np.split(np.arange(len(X)), cuts):
        stream.partial_fit(X[piece], **{name: values[piece] for name, values in options.items()})
    return stream


def test_rows_are_kept_evenly_whatever_the_blocks(few_kept):
    X, w, labels = rows_of("von Mises"), np.linspace(1.0, 2.0, N), np.arange(N) // 10
    for cuts in ([], [7], [1, 2, 3, 599, 600, 601, 3999], list(range(100, N, 100))):
        fit = streamed(X, cuts, sample_weight=w, groups=labels).result_
        kept, weight = fit.kept.source.table()
        np.testing.assert_array_equal(kept, X[::8])
        np.testing.assert_array_equal(weight, w[::8])
        assert fit.groups.count == 400
        assert fit.kept_share == 1 / 8


def test_large_blocks_go_through_loops_and_keep_the_same_rows():
    X = MISES.sample(140_000, CAP, random_state=0, **TRUTH)
    streams = [streamed(X, cuts) for cuts in ([], [60_000, 61_000], list(range(20_000, 140_000, 20_000)))]
    whole = tmsm.ScoreMatching(MISES, CAP, SCALAR).fit(X)
    for stream in streams:
        np.testing.assert_array_equal(stream.result_.kept.source.table()[0], X[::4])
        np.testing.assert_allclose(stream.natural_params_, whole.natural_params_, rtol=1e-10)
        np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-8, atol=1e-15)


def test_kept_rows_of_parts_are_even_however_many_there_are(few_kept):
    parts = [KeptRows.of_block(np.full((5, 3), float(k)), None, None, tmsm.manifolds.frames.PLAIN) for k in range(2000)]
    total = KeptRows.none(3)
    for part in parts:
        total += part
    assert (total.seen, total.stride) == (10_000, 32)
    np.testing.assert_allclose(np.histogram(total.X[:, 0], 10)[0], len(total) / 10, atol=1)
    halves = [sum(parts[first : first + 1000], KeptRows.none(3)) for first in (0, 1000)]
    both = halves[0] + halves[1]
    assert (both.seen, len(both)) == (10_000, len(total))


def test_goodness_of_fit_sees_all_of_a_stream(few_kept):
    """The first rows are of the model; those that come later are not."""
    X = rows_of("von Mises")
    other = tmsm.Kent().sample(
        N, CAP, random_state=1, mean_direction=[-1.0, 0, 0], major_axis=[0, 1.0, 0], concentration=20.0, ovalness=9.0
    )
    right, mixed = streamed(X, [2000]), streamed(np.vstack([X[:2000], other[:2000]]), [2000])
    assert right.goodness_of_fit_.p_value > 0.01
    assert mixed.goodness_of_fit_.p_value < 1e-6


# Labels, and sources that are read once.


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(N) % 300,
        (np.arange(N) % 300).astype(float),
        np.char.add("storm ", (np.arange(N) % 300).astype(str)),
        np.datetime64("2020-01-01") + np.arange(N) % 300,
        np.array([f"g{k % 300}" for k in range(N)], dtype=object),
    ],
    ids=["whole", "numbers", "text", "dates", "objects"],
)
def test_labels_may_come_in_any_block(labels):
    X = rows_of("von Mises")
    stream = streamed(X, [500, 2000], groups=labels)
    whole = tmsm.ScoreMatching(MISES, CAP, SCALAR).fit(X, groups=labels)
    np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-9)
    assert stream.result_.n_groups == 300


def test_dates_of_another_unit_are_the_same():
    X, days = rows_of("von Mises"), np.datetime64("2020-01-01") + np.arange(N) % 300
    stream = tmsm.ScoreMatching(MISES, CAP, SCALAR).partial_fit(X[:2000], groups=days[:2000])
    assert stream.partial_fit(X[2000:], groups=days[2000:].astype("datetime64[s]")).result_.n_groups == 300


def test_groups_are_given_in_all_calls_or_in_none():
    X = rows_of("von Mises")
    grouped = tmsm.ScoreMatching(MISES, CAP, SCALAR).partial_fit(X[:500], groups=np.arange(500))
    before = grouped.summary()
    with pytest.raises(
        InvalidInputError, match="began with groups: give labels in every call of partial_fit, or in no"
    ):
        grouped.partial_fit(X[500:])
    with pytest.raises(InvalidInputError, match="began without groups"):
        tmsm.ScoreMatching(MISES, CAP, SCALAR).partial_fit(X[:500]).partial_fit(X[500:510], groups=np.arange(10))
    with pytest.raises(InvalidInputError, match="groups has text for labels, and numbers in the rows before"):
        grouped.partial_fit(X[500:510], groups=list("abcdefghij"))
    with pytest.raises(InvalidInputError, match="groups has 1 of 10 labels missing"):
        grouped.partial_fit(X[500:510], groups=[*range(9), None])
    assert grouped.summary() == before


class Tape(Source):
    """Rows that can be read once."""

    def __init__(self, X, fails_at=np.inf):
        self.X, self.fails_at, self.was_read = X, fails_at, False

    @property
    def n_columns(self):
        return self.X.shape[1]

    @property
    def rereadable(self):
        return False

    def __len__(self):
        return len(self.X)

    def blocks(self, size):
        assert not self.was_read
        self.was_read = True
        for start in range(0, len(self.X), 700):
            if start >= self.fails_at:
                raise OSError("the tape is torn")
            yield RawBlock(start, self.X[start : start + 700], None, None)


def test_a_source_that_is_read_once():
    X = rows_of("von Mises")
    weight = weights.Combined(1, base=SCALAR, scale=0.3)
    stream = tmsm.ScoreMatching(MISES, CAP, weight).partial_fit(Tape(X))
    assert (
        stream.summary() == tmsm.ScoreMatching(MISES, CAP, weight).partial_fit(X[:700]).partial_fit(X[700:]).summary()
    )
    with pytest.raises(OSError, match="the tape is torn"):
        stream.partial_fit(Tape(X, fails_at=2000))
    assert stream.n_samples_ == N
    assert stream.partial_fit(ArraySource(X[:100])).n_samples_ == N + 100
