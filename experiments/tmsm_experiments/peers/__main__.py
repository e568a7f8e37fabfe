"""``python -m tmsm_experiments.peers``: every job with every package that is installed, and docs/neighbours.md.

Everything runs on one thread, so that a time is the work that was done.  With the word ``page`` the tables of the
recorded results are written again, and nothing is measured.
"""

import os
import platform
import sys
from datetime import UTC, datetime

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported


def main():
    import numpy as np

    from tmsm_experiments.peers import report
    from tmsm_experiments.peers.features import gone
    from tmsm_experiments.peers.jobs import jobs
    from tmsm_experiments.peers.measure import measure
    from tmsm_experiments.peers.method import quiet, versions
    from tmsm_experiments.peers.with_scipy import first_wrong_fit

    if sys.argv[1:] == ["page"]:
        report.write(report.read())
        return
    quiet()
    for name in gone():
        print(f"… the page's table of features names {name}, which is not there", file=sys.stderr)
    found = []
    for job in jobs():
        print(f"… {job.group or job.table}: {job.title}", file=sys.stderr, flush=True)
        found.append(measure(job))
    report.write(
        {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "processors": os.cpu_count(),
            "versions": versions(),
            "scipy_wrong_from": first_wrong_fit(),
            "jobs": found,
        }
    )


if __name__ == "__main__":
    main()
