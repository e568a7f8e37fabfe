"""Work for other processes: the workers of the active Dask client, or processes of this machine.

Of a Dask collection every part is a task, and their sums are added as a tree of a fixed shape: the result has the same
bits whatever the number of workers, and whichever of them had to be replaced.
"""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import current_process
from typing import Any, TypeVar, cast
from uuid import uuid4

from tmsm.foundation.errors import ClusterError, TmsmWarning
from tmsm.foundation.heap import keeping_memory
from tmsm.foundation.optional import load_package
from tmsm.foundation.parcels import Parcel
from tmsm.foundation.progress import with_progress
from tmsm.foundation.threads import thread_count

__all__ = ["add_up", "cluster_at", "dask", "in_order", "over_tasks"]

T = TypeVar("T")

# How many sums are added in one task.
_FAN = 8
# Seconds between looks at a cluster that gives nothing, and those after which one that lost its workers is given up.
_LOOK, _PATIENCE = 5.0, 60.0
# What Dask calls its ways of computing, where a user chose one.
_CLUSTER = ("distributed", "dask.distributed")
_THREADS, _PROCESSES = ("threads", "threading"), ("processes", "multiprocessing")
# Bytes of a part that may be sent to a process.
_LIGHT = 2**20
# Processes of this machine by their number, and the seconds after which those that have nothing to do end.
_POOLS: dict[int, Any] = {}
_IDLE = 60.0
# Seconds within which a scheduler answers.
_ANSWER = 10.0
# What is asked of every worker.
_VERSIONS = "(__import__('importlib.metadata').metadata.version('tmsm'), __import__('sys').version_info[:2])"
# Clients whose workers were asked.
_ASKED: set[str] = set()
# What stays in clusters, by client and digest: regions of the last fits.
_SENT: OrderedDict[tuple[str, str], Any] = OrderedDict()
_MOST_SENT = 8


def dask(module: str = "dask") -> Any:
    """A module of Dask, or a sentence that says how to get it."""
    return load_package(module, "Summing the parts of a Dask collection", "dask")


def on_cluster() -> Any:
    """The active client of a Dask cluster, or None."""
    if "distributed" not in sys.modules:
        return None
    if dask().config.get("scheduler", None) not in (None, *_CLUSTER):
        return None
    try:
        return dask("distributed").default_client()
    except ValueError:
        return None


@contextmanager
def cluster_at(address: str) -> Iterator[None]:
    """A context in which the workers of a Dask scheduler do the work."""
    try:
        client = dask("distributed").Client(address, timeout=_ANSWER)
    except (OSError, ValueError) as error:  # a time-out is an OSError, too
        raise ClusterError(
            f"No Dask scheduler answers at {address!r} ({error}). Give the address that `dask scheduler` prints, such "
            "as tcp://host:8786."
        ) from None
    with client:
        _check_workers(client)
        yield


def add_up(function: Callable[[Any], T | None], parts: Sequence[Any], lengths: Sequence[int]) -> T | None:
    """The sum of what a function gives for every part, None adding nothing.

    Parameters
    ----------
    function
        Called with one of the parts, whose collections are computed; it is sent once to each process.
    parts
        Nested lists with Dask's delayed values in them.
    lengths
        Rows in each part, for the progress bar; zero where nobody knows.
    """
    client = on_cluster()
    with _in_one_sentence():
        found = (_here if client is None else partial(_in_cluster, client))(*Parcel.packed(function), parts, lengths)
    return cast("T | None", found)


def _applied(function: Parcel, alone: Sequence[Parcel], part: Any) -> Any:
    with keeping_memory():
        return function.open(alone)(part)


def in_order(parts: Sequence[Any]) -> Iterator[Any]:
    """What the parts are, one after the other, in this process; a cluster computes the next ones meanwhile."""
    client = on_cluster()
    with _in_one_sentence():
        if client is None:
            for part in parts:
                yield dask().compute(part, scheduler="synchronous")[0]
            return
        ahead: list[Any] = []
        try:
            for part in parts:
                ahead.append(client.compute(dask().delayed(part)))
                if len(ahead) > 2:
                    yield ahead.pop(0).result()
            while ahead:
                yield ahead.pop(0).result()
        finally:
            for future in ahead:
                future.release()


def _at_workers(client: Any, parcel: Parcel) -> Any:
    """A parcel that stays in the cluster, where workers hand it on to each other, and make it again if it is lost."""
    name = client.id, parcel.digest
    future = _SENT.get(name)
    if future is None or future.status in ("cancelled", "lost", "error"):
        future = client.submit(_itself, parcel, key=f"tmsm-{parcel.digest}-{uuid4().hex}", pure=False)
    _SENT[name] = future
    _SENT.move_to_end(name)
    while len(_SENT) > _MOST_SENT:
        _SENT.popitem(last=False)
    return future


def _itself(parcel: Parcel) -> Parcel:
    return parcel


def _tree(leaves: Sequence[Any], name: str) -> Any:
    level, sums = 0, list(leaves)
    while len(sums) > 1 or level == 0:
        sums = [
            dask().delayed(_added, pure=False)(sums[k : k + _FAN], dask_key_name=f"tmsm-add-{name}-{level}-{k}")
            for k in range(0, len(sums), _FAN)
        ]
        level += 1
    return sums[0]


def _added(parts: Sequence[Any]) -> Any:
    total: Any = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def _in_cluster(
    client: Any, function: Parcel, alone: Sequence[Parcel], parts: Sequence[Any], lengths: Sequence[int]
) -> Any:
    _check_workers(client)
    name, delayed = uuid4().hex, dask().delayed
    sent, others = delayed(function, name=f"tmsm-pass-{name}"), [_at_workers(client, parcel) for parcel in alone]
    leaves = [
        delayed(_applied, pure=False)(sent, others, part, dask_key_name=f"tmsm-sum-{name}-{k}")
        for k, part in enumerate(parts)
    ]
    *futures, last = client.compute([*leaves, _tree(leaves, name)])
    length_of = {future.key: length for future, length in zip(futures, lengths, strict=True)}
    try:
        for _ in with_progress(
            (length_of[future.key] for future in _as_finished(client, futures)), len(futures), "summing rows", int
        ):
            pass
        return last.result()
    finally:
        # Whatever has not begun is then dropped.  (To cancel what is done confuses the scheduler.)
        for future in (*futures, last):
            future.release()


def _as_finished(client: Any, futures: Sequence[Any]) -> Iterator[Any]:
    """Futures in the order in which they are finished; an error of one of them, or of the cluster, is raised."""
    distributed = dask("distributed")
    left, idle, had_workers = {future.key: future for future in futures}, 0.0, client.id in _ASKED
    while left:
        try:
            for future in distributed.as_completed(list(left.values()), timeout=_LOOK):
                if future.status != "finished":
                    future.result()
                    raise ClusterError(f"The cluster gave up a task ({future.status}). Try again.")
                del left[future.key]
                yield future
        except TimeoutError:
            workers = client.scheduler_info()["workers"]
            had_workers = had_workers or bool(workers) or len(left) < len(futures)
            idle = 0.0 if workers else idle + _LOOK
            if not had_workers and 0.0 < _PATIENCE - idle + _LOOK <= _LOOK:  # they may be waiting for machines
                warnings.warn("The Dask cluster has no workers yet; the fit waits for them.", TmsmWarning, stacklevel=2)
            if had_workers and idle >= _PATIENCE:
                raise ClusterError(
                    f"The Dask cluster has had no workers for {_PATIENCE:.0f} seconds. Its dashboard or its logs say "
                    "why they ended; memory is the usual reason."
                ) from None


def _here(function: Parcel, alone: Sequence[Parcel], parts: Sequence[Any], lengths: Sequence[int]) -> Any:
    """On this machine: as Dask is configured, or else by a pool of processes, which later calls use again.

    Of rows that are in memory already nothing is sent anywhere: threads share them.
    """
    leaves = [dask().delayed(list)(part) for part in parts]
    graphs = [dict(leaf.__dask_graph__()) for leaf in leaves]
    count, wish = thread_count(), dask().config.get("scheduler", None)
    wish = None if wish in _CLUSTER else wish  # of a client that is closed
    get = None if wish in (None, *_THREADS, *_PROCESSES) else dask("dask.base").get_scheduler()
    if count == 1 or get is not None:
        found = (_fetched(function, alone, graph, leaf.key, get) for graph, leaf in zip(graphs, leaves, strict=True))
        return _tree_sum(with_progress(found, len(parts), "summing rows", _counts(lengths)))
    sizeof = dask("dask.sizeof").sizeof
    threads = wish in _THREADS or current_process().daemon  # which may start no processes
    threads = threads or (wish is None and any(sum(map(sizeof, graph.values())) > _LIGHT for graph in graphs))
    pool = ThreadPoolExecutor(count) if threads else _pool(count)
    futures = [
        pool.submit(_fetched, function, alone, graph, leaf.key) for graph, leaf in zip(graphs, leaves, strict=True)
    ]
    try:
        found = (future.result() for future in futures)
        return _tree_sum(with_progress(found, len(parts), "summing rows", _counts(lengths)))
    except (BrokenProcessPool, KeyboardInterrupt):
        _end_pools()
        raise
    finally:
        for future in futures:
            future.cancel()
        if threads:
            pool.shutdown()


def _fetched(function: Parcel, alone: Sequence[Parcel], graph: Any, key: Any, get: Any = None) -> Any:
    """What a function gives for a part that is still to be computed."""
    return _applied(function, alone, (get or dask().get)(graph, key))


def _counts(lengths: Sequence[int]) -> Callable[[Any], int]:
    """What tells for each part in turn how many rows it has."""
    left = iter(lengths)
    return lambda part: next(left)


def _tree_sum(parts: Iterable[Any]) -> Any:
    """The same sum as that of a cluster, in the same order."""
    sums = list(parts)
    while True:
        sums = [_added(sums[k : k + _FAN]) for k in range(0, len(sums), _FAN)]
        if len(sums) < 2:
            return sums[0]


def _pool(count: int) -> Any:
    """So many processes, the same ones for each pass; those that have nothing to do for a while end."""
    if count not in _POOLS:
        from joblib.externals.loky import ProcessPoolExecutor

        _POOLS[count] = ProcessPoolExecutor(count, timeout=_IDLE)
    return _POOLS[count]


def _end_pools() -> None:
    """Processes that were interrupted, or one of which was lost, are not used again."""
    while _POOLS:
        _POOLS.popitem()[1].shutdown(wait=False, kill_workers=True)


def over_tasks(function: Callable[[Any, Any], T], shared: Any, tasks: Sequence[Any], n_jobs: int | None) -> Iterator[T]:
    """What a function gives for what all tasks share and for each of them, in their order, by joblib.

    The workers of the active Dask cluster do it, or else so many processes of this machine; None: one on each
    processor.
    """
    from joblib import Parallel, delayed, parallel_config

    client = on_cluster()
    if client is None:
        workers = Parallel(n_jobs=n_jobs or -1, return_as="generator", batch_size=1)
    else:
        _check_workers(client)
        with parallel_config(backend="dask", client=client, scatter=[shared]):
            workers = Parallel(n_jobs=-1, return_as="generator", batch_size=1)
    with _in_one_sentence():
        yield from workers(delayed(_called)(function, shared, task) for task in tasks)


def _called(function: Callable[[Any, Any], T], shared: Any, task: Any) -> T:
    with keeping_memory():
        return function(shared, task)


def _check_workers(client: Any) -> None:
    """Raise where a worker has no tmsm, or another version of it or of Python."""
    from importlib.metadata import version

    if client.id in _ASKED:
        return
    found: dict[str, Any] = client.run(eval, _VERSIONS, on_error="return")
    own = (version("tmsm"), sys.version_info[:2])
    for worker, answer in found.items():
        if isinstance(answer, ImportError):
            raise ClusterError(
                f"The Dask worker {worker} cannot import tmsm ({answer}): install tmsm {own[0]} where the workers run."
            )
        if isinstance(answer, BaseException):
            raise ClusterError(f"The Dask worker {worker} does not answer: {answer}.")
        if tuple(answer) != own:
            raise ClusterError(
                f"The Dask worker {worker} has {_said(*answer)}, and this process {_said(*own)}: install the same "
                "versions in both places."
            )
    if found:
        _ASKED.add(client.id)


def _said(version: str, python: tuple[int, int]) -> str:
    return f"tmsm {version} with Python {python[0]}.{python[1]}"


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """What goes wrong among processes, as one sentence."""
    killed = getattr(sys.modules.get("distributed"), "KilledWorker", ())
    lost = getattr(sys.modules.get("distributed"), "CancelledError", ())
    try:
        yield
    except BrokenProcessPool:
        raise ClusterError(
            "A process that summed rows was ended by the system, probably because memory ran out. Use smaller parts "
            "(repartition or rechunk the collection), or fewer processes (n_jobs)."
        ) from None
    except killed as error:
        raise ClusterError(
            f"A part of the collection ended every worker that took it ({error.task}), probably because memory ran "
            "out: use smaller parts (repartition or rechunk the collection), or workers with more memory."
        ) from None
    except lost as error:
        raise ClusterError(
            f"The cluster dropped what the sums need ({error}): it was closed or restarted, or what was persisted "
            "there is lost. Make the collection anew, or persist it again."
        ) from None
    except ValueError as error:
        if "Missing dependency" not in str(error):
            raise
        raise ClusterError(
            "Parts of the collection were persisted in a cluster that is closed. Make the collection anew."
        ) from None
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("tmsm"):
            raise
        raise ClusterError(
            f"A worker cannot import {error.name}: install the same version of tmsm where the workers run."
        ) from None
