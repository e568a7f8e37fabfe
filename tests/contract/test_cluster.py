"""A real Dask cluster: the same bits as without, whoever is killed, and one sentence where it cannot go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import tmsm
from tmsm.foundation import clusters
from tmsm.foundation.errors import ClusterError, TmsmWarning

CAP = tmsm.Cap([0.0, -1.0, 0.0], 1.2)
MODEL = tmsm.VonMisesFisher()
PLACE = {"mean_direction": [0.0, -0.8, 0.6], "concentration": 6.0}


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1, "distributed.admin.log-format": "%(message)s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(6000, CAP, random_state=0, **PLACE)


def parts(X):
    return da.from_array(X, chunks=(500, 3))


def slowly(block):
    time.sleep(0.1)
    return block


def one_task_a_part(monkeypatch):
    """So that there are several tasks, though the rows are few."""
    monkeypatch.setattr("tmsm.data.dask_source._ROWS_IN_TASK", 1)


def pids(client):
    return set(client.run(os.getpid).values())


@pytest.mark.parametrize("weight", ["auto", "saturating", tmsm.weights.Combined(level=2)])
def test_bits_are_those_without_a_cluster(weight, client, X):
    found = tmsm.ScoreMatching(MODEL, CAP, weight).fit(parts(X))
    with dask.config.set(scheduler="synchronous"):
        expected = tmsm.ScoreMatching(MODEL, CAP, weight).fit(parts(X))
    np.testing.assert_array_equal(found.natural_params_, expected.natural_params_)
    np.testing.assert_array_equal(found.covariance_, expected.covariance_)
    in_memory = tmsm.ScoreMatching(MODEL, CAP, weight).fit(X)
    np.testing.assert_allclose(found.natural_params_, in_memory.natural_params_, rtol=1e-10)


def test_a_worker_that_is_killed_changes_no_bit(client, X, monkeypatch):
    one_task_a_part(monkeypatch)
    rows = parts(X).map_blocks(slowly, dtype=np.float64, meta=np.empty((0, 3)))
    estimator, fits = tmsm.ScoreMatching(MODEL, CAP, tmsm.weights.Combined(level=2)), []
    before = pids(client)
    fitting = Thread(target=lambda: fits.append(estimator.fit(rows)))
    fitting.start()
    time.sleep(1.0)
    assert fitting.is_alive()
    os.kill(min(before), signal.SIGKILL)
    fitting.join()
    assert min(before) not in pids(client)
    with dask.config.set(scheduler="synchronous"):
        expected = tmsm.ScoreMatching(MODEL, CAP, tmsm.weights.Combined(level=2)).fit(parts(X))
    np.testing.assert_array_equal(fits[0].natural_params_, expected.natural_params_)
    np.testing.assert_array_equal(fits[0].covariance_, expected.covariance_)


def deadly(block):
    if len(block):
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_part_that_ends_every_worker_is_given_up(client, X):
    rows = parts(X).map_blocks(deadly, dtype=np.float64, meta=np.empty((0, 3)))
    with pytest.raises(ClusterError, match=r"A part of the collection ended every worker that took it.*smaller parts"):
        tmsm.ScoreMatching(MODEL, CAP).fit(rows)
    assert tmsm.ScoreMatching(MODEL, CAP).fit(parts(X)).n_samples_ == len(X)


def failing(block):
    if len(block):
        raise OSError("the disk of the part is gone")
    return block


def test_errors_of_a_part_come_as_they_are(client, X):
    rows = parts(X).map_blocks(failing, dtype=np.float64, meta=np.empty((0, 3)))
    with pytest.raises(OSError, match="the disk of the part is gone"):
        tmsm.ScoreMatching(MODEL, CAP).fit(rows)
    bad = X.copy()
    bad[700] = 2.0
    with pytest.raises(ValueError, match=r"1 of 6,000 rows that are no points.*partition 1, row 200: 2, 2, 2"):
        tmsm.ScoreMatching(MODEL, CAP).fit(parts(bad))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("__import__('tmsm_of_another_name')", r"cannot import tmsm .*install tmsm .* where the workers run"),
        ("('0.0.7', (3, 11))", r"has tmsm 0\.0\.7 with Python 3\.11, and this process tmsm .* the same versions"),
    ],
)
def test_workers_without_the_package_are_named(question, message, client, X, monkeypatch):
    monkeypatch.setattr(clusters, "_VERSIONS", question)
    monkeypatch.setattr(clusters, "_ASKED", set())
    with pytest.raises(ClusterError, match=f"The Dask worker tcp://.* {message}"):
        tmsm.ScoreMatching(MODEL, CAP).fit(parts(X))


IN_THREADS = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "silence_logs": 50}


@pytest.fixture
def impatient(monkeypatch):
    """Several tasks, workers that were not asked yet, and a second instead of a minute."""
    one_task_a_part(monkeypatch)
    monkeypatch.setattr(clusters, "_LOOK", 0.25)
    monkeypatch.setattr(clusters, "_PATIENCE", 1.0)
    monkeypatch.setattr(clusters, "_ASKED", set())


@pytest.mark.usefixtures("client", "impatient")
def test_a_cluster_that_loses_all_its_workers_is_given_up(X):
    def leave():
        while not clusters._ASKED:  # the fit has found its workers
            time.sleep(0.05)
        time.sleep(0.3)
        cluster.scale(0)

    with LocalCluster(n_workers=1, **IN_THREADS) as cluster, Client(cluster):
        leaving = Thread(target=leave)
        leaving.start()
        with pytest.raises(ClusterError, match="The Dask cluster has had no workers for 1 seconds"):
            tmsm.ScoreMatching(MODEL, CAP, tmsm.weights.Combined(level=2)).fit(
                parts(X).map_blocks(slowly, dtype=np.float64, meta=np.empty((0, 3)))
            )
        leaving.join()


@pytest.mark.usefixtures("client", "impatient")
def test_a_fit_waits_for_the_first_worker_and_says_so(X, monkeypatch):
    said = []

    def warn(message, category, **options):
        said.append((message, category))
        cluster.scale(1)

    monkeypatch.setattr(clusters, "warnings", SimpleNamespace(warn=warn))
    with LocalCluster(n_workers=0, **IN_THREADS) as cluster, Client(cluster):
        assert tmsm.ScoreMatching(MODEL, CAP).fit(parts(X)).n_samples_ == len(X)
    assert said[0] == ("The Dask cluster has no workers yet; the fit waits for them.", TmsmWarning)


def test_the_bootstrap_runs_there(client, X, monkeypatch):
    from tmsm.inference import bootstrap as resampling

    fit = tmsm.ScoreMatching(MODEL, CAP, "saturating").fit(X)
    one = fit.bootstrap(X, 12, random_state=3, n_jobs=1).params
    monkeypatch.setattr(resampling, "_WORTH", -1.0)  # nothing is quick enough to be done here
    monkeypatch.setattr(resampling, "_WARM_UP", 0.0)
    before = client.run_on_scheduler(transitions)
    assert fit.bootstrap(X, 12, random_state=3).params == one
    assert client.run_on_scheduler(transitions) > before


def transitions(dask_scheduler):
    """How many steps the tasks of a cluster have made."""
    return dask_scheduler.transition_counter


def test_the_experiments_run_there(client, tmp_path):
    """By the command, in a process of its own that is given the address."""
    where = ["--cluster", client.scheduler.address]
    call = [Path(sys.executable).with_name("tmsm"), "reproduce", "projection", "--trials", "2", "--out"]
    before = client.run_on_scheduler(transitions)
    for folder, more in (("there", where), ("here", ["--jobs", "1"])):
        subprocess.run([*call, tmp_path / folder, *more], check=True, capture_output=True)
    assert client.run_on_scheduler(transitions) > before
    there, here = (sorted((tmp_path / name).rglob("*.csv")) for name in ("there", "here"))
    assert [path.read_bytes() for path in there] == [path.read_bytes() for path in here]
    assert len(there) == 2


def test_an_address_where_nobody_answers(monkeypatch):
    monkeypatch.setattr(clusters, "_ANSWER", 1.0)
    for address in ("tcp://127.0.0.1:1", "nonsense"):
        with (
            pytest.raises(ClusterError, match=f"No Dask scheduler answers at '{address}'"),
            clusters.cluster_at(address),
        ):
            pass
