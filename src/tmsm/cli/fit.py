"""``tmsm fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tmsm.cli.options import (
    Also,
    Bad,
    Columns,
    Exposure,
    Groups,
    Interaction,
    Known,
    Marks,
    ModelName,
    Outside,
    Points,
    PointsWhere,
    RegionText,
    Sky,
    Weight,
    Where,
    Within,
)

__all__ = ["fit"]


def fit(
    points: Points,
    region: RegionText,
    model: ModelName = "vmf",
    weight: Weight = "auto",
    method: Annotated[
        str,
        typer.Option(help="score (matching), refined (one step to the likelihood), mle (exact), naive (no border)."),
    ] = "score",
    known: Known = None,
    also: Also = None,
    within: Within = None,
    interaction: Interaction = False,
    columns: Columns = None,
    where: Where = None,
    points_where: PointsWhere = None,
    bad: Bad = "raise",
    sky: Sky = None,
    outside: Outside = "raise",
    exposure: Exposure = None,
    groups: Groups = None,
    mark: Marks = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an interactive report.", readable=False)
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Save the fit for 'tmsm show'.", readable=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a picture.", readable=False)] = None,
) -> None:
    """Fit a model to points that were only seen inside a border."""
    from tmsm.cli.borders import border_files, frame_of
    from tmsm.cli.factors import factor_notes, read_factors
    from tmsm.cli.inputs import Observed, check_factors, make_estimator, make_model, read_marks
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.results import show_result, write_pictures
    from tmsm.cli.streams import say

    printed = {"--json": Path("-") if json else None}
    read = [points, *border_files(region), *([] if exposure is None else [exposure])]
    check_outputs(read, {**printed, "--save": save, "--plot": plot, "--report": report})
    factors = read_factors(also or [], within or [])
    check_factors(factors, interaction, {"--plot": plot, "--report": report, "--exposure": exposure})
    chosen = make_model(model, known or [], factors=factors, interaction=interaction)
    marks = read_marks(mark or [], frame_of(sky))
    observed = Observed.read(
        points, region, columns=columns, groups=groups, where=where, points_where=points_where, bad=bad, sky=sky,
        outside=outside, exposure=exposure, factors=factors,
    )  # fmt: skip
    estimator = make_estimator(
        method, chosen.on(observed.border.manifold) if factors else chosen, observed.border, weight, observed.exposure
    )
    estimator.fit(observed.points, groups=observed.labels)
    show_result(estimator, json=json, save=save, report=report)
    for note in [*(factor_notes(estimator, factors) if factors else []), *observed.notes()]:
        say(note)
    write_pictures(estimator, title=f"{points.name} inside {region}", marks=marks, plot=plot, report=report)
