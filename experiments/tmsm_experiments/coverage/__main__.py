"""``python -m tmsm_experiments.coverage [words …]``: the recorded table of coverage.

Settings whose name has all the words are computed, all of them without words; the others keep their results.  Those
that seem to miss what is asked for are computed again with more seeds, which then count.  What is finished is kept in
build/coverage, so that an interrupted run goes on where it stopped.  The table goes to results.csv beside this file and
to docs/coverage.md.
"""

import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path

from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.coverage.report import exceptions, name_of, read, write, write_page
from tmsm_experiments.coverage.settings import MORE_SEEDS, settings
from tmsm_experiments.coverage.simulate import CoverageCell

KEPT = Path("build") / "coverage"


def main(words: list[str]) -> None:
    warnings.simplefilter("ignore")
    everything = list(settings())
    chosen = [CoverageCell(one) for one in everything if all(word in one.name for word in words)]
    if not chosen:
        raise SystemExit(f"No setting has {' and '.join(words)} in its name.")
    jobs = os.cpu_count() or 1
    found = run_cells(chosen, Store(KEPT), jobs, "coverage")
    doubtful = [
        CoverageCell(replace(one.setting, seeds=MORE_SEEDS)) for one in chosen if exceptions(found[one.name][0])
    ]
    found |= run_cells(doubtful, Store(KEPT), jobs, "coverage, doubtful settings again")
    recorded = read() | {name_of(rows[0]): rows[0] for rows in found.values()}
    write({one.name: recorded[one.name] for one in everything if one.name in recorded})
    write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
