"""Where a program gives memory back at once, as workers of Dask do, arrays of a pass use theirs again."""

import ctypes
import os
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from tmsm.foundation.heap import keeping_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        np.ones(40_000).sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
with keeping_memory(), keeping_memory():
    np.ones(40_000)
    within = faults()
print(before, within, faults())
"""

pytestmark = pytest.mark.skipif(
    not (sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallopt")), reason="another C library"
)


def counted(**more):
    plain = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    run = subprocess.run(
        [sys.executable, "-c", FAULTS], env={**plain, **more}, capture_output=True, text=True, check=True
    )
    return map(int, run.stdout.split())


def test_pages_are_fetched_once():
    before, within, after = counted(MALLOC_TRIM_THRESHOLD_="65536")
    assert before > 200 * 40
    assert within < 0.05 * before
    assert after > 0.9 * before  # the program is again as it was told to be


def test_nothing_is_changed_where_nobody_asked_for_it():
    before, within, _ = counted()
    assert before < 200 * 40
    assert within < 200 * 40
