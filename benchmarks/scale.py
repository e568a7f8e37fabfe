"""Many rows: every figure against a limit or a peer of the same run; the table goes to docs/performance.md.

A subject is a title and functions; a function takes the `Setting` and yields lines: what is measured, the value, its
unit, the least and the largest value that is good, and what takes the time.  A name that begins with "…" goes on from
the last one that does not.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import tmsm
from benchmarks.measuring import Neighbours, met_neighbours
from benchmarks.scale_checks import saved_lines, stein_lines
from benchmarks.scale_cluster import cluster_lines
from benchmarks.scale_files import parquet_lines, text_lines
from benchmarks.scale_rows import (
    cap_lines,
    cap_thread_lines,
    coast_lines,
    coast_thread_lines,
    conversion_lines,
    device_lines,
    peer_lines,
    row_lines,
    small_lines,
    vertex_lines,
)
from benchmarks.scale_setting import Setting
from scenarios.cap import CAP, MODEL

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
HISTORY = Path(__file__).with_name("history.jsonl")
BEGIN, END = "<!-- measured: scale -->", "<!-- end of scale -->"
_DISTURBED = "†"

SUBJECTS = (
    ("Arrays in memory, one thread", (cap_lines, coast_lines, conversion_lines)),
    ("More rows, longer borders", (row_lines, vertex_lines)),
    ("Small tables, and another package", (small_lines, peer_lines)),
    ("Threads", (cap_thread_lines, coast_thread_lines)),
    ("Files", (parquet_lines, text_lines)),
    ("A cluster", (cluster_lines,)),
    ("Saved sums", (saved_lines,)),
    ("Tests of the model", (stein_lines,)),
    ("Graphics cards", (device_lines,)),
)


def scale_rows(tell=lambda text: None, *, small=False, page=PAGE, history=HISTORY):
    """Lines of the table as they are measured: name, value, unit, limits; the page and the history are written last."""
    found, neighbours = [], Neighbours()
    with Setting(small) as setting:
        tell("drawing rows, compiling")
        for region, rows in ((CAP, setting.X), (setting.coast, setting.Y)):
            for weight in ("auto", "saturating"):
                tmsm.ScoreMatching(MODEL, region, weight).fit(rows[:200_000])
        for title, functions in SUBJECTS:
            tell(title)
            lines = []
            for function in functions:
                met_neighbours()
                disturbed = False
                for line in function(setting):
                    disturbed |= met_neighbours()
                    lines.append((*line, disturbed))
                    yield line[:4]
            if lines:
                found.append((title, lines))
    share = neighbours.share()
    _record(found, share, history)
    _write(found, share, page)


def _record(found, share, path):
    """One line more of the history: what was measured, when, by which version, on how many processors."""
    figures, disturbed, whole = {}, [], ""
    for _, lines in found:
        for name, value, *_, was_disturbed in lines:
            whole = whole if name.startswith("…") else name
            full = name if name == whole else f"{whole} {name}"
            figures[full] = float(f"{value:.4g}")
            if was_disturbed:
                disturbed.append(full)
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="minutes"),
        "version": tmsm.__version__,
        "processors": os.cpu_count(),
        "numpy": np.__version__,
        "taken by others": None if share is None else round(share, 3),
        "disturbed": disturbed,
        "figures": figures,
    }
    with path.open("a") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write(found, share, path):
    """The table between its marks, a part for each subject."""
    table = ["| figure | measured | limit | what takes the time |", "| --- | --- | --- | --- |"]
    for title, lines in found:
        table.append(f"| **{title}** | | | |")
        for name, value, unit, (low, high), bottleneck, disturbed in lines:
            mark = _DISTURBED if disturbed else ""
            limit = f"≤ {_shown(high)}" if np.isfinite(high) else f"≥ {_shown(low)}" if low else ""
            missed = "" if low <= value <= high else ", missed"
            table.append(
                f"| {name} | {_shown(value)}{mark} {unit} | {limit}{missed} | {bottleneck} |".replace("  ", " ")
            )
    said = f"Measured on {os.cpu_count()} processors"
    if share is not None:
        said += f", of which other programs took {100 * share:.0f} % of the time"
    if any(line[-1] for _, lines in found for line in lines):
        said += f". {_DISTURBED} Too few rounds that they did not disturb: the figure is worse than on a quiet machine"
    before, rest = path.read_text().split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n" + "\n".join(table) + f"\n\n{said}.\n\n{END}{rest.split(END)[1]}")


def _shown(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main():
    """``python -m benchmarks.scale``: the table alone, also of few rows and to another place."""
    parser = argparse.ArgumentParser(description="Measure what there is of many rows.")
    parser.add_argument("--small", action="store_true", help="few rows: to see that everything runs")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write into")
    parser.add_argument("--history", type=Path, default=HISTORY, help="the file to add a line to")
    asked = parser.parse_args()
    if asked.small and (asked.page == PAGE or asked.history == HISTORY):
        parser.error("what few rows give is for another --page and another --history")
    options = {"small": asked.small, "page": asked.page, "history": asked.history}
    for name, value, unit, limit in scale_rows(lambda text: print(f"… {text}", file=sys.stderr, flush=True), **options):
        print(f"{name:<70} {value:>9.4g} {unit:<9} {'' if limit[0] <= value <= limit[1] else 'OVER'}", flush=True)


if __name__ == "__main__":
    main()
