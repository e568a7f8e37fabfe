"""Errors and times of all methods of a job, on the same rows."""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tmsm_experiments.peers.jobs import Job
from tmsm_experiments.peers.method import Method

# A round of a method takes at least so many seconds: shorter calls are repeated.
_ROUND = 0.02


def processor_seconds(function: Callable[[], object]) -> float:
    """Seconds of all processors, with those of programs that the function starts and waits for.

    Other programs on the machine then matter little, and a program that uses several processors has no advantage.
    """
    before = _children()
    start = time.process_time()
    function()
    return time.process_time() - start + _children() - before


def _children() -> float:
    try:
        import resource
    except ImportError:  # no Unix: what others start is not counted
        return 0.0
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measure(job: Job) -> dict[str, Any]:
    """What is recorded of a job."""
    found = [_errors(job, method) for method in job.methods]
    running = [k for k, row in enumerate(found) if "note" not in row]
    spent = _times(job, [job.methods[k] for k in running])
    ours = next((t for k, t in zip(running, spent, strict=True) if found[k]["package"] == "tmsm"), math.nan)
    for k, t in zip(running, spent, strict=True):
        found[k]["time"] = _short(t / ours)
    about = {"name": job.name, "table": job.table, "group": job.group, "title": job.title, "samples": job.seeds}
    return {**about, "methods": found}


def _errors(job: Job, method: Method) -> dict[str, Any]:
    """Mean, its standard error, and root mean square of each error; or a note why there are none."""
    row: dict[str, Any] = {"package": method.package, "call": method.call}
    note = method.why_not()
    if note is not None:
        return {**row, "note": note}
    found: list[Mapping[str, float]] = []
    raised: list[str] = []
    for seed in range(job.seeds):
        rows = job.rows(seed)
        try:
            found.append(job.errors(method(rows), rows))
        except Exception as error:  # whatever a package of others raises
            raised.append(type(error).__name__)
            if len(raised) > 2 and not found:
                break
    if not found:
        return {**row, "note": f"raised {raised[0]}"}
    return {**row, "failed": len(raised), "errors": {name: _summary([one[name] for one in found]) for name in found[0]}}


def _summary(values) -> dict[str, float]:
    a = np.asarray(values, dtype=float)
    error = float(a.std(ddof=1) / np.sqrt(len(a))) if len(a) > 1 else math.nan
    return {"mean": _short(float(a.mean())), "error": _short(error), "rms": _short(float(np.sqrt(np.mean(a * a))))}


def _short(value: float) -> float:
    """Four significant digits: what is recorded, and what the page says, is rounded from this."""
    return float(f"{value:.4g}")


def _times(job: Job, methods: list[Method]) -> list[float]:
    """Median seconds of each, over rounds in which they take turns."""
    rows = job.rows(0)
    repeats = []
    for method in methods:
        method(rows)  # compiled, and read from the disk
        repeats.append(max(1, math.ceil(_ROUND / max(_seconds(method, rows, 1), 1e-7))))
    rounds = [
        [_seconds(method, rows, times) for method, times in zip(methods, repeats, strict=True)]
        for _ in range(job.rounds)
    ]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def _seconds(method: Method, rows: Any, times: int) -> float:
    def run() -> None:
        for _ in range(times):
            method(rows)

    return processor_seconds(run) / times
