"""Dask arrays and frames are rows like any other: the same estimates, and errors that name the part and the row."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import current_process, get_context
from threading import Lock

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import tmsm
from tmsm.foundation import clusters
from tmsm.foundation.errors import ClusterError
from tmsm.foundation.parcels import Parcel

COAST = tmsm.datasets.load_border("usa")
MODEL = tmsm.VonMisesFisher()
N = 2400


@pytest.fixture(scope="module")
def X():
    center = tmsm.lonlat_to_xyz(-97, 39)
    return MODEL.sample(N, COAST, random_state=0, mean_direction=center, concentration=30.0)


@pytest.fixture(scope="module")
def table(X):
    lon, lat = tmsm.xyz_to_lonlat(X)
    storm = [f"storm {k // 6}" for k in range(N)]
    return pd.DataFrame(
        {"lon": lon, "lat": lat, "storm": storm, "w": 1.0 + np.arange(N) % 3, "year": np.arange(N) % 40 / 10}
    )


@pytest.fixture(autouse=True)
def _here():
    with dask.config.set(scheduler="synchronous"):
        yield


def array(X, rows=500):
    return da.from_array(X, chunks=(rows, -1))


def frame(table):
    return dd.from_pandas(table, npartitions=5)


def same(fit, expected):
    """To rounding, in standard errors."""
    away = np.abs(fit.natural_params_ - expected.natural_params_) / np.sqrt(np.diag(expected.covariance_))
    assert away.max() < 1e-8
    np.testing.assert_allclose(fit.covariance_, expected.covariance_, rtol=1e-8)
    assert fit.n_samples_ == expected.n_samples_


@pytest.mark.parametrize(
    "given",
    [
        array,
        lambda X: da.from_array(X, chunks=(500, 1)),
        lambda X: da.from_array(np.asfortranarray(X), chunks=(2000, 3)),
        lambda X: array(X)[da.from_array(X[:, 0] > -2.0, chunks=500)],  # nobody knows how many rows there are
        lambda X: dd.from_pandas(pd.DataFrame(X, columns=list("zyx")).rename(columns=str.upper), npartitions=3)[
            ["Z", "Y", "X"]
        ].rename(columns={"Z": "x", "Y": "y", "X": "z"}),
    ],
    ids=["rows", "columns in chunks", "columns first", "unknown lengths", "frame of coordinates"],
)
def test_estimates_are_those_of_the_same_rows(given, X):
    estimator = tmsm.ScoreMatching(MODEL, COAST)
    same(estimator.fit(given(X)), tmsm.ScoreMatching(MODEL, COAST).fit(X))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tmsm.ScoreMatching(MODEL, COAST),
        lambda: tmsm.ScoreMatching(MODEL, COAST, "saturating", refine="mle"),
        lambda: tmsm.ScoreMatching(tmsm.Kent(), COAST, "geodesic"),
        lambda: tmsm.ScoreMatching(MODEL, COAST, "saturating", robust=0.3),
        lambda: tmsm.TruncatedMLE(MODEL, COAST),
        lambda: tmsm.NaiveMLE(MODEL.on(tmsm.Sphere(2))),
    ],
    ids=["combined", "refined", "Kent", "robust", "likelihood", "naive"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_estimator_takes_frames(make, weighted, X, table):
    expected = make().fit(X, sample_weight=table.w.to_numpy() if weighted else None)
    same(make().fit(frame(table), sample_weight="w" if weighted else None), expected)


def test_groups_and_covariates_are_columns_or_lie_beside(X, table):
    fit = tmsm.ScoreMatching(MODEL, COAST).fit
    labels = table.storm.to_numpy()
    grouped = tmsm.ScoreMatching(MODEL, COAST).fit(X, groups=labels)
    alone = tmsm.ScoreMatching(MODEL, COAST).fit(X)
    assert not np.allclose(grouped.covariance_, alone.covariance_, rtol=1e-3)
    same(fit(frame(table), groups="storm"), grouped)
    same(fit(array(X), groups=labels), grouped)
    same(fit(array(X), groups=da.from_array(labels, chunks=77)), grouped)
    same(fit(array(X), groups=frame(table).storm), grouped)
    unknown = array(X)[da.from_array(X[:, 0] > -2.0, chunks=500)]
    same(fit(unknown, groups=labels), grouped)
    with pytest.raises(ValueError, match=r"has .00 rows of X and 480 of groups: their chunks must be alike"):
        fit(unknown, groups=frame(table).storm)
    moving = tmsm.ScoreMatching(MODEL, COAST).fit(X, covariates=table.year.to_numpy()).coefficients_
    for rows, columns in (
        (frame(table), "year"),
        (array(X), table.year.to_numpy()),
        (array(X), frame(table)[["year"]]),
        (array(X), da.from_array(table.year.to_numpy(), chunks=300)),
    ):
        np.testing.assert_allclose(fit(rows, covariates=columns).coefficients_, moving, rtol=1e-8)


def test_what_judges_a_fit_takes_them(X):
    fit, rows = tmsm.ScoreMatching(MODEL, COAST).fit(X), array(X)
    assert tmsm.stein_test(fit, rows).p_value == pytest.approx(tmsm.stein_test(fit, X).p_value, abs=1e-6)
    assert fit.score(rows) == pytest.approx(fit.score(X), rel=1e-9)
    drawn = [fit.bootstrap(one, 6, random_state=0).params.concentration for one in (rows, X)]
    np.testing.assert_allclose(*drawn, rtol=1e-8)
    with pytest.raises(ValueError, match="2,399 rows inside the region, and the fit was made from 2,400"):
        fit.bootstrap(array(X[:-1]), 6)


def test_streams_add_them_up(X, table):
    whole = tmsm.ScoreMatching(MODEL, COAST, "saturating").partial_fit(X)
    parts = tmsm.ScoreMatching(MODEL, COAST, "saturating")
    parts.partial_fit(array(X[:1500])).partial_fit(frame(table[1500:]))
    assert parts.n_samples_ == N
    away = np.abs(parts.natural_params_ - whole.natural_params_) / np.sqrt(np.diag(whole.covariance_))
    assert away.max() < 0.05  # the scale is that of the first rows


def test_rows_outside(X):
    rows = da.concatenate([array(X), -array(X[:30])])
    with pytest.raises(ValueError, match=r"X has 30 of 2430 rows outside the region \(worst: row 24"):
        tmsm.ScoreMatching(MODEL, COAST).fit(rows)
    fit = tmsm.ScoreMatching(MODEL, COAST, outside="drop").fit(rows)
    assert fit.n_outside_ == 30
    assert fit.n_samples_ == N


def masked(values):
    """With one entry that does not count."""
    found = np.ma.array(values, mask=False)
    found[600] = np.ma.masked
    return found


def _with(table, row, **values):
    changed = table.copy()
    for name, value in values.items():
        changed.loc[row, name] = value
    return frame(changed)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, t: array(np.vstack([X[:1400], [[2.0, 0, 0]], X])), "1 of 3,801 rows that are no.* 2, row 400"),
        (lambda X, t: _with(t, 1500, lat=95.0), "1 of 2,400 rows whose latitude.*partition 3, row 60"),
        (lambda X, t: _with(t, 0, lon=np.nan), "1 of 2,400 rows without finite numbers in 'lon'.*partition 0, row 0"),
        (lambda X, t: frame(t)[frame(t).lon > 0], "The Dask frame has no rows"),
        (lambda X, t: array(X)[array(X)[:, 0] > 2], "The Dask array has no rows"),
        (lambda X, t: array(X[:, :2]), "X has 2 columns; points on .* have 3 coordinates"),
        (lambda X, t: array(X)[:, :, None], r"must be numbers of shape \(n, D\); got a Dask array \(2400, 3, 1\)"),
        (lambda X, t: array(X.astype(str)), "must be numbers"),
        (lambda X, t: frame(t.rename(columns={"lon": "a", "lat": "b"})), r"it has 'a', 'b'.*frame.rename\(columns"),
        (lambda X, t: frame(t.assign(ra=t.lon, dec=t.lat)), r"several frames.*frame\[\[longitude, latitude\]\]"),
        (lambda X, t: frame(t)[["lon", "lon", "lat"]], "several columns 'lon': rename or drop all but one of each"),
        (lambda X, t: array(masked(X)), "partition 1: X has 1 of 500 rows .first: row 100. with masked entries"),
        (lambda X, t: dask.delayed(X), "a Dask Delayed.*from_delayed"),
        (lambda X, t: dask.bag.from_sequence([1, 2]), "a Dask Bag, which holds no points"),
    ],
)  # fmt: skip
def test_bad_rows_are_said(call, message, X, table):
    with pytest.raises((ValueError, TypeError), match=message):
        tmsm.ScoreMatching(MODEL, COAST).fit(call(X, table))


BESIDE = [
        ({"groups": np.arange(7)}, r"groups must have one entry for each of the 2,400 rows of X; got shape \(7,\)"),
        ({"sample_weight": masked(np.ones(N))}, "partition 1: sample_weight has 1 of 500 rows .*row 100. with masked"),
        ({"covariates": da.from_array(masked(np.arange(N)), chunks=500)}, "partition 1: covariates has 1 of 500 rows"),
        ({"groups": masked(np.arange(N))}, "partition 1, row 100 has no value in the column 'groups'"),
        ({"groups": "storm"}, "The Dask array has no columns with names: give groups as an array"),
        ({"sample_weight": np.arange(N) - 700.0}, "partition 0: sample_weight must be finite and not negative; 500 of"),
        ({"covariates": np.where(np.arange(N) == 600, np.nan, 1.0)}, "1 of 2,400 rows with missing.*row 600"),
        ({"covariates": da.from_array(np.where(np.arange(N) == 600, np.nan, 1.0), chunks=600)}, "partition 1.*row 100"),
    ]  # fmt: skip


def test_samples_are_spread_evenly_however_unequal_parts_are(X, table, monkeypatch):
    """One row of every so many: a large part counts as many as it has rows."""
    monkeypatch.setattr("tmsm.data.dask_source._SURVEYED", 600)
    monkeypatch.setattr("tmsm.data.rows._SAMPLE_ROWS", 600)
    ordered = table.sort_values("lon").reset_index(drop=True)
    cuts = [0, *range(10, 410, 10), N]
    pieces = [ordered.iloc[a:b] for a, b in pairwise(cuts)]
    rows = dd.from_delayed([dask.delayed(piece) for piece in pieces], meta=ordered.iloc[:0])
    fits = [tmsm.ScoreMatching(MODEL, COAST).fit(one) for one in (rows, ordered)]
    same(*fits)
    assert fits[0].goodness_of_fit_.p_value == pytest.approx(fits[1].goodness_of_fit_.p_value, rel=1e-6)
    np.testing.assert_allclose(fits[0].result_.kept.sample().X, fits[1].result_.kept.sample().X, atol=1e-15)


def test_a_process_that_may_start_no_others_uses_threads(X):
    """As workers of Dask are."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_daemon) as pool:
        found = pool.submit(_fitted_by_threads, X).result()
    expected = tmsm.ScoreMatching(MODEL, COAST, "saturating").fit(array(X))
    np.testing.assert_array_equal(found, expected.natural_params_)


def _daemon():
    current_process()._config["daemon"] = True


def _fitted_by_threads(X):
    return tmsm.ScoreMatching(MODEL, COAST, "saturating", n_jobs=2).fit(array(X)).natural_params_


@pytest.mark.parametrize(("given", "message"), BESIDE)
def test_bad_columns_beside_an_array_are_said(given, message, X):
    with pytest.raises((ValueError, TypeError), match=message):
        tmsm.ScoreMatching(MODEL, COAST).fit(array(X), **given)


def test_columns_of_a_frame_are_named(X, table):
    fit = tmsm.ScoreMatching(MODEL, COAST).fit
    with pytest.raises(ValueError, match="no column 'storms' for the groups; it has 'lon'"):
        fit(frame(table), groups="storms")
    with pytest.raises(TypeError, match="sample_weight must be the name of a column"):
        fit(frame(table), sample_weight=table.w)
    with pytest.raises(TypeError, match="sample_weight must be the name of a column"):
        fit(frame(table), sample_weight=frame(table.assign(w=2.0)).w)
    rows = frame(table)
    same(tmsm.ScoreMatching(MODEL, COAST).fit(rows, sample_weight=rows.w), fit(rows, sample_weight="w"))
    with pytest.raises(ValueError, match="partition 0, row 3 has no value in the column 'storm'"):
        fit(_with(table, 3, storm=None), groups="storm")


def test_what_is_sent_again_in_each_pass_is_small(X, monkeypatch):
    """The region, and nothing else that is large, travels in a parcel of its own, which stays where it was sent."""
    sent = []
    packed = Parcel.packed

    def watched(thing):
        main, alone = packed(thing)
        if not isinstance(thing, tmsm.SphericalPolygon):
            sent.append((main, alone))
        return main, alone

    monkeypatch.setattr(clusters.Parcel, "packed", watched)
    tmsm.ScoreMatching(MODEL, COAST, tmsm.weights.Combined(level=2)).fit(array(X))
    assert len(sent) >= 4
    assert max(len(main.content) for main, _ in sent) < 10_000
    regions = {one.digest: len(one.content) for _, alone in sent for one in alone}
    assert len(regions) == 1
    assert 40_000 < min(regions.values()) < 1_000_000


def test_processes_of_this_machine_serve_where_there_is_no_cluster(X, monkeypatch):
    """More than once, also after one of them was killed; what cannot be sent, or is lost, is one sentence.

    Where rows are in memory already, and many, threads do.
    """
    expected = tmsm.ScoreMatching(MODEL, COAST, "saturating").fit(array(X))
    of_one = tmsm.ScoreMatching(MODEL, COAST, "saturating").fit(array(X, N))
    with dask.config.set(scheduler=None):
        monkeypatch.setattr("tmsm.data.dask_source._ROWS_IN_TASK", 1)
        monkeypatch.setattr(clusters, "_LIGHT", 2**15)  # more than 500 rows have
        for n_jobs, rows in ((2, 500), (1, 500), (2, 500), (2, N)):
            monkeypatch.setattr(clusters, "ThreadPoolExecutor", ThreadPoolExecutor if rows == N else None)
            found = tmsm.ScoreMatching(MODEL, COAST, "saturating", n_jobs=n_jobs).fit(array(X, rows))
            wanted = of_one if rows == N else expected
            np.testing.assert_array_equal(found.natural_params_, wanted.natural_params_)
            np.testing.assert_array_equal(found.covariance_, wanted.covariance_)
        monkeypatch.undo()
        broken = array(X).map_blocks(_end, dtype=np.float64, meta=np.empty((0, 3)))
        with pytest.raises(ClusterError, match="A process that summed rows was ended by the system"):
            tmsm.ScoreMatching(MODEL, COAST, "saturating", n_jobs=2).fit(broken)
        again = tmsm.ScoreMatching(MODEL, COAST, "saturating", n_jobs=2).fit(array(X))
        np.testing.assert_array_equal(again.natural_params_, expected.natural_params_)
        lock = Lock()
        with pytest.raises(ValueError, match=r"cannot be sent to other processes.*locks"):
            tmsm.ScoreMatching(MODEL, COAST, log_exposure=lambda X: X[:, 0] * lock.locked()).fit(array(X))


def _end(block):
    os.kill(os.getpid(), signal.SIGKILL)
    return block
