"""Real data that do not belong into the repository."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("TMSM_DATA", Path(__file__).parents[2] / "shared" / "data"))


def data_file(name: str) -> Path:
    """The path of a data file; the test is skipped, with the reason, where it is absent."""
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{name} is not here; set TMSM_DATA to the folder that holds it")
    return path
