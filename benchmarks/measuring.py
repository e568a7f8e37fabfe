"""How the figures on many rows are measured: medians side by side, memory of a fresh program, what neighbours take."""

import os
import statistics
import subprocess
import sys
import time

# Disturbed rounds are repeated until there are so many times as many as were asked for.
_PATIENCE = 3
_met_neighbours = [False]

__all__ = [
    "Neighbours",
    "extra_memory",
    "forget",
    "medians",
    "met_neighbours",
    "most_memory",
    "processor_seconds",
    "seconds",
]

# A program that fits a file and says how much more memory it held than before: a fit of few rows in memory loads code.
_MEMORY_OF_A_FIT = """
import sys
import pyarrow.parquet
import tmsm
from benchmarks.measuring import most_memory
from scenarios.cap import CAP, MODEL, sample

fit = tmsm.ScoreMatching(MODEL, CAP).fit
fit(sample(60_000))
before = most_memory()
fit(sys.argv[1])
print(most_memory() - before)
"""


def seconds(function):
    """How long it takes once."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def processor_seconds(function):
    """How long all processors together work on it."""
    start = time.process_time()
    function()
    return time.process_time() - start


def medians(functions, repeats=7, clock=seconds, before=None):
    """Median seconds of each function, one after the other so that all meet the same neighbours.

    Rounds that neighbours disturbed are repeated; where they always do, all rounds count, and `met_neighbours` says so.
    """
    calm, every, most = [], [], _PATIENCE * repeats if repeats > 1 else 1
    while len(calm) < repeats and len(every) < most:
        row, neighbours = [], Neighbours()
        for function in functions:
            if before is not None:
                before()
            row.append(clock(function))
        every.append(row)
        if not neighbours.disturbed():
            calm.append(row)
    enough = len(calm) >= min(3, repeats)
    _met_neighbours[0] |= not enough
    rows = calm if enough else every
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def met_neighbours():
    """Whether neighbours disturbed what was measured since this was last asked."""
    found, _met_neighbours[0] = _met_neighbours[0], False
    return found


def forget(path):
    """Whether the system could be told to keep nothing of a file in memory, so that it is read from the disk."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with open(path, "rb") as file:
        os.fsync(file.fileno())  # what was not written yet is kept
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def most_memory():
    """The most bytes of memory that this program has held."""
    try:
        with open("/proc/self/status") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def extra_memory(path):
    """Bytes that a fit of a file holds at most beyond those of the program before, which is a fresh one."""
    run = subprocess.run(
        [sys.executable, "-c", _MEMORY_OF_A_FIT, str(path)], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


class Neighbours:
    """What share of the processors other programs took since this was made; None where nobody says."""

    def __init__(self):
        self._start = self._now()

    @staticmethod
    def _now():
        try:
            with open("/proc/stat") as file:
                columns = [int(text) for text in file.readline().split()[1:9]]
        except FileNotFoundError:
            return None
        ours = sum(os.times()[:4])  # with programs that were started, and have ended
        idle = columns[3] + columns[4]
        return (sum(columns) - idle) / os.sysconf("SC_CLK_TCK"), ours, time.monotonic()

    def _taken(self):
        """Seconds that others worked, and that went by; None where nobody says."""
        now = self._now()
        if now is None or self._start is None:
            return None
        busy, ours, spent = (new - old for new, old in zip(now, self._start, strict=True))
        return max(0.0, busy - ours), spent

    def share(self):
        """Between nothing and one."""
        taken = self._taken()
        return None if taken is None else taken[0] / (taken[1] * os.cpu_count())

    def disturbed(self):
        """Whether others worked while something was measured; the system counts in hundredths of a second."""
        taken = self._taken()
        return taken is not None and taken[0] > 0.05 * taken[1] + 0.03
