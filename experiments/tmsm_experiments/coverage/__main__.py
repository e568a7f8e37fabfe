"""``python -m tmsm_experiments.coverage [words …]``: the recorded table of coverage.

Settings whose name has all the words are computed, all of them without words; the others keep their results.  What is
finished is kept in build/coverage, so that an interrupted run goes on where it stopped.  The table goes to results.csv
beside this file and to docs/coverage.md.
"""

import os
import sys
import warnings
from pathlib import Path

from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.coverage.report import read, write, write_page
from tmsm_experiments.coverage.settings import settings
from tmsm_experiments.coverage.simulate import CoverageCell

KEPT = Path("build") / "coverage"


def main(words: list[str]) -> None:
    warnings.simplefilter("ignore")
    everything = list(settings())
    chosen = [CoverageCell(one) for one in everything if all(word in one.name for word in words)]
    if not chosen:
        raise SystemExit(f"No setting has {' and '.join(words)} in its name.")
    found = run_cells(chosen, Store(KEPT), os.cpu_count() or 1, "coverage")
    recorded = read() | {name: rows[0] for name, rows in found.items()}
    write({one.name: recorded[one.name] for one in everything if one.name in recorded})
    write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
