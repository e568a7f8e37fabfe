"""docs/reproduction.md: the verdicts, with the figures and tables behind them."""

from pathlib import Path
from string import Template

import numpy as np

from tmsm_experiments.cells import write_whole
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, PROJECTED
from tmsm_experiments.paper.results import Results, as_text
from tmsm_experiments.paper.tables import markdown
from tmsm_experiments.paper.verdicts import EXPERIMENTS, Errors, verdicts

PAGE = "reproduction.md"
_TEMPLATE = Path(__file__).with_name("page_template.md")
_AGENCY = """The paper's data: NOAA Storm Events inside the contiguous United States and HURDAT2's storm origins, both
2017 to 2020. Files (digest {digest}): {files}. Events that are reported for whole zones, such as heat and winter
storms, have no place and are missing. The paper speaks of extreme storms without a definition; here all events and
those with fatalities are fitted.

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
        costs=_costs(results),
    )


def _verdicts(results: Results) -> str:
    rows = [(v.claim, v.figure.replace("_", " "), v.measured, f"**{v.verdict}**") for v in verdicts(results)]
    return markdown(("the paper's claim", "figure", "measured", "verdict"), rows)


def _costs(results: Results) -> str:
    """What each method's mean error is above the bound by, in per cent."""
    errors = Errors(results.read("accuracy"))

    def cost(method: str, quantity: str, experiments: tuple[str, ...]) -> float:
        ratios = [
            errors.column(e, method, quantity=quantity) / errors.column(e, method, "bound", quantity)
            for e in experiments
        ]
        return 100.0 * (float(np.mean(ratios)) - 1.0)

    parts = []
    for method in (GEODESIC, PROJECTED, DEFAULT, COMBINED, EXACT):
        direction = cost(method, "direction", EXPERIMENTS)
        kappa = cost(method, "concentration", ("vmf-unknown",))
        parts.append(f"{method} {direction:.0f} % in the direction and {kappa:.0f} % in κ")
    return "; ".join(parts)


def _agency(results: Results) -> str:
    events = results.read("storm_events")
    if not events:
        return _NO_AGENCY
    table = as_text("storm_events", events)
    return _AGENCY.format(digest=events[0]["files"], files=events[0]["source"], folder=results.folder.name, table=table)
