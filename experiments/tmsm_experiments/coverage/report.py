"""The recorded results, and the page that shows them."""

import csv
import re
from pathlib import Path

import numpy as np

from tmsm_experiments.cells import write_csv, write_whole
from tmsm_experiments.coverage.groups import groups_table
from tmsm_experiments.coverage.settings import Setting

RESULTS = Path(__file__).with_name("results.csv")
PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"
LOWEST, HIGHEST = 0.92, 0.98
SMALLEST_SIZE, LARGEST_SIZE = 0.03, 0.07
HEADING = (
    "model", "region", "centre", "rows", "method", "region covers", "ellipse", "intervals cover", "± 1.96 s.e.",
    "test rejects", "centre not determined", "no estimate", "samples",
)  # fmt: skip


# Settings that miss what is asked for, and why.
_SHORT_SIDES = (
    "Some equations of the test depend on rows next to the short sides of the strip, and such rows are rare. In a "
    "sample without any, these equations seem to contradict the model. Without these equations the test could not "
    "detect a wrong model along a strip. When the test rejects in such a region, the status explains this."
)
_FEW_GROUPS = (
    "The intervals are too wide, not too narrow. The sizes of the 40 groups grow geometrically from 1 to 40 equal "
    "rows, so most groups are small. They count like 11 groups of equal size, and Student's t with so few is "
    "conservative. The status gives the effective number."
)
_FEW_ROWS = (
    "With the paper's weight the estimate depends on about ten rows next to the short sides of the strip. The status "
    "says so in nine of ten fits. With the default weight the region covers 94 % and the interval 93 % (300 samples)."
)
_NOTHING_TO_KNOW = (
    "The region is too large, not too small. 100 rows in a cap of 3° reject hardly any direction. The status says so "
    "in three of four fits."
)
_FROM_ZERO = (
    "The interval is too wide, not too narrow. The interval of the ovalness begins at zero unless the data reject zero "
    "for the ovalness and the axes together (at zero the axes have no meaning). The status says that the interval "
    "reaches zero."
)
REASONS = {
    "vMF, sliver, 10° off, n 1000, default": _SHORT_SIDES,
    "vMF, sliver, 30° off, n 3000, default": _SHORT_SIDES,
    "vMF, sliver, inside, n 300, g = d": _FEW_ROWS,
    "Kent, polygon, border, n 1000, default": _FROM_ZERO,
    "Kent, polygon, inside, n 300, default": _FROM_ZERO,
    "vMF, small cap, 30° off, n 100, default, κ known": _NOTHING_TO_KNOW,
    "vMF, cap, border, n 434, default, 40 unequal groups": _FEW_GROUPS,
    "vMF, hemisphere, border, n 434, default, 40 unequal groups": _FEW_GROUPS,
}


def name_of(row: dict[str, str]) -> str:
    return Setting.of(row).name


def read() -> dict[str, dict[str, str]]:
    """Name of the setting -> its row."""
    if not RESULTS.is_file():
        return {}
    with RESULTS.open(newline="") as file:
        return {name_of(row): row for row in csv.DictReader(file)}


def write(rows: dict[str, dict[str, str]]) -> None:
    write_csv(RESULTS, list(rows.values()))


def outside(share: float, seeds: int, low: float, high: float) -> bool:
    """Whether a share lies outside its bounds by more than two standard errors of a share at the bound."""

    def error(bound: float) -> float:
        return 2.0 * float(np.sqrt(bound * (1.0 - bound) / seeds))

    return share < low - error(low) or share > high + error(high)


def exceptions(row: dict[str, str]) -> list[str]:
    """Which of a row's columns are outside what is asked for."""
    seeds = int(row["seeds"]) - int(row["failed"])
    bounds = {
        "region covers": (LOWEST, HIGHEST),
        "interval lowest": (LOWEST, HIGHEST),
        "interval highest": (LOWEST, HIGHEST),
        "test rejects": (SMALLEST_SIZE, LARGEST_SIZE),
    }
    return [name for name, limits in bounds.items() if row[name] and outside(float(row[name]), seeds, *limits)]


def percent(text: str) -> str:
    return f"{100.0 * float(text):.1f}" if text else "–"


def table(rows: list[dict[str, str]]) -> str:
    lines = ["| " + " | ".join(HEADING) + " |", "| --- " * len(HEADING) + "|"]
    for row in rows:
        bad = exceptions(row)

        def shown(name: str, row: dict[str, str] = row, bad: list[str] = bad) -> str:
            return f"**{percent(row[name])}**" if name in bad else percent(row[name])

        method = f"{row['method']}; {row['kind']}" if row["kind"] else row["method"]
        cells = (
            row["model"], row["region"], row["centre"], f"{Setting.of(row).n_rows:,}", method, shown("region covers"),
            shown("ellipse covers"), _spread(row, "interval", shown), _spread(row, "wald", percent_of(row)),
            shown("test rejects"), shown("undetermined"), "" if row["failed"] == "0" else row["failed"],
            f"{int(row['seeds']):,}",
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def percent_of(row: dict[str, str]):
    return lambda name: percent(row[name])


def _spread(row: dict[str, str], method: str, shown) -> str:
    low, high = f"{method} lowest", f"{method} highest"
    return shown(low) if row[low] == row[high] else f"{shown(low)} to {shown(high)}"


def unexplained(rows: list[dict[str, str]]) -> tuple[set[str], set[str]]:
    """Settings with exceptions that have no reason, and reasons for settings that have no exception."""
    found = {name_of(row) for row in rows if exceptions(row)}
    return found - set(REASONS), set(REASONS) - found


def exceptions_table(rows: list[dict[str, str]]) -> str:
    """What is outside the bounds, setting by setting, and why."""
    lines = ["| setting | outside | why |", "| --- | --- | --- |"]
    for row in rows:
        shares: dict[str, list[str]] = {}
        for name in exceptions(row):
            shares.setdefault(name.split()[0], []).append(f"{percent(row[name])} %")
        what = ", ".join(f"{name} {' to '.join(sorted(set(values)))}" for name, values in shares.items())
        if what:
            lines.append(f"| {name_of(row)} | {what} | {REASONS.get(name_of(row), '')} |")
    return "\n".join(lines)


def overview(rows: list[dict[str, str]]) -> str:
    """How many settings hold what is asked for."""
    lines = ["| | settings | lowest | median | highest | within the bounds |", "| --- | --- | --- | --- | --- | --- |"]
    for title, name, limits in (
        ("confidence region of the centre", "region covers", (LOWEST, HIGHEST)),
        ("ellipse of the delta method, for comparison", "ellipse covers", (LOWEST, HIGHEST)),
        ("intervals, least covered parameter of a setting", "interval lowest", (LOWEST, HIGHEST)),
        ("estimate ± 1.96 standard errors, for comparison", "wald lowest", (LOWEST, HIGHEST)),
        ("goodness-of-fit test at 5 %, rejections", "test rejects", (SMALLEST_SIZE, LARGEST_SIZE)),
    ):
        some = [row for row in rows if row[name]]
        shares = np.array([float(row[name]) for row in some])
        good = sum(not outside(float(row[name]), int(row["seeds"]) - int(row["failed"]), *limits) for row in some)
        numbers = " | ".join(f"{100.0 * value:.1f}" for value in (shares.min(), np.median(shares), shares.max()))
        lines.append(f"| {title} | {len(some)} | {numbers} | {good} |")
    return "\n".join(lines)


def write_page() -> None:
    """Put the tables of the recorded results between their marks."""
    text = page_text(PAGE.read_text(encoding="utf-8"))
    write_whole(PAGE, lambda path: path.write_text(text, encoding="utf-8"))


def page_text(text: str) -> str:
    rows = list(read().values())
    for name, found in {
        "overview": overview(rows),
        "exceptions": exceptions_table(rows),
        "groups": groups_table(rows),
        "settings": table(rows),
    }.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", flags=re.DOTALL)
        text, count = pattern.subn(lambda match, found=found: f"{match[1]}\n{found}\n\n{match[2]}", text)
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for the table {name!r}.")
    return text
