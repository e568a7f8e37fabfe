import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# There are as many workers as cores: each keeps to one thread. Linear algebra reads this when it is loaded.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# The same examples on every machine and in every run.
settings.register_profile("tmsm", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("tmsm")

# A shell starts background jobs with interruptions ignored, and their children inherit that: some of these tests
# interrupt theirs.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _figures_are_closed():
    """A test's figures end with it: pyplot keeps them all, and warns from the twenty-first on."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


SIMULATIONS = ("statistical", "paper")


def pytest_collection_modifyitems(items):
    """What lies in the folders of simulations is one."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in SIMULATIONS:
            item.add_marker(pytest.mark.statistical)
