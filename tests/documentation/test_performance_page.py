"""The rounded figures of docs/performance.md are those of the measured table on the same page."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
ROUNDED = PAGE[PAGE.index("## What to expect") : PAGE.index("### What takes the time")]
MEASURED = PAGE[PAGE.index("<!-- measured: scale -->") : PAGE.index("<!-- end of scale -->")]

# What the rounded table says, and the line of the measured one; a line with "…" goes on from the one that is named.
FIGURES = [
    ("many rows in a cap", "cap, 10,000,000 rows, one thread", "… rows a second, with errors"),
    ("inside the border of the United States, one weight", "US border, a single weight, rows a second and core", None),
    ("that border, default (combined) weights", "US border, default weight, rows a second and core", None),
    (
        "a Parquet file",
        "Parquet, 40,000,000 rows, with errors, over the cached",
        "… rows a",
    ),
    ("a CSV file", "CSV, 2,000,000 rows", "… rows a second"),
]


def cells(table, name):
    """The first line of a table whose name has these words, and the lines after it."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    first = next(k for k, line in enumerate(lines) if name in line[0])
    return lines[first:]


def millions(text):
    """A number of millions."""
    return float(re.search(r"([\d.]+) million", text)[1])


@pytest.mark.parametrize(("rounded", "measured", "goes_on"), FIGURES, ids=[one[0] for one in FIGURES])
def test_rounded_figures_are_those_measured(rounded, measured, goes_on):
    lines = cells(MEASURED, measured)
    line = lines[0] if goes_on is None else next(one for one in lines if one[0].startswith(goes_on))
    assert millions(line[1]) == pytest.approx(millions(cells(ROUNDED, rounded)[0][1]), rel=0.4)


def test_small_tables_take_less_than_a_millisecond():
    assert cells(ROUNDED, "1,000 rows in a cap")[0][1] == "less than a millisecond"
    line = next(one for one in cells(MEASURED, "cap, 1,000 rows") if one[0] == "… a fit")
    assert float(line[1].removesuffix(" ms")) < 1.0


def test_two_threads_are_as_fast_as_the_page_says():
    found = [float(cells(MEASURED, f"{name}: 2 threads over one")[0][1].split()[0]) for name in ("cap", "weight")]
    said = float(re.search(r"([\d.]+) times as fast", ROUNDED)[1])
    assert found == pytest.approx([said, said], rel=0.1)
