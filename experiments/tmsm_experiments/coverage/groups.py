"""The recorded settings in groups: how often regions and intervals hold the truth, and the test rejects, on average."""

from collections.abc import Callable, Sequence

import numpy as np

from tmsm_experiments.coverage.settings import Setting

__all__ = ["GROUPINGS", "groups_table"]

Row = dict[str, str]

# A title, and what a setting is called under it.  Every setting is in one group under every title.
GROUPINGS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("where the centre is", lambda row: row["centre"] or "(no centre)"),
    ("number of rows", lambda row: f"{Setting.of(row).n_rows:,}"),
    ("method", lambda row: row["method"]),
    ("rows", lambda row: row["kind"] or "independent, weights equal"),
    ("model", lambda row: row["model"]),
    ("region", lambda row: row["region"]),
)
# Columns of the table, and of the results.
COLUMNS = (
    ("region covers", "region covers"),
    ("ellipse", "ellipse covers"),
    ("intervals cover", "interval lowest"),
    ("± 1.96 s.e.", "wald lowest"),
    ("test rejects", "test rejects"),
)


def groups_table(rows: Sequence[Row]) -> str:
    """Mean, lowest and highest share of every group, in per cent."""
    heading = ["group", "settings", *(title for title, _ in COLUMNS)]
    lines = ["| " + " | ".join(heading) + " |", "| --- " * len(heading) + "|"]
    lines.append(_line("**all settings**", rows))
    for title, name_of in GROUPINGS:
        lines.append(f"| **{title}** |" + " |" * (len(heading) - 1))
        names = dict.fromkeys(name_of(row) for row in sorted(rows, key=_by_number(title)))
        lines += [_line(name, [row for row in rows if name_of(row) == name]) for name in names]
    return "\n".join(lines)


def _by_number(title: str) -> Callable[[Row], int]:
    """Numbers of rows in their order, everything else as it was recorded."""
    return (lambda row: Setting.of(row).n_rows) if title == "number of rows" else (lambda row: 0)


def _line(name: str, rows: Sequence[Row]) -> str:
    cells = [name, str(len(rows)), *(_spread([float(row[key]) for row in rows if row[key]]) for _, key in COLUMNS)]
    return "| " + " | ".join(cells) + " |"


def _spread(shares: Sequence[float]) -> str:
    """Mean (lowest to highest)."""
    if not shares:
        return "–"
    mean, low, high = (f"{100.0 * value:.1f}" for value in (np.mean(shares), min(shares), max(shares)))
    return mean if low == high else f"{mean} ({low} to {high})"
