"""``python -m tmsm_experiments.peers [words …]``: other packages on the same rows, and docs/neighbours.md.

Jobs whose name has all the words are measured, all of them without words; the others keep their results.  What is
measured is recorded at once.  With the word ``page`` the tables of the recorded results are written again, and nothing
is measured.  Everything runs on one thread, so that a time is the work that was done.
"""

import os
import platform
import sys
from datetime import UTC, datetime

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported


def main(words):
    import numpy as np

    from tmsm_experiments.peers import report
    from tmsm_experiments.peers.features import gone
    from tmsm_experiments.peers.jobs import jobs
    from tmsm_experiments.peers.measure import measure
    from tmsm_experiments.peers.method import quiet, versions
    from tmsm_experiments.peers.with_scipy import first_wrong_fit

    if words == ["page"]:
        report.write_page()
        return
    quiet()
    for name in gone():
        print(f"… the page's table of features names {name}, which is not there", file=sys.stderr)
    every = jobs()
    chosen = [job for job in every if all(word in job.name for word in words)]
    if not chosen:
        raise SystemExit(f"No job has {' and '.join(words)} in its name.")
    run = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "processors": os.cpu_count(),
        "versions": versions(),
        "scipy_wrong_from": first_wrong_fit(),
    }
    for job in chosen:
        print(f"… {job.name}", file=sys.stderr, flush=True)
        report.record(run, measure(job), [one.name for one in every])
    report.write_page()


if __name__ == "__main__":
    main(sys.argv[1:])
