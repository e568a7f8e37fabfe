"""How the figures on many rows are measured: medians side by side, memory of a fresh program, what neighbours take."""

import os
import statistics
import subprocess
import sys
import time

__all__ = ["Neighbours", "extra_memory", "forget", "medians", "processor_seconds", "seconds"]

# A program that fits a file and says how much more memory it held than before: the first fit, of few rows, loads code.
_MEMORY_OF_A_FIT = """
import sys
import tmsm
from benchmarks.measuring import most_memory
from scenarios.cap import CAP, MODEL

fit = tmsm.ScoreMatching(MODEL, CAP).fit
fit(sys.argv[1])
before = most_memory()
fit(sys.argv[2])
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
    """Median seconds of each function, one after the other so that all meet the same neighbours."""
    spent = []
    for _ in range(repeats):
        row = []
        for function in functions:
            if before is not None:
                before()
            row.append(clock(function))
        spent.append(row)
    return [statistics.median(column) for column in zip(*spent, strict=True)]


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


def extra_memory(path, few):
    """Bytes that a fit of a file holds at most beyond those of a fit of a file with few rows, in a fresh program."""
    run = subprocess.run(
        [sys.executable, "-c", _MEMORY_OF_A_FIT, str(few), str(path)], capture_output=True, text=True, check=True
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

    def share(self):
        """Between nothing and one."""
        now = self._now()
        if now is None or self._start is None:
            return None
        busy, ours, spent = (new - old for new, old in zip(now, self._start, strict=True))
        return max(0.0, (busy - ours) / (spent * os.cpu_count()))
