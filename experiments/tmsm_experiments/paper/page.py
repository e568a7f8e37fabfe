"""docs/reproduction.md: the verdicts, with the figures and tables behind them."""

import re
import textwrap
from pathlib import Path
from string import Template

import numpy as np

import tmsm
from tmsm_experiments.cells import write_whole
from tmsm_experiments.paper import claims, instead
from tmsm_experiments.paper.catalogues import COAST_KM, REPORTS_IN_A_ROW, RESOLUTIONS
from tmsm_experiments.paper.illustration import ROWS
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED
from tmsm_experiments.paper.results import Results, as_text
from tmsm_experiments.paper.settings import CUT
from tmsm_experiments.paper.tables import markdown
from tmsm_experiments.paper.verdicts import EXPERIMENTS, Errors, verdicts

PAGE = "reproduction.md"
_TEMPLATE = Path(__file__).with_name("page_template.md")
_AGENCY = """The paper's data: NOAA Storm Events inside the contiguous United States and HURDAT2's storm origins, both
2017 to 2020. Files (digest {digest}): {files}. Events that are reported for whole zones, such as heat and winter
storms, have no place and are missing. Reports of one outbreak have consecutive numbers, so {reports} in a row are taken
for one group of dependent rows: standard errors are then about {inflated:.0f} times those of independent rows. The
events are of all kinds and HURDAT2 lists tropical cyclones only, so the origins say little about the other kinds.

![Maps of Storm Events, estimates and the density of storm origins]({folder}/figures/storm_events.png)

*Storm Events, all of them and those with fatalities; contours: kernel density of the storm origins.*

{table}"""
_NO_AGENCY = """NOAA's Storm Events and HURDAT2 are not part of the package. Download the yearly `StormEvents_details…`
and `StormEvents_locations…` files and the HURDAT2 text file into a folder,
and run `tmsm reproduce all --data FOLDER`."""
# Where the figures of the verdicts are on the page.
_SECTIONS = {
    "illustration": "illustration",
    "accuracy": "accuracy",
    "accuracy_concentration": "the concentration",
    "projection": "projection",
    "storm_events": "storms",
    "cyclones": "storms",
}
_WIDTH = 118
_NOT_TEXT = ("|", "#", "!", "`", "-", "1.")


def write(results: Results, out: Path) -> Path:
    """Write the page beside the results."""
    path, text = out / PAGE, page(results)
    write_whole(path, lambda temporary: temporary.write_text(text))
    return path


def page(results: Results) -> str:
    """The page's text, from the recorded tables."""
    accuracy = results.read("accuracy")
    errors = Errors(accuracy)
    names = ("illustration", "projection", "cyclones", "errata")
    families, events = results.read("families"), results.read("families_events")
    deadly = as_text("families_events", [row for row in events if row["catalogue"] == "fatal events"])
    text = Template(_TEMPLATE.read_text()).substitute(
        {name: as_text(name, results.read(name)) for name in names},
        trials=accuracy[0]["trials"],
        seed=accuracy[0]["seed"],
        folder=results.folder.name,
        verdicts=_verdicts(results),
        identical=round(100 * (claims.IDENTICAL - 1)),
        close=round(100 * (claims.CLOSE - 1)),
        falling=-claims.FALLING,
        doubt=claims.DOUBT,
        coast=round(COAST_KM),
        reports=f"{REPORTS_IN_A_ROW:,}",
        smallest=errors.sizes[0],
        largest=f"{errors.sizes[-1]:,}",
        vertices=_vertices(),
        illustrated=f"{ROWS:,}",
        cut=CUT,
        accuracy_direction=as_text("accuracy", accuracy, only="direction"),
        accuracy_concentration=as_text("accuracy", accuracy, only="concentration"),
        agency=_agency(results),
        costs=_costs(errors),
        geodesic_cost=f"{_above_bound(errors, GEODESIC):.0f}",
        naive_cost=f"{1.0 + _above_bound(errors, NAIVE) / 100.0:.0f}",
        families_cyclones=as_text("families", families),
        families="\n\n".join(instead.of_cyclones(families)),
        families_events="\n\n".join([*instead.of_events(events), deadly] if events else []),
    )
    return wrapped(text)


def wrapped(text: str) -> str:
    """Paragraphs in lines of equal width; tables, lists, titles and code as they are."""
    blocks = [
        block
        if block.startswith(_NOT_TEXT) or (block.startswith("**") and "\n" not in block and "|" in block)
        else textwrap.fill(" ".join(block.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)
        for block in re.split(r"\n{2,}", text.strip())
    ]
    return "\n\n".join(blocks) + "\n"


def _verdicts(results: Results) -> str:
    def links(figures: str) -> str:
        sections = dict.fromkeys(_SECTIONS[name] for name in figures.split(", "))
        return ", ".join(f"[{name}](#{name.replace(' ', '-')})" for name in sections)

    rows = [(v.claim, links(v.figure), v.measured, f"**{v.verdict}**") for v in verdicts(results)]
    return markdown(("the paper's claim", "see", "measured", "verdict"), rows)


def _vertices() -> str:
    borders = ((name, tmsm.datasets.load_border("usa", name)) for name in RESOLUTIONS)
    counts = [f"{sum(map(len, border.rings)):,} ({name})" for name, border in borders]
    return f"{claims.listed(counts)} vertices"


def _above_bound(errors: Errors, method: str, quantity: str = "direction") -> float:
    """By how many per cent a method's mean error is above the bound, averaged over n and the experiments."""
    chosen = EXPERIMENTS if quantity == "direction" else ("vmf-unknown",)
    ratios = [errors.column(e, method, quantity=quantity) / errors.column(e, method, "bound", quantity) for e in chosen]
    return 100.0 * (float(np.mean(ratios)) - 1.0)


def _costs(errors: Errors) -> str:
    return "; ".join(
        f"{method} {_above_bound(errors, method):.0f} % in the direction and "
        f"{_above_bound(errors, method, 'concentration'):.0f} % in κ"
        for method in (GEODESIC, PROJECTED, DEFAULT, COMBINED, EXACT)
    )


def _agency(results: Results) -> str:
    events = results.read("storm_events")
    if not events:
        return _NO_AGENCY
    one = next(row for row in events if row["catalogue"] == "events" and row["method"] == GEODESIC)
    return _AGENCY.format(
        digest=one["files"],
        files=one["source"],
        folder=results.folder.name,
        reports=f"{REPORTS_IN_A_ROW:,}",
        inflated=float(one["standard_error_degrees"]) / float(one["independent_error_degrees"]),
        table=as_text("storm_events", events),
    )
