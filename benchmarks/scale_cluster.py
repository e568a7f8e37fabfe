"""Rows that lie in the processes of a Dask cluster on this machine, against a plain pool of processes."""

import os
import statistics

import numpy as np

import tmsm
from benchmarks.measuring import processor_seconds, seconds
from scenarios.cap import CAP, MODEL

__all__ = ["cluster_lines"]

_WORKERS = 2


def cluster_lines(setting):
    """Sums by two workers: beside those of two processes that compute the same parts, and what they cost."""
    from distributed import Client, LocalCluster, wait

    coast = _parts(setting.Y, setting.size(1_000_000, 20_000), setting.size(8, 2))
    far = _parts(setting.X, setting.size(5_000_000, 20_000), setting.size(20, 2))
    polygon = tmsm.ScoreMatching(MODEL, setting.coast, n_jobs=_WORKERS).fit
    cap = tmsm.ScoreMatching(MODEL, CAP, n_jobs=_WORKERS).fit
    alone = _median(polygon, coast, setting.repeats(3))
    with (
        LocalCluster(n_workers=_WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        together = _median(polygon, coast, setting.repeats(3))
        where = "what Dask does beside: profiles, messages"
        yield "US border: two workers over a pool of two processes", together / alone, "times", (0, 1.1), where
        held = client.persist(far)
        wait(held)
        cap(held)
        before = _worked(client)
        repeats = setting.repeats(3)
        for _ in range(repeats):
            cap(held)
        spent = (_worked(client) - before) / repeats
        where = "arithmetic of the distance"
        yield "cap: seconds of all workers for 10⁸ rows", 1e8 * spent / len(held), "s", (0, 1.0), where
        lone = [
            processor_seconds(lambda: tmsm.ScoreMatching(MODEL, CAP, n_jobs=1).fit(setting.X)) for _ in range(repeats)
        ]
        share = spent / len(held) / (statistics.median(lone) / len(setting.X))
        yield "… over those of one thread with rows in memory", share, "times", (0, np.inf), "what Dask does beside"


def _parts(rows, size, count):
    """An array of Dask, each part of which is computed where it is wanted: the first rows, again and again."""
    import dask
    import dask.array as da

    few = np.ascontiguousarray(rows[: min(size, 20_000)])
    tiled, times = dask.delayed(np.tile, pure=False), (size // len(few), 1)
    return da.concatenate([da.from_delayed(tiled(few, times), (size, 3), np.float64) for _ in range(count)])


def _median(fit, rows, repeats):
    fit(rows)
    return statistics.median(seconds(lambda: fit(rows)) for _ in range(repeats))


def _worked(client):
    """Seconds that the processors have worked for all workers so far."""
    return sum(sum(times[:2]) for times in client.run(os.times).values())
