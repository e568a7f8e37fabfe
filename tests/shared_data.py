"""Real data that do not belong into the repository."""

from pathlib import Path

import pytest

from benchmarks import united_states


def data_file(name: str) -> Path:
    """The path of a data file; the test is skipped, with the reason, where it is absent."""
    path = united_states.data_file(name)
    if path is None:
        pytest.skip(f"{name} is not here; set TMSM_DATA to the folder that holds it")
    return path
