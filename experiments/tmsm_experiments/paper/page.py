"""docs/reproduction.md: the verdicts, with the figures and tables behind them."""

from pathlib import Path
from string import Template

from tmsm_experiments.paper.cells import write_whole
from tmsm_experiments.paper.results import Results, as_text
from tmsm_experiments.paper.tables import markdown
from tmsm_experiments.paper.verdicts import verdicts

PAGE = "reproduction.md"
_TEMPLATE = Path(__file__).with_name("page_template.md")
_AGENCY = """The paper's own data: NOAA Storm Events inside the contiguous United States and HURDAT2's storm origins,
both 2017 to 2020, read from the agency's files (digest {digest}). Events without a place in these files are missing.

![Maps of Storm Events, estimates and the density of storm origins]({folder}/figures/storm_events.png)

*Storm Events, all of them and those with fatalities; contours: kernel density of the storm origins.*

{table}"""
_NO_AGENCY = """NOAA's Storm Events and HURDAT2 are not part of the package. Download the yearly `StormEvents_details…`
and `StormEvents_locations…` files and the HURDAT2 text file into a folder,
and run `tmsm reproduce all --data FOLDER`."""


def write(results: Results, out: Path) -> Path:
    """Write the page beside the results."""
    path, text = out / PAGE, page(results)
    write_whole(path, lambda temporary: temporary.write_text(text))
    return path


def page(results: Results) -> str:
    """The page's text, from the recorded tables."""
    accuracy = results.read("accuracy")
    whole = {name: as_text(name, results.read(name)) for name in ("illustration", "projection", "cyclones", "errata")}
    return Template(_TEMPLATE.read_text()).substitute(
        whole,
        trials=accuracy[0]["trials"],
        seed=accuracy[0]["seed"],
        folder=results.folder.name,
        verdicts=_verdicts(results),
        accuracy_direction=as_text("accuracy", accuracy, only="direction"),
        accuracy_concentration=as_text("accuracy", accuracy, only="concentration"),
        agency=_agency(results),
    )


def _verdicts(results: Results) -> str:
    rows = [(v.claim, v.figure.replace("_", " "), v.measured, f"**{v.verdict}**") for v in verdicts(results)]
    return markdown(("the paper's claim", "figure", "measured", "verdict"), rows)


def _agency(results: Results) -> str:
    events = results.read("storm_events")
    if not events:
        return _NO_AGENCY
    table = as_text("storm_events", events)
    return _AGENCY.format(digest=events[0]["files"], folder=results.folder.name, table=table)
