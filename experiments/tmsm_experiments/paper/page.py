"""docs/reproduction.md: the verdicts, with the figures and tables behind them."""

import re
import textwrap
from pathlib import Path
from string import Template

import numpy as np

import tmsm
from tmsm_experiments.cells import write_whole
from tmsm_experiments.paper import claims, instead
from tmsm_experiments.paper.catalogues import COAST_KM, REPORTS_IN_A_ROW, RESOLUTIONS, vertices_in_file
from tmsm_experiments.paper.illustration import ROWS
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED
from tmsm_experiments.paper.results import Results, Row, as_text
from tmsm_experiments.paper.settings import CUT
from tmsm_experiments.paper.tables import markdown, place
from tmsm_experiments.paper.variants import CODE
from tmsm_experiments.paper.verdicts import CURVES, EXPERIMENTS, Errors, verdicts

PAGE = "reproduction.md"
_TEMPLATE = Path(__file__).with_name("page_template.md")
_AGENCY = """The paper's data: NOAA Storm Events inside the contiguous United States and HURDAT2's storm origins, both
2017 to 2020. Files (digest {digest}): {files}. Up to about a quarter of a year's events can be missing from such files.
Events that are reported for whole zones, such as heat and winter storms, have no place and are missing. Reports of one
outbreak have consecutive numbers, so {reports} in a row are treated as one group of dependent rows: standard errors are
then about {inflated:.0f} times those of independent rows. The errors and the
95 % regions depend on that number: with groups of {sizes} reports TMSM's standard error for all events ({border}) is
{errors}{limits}.
The events are of all kinds and HURDAT2 lists tropical cyclones only, so the origins say little about the other kinds.

![Maps of Storm Events, estimates and the density of storm origins]({folder}/figures/storm_events.png)

*Storm Events, all of them and those with fatalities. Contours: kernel density of the storm origins; the thicker the
line, the smaller the share of the mass inside it. Regions that reach the edge of a map are cut off there.*

{table}

The same centres (border {border}), computed otherwise. TruncSM works in an equal-area plane (Lambert's azimuthal
projection about the country's middle), or in longitude and latitude as if they were lengths. The distance of the code
is that of the [reference implementation](#errors-in-print).

{variants}"""
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
# Other pages that say more about a claim.
_PAGES = {"models": "[other manifolds](models.md#other-manifolds)", "weights": "[weights](weights.md)"}
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
    projection, errata = results.read("projection"), results.read("errata")
    families, events = results.read("families"), results.read("families_events")
    deadly = as_text("families_events", [row for row in events if row["catalogue"] == "fatal events"])
    text = Template(_TEMPLATE.read_text()).substitute(
        {name: as_text(name, results.read(name)) for name in names},
        trials=accuracy[0]["trials"],
        projection_trials=projection[0]["trials"],
        samples=errata[0]["seeds"],
        seed=accuracy[0]["seed"],
        folder=results.folder.name,
        verdicts=_verdicts(results),
        identical=round(100 * (claims.IDENTICAL - 1)),
        close=round(100 * (claims.CLOSE - 1)),
        falling=-claims.FALLING,
        biased=f"{claims.BIASED:.0f}",
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
        slopes=_slopes(errors),
        geodesic_cost=f"{errors.above_bound(GEODESIC):.0f}",
        naive_cost=_naive_cost(errors),
        level=claims.DOUBT,
        storm_effect=_storm_effect(results.read("variants")),
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
        return ", ".join(dict.fromkeys(map(link, figures.split(", "))))

    def link(name: str) -> str:
        return _PAGES.get(name) or f"[{_SECTIONS[name]}](#{_SECTIONS[name].replace(' ', '-')})"

    rows = [(v.claim, links(v.figure), v.measured, f"**{v.verdict}**") for v in verdicts(results)]
    return markdown(("the paper's claim", "see", "measured", "verdict"), rows)


def _vertices() -> str:
    counts = []
    for name in RESOLUTIONS:
        there, kept = vertices_in_file(name), sum(map(len, tmsm.datasets.load_border("usa", name).rings))
        split = f", {kept:,} after long edges are split" if kept != there else ""
        counts.append(f"{there:,} in the file ({name}{split})")
    return f"vertices: {claims.listed(counts)}"


def _slopes(errors: Errors) -> str:
    """A table of the slopes of the errors: a row for each method, a column for each experiment."""
    columns = [(e, "direction") for e in EXPERIMENTS] + [("vmf-unknown", "concentration")]
    cells = []
    for method in dict.fromkeys(curve[0] for curve in CURVES):
        found = [
            "{:.4f} ± {:.4f}".format(*errors.slope(method, *column)).replace("-", "−")
            if (method, *column) in CURVES
            else "–"
            for column in columns
        ]
        cells.append((method, *found))
    return markdown(("slope", "κ known", "κ unknown", "Kent", "κ unknown: κ̂"), cells)


def _costs(errors: Errors) -> str:
    return "; ".join(
        f"{method} {errors.above_bound(method):.0f} and {errors.above_bound(method, 'concentration'):.0f} %"
        for method in (GEODESIC, PROJECTED, DEFAULT, COMBINED, EXACT)
    )


def _naive_cost(errors: Errors) -> str:
    ratios = np.array([errors.ratio(e, NAIVE, GEODESIC) for e in EXPERIMENTS])
    falls = any(errors.slope(NAIVE, e)[0] < claims.FALLING for e in EXPERIMENTS)
    return f"{claims.from_to(ratios, 0)} times that of TMSM" + ("" if falls else ", and does not fall with n")


def _storm_effect(variants: list[Row]) -> str:
    """What the reference code's distance does to the storms; nothing without the agency's files."""
    places = {
        row["variant"]: place(float(row["longitude"]), float(row["latitude"]))
        for row in variants
        if row["catalogue"] == "events"
    }
    if CODE not in places:
        return ""
    return f"On all Storm Events the code's distance puts the centre at {places[CODE]} instead of {places[GEODESIC]}."


def _agency(results: Results) -> str:
    events = results.read("storm_events")
    if not events:
        return _NO_AGENCY
    one = next(row for row in events if row["catalogue"] == "events" and row["method"] == GEODESIC)
    variants = results.read("variants")
    sizes = [row for row in variants if (row["catalogue"], row["variant"]) == ("events", GEODESIC)]
    grow = np.all(np.diff([float(row["tmsm_error_degrees"]) for row in sizes]) > 0.0)
    return _AGENCY.format(
        limits=", so its stated errors are lower limits" if grow else "",
        border=RESOLUTIONS[0],
        sizes=claims.listed(f"{int(row['reports']):,}" for row in sizes),
        errors=claims.listed(f"{float(row['tmsm_error_degrees']):.2f}°" for row in sizes),
        variants=as_text("variants", variants),
        digest=one["files"],
        files=one["source"],
        folder=results.folder.name,
        reports=f"{REPORTS_IN_A_ROW:,}",
        inflated=float(one["standard_error_degrees"]) / float(one["independent_error_degrees"]),
        table=as_text("storm_events", events),
    )
