"""Threads: many for compiled loops over rows, one for BLAS where its products are short.

Waking others for short products costs more than it gains; where other programs keep the cores busy, threads that wait
for each other make a pass over rows ten times as long.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar, cast

__all__ = ["in_threads", "map_in_order", "single_threaded", "thread_count", "threads_of"]

# With fewer numbers BLAS stays on one thread by itself.
_FEW_NUMBERS = 8192
_ROWS_PER_THREAD = 20_000
# How many pieces wait for each thread.
_AHEAD = 2
_chosen: ContextVar[int | None] = ContextVar("threads", default=None)

S = TypeVar("S")
T = TypeVar("T")


def thread_count() -> int:
    """How many threads compiled loops may use: one for each processor that this program has, or fewer if so said."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has it
        return os.cpu_count() or 1


@contextmanager
def threads_of(n_jobs: int | None) -> Iterator[None]:
    """A context in which compiled loops use so many threads; None or −1: all, −2: all but one."""
    if n_jobs is None:
        yield
        return
    token = _chosen.set(n_jobs if n_jobs > 0 else max(1, thread_count() + 1 + n_jobs))
    try:
        yield
    finally:
        _chosen.reset(token)


def single_threaded(numbers: int) -> AbstractContextManager[None]:
    """A context in which BLAS uses one thread, for operations on arrays of so many numbers."""
    return nullcontext() if numbers <= _FEW_NUMBERS else _LIMIT


class _SharedLimit:
    """One thread for BLAS from the first who enters until the last one leaves: the limit is that of the process."""

    def __init__(self) -> None:
        self._lock, self._users, self._limiter = Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                limiter, self._limiter = self._limiter, None
                cast(Any, limiter).restore_original_limits()


_LIMIT = _SharedLimit()


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_threads(work: Callable[[slice], None], n: int, rows_per_thread: int = _ROWS_PER_THREAD) -> None:
    """Call ``work`` on slices that cover n rows; the compiled loops do not hold the interpreter."""
    threads = min(thread_count(), n // rows_per_thread)
    if threads < 2:
        work(slice(None))
        return
    edges = [k * n // threads for k in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, [slice(a, b) for a, b in pairwise(edges)]))


def map_in_order(function: Callable[[S], T], items: Iterable[S]) -> Iterator[tuple[S, T]]:
    """Items with what a function gives for them, in their order; few items are read ahead.

    The number of threads changes nothing but the time.  What the function calls runs on one thread.  The caller's own
    thread reads the items and is one of those that work on them: it takes what no other has begun, and waits for none
    of them before there is nothing left to take.
    """
    threads = thread_count()
    if threads < 2:
        for item in items:
            yield item, function(item)
        return
    waiting: deque[tuple[S, Future[T]]] = deque()
    with ThreadPoolExecutor(threads - 1, initializer=_alone) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(function, item)))
                if len(waiting) > _AHEAD * threads:
                    _take_one(waiting, function)
                    while waiting and (waiting[0][1].done() or len(waiting) > _AHEAD * threads):
                        item, found = waiting.popleft()
                        yield item, found.result()
            while waiting:
                _take_one(waiting, function)
                item, found = waiting.popleft()
                yield item, found.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _take_one(waiting: deque[tuple[S, Future[T]]], function: Callable[[S], T]) -> None:
    """Work on the first item that no thread has begun, if there is one."""
    for k, (item, future) in enumerate(waiting):
        if future.cancel():
            mine: Future[T] = Future()
            waiting[k] = item, mine
            with threads_of(1):
                try:
                    mine.set_result(function(item))
                except Exception as error:  # for whoever asks for it, in its place
                    mine.set_exception(error)
            return


def _alone() -> None:
    """A worker thread starts no others."""
    _chosen.set(1)
