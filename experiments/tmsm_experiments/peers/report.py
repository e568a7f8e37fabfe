"""The recorded results, and the page that shows them."""

import json
from datetime import date
from pathlib import Path

from tmsm_experiments.pages import placed, table
from tmsm_experiments.peers.features import features_table
from tmsm_experiments.peers.summary import summary

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[3] / "docs" / "neighbours.md"
HEADINGS = {
    "fits": ["package", "call", "centre: error", "size: bias", "size: error", "time"],
    "maps": ["package", "call", "divergence", "error next to the border", "integral over the region", "time"],
    "draws": ["package", "call", "deviation of the mean", "time"],
}


def read():
    """What was recorded by the last run."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def write(found):
    """Record the results of a run, and put their tables on the page."""
    RESULTS.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


def page_text(page, found):
    """The page with the tables of these results."""
    for name in HEADINGS:
        page = placed(page, name, measured_table(name, found["jobs"]))
    page = placed(page, "summary", summary(found))
    page = placed(page, "features", features_table(found["versions"]))
    return placed(page, "when", when(found))


def when(found):
    """When and with what the tables were measured."""
    day = date.fromisoformat(found["date"])
    installed = ", ".join(f"{name} {version}" for name, version in found["versions"].items() if version)
    return (
        f"Measured on {day.day} {day:%B %Y} with Python {found['python']} on {found['processors']} processors:\n"
        f"{installed}, NumPy {found['numpy']}."
    )


def number(value):
    """Three significant digits, and thousands with a comma."""
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{float(f'{value:.3g}'):g}"


def percent(value):
    """A signed number with one digit after the point, or none where it is large."""
    return f"{value:+,.0f} %" if abs(value) >= 1000.0 else f"{value:+.1f} %"


def _fits(errors):
    centre = number(errors["centre"]["rms"])
    if "size" not in errors:
        return [centre, "–", "–"]
    size = errors["size"]
    return [centre, f"{percent(size['mean'])} ± {number(size['error'])}", f"{number(size['rms'])} %"]


def _maps(errors):
    return [f"{errors[name]['mean']:.4f}" for name in ("divergence",)] + [
        f"{errors['border']['mean']:.2f}",
        f"{errors['integral']['mean']:.3f}",
    ]


def _draws(errors):
    return [f"{errors['deviation']['rms']:.2f}"]


CELLS = {"fits": _fits, "maps": _maps, "draws": _draws}


def measured_table(name, jobs):
    """All jobs of one table, each with a line of its own above its methods."""
    heading = HEADINGS[name]
    rows, group = [heading], ""
    for job in jobs:
        if job["table"] != name:
            continue
        if job["group"] != group:
            group = job["group"]
            rows.append([f"**{group}**", *[""] * (len(heading) - 1)])
        rows.append([f"*{job['title']}* ({job['samples']} samples)", *[""] * (len(heading) - 1)])
        rows += [_method_row(name, row) for row in job["methods"]]
    return table(rows)


def _method_row(name, row):
    if "note" in row:
        return [row["package"], row["call"], f"not measured: {row['note']}", *[""] * (len(HEADINGS[name]) - 3)]
    call = row["call"] + (f" ({row['failed']} samples raised an error)" if row["failed"] else "")
    return [row["package"], call, *CELLS[name](row["errors"]), number(float(f"{row['time']:.2g}"))]
