"""``tmsm demo``: storms that were only seen from inside the United States."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tmsm.foundation.arrays import FloatArray

__all__ = ["demo"]

_COMMENT = """
Ignoring the border puts the centre into the South of the United States, where most was seen. With the border taken
into account it moves out to sea, towards where storms are. How far is less certain than it looks: positions of one
storm depend on each other (the errors allow for it), and what lies beyond the border rests on the model."""

_FILES = ("report.html", "globe.png", "map.png", "diagnostics.png")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the pictures.", file_okay=False)] = Path(
        "tmsm-demo"
    ),
) -> None:
    """Find where Atlantic storms come from, looking from inside the United States only."""
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.screen import made_by, show_table
    from tmsm.cli.streams import emit
    from tmsm.datasets import load_atlantic_storms, load_border
    from tmsm.display.plots import FitDisplay
    from tmsm.display.report import html_report
    from tmsm.display.report.words import kilometres, place
    from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE
    from tmsm.estimators.base import Estimator
    from tmsm.foundation.text import readable_p
    from tmsm.foundation.whole_files import write_text, write_whole
    from tmsm.models import VonMisesFisher

    check_outputs([], {name: out / name for name in _FILES})
    storms, border = load_atlantic_storms(), load_border("usa")
    seen = storms[border.contains(storms.X)]
    emit(
        "Where do Atlantic storms come from, if you only ever look from inside the United States?\n"
        f"{len(seen):,} of {len(storms):,} positions of cyclones (1980 to 2024) lie inside its border; the others are "
        "kept back.\n"
    )
    model = VonMisesFisher()
    fits: dict[str, Estimator] = {
        "score matching (g = distance)": ScoreMatching(model, border, "geodesic"),
        "score matching (default weight)": ScoreMatching(model, border),
        "exact likelihood": TruncatedMLE(model, border),
        "ignoring the border": NaiveMLE(model),
    }
    for fit in fits.values():
        fit.fit(seen.X, groups=seen.storm)

    truth, origin = (_unit(table.X.mean(axis=0)) for table in (storms, storms.origins()))
    rows = [("", "centre", "± degrees", "to the mean of all", "to the mean origin")]
    for label, fit in fits.items():
        mean = fit.params_.mean_direction
        error = f"{np.degrees(fit.std_errors_.mean_direction):.1f}"
        rows.append((label, place(mean), error, kilometres(mean, truth), kilometres(mean, origin)))
    rows.append(("truth: mean of all positions", place(truth), "", "", kilometres(truth, origin)))
    rows.append(("truth: mean of the origins", place(origin), "", kilometres(origin, truth), ""))
    show_table("Von Mises–Fisher, errors with storms as groups", rows)

    first = next(iter(fits.values()))
    emit(_COMMENT)
    if (goodness := first.goodness_of_fit_) is not None:
        emit(f"Goodness of fit of the family, storms taken for independent: {readable_p(goodness.p_value)}.")
    shown = {name: fit for name, fit in fits.items() if "default" not in name}
    title = "Where do Atlantic storms come from, seen from inside the United States?"
    write_text(out / "report.html", html_report(shown, title=title, made_by=made_by()))
    figures = {
        "globe.png": FitDisplay.from_estimators(shown, land=True).figure_,
        "map.png": FitDisplay.from_estimators(shown, view="map", land=True).figure_,
        "diagnostics.png": first.plot_diagnostics().figure_,
    }
    for name, figure in figures.items():
        write_whole(out / name, partial(figure.savefig, format="png", dpi=130))
    emit(f"\nOpen {out / 'report.html'} in a browser. Pictures: {', '.join(str(out / name) for name in figures)}")


def _unit(vector: FloatArray) -> FloatArray:
    return vector / np.linalg.norm(vector)
