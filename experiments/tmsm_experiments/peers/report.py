"""The recorded results, and the page that shows them."""

import json
from datetime import date
from pathlib import Path

from tmsm_experiments.cells import write_whole
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
    """What was recorded."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def record(run, job, names):
    """Put a measured job among the recorded ones, which are in the order of these names, and with it what ran."""
    kept = {one["name"]: one for one in read()["jobs"]} if RESULTS.is_file() else {}
    kept[job["name"]] = job
    found = {**run, "jobs": [kept[name] for name in names if name in kept]}
    text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    write_whole(RESULTS, lambda path: path.write_text(text, encoding="utf-8"))


def write_page():
    """Put the tables of the recorded results on the page."""
    text = page_text(PAGE.read_text(encoding="utf-8"), read())
    write_whole(PAGE, lambda path: path.write_text(text, encoding="utf-8"))


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
    """Three significant digits, and thousands with a comma; rounding errors are zero."""
    if abs(value) < 1e-9:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{float(f'{value:.3g}'):g}"


def signed(mean, error):
    """A mean with its sign and its standard error, to a digit of the error."""
    digits = 2 if error < 0.095 else 1
    return f"{mean:+,.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def _fits(errors):
    centre = number(errors["centre"]["rms"])
    if "size" not in errors:
        return [centre, "–", "–"]
    size = errors["size"]
    return [centre, f"{signed(size['mean'], size['error'])} %", f"{number(size['rms'])} %"]


def _maps(errors):
    divergence, border, integral = (errors[name] for name in ("divergence", "border", "integral"))
    return [f"{divergence['mean']:.4f} ± {divergence['error']:.4f}", f"{border['mean']:.2f}", f"{integral['mean']:.3f}"]


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
