"""Threads: many for compiled loops over rows, one for BLAS where its products are short.

Waking others for short products costs more than it gains; where other programs keep the cores busy, threads that wait
for each other make a pass over rows ten times as long.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from threading import Condition, Lock, Thread
from typing import Any, Generic, TypeVar, cast, final

__all__ = ["in_threads", "map_in_order", "single_threaded", "thread_count", "threads_of"]

# With fewer numbers BLAS stays on one thread by itself.
_FEW_NUMBERS = 8192
_ROWS_PER_THREAD = 20_000
# How many pieces are read ahead for each thread, and for all: neighbours may hold any of them up.
_AHEAD, _SLACK = 2, 4
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


def map_in_order(function: Callable[[S], T], items: Iterable[S], *, anywhere: bool = False) -> Iterator[tuple[S, T]]:
    """Items with what a function gives for them, in their order; few items are read ahead.

    The number of threads changes nothing but the time.  What the function calls runs on one thread.  The caller's own
    thread is one of those that work, and reads the items; ``anywhere`` says that any thread may read the next one,
    so that none has to hand it to another.
    """
    threads = thread_count()
    if threads < 2:
        for item in items:
            yield item, function(item)
        return
    crew = _Crew(function, items, threads, anywhere)
    try:
        while (part := crew.next_part()) is not None:
            yield part.item, part.result()
    finally:
        crew.dismiss()


@final
class _Part(Generic[S, T]):
    """An item, and what was found for it or went wrong."""

    def __init__(self, item: S, error: BaseException | None = None) -> None:
        self.item, self.error = item, error
        self.done = error is not None
        self.found: T | None = None

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return cast(T, self.found)


@final
class _Crew(Generic[S, T]):
    """Threads that work on items, the caller's among them.

    Nobody hands parts out: whoever has nothing to do takes the next one, so that threads hardly ever wait for each
    other or are woken, which for blocks of half a millisecond took a tenth of the time.
    """

    def __init__(self, function: Callable[[S], T], items: Iterable[S], threads: int, anywhere: bool) -> None:
        self._function, self._items, self._anywhere = function, iter(items), anywhere
        self._limit = _AHEAD * threads + _SLACK
        self._line: deque[_Part[S, T]] = deque()  # all that were read and are not yet passed on, in order
        self._open: deque[_Part[S, T]] = deque()  # those of them that nobody has begun
        self._ended = False
        self._reading, self._changed = Lock(), Condition()
        self._spare = threads - 1  # workers that were not needed yet
        self._workers: list[Thread] = []

    def next_part(self) -> _Part[S, T] | None:
        """The next one in order, when it is done; None after the last.  Meanwhile the caller works, too."""
        with threads_of(1):
            while True:
                with self._changed:
                    if self._line and self._line[0].done:
                        self._changed.notify_all()  # there is room for another one
                        return self._line.popleft()
                    if self._ended and not self._line:
                        return None
                part = self._taken(mine=True)
                if part is not None:
                    self._call_worker()
                    self._work(part)
                    if isinstance(part.error, KeyboardInterrupt):  # of the user, who waits
                        raise part.error
                    continue
                with self._changed:
                    if self._line and not self._line[0].done:
                        self._changed.wait()

    def dismiss(self) -> None:
        """Nobody begins anything more, and the source is closed."""
        with self._changed:
            self._ended = True
            self._open.clear()
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()
        if isinstance(self._items, Generator):
            self._items.close()

    @property
    def _has_room(self) -> bool:
        return not self._ended and len(self._line) < self._limit

    def _read(self) -> None:
        """Put one item more into the line, if the source has one."""
        with self._reading:
            if self._ended:
                return
            part: _Part[S, T] | None = None
            try:
                part = _Part(next(self._items))
            except StopIteration:
                pass
            except BaseException as error:  # for whoever asks for it, in its place
                part = _Part(cast(S, None), error)
            with self._changed:
                self._ended = self._ended or part is None or part.done
                if part is not None:
                    self._line.append(part)
                    if not part.done:
                        self._open.append(part)
                self._changed.notify()

    def _taken(self, mine: bool) -> _Part[S, T] | None:
        """The first part that nobody has begun, if need be a new one; None where there is none for now."""
        while True:
            with self._changed:
                if self._open:
                    return self._open.popleft()
                if not (self._has_room and (mine or self._anywhere)):
                    return None
            self._read()

    def _call_worker(self) -> None:
        """Read what workers are to take, if they may not themselves, and start one more of them for one item more."""
        if self._spare or not self._anywhere:
            self._read()
        while not self._anywhere and self._has_room:
            self._read()
        if self._spare and self._open:
            self._spare -= 1
            self._workers.append(Thread(target=self._serve, daemon=True))
            self._workers[-1].start()

    def _serve(self) -> None:
        """What a worker does: it starts no threads of its own."""
        _chosen.set(1)
        while True:
            part = self._taken(mine=False)
            if part is not None:
                self._work(part)
                continue
            with self._changed:
                if self._ended and not self._open:
                    return
                if not self._open and not (self._anywhere and self._has_room):
                    self._changed.wait()

    def _work(self, part: _Part[S, T]) -> None:
        try:
            part.found = self._function(part.item)
        except BaseException as error:  # for whoever asks for it, in its place
            part.error = error
        with self._changed:
            part.done = True
            self._changed.notify_all()
